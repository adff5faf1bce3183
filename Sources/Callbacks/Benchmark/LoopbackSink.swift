internal import Foundation
internal import Synchronization

/// An HTTP/1.1 server on the loopback interface that answers every POST with 200 and an empty body, so that a benchmark
/// measures the sender. A path that starts with `/hang` gets no answer.
///
/// One thread and poll; it understands what ``CurlMulti`` sends, and nothing else.
final class LoopbackSink: Sendable {
    let port: UInt16
    private let listener: CInt
    private let isStopped = Atomic<Bool>(false)
    private let answered = Atomic<Int>(0)
    /// CPU time of the server's own thread, to be subtracted from that of the process.
    private let cpuNanoseconds = Atomic<Int>(0)

    init() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 1024) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else {
            close(listener)
            throw HTTPError(.localFault, "cannot listen on the loopback interface")
        }
        self.listener = listener
        self.port = UInt16(bigEndian: address.sin_port)
        let thread = Thread { self.serve() }
        thread.name = "loopback-sink"
        thread.start()
    }

    /// Ends the server within a tenth of a second.
    func stop() { self.isStopped.store(true, ordering: .releasing) }

    var requests: Int { self.answered.load(ordering: .acquiring) }
    var cpuSeconds: Double { Double(self.cpuNanoseconds.load(ordering: .acquiring)) / 1e9 }

    private func serve() {
        var watched = [pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0)]
        var buffers: [CInt: [UInt8]] = [:]
        while !self.isStopped.load(ordering: .acquiring) {
            guard poll(&watched, nfds_t(watched.count), 100) > 0 else { continue }
            for entry in watched where entry.revents != 0 {
                guard entry.fd == self.listener else {
                    self.read(entry.fd, &buffers)
                    continue
                }
                let connection = accept(self.listener, nil, nil)
                guard connection >= 0 else { continue }
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                buffers[connection] = []
                watched.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0))
            }
            watched.removeAll { $0.fd != self.listener && buffers[$0.fd] == nil }
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            self.cpuNanoseconds.store(time.tv_sec * 1_000_000_000 + time.tv_nsec, ordering: .releasing)
        }
        for connection in buffers.keys { close(connection) }
        close(self.listener)
    }

    private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    private static let headEnd = Array("\r\n\r\n".utf8)
    private static let lengthName = Array("\r\ncontent-length:".utf8)

    private func read(_ connection: CInt, _ buffers: inout [CInt: [UInt8]]) {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        let count = recv(connection, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        guard count > 0 else {
            close(connection)
            buffers[connection] = nil
            return
        }
        buffers[connection, default: []].append(contentsOf: chunk[..<count])
        guard let buffer = buffers[connection], let head = Self.index(of: Self.headEnd, in: buffer) else { return }
        let headers = buffer[..<head].map { (65...90).contains($0) ? $0 + 32 : $0 }
        var length = 0
        if let name = Self.index(of: Self.lengthName, in: headers) {
            let digits = headers[(name + Self.lengthName.count)...].drop { $0 == 32 }.prefix { (48...57).contains($0) }
            length = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        }
        guard buffer.count >= head + Self.headEnd.count + length else { return }
        buffers[connection] = []
        guard !buffer.starts(with: Array("POST /hang".utf8)) else { return }
        send(connection, Self.answer, Self.answer.count, CInt(MSG_NOSIGNAL))
        self.answered.add(1, ordering: .releasing)
    }

    private static func index(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (0...(bytes.count - pattern.count)).first { start in
            bytes[start] == pattern[0] && pattern.indices.allSatisfy { bytes[start + $0] == pattern[$0] }
        }
    }
}
