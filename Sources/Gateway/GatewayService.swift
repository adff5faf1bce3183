internal import Foundation
internal import InspectCore

/// The gateway's limits for clients.
package struct GatewayConfiguration: Sendable {
    /// Seconds that a client may wait for a result in one request, and that a session is waited for.
    package var longestWaitSeconds = 60
    /// Rate limit (requests a second) and burst of a credential without its own rate limit.
    package var credentialRate = 50.0
    package var credentialBurst = 100.0
    /// Rate limit of an address for requests without a credential known to be valid.
    package var addressRate = 200.0
    package var addressBurst = 400.0
    /// Rate limit for wrong credentials, of one address and of one key id.
    var failureRate = 0.2
    var failureBurst = 20.0
    package var bodyBytes = 64 * 1024 * 1024
    package var proxies = TrustedProxies()
    /// Clients of one partner that may wait at once; others get their job's current status.
    package var waitsPerPartner = 500

    package init() {}
}

/// One request as it is logged and counted, without addresses, headers, paths or bodies.
package struct GatewayAccess: Sendable {
    /// The path's pattern, such as `/inspectionjob/{id}`; `other` for paths that do not exist.
    package var route: String
    package var status: Int
    /// Error code, if the request was refused.
    package var code: String?
    /// Key id of the credential, once it was found valid.
    package var credential: String?
    /// Public id of the job, once the database confirmed that it is the partner's.
    package var job: String?
    package var duration: Duration
}

/// Answers requests: creates and looks up jobs, runs sessions, and refuses everything else.
package final class GatewayService: Sendable {
    enum Route: String {
        case create = "/inspectionjob/create"
        case result = "/inspectionjob/{id}"
        case session = "/facetec/session"
        case description = "/openapi.json"

        var method: String {
            switch self {
            case .create, .session: "POST"
            case .result, .description: "GET"
            }
        }

        var allowed: String { self.method == "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS" }

        var scope: GatewayCredential.Scope? {
            switch self {
            case .create: .create
            case .result: .read
            case .session: .session
            case .description: nil
            }
        }
    }

    let store: GatewayStore
    let configuration: GatewayConfiguration
    let waits: ResultWaits
    private let observe: @Sendable (GatewayAccess) -> Void
    let largeBodies = LargeBodies()
    private let credentials: CredentialCache
    private let limits = RateLimiter()

    package init(
        _ store: GatewayStore, _ configuration: GatewayConfiguration = GatewayConfiguration(),
        observe: @escaping @Sendable (GatewayAccess) -> Void = { _ in }
    ) {
        self.store = store
        self.configuration = configuration
        self.waits = ResultWaits(store, perPartner: configuration.waitsPerPartner)
        self.credentials = CredentialCache(store)
        self.observe = observe
    }

    /// Clients that wait for a result.
    package var waiting: Int { self.waits.count }

    /// Answers all waiting clients, so that their requests end.
    package func close() { self.waits.close() }

    /// Decides about a request by its head.
    package func admit(_ request: HTTPRequest) async -> HTTPAdmission {
        let start = ContinuousClock.now
        var access = GatewayAccess(route: "other", status: 0, duration: .zero)
        func refuse(_ response: HTTPResponse) -> HTTPAdmission {
            .refuse(self.note(&access, response, start))
        }
        let address = TrustedProxies.bucket(self.configuration.proxies.client(request))
        let presented = PresentedCredential(authorization: request.headers["authorization"] ?? "")
        // Many clients may share an address, so a valid credential is not limited by it.
        if presented.map({ self.credentials.knows($0) }) != true,
            let seconds = self.limits.take(
                "a " + address, rate: self.configuration.addressRate, burst: self.configuration.addressBurst)
        {
            return refuse(Self.later(seconds))
        }
        // Of the server as a whole (RFC 9110, section 9.3.7).
        if request.path == "*" {
            return refuse(HTTPResponse(status: 204, headers: [("Allow", "GET, HEAD, POST, OPTIONS")]))
        }
        guard let (route, id) = Self.route(request.path) else { return refuse(.problem(.pathUnknown)) }
        access.route = route.rawValue
        if request.method == "OPTIONS" {
            return refuse(HTTPResponse(status: 204, headers: [("Allow", route.allowed)]))
        }
        let method = request.method == "HEAD" ? "GET" : request.method
        guard method == route.method else {
            return refuse(.problem(.methodNotAllowed, headers: [("Allow", route.allowed)]))
        }
        // The body of an unknown client is not worth its memory.
        guard route.method == "POST" || !request.hasBody else {
            return refuse(.problem(.parameterInvalid, "\(route.method) has no body"))
        }
        guard let scope = route.scope else {
            let access = access
            return .accept { _ in
                var access = access
                return self.note(
                    &access,
                    .json(Data(OpenAPIDocument.text(longestWaitSeconds: self.configuration.longestWaitSeconds).utf8)),
                    start)
            }
        }
        let credential: GatewayCredential
        do {
            guard let presented else { return refuse(.problem(.unauthenticated)) }
            credential = try await self.verify(presented, address)
            access.credential = presented.keyID
            let rate = credential.ratePerSecond ?? self.configuration.credentialRate
            if let seconds = self.limits.take(
                "c \(credential.id)", rate: rate,
                burst: credential.rateBurst.map(Double.init) ?? max(rate, self.configuration.credentialBurst))
            {
                return refuse(Self.later(seconds))
            }
            guard credential.scopes.contains(scope.rawValue) else { throw InspectError(.scopeMissing, scope.rawValue) }
            let work = try self.work(route, request, credential, id)
            let admitted = access
            return .accept(share: credential.partner) { body in
                var access = admitted
                do {
                    let (response, job) = try await work(body)
                    access.job = job ?? access.job
                    return self.note(&access, response, start)
                } catch {
                    return self.note(&access, Self.problem(error), start)
                }
            }
        } catch {
            return refuse(Self.problem(error))
        }
    }

    private typealias Work = @Sendable (Data) async throws -> (HTTPResponse, job: String?)

    /// Checks the rest of the head.
    private func work(
        _ route: Route, _ request: HTTPRequest, _ credential: GatewayCredential, _ id: String?
    ) throws(InspectError) -> Work {
        guard route.method == "POST" else {
            let wait = try self.wait(request, .zero)
            return { _ in (try await self.result(credential, id ?? "", wait), id) }
        }
        let type = (request.headers["content-type"] ?? "").split(separator: ";").first?.lowercased()
        guard type?.trimmingCharacters(in: .whitespaces) == "application/json" else {
            throw InspectError(.mediaTypeUnsupported)
        }
        guard (request.contentLength ?? 0) <= self.configuration.bodyBytes else { throw InspectError(.requestTooLarge) }
        let traceparent = request.headers["traceparent"].flatMap { TraceContext(traceparent: $0) != nil ? $0 : nil }
        if route == .session {
            return { body in
                let request = try await self.largeBodies.parse(credential.partner, body) { try SessionRequest($0) }
                return try await self.session(credential, request, traceparent)
            }
        }
        let wait = try self.wait(request, .zero)
        let key = request.headers["idempotency-key"]
        guard
            key.map({ (1...100).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) } }) != false
        else { throw InspectError(.parameterInvalid, "Idempotency-Key is not 1 to 100 visible ASCII characters") }
        return { body in
            let request = try await self.largeBodies.parse(credential.partner, body) {
                try CreateRequest($0, idempotencyKey: key)
            }
            return try await self.create(credential, request, wait, traceparent)
        }
    }

    /// The parameter `wait`: seconds.
    private func wait(_ request: HTTPRequest, _ otherwise: Duration) throws(InspectError) -> Duration {
        guard let text = request.query["wait"] else { return otherwise }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int(text),
            seconds <= self.configuration.longestWaitSeconds
        else {
            throw InspectError(
                .parameterInvalid, "wait is not a whole number from 0 to \(self.configuration.longestWaitSeconds)")
        }
        return .seconds(seconds)
    }

    private static func route(_ path: String) -> (Route, id: String?)? {
        if let route = Route(rawValue: path), route != .result { return (route, nil) }
        let prefix = "/inspectionjob/"
        guard path.hasPrefix(prefix) else { return nil }
        let id = path.dropFirst(prefix.count)
        return id.isEmpty || id.contains("/") ? nil : (.result, String(id))
    }

    /// The presented credential, if it is valid. Only wrong ones count against an address and a key id.
    private func verify(_ presented: PresentedCredential, _ address: String) async throws -> GatewayCredential {
        if let credential = try await self.credentials.verify(presented, address) { return credential }
        let guessed =
            self.credentials.knows(keyID: presented.keyID)
            ? ["f " + address, "k " + presented.keyID] : ["f " + address]
        let waits = guessed.compactMap {
            self.limits.take($0, rate: self.configuration.failureRate, burst: self.configuration.failureBurst)
        }
        if let seconds = waits.max() { throw Later(seconds: seconds) }
        throw InspectError(.unauthenticated)
    }

    private struct Later: Error {
        var seconds: Double
    }

    private static func later(_ seconds: Double) -> HTTPResponse {
        .problem(.rateLimited, headers: [("Retry-After", "\(Int(seconds.rounded(.up)))")])
    }

    private static func problem(_ error: any Error) -> HTTPResponse {
        switch error {
        case let error as Later: self.later(error.seconds)
        // The database's message may contain a part of the request.
        case let error as InspectError where error.code.httpStatus >= 500: .problem(error.code)
        case let error as InspectError: .problem(error)
        default: .problem(.internalError)
        }
    }

    private func note(
        _ access: inout GatewayAccess, _ response: HTTPResponse, _ start: ContinuousClock.Instant
    ) -> HTTPResponse {
        access.status = response.status
        access.code = response.code?.rawValue
        access.duration = ContinuousClock.now - start
        self.observe(access)
        return response
    }
}
