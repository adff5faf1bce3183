import Custody
import InspectCore
import ObjectStore

extension Configuration {
    /// For commands that store or fetch parts.
    static let objectStoreOptions: [Arguments.Option] = [
        .value(
            "object-store", "URL",
            "https://HOST/BUCKET[/PREFIX]?credentials-file=FILE…, for sealed parts (DEPLOYING.md) [INSPECTD_OBJECT_STORE]"
        )
    ]

    /// The object store.
    ///
    /// - Parameters:
    ///   - address: `nil`: none is configured.
    ///   - keys: The key store: an object store gets sealed parts alone.
    ///   - metrics: Counts failed calls.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing``.
    func openObjectStore(
        _ address: ObjectStoreAddress?, _ keys: KeyStore?, _ metrics: ObjectStoreMetrics? = nil
    ) throws -> ObjectStore? {
        guard let address else { return nil }
        guard keys != nil else { throw ObjectStore.needsKeys }
        let log = self.log
        return ObjectStore(address) { operation, error in
            Events.log(operation, failed: error, to: log)
            metrics?.take(operation)
        }
    }

    /// - Returns: `nil` if none is configured.
    func objectStoreAddress() throws(UsageError) -> ObjectStoreAddress? {
        if self.objectStore.isEmpty { return nil }
        do {
            return try ObjectStoreAddress(self.objectStore)
        } catch {
            throw UsageError(
                "--object-store or INSPECTD_OBJECT_STORE: \(error.detail)" + (error.hint.map { ". \($0)" } ?? ""))
        }
    }
}
