internal import CCurl
internal import Foundation
internal import Synchronization

/// libcurl's multi handles, one for each egress policy in use, driven by one thread over one epoll.
///
/// libcurl forbids the use of a handle by two threads at once, so everything happens on that thread; callers only
/// enqueue. All transfers share it, so no callback of libcurl may block. Kept-alive connections belong to a multi
/// handle: with one per policy, a request under a strict policy never meets a connection that was opened under a lax one.
///
/// The thread keeps this object alive until it is closed.
final class CurlMulti: Sendable {
    enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        case close
    }

    private struct Inbox: Sendable {
        var commands: [Command] = []
        var isClosed = false
    }

    private let epoll: CInt
    private let wakeup: CInt
    private let certificateAuthorities: String?
    private let inbox = Mutex(Inbox())

    /// - Parameter certificateAuthorities: A PEM file used instead of the system's certificate store.
    /// - Throws: ``HTTPError/Code/localFault`` if libcurl cannot start or no descriptors are free.
    init(certificateAuthorities: String?) throws(HTTPError) {
        guard Self.globalInitialization == CURLE_OK else { throw HTTPError(.localFault, "libcurl cannot start") }
        self.certificateAuthorities = certificateAuthorities
        self.epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        self.wakeup = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = CurlLoop.wakeupMark
        guard self.epoll >= 0, self.wakeup >= 0, epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.wakeup, &event) == 0
        else { throw HTTPError(.localFault, String(cString: strerror(errno))) }
        let thread = Thread { self.run() }
        thread.name = "curl"
        thread.start()
    }

    deinit {
        Foundation.close(self.epoll)
        Foundation.close(self.wakeup)
    }

    /// Makes the thread carry out commands in order. After ``Command/close`` requests end with ``HTTPError/Code/cancelled``.
    func submit(_ commands: [Command]) {
        guard !commands.isEmpty else { return }
        let isAccepted = self.inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            if inbox.commands.isEmpty { eventfd_write(self.wakeup, 1) }
            inbox.commands += commands
            return true
        }
        guard !isAccepted else { return }
        for command in commands {
            if case .start(let transfer) = command { transfer.finish(.failure(HTTPError(.cancelled))) }
        }
    }

    /// The thread's main function.
    private func run() {
        // The main thread handles signals, and a write to a closed socket must return EPIPE instead of raising SIGPIPE.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        var loop = CurlLoop(epoll: self.epoll, certificateAuthorities: self.certificateAuthorities)
        while true {
            let commands = self.inbox.withLock { inbox in
                let commands = inbox.commands
                inbox.commands.removeAll(keepingCapacity: true)
                if commands.contains(where: { if case .close = $0 { true } else { false } }) {
                    inbox.isClosed = true
                }
                return commands
            }
            var isClosing = false
            for command in commands {
                switch command {
                case .start(let transfer): loop.enqueue(transfer)
                case .cancel(let transfer): loop.cancel(transfer)
                case .close: isClosing = true
                }
            }
            if isClosing { break }
            loop.startSome()
            if loop.wait() {
                var count: eventfd_t = 0
                eventfd_read(self.wakeup, &count)
            }
        }
        loop.end()
    }

    /// `curl_global_init` must run once before any other call.
    private static let globalInitialization = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The state of the thread of ``CurlMulti``: which transfers run on which easy handle, and which sockets are watched.
struct CurlLoop {
    /// epoll's data for the wake-up descriptor; no handle has this number.
    static let wakeupMark = UInt64.max

    private let epoll: CInt
    private let certificateAuthorities: String?
    private let sockets: CurlSockets
    private var handles: [CurlMultiHandle] = []
    private var numbers: [EgressPolicy: Int] = [:]
    private var running: [UnsafeMutableRawPointer: CurlEasyHandle] = [:]
    private var routes: [ObjectIdentifier: Route] = [:]
    private var idleCount = 0
    /// Transfers to start, in this order, from ``started`` on.
    private var waiting: [CurlTransfer] = []
    private var started = 0
    private var events = [epoll_event](repeating: epoll_event(), count: 256)
    /// Idle easy handles kept: as many as a dispatcher has requests under way.
    private static let idleLimit = 512
    /// Transfers started between two polls of the sockets. Fast answers free their connections for the next transfers, so
    /// that a few connections do the work and stay in the processor's caches; slow partners still get as many as they need.
    private static let startLimit = 16

    /// Idle handles and addresses of a route, kept for its next transfers.
    private final class Route {
        /// Retained, so that no other route gets its identity.
        let route: CurlRoute
        /// Making an easy handle costs several allocations, setting one up some forty calls.
        var idle: [CurlEasyHandle] = []
        var pin = CurlPin()

        init(_ route: CurlRoute) { self.route = route }
    }

    init(epoll: CInt, certificateAuthorities: String?) {
        self.epoll = epoll
        self.certificateAuthorities = certificateAuthorities
        self.sockets = CurlSockets(epoll: epoll)
    }

    /// Queues a transfer.
    mutating func enqueue(_ transfer: CurlTransfer) { self.waiting.append(transfer) }

    mutating func startSome() {
        let end = min(self.waiting.count, self.started + Self.startLimit)
        for number in self.started..<end { self.start(self.waiting[number]) }
        self.started = end
        if end == self.waiting.count {
            self.waiting.removeAll(keepingCapacity: true)
            self.started = 0
        }
    }

    private mutating func start(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled.load(ordering: .acquiring) else {
            return transfer.finish(.failure(HTTPError(.cancelled)))
        }
        let route = self.route(transfer.route)
        guard let handle = self.handle(for: transfer.route.profile.policy), let easyHandle = self.easyHandle(for: route)
        else {
            return transfer.finish(.failure(HTTPError(.localFault, "out of memory")))
        }
        easyHandle.transfer = transfer
        easyHandle.multiHandle = handle
        do throws(HTTPError) {
            if easyHandle.route == nil {
                try transfer.configure(easyHandle, certificateAuthorities: self.certificateAuthorities)
                easyHandle.route = transfer.route
            }
            try transfer.load(easyHandle, route.pin)
            self.running[easyHandle.easy] = easyHandle
            guard curl_multi_add_handle(handle.multi, easyHandle.easy) == CURLM_OK else {
                throw HTTPError(.localFault, "libcurl cannot add a transfer")
            }
        } catch {
            self.running[easyHandle.easy] = nil
            easyHandle.route = nil
            self.recycle(easyHandle)
            transfer.finish(.failure(error))
        }
    }

    mutating func cancel(_ transfer: CurlTransfer) {
        // A waiting transfer ends when its turn comes.
        guard let easyHandle = self.running.values.first(where: { $0.transfer === transfer }) else { return }
        self.remove(easyHandle)
        transfer.finish(.failure(HTTPError(.cancelled)))
    }

    private mutating func route(_ route: CurlRoute) -> Route {
        if let known = self.routes[ObjectIdentifier(route)] { return known }
        let made = Route(route)
        self.routes[ObjectIdentifier(route)] = made
        return made
    }

    /// A handle that is configured for the route, or a fresh one (its route is `nil`).
    private mutating func easyHandle(for route: Route) -> CurlEasyHandle? {
        if let easyHandle = route.idle.popLast() {
            self.idleCount -= 1
            return easyHandle
        }
        return CurlEasyHandle(self.sockets)
    }

    /// Waits for the next event, deadline or wake-up, lets libcurl handle it, and reports finished transfers.
    ///
    /// - Returns: Whether the wake-up descriptor must be read.
    mutating func wait() -> Bool {
        // One second at most limits the damage of a lost wake-up.
        let now = ContinuousClock.now
        var nearest = now + .seconds(1)
        for handle in self.handles { if let deadline = handle.deadline { nearest = min(nearest, deadline) } }
        let milliseconds =
            self.waiting.isEmpty ? min(1_000, max(0, ((nearest - now) / .milliseconds(1)).rounded(.up))) : 0
        let count = epoll_wait(self.epoll, &self.events, CInt(self.events.count), CInt(milliseconds))
        var isWoken = false
        var left: CInt = 0
        for event in self.events.prefix(Int(max(0, count))) {
            guard event.data.u64 != Self.wakeupMark else {
                isWoken = true
                continue
            }
            let socket = CInt(truncatingIfNeeded: event.data.u64 & 0xffff_ffff)
            guard self.sockets.isWanted(socket) else { continue }
            let handle = self.handles[Int(event.data.u64 >> 32)]
            var action: CInt = 0
            if event.events & EPOLLIN.rawValue != 0 { action |= CURL_CSELECT_IN }
            if event.events & EPOLLOUT.rawValue != 0 { action |= CURL_CSELECT_OUT }
            if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { action |= CURL_CSELECT_ERR }
            curl_multi_socket_action(handle.multi, socket, action, &left)
        }
        let moment = ContinuousClock.now
        for handle in self.handles {
            if let deadline = handle.deadline, deadline <= moment {
                handle.deadline = nil
                curl_multi_socket_action(handle.multi, CURL_SOCKET_BAD, 0, &left)
            }
            self.report(handle)
        }
        return isWoken
    }

    mutating func end() {
        for easyHandle in Array(self.running.values) {
            let transfer = easyHandle.transfer
            self.remove(easyHandle)
            transfer?.finish(.failure(HTTPError(.cancelled)))
        }
        for transfer in self.waiting[self.started...] { transfer.finish(.failure(HTTPError(.cancelled))) }
        self.waiting = []
        self.routes = [:]
        for handle in self.handles { handle.close() }
    }

    private mutating func report(_ handle: CurlMultiHandle) {
        var left: CInt = 0
        while let message = curl_multi_info_read(handle.multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let easyHandle = self.running[easy], let transfer = easyHandle.transfer
            else { continue }
            // Read before the handle is removed: that frees the message.
            let result = transfer.result(of: easy, code: message.pointee.data.result)
            if let pin = transfer.pin { self.route(transfer.route).pin = pin }
            self.remove(easyHandle)
            transfer.finish(result)
        }
    }

    private mutating func handle(for policy: EgressPolicy) -> CurlMultiHandle? {
        if let number = self.numbers[policy] { return self.handles[number] }
        guard let handle = CurlMultiHandle(number: self.handles.count, sockets: self.sockets) else { return nil }
        self.numbers[policy] = self.handles.count
        self.handles.append(handle)
        return handle
    }

    private mutating func remove(_ easyHandle: CurlEasyHandle) {
        self.running[easyHandle.easy] = nil
        if let handle = easyHandle.multiHandle { curl_multi_remove_handle(handle.multi, easyHandle.easy) }
        self.recycle(easyHandle)
    }

    private mutating func recycle(_ easyHandle: CurlEasyHandle) {
        easyHandle.transfer?.release(easyHandle)
        easyHandle.transfer = nil
        easyHandle.multiHandle = nil
        guard let route = easyHandle.route else { return }
        // Full of handles for URLs that occur only once: start over.
        if self.idleCount >= Self.idleLimit {
            self.routes = [:]
            self.idleCount = 0
        }
        self.route(route).idle.append(easyHandle)
        self.idleCount += 1
    }
}
