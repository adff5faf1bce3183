internal import Foundation
internal import InspectCore
internal import Postgres
internal import Synchronization

/// Claims jobs, has them worked on, and stores what comes of it.
///
/// All state lies behind one lock; these loops work on it: the pumps (claims and writes, a connection each), the heartbeat
/// (another), the listener (a third) and the watchdog (none). A fourth connection reads parts, and a fifth is for maintenance
/// and for jobs whose rows somebody holds, so that neither a large image nor a slow sweep holds up anything else; retention
/// has one while it works.
package final class JobWorker: Sendable {
    let configuration: JobWorkerConfiguration
    let handler: any JobHandler
    let report: @Sendable (JobQueueEvent) -> Void
    let state: Mutex<WorkerState>
    /// Each wakes one pump.
    let wakeUps: [WakeUp]
    /// Brings the next heartbeat forward.
    let control = WakeUp()
    /// Wakes the retries of parked jobs.
    let parking = WakeUp()
    /// Reads what handlers ask for.
    let auxiliary: ReconnectingConnection
    /// Maintenance that takes a moment, and parked jobs.
    let duties: ReconnectingConnection

    package init(
        _ configuration: JobWorkerConfiguration, handler: any JobHandler,
        report: @escaping @Sendable (JobQueueEvent) -> Void = { _ in }
    ) {
        precondition(
            configuration.slots > 0 && configuration.pumps > 0, "a worker needs at least one slot and one pump")
        self.state = Mutex(WorkerState(pumps: configuration.pumps, outside: configuration.outside))
        self.wakeUps = (0..<configuration.pumps).map { _ in WakeUp() }
        self.configuration = configuration
        self.handler = handler
        self.report = report
        self.auxiliary = configuration.connection("auxiliary", report: report)
        self.duties = configuration.connection("maintenance", report: report)
    }

    /// Works until ``stop()`` is called, the task is cancelled, an operator drains the worker, or, with
    /// ``JobWorkerConfiguration/drains``, the queue is empty. Lost databases are waited for.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/regionInvalid`` if the configuration's region does not exist.
    package func run() async throws {
        try await self.register()
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.runHeartbeat() }
                group.addTask { await self.runListener() }
                group.addTask { await self.runWatchdog() }
                if self.configuration.maintains {
                    group.addTask { await self.runMaintenance() }
                    group.addTask { await self.runRetention() }
                }
                // Not a child: what is finished must be written also when the caller's task was cancelled.
                await Task { await self.runPumps() }.value
                group.cancelAll()
            }
        } onCancel: {
            self.stop()
        }
        await self.auxiliary.close()
        await self.duties.close()
        self.report(.stopped)
    }

    /// Stops claiming, lets running jobs end within ``JobWorkerConfiguration/shutdownDeadline`` and hands the others back.
    package func stop() {
        let running = self.state.withLock { state -> Int? in
            if state.isStopping { return nil }
            state.stoppingSince = .now
            return state.running.count
        }
        if let running { self.report(.stopping(running: running)) }
        self.wakeAll()
    }

    // MARK: Jobs

    /// Starts work on claimed jobs. All are noted before the first begins, and their tasks after the last: twice behind the
    /// lock for a whole claim.
    func start(_ jobs: [ClaimedJob]) {
        let now = ContinuousClock.now
        self.state.withLock { state in
            for job in jobs {
                state.running[job.id] = WorkerState.Running(job: job, claimedAt: now, stage: job.status)
                if state.outside.isWanted { state.outside.expect(job.fence, of: state.floors.partner(of: job.queue)) }
            }
        }
        let tasks = jobs.map { job in
            self.report(.started(job: job.reference(at: job.status)))
            return Task {
                let outcome: Result<JobResult, any Error>
                do {
                    outcome = .success(try await self.handler.run(job, JobContext(job, self)))
                } catch {
                    outcome = .failure(error)
                }
                self.conclude(job, outcome)
            }
        }
        let lost = self.state.withLock { state in
            zip(jobs, tasks).filter { job, task in
                guard state.running[job.id]?.job.fence == job.fence else { return false }
                state.running[job.id]?.task = task
                return state.running[job.id]?.disposition != .working
            }
        }
        for (_, task) in lost { task.cancel() }
    }

    /// Turns a job's outcome into the write that ends its lease; the slot is free from here on.
    func conclude(_ job: ClaimedJob, _ outcome: Result<JobResult, any Error>) {
        let now = ContinuousClock.now
        // Before the lock is taken: only jobs that name a review cost more than a glance.
        let waits = if case .success(let result) = outcome { job.waitsForReview(of: result.decision) } else { false }
        let kind: (WorkerState.Disposition) -> QueueWrite.Kind? = { disposition in
            switch (outcome, disposition) {
            case (_, .lost): return nil
            case (.success(let result), _):
                guard let stored = result.stored else { return .giveUp(Self.notStorable) }
                return waits ? .holdForReview(stored) : .finish(stored)
            case (.failure, .handBack): return .handBack
            case (.failure, .overdue):
                return self.kind(after: InspectError(.analyzerTimeout, "the job's own deadline"), of: job)
            case (.failure(let error as InspectError), .working) where error.code == .leaseLost: return nil
            case (.failure(is NoPermit), .working): return .handBack
            case (.failure(let error), .working):
                let failure = error as? PostgresError
                return self.kind(
                    after: failure.map { InspectError(.internalError, $0.code.rawValue) }
                        ?? InspectError(unexpected: error), of: job)
            }
        }
        let (mustWake, hasOutside, waiter) = self.state.withLock { state in
            let hasOutside = !state.outside.isEmpty
            let waiter = hasOutside ? state.outside.remove(job.fence) : nil
            guard let place = state.running.index(forKey: job.id), state.running[place].value.job.fence == job.fence
            else { return (false, hasOutside, waiter) }
            let running = state.running.remove(at: place).value
            guard let kind = kind(running.disposition) else { return (true, hasOutside, waiter) }
            let count = state.add(
                QueueWrite(kind: kind, job: job, claimedAt: running.claimedAt, stage: running.stage), at: now)
            // Between the first write and a full batch a pump only waits for more, or for the last job.
            let mustWake = count == 1 || count == self.batchTarget || state.running.isEmpty || state.isStopping
            return (mustWake, hasOutside, waiter)
        }
        waiter?.resume(returning: false)
        if hasOutside { self.readmit() }
        if mustWake { self.wake(job.id) }
    }

    /// Wakes the pump that a job's writes go through.
    func wake(_ job: Int64) { self.wakeUps[Int(job % Int64(self.wakeUps.count))].notify() }

    /// Wakes whoever writes.
    func wakeAll() {
        self.wakeUps.forEach { $0.notify() }
        self.parking.notify()
    }

    private func kind(after error: InspectError, of job: ClaimedJob) -> QueueWrite.Kind {
        let verdict = self.configuration.retryPolicy.verdict(
            after: error, attempt: job.attempt, crashes: job.crashes + (error.code.isCrash ? 1 : 0),
            random: Double.random(in: -1...1))
        switch verdict {
        case .giveUp(let final): return .giveUp(final)
        case .retry(let seconds): return .retry(error, after: seconds)
        }
    }

    /// Ends the work on jobs whose lease is gone.
    func drop(where isMeant: @Sendable (ClaimedJob) -> Bool) {
        let dropped = self.state.withLock { state in state.mark(.lost, at: .now) { isMeant($0.job) } }
        for running in dropped {
            running.task?.cancel()
            self.report(.leaseLost(job: running.reference))
        }
    }

    // MARK: For handlers

    func store(_ stage: JobStatus, _ output: Data, of job: ClaimedJob) throws {
        guard let body = StorableJSON.checked(output) else { try self.refuse(job) }
        let isHeld = self.state.withLock { state -> Bool in
            guard let running = state.running[job.id], running.job.fence == job.fence, running.disposition != .lost
            else { return false }
            state.running[job.id]?.stage = max(running.stage, stage)
            state.add(QueueWrite(kind: .step(stage, body), job: job, claimedAt: running.claimedAt), at: .now)
            return true
        }
        guard isHeld else { throw InspectError(.leaseLost) }
        self.wake(job.id)
    }

    private static let notStorable = InspectError(.internalError, "a result cannot be stored: it is no JSON")

    /// Ends a job at once, whatever its handler still does.
    private func refuse(_ job: ClaimedJob) throws -> Never {
        let claimedAt = self.state.withLock { $0.running[job.id]?.claimedAt } ?? .now
        self.drop { $0.id == job.id && $0.fence == job.fence }
        _ = self.state.withLock { state in
            state.add(QueueWrite(kind: .giveUp(Self.notStorable), job: job, claimedAt: claimedAt), at: .now)
        }
        self.wake(job.id)
        throw InspectError(.leaseLost)
    }

    func parts(of job: ClaimedJob) async throws -> [JobPart] {
        let parts = try QueueStatements.parts(from: try await self.reading(QueueStatements.parts(of: job), for: job))
        // A session is asked about once the pictures are analysed, and its job must then find a permit.
        self.keepPermit(for: job, isNeeded: parts.contains { $0.isRemote || $0.kind == .sessionBlob })
        return parts
    }

    func enrolledFace(of job: ClaimedJob) async throws -> EnrolledFace {
        let rows = try await self.reading(QueueStatements.face(of: job), for: job)
        guard let face = try QueueStatements.face(from: rows) else { throw InspectError(.faceIDInvalid) }
        return face
    }

    func hand(over feature: FaceEmbedding, generation: Int64, of job: ClaimedJob) async throws {
        _ = try await self.reading(QueueStatements.stage(feature, generation: generation, of: job), for: job)
    }

    /// One statement for a leased job, on the connection beside those that claim and write.
    private func reading(_ statement: PostgresStatement, for job: ClaimedJob) async throws -> [PostgresRow] {
        do {
            return try await self.asking(statement)
        } catch let error as PostgresError {
            guard let refusal = error.refusal else {
                throw InspectError(.databaseUnavailable, error.sqlState ?? error.code.rawValue)
            }
            if refusal.code == .leaseLost { self.drop { $0.id == job.id && $0.fence == job.fence } }
            throw refusal
        }
    }

    /// Runs a statement that may be repeated. A row that somebody holds is not waited for on the connection: it is the only one
    /// that reads parts, and other jobs want theirs.
    private func asking(_ statement: PostgresStatement) async throws -> [PostgresRow] {
        try await self.auxiliary.retrying(for: 20) { connection in
            try await connection.pipeline([QueueStatements.limits(lock: 0.05), statement])[1]
        }
    }

    /// Whether the job's session may be sent; false where an earlier attempt may have sent it.
    func beginSession(of job: ClaimedJob) async throws -> Bool {
        try await self.reading(QueueStatements.beginSession(of: job), for: job)[0].bool(0)
    }

    func endSession(of job: ClaimedJob, outcome: String, status: Int?, output: Data?) async throws {
        _ = try await self.asking(
            QueueStatements.endSession(of: job, outcome: outcome, status: status, output: output))
    }
}
