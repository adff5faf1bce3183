internal import COpenSSL
public import Foundation

/// What the gateway knows of a partner's credential. The secret itself is known to the partner alone.
public struct GatewayCredential: Sendable {
    /// What a credential may allow. `insp.scope` has the same.
    public enum Scope: String, Sendable, CaseIterable {
        case create, read, session
    }

    public var id: Int64
    public var partner: String
    /// SHA-256 of the secret, which is 256 random bits: nobody can guess it, so a slow hash would protect nothing and let
    /// strangers spend the gateway's time.
    public var secretSHA256: Data
    public var scopes: Set<String>
    /// Requests a second; `nil`: the gateway's default.
    public var ratePerSecond: Double?
    public var rateBurst: Int?

    public init(
        id: Int64, partner: String, secretSHA256: Data, scopes: Set<String>, ratePerSecond: Double?, rateBurst: Int?
    ) {
        self.id = id
        self.partner = partner
        self.secretSHA256 = secretSHA256
        self.scopes = scopes
        self.ratePerSecond = ratePerSecond
        self.rateBurst = rateBurst
    }

    /// Whether a secret is this credential's, in a time that does not depend on it.
    func accepts(_ secret: String) -> Bool {
        let digest = Array(Self.sha256(secret))
        guard digest.count == 32, self.secretSHA256.count == 32 else { return false }
        return self.secretSHA256.withUnsafeBytes { CRYPTO_memcmp($0.baseAddress, digest, 32) } == 0
    }

    /// Empty if OpenSSL has no SHA-256, which accepts nothing.
    static func sha256(_ text: String) -> Data {
        var digest = [UInt8](repeating: 0, count: 32)
        let bytes = Array(text.utf8)
        return EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 ? Data(digest) : Data()
    }
}

/// The credential that a request presents: HTTP Basic (RFC 7617) with the key id as user name, or a bearer token (RFC 6750)
/// of key id, point and secret.
struct PresentedCredential: Equatable {
    var keyID: String
    var secret: String

    /// Stands for both where the secret itself must not be kept.
    var digest: Data { GatewayCredential.sha256("\(self.keyID).\(self.secret)") }

    /// - Returns: `nil` for anything else, which is refused without asking the database.
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
        self.keyID = String(text[..<cut])
        self.secret = String(text[text.index(after: cut)...])
        guard self.keyID.utf8.count == 19, self.keyID.hasPrefix("ik_"), self.secret.utf8.count == 43,
            self.keyID.utf8.dropFirst(3).allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
    }
}
