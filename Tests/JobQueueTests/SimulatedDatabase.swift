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
        // It waits for no actor, but autovacuum may hold a table for a moment.
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
    func giveBack(_ connection: PostgresConnection) { self.idle.withLock { $0.append(connection) } }

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

    /// A rule broken on purpose, to see that the simulation notices.
    struct Fault: Sendable, CustomStringConvertible {
        /// A seed whose run comes upon it in a new world; where there is none, it is searched for.
        var foundBy: UInt64?
        /// What is then found wrong; `nil`: anything.
        var noticed: String?
        var function: String
        var rule: String
        var replacement: String
        /// In place of a rule in a function's text: what to do to the schema.
        var statement: String?
        /// A rule of the worker, not of the database.
        var keepsFloors = false
        /// What lies around a worker's machine, not a rule of the database.
        var worker: WorkerSimulation.Worker.Fault?

        func isNoticed(by violation: String) -> Bool { self.noticed.map { violation.contains($0) } ?? true }

        var description: String { "\(self.function) without \(self.rule)" }

        func commit(on connection: PostgresConnection) async throws {
            if let statement { return try await connection.execute(statement) }
            if self.keepsFloors || self.worker != nil { return }
            let text = try await connection.query(
                """
                SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND proname = $1
                ORDER BY strpos(prosrc, $2) > 0 DESC, oid DESC LIMIT 1
                """,
                [.text(self.function), .text(self.rule)])[0].string(0)
            let broken = text.replacing(self.rule, with: self.replacement)
            guard broken != text else { throw Missing(fault: self) }
            try await connection.execute(broken)
        }

        /// What lies around a worker's machine is broken.
        static func around(_ fault: WorkerSimulation.Worker.Fault, foundBy: UInt64? = nil, noticed: String? = nil)
            -> Fault
        {
            Fault(
                foundBy: foundBy, noticed: noticed, function: "the worker", rule: fault.rawValue, replacement: "",
                worker: fault)
        }

        struct Missing: Error { var fault: Fault }
    }
}

extension SimulatedDatabase {
    private static let clock = """
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

    private static let checks = """
        CREATE TABLE fake.seen (job_id bigint PRIMARY KEY, status smallint, lease_fence bigint, fence bigint,
            claimed bigint, run_at timestamptz, crashes smallint, after_fence bigint);
        -- Limits, and the last fence before each was set.
        CREATE TABLE fake.seen_limit (partner_id integer PRIMARY KEY, max_running integer, fence bigint);
        CREATE TABLE fake.seen_step (job_id bigint, status smallint, fence bigint, output jsonb, PRIMARY KEY (job_id, status));
        CREATE TABLE fake.seen_event (job_id bigint, kind text, fence bigint, PRIMARY KEY (job_id, kind, fence));
        CREATE TABLE fake.read_event (epoch bigint, position bigint, PRIMARY KEY (epoch, position));

        CREATE FUNCTION fake.reset() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica AS $$
        DECLARE
            name text;
        BEGIN
            FOREACH name IN ARRAY ARRAY['insp.job', 'insp.part', 'insp.content', 'insp.step', 'insp.event', 'insp.ready', 'insp.lease',
                'insp.delayed', 'insp.expiry', 'insp.worker', 'insp.dead', 'insp.job_key', 'insp.person', 'insp.job_reference', 'insp.callback', 'insp.callback_waiting',
                'insp.callback_lease', 'insp.review_wait', 'insp.event_batch', 'fake.seen', 'fake.seen_limit',
                'fake.seen_step', 'fake.seen_event', 'fake.read_event', 'fake.copied']
            LOOP
                EXECUTE 'DELETE FROM ' || name;
            END LOOP;
            UPDATE insp.control SET paused = false WHERE paused;
            UPDATE insp.partner SET paused = false, max_running = NULL, rate_per_second = NULL, rate_burst = NULL
            WHERE paused OR max_running IS NOT NULL OR rate_per_second IS NOT NULL;
            DELETE FROM insp.partner_tokens;
            DELETE FROM insp.queue;
            UPDATE insp.event_cursor SET epoch = 0, position = 0, next_xid = '0', open_xids = '{}';
            PERFORM fake.restart_server();
            PERFORM setval('fake.clock', 1800000000000000), setval('fake.started', 1700000000000000),
                setval('insp.queue_id_seq', 1, false), setval('insp.job_id', 1000), setval('insp.ready_seq', 1000), setval('insp.fence', 1000);
        END $$;

        CREATE FUNCTION fake.violations() RETURNS SETOF text LANGUAGE plpgsql AS $$
        BEGIN
            -- A reader of events, whatever the others keep open. Another server is for the actors to notice.
            IF EXISTS (SELECT FROM insp.epoch e WHERE e.started_at = fake.pg_postmaster_start_time()
                AND e.recovered_at = fake.pg_stat_get_bgwriter_stat_reset_time()
                AND e.timeline = substr(fake.pg_walfile_name('0/0'), 1, 8))
            THEN
                PERFORM insp.number_events();
                INSERT INTO fake.read_event SELECT a.epoch, a.position
                FROM (SELECT coalesce(max(r.epoch), 0) AS epoch FROM fake.read_event r) l,
                    LATERAL (SELECT coalesce(max(r.position), 0) AS position FROM fake.read_event r WHERE r.epoch = l.epoch) p,
                    LATERAL insp.events_after(l.epoch, p.position) a;
                RETURN QUERY SELECT format('of %s events %s were read', e.count, r.count)
                FROM (SELECT count(*) FROM insp.event) e, (SELECT count(*) FROM fake.read_event) r WHERE e.count <> r.count;
            END IF;
            INSERT INTO fake.seen_limit AS s SELECT p.id, p.max_running, f.last_value FROM insp.partner p, insp.fence f
            ON CONFLICT (partner_id) DO UPDATE SET max_running = excluded.max_running, fence = excluded.fence
            WHERE s.max_running IS DISTINCT FROM excluded.max_running;
            RETURN QUERY
            WITH place AS MATERIALIZED (
                SELECT x.job_id, count(*) AS places, bool_or(x.waits) AS waits, max(x.attempt) AS attempt,
                    max(x.crashes) AS crashes, max(x.fence) AS fence, bool_or(x.waits AND x.attempt >= 8) AS spent
                FROM (
                    SELECT r.job_id, true AS waits, r.attempt, r.crashes, NULL::bigint AS fence FROM insp.ready r
                    UNION ALL SELECT l.job_id, false, l.attempt, l.crashes, l.fence FROM insp.lease l
                    UNION ALL SELECT d.job_id, NULL, d.attempt, d.crashes, NULL FROM insp.delayed d
                    UNION ALL SELECT v.job_id, NULL, 0::smallint, NULL, NULL FROM insp.review_wait v) x
                GROUP BY x.job_id
            ), ends AS MATERIALIZED (
                SELECT j.id, j.status,
                    (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') AS events,
                    (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128) AS results,
                    (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) AS callbacks
                FROM insp.job j
            ), taken AS MATERIALIZED (
                SELECT j.partner_id, l.fence, CASE WHEN s.lease_fence = l.fence THEN s.after_fence END AS after_fence
                FROM insp.worker w JOIN insp.lease l ON l.worker_id = w.id AND l.fence >= w.fence_floor
                    JOIN insp.job j ON j.id = l.job_id LEFT JOIN fake.seen s ON s.job_id = l.job_id
            ), erased AS MATERIALIZED (
                SELECT s.job_id FROM insp.step s WHERE s.status = 128 AND s.summary ? 'erasedAt'
            )
            SELECT format('job %s: its status fell from %s to %s', j.id, s.status, j.status)
            FROM insp.job j JOIN fake.seen s ON s.job_id = j.id WHERE j.status < s.status
            UNION ALL
            SELECT format('job %s at %s has %s terminal events, %s results, %s callbacks', e.id, e.status, e.events,
                e.results, e.callbacks)
            FROM ends e WHERE (e.events, e.results) <> (e.status / 128, e.status / 128)
                OR e.callbacks <> e.status / 128 AND e.id NOT IN (SELECT x.job_id FROM erased x)
            UNION ALL
            SELECT format('job %s is erased and has stage %s or what its request named', j.id, s.status)
            FROM erased x JOIN insp.job j ON j.id = x.job_id LEFT JOIN insp.step s ON s.job_id = j.id AND s.status < 128
            WHERE s.job_id IS NOT NULL OR insp.personal(j.personal, j.seal) ? 'customerInternalReference'
            UNION ALL
            SELECT format('job %s has a result of job %s', j.public_id, insp.step_document(s) ->> 'of')
            FROM insp.step s JOIN insp.job j ON j.id = s.job_id
            WHERE insp.step_document(s) ->> 'of' <> j.public_id::text
            UNION ALL
            SELECT format('job %s at %s is in %s places', j.id, j.status, coalesce(p.places, 0))
            FROM insp.job j LEFT JOIN place p ON p.job_id = j.id
            WHERE coalesce(p.places, 0) > 1 OR j.status < 128 AND coalesce(p.places, 0) = 0
            UNION ALL
            SELECT format('job %s at %s %s for a review', j.id, j.status,
                CASE WHEN w.job_id IS NULL THEN 'does not wait' ELSE 'waits' END)
            FROM insp.job j LEFT JOIN insp.review_wait w ON w.job_id = j.id
            WHERE (j.status = 64) <> (w.job_id IS NOT NULL)
            UNION ALL
            SELECT format('job %s waits or runs and does not exist', p.job_id) FROM place p
            WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.id = p.job_id)
            UNION ALL
            SELECT format('job %s: its lease got fence %s after %s', p.job_id, p.fence, s.fence)
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id
            WHERE p.fence < s.fence OR p.fence = s.fence AND s.lease_fence IS NULL
            UNION ALL
            SELECT format('job %s has attempt %s and %s crashes', p.job_id, p.attempt, p.crashes) FROM place p
            WHERE p.attempt > 8 OR p.attempt < 0 OR p.crashes > 2 OR p.spent
            UNION ALL
            SELECT format('job %s: its crashes fell from %s to %s', p.job_id, s.crashes, p.crashes)
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id WHERE p.crashes < s.crashes
            UNION ALL
            SELECT format('job %s: was to wait until %s and was let go at %s', p.job_id, s.run_at, fake.clock_timestamp())
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id
            WHERE s.run_at > fake.clock_timestamp() AND (p.waits OR p.fence IS NOT NULL)
            UNION ALL
            SELECT format('job %s: stage %s changed after it was written', s.job_id, s.status)
            FROM fake.seen_step k LEFT JOIN insp.step s ON s.job_id = k.job_id AND s.status = k.status
            WHERE (s.fence, insp.step_document(s)) IS DISTINCT FROM (k.fence, k.output)
                AND k.job_id NOT IN (SELECT x.job_id FROM erased x)
            UNION ALL
            SELECT format('job %s: stage %s was written under fence %s (said to be %s) while the lease had %s', n.job_id,
                n.status, n.fence, insp.step_document(n) ->> 'by', s.lease_fence)
            FROM insp.step n LEFT JOIN fake.seen s ON s.job_id = n.job_id
            WHERE NOT EXISTS (SELECT FROM fake.seen_step k WHERE k.job_id = n.job_id AND k.status = n.status)
                AND (n.fence <> 0 AND n.fence IS DISTINCT FROM s.lease_fence OR n.fence = 0 AND n.status < 128
                    OR n.fence <> 0 AND insp.step_document(n) ->> 'by' <> n.fence::text)
            UNION ALL
            -- A limit binds claims that are made once it is set. Those count each other, and what was committed before them.
            SELECT DISTINCT format('partner %s runs more than %s jobs', m.partner_id, m.max_running)
            FROM fake.seen_limit m JOIN taken n ON n.partner_id = m.partner_id
            WHERE n.after_fence IS NULL AND n.fence > m.fence AND m.max_running < (
                SELECT count(*) FROM taken t
                WHERE t.partner_id = m.partner_id AND (t.fence > m.fence OR t.after_fence < n.fence))
            UNION ALL
            SELECT format('job %s was taken from worker %s, which lives', e.job_id, e.worker_id)
            FROM insp.event e JOIN insp.worker w ON w.id = e.worker_id LEFT JOIN fake.seen s ON s.job_id = e.job_id
            -- In the time that really passes, whatever the database's clock says: after ten seconds of silence it has
            -- dropped its work, and its lease runs for 330.
            WHERE e.kind = 'rescued' AND w.fake_beat > e.fake_real - 10000000 AND s.claimed + 330000000 > e.fake_real
                AND s.lease_fence >= w.fence_floor
                AND NOT EXISTS (SELECT FROM fake.seen_event k WHERE (k.job_id, k.kind, k.fence) = (e.job_id, e.kind, e.fence));

            INSERT INTO fake.seen AS s (job_id, status, lease_fence, fence, claimed, run_at, crashes, after_fence)
            SELECT j.id, j.status, l.fence, coalesce(l.fence, 0), l.fake_real, d.run_at,
                coalesce(l.crashes, d.crashes, (SELECT max(r.crashes) FROM insp.ready r WHERE r.job_id = j.id), 0),
                CASE WHEN o.lease_fence = l.fence THEN o.after_fence WHEN l.fence > 0 THEN f.last_value END
            FROM insp.job j LEFT JOIN insp.lease l ON l.job_id = j.id LEFT JOIN insp.delayed d ON d.job_id = j.id
                LEFT JOIN fake.seen o ON o.job_id = j.id CROSS JOIN insp.fence f
            ON CONFLICT (job_id) DO UPDATE SET status = excluded.status, lease_fence = excluded.lease_fence,
                fence = greatest(s.fence, excluded.fence), claimed = excluded.claimed, run_at = excluded.run_at,
                crashes = excluded.crashes, after_fence = excluded.after_fence
            WHERE s IS DISTINCT FROM excluded;
            INSERT INTO fake.seen_step SELECT s.job_id, s.status, s.fence, insp.step_document(s) FROM insp.step s ON CONFLICT DO NOTHING;
            INSERT INTO fake.seen_event SELECT e.job_id, e.kind, e.fence FROM insp.event e ON CONFLICT DO NOTHING;
        END $$;
        """
}
