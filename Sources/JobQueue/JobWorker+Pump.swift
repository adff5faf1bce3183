internal import InspectCore
internal import Postgres

/// The pumps and what wakes them: each round trip has all due writes of a pump and one claim for the free slots, as one transaction.
extension JobWorker {
    /// One of the pumps, with its own state.
    private struct Pump {
        let source: ReconnectingConnection
        var backoff = Backoff()
    }

    // MARK: Wake-ups

    /// Turns notifications into events. They are only hints: the pump also polls.
    func runListener() async {
        var options = self.configuration.connection
        options.name += " listener"
        let lanes = Set(self.configuration.lanes.map(String.init))
        let listener = NotificationListener(
            self.configuration.listenURL ?? self.configuration.databaseURL, options: options,
            channels: ["insp_ready", "insp_control"])
        await listener.run { event in
            switch event {
            case .listening(let isAgain):
                if isAgain { self.report(.reconnected(role: "listener")) }
                // Covers notifications missed while not listening.
                self.send { machine, actions in machine.notified(worker: "*", &actions) }
            case .notification(let notification) where notification.channel == "insp_control":
                self.send { machine, actions in machine.notified(worker: notification.payload, &actions) }
            case .notification(let notification):
                if lanes.contains(notification.payload) {
                    self.send { machine, actions in machine.hint(&actions) }
                }
            case .lost(let error, let wait):
                self.unavailable("listener", error, retryAfter: wait)
            }
        }
    }

    // MARK: Round trips

    /// Claims and writes until the worker has stopped.
    func runPumps() async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<self.configuration.pumps { group.addTask { await self.runPump(index) } }
            group.addTask { await self.runParked() }
        }
        await self.deregister(self.auxiliary)
    }

    private func runPump(_ index: Int) async {
        let role = index == 0 ? "queue" : "queue \(index + 1)"
        var pump = Pump(source: self.configuration.connection(role, report: self.report))
        while true {
            switch self.ask({ $0.nextStep(of: index, at: .now) }) {
            case .done:
                // Another pump may be waiting for what this one has just finished.
                self.send { _, actions in actions.wakesAll = true }
                await pump.source.close()
                return
            case .wait(let pause):
                await self.wakeUps[index].wait(timeout: pause)
            case .send(let writes, let claiming, let asksForLocks):
                await self.roundTrip(&pump, writes, claiming, asksForLocks: asksForLocks)
                await self.stopIfEmpty(pump.source)
            }
        }
    }

    private func roundTrip(
        _ pump: inout Pump, _ writes: [QueueWrite], _ claiming: WorkerMachine.Claiming?, asksForLocks: Bool
    ) async {
        let start = ContinuousClock.now
        var (batch, superseded) = QueueWrite.split(writes)
        if !superseded.isEmpty {
            self.send { machine, actions in machine.superseded(superseded, at: .now, &actions) }
        }
        if !batch.isEmpty, asksForLocks {
            batch = (try? await self.withoutLocked(batch, on: pump.source)) ?? batch
        }
        if batch.isEmpty && claiming == nil { return }
        let groups = QueueStatements.writes(batch)
        var statements = groups.map(\.statement)
        if let claiming { statements.append(claiming.statement(jobDeadline: self.configuration.jobDeadline)) }
        do {
            let rows = try await pump.source.open().pipeline(statements)
            pump.backoff.reset()
            let claims = try claiming.map { _ in try QueueStatements.claims(from: rows[groups.count]) } ?? nil
            let settled = try QueueStatements.settled(groups, rows)
            let (now, random, sent) = (ContinuousClock.now, Double.random(in: 0.8...1.2), batch)
            self.send { machine, actions in
                if let claiming { machine.claimed(claims, of: claiming, at: now, random: random, &actions) }
                machine.settled(settled, of: sent, at: now, &actions)
            }
            self.report(
                .roundTrip(
                    written: batch.count, claimed: claims?.jobs.count ?? 0, seconds: (.now - start).seconds))
        } catch {
            if let claiming {
                self.send { machine, actions in machine.claimFailed(claiming, &actions) }
                await self.dropStrays(claiming, on: pump.source, after: error)
            }
            await self.recover(&pump, batch, from: error)
        }
    }

    // MARK: Failures

    /// A job has one row in the queue or one lease. If someone wrote a second row, every claim of it would fail.
    private func dropStrays(
        _ claiming: WorkerMachine.Claiming, on source: ReconnectingConnection, after error: any Error
    ) async {
        guard (error as? PostgresError)?.isUniqueViolation == true else { return }
        // Some of the first rows may be locked by other claims.
        let statement = QueueStatements.dropStrays(claiming.plan.scans, limit: 4 * claiming.limit)
        _ = try? await source.open().query(statement.sql, statement.parameters)
    }

    private func recover(_ pump: inout Pump, _ batch: [QueueWrite], from error: any Error) async {
        switch WorkerMachine.recovery(of: batch, from: WorkerMachine.WriteFailure(error)) {
        case .again: await self.sendAgain(&pump, batch, after: error)
        case .findHeld:
            guard let free = try? await self.withoutLocked(batch, on: pump.source) else {
                return await self.sendAgain(&pump, batch, after: error)
            }
            if free.count < batch.count {
                self.ask { $0.returnPending(free, at: .now) }
            } else {
                // The held row is not the job's own, but another, such as that of the face that it enrols. If it blocks several jobs, they
                // share it, as they do a whole table.
                await self.writeEach(&pump, batch, heldAtMost: 3)
            }
        case .eachAlone:
            await self.writeEach(&pump, batch, heldAtMost: .max)
        }
    }

    private func sendAgain(_ pump: inout Pump, _ batch: [QueueWrite], after error: any Error) async {
        self.ask { $0.returnPending(batch, at: .now) }
        let pause = pump.backoff.next()
        self.unavailable("queue", error, retryAfter: pause)
        if (error as? PostgresError)?.isTransient != true { await pump.source.close() }
        try? await Task.sleep(for: pause)
    }

    /// Writes a batch job by job, until this many were held. The count is not part of the machine: it ends with the batch, and no
    /// decision about a job depends on it.
    private func writeEach(_ pump: inout Pump, _ batch: [QueueWrite], heldAtMost most: Int) async {
        var held = 0
        for group in Dictionary(grouping: batch, by: \.job.id).values {
            if held == most {
                self.ask { $0.returnPending(group, at: .now) }
                continue
            }
            switch await self.writeAlone(group, on: pump.source) {
            case .parked: held += 1
            case .later: try? await Task.sleep(for: pump.backoff.next())
            case .done, .abandoned: break
            }
        }
    }

    // MARK: Single jobs: parked ones, and those that make a batch fail

    /// Retries the parked jobs, each at its own time, on a connection that no claim needs, until the worker has stopped.
    func runParked() async {
        while true {
            switch self.ask({ $0.nextRetry(at: .now) }) {
            case .over: return
            case .wait(let pause): await self.parking.wait(timeout: pause)
            case .ask(let groups):
                let locked = try? await self.locked(groups.map { $0[0].job.id }, on: self.duties)
                let random = Double.random(in: 0.8...1.2)
                let writable = self.send { machine, actions in
                    machine.retry(groups, locked: locked, at: .now, random: random, &actions)
                }
                for group in writable {
                    if case .done = await self.writeAlone(group, on: self.duties) {
                        self.send { machine, actions in machine.retried(group, at: .now, &actions) }
                    }
                }
                if self.ask({ $0.isDone }) { self.send { _, actions in actions.wakesAll = true } }
            }
        }
    }

    /// Which of these jobs have rows held by another transaction.
    private func locked(_ jobs: [Int64], on source: ReconnectingConnection) async throws -> Set<Int64> {
        let statement = QueueStatements.locked(jobs)
        return Set(try await source.open().query(statement.sql, statement.parameters).map { try $0.int(0) })
    }

    /// Separates a batch's jobs whose rows another transaction holds.
    ///
    /// - Returns: The others' writes.
    func withoutLocked(_ batch: [QueueWrite], on source: ReconnectingConnection) async throws -> [QueueWrite] {
        let locked = try await self.locked(Array(Set(batch.map(\.job.id))), on: source)
        let random = Double.random(in: 0.8...1.2)
        return self.send { machine, actions in
            machine.withoutLocked(batch, locked: locked, at: .now, random: random, &actions)
        }
    }

    /// The outcome of one job's writes.
    enum WrittenAlone {
        case done, parked, later, abandoned
    }

    /// Writes one job's share of a batch, all of one claim, or the machine's replacement for it.
    func writeAlone(_ group: [QueueWrite], on source: ReconnectingConnection) async -> WrittenAlone {
        var substitute: QueueWrite?
        while true {
            do {
                try await self.write(source, substitute.map { [$0] } ?? group)
                return .done
            } catch {
                let failure = WorkerMachine.WriteFailure(error)
                let (sent, random) = (substitute, Double.random(in: 0.8...1.2))
                let recovery = self.send { machine, actions in
                    machine.failedAlone(group, failure, substitute: sent, at: .now, random: random, &actions)
                }
                switch recovery {
                case .parked: return .parked
                case .later: return .later
                case .abandoned: return .abandoned
                case .instead(let write): substitute = write
                }
            }
        }
    }

    private func write(_ source: ReconnectingConnection, _ batch: [QueueWrite]) async throws {
        let writes = QueueStatements.writes(batch)
        let rows = try await source.open().pipeline(writes.map(\.statement))
        let settled = try QueueStatements.settled(writes, rows)
        self.send { machine, actions in machine.settled(settled, of: batch, at: .now, &actions) }
    }

    // MARK: The end

    private func stopIfEmpty(_ source: ReconnectingConnection) async {
        guard let identity = self.ask({ $0.drainCheck }) else { return }
        let statement = QueueStatements.isEmpty(identity)
        let isEmpty = try? await source.open().query(statement.sql, statement.parameters).single().bool(0)
        if isEmpty == true { self.stop() }
    }

    private func deregister(_ source: ReconnectingConnection) async {
        if let identity = self.ask({ $0.leave() }) {
            let statement = QueueStatements.stop(identity)
            // If this fails, the worker is declared dead after a while, which does no harm.
            _ = try? await source.open().query(statement.sql, statement.parameters, timeout: .seconds(2))
        }
        await source.close()
    }
}

extension WorkerMachine.Claiming {
    func statement(jobDeadline: Duration) -> PostgresStatement {
        // Longer than the worker's own deadline: the database takes a job back only if the worker fails to end it.
        QueueStatements.claim(
            self.identity, leaseTime: jobDeadline + .seconds(30), limit: self.limit, self.plan.scans, known: self.known,
            seen: self.seen, horizon: self.plan.isFull)
    }
}

extension WorkerMachine.WriteFailure {
    init(_ error: any Error) {
        guard let error = error as? PostgresError else {
            self = .unreadable
            return
        }
        if error.isLockTimeout {
            self = .held
        } else if error.isTransient {
            self = .unavailable
        } else if error.code == .decoding {
            self = .unreadable
        } else {
            self = .refused(error.sqlState ?? "none")
        }
    }
}
