import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// A whole partner's erasure, as far as the database goes.
@Suite struct PartnerErasureTests {
    private struct Counts: Equatable {
        var (jobs, templates, persons, kept) = (0, 0, 0, 0)
    }

    /// What `inspectd partner erase` does with the database.
    private func erase(_ partner: String, _ fixture: QueueFixture, batch: Int = 3) async throws -> Counts {
        _ = try await fixture.admin.query("SELECT insp.erase_partner($1)", [.text(partner)])
        var (counts, last, more) = (Counts(), Int64(0), true)
        while more {
            let row = try await fixture.admin.query(
                "SELECT jobs, templates, persons, kept, last, more FROM insp.erase_partner_data($1, $2, $3)",
                [.text(partner), .int(last), .int(Int64(batch))])[0]
            counts.jobs += Int(try row.int(0))
            counts.templates += Int(try row.int(1))
            counts.persons += Int(try row.int(2))
            counts.kept += Int(try row.int(3))
            last = try row.optionalInt(4) ?? last
            more = try row.bool(5)
        }
        return counts
    }

    private func refusal(_ fixture: QueueFixture, _ sql: String) async -> ErrorCode? {
        do {
            _ = try await fixture.admin.query("SELECT insp.\(sql)")
            return nil
        } catch { return (error as? PostgresError)?.refusal?.code }
    }

    @Test(.timeLimit(.minutes(5)))
    func `After a partner's erasure no table holds anything of its persons, open jobs included`() async throws {
        let fixture = try await QueueFixture()
        var marks = PersonalMarks(fixture)
        try await marks.plant()
        _ = try await fixture.admin.query(
            "SELECT insp.face_import('acme', 'zqmark face 2', repeat('\(PersonalMarks.hex)', 200)::char(1024), 'e', repeat('a', 64))"
        )
        try await fixture.admin.execute("ANALYZE")
        var counts = Counts()
        for partner in ["acme", "held", "ordered", "urlless"] {
            let done = try await self.erase(partner, fixture)
            counts.jobs += done.jobs
            counts.templates += done.templates
            #expect(done.kept == 0)
        }
        try await fixture.admin.execute("ANALYZE")
        #expect(try await fixture.dump() == [])
        #expect(try await fixture.holding() == [])
        #expect(counts.jobs == marks.jobs.count && counts.templates == 2)
        #expect(try await fixture.count("insp.job WHERE status < 128") == 0)
        for table in [
            "callback", "callback_waiting", "callback_lease", "face", "job_key", "content",
            "secret WHERE owner <> 'inspectd'",
        ] {
            #expect(try await fixture.count("insp.\(table)") == 0, "\(table)")
        }
        // The record says it, and adds up.
        let recorded = try await fixture.admin.query(
            """
            SELECT sum((detail ->> 'jobs')::int), sum((detail ->> 'templates')::int), sum((detail ->> 'endpoints')::int)
            FROM insp.v_operator_events WHERE action = 'erase_partner'
            """)[0]
        #expect(try Int(recorded.int(0)) == counts.jobs && recorded.int(1) == 2 && recorded.int(2) == 4)
        // Again: nothing is left, and nothing is counted twice.
        #expect(try await self.erase("acme", fixture) == Counts())
    }

    @Test func `Nothing begins under an erased partner's name, and others go on`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/b')")
        let theirs = try await fixture.client.enqueue(
            payload: Data(QueueFixture.byURL.replacing("acme", with: "bank").utf8))
        let ours = try await fixture.enqueue(2)
        let key = try await fixture.admin.query("SELECT key_id FROM insp.create_credential('acme')")[0].string(0)
        #expect(await self.refusal(fixture, "erase_partner_data('acme')") == .parameterInvalid)
        #expect(await self.refusal(fixture, "erase_partner('nobody')") == .partnerUnknown)
        #expect(try await self.erase("acme", fixture).jobs == 2)
        for id in ours { #expect(try await fixture.errorCode(of: id) == nil) }
        #expect(try await fixture.result(of: ours[0])["erasedAt"] != nil)
        for call in [
            "enqueue('\(QueueFixture.byURL)')", "create_credential('acme')", "set_partner('acme', enabled => true)",
            "create_endpoint('acme', 'https://hooks.example.com/y')", "custody_partner('acme')", "rerun('\(ours[0])')",
            "face_import('acme', 'f', repeat('0', 1024), 'e', repeat('0', 64))",
        ] { #expect(await self.refusal(fixture, call) == .partnerDisabled, "\(call)") }
        #expect(await self.refusal(fixture, "create_partner('acme')") == .partnerExists)
        #expect(try await fixture.count("insp.v_credential WHERE key_id = '\(key)' AND state = 'revoked'") == 1)
        #expect(try await fixture.count("insp.v_partner WHERE erased_at IS NOT NULL AND NOT enabled") == 1)
        // The other one's job is done, and its callback goes out.
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: ClosureHandler()).run()
        #expect(try await fixture.result(of: theirs)["status"] as? Int == 128)
        #expect(try await fixture.count("insp.callback") == 1)
        #expect(await self.refusal(fixture, "create_credential('bank')") == nil)
    }

    @Test func `A job that is held is kept, and goes with the next call`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(3)
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE public_id = '\(ids[1])' FOR UPDATE")
        #expect(
            try await self.erase("acme", fixture)
                == {
                    var c = Counts(); c.jobs = 2; c.kept = 1; return c
                }())
        try await holder.execute("ROLLBACK")
        #expect(try await self.erase("acme", fixture).jobs == 1)
    }

    @Test func `A partner's tests go with it, and not the other way round`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/b')")
        for partner in ["acme", "bank"] {
            _ = try await fixture.admin.query("SELECT insp.create_test_credential($1)", [.text(partner)])
            for name in [partner, partner + ".test"] {
                let payload =
                    QueueFixture.byURL.replacing("acme", with: name)
                    .dropLast() + ",\"userReference\":\"jane\"}"
                _ = try await fixture.client.enqueue(payload: Data(payload.utf8))
            }
        }
        let numbers = try await fixture.admin.query("SELECT insp.erase_partner('bank.test')")
        #expect(numbers.count == 1)
        #expect(try await self.erase("bank.test", fixture).jobs == 1)
        #expect(try await fixture.count("insp.partner WHERE erased_at IS NULL") == 3)
        let both = try await fixture.admin.query("SELECT insp.erase_partner('acme')").map { try $0.int(0) }
        let named = try await fixture.admin.query(
            "SELECT id FROM insp.partner WHERE name LIKE 'acme%' ORDER BY name"
        ).map { try $0.int(0) }
        #expect(both == named && both.count == 2)
        #expect(try await self.erase("acme", fixture, batch: 1).jobs == 2)
        #expect(
            try await fixture.count(
                "insp.partner WHERE name LIKE 'acme%' AND erased_at IS NOT NULL AND NOT enabled") == 2)
        #expect(
            try await fixture.count(
                "insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE p.name LIKE 'acme%' AND (j.status < 128 OR j.forgotten_at IS NULL)"
            ) == 0)
        #expect(try await fixture.count("insp.v_credential WHERE partner = 'acme.test' AND state <> 'revoked'") == 0)
        #expect(try await fixture.count("insp.secret WHERE owner LIKE 'credential%'") == 0)
        // The other one's real jobs were left alone.
        #expect(
            try await fixture.count(
                "insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE p.name = 'bank' AND j.status < 128") == 1)
        #expect(await self.refusal(fixture, "create_test_credential('acme')") == .partnerDisabled)
    }
}
