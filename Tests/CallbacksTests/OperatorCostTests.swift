import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Operators' queries read the rows that they show, and not the whole outbox.
struct OperatorCostTests {
    private static let old = 40_000
    private let outbox: Outbox

    /// Delivered callbacks of two endpoints, all but the last forty written and sent weeks ago.
    init() async throws {
        self.outbox = try await Outbox()
        try await self.outbox.connection.execute(
            """
            SET synchronous_commit = off;
            ALTER TABLE insp.callback SET (autovacuum_enabled = false);
            ALTER TABLE insp.callback_attempt SET (autovacuum_enabled = false);
            SELECT insp.create_partner('partner' || n, 'https://partner.example/') FROM generate_series(1, 2) n;
            ALTER TABLE insp.callback DISABLE TRIGGER callback_prepare;
            INSERT INTO insp.callback (job_id, endpoint_id, url, body, created_at)
            SELECT n, 1 + n % 2, 'https://partner.example/', '{}',
                now() - CASE WHEN n > \(Self.old) THEN interval '10 minutes' ELSE interval '20 days' - n * interval '30 s' END
            FROM generate_series(1, \(Self.old + 40)) n;
            ALTER TABLE insp.callback ENABLE TRIGGER callback_prepare;
            INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, worker)
            SELECT c.id, 1, c.created_at, 5, 200, 'test' FROM insp.callback c ORDER BY c.id;
            SELECT brin_summarize_new_values('insp.callback_attempt_time');
            """, timeout: .seconds(60))
    }

    /// What a statement answers, and the rows of the outbox that it reads.
    private func rows(_ sql: String) async throws -> (answer: PostgresRow, rows: Int64) {
        let read = PostgresStatement(
            """
            SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' AND relname ~ '^callback'
            """)
        return try await self.outbox.connection.transaction { connection in
            let before = try connection.query(read.sql)[0].int(0)
            let answer = try connection.query(sql)[0]
            return (answer, try connection.query(read.sql)[0].int(0) - before)
        }
    }

    @Test func `The overview reads the last hour alone`() async throws {
        let (answer, rows) = try await self.rows(
            "SELECT sum(delivered)::bigint, count(median_seconds) FROM insp.v_callbacks")
        #expect(try answer.int(0) == 40 && answer.int(1) == 2)
        // The pages that hold them hold others, too.
        #expect(rows < 8_000, "v_callbacks reads \(rows) rows")
    }

    @Test(arguments: [
        "insp.callback_replay('typo')", "insp.callback_dead_letter('typo')",
        "insp.callback_replay('msg_0123456789abcdef0123456789abcdef')",
        "insp.callback_dead_letter('msg_0123456789abcdef0123456789abcdef')",
    ])
    func `An unknown id is not searched for`(_ call: String) async throws {
        let (answer, rows) = try await self.rows("SELECT \(call)")
        #expect(try !answer.bool(0))
        #expect(rows < 20, "\(call) reads \(rows) rows")
    }

    @Test func `An event of an endpoint is found by its id`() async throws {
        let name = try await self.outbox.connection.query(
            """
            INSERT INTO insp.callback (job_id, endpoint_id, event, url, body)
            VALUES (-1, 1, 'endpoint.failing', 'https://partner.example/', '{}') RETURNING webhook_id
            """)[0].string(0)
        let (answer, rows) = try await self.rows("SELECT insp.callback_replay('\(name)')")
        #expect(try answer.bool(0))
        #expect(rows < 20, "\(rows) rows")
    }

    @Test func `A replay reads its period alone`() async throws {
        for (delivered, expected) in [("true", 20), ("false", 0)] {
            let (answer, rows) = try await self.rows(
                "SELECT insp.callback_replay(1, now() - interval '15 minutes', now(), \(delivered))")
            #expect(try answer.int(0) == expected)
            #expect(rows < 2_000, "with delivered ones: \(delivered), a replay reads \(rows) rows")
        }
        #expect(try await self.outbox.count("state = 'pending'") == 20)
        // The oldest as well, and those that were dead-lettered whenever they were made.
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_replay(2, now() - interval '21 days', now() - interval '20 days' + interval '10 minutes', true)"
        )
        #expect(try await self.outbox.count("state = 'pending' AND endpoint_id = 2") == 10)
        _ = try await self.outbox.connection.query("UPDATE insp.callback_waiting SET state = 'dead'")
        #expect(
            try await self.outbox.connection.query(
                "SELECT insp.callback_replay(2, now() - interval '21 days', now() - interval '1 day')")[0].int(0) == 10)
    }
}
