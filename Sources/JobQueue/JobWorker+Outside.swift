internal import InspectCore

extension JobWorker {
    /// Takes a job out of its slot, which the next job gets.
    func leaveSlot(_ job: ClaimedJob, holding bytes: Int) throws {
        let now = ContinuousClock.now
        let (isOutside, readmitted) = self.state.withLock { state -> (Bool?, WorkerState.Readmitted) in
            guard let running = state.running[job.id], running.job.fence == job.fence, running.disposition != .lost
            else { return (nil, []) }
            let partner = state.floors.partner(of: job.queue)
            guard state.outside.leave(job.fence, of: partner, holding: bytes, at: now) else { return (false, []) }
            return (true, state.readmit(slots: self.configuration.slots))
        }
        guard let isOutside else { throw InspectError(.leaseLost) }
        guard isOutside else { throw NoPermit() }
        readmitted.forEach { $0.resume(returning: true) }
        // The slot may be filled.
        self.wakeUps[0].notify()
    }

    func hold(_ bytes: Int, outside job: ClaimedJob) -> Bool {
        self.state.withLock { $0.outside.hold(bytes, job.fence) }
    }

    /// Waits for a slot; those who came first, and all who wait here before any new job.
    func returnToSlot(_ job: ClaimedJob) async throws {
        let isBack = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isQueued = self.state.withLock { state in
                    // Cancelled before it could wait: the handler found nobody to wake.
                    !Task.isCancelled && state.outside.queue(job.fence, continuation)
                }
                if isQueued { self.readmit() } else { continuation.resume(returning: false) }
            }
        } onCancel: {
            self.leaveOutside(job)
        }
        guard isBack else { throw CancellationError() }
    }

    /// Keeps a permit for a job that will leave its slot, or gives up the one that was kept for it.
    func keepPermit(for job: ClaimedJob, isNeeded: Bool) {
        guard isNeeded else { return self.leaveOutside(job) }
        let now = ContinuousClock.now
        self.state.withLock { state in
            guard state.running[job.id]?.job.fence == job.fence else { return }
            state.outside.expect(job.fence, of: state.floors.partner(of: job.queue), at: now)
        }
    }

    /// Gives up a job's permit, if it has one.
    func leaveOutside(_ job: ClaimedJob) {
        let (waiter, hasOpened) = self.state.withLock { state in (state.outside.remove(job.fence), state.noteOpened()) }
        waiter?.resume(returning: false)
        if hasOpened { self.wakeUps[0].notify() }
    }

    /// Gives slots that have become free to jobs that wait for one.
    func readmit() {
        let (readmitted, hasOpened) = self.state.withLock { state in
            (state.readmit(slots: self.configuration.slots), state.noteOpened())
        }
        readmitted.forEach { $0.resume(returning: true) }
        if hasOpened { self.wakeUps[0].notify() }
    }
}

extension WorkerState {
    typealias Readmitted = [CheckedContinuation<Bool, Never>]

    /// Jobs that take a slot.
    var inSlots: Int { self.running.count - self.outside.count }

    /// Gives free slots to the jobs that wait for one; those a claim under way may fill are not free.
    ///
    /// - Returns: Whom to tell, outside the lock.
    mutating func readmit(slots: Int) -> Readmitted {
        var readmitted: Readmitted = []
        while self.outside.returningCount > 0, self.inSlots + self.reserved < slots, let next = self.outside.readmit() {
            readmitted.append(next)
        }
        return readmitted
    }

    /// Has queues looked at that were left out while their partner had its share of permits.
    ///
    /// - Returns: Whether a pump is to be woken for it.
    mutating func noteOpened() -> Bool {
        guard self.outside.takeOpened() else { return false }
        self.isHinted = true
        return true
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
