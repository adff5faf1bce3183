import Foundation
import TestSupport
import Testing

@testable import HTTPClient

/// Against a real server on the loopback interface.
struct CurlMultiTests {
    private let receiver: CallbackReceiver
    private let client = HTTPClient()

    init() throws {
        _ = Self.deadProxy
        self.receiver = try CallbackReceiver()
    }

    /// Nothing listens on port 9: a client that used the environment's proxy would fail every test below.
    ///
    /// Set once and left, because changing the environment beside running threads is unsafe.
    private static let deadProxy: Void = {
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            setenv(name, "http://127.0.0.1:9", 1)
        }
        for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
    }()

    private func post(
        _ url: String, milliseconds: Int = 60_000, bodyBytes: Int = 65_536, policy: EgressPolicy = .privateAllowed
    ) async throws(HTTPError) -> HTTPResponse {
        try await self.client.send(
            HTTPRequest(
                method: .post(body: Array("{}".utf8)), url: url,
                headers: [.init(name: "content-type", value: "application/json")],
                limits: .init(totalMilliseconds: milliseconds, bodyBytes: bodyBytes), allowsHTTP: true),
            policy: policy)
    }

    /// The code with which a request fails, and the milliseconds until then.
    private func failure(
        of url: String, milliseconds: Int = 60_000, policy: EgressPolicy = .privateAllowed
    ) async -> (code: HTTPError.Code?, milliseconds: Double) {
        let start = ContinuousClock.now
        var code: HTTPError.Code?
        do throws(HTTPError) {
            _ = try await self.post(url, milliseconds: milliseconds, policy: policy)
        } catch {
            code = error.code
        }
        return (code, (ContinuousClock.now - start) / .milliseconds(1))
    }

    @Test func `Requests share one connection`() async throws {
        for expected in [false, true, true] {
            let response = try await self.post(self.receiver.url("/ok"))
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
            #expect(response.bodyFailure == nil)
            #expect(response.header("content-length") == "2")
            #expect(response.isConnectionReused == expected)
        }
        let received = try self.receiver.received()
        #expect(received.map(\.body) == ["{}", "{}", "{}"])
        #expect(Set(received.map(\.connection)).count == 1)
        #expect(received[0].headers["content-type"] == "application/json")
        #expect(received[0].headers["expect"] == nil)
    }

    @Test func `Redirects are not followed`() async throws {
        let response = try await self.post(self.receiver.url("/redirect"))
        #expect(response.status == 307)
        #expect(try self.receiver.received().count == 1)
    }

    @Test func `A proxy in the environment is ignored`() async throws {
        #expect(getenv("http_proxy") != nil)
        #expect(try await self.post(self.receiver.url("/ok")).status == 200)
    }

    @Test func `An endless body is cut off, and the status counts`() async throws {
        let response = try await self.post(self.receiver.url("/flood"))
        #expect(response.status == 200)
        #expect(response.bodyFailure?.code == .responseTooLarge)
        #expect(response.body.count <= 65_536)
    }

    @Test func `A huge body is refused when its header arrives`() async throws {
        let response = try await self.post(self.receiver.url("/huge"))
        #expect(response.status == 200)
        #expect(response.bodyFailure?.code == .responseTooLarge)
        #expect(response.body.isEmpty)
    }

    @Test func `Endless headers are cut off`() async throws {
        #expect(await self.failure(of: self.receiver.url("/flood-headers")).code == .responseTooLarge)
    }

    @Test(arguments: ["/hang", "/drip-headers"])
    func `A server that does not answer in time fails`(_ path: String) async throws {
        let asking = Task { await self.failure(of: self.receiver.url(path), milliseconds: 700) }
        let failure = try await asking.value(within: .hangDeadline)
        #expect(failure.code == .timedOut)
        #expect(failure.milliseconds >= 600)
    }

    @Test func `A body that drips is cut off, and the status counts`() async throws {
        let response = try await self.post(self.receiver.url("/drip"), milliseconds: 5_000)
        #expect(response.status == 200)
        #expect(response.bodyFailure?.code == .timedOut)
    }

    @Test func `A body that is cut short is reported`() async throws {
        let response = try await self.post(self.receiver.url("/truncated"))
        #expect(response.bodyFailure?.code == .responseBroken)
        #expect(response.body.count == 10)
    }

    @Test func `A server that hangs delays no other request`() async throws {
        let deaf = Task { await self.failure(of: self.receiver.url("/hang"), milliseconds: 60_000) }
        try await waitUntil("the server has the request") { try !self.receiver.received().isEmpty }
        for _ in 0..<20 { #expect(try await self.post(self.receiver.url("/ok")).status == 200) }
        // It is still under way: had the others waited for it, it would have timed out by now.
        deaf.cancel()
        #expect(try await deaf.value(within: .seconds(120)).code == .cancelled)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Cancelling a task ends its transfer`() async throws {
        let task = Task { await self.failure(of: self.receiver.url("/hang"), milliseconds: 600_000) }
        try await waitUntil("the server has the request") { try !self.receiver.received().isEmpty }
        task.cancel()
        #expect(try await task.value(within: .seconds(120)).code == .cancelled)
    }

    @Test func `A cancelled task sends nothing`() async throws {
        let task = Task {
            try? await Task.sleep(for: .seconds(60))
            return await self.failure(of: self.receiver.url("/ok"))
        }
        task.cancel()
        #expect(try await task.value(within: .seconds(120)).code == .cancelled)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `A closed port is a failed connection`() async throws {
        #expect(await self.failure(of: "http://127.0.0.1:9/").code == .connectionFailed)
    }

    @Test func `An unknown name is not resolved`() async throws {
        // Without a name server, it is unknown whether the name exists.
        let code = await self.failure(of: "http://no-such-host.invalid/").code
        #expect(code == .nameNotResolved || code == .resolverSilent)
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "localhost", "[::ffff:127.0.0.1]",
    ])
    func `A private address is refused in each of its spellings`(_ host: String) async throws {
        let url = self.receiver.url("/ok", host: host)
        #expect(await self.failure(of: url, policy: .publicOnly).code == .egressRefused)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test(arguments: ["169.254.169.254", "0.0.0.0", "[::]", "224.0.0.1", "255.255.255.255"])
    func `A forbidden address is refused even where private ones are allowed`(_ host: String) async throws {
        #expect(await self.failure(of: self.receiver.url("/ok", host: host)).code == .egressRefused)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `A connection opened under a lax policy is not used under a strict one`() async throws {
        let url = self.receiver.url("/ok")
        #expect(try await self.post(url).status == 200)
        #expect(await self.failure(of: url, policy: .publicOnly).code == .egressRefused)
        #expect(try self.receiver.received().count == 1)
    }

    @Test func `Two hundred requests at once succeed`() async throws {
        let url = self.receiver.url("/ok")
        let statuses = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<200 { group.addTask { try? await self.post(url, milliseconds: 120_000).status } }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 200))
    }
}
