package import Custody
package import Foundation
internal import InspectCore
package import Postgres

/// Makes an operator's changes of endpoints. If a key store is configured, PostgreSQL sees secrets sealed, and this program
/// validates them, since the database then cannot.
package struct EndpointStore {
    /// Which key will sign an endpoint's callbacks.
    package enum SigningSource {
        case newSecret
        case newSigningKey
        /// `whsec_` or `whsk_`.
        case given(String)
    }

    /// An OAuth 2.0 client.
    package struct Client {
        /// The `client_id`; `nil`: the provider needs none.
        package var id: String?
        /// The `client_secret`; sealed if the partner has keys.
        package var secret: String?
        /// A JSON Web Token that replaces the secret (RFC 7523).
        package var assertion: String?
        /// Of the assertion; `nil`: that of JSON Web Tokens.
        package var grantType: String?
        /// Where tokens are requested.
        package var tokenURL: String?
        /// Where tokens are revoked (RFC 7009).
        package var revocationURL: String?
        /// Separated by spaces.
        package var scope: String?
        /// A raw value of ``AuthorizationRequest/Method``.
        package var method = "basic"
        /// The name under which the dispatcher looks up the ``AuthorizationProvider``.
        package var provider = "client_credentials"
        /// Further fields of the request for a token: a JSON object.
        package var parameters: Data?

        package init() {}
    }

    /// A partner's named authorization.
    package struct AuthorizationName {
        var partner: String
        var name: String

        package init(partner: String, name: String) {
            self.partner = partner
            self.name = name
        }
    }

    /// A named authorization as it is after a change.
    package struct AuthorizationAnswer: Encodable {
        var authorization: String
        var partner: String
        /// Whether secrets are sealed.
        var isSealed: Bool
    }

    /// An endpoint as it is after a change.
    package struct Answer: Encodable {
        var endpoint: Int64
        var partner: Int64?
        /// A new signing secret, which is shown only here.
        var secret: String?
        /// The public half of a new signing key.
        var publicKey: String?
        /// Whether secrets are sealed.
        var isSealed: Bool
    }

    private let connection: PostgresConnection
    private let keys: KeyStore?

    /// - Parameter keys: What seals secrets; `nil` only if the database is not sealed: otherwise a secret would become plain
    ///   unnoticed.
    package init(_ connection: PostgresConnection, _ keys: KeyStore?) {
        self.connection = connection
        self.keys = keys
    }

    /// Creates an endpoint with a secret, which is shown in this answer only.
    ///
    /// - Parameter isNew: Whether to create the partner as well.
    package func create(
        partner: String, isNew: Bool, url: String, allowsHTTP: Bool, allowsPrivate: Bool
    ) async throws -> Answer {
        try await self.query("BEGIN")
        // A secret that PostgreSQL makes is plain, and would stay in its files and WAL after it was replaced.
        let made = try await self.query(
            "SELECT endpoint_id, secret FROM insp.\(isNew ? "create_partner" : "create_endpoint")($1, $2, $3, $4, $5)",
            [.text(partner), .text(url), .bool(allowsHTTP), .bool(allowsPrivate), .bool(self.keys == nil)]
        ).single()
        let number = try made.int(0)
        var answer = Answer(endpoint: number, secret: try made.optionalString(1), isSealed: self.keys != nil)
        answer.partner = try await self.query("SELECT insp.endpoint_partner($1)", [.int(number)]).single().int(0)
        if let seal = try await self.seal(of: number) {
            let secret = WebhookSecret.generate().text
            answer.secret = secret
            try await self.rotate(number, to: seal.seal(secret, for: .signingSecret), .signingSecret, overlap: "0")
        }
        try await self.query("COMMIT")
        return answer
    }

    /// Replaces an endpoint's signing secret or key.
    ///
    /// - Parameter overlap: A PostgreSQL interval during which callbacks carry signatures of both.
    package func rotate(_ number: Int64, to source: SigningSource, overlap: String) async throws -> Answer {
        let seal = try await self.seal(of: number)
        var answer = Answer(endpoint: number, isSealed: seal != nil)
        var purpose = SecretSeal.Purpose.signingSecret
        let text: String
        switch source {
        case .newSecret:
            text = WebhookSecret.generate().text
            answer.secret = text
        case .newSigningKey:
            let key = WebhookSigningKey.generate()
            (text, purpose) = (key.text, .signingKey)
            answer.publicKey = key.publicKey.text
        case .given(let key):
            (text, purpose) = (key, try Self.purpose(of: key))
        }
        try await self.rotate(number, to: seal?.seal(text, for: purpose) ?? text, purpose, overlap: overlap)
        return answer
    }

    private func rotate(
        _ number: Int64, to text: String, _ purpose: SecretSeal.Purpose, overlap: String
    ) async throws {
        do {
            try await self.query(
                "SELECT insp.callback_rotate_secret($1, $2::interval, $3, $4)",
                [.int(number), .text(overlap), .text(text), .text(purpose.rawValue)])
        } catch let error as PostgresError where error.sqlState?.hasPrefix("22") == true {
            throw InspectError(
                .parameterInvalid, "overlap '\(overlap)'", hint: "An overlap is a time such as '7 days' or '12 hours'.")
        }
    }

    /// - Parameter settings: As `insp.set_endpoint` takes them.
    package func set(_ number: Int64, to settings: [String: Any]) async throws -> Answer {
        var settings = settings
        let seal = try await self.seal(of: number)
        if let seal {
            for (key, purpose) in [
                ("signingKey", SecretSeal.Purpose.signingKey), ("clientKey", .clientKey), ("apiKey", .apiKey),
            ] {
                guard let secret = settings[key] as? String else { continue }
                try Self.validate(secret, for: purpose, named: key)
                settings[key] = seal.seal(secret, for: purpose)
            }
        }
        let text = try JSONSerialization.data(withJSONObject: settings, options: [.sortedKeys])
        try await self.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(number), .text(try PostgresValue.json(text))])
        return Answer(endpoint: number, isSealed: seal != nil)
    }

    /// Sets how the dispatcher gets the access tokens that it presents to an endpoint.
    package func authorize(_ number: Int64, _ client: Client) async throws -> Answer {
        let seal = try await self.seal(of: number)
        try await self.query(
            "SELECT insp.callback_authorize($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            [.int(number)] + Self.settings(client, seal))
        return Answer(endpoint: number, isSealed: seal != nil)
    }

    /// Adds a named authorization of a partner, or replaces its settings.
    package func set(_ authorization: AuthorizationName, _ client: Client) async throws -> AuthorizationAnswer {
        let seal = try await self.seal(of: authorization)
        try await self.query(
            "SELECT insp.set_authorization($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            [.text(authorization.partner), .text(authorization.name)] + Self.settings(client, seal))
        return AuthorizationAnswer(
            authorization: authorization.name, partner: authorization.partner, isSealed: seal != nil)
    }

    /// Chooses one of its partner's named authorizations for an endpoint.
    package func use(_ authorization: String, for number: Int64) async throws -> Answer {
        try await self.query(
            "SELECT insp.callback_use_authorization($1, $2)", [.int(number), .text(authorization)])
        return Answer(endpoint: number, isSealed: self.keys != nil)
    }

    /// In the order in which SQL takes them.
    private static func settings(_ client: Client, _ seal: SecretSeal?) throws -> [PostgresValue] {
        var (secret, assertion) = (client.secret, client.assertion)
        if let seal {
            if let plain = client.secret {
                try Self.validate(plain, for: .clientSecret, named: "the client secret")
                secret = seal.seal(plain, for: .clientSecret)
            }
            if let plain = client.assertion {
                try Self.validate(plain, for: .assertion, named: "the assertion")
                assertion = seal.seal(plain, for: .assertion)
            }
        }
        return [
            .optional(client.tokenURL), .optional(client.id), .optional(secret), .optional(client.scope),
            .text(client.method), .text(client.provider), .optional(client.revocationURL),
            .optional(client.grantType), .optional(assertion),
            .text(try client.parameters.map { try PostgresValue.json($0) } ?? "{}"),
        ]
    }

    /// A secret as SQL takes it, with the digest by which a second login allows it.
    package struct SealedText: Encodable {
        var purpose: String
        var sealed: String
        var sha256: String
    }

    /// Seals a secret of the caller's choice, and stores nothing.
    ///
    /// - Parameter setting: As in `insp.set_endpoint`, or `clientSecret` or `assertion`; `nil`: a key of either kind for rotation.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if no key store is configured.
    package func sealed(_ secret: String, as setting: String?, of number: Int64) async throws -> SealedText {
        try Self.sealed(secret, as: setting, by: try await self.seal(of: number))
    }

    /// Seals a secret for a named authorization, and stores nothing.
    package func sealed(
        _ secret: String, as setting: String?, of authorization: AuthorizationName
    ) async throws -> SealedText {
        try Self.sealed(secret, as: setting, by: try await self.seal(of: authorization))
    }

    private static func sealed(_ secret: String, as setting: String?, by seal: SecretSeal?) throws -> SealedText {
        guard let seal else { throw InspectError(.keyMissing, "no key store is configured") }
        let purpose: SecretSeal.Purpose
        switch setting {
        case "signingKey": purpose = .signingKey
        case "clientKey": purpose = .clientKey
        case "apiKey": purpose = .apiKey
        case "clientSecret": purpose = .clientSecret
        case "assertion": purpose = .assertion
        default: purpose = try Self.purpose(of: secret)
        }
        try Self.validate(secret, for: purpose, named: setting ?? "the key")
        let text = seal.seal(secret, for: purpose)
        return SealedText(
            purpose: purpose.rawValue, sealed: text, sha256: SHA256.digest(Array(text.utf8)).hexadecimal)
    }

    /// What seals an endpoint's secrets; `nil`: no key store is configured.
    private func seal(of number: Int64) async throws -> SecretSeal? {
        guard let keys else { return nil }
        let partner = try await self.query("SELECT insp.endpoint_partner($1)", [.int(number)]).single().int(0)
        return SecretSeal(try await keys.partnerKey(partner), endpoint: number)
    }

    /// What seals a named authorization's secrets.
    private func seal(of authorization: AuthorizationName) async throws -> SecretSeal? {
        guard let keys else { return nil }
        do {
            let partner = try await KeyUse.number(of: authorization.partner, on: self.connection)
            return SecretSeal(try await keys.partnerKey(partner), of: .authorization(authorization.name))
        } catch let error as PostgresError {
            throw error.refusal ?? error
        }
    }

    @discardableResult
    private func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        do {
            return try await self.connection.query(sql, parameters)
        } catch let error as PostgresError {
            throw error.refusal ?? error
        }
    }

    // MARK: What the database would refuse of plain secrets

    private static func purpose(of key: String) throws(InspectError) -> SecretSeal.Purpose {
        if key.hasPrefix("whsec_"), WebhookSecret(key) != nil { return .signingSecret }
        if key.hasPrefix("whsk_"), WebhookSigningKey(key) != nil { return .signingKey }
        throw InspectError(
            .endpointInvalid, "the key",
            hint:
                "A key is whsec_ and base64 of 16 to 64 bytes, or whsk_ and base64 of 32 bytes (64 with the public key)."
        )
    }

    private static func validate(
        _ secret: String, for purpose: SecretSeal.Purpose, named name: String
    ) throws(InspectError) {
        switch purpose {
        case .signingKey:
            guard try Self.purpose(of: secret) == .signingKey else {
                throw InspectError(
                    .endpointInvalid, name,
                    hint: "A signing key is whsk_ and base64 of 32 bytes (64 with the public key).")
            }
        case .apiKey:
            guard (1...4_096).contains(secret.utf8.count), secret.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
                secret.first != " ", secret.last != " "
            else {
                throw InspectError(
                    .endpointInvalid, name, hint: "An API key has 1 to 4096 characters that a header may contain.")
            }
        case .clientSecret:
            guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
                throw InspectError(.clientIDInvalid, name, hint: "It has visible characters of ASCII.")
            }
        case .assertion:
            guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw InspectError(.clientIDInvalid, name, hint: "It has visible characters of ASCII.")
            }
        // libcurl reads it, and reports an error at the first callback.
        default: break
        }
    }
}
