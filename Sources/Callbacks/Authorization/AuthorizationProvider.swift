package import InspectCore

/// Gets access tokens for an endpoint. A partner with a special way of managing tokens needs its own provider; the default is
/// ``ClientCredentialsProvider``.
///
/// A provider need not cache, retry or know of other workers: ``Authorizer`` asks early, once for all of them, and shares the
/// token through the database.
package protocol AuthorizationProvider: Sendable {
    /// - Throws: ``AuthorizationError``.
    func authorize(_ request: AuthorizationRequest) async throws(AuthorizationError) -> AccessToken
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
    }

    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]
    }

    package let endpoint: Int64
    package let tokenURL: String?
    let clientID: String?
    package let clientSecret: String?
    /// Scopes, separated by spaces.
    package let scope: String?
    package let method: Method
    /// Posts a form to ``tokenURL`` under the endpoint's egress policy, with its pins and client certificate; the size
    /// of the answer is limited. The headers are names and values.
    package let post:
        @Sendable (_ form: [(String, String)], _ headers: [(String, String)]) async throws(AuthorizationError) -> Answer
}

/// A bearer token (RFC 6750).
package struct AccessToken: Sendable, Equatable {
    package var value: String
    /// From now on.
    package var lifetime: Duration
}

/// Why there is no token. Contains no secret, and nothing from the server but its error's name.
package struct AuthorizationError: Error, Sendable, Equatable {
    /// `AUTHORIZATION_FAILED`, `CLIENT_ID_INVALID`, or the code of the failed request.
    package var code: ErrorCode
    package var detail: String

    package init(_ code: ErrorCode, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}
