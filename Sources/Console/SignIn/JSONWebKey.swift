internal import COpenSSL
internal import Custody
internal import Foundation

/// A public key that verifies signatures of tokens (RFC 7517), for RS256 or ES256.
final class JSONWebKey: Sendable {
    enum Algorithm: String, Sendable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    let id: String?
    let algorithm: Algorithm
    // Constant once created; libcrypto counts references under its own lock.
    private nonisolated(unsafe) let key: OpaquePointer

    /// - Returns: `nil` for keys of other kinds or uses, and for anything that is not a key.
    init?(_ members: [String: Any]) {
        func bytes(_ name: String) -> [UInt8]? {
            (members[name] as? String).flatMap { Base64URL.decode($0) }.map { [UInt8]($0) }
        }
        guard (members["use"] as? String ?? "sig") == "sig" else { return nil }
        let info: [UInt8]
        switch members["kty"] as? String {
        case "RSA":
            guard let modulus = bytes("n"), let exponent = bytes("e"), modulus.first != 0,
                (2048...4096).contains(modulus.count * 8), (1...8).contains(exponent.count)
            else { return nil }
            self.algorithm = .rs256
            info = Self.rsa(modulus, exponent)
        case "EC":
            guard members["crv"] as? String == "P-256", let x = bytes("x"), let y = bytes("y"), x.count == 32,
                y.count == 32
            else { return nil }
            self.algorithm = .es256
            info = Self.p256 + x + y
        default: return nil
        }
        guard (members["alg"] as? String ?? self.algorithm.rawValue) == self.algorithm.rawValue else { return nil }
        self.id = members["kid"] as? String
        var place = UnsafePointer<UInt8>?.none
        let key = info.withUnsafeBufferPointer { bytes in
            place = bytes.baseAddress
            return d2i_PUBKEY(nil, &place, bytes.count)
        }
        guard let key else {
            ERR_clear_error()
            return nil
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(self.key) }

    /// - Parameter signature: As a token has it; that of ES256 is two numbers of 32 bytes (RFC 7518, section 3.4).
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        var signature = signature
        if self.algorithm == .es256 {
            guard signature.count == 64 else { return false }
            signature = Self.sequence(Self.number(signature[..<32]) + Self.number(signature[32...]))
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, self.key) == 1,
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    // MARK: DER

    /// The SubjectPublicKeyInfo of an uncompressed point on P-256, up to its coordinates (RFC 5480).
    private static let p256: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
        0xce,
        0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]

    private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) -> [UInt8] {
        let key = self.sequence(self.number(modulus[...]) + self.number(exponent[...]))
        // rsaEncryption with NULL (RFC 3279, section 2.3.1).
        let kind: [UInt8] = [
            0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        return self.sequence(kind + [0x03] + self.length(key.count + 1) + [0] + key)
    }

    private static func sequence(_ content: [UInt8]) -> [UInt8] { [0x30] + self.length(content.count) + content }

    private static func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = Array(bytes.drop { $0 == 0 })
        if bytes.first ?? 0x80 >= 0x80 { bytes.insert(0, at: 0) }
        return [0x02] + self.length(bytes.count) + bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        return count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xff)]
    }
}
