package import Custody
package import Foundation
package import InspectCore
package import Postgres

/// A part as the database has it: its bytes, or where they lie in the object store.
package struct StoredPart: Sendable {
    private enum Place: Sendable {
        case here(Data)
        case away(ObjectStore.Piece)
    }

    private let place: Place
    private let isSealed: Bool

    /// - Parameter row: Has columns `bytes`, `is_sealed`, `location` and `size`.
    package init(_ row: PostgresRow) throws(PostgresError) {
        if let location = try row.optionalString("location").flatMap(ObjectLocation.init) {
            self.place = .away(ObjectStore.Piece(location, size: Int(try row.int("size"))))
        } else {
            self.place = .here(try row.data("bytes"))
        }
        self.isSealed = try row.bool("is_sealed")
    }

    /// The part as it was received.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/partsPurged`` if it was erased since the row was read; what `objects`, `keys` and
    ///   the seal throw.
    package func open(
        _ kind: PartKind, _ ordinal: Int = 0, partner: Int64, in objects: ObjectStore?, opening keys: KeyStore?
    ) async throws -> Data {
        do {
            let bytes = try await self.bytes(in: objects)
            guard self.isSealed else { return bytes }
            guard let keys else { throw InspectError(.keyMissing) }
            let key = try await keys.key(try Seal.keyID(of: bytes))
            return try JobSeal(key, partner: partner).open(bytes, part: kind, ordinal)
        } catch let error as InspectError where error.code == .objectMissing {
            throw InspectError(.partsPurged)
        }
    }

    private func bytes(in objects: ObjectStore?) async throws -> Data {
        switch self.place {
        case .here(let bytes): return bytes
        case .away(let piece):
            guard let objects else {
                throw InspectError(.objectStoreUnavailable, "this program has no object store")
            }
            return try await objects.get([piece], until: .now + .seconds(30))[0]
        }
    }
}
