/// A worker's present state, for health checks.
package struct JobWorkerVitals: Sendable {
    /// Whether the worker is registered in the database.
    package var isRegistered: Bool
    /// No heartbeat succeeded for too long: nothing is claimed.
    package var isSuspended: Bool
    /// Asked to stop, or drained.
    package var isStopping: Bool
    /// Jobs in slots.
    package var running: Int
    /// Jobs outside their slot, waiting for another server.
    package var outside: Int
    /// Jobs that may run at once.
    package var slots: Int
    /// Maximum of jobs that may be outside.
    package var permits: Int
    /// Time since the last successful heartbeat.
    package var heartbeatAge: Duration
    /// Time since the slowest loop that claims and writes last ran; `nil` before they run. Their waits take a second, and their
    /// round trips have time-outs.
    package var pumpAge: Duration?
}

extension JobWorker {
    /// Returns at once, on any thread, even while the database is unavailable.
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
