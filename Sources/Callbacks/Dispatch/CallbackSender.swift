internal import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore

/// Makes one attempt: authorizes, signs, sends and decides the outcome.
final class CallbackSender: Sendable {
    let client: HTTPClient
    let policy = CallbackRetryPolicy()
    /// Milliseconds for one attempt, from name resolution to the last byte. Well below the lease.
    let timeoutMilliseconds: Int
    /// Value of `User-Agent`.
    let agent: String
    /// The source of access tokens; without one, endpoints that require them get no callbacks.
    let authorizer: Authorizer?

    init(client: HTTPClient, timeoutMilliseconds: Int, agent: String, authorizer: Authorizer? = nil) {
        self.client = client
        self.timeoutMilliseconds = timeoutMilliseconds
        self.agent = agent
        self.authorizer = authorizer
    }

    /// Starts an attempt.
    ///
    /// Most attempts wait only for the answer, and need no separate task.
    ///
    /// - Parameters:
    ///   - transfers: Gets the transfer to be submitted, if one is ready.
    ///   - onEnd: Called once, on any thread: must return at once.
    func start(
        _ entry: WaitingCallback, transfers: inout [CurlTransfer],
        onEnd: @escaping @Sendable (CallbackSettlement) -> Void
    ) -> CallbackAttempt {
        let begun = Begun(entry)
        let callback = entry.callback
        do throws(HTTPError) {
            let endpoint = callback.endpoint
            if let options = endpoint.options, options.authorization == nil || callback.isElsewhere {
                let request = try self.request(callback, options, at: begun.started, begun.trace)
                let route = try endpoint.route(of: request, by: self.client, Self.policy(for: callback, options))
                let transfer = try self.client.transfer(request, by: route) { result in
                    onEnd(self.settlement(begun, result))
                }
                if let transfer {
                    transfers.append(transfer)
                    return .transfer(transfer)
                }
            }
        } catch {
            onEnd(self.settlement(begun, .failure(error)))
            return .task(Task {})
        }
        return .task(Task { onEnd(await self.attempt(entry)) })
    }

    /// Aborts an attempt; it ends soon.
    func cancel(_ attempt: CallbackAttempt) {
        switch attempt {
        case .transfer(let transfer): self.client.cancel(transfer)
        case .task(let task): task.cancel()
        }
    }

    /// Makes an attempt, including one that must first wait for a name or a token.
    func attempt(_ entry: WaitingCallback) async -> CallbackSettlement {
        let begun = Begun(entry)
        let result: Result<HTTPResponse, HTTPError>
        do throws(HTTPError) {
            result = .success(try await self.send(entry.callback, at: begun.started, begun.trace))
        } catch {
            result = .failure(error)
        }
        return self.settlement(begun, result)
    }

    /// An attempt's start.
    private struct Begun: Sendable {
        let entry: WaitingCallback
        let started = Date()
        let clock = ContinuousClock.now
        /// Each attempt has its own span: a receiver's work belongs to the attempt that reached it.
        let trace: TraceContext?

        init(_ entry: WaitingCallback) {
            self.entry = entry
            var generator = SystemRandomNumberGenerator()
            self.trace = entry.callback.trace?.child(using: &generator)
        }
    }

    /// Decides an attempt's outcome.
    private func settlement(_ begun: Begun, _ result: Result<HTTPResponse, HTTPError>) -> CallbackSettlement {
        let callback = begun.entry.callback
        let milliseconds = Int((ContinuousClock.now - begun.clock) / .milliseconds(1))
        // Failures of a partner's name servers look like ours; ``CallbackRetryPolicy/releases`` limits such releases.
        var isOurFault = false
        if case .failure(let error) = result { isOurFault = [.localFault, .resolverSilent].contains(error.code) }
        let outcome = self.policy.outcome(
            of: result, attempt: callback.attempts + 1, released: callback.released, isOurFault: isOurFault,
            now: Date(), jitter: Double.random(in: 0.8...1.2))
        let response = try? result.get()
        return CallbackSettlement(
            callback: callback, outcome: outcome, started: begun.started, milliseconds: milliseconds,
            status: response?.status, code: Self.code(of: result),
            error: Self.error(of: result, isOurFault: isOurFault),
            trace: begun.trace, deadline: begun.entry.deadline, sent: response?.sent, claimed: begun.entry.claimed)
    }

    private func send(
        _ callback: ClaimedCallback, at date: Date, _ trace: TraceContext?
    ) async throws(HTTPError) -> HTTPResponse {
        guard let options = callback.endpoint.options else {
            throw Self.fault(of: callback.endpoint, "the endpoint's options cannot be read")
        }
        let request = try self.request(callback, options, at: date, trace)
        let policy = Self.policy(for: callback, options)
        guard let authorization = options.authorization, !callback.isElsewhere else {
            return try await self.client.send(request, policy: policy)
        }
        guard let authorizer else { throw HTTPError(.authorizationFailed, "no authorizer") }
        let token = try await authorizer.token(for: callback.endpoint, authorization, options: options).get()
        let response = try await self.client.send(Self.authorized(request, token), policy: policy)
        // The token may be revoked: the same attempt tries a new one, once. If there is none, the answer counts.
        guard response.status == 401,
            case .success(let next) = await authorizer.token(
                for: callback.endpoint, authorization, options: options, refused: token.generation)
        else { return response }
        return try await self.client.send(Self.authorized(request, next), policy: policy)
    }

    private static func policy(for callback: ClaimedCallback, _ options: EndpointOptions) -> EgressPolicy {
        options.policy(allowsPrivate: callback.endpoint.allowsPrivate, isElsewhere: callback.isElsewhere)
    }

    private static func fault(of endpoint: CallbackEndpoint, _ text: String) -> HTTPError {
        HTTPError(.localFault, endpoint.fault.map { "\($0.code.rawValue): \($0.code.row.message)" } ?? text)
    }

    private static func authorized(_ request: HTTPRequest, _ token: Authorizer.Token) -> HTTPRequest {
        var request = request
        request.headers.append(.init(name: "Authorization", value: "Bearer \(token.value)"))
        return request
    }

    private func request(
        _ callback: ClaimedCallback, _ options: EndpointOptions, at date: Date, _ trace: TraceContext?
    ) throws(HTTPError) -> HTTPRequest {
        // An overlap of keys may have ended since the claim, which does no harm.
        guard let keys = callback.endpoint.keys else {
            throw Self.fault(of: callback.endpoint, "the endpoint has no key, or not a Standard Webhooks key")
        }
        guard let body = callback.body else {
            throw HTTPError(.localFault, callback.fault ?? "the callback has no body")
        }
        let (sent, type) = try Self.encrypted(body, options)
        // Each attempt has a new timestamp: the receiver refuses old ones.
        let signature = try WebhookSignature(
            id: callback.webhookID, timestamp: Int(date.timeIntervalSince1970), body: sent,
            secrets: keys.secrets, signingKeys: keys.signingKeys)
        var headers: [HTTPRequest.Header] = []
        headers.reserveCapacity(7)
        headers.append(.init(name: "Content-Type", value: type))
        headers.append(.init(name: "User-Agent", value: self.agent))
        headers += signature.headers
        if let trace { headers.append(.init(name: "traceparent", value: trace.traceparent)) }
        // A job may specify any URL, but the endpoint's credentials are for the endpoint's own servers. The signature goes
        // everywhere: it reveals nothing of the key and lets the receiver verify the callback.
        if options.apiKey != nil, !callback.isElsewhere { headers += try options.apiKeyHeaders() }
        return HTTPRequest(
            method: .post(body: sent), url: callback.url, headers: headers,
            limits: .init(totalMilliseconds: self.timeoutMilliseconds, bodyBytes: 64 * 1024),
            allowsHTTP: callback.endpoint.allowsHTTP,
            transport: callback.isElsewhere ? HTTPRequest.Transport() : options.transport)
    }

    /// The body as it is sent, with its media type. Each attempt encrypts it again, by the key that is registered now: for one
    /// `webhook-id` the JSON is always the same, the ciphertext is not.
    private static func encrypted(
        _ body: [UInt8], _ options: EndpointOptions
    ) throws(HTTPError) -> (body: [UInt8], type: String) {
        guard let key = options.encryption else { return (body, "application/json") }
        do throws(InspectError) {
            let sealed = try PartnerKey.stored(Data(key.utf8)).encrypt(Data(body), type: "application/json")
            return ([UInt8](sealed), PartnerKey.mediaType)
        } catch {
            // Never plain.
            throw HTTPError(.localFault, "\(error.code.rawValue): \(error.code.row.message)")
        }
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
            isOurFault && error.code != .localFault ? "\(error); \(ErrorCode.localFault.row.message)" : "\(error)"
        }
    }
}

/// An attempt under way, which can be aborted.
enum CallbackAttempt: Sendable {
    case transfer(CurlTransfer)
    case task(Task<Void, Never>)
}
