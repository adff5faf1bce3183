import Postgres
import TestSupport
import Testing

/// What somebody changed in the schema by hand is found, and restored where a functions file makes it.
@Suite struct MigrationCatalogueTests {
    private let migrator = Migrator(directory: ScratchDatabase.migrations)

    @Test(arguments: [
        ("GRANT EXECUTE ON FUNCTION insp.wake(smallint) TO PUBLIC", "functions/queue"),
        ("REVOKE EXECUTE ON FUNCTION insp.erase_person FROM insp_operator", "functions/persons"),
        ("GRANT SELECT ON insp.v_dead TO insp_producer", "functions/steering"),
        ("GRANT SELECT (id, detail) ON insp.v_dead TO insp_producer", "functions/steering"),
        ("ALTER TABLE insp.record DISABLE TRIGGER record_guard", "functions/record"),
        ("COMMENT ON FUNCTION insp.erase(uuid) IS 'x'", "functions/erasure"),
        ("ALTER FUNCTION insp.review RESET lock_timeout", "functions/review"),
        ("ALTER VIEW insp.v_dead SET (security_barrier = true)", "functions/steering"),
        (
            "CREATE OR REPLACE VIEW insp.v_faces AS SELECT * FROM (SELECT p.name AS partner, 0::bigint AS faces, 0::bigint AS templates, ''::text AS engine, ''::text AS model_sha256, now() AS oldest, now() AS newest FROM insp.partner p) x",
            "functions/faces"
        ),
        (
            "CREATE OR REPLACE FUNCTION insp.lane_name(p_lane smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT NULL::text'",
            "functions/queue"
        ),
    ])
    func `A changed function, trigger or view is restored`(change: String, file: String) async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(change)
        #expect(try await self.migrator.pending(on: connection).contains(file))
        let outcome = try await self.migrator.run(on: connection)
        #expect(outcome.applied.contains(file))
        #expect(outcome.different == [])
        #expect(try await self.migrator.pending(on: connection) == [])
    }

    @Test(arguments: [
        ("DROP INDEX insp.callback_waiting_retry", "index insp.callback_waiting_retry"),
        ("CREATE INDEX mine ON insp.dead (code)", "index insp.mine"),
        ("GRANT SELECT ON insp.secret TO insp_operator", "table insp.secret"),
        ("REVOKE SELECT ON insp.queue FROM insp_operator", "table insp.queue"),
        ("GRANT SELECT (personal) ON insp.job TO insp_operator", "column insp.job.personal"),
        ("ALTER TABLE insp.dead SET (autovacuum_enabled = false)", "table insp.dead"),
        ("ALTER TABLE insp.secret ENABLE ROW LEVEL SECURITY", "table insp.secret"),
        ("CREATE POLICY mine ON insp.dead USING (true)", "policy mine on insp.dead"),
        ("CREATE RULE mine AS ON DELETE TO insp.dead DO INSTEAD NOTHING", "rule mine on insp.dead"),
        ("ALTER TABLE insp.queue ALTER COLUMN lane DROP NOT NULL", "column insp.queue.lane"),
        ("ALTER TABLE insp.retention DROP CONSTRAINT retention_check", "constraint retention_check on insp.retention"),
        ("COMMENT ON TABLE insp.job IS 'x'", "table insp.job"),
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA insp GRANT SELECT ON TABLES TO insp_operator", "default rights of r"
        ),
        ("GRANT CREATE ON SCHEMA insp TO insp_operator", "schema insp"),
        ("GRANT SELECT ON insp.job_p000000 TO insp_operator", "rights on insp.job_p000000"),
        ("GRANT SELECT (body) ON insp.step_p000001 TO insp_operator", "rights on insp.step_p000001"),
    ])
    func `What no file restores is named each time`(change: String, object: String) async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(change)
        #expect(try await self.migrator.pending(on: connection) == [object])
        for _ in 0..<2 {
            let outcome = try await self.migrator.run(on: connection)
            #expect(outcome.applied == [])
            #expect(outcome.different == [object])
        }
        // Nor by a file that is applied for another reason.
        try await connection.execute("DROP FUNCTION insp.in_words(interval)")
        let outcome = try await self.migrator.run(on: connection)
        #expect(outcome.applied.contains("functions/explain"))
        #expect(outcome.different == [object])
    }

    @Test(arguments: ["DROP TABLE public.insp_object", "UPDATE public.insp_object SET server = server - 1"])
    func `Lost digests are noticed, and computed from the files, not from the database`(loss: String) async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(
            """
            SELECT insp.create_partner('acme', 'https://hooks.example.com/x'); \(loss);
            GRANT SELECT ON insp.secret TO insp_operator;
            GRANT SELECT (id) ON insp.v_dead TO insp_producer;
            CREATE OR REPLACE FUNCTION insp.erase(id uuid) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN true; END'
            """)
        #expect(try await self.migrator.pending(on: connection) == ["table public.insp_object"])
        let outcome = try await self.migrator.run(on: connection)
        #expect(outcome.applied.contains("functions/erasure") && outcome.applied.contains("functions/steering"))
        #expect(outcome.different == ["table public.insp_object", "table insp.secret"])
        #expect(try await self.migrator.pending(on: connection) == ["table insp.secret"])
        // Of the second schema nothing is left, and the first has its rows.
        let row = try await connection.query(
            "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'insp%'), (SELECT count(*) FROM insp.partner)"
        )[0]
        #expect(try row.int(0) == 1 && row.int(1) == 1)
    }

    @Test func `Somebody's own overload hides no change of the file's function`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(
            """
            CREATE FUNCTION insp.erase(text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE OR REPLACE FUNCTION insp.erase(id uuid) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN true; END';
            GRANT EXECUTE ON FUNCTION insp.erase(uuid) TO PUBLIC
            """)
        let outcome = try await self.migrator.run(on: connection)
        #expect(outcome.applied.contains("functions/erasure"))
        #expect(outcome.unknown == ["function insp.erase"])
        let row = try await connection.query(
            "SELECT p.prosrc ~ 'erase_job', p.proacl::text ~ '[{,]=' FROM pg_proc p WHERE p.oid = 'insp.erase(uuid)'::regprocedure"
        )[0]
        #expect(try row.bool(0) && !row.bool(1))
    }

    /// As `pg_restore --no-privileges` leaves it: no right stands anywhere, and the server's defaults are back.
    @Test func `Functions that lost their rights are given to nobody else`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(
            """
            ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
            DROP FUNCTION insp.in_words(interval);
            UPDATE pg_proc SET proacl = NULL WHERE pronamespace = 'insp'::regnamespace
            """)
        _ = try await self.migrator.run(on: connection)
        let open = try await connection.query(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            WHERE p.pronamespace = 'insp'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')
            """
        ).map { try $0.string(0) }
        #expect(open == [])
        #expect(try await self.migrator.pending(on: connection) == [])
    }

    @Test(arguments: ["IntervalStyle = iso_8601", "standard_conforming_strings = off", "quote_all_identifiers = on"])
    func `A login's settings are no difference`(setting: String) async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute("SET \(setting)")
        #expect(try await self.migrator.pending(on: connection) == [])
    }

    @Test func `A sequence that a backup restores under another number is no difference`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        let comment = try await connection.query(
            "SELECT obj_description('insp.access_token_permit'::regclass, 'pg_class')")[0].string(0)
        try await connection.execute(
            """
            DROP SEQUENCE insp.access_token_permit; CREATE SEQUENCE insp.access_token_permit AS bigint;
            COMMENT ON SEQUENCE insp.access_token_permit IS '\(comment)'
            """)
        #expect(try await self.migrator.pending(on: connection) == [])
    }

    @Test func `Partitions, samples and what workers write are no difference`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute(
            """
            SELECT insp.create_partner('acme', 'https://hooks.example.com/x'), insp.ensure_partitions(40000000);
            ANALYZE; SELECT insp.sample_nothing(), insp.purge(), setval('insp.job_id', 7000000)
            """)
        #expect(try await self.migrator.pending(on: connection) == [])
    }
}
