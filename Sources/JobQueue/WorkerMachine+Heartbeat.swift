internal import Foundation
internal import InspectCore

/// What a heartbeat says, and what its answer means.
extension WorkerMachine {
    /// A heartbeat to be sent, and what held when it was.
    struct Heartbeat: Sendable {
        var identity: WorkerIdentity
        var busy: Int
        var fenceFloor: Int64
        var floors: (queues: [Int64], seqs: [Int64])
        var seen: SeenNumbers
        /// Fences of the attempts that ran before the question.
        var running: Set<Int64>
        /// What the database noted lies after that.
        var sentAt: ContinuousClock.Instant
    }

    struct HeartbeatAnswer: Sendable {
        /// The fence of each job's lease.
        var leases: [Int64: Int64]
        /// The last fence that was given out.
        var fence: Int64
        var weights: [Int64]
        var epoch: Int64
        var isDraining: Bool
    }

    /// What the heartbeat's connection is for.
    enum HeartbeatStep: Sendable {
        case register
        case beat(Heartbeat)
        case wait
    }

    func heartbeat(at now: ContinuousClock.Instant) -> HeartbeatStep {
        guard let identity = self.identity else { return self.isStopping ? .wait : .register }
        return .beat(
            Heartbeat(
                identity: identity, busy: self.inSlots, fenceFloor: self.fenceFloor, floors: self.floors.reported,
                seen: self.seen, running: Set(self.running.keys), sentAt: now))
    }

    /// One that was just declared dead registers again at once.
    var mustRegister: Bool { self.identity == nil && !self.isStopping }

    /// Takes a heartbeat's answer, and compares the leases that the database knows with those that are worked on.
    ///
    /// - Parameter answer: `nil` if the worker was declared dead.
    mutating func beaten(
        _ beat: Heartbeat, _ answer: HeartbeatAnswer?, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        guard let answer else {
            // Nobody declared dead one that has just taken its own leave.
            if self.hasLeft { return }
            actions.reports.append(.declaredDead(worker: beat.identity.id))
            self.identity = nil
            return self.lose(at: now, &actions) { _ in true }
        }
        self.lastHeartbeat = beat.sentAt
        let isOther = self.enter(answer.epoch, at: now, &actions)
        self.seen.learn(fence: answer.fence)
        self.floors.set(weights: answer.weights)
        if self.isSuspended { actions.reports.append(.resumed) }
        if self.isSuspended || isOther { actions.wake(0) }
        self.isSuspended = false
        // Running here since before the question, but no lease there: cancelled, or taken back.
        self.lose(at: now, &actions) {
            beat.running.contains($0.job.fence) && answer.leases[$0.job.id] != $0.job.fence
        }
        // What follows reasons from the time between two heartbeats, which is none if somebody asked for one.
        let turn = self.configuration.heartbeatInterval * 0.9
        if self.lastRegularBeat.map({ beat.sentAt - $0 >= turn }) ?? true {
            self.lastRegularBeat = beat.sentAt
            self.floors.forgetNewest()
            self.raiseFenceFloor(beat, answer)
            self.adopt(answer.leases, at: now, &actions)
        }
        if answer.isDraining { self.stop(at: now, &actions) }
    }

    /// The lowest of the leases that are left, or where the heartbeat before this one stood: a claim that had drawn its
    /// fences by then has long been committed or rolled back. Abandoned leases fall
    /// below it once later fences are given out, and the rescue finds them there; else at their deadlines.
    private mutating func raiseFenceFloor(_ beat: Heartbeat, _ answer: HeartbeatAnswer) {
        if !self.abandoned.isEmpty { self.abandoned.formIntersection(answer.leases.values) }
        var lowest = self.running.keys.min() ?? .max
        for fence in answer.leases.values where !self.abandoned.contains(fence) { lowest = min(lowest, fence) }
        if self.seen.epoch == beat.seen.epoch {
            // Never above what was given out: the database would take it for a fence of another history, and begin an epoch.
            self.fenceFloor = max(beat.fenceFloor, min(lowest, self.lastFence))
        }
        self.lastFence = self.seen.epoch == answer.epoch ? answer.fence : 0
    }

    /// Releases leases that nobody here works on: their claim was committed, but its answer was lost.
    ///
    /// One that is seen for the first time may be a claim whose answer is still on its way, so it is left until the next
    /// regular heartbeat.
    private mutating func adopt(
        _ leases: [Int64: Int64], at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        let unknown = leases.filter { _, fence in
            self.running[fence] == nil && !self.ending.contains(fence) && !self.abandoned.contains(fence)
        }
        for (job, fence) in unknown.sorted(by: { $0.value < $1.value }) where self.unknownLeases[job] == fence {
            let claimed = ClaimedJob(
                id: job, publicID: "", fence: fence, attempt: 0, crashes: 0, status: .started, payload: Data(),
                steps: [:], traceparent: nil)
            self.add(QueueWrite(kind: .release, job: claimed, claimedAt: now), at: now)
            actions.wakesAll = true
        }
        self.unknownLeases = unknown
    }

    /// A control notification: what is asked of one worker (to drop a job, to drain) is seen by its next heartbeat, so that
    /// comes at once; what is asked of all (a limit, a lane's weight) by the next heartbeat or claim.
    mutating func notified(worker: String, _ actions: inout WorkerActions) {
        if worker == "*" {
            actions.beats = true
            self.hint(&actions)
        } else if let id = self.identity?.id, worker == "\(id)" {
            actions.beats = true
        }
    }
}
