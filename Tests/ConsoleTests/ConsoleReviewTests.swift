import Console
import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct ConsoleReviewTests {
    @Test func `Of two reviewers who take a case at once, one gets it, and only that one decides`() async throws {
        let site = try await ConsoleSite()
        let people = [
            try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:*"),
            try await site.person("cat", "reviewer:bank"), try await site.person("dan", "reviewer:*"),
        ]
        for id in try await site.cases("bank", count: 5) {
            let answers = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                for (place, browser) in people.enumerated() {
                    group.addTask { (place, try await browser.post("/cases/\(id)/take").status) }
                }
                return try await group.reduce(into: [Int: Int]()) { $0[$1.0] = $1.1 }
            }
            #expect(answers.values.sorted() == [303, 409, 409, 409])
            let holder = try #require(answers.first { $0.value == 303 }?.key)
            for (place, browser) in people.enumerated() where place != holder {
                let refused = try await browser.post("/cases/\(id)/decide", ["decision": "PASSED"])
                #expect(refused.status == 409 && refused.text.contains("CASE_TAKEN"))
                #expect(try await !browser.get("/cases/\(id)").text.contains("name='decision'"))
            }
            let page = try await people[holder].get("/cases/\(id)")
            #expect(page.status == 200 && page.text.contains("name='decision'"))
            let done = try await people[holder].post(
                "/cases/\(id)/decide", ["decision": "REJECTED", "label": "manipulated_document", "note": "zqmark"])
            #expect(done.status == 303)
            let review = try await site.admin.query("SELECT insp.job_result($1) -> 'review'", [.text(id)])[0].string(0)
            #expect(review.contains("MANIPULATED_DOCUMENT"))
            #expect(try await people[holder].post("/cases/\(id)/decide", ["decision": "PASSED"]).status == 409)
        }
        #expect(try await site.count("insp.case_lease") == 0)
        // The record names the person, not the console's login.
        #expect(
            try await site.count("insp.record WHERE action = 'review' AND actor ~ '^console:(ann|bob|cat|dan)$'") == 5)
        #expect(try await site.count("insp.record WHERE actor = '\(site.login)'") == 0)
        #expect(try await site.count("insp.console_act") == 0)
        try await site.close()
    }

    @Test func `A lease that is over, given back or left behind at the sign-out frees the case`() async throws {
        let site = try await ConsoleSite()
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        let id = try await site.cases("bank")[0]
        func take(_ browser: Browser) async throws -> Int { try await browser.post("/cases/\(id)/take").status }
        #expect(try await take(ann) == 303)
        #expect(try await take(bob) == 409)
        try await site.admin.execute("UPDATE insp.case_lease SET until = now() - interval '1 s'")
        #expect(try await take(bob) == 303)
        #expect(try await ann.post("/cases/\(id)/decide", ["decision": "PASSED"]).status == 409)
        #expect(try await ann.post("/cases/\(id)/release").status == 303)
        #expect(try await take(ann) == 409)
        #expect(try await bob.post("/cases/\(id)/release").status == 303)
        #expect(try await take(ann) == 303)
        #expect(try await ann.post("/sign-out").status == 303)
        #expect(try await take(bob) == 303)
        try await site.close()
    }

    @Test func `The next free case is the oldest, and everybody gets another one`() async throws {
        let site = try await ConsoleSite()
        let ids = try await site.cases("bank", count: 3)
        var taken: Set<String> = []
        for name in ["ann", "bob", "cat"] {
            let browser = try await site.person(name, "reviewer:bank")
            let answer = try await browser.post("/cases/next")
            taken.insert(try #require(answer.headers["location"]))
        }
        #expect(taken == Set(ids.map { "/cases/\($0)" }))
        let late = try await site.person("dan", "reviewer:bank").post("/cases/next")
        #expect(late.headers["location"] == "/cases?free=none")
        try await site.close()
    }

    @Test func `A reason is found however it is typed, and a search without a free case keeps the filter and says so`()
        async throws
    {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:*")
        let list = try await ann.get("/cases?reason=blurry").text
        #expect(list.contains("href='/cases/\(id)'") && !list.contains("No free case was found here."))
        var fields = ["partner": "bank", "reason": "blurry", "minutes": "0"]
        #expect(try await ann.post("/cases/next", fields).headers["location"] == "/cases/\(id)")
        fields = ["partner": "bank", "reason": "other", "minutes": "7"]
        let none = try #require(try await ann.post("/cases/next", fields).headers["location"])
        #expect(none == "/cases?partner=bank&reason=OTHER&minutes=7&free=none")
        let page = try await ann.get(none).text
        #expect(page.contains("No free case was found here.") && page.contains("name='reason' value='OTHER'"))
        try await site.close()
    }

    @Test func `The list has filters, and leads through all cases without a gap`() async throws {
        let site = try await ConsoleSite()
        let ids = Set(try await site.cases("bank", count: 60))
        _ = try await site.cases("shop", count: 2)
        let browser = try await site.person("ann", "reviewer:*")
        var seen: [String] = []
        var path: String? = "/cases?partner=bank&reason=BLURRY&minutes=0"
        var pages = 0
        while let next = path, pages < 5 {
            let text = try await browser.get(next).text
            pages += 1
            seen += text.matches(of: /href='\/cases\/([0-9a-f-]{36})'/).map { String($0.1) }
            path = text.firstMatch(of: /href='(\/cases\?[^']+)' rel='next'/).map {
                String($0.1).replacing("&amp;", with: "&")
            }
        }
        #expect(pages == 2 && seen.count == 60 && Set(seen) == ids)
        #expect(try await browser.get("/cases?reason=OTHER").text.contains("No case is waiting here."))
        #expect(try await browser.get("/cases?minutes=5").text.contains("No case is waiting here."))
        #expect(try await browser.get("/cases?minutes=x").status == 400)
        try await site.close()
    }

    @Test func `A case without any reason is listed, with its partner and in turn, and by no reason's filter`()
        async throws
    {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        try await site.admin.execute(
            "UPDATE insp.step SET summary = summary - 'labels' WHERE status = 64")
        let browser = try await site.person("ann", "reviewer:bank")
        for path in ["/cases", "/cases?partner=bank", "/cases?minutes=0"] {
            #expect(try await browser.get(path).text.contains("href='/cases/\(id)'"), "\(path)")
        }
        #expect(try await !browser.get("/cases?reason=BLURRY").text.contains(id))
        #expect(try await browser.post("/cases/next").headers["location"] == "/cases/\(id)")
        // An empty list of reasons is as good as none.
        try await site.admin.execute(
            "UPDATE insp.step SET summary = summary || '{\"labels\":[]}' WHERE status = 64")
        #expect(try await browser.get("/cases").text.contains("href='/cases/\(id)'"))
        try await site.close()
    }

    @Test func `What a document or a colleague wrote is text on every page`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        let id = try await site.cases("bank")[0]
        let browser = try await site.person("<b>zqmark</b>", "reviewer:bank", "operator:bank")
        #expect(try await browser.post("/cases/\(id)/take").status == 303)
        var texts = [try await browser.get("/cases/\(id)").text, try await browser.get("/cases").text]
        let note = "<img src=x onerror=alert('zqmark')>\u{202E}'\"</textarea>"
        #expect(try await browser.post("/cases/\(id)/decide", ["decision": "WARNING", "note": note]).status == 303)
        let second = try await site.person("bob", "reviewer:bank")
        #expect(try await second.post("/cases/\(id)/take").status == 303)
        texts += [
            try await second.get("/cases/\(id)").text,
            try await browser.post("/cases/\(id)/decide", ["decision": note, "label": note, "note": note]).text,
            try await second.post("/cases/\(id)/decide", ["decision": note, "label": note, "note": note]).text,
            try await browser.get("/cases/\(id)").text, try await browser.get("/jobs/\(id)").text,
            try await browser.get("/cases?reason=%3Cscript%3Ezqmark&partner=%22%3E%3Cb%3E").text,
            try await browser.get("/dead?code=%27%3E%3Cscript%3Ezqmark").text,
            try await browser.get("/%3Cscript%3Ezqmark").text,
        ]
        #expect(texts[0].contains("&lt;script&gt;alert(&#39;zqmark&#39;)&lt;/script&gt;"))
        #expect(
            texts[2].contains("&lt;img src=x onerror=alert(&#39;zqmark&#39;)&gt;[U+202E]&#39;&quot;&lt;/textarea&gt;"))
        for text in texts {
            #expect(!text.contains("<script>") && !text.contains("<img") && !text.contains("<b>zqmark"))
        }
        try await site.close()
    }

    @Test func `Every look at a case and at a part is recorded with its purpose; a part needs the lease`() async throws
    {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let secret = ConsoleSecret()
        _ = try await site.admin.query(
            "SELECT insp.console_sign_in($1, 'ann', 'oidc', '{reviewer:bank}', 'https://id.example', '1')",
            [.bytes(secret.sha256)])
        let part = "SELECT bytes FROM insp.console_part($1, $2, 'FRONT', 0)"
        let arguments: [PostgresValue] = [.bytes(secret.sha256), .text(id)]
        let early = await #expect(throws: PostgresError.self) { try await site.admin.query(part, arguments) }
        #expect(early?.sqlState == "IN192")
        let browser = Browser(port: site.server.port, secret: secret)
        #expect(try await browser.post("/cases/\(id)/take").status == 303)
        #expect(try await site.admin.query(part, arguments)[0].data(0) == Data("x".utf8))
        #expect(try await browser.get("/cases/\(id)").status == 200)
        let seen = try await site.admin.query(
            "SELECT action FROM insp.v_access WHERE job = $1 AND operator = 'console:ann' AND purpose = 'review' ORDER BY at",
            [.text(id)]
        ).map { try $0.string(0) }
        #expect(seen == ["image", "case"])
        try await site.close()
    }

    @Test func `An image for which there is no room is neither fetched nor recorded as seen`() async throws {
        let isFull = Mutex(true)
        let site = try await ConsoleSite(show: { load in
            if isFull.withLock({ $0 }) { throw InspectError(.gatewayOverloaded) }
            let images = try await load()
            #expect(images.map(\.bytes) == [Data("x".utf8)])
            return [:]
        })
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank")
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        let looks = "insp.v_access WHERE action = 'image'"
        #expect(try await ann.get("/cases/\(id)/images/FRONT").status == 503)
        #expect(try await site.count(looks) == 0)
        isFull.withLock { $0 = false }
        // Here nothing is made of it.
        #expect(try await ann.get("/cases/\(id)/images/FRONT").text.contains("CORRUPT_IMAGE"))
        #expect(try await site.count(looks) == 1)
        try await site.close()
    }
}
