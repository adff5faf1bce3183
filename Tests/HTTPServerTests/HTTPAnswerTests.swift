import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// Answers that clients do not read.
@Suite struct HTTPAnswerTests {
    /// More than the kernel buffers for a client that does not read.
    private static let large = 12_000_000
    private static let bodies = [
        Self.large: Data(repeating: 0x78, count: Self.large), 9_000_000: Data(count: 9_000_000),
    ]

    private static func server() throws -> HTTPServer {
        var limits = HTTPLimits()
        limits.bodyBytes = 15_000_000
        limits.heldBytes = 60_000_000
        // Memory decides here, not time, however slow the machine is.
        limits.idleSeconds = 300
        limits.answerSeconds = 300
        // Behind a proxy, so that it is the share that counts.
        let proxies = try #require(TrustedProxies(["127.0.0.1"]))
        return try HTTPServer(try #require(ListenAddress("0")), limits: limits, proxies: proxies) { request in
            let size = request.query["size"].flatMap { Int($0) } ?? Self.large
            return .accept(share: request.query["share"]) { _ in
                HTTPResponse(status: 200, body: Self.bodies[size] ?? Data())
            }
        }
    }

    /// A client that has sent a request and does not read the answer.
    private static func ask(_ server: HTTPServer, _ query: String) async throws -> HTTPClient {
        let client = try HTTPClient(server.port)
        await client.send("GET /x?\(query) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return client
    }

    private static func isWhole(_ client: HTTPClient, _ size: Int) async -> Bool {
        let answer = await client.rest()
        return answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.utf8.count > size
    }

    @Test(arguments: ["share=a", ""])
    func `An answer is held memory until it is read or its connection ends`(query: String) async throws {
        let server = try Self.server()
        let reader = try await Self.ask(server, query)
        try await waitUntil("the answer is held") { server.heldBytes > Self.large / 3 }
        #expect(await Self.isWhole(reader, Self.large))
        try await waitUntil("nothing is held") { server.heldBytes == 0 }
        reader.close()
        let deserter = try await Self.ask(server, query)
        try await waitUntil("the answer is held") { server.heldBytes > Self.large / 3 }
        deserter.close()
        try await waitUntil("nothing is held") { server.heldBytes == 0 && server.requestsInFlight == 0 }
        await server.stop(within: .seconds(1))
    }

    @Test func `The kernel buffers little of unread answers`() async throws {
        let answered = Atomic(0)
        let server = try HTTPServer(try #require(ListenAddress("0"))) { _ in
            .accept(share: nil) { _ in
                answered.add(1, ordering: .relaxed)
                return HTTPResponse(status: 200, body: Data(count: 50_000))
            }
        }
        let client = try HTTPClient(server.port)
        await client.send(String(repeating: "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", count: 200))
        // At rest: an answer is held, and none was made for half a second.
        var last = (count: 0, since: ContinuousClock.now)
        try await waitUntil("no answer is made") {
            let count = answered.load(ordering: .relaxed)
            if count != last.count || server.heldBytes == 0 { last = (count, .now) }
            return last.since.duration(to: .now) > .milliseconds(500)
        }
        // 2.5 MB and more, where the kernel decides.
        #expect(answered.load(ordering: .relaxed) < 20)
        client.close()
        await server.stop(within: .seconds(1))
    }

    @Test func `A client that does not read gets no more memory than is left for others, and loses its oldest answers`()
        async throws
    {
        let server = try Self.server()
        let good = try await Self.ask(server, "share=good")
        try await waitUntil("the answer is held") { server.requestsInFlight == 1 && server.heldBytes > 0 }
        var silent: [HTTPClient] = []
        for count in 2..<12 {
            silent.append(try await Self.ask(server, "share=a"))
            try await waitUntil("the request is in flight, or one was closed") {
                server.requestsInFlight == count || server.connections < count
            }
        }
        try await waitUntil("connections were closed") { server.connections <= 5 }
        try await waitUntil("no more is held than allowed") { server.heldBytes <= 60_000_000 }
        // Other clients lose neither current requests, nor answers being sent, nor waiting answers.
        #expect(await Self.isWhole(try await Self.ask(server, "share=b"), Self.large))
        let body = String(repeating: "x", count: 10_000_000)
        #expect(
            try await HTTPClient.exchange(server.port, "POST /x?share=b&size=0", body: body).hasPrefix("HTTP/1.1 200 "))
        #expect(await Self.isWhole(good, Self.large))
        // It gets the answer to its last request, whichever answer the kernel buffered last.
        var isLeft = false
        for client in silent.suffix(3) where !isLeft { isLeft = await Self.isWhole(client, Self.large) }
        #expect(isLeft)
        for client in silent + [good] { client.close() }
        try await waitUntil("nothing is held") { server.heldBytes == 0 && server.requestsInFlight == 0 }
        await server.stop(within: .seconds(1))
    }

    @Test func `Where no client reads, those that hold most lose their answers`() async throws {
        let server = try Self.server()
        let good = try await Self.ask(server, "share=good&size=9000000")
        try await waitUntil("the answer is held") { server.requestsInFlight == 1 && server.heldBytes > 0 }
        var silent: [HTTPClient] = []
        for number in 0..<10 { silent.append(try await Self.ask(server, "share=a\(number)")) }
        try await waitUntil("connections were closed") { server.connections <= 7 }
        try await waitUntil("no more is held than allowed") { server.heldBytes <= 60_000_000 }
        #expect(await Self.isWhole(good, 9_000_000))
        for client in silent + [good] { client.close() }
        try await waitUntil("nothing is held") { server.heldBytes == 0 && server.requestsInFlight == 0 }
        await server.stop(within: .seconds(1))
    }
}
