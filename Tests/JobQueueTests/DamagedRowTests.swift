import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// A job whose row PostgreSQL cannot process ends by itself, and keeps no other from its end.
@Suite struct DamagedRowTests {
    private static let request =
        QueueFixture.byURL.dropLast() + #","userReference":"u","callbackUrl":"https://hooks.example.com/own"}"#

    /// What is wrong with the job in the middle: bytes that cannot be read, or rows that only its end should write.
    private static let damages = [
        "UPDATE insp.job SET personal = '\\xff' WHERE id = 2",
        "INSERT INTO insp.step (job_id, status, fence) VALUES (2, 128, 0)",
        "INSERT INTO insp.event (job_id, kind, fence) VALUES (2, 'finished', 0)",
        """
        INSERT INTO insp.callback (job_id, endpoint_id, url, public_id)
        SELECT j.id, j.endpoint_id, 'https://hooks.example.com/stray', j.public_id FROM insp.job j WHERE j.id = 2
        """,
    ]

    /// Three jobs, the one in the middle damaged once all are claimed.
    func prepare(_ fixture: QueueFixture, damage: String = damages[0]) async throws {
        _ = try await fixture.enqueue(many: Array(repeating: Data(Self.request.utf8), count: 3))
        try await fixture.admin.execute(
            """
            CREATE TABLE claimed AS SELECT c.job_id, c.fence FROM
                insp.worker_register('00000000-0000-0000-0000-000000000001', 'h', 1, 'x', NULL, '{0,1,2}', 4) r,
                LATERAL insp.claim(r.worker_id, '00000000-0000-0000-0000-000000000001', '330 s', 3,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c
            WHERE c.job_id IS NOT NULL;
            \(damage)
            """)
    }

    private static let arrays = "(SELECT array_agg(job_id) FROM claimed), (SELECT array_agg(fence) FROM claimed)"
    private static let passed = #"{"decision":{"type":"PASSED"}}"#
    static let settle = """
        SELECT insp.settle(\(arrays), array_fill('\(passed)'::text, ARRAY[3]),
            array_fill('{}'::bytea, ARRAY[3]), '{2}', (SELECT array_agg(fence) FROM claimed WHERE job_id = 2), '{8}', ARRAY['{}'::bytea])
        """
    private static let hold = settle.replacing("insp.settle", with: "insp.hold_for_review")
    private static let deadLetter = """
        SELECT insp.dead_letter(\(arrays), array_fill('CORRUPT_IMAGE'::text, ARRAY[3]), array_fill('d'::text, ARRAY[3]),
            array_fill(false, ARRAY[3]))
        """
    private static let retry = """
        SELECT insp.retry_later(\(arrays), array_fill(0::double precision, ARRAY[3]), array_fill('X'::text, ARRAY[3]),
            array_fill(true, ARRAY[3]))
        """
    private static let release = "SELECT insp.release(\(arrays)); "
    private static let expire = """
        UPDATE insp.job SET expires_at = now() - interval '1 s'; UPDATE insp.expiry SET expires_at = now() - interval '1 s';
        SELECT insp.expire()
        """

    private static let ways: [(name: String, statements: String, code: String?)] = [
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
            retry + "; SELECT insp.promote(); " + expire, "EXPIRED"
        ),
        (
            "hold and expire",
            hold + "; " + expire, "EXPIRED"
        ),
    ]

    @Test(arguments: ways, damages)
    func `A damaged job is dead-lettered, and the others of its batch end as they should`(
        way: (name: String, statements: String, code: String?), damage: String
    ) async throws {
        let fixture = try await QueueFixture()
        // What reads of a job beside its end: progress, and the key by which callbacks are ordered.
        try await fixture.admin.execute(
            """
            UPDATE insp.endpoint SET ordering = 'user', events = '{job.finished,job.status,job.review_needed}', inline_result = true
            """)
        try await self.prepare(fixture, damage: damage)
        try await fixture.admin.execute(way.statements)
        let rows = try await fixture.admin.query(
            """
            SELECT j.status, s.summary #>> '{error,code}', d.code, c.url,
                (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished'),
                s.summary #>> '{error,retryable}' || ' ' || d.detail
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
            if isDamaged {
                #expect(try row.optionalString(2) == "INTERNAL_ERROR")
                // It fails again each time.
                let error = try row.string(5)
                #expect(error.hasPrefix("false the job"), "\(error)")
                #expect(error.contains("the job's row or result cannot be processed"), "\(error)")
            }
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

    /// As bytes that make no value: PostgreSQL has the same SQLSTATE for them as for a broken function.
    @Test(arguments: ways.dropFirst())
    func `A job whose end raises XX000 is dead-lettered, and the others of its batch end`(
        way: (name: String, statements: String, code: String?)
    ) async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(
            fixture,
            damage: Self.fault(
                "internal_error", "BEFORE INSERT ON insp.callback", "NEW.job_id = 2 AND NEW.url LIKE '%own'"))
        try await fixture.admin.execute(way.statements)
        let ends = try await fixture.admin.query(
            "SELECT summary #>> '{error,code}' FROM insp.step WHERE status = 128 ORDER BY job_id")
        #expect(try ends.map { try $0.optionalString(0) } == [way.code, "INTERNAL_ERROR", way.code])
        #expect(try await fixture.count("insp.lease") == 0)
    }

    /// What becomes of the three: the middle one's code, and the others' status.
    private func ends(_ fixture: QueueFixture) async throws -> [String?] {
        try await fixture.admin.query(
            """
            SELECT coalesce(d.code, j.status::text) FROM insp.job j LEFT JOIN insp.dead d ON d.job_id = j.id ORDER BY j.id
            """
        ).map { try $0.optionalString(0) }
    }

    @Test(arguments: [
        "INSERT INTO insp.step (job_id, status, fence) VALUES (2, 64, 0)",
        "INSERT INTO insp.review_wait (job_id, partner_id) VALUES (2, 1)",
        "INSERT INTO insp.event (job_id, kind, fence) SELECT job_id, 'review_needed', fence FROM claimed WHERE job_id = 2",
    ])
    func `A job that cannot wait for a review is dead-lettered, and the others wait`(damage: String) async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: damage)
        try await fixture.admin.execute(Self.hold)
        #expect(try await self.ends(fixture) == ["64", "INTERNAL_ERROR", "64"])
        #expect(try await fixture.count("insp.v_review") == 2)
        #expect(try await fixture.count("insp.lease") == 0)
    }

    /// The one is not JSON, another has U+0000, which PostgreSQL does not store; the others say nothing of a decision.
    @Test(arguments: ["{", #"{"decision":{"type":"PASSED"},"x":"\u0000"}"#, "null", "[]", "7", nil])
    func `A summary that cannot be stored, or is not an object, affects only its own job`(summary: String?) async throws
    {
        for (call, others) in [(Self.settle, "128"), (Self.hold, "64")] {
            let fixture = try await QueueFixture()
            try await self.prepare(fixture, damage: "")
            let summaries =
                "(SELECT array_agg(CASE job_id WHEN 2 THEN \(summary.map { "'\($0)'" } ?? "NULL") ELSE '\(Self.passed)' END) FROM claimed)"
            try await fixture.admin.execute(
                call.replacing("array_fill('\(Self.passed)'::text, ARRAY[3])", with: summaries))
            #expect(try await self.ends(fixture) == [others, "INTERNAL_ERROR", others])
            #expect(try await fixture.count("insp.lease") == 0)
        }
    }

    @Test(arguments: [
        #"UPDATE insp.job SET personal = '{"userReference": "Anna Example", }' WHERE id = 2"#,
        "INSERT INTO insp.step (job_id, status, fence) VALUES (2, 128, 0)",
        "DELETE FROM insp.step WHERE job_id = 2",
        #"UPDATE insp.step SET summary = '["Anna Example"]' WHERE job_id = 2"#,
        #"UPDATE insp.step SET summary = '"Anna Example"' WHERE job_id = 2"#,
    ])
    func `The review of a damaged job is refused without its row's words, and cancellation ends the job`(damage: String)
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: "")
        try await fixture.admin.execute(Self.hold + "; " + damage)
        #expect(try await fixture.count("insp.v_review") == 3)
        // A decision that is not there is said to be missing.
        let isMissing = damage.hasPrefix("DELETE") || damage.hasPrefix("UPDATE insp.step")
        #expect(
            try await fixture.count("insp.v_review WHERE job_id = 2 AND because LIKE 'damaged: %'")
                == (isMissing ? 1 : 0))
        #expect(
            try await fixture.count(
                """
                insp.job j, LATERAL insp.explain_job(j.public_id::text) e
                WHERE e.aspect = 'state' AND e.explanation LIKE 'Damaged: %'
                """) == (isMissing ? 1 : 0))
        let id = try await fixture.admin.query("SELECT public_id::text FROM insp.job WHERE id = 2")[0].string(0)
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.execute("SELECT insp.review('\(id)', 'PASSED')")
        }
        #expect(error?.sqlState == "IN099" && error?.refusal?.code == .internalError)
        #expect(error.map { String(reflecting: $0).contains("Anna") } == false)
        #expect(error.map { String(reflecting: $0).contains("insp.cancel('\(id)')") } == true)
        try await fixture.admin.execute(
            """
            SELECT insp.cancel('\(id)');
            SELECT insp.review(public_id, 'REJECTED') FROM insp.job WHERE status = 64
            """)
        #expect(try await self.ends(fixture).filter { $0 == "128" }.count >= 2)
        #expect(try await fixture.count("insp.job WHERE status = 128") == 3)
        #expect(try await fixture.count("insp.review_wait") == 0)
    }

    @Test func `Labels that are not a list keep no other job out of the list of reviews`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: "")
        try await fixture.admin.execute(
            Self.hold + #"; UPDATE insp.step SET summary = '{"labels": {}}' WHERE job_id = 2 AND status = 64"#)
        #expect(try await fixture.count("(SELECT because FROM insp.v_review OFFSET 0) x") == 3)
    }

    static func fault(_ name: String, _ event: String, _ condition: String) -> String {
        """
        CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE \(name); END';
        CREATE TRIGGER damaged \(event) FOR EACH ROW WHEN (\(condition)) EXECUTE FUNCTION damaged();
        """
    }

    /// A trigger that keeps jobs from ending, whatever is written: for one job, or for all.
    private static func endless(_ condition: String, _ name: String = "data_corrupted") -> String {
        self.fault(name, "BEFORE INSERT ON insp.step", "\(condition) NEW.status = 128")
    }

    @Test(
        arguments: [settle, hold.replacing("PASSED", with: "REJECTED"), deadLetter],
        [("NEW.job_id = 2 AND", "data_corrupted"), ("", "data_corrupted"), ("", "internal_error")])
    func `A write for a job that cannot end fails, and every job keeps its lease`(
        statements: String, fault: (condition: String, name: String)
    ) async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(
            fixture,
            // Nor can they wait for a review.
            damage: Self.endless(fault.condition, fault.name)
                + "INSERT INTO insp.review_wait (job_id, partner_id) SELECT job_id, 1 FROM claimed")
        let error = await #expect(throws: PostgresError.self) { try await fixture.admin.execute(statements) }
        if fault.name == "internal_error" {
            #expect(error?.sqlState == "XX000")
        } else {
            #expect(error?.message.contains("INTERNAL_ERROR") == true && error?.isPassing == false)
        }
        #expect(try await fixture.count("insp.lease JOIN claimed USING (job_id, fence)") == 3)
        #expect(try await fixture.count("insp.expiry") == 0)
    }

    @Test(arguments: ["data_corrupted", "internal_error"])
    func `A job that cannot end keeps no other from expiring or being rescued, and stays in a queue`(fault: String)
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: Self.endless("NEW.job_id = 2 AND", fault))
        // The last attempt of each.
        try await fixture.admin.execute(
            "UPDATE insp.lease SET crashes = 32767, deadline = now() - interval '1 s'; SELECT insp.rescue()")
        #expect(try await self.ends(fixture) == ["WORKER_LOST", "2", "WORKER_LOST"])
        #expect(
            try await fixture.count("insp.delayed WHERE job_id = 2 AND run_at > now() + interval '50 minutes'") == 1)
        #expect(try await fixture.count("insp.lease") == 0)
        _ = try await fixture.enqueue(many: [Data(Self.request.utf8)])
        try await fixture.admin.execute(
            "INSERT INTO insp.expiry (expires_at, job_id) SELECT expires_at, id FROM insp.job; " + Self.expire)
        #expect(try await fixture.count("insp.job WHERE status = 128") == 3)
        #expect(
            try await fixture.count("insp.expiry WHERE job_id = 2 AND expires_at > now() + interval '50 minutes'") == 1)
        await #expect(throws: PostgresError.self) {
            try await fixture.admin.execute("SELECT insp.cancel(public_id) FROM insp.job WHERE id = 2")
        }
        try await fixture.admin.execute(
            "DROP FUNCTION damaged() CASCADE; UPDATE insp.delayed SET run_at = now(); SELECT insp.promote()")
        #expect(try await fixture.count("insp.ready WHERE job_id = 2") == 1)
    }

    @Test(arguments: ["data_corrupted", "internal_error"])
    func `A partner's jobs are cancelled but for one that cannot end, which is counted and put off`(fault: String)
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: Self.endless("NEW.job_id = 2 AND", fault))
        try await fixture.admin.execute(Self.release)
        for cancelled: Int64 in [2, 0] {
            let row = try await fixture.admin.query("SELECT * FROM insp.cancel_partner('acme')")[0]
            #expect(try row.int("cancelled") == cancelled && row.int("kept") == 1)
        }
        #expect(try await self.ends(fixture) == ["128", "2", "128"])
        #expect(
            try await fixture.count(
                "insp.delayed WHERE job_id = 2 AND attempt = 0 AND run_at > now() + interval '50 minutes'") == 1)
        #expect(try await fixture.count("insp.ready") == 0)
    }

    @Test(arguments: [
        ("retry", retry), ("released", release),
        ("rescued", "UPDATE insp.lease SET deadline = now() - interval '1 s'; SELECT insp.rescue()"),
    ])
    func `An event that already exists does not keep a job from returning to the queue`(
        kind: String, statements: String
    )
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.prepare(
            fixture,
            damage:
                "INSERT INTO insp.event (job_id, kind, fence) SELECT job_id, '\(kind)', fence FROM claimed WHERE job_id = 2"
        )
        try await fixture.admin.execute(statements)
        #expect(try await fixture.count("(SELECT job_id FROM insp.ready UNION SELECT job_id FROM insp.delayed) x") == 3)
        #expect(try await fixture.count("insp.event WHERE kind = '\(kind)'") == 3)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A second row of a job in the queue keeps no other from its end`() async throws {
        let fixture = try await QueueFixture()
        // Of leased jobs, whose worker is alive, and of one that waits.
        try await self.prepare(
            fixture,
            damage: "INSERT INTO insp.ready (job_id, queue) SELECT job_id, queue FROM insp.lease")
        _ = try await fixture.enqueue(many: [Data(Self.request.utf8)])
        try await fixture.admin.execute(
            "INSERT INTO insp.ready (job_id, queue) SELECT job_id, queue FROM insp.ready WHERE job_id = 4")
        try await withWorker(fixture.configuration(), ClosureHandler { _, _ in ClosureHandler.passed }) { _ in
            try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE id = 4)")
        }
        // The leases that were there hold, and nothing was given out twice.
        #expect(try await fixture.count("insp.lease JOIN claimed USING (job_id, fence)") == 3)
        #expect(try await fixture.count("insp.ready") == 0)
        #expect(try await fixture.count("insp.event WHERE kind = 'finished'") == 1)
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

    @Test func `A batch row without events keeps no other from its place`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: "")
        try await fixture.admin.execute(
            """
            \(Self.settle); SELECT insp.number_events();
            INSERT INTO insp.event_batch (kind, jobs, fences) VALUES ('finished', '{}', '{}');
            SELECT insp.number_events()
            """)
        #expect(try await fixture.count("insp.event_batch WHERE position IS NULL") == 0)
        #expect(try await fixture.count("insp.events_after()") == 3)
    }
}
