import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Duties of maintenance: nobody without a right to them can stop them, none holds up another, and all show what they did.
@Suite(.serialized) struct MaintenanceTests {
    /// A job whose time comes in a moment: only maintenance makes it ready.
    private func enqueueDelayed(_ fixture: QueueFixture, by seconds: Double = 0.3) async throws -> String {
        let request = QueueFixture.byURL.dropLast() + #","delaySeconds":\#(seconds)}"#
        return try await fixture.client.enqueue(payload: Data(request.utf8))
    }

    @Test func `Advisory locks of a read-only login stop no duty`() async throws {
        let fixture = try await QueueFixture()
        let stranger = try await fixture.database.connect()
        try await stranger.execute("SET ROLE insp_auditor")
        // Those that duties, partitions and migrations once took.
        _ = try await stranger.query(
            """
            SELECT pg_advisory_lock(k) FROM generate_series(x'696e737000000010'::bigint, x'696e737000000017'::bigint) k
            UNION ALL SELECT pg_advisory_lock(hashtext('insp.ensure_partitions'))
            UNION ALL SELECT pg_advisory_lock(x'696e737000000001'::bigint)
            """)
        let id = try await self.enqueueDelayed(fixture)
        try await fixture.admin.execute("SELECT setval('insp.job_id', 6000000)")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE public_id = '\(id)')")
            try await fixture.wait(
                for: "NOT EXISTS (SELECT FROM insp.v_maintenance WHERE finished_at IS NULL)")
        }
        #expect(try await fixture.count("insp.v_maintenance WHERE state = 'well' AND run_by LIKE 'test/%'") == 14)
        #expect(
            try await fixture.count(
                "insp.v_maintenance WHERE duty = 'rescue' AND outcome = '{\"requeued\":0,\"dead_lettered\":0,\"workers\":0}'"
            )
                == 1)
        // Partitions, beyond those that a new database has.
        #expect(try await fixture.count("pg_class WHERE relname = 'job_p000004'") == 1)
        let error = await #expect(throws: PostgresError.self) {
            try await stranger.query("SELECT FROM insp.duty FOR UPDATE")
        }
        #expect(error?.sqlState == "42501")
        await stranger.close()
        // Another migrator finds nothing to do, and no one's lock in its way.
        let connection = try await fixture.database.connect()
        let applied = try await Migrator(directory: ScratchDatabase.migrations)
            .run(on: connection, waitingUpTo: .seconds(60)).applied
        #expect(applied.isEmpty)
        await connection.close()
    }

    @Test func `A duty that fails keeps no other from its turn`() async throws {
        let fixture = try await QueueFixture()
        let operate = try await fixture.database.connect()
        // As CREATE INDEX takes it.
        _ = try await self.enqueueDelayed(fixture)
        try await operate.execute("BEGIN; LOCK TABLE insp.delayed IN SHARE MODE")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(
                for: "EXISTS (SELECT FROM insp.v_maintenance WHERE duty = 'promote' AND state = 'fails')")
            try await fixture.admin.execute("CREATE TABLE public.seen AS SELECT clock_timestamp() AS at")
            try await fixture.wait(
                for: """
                    (SELECT count(*) = 3 FROM insp.v_maintenance, public.seen
                    WHERE duty IN ('rescue', 'expire', 'sweep') AND finished_at > seen.at)
                    """)
            try await operate.execute("ROLLBACK")
        }
        await operate.close()
    }

    @Test(.timed) func `A duty that is held up delays neither parts nor other duties, and is reported`() async throws {
        let fixture = try await QueueFixture()
        for second in 1...5 { _ = try await self.enqueueDelayed(fixture, by: Double(second)) }
        let operate = try await fixture.database.connect()
        try await operate.execute(
            "BEGIN; LOCK TABLE insp.expiry, insp.retention_cursor IN ACCESS EXCLUSIVE MODE")
        let reader = ClosureHandler { _, context in
            _ = try await context.parts()
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), reader) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            let late = try await fixture.count(
                """
                (SELECT completed_at - created_at AS took, row_number() OVER (ORDER BY id) AS delay FROM insp.job) j
                WHERE took > make_interval(secs => delay + 2)
                """)
            #expect(late == 0)
            try await fixture.wait(
                for:
                    "(SELECT array_agg(duty ORDER BY duty) FROM insp.v_maintenance WHERE state = 'fails') = '{expire,purge}'"
            )
            #expect(try await fixture.count("insp.v_maintenance WHERE error LIKE '55P03 %' AND failures > 0") == 2)
            let observer = QueueObserver(databaseURL: fixture.database.url)
            let duties = try await observer.depth().duties
            #expect(duties.count == 14)
            #expect(duties["expire"]?.fails == true)
            #expect(duties["promote"]?.fails == false)
            #expect((duties["promote"]?.ageSeconds ?? 100) < 10)
            await observer.close()
            try await operate.execute("COMMIT")
            try await fixture.wait(
                for: "(SELECT state = 'well' AND failures = 0 FROM insp.v_maintenance WHERE duty = 'expire')")
        }
        await operate.close()
    }

    @Test func `A fleet does a duty together, and again after its clock went back`() async throws {
        let fixture = try await QueueFixture()
        func take(_ connection: PostgresConnection) async throws -> Bool {
            try await connection.transaction { connection in
                let mine = try connection.query("SELECT insp.duty_take('sweep', '10 minutes')")[0].bool(0)
                if mine { _ = try connection.query("SELECT insp.duty_done('sweep', 'me', '0')") }
                return mine
            }
        }
        let first = try await fixture.database.connect()
        try await first.execute("BEGIN; SELECT insp.duty_take('sweep', '10 minutes')")
        #expect(try await !take(fixture.admin))
        try await first.execute("ROLLBACK")
        #expect(try await take(fixture.admin))
        #expect(try await !take(fixture.admin))
        try await fixture.admin.execute("UPDATE insp.duty SET finished_at = now() + interval '1 hour'")
        #expect(try await take(fixture.admin))
        #expect(try await fixture.count("insp.duty WHERE name = 'sweep' AND finished_at <= clock_timestamp()") == 1)
        await first.close()
    }

    @Test func `A large backlog of a paused partner expires by the thousand`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1500)
        try await fixture.admin.execute("UPDATE insp.job SET expires_at = now() - interval '1 s'")
        _ = try await fixture.enqueue(1)
        #expect(try await fixture.admin.query("SELECT insp.expire()")[0].int(0) == 1000)
        #expect(try await fixture.admin.query("SELECT insp.expire()")[0].int(0) == 500)
        #expect(try await fixture.admin.query("SELECT insp.expire()")[0].int(0) == 0)
        #expect(try await fixture.count("insp.ready") == 1)
    }
}
