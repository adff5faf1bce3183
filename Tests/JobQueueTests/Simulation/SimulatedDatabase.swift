import Foundation
import Postgres
import Synchronization
import TestSupport

/// The product's own schema and functions on a real server, under a clock that only the simulation moves.
///
/// The clock is a sequence: its value is not subject to MVCC, so every session sees it at once. The functions find it
/// because the schema `fake` stands first in their search path.
final class SimulatedDatabase: Sendable {
    let database: ScratchDatabase
    /// Moves the clock and looks at what the others have committed.
    let control: PostgresConnection
    private let idle = Mutex<[PostgresConnection]>([])

    /// A lease as it is committed.
    struct Lease: Hashable, Sendable {
        var job: Int64
        var fence: Int64
    }

    /// What a write may count on: the leases, and the jobs that are finished.
    struct Snapshot: Sendable {
        var leases: Set<Lease>
        var finished: Set<Int64>
    }

    static let partners = ["ant", "bee", "cat"]

    /// - Parameter fault: A rule to break on purpose: a function, and what to replace in its text.
    init(breaking fault: Fault? = nil) async throws {
        self.database = try await ScratchDatabase.migrated()
        let setup = try await self.database.connect()
        let name = try await setup.query("SELECT current_database()")[0].string(0)
        // Waits for locks end soon: whoever holds one is another actor of the same thread and will not let go meanwhile.
        try await setup.execute(
            """
            ALTER DATABASE \(name) SET lock_timeout = '40ms';
            ALTER DATABASE \(name) SET synchronous_commit = off;
            ALTER DATABASE \(name) SET jit = off;
            -- All databases' commits with notifications wait for each other.
            ALTER DATABASE \(name) SET insp.notify = 'off';
            """)
        if let fault { try await fault.commit(on: setup) }
        try await setup.execute(Self.clock)
        try await setup.execute(Self.server)
        try await setup.execute(Self.checks)
        try await setup.execute(Self.history)
        for partner in Self.partners {
            _ = try await setup.query(
                "SELECT insp.create_partner($1, 'https://hooks.example.com/x')", [.text(partner)])
        }
        await setup.close()
        self.control = try await self.database.connect()
        // It waits for no actor, but autovacuum, where the server has it on, may hold a table for a moment.
        try await self.control.execute("SET lock_timeout = 0")
    }

    func close() async {
        await self.control.close()
        for connection in self.idle.withLock({ $0 }) { await connection.close() }
    }

    /// A connection for an actor.
    func connection() async throws -> PostgresConnection {
        if let connection = self.idle.withLock({ $0.popLast() }) { return connection }
        return try await self.database.connect()
    }

    /// Takes back a connection without an open transaction.
    func release(_ connection: PostgresConnection) { self.idle.withLock { $0.append(connection) } }

    /// Back to an empty queue, with the clock and all numbers where they always begin.
    func reset() async throws { _ = try await self.control.query("SELECT fake.reset()") }

    func advance(seconds: Double) async throws {
        _ = try await self.control.query("SELECT fake.advance($1::bigint)", [.int(Int64(seconds * 1_000_000))])
    }

    /// As after a restart of the server.
    func restart() async throws {
        _ = try await self.control.query("SELECT setval('fake.started', (SELECT last_value FROM fake.clock))")
    }

    /// As if so many jobs of others had passed: floors rise over what is not committed yet.
    func pass(jobs: Int64) async throws {
        _ = try await self.control.query(
            "SELECT setval('insp.ready_seq', (SELECT last_value FROM insp.ready_seq) + $1)", [.int(jobs)])
    }

    /// What is wrong in the committed state, compared with the last look at it.
    func violations() async throws -> [String] {
        try await self.control.query("SELECT fake.violations()").map { try $0.string(0) }
    }

    func snapshot() async throws -> Snapshot {
        let row = try await self.control.query(
            """
            SELECT (SELECT coalesce(array_agg(job_id ORDER BY job_id), '{}') FROM insp.lease),
                (SELECT coalesce(array_agg(fence ORDER BY job_id), '{}') FROM insp.lease),
                (SELECT coalesce(array_agg(id), '{}') FROM insp.job WHERE status = 128)
            """)[0]
        let leases = zip(try row.intArray(0), try row.intArray(1)).map { Lease(job: $0, fence: $1) }
        return Snapshot(leases: Set(leases), finished: Set(try row.intArray(2)))
    }

    /// Of these jobs, those that no claim may take at present.
    func paused(among jobs: [Int64]) async throws -> [Int64] {
        try await self.control.query(
            """
            SELECT j.id FROM insp.job j JOIN insp.control c ON c.lane = j.lane JOIN insp.partner p ON p.id = j.partner_id
            WHERE (c.paused OR p.paused) AND j.id = ANY ($1)
            """,
            [.intArray(jobs)]
        ).map { try $0.int(0) }
    }

    /// Of these jobs, those that no write under these fences has finished.
    func unfinished(_ finished: [Lease]) async throws -> [Int64] {
        try await self.control.query(
            """
            SELECT u.job FROM unnest($1::bigint[], $2::bigint[]) u (job, fence)
                LEFT JOIN insp.step s ON s.job_id = u.job AND s.status = 128
            WHERE s.fence IS DISTINCT FROM u.fence AND s.summary ? 'erasedAt' IS NOT TRUE
            """,
            [.intArray(finished.map(\.job)), .intArray(finished.map(\.fence))]
        ).map { try $0.int(0) }
    }

    /// Jobs that are neither finished nor gone from the queue.
    func left() async throws -> Int {
        Int(
            try await self.control.query(
                """
                SELECT (SELECT count(*) FROM insp.job WHERE status < 128) + (SELECT count(*) FROM insp.ready)
                    + (SELECT count(*) FROM insp.lease) + (SELECT count(*) FROM insp.delayed)
                """)[0].int(0))
    }

    /// Where jobs are that are not finished, or not gone.
    func whereabouts() async throws -> String {
        try await self.control.query(
            """
            SELECT concat_ws(' ', x.place, x.job_id, 'at', j.status, x.detail) FROM (
                SELECT 'ready' AS place, job_id, format('queue %s seq %s', queue, seq) AS detail FROM insp.ready
                UNION ALL SELECT 'lease', job_id, format('fence %s worker %s', fence, worker_id) FROM insp.lease
                UNION ALL SELECT 'delayed', job_id, format('until %s', run_at) FROM insp.delayed) x
                LEFT JOIN insp.job j ON j.id = x.job_id ORDER BY 1
            """
        ).map { try $0.string(0) }.joined(separator: ", ")
    }
}

extension SimulatedDatabase {
    static let clock = """
        CREATE SCHEMA fake;
        CREATE SEQUENCE fake.clock AS bigint MINVALUE 0 START 1800000000000000;
        CREATE SEQUENCE fake.started AS bigint MINVALUE 0 START 1700000000000000;
        CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
            'SELECT to_timestamp(last_value / 1e6) FROM fake.clock';
        CREATE FUNCTION fake.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE AS
            'SELECT to_timestamp(last_value / 1e6) FROM fake.started';
        -- The time of the transaction's first look, as the real one is that of its start.
        CREATE FUNCTION fake.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
        DECLARE
            began text := current_setting('fake.began', true);
        BEGIN
            IF coalesce(began, '') = '' THEN
                began := fake.clock_timestamp()::text;
                PERFORM set_config('fake.began', began, true);
            END IF;
            RETURN began::timestamptz;
        END $$;
        DO $$
        DECLARE
            it record;
        BEGIN
            FOR it IN SELECT p.oid::regprocedure AS name FROM pg_proc p
                WHERE p.pronamespace = 'insp'::regnamespace AND p.prokind = 'f'
            LOOP
                EXECUTE format('ALTER FUNCTION %s SET search_path = fake, pg_catalog, insp, pg_temp', it.name);
            END LOOP;
            FOR it IN SELECT d.adrelid::regclass AS name, a.attname AS item, pg_get_expr(d.adbin, d.adrelid) AS value
                FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
                    JOIN pg_class c ON c.oid = d.adrelid
                WHERE c.relnamespace = 'insp'::regnamespace
                    AND pg_get_expr(d.adbin, d.adrelid) ~ '^(now|clock_timestamp)\\(\\)$'
            LOOP
                EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT fake.%s', it.name, it.item, it.value);
            END LOOP;
        END $$;
        """
}
