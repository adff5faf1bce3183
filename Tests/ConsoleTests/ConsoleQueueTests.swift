import Foundation
import Postgres
import TestSupport
import Testing

@testable import Console

/// What a person finds of a small partner behind the rows of others, and which case is the next.
@Suite struct ConsoleQueueTests {
    /// Cases of a partner that have waited for a day, written as they lie, without a worker.
    private func older(_ site: ConsoleSite, _ partner: String, _ count: Int) async throws {
        try await site.admin.execute(
            """
            SET session_replication_role = replica;
            WITH fresh AS (
                INSERT INTO insp.job (id, partner_id, lane, status, created_at, expires_at, workflow, request)
                SELECT nextval('insp.job_id'), p.id, 1, 64, now(), now() + interval '14 days', 'id', '{"workflow": "id"}'
                FROM insp.partner p, generate_series(1, \(count)) WHERE p.name = '\(partner)' RETURNING id, partner_id
            ), held AS (
                INSERT INTO insp.step (job_id, status, fence, summary, body)
                SELECT f.id, 64, 1, '{"decision": {"type": "WARNING", "details": {"label": "BLURRY"}}, "labels": []}', '{}' FROM fresh f
            )
            INSERT INTO insp.review_wait (job_id, partner_id, since)
            SELECT f.id, f.partner_id, now() - interval '1 day' FROM fresh f;
            SET session_replication_role = origin
            """)
    }

    private func stamp(_ site: ConsoleSite, _ browser: Browser) async throws -> String? {
        let page = LivePage(session: try #require(browser.secret).sha256, subject: .cases)
        return try await site.store.pulse([page])[page]
    }

    @Test(arguments: [501, 5001])
    func `A small partner's case is on the first page and is the next one, behind however many of others`(count: Int)
        async throws
    {
        let site = try await ConsoleSite()
        try await self.older(site, "bank", count)
        let own = try await site.cases("shop")[0]
        let ann = try await site.person("ann", "reviewer:shop")
        for path in ["/cases", "/cases?partner=shop", "/cases?reason=BLURRY"] {
            let text = try await ann.get(path).text
            let listed = text.matches(of: /href='\/cases\/([0-9a-f-]{36})'/).map { String($0.1) }
            #expect(listed == [own] && !text.contains("rel='next'"), "\(path)")
        }
        let all = try await site.person("eve", "reviewer:*")
        #expect(try await all.get("/cases?partner=shop").text.contains("href='/cases/\(own)'"))
        // An open list learns of it as well.
        let known = try await self.stamp(site, ann)
        #expect(try await ann.post("/cases/next").headers["location"] == "/cases/\(own)")
        #expect(try await self.stamp(site, ann) != known)
        // Nobody's next case is another partner's.
        let bob = try await site.person("bob", "reviewer:shop")
        #expect(try await bob.post("/cases/next").headers["location"] == "/cases?free=none")
        let next = try await bob.post("/cases/next", ["partner": "bank"])
        #expect(next.headers["location"] == "/cases?partner=bank&free=none")
        try await site.close()
    }

    @Test func `The next free case has waited for as long as the list asks for`() async throws {
        let site = try await ConsoleSite()
        try await self.older(site, "shop", 1)
        let fresh = try await site.cases("bank")[0]
        // By partner, and of every partner.
        for (name, grant) in [("ann", "reviewer:bank"), ("eve", "reviewer:*")] {
            let person = try await site.person(name, grant)
            let none = try await person.post("/cases/next", ["partner": "bank", "minutes": "60"])
            #expect(none.headers["location"] == "/cases?partner=bank&minutes=60&free=none", "\(name)")
        }
        let eve = try await site.person("eve", "reviewer:*")
        let next = try #require(try await eve.post("/cases/next", ["minutes": "60"]).headers["location"])
        #expect(next.hasPrefix("/cases/") && next != "/cases/\(fresh)")
        #expect(try await site.count("insp.case_lease") == 1)
        let ann = try await site.person("ann", "reviewer:bank")
        let newest = try await ann.post("/cases/next", ["partner": "bank", "minutes": "0"])
        #expect(newest.headers["location"] == "/cases/\(fresh)")
        try await site.close()
    }

    @Test func `No page names another partner's case, and as a place it is unknown`() async throws {
        let site = try await ConsoleSite()
        try await self.older(site, "bank", 600)
        _ = try await site.cases("shop", count: 60)
        let ann = try await site.person("ann", "reviewer:shop")
        let own = Set(
            try await site.admin.query(
                "SELECT j.public_id::text FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE p.name = 'shop'"
            ).map { try $0.string(0) })
        var path: String? = "/cases"
        var named: Set<String> = []
        while let next = path {
            let text = try await ann.get(next).text
            named.formUnion(text.matches(of: /[0-9a-f]{8}-[0-9a-f-]{27}/).map { String($0.0) })
            path = text.firstMatch(of: /href='(\/cases\?[^']+)' rel='next'/).map {
                String($0.1).replacing("&amp;", with: "&")
            }
        }
        #expect(named == own)
        let foreign = try await site.admin.query(
            "SELECT j.public_id::text FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE p.name = 'bank' LIMIT 1"
        )[0].string(0)
        let known = try await ann.get("/cases?since=1&after=\(foreign)")
        let unknown = try await ann.get("/cases?since=1&after=\(UUID())")
        #expect(known.status == 400 && unknown.status == 400 && known.text == unknown.text)
        #expect(try await site.person("eve", "reviewer:*").get("/cases?since=1&after=\(foreign)").status == 200)
        try await site.close()
    }

    @Test func `What workers have of a small partner is listed behind however many jobs of others`() async throws {
        let site = try await ConsoleSite()
        let worker = try await site.admin.query(
            """
            WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation)
            SELECT r.worker_id FROM worker w, LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 64) r
            """)[0].int(0)
        for (partner, count) in [("bank", 2001), ("shop", 1)] {
            try await site.admin.execute(
                """
                SELECT insp.enqueue('{"partner": "\(partner)", "workflow": "id"}', front => 'x');
                SET session_replication_role = replica;
                WITH fresh AS (
                    INSERT INTO insp.job (id, partner_id, lane, status, created_at, expires_at, workflow, request)
                    SELECT nextval('insp.job_id'), p.id, 1, 1, now(), now() + interval '14 days', 'id', '{"workflow": "id"}'
                    FROM insp.partner p, generate_series(1, \(count)) WHERE p.name = '\(partner)' RETURNING id, partner_id
                )
                INSERT INTO insp.lease (job_id, fence, worker_id, claimed_at, deadline, queue, attempt, crashes)
                SELECT f.id, f.id, \(worker), clock_timestamp(), now() + interval '1 hour',
                    (SELECT q.id FROM insp.queue q WHERE q.partner_id = f.partner_id LIMIT 1), 1, 0 FROM fresh f;
                SET session_replication_role = origin
                """)
        }
        for path in ["/workers", "/workers?worker=\(worker)"] {
            let own = try await site.person("sam", "operator:shop").get(path).text
            #expect(own.contains("<td>shop</td>") && !own.contains("bank"), "\(path)")
            #expect(try await site.person("eve", "auditor:*").get(path).text.contains("<td>bank</td>"), "\(path)")
        }
        try await site.close()
    }

    @Test func `The next case is found behind all that others have or that wait for another person than this one`()
        async throws
    {
        let site = try await ConsoleSite()
        try await self.older(site, "bank", 700)
        let last = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank")
        try await site.admin.execute(
            """
            INSERT INTO insp.case_lease (job_id, actor, until)
            SELECT w.job_id, 'console:bob', now() + interval '10 minutes' FROM insp.review_wait w ORDER BY w.since, w.job_id LIMIT 700
            """)
        #expect(try await ann.post("/cases/next").headers["location"] == "/cases/\(last)")
        #expect(try await ann.post("/cases/\(last)/release").status == 303)
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        try await site.admin.execute(
            """
            DELETE FROM insp.case_lease;
            UPDATE insp.review_wait SET decided_by = 'console:ann', decision = 'PASSED', label = 'OK', decided_at = now()
            WHERE since < now() - interval '1 hour'
            """)
        #expect(try await ann.post("/cases/next").headers["location"] == "/cases/\(last)")
        let list = try await ann.get("/cases").text
        #expect(list.contains("nobody; another person must confirm"))
        // A partner that asks for one person again has them decided by anybody.
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', false)")
        #expect(try await !ann.get("/cases").text.contains("another person must confirm"))
        #expect(try await ann.post("/cases/\(last)/release").status == 303)
        let free = try #require(try await ann.post("/cases/next").headers["location"])
        #expect(free != "/cases" && free != "/cases/\(last)")
        try await site.close()
    }

    /// Rows of waiting cases that a statement reads.
    private func read(_ site: ConsoleSite, _ statement: String) async throws -> Int64 {
        func counted() async throws -> Int64 {
            try await site.admin.query(
                """
                SELECT coalesce(sum(t.seq_tup_read + t.idx_tup_fetch), 0)::bigint FROM pg_stat_xact_user_tables t
                WHERE t.schemaname = 'insp' AND t.relname = 'review_wait'
                """)[0].int(0)
        }
        try await site.admin.execute("BEGIN")
        // What an earlier transaction of the connection read may still be counted.
        let before = try await counted()
        _ = try await site.admin.query(statement)
        let rows = try await counted() - before
        try await site.admin.execute("ROLLBACK")
        return rows
    }

    @Test func `However many partners a reviewer has, a call reads few rows, and the list leads through all`()
        async throws
    {
        let site = try await ConsoleSite()
        let partners = (1...10).map { "p\($0)" }
        for partner in partners {
            _ = try await site.admin.query("SELECT insp.create_partner($1)", [.text(partner)])
            try await self.older(site, partner, 600)
        }
        try await site.admin.execute("ANALYZE insp.review_wait")
        let who = "sha256('ann')"
        _ = try await site.admin.query(
            "SELECT insp.console_sign_in(\(who), 'ann', 'oidc', $1, $2, 'ann')",
            [.texts(partners.map { "reviewer:\($0)" }), .text(ConsoleSite.issuer)])
        // 100 of each partner, and one more that says whether there are others.
        #expect(try await self.read(site, "SELECT * FROM insp.console_cases(\(who))") <= 1100)
        #expect(try await self.read(site, "SELECT insp.console_next(\(who), NULL, 'NONE')") <= 5000)
        #expect(try await self.read(site, "SELECT insp.console_next(\(who))") <= 1100)
        var seen: [String] = []
        var after = "NULL, NULL"
        while seen.count <= 6000 {
            let rows = try await site.admin.query(
                "SELECT id::text, partner, since_microseconds FROM insp.console_cases(\(who), NULL, NULL, 0, \(after), 200)"
            )
            seen += try rows.filter { try $0.optionalString(1) != nil }.map { try $0.string(0) }
            guard let last = rows.last, try last.optionalString(1) == nil else { break }
            after = "\(try last.int(2)), '\(try last.string(0))'"
        }
        #expect(seen.count == 6000 && Set(seen).count == 6000)
        try await site.close()
    }

    @Test func `What a login decided first is not the next case of the same person, and a colleague's is`() async throws
    {
        let site = try await ConsoleSite()
        let ids = try await site.cases("bank", count: 2)
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        try await site.admin.execute(
            """
            UPDATE insp.review_wait w SET decision = 'PASSED', label = 'OK', decided_at = now(),
                decided_by = CASE WHEN j.public_id = '\(ids[0])' THEN 'ann' ELSE 'console:bob' END
            FROM insp.job j WHERE j.id = w.job_id
            """)
        let ann = try await site.person("ann@example.com", "reviewer:bank", subject: "ann")
        #expect(try await ann.post("/cases/next").headers["location"] == "/cases/\(ids[1])")
        #expect(try await ann.post("/cases/\(ids[1])/release").status == 303)
        let bob = try await site.person("bob", "reviewer:bank")
        #expect(try await bob.post("/cases/next").headers["location"] == "/cases/\(ids[0])")
        try await site.close()
    }

    @Test func `A job's timeline has the newest entries, and says that older ones are left out`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let browser = try await site.person("ann", "auditor:bank")
        let short = try await browser.get("/jobs/\(id)").text
        #expect(short.contains("<td>accepted</td>") && !short.contains("Only the newest"))
        try await site.admin.execute(
            """
            INSERT INTO insp.record (chain, at, actor, action, subject)
            SELECT 'operator', now() + n * interval '1 second', 'x', 'note_' || n, '\(id)' FROM generate_series(1, 1005) n
            """)
        let page = try await browser.get("/jobs/\(id)").text
        #expect(page.contains("Only the newest 1000 entries are shown"))
        #expect(page.contains("<td>note_1005</td>") && page.contains("<td>note_6</td>"))
        #expect(!page.contains("<td>note_5</td>") && !page.contains("<td>accepted</td>"))
        try await site.close()
    }
}
