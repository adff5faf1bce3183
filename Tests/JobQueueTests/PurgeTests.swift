import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Retention walks cheaply, waits for nobody, and passes nothing by.
@Suite struct PurgeTests {
    private func purge(_ fixture: QueueFixture) async throws -> PostgresRow {
        try await fixture.admin.query("SELECT * FROM insp.purge()")[0]
    }

    /// Finished jobs with a part each.
    private func finished(_ fixture: QueueFixture, _ count: Int, partner: String = "acme") async throws -> [String] {
        var ids: [String] = []
        for _ in 0..<count {
            let id = try await fixture.client.enqueue(
                payload: Data(#"{"partner":"\#(partner)","workflow":"id","userReference":"Jane"}"#.utf8),
                parts: [.front: [Data("x".utf8)]])
            #expect(try await fixture.client.cancel(id))
            ids.append(id)
        }
        return ids
    }

    private func age(_ fixture: QueueFixture, _ interval: String = "40 days") async throws {
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '\(interval)',
                completed_at = completed_at - interval '\(interval)'
            """)
    }

    /// Pages that a call reads, once its plans are made.
    private func pages(_ fixture: QueueFixture, _ call: String) async throws -> Int {
        var pages = 0
        for _ in 0..<3 {
            let plan = try await fixture.admin.query("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT \(call)")[0].data(
                0)
            let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
            let top = try #require(document?.first?["Plan"] as? [String: Any])
            pages = try #require(top["Shared Hit Blocks"] as? Int) + (try #require(top["Shared Read Blocks"] as? Int))
        }
        return pages
    }

    @Test func `A partner's new period moves only the cursor of that period, and no further than it must`() async throws
    {
        let fixture = try await QueueFixture()
        for name in ["b", "c"] { _ = try await fixture.admin.query("SELECT insp.create_partner('\(name)', NULL)") }
        _ = try await fixture.admin.query("SELECT insp.set_retention('c', '90 days', '90 days')")
        for partner in ["acme", "b", "c"] { _ = try await self.finished(fixture, 2, partner: partner) }
        try await self.age(fixture)
        _ = try await self.purge(fixture)
        func cursors() async throws -> [String: Int64] {
            Dictionary(
                uniqueKeysWithValues: try await fixture.admin.query(
                    "SELECT what || ' ' || extract(day FROM keep), next_id FROM insp.retention_cursor WHERE keep > '0'"
                ).map { (try $0.string(0), try $0.int(1)) })
        }
        let before = try await cursors()
        #expect(before["results 30"] == 7)
        #expect(before["results 90"] == 1 || before["results 90"] == 0)
        _ = try await fixture.admin.query("SELECT insp.set_retention('b', keep_results => '20 days')")
        var after = try await cursors()
        // Beginning where the former time's cursor is: all before is gone.
        #expect(after.removeValue(forKey: "results 20") == 7)
        #expect(after == before)
        // To a time whose cursor is ahead: this one goes back to where the partner's was, and its jobs go.
        _ = try await fixture.admin.query("SELECT insp.set_retention('c', keep_results => '30 days')")
        after = try await cursors()
        #expect(after["results 30"] == before["results 90"])
        #expect(after["parts 30"] == before["parts 30"])
        #expect(try await self.purge(fixture).int("results") == 2)
        #expect(try await fixture.count("insp.step WHERE status = 128 AND NOT summary ? 'purgedAt'") == 0)
    }

    @Test func `An operator's open transaction costs its own jobs alone`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await self.finished(fixture, 6)
        try await self.age(fixture)
        let operators = [
            "SELECT insp.erase('\(ids[0])')", "SELECT insp.rerun('\(ids[1])')",
            "SELECT insp.callback_dead_letter('msg_' || replace('\(ids[2])', '-', ''))",
        ]
        var open: [PostgresConnection] = []
        for call in operators {
            let connection = try await fixture.database.connect()
            try await connection.execute("BEGIN; \(call)")
            open.append(connection)
        }
        // A call that waits for the open transactions fails after its connection's 30 seconds.
        _ = try await self.purge(fixture)
        // The rerun drew a number: only what was drawn before is walked over, once it is known.
        _ = try await self.purge(fixture)
        for connection in open { try await connection.execute("COMMIT") }
        try await fixture.admin.execute("UPDATE insp.purge_later SET due_at = due_at - interval '1 minute'")
        try await fixture.purgeAll()
        #expect(
            try await fixture.count("insp.job WHERE status = 128 AND insp.personal(personal) ? 'userReference'")
                == 0)
        #expect(
            try await fixture.count("insp.job WHERE status = 1 AND insp.personal(personal) ? 'userReference'")
                == 1)

        // While someone changes the times, or purges already, a call does nothing, waits for nothing, and says so.
        try await open[0].execute("BEGIN; SELECT insp.set_retention('acme', '8 days')")
        let refused = await #expect(throws: PostgresError.self) { try await self.purge(fixture) }
        #expect(refused?.sqlState == "55P03")
        try await open[0].execute("ROLLBACK")
        for connection in open { await connection.close() }
    }

    @Test func `Retention does not pass a job whose transaction was open for longer than its parts are kept`()
        async throws
    {
        let fixture = try await QueueFixture()
        let producer = try await fixture.database.connect()
        try await producer.execute(
            """
            BEGIN;
            SELECT insp.cancel(insp.enqueue('{"partner":"acme","workflow":"id","userReference":"Jane"}', front => 'x'));
            """)
        _ = try await self.finished(fixture, 3)
        try await self.age(fixture)
        try await fixture.purgeAll()
        try await producer.execute("COMMIT")
        await producer.close()
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = now() - interval '40 days', completed_at = now() - interval '40 days';
            UPDATE insp.callback SET created_at = now() - interval '40 days'
            """)
        for _ in 0..<3 { _ = try await self.purge(fixture) }
        #expect(try await fixture.count("insp.part") == 0)
        #expect(try await fixture.count("insp.job j WHERE insp.personal(j.personal)::text LIKE '%Jane%'") == 0)
        let due = "insp.callback_claim(1000, interval '1 minute', 1000) c WHERE c.id IS NOT NULL"
        let reduced = "count(*), bool_and(c.user_reference IS NULL AND c.is_reduced)"
        let row = try await fixture.admin.query("SELECT \(reduced) FROM \(due)")[0]
        #expect(try row.int(0) == 4 && row.bool(1))
    }

    @Test func `A call ends after a few seconds, and what was left comes first the next time`() async throws {
        let fixture = try await QueueFixture()
        for number in 0..<9 {
            _ = try await fixture.admin.query("SELECT insp.create_partner('p\(number)', NULL)")
            _ = try await fixture.admin.query("SELECT insp.set_retention('p\(number)', '\(number + 1) days')")
            _ = try await self.finished(fixture, 1, partner: "p\(number)")
        }
        try await self.age(fixture)
        try await fixture.admin.execute(
            """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.6); RETURN NULL; END';
            CREATE TRIGGER slow BEFORE DELETE ON insp.part FOR EACH STATEMENT EXECUTE FUNCTION slow()
            """)
        let first = try await self.purge(fixture)
        // After 3 seconds it begins no further partner, and each takes at least 0.6.
        #expect(try first.bool("more") && first.int("parts") <= 6)
        var parts = try first.int("parts")
        var calls = 1
        while parts < 9, calls < 9 {
            parts += try await self.purge(fixture).int("parts")
            calls += 1
        }
        #expect(parts == 9)
    }

    @Test func `Callbacks that wait for long are not walked over again and again`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.callback (job_id, endpoint_id, url, body, created_at)
            SELECT n, 1, 'https://hooks.example.com/x', '{}', now() - interval '40 days' FROM generate_series(1, 3000) n;
            UPDATE insp.callback_waiting SET state = CASE WHEN callback_id % 2 = 0 THEN 'held' ELSE 'dead' END
            """)
        try await fixture.purgeAll()
        #expect(try await fixture.count("insp.callback") == 1500)
        #expect(try await fixture.count("insp.callback_waiting WHERE state = 'dead'") == 0)
        #expect(try await self.pages(fixture, "insp.purge()") < 1000)
        #expect(try await fixture.count("insp.callback_waiting WHERE state = 'held'") == 1500)
    }

    @Test func `Accesses and vendor sessions go after their time`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.record (chain, at, actor, action, subject)
            SELECT 'access', now() - n * interval '100 days', 'ik_x', 'read', gen_random_uuid()::text
            FROM generate_series(10, 1, -1) n;
            INSERT INTO insp.record (chain, at, action, subject) VALUES
                ('session', now() - interval '3 years', 'session_begin', 'x'),
                ('endpoint', now() - interval '91 days', 'failing', 'endpoint 1'),
                ('endpoint', now() - interval '89 days', 'recovered', 'endpoint 1');
            SELECT insp.set_retention(what => 'access_events', keep => '366 days')
            """)
        // What has no place in its chain stays.
        _ = try await self.purge(fixture)
        #expect(try await fixture.count("insp.record WHERE chain <> 'operator'") == 13)
        _ = try await fixture.admin.query("SELECT insp.link_record()")
        _ = try await self.purge(fixture)
        #expect(try await fixture.count("insp.record WHERE chain = 'access'") == 3)
        #expect(try await fixture.count("insp.record WHERE chain = 'session'") == 0)
        #expect(try await fixture.count("insp.record WHERE chain = 'endpoint'") == 1)
        await #expect(throws: PostgresError.self) { try await fixture.admin.execute("DELETE FROM insp.record") }
    }

    @Test func `Expired templates are found without reading the others`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.face (partner_id, face_id) SELECT 1, n::text FROM generate_series(1, 20000) n;
            INSERT INTO insp.face_template (partner_id, face_id, engine, model_sha256, embedding)
            SELECT 1, n::text, 'e', repeat('a', 64), repeat('e', 1024) FROM generate_series(1, 20000) n;
            SELECT insp.set_face_limits('acme', keep => '1 day')
            """)
        #expect(try await self.pages(fixture, "insp.face_purge()") < 50)
        try await fixture.admin.execute(
            "UPDATE insp.face_template SET created_at = now() - interval '2 days' WHERE id IN (7, 8)")
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.face WHERE face_id = '7' FOR UPDATE")
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 1)
        try await holder.execute("COMMIT")
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 1)
        await holder.close()
    }
}
