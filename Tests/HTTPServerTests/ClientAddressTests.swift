import Testing

@testable import HTTPServer

/// By whose address a client is known.
@Suite struct ClientAddressTests {
    @Test func `A forwarded address counts only from a trusted proxy, and only its last part`() throws {
        let proxies = try #require(TrustedProxies(["10.0.0.0/8", "::1"]))
        func client(_ peer: String, _ forwarded: String?) -> String {
            proxies.client(
                HTTPRequest(
                    method: "GET", path: "/", headers: forwarded.map { ["x-forwarded-for": $0] } ?? [:], peer: peer))
        }
        #expect(client("192.0.2.1", "203.0.113.9") == "192.0.2.1")
        #expect(client("10.1.2.3", "203.0.113.9") == "203.0.113.9")
        #expect(client("10.1.2.3", "6.6.6.6, 203.0.113.9, 10.9.9.9") == "203.0.113.9")
        #expect(client("::1", "2001:db8::1") == "2001:db8::1")
        #expect(client("10.1.2.3", "nonsense") == "10.1.2.3")
        #expect(client("::ffff:10.1.2.3", "203.0.113.9") == "203.0.113.9")
        #expect(
            TrustedProxies(["host"]) == nil && TrustedProxies(["10.0.0.0/33"]) == nil && TrustedProxies([""]) == nil)
        #expect(TrustedProxies.bucket("2001:db8::1") == TrustedProxies.bucket("2001:db8::ffff"))
        #expect(TrustedProxies.bucket("::FFFF:192.0.2.1") == TrustedProxies.bucket("192.0.2.1"))
        #expect(TrustedProxies.bucket("192.0.2.1") != TrustedProxies.bucket("192.0.2.2"))
    }
}
