import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// How long things are kept: which periods are accepted, and that each job goes by its own partner's.
@Suite struct PeriodTests {
    private func enqueue(_ fixture: QueueFixture, partner: String = "acme") async throws {
        _ = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"\#(partner)","workflow":"id"}"#.utf8), parts: [.front: [Data("x".utf8)]])
    }

    private func finish(_ fixture: QueueFixture) async throws {
        try await fixture.admin.execute(
            "SELECT insp.cancel(j.public_id) FROM insp.job j WHERE j.status < 128 AND j.workflow = 'id'")
    }

    private func age(_ fixture: QueueFixture, _ interval: String) async throws {
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '\(interval)',
                completed_at = completed_at - interval '\(interval)';
            UPDATE insp.purge_later SET due_at = due_at - interval '\(interval)'
            """)
    }

    @Test(arguments: [("1 year", "360 days"), ("360 days", "1 year"), ("1 month", "30 days"), ("30 days", "1 month")])
    func `Periods that PostgreSQL takes for equal keep each partner's jobs to their own time`(
        periods: (String, String)
    ) async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/y')")
        // Set past the function as well: an owner may.
        try await fixture.admin.execute(
            """
            UPDATE insp.partner SET keep_parts = CASE name WHEN 'acme' THEN interval '\(periods.0)' ELSE '\(periods.1)' END
            """)
        for partner in ["acme", "bank"] { try await self.enqueue(fixture, partner: partner) }
        try await self.finish(fixture)
        // Half a day before each partner's time, and half a day after it.
        for (sign, left) in [("+", 1), ("-", 0)] {
            try await fixture.admin.execute(
                """
                UPDATE insp.job j SET created_at = now() - interval '3 years',
                    completed_at = now() - p.keep \(sign) interval '12 hours'
                FROM (VALUES ('acme', interval '\(periods.0)'), ('bank', '\(periods.1)')) AS p (name, keep), insp.partner x
                WHERE x.name = p.name AND x.id = j.partner_id;
                UPDATE insp.purge_later SET due_at = now() WHERE what = 'parts';
                SELECT insp.purge()
                """)
            for partner in ["acme", "bank"] {
                let parts = try await fixture.count(
                    """
                    insp.part p JOIN insp.job j ON j.id = p.job_id JOIN insp.partner x ON x.id = j.partner_id
                    WHERE x.name = '\(partner)'
                    """)
                #expect(parts == left, "\(partner) of \(periods)")
            }
        }
    }

    @Test func `Links of jobs that are not finished keep nothing that is overdue waiting`() async throws {
        let fixture = try await QueueFixture()
        try await self.enqueue(fixture)
        try await self.age(fixture, "40 days")
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.purge_later WHERE what = 'parts'") == 1)
        try await self.finish(fixture)
        try await self.age(fixture, "40 days")
        // Their jobs name persons whom an open transaction held; they wait to be claimed.
        _ = try await fixture.enqueue(50)
        try await fixture.admin.execute(
            """
            INSERT INTO insp.purge_later (due_at, what, job_id)
            SELECT now() - interval '100 days', 'links', j.id FROM insp.job j WHERE j.status = 1
            """)
        let row = try await fixture.admin.query("SELECT parts, more FROM insp.purge(4)")[0]
        #expect(try row.int("parts") == 1)
        #expect(try row.bool("more"))
        for _ in 0..<20 where try await fixture.count("insp.purge_later WHERE due_at <= now()") > 0 {
            _ = try await fixture.admin.query("SELECT insp.purge(4)")
        }
        #expect(try await fixture.count("insp.purge_later WHERE what = 'links' AND due_at > now()") == 50)
        #expect(try await fixture.admin.query("SELECT NOT more FROM insp.purge(4)")[0].bool(0))
    }

    /// Intervals whose parts compare as one length and lead somewhere else.
    @Test(arguments: [
        ("set_retention('acme', 'X')", "10000 years -3564000 days"),
        ("set_retention('acme', keep_references => 'X')", "-1 day 100 hours"),
        ("set_retention(what => 'samples', keep => 'X')", "10000 years -3564000 days"),
        ("set_face_limits('acme', keep => 'X')", "10000 years -3564000 days"),
        ("set_face_limits('acme', \"window\" => 'X')", "1 month -29 days -1 hour"),
        ("set_partner('acme', job_lifetime => 'X')", "10000 years -3599700 days"),
        ("set_partner('acme', job_lifetime => 'X')", "10000 years"),
        ("set_partner('acme', job_lifetime => 'X')", "367 days"),
        ("set_partner('acme', job_lifetime => 'X')", "1 year 6 days"),
        // February, and 336 days: 364.
        ("set_retention(what => 'access_events', keep => 'X')", "1 month 336 days"),
        ("set_retention(what => 'operator_events', keep => 'X')", "1 month 336 days"),
    ])
    func `An interval that compares differently from its effect is refused`(call: String, interval: String) async throws
    {
        let fixture = try await QueueFixture()
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.\(call.replacing("X", with: interval))")
        }
        let code = call.contains("what =>") ? ErrorCode.parameterInvalid : .partnerInvalid
        #expect(refused?.sqlState == code.sqlState)
        _ = try await fixture.admin.query("SELECT insp.purge(), insp.face_purge()")
    }

    @Test(arguments: ["365 days", "366 days", "1 year", "12 months", "8760 hours"])
    func `A year is allowed, however it is written`(year: String) async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            SELECT insp.set_partner('acme', job_lifetime => '\(year)');
            SELECT insp.callback_rotate_secret(e.id, '\(year)') FROM insp.endpoint e
            """)
        #expect(try await fixture.count("insp.partner WHERE job_lifetime = '\(year)'") == 1)
    }

    @Test(arguments: ["access_events", "operator_events"])
    func `What operators did and read is kept for a year, whatever is requested`(what: String) async throws {
        let fixture = try await QueueFixture()
        for period in ["2 hours", "365 days"] {
            let refused = await #expect(throws: PostgresError.self, "\(period)") {
                try await fixture.admin.query("SELECT insp.set_retention(what => '\(what)', keep => '\(period)')")
            }
            #expect(refused?.sqlState == ErrorCode.parameterInvalid.sqlState)
            #expect(refused?.hint?.contains("366 days") == true)
        }
        _ = try await fixture.admin.query("SELECT insp.set_retention(what => '\(what)', keep => '366 days')")
    }
}
