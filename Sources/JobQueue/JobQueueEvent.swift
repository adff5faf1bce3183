package import InspectCore

/// An event that a worker reports, for logs and metrics. Contains no personal data.
package enum JobQueueEvent: Sendable {
    /// The worker is registered under this number.
    case registered(worker: Int64)
    /// One round trip of a claiming connection: writes stored, jobs claimed, and its duration in seconds.
    case roundTrip(written: Int, claimed: Int, seconds: Double)
    case started(job: JobReference)
    /// Finished with a result; seconds since it was claimed.
    case finished(job: JobReference, seconds: Double)
    /// Decided, and waiting for a review; seconds since it was claimed.
    case heldForReview(job: JobReference, seconds: Double)
    case retried(job: JobReference, error: InspectError, after: Duration)
    case deadLettered(job: JobReference, error: InspectError)
    /// Released to the queue with the attempt refunded.
    case released(job: JobReference)
    /// A write was refused because the lease was lost.
    case leaseLost(job: JobReference)
    /// Another transaction holds the job's row: the job's writes wait for its end, other jobs' writes do not.
    case rowHeld(job: JobReference)
    /// The database refuses every write for the job, with this SQLSTATE: its lease is left to the rescue.
    case abandoned(job: JobReference, sqlState: String)
    /// The job took longer than its deadline and was stopped.
    case overdue(job: JobReference)
    /// The database could not be used; the worker tries again after this time.
    case databaseUnavailable(role: String, error: String, retryAfter: Duration)
    /// A lost connection was replaced.
    case reconnected(role: String)
    /// No heartbeat succeeded for this long: claiming stopped and the work was dropped.
    case suspended(silentFor: Duration)
    case resumed
    /// Another worker declared this one dead; it registers again under a new number.
    case declaredDead(worker: Int64)
    /// The database was set back, or is another one: all knowledge of its queues is discarded.
    case newEpoch
    case promoted(Int)
    case rescued(requeued: Int, deadLettered: Int, workers: Int)
    case swept(Int)
    case expired(Int)
    /// Retention removed this many jobs' parts and results, and this many partitions of jobs.
    case purged(parts: Int, results: Int, partitions: Int)
    /// The key store cannot destroy keys; reported once until it succeeds again.
    case keysDelayed(error: String)
    /// The key store destroyed this many keys after erasure, retention or refused requests.
    case keysDestroyed(Int)
    /// The object store cannot delete objects; reported once until it succeeds again.
    case objectsDelayed(error: String)
    /// The object store deleted this many objects after erasure or retention, and this many that no part had.
    case objectsDeleted(Int, swept: Int)
    case stopping(running: Int)
    case stopped
}
