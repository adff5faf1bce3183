import Foundation
import Postgres
import Testing

/// What a call read.
struct PlanCost {
    /// Rows that scans brought up, of all tables.
    var rows = 0
    /// Pages looked at, the fewest of several runs under the plans that the session keeps. What others do at the same time
    /// only adds to them: a database that is made or migrated beside this one resets caches, and the next run reads the
    /// catalogue again, some 150 pages of it. So there are more runs while all were above the limit; a plan that reads too much
    /// does so in every one.
    var pages = 0
    var scanned: [String] = []

    /// Tables that grow with the backlog or with history. A scan of one from end to end is what is to be ruled out.
    private static let big =
        #"^(ready|lease|delayed|expiry|job|step|event|callback|callback_pull|job_key|person|job_reference|purge_later)(_p[0-9]+)?$"#

    static func measure(
        _ statement: PostgresStatement, pages limit: Int, on connection: PostgresConnection
    ) async throws -> (cost: PlanCost, rows: [PostgresRow]) {
        var cost = PlanCost()
        var runs: [Int] = []
        for run in 0..<60 {
            try await connection.execute("BEGIN")
            let plan = try await connection.query(
                "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.sql, statement.parameters)[0].data(0)
            try await connection.execute("ROLLBACK")
            let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
            let top = document?.first?["Plan"] as? [String: Any]
            let pages = ["Shared Hit Blocks", "Shared Read Blocks"].compactMap { top?[$0] as? Int }
            #expect(pages.count == 2)
            // The first run also reads the catalogue, and one after a deletion wades through what was deleted; from the sixth on
            // plans may be those for whatever parameters.
            if run > 4 { runs.append(pages.reduce(0, +)) }
            if run >= 10, runs.min() ?? 0 <= limit { break }
        }
        cost.pages = try #require(runs.min())
        // The counts of a session's transaction also hold what earlier ones have not reported yet.
        let counts = PostgresStatement(
            """
            SELECT relname::text, coalesce(seq_scan, 0), coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' ORDER BY relid
            """)
        let (before, rows, after) = try await connection.transaction { connection in
            (
                try connection.query(counts.sql), try connection.query(statement.sql, statement.parameters),
                try connection.query(counts.sql)
            )
        }
        let big = try Regex(Self.big)
        for (old, new) in zip(before, after) {
            let name = try new.string(0)
            #expect(try old.string(0) == name)
            cost.rows += Int(try new.int(2) - old.int(2))
            if try new.int(1) > old.int(1), name.contains(big) { cost.scanned.append(name) }
        }
        return (cost, rows)
    }

    /// Measures a call, and fails if it read more.
    static func bound(
        _ name: String, _ statement: PostgresStatement, rows: Int, pages: Int, on connection: PostgresConnection
    ) async throws -> [PostgresRow] {
        let (cost, answer) = try await Self.measure(statement, pages: pages, on: connection)
        print("\(name) read \(cost.rows) rows and \(cost.pages) pages")
        #expect(cost.scanned.isEmpty, "\(name) scans \(cost.scanned)")
        #expect(cost.rows <= rows, "\(name) reads \(cost.rows) rows")
        #expect(cost.pages <= pages, "\(name) reads \(cost.pages) pages")
        return answer
    }
}
