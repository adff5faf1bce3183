internal import Foundation
internal import InspectCore
internal import Postgres

/// What it costs to record an access: written with the call, and given its place in the chain later.
package struct RecordBenchmark: Sendable {
    package struct Report: Encodable, Sendable {
        package var accesses: Int
        package var rounds: Int
        /// Microseconds for one access in the caller's transaction; the median of the rounds.
        var writeMicroseconds: Double
        /// Microseconds for one row's place and hashes, by maintenance; the median of the rounds.
        var placeMicroseconds: Double
        /// Of both.
        var walBytes: Double
    }

    private let databaseURL: String
    /// Accesses in one round.
    package var accesses = 100_000
    package var rounds = 5

    /// - Parameter databaseURL: A migrated database of the benchmark's own. Never logged.
    package init(databaseURL: String) { self.databaseURL = databaseURL }

    package func run() async throws -> Report {
        let connection = try await PostgresConnection.connect(
            self.databaseURL, options: ConnectionOptions(name: "inspectd bench"))
        let partner = "bench-\(UUID().uuidString.prefix(8).lowercased())"
        _ = try await connection.query("SELECT insp.create_partner($1)", [.text(partner)])
        let key = try await connection.query(
            "SELECT key_id FROM insp.create_credential($1)", [.text(partner)]
        ).single().string(0)
        let id = try await connection.query("SELECT id FROM insp.credential WHERE key_id = $1", [.text(key)])
            .single().int(0)
        _ = try await Self.place(connection)
        var (writes, places, bytes): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<self.rounds {
            _ = try await connection.query("CHECKPOINT", timeout: .seconds(300))
            let before = try await Self.position(connection)
            let start = ContinuousClock.now
            _ = try await connection.query(
                "SELECT count(insp.record_access($1, 'read', 'read', gen_random_uuid())) FROM generate_series(1, $2::bigint)",
                [.int(id), .int(Int64(self.accesses))], timeout: .seconds(600))
            let written = ContinuousClock.now
            let placed = try await Self.place(connection)
            let end = ContinuousClock.now
            guard placed == self.accesses else {
                throw InspectError(.internalError, "\(placed) rows got a place, not \(self.accesses): other writers?")
            }
            writes.append((written - start).seconds / Double(self.accesses) * 1e6)
            places.append((end - written).seconds / Double(self.accesses) * 1e6)
            bytes.append((try await Self.position(connection) - before) / Double(self.accesses))
        }
        await connection.close()
        return Report(
            accesses: self.accesses, rounds: self.rounds, writeMicroseconds: Self.median(writes),
            placeMicroseconds: Self.median(places), walBytes: Self.median(bytes))
    }

    /// In the pieces in which maintenance does it.
    private static func place(_ connection: PostgresConnection) async throws -> Int {
        var count = 0
        while true {
            let placed = Int(
                try await connection.query("SELECT insp.link_record()", timeout: .seconds(60)).single().int(0))
            guard placed > 0 else { return count }
            count += placed
        }
    }

    private static func position(_ connection: PostgresConnection) async throws -> Double {
        try await connection.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::double precision").single().double(0)
    }

    private static func median(_ values: [Double]) -> Double {
        (values.sorted()[values.count / 2] * 100).rounded() / 100
    }
}
