/// How much waits, for how long, and what runs: `insp.depth()`.
public struct QueueDepth: Sendable {
    public struct Lane: Sendable {
        public var waiting = 0.0
        /// Seconds since the first waiting job was accepted; 0 if none waits.
        public var oldest = 0.0
        public var running = 0.0
        public var delayed = 0.0
        public var isPaused = false
    }

    /// A duty of maintenance.
    public struct Duty: Sendable {
        /// Seconds since a round last ended well.
        public var age = 0.0
        /// Whether the last round failed.
        public var fails = false
    }

    /// By name: urgent, normal, bulk.
    public var lanes: [String: Lane] = [:]
    public var workers = 0.0
    /// 10,000 at most.
    public var callbacksPending = 0.0
    /// Seconds since the oldest pending callback was written; 0 if none is.
    public var callbacksOldest = 0.0
    /// By name, as in `insp.v_maintenance`.
    public var duties: [String: Duty] = [:]
}

/// What goes on, as `insp.snapshot` tells it. Times are in seconds; a `nil` time means that there is nothing to measure.
public struct QueueSnapshot: Sendable, Decodable {
    /// How much is to be done in a lane or for a partner.
    public struct Lane: Sendable, Decodable {
        public var region: String
        public var lane: String
        public var paused: Bool
        public var waiting: Int
        public var isEstimate: Bool
        public var oldest: Double?
        public var delayed: Int
        public var running: Int
    }

    public struct Partner: Sendable, Decodable {
        public var name: String
        public var paused: Bool
        public var waiting: Int
        public var isEstimate: Bool
        public var oldest: Double?
        public var delayed: Int
        public var running: Int
    }

    public struct Worker: Sendable, Decodable {
        public var id: Int64
        public var host: String
        public var process: Int
        public var version: String
        public var region: String
        public var slots: Int
        public var busy: Int
        public var up: Double
        public var silent: Double
        /// live, draining, silent or dead.
        public var state: String
    }

    public struct Running: Sendable, Decodable {
        public var job: String
        public var partner: String
        public var workflow: String?
        public var status: Int16
        public var attempt: Int
        public var seconds: Double
        public var worker: Int64
    }

    public struct Failure: Sendable, Decodable {
        public var code: String
        public var partner: String
        /// Jobs given up within the last hour.
        public var givenUp: Int
        /// Jobs that wait for another attempt.
        public var retrying: Int
    }

    /// Jobs that reached 128 within the last five minutes, as far as they are looked at.
    public struct Finished: Sendable, Decodable {
        public var count: Int
        public var perSecond: Double
        public var waitMedian: Double?
        public var wait95: Double?
        public var runMedian: Double?
        public var run95: Double?
    }

    public struct Callbacks: Sendable, Decodable {
        public var pending: Int
        /// Whether pending was not counted to the end.
        public var isMore: Bool
        public var retrying: Int
        public var oldest: Double?
        public var dead: Int
        public var held: Int
        public var deliveredPerSecond: Double
        public var failedPerSecond: Double
        public var median: Double?
        public var p95: Double?
    }

    /// The database's time, in seconds since 1970.
    public var at: Double
    public var database: String
    /// Jobs ever accepted: the last job number.
    public var accepted: Int64
    public var lanes: [Lane]
    public var partners: [Partner]
    public var workers: [Worker]
    public var running: [Running]
    public var errors: [Failure]
    public var finished: Finished
    public var callbacks: Callbacks
}
