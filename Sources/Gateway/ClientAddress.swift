internal import Glibc

/// Proxies whose word about a client's address counts: numeric addresses, or ranges such as `10.0.0.0/8`.
public struct TrustedProxies: Sendable {
    private var ranges: [(bytes: [UInt8], bits: Int)] = []

    public init() {}

    /// - Returns: `nil` if one of them is no address or range.
    public init?(_ list: [String]) {
        for text in list {
            let pieces = text.split(separator: "/", omittingEmptySubsequences: false)
            guard pieces.count <= 2, let bytes = Self.bytes(String(pieces[0])) else { return nil }
            guard let bits = pieces.count == 2 ? Int(pieces[1]) : bytes.count * 8, (0...bytes.count * 8).contains(bits)
            else { return nil }
            self.ranges.append((bytes, bits))
        }
    }

    /// The address that a request came from: the last one on its way that is no trusted proxy's. Earlier entries of
    /// `X-Forwarded-For` are whatever the client wrote.
    func client(_ request: HTTPRequest) -> String {
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

    /// What is limited together: an IPv4 address, or an IPv6 network of 64 bits, of which one client has all addresses.
    static func bucket(_ address: String) -> String {
        guard let bytes = Self.bytes(address), bytes.count == 16 else { return address }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }

    /// 4 or 16 bytes; an IPv4 address in IPv6's notation is an IPv4 address.
    private static func bytes(_ text: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: &four) { Array($0) } }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: &six) { Array($0) }
        return bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] ? Array(bytes.suffix(4)) : bytes
    }
}
