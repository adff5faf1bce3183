internal import Foundation
internal import InspectCore
internal import Postgres

extension JobWorker {
    /// Most writes in one round trip, so that a statement stays small when much has piled up.
    private static let batchLimit = 2048
    /// As many writes go at once, without waiting for more.
    private static let batchTarget = 64
    /// A look at all queues costs one index descent each, so busy workers mostly look where jobs were; but no longer than
    /// this, or other partners would never be seen.
    private static let fullLookInterval = Duration.milliseconds(100)

    /// What the pump has to do.
    private enum Step {
        case done
        case wait(Double)
        case act(writes: [QueueWrite], claim: Int, identity: WorkerIdentity?)
    }

    /// Memory of the pump alone.
    private struct Pump {
        var nextPoll = ContinuousClock.now
        var lastFullLook: ContinuousClock.Instant?
        var sawNothing = false
        var backoff = Backoff()
    }

    /// Claims and writes until the worker has stopped: each round trip carries all writes that are due and one claim for
    /// the free slots, as one transaction.
    func runPump() async {
        let connection = ReconnectingConnection(self.configuration, role: "queue", report: self.report)
        var pump = Pump()
        while true {
            switch self.nextStep(pump) {
            case .done:
                await self.deregister(connection)
                return
            case .wait(let seconds):
                await self.signal.wait(timeout: seconds)
            case .act(let writes, let free, let identity):
                await self.roundTrip(connection, writes, claim: free, identity, &pump)
                if pump.sawNothing && self.configuration.drains { await self.stopIfEmpty(connection) }
            }
        }
    }

    private func nextStep(_ pump: Pump) -> Step {
        let now = ContinuousClock.now
        return self.state.withLock { state in
            state.pumpMoved = now
            if state.isDone { return .done }
            // A database that stays away must not keep the worker for ever; its leases will be rescued.
            if let since = state.stoppingSince, now - since > .seconds(self.configuration.shutdownDeadline + 10) {
                return .done
            }
            // What does not fit into this round trip still counts: claims must not outrun what can be written.
            let unwritten = max(0, state.pending.count - Self.batchLimit)
            let free = self.configuration.slots - state.running.count - unwritten
            let mayClaim = state.identity != nil && !state.isStopping && !state.isSuspended && free > 0
            let wantsClaim = mayClaim && (!pump.sawNothing || state.isHinted || now >= pump.nextPoll)
            if let since = state.pendingSince {
                let linger = Duration.seconds(self.configuration.linger)
                let isFull = state.pending.count >= min(Self.batchTarget, self.configuration.slots)
                if !isFull && !state.running.isEmpty && now - since < linger {
                    return .wait((linger - (now - since)).seconds)
                }
            } else if !wantsClaim {
                return .wait(max(0.001, min(1, (pump.nextPoll - now).seconds <= 0 ? 1 : (pump.nextPoll - now).seconds)))
            }
            if wantsClaim { state.isHinted = false }
            return .act(
                writes: state.takePending(limit: Self.batchLimit), claim: wantsClaim ? free : 0,
                identity: wantsClaim ? state.identity : nil)
        }
    }

    private func roundTrip(
        _ source: ReconnectingConnection, _ batch: [QueueWrite], claim free: Int, _ identity: WorkerIdentity?,
        _ pump: inout Pump
    ) async {
        let start = ContinuousClock.now
        let writes = QueueStatements.writes(batch)
        var looks: [QueueFloors.Look] = []
        var statements = writes.map(\.statement)
        let isFullLook = pump.lastFullLook.map { start - $0 >= Self.fullLookInterval } ?? true
        if let identity {
            looks = self.state.withLock { state in
                let onlyActive = !isFullLook && state.floors.hasActive
                return state.floors.plan(limit: free, onlyActive: onlyActive)
            }
            // Longer than the worker's own deadline: the database takes a job back only from a worker that fails to.
            statements.append(
                QueueStatements.claim(
                    identity, leaseTime: self.configuration.jobDeadline + 30, limit: free, looks))
        }
        do {
            let rows = try await source.open().pipeline(statements)
            pump.backoff.reset()
            for (index, group) in writes.enumerated() {
                self.settled(group.writes, held: Set(try rows[index].map { try $0.int(0) }))
            }
            self.forgetEnding(batch)
            var claimed = 0
            if let identity {
                claimed = try self.take(rows[writes.count], looks, limit: free, identity)
                let sawAll = looks.count == self.lookCount
                if sawAll { pump.lastFullLook = start }
                // Only a look at everything can tell that nothing is there.
                pump.sawNothing = claimed == 0 && sawAll
                if claimed == 0 && !sawAll { pump.lastFullLook = nil }
                if pump.sawNothing {
                    pump.nextPoll = .now + .seconds(self.configuration.pollInterval * Double.random(in: 0.8...1.2))
                }
            }
            self.report(.roundTrip(written: batch.count, claimed: claimed, seconds: (.now - start).seconds))
        } catch {
            await self.recover(source, batch, from: error, &pump)
        }
    }

    private var lookCount: Int {
        let regions = self.configuration.region == nil ? 1 : 2
        return regions * self.configuration.lanes.count * QueueFloors.slotCount
    }

    /// Starts the jobs of a claim.
    ///
    /// - Returns: How many rows were taken from the queue.
    private func take(
        _ rows: [PostgresRow], _ looks: [QueueFloors.Look], limit: Int, _ identity: WorkerIdentity
    ) throws -> Int {
        guard let (high, paused, claims) = try QueueStatements.claims(from: rows) else { return 0 }
        self.state.withLock { state in
            guard state.identity == identity else { return }
            state.floors.learn(
                looks.filter { !paused.contains($0.queue.lane) }, limit: limit,
                claimed: claims.map { ($0.queue, $0.seq) }, high: high)
        }
        let now = ContinuousClock.now
        for claim in claims {
            let isOurs = self.state.withLock { $0.identity == identity && !$0.isSuspended }
            if claim.isOpen && !claim.isExpired && isOurs {
                self.start(claim.job)
            } else {
                // A finished job's lease is only dropped by this.
                let kind: QueueWrite.Kind = claim.isExpired ? .giveUp(InspectError(.expired)) : .handBack
                self.state.withLock { $0.add(QueueWrite(kind: kind, job: claim.job, claimedAt: now), at: now) }
            }
        }
        return claims.count
    }

    /// Tells of writes that arrived, and ends the work on jobs whose lease turned out to be lost.
    private func settled(_ writes: [QueueWrite], held: Set<Int64>) {
        let now = ContinuousClock.now
        for write in writes {
            let job = write.job
            guard held.contains(job.id) else {
                if write.endsLease {
                    // A job that was finished from outside while it waited has no id to tell.
                    if !job.publicID.isEmpty { self.report(.leaseLost(job: job.reference)) }
                } else {
                    self.drop { $0.id == job.id && $0.fence == job.fence }
                }
                continue
            }
            switch write.kind {
            case .step: break
            case .finish:
                let seconds = (now - write.claimedAt).seconds
                var reference = job.reference
                reference.stage = .finished
                self.report(.finished(job: reference, seconds: seconds))
            case .giveUp(let error):
                self.report(.givenUp(job: job.reference, error: error))
            case .retry(let error, let after):
                self.report(.retried(job: job.reference, error: error, after: after))
            case .handBack:
                if !job.publicID.isEmpty { self.report(.handedBack(job: job.reference)) }
            }
        }
    }

    private func forgetEnding(_ batch: [QueueWrite]) {
        self.state.withLock { state in
            for write in batch where write.endsLease && state.ending[write.job.id] == write.job.fence {
                state.ending[write.job.id] = nil
            }
        }
    }

    // MARK: Failures

    private func recover(
        _ source: ReconnectingConnection, _ batch: [QueueWrite], from error: any Error, _ pump: inout Pump
    ) async {
        let failure = error as? PostgresError
        if batch.isEmpty || failure?.isTransient != false || failure?.code == .decoding {
            // Sent again as it is: whatever did arrive is refused by its fence the second time.
            self.state.withLock { $0.returnPending(batch, at: .now) }
            let wait = pump.backoff.next()
            self.report(
                .databaseUnavailable(role: "queue", error: failure.map(\.reason) ?? "\(error)", retryAfter: wait))
            if failure?.isTransient != true { await source.close() }
            try? await Task.sleep(for: .seconds(wait))
            return
        }
        // One write of the batch is to blame; the others must not suffer for it, nor wait for ever.
        for group in Dictionary(grouping: batch, by: \.job.id).values {
            await self.writeAlone(source, group, &pump)
        }
    }

    /// Writes one job's share of a batch; what the database refuses ends the job.
    private func writeAlone(_ source: ReconnectingConnection, _ group: [QueueWrite], _ pump: inout Pump) async {
        do {
            try await self.write(source, group)
            return
        } catch let error as PostgresError where error.isTransient {
            self.state.withLock { $0.returnPending(group, at: .now) }
            try? await Task.sleep(for: .seconds(pump.backoff.next()))
            return
        } catch {
            let state = (error as? PostgresError)?.sqlState ?? "none"
            let job = group[0].job
            let giveUp = QueueWrite(
                kind: .giveUp(InspectError(.internalError, "a result cannot be stored, SQLSTATE \(state)")), job: job,
                claimedAt: group[0].claimedAt)
            // Nothing more may be written for the job, whatever it does.
            self.drop { $0.id == job.id && $0.fence == job.fence }
            do {
                try await self.write(source, [giveUp])
            } catch let error as PostgresError where error.isTransient {
                self.state.withLock { $0.add(giveUp, at: .now) }
            } catch {
                // Left to its lease's deadline; the rescue counts it as a crash.
                self.forgetEnding(group)
                self.report(.databaseUnavailable(role: "queue", error: "SQLSTATE \(state)", retryAfter: 0))
            }
        }
    }

    private func write(_ source: ReconnectingConnection, _ group: [QueueWrite]) async throws {
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
                state.running.isEmpty && state.pending.isEmpty ? state.identity : nil
            })
        else { return }
        let statement = QueueStatements.isEmpty(identity)
        let isEmpty = try? await source.open().query(statement.sql, statement.parameters)[0].bool(0)
        if isEmpty == true { self.stop() }
    }

    private func deregister(_ source: ReconnectingConnection) async {
        if let identity = self.state.withLock({ $0.identity }) {
            let statement = QueueStatements.stop(identity)
            // Without it the worker is found dead after a while, which does no harm.
            _ = try? await source.open().query(statement.sql, statement.parameters, timeout: .seconds(2))
        }
        await source.close()
    }
}

extension PostgresError {
    /// For logs: classes 22 and 23 (data and constraint errors) may quote values.
    var reason: String {
        guard let state = self.sqlState else { return "\(self.code.rawValue): \(self.message)" }
        return state.hasPrefix("22") || state.hasPrefix("23") ? "SQLSTATE \(state)" : "\(state) \(self.message)"
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
