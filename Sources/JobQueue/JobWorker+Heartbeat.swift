internal import Foundation
internal import Glibc
internal import InspectCore
internal import Postgres

extension JobWorker {
    // MARK: Registration

    /// Registers this run of the worker; waits while the database is unavailable.
    func register() async throws {
        let connection = self.configuration.connection("start", timeout: .seconds(5))
        var backoff = Backoff()
        while !self.ask({ $0.isStopping }) {
            do {
                try await self.register(on: try await connection.open())
                break
            } catch let error as PostgresError where error.isTransient {
                let wait = backoff.next()
                self.unavailable("start", error, retryAfter: wait)
                try await Task.sleep(for: wait)
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
        let row = try await connection.query(statement.sql, statement.parameters).single()
        let identity = WorkerIdentity(
            id: try row.int("worker_id"), incarnation: incarnation, region: Int(try row.int("region_id")))
        let epoch = try row.int("epoch")
        let floors = Array(zip(try row.intArray("floor_queues"), try row.intArray("floor_seqs")))
        self.send { machine, actions in
            machine.registered(identity, floors: floors, epoch: epoch, at: .now, &actions)
        }
    }

    // MARK: Heartbeat

    /// Sends a heartbeat every few seconds.
    func runHeartbeat() async {
        let source = self.configuration.connection("heartbeat", timeout: .seconds(4), report: self.report)
        var backoff = Backoff()
        while !Task.isCancelled {
            var pause = self.configuration.heartbeatInterval
            do {
                let connection = try await source.open()
                switch self.ask({ $0.heartbeat(at: .now) }) {
                case .beat(let beat): try await self.send(beat, on: connection)
                case .register: try await self.register(on: connection)
                case .wait: break
                }
                if self.ask({ $0.mustRegister }) { pause = .milliseconds(10) }
                backoff.reset()
            } catch {
                pause = backoff.next()
                self.unavailable("heartbeat", error, retryAfter: pause)
            }
            // Until then, unless it is woken because a job was cancelled or the worker must drain.
            await withTaskCancellationHandler {
                await self.control.wait(timeout: pause)
            } onCancel: {
                self.control.notify()
            }
        }
        await source.close()
    }

    private func send(_ beat: WorkerMachine.Heartbeat, on connection: PostgresConnection) async throws {
        let statement = beat.statement
        let row = try await connection.query(statement.sql, statement.parameters).single()
        let answer = try WorkerMachine.HeartbeatAnswer(row)
        self.send { machine, actions in machine.beaten(beat, answer, at: .now, &actions) }
    }

    // MARK: Watchdog

    /// Gives the machine the time, even while the database does not answer.
    func runWatchdog() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
            let random = Double.random(in: -1...1)
            self.send { machine, actions in machine.tick(at: .now, random: random, &actions) }
        }
    }
}

extension WorkerMachine.Heartbeat {
    var statement: PostgresStatement {
        QueueStatements.heartbeat(
            self.identity, busy: self.busy, fenceFloor: self.fenceFloor, floors: self.floors, seen: self.seen)
    }
}

extension WorkerMachine.HeartbeatAnswer {
    /// - Returns: `nil` if the worker was declared dead.
    init?(_ row: PostgresRow) throws {
        guard try row.bool("alive") else { return nil }
        self.init(
            leases: Dictionary(
                zip(try row.intArray("lease_jobs"), try row.intArray("lease_fences")), uniquingKeysWith: { $1 }),
            fence: try row.int("fence"), weights: try row.intArray("weights"), epoch: try row.int("epoch"),
            isDraining: try row.bool("draining"))
    }
}
