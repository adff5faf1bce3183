internal import InspectCore
internal import Postgres

/// What a worker knows of itself: a value behind one lock, so that each transition is whole.
struct WorkerState: Sendable {
    /// Why a running job's outcome is not taken as it comes.
    enum Disposition: Sendable {
        case working
        /// The lease is gone, or must be taken to be: nothing may be written.
        case lost
        /// Past its deadline, and told to stop.
        case overdue
        /// The worker stops: back to the queue unless it ends in time.
        case handBack
    }

    struct Running: Sendable {
        var job: ClaimedJob
        var claimedAt: ContinuousClock.Instant
        /// Furthest stage whose result is stored or about to be.
        var stage: JobStatus
        var task: Task<Void, Never>?
        var disposition = Disposition.working
        /// When the disposition was set, and the task told to stop.
        var markedAt: ContinuousClock.Instant?

        /// For reports.
        var reference: JobReference { self.job.reference(at: self.stage) }
    }

    /// `nil` until registered, and again after being declared dead.
    var identity: WorkerIdentity?
    var running: [Int64: Running] = [:]
    /// Writes to be sent, for each pump, oldest first. A job's writes all go through one pump, so that they keep their order.
    private var outboxes: [Outbox]
    /// Those of ``running`` that have left their slot.
    var outside: OutsideJobs
    /// Jobs whose rows somebody else holds: their writes wait here, apart from all others.
    private(set) var parked: [Int64: Parked] = [:]
    /// Jobs that claims which are under way may still bring.
    var reserved = 0
    /// What the last claims have shown.
    var look = LookState()
    /// Leases that end with a write that is pending or on its way, by job.
    var ending: [Int64: Int64] = [:]
    var floors = QueueFloors(regions: [], lanes: [], floors: [])
    /// A notification came since the last claim.
    var isHinted = true
    /// No heartbeat gets through: nothing may be claimed.
    var isSuspended = false
    var lastHeartbeat = ContinuousClock.now
    /// When each pump last looked at what there is to do.
    var pumpsMoved: [Int: ContinuousClock.Instant] = [:]
    var stoppingSince: ContinuousClock.Instant?
    /// Set before the worker strikes itself off: from then on its absence there is its own doing.
    var hasLeft = false
    /// The last heartbeat that came in its turn, not because somebody asked.
    var lastRegularBeat: ContinuousClock.Instant?
    /// Leases that it found and nobody here knew.
    var unknownLeases: [Int64: Int64] = [:]
    var seen = SeenNumbers()
    /// No lease of this worker has a lower fence.
    var fenceFloor: Int64 = 0
    /// The last fence that had been given out at that heartbeat.
    var lastFence: Int64 = 0

    struct Outbox: Sendable {
        var writes: [QueueWrite] = []
        var since: ContinuousClock.Instant?
    }

    /// The writes of one job that cannot be written yet, oldest first; further ones of the job follow behind them.
    struct Parked: Sendable {
        var writes: [QueueWrite]
        /// When to try again.
        var due: ContinuousClock.Instant
        var backoff = Backoff()
    }

    struct LookState: Sendable {
        /// When to look at an empty queue again.
        var nextPoll = ContinuousClock.now
        var lastFull: ContinuousClock.Instant?
        /// The last look at all queues found nothing.
        var sawNothing = false
        /// The last claim was refused: the worker is not known, or is to drain.
        var isUnknown = false
    }

    init(pumps: Int, outside: OutsideLimits) {
        self.outboxes = Array(repeating: Outbox(), count: pumps)
        self.outside = OutsideJobs(outside)
    }

    /// Jobs and their tasks.
    typealias Marked = [Running]

    var isStopping: Bool { self.stoppingSince != nil }
    /// Nothing is left to be worked on, claimed or sent.
    var isDone: Bool {
        self.isStopping && self.running.isEmpty && self.pendingCount == 0 && self.parked.isEmpty && self.reserved == 0
    }
    /// Writes that wait in all pumps.
    var pendingCount: Int { self.outboxes.reduce(0) { $0 + $1.writes.count } }

    /// Writes that wait in one pump, and since when.
    func pending(in pump: Int) -> (count: Int, since: ContinuousClock.Instant?) {
        (self.outboxes[pump].writes.count, self.outboxes[pump].since)
    }

    /// The pump that a job's writes go through.
    func pump(of job: Int64) -> Int { Int(job % Int64(self.outboxes.count)) }

    /// Takes an answer's epoch. In another one places, queues and fences are others: nothing that was learnt of them holds.
    ///
    /// - Returns: Whether it is another one.
    mutating func enter(_ epoch: Int64) -> Bool {
        guard epoch != self.seen.epoch else { return false }
        self.seen.epoch = epoch
        self.floors.reset()
        self.fenceFloor = 0
        self.lastFence = 0
        self.unknownLeases = [:]
        self.look = LookState()
        self.isHinted = true
        return true
    }

    /// - Returns: How many writes now wait in the same pump.
    @discardableResult
    mutating func add(_ write: QueueWrite, at now: ContinuousClock.Instant) -> Int {
        if write.endsLease { self.ending[write.job.id] = write.job.fence }
        let pump = self.pump(of: write.job.id)
        if self.parked[write.job.id] != nil {
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
    mutating func returnPending(_ batch: [QueueWrite], to pump: Int, at now: ContinuousClock.Instant) {
        if batch.isEmpty { return }
        self.outboxes[pump].writes.insert(contentsOf: batch, at: 0)
        self.outboxes[pump].since = self.outboxes[pump].since ?? now
    }

    // MARK: Parked jobs

    /// Sets a job apart with its writes, those that have come since included.
    mutating func park(_ writes: [QueueWrite], of job: Int64, at now: ContinuousClock.Instant) {
        let pump = self.pump(of: job)
        let later = self.outboxes[pump].writes.filter { $0.job.id == job }
        self.outboxes[pump].writes.removeAll { $0.job.id == job }
        if self.outboxes[pump].writes.isEmpty { self.outboxes[pump].since = nil }
        var parked = Parked(writes: writes + later, due: now)
        parked.due = now + .seconds(parked.backoff.next())
        self.parked[job] = parked
    }

    /// The writes of parked jobs whose time has come.
    func dueParked(at now: ContinuousClock.Instant) -> [[QueueWrite]] {
        self.parked.values.filter { $0.due <= now }.map(\.writes)
    }

    /// When the first parked job's time comes.
    var nextParked: ContinuousClock.Instant? { self.parked.values.lazy.map(\.due).min() }

    /// A parked job's row is still held.
    mutating func deferParked(_ job: Int64, at now: ContinuousClock.Instant) {
        guard var parked = self.parked[job] else { return }
        parked.due = now + .seconds(parked.backoff.next())
        self.parked[job] = parked
    }

    /// Forgets a parked job's writes of claims that a later one has ended.
    mutating func forgetParked(of job: Int64, before fence: Int64) {
        self.parked[job]?.writes.removeAll { $0.job.fence < fence }
    }

    /// A parked job's first writes have arrived, or something else is to be written in their place.
    mutating func unpark(
        _ job: Int64, after count: Int, writing other: QueueWrite? = nil, at now: ContinuousClock.Instant
    ) {
        guard var parked = self.parked[job] else { return }
        parked.writes = (other.map { [$0] } ?? []) + parked.writes.dropFirst(count)
        parked.due = now
        self.parked[job] = parked.writes.isEmpty ? nil : parked
    }

    /// Running jobs that were told to stop at least so long ago and did not.
    func deaf(after patience: Duration, at now: ContinuousClock.Instant) -> [Running] {
        self.running.values.filter { running in running.markedAt.map { now - $0 > patience } ?? false }
    }

    /// Marks running jobs and returns their tasks, to be cancelled outside the lock.
    mutating func mark(
        _ disposition: Disposition, at now: ContinuousClock.Instant, where isMeant: (Running) -> Bool
    ) -> Marked {
        var marked: Marked = []
        for (id, running) in self.running where running.disposition != .lost && isMeant(running) {
            self.running[id]?.disposition = disposition
            self.running[id]?.markedAt = now
            marked.append(running)
        }
        return marked
    }
}
