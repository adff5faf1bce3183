internal import Foundation
internal import InspectCore
internal import Postgres
internal import Synchronization

/// Claims jobs, has them processed, and stores the outcomes.
///
/// ``WorkerMachine`` decides, under one lock. Thin loops around it send events and carry out actions: the pumps (claims and writes,
/// a connection each), the heartbeat and the listener (a connection each) and the watchdog (none). Another connection reads
/// parts, and one is for maintenance and for jobs whose rows are held, so that neither a large image nor a slow sweep delays
/// anything else; retention has one while it runs.
package final class JobWorker: Sendable {
    /// The machine and the process's own state: tasks, and those waiting for a slot, by fence.
    struct Guarded: Sendable {
        var machine: WorkerMachine
        var tasks: [Int64: Task<Void, Never>] = [:]
        var waiters: [Int64: CheckedContinuation<Bool, Never>] = [:]
    }

    let configuration: JobWorkerConfiguration
    let handler: any JobHandler
    let report: @Sendable (JobQueueEvent) -> Void
    let guarded: Mutex<Guarded>
    /// Each wakes one pump.
    let wakeUps: [WakeUp]
    /// Triggers the next heartbeat early.
    let control = WakeUp()
    /// Wakes the retries of parked jobs.
    let parking = WakeUp()
    /// Reads for handlers.
    let auxiliary: ReconnectingConnection
    /// For short maintenance and parked jobs.
    let duties: ReconnectingConnection

    package init(
        _ configuration: JobWorkerConfiguration, handler: any JobHandler,
        report: @escaping @Sendable (JobQueueEvent) -> Void = { _ in }
    ) {
        precondition(
            configuration.slots > 0 && configuration.pumps > 0, "a worker needs at least one slot and one pump")
        self.guarded = Mutex(Guarded(machine: WorkerMachine(configuration, at: .now)))
        self.wakeUps = (0..<configuration.pumps).map { _ in WakeUp() }
        self.configuration = configuration
        self.handler = handler
        self.report = report
        self.auxiliary = configuration.connection("auxiliary", report: report)
        self.duties = configuration.connection("maintenance", report: report)
    }

    /// Runs until ``stop()`` is called, the task is cancelled, an operator drains the worker, or, with
    /// ``JobWorkerConfiguration/drains``, the queue is empty. Waits for a lost database.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/regionInvalid`` if the configuration's region does not exist, and
    ///   ``ErrorCode/regionMissing`` if the deployment names regions and the configuration none.
    package func run() async throws {
        try await self.register()
        await withTaskCancellationHandler {
            // Not a child task: outcomes must be written even if the caller's task was cancelled, and until then the
            // heartbeat keeps the leases.
            await Task { await self.work() }.value
        } onCancel: {
            self.stop()
        }
        await self.auxiliary.close()
        await self.duties.close()
        self.report(.stopped)
    }

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runHeartbeat() }
            group.addTask { await self.runListener() }
            group.addTask { await self.runWatchdog() }
            if self.configuration.maintains {
                let maintenance = Maintenance(
                    configuration: self.configuration, connection: self.duties, report: self.report)
                group.addTask { await maintenance.run() }
            }
            await self.runPumps()
            group.cancelAll()
        }
    }

    /// Stops claiming, lets running jobs end within ``JobWorkerConfiguration/shutdownDeadline`` and releases the others.
    package func stop() {
        self.send { machine, actions in machine.stop(at: .now, &actions) }
    }

    // MARK: Events and actions

    /// Queries the machine, without actions.
    func ask<Answer: Sendable>(_ question: (inout WorkerMachine) -> Answer) -> Answer {
        self.guarded.withLock { question(&$0.machine) }
    }

    /// Sends the machine an event, and carries out its actions.
    @discardableResult
    func send<Answer: Sendable>(_ event: (inout WorkerMachine, inout WorkerActions) -> Answer) -> Answer {
        self.exchange { guarded, actions in event(&guarded.machine, &actions) }
    }

    /// Like ``send(_:)``, for events that add or end a task.
    func exchange<Answer: Sendable>(_ event: (inout Guarded, inout WorkerActions) -> Answer) -> Answer {
        let (answer, actions, cancelled, waiters) = self.guarded.withLock { guarded in
            var actions = WorkerActions()
            let answer = event(&guarded, &actions)
            let cancelled = actions.cancelled.compactMap { guarded.tasks[$0] }
            for fence in actions.forgotten { guarded.tasks[fence] = nil }
            let waiters = actions.answered.compactMap { answered in
                guarded.waiters.removeValue(forKey: answered.fence).map { (waiter: $0, isBack: answered.isBack) }
            }
            return (answer, actions, cancelled, waiters)
        }
        if !actions.started.isEmpty { self.start(actions.started) }
        for task in cancelled { task.cancel() }
        for (waiter, isBack) in waiters { waiter.resume(returning: isBack) }
        self.notify(actions)
        for pump in self.wakeUps.indices where actions.wakes(pump) { self.wakeUps[pump].notify() }
        if actions.beats { self.control.notify() }
        if actions.retriesParked || actions.wakesAll { self.parking.notify() }
        return answer
    }

    /// Reports that a connection failed.
    func unavailable(_ role: String, _ error: any Error, retryAfter pause: Duration) {
        let reason = (error as? PostgresError)?.reason ?? "\(error)"
        self.report(.databaseUnavailable(role: role, error: reason, retryAfter: pause))
    }

    private func notify(_ actions: WorkerActions) {
        actions.reports.forEach(self.report)
        guard !actions.settled.isEmpty else { return }
        let now = ContinuousClock.now
        for group in actions.settled {
            WorkerMachine.reports(of: group.writes, held: group.held, at: now, self.report)
        }
    }

    /// Starts attempts. Their tasks are stored after the last has started, so that the lock is taken once for a whole claim.
    private func start(_ jobs: [ClaimedJob]) {
        let tasks = jobs.map { job in
            self.report(.started(job: job.reference(at: job.status)))
            return Task { self.end(job, await self.outcome(of: job)) }
        }
        let lost = self.guarded.withLock { guarded in
            zip(jobs, tasks).filter { job, task in
                guard let running = guarded.machine.running[job.fence] else { return false }
                guarded.tasks[job.fence] = task
                return running.disposition != .working
            }
        }
        for (_, task) in lost { task.cancel() }
    }

    private func outcome(of job: ClaimedJob) async -> WorkerMachine.Outcome {
        do {
            let result = try await self.handler.run(JobContext(job, self))
            // Before the lock is taken: only jobs that mention a review take time.
            return .success(
                result.stored, waitsForReview: result.asksForReview || job.waitsForReview(of: result.decision))
        } catch {
            return .failure(error, random: .random(in: -1...1))
        }
    }

    private func end(_ job: ClaimedJob, _ outcome: WorkerMachine.Outcome) {
        let now = ContinuousClock.now
        self.exchange { guarded, actions in
            guarded.tasks[job.fence] = nil
            guarded.machine.ended(job, outcome, at: now, &actions)
        }
    }
}
