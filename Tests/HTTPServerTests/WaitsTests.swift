import HTTPServer
import TestSupport
import Testing

@Suite struct WaitsTests {
    @Sendable private static func pause(_: Duration) async { try? await Task.sleep(for: .milliseconds(10)) }

    @Test func `A client that leaves gives its waiting place back`() async throws {
        let waits = Waits<Int, String>(perOwner: 1, pause: Self.pause) { _ in [] }
        let departure = HTTPDeparture()
        let waiting = Task {
            await HTTPDeparture.$current.withValue(departure) {
                await waits.wait(for: 1, within: .seconds(3600), owner: "bank")
            }
        }
        try await waitUntil("it waits") { waits.count == 1 }
        #expect(!waits.hasRoom(for: "bank") && waits.hasRoom(for: "shop"))
        #expect(await waits.wait(for: 2, within: .seconds(3600), owner: "bank") == .full)
        departure.leave()
        #expect(try await waiting.value(within: .hangDeadline) == .over)
        #expect(waits.count == 0 && waits.hasRoom(for: "bank"))
        // A client that has left before does not begin to wait.
        let late = await HTTPDeparture.$current.withValue(departure) {
            await waits.wait(for: 1, within: .seconds(3600), owner: "bank")
        }
        #expect(late == .over && waits.count == 0)
        waits.close()
    }

    @Test func `What is found also answers a client that came meanwhile, unless it knows that`() async throws {
        let (answers, answer) = AsyncStream<String>.makeStream()
        let (asked, ask) = AsyncStream<[Int]>.makeStream()
        let waits = Waits<Int, String>(perOwner: 9, pause: Self.pause) { subjects in
            ask.yield(subjects)
            for await found in answers { return subjects.map { ($0, found) } }
            return []
        }
        func wait(knowing known: String) -> Task<Waits<Int, String>.Outcome, Never> {
            Task { await waits.wait(for: 1, within: .seconds(3600), owner: "bank") { $0 != known } }
        }
        let first = wait(knowing: "")
        let subjects = try await Task { await asked.first { _ in true } }.value(within: .hangDeadline)
        #expect(subjects == [1])
        let (second, third) = (wait(knowing: ""), wait(knowing: "a"))
        try await waitUntil("three wait") { waits.count == 3 }
        answer.yield("a")
        for client in [first, second] { #expect(try await client.value(within: .hangDeadline) == .found("a")) }
        #expect(waits.count == 1)
        waits.close()
        #expect(try await third.value(within: .hangDeadline) == .over)
        #expect(await waits.wait(for: 1, within: .seconds(3600), owner: "bank") == .over)
        answer.finish()
    }
}
