import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Inspection

/// A vendor's server over TLS, with its answers and its failures.
@Suite struct VendorSessionTests {
    private let stub: StubVendor

    init() throws { self.stub = try StubVendor() }

    private func client(_ change: (inout VendorServer) -> Void = { _ in }) -> VendorSessionClient {
        var server = VendorServer(
            url: self.stub.url, deviceKey: StubVendor.deviceKey, pins: [self.stub.pin],
            certificateAuthorities: self.stub.certificate.path, allowsPrivate: true, timeout: .seconds(60))
        change(&server)
        return VendorSessionClient(server: server)
    }

    private func failure(_ blob: String, _ change: (inout VendorServer) -> Void = { _ in }) async -> (
        ErrorCode, String
    )? {
        do {
            _ = try await self.client(change).process(Data(blob.utf8))
            return nil
        } catch let failure as VendorSessionClient.Failure {
            return (failure.error.code, failure.outcome)
        } catch {
            return (.internalError, "\(error)")
        }
    }

    @Test func `Documented answers are accepted unchanged`() async throws {
        let live = try await self.client().process(Data("live-1".utf8))
        #expect(live.status == 200)
        #expect(
            live.facts
                == VendorSessionFacts(
                    sessionResponseBlob: "answer-to-live-1", success: true, livenessPassed: true, reason: "OK"))
        #expect(try await self.client().process(Data("spoof-1".utf8)).facts.livenessPassed == false)
        let other = try await self.client().process(Data("nomatch-1".utf8)).facts
        #expect(other.matched == false && other.matchLevel == 2)
        #expect(try await self.client().process(Data("quiet-1".utf8)).facts.livenessPassed == nil)
        #expect(self.stub.received == ["live-1", "spoof-1", "nomatch-1", "quiet-1"])
    }

    @Test(arguments: [
        ("text-1", ErrorCode.vendorResponseInvalid, "invalid"), ("html-1", .vendorResponseInvalid, "invalid"),
        ("busy-1", .vendorUnreachable, "not_sent"), ("broken-1", .vendorOutcomeUnknown, "lost"),
        ("bad-1", .vendorRefused, "refused"), ("hang-1", .vendorOutcomeUnknown, "lost"),
        ("torn-1", .vendorOutcomeUnknown, "lost"), ("drop-1", .vendorOutcomeUnknown, "lost"),
    ])
    func `Each failure has its code, and only an unprocessed request may be sent again`(
        _ blob: String, _ code: ErrorCode, _ outcome: String
    ) async {
        // Only the hanging server has a short time-out: the others answer, however busy the machine.
        let failure = await self.failure(blob) { if blob.hasPrefix("hang") { $0.timeout = .seconds(8) } }
        #expect(failure?.0 == code, "\(String(describing: failure))")
        #expect(failure?.1 == outcome, "\(String(describing: failure))")
        #expect(code.isRetryable == (outcome == "not_sent"))
    }

    @Test func `Nothing is sent to any server but the configured one`() async {
        let pin = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let wrong: [(inout VendorServer) -> Void] = [
            { $0.pins = [pin] }, { $0.certificateAuthorities = nil }, { $0.allowsPrivate = false },
            { $0.url = $0.url.replacing("https:", with: "http:") }, { $0.url = "https://localhost:1" },
            { $0.pins = ["sha256//x;sha256//y"] },
        ]
        for change in wrong { #expect(await self.failure("live-2", change)?.1 == "not_sent") }
        #expect(self.stub.received.isEmpty)
        #expect(await self.failure("live-2") { $0.deviceKey = "another" }?.0 == .vendorRefused)
        // A second pin is for the key that comes next.
        #expect(await self.failure("live-2") { $0.pins.insert(pin, at: 0) } == nil)
    }

    @Test(arguments: [
        #"{"faceScan":"AAAA","auditTrailImage":"AAAA"}"#, "[1]", "", "two words", "\u{FF}\u{D8}", "line\nline",
    ])
    func `Anything but an opaque string of 10.x is refused before it is sent`(_ blob: String) async {
        #expect(await self.failure(blob)?.0 == .sessionShapeRefused)
        #expect(self.stub.received.isEmpty)
    }
}
