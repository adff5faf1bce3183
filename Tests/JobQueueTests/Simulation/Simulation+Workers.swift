import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// What workers do beside their pumps: handlers, heartbeats and the watchdog.
extension Simulation {
    // MARK: Events and actions

    /// Has a worker's machine take an event, and carries out what it wants done, as `JobWorker` does.
    @discardableResult
    mutating func send<Answer>(
        _ index: Int, _ event: (inout WorkerMachine, inout WorkerActions) -> Answer
    ) -> Answer {
        var actions = WorkerActions()
        let answer = event(&self.workers[index].machine, &actions)
        for job in actions.started where self.fault != .startsNothing {
            let handler = SimulatedWorker.Handler(job: job)
            self.workers[index].handlers += self.fault == .startsTwice ? [handler, handler] : [handler]
        }
        for place in self.workers[index].handlers.indices {
            let fence = self.workers[index].handlers[place].job.fence
            if actions.cancelled.contains(fence) { self.workers[index].handlers[place].isCancelled = true }
            if actions.forgotten.contains(fence) { self.workers[index].handlers[place].isForgotten = true }
            if self.fault == .forgetsWaiters { continue }
            for answered in actions.answered where answered.fence == fence {
                self.workers[index].handlers[place].isWaiting = false
                self.workers[index].handlers[place].isOutside = !answered.isBack
                if !answered.isBack { self.workers[index].handlers[place].isCancelled = true }
            }
        }
        for (writes, held) in actions.settled {
            for write in writes where held.contains(write.job.id) {
                switch write.kind {
                case .finish, .deadLetter: self.finished.append(.init(job: write.job.id, fence: write.job.fence))
                case .step, .holdForReview, .retry, .release: break
                }
            }
        }
        for number in self.workers[index].pumps.indices where actions.wakes(number) {
            self.workers[index].pumps[number].sleepsUntil = self.now
        }
        if actions.beats { self.workers[index].beatsAtOnce = true }
        if actions.retriesParked || actions.wakesAll { self.workers[index].retriesSleepUntil = self.now }
        for report in actions.reports {
            switch report {
            case .registered, .suspended, .resumed, .declaredDead, .newEpoch, .stopping:
                self.note("worker \(index): \(report)")
            case .overdue(let job), .rowHeld(let job), .abandoned(let job, _):
                self.note("worker \(index): \("\(report)".prefix { $0 != "(" }), attempt \(job.attempt)")
            default: break
            }
        }
        return answer
    }

    mutating func fraction() -> Double { Double(self.random.below(1000)) / 1000 }

    mutating func tick(_ index: Int) {
        let (now, random) = (self.now, 2 * self.fraction() - 1)
        self.send(index) { machine, actions in machine.tick(at: now, random: random, &actions) }
    }

    // MARK: Handlers

    /// Goes on with the jobs at hand.
    mutating func work(_ index: Int) {
        for place in self.workers[index].handlers.indices.reversed() where self.random.chance(60) {
            self.work(index, place)
        }
    }

    private mutating func work(_ index: Int, _ place: Int) {
        let handler = self.workers[index].handlers[place]
        let (job, now) = (handler.job, self.now)
        if handler.isCancelled {
            // Some do not heed it for a while, and some end before they do.
            if self.random.chance(25) { return }
            if handler.isWaiting {
                self.send(index) { machine, actions in machine.leaveOutside(job, &actions) }
            } else if self.random.chance(25) {
                return self.end(index, place, .success(self.result(of: job), waitsForReview: false))
            }
            return self.end(index, place, .failure(CancellationError(), random: 0))
        }
        if handler.isWaiting { return }
        // Who is outside mostly wants to come back.
        if handler.isOutside, self.random.chance(50) { return self.changeSlot(index, place) }
        // Some report their first stage once more.
        if handler.stored.count > 1, self.random.chance(25) {
            return self.complete(handler.stored.prefix(1), index, place)
        }
        switch self.random.below(24) {
        case 0..<11: self.completeStage(index, place)
        case 11..<14: self.changeSlot(index, place)
        case 14..<17: self.end(index, place, .success(self.result(of: job), waitsForReview: false))
        case 17, 18:
            let error = InspectError(self.random.chance(50) ? .partUnreachable : .analyzerCrashed)
            self.end(index, place, .failure(error, random: 0))
        case 19: self.end(index, place, .failure(InspectError(.corruptImage, "x"), random: 0))
        case 20: self.end(index, place, .success(self.result(of: job), waitsForReview: true))
        case 21: self.end(index, place, .failure(NoPermit(), random: 0))
        case 22:
            self.send(index) { machine, actions in machine.refused(job, at: now, &actions) }
            self.note("worker \(index): \(job.id)/\(job.fence) has a stage that cannot be stored")
        default:
            // The database will not have it, and says so.
            let result = StorableResult(summary: "{", body: self.output(of: job))
            self.end(index, place, .success(result, waitsForReview: false))
        }
    }

    /// The next stage or two.
    private mutating func completeStage(_ index: Int, _ place: Int) {
        let handler = self.workers[index].handlers[place]
        let stages = [JobStatus.acquired, .document, .face, .liveness]
            .filter { $0 > (handler.stored.max() ?? handler.job.status) }.prefix(1 + self.random.below(2))
        if stages.isEmpty {
            return self.end(index, place, .success(self.result(of: handler.job), waitsForReview: false))
        }
        self.complete(stages, index, place)
    }

    private mutating func complete(_ stages: ArraySlice<JobStatus>, _ index: Int, _ place: Int) {
        let (job, now) = (self.workers[index].handlers[place].job, self.now)
        let output = self.output(of: job)
        for stage in stages {
            let isHeld = self.send(index) { machine, actions in
                machine.completed(stage, output, of: job, at: now, &actions)
            }
            guard isHeld else { return self.end(index, place, .failure(InspectError(.leaseLost), random: 0)) }
            self.workers[index].handlers[place].stored.append(stage)
        }
        self.note("worker \(index): \(job.id)/\(job.fence) has stages \(stages.map(\.rawValue))")
        if self.random.chance(25) {
            self.end(index, place, .success(self.result(of: job), waitsForReview: false))
        }
    }

    /// Leaves the slot, or waits for one.
    private mutating func changeSlot(_ index: Int, _ place: Int) {
        let (job, now) = (self.workers[index].handlers[place].job, self.now)
        if self.workers[index].handlers[place].isOutside {
            if self.random.chance(40) {
                let fits = self.workers[index].machine.outside.hold(
                    self.random.below(JobPart.limit), job.fence, at: now)
                if !fits { self.end(index, place, .failure(NoPermit(), random: 0)) }
                return
            }
            self.workers[index].handlers[place].isWaiting = true
            self.note("worker \(index): \(job.id)/\(job.fence) waits for a slot")
            let isQueued = self.send(index) { machine, actions in machine.queueForSlot(job, &actions) }
            if !isQueued { self.end(index, place, .failure(CancellationError(), random: 0)) }
            return
        }
        let (isNeeded, bytes) = (self.random.chance(70), self.random.below(JobPart.limit))
        let isOutside = self.send(index) { machine, actions in
            machine.keepPermit(for: job, isNeeded: isNeeded, at: now, &actions)
            return machine.leaveSlot(job, holding: bytes, at: now, &actions)
        }
        switch isOutside {
        case nil: self.end(index, place, .failure(InspectError(.leaseLost), random: 0))
        case false: self.end(index, place, .failure(NoPermit(), random: 0))
        default:
            self.workers[index].handlers[place].isOutside = true
            self.note("worker \(index): \(job.id)/\(job.fence) leaves its slot")
        }
    }

    mutating func end(_ index: Int, _ place: Int, _ outcome: WorkerMachine.Outcome) {
        let (job, now) = (self.workers[index].handlers.remove(at: place).job, self.now)
        let text =
            switch outcome {
            case .success(_, let waits): waits ? "is to be reviewed" : "is done"
            case .failure(let error as InspectError, _): "fails: \(error.code.rawValue)"
            case .failure(let error, _): "ends: \(type(of: error))"
            }
        self.note("worker \(index): \(job.id)/\(job.fence) \(text)")
        self.send(index) { machine, actions in machine.ended(job, outcome, at: now, &actions) }
    }

    /// A result that says under which fence it was made.
    func output(of job: ClaimedJob) -> Data {
        Data(#"{"by":"\#(job.fence)","of":"\#(job.publicID)"}"#.utf8)
    }

    func result(of job: ClaimedJob) -> StorableResult {
        StorableResult(summary: #"{"decision":{"type":"PASSED"}}"#, body: self.output(of: job))
    }

    // MARK: Heartbeat

    /// Sends a heartbeat or registers, or hears the answer to the heartbeat before.
    mutating func heartbeat(_ index: Int) async throws {
        if let (beat, answer) = self.workers[index].beat { return self.hear(index, beat, answer) }
        switch self.workers[index].machine.heartbeat(at: self.now) {
        case .wait: return
        case .register: return try await self.register(index)
        case .beat(let beat):
            guard case .rows(let rows) = try await self.workers[index].heartbeat.run(self.world, beat.statement) else {
                return self.note("worker \(index): the heartbeat waits for a lock")
            }
            self.workers[index].beatsAtOnce = false
            let answer = try WorkerMachine.HeartbeatAnswer(rows[0][0])
            self.note("worker \(index) beats, \(answer.map { "\($0.leases.count) leases" } ?? "and is not known")")
            self.workers[index].beat = (beat, answer)
            if self.isCalm || self.random.chance(75) { self.hear(index, beat, answer) }
        }
    }

    private mutating func hear(
        _ index: Int, _ beat: WorkerMachine.Heartbeat, _ answer: WorkerMachine.HeartbeatAnswer?
    ) {
        let now = self.now
        let machine = self.workers[index].machine
        self.workers[index].beat = nil
        var (beat, answer) = (beat, answer)
        if self.fault == .comparesLate { beat.running = Set(machine.running.keys) }
        if self.fault == .hidesEpochs { answer?.epoch = machine.seen.epoch }
        self.send(index) { machine, actions in machine.beaten(beat, answer, at: now, &actions) }
        guard answer != nil else { return }
        for (fence, running) in machine.running
        where running.disposition != .lost && self.workers[index].machine.running[fence]?.disposition == .lost {
            self.lost.insert(fence)
        }
    }

    private mutating func register(_ index: Int) async throws {
        // Names follow from the seed, so that a run can be repeated to the letter.
        let name = String(
            format: "%08x-0000-4000-8000-%012x", self.random.below(1 << 32), self.random.below(1 << 48))
        let statement = QueueStatements.register(
            self.workers[index].machine.configuration, incarnation: name, process: 1)
        guard case .rows(let rows) = try await self.workers[index].heartbeat.run(self.world, statement) else { return }
        let row = rows[0][0]
        let identity = WorkerIdentity(id: try row.int("worker_id"), incarnation: name, region: 0)
        let floors = Array(zip(try row.intArray("floor_queues"), try row.intArray("floor_seqs")))
        let (epoch, now) = (try row.int("epoch"), self.now)
        self.send(index) { machine, actions in
            machine.registered(identity, floors: floors, epoch: epoch, at: now, &actions)
        }
    }

    // MARK: The end

    /// All of a worker's connections break, and answers that are on their way are lost.
    mutating func disconnect(_ index: Int) async {
        for number in self.workers[index].pumps.indices {
            if case .answered(let trip, _) = self.workers[index].pumps[number].state {
                self.workers[index].pumps[number].state = .broken(trip)
            }
        }
        self.workers[index].beat = nil
        await self.workers[index].drop(self.world)
    }

    /// Brings everything at hand to its end, and claims for as long as there is something.
    mutating func finish(_ index: Int) async throws {
        for _ in 0..<40 {
            for number in self.workers[index].pumps.indices { try await self.pump(index, number) }
            try await self.retryParked(index)
            if self.workers[index].isIdle { return }
            for place in self.workers[index].handlers.indices.reversed()
            where !self.workers[index].handlers[place].isWaiting {
                let job = self.workers[index].handlers[place].job
                self.end(index, place, .success(self.result(of: job), waitsForReview: false))
            }
            try await self.check()
        }
    }
}
