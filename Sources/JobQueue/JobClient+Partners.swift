package import Foundation
internal import Postgres

extension JobClient {
    /// Registers the public key for which a partner's results are encrypted, or removes it.
    ///
    /// - Parameter jwk: A JWK that was checked.
    /// - Returns: The key as it is stored.
    package func setKey(ofPartner partner: String, to jwk: Data?) async throws -> Data? {
        let key = PostgresValue.optional(try jwk.map { try PostgresValue.json($0) })
        return try await self.translating { connection in
            try await connection.query("SELECT insp.set_partner_key($1, $2)", [.text(partner), key]).single()
                .optionalData(0)
        }
    }
}
