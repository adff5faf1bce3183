internal import CCurl
internal import Foundation

/// An easy handle with the context of libcurl's callbacks, which stays the same whichever transfer it serves. Lives on the
/// thread of ``CurlMulti``.
final class CurlEasyHandle {
    let easy: UnsafeMutableRawPointer
    let sockets: CurlSockets
    /// The route that the handle is configured for.
    var route: CurlRoute?
    var transfer: CurlTransfer?
    var multiHandle: CurlMultiHandle?
    let content = CurlContent()
    var vetted = CurlVetted()

    init?(_ sockets: CurlSockets) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.sockets = sockets
    }

    deinit { curl_easy_cleanup(self.easy) }
}

/// A request's headers and body as libcurl borrows them: one block of memory, reused for the next request. Lives on the
/// thread of ``CurlMulti``.
final class CurlContent {
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)
    /// Largest block kept for the next request, in bytes: a body may hold a whole result, and a handle may stay idle for
    /// long.
    private static let kept = 8_192

    deinit { self.memory.deallocate() }

    /// Lays out a request. The result of the previous call becomes invalid.
    ///
    /// - Throws: ``HTTPError/Code/requestInvalid`` for a header that must not reach libcurl.
    func fill(
        _ headers: [HTTPRequest.Header], _ body: [UInt8]
    ) throws(HTTPError) -> (headers: UnsafeMutablePointer<curl_slist>, body: UnsafeRawBufferPointer) {
        // An empty value removes the header that libcurl would otherwise add.
        let first: StaticString = "Expect:"
        let nodes = (headers.count + 1) * MemoryLayout<curl_slist>.stride
        var count = nodes + first.utf8CodeUnitCount + 1 + body.count
        for header in headers { count += header.name.utf8.count + header.value.utf8.count + 3 }
        if count > self.memory.count {
            self.memory.deallocate()
            self.memory = .allocate(byteCount: max(count, 2_048), alignment: 16)
        }
        let base = self.memory.baseAddress!
        let list = base.bindMemory(to: curl_slist.self, capacity: headers.count + 1)
        var place = base + nodes
        func put(_ bytes: UnsafeRawPointer?, _ count: Int) {
            if let bytes { place.copyMemory(from: bytes, byteCount: count) }
            place += count
        }
        func begin(_ number: Int) {
            let text = place.assumingMemoryBound(to: CChar.self)
            (list + number).initialize(
                to: curl_slist(data: text, next: number < headers.count ? list + number + 1 : nil))
        }
        begin(0)
        put(first.utf8Start, first.utf8CodeUnitCount + 1)
        for (number, header) in headers.enumerated() {
            try header.validate()
            begin(number + 1)
            var (name, value) = (header.name, header.value)
            name.withUTF8 { put($0.baseAddress, $0.count) }
            ": ".utf8.withContiguousStorageIfAvailable { put($0.baseAddress, $0.count) }
            value.withUTF8 { put($0.baseAddress, $0.count) }
            place.storeBytes(of: 0, as: UInt8.self)
            place += 1
        }
        let start = place
        body.withUnsafeBytes { put($0.baseAddress, $0.count) }
        return (list, UnsafeRawBufferPointer(start: start, count: body.count))
    }

    /// Frees a block that is larger than most requests need.
    func shrink() {
        guard self.memory.count > Self.kept else { return }
        self.memory.deallocate()
        self.memory = .allocate(byteCount: 0, alignment: 16)
    }
}

/// The address that the last connection check allowed, as text.
struct CurlVetted {
    private var text = [CChar](repeating: 0, count: 1)

    init() {}

    init(_ text: UnsafePointer<CChar>) {
        self.text = Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
    }

    func holds(_ text: UnsafePointer<CChar>) -> Bool { strcmp(self.text, text) == 0 }
}

/// The addresses of a route's host that libcurl was last given.
struct CurlPin {
    private var addresses: [IPAddress] = []
    private var until: ContinuousClock.Instant?

    init() {}

    init(_ addresses: [IPAddress], at time: ContinuousClock.Instant) {
        self.addresses = addresses
        // A third of libcurl's own cache time (CURLOPT_DNS_CACHE_TIMEOUT, 60 s): it must never resolve a name itself.
        self.until = time + .seconds(20)
    }

    func holds(_ addresses: [IPAddress]) -> Bool {
        self.until.map { $0 > .now } ?? false && self.addresses == addresses
    }
}

/// Which sockets epoll watches. Lives on the thread of ``CurlMulti``.
///
/// libcurl asks for a socket with each request and releases it with each answer, two or three system calls a request. A
/// released socket therefore stays watched until unrequested data arrive: usually, the next request comes first.
final class CurlSockets {
    private let epoll: CInt
    /// By descriptor: the events that epoll watches, and those that libcurl asked for. 0: none.
    private var watched: [UInt32] = []
    private var wanted: [UInt32] = []

    init(epoll: CInt) { self.epoll = epoll }

    func watch(_ socket: curl_socket_t, for events: UInt32, mark: UInt64) {
        let place = Int(socket)
        if place >= self.watched.count {
            let more = [UInt32](repeating: 0, count: max(64, place + 1 - self.watched.count))
            self.watched += more
            self.wanted += more
        }
        self.wanted[place] = events
        guard events != 0, events != self.watched[place] else { return }
        self.watched[place] = events
        var event = epoll_event()
        event.events = events
        event.data.u64 = mark
        if epoll_ctl(self.epoll, EPOLL_CTL_MOD, socket, &event) != 0, errno == ENOENT {
            epoll_ctl(self.epoll, EPOLL_CTL_ADD, socket, &event)
        }
    }

    /// Whether libcurl asked for events of a socket; if not, the socket is no longer watched.
    func isWanted(_ socket: curl_socket_t) -> Bool {
        let place = Int(socket)
        guard self.wanted[place] == 0 else { return true }
        var event = epoll_event()
        epoll_ctl(self.epoll, EPOLL_CTL_DEL, socket, &event)
        self.watched[place] = 0
        return false
    }

    /// Forgets a descriptor's state when its socket is opened or closed.
    func forget(_ socket: curl_socket_t) {
        guard socket >= 0, Int(socket) < self.watched.count else { return }
        self.watched[Int(socket)] = 0
        self.wanted[Int(socket)] = 0
    }
}

/// One multi handle, and libcurl's last request for its timer. Lives on the thread of ``CurlMulti``.
final class CurlMultiHandle {
    let multi: UnsafeMutableRawPointer
    /// The time at which libcurl must be called even without an event.
    var deadline: ContinuousClock.Instant?
    private let number: Int
    private let sockets: CurlSockets

    init?(number: Int, sockets: CurlSockets) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.number = number
        self.sockets = sockets
        // Idle connections kept: as many as a dispatcher has requests under way. With fewer, a busy dispatcher would spend its time
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
