internal import CEpoll
internal import Foundation
internal import Synchronization

/// An address or IPv6 network, and how many connections it has.
final class HTTPAddress {
    let name: String
    var connections = 0

    init(_ name: String) { self.name = name }
}

/// The server's only thread: it accepts, reads and writes for all connections, and waits for nothing else.
final class HTTPLoop {
    private static let listening: UInt64 = 0
    private static let bell: UInt64 = 1
    /// Interval between two checks of deadlines.
    private static let sweepNanoseconds: UInt64 = 250_000_000

    let core: HTTPServerCore
    let tls: TLSContext?
    /// The read buffer, larger than a TLS record.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private(set) var nowNanoseconds: UInt64 = HTTPLoop.clock()
    /// Connections that cannot be closed to make room.
    var busy = 0
    private var addresses: [String: HTTPAddress] = [:]
    private var socket: CInt
    private let set = cepoll_create()
    private var connections: [UInt64: HTTPConnection] = [:]
    private var nextID: UInt64 = 2
    private var isAccepting = true
    private var sweptNanoseconds: UInt64 = 0
    /// Requests of each share, and bytes of the bodies and answers of each share and address.
    private var places: [String: Int] = [:]
    private var held: [String: Int] = [:]

    init(_ socket: CInt, _ core: HTTPServerCore, _ tls: TLSContext?) {
        self.socket = socket
        self.core = core
        self.tls = tls
    }

    deinit {
        self.scratch.deallocate()
        Glibc.close(self.set)
    }

    static func clock() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    func after(seconds: Double) -> UInt64 { self.nowNanoseconds + UInt64(seconds * 1e9) }

    /// Serves until stopped.
    func run() {
        // OpenSSL writes without MSG_NOSIGNAL.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        _ = cepoll_add(self.set, self.socket, cepoll_in, Self.listening)
        _ = cepoll_add(self.set, self.core.bell, cepoll_in, Self.bell)
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        var isRunning = true
        while isRunning {
            let count = epoll_wait(self.set, &events, CInt(events.count), self.connections.isEmpty ? -1 : 250)
            self.nowNanoseconds = Self.clock()
            for event in events.prefix(max(0, Int(count))) {
                switch event.data.u64 {
                case Self.listening: self.accept()
                case Self.bell: isRunning = self.takeMessages() && isRunning
                case let id: self.serve(id, event.events)
                }
            }
            if self.nowNanoseconds > self.sweptNanoseconds + Self.sweepNanoseconds { self.closeLate() }
        }
        for connection in self.connections.values { connection.close() }
        for connection in Array(self.connections.values) { self.settle(connection) }
        self.stopListening()
    }

    private func serve(_ id: UInt64, _ events: UInt32) {
        guard let connection = self.connections[id] else { return }
        if events & cepoll_out != 0 { connection.writable() }
        if events & cepoll_left != 0 { connection.leave() }
        if connection.wantsInput, events & ~cepoll_out != 0 {
            connection.readable()
        } else if events & ~(cepoll_in | cepoll_out | cepoll_left) != 0 {
            // The client left while nothing was read from it.
            connection.close()
        }
        self.settle(connection)
    }

    /// Updates the connection's events in epoll, or forgets a closed connection.
    private func settle(_ connection: HTTPConnection) {
        let descriptor = connection.transport.descriptor
        if connection.isClosed {
            guard self.connections.removeValue(forKey: connection.id) != nil else { return }
            _ = cepoll_remove(self.set, descriptor)
            self.leave(connection.address)
            self.core.connections.store(self.connections.count, ordering: .relaxed)
            self.accept(true)
            return
        }
        let wanted =
            (connection.wantsInput ? cepoll_in : 0) | (connection.wantsOutput ? cepoll_out : 0)
            | (connection.awaitsDeparture ? cepoll_left : 0)
        guard wanted != connection.watched else { return }
        connection.watched = wanted
        _ = cepoll_change(self.set, descriptor, wanted, connection.id)
    }

    private func closeLate() {
        self.sweptNanoseconds = self.nowNanoseconds
        for connection in Array(self.connections.values) where connection.isLate(self.nowNanoseconds) {
            connection.close()
            self.settle(connection)
        }
    }

    // MARK: Messages

    /// - Returns: False once the loop must end.
    private func takeMessages() -> Bool {
        var goesOn = true
        for message in self.core.takeMessages() {
            switch message {
            case .admitted(let id, let admission):
                guard let connection = self.connections[id] else {
                    self.core.inFlight.subtract(1, ordering: .relaxed)
                    continue
                }
                connection.admitted(admission)
                connection.proceed()
                self.settle(connection)
            case .answered(let id, let response, let held, let share):
                self.hold(share, -held)
                guard let connection = self.connections[id] else {
                    self.leavePlace(share)
                    self.core.inFlight.subtract(1, ordering: .relaxed)
                    continue
                }
                connection.answer(response)
                connection.proceed()
                self.settle(connection)
            case .stopListening: self.stopListening()
            case .expire:
                for connection in Array(self.connections.values) {
                    switch connection.phase {
                    case .admitting, .working: continue
                    default: connection.close()
                    }
                    self.settle(connection)
                }
            case .stop: goesOn = false
            }
        }
        return goesOn
    }

    private func stopListening() {
        guard self.socket >= 0 else { return }
        _ = cepoll_remove(self.set, self.socket)
        Glibc.close(self.socket)
        self.socket = -1
    }

    // MARK: Admission

    private func accept() {
        // A limited number at a time, so that open connections get a turn.
        for _ in 0..<64 where self.socket >= 0 {
            if self.connections.count >= Int(self.core.limits.connections) {
                guard self.isAwaited else { return }
                guard self.evict() else { return self.accept(false) }
            }
            var address = sockaddr_storage()
            let descriptor = cepoll_accept(self.socket, &address)
            guard descriptor >= 0 else {
                let isFull = errno == EMFILE || errno == ENFILE
                // Without a spare descriptor, the kernel would report the same client again at once.
                if isFull, !self.evict() { usleep(10_000) }
                return
            }
            self.admit(HTTPTransport(descriptor), Self.peer(&address))
        }
    }

    /// Whether a client waits to be accepted; otherwise, no connection is closed.
    private var isAwaited: Bool {
        var listening = pollfd(fd: self.socket, events: Int16(POLLIN), revents: 0)
        return poll(&listening, 1, 0) > 0
    }

    /// Whether new connections are accepted.
    private func accept(_ isOn: Bool) {
        guard isOn != self.isAccepting, self.socket >= 0 else { return }
        self.isAccepting = isOn
        _ = cepoll_change(self.set, self.socket, isOn ? cepoll_in : 0, Self.listening)
    }

    private func admit(_ transport: HTTPTransport, _ peer: String) {
        let isTrusted = self.core.proxies.contains(peer)
        // With the PROXY protocol, only the balancers may connect.
        guard isTrusted || !self.core.expectsProxyHeader else { return }
        let address = isTrusted ? nil : self.join(peer)
        guard isTrusted || address != nil else { return }
        var on: CInt = 1
        setsockopt(transport.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        let connection = HTTPConnection(
            self.nextID, transport, peer, address, isProxied: self.core.expectsProxyHeader, self)
        self.nextID += 1
        guard !connection.isClosed, cepoll_add(self.set, transport.descriptor, cepoll_in, connection.id) == 0 else {
            return self.leave(address)
        }
        connection.watched = cepoll_in
        self.connections[connection.id] = connection
        self.core.connections.store(self.connections.count, ordering: .relaxed)
    }

    /// Counts a further connection of an address, if it may have one. Beyond the limit, its own quietest connection is
    /// closed.
    func join(_ peer: String) -> HTTPAddress? {
        let name = TrustedProxies.bucket(peer)
        let address = self.addresses[name] ?? HTTPAddress(name)
        let free = max(1, Int(self.core.limits.connections) - self.busy)
        guard address.connections < min(Int(self.core.limits.connectionsPerAddress), free) || self.evict(of: address)
        else { return nil }
        self.addresses[name] = address
        address.connections += 1
        return address
    }

    private func leave(_ address: HTTPAddress?) {
        guard let address else { return }
        address.connections -= 1
        if address.connections == 0 { self.addresses[address.name] = nil }
    }

    /// Closes the connection that has been silent longest, of the address with the most connections.
    private func evict(of address: HTTPAddress? = nil) -> Bool {
        typealias Weight = (Int, Int, UInt64, UInt64)
        var victim: (connection: HTTPConnection, weight: Weight)?
        for connection in self.connections.values where address == nil || connection.address === address {
            guard let readiness = connection.eviction else { continue }
            let weight: Weight = (
                connection.address?.connections ?? 1, readiness, .max - connection.movedNanoseconds,
                .max - connection.id
            )
            if victim.map({ $0.weight < weight }) ?? true { victim = (connection, weight) }
        }
        guard let victim else { return false }
        victim.connection.close()
        self.settle(victim.connection)
        return true
    }

    /// Admits a request of a share, which may have as many as are left for others.
    func takePlace(_ share: String?) -> Bool {
        guard let share else { return true }
        let count = self.places[share] ?? 0
        guard count < max(1, Int(self.core.limits.connections) - self.busy) else { return false }
        self.places[share] = count + 1
        return true
    }

    func leavePlace(_ share: String?) { if let share { self.lower(&self.places, share, 1) } }

    /// Counts bytes of bodies and answers, of an account and of all.
    func hold(_ account: String?, _ bytes: Int) {
        guard bytes != 0 else { return }
        self.core.heldBytes.add(bytes, ordering: .relaxed)
        if let account { self.lower(&self.held, account, -bytes) }
    }

    /// Whether a share may hold no further body.
    func holdsTooMuch(_ share: String?) -> Bool { self.spare < 0 || share.map(self.isGreedy) == true }

    /// Whether an account holds more than is left for others, and more than one body.
    private func isGreedy(_ account: String) -> Bool {
        (self.held[account] ?? 0) > max(self.core.limits.bodyBytes, self.spare)
    }

    private var spare: Int { self.core.limits.heldBytes - self.core.heldBytes.load(ordering: .relaxed) }

    /// Makes room for an answer that its client did not read at once. In an account that holds too much, the answer that
    /// has been stuck longest is cut off; if the total is too large, one of the largest account.
    func makeRoom(for account: String) {
        while true {
            let isGreedy = self.isGreedy(account)
            guard isGreedy || self.spare < 0 else { return }
            var victim: (connection: HTTPConnection, weight: (Int, UInt64, UInt64))?
            for connection in self.connections.values {
                guard case .answering = connection.phase, let counted = connection.counted,
                    !isGreedy || counted.account == account
                else { continue }
                let weight = (
                    self.held[counted.account] ?? 0, UInt64.max - connection.movedNanoseconds,
                    UInt64.max - connection.id
                )
                if victim.map({ $0.weight < weight }) ?? true { victim = (connection, weight) }
            }
            guard let victim else { return }
            victim.connection.close()
            self.settle(victim.connection)
        }
    }

    private func lower(_ counts: inout [String: Int], _ name: String, _ amount: Int) {
        let left = (counts[name] ?? 0) - amount
        counts[name] = left == 0 ? nil : left
    }

    private static func peer(_ address: inout sockaddr_storage) -> String {
        let isLong = CInt(address.ss_family) == AF_INET6
        return withUnsafeBytes(of: &address) { bytes in
            isLong
                ? TrustedProxies.text(Array(bytes[8..<24])) : TrustedProxies.text(Array(bytes[4..<8]))
        }
    }
}
