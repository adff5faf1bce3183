internal import InspectCore

/// Jobs whose rows another transaction holds, as an operator's that was left open: each waits for itself, with its lease kept
/// by the heartbeats, while the pumps go on with all others.
extension WorkerMachine {
    /// The writes of one job that cannot be written yet, oldest first; further ones of the job follow behind them.
    struct Parked: Sendable {
        var writes: [QueueWrite]
        /// When to try again.
        var due: ContinuousClock.Instant
        /// Until the next try: doubles from 0.1 s to 2 s.
        private var pause = Duration.milliseconds(100)

        init(_ writes: [QueueWrite], at now: ContinuousClock.Instant, random: Double) {
            self.writes = writes
            self.due = now
            self.wait(from: now, random: random)
        }

        mutating func wait(from now: ContinuousClock.Instant, random: Double) {
            self.due = now + self.pause * random
            self.pause = min(self.pause * 2, .seconds(2))
        }
    }

    /// What the retries have to do.
    enum RetryStep: Sendable {
        case over
        case wait(Duration)
        /// Ask whose rows are held, then ``retry(_:locked:at:random:_:)``.
        case ask([[QueueWrite]])
    }

    func nextRetry(at now: ContinuousClock.Instant) -> RetryStep {
        if self.isOver(at: now) { return .over }
        if self.parked.isEmpty { return .wait(.seconds(1)) }
        let due = self.parked.values.filter { $0.due <= now }.map(\.writes).sorted { $0[0].job.id < $1[0].job.id }
        if !due.isEmpty { return .ask(due) }
        let next = self.parked.values.lazy.map(\.due).min()
        return .wait(next.map { max(.milliseconds(1), min(.seconds(1), $0 - now)) } ?? .seconds(1))
    }

    /// Whose rows are still held is known: returns what can be written now, each job by itself.
    ///
    /// - Parameters:
    ///   - locked: `nil` if the database did not say.
    ///   - random: From 0.8 to 1.2, for the next try of the others.
    mutating func retry(
        _ groups: [[QueueWrite]], locked: Set<Int64>?, at now: ContinuousClock.Instant, random: Double,
        _ actions: inout WorkerActions
    ) -> [[QueueWrite]] {
        groups.compactMap { group in
            guard let job = group.first?.job.id else { return nil }
            guard let locked, !locked.contains(job) else {
                self.deferParked(job, at: now, random: random)
                return nil
            }
            let (current, superseded) = QueueWrite.split(group)
            if !superseded.isEmpty, let fence = current.first?.job.fence {
                self.parked[job]?.writes.removeAll { $0.job.fence < fence }
                self.superseded(superseded, at: now, &actions)
            }
            return current
        }
    }

    /// A parked job's writes were answered.
    mutating func retried(_ group: [QueueWrite], at now: ContinuousClock.Instant, _ actions: inout WorkerActions) {
        guard let job = group.first?.job.id else { return }
        self.unpark(job, after: group.count, at: now)
        // Pumps that stop wait for the last of them.
        if self.isDone { actions.wakesAll = true }
    }

    /// Whose rows somebody holds is known: sets these jobs apart, and returns the others' writes.
    mutating func withoutLocked(
        _ batch: [QueueWrite], locked: Set<Int64>, at now: ContinuousClock.Instant, random: Double,
        _ actions: inout WorkerActions
    ) -> [QueueWrite] {
        if locked.isEmpty { return batch }
        for (job, writes) in Dictionary(grouping: batch, by: \.job.id) where locked.contains(job) {
            self.park(writes, at: now, random: random, &actions)
        }
        return batch.filter { !locked.contains($0.job.id) }
    }

    /// Sets a job apart with its writes, those that have come since included.
    mutating func park(
        _ writes: [QueueWrite], at now: ContinuousClock.Instant, random: Double, _ actions: inout WorkerActions
    ) {
        let job = writes[0].job.id
        let pump = self.pump(of: job)
        let later = self.outboxes[pump].writes.filter { $0.job.id == job }
        if !later.isEmpty { self.outboxes[pump].writes.removeAll { $0.job.id == job } }
        if self.outboxes[pump].writes.isEmpty { self.outboxes[pump].since = nil }
        self.parked[job] = Parked(writes + later, at: now, random: random)
        actions.reports.append(.rowHeld(job: writes[0].reference))
        actions.retriesParked = true
    }

    /// A parked job's row is still held.
    mutating func deferParked(_ job: Int64, at now: ContinuousClock.Instant, random: Double) {
        self.parked[job]?.wait(from: now, random: random)
    }

    /// A parked job's first writes have arrived, or something else is to be written in their place.
    mutating func unpark(
        _ job: Int64, after count: Int, writing other: QueueWrite? = nil, at now: ContinuousClock.Instant
    ) {
        guard var parked = self.parked[job] else { return }
        parked.writes = (other.map { [$0] } ?? []) + parked.writes.dropFirst(count)
        parked.due = now
        self.parked[job] = parked.writes.isEmpty ? nil : parked
    }
}
