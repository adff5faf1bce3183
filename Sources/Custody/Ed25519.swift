internal import COpenSSL
package import Foundation
internal import InspectCore

/// A private Ed25519 key (RFC 8032) from a PEM file, as `openssl genpkey -algorithm ed25519` writes it.
package struct Ed25519PrivateKey: Sendable {
    /// The 32 bytes of RFC 8032 section 5.1.5. Never to be logged.
    package let seed: [UInt8]
    /// The key with which others verify signatures.
    package let publicKey: Ed25519PublicKey

    /// - Returns: `nil` if the text is not a PEM private key of Ed25519 without a passphrase.
    package init?(pem: Data) {
        let seed = withKey(pem: pem, isPrivate: true) { key -> [UInt8]? in
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            return EVP_PKEY_get_raw_private_key(key, &bytes, &count) == 1 && count == 32 ? bytes : nil
        }
        guard let seed else { return nil }
        self.init(seed: seed)
    }

    /// A new random key.
    package init() {
        var seed = [UInt8](repeating: 0, count: 32)
        // Without randomness there is no safe way to continue.
        precondition(RAND_priv_bytes(&seed, CInt(seed.count)) == 1, "the random number generator failed")
        self.init(seed: seed)!
    }

    /// - Returns: `nil` unless the seed has 32 bytes.
    package init?(seed: [UInt8]) {
        guard seed.count == 32, let key = EVP_PKEY_new_raw_private_key(NID_ED25519, nil, seed, seed.count) else {
            return nil
        }
        defer { EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { return nil }
        self.seed = seed
        self.publicKey = Ed25519PublicKey(bytes: bytes)
    }

    /// The key as PKCS #8 in PEM, for its file alone. Never to be logged.
    package var pem: Data {
        // RFC 8410, section 7: the only part that varies is the seed.
        let prefix: [UInt8] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]
        return armored(prefix + self.seed, "PRIVATE KEY")
    }

    /// Signs by pure Ed25519 (RFC 8032 section 5.1.6): 64 bytes, or `nil` if libcrypto lacks memory.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let key = EVP_PKEY_new_raw_private_key(NID_ED25519, nil, self.seed, self.seed.count) else { return nil }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
        else { return nil }
        return signature
    }
}

extension Ed25519PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "Ed25519PrivateKey(redacted)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A public Ed25519 key.
package struct Ed25519PublicKey: Sendable, Hashable {
    /// The 32 bytes of RFC 8032 section 5.1.5.
    package let bytes: [UInt8]
    /// The first 16 hexadecimal digits of the SHA-256 of the key's 32 bytes.
    package let id: String

    /// - Parameter bytes: 32.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
        self.id = Array(SHA256.digest(bytes).prefix(8)).hexadecimal
    }

    /// - Returns: `nil` if the text is not a PEM public key of Ed25519.
    package init?(pem: Data) {
        let bytes = withKey(pem: pem, isPrivate: false) { key -> [UInt8]? in
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            return EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 && count == 32 ? bytes : nil
        }
        guard let bytes else { return nil }
        self.init(bytes: bytes)
    }

    /// The key as SubjectPublicKeyInfo in PEM (RFC 8410, section 4).
    package var pem: Data {
        armored([0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0] + self.bytes, "PUBLIC KEY")
    }

    /// Verifies by pure Ed25519 (RFC 8032 section 5.1.7).
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64,
            let key = EVP_PKEY_new_raw_public_key(NID_ED25519, nil, self.bytes, self.bytes.count)
        else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

private func armored(_ bytes: [UInt8], _ label: String) -> Data {
    // Both kinds fit into one line of 64 characters.
    Data("-----BEGIN \(label)-----\n\(Data(bytes).base64EncodedString())\n-----END \(label)-----\n".utf8)
}

private func withKey<Result>(pem: Data, isPrivate: Bool, _ body: (OpaquePointer) -> Result?) -> Result? {
    guard pem.count <= 1 << 20 else { return nil }
    return pem.withUnsafeBytes { bytes -> Result? in
        guard let input = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else { return nil }
        defer {
            BIO_free(input)
            ERR_clear_error()
        }
        // Without its closure, libcrypto asks the terminal for a passphrase.
        let read =
            isPrivate
            ? PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
            : PEM_read_bio_PUBKEY(input, nil, { _, _, _, _ in -1 }, nil)
        guard let key = read else { return nil }
        defer { EVP_PKEY_free(key) }
        return body(key)
    }
}
