internal import InspectCore

/// Migrates a database to a folder's schema: the missing numbered scripts, then the changed functions files, all in one
/// transaction.
///
/// Safe when many processes run it at once: one works, the others wait for it and find nothing left to do. It waits for a
/// locked table two seconds at a time, with pauses in which others get it.
/// An applied numbered script must not change; its digest is stored and compared. A functions file may change: it is applied
/// again, and so are the files after it, which may depend on what it drops. A functions file is also applied again if one of its
/// objects is missing or was changed in the database. All other differences are reported.
package struct Migrator: Sendable {
    private let directory: String
    private let version: String?
    private let previous: String?

    /// - Parameters:
    ///   - directory: The folder that holds `NNNN_topic.sql`, `functions/topic.sql` and `roles.sql`.
    ///   - version: The program's version: nothing is changed under living workers of another. With nil, workers are ignored.
    ///   - previous: The previous release, whose workers continue under a newer schema.
    package init(directory: String, version: String? = nil, previous: String? = nil) {
        self.directory = directory
        self.version = version
        self.previous = previous
    }

    /// How long a script's statement may wait for a table: meanwhile, everyone else who needs the table waits behind it.
    private static let patience: Duration = .seconds(2)

    /// The outcome of ``run(on:waitingUpTo:report:)``.
    package struct Outcome: Sendable {
        /// The names of the files that were applied, in order.
        package var applied: [String] = []
        /// Functions files that the database had recorded and the folder no longer has.
        package var forgotten: [String] = []
        /// Functions, views and triggers in the schema `insp` that no file creates: leftovers of removed files, or somebody's own.
        /// They stay.
        package var unknown: [String] = []
        /// Differences from the files that no functions file restores: a dropped index, a right on a table, a policy. Includes
        /// `table public.insp_object` if it had to be created again.
        package var different: [String] = []
    }

    /// Scripts of 0.1.0, or of builds between it and 0.2.0, which started over.
    private static let first = ["0011_callback_dispatch", "0013_claim"]

    /// Applies what is missing or has changed.
    ///
    /// - Parameters:
    ///   - wait: The longest time to wait for another migrator, or for locked tables.
    ///   - report: Called with the reason for a wait.
    /// - Throws: ``PostgresError`` with ``PostgresError/Code/migration`` if an applied script has changed, one of its tables is
    ///   gone, the database is ahead of the folder, functions files depend on each other in a cycle, or there is no record of what
    ///   was applied; with ``PostgresError/Code/roleMissing``, ``PostgresError/Code/otherWorkers`` or
    ///   ``PostgresError/Code/firstVersion``; the server's error with the file's name if a file fails, and with the holders of
    ///   locks that it needs.
    @discardableResult
    package func run(
        on connection: PostgresConnection, waitingUpTo wait: Duration = .seconds(300),
        report: @Sendable (String) -> Void = { _ in }
    ) async throws -> Outcome {
        let folder = try MigrationFolder(self.directory)
        let deadline = ContinuousClock.now + wait
        var backoff = Backoff(from: .milliseconds(200), to: .seconds(10))
        while true {
            do {
                return try await connection.transaction { connection in try self.apply(folder, on: connection) }
            } catch let error as PostgresError where error.isContention {
                // Nothing was changed, and no lock is held during this wait, so others can use the tables meanwhile.
                let holders = try await Self.holders(on: connection)
                // The server names an index of its catalogue, which means nothing to an operator.
                let cause =
                    error.sqlState == "23505" ? "another migrator created public.insp_migration first" : error.message
                guard .now < deadline else {
                    throw PostgresError(error.code, sqlState: error.sqlState, "\(cause); \(holders)")
                }
                report("\(cause); \(holders); trying again")
                try await Task.sleep(for: backoff.next(Double.random(in: 0.5...1)))
            }
        }
    }

    /// What ``run(on:waitingUpTo:report:)`` would apply, forget or report as different.
    package func pending(on connection: PostgresConnection) async throws -> [String] {
        try await self.examine(on: connection).pending
    }

    /// - Returns: `pending` as by that name, and `unknown`: objects of the schema that no file makes, such as somebody's trigger.
    package func examine(on connection: PostgresConnection) async throws -> (pending: [String], unknown: [String]) {
        let folder = try MigrationFolder(self.directory)
        let plan = try await connection.transaction { connection in try Self.plan(folder, on: connection) }
        let unnoted = plan.isUnnoted ? [MigrationCatalogue.table] : []
        return (plan.apply.map(\.script.name) + plan.forget + unnoted + plan.different, plan.unknown.sorted())
    }

    /// Creates the roles that the cluster lacks; needs an administrator's right to create roles. Needed once for a cluster, safe at
    /// any time.
    ///
    /// - Returns: The roles that were missing.
    @discardableResult
    package func createRoles(on connection: PostgresConnection) async throws -> [String] {
        let folder = try MigrationFolder(rolesOf: self.directory)
        guard let script = folder.rolesScript else { throw PostgresError(.migration, "the folder has no roles.sql") }
        return try await connection.transaction { connection in
            let missing = try Self.missingRoles(folder, on: connection)
            guard !missing.isEmpty else { return [] }
            do {
                try connection.execute(script)
            } catch let error as PostgresError {
                throw PostgresError(error.code, sqlState: error.sqlState, "roles.sql: \(error.message)")
            }
            return missing
        }
    }

    /// Sessions that may keep the migrator waiting.
    private static func holders(on connection: PostgresConnection) async throws -> String {
        let rows = try await connection.query(
            """
            SELECT format('process %s (role %s, %s) for %s s', a.pid, a.usename,
                coalesce(nullif(a.application_name, ''), 'no name'), round(extract(epoch FROM clock_timestamp() - a.xact_start)))
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND a.xact_start < clock_timestamp() - interval '1 s'
                AND EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE l.pid = a.pid AND l.granted AND (n.nspname = 'insp' OR c.relname = 'insp_migration'))
            ORDER BY a.xact_start LIMIT 5
            """)
        if rows.isEmpty { return "its holder is gone" }
        return "held by " + (try rows.map { try $0.string(0) }).joined(separator: ", ")
    }

    private func apply(_ folder: MigrationFolder, on connection: isolated PostgresConnection) throws -> Outcome {
        // Functions files may name objects of later ones, and drop missing ones.
        try connection.execute(
            """
            SET LOCAL lock_timeout = '\(Self.patience.components.seconds)s';
            SET LOCAL check_function_bodies = off;
            SET LOCAL client_min_messages = warning
            """)
        let missing = try Self.missingRoles(folder, on: connection)
        guard missing.isEmpty else {
            throw PostgresError(
                .roleMissing,
                "roles are missing: \(missing.joined(separator: ", ")); an administrator creates them, once for a cluster, with inspectd migrate --roles"
            )
        }
        if !(try Self.isMigrated(on: connection)) {
            try connection.execute(
                """
                CREATE TABLE IF NOT EXISTS public.insp_migration (
                    name text PRIMARY KEY,
                    sha256 text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                );
                COMMENT ON TABLE public.insp_migration IS 'inspectd: files of Migrations/ that were applied'
                """)
        }
        // Until the end of the transaction, so it works through a pooler and ends with a killed process. A lock on the table,
        // which only its owner can take; any login could hold an advisory lock for ever.
        try connection.execute("LOCK TABLE public.insp_migration IN SHARE ROW EXCLUSIVE MODE")
        var plan = try Self.plan(folder, on: connection)
        let isUnnoted = plan.isUnnoted
        if isUnnoted {
            // Digests of the current state would hide manual changes.
            let made = try MigrationCatalogue.built(by: folder, on: connection)
            plan = try Self.plan(folder, made: made, on: connection)
        }
        guard !plan.apply.isEmpty || !plan.forget.isEmpty || plan.made.isEmpty || isUnnoted else {
            return Outcome(unknown: plan.unknown, different: plan.different)
        }
        if !plan.apply.isEmpty { try self.refuseOtherWorkers(on: connection) }
        // As in 0001_schema.sql: a backup restored without rights lacks it, and would grant each new function to everybody.
        try connection.execute("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
        try MigrationCatalogue.revoke(plan.restored, on: connection)
        for (script, digest) in plan.apply {
            _ = try connection.query(
                """
                INSERT INTO public.insp_migration (name, sha256) VALUES ($1, $2)
                ON CONFLICT (name) DO UPDATE SET sha256 = EXCLUDED.sha256, applied_at = now()
                """, [.text(script.name), .text(digest)])
            try script.apply(on: connection)
        }
        _ = try connection.query("DELETE FROM public.insp_migration WHERE name = ANY ($1)", [.textArray(plan.forget)])
        try Self.analyze(on: connection)
        // The applied files may have dropped some of them.
        let unknown = try Self.objects(folder, on: connection).filter { $0.count > $0.made }.map(\.name)
        let found = try MigrationCatalogue.found(on: connection)
        try MigrationCatalogue.note(
            made: plan.made, before: plan.found, after: found, isNoted: !isUnnoted, on: connection)
        let made = try MigrationCatalogue.made(on: connection)
        return Outcome(
            applied: plan.apply.map(\.script.name), forgotten: plan.forget, unknown: unknown,
            different: (isUnnoted ? [MigrationCatalogue.table] : [])
                + MigrationCatalogue.different(made: made, found: found).filter {
                    made[$0] != nil || !unknown.contains(MigrationCatalogue.name($0))
                })
    }

    private static func isMigrated(on connection: isolated PostgresConnection) throws -> Bool {
        // Both from one snapshot: another migrator creates them in one transaction.
        let row = try connection.query(
            """
            SELECT EXISTS (SELECT FROM pg_tables t WHERE t.schemaname = 'public' AND t.tablename = 'insp_migration'),
                EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = 'insp')
            """)[0]
        let isMigrated = try row.bool(0)
        guard try isMigrated || !row.bool(1) else {
            throw PostgresError(
                .migration,
                "the database has a schema insp and no public.insp_migration, which says what was applied: restore the whole database and not the schema alone, or drop the schema if it holds nothing"
            )
        }
        return isMigrated
    }

    /// All objects of the files, and all functions, views and triggers of the schema: how many of each name the database has, and
    /// how many the files create.
    private static func objects(_ folder: MigrationFolder, on connection: isolated PostgresConnection) throws
        -> [(name: String, count: Int, made: Int)]
    {
        try connection.query(
            """
            WITH object AS (
                SELECT 'function ' || p.pronamespace::regnamespace || '.' || p.proname AS name, p.pronamespace AS schema
                FROM pg_proc p
                UNION ALL
                SELECT CASE c.relkind WHEN 'v' THEN 'view ' ELSE 'table ' END || c.relnamespace::regnamespace || '.' || c.relname,
                    CASE c.relkind WHEN 'v' THEN c.relnamespace END
                FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v')
                UNION ALL
                SELECT format('trigger %s on %s.%s', t.tgname, c.relnamespace::regnamespace, c.relname), c.relnamespace
                FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND t.tgparentid = 0
            ), made AS (
                SELECT m.name, count(*) FROM unnest($1::text[]) AS m (name) GROUP BY m.name
            ), found AS (
                SELECT o.name, count(*) FROM object o
                WHERE o.schema = to_regnamespace('insp') OR o.name = ANY ($1::text[]) GROUP BY o.name
            )
            SELECT name, coalesce(f.count, 0), coalesce(m.count, 0) FROM found f FULL JOIN made m USING (name) ORDER BY name
            """, [.textArray(folder.scripts.flatMap(\.objects))]
        ).map { (name: try $0.string(0), count: Int(try $0.int(1)), made: Int(try $0.int(2))) }
    }

    /// The work of the migration.
    private struct Plan {
        /// Files with their digests, in order.
        var apply: [(script: MigrationFolder.Script, digest: String)] = []
        /// Recorded functions files that the folder no longer has.
        var forget: [String] = []
        /// Objects that no file creates.
        var unknown: [String] = []
        /// The stored digests and the current ones.
        var made: MigrationCatalogue.Digests = [:]
        var found: MigrationCatalogue.Digests = [:]
        /// Files were applied, but their digests are missing or from another major version of PostgreSQL.
        var isUnnoted = false
        /// The differences: those that functions files restore, and the rest.
        var restored: [String] = []
        var different: [String] = []
    }

    /// Compares the folder with the database's record.
    private static func plan(
        _ folder: MigrationFolder, made: MigrationCatalogue.Digests? = nil, on connection: isolated PostgresConnection
    ) throws -> Plan {
        // Definitions are printed differently under other settings, and scripts are written for these.
        try connection.execute(
            """
            SET LOCAL quote_all_identifiers = off; SET LOCAL standard_conforming_strings = on;
            SET LOCAL IntervalStyle = postgres
            """)
        var known: [String: String] = [:]
        if try Self.isMigrated(on: connection) {
            for row in try connection.query("SELECT name, sha256 FROM public.insp_migration") {
                known[try row.string(0)] = try row.string(1)
            }
        }
        let digests = try connection.query(
            "SELECT encode(sha256(convert_to(s.sql, 'UTF8')), 'hex') FROM unnest($1::text[]) WITH ORDINALITY AS s (sql, n) ORDER BY s.n",
            [.texts(folder.scripts.map(\.sql))]
        ).map { try $0.string(0) }
        let gone = Set(known.keys).subtracting(folder.scripts.map(\.name)).sorted()
        guard Set(gone).isDisjoint(with: Self.first) else {
            throw PostgresError(
                .firstVersion,
                "the database has the schema of inspectd 0.1.0 or of a build between it and 0.2.0, which cannot be brought up to date: create a new database, and let the old version finish the jobs of this one"
            )
        }
        if let newer = gone.first(where: { !$0.hasPrefix(MigrationFolder.functions) }) {
            throw PostgresError(
                .migration,
                "the database is ahead of the folder, which has no \(newer): use a newer inspectd, or its folder")
        }
        let objects = try Self.objects(folder, on: connection)
        let lacking = Set(objects.filter { $0.count < $0.made }.map(\.name))
        var plan = Plan(forget: gone, unknown: objects.filter { $0.count > $0.made }.map(\.name))
        plan.made = try made ?? MigrationCatalogue.made(on: connection)
        plan.found = try MigrationCatalogue.found(on: connection)
        plan.isUnnoted = plan.made.isEmpty && !plan.found.isEmpty && !known.isEmpty
        let restorable = Set(folder.scripts.filter { !$0.isNumbered }.flatMap(\.objects))
        var changed: Set<String> = []
        for object in MigrationCatalogue.different(made: plan.made, found: plan.found) {
            let name = MigrationCatalogue.name(object)
            // A missing object is found by its name, and one that no file creates is unknown. Somebody's own overload
            // makes the name unknown, and must not hide a change of the file's own function.
            if plan.made[object] == nil, plan.unknown.contains(name) { continue }
            if restorable.contains(name), plan.made[object] != nil {
                changed.insert(name)
                plan.restored.append(object)
            } else {
                plan.different.append(object)
            }
        }
        var fresh: Set<String> = []
        for (script, digest) in zip(folder.scripts, digests) {
            let lacks = lacking.intersection(script.objects).min()
            let isChanged = !script.isNumbered && !changed.isDisjoint(with: script.objects)
            if let lacks, script.isNumbered, known[script.name] != nil {
                throw PostgresError(
                    .migration, "the database lacks \(lacks), which \(script.name) made: restore it from a backup")
            }
            if known[script.name] == digest, script.after.isDisjoint(with: fresh), lacks == nil, !isChanged { continue }
            guard known[script.name] == nil || !script.isNumbered else {
                throw PostgresError(.migration, "\(script.name) was changed after it was applied")
            }
            fresh.insert(script.name)
            plan.apply.append((script, digest))
        }
        return plan
    }

    private static func missingRoles(_ folder: MigrationFolder, on connection: isolated PostgresConnection) throws
        -> [String]
    {
        try connection.query(
            "SELECT r FROM unnest($1::text[]) AS r WHERE NOT EXISTS (SELECT FROM pg_roles p WHERE p.rolname = r) ORDER BY r",
            [.textArray(folder.roles)]
        ).map { try $0.string(0) }
    }

    /// A living worker calls functions of its own version, which the schema of the next one still has.
    private func refuseOtherWorkers(on connection: isolated PostgresConnection) throws {
        guard let version, try connection.query("SELECT to_regclass('insp.worker') IS NOT NULL")[0].bool(0) else {
            return
        }
        let others = try connection.query(
            """
            SELECT format('worker %s of version %s on %s', w.id, w.version, w.host) FROM insp.worker w
            WHERE w.version <> ALL ($1) AND w.heartbeat_at > clock_timestamp() - interval '15 s' ORDER BY w.id
            """, [.textArray([version] + (self.previous.map { [$0] } ?? []))]
        ).map { try $0.string(0) }
        guard let one = others.first else { return }
        let more = others.count > 1 ? " and \(others.count - 1) more" : ""
        throw PostgresError(
            .otherWorkers,
            "\(one)\(more) is alive, and this is version \(version): stop them, migrate, start workers of \(version)")
    }

    /// PostgreSQL takes tables that were never analyzed for far larger than the few rows that scripts and operators put there, and
    /// then spends seconds on compiling a view's query. Autovacuum ignores so few rows. Empty tables are left alone: a plan made
    /// for an empty table performs badly once a queue fills.
    private static func analyze(on connection: isolated PostgresConnection) throws {
        let tables = try connection.query(
            """
            SELECT string_agg(c.oid::regclass::text, ', ' ORDER BY c.oid::regclass::text) FROM pg_class c
            WHERE c.relnamespace = to_regnamespace('insp') AND c.relkind = 'r' AND c.reltuples < 0
                AND pg_relation_size(c.oid) BETWEEN 1 AND 1048576
            """)[0].optionalString(0)
        if let tables { try connection.execute("ANALYZE (SKIP_LOCKED) \(tables)") }
    }
}

extension PostgresError {
    /// Others are at work: a lock was unavailable, two sessions deadlocked, or another migrator created its table first.
    fileprivate var isContention: Bool {
        switch self.sqlState {
        case "55P03", "40P01": true
        case "23505": ["pg_type_typname_nsp_index", "pg_class_relname_nsp_index"].contains(self.constraint)
        default: false
        }
    }
}
