import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport

@testable import Custody
@testable import ObjectStore

/// A main database with a partner, a key store, and an object store.
struct ObjectSite: Sendable {
    let stub: StubObjectStore
    let main: ScratchDatabase
    let admin: PostgresConnection
    let keys: KeyStore
    let keyDatabase: ScratchDatabase
    let store: ObjectStore
    let client: JobClient
    let partner: Int64

    init(prefix: String = "inspectd") async throws {
        self.stub = try StubObjectStore()
        self.main = try await .migrated()
        self.admin = try await self.main.connect()
        let database = try await ScratchDatabase.empty()
        self.keyDatabase = database
        let connection = try await database.connect()
        let migrator = Migrator(directory: ScratchDatabase.migrations + "/keys")
        try await migrator.createRoles(on: connection)
        try await migrator.run(on: connection)
        let wrapping = [FileWrappingKey(id: "first", secret: .random())]
        self.keys = KeyStore(database.url, wrappingKeys: try WrappingKeys(wrapping))
        let state = try await self.keys.begin(
            "first", for: try await CustodyState.database(of: self.admin))
        try await state.note(on: self.admin)
        self.store = ObjectStore(try ObjectStoreAddress(self.stub.setting(prefix: prefix)))
        self.client = JobClient(databaseURL: self.main.url, keys: self.keys, objects: self.store)
        _ = try await self.admin.query("SELECT insp.create_partner('acme')")
        self.partner = try await self.admin.query("SELECT insp.custody_partner('acme')")[0].int(0)
    }

    /// Accepts a job with two parts and frames.
    func enqueue(_ more: [String: Any] = [:], _ parts: [PartKind: [Data]] = Self.parts) async throws -> String {
        let payload = ["partner": "acme", "workflow": "id_identity"].merging(more) { $1 }
        return try await self.client.enqueue(
            payload: try JSONSerialization.data(withJSONObject: payload), parts: parts)
    }

    static let parts: [PartKind: [Data]] = [
        .front: [Data("front".utf8)], .face: [Data("face".utf8)], .frames: (0..<5).map { Data("frame \($0)".utf8) },
    ]

    /// The objects in the store.
    func objects() async throws -> [String] {
        try await self.store.list(after: nil).keys.map { self.store.address.object($0) }
    }

    func texts(_ sql: String) async throws -> [String] { try await self.admin.query(sql).map { try $0.string(0) } }

    /// Ends a job, so that it can be erased.
    func finish(_ id: String) async throws { _ = try await self.admin.query("SELECT insp.cancel($1)", [.text(id)]) }

    /// Runs a worker that maintains until a condition holds.
    func maintain(until what: String, _ condition: () async throws -> Bool) async throws {
        var configuration = JobWorkerConfiguration(
            databaseURL: self.main.url, host: "test", version: "0", slots: 1)
        configuration.lanes = []
        configuration.maintenanceInterval = .seconds(0.1)
        configuration.keys = self.keys
        configuration.objects = self.store
        let worker = JobWorker(configuration, handler: NoHandler())
        let running = Task { try await worker.run() }
        do { try await waitUntil(what, condition) } catch {
            worker.stop()
            throw error
        }
        worker.stop()
        try await running.value(within: .seconds(120))
    }
}

/// Claims nothing.
private struct NoHandler: JobHandler {
    func run(_ context: JobContext) async throws -> JobResult { throw InspectError(.internalError) }
}

/// The code of the error that a closure throws.
func errorCode(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void) async -> ErrorCode? {
    do { try await body() } catch { return (error as? InspectError)?.code }
    return nil
}
