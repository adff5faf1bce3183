import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// A claim reads what it takes and little more, however much waits and however long an old transaction holds the xmin horizon.
@Suite struct ClaimCostTests {
    private static let endpoints = 50
    private static let waiting = 100_000

    /// Endpoints of partners; autovacuum lets the statistics be.
    private func prepare(_ connection: PostgresConnection) async throws {
        try await connection.execute(
            """
            SET synchronous_commit = off;
            ALTER TABLE insp.callback SET (autovacuum_enabled = false);
            ALTER TABLE insp.callback_waiting SET (autovacuum_enabled = false);
            ALTER TABLE insp.callback_lease SET (autovacuum_enabled = false);
            SELECT insp.create_partner('partner' || n, 'https://partner.example/') FROM generate_series(1, \(Self.endpoints)) n;
            """)
    }

    /// Callbacks over fifty endpoints, due one after the other within the last hours.
    private func fill(_ connection: PostgresConnection, _ numbers: ClosedRange<Int>) async throws {
        try await connection.execute(
            """
            ALTER TABLE insp.callback DISABLE TRIGGER callback_prepare;
            INSERT INTO insp.callback (job_id, endpoint_id, url, body)
            SELECT n, 1 + n % \(Self.endpoints), 'https://partner.example/', '{}'
            FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) n;
            INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state)
            SELECT c.id, c.endpoint_id, now() - interval '4 hours' + c.id * interval '0.1 s', 0, 0, 'pending'
            FROM insp.callback c WHERE c.job_id >= \(numbers.lowerBound);
            ALTER TABLE insp.callback ENABLE TRIGGER callback_prepare;
            """, timeout: .seconds(120))
    }

    /// Pages that a claim looks at, its work undone afterwards.
    private func pages(_ floors: CallbackFloors, on connection: PostgresConnection) async throws -> Int {
        let endpoints = Array(Set(floors.endpointMicroseconds.keys).union(floors.claims.keys))
        try await connection.execute("BEGIN")
        let plan = try await connection.query(
            """
            EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
            SELECT * FROM insp.callback_claim(256, interval '1 minute', 256, $1, $2, $3, $4)
            """,
            [
                .optional(floors.baseMicroseconds), .bigints(endpoints),
                .bigints(endpoints.map { floors.endpointMicroseconds[$0] ?? floors.baseMicroseconds ?? 0 }),
                .bigints(endpoints.map { floors.claims[$0] ?? 0 }),
            ])[0].data(0)
        try await connection.execute("ROLLBACK")
        let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
        let top = try #require(document?.first?["Plan"] as? [String: Any])
        return (top["Shared Hit Blocks"] as? Int ?? 0) + (top["Shared Read Blocks"] as? Int ?? 0)
    }

    @Test func `An old transaction makes no claim more expensive`() async throws {
        let outbox = try await Outbox()
        try await self.prepare(outbox.connection)
        try await self.fill(outbox.connection, 1...Self.waiting)
        let store = CallbackStore(connection: outbox.connection, worker: "test", lease: .seconds(60))
        let old = try await outbox.database.connect()
        try await old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current()")

        var claim = try await store.claim(256)
        #expect(claim.callbacks.count == 256)
        var first = 0
        var delivered = 0
        for round in 0..<80 {
            let settlements = claim.callbacks.map(self.delivered)
            let record = try await store.settle(settlements)
            claim = try await store.claim(256, above: claim.floors)
            #expect(record.lost.isEmpty && claim.callbacks.count == 256)
            delivered += settlements.count
            if round == 1 { first = try await self.pages(claim.floors, on: outbox.connection) }
        }
        let last = try await self.pages(claim.floors, on: outbox.connection)
        // Some twenty pages for each callback, its place in the tables it leaves and enters included; twenty thousand dead
        // rows of either table lie in front by now.
        #expect(first > 0 && first < 10_000)
        #expect(last < 2 * first, "\(first) pages at first, \(last) after \(delivered) deliveries")
        try await old.execute("ROLLBACK")
        #expect(try await outbox.count("state = 'delivered'") == Int64(delivered))
        #expect(try await outbox.countUnderWay() == 256)
    }

    private func delivered(_ callback: ClaimedCallback) -> CallbackSettlement {
        CallbackSettlement(
            callback: callback, outcome: .delivered, started: Date(), milliseconds: 1, status: 200, code: nil,
            error: nil, trace: nil, deadline: .now + .seconds(60), sent: nil, claimed: .now)
    }

    /// Rows that an exchange with the database reads, of all tables.
    private func rows<T>(
        on connection: PostgresConnection, _ exchange: () async throws -> T
    ) async throws -> (result: T, rows: Int) {
        let read = """
            SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp'
            """
        try await connection.execute("BEGIN")
        let before = try await connection.query(read)[0].int(0)
        let result = try await exchange()
        let after = try await connection.query(read)[0].int(0)
        try await connection.execute("COMMIT")
        return (result, Int(after - before))
    }

    @Test func `A plan that was made while nothing waited still serves when much waits`() async throws {
        let outbox = try await Outbox()
        let connection = outbox.connection
        try await self.prepare(connection)
        try await self.fill(connection, 1...800)
        try await connection.takeTablesForDrained()
        let store = CallbackStore(connection: connection, worker: "test", lease: .seconds(60))
        for _ in 0..<2 {
            let claim = try await store.claim(256)
            _ = try await store.settle(claim.callbacks.map(self.delivered))
        }
        // The session keeps its plans.
        try await self.fill(connection, 1_001...20_000)
        let (claim, claiming) = try await self.rows(on: connection) { try await store.claim(256) }
        #expect(claim.callbacks.count == 256)
        // What other dispatchers hold, of an endpoint that is none of these.
        try await connection.execute(
            """
            INSERT INTO insp.callback_lease (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released)
            SELECT 1000, 1, 1000000 + n, now() + interval '1 hour', now(), 0, 0 FROM generate_series(1, 20000) n
            """)
        let (record, recording) = try await self.rows(on: connection) {
            try await store.settle(claim.callbacks.map(self.delivered))
        }
        #expect(record.lost.isEmpty)
        #expect(claiming < 20 * 256, "a claim of 256 reads \(claiming) rows")
        #expect(recording < 10 * 256, "recording 256 reads \(recording) rows")
    }

    /// Twenty thousand callbacks of one ordering key behind a retry, and a few of other keys behind those.
    @Test(.timeLimit(.minutes(5))) func `Callbacks that wait for their turn make no claim more expensive`() async throws
    {
        let outbox = try await Outbox()
        let connection = outbox.connection
        try await self.prepare(connection)
        try await self.fill(connection, 1...2_000)
        // The first endpoint's are those of its ordering keys, and nothing else of it waits.
        try await connection.execute(
            """
            SELECT insp.set_endpoint(1, '{"ordering": "user"}');
            DELETE FROM insp.callback_waiting WHERE endpoint_id = 1;
            INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state, ordering_key)
            SELECT 1000000 + n, 1, now() + CASE WHEN n = 0 THEN interval '1 hour' ELSE n * interval '1 ms' - interval '2 hours' END,
                CASE WHEN n = 0 THEN 1 ELSE 0 END, 0, 'pending', CASE WHEN n <= 20000 THEN 'user one' ELSE 'user ' || n / 2 END
            FROM generate_series(0, 20040) n;
            ALTER TABLE insp.callback DISABLE TRIGGER callback_prepare;
            INSERT INTO insp.callback (id, job_id, endpoint_id, url, body) OVERRIDING SYSTEM VALUE
            SELECT w.callback_id, -w.callback_id, 1, 'https://partner.example/', '{}' FROM insp.callback_waiting w WHERE w.callback_id >= 1000000;
            ALTER TABLE insp.callback ENABLE TRIGGER callback_prepare;
            """, timeout: .seconds(60))
        let pages = try await self.pages(CallbackFloors(), on: connection)
        #expect(pages < 10_000, "a claim reads \(pages) pages")
        let store = CallbackStore(connection: connection, worker: "test", lease: .seconds(60))
        let (claim, rows) = try await self.rows(on: connection) { try await store.claim(256) }
        #expect(rows < 20 * 256, "a claim of 256 reads \(rows) rows")
        // Those of every other endpoint, and for the ordered endpoint the first of each key with none under way before it.
        let own = claim.callbacks.filter { $0.endpoint.id == 1 }.map(\.id)
        #expect(!own.isEmpty && own.allSatisfy { $0 > 1_020_000 })
        let keys = try await connection.query(
            "SELECT count(*), count(DISTINCT ordering_key) FROM insp.callback_lease WHERE endpoint_id = 1")[0]
        #expect(try keys.int(0) == own.count && keys.int(1) == own.count)
        // One after the other, to the last of them.
        var delivered = 0
        var batch = claim.callbacks
        while !batch.isEmpty {
            delivered += batch.filter { $0.endpoint.id == 1 }.count
            _ = try await store.settle(batch.map(self.delivered))
            batch = try await store.claim(256).callbacks
        }
        #expect(delivered == 40)
    }
}
