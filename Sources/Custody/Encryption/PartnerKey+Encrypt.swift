internal import COpenSSL
package import Foundation
package import InspectCore

extension PartnerKey {
    /// The media type of what ``encrypt(_:type:)`` makes (RFC 7515, section 9.2.1).
    package static let mediaType = "application/jose"

    private struct Header: Encodable {
        var alg: String
        var cty: String
        var enc = "A256GCM"
        var epk: [String: String]?
        var kid: String
    }

    /// Encrypts for the owner of the private key: JWE in compact form (RFC 7516), with A256GCM and a new key each time.
    ///
    /// - Parameter type: The content's media type.
    /// - Throws: ``InspectError`` with ``ErrorCode/internalError`` if libcrypto cannot.
    package func encrypt(_ content: Data, type: String) throws(InspectError) -> Data {
        // RFC 7516, section 4.1.12: without application/ where nothing else has a slash.
        let short = type.hasPrefix("application/") ? String(type.dropFirst("application/".count)) : type
        var header = Header(alg: self.algorithm.rawValue, cty: short.contains("/") ? type : short, kid: self.keyID)
        let secret: SecretKey
        let wrapped: Data
        switch self.curve {
        case nil:
            secret = .random()
            wrapped = try self.wrap(secret)
        case let curve?:
            // Direct agreement: there is no encrypted key (RFC 7518, section 4.6).
            (secret, header.epk) = try self.agree(curve)
            wrapped = Data()
        }
        guard let encoded = try? JSONEncoder.ordered.encode(header) else { throw Self.failure }
        let protected = Base64URL.encode(encoded)
        let nonce = AES256GCM.nonce()
        var sealed = Data(count: content.count + AES256GCM.tagCount)
        sealed.withUnsafeMutableBytes { target in
            content.withUnsafeBytes { content in
                nonce.withUnsafeBytes { nonce in
                    AES256GCM.seal(content, under: secret, nonce: nonce, associated: [UInt8](protected), into: target)
                }
            }
        }
        let point = Data([UInt8(ascii: ".")])
        return protected + point + Base64URL.encode(wrapped) + point + Base64URL.encode(Data(nonce)) + point
            + Base64URL.encode(sealed.dropLast(AES256GCM.tagCount)) + point
            + Base64URL.encode(Data(sealed.suffix(AES256GCM.tagCount)))
    }

    private static var failure: InspectError {
        ERR_clear_error()
        return InspectError(.internalError, "libcrypto cannot encrypt for the partner's key")
    }

    /// RSAES-OAEP with SHA-256 as digest and in the mask, and no label (RFC 7518, section 4.3).
    private func wrap(_ secret: SecretKey) throws(InspectError) -> Data {
        guard let context = EVP_PKEY_CTX_new(self.key, nil) else { throw Self.failure }
        defer { EVP_PKEY_CTX_free(context) }
        var wrapped = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(self.key)))
        var count = wrapped.count
        let isDone = secret.withBytes { secret in
            EVP_PKEY_encrypt_init(context) == 1
                && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
                && EVP_PKEY_encrypt(
                    context, &wrapped, &count, secret.baseAddress?.assumingMemoryBound(to: UInt8.self), secret.count)
                    == 1
        }
        guard isDone else { throw Self.failure }
        return Data(wrapped.prefix(count))
    }

    /// Draws a key pair on the partner's curve, and derives the content's key from both.
    private func agree(_ curve: Curve) throws(InspectError) -> (SecretKey, [String: String]) {
        guard let drawing = EVP_PKEY_CTX_new(self.key, nil) else { throw Self.failure }
        defer { EVP_PKEY_CTX_free(drawing) }
        var drawn: OpaquePointer?
        guard EVP_PKEY_keygen_init(drawing) == 1, EVP_PKEY_keygen(drawing, &drawn) == 1, let own = drawn else {
            throw Self.failure
        }
        defer { EVP_PKEY_free(own) }
        var point = [UInt8](repeating: 0, count: Int(i2d_PUBKEY(own, nil)))
        let written = point.withUnsafeMutableBufferPointer { bytes in
            var place = bytes.baseAddress
            return i2d_PUBKEY(own, &place)
        }
        guard written == point.count, point.count > 2 * curve.count,
            let deriving = EVP_PKEY_CTX_new(own, nil)
        else { throw Self.failure }
        defer { EVP_PKEY_CTX_free(deriving) }
        var shared = [UInt8](repeating: 0, count: curve.count)
        defer { shared.wipe() }
        var count = shared.count
        guard EVP_PKEY_derive_init(deriving) == 1, EVP_PKEY_derive_set_peer(deriving, self.key) == 1,
            EVP_PKEY_derive(deriving, &shared, &count) == 1, count == shared.count
        else { throw Self.failure }
        var derived = Self.derive(shared, algorithm: "A256GCM", bits: 256)
        defer { derived.wipe() }
        guard let secret = SecretKey(derived) else { throw Self.failure }
        return (
            secret,
            [
                "kty": "EC", "crv": curve.name,
                "x": Base64URL.text(point.suffix(2 * curve.count).prefix(curve.count)),
                "y": Base64URL.text(point.suffix(curve.count)),
            ]
        )
    }

    /// Concat KDF with SHA-256 (NIST SP 800-56A, section 5.8.1; RFC 7518, section 4.6.2), for at most 256 bits.
    static func derive(
        _ shared: [UInt8], algorithm: String, bits: UInt32, partyU: [UInt8] = [], partyV: [UInt8] = []
    ) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        func counted(_ bytes: [UInt8]) -> [UInt8] { number(bytes.count) + bytes }
        var input = number(1) + shared + counted(Array(algorithm.utf8)) + counted(partyU) + counted(partyV)
        input += number(Int(bits))
        defer { input.wipe() }
        return Array(SHA256.digest(input).prefix(Int(bits) / 8))
    }
}
