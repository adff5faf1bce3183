import Console
import Foundation
import Postgres
import TestSupport
import Testing

/// Who sees which part of a case, and what happens to a reviewer's text.
@Suite struct ConsoleCaseTests {
    /// In every document of ``ConsoleSite/cases(_:count:)``.
    private static let field = "zqmark"

    private func type(_ decision: String) -> [String: String] {
        ["decision": decision, "label": "zqlabel", "note": "zqtyped\r\nmore"]
    }

    private func looks(_ site: ConsoleSite, _ id: String, of name: String) async throws -> Int {
        try await site.count(
            "insp.v_access WHERE job = '\(id)' AND operator = 'console:\(name)' AND action = 'case' AND purpose = 'review'"
        )
    }

    @Test func `Fields, notes and runs are for the person who has the case, and each look is recorded`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        let id = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        func page(_ browser: Browser) async throws -> String { try await browser.get("/cases/\(id)").text }
        func isClosed(_ text: String) -> Bool { !text.contains(Self.field) && !text.contains("zqnote") }

        var text = try await page(bob)
        #expect(isClosed(text) && text.contains("Proposed: WARNING, BLURRY.") && text.contains("Waiting for"))
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        #expect(try await page(ann).contains(Self.field))
        text = try await page(bob)
        #expect(isClosed(text) && text.contains("ann has this case."))
        let first = ["decision": "REJECTED", "label": "FAKE", "note": "zqnote"]
        #expect(try await ann.post("/cases/\(id)/decide", first).status == 303)
        // Until somebody takes it, and then to that person alone.
        for browser in [ann, bob] { #expect(isClosed(try await page(browser))) }
        #expect(try await bob.post("/cases/\(id)/take").status == 303)
        text = try await page(bob)
        #expect(text.contains(Self.field) && text.contains("zqnote"))
        #expect(isClosed(try await page(ann)))
        #expect(try await bob.post("/cases/\(id)/decide", ["confirm": "REJECTED FAKE"]).status == 303)
        for browser in [ann, bob] {
            text = try await page(browser)
            #expect(isClosed(text) && text.contains("This case is decided: REJECTED, FAKE, by bob"))
            #expect(text.contains("This confirmed the decision of ann.") && text.contains("action='/cases/next'"))
        }
        #expect(try await self.looks(site, id, of: "ann") == 4)
        #expect(try await self.looks(site, id, of: "bob") == 5)
        try await site.close()
    }

    @Test func `The database gives what is stored of a case to the person who has it alone`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        for name in ["ann", "bob"] {
            _ = try await site.admin.query(
                "SELECT insp.console_sign_in(sha256($1::text::bytea), $1, 'oidc', '{reviewer:bank}', $2, $1)",
                [.text(name), .text(ConsoleSite.issuer)])
        }
        func read(_ name: String) async throws -> String? {
            do {
                _ = try await site.admin.query(
                    "SELECT * FROM insp.console_case(sha256($1::text::bytea), $2)", [.text(name), .text(id)])
                return nil
            } catch let error as PostgresError {
                return error.sqlState
            }
        }
        #expect(try await read("ann") == "IN192")
        _ = try await site.admin.query("SELECT insp.console_take(sha256('ann'), $1)", [.text(id)])
        #expect(try await read("ann") == nil)
        #expect(try await read("bob") == "IN192")
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() - interval '1 s'")
        #expect(try await read("ann") == "IN192")
        _ = try await site.admin.query(
            "SELECT insp.console_decide(sha256('ann'), $1, 'PASSED', NULL, NULL)", [.text(id)])
        #expect(try await read("ann") == "IN032")
        #expect(try await self.looks(site, id, of: "ann") == 1)
        try await site.close()
    }

    @Test func `A decision typed for longer than the lease is recorded if nobody took the case since`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank")
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() - interval '1 s'")
        #expect(try await ann.post("/cases/\(id)/decide", self.type("PASSED")).status == 303)
        #expect(
            try await site.count("insp.record WHERE action = 'review' AND words ->> 'note' = E'zqtyped\\nmore'") == 1)
        #expect(try await site.count("insp.record WHERE action = 'console_take' AND actor = 'console:ann'") == 2)
        #expect(try await site.count("insp.case_lease") == 0)
        try await site.close()
    }

    @Test func `What cannot be recorded is shown again with what was typed, why, and a way to go on`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        func keeps(_ answer: Browser.Answer, _ status: Int, _ why: String) -> Bool {
            answer.status == status && answer.text.contains(why) && answer.text.contains(">zqtyped\nmore</textarea>")
                && answer.text.contains("value='zqlabel'")
        }
        // Never taken.
        var answer = try await ann.post("/cases/\(id)/decide", self.type("PASSED"))
        #expect(keeps(answer, 409, "You have not taken the case. Take it, look at it, and then record the decision."))
        #expect(answer.text.contains("Your decision is not recorded.") && !answer.text.contains("zqmark"))
        // Somebody else's by now.
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() - interval '1 s'")
        #expect(try await bob.post("/cases/\(id)/take").status == 303)
        answer = try await ann.post("/cases/\(id)/decide", self.type("PASSED"))
        #expect(keeps(answer, 409, "bob has the case now.") && !answer.text.contains("zqmark"))
        // The button of that page keeps it too, as long as need be.
        answer = try await ann.post("/cases/\(id)/take", self.type("PASSED"))
        #expect(keeps(answer, 409, "bob has the case now."))
        #expect(try await bob.post("/cases/\(id)/release").status == 303)
        answer = try await ann.post("/cases/\(id)/take", self.type("PASSED"))
        #expect(
            keeps(answer, 200, "Nothing is recorded yet") && answer.text.contains("accesskey='p' checked='checked'"))
        #expect(answer.text.contains("zqmark"))
        // A label that is not allowed, while the case is one's own.
        var wrong = self.type("REJECTED")
        wrong["label"] = "zqlabel-"
        answer = try await ann.post("/cases/\(id)/decide", wrong)
        #expect(
            answer.status == 400 && answer.text.contains("value='zqlabel-'") && answer.text.contains("zqtyped\nmore"))
        #expect(answer.text.contains("REVIEW_INVALID"))
        // Decided by somebody else.
        _ = try await site.admin.query("SELECT insp.review($1, 'WARNING')", [.text(id)])
        answer = try await ann.post("/cases/\(id)/decide", self.type("PASSED"))
        #expect(keeps(answer, 409, "The case was decided in the meantime.") && !answer.text.contains("zqmark"))
        #expect(answer.text.contains("This case is decided: WARNING, WARNING"))
        try await site.close()
    }

    @Test func `A second person confirms with one button, beside the form in which to decide otherwise`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        let (one, other) = (try await site.cases("bank")[0], try await site.cases("bank")[0])
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        for id in [one, other] {
            #expect(try await ann.post("/cases/\(id)/take").status == 303)
            #expect(try await !ann.get("/cases/\(id)").text.contains("Confirm:"))
            let first = ["decision": "REJECTED", "label": "MANIPULATED_DOCUMENT"]
            #expect(try await ann.post("/cases/\(id)/decide", first).status == 303)
            #expect(try await bob.post("/cases/\(id)/take").status == 303)
            let page = try await bob.get("/cases/\(id)").text
            #expect(page.contains("Confirm: REJECTED, MANIPULATED_DOCUMENT</button>"))
            // Enter in a field presses the first button.
            let decide = try #require(page.range(of: "Decide otherwise</button>"))
            #expect(try #require(page.range(of: "name='confirm'")).lowerBound > decide.lowerBound)
        }
        // As the browser sends it: the button, and fields that are empty.
        let fields = ["confirm": "REJECTED MANIPULATED_DOCUMENT", "label": "", "note": "zqsecond"]
        #expect(try await bob.post("/cases/\(one)/decide", fields).status == 303)
        #expect(
            try await site.admin.query("SELECT insp.job_result($1) #>> '{review,label}'", [.text(one)])[0].string(0)
                == "MANIPULATED_DOCUMENT")
        #expect(try await site.count("insp.record WHERE action = 'review' AND words ->> 'note' = 'zqsecond'") == 1)
        #expect(try await bob.post("/cases/\(other)/decide", ["decision": "PASSED"]).status == 303)
        #expect(try await ann.get("/cases/\(other)").text.contains("bob decided PASSED with the label OK."))
        try await site.close()
    }

    @Test func `After a decision the page says what was decided, and offers the next case`() async throws {
        let site = try await ConsoleSite()
        let ids = Set(try await site.cases("bank", count: 2))
        let ann = try await site.person("ann", "reviewer:bank")
        let first = try #require(try await ann.post("/cases/next").headers["location"])
        let done = try await ann.post("\(first)/decide", ["decision": "PASSED"])
        #expect(done.status == 303 && done.headers["location"] == first)
        let page = try await ann.get(first).text
        #expect(page.contains("This case is decided: PASSED, OK, by ann"))
        #expect(page.contains("action='/cases/next'") && page.contains("Take the next free case"))
        let second = try #require(try await ann.post("/cases/next").headers["location"])
        #expect(Set([first, second]) == Set(ids.map { "/cases/\($0)" }))
        // A cancellation is no review.
        _ = try await site.admin.query("SELECT insp.cancel($1)", [.text(String(second.dropFirst(7)))])
        #expect(try await ann.get(second).text.contains("This case ended without a review."))
        try await site.close()
    }

    @Test func `A person who is signed in without any role learns that, and whom to ask`() async throws {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank")
        // A person with one learns which role another page needs.
        let other = try await ann.get("/queue")
        #expect(other.status == 403 && other.text.contains("This needs another role (auditor or operator)."))
        try await site.admin.execute("DELETE FROM insp.console_grant")
        for path in ["/", "/cases", "/queue"] {
            let answer = try await ann.get(path)
            #expect(answer.status == 403 && answer.text.contains("have no role in this console"), "\(path)")
            #expect(answer.text.contains("Ask the people who manage your organisation"), "\(path)")
        }
        try await site.close()
    }
}
