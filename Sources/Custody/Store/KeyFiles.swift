internal import InspectCore
package import Postgres

/// The file in which PostgreSQL stores the keys.
package enum KeyFiles {
    /// Rewrites it, so that no destroyed or rewrapped key stays in it: VACUUM alone frees the bytes and leaves them there.
    ///
    /// - Parameter connection: To the key store, as its owner; no function can run the command.
    /// - Throws: ``InspectError`` with ``ErrorCode/parameterInvalid`` if the login is not the owner.
    package static func rewrite(on connection: PostgresConnection) async throws {
        func file() async throws -> (table: String, node: Int64) {
            let row = try await connection.query("SELECT key_table, file_node FROM insp.key_file()").single()
            return (try row.string(0), try row.int(1))
        }
        try await connection.execute("SET lock_timeout = '30s'")
        let before = try await file()
        _ = try await connection.query("VACUUM (FULL) \(before.table)", timeout: .seconds(600))
        // For a table of another owner, PostgreSQL only warns.
        guard try await file().node != before.node else {
            throw InspectError(
                .parameterInvalid, "--rewrite: the login does not own the key store",
                hint: "Run it with the login that runs inspectd migrate.")
        }
    }
}
