internal import CCurl
internal import COpenSSL
internal import Callbacks
internal import Foundation
internal import HTTPClient
internal import Synchronization

/// An HTTPS server on the loopback interface that answers every POST with 200 and an empty body, so that a benchmark
/// measures the sender. A path that starts with `/drip` gets an endless header, a byte every tenth of a second.
///
/// One thread and epoll; it understands only what ``CurlMulti`` sends.
final class LoopbackSink: Sendable {
    let port: UInt16
    private let certificate: LoopbackCertificate
    private let listener: CInt
    private let isStopped = Atomic<Bool>(false)
    private let isHolding = Atomic<Bool>(false)
    private let held = Atomic<Int>(0)
    /// The clock of the server's own thread; `nil` before it runs.
    private let clock = Mutex<clockid_t?>(nil)

    init(certificate: LoopbackCertificate) throws {
        (self.listener, self.port) = try Self.listen(backlog: 1024)
        self.certificate = certificate
        let thread = Thread { self.serve() }
        thread.name = "loopback-sink"
        thread.start()
    }

    /// Ends the server within a tenth of a second.
    func stop() { self.isStopped.store(true, ordering: .releasing) }

    /// The certificate that a client must trust.
    var certificateFile: String { self.certificate.file.path }

    /// Requests that wait for an answer.
    var waiting: Int { self.held.load(ordering: .acquiring) }

    /// Holds all answers from now on, so that each further request needs another connection.
    func hold() { self.isHolding.store(true, ordering: .releasing) }

    /// Answers the waiting requests within a tenth of a second, and then all further ones.
    func release() { self.isHolding.store(false, ordering: .releasing) }

    /// CPU time of the server's own thread, to be subtracted from that of the process.
    var cpuSeconds: Double {
        var time = timespec()
        guard let clock = self.clock.withLock({ $0 }), clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A listening socket on any free port of the loopback interface.
    static func listen(backlog: CInt) throws -> (descriptor: CInt, port: UInt16) {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && Foundation.listen(listener, backlog) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else {
            close(listener)
            throw HTTPError(.localFault, "cannot listen on the loopback interface")
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    private func serve() {
        var state = SinkState(listener: self.listener, context: self.certificate.context)
        var clock = clockid_t()
        if pthread_getcpuclockid(pthread_self(), &clock) == 0 { self.clock.withLock { $0 = clock } }
        while !self.isStopped.load(ordering: .acquiring) {
            state.wait(isHolding: self.isHolding.load(ordering: .acquiring))
            self.held.store(state.held.count, ordering: .releasing)
        }
        state.end()
    }
}

/// The connections of the server's thread.
private struct SinkState {
    private struct Connection {
        var session: OpaquePointer
        var buffer: [UInt8] = []
    }

    private let listener: CInt
    private let context: OpaquePointer
    private let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
    private var connections: [CInt: Connection] = [:]
    private var dripping: Set<CInt> = []
    /// Connections whose request waits for an answer.
    private(set) var held: [CInt] = []
    private var nextDrip = ContinuousClock.now
    private var events = [epoll_event](repeating: epoll_event(), count: 256)
    private var chunk = [UInt8](repeating: 0, count: 16_384)

    init(listener: CInt, context: OpaquePointer) {
        self.listener = listener
        self.context = context
        self.watch(listener)
    }

    private func watch(_ descriptor: CInt) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.fd = descriptor
        epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Serves the ready connections, for a tenth of a second at most.
    ///
    /// - Parameter isHolding: Whether requests are read but not answered.
    mutating func wait(isHolding: Bool) {
        if !isHolding, !self.held.isEmpty {
            for descriptor in self.held { self.answer(descriptor) }
            self.held = []
        }
        let count = epoll_wait(self.epoll, &self.events, CInt(self.events.count), 100)
        for event in self.events.prefix(Int(max(0, count))) {
            if event.data.fd == self.listener {
                self.accept()
            } else {
                self.read(event.data.fd, isHolding: isHolding)
            }
        }
        if !self.dripping.isEmpty, self.nextDrip <= .now {
            self.nextDrip = .now + .milliseconds(100)
            for descriptor in self.dripping {
                guard let session = self.connections[descriptor]?.session else { continue }
                if SSL_write(session, ".", 1) <= 0 { self.drop(descriptor) }
            }
        }
    }

    mutating func end() {
        for descriptor in Array(self.connections.keys) { self.drop(descriptor) }
        close(self.epoll)
        close(self.listener)
    }

    private mutating func accept() {
        let descriptor = Foundation.accept(self.listener, nil, nil)
        guard descriptor >= 0 else { return }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        guard let session = SSL_new(self.context) else { return _ = close(descriptor) }
        SSL_set_fd(session, descriptor)
        SSL_set_accept_state(session)
        // A record's header and the rest of it in one system call.
        SSL_set_read_ahead(session, 1)
        self.connections[descriptor] = Connection(session: session)
        self.watch(descriptor)
    }

    private mutating func drop(_ descriptor: CInt) {
        self.dripping.remove(descriptor)
        self.held.removeAll { $0 == descriptor }
        if let connection = self.connections.removeValue(forKey: descriptor) { SSL_free(connection.session) }
        close(descriptor)
    }

    private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    private static let drip = Array("HTTP/1.1 200 OK\r\nX-Slow: ".utf8)
    private static let headEnd = Array("\r\n\r\n".utf8)
    private static let lengthName = Array("\r\nContent-Length: ".utf8)

    private func answer(_ descriptor: CInt) {
        guard let session = self.connections[descriptor]?.session else { return }
        _ = SSL_write(session, Self.answer, CInt(Self.answer.count))
    }

    private mutating func read(_ descriptor: CInt, isHolding: Bool) {
        guard let session = self.connections[descriptor]?.session else { return }
        while true {
            let count = SSL_read(session, &self.chunk, CInt(self.chunk.count))
            guard count > 0 else {
                let error = SSL_get_error(session, count)
                if error != SSL_ERROR_WANT_READ, error != SSL_ERROR_WANT_WRITE { self.drop(descriptor) }
                return
            }
            self.connections[descriptor]?.buffer.append(contentsOf: self.chunk[..<Int(count)])
            guard let buffer = self.connections[descriptor]?.buffer, let length = Self.requestLength(buffer),
                buffer.count >= length
            else { continue }
            self.connections[descriptor]?.buffer = []
            if buffer.starts(with: Array("POST /drip".utf8)) {
                _ = SSL_write(session, Self.drip, CInt(Self.drip.count))
                self.dripping.insert(descriptor)
            } else if isHolding {
                self.held.append(descriptor)
            } else {
                self.answer(descriptor)
            }
            // Usually nothing is left: a read to find out would be another system call for each request.
            guard SSL_has_pending(session) == 1 else { return }
        }
    }

    /// Bytes of the request's head and body, once the head is complete.
    private static func requestLength(_ buffer: [UInt8]) -> Int? {
        guard let head = self.index(of: self.headEnd, in: buffer) else { return nil }
        var length = 0
        if let name = self.index(of: self.lengthName, in: buffer[..<head]) {
            let digits = buffer[(name + self.lengthName.count)...].prefix { (48...57).contains($0) }
            length = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        }
        return head + self.headEnd.count + length
    }

    /// The offset of a pattern that is found near the front.
    private static func index(of pattern: [UInt8], in bytes: some RandomAccessCollection<UInt8>) -> Int? {
        bytes.withContiguousStorageIfAvailable { bytes in
            guard bytes.count >= pattern.count else { return nil }
            return (0...(bytes.count - pattern.count)).first { start in
                bytes[start] == pattern[0] && pattern.indices.allSatisfy { bytes[start + $0] == pattern[$0] }
            }
        } ?? nil
    }
}
