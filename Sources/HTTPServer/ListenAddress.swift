internal import CEpoll
internal import Glibc

/// Where a server listens: `PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`; without an address, on loopback only.
package struct ListenAddress: Sendable, Equatable {
    /// A numeric IPv4 or IPv6 address.
    package var host: String
    /// 0: any free port.
    package var port: UInt16

    /// - Returns: `nil` if the text is no address with a port. Names are not resolved: listening must not depend on DNS.
    package init?(_ text: String) {
        let host: Substring
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), text[end...].hasPrefix("]:") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            port = text[end...].dropFirst(2)
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
            guard !host.contains(":") else { return nil }
        } else {
            host = "127.0.0.1"
            port = text[...]
        }
        guard !port.isEmpty, port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(port)
        else { return nil }
        self.host = String(host)
        self.port = number
        guard self.socketAddress() != nil else { return nil }
    }

    /// Opens a listening socket that no child process inherits.
    ///
    /// - Returns: The socket and the port that it has.
    func listen() throws(ServerFailure) -> (socket: CInt, port: UInt16) {
        guard var (address, length) = self.socketAddress() else { throw ServerFailure("\(self): not an address") }
        let descriptor = cepoll_socket(CInt(address.ss_family))
        guard descriptor >= 0 else { throw ServerFailure("\(self): \(Self.reason)") }
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        // The kernel buffers unread answers, by default 4 MB a connection, which no limit here counts. Connections inherit
        // this setting.
        var room: CInt = 128 * 1024
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<CInt>.size))
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) } == 0
        }
        guard isBound, Glibc.listen(descriptor, 4096) == 0 else {
            let reason = Self.reason
            close(descriptor)
            throw ServerFailure("\(self): \(reason)")
        }
        let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) } == 0
        }
        // Both families' structures have the port at the same offset, in network order.
        let port = withUnsafeBytes(of: &address) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        return (descriptor, isKnown ? port : self.port)
    }

    private static var reason: String { String(cString: strerror(errno)) }

    private func socketAddress() -> (sockaddr_storage, socklen_t)? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(self.host, String(self.port), &hints, &list) == 0, let list else { return nil }
        defer { freeaddrinfo(list) }
        guard let address = list.pointee.ai_addr else { return nil }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(list.pointee.ai_addrlen)))
        }
        return (storage, list.pointee.ai_addrlen)
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// A server could not be started.
package struct ServerFailure: Error, Sendable, CustomStringConvertible {
    /// For operators: what was attempted, and the system's reason.
    package let description: String

    init(_ description: String) { self.description = description }
}
