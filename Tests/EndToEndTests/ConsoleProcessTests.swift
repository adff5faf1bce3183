import Foundation
import Glibc
import TestSupport
import Testing

/// The console as its users run it, before sealed jobs.
@Suite struct ConsoleProcessTests {
    private struct Answer {
        var status: Int
        var cookie: String?
        var text: String
    }

    /// One request on its own connection, as a browser sends it.
    private func send(
        _ port: Int, _ method: String, _ path: String, _ form: String? = nil, cookie: String? = nil,
        known: String? = nil
    ) async throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        if let cookie { head += "Cookie: \(cookie)\r\n" }
        if let known { head += "Last-Event-ID: \(known)\r\n" }
        if let form {
            head +=
                "Origin: http://127.0.0.1:\(port)\r\nSec-Fetch-Site: same-origin\r\nContent-Length: \(form.utf8.count)\r\n"
            head += "Content-Type: application/x-www-form-urlencoded\r\n"
        }
        let client = SlowClient(port)
        defer { client.close() }
        client.send(Data((head + "\r\n" + (form ?? "")).utf8))
        let text = String(decoding: await client.bytes(), as: UTF8.self)
        let status = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        let set = text.firstMatch(of: /\r\nSet-Cookie: (inspectd-console=[^;]+);/).map { String($0.1) }
        return Answer(status: status, cookie: set, text: text)
    }

    /// A console and who has signed in to it by its link.
    private func console(_ site: SealedSite) async throws -> (Program, port: Int, token: String, cookie: String) {
        let console = try Program(
            ["console", "--local", "--listen", "0", "--health", "0", "--role", "reviewer:bank"],
            environment: site.environment)
        do {
            let port = try await console.port("console open")
            try await waitUntil("the link is printed") { !console.standardOutput.isEmpty }
            let link = String(decoding: console.standardOutput, as: UTF8.self)
            let token = try #require(
                link.trimmingCharacters(in: .whitespacesAndNewlines).components(separatedBy: "token=").last)
            #expect(link.hasPrefix("http://127.0.0.1:\(port)/sign-in/link?"))
            let cookie = try #require(try await self.send(port, "POST", "/sign-in/link", "token=\(token)").cookie)
            return (console, port, token, cookie)
        } catch {
            console.send(SIGKILL)
            throw error
        }
    }

    /// A page that waits for a change of the list since a state.
    private func waitingPage(_ console: Program, _ port: Int, _ cookie: String, known: String) async throws
        -> SlowClient
    {
        let waiting = SlowClient(port)
        waiting.send(
            "GET /live/cases HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\nLast-Event-ID: \(known)\r\n\r\n"
        )
        let health = try await console.port("health port open")
        try await waitUntil("the page waits") {
            let metrics = try await self.send(health, "GET", "/metrics")
            let body = metrics.text.components(separatedBy: "\r\n\r\n").last ?? ""
            return try MetricsText(body).value("inspectd_console_open_pages") == 1
        }
        return waiting
    }

    @Test func `A reviewer signs in by the link, sees the images of a sealed case, and decides it with a sealed note`()
        async throws
    {
        let site = try await SealedSite()
        _ = try await site.connection.query("SELECT insp.set_partner('bank', review => 'always')")
        _ = try await site.connection.query("SELECT insp.set_second_review('bank', true)")
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let faces = try await TestInputs.folder.appendingPathComponent("faces").path
        let id = try await site.enqueue("--workflow", "liveness", "--face", "\(faces)/obama.jpg")
        try await site.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 64)")

        let (console, port, token, cookie) = try await self.console(site)
        defer { console.send(SIGKILL) }

        let list = try await self.send(port, "GET", "/cases", cookie: cookie)
        #expect(list.status == 200 && list.text.contains(id))
        let form = "form=" + String(try #require(list.text.firstMatch(of: /name='form' value='([^']+)'/)).1)
        let early = try await self.send(port, "GET", "/cases/\(id)", cookie: cookie)
        let address = "/cases/\(id)/images/FACE"
        #expect(early.status == 200 && !early.text.contains(address))
        #expect(try await self.send(port, "GET", address, cookie: cookie).status == 409)
        #expect(try await self.send(port, "POST", "/cases/\(id)/take", form, cookie: cookie).status == 303)
        let page = try await self.send(port, "GET", "/cases/\(id)", cookie: cookie)
        #expect(page.text.contains("href='\(address)'"))
        // An analyzer may still be starting.
        var image = page
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            image = try await self.send(port, "GET", address, cookie: cookie)
            if image.status != 200 { try await Task.sleep(for: .milliseconds(100)) }
        } while image.status != 200 && ContinuousClock.now < deadline
        #expect(image.text.contains("Content-Type: image/jpeg") && image.text.contains("Cache-Control: no-store"))
        #expect(try await self.send(port, "GET", "/cases/\(id)/images/BACK", cookie: cookie).status == 404)
        #expect(try await self.send(port, "GET", "/cases/\(id)/images/PASSPORT", cookie: cookie).status == 404)
        #expect(try await self.send(port, "GET", address).status == 401)
        #expect(page.text.contains("class='face'") && page.text.contains("name='decision'"))
        #expect(page.text.contains("Cache-Control: no-store"))
        let decision = form + "&decision=PASSED&label=SEEN&note=zqmark+looks+like+the+brother"
        #expect(try await self.send(port, "POST", "/cases/\(id)/decide", decision, cookie: cookie).status == 303)

        // Another person reads the note while the case is theirs, confirms, and reads it no more.
        try await site.connection.execute("UPDATE insp.console_session SET actor = 'console:second'")
        let second = try await self.send(port, "GET", "/cases/\(id)", cookie: cookie)
        #expect(second.text.contains("local decided PASSED") && !second.text.contains("zqmark"))
        #expect(try await self.send(port, "POST", "/cases/\(id)/take", form, cookie: cookie).status == 303)
        let open = try await self.send(port, "GET", "/cases/\(id)", cookie: cookie)
        #expect(open.text.contains("zqmark looks like the brother") && open.text.contains("Confirm: PASSED, SEEN"))
        let confirmation = form + "&confirm=PASSED+SEEN&note="
        #expect(try await self.send(port, "POST", "/cases/\(id)/decide", confirmation, cookie: cookie).status == 303)

        let result = try members(try await site.run("status", id, "--purpose", "support"))
        #expect(result.at("review.label") as? String == "SEEN" && result.at("decision.type") as? String == "PASSED")
        #expect(try await site.count("insp.record r WHERE r::text LIKE '%zqmark%'") == 0)
        #expect(
            try await site.count("insp.record r WHERE r.words ->> 'note' LIKE 'sealed:%' AND r.actor = 'console:local'")
                == 1)
        let after = try await self.send(port, "GET", "/cases/\(id)", cookie: cookie)
        #expect(after.text.contains("by second") && after.text.contains("the decision of local"))
        #expect(!after.text.contains("zqmark") && !after.text.contains(address))
        #expect(try await self.send(port, "GET", address, cookie: cookie).status == 409)
        #expect(
            try await site.count(
                "insp.v_access WHERE operator = 'console:local' AND action = 'image' AND purpose = 'review'") >= 1)
        let stream = try await self.send(port, "GET", "/live/cases", cookie: cookie)
        #expect(stream.status == 200 && stream.text.contains("event: begin"))
        let metrics = try await self.send(try await console.port("health port open"), "GET", "/metrics")
        let manual = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/METRICS.md", encoding: .utf8)
        let names = metrics.text.matches(of: /# TYPE (inspectd_console_[a-z_]+)/).map { String($0.1) }
        // Refusals are counted from the first one on.
        #expect(names.count >= 6 && Set(names).count == names.count)
        for name in names { #expect(manual.contains("`\(name)`"), "\(name) is not in METRICS.md") }
        #expect(metrics.text.contains("inspectd_console_requests_total{route=\"/cases/{id}\",status=\"200\"}"))
        // Neither a job nor a person is a label.
        #expect(!metrics.text.contains(id) && !metrics.text.contains("local"))
        let known = try #require(stream.text.firstMatch(of: /\r?\nid: ([^\r\n]+)/)).1
        let waiting = try await self.waitingPage(console, port, cookie, known: String(known))
        defer { waiting.close() }
        // The statement that wakes a page which knows an older state asks for the one that waits as well.
        let behind = try await self.send(port, "GET", "/live/cases", cookie: cookie, known: "older")
        #expect(behind.text.contains("event: change"))
        // Neither the link nor the cookie is in the log.
        #expect(!console.standardError.contains(token))
        #expect(!console.standardError.contains(cookie.dropFirst("inspectd-console=".count)))
        console.send(SIGTERM)
        #expect(try await console.wait() == 0)
        let told = String(decoding: await waiting.bytes(), as: UTF8.self)
        #expect(told.hasPrefix("HTTP/1.1 200 ") && told.contains("retry: ") && !told.contains("event:"))
    }

    /// Its wait would end by itself after 25 seconds.
    @Test(.timed) func `A page that waits does not keep a console that is stopped`() async throws {
        let site = try await SealedSite()
        let (console, port, _, cookie) = try await self.console(site)
        defer { console.send(SIGKILL) }
        let stream = try await self.send(port, "GET", "/live/cases", cookie: cookie)
        let known = try #require(stream.text.firstMatch(of: /\r?\nid: ([^\r\n]+)/)).1
        let waiting = try await self.waitingPage(console, port, cookie, known: String(known))
        defer { waiting.close() }
        let stopped = ContinuousClock.now
        console.send(SIGTERM)
        #expect(try await console.wait() == 0)
        #expect(ContinuousClock.now - stopped < .seconds(10))
    }
}
