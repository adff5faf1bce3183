internal import Glibc

/// Proxies that are trusted to name a client's address: numeric addresses, or ranges such as `10.0.0.0/8`.
package struct TrustedProxies: Sendable {
    private var ranges: [(bytes: [UInt8], bits: Int)] = []

    package init() {}

    /// - Returns: `nil` if an entry is neither an address nor a range.
    package init?(_ list: [String]) {
        for text in list {
            let pieces = text.split(separator: "/", omittingEmptySubsequences: false)
            guard pieces.count <= 2, let bytes = Self.bytes(String(pieces[0])) else { return nil }
            guard let bits = pieces.count == 2 ? Int(pieces[1]) : bytes.count * 8, (0...bytes.count * 8).contains(bits)
            else { return nil }
            self.ranges.append((bytes, bits))
        }
    }

    /// The client's address of a request: the last hop that is not a trusted proxy. The client can forge earlier entries of
    /// `X-Forwarded-For`.
    package func client(_ request: HTTPRequest) -> String {
        let hops = (request.headers["x-forwarded-for"] ?? "").split(separator: ",").map {
            String($0.filter { !$0.isWhitespace })
        }
        var address = request.peer
        for hop in hops.reversed() {
            guard self.contains(address) else { break }
            guard Self.bytes(hop) != nil else { break }
            address = hop
        }
        return address
    }

    func contains(_ address: String) -> Bool {
        guard let bytes = Self.bytes(address) else { return false }
        return self.ranges.contains { range in
            guard range.bytes.count == bytes.count else { return false }
            return (0..<range.bits).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                return range.bytes[bit / 8] & mask == bytes[bit / 8] & mask
            }
        }
    }

    /// The unit of limits: an IPv4 address, or an IPv6 /64 network, all of which one client controls.
    package static func bucket(_ address: String) -> String {
        guard let bytes = Self.bytes(address) else { return address }
        guard bytes.count == 16 else { return Self.text(bytes) }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }

    static func isAddress(_ text: String, _ family: CInt) -> Bool { Self.bytes(text, family) != nil }

    /// The address of 4 or 16 bytes, in numbers.
    static func text(_ bytes: [UInt8]) -> String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count)) != nil else {
            return ""
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// 4 or 16 bytes; an IPv4 address in IPv6's notation is an IPv4 address.
    private static func bytes(_ text: String) -> [UInt8]? {
        if let bytes = Self.bytes(text, AF_INET) { return bytes }
        guard let bytes = Self.bytes(text, AF_INET6) else { return nil }
        return bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] ? Array(bytes.suffix(4)) : bytes
    }

    /// The address's bytes in network order; `nil` if the text is no address of the family.
    private static func bytes(_ text: String, _ family: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: family == AF_INET ? 4 : 16)
        // C stops reading at a NUL.
        guard !text.utf8.contains(0), inet_pton(family, text, &bytes) == 1 else { return nil }
        return bytes
    }
}
