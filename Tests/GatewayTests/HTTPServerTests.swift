import Foundation
import InspectCore
import Synchronization
import Testing

@testable import Gateway

/// The server by itself: a handler that answers with what it was given.
@Suite struct HTTPServerTests {
    private static func server(_ change: (inout HTTPLimits) -> Void = { _ in }) throws -> HTTPServer {
        var limits = HTTPLimits()
        change(&limits)
        return try HTTPServer(try #require(ListenAddress("0")), limits: limits) { request in
            switch request.path {
            case "/refused": return .refuse(.problem(.unauthenticated))
            case "/slow":
                return .accept { _ in
                    try? await Task.sleep(for: .seconds(1))
                    return HTTPResponse(status: 200, body: Data("slow".utf8))
                }
            default:
                return .accept { body in
                    let text =
                        "\(request.method) \(request.path) \(request.query.sorted { $0.key < $1.key }) \(body.count)"
                    return HTTPResponse(status: 200, headers: [("Content-Type", "text/plain")], body: Data(text.utf8))
                }
            }
        }
    }

    @Test func `Bodies arrive whole, in one piece or in drops, announced or in chunks`() async throws {
        let server = try Self.server()
        let large = String(repeating: "x", count: 3_000_000)
        #expect(
            try await HTTPClient.exchange(server.port, "POST /a%20b?wait=1&x", body: large).hasSuffix(
                #"POST /a b [(key: "wait", value: "1"), (key: "x", value: "")] 3000000"#))
        #expect(try await HTTPClient.exchange(server.port, "GET /none").hasSuffix("GET /none [] 0"))
        let client = try HTTPClient(server.port)
        await client.send("POST /drops HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<3 {
            await client.send("5\r\nhello\r\n")
            try await Task.sleep(for: .milliseconds(20))
        }
        await client.send("0\r\n\r\n")
        #expect(await client.rest().hasSuffix("POST /drops [] 15"))
        client.close()
        await server.stop(within: 5)
        #expect(server.heldBytes == 0 && server.requestsInFlight == 0)
    }

    @Test func `A refused request is answered before a large body is sent, and after a small one`() async throws {
        let server = try Self.server()
        let client = try HTTPClient(server.port)
        await client.send(
            "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\nExpect: 100-continue\r\n\r\n")
        let answer = await client.rest()
        #expect(answer.hasPrefix("HTTP/1.1 401 Unauthorized\r\n") && answer.contains(#""code":"UNAUTHENTICATED""#))
        #expect(answer.contains("WWW-Authenticate: Basic"))
        client.close()
        let small = try await HTTPClient.exchange(
            server.port, "POST /refused", body: String(repeating: "x", count: 500_000))
        #expect(small.hasPrefix("HTTP/1.1 401 ") && server.heldBytes == 0)
        await server.stop(within: 5)
    }

    @Test func `What is too large, and what there is no room for, is refused and not kept`() async throws {
        let server = try Self.server {
            $0.bodyBytes = 100_000
            $0.heldBytes = 150_000
        }
        let large = try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 400_000))
        #expect(large.hasPrefix("HTTP/1.1 413 "))
        let holder = try HTTPClient(server.port)
        await holder.send(
            "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 90001\r\n\r\n" + String(repeating: "x", count: 90_000))
        while server.heldBytes < 90_000 { try await Task.sleep(for: .milliseconds(10)) }
        let crowded = try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 80_000))
        #expect(crowded.hasPrefix("HTTP/1.1 503 ") && crowded.contains("Retry-After: "))
        holder.close()
        while server.heldBytes > 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(
            try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 80_000))
                .hasPrefix(
                    "HTTP/1.1 200 "))
        await server.stop(within: 5)
    }

    @Test func `A client that drips is cut off, in its head and in its body`() async throws {
        let server = try Self.server {
            $0.headSeconds = 1
            $0.bodySeconds = 1
        }
        let head = try HTTPClient(server.port)
        let body = try HTTPClient(server.port)
        defer {
            head.close()
            body.close()
        }
        await head.send("GET /x HTTP/1.1\r\n")
        await body.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        let deadline = ContinuousClock.now + .seconds(20)
        var isHeadOpen = true
        var isBodyOpen = true
        while isHeadOpen || isBodyOpen, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(100))
            if isHeadOpen { isHeadOpen = await head.send("X: y\r\n") }
            if isBodyOpen { isBodyOpen = await body.send("x") }
        }
        #expect(!isHeadOpen && !isBodyOpen)
        while server.requestsInFlight > 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(server.heldBytes == 0)
        await server.stop(within: 5)
    }

    @Test func `Stopping lets work end, cuts off those that still send, and takes nobody new`() async throws {
        let server = try Self.server()
        let port = server.port
        let working = try HTTPClient(port)
        await working.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        let sending = try HTTPClient(port)
        await sending.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
        while server.requestsInFlight < 2 { try await Task.sleep(for: .milliseconds(10)) }
        await server.stop(within: 0.2)
        #expect(await working.rest().hasSuffix("slow"))
        #expect(await sending.rest().isEmpty)
        #expect(throws: (any Error).self) { try HTTPClient(port) }
        working.close()
        sending.close()
        await server.stop(within: 1)
    }

    @Test func `It speaks TLS with a certificate, and starts with none that is damaged`() async throws {
        let address = try #require(ListenAddress("0"))
        let damaged = HTTPServer.Identity(certificate: Data("-----".utf8), key: Data("x".utf8))
        #expect(throws: ServerFailure.self) {
            try HTTPServer(address, identity: damaged) { _ in .refuse(.problem(.pathUnknown)) }
        }
    }
}
