internal import CCurl
internal import Foundation
internal import Synchronization

/// libcurl's multi handles, one for each egress policy in use, driven by one thread over one epoll.
///
/// libcurl forbids the use of a handle by two threads at once, so everything happens on that thread; callers only
/// enqueue. All transfers share it, so no callback of libcurl may block. Kept-alive connections belong to a multi
/// handle: with one per policy, a request under a strict policy never meets a connection that was opened under a lax one.
///
/// The thread keeps it alive, until it is told to close.
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

    /// Has the thread carry out commands, in their order. After ``Command/close`` requests end with ``HTTPError/Code/cancelled``.
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
