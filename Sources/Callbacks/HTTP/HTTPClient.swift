internal import Foundation
internal import Synchronization

/// Sends requests, each under its egress policy: resolves the host, vets every address, and connects to no other.
final class HTTPClient: Sendable {
    private let certificateAuthorities: String?
    private let resolver: Resolver
    private let multi = Mutex<CurlMulti?>(nil)

    /// - Parameters:
    ///   - certificateAuthorities: A PEM file used instead of the system's certificate store, for partners with
    ///     certificates of a private authority.
    ///   - resolver: Looks up the hosts' names.
    init(certificateAuthorities: String? = nil, resolver: Resolver = Resolver()) {
        self.certificateAuthorities = certificateAuthorities
        self.resolver = resolver
    }

    /// - Throws: ``HTTPError`` if no complete response header arrived.
    func send(_ request: HTTPRequest, policy: EgressPolicy) async throws(HTTPError) -> HTTPResponse {
        try request.validate()
        guard let (host, _) = HTTPRequest.authority(of: request.url) else {
            throw HTTPError(.requestInvalid, "the URL cannot be parsed")
        }
        let multi = try self.started()
        let literal = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
        guard literal == nil else {
            // The socket's own check says the same; this one spares the thread the work.
            guard let literal, policy.allows(literal) else { throw HTTPError(.egressRefused) }
            return try await multi.send(request, policy: policy)
        }
        let start = ContinuousClock.now
        let found = await self.resolver.addresses(
            of: host, within: .milliseconds(min(request.limits.connectMilliseconds, request.limits.totalMilliseconds)))
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
            return try await multi.send(request, policy: policy, addresses: allowed)
        }
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
