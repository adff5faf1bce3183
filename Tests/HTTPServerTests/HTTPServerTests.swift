import Foundation
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// The server alone, with a handler that echoes the request.
@Suite struct HTTPServerTests {
    private static func server(_ change: (inout HTTPLimits) -> Void = { _ in }) throws -> HTTPServer {
        var limits = HTTPLimits()
        change(&limits)
        return try HTTPServer(try #require(ListenAddress("0")), limits: limits) { request in
            switch request.path {
            case "/refused": return .refuse(.problem(.unauthenticated))
            case "/paced", "/brief":
                let seconds = request.path == "/brief" ? 2.0 : 60
                return .accept(pace: HTTPPace(seconds: seconds, bytesPerSecond: 1000)) { body in
                    HTTPResponse(status: 200, body: Data("\(body.count)".utf8))
                }
            case "/slow":
                return .accept { _ in
                    try? await Task.sleep(for: .seconds(4))
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

    @Test func `Bodies arrive complete, in one piece or slowly, with a length or in chunks`() async throws {
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
            // So that each chunk arrives alone; nothing shows when the server has read it.
            try await Task.sleep(for: .milliseconds(20))
        }
        await client.send("0\r\n\r\n")
        #expect(await client.rest().hasSuffix("POST /drops [] 15"))
        client.close()
        await server.stop(within: .seconds(5))
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
        await server.stop(within: .seconds(5))
    }

    @Test func `Bodies that are too large or find no room are refused and not kept`() async throws {
        let server = try Self.server {
            $0.bodyBytes = 100_000
            $0.heldBytes = 150_000
        }
        let large = try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 400_000))
        #expect(large.hasPrefix("HTTP/1.1 413 "))
        let holder = try HTTPClient(server.port)
        await holder.send(
            "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 90001\r\n\r\n" + String(repeating: "x", count: 90_000))
        try await waitUntil("the bytes are held") { server.heldBytes >= 90_000 }
        let crowded = try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 80_000))
        #expect(crowded.hasPrefix("HTTP/1.1 503 ") && crowded.contains("Retry-After: "))
        holder.close()
        try await waitUntil("nothing is held") { server.heldBytes == 0 }
        #expect(
            try await HTTPClient.exchange(server.port, "POST /x", body: String(repeating: "x", count: 80_000))
                .hasPrefix(
                    "HTTP/1.1 200 "))
        await server.stop(within: .seconds(5))
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
        var isHeadOpen = true
        var isBodyOpen = true
        try await waitUntil("both are cut off", every: .milliseconds(100)) {
            if isHeadOpen { isHeadOpen = await head.send("X: y\r\n") }
            if isBodyOpen { isBodyOpen = await body.send("x") }
            return !isHeadOpen && !isBodyOpen
        }
        try await waitUntil("no request is in flight") { server.requestsInFlight == 0 }
        #expect(server.heldBytes == 0)
        await server.stop(within: .seconds(5))
    }

    @Test func `A body that comes on steadily gets more time where its route has a pace`() async throws {
        let server = try Self.server { $0.bodySeconds = 1 }
        let piece = "2710\r\n" + String(repeating: "x", count: 10_000) + "\r\n"
        func begin(_ path: String) async throws -> HTTPClient {
            let client = try HTTPClient(server.port)
            await client.send(
                "POST \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
            return client
        }
        let steady = try await begin("/paced")
        // Without a pace, below it, and beyond its time.
        var late = [
            (try await begin("/x"), piece), (try await begin("/paced"), "1\r\nx\r\n"),
            (try await begin("/brief"), piece),
        ]
        let others = late.map(\.0)
        defer { for client in others + [steady] { client.close() } }
        var pieces = 0
        try await waitUntil("the others are cut off", every: .milliseconds(100)) {
            if await steady.send(piece) { pieces += 1 }
            var left: [(HTTPClient, String)] = []
            for (client, text) in late where await client.send(text) { left.append((client, text)) }
            late = left
            return late.isEmpty
        }
        await steady.send("0\r\n\r\n")
        #expect(await steady.rest().hasSuffix("\r\n\r\n\(pieces * 10_000)"))
        await server.stop(within: .seconds(5))
        #expect(server.heldBytes == 0 && server.requestsInFlight == 0)
    }

    @Test func `A stop finishes active work, cuts off clients that still send, and accepts no new ones`() async throws {
        let server = try Self.server()
        let port = server.port
        let working = try HTTPClient(port)
        await working.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        let sending = try HTTPClient(port)
        await sending.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
        try await waitUntil("the requests are in flight") { server.requestsInFlight >= 2 }
        await server.stop(within: .milliseconds(200))
        #expect(await working.rest().hasSuffix("slow"))
        #expect(await sending.rest().isEmpty)
        #expect(throws: (any Error).self) { try HTTPClient(port) }
        working.close()
        sending.close()
        await server.stop(within: .seconds(1))
    }

    @Test func `Work that waits ends when its client leaves, and other work goes on`() async throws {
        let server = try HTTPServer(try #require(ListenAddress("0"))) { request in
            .accept { _ in
                if request.path == "/wait" {
                    await withCheckedContinuation { continuation in
                        HTTPDeparture.current?.notify { continuation.resume() }
                    }
                } else {
                    try? await Task.sleep(for: .seconds(1))
                }
                return HTTPResponse(status: 200, body: Data("answer to \(request.path)".utf8))
            }
        }
        let gone = try HTTPClient(server.port)
        await gone.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        try await waitUntil("the request is in flight") { server.requestsInFlight == 1 }
        gone.close()
        try await waitUntil("the request has ended") { server.requestsInFlight == 0 && server.connections == 0 }
        // A client that only sends nothing more still gets its answer.
        for path in ["/wait", "/other"] {
            let client = try HTTPClient(server.port)
            await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            client.finish()
            #expect(await client.rest().hasSuffix("answer to \(path)"))
            client.close()
        }
        try await waitUntil("all have ended") { server.requestsInFlight == 0 && server.connections == 0 }
        await server.stop(within: .seconds(1))
    }

    /// As many connections as given, none of which is closed for its silence.
    private static func patientServer(connections: UInt32) throws -> HTTPServer {
        try Self.server {
            $0.connections = connections
            $0.firstByteSeconds = 3600
            $0.headSeconds = 3600
            $0.idleSeconds = 3600
        }
    }

    @Test func `Silent connections make room for others`() async throws {
        let server = try Self.patientServer(connections: 20)
        let silent = try (0..<30).map { _ in try HTTPClient(server.port) }
        for client in silent[..<10] { await client.send("GET /x HTTP/1.1\r\n") }
        defer { silent.forEach { $0.close() } }
        #expect(try await HTTPClient.exchange(server.port, "GET /x").hasPrefix("HTTP/1.1 200 "))
        #expect(server.connections <= 20)
        await server.stop(within: .seconds(1))
        #expect(server.connections == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A silent connection is closed when the time for its first byte is over`() async throws {
        let server = try Self.server {
            $0.firstByteSeconds = 1
            $0.headSeconds = 3600
            $0.idleSeconds = 3600
        }
        let silent = try HTTPClient(server.port, seconds: 600)
        defer { silent.close() }
        #expect(await silent.rest().isEmpty)
        await server.stop(within: .seconds(1))
    }

    @Test func `A full server closes no connection before another client arrives`() async throws {
        let server = try Self.patientServer(connections: 3)
        let clients = try (0..<3).map { _ in try HTTPClient(server.port) }
        try await waitUntil("three are connected") { server.connections >= 3 }
        for client in clients {
            await client.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await client.next().hasPrefix("HTTP/1.1 200 "))
        }
        #expect(server.connections == 3)
        // All at once: the newest connection is not the one that is closed.
        let crowd = try (0..<12).map { _ in try HTTPClient(server.port) }
        #expect(try await HTTPClient.exchange(server.port, "GET /x").hasPrefix("HTTP/1.1 200 "))
        (clients + crowd).forEach { $0.close() }
        await server.stop(within: .seconds(1))
    }

    @Test func `A share gets no more requests and memory than are left for others`() async throws {
        var limits = HTTPLimits()
        limits.connections = 20
        limits.bodyBytes = 100_000
        limits.heldBytes = 300_000
        // Behind a proxy, so that it is the share that counts.
        let proxies = try #require(TrustedProxies(["127.0.0.1"]))
        let server = try HTTPServer(try #require(ListenAddress("0")), limits: limits, proxies: proxies) { request in
            .accept(share: request.query["share"], headers: [("X-Known", "yes")]) { _ in HTTPResponse(status: 200) }
        }
        func begin(_ bytes: Int, of count: Int) async throws -> HTTPClient {
            let client = try HTTPClient(server.port)
            await client.send("POST /x?share=a HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n")
            await client.send(String(repeating: "x", count: bytes))
            return client
        }
        var held = [try await begin(90_000, of: 90_001), try await begin(50_000, of: 90_001)]
        defer { held.forEach { $0.close() } }
        try await waitUntil("the bytes are held") { server.heldBytes >= 140_000 }
        let third = try await HTTPClient.exchange(
            server.port, "POST /x?share=a", body: String(repeating: "x", count: 90_000))
        #expect(third.hasPrefix("HTTP/1.1 503 "))
        // The server's own refusals say what the admission gave them.
        let large = try await HTTPClient.exchange(
            server.port, "POST /x?share=b", body: String(repeating: "x", count: 100_001))
        #expect(large.hasPrefix("HTTP/1.1 413 "))
        let other = try await HTTPClient.exchange(
            server.port, "POST /x?share=b", body: String(repeating: "x", count: 100_000))
        #expect(other.hasPrefix("HTTP/1.1 200 "))
        for _ in 0..<8 { held.append(try await begin(1, of: 2)) }
        try await waitUntil("the requests are in flight") { server.requestsInFlight >= 10 }
        let crowded = try await HTTPClient.exchange(server.port, "GET /x?share=a")
        #expect(crowded.hasPrefix("HTTP/1.1 429 ") && crowded.contains("Retry-After: "))
        for refusal in [third, large, crowded] { #expect(refusal.contains("X-Known: yes"), "\(refusal)") }
        #expect(!other.contains("X-Known"))
        #expect(try await HTTPClient.exchange(server.port, "GET /x?share=b").hasPrefix("HTTP/1.1 200 "))
        held.forEach { $0.close() }
        held = []
        try await waitUntil("no request is in flight") { server.requestsInFlight == 0 }
        #expect(server.heldBytes == 0)
        await server.stop(within: .seconds(1))
    }

    @Test func `It uses TLS with forward secrecy only, and does not start with a damaged certificate`() async throws {
        let address = try #require(ListenAddress("0"))
        let damaged = HTTPServer.Identity(certificate: Data("-----".utf8), key: Data("x".utf8))
        #expect(throws: ServerFailure.self) {
            try HTTPServer(address, identity: damaged) { _ in .refuse(.problem(.pathUnknown)) }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (chain, key) = (folder.appendingPathComponent("chain.pem"), folder.appendingPathComponent("key.pem"))
        _ = try await Self.openssl([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout",
            key.path,
            "-out", chain.path,
        ])
        let identity = HTTPServer.Identity(certificate: try Data(contentsOf: chain), key: try Data(contentsOf: key))
        let server = try HTTPServer(address, identity: identity) { _ in
            .accept { HTTPResponse(status: 200, body: Data("\($0.count)".utf8)) }
        }
        func ask(_ options: [String], _ text: String = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            async throws -> String
        {
            try await Self.openssl(
                ["s_client", "-connect", "127.0.0.1:\(server.port)", "-ign_eof"] + options, input: text)
        }
        for options in [
            ["-tls1_2"], ["-tls1_3"], ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"],
            ["-tls1_3", "-alpn", "h2,http/1.1"],
        ] {
            let answer = try await ask(options)
            #expect(answer.contains("HTTP/1.1 200 OK"), "\(options): \(answer)")
            if options.contains("-alpn") { #expect(answer.contains("ALPN protocol: http/1.1")) }
        }
        for options in [
            ["-tls1_2", "-cipher", "AES256-SHA"], ["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
            ["-tls1_2", "-cipher", "ECDHE-RSA-AES256-SHA"], ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
        ] {
            let answer = try await ask(options)
            #expect(!answer.contains("HTTP/1.1 200 OK") && answer.contains("Cipher is (NONE)"), "\(options): \(answer)")
        }
        // More than a record, more than a socket holds.
        let body = String(repeating: "x", count: 3_000_000)
        let large = try await ask(
            [], "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n" + body)
        #expect(large.contains("\r\n\r\n3000000"))
        #expect(try await ask([], "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n").contains("HTTP/1.1 400 "))
        await server.stop(within: .seconds(1))
    }

    private static func openssl(_ arguments: [String], input: String = "") async throws -> String {
        try await ChildProcess.run("/usr/bin/openssl", arguments, input: input).output
    }
}
