import Postgres
import TestSupport
import Testing

/// Rows of the record that are dated in the future.
@Suite struct RecordTimeTests: RecordChain {
    @Test func `A row from the future keeps no old row behind it from being removed, and is broken`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.record (chain, at, action, subject)
            SELECT 'session', now() + CASE WHEN n IN (2, 5) THEN interval '3 years' WHEN n = 6 THEN interval '-10 days'
                ELSE (n - 1200) * interval '1 day' END, 'session_begin', n::text
            FROM generate_series(1, 6) n
            """)
        try await self.link(fixture)
        try await fixture.purgeAll(20)
        // The rows before a young one, and not those from the future that only a young one follows.
        #expect(try await fixture.count("insp.record_chain WHERE chain = 'session' AND anchor_seq = 4") == 1)
        #expect(try await fixture.count("insp.record WHERE chain = 'session'") == 2)
        #expect(
            try await self.verify("session", fixture)
                == RecordVerdict(outcome: "broken", brokenAt: 5, reason: "dated in the future"))
        // The guards allow no more than that.
        for sql in [
            "DELETE FROM insp.record WHERE chain = 'session' AND seq = 5",
            """
            UPDATE insp.record_chain c SET anchor_seq = 5, anchor_hash = r.hash FROM insp.record r
            WHERE (c.chain, r.chain, r.seq) = ('session', 'session', 5)
            """,
            """
            UPDATE insp.record_chain c SET anchor_seq = 6, anchor_hash = r.hash FROM insp.record r
            WHERE (c.chain, r.chain, r.seq) = ('session', 'session', 6)
            """,
        ] {
            let error = await #expect(throws: PostgresError.self, "\(sql)") { try await fixture.admin.execute(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
    }
}
