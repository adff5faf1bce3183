internal import InspectCore

extension JobWorker {
    /// Takes a job out of its slot, which the next job gets.
    func leaveSlot(_ job: ClaimedJob, holding bytes: Int) throws {
        let isOutside = self.send { machine, actions in
            machine.leaveSlot(job, holding: bytes, at: .now, &actions)
        }
        guard let isOutside else { throw InspectError(.leaseLost) }
        guard isOutside else { throw NoPermit() }
    }

    func hold(_ bytes: Int, outside job: ClaimedJob) -> Bool {
        self.ask { $0.outside.hold(bytes, job.fence, at: .now) }
    }

    func returnToSlot(_ job: ClaimedJob) async throws {
        let isBack = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isQueued = self.exchange { guarded, actions in
                    // Cancelled before it could wait: the handler found nobody to wake.
                    guard !Task.isCancelled, guarded.machine.queueForSlot(job, &actions) else { return false }
                    guarded.waiters[job.fence] = continuation
                    return true
                }
                if !isQueued { continuation.resume(returning: false) }
            }
        } onCancel: {
            self.send { machine, actions in machine.leaveOutside(job, &actions) }
        }
        guard isBack else { throw CancellationError() }
    }
}

/// There is no permit outside the slots for the job, or no room for its bytes: it goes back to the queue, and none of its
/// attempts is used up.
package struct NoPermit: Error, Sendable {
    package init() {}
}

extension JobContext {
    /// Leaves the job's slot to other jobs while it waits for somebody else's server. The job keeps its lease and its deadline.
    /// Nothing happens if it has left already.
    ///
    /// A job may end outside; before it takes an analyzer or the processor for long, it calls ``returnToSlot()``.
    ///
    /// - Parameter bytes: How much the job holds in memory.
    /// - Throws: ``NoPermit``, which the handler is to throw on; ``InspectError`` with ``ErrorCode/leaseLost``.
    package func leaveSlot(holding bytes: Int) throws {
        try self.worker.leaveSlot(self.job, holding: bytes)
    }

    /// Takes room for bytes that the job is about to hold outside its slot. Returns at once, on any thread.
    ///
    /// - Returns: False if there is none: the job is to throw ``NoPermit``.
    package func hold(_ bytes: Int) -> Bool { self.worker.hold(bytes, outside: self.job) }

    /// Waits for a slot, before all jobs that are not claimed yet.
    ///
    /// - Throws: `CancellationError`.
    package func returnToSlot() async throws { try await self.worker.returnToSlot(self.job) }
}
