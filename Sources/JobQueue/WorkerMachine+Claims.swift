internal import InspectCore

/// When to claim and how much, and what a claim's answer starts.
extension WorkerMachine {
    /// Most writes in one round trip, so that a statement stays small when much has piled up.
    static let batchLimit = 2048
    /// As many writes go at once, without waiting for more.
    var batchTarget: Int { min(64, self.configuration.slots) }

    /// A scan of all queues costs one index descent each, so busy workers mostly scan where jobs were; but no longer than a
    /// tenth of a second, or other partners would never be seen. With more than two hundred queues, half a millisecond for
    /// each, and never more than a second. What is announced is looked for at once, with few queues; with many, not more
    /// often than 50 µs for each allow.
    static func fullScanInterval(queues: Int, isHinted: Bool) -> Duration {
        if isHinted { return .microseconds(50 * queues) }
        return min(max(.milliseconds(100), .microseconds(500 * queues)), .seconds(1))
    }

    /// What a pump has to do.
    enum PumpStep: Sendable {
        case done
        case wait(Duration)
        /// One round trip. With `asksForLocks` somebody is holding rows: to ask first costs less than to wait for one more.
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
        // What was announced may lie in a queue that was empty: it is not to wait for its turn to be scanned. Announcements
        // are at least 50 ms apart.
        let interval = Self.fullScanInterval(queues: self.floors.count, isHinted: self.isHinted)
        let isFull = self.scan.lastFull.map { now - $0 >= interval } ?? true || !self.floors.hasActive
        if isFull { self.isHinted = false }
        return Claiming(
            identity: identity, limit: limit,
            plan: self.floors.plan(limit: limit, onlyActive: !isFull, caps: self.outside.caps(at: now)),
            known: self.floors.newest, seen: self.seen)
    }

    /// A claim has no answer: what it took, if anything, a heartbeat will find.
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
            // Nothing to be asked again before a heartbeat has told which.
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
            // What was asked in another epoch began at floors that say nothing now.
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
        let isRestricted = plan.restrict(to: answer.caps)
        self.floors.learn(
            plan, limit: claiming.limit, claimed: answer.jobs.map { ($0.queue, $0.seq) }, high: answer.high,
            horizon: answer.horizon, at: now)
        let hasNew = self.floors.add(answer.queues)
        let foundNothing = answer.jobs.isEmpty
        // Only a scan of everything can tell that nothing is there.
        if plan.isFull { self.scan.lastFull = now } else if foundNothing { self.scan.lastFull = nil }
        self.scan.sawNothing = foundNothing && plan.isFull && !hasNew
        self.scan.isUnknown = false
        if hasNew { self.scan.lastFull = nil }
        if self.scan.sawNothing {
            // A partner that is limited may go on any moment, and nobody announces it.
            let interval = self.configuration.pollInterval
            self.scan.nextPoll = now + (isRestricted ? min(.milliseconds(50), interval) : interval) * random
        }
    }

    /// Something may wait in a queue.
    mutating func hint(_ actions: inout WorkerActions) {
        self.isHinted = true
        actions.wake(0)
    }

    /// Whether the queue is to be asked if anything is left: the worker stops once there is nothing.
    var drainCheck: WorkerIdentity? {
        guard self.configuration.drains, self.scan.sawNothing, !self.scan.isUnknown, self.running.isEmpty,
            self.pendingCount == 0
        else { return nil }
        return self.identity
    }
}
