internal import Foundation
internal import Postgres
internal import Synchronization

/// Measures callbacks over the loopback interface against ``LoopbackSink``: signing and sending alone, and the whole way
/// from the outbox's rows to their settlement.
public struct CallbackBenchmark: Sendable {
    /// A database with the schema. The benchmark adds partners named `bench-…` and their callbacks: use a scratch one.
    public var databaseURL: String
    public var callbacks = 20_000
    public var endpoints = 50
    /// Endpoints beside the measured ones whose server never answers, each with callbacks to send.
    public var hungEndpoints = 0
    /// Bytes of each body.
    public var bodyBytes = 1_500
    /// Requests at once in the measurement without a database.
    public var concurrency = 32

    public init(databaseURL: String) { self.databaseURL = databaseURL }

    /// Figures for one JSON line.
    public struct Report: Codable, Sendable {
        public var callbacks: Int
        public var endpoints: Int
        public var hungEndpoints: Int
        /// Signed POSTs a second, without a database.
        public var postsPerSecond: Double
        /// CPU microseconds of this process for one of them, the server's not counted.
        public var cpuMicrosecondsPerPost: Double
        /// Callbacks a second from claim to settlement, over the endpoints that answer.
        public var deliveriesPerSecond: Double
        public var cpuMicrosecondsPerDelivery: Double
        /// From the commit of a callback to the end of its delivery on an idle dispatcher, in milliseconds.
        public var latencyMedianMilliseconds: Double
        public var latencyP99Milliseconds: Double
    }

    public func run() async throws -> Report {
        let sink = try LoopbackSink()
        defer { sink.stop() }
        let posts = try await self.measurePosts(sink)
        let connection = try await PostgresConnection.connect(self.databaseURL)
        let latencies: [Double]
        let deliveries: Rate
        do {
            deliveries = try await self.measureDeliveries(sink, connection)
            latencies = try await self.measureLatency(sink, connection)
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
        return Report(
            callbacks: self.callbacks, endpoints: self.endpoints, hungEndpoints: self.hungEndpoints,
            postsPerSecond: posts.perSecond, cpuMicrosecondsPerPost: posts.cpuMicroseconds,
            deliveriesPerSecond: deliveries.perSecond, cpuMicrosecondsPerDelivery: deliveries.cpuMicroseconds,
            latencyMedianMilliseconds: latencies[latencies.count / 2],
            latencyP99Milliseconds: latencies[latencies.count * 99 / 100])
    }

    private struct Rate {
        var perSecond: Double
        var cpuMicroseconds: Double
    }

    /// Runs `body` and relates its wall and CPU time to a number of operations.
    private func measure(_ count: Int, _ sink: LoopbackSink, _ body: () async throws -> Void) async throws -> Rate {
        let cpu = Self.cpuSeconds() - sink.cpuSeconds
        let start = ContinuousClock.now
        try await body()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let used = Self.cpuSeconds() - sink.cpuSeconds - cpu
        return Rate(perSecond: Double(count) / seconds, cpuMicroseconds: used / Double(count) * 1e6)
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func measurePosts(_ sink: LoopbackSink) async throws -> Rate {
        let sender = CallbackSender(
            client: HTTPClient(), timeoutMilliseconds: 15_000, agent: "inspectd")
        let callback = ClaimedCallback(
            id: 1, claim: 1, webhookID: "msg_benchmark", endpoint: 1, url: "http://127.0.0.1:\(sink.port)/ok",
            body: [UInt8](repeating: UInt8(ascii: "x"), count: self.bodyBytes), attempts: 0, released: 0,
            secrets: [WebhookSecret.generate().text], allowsHTTP: true, allowsPrivate: true, options: nil,
            waitedMilliseconds: 0, job: nil, trace: nil)
        let next = Counter()
        let total = self.callbacks
        return try await self.measure(total, sink) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<self.concurrency {
                    group.addTask {
                        while next.add() <= total {
                            let settlement = await sender.attempt(callback, deadline: .now + .seconds(60))
                            guard settlement.outcome == .delivered else {
                                throw HTTPError(.localFault, settlement.error ?? "not delivered")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private func measureDeliveries(_ sink: LoopbackSink, _ connection: PostgresConnection) async throws -> Rate {
        for number in 0..<(self.endpoints + self.hungEndpoints) {
            let isHung = number >= self.endpoints
            let endpoint = try await Self.addEndpoint(connection)
            try await self.add(
                self.callbacks / self.endpoints, endpoint: endpoint,
                url: "http://127.0.0.1:\(sink.port)/\(isHung ? "hang" : "ok")", connection)
        }
        let total = self.callbacks / self.endpoints * self.endpoints
        let delivered = Counter()
        let dispatcher = CallbackDispatcher(
            configuration: CallbackConfiguration(
                databaseURL: self.databaseURL, listenURL: self.databaseURL, worker: "bench")
        ) { event in
            if case .attempted(let attempt) = event, attempt.outcome == .delivered { delivered.add() }
        }
        return try await self.measure(total, sink) {
            let run = Task { await dispatcher.run() }
            while delivered.value < total { try await Task.sleep(for: .milliseconds(5)) }
            // What hangs is broken off with the dispatcher, outside of what is measured.
            run.cancel()
        }
    }

    private func measureLatency(_ sink: LoopbackSink, _ connection: PostgresConnection) async throws -> [Double] {
        let endpoint = try await Self.addEndpoint(connection)
        let delivered = Counter()
        let dispatcher = CallbackDispatcher(
            configuration: CallbackConfiguration(
                databaseURL: self.databaseURL, listenURL: self.databaseURL, worker: "bench")
        ) { event in
            if case .attempted(let attempt) = event, attempt.outcome == .delivered { delivered.add() }
        }
        let run = Task { await dispatcher.run() }
        defer { run.cancel() }
        var latencies: [Double] = []
        for round in 1...120 {
            try await self.add(1, endpoint: endpoint, url: "http://127.0.0.1:\(sink.port)/ok", connection)
            let start = ContinuousClock.now
            while delivered.value < round { try await Task.sleep(for: .milliseconds(1)) }
            // The first rounds connect and prepare.
            if round > 20 { latencies.append((ContinuousClock.now - start) / .milliseconds(1)) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...120)))
        }
        return latencies.sorted()
    }

    private static func addEndpoint(_ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query(
            "SELECT endpoint_id FROM insp.create_partner($1, 'https://partner.example/', true, true)",
            [.text("bench-\(UUID().uuidString.lowercased())")])[0].int(0)
    }

    private func add(_ count: Int, endpoint: Int64, url: String, _ connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO insp.callback (job_id, endpoint_id, url, body)
            SELECT coalesce((SELECT max(c.job_id) FROM insp.callback c WHERE c.endpoint_id = $1), 0) + g, $1, $2,
                convert_to(repeat('x', $3), 'UTF8')
            FROM generate_series(1, $4) AS g
            """,
            [.int(endpoint), .text(url), .int(Int64(self.bodyBytes)), .int(Int64(count))])
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        @discardableResult
        func add() -> Int { self.count.add(1, ordering: .relaxed).newValue }
        var value: Int { self.count.load(ordering: .relaxed) }
    }
}
