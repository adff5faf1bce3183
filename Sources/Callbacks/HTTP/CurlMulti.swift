internal import CCurl
internal import Foundation
internal import Synchronization

/// One libcurl multi handle under one egress policy, driven by one thread.
///
/// libcurl forbids the use of a handle by two threads at once, so everything but `curl_multi_wakeup` happens on that
/// thread; callers only enqueue. All transfers share it, so no callback of libcurl may block. Kept-alive connections
/// belong to the multi handle: with one per policy, a request under a strict policy never meets a connection that was
/// opened under a lax one.
final class CurlMulti: Sendable {
    private let core: Core

    /// - Parameters:
    ///   - policy: Which addresses may be connected to.
    ///   - certificateAuthorities: A PEM file used instead of the system's certificate store.
    /// - Throws: ``HTTPError/Code/localFault`` if libcurl cannot start.
    init(policy: EgressPolicy, certificateAuthorities: String? = nil) throws(HTTPError) {
        guard Self.globalInitialization == CURLE_OK, let multi = curl_multi_init() else {
            throw HTTPError(.localFault, "libcurl cannot start")
        }
        // Idle connections kept: enough for several hundred endpoints without approaching 1,024 descriptors.
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 256)
        let core = Core(multi: multi, policy: policy, certificateAuthorities: certificateAuthorities)
        self.core = core
        let thread = Thread { core.run() }
        thread.name = policy.allowsPrivate ? "curl-private" : "curl-public"
        thread.start()
    }

    deinit { self.close() }

    /// Sends a request. Cancelling the task ends the transfer at once.
    ///
    /// - Throws: ``HTTPError`` if no complete response header arrived.
    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let transfer = CurlTransfer(request: request, policy: self.core.policy)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.continuation = continuation
                self.core.submit(.start(transfer))
            }
        } onCancel: {
            // The flag covers a cancellation that overtakes the start, the command one that comes later.
            transfer.isCancelled.store(true, ordering: .releasing)
            self.core.submit(.cancel(transfer))
        }
        return try result.get()
    }

    /// Ends the thread. Requests under way end with ``HTTPError/Code/cancelled``, and so does every later one.
    func close() { self.core.submit(.close) }

    /// `curl_global_init` must run once before any other call.
    private static let globalInitialization = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

extension CurlMulti {
    fileprivate enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        case close
    }

    /// What the thread and the callers share.
    ///
    /// `@unchecked Sendable`: of the multi handle, callers use only `curl_multi_wakeup`, the one function that libcurl
    /// allows from other threads, and only under the lock and before the handle is freed.
    fileprivate final class Core: @unchecked Sendable {
        private struct Inbox: Sendable {
            var commands: [Command] = []
            var isClosed = false
        }

        let policy: EgressPolicy
        private let multi: UnsafeMutableRawPointer
        private let certificateAuthorities: String?
        private let inbox = Mutex(Inbox())

        init(multi: UnsafeMutableRawPointer, policy: EgressPolicy, certificateAuthorities: String?) {
            self.multi = multi
            self.policy = policy
            self.certificateAuthorities = certificateAuthorities
        }

        func submit(_ command: Command) {
            let isAccepted = self.inbox.withLock { inbox in
                guard !inbox.isClosed else { return false }
                inbox.commands.append(command)
                if inbox.commands.count == 1 { curl_multi_wakeup(self.multi) }
                return true
            }
            if !isAccepted, case .start(let transfer) = command { transfer.finish(.failure(HTTPError(.cancelled))) }
        }

        /// The thread's whole life.
        func run() {
            // Signals belong to the main thread; and a write to a closed socket must give EPIPE, not SIGPIPE.
            var signals = sigset_t()
            sigfillset(&signals)
            pthread_sigmask(SIG_BLOCK, &signals, nil)

            var loop = CurlLoop(
                multi: self.multi, policy: self.policy, certificateAuthorities: self.certificateAuthorities)
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
                    case .start(let transfer): loop.start(transfer)
                    case .cancel(let transfer): loop.cancel(transfer)
                    case .close: isClosing = true
                    }
                }
                if isClosing { break }
                loop.advance()
            }
            loop.end()
        }
    }
}

/// The state of the thread: which transfers run on which easy handle.
private struct CurlLoop {
    let multi: UnsafeMutableRawPointer
    let policy: EgressPolicy
    let certificateAuthorities: String?
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Handles kept for the next transfers: making one costs several allocations.
    private var idle: [UnsafeMutableRawPointer] = []

    init(multi: UnsafeMutableRawPointer, policy: EgressPolicy, certificateAuthorities: String?) {
        self.multi = multi
        self.policy = policy
        self.certificateAuthorities = certificateAuthorities
    }

    mutating func start(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled.load(ordering: .acquiring) else {
            return transfer.finish(.failure(HTTPError(.cancelled)))
        }
        guard let easy = self.idle.popLast() ?? curl_easy_init() else {
            return transfer.finish(.failure(HTTPError(.localFault, "out of memory")))
        }
        do throws(HTTPError) {
            try transfer.configure(easy, certificateAuthorities: self.certificateAuthorities)
            guard curl_multi_add_handle(self.multi, easy) == CURLM_OK else {
                throw HTTPError(.localFault, "libcurl cannot add a transfer")
            }
            self.running[easy] = transfer
        } catch {
            self.recycle(easy, transfer)
            transfer.finish(.failure(error))
        }
    }

    mutating func cancel(_ transfer: CurlTransfer) {
        guard let easy = self.running.first(where: { $0.value === transfer })?.key else { return }
        self.remove(easy, transfer)
        transfer.finish(.failure(HTTPError(.cancelled)))
    }

    /// Lets libcurl work on whatever is ready, reports what is finished, then waits for the next event or wake-up.
    mutating func advance() {
        var count: CInt = 0
        _ = curl_multi_perform(self.multi, &count)
        var left: CInt = 0
        while let message = curl_multi_info_read(self.multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = self.running[easy]
            else { continue }
            // Read before the handle is removed: that frees the message.
            let result = transfer.result(of: easy, code: message.pointee.data.result)
            self.remove(easy, transfer)
            transfer.finish(result)
        }
        // One second at most: kept-alive connections are looked after, and a lost wake-up could not hurt much.
        _ = curl_multi_poll(self.multi, nil, 0, 1_000, nil)
    }

    mutating func end() {
        for (easy, transfer) in self.running {
            self.remove(easy, transfer)
            transfer.finish(.failure(HTTPError(.cancelled)))
        }
        for easy in self.idle { curl_easy_cleanup(easy) }
        curl_multi_cleanup(self.multi)
    }

    private mutating func remove(_ easy: UnsafeMutableRawPointer, _ transfer: CurlTransfer) {
        curl_multi_remove_handle(self.multi, easy)
        self.running[easy] = nil
        self.recycle(easy, transfer)
    }

    private mutating func recycle(_ easy: UnsafeMutableRawPointer, _ transfer: CurlTransfer) {
        // Also forgets the pointers to the transfer.
        curl_easy_reset(easy)
        transfer.release()
        if self.idle.count < 64 { self.idle.append(easy) } else { curl_easy_cleanup(easy) }
    }
}
