internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Postgres

/// A worker reduced to single statements, so that each can be timed: it registers, claims one job at a time with floors, as a
/// worker does, and finishes it in a second round trip.
actor ClaimProbe {
    private let connection: PostgresConnection
    private let identity: WorkerIdentity
    private var floors: QueueFloors
    private var lastHeartbeat = ContinuousClock.now
    /// It runs one job at a time, so its latest fence is also its lowest.
    private var fenceFloor: Int64 = 0

    private init(_ connection: PostgresConnection, _ identity: WorkerIdentity, _ floors: QueueFloors) {
        self.connection = connection
        self.identity = identity
        self.floors = floors
    }

    static func start(_ url: String) async throws -> ClaimProbe {
        let configuration = JobWorkerConfiguration(databaseURL: url, host: "benchmark", version: "benchmark", slots: 1)
        let connection = try await PostgresConnection.connect(
            url, options: ConnectionOptions(name: "inspectd benchmark probe"))
        let incarnation = UUID().uuidString
        let statement = QueueStatements.register(configuration, incarnation: incarnation, process: getpid())
        let row = try await connection.query(statement.sql, statement.parameters)[0]
        return ClaimProbe(
            connection, WorkerIdentity(id: try row.int("worker_id"), incarnation: incarnation, region: 0),
            QueueFloors(
                regions: [0], lanes: configuration.lanes,
                floors: Array(zip(try row.intArray("floor_queues"), try row.intArray("floor_seqs")))))
    }

    /// Claims one job, which then counts as running.
    ///
    /// - Returns: The job, `nil` if none waits, and how long the round trip took.
    func claim() async throws -> (job: ClaimedJob?, seconds: Double) {
        // A scan of the whole queue, as by a worker without work.
        let plan = self.floors.plan(limit: 1, onlyActive: false)
        let statement = QueueStatements.claim(
            self.identity, leaseTime: .seconds(330), limit: 1, plan.scans, known: self.floors.newest, horizon: true)
        let start = ContinuousClock.now
        let rows = try await self.connection.query(statement.sql, statement.parameters)
        let seconds = (ContinuousClock.now - start).seconds
        guard let answer = try QueueStatements.claims(from: rows) else {
            throw InspectError(.internalError, "the benchmark's probe was declared dead")
        }
        self.floors.learn(
            plan, limit: 1, claimed: answer.jobs.map { ($0.queue, $0.seq) }, high: answer.high,
            horizon: answer.horizon, at: .now)
        _ = self.floors.add(answer.queues)
        if let job = answer.jobs.first?.job { self.fenceFloor = job.fence }
        return (answer.jobs.first?.job, seconds)
    }

    func finish(_ job: ClaimedJob) async throws {
        guard let result = BenchmarkHandler.result.stored else { return }
        let write = QueueWrite(kind: .finish(result), job: job, claimedAt: .now)
        let statement = QueueStatements.writes([write])[0].statement
        let stored = try await self.connection.query(statement.sql, statement.parameters).count
        guard stored == 1 else { throw InspectError(.internalError, "the benchmark's probe lost a lease") }
        if (.now - self.lastHeartbeat).seconds > 4 { _ = try await self.beat() }
    }

    /// Sends a heartbeat and returns its duration.
    func beat() async throws -> Double {
        let statement = QueueStatements.heartbeat(
            self.identity, busy: 0, fenceFloor: self.fenceFloor, floors: self.floors.reported)
        let start = ContinuousClock.now
        self.lastHeartbeat = start
        let row = try await self.connection.query(statement.sql, statement.parameters)[0]
        let seconds = (ContinuousClock.now - start).seconds
        guard try row.bool("alive") else {
            throw InspectError(.internalError, "the benchmark's probe was declared dead")
        }
        return seconds
    }

    /// Claims and finishes jobs one after the other and returns how long each claim took; fewer if the queue runs dry.
    func claim(_ count: Int, pause: Duration? = nil) async throws -> [Double] {
        var timesSeconds: [Double] = []
        var misses = 0
        while timesSeconds.count < count, misses < 3, !Task.isCancelled {
            let (job, seconds) = try await self.claim()
            guard let job else {
                misses += 1
                continue
            }
            misses = 0
            timesSeconds.append(seconds)
            try await self.finish(job)
            if let pause { try? await Task.sleep(for: pause) }
        }
        return timesSeconds
    }

    func stop() async {
        let statement = QueueStatements.stop(self.identity)
        _ = try? await self.connection.query(statement.sql, statement.parameters)
        await self.connection.close()
    }
}
