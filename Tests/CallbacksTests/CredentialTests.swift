import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// A client that may create a job may specify any URL for its callback: what an endpoint entrusts to its own servers stays there.
struct CredentialTests {
    private let secret = WebhookSecret.generate()
    private let outbox: Outbox

    init() async throws { self.outbox = try await Outbox() }

    private func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        try await self.outbox.connection.query(sql, parameters)
    }

    /// A partner whose endpoint is at a receiver.
    private func partner(at url: String, _ settings: String) async throws -> (name: String, endpoint: Int64) {
        let name = "partner-\(UUID().uuidString.lowercased())"
        let endpoint = try await self.query(
            "SELECT endpoint_id FROM insp.create_partner($1, $2, true, true)", [.text(name), .text(url)])[0].int(0)
        _ = try await self.query(
            "SELECT insp.callback_rotate_secret($1, '0', $2)", [.int(endpoint), .text(self.secret.text)])
        _ = try await self.query("SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
        return (name, endpoint)
    }

    /// A finished job, its result with a name in it; returns its callback's webhook-id.
    @discardableResult
    private func job(_ partner: String, callbackURL: String? = nil) async throws -> String {
        let url = callbackURL.map { #","callbackUrl":"\#($0)""# } ?? ""
        let id = try await self.query(
            "SELECT insp.enqueue($1::jsonb, front => 'x'::bytea)",
            [.text(#"{"partner":"\#(partner)","workflow":"id"\#(url)}"#)])[0].string(0)
        let number = try await self.query("SELECT id FROM insp.job WHERE public_id = $1::uuid", [.text(id)])[0].int(0)
        // A lease as a claim makes it.
        _ = try await self.query(
            """
            WITH r AS (DELETE FROM insp.ready WHERE job_id = $1 RETURNING *)
            INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT $1, $1, 1, now() + interval '1 hour', r.queue, 1, 0 FROM r
            """, [.int(number)])
        let body = #"{"capabilities":{"extraction":[{"data":{"lastName":"CANARY"}}]}}"#
        _ = try await self.query(
            """
            SELECT insp.settle(ARRAY[$1::bigint], ARRAY[$1::bigint], ARRAY['{"decision":{"type":"PASSED"}}'],
                ARRAY[$2::bytea], '{}', '{}', '{}', '{}')
            """, [.int(number), .bytes(Data(body.utf8))])
        return try await self.query("SELECT webhook_id FROM insp.callback WHERE job_id = $1", [.int(number)])[0].string(
            0)
    }

    @Test func `The API key, the token and the result go to the endpoint's own origin alone`() async throws {
        let own = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "client:secret")
        let elsewhere = try CallbackReceiver(secrets: [self.secret.text])
        let (name, endpoint) = try await self.partner(
            at: own.url("/ok"),
            #"{"inlineResult": true, "apiKeyHeader": "X-Key", "apiKey": "API CANARY", "allowedNetworks": ["127.0.0.0/8"]}"#
        )
        _ = try await self.query(
            "SELECT insp.callback_authorize($1, $2, 'client', 'secret')", [.int(endpoint), .text(own.url("/token"))])
        let inside = try await self.job(name)
        let other = try await self.job(name, callbackURL: own.url("/ok?other=1"))
        let foreign = try await self.job(name, callbackURL: elsewhere.url("/ok"))
        await self.outbox.dispatch()
        for id in [inside, other, foreign] { #expect(try await self.outbox.row(id).state == "delivered") }

        for request in try own.received() where request.path.hasPrefix("/ok") {
            #expect(request.verified && request.body.contains("CANARY"))
            #expect(request.headers["authorization"]?.hasPrefix("Bearer ") == true)
            #expect(request.headers["x-key"] == "API CANARY")
        }
        #expect(try own.received().filter { $0.path.hasPrefix("/ok") }.count == 2)
        let there = try elsewhere.received()
        try #require(there.count == 1)
        #expect(there[0].verified)
        #expect(there[0].headers["authorization"] == nil && there[0].headers["x-key"] == nil)
        #expect(!"\(there[0])".contains("CANARY") && !"\(there[0])".contains("token-"))

        // An operator vouches for the other server, and takes that back. The result goes there for jobs that are finished
        // meanwhile: the body of one of before stays as it was sent.
        var listed: String?
        for list in [elsewhere.url("/"), nil] {
            let text = list.map { "[\"\($0)\"]" } ?? "null"
            _ = try await self.query(
                "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(#"{"origins": \#(text)}"#)])
            #expect(try await self.query("SELECT insp.callback_replay($1)", [.text(foreign)])[0].bool(0))
            if let listed {
                #expect(try await self.query("SELECT insp.callback_replay($1)", [.text(listed)])[0].bool(0))
            } else {
                listed = try await self.job(name, callbackURL: elsewhere.url("/ok"))
            }
            await self.outbox.dispatch()
            let last = try elsewhere.received().suffix(2)
            for request in last {
                #expect(request.verified && (request.headers["authorization"] == nil) == (list == nil))
                #expect((request.headers["x-key"] == nil) == (list == nil))
            }
            let whole = list == nil ? [] : [try #require(listed)]
            #expect(last.filter { $0.body.contains("CANARY") }.map(\.webhookId) == whole)
            #expect(last.contains { $0.webhookId == foreign && $0.body == there[0].body })
        }
        #expect(try elsewhere.received().count == 5)
    }

    @Test func `The client certificate goes to the endpoint's own origin alone`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mtls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appendingPathComponent("client.pem")
        let key = folder.appendingPathComponent("client-key.pem")
        try CallbackReceiver.makeCertificate(name: "worker", file: certificate, key: key)
        // Both ask every client for a certificate of the same authority, so that a client without one is refused.
        func receiver() throws -> CallbackReceiver {
            try CallbackReceiver(
                secrets: [self.secret.text], certificateName: "localhost", clientAuthority: certificate)
        }
        let (own, elsewhere) = (try receiver(), try receiver())
        let settings = try JSONSerialization.data(withJSONObject: [
            "clientCertificate": String(contentsOf: certificate, encoding: .utf8),
            "clientKey": String(contentsOf: key, encoding: .utf8), "allowedNetworks": ["127.0.0.0/8", "::1/128"],
        ])
        let (name, _) = try await self.partner(
            at: own.url("/ok", host: "localhost"), String(decoding: settings, as: UTF8.self))
        let inside = try await self.job(name)
        let foreign = try await self.job(name, callbackURL: elsewhere.url("/ok", host: "localhost"))
        let authorities = folder.appendingPathComponent("both.pem")
        var both = Data()
        for receiver in [own, elsewhere] { both += try Data(contentsOf: try #require(receiver.certificate)) }
        try both.write(to: authorities)
        await self.outbox.dispatch { $0.certificateAuthorities = authorities.path }
        #expect(try await self.outbox.row(inside).state == "delivered")
        let row = try await self.outbox.row(foreign)
        #expect(row.state == "pending" && row.attempts == 1 && row.lastStatus == nil, "\(row)")
        #expect(try elsewhere.received().isEmpty)
        // The list is what was missing.
        _ = try await self.query(
            "UPDATE insp.endpoint SET origins = ARRAY[insp.url_origin($1)]",
            [.text(elsewhere.url("/", host: "localhost"))])
        try await self.outbox.hurry()
        await self.outbox.dispatch { $0.certificateAuthorities = authorities.path }
        #expect(try await self.outbox.row(foreign).state == "delivered")
    }

    /// The permission to reach private addresses is the endpoint's own; a list of networks holds for all URLs.
    @Test func `The callbackUrl of a job cannot use the endpoint's right to private addresses`() async throws {
        let own = try CallbackReceiver(secrets: [self.secret.text])
        let elsewhere = try CallbackReceiver(secrets: [self.secret.text])
        let (name, endpoint) = try await self.partner(at: own.url("/ok"), "{}")
        let inside = try await self.job(name)
        // Refused where it is asked for, and where it is sent: the list may have changed between.
        let refused = await #expect(throws: PostgresError.self) {
            try await self.job(name, callbackURL: elsewhere.url("/ok"))
        }
        #expect(refused?.sqlState == "IN015")
        let list = "UPDATE insp.endpoint SET allowed_networks = $1::cidr[] WHERE id = $2"
        _ = try await self.query(list, [.text("{127.0.0.0/8}"), .int(endpoint)])
        let foreign = try await self.job(name, callbackURL: elsewhere.url("/ok"))
        _ = try await self.query(list, [.null, .int(endpoint)])
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(inside).state == "delivered")
        let code = try await self.query(
            "SELECT a.code FROM insp.callback_attempt a JOIN insp.callback c ON c.id = a.callback_id WHERE c.webhook_id = $1",
            [.text(foreign)])[0]
        #expect(try code.string(0) == "EGRESS_REFUSED")
        #expect(try elsewhere.received().isEmpty)
        for (networks, count) in [("10.0.0.0/8", 0), ("127.0.0.0/8", 1)] {
            _ = try await self.query(
                "SELECT insp.set_endpoint($1, $2::jsonb)",
                [.int(endpoint), .text(#"{"allowedNetworks": ["\#(networks)"]}"#)])
            try await self.outbox.hurry()
            await self.outbox.dispatch()
            #expect(try elsewhere.received().count == count)
        }
    }

    @Test func `The origin of a URL is null unless it can be read plainly`() async throws {
        let cases: [(String, String?)] = [
            ("https://a.example/x", "https://a.example"), ("HTTPS://A.Example:443?x", "https://a.example"),
            ("https://a.example:8443", "https://a.example:8443"), ("http://a.example:80/", "http://a.example"),
            ("http://a.example:443/", "http://a.example:443"), ("https://[::1]:9/x", "https://[::1]:9"),
            ("https://a.example@b.example/", nil), ("https://a.example\\@b.example/", nil), ("ftp://a.example/", nil),
            ("https:///a.example", nil), ("https://a.example:x/", nil), ("//a.example/", nil),
            ("https://a.example#@b.example/", nil), ("", nil), ("https://a.example%2f.b.example/", nil),
        ]
        for (url, origin) in cases {
            #expect(
                try await self.query("SELECT insp.url_origin($1)", [.text(url)])[0].optionalString(0) == origin,
                "\(url)")
        }
        let (_, endpoint) = try await self.partner(at: "https://hooks.example.com/x", "{}")
        for list in [
            #"["hooks.example.com"]"#, #"["ftp://hooks.example.com"]"#, #"["https://u@hooks.example.com"]"#, #"["*"]"#,
        ] {
            let error = await #expect(throws: PostgresError.self) {
                try await self.query(
                    "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(#"{"origins": \#(list)}"#)])
            }
            #expect(error?.sqlState == "IN088", "\(list)")
        }
    }

    // MARK: - Partners

    @Test(arguments: [
        "ftp://hooks.example.com/x", "http://hooks.example.com/x", "https://u:p@hooks.example.com/x",
        "https://10.0.0.1/x",
        "https://hooks.example.com:8443/x", "https://hooks.internal/x", "https://hooks.example.com/x#y",
        "hooks.example.com",
        "",
    ])
    func `A partner with an invalid URL is not created`(_ url: String) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await self.query("SELECT insp.create_partner('bank', $1)", [.text(url)])
        }
        #expect(error?.sqlState == "IN015")
        #expect(try await self.query("SELECT count(*) FROM insp.partner")[0].int(0) == 0)
    }

    @Test func `Recent dead letters raise a warning`() async throws {
        let receiver = try CallbackReceiver(secrets: [self.secret.text])
        let (name, endpoint) = try await self.partner(at: receiver.url("/ok"), "{}")
        func warnings() async throws -> String {
            try await self.query("SELECT warnings FROM insp.v_callbacks WHERE endpoint_id = $1", [.int(endpoint)])[0]
                .string(0)
        }
        try await self.job(name)
        await self.outbox.dispatch()
        #expect(try await !warnings().contains("dead-lettered"))
        // As operators with rights of their own may do: no URL that could ever be sent to.
        for _ in 0..<2 { try await self.job(name) }
        _ = try await self.query("UPDATE insp.callback SET url = 'ftp://hooks.example.com/' WHERE id > 1")
        await self.outbox.dispatch()
        #expect(try await warnings().contains("dead-lettered within the last day: 2, the last with REQUEST_INVALID"))
        _ = try await self.query("UPDATE insp.callback_waiting SET due_at = now() - interval '2 days'")
        #expect(try await !warnings().contains("dead-lettered"))
    }
}
