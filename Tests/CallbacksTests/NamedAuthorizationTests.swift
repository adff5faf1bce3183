import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Providers that a deployment configures, and authorizations that several endpoints of a partner share.
struct NamedAuthorizationTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "in spect:s+c&ret")
        self.outbox = try await Outbox()
    }

    private func requests(_ path: String) throws -> [ReceivedCallback] {
        try self.receiver.received().filter { $0.path.hasPrefix(path) }
    }

    private func query(_ sql: String) async throws -> [PostgresRow] { try await self.outbox.connection.query(sql) }

    private func deliver(_ endpoint: Int64, keys: KeyStore? = nil) async throws -> Bool {
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch { $0.keys = keys }
        return try await self.outbox.row(ids[0]).state == "delivered"
    }

    /// A further endpoint of the first one's partner.
    private func sibling(of endpoint: Int64) async throws -> Int64 {
        let made = try await self.query(
            """
            SELECT c.endpoint_id FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id,
                LATERAL insp.create_endpoint(p.name, 'https://partner.example/more', true, true) c WHERE e.id = \(endpoint)
            """)[0].int(0)
        _ = try await self.query(
            "UPDATE insp.secret SET value = convert_to('\(self.secret.text)', 'UTF8') WHERE owner = 'endpoint \(made)'")
        return made
    }

    private func partner(of endpoint: Int64) async throws -> String {
        try await self.query(
            "SELECT p.name FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id WHERE e.id = \(endpoint)")[0]
            .string(0)
    }

    @Test func `An assertion is exchanged as configured, without a rebuild`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        _ = try await self.outbox.connection.query(
            """
            SELECT insp.callback_authorize($1, $2, 'app-7', p_scope => 'callbacks', p_method => 'none', p_provider => 'assertion',
                p_assertion => 'eyJrZXki', p_revocation_url => $3, p_parameters => '{"audience": "the hooks"}')
            """,
            [
                .int(endpoint), .text(self.receiver.url("/token?assertion=eyJrZXki")),
                .text(self.receiver.url("/revoke?assertion=1")),
            ])
        #expect(try await self.deliver(endpoint))
        let asked = try self.requests("/token")
        #expect(
            asked.map(\.body) == [
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=eyJrZXki&scope=callbacks&audience=the+hooks&client_id=app-7"
            ])
        // A grant type of the partner's own, and a client that authenticates.
        _ = try await self.outbox.connection.query(
            """
            SELECT insp.callback_authorize($1, $2, 'in spect', 's+c&ret', p_method => 'post', p_provider => 'assertion',
                p_assertion => 'key', p_grant_type => 'urn:partner:key')
            """, [.int(endpoint), .text(self.receiver.url("/token?assertion=key&grant=urn:partner:key"))])
        #expect(try await self.deliver(endpoint))
        #expect(try self.requests("/token").last?.body.contains("client_secret=s%2Bc%26ret") == true)
        let isRevoked = try await self.outbox.whileDispatching { _, _ in
            try await self.outbox.wait(within: 60) {
                try await self.query("SELECT count(*) FROM insp.token_revocation")[0].int(0) == 0
            }
        }
        #expect(isRevoked)
        #expect(
            try self.requests("/revoke").map(\.body) == [
                "token=token-1&token_type_hint=access_token&client_id=app-7"
            ])
    }

    @Test func `A partner has several authorizations, each endpoint uses the one that was chosen for it`() async throws
    {
        let first = try await self.outbox.endpoint(secret: self.secret.text)
        let (second, third) = (try await self.sibling(of: first), try await self.sibling(of: first))
        let partner = try await self.partner(of: first)
        for (name, place) in [("live", "/token"), ("spare", "/token?lifetime=50")] {
            _ = try await self.outbox.connection.query(
                "SELECT insp.set_authorization($1, $2, $3, 'in spect', 's+c&ret', p_revocation_url => $4)",
                [
                    .text(partner), .text(name), .text(self.receiver.url(place)),
                    .text(self.receiver.url("/revoke?of=\(name)")),
                ])
        }
        for (endpoint, name) in [(first, "live"), (second, "live"), (third, "spare")] {
            _ = try await self.query("SELECT insp.callback_use_authorization(\(endpoint), '\(name)')")
            #expect(try await self.deliver(endpoint))
        }
        // Each endpoint has a token of its own.
        #expect(try self.requests("/token").map(\.path) == ["/token", "/token", "/token?lifetime=50"])
        let listed = try await self.query(
            "SELECT authorization_name, cardinality(endpoints), tokens FROM insp.v_authorization ORDER BY 1")
        #expect(
            try listed.map { "\(try $0.string(0)) \(try $0.int(1)) \(try $0.int(2))" } == ["live 2 2", "spare 1 1"])
        // A change reaches all that use it.
        _ = try await self.query(
            "SELECT insp.set_authorization('\(partner)', 'live', '\(self.receiver.url("/token?lifetime=70"))', 'in spect', 's+c&ret', p_revocation_url => '\(self.receiver.url("/revoke?of=live"))')"
        )
        for endpoint in [first, second] { #expect(try await self.deliver(endpoint)) }
        #expect(try self.requests("/token?lifetime=70").count == 2)
        let removed = try await self.query("SELECT insp.remove_authorization('\(partner)', 'live')")[0].int(0)
        #expect(removed == 2)
        let isRevoked = try await self.outbox.whileDispatching { _, _ in
            try await self.outbox.wait(within: 60) {
                try await self.query("SELECT count(*) FROM insp.token_revocation")[0].int(0) == 0
            }
        }
        #expect(isRevoked)
        #expect(try self.requests("/revoke").map(\.path) == Array(repeating: "/revoke?of=live", count: 4))
        #expect(try await self.deliver(third), "the other one stays")
        #expect(try self.requests("/token?lifetime=50").count == 1)
        #expect(try await self.query("SELECT count(*) FROM insp.endpoint_authorization")[0].int(0) == 1)
        #expect(
            try await self.query("SELECT count(*) FROM insp.secret WHERE owner LIKE 'authorization%'")[0].int(0) == 1)
        // One of its own in place of the chosen one, and back.
        _ = try await self.query(
            "SELECT insp.callback_authorize(\(third), '\(self.receiver.url("/token?lifetime=90"))', 'in spect', 's+c&ret')"
        )
        #expect(try await self.deliver(third))
        _ = try await self.query("SELECT insp.callback_use_authorization(\(third), 'spare')")
        #expect(try await self.query("SELECT count(*) FROM insp.client_authorization")[0].int(0) == 1)
        #expect(
            try await self.query("SELECT count(*) FROM insp.secret WHERE purpose = 'client_secret'")[0].int(0) == 1)
    }

    @Test func `A sealed secret of an authorization opens for each of its endpoints, and nothing else does`()
        async throws
    {
        let keys = try await Keys()
        let store = try keys.store()
        let first = try await self.outbox.endpoint(secret: self.secret.text)
        let second = try await self.sibling(of: first)
        let partner = try await self.partner(of: first)
        let number = try await self.query("SELECT insp.endpoint_partner(\(first))")[0].int(0)
        let key = try await store.partnerKey(number)
        let seal = SecretSeal(key, of: .authorization("live"))
        func set(_ secret: String) async throws {
            _ = try await self.outbox.connection.query(
                "SELECT insp.set_authorization($1, 'live', $2, 'in spect', $3, p_revocation_url => $4)",
                [
                    .text(partner), .text(self.receiver.url("/token")), .text(secret),
                    .text(self.receiver.url("/revoke")),
                ])
        }
        try await set(seal.seal("s+c&ret", for: .clientSecret))
        for endpoint in [first, second] {
            _ = try await self.query("SELECT insp.callback_use_authorization(\(endpoint), 'live')")
            #expect(try await self.deliver(endpoint, keys: store))
        }
        #expect(
            try await self.query("SELECT count(*) FROM insp.secret WHERE purpose = 'access_token' AND seal = 1")[0]
                .int(0) == 2)
        #expect(try await self.query("SELECT insp.remove_authorization('\(partner)', 'live')")[0].int(0) == 2)
        let plain = try await self.query(
            "SELECT convert_from(value, 'UTF8') FROM insp.secret WHERE purpose = 'revocation'"
        ).map { try $0.string(0) }
        #expect(plain.count == 2 && plain.allSatisfy { !$0.contains("s+c&ret") && !$0.contains("token-") })
        let isRevoked = try await self.outbox.whileDispatching {
            $0.keys = store
        } _: { _, _ in
            try await self.outbox.wait(within: 60) {
                try await self.query("SELECT count(*) FROM insp.token_revocation")[0].int(0) == 0
            }
        }
        #expect(isRevoked)
        #expect(
            Set(try self.requests("/revoke").map(\.body)) == [
                "token=token-1&token_type_hint=access_token", "token=token-2&token_type_hint=access_token",
            ])
        // What was sealed for an endpoint, or for another name.
        for foreign in [SecretSeal(key, endpoint: first), SecretSeal(key, of: .authorization("other"))] {
            try await set(foreign.seal("s+c&ret", for: .clientSecret))
            _ = try await self.query("SELECT insp.callback_use_authorization(\(first), 'live')")
            #expect(try await !self.deliver(first, keys: store))
        }
    }

    @Test(arguments: [
        ("callback_use_authorization(E, 'none')", "IN185"), ("remove_authorization('P', 'none')", "IN185"),
        ("set_authorization('P', 'Live', 'https://partner.example/t', 'c', 's')", "IN113"),
        ("set_authorization('P', 'live', NULL, 'c', 's')", "IN016"),
        ("set_authorization('P', 'live', 'https://partner.example/t', 'c')", "IN085"),
        ("set_authorization('P', 'live', 'partner.example', 'c', 's')", "IN015"),
        ("callback_authorize(E, 'https://partner.example/t', 'c', 's', p_revocation_url => 'ftp://x')", "IN015"),
        ("callback_authorize(E, 'https://partner.example/t', 'c', p_method => 'none')", "IN085"),
        ("callback_authorize(E, 'https://partner.example/t', 'c', 's', p_provider => 'assertion')", "IN085"),
        (
            "callback_authorize(E, 'https://partner.example/t', 'c', 's', p_parameters => '{\"scope\": \"x\"}')",
            "IN113"
        ),
        ("callback_authorize(E, 'https://partner.example/t', 'c', 's', p_parameters => '{\"x\": 5}')", "IN113"),
        ("callback_authorize(E, 'https://partner.example/t', 'c', 's', p_grant_type => 'urn:x:y')", "IN113"),
        ("callback_authorize(E, 'https://partner.example/t', 'c', 's', p_assertion => 'x')", "IN113"),
        (
            "callback_authorize(E, 'https://partner.example/t', p_client_id => NULL, p_method => 'none', p_provider => 'assertion', p_assertion => 'a b')",
            "IN085"
        ),
    ])
    func `An authorization that no endpoint could use is refused`(_ call: String, _ state: String) async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, allowHTTP: false, allowPrivate: false)
        let partner = try await self.partner(of: endpoint)
        let error = await #expect(throws: PostgresError.self) {
            try await self.query(
                "SELECT insp.\(call.replacing("(E,", with: "(\(endpoint),").replacing("'P'", with: "'\(partner)'"))")
        }
        #expect(error?.sqlState == state, "\(error?.reason ?? "")")
    }

    @Test func `An endpoint takes no authorization that it does not allow`() async throws {
        let open = try await self.outbox.endpoint(secret: self.secret.text)
        let strict = try await self.query(
            """
            SELECT c.endpoint_id FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id,
                LATERAL insp.create_endpoint(p.name, 'https://partner.example/more') c WHERE e.id = \(open)
            """)[0].int(0)
        let partner = try await self.partner(of: open)
        _ = try await self.query(
            "SELECT insp.set_authorization('\(partner)', 'local', 'http://127.0.0.1:9/t', 'c', 's')")
        _ = try await self.query("SELECT insp.callback_use_authorization(\(open), 'local')")
        let refused = await #expect(throws: PostgresError.self) {
            try await self.query("SELECT insp.callback_use_authorization(\(strict), 'local')")
        }
        #expect(refused?.refusal?.code == .callbackURLInvalid)
        _ = try await self.query(
            "SELECT insp.set_authorization('\(partner)', 'mine', 'https://partner.example/t', 'c', p_method => 'tls')")
        let uncertified = await #expect(throws: PostgresError.self) {
            try await self.query("SELECT insp.callback_use_authorization(\(strict), 'mine')")
        }
        #expect(uncertified?.refusal?.code == .clientIDInvalid)
        // Another partner's is unknown.
        let other = try await self.outbox.endpoint(secret: self.secret.text)
        let foreign = await #expect(throws: PostgresError.self) {
            try await self.query("SELECT insp.callback_use_authorization(\(other), 'local')")
        }
        #expect(foreign?.refusal?.code == .authorizationUnknown)
    }
}
