import Foundation
import HTTPServer
import Postgres
import TestSupport
import Testing

@testable import Console

@Suite struct ConsoleLiveTests {
    private func id(_ answer: Browser.Answer) -> String? {
        answer.text.firstMatch(of: /(?m)^id: (.+)$/).map { String($0.1) }
    }

    @Test func `An open page is notified when its case or the list changes, and not before`() async throws {
        let site = try await ConsoleSite()
        let job = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        for path in ["/live/cases", "/live/cases/\(job)"] {
            let first = try await ann.get(path)
            #expect(first.headers["content-type"] == "text/event-stream; charset=utf-8")
            #expect(first.headers["cache-control"] == "no-store" && first.text.contains("event: begin\n"))
            let known = try #require(self.id(first))
            let next = Task { try await ann.get(path, headers: ["Last-Event-ID": known]) }
            try await waitUntil("the page waits") { site.service.waiting == 1 }
            // The statement that wakes a page which knows an older state asks for this one as well.
            #expect(try await bob.get(path, headers: ["Last-Event-ID": "older"]).text.contains("event: change\n"))
            #expect(site.service.waiting == 1)
            #expect(try await bob.post("/cases/\(job)/take").status == 303)
            let answer = try await next.value(within: .hangDeadline)
            #expect(answer.text.contains("event: change\n") && self.id(answer) != known)
            #expect(try await bob.post("/cases/\(job)/release").status == 303)
        }
        try await site.close()
    }

    @Test func `A change of another partner's cases wakes no page`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.cases("bank")
        let ann = try await site.person("ann", "reviewer:bank")
        let known = try #require(self.id(try await ann.get("/live/cases")))
        _ = try await site.cases("shop", count: 3)
        #expect(self.id(try await ann.get("/live/cases")) == known)
        let all = try await site.person("bob", "reviewer:*")
        #expect(self.id(try await all.get("/live/cases")) != known)
        try await site.close()
    }

    @Test func `What wakes open pages is answered for each page's session, and no session gets what it may not see`()
        async throws
    {
        let site = try await ConsoleSite()
        let (bank, shop) = (try await site.cases("bank")[0], try await site.cases("shop")[0])
        let reviewer = try #require(try await site.person("ann", "reviewer:bank").secret)
        let auditor = try #require(try await site.person("bob", "auditor:*").secret)
        let idle = try #require(try await site.person("eve", "reviewer:*").secret)
        try await site.admin.execute(
            "UPDATE insp.console_session SET seen_at = now() - interval '31 minutes' WHERE actor = 'console:eve'")
        let store = site.store
        func answered(_ secret: ConsoleSecret) async throws -> [LiveSubject: String] {
            let subjects: [LiveSubject] = [.cases, .queue, .plots, .tasks, .job(bank), .job(shop)]
            let stamps = try await store.pulse(subjects.map { LivePage(session: secret.sha256, subject: $0) })
            return Dictionary(uniqueKeysWithValues: stamps.map { ($0.key.subject, $0.value) })
        }
        let first = try await answered(reviewer)
        #expect(Set(first.keys) == [.cases, .job(bank)])
        #expect(Set(try await answered(auditor).keys) == [.queue, .plots, .tasks])
        #expect(try await answered(idle).isEmpty)
        #expect(try await answered(ConsoleSecret()).isEmpty)
        _ = try await site.cases("shop", count: 2)
        #expect(try await answered(reviewer) == first)
        _ = try await site.cases("bank")
        #expect(try await answered(reviewer)[.cases] != first[.cases])
        try await site.close()
    }

    @Test func `Tasks wake those who see them, at once when one begins or ends, and no one else`() async throws {
        let site = try await ConsoleSite()
        let sam = try await site.person("sam", "auditor:shop")
        let ann = try await site.person("ann", "operator:bank")
        let (before, others) = (self.id(try await ann.get("/live/tasks")), self.id(try await sam.get("/live/tasks")))
        #expect(before != nil && others != nil)
        _ = try await site.admin.query(
            "SELECT insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')")
        let edge = try await ann.get("/tasks/new?kind=jobs").edge
        let fields = ["kind": "jobs", "action": "cancel", "reason": "sent by mistake"].merging(edge) { $1 }
        #expect(try await ann.post("/tasks", fields).status == 303)
        let open = self.id(try await ann.get("/live/tasks"))
        #expect(open != before)
        try await site.finishTasks()
        // Without a time: no task is open.
        let ended = try #require(self.id(try await ann.get("/live/tasks")))
        #expect(ended != open && ended.count == 32)
        #expect(self.id(try await sam.get("/live/tasks")) == others)
        for path in ["/tasks", "/endpoints"] {
            #expect(try await ann.get(path).text.contains(" data-stream='/live/"), "\(path)")
        }
        try await site.close()
    }

    @Test func `An open page's wait ends with its session`() async throws {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank")
        let known = try #require(self.id(try await ann.get("/live/cases")))
        async let next = ann.get("/live/cases", headers: ["Last-Event-ID": known])
        try await waitUntil("the page waits") { site.service.waiting == 1 }
        try await site.admin.execute("DELETE FROM insp.console_session")
        #expect(try await next.status == 401)
        try await site.close()
    }

    @Test func `A page that keeps itself up to date does not keep its session alive`() async throws {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank", "auditor:*")
        try await site.admin.execute("UPDATE insp.console_session SET seen_at = now() - interval '20 minutes'")
        #expect(try await ann.get("/live/queue").status == 200)
        #expect(try await ann.get("/queue", headers: ["X-Live": "1"]).status == 200)
        #expect(try await ann.get("/cases", headers: ["X-Live": "1"]).status == 200)
        #expect(try await ann.get("/endpoints", headers: ["X-Live": "1"]).status == 200)
        #expect(try await ann.get("/tasks", headers: ["X-Live": "1"]).status == 200)
        #expect(try await site.count("insp.console_session WHERE seen_at > now() - interval '19 minutes'") == 0)
        #expect(try await ann.get("/cases").status == 200)
        #expect(try await site.count("insp.console_session WHERE seen_at > now() - interval '19 minutes'") == 1)
        try await site.close()
    }

    /// A database that answers when a test tells it to.
    private actor Source {
        private(set) var asked: [[String]] = []
        private var pages: [LivePage] = []
        private var waiting: CheckedContinuation<[LivePage: String], Never>?

        func stamps(_ pages: [LivePage]) async -> [LivePage: String] {
            #expect(self.waiting == nil, "two statements at once")
            self.pages = pages
            self.asked.append(pages.map(\.subject.name).sorted())
            return await withCheckedContinuation { self.waiting = $0 }
        }

        /// Waits for the next statement. What the one before was answered has reached the pages by then.
        func wait() async throws { try await waitUntil("a statement is sent") { self.waiting != nil } }

        func answer(_ stamp: String) async throws {
            try await self.wait()
            self.waiting?.resume(
                returning: Dictionary(
                    uniqueKeysWithValues: self.pages.map { ($0, $0.subject == .job("1") ? stamp : "same") }))
            self.waiting = nil
        }
    }

    private func page(_ subject: LiveSubject, of session: String = "ann") -> LivePage {
        LivePage(session: Data(session.utf8), subject: subject)
    }

    private struct Weak { weak var signal: LiveSignal? }

    @Test func `However many pages wait, one statement asks for all, and none once they have left`() async throws {
        let source = Source()
        func played() async throws -> Weak {
            let signal = LiveSignal(limit: 40, perPerson: 30, pause: .milliseconds(1)) { pages in
                await source.stamps(pages)
            }
            func page(_ job: String, since known: String?, _ departure: HTTPDeparture? = nil)
                -> Task<LiveSignal.Outcome, Never>
            {
                Task {
                    await HTTPDeparture.$current.withValue(departure) {
                        await signal.wait(
                            for: self.page(.job(job)), since: known, person: "ann", within: .seconds(3600))
                    }
                }
            }
            let new = page("1", since: nil)
            try await source.answer("a")
            #expect(try await new.value(within: .hangDeadline) == .found("a"))
            let first = (0..<10).map { _ in page("1", since: "a") }
            let departures = (0..<10).map { _ in HTTPDeparture() }
            let second = departures.map { page("2", since: "same", $0) }
            try await waitUntil("twenty wait") { signal.count == 20 }
            // The statement under way may be of when fewer waited.
            for _ in 0..<3 { try await source.answer("a") }
            try await source.wait()
            #expect(signal.count == 20)
            #expect(await source.asked.suffix(3) == [["1", "2"], ["1", "2"], ["1", "2"]])
            try await source.answer("b")
            for page in first { #expect(try await page.value(within: .hangDeadline) == .found("b")) }
            try await source.wait()
            #expect(await source.asked.last == ["2"])
            #expect(signal.count == 10)
            for departure in departures { departure.leave() }
            for page in second { #expect(try await page.value(within: .hangDeadline) == .over) }
            #expect(signal.count == 0)
            try await source.answer("b")
            // What asks holds the signal.
            return Weak(signal: signal)
        }
        let left = try await played()
        try await waitUntil("nothing asks any more") { left.signal == nil }
        #expect(await source.asked.last == ["2"])
    }

    @Test func `A person's fifth stream ends the oldest, which is told to stay closed`() async throws {
        let site = try await ConsoleSite()
        let job = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        let path = "/live/cases/\(job)"
        let known = try #require(self.id(try await ann.get(path)))
        func wait(_ browser: Browser) -> Task<Browser.Answer, any Error> {
            Task { try await browser.get(path + "?since=\(known)") }
        }
        let other = wait(bob)
        var own: [Task<Browser.Answer, any Error>] = []
        for place in 0..<4 {
            own.append(wait(ann))
            try await waitUntil("\(place + 2) wait") { site.service.waiting == place + 2 }
        }
        own.append(wait(ann))
        let ended = try await own[0].value(within: .hangDeadline)
        #expect(ended.status == 200 && ended.text.contains("event: end\n") && self.id(ended) == nil)
        // A client that does not know the event asks again, but not in a loop.
        #expect(ended.text.firstMatch(of: /retry: ([0-9]+)/).flatMap { Int($0.1) } ?? 0 >= 600_000)
        try await waitUntil("five wait") { site.service.waiting == 5 }
        // The others learn of what happens.
        #expect(try await bob.post("/cases/\(job)/take").status == 303)
        for wait in own.dropFirst() + [other] {
            #expect(try await wait.value(within: .hangDeadline).text.contains("event: change\n"))
        }
        try await site.close()
    }

    @Test func `A page that closed its stream while it was hidden learns what changed meanwhile`() async throws {
        let site = try await ConsoleSite()
        let job = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        for path in ["/live/cases", "/live/cases/\(job)"] {
            let known = try #require(self.id(try await ann.get(path)))
            #expect(try await bob.post("/cases/\(job)/take").status == 303)
            #expect(try await ann.get("\(path)?since=\(known)").text.contains("event: change\n"), "\(path)")
            #expect(try await bob.post("/cases/\(job)/release").status == 303)
        }
        try await site.close()
    }

    @Test func `What changes between a page and its stream is the first thing that the stream says`() async throws {
        let site = try await ConsoleSite()
        let job = try await site.cases("bank")[0]
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        for path in ["/cases", "/cases/\(job)"] {
            let text = try await ann.get(path).text
            #expect(text.contains(" data-stream='/live\(path)'"))
            let known = try #require(text.firstMatch(of: /data-known='([^']+)'/)?.1)
            // Nothing has changed: the page would wait.
            let next = Task { try await ann.get("/live\(path)?since=\(known)") }
            try await waitUntil("the page waits") { site.service.waiting == 1 }
            #expect(try await bob.post("/cases/\(job)/take").status == 303)
            #expect(try await next.value(within: .hangDeadline).text.contains("event: change\n"))
            #expect(try await ann.get("/live\(path)?since=\(known)").text.contains("event: change\n"))
            #expect(try await bob.post("/cases/\(job)/release").status == 303)
        }
        _ = try await site.admin.query("SELECT insp.sample_queue()")
        let eve = try await site.person("eve", "auditor:*")
        for path in ["/plots", "/tasks"] { #expect(try await eve.get(path).text.contains(" data-known='"), "\(path)") }
        try await site.close()
    }

    @Test func `Too many pages are refused, and the end of the console ends every wait`() async throws {
        let signal = LiveSignal(limit: 3, perPerson: 2, pause: .milliseconds(50)) { pages in
            Dictionary(uniqueKeysWithValues: pages.map { ($0, "x") })
        }
        let waits = (0..<3).map { place in
            Task {
                await signal.wait(
                    for: self.page(.queue), since: "x", person: place < 2 ? "ann" : "bob", within: .seconds(3600))
            }
        }
        try await waitUntil("three wait") { signal.count == 3 }
        #expect(await signal.wait(for: self.page(.queue), since: "x", person: "cat", within: .seconds(60)) == .full)
        signal.close()
        for wait in waits { #expect(try await wait.value(within: .hangDeadline) == .over) }
        #expect(
            await signal.wait(for: self.page(.queue), since: "x", person: "ann", within: .seconds(60)) == .over)
    }
}
