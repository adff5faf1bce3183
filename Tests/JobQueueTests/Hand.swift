import Foundation
import Postgres
import Testing

@testable import JobQueue

/// Claims by hand, with the statements of a worker, and then does nothing unless the test asks.
struct Hand {
    var identity: WorkerIdentity
    var seen = SeenNumbers()

    init(_ connection: PostgresConnection) async throws {
        let incarnation = UUID().uuidString
        let configuration = JobWorkerConfiguration(databaseURL: "", host: "hand", version: "0", slots: 1)
        let statement = QueueStatements.register(configuration, incarnation: incarnation, process: 1)
        let row = try await connection.query(statement.sql, statement.parameters)[0]
        self.identity = WorkerIdentity(id: try row.int("worker_id"), incarnation: incarnation, region: 0)
        self.seen.epoch = try row.int("epoch")
    }

    mutating func claim(
        _ limit: Int, floor: Int64 = 0, on connection: PostgresConnection
    ) async throws -> QueueStatements.Claims {
        let statement = QueueStatements.claim(
            self.identity, leaseTime: .seconds(330), limit: limit, [.init(queue: 1, floor: floor, most: limit)],
            known: 0,
            seen: self.seen)
        let rows = try await connection.query(statement.sql, statement.parameters)
        let answer = try #require(try QueueStatements.claims(from: rows))
        self.seen.epoch = answer.epoch
        self.seen.learn(fence: answer.jobs.map(\.job.fence).max() ?? 0, seq: answer.high)
        return answer
    }

    mutating func beat(
        fenceFloor: Int64 = 0, floors: (queues: [Int64], seqs: [Int64]) = ([], []),
        on connection: PostgresConnection
    ) async throws -> PostgresRow {
        let statement = QueueStatements.heartbeat(
            self.identity, busy: 0, fenceFloor: fenceFloor, floors: floors, seen: self.seen)
        return try await connection.query(statement.sql, statement.parameters)[0]
    }
}
