internal import InspectCore
internal import Postgres

/// Writes of single jobs: parked jobs, and jobs that make a batch fail.
extension JobWorker {
    /// Retries the parked jobs, each at its own time, on a connection that no claim needs, until the worker has stopped.
    func runParked() async {
        while true {
            switch self.ask({ $0.nextRetry(at: .now) }) {
            case .over: return
            case .wait(let pause): await self.parking.wait(timeout: pause)
            case .ask(let groups):
                let locked = try? await self.locked(groups.map { $0[0].job.id }, on: self.duties)
                let random = Double.random(in: 0.8...1.2)
                let writable = self.send { machine, actions in
                    machine.retry(groups, locked: locked, at: .now, random: random, &actions)
                }
                for group in writable {
                    if case .done = await self.writeAlone(group, on: self.duties) {
                        self.send { machine, actions in machine.retried(group, at: .now, &actions) }
                    }
                }
                if self.ask({ $0.isDone }) { self.send { _, actions in actions.wakesAll = true } }
            }
        }
    }

    /// Which of these jobs have rows held by another transaction.
    private func locked(_ jobs: [Int64], on source: ReconnectingConnection) async throws -> Set<Int64> {
        let statement = QueueStatements.locked(jobs)
        return Set(try await source.open().query(statement.sql, statement.parameters).map { try $0.int(0) })
    }

    /// Separates a batch's jobs whose rows another transaction holds.
    ///
    /// - Returns: The others' writes.
    func withoutLocked(_ batch: [QueueWrite], on source: ReconnectingConnection) async throws -> [QueueWrite] {
        let locked = try await self.locked(Array(Set(batch.map(\.job.id))), on: source)
        let random = Double.random(in: 0.8...1.2)
        return self.send { machine, actions in
            machine.withoutLocked(batch, locked: locked, at: .now, random: random, &actions)
        }
    }

    /// The outcome of one job's writes.
    enum WrittenAlone {
        case done, parked, later, abandoned
    }

    /// Writes one job's share of a batch, all of one claim, or the machine's replacement for it.
    func writeAlone(_ group: [QueueWrite], on source: ReconnectingConnection) async -> WrittenAlone {
        var substitute: QueueWrite?
        while true {
            do {
                try await self.write(source, substitute.map { [$0] } ?? group)
                return .done
            } catch {
                let failure = WorkerMachine.WriteFailure(error)
                let (sent, random) = (substitute, Double.random(in: 0.8...1.2))
                let recovery = self.send { machine, actions in
                    machine.failedAlone(group, failure, substitute: sent, at: .now, random: random, &actions)
                }
                switch recovery {
                case .parked: return .parked
                case .later: return .later
                case .abandoned: return .abandoned
                case .instead(let write): substitute = write
                }
            }
        }
    }

    private func write(_ source: ReconnectingConnection, _ batch: [QueueWrite]) async throws {
        let writes = QueueStatements.writes(batch)
        let rows = try await source.open().pipeline(writes.map(\.statement))
        let settled = try QueueStatements.settled(writes, rows)
        self.send { machine, actions in machine.settled(settled, of: batch, at: .now, &actions) }
    }
}

extension WorkerMachine.WriteFailure {
    init(_ error: any Error) {
        guard let error = error as? PostgresError else {
            self = .unreadable
            return
        }
        if error.isLockTimeout {
            self = .held
        } else if error.isTransient {
            self = .away
        } else if error.code == .decoding {
            self = .unreadable
        } else {
            self = .refused(error.sqlState ?? "none")
        }
    }
}
