internal import Foundation
internal import InspectCore

/// A key under another one: version 1, nonce, ciphertext and tag. The key's names are authenticated with it, so that no row of
/// the key store opens in another's place.
enum KeyWrap {
    private static let version: UInt8 = 1
    private static let headerCount = 1 + AES256GCM.nonceCount
    static let count = headerCount + SecretKey.count + AES256GCM.tagCount

    /// The data authenticated with a wrapped key.
    ///
    /// - Parameter parent: The id of the key above it as text: a UUID, or the wrapping key's name.
    package static func associated(_ id: KeyID, _ kind: KeyKind, partner: Int64, parent: String) -> [UInt8] {
        AssociatedData.encode(["inspectd key 1", id.text, kind.rawValue, String(partner), parent])
    }

    static func wrap(_ key: SecretKey, under parent: SecretKey, _ associated: [UInt8]) -> [UInt8] {
        self.wrap(key, under: parent, associated, nonce: AES256GCM.nonce())
    }

    static func wrap(_ key: SecretKey, under parent: SecretKey, _ associated: [UInt8], nonce: [UInt8]) -> [UInt8] {
        var wrapped = [self.version] + nonce + [UInt8](repeating: 0, count: SecretKey.count + AES256GCM.tagCount)
        wrapped.withUnsafeMutableBytes { wrapped in
            key.withBytes { text in
                nonce.withUnsafeBytes { nonce in
                    AES256GCM.seal(
                        text, under: parent, nonce: nonce, associated: associated,
                        into: UnsafeMutableRawBufferPointer(rebasing: wrapped[self.headerCount...]))
                }
            }
        }
        return wrapped
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    static func unwrap(_ wrapped: [UInt8], under parent: SecretKey, _ associated: [UInt8]) throws(InspectError)
        -> SecretKey
    {
        guard wrapped.count == self.count, wrapped[0] == self.version else { throw InspectError(.sealBroken, "a key") }
        var isGenuine = false
        let key = SecretKey { target in
            wrapped.withUnsafeBytes { wrapped in
                isGenuine = AES256GCM.open(
                    UnsafeRawBufferPointer(rebasing: wrapped[self.headerCount...]), under: parent,
                    nonce: UnsafeRawBufferPointer(rebasing: wrapped[1..<self.headerCount]), associated: associated,
                    into: target)
            }
        }
        guard isGenuine else { throw InspectError(.sealBroken, "a key") }
        return key
    }
}

extension CustodyKey {
    /// A new key under this one.
    func child(_ kind: KeyKind, id: KeyID = .new()) -> (key: CustodyKey, wrapped: [UInt8]) {
        let secret = SecretKey.random()
        let associated = KeyWrap.associated(id, kind, partner: self.partner, parent: self.id.text)
        let key = CustodyKey(id: id, kind: kind, partner: self.partner, parent: self.id, secret: secret)
        return (key, KeyWrap.wrap(secret, under: self.secret, associated))
    }

    /// A key that is wrapped under this one.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` if it is damaged or was moved from another row: the key store may be repaired.
    func child(_ kind: KeyKind, id: KeyID, wrapped: [UInt8]) throws(InspectError) -> CustodyKey {
        let associated = KeyWrap.associated(id, kind, partner: self.partner, parent: self.id.text)
        let secret: SecretKey
        do throws(InspectError) {
            secret = try KeyWrap.unwrap(wrapped, under: self.secret, associated)
        } catch {
            throw InspectError(.keyUnknown, "the key above it does not open it")
        }
        return CustodyKey(id: id, kind: kind, partner: self.partner, parent: self.id, secret: secret)
    }
}
