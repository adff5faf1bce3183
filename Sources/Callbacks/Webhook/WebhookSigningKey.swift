internal import COpenSSL
internal import Foundation

/// A private Ed25519 key of Standard Webhooks: `whsk_` and the base64 of the seed, optionally followed by the public key.
package struct WebhookSigningKey: Sendable, Equatable {
    /// The 32 bytes of RFC 8032 section 5.1.5.
    let seed: [UInt8]

    static let prefix = "whsk_"

    /// - Returns: `nil` if the text is not base64 of 32 bytes, or of 64 whose second half is the public key of the first.
    package init?(_ text: String) {
        let encoded = text.hasPrefix(Self.prefix) ? text.dropFirst(Self.prefix.count) : text[...]
        guard let bytes = Data(base64Encoded: String(encoded)), bytes.count == 32 || bytes.count == 64 else {
            return nil
        }
        self.seed = [UInt8](bytes.prefix(32))
        guard let derived = self.publicKeyBytes, bytes.count == 32 || derived == [UInt8](bytes.suffix(32)) else {
            return nil
        }
    }

    private init(seed: [UInt8]) { self.seed = seed }

    /// A new key.
    package static func generate() -> WebhookSigningKey {
        var seed = [UInt8](repeating: 0, count: 32)
        // Without randomness there is no safe way to continue.
        precondition(RAND_bytes(&seed, CInt(seed.count)) == 1, "the random number generator failed")
        return WebhookSigningKey(seed: seed)
    }

    /// The text form, for the endpoint's row alone. Never to be logged.
    package var text: String { Self.prefix + Data(self.seed).base64EncodedString() }

    /// The key with which the partner verifies.
    package var publicKey: WebhookPublicKey? { self.publicKeyBytes.map { WebhookPublicKey(bytes: $0) } }

    private var publicKeyBytes: [UInt8]? {
        guard let key = EVP_PKEY_new_raw_private_key(NID_ED25519, nil, self.seed, self.seed.count) else { return nil }
        defer { EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { return nil }
        return bytes
    }

    /// Signs by pure Ed25519 (RFC 8032 section 5.1.6): 64 bytes, or `nil` if libcrypto cannot.
    func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let key = EVP_PKEY_new_raw_private_key(NID_ED25519, nil, self.seed, self.seed.count),
            let context = EVP_MD_CTX_new()
        else { return nil }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
        else { return nil }
        return signature
    }
}

extension WebhookSigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "WebhookSigningKey(redacted)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public half: `whpk_` and the base64 of 32 bytes.
package struct WebhookPublicKey: Sendable, Equatable {
    let bytes: [UInt8]

    static let prefix = "whpk_"

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Returns: `nil` if the text is not base64 of 32 bytes.
    package init?(_ text: String) {
        let encoded = text.hasPrefix(Self.prefix) ? text.dropFirst(Self.prefix.count) : text[...]
        guard let bytes = Data(base64Encoded: String(encoded)), bytes.count == 32 else { return nil }
        self.bytes = [UInt8](bytes)
    }

    package var text: String { Self.prefix + Data(self.bytes).base64EncodedString() }

    /// Verifies by pure Ed25519 (RFC 8032 section 5.1.7).
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64,
            let key = EVP_PKEY_new_raw_public_key(NID_ED25519, nil, self.bytes, self.bytes.count),
            let context = EVP_MD_CTX_new()
        else { return false }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
