import Postgres
import TestSupport
import Testing

@testable import Console

/// What joins a selection, or changes, after its preview: a task leaves it alone.
@Suite struct SelectionEdgeTests {
    private func jobs(_ site: ConsoleSite, _ count: Int, _ members: String = "") async throws {
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"bank","workflow":"id"\(members)}', front => 'x'))
            FROM generate_series(1, \(count))
            """)
    }

    /// Begins what a page of a while ago shows, and works it off.
    private func begin(
        _ site: ConsoleSite, _ browser: Browser, _ page: Browser.Answer, _ fields: [String: String]
    ) async throws {
        #expect(try await browser.post("/tasks", fields.merging(page.edge) { $1 }).status == 303)
        try await site.finishTasks()
    }

    @Test func `A delayed job that becomes ready after the preview of waiting jobs is not cancelled`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, 3)
        try await self.jobs(site, 1, #","delaySeconds":600"#)
        let browser = try await site.person("ann", "operator:bank")
        let page = try await browser.get("/tasks/new?kind=jobs&state=waiting")
        #expect(page.text.contains("Act on 3 jobs"))
        try await site.admin.execute("UPDATE insp.delayed SET run_at = now(); SELECT insp.promote()")
        try #require(try await site.count("insp.ready") == 4)
        try await self.begin(
            site, browser, page, ["kind": "jobs", "state": "waiting", "action": "cancel", "reason": "by mistake"])
        #expect(try await site.count("insp.console_task WHERE total = 3 AND done = 3") == 1)
        #expect(try await site.count("insp.ready") == 1)
        try await site.close()
    }

    @Test func `A job that is delayed or claimed after the preview of such jobs is not cancelled`() async throws {
        let site = try await ConsoleSite()
        let browser = try await site.person("ann", "operator:bank")
        // As a failed attempt and a claim write it.
        let rows = [
            "delayed": "(run_at, job_id, queue) SELECT now() + interval '1 hour', g.job_id, g.queue FROM gone g",
            "lease": """
            (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT g.job_id, 1, 1, now() + interval '1 hour', g.queue, 0, 0 FROM gone g
            """,
        ]
        for (state, table) in [("delayed", "delayed"), ("running", "lease")] {
            let row = try #require(rows[table])
            func place() async throws {
                try await self.jobs(site, 1)
                try await site.admin.execute(
                    "WITH gone AS (DELETE FROM insp.ready RETURNING job_id, queue) INSERT INTO insp.\(table) \(row)")
            }
            try await place()
            let page = try await browser.get("/tasks/new?kind=jobs&state=\(state)")
            #expect(page.text.contains("Act on 1 job<"), "\(state)")
            try await place()
            try await self.begin(
                site, browser, page, ["kind": "jobs", "state": state, "action": "cancel", "reason": "by mistake"])
            let task = "filter = '{\"state\": \"\(state)\"}' AND total = 1 AND done = 1"
            #expect(try await site.count("insp.console_task WHERE \(task)") == 1, "\(state)")
            #expect(try await site.count("insp.\(table)") == 1, "\(state)")
        }
        try await site.close()
    }

    @Test func `An endpoint that is created, or disabled by a colleague, after the preview is left as it is`()
        async throws
    {
        let site = try await ConsoleSite()
        let own = "insp.endpoint WHERE partner_id = (SELECT id FROM insp.partner WHERE name = 'bank')"
        func create(_ path: String) async throws {
            try await site.admin.execute("SELECT insp.create_endpoint('bank', 'https://hooks.example.com/\(path)')")
        }
        for path in ["a", "b"] { try await create(path) }
        let count = try await site.count(own)
        let browser = try await site.person("ann", "operator:bank")
        var page = try await browser.get("/tasks/new?kind=endpoints")
        #expect(page.text.contains("Act on \(count) endpoints"))
        try await create("c")
        try await self.begin(site, browser, page, ["kind": "endpoints", "action": "pause", "reason": "maintenance"])
        #expect(try await site.count("\(own) AND paused") == count)
        page = try await browser.get("/tasks/new?kind=endpoints")
        let last = try await site.admin.query("SELECT max(id) FROM \(own)")[0].int(0)
        try await site.admin.execute(
            "UPDATE insp.endpoint SET enabled = false, disabled_reason = 'abuse' WHERE id = \(last)")
        try await self.begin(site, browser, page, ["kind": "endpoints", "action": "enable", "reason": "again"])
        #expect(try await site.count("\(own) AND NOT enabled") == 1)
        #expect(try await site.count("insp.console_task WHERE action = 'enable' AND total = \(count)") == 1)
        try await site.close()
    }

    @Test func `An endpoint that changes while a task is worked off is left as it is, and counted`() async throws {
        let site = try await ConsoleSite()
        let own = "insp.endpoint WHERE partner_id = (SELECT id FROM insp.partner WHERE name = 'bank')"
        try await site.admin.execute(
            """
            SELECT insp.create_endpoint('bank', 'https://hooks.example.com/a');
            UPDATE insp.endpoint SET enabled = false, disabled_reason = 'gone' WHERE id IN (SELECT id FROM \(own))
            """)
        let count = try await site.count(own)
        let browser = try await site.person("ann", "operator:bank")
        let fields = ["kind": "endpoints", "action": "enable", "reason": "again"]
        let page = try await browser.get("/tasks/new?kind=endpoints")
        #expect(try await browser.post("/tasks", fields.merging(page.edge) { $1 }).status == 303)
        try await site.admin.execute(
            "UPDATE insp.endpoint SET disabled_reason = 'abuse' WHERE id = (SELECT max(id) FROM \(own))")
        try await site.finishTasks()
        #expect(try await site.count("\(own) AND NOT enabled AND disabled_reason = 'abuse'") == 1)
        #expect(
            try await site.count(
                "insp.console_task WHERE done = \(count - 1) AND refusals = '{\"changed\": 1}' AND ended_at IS NOT NULL"
            )
                == 1)
        #expect(try await browser.get("/tasks").text.contains("1 was changed after the preview, and left alone."))
        try await site.close()
    }

    @Test func `A task that was begun goes on after its actor has signed out`() async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, 3)
        let browser = try await site.person("ann", "operator:bank")
        let page = try await browser.get("/tasks/new?kind=jobs")
        let fields = ["kind": "jobs", "action": "cancel", "reason": "by mistake"].merging(page.edge) { $1 }
        #expect(try await browser.post("/tasks", fields).status == 303)
        #expect(try await browser.post("/sign-out").status == 303)
        #expect(try await site.count("insp.console_session") == 0)
        try await site.finishTasks()
        #expect(try await site.count("insp.console_task WHERE done = 3 AND ended_at IS NOT NULL") == 1)
        try await site.close()
    }

    /// A savepoint is a subtransaction, as an exception block is; snapshots list none.
    @Test(arguments: ["", "SAVEPOINT s;"])
    func `A dead letter whose transaction had not ended at the preview is left alone`(savepoint: String) async throws {
        let site = try await ConsoleSite()
        try await self.jobs(site, 3)
        try await site.admin.execute("SELECT insp.cancel(j.public_id) FROM insp.job j")
        let letter = """
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT j.id, j.partner_id, 'TIMED_OUT', 1, 0 FROM insp.job j ORDER BY j.id
            """
        try await site.admin.execute("\(letter) LIMIT 2")
        let browser = try await site.person("ann", "operator:bank")
        let late = try await site.database.connect()
        try await late.execute("BEGIN; UPDATE insp.partner SET name = name; \(savepoint) \(letter) OFFSET 2")
        // A later one has ended, and what it wrote is counted.
        try await site.admin.execute("UPDATE insp.dead SET attempts = 2")
        let page = try await browser.get("/tasks/new?kind=dead")
        #expect(page.text.contains("Act on 2 dead letters"))
        try await late.execute("COMMIT")
        await late.close()
        try await self.begin(site, browser, page, ["kind": "dead", "action": "resolve", "reason": "known"])
        #expect(try await site.count("insp.console_task WHERE total = 2 AND done = 2") == 1)
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 1)
        try await site.close()
    }
}
