internal import InspectCore

/// What the answers to writes mean, and what follows where there is none.
extension WorkerMachine {
    /// Why writes were not done.
    enum WriteFailure: Sendable {
        /// Somebody holds a row that they need.
        case held
        /// The database is away, or busy with something else.
        case away
        /// Nothing is known of what was written: the answer cannot be read.
        case unreadable
        /// The database will not have them, with this SQLSTATE.
        case refused(String)
    }

    /// What follows a failed round trip.
    enum Recovery: Sendable, Equatable {
        /// The same batch again, after a pause.
        case again
        /// Ask which rows are held, and set their jobs apart.
        case findHeld
        /// Each job by itself: one is to blame, and the others must not suffer for it, nor wait for ever.
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
        // Whatever did arrive is refused by its fence the second time.
        case .held, .refused, .away, .unreadable: .again
        }
    }

    /// One job's own writes failed, all of one claim.
    ///
    /// - Parameters:
    ///   - substitute: What was sent in their place, if it is that which failed.
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
        case .held, .away, .unreadable:
            if self.parked[job.id] != nil {
                self.deferParked(job.id, at: now, random: random)
            } else {
                self.returnPending(group, at: now)
            }
            return .later
        }
    }

    /// A job of which nothing at all can be written. To release it would have it fail the same way for ever: its lease
    /// is left to the rescue, which counts a crash, and after some of those the job is a dead letter.
    private mutating func abandon(_ job: ClaimedJob, _ sqlState: String, _ actions: inout WorkerActions) {
        self.ending.remove(job.fence)
        self.abandoned.insert(job.fence)
        actions.reports.append(.abandoned(job: job.reference(at: job.status), sqlState: sqlState))
    }

    /// What is to be reported of writes that were answered.
    static func reports(
        of writes: [QueueWrite], held: Set<Int64>, at now: ContinuousClock.Instant, _ report: (JobQueueEvent) -> Void
    ) {
        for write in writes {
            // A job that was finished from outside while it waited has no id to tell.
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
}
