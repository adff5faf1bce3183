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
    ///   - timestamp: Seconds since 1970.
    ///   - body: The exact bytes to be sent.
    ///   - secrets: All valid secrets: more than one while a rotation is under way.
    ///   - signingKeys: All valid Ed25519 keys.
    package init(
        id: String, timestamp: Int, body: [UInt8], secrets: [WebhookSecret], signingKeys: [WebhookSigningKey] = []
    ) {
        precondition(
            !id.isEmpty && !id.utf8.contains(UInt8(ascii: ".")),
            "a webhook-id must not be empty or contain a full stop")
        self.id = id
        self.timestamp = timestamp
        let prefix = "\(id).\(timestamp)."
        var signature = ""
        for secret in secrets {
            if !signature.isEmpty { signature += " " }
            signature += "v1,"
            signature += base64(secret.code.code(of: prefix, body))
        }
        if !signingKeys.isEmpty {
            let message = Array(prefix.utf8) + body
            for key in signingKeys {
                guard let bytes = key.sign(message) else { continue }
                if !signature.isEmpty { signature += " " }
                signature += "v1a," + base64(bytes)
            }
        }
        self.signature = signature
    }

    package var headers: [HTTPRequest.Header] {
        [
            HTTPRequest.Header(name: "webhook-id", value: self.id),
            HTTPRequest.Header(name: "webhook-timestamp", value: String(self.timestamp)),
            HTTPRequest.Header(name: "webhook-signature", value: self.signature),
        ]
    }
}

/// The message authentication code HMAC of FIPS 198-1 over SHA-256 with one key.
///
/// `@unchecked Sendable`: libcrypto's context is used under the lock alone.
final class MessageCode: @unchecked Sendable {
    private let lock = Mutex<Void>(())
    private let context: OpaquePointer

    init(key: [UInt8]) {
        let context = Self.algorithm.flatMap { EVP_MAC_CTX_new($0) }
        var name = Array("SHA256".utf8CString)
        let isReady = name.withUnsafeMutableBufferPointer { name in
            let parameters = [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return context.map { EVP_MAC_init($0, key, key.count, parameters) } ?? 0
        }
        guard let context, isReady == 1 else { preconditionFailure("libcrypto has no HMAC-SHA256") }
        self.context = context
    }

    deinit { EVP_MAC_CTX_free(self.context) }

    /// The 32-byte code of a message in two parts.
    func code(of head: String, _ body: [UInt8]) -> [UInt8] {
        var head = head
        var length = 0
        let digest = [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            self.lock.withLock { _ in
                // A null key restarts with the same key.
                var isDone = EVP_MAC_init(self.context, nil, 0, nil) == 1
                isDone = isDone && head.withUTF8 { EVP_MAC_update(self.context, $0.baseAddress, $0.count) } == 1
                isDone = isDone && EVP_MAC_update(self.context, body, body.count) == 1
                isDone = isDone && EVP_MAC_final(self.context, digest.baseAddress, &length, 32) == 1
                precondition(isDone && length == 32, "libcrypto cannot compute an HMAC-SHA256")
            }
            count = 32
        }
        return digest
    }

    private nonisolated(unsafe) static let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
}

/// Base64 of RFC 4648 section 4.
func base64(_ bytes: [UInt8]) -> String {
    // libcrypto terminates its output with NUL.
    String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
        Int(EVP_EncodeBlock(text.baseAddress, bytes, CInt(bytes.count)))
    }
}
