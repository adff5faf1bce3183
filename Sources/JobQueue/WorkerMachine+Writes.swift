internal import InspectCore

/// The writes of attempts: those that wait for their pump, what their answers mean, and what follows if there is none.
///
/// Jobs whose rows another transaction holds, such as an operator's left open, are parked: each waits separately, with its
/// lease kept by the heartbeats, while the pumps go on with all others.
extension WorkerMachine {
    // MARK: Writes that wait

    /// Writes that wait in all pumps.
    var pendingCount: Int { self.outboxes.reduce(0) { $0 + $1.writes.count } }

    /// The pump that a job's writes go through.
    func pump(of job: Int64) -> Int { Int(job % Int64(self.outboxes.count)) }

    /// - Returns: How many writes now wait in the same pump.
    @discardableResult
    mutating func add(_ write: QueueWrite, at now: ContinuousClock.Instant) -> Int {
        if write.endsLease { self.ending.insert(write.job.fence) }
        let pump = self.pump(of: write.job.id)
        if !self.parked.isEmpty, self.parked[write.job.id] != nil {
            self.parked[write.job.id]?.writes.append(write)
            return self.outboxes[pump].writes.count
        }
        self.outboxes[pump].writes.append(write)
        if self.outboxes[pump].since == nil { self.outboxes[pump].since = now }
        return self.outboxes[pump].writes.count
    }

    /// Takes a pump's oldest writes for sending.
    mutating func takePending(of pump: Int, limit: Int) -> [QueueWrite] {
        if self.outboxes[pump].writes.count <= limit {
            defer { self.outboxes[pump] = Outbox() }
            return self.outboxes[pump].writes
        }
        let batch = Array(self.outboxes[pump].writes.prefix(limit))
        self.outboxes[pump].writes.removeFirst(batch.count)
        return batch
    }

    /// Puts back writes that may not have arrived; the fence makes a second try harmless.
    mutating func returnPending(_ batch: [QueueWrite], at now: ContinuousClock.Instant) {
        guard let first = batch.first else { return }
        let pump = self.pump(of: first.job.id)
        self.outboxes[pump].writes.insert(contentsOf: batch, at: 0)
        self.outboxes[pump].since = self.outboxes[pump].since ?? now
    }

    // MARK: Answers

    /// Why writes were not done.
    enum WriteFailure: Sendable {
        /// Another transaction holds a row that they need.
        case held
        /// The database is unavailable, or busy with something else.
        case unavailable
        /// It is unknown what was written: the answer cannot be read.
        case unreadable
        /// The database refuses them, with this SQLSTATE.
        case refused(String)
    }

    /// What follows a failed round trip.
    enum Recovery: Sendable, Equatable {
        /// The same batch again, after a pause.
        case again
        /// Ask which rows are held, and set their jobs apart.
        case findHeld
        /// Each job separately: one of them is at fault, and the others must neither suffer for it nor wait for ever.
        case eachAlone
    }

    /// What follows the failure of one job's own writes.
    enum AloneRecovery: Sendable {
        case parked
        /// Later, after a pause.
        case later
        /// This in their place.
        case instead(QueueWrite)
        case abandoned
    }

    /// Writes were answered with the jobs whose lease held. Ends the work on jobs whose lease turned out to be lost.
    mutating func settled(
        _ groups: [(writes: [QueueWrite], held: Set<Int64>)], of batch: [QueueWrite], at now: ContinuousClock.Instant,
        _ actions: inout WorkerActions
    ) {
        for group in groups {
            for write in group.writes where !write.endsLease && !group.held.contains(write.job.id) {
                self.lose(at: now, &actions) { $0.job.fence == write.job.fence }
            }
        }
        for write in batch where write.endsLease { self.ending.remove(write.job.fence) }
        actions.settled += groups
    }

    /// Writes of claims that are known to be lost are not sent.
    mutating func superseded(
        _ writes: [QueueWrite], at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        self.settled([(writes, [])], of: writes, at: now, &actions)
    }

    /// A round trip failed.
    static func recovery(of batch: [QueueWrite], from failure: WriteFailure) -> Recovery {
        switch failure {
        case .held where !batch.isEmpty: .findHeld
        case .refused where !batch.isEmpty: .eachAlone
        // Writes that did arrive are refused by their fence the second time.
        case .held, .refused, .unavailable, .unreadable: .again
        }
    }

    /// One job's own writes failed, all of one claim.
    ///
    /// - Parameters:
    ///   - substitute: What was sent in their place, if that is what failed.
    ///   - random: From 0.8 to 1.2, for the next try of a parked job.
    mutating func failedAlone(
        _ group: [QueueWrite], _ failure: WriteFailure, substitute: QueueWrite? = nil,
        at now: ContinuousClock.Instant, random: Double, _ actions: inout WorkerActions
    ) -> AloneRecovery {
        guard let first = group.first else { return .later }
        let job = first.job
        if let substitute {
            if case .refused(let sqlState) = failure {
                self.abandon(job, sqlState, &actions)
                self.unpark(job.id, after: group.count, at: now)
                return .abandoned
            }
            if self.parked[job.id] != nil {
                self.unpark(job.id, after: group.count, writing: substitute, at: now)
                self.deferParked(job.id, at: now, random: random)
            } else {
                self.add(substitute, at: now)
            }
            return .later
        }
        switch failure {
        case .refused(let sqlState):
            // Nothing more may be written for the job, whatever it does.
            self.lose(at: now, &actions) { $0.job.fence == job.fence }
            return .instead(
                QueueWrite(
                    kind: .deadLetter(InspectError(.internalError, "a result cannot be stored, SQLSTATE \(sqlState)")),
                    job: job, claimedAt: first.claimedAt))
        case .held where self.parked[job.id] == nil:
            self.park(group, at: now, random: random, &actions)
            return .parked
        case .held, .unavailable, .unreadable:
            if self.parked[job.id] != nil {
                self.deferParked(job.id, at: now, random: random)
            } else {
                self.returnPending(group, at: now)
            }
            return .later
        }
    }

    /// A job for which nothing at all can be written. If released, it would fail in the same way for ever: its lease
    /// is left to the rescue, which counts a crash, and after some of those the job is a dead letter.
    private mutating func abandon(_ job: ClaimedJob, _ sqlState: String, _ actions: inout WorkerActions) {
        self.ending.remove(job.fence)
        self.abandoned.insert(job.fence)
        actions.reports.append(.abandoned(job: job.reference(at: job.status), sqlState: sqlState))
    }

    /// What to report of writes that were answered.
    static func reports(
        of writes: [QueueWrite], held: Set<Int64>, at now: ContinuousClock.Instant, _ report: (JobQueueEvent) -> Void
    ) {
        for write in writes {
            // A job that was finished by another party while it waited has no id to report.
            let isNamed = !write.job.publicID.isEmpty
            guard held.contains(write.job.id) else {
                if write.endsLease && isNamed { report(.leaseLost(job: write.reference)) }
                continue
            }
            switch write.kind {
            case .step: break
            case .finish:
                report(.finished(job: write.reference, seconds: (now - write.claimedAt).seconds))
            case .holdForReview:
                report(.heldForReview(job: write.reference, seconds: (now - write.claimedAt).seconds))
            case .deadLetter(let error): report(.deadLettered(job: write.reference, error: error))
            case .retry(let error, let after): report(.retried(job: write.reference, error: error, after: after))
            case .release: if isNamed { report(.released(job: write.reference)) }
            }
        }
    }

    // MARK: Parked jobs

    /// The writes of one job that cannot be written yet, oldest first; further ones of the job follow behind them.
    struct Parked: Sendable {
        var writes: [QueueWrite]
        /// When to try again.
        var due: ContinuousClock.Instant
        private var backoff = Backoff()

        init(_ writes: [QueueWrite], at now: ContinuousClock.Instant, random: Double) {
            self.writes = writes
            self.due = now
            self.wait(from: now, random: random)
        }

        mutating func wait(from now: ContinuousClock.Instant, random: Double) {
            self.due = now + self.backoff.next(random)
        }
    }

    /// The retries' next task.
    enum RetryStep: Sendable {
        case over
        case wait(Duration)
        /// Ask whose rows are held, then ``retry(_:locked:at:random:_:)``.
        case ask([[QueueWrite]])
    }

    func nextRetry(at now: ContinuousClock.Instant) -> RetryStep {
        if self.isOver(at: now) { return .over }
        if self.parked.isEmpty { return .wait(.seconds(1)) }
        let due = self.parked.values.filter { $0.due <= now }.map(\.writes).sorted { $0[0].job.id < $1[0].job.id }
        if !due.isEmpty { return .ask(due) }
        let next = self.parked.values.lazy.map(\.due).min()
        return .wait(next.map { max(.milliseconds(1), min(.seconds(1), $0 - now)) } ?? .seconds(1))
    }

    /// Called once it is known whose rows are still held: returns what can be written now, each job separately.
    ///
    /// - Parameters:
    ///   - locked: `nil` if the database did not say.
    ///   - random: From 0.8 to 1.2, for the next try of the others.
    mutating func retry(
        _ groups: [[QueueWrite]], locked: Set<Int64>?, at now: ContinuousClock.Instant, random: Double,
        _ actions: inout WorkerActions
    ) -> [[QueueWrite]] {
        groups.compactMap { group in
            guard let job = group.first?.job.id else { return nil }
            guard let locked, !locked.contains(job) else {
                self.deferParked(job, at: now, random: random)
                return nil
            }
            let (current, superseded) = QueueWrite.split(group)
            if !superseded.isEmpty, let fence = current.first?.job.fence {
                self.parked[job]?.writes.removeAll { $0.job.fence < fence }
                self.superseded(superseded, at: now, &actions)
            }
            return current
        }
    }

    /// A parked job's writes were answered.
    mutating func retried(_ group: [QueueWrite], at now: ContinuousClock.Instant, _ actions: inout WorkerActions) {
        guard let job = group.first?.job.id else { return }
        self.unpark(job, after: group.count, at: now)
        // Pumps that stop wait for the last of them.
        if self.isDone { actions.wakesAll = true }
    }

    /// Once it is known whose rows are held: sets these jobs apart, and returns the others' writes.
    mutating func withoutLocked(
        _ batch: [QueueWrite], locked: Set<Int64>, at now: ContinuousClock.Instant, random: Double,
        _ actions: inout WorkerActions
    ) -> [QueueWrite] {
        if locked.isEmpty { return batch }
        for (job, writes) in Dictionary(grouping: batch, by: \.job.id) where locked.contains(job) {
            self.park(writes, at: now, random: random, &actions)
        }
        return batch.filter { !locked.contains($0.job.id) }
    }

    /// Sets a job apart with its writes, those that have come since included.
    mutating func park(
        _ writes: [QueueWrite], at now: ContinuousClock.Instant, random: Double, _ actions: inout WorkerActions
    ) {
        let job = writes[0].job.id
        let pump = self.pump(of: job)
        let later = self.outboxes[pump].writes.filter { $0.job.id == job }
        if !later.isEmpty { self.outboxes[pump].writes.removeAll { $0.job.id == job } }
        if self.outboxes[pump].writes.isEmpty { self.outboxes[pump].since = nil }
        self.parked[job] = Parked(writes + later, at: now, random: random)
        actions.reports.append(.rowHeld(job: writes[0].reference))
        actions.retriesParked = true
    }

    /// A parked job's row is still held.
    mutating func deferParked(_ job: Int64, at now: ContinuousClock.Instant, random: Double) {
        self.parked[job]?.wait(from: now, random: random)
    }

    /// A parked job's first writes have arrived, or something else must be written instead.
    mutating func unpark(
        _ job: Int64, after count: Int, writing other: QueueWrite? = nil, at now: ContinuousClock.Instant
    ) {
        guard var parked = self.parked[job] else { return }
        parked.writes = (other.map { [$0] } ?? []) + parked.writes.dropFirst(count)
        parked.due = now
        self.parked[job] = parked.writes.isEmpty ? nil : parked
    }
}
