import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// After a person's erasure, and after retention, nothing of the person is in any table.
@Suite struct ErasureTests {
    private func erase(_ fixture: QueueFixture, _ id: String) async throws -> Bool {
        try await fixture.admin.query("SELECT insp.erase($1)", [.text(id)])[0].bool(0)
    }

    @Test func `Every key of a request is marked or cannot hold text`() async throws {
        let fixture = try await QueueFixture()
        let source = try await fixture.admin.query(
            "SELECT prosrc FROM pg_proc WHERE proname = 'check_request' AND pronamespace = 'insp'::regnamespace")[0]
            .string(0)
        // The list of keys that a request may have: what is not in it is refused.
        let list = try #require(
            source.matches(of: /ARRAY\[([^\]]*'customerInternalReference'[^\]]*'consent'[^\]]*)\]/).first)
        let keys = Set(list.output.1.matches(of: /'([A-Za-z]+)'/).map { String($0.output.1) })
        #expect(keys.count >= 24)
        #expect(keys == Set(PersonalMarks.request.keys))
    }

    @Test func `After erasure no table holds anything of the person`() async throws {
        let fixture = try await QueueFixture()
        var marks = PersonalMarks(fixture)
        try await marks.plant()
        try await fixture.admin.execute("ANALYZE")

        // The test itself: every column is marked before, or says why it need not be.
        let all = Set(try await fixture.columns().map { "\($0.table).\($0.column)" })
        let before = try await fixture.holding()
        #expect(all.filter { !PersonalMarks.isExempt($0) }.subtracting(before).isEmpty, "not covered by a mark")
        #expect(before.filter(PersonalMarks.isExempt).subtracting(Self.openOnly).isEmpty, "exempt, and marked")
        #expect(try await !fixture.dump().isEmpty)

        #expect(try await fixture.count("insp.job WHERE status < 128") == 4)
        for id in marks.jobs where try await fixture.count("insp.job WHERE public_id = '\(id)' AND status < 128") > 0 {
            let refused = await #expect(throws: PostgresError.self) { try await self.erase(fixture, id) }
            #expect(refused?.sqlState == ErrorCode.jobNotFinished.sqlState)
            #expect(try await fixture.client.cancel(id))
        }
        let waiting = try await fixture.count("insp.callback_waiting WHERE state IN ('pending', 'held')")
        // One job of the chain stands for all of them.
        #expect(try await self.erase(fixture, marks.chain[1]))
        for id in marks.jobs {
            let erased = try await self.erase(fixture, id)
            #expect(erased != marks.chain.contains(id))
            #expect(try await !self.erase(fixture, id))
        }
        try await fixture.admin.execute("ANALYZE")
        #expect(try await fixture.dump() == [])
        #expect(try await fixture.holding() == [])

        // What stays: jobs, times, the consent's proof, and callbacks that wait, but for those that have nowhere to go.
        #expect(
            try await fixture.count("insp.job WHERE consent_proof IS NOT NULL AND status = 128") == marks.jobs.count)
        let consent = try #require(PersonalMarks.request["consent"] ?? nil)
        for (given, holds) in [(consent, true), (consent.replacing("v7", with: "v8"), false)] {
            let answer = try await fixture.admin.query(
                "SELECT insp.consent_holds($1, $2::text::jsonb)", [.text(marks.jobs[0]), .text(given)])
            #expect(try answer[0].bool(0) == holds)
        }
        #expect(try await fixture.count("insp.callback_waiting WHERE state IN ('pending', 'held')") == waiting - 1)
        #expect(
            try await fixture.count("insp.callback c JOIN insp.endpoint e ON e.id = c.endpoint_id WHERE c.url <> e.url")
                == 0)
        // They are sent without the reference and the decision, and not under the name of those that had it.
        try await fixture.admin.execute("UPDATE insp.callback_waiting SET due_at = now() WHERE state = 'pending'")
        let sent = try await fixture.admin.query(
            """
            SELECT count(*), bool_and(c.user_reference IS NULL AND c.is_reduced AND c.body IS NULL AND c.definition_key IS NOT NULL),
                count(c.decision), count(*) FILTER (WHERE c.event = 'job.finished')
            FROM insp.callback_claim(1000, interval '1 minute', 1000) c WHERE c.id IS NOT NULL
            """)[0]
        #expect(try sent.int(0) > 0 && sent.bool(1) && sent.int(2) == 0 && sent.int(3) > 0)
    }

    /// Columns of jobs that are not finished: marked until they are cancelled.
    private static let openOnly: Set<String> = ["face_job.face_id", "face_pending.face_id", "face_pending.embedding"]

    @Test func `After retention no table holds anything of the person`() async throws {
        let fixture = try await QueueFixture()
        var marks = PersonalMarks(fixture)
        try await marks.plant()
        for id in marks.jobs where try await fixture.count("insp.job WHERE public_id = '\(id)' AND status < 128") > 0 {
            #expect(try await fixture.client.cancel(id))
        }
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', keep => '30 days')")
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '31 days', completed_at = completed_at - interval '31 days';
            UPDATE insp.callback SET created_at = created_at - interval '31 days';
            UPDATE insp.callback_attempt SET started_at = started_at - interval '31 days';
            UPDATE insp.job_key SET created_at = created_at - interval '31 days';
            UPDATE insp.face_template SET created_at = created_at - interval '31 days';
            UPDATE insp.face_rate SET since = since - interval '31 days'
            """)
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 1)
        try await fixture.purgeAll(5)
        #expect(try await fixture.dump() == [])
        #expect(try await fixture.holding() == [])
        #expect(try await fixture.count("insp.job") == marks.jobs.count)
        #expect(try await fixture.count("insp.callback_waiting WHERE state = 'dead'") == 0)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'review' AND detail = '{}'") == 1)
        #expect(try await fixture.count("insp.job_key") == 0)
    }

    /// Ends jobs as a worker may: with nothing that the database could decide by.
    private struct Bare: JobHandler {
        func run(_ context: JobContext) async throws -> JobResult {
            JobResult(decision: .rejected, summary: Data("{}".utf8), body: Data(#"{"name":"zqmark"}"#.utf8))
        }
    }

    private func finish(_ fixture: QueueFixture, _ handler: any JobHandler) async throws {
        var configuration = fixture.configuration()
        configuration.drains = true
        configuration.maintains = false
        try await JobWorker(configuration, handler: handler).run()
    }

    @Test func `A result without a summary goes as any other`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(2)
        try await self.finish(fixture, Bare())
        #expect(try await fixture.count("insp.step WHERE summary = '{}' AND body IS NOT NULL") == 2)
        #expect(try await self.erase(fixture, ids[0]))
        #expect(try await !self.erase(fixture, ids[0]))
        #expect(try await fixture.result(of: ids[0])["erasedAt"] != nil)
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '31 days', completed_at = completed_at - interval '31 days'
            """)
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.step WHERE body IS NOT NULL") == 0)
        #expect(try await fixture.result(of: ids[1])["purgedAt"] != nil)
    }

    @Test func `A decision goes with its job's erasure, also from the callback that still waits`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(2)
        try await self.finish(fixture, ClosureHandler())
        #expect(try await fixture.count("insp.callback WHERE decision = 'PASSED'") == 2)
        #expect(try await self.erase(fixture, ids[0]))
        #expect(try await !self.erase(fixture, ids[0]))
        let row = try await fixture.admin.query(
            """
            SELECT count(*), count(c.decision), bool_and(c.is_reduced = (c.decision IS NULL))
            FROM insp.callback_claim(100, interval '1 minute', 100) c WHERE c.id IS NOT NULL
            """)[0]
        // Under another name, as the whole body may have been sent.
        #expect(try row.int(0) == 2 && row.int(1) == 1 && row.bool(2))
        #expect(
            try await fixture.count(
                "insp.callback c WHERE c.public_id = '\(ids[0])' AND c.decision IS NOT NULL") == 0)
    }

    @Test func `Nothing is recorded about an erased job any more, even if it identified nobody`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        try await self.finish(fixture, ClosureHandler { _, _ in throw InspectError(.corruptImage) })
        #expect(try await self.erase(fixture, id))
        #expect(try await fixture.admin.query("SELECT insp.resolve_dead($1, 'zqmark')", [.text(id)])[0].bool(0))
        #expect(try await fixture.count("insp.record WHERE words IS NOT NULL") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An erasure waits for no other job's request, and never long for anything else`() async throws {
        let fixture = try await QueueFixture()
        let payload = #"{"partner":"acme","workflow":"enrollment","faceId":"f","userReference":"ann"}"#
        let id = try await fixture.client.enqueue(payload: Data(payload.utf8), parts: [.face: [PersonalMarks.image]])
        #expect(try await fixture.client.cancel(id))
        let other = try await fixture.database.connect()
        // It counts an attempt on the same face id.
        try await other.execute("BEGIN; SELECT insp.enqueue('\(payload)', face => 'x')")
        // A call that waits for the open transaction fails after its connection's 30 seconds.
        #expect(try await self.erase(fixture, id))
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'f')")
        try await other.execute("ROLLBACK")

        let held = try await fixture.client.enqueue(
            payload: Data(payload.utf8), parts: [.face: [PersonalMarks.image]])
        #expect(try await fixture.client.cancel(held))
        try await other.execute("BEGIN; SELECT insp.callback_replay('msg_' || replace('\(held)', '-', ''))")
        for call in ["erase('\(held)')", "erase_person('acme', 'ann')"] {
            let refused = await #expect(throws: PostgresError.self) {
                try await fixture.admin.query("SELECT insp.\(call)")
            }
            #expect(refused?.sqlState == ErrorCode.rowLocked.sqlState, "\(call)")
        }
        try await other.execute("ROLLBACK")
        #expect(try await self.erase(fixture, held))
        await other.close()
    }

    @Test func `Deleting a face takes its id from every table`() async throws {
        let fixture = try await QueueFixture()
        var marks = PersonalMarks(fixture)
        try await marks.plant()
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'zqmark face')")
        #expect(try await fixture.dump().filter { $0.contains("zqmark face") } == [])
        #expect(try await fixture.count("insp.face_template") == 0)
    }

    @Test(arguments: ["insp.remove_references(ARRAY[1]::bigint[], false)", "insp.erase(public_id)", "gone"])
    func `An operator's notes on a callback are not kept once its job is forgotten`(by: String) async throws {
        let fixture = try await QueueFixture()
        let payload = QueueFixture.byURL.dropLast() + #","userReference":"ann"}"#
        let id = try await fixture.enqueue(many: [Data(payload.utf8)])[0]
        let webhook = "'msg_\(id.replacing("-", with: ""))'"
        try await fixture.admin.execute("SELECT insp.cancel('\(id)')")
        if by != "gone" { try await fixture.admin.execute("SELECT \(by) FROM insp.job WHERE id = 1") }
        let call = "SELECT insp.callback_dead_letter(\(webhook), 'zqmark of a person')"
        if by == "gone" {
            // Its partition is dropped between the look for the callback and what follows.
            try await fixture.admin.execute(
                """
                CREATE OR REPLACE FUNCTION insp.callback_by_webhook_id(p_webhook_id text) RETURNS bigint LANGUAGE sql
                    AS 'SELECT 1::bigint';
                DELETE FROM insp.job
                """)
        }
        #expect(try await fixture.admin.query(call)[0].bool(0))
        #expect(
            try await fixture.count(
                "insp.callback_waiting WHERE state = 'dead' AND reason = 'dead-lettered by an operator'") == 1)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'callback_dead_letter'") == 1)
        #expect(try await fixture.count("insp.record r WHERE r::text LIKE '%zqmark%'") == 0)
    }
}
