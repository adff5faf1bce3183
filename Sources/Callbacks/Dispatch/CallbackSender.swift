internal import Foundation
internal import InspectCore

/// Makes one attempt: authorizes, signs, sends and judges.
struct CallbackSender: Sendable {
    let client: HTTPClient
    let policy = CallbackRetryPolicy()
    /// Milliseconds for one attempt, resolution to last byte. Well below the lease.
    let timeoutMilliseconds: Int
    /// Value of `User-Agent`.
    let agent: String
    /// Where access tokens come from; without one, endpoints that want them get nothing.
    var authorizer: Authorizer?
    private let options = EndpointOptionsCache()

    init(client: HTTPClient, timeoutMilliseconds: Int, agent: String, authorizer: Authorizer? = nil) {
        self.client = client
        self.timeoutMilliseconds = timeoutMilliseconds
        self.agent = agent
        self.authorizer = authorizer
    }

    /// - Parameters:
    ///   - claimed: When the claim's commit was known.
    ///   - deadline: When the claim lapses.
    func attempt(
        _ callback: ClaimedCallback, claimed: ContinuousClock.Instant = .now, deadline: ContinuousClock.Instant
    ) async -> CallbackSettlement {
        let started = Date()
        // A span of its own for each attempt: a receiver's work belongs to the attempt that reached it.
        var generator = SystemRandomNumberGenerator()
        let trace = callback.trace?.child(using: &generator)
        let clock = ContinuousClock.now
        let result: Result<HTTPResponse, HTTPError>
        do throws(HTTPError) {
            result = .success(try await self.send(callback, at: started, trace))
        } catch {
            result = .failure(error)
        }
        let milliseconds = Int((ContinuousClock.now - clock) / .milliseconds(1))
        // A partner whose own name servers are down looks like our resolver; ``CallbackRetryPolicy/releases`` bounds that.
        var isOurFault = false
        if case .failure(let error) = result { isOurFault = [.localFault, .resolverSilent].contains(error.code) }
        let outcome = self.policy.outcome(
            of: result, attempt: callback.attempts + 1, released: callback.released, isOurFault: isOurFault,
            now: Date(), jitter: Double.random(in: 0.8...1.2))
        let response = try? result.get()
        return CallbackSettlement(
            callback: callback, outcome: outcome, started: started, milliseconds: milliseconds,
            status: response?.status, code: Self.code(of: result),
            error: Self.error(of: result, isOurFault: isOurFault),
            trace: trace, deadline: deadline, sent: response?.sent, claimed: claimed)
    }

    private func send(
        _ callback: ClaimedCallback, at date: Date, _ trace: TraceContext?
    ) async throws(HTTPError) -> HTTPResponse {
        guard let options = self.options.options(callback.options) else {
            throw HTTPError(.localFault, "the endpoint's options cannot be read")
        }
        let request = try self.request(callback, options, at: date, trace)
        let policy = options.policy(allowsPrivate: callback.allowsPrivate)
        guard let authorization = options.authorization else {
            return try await self.client.send(request, policy: policy)
        }
        guard let authorizer else { throw HTTPError(.authorizationFailed, "no authorizer") }
        let token = try await authorizer.token(for: callback, authorization, options: options).get()
        let response = try await self.client.send(Self.authorized(request, token), policy: policy)
        // Tokens are revoked: once, and within the same attempt, a new one is tried. If none is to be had, the answer
        // counts as it is.
        guard response.status == 401,
            case .success(let next) = await authorizer.token(
                for: callback, authorization, options: options, refused: token.generation)
        else { return response }
        return try await self.client.send(Self.authorized(request, next), policy: policy)
    }

    private static func authorized(_ request: HTTPRequest, _ token: Authorizer.Token) -> HTTPRequest {
        var request = request
        request.headers.append(.init(name: "Authorization", value: "Bearer \(token.value)"))
        return request
    }

    private func request(
        _ callback: ClaimedCallback, _ options: EndpointOptions, at date: Date, _ trace: TraceContext?
    ) throws(HTTPError) -> HTTPRequest {
        // The newest first. An overlap may have ended since the claim, which costs nothing.
        var secrets: [WebhookSecret] = []
        var signingKeys: [WebhookSigningKey] = []
        for text in callback.secrets {
            if text.hasPrefix(WebhookSigningKey.prefix) {
                guard let key = WebhookSigningKey(text) else {
                    throw HTTPError(.localFault, "the endpoint's key is not one of Standard Webhooks")
                }
                signingKeys.append(key)
            } else {
                guard let secret = WebhookSecret(text) else {
                    throw HTTPError(.localFault, "the endpoint's secret is not one of Standard Webhooks")
                }
                secrets.append(secret)
            }
        }
        // A new timestamp each time: the receiver refuses old ones.
        let signature = WebhookSignature(
            id: callback.webhookID, timestamp: Int(date.timeIntervalSince1970), body: callback.body, secrets: secrets,
            signingKeys: signingKeys)
        return HTTPRequest(
            method: .post(body: callback.body), url: callback.url,
            headers: [
                .init(name: "Content-Type", value: "application/json"), .init(name: "User-Agent", value: self.agent),
            ] + signature.headers + (trace.map { [.init(name: "traceparent", value: $0.traceparent)] } ?? [])
                + (try options.apiKeyHeaders()),
            limits: .init(totalMilliseconds: self.timeoutMilliseconds, bodyBytes: 64 * 1024),
            allowsHTTP: callback.allowsHTTP, transport: options.transport)
    }

    private static func code(of result: Result<HTTPResponse, HTTPError>) -> ErrorCode? {
        switch result {
        case .success(let response):
            switch response.status {
            case 200..<300: nil
            case 300..<400: .redirectRefused
            case 410: .endpointGone
            default: .statusNotSuccess
            }
        case .failure(let error): error.code.errorCode
        }
    }

    private static func error(of result: Result<HTTPResponse, HTTPError>, isOurFault: Bool) -> String? {
        switch result {
        case .success(let response):
            (200..<300).contains(response.status) ? nil : "HTTP status \(response.status)"
        case .failure(let error):
            isOurFault && error.code != .localFault ? "\(error) (\(HTTPError.Code.localFault.rawValue))" : "\(error)"
        }
    }
}
