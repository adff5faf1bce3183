internal import Foundation

/// An IPv4 or IPv6 address as a number, so that a prefix match is one shift.
package struct IPAddress: Hashable, Sendable {
    /// The version of the protocol; an IPv4 address never equals an IPv6 address.
    package enum Family: Sendable {
        case v4
        case v6
    }

    /// 32 bits or 128.
    package let family: Family
    /// The address as a number; that of an IPv4 address is below 2³².
    package let value: UInt128

    package init(v4 value: UInt32) {
        self.family = .v4
        self.value = UInt128(value)
    }

    /// - Parameter bytes: 4 or 16 bytes in network order; any other count gives `nil`.
    package init?(bytes: some Collection<UInt8>) {
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
    package init?(_ text: String) {
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

    /// The bytes in network order.
    package var bytes: [UInt8] {
        (0..<self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self.value >> ($0 * 8)) }
    }
}

extension IPAddress: CustomStringConvertible {
    /// The canonical text form, that of `inet_ntop`.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(self.family == .v4 ? AF_INET : AF_INET6, self.bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A range of addresses in CIDR notation: `10.0.0.0/8`.
package struct IPPrefix: Hashable, Sendable, ExpressibleByStringLiteral {
    /// Any address in the range; bits behind ``length`` are not compared.
    package let address: IPAddress
    /// How many leading bits must be equal: at most 32 or 128.
    package let length: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            (0...address.bitWidth).contains(length)
        else { return nil }
        self.address = address
        self.length = length
    }

    package init(stringLiteral text: String) {
        guard let prefix = IPPrefix(text) else { preconditionFailure("not a prefix: \(text)") }
        self = prefix
    }

    /// Whether the address is of the same family and begins with the same bits.
    package func contains(_ other: IPAddress) -> Bool {
        other.family == self.address.family
            && (other.value ^ self.address.value) >> UInt128(self.address.bitWidth - self.length) == 0
    }
}
