import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// What operators learn of one job, in situations that public functions and a real worker make.
@Suite struct ExplainTests {
    /// A request whose every free text says `CANARY`.
    private static func request(_ more: String = "") -> Data {
        Data(
            #"""
            {"partner":"acme","workflow":"id","userReference":"CANARY","customerInternalReference":"CANARY",
            "callbackUrl":"https://hooks.example.com/CANARY"\#(more),
            "parts":{"FRONT":{"url":"https://img.example.com/CANARY","sha256":"\#(QueueFixture.digest)"}}}
            """#.utf8)
    }

    private func enqueue(_ fixture: QueueFixture, _ more: String = "", count: Int = 1) async throws -> [String] {
        try await fixture.enqueue(many: Array(repeating: Self.request(more), count: count))
    }

    /// The sentences about a job by what they are about; several about the same on a line each.
    private func explain(_ fixture: QueueFixture, _ id: String) async throws -> [String: String] {
        let rows = try await fixture.client.explanation(of: id)
        #expect(rows.first?.aspect == "job" && rows.first?.text.hasPrefix("\(id) of partner acme: ") == true)
        #expect(rows.contains { $0.aspect == "state" } && rows.contains { $0.aspect == "next step" })
        #expect(rows.allSatisfy { !$0.text.contains("CANARY") && !$0.text.isEmpty }, "\(rows)")
        return Dictionary(rows.map { ($0.aspect, $0.text) }) { $0 + "\n" + $1 }
    }

    /// Waits for what the newest attempt of a job leads to.
    private func explain(
        _ fixture: QueueFixture, _ id: String, once condition: String
    ) async throws -> [String: String] {
        try await fixture.wait(for: condition)
        return try await self.explain(fixture, id)
    }

    /// A handler that does not end before it is told to.
    private static func patient(_ mayEnd: @escaping @Sendable () -> Bool) -> ClosureHandler {
        ClosureHandler { _, _ in
            try await waitUntil("the test lets it end", within: .seconds(300)) { mayEnd() }
            return ClosureHandler.passed
        }
    }

    @Test func `A job that waits: no worker, a paused partner, a paused lane, and its place in the queue`() async throws
    {
        let fixture = try await QueueFixture()
        let ids = try await self.enqueue(fixture, count: 3)
        var said = try await self.explain(fixture, ids[1])
        #expect(said["state"] == "Waits in its partner's queue, with 1 before it.")
        #expect(said["reason"] == "No live worker serves the lane and region.")
        #expect(said["next step"] == "Start a worker that serves region any and lane normal.")
        #expect(said["deadline"]?.hasPrefix("Ends as EXPIRED if it is not finished within 7 d") == true)
        #expect(said["attempts"] == nil && said["callback"] == nil && said["history"] == nil)
        #expect(try await self.explain(fixture, ids[0])["state"] == "Waits in its partner's queue, as the first.")

        _ = try await fixture.admin.query("SELECT insp.pause(partner => 'acme', reason => 'they asked')")
        said = try await self.explain(fixture, ids[1])
        #expect(said["reason"] == "The partner is paused: they asked.")
        #expect(said["next step"] == "SELECT insp.resume(partner => 'acme');")
        for (reason, sentence) in [("tests.", "tests."), ("why?", "why?"), ("", ".")] {
            _ = try await fixture.admin.query("SELECT insp.pause('normal', reason => '\(reason)')")
            #expect(
                try await self.explain(fixture, ids[1])["reason"]
                    == "The lane is paused: " + sentence)
        }
        _ = try await fixture.admin.query("SELECT insp.pause('normal', reason => 'night')")
        said = try await self.explain(fixture, ids[1])
        #expect(said["reason"] == "The lane is paused: night.")
        #expect(said["next step"] == "SELECT insp.resume(lane => 'normal');")
        // The remedies are what they say.
        for remedy in ["SELECT insp.resume(lane => 'normal')", "SELECT insp.resume(partner => 'acme')"] {
            #expect(
                try await fixture.count("insp.v_waiting WHERE remedy = '\(remedy.replacing("'", with: "''"))'") == 1)
            _ = try await fixture.admin.query(remedy)
        }
        #expect(try await fixture.count("insp.v_waiting WHERE why = 'no live worker serves the lane and region'") == 1)
    }

    @Test func `A job that waits beside running ones: limits, slots, quota; and what the running one does`()
        async throws
    {
        let fixture = try await QueueFixture()
        let first = try await self.enqueue(fixture)[0]
        let gate = Mutex(false)
        try await withWorker(
            fixture.configuration(slots: 1), Self.patient { gate.withLock { $0 } }
        ) { _ in
            var said = try await self.explain(fixture, first, once: "EXISTS (SELECT FROM insp.lease)")
            #expect(said["state"]?.hasPrefix("Running for ") == true)
            #expect(
                said["state"]?.contains("the furthest stage stored is STARTED. Its parts by URL are being fetched")
                    == true)
            #expect(said["attempts"] == "This is attempt 1.")
            let worker = try await fixture.admin.query("SELECT id, process FROM insp.worker")[0]
            #expect(
                try said["worker"]?.hasPrefix(
                    "Worker \(worker.int(0)) (test, process \(worker.int(1)), version 0) is live; last heard from ")
                    == true)
            #expect(said["next step"] == "Wait. SELECT insp.cancel('\(first)') ends it at once.")

            let second = try await self.enqueue(fixture)[0]
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.worker WHERE busy = 1)")
            said = try await self.explain(fixture, second)
            #expect(said["reason"] == "All slots are busy: 1 slot of 1 worker.")
            #expect(said["next step"] == "Wait, or start more workers.")
            _ = try await fixture.admin.query("SELECT insp.limit_partner('acme', 1), insp.set_quota('acme', 1)")
            said = try await self.explain(fixture, second)
            #expect(said["reason"] == "The partner's limit: 1 running.")
            #expect(said["quota"]?.hasPrefix("The partner's quota is full: 1 of 1 waiting jobs") == true)
            gate.withLock { $0 = true }
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 2")
        }
    }

    @Test func `A job between attempts, one that is scheduled, and one that was dead-lettered`() async throws {
        let fixture = try await QueueFixture()
        let scheduled = try await self.enqueue(fixture, #","delaySeconds":3600"#)[0]
        let then = try await self.explain(fixture, scheduled)
        #expect(then["state"] == "Scheduled for a later time.")
        #expect(then["reason"]?.hasPrefix("It becomes ready in 60 min, at ") == true)
        #expect(then["next step"] == "Wait." && then["attempts"] == nil)

        let id = try await self.enqueue(fixture)[0]
        let fails = Mutex(InspectError(.partUnreachable, "CANARY"))
        var configuration = fixture.configuration()
        configuration.retryPolicy.base = .seconds(600)
        try await withWorker(configuration, ClosureHandler { _, _ in throw fails.withLock { $0 } }) { _ in
            var said = try await self.explain(fixture, id, once: "EXISTS (SELECT FROM insp.event WHERE kind = 'retry')")
            #expect(said["state"] == "Waits for its next attempt.")
            #expect(
                said["attempts"]
                    == "Attempts made: 1. The last failed with PART_UNREACHABLE (a part's URL could not be fetched).")
            #expect(said["reason"]?.hasPrefix("It becomes ready in ") == true && said["next step"] == "Wait.")
            #expect(said["history"]?.contains(" ago: attempt 1 failed with PART_UNREACHABLE ") == true)

            fails.withLock { $0 = InspectError(.corruptImage, "CANARY") }
            let dead = try await self.enqueue(fixture)[0]
            said = try await self.explain(fixture, dead, once: "EXISTS (SELECT FROM insp.dead)")
            #expect(
                said["state"]?.contains(" as NOT_EXECUTED with CORRUPT_IMAGE (a part's image data is damaged).") == true
            )
            #expect(said["attempts"] == "Dead-lettered after 1 attempt.")
            #expect(
                said["next step"]
                    == "Once the cause is removed, SELECT insp.rerun('\(dead)'). If nothing can be done, SELECT insp.resolve_dead('\(dead)')."
            )
            _ = try await fixture.admin.query("SELECT insp.resolve_dead('\(dead)')")
            #expect(
                try await self.explain(fixture, dead)["next step"]?.hasPrefix("None: resolved by inspectd ") == true)
        }
    }

    @Test func `A job that waits for a person, and what became of it`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', review => 'always')")
        let id = try await self.enqueue(fixture)[0]
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.review_wait)")
        }
        var said = try await self.explain(fixture, id)
        #expect(said["state"]?.hasPrefix("Decided as PASSED, and has been waiting for a reviewer for ") == true)
        #expect(said["next step"]?.hasPrefix("SELECT insp.review('\(id)', 'PASSED'), or") == true)
        _ = try await fixture.admin.query("SELECT insp.review('\(id)', 'REJECTED', note => 'CANARY')")
        said = try await self.explain(fixture, id)
        #expect(said["state"]?.hasSuffix(" ago as REJECTED.") == true)
        #expect(said["next step"] == "None.")
    }

    @Test func `A job whose worker died, and one whose deadline passed`() async throws {
        let fixture = try await QueueFixture()
        let id = try await self.enqueue(fixture)[0]
        var hand = try await Hand(fixture.admin)
        #expect(try await hand.claim(1, on: fixture.admin).jobs.count == 1)
        try await fixture.admin.execute("UPDATE insp.worker SET heartbeat_at = now() - interval '1 minute'")
        var said = try await self.explain(fixture, id)
        #expect(said["worker"]?.contains(" is dead: nothing was heard from it for 6") == true)
        #expect(said["next step"] == "Start a worker: no live one is left to rescue the job.")
        #expect(said["state"]?.contains("fetched") == false)
        // A living worker takes it back.
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.admin.execute(
                "UPDATE insp.worker SET beat_microseconds = beat_microseconds - 20000000 WHERE host = 'hand'")
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        said = try await self.explain(fixture, id)
        #expect(said["history"]?.contains("rescued in attempt 1: worker \(hand.identity.id) was lost") == true)

        let late = try await self.enqueue(
            fixture,
            #","expiresAt":"\#((Date() + 1).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))""#)[0]
        try await waitUntil("its deadline passes") {
            said = try await self.explain(fixture, late)
            return said["state"] == "Its deadline has passed."
        }
        #expect(said["deadline"] == nil)
        #expect(said["next step"]?.contains("EXPIRED") == true)
    }

    @Test func `A deadline that has passed is told of a job that is delayed, runs or waits for a person`() async throws
    {
        let fixture = try await QueueFixture()
        // Long enough for a busy machine: a job whose deadline has passed is not claimed.
        func soon() -> String {
            let time = (Date() + 10).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            return #","expiresAt":"\#(time)""#
        }
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', job_lifetime => '10 s')")
        // The worker does no maintenance, so what is past its deadline stays to be seen.
        var configuration = fixture.configuration()
        configuration.maintains = false
        configuration.retryPolicy.base = .seconds(600)
        let retried = try await self.enqueue(fixture)[0]
        let named = try await self.enqueue(fixture, soon())[0]
        try await withWorker(configuration, ClosureHandler { _, _ in throw InspectError(.partUnreachable) }) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.delayed) = 2")
        }
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', review => 'always')")
        let reviewed = try await self.enqueue(fixture)[0]
        try await withWorker(configuration, ClosureHandler()) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.review_wait)")
        }
        let running = try await self.enqueue(fixture)[0]
        var hand = try await Hand(fixture.admin)
        #expect(try await hand.claim(1, on: fixture.admin).jobs.count == 1)
        try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE expires_at > clock_timestamp())")
        for (id, what) in [
            (retried, "The job ends as EXPIRED when its next attempt would begin."),
            (named, "Maintenance ends the job as EXPIRED within seconds. If not, insp.v_maintenance says why."),
            (reviewed, "Maintenance ends the job as EXPIRED within seconds. If not, insp.v_maintenance says why."),
            (running, "The attempt under way may still finish the job."),
        ] {
            let deadline = try await self.explain(fixture, id)["deadline"]
            #expect(deadline?.wholeMatch(of: /Passed \d+ s ago\. (.+)/)?.1 == what[...], "\(deadline ?? "none")")
        }
        let history = try await self.explain(fixture, retried)["history"]
        #expect(history?.contains(/; delayed for [\d.]+ s\.$/) == true, "\(history ?? "none")")
    }

    @Test func `A rerun is advised only where it is possible`() async throws {
        let fixture = try await QueueFixture()
        let erased = try await self.enqueue(fixture)[0]
        let dead = try await self.enqueue(fixture)[0]
        #expect(try await fixture.client.cancel(erased))
        try await withWorker(
            fixture.configuration(), ClosureHandler { _, _ in throw InspectError(.corruptImage) }
        ) { _ in try await fixture.wait(for: "EXISTS (SELECT FROM insp.dead)") }
        let enrolled = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"enrollment","faceId":"f1"}"#.utf8),
            parts: [.face: [Data("x".utf8)]])
        #expect(try await fixture.client.cancel(enrolled))
        for id in [erased, dead] { _ = try await fixture.admin.query("SELECT insp.erase('\(id)')") }
        for (id, next) in [
            (erased, "None. It cannot run again: its parts or its request were removed."),
            (enrolled, "None. It cannot run again: its parts or its request were removed."),
            (
                dead,
                "It cannot run again: its parts or its request were removed. SELECT insp.resolve_dead('\(dead)')."
            ),
        ] {
            #expect(try await self.explain(fixture, id)["next step"] == next)
            let refused = await #expect(throws: PostgresError.self) {
                try await fixture.admin.query("SELECT insp.rerun('\(id)')")
            }
            #expect(refused?.sqlState == ErrorCode.partsPurged.sqlState)
        }
    }

    @Test func `Each callback: what it waits for, and its endpoint's breaker`() async throws {
        let fixture = try await QueueFixture()
        let id = try await self.enqueue(fixture)[0]
        #expect(try await fixture.client.cancel(id))
        var said = try await self.explain(fixture, id)
        #expect(said["state"]?.hasSuffix(" as NOT_EXECUTED with CANCELLED (the job was cancelled).") == true)
        #expect(said["next step"] == "None. SELECT insp.rerun('\(id)') runs it again as a new job.")
        #expect(said["callback"]?.hasPrefix("job.finished to endpoint 1: attempt 1 has been due for ") == true)
        #expect(said["callback"]?.hasSuffix("The endpoint's breaker is closed.") == true)
        let steps: [(call: String, words: [String])] = [
            ("callback_pause(1, 'CANARY')", ["The endpoint is paused: SELECT insp.callback_resume(1)."]),
            ("callback_resume(1)", ["breaker is closed"]),
            ("callback_disable(1)", ["held until the endpoint is enabled", "SELECT insp.callback_enable(1)."]),
            ("callback_enable(1)", ["attempt 1 has been due for "]),
            (
                "endpoint_judge(1, 0, 10, false, 'TIMED_OUT')",
                ["breaker is open for ", "SELECT insp.callback_breaker_reset(1) closes it."]
            ),
            ("callback_breaker_reset(1)", ["breaker is closed"]),
            (
                "callback_dead_letter('msg_\(id.replacing("-", with: ""))', 'CANARY')",
                [
                    "dead-lettered, attempts made: 0",
                    "SELECT insp.callback_replay('msg_\(id.replacing("-", with: ""))') sends it again.",
                ]
            ),
        ]
        for step in steps {
            _ = try await fixture.admin.query("SELECT insp.\(step.call)")
            said = try await self.explain(fixture, id)
            for words in step.words { #expect(said["callback"]?.contains(words) == true, "\(step.call): \(said)") }
        }
    }

    @Test func `The last twelve digits are enough, unless they are several jobs' or nobody's`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await self.enqueue(fixture, count: 3)
        let end = String(ids[0].suffix(12))
        // Ages are told in days then, and the same in two answers.
        try await fixture.admin.execute("UPDATE insp.job SET created_at = created_at - interval '3 days'")
        #expect(try await fixture.client.find(end) == ids[0])
        #expect(try await fixture.client.find(end.uppercased()) == ids[0])
        #expect(try await fixture.client.find(ids[0].replacing("-", with: "")) == ids[0])
        #expect(
            try await fixture.client.explanation(of: end).map(\.text)
                == fixture.client.explanation(of: ids[0]).map(\.text))
        #expect(try await fixture.admin.query("SELECT insp.cancel(insp.find_job('\(end)'))")[0].bool(0))

        // Two ids that end alike are made by hand: no client can.
        try await fixture.admin.execute(
            "UPDATE insp.job SET public_id = overlay(public_id::text PLACING '\(end)' FROM 25)::uuid WHERE public_id = '\(ids[1])'"
        )
        let ambiguous = await #expect(throws: InspectError.self) { try await fixture.client.explanation(of: end) }
        #expect(ambiguous?.code == .jobAmbiguous && ambiguous?.hint == "Give the whole id.")
        for id in [ids[0], ids[1].prefix(24) + end] {
            #expect(ambiguous?.detail.contains(id) == true, "\(ambiguous?.detail ?? "")")
        }
        #expect(try await fixture.client.find(ids[0]) == ids[0], "the whole id means one job")

        for unknown in ["000000000000", UUID().uuidString, "", "abc", "g00000000000", "'"] {
            let refused = await #expect(throws: InspectError.self, "\(unknown)") {
                try await fixture.client.explanation(of: unknown)
            }
            #expect(refused?.code == .jobUnknown, "\(unknown)")
            #expect(refused?.detail == "", "what to do is no detail: \(refused?.detail ?? "")")
            let hint: String? =
                switch unknown {
                case "000000000000": "Give the whole id."
                case _ where unknown.count == 36: nil
                default: "An id is a UUID, or its last twelve digits."
                }
            #expect(refused?.hint?.prefix(hint?.count ?? 100) == hint?[...], "\(unknown): \(refused?.hint ?? "none")")
        }
    }

    @Test func `Operators and auditors may ask, others may not`() async throws {
        let fixture = try await QueueFixture()
        let id = try await self.enqueue(fixture)[0]
        for (role, may) in [
            ("insp_operator", true), ("insp_auditor", true), ("insp_producer", false), ("insp_worker", false),
            ("insp_gateway", false),
        ] {
            let session = try await fixture.database.connect()
            try await session.execute("SET ROLE \(role)")
            for call in ["find_job('\(id)')", "explain_job('\(id)')"] {
                do {
                    _ = try await session.query("SELECT insp.\(call)")
                    #expect(may, "\(role) \(call)")
                } catch {
                    #expect(!may && (error as? PostgresError)?.sqlState == "42501", "\(role) \(call): \(error)")
                }
            }
            await session.close()
        }
    }
}
