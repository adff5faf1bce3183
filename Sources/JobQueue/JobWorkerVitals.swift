/// How a worker is at this moment, for health checks.
package struct JobWorkerVitals: Sendable {
    /// Whether the database knows this worker.
    package var isRegistered: Bool
    /// No heartbeat got through for too long: nothing is claimed.
    package var isSuspended: Bool
    /// Told to stop, or drained.
    package var isStopping: Bool
    /// Jobs in slots.
    package var running: Int
    /// Jobs that have left their slot to wait for somebody else's server.
    package var outside: Int
    package var slots: Int
    /// Most jobs that may be outside.
    package var permits: Int
    /// Time since the last heartbeat that got through.
    package var heartbeatAge: Duration
    /// Time since the slowest loop that claims and writes last went round; `nil` before they run. Their waits are a
    /// second long, their round trips end at their own time-out.
    package var pumpAge: Duration?
}

extension JobWorker {
    /// Answers from any thread and at once, also while the database is away.
    package var vitals: JobWorkerVitals {
        let now = ContinuousClock.now
        return self.ask { machine in
            JobWorkerVitals(
                isRegistered: machine.identity != nil, isSuspended: machine.isSuspended, isStopping: machine.isStopping,
                running: machine.inSlots, outside: machine.outside.count, slots: self.configuration.slots,
                permits: self.configuration.outside.permits,
                heartbeatAge: now - machine.lastHeartbeat,
                pumpAge: machine.pumpsMoved.values.min().map { now - $0 })
        }
    }
}
