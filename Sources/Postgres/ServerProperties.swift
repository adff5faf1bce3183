/// What a server says of itself.
extension PostgresConnection {
    /// What every database of the same cluster has, and its copies.
    package func systemIdentifier() throws -> String {
        try self.query("SELECT system_identifier::text FROM pg_control_system()").single().string(0)
    }

    /// The version as one number, such as 150018 for 15.18, and the encoding of the database.
    package func versionAndEncoding() throws -> (version: Int64, encoding: String) {
        let row = try self.query(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
        ).single()
        return (try row.int(0), try row.string(1))
    }

    /// Whether the server is on this host: reached by a Unix socket or a loopback address.
    package func isLocal() throws -> Bool {
        try self.query(
            "SELECT coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true)"
        ).single().bool(0)
    }
}
