internal import InspectCore
internal import Postgres

/// Jobs whose rows another transaction holds, as an operator's that was left open: each waits for itself, with its lease kept
/// by the heartbeats, while the pumps go on with all others.
extension JobWorker {
    private enum Retry {
        case over
        case wait(Double)
        case write([[QueueWrite]])
    }

    /// Sets the job of these writes apart.
    func park(_ writes: [QueueWrite]) {
        let job = writes[0].job.id
        self.state.withLock { $0.park(writes, of: job, at: .now) }
        self.report(.rowHeld(job: writes[0].reference))
        self.parking.notify()
    }

    /// Sets those jobs of a batch apart whose rows somebody holds.
    ///
    /// - Returns: The others' writes.
    func withoutLocked(_ batch: [QueueWrite], on source: ReconnectingConnection) async throws -> [QueueWrite] {
        let statement = QueueStatements.locked(Array(Set(batch.map(\.job.id))))
        let rows = try await source.open().query(statement.sql, statement.parameters)
        let locked = Set(try rows.map { try $0.int(0) })
        if locked.isEmpty { return batch }
        for (job, writes) in Dictionary(grouping: batch, by: \.job.id) where locked.contains(job) {
            self.park(writes)
        }
        return batch.filter { !locked.contains($0.job.id) }
    }

    /// Tries the parked jobs again, each at its own time, on a connection that no claim needs, until the worker has stopped.
    func runParked() async {
        while true {
            switch self.nextRetry() {
            case .over: return
            case .wait(let seconds): await self.parking.wait(timeout: seconds)
            case .write(let groups): await self.writeParked(groups)
            }
        }
    }

    private func nextRetry() -> Retry {
        let now = ContinuousClock.now
        return self.state.withLock { state in
            if self.isOver(state, at: now) { return .over }
            let due = state.dueParked(at: now)
            if !due.isEmpty { return .write(due) }
            return .wait(state.nextParked.map { max(0.001, min(1, ($0 - now).seconds)) } ?? 1)
        }
    }

    private func writeParked(_ groups: [[QueueWrite]]) async {
        let statement = QueueStatements.locked(groups.map { $0[0].job.id })
        var locked: Set<Int64>?
        if let rows = try? await self.duties.open().query(statement.sql, statement.parameters) {
            locked = try? Set(rows.map { try $0.int(0) })
        }
        for group in groups {
            let job = group[0].job.id
            guard let locked, !locked.contains(job) else {
                self.state.withLock { $0.deferParked(job, at: .now) }
                continue
            }
            let (group, superseded) = QueueWrite.split(group)
            if !superseded.isEmpty {
                self.state.withLock { $0.forgetParked(of: job, before: group[0].job.fence) }
                self.discard(superseded)
            }
            let outcome = await self.writeAlone(group, on: self.duties)
            self.state.withLock { state in
                switch outcome {
                case .done: state.unpark(job, after: group.count, at: .now)
                case .held, .away: state.deferParked(job, at: .now)
                case .instead(let write):
                    state.unpark(job, after: group.count, writing: write, at: .now)
                    state.deferParked(job, at: .now)
                }
            }
        }
        // Pumps that stop wait for the last of them.
        if self.state.withLock({ $0.isDone }) { self.wakeAll() }
    }

    // MARK: Lost claims

    /// Tells of the writes of claims that are known to be lost, and leaves them out.
    func withoutSuperseded(_ batch: [QueueWrite]) -> [QueueWrite] {
        let (current, superseded) = QueueWrite.split(batch)
        self.discard(superseded)
        return current
    }

    /// Ends what is left of claims that are known to be lost.
    private func discard(_ writes: [QueueWrite]) {
        if writes.isEmpty { return }
        self.settled(writes, held: [])
        self.forgetEnding(writes)
    }

    // MARK: One job alone

    /// What became of one job's writes.
    enum WrittenAlone {
        case done
        /// Somebody holds a row that they need.
        case held
        /// The database is away, or busy with something else.
        case away
        /// They were refused; this is to be written in their place.
        case instead(QueueWrite)
    }

    /// Writes one job's share of a batch, all of one claim; what the database refuses ends the job.
    func writeAlone(_ group: [QueueWrite], on source: ReconnectingConnection) async -> WrittenAlone {
        do {
            try await self.write(source, group)
            return .done
        } catch let error as PostgresError where error.isTransient {
            return error.isLockTimeout ? .held : .away
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
                return .instead(giveUp)
            } catch {
                // Left to its lease's deadline; the rescue counts it as a crash.
                self.forgetEnding(group)
                self.report(.databaseUnavailable(role: "queue", error: "SQLSTATE \(state)", retryAfter: 0))
            }
            return .done
        }
    }
}
