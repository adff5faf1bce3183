import Foundation
import TestSupport
import Testing

@testable import HTTPClient

/// Ways out for partners that filter by source: a forward proxy, and addresses of our own.
struct EgressExitTests {
    private let receiver: CallbackReceiver

    init() throws { self.receiver = try CallbackReceiver() }

    private func post(_ url: String, _ client: HTTPClient, _ policy: EgressPolicy = .privateAllowed)
        async throws(HTTPError) -> HTTPResponse
    {
        try await client.send(
            HTTPRequest(
                method: .post(body: Array("{}".utf8)), url: url,
                headers: [.init(name: "content-type", value: "application/json")],
                limits: .init(totalMilliseconds: 60_000, bodyBytes: 65_536), allowsHTTP: true), policy: policy)
    }

    private func failure(of url: String, _ client: HTTPClient, _ policy: EgressPolicy = .privateAllowed) async
        -> HTTPError.Code?
    {
        do throws(HTTPError) {
            _ = try await self.post(url, client, policy)
            return nil
        } catch { return error.code }
    }

    private static let loopback = Resolver { _ in .success([IPAddress("127.0.0.1")!]) }

    @Test func `A proxy is asked for the address that was vetted, never for the name`() async throws {
        let proxy = try TunnelProxy()
        let exit = try #require(EgressExit(proxy: proxy.url, sources: []))
        let client = HTTPClient(resolver: Self.loopback, exit: exit)
        for _ in 0..<2 {
            let answer = try await self.post(self.receiver.url("/ok", host: "partner.example"), client)
            #expect(answer.status == 200 && answer.body == Array("ok".utf8))
        }
        #expect(try await self.post(self.receiver.url("/ok"), client).status == 200)
        let received = try self.receiver.received()
        #expect(received.count == 3)
        // The name is still the server's.
        #expect(received[0].headers.contains { $0.key.lowercased() == "host" && $0.value.hasPrefix("partner.example") })
        let target = "127.0.0.1 CONNECT 127.0.0.1:\(self.receiver.port)"
        #expect(!proxy.asked.isEmpty && proxy.asked.allSatisfy { $0 == target }, "\(proxy.asked)")
    }

    @Test func `A proxy opens no address that the policy refuses`() async throws {
        let proxy = try TunnelProxy()
        let exit = try #require(EgressExit(proxy: proxy.url, sources: []))
        let client = HTTPClient(resolver: Self.loopback, exit: exit)
        for host in ["partner.example", "127.0.0.1", "127.1", "2130706433"] {
            let url = self.receiver.url("/ok", host: host)
            #expect(await self.failure(of: url, client, .publicOnly) == .egressRefused, "\(host)")
        }
        #expect(proxy.asked.isEmpty)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `TLS goes through the tunnel to the server, whose certificate counts`() async throws {
        let server = try CallbackReceiver(certificateName: "partner.example")
        let proxy = try TunnelProxy()
        let exit = try #require(EgressExit(proxy: proxy.url, sources: []))
        let trusting = HTTPClient(
            certificateAuthorities: server.certificate?.path, resolver: Self.loopback, exit: exit)
        #expect(try await self.post(server.url("/ok", host: "partner.example"), trusting).status == 200)
        let other = HTTPClient(resolver: Self.loopback, exit: exit)
        #expect(
            await self.failure(of: server.url("/ok", host: "partner.example"), other) == .certificateInvalid)
    }

    @Test func `A proxy's own failure is ours, what it says of the server is the server's`() async throws {
        for (answer, code) in [(403, HTTPError.Code.localFault), (407, .localFault), (502, .connectionFailed)] {
            let proxy = try TunnelProxy(refusing: answer)
            let client = HTTPClient(exit: try #require(EgressExit(proxy: proxy.url, sources: [])))
            #expect(await self.failure(of: self.receiver.url("/ok"), client) == code, "\(answer)")
        }
        // Nothing listens there.
        let client = HTTPClient(exit: try #require(EgressExit(proxy: "http://127.0.0.1:9", sources: [])))
        #expect(await self.failure(of: self.receiver.url("/ok"), client) == .localFault)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `Requests leave from the given source address`() async throws {
        // The proxy notes from where it is connected to.
        let proxy = try TunnelProxy()
        let source = try #require(IPAddress("127.0.0.7"))
        let client = HTTPClient(exit: try #require(EgressExit(proxy: proxy.url, sources: [source])))
        #expect(try await self.post(self.receiver.url("/ok"), client).status == 200)
        #expect(proxy.asked.map { $0.prefix { $0 != " " } } == ["127.0.0.7"])
        // An address that this host does not have, and one of the other family only.
        for text in ["203.0.113.7", "::1"] {
            let address = try #require(IPAddress(text))
            let wrong = HTTPClient(exit: try #require(EgressExit(proxy: nil, sources: [address])))
            #expect(await self.failure(of: self.receiver.url("/ok"), wrong) == .localFault, "\(text)")
        }
    }

    @Test func `What is no proxy, or two addresses of a family, is refused`() throws {
        for wrong in [
            "proxy.example:3128", "socks5://proxy.example:1080", "http://proxy.example", "http://proxy.example:3128/x",
            "http://proxy.example:3128?x", "http://", "",
        ] { #expect(EgressExit(proxy: wrong, sources: []) == nil, "\(wrong)") }
        for good in ["http://proxy.example:3128", "https://user:secret@[2001:db8::1]:3128/"] {
            #expect(EgressExit(proxy: good, sources: []) != nil, "\(good)")
        }
        let (one, two) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
        #expect(EgressExit(proxy: nil, sources: [one, two]) == nil)
        #expect(EgressExit(proxy: nil, sources: [one, try #require(IPAddress("2001:db8::1"))]) != nil)
    }
}
