import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Endpoints whose secrets PostgreSQL has sealed, with a real key store and a real receiver.
struct SealedSecretTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox
    private let keys: Keys

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "in spect:s+c&ret")
        self.outbox = try await Outbox()
        self.keys = try await Keys()
    }

    /// An endpoint with a sealed signing secret.
    private func endpoint(_ store: KeyStore) async throws -> Int64 {
        let endpoint = try await self.outbox.endpoint(secret: WebhookSecret.generate().text, inFlight: 32)
        try await self.outbox.rotate(endpoint, to: self.secret, try await self.outbox.seal(endpoint, store))
        return endpoint
    }

    private func authorize(_ endpoint: Int64, secret: String) async throws {
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_authorize($1, $2, 'in spect', $3, 'callbacks')",
            [.int(endpoint), .text(self.receiver.url("/token")), .text(secret)])
    }

    private func set(isAway: Bool) async throws {
        try await self.keys.set(isAway: isAway, by: self.outbox.connection)
    }

    private func tokens() throws -> Int { try self.receiver.received().count { $0.path.hasPrefix("/token") } }

    @Test func `Sealed secrets sign, authorize and identify as plain ones do, and tokens are sealed as well`()
        async throws
    {
        let store = try self.keys.store()
        let endpoint = try await self.endpoint(store)
        let seal = try await self.outbox.seal(endpoint, store)
        try await self.authorize(endpoint, secret: seal.seal("s+c&ret", for: .clientSecret))
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, jsonb_build_object('apiKeyHeader', 'X-API-Key', 'apiKey', $2::text))",
            [.int(endpoint), .text(seal.seal("old key", for: .apiKey))])
        for round in 1...2 {
            let ids = try await self.outbox.add(5, endpoint: endpoint, url: self.receiver.url("/bearer"))
            // Another process each time: the second one opens what the first one has stored.
            let own = try self.keys.store()
            await self.outbox.dispatch { $0.keys = own }
            for id in ids { #expect(try await self.outbox.row(id).state == "delivered", "round \(round)") }
        }
        let received = try self.receiver.received().filter { $0.path.hasPrefix("/bearer") }
        #expect(received.count == 10 && received.allSatisfy { $0.verified && $0.headers["x-api-key"] == "old key" })
        #expect(try self.tokens() == 1)
        let held = try await self.outbox.secrets()
        #expect(Set(held.map(\.purpose)) == ["signing_secret", "client_secret", "api_key", "access_token"])
        #expect(held.allSatisfy { $0.seal == 1 && $0.text.hasPrefix("sealed:") })
    }

    @Test func `A sealed client key of mutual TLS is used`() async throws {
        let folder = self.receiver.folder
        let (certificate, key) = (folder.appendingPathComponent("c.pem"), folder.appendingPathComponent("k.pem"))
        try CallbackReceiver.makeCertificate(name: "worker", file: certificate, key: key)
        let receiver = try CallbackReceiver(
            secrets: [self.secret.text], certificateName: "localhost", clientAuthority: certificate)
        let store = try self.keys.store()
        let endpoint = try await self.endpoint(store)
        let sealed = try await self.outbox.seal(endpoint, store).seal(
            String(contentsOf: key, encoding: .utf8), for: .clientKey)
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, jsonb_build_object('clientCertificate', $2::text, 'clientKey', $3::text))",
            [.int(endpoint), .text(String(contentsOf: certificate, encoding: .utf8)), .text(sealed)])
        let ids = try await self.outbox.add(endpoint: endpoint, url: receiver.url("/ok", host: "localhost"))
        let authorities = receiver.certificate?.path
        await self.outbox.dispatch {
            $0.certificateAuthorities = authorities
            $0.keys = store
        }
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
    }

    @Test func `Sealed secrets in an overlap both sign, beside plain ones and a sealed key of Ed25519`() async throws {
        let store = try self.keys.store()
        let endpoint = try await self.outbox.endpoint(secret: WebhookSecret.generate().text)
        let seal = try await self.outbox.seal(endpoint, store)
        let (next, signing) = (WebhookSecret.generate(), WebhookSigningKey.generate())
        try await self.outbox.rotate(endpoint, to: self.secret, seal, overlap: "1 hour")
        try await self.outbox.rotate(endpoint, to: next, seal, overlap: "1 hour")
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_rotate_secret($1, '1 hour', $2, 'signing_key')",
            [.int(endpoint), .text(seal.seal(signing.text, for: .signingKey))])
        let other = try CallbackReceiver(secrets: [next.text])
        for receiver in [self.receiver, other] {
            try await self.outbox.add(endpoint: endpoint, url: receiver.url("/ok"))
            await self.outbox.dispatch { $0.keys = store }
            let received = try receiver.received()
            #expect(received.count == 1 && received[0].verified && received[0].signatures == 4)
            try WebhookVerifier(secrets: [], publicKeys: [signing.publicKey]).verify(
                id: received[0].webhookId, timestamp: received[0].timestamp,
                signature: received[0].headers["webhook-signature"] ?? "", body: Array(received[0].body.utf8),
                now: Date())
        }
        // The overlap's end is seen in the claim, whatever is cached.
        try await self.outbox.rotate(endpoint, to: next, seal)
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch { $0.keys = store }
        #expect(try self.receiver.received().last?.verified == false)
    }

    @Test func `Without the key store, known endpoints go on, new secrets wait uncounted, and others are sent`()
        async throws
    {
        let store = try self.keys.store()
        let endpoint = try await self.endpoint(store)
        let seal = try await self.outbox.seal(endpoint, store)
        let plain = try await self.outbox.endpoint(secret: self.secret.text)
        let url = self.receiver.url("/ok")
        @Sendable func isDelivered(_ id: String) async throws -> Bool {
            try await self.outbox.wait(within: 60) { try await self.outbox.row(id).state == "delivered" }
        }
        let own = try self.keys.store()
        try await self.outbox.whileDispatching({ $0.keys = own }) { dispatcher, _ in
            #expect(try await isDelivered(self.outbox.add(endpoint: endpoint, url: url)[0]))
            try await self.set(isAway: true)
            // Opened once, and not asked for again.
            #expect(try await isDelivered(self.outbox.add(endpoint: endpoint, url: url)[0]))
            try await self.outbox.rotate(endpoint, to: self.secret, seal, overlap: "1 hour")
            let late = try await self.outbox.add(endpoint: endpoint, url: url)[0]
            #expect(try await isDelivered(self.outbox.add(endpoint: plain, url: url)[0]))
            #expect(try await self.outbox.wait(within: 60) { try await self.outbox.row(late).released == 1 })
            let row = try await self.outbox.row(late)
            #expect(row.state == "pending" && row.attempts == 0 && row.dueInSeconds > 15)
            #expect(row.lastError?.contains("KEYS_UNAVAILABLE") == true, "\(row.lastError ?? "")")
            try await self.set(isAway: false)
            #expect(
                try await self.outbox.wait(within: 60) {
                    try await self.outbox.hurry()
                    dispatcher.wake()
                    return try await self.outbox.row(late).state == "delivered"
                })
            #expect(try await self.outbox.attempts(late).last?.status == 200)
        }
        #expect(try self.receiver.received().allSatisfy { $0.verified })
    }

    @Test(.timed) func `A key store that hangs delays a claim once, and less than its time-outs`() async throws {
        let silent = try SilentServer()
        let keys = PatientKeys(
            KeyStore("postgresql://127.0.0.1:\(silent.port)/x", wrappingKeys: try WrappingKeySource.open(Keys.file())))
        let id = KeyID.new()
        let start = ContinuousClock.now
        for _ in 0..<100 {
            let answer = try #require(await keys.keys([id])[id])
            #expect(throws: InspectError(.keysUnavailable, "the key store")) { try answer.get() }
        }
        #expect(ContinuousClock.now - start < .seconds(4))
    }

    @Test func `Without the right keys nothing is sent, and each fault has its code`() async throws {
        let store = try self.keys.store()
        let endpoint = try await self.endpoint(store)
        func fault(_ keys: KeyStore?) async throws -> String {
            var fault = ""
            // A store that is slow beside other tests has not answered yet.
            for _ in 0..<10 where fault.isEmpty || fault.contains("KEYS_UNAVAILABLE") {
                let id = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))[0]
                await self.outbox.dispatch { $0.keys = keys }
                let row = try await self.outbox.row(id)
                #expect(row.state == "pending" && row.attempts == 0 && row.released == 1)
                fault = row.lastError ?? ""
            }
            return fault
        }
        #expect(try await fault(nil).contains("KEY_MISSING"))
        // A key of the same name, and another one.
        let mismatch = try await fault(try self.keys.store(wrappingKeys: try Keys.file()))
        #expect(mismatch.contains("KEY_MISMATCH"), "\(mismatch)")
        // Another endpoint's secret, though its partner's key is there.
        let other = try await self.endpoint(store)
        _ = try await self.outbox.connection.query(
            """
            UPDATE insp.secret s SET value = o.value FROM insp.secret o
            WHERE s.owner = 'endpoint ' || $1::text AND o.owner = 'endpoint ' || $2::text
            """, [.int(endpoint), .int(other)])
        #expect(try await fault(store).contains("SEAL_BROKEN"))
        try await self.outbox.rotate(endpoint, to: self.secret, try await self.outbox.seal(endpoint, store))
        try await self.keys.destroyAll()
        #expect(try await fault(try self.keys.store()).contains("KEY_UNKNOWN"))
        #expect(try self.receiver.received().isEmpty)
        // What does not open is still replaced.
        try await self.outbox.rotate(
            endpoint, to: self.secret, try await self.outbox.seal(endpoint, try self.keys.store()))
        try await self.outbox.hurry()
        let last = try self.keys.store()
        await self.outbox.dispatch { $0.keys = last }
        #expect(try self.receiver.received().count { $0.verified } == 4)
    }

    @Test func `A former secret whose key is lost delays no callback once the current one opens`() async throws {
        let store = try self.keys.store()
        let endpoint = try await self.endpoint(store)
        try await self.keys.destroyAll()
        let new = try self.keys.store()
        try await self.outbox.rotate(
            endpoint, to: self.secret, try await self.outbox.seal(endpoint, new), overlap: "1 day")
        #expect(try await self.outbox.secrets().count == 2)
        let id = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))[0]
        await self.outbox.dispatch { $0.keys = new }
        #expect(try await self.outbox.row(id).state == "delivered")
        #expect(try self.receiver.received().count { $0.verified } == 1)
    }

    @Test func `A token that nobody can open any more is replaced, and none is asked for without the keys`()
        async throws
    {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        try await self.authorize(endpoint, secret: "s+c&ret")
        func send(_ keys: KeyStore?) async throws -> Outbox.Row {
            let id = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))[0]
            await self.outbox.dispatch { $0.keys = keys }
            return try await self.outbox.row(id)
        }
        try await self.set(isAway: true)
        let early = try await send(try self.keys.store())
        #expect(early.attempts == 0 && early.released == 1)
        #expect(early.lastError?.contains("KEYS_UNAVAILABLE") == true)
        #expect(try self.tokens() == 0)
        try await self.set(isAway: false)
        // The permit to ask was released.
        #expect(try await send(try self.keys.store()).state == "delivered")
        #expect(try self.tokens() == 1)
        try await self.set(isAway: true)
        let late = try await send(try self.keys.store())
        #expect(late.attempts == 0 && late.lastError?.contains("KEYS_UNAVAILABLE") == true)
        try await self.set(isAway: false)
        #expect(try await send(nil).lastError?.contains("KEY_MISSING") == true)
        #expect(try self.tokens() == 1)
        try await self.keys.destroyAll()
        #expect(try await send(try self.keys.store()).state == "delivered")
        #expect(try self.tokens() == 2)
        #expect(try await self.outbox.secrets().last?.text.hasPrefix("sealed:") == true)
    }
}
