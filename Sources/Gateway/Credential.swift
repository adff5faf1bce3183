internal import COpenSSL
internal import Custody
package import Foundation

/// A partner's credential as the gateway knows it. Only the partner knows the secret.
package struct GatewayCredential: Sendable {
    /// The calls that a credential may allow. `insp.scope` has the same values.
    package enum Scope: String, Sendable, CaseIterable {
        case create = "create"
        case read = "read"
        case session = "session"
        case images = "images"
        case faces = "faces"
        case persons = "persons"
        case callbacks = "callbacks"
        case events = "events"
        case keys = "keys"
        case report = "report"
        case capture = "capture"

        /// What it allows, as `insp.scope` says.
        package var meaning: String {
            switch self {
            case .create: "Sends, cancels and reruns jobs, gets challenges"
            case .read: "Lists jobs, sees their status and results"
            case .images: "Gets the parts of jobs back"
            case .session: "Runs liveness sessions"
            case .faces: "Enrols, lists and deletes faces"
            case .persons: "Exports and erases all that is kept of a person"
            case .callbacks: "Lists callbacks and endpoints; replays, tests, pauses, rotates secrets"
            case .events: "Pulls events"
            case .keys: "Registers the public key that results are encrypted for"
            case .report: "Gets the reviewer's page of a job: images and measurements"
            case .capture: "Makes links with which a person captures a job's parts"
            }
        }
    }

    /// `insp.credential.id`.
    package var id: Int64
    /// The name of the partner, whose data alone the credential can reach.
    package var partner: String
    /// Number of the partner (`insp.partner.id`).
    var partnerID: Int64
    /// SHA-256 of the secret, which is 256 random bits: nobody can guess it, so a slow hash would protect nothing and let
    /// strangers spend the gateway's time.
    package var secretSHA256: Data
    /// Raw values of ``Scope``; unknown ones allow nothing.
    package var scopes: Set<String>
    /// Whether the secret is that of a token, which expires soon and gets no further tokens.
    package var isToken = false
    /// Requests a second; `nil`: the gateway's default.
    var ratePerSecond: Double?
    var rateBurst: Int?
    /// Origins whose pages may read answers to its calls.
    var origins: Set<String> = []
    /// Whether its jobs are tests.
    var isTest = false

    /// Whether a secret is this credential's, compared in constant time.
    func accepts(_ secret: String) -> Bool {
        let digest = SHA256.digest(Array(secret.utf8))
        guard self.secretSHA256.count == 32 else { return false }
        return self.secretSHA256.withUnsafeBytes { CRYPTO_memcmp($0.baseAddress, digest, 32) } == 0
    }
}

/// The credential that a request presents: HTTP Basic (RFC 7617) with the key id as user name, or a bearer token (RFC 6750)
/// of the key id, a full stop and the secret. The key id of a credential begins with `ik_`, that of a token with `it_`.
struct PresentedCredential: Equatable {
    var keyID: String
    var secret: String

    var secretSHA256: Data { Data(SHA256.digest(Array(self.secret.utf8))) }

    /// Identifies the pair where the secret must not be kept.
    var digest: Data { Data(SHA256.digest(Array("\(self.keyID).\(self.secret)".utf8))) }

    /// - Returns: `nil` for anything else, which is refused without a query.
    init?(authorization: String) {
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return nil }
        let value = words[1].trimmingCharacters(in: .whitespaces)
        let text: String
        let separator: Character
        switch words[0].lowercased() {
        case "basic":
            guard let data = Data(base64Encoded: value), let decoded = String(data: data, encoding: .utf8) else {
                return nil
            }
            (text, separator) = (decoded, ":")
        case "bearer": (text, separator) = (value, ".")
        default: return nil
        }
        guard let cut = text.firstIndex(of: separator) else { return nil }
        self.init(keyID: String(text[..<cut]), secret: String(text[text.index(after: cut)...]))
    }

    /// - Returns: `nil` for what is neither a credential nor a token.
    init?(keyID: String, secret: String) {
        self.keyID = keyID
        self.secret = secret
        guard self.keyID.utf8.count == 19, self.keyID.hasPrefix("ik_") || self.keyID.hasPrefix("it_"),
            self.secret.utf8.count == 43,
            self.keyID.utf8.dropFirst(3).allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
    }
}
