import Console
import Foundation
import Postgres
import TestSupport
import Testing

/// Tasks continue and end whatever fails, keep nobody waiting, and are deleted in time.
@Suite struct ConsoleTaskTests {
    private func letters(_ site: ConsoleSite, _ partner: String, _ count: Int) async throws {
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"\(partner)","workflow":"id"}', front => 'x')) FROM generate_series(1, \(count));
            SELECT count(insp.cancel(j.public_id)) FROM insp.job j WHERE j.status = 1;
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT j.id, j.partner_id, 'TIMED_OUT', 1, 0 FROM insp.job j WHERE j.status = 128 ON CONFLICT DO NOTHING
            """)
    }

    private func begin(_ browser: Browser, _ fields: [String: String]) async throws {
        try #require(try await browser.begin(fields).status == 303)
    }

    /// Completes all tasks, including those that fail on the way, as consoles do.
    private func finish(_ site: ConsoleSite) async throws {
        for _ in 0..<100 where try await site.count("insp.console_task WHERE ended_at IS NULL") > 0 {
            _ = try? await site.store.step()
        }
    }

    @Test func `A batch that fails is halved until what fails is alone, which is refused, and the task ends`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 12)
        // As a statement that takes too long: no handler in the database sees it.
        try await site.admin.execute(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.job_id = (SELECT min(d.job_id) + 4 FROM insp.dead d) THEN RAISE 'slow' USING ERRCODE = '57014'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON insp.dead FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(browser, ["action": "rerun", "reason": "again"])
        try await self.finish(site)
        #expect(
            try await site.count(
                "insp.console_task WHERE done = 11 AND refusals = '{\"57014\": 1}' AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.console_batch") == 0)
        #expect(try await site.count("insp.job WHERE rerun_of IS NOT NULL") == 11)
        #expect(try await site.count("insp.record WHERE action = 'rerun'") == 11)
        #expect(try await site.count("insp.record WHERE action = 'console_task_end'") == 1)
        try await site.close()
    }

    @Test func `A batch whose console died between two calls is done by another one, once`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 9)
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(browser, ["action": "rerun", "reason": "again"])
        let taken = try await site.admin.query("SELECT task, batch, attempt FROM insp.console_batch_take()")[0]
        // It is another console's until it lapses.
        #expect(try await !site.store.step())
        try await site.admin.execute("UPDATE insp.console_batch SET until = clock_timestamp()")
        try await self.finish(site)
        // The console was not dead, but slow.
        let late = try await site.admin.query(
            "SELECT insp.console_step($1, $2::integer, $3)",
            [.int(try taken.int(0)), .int(try taken.int(1)), .int(try taken.int(2))])
        #expect(try !late[0].bool(0))
        #expect(try await site.count("insp.console_task WHERE done = 9 AND refused = 0 AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.job WHERE rerun_of IS NOT NULL") == 9)
        try await site.close()
    }

    @Test func `A fault of the server is no fault of a batch`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 4)
        try await site.admin.execute(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE 'full' USING ERRCODE = '53100';
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON insp.dead FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(browser, ["action": "rerun", "reason": "again"])
        for _ in 0..<5 {
            await #expect(throws: (any Error).self) { try await site.store.step() }
            // It waits a few seconds.
            #expect(try await !site.store.step())
            try await site.admin.execute("UPDATE insp.console_batch SET until = clock_timestamp()")
        }
        #expect(try await site.count("insp.console_batch WHERE cardinality(targets) = 4 AND attempts = 0") == 1)
        #expect(try await browser.get("/tasks").text.contains("failed with 53100; it will be tried again"))
        try await site.admin.execute("DROP TRIGGER fail ON insp.dead")
        try await self.finish(site)
        #expect(try await site.count("insp.console_task WHERE done = 4 AND refused = 0 AND ended_at IS NOT NULL") == 1)
        try await site.close()
    }

    @Test func `Jobs that others hold cost a task no time, even if it goes from job to job`() async throws {
        let site = try await ConsoleSite()
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"bank","workflow":"id"}', front => 'x')) FROM generate_series(1, 20);
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.id = (SELECT min(j.id) FROM insp.job j) THEN RAISE 'no' USING ERRCODE = '22000'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON insp.job FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(browser, ["kind": "jobs", "action": "cancel", "reason": "sent by mistake"])
        let holder = try await site.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.job ORDER BY id DESC LIMIT 9 FOR UPDATE")
        // Five seconds for each of the nine were more than a statement may take.
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                "insp.console_task WHERE done = 10 AND refused = 10 AND refusals -> 'ROW_LOCKED' = '9' AND ended_at IS NOT NULL"
            ) == 1)
        try await holder.execute("ROLLBACK")
        await holder.close()
        try await site.close()
    }

    @Test func `What an endpoint holds is freed in portions, those due first at first, and the endpoint counts once`()
        async throws
    {
        let site = try await ConsoleSite()
        let own = "(SELECT e.id FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'bank')"
        try await site.admin.execute(
            """
            SELECT insp.set_endpoint(\(own), '{"url":"https://hooks.example.com/x"}'), insp.callback_disable(\(own));
            INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state)
            SELECT 1000000 + n, \(own), now() - interval '1 hour' + n * interval '1 ms', 0, 0, 'held' FROM generate_series(1, 25000) n
            """, timeout: .seconds(60))
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(
            browser, ["kind": "endpoints", "action": "enable", "reason": "their server is back"])
        #expect(try await site.store.step())
        // Callbacks that come now are sent as well.
        #expect(try await site.count("insp.endpoint WHERE id = \(own) AND enabled") == 1)
        #expect(try await site.count("insp.callback_waiting WHERE state = 'pending'") == 10_000)
        #expect(
            try await site.count("insp.callback_waiting WHERE state = 'pending' AND callback_id > 1010000") == 0)
        #expect(try await site.count("insp.console_task WHERE done = 0 AND ended_at IS NULL") == 1)
        try await site.finishTasks()
        #expect(try await site.count("insp.callback_waiting WHERE state = 'held'") == 0)
        #expect(try await site.count("insp.console_task WHERE done = 1 AND refused = 0 AND ended_at IS NOT NULL") == 1)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'callback_enable' AND detail ->> 'freed' = '25000'") == 1)
        #expect(try await site.count("insp.record WHERE chain = 'endpoint' AND action = 'enabled'") == 1)
        try await site.close()
    }

    @Test func `An endpoint that is disabled again while it is enabled holds the rest`() async throws {
        let site = try await ConsoleSite()
        let own = "(SELECT e.id FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'bank')"
        try await site.admin.execute(
            """
            SELECT insp.callback_disable(\(own));
            INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state)
            SELECT 1000000 + n, \(own), now(), 0, 0, 'held' FROM generate_series(1, 12000) n
            """, timeout: .seconds(60))
        let browser = try await site.person("ann", "operator:bank")
        try await self.begin(browser, ["kind": "endpoints", "action": "enable", "reason": "x"])
        #expect(try await site.store.step())
        try await site.admin.execute("SELECT insp.callback_disable(\(own))")
        try await site.finishTasks()
        #expect(try await site.count("insp.callback_waiting WHERE state = 'held'") == 12_000)
        #expect(try await site.count("insp.endpoint WHERE id = \(own) AND NOT enabled") == 1)
        #expect(try await site.count("insp.console_task WHERE ended_at IS NOT NULL") == 1)
        try await site.close()
    }

    @Test func `A small partner's selection reads no dead letter of another one`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 5)
        try await site.admin.execute(
            """
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT 1000000 + n, p.id, 'TIMED_OUT', 1, 0 FROM insp.partner p, generate_series(1, 20000) n WHERE p.name = 'shop';
            ANALYZE insp.dead
            """, timeout: .seconds(60))
        let browser = try await site.person("ann", "operator:bank")
        #expect(try await browser.get("/tasks/new?kind=dead").text.contains("Act on 5 dead letters"))
        let secret = try #require(browser.secret)
        let read = PostgresStatement(
            """
            SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp' AND relname = 'dead'
            """)
        for filter in ["{}", #"{"code":"TIMED_OUT"}"#] {
            let (preview, begin) = try await site.admin.transaction { connection in
                let first = try connection.query(read.sql)[0].int(0)
                _ = try connection.query(
                    "SELECT total FROM insp.console_preview($1, 'dead', $2::jsonb)",
                    [.bytes(secret.sha256), .text(filter)])
                let second = try connection.query(read.sql)[0].int(0)
                _ = try connection.query(
                    """
                    SELECT insp.console_begin_task($1, 'dead', 'resolve', $2::jsonb,
                        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'x', concat(pg_snapshot_xmax(pg_current_snapshot()), ':'))
                    """,
                    [.bytes(secret.sha256), .text(filter)])
                return (second - first, try connection.query(read.sql)[0].int(0) - second)
            }
            #expect(preview < 50 && begin < 50, "of 20,005 letters, \(preview) and \(begin) are read")
        }
        try await site.close()
    }

    @Test func `One person counts one selection at a time, and others count meanwhile`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 3)
        let (ann, bob) = (
            try await site.person("ann", "operator:bank"), try await site.person("bob", "operator:bank")
        )
        let counting = try await site.database.connect()
        try await counting.execute("BEGIN")
        _ = try await counting.query(
            "SELECT total FROM insp.console_preview($1, 'jobs', '{}')", [.bytes(try #require(ann.secret).sha256)])
        let refused = try await ann.get("/tasks/new?kind=dead")
        #expect(refused.status == 409 && refused.text.contains("SELECTION_BUSY"))
        #expect(try await bob.get("/tasks/new?kind=dead").text.contains("Act on 3 dead letters"))
        try await counting.execute("COMMIT")
        #expect(try await ann.get("/tasks/new?kind=dead").text.contains("Act on 3 dead letters"))
        await counting.close()
        try await site.close()
    }

    @Test func `Counts and batches that take long keep no page waiting`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 3)
        let persons = try await [
            site.person("a", "operator:bank"), site.person("b", "operator:bank"), site.person("c", "operator:bank"),
            site.person("d", "operator:bank"), site.person("e", "operator:bank"),
        ]
        try await self.begin(persons[0], ["action": "resolve", "reason": "x"])
        let holder = try await site.database.connect()
        try await holder.execute("BEGIN; LOCK TABLE insp.dead")
        let counts = persons.map { person in Task { try await person.get("/tasks/new?kind=dead").status } }
        let step = Task { try? await site.store.step() }
        let waiting = """
            pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%console_preview%'
            """
        try await waitUntil("two counts wait") { try await site.count(waiting) == 2 }
        let before = try await site.admin.query("SELECT clock_timestamp()::text")[0].string(0)
        for _ in 0..<10 { #expect(try await persons[0].get("/tasks").status == 200) }
        #expect(try await site.count("\(waiting) AND query_start < '\(before)'") == 2, "the same counts still wait")
        try await holder.execute("ROLLBACK")
        for count in counts { #expect(try await count.value(within: .hangDeadline) == 200) }
        _ = try await step.value(within: .hangDeadline)
        await holder.close()
        try await site.close()
    }

    @Test func `Ended tasks go with their record, and batches of ended tasks at once`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2)
        let browser = try await site.person("ann", "operator:bank")
        for _ in 0..<3 { try await self.begin(browser, ["action": "resolve", "reason": "old"]) }
        try await site.admin.execute(
            """
            SELECT insp.console_step(task, batch, attempt) FROM insp.console_batch_take();
            UPDATE insp.console_task SET ended_at = now() - interval '25 months' WHERE id = 1;
            UPDATE insp.console_task SET ended_at = now() - interval '23 months' WHERE id = 2;
            SELECT insp.purge()
            """)
        #expect(try await site.count("insp.console_task WHERE id = 1") == 0)
        #expect(try await site.count("insp.console_task WHERE id IN (2, 3)") == 2)
        // That of the open task alone.
        #expect(try await site.count("insp.console_batch WHERE task_id <> 3") == 0)
        #expect(try await site.count("insp.console_batch") == 1)
        try await site.close()
    }

    @Test func `The reason of a task goes with a person whose job it was done to, and stays with others`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2)
        let browser = try await site.person("ann", "operator:*")
        try await self.begin(browser, ["action": "rerun", "reason": "zqmark asked", "partner": "bank"])
        try await site.finishTasks()
        try await self.letters(site, "shop", 1)
        try await self.begin(browser, ["action": "resolve", "reason": "another one", "partner": "shop"])
        try await site.finishTasks()
        let kept = "insp.record WHERE action = 'console_task' AND words IS NOT NULL"
        #expect(try await site.count(kept) == 2)
        try await site.admin.execute(
            """
            SELECT insp.erase(j.public_id) FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id
            WHERE p.name = 'bank' AND j.rerun_of IS NULL ORDER BY j.id LIMIT 1
            """)
        #expect(try await site.count("insp.console_task WHERE reason IS NULL AND done = 2") == 1)
        #expect(try await site.count("insp.console_task WHERE reason = 'another one'") == 1)
        #expect(try await site.count("\(kept) AND words ->> 'reason' = 'another one'") == 1)
        #expect(try await site.count(kept) == 1)
        let page = try await browser.get("/tasks")
        #expect(page.text.contains("removed when a person&#39;s data was erased") && !page.text.contains("zqmark"))
        // What is missing was removed on record.
        #expect(
            try await site.count(
                """
                insp.record r WHERE r.action = 'console_task' AND r.words IS NULL AND EXISTS (SELECT FROM insp.record f
                    WHERE f.action = 'forget_words' AND f.detail -> 'words' ? encode(r.words_sha256, 'hex'))
                """) == 1)
        try await site.close()
    }

    @Test func `An erased partner's tasks are gone, and their reasons with them`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2)
        try await self.letters(site, "shop", 2)
        let browser = try await site.person("ann", "operator:bank")
        let both = try await site.person("bob", "operator:bank", "operator:shop")
        let all = try await site.person("eve", "operator:*")
        for (person, reason) in [(browser, "bank's"), (both, "both's"), (all, "everybody's")] {
            try await self.begin(person, ["action": "resolve", "reason": reason])
        }
        try await site.admin.execute("SELECT insp.erase_partner('bank')")
        #expect(try await site.count("insp.console_task") == 2)
        #expect(try await site.count("insp.console_task WHERE reason IS NULL AND cardinality(partners) = 1") == 1)
        #expect(try await site.count("insp.console_task WHERE reason = 'everybody''s'") == 1)
        #expect(try await site.count("insp.console_batch") == 2)
        #expect(try await site.count("insp.record WHERE action = 'console_task' AND words IS NOT NULL") == 1)
        // The others end.
        try await self.finish(site)
        #expect(try await site.count("insp.console_task WHERE ended_at IS NOT NULL") == 2)
        try await site.close()
    }

    @Test func `Who ends a person's sessions stops that person's tasks, and nobody else's, on record`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 4)
        let (ann, bob) = (try await site.person("ann", "operator:bank"), try await site.person("bob", "operator:bank"))
        try await self.begin(ann, ["action": "rerun", "reason": "again"])
        try await self.begin(bob, ["action": "resolve", "reason": "done"])
        let olga = try await site.person("olga", "operator:*")
        let number = try await site.admin.query("SELECT id FROM insp.console_person WHERE subject = 'ann'")[0].int(0)
        // Like every action, for a reason.
        #expect(try await olga.post("/people/\(number)/end").status == 400)
        #expect(try await ann.get("/tasks").status == 200)
        #expect(try await olga.post("/people/\(number)/end", ["reason": "zqleft"]).status == 303)
        #expect(try await ann.get("/tasks").status == 401)
        #expect(
            try await site.count("insp.console_task WHERE actor = 'console:ann' AND ended_by = 'console:olga'") == 1)
        #expect(try await site.count("insp.console_batch") == 1)
        let record = "insp.record WHERE actor = 'console:olga' AND action ="
        #expect(try await site.count("\(record) 'console_stop_task'") == 1)
        #expect(
            try await site.count(
                "\(record) 'console_end_sessions' AND words ->> 'reason' = 'zqleft' AND detail -> 'tasks' = '1'"
            ) == 1)
        try await self.finish(site)
        #expect(try await site.count("insp.job WHERE rerun_of IS NOT NULL") == 0)
        #expect(try await site.count("insp.dead WHERE resolved_at IS NOT NULL") == 4)
        try await site.close()
    }

    @Test func `A task has a button that stops it for those alone who may stop it`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2)
        try await self.letters(site, "shop", 2)
        for (name, grant) in [("ann", "operator:bank"), ("bob", "operator:shop"), ("eve", "operator:*")] {
            try await self.begin(try await site.person(name, grant), ["action": "resolve", "reason": "done"])
        }
        func stoppable(_ grants: String...) async throws -> Set<String> {
            let secret = ConsoleSecret()
            _ = try await site.admin.query(
                "SELECT insp.console_sign_in($1, 'sam', 'oidc', $2, $3, 'sam')",
                [.bytes(secret.sha256), .texts(grants), .text(ConsoleSite.issuer)])
            let text = try await Browser(port: site.server.port, secret: secret).get("/tasks").text
            return Set(text.matches(of: /Stop task ([0-9]+)/).map { String($0.1) })
        }
        #expect(try await stoppable("auditor:*", "operator:bank") == ["1"])
        #expect(try await stoppable("auditor:*") == [])
        #expect(try await stoppable("operator:bank", "operator:shop") == ["1", "2"])
        #expect(try await stoppable("operator:*") == ["1", "2", "3"])
        try await site.close()
    }

    @Test func `A filter, which stays on record, has no free words`() async throws {
        let site = try await ConsoleSite()
        let browser = try await site.person("ann", "operator:bank")
        for code in ["Jane%20Doe", "timed_out", "A%22B"] {
            #expect(try await browser.get("/tasks/new?kind=dead&code=\(code)").status == 400, "\(code)")
        }
        #expect(try await browser.get("/tasks/new?kind=dead&code=TIMED_OUT").status == 200)
        try await site.close()
    }
}
