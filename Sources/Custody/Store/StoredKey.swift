internal import Foundation
internal import Postgres

/// A row of the key store.
struct StoredKey: Sendable {
    var id: KeyID
    var kind: KeyKind
    var partner: Int64
    var parent: KeyID?
    /// The wrapping key's name, of a partner's key.
    var wrappingKey: String?
    var wrapped: [UInt8]

    init(_ row: PostgresRow) throws {
        guard let id = KeyID(try row.string("id")), let kind = KeyKind(rawValue: try row.string("kind")) else {
            throw PostgresError(.decoding, "a key's id or kind")
        }
        self.id = id
        self.kind = kind
        self.partner = try row.int("partner_id")
        self.parent = try row.optionalString("parent").flatMap { KeyID($0) }
        self.wrappingKey = try row.optionalString("wrapping_key")
        self.wrapped = [UInt8](try row.data("wrapped"))
    }

    /// The data authenticated with a partner's key.
    func associated(_ wrappingKey: String) -> [UInt8] {
        KeyWrap.associated(self.id, .partner, partner: self.partner, parent: wrappingKey)
    }
}
