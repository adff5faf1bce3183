internal import CCurl
internal import Foundation
internal import Synchronization

/// libcurl's multi handles, one for each egress policy in use, driven by one thread over one epoll.
///
/// libcurl forbids the use of a handle by two threads at once, so everything happens on that thread; callers only
/// enqueue. All transfers share it, so no callback of libcurl may block. Kept-alive connections belong to a multi
/// handle: with one per policy, a request under a strict policy never meets a connection that was opened under a lax one.
final class CurlMulti: Sendable {
    private let core: Core

    /// - Parameter certificateAuthorities: A PEM file used instead of the system's certificate store.
    /// - Throws: ``HTTPError/Code/localFault`` if libcurl cannot start or no descriptors are free.
    init(certificateAuthorities: String? = nil) throws(HTTPError) {
        guard Self.globalInitialization == CURLE_OK else { throw HTTPError(.localFault, "libcurl cannot start") }
        let core = try Core(certificateAuthorities: certificateAuthorities)
        self.core = core
        let thread = Thread { core.run() }
        thread.name = "curl"
        thread.start()
    }

    deinit { self.close() }

    /// Sends a request. Cancelling the task ends the transfer at once.
    ///
    /// - Parameters:
    ///   - policy: Which addresses may be connected to.
    ///   - addresses: What the request's host was resolved to; `nil` for a host that is an address.
    /// - Throws: ``HTTPError`` if no complete response header arrived.
    func send(
        _ request: HTTPRequest, policy: EgressPolicy, addresses: [IPAddress]? = nil
    ) async throws(HTTPError) -> HTTPResponse {
        let route = try CurlRoute(for: request, policy: policy)
        return try await self.send(request, by: route, addresses: addresses)
    }

    /// The same for a route that is known, which makes it cheaper.
    func send(
        _ request: HTTPRequest, by route: CurlRoute, addresses: [IPAddress]? = nil
    ) async throws(HTTPError) -> HTTPResponse {
        let pending = PendingResponse()
        let transfer = CurlTransfer(request: request, route: route, addresses: addresses) { pending.resume($0) }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pending.wait(continuation)
                self.submit([transfer])
            }
        } onCancel: {
            self.cancel(transfer)
        }
        return try result.get()
    }

    /// Starts transfers. Each reports its result to its own closure.
    func submit(_ transfers: [CurlTransfer]) { self.core.submit(transfers.map { .start($0) }) }

    /// Ends a transfer, unless it has ended.
    func cancel(_ transfer: CurlTransfer) {
        // The flag covers a cancellation before the start, the command one after it.
        transfer.isCancelled.store(true, ordering: .releasing)
        self.core.submit([.cancel(transfer)])
    }

    /// Ends the thread. Active and later requests end with ``HTTPError/Code/cancelled``.
    func close() { self.core.submit([.close]) }

    /// `curl_global_init` must run once before any other call.
    private static let globalInitialization = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The continuation of the task that waits for a transfer.
private final class PendingResponse: Sendable {
    private let continuation = Mutex<CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>?>(nil)

    func wait(_ continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>) {
        self.continuation.withLock { $0 = continuation }
    }

    func resume(_ result: Result<HTTPResponse, HTTPError>) {
        let continuation = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: result)
    }
}

extension CurlMulti {
    fileprivate enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        case close
    }

    /// State shared by the thread and its callers: a list of commands and the wake-up descriptor.
    fileprivate final class Core: Sendable {
        private struct Inbox: Sendable {
            var commands: [Command] = []
            var isClosed = false
        }

        private let epoll: CInt
        private let wakeup: CInt
        private let certificateAuthorities: String?
        private let inbox = Mutex(Inbox())

        init(certificateAuthorities: String?) throws(HTTPError) {
            self.certificateAuthorities = certificateAuthorities
            self.epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
            self.wakeup = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u64 = CurlLoop.wakeupMark
            guard self.epoll >= 0, self.wakeup >= 0, epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.wakeup, &event) == 0
            else { throw HTTPError(.localFault, String(cString: strerror(errno))) }
        }

        deinit {
            Foundation.close(self.epoll)
            Foundation.close(self.wakeup)
        }

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
        func run() {
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
    }
}
