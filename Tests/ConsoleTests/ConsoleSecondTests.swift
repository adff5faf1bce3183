import Console
import Foundation
import Postgres
import TestSupport
import Testing

/// Two people who decide one case.
@Suite struct ConsoleSecondTests {
    private func site() async throws -> ConsoleSite {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        _ = try await site.admin.query(
            "SELECT insp.set_endpoint(e.id, '{\"url\": \"https://bank.example/hook\"}') FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'bank'"
        )
        return site
    }

    private func status(_ site: ConsoleSite, _ id: String) async throws -> Int64 {
        try await site.admin.query("SELECT status FROM insp.job WHERE public_id = $1", [.text(id)])[0].int(0)
    }

    @Test func `Where the partner demands two persons, the second one's confirmation finishes the job`() async throws {
        let site = try await self.site()
        let id = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        let first = try await ann.post(
            "/cases/\(id)/decide", ["decision": "REJECTED", "label": "fake", "note": "zqone"])
        #expect(first.status == 303 && first.headers["location"] == "/cases/\(id)")
        #expect(try await self.status(site, id) == 64)
        #expect(try await site.count("insp.event WHERE kind = 'finished'") == 0)
        #expect(try await site.count("insp.callback WHERE event = 'job.finished'") == 0)
        #expect(try await ann.get("/cases/\(id)").text.contains("Another person must confirm that."))

        // Neither by taking it again nor by deciding it does the same person confirm.
        let again = try await ann.post("/cases/\(id)/take")
        #expect(again.status == 409 && again.text.contains("CASE_TAKEN"))
        // Nor under another name, which providers let people take.
        for name in ["Ann", "eve", "bob"] {
            let renamed = try await site.person(name, "reviewer:bank", subject: "ann")
            #expect(try await renamed.post("/cases/\(id)/take").text.contains("CASE_TAKEN"), "\(name)")
        }
        #expect(try await ann.post("/cases/next").headers["location"] == "/cases?free=none")
        #expect(try await ann.post("/cases/\(id)/decide", ["decision": "REJECTED", "label": "fake"]).status == 409)
        #expect(try await bob.get("/cases").text.contains("first decided by ann"))

        #expect(try await bob.post("/cases/next").headers["location"] == "/cases/\(id)")
        let page = try await bob.get("/cases/\(id)").text
        #expect(page.contains("ann decided REJECTED with the label FAKE.") && page.contains("zqone"))
        let second = try await bob.post(
            "/cases/\(id)/decide", ["decision": "REJECTED", "label": "FAKE", "note": "zqtwo"])
        #expect(second.status == 303 && second.headers["location"] == "/cases/\(id)")
        #expect(try await self.status(site, id) == 128)
        #expect(try await site.count("insp.callback WHERE event = 'job.finished'") == 1)
        #expect(try await site.count("insp.review_wait") == 0)
        let recorded = try await site.admin.query(
            """
            SELECT actor, action, detail ->> 'confirms', words ->> 'note' FROM insp.record
            WHERE subject = $1 AND action IN ('review_first', 'review') ORDER BY id
            """, [.text(id)])
        #expect(try recorded.map { try $0.string(0) } == ["console:ann", "console:bob"])
        #expect(try recorded.map { try $0.string(1) } == ["review_first", "review"])
        #expect(try recorded.map { try $0.optionalString(2) } == [nil, "console:ann"])
        #expect(try recorded.map { try $0.string(3) } == ["zqone", "zqtwo"])
        try await site.close()
    }

    @Test func `After a change of the issuer, and with a link, nobody confirms their own decision`() async throws {
        let site = try await self.site()
        let id = try await site.cases("bank")[0]
        let eve = try await site.person("eve", "reviewer:bank", subject: "1")
        #expect(try await eve.post("/cases/\(id)/take").status == 303)
        #expect(try await eve.post("/cases/\(id)/decide", ["decision": "PASSED"]).status == 303)
        var others = [
            try await site.person("eve", "reviewer:bank", subject: "7", issuer: "https://new.example"),
            try await site.person("Eve@bank.example", "reviewer:bank", subject: "8", issuer: "https://newer.example"),
        ]
        let link = ConsoleSecret()
        _ = try await site.admin.query(
            "SELECT insp.console_sign_in($1, 'eve', 'link', '{reviewer:bank}')", [.bytes(link.sha256)])
        others.append(Browser(port: site.server.port, secret: link))
        for other in others {
            let refused = try await other.post("/cases/\(id)/take")
            #expect(refused.status == 409 && refused.text.contains("CASE_TAKEN"))
            #expect(try await other.post("/cases/next").headers["location"] == "/cases?free=none")
        }
        #expect(try await site.count("insp.console_person WHERE actor ~* '^console:eve'") == 4)
        // A namesake whom the same issuer tells apart is another person.
        let namesake = try await site.person("eve", "reviewer:bank", subject: "2")
        #expect(try await namesake.post("/cases/\(id)/take").status == 303)
        #expect(try await namesake.post("/cases/\(id)/decide", ["decision": "PASSED"]).status == 303)
        #expect(try await self.status(site, id) == 128)
        try await site.close()
    }

    @Test func `Cases that a person decided under another issuer do not hide the next free one`() async throws {
        let site = try await self.site()
        // A worker here claims 64 at once.
        let ids = try await site.cases("bank", count: 51) + site.cases("bank", count: 51)
        for issuer in ["https://old.example", "https://new.example"] {
            _ = try await site.person("eve", "reviewer:bank", issuer: issuer)
        }
        // As many as one call reads.
        try await site.admin.execute(
            """
            UPDATE insp.review_wait w SET (decided_by, decision, label, decided_at) = ('console:eve', 'PASSED', 'CLEAR', now())
            FROM insp.job j WHERE j.id = w.job_id AND j.public_id <> '\(ids[101])';
            UPDATE insp.review_wait w SET since = since + interval '1 s'
            FROM insp.job j WHERE j.id = w.job_id AND j.public_id = '\(ids[101])'
            """)
        let eve = try await site.person("eve", "reviewer:bank", issuer: "https://new.example")
        #expect(try await eve.post("/cases/next").headers["location"] == "/cases/\(ids[101])")
        try await site.close()
    }

    @Test func `Who decides otherwise is the first one in turn`() async throws {
        let site = try await self.site()
        let id = try await site.cases("bank")[0]
        for (name, decision) in [("ann", "PASSED"), ("bob", "REJECTED"), ("ann", "WARNING"), ("cat", "WARNING")] {
            let browser = try await site.person(name, "reviewer:bank")
            #expect(try await self.status(site, id) == 64)
            #expect(try await browser.post("/cases/\(id)/take").status == 303, "\(name)")
            #expect(try await browser.post("/cases/\(id)/decide", ["decision": decision]).status == 303, "\(name)")
        }
        #expect(try await self.status(site, id) == 128)
        let review = try await site.admin.query("SELECT insp.job_result($1) #>> '{review,decision}'", [.text(id)])
        #expect(try review[0].string(0) == "WARNING")
        #expect(try await site.count("insp.record WHERE action = 'review_first' AND detail ? 'contradicts'") == 2)
        try await site.close()
    }

    @Test func `Of two persons who decide alike at once, one is the first and one confirms`() async throws {
        let site = try await self.site()
        for id in try await site.cases("bank", count: 4) {
            let database = site.database
            let done = try await withThrowingTaskGroup(of: String.self) { group in
                for name in ["ann", "bob"] {
                    group.addTask {
                        let login = try await database.connect()
                        defer { Task { await login.close() } }
                        try await login.execute("BEGIN")
                        _ = try await login.query("SELECT insp.console_begin($1)", [.text("console:\(name)")])
                        let entry = try await login.query("SELECT insp.review($1, 'PASSED')::text", [.text(id)])[0]
                            .string(0)
                        try await login.execute("COMMIT")
                        return entry
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(done.count { $0.contains("isConfirmed") } == 1)
            #expect(try await self.status(site, id) == 128)
        }
        try await site.close()
    }

    @Test func `One login alone confirms nothing in psql either, and another partner's cases need one person`()
        async throws
    {
        let site = try await self.site()
        let id = try await site.cases("bank")[0]
        let review = "SELECT insp.review($1, 'PASSED')"
        _ = try await site.admin.query(review, [.text(id)])
        let refused = await #expect(throws: PostgresError.self) { try await site.admin.query(review, [.text(id)]) }
        #expect(refused?.sqlState == "IN192")
        let login = try await site.admin.query("SELECT session_user::text", [])[0].string(0)
        let same = try await site.person("\(login)@bank.example", "reviewer:bank")
        #expect(try await same.post("/cases/\(id)/take").text.contains("CASE_TAKEN"))
        #expect(try await self.status(site, id) == 64)
        let explained = try await site.admin.query("SELECT explanation FROM insp.explain_job($1)", [.text(id)])
        #expect(try explained.contains { try $0.string(0).contains("a second person must confirm that") })
        // A cancellation leaves nothing behind.
        _ = try await site.admin.query("SELECT insp.cancel($1)", [.text(id)])
        #expect(try await site.count("insp.review_wait") == 0)

        let other = try await site.cases("shop")[0]
        _ = try await site.admin.query(review, [.text(other)])
        #expect(try await self.status(site, other) == 128)
        try await site.close()
    }

    @Test
    func `The setting is a version of the partner's policy, and is switched off by two logins where that is asked for`()
        async throws
    {
        let site = try await self.site()
        let policies = "insp.v_partner_policy WHERE partner = 'bank' AND policy @> '{\"second_review\": true}'"
        #expect(try await site.count(policies) == 1)
        _ = try await site.admin.query("SELECT insp.set_approval('set_second_review', true)")
        _ = try await site.admin.query("SELECT insp.set_second_review('shop', true)")
        let refused = await #expect(throws: PostgresError.self) {
            try await site.admin.query("SELECT insp.set_second_review('bank', false)")
        }
        #expect(refused?.sqlState == "IN157")
        #expect(try await site.count("insp.partner WHERE second_review") == 2)
        try await site.close()
    }
}
