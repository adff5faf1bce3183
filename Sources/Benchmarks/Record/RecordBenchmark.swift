internal import Foundation
internal import InspectCore
internal import Postgres

/// The cost of recording an access, which is written with the call and linked into the chain later.
package struct RecordBenchmark: Sendable {
    /// Measurements; times are for one access.
    package struct Report: Encodable, Sendable {
        /// Accesses in one round.
        package var accesses: Int
        /// Rounds.
        package var rounds: Int
        /// processor: of the connection's server process, so that other load hardly counts; wall, if the server does not report it.
        package var measured: String
        /// Microseconds that a row adds to the call, in the caller's transaction.
        package var writeMicroseconds: Spread
        /// Microseconds for one row's place and hashes, by maintenance.
        package var placeMicroseconds: Spread
        /// Of both.
        package var accessMicroseconds: Spread
        /// Of both; the median of the rounds.
        var walBytes: Double
    }

    /// Of the rounds.
    package struct Spread: Encodable, Sendable {
        /// The middle round.
        package var median: Double
        /// The lowest round.
        package var least: Double
        /// The highest round.
        package var most: Double

        init(_ values: [Double]) {
            let sorted = values.sorted().map { ($0 * 100).rounded() / 100 }
            (self.median, self.least, self.most) = (sorted[sorted.count / 2], sorted[0], sorted[sorted.count - 1])
        }
    }

    private let databaseURL: String
    /// Accesses in one round.
    package var accesses = 100_000
    /// Rounds; the spread is taken over them.
    package var rounds = 5

    /// - Parameter databaseURL: A migrated database of the benchmark's own. Never logged.
    package init(databaseURL: String) { self.databaseURL = databaseURL }

    /// Writes and links accesses alternately.
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
        let hasProcessorTime = await Self.processorSeconds(connection) != nil
        func seconds(_ work: () async throws -> Void) async throws -> Double {
            let (processor, start) = (await Self.processorSeconds(connection), ContinuousClock.now)
            try await work()
            guard hasProcessorTime else { return (ContinuousClock.now - start).seconds }
            guard let processor, let now = await Self.processorSeconds(connection) else {
                throw InspectError(.internalError, "the server no longer reports its processor time")
            }
            return now - processor
        }
        func calls(_ call: String, _ more: [PostgresValue] = []) async throws {
            _ = try await connection.query(
                "SELECT count(\(call)) FROM generate_series(1, $1::bigint)", [.int(Int64(self.accesses))] + more,
                timeout: .seconds(600))
        }
        var (writes, places, bytes): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<self.rounds {
            _ = try await connection.query("CHECKPOINT", timeout: .seconds(300))
            // In turns: the same calls without the row, so that what is left is what the row adds.
            let without = try await seconds { try await calls("gen_random_uuid()") }
            let before = try await Self.position(connection)
            let with = try await seconds {
                try await calls("insp.record_access($2, 'read', 'read', gen_random_uuid())", [.int(id)])
            }
            var placed = 0
            let placing = try await seconds { placed = try await Self.place(connection) }
            guard placed == self.accesses else {
                throw InspectError(.internalError, "\(placed) rows got a place, not \(self.accesses): other writers?")
            }
            writes.append((with - without) / Double(self.accesses) * 1e6)
            places.append(placing / Double(self.accesses) * 1e6)
            bytes.append((try await Self.position(connection) - before) / Double(self.accesses))
        }
        await connection.close()
        return Report(
            accesses: self.accesses, rounds: self.rounds, measured: hasProcessorTime ? "processor" : "wall",
            writeMicroseconds: Spread(writes), placeMicroseconds: Spread(places),
            accessMicroseconds: Spread(zip(writes, places).map(+)), walBytes: Spread(bytes).median)
    }

    /// Seconds of processor time of the connection's server process, by Linux' account of it (proc(5), schedstat); `nil` if the server
    /// runs elsewhere or its user lacks the right.
    private static func processorSeconds(_ connection: PostgresConnection) async -> Double? {
        let rows = try? await connection.query(
            """
            SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1)::double precision / 1e9
            """)
        return try? rows?.first?.optionalDouble(0)
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
}
