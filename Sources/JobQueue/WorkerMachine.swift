internal import Foundation
internal import InspectCore

/// A worker's state and decisions: events in, actions out. It reads no clock, draws no random number and waits for nothing:
/// times and random numbers come with the events, and the machine's owner carries out all actions. The same
/// events always lead to the same actions, in the same order.
///
/// A job's attempt, identified by its fence, since a job may be claimed again while an attempt that lost its lease is still ending:
///
/// | state | event | next state | actions |
/// |---|---|---|---|
/// | – | a claim's answer, open job | working | start |
/// | – | a claim's answer, cancelled or expired job, or a job that this worker may not run | ending | release or dead-letter |
/// | working | its handler succeeds | ending | settle, or hold for a review |
/// | working | its handler fails | ending | retry or dead-letter, as the retry policy says; release without a permit |
/// | working | its session waits for a blob | – | nothing is written |
/// | working | a stage is stored | working | write the step |
/// | working | a result or step that cannot be stored | lost, ending | cancel, dead-letter |
/// | working | leaves its slot | outside | the slot is filled; without a permit it is released |
/// | outside | returns, a slot is free | working | resume, before any new claim |
/// | working, outside | past its deadline | overdue | cancel |
/// | working, outside | the time to stop is over | stopped | cancel |
/// | working, outside | no lease, silence, declared dead, a write refused by its fence | lost | cancel, report |
/// | overdue, stopped | its handler succeeds in time | ending | settle |
/// | overdue | its handler fails, or does not heed its cancellation | ending | retry or dead-letter as a crash |
/// | stopped | its handler fails, or does not heed its cancellation | ending | release |
/// | lost | its handler ends | – | nothing is written |
/// | ending | its writes are answered | – | report; a missing row is a lost lease |
/// | ending | the answer is lost, or the database unavailable | ending | the same writes again |
/// | ending | somebody holds a row | parked | the writes wait apart and are tried again |
/// | parked | the row is free | – | report |
/// | ending, parked | the database refuses the writes for good | ending | dead-letter in their place |
/// | ending, parked | it refuses that as well | abandoned | nothing: its rescue counts as a crash |
/// | abandoned | a heartbeat no longer names its lease | – | – |
///
/// The worker:
///
/// | state | event | next state | actions |
/// |---|---|---|---|
/// | unknown | registered | claiming | the first pump is woken |
/// | claiming | a claim answered with nothing | claiming, after a heartbeat | the heartbeat is brought forward |
/// | claiming | another epoch in an answer | claiming | floors, fences and unknown leases are forgotten |
/// | claiming | silence for longer than its patience | suspended | all attempts are lost |
/// | suspended | a heartbeat | claiming | the first pump is woken |
/// | claiming, suspended | declared dead | unknown | all attempts are lost |
/// | any | asked to stop, drained, nothing left to drain | stopping | all are woken |
/// | stopping | nothing left, or ten seconds past its deadline | over | – |
struct WorkerMachine: Sendable {
    /// Why a running job's outcome may not be used as it is.
    enum Disposition: Sendable {
        case working
        /// The lease is lost, or must be assumed lost: nothing may be written.
        case lost
        /// Past its deadline, and asked to stop.
        case overdue
        /// The worker is stopping: the job goes back to the queue unless it ends in time.
        case stopped
    }

    struct Running: Sendable {
        var job: ClaimedJob
        var claimedAt: ContinuousClock.Instant
        /// Furthest stage whose result is stored or about to be.
        var stage: JobStatus
        var disposition = Disposition.working
        /// When the disposition was set and the task was asked to stop.
        var markedAt: ContinuousClock.Instant?

        /// For reports.
        var reference: JobReference { self.job.reference(at: self.stage) }
    }

    struct Outbox: Sendable {
        var writes: [QueueWrite] = []
        var since: ContinuousClock.Instant?
    }

    struct ScanState: Sendable {
        /// When to poll an empty queue again.
        var nextPoll: ContinuousClock.Instant
        var lastFull: ContinuousClock.Instant?
        /// The last scan of all queues found nothing.
        var sawNothing = false
        /// The last claim was refused: the worker is not known, or is to drain.
        var isUnknown = false
    }

    let configuration: JobWorkerConfiguration
    /// `nil` until registered, and again after being declared dead.
    var identity: WorkerIdentity?
    /// Attempts by fence.
    var running: [Int64: Running] = [:]
    /// Writes to be sent, for each pump, oldest first. A job's writes all go through one pump, so that they keep their order.
    var outboxes: [Outbox]
    /// Those of ``running`` that have left their slot.
    var outside: OutsideJobs
    /// By job: those whose rows another transaction holds. Their writes wait here, separate from all others.
    var parked: [Int64: Parked] = [:]
    /// Jobs that claims under way may still return.
    var reserved = 0
    /// What the last claims have shown.
    var scan: ScanState
    /// Fences of leases that end with a write that is pending or on its way.
    var ending: Set<Int64> = []
    /// Fences of leases whose jobs cannot be written at all: the rescue ends them.
    var abandoned: Set<Int64> = []
    var floors = QueueFloors(regions: [], lanes: [], floors: [])
    /// A notification came since the last claim.
    var isHinted = true
    /// No heartbeat gets through: nothing may be claimed.
    var isSuspended = false
    var lastHeartbeat: ContinuousClock.Instant
    /// When each pump last asked for its next task.
    var pumpsMoved: [Int: ContinuousClock.Instant] = [:]
    var stoppingSince: ContinuousClock.Instant?
    /// Set before the worker unregisters: from then on its absence from the database is intended.
    var hasLeft = false
    /// The last heartbeat that was due by the clock, not requested.
    var lastRegularBeat: ContinuousClock.Instant?
    /// Leases that it found and that this worker did not know, by fence.
    var unknownLeases: [Int64: Int64] = [:]
    var seen = SeenNumbers()
    /// No lease that this worker works on has a lower fence.
    var fenceFloor: Int64 = 0
    /// The last fence issued before that heartbeat.
    var lastFence: Int64 = 0

    init(_ configuration: JobWorkerConfiguration, at now: ContinuousClock.Instant) {
        self.configuration = configuration
        self.outboxes = Array(repeating: Outbox(), count: configuration.pumps)
        self.outside = OutsideJobs(configuration.outside)
        self.scan = ScanState(nextPoll: now)
        self.lastHeartbeat = now
    }

    // MARK: The worker

    var isStopping: Bool { self.stoppingSince != nil }

    /// Jobs that take a slot.
    var inSlots: Int { self.running.count - self.outside.count }

    /// Nothing is left to be worked on, claimed or sent.
    var isDone: Bool {
        self.isStopping && self.running.isEmpty && self.pendingCount == 0 && self.parked.isEmpty && self.reserved == 0
    }

    /// Whether there is nothing left to write, or no time left to write it.
    func isOver(at now: ContinuousClock.Instant) -> Bool {
        if self.isDone { return true }
        // A database that stays unavailable must not keep the worker running for ever; its leases will be rescued.
        guard let since = self.stoppingSince else { return false }
        return now - since > self.configuration.shutdownDeadline + .seconds(10)
    }

    mutating func registered(
        _ identity: WorkerIdentity, floors: [(queue: Int64, seq: Int64)], epoch: Int64, at now: ContinuousClock.Instant,
        _ actions: inout WorkerActions
    ) {
        self.identity = identity
        self.floors = QueueFloors(
            regions: identity.region == 0 ? [0] : [identity.region, 0], lanes: self.configuration.lanes, floors: floors)
        self.forgetPlaces(at: now)
        self.seen.epoch = epoch
        self.lastHeartbeat = now
        self.isSuspended = false
        actions.reports.append(.registered(worker: identity.id))
        actions.wake(0)
    }

    /// Applies an answer's epoch. A new epoch has other places, queues and fences: what is known of the old ones no longer applies.
    ///
    /// - Returns: Whether it is another one.
    mutating func enter(_ epoch: Int64, at now: ContinuousClock.Instant, _ actions: inout WorkerActions) -> Bool {
        guard epoch != self.seen.epoch else { return false }
        self.seen.epoch = epoch
        self.floors.reset()
        self.forgetPlaces(at: now)
        actions.reports.append(.newEpoch)
        return true
    }

    private mutating func forgetPlaces(at now: ContinuousClock.Instant) {
        self.fenceFloor = 0
        self.lastFence = 0
        self.unknownLeases = [:]
        self.scan = ScanState(nextPoll: now)
        self.isHinted = true
    }

    /// Stops claiming.
    mutating func stop(at now: ContinuousClock.Instant, _ actions: inout WorkerActions) {
        if !self.isStopping {
            self.stoppingSince = now
            actions.reports.append(.stopping(running: self.running.count))
        }
        actions.wakesAll = true
    }

    /// Unregisters the worker.
    ///
    /// - Returns: As whom.
    mutating func leave() -> WorkerIdentity? {
        self.hasLeft = true
        return self.identity
    }

    // MARK: Heartbeats

    /// A heartbeat to be sent, and the state at the time.
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
        /// The last fence that was issued.
        var fence: Int64
        var weights: [Int64]
        var epoch: Int64
        var isDraining: Bool
    }

    /// The next use of the heartbeat's connection.
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
            // A worker that has just unregistered was not declared dead.
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
        // Running here since before the heartbeat, but without a lease in the database: cancelled or rescued.
        self.lose(at: now, &actions) {
            beat.running.contains($0.job.fence) && answer.leases[$0.job.id] != $0.job.fence
        }
        // What follows relies on the interval between two heartbeats, which a requested heartbeat does not have.
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
            // Never above the last fence issued: the database would take it for a fence of another history, and begin an epoch.
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

/// The actions that a ``WorkerMachine`` requests. Empty lists cost nothing, and one value covers a whole batch of jobs.
struct WorkerActions: Sendable {
    /// Attempts to begin.
    var started: [ClaimedJob] = []
    /// Fences of attempts whose tasks are to stop.
    var cancelled: [Int64] = []
    /// Fences of attempts that are over although their tasks are not.
    var forgotten: [Int64] = []
    /// Attempts that wait for a slot, and whether they get one.
    var answered: [(fence: Int64, isBack: Bool)] = []
    /// Writes that were answered, with the jobs whose lease held; for reports.
    var settled: [(writes: [QueueWrite], held: Set<Int64>)] = []
    var reports: [JobQueueEvent] = []
    /// One bit for each pump to be woken.
    private(set) var pumps: UInt64 = 0
    /// All pumps and the retries of parked jobs.
    var wakesAll = false
    /// The next heartbeat is due at once.
    var beats = false
    /// The retries of parked jobs have another time to wait for.
    var retriesParked = false

    mutating func wake(_ pump: Int) { self.pumps |= 1 << UInt64(pump & 63) }

    func wakes(_ pump: Int) -> Bool { self.wakesAll || self.pumps & (1 << UInt64(pump & 63)) != 0 }
}

/// A worker's identity in the database.
package struct WorkerIdentity: Sendable, Equatable {
    /// `insp.worker.id`.
    package var id: Int64
    /// A UUID for each registration: a number that the database issues twice, as after a restore, is not taken for
    /// this worker's.
    package var incarnation: String
    /// `insp.region.id`; 0: none.
    package var region: Int

    package init(id: Int64, incarnation: String, region: Int) {
        self.id = id
        self.incarnation = incarnation
        self.region = region
    }
}
