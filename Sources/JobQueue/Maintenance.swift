internal import Foundation
internal import Glibc
internal import InspectCore
internal import Postgres

/// A worker's tasks other than its jobs: the duties of `insp.duty`, each round by one worker of the fleet, on separate connections.
struct Maintenance: Sendable {
    let configuration: JobWorkerConfiguration
    /// For short duties; parked jobs use it, too.
    let connection: ReconnectingConnection
    let report: @Sendable (JobQueueEvent) -> Void

    /// Performs duties until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runShortDuties() }
            group.addTask { await self.runRetention() }
            if let keys = self.configuration.keys { group.addTask { await self.runKeyDuty(keys) } }
            if let objects = self.configuration.objects { group.addTask { await self.runObjectDuty(objects) } }
        }
    }

    /// One duty of maintenance; the worker that locks its row in `insp.duty` performs it.
    private struct Duty: Sendable {
        /// Names as in `insp.duty`.
        enum Kind: String, Sendable {
            case promote = "promote"
            case rescue = "rescue"
            case orphans = "orphans"
            case events = "events"
            case pulls = "pulls"
            case expire = "expire"
            case sweep = "sweep"
            case quotas = "quotas"
            case record = "record"
            case partitions = "partitions"
            case faces = "faces"
            case samples = "samples"
            case usage = "usage"
            case purge = "purge"
        }

        var kind: Kind
        let statement: PostgresStatement
        /// Time between two rounds.
        var interval: Duration
        let shortest: Duration
        var lastRun: ContinuousClock.Instant?
        /// There is more work than fits into one round.
        var isUnfinished = false

        /// - Parameter call: The function's call; its own parameters begin with `$3`.
        init(
            _ kind: Kind, by worker: String, every interval: Duration, _ call: String,
            _ parameters: [PostgresValue] = []
        ) {
            self.kind = kind
            // The setting says that the row was taken. It is evaluated before the function is called, since it does not depend on
            // the function's result.
            self.statement = PostgresStatement(
                """
                SELECT duty.*, insp.duty_done($1, $2, to_jsonb(duty)) FROM \(call) AS duty
                WHERE current_setting('insp.duty', true) = $1
                """, [.text(kind.rawValue), .text(worker)] + parameters)
            self.interval = interval
            self.shortest = interval
        }

        /// Takes the duty. Each round is performed by one worker of the fleet.
        var take: PostgresStatement {
            let spacing = self.isUnfinished || self.shortest < .seconds(5) ? 0 : 0.8 * self.shortest.seconds
            return PostgresStatement(
                "SELECT insp.duty_take($1, make_interval(secs => $2))", [.text(self.kind.rawValue), .double(spacing)])
        }
    }

    /// The longest time for a round of a duty, and for one statement's wait for a lock. Duties skip rows that are held; this is for
    /// all other locks.
    private static let longestRound = Duration.seconds(25)
    private static let longestWait = Duration.milliseconds(500)
    /// Time until a failed duty is tried again.
    private static let retryInterval = Duration.seconds(5)

    /// Identifies this worker in `insp.duty`.
    var worker: String { "\(self.configuration.host)/\(getpid())" }

    /// Handles delayed jobs, dead workers, deadlines and stragglers. There is no leader: each round of a duty locks the duty's row
    /// for its transaction, and a worker that does not get the lock leaves the round to the other.
    private func runShortDuties() async {
        let policy = self.configuration.retryPolicy
        let tick = self.configuration.maintenanceInterval
        let rescue: [PostgresValue] = [
            .double(self.configuration.deadAfter.seconds), .int(Int64(policy.maxAttempts)),
            .int(Int64(policy.maxCrashes)),
        ]
        // Includes the time since this worker's last scan by its own clock: the database's may be set meanwhile.
        let rescueCall =
            "insp.rescue(make_interval(secs => $3), $4, $5, p_elapsed => make_interval(secs => $6), p_thorough => "
        var duties = [
            Duty(.promote, by: self.worker, every: tick, "insp.promote()"),
            Duty(.rescue, by: self.worker, every: tick, rescueCall + "false)", rescue),
            Duty(.orphans, by: self.worker, every: .seconds(10), rescueCall + "true)", rescue),
            Duty(.events, by: self.worker, every: tick, "insp.number_events()"),
            Duty(.pulls, by: self.worker, every: tick, "insp.number_pulls()"),
            Duty(.expire, by: self.worker, every: .seconds(5), "insp.expire()"),
            Duty(.sweep, by: self.worker, every: .seconds(5), "insp.sweep()"),
            Duty(.quotas, by: self.worker, every: .seconds(2), "insp.measure_quotas()"),
            Duty(.record, by: self.worker, every: .seconds(2), "insp.link_record()"),
            Duty(.usage, by: self.worker, every: .seconds(20), "insp.count_usage()"),
            // Once a minute; called often enough to miss none.
            Duty(.samples, by: self.worker, every: .seconds(5), "insp.sample_queue()"),
        ]
        await self.run(&duties, on: self.connection, keepsConnection: true)
    }

    /// Work that can wait and may take long, on its own connection, so that nothing waits for it. The connection is closed between
    /// two rounds.
    private func runRetention() async {
        var duties = [
            Duty(.partitions, by: self.worker, every: .seconds(60), "insp.ensure_partitions()"),
            Duty(.faces, by: self.worker, every: .seconds(60), "insp.face_purge()"),
            Duty(.purge, by: self.worker, every: .seconds(60), "insp.purge()"),
        ]
        let source = self.configuration.connection("retention", report: self.report)
        await self.run(&duties, on: source, keepsConnection: false)
        await source.close()
    }

    private func run(_ duties: inout [Duty], on source: ReconnectingConnection, keepsConnection: Bool) async {
        let tick = self.configuration.maintenanceInterval
        var backoff = Backoff()
        // Never unknown: otherwise a clock set just before a worker's first scan would count as elapsed time.
        var lastScan: ContinuousClock.Instant? = .now
        while !Task.isCancelled {
            var pause = tick * Double.random(in: 0.8...1.2)
            do {
                var failure: PostgresError?
                for index in duties.indices {
                    let start = ContinuousClock.now
                    if let last = duties[index].lastRun, start - last < duties[index].interval { continue }
                    // Even if it fails: it must not precede all other duties again and again.
                    duties[index].lastRun = start
                    do {
                        try await self.round(of: &duties[index], on: source, &lastScan)
                    } catch let error as PostgresError where error.code == .server {
                        // Only this duty fails, and it runs less often until a round succeeds: the others must have their turn.
                        failure = error
                        duties[index].interval = max(duties[index].shortest, Self.retryInterval)
                    }
                }
                if let failure { throw failure }
                backoff.reset()
            } catch is CancellationError {
                return
            } catch {
                pause = max(pause, backoff.next())
                self.report(
                    .databaseUnavailable(
                        role: "maintenance", error: (error as? PostgresError)?.reason ?? "\(error)", retryAfter: pause))
            }
            if !keepsConnection, !duties.contains(where: \.isUnfinished) { await source.close() }
            try? await Task.sleep(for: pause)
        }
    }

    private func round(
        of duty: inout Duty, on source: ReconnectingConnection, _ lastScan: inout ContinuousClock.Instant?
    ) async throws {
        let connection = try await source.open()
        let start = ContinuousClock.now
        var statement = duty.statement
        let scans = duty.kind == .rescue || duty.kind == .orphans
        if scans {
            let elapsed: PostgresValue = lastScan.map { .double((start - $0).seconds) } ?? .null
            statement = PostgresStatement(statement.sql, statement.parameters + [elapsed])
        }
        let row: PostgresRow?
        do {
            row = try await connection.pipeline(
                [
                    QueueStatements.limits(lock: Self.longestWait, statement: Self.longestRound), duty.take,
                    statement,
                ], timeout: .seconds(30))[2].first
        } catch let error as PostgresError {
            duty.isUnfinished = false
            if error.code == .server {
                _ = try? await connection.query(
                    "SELECT insp.duty_failed($1, $2, $3)",
                    [.text(duty.kind.rawValue), .text(self.worker), .text(error.reason)])
            }
            throw error
        }
        // While VACUUM is held up, scans read through dead rows: the longer a scan takes, the less often it runs.
        duty.interval = max(duty.shortest, (ContinuousClock.now - start) * 10)
        guard let row else {
            duty.isUnfinished = false
            return
        }
        if scans { lastScan = start }
        try self.reportOutcome(of: duty.kind, row)
        // A backlog is processed in pieces, with the other duties between them.
        switch duty.kind {
        case .purge: duty.isUnfinished = try row.bool("more")
        case .expire: duty.isUnfinished = try row.int(0) >= 1000
        case .usage: duty.isUnfinished = try row.int(0) >= 2000
        case .events, .pulls, .record: duty.isUnfinished = try row.int(0) >= 5000
        default: duty.isUnfinished = false
        }
        if duty.isUnfinished { duty.lastRun = nil }
    }

    private func reportOutcome(of duty: Duty.Kind, _ row: PostgresRow) throws {
        if duty == .rescue || duty == .orphans {
            let (requeued, deadLettered, workers) = (
                Int(try row.int("requeued")), Int(try row.int("dead_lettered")), Int(try row.int("workers"))
            )
            if requeued + deadLettered + workers > 0 {
                self.report(.rescued(requeued: requeued, deadLettered: deadLettered, workers: workers))
            }
            return
        }
        if duty == .purge {
            let (parts, results, partitions) = (
                Int(try row.int("parts")), Int(try row.int("results")), Int(try row.int("partitions"))
            )
            if parts + results + partitions > 0 {
                self.report(.purged(parts: parts, results: results, partitions: partitions))
            }
            return
        }
        let count = Int(try row.int(0))
        guard count > 0 else { return }
        switch duty {
        case .promote: self.report(.promoted(count))
        case .expire: self.report(.expired(count))
        case .sweep: self.report(.swept(count))
        case .rescue, .orphans, .events, .pulls, .quotas, .record, .partitions, .faces, .samples, .usage, .purge: break
        }
    }
}
