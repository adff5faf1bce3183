import Foundation
import Glibc
import TestSupport

/// A client on a plain socket, which can be arbitrarily slow or wrong.
struct HTTPClient {
    struct Refused: Error {}

    let descriptor: CInt

    init(_ port: UInt16, seconds: Int = 60) throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            Glibc.close(self.descriptor)
            throw Refused()
        }
    }

    func close() { Glibc.close(self.descriptor) }

    /// Sends nothing more, but still reads.
    func finish() { shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// - Returns: False once the server has closed the connection.
    @discardableResult func send(_ text: String) async -> Bool {
        await onOwnThread {
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(self.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                if count <= 0 { return false }
                bytes = bytes.dropFirst(count)
            }
            return true
        }
    }

    /// The first received bytes.
    func next() async -> String {
        await onOwnThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(self.descriptor, &buffer, buffer.count, 0)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// All bytes until the server closes the connection or sends nothing for the client's time-out.
    func rest() async -> String {
        await onOwnThread {
            var answer: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(self.descriptor, &buffer, buffer.count, 0)
                if count <= 0 { break }
                answer += buffer.prefix(count)
            }
            return String(decoding: answer, as: UTF8.self)
        }
    }

    /// One request on its own connection, which both sides then close.
    static func exchange(_ port: UInt16, _ line: String, headers: String = "", body: String = "") async throws -> String
    {
        let client = try HTTPClient(port)
        defer { client.close() }
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        await client.send("\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(headers)\(length)\r\n\(body)")
        return await client.rest()
    }
}
