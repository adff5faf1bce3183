internal import Foundation
internal import JobQueue
internal import Postgres

/// Creates millions of waiting jobs within minutes: copies of jobs from `insp.enqueue_many`, each with its own number, id
/// and place in the queue.
struct BacklogFill: Sendable {
    let database: BenchmarkDatabase
    /// Jobs written by one statement.
    var chunk = 100_000

    init(_ database: BenchmarkDatabase) { self.database = database }

    /// Adds waiting jobs, alternating between the requests, and leaves the tables as after a vacuum.
    func add(_ jobs: Int, like requests: [String], _ progress: QueueBenchmark.Progress) async throws {
        guard jobs > 0 else { return }
        let start = ContinuousClock.now
        let admin = self.database.admin
        let models = Array(requests.prefix(jobs))
        let ids = try await admin.query("SELECT * FROM insp.enqueue_many($1)", [.textArray(models)])
            .map { try $0.string(0) }
        try await self.keepModels(ids)
        try await self.makePartitions(jobs)
        let statement = try await self.copyStatement()
        var left = jobs - ids.count
        var chunks = 0
        while left > 0 {
            let count = min(left, self.chunk)
            _ = try await admin.query(statement, [.int(Int64(count)), .int(Int64(ids.count))])
            left -= count
            chunks += 1
            if chunks % 10 == 0 {
                progress("filled \(jobs - left) of \(jobs) jobs, \(Int((.now - start).seconds)) s")
            }
        }
        // The first read of a new row sets its hint bits, which would otherwise count for the first claims.
        for table in ["ready", "job", "part"] {
            try await admin.execute("VACUUM (ANALYZE) insp.\(table)", timeout: .seconds(3600))
        }
        // Only some roles may do this; otherwise, the remaining pages are written during a measurement.
        try? await admin.execute("CHECKPOINT", timeout: .seconds(600))
        progress("filled \(jobs) jobs in \(Int((.now - start).seconds)) s")
    }

    /// Creates the partitions for `jobs`. The function waits two seconds for the tables, which a transaction on a busy machine may hold
    /// for longer.
    private func makePartitions(_ jobs: Int) async throws {
        for _ in 1..<5 {
            do {
                _ = try await self.database.admin.query(Self.partitions, [.int(Int64(jobs))])
                return
            } catch let error as PostgresError where error.isLockTimeout {}
        }
        _ = try await self.database.admin.query(Self.partitions, [.int(Int64(jobs))])
    }

    private static let partitions = "SELECT insp.ensure_partitions($1::bigint + 15000000)"

    /// Saves the rows that the product created, as models for the copies.
    private func keepModels(_ ids: [String]) async throws {
        // A statement with parameters cannot create a table; these are ids that the database itself just made.
        let list = ids.map { "'\($0)'" }.joined(separator: ", ")
        try await self.database.admin.execute(
            """
            DROP TABLE IF EXISTS bench_model, bench_part, bench_ready;
            CREATE TEMP TABLE bench_model AS
                SELECT row_number() OVER (ORDER BY j.id) - 1 AS k, j.* FROM insp.job j WHERE j.public_id IN (\(list));
            CREATE TEMP TABLE bench_part AS
                SELECT m.k, p.* FROM insp.part p JOIN bench_model m ON p.job_id = m.id;
            CREATE TEMP TABLE bench_ready AS
                SELECT m.k, r.* FROM insp.ready r JOIN bench_model m ON r.job_id = m.id;
            """)
    }

    /// Copies `$1` jobs of `$2` models, whatever columns there are.
    private func copyStatement() async throws -> String {
        let job = try await self.columns(of: "job", without: ["id", "public_id"])
        let part = try await self.columns(of: "part", without: ["job_id"])
        let ready = try await self.columns(of: "ready", without: ["job_id", "seq"])
        func copied(_ columns: [String]) -> String { columns.map { "m.\($0)" }.joined(separator: ", ") }
        func named(_ columns: [String]) -> String { columns.joined(separator: ", ") }
        return """
            WITH n AS MATERIALIZED (
                SELECT nextval('insp.job_id') AS id, g % $2::bigint AS k FROM generate_series(1, $1::bigint) AS g
            ), jobs AS (
                INSERT INTO insp.job (id, \(named(job)))
                SELECT n.id, \(copied(job)) FROM n JOIN bench_model m USING (k)
            ), parts AS (
                INSERT INTO insp.part (job_id, \(named(part)))
                SELECT n.id, \(copied(part)) FROM n JOIN bench_part m USING (k)
            )
            INSERT INTO insp.ready (job_id, \(named(ready)))
            SELECT n.id, \(copied(ready)) FROM n JOIN bench_ready m USING (k) ORDER BY n.id
            """
    }

    private func columns(of table: String, without own: [String]) async throws -> [String] {
        try await self.database.admin.query(
            """
            SELECT quote_ident(a.attname) FROM pg_attribute a
            WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> ALL ($2::text[])
            ORDER BY a.attnum
            """, [.text("insp.\(table)"), .textArray(own)]
        ).map { try $0.string(0) }
    }
}
