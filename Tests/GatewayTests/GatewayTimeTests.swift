import Foundation
import HTTPServer
import Testing

@testable import Gateway

/// How long the gateway waits for a client, and a client for the gateway.
@Suite struct GatewayTimeTests {
    @Test func `One slow statement keeps nobody who waits without an answer for longer than two seconds`() {
        func pause(_ statement: Duration) -> Duration { GatewayService.pause(.milliseconds(100), after: statement) }
        #expect(pause(.milliseconds(1)) == .milliseconds(100))
        #expect(pause(.milliseconds(20)) == .milliseconds(180))
        #expect(pause(.seconds(30)) == .seconds(2))
    }

    @Test func `Everything that a link's page captured may take five minutes to arrive, and one image two`() {
        let paces = GatewayRoute.all.reduce(into: [String: Double]()) { $0[$1.path] = $1.content.pace?.seconds }
        #expect(paces == ["/capture/{token}/check": 120, "/capture/{token}/submit": 300])
    }

    @Test func `Work on a body of a link counts until it is let go of`() async throws {
        let bodies = LinkBodies()
        let work: GatewayRoute.Work = { _ in GatewayAnswer(response: HTTPResponse(status: 204)) }
        var held = [try bodies.counted("a", work), try bodies.counted("a", work)]
        #expect(throws: GatewayService.Later.self) { _ = try bodies.counted("a", work) }
        _ = try await bodies.counted("b", work)(.init())
        held.removeLast()
        held.append(try bodies.counted("a", work))
        #expect(throws: GatewayService.Later.self) { _ = try bodies.counted("a", work) }
        held = []
        for _ in 0..<3 { _ = try await bodies.counted("a", work)(.init()) }
    }
}
