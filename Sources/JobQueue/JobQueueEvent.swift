package import InspectCore

/// What a worker tells about itself, for logs and metrics. It holds no personal data.
package enum JobQueueEvent: Sendable {
    /// The worker is registered under this number.
    case registered(worker: Int64)
    /// One round trip of the claiming connection: so many writes stored and jobs claimed, in seconds.
    case roundTrip(written: Int, claimed: Int, seconds: Double)
    case started(job: JobReference)
    /// Finished with a result; seconds since it was claimed.
    case finished(job: JobReference, seconds: Double)
    /// Decided, and waiting for a person; seconds since it was claimed.
    case heldForReview(job: JobReference, seconds: Double)
    case retried(job: JobReference, error: InspectError, after: Double)
    case deadLettered(job: JobReference, error: InspectError)
    /// Returned to the queue with the attempt refunded.
    case released(job: JobReference)
    /// A write was refused, for the lease was no longer ours.
    case leaseLost(job: JobReference)
    /// Somebody's transaction holds the job's row: its writes wait until that ends, and no other job's with them.
    case rowHeld(job: JobReference)
    /// The database refuses every write for the job, with this SQLSTATE: its lease is left to the rescue.
    case abandoned(job: JobReference, sqlState: String)
    /// The job took longer than its deadline and was stopped.
    case overdue(job: JobReference)
    /// The database could not be used; the worker tries again after so many seconds.
    case databaseUnavailable(role: String, error: String, retryAfter: Double)
    /// A connection that was lost is there again.
    case reconnected(role: String)
    /// No heartbeat got through for so many seconds: claiming stopped and the work was dropped.
    case suspended(silentFor: Double)
    case resumed
    /// The fleet declared this worker dead; it starts anew under another number.
    case declaredDead(worker: Int64)
    /// The database went back, or is another one: what was known of its queues is forgotten.
    case newEpoch
    case promoted(Int)
    case rescued(requeued: Int, deadLettered: Int, workers: Int)
    case swept(Int)
    case expired(Int)
    /// Retention removed so many jobs' parts and results, and so many partitions of jobs.
    case purged(parts: Int, results: Int, partitions: Int)
    case stopping(running: Int)
    case stopped
}
