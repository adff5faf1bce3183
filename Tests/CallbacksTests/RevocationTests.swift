import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Tokens of authorizations that were removed, revoked at a real server (RFC 7009).
struct RevocationTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "in spect:s+c&ret")
        self.outbox = try await Outbox()
    }

    private func authorize(_ endpoint: Int64, _ token: String, _ revocation: String?) async throws {
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_authorize($1, $2, 'in spect', 's+c&ret', p_revocation_url => $3)",
            [
                .int(endpoint), .text(self.receiver.url(token)),
                .optional(revocation.map { self.receiver.url($0) }),
            ])
    }

    /// An endpoint that has delivered a callback with a token.
    private func endpoint(_ revocation: String? = "/revoke", token: String = "/token") async throws -> Int64 {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        try await self.authorize(endpoint, token, revocation)
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
        return endpoint
    }

    private func unauthorize(_ endpoint: Int64) async throws -> Bool {
        try await self.outbox.connection.query("SELECT insp.callback_unauthorize($1)", [.int(endpoint)])[0].bool(0)
    }

    private func requests(_ path: String) throws -> [ReceivedCallback] {
        try self.receiver.received().filter { $0.path.hasPrefix(path) }
    }

    private func count(_ from: String) async throws -> Int64 {
        try await self.outbox.connection.query("SELECT count(*) FROM insp.\(from)")[0].int(0)
    }

    /// What the record says of tokens: kind, code and attempts.
    private func record() async throws -> [String] {
        try await self.outbox.connection.query(
            """
            SELECT kind || coalesce(' ' || (detail ->> 'code'), '') || ' ' || (detail ->> 'attempts')
            FROM insp.v_endpoint_events WHERE kind LIKE 'token%' ORDER BY at
            """
        ).map { try $0.string(0) }
    }

    /// Dispatches until no token waits for its revocation.
    private func revoke(_ change: @escaping @Sendable (inout CallbackConfiguration) -> Void = { _ in }) async throws {
        let isDone = try await self.outbox.whileDispatching(change) { _, _ in
            try await self.outbox.wait(within: 60) { try await self.count("token_revocation") == 0 }
        }
        #expect(isDone)
    }

    @Test func `A token is revoked in the background once its authorization is removed`() async throws {
        let endpoint = try await self.endpoint()
        #expect(try await self.unauthorize(endpoint))
        #expect(try self.requests("/revoke").isEmpty, "the removal waits for nobody")
        #expect(try await self.count("secret WHERE purpose = 'access_token'") == 0)
        #expect(try await self.count("token_revocation") == 1)
        let events = try await self.outbox.whileDispatching { _, events async throws -> [CallbackEvent] in
            #expect(try await self.outbox.wait(within: 60) { try await self.count("token_revocation") == 0 })
            return events.all
        }
        let revoked = try self.requests("/revoke")
        #expect(revoked.count == 1 && revoked[0].body == "token=token-1&token_type_hint=access_token")
        #expect(events.contains { if case .revocationEnded(endpoint, nil) = $0 { true } else { false } })
        #expect(try await self.record() == ["token_revoked 1"])
        #expect(try await self.count("secret WHERE owner LIKE 'revocation%'") == 0)
        #expect(try await !self.unauthorize(endpoint))
        #expect(try await self.count("token_revocation") == 0)
        // Its server takes the token no more.
        try await self.authorize(endpoint, "/token", "/revoke")
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
        #expect(try self.requests("/token").count == 2)
    }

    @Test func `Other settings revoke the token as well, by those that were`() async throws {
        let endpoint = try await self.endpoint()
        try await self.authorize(endpoint, "/token?lifetime=100", nil)
        try await self.revoke()
        #expect(try self.requests("/revoke").count == 1)
        // Now without a place for it: the token expires by itself.
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "delivered")
        #expect(try await self.unauthorize(endpoint))
        #expect(try await self.count("token_revocation") == 0)
    }

    @Test func `A dead provider stops neither the removal nor callbacks, and is given up with the token`() async throws
    {
        let silent = try SilentServer()
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_authorize($1, $2, 'in spect', 's+c&ret', p_revocation_url => $3)",
            [
                .int(endpoint), .text(self.receiver.url("/token")),
                .text("http://127.0.0.1:\(silent.port)/revoke"),
            ])
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        await self.outbox.dispatch()
        // The call waits for nobody: the token is put down for a dispatcher, and none runs.
        #expect(try await self.unauthorize(endpoint))
        #expect(try await self.count("token_revocation WHERE attempts = 0") == 1)
        try await self.outbox.whileDispatching { dispatcher, _ in
            #expect(
                try await self.outbox.wait(within: 30) {
                    try await self.count("token_revocation WHERE attempts = 1") == 1
                })
            let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
            dispatcher.wake()
            #expect(try await self.outbox.wait(within: 30) { try await self.outbox.row(ids[0]).state == "delivered" })
            #expect(
                try await self.outbox.wait(within: 60) {
                    try await self.count("token_revocation WHERE last_code IS NOT NULL AND due_at > now()") == 1
                })
        }
        #expect(try await self.count("token_revocation WHERE ends_at <= now() + interval '1 hour'") == 1)
        _ = try await self.outbox.connection.query("UPDATE insp.token_revocation SET ends_at = now()")
        try await self.revoke()
        let said = try await self.record()
        #expect(said.count == 1 && said[0].hasPrefix("token_not_revoked ") && said[0].hasSuffix(" 1"), "\(said)")
        #expect(try await self.count("secret WHERE owner LIKE 'revocation%'") == 0)
    }

    @Test func `A busy provider is asked again, and one that refuses is not`() async throws {
        let endpoint = try await self.endpoint("/revoke?fail=1")
        #expect(try await self.unauthorize(endpoint))
        // After 5 s.
        try await self.revoke()
        #expect(try self.requests("/revoke").count == 2)
        #expect(try await self.record() == ["token_revoked 2"])
        let other = try await self.endpoint("/revoke")
        _ = try await self.outbox.connection.query(
            "UPDATE insp.secret SET value = 'wrong' WHERE owner = 'endpoint ' || $1 AND purpose = 'client_secret'",
            [.text("\(other)")])
        #expect(try await self.unauthorize(other))
        try await self.revoke()
        #expect(try self.requests("/revoke").count == 3)
        #expect(try await self.record().last == "token_not_revoked CLIENT_ID_INVALID 1")
    }

    @Test func `A token that arrives after the removal is revoked, also by a provider that is busy at first`()
        async throws
    {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        try await self.authorize(endpoint, "/token?slow=4", "/revoke?fail=1")
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/bearer"))
        try await self.outbox.whileDispatching { _, _ in
            let asked = try await self.receiver.received(within: 30) { $0.contains { $0.path.hasPrefix("/token") } }
            #expect(asked.contains { $0.path.hasPrefix("/token") })
            #expect(try await self.unauthorize(endpoint))
            // What a request to the provider needs is kept until then.
            #expect(try await self.count("token_revocation WHERE token_permit IS NOT NULL") == 1)
            #expect(try await self.outbox.wait(within: 60) { try await self.count("token_revocation") == 0 })
        }
        let asked = try self.requests("/revoke")
        #expect(asked.count == 2 && asked.allSatisfy { $0.body.hasPrefix("token=token-1&") })
        #expect(try await self.record() == ["token_revoked 2"])
        #expect(try await self.count("secret WHERE purpose IN ('access_token', 'revocation')") == 0)
    }

    @Test func `A token that never arrives leaves nothing to revoke`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        try await self.authorize(endpoint, "/token", "/revoke")
        let permit = try await self.outbox.connection.query(
            "SELECT permit FROM insp.token_take($1)", [.int(endpoint)])[0].int(0)
        #expect(try await self.unauthorize(endpoint))
        #expect(try await self.count("token_revocation WHERE ends_at > now() + interval '1 minute'") == 1)
        _ = try await self.outbox.connection.query("UPDATE insp.token_revocation SET ends_at = now()")
        try await self.revoke()
        #expect(try await self.record() == [] && self.requests("/revoke").isEmpty)
        #expect(try await self.count("secret WHERE purpose = 'revocation'") == 0)
        let late = try await self.outbox.connection.query(
            "SELECT insp.token_store($1, $2, 'late', 100, 10)", [.int(endpoint), .int(permit)])[0].optionalInt(0)
        #expect(late == nil)
    }

    @Test func `A dispatcher of another region revokes no token of a partner that has one`() async throws {
        let endpoint = try await self.endpoint()
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_region_policy(p.name, 'EU') FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id WHERE e.id = $1",
            [.int(endpoint)])
        #expect(try await self.unauthorize(endpoint))
        for region in ["US", nil] {
            let row = try await self.outbox.connection.query(
                "SELECT id, due_in_seconds FROM insp.revocation_claim($1)", [.optional(region)])[0]
            #expect(try row.optionalInt(0) == nil && row.optionalDouble(1) == nil, "\(region ?? "none")")
        }
        try await self.outbox.whileDispatching({ $0.region = "US" }) { dispatcher, _ in
            let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
            dispatcher.wake()
            #expect(try await self.outbox.wait(within: 30) { try await self.outbox.row(ids[0]).state == "delivered" })
        }
        #expect(try self.requests("/revoke").isEmpty)
        #expect(try await self.count("token_revocation WHERE attempts = 0") == 1)
        try await self.revoke { $0.region = "EU" }
        #expect(try self.requests("/revoke").count == 1)
        // Where the deployment names regions, a dispatcher needs one.
        _ = try await self.outbox.connection.query("SELECT insp.set_regions('{EU,US}')")
        let refused = await #expect(throws: PostgresError.self) {
            try await self.outbox.connection.query("SELECT insp.revocation_claim()")
        }
        #expect(refused?.refusal?.code == .regionMissing)
    }

    @Test func `The right of a dead worker to revoke lapses, and an expired token needs no revocation`() async throws {
        let endpoint = try await self.endpoint()
        #expect(try await self.unauthorize(endpoint))
        func take() async throws -> (id: Int64?, permit: Int64?) {
            let row = try await self.outbox.connection.query("SELECT id, permit FROM insp.revocation_claim()")[0]
            return (try row.optionalInt(0), try row.optionalInt(1))
        }
        func settle(_ taken: (id: Int64?, permit: Int64?)) async throws -> Bool? {
            try await self.outbox.connection.query(
                "SELECT insp.revocation_settle($1, $2)", [.optional(taken.id), .optional(taken.permit)])[0]
                .optionalBool(
                    0)
        }
        let first = try await take()
        #expect(first.id != nil)
        #expect(try await take().id == nil)
        _ = try await self.outbox.connection.query("UPDATE insp.token_revocation SET due_at = now()")
        let second = try await take()
        #expect(second.id == first.id && second.permit != first.permit)
        #expect(try await settle(first) == nil)
        #expect(try await settle(second) == true)
        let other = try await self.endpoint()
        _ = try await self.outbox.connection.query(
            "UPDATE insp.secret SET valid_until = now() WHERE purpose = 'access_token'")
        #expect(try await self.unauthorize(other))
        #expect(try await self.count("token_revocation") == 0)
    }

    @Test func `An erased partner's token is revoked, and nothing of it stays`() async throws {
        let endpoint = try await self.endpoint()
        _ = try await self.outbox.connection.query(
            "SELECT insp.erase_partner(p.name) FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id WHERE e.id = $1",
            [.int(endpoint)])
        #expect(try await self.count("token_revocation") == 1)
        try await self.revoke()
        #expect(try self.requests("/revoke").count == 1)
        #expect(try await self.count("secret WHERE owner <> 'inspectd'") == 0)
        #expect(try await self.count("client_authorization") == 0)
    }
}
