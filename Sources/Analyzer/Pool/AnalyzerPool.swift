package import Foundation
internal import InspectCore
internal import Synchronization

/// Analyzer processes for the worker: each attempt at a job gets one that was forked in advance and ends with the attempt.
///
/// So no process sees two jobs, and none finds what another left in memory. A process that crashes, hangs or exhausts memory
/// costs only its current request: the next request gets a new process.
package final class AnalyzerPool: Sendable {
    private let configuration: AnalyzerConfiguration
    let supervisor: WarmParentSupervisor
    let reserve: AnalyzerReserve
    let drivers: [AnalyzerDriver]
    let state: Mutex<State>

    struct State {
        var free: [Int]
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Int, any Error>)] = []
        var nextNumber: UInt64 = 1
        var isStopped = false
    }

    /// Prepares a pool; nothing runs before ``start()``.
    ///
    /// - Parameter onEvent: Called from the pool's own threads; must not block for long.
    package init(
        configuration: AnalyzerConfiguration, onEvent: @escaping @Sendable (AnalyzerEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        let supervisor = WarmParentSupervisor(configuration, onEvent: onEvent)
        let reserve = AnalyzerReserve(configuration: configuration, supervisor: supervisor, onEvent: onEvent)
        let drivers = (0..<configuration.count).map {
            AnalyzerDriver(
                index: $0, configuration: configuration, supervisor: supervisor, reserve: reserve, onEvent: onEvent)
        }
        self.supervisor = supervisor
        self.reserve = reserve
        self.drivers = drivers
        self.state = Mutex(State(free: Array(drivers.indices.reversed())))
        supervisor.onRestart { [weak reserve] in reserve?.renew() }
    }

    /// Starts the warm parent and a process for every driver.
    ///
    /// - Throws: `ANALYZER_UNAVAILABLE` or `MODEL_UNAVAILABLE`. The pool keeps trying, so a caller may continue.
    package func start() async throws {
        try await self.drivers[0].run { _ in try self.reserve.start() }
    }

    /// Ends every process. Requests under way fail with `ANALYZER_UNAVAILABLE`.
    package func stop() async {
        let waiting = self.state.withLock { state in
            state.isStopped = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.continuation.resume(throwing: Self.stopped) }
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "inspectd.analyzer.stop").async {
                self.reserve.close()
                self.supervisor.stop()
                continuation.resume()
            }
        }
        for driver in self.drivers { try? await driver.run { _ in } }
    }

    private static let stopped = InspectError(.analyzerUnavailable, "the pool was stopped")

    /// The warm parent's process, while it runs.
    package var parentPID: Int32? { self.supervisor.pid }

    /// Lends an analyzer to one attempt at a job, waiting for one if all are busy.
    ///
    /// - Parameters:
    ///   - parts: The stages get them as ``PartView``. Written once, into memory that is shared with the process.
    ///   - body: Runs the job's stages. The session ends with it, and so do the process and the shared memory.
    /// - Throws: `PART_TOO_LARGE` when the parts are larger than ``AnalyzerConfiguration/sharedMemory``;
    ///   `CancellationError`; what `body` throws.
    package func withAnalyzer<Result: Sendable>(
        parts: [(kind: String, bytes: Data)], isolation: isolated (any Actor)? = #isolation,
        _ body: (AnalyzerSession) async throws -> Result
    ) async throws -> Result {
        var table = PartTable()
        for part in parts { table.append(kind: part.kind, byteCount: part.bytes.count) }
        guard table.span <= self.configuration.sharedMemory else {
            throw InspectError(
                .partTooLarge,
                "all parts together have \(table.span) bytes; the limit is \(self.configuration.sharedMemory)")
        }
        let number = self.state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
        let index = try await self.acquire(number)
        let driver = self.drivers[index]
        let job = AnalyzerJob(
            number: number, parts: parts.map { AnalyzerPart(kind: $0.kind, bytes: $0.bytes) }, table: table)
        // The process must end also when the task is cancelled, which `run` does not check. Only the driver waits for its end.
        defer { driver.end(job) { self.release(index) } }
        try await driver.run { $0.begin(job) }
        return try await body(AnalyzerSession(driver: driver, job: job))
    }

    private func acquire(_ number: UInt64) async throws -> Int {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, any Error>) in
                let outcome: Swift.Result<Int, any Error>? = self.state.withLock { state in
                    if state.isStopped { return .failure(Self.stopped) }
                    // Cancelled before it waited, so the handler found nothing to wake.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let index = state.free.popLast() { return .success(index) }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func release(_ index: Int) {
        let waiter = self.state.withLock { state in
            if state.waiting.isEmpty {
                state.free.append(index)
                return CheckedContinuation<Int, any Error>?.none
            }
            return state.waiting.removeFirst().continuation
        }
        waiter?.resume(returning: index)
    }
}

/// One job's access to an analyzer process.
package struct AnalyzerSession: Sendable {
    let driver: AnalyzerDriver
    let job: AnalyzerJob

    /// Makes the process run one stage.
    ///
    /// After a failure that ended the process, the next call gets a new one with the same parts.
    ///
    /// - Parameters:
    ///   - deadline: When it has passed, the process is killed. The default is
    ///     ``AnalyzerConfiguration/stageDeadline``.
    /// - Throws: What the engine raised; `ANALYZER_CRASHED`, `ANALYZER_TIMEOUT` or `ANALYZER_OUT_OF_MEMORY` when the
    ///   process was lost; `ANALYZER_UNAVAILABLE` when none could be started; `CancellationError` when the task was
    ///   cancelled, which kills the process.
    package func perform(stage: String, request: Data, deadline: Duration? = nil) async throws -> Data {
        let call = AnalyzerCall()
        let job = self.job
        return try await withTaskCancellationHandler {
            try await self.driver.run {
                try $0.perform(job, stage: stage, request: request, deadline: deadline, call: call)
            }
        } onCancel: {
            call.cancel()
        }
    }
}

/// Links a request under way to the task that waits for it.
final class AnalyzerCall: Sendable {
    private let state = Mutex<(isCancelled: Bool, child: ChildConnection?)>((false, nil))

    var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    /// - Returns: False if the call was cancelled before it began.
    func attach(_ child: ChildConnection) -> Bool {
        self.state.withLock { state in
            state.child = child
            return !state.isCancelled
        }
    }

    func detach() { self.state.withLock { $0.child = nil } }

    /// Kills the process that works on the call; there is no other way to interrupt native code.
    func cancel() {
        self.state.withLock { state in
            state.isCancelled = true
            state.child?.kill()
        }
    }
}
