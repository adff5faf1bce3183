import Console
import Foundation
import TestSupport
import Testing

@Suite struct DeadLetterTests {
    /// Dead letters of a partner with an error code.
    private func letters(_ site: ConsoleSite, _ partner: String, _ count: Int, _ code: String) async throws {
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"\(partner)","workflow":"id"}', front => 'x')) FROM generate_series(1, \(count));
            SELECT count(insp.cancel(j.public_id)) FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id
            WHERE p.name = '\(partner)' AND j.status = 1;
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT j.id, p.id, '\(code)', 1, 0 FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id
            WHERE p.name = '\(partner)' AND j.status = 128 ON CONFLICT DO NOTHING
            """)
    }

    /// Begins what a preview shows.
    private func begin(_ browser: Browser, _ query: String, _ fields: [String: String]) async throws -> Browser.Answer {
        let preview = try await browser.get("/tasks/new?\(query)")
        return try await browser.post("/tasks", fields.merging(preview.edge) { $1 })
    }

    @Test func `A small partner's dead letters are on the first page, and no page names another partner's job`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "shop", 1, "EXPIRED")
        try await self.letters(site, "bank", 1100, "TIMED_OUT")
        let ann = try await site.person("ann", "operator:shop")
        let page = try await ann.get("/dead")
        #expect(page.text.contains("EXPIRED") && !page.text.contains("rel='next'"))
        let foreign = try await site.admin.query(
            """
            SELECT j.public_id::text FROM insp.dead d JOIN insp.job j ON j.id = d.job_id
            WHERE d.code = 'TIMED_OUT' ORDER BY d.died_at DESC, d.job_id DESC OFFSET 999 LIMIT 1
            """
        )[0].string(0)
        #expect(!page.text.contains(foreign))
        // As a place it is unknown, as a job that does not exist is.
        let known = try await ann.get("/dead?died=1&after=\(foreign)")
        let unknown = try await ann.get("/dead?died=1&after=\(UUID())")
        #expect(known.status == unknown.status && known.status >= 400)
        let all = try await site.person("eve", "operator:*")
        #expect(try await all.get("/dead?partner=shop").text.contains("EXPIRED"))
        try await site.close()
    }

    @Test func `An action on a selection is counted before, does each letter once, and says how far it is`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 1250, "TIMED_OUT")
        try await self.letters(site, "shop", 3, "EXPIRED")
        let browser = try await site.person("ann", "operator:*")
        let preview = try await browser.get("/tasks/new?kind=dead&partner=bank&code=TIMED_OUT")
        #expect(
            try await browser.get("/dead?partner=bank").text.contains("href='/tasks/new?kind=dead&amp;partner=bank'"))
        #expect(preview.text.contains("Act on 1250 dead letters") && preview.text.contains("The first 20"))
        let fields = ["partner": "bank", "code": "TIMED_OUT", "action": "rerun", "reason": "the server is back"]
        #expect(try await self.begin(browser, "partner=bank&code=TIMED_OUT", fields).status == 303)
        // What dies after the preview is left alone.
        try await self.letters(site, "bank", 5, "TIMED_OUT")
        #expect(try await site.store.step())
        let page = try await browser.get("/tasks")
        #expect(page.text.contains("1000 of 1250") && page.text.contains("the server is back"))
        // Two consoles at once.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for _ in 0..<5 { _ = try await site.store.step() } }
            }
            try await group.waitForAll()
        }
        #expect(try await browser.get("/tasks").text.contains("1250 of 1250"))
        #expect(try await site.count("insp.record WHERE action = 'rerun' AND actor = 'console:ann'") == 1250)
        #expect(
            try await site.count(
                "(SELECT rerun_of FROM insp.job WHERE rerun_of IS NOT NULL GROUP BY 1 HAVING count(*) > 1) x") == 0)
        #expect(try await site.count("insp.dead WHERE resolved_by = 'console:ann'") == 1250)
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 8)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'console_task' AND detail ->> 'reason' = 'the server is back'")
                == 1)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'console_task_end' AND detail ->> 'done' = '1250'") == 1)
        #expect(try await !site.store.step())
        #expect(try await site.count("insp.console_batch") == 0)
        try await site.close()
    }

    @Test func `A task that is stopped does no more, and letters that are refused are counted by their codes`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 1120, "EXPIRED")
        try await site.admin.execute(
            "DELETE FROM insp.part WHERE job_id IN (SELECT job_id FROM insp.dead ORDER BY job_id LIMIT 2)")
        let browser = try await site.person("ann", "operator:bank")
        let fields = ["partner": "", "code": "", "action": "rerun", "reason": "again"]
        #expect(try await self.begin(browser, "", fields).status == 303)
        #expect(try await site.store.step())
        let tasks = try await browser.get("/tasks").text
        #expect(tasks.contains("998 of 1120<br/>2 were refused: 2 with PARTS_PURGED."))
        #expect(tasks.contains("Dead letters: run the jobs again"))
        let id = try await site.admin.query("SELECT max(id) FROM insp.console_task")[0].int(0)
        #expect(try await browser.post("/tasks/\(id)/stop").status == 303)
        #expect(try await !site.store.step())
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 122)
        #expect(try await site.count("insp.console_task WHERE ended_by = 'console:ann'") == 1)
        #expect(try await site.count("insp.console_batch") == 0)
        try await site.close()
    }

    @Test func `What a console began and did not commit before it died, another one does, once`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 1010, "TIMED_OUT")
        let browser = try await site.person("ann", "operator:bank")
        let fields = ["action": "rerun", "reason": "again"]
        #expect(try await self.begin(browser, "", fields).status == 303)
        let dying = try await site.database.connect()
        try await dying.execute("BEGIN")
        _ = try await dying.query(
            "SELECT insp.console_step(task, batch, attempt) FROM insp.console_batch_take()")
        #expect(try await browser.get("/tasks").text.contains("0 of 1010"))
        let process = try await dying.query("SELECT pg_backend_pid()")[0].int(0)
        _ = try await site.admin.query("SELECT pg_terminate_backend($1, 10000)", [.int(process)])
        try await site.finishTasks()
        #expect(
            try await site.count("insp.console_task WHERE done = 1010 AND refused = 0 AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.job WHERE rerun_of IS NOT NULL") == 1010)
        #expect(try await site.count("insp.record WHERE action = 'rerun'") == 1010)
        await dying.close()
        try await site.close()
    }

    @Test func `A task waits for nobody: letters that others hold or have dealt with are counted`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 20, "TIMED_OUT")
        let browser = try await site.person("ann", "operator:bank")
        #expect(try await self.begin(browser, "", ["action": "rerun", "reason": "again"]).status == 303)
        let ids = try await site.admin.query(
            "SELECT j.public_id FROM insp.dead d JOIN insp.job j ON j.id = d.job_id ORDER BY d.job_id LIMIT 2"
        ).map { try $0.string(0) }
        _ = try await site.admin.query("SELECT insp.rerun($1)", [.text(ids[0])])
        let eraser = try await site.database.connect()
        try await eraser.execute("BEGIN; SELECT FROM insp.job WHERE public_id = '\(ids[1])' FOR UPDATE")
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                """
                insp.console_task WHERE done = 18 AND refused = 2 AND refusals = '{"already": 1, "ROW_LOCKED": 1}'
                """) == 1)
        try await eraser.execute("ROLLBACK")
        #expect(try await site.count("insp.job WHERE rerun_of = '\(ids[0])'") == 1)
        #expect(try await site.count("insp.job WHERE rerun_of = '\(ids[1])'") == 0)
        await eraser.close()
        try await site.close()
    }

    @Test func `A letter that is run again with others leaves what it leaves alone`() async throws {
        let site = try await ConsoleSite()
        let request = """
            {"partner":"bank","workflow":"id","userReference":"u","customerInternalReference":"c","lane":"bulk",
            "consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}
            """
        for _ in 0..<2 { _ = try await site.admin.query("SELECT insp.enqueue($1, front => 'x')", [.text(request)]) }
        try await site.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes) SELECT id, partner_id, 'TIMED_OUT', 1, 0 FROM insp.job;
            SELECT insp.rerun((SELECT public_id FROM insp.job ORDER BY id LIMIT 1))
            """)
        let browser = try await site.person("ann", "operator:*")
        #expect(try await self.begin(browser, "", ["action": "rerun", "reason": "again"]).status == 303)
        #expect(try await site.store.step())
        // Everything that the two calls wrote, without numbers and times.
        let written = try await site.admin.query(
            """
            SELECT jsonb_build_array(
                to_jsonb(j) - ARRAY['id', 'public_id', 'created_at', 'expires_at', 'rerun_of'],
                j.expires_at - j.created_at, j.rerun_of = o.public_id,
                (SELECT jsonb_agg(to_jsonb(p) - 'job_id' - 'content_id' ORDER BY p.kind) FROM insp.part p WHERE p.job_id = j.id),
                (SELECT p.content_id = o.id FROM insp.part p WHERE p.job_id = j.id),
                (SELECT jsonb_agg(to_jsonb(r) - 'job_id' ORDER BY r.kind) FROM insp.job_reference r WHERE r.job_id = j.id),
                (SELECT count(*) FROM insp.purge_later l WHERE l.job_id = j.id),
                (SELECT r.first_id = o.id FROM insp.rerun r WHERE r.job_id = j.id),
                (SELECT jsonb_agg(to_jsonb(r) - 'job_id' - 'seq') FROM insp.ready r WHERE r.job_id = j.id),
                (SELECT d.resolved_at IS NOT NULL FROM insp.dead d WHERE d.job_id = o.id),
                (SELECT jsonb_agg(jsonb_build_array(r.chain, r.action, r.detail = jsonb_build_object('as', j.public_id), r.words,
                    r.words_sha256)) FROM insp.record r WHERE r.subject = o.public_id::text AND r.action = 'rerun'))
            FROM insp.job o JOIN insp.job j ON j.rerun_of = o.public_id ORDER BY o.id
            """
        ).map { try $0.string(0) }
        #expect(written.count == 2 && written[0] == written[1])
        try await site.close()
    }

    @Test func `A quota of waiting jobs is filled and not exceeded, and consents are judged by the policy of today`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 90, "TIMED_OUT")
        try await self.letters(site, "shop", 10, "TIMED_OUT")
        try await site.admin.execute(
            """
            DELETE FROM insp.ready;
            SELECT insp.set_quota('bank', 37);
            SELECT insp.set_partner('shop', consent_required => true)
            """)
        let browser = try await site.person("ann", "operator:*")
        #expect(try await self.begin(browser, "", ["action": "rerun", "reason": "again"]).status == 303)
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                """
                insp.console_task WHERE done = 37 AND refused = 63
                    AND refusals = '{"WAITING_QUOTA_REACHED": 53, "CONSENT_MISSING": 10}'
                """) == 1)
        #expect(try await site.count("insp.ready") == 37)
        try await site.close()
    }

    @Test func `What cannot be done to one letter keeps no other from it`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 12, "TIMED_OUT")
        let browser = try await site.person("ann", "operator:*")
        #expect(try await self.begin(browser, "", ["action": "resolve", "reason": "old"]).status == 303)
        try await site.admin.execute(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.job_id = (SELECT min(d.job_id) FROM insp.dead d) THEN RAISE 'no' USING ERRCODE = '22000'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON insp.dead FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                "insp.console_task WHERE done = 11 AND refusals = '{\"22000\": 1}' AND ended_at IS NOT NULL") == 1)
        #expect(try await site.count("insp.record WHERE action = 'resolve_dead' AND words ->> 'note' = 'old'") == 11)
        try await site.close()
    }

    @Test func `An auditor sees dead letters and tasks, and can begin and stop none`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2, "EXPIRED")
        let browser = try await site.person("eve", "auditor:*")
        let page = try await browser.get("/dead")
        #expect(page.text.contains("EXPIRED") && !page.text.contains("/tasks/new"))
        #expect(try await browser.get("/tasks/new").status == 403)
        #expect(try await !browser.get("/tasks").text.contains("<form method='get'"))
        let fields = ["action": "resolve", "reason": "x", "before": "1", "seen": "1:"]
        #expect(try await browser.post("/tasks", fields).status == 403)
        #expect(try await site.count("insp.console_task") == 0)
        try await site.close()
    }
}
