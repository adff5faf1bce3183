import Custody
import Foundation
import InspectCore
import JobQueue
import Postgres

extension Configuration {
    /// The key store, with the configured wrapping keys.
    ///
    /// - Returns: `nil` if none is configured.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if no wrapping key is.
    func openKeyStore() throws -> KeyStore? {
        guard !self.keysURL.isEmpty else { return nil }
        return KeyStore(self.keysURL, wrappingKeys: try self.openWrappingKeys())
    }

    func openWrappingKeys(isNeeded: Bool = true) throws -> WrappingKeys {
        guard !isNeeded || !self.wrappingKeys.isEmpty else {
            throw InspectError(
                .keyMissing, "no wrapping key is configured", hint: "Set --wrapping-keys or INSPECTD_WRAPPING_KEYS.")
        }
        return try WrappingKeySource.open(self.wrappingKeys)
    }

    /// The key store, once it is known to be the database's and its wrapping key this process's.
    ///
    /// - Parameter onWait: Called with the reason while the key store or the database is unavailable, and the call waits for it,
    ///   also without a key store: the database alone knows whether anything is sealed. `nil`: the call fails then.
    /// - Returns: `nil` if none is configured and nothing is sealed.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` or ``ErrorCode/keyMismatch``: the process must not start.
    func checkedKeyStore(onWait: ((ErrorCode) -> Void)? = nil) async throws -> KeyStore? {
        let store = try self.openKeyStore()
        var last = ""
        while true {
            do {
                let noted = try await self.notedCustody()
                if let store {
                    try await store.check(noted)
                } else if let noted {
                    throw InspectError(
                        .keyMissing, "the database is sealed with the keys of key store \(noted.keyStore)",
                        hint: "Set --keys-url or INSPECTD_KEYS_URL, and --wrapping-keys or INSPECTD_WRAPPING_KEYS.")
                }
                if store != nil, onWait != nil, !KeyStore.isMemoryLocked {
                    self.log.warning("keys are in memory that may be swapped out: raise the limit on locked memory")
                }
                return store
            } catch {
                let isAway = (error as? InspectError)?.code == .keysUnavailable
                guard let onWait, isAway || error is PostgresError else {
                    throw (error as? PostgresError)?.meaning ?? error
                }
                onWait(isAway ? .keysUnavailable : .databaseUnavailable)
                let reason = (error as? InspectError)?.text ?? (error as? PostgresError)?.reason ?? "\(error)"
                if reason != last {
                    self.log.warning(
                        isAway ? "waiting for the key store" : "waiting for the database",
                        ["reason": .string(reason)])
                }
                last = reason
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Runs a command's calls, then closes both connections.
    func withClient<Outcome>(
        _ body: (_ client: JobClient, _ keys: KeyStore?) async throws -> Outcome
    ) async throws -> Outcome {
        let keys = try await self.checkedKeyStore()
        let client = JobClient(databaseURL: self.databaseURL, keys: keys)
        let outcome: Result<Outcome, any Error>
        do { outcome = .success(try await body(client, keys)) } catch { outcome = .failure(error) }
        await client.close()
        await keys?.close()
        return try outcome.get()
    }

    private func notedCustody() async throws -> CustodyState? {
        let connection = try await PostgresConnection.connect(
            self.databaseURL, options: ConnectionOptions(name: "inspectd keys"))
        do {
            let noted = try await CustodyState.noted(on: connection)
            await connection.close()
            return noted
        } catch {
            await connection.close()
            throw error
        }
    }
}
