internal import Foundation
internal import Synchronization

/// Sends requests, each under its egress policy: resolves the host, vets every address, and connects to no other.
package final class HTTPClient: Sendable {
    private let certificateAuthorities: String?
    private let resolver: Resolver
    private let exit: EgressExit
    private let multi = Mutex<CurlMulti?>(nil)
    /// Routes of URLs that were checked before.
    private let routes = Mutex<[CurlRoute.Profile: CurlRoute]>([:])

    /// - Parameters:
    ///   - certificateAuthorities: A PEM file used instead of the system's certificate store, for partners with
    ///     certificates of a private authority.
    ///   - resolver: Looks up the hosts' names.
    ///   - exit: How all requests leave.
    package init(
        certificateAuthorities: String? = nil, resolver: Resolver = Resolver(), exit: EgressExit = .direct
    ) {
        self.certificateAuthorities = certificateAuthorities
        self.exit = exit
        self.resolver = resolver
    }

    /// Active requests end with ``HTTPError/Code/cancelled``.
    deinit { self.multi.withLock { $0 }?.submit([.close]) }

    /// - Throws: ``HTTPError`` if no complete response header arrived.
    package func send(_ request: HTTPRequest, policy: EgressPolicy) async throws(HTTPError) -> HTTPResponse {
        let route = try self.route(for: request, policy: policy)
        guard route.literal == nil else {
            // The socket's check gives the same answer; this one saves the thread the work.
            guard let literal = route.literal, policy.allows(literal) else { throw HTTPError(.egressRefused) }
            return try await self.send(request, by: route, addresses: nil)
        }
        let start = ContinuousClock.now
        let found = await self.resolver.addresses(
            of: route.authority.host,
            within: .milliseconds(min(request.limits.connectMilliseconds, request.limits.totalMilliseconds)))
        guard !Task.isCancelled else { throw HTTPError(.cancelled) }
        switch found {
        case .failure(.unknown): throw HTTPError(.nameNotResolved)
        case .failure(.silent): throw HTTPError(.resolverSilent)
        case .success(let addresses):
            let allowed = addresses.filter { policy.allows($0) }
            guard !allowed.isEmpty else { throw HTTPError(.egressRefused) }
            var request = request
            request.limits.totalMilliseconds -= Int((ContinuousClock.now - start) / .milliseconds(1))
            guard request.limits.totalMilliseconds > 0 else { throw HTTPError(.timedOut) }
            return try await self.send(request, by: route, addresses: allowed)
        }
    }

    /// Sends a request whose host's addresses were vetted. Cancelling the task ends the transfer at once.
    ///
    /// - Parameter addresses: `nil` for a host that is an address.
    func send(
        _ request: HTTPRequest, by route: CurlRoute, addresses: [IPAddress]?
    ) async throws(HTTPError) -> HTTPResponse {
        let pending = PendingResponse()
        let transfer = CurlTransfer(request: request, route: route, addresses: addresses) { pending.resume($0) }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pending.wait(continuation)
                self.submit([transfer])
            }
        } onCancel: {
            self.cancel(transfer)
        }
        return try result.get()
    }

    /// The route of a request, the same for all that differ only in headers, body and time.
    ///
    /// - Throws: ``HTTPError`` if the request must not be sent.
    package func route(for request: HTTPRequest, policy: EgressPolicy) throws(HTTPError) -> CurlRoute {
        let profile = CurlRoute.Profile(for: request, policy: policy)
        if let known = self.routes.withLock({ $0[profile] }) {
            for header in request.headers { try header.validate() }
            return known
        }
        let route = try CurlRoute(for: request, policy: policy, exit: self.exit)
        return self.routes.withLock { routes in
            if let known = routes[profile] { return known }
            if routes.count >= 4_096 { routes.removeAll() }
            routes[profile] = route
            return route
        }
    }

    /// A transfer for ``submit(_:)``, if nothing has to wait: the host is an address, or its addresses are cached.
    ///
    /// - Parameters:
    ///   - route: That of the request.
    ///   - onEnd: Called on the thread of ``CurlMulti``: must return at once.
    /// - Returns: `nil` if ``send(_:policy:)`` must resolve the name.
    /// - Throws: ``HTTPError`` if the request must not be sent.
    package func transfer(
        _ request: HTTPRequest, by route: CurlRoute,
        onEnd: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) throws(HTTPError) -> CurlTransfer? {
        let policy = route.profile.policy
        if let literal = route.literal {
            guard policy.allows(literal) else { throw HTTPError(.egressRefused) }
            return CurlTransfer(request: request, route: route, addresses: nil, onEnd: onEnd)
        }
        guard let found = self.resolver.known(route.authority.host) else { return nil }
        let allowed = found.allSatisfy { policy.allows($0) } ? found : found.filter { policy.allows($0) }
        guard !allowed.isEmpty else { throw HTTPError(.egressRefused) }
        return CurlTransfer(request: request, route: route, addresses: allowed, onEnd: onEnd)
    }

    /// Starts transfers. Each reports its result to its own closure.
    package func submit(_ transfers: [CurlTransfer]) {
        do throws(HTTPError) {
            try self.started().submit(transfers.map { .start($0) })
        } catch {
            for transfer in transfers { transfer.finish(.failure(error)) }
        }
    }

    /// Ends a transfer, unless it has ended.
    package func cancel(_ transfer: CurlTransfer) {
        // The flag covers a cancellation before the start; the command covers one after it.
        transfer.isCancelled.store(true, ordering: .releasing)
        self.multi.withLock { $0 }?.submit([.cancel(transfer)])
    }

    private func started() throws(HTTPError) -> CurlMulti {
        // The lock's closure cannot carry a typed error.
        let result: Result<CurlMulti, HTTPError> = self.multi.withLock { multi in
            if let multi { return .success(multi) }
            return Result { () throws(HTTPError) in
                try CurlMulti(certificateAuthorities: self.certificateAuthorities)
            }.map { made in
                multi = made
                return made
            }
        }
        return try result.get()
    }
}

/// The continuation of the task that waits for a transfer.
private final class PendingResponse: Sendable {
    private let continuation = Mutex<CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>?>(nil)

    func wait(_ continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>) {
        self.continuation.withLock { $0 = continuation }
    }

    func resume(_ result: Result<HTTPResponse, HTTPError>) {
        let continuation = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: result)
    }
}
