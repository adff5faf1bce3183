internal import COpenSSL
package import Foundation

/// AES-256-GCM (NIST SP 800-38D) with nonces of 96 bits and tags of 128.
package enum AES256GCM {
    static let nonceCount = 12
    static let tagCount = 16

    /// Looked up once, since a look-up takes longer than sealing a small text.
    private nonisolated(unsafe) static let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    /// 96 random bits: a key seals fewer than 2^32 texts, the limit of SP 800-38D section 8.3.
    static func nonce() -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: self.nonceCount)
        precondition(RAND_bytes(&nonce, CInt(nonce.count)) == 1, "libcrypto has no random numbers")
        return nonce
    }

    /// Writes the ciphertext and the tag behind it.
    ///
    /// - Parameter target: As long as the text and the tag.
    static func seal(
        _ text: UnsafeRawBufferPointer, under key: SecretKey, nonce: UnsafeRawBufferPointer, associated: [UInt8],
        into target: UnsafeMutableRawBufferPointer
    ) {
        precondition(target.count == text.count + self.tagCount && nonce.count == self.nonceCount)
        let isDone = key.withBytes { key in
            self.run(key, nonce, associated, isSealing: true) { context in
                var count: CInt = 0
                return self.update(context, target.baseAddress, text)
                    && EVP_EncryptFinal_ex(context, target.bytes(from: text.count), &count) == 1
                    && EVP_CIPHER_CTX_ctrl(
                        context, EVP_CTRL_AEAD_GET_TAG, CInt(self.tagCount), target.bytes(from: text.count)) == 1
            }
        }
        precondition(isDone, "libcrypto cannot encrypt")
    }

    /// Writes the text.
    ///
    /// - Parameters:
    ///   - sealed: Ciphertext and tag.
    ///   - target: As long as the ciphertext.
    /// - Returns: Whether key, nonce, associated data and bytes belong together. If not, the target holds zeros.
    static func open(
        _ sealed: UnsafeRawBufferPointer, under key: SecretKey, nonce: UnsafeRawBufferPointer, associated: [UInt8],
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(sealed.count == target.count + self.tagCount && nonce.count == self.nonceCount)
        let text = UnsafeRawBufferPointer(rebasing: sealed.prefix(target.count))
        var tag = Array(sealed.suffix(self.tagCount))
        let isGenuine = key.withBytes { key in
            self.run(key, nonce, associated, isSealing: false) { context in
                var end: [UInt8] = [0]
                var count: CInt = 0
                return self.update(context, target.baseAddress, text)
                    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
                    && EVP_DecryptFinal_ex(context, &end, &count) == 1
            }
        }
        if !isGenuine {
            ERR_clear_error()
            if let base = target.baseAddress { OPENSSL_cleanse(base, target.count) }
        }
        return isGenuine
    }

    /// Opens what comes in pieces, as in a JWE (RFC 7518, section 5.3).
    ///
    /// - Returns: `nil` if a piece has another length than it must have, or the pieces do not belong together.
    package static func open(_ sealed: Data, secret: [UInt8], nonce: Data, tag: Data, associated: Data) -> Data? {
        guard let key = SecretKey(secret), nonce.count == self.nonceCount, tag.count == self.tagCount else {
            return nil
        }
        var opened = Data(count: sealed.count)
        let isGenuine = opened.withUnsafeMutableBytes { target in
            (sealed + tag).withUnsafeBytes { sealed in
                nonce.withUnsafeBytes { nonce in
                    self.open(sealed, under: key, nonce: nonce, associated: Array(associated), into: target)
                }
            }
        }
        return isGenuine ? opened : nil
    }

    private static func run(
        _ key: UnsafeRawBufferPointer, _ nonce: UnsafeRawBufferPointer, _ associated: [UInt8], isSealing: Bool,
        _ body: (OpaquePointer) -> Bool
    ) -> Bool {
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        defer { EVP_CIPHER_CTX_free(context) }
        guard
            EVP_CipherInit_ex(
                context, self.cipher, nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nonce.baseAddress?.assumingMemoryBound(to: UInt8.self), isSealing ? 1 : 0) == 1,
            associated.withUnsafeBytes({ self.update(context, nil, $0) })
        else { return false }
        return body(context)
    }

    /// libcrypto counts in `int`, so longer texts go in pieces.
    private static func update(
        _ context: OpaquePointer, _ target: UnsafeMutableRawPointer?, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        var place = 0
        while place < bytes.count {
            let piece = min(bytes.count - place, 1 << 30)
            var count: CInt = 0
            guard
                EVP_CipherUpdate(
                    context, target.map { ($0 + place).assumingMemoryBound(to: UInt8.self) }, &count,
                    bytes.baseAddress.map { ($0 + place).assumingMemoryBound(to: UInt8.self) }, CInt(piece)) == 1
            else { return false }
            place += piece
        }
        return true
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func bytes(from place: Int) -> UnsafeMutablePointer<UInt8>? {
        self.baseAddress.map { ($0 + place).assumingMemoryBound(to: UInt8.self) }
    }
}
