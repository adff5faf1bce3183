import HTTPServer
import TestSupport
import Testing

@testable import Gateway

@Suite struct WaitsTests {
    @Test func `A client that leaves gives its waiting place back`() async throws {
        let waits = Waits<Int>(perPartner: 1, pause: .milliseconds(10)) { _ in [] }
        let departure = HTTPDeparture()
        let waiting = Task {
            await HTTPDeparture.$current.withValue(departure) {
                await waits.wait(for: 1, within: .seconds(3600), partner: "bank")
            }
        }
        try await waitUntil("it waits") { waits.count == 1 }
        #expect(!waits.hasRoom(for: "bank"))
        departure.leave()
        #expect(try await waiting.value(within: .seconds(120)) == false)
        #expect(waits.count == 0 && waits.hasRoom(for: "bank"))
        // Whoever has left before does not begin to wait.
        let late = await HTTPDeparture.$current.withValue(departure) {
            await waits.wait(for: 1, within: .seconds(3600), partner: "bank")
        }
        #expect(!late && waits.count == 0)
        waits.close()
    }
}
