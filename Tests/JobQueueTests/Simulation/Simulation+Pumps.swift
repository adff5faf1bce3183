import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// Workers' round trips and the retries of parked jobs, in steps between which others may act.
extension Simulation {
    private typealias RoundTrip = SimulatedWorker.RoundTrip

    // MARK: Steps

    /// Moves a pump on for a step or more, until it waits.
    mutating func pump(_ index: Int, _ number: Int) async throws {
        if self.workers[index].machine.mustRegister { return try await self.heartbeat(index) }
        if !self.isCalm, self.random.chance(20) {
            self.send(index) { machine, actions in machine.notified(worker: "*", &actions) }
        }
        for _ in 0..<200 {
            switch self.workers[index].pumps[number].state {
            case .idle: guard try await self.ask(index, number) else { return }
            case .sending(let trip): try await self.send(trip, index, number)
            case .answered(let trip, let answer):
                if self.workers[index].pumps[number].session.isOpen { return }
                self.hear(answer, of: trip, index, number)
                // What was claimed may be finished by the next step.
                try await self.check()
                try await self.stopIfEmpty(index, number)
            case .broken(let trip):
                self.workers[index].pumps[number].state = .idle
                self.fail(trip.claiming, index)
                self.putBack(trip.batch, index)
            case .alone(let groups, let most): try await self.writeNext(of: groups, most: most, index, number)
            case .done: return
            }
            if !self.isCalm && !self.random.chance(80) { return }
        }
    }

    /// Asks the machine what there is to do.
    ///
    /// - Returns: Whether there is anything.
    private mutating func ask(_ index: Int, _ number: Int) async throws -> Bool {
        let pause = self.workers[index].pumps[number].sleepsUntil - self.now
        if pause > .zero { try await self.pass(pause) }
        let now = self.now
        switch self.workers[index].machine.nextStep(of: number, at: now) {
        case .done:
            self.workers[index].pumps[number].state = .done
            try await self.leave(index)
        case .wait(let pause): self.workers[index].pumps[number].sleepsUntil = now + pause
        case .send(let writes, let claiming, let asksForLocks):
            let (batch, superseded) = QueueWrite.split(writes)
            if !superseded.isEmpty {
                self.send(index) { machine, actions in machine.superseded(superseded, at: now, &actions) }
            }
            self.workers[index].pumps[number].state = .sending(
                RoundTrip(batch: batch, claiming: claiming, asksForLocks: asksForLocks))
            return true
        }
        return false
    }

    /// A worker that drains the queue stops once nothing is left.
    private mutating func stopIfEmpty(_ index: Int, _ number: Int) async throws {
        guard let identity = self.workers[index].machine.drainCheck,
            case .rows(let rows) = try await self.workers[index].pumps[number].session.run(
                self.world, QueueStatements.isEmpty(identity)), try rows[0][0].bool(0)
        else { return }
        let now = self.now
        self.send(index) { machine, actions in machine.stop(at: now, &actions) }
    }

    /// A worker whose pumps are all done strikes itself off; another one takes its place.
    private mutating func leave(_ index: Int) async throws {
        for pump in self.workers[index].pumps {
            guard case .done = pump.state else { return }
        }
        if let identity = self.workers[index].machine.leave() {
            _ = try await self.workers[index].heartbeat.run(self.world, QueueStatements.stop(identity))
        }
        self.note("worker \(index) has stopped")
        await self.workers[index].drop(self.world)
        self.workers[index] = self.worker()
    }

    // MARK: Round trips

    private mutating func send(_ trip: RoundTrip, _ index: Int, _ number: Int) async throws {
        var trip = trip
        let session = \SimulatedWorker.pumps[number].session
        self.workers[index].pumps[number].state = .idle
        if !trip.batch.isEmpty, trip.asksForLocks {
            trip.batch = try await self.withoutLocked(trip.batch, index, session) ?? trip.batch
        }
        if trip.batch.isEmpty && trip.claiming == nil { return }
        let groups = QueueStatements.writes(trip.batch)
        let claim = trip.claiming?.statement(jobDeadline: self.workers[index].machine.configuration.jobDeadline)
        let before = try await self.world.snapshot()
        let leaveOpen = self.leavesOpen ?? (!self.isCalm && self.random.chance(12))
        let outcome = try await self.workers[index][keyPath: session].run(
            self.world, groups.map(\.statement) + (claim.map { [$0] } ?? []), leaveOpen: leaveOpen)
        switch outcome {
        case .blocked(let error):
            self.note("worker \(index): \(Self.describe(trip.batch)) fails, \(error.sqlState ?? "no answer")")
            self.fail(trip.claiming, index)
            try await self.recover(trip.batch, from: error, index, number)
        case .rows(let rows):
            var claims = try trip.claiming.map { _ in try QueueStatements.claims(from: rows[groups.count]) } ?? nil
            if self.fault == .hidesEpochs, let claiming = trip.claiming { claims?.epoch = claiming.seen.epoch }
            let answer = SimulatedWorker.Answer(claims: claims, settled: try QueueStatements.settled(groups, rows))
            let jobs = (claims?.jobs ?? []).map { "\($0.job.id)/\($0.job.fence)" }.joined(separator: " ")
            self.note(
                "worker \(index): \(Self.describe(trip.batch)), claims [\(jobs)]\(leaveOpen ? ", not committed yet" : "")"
            )
            self.compare(answer.settled, before)
            self.told += trip.batch.filter { !$0.endsLease }
            try await self.look(at: claims)
            self.workers[index].pumps[number].state = .answered(trip, answer)
            if !self.isCalm && !leaveOpen && self.random.chance(8) {
                self.note("  and never hears the answer")
                self.workers[index].pumps[number].state = .broken(trip)
                await self.workers[index].pumps[number].session.drop(self.world)
            }
        }
    }

    private mutating func look(at claims: QueueStatements.Claims?) async throws {
        guard let jobs = claims?.jobs.map(\.job), !jobs.isEmpty else { return }
        self.claimed += jobs
        for job in jobs where !self.given.insert(job.fence).inserted {
            self.violations.append("fence \(job.fence) was given out twice")
        }
        let paused = try await self.world.paused(among: jobs.map(\.id))
        if !paused.isEmpty { self.violations.append("jobs \(paused) were claimed although paused") }
    }

    private mutating func hear(
        _ answer: SimulatedWorker.Answer, of trip: RoundTrip, _ index: Int, _ number: Int
    ) {
        self.workers[index].pumps[number].state = .idle
        if let claiming = trip.claiming {
            let (answered, now, random) = (answer.claims, self.now, 0.8 + 0.4 * self.fraction())
            self.send(index) { machine, actions in
                machine.claimed(answered, of: claiming, at: now, random: random, &actions)
            }
        }
        self.settle(answer.settled, of: trip.batch, index)
    }

    private mutating func settle(
        _ groups: [(writes: [QueueWrite], held: Set<Int64>)], of batch: [QueueWrite], _ index: Int
    ) {
        let now = self.now
        // As if every lease held.
        let heard =
            self.fault == .keepsLostLeases
            ? groups.map { (writes: $0.writes, held: Set($0.writes.map(\.job.id))) } : groups
        self.send(index) { machine, actions in machine.settled(heard, of: batch, at: now, &actions) }
    }

    /// The answers must name exactly the jobs whose lease held.
    private mutating func compare(
        _ groups: [(writes: [QueueWrite], held: Set<Int64>)], _ before: SimulatedDatabase.Snapshot
    ) {
        var leases = before.leases
        for (writes, held) in groups {
            var expected: Set<Int64> = []
            for write in writes where leases.contains(.init(job: write.job.id, fence: write.job.fence)) {
                switch write.kind {
                // A finished job's lease is only dropped by these.
                case .release, .retry: expected.insert(write.job.id)
                default: if !before.finished.contains(write.job.id) { expected.insert(write.job.id) }
                }
            }
            // What this statement ends, the next one no longer finds.
            for write in writes where write.endsLease && expected.contains(write.job.id) {
                leases.remove(.init(job: write.job.id, fence: write.job.fence))
            }
            if held != expected {
                self.violations.append(
                    "\(Self.describe(writes)) was answered with \(held.sorted()), not \(expected.sorted())")
            }
        }
    }

    private static func describe(_ batch: [QueueWrite]) -> String {
        batch.map { write in
            let kind =
                switch write.kind {
                case .step(let stage, _): "stage \(stage.rawValue)"
                case .finish: "finish"
                case .holdForReview: "hold for review"
                case .deadLetter(let error): "dead-letter \(error.code.rawValue)"
                case .retry(let error, let after): "retry \(error.code.rawValue) in \(after)"
                case .release: "release"
                }
            return "\(kind) \(write.job.id)/\(write.job.fence)"
        }.joined(separator: ", ")
    }

    // MARK: Failures

    private mutating func fail(_ claiming: WorkerMachine.Claiming?, _ index: Int) {
        guard let claiming, self.fault != .forgetsFailedClaims else { return }
        self.send(index) { machine, actions in machine.claimFailed(claiming, &actions) }
    }

    private mutating func putBack(_ batch: [QueueWrite], _ index: Int) {
        if self.fault == .forgetsFailedWrites { return }
        self.workers[index].machine.returnPending(batch, at: self.now)
    }

    private mutating func recover(
        _ batch: [QueueWrite], from error: PostgresError, _ index: Int, _ number: Int
    ) async throws {
        let groups = Dictionary(grouping: batch, by: \.job.id).sorted { $0.key < $1.key }.map(\.value)
        switch WorkerMachine.recovery(of: batch, from: WorkerMachine.WriteFailure(error)) {
        case .again: self.putBack(batch, index)
        case .eachAlone: self.workers[index].pumps[number].state = .alone(groups, most: .max)
        case .findHeld:
            let free = try await self.withoutLocked(batch, index, \.pumps[number].session)
            if let free, free.count == batch.count {
                self.workers[index].pumps[number].state = .alone(groups, most: 3)
            } else {
                self.putBack(free ?? batch, index)
            }
        }
    }

    private mutating func writeNext(
        of groups: [[QueueWrite]], most: Int, _ index: Int, _ number: Int
    ) async throws {
        self.workers[index].pumps[number].state = .idle
        guard let group = groups.first else { return }
        if most == 0 { return self.putBack(groups.flatMap { $0 }, index) }
        var left = most
        if case .parked = try await self.writeAlone(group, index, \.pumps[number].session) { left -= 1 }
        self.workers[index].pumps[number].state = .alone(Array(groups.dropFirst()), most: left)
    }

    // MARK: One job alone

    /// Writes one job's share of a batch, or what the machine wants in its place.
    ///
    /// - Returns: `nil` if it was written.
    private mutating func writeAlone(
        _ group: [QueueWrite], _ index: Int, _ session: WritableKeyPath<SimulatedWorker, SimulatedSession>
    ) async throws -> WorkerMachine.AloneRecovery? {
        var substitute: QueueWrite?
        while true {
            let batch = substitute.map { [$0] } ?? group
            let groups = QueueStatements.writes(batch)
            let before = try await self.world.snapshot()
            switch try await self.workers[index][keyPath: session].run(self.world, groups.map(\.statement)) {
            case .rows(let rows):
                self.note("worker \(index): \(Self.describe(batch)), alone")
                let settled = try QueueStatements.settled(groups, rows)
                self.compare(settled, before)
                self.settle(settled, of: batch, index)
                return nil
            case .blocked(let error):
                self.note("worker \(index): \(Self.describe(batch)) fails alone, \(error.sqlState ?? "no answer")")
                let (sent, now, random) = (substitute, self.now, 0.8 + 0.4 * self.fraction())
                let recovery = self.send(index) { machine, actions in
                    machine.failedAlone(
                        group, WorkerMachine.WriteFailure(error), substitute: sent, at: now, random: random, &actions)
                }
                guard case .instead(let write) = recovery else { return recovery }
                substitute = write
            }
        }
    }

    /// Which of these jobs have rows that somebody holds; `nil` if the database does not say.
    private mutating func locked(
        _ jobs: [Int64], _ index: Int, _ session: WritableKeyPath<SimulatedWorker, SimulatedSession>
    ) async throws -> Set<Int64>? {
        let outcome = try await self.workers[index][keyPath: session].run(self.world, QueueStatements.locked(jobs))
        guard case .rows(let rows) = outcome else { return nil }
        return Set(try rows[0].map { try $0.int(0) })
    }

    private mutating func withoutLocked(
        _ batch: [QueueWrite], _ index: Int, _ session: WritableKeyPath<SimulatedWorker, SimulatedSession>
    ) async throws -> [QueueWrite]? {
        guard let locked = try await self.locked(Array(Set(batch.map(\.job.id))), index, session) else { return nil }
        let (now, random) = (self.now, 0.8 + 0.4 * self.fraction())
        return self.send(index) { machine, actions in
            machine.withoutLocked(batch, locked: locked, at: now, random: random, &actions)
        }
    }

    /// Tries a worker's parked jobs again.
    mutating func retryParked(_ index: Int) async throws {
        if self.workers[index].machine.parked.isEmpty { return }
        let pause = self.workers[index].retriesSleepUntil - self.now
        if pause > .zero { try await self.pass(pause) }
        let now = self.now
        switch self.workers[index].machine.nextRetry(at: now) {
        case .over: return
        case .wait(let pause): self.workers[index].retriesSleepUntil = now + pause
        case .ask(let groups):
            let locked = try await self.locked(groups.map { $0[0].job.id }, index, \.duties)
            let random = 0.8 + 0.4 * self.fraction()
            let writable = self.send(index) { machine, actions in
                machine.retry(groups, locked: locked, at: now, random: random, &actions)
            }
            self.note("worker \(index): \(writable.count) of \(groups.count) parked jobs can be written")
            for group in writable where try await self.writeAlone(group, index, \.duties) == nil {
                self.send(index) { machine, actions in machine.retried(group, at: now, &actions) }
            }
        }
    }

    // MARK: Others

    /// Pumps with a transaction that is not committed yet.
    var openPumps: [(index: Int, number: Int)] {
        self.workers.indices.flatMap { index in
            self.workers[index].pumps.indices.filter { self.workers[index].pumps[$0].session.isOpen }.map {
                (index, $0)
            }
        }
    }

    /// Ends a pump's open transaction.
    mutating func end(_ index: Int, _ number: Int, commit: Bool, breaks: Bool) async throws {
        if breaks {
            self.note("worker \(index)'s connection breaks in the middle of its transaction")
            await self.workers[index].pumps[number].session.drop(self.world)
        } else {
            self.note("worker \(index)'s transaction is \(commit ? "committed" : "rolled back")")
            try await self.workers[index].pumps[number].session.end(commit: commit)
            if commit { return }
        }
        if case .answered(let trip, _) = self.workers[index].pumps[number].state {
            self.workers[index].pumps[number].state = .broken(trip)
        }
    }

    /// Earlier stages of the jobs that run arrive once more, as after an answer that was lost.
    mutating func repeatStages() async throws {
        let before = try await self.world.snapshot()
        for write in self.told where before.leases.contains(.init(job: write.job.id, fence: write.job.fence)) {
            let groups = QueueStatements.writes([write])
            let outcome = try await self.ghost.run(self.world, groups.map(\.statement))
            self.note("once more: \(Self.describe([write]))")
            if case .rows(let rows) = outcome { self.compare(try QueueStatements.settled(groups, rows), before) }
            try await self.check()
        }
    }

    /// Somebody writes under the fence of a lease that was lost long ago.
    mutating func writeStale() async throws {
        let leases = try await self.world.snapshot().leases
        var old = self.claimed.filter { !leases.contains(.init(job: $0.id, fence: $0.fence)) }
        guard !old.isEmpty else { return }
        // Mostly of a job that runs again by now.
        let running = Set(leases.map(\.job))
        let again = old.filter { running.contains($0.id) }
        if !again.isEmpty && self.random.chance(70) { old = again }
        let job = old[self.random.below(old.count)]
        let kinds: [QueueWrite.Kind] = [
            .step(.face, self.output(of: job)), .finish(self.result(of: job)),
            .holdForReview(self.result(of: job)), .deadLetter(InspectError(.corruptImage, "stale")),
            .retry(InspectError(.partUnreachable), after: .seconds(1)), .release,
        ]
        let write = QueueWrite(kind: kinds[self.random.below(kinds.count)], job: job, claimedAt: self.now)
        let groups = QueueStatements.writes([write])
        let before = try await self.world.snapshot()
        let outcome = try await self.ghost.run(self.world, groups.map(\.statement))
        self.note("under a stale fence: \(Self.describe([write]))")
        if case .rows(let rows) = outcome { self.compare(try QueueStatements.settled(groups, rows), before) }
    }
}
