internal import COpenSSL
internal import Foundation
package import HTTPClient
internal import Synchronization

/// The three headers that authenticate a callback by Standard Webhooks, versions `v1` (HMAC-SHA256) and `v1a` (Ed25519).
///
/// The signed text is `{id}.{timestamp}.{body}`, with the exact bytes of the body.
package struct WebhookSignature: Sendable, Equatable {
    /// `webhook-id`: the same at every attempt, so that the receiver can drop a duplicate.
    package let id: String
    /// `webhook-timestamp`: whole seconds since 1970, new at every attempt.
    package let timestamp: Int
    /// `webhook-signature`: one `v1,` entry for each secret and one `v1a,` entry for each key, separated by spaces.
    package let signature: String

    /// Signs a body.
    ///
    /// - Parameters:
    ///   - id: Must contain no full stop, which separates the signed parts.
    ///   - timestamp: Seconds since 1970, at least 0: no receiver takes a sign.
    ///   - body: The exact bytes to be sent.
    ///   - secrets: All valid secrets: more than one while a rotation is under way.
    ///   - signingKeys: All valid Ed25519 keys.
    /// - Throws: A ``HTTPError/Code/localFault`` if libcrypto refuses a key, or the id or the time cannot be signed.
    package init(
        id: String, timestamp: Int, body: [UInt8], secrets: [WebhookSecret], signingKeys: [WebhookSigningKey] = []
    ) throws(HTTPError) {
        guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: ".")) else {
            throw HTTPError(.localFault, "a webhook-id must not be empty or contain a full stop")
        }
        guard timestamp >= 0 else { throw HTTPError(.localFault, "a webhook-timestamp must not be negative") }
        self.id = id
        self.timestamp = timestamp
        let prefix = "\(id).\(timestamp)."
        var signature = ""
        for secret in secrets {
            if !signature.isEmpty { signature += " " }
            signature += "v1,"
            signature += base64(try secret.code.code(of: prefix, body))
        }
        if !signingKeys.isEmpty {
            let message = Array(prefix.utf8) + body
            for key in signingKeys {
                guard let bytes = key.sign(message) else {
                    throw HTTPError(.localFault, "libcrypto cannot make an Ed25519 signature")
                }
                if !signature.isEmpty { signature += " " }
                signature += "v1a," + base64(bytes)
            }
        }
        self.signature = signature
    }

    /// The three headers of Standard Webhooks.
    package var headers: [HTTPRequest.Header] {
        [
            HTTPRequest.Header(name: "webhook-id", value: self.id),
            HTTPRequest.Header(name: "webhook-timestamp", value: String(self.timestamp)),
            HTTPRequest.Header(name: "webhook-signature", value: self.signature),
        ]
    }
}

/// The message authentication code HMAC of FIPS 198-1 over SHA-256 with one key.
package final class MessageCode: Sendable {
    private let key: [UInt8]
    private let digest: String
    /// libcrypto's context with the key. After a failure the next message begins with a new one.
    private let context = Mutex<OpaquePointer?>(nil)

    /// - Parameter digest: Another than SHA-256 for tests alone.
    package init(key: [UInt8], digest: String = "SHA256") {
        self.key = key
        self.digest = digest
    }

    deinit { self.context.withLock { EVP_MAC_CTX_free($0) } }

    /// The code of a message in two parts: 32 bytes.
    ///
    /// - Throws: A ``HTTPError/Code/localFault`` if libcrypto refuses, as it does without memory or without the algorithm.
    package func code(of head: String, _ body: [UInt8]) throws(HTTPError) -> [UInt8] {
        var head = head
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        let isDone = self.context.withLock { context in
            if context == nil { context = self.makeContext() }
            // A nil key restarts with the same key.
            let isDone =
                context != nil && EVP_MAC_init(context, nil, 0, nil) == 1
                && head.withUTF8 { EVP_MAC_update(context, $0.baseAddress, $0.count) } == 1
                && EVP_MAC_update(context, body, body.count) == 1
                && EVP_MAC_final(context, &code, &length, code.count) == 1 && length == code.count
            if !isDone {
                EVP_MAC_CTX_free(context)
                context = nil
            }
            return isDone
        }
        guard isDone else { throw HTTPError(.localFault, "libcrypto cannot make an HMAC-SHA256") }
        return code
    }

    /// Whether two codes are the same, in a time that does not reveal where they differ.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    private func makeContext() -> OpaquePointer? {
        guard let algorithm = EVP_MAC_fetch(nil, "HMAC", nil) else { return nil }
        defer { EVP_MAC_free(algorithm) }
        guard let context = EVP_MAC_CTX_new(algorithm) else { return nil }
        var name = Array(self.digest.utf8CString)
        let isReady = name.withUnsafeMutableBufferPointer { name in
            let parameters = [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return EVP_MAC_init(context, self.key, self.key.count, parameters) == 1
        }
        guard isReady else {
            EVP_MAC_CTX_free(context)
            return nil
        }
        return context
    }
}

/// Base64 of RFC 4648 section 4.
func base64(_ bytes: [UInt8]) -> String {
    // libcrypto terminates its output with NUL.
    String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
        Int(EVP_EncodeBlock(text.baseAddress, bytes, CInt(bytes.count)))
    }
}
