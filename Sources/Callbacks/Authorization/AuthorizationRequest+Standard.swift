internal import Foundation
internal import HTTPClient
internal import InspectCore

/// Requests for tokens and their revocation, by the standards.
extension AuthorizationRequest {
    /// The lifetime of a token if the server does not state it (RFC 6749 section 5.1 leaves it open).
    static let defaultLifetimeSeconds: Double = 300

    /// Asks the token endpoint (RFC 6749 section 3.2).
    ///
    /// - Parameter grant: The fields of the grant.
    func token(_ grant: [(String, String)]) async throws(AuthorizationError) -> AccessToken {
        guard self.tokenURL != nil else { throw AuthorizationError(.callbackURLMissing, "no token URL") }
        var form = grant
        if let scope, !scope.isEmpty { form.append(("scope", scope)) }
        for (name, value) in self.parameters.sorted(by: { $0.key < $1.key }) { form.append((name, value)) }
        let (whole, headers) = try self.authenticated(form)
        let answer = try await self.post(whole, headers)
        let fields = try? JSONDecoder().decode(Fields.self, from: Data(answer.body))
        guard answer.status == 200 else { throw Self.refusal(answer, fields) }
        guard let token = fields?.accessToken, (1...8192).contains(token.utf8.count),
            // b64token of RFC 6750 section 2.1; anything else could not be sent in a header.
            token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { throw AuthorizationError(.authorizationFailed, "the answer contains no token") }
        guard fields?.tokenType?.lowercased() == "bearer" else {
            throw AuthorizationError(.authorizationFailed, "the token's type is not Bearer")
        }
        let lifetime = fields?.expiresIn ?? Self.defaultLifetimeSeconds
        guard lifetime > 0, lifetime.isFinite else {
            throw AuthorizationError(.authorizationFailed, "the token has no lifetime")
        }
        return AccessToken(value: token, lifetime: .seconds(min(lifetime, 86_400 * 30)))
    }

    /// Revokes an access token (RFC 7009 section 2.1).
    func revoke(_ token: String) async throws(AuthorizationError) {
        guard let revocationURL else {
            throw AuthorizationError(.callbackURLMissing, "no revocation URL", isFinal: true)
        }
        let (form, headers) = try self.authenticated([("token", token), ("token_type_hint", "access_token")])
        let answer = try await self.send(revocationURL, form, headers)
        // Also for a token that the server does not know (section 2.2).
        if answer.status == 200 { return }
        let fields = try? JSONDecoder().decode(Fields.self, from: Data(answer.body))
        var refusal = Self.refusal(answer, fields)
        // A busy server says so (section 2.2.1); any other refusal would recur.
        refusal.isFinal = (400..<500).contains(answer.status) && ![408, 425, 429].contains(answer.status)
        throw refusal
    }

    /// A form with the client's authentication.
    private func authenticated(
        _ form: [(String, String)]
    ) throws(AuthorizationError) -> (form: [(String, String)], headers: [(String, String)]) {
        let id = self.clientID ?? ""
        guard !id.isEmpty || self.method == .unauthenticated else {
            throw AuthorizationError(.clientIDInvalid, "no client id", isFinal: true)
        }
        var (form, headers) = (form, [("Accept", "application/json")])
        switch self.method {
        case .basic:
            // Both parts are encoded as a form before they are joined (RFC 6749 section 2.3.1).
            let pair = "\(FormEncoding.encode(id)):\(FormEncoding.encode(self.clientSecret ?? ""))"
            headers.append(("Authorization", "Basic \(Data(pair.utf8).base64EncodedString())"))
        case .post: form += [("client_id", id), ("client_secret", self.clientSecret ?? "")]
        case .tls: form.append(("client_id", id))
        case .unauthenticated: if !id.isEmpty { form.append(("client_id", id)) }
        }
        return (form, headers)
    }

    private static func refusal(_ answer: Answer, _ fields: Fields?) -> AuthorizationError {
        // RFC 6749 section 5.2; the error's name is the only part of the answer that is repeated.
        let names = [
            "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "invalid_scope",
            "unsupported_token_type",
        ]
        let name = fields?.error.flatMap { names.contains($0) ? $0 : nil }
        let isClient = answer.status == 401 || name == "invalid_client" || name == "unauthorized_client"
        return AuthorizationError(
            isClient ? .clientIDInvalid : .authorizationFailed,
            "HTTP status \(answer.status)\(name.map { ", \($0)" } ?? "")")
    }

    private struct Fields: Decodable {
        var accessToken: String?
        var tokenType: String?
        var expiresIn: Double?
        var error: String?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case expiresIn = "expires_in"
            case error
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            self.accessToken = try? values.decode(String.self, forKey: .accessToken)
            self.tokenType = try? values.decode(String.self, forKey: .tokenType)
            // Some servers write the number as a string.
            self.expiresIn =
                (try? values.decode(Double.self, forKey: .expiresIn))
                ?? (try? values.decode(String.self, forKey: .expiresIn)).flatMap { Double($0) }
            self.error = try? values.decode(String.self, forKey: .error)
        }
    }
}

extension AuthorizationProvider {
    /// Revokes a token by RFC 7009, which suits every provider with a revocation URL.
    package func revoke(_ token: String, _ request: AuthorizationRequest) async throws(AuthorizationError) {
        try await request.revoke(token)
    }
}
