import Foundation
import InspectCore
import JobQueue
import TestSupport
import Testing

@testable import Inspection

/// A vendor's server over TLS, with its answers and its failures.
@Suite struct VendorSessionTests {
    private let stub: StubVendor

    init() throws { self.stub = try StubVendor() }

    private var server: VendorServer {
        VendorServer(
            url: self.stub.url, deviceKey: StubVendor.deviceKey, pins: [self.stub.pin], allowsPrivate: true)
    }

    private func client(_ change: (inout VendorConfiguration) -> Void = { _ in }) -> VendorSessionClient {
        var configuration = VendorConfiguration(server: self.server)
        configuration.certificateAuthorities = self.stub.certificate.path
        configuration.timeout = .seconds(60)
        change(&configuration)
        return VendorSessionClient(configuration)
    }

    private func failure(_ blob: String, _ change: (inout VendorConfiguration) -> Void = { _ in }) async -> (
        ErrorCode, String
    )? {
        let client = self.client(change)
        do {
            let server = try client.server(of: SessionVendor(pins: [], allowPrivate: false))
            _ = try await client.process(Data(blob.utf8), of: nil, at: server)
            return nil
        } catch let failure as VendorSessionClient.Failure {
            return (failure.error.code, failure.outcome)
        } catch {
            return (.internalError, "\(error)")
        }
    }

    @Test func `The documented answers are understood, in both spellings`() async throws {
        let client = self.client()
        func answer(_ blob: String, of person: String? = nil) async throws -> VendorSessionAnswer {
            let (answer, status) = try await client.process(Data(blob.utf8), of: person, at: self.server)
            #expect(status == 200)
            return answer
        }
        let start = try await answer("start.1", of: "Anna Ö")
        #expect(start.isOpen)
        #expect(start.facts == VendorSessionFacts(sessionResponseBlob: "answer-to-start.1", success: true))
        let live = try await answer("live.1", of: "Anna Ö")
        #expect(!live.isOpen && live.facts.livenessPassed == true)
        #expect(live.facts.sessionResponseBlob == "answer-to-live.1")
        let spoof = try await answer("spoof.2")
        #expect(spoof.isOpen && spoof.facts.livenessPassed == false && !spoof.facts.success)
        #expect(spoof.facts.sessionResponseBlob == "answer-to-spoof.2")
        #expect(try await answer("match7.3").facts.matchLevel == 7)
        #expect(try await answer("match0.4").facts.matched == false)
        #expect(try await answer("front.5").isOpen)
        #expect(try await answer("scan7.5").facts.matchLevel == 7)
        let guide = try await answer("guide.6")
        #expect(!guide.isOpen && guide.facts.livenessPassed == true && guide.facts.reason == "OK")
        #expect(try await answer("guidespoof.7").facts.livenessPassed == false)
        let other = try await answer("guidenomatch.8").facts
        #expect(other.matched == false && other.matchLevel == 2)
        #expect(try await answer("guidequiet.9").facts.livenessPassed == nil)
        #expect(self.stub.requests.prefix(3).map(\.person) == ["Anna Ö", "Anna Ö", nil])
    }

    @Test(arguments: [
        ("error", ErrorCode.vendorRefused, "refused"), ("bad", .vendorRefused, "refused"),
        ("moved", .vendorRefused, "refused"), ("busy", .vendorUnreachable, "not_sent"),
        ("broken", .vendorOutcomeUnknown, "lost"), ("hang", .vendorOutcomeUnknown, "lost"),
        ("torn", .vendorOutcomeUnknown, "lost"), ("drop", .vendorOutcomeUnknown, "lost"),
        ("flood", .vendorResponseInvalid, "invalid"), ("html", .vendorResponseInvalid, "invalid"),
        ("deep", .vendorResponseInvalid, "invalid"), ("text", .vendorResponseInvalid, "invalid"),
        ("number", .vendorResponseInvalid, "invalid"), ("list", .vendorResponseInvalid, "invalid"),
        ("both", .vendorResponseInvalid, "invalid"), ("quarrel", .vendorResponseInvalid, "invalid"),
        ("level", .vendorResponseInvalid, "invalid"), ("half", .vendorResponseInvalid, "invalid"),
        ("mute", .vendorResponseInvalid, "invalid"), ("step", .vendorResponseInvalid, "invalid"),
        ("two", .vendorResponseInvalid, "invalid"),
    ])
    func `Each failure has its code, and only an unprocessed request may be sent again`(
        _ kind: String, _ code: ErrorCode, _ outcome: String
    ) async {
        // Only the hanging server has a short time-out: the others answer, however busy the machine.
        let failure = await self.failure(kind + ".1") { if kind == "hang" { $0.timeout = .seconds(8) } }
        #expect(failure?.0 == code, "\(String(describing: failure))")
        #expect(failure?.1 == outcome, "\(String(describing: failure))")
        #expect(code.isRetryable == (outcome == "not_sent"))
        #expect(self.stub.received == [kind + ".1"])
    }

    @Test func `Nothing is sent to any server but the configured one`() async {
        let pin = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let wrong: [(inout VendorConfiguration) -> Void] = [
            { $0.server?.pins = [pin] }, { $0.certificateAuthorities = nil }, { $0.server?.allowsPrivate = false },
            { $0.server?.networks = ["10.0.0.0/8"] }, { $0.server?.url = "https://localhost:1" },
            { $0.server?.url = "http://localhost:1" }, { $0.server?.pins = ["sha256//x;sha256//y"] },
        ]
        for change in wrong { #expect(await self.failure("live.2", change)?.1 == "not_sent") }
        #expect(self.stub.received.isEmpty)
        #expect(await self.failure("live.2") { $0.server?.deviceKey = "another" }?.0 == .vendorRefused)
        // A second pin is for the key that comes next.
        #expect(await self.failure("live.2") { $0.server?.pins.insert(pin, at: 0) } == nil)
        #expect(await self.failure("live.3") { $0.server?.networks = ["127.0.0.0/8", "::1/128"] } == nil)
    }

    @Test func `A partner's own server is shown its own key alone`() throws {
        let own = SessionVendor(
            url: "https://vendor.example.com", pins: ["p"], keyName: "SHOP", allowPrivate: false,
            networks: ["10.0.0.0/8"])
        let server = try self.client { $0.keys = ["SHOP": "k", "BANK": "l"] }.server(of: own)
        #expect(server.url == own.url && server.deviceKey == "k" && server.pins == ["p"])
        #expect(!server.allowsPrivate && server.networks == ["10.0.0.0/8"])
        let error = #expect(throws: InspectError.self) { try self.client().server(of: own) }
        #expect(error?.code == .vendorNotConfigured)
        var keyless = own
        keyless.keyName = nil
        #expect(try self.client().server(of: keyless).deviceKey == nil)
        let none = #expect(throws: InspectError.self) {
            try self.client { $0.server = nil }.server(of: SessionVendor(pins: [], allowPrivate: false))
        }
        #expect(none?.code == .vendorNotConfigured)
    }

    @Test(arguments: [
        #"{"faceScan":"AAAA","auditTrailImage":"AAAA"}"#, "[1]", "", "two words", "\u{FF}\u{D8}", "line\nline",
    ])
    func `Anything but an opaque string of 10.x is refused before it is sent`(_ blob: String) async {
        #expect(await self.failure(blob)?.0 == .sessionShapeRefused)
        #expect(self.stub.received.isEmpty)
    }
}
