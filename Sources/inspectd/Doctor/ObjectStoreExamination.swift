import Custody
import Foundation
import InspectCore
import ObjectStore

/// The checks of `inspectd doctor` for the object store: whether it stores, returns, lists and deletes objects, and keeps no deleted ones.
enum ObjectStoreExamination {
    private static let check = "object store"

    /// - Returns: None if no object store is configured.
    static func findings(_ configuration: Configuration) async -> [Command.Finding] {
        let address: ObjectStoreAddress
        do {
            guard let configured = try configuration.objectStoreAddress() else { return [] }
            address = configured
        } catch {
            return [
                Command.Finding(check: Self.check, outcome: .fail, detail: error.message, fix: "correct the setting")
            ]
        }
        let store = ObjectStore(address, timeout: .seconds(10))
        do {
            try await Self.probe(store)
        } catch {
            return [
                Command.Finding(
                    check: Self.check, outcome: .fail, detail: Self.text(error),
                    fix:
                        "see that INSPECTD_OBJECT_STORE names the server, the bucket and its region, and that its credentials may PutObject, GetObject, DeleteObject and ListBucket"
                )
            ]
        }
        let place = "\(address.bucket)/\(address.prefix)"
        do {
            guard try await store.keepsVersions() else {
                return [
                    Command.Finding(
                        check: Self.check, outcome: .pass, detail: "\(place) stores, returns, lists and deletes")
                ]
            }
            return [
                Command.Finding(
                    check: Self.check, outcome: .fail,
                    detail: "the bucket keeps former versions, so deleted objects stay",
                    fix: "suspend versioning of the bucket, and expire its noncurrent versions")
            ]
        } catch {
            return [
                Command.Finding(
                    check: Self.check, outcome: .inconclusive,
                    detail: "\(place) works; whether it keeps former versions is unknown: \(Self.text(error))",
                    fix: "allow GetBucketVersioning, or see for yourself that versioning is off")
            ]
        }
    }

    /// One object of a key that does not exist, which a sweep would delete if this process ended between.
    private static func probe(_ store: ObjectStore) async throws {
        let object = store.address.newObject(key: KeyID.new().text)
        let bytes = (0..<1_024).map { _ in UInt8.random(in: .min ... .max) }
        try await store.put(bytes, at: object)
        do {
            let piece = ObjectStore.Piece(ObjectLocation(object: object, offset: 24), size: 1_000)
            let found = try await store.get([piece], until: .now + .seconds(10))
            guard found.map({ [UInt8]($0) }) == [Array(bytes[24...])] else {
                throw InspectError(.objectStoreUnavailable, "it returns different bytes from those stored")
            }
            _ = try await store.list(after: nil)
        } catch {
            try? await store.delete(object)
            throw error
        }
        try await store.delete(object)
    }

    private static func text(_ error: any Error) -> String { (error as? InspectError)?.text ?? "\(error)" }
}
