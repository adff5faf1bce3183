internal import CSystem
internal import Dispatch
internal import Glibc
internal import InspectCore
internal import Synchronization

/// Keeps one warm parent running, and starts the next when it ends: at once the first time, then ever more slowly.
final class WarmParentSupervisor: Sendable {
    private let configuration: AnalyzerConfiguration
    private let onEvent: @Sendable (AnalyzerEvent) -> Void
    /// Starting blocks, and only one may start at a time.
    private let queue = DispatchQueue(label: "inspectd.analyzer.supervisor")
    private let state = Mutex(State())

    private struct State {
        var current: WarmParent?
        var isStopped = false
        /// Starts that failed, and parents that died young, in a row.
        var failures = 0
        /// On the clock of `csys_now()`.
        var notBefore: UInt64 = 0
        var lastError = InspectError(.analyzerUnavailable, "the pool was not started")
        /// One start at most waits for its time, however many callers fail meanwhile.
        var startIsScheduled = false
        var onRestart: (@Sendable () -> Void)?
    }

    /// A parent that dies before this age counts as a failed start.
    private static let youth: UInt64 = 5_000_000_000
    private static let firstDelay: UInt64 = 100_000_000
    private static let longestDelay: UInt64 = 30_000_000_000
    /// A caller waits so long for the next start to be due; if it takes longer, it gets the last error.
    private static let patience: UInt64 = 2_000_000_000

    init(_ configuration: AnalyzerConfiguration, onEvent: @escaping @Sendable (AnalyzerEvent) -> Void) {
        self.configuration = configuration
        self.onEvent = onEvent
    }

    /// Called whenever a parent has replaced another.
    func onRestart(_ action: @escaping @Sendable () -> Void) { self.state.withLock { $0.onRestart = action } }

    var isReady: Bool { self.state.withLock { $0.current != nil } }
    var isStopped: Bool { self.state.withLock { $0.isStopped } }
    var pid: Int32? { self.state.withLock { $0.current?.pid } }

    /// The running parent; starts one if there is none. Blocks.
    func parent() throws(InspectError) -> WarmParent {
        if let current = self.state.withLock({ $0.current }) { return current }
        let result = self.queue.sync { Result { () throws(InspectError) in try self.startIfDue() } }
        return try result.get()
    }

    private func startIfDue() throws(InspectError) -> WarmParent {
        let (current, isStopped, notBefore, lastError) = self.state.withLock {
            ($0.current, $0.isStopped, $0.notBefore, $0.lastError)
        }
        if let current { return current }
        guard !isStopped else { throw InspectError(.analyzerUnavailable, "the pool was stopped") }
        let now = csys_now()
        if notBefore > now {
            guard notBefore - now <= Self.patience else { throw lastError }
            usleep(UInt32((notBefore - now) / 1000))
        }
        do throws(InspectError) {
            let parent = try WarmParent.start(
                self.configuration, isUnwanted: { self.isStopped }, onEnd: { [weak self] in self?.parentEnded($0, $1) })
            self.onEvent(.parentStarted(pid: parent.pid, loadTime: parent.loadTime))
            // It may have ended between its start and here, before it could be told from the current one.
            self.state.withLock { $0.current = parent.isAlive ? parent : nil }
            return parent
        } catch {
            let delay = self.noteFailure(error)
            self.onEvent(.parentFailed(reason: "\(error)", retry: .nanoseconds(Int64(delay))))
            self.startLater()
            throw error
        }
    }

    private func noteFailure(_ error: InspectError) -> UInt64 {
        self.state.withLock { state in
            state.failures += 1
            state.lastError = error
            let delay = min(Self.longestDelay, Self.firstDelay << UInt64(min(state.failures - 1, 16)))
            state.notBefore = csys_now() + delay
            return delay
        }
    }

    /// Starts a parent when the next start is due, unless a caller gets there first.
    private func startLater() {
        let delay: UInt64? = self.state.withLock { state in
            guard !state.startIsScheduled, !state.isStopped else { return nil }
            state.startIsScheduled = true
            let now = csys_now()
            return state.notBefore > now ? state.notBefore - now : 0
        }
        guard let delay else { return }
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [weak self] in
            guard let self else { return }
            self.state.withLock { $0.startIsScheduled = false }
            if (try? self.startIfDue()) != nil {
                self.state.withLock { $0.onRestart }?()
            } else {
                self.startLater()
            }
        }
    }

    private func parentEnded(_ parent: WarmParent, _ end: ProcessEnd?) {
        let (isStopped, wasYoung) = self.state.withLock { state in
            if state.current === parent { state.current = nil }
            return (state.isStopped, csys_now() - parent.started < Self.youth)
        }
        guard !isStopped else { return }
        self.onEvent(.parentEnded(pid: parent.pid, cause: end?.cause))
        if wasYoung {
            let cause = end?.cause ?? "unknown cause"
            _ = self.noteFailure(InspectError(.analyzerUnavailable, "the analyzers' parent ended (\(cause))"))
        } else {
            self.state.withLock { $0.failures = 0 }
        }
        self.startLater()
    }

    /// Kills a parent that does not do what it was asked, and waits until it is gone.
    func discard(_ parent: WarmParent) {
        parent.killItself()
        self.awaitEnd(of: parent)
    }

    private func awaitEnd(of parent: WarmParent) {
        for _ in 0..<5000 where parent.isAlive { usleep(1000) }
    }

    /// Ends the parent and with it every analyzer; returns when they are gone. Blocks.
    func stop() {
        self.state.withLock { $0.isStopped = true }
        // A start that is under way gives up or finishes first.
        guard let current = self.queue.sync(execute: { self.state.withLock { $0.current } }) else { return }
        current.requestStop()
        self.awaitEnd(of: current)
        if current.isAlive { self.discard(current) }
    }
}
