/// Which addresses a request may connect to.
///
/// It judges the address of the socket, not the URL: a name that resolves to a private address, a literal in decimal, octal
/// or hexadecimal, and an answer of the resolver that changes between two look-ups all end at the same check.
///
/// Partners choose the URLs, so without a policy they could reach into our network (server-side request forgery).
package struct EgressPolicy: Hashable, Sendable {
    /// Which addresses inside our own networks (loopback, RFC 1918, RFC 6598, unique local) are allowed.
    package enum Private: Hashable, Sendable {
        case none
        /// The networks in an endpoint's allow-list.
        case networks([IPPrefix])
        case all
        /// Only this address, public or private: for a cloud's metadata service, which every other policy forbids.
        case only(IPAddress)
    }

    let privateAddresses: Private

    package init(_ privateAddresses: Private) { self.privateAddresses = privateAddresses }

    /// - Parameters:
    ///   - allowsPrivate: An endpoint's switch, which the list narrows.
    ///   - networks: The endpoint's list in CIDR notation. An unreadable entry allows nothing.
    package init(allowsPrivate: Bool, networks: [String]?) {
        self.init(networks.map { .networks($0.compactMap { IPPrefix($0) }) } ?? (allowsPrivate ? .all : .none))
    }

    /// Only global addresses; the default for partners' URLs.
    package static let publicOnly = EgressPolicy(.none)
    /// Every address that is not forbidden: for servers that operators configure.
    package static let privateAllowed = EgressPolicy(.all)

    /// Whether a connection to the address may be made.
    package func allows(_ address: IPAddress) -> Bool {
        if case .only(let one) = self.privateAddresses { return address == one }
        switch Self.scope(of: address) {
        case .global: return true
        case .forbidden: return false
        case .private:
            switch self.privateAddresses {
            case .none, .only: return false
            case .all: return true
            case .networks(let list):
                let embedded = Self.embeddedIPv4(in: address)
                return list.contains { prefix in
                    prefix.contains(address) || embedded.map { prefix.contains($0) } ?? false
                }
            }
        }
    }

    /// How far an address reaches.
    package enum Scope: Sendable {
        /// Reachable from the whole Internet.
        case global
        /// Reachable inside our own networks.
        case `private`
        /// Never allowed, whatever the endpoint's row says: cloud metadata, link-local, multicast, reserved.
        case forbidden
    }

    /// The scope according to IANA's special-purpose registries (RFC 6890) and the metadata services of clouds. An address that
    /// contains an IPv4 address has the scope of that.
    package static func scope(of address: IPAddress) -> Scope {
        if let embedded = self.embeddedIPv4(in: address) {
            // A translator may forward the packet to the IPv4 address, so that address counts. Only a translator of our own
            // network can do so, so the result is never global.
            return self.scope(of: embedded) == .forbidden ? .forbidden : .private
        }
        if let row = self.specialPurpose.first(where: { $0.prefix.contains(address) }) { return row.scope }
        switch address.family {
        case .v4: return .global
        // Global unicast is 2000::/3 (RFC 4291 section 2.4 and IANA's IPv6 address space registry).
        case .v6: return address.value >> 125 == 1 ? .global : .forbidden
        }
    }

    /// The IPv4 address inside an IPv4-mapped (RFC 4291 section 2.5.5.2), NAT64 (RFC 6052 section 2.1) or 6to4
    /// (RFC 3056 section 2) address.
    private static func embeddedIPv4(in address: IPAddress) -> IPAddress? {
        guard address.family == .v6 else { return nil }
        if self.mapped.contains(address) || self.nat64.contains(address) {
            return IPAddress(v4: UInt32(truncatingIfNeeded: address.value))
        }
        if self.sixToFour.contains(address) { return IPAddress(v4: UInt32(truncatingIfNeeded: address.value >> 80)) }
        return nil
    }

    private static let mapped: IPPrefix = "::ffff:0:0/96"
    private static let nat64: IPPrefix = "64:ff9b::/96"
    private static let sixToFour: IPPrefix = "2002::/16"

    /// IANA's IPv4 and IPv6 special-purpose address registries (RFC 6890), the more specific before the less specific,
    /// with the metadata services of the large clouds.
    private static let specialPurpose: [(prefix: IPPrefix, scope: Scope)] = [
        ("100.100.100.200/32", .forbidden),  // metadata service of Alibaba Cloud, inside RFC 6598
        ("168.63.129.16/32", .forbidden),  // platform service of Azure, a public address
        ("0.0.0.0/8", .forbidden),  // "this network", RFC 791; connects to the own host
        ("10.0.0.0/8", .private),  // RFC 1918
        ("100.64.0.0/10", .private),  // carrier-grade NAT, RFC 6598
        ("127.0.0.0/8", .private),  // loopback, RFC 1122
        ("169.254.0.0/16", .forbidden),  // link-local, RFC 3927; metadata service of AWS, Azure, Google
        ("172.16.0.0/12", .private),  // RFC 1918
        ("192.0.0.0/24", .forbidden),  // protocol assignments, RFC 6890; metadata service of Oracle
        ("192.0.2.0/24", .forbidden),  // documentation, RFC 5737
        ("192.88.99.0/24", .forbidden),  // 6to4 relays, RFC 7526
        ("192.168.0.0/16", .private),  // RFC 1918
        ("198.18.0.0/15", .private),  // benchmarks, RFC 2544
        ("198.51.100.0/24", .forbidden),  // documentation, RFC 5737
        ("203.0.113.0/24", .forbidden),  // documentation, RFC 5737
        ("224.0.0.0/4", .forbidden),  // multicast, RFC 5771
        ("240.0.0.0/4", .forbidden),  // reserved and broadcast, RFC 1112
        ("::1/128", .private),  // loopback, RFC 4291
        ("64:ff9b:1::/48", .private),  // local-use NAT64, RFC 8215
        ("fd00:ec2::254/128", .forbidden),  // metadata service of AWS, inside RFC 4193
        ("fd20:ce::254/128", .forbidden),  // metadata service of Google, inside RFC 4193
        ("fc00::/7", .private),  // unique local, RFC 4193
        ("2001::/23", .forbidden),  // protocol assignments, RFC 2928: Teredo, ORCHID, benchmarks
        ("2001:db8::/32", .forbidden),  // documentation, RFC 3849
        ("3fff::/20", .forbidden),  // documentation, RFC 9637
    ]
}
