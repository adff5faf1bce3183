internal import CSystem
internal import Dispatch
internal import Glibc
internal import InspectCore
internal import Synchronization

/// Analyzer processes that are ready in advance. None has seen a byte of any job.
///
/// One for each driver: all may end their jobs at the same moment, and the next jobs then need not wait. A process that is taken
/// is replaced at once, while its job runs.
final class AnalyzerReserve: Sendable {
    private let configuration: AnalyzerConfiguration
    private let supervisor: WarmParentSupervisor
    private let onEvent: @Sendable (AnalyzerEvent) -> Void
    /// For forking, which blocks; the parent forks one process after the other.
    private let queue = DispatchQueue(label: "inspectd.analyzer.reserve")
    private let state = Mutex(State())

    private struct State {
        var ready: [ChildConnection] = []
        var retryIsScheduled = false
        var isClosed = false
    }

    /// How often a fork is tried for a waiting job, and the waits between. The kernel refuses forks while it is short of processes or
    /// memory, which is temporary.
    private static let attempts = 5
    private static let pauses = Backoff(from: .milliseconds(50), to: .milliseconds(400))
    /// How long the reserve stays empty after a failure before it is refilled without a request.
    private static let retryPause = DispatchTimeInterval.milliseconds(500)

    init(
        configuration: AnalyzerConfiguration, supervisor: WarmParentSupervisor,
        onEvent: @escaping @Sendable (AnalyzerEvent) -> Void
    ) {
        self.configuration = configuration
        self.supervisor = supervisor
        self.onEvent = onEvent
    }

    /// Processes that wait for a job.
    var processIDs: [Int32] { self.state.withLock { $0.ready.map(\.pid) } }

    /// An unused process. Blocks while none is ready.
    func take() throws(InspectError) -> ChildConnection {
        if let child = self.pop() {
            self.refill()
            return child
        }
        let begun = csys_now_nanoseconds()
        // After the fork under way, if any: its process can be used.
        let child = try self.queue.sync { Result { () throws(InspectError) in try self.popOrFork() } }.get()
        self.onEvent(.processAwaited(.nanoseconds(Int64(csys_now_nanoseconds() - begun))))
        self.refill()
        return child
    }

    private func pop() -> ChildConnection? {
        while let child = self.state.withLock({ $0.ready.popLast() }) {
            if child.isIdle { return child }
            // It ended, or was killed, while idle.
            let end: ProcessEnd? = if case .ended(let end) = child.kill(patience: .seconds(5)) { end } else { nil }
            self.onEvent(
                .processEnded(
                    driver: nil, end: end, reason: "stage idle: \(end?.cause ?? "unknown cause")",
                    error: .analyzerCrashed, expected: false))
        }
        return nil
    }

    /// Fills the reserve in advance. A failure here recurs, with its error, on the next request.
    func refill() {
        guard self.configuration.forksAhead else { return }
        self.queue.async { try? self.fill() }
    }

    /// Fills the reserve and reports errors. Blocks.
    func start() throws(InspectError) {
        try self.queue.sync { Result { () throws(InspectError) in try self.fill() } }.get()
    }

    /// Replaces processes of earlier parents by those of the current one.
    func renew() {
        self.dismissOld()
        self.refill()
    }

    private func dismissOld() {
        let parent = self.supervisor.current
        let old = self.state.withLock { state in
            let old = state.ready.filter { $0.parent !== parent }
            state.ready.removeAll { $0.parent !== parent }
            return old
        }
        for child in old { child.hangUp() }
    }

    /// Ends the idle processes and stops forking.
    func close() {
        let rest = self.state.withLock { state in
            state.isClosed = true
            defer { state.ready = [] }
            return state.ready
        }
        for child in rest { child.hangUp() }
    }

    // MARK: On the queue

    private func fill() throws(InspectError) {
        while self.state.withLock({ !$0.isClosed && $0.ready.count < self.configuration.count }),
            !self.supervisor.isStopped
        {
            do {
                let child = try self.fork()
                self.state.withLock { state in if !state.isClosed { state.ready.append(child) } }
                // It was replaced while it forked. Its process could wait here for ever, since the newest is taken first, and would
                // keep the parent and its models in memory.
                if child.parent !== self.supervisor.current { self.dismissOld() }
            } catch {
                self.retryLater()
                throw error
            }
        }
    }

    private func retryLater() {
        let isFirst = self.state.withLock { state in
            defer { state.retryIsScheduled = true }
            return !state.retryIsScheduled && !state.isClosed
        }
        guard isFirst, self.configuration.forksAhead else { return }
        self.queue.asyncAfter(deadline: .now() + Self.retryPause) { [weak self] in
            guard let self else { return }
            self.state.withLock { $0.retryIsScheduled = false }
            // Without a parent the supervisor tries again.
            if self.supervisor.isReady { try? self.fill() }
        }
    }

    private func popOrFork() throws(InspectError) -> ChildConnection {
        if let child = self.pop() { return child }
        var backoff = Self.pauses
        for _ in 1..<Self.attempts {
            if let child = try? self.fork() { return child }
            guard self.supervisor.isReady else { break }
            usleep(UInt32(backoff.next(1) / .microseconds(1)))
        }
        return try self.fork()
    }

    private func fork() throws(InspectError) -> ChildConnection {
        let child = try self.forkOnce()
        self.onEvent(.processStarted(forkTime: child.forkTime))
        return child
    }

    private func forkOnce() throws(InspectError) -> ChildConnection {
        for _ in 0..<3 {
            let parent = try self.supervisor.parent()
            do throws(ChildConnection.ForkFailure) {
                let child = try ChildConnection(parent: parent, configuration: self.configuration)
                self.supervisor.noteFork(of: parent)
                return child
            } catch {
                if case .childFailed(let error) = error { throw error }
                self.supervisor.discard(parent)
            }
        }
        throw InspectError(.analyzerUnavailable, "the analyzers' parent ends on each request for a process")
    }
}
