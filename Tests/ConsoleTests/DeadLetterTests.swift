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
            INSERT INTO insp.dead (job_id, code, attempts, crashes)
            SELECT j.id, '\(code)', 1, 0 FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id
            WHERE p.name = '\(partner)' AND j.status = 128 ON CONFLICT DO NOTHING
            """)
    }

    private func begin(_ browser: Browser, _ query: String, _ fields: [String: String]) async throws -> Browser.Answer {
        let preview = try await browser.get("/dead/preview?\(query)")
        let before = try #require(preview.text.firstMatch(of: /name='before' value='([0-9]+)'/)?.1)
        return try await browser.post("/tasks", fields.merging(["before": String(before)]) { $1 })
    }

    @Test func `An action on a selection is counted before, does each letter once, and says how far it is`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 250, "TIMED_OUT")
        try await self.letters(site, "shop", 3, "EXPIRED")
        let browser = try await site.person("ann", "operator:*")
        let preview = try await browser.get("/dead/preview?partner=bank&code=TIMED_OUT")
        #expect(preview.text.contains("Act on 250 dead letters"))
        let fields = ["partner": "bank", "code": "TIMED_OUT", "action": "rerun", "reason": "the server is back"]
        #expect(try await self.begin(browser, "partner=bank&code=TIMED_OUT", fields).status == 303)
        // What dies after the preview is left alone.
        try await self.letters(site, "bank", 5, "TIMED_OUT")
        #expect(try await site.store.step())
        let page = try await browser.get("/tasks")
        #expect(page.text.contains("100 of 250") && page.text.contains("the server is back"))
        // Two consoles at once.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for _ in 0..<20 { _ = try await site.store.step() } }
            }
            try await group.waitForAll()
        }
        #expect(try await browser.get("/tasks").text.contains("250 of 250"))
        #expect(try await site.count("insp.record WHERE action = 'rerun' AND actor = 'console:ann'") == 250)
        #expect(
            try await site.count(
                "(SELECT rerun_of FROM insp.job WHERE rerun_of IS NOT NULL GROUP BY 1 HAVING count(*) > 1) x") == 0)
        #expect(try await site.count("insp.dead WHERE resolved_by = 'console:ann'") == 250)
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 8)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'console_task' AND detail ->> 'reason' = 'the server is back'")
                == 1)
        #expect(try await !site.store.step())
        try await site.close()
    }

    @Test func `A task that is stopped does no more, and letters that are refused are counted`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 120, "EXPIRED")
        try await site.admin.execute(
            "DELETE FROM insp.part WHERE job_id IN (SELECT job_id FROM insp.dead ORDER BY job_id LIMIT 2)")
        let browser = try await site.person("ann", "operator:bank")
        let fields = ["partner": "", "code": "", "action": "rerun", "reason": "again"]
        #expect(try await self.begin(browser, "", fields).status == 303)
        #expect(try await site.store.step())
        #expect(try await browser.get("/tasks").text.contains("98 of 120, 2 refused"))
        let id = try await site.admin.query("SELECT max(id) FROM insp.console_task")[0].int(0)
        #expect(try await browser.post("/tasks/\(id)/stop").status == 303)
        #expect(try await !site.store.step())
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 22)
        #expect(try await site.count("insp.console_task WHERE ended_by = 'console:ann'") == 1)
        try await site.close()
    }

    @Test func `An auditor sees dead letters and tasks, and can begin and stop none`() async throws {
        let site = try await ConsoleSite()
        try await self.letters(site, "bank", 2, "EXPIRED")
        let browser = try await site.person("eve", "auditor:*")
        let page = try await browser.get("/dead")
        #expect(page.text.contains("EXPIRED") && !page.text.contains("/dead/preview"))
        #expect(try await browser.get("/dead/preview").status == 403)
        let fields = ["action": "resolve", "reason": "x", "before": "9000000000000000"]
        #expect(try await browser.post("/tasks", fields).status == 403)
        #expect(try await site.count("insp.console_task") == 0)
        try await site.close()
    }
}
