internal import Custody
internal import Foundation

/// A private Ed25519 key of Standard Webhooks: `whsk_` and the base64 of the seed, optionally followed by the public key.
package struct WebhookSigningKey: Sendable, Equatable {
    private let key: Ed25519PrivateKey

    static let prefix = "whsk_"

    /// - Returns: `nil` if the text is not base64 of 32 bytes, or of 64 whose second half is the public key of the first.
    package init?(_ text: String) {
        let encoded = text.hasPrefix(Self.prefix) ? text.dropFirst(Self.prefix.count) : text[...]
        guard let bytes = Data(base64Encoded: String(encoded)), bytes.count == 32 || bytes.count == 64,
            let key = Ed25519PrivateKey(seed: [UInt8](bytes.prefix(32))),
            bytes.count == 32 || key.publicKey.bytes == [UInt8](bytes.suffix(32))
        else { return nil }
        self.key = key
    }

    private init(key: Ed25519PrivateKey) { self.key = key }

    /// A new key.
    package static func generate() -> WebhookSigningKey { WebhookSigningKey(key: Ed25519PrivateKey()) }

    /// The text form, for the endpoint's row alone. Never to be logged.
    package var text: String { Self.prefix + Data(self.key.seed).base64EncodedString() }

    /// The key with which the partner verifies.
    package var publicKey: WebhookPublicKey { WebhookPublicKey(key: self.key.publicKey) }

    /// 64 bytes, or `nil` if libcrypto cannot sign.
    func sign(_ message: [UInt8]) -> [UInt8]? { self.key.sign(message) }

    package static func == (left: WebhookSigningKey, right: WebhookSigningKey) -> Bool {
        left.key.publicKey == right.key.publicKey
    }
}

extension WebhookSigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "WebhookSigningKey(redacted)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public half: `whpk_` and the base64 of 32 bytes.
package struct WebhookPublicKey: Sendable, Equatable {
    private let key: Ed25519PublicKey

    static let prefix = "whpk_"

    fileprivate init(key: Ed25519PublicKey) { self.key = key }

    /// - Returns: `nil` if the text is not base64 of 32 bytes.
    package init?(_ text: String) {
        let encoded = text.hasPrefix(Self.prefix) ? text.dropFirst(Self.prefix.count) : text[...]
        guard let bytes = Data(base64Encoded: String(encoded)), bytes.count == 32 else { return nil }
        self.key = Ed25519PublicKey(bytes: [UInt8](bytes))
    }

    /// The prefix `whpk_` and 32 bytes in base64 (Standard Webhooks).
    package var text: String { Self.prefix + Data(self.key.bytes).base64EncodedString() }

    /// Whether the key's owner signed the message (Ed25519, RFC 8032).
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        self.key.verifies(signature, of: message)
    }
}
