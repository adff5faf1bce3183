internal import Foundation
package import InspectCore

/// Seals and opens the secrets of one endpoint under its partner's key.
///
/// SQL takes and returns a secret as text. A sealed one is `sealed:` and the Base64 of the sealed bytes, so every function that
/// passes secrets on also passes sealed ones, without seeing them. deploy/SEALING.md describes the format.
package struct SecretSeal: Sendable {
    /// A secret's purpose, as in `insp.secret`.
    package enum Purpose: String, Sendable, CaseIterable {
        case signingSecret = "signing_secret"
        case signingKey = "signing_key"
        case clientKey = "client_key"
        case apiKey = "api_key"
        case clientSecret = "client_secret"
        case accessToken = "access_token"
        case assertion = "assertion"
    }

    /// The owner of a secret.
    package enum Owner: Sendable, Equatable {
        case endpoint(Int64)
        /// A named authorization of the partner whose key it is.
        case authorization(String)

        fileprivate var text: String {
            switch self {
            case .endpoint(let number): "endpoint \(number)"
            case .authorization(let name): "authorization \(name)"
            }
        }
    }

    private static let prefix = "sealed:"

    private let key: CustodyKey
    private let owner: String

    /// - Parameter key: The partner's key.
    package init(_ key: CustodyKey, endpoint: Int64) { self.init(key, of: .endpoint(endpoint)) }

    /// - Parameter key: The partner's key.
    package init(_ key: CustodyKey, of owner: Owner) {
        self.key = key
        self.owner = owner.text
    }

    /// Whether a secret's text is a sealed one.
    package static func isSealed(_ text: String) -> Bool { text.hasPrefix(self.prefix) }

    /// The key that opens a sealed secret.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
    package static func keyID(of text: String) throws(InspectError) -> KeyID {
        try Seal.keyID(of: self.bytes(of: text))
    }

    /// A secret as a text for SQL.
    package func seal(_ secret: String, for purpose: Purpose) -> String {
        let sealed = Seal.seal(Data(secret.utf8), under: self.key, for: self.context(purpose))
        return Self.prefix + sealed.base64EncodedString()
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``: it was changed, or belongs to another endpoint or purpose.
    package func open(_ text: String, for purpose: Purpose) throws(InspectError) -> String {
        let secret = try Seal.open(Self.bytes(of: text), under: self.key, for: self.context(purpose))
        return String(decoding: secret, as: UTF8.self)
    }

    private func context(_ purpose: Purpose) -> SealContext {
        SealContext(partner: self.key.partner, .secret, row: [self.owner, purpose.rawValue])
    }

    private static func bytes(of text: String) throws(InspectError) -> Data {
        guard self.isSealed(text), let bytes = Data(base64Encoded: String(text.dropFirst(self.prefix.count))) else {
            throw InspectError(.sealBroken, "a secret")
        }
        return bytes
    }
}
