import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Callbacks
@testable import HTTPClient

/// Every hostile case of egress through a real dispatcher and database: refused with its own code, and nothing arrives.
struct EgressTests {
    private let secret = WebhookSecret.generate()
    private let outbox: Outbox

    init() async throws { self.outbox = try await Outbox() }

    /// Sends one callback and returns the code of its attempt, the callback's state and the status.
    private func attempt(
        _ url: String, settings: String = "{}", authorities: URL? = nil, allowHTTP: Bool = true,
        allowPrivate: Bool = true, milliseconds: Int = 30_000, resolver: Resolver = Resolver()
    ) async throws -> (code: String?, state: String, status: Int64?) {
        let endpoint = try await self.outbox.endpoint(
            secret: self.secret.text, allowHTTP: allowHTTP, allowPrivate: allowPrivate)
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
        let id = try await self.outbox.add(endpoint: endpoint, url: url)[0]
        let configuration = self.outbox.configuration {
            $0.certificateAuthorities = authorities?.path
            $0.timeout = .milliseconds(milliseconds)
        }
        let dispatcher = CallbackDispatcher(configuration: configuration, resolver: resolver) { _ in }
        dispatcher.drain()
        await dispatcher.run()
        let rows = try await self.outbox.connection.query(
            """
            SELECT a.code, c.state, a.http_status FROM insp.v_callback c JOIN insp.callback_attempt a ON a.callback_id = c.id
            WHERE c.webhook_id = $1 ORDER BY a.attempt LIMIT 1
            """, [.text(id)])
        // On a machine that stands still there may be a second one.
        let first = try #require(rows.first)
        return (try first.optionalString(0), try first.string(1), try first.optionalInt(2))
    }

    // MARK: - Addresses

    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "localhost", "[::1]", "0.0.0.0",
    ])
    func `No spelling of a local address is reached without permission`(_ host: String) async throws {
        let receiver = try CallbackReceiver()
        let result = try await self.attempt(receiver.url("/ok", host: host), allowPrivate: false)
        #expect(result.code == "EGRESS_REFUSED" && result.state == "pending")
        #expect(try receiver.received().isEmpty)
    }

    @Test(arguments: ["169.254.169.254", "[fd00:ec2::254]", "224.0.0.1", "255.255.255.255"])
    func `No list of networks allows metadata, multicast or broadcast addresses`(_ host: String) async throws {
        let result = try await self.attempt(
            "http://\(host)/latest", settings: #"{"allowedNetworks": ["0.0.0.0/0", "::/0"]}"#)
        #expect(result.code == "EGRESS_REFUSED")
    }

    @Test func `A list of networks admits these alone`() async throws {
        let receiver = try CallbackReceiver()
        let other = try await self.attempt(
            receiver.url("/ok"), settings: #"{"allowedNetworks": ["10.0.0.0/8", "127.0.0.2/32"]}"#)
        #expect(other.code == "EGRESS_REFUSED")
        #expect(try receiver.received().isEmpty)
        let own = try await self.attempt(receiver.url("/ok"), settings: #"{"allowedNetworks": ["127.0.0.0/30"]}"#)
        #expect(own.state == "delivered")
    }

    @Test func `A name that changes to a private address is refused`() async throws {
        let receiver = try CallbackReceiver(secrets: [self.secret.text])
        // Public at first, and then ours: a check made apart from the connection would be passed by the first answer.
        let answers = Mutex(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
        let resolver = Resolver { _ in
            .success([IPAddress(answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] })!])
        }
        let url = "http://rebinding.example:\(receiver.port)/ok"
        // Nothing public is there in this test, so the first ends without a connection: at the time-out or for want of a route.
        let first = try await self.attempt(url, allowPrivate: false, milliseconds: 300, resolver: resolver)
        #expect(
            ["TIMED_OUT", "CONNECTION_FAILED", "LOCAL_FAULT", "STATUS_NOT_SUCCESS", "RESPONSE_BROKEN"].contains(
                first.code))
        // The look-up of another name, since answers are kept for half a minute.
        let second = try await self.attempt(
            "http://again.rebinding.example:\(receiver.port)/ok", allowPrivate: false, resolver: resolver)
        #expect(second.code == "EGRESS_REFUSED")
        #expect(try receiver.received().isEmpty)
    }

    @Test func `An address outside the list is skipped, and an allowed one of the same name is used`() async throws {
        let receiver = try CallbackReceiver(secrets: [self.secret.text])
        // The list allows the one; the other, tried first, is the cloud's metadata service.
        let resolver = Resolver { _ in .success([IPAddress("169.254.169.254")!, IPAddress("127.0.0.1")!]) }
        let result = try await self.attempt(
            "http://partner.example:\(receiver.port)/ok", settings: #"{"allowedNetworks": ["127.0.0.0/8"]}"#,
            resolver: resolver)
        #expect(result.state == "delivered")
        #expect(try receiver.received().count == 1)
    }

    /// A vetted address is vetted again when the socket is opened, and before each request.
    @Test func `The address is checked again when the socket opens`() async throws {
        let receiver = try CallbackReceiver()
        let client = HTTPClient()
        let request = HTTPRequest(
            method: .post(body: []), url: "http://partner.example:\(receiver.port)/ok",
            limits: .init(totalMilliseconds: 60_000, bodyBytes: 1024), allowsHTTP: true)
        let error = await #expect(throws: HTTPError.self) {
            let route = try CurlRoute(for: request, policy: .publicOnly)
            return try await client.send(request, by: route, addresses: [IPAddress("127.0.0.1")!])
        }
        #expect(error?.code == .egressRefused)
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A resolver that hangs leaves the callback pending`() async throws {
        let isOver = Mutex(false)
        defer { isOver.withLock { $0 = true } }
        let resolver = Resolver { _ in
            while !isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
            return .failure(.unknown)
        }
        let result = try await self.attempt("https://partner.example/", milliseconds: 300, resolver: resolver)
        #expect(result.code == "NAME_NOT_RESOLVED" && result.state == "pending")
    }

    @Test func `An unknown name is not resolved`() async throws {
        let result = try await self.attempt("https://partner.example/", resolver: Resolver { _ in .failure(.unknown) })
        #expect(result.code == "NAME_NOT_RESOLVED")
    }

    // MARK: - URLs and headers

    @Test(arguments: [
        "http://partner.example/", "file:///etc/passwd", "gopher://partner.example/",
        "https://user:word@partner.example/",
        "https://partner.example/#part", "https://partner.example/\r\nX-Injected: 1",
    ])
    func `A URL that is not plain HTTPS is dead-lettered`(_ url: String) async throws {
        let result = try await self.attempt(url, allowHTTP: false)
        #expect(result.code == "REQUEST_INVALID" && result.state == "dead")
    }

    @Test(arguments: [
        #"{"apiKeyHeader": "Webhook-Id", "apiKey": "x"}"#, #"{"apiKeyHeader": "Host", "apiKey": "x"}"#,
        #"{"apiKeyHeader": "X-Key: a\r\nX-Other", "apiKey": "x"}"#,
        #"{"apiKeyHeader": "X-Key", "apiKey": "a\r\nX-Other: b"}"#,
        #"{"apiKeyHeader": "Content-Length", "apiKey": "1"}"#, #"{"pins": ["sha256//short"]}"#, #"{"pins": []}"#,
        #"{"allowedNetworks": ["everything"]}"#, #"{"events": ["job.guessed"]}"#,
        #"{"clientKey": "without a certificate"}"#,
    ])
    func `An invalid setting of an endpoint is refused`(_ settings: String) async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        let error = await #expect(throws: PostgresError.self) {
            try await self.outbox.connection.query(
                "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
        }
        #expect(error?.sqlState == "IN088")
        #expect(error?.message.contains("X-Other") == false)
    }

    @Test func `The program refuses a forged header that passed the database`() throws {
        var options = EndpointOptions()
        (options.apiKeyHeader, options.apiKey) = ("Host", "evil.example")
        #expect(throws: HTTPError.self) { try options.apiKeyHeaders() }
        let request = HTTPRequest(
            method: .get, url: "https://partner.example/", headers: [.init(name: "X-Key", value: "a\r\nX-Other: b")],
            limits: .init(totalMilliseconds: 1, bodyBytes: 1))
        #expect(throws: HTTPError.self) { try request.validate() }
    }

    // MARK: - TLS

    private func tls(
        _ receiver: CallbackReceiver, settings: String = "{}", trusted: Bool = true
    ) async throws -> (code: String?, state: String, status: Int64?) {
        try await self.attempt(
            receiver.url("/ok", host: "localhost"), settings: settings,
            authorities: trusted ? receiver.certificate : nil,
            allowHTTP: false)
    }

    @Test func `A server with TLS 1.1 at most is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost", maximumTLS: "1.1")
        #expect(try await self.tls(receiver).code == "TLS_FAILED")
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A certificate of another host is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "partner.example")
        #expect(try await self.tls(receiver).code == "CERTIFICATE_INVALID")
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A certificate of an unknown authority is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost")
        #expect(try await self.tls(receiver, trusted: false).code == "CERTIFICATE_INVALID")
        #expect(try receiver.received().isEmpty)
    }

    @Test func `An expired certificate is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost", isExpired: true)
        #expect(try await self.tls(receiver).code == "CERTIFICATE_INVALID")
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A server that speaks no TLS is refused`() async throws {
        let receiver = try CallbackReceiver()
        let result = try await self.attempt("https://localhost:\(receiver.port)/ok", allowHTTP: false)
        #expect(result.code == "TLS_FAILED")
        #expect(try receiver.received().isEmpty)
    }

    /// The pin of a certificate, computed by openssl and not by the code under test.
    private func pin(of certificate: URL) async throws -> String {
        let digest =
            "openssl x509 -in '\(certificate.path)' -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"
        let text = try await ChildProcess.run("/bin/sh", ["-c", digest]).output
        return "sha256//" + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `Only a server with a pinned key is sent anything`() async throws {
        let receiver = try CallbackReceiver(secrets: [self.secret.text], certificateName: "localhost")
        let right = try await self.pin(of: #require(receiver.certificate))
        let wrong = "sha256//\(Data(repeating: 7, count: 32).base64EncodedString())"
        let refused = try await self.tls(receiver, settings: #"{"pins": ["\#(wrong)"]}"#)
        #expect(refused.code == "PIN_MISMATCH" && refused.state == "pending")
        #expect(try receiver.received().isEmpty)
        // The second pin is the next key's: either will do.
        for pins in [[right], [right, wrong], [wrong, right]] {
            let list = pins.map { "\"\($0)\"" }.joined(separator: ",")
            #expect(try await self.tls(receiver, settings: #"{"pins": [\#(list)]}"#).state == "delivered")
        }
        #expect(try receiver.received().count == 3)
    }

    @Test func `An open connection is not used under another pin`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost")
        let client = HTTPClient(certificateAuthorities: receiver.certificate?.path)
        var request = HTTPRequest(
            method: .post(body: []), url: receiver.url("/ok", host: "localhost"),
            limits: .init(totalMilliseconds: 20_000, bodyBytes: 1024))
        #expect(try await client.send(request, policy: .privateAllowed).status == 200)
        request.transport.pins = ["sha256//\(Data(repeating: 7, count: 32).base64EncodedString())"]
        let pinned = request
        let error = await #expect(throws: HTTPError.self) { try await client.send(pinned, policy: .privateAllowed) }
        #expect(error?.code == .pinMismatch)
        #expect(try receiver.received().count == 1)
    }

    @Test func `A client certificate is shown where an endpoint has one`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mtls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appendingPathComponent("client.pem")
        let key = folder.appendingPathComponent("client-key.pem")
        try CallbackReceiver.makeCertificate(name: "worker", file: certificate, key: key)
        let receiver = try CallbackReceiver(
            secrets: [self.secret.text], certificateName: "localhost", clientAuthority: certificate)
        // Without a certificate the server ends the handshake, or with TLS 1.3 the connection right after it.
        let without = try await self.tls(receiver)
        #expect(without.code == "TLS_FAILED" || without.code == "RESPONSE_BROKEN")
        let settings = try JSONSerialization.data(withJSONObject: [
            "clientCertificate": String(contentsOf: certificate, encoding: .utf8),
            "clientKey": String(contentsOf: key, encoding: .utf8),
        ])
        let with = try await self.tls(receiver, settings: String(decoding: settings, as: UTF8.self))
        #expect(with.state == "delivered")
        #expect(try receiver.received().count == 1)
    }

    // MARK: - Answers

    @Test(arguments: [
        ("/redirect", "REDIRECT_REFUSED", "pending"), ("/status/301", "REDIRECT_REFUSED", "pending"),
        ("/status/500", "STATUS_NOT_SUCCESS", "pending"), ("/gone", "ENDPOINT_GONE", "dead"),
        ("/flood-headers", "RESPONSE_TOO_LARGE", "pending"), ("/hang", "TIMED_OUT", "pending"),
        ("/drip-headers", "TIMED_OUT", "pending"),
    ])
    func `Each hostile answer has its error code, and no redirect is followed`(
        _ path: String, _ code: String, _ state: String
    ) async throws {
        let receiver = try CallbackReceiver()
        let result = try await self.attempt(receiver.url(path), milliseconds: code == "TIMED_OUT" ? 2_000 : 30_000)
        #expect(result.code == code && result.state == state)
        #expect(try receiver.received().allSatisfy { $0.path == path })
    }

    @Test func `A closed port is a failed connection`() async throws {
        #expect(try await self.attempt("http://127.0.0.1:9/").code == "CONNECTION_FAILED")
    }

    /// Answered 2xx before they misbehave: delivered, and cut off.
    @Test(arguments: ["/flood", "/huge", "/drip", "/truncated"])
    func `A 2xx status delivers, whatever the body does`(_ path: String) async throws {
        let receiver = try CallbackReceiver()
        let result = try await self.attempt(receiver.url(path), milliseconds: path == "/drip" ? 6_000 : 30_000)
        #expect(result.code == nil && result.state == "delivered" && result.status == 200)
    }
}
