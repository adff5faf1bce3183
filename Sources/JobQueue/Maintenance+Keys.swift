internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

extension Maintenance {
    private static let keyPage = 500
    /// How often the key store notes how far the database has come.
    private static let markAge = Duration.seconds(60)

    /// Destroys the keys of what was erased or purged. Keys that no job has are left to `inspectd keys sweep`: beside a database that
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
            let swept = try await keys.sweep()
            if followed.map({ $0.duration(to: .now) > Self.markAge }) ?? true {
                try await keys.follow(connection)
                followed = .now
            }
            if destroyed > 0 { self.report(.keysDestroyed(destroyed)) }
            return (destroyed + swept, gone.count == Self.keyPage || swept >= 1000)
        }
    }
}
