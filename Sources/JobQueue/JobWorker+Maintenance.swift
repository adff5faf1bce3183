internal import Foundation
internal import Postgres

extension JobWorker {
    /// One duty of maintenance; whoever of the fleet gets its lock does it.
    private struct Duty: Sendable {
        enum Kind: Sendable { case promote, rescue, orphans, expire, sweep, partitions, faces, purge }

        var kind: Kind
        let statement: PostgresStatement
        /// Seconds between two rounds.
        var interval: Double
        let shortest: Double
        var lastRun: ContinuousClock.Instant?

        /// - Parameter call: The function's call; its own parameters begin with `$2`.
        init(_ kind: Kind, lock: Int64, every seconds: Double, _ call: String, _ parameters: [PostgresValue] = []) {
            self.kind = kind
            // One statement, and so one transaction, which holds the lock. The function looks with snapshots of its own,
            // taken when it has the lock.
            self.statement = PostgresStatement(
                """
                SELECT duty.* FROM (SELECT pg_try_advisory_xact_lock($1) AS is_mine OFFSET 0) AS lock
                    CROSS JOIN LATERAL \(call) AS duty WHERE lock.is_mine
                """, [.int(lock)] + parameters)
            self.interval = seconds
            self.shortest = seconds
        }
    }

    /// Looks after delayed jobs, dead workers, stragglers and partitions. There is no leader to lose: each round of each
    /// duty takes a lock for the time of its transaction, and a worker that does not get it leaves the round to the other.
    func runMaintenance() async {
        let policy = self.configuration.retryPolicy
        let tick = self.configuration.maintenanceInterval
        let rescue: [PostgresValue] = [
            .double(self.configuration.deadAfter), .int(Int64(policy.maxAttempts)), .int(Int64(policy.maxCrashes)),
        ]
        let rescueCall = "insp.rescue(make_interval(secs => $2), $3, $4, p_thorough => "
        // Keys of the locks: "insp" in ASCII, then a number.
        var duties = [
            Duty(.promote, lock: 0x696e_7370_0000_0010, every: tick, "insp.promote()"),
            Duty(.rescue, lock: 0x696e_7370_0000_0011, every: tick, rescueCall + "false)", rescue),
            Duty(.orphans, lock: 0x696e_7370_0000_0015, every: 10, rescueCall + "true)", rescue),
            Duty(.expire, lock: 0x696e_7370_0000_0012, every: 5, "insp.expire()"),
            Duty(.sweep, lock: 0x696e_7370_0000_0013, every: 5, "insp.sweep()"),
            Duty(.partitions, lock: 0x696e_7370_0000_0014, every: 60, "insp.ensure_partitions()"),
            Duty(.faces, lock: 0x696e_7370_0000_0017, every: 60, "insp.face_purge()"),
            // Last: it is what can wait, and what may take a while.
            Duty(.purge, lock: 0x696e_7370_0000_0016, every: 60, "insp.purge()"),
        ]
        var backoff = Backoff()
        while !Task.isCancelled {
            var pause = tick * Double.random(in: 0.8...1.2)
            do {
                let connection = try await self.auxiliary.open()
                for index in duties.indices {
                    let start = ContinuousClock.now
                    if let last = duties[index].lastRun, (start - last).seconds < duties[index].interval { continue }
                    // Also if it fails: it must not come before everything else again and again.
                    duties[index].lastRun = start
                    let statement = duties[index].statement
                    let row = try await connection.query(
                        statement.sql, statement.parameters, timeout: .seconds(30)
                    ).first
                    // While VACUUM is held up, looks wade through what it cannot remove: the longer one takes, the less
                    // often it is done.
                    let seconds = (ContinuousClock.now - start).seconds
                    duties[index].interval = max(duties[index].shortest, 10 * seconds)
                    if let row {
                        try self.tell(duties[index].kind, row)
                        // A backlog is worked off in pieces, with the other duties between them.
                        if duties[index].kind == .purge, try row.bool("more") { duties[index].lastRun = nil }
                    }
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
        case .rescue, .orphans, .partitions, .faces, .purge: break
        }
    }
}
