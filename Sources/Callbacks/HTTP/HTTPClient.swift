internal import Foundation
internal import Synchronization

/// Sends requests, each under its egress policy: resolves the host, vets every address, and connects to no other.
final class HTTPClient: Sendable {
    private let certificateAuthorities: String?
    private let resolver: Resolver
    private let multi = Mutex<CurlMulti?>(nil)
    /// Hosts of URLs that were checked before.
    private let hosts = Mutex<[Target: Host]>([:])

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

    /// A transfer for ``submit(_:)``, if nothing has to be waited for: the host is an address, or was looked up lately.
    ///
    /// - Parameter onEnd: Called on the thread of ``CurlMulti``: must return at once.
    /// - Returns: `nil` if ``send(_:policy:)`` must look the name up.
    /// - Throws: ``HTTPError`` if the request must not be sent.
    func transfer(
        _ request: HTTPRequest, policy: EgressPolicy,
        onEnd: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) throws(HTTPError) -> CurlTransfer? {
        let target = Target(url: request.url, allowsHTTP: request.allowsHTTP, pins: request.transport.pins)
        let host: Host
        if let known = self.hosts.withLock({ $0[target] }) {
            try request.validateHeaders()
            host = known
        } else {
            try request.validate()
            guard let (name, _) = HTTPRequest.authority(of: request.url) else {
                throw HTTPError(.requestInvalid, "the URL cannot be parsed")
            }
            host = Host(
                name: name, literal: IPAddress(name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name))
            self.hosts.withLock { hosts in
                if hosts.count >= 4_096 { hosts.removeAll() }
                hosts[target] = host
            }
        }
        if let literal = host.literal {
            guard policy.allows(literal) else { throw HTTPError(.egressRefused) }
            return CurlTransfer(request: request, policy: policy, addresses: nil, onEnd: onEnd)
        }
        guard let found = self.resolver.known(host.name) else { return nil }
        let allowed = found.filter { policy.allows($0) }
        guard !allowed.isEmpty else { throw HTTPError(.egressRefused) }
        return CurlTransfer(request: request, policy: policy, addresses: allowed, onEnd: onEnd)
    }

    /// Starts transfers, whose results their own closures get.
    func submit(_ transfers: [CurlTransfer]) {
        do throws(HTTPError) {
            try self.started().submit(transfers)
        } catch {
            for transfer in transfers { transfer.finish(.failure(error)) }
        }
    }

    /// Ends a transfer, unless it has ended.
    func cancel(_ transfer: CurlTransfer) { self.multi.withLock { $0 }?.cancel(transfer) }

    /// What the check of a URL depends on.
    private struct Target: Hashable {
        var url: String
        var allowsHTTP: Bool
        var pins: [String]
    }

    private struct Host {
        var name: String
        var literal: IPAddress?
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
