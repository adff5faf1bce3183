import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Events that a partner pulls: none is missed, whatever others keep open and whatever becomes of the server.
@Suite struct PullTests {
    /// A partner whose events are pulled, and a credential that pulls them.
    struct Puller {
        let fixture: QueueFixture
        let partner: String
        let endpoint: Int64
        let credential: Int64
        let digest: Data

        init(_ fixture: QueueFixture, _ partner: String = "pulling") async throws {
            self.fixture = fixture
            self.partner = partner
            self.endpoint = try await fixture.admin.query(
                "SELECT endpoint_id FROM insp.create_partner($1, 'pull:')", [.text(partner)])[0].int(0)
            let made = try await fixture.admin.query(
                """
                SELECT key_id, sha256(convert_to(secret, 'UTF8'))
                FROM insp.create_credential($1, '{events,callbacks,read}')
                """, [.text(partner)]
            ).single()
            self.digest = try made.data(1)
            self.credential = try await fixture.admin.query(
                "SELECT id FROM insp.credential WHERE key_id = $1", [.text(try made.string(0))]
            ).single().int(0)
        }

        /// Waiting jobs; returns their internal numbers.
        func enqueue(_ count: Int, _ more: String = "") async throws -> [Int64] {
            var numbers: [Int64] = []
            for _ in 0..<count {
                let payload =
                    QueueFixture.byURL.replacing("acme", with: self.partner).dropLast() + more + "}"
                let id = try await self.fixture.client.enqueue(payload: Data(payload.utf8))
                numbers.append(
                    try await self.fixture.admin.query(
                        "SELECT id FROM insp.job WHERE public_id = $1::uuid", [.text(id)])[0].int(0))
            }
            return numbers
        }

        /// A page, as the gateway gets it.
        func page(after: String? = nil, limit: Int = 1000) async throws -> (jobs: [Int64], next: String) {
            _ = try await self.fixture.admin.query("SELECT insp.number_pulls()")
            let rows = try await self.fixture.admin.query(
                """
                SELECT e.next, coalesce((SELECT c.job_id FROM insp.callback c WHERE c.id = e.id), 0)
                FROM insp.gateway_events($1, $2, $3, $4::integer) e
                """,
                [.int(self.credential), .bytes(self.digest), .optional(after), .int(Int64(limit))])
            return (try rows.dropFirst().map { try $0.int(1) }, try rows[0].string(0))
        }

        /// A cursor of this endpoint.
        ///
        /// - Parameter words: Epochs and positions.
        func sealed(_ words: String, endpoint: Int64? = nil) async throws -> String {
            try await self.fixture.admin.query(
                "SELECT insp.seal_place($1, $2::text::bigint[])",
                [.int(endpoint ?? self.endpoint), .text("{\(words)}")])[0].string(0)
        }

        func refusal(after: String? = nil) async -> ErrorCode? {
            do {
                _ = try await self.page(after: after)
                return nil
            } catch { return (error as? PostgresError)?.refusal?.code }
        }
    }

    private func cancel(_ job: Int64) -> String { "SELECT insp.cancel(public_id) FROM insp.job WHERE id = \(job)" }

    @Test func `A late commit is not skipped, and an open transaction delays nothing but its own events`() async throws
    {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(6)
        let (slow, held, snapshot) = (
            try await fixture.database.connect(), try await fixture.database.connect(),
            try await fixture.database.connect()
        )
        try await slow.execute("BEGIN; \(self.cancel(jobs[0]))")
        try await held.execute("BEGIN; SELECT insp.pause('bulk')")
        try await snapshot.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.callback_pull")
        var next: String?
        var page = try await puller.page()
        #expect(page.jobs.isEmpty)
        next = page.next
        for job in jobs[1...3] {
            try await fixture.admin.execute(self.cancel(job))
            page = try await puller.page(after: next)
            #expect(page.jobs == [job])
            next = page.next
        }
        try await slow.execute("COMMIT")
        try await fixture.admin.execute(self.cancel(jobs[4]))
        page = try await puller.page(after: next)
        #expect(page.jobs == [jobs[0], jobs[4]])
        next = page.next
        // One that began before all that, and writes only now.
        try await held.execute("\(self.cancel(jobs[5])); COMMIT")
        page = try await puller.page(after: next)
        #expect(page.jobs == [jobs[5]])
        #expect(try await puller.page(after: page.next).jobs.isEmpty)
        #expect(try await puller.page().jobs == [jobs[1], jobs[2], jobs[3], jobs[0], jobs[4], jobs[5]])
        for connection in [slow, held, snapshot] { await connection.close() }
    }

    @Test func `Pages of any size hold all events in one order`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(25)
        for job in jobs { try await fixture.admin.execute(self.cancel(job)) }
        var seen: [Int64] = []
        var next: String?
        for _ in 0..<10 {
            let page = try await puller.page(after: next, limit: 7)
            seen += page.jobs
            next = page.next
            if page.jobs.isEmpty { break }
        }
        #expect(seen == jobs)
        #expect(try await fixture.count("insp.callback_waiting") == 0, "nothing is sent")
        for wrong in ["", "1", "x.1", "0.1_", "99999999999999999999.1", "0.1_0.1_0.1_0.1_0.1"] {
            #expect(await puller.refusal(after: wrong) == .parameterInvalid, "\(wrong)")
        }
    }

    @Test func `After a promotion that lost the newest, an old cursor misses nothing`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(6)
        for job in jobs[...2] { try await fixture.admin.execute(self.cancel(job)) }
        let early = try await puller.page()
        #expect(early.jobs == Array(jobs[...2]))
        // What the standby has, an event that waits for its place among it.
        try await fixture.admin.execute(
            "CREATE TABLE public.cursor AS TABLE insp.pull_cursor; \(self.cancel(jobs[3]))")
        try await fixture.admin.execute("CREATE TABLE public.pulls AS TABLE insp.callback_pull")
        try await fixture.admin.execute(self.cancel(jobs[4]))
        let lost = try await puller.page(after: early.next)
        #expect(lost.jobs == [jobs[3], jobs[4]])
        // The promotion: the last job's end and two places are lost.
        try await fixture.admin.execute(
            """
            DELETE FROM insp.callback_pull; DELETE FROM insp.pull_cursor; DELETE FROM insp.event WHERE job_id = \(jobs[4]);
            UPDATE insp.job SET status = 1, completed_at = NULL WHERE id = \(jobs[4]); DELETE FROM insp.step WHERE job_id = \(jobs[4]);
            DELETE FROM insp.callback WHERE job_id = \(jobs[4]);
            INSERT INTO insp.callback_pull OVERRIDING SYSTEM VALUE SELECT * FROM public.pulls;
            INSERT INTO insp.pull_cursor SELECT * FROM public.cursor; UPDATE insp.epoch SET timeline = '00000000';
            """)
        for job in jobs[4...5] { try await fixture.admin.execute(self.cancel(job)) }
        // What lost its place comes again; the lost job's new event is another one.
        let after = try await puller.page(after: lost.next)
        #expect(after.jobs == [jobs[3], jobs[4], jobs[5]])
        #expect(try await puller.page(after: early.next).jobs == [jobs[3], jobs[4], jobs[5]])
        #expect(try await puller.page(after: after.next).jobs.isEmpty)
    }

    @Test func `After a restore, a cursor of the lost history goes on where both histories part`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(4)
        func pull(_ job: Int64, after: String?) async throws -> String {
            try await fixture.admin.execute(self.cancel(job))
            let page = try await puller.page(after: after)
            #expect(page.jobs == [job])
            return page.next
        }
        func restart() async throws { try await fixture.admin.execute("UPDATE insp.epoch SET timeline = '00000000'") }
        let first = try await pull(jobs[0], after: nil)
        try await restart()
        let second = try await pull(jobs[1], after: first)
        // The database forgets the second epoch, as one that was restored from a backup from before it.
        try await fixture.admin.execute(
            """
            DELETE FROM insp.callback_pull WHERE epoch > 0; DELETE FROM insp.pull_epoch WHERE epoch > 0;
            UPDATE insp.pull_cursor SET epoch = 0, position = 1
            """)
        try await restart()
        let third = try await puller.page(after: second)
        #expect(third.jobs.isEmpty)
        try await fixture.admin.execute(self.cancel(jobs[2]))
        #expect(try await puller.page(after: second).jobs == [jobs[2]])
        #expect(try await puller.page(after: third.next).jobs == [jobs[2]])
        // Of a history that shares nothing with this one, it is said, and not taken for the end or the beginning.
        let foreign = try await puller.sealed("77,1,76,5")
        #expect(await puller.refusal(after: foreign) == .eventsGone)
    }

    @Test func `A cursor before what retention removed is refused, and the oldest events are still there`() async throws
    {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(5)
        var cursors: [String] = []
        for job in jobs {
            try await fixture.admin.execute(self.cancel(job))
            cursors.append(try await puller.page(after: cursors.last).next)
        }
        // One has no place yet; however old it is, it stays.
        let late = try await puller.enqueue(1)
        try await fixture.admin.execute(self.cancel(late[0]))
        try await fixture.admin.execute(
            """
            UPDATE insp.callback SET created_at = created_at - interval '31 days' WHERE job_id IN (\(jobs[0]), \(jobs[1]), \(late[0]));
            UPDATE insp.callback_pull p SET numbered_at = numbered_at - interval '31 days' FROM insp.callback c
            WHERE c.id = p.callback_id AND c.job_id IN (\(jobs[0]), \(jobs[1]))
            """)
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.callback_pull") == 4)
        #expect(await puller.refusal(after: cursors[0]) == .eventsGone)
        #expect(try await puller.page(after: cursors[1]).jobs == Array(jobs[2...]) + late)
        #expect(try await puller.page().jobs == Array(jobs[2...]) + late)
    }

    @Test func `Erasure leaves an event without anything of the person`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let jobs = try await puller.enqueue(2, #","userReference":"zqmark""#)
        for job in jobs { try await fixture.admin.execute(self.cancel(job)) }
        func events() async throws -> [String] {
            try await fixture.admin.query(
                """
                SELECT coalesce(e.user_reference, '-') || ' ' || coalesce(e.decision, '-') || ' ' || e.is_reduced
                FROM insp.gateway_events($1, $2) e WHERE e.next IS NULL
                """, [.int(puller.credential), .bytes(puller.digest)]
            ).map { try $0.string(0) }
        }
        _ = try await puller.page()
        #expect(try await events() == Array(repeating: #""zqmark" "NOT_EXECUTED" false"#, count: 2))
        _ = try await fixture.admin.query("SELECT insp.erase_person('pulling', 'zqmark')")
        #expect(try await events() == Array(repeating: "- - true", count: 2))
        #expect(try await puller.page().jobs == jobs, "both remain, in their order")
        _ = try await fixture.admin.query("SELECT insp.erase_partner('pulling')")
        var last: Int64 = 0
        for _ in 0..<10 {
            let row = try await fixture.admin.query(
                "SELECT coalesce(last, $1), more FROM insp.erase_partner_data('pulling', $1)", [.int(last)])[0]
            last = try row.int(0)
            if try !row.bool(1) { break }
        }
        #expect(try await fixture.count("insp.callback_pull") == 0)
        #expect(try await fixture.count("insp.callback") == 0)
    }

    @Test func `A callback whose own URL is erased is pulled instead`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        let own = #","userReference":"u","callbackUrl":"https://own.example.com/hook?for=zqmark""#
        let jobs = try await puller.enqueue(1, own)
        try await fixture.admin.execute(self.cancel(jobs[0]))
        #expect(try await fixture.count("insp.callback_waiting WHERE state = 'pending'") == 1, "its own URL is used")
        #expect(try await puller.page().jobs.isEmpty)
        _ = try await fixture.admin.query("SELECT insp.erase_person('pulling', 'u')")
        #expect(try await fixture.count("insp.callback_waiting") == 0)
        #expect(try await puller.page().jobs == jobs)
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                "SELECT insp.enqueue('\(QueueFixture.byURL.dropLast()),\"callbackUrl\":\"pull:\"}')")
        }
        #expect(refused?.refusal?.code == .callbackURLInvalid, "a job cannot choose to be pulled")
    }

    @Test func `Partners and endpoints have orders of their own, and a replay a new place`() async throws {
        let fixture = try await QueueFixture()
        let (one, other) = (try await Puller(fixture), try await Puller(fixture, "other"))
        let (ours, theirs) = (try await one.enqueue(2), try await other.enqueue(2))
        for job in [ours[0], theirs[0], ours[1], theirs[1]] { try await fixture.admin.execute(self.cancel(job)) }
        let page = try await one.page()
        #expect(page.jobs == ours)
        #expect(try await other.page().jobs == theirs)
        #expect(await other.refusal(after: page.next) == .eventsGone, "a cursor is for one endpoint")
        let replayed = try await fixture.admin.query(
            "SELECT insp.callback_replay($1, now() - interval '1 hour', now() + interval '1 hour', true)",
            [.int(one.endpoint)])[0].int(0)
        #expect(replayed == 2)
        #expect(try await one.page(after: page.next).jobs == ours)
        #expect(
            try await fixture.admin.query("SELECT insp.callback_replay(min(webhook_id)) FROM insp.callback")[0].bool(0))
        #expect(try await fixture.count("insp.v_callback WHERE state = 'pending'") == 1)
        _ = try await one.page()
        #expect(try await fixture.count("insp.v_callback WHERE state = 'delivered'") == 4)
        // An operator stops it, and takes it away.
        _ = try await fixture.admin.query("SELECT insp.callback_pause($1)", [.int(one.endpoint)])
        #expect(await one.refusal() == .endpointDisabled)
        _ = try await fixture.admin.query("SELECT insp.callback_resume($1)", [.int(one.endpoint)])
        _ = try await fixture.admin.query(
            "SELECT insp.set_endpoint($1, '{\"url\": \"https://hooks.example.com/z\"}')", [.int(one.endpoint)])
        #expect(await one.refusal() == .eventsOff)
        let left = try await fixture.admin.query(
            "SELECT count(*) FROM insp.gateway_events($1, $2, p_endpoint => $3)",
            [.int(one.credential), .bytes(one.digest), .int(one.endpoint)])[0].int(0)
        #expect(left > 4, "what was to be pulled still is")
        let foreign = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                "SELECT insp.gateway_events($1, $2, p_endpoint => $3)",
                [.int(one.credential), .bytes(one.digest), .int(other.endpoint)])
        }
        #expect(foreign?.refusal?.code == .endpointUnknown)
    }

    @Test func `Under a held snapshot, numbering reads only what is new`() async throws {
        let fixture = try await QueueFixture()
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.callback_pull")
        func add(_ from: Int, _ count: Int) async throws {
            try await fixture.admin.execute(
                """
                INSERT INTO insp.callback_pull (callback_id, endpoint_id)
                SELECT n, 1 FROM generate_series(\(from), \(from + count - 1)) n
                """)
        }
        for turn in 0..<40 {
            try await add(turn * 1000, 1000)
            #expect(try await fixture.admin.query("SELECT insp.number_pulls()")[0].int(0) == 1000)
        }
        try await add(40_000, 10)
        let plan = try await fixture.admin.query(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT insp.number_pulls()")[0].data(0)
        let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
        let top = try #require(document?.first?["Plan"] as? [String: Any])
        let pages = ["Shared Hit Blocks", "Shared Read Blocks"].compactMap { top[$0] as? Int }.reduce(0, +)
        #expect(pages < 500, "\(pages) pages for ten rows")
        await holder.close()
    }

    @Test func `A worker numbers events and counts finished jobs, each once`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await Puller(fixture)
        _ = try await puller.enqueue(12)
        _ = try await fixture.enqueue(3)
        let handler = ClosureHandler { job, _ in
            if job.id % 4 == 0 { throw InspectError(.corruptImage) }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            try await fixture.wait(for: "count(*) = 12 FROM insp.callback_pull WHERE position IS NOT NULL")
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.event_batch WHERE position IS NULL)")
        }
        #expect(try await puller.page().jobs.count == 12)
        for _ in 0..<3 { _ = try await fixture.admin.query("SELECT insp.count_usage(2)") }
        _ = try await fixture.admin.query("SELECT insp.count_usage()")
        _ = try await fixture.admin.query("SELECT insp.count_usage()")
        func counts(_ partner: String) async throws -> [String] {
            try await fixture.admin.query(
                """
                SELECT workflow || ' ' || decision || ' ' || coalesce(error, '-') || ' ' || sum(jobs)
                FROM insp.usage($1, current_date - 1, current_date + 1) GROUP BY workflow, decision, error ORDER BY 1
                """, [.text(partner)]
            ).map { try $0.string(0) }
        }
        let (failed, all) = (
            try await fixture.count(
                "insp.dead d JOIN insp.job j ON j.id = d.job_id JOIN insp.partner p ON p.id = j.partner_id WHERE p.name = 'pulling'"
            ),
            12
        )
        #expect(
            try await counts("pulling") == [
                "id NOT_EXECUTED CORRUPT_IMAGE \(failed)", "id PASSED - \(all - failed)",
            ])
        #expect(try await fixture.count("insp.usage_cursor WHERE counted_to > now() - interval '1 minute'") == 1)
        // The counts remain when the jobs are gone.
        try await fixture.admin.execute("DELETE FROM insp.event; DELETE FROM insp.job")
        #expect(try await counts("pulling").count == 2)
        #expect(try await counts("acme").isEmpty == false)
    }
}
