internal import InspectCore
internal import JobQueue
internal import Postgres

/// A transaction that holds the xmin horizon, so that VACUUM removes nothing: REPEATABLE READ, with a write, left open.
struct HeldSnapshot: Sendable {
    private let connection: PostgresConnection

    static func open(_ url: String) async throws -> HeldSnapshot {
        let connection = try await PostgresConnection.connect(
            url, options: ConnectionOptions(name: "inspectd benchmark holder"))
        try await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try await connection.execute("CREATE TEMP TABLE bench_held ON COMMIT DROP AS SELECT count(*) FROM insp.worker")
        let held = HeldSnapshot(connection: connection)
        try await held.check()
        return held
    }

    /// Makes sure that the transaction still holds its snapshot and has a transaction ID.
    private func check() async throws {
        let holds = try await self.connection.query(
            """
            SELECT backend_xid IS NOT NULL AND backend_xmin IS NOT NULL AND state <> 'idle' FROM pg_stat_activity
            WHERE pid = pg_backend_pid()
            """)[0].bool(0)
        guard holds else { throw InspectError(.internalError, "the benchmark's transaction holds nothing") }
    }

    /// Ends the transaction; an error if it did not hold until now.
    func close() async throws {
        do {
            try await self.check()
        } catch {
            await self.connection.close()
            throw error
        }
        await self.connection.close()
    }
}
