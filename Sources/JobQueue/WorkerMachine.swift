internal import InspectCore

/// What a worker knows and decides: events in, actions out. It reads no clock, draws no random number and waits for nothing:
/// times and random numbers come with the events, and the machine's owner carries out all of the actions. The same
/// events have the same actions, in the same order.
///
/// A job's attempt, known by its fence, as a job may be claimed again while an attempt that lost its lease still ends:
///
/// | state | event | next state | actions |
/// |---|---|---|---|
/// | – | a claim's answer, open job | working | start |
/// | – | a claim's answer, cancelled or expired job, or not ours to take | ending | release or dead-letter |
/// | working | its handler succeeds | ending | settle, or hold for a review |
/// | working | its handler fails | ending | retry or dead-letter, as the retry policy says; release without a permit |
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
/// | ending | the answer is lost, or the database away | ending | the same writes again |
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
/// | any | told to stop, drained, nothing left to drain | stopping | all are woken |
/// | stopping | nothing left, or ten seconds past its deadline | over | – |
struct WorkerMachine: Sendable {
    /// Why a running job's outcome is not taken as it comes.
    enum Disposition: Sendable {
        case working
        /// The lease is gone, or must be taken to be: nothing may be written.
        case lost
        /// Past its deadline, and told to stop.
        case overdue
        /// The worker stops: back to the queue unless it ends in time.
        case stopped
    }

    struct Running: Sendable {
        var job: ClaimedJob
        var claimedAt: ContinuousClock.Instant
        /// Furthest stage whose result is stored or about to be.
        var stage: JobStatus
        var disposition = Disposition.working
        /// When the disposition was set, and the task told to stop.
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
    /// By job: those whose rows somebody else holds. Their writes wait here, apart from all others.
    var parked: [Int64: Parked] = [:]
    /// Jobs that claims which are under way may still bring.
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
    /// When each pump last asked what there is to do.
    var pumpsMoved: [Int: ContinuousClock.Instant] = [:]
    var stoppingSince: ContinuousClock.Instant?
    /// Set before the worker strikes itself off: from then on its absence there is its own doing.
    var hasLeft = false
    /// The last heartbeat that came in its turn, not because somebody asked.
    var lastRegularBeat: ContinuousClock.Instant?
    /// Leases that it found and nobody here knew, by fence.
    var unknownLeases: [Int64: Int64] = [:]
    var seen = SeenNumbers()
    /// No lease that this worker works on has a lower fence.
    var fenceFloor: Int64 = 0
    /// The last fence that had been given out at that heartbeat.
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

    /// Whether nothing is left to be written, or no more time to write it.
    func isOver(at now: ContinuousClock.Instant) -> Bool {
        if self.isDone { return true }
        // A database that stays away must not keep the worker for ever; its leases will be rescued.
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

    /// Takes an answer's epoch. In another one places, queues and fences are others: nothing that was learnt of them holds.
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

    /// The worker strikes itself off.
    ///
    /// - Returns: As whom.
    mutating func leave() -> WorkerIdentity? {
        self.hasLeft = true
        return self.identity
    }

    // MARK: Writes that wait

    /// Writes that wait in all pumps.
    var pendingCount: Int { self.outboxes.reduce(0) { $0 + $1.writes.count } }

    /// The pump that a job's writes go through.
    func pump(of job: Int64) -> Int { Int(job % Int64(self.outboxes.count)) }

    /// - Returns: How many writes now wait in the same pump.
    @discardableResult
    mutating func add(_ write: QueueWrite, at now: ContinuousClock.Instant) -> Int {
        if write.endsLease { self.ending.insert(write.job.fence) }
        let pump = self.pump(of: write.job.id)
        if !self.parked.isEmpty, self.parked[write.job.id] != nil {
            self.parked[write.job.id]?.writes.append(write)
            return self.outboxes[pump].writes.count
        }
        self.outboxes[pump].writes.append(write)
        if self.outboxes[pump].since == nil { self.outboxes[pump].since = now }
        return self.outboxes[pump].writes.count
    }

    /// Takes a pump's oldest writes for sending.
    mutating func takePending(of pump: Int, limit: Int) -> [QueueWrite] {
        if self.outboxes[pump].writes.count <= limit {
            defer { self.outboxes[pump] = Outbox() }
            return self.outboxes[pump].writes
        }
        let batch = Array(self.outboxes[pump].writes.prefix(limit))
        self.outboxes[pump].writes.removeFirst(batch.count)
        return batch
    }

    /// Puts writes back that may not have arrived; the fence makes a second try harmless.
    mutating func returnPending(_ batch: [QueueWrite], at now: ContinuousClock.Instant) {
        guard let first = batch.first else { return }
        let pump = self.pump(of: first.job.id)
        self.outboxes[pump].writes.insert(contentsOf: batch, at: 0)
        self.outboxes[pump].since = self.outboxes[pump].since ?? now
    }
}

/// What a ``WorkerMachine`` wants done. Empty lists cost nothing, and one value holds what a whole batch of jobs comes to.
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
