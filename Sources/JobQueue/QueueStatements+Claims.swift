internal import Custody
internal import Foundation
internal import InspectCore
package import Postgres

/// Reads a claim's rows: one for the claim itself, and one for each job.
extension QueueStatements {
    /// A claimed job with the queue it came from.
    package struct Claim {
        /// The job with its new lease.
        package var job: ClaimedJob
        /// `insp.queue.id`.
        package var queue: Int
        /// Its place in the queue.
        package var seq: Int64
        /// False if the job was cancelled or expired while it waited: then only the lease must be dropped.
        package var isOpen: Bool
        /// Whether the job's own deadline passed while it waited.
        package var isExpired: Bool
    }

    /// A claim's result.
    package struct Claims {
        /// The epoch; a new one invalidates all floors.
        package var epoch: Int64
        /// The queues' last place before the claim.
        package var high: Int64
        /// Running transactions; `nil` if not requested.
        package var horizon: FloorHorizon.Scan?
        /// The limits that applied, in the requested order; `nil`: as requested.
        package var limits: [Int]?
        /// Queues that were unknown.
        package var queues: [QueueFloors.Queue]
        /// In the order of the scans.
        package var jobs: [Claim]
    }

    /// The positions of a job's columns, looked up once for all jobs.
    private struct JobColumns {
        let id, fence, attempt, crashes, queue, seq, publicID, status, expired, payload, traceparent, steps, key,
            partner: Int

        init(_ row: PostgresRow) throws {
            self.id = try row.position(of: "job_id")
            self.fence = try row.position(of: "fence")
            self.attempt = try row.position(of: "attempt")
            self.crashes = try row.position(of: "crashes")
            self.queue = try row.position(of: "queue")
            self.seq = try row.position(of: "seq")
            self.publicID = try row.position(of: "public_id")
            self.status = try row.position(of: "status")
            self.expired = try row.position(of: "expired")
            self.payload = try row.position(of: "payload")
            self.traceparent = try row.position(of: "traceparent")
            self.steps = try row.position(of: "steps")
            self.key = try row.position(of: "key_id")
            self.partner = try row.position(of: "partner_id")
        }
    }

    /// - Returns: `nil` if the worker is unknown or must drain.
    package static func claims(from rows: [PostgresRow]) throws -> Claims? {
        guard let head = rows.first else { return nil }
        let high = try head.int("last_seq")
        let horizon: FloorHorizon.Scan? =
            if let running = try head.optionalInt("snapshot_xmin") {
                FloorHorizon.Scan(high: high, running: running, next: try head.int("snapshot_xmax"))
            } else {
                nil
            }
        return Claims(
            epoch: try head.int("epoch"), high: high, horizon: horizon,
            limits: try head.isNull("limits") ? nil : head.intArray("limits").map { Int($0) },
            queues: try head.records("queues", "id", "region", "lane", "partner_id").map { queue in
                QueueFloors.Queue(
                    id: Int(try queue.int("id")), region: Int(try queue.int("region")),
                    lane: Int(try queue.int("lane")),
                    partner: Int(try queue.int("partner_id")))
            },
            jobs: try Self.jobs(from: rows.dropFirst()))
    }

    private static func jobs(from rows: ArraySlice<PostgresRow>) throws -> [Claim] {
        guard let first = rows.first else { return [] }
        let column = try JobColumns(first)
        return try rows.map { row in
            let status = try row.optionalInt(column.status)
            let queue = Int(try row.int(column.queue))
            return Claim(
                job: ClaimedJob(
                    id: try row.int(column.id), publicID: try row.optionalString(column.publicID) ?? "",
                    fence: try row.int(column.fence), attempt: Int(try row.int(column.attempt)),
                    crashes: Int(try row.int(column.crashes)),
                    status: status.flatMap { JobStatus(rawValue: Int16($0)) } ?? .started,
                    payload: try row.optionalData(column.payload) ?? Data(),
                    steps: try Self.steps(of: row, column.steps),
                    traceparent: try row.optionalString(column.traceparent), queue: queue,
                    key: try row.optionalString(column.key).flatMap { KeyID($0) },
                    partner: try row.optionalInt(column.partner) ?? 0),
                queue: queue, seq: try row.int(column.seq), isOpen: status != nil,
                isExpired: try status != nil && row.bool(column.expired))
        }
    }

    private static func steps(of row: PostgresRow, _ column: Int) throws -> [JobStatus: Data] {
        guard try !row.isNull(column) else { return [:] }
        let stages = JobStatus.allCases.filter(\.isStage).sorted()
        return Dictionary(uniqueKeysWithValues: zip(stages, try row.dataArray(column))).compactMapValues { $0 }
    }
}
