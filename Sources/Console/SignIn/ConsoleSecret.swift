internal import COpenSSL
internal import Custody
package import Foundation

/// The secret of a signed-in browser: 256 random bits. The database has only their digest, so its readers can
/// impersonate nobody.
package struct ConsoleSecret: Sendable {
    /// The cookie's value.
    package let text: String

    package init() {
        var bytes = [UInt8](repeating: 0, count: 32)
        precondition(RAND_bytes(&bytes, CInt(bytes.count)) == 1, "libcrypto returned no random numbers")
        self.text = Base64URL.text(bytes)
    }

    /// - Returns: `nil` for any other text.
    package init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text)?.count == 32 else { return nil }
        self.text = text
    }

    /// The digest by which the database knows it.
    package var sha256: Data { Data(SHA256.digest(Array(self.text.utf8))) }

    /// A value that only a holder of the secret can know, for one use.
    package func derived(_ use: String) -> String {
        Base64URL.text(SHA256.digest(Array("\(use) \(self.text)".utf8)))
    }

    /// The token in each form of the session's pages: another site can send a form, but cannot read this.
    package var formToken: String { self.derived("form") }

    /// Compares in constant time.
    package static func areEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (SHA256.digest(Array(one.utf8)), SHA256.digest(Array(other.utf8)))
        return CRYPTO_memcmp(one, other, one.count) == 0
    }
}

/// The cookies of the console.
enum ConsoleCookie {
    case session
    /// Between the first and the last step of a sign-in at the provider.
    case signIn
    /// The case to which a sign-in leads back.
    case way

    /// With a prefix that browsers accept only from this host and over TLS (draft-ietf-httpbis-rfc6265bis, section 4.1.3).
    private func name(_ isSecure: Bool) -> String {
        let name =
            switch self {
            case .session: "inspectd-console"
            case .signIn: "inspectd-sign-in"
            case .way: "inspectd-case"
            }
        return isSecure ? "__Host-" + name : name
    }

    func value(in header: String?, isSecure: Bool) -> ConsoleSecret? {
        self.text(in: header, isSecure: isSecure).flatMap { ConsoleSecret($0) }
    }

    /// The value in a header `Cookie`. A name that comes twice has none.
    func text(in header: String?, isSecure: Bool) -> String? {
        let found = (header ?? "").split(separator: ";").compactMap { pair -> String? in
            let pieces = pair.trimmingCharacters(in: .whitespaces).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return pieces.count == 2 && pieces[0] == self.name(isSecure) ? String(pieces[1]) : nil
        }
        return found.count == 1 ? found[0] : nil
    }

    /// A header `Set-Cookie`.
    ///
    /// - Parameter secret: `nil`: the browser forgets it.
    func header(_ secret: ConsoleSecret?, isSecure: Bool) -> (name: String, value: String) {
        self.header(text: secret?.text, isSecure: isSecure)
    }

    func header(text: String?, isSecure: Bool) -> (name: String, value: String) {
        // The provider sends the browser back from another site, which a strict cookie would not survive.
        let site = self == .session ? "Strict" : "Lax"
        let life = text == nil ? "; Max-Age=0" : self == .session ? "" : "; Max-Age=600"
        return (
            "Set-Cookie",
            "\(self.name(isSecure))=\(text ?? ""); Path=/; HttpOnly; SameSite=\(site)\(life)"
                + (isSecure ? "; Secure" : "")
        )
    }
}
