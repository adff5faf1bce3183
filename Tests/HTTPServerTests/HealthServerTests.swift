import Foundation
import Glibc
import Synchronization
import Testing

@testable import HTTPServer

@Suite struct HealthServerTests {
    private static func server() throws -> HealthServer {
        let address = try #require(ListenAddress("0"))
        return try HealthServer(address) { path in
            switch path {
            case "/good": HealthAnswer(contentType: "application/json", body: "{}\n")
            case "/bad": HealthAnswer(status: 503, contentType: "application/json", body: #"{"reason":"ü"}"#)
            case "/large": HealthAnswer(contentType: "text/plain", body: String(repeating: "x", count: 300_000))
            default: nil
            }
        }
    }

    /// One request over its own socket; returns all bytes until the server closes the connection or falls silent.
    private static func exchange(_ port: UInt16, _ request: String, seconds: Int = 30) throws -> String {
        let descriptor = try Self.connect(port, seconds: seconds)
        defer { close(descriptor) }
        let bytes = Array(request.utf8)
        #expect(send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { break }
            answer += buffer.prefix(count)
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private static func connect(_ port: UInt16, seconds: Int = 30) throws -> CInt {
        try HTTPClient(port, seconds: seconds).descriptor
    }

    private static func request(_ line: String, more: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(more)\r\n"
    }

    @Test func `GET and HEAD are answered, anything else is refused`() throws {
        let server = try Self.server()
        defer { server.stop() }
        let good = try Self.exchange(server.port, Self.request("GET /good"))
        #expect(good.hasPrefix("HTTP/1.1 200 OK\r\n") && good.hasSuffix("\r\n\r\n{}\n"))
        #expect(good.contains("Content-Type: application/json\r\n") && good.contains("Cache-Control: no-store\r\n"))
        let head = try Self.exchange(server.port, Self.request("HEAD /good"))
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.hasSuffix("\r\n\r\n"))
        #expect(head.contains("Content-Length: 3\r\n"))
        let bad = try Self.exchange(server.port, Self.request("GET /bad?x=1"))
        #expect(bad.hasPrefix("HTTP/1.1 503 ") && bad.hasSuffix(#"{"reason":"ü"}"#))
        #expect(try Self.exchange(server.port, Self.request("GET /other")).hasPrefix("HTTP/1.1 404 "))
        #expect(try Self.exchange(server.port, Self.request("GET /large")).utf8.count > 300_000)
        for method in ["PUT", "DELETE", "OPTIONS", "get", "TRACE"] {
            let refused = try Self.exchange(server.port, Self.request("\(method) /good"))
            #expect(refused.hasPrefix("HTTP/1.1 405 ") && refused.contains("Allow: GET, HEAD\r\n"), "\(method)")
        }
        let post = try Self.exchange(server.port, Self.request("POST /good", more: "Content-Length: 5\r\n") + "hello")
        #expect(post.hasPrefix("HTTP/1.1 405 "))
        let long = try Self.exchange(
            server.port, Self.request("GET /good", more: "X: \(String(repeating: "x", count: 100_000))\r\n"))
        #expect(!long.contains("200 OK"))
    }

    @Test func `Silent connections are closed and do not block others for long`() throws {
        let server = try Self.server()
        defer { server.stop() }
        let idle = try (0..<40).map { _ in try Self.connect(server.port) }
        defer { idle.forEach { close($0) } }
        let answer = try Self.exchange(server.port, Self.request("GET /good"), seconds: 60)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test func `A client with many requests gets one answer before another client's turn`() throws {
        let paths = Mutex<[String]>([])
        let (began, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let address = try #require(ListenAddress("0"))
        let server = try HealthServer(address) { path in
            let isFirst = paths.withLock { paths in
                paths.append(path)
                return paths.count == 1
            }
            if isFirst {
                began.signal()
                _ = goesOn.wait(timeout: .now() + 60)
            }
            return HealthAnswer(contentType: "text/plain", body: "x")
        }
        defer { server.stop() }
        let many = try Self.connect(server.port)
        defer { close(many) }
        let bytes = Array(String(repeating: "GET /many HTTP/1.1\r\nHost: x\r\n\r\n", count: 500).utf8)
        #expect(send(many, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
        #expect(began.wait(timeout: .now() + 60) == .success)
        // Its request arrives before the first of the many is answered.
        let other = try Self.connect(server.port)
        defer { close(other) }
        let question = Array(Self.request("GET /other").utf8)
        #expect(send(other, question, question.count, CInt(MSG_NOSIGNAL)) == question.count)
        goesOn.signal()
        var buffer = [UInt8](repeating: 0, count: 4096)
        #expect(recv(other, &buffer, buffer.count, 0) > 0)
        let place = paths.withLock { $0.firstIndex(of: "/other") }
        #expect(try #require(place) < 10)
        // All of them are answered in the end.
        let last = Array(Self.request("GET /last").utf8)
        #expect(send(many, last, last.count, CInt(MSG_NOSIGNAL)) == last.count)
        var answers: [UInt8] = []
        while true {
            let count = recv(many, &buffer, buffer.count, 0)
            if count <= 0 { break }
            answers += buffer.prefix(count)
        }
        #expect(String(decoding: answers, as: UTF8.self).components(separatedBy: "HTTP/1.1 200 OK\r\n").count == 502)
    }

    @Test func `It answers while every thread of Swift's pool is busy`() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let port = server.port
        let width = ProcessInfo.processInfo.activeProcessorCount
        let pool = BusyPool()
        Thread.detachNewThread {
            // The pool has a thread for each core.
            let isFull = pool.wait(seconds: 60) { $0.blocked >= width }
            pool.set(isFull ? (try? Self.exchange(port, Self.request("GET /good"))) ?? "" : "never full")
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<(width * 4) { group.addTask { pool.block(seconds: 120) } }
        }
        #expect(pool.answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test func `A stopped server frees its port, and a port in use is an error`() throws {
        let first = try Self.server()
        let address = try #require(ListenAddress("127.0.0.1:\(first.port)"))
        #expect(throws: ServerFailure.self) { try HealthServer(address) { _ in nil } }
        first.stop()
        first.stop()
        let second = try HealthServer(address) { _ in nil }
        second.stop()
    }

    @Test func `Addresses are numeric, and loopback unless said otherwise`() {
        #expect(ListenAddress("9464").map { "\($0)" } == "127.0.0.1:9464")
        #expect(ListenAddress("0.0.0.0:80").map { "\($0)" } == "0.0.0.0:80")
        #expect(ListenAddress("[::1]:80").map { "\($0)" } == "[::1]:80")
        for wrong in [
            "", ":", "a", "-1", "70000", "host:80", "::1:80", "[::1]80", "1.2.3:x", "127.0.0.1:", "[x]:1", "+5",
        ] {
            #expect(ListenAddress(wrong) == nil, "\(wrong)")
        }
    }
}

/// Tasks that block their threads until a thread outside Swift's pool has an answer.
private final class BusyPool: @unchecked Sendable {
    struct State {
        var blocked = 0
        var answer: String?
    }

    // Guarded by the condition.
    private let condition = NSCondition()
    private var state = State()

    var answer: String { self.condition.withLock { self.state.answer ?? "" } }

    func set(_ answer: String) {
        self.condition.withLock {
            self.state.answer = answer
            self.condition.broadcast()
        }
    }

    func block(seconds: Double) {
        self.condition.withLock {
            self.state.blocked += 1
            self.condition.broadcast()
        }
        _ = self.wait(seconds: seconds) { $0.answer != nil }
    }

    func wait(seconds: Double, until condition: (State) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return self.condition.withLock {
            while !condition(self.state) { if !self.condition.wait(until: deadline) { break } }
            return condition(self.state)
        }
    }
}
