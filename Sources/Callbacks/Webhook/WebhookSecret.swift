internal import COpenSSL
internal import Foundation

/// A signing secret of Standard Webhooks: `whsec_` and the base64 of the key.
package struct WebhookSecret: Sendable, Equatable {
    /// The decoded bytes, which are the HMAC key.
    let key: [UInt8]
    /// The prepared key: for short messages, preparing costs as much as the message.
    let code: MessageCode

    static let prefix = "whsec_"

    /// Decodes a secret; the prefix is optional, as for the reference libraries.
    ///
    /// Standard Webhooks asks for 24 to 64 bytes, but shorter secrets are in use (Svix documents one of 18 bytes), so secrets
    /// of 16 bytes, the minimum that resists guessing, are accepted too.
    ///
    /// - Returns: `nil` if the text is not base64 of 16 to 64 bytes.
    package init?(_ text: String) {
        let encoded = text.hasPrefix(Self.prefix) ? text.dropFirst(Self.prefix.count) : text[...]
        guard let key = Data(base64Encoded: String(encoded)), (16...64).contains(key.count) else { return nil }
        self.init(key: [UInt8](key))
    }

    /// - Parameter digest: Another than SHA-256 for tests alone.
    init(key: [UInt8], digest: String = "SHA256") {
        self.key = key
        self.code = MessageCode(key: key, digest: digest)
    }

    /// A new secret of 32 random bytes: the length of SHA-256's output, beyond which HMAC gains nothing (RFC 2104 section 3).
    package static func generate() -> WebhookSecret {
        var key = [UInt8](repeating: 0, count: 32)
        // Without randomness there is no safe way to continue.
        precondition(RAND_bytes(&key, CInt(key.count)) == 1, "the random number generator failed")
        return WebhookSecret(key: key)
    }

    package static func == (one: WebhookSecret, other: WebhookSecret) -> Bool { one.key == other.key }

    /// The text form, for the endpoint's row and for the partner. Never to be logged.
    package var text: String { Self.prefix + Data(self.key).base64EncodedString() }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "WebhookSecret(redacted)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
