package import Foundation
internal import Synchronization

/// One job's access to an analyzer process.
package struct AnalyzerSession: Sendable {
    let slot: AnalyzerSlot
    let job: AnalyzerJob

    /// Has the process run one stage.
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
            try await self.slot.run {
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
