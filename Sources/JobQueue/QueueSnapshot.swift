/// How many jobs wait, for how long, and how many run: `insp.depth()`.
package struct QueueDepth: Sendable {
    /// The jobs of a lane, of all regions and partners.
    package struct Lane: Sendable {
        /// Jobs that could be claimed now; a large backlog is an estimate.
        package var waiting = 0.0
        /// Since the first waiting job was accepted; 0 if none waits.
        package var oldestSeconds = 0.0
        /// Leases.
        package var running = 0.0
        /// Jobs that wait for their retry.
        package var delayed = 0.0
        /// Whether operators paused the lane: nothing is claimed from it.
        package var isPaused = false
    }

    /// A duty of maintenance.
    package struct Duty: Sendable {
        /// Since a round last succeeded.
        package var ageSeconds = 0.0
        /// Whether the last round failed.
        package var fails = false
    }

    /// By name: urgent, normal, bulk.
    package var lanes: [String: Lane] = [:]
    /// Those with a heartbeat in the last 15 s.
    package var workers = 0.0
    /// At most 10,000.
    package var callbacksPending = 0.0
    /// Since the oldest pending callback was written; 0 if there is none.
    package var callbacksOldestSeconds = 0.0
    /// Since the first event without a place was written: it cannot be pulled yet. 0 if there is none.
    package var eventsUnnumberedOldestSeconds = 0.0
    /// Keys that wait to be destroyed; at most 10,000.
    package var keysGone = 0.0
    /// Since the first of them was to be destroyed; 0 if none waits.
    package var keysGoneOldestSeconds = 0.0
    /// Objects that wait to be deleted; at most 10,000.
    package var objectsGone = 0.0
    /// Since the first of them was to be deleted; 0 if none waits.
    package var objectsGoneOldestSeconds = 0.0
    /// By name, as in `insp.v_maintenance`.
    package var duties: [String: Duty] = [:]
}

/// The system's state from `insp.snapshot`. A time is `nil` if there is nothing to measure.
package struct QueueSnapshot: Sendable, Decodable {
    /// The backlog of a lane or a partner.
    package struct Lane: Sendable, Decodable {
        /// `any` for jobs bound to no region.
        package var region: String
        /// urgent, normal or bulk.
        package var lane: String
        /// Whether operators paused the lane.
        package var paused: Bool
        /// Jobs that could be claimed now.
        package var waiting: Int
        /// Whether ``waiting`` is an estimate, as for a large backlog.
        package var isEstimate: Bool
        /// Age of the first waiting job; `nil`: none waits.
        package var oldestSeconds: Double?
        /// Jobs that wait for their retry.
        package var delayed: Int
        /// Leases.
        package var running: Int
    }

    /// A partner with work or one that is paused; at most 200, those with the most work first.
    package struct Partner: Sendable, Decodable {
        /// The name that operators gave it.
        package var name: String
        /// Whether operators paused the partner.
        package var paused: Bool
        /// Jobs that could be claimed now.
        package var waiting: Int
        /// Whether ``waiting`` is an estimate, as for a large backlog.
        package var isEstimate: Bool
        /// Age of the first waiting job; `nil`: none waits.
        package var oldestSeconds: Double?
        /// Jobs that wait for their retry.
        package var delayed: Int
        /// Leases.
        package var running: Int
    }

    /// A registered worker; at most 500.
    package struct Worker: Sendable, Decodable {
        /// `insp.worker.id`; a worker that was declared dead registers under a new one.
        package var id: Int64
        /// Host or pod name, as the worker reports it.
        package var host: String
        /// Process id on the host.
        package var process: Int
        /// The program's version.
        package var version: String
        /// Empty: the worker has no region.
        package var region: String
        /// Jobs that it may run at once.
        package var slots: Int
        /// Jobs that it runs, as of its last heartbeat.
        package var busy: Int
        /// Time since it registered.
        package var upSeconds: Double
        /// Time since its last heartbeat.
        package var silentSeconds: Double
        /// live, draining, silent or dead.
        package var state: String
    }

    /// A leased job; at most 500, the longest running first.
    package struct Running: Sendable, Decodable {
        /// The id that callers know.
        package var job: String
        /// The name of its partner.
        package var partner: String
        /// `nil`: the job's workflow is unknown.
        package var workflow: String?
        /// The furthest stored stage, at least 2 (STARTED).
        package var status: Int16
        /// Number of the attempt, from 1.
        package var attempt: Int
        /// Time since its claim.
        package var seconds: Double
        /// `insp.worker.id`.
        package var worker: Int64
    }

    /// An error code, with the jobs of a partner that it ended or delayed; at most 200.
    package struct Failure: Sendable, Decodable {
        /// As in RESULTS.md, such as `ANALYZER_TIMEOUT`.
        package var code: String
        /// The name of the partner.
        package var partner: String
        /// Jobs dead-lettered within the last hour.
        package var deadLettered: Int
        /// Jobs that wait for another attempt.
        package var retrying: Int
    }

    /// Jobs that reached 128 within the last five minutes, up to a limit.
    package struct Finished: Sendable, Decodable {
        /// Those that were claimed. The times cover only these; the rate covers all.
        package var count: Int
        /// Over the snapshot's rate interval, 10 s by default.
        package var perSecond: Double
        /// From enqueue to the first claim; `nil`: nothing finished.
        package var waitMedianSeconds: Double?
        /// The 95th percentile of the same.
        package var wait95Seconds: Double?
        /// From the first claim to 128; `nil`: nothing finished.
        package var runMedianSeconds: Double?
        /// The 95th percentile of the same.
        package var run95Seconds: Double?
    }

    /// Callbacks to be delivered and recent attempts, without those of tests.
    package struct Callbacks: Sendable, Decodable {
        /// Callbacks to be delivered; at most 10,000.
        package var pending: Int
        /// Whether the count of pending stopped at its limit.
        package var isMore: Bool
        /// Those of ``pending`` that had a failed attempt.
        package var retrying: Int
        /// Age of the oldest pending callback; `nil`: none is pending.
        package var oldestSeconds: Double?
        /// Dead-lettered callbacks; at most 10,000.
        package var dead: Int
        /// Callbacks of disabled endpoints; at most 10,000.
        package var held: Int
        /// Over the snapshot's rate interval.
        package var deliveredPerSecond: Double
        /// Failed attempts, over the same interval.
        package var failedPerSecond: Double
        /// Of an attempt.
        package var medianSeconds: Double?
        /// The 95th percentile of the same.
        package var p95Seconds: Double?
    }

    /// The database's time, since 1970.
    package var atSeconds: Double
    /// Name of the database.
    package var database: String
    /// Jobs ever accepted: the last job number.
    package var accepted: Int64
    /// By region and lane.
    package var lanes: [Lane]
    /// Those with the most work first.
    package var partners: [Partner]
    /// By number.
    package var workers: [Worker]
    /// The longest running first.
    package var running: [Running]
    /// Those that ended the most jobs first.
    package var errors: [Failure]
    /// The jobs that finished most recently.
    package var finished: Finished
    /// The contents of the outbox.
    package var callbacks: Callbacks
}
