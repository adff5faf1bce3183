internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

extension Maintenance {
    private static let keyPage = 500

    /// Destroys the keys of what was erased or purged. Keys that no job has are left to `inspectd keys sweep`: beside a database that
    /// was restored to an older state, they may be those of newer jobs.
    func runKeyDuty(_ keys: KeyStore) async {
        await self.runStoreDuty("keys", delayed: { .keysDelayed(error: $0) }) { connection in
            let gone = try await connection.query("SELECT * FROM insp.keys_gone($1)", [.int(Int64(Self.keyPage))])
            var destroyed = 0
            if !gone.isEmpty {
                let ids = try gone.map { try $0.string(0) }
                let partners = try gone.map { try $0.int(1) }
                destroyed += try await keys.destroyJobs(ids.compactMap { KeyID($0) }, of: partners)
                _ = try await connection.query(
                    "SELECT insp.keys_destroyed($1::uuid[], $2::integer[])", [.textArray(ids), .intArray(partners)])
            }
            let swept = try await keys.sweep()
            if destroyed > 0 { self.report(.keysDestroyed(destroyed)) }
            return (destroyed + swept, gone.count == Self.keyPage || swept >= 1000)
        }
    }
}
