internal import Foundation
internal import Glibc
internal import InspectCore
internal import Postgres

extension JobWorker {
    // MARK: Registration

    /// Registers this run of the worker, waiting for the database if it is away.
    func register() async throws {
        let connection = self.configuration.connection("start", timeout: .seconds(5))
        var backoff = Backoff()
        while !self.state.withLock({ $0.isStopping }) {
            do {
                try await self.register(on: try await connection.open())
                break
            } catch let error as PostgresError where error.isTransient {
                let wait = backoff.next()
                self.report(.databaseUnavailable(role: "start", error: error.reason, retryAfter: wait))
                try await Task.sleep(for: .seconds(wait))
            } catch let error as PostgresError {
                await connection.close()
                throw error.refusal ?? error
            }
        }
        await connection.close()
    }

    private func register(on connection: PostgresConnection) async throws {
        let incarnation = UUID().uuidString
        let statement = QueueStatements.register(self.configuration, incarnation: incarnation, process: getpid())
        let row = try await connection.query(statement.sql, statement.parameters)[0]
        let identity = WorkerIdentity(
            id: try row.int("worker_id"), incarnation: incarnation, region: Int(try row.int("region_id")))
        let epoch = try row.int("epoch")
        let floors = QueueFloors(
            regions: identity.region == 0 ? [0] : [identity.region, 0], lanes: self.configuration.lanes,
            floors: Array(zip(try row.intArray("floor_queues"), try row.intArray("floor_seqs"))))
        self.state.withLock { state in
            state.identity = identity
            state.floors = floors
            state.seen.epoch = epoch
            state.lastHeartbeat = .now
            state.isSuspended = false
            state.isHinted = true
            state.unknownLeases = [:]
            state.fenceFloor = 0
            state.lastFence = 0
            state.look = WorkerState.LookState()
        }
        self.report(.registered(worker: identity.id))
        self.wakeUps[0].notify()
    }

    // MARK: Heartbeat

    /// Says every few seconds that this worker lives, and compares the leases that the database knows with its own.
    func runHeartbeat() async {
        let source = self.configuration.connection("heartbeat", timeout: .seconds(4), report: self.report)
        var backoff = Backoff()
        while !Task.isCancelled {
            var pause = self.configuration.heartbeatInterval
            do {
                let connection = try await source.open()
                if let identity = self.state.withLock({ $0.identity }) {
                    try await self.beat(identity, on: connection)
                } else if !self.state.withLock({ $0.isStopping }) {
                    try await self.register(on: connection)
                }
                // A worker that was just declared dead registers again at once.
                if self.state.withLock({ $0.identity == nil && !$0.isStopping }) { pause = 0.01 }
                backoff.reset()
            } catch {
                pause = backoff.next()
                self.report(
                    .databaseUnavailable(
                        role: "heartbeat", error: (error as? PostgresError)?.reason ?? "\(error)", retryAfter: pause))
            }
            // Until then, unless somebody asks: a job was cancelled, or the worker is to drain.
            await withTaskCancellationHandler {
                await self.control.wait(timeout: pause)
            } onCancel: {
                self.control.notify()
            }
        }
        await source.close()
    }

    private func beat(_ identity: WorkerIdentity, on connection: PostgresConnection) async throws {
        let (busy, floor, floors, before, seen) = self.state.withLock { state in
            (
                state.inSlots, state.fenceFloor, state.floors.reported,
                state.running.mapValues { $0.job.fence }, state.seen
            )
        }
        let statement = QueueStatements.heartbeat(identity, busy: busy, fenceFloor: floor, floors: floors, seen: seen)
        // Measured from the sending: what the database noted lies after that.
        let sent = ContinuousClock.now
        let row = try await connection.query(statement.sql, statement.parameters)[0]
        guard try row.bool("alive") else {
            // Nobody declared dead one that has just taken its own leave.
            if self.state.withLock({ $0.hasLeft }) { return }
            self.report(.declaredDead(worker: identity.id))
            self.state.withLock { $0.identity = nil }
            self.drop { _ in true }
            return
        }
        let leases = Dictionary(
            zip(try row.intArray("lease_jobs"), try row.intArray("lease_fences")), uniquingKeysWith: { $1 })
        let (fence, weights, epoch) = (try row.int("fence"), try row.intArray("weights"), try row.int("epoch"))
        let (wasSuspended, isOther) = self.state.withLock { state -> (Bool, Bool) in
            state.lastHeartbeat = sent
            let isOther = state.enter(epoch)
            state.seen.learn(fence: fence)
            state.floors.set(weights: weights)
            defer { state.isSuspended = false }
            return (state.isSuspended, isOther)
        }
        if isOther { self.report(.newEpoch) }
        if wasSuspended { self.report(.resumed) }
        if wasSuspended || isOther { self.wakeUps[0].notify() }
        // Running here since before the question, but no lease there: cancelled, or taken back.
        self.drop { job in before[job.id] == job.fence && leases[job.id] != job.fence }
        // What follows reasons from the time between two heartbeats, which is none if somebody asked for one.
        let turn = Duration.seconds(self.configuration.heartbeatInterval * 0.9)
        let isRegular = self.state.withLock { state -> Bool in
            if let last = state.lastRegularBeat, sent - last < turn { return false }
            state.lastRegularBeat = sent
            state.floors.forgetNewest()
            // The lowest of the leases that are left, or where the heartbeat before this one stood: a
            // claim that had drawn its fences by then has long been committed or given up.
            let running = state.running.values.lazy.map(\.job.fence).min() ?? .max
            if state.seen.epoch == seen.epoch {
                state.fenceFloor = max(floor, min(leases.values.min() ?? .max, running, state.lastFence))
            }
            state.lastFence = state.seen.epoch == epoch ? fence : 0
            return true
        }
        if isRegular { self.adopt(leases) }
        if try row.bool("draining") { self.stop() }
    }

    /// Hands back leases that nobody here works on: their claim was committed, but its answer was lost.
    ///
    /// One that is seen for the first time may be a claim whose answer is still on its way, so it is left until the next
    /// regular heartbeat.
    private func adopt(_ leases: [Int64: Int64]) {
        let hasWrites = self.state.withLock { state -> Bool in
            let unknown = leases.filter { job, fence in
                state.running[job]?.job.fence != fence && state.ending[job] != fence
            }
            let now = ContinuousClock.now
            var count = 0
            for (job, fence) in unknown where state.unknownLeases[job] == fence {
                let claimed = ClaimedJob(
                    id: job, publicID: "", fence: fence, attempt: 0, crashes: 0, status: .started, payload: Data(),
                    steps: [:], traceparent: nil)
                state.add(QueueWrite(kind: .handBack, job: claimed, claimedAt: now), at: now)
                count += 1
            }
            state.unknownLeases = unknown
            return count > 0
        }
        if hasWrites { self.wakeUps.forEach { $0.notify() } }
    }

    // MARK: Watchdog

    /// Enforces what must be enforced also while the database does not answer.
    func runWatchdog() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
            let now = ContinuousClock.now
            self.suspendIfSilent(now)
            self.endOverdue(now)
            self.endShutdown(now)
        }
    }

    private func suspendIfSilent(_ now: ContinuousClock.Instant) {
        let silentFor = self.state.withLock { state -> Double? in
            let silentFor = (now - state.lastHeartbeat).seconds
            guard !state.isSuspended, silentFor > self.configuration.heartbeatPatience else { return nil }
            state.isSuspended = true
            return silentFor
        }
        guard let silentFor else { return }
        self.report(.suspended(silentFor: silentFor))
        self.drop { _ in true }
    }

    private func endOverdue(_ now: ContinuousClock.Instant) {
        let limit = Duration.seconds(self.configuration.jobDeadline)
        let overdue = self.state.withLock { state in
            state.mark(.overdue, at: now) { $0.disposition == .working && now - $0.claimedAt > limit }
        }
        for running in overdue {
            running.task?.cancel()
            self.report(.overdue(job: running.reference))
        }
        // A handler that does not heed its cancellation keeps its task, but neither the slot nor the job.
        for running in self.state.withLock({ $0.deaf(after: .seconds(5), at: now) }) {
            self.conclude(running.job, .failure(CancellationError()))
        }
    }

    private func endShutdown(_ now: ContinuousClock.Instant) {
        let limit = Duration.seconds(self.configuration.shutdownDeadline)
        let late = self.state.withLock { state in
            guard let since = state.stoppingSince, now - since > limit else { return [] as WorkerState.Marked }
            return state.mark(.handBack, at: now) { $0.disposition == .working }
        }
        for running in late { running.task?.cancel() }
    }

    // MARK: Listener

    /// Turns notifications into wake-ups of the pump. Only a hint: the pump also looks by itself.
    func runListener() async {
        var options = self.configuration.connection
        options.name += " listener"
        let lanes = Set(self.configuration.lanes.map(String.init))
        let listener = NotificationListener(
            self.configuration.listenURL ?? self.configuration.databaseURL, options: options,
            channels: ["insp_ready", "insp_control"])
        await listener.run { event in
            switch event {
            case .listening(let isAgain):
                if isAgain { self.report(.reconnected(role: "listener")) }
                // What was announced while nobody listened.
                self.hint()
                self.control.notify()
            case .notification(let notification) where notification.channel == "insp_control":
                self.obey(notification.payload)
            case .notification(let notification):
                if lanes.contains(notification.payload) { self.hint() }
            case .lost(let error, let wait):
                self.report(
                    .databaseUnavailable(
                        role: "listener", error: (error as? PostgresError)?.reason ?? "\(error)", retryAfter: wait))
            }
        }
    }

    /// What is asked of one worker (to drop a job, to drain) is seen by its next heartbeat, so that comes at once; what is
    /// asked of all (a limit, a lane's weight) by the next heartbeat or claim.
    private func obey(_ worker: String) {
        if worker == "*" {
            self.control.notify()
            self.hint()
        } else if let id = self.state.withLock({ $0.identity?.id }), worker == "\(id)" {
            self.control.notify()
        }
    }

    private func hint() {
        self.state.withLock { $0.isHinted = true }
        self.wakeUps[0].notify()
    }
}
