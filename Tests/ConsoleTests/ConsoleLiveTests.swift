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

    @Test func `An open page is told when its case or the list changes, and not before`() async throws {
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

    @Test func `A page that keeps itself up to date does not keep its session alive`() async throws {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank", "auditor:*")
        try await site.admin.execute("UPDATE insp.console_session SET seen_at = now() - interval '20 minutes'")
        #expect(try await ann.get("/live/queue").status == 200)
        #expect(try await ann.get("/queue", headers: ["X-Live": "1"]).status == 200)
        #expect(try await ann.get("/cases", headers: ["X-Live": "1"]).status == 200)
        #expect(try await site.count("insp.console_session WHERE seen_at > now() - interval '19 minutes'") == 0)
        #expect(try await ann.get("/cases").status == 200)
        #expect(try await site.count("insp.console_session WHERE seen_at > now() - interval '19 minutes'") == 1)
        try await site.close()
    }

    /// A database that answers when a test tells it to.
    private actor Source {
        private(set) var asked: [[String]] = []
        private var waiting: CheckedContinuation<[String: String], Never>?

        func stamps(_ jobs: [String]) async -> [String: String] {
            #expect(self.waiting == nil, "two statements at once")
            self.asked.append(jobs.sorted())
            return await withCheckedContinuation { self.waiting = $0 }
        }

        /// Waits for the next statement. What the one before was answered has reached the pages by then.
        func wait() async throws { try await waitUntil("a statement is sent") { self.waiting != nil } }

        func answer(_ stamp: String) async throws {
            try await self.wait()
            self.waiting?.resume(returning: ["1": stamp, "2": "same"])
            self.waiting = nil
        }
    }

    private struct Weak { weak var signal: LiveSignal? }

    @Test func `However many pages wait, one statement asks for all, and none once they have left`() async throws {
        let source = Source()
        func played() async throws -> Weak {
            let signal = LiveSignal(limit: 40, perPerson: 30, pause: .milliseconds(1)) { _, jobs in
                await source.stamps(jobs)
            }
            func page(_ job: String, since known: String?, _ departure: HTTPDeparture? = nil)
                -> Task<LiveSignal.Outcome, Never>
            {
                Task {
                    await HTTPDeparture.$current.withValue(departure) {
                        await signal.wait(for: .job(job), since: known, person: "ann", within: .seconds(3600))
                    }
                }
            }
            let new = page("1", since: nil)
            try await source.answer("a")
            #expect(try await new.value(within: .hangDeadline) == .changed("a"))
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
            for page in first { #expect(try await page.value(within: .hangDeadline) == .changed("b")) }
            try await source.wait()
            #expect(await source.asked.last == ["2"])
            #expect(signal.count == 10)
            for departure in departures { departure.leave() }
            for page in second { #expect(try await page.value(within: .hangDeadline) == .unchanged) }
            #expect(signal.count == 0)
            try await source.answer("b")
            // What asks holds the signal.
            return Weak(signal: signal)
        }
        let left = try await played()
        try await waitUntil("nothing asks any more") { left.signal == nil }
        #expect(await source.asked.last == ["2"])
    }

    @Test func `Too many pages of one person are refused, and the end of the console ends every wait`() async throws {
        let signal = LiveSignal(limit: 3, perPerson: 2, pause: .milliseconds(50)) { _, _ in ["queue": "x"] }
        let waits = (0..<3).map { place in
            Task {
                await signal.wait(
                    for: .queue, since: "x", person: place < 2 ? "ann" : "bob", within: .seconds(3600))
            }
        }
        try await waitUntil("three wait") { signal.count == 3 }
        #expect(await signal.wait(for: .queue, since: "x", person: "ann", within: .seconds(60)) == .full)
        #expect(await signal.wait(for: .queue, since: "x", person: "cat", within: .seconds(60)) == .full)
        signal.close()
        for wait in waits { #expect(try await wait.value(within: .hangDeadline) == .unchanged) }
        #expect(await signal.wait(for: .queue, since: "x", person: "ann", within: .seconds(60)) == .unchanged)
    }
}
