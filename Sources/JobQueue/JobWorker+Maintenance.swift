internal import Foundation
internal import Postgres

extension JobWorker {
    /// One duty of maintenance; whoever of the fleet gets its lock does it.
    private struct Duty: Sendable {
        enum Kind: Sendable { case promote, rescue, orphans, expire, sweep, partitions }

        var kind: Kind
        /// Key of the advisory lock: "insp" in ASCII, then a number.
        var lock: Int64
        var sql: String
        var parameters: [PostgresValue] = []
        var interval: Double
        var lastRun: ContinuousClock.Instant?
    }

    /// Looks after delayed jobs, dead workers, stragglers and partitions. There is no leader to lose: each round of each
    /// duty takes a lock for the time of its transaction, and a worker that does not get it leaves the round to the other.
    func runMaintenance() async {
        let policy = self.configuration.retryPolicy
        let tick = self.configuration.maintenanceInterval
        let rescue: [PostgresValue] = [
            .double(self.configuration.deadAfter), .int(Int64(policy.maxAttempts)), .int(Int64(policy.maxCrashes)),
        ]
        var duties = [
            Duty(kind: .promote, lock: 0x696e_7370_0000_0010, sql: "SELECT insp.promote()", interval: tick),
            Duty(
                kind: .rescue, lock: 0x696e_7370_0000_0011,
                sql: "SELECT * FROM insp.rescue(make_interval(secs => $1), $2, $3, p_thorough => false)",
                parameters: rescue, interval: tick),
            Duty(
                kind: .orphans, lock: 0x696e_7370_0000_0015,
                sql: "SELECT * FROM insp.rescue(make_interval(secs => $1), $2, $3, p_thorough => true)",
                parameters: rescue, interval: 10),
            Duty(kind: .expire, lock: 0x696e_7370_0000_0012, sql: "SELECT insp.expire()", interval: 5),
            Duty(kind: .sweep, lock: 0x696e_7370_0000_0013, sql: "SELECT insp.sweep()", interval: 5),
            Duty(kind: .partitions, lock: 0x696e_7370_0000_0014, sql: "SELECT insp.ensure_partitions()", interval: 60),
        ]
        var backoff = Backoff()
        while !Task.isCancelled {
            var pause = tick * Double.random(in: 0.8...1.2)
            do {
                let connection = try await self.auxiliary.open()
                for index in duties.indices {
                    let start = ContinuousClock.now
                    if let last = duties[index].lastRun, (start - last).seconds < duties[index].interval { continue }
                    let (lock, statement) = (
                        duties[index].lock, PostgresStatement(duties[index].sql, duties[index].parameters)
                    )
                    let row = try await connection.transaction { connection -> PostgresRow? in
                        let gotLock = try connection.query("SELECT pg_try_advisory_xact_lock($1)", [.int(lock)])
                        guard try gotLock[0].bool(0) else { return nil }
                        return try connection.query(statement.sql, statement.parameters, timeout: .seconds(30))[0]
                    }
                    duties[index].lastRun = start
                    // What looks below the floors wades through whatever VACUUM cannot remove: the longer it takes, the
                    // less often it is done.
                    let seconds = (ContinuousClock.now - start).seconds
                    switch duties[index].kind {
                    case .sweep: duties[index].interval = max(5, 20 * seconds)
                    case .orphans: duties[index].interval = max(10, 20 * seconds)
                    case .promote, .rescue, .expire, .partitions: break
                    }
                    if let row { try self.tell(duties[index].kind, row) }
                }
                backoff.reset()
            } catch is CancellationError {
                return
            } catch {
                pause = max(pause, backoff.next())
                self.report(
                    .databaseUnavailable(
                        role: "maintenance", error: (error as? PostgresError)?.reason ?? "\(error)", retryAfter: pause))
            }
            try? await Task.sleep(for: .seconds(pause))
        }
    }

    private func tell(_ duty: Duty.Kind, _ row: PostgresRow) throws {
        if duty == .rescue || duty == .orphans {
            let (requeued, givenUp, workers) = (
                Int(try row.int("requeued")), Int(try row.int("given_up")), Int(try row.int("workers"))
            )
            if requeued + givenUp + workers > 0 {
                self.report(.rescued(requeued: requeued, givenUp: givenUp, workers: workers))
            }
            return
        }
        let count = Int(try row.int(0))
        guard count > 0 else { return }
        switch duty {
        case .promote: self.report(.promoted(count))
        case .expire: self.report(.expired(count))
        case .sweep: self.report(.swept(count))
        case .rescue, .orphans, .partitions: break
        }
    }
}
