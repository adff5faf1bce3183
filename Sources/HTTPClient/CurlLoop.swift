internal import CCurl
internal import Foundation

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
    /// Idle easy handles kept: as many as a dispatcher has under way.
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

/// One multi handle, and libcurl's last request for its timer. Lives on the thread of ``CurlMulti``.
final class CurlMultiHandle {
    let multi: UnsafeMutableRawPointer
    /// When libcurl must be called even without an event.
    var deadline: ContinuousClock.Instant?
    private let number: Int
    private let sockets: CurlSockets

    init?(number: Int, sockets: CurlSockets) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.number = number
        self.sockets = sockets
        // Idle connections kept: as many as a dispatcher has under way. With fewer, a busy dispatcher would spend its time
        // on TLS handshakes.
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 512)
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = ccurl_multi_set_socket(multi, watchSocket, context)
        _ = ccurl_multi_set_timer(multi, timerChanged, context)
    }

    func close() { curl_multi_cleanup(self.multi) }

    fileprivate func watch(_ socket: curl_socket_t, for what: CInt) {
        let events: UInt32 =
            switch what {
            case CURL_POLL_IN: EPOLLIN.rawValue
            case CURL_POLL_OUT: EPOLLOUT.rawValue
            case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
            default: 0
            }
        self.sockets.watch(
            socket, for: events, mark: UInt64(self.number) << 32 | UInt64(UInt32(bitPattern: socket)))
    }

    fileprivate func setTimer(milliseconds: Int) {
        self.deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }
}

private func handle(_ context: UnsafeMutableRawPointer?) -> CurlMultiHandle? {
    context.map { Unmanaged<CurlMultiHandle>.fromOpaque($0).takeUnretainedValue() }
}

private let watchSocket:
    @convention(c) (
        UnsafeMutableRawPointer?, curl_socket_t, CInt, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
    ) -> CInt = { _, socket, what, context, _ in
        handle(context)?.watch(socket, for: what)
        return 0
    }

private let timerChanged: @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?) -> CInt = {
    _, milliseconds, context in
    handle(context)?.setTimer(milliseconds: milliseconds)
    return 0
}
