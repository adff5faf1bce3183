import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The record's chains of hashes: whatever is done to one is found.
@Suite struct RecordChainTests: RecordChain {
    @Test(arguments: [
        ("UPDATE insp.record SET actor = 'nobody' WHERE seq = 3", 3, "changed"),
        ("UPDATE insp.record SET at = at + interval '1 microsecond' WHERE seq = 1", 1, "changed"),
        ("UPDATE insp.record SET words = '{\"reason\": \"none\"}' WHERE seq = 3", 3, "changed"),
        ("UPDATE insp.record SET words = NULL, words_salt = NULL, words_sha256 = NULL WHERE seq = 5", 5, "changed"),
        ("DELETE FROM insp.record WHERE seq = 3", 3, "missing"),
        ("DELETE FROM insp.record WHERE seq = 1", 1, "missing"),
        ("DELETE FROM insp.record WHERE seq >= 4", 4, "missing"),
        ("DELETE FROM insp.record", 1, "missing"),
        // Two that change places; one that slips in; one that is left out and the rest moved up.
        (
            """
            UPDATE insp.record SET seq = -1 WHERE seq = 2; UPDATE insp.record SET seq = 2 WHERE seq = 3;
            UPDATE insp.record SET seq = 3 WHERE seq = -1
            """, 2, "does not follow the row before it"
        ),
        (
            "DELETE FROM insp.record WHERE seq = 2; UPDATE insp.record SET seq = seq - 1 WHERE seq > 2",
            2, "does not follow the row before it"
        ),
        (
            """
            INSERT INTO insp.record (chain, action, subject, seq, prev, hash)
            SELECT 'operator', 'pause', 'lane bulk', 6, hash, hash FROM insp.record WHERE seq = 5
            """, 6, "behind the end of the chain"
        ),
        // A rewritten row, with a hash that fits it: the next one does not.
        (
            """
            UPDATE insp.record SET actor = 'nobody' WHERE seq = 3;
            UPDATE insp.record r SET hash = insp.record_hash(r, r.seq, r.prev) WHERE seq = 3
            """, 4, "does not follow the row before it"
        ),
        // The end put back, to have what comes later take the place of what was there.
        (
            """
            UPDATE insp.record_chain c SET seq = r.seq, hash = r.hash FROM insp.record r
            WHERE r.seq = 3 AND r.chain = c.chain
            """, 4, "behind the end of the chain"
        ),
        // The same with the last one.
        (
            """
            UPDATE insp.record SET actor = 'nobody' WHERE seq = 5;
            UPDATE insp.record r SET hash = insp.record_hash(r, r.seq, r.prev) WHERE seq = 5
            """, 5, "changed"
        ),
    ])
    func `Any manipulation of a chain is found, with its place`(_ sql: String, _ place: Int64, _ reason: String)
        async throws
    {
        let fixture = try await self.chain(of: 5)
        try await self.tamper(sql, fixture)
        #expect(
            try await self.verify("operator", fixture)
                == RecordVerdict(outcome: "broken", brokenAt: place, reason: reason))
    }

    @Test func `A chain that was rolled back is detected by anyone who noted a row of it`() async throws {
        let fixture = try await self.chain(of: 5)
        func verify(_ seq: Int64, _ hash: String) async throws -> RecordVerdict {
            let row = try await fixture.admin.query(
                "SELECT * FROM insp.verify_record('operator', $1, $2)", [.int(seq), .text(hash)])[0]
            return RecordVerdict(
                outcome: try row.string("outcome"), brokenAt: try row.optionalInt("broken_at"),
                reason: try row.optionalString("reason"))
        }
        let noted = try await fixture.admin.query("SELECT last, hash FROM insp.verify_record('operator')")[0]
        let (last, hash) = (try noted.int(0), try noted.string(1))
        #expect(try await verify(last, hash).outcome == "whole")
        try await self.tamper(
            """
            DELETE FROM insp.record WHERE seq > 3;
            UPDATE insp.record_chain c SET seq = r.seq, hash = r.hash FROM insp.record r
            WHERE r.seq = 3 AND r.chain = c.chain
            """, fixture)
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        #expect(
            try await verify(last, hash)
                == RecordVerdict(
                    outcome: "broken", brokenAt: 4, reason: "ends at 3, and had a row 5 when that was noted"))
        // Others come in their places.
        for _ in 1...3 { _ = try await fixture.admin.query("SELECT insp.pause('bulk')") }
        try await self.link(fixture)
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        #expect(
            try await verify(last, hash)
                == RecordVerdict(outcome: "broken", brokenAt: 5, reason: "not the row that was noted"))
    }

    @Test func `A round that finds a chain locked does not count as successful`() async throws {
        let fixture = try await QueueFixture()
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.record_chain WHERE chain = 'operator' FOR UPDATE")
        #expect(try await self.link(fixture) == -1)
        try await fixture.admin.execute("UPDATE insp.duty SET since = now() - interval '1 hour'")
        let duty = "insp.v_maintenance WHERE duty = 'record' AND state ="
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            // Which comes after it in each round of all duties.
            try await fixture.wait(
                for: "EXISTS (SELECT FROM insp.v_maintenance WHERE duty = 'samples' AND state = 'well')")
            #expect(try await fixture.count("\(duty) 'late' AND outcome IS NULL AND error IS NULL") == 1)
            try await holder.execute("ROLLBACK")
            try await fixture.wait(for: "EXISTS (SELECT FROM \(duty) 'well')")
        }
        #expect(try await fixture.count("insp.record WHERE seq IS NULL") == 0)
        await holder.close()
    }

    @Test func `Nothing to verify, and rows that wait, are inconclusive`() async throws {
        let fixture = try await self.chain(of: 1)
        #expect(try await self.verify("access", fixture).outcome == "inconclusive")
        _ = try await fixture.admin.query("SELECT insp.resume('bulk')")
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        try await fixture.admin.execute(
            "INSERT INTO insp.record (chain, at, action, subject) VALUES ('operator', now() - interval '2 minutes', 'x', 'x')"
        )
        #expect(try await self.verify("operator", fixture).outcome == "inconclusive")
        let error = await #expect(throws: PostgresError.self) { try await self.verify("nothing", fixture) }
        #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState)
    }

    @Test func `What waits for its place is read alone, also before there are statistics`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute("ANALYZE insp.record")
        func write(_ rows: Int) async throws {
            try await fixture.admin.execute(
                """
                INSERT INTO insp.record (chain, action, subject)
                SELECT 'operator', 'x', n::text FROM generate_series(1, \(rows)) n
                """)
        }
        try await write(20000)
        _ = try await fixture.admin.query("SELECT insp.link_record(30000)")
        try await write(10)
        try await fixture.admin.execute("BEGIN")
        let linked = try await fixture.admin.query("SELECT insp.link_record()")[0].int(0)
        let read = try await fixture.admin.query(
            """
            SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' AND relname = 'record'
            """)[0].int(0)
        try await fixture.admin.execute("COMMIT")
        #expect(linked == 10)
        #expect(read < 100, "\(read)")
    }

    @Test func `The hash is what its comment says`() async throws {
        let fixture = try await self.chain(of: 2)
        let wrong = try await fixture.count(
            """
            insp.record r WHERE action = 'pause' AND r.hash <> sha256(r.prev || convert_to(format(
                '["operator", %s, %s, "%s", "pause", "lane bulk", null, {}, "%s"]', r.seq,
                floor(extract(epoch FROM r.at) * 1000000), r.actor, encode(r.words_sha256, 'hex')), 'UTF8'))
            """)
        #expect(wrong == 0)
        #expect(try await fixture.count("insp.record WHERE seq = 1 AND prev = decode(repeat('00', 32), 'hex')") == 1)
    }
}
