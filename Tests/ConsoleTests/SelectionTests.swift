import Foundation
import Postgres
import TestSupport
import Testing

@testable import Console

/// Actions on whole selections of jobs, callbacks and endpoints; those of dead letters are in ``DeadLetterTests``.
@Suite struct SelectionTests {
    @Test func `What a task did not do is reported in sentences`() {
        #expect(TasksPage.sentences(1, "already 1") == "1 was done already.")
        #expect(
            TasksPage.sentences(6, "PARTS_PURGED 2, ROW_LOCKED 1, already 3")
                == "3 were done already. 3 were refused: 2 with PARTS_PURGED, 1 with ROW_LOCKED.")
        #expect(
            TasksPage.sentences(3, "changed 2, already 1")
                == "1 was done already. 2 were changed after the preview, and left alone.")
        #expect(TasksPage.sentences(1, nil) == "1 was refused.")
    }

    private func jobs(_ site: ConsoleSite, _ partner: String, _ count: Int, _ members: String = "") async throws {
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"\(partner)","workflow":"id"\(members)}', front => 'x'))
            FROM generate_series(1, \(count))
            """)
    }

    @Test func `Jobs that have not begun are cancelled, each on record, and leave the queue`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 1200)
        try await self.jobs(site, "bank", 5, #","lane":"urgent""#)
        try await self.jobs(site, "bank", 7, #","delaySeconds":600"#)
        try await self.jobs(site, "shop", 4)
        let browser = try await site.person("ann", "operator:bank")
        let page = try await browser.get("/tasks/new?kind=jobs")
        #expect(page.text.contains("Act on 1212 jobs") && !page.text.contains("shop"))
        #expect(try await browser.get("/tasks/new?kind=jobs&lane=urgent").text.contains("Act on 5 jobs"))
        #expect(try await browser.get("/tasks/new?kind=jobs&state=delayed").text.contains("Act on 7 jobs"))
        #expect(try await browser.get("/tasks/new?kind=jobs&state=running").text.contains("The selection is empty"))
        let fields = ["kind": "jobs", "action": "cancel", "reason": "sent by mistake"]
        #expect(try await browser.begin(fields).status == 303)
        // Accepted after the preview.
        try await self.jobs(site, "bank", 3)
        try await site.finishTasks()
        #expect(
            try await site.count("insp.console_task WHERE done = 1212 AND refused = 0 AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.record WHERE action = 'cancel' AND actor = 'console:ann'") == 1212)
        #expect(try await site.count("insp.event WHERE kind = 'finished'") == 1212)
        // Three of the bank and four of the shop.
        #expect(try await site.count("insp.ready") == 7)
        #expect(try await site.count("insp.delayed") == 0)
        try await site.close()
    }

    @Test func `What is the same for all jobs of a batch is worked out once`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 300)
        try await site.admin.execute("BEGIN; SET LOCAL track_functions = 'all'")
        let done = try await site.admin.query(
            """
            SELECT c.done FROM (SELECT array_agg(r.job_id) AS jobs, min(r.queue) AS queue, min(r.seq) AS first, max(r.seq) AS last
                FROM insp.ready r) x, insp.cancel_each(x.jobs, x.queue, x.first, x.last) c
            """)[0].int(0)
        let calls = try await site.admin.query("SELECT sum(calls)::bigint FROM pg_stat_xact_user_functions")[0].int(0)
        try await site.admin.execute("COMMIT")
        #expect(done == 300 && (1..<100).contains(calls), "\(calls) calls for \(done) jobs")
        try await site.close()
    }

    @Test func `Jobs of a long queue are counted up to a bound, and a task takes all of them`() async throws {
        let site = try await ConsoleSite()
        // Without any statistics, as after a burst.
        try await site.admin.execute(
            """
            BEGIN;
            SET LOCAL session_replication_role = replica;
            WITH queue AS MATERIALIZED (
                SELECT insp.queue_of(0::smallint, 1::smallint, p.id) AS id, p.id AS partner FROM insp.partner p WHERE p.name = 'bank'
            ), made AS (
                INSERT INTO insp.job (id, partner_id, lane, status, expires_at, workflow, request)
                SELECT nextval('insp.job_id'), q.partner, 1, 1, now() + interval '1 day', 'id', '{"workflow": "id"}'
                FROM queue q, generate_series(1, 10100) RETURNING id
            )
            INSERT INTO insp.ready (job_id, queue) SELECT m.id, q.id FROM made m, queue q ORDER BY m.id;
            COMMIT
            """)
        let browser = try await site.person("ann", "operator:bank")
        let page = try await browser.get("/tasks/new?kind=jobs").text
        #expect(page.contains("Act on more than 5000 jobs") && page.contains("Only the first 5000 are counted."))
        #expect(
            try await browser.begin(["kind": "jobs", "action": "cancel", "reason": "by mistake"]).status == 303)
        #expect(try await site.count("insp.console_task WHERE total = 10100") == 1)
        // What is beyond the bound is not read.
        try await site.admin.execute("BEGIN")
        #expect(try await site.count("insp.console_selection('jobs', NULL, '{}', clock_timestamp(), 101)") == 101)
        let read = try await site.admin.query(
            """
            SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' AND relname = 'ready'
            """)[0].int(0)
        try await site.admin.execute("COMMIT")
        #expect((101...1000).contains(read), "\(read)")
        try await site.close()
    }

    @Test func `Delayed jobs are read by queue, and nobody else's`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "shop", 2000, #","delaySeconds":600"#)
        try await self.jobs(site, "bank", 7, #","delaySeconds":600"#)
        try await site.admin.execute("BEGIN")
        let bank = "ARRAY(SELECT id FROM insp.partner WHERE name = 'bank')"
        let selection = #"insp.console_selection('jobs', \#(bank), '{"state":"delayed"}', clock_timestamp(), 101)"#
        #expect(try await site.count(selection) == 7)
        let read = try await site.admin.query(
            """
            SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' AND relname = 'delayed'
            """)[0].int(0)
        try await site.admin.execute("COMMIT")
        #expect(read < 100, "\(read)")
        try await site.close()
    }

    @Test func `One thing is reported in the singular`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 1)
        let browser = try await site.person("ann", "operator:bank")
        #expect(try await browser.get("/tasks/new?kind=jobs").text.contains("Act on 1 job<"))
        #expect(try await browser.get("/tasks/new?kind=dead").text.contains("Act on 0 dead letters<"))
        let endpoint = try await browser.get("/tasks/new?kind=endpoints")
        let count = try await site.count(
            "insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'bank'")
        try #require(count == 1)
        #expect(endpoint.text.contains("Act on 1 endpoint<"))
        for (most, words) in [(0.0, "0 jobs"), (1, "1 job"), (2, "2 jobs")] {
            let plot = Plot(
                title: "Jobs", unit: "jobs", times: [0, 60].map { Date(timeIntervalSince1970: $0) }, stepSeconds: 60,
                lines: [.init(name: "x", values: [most, 0])])
            #expect(plot.markup.html.contains("at most \(words)'"), "\(words)")
        }
        try await site.close()
    }

    @Test func `A form that is sent twice begins one task, to which the second answer leads as well`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 1200)
        let browser = try await site.person("ann", "operator:bank")
        let page = try await browser.get("/tasks/new?kind=jobs")
        let fields = ["kind": "jobs", "action": "cancel", "reason": "sent by mistake"].merging(page.edge) { $1 }
        async let one = browser.post("/tasks", fields)
        async let other = browser.post("/tasks", fields)
        for answer in try await [one, other] {
            #expect(answer.status == 303 && answer.headers["location"] == "/tasks", "\(answer.text)")
        }
        try await site.finishTasks()
        // Long afterwards as well, with the page that the browser has kept.
        #expect(try await browser.post("/tasks", fields).status == 303)
        #expect(try await site.count("insp.console_task WHERE done = 1200 AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.console_task") == 1)
        #expect(try await site.count("insp.record WHERE action = 'console_task'") == 1)
        // What was counted anew, or by somebody else, is another task.
        let second = try await site.person("bob", "operator:bank")
        #expect(try await second.post("/tasks", fields).status == 303)
        #expect(try await browser.begin(["kind": "jobs", "action": "cancel", "reason": "more"]).status == 303)
        #expect(try await site.count("insp.console_task") == 3)
        try await site.close()
    }

    @Test func `A task that is begun while the person's sessions are ended is refused or stopped`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 3)
        let (ann, bob) = (try await site.person("ann", "operator:bank"), try await site.person("bob", "operator:bank"))
        let (one, other) = (try await site.database.connect(), try await site.database.connect())
        func someoneWaits() async throws {
            for _ in 0..<1000 {
                let waiting =
                    "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'"
                if try await site.count(waiting) > 0 { return }
                try await Task.sleep(for: .milliseconds(10))
            }
            Issue.record("nobody waits for the other")
        }
        // The sessions end first.
        try await one.execute("BEGIN")
        _ = try await one.query("SELECT insp.console_end_sessions('ann')")
        async let refused = ann.begin(["kind": "jobs", "action": "cancel", "reason": "mistake"])
        try await someoneWaits()
        try await one.execute("COMMIT")
        let answer = try await refused
        #expect(answer.status == 401)
        #expect(try await site.count("insp.console_task") == 0)
        // The task is begun first.
        try await one.execute("BEGIN")
        _ = try await one.query(
            """
            SELECT insp.console_begin_task($1, 'jobs', 'cancel', '{}',
                (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'mistake', concat(pg_snapshot_xmax(pg_current_snapshot()), ':'))
            """, [.bytes(try #require(bob.secret).sha256)])
        async let ended = other.query("SELECT insp.console_end_sessions('bob')")
        try await someoneWaits()
        try await one.execute("COMMIT")
        let rows = try await ended
        #expect(try rows[0].int(0) == 1)
        #expect(try await site.count("insp.console_task WHERE total = 3 AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.console_batch") == 0)
        for login in [one, other] { await login.close() }
        try await site.close()
    }

    @Test func `A failure that would recur with every batch ends the task at once, and the page says which`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 1200)
        try await site.admin.execute(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE 'no right' USING ERRCODE = '42501';
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON insp.job FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
        let browser = try await site.person("ann", "operator:bank")
        #expect(
            try await browser.begin(["kind": "jobs", "action": "cancel", "reason": "sent by mistake"]).status
                == 303)
        await #expect(throws: (any Error).self) { try await site.store.step() }
        #expect(
            try await site.count(
                "insp.console_task WHERE failure = '42501' AND (done, refused) = (0, 0) AND ended_at IS NOT NULL")
                == 1)
        #expect(try await site.count("insp.console_batch") == 0)
        #expect(try await !site.store.step())
        #expect(try await browser.get("/tasks").text.contains("failed with 42501"))
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'console_task_end' AND detail ->> 'failure' = '42501'") == 1)
        #expect(try await site.count("insp.ready") == 1200)
        try await site.close()
    }

    @Test func `What a console says of an attempt after another one was begun has no effect`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, "bank", 4)
        let browser = try await site.person("ann", "operator:bank")
        #expect(
            try await browser.begin(["kind": "jobs", "action": "cancel", "reason": "sent by mistake"]).status
                == 303)
        func take() async throws -> [PostgresValue] {
            try await site.admin.execute("UPDATE insp.console_batch SET until = NULL")
            let row = try await site.admin.query("SELECT task, batch, attempt FROM insp.console_batch_take()")[0]
            return [.int(try row.int(0)), .int(try row.int(1)), .int(try row.int(2))]
        }
        let fail = "SELECT insp.console_batch_fail($1, $2::integer, $3, '57014')"
        let step = "SELECT insp.console_step($1, $2::integer, $3)"
        // The first console was slow; the second one has half of its batch, for the first time.
        let (first, second) = (try await take(), try await take())
        _ = try await site.admin.query(fail, first)
        #expect(try await site.count("insp.console_batch WHERE failure IS NOT NULL") == 0)
        #expect(try await !site.admin.query(step, first)[0].bool(0))
        #expect(try await site.count("insp.console_task WHERE done = 0 AND ended_at IS NULL") == 1)
        // Nor after it was itself put back.
        _ = try await site.admin.query(fail, second)
        #expect(try await !site.admin.query(step, second)[0].bool(0))
        #expect(try await site.count("insp.console_batch WHERE failure = '57014'") == 1)
        try await site.finishTasks()
        #expect(try await site.count("insp.console_task WHERE done = 4 AND ended_at IS NOT NULL") == 1)
        try await site.close()
    }

    @Test func `Dead-lettered callbacks are sent again, each on record`() async throws {
        let site = try await ConsoleSite()
        try await site.admin.execute(
            """
            SELECT insp.set_endpoint(e.id, '{"url":"https://hooks.example.com/x"}') FROM insp.endpoint e
            """)
        try await self.jobs(site, "bank", 30)
        try await self.jobs(site, "shop", 2)
        try await site.admin.execute("SELECT insp.cancel(public_id) FROM insp.job")
        try #require(try await site.count("insp.callback_waiting") == 32)
        try await site.admin.execute(
            "UPDATE insp.callback_waiting SET state = 'dead', attempts = 9, due_at = clock_timestamp()")
        let all = try await site.count("insp.v_callback_dead WHERE partner = 'bank'")
        let browser = try await site.person("ann", "operator:bank")
        #expect(try await browser.get("/tasks/new?kind=callbacks").text.contains("Act on \(all) callbacks"))
        // One is sent again by somebody else first.
        _ = try await site.admin.query(
            "SELECT insp.callback_replay((SELECT min(webhook_id) FROM insp.v_callback_dead WHERE partner = 'shop'))")
        let fields = ["kind": "callbacks", "action": "replay", "reason": "their server is back"]
        #expect(try await browser.begin(fields).status == 303)
        try await site.finishTasks()
        #expect(try await site.count("insp.console_task WHERE done = \(all) AND refused = 0") == 1)
        #expect(
            try await site.count("insp.record WHERE action = 'callback_replay' AND actor = 'console:ann'") == all)
        #expect(try await site.count("insp.v_callback_dead WHERE partner = 'bank'") == 0)
        #expect(try await site.count("insp.v_callback_dead WHERE partner = 'shop'") > 0)
        #expect(try await site.count("insp.callback_waiting WHERE state = 'pending' AND attempts = 0") == all + 1)
        try await site.close()
    }

    @Test func `Endpoints are paused and resumed, and one that is so already counts as such`() async throws {
        let site = try await ConsoleSite()
        try await site.admin.execute(
            """
            SELECT insp.create_endpoint('bank', 'https://hooks.example.com/x');
            SELECT insp.callback_pause(min(id)) FROM insp.endpoint WHERE partner_id = (SELECT id FROM insp.partner WHERE name = 'bank')
            """)
        let own = "insp.endpoint WHERE partner_id = (SELECT id FROM insp.partner WHERE name = 'bank')"
        let count = try await site.count(own)
        let browser = try await site.person("ann", "operator:bank")
        #expect(
            try await browser.begin(["kind": "endpoints", "action": "pause", "reason": "maintenance"]).status
                == 303)
        try await site.finishTasks()
        #expect(try await site.count("\(own) AND paused") == count)
        #expect(
            try await site.count(
                "insp.console_task WHERE done = \(count - 1) AND refusals = '{\"already\": 1}' AND ended_at IS NOT NULL"
            )
                == 1)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'callback_pause' AND detail ->> 'reason' = 'maintenance'")
                == count - 1)
        #expect(
            try await browser.begin(["kind": "endpoints", "action": "resume", "reason": "done", "state": "paused"]
            ).status == 303)
        try await site.finishTasks()
        #expect(try await site.count("\(own) AND paused") == 0)
        #expect(try await site.count("insp.endpoint WHERE NOT paused") == site.count("insp.endpoint"))
        try await site.close()
    }

    @Test func `An action that a selection does not have, an unknown filter and an empty reason are refused`()
        async throws
    {
        let site = try await ConsoleSite()
        let browser = try await site.person("ann", "operator:*")
        let good = ["kind": "jobs", "action": "cancel", "reason": "x", "before": "1000000", "seen": "1:"]
        for wrong in [
            ["action": "rerun"], ["action": "pause"], ["kind": "dead"], ["kind": "x"], ["lane": "x"],
            ["state": "paused"],
            ["reason": ""], ["reason": String(repeating: "x", count: 201)], ["before": "0"], ["before": "x"],
            // Of the future.
            ["before": "9000000000000000"], ["seen": "9000000000000000:"], ["seen": "1:1:"], ["seen": "x"],
            ["seen": ""],
            ["partner": "nobody"], ["kind": "callbacks", "action": "replay", "endpoint": "x"],
        ] {
            #expect(try await browser.post("/tasks", good.merging(wrong) { $1 }).status == 400, "\(wrong)")
        }
        #expect(try await site.count("insp.console_task") == 0)
        #expect(try await browser.post("/tasks", good).status == 303)
        // An empty selection ends at once.
        #expect(try await site.count("insp.console_task WHERE ended_at IS NOT NULL AND total = 0") == 1)
        try await site.close()
    }
}
