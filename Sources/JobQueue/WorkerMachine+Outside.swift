internal import InspectCore

/// Jobs that leave their slot while they wait for somebody else's server.
extension WorkerMachine {
    /// Takes a job out of its slot, which the next job gets.
    ///
    /// - Returns: False if there is no permit for it; `nil` if its lease is lost.
    mutating func leaveSlot(
        _ job: ClaimedJob, holding bytes: Int, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) -> Bool? {
        guard let running = self.running[job.fence], running.disposition != .lost else { return nil }
        let partner = self.floors.partner(of: job.queue)
        guard self.outside.leave(job.fence, of: partner, holding: bytes, at: now) else { return false }
        self.readmit(&actions)
        // The slot may be filled.
        actions.wake(0)
        return true
    }

    /// Keeps a permit for a job that will leave its slot, or gives up the one that was kept for it.
    mutating func keepPermit(
        for job: ClaimedJob, isNeeded: Bool, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        guard isNeeded else { return self.leaveOutside(job, &actions) }
        guard self.running[job.fence] != nil else { return }
        self.outside.expect(job.fence, of: self.floors.partner(of: job.queue), at: now)
    }

    /// Has a job wait for a slot; those who came first, and all who wait here before any new job.
    ///
    /// - Returns: False if it has no permit any more.
    mutating func queueForSlot(_ job: ClaimedJob, _ actions: inout WorkerActions) -> Bool {
        guard self.outside.queue(job.fence) else { return false }
        self.readmit(&actions)
        return true
    }

    /// Gives up a job's permit, if it has one.
    mutating func leaveOutside(_ job: ClaimedJob, _ actions: inout WorkerActions) {
        if self.outside.remove(job.fence) { actions.answered.append((job.fence, false)) }
        self.noteOpened(&actions)
    }

    /// Gives free slots to the jobs that wait for one; those a claim under way may fill are not free.
    mutating func readmit(_ actions: inout WorkerActions) {
        while self.outside.returningCount > 0, self.inSlots + self.reserved < self.configuration.slots,
            let fence = self.outside.readmit()
        {
            actions.answered.append((fence, true))
        }
        self.noteOpened(&actions)
    }

    /// Has queues scanned that were left out while their partner had its share of permits.
    private mutating func noteOpened(_ actions: inout WorkerActions) {
        if self.outside.takeOpened() { self.hint(&actions) }
    }
}
