internal import Custody
internal import Foundation
internal import Glibc
internal import InspectCore
internal import Postgres

extension JobWorker {
    private static let keyPage = 500

    /// Destroys the keys of what was erased or purged. Keys that no job has are left to `inspectd keys sweep`: beside a database that
    /// was restored to an older state, they may be those of newer jobs.
    ///
    /// The row of the duty is not held meanwhile, which would hold back VACUUM for as long as the key store is slow. Destroying twice
    /// does no harm, so neither do two workers at once nor one that is killed between two calls.
    func runKeyDuty(_ keys: KeyStore) async {
        let source = self.configuration.connection("keys", report: self.report)
        var backoff = Backoff()
        var isDelayed = false
        while !Task.isCancelled {
            var pause = Duration.seconds(1)
            do {
                if try await self.destroyKeys(keys, on: source) { pause = .zero }
                isDelayed = false
                backoff.reset()
            } catch is CancellationError {
                break
            } catch {
                pause = max(pause, backoff.next())
                let reason = (error as? InspectError)?.text ?? (error as? PostgresError)?.reason ?? "\(error)"
                if !isDelayed { self.report(.keysDelayed(error: reason)) }
                isDelayed = true
                _ = try? await source.open().query(
                    "SELECT insp.duty_failed('keys', $1, $2)", [.text(self.keyWorker), .text(reason)])
            }
            try? await Task.sleep(for: pause)
        }
        await source.close()
    }

    private var keyWorker: String { "\(self.configuration.host)/\(getpid())" }

    /// - Returns: Whether more is left.
    private func destroyKeys(_ keys: KeyStore, on source: ReconnectingConnection) async throws -> Bool {
        let connection = try await source.open()
        guard try await connection.query("SELECT insp.duty_take('keys', interval '0.8 s')").single().bool(0) else {
            return false
        }
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
        _ = try await connection.query(
            "SELECT insp.duty_done('keys', $1, to_jsonb($2::integer))",
            [.text(self.keyWorker), .int(Int64(destroyed + swept))])
        if destroyed > 0 { self.report(.keysDestroyed(destroyed)) }
        return gone.count == Self.keyPage || swept >= 1000
    }
}
