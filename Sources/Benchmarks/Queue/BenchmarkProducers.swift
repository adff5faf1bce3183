internal import InspectCore
internal import JobQueue
internal import Postgres
internal import Synchronization

/// Connections that enqueue, as upstream services would: `insp.enqueue_many`, one transaction for each call.
struct BenchmarkProducers: Sendable {
    let url: String
    let requests: [String]
    var connections = 2
    /// Jobs in one call.
    var batch = 500

    init(_ url: String, _ request: String, connections: Int = 2, batch: Int = 500) {
        self.url = url
        self.requests = Array(repeating: request, count: batch)
        self.connections = connections
        self.batch = batch
    }

    /// Enqueues this many jobs and returns when the last is committed.
    ///
    /// - Returns: The duration in seconds without connecting, as a real producer is connected.
    @discardableResult
    func send(_ jobs: Int) async throws -> Double {
        let left = Counter(jobs)
        return try await self.onEachConnection { connection in
            while true {
                let count = left.take(self.batch)
                if count == 0 { break }
                try await self.enqueue(count, on: connection)
            }
        }
    }

    /// Keeps this many jobs waiting until the task is cancelled.
    ///
    /// - Parameter finished: How many of the jobs are finished so far.
    func keep(_ depth: Int, finished: @escaping @Sendable () -> Int) async throws {
        let sent = Counter(0)
        try await self.onEachConnection { connection in
            while !Task.isCancelled {
                if sent.value - finished() + self.batch <= depth {
                    // Counted before it is sent, so that several connections together do not send too many.
                    sent.add(self.batch)
                    try await self.enqueue(self.batch, on: connection)
                } else {
                    try? await Task.sleep(for: .milliseconds(2))
                }
            }
        }
    }

    private func enqueue(_ count: Int, on connection: PostgresConnection) async throws {
        let requests = count == self.requests.count ? self.requests : Array(self.requests.prefix(count))
        _ = try await connection.query("SELECT count(*) FROM insp.enqueue_many($1)", [.jsonbs(requests)])
    }

    /// - Returns: Seconds from the moment when all are connected to the end of the last.
    @discardableResult
    private func onEachConnection(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Void
    ) async throws -> Double {
        var open: [PostgresConnection] = []
        let result: Result<Double, any Error>
        do {
            for _ in 0..<self.connections {
                open.append(
                    try await PostgresConnection.connect(
                        self.url, options: ConnectionOptions(name: "inspectd benchmark producer")))
            }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for connection in open { group.addTask { try await body(connection) } }
                try await group.waitForAll()
            }
            result = .success((.now - start).seconds)
        } catch {
            result = .failure(error)
        }
        for connection in open { await connection.close() }
        return try result.get()
    }

    /// A counter shared by several tasks.
    final class Counter: Sendable {
        private let count: Mutex<Int>

        init(_ count: Int) { self.count = Mutex(count) }

        var value: Int { self.count.withLock { $0 } }

        func add(_ number: Int) { self.count.withLock { $0 += number } }

        /// Subtracts up to this many and returns how many it subtracted.
        func take(_ number: Int) -> Int {
            self.count.withLock { count in
                let taken = min(count, number)
                count -= taken
                return taken
            }
        }
    }
}
