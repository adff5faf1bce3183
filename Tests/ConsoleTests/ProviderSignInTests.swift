import Console
import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// Sign-in at a provider of these tests' own, which answers as OpenID Connect Discovery, RFC 6749 and RFC 7636 say.
/// `Tests/console.py` does the same with Authlib's.
@Suite struct ProviderSignInTests {
    /// What the provider knows of one authorization, and what it is asked to do wrong.
    private final class Provider: Sendable {
        struct State {
            var issuer = ""
            var nonce = ""
            var challenge = ""
            var verifiers: [String] = []
            /// The last request's for a token.
            var authorization: String?
            var change: [String: String] = [:]
        }

        let key = SigningKey("ES256", id: "k1")
        let state = Mutex(State())

        func answer(_ request: HTTPRequest, _ body: Data) -> HTTPResponse {
            let state = self.state.withLock { $0 }
            func json(_ value: [String: Any]) -> HTTPResponse {
                .json((try? JSONSerialization.data(withJSONObject: value)) ?? Data())
            }
            switch request.path {
            case "/.well-known/openid-configuration":
                return json([
                    "issuer": state.change["issuer"] ?? state.issuer,
                    "authorization_endpoint": "\(state.issuer)/authorize",
                    "token_endpoint": "\(state.issuer)/token", "jwks_uri": "\(state.issuer)/keys",
                    "code_challenge_methods_supported": ["S256"],
                ])
            case "/keys": return json(["keys": [self.key.jwk]])
            case "/token":
                let form = String(decoding: body, as: UTF8.self).split(separator: "&").map {
                    $0.split(separator: "=").map(String.init)
                }
                let verifier = form.first { $0[0] == "code_verifier" }?.last ?? ""
                let authorization = request.headers["authorization"]
                self.state.withLock {
                    $0.verifiers.append(verifier)
                    $0.authorization = authorization
                }
                let time = Date().timeIntervalSince1970.rounded()
                let claims: [String: Any] = [
                    "iss": state.issuer, "aud": "desk", "sub": state.change["sub"] ?? "1", "exp": time + 300,
                    "iat": time,
                    "nonce": state.change["nonce"] ?? state.nonce, "preferred_username": state.change["name"] ?? "ann",
                    "roles": state.change["roles"].map { [$0] } ?? ["reviewer:bank"],
                ]
                return json([
                    "access_token": "x", "token_type": "Bearer", "id_token": (try? self.key.token(claims)) ?? "",
                ])
            default: return .json(Data("{}".utf8), status: 404)
            }
        }
    }

    private func site(
        secret: String? = nil, failed: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> (site: ConsoleSite, provider: Provider, server: HTTPServer) {
        let provider = Provider()
        let server = try HTTPServer(ListenAddress("127.0.0.1:0")!) { request in
            .accept { body in provider.answer(request, body) }
        }
        let issuer = "http://127.0.0.1:\(server.port)"
        provider.state.withLock { $0.issuer = issuer }
        var settings = OpenIDProvider.Settings(issuer: issuer, client: "desk")
        settings.secret = secret
        let site = try await ConsoleSite(provider: OpenIDProvider(settings), providerFailed: failed)
        return (site, provider, server)
    }

    /// The parameters with which the browser is sent to the provider, and the cookie that it got.
    private func begin(_ browser: Browser) async throws -> (parameters: [String: String], cookie: String) {
        let answer = try await browser.get("/sign-in/provider")
        #expect(answer.status == 303)
        let items = URLComponents(string: answer.headers["location"] ?? "")?.queryItems ?? []
        let cookie = try #require(answer.cookie("inspectd-sign-in"))
        #expect(cookie.contains("; HttpOnly; SameSite=Lax; Max-Age=600"))
        return (
            Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") }),
            String(cookie.split(separator: ";")[0])
        )
    }

    @Test func `A person signs in with a code that only this browser can use, and has the roles of the claim`()
        async throws
    {
        let (site, provider, server) = try await self.site()
        let browser = Browser(port: site.server.port)
        let (parameters, cookie) = try await self.begin(browser)
        #expect(parameters["response_type"] == "code" && parameters["code_challenge_method"] == "S256")
        #expect(parameters["redirect_uri"] == "\(site.origin)/sign-in/callback" && parameters["client_id"] == "desk")
        provider.state.withLock { $0.nonce = parameters["nonce"] ?? "" }
        let back = "/sign-in/callback?code=c&state=\(parameters["state"] ?? "")"
        // Without the cookie, or with that of another sign-in, the answer is nobody's.
        #expect(try await browser.get(back).status == 403)
        let other = try await self.begin(browser)
        #expect(try await browser.get(back, headers: ["Cookie": other.cookie]).status == 403)
        #expect(try await browser.get(back + "&state=x", headers: ["Cookie": cookie]).status == 403)
        #expect(
            try await browser.get(
                "/sign-in/callback?error=access_denied&state=\(parameters["state"] ?? "")", headers: ["Cookie": cookie]
            ).status == 403)
        #expect(provider.state.withLock { $0.verifiers } == [])
        let done = try await browser.get(back, headers: ["Cookie": cookie])
        #expect(done.status == 200, "\(done.text)")
        let session = try #require(done.cookie("inspectd-console"))
        #expect(session.contains("; HttpOnly; SameSite=Strict"))
        #expect(done.cookie("inspectd-sign-in")?.contains("Max-Age=0") == true)
        // RFC 7636, section 4.6.
        let verifier = try #require(provider.state.withLock { $0.verifiers.first })
        #expect(verifier.utf8.count == 43 && !cookie.contains(verifier))
        var signedIn = browser
        signedIn.secret = ConsoleSecret(String(session.dropFirst("inspectd-console=".count).split(separator: ";")[0]))
        #expect(try await signedIn.get("/cases").status == 200)
        #expect(try await signedIn.get("/queue").status == 403)
        #expect(try await site.count("insp.console_session WHERE actor = 'console:ann' AND method = 'oidc'") == 1)
        await server.stop(within: .zero)
        try await site.close()
    }

    @Test func `A client's secret is encoded as in a form before it goes into the header`() async throws {
        let (site, provider, server) = try await self.site(secret: "a b+c%d~e*f&gü:h")
        let browser = Browser(port: site.server.port)
        let (parameters, cookie) = try await self.begin(browser)
        provider.state.withLock { $0.nonce = parameters["nonce"] ?? "" }
        let back = "/sign-in/callback?code=c&state=\(parameters["state"] ?? "")"
        #expect(try await browser.get(back, headers: ["Cookie": cookie]).status == 200)
        // RFC 6749, section 2.3.1.
        let sent = try #require(provider.state.withLock { $0.authorization })
        let login = try #require(Data(base64Encoded: String(sent.dropFirst("Basic ".count))))
        #expect(sent.hasPrefix("Basic "))
        #expect(String(decoding: login, as: UTF8.self) == "desk:a+b%2Bc%25d%7Ee*f%26g%C3%BC%3Ah")
        await server.stop(within: .zero)
        try await site.close()
    }

    @Test func `Who changes the name at the provider stays the same person here, and takes nobody else's name`()
        async throws
    {
        let (site, provider, server) = try await self.site()
        let browser = Browser(port: site.server.port)
        for (subject, name) in [("1", "ann"), ("2", "bob"), ("1", "bob"), ("3", "Ann")] {
            let (parameters, cookie) = try await self.begin(browser)
            provider.state.withLock {
                $0.nonce = parameters["nonce"] ?? ""
                $0.change = ["sub": subject, "name": name]
            }
            let back = "/sign-in/callback?code=c&state=\(parameters["state"] ?? "")"
            #expect(try await browser.get(back, headers: ["Cookie": cookie]).status == 200, "\(subject) \(name)")
        }
        let actors = try await site.admin.query("SELECT actor FROM insp.console_session ORDER BY id")
        #expect(try actors.map { try $0.string(0) } == ["console:ann", "console:bob", "console:ann", "console:Ann~3"])
        let issuer = provider.state.withLock { $0.issuer }
        #expect(try await site.count("insp.console_person WHERE issuer = '\(issuer)'") == 3)
        #expect(
            try await site.count(
                """
                insp.v_operator_events WHERE action = 'console_sign_in' AND who = 'console:ann'
                    AND detail @> '{"subject": "1", "issuer": "\(issuer)", "name": "bob"}'
                """) == 1)
        await server.stop(within: .zero)
        try await site.close()
    }

    @Test(arguments: ["Ann Smith", "", "a\u{0}b", String(repeating: "n", count: 101)])
    func `A name that no record can have is refused with a sentence that names its claim, and logged`(
        name: String
    ) async throws {
        let reasons = Reasons()
        let (site, provider, server) = try await self.site { reason in reasons.list.withLock { $0.append(reason) } }
        let browser = Browser(port: site.server.port)
        let (parameters, cookie) = try await self.begin(browser)
        provider.state.withLock {
            $0.nonce = parameters["nonce"] ?? ""
            $0.change["name"] = name
        }
        let back = "/sign-in/callback?code=c&state=\(parameters["state"] ?? "")"
        let answer = try await browser.get(back, headers: ["Cookie": cookie])
        #expect(answer.status == 403 && answer.cookie("inspectd-console") == nil, "\(answer.status)")
        #expect(answer.text.contains("the claim preferred_username, does not have 1 to 100 visible characters"))
        #expect(!answer.text.contains("Ann Smith"))
        let said = reasons.list.withLock { $0 }
        #expect(said.count == 1 && said.first?.contains("--oidc-name") == true, "\(said)")
        #expect(said.first?.contains("Smith") == false)
        #expect(try await site.count("insp.console_session") == 0)
        await server.stop(within: .zero)
        try await site.close()
    }

    /// What is logged.
    private final class Reasons: Sendable {
        let list = Mutex<[String]>([])
    }

    @Test(arguments: ["issuer", "nonce", "roles"])
    func `Nobody is signed in by a provider that says something else`(change: String) async throws {
        let (site, provider, server) = try await self.site()
        let browser = Browser(port: site.server.port)
        provider.state.withLock { $0.change[change] = "https://evil.example" }
        if change == "issuer" {
            #expect(try await browser.get("/sign-in/provider").status == 403)
        } else {
            let (parameters, cookie) = try await self.begin(browser)
            provider.state.withLock { $0.nonce = parameters["nonce"] ?? "" }
            let back = "/sign-in/callback?code=c&state=\(parameters["state"] ?? "")"
            let answer = try await browser.get(back, headers: ["Cookie": cookie])
            #expect(answer.status == 403 && answer.cookie("inspectd-console") == nil)
        }
        #expect(try await site.count("insp.console_session") == 0)
        await server.stop(within: .zero)
        try await site.close()
    }
}
