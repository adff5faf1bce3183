import Foundation
import Postgres

/// What a worker of version 0.1.0 says to the database: its statements, letter by letter, with its parameters.
///
/// Kept so that a fleet can be upgraded worker by worker: the schema of today must understand all of it.
struct PreviousWorker {
    let connection: PostgresConnection
    let id: Int64
    let incarnation: String
    /// Floors by 0.1.0's numbers of queues: (region · 3 + lane) · 64 + slot.
    private var floors: [Int64: Int64] = [:]

    struct Claimed {
        var job: Int64
        var fence: Int64
        var attempt: Int
        var status: Int?
        var isExpired: Bool
    }

    private static let slots = 64
    private static let slack: Int64 = 20_000

    init(_ connection: PostgresConnection, name: String = "previous") async throws {
        self.connection = connection
        self.incarnation = UUID().uuidString
        let row = try await connection.query(
            "SELECT * FROM insp.worker_start($1, $2, $3, $4, $5, $6, $7)",
            [.text(self.incarnation), .text(name), 1, "0.1.0", nil, .intArray([0, 1, 2]), 4])[0]
        self.id = try row.int("worker_id")
        _ = try row.int("region_id")
        let numbers = try row.isNull("floor_queues") ? [] : row.intArray("floor_queues")
        let seqs = try row.isNull("floor_seqs") ? [] : row.intArray("floor_seqs")
        self.floors = Dictionary(uniqueKeysWithValues: zip(numbers, seqs))
    }

    static func enqueue(_ payloads: [String], on connection: PostgresConnection) async throws -> [String] {
        try await connection.query("SELECT * FROM insp.enqueue_many($1)", [.textArray(payloads)])
            .map { try $0.string(0) }
    }

    /// - Returns: The leases that the database knows, or `nil` if the worker was declared dead.
    func heartbeat(busy: Int) async throws -> [Int64: Int64]? {
        let row = try await self.connection.query(
            "SELECT * FROM insp.heartbeat($1, $2, $3, $4, $5)",
            [
                .int(self.id), .text(self.incarnation), .int(Int64(busy)), .intArray(Array(self.floors.keys)),
                .intArray(Array(self.floors.values)),
            ])[0]
        guard try row.bool("alive") else { return nil }
        _ = try row.bool("draining")
        return Dictionary(uniqueKeysWithValues: zip(try row.intArray("lease_jobs"), try row.intArray("lease_fences")))
    }

    mutating func claim(limit: Int) async throws -> [Claimed] {
        var regions: [Int64] = []
        var lanes: [Int64] = []
        var slots: [Int64] = []
        for lane in 0..<3 {
            for slot in 0..<Self.slots {
                regions.append(0)
                lanes.append(Int64(lane))
                slots.append(Int64(slot))
            }
        }
        let numbers = zip(lanes, slots).map { $0 * Int64(Self.slots) + $1 }
        let rows = try await self.connection.query(
            "SELECT * FROM insp.claim($1, $2, make_interval(secs => $3), $4, $5, $6, $7, $8, $9)",
            [
                .int(self.id), .text(self.incarnation), .double(330), .int(Int64(limit)), .intArray(regions),
                .intArray(lanes), .intArray(slots), .intArray(numbers.map { self.floors[$0] ?? 0 }),
                .intArray(numbers.map { _ in Int64(limit) }),
            ])
        guard let head = rows.first else { return [] }
        let paused = try JSONDecoder().decode(Set<Int64>.self, from: head.data(11))
        let claimed = try rows.dropFirst().map { row in
            // The columns that 0.1.0 reads, in the types that it reads them in.
            _ = (try row.int(3), try row.int(4), try row.int(5), try row.int(6), try row.int(7))
            if try !row.isNull(11) { _ = try JSONSerialization.jsonObject(with: row.data(11)) }
            if try !row.isNull(13) { _ = try JSONSerialization.jsonObject(with: row.data(13)) }
            return Claimed(
                job: try row.int(0), fence: try row.int(1), attempt: Int(try row.int(2)),
                status: try row.optionalInt(9).map { Int($0) }, isExpired: try row.isNull(10) ? false : row.bool(10))
        }
        // As 0.1.0 learns: what was seen to the end is left behind.
        let high = try head.int(7)
        if claimed.count < limit {
            for (number, lane) in zip(numbers, lanes) where !paused.contains(lane) && high > Self.slack {
                self.floors[number] = max(self.floors[number] ?? 0, high - Self.slack)
            }
        }
        return claimed
    }

    func store(_ claimed: Claimed, stage: Int64) async throws -> Bool {
        try await !self.connection.query(
            "SELECT * FROM insp.store_steps($1, $2, $3, $4)",
            [.intArray([claimed.job]), .intArray([claimed.fence]), .intArray([stage]), .textArray(["{}"])]
        ).isEmpty
    }

    func settle(_ claimed: Claimed, stages: [Int64] = []) async throws -> Bool {
        try await !self.connection.query(
            "SELECT * FROM insp.settle($1, $2, $3, $4, $5, $6, $7)",
            [
                .intArray([claimed.job]), .intArray([claimed.fence]), .textArray([#"{"decision":{"type":"PASSED"}}"#]),
                .intArray(stages.map { _ in claimed.job }), .intArray(stages.map { _ in claimed.fence }),
                .intArray(stages), .textArray(stages.map { _ in "{}" }),
            ]
        ).isEmpty
    }

    func giveUp(_ claimed: Claimed) async throws -> Bool {
        try await !self.connection.query(
            "SELECT * FROM insp.give_up($1, $2, $3, $4, $5)",
            [
                .intArray([claimed.job]), .intArray([claimed.fence]), .textArray(["CORRUPT_IMAGE"]),
                .textArray(["FRONT"]), "{f}",
            ]
        ).isEmpty
    }

    func retry(_ claimed: Claimed, after seconds: Double) async throws -> Bool {
        try await !self.connection.query(
            "SELECT * FROM insp.retry_later($1, $2, $3, $4, $5)",
            [
                .intArray([claimed.job]), .intArray([claimed.fence]), .doubleArray([seconds]),
                .textArray(["PART_UNREACHABLE"]), "{f}",
            ]
        ).isEmpty
    }

    func handBack(_ claimed: Claimed) async throws -> Bool {
        try await !self.connection.query(
            "SELECT * FROM insp.hand_back($1, $2)", [.intArray([claimed.job]), .intArray([claimed.fence])]
        ).isEmpty
    }

    /// A round of maintenance.
    func maintain() async throws {
        let duties: [PostgresStatement] = [
            PostgresStatement("SELECT insp.promote()"),
            PostgresStatement("SELECT * FROM insp.rescue(make_interval(secs => $1), $2, $3)", [15.0, 8, 3]),
            PostgresStatement("SELECT insp.expire()"), PostgresStatement("SELECT insp.sweep()"),
            PostgresStatement("SELECT insp.ensure_partitions()"),
        ]
        for duty in duties {
            _ = try await self.connection.transaction { connection in
                _ = try connection.query("SELECT pg_try_advisory_xact_lock($1)", [0x696e_7370_0000_0011])
                return try connection.query(duty.sql, duty.parameters)
            }
        }
    }

    func stop() async throws {
        _ = try await self.connection.query("SELECT insp.is_empty($1)", [.int(self.id)])
        _ = try await self.connection.query(
            "SELECT insp.worker_stop($1, $2)", [.int(self.id), .text(self.incarnation)])
    }
}
