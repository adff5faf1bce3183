internal import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore
internal import Synchronization

/// A person as the provider knows them.
struct OpenIDPerson: Sendable {
    var issuer: String
    var subject: String
    /// The person's current name at the provider.
    var name: String
    /// Such as `reviewer:bank`.
    var grants: [String]
}

/// The organisation's OpenID Connect provider: authorization code with PKCE (RFC 7636).
package final class OpenIDProvider: Sendable {
    /// How the console is registered at the provider.
    package struct Settings: Sendable {
        /// The issuer's identifier, which the discovery document repeats.
        package var issuer: String
        /// The `client_id`.
        package var client: String
        /// `nil`: a public client, which only PKCE protects.
        package var secret: String?
        /// The claim with roles, such as `roles` or `realm_access.roles`.
        package var rolesClaim = "roles"
        /// The claim with the name that a person has in the record from the first sign-in on. Only `sub` identifies the person.
        package var nameClaim = "preferred_username"
        /// Separated by blanks; `openid` must be among them.
        package var scopes = "openid profile"

        package init(issuer: String, client: String) {
            self.issuer = issuer
            self.client = client
        }
    }

    /// Why nobody can sign in; for the log, without values.
    package struct Failure: Error, Sendable {
        /// In English.
        package var reason: String
        /// A sentence for the person, if they can have the fault fixed; `nil`: it appears only in the log.
        package var told: String?
    }

    private struct Known {
        var authorization: String
        var token: String
        var keys: String
        var until: ContinuousClock.Instant
    }

    private struct Keys: Sendable {
        var keys: [JSONWebKey]
        var fetched: ContinuousClock.Instant
    }

    private let settings: Settings
    private let http: HTTPClient
    private let allowsHTTP: Bool
    private let known = Mutex<Known?>(nil)
    private let keys = Mutex<Keys?>(nil)

    /// - Parameter certificateAuthorities: A PEM file instead of the system's certificates.
    package init(_ settings: Settings, certificateAuthorities: String? = nil) {
        self.settings = settings
        self.http = HTTPClient(certificateAuthorities: certificateAuthorities)
        // Only for a provider on this machine.
        self.allowsHTTP = settings.issuer.hasPrefix("http://127.0.0.1:")
    }

    /// Where the browser is sent.
    ///
    /// - Parameter secret: That of this one sign-in; state, nonce and verifier follow from it.
    func authorizationURL(_ secret: ConsoleSecret, redirect: String) async throws(Failure) -> String {
        let known = try await self.discovered()
        let verifier = secret.derived("verifier")
        let parameters = [
            ("response_type", "code"), ("client_id", self.settings.client), ("redirect_uri", redirect),
            ("scope", self.settings.scopes), ("state", secret.derived("state")), ("nonce", secret.derived("nonce")),
            ("code_challenge", Base64URL.text(SHA256.digest(Array(verifier.utf8)))), ("code_challenge_method", "S256"),
        ]
        return known.authorization + (known.authorization.contains("?") ? "&" : "?") + FormEncoding.encode(parameters)
    }

    /// The person whose code it is, and the roles that the provider gives them.
    func person(
        code: String, _ secret: ConsoleSecret, redirect: String
    ) async throws(Failure) -> OpenIDPerson {
        let known = try await self.discovered()
        var parameters = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect),
            ("code_verifier", secret.derived("verifier")),
        ]
        var headers = [HTTPRequest.Header(name: "Content-Type", value: "application/x-www-form-urlencoded")]
        if let password = self.settings.secret {
            // RFC 6749, section 2.3.1: both are encoded as in a form first.
            let login = "\(FormEncoding.encode(self.settings.client)):\(FormEncoding.encode(password))"
            headers.append(.init(name: "Authorization", value: "Basic \(Data(login.utf8).base64EncodedString())"))
        } else {
            parameters.append(("client_id", self.settings.client))
        }
        let answer = try await self.fetch(
            known.token, method: .post(body: Array(FormEncoding.encode(parameters).utf8)), headers: headers)
        guard let text = answer["id_token"] as? String else {
            throw Failure(reason: "the provider's answer has no ID token")
        }
        let person: OpenIDPerson
        do throws(IDToken.Refusal) {
            let parts = try IDToken.Parts(text)
            var keys = try await self.verifiers(known.keys, newer: nil)
            if let id = parts.keyID, !keys.contains(where: { $0.id == id }) {
                keys = try await self.verifiers(known.keys, newer: .seconds(30))
            }
            let token = try IDToken(
                parts, keys: keys, issuer: self.settings.issuer, client: self.settings.client,
                nonce: secret.derived("nonce"), now: Date())
            guard let name = token.claim(self.settings.nameClaim) as? String else {
                throw IDToken.Refusal(reason: "the ID token has no \(self.settings.nameClaim)")
            }
            person = OpenIDPerson(
                issuer: self.settings.issuer, subject: token.subject, name: name,
                grants: token.grants(self.settings.rolesClaim))
        } catch {
            throw Failure(reason: error.reason)
        }
        // PostgreSQL has no text with a zero byte, so the database could not say what is wrong with it.
        guard !person.name.utf8.contains(0) else { throw self.unusableName }
        return person
    }

    /// The database refuses the name: in the record, and in what is copied from it, a name is one word.
    var unusableName: Failure {
        let rule = "does not have 1 to 100 visible characters without a space"
        return Failure(
            reason: "the claim \(self.settings.nameClaim) \(rule); choose another one with --oidc-name",
            told: "Your name at the provider, the claim \(self.settings.nameClaim), \(rule), so the record could not "
                + "name you. Ask the people who operate this console to use another claim.")
    }

    private func discovered() async throws(Failure) -> Known {
        if let known = self.known.withLock({ $0 }), known.until > .now { return known }
        let issuer = self.settings.issuer
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let document = try await self.fetch("\(base)/.well-known/openid-configuration")
        guard document["issuer"] as? String == issuer else {
            throw Failure(reason: "the discovery document is from another issuer")
        }
        func endpoint(_ name: String) throws(Failure) -> String {
            guard let url = document[name] as? String, url.hasPrefix("https://") || self.allowsHTTP,
                (try? HTTPRequest.validate(url: url, allowsHTTP: self.allowsHTTP)) != nil
            else { throw Failure(reason: "the discovery document has no usable \(name)") }
            return url
        }
        let methods = document["code_challenge_methods_supported"] as? [String]
        guard methods?.contains("S256") ?? true else {
            throw Failure(reason: "the provider does not support PKCE with S256")
        }
        let known = Known(
            authorization: try endpoint("authorization_endpoint"), token: try endpoint("token_endpoint"),
            keys: try endpoint("jwks_uri"), until: .now + .seconds(3600))
        self.known.withLock { $0 = known }
        return known
    }

    /// - Parameter newer: Keys that were fetched longer ago are fetched again; `nil`: after five minutes.
    private func verifiers(_ url: String, newer: Duration?) async throws(IDToken.Refusal) -> [JSONWebKey] {
        let held = self.keys.withLock { $0 }
        if let held, held.fetched + (newer ?? .seconds(300)) > .now { return held.keys }
        do throws(Failure) {
            let answer = try await self.fetch(url)
            let keys = (answer["keys"] as? [[String: Any]] ?? []).prefix(100).compactMap(JSONWebKey.init)
            guard !keys.isEmpty else { throw Failure(reason: "the provider has no key for RS256 or ES256") }
            self.keys.withLock { $0 = Keys(keys: keys, fetched: .now) }
            return keys
        } catch {
            throw IDToken.Refusal(reason: error.reason)
        }
    }

    private func fetch(
        _ url: String, method: HTTPRequest.Method = .get, headers: [HTTPRequest.Header] = []
    ) async throws(Failure) -> [String: Any] {
        let request = HTTPRequest(
            method: method, url: url, headers: headers + [.init(name: "Accept", value: "application/json")],
            limits: .init(totalMilliseconds: 10_000, bodyBytes: 262_144), allowsHTTP: self.allowsHTTP)
        let response: HTTPResponse
        do throws(HTTPError) {
            // The operator named the provider, so it may be in a private network.
            response = try await self.http.send(request, policy: .privateAllowed)
        } catch {
            throw Failure(reason: "the provider cannot be reached: \(error.code.errorCode.rawValue)")
        }
        guard response.status == 200, response.bodyFailure == nil,
            let object = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any]
        else { throw Failure(reason: "the provider answered with status \(response.status), or with no JSON object") }
        return object
    }
}
