import Custody
import Foundation
import InspectCore
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
                .keyMissing, "no wrapping key is configured", hint: "--wrapping-keys or INSPECTD_WRAPPING_KEYS.")
        }
        return try WrappingKeySource.open(self.wrappingKeys)
    }

    /// The key store, once it is known to be the database's and its wrapping key this process's.
    ///
    /// - Parameter isPatient: Whether to wait for a key store or a database that is away.
    /// - Returns: `nil` if none is configured and nothing is sealed.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` or ``ErrorCode/keyMismatch``: the process must not start.
    func checkedKeyStore(isPatient: Bool) async throws -> KeyStore? {
        let store = try self.openKeyStore()
        while true {
            do {
                let noted = try await self.notedCustody()
                if let store {
                    try await store.check(noted)
                } else if let noted {
                    throw InspectError(
                        .keyMissing, "the database is sealed with the keys of key store \(noted.keyStore)",
                        hint: "--keys-url or INSPECTD_KEYS_URL, and --wrapping-keys or INSPECTD_WRAPPING_KEYS.")
                }
                return store
            } catch let error as InspectError where error.code != .keysUnavailable || !isPatient {
                throw error
            } catch {
                // Without a key store, a database that is away is for the process itself to wait for.
                if store == nil { return nil }
                if !isPatient { throw error }
                self.log.warning("waiting for the key store", ["reason": .string("\(error)")])
            }
            try await Task.sleep(for: .seconds(1))
        }
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
