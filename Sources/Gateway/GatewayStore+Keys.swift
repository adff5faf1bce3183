internal import Foundation
internal import InspectCore
internal import Postgres

/// Calls about public keys: the partner's, for which results are encrypted, and the workers', for which parts are.
extension GatewayStore {
    /// The key for which an answer to a call with this scope is encrypted, as a JWK.
    func encryption(_ credential: GatewayCredential, _ scope: GatewayCredential.Scope) async throws -> Data? {
        try await self.ask(
            "SELECT insp.gateway_encryption($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue)]
        ).single().optionalData(0)
    }

    /// The partner's key, as a JWK.
    func key(_ credential: GatewayCredential) async throws -> Data {
        try await self.ask(
            "SELECT insp.gateway_key($1, $2)", [.int(credential.id), .bytes(credential.secretSHA256)]
        ).single().data(0)
    }

    /// Registers the partner's key, or removes it.
    func setKey(_ credential: GatewayCredential, _ jwk: Data?) async throws -> Data? {
        try await self.ask(
            "SELECT insp.gateway_set_key($1, $2, $3)",
            [
                .int(credential.id), .bytes(credential.secretSHA256),
                .optional(try jwk.map { try PostgresValue.json($0) }),
            ]
        ).single().optionalData(0)
    }

    /// The keys for which parts may be encrypted: a JWK Set (RFC 7517, section 5).
    func keySet() async throws -> Data {
        let keys = try await self.ask("SELECT insp.decryption_keys()", []).single().data(0)
        return Data(#"{"keys":"#.utf8) + keys + Data("}".utf8)
    }
}
