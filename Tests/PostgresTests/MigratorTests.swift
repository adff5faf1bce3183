import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct MigratorTests {
    @Test func `Twenty migrators at once apply every script exactly once`() async throws {
        let database = try await ScratchDatabase.empty()
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let connection = try await database.connect()
                    let applied = try await migrator.run(on: connection).applied
                    await connection.close()
                    return applied
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let files = FileManager.default.enumerator(atPath: ScratchDatabase.migrations)?.compactMap { $0 as? String }
        // Those of the key store belong to another database.
        let scripts = try #require(files).filter {
            $0.hasSuffix(".sql") && $0 != "roles.sql" && !$0.hasPrefix("keys/")
        }.map { String($0.dropLast(4)) }
        #expect(applied.sorted() == scripts.sorted())
        let connection = try await database.connect()
        #expect(try await migrator.pending(on: connection).isEmpty)
        #expect(try await migrator.run(on: connection).applied.isEmpty)
    }

    @Test(.timed) func `A migrator that was not first says so in words of its own`() async throws {
        let files = try MigrationFiles(["0001_first": "CREATE SCHEMA insp"])
        let database = try await ScratchDatabase.empty()
        let first = try await database.connect()
        try await first.execute(
            """
            BEGIN; CREATE TABLE public.insp_migration (name text PRIMARY KEY, sha256 text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now())
            """)
        let second = try await database.connect()
        let reports = Mutex<[String]>([])
        let running = Task {
            try await files.migrator.run(on: second) { message in reports.withLock { $0.append(message) } }
        }
        try await waitUntil("the second waits for the first", every: .milliseconds(20)) {
            try await first.query(
                "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )[0].bool(0)
        }
        try await first.execute("COMMIT")
        #expect(try await running.value(within: .seconds(120)).applied == ["0001_first"])
        let report = try #require(reports.withLock { $0.first })
        #expect(report.hasPrefix("another migrator created public.insp_migration first; "), "\(report)")
        await first.close()
        await second.close()
    }

    @Test func `A script that fails is rolled back whole, and named`() async throws {
        let files = try MigrationFiles([
            "0001_half": "CREATE TABLE public.half (n int)", "functions/broken": "SELECT 1/0",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        let error = await #expect(throws: PostgresError.self) { try await files.migrator.run(on: connection) }
        #expect(error?.message == "functions/broken: division by zero")
        #expect(
            try await connection.query("SELECT to_regclass('public.half') IS NULL AS gone")[0].bool("gone"))
    }

    @Test func `Functions files come after the scripts and after those that they name, otherwise by name`() async throws
    {
        let files = try MigrationFiles([
            "0001_log": "CREATE TABLE public.log (n int GENERATED ALWAYS AS IDENTITY, said text)",
            "0002_log": "INSERT INTO public.log (said) VALUES ('0002')",
            "functions/a": "-- What a does.\n-- After: c, d\nINSERT INTO public.log (said) VALUES ('a')",
            "functions/b": "INSERT INTO public.log (said) VALUES ('b')",
            "functions/c": "-- After: d\nINSERT INTO public.log (said) VALUES ('c')",
            "functions/d": "INSERT INTO public.log (said) VALUES ('d')",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        let order = ["0001_log", "0002_log", "functions/b", "functions/d", "functions/c", "functions/a"]
        #expect(try await files.migrator.pending(on: connection) == order)
        #expect(try await files.migrator.run(on: connection).applied == order)
        let said = try await connection.query("SELECT said FROM public.log ORDER BY n").map { try $0.string(0) }
        #expect(said == ["0002", "b", "d", "c", "a"])
    }

    @Test(arguments: [
        (["a": "nobody"], "functions/a comes after functions/nobody, which is not a file of the folder"),
        (["a": "a"], "each of these comes after another of them: functions/a"),
        (["a": "b", "b": "c", "c": "b"], "each of these comes after another of them: functions/b, functions/c"),
    ])
    func `A header that cannot be followed is refused before anything is done`(after: [String: String], message: String)
        async throws
    {
        let files = try MigrationFiles(["0001_first": "CREATE TABLE public.t (n int)"])
        for (name, other) in after { try files.write("functions/\(name)", "-- After: \(other)\nSELECT 1") }
        let connection = try await ScratchDatabase.empty().connect()
        let error = await #expect(throws: PostgresError.self) { try await files.migrator.run(on: connection) }
        #expect(error?.code == .migration && error?.message == message)
        #expect(try await connection.query("SELECT to_regclass('public.t') IS NULL")[0].bool(0))
    }

    @Test func `A functions file that changed is applied again, with those that come after it and no others`()
        async throws
    {
        let text = "CREATE OR REPLACE FUNCTION public.number() RETURNS int LANGUAGE sql AS 'SELECT 1'"
        let files = try MigrationFiles([
            "0001_first": "CREATE TABLE public.t (n int)", "functions/number": text,
            "functions/other": "CREATE FUNCTION public.other() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "functions/view": "-- After: number\nCREATE OR REPLACE VIEW public.v AS SELECT public.number() AS n",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        try await files.migrator.run(on: connection)
        // What a signature's change drops with CASCADE comes back.
        try files.write(
            "functions/number",
            "DROP FUNCTION IF EXISTS public.number() CASCADE;\n"
                + text.replacing("int LANGUAGE", with: "bigint LANGUAGE").replacing(
                    "SELECT 1", with: "SELECT 2::bigint"))
        #expect(try await files.migrator.pending(on: connection) == ["functions/number", "functions/view"])
        #expect(try await files.migrator.run(on: connection).applied == ["functions/number", "functions/view"])
        #expect(try await connection.query("SELECT n FROM public.v")[0].int(0) == 2)
        #expect(try await files.migrator.pending(on: connection).isEmpty)
        #expect(try await files.migrator.run(on: connection).applied.isEmpty)
    }

    @Test(arguments: [
        (
            "FUNCTION insp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "FUNCTION insp.f() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'"
        ),
        ("VIEW insp.v AS SELECT 1 AS n", "VIEW insp.v AS SELECT 2 AS m, 1 AS n"),
    ])
    func `A file that changes what cannot be replaced fails with what it lacks, and succeeds with it`(
        before: String, after: String
    ) async throws {
        let files = try MigrationFiles([
            "0001_first": "CREATE SCHEMA insp", "functions/f": "CREATE OR REPLACE \(before)",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        try await files.migrator.run(on: connection)
        try files.write("functions/f", "CREATE OR REPLACE \(after)")
        let error = await #expect(throws: PostgresError.self) { try await files.migrator.run(on: connection) }
        #expect(error?.message.hasPrefix("functions/f: cannot change ") == true)
        #expect(
            error?.hint?.contains("begin functions/f.sql with DROP FUNCTION IF EXISTS or DROP VIEW IF EXISTS") == true)
        let object = after.hasPrefix("VIEW") ? "VIEW IF EXISTS insp.v" : "FUNCTION IF EXISTS insp.f()"
        try files.write("functions/f", "DROP \(object);\nCREATE OR REPLACE \(after)")
        #expect(try await files.migrator.run(on: connection).applied == ["functions/f"])
    }

    @Test func `A body may name what a later file makes`() async throws {
        let files = try MigrationFiles([
            "0001_first": "CREATE TABLE public.t (n int)",
            "functions/early": "CREATE FUNCTION public.early() RETURNS int LANGUAGE sql AS 'SELECT public.late()'",
            "functions/late": "CREATE FUNCTION public.late() RETURNS int LANGUAGE sql AS 'SELECT 5'",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        try await files.migrator.run(on: connection)
        #expect(try await connection.query("SELECT public.early()")[0].int(0) == 5)
        // Only while it migrates.
        await #expect(throws: PostgresError.self) {
            try await connection.execute("CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT public.g()'")
        }
    }

    @Test func `A deleted functions file is forgotten`() async throws {
        let files = try MigrationFiles([
            "0001_first": "CREATE TABLE public.t (n int)",
            "functions/old": "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        try await files.migrator.run(on: connection)
        try files.remove("functions/old")
        try files.write("functions/new", "DROP FUNCTION IF EXISTS public.f()")
        #expect(try await files.migrator.pending(on: connection) == ["functions/new", "functions/old"])
        let outcome = try await files.migrator.run(on: connection)
        #expect(outcome.applied == ["functions/new"] && outcome.forgotten == ["functions/old"])
        let known = try await connection.query("SELECT name FROM public.insp_migration ORDER BY name").map {
            try $0.string(0)
        }
        #expect(known == ["0001_first", "functions/new"])
    }

    @Test func `What a file that is no more has made, and what nobody's file makes, is named at each run and stays`()
        async throws
    {
        let files = try MigrationFiles([
            "0001_first": "CREATE SCHEMA insp;\nCREATE TABLE insp.t (n int)",
            "functions/both": """
            CREATE OR REPLACE FUNCTION insp.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
            CREATE OR REPLACE FUNCTION insp.f(n int) RETURNS int LANGUAGE sql AS 'SELECT n';
            """,
            "functions/old": "CREATE OR REPLACE VIEW insp.v AS SELECT 1 AS n",
        ])
        let connection = try await ScratchDatabase.empty().connect()
        #expect(try await files.migrator.run(on: connection).unknown == [])
        try files.remove("functions/old")
        let gone = try await files.migrator.run(on: connection)
        #expect(gone.applied == [] && gone.forgotten == ["functions/old"] && gone.unknown == ["view insp.v"])
        // Also one more of a name that a file makes.
        try await connection.execute(
            "CREATE FUNCTION insp.f(t text) RETURNS text LANGUAGE sql AS 'SELECT t'; CREATE TABLE insp.own (n int)")
        let again = try await files.migrator.run(on: connection)
        #expect(again.forgotten == [] && again.unknown == ["function insp.f", "view insp.v"])
        #expect(try await connection.query("SELECT n FROM insp.v")[0].int(0) == 1)
    }

    @Test(arguments: [
        "DROP FUNCTION insp.callback_replay(text)", "DROP VIEW insp.v_queue", "DROP TRIGGER make_queue ON insp.partner",
        "DROP FUNCTION insp.lane_number(text) CASCADE", "DROP FUNCTION insp.make_queue() CASCADE",
        "DROP VIEW insp.v_floor CASCADE",
    ])
    func `What was dropped by hand is noticed, and created again with its rights`(drop: String) async throws {
        let catalog = """
            SELECT p.oid::regprocedure::text || p.proacl::text FROM pg_proc p WHERE p.pronamespace = 'insp'::regnamespace
            UNION ALL SELECT c.relname || c.relacl::text FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'v'
            UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                WHERE c.relnamespace = 'insp'::regnamespace AND NOT t.tgisinternal
            ORDER BY 1
            """
        let connection = try await ScratchDatabase.migrated().connect()
        let before = try await connection.query(catalog).map { try $0.optionalString(0) }
        try await connection.execute(drop)
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        let pending = try await migrator.pending(on: connection)
        #expect(!pending.isEmpty)
        let outcome = try await migrator.run(on: connection)
        #expect(outcome.applied == pending && outcome.unknown == [])
        #expect(try await connection.query(catalog).map { try $0.optionalString(0) } == before)
        #expect(try await migrator.run(on: connection).applied == [])
    }

    @Test func `A table that is gone is not made again without its rows, but named`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute("DROP TABLE insp.queue_sample CASCADE")
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        let error = await #expect(throws: PostgresError.self) { try await migrator.run(on: connection) }
        #expect(error?.code == .migration)
        #expect(error?.message.hasPrefix("the database lacks table insp.queue_sample, which 00") == true)
    }

    @Test func `Roles are made once for a cluster, by many at once, and a migration names those that are missing`()
        async throws
    {
        let server = try ScratchDatabase.ownServer()
        let superuser = try await server.connect()
        try await superuser.execute("CREATE ROLE owner LOGIN")
        try await superuser.execute("CREATE DATABASE owned OWNER owner")
        try await superuser.execute("CREATE ROLE insp_worker")
        let owner = try await server.database("owned", role: "owner").connect()
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        let error = await #expect(throws: PostgresError.self) { try await migrator.run(on: owner) }
        #expect(error?.code == .roleMissing)
        #expect(
            error?.message.hasPrefix(
                "roles are missing: insp_auditor, insp_console, insp_gateway, insp_operator, insp_producer, insp_reviewer, insp_signer; an administrator creates them"
            ) == true)
        #expect(error?.message.hasSuffix("inspectd migrate --roles") == true)
        #expect(try await owner.query("SELECT to_regclass('public.insp_migration') IS NULL")[0].bool(0))
        // The owner may not.
        let refused = await #expect(throws: PostgresError.self) { try await migrator.createRoles(on: owner) }
        #expect(refused?.sqlState == "42501")
        let created = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let connection = try await server.connect()
                    let created = try await migrator.createRoles(on: connection)
                    await connection.close()
                    return created
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
        }
        #expect(
            created == [
                "insp_auditor", "insp_console", "insp_gateway", "insp_operator", "insp_producer", "insp_reviewer",
                "insp_signer",
            ])
        #expect(try await migrator.createRoles(on: superuser).isEmpty)
        let roles = try await superuser.query(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'insp\\_%' AND NOT rolcanlogin AND NOT rolcreaterole ORDER BY 1"
        ).map { try $0.string(0) }
        #expect(
            roles == [
                "insp_auditor", "insp_console", "insp_gateway", "insp_operator", "insp_producer", "insp_reviewer",
                "insp_signer", "insp_worker",
            ])
        #expect(try await migrator.run(on: owner).applied.isEmpty == false)
    }

    @Test func `Small tables with rows are analyzed, and empty ones are left alone`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        func analyzed(_ table: String) async throws -> Bool {
            try await connection.query("SELECT reltuples >= 0 FROM pg_class WHERE oid = 'insp.\(table)'::regclass")[0]
                .bool(0)
        }
        for table in ["error_code", "country", "control"] { #expect(try await analyzed(table), "\(table)") }
        for table in ["ready", "lease", "callback"] { #expect(try await !analyzed(table), "\(table)") }
    }

    @Test(.timed)
    func `A table that somebody reads for long is waited for in turns, and everybody else gets it meanwhile`()
        async throws
    {
        let files = try MigrationFiles(["0001_first": "CREATE SCHEMA insp; CREATE TABLE insp.t (n int)"])
        let database = try await ScratchDatabase.empty()
        let connection = try await database.connect()
        let migrator = files.migrator
        try await migrator.run(on: connection)
        try files.write("0002_more", "ALTER TABLE insp.t ADD COLUMN m int")
        let dump = try await database.connect(ConnectionOptions(name: "a long dump"))
        try await dump.execute("BEGIN; SELECT FROM insp.t")
        // Not for ever, and then it says whom it waited for.
        let error = await #expect(throws: PostgresError.self) {
            try await migrator.run(on: connection, waitingUpTo: .milliseconds(100))
        }
        #expect(error?.sqlState == "55P03")
        let backend = await dump.backend
        #expect(error?.message.hasPrefix("0002_more: ") == true)
        #expect(error?.message.contains("held by process \(backend) (role ") == true)
        #expect(error?.message.contains("a long dump") == true)
        let reports = Mutex<[String]>([])
        let running = Task {
            try await migrator.run(on: connection) { message in reports.withLock { $0.append(message) } }
        }
        let other = try await database.connect()
        var longest = Duration.zero
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(4) {
            let sent = ContinuousClock.now
            _ = try await other.query("SELECT count(*) FROM insp.t")
            longest = max(longest, ContinuousClock.now - sent)
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(longest < .seconds(3.5))
        #expect(reports.withLock { $0.count } >= 1)
        try await dump.execute("COMMIT")
        #expect(try await running.value(within: .seconds(120)).applied == ["0002_more"])
    }
}
