internal import Foundation
package import InspectCore
internal import Postgres

/// The key store: a separate database with the wrapped keys of partners, persons and jobs.
///
/// If it, or the holder of the wrapping key, does not answer, every call throws ``InspectError`` with
/// ``ErrorCode/keysUnavailable``: callers wait and try again.
package final class KeyStore: Sendable {
    let pool: ConnectionPool
    let wrappingKeys: WrappingKeys
    let cache: PartnerKeyCache
    private let loader = KeyLoader()

    /// - Parameters:
    ///   - url: A libpq connection string or URL of the key store. Never logged.
    ///   - connections: Maximum number of connections.
    ///   - cached: Partners' keys that are kept in memory.
    package init(
        _ url: String, wrappingKeys: WrappingKeys, name: String = "inspectd keys", connections: Int = 2,
        cached: Int = 1_000
    ) {
        var options = ConnectionOptions(name: name)
        options.connectTimeout = .seconds(5)
        options.timeout = .seconds(10)
        self.pool = ConnectionPool(url, options: options, size: connections, queueLimit: 256)
        self.wrappingKeys = wrappingKeys
        self.cache = PartnerKeyCache(limit: cached)
    }

    /// Closes the connections to the key store; opened keys stay in memory until they are released.
    package func close() async { await self.pool.close() }

    /// Whether the memory of all keys so far is locked: if not, the system may write them to its swap space.
    package static var isMemoryLocked: Bool { SecretMemory.isLocked }

    /// Fetches and opens keys, in one statement.
    ///
    /// - Returns: For each id its key, or why it does not open: ``ErrorCode/keyUnknown``, ``ErrorCode/keyMismatch``,
    ///   ``ErrorCode/keyMissing`` or ``ErrorCode/keysUnavailable`` (none ends a job: the key is at fault, not the data),
    ///   or ``ErrorCode/keyDestroyed``.
    package func keys(_ ids: [KeyID]) async throws(InspectError) -> [KeyID: Result<CustodyKey, InspectError>] {
        try await self.examine(ids).mapValues { $0.mapError(\.error) }
    }

    /// Like ``keys(_:)``, with the kind of fault.
    func examine(_ ids: [KeyID]) async throws(InspectError) -> [KeyID: Result<CustodyKey, KeyFault>] {
        guard !ids.isEmpty else { return [:] }
        let wanted = Set(ids)
        let rows = try await self.rows("SELECT * FROM insp.fetch_keys($1::uuid[])", [.textArray(wanted.map(\.text))])
        let known = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        let absent = wanted.union(known.values.compactMap(\.parent)).subtracting(known.keys)
        let destroyed = try await self.destroyed(absent)
        var opened: [KeyID: Result<CustodyKey, KeyFault>] = [:]
        for id in absent { opened[id] = .failure(destroyed.contains(id) ? .destroyed : .absent) }
        // A row's parents are opened before it.
        for kind in KeyKind.allCases {
            for row in known.values where row.kind == kind { opened[row.id] = await self.open(row, opened) }
        }
        return Dictionary(uniqueKeysWithValues: wanted.map { ($0, opened[$0] ?? .failure(.absent)) })
    }

    /// Those of these keys that were destroyed with their person.
    private func destroyed(_ ids: Set<KeyID>) async throws(InspectError) -> Set<KeyID> {
        if ids.isEmpty { return [] }
        return Set(
            try await self.run { connection in
                try await connection.query(
                    "SELECT insp.destroyed_keys($1::uuid[])::text", [.textArray(ids.map(\.text))]
                ).compactMap { KeyID(try $0.string(0)) }
            })
    }

    /// One key. Callers at the same time share a statement.
    package func key(_ id: KeyID) async throws(InspectError) -> CustodyKey {
        try await self.loader.key(id) { ids in
            do throws(InspectError) {
                return try await self.keys(ids)
            } catch {
                return Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(error)) })
            }
        }.get()
    }

    private func open(
        _ row: StoredKey, _ opened: [KeyID: Result<CustodyKey, KeyFault>]
    ) async -> Result<CustodyKey, KeyFault> {
        guard let parent = row.parent else { return await self.openPartner(row) }
        return (opened[parent] ?? .failure(.absent)).flatMap { key in
            // The partner of a person is in its associated data, so a row under another partner's does not open.
            Result { () throws(InspectError) in try key.child(row.kind, id: row.id, wrapped: row.wrapped) }
                .mapError { $0.code == .keyUnknown ? .damaged : .failure($0) }
        }
    }

    func openPartner(_ row: StoredKey) async -> Result<CustodyKey, KeyFault> {
        await self.cache.key(row.id) { await self.unwrapPartner(row) }
    }

    private func unwrapPartner(_ row: StoredKey) async -> Result<CustodyKey, KeyFault> {
        do throws(InspectError) {
            let secret = try await self.secret(row)
            return .success(CustodyKey(id: row.id, kind: .partner, partner: row.partner, parent: nil, secret: secret))
        } catch {
            return .failure(error.code == .sealBroken ? .foreign : .failure(error))
        }
    }

    /// Asks the holder of the wrapping key, regardless of the cache.
    func secret(_ row: StoredKey) async throws(InspectError) -> SecretKey {
        guard let name = row.wrappingKey else { throw InspectError(.sealBroken, "a key") }
        return try await self.wrappingKeys.key(name).unwrap(row.wrapped, row.associated(name))
    }

    // MARK: The database

    /// - Parameter busy: Thrown if another transaction holds a lock for too long.
    /// - Throws: ``InspectError`` with ``ErrorCode/keysUnavailable``, also for faults that an operator must fix: a role without
    ///   rights, a key store without its schema.
    func run<Rows: Sendable>(
        busy: ErrorCode = .keysUnavailable,
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Rows
    ) async throws(InspectError) -> Rows {
        do {
            return try await self.pool.run { connection in
                do { return try await body(connection) } catch let error as PostgresError where error.isLockTimeout {
                    throw InspectError(busy, "the key store: \(error.reason)")
                }
            }
        } catch let error as PostgresError {
            throw InspectError(.keysUnavailable, "the key store: \(error.reason)")
        } catch let error as InspectError {
            switch error.code {
            case .databaseUnavailable: throw InspectError(.keysUnavailable, "the key store: \(error.detail)")
            case .gatewayOverloaded:
                throw InspectError(.keysUnavailable, "too many calls are waiting for the key store")
            default: throw error
            }
        } catch {
            throw InspectError(unexpected: error)
        }
    }

    func rows(_ sql: String, _ parameters: [PostgresValue]) async throws(InspectError) -> [StoredKey] {
        try await self.run { connection in try await connection.query(sql, parameters).map { try StoredKey($0) } }
    }

    func count(_ sql: String, _ parameters: [PostgresValue]) async throws(InspectError) -> Int {
        try await self.run { connection in Int(try await connection.query(sql, parameters)[0].int(0)) }
    }

    /// The identifier shared by all databases of a PostgreSQL cluster and its copies.
    package func cluster() async throws(InspectError) -> String {
        try await self.run { try await $0.systemIdentifier() }
    }

    // MARK: Wrapping keys

    /// The wrapping keys that the key store needs; `nil`: it has no wrapping key yet.
    package func state() async throws(InspectError) -> CustodyState? {
        try await self.run { connection in
            try await connection.query("SELECT * FROM insp.custody()").first.map { try CustodyState($0) }
        }
    }

    /// Verifies that the key store and the main database belong together, and that this process has the wrapping keys.
    ///
    /// - Parameter noted: What the main database has noted; `nil`: nothing.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` or ``ErrorCode/keyMismatch``: the process must not start; with
    ///   ``ErrorCode/keysUnavailable``: it is not known yet.
    @discardableResult
    package func check(_ noted: CustodyState?) async throws(InspectError) -> CustodyState {
        let (noted, state) = try await self.checkPair(noted)
        guard [state.wrappingKey, state.formerKey].contains(noted.wrappingKey) else {
            throw Self.mismatch(noted, state)
        }
        try await self.prove(state)
        return state
    }

    /// Neither of the key store's wrapping keys is the one that the database has noted: one of the two is older than a rotation.
    package static func mismatch(_ noted: CustodyState, _ state: CustodyState) -> InspectError {
        InspectError(
            .keyMismatch,
            "the database has noted the wrapping key \(noted.wrappingKey), and the key store \(state.wrappingKey)",
            hint:
                "If the database was restored to before the rotation to \(state.wrappingKey): inspectd keys rewrap --to \(state.wrappingKey). "
                + "If the key store is the older one: inspectd keys rotate --to \(noted.wrappingKey) (deploy/SEALING.md, \"Backups\")."
        )
    }

    /// Verifies that the key store and the main database belong together.
    ///
    /// - Parameter noted: What the main database has noted; `nil`: nothing.
    @discardableResult
    package func checkPair(_ noted: CustodyState?) async throws(InspectError) -> (
        noted: CustodyState, state: CustodyState
    ) {
        guard let noted else {
            throw InspectError(.keyMissing, "the database has recorded no key store", hint: "Run inspectd keys init.")
        }
        guard let state = try await self.state() else {
            throw InspectError(.keyMismatch, "the key store is empty, and the database has sealed data")
        }
        guard noted.keyStore == state.keyStore else {
            throw InspectError(
                .keyMismatch, "the database belongs to key store \(noted.keyStore), and this is \(state.keyStore)")
        }
        try state.check(noted.database)
        return (noted, state)
    }

    /// Verifies that this process has the wrapping keys of the key store.
    ///
    /// - Throws: As ``check(_:)``.
    @discardableResult
    package func checkWrappingKeys() async throws(InspectError) -> CustodyState {
        guard let state = try await self.state() else {
            throw InspectError(.keyMissing, "the key store has no wrapping key", hint: "Run inspectd keys init.")
        }
        try await self.prove(state)
        return state
    }

    private func prove(_ state: CustodyState) async throws(InspectError) {
        if let former = state.formerKey { _ = try self.wrappingKeys.key(former) }
        do {
            _ = try await self.wrappingKeys.key(state.wrappingKey).unwrap(
                state.proof, CustodyState.proofName(state.wrappingKey))
        } catch {
            guard error.code == .sealBroken else { throw error }
            throw InspectError(
                .keyMismatch, "the wrapping key \(state.wrappingKey) of this process is a different one with that name")
        }
    }
}
