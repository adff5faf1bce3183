internal import CCurl
internal import Foundation

/// An easy handle with what libcurl's callbacks get: the same for its whole life, whichever transfer it serves. Lives on the
/// thread of ``CurlMulti``.
final class CurlSlot {
    let easy: UnsafeMutableRawPointer
    let sockets: CurlSockets
    /// What the handle is set up for.
    var profile: CurlTransfer.Profile?
    var transfer: CurlTransfer?
    var handle: CurlHandle?

    init?(_ sockets: CurlSockets) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.sockets = sockets
    }

    deinit { curl_easy_cleanup(self.easy) }
}

/// Which sockets epoll watches. Lives on the thread of ``CurlMulti``.
///
/// libcurl asks for a socket with each request and gives it up with each answer, two or three system calls a request. So what
/// is given up stays watched until something arrives that nobody asked for: mostly the next request comes first.
final class CurlSockets {
    private let epoll: CInt
    /// By descriptor: what epoll watches, and what libcurl wants. 0: nothing.
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

    /// Whether libcurl asked for what has happened on a socket; else it is not watched any more.
    func isWanted(_ socket: curl_socket_t) -> Bool {
        let place = Int(socket)
        guard self.wanted[place] == 0 else { return true }
        var event = epoll_event()
        epoll_ctl(self.epoll, EPOLL_CTL_DEL, socket, &event)
        self.watched[place] = 0
        return false
    }

    /// A socket that was opened or is closed: nothing of what was known of its number holds.
    func forget(_ socket: curl_socket_t) {
        guard socket >= 0, Int(socket) < self.watched.count else { return }
        self.watched[Int(socket)] = 0
        self.wanted[Int(socket)] = 0
    }
}
