internal import Foundation
internal import InspectCore
internal import Postgres

extension JobWorker {
    /// Most writes in one round trip, so that a statement stays small when much has piled up.
    private static let batchLimit = 2048
    /// As many writes go at once, without waiting for more.
    var batchTarget: Int { min(64, self.configuration.slots) }
    /// A look at all queues costs one index descent each, so busy workers mostly look where jobs were; but no longer than a
    /// tenth of a second, or other partners would never be seen. With more than two hundred queues, half a millisecond for
    /// each, and never more than a second. What is announced is looked for at once, with few queues; with many, not more
    /// often than 50 µs for each allow.
    static func fullLookInterval(queues: Int, isHinted: Bool) -> Duration {
        if isHinted { return .microseconds(50 * queues) }
        return min(max(.milliseconds(100), .microseconds(500 * queues)), .seconds(1))
    }

    /// What a pump has to do.
    private enum Step {
        case done
        case wait(Double)
        case act(writes: [QueueWrite], Claiming?)
    }

    /// A claim that is due.
    private struct Claiming {
        var identity: WorkerIdentity
        /// Jobs wanted; reserved in the state until the answer is there.
        var limit: Int
        var plan: QueueFloors.Plan
        /// The highest number of a queue that is known.
        var known: Int
        /// What the worker had seen when it planned.
        var seen: SeenNumbers
    }

    /// One of the pumps, with what it alone knows.
    private struct Pump {
        let index: Int
        let source: ReconnectingConnection
        var backoff = Backoff()
    }

    /// Claims and writes until the worker has stopped: each round trip of a pump carries all its writes that are due and
    /// one claim for the free slots, as one transaction.
    func runPumps() async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<self.configuration.pumps { group.addTask { await self.runPump(index) } }
            group.addTask { await self.runParked() }
        }
        await self.deregister(self.auxiliary)
    }

    private func runPump(_ index: Int) async {
        let role = index == 0 ? "queue" : "queue \(index + 1)"
        var pump = Pump(
            index: index, source: self.configuration.connection(role, report: self.report))
        while true {
            switch self.nextStep(of: index) {
            case .done:
                // Another pump may sleep on what this one has just finished.
                self.wakeAll()
                await pump.source.close()
                return
            case .wait(let seconds):
                await self.wakeUps[index].wait(timeout: seconds)
            case .act(let writes, let claiming):
                await self.roundTrip(&pump, writes, claiming)
                if self.configuration.drains && self.state.withLock({ $0.look.sawNothing && !$0.look.isUnknown }) {
                    await self.stopIfEmpty(pump.source)
                }
            }
        }
    }

    private func nextStep(of pump: Int) -> Step {
        let now = ContinuousClock.now
        return self.state.withLock { state in
            state.pumpsMoved[pump] = now
            if self.isOver(state, at: now) { return .done }
            let (count, since) = state.pending(in: pump)
            // What does not fit into this round trip still counts: claims must not outrun what can be written.
            let unwritten =
                max(0, state.pendingCount - Self.batchLimit) + max(0, state.parked.count - Self.batchLimit)
            // Jobs outside the slots take none, but get one before any new job when they return.
            let free =
                self.configuration.slots - state.inSlots - state.outside.returningCount - state.reserved - unwritten
            let mayClaim = state.identity != nil && !state.isStopping && !state.isSuspended && free > 0
            // An idle worker is woken on one connection only.
            let isWoken = pump == 0 && (state.isHinted || now >= state.look.nextPoll)
            let wantsClaim = mayClaim && (!state.look.sawNothing || isWoken)
            if let since {
                let linger = Duration.seconds(self.configuration.linger)
                let isFull = count >= self.batchTarget
                if !isFull && !state.running.isEmpty && now - since < linger {
                    return .wait((linger - (now - since)).seconds)
                }
            } else if !wantsClaim {
                let untilPoll = (state.look.nextPoll - now).seconds
                return .wait(pump > 0 || untilPoll <= 0 ? 1 : max(0.001, min(1, untilPoll)))
            }
            return .act(
                writes: state.takePending(of: pump, limit: Self.batchLimit),
                wantsClaim ? self.claiming(&state, limit: free, at: now) : nil)
        }
    }

    /// Whether nothing is left to be written, or no more time to write it.
    func isOver(_ state: WorkerState, at now: ContinuousClock.Instant) -> Bool {
        if state.isDone { return true }
        // A database that stays away must not keep the worker for ever; its leases will be rescued.
        guard let since = state.stoppingSince else { return false }
        return now - since > .seconds(self.configuration.shutdownDeadline + 10)
    }

    private func claiming(_ state: inout WorkerState, limit: Int, at now: ContinuousClock.Instant) -> Claiming? {
        guard let identity = state.identity else { return nil }
        state.reserved += limit
        // What was announced may lie in a queue that was empty: it is not to wait for its turn to be looked at. Announcements
        // are at least 50 ms apart.
        let interval = Self.fullLookInterval(queues: state.floors.count, isHinted: state.isHinted)
        let isFull = state.look.lastFull.map { now - $0 >= interval } ?? true || !state.floors.hasActive
        if isFull { state.isHinted = false }
        return Claiming(
            identity: identity, limit: limit,
            plan: state.floors.plan(limit: limit, onlyActive: !isFull, caps: state.outside.caps(at: now)),
            known: state.floors.newest, seen: state.seen)
    }

    private func roundTrip(_ pump: inout Pump, _ batch: [QueueWrite], _ claiming: Claiming?) async {
        let start = ContinuousClock.now
        var batch = self.withoutSuperseded(batch)
        if !batch.isEmpty, !self.state.withLock({ $0.parked.isEmpty }) {
            // Somebody is holding rows: to ask first costs less than to wait for one more.
            batch = (try? await self.withoutLocked(batch, on: pump.source)) ?? batch
            if batch.isEmpty && claiming == nil { return }
        }
        let writes = QueueStatements.writes(batch)
        var statements = writes.map(\.statement)
        if let claiming {
            // Longer than the worker's own deadline: the database takes a job back only from a worker that fails to.
            statements.append(
                QueueStatements.claim(
                    claiming.identity, leaseTime: self.configuration.jobDeadline + 30, limit: claiming.limit,
                    claiming.plan.looks, known: claiming.known, seen: claiming.seen,
                    horizon: claiming.plan.isFull))
        }
        do {
            let rows = try await pump.source.open().pipeline(statements)
            pump.backoff.reset()
            var claimed = 0
            if let claiming {
                claimed = try self.take(rows[writes.count], claiming)
                self.readmit()
            }
            for (index, group) in writes.enumerated() {
                self.settled(group.writes, held: Set(try rows[index].map { try $0.int(0) }))
            }
            self.forgetEnding(batch)
            self.report(.roundTrip(written: batch.count, claimed: claimed, seconds: (.now - start).seconds))
        } catch {
            if let claiming {
                self.state.withLock { $0.reserved -= claiming.limit }
                self.readmit()
            }
            await self.recover(&pump, batch, from: error)
        }
    }

    /// Starts the jobs of a claim.
    ///
    /// - Returns: How many rows were taken from the queue.
    private func take(_ rows: [PostgresRow], _ claiming: Claiming) throws -> Int {
        let answer = try QueueStatements.claims(from: rows)
        let now = ContinuousClock.now
        let (isOurs, isOther) = self.state.withLock { state -> (Bool, Bool) in
            state.reserved -= claiming.limit
            guard let answer else {
                // Not known to this database, or to drain: nothing to be asked again before a heartbeat has told which.
                state.look.sawNothing = true
                state.look.isUnknown = true
                state.look.nextPoll = now + .seconds(self.configuration.pollInterval)
                return (false, false)
            }
            guard state.identity == claiming.identity else { return (false, false) }
            let isOther = state.enter(answer.epoch)
            state.seen.learn(
                fence: answer.jobs.map(\.job.fence).max() ?? 0, seq: max(answer.high, answer.jobs.map(\.seq).max() ?? 0)
            )
            // What was asked in another epoch began at floors that say nothing now.
            if claiming.seen.epoch == answer.epoch { self.learn(from: answer, of: claiming, &state, at: now) }
            return (!state.isSuspended, isOther)
        }
        if isOther { self.report(.newEpoch) }
        guard let answer else {
            self.control.notify()
            return 0
        }
        var startable: [ClaimedJob] = []
        startable.reserveCapacity(answer.jobs.count)
        for claim in answer.jobs {
            if claim.isOpen && !claim.isExpired && isOurs {
                startable.append(claim.job)
            } else {
                // A finished job's lease is only dropped by this.
                let kind: QueueWrite.Kind = claim.isExpired ? .giveUp(InspectError(.expired)) : .handBack
                self.state.withLock { _ = $0.add(QueueWrite(kind: kind, job: claim.job, claimedAt: now), at: now) }
                self.wake(claim.job.id)
            }
        }
        if !startable.isEmpty { self.start(startable) }
        return answer.jobs.count
    }

    private func learn(
        from answer: QueueStatements.Claims, of claiming: Claiming, _ state: inout WorkerState,
        at now: ContinuousClock.Instant
    ) {
        var plan = claiming.plan
        let isRestricted = plan.restrict(to: answer.caps)
        state.floors.learn(
            plan, limit: claiming.limit, claimed: answer.jobs.map { ($0.queue, $0.seq) }, high: answer.high,
            horizon: answer.horizon, at: now)
        let hasNew = state.floors.add(answer.queues)
        let foundNothing = answer.jobs.isEmpty
        // Only a look at everything can tell that nothing is there.
        if plan.isFull { state.look.lastFull = now } else if foundNothing { state.look.lastFull = nil }
        state.look.sawNothing = foundNothing && plan.isFull && !hasNew
        state.look.isUnknown = false
        if hasNew { state.look.lastFull = nil }
        if state.look.sawNothing {
            // A partner that is limited may go on any moment, and nobody announces it.
            let interval = isRestricted ? min(0.05, self.configuration.pollInterval) : self.configuration.pollInterval
            state.look.nextPoll = .now + .seconds(interval * Double.random(in: 0.8...1.2))
        }
    }

    /// Tells of writes of one claim for each job that arrived, and ends the work on jobs whose lease turned out to be lost.
    func settled(_ writes: [QueueWrite], held: Set<Int64>) {
        let now = ContinuousClock.now
        for write in writes {
            let job = write.job
            guard held.contains(job.id) else {
                if write.endsLease {
                    // A job that was finished from outside while it waited has no id to tell.
                    if !job.publicID.isEmpty { self.report(.leaseLost(job: write.reference)) }
                } else {
                    self.drop { $0.id == job.id && $0.fence == job.fence }
                }
                continue
            }
            switch write.kind {
            case .step: break
            case .finish:
                let seconds = (now - write.claimedAt).seconds
                self.report(.finished(job: write.reference, seconds: seconds))
            case .holdForReview:
                let seconds = (now - write.claimedAt).seconds
                self.report(.heldForReview(job: write.reference, seconds: seconds))
            case .giveUp(let error):
                self.report(.givenUp(job: write.reference, error: error))
            case .retry(let error, let after):
                self.report(.retried(job: write.reference, error: error, after: after))
            case .handBack:
                if !job.publicID.isEmpty { self.report(.handedBack(job: write.reference)) }
            }
        }
    }

    func forgetEnding(_ batch: [QueueWrite]) {
        self.state.withLock { state in
            for write in batch where write.endsLease && state.ending[write.job.id] == write.job.fence {
                state.ending[write.job.id] = nil
            }
        }
    }

    // MARK: Failures

    private func recover(_ pump: inout Pump, _ batch: [QueueWrite], from error: any Error) async {
        let failure = error as? PostgresError
        if failure?.isLockTimeout == true, !batch.isEmpty, await self.setApart(&pump, batch) { return }
        if batch.isEmpty || failure?.isTransient != false || failure?.code == .decoding {
            // Sent again as it is: whatever did arrive is refused by its fence the second time.
            let index = pump.index
            self.state.withLock { $0.returnPending(batch, to: index, at: .now) }
            let wait = pump.backoff.next()
            self.report(
                .databaseUnavailable(role: "queue", error: failure.map(\.reason) ?? "\(error)", retryAfter: wait))
            if failure?.isTransient != true { await pump.source.close() }
            try? await Task.sleep(for: .seconds(wait))
            return
        }
        // One write of the batch is to blame; the others must not suffer for it, nor wait for ever.
        for group in Dictionary(grouping: batch, by: \.job.id).values { await self.writeApart(&pump, group) }
    }

    /// Somebody holds a row that a batch needs: finds the jobs that this concerns, and returns the others' writes.
    ///
    /// - Returns: Whether the batch is dealt with; if not, whatever is held concerns all jobs.
    private func setApart(_ pump: inout Pump, _ batch: [QueueWrite]) async -> Bool {
        guard let free = try? await self.withoutLocked(batch, on: pump.source) else { return false }
        let index = pump.index
        if free.count < batch.count {
            self.state.withLock { $0.returnPending(free, to: index, at: .now) }
            return true
        }
        // Not a job's own rows, but something beside them, as the face that it enrols. If it keeps back several, it is
        // something that they share, as a whole table.
        var held = 0
        for group in Dictionary(grouping: batch, by: \.job.id).values {
            if held == 3 {
                self.state.withLock { $0.returnPending(group, to: index, at: .now) }
            } else if await self.writeApart(&pump, group) {
                held += 1
            }
        }
        return true
    }

    /// Writes one job's share of a batch.
    ///
    /// - Returns: Whether somebody holds what it needs.
    @discardableResult
    private func writeApart(_ pump: inout Pump, _ group: [QueueWrite]) async -> Bool {
        switch await self.writeAlone(group, on: pump.source) {
        case .done: return false
        case .held:
            self.park(group)
            return true
        case .away:
            let index = pump.index
            self.state.withLock { $0.returnPending(group, to: index, at: .now) }
            try? await Task.sleep(for: .seconds(pump.backoff.next()))
            return false
        case .instead(let write):
            self.state.withLock { _ = $0.add(write, at: .now) }
            return false
        }
    }

    func write(_ source: ReconnectingConnection, _ group: [QueueWrite]) async throws {
        let writes = QueueStatements.writes(group)
        let rows = try await source.open().pipeline(writes.map(\.statement))
        for (index, part) in writes.enumerated() {
            self.settled(part.writes, held: Set(try rows[index].map { try $0.int(0) }))
        }
        self.forgetEnding(group)
    }

    // MARK: The end

    private func stopIfEmpty(_ source: ReconnectingConnection) async {
        guard
            let identity = self.state.withLock({ state in
                state.running.isEmpty && state.pendingCount == 0 ? state.identity : nil
            })
        else { return }
        let statement = QueueStatements.isEmpty(identity)
        let isEmpty = try? await source.open().query(statement.sql, statement.parameters)[0].bool(0)
        if isEmpty == true { self.stop() }
    }

    private func deregister(_ source: ReconnectingConnection) async {
        let identity = self.state.withLock { state in
            state.hasLeft = true
            return state.identity
        }
        if let identity {
            let statement = QueueStatements.stop(identity)
            // Without it the worker is found dead after a while, which does no harm.
            _ = try? await source.open().query(statement.sql, statement.parameters, timeout: .seconds(2))
        }
        await source.close()
    }
}
