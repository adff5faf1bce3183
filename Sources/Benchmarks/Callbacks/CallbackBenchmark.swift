internal import Callbacks
internal import Foundation
internal import HTTPClient
internal import InspectCore
internal import Postgres
internal import Synchronization

/// Measures callbacks over the loopback interface: from the outbox's rows through claim, signature and TLS to their
/// settlement, compared with the bare loop of ``BareLoop`` against the same server, and the cost of one hung partner for the
/// others.
package struct CallbackBenchmark: Sendable {
    /// A database with the schema. The benchmark adds partners named `bench-…` and their callbacks: use a scratch one.
    package var databaseURL: String
    /// In each round. The first and the last few hundred run with little concurrency, which matters little in three
    /// seconds.
    package var callbacks = 60_000
    /// Endpoints, each with a host name of its own.
    package var endpoints = 50
    /// Bytes of each event's body.
    package var bodyBytes = 1_500
    /// How one of the endpoints hangs in every other round: `tcp`, `tls`, `dns` or `drip`; `nil`: none does.
    package var hung: String?
    /// Pairs of rounds, with the hung partner and without.
    package var rounds = 8
    /// The program that runs the bare loop: `inspectd`, by default this one.
    package var program = "/proc/self/exe"

    package init(databaseURL: String) { self.databaseURL = databaseURL }

    /// Figures for one JSON line.
    package struct Report: Codable, Sendable {
        /// Callbacks a second from claim to settlement, signed and over TLS.
        package var perSecond: Double
        /// CPU microseconds of this process for one callback, not counting the server's.
        package var cpuMicrosPerPost: Double
        /// From the claim's commit to the request on the wire, in milliseconds: 99th percentile.
        package var p99ClaimToSendMs: Double
        /// Unsigned POSTs a second of libcurl's bare loop over TLS to the same server, without a database.
        package var floorPerSecond: Double
        /// The same loop with each sender's minimal work for a request: its own body, signature and headers.
        var signingFloorPerSecond: Double
        /// CPU microseconds of the loops' own processes for a request.
        var floorCpuMicrosPerPost: Double
        var signingFloorCpuMicrosPerPost: Double
        /// CPU microseconds of the dispatcher's server process (PostgreSQL) for a callback; -1 if it runs elsewhere or may
        /// not be inspected.
        var databaseCpuMicrosPerPost: Double
        /// CPU microseconds of the HTTPS server for a callback.
        var sinkCpuMicrosPerPost: Double
        /// In each round.
        package var callbacks: Int
        /// Endpoints, each with a host name of its own.
        package var endpoints: Int
    }

    /// The cost of one hung partner.
    package struct HungReport: Codable, Sendable {
        /// `tcp`, `tls`, `dns` or `drip`.
        package var hung: String
        /// Callbacks a second to the other endpoints, without and with the hung one: medians over the rounds.
        package var alonePerSecond: Double
        /// With the hung one.
        package var besidePerSecond: Double
        /// The slowest round of each kind.
        var aloneMinimum: Double
        var besideMinimum: Double
        /// The share by which the other endpoints are slower: the median over the pairs of rounds, whose two follow each
        /// other, so that a change of the machine's speed affects both. Below 0: noise.
        package var cost: Double
        /// CPU microseconds of this process for each of the others' callbacks, without and with it: medians.
        var aloneCpuMicrosPerPost: Double
        var besideCpuMicrosPerPost: Double
        /// In each round.
        package var callbacks: Int
        /// The hung one included.
        package var endpoints: Int
    }

    /// Creates partners and endpoints in the database, which only the benchmark may use.
    package func run() async throws -> Report {
        let sink = try LoopbackSink(certificate: LoopbackCertificate(name: "*.bench.example"))
        defer { sink.stop() }
        let connection = try await PostgresConnection.connect(self.databaseURL)
        let urls = (0..<self.endpoints).map { "https://partner-\($0).bench.example:\(sink.port)/ok" }
        var ids: [Int64] = []
        for url in urls { ids.append(try await Self.addEndpoint(connection, url)) }
        // Half of each kind runs before and half after.
        let bare = BareLoop(
            urls: urls, bodyBytes: self.bodyBytes, certificateAuthorities: sink.certificateFile,
            concurrency: self.endpoints, count: self.callbacks / 2)
        var signing = bare
        signing.secret = WebhookSecret.generate().text
        // Three times, so that a change of the machine's speed affects both.
        var floor = Floor()
        var signingFloor = Floor()
        var rounds: [Round] = []
        for _ in 0..<3 {
            try floor.add(bare, by: self.program)
            try signingFloor.add(signing, by: self.program)
            rounds.append(
                try await self.deliver(
                    to: Array(zip(ids, urls)), sink: sink, connection, resolver: HungPartner.noneResolver))
            try signingFloor.add(signing, by: self.program)
            try floor.add(bare, by: self.program)
        }
        await connection.close()
        let waits = rounds.flatMap(\.claimToSendMs).sorted()
        func mean(_ value: (Round) -> Double) -> Double { rounds.map(value).reduce(0, +) / Double(rounds.count) }
        return Report(
            perSecond: 1 / mean { 1 / $0.perSecond }, cpuMicrosPerPost: mean(\.cpuMicros),
            p99ClaimToSendMs: waits.isEmpty ? -1 : waits[waits.count * 99 / 100],
            floorPerSecond: floor.perSecond, signingFloorPerSecond: signingFloor.perSecond,
            floorCpuMicrosPerPost: floor.cpuMicros, signingFloorCpuMicrosPerPost: signingFloor.cpuMicros,
            databaseCpuMicrosPerPost: mean(\.databaseMicros), sinkCpuMicrosPerPost: mean(\.sinkMicros),
            callbacks: rounds.map(\.count).reduce(0, +), endpoints: self.endpoints)
    }

    /// Measures alternately without and with a partner that hangs, so that a machine that becomes busy affects both.
    package func runHung() async throws -> HungReport {
        guard let mode = self.hung.flatMap({ HungPartner.Mode(rawValue: $0) }) else {
            throw HTTPError(.requestInvalid, "the mode is tcp, tls, dns or drip")
        }
        let sink = try LoopbackSink(certificate: LoopbackCertificate(name: "*.bench.example"))
        defer { sink.stop() }
        let partner = try HungPartner(mode, sink: sink)
        defer { partner.stop() }
        let connection = try await PostgresConnection.connect(self.databaseURL)
        let urls = (1..<self.endpoints).map { "https://partner-\($0).bench.example:\(sink.port)/ok" }
        var ids: [Int64] = []
        for url in urls { ids.append(try await Self.addEndpoint(connection, url)) }
        let hung = try await Self.addEndpoint(connection, partner.url)
        try await self.add(1_000, endpoint: hung, url: partner.url, connection)
        var alone: [Round] = []
        var beside: [Round] = []
        // The first pair only warms up: tables, caches and the processor's clock.
        for number in 0...(self.rounds) {
            for isBeside in number % 2 == 0 ? [false, true] : [true, false] {
                _ = try await connection.query(
                    "SELECT CASE WHEN $2 THEN insp.callback_resume($1) ELSE insp.callback_pause($1) END",
                    [.int(hung), .bool(isBeside)])
                // Otherwise, its breaker would open, and the partner would cost nothing.
                _ = try await connection.query("SELECT insp.callback_breaker_reset($1)", [.int(hung)])
                let round = try await self.deliver(
                    to: Array(zip(ids, urls)), sink: sink, connection, resolver: partner.resolver,
                    startsWith: isBeside ? hung : nil)
                if number > 0 { if isBeside { beside.append(round) } else { alone.append(round) } }
            }
        }
        await connection.close()
        let without = Self.median(alone.map(\.perSecond))
        let with = Self.median(beside.map(\.perSecond))
        return HungReport(
            hung: mode.rawValue, alonePerSecond: without, besidePerSecond: with,
            aloneMinimum: alone.map(\.perSecond).min() ?? 0, besideMinimum: beside.map(\.perSecond).min() ?? 0,
            cost: 1 - Self.median(zip(beside, alone).map { $0.perSecond / $1.perSecond }),
            aloneCpuMicrosPerPost: Self.median(alone.map(\.cpuMicros)),
            besideCpuMicrosPerPost: Self.median(beside.map(\.cpuMicros)),
            callbacks: alone[0].count, endpoints: self.endpoints)
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// The combined runs of a bare loop.
    private struct Floor {
        private var requests = 0
        private var seconds = 0.0
        private var cpuSeconds = 0.0

        var perSecond: Double { Double(self.requests) / self.seconds }
        var cpuMicros: Double { self.cpuSeconds / Double(self.requests) * 1e6 }

        mutating func add(_ loop: BareLoop, by program: String) throws {
            let report = try loop.run(by: program)
            self.seconds += Double(loop.count) / report.perSecond
            self.cpuSeconds += report.cpuSeconds
            self.requests += loop.count
        }
    }

    private static let emptyBodyBytes = 298

    /// The default of `insp.endpoint.max_inflight`.
    private static let atOnce = 8

    private struct Round {
        var count: Int
        var perSecond: Double
        var cpuMicros: Double
        var databaseMicros: Double
        var sinkMicros: Double
        /// Milliseconds.
        var claimToSendMs: [Double]
    }

    /// Delivers ``callbacks`` over some endpoints with a separate dispatcher, after a few for each that open connections.
    ///
    /// - Parameter startsWith: An endpoint of which callbacks must be under way before the measurement begins.
    private func deliver(
        to endpoints: [(id: Int64, url: String)], sink: LoopbackSink, _ connection: PostgresConnection,
        resolver: Resolver,
        startsWith first: Int64? = nil
    ) async throws -> Round {
        var configuration = CallbackConfiguration(
            databaseURL: self.databaseURL, listenURL: self.databaseURL, worker: "bench")
        configuration.certificateAuthorities = sink.certificateFile
        configuration.grace = .zero
        let delivered = Delivered()
        let dispatcher = CallbackDispatcher(configuration: configuration, resolver: resolver) { event in
            if case .attempted(let attempt) = event, attempt.outcome == .delivered {
                delivered.add(attempt.claimToSendMilliseconds)
            }
        }
        let run = Task { await dispatcher.run() }
        defer { run.cancel() }
        // All connections are opened before the clock starts, as in the bare loop: nothing is answered until each endpoint
        // has its maximum number of requests under way.
        let warm = 16 * endpoints.count
        sink.hold()
        for endpoint in endpoints { try await self.add(16, endpoint: endpoint.id, url: endpoint.url, connection) }
        let places = configuration.maximumInFlight - (first == nil ? 0 : Self.atOnce)
        try await Self.reach(min(places, Self.atOnce * endpoints.count), every: 5) { sink.waiting }
        sink.release()
        try await Self.reach(warm, every: 10) { delivered.count }
        if let first {
            let sql = "SELECT count(*) FROM insp.callback_lease WHERE endpoint_id = $1 AND lease_until > now()"
            try await Self.reach(Self.atOnce, every: 50) {
                Int(try await connection.query(sql, [.int(first)])[0].int(0))
            }
        }
        // The endpoint is paused while they are written, so that all are present when the clock starts.
        let each = self.callbacks / endpoints.count
        _ = try await connection.query(
            "UPDATE insp.endpoint SET paused = true WHERE id = ANY ($1)", [.intArray(endpoints.map(\.id))])
        for endpoint in endpoints { try await self.add(each, endpoint: endpoint.id, url: endpoint.url, connection) }
        delivered.reset()
        let total = each * endpoints.count
        let (cpu, served) = (Self.cpuSeconds() - sink.cpuSeconds, sink.cpuSeconds)
        let database = await Self.databaseSeconds(connection)
        let start = ContinuousClock.now
        _ = try await connection.query(
            "UPDATE insp.endpoint SET paused = false WHERE id = ANY ($1)", [.intArray(endpoints.map(\.id))])
        dispatcher.wake()
        try await Self.reach(total, every: 5) { delivered.count }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let used = Self.cpuSeconds() - sink.cpuSeconds - cpu
        let serving = sink.cpuSeconds - served
        let databaseAfter = await Self.databaseSeconds(connection)
        run.cancel()
        await run.value
        return Round(
            count: total, perSecond: Double(total) / seconds, cpuMicros: used / Double(total) * 1e6,
            databaseMicros: database.flatMap { before in databaseAfter.map { ($0 - before) / Double(total) * 1e6 } }
                ?? -1,
            sinkMicros: serving / Double(total) * 1e6, claimToSendMs: delivered.waitsMs)
    }

    /// Waits until `count`, which is read at this interval in milliseconds, is at least `goal`.
    ///
    /// - Throws: ``InspectError`` once it has not changed for two minutes.
    private static func reach(
        _ goal: Int, every milliseconds: Int, _ count: () async throws -> Int
    ) async throws {
        var (last, since) = (-1, ContinuousClock.now)
        while true {
            let now = try await count()
            if now >= goal { return }
            if now != last { (last, since) = (now, .now) }
            guard .now - since < .seconds(120) else {
                throw InspectError(.internalError, "no progress for 120 s: \(now) of \(goal) callbacks")
            }
            try await Task.sleep(for: .milliseconds(milliseconds))
        }
    }

    /// Seconds of CPU that the dispatcher's server process has used, by Linux' account of it (proc(5), schedstat:
    /// nanoseconds on the CPU come first); `nil` if the server runs elsewhere or its user lacks the right.
    private static func databaseSeconds(_ connection: PostgresConnection) async -> Double? {
        let rows = try? await connection.query(
            """
            SELECT sum(split_part(pg_read_file('/proc/' || a.pid || '/schedstat'), ' ', 1)::double precision) / 1e9
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name = 'inspectd callbacks'
            """)
        return try? rows?.first?.optionalDouble(0)
    }

    /// CPU seconds of this process.
    package static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func addEndpoint(_ connection: PostgresConnection, _ url: String) async throws -> Int64 {
        try await connection.query(
            "SELECT endpoint_id FROM insp.create_partner($1, $2, false, true)",
            [.text("bench-\(UUID().uuidString.lowercased())"), .text(url)])[0].int(0)
    }

    private func add(_ count: Int, endpoint: Int64, url: String, _ connection: PostgresConnection) async throws {
        // As written by finished jobs, with an extra member that brings the body to the intended length.
        _ = try await connection.query(
            """
            INSERT INTO insp.callback (job_id, public_id, endpoint_id, url, decision, definition_key)
            SELECT coalesce((SELECT max(c.job_id) FROM insp.callback c WHERE c.endpoint_id = $1), 0) + g, gen_random_uuid(),
                $1, $2, 'PASSED', repeat('x', $3)
            FROM generate_series(1, $4) AS g
            """,
            [.int(endpoint), .text(url), .int(Int64(self.bodyBytes - Self.emptyBodyBytes)), .int(Int64(count))])
    }

    private final class Delivered: Sendable {
        private let state = Mutex((count: 0, waitsMs: [Double]()))

        func add(_ waitMs: Double?) {
            self.state.withLock { state in
                state.count += 1
                if let waitMs { state.waitsMs.append(waitMs) }
            }
        }

        func reset() { self.state.withLock { $0 = (0, []) } }
        var count: Int { self.state.withLock { $0.count } }
        var waitsMs: [Double] { self.state.withLock { $0.waitsMs } }
    }
}
