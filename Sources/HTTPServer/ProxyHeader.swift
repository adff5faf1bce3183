internal import Glibc

/// The PROXY protocol's header, version 1 or 2, which a trusted load balancer sends before the client's bytes.
struct ProxyHeader {
    enum Step: Equatable {
        /// Read exactly this many octets: the rest belongs to TLS or HTTP.
        case read(Int)
        /// The client's address; `nil` if the balancer connects for itself, as in its health checks.
        case client(String?)
        case broken
    }

    private static let signature: [UInt8] = [
        0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
    ]
    private static let line = Array("PROXY ".utf8)
    /// Of version 1, with its CR LF; of what follows the address in version 2.
    private static let lineLimit = 107
    private static let moreLimit = 4096

    private var bytes: [UInt8] = []

    /// Parses the octets read so far and returns the next step.
    mutating func take(_ new: UnsafeRawBufferPointer) -> Step {
        self.bytes += new
        if self.bytes.count < 8 { return .read(8 - self.bytes.count) }
        if self.bytes.starts(with: Self.line) {
            if self.bytes.last == 0x0a { return self.text() }
            return self.bytes.count < Self.lineLimit ? .read(1) : .broken
        }
        guard self.bytes.prefix(12).elementsEqual(Self.signature.prefix(self.bytes.count)) else { return .broken }
        if self.bytes.count < 16 { return .read(16 - self.bytes.count) }
        let length = Int(self.bytes[14]) << 8 | Int(self.bytes[15])
        guard length <= Self.moreLimit else { return .broken }
        if self.bytes.count < 16 + length { return .read(16 + length - self.bytes.count) }
        return self.binary()
    }

    /// `PROXY TCP4 192.0.2.1 198.51.100.1 4711 443`, exactly: anything else is no header (section 2.1 of the protocol).
    private func text() -> Step {
        guard self.bytes.suffix(2) == [0x0d, 0x0a] else { return .broken }
        let words = String(decoding: self.bytes.dropLast(2), as: UTF8.self).split(
            separator: " ", omittingEmptySubsequences: false)
        guard words.count > 1, words[1] != "UNKNOWN" else { return words.count > 1 ? .client(nil) : .broken }
        guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6" else { return .broken }
        let family = words[1] == "TCP4" ? AF_INET : AF_INET6
        guard words[2...3].allSatisfy({ TrustedProxies.isAddress(String($0), family) }),
            words[4...5].allSatisfy({ HTTPSyntax.number($0.utf8).map { $0 <= 65_535 } == true })
        else { return .broken }
        return .client(String(words[2]))
    }

    private func binary() -> Step {
        guard self.bytes[12] >> 4 == 2 else { return .broken }
        switch self.bytes[12] & 0xf {
        case 0: return .client(nil)
        case 1: break
        default: return .broken
        }
        // Of no transport, of streams or of datagrams.
        guard self.bytes[13] & 0xf <= 2 else { return .broken }
        let address = self.bytes.dropFirst(16)
        switch self.bytes[13] >> 4 {
        case 1 where address.count >= 12: return .client(TrustedProxies.text(Array(address.prefix(4))))
        case 2 where address.count >= 36: return .client(TrustedProxies.text(Array(address.prefix(16))))
        // Not by IP: then the balancer's own address is all that is known.
        case 0, 3: return .client(nil)
        default: return .broken
        }
    }
}
