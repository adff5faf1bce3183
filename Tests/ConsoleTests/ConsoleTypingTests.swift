import Console
import Foundation
import TestSupport
import Testing

/// What happens to a session while somebody types, and to the text once it has ended.
@Suite struct ConsoleTypingTests {
    private let typed = ["decision": "PASSED", "label": "zqlabel", "note": "zqtyped\r\n<b>more"]

    private func age(_ site: ConsoleSite, minutes: Int) async throws {
        try await site.admin.execute(
            "UPDATE insp.console_session SET seen_at = now() - interval '\(minutes) minutes'")
    }

    @Test func `What was typed when the session has ended is shown, and the sign-in leads back to the case`()
        async throws
    {
        let link = SignInLink(name: "local", grants: ["reviewer:bank"])
        let site = try await ConsoleSite(link: link)
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank")
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        try await self.age(site, minutes: 31)
        for action in ["decide", "take"] {
            let answer = try await ann.post("/cases/\(id)/\(action)", self.typed)
            #expect(answer.status == 401 && answer.text.contains("Your session has ended"), "\(action)")
            #expect(answer.text.contains(">zqtyped\n&lt;b&gt;more</textarea>"), "\(action)")
            #expect(answer.text.contains("Decision: PASSED"), "\(action)")
            #expect(answer.text.contains("value='zqlabel' readonly='readonly'"), "\(action)")
            // Of the case itself there is nothing.
            #expect(!answer.text.contains("zqmark") && !answer.text.contains("BLURRY"))
            #expect(try #require(answer.cookie("inspectd-case")).hasPrefix("inspectd-case=\(id); Path=/; HttpOnly"))
        }
        #expect(try await site.count("insp.record WHERE action = 'review'") == 0)
        // Nobody else makes the console show anything.
        let foreign = try await ann.post("/cases/\(id)/decide", self.typed, token: ConsoleSecret().formToken)
        #expect(foreign.status == 401 && !foreign.text.contains("zqtyped"))
        let evil = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
        #expect(try await ann.post("/cases/\(id)/decide", self.typed, headers: evil).status == 403)
        let long = [
            "Origin": site.origin, "Content-Type": "application/x-www-form-urlencoded", "Content-Length": "2000000",
        ]
        #expect(try await ann.send("POST", "/cases/\(id)/decide", nil, long).status == 413)

        let token = try #require(link.path.components(separatedBy: "token=").last)
        // The next person who signs in here has nothing to do with the case.
        let bea = try await site.person("bea", "reviewer:bank")
        #expect(try #require(try await bea.post("/sign-out").cookie("inspectd-case")).contains("Max-Age=0"))
        let back = try await Browser(port: site.server.port).post(
            "/sign-in/link", ["token": token], headers: ["Cookie": "inspectd-case=\(id)"])
        #expect(back.status == 200 && back.text.contains("href='/cases/\(id)' data-go='go'"))
        #expect(try #require(back.cookie("inspectd-case")).contains("Max-Age=0"))
        try await site.close()
    }

    @Test func `A form of an earlier session is refused with what was typed, one of another site without`()
        async throws
    {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let old = try await site.person("ann", "reviewer:bank")
        let ann = try await site.person("ann", "reviewer:bank")
        let token = try #require(old.secret).formToken
        let answer = try await ann.post("/cases/\(id)/decide", self.typed, token: token)
        #expect(answer.status == 403 && answer.text.contains(">zqtyped\n&lt;b&gt;more</textarea>"))
        let evil = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
        let foreign = try await ann.post("/cases/\(id)/decide", self.typed, token: token, headers: evil)
        #expect(foreign.status == 403 && !foreign.text.contains("zqtyped"))
        try await site.close()
    }

    @Test(arguments: ["//evil.example", "x", ""])
    func `A sign-in leads to a case of this console or to its start page`(_ way: String) async throws {
        let link = SignInLink(name: "local", grants: ["reviewer:bank"])
        let site = try await ConsoleSite(link: link)
        let token = try #require(link.path.components(separatedBy: "token=").last)
        let answer = try await Browser(port: site.server.port).post(
            "/sign-in/link", ["token": token], headers: ["Cookie": "inspectd-case=\(way)"])
        #expect(answer.status == 200 && answer.text.contains("href='/' data-go='go'"))
        try await site.close()
    }

    @Test func `A sign-in without the role reviewer leads to no case`() async throws {
        let link = SignInLink(name: "local", grants: ["auditor:bank"])
        let site = try await ConsoleSite(link: link)
        let token = try #require(link.path.components(separatedBy: "token=").last)
        let answer = try await Browser(port: site.server.port).post(
            "/sign-in/link", ["token": token], headers: ["Cookie": "inspectd-case=\(UUID().uuidString)"])
        #expect(answer.status == 200 && answer.text.contains("href='/' data-go='go'"))
        try await site.close()
    }

    @Test func `What was typed is shown whatever keeps it from being recorded, on forms of own pages`() async throws {
        let site = try await ConsoleSite()
        let ids = try await site.cases("bank", count: 2)
        let (id, purged) = (ids[0], ids[1])
        let ann = try await site.person("ann", "reviewer:bank")
        func expect(_ status: Int, _ code: String, _ answer: Browser.Answer) {
            #expect(answer.status == status && answer.text.contains(code), "\(code)")
            #expect(answer.text.contains(">zqtyped\n&lt;b&gt;more</textarea>"), "\(code)")
        }
        // Without a cookie, as after the browser was closed.
        let nobody = Browser(port: site.server.port)
        expect(401, "Your session has ended", try await nobody.post("/cases/\(id)/decide", self.typed))
        let evil = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
        #expect(try await !nobody.post("/cases/\(id)/decide", self.typed, headers: evil).text.contains("zqtyped"))
        let auditor = try await site.person("eve", "auditor:bank")
        expect(403, "SCOPE_MISSING", try await auditor.post("/cases/\(id)/decide", self.typed))
        let unknown = UUID().uuidString.lowercased()
        expect(404, "JOB_UNKNOWN", try await ann.post("/cases/\(unknown)/decide", self.typed))
        // The case's page, which would say that somebody else has it, cannot be shown any more.
        #expect(try await ann.post("/cases/\(purged)/take").status == 303)
        try await site.admin.execute(
            """
            UPDATE insp.case_lease SET actor = 'console:bob';
            UPDATE insp.step s SET summary = summary - 'decision' FROM insp.job j
            WHERE j.id = s.job_id AND s.status = 64 AND j.public_id = '\(purged)'
            """)
        expect(409, "RESULT_PURGED", try await ann.post("/cases/\(purged)/decide", self.typed))
        try await site.admin.execute("ALTER FUNCTION insp.console_session_of(bytea, boolean) RENAME TO zqgone")
        expect(500, "INTERNAL_ERROR", try await ann.post("/cases/\(id)/decide", self.typed))
        #expect(try await site.count("insp.record WHERE action = 'review'") == 0)
        try await site.close()
    }

    @Test func `Typing keeps a case of one's own, and takes none`() async throws {
        let site = try await ConsoleSite()
        let ids = try await site.cases("bank", count: 2)
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        let auditor = try await site.person("eve", "auditor:bank")
        #expect(try await ann.post("/cases/\(ids[0])/take").status == 303)
        let kept = "insp.case_lease WHERE actor = 'console:ann' AND until > now() + interval '14 minutes'"
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() + interval '1 minute'")
        for other in [bob, auditor] {
            #expect(try await other.post("/session/keep", ["case": ids[0]]).status == 204)
        }
        #expect(try await site.count(kept) == 0)
        for id in [ids[0], ids[1], "", "x"] {
            #expect(try await ann.post("/session/keep", ["case": id]).status == 204, "\(id)")
        }
        #expect(try await site.count(kept) == 1)
        #expect(try await site.count("insp.case_lease") == 1)
        // Once it has ended, it must be taken again.
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() - interval '1 s'")
        #expect(try await ann.post("/session/keep", ["case": ids[0]]).status == 204)
        #expect(try await site.count(kept) == 0)
        try await site.close()
    }

    @Test func `Typing keeps the session alive, within its ten hours and on the console's own pages alone`()
        async throws
    {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank")
        let fresh = "insp.console_session WHERE seen_at > now() - interval '19 minutes'"
        try await self.age(site, minutes: 20)
        let evil = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
        #expect(try await ann.post("/session/keep", headers: evil).status == 403)
        #expect(try await ann.get("/session/keep").status == 405)
        #expect(try await site.count(fresh) == 0)
        #expect(try await ann.post("/session/keep", token: "x").status == 403)
        try await self.age(site, minutes: 20)
        #expect(try await ann.post("/session/keep").status == 204)
        #expect(try await site.count(fresh) == 1)
        try await self.age(site, minutes: 31)
        #expect(try await ann.post("/session/keep").status == 401)
        try await self.age(site, minutes: 0)
        try await site.admin.execute("UPDATE insp.console_session SET expires_at = now()")
        #expect(try await ann.post("/session/keep").status == 401)
        try await site.close()
    }
}
