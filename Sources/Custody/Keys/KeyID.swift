internal import COpenSSL
package import Foundation

/// The name of a key: a UUID of version 7, so that keys that are made together are adjacent in the key store's index.
package struct KeyID: Hashable, Sendable {
    /// Version 7 (RFC 9562 §5.7): the time of creation comes first.
    package let uuid: UUID

    /// - Returns: `nil` unless it is a UUID's text.
    package init?(_ text: String) {
        guard let uuid = UUID(uuidString: text) else { return nil }
        self.uuid = uuid
    }

    /// - Returns: `nil` unless there are 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var uuid = UUID().uuid
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes) }
        self.uuid = UUID(uuid: uuid)
    }

    /// A new name: milliseconds since 1970 and 74 random bits (RFC 9562 section 5.7).
    package static func new(at time: Date = Date()) -> KeyID {
        var bytes = [UInt8](repeating: 0, count: 16)
        precondition(RAND_bytes(&bytes, CInt(bytes.count)) == 1, "libcrypto has no random numbers")
        let milliseconds = UInt64(max(0, time.timeIntervalSince1970 * 1000))
        for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * UInt64(index))) }
        bytes[6] = bytes[6] & 0x0f | 0x70
        bytes[8] = bytes[8] & 0x3f | 0x80
        return KeyID(bytes)!
    }

    /// 16 bytes, in network order.
    package var bytes: [UInt8] { withUnsafeBytes(of: self.uuid.uuid) { Array($0) } }
    /// In lower case, as PostgreSQL writes it.
    package var text: String { self.uuid.uuidString.lowercased() }
}

/// A level of the tree of keys below the wrapping key.
package enum KeyKind: String, Sendable, CaseIterable {
    /// One for each partner, under the wrapping key.
    case partner = "partner"
    /// One for each person, or face without a person, under the partner's.
    case person = "person"
    /// One for a job and its reruns, under the person's, or under the partner's if the job names nobody.
    case job = "job"
    /// One for a template of an enrolled face, under the key above that of the job that made it.
    case template = "template"
}

/// A key that is open.
package struct CustodyKey: Sendable {
    /// Not secret: it is stored with what the key has sealed.
    package let id: KeyID
    /// The key's level in the tree, which is authenticated with what it seals.
    package let kind: KeyKind
    /// Number of the partner (`insp.partner.id`).
    package let partner: Int64
    /// The key under which it is wrapped; `nil`: a wrapping key.
    package let parent: KeyID?
    let secret: SecretKey
}
