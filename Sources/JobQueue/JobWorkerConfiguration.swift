package import InspectCore
package import Postgres

/// How a worker claims and how long it waits.
package struct JobWorkerConfiguration: Sendable {
    /// A libpq connection string or URL. Never logged.
    package var databaseURL: String
    /// For the listening connection; differs where the other connections go through a pooler.
    package var listenURL: String?
    package var connection = ConnectionOptions()
    /// Host or pod name, for operators.
    package var host: String
    package var version: String
    /// Jobs at once.
    package var slots: Int
    /// Jobs that wait for their partners' servers beside those in slots.
    package var outside: OutsideLimits
    /// Lanes to serve: 0 urgent, 1 normal, 2 bulk.
    package var lanes: [Int] = [0, 1, 2]
    /// Region to serve, besides jobs that any worker may process.
    package var region: String?
    /// Whether this worker looks after the others and the delayed jobs.
    package var maintains = true
    /// Whether to stop once nothing waits, is delayed or runs.
    package var drains = false
    package var retryPolicy = RetryPolicy()
    /// Longest time for a job; then it is stopped, which counts as a crash.
    package var jobDeadline = Duration.seconds(300)
    /// Time that running jobs get when the worker stops; then they are released.
    package var shutdownDeadline = Duration.seconds(20)
    package var heartbeatInterval = Duration.seconds(5)
    /// Without a heartbeat for this long the worker drops its work: below the time after which others take it.
    package var heartbeatPatience = Duration.seconds(10)
    /// Silence after which a worker is dead to the others.
    package var deadAfter = Duration.seconds(15)
    /// Time between two polls of an empty queue; varied by ±20 %.
    package var pollInterval = Duration.seconds(1)
    /// Connections that claim and write at the same time: while the database works on one's batch, the other's is prepared.
    /// One is enough where jobs take long.
    package var pumps: Int
    /// How long a finished job may wait for others to be written with it.
    package var linger = Duration.milliseconds(2)
    /// Time between two rounds of maintenance; varied by ±20 %.
    package var maintenanceInterval = Duration.milliseconds(500)

    package init(databaseURL: String, host: String, version: String, slots: Int) {
        self.databaseURL = databaseURL
        self.host = host
        self.version = version
        self.slots = slots
        self.outside = OutsideLimits(permits: max(8, 4 * slots))
        self.pumps = slots < 32 ? 1 : 2
    }
}

extension JobWorkerConfiguration {
    /// One of a worker's connections.
    ///
    /// - Parameter timeout: For a statement, and at most for connecting.
    func connection(
        _ role: String, timeout: Duration? = nil, report: @escaping @Sendable (JobQueueEvent) -> Void = { _ in }
    ) -> ReconnectingConnection {
        var options = self.connection
        options.name += " \(role)"
        if let timeout {
            options.timeout = timeout
            options.connectTimeout = min(timeout, options.connectTimeout)
        }
        return ReconnectingConnection(self.databaseURL, options: options) { report(.reconnected(role: role)) }
    }
}
