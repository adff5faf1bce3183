package import Custody
package import InspectCore
package import ObjectStore
package import Postgres

/// A worker's settings for claims and waits.
package struct JobWorkerConfiguration: Sendable {
    /// A libpq connection string or URL. Never logged.
    package var databaseURL: String
    /// For the listening connection; differs if the other connections go through a pooler.
    package var listenURL: String?
    /// Time-outs of every connection except the listening one.
    package var connection = ConnectionOptions()
    /// Host or pod name, for operators.
    package var host: String
    /// The program's version, for operators.
    package var version: String
    /// Jobs that run at once.
    package var slots: Int
    /// Jobs that wait for other servers in addition to those in slots.
    package var outside: OutsideLimits
    /// The lanes to serve: 0 urgent, 1 normal, 2 bulk.
    package var lanes: [Int] = [0, 1, 2]
    /// The region to serve, in addition to jobs that any worker may process.
    package var region: String?
    /// Whether this worker takes part in maintenance: other workers, delayed jobs.
    package var maintains = true
    /// Public halves of the keys with which the handler decrypts parts: an array of JWKs. Clients see them.
    package var publicKeys = "[]"
    /// Where maintenance destroys the keys of erased data; `nil`: nothing is sealed.
    package var keys: KeyStore?
    /// Where maintenance deletes erased parts; `nil`: parts are in the database.
    package var objects: ObjectStore?
    /// Whether to stop once nothing waits, is delayed or runs.
    package var drains = false
    /// When a failed job is tried again.
    package var retryPolicy = RetryPolicy()
    /// The longest time for a job; then it is stopped, which counts as a crash.
    package var jobDeadline = Duration.seconds(300)
    /// The time for running jobs to end when the worker stops; then they are released.
    package var shutdownDeadline = Duration.seconds(20)
    /// Time between two heartbeats; several fit into ``heartbeatPatience``.
    package var heartbeatInterval = Duration.seconds(5)
    /// Without a heartbeat for this long the worker drops its work: shorter than the time after which others rescue it.
    package var heartbeatPatience = Duration.seconds(10)
    /// The time without a heartbeat after which the others declare a worker dead.
    var deadAfter = Duration.seconds(15)
    /// The time between two polls of an empty queue; varied by ±20 %.
    package var pollInterval = Duration.seconds(1)
    /// Connections that claim and write at the same time: while the database processes one's batch, the other's is prepared. One
    /// is enough where jobs take long.
    package var pumps: Int
    /// How long a finished job may wait to be written together with others.
    var linger = Duration.milliseconds(2)
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
