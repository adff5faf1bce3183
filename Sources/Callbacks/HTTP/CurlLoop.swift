internal import CCurl
internal import Foundation

/// The state of the thread of ``CurlMulti``: which transfers run on which easy handle, and which sockets are watched.
struct CurlLoop {
    /// What epoll reports for the descriptor that only wakes; no handle has this number.
    static let wakeupMark = UInt64.max

    private let epoll: CInt
    private let certificateAuthorities: String?
    private var handles: [CurlHandle] = []
    private var numbers: [EgressPolicy: Int] = [:]
    private var running: [UnsafeMutableRawPointer: (transfer: CurlTransfer, handle: CurlHandle)] = [:]
    /// Handles kept for the next transfers: making one costs several allocations.
    private var idle: [UnsafeMutableRawPointer] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init(epoll: CInt, certificateAuthorities: String?) {
        self.epoll = epoll
        self.certificateAuthorities = certificateAuthorities
    }

    mutating func start(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled.load(ordering: .acquiring) else {
            return transfer.finish(.failure(HTTPError(.cancelled)))
        }
        guard let handle = self.handle(for: transfer.policy), let easy = self.idle.popLast() ?? curl_easy_init() else {
            return transfer.finish(.failure(HTTPError(.localFault, "out of memory")))
        }
        do throws(HTTPError) {
            try transfer.configure(easy, certificateAuthorities: self.certificateAuthorities)
            self.running[easy] = (transfer, handle)
            guard curl_multi_add_handle(handle.multi, easy) == CURLM_OK else {
                throw HTTPError(.localFault, "libcurl cannot add a transfer")
            }
        } catch {
            self.running[easy] = nil
            self.recycle(easy, transfer)
            transfer.finish(.failure(error))
        }
    }

    mutating func cancel(_ transfer: CurlTransfer) {
        guard let easy = self.running.first(where: { $0.value.transfer === transfer })?.key else { return }
        self.remove(easy)
        transfer.finish(.failure(HTTPError(.cancelled)))
    }

    /// Waits for the next event, deadline or wake-up, lets libcurl work on it, and reports what is finished.
    ///
    /// - Returns: Whether the descriptor that wakes is to be read.
    mutating func wait() -> Bool {
        // One second at most: a lost wake-up could not hurt much.
        let now = ContinuousClock.now
        let nearest = self.handles.compactMap(\.deadline).min() ?? now + .seconds(1)
        let milliseconds = min(1_000, max(0, ((nearest - now) / .milliseconds(1)).rounded(.up)))
        let count = epoll_wait(self.epoll, &self.events, CInt(self.events.count), CInt(milliseconds))
        var isWoken = false
        var left: CInt = 0
        for event in self.events.prefix(Int(max(0, count))) {
            guard event.data.u64 != Self.wakeupMark else {
                isWoken = true
                continue
            }
            let handle = self.handles[Int(event.data.u64 >> 32)]
            var action: CInt = 0
            if event.events & EPOLLIN.rawValue != 0 { action |= CURL_CSELECT_IN }
            if event.events & EPOLLOUT.rawValue != 0 { action |= CURL_CSELECT_OUT }
            if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { action |= CURL_CSELECT_ERR }
            curl_multi_socket_action(
                handle.multi, CInt(truncatingIfNeeded: event.data.u64 & 0xffff_ffff), action, &left)
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
        for (easy, entry) in self.running {
            self.remove(easy)
            entry.transfer.finish(.failure(HTTPError(.cancelled)))
        }
        for easy in self.idle { curl_easy_cleanup(easy) }
        for handle in self.handles { handle.close() }
    }

    private mutating func report(_ handle: CurlHandle) {
        var left: CInt = 0
        while let message = curl_multi_info_read(handle.multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let entry = self.running[easy]
            else { continue }
            // Read before the handle is removed: that frees the message.
            let result = entry.transfer.result(of: easy, code: message.pointee.data.result)
            self.remove(easy)
            entry.transfer.finish(result)
        }
    }

    private mutating func handle(for policy: EgressPolicy) -> CurlHandle? {
        if let number = self.numbers[policy] { return self.handles[number] }
        guard let handle = CurlHandle(number: self.handles.count, epoll: self.epoll) else { return nil }
        self.numbers[policy] = self.handles.count
        self.handles.append(handle)
        return handle
    }

    private mutating func remove(_ easy: UnsafeMutableRawPointer) {
        guard let entry = self.running.removeValue(forKey: easy) else { return }
        curl_multi_remove_handle(entry.handle.multi, easy)
        self.recycle(easy, entry.transfer)
    }

    private mutating func recycle(_ easy: UnsafeMutableRawPointer, _ transfer: CurlTransfer) {
        // Also forgets the pointers to the transfer.
        curl_easy_reset(easy)
        transfer.release()
        if self.idle.count < 512 { self.idle.append(easy) } else { curl_easy_cleanup(easy) }
    }
}

/// One multi handle, and what libcurl last asked for it. Lives on the thread of ``CurlMulti``.
final class CurlHandle {
    let multi: UnsafeMutableRawPointer
    /// When libcurl wants to be called without an event.
    var deadline: ContinuousClock.Instant?
    private let number: Int
    private let epoll: CInt

    init?(number: Int, epoll: CInt) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.number = number
        self.epoll = epoll
        // Idle connections kept: as many as a dispatcher has under way. Fewer, and a busy one would do nothing but
        // shake hands.
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 512)
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = ccurl_multi_set_socket(multi, watchSocket, context)
        _ = ccurl_multi_set_timer(multi, timerChanged, context)
    }

    func close() { curl_multi_cleanup(self.multi) }

    fileprivate func watch(_ socket: curl_socket_t, for what: CInt) {
        var event = epoll_event()
        event.data.u64 = UInt64(self.number) << 32 | UInt64(UInt32(bitPattern: socket))
        switch what {
        case CURL_POLL_IN: event.events = EPOLLIN.rawValue
        case CURL_POLL_OUT: event.events = EPOLLOUT.rawValue
        case CURL_POLL_INOUT: event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue
        default:
            epoll_ctl(self.epoll, EPOLL_CTL_DEL, socket, &event)
            return
        }
        if epoll_ctl(self.epoll, EPOLL_CTL_MOD, socket, &event) != 0, errno == ENOENT {
            epoll_ctl(self.epoll, EPOLL_CTL_ADD, socket, &event)
        }
    }

    fileprivate func setTimer(milliseconds: Int) {
        self.deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }
}

private func handle(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
    context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
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
