internal import Foundation
internal import InspectCore
internal import ObjectStore
internal import Postgres

extension Maintenance {
    /// Objects that one round deletes, and those deleted at once.
    private static let objectPage = 2_000
    private static let deletionsAtOnce = 32
    /// Failures after which a round ends: further calls would fail as well.
    private static let deletionFailures = 8

    /// Deletes the objects of erased or purged parts, and those that no part has.
    func runObjectDuty(_ store: ObjectStore) async {
        await self.runStoreDuty(
            "objects", begin: "SELECT insp.begin_objects()", delayed: { .objectsDelayed(error: $0) }
        ) { connection in
            let gone = try await connection.query(
                "SELECT insp.objects_gone($1, $2)", [.text(store.address.root), .int(Int64(Self.objectPage))]
            ).map { try $0.string(0) }
            let (deleted, failure) = await Self.delete(gone, from: store)
            if !deleted.isEmpty {
                _ = try await connection.query("SELECT insp.objects_deleted($1)", [.textArray(deleted)])
            }
            if let failure { throw failure }
            let sweep = try await self.sweep(store, on: connection)
            if deleted.count + sweep.deleted > 0 {
                self.report(.objectsDeleted(deleted.count, swept: sweep.deleted))
            }
            return (deleted.count + sweep.deleted, gone.count == Self.objectPage || sweep.hasMore)
        }
    }

    /// Looks at one page of the objects of two days ago, each once: those that no part has were uploaded for requests that were
    /// refused, repeated or never arrived.
    private func sweep(
        _ store: ObjectStore, on connection: PostgresConnection
    ) async throws -> (deleted: Int, hasMore: Bool) {
        guard let row = try await connection.query("SELECT * FROM insp.object_sweep()").first else { return (0, false) }
        let end = try row.string("until")
        let page = try await store.list(after: try row.optionalString("after"))
        let old = page.keys.prefix { $0.utf8.lexicographicallyPrecedes(end.utf8) }
        var unused: [String] = []
        if !old.isEmpty {
            unused = try await connection.query(
                "SELECT insp.objects_of_no_part($1)", [.textArray(old.map { store.address.object($0) })]
            ).map { try $0.string(0) }
        }
        let (deleted, failure) = await Self.delete(unused, from: store)
        if let failure { throw failure }
        let isOver = page.isLast || old.count < page.keys.count
        _ = try await connection.query(
            "SELECT insp.objects_swept($1)", [.text(isOver ? end : old.last ?? end)])
        return (deleted.count, !isOver)
    }

    private static func delete(_ objects: [String], from store: ObjectStore) async -> ([String], (any Error)?) {
        await withTaskGroup(of: (String, (any Error)?).self) { group in
            var rest = objects.makeIterator()
            func start() {
                guard let object = rest.next() else { return }
                group.addTask {
                    do {
                        try await store.delete(object, isPatient: false)
                        return (object, nil)
                    } catch { return (object, error) }
                }
            }
            for _ in 0..<Self.deletionsAtOnce { start() }
            var deleted: [String] = []
            var failures: [any Error] = []
            while let (object, failure) = await group.next() {
                if let failure { failures.append(failure) } else { deleted.append(object) }
                if failures.count < Self.deletionFailures { start() }
            }
            return (deleted, failures.first)
        }
    }
}
