internal import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore

/// The access tokens of a dispatcher's endpoints: cached here, shared with other workers through the database, and refreshed
/// early by one of them while the others continue with the old one.
actor Authorizer {
    /// A token with its number in the sequence of the endpoint's tokens.
    struct Token: Sendable, Equatable {
        var value: String
        var generation: Int64
    }

    /// How long before its expiry a token is replaced: a minute, or a tenth of its lifetime if that is less.
    static func early(lifetime: Duration) -> Duration { min(.seconds(60), lifetime / 10) }
    /// How long to wait for a token, which another worker may be getting.
    private static let patience: Duration = .seconds(10)
    /// How long after a failure no worker asks again.
    private static let pause: Duration = .seconds(5)

    private struct Key: Hashable {
        var endpoint: Int64
        var authorization: EndpointOptions.Authorization
    }

    private struct Entry {
        var token: Token
        var refreshAt: ContinuousClock.Instant
        var expiresAt: ContinuousClock.Instant
    }

    private let store: TokenStore
    private let client: HTTPClient
    private let providers: [String: any AuthorizationProvider]
    private var known: [Key: Entry] = [:]
    private var flights: [Key: Task<Result<Token, HTTPError>, Never>] = [:]

    init(store: TokenStore, client: HTTPClient, providers: [String: any AuthorizationProvider]) {
        self.store = store
        self.client = client
        self.providers = Self.all(providers)
    }

    /// These providers, and the built-in ones.
    static func all(_ own: [String: any AuthorizationProvider]) -> [String: any AuthorizationProvider] {
        own.merging([
            "client_credentials": ClientCredentialsProvider(), "assertion": AssertionProvider(),
        ]) { own, _ in own }
    }

    /// A token for a request.
    ///
    /// - Parameters:
    ///   - refused: The generation that the partner has just refused; the answer is another one.
    func token(
        for endpoint: CallbackEndpoint, _ authorization: EndpointOptions.Authorization, options: EndpointOptions,
        refused: Int64? = nil
    ) async -> Result<Token, HTTPError> {
        let key = Key(endpoint: endpoint.id, authorization: authorization)
        if let entry = self.known[key], entry.expiresAt > .now, entry.token.generation != refused {
            if entry.refreshAt <= .now { _ = self.flight(key, endpoint, options, refused: nil) }
            return .success(entry.token)
        }
        return await self.flight(key, endpoint, options, refused: refused).value
    }

    /// The single task that gets this endpoint's next token.
    private func flight(
        _ key: Key, _ endpoint: CallbackEndpoint, _ options: EndpointOptions, refused: Int64?
    ) -> Task<Result<Token, HTTPError>, Never> {
        if let flight = self.flights[key] { return flight }
        // Not a child of the first caller's task: others wait for it too.
        let flight = Task {
            let result = await self.fetch(key, endpoint, options, refused: refused)
            self.flights[key] = nil
            return result
        }
        self.flights[key] = flight
        return flight
    }

    private func fetch(
        _ key: Key, _ endpoint: CallbackEndpoint, _ options: EndpointOptions, refused: Int64?
    ) async -> Result<Token, HTTPError> {
        let deadline = ContinuousClock.now + Self.patience
        var refused = refused
        repeat {
            do {
                var taken = try await self.store.take(key.endpoint, refused: refused)
                // Used once: later results are newer.
                refused = nil
                do throws(InspectError) {
                    taken.token = try await self.store.opened(taken.token, of: key.endpoint)
                } catch {
                    try await self.release(taken.permit, of: key, error)
                    guard [.keyUnknown, .sealBroken].contains(error.code) else { return .failure(Self.fault(error)) }
                    // Nobody can ever use it again, as if the partner had refused it.
                    refused = taken.generation
                    continue
                }
                if let permit = taken.permit {
                    let result = try await self.refresh(key, permit, taken, endpoint, options)
                    // The old one still serves if the next one failed.
                    guard case .failure = result, let old = self.keep(taken, key) else { return result }
                    return .success(old)
                }
                if let token = self.keep(taken, key) { return .success(token) }
                if let code = taken.code {
                    return .failure(
                        HTTPError(code == ErrorCode.clientIDInvalid.rawValue ? .clientInvalid : .authorizationFailed))
                }
            } catch {
                return .failure(HTTPError(.localFault, "the tokens' database connection failed"))
            }
            try? await Task.sleep(for: .milliseconds(100))
        } while ContinuousClock.now < deadline
        return .failure(HTTPError(.authorizationFailed, "another worker did not get one in time"))
    }

    private func keep(_ taken: TokenStore.Taken, _ key: Key) -> Token? {
        guard let value = taken.token else { return nil }
        let token = Token(value: value, generation: taken.generation)
        // Another worker refreshes it: check again in a second.
        self.known[key] = Entry(
            token: token, refreshAt: .now + max(.seconds(1), taken.refreshIn),
            expiresAt: .now + taken.expiresIn)
        return token
    }

    /// Lets another worker get the next token at once: only this one may lack the keys.
    private func release(_ permit: Int64?, of key: Key, _ error: InspectError) async throws {
        guard let permit else { return }
        try await self.store.fail(key.endpoint, permit: permit, code: error.code, wait: .zero)
    }

    private static func fault(_ error: InspectError) -> HTTPError {
        HTTPError(.localFault, "\(error.code.rawValue): \(error.code.row.message)")
    }

    private func refresh(
        _ key: Key, _ permit: Int64, _ taken: TokenStore.Taken, _ endpoint: CallbackEndpoint, _ options: EndpointOptions
    ) async throws -> Result<Token, HTTPError> {
        let seal: SecretSeal?
        // Before the token arrives, since it could not be stored otherwise.
        do throws(InspectError) { seal = try await self.store.seal(taken, of: key.endpoint) } catch {
            try await self.release(permit, of: key, error)
            return .failure(Self.fault(error))
        }
        do throws(AuthorizationError) {
            guard let provider = self.providers[key.authorization.provider] else {
                throw AuthorizationError(.authorizationFailed, "no provider has that name")
            }
            let request = AuthorizationRequest(
                key.authorization, options,
                allows: .init(http: endpoint.allowsHTTP, private: endpoint.allowsPrivate), by: self.client)
            let token = try await provider.authorize(request)
            let early = Self.early(lifetime: token.lifetime)
            let stored: Int64?
            do {
                stored = try await self.store.store(
                    key.endpoint, permit: permit, token: token, early: early, sealing: seal)
            } catch {
                return .failure(HTTPError(.localFault, "the tokens' database connection failed"))
            }
            guard let stored, stored > 0 else {
                // 0: the authorization was removed or replaced meanwhile, and the token waits for its revocation. Otherwise
                // nobody else has it. In the background: the callback must not wait for it.
                if stored == nil, request.revocationURL != nil {
                    Task { try? await provider.revoke(token.value, request) }
                }
                return .failure(HTTPError(.localFault, "the permit to refresh the token had lapsed"))
            }
            let kept = Token(value: token.value, generation: stored)
            self.known[key] = Entry(
                token: kept, refreshAt: .now + (token.lifetime - early),
                expiresAt: .now + token.lifetime)
            return .success(kept)
        } catch {
            try await self.store.fail(key.endpoint, permit: permit, code: error.code, wait: Self.pause)
            return .failure(
                HTTPError(
                    error.code == .clientIDInvalid
                        ? .clientInvalid : error.code == .localFault ? .localFault : .authorizationFailed,
                    error.code == .clientIDInvalid || error.code == .authorizationFailed
                        ? error.detail : "\(error.code.rawValue) \(error.detail)"))
        }
    }
}

extension AuthorizationRequest {
    /// What an endpoint allows in addition to https to public addresses.
    struct Permissions: Sendable {
        var http: Bool
        var `private`: Bool
    }

    /// A request that a client sends under an endpoint's egress policy.
    init(
        _ authorization: EndpointOptions.Authorization, _ options: EndpointOptions, allows: Permissions,
        by client: HTTPClient
    ) {
        self.init(
            tokenURL: authorization.tokenURL, revocationURL: authorization.revocationURL,
            clientID: authorization.clientID, clientSecret: authorization.clientSecret,
            grantType: authorization.grantType, assertion: authorization.assertion, scope: authorization.scope,
            method: Method(rawValue: authorization.method) ?? .basic, parameters: authorization.parameters ?? [:],
            send: { url, form, headers async throws(AuthorizationError) in
                guard let url else { throw AuthorizationError(.callbackURLMissing) }
                var transport = options.transport
                if !options.arePins(of: url) { transport.pins = [] }
                let request = HTTPRequest(
                    method: .post(body: Array(FormEncoding.encode(form).utf8)), url: url,
                    headers: [.init(name: "Content-Type", value: "application/x-www-form-urlencoded")]
                        + headers.map { .init(name: $0.0, value: $0.1) },
                    limits: .init(totalMilliseconds: 10_000, bodyBytes: 64 * 1024), allowsHTTP: allows.http,
                    transport: transport)
                do throws(HTTPError) {
                    let response = try await client.send(request, policy: options.policy(allowsPrivate: allows.private))
                    if let failure = response.bodyFailure {
                        throw HTTPError(failure.code, failure.detail)
                    }
                    return Answer(status: response.status, body: response.body)
                } catch {
                    throw AuthorizationError(error.code.errorCode, error.detail)
                }
            })
    }
}
