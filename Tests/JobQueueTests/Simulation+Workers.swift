import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// What workers do.
extension Simulation {
    // MARK: Claim

    mutating func claim(_ index: Int, plainly: Bool = false) async throws {
        guard !self.workers[index].queue.isOpen else { return }
        guard let identity = try await self.identity(of: index) else { return }
        let limit = plainly ? 50 : 1 + self.random.below(4)
        let leaveOpen = !plainly && self.random.chance(15)
        let onlyActive = !plainly && self.workers[index].floors.hasActive && self.random.chance(50)
        let plan = self.workers[index].floors.plan(limit: limit, onlyActive: onlyActive)
        let seen = self.workers[index].seen
        let statement = QueueStatements.claim(
            identity, leaseTime: .seconds(330), limit: limit, plan.scans, known: self.workers[index].floors.newest,
            seen: seen,
            horizon: plan.isFull)
        let outcome = try await self.workers[index].queue.run(self.world, [statement], leaveOpen: leaveOpen)
        guard case .rows(let rows) = outcome else { return self.note("worker \(index): the claim waits for a lock") }
        guard let answer = try QueueStatements.claims(from: rows[0]) else {
            return self.note("worker \(index) is not known, or drains")
        }
        self.claimed += answer.jobs.map(\.job)
        for claim in answer.jobs
        where !self.given.insert(.init(job: claim.job.id, fence: claim.job.fence)).inserted {
            self.violations.append("job \(claim.job.id) and fence \(claim.job.fence) were given out twice")
        }
        let names = answer.jobs.map { "\($0.job.id)/\($0.job.fence)" }.joined(separator: " ")
        self.note("worker \(index) claims [\(names)]\(leaveOpen ? ", not committed yet" : "")")
        let paused = try await self.world.paused(among: answer.jobs.map(\.job.id))
        if !paused.isEmpty { self.violations.append("jobs \(paused) were claimed although paused") }
        if !plainly && !leaveOpen && self.random.chance(8) {
            self.note("  and never hears the answer")
            return await self.workers[index].queue.drop(self.world)
        }
        if !self.keepsFloors { self.workers[index].enter(answer.epoch) }
        self.workers[index].seen.learn(
            fence: answer.jobs.map(\.job.fence).max() ?? 0, seq: max(answer.high, answer.jobs.map(\.seq).max() ?? 0))
        if self.workers[index].seen.epoch == seen.epoch { self.learn(index, from: answer, plan, limit: limit) }
        if leaveOpen {
            self.workers[index].pending = .claim(answer.jobs)
        } else {
            self.take(index, answer.jobs)
        }
    }

    /// What `JobWorker` does with the jobs of a claim.
    private mutating func take(_ index: Int, _ claims: [QueueStatements.Claim]) {
        for claim in claims {
            self.workers[index].unknown[claim.job.id] = nil
            if claim.isOpen && !claim.isExpired {
                self.workers[index].held.append(claim.job)
            } else {
                let kind: QueueWrite.Kind = claim.isExpired ? .deadLetter(InspectError(.expired)) : .release
                self.workers[index].unanswered.append(QueueWrite(kind: kind, job: claim.job, claimedAt: .now))
            }
        }
    }

    /// The worker's registration; registers it if need be.
    private mutating func identity(of index: Int) async throws -> WorkerIdentity? {
        if let identity = self.workers[index].identity { return identity }
        var configuration = JobWorkerConfiguration(
            databaseURL: "", host: "simulated", version: "0", slots: 8)
        configuration.lanes = [0, 1, 2]
        // Names follow from the seed, so that a run can be repeated to the letter.
        let name = String(
            format: "%08x-0000-4000-8000-%012x", self.random.below(1 << 32), self.random.below(1 << 48))
        let statement = QueueStatements.register(configuration, incarnation: name, process: 1)
        guard case .rows(let rows) = try await self.workers[index].heartbeat.run(self.world, statement) else {
            return nil
        }
        let identity = WorkerIdentity(id: try rows[0][0].int("worker_id"), incarnation: name, region: 0)
        self.workers[index].identity = identity
        self.workers[index].floors = QueueFloors(
            regions: [0], lanes: [0, 1, 2],
            floors: Array(zip(try rows[0][0].intArray("floor_queues"), try rows[0][0].intArray("floor_seqs"))))
        self.workers[index].fenceFloor = 0
        self.workers[index].lastFence = 0
        self.workers[index].seen.epoch = try rows[0][0].int("epoch")
        self.workers[index].unknown = [:]
        self.note("worker \(index) registers as \(identity.id)")
        return identity
    }

    // MARK: Writes

    /// Goes on with the jobs at hand: a batch of writes as the pump would send it.
    mutating func work(_ index: Int) async throws {
        guard !self.workers[index].queue.isOpen else { return }
        var batch = self.workers[index].unanswered
        for job in self.workers[index].held where self.random.chance(60) && !self.ends(batch, job) {
            batch += self.next(index, job)
        }
        guard !batch.isEmpty else { return }
        try await self.write(
            index, batch, leaveOpen: self.random.chance(12), loseAnswer: self.random.chance(8))
    }

    /// Brings everything at hand to its end.
    mutating func finish(_ index: Int) async throws {
        var batch = self.workers[index].unanswered
        for job in self.workers[index].held where !self.ends(batch, job) {
            batch.append(self.write(.finish(self.result(of: job)), job))
        }
        try await self.write(index, batch, leaveOpen: false, loseAnswer: false)
    }

    private func ends(_ batch: [QueueWrite], _ job: ClaimedJob) -> Bool {
        batch.contains { $0.job.id == job.id && $0.endsLease }
    }

    private func write(_ kind: QueueWrite.Kind, _ job: ClaimedJob) -> QueueWrite {
        QueueWrite(kind: kind, job: job, claimedAt: .now)
    }

    /// A result that says under which fence it was made.
    private func output(of job: ClaimedJob) -> Data {
        Data(#"{"by":"\#(job.fence)","of":"\#(job.publicID)"}"#.utf8)
    }

    private func result(of job: ClaimedJob) -> StorableResult {
        StorableResult(summary: #"{"decision":{"type":"PASSED"}}"#, body: self.output(of: job))
    }

    /// The next write or two for a job.
    private mutating func next(_ index: Int, _ job: ClaimedJob) -> [QueueWrite] {
        let stages: [JobStatus] = [.acquired, .document, .face, .liveness]
        let stored = self.workers[index].stored[job.id] ?? []
        switch self.random.below(20) {
        case 0..<11:
            // Now and then one that was stored before, as after an answer that was lost.
            if stored.count > 1, self.random.chance(40) {
                return [self.write(.step(stored[0], self.output(of: job)), job)]
            }
            let left = stages.filter { $0 > (stored.max() ?? job.status) }
            if left.isEmpty { return [self.write(.finish(self.result(of: job)), job)] }
            let next = left.prefix(1 + self.random.below(2))
            self.workers[index].stored[job.id, default: []] += next
            let steps = next.map { self.write(.step($0, self.output(of: job)), job) }
            guard self.random.chance(25) else { return steps }
            return steps + [self.write(.finish(self.result(of: job)), job)]
        case 11..<14: return [self.write(.finish(self.result(of: job)), job)]
        case 14..<16:
            let error = InspectError(self.random.chance(50) ? .partUnreachable : .analyzerCrashed)
            let verdict = RetryPolicy().verdict(
                after: error, attempt: job.attempt, crashes: job.crashes + (error.code.isCrash ? 1 : 0), random: 0)
            switch verdict {
            case .deadLetter(let final): return [self.write(.deadLetter(final), job)]
            case .retry(let seconds): return [self.write(.retry(error, after: seconds), job)]
            }
        case 16: return [self.write(.deadLetter(InspectError(.corruptImage, "x")), job)]
        case 17: return [self.write(.holdForReview(self.result(of: job)), job)]
        default: return [self.write(.release, job)]
        }
    }

    /// A worker that lost a lease long ago writes all the same.
    mutating func writeStale(_ index: Int) async throws {
        guard !self.workers[index].queue.isOpen, !self.claimed.isEmpty else { return }
        let leases = try await self.world.snapshot().leases
        let old = self.claimed.filter { !leases.contains(.init(job: $0.id, fence: $0.fence)) }
        guard !old.isEmpty else { return }
        let job = old[self.random.below(old.count)]
        let kinds: [QueueWrite.Kind] = [
            .step(.face, self.output(of: job)), .finish(self.result(of: job)),
            .holdForReview(self.result(of: job)), .deadLetter(InspectError(.corruptImage, "stale")),
            .retry(InspectError(.partUnreachable), after: .seconds(1)), .release,
        ]
        let kind = kinds[self.random.below(kinds.count)]
        self.note("worker \(index) writes under the stale fence \(job.fence):")
        try await self.write(index, [self.write(kind, job)], leaveOpen: false, loseAnswer: false)
    }

    private mutating func write(
        _ index: Int, _ batch: [QueueWrite], leaveOpen: Bool, loseAnswer: Bool
    ) async throws {
        let before = try await self.world.snapshot()
        let groups = QueueStatements.writes(batch)
        let outcome = try await self.workers[index].queue.run(
            self.world, groups.map(\.statement), leaveOpen: leaveOpen)
        let text = batch.map(Self.describe).joined(separator: ", ")
        guard case .rows(let rows) = outcome else {
            self.note("worker \(index): \(text) waits for a lock and is put off")
            self.workers[index].unanswered = batch
            return
        }
        self.note(
            "worker \(index): \(text)\(leaveOpen ? ", not committed yet" : "")\(loseAnswer ? ", answer lost" : "")")
        for (group, answer) in zip(groups, rows) {
            try self.compare(group.writes, Set(answer.map { try $0.int(0) }), before)
        }
        self.workers[index].unanswered = []
        if leaveOpen {
            self.workers[index].pending = .writes(batch)
        } else if loseAnswer {
            self.workers[index].unanswered = batch
            await self.workers[index].queue.drop(self.world)
        } else {
            self.settled(index, batch)
        }
    }

    /// The answer must name exactly the jobs whose lease held.
    private mutating func compare(
        _ writes: [QueueWrite], _ answered: Set<Int64>, _ before: SimulatedDatabase.Snapshot
    ) throws {
        var expected: Set<Int64> = []
        for write in writes where before.leases.contains(.init(job: write.job.id, fence: write.job.fence)) {
            switch write.kind {
            // A finished job's lease is only dropped by these.
            case .release, .retry: expected.insert(write.job.id)
            default: if !before.finished.contains(write.job.id) { expected.insert(write.job.id) }
            }
        }
        if answered != expected {
            self.violations.append(
                "\(writes.map(Self.describe)) was answered with \(answered.sorted()), not \(expected.sorted())")
        }
    }

    private mutating func settled(_ index: Int, _ batch: [QueueWrite]) {
        for write in batch where write.endsLease {
            self.workers[index].forget(write.job.id, fence: write.job.fence)
            self.workers[index].stored[write.job.id] = nil
        }
    }

    private static func describe(_ write: QueueWrite) -> String {
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
    }

    /// Ends a worker's open transaction.
    mutating func end(of index: Int, commit: Bool) async throws {
        guard self.workers[index].queue.isOpen else { return }
        try await self.workers[index].queue.end(commit: commit)
        self.note("worker \(index)'s transaction is \(commit ? "committed" : "rolled back")")
        switch self.workers[index].pending {
        case .claim(let claims): if commit { self.take(index, claims) }
        case .writes(let writes):
            if commit { self.settled(index, writes) } else { self.workers[index].unanswered += writes }
        case nil: break
        }
        self.workers[index].pending = nil
    }

    // MARK: Heartbeat

    mutating func heartbeat(_ index: Int) async throws {
        guard let identity = try await self.identity(of: index) else { return }
        let worker = self.workers[index]
        let statement = QueueStatements.heartbeat(
            identity, busy: worker.held.count, fenceFloor: worker.fenceFloor, floors: worker.floors.reported,
            seen: worker.seen)
        guard case .rows(let rows) = try await self.workers[index].heartbeat.run(self.world, statement) else {
            return self.note("worker \(index): the heartbeat waits for a lock")
        }
        let row = rows[0][0]
        guard try row.bool("alive") else {
            self.note("worker \(index) was declared dead")
            self.workers[index].identity = nil
            self.workers[index].held = []
            return
        }
        let leases = Dictionary(
            zip(try row.intArray("lease_jobs"), try row.intArray("lease_fences")), uniquingKeysWith: { $1 })
        self.note("worker \(index) beats, \(leases.count) leases")
        self.workers[index].floors.set(weights: try row.intArray("weights"))
        self.workers[index].floors.forgetNewest()
        let running = worker.held.map(\.fence).min() ?? .max
        if !self.keepsFloors { self.workers[index].enter(try row.int("epoch")) }
        if self.workers[index].seen.epoch == worker.seen.epoch {
            self.workers[index].fenceFloor = max(
                worker.fenceFloor, min(leases.values.min() ?? .max, running, worker.lastFence))
        }
        self.workers[index].lastFence = try row.int("fence")
        self.workers[index].seen.learn(fence: try row.int("fence"))
        // A commit under way would only confuse: the product looks at what ran since before the question.
        if self.workers[index].queue.isOpen { return }
        self.workers[index].held.removeAll { leases[$0.id] != $0.fence }
        let ending = self.workers[index].unanswered.map(\.job)
        let unknown = leases.filter { job, fence in
            !(self.workers[index].held + ending).contains { $0.id == job && $0.fence == fence }
        }
        for (job, fence) in unknown.sorted(by: { $0.key < $1.key })
        where self.workers[index].unknown[job] == fence {
            let claimed = ClaimedJob(
                id: job, publicID: "", fence: fence, attempt: 0, crashes: 0, status: .started, payload: Data(),
                steps: [:], traceparent: nil)
            self.workers[index].unanswered.append(self.write(.release, claimed))
        }
        self.workers[index].unknown = unknown
    }
}
