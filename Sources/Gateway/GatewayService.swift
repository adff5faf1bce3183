internal import Callbacks
internal import Foundation
package import HTTPServer
internal import InspectCore

/// The gateway's limits for clients.
package struct GatewayConfiguration: Sendable {
    /// Seconds that a client may wait for a result in one request, and that a session is waited for.
    package var longestWaitSeconds = 60
    /// Rate limit (requests a second) and burst of a credential without its own rate limit.
    package var credentialRate = 50.0
    /// Requests that may come at once.
    package var credentialBurst = 100.0
    /// Rate limit of an address for requests without a credential known to be valid.
    package var addressRate = 200.0
    /// Requests that may come at once.
    package var addressBurst = 400.0
    /// Rate limit for wrong credentials, of one address and of one key id.
    var failureRate = 0.2
    var failureBurst = 20.0
    /// Most bytes of a request's body; a longer one is refused with 413.
    package var bodyBytes = 64 * 1024 * 1024
    /// The proxies that are trusted to name a client's address; by default none.
    package var proxies = TrustedProxies()
    /// Clients of one partner that may wait at once for results, and as many for events; others are answered without waiting.
    package var waitsPerPartner = 500

    package init() {}
}

/// What a client waits for: the end of a job, by its number.
struct JobWait: Hashable, Sendable {
    var job: Int64
    /// Or the answer to a session's last blob, after which the job goes on.
    var endsWithAnswer = false
}

/// Answers requests: creates and looks up jobs, runs sessions, and refuses everything else.
package final class GatewayService: Sendable {
    let store: GatewayStore
    let configuration: GatewayConfiguration
    let waits: Waits<JobWait, Void>
    /// For events to pull, after a place.
    let eventWaits: Waits<EventPage.Place, Void>
    private let eventSignal: EventSignal
    /// `nil`: this gateway judges no images.
    let usability: UsabilityDesk?
    private let observe: @Sendable (HTTPAccess) -> Void
    let largeBodies = LargeBodies()
    private let linkBodies = LinkBodies()
    /// The keys for which parts may be encrypted, a JWK Set.
    let publishedKeys: Cached<Data, any Error>
    /// The origins that any credential allows.
    private let origins: Cached<Set<String>, Never>
    private let credentials: CredentialCache
    private let limits = RateLimiter()

    /// - Parameter observe: Called for each answered request.
    package init(
        _ store: GatewayStore, _ configuration: GatewayConfiguration = GatewayConfiguration(),
        usability: UsabilityDesk? = nil,
        observe: @escaping @Sendable (HTTPAccess) -> Void = { _ in }
    ) {
        self.store = store
        self.configuration = configuration
        self.usability = usability
        self.waits = Waits(
            perOwner: configuration.waitsPerPartner,
            pause: { try? await Task.sleep(for: Self.pause(.milliseconds(100), after: $0)) }
        ) { subjects in
            let finished = Set(try await store.finished(Array(Set(subjects.map(\.job)))))
            let sessions = subjects.filter { $0.endsWithAnswer && !finished.contains($0.job) }.map(\.job)
            let answered = sessions.isEmpty ? [] : Set(try await store.answered(sessions))
            return subjects.filter { finished.contains($0.job) || $0.endsWithAnswer && answered.contains($0.job) }
                .map { ($0, ()) }
        }
        let signal = EventSignal(store.listenURL)
        self.eventSignal = signal
        self.eventWaits = Waits(
            perOwner: configuration.waitsPerPartner,
            // Changes since a client last asked are found at once.
            begins: { isFirst in if isFirst { signal.start() } else { signal.notify() } },
            pause: {
                try? await Task.sleep(for: Self.pause(.milliseconds(20), after: $0))
                await signal.wait()
            }
        ) { try await store.pulls($0).map { ($0, ()) } }
        self.credentials = CredentialCache(store)
        self.publishedKeys = Cached(for: .seconds(5)) { _ in try await store.keySet() }
        // While the database does not answer, the last known state counts.
        self.origins = Cached(for: .seconds(30)) { former in (try? await store.origins()) ?? former ?? [] }
        self.observe = observe
    }

    /// Clients that wait for a result or an event.
    package var waiting: Int { self.waits.count + self.eventWaits.count }

    /// Answers all waiting clients, so that their requests end.
    package func close() {
        self.waits.close()
        self.eventWaits.close()
        self.eventSignal.close()
    }

    /// A slow statement is followed by a longer pause than the shortest, so that they take a tenth of one connection's time;
    /// but nobody waits long because one statement did.
    static func pause(_ shortest: Duration, after statement: Duration) -> Duration {
        max(shortest, min(statement * 9, .seconds(2)))
    }

    /// Decides about a request by its head.
    package func admit(_ request: HTTPRequest) async -> HTTPAdmission {
        let start = ContinuousClock.now
        var access = HTTPAccess()
        // For pages of other origins: until it is known whose credential it is, what any credential allows; then what this one
        // allows, with what every answer to it says.
        var readers: [(name: String, value: String)] = []
        func refuse(_ response: HTTPResponse) -> HTTPAdmission {
            var response = response
            response.headers += readers
            return .refuse(self.note(&access, response, of: request, start))
        }
        let address = self.address(of: request)
        let presented = PresentedCredential(authorization: request.headers["authorization"] ?? "")
        // Many clients may share an address, so a valid credential is not limited by it.
        if presented.map({ self.credentials.knows($0) }) != true,
            let seconds = self.limits.take(
                "a " + address, rate: self.configuration.addressRate, burst: self.configuration.addressBurst)
        {
            return refuse(Self.later(seconds))
        }
        let origin = request.headers["origin"]
        if let origin, await self.origins.value().contains(origin) { readers = CrossOrigin.headers(origin) }
        // Of the server as a whole (RFC 9110, section 9.3.7).
        if request.path == "*" {
            return refuse(HTTPResponse(status: 204, headers: [("Allow", "GET, HEAD, POST, DELETE, OPTIONS")]))
        }
        let (routes, values) = GatewayRoute.find(request.segments)
        guard let path = routes.first?.path else { return refuse(.problem(.pathUnknown)) }
        access.route = path
        if request.method == "OPTIONS" {
            let isAsked = request.headers["access-control-request-method"] != nil
            if let origin, isAsked, !readers.isEmpty {
                readers = CrossOrigin.preflight(origin, methods: routes.allowed)
            }
            return refuse(HTTPResponse(status: 204, headers: [("Allow", routes.allowed)]))
        }
        let method = request.method == "HEAD" ? "GET" : request.method
        guard let route = routes.first(where: { $0.method == method }) else {
            return refuse(
                .problem(
                    InspectError(.methodNotAllowed, hint: "It takes \(routes.allowed)."),
                    headers: [("Allow", routes.allowed)]))
        }
        do {
            let share: String?
            let work: GatewayRoute.Work
            switch route.access {
            case .everyone(let answer):
                try Self.checkQuery(request)
                try self.checkContent(route.content, request)
                (share, work) = (nil, { body in GatewayAnswer(response: try await answer(self, request, body)) })
            case .link(let prepare):
                // A frame in a partner's page is of the gateway's origin, too: no other page has a reason to call.
                guard method == "GET" || CrossOrigin.isOwn(request) else {
                    throw InspectError(.parameterInvalid, "it was sent by a page of another origin", field: "Origin")
                }
                let link = try await self.link(request, address, isLate: route.content == .recording)
                try Self.checkQuery(request)
                try self.checkContent(route.content, request)
                let prepared = try prepare(CaptureCall(service: self, request: request, link: link))
                work = route.content.limit == nil ? try self.linkBodies.counted(link.id, prepared) : prepared
                share = link.partner
            case .scope(let scope, let prepare):
                guard let presented else { return refuse(.problem(.unauthenticated)) }
                let credential = try await self.verify(presented, address)
                access.credential = presented.keyID
                let seconds = self.spend(credential)
                // From here on every answer says it, refusals too.
                readers = origin.map { credential.origins.contains($0) ? CrossOrigin.headers($0) : [] } ?? []
                if !credential.isToken { readers += Deprecation.credentialSecret.headers }
                readers += self.rate(of: credential)
                if let seconds { throw Later(seconds: seconds) }
                guard credential.scopes.contains(scope.rawValue) else {
                    throw InspectError(.scopeMissing, scope.rawValue)
                }
                try Self.checkQuery(request, by: route)
                try self.checkContent(route.content, request)
                work = try prepare(
                    GatewayCall(service: self, credential: credential, request: request, values: values))
                share = credential.partner
            }
            let (admitted, headers) = (access, readers)
            return .accept(share: share, limit: route.content.limit, pace: route.content.pace, headers: headers) {
                body in
                var access = admitted
                var response: HTTPResponse
                do {
                    let answer = try await work(body)
                    access.job = answer.job
                    response = answer.response
                } catch {
                    response = Self.problem(Self.named(error, of: request))
                }
                // An answer that everyone may read says so once.
                let own = Set(response.headers.map(\.name))
                response.headers += headers.filter { !own.contains($0.name) }
                return self.note(&access, response, of: request, start)
            }
        } catch {
            return refuse(Self.problem(error))
        }
    }

    /// A parameter that comes twice can be read in two ways.
    private static func checkQuery(_ request: HTTPRequest) throws(InspectError) {
        guard let name = request.repeatedParameter?.prefix(40) else { return }
        throw InspectError(.parameterInvalid, "\(name) is given twice", hint: "Give it once.", field: String(name))
    }

    /// One that a call does not have is misspelt, or another call's: if it were ignored, the answer would be to a different question.
    private static func checkQuery(_ request: HTTPRequest, by route: GatewayRoute) throws(InspectError) {
        try self.checkQuery(request)
        let known = route.operation.parameters.compactMap(\.query)
        guard let name = request.query.keys.filter({ !known.contains($0) }).min()?.prefix(40) else { return }
        throw InspectError(
            .parameterInvalid, "unknown parameter '\(name)'",
            hint: known.isEmpty ? "It takes none." : "Parameters are \(known.joined(separator: ", ")).",
            field: String(name))
    }

    /// A body is read only if the call takes one: the body of an unknown client is not worth its memory.
    private func checkContent(_ content: GatewayRoute.Content, _ request: HTTPRequest) throws(InspectError) {
        if case .none = content {
            guard !request.hasBody else {
                throw InspectError(.parameterInvalid, "\(request.method) takes no body here")
            }
            return
        }
        let words = (request.headers["content-type"] ?? "").split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.lowercased().trimmingCharacters(in: .whitespaces) }
        let type = words.first
        let isEmpty = if case .optionalJSON = content { !request.hasBody } else { false }
        guard isEmpty || content.types.contains(type ?? "") else { throw Self.otherType(content) }
        // All texts are UTF-8 (RFC 8259, section 8.1). A text in another charset, read as UTF-8, would be a different text.
        let charsets = words.dropFirst().filter { $0.hasPrefix("charset=") }.map { $0.dropFirst("charset=".count) }
        guard isEmpty || charsets.allSatisfy({ ["utf-8", "\"utf-8\"", "us-ascii", "utf8"].contains($0) }) else {
            throw InspectError(
                .mediaTypeUnsupported, "a charset other than UTF-8", hint: "Send UTF-8.", field: "Content-Type")
        }
        // A coded body, read as it is, would be a different body (RFC 9110, section 8.4).
        let coding = request.headers["content-encoding"]?.lowercased() ?? "identity"
        guard coding == "identity" else {
            throw InspectError(
                .mediaTypeUnsupported, "a body with Content-Encoding", hint: "Send the body as it is.",
                field: "Content-Encoding")
        }
        guard (request.contentLength ?? 0) <= min(content.limit ?? .max, self.configuration.bodyBytes) else {
            throw InspectError(.requestTooLarge)
        }
    }

    private static func otherType(_ content: GatewayRoute.Content) -> InspectError {
        InspectError(
            .mediaTypeUnsupported, hint: "It takes \(content.types.joined(separator: " or ")).", field: "Content-Type")
    }

    /// The presented credential, if it is valid and within its rate.
    func admitted(_ presented: PresentedCredential, _ address: String) async throws -> GatewayCredential {
        let credential = try await self.verify(presented, address)
        if let seconds = self.spend(credential) { throw Later(seconds: seconds, headers: self.rate(of: credential)) }
        return credential
    }

    /// Counts a request against a credential's rate.
    ///
    /// - Returns: `nil`, or the seconds until it may be sent.
    private func spend(_ credential: GatewayCredential) -> Double? {
        let rate = credential.ratePerSecond ?? self.configuration.credentialRate
        return self.limits.take(
            "c \(credential.id)", rate: rate,
            burst: credential.rateBurst.map(Double.init) ?? max(rate, self.configuration.credentialBurst))
    }

    /// Runs one replay of a period of an endpoint's events at a time, and counts its events: each costs the database a position or a
    /// sending, and a client could request the same period again and again. Only this process counts them.
    func replaying(
        _ endpoint: Int, of credential: GatewayCredential, _ replay: () async throws -> Data
    ) async throws -> Data {
        struct Answer: Decodable { var replayed: Double }
        let (name, rate, burst) = ("r \(credential.partner) \(endpoint)", 1000.0, 10_000.0)
        // All tokens, so that a second replay waits for the first.
        if let seconds = self.limits.take(name, burst, rate: rate, burst: burst) { throw Later(seconds: seconds) }
        // One that fails may have cost as much.
        let answer = try await replay()
        self.limits.put(name, burst - max(1, (try? JSONDecoder().decode(Answer.self, from: answer).replayed) ?? burst))
        return answer
    }

    /// The headers that say how many requests a credential has left.
    func rate(of credential: GatewayCredential) -> [(name: String, value: String)] {
        self.limits.headers("c \(credential.id)")
    }

    /// The address by which a client without a known credential is limited.
    func address(of request: HTTPRequest) -> String {
        TrustedProxies.bucket(self.configuration.proxies.client(request))
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

    /// The link that a request's path names. Only wrong ones count against an address: the token itself is the permission.
    func link(_ request: HTTPRequest, _ address: String, isLate: Bool = false) async throws -> CaptureLink {
        do {
            guard let key = CaptureKey(request) else { throw InspectError(.linkUnknown) }
            return try await self.store.link(key, isLate: isLate)
        } catch let error as InspectError where error.code == .linkUnknown {
            if let seconds = self.limits.take(
                "f " + address, rate: self.configuration.failureRate, burst: self.configuration.failureBurst)
            {
                throw Later(seconds: seconds)
            }
            throw error
        }
    }

    struct Later: Error {
        var seconds: Double
        var headers: [(name: String, value: String)] = []
    }

    private static func later(_ seconds: Double, _ headers: [(name: String, value: String)] = []) -> HTTPResponse {
        .problem(.rateLimited, headers: [("Retry-After", "\(Int(seconds.rounded(.up)))")] + headers)
    }

    /// An idempotency key that came in a header is named as the header, whatever the database calls it.
    private static func named(_ error: any Error, of request: HTTPRequest) -> any Error {
        guard var error = error as? InspectError, error.code == .idempotencyConflict,
            request.headers["idempotency-key"] != nil
        else { return error }
        error.field = "Idempotency-Key"
        return error
    }

    static func problem(_ error: any Error) -> HTTPResponse {
        switch error {
        case let error as Later: self.later(error.seconds, error.headers)
        // The database's message may contain a part of the request.
        case let error as InspectError where error.code.httpStatus >= 500: .problem(error.code)
        case let error as InspectError: .problem(error)
        default: .problem(.internalError)
        }
    }

    private func note(
        _ access: inout HTTPAccess, _ response: HTTPResponse, of request: HTTPRequest,
        _ start: ContinuousClock.Instant
    ) -> HTTPResponse {
        var response = response
        // A client that presented a token is asked only for a token (RFC 6750, section 3): if a password is requested as
        // well, browsers ask their users, and URLSession on Linux waits for ever.
        if response.status == 401, request.headers["authorization"]?.lowercased().hasPrefix("bearer ") == true,
            response.headers.contains(where: { $0.name == "WWW-Authenticate" && $0.value.hasPrefix("Bearer") })
        {
            response.headers.removeAll { $0.name == "WWW-Authenticate" && $0.value.hasPrefix("Basic") }
        }
        access.status = response.status
        access.code = response.code?.rawValue
        access.duration = ContinuousClock.now - start
        self.observe(access)
        return response
    }
}
