import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport

@testable import Custody

/// A key store with a wrapping key.
struct KeyStoreFixture: Sendable {
    let database: ScratchDatabase
    let admin: PostgresConnection
    /// Two wrapping keys, of which the first wraps.
    let keys: [FileWrappingKey]
    /// The id of its main database.
    let main: String

    /// - Parameters:
    ///   - begins: Whether the store gets its first wrapping key.
    ///   - main: Its main database; `nil`: one that there is not.
    init(begins: Bool = true, main: PostgresConnection? = nil) async throws {
        if let main {
            self.main = try await CustodyState.database(of: main)
        } else {
            self.main = UUID().uuidString.lowercased()
        }
        self.database = try await ScratchDatabase.empty()
        self.admin = try await self.database.connect()
        let migrator = Migrator(directory: ScratchDatabase.migrations + "/keys")
        try await migrator.createRoles(on: self.admin)
        try await migrator.run(on: self.admin)
        self.keys = ["first", "second"].map { FileWrappingKey(id: $0, secret: .random()) }
        guard begins else { return }
        let store = try self.store()
        _ = try await store.begin("first", for: self.main)
        await store.close()
    }

    /// A process's client of it: with an own cache.
    func store(_ keys: [any WrappingKey]? = nil, cached: Int = 1_000) throws -> KeyStore {
        KeyStore(self.database.url, wrappingKeys: try WrappingKeys(keys ?? self.keys), cached: cached)
    }

    func count(_ kind: String) async throws -> Int {
        Int(try await self.admin.query("SELECT count(*) FROM insp.key WHERE kind = $1", [.text(kind)])[0].int(0))
    }
}

/// A wrapping key that counts what it is asked, and answers as a slow one does, or not at all.
final class CountingKey: WrappingKey {
    let id: String
    private let key: FileWrappingKey
    private let state = Mutex((wraps: 0, unwraps: 0, isAway: false))
    private let delay: Duration

    init(_ key: FileWrappingKey, delay: Duration = .zero) {
        self.id = key.id
        self.key = key
        self.delay = delay
    }

    var wraps: Int { self.state.withLock { $0.wraps } }
    var unwraps: Int { self.state.withLock { $0.unwraps } }
    var isAway: Bool {
        get { self.state.withLock { $0.isAway } }
        set { self.state.withLock { $0.isAway = newValue } }
    }

    func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        self.state.withLock { $0.wraps += 1 }
        try await self.answer()
        return try await self.key.wrap(key, associated)
    }

    func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey {
        self.state.withLock { $0.unwraps += 1 }
        try await self.answer()
        return try await self.key.unwrap(wrapped, associated)
    }

    private func answer() async throws(InspectError) {
        try? await Task.sleep(for: self.delay)
        if self.isAway { throw InspectError(.keysUnavailable, "away") }
    }
}

/// A wrapping key in a KMS that was restored to before its present version.
final class OlderKey: WrappingKey {
    let id: String

    init(_ id: String) { self.id = id }

    func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        throw InspectError(.keysUnavailable, "away")
    }

    func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey {
        throw InspectError(.keyUnknown, "no such version")
    }
}

/// The code of the error that a closure throws.
func errorCode(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void) async -> ErrorCode? {
    do { try await body() } catch { return (error as? InspectError)?.code }
    return nil
}
