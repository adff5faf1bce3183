internal import CSystem
internal import Dispatch
internal import Glibc
internal import InspectCore
internal import Synchronization

/// Keeps one warm parent running, and starts the next when it ends: at once the first time, then with growing delays. A parent
/// that is due for renewal serves until the next one has loaded its models.
final class WarmParentSupervisor: Sendable {
    private let configuration: AnalyzerConfiguration
    private let onEvent: @Sendable (AnalyzerEvent) -> Void
    /// For starting, which blocks; only one parent may start at a time.
    private let queue = DispatchQueue(label: "inspectd.analyzer.supervisor")
    private let state = Mutex(State())

    private struct State {
        var current: WarmParent?
        /// Replaced parents, which end with their last analyzers.
        var retired: [WarmParent] = []
        /// A renewal is scheduled or under way.
        var isRenewing = false
        /// When the current parent was started.
        var lastStartNanoseconds: UInt64 = 0
        var isStopped = false
        /// After failed starts and early deaths of parents.
        var backoff = Backoff(from: .milliseconds(100), to: WarmParentSupervisor.longestDelay)
        /// By the clock of `csys_now_nanoseconds()`.
        var notBeforeNanoseconds: UInt64 = 0
        var lastError = InspectError(.analyzerUnavailable, "the pool was not started")
        /// At most one start is scheduled, however many callers fail meanwhile.
        var startIsScheduled = false
        var onRestart: (@Sendable () -> Void)?
    }

    /// A parent that dies before this age counts as a failed start.
    private static let youth: Duration = .seconds(5)
    private static let longestDelay: Duration = .seconds(30)
    /// How long a caller waits for the next start to be due before it gets the last error.
    private static let patience: Duration = .seconds(2)

    init(_ configuration: AnalyzerConfiguration, onEvent: @escaping @Sendable (AnalyzerEvent) -> Void) {
        self.configuration = configuration
        self.onEvent = onEvent
    }

    /// Called when a parent has replaced another.
    func onRestart(_ action: @escaping @Sendable () -> Void) { self.state.withLock { $0.onRestart = action } }

    var isReady: Bool { self.state.withLock { $0.current != nil } }
    var current: WarmParent? { self.state.withLock { $0.current } }
    var isStopped: Bool { self.state.withLock { $0.isStopped } }
    var pid: Int32? { self.state.withLock { $0.current?.pid } }

    /// The running parent; starts one if there is none. Blocks.
    func parent() throws(InspectError) -> WarmParent {
        if let current = self.state.withLock({ $0.current }) { return current }
        let result = self.queue.sync { Result { () throws(InspectError) in try self.startIfDue() } }
        return try result.get()
    }

    private func startIfDue() throws(InspectError) -> WarmParent {
        let (current, isStopped, notBeforeNanoseconds, lastError) = self.state.withLock {
            ($0.current, $0.isStopped, $0.notBeforeNanoseconds, $0.lastError)
        }
        if let current { return current }
        guard !isStopped else { throw InspectError(.analyzerUnavailable, "the pool was stopped") }
        let now = csys_now_nanoseconds()
        if notBeforeNanoseconds > now {
            guard notBeforeNanoseconds - now <= Self.patience.nanoseconds else { throw lastError }
            usleep(UInt32((notBeforeNanoseconds - now) / 1000))
        }
        do throws(InspectError) {
            return try self.startNext()
        } catch {
            let delay = self.noteFailure(error)
            self.onEvent(.parentFailed(reason: "\(error)", retry: delay))
            self.startLater()
            throw error
        }
    }

    /// Starts a parent; a running one then forks no new analyzer.
    private func startNext() throws(InspectError) -> WarmParent {
        let parent = try WarmParent.start(
            self.configuration, isUnwanted: { self.isStopped }, onEnd: { [weak self] in self?.parentEnded($0, $1) })
        self.onEvent(.parentStarted(pid: parent.pid, loadTime: parent.loadTime))
        let isServing = self.state.withLock { state in
            state.lastStartNanoseconds = parent.startedNanoseconds
            // It may have ended between its start and here, when it was not the current one yet.
            guard parent.isAlive else { return false }
            if let old = state.current { state.retired.append(old) }
            state.current = parent
            return true
        }
        guard isServing else { throw InspectError(.analyzerUnavailable, "the analyzers' parent ended while starting") }
        return parent
    }

    // MARK: Renewing the parent

    /// Called for each analyzer that was forked.
    func noteFork(of parent: WarmParent) {
        if parent.forks >= self.configuration.forksPerParent {
            self.renew(parent, because: .forks)
        } else if self.configuration.clock() - parent.startedNanoseconds > self.configuration.parentLifetime.nanoseconds
        {
            self.renew(parent, because: .age)
        }
    }

    /// Called for an analyzer that crashed.
    func noteCrash(of parent: WarmParent) { self.renew(parent, because: .crash) }

    private func renew(_ parent: WarmParent, because reason: ParentRenewal) {
        let delay: Duration? = self.state.withLock { state in
            guard state.current === parent, !state.isRenewing, !state.isStopped else { return nil }
            state.isRenewing = true
            let (now, due) = (
                csys_now_nanoseconds(), state.lastStartNanoseconds + self.configuration.restBetweenParents.nanoseconds
            )
            return .nanoseconds(Int64(due > now ? due - now : 0))
        }
        if let delay {
            self.renew(parent, because: reason, after: delay, Backoff(from: .seconds(1), to: Self.longestDelay))
        }
    }

    private func renew(
        _ parent: WarmParent, because reason: ParentRenewal, after delay: Duration, _ backoff: Backoff
    ) {
        self.queue.asyncAfter(deadline: .now() + delay.seconds) { [weak self] in
            guard let self else { return }
            // If it has ended meanwhile, its successor runs or is starting.
            guard self.state.withLock({ $0.current === parent && !$0.isStopped }) else {
                return self.state.withLock { $0.isRenewing = false }
            }
            do {
                let next = try self.startNext()
                self.state.withLock { $0.isRenewing = false }
                self.onEvent(.parentReplaced(pid: parent.pid, by: next.pid, reason: reason))
                self.state.withLock { $0.onRestart }?()
                parent.retire()
            } catch {
                var backoff = backoff
                let retry = backoff.next(1)
                self.onEvent(.parentKept(reason: "\(error)", retry: retry))
                self.renew(parent, because: reason, after: retry, backoff)
            }
        }
    }

    private func noteFailure(_ error: InspectError) -> Duration {
        self.state.withLock { state in
            state.lastError = error
            let delay = state.backoff.next(1)
            state.notBeforeNanoseconds = csys_now_nanoseconds() + delay.nanoseconds
            return delay
        }
    }

    /// Starts a parent when the next start is due, unless a caller gets there first.
    private func startLater() {
        let delay: Duration? = self.state.withLock { state in
            guard !state.startIsScheduled, !state.isStopped else { return nil }
            state.startIsScheduled = true
            let now = csys_now_nanoseconds()
            return .nanoseconds(Int64(state.notBeforeNanoseconds > now ? state.notBeforeNanoseconds - now : 0))
        }
        guard let delay else { return }
        self.queue.asyncAfter(deadline: .now() + delay.seconds) { [weak self] in
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
        let (isExpected, wasYoung) = self.state.withLock { state in
            if state.current === parent { state.current = nil }
            let count = state.retired.count
            state.retired.removeAll { $0 === parent }
            return (
                state.isStopped || state.retired.count < count,
                csys_now_nanoseconds() - parent.startedNanoseconds < Self.youth.nanoseconds
            )
        }
        guard !isExpected else { return }
        self.onEvent(.parentEnded(pid: parent.pid, cause: end?.cause))
        if wasYoung {
            let cause = end?.cause ?? "unknown cause"
            _ = self.noteFailure(InspectError(.analyzerUnavailable, "the analyzers' parent ended (\(cause))"))
        } else {
            self.state.withLock { $0.backoff.reset() }
        }
        self.startLater()
    }

    /// Kills a parent that does not end when asked, and waits until it is gone.
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
        // A start under way is abandoned or finishes first.
        let parents = self.queue.sync { self.state.withLock { ($0.current.map { [$0] } ?? []) + $0.retired } }
        for parent in parents { parent.requestStop() }
        for parent in parents {
            self.awaitEnd(of: parent)
            if parent.isAlive { self.discard(parent) }
        }
    }
}
