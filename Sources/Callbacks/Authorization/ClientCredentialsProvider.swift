/// The client-credentials grant of OAuth 2.0 (RFC 6749 section 4.4).
struct ClientCredentialsProvider: AuthorizationProvider {
    func authorize(_ request: AuthorizationRequest) async throws(AuthorizationError) -> AccessToken {
        try await request.token([("grant_type", "client_credentials")])
    }
}

/// An assertion instead of a person's consent (RFC 7521 section 4.1): the partner issued it, such as an API key that is a signed
/// token, and its server exchanges it.
struct AssertionProvider: AuthorizationProvider {
    /// Of JSON Web Tokens (RFC 7523 section 2.1).
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    func authorize(_ request: AuthorizationRequest) async throws(AuthorizationError) -> AccessToken {
        guard let assertion = request.assertion, !assertion.isEmpty else {
            throw AuthorizationError(.clientIDInvalid, "no assertion")
        }
        return try await request.token([
            ("grant_type", request.grantType ?? Self.grantType), ("assertion", assertion),
        ])
    }
}
