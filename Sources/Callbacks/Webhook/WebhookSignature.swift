internal import COpenSSL
internal import Foundation

/// The three headers that authenticate a callback by Standard Webhooks, versions `v1` (HMAC-SHA256) and `v1a` (Ed25519).
///
/// Signed is `{id}.{timestamp}.{body}`, the body byte by byte as it is sent.
public struct WebhookSignature: Sendable, Equatable {
    /// `webhook-id`: the same at every attempt, so that the receiver can drop a duplicate.
    public let id: String
    /// `webhook-timestamp`: whole seconds since 1970, new at every attempt.
    public let timestamp: Int
    /// `webhook-signature`: one `v1,` entry for each secret and one `v1a,` entry for each key, separated by spaces.
    public let signature: String

    /// Signs a body.
    ///
    /// - Parameters:
    ///   - id: Must hold no full stop, because the full stop separates the signed parts.
    ///   - timestamp: Seconds since 1970.
    ///   - body: The exact bytes to be sent.
    ///   - secrets: All valid secrets: more than one while a rotation is under way.
    ///   - signingKeys: All valid Ed25519 keys.
    public init(
        id: String, timestamp: Int, body: [UInt8], secrets: [WebhookSecret], signingKeys: [WebhookSigningKey] = []
    ) {
        precondition(!id.isEmpty && !id.contains("."), "a webhook-id must not be empty nor hold a full stop")
        var message = Array("\(id).\(timestamp).".utf8)
        message.append(contentsOf: body)
        self.id = id
        self.timestamp = timestamp
        let digests = secrets.map { "v1," + Data(hmacSHA256(key: $0.key, message: message)).base64EncodedString() }
        let signatures = signingKeys.compactMap { $0.sign(message) }.map { "v1a," + Data($0).base64EncodedString() }
        self.signature = (digests + signatures).joined(separator: " ")
    }

    var headers: [HTTPRequest.Header] {
        [
            HTTPRequest.Header(name: "webhook-id", value: self.id),
            HTTPRequest.Header(name: "webhook-timestamp", value: String(self.timestamp)),
            HTTPRequest.Header(name: "webhook-signature", value: self.signature),
        ]
    }
}

/// HMAC of FIPS 198-1 over SHA-256.
func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let result = HMAC(EVP_sha256(), key, CInt(key.count), message, message.count, &digest, &length)
    precondition(result != nil && length == 32, "libcrypto has no HMAC-SHA256")
    return digest
}

/// SHA-256 of FIPS 180-4.
func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let result = EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil)
    precondition(result == 1 && length == 32, "libcrypto has no SHA-256")
    return digest
}
