package import Postgres

/// What the main database knows of keys, as an operator asks it.
package enum KeyUse {
    /// Those of the keys that no job of the database has.
    package static func unused(_ keys: [KeyID], on connection: PostgresConnection) async throws -> [KeyID] {
        try await connection.query(
            "SELECT insp.keys_of_no_job($1::uuid[])::text", [.textArray(keys.map(\.text))]
        ).compactMap { KeyID(try $0.string(0)) }
    }

    /// Records what an operator did: the key store has no record of its own.
    ///
    /// - Parameter keys: How many keys it was done to; `nil`: it is not about a number of keys.
    package static func record(_ action: String, keys: Int?, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "SELECT insp.record_keys($1, keys => $2::integer)",
            [.text(action), keys.map { .int(Int64($0)) } ?? .null])
    }
}
