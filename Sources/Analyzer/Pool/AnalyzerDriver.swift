internal import CSystem
internal import Dispatch
internal import Foundation
internal import Glibc
internal import InspectCore
internal import Synchronization

/// One part of a job, in the worker.
struct AnalyzerPart: Sendable {
    let kind: String
    let bytes: Data
}

/// The input of one ``AnalyzerPool/withAnalyzer(parts:_:)``.
struct AnalyzerJob: Sendable {
    let number: UInt64
    let parts: [AnalyzerPart]
    let table: PartTable
}

/// Drives one analyzer process at a time, on its own thread, for one job at a time.
///
/// `@unchecked Sendable`: all mutable state is used on `queue` only.
final class AnalyzerDriver: @unchecked Sendable {
    let index: Int
    private let configuration: AnalyzerConfiguration
    private let supervisor: WarmParentSupervisor
    private let reserve: AnalyzerReserve
    private let onEvent: @Sendable (AnalyzerEvent) -> Void
    /// Talking to a process blocks, so it must not run on Swift's cooperative pool.
    private let queue: DispatchQueue

    /// The process that has the current job's parts, and no other job's.
    private(set) var child: ChildConnection?
    private var sequence: UInt32 = 0
    /// The current job.
    private var current: UInt64?

    /// How long an analyzer may take to end after its job.
    private static let endGrace = Duration.milliseconds(500)
    /// How long SIGKILL may take.
    private static let killPatience = Duration.seconds(5)

    init(
        index: Int, configuration: AnalyzerConfiguration, supervisor: WarmParentSupervisor, reserve: AnalyzerReserve,
        onEvent: @escaping @Sendable (AnalyzerEvent) -> Void
    ) {
        self.index = index
        self.configuration = configuration
        self.supervisor = supervisor
        self.reserve = reserve
        self.onEvent = onEvent
        self.queue = DispatchQueue(label: "inspectd.analyzer.driver.\(index)")
    }

    /// Runs `body` on the driver's thread.
    func run<Value: Sendable>(_ body: @escaping @Sendable (AnalyzerDriver) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try body(self) }) }
        }
    }

    /// Asks the job's process to end, which erases everything that it kept.
    ///
    /// - Parameter whenGone: Called once the process is gone; until then it holds a person's data.
    func end(_ job: AnalyzerJob, whenGone: @escaping @Sendable () -> Void) {
        self.queue.async {
            self.end(job)
            whenGone()
        }
    }

    // MARK: On the driver's thread

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
        let isNew = self.child == nil
        let child = try self.child ?? self.reserve.take()
        self.child = child
        guard call.attach(child) else { throw CancellationError() }
        defer { call.detach() }
        let end = csys_now_nanoseconds() + deadline.nanoseconds
        let answer: Frame
        do throws(Frame.Failure) {
            if isNew {
                do throws(SystemError) {
                    try child.memory.write(job.parts, at: job.table)
                } catch {
                    throw .system(error.code)
                }
                try child.send(
                    Frame(kind: .begin, sequence: self.nextSequence(), payload: job.table.encoded()),
                    deadlineNanoseconds: end)
            }
            var payload = ByteWriter()
            payload.append(stage)
            payload.append(request)
            let sequence = self.nextSequence()
            try child.send(Frame(kind: .perform, sequence: sequence, payload: payload.bytes), deadlineNanoseconds: end)
            answer = try child.receive(sequence, limit: self.configuration.largestFrame, deadlineNanoseconds: end)
            guard answer.kind == .reply || answer.kind == .failure else { throw .garbage }
        } catch {
            let cancelled = call.isCancelled
            let loss = self.discard(child, failure: error, stage: stage, deadline: deadline, cancelled: cancelled)
            throw cancelled ? CancellationError() : loss
        }
        child.discardComplaints()
        if answer.kind == .failure {
            throw (try? InspectError(encoded: answer.payload))
                ?? InspectError(.internalError, "stage \(stage): an unknown error code")
        }
        return Data(answer.payload)
    }

    private func end(_ job: AnalyzerJob) {
        guard self.current == job.number else { return }
        self.current = nil
        guard let child = self.child else { return }
        self.child = nil
        child.hangUp()
        let end: ProcessEnd?
        switch child.kill(after: Self.endGrace, patience: Self.killPatience) {
        case .ended(let known): end = known
        case .running:
            child.killParent()
            end = nil
        }
        self.onEvent(.processEnded(driver: self.index, end: end, reason: "job done", error: nil, expected: true))
    }

    private func nextSequence() -> UInt32 {
        self.sequence &+= 1
        return self.sequence
    }

    /// Kills a process and returns the job's error.
    private func discard(
        _ child: ChildConnection, failure: Frame.Failure, stage: String, deadline: Duration, cancelled: Bool
    ) -> InspectError {
        self.child = nil
        let end: ProcessEnd?
        // A process that closed its socket is about to end anyway; its own signal is more informative than the pool's SIGKILL.
        let grace: Duration = if case .closed = failure, !cancelled { .milliseconds(100) } else { .zero }
        switch child.kill(after: grace, patience: Self.killPatience) {
        case .ended(let known): end = known
        case .running:
            child.killParent()
            end = nil
        }
        let loss =
            self.supervisor.isStopped
            ? InspectError(.analyzerUnavailable, "the pool was stopped")
            : ProcessLoss(failure: failure, end: end, complaint: child.complaint(limit: 4096)).error(
                stage: stage, deadline: deadline, configuration: self.configuration)
        let reason = cancelled ? "stage \(stage): cancelled" : loss.detail
        self.onEvent(
            .processEnded(
                driver: self.index, end: end, reason: reason, error: cancelled ? nil : loss.code, expected: false))
        if !cancelled, end?.isCrash == true { self.supervisor.noteCrash(of: child.parent) }
        return loss
    }
}

/// How an analyzer was lost in the middle of a request.
private struct ProcessLoss {
    let failure: Frame.Failure
    /// `nil` if the warm parent was lost with it.
    let end: ProcessEnd?
    /// Its stderr. Only searched for messages of a failed allocation: it may quote anything.
    let complaint: String

    /// The job's error.
    func error(stage: String, deadline: Duration, configuration: AnalyzerConfiguration) -> InspectError {
        let stage = "stage \(stage)"
        switch self.failure {
        case .deadline: return InspectError(.analyzerTimeout, "\(stage): no answer within \(deadline)")
        case .garbage: return InspectError(.analyzerCrashed, "\(stage): the answer violates the protocol")
        case .tooLarge(let size):
            return InspectError(
                .analyzerCrashed, "\(stage): an answer of \(size) bytes; the limit is \(configuration.largestFrame)")
        // Its parts could not be written because memory ran out.
        case .system(let code) where [ENOSPC, ENOMEM].contains(code):
            return self.outOfMemory(stage, configuration)
        case .closed, .system: break
        }
        guard let end = self.end else {
            return InspectError(.analyzerCrashed, "\(stage): the analyzers' parent ended")
        }
        switch end.signal {
        case SIGXCPU,
            SIGKILL where end.cpuMicroseconds >= configuration.cpuSeconds * 1_000_000:
            return InspectError(.analyzerTimeout, "\(stage): more than \(configuration.cpuSeconds) s of CPU time")
        case SIGABRT, SIGTRAP, SIGILL:
            // How a failed allocation ends a process: C++'s terminate, Swift's runtime.
            if ["bad_alloc", "allocate", "out of memory", "Out of memory"].contains(where: self.complaint.contains) {
                return self.outOfMemory(stage, configuration)
            }
        case SIGKILL where end.maxResidentBytes > configuration.memoryLimit / 2:
            // Not sent by the pool: the kernel's out-of-memory killer.
            return self.outOfMemory(stage, configuration)
        default: break
        }
        return InspectError(.analyzerCrashed, "\(stage): \(end.cause)")
    }

    private func outOfMemory(_ stage: String, _ configuration: AnalyzerConfiguration) -> InspectError {
        InspectError(.analyzerOutOfMemory, "\(stage): the limit is \(configuration.memoryLimit >> 20) MiB")
    }
}
