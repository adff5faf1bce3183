package import InspectCore

/// Gets access tokens for an endpoint, and revokes them. A partner that manages tokens in a special way needs its own provider;
/// ``ClientCredentialsProvider`` and ``AssertionProvider`` serve every server that follows the standards, by configuration alone.
///
/// A provider need not cache, retry or know about other workers: ``Authorizer`` asks early, once for all of them, and shares the
/// token through the database.
package protocol AuthorizationProvider: Sendable {
    /// - Throws: ``AuthorizationError``.
    func authorize(_ request: AuthorizationRequest) async throws(AuthorizationError) -> AccessToken

    /// Revokes a token whose authorization was removed. Called only if there is a revocation URL.
    ///
    /// - Throws: ``AuthorizationError``; one that is not final is tried again.
    func revoke(_ token: String, _ request: AuthorizationRequest) async throws(AuthorizationError)
}

/// A provider's information about an endpoint, and its access to the authorization server.
package struct AuthorizationRequest: Sendable {
    /// How the client authenticates.
    package enum Method: String, Sendable {
        /// HTTP Basic (RFC 6749 section 2.3.1).
        case basic = "basic"
        /// In the body (RFC 6749 section 2.3.1).
        case post = "post"
        /// By the client certificate (RFC 8705 section 2).
        case tls = "tls"
        /// Not at all: the assertion suffices.
        case unauthenticated = "none"
    }

    /// An authorization server's answer, as a custom provider reads it.
    package struct Answer: Sendable {
        /// The HTTP status.
        package var status: Int
        /// It may contain a token, so it is never logged.
        package var body: [UInt8]
    }

    /// Where tokens are requested (RFC 6749 §3.2); `nil`: a custom provider knows it.
    package let tokenURL: String?
    /// Where tokens are revoked (RFC 7009).
    package let revocationURL: String?
    let clientID: String?
    /// For HTTP Basic or the body, by ``method``; never logged.
    package let clientSecret: String?
    /// The grant type of an assertion; `nil`: that of JSON Web Tokens (RFC 7523).
    package let grantType: String?
    /// What the partner issued to be exchanged for tokens (RFC 7521).
    package let assertion: String?
    /// Scopes, separated by spaces.
    package let scope: String?
    /// How the client authenticates itself.
    package let method: Method
    /// Further fields of the request for a token.
    package let parameters: [String: String]
    /// Posts a form under the endpoint's egress policy, with its pins and client certificate; the size of the answer is
    /// limited. The headers are names and values.
    package let send:
        @Sendable (_ url: String?, _ form: [(String, String)], _ headers: [(String, String)])
            async throws(AuthorizationError) -> Answer

    /// Posts a form to ``tokenURL``.
    package func post(
        _ form: [(String, String)], _ headers: [(String, String)]
    ) async throws(AuthorizationError) -> Answer {
        try await self.send(self.tokenURL, form, headers)
    }
}

/// A bearer token (RFC 6750).
package struct AccessToken: Sendable, Equatable {
    /// What follows `Bearer `; never logged.
    package var value: String
    /// From now on.
    package var lifetime: Duration
}

/// Why there is no token, or why one was not revoked. Contains no secret, and nothing from the server but its error's name.
package struct AuthorizationError: Error, Sendable, Equatable {
    /// `AUTHORIZATION_FAILED`, `CLIENT_ID_INVALID`, or the code of the failed request.
    package var code: ErrorCode
    /// For operators; contains neither token nor secret.
    package var detail: String
    /// Whether another try would fail as well.
    package var isFinal: Bool

    package init(_ code: ErrorCode, _ detail: String = "", isFinal: Bool = false) {
        self.code = code
        self.detail = detail
        self.isFinal = isFinal
    }
}
