internal import Foundation
internal import InspectCore
internal import Postgres

/// Which kind of write an attempt's outcome becomes, and when an attempt is told to stop.
extension WorkerMachine {
    /// What a handler came to.
    enum Outcome: Sendable {
        /// - Parameters:
        ///   - result: `nil` if it cannot be stored.
        case success(StorableResult?, waitsForReview: Bool)
        /// - Parameters:
        ///   - random: From -1 to 1, for the time of the next attempt.
        case failure(any Error, random: Double)
    }

    static let notStorable = InspectError(.internalError, "a result cannot be stored: it is no JSON")

    /// Turns an attempt's outcome into the write that ends its lease; the slot is free from here on.
    mutating func ended(
        _ job: ClaimedJob, _ outcome: Outcome, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        if !self.outside.isEmpty {
            if self.outside.remove(job.fence) { actions.answered.append((job.fence, false)) }
            defer { self.readmit(&actions) }
            self.end(job, outcome, at: now, &actions)
        } else {
            self.end(job, outcome, at: now, &actions)
        }
    }

    private mutating func end(
        _ job: ClaimedJob, _ outcome: Outcome, at now: ContinuousClock.Instant, _ actions: inout WorkerActions
    ) {
        guard let running = self.running.removeValue(forKey: job.fence) else { return }
        guard let kind = self.kind(of: outcome, running) else { return actions.wake(self.pump(of: job.id)) }
        let count = self.add(
            QueueWrite(kind: kind, job: job, claimedAt: running.claimedAt, stage: running.stage), at: now)
        // Between the first write and a full batch a pump only waits for more, or for the last job.
        if count == 1 || count == self.batchTarget || self.running.isEmpty || self.isStopping {
            actions.wake(self.pump(of: job.id))
        }
    }

    private func kind(of outcome: Outcome, _ running: Running) -> QueueWrite.Kind? {
        switch (outcome, running.disposition) {
        case (_, .lost): return nil
        case (.success(let result, let waits), _):
            guard let result else { return .deadLetter(Self.notStorable) }
            return waits ? .holdForReview(result) : .finish(result)
        case (.failure, .stopped): return .release
        case (.failure(_, let random), .overdue):
            return self.kind(after: InspectError(.analyzerTimeout, "the job's own deadline"), running.job, random)
        case (.failure(let error as InspectError, _), .working) where error.code == .leaseLost: return nil
        case (.failure(is NoPermit, _), .working): return .release
        case (.failure(let error, let random), .working):
            let failure = error as? PostgresError
            return self.kind(
                after: failure.map { InspectError(.internalError, $0.code.rawValue) }
                    ?? InspectError(unexpected: error),
                running.job, random)
        }
    }

    private func kind(after error: InspectError, _ job: ClaimedJob, _ random: Double) -> QueueWrite.Kind {
        let verdict = self.configuration.retryPolicy.verdict(
            after: error, attempt: job.attempt, crashes: job.crashes + (error.code.isCrash ? 1 : 0), random: random)
        switch verdict {
        case .deadLetter(let final): return .deadLetter(final)
        case .retry(let seconds): return .retry(error, after: seconds)
        }
    }

    /// A stage's result is to be stored.
    ///
    /// - Returns: False if the lease is known to be lost.
    mutating func completed(
        _ stage: JobStatus, _ body: Data, of job: ClaimedJob, at now: ContinuousClock.Instant,
        _ actions: inout WorkerActions
    ) -> Bool {
        guard let running = self.running[job.fence], running.disposition != .lost else { return false }
        self.running[job.fence]?.stage = max(running.stage, stage)
        self.add(QueueWrite(kind: .step(stage, body), job: job, claimedAt: running.claimedAt), at: now)
        actions.wake(self.pump(of: job.id))
        return true
    }

    /// A stage's result cannot be stored: ends the job at once, whatever its handler still does.
    mutating func refused(_ job: ClaimedJob, at now: ContinuousClock.Instant, _ actions: inout WorkerActions) {
        // What was lost before is not to be written.
        guard let running = self.running[job.fence], running.disposition != .lost else { return }
        self.lose(at: now, &actions) { $0.job.fence == job.fence }
        self.add(QueueWrite(kind: .deadLetter(Self.notStorable), job: job, claimedAt: running.claimedAt), at: now)
        actions.wake(self.pump(of: job.id))
    }

    /// Ends the work on jobs whose lease is gone.
    mutating func lose(
        at now: ContinuousClock.Instant, _ actions: inout WorkerActions, where isMeant: (Running) -> Bool
    ) {
        for running in self.mark(.lost, at: now, &actions, where: isMeant) {
            actions.reports.append(.leaseLost(job: running.reference))
        }
    }

    /// Marks running jobs, and has their tasks told to stop.
    @discardableResult
    private mutating func mark(
        _ disposition: Disposition, at now: ContinuousClock.Instant, _ actions: inout WorkerActions,
        where isMeant: (Running) -> Bool
    ) -> [Running] {
        let marked = self.running.values.filter { $0.disposition != .lost && isMeant($0) }
            .sorted { $0.job.fence < $1.job.fence }
        for running in marked {
            self.running[running.job.fence]?.disposition = disposition
            self.running[running.job.fence]?.markedAt = now
            actions.cancelled.append(running.job.fence)
        }
        return marked
    }

    // MARK: Watchdog

    /// A handler that does not heed its cancellation for so long keeps its task, but neither the slot nor the job.
    static let patienceAfterCancellation = Duration.seconds(5)

    /// Enforces what must be enforced also while the database does not answer.
    ///
    /// - Parameter random: From -1 to 1, for the next attempts of overdue jobs.
    mutating func tick(at now: ContinuousClock.Instant, random: Double, _ actions: inout WorkerActions) {
        let silentFor = now - self.lastHeartbeat
        if !self.isSuspended, silentFor > self.configuration.heartbeatPatience {
            self.isSuspended = true
            actions.reports.append(.suspended(silentFor: silentFor.seconds))
            self.lose(at: now, &actions) { _ in true }
        }
        let limit = self.configuration.jobDeadline
        let overdue = self.mark(.overdue, at: now, &actions) {
            $0.disposition == .working && now - $0.claimedAt > limit
        }
        for running in overdue { actions.reports.append(.overdue(job: running.reference)) }
        let deaf = self.running.values.filter { running in
            running.markedAt.map { now - $0 > Self.patienceAfterCancellation } ?? false
        }
        for running in deaf.sorted(by: { $0.job.fence < $1.job.fence }) {
            actions.forgotten.append(running.job.fence)
            self.ended(running.job, .failure(CancellationError(), random: random), at: now, &actions)
        }
        if let since = self.stoppingSince, now - since > self.configuration.shutdownDeadline {
            self.mark(.stopped, at: now, &actions) { $0.disposition == .working }
        }
    }
}
