internal import Foundation

/// An IPv4 or IPv6 address as a number, so that a prefix match is one shift.
struct IPAddress: Hashable, Sendable {
    enum Family: Sendable {
        case v4
        case v6
    }

    let family: Family
    let value: UInt128

    init(v4 value: UInt32) {
        self.family = .v4
        self.value = UInt128(value)
    }

    /// - Parameter bytes: 4 or 16 bytes in network order; any other count gives `nil`.
    init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self.family = .v4
        case 16: self.family = .v6
        default: return nil
        }
        self.value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// Parses the canonical text form only: four decimal numbers, or RFC 4291 section 2.2.
    ///
    /// `127.1`, decimal, hexadecimal and octal forms are `nil` here. The policy never relies on this parser to judge a
    /// URL: it judges the address of the socket.
    init?(_ text: String) {
        var storage: (UInt64, UInt64) = (0, 0)
        let count = withUnsafeMutableBytes(of: &storage) { buffer in
            if inet_pton(AF_INET, text, buffer.baseAddress) == 1 { return 4 }
            if inet_pton(AF_INET6, text, buffer.baseAddress) == 1 { return 16 }
            return 0
        }
        let address = withUnsafeBytes(of: storage) { IPAddress(bytes: $0.prefix(count)) }
        guard let address else { return nil }
        self = address
    }

    var bitWidth: Int { self.family == .v4 ? 32 : 128 }
}

/// A range of addresses, written as a literal in CIDR notation: `10.0.0.0/8`.
struct IPPrefix: Sendable, ExpressibleByStringLiteral {
    let address: IPAddress
    let length: Int

    init(stringLiteral text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            (0...address.bitWidth).contains(length)
        else { preconditionFailure("not a prefix: \(text)") }
        self.address = address
        self.length = length
    }

    func contains(_ other: IPAddress) -> Bool {
        other.family == self.address.family
            && (other.value ^ self.address.value) >> UInt128(self.address.bitWidth - self.length) == 0
    }
}
