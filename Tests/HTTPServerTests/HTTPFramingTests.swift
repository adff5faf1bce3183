import Foundation
import Synchronization
import Testing

@testable import HTTPServer

/// The framing of requests: whatever two readers could interpret differently is refused.
@Suite struct HTTPFramingTests {
    /// The answer to raw bytes, and the number of requests that reached the handler.
    private static func exchange(
        _ bytes: String, change: (inout HTTPLimits) -> Void = { _ in }
    ) async throws -> (answer: String, requests: [String]) {
        final class Seen: Sendable { let requests = Mutex<[String]>([]) }
        let seen = Seen()
        var limits = HTTPLimits()
        limits.idleSeconds = 6
        change(&limits)
        let server = try HTTPServer(try #require(ListenAddress("0")), limits: limits) { request in
            .accept { body in
                seen.requests.withLock {
                    $0.append("\(request.method) \(request.path) \(String(decoding: body.prefix(40), as: UTF8.self))")
                }
                return HTTPResponse(status: 200, body: Data("seen".utf8))
            }
        }
        let client = try HTTPClient(server.port)
        defer { client.close() }
        await client.send(bytes)
        let answer = await client.rest()
        await server.stop(within: .seconds(1))
        #expect(server.heldBytes == 0 && server.requestsInFlight == 0 && server.connections == 0)
        return (answer, seen.requests.withLock { $0 })
    }

    private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 40\r\n", "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n", "Transfer-Encoding:\u{b}chunked\r\n", "Transfer_Encoding: chunked\r\n",
        "Content-Length: +2\r\n", "Content-Length: 0x2\r\n", "Content-Length: 2, 2\r\n", "Content-Length: -1\r\n",
        "Content-Length: 02\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: \r\n", "X: a\u{0}b\r\n",
        "X: y\rz\r\n", "X: y\n", " X: y\r\n", ": y\r\n", "X\r\n", "Host: y\r\n", "X[: y\r\n", "Expect: 200-ok\r\n",
    ])
    func `A head that can be read in two ways is refused, and nothing after it is a request`(field: String) async throws
    {
        let (answer, requests) = try await Self.exchange(
            "POST /a HTTP/1.1\r\nHost: x\r\n\(field)\r\n0\r\n\r\n" + Self.smuggled)
        #expect(answer.hasPrefix("HTTP/1.1 4") && answer.contains("Connection: close\r\n"), "\(answer)")
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2 && requests.isEmpty)
    }

    @Test(arguments: [
        "GET /a HTTP/1.2", "GET /a HTTP/1.1 ", "GET  /a HTTP/1.1", "GET /a", "GET /a\u{0} HTTP/1.1",
        "GET /%00 HTTP/1.1",
        "GET /a%0d%0aX HTTP/1.1", "GET /%zz HTTP/1.1", "GET /a?b=%00 HTTP/1.1", "GET /%c0%af HTTP/1.1",
        "GET a HTTP/1.1",
        "GET http://y/a HTTP/1.1", "GET * HTTP/1.1", "CONNECT x:1 HTTP/1.1", "G[T /a HTTP/1.1", "GET /a#b HTTP/1.1",
        "GET /a\\b HTTP/1.1", "GET /é HTTP/1.1", "\r\nGET /a HTTP/1.1", "PRI * HTTP/2.0",
    ])
    func `A request line is method, target and version, and nothing else`(line: String) async throws {
        let (answer, requests) = try await Self.exchange("\(line)\r\nHost: x\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 400 ") && requests.isEmpty, "\(answer)")
    }

    @Test(arguments: [
        "0x2\r\n{}\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFFF\r\n{}", "2\n{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n",
        "2\r\n{}!\r\n0\r\n\r\n",
        "2 \r\n{}\r\n0\r\n\r\n", "+2\r\n{}\r\n0\r\n\r\n", "2;\r\n{}\r\n0\r\n\r\n", "2;a[=b\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\n\n", "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", "2\r\n{}\r\n0\r\nHost: y\r\n\r\n",
        "2\r\n{}\r\n0\r\nX\r\n\r\n", "\r\n2\r\n{}\r\n0\r\n\r\n",
        "2;a=" + String(repeating: "b", count: 300) + "\r\n{}\r\n0\r\n\r\n",
    ])
    func `Chunks that are not framed to the octet are refused`(body: String) async throws {
        let (answer, requests) = try await Self.exchange(
            "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body + Self.smuggled)
        #expect(answer.hasPrefix("HTTP/1.1 400 ") && requests.isEmpty, "\(answer)")
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
    }

    @Test func `Pipelined requests are each read to their end`() async throws {
        let text =
            "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
            + "HEAD /b?c=d HTTP/1.1\r\nhost: x:80\r\n\r\n"
            + "POST /c HTTP/1.1\r\nHost: [::1]\r\ntransfer-encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 1\r\n\r\n"
            + "POST /d HTTP/1.1\r\nHost: x\r\n\r\n" + "GET http://X/e HTTP/1.1\r\nHost: x\r\n\r\n"
            + "GET /f HTTP/1.0\r\n\r\n" + "GET /g HTTP/1.1\r\nHost: x\r\n\r\n"
        let (answer, requests) = try await Self.exchange(text)
        #expect(requests == ["POST /a hello", "HEAD /b ", "POST /c hello!", "POST /d ", "GET /e ", "GET /f "])
        #expect(answer.components(separatedBy: "HTTP/1.1 200 OK\r\n").count == 7)
        #expect(answer.hasSuffix("Connection: close\r\n\r\nseen"))
        // The same, octet by octet.
        let server = try HTTPServer(try #require(ListenAddress("0"))) { _ in
            .accept { HTTPResponse(status: 200, body: $0) }
        }
        let client = try HTTPClient(server.port)
        for byte
            in "POST /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        {
            await client.send(byte == "\r\n" ? "\r" : String(byte))
            if byte == "\r\n" { await client.send("\n") }
        }
        #expect(await client.rest().hasSuffix("\r\n\r\nabc"))
        client.close()
        await server.stop(within: .seconds(1))
    }

    @Test func `A head has limits, and the server asks for the body`() async throws {
        let long = try await Self.exchange(
            "GET /a HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n")
        #expect(long.answer.hasPrefix("HTTP/1.1 431 ") && long.requests.isEmpty)
        let many = (0..<200).map { "X\($0): y\r\n" }.joined()
        let crowded = try await Self.exchange("GET /a HTTP/1.1\r\nHost: x\r\n\(many)\r\n").answer
        let strange = try await Self.exchange("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n").answer
        // As every refusal, a problem document.
        for (answer, status) in [(long.answer, 431), (crowded, 431), (strange, 417)] {
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("application/problem+json"), "\(answer)")
            #expect(answer.contains(#""status":\#(status),"#) && answer.contains("PARAMETER_INVALID"), "\(answer)")
        }
        #expect(
            try await Self.exchange("GET /\(String(repeating: "a", count: 40_000))").answer.hasPrefix("HTTP/1.1 400 "))
        let server = try HTTPServer(try #require(ListenAddress("0"))) { _ in
            .accept { HTTPResponse(status: 200, body: $0) }
        }
        let client = try HTTPClient(server.port)
        await client.send(
            "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(await client.next() == "HTTP/1.1 100 Continue\r\n\r\n")
        await client.send("ok")
        let answer = await client.rest()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("ok"))
        client.close()
        let options = try await HTTPClient.exchange(server.port, "OPTIONS *")
        #expect(options.hasPrefix("HTTP/1.1 200 OK\r\n"))
        await server.stop(within: .seconds(1))
    }

    @Test func `A PROXY protocol header is accepted from trusted addresses, in both versions`() throws {
        func step(_ bytes: [UInt8]) -> ProxyHeader.Step {
            var header = ProxyHeader()
            var rest = bytes[...]
            var step = ProxyHeader.Step.read(8)
            while case .read(let count) = step, !rest.isEmpty {
                step = Array(rest.prefix(count)).withUnsafeBytes { header.take($0) }
                rest = rest.dropFirst(count)
            }
            // No octet beyond its own was read.
            if case .client = step { #expect(rest.elementsEqual("GET".utf8)) }
            return step
        }
        func text(_ line: String) -> ProxyHeader.Step { step(Array((line + "\r\nGET").utf8)) }
        #expect(text("PROXY TCP4 192.0.2.7 198.51.100.1 4711 443") == .client("192.0.2.7"))
        #expect(text("PROXY TCP6 2001:db8::7 2001:db8::1 4711 443") == .client("2001:db8::7"))
        #expect(text("PROXY UNKNOWN") == .client(nil))
        #expect(text("PROXY TCP6 ::ffff:192.0.2.7 2001:DB8::1 0 65535") == .client("::ffff:192.0.2.7"))
        for wrong in [
            "PROXY TCP4 x y 1 2", "PROXY TCP4 192.0.2.7", "GET / HTTP/1.1",
            "PROXY " + String(repeating: "a", count: 200),
            // The family says of what kind both addresses are.
            "PROXY TCP4 2001:db8::7 2001:db8::1 1 2", "PROXY TCP6 192.0.2.7 198.51.100.1 1 2",
            "PROXY TCP4 192.0.2.7 2001:db8::1 1 2", "PROXY TCP6 2001:db8::7 198.51.100.1 1 2",
            "PROXY TCP4 ::ffff:192.0.2.7 198.51.100.1 1 2", "PROXY TCP4 192.0.2.7 y 1 2",
            // C's functions read up to a NUL.
            "PROXY TCP4 192.0.2.7\u{0} 198.51.100.1 1 2", "PROXY TCP4 192.0.2.7\u{0}x 198.51.100.1 1 2",
            "PROXY TCP4 192.0.2.7 198.51.100.1\u{0} 1 2", "PROXY TCP6 2001:db8::7\u{0} 2001:db8::1 1 2",
            "PROXY TCP4 192.0.2.07 198.51.100.1 1 2", "PROXY TCP4 192.0.2 198.51.100.1 1 2",
            "PROXY TCP6 fe80::7%lo 2001:db8::1 1 2", "PROXY TCP4 192.0.2.7/32 198.51.100.1 1 2",
            "PROXY TCP4 192.0.2.7 198.51.100.1 01 2", "PROXY TCP4 192.0.2.7 198.51.100.1 1 65536",
            "PROXY TCP4 192.0.2.7 198.51.100.1 +1 2", "PROXY TCP4 192.0.2.7 198.51.100.1 1 ",
            "PROXY TCP4 192.0.2.7 198.51.100.1 1", "PROXY TCP4 192.0.2.7 198.51.100.1 1 2 ",
            "PROXY TCP4  192.0.2.7 198.51.100.1 1 2", "PROXY\tTCP4 192.0.2.7 198.51.100.1 1 2",
            "PROXY tcp4 192.0.2.7 198.51.100.1 1 2", "PROXY UDP4 192.0.2.7 198.51.100.1 1 2", "PROXY UNKNOWNS",
        ] {
            #expect(text(wrong) == .broken, "\(wrong)")
        }
        let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
        let four: [UInt8] = [0x21, 0x11, 0, 12, 192, 0, 2, 7, 198, 51, 100, 1, 0x12, 0x67, 1, 0xbb]
        #expect(step(signature + four + "GET".utf8) == .client("192.0.2.7"))
        let six: [UInt8] = [0x21, 0x21, 0, 39, 0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [7]
        #expect(
            step(signature + six + [UInt8](repeating: 0, count: 20) + [1, 0, 0] + "GET".utf8) == .client("2001:db8::7"))
        #expect(step(signature + [0x20, 0, 0, 0] + "GET".utf8) == .client(nil))
        for wrong: [UInt8] in [
            [0x11, 0x11, 0, 0], [0x21, 0x11, 0xff, 0xff], [0x22, 0x11, 0, 0], [0x21, 0x41, 0, 0],
            [0x21, 0x11, 0, 4, 1, 2, 3, 4],
            // A transport that nobody has assigned.
            [0x21, 0x13] + four[2...], [0x21, 0x0f, 0, 0],
        ] {
            #expect(step(signature + wrong) == .broken, "\(wrong)")
        }
    }

    @Test func `Behind a balancer each client has its own address, and direct clients are refused`()
        async throws
    {
        let trusted = try #require(TrustedProxies(["127.0.0.1"]))
        let address = try #require(ListenAddress("0"))
        let server = try HTTPServer(address, proxies: trusted, proxyHeader: true) { request in
            .accept { _ in HTTPResponse(status: 200, body: Data(request.peer.utf8)) }
        }
        let client = try HTTPClient(server.port)
        await client.send(
            "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\nGET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(await client.rest().hasSuffix("\r\n\r\n192.0.2.7"))
        client.close()
        for wrong in ["TCP4 2001:db8::7 2001:db8::1", "TCP4 192.0.2.7\u{0} 198.51.100.1"] {
            let client = try HTTPClient(server.port)
            await client.send(
                "PROXY \(wrong) 4711 443\r\nGET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(await client.rest().isEmpty, "\(wrong)")
            client.close()
        }
        #expect(try await HTTPClient.exchange(server.port, "GET /a").isEmpty)
        await server.stop(within: .seconds(1))
        let elsewhere = try #require(TrustedProxies(["192.0.2.1"]))
        let strict = try HTTPServer(address, proxies: elsewhere, proxyHeader: true) { _ in
            .refuse(.problem(.pathUnknown))
        }
        let stranger = try HTTPClient(strict.port)
        await stranger.send("PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await stranger.rest().isEmpty)
        stranger.close()
        await strict.stop(within: .seconds(1))
    }
}
