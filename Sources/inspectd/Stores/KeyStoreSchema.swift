import Custody
import InspectCore
import Postgres

/// The key store's own schema: `Migrations/keys`.
enum KeyStoreSchema {
    /// Brings the schema up to date, gives a new key store its first wrapping key, and notes both in the main database. May be
    /// repeated, and run by many at once.
    ///
    /// - Parameters:
    ///   - keys: Without keys, only the schema is brought up to date.
    ///   - first: The wrapping key of a new key store; `nil`: the only one that is configured.
    ///   - former: The id of the main database that this one replaces; `nil`: none.
    /// - Returns: The files that were applied, and what the key store needs; `nil`: it is new, and nothing says which of the keys
    ///   is its first one.
    static func setUp(
        _ configuration: Configuration, _ keys: WrappingKeys, first: String? = nil, inPlaceOf former: String? = nil
    )
        async throws -> (applied: [String], state: CustodyState?)
    {
        let applied = try await Self.migrate(configuration)
        guard !keys.ids.isEmpty else { return (applied, nil) }
        let store = KeyStore(configuration.keysURL, wrappingKeys: keys)
        guard let name = try await store.state()?.wrappingKey ?? first ?? (keys.ids.count == 1 ? keys.ids[0] : nil)
        else { return (applied, nil) }
        let connection = try await PostgresConnection.connect(
            configuration.databaseURL, options: ConnectionOptions(name: "inspectd keys"))
        let state = try await store.begin(
            name, for: try await CustodyState.database(of: connection), inPlaceOf: former)
        try await state.note(on: connection)
        try await store.noteFirst(connection)
        await store.close()
        await connection.close()
        return (applied, state)
    }

    private static func migrate(_ configuration: Configuration) async throws -> [String] {
        let connection = try await Self.connect(configuration)
        let outcome = try await Migrator(directory: configuration.migrations + "/keys").run(on: connection) {
            configuration.log.warning("waiting for the key store", ["reason": .string($0)])
        }
        // Every time: a restored dump has lost it.
        try await KeyLog.omitParameters(on: connection)
        await connection.close()
        return outcome.applied
    }

    /// - Returns: The roles that were missing.
    static func createRoles(_ configuration: Configuration) async throws -> [String] {
        let connection = try await Self.connect(configuration)
        let created = try await Migrator(directory: configuration.migrations + "/keys").createRoles(on: connection)
        await connection.close()
        return created
    }

    /// Rewrites the file of the keys (``KeyFiles``). Needs the key store's owner.
    static func rewrite(_ configuration: Configuration) async throws {
        let connection = try await Self.connect(configuration)
        try await KeyFiles.rewrite(on: connection)
        await connection.close()
    }

    private static func connect(_ configuration: Configuration) async throws -> PostgresConnection {
        guard !configuration.keysURL.isEmpty else {
            throw InspectError(.keyMissing, "no key store is configured", hint: "Set --keys-url or INSPECTD_KEYS_URL.")
        }
        return try await PostgresConnection.connect(
            configuration.keysURL, options: ConnectionOptions(name: "inspectd keys"))
    }
}
