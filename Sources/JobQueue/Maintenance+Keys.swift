internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

extension Maintenance {
    private static let keyPage = 500
    /// Each costs a call of the key store.
    private static let personPage = 50
    /// How often the key store notes how far the database has come.
    private static let markAge = Duration.seconds(60)

    /// Destroys the keys of erased or purged data. Keys that no job has are left to `inspectd keys sweep`: with a database that
    /// was restored to an older state, they may be those of newer jobs.
    func runKeyDuty(_ keys: KeyStore) async {
        var followed: ContinuousClock.Instant?
        await self.runStoreDuty("keys", delayed: { .keysDelayed(error: $0) }) { connection in
            let gone = try await connection.query("SELECT * FROM insp.keys_gone($1)", [.int(Int64(Self.keyPage))])
            var destroyed = 0
            if !gone.isEmpty {
                let ids = try gone.map { try $0.string(0) }
                let partners = try gone.map { try $0.int(1) }
                let existed = try await keys.destroyJobs(ids.compactMap { KeyID($0) }, of: partners)
                destroyed += existed.count(where: { $0 })
                _ = try await connection.query(
                    "SELECT insp.keys_destroyed($1::uuid[], $2::integer[], $3::boolean[])",
                    [.textArray(ids), .intArray(partners), .textArray(existed.map { $0 ? "t" : "f" })])
            }
            // A failure with one person must not keep the others from being swept.
            let persons: Result<(destroyed: Int, hasMore: Bool), any Error>
            do {
                persons = .success(try await Self.destroyPersons(keys, connection))
            } catch {
                persons = .failure(error)
            }
            destroyed += (try? persons.get())?.destroyed ?? 0
            let swept = try await keys.sweep()
            if followed.map({ $0.duration(to: .now) > Self.markAge }) ?? true {
                try await keys.follow(connection)
                followed = .now
            }
            if destroyed > 0 { self.report(.keysDestroyed(destroyed)) }
            return (destroyed + swept, try persons.get().hasMore || gone.count == Self.keyPage || swept >= 1000)
        }
    }

    /// Destroys the keys of erased persons and faces, and those of deleted faces of which no job is left.
    private static func destroyPersons(
        _ keys: KeyStore, _ connection: PostgresConnection
    ) async throws -> (destroyed: Int, hasMore: Bool) {
        let gone = try await connection.query(
            "SELECT partner_id, index, since::text, microseconds, keeps_jobs FROM insp.persons_gone($1)",
            [.int(Int64(Self.personPage))])
        let read = ContinuousClock.now
        var destroyed = 0
        for row in gone {
            let (partner, index, since) = (try row.int(0), try row.data(1), try row.string(2))
            let keepsJobs = try row.bool(4)
            var existed: Bool?
            if keepsJobs {
                existed = try await keys.destroyDeletedFace(index, of: partner)
            } else {
                // Data sealed while the others were destroyed is newer than the erasure, too.
                let waited = read.duration(to: .now) / .microseconds(1)
                existed = try await keys.destroyErasedPerson(
                    index, of: partner, since: try row.int(3) + Int64(waited))
            }
            guard let existed else {
                _ = try await connection.query(
                    "SELECT insp.face_in_use($1, $2, $3::timestamptz)", [.int(partner), .bytes(index), .text(since)])
                continue
            }
            if existed { destroyed += 1 }
            _ = try await connection.query(
                "SELECT insp.person_destroyed($1, $2, $3::timestamptz, $4, $5)",
                [.int(partner), .bytes(index), .text(since), .bool(existed), .bool(keepsJobs)])
        }
        return (destroyed, gone.count == Self.personPage)
    }
}
