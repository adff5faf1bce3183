internal import CSystem
internal import Dispatch
internal import Foundation
internal import InspectCore
internal import Synchronization

/// One part of a job, as the worker has it.
struct AnalyzerPart: Sendable {
    let kind: String
    let bytes: Data
}

/// What one ``AnalyzerPool/withAnalyzer(parts:_:)`` works on.
struct AnalyzerJob: Sendable {
    let number: UInt64
    let parts: [AnalyzerPart]
    let table: PartTable
}

/// One place for an analyzer process, and the thread that talks to it.
///
/// `@unchecked Sendable`: everything mutable is touched on `queue` only.
final class AnalyzerSlot: @unchecked Sendable {
    let index: Int
    private let configuration: AnalyzerConfiguration
    private let supervisor: WarmParentSupervisor
    private let onEvent: @Sendable (AnalyzerEvent) -> Void
    /// Talking to a process blocks: not on Swift's cooperative pool.
    private let queue: DispatchQueue

    private(set) var child: ChildConnection?
    private var sequence: UInt32 = 0
    private var jobsDone = 0
    /// The job whose parts the process has.
    private var begun: UInt64?
    /// The job that the slot was given to.
    private var current: UInt64?

    /// How long an analyzer may take to drop a job.
    private static let endDeadline: UInt64 = 5_000_000_000
    /// How long SIGKILL may take.
    private static let killPatience = Duration.seconds(5)

    init(
        index: Int, configuration: AnalyzerConfiguration, supervisor: WarmParentSupervisor,
        onEvent: @escaping @Sendable (AnalyzerEvent) -> Void
    ) {
        self.index = index
        self.configuration = configuration
        self.supervisor = supervisor
        self.onEvent = onEvent
        self.queue = DispatchQueue(label: "inspectd.analyzer.slot.\(index)")
    }

    /// Runs `body` on the slot's thread.
    func run<Value: Sendable>(_ body: @escaping @Sendable (AnalyzerSlot) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try body(self) }) }
        }
    }

    /// Gets a process ready before it is asked for. What fails here fails again, with its error, when it is.
    func refill() {
        self.queue.async {
            if !self.supervisor.isStopped { _ = try? self.readyChild() }
        }
    }

    // MARK: On the slot's thread

    /// Starts a process if there is none.
    func prepare() throws(InspectError) { _ = try self.readyChild() }

    func begin(_ job: AnalyzerJob) { self.current = job.number }

    /// One request and its reply.
    ///
    /// - Throws: What the engine raised; or, when the process was lost, `ANALYZER_CRASHED`, `ANALYZER_TIMEOUT`,
    ///   `ANALYZER_OUT_OF_MEMORY`; `ANALYZER_UNAVAILABLE` when none could be started; `CancellationError`.
    func perform(
        _ job: AnalyzerJob, stage: String, request: Data, deadline: Duration?, call: AnalyzerCall
    ) throws -> Data {
        let deadline = deadline ?? self.configuration.stageDeadline
        guard self.current == job.number else {
            throw InspectError(.internalError, "an analyzer session was used after its job")
        }
        let child = try self.readyChild()
        guard call.attach(child) else { throw CancellationError() }
        defer { call.detach() }
        let end = csys_now() + deadline.nanoseconds
        let answer: Frame
        do throws(Frame.Failure) {
            if self.begun != job.number {
                self.begun = job.number
                child.memory.write(job.parts, at: job.table)
                try child.send(
                    Frame(kind: .begin, sequence: self.nextSequence(), payload: job.table.encoded()), deadline: end)
            }
            var payload = ByteWriter()
            payload.append(stage)
            payload.append(request)
            let sequence = self.nextSequence()
            try child.send(Frame(kind: .perform, sequence: sequence, payload: payload.bytes), deadline: end)
            answer = try child.receive(sequence, limit: self.configuration.largestFrame, deadline: end)
            guard answer.kind == .reply || answer.kind == .failure else { throw .garbage }
        } catch {
            let cancelled = call.isCancelled
            let loss = self.bury(child, failure: error, stage: stage, deadline: deadline, cancelled: cancelled)
            throw cancelled ? CancellationError() : loss
        }
        if answer.kind == .failure {
            throw (try? InspectError(encoded: answer.payload))
                ?? InspectError(.internalError, "stage \(stage): an error of a code that does not exist")
        }
        return Data(answer.payload)
    }

    /// Has the process drop the job, wipes the shared memory, and replaces a process that is old or has grown.
    func end(_ job: AnalyzerJob) {
        self.current = nil
        guard let child = self.child, self.begun == job.number else { return }
        self.begun = nil
        let sequence = self.nextSequence()
        let growth: UInt64
        do throws(Frame.Failure) {
            let deadline = csys_now() + Self.endDeadline
            try child.send(Frame(kind: .end, sequence: sequence, payload: []), deadline: deadline)
            let answer = try child.receive(sequence, limit: 8, deadline: deadline)
            var reader = ByteReader(answer.payload)
            guard answer.kind == .ended, let reported = try? reader.readUInt64() else { throw .garbage }
            growth = reported
        } catch {
            // The job has its results; only the process is lost.
            let deadline = Duration.nanoseconds(Int64(Self.endDeadline))
            _ = self.bury(child, failure: error, stage: "end", deadline: deadline, cancelled: false)
            return
        }
        child.memory.wipe()
        child.discardComplaints()
        self.jobsDone += 1
        if self.jobsDone >= self.configuration.jobsPerProcess {
            self.replace(child, reason: "\(self.jobsDone) jobs done")
        } else if growth > self.configuration.growthLimit {
            self.replace(child, reason: "grown by \(growth >> 20) MiB")
        }
    }

    /// Drops the process when the pool stops.
    func close() {
        guard let child = self.child else { return }
        child.memory.wipe()
        self.child = nil
    }

    private func nextSequence() -> UInt32 {
        self.sequence &+= 1
        return self.sequence
    }

    private func readyChild() throws(InspectError) -> ChildConnection {
        if let child = self.child {
            if child.isIdle { return child }
            // It ended, or was killed, while nobody talked to it.
            _ = self.bury(child, failure: .closed, stage: "idle", deadline: .zero, cancelled: false, refills: false)
        }
        for _ in 0..<3 {
            let parent = try self.supervisor.parent()
            do throws(ChildConnection.ForkFailure) {
                let child = try ChildConnection(parent: parent, configuration: self.configuration)
                self.child = child
                self.begun = nil
                self.jobsDone = 0
                self.onEvent(.processStarted(slot: self.index, forkTime: child.forkTime))
                return child
            } catch {
                if case .childFailed(let error) = error { throw error }
                self.supervisor.discard(parent)
            }
        }
        throw InspectError(.analyzerUnavailable, "the analyzers' parent ends as soon as it is asked for a process")
    }

    private func replace(_ child: ChildConnection, reason: String) {
        self.child = nil
        let end: ProcessEnd? = if case .ended(let end) = child.retire() { end } else { nil }
        self.onEvent(.processEnded(slot: self.index, end: end, reason: reason, error: nil, expected: true))
        self.refill()
    }

    /// Kills a process, wipes its memory and says what the loss means to the job.
    private func bury(
        _ child: ChildConnection, failure: Frame.Failure, stage: String, deadline: Duration, cancelled: Bool,
        refills: Bool = true
    ) -> InspectError {
        self.child = nil
        self.begun = nil
        let end: ProcessEnd?
        // What closed its socket is about to end by itself, and its own signal says more than the pool's SIGKILL.
        let grace: Duration = if case .closed = failure, !cancelled { .milliseconds(100) } else { .zero }
        switch child.kill(after: grace, patience: Self.killPatience) {
        case .ended(let known): end = known
        case .running:
            child.killParent()
            end = nil
        }
        child.memory.wipe()
        let loss =
            self.supervisor.isStopped
            ? InspectError(.analyzerUnavailable, "the pool was stopped")
            : ProcessLoss(failure: failure, end: end, complaint: child.complaint(limit: 4096)).error(
                stage: stage, deadline: deadline, configuration: self.configuration)
        let reason = cancelled ? "stage \(stage): cancelled" : loss.detail
        self.onEvent(
            .processEnded(
                slot: self.index, end: end, reason: reason, error: cancelled ? nil : loss.code, expected: false))
        if refills { self.refill() }
        return loss
    }
}
