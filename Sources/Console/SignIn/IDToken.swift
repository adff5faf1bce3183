internal import Custody
internal import Foundation

/// A provider's statement about a person, once its signature and claims have been checked (OpenID Connect Core 1.0, section 3.1.3.7).
struct IDToken {
    /// Why a token is refused; contains none of its values.
    struct Refusal: Error, Equatable {
        var reason: String
    }

    let claims: [String: Any]
    /// Identifies the person at this issuer permanently; every other claim may change (section 5.7).
    let subject: String
    /// The key's name that the header has, to fetch keys again if it is new.
    private static let leewaySeconds = 60.0

    struct Parts {
        var header: [String: Any]
        var claims: [String: Any]
        var signed: [UInt8]
        var signature: [UInt8]

        init(_ text: String) throws(Refusal) {
            let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
            func object(_ piece: Substring) -> [String: Any]? {
                Base64URL.decode(piece.utf8).flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any]
            }
            guard text.utf8.count <= 65_536, pieces.count == 3, let header = object(pieces[0]),
                let claims = object(pieces[1]),
                let signature = Base64URL.decode(pieces[2].utf8)
            else { throw Refusal(reason: "the ID token is not a signed token") }
            self.header = header
            self.claims = claims
            self.signed = Array("\(pieces[0]).\(pieces[1])".utf8)
            self.signature = [UInt8](signature)
        }

        var keyID: String? { self.header["kid"] as? String }
    }

    /// - Parameter keys: The provider's.
    init(
        _ parts: Parts, keys: [JSONWebKey], issuer: String, client: String, nonce: String, now: Date
    ) throws(Refusal) {
        // The algorithm is the key's: what the header says must agree, and no key has "none".
        guard let algorithm = (parts.header["alg"] as? String).flatMap(JSONWebKey.Algorithm.init),
            parts.header["crit"] == nil
        else { throw Refusal(reason: "the ID token's algorithm is neither RS256 nor ES256") }
        let fitting = keys.filter { $0.algorithm == algorithm && (parts.keyID == nil || $0.id == parts.keyID) }
        guard fitting.contains(where: { $0.verifies(parts.signature, of: parts.signed) }) else {
            throw Refusal(reason: "the ID token's signature is not the provider's")
        }
        let claims = parts.claims
        guard claims["iss"] as? String == issuer else { throw Refusal(reason: "the ID token is from another issuer") }
        let audience = (claims["aud"] as? [String]) ?? (claims["aud"] as? String).map { [$0] } ?? []
        guard audience.contains(client), audience.count == 1 || claims["azp"] as? String == client,
            claims["azp"] == nil || claims["azp"] as? String == client
        else { throw Refusal(reason: "the ID token is for another client") }
        let time = now.timeIntervalSince1970
        guard let expires = claims["exp"] as? Double, expires > time - Self.leewaySeconds,
            let issued = claims["iat"] as? Double,
            issued < time + Self.leewaySeconds
        else { throw Refusal(reason: "the ID token is not valid now") }
        guard let given = claims["nonce"] as? String, ConsoleSecret.areEqual(given, nonce) else {
            throw Refusal(reason: "the ID token belongs to another sign-in")
        }
        guard let subject = claims["sub"] as? String, (1...255).contains(subject.utf8.count), !subject.contains("\0")
        else {
            throw Refusal(reason: "the ID token has no subject")
        }
        self.claims = claims
        self.subject = subject
    }

    /// A claim by its path, such as `realm_access.roles`. A name that itself contains a full stop takes precedence over a path.
    func claim(_ path: String) -> Any? {
        if let value = self.claims[path] { return value }
        var value: Any? = self.claims
        for name in path.split(separator: ".") { value = (value as? [String: Any])?[String(name)] }
        return value
    }

    /// The roles that a claim grants: a list of texts, or one text separated by spaces.
    func grants(_ path: String) -> [String] {
        switch self.claim(path) {
        case let list as [String]: list
        case let text as String: text.split(separator: " ").map(String.init)
        default: []
        }
    }
}
