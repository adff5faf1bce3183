public import InspectCore
public import Postgres

/// How a worker claims and how long it waits. Times are in seconds.
public struct JobWorkerConfiguration: Sendable {
    /// A libpq connection string or URL. Never logged.
    public var databaseURL: String
    /// For the listening connection; differs where the other connections go through a pooler.
    public var listenURL: String?
    public var connection = ConnectionOptions()
    /// Host or pod name, for operators.
    public var host: String
    public var version: String
    /// Jobs at once.
    public var slots: Int
    /// Jobs that wait for their partners' servers beside those in slots.
    public var outside: OutsideLimits
    /// Lanes to serve: 0 urgent, 1 normal, 2 bulk.
    public var lanes: [Int] = [0, 1, 2]
    /// Region to serve, besides jobs that any worker may process.
    public var region: String?
    /// Whether this worker looks after the others and the delayed jobs.
    public var maintains = true
    /// Whether to stop once nothing waits, is delayed or runs.
    public var drains = false
    public var retryPolicy = RetryPolicy()
    /// Longest time for a job; then it is stopped, which counts as a crash.
    public var jobDeadline: Double = 300
    /// Time that running jobs get when the worker stops; then they are handed back.
    public var shutdownDeadline: Double = 20
    public var heartbeatInterval: Double = 5
    /// Without a heartbeat for this long the worker drops its work: below the time after which others take it.
    public var heartbeatPatience: Double = 10
    /// Silence after which a worker is dead to the others.
    public var deadAfter: Double = 15
    /// Time between two looks at an empty queue; varied by ±20 %.
    public var pollInterval: Double = 1
    /// Connections that claim and write at the same time: while the database works on one's batch, the other's is prepared.
    /// One is enough where jobs take long.
    public var pumps: Int
    /// How long a finished job may wait for others to be written with it.
    public var linger: Double = 0.002
    /// Time between two rounds of maintenance; varied by ±20 %.
    public var maintenanceInterval: Double = 0.5

    public init(databaseURL: String, host: String, version: String, slots: Int) {
        self.databaseURL = databaseURL
        self.host = host
        self.version = version
        self.slots = slots
        self.outside = OutsideLimits(permits: max(8, 4 * slots))
        self.pumps = slots < 32 ? 1 : 2
    }
}
