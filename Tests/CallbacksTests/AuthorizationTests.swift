import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Callbacks

/// OAuth 2.0 against a real token endpoint, with tokens shared through a real database.
struct AuthorizationTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "in spect:s+c&ret")
        self.outbox = try await Outbox()
    }

    private func endpoint(
        token: String = "/token", secret: String = "s+c&ret", method: String = "basic", provider: String? = nil
    ) async throws -> Int64 {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 32)
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_authorize($1, $2, 'in spect', $3, 'callbacks', $4, $5)",
            [
                .int(endpoint), .text(self.receiver.url(token)), .text(secret), .text(method),
                .text(provider ?? "client_credentials"),
            ])
        return endpoint
    }

    private func requests(_ path: String) throws -> [ReceivedCallback] {
        try self.receiver.received().filter { $0.path.hasPrefix(path) }
    }

    private func code(_ id: String) async throws -> String? {
        try await self.outbox.connection.query(
            """
            SELECT a.code FROM insp.callback_attempt a JOIN insp.callback c ON c.id = a.callback_id
            WHERE c.webhook_id = $1 ORDER BY a.attempt DESC LIMIT 1
            """, [.text(id)])[0].optionalString(0)
    }

    @Test(arguments: ["basic", "post"])
    func `Callbacks carry a token that was requested once`(_ method: String) async throws {
        let endpoint = try await self.endpoint(method: method)
        let ids = try await self.outbox.add(20, endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        for id in ids { #expect(try await self.outbox.row(id).state == "delivered") }
        let tokens = try self.requests("/token")
        #expect(tokens.count == 1)
        #expect(tokens[0].body.contains("grant_type=client_credentials") && tokens[0].body.contains("scope=callbacks"))
        #expect(tokens[0].headers["content-type"] == "application/x-www-form-urlencoded")
        #expect(try self.requests("/bearer").allSatisfy { $0.verified })
    }

    @Test func `Many dispatchers request one token`() async throws {
        let endpoint = try await self.endpoint(token: "/token?slow=0.5")
        try await self.outbox.add(60, endpoint: endpoint, url: self.receiver.url("/bearer"))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { await self.outbox.dispatch { $0.batch = 8 } } }
        }
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'delivered'") == 60)
        #expect(try self.requests("/token").count == 1)
    }

    @Test func `A refused token is replaced within the attempt`() async throws {
        let endpoint = try await self.endpoint()
        let ids = try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/bearer?once=1"))
        await self.outbox.dispatch()
        let again = try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/bearer?once=1"))
        await self.outbox.dispatch()
        // The token was used up, so the second callback met a 401, got a new token and was sent again, all in one attempt.
        for id in ids + again {
            let row = try await self.outbox.row(id)
            #expect(row.state == "delivered" && row.attempts == 1)
        }
        #expect(try self.requests("/bearer").count == 3)
        #expect(try self.requests("/token").count == 2)
    }

    @Test func `A callback that two tokens do not open counts one attempt`() async throws {
        let endpoint = try await self.endpoint()
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/status/401"))
        await self.outbox.dispatch()
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "pending" && row.attempts == 1 && row.lastStatus == 401)
        #expect(try self.requests("/status").count == 2)
    }

    @Test func `One worker refreshes a token early while the others use the old one`() async throws {
        let endpoint = try await self.endpoint(token: "/token?lifetime=100")
        try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        // A tenth of its life is left: due for a refresh, and still good.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.access_token SET refresh_at = now() - interval '1 second'")
        let store = TokenStore(databaseURL: self.outbox.database.url, preparesStatements: true)
        let first = try await store.take(endpoint, refused: nil)
        let second = try await store.take(endpoint, refused: nil)
        #expect(first.permit != nil && first.token == "token-1")
        #expect(second.permit == nil && second.token == "token-1")
        // A stale right stores nothing.
        let stale = try await store.store(
            endpoint, permit: 999_999, token: AccessToken(value: "forged", lifetime: .seconds(60)), early: .seconds(6))
        #expect(stale == nil)
        let generation = try await store.store(
            endpoint, permit: try #require(first.permit), token: AccessToken(value: "next", lifetime: .seconds(100)),
            early: .seconds(10))
        #expect(generation == first.generation + 1)
        let third = try await store.take(endpoint, refused: first.generation)
        #expect(third.token == "next" && third.permit == nil && (30...90).contains(third.refreshIn.seconds))
    }

    @Test func `The right of a dead worker to request a token lapses`() async throws {
        let endpoint = try await self.endpoint()
        let store = TokenStore(databaseURL: self.outbox.database.url, preparesStatements: true)
        #expect(try await store.take(endpoint, refused: nil).permit != nil)
        #expect(try await store.take(endpoint, refused: nil).permit == nil)
        _ = try await self.outbox.connection.query("UPDATE insp.access_token SET permit_until = now()")
        #expect(try await store.take(endpoint, refused: nil).permit != nil)
    }

    @Test func `An unknown client has its own error code, which reveals no secret`() async throws {
        let endpoint = try await self.endpoint(secret: "wrong")
        let ids = try await self.outbox.add(8, endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        #expect(try await self.code(ids[0]) == "CLIENT_ID_INVALID")
        #expect(try await self.outbox.row(ids[0]).attempts == 1)
        #expect(try self.requests("/bearer").isEmpty)
        // One failure speaks for all of the next seconds.
        #expect(try self.requests("/token").count == 1)
        let errors = try await self.outbox.connection.query("SELECT string_agg(last_error, ' ') FROM insp.v_callback")
        #expect(try errors[0].string(0).contains("wrong") == false)
    }

    @Test func `An authorization server that fails is asked again later`() async throws {
        let endpoint = try await self.endpoint(token: "/token?fail=1")
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        #expect(try await self.code(ids[0]) == "AUTHORIZATION_FAILED")
        _ = try await self.outbox.connection.query("UPDATE insp.access_token SET failed_until = now()")
        try await self.outbox.hurry()
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
    }

    @Test func `The egress policy of the endpoint holds for the token's URL`() async throws {
        let endpoint = try await self.endpoint()
        _ = try await self.outbox.connection.query(
            "UPDATE insp.endpoint SET allow_private = false WHERE id = $1", [.int(endpoint)])
        let ids = try await self.outbox.add(endpoint: endpoint, url: "https://partner.example/")
        await self.outbox.dispatch()
        #expect(try await self.code(ids[0]) == "AUTHORIZATION_FAILED")
        #expect(try await self.outbox.row(ids[0]).lastError?.contains("EGRESS_REFUSED") == true)
        #expect(try self.receiver.received().isEmpty)
    }

    /// A provider of a partner's own.
    private struct OwnProvider: AuthorizationProvider {
        let calls = Counter()
        final class Counter: Sendable {
            let count = Mutex(0)
        }

        func authorize(_ request: AuthorizationRequest) async throws(AuthorizationError) -> AccessToken {
            self.calls.count.withLock { $0 += 1 }
            let answer = try await request.post(
                [("grant_type", "client_credentials"), ("client_id", "in spect"), ("client_secret", "s+c&ret")], [])
            guard answer.status == 200 else { throw AuthorizationError(.authorizationFailed) }
            let text = String(decoding: answer.body, as: UTF8.self)
            guard let token = text.split(separator: "\"").first(where: { $0.hasPrefix("token-") }) else {
                throw AuthorizationError(.authorizationFailed)
            }
            return AccessToken(value: String(token), lifetime: .seconds(60))
        }
    }

    @Test func `An endpoint can use a token provider of its own`() async throws {
        let provider = OwnProvider()
        let endpoint = try await self.endpoint(provider: "own")
        let ids = try await self.outbox.add(3, endpoint: endpoint, url: self.receiver.url("/bearer"))
        // A worker without it says so.
        await self.outbox.dispatch()
        #expect(try await self.code(ids[0]) == "AUTHORIZATION_FAILED")
        _ = try await self.outbox.connection.query("UPDATE insp.access_token SET failed_until = now()")
        try await self.outbox.hurry()
        await self.outbox.dispatch { $0.providers = ["own": provider] }
        #expect(try await self.outbox.count("state = 'delivered'") == 3)
        #expect(provider.calls.count.withLock { $0 } == 1)
    }

    @Test func `A client certificate can authenticate the request for a token`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("oauth-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appendingPathComponent("client.pem")
        let key = folder.appendingPathComponent("client-key.pem")
        try CallbackReceiver.makeCertificate(name: "worker", file: certificate, key: key)
        let receiver = try CallbackReceiver(
            secrets: [self.secret.text], certificateName: "localhost", clientAuthority: certificate,
            oauthClient: "worker")
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        let settings = try JSONSerialization.data(withJSONObject: [
            "clientCertificate": String(contentsOf: certificate, encoding: .utf8),
            "clientKey": String(contentsOf: key, encoding: .utf8),
        ])
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)",
            [.int(endpoint), .text(String(decoding: settings, as: UTF8.self))])
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_authorize($1, $2, 'worker', p_method => 'tls')",
            [.int(endpoint), .text(receiver.url("/token", host: "localhost"))])
        let ids = try await self.outbox.add(endpoint: endpoint, url: receiver.url("/bearer", host: "localhost"))
        let authorities = receiver.certificate?.path
        await self.outbox.dispatch { $0.certificateAuthorities = authorities }
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
    }

    @Test(arguments: [
        ("NULL, 'client', 'secret'", "IN016"), ("'http://partner.example/token', 'client', 'secret'", "IN015"),
        ("'https://127.0.0.1/token', 'client', 'secret'", "IN015"),
        ("'https://partner.example/token', '', 'secret'", "IN085"),
        ("'https://partner.example/token', 'client', NULL", "IN085"),
        ("'https://partner.example/token', 'client', p_method => 'tls'", "IN085"),
    ])
    func `Invalid authorization settings are refused with the contract's codes`(_ arguments: String, _ state: String)
        async throws
    {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, allowHTTP: false, allowPrivate: false)
        let error = await #expect(throws: PostgresError.self) {
            try await self.outbox.connection.query("SELECT insp.callback_authorize(\(endpoint), \(arguments))")
        }
        #expect(error?.sqlState == state)
    }

    @Test func `A static API key still works, with a warning`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)",
            [.int(endpoint), .text(#"{"apiKeyHeader": "X-API-Key", "apiKey": "old key"}"#)])
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        #expect(try self.requests("/ok")[0].headers["x-api-key"] == "old key")
        let warnings = try await self.outbox.connection.query(
            "SELECT warnings FROM insp.v_callbacks WHERE endpoint_id = $1", [.int(endpoint)])
        #expect(try warnings[0].string(0).contains("static API key is deprecated"))
    }
}
