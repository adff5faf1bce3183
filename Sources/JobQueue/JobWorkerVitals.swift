/// How a worker is at this moment, for health checks.
public struct JobWorkerVitals: Sendable {
    /// Whether the database knows this worker.
    public var isRegistered: Bool
    /// No heartbeat got through for too long: nothing is claimed.
    public var isSuspended: Bool
    /// Told to stop, or drained.
    public var isStopping: Bool
    public var running: Int
    public var slots: Int
    /// Seconds since the last heartbeat that got through.
    public var heartbeatAge: Double
    /// Seconds since the slowest loop that claims and writes last went round; `nil` before they run. Their waits are a
    /// second long, their round trips end at their own time-out.
    public var pumpAge: Double?
}

extension JobWorker {
    /// Answers from any thread and at once, also while the database is away.
    public var vitals: JobWorkerVitals {
        let now = ContinuousClock.now
        return self.state.withLock { state in
            JobWorkerVitals(
                isRegistered: state.identity != nil, isSuspended: state.isSuspended, isStopping: state.isStopping,
                running: state.running.count, slots: self.configuration.slots,
                heartbeatAge: (now - state.lastHeartbeat).seconds,
                pumpAge: state.pumpsMoved.values.min().map { (now - $0).seconds })
        }
    }
}
