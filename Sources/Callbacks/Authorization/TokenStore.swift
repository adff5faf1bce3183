internal import Custody
internal import InspectCore
internal import Postgres

/// The access tokens that all workers share, over its own connection, opened when first needed.
actor TokenStore {
    /// The result of ``take(_:refused:)``.
    struct Taken: Sendable {
        var token: String?
        var generation: Int64
        var refreshIn: Duration
        var expiresIn: Duration
        /// Number of the permit to get the next token, which is then also a duty.
        var permit: Int64?
        /// Why the last holder of the permit recently got none.
        var code: String?
        /// The number of the endpoint's partner; `nil`: the endpoint is gone.
        var partner: Int64?
    }

    private let connection: ReconnectingConnection
    /// Seals and opens tokens; `nil`: they are stored plain.
    private let keys: KeyStore?

    init(databaseURL: String, preparesStatements: Bool, keys: KeyStore? = nil) {
        self.keys = keys
        var options = ConnectionOptions(name: "inspectd tokens")
        options.preparesStatements = preparesStatements
        self.connection = ReconnectingConnection(databaseURL, options: options)
    }

    /// - Parameter refused: The generation that the partner refused.
    func take(_ endpoint: Int64, refused: Int64?) async throws -> Taken {
        let row = try await self.query(
            "SELECT * FROM insp.token_take($1, $2)", [.int(endpoint), .optional(refused)]
        ).single()
        return Taken(
            token: try row.optionalString(0), generation: try row.int(1),
            refreshIn: .seconds(try row.optionalDouble(2) ?? 0),
            expiresIn: .seconds(try row.optionalDouble(3) ?? 0), permit: try row.optionalInt(4),
            code: try row.optionalString(5), partner: try row.optionalInt(6))
    }

    /// The token as it was before it was sealed.
    func opened(_ token: String?, of endpoint: Int64) async throws(InspectError) -> String? {
        guard let token, SecretSeal.isSealed(token) else { return token }
        guard let keys else { throw InspectError(.keyMissing) }
        let key = try await keys.key(try SecretSeal.keyID(of: token))
        return try SecretSeal(key, endpoint: endpoint).open(token, for: .accessToken)
    }

    /// What will seal the next token; `nil`: it is stored plain.
    func seal(_ taken: Taken, of endpoint: Int64) async throws(InspectError) -> SecretSeal? {
        guard let keys, let partner = taken.partner else { return nil }
        return SecretSeal(try await keys.partnerKey(partner), endpoint: endpoint)
    }

    /// - Returns: The token's generation; 0 if its authorization was removed meanwhile, so that it will be revoked; `nil` if the
    ///   permit had lapsed.
    func store(
        _ endpoint: Int64, permit: Int64, token: AccessToken, early: Duration, sealing seal: SecretSeal? = nil
    ) async throws -> Int64? {
        let value = seal?.seal(token.value, for: .accessToken) ?? token.value
        let rows = try await self.query(
            "SELECT insp.token_store($1, $2, $3, $4, $5)",
            [.int(endpoint), .int(permit), .text(value), .double(token.lifetime.seconds), .double(early.seconds)])
        return try rows.first?.optionalInt(0)
    }

    func fail(_ endpoint: Int64, permit: Int64, code: ErrorCode, wait: Duration) async throws {
        _ = try await self.query(
            "SELECT insp.token_fail($1, $2, $3, $4)",
            [.int(endpoint), .int(permit), .text(code.rawValue), .double(wait.seconds)])
    }

    /// A failed call is not repeated, since it may have taken effect; the next one starts over.
    private func query(_ sql: String, _ parameters: [PostgresValue]) async throws -> [PostgresRow] {
        let connection = try await self.connection.open()
        do {
            return try await connection.query(sql, parameters)
        } catch {
            await connection.close()
            throw error
        }
    }
}
