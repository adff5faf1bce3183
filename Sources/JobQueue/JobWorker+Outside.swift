internal import InspectCore

extension JobWorker {
    /// Takes a job out of its slot, which is then free for another job.
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
                    // Cancelled before it waited, so the handler found nothing to wake.
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

/// There is no permit for the job, or no room for its bytes: it is released, with the attempt refunded.
package struct NoPermit: Error, Sendable {
    package init() {}
}

extension JobContext {
    /// Frees the job's slot while the job waits for another server. The job keeps its lease and its deadline. Does nothing if it
    /// has left its slot already.
    ///
    /// A job may end outside its slot; before it uses an analyzer or much processor time, it calls ``returnToSlot()``.
    ///
    /// - Parameter bytes: The job's bytes in memory.
    /// - Throws: ``NoPermit``, which the handler must rethrow; ``InspectError`` with ``ErrorCode/leaseLost``.
    package func leaveSlot(holding bytes: Int) throws {
        try self.worker.leaveSlot(self.job, holding: bytes)
    }

    /// Reserves room for bytes that the job will hold outside its slot. Returns at once, on any thread.
    ///
    /// - Returns: False if there is no room: the job must throw ``NoPermit``.
    package func hold(_ bytes: Int) -> Bool { self.worker.hold(bytes, outside: self.job) }

    /// Waits for a slot, ahead of jobs that are not claimed yet.
    ///
    /// - Throws: `CancellationError`.
    package func returnToSlot() async throws { try await self.worker.returnToSlot(self.job) }
}
