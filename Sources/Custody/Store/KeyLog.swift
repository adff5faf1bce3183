package import InspectCore
package import Postgres

/// The log of the key store's server. If it contained the parameters with which keys were stored, anyone with the log and an old backup of the main database could open
/// erased data.
package enum KeyLog {
    /// Limit the bytes of parameters that the server logs, with statements and with errors.
    static let settings = ["log_parameter_max_length", "log_parameter_max_length_on_error"]

    /// Keeps parameters out of the log for all sessions that begin from now on, as far as the login may.
    ///
    /// - Parameter connection: To the key store, as its owner. The first setting is a superuser's, or of those to whom it was granted.
    package static func omitParameters(on connection: PostgresConnection) async throws {
        for setting in self.settings {
            // Several sessions may try at once; then one success is enough.
            try await connection.execute(
                """
                DO $$
                BEGIN
                    EXECUTE format('ALTER DATABASE %I SET \(setting) = 0', current_database());
                EXCEPTION WHEN insufficient_privilege OR unique_violation OR internal_error THEN
                    NULL;
                END
                $$
                """)
        }
    }
}

extension KeyStore {
    /// The settings that let the server log parameters, such as this session's `log_parameter_max_length = -1`, or a module's own; empty:
    /// nothing.
    package func loggedParameters() async throws(InspectError) -> [String] {
        try await self.run { connection in
            try await connection.query(
                """
                SELECT n || ' = ' || current_setting(n) FROM unnest($1::text[]) AS n WHERE current_setting(n) <> '0'
                """, [.textArray(KeyLog.settings)]
            ).map { try $0.string(0) } + connection.parameterLoggers()
        }
    }
}
