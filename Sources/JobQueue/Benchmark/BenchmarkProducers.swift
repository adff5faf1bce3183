internal import InspectCore
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

    /// Enqueues so many jobs and returns when the last is committed.
    func send(_ jobs: Int) async throws {
        let left = Counter(jobs)
        try await self.onEachConnection { connection in
            while true {
                let count = left.take(self.batch)
                if count == 0 { break }
                try await self.enqueue(count, on: connection)
            }
        }
    }

    /// Keeps so many jobs waiting until the task is cancelled.
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

    private func onEachConnection(_ body: @escaping @Sendable (PostgresConnection) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<self.connections {
                group.addTask {
                    let connection = try await PostgresConnection.connect(
                        self.url, options: ConnectionOptions(name: "inspectd benchmark producer"))
                    do {
                        try await body(connection)
                    } catch {
                        await connection.close()
                        throw error
                    }
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
    }

    /// A number that several tasks count with.
    final class Counter: Sendable {
        private let count: Mutex<Int>

        init(_ count: Int) { self.count = Mutex(count) }

        var value: Int { self.count.withLock { $0 } }

        func add(_ number: Int) { self.count.withLock { $0 += number } }

        /// Takes up to so many away and returns how many that were.
        func take(_ number: Int) -> Int {
            self.count.withLock { count in
                let taken = min(count, number)
                count -= taken
                return taken
            }
        }
    }
}
