internal import InspectCore
internal import JobQueue
internal import Postgres
internal import Synchronization

/// The common design of a queue, for comparison: one table with a state column and a partial index on the ready jobs. It
/// gets as many connections as the product's queue, the same batches, and one round trip to finish a batch and claim the
/// next.
struct ConventionalQueue: Sendable {
    let url: String
    /// Connections that claim and complete, and connections that insert.
    var workers = 1
    var producers = 2
    /// Jobs claimed and completed at once, and inserted at once.
    var batch = 64
    var insertBatch = 500
    var depth = 20_000
    let payload: String

    private static let claim = """
        UPDATE bench_conventional SET state = 'running', claimed_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM bench_conventional WHERE state = 'ready' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING id, payload
        """
    private static let complete = """
        UPDATE bench_conventional SET state = 'done', completed_at = now() WHERE id = ANY ($1::bigint[])
        """

    /// The queue's progress.
    final class Done: Sendable {
        private let state = Mutex((count: 0, roundTrips: [Double]()))

        var count: Int { self.state.withLock { $0.count } }

        /// How long the round trips since the last call took, in seconds.
        func takeRoundTrips() -> [Double] {
            self.state.withLock { state in
                defer { state.roundTrips = [] }
                return state.roundTrips
            }
        }

        fileprivate func add(_ count: Int, roundTrip: Double) {
            self.state.withLock { state in
                state.count += count
                state.roundTrips.append(roundTrip)
            }
        }
    }

    /// Makes the table, runs the queue while `body` watches its progress, and drops the table.
    func work<Result: Sendable>(_ body: @escaping @Sendable (Done) async throws -> Result) async throws -> Result {
        let admin = try await self.connect()
        try await admin.execute(
            """
            DROP TABLE IF EXISTS bench_conventional;
            CREATE TABLE bench_conventional (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL DEFAULT 'ready',
                payload jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), claimed_at timestamptz,
                completed_at timestamptz);
            CREATE INDEX bench_conventional_ready ON bench_conventional (id) WHERE state = 'ready';
            """)
        let done = Done()
        let running = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<self.producers { group.addTask { try await self.produce(done) } }
                for _ in 0..<self.workers { group.addTask { try await self.consume(done) } }
                try await group.waitForAll()
            }
        }
        let result: Result
        do {
            result = try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask { try await body(done) }
                group.addTask {
                    try await running.value
                    return nil
                }
                defer { running.cancel() }
                guard let first = try await group.next(), let result = first else {
                    throw InspectError(.internalError, "the conventional queue stopped")
                }
                return result
            }
        } catch {
            running.cancel()
            _ = try? await running.value
            await admin.close()
            throw error
        }
        _ = try? await running.value
        try await admin.execute("DROP TABLE bench_conventional")
        await admin.close()
        return result
    }

    private func connect() async throws -> PostgresConnection {
        var options = ConnectionOptions(name: "inspectd benchmark conventional")
        options.timeout = .seconds(600)
        return try await PostgresConnection.connect(self.url, options: options)
    }

    private func produce(_ done: Done) async throws {
        let connection = try await self.connect()
        var sent = 0
        // Each producer keeps its share of the depth, counted as if the jobs were taken evenly.
        while !Task.isCancelled {
            if (sent - done.count / self.producers) + self.insertBatch <= self.depth / self.producers {
                _ = try await connection.query(
                    "INSERT INTO bench_conventional (payload) SELECT $1::jsonb FROM generate_series(1, $2)",
                    [.text(self.payload), .int(Int64(self.insertBatch))])
                sent += self.insertBatch
            } else {
                try? await Task.sleep(for: .milliseconds(2))
            }
        }
        await connection.close()
    }

    private func consume(_ done: Done) async throws {
        let connection = try await self.connect()
        // The index is the only good plan, whatever the statistics: the product pins its plans in the same way.
        try await connection.execute("SET enable_seqscan = off")
        var held: [Int64] = []
        while !Task.isCancelled {
            let ended = held.count
            let start = ContinuousClock.now
            let rows = try await connection.pipeline([
                PostgresStatement(Self.complete, [.intArray(held)]),
                PostgresStatement(Self.claim, [.int(Int64(self.batch))]),
            ])
            done.add(ended, roundTrip: (.now - start).seconds)
            held = try rows[1].map { try $0.int(0) }
            if held.isEmpty && ended == 0 { try? await Task.sleep(for: .milliseconds(2)) }
        }
        await connection.close()
    }
}
