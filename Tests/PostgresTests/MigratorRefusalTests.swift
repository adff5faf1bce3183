import Postgres
import TestSupport
import Testing

@Suite struct MigratorRefusalTests {
    @Test func `A script that changed after it was applied is refused`() async throws {
        let files = try MigrationFiles(["0001_first": "CREATE TABLE public.t (n int)"])
        let connection = try await ScratchDatabase.empty().connect()
        #expect(try await files.migrator.run(on: connection).applied == ["0001_first"])
        try files.write("0001_first", "CREATE TABLE public.t (n bigint)")
        let error = await #expect(throws: PostgresError.self) { try await files.migrator.run(on: connection) }
        #expect(error?.code == .migration)
        #expect(error?.message == "0001_first was changed after it was applied")
    }

    @Test func `A schema without the table that says what was applied is refused with what to do`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute("DROP TABLE public.insp_migration")
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        for isPending in [false, true] {
            let error = await #expect(throws: PostgresError.self) {
                isPending
                    ? try await migrator.pending(on: connection) : try await migrator.run(on: connection).applied
            }
            #expect(error?.code == .migration)
            #expect(error?.message.contains("restore the whole database") == true)
        }
        #expect(try await connection.query("SELECT to_regclass('public.insp_migration') IS NULL")[0].bool(0))
    }

    @Test func `A database that is ahead of the folder is refused, and one of the first version by its own name`()
        async throws
    {
        let files = try MigrationFiles(["0001_first": "SELECT 1", "0002_more": "SELECT 1"])
        let connection = try await ScratchDatabase.empty().connect()
        try await files.migrator.run(on: connection)
        try files.remove("0002_more")
        let ahead = await #expect(throws: PostgresError.self) { try await files.migrator.run(on: connection) }
        #expect(ahead?.code == .migration)
        #expect(ahead?.message.contains("ahead of the folder, which has no 0002_more") == true)
        // Also where its first script is named as one of today's.
        try await connection.execute(
            """
            UPDATE public.insp_migration SET sha256 = 'other';
            INSERT INTO public.insp_migration VALUES ('0011_callback_dispatch', ''), ('0013_claim', '')
            """)
        for isPending in [false, true] {
            let first = await #expect(throws: PostgresError.self) {
                isPending
                    ? try await files.migrator.pending(on: connection)
                    : try await files.migrator.run(on: connection).applied
            }
            #expect(first?.code == .firstVersion)
            #expect(first?.message.contains("inspectd 0.1.0") == true)
        }
    }

    @Test func `Living workers of the release before go on while the schema changes`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        func applied(beside version: String) async throws -> [String] {
            try await connection.execute(
                """
                UPDATE public.insp_migration SET sha256 = 'older' WHERE name = 'functions/urls';
                DELETE FROM insp.worker;
                INSERT INTO insp.worker (incarnation, host, process, version, lanes, slots)
                VALUES (gen_random_uuid(), 'host9', 1, '\(version)', '{0}', 1)
                """)
            return try await Migrator(directory: ScratchDatabase.migrations, version: "3", previous: "2")
                .run(on: connection).applied
        }
        #expect(try await applied(beside: "2").contains("functions/urls"))
        #expect(try await applied(beside: "3").contains("functions/urls"))
        for version in ["1", "4"] {
            let error = await #expect(throws: PostgresError.self) { try await applied(beside: version) }
            #expect(error?.code == .otherWorkers, "\(version)")
        }
    }

    @Test func `Nothing changes under a living worker of another version`() async throws {
        let database = try await ScratchDatabase.migrated()
        let connection = try await database.connect()
        func beat(_ version: String, _ seconds: Int) async throws {
            try await connection.execute(
                """
                INSERT INTO insp.worker (incarnation, host, process, version, lanes, slots, heartbeat_at)
                VALUES (gen_random_uuid(), 'host9', 1, '\(version)', '{0}', 1, now() - interval '\(seconds) s')
                """)
        }
        let migrator = Migrator(directory: ScratchDatabase.migrations, version: "2")
        // Nothing to do: nothing to refuse. What is dead does not matter, nor who is of this version.
        try await beat("1", 0)
        #expect(try await migrator.run(on: connection).applied.isEmpty)
        try await connection.execute("DELETE FROM insp.worker")
        try await beat("1", 20)
        try await beat("2", 0)
        let undo =
            "UPDATE public.insp_migration SET sha256 = 'older' WHERE name = (SELECT max(name) FROM public.insp_migration WHERE name ~ '^functions')"
        try await connection.execute(undo)
        #expect(try await migrator.run(on: connection).applied.count >= 1)
        try await connection.execute(undo)
        try await beat("1", 1)
        try await beat("3", -3600)
        let error = await #expect(throws: PostgresError.self) { try await migrator.run(on: connection) }
        #expect(error?.code == .otherWorkers)
        #expect(error?.message.contains("of version 1 on host9 and 1 more is alive, and this is version 2") == true)
        #expect(try await migrator.pending(on: connection).count >= 1)
    }
}
