internal import CCurl
internal import Foundation

/// How requests leave: through a forward proxy, or from source addresses that their receivers know.
///
/// Neither weakens the ``EgressPolicy``. A proxy is asked for an address that was vetted here, never for a name, so that its own
/// resolver decides nothing.
package struct EgressExit: Sendable, Hashable {
    /// An HTTP proxy, which is asked for a tunnel (CONNECT, RFC 9110 section 9.3.6): scheme, host and port, maybe with a login.
    package let proxy: String?
    /// The proxy's host, if it is an address: then no other one is connected to.
    let proxyAddress: IPAddress?
    /// At most one of each family; empty: the system chooses.
    package let sources: [IPAddress]

    /// Neither a proxy nor a chosen source address.
    package static let direct = EgressExit()

    private init() {
        self.proxy = nil
        self.proxyAddress = nil
        self.sources = []
    }

    /// - Parameters:
    ///   - proxy: `http://` or `https://`, a host, a port, and nothing behind; `nil`: none.
    ///   - sources: Addresses of this host, one for each family.
    /// - Returns: `nil` for anything else.
    package init?(proxy: String?, sources: [IPAddress]) {
        guard Set(sources.map(\.family)).count == sources.count else { return nil }
        self.sources = sources
        self.proxy = proxy
        guard let proxy else {
            self.proxyAddress = nil
            return
        }
        guard proxy.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let parts = URLComponents(string: proxy),
            ["http", "https"].contains(parts.scheme), let host = parts.host, !host.isEmpty, parts.port != nil,
            ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil
        else { return nil }
        self.proxyAddress = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
    }

    /// Whether a socket may be connected to an address.
    func allows(_ address: IPAddress, by policy: EgressPolicy) -> Bool {
        // All sockets lead to the proxy, and the address that it is asked for was vetted before.
        if self.proxy != nil { return self.proxyAddress.map { $0 == address } ?? true }
        return policy.allows(address)
    }

    /// Gives a new socket its source address.
    ///
    /// - Returns: What is wrong; `nil`: nothing.
    func bind(_ descriptor: CInt, to family: IPAddress.Family) -> HTTPError? {
        guard !self.sources.isEmpty else { return nil }
        guard let source = self.sources.first(where: { $0.family == family }) else {
            return HTTPError(.localFault, "no source address of the destination's family")
        }
        // The port is chosen on connecting: if it were chosen here, it would be taken for all destinations.
        var on: CInt = 1
        setsockopt(
            descriptor, CInt(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &on, socklen_t(MemoryLayout<CInt>.size))
        let result = source.bytes.withUnsafeBufferPointer { ccurl_bind(descriptor, $0.baseAddress, $0.count) }
        return result == 0 ? nil : HTTPError(.localFault, "the source address: \(String(cString: strerror(errno)))")
    }
}
