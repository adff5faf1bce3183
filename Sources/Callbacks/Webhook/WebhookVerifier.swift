package import Foundation

/// The receiver's side of Standard Webhooks: verifies that a callback is genuine and recent.
package struct WebhookVerifier: Sendable {
    /// Why a callback cannot be trusted.
    package enum Refusal: String, Error, Sendable {
        case headerMissing = "HEADER_MISSING"
        case timestampInvalid = "TIMESTAMP_INVALID"
        case timestampTooOld = "TIMESTAMP_TOO_OLD"
        case timestampTooNew = "TIMESTAMP_TOO_NEW"
        case signatureMismatch = "SIGNATURE_MISMATCH"
    }

    /// Seconds by which the timestamp may differ from the receiver's clock (Standard Webhooks, "Verifying webhook
    /// authenticity").
    static let toleranceSeconds = 300

    private let secrets: [WebhookSecret]
    private let publicKeys: [WebhookPublicKey]

    /// - Parameters:
    ///   - secrets: For `v1` signatures.
    ///   - publicKeys: For `v1a` signatures.
    package init(secrets: [WebhookSecret], publicKeys: [WebhookPublicKey] = []) {
        self.secrets = secrets
        self.publicKeys = publicKeys
    }

    /// - Parameters:
    ///   - id: Header `webhook-id`.
    ///   - timestamp: Header `webhook-timestamp`.
    ///   - signature: Header `webhook-signature`: one entry that fits one key suffices; unknown versions are ignored.
    ///   - body: The bytes as they were received.
    /// - Throws: ``Refusal``.
    package func verify(id: String, timestamp: String, signature: String, body: [UInt8], now: Date) throws(Refusal) {
        guard !id.isEmpty, !timestamp.isEmpty, !signature.isEmpty else { throw .headerMissing }
        guard timestamp.utf8.allSatisfy({ (48...57).contains($0) }), let seconds = Int(timestamp) else {
            throw .timestampInvalid
        }
        let ageSeconds = Int(now.timeIntervalSince1970) - seconds
        guard ageSeconds <= Self.toleranceSeconds else { throw .timestampTooOld }
        guard ageSeconds >= -Self.toleranceSeconds else { throw .timestampTooNew }
        let digests = self.secrets.compactMap { try? $0.code.code(of: "\(id).\(timestamp).", body) }
        for entry in signature.split(separator: " ") {
            let parts = entry.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let data = Data(base64Encoded: String(parts[1])) else { continue }
            let given = [UInt8](data)
            // Bits of the last character that no byte needs are zero (RFC 4648 section 3.5): a signature has exactly one text.
            guard base64(given) == parts[1] else { continue }
            switch parts[0] {
            case "v1":
                if digests.contains(where: { MessageCode.areEqual($0, given) }) { return }
            case "v1a":
                if self.publicKeys.contains(where: { $0.verifies(given, of: Array("\(id).\(timestamp).".utf8) + body) })
                {
                    return
                }
            default: continue
            }
        }
        throw .signatureMismatch
    }
}
