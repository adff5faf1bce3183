internal import Foundation
internal import InspectCore
internal import Postgres

/// A job's attempt, from its claim to its outcome: when to claim and how much, what an answer starts, which jobs leave their slots,
/// and which write an outcome becomes.
extension WorkerMachine {
    // MARK: Claims

    /// Maximum of writes in one round trip, so that a statement stays small when many have piled up.
    static let batchLimit = 2048
    /// This many writes are sent at once, without waiting for more.
    var batchTarget: Int { min(64, self.configuration.slots) }

    /// A scan of all queues costs one index descent each, so busy workers mostly scan where jobs were; but no longer than a
    /// tenth of a second, or other partners would never be seen. With more than two hundred queues, half a millisecond for
    /// each, and never more than a second. With few queues, announced jobs are looked for at once; with many, no more
    /// often than 50 µs for each queue allow.
    static func fullScanInterval(queues: Int, isHinted: Bool) -> Duration {
        if isHinted { return .microseconds(50 * queues) }
        return min(max(.milliseconds(100), .microseconds(500 * queues)), .seconds(1))
    }

    /// A pump's next task.
    enum PumpStep: Sendable {
        case done
        case wait(Duration)
        /// One round trip. With `asksForLocks`, other transactions hold rows: asking first costs less than waiting for another one.
        case send([QueueWrite], Claiming?, asksForLocks: Bool)
    }

    /// A claim that is due.
    struct Claiming: Sendable {
        var identity: WorkerIdentity
        /// Jobs wanted; reserved until the answer is there.
        var limit: Int
        var plan: QueueFloors.Plan
        /// The highest number of a queue that is known.
        var known: Int
        /// What the worker had seen when it planned.
        var seen: SeenNumbers
    }

    mutating func nextStep(of pump: Int, at now: ContinuousClock.Instant) -> PumpStep {
        self.pumpsMoved[pump] = now
        if self.isOver(at: now) { return .done }
        let count = self.outboxes[pump].writes.count
        // What does not fit into this round trip still counts: claims must not outrun what can be written.
        let unwritten =
            max(0, self.pendingCount - Self.batchLimit) + max(0, self.parked.count - Self.batchLimit)
        // Jobs outside the slots take none, but get one before any new job when they return.
        let free =
            self.configuration.slots - self.inSlots - self.outside.returningCount - self.reserved - unwritten
        let mayClaim = self.identity != nil && !self.isStopping && !self.isSuspended && free > 0
        // An idle worker is woken on one connection only.
        let isWoken = pump == 0 && (self.isHinted || now >= self.scan.nextPoll)
        let wantsClaim = mayClaim && (!self.scan.sawNothing || isWoken)
        if let since = self.outboxes[pump].since {
            let linger = self.configuration.linger
            if count < self.batchTarget && !self.running.isEmpty && now - since < linger {
                return .wait(linger - (now - since))
            }
        } else if !wantsClaim {
            let untilPoll = self.scan.nextPoll - now
            return .wait(
                pump > 0 || untilPoll <= .zero ? .seconds(1) : max(.milliseconds(1), min(.seconds(1), untilPoll)))
        }
        return .send(
            self.takePending(of: pump, limit: Self.batchLimit),
            wantsClaim ? self.claiming(limit: free, at: now) : nil, asksForLocks: !self.parked.isEmpty)
    }

    private mutating func claiming(limit: Int, at now: ContinuousClock.Instant) -> Claiming? {
        guard let identity = self.identity else { return nil }
        self.reserved += limit
        // An announced job may be in a queue that was empty, which must not wait for its turn to be scanned. Announcements
        // are at least 50 ms apart.
        let interval = Self.fullScanInterval(queues: self.floors.count, isHinted: self.isHinted)
        let isFull = self.scan.lastFull.map { now - $0 >= interval } ?? true || !self.floors.hasActive
        if isFull { self.isHinted = false }
        return Claiming(
            identity: identity, limit: limit,
            plan: self.floors.plan(limit: limit, onlyActive: !isFull, most: self.outside.room(at: now)),
            known: self.floors.newest, seen: self.seen)
    }

    /// A claim got no answer: a heartbeat will find what it claimed, if anything.
    mutating func claimFailed(_ claiming: Claiming, _ actions: inout WorkerActions) {
        self.reserved -= claiming.limit
        self.readmit(&actions)
    }

    /// Takes a claim's answer, and starts its jobs.
    ///
    /// - Parameters:
    ///   - answer: `nil` if the worker is not known or is to drain.
    ///   - random: From 0.8 to 1.2, for the next poll.
    mutating func claimed(
        _ answer: QueueStatements.Claims?, of claiming: Claiming, at now: ContinuousClock.Instant, random: Double,
        _ actions: inout WorkerActions
    ) {
        self.reserved -= claiming.limit
        defer { if !self.outside.isEmpty || self.outside.hasOpened { self.readmit(&actions) } }
        guard let answer else {
            // No further claim before a heartbeat has shown which of the two it is.
            self.scan.sawNothing = true
            self.scan.isUnknown = true
            self.scan.nextPoll = now + self.configuration.pollInterval
            actions.beats = true
            return
        }
        var isOurs = false
        if self.identity == claiming.identity {
            _ = self.enter(answer.epoch, at: now, &actions)
            self.seen.learn(
                fence: answer.jobs.map(\.job.fence).max() ?? 0, seq: max(answer.high, answer.jobs.map(\.seq).max() ?? 0)
            )
            // A claim made in another epoch began at floors that mean nothing now.
            if claiming.seen.epoch == answer.epoch { self.learn(from: answer, of: claiming, at: now, random: random) }
            isOurs = !self.isSuspended
        }
        actions.started.reserveCapacity(answer.jobs.count)
        for claim in answer.jobs {
            let job = claim.job
            guard claim.isOpen && !claim.isExpired && isOurs else {
                // A finished job's lease is only dropped by this.
                let kind: QueueWrite.Kind = claim.isExpired ? .deadLetter(InspectError(.expired)) : .release
                self.add(QueueWrite(kind: kind, job: job, claimedAt: now), at: now)
                actions.wake(self.pump(of: job.id))
                continue
            }
            self.running[job.fence] = Running(job: job, claimedAt: now, stage: job.status)
            if self.outside.isWanted { self.outside.expect(job.fence, of: self.floors.partner(of: job.queue)) }
            actions.started.append(job)
        }
    }

    private mutating func learn(
        from answer: QueueStatements.Claims, of claiming: Claiming, at now: ContinuousClock.Instant, random: Double
    ) {
        var plan = claiming.plan
        let isRestricted = plan.restrict(to: answer.limits)
        self.floors.learn(
            plan, limit: claiming.limit, claimed: answer.jobs.map { ($0.queue, $0.seq) }, high: answer.high,
            horizon: answer.horizon, at: now)
        let hasNew = self.floors.add(answer.queues)
        let foundNothing = answer.jobs.isEmpty
        // Only a scan of everything can show that nothing is left.
        if plan.isFull { self.scan.lastFull = now } else if foundNothing { self.scan.lastFull = nil }
        self.scan.sawNothing = foundNothing && plan.isFull && !hasNew
        self.scan.isUnknown = false
        if hasNew { self.scan.lastFull = nil }
        if self.scan.sawNothing {
            // A partner that is limited may continue at any moment without a notification.
            let interval = self.configuration.pollInterval
            self.scan.nextPoll = now + (isRestricted ? min(.milliseconds(50), interval) : interval) * random
        }
    }

    /// Something may wait in a queue.
    mutating func hint(_ actions: inout WorkerActions) {
        self.isHinted = true
        actions.wake(0)
    }

    /// Whether to ask the queue if anything is left: the worker stops once nothing is.
    var drainCheck: WorkerIdentity? {
        guard self.configuration.drains, self.scan.sawNothing, !self.scan.isUnknown, self.running.isEmpty,
            self.pendingCount == 0
        else { return nil }
        return self.identity
    }

    // MARK: Outside the slots

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

    /// Keeps a permit for a job that will leave its slot, or releases the one that was kept for it.
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

    /// Releases a job's permit, if it has one.
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

    // MARK: Outcomes

    /// A handler's outcome.
    enum Outcome: Sendable {
        /// - Parameters:
        ///   - result: `nil` if it cannot be stored.
        case success(StorableResult?, waitsForReview: Bool)
        /// - Parameters:
        ///   - random: From -1 to 1, for the time of the next attempt.
        case failure(any Error, random: Double)
    }

    static let notStorable = InspectError(.internalError, "a result cannot be stored: it is not JSON")

    /// Turns an attempt's outcome into the write that ends its lease; the slot is free from here on.
    mutating func ended(
        _ job: ClaimedJob, _ outcome: Outcome, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        let isAnyOutside = !self.outside.isEmpty
        if isAnyOutside, self.outside.remove(job.fence) { actions.answered.append((job.fence, false)) }
        self.end(job, outcome, at: now, &actions)
        if isAnyOutside { self.readmit(&actions) }
    }

    private mutating func end(
        _ job: ClaimedJob, _ outcome: Outcome, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        guard let running = self.running.removeValue(forKey: job.fence) else { return }
        guard let kind = self.kind(of: outcome, running) else { return actions.wake(self.pump(of: job.id)) }
        let count = self.add(
            QueueWrite(kind: kind, job: job, claimedAt: running.claimedAt, stage: running.stage), at: now)
        // Between the first write and a full batch a pump only waits for more, or for the last job.
        if count == 1 || count == self.batchTarget || self.running.isEmpty || self.isStopping {
            actions.wake(self.pump(of: job.id))
        }
    }

    private func kind(of outcome: Outcome, _ running: Running) -> QueueWrite.Kind? {
        switch (outcome, running.disposition) {
        case (_, .lost): return nil
        // Its lease has ended with its row of the queue.
        case (.failure(is SessionPaused, _), _): return nil
        case (.success(let result, let waits), _):
            guard let result else { return .deadLetter(Self.notStorable) }
            return waits ? .holdForReview(result) : .finish(result)
        case (.failure, .stopped): return .release
        case (.failure(_, let random), .overdue):
            return self.kind(after: InspectError(.analyzerTimeout, "the job's own deadline"), running.job, random)
        case (.failure(let error as InspectError, _), .working) where error.code == .leaseLost: return nil
        case (.failure(is NoPermit, _), .working): return .release
        case (.failure(let error, let random), .working):
            let failure = error as? PostgresError
            return self.kind(
                after: failure.map { InspectError(.internalError, $0.code.rawValue) }
                    ?? InspectError(unexpected: error),
                running.job, random)
        }
    }

    private func kind(after error: InspectError, _ job: ClaimedJob, _ random: Double) -> QueueWrite.Kind {
        let verdict = self.configuration.retryPolicy.verdict(
            after: error, attempt: job.attempt, crashes: job.crashes + (error.code.isCrash ? 1 : 0), random: random)
        switch verdict {
        case .deadLetter(let final): return .deadLetter(final)
        case .retry(let delay): return .retry(error, after: delay)
        }
    }

    /// A stage's result must be stored.
    ///
    /// - Returns: False if the lease is known to be lost.
    mutating func completed(
        _ stage: JobStatus, _ body: Data, of job: ClaimedJob, at now: ContinuousClock.Instant,
        _ actions: inout WorkerActions
    ) -> Bool {
        guard let running = self.running[job.fence], running.disposition != .lost else { return false }
        self.running[job.fence]?.stage = max(running.stage, stage)
        self.add(QueueWrite(kind: .step(stage, body), job: job, claimedAt: running.claimedAt), at: now)
        actions.wake(self.pump(of: job.id))
        return true
    }

    /// A stage's result cannot be stored: ends the job at once, whatever its handler still does.
    mutating func refused(_ job: ClaimedJob, at now: ContinuousClock.Instant, _ actions: inout WorkerActions) {
        // A job whose lease was lost before must not be written.
        guard let running = self.running[job.fence], running.disposition != .lost else { return }
        self.lose(at: now, &actions) { $0.job.fence == job.fence }
        self.add(QueueWrite(kind: .deadLetter(Self.notStorable), job: job, claimedAt: running.claimedAt), at: now)
        actions.wake(self.pump(of: job.id))
    }

    /// Ends the work on jobs whose lease is gone.
    mutating func lose(
        at now: ContinuousClock.Instant, _ actions: inout WorkerActions, where isMeant: (Running) -> Bool
    ) {
        for running in self.mark(.lost, at: now, &actions, where: isMeant) {
            actions.reports.append(.leaseLost(job: running.reference))
        }
    }

    /// Marks running jobs, and has their tasks asked to stop.
    @discardableResult
    private mutating func mark(
        _ disposition: Disposition, at now: ContinuousClock.Instant, _ actions: inout WorkerActions,
        where isMeant: (Running) -> Bool
    ) -> [Running] {
        let marked = self.running.values.filter { $0.disposition != .lost && isMeant($0) }
            .sorted { $0.job.fence < $1.job.fence }
        for running in marked {
            self.running[running.job.fence]?.disposition = disposition
            self.running[running.job.fence]?.markedAt = now
            actions.cancelled.append(running.job.fence)
        }
        return marked
    }

    // MARK: Watchdog

    /// A handler that does not heed its cancellation for so long keeps its task, but neither the slot nor the job.
    static let patienceAfterCancellation = Duration.seconds(5)

    /// Enforces what must hold even while the database does not answer.
    ///
    /// - Parameter random: From -1 to 1, for the next attempts of overdue jobs.
    mutating func tick(at now: ContinuousClock.Instant, random: Double, _ actions: inout WorkerActions) {
        let silentFor = now - self.lastHeartbeat
        if !self.isSuspended, silentFor > self.configuration.heartbeatPatience {
            self.isSuspended = true
            actions.reports.append(.suspended(silentFor: silentFor))
            self.lose(at: now, &actions) { _ in true }
        }
        let limit = self.configuration.jobDeadline
        let overdue = self.mark(.overdue, at: now, &actions) {
            $0.disposition == .working && now - $0.claimedAt > limit
        }
        for running in overdue { actions.reports.append(.overdue(job: running.reference)) }
        let deaf = self.running.values.filter { running in
            running.markedAt.map { now - $0 > Self.patienceAfterCancellation } ?? false
        }
        for running in deaf.sorted(by: { $0.job.fence < $1.job.fence }) {
            actions.forgotten.append(running.job.fence)
            self.ended(running.job, .failure(CancellationError(), random: random), at: now, &actions)
        }
        if let since = self.stoppingSince, now - since > self.configuration.shutdownDeadline {
            self.mark(.stopped, at: now, &actions) { $0.disposition == .working }
        }
    }
}
