package import Custody
package import Foundation
package import InspectCore
package import Postgres

/// The parts of a request as `insp.enqueue_parts` and `insp.gateway_create` take them: in the call or, sealed, in the object store.
package struct PlacedParts: Sendable {
    private let parts: [(kind: PartKind, bytes: Data?)]
    private var locations: [ObjectLocation]?
    private var digests: [Data] = []
    private var sizes: [Int64] = []
    /// What was uploaded.
    fileprivate var object: String?

    /// - Parameter parts: Go into the call.
    init(_ parts: [PartKind: [Data]]) {
        self.parts = parts.flatMap { kind, all in all.map { (kind, $0) } }
    }

    /// `kinds` and `contents`.
    package var contents: [PostgresValue] {
        [.texts(self.parts.map(\.kind.rawValue)), .byteas(self.parts.map(\.bytes))]
    }

    /// `locations`, `digests` and `sizes`.
    package var places: [PostgresValue] {
        guard let locations else { return [.null, .null, .null] }
        return [.texts(locations.map(\.text)), .byteas(self.digests), .intArray(self.sizes)]
    }

    /// - Returns: The parts, and the bytes of the object that holds them.
    fileprivate static func joined(_ parts: [PartKind: [Data]], as object: String) -> (PlacedParts, [UInt8]) {
        let all = PlacedParts(parts)
        var placed = PlacedParts(all.parts.map { ($0.kind, nil) })
        var bytes: [UInt8] = []
        bytes.reserveCapacity(all.parts.reduce(0) { $0 + ($1.bytes?.count ?? 0) })
        var locations: [ObjectLocation] = []
        for part in all.parts {
            let content = [UInt8](part.bytes ?? Data())
            locations.append(ObjectLocation(object: object, offset: bytes.count))
            placed.digests.append(Data(SHA256.digest(content)))
            placed.sizes.append(Int64(content.count))
            bytes += content
        }
        placed.locations = locations
        placed.object = object
        return (placed, bytes)
    }

    private init(_ parts: [(kind: PartKind, bytes: Data?)]) { self.parts = parts }
}

extension PlacedParts {
    /// Uploads a request's parts if a store is configured, has the request accepted, and deletes them if it was refused.
    ///
    /// Without an answer of the database they stay: the request may have been accepted. The sweep deletes them if it was not.
    ///
    /// - Parameters:
    ///   - parts: As they go to the database: sealed if `request` is given.
    ///   - request: `nil`: it is not sealed.
    ///   - store: `nil`: parts go to the database.
    /// - Throws: What `accept` throws; ``InspectError`` with ``ErrorCode/objectStoreUnavailable``, or ``ErrorCode/keyMissing`` for plain
    ///   parts, which no store may get.
    package static func place<Accepted>(
        _ parts: [PartKind: [Data]], of request: SealedRequest?, in store: ObjectStore?,
        isolation: isolated (any Actor)? = #isolation, _ accept: (PlacedParts) async throws -> Accepted
    ) async throws -> Accepted {
        guard let store, !parts.isEmpty else { return try await accept(PlacedParts(parts)) }
        guard let request else { throw ObjectStore.needsKeys }
        let object = store.address.newObject(key: try Seal.keyID(of: request.sealed).text)
        let placed = try await store.upload(parts, as: object)
        do {
            return try await accept(placed)
        } catch let error as InspectError where error.code != .databaseUnavailable {
            try? await store.delete(object, isPatient: false)
            throw error
        }
    }
}

extension ObjectStore {
    /// Why a program with an object store and without keys does not start.
    package static let needsKeys = InspectError(
        .keyMissing, "an object store takes only sealed parts, and no key store is configured",
        hint: "Set --keys-url or INSPECTD_KEYS_URL, and --wrapping-keys or INSPECTD_WRAPPING_KEYS.")

    /// In a separate function, which frees the bytes before the request goes to the database.
    fileprivate func upload(_ parts: [PartKind: [Data]], as object: String) async throws -> PlacedParts {
        let (placed, bytes) = PlacedParts.joined(parts, as: object)
        try await self.put(bytes, at: object)
        return placed
    }
}
