import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Whatever the size of the tables and the age of their statistics, a call reads what it needs and no more.
@Suite struct PlanTests {
    private static let partners = 200
    private static let waiting = 1_000_000
    private static let jobs = 100_000

    /// Partners, queues and workers that live as long as the test; autovacuum lets the statistics be.
    private func prepare(_ connection: PostgresConnection) async throws {
        try await connection.execute(
            """
            SET synchronous_commit = off;
            DO $$
            DECLARE
                name text;
            BEGIN
                FOR name IN SELECT c.oid::regclass::text FROM pg_class c
                    WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'r' LOOP
                    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name);
                END LOOP;
                FOR i IN 1 .. \(Self.partners) LOOP
                    PERFORM insp.create_partner('partner' || i, 'https://hooks.example.com/x');
                    PERFORM insp.queue_of(0::smallint, 1::smallint, i);
                END LOOP;
            END $$;
            INSERT INTO insp.worker (incarnation, host, process, version, lanes, slots)
            SELECT gen_random_uuid(), 'h', n, '0', '{1}', 1 FROM generate_series(1, 20) n;
            UPDATE insp.worker SET beat_microseconds = 1000000000000;
            """, timeout: .seconds(300))
    }

    /// Waiting jobs of two hundred partners, of which the first have rows of their own, and as many in every other table.
    private func fill(_ connection: PostgresConnection, jobs: ClosedRange<Int>, waiting: ClosedRange<Int>) async throws
    {
        let (first, last) = (jobs.lowerBound, jobs.upperBound)
        try await connection.execute(
            """
            INSERT INTO insp.job (id, partner_id, endpoint_id, lane, expires_at, workflow, request)
            SELECT n, 1 + n % \(Self.partners), 1 + n % \(Self.partners), 1, now() + interval '7 days', 'id', '{"workflow": "id"}'
            FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.ready (job_id, seq, queue)
            SELECT n, n, q.id FROM generate_series(\(waiting.lowerBound), \(waiting.upperBound)) n
                JOIN insp.queue q ON q.partner_id = 1 + n % \(Self.partners);
            SELECT setval('insp.ready_seq', \(waiting.upperBound)), setval('insp.job_id', \(last));
            INSERT INTO insp.delayed (run_at, job_id, queue)
            SELECT now() + (n - 20) * interval '1 s', 2000000 + n, 1 FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.expiry (expires_at, job_id)
            SELECT now() + (n - 20) * interval '1 s', 3000000 + n FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.person (partner_id, reference_index)
            SELECT 1 + n % \(Self.partners), insp.reference_index(n::text) FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
            SELECT 1 + n % \(Self.partners), 'user', insp.reference_index(n::text), n FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.purge_later (due_at, what, job_id)
            SELECT now() + (n - 20) * interval '1 s', CASE n % 2 WHEN 0 THEN 'links' ELSE 'persons' END, n
            FROM generate_series(\(first), \(last)) n;
            INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT 4000000 + n, n, 1 + n % 20, now() + interval '1 hour', 1, 1, 0 FROM generate_series(\(first), \(last)) n;
            UPDATE insp.worker SET fence_floor = \(last) * 99 / 100;
            SELECT setval('insp.fence', \(last));
            INSERT INTO insp.step (job_id, status, fence, body)
            SELECT n, 4, 0, '{}' FROM generate_series((\(first) + \(last)) / 2, \(last)) n;
            """, timeout: .seconds(600))
    }

    /// Measures every call of a worker and of maintenance once.
    private func check(_ connection: PostgresConnection, from floor: Int64, _ situation: String) async throws {
        var configuration = JobWorkerConfiguration(databaseURL: "", host: "plan", version: "0", slots: 100)
        configuration.lanes = [1]
        func bounded(
            _ name: String, _ statement: PostgresStatement, rows: Int, pages: Int
        ) async throws -> [PostgresRow] {
            try await PlanCost.bound("\(situation): \(name)", statement, rows: rows, pages: pages, on: connection)
        }

        for key in ["", #","idempotencyKey":"k""#, #","userReference":"u""#] {
            let request = QueueFixture.byURL.replacing("acme", with: "partner7").dropLast() + key + "}"
            _ = try await bounded(
                "enqueue" + key,
                PostgresStatement(
                    "SELECT insp.enqueue_many($1)", [.jsonbs(Array(repeating: String(request), count: 20))]),
                rows: 400, pages: 3000)
        }
        let incarnation = UUID().uuidString
        let register = QueueStatements.register(configuration, incarnation: incarnation, process: 1)
        let identity = WorkerIdentity(
            id: try await connection.query(register.sql, register.parameters)[0].int("worker_id"),
            incarnation: incarnation, region: 0)
        let queues = Array(1...Self.partners)

        _ = try await bounded(
            "heartbeat",
            QueueStatements.heartbeat(
                identity, busy: 0, fenceFloor: 100_000,
                floors: (queues.map(Int64.init), queues.map { _ in floor })), rows: 300, pages: 100)
        let scans = queues.map { QueueFloors.Scan(queue: $0, floor: floor, most: 1) }
        let rows = try await bounded(
            "claim", QueueStatements.claim(identity, leaseTime: .seconds(330), limit: 60, scans, known: 0), rows: 1000,
            pages: 3500)
        let jobs = try #require(try QueueStatements.claims(from: rows)).jobs.map(\.job)
        #expect(jobs.count == 60)

        let job = try #require(jobs.first)
        _ = try await bounded(
            "parts", QueueStatements.parts(of: job), rows: 20, pages: 60)
        _ = try await bounded(
            "result", PostgresStatement("SELECT insp.job_result($1)", [.text(job.publicID)]), rows: 20,
            pages: 100)
        // Of a job that runs, and of one that waits behind as many as are counted.
        let last = try await connection.query(
            "SELECT j.public_id::text FROM insp.job j WHERE j.id = \(floor + 180)")[0].string(0)
        for (name, id, rows) in [("explain running", job.publicID, 300), ("explain waiting", last, 20_000)] {
            _ = try await bounded(
                name, PostgresStatement("SELECT * FROM insp.explain_job($1)", [.text(id)]), rows: rows, pages: rows)
        }
        func write(_ name: String, _ kind: QueueWrite.Kind, _ jobs: ArraySlice<ClaimedJob>) async throws {
            let writes = jobs.map { QueueWrite(kind: kind, job: $0, claimedAt: .now) }
            for (statement, _) in QueueStatements.writes(writes) {
                _ = try await bounded(name, statement, rows: 20 * jobs.count, pages: 150 * jobs.count)
            }
        }
        try await write("store", .step(.acquired, Data("{}".utf8)), jobs[..<20])
        try await write(
            "settle", .finish(StorableResult(summary: #"{"decision":{"type":"PASSED"}}"#, body: Data("{}".utf8))),
            jobs[..<20])
        try await write("retry", .retry(InspectError(.partUnreachable), after: .seconds(5000)), jobs[20..<30])
        try await write("dead-letter", .deadLetter(InspectError(.corruptImage)), jobs[30..<40])
        try await write("release", .release, jobs[40...])

        _ = try await bounded("promote", PostgresStatement("SELECT insp.promote(100)"), rows: 600, pages: 1000)
        _ = try await bounded(
            "rescue",
            PostgresStatement("SELECT * FROM insp.rescue('15 s', 8, 3, p_thorough => false)"), rows: 3000, pages: 1500)
        _ = try await bounded("sweep", PostgresStatement("SELECT insp.sweep(100)"), rows: 300, pages: 3000)
        _ = try await bounded("expire", PostgresStatement("SELECT insp.expire(100)"), rows: 20_000, pages: 60_000)
        _ = try await bounded(
            "look again", PostgresStatement("SELECT * FROM insp.purge_late(100)"), rows: 2000, pages: 4000)
    }

    @Test(.timeLimit(.minutes(18)))
    func `Every call reads a bounded part of a million waiting jobs`() async throws {
        // Another test's snapshot, in whatever database, would keep index entries from being marked as gone, and what others create
        // resets caches.
        let connection = try await ScratchDatabase.ownServer(settings: "fsync = off\nmax_wal_size = 8GB").connect()
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        try await migrator.createRoles(on: connection)
        _ = try await migrator.run(on: connection)
        try await self.prepare(connection)
        try await self.fill(connection, jobs: 1...Self.jobs, waiting: 1...Self.waiting)
        try await self.check(connection, from: 0, "statistics of empty tables")
        try await connection.execute("ANALYZE", timeout: .seconds(600))
        try await self.check(connection, from: 0, "fresh statistics")
        // Nothing is vacuumed: the index still leads to every row that is gone, below the floor.
        let floor = Int64(Self.jobs / 2)
        try await connection.execute(
            """
            DELETE FROM insp.ready WHERE seq < \(floor) OR seq > \(Self.jobs) AND seq % 10 <> 0;
            DELETE FROM insp.lease WHERE fence < 99000;
            """, timeout: .seconds(600))
        try await self.check(connection, from: floor, "after bulk deletes")
        await connection.close()
    }

    @Test func `A view reads its data once, however many partners and queues there are`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await self.prepare(connection)
        try await self.fill(connection, jobs: 1...20_000, waiting: 10_001...20_000)
        try await connection.execute(
            """
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT j.id, j.partner_id, 'CORRUPT_IMAGE', 1, 0 FROM insp.job j WHERE j.id <= 5000;
            UPDATE insp.job SET status = 64 WHERE id BETWEEN 5001 AND 6000;
            INSERT INTO insp.review_wait (job_id, partner_id) SELECT id, partner_id FROM insp.job WHERE status = 64;
            INSERT INTO insp.step (job_id, status, fence, summary, body) SELECT n, 64, 0, '{}', '{}' FROM generate_series(5001, 6000) n;
            UPDATE insp.partner SET max_running = 100000;
            SELECT insp.queue_of(r.id, l::smallint, 1) FROM insp.region r, generate_series(0, 2) l;
            ANALYZE;
            """, timeout: .seconds(300))
        let totals = PostgresStatement(
            """
            SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
            FROM pg_stat_xact_user_tables WHERE schemaname = 'insp'
            """)
        let all = try await connection.query(
            """
            SELECT sum(reltuples)::bigint FROM pg_class WHERE relnamespace = 'insp'::regnamespace AND relkind = 'r'
                AND reltuples > 0
            """)[0].int(0)
        #expect(all > 100_000 && all < 200_000)
        let views = try await connection.query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'insp'::regnamespace AND relkind = 'v' ORDER BY 1"
        ).map { try $0.string(0) }
        #expect(views.count > 20)
        func read(_ sql: String) async throws -> (rows: Int64, read: Int64) {
            try await connection.transaction { connection in
                let before = try connection.query(totals.sql)[0].int(0)
                let rows = try connection.query(sql)[0].int(0)
                return (rows, try connection.query(totals.sql)[0].int(0) - before)
            }
        }
        for view in views {
            let (rows, read) = try await read("SELECT count(v::text) FROM insp.\(view) v")
            print("\(view): \(rows) rows, of \(read) read")
            #expect(read < all, "\(view) reads \(read) rows of tables that have \(all)")
        }
        // A job that is named by its last digits is searched for once.
        let digits = try await connection.query(
            "SELECT right(j.public_id::text, 12) FROM insp.job j WHERE j.id = 5000")[0].string(0)
        let found = try await read("SELECT count(insp.find_job('\(digits)'))").read
        let explained = try await read("SELECT count(*) FROM insp.explain_job('\(digits)')").read
        #expect(found > 5_000 && explained < found + 1_000, "find_job reads \(found) rows, explain_job \(explained)")
        // What is counted once for all is counted for each.
        let counted = try await connection.query(
            """
            SELECT sum(dead_lettered)::bigint, sum(in_review)::bigint, sum(running)::bigint, sum(waiting)::bigint,
                max(dead_lettered)::bigint, (SELECT sum(waiting)::bigint FROM insp.v_queue), (SELECT sum(running)::bigint FROM insp.v_queue),
                (SELECT sum(delayed)::bigint FROM insp.v_queue), (SELECT sum(waiting)::bigint FROM insp.v_waiting)
            FROM insp.v_partner
            """)[0]
        let sums = try (0..<9).map { try counted.int($0) }
        #expect(sums == [5_000, 1_000, 20_000, 10_000, 25, 10_000, 20_000, 20_000, 10_000])
        await connection.close()
    }

    @Test func `A plan made while nothing waited still holds when much does`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await self.prepare(connection)
        try await self.fill(connection, jobs: 1...200, waiting: 1...200)
        try await connection.takeTablesForDrained()
        try await self.check(connection, from: 0, "drained")
        // The session keeps its plans.
        try await self.fill(connection, jobs: 1_001...20_000, waiting: 1_001...20_000)
        try await self.check(connection, from: 1_001, "drained, then filled")
        // What others do on the server can end the plans: new ones are made from the statistics of empty tables.
        try await connection.execute("DISCARD PLANS")
        try await self.check(connection, from: 1_201, "drained, filled, then planned")
        await connection.close()
    }

    @Test func `Explaining a job's callbacks reads only its own, whatever the outbox held when it was planned`()
        async throws
    {
        let connection = try await ScratchDatabase.migrated().connect()
        try await self.prepare(connection)
        func fill(_ jobs: ClosedRange<Int>) async throws {
            try await connection.execute(
                """
                INSERT INTO insp.job (id, partner_id, endpoint_id, lane, expires_at, workflow, status, completed_at)
                SELECT n, 1 + n % \(Self.partners), 1 + n % \(Self.partners), 1, now(), 'id', 128, now()
                FROM generate_series(\(jobs.lowerBound), \(jobs.upperBound)) n;
                INSERT INTO insp.callback (job_id, endpoint_id, url, public_id)
                SELECT j.id, j.endpoint_id, 'https://hooks.example.com/x', j.public_id FROM insp.job j
                WHERE j.id BETWEEN \(jobs.lowerBound) AND \(jobs.upperBound);
                WITH taken AS (DELETE FROM insp.callback_waiting w WHERE w.callback_id % 2 = 0 RETURNING w.*)
                INSERT INTO insp.callback_lease (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released)
                SELECT t.endpoint_id, t.callback_id, t.callback_id, now() + interval '1 minute', now(), 0, 0 FROM taken t;
                """, timeout: .seconds(300))
        }
        try await fill(1...200)
        try await connection.takeTablesForDrained()
        try await fill(1_001...20_000)
        for job in [5_000, 5_001] {
            // As in insp.explain_job.
            try await connection.execute(
                "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
            let statement = PostgresStatement("SELECT * FROM insp.explain_callbacks($1)", [.int(Int64(job))])
            let (cost, rows) = try await PlanCost.measure(statement, pages: 100, on: connection)
            #expect(rows.count == 1)
            #expect(cost.pages <= 100, "\(cost.pages) pages")
        }
        await connection.close()
    }

    @Test func `A page of pulled events reads its own, however many came before it and come after it`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await self.prepare(connection)
        let endpoint = try await connection.query(
            "SELECT endpoint_id FROM insp.create_partner('pulling', 'pull:')")[0].int(0)
        let made = try await connection.query(
            "SELECT key_id, sha256(convert_to(secret, 'UTF8')) FROM insp.create_credential('pulling', '{events}')")[0]
        let credential = try await connection.query(
            "SELECT id FROM insp.credential WHERE key_id = $1", [.text(try made.string(0))])[0].int(0)
        let digest = PostgresValue.bytes(try made.data(1))
        /// Finished jobs, each with an event to be numbered.
        func fill(_ jobs: ClosedRange<Int>) async throws {
            try await connection.execute(
                """
                INSERT INTO insp.job (id, partner_id, endpoint_id, lane, expires_at, workflow, status, completed_at)
                SELECT n, e.partner_id, e.id, 1, now(), 'id', 128, now()
                FROM insp.endpoint e, generate_series(\(jobs.lowerBound), \(jobs.upperBound)) n WHERE e.id = \(endpoint);
                INSERT INTO insp.callback (job_id, endpoint_id, url, public_id)
                SELECT j.id, j.endpoint_id, 'pull:', j.public_id FROM insp.job j
                WHERE j.id BETWEEN \(jobs.lowerBound) AND \(jobs.upperBound);
                """, timeout: .seconds(300))
        }
        func number() async throws {
            try await repeatWhile("an event has no number") {
                try await connection.query("SELECT insp.number_pulls()")[0].int(0) > 0
            }
        }
        func check(_ situation: String) async throws {
            let last = try await connection.query("SELECT epoch, position FROM insp.pull_cursor")[0]
            let (epoch, end) = (try last.int(0), try last.int(1))
            func pull(_ name: String, _ place: Int64?, events: Int) async throws {
                var cursor: String?
                if let place {
                    cursor = try await connection.query(
                        "SELECT insp.pull_place($1, $2, $3)", [.int(endpoint), .int(epoch), .int(place)])[0].string(0)
                }
                let statement = PostgresStatement(
                    "SELECT * FROM insp.gateway_events($1, $2, $3, 100)", [.int(credential), digest, .optional(cursor)])
                let rows = try await PlanCost.bound(
                    "\(situation): \(name)", statement, rows: 1_000, pages: 1_000, on: connection)
                #expect(rows.count == events + 1)
            }
            try await pull("first page", nil, events: 100)
            try await pull("page in the middle", end / 2, events: 100)
            try await pull("page after the last", end, events: 0)
            // Of five hundred clients that wait.
            let places = [endpoint, epoch, end].map { PostgresValue.bigints(Array(repeating: $0, count: 500)) }
            _ = try await PlanCost.bound(
                "\(situation): clients", PostgresStatement("SELECT insp.gateway_pulls($1, $2, $3)", places), rows: 100,
                pages: 3_000, on: connection)
            let numbered = try await PlanCost.bound(
                "\(situation): numbering", PostgresStatement("SELECT insp.number_pulls()"), rows: 1_000, pages: 6_000,
                on: connection)
            #expect(try numbered[0].int(0) == 200)
        }
        try await fill(1...200)
        try await number()
        try await connection.takeTablesForDrained()
        try await fill(201...400)
        try await check("drained")
        try await fill(1_001...20_000)
        try await number()
        try await fill(20_001...20_200)
        try await check("drained, then filled")
        try await number()
        try await fill(20_201...20_400)
        try await connection.execute("DISCARD PLANS")
        try await check("drained, filled, then planned")
        await connection.close()
    }
}
