import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// A job whose row PostgreSQL cannot process ends by itself, and keeps no other from its end.
@Suite struct DamagedRowTests {
    private static let request =
        QueueFixture.byURL.dropLast() + #","userReference":"u","callbackUrl":"https://hooks.example.com/own"}"#

    /// Three jobs, the one in the middle damaged once all are claimed.
    private func prepare(_ fixture: QueueFixture) async throws {
        _ = try await fixture.client.enqueue(many: Array(repeating: Data(Self.request.utf8), count: 3))
        try await fixture.admin.execute(
            """
            CREATE TABLE claimed AS SELECT c.job_id, c.fence FROM
                insp.worker_register('00000000-0000-0000-0000-000000000001', 'h', 1, 'x', NULL, '{0,1,2}', 4) r,
                LATERAL insp.claim(r.worker_id, '00000000-0000-0000-0000-000000000001', '330 s', 3,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c
            WHERE c.job_id IS NOT NULL;
            UPDATE insp.job SET personal = '\\xff' WHERE id = 2
            """)
    }

    private static let arrays = "(SELECT array_agg(job_id) FROM claimed), (SELECT array_agg(fence) FROM claimed)"
    private static let settle = """
        SELECT insp.settle(\(arrays), array_fill('{"decision":{"type":"PASSED"}}'::text, ARRAY[3]),
            array_fill('{}'::bytea, ARRAY[3]), '{2}', (SELECT array_agg(fence) FROM claimed WHERE job_id = 2), '{8}', ARRAY['{}'::bytea])
        """
    private static let deadLetter = """
        SELECT insp.dead_letter(\(arrays), array_fill('CORRUPT_IMAGE'::text, ARRAY[3]), array_fill('d'::text, ARRAY[3]),
            array_fill(false, ARRAY[3]))
        """
    private static let release = "SELECT insp.release(\(arrays)); "
    private static let expire = """
        UPDATE insp.job SET expires_at = now() - interval '1 s'; UPDATE insp.expiry SET expires_at = now() - interval '1 s';
        SELECT insp.expire()
        """

    @Test(
        arguments: [
            ("settle", settle, nil), ("dead-letter", deadLetter, "CORRUPT_IMAGE"),
            (
                "rescue", "UPDATE insp.lease SET crashes = 2, deadline = now() - interval '1 s'; SELECT insp.rescue()",
                "WORKER_LOST"
            ),
            ("cancel", "SELECT insp.cancel(public_id) FROM insp.job", "CANCELLED"),
            ("release and cancel", release + "SELECT insp.cancel_partner('acme')", "CANCELLED"),
            ("release and expire", release + expire, "EXPIRED"),
            (
                "retry, promote and expire",
                "SELECT insp.retry_later(\(arrays), array_fill(0::double precision, ARRAY[3]), array_fill('X'::text, ARRAY[3]), array_fill(true, ARRAY[3])); SELECT insp.promote(); "
                    + expire, "EXPIRED"
            ),
            (
                "hold and expire",
                settle.replacing("insp.settle", with: "insp.hold_for_review") + "; " + expire, "EXPIRED"
            ),
        ] as [(String, String, String?)])
    func `A damaged job is dead-lettered, and the others of its batch end as they should`(
        way: (name: String, statements: String, code: String?)
    ) async throws {
        let fixture = try await QueueFixture()
        // What reads of a job beside its end: progress, and the key by which callbacks are ordered.
        try await fixture.admin.execute(
            """
            UPDATE insp.endpoint SET ordering = 'user', events = '{job.finished,job.status,job.review_needed}', inline_result = true
            """)
        try await self.prepare(fixture)
        try await fixture.admin.execute(way.statements)
        let rows = try await fixture.admin.query(
            """
            SELECT j.status, s.summary #>> '{error,code}', d.code, c.url,
                (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished')
            FROM insp.job j LEFT JOIN insp.step s ON s.job_id = j.id AND s.status = 128
                LEFT JOIN insp.dead d ON d.job_id = j.id
                LEFT JOIN insp.callback c ON c.job_id = j.id AND c.event = 'job.finished' ORDER BY j.id
            """)
        try #require(rows.count == 3)
        for (number, row) in rows.enumerated() {
            let isDamaged = number == 1
            #expect(try row.int(0) == 128)
            #expect(try row.optionalString(1) == (isDamaged ? "INTERNAL_ERROR" : way.code))
            #expect(try row.int(4) == 1)
            #expect(try row.optionalString(3) == "https://hooks.example.com/\(isDamaged ? "x" : "own")")
            if isDamaged { #expect(try row.optionalString(2) == "INTERNAL_ERROR") }
        }
        #expect(try await fixture.count("insp.lease") == 0)
        // Its callback is claimed with the others, also by an endpoint that gets results, after those of the same person before it.
        var finished: Int64 = 0
        for _ in 0..<8 {
            finished += try await fixture.admin.query(
                "SELECT count(*) FROM insp.callback_claim(100, interval '1 minute', 100) c WHERE c.event = 'job.finished'"
            )[
                0
            ].int(0)
            try await fixture.admin.execute("DELETE FROM insp.callback_lease")
        }
        #expect(finished == 3)
    }

    @Test func `A fault of the schema fails the call, and costs no job its result`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        try await fixture.admin.execute("ALTER FUNCTION insp.definition_key RENAME TO away")
        let error = await #expect(throws: PostgresError.self) { try await fixture.admin.execute(Self.settle) }
        #expect(error?.sqlState == "42883")
        #expect(try await fixture.count("insp.job WHERE status = 128") == 0)
        try await fixture.admin.execute("ALTER FUNCTION insp.away RENAME TO definition_key")
        try await fixture.admin.execute(Self.settle)
        #expect(try await fixture.count("insp.job WHERE status = 128") == 3)
        #expect(try await fixture.count("insp.dead") == 1)
    }

    @Test func `A finished job that cannot be read still has its decision`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        let row = try await fixture.admin.query(
            """
            SELECT insp.cancel(public_id), insp.job_result(public_id) #>> '{decision,type}', insp.consent_holds(public_id, '{}')
            FROM insp.job WHERE id = 2
            """)[0]
        #expect(try row.string(1) == "NOT_EXECUTED" && !row.bool(2))
    }

    @Test func `Retention and erasure remove what cannot be read, and all of the others`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            UPDATE insp.job SET created_at = created_at - interval '60 days', completed_at = completed_at - interval '60 days';
            SELECT insp.purge()
            """)
        #expect(try await fixture.count("insp.job WHERE personal IS NOT NULL OR forgotten_at IS NULL") == 0)
        let second = try await QueueFixture()
        try await self.prepare(second)
        try await second.admin.execute(
            "SELECT insp.cancel(public_id) FROM insp.job; SELECT insp.erase_person('acme', 'u')")
        #expect(try await second.count("insp.job WHERE personal IS NOT NULL") == 0)
    }

    @Test func `A row that retention cannot process is left for a day, and no other with it`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            UPDATE insp.job SET created_at = created_at - interval '60 days', completed_at = completed_at - interval '60 days';
            CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE data_corrupted; END';
            CREATE TRIGGER damaged BEFORE DELETE ON insp.part FOR EACH ROW WHEN (OLD.job_id = 2) EXECUTE FUNCTION damaged();
            SELECT insp.purge()
            """)
        #expect(try await fixture.count("insp.part") == 1)
        #expect(
            try await fixture.count(
                "insp.purge_later WHERE what = 'parts' AND job_id = 2 AND due_at > now() + interval '23 hours'") == 1)
    }
}
