internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// `POST /oauth2/token`: client credentials (RFC 6749, section 4.4) for a token that expires soon.
    static let token = GatewayRoute(
        "POST", "/oauth2/token", .form,
        Operation(
            id: "getToken", summary: "An access token for a credential (RFC 6749, section 4.4)",
            detail: "The credential comes by HTTP Basic, or as client_id and client_secret.", request: "TokenRequest",
            answers: [
                .json("The token", "Token"), .json(400, "Refused", "TokenRefusal"),
                .json(401, "No credential, or a wrong one", "TokenRefusal"),
            ], refusals: [503], takesCredential: true),
        .everyone { service, request, body in
            // RFC 6749, section 5.1; every answer has Cache-Control: no-store.
            var headers = [(name: "Pragma", value: "no-cache")]
            do throws(TokenRefusal) {
                let form = try TokenRequest(body, authorization: request.headers["authorization"])
                let credential: GatewayCredential
                do {
                    credential = try await service.admitted(form.client, service.address(of: request))
                } catch let error as InspectError where error.code == .unauthenticated {
                    throw .client(request.headers["authorization"] != nil)
                } catch {
                    throw .other(error)
                }
                headers += service.rate(of: credential)
                guard !credential.isToken else { throw .client(request.headers["authorization"] != nil) }
                let scopes = form.scopes ?? credential.scopes
                guard !scopes.isEmpty, scopes.isSubset(of: credential.scopes) else { throw .scope(credential.scopes) }
                do {
                    let token = try await service.store.token(credential, scopes.sorted())
                    return try .json(
                        TokenAnswer(
                            accessToken: token.text, expiresIn: token.seconds,
                            scope: scopes.sorted().joined(separator: " "), test: credential.isTest ? true : nil),
                        headers: headers)
                } catch let error as InspectError where error.code == .unauthenticated {
                    // Revoked, and still in the cache.
                    throw .client(request.headers["authorization"] != nil)
                } catch {
                    throw .other(error)
                }
            } catch {
                guard let (status, word, text) = error.words else {
                    guard case .other(let error) = error else { throw InspectError(.internalError) }
                    var response = GatewayService.problem(error)
                    response.headers += headers
                    return response
                }
                var response = try HTTPResponse.json(
                    ["error": word, "error_description": text], status: status, headers: headers)
                if case .client(true) = error {
                    response.headers.append(("WWW-Authenticate", #"Basic realm="inspectd", charset="UTF-8""#))
                }
                response.code = status == 401 ? .unauthenticated : .parameterInvalid
                return response
            }
        })
}

/// The reason why no token is issued, as named in RFC 6749, section 5.2.
private enum TokenRefusal: Error {
    /// No credential, or a wrong one; whether the header Authorization had it.
    case client(Bool)
    case request(String)
    case grant
    /// A requested scope that the credential lacks.
    case scope(Set<String>)
    case other(any Error)

    var words: (status: Int, error: String, description: String)? {
        switch self {
        case .client: (401, "invalid_client", "no credential, or a wrong one")
        case .request(let text): (400, "invalid_request", text)
        case .grant: (400, "unsupported_grant_type", "grant_type is client_credentials")
        case .scope(let allowed):
            (
                400, "invalid_scope",
                "scope names what the credential does not allow; it allows \(allowed.sorted().joined(separator: ", "))"
            )
        case .other: nil
        }
    }
}

/// The form that a client sends.
private struct TokenRequest {
    var client: PresentedCredential
    /// `nil`: all that the credential allows.
    var scopes: Set<String>?

    private static let names: Set<String> = ["grant_type", "scope", "client_id", "client_secret"]

    init(_ body: Data, authorization: String?) throws(TokenRefusal) {
        var fields: [String: String] = [:]
        for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.plain(halves[0]), let value = Self.plain(halves.count > 1 ? halves[1] : "") else {
                throw .request("the body is not a form")
            }
            // RFC 6749, section 3.2: a parameter is given once, and an empty one counts as missing.
            guard fields[name] == nil else {
                throw .request("\(Self.names.contains(name) ? name : "a parameter") is given twice")
            }
            if !value.isEmpty { fields[name] = value }
        }
        guard let grant = fields["grant_type"] else { throw .request("grant_type is missing") }
        guard grant == "client_credentials" else { throw .grant }
        switch (authorization, fields["client_id"], fields["client_secret"]) {
        case (let header?, nil, nil):
            guard let client = PresentedCredential(authorization: header) else { throw .client(true) }
            self.client = client
        case (nil, let id?, let secret?):
            guard let client = PresentedCredential(keyID: id, secret: secret) else { throw .client(false) }
            self.client = client
        case (nil, _, _): throw .client(false)
        default: throw .request("the credential is in both the header and the body")
        }
        self.scopes = fields["scope"].map { Set($0.split(separator: " ").map(String.init)) }
    }

    private static func plain(_ text: Substring) -> String? {
        HTTPSyntax.unescaped(text.replacing("+", with: " ")[...])
    }
}

private struct TokenAnswer: Encodable {
    var accessToken: String
    var tokenType = "Bearer"
    /// Seconds.
    var expiresIn: Int
    /// Separated by spaces.
    var scope: String
    /// Present and true if it is for tests.
    var test: Bool?

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case expiresIn = "expires_in"
        case scope = "scope"
        case test = "test"
    }
}
