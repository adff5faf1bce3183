internal import InspectCore

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
        var task: Task<Void, Never>?
        var disposition = Disposition.working
        /// When the disposition was set, and the task told to stop.
        var markedAt: ContinuousClock.Instant?
    }

    /// `nil` until registered, and again after being declared dead.
    var identity: WorkerIdentity?
    var running: [Int64: Running] = [:]
    /// Writes to be sent, oldest first.
    var pending: [QueueWrite] = []
    var pendingSince: ContinuousClock.Instant?
    /// Leases that end with a write that is pending or on its way, by job.
    var ending: [Int64: Int64] = [:]
    var floors = QueueFloors(regions: [], lanes: [], floors: [])
    /// A notification came since the last claim.
    var isHinted = true
    /// No heartbeat gets through: nothing may be claimed.
    var isSuspended = false
    var lastHeartbeat = ContinuousClock.now
    /// When the pump last looked at what there is to do; `nil` before it runs.
    var pumpMoved: ContinuousClock.Instant?
    var stoppingSince: ContinuousClock.Instant?
    /// Leases that the last heartbeat found and nobody here knew.
    var unknownLeases: [Int64: Int64] = [:]

    /// Jobs and their tasks.
    typealias Marked = [(job: ClaimedJob, task: Task<Void, Never>?)]

    var isStopping: Bool { self.stoppingSince != nil }
    var isDone: Bool { self.isStopping && self.running.isEmpty && self.pending.isEmpty }

    mutating func add(_ write: QueueWrite, at now: ContinuousClock.Instant) {
        self.pending.append(write)
        if self.pendingSince == nil { self.pendingSince = now }
        if write.endsLease { self.ending[write.job.id] = write.job.fence }
    }

    /// Takes the oldest writes for sending.
    mutating func takePending(limit: Int) -> [QueueWrite] {
        let batch = Array(self.pending.prefix(limit))
        self.pending.removeFirst(batch.count)
        if self.pending.isEmpty { self.pendingSince = nil }
        return batch
    }

    /// Puts writes back that may not have arrived; the fence makes a second try harmless.
    mutating func returnPending(_ batch: [QueueWrite], at now: ContinuousClock.Instant) {
        if batch.isEmpty { return }
        self.pending.insert(contentsOf: batch, at: 0)
        self.pendingSince = self.pendingSince ?? now
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
            marked.append((running.job, running.task))
        }
        return marked
    }
}
