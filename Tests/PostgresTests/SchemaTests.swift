import Foundation
import Postgres
import TestSupport
import Testing

/// What stands where in `Migrations/`, and whether all of it can be read. A new database is built file by file, so that the catalog says what
/// each of them makes and touches.
@Suite struct SchemaTests {
    /// Functions, views and triggers, each with the transaction that wrote it last; a GRANT counts.
    private static let objects = """
        SELECT 'function ' || p.oid::regprocedure AS object, p.xmin::text FROM pg_proc p
        WHERE p.pronamespace = to_regnamespace('insp')
        UNION ALL SELECT 'view ' || c.oid::regclass, r.xmin::text || c.xmin::text
        FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relnamespace = to_regnamespace('insp')
        UNION ALL SELECT format('trigger %s on %s', t.tgname, t.tgrelid::regclass), t.xmin::text
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = to_regnamespace('insp') AND NOT t.tgisinternal AND t.tgparentid = 0
        """

    /// Everything else that a schema holds; partitions come and go.
    private static let rest = """
        SELECT format('%s %s', c.relkind, c.oid::regclass), c.oid::text FROM pg_class c
        WHERE c.relnamespace = to_regnamespace('insp') AND c.relkind IN ('r', 'p', 'i', 'I', 'S', 'c', 'm') AND NOT c.relispartition
            AND c.relname !~ '_p[0-9]{6}'
        UNION ALL SELECT 'type ' || t.oid::regtype, t.oid::text FROM pg_type t
        WHERE t.typnamespace = to_regnamespace('insp') AND t.typtype IN ('d', 'e', 'r')
        UNION ALL SELECT format('constraint %s on %s', c.conname, c.conrelid::regclass), c.oid::text
        FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        WHERE c.connamespace = to_regnamespace('insp') AND c.contype <> 't' AND t.relname !~ '_p[0-9]{6}'
        UNION ALL SELECT format('column %s of %s', a.attname, c.oid::regclass),
            concat_ws(' ', a.atttypid, a.atttypmod, a.attnotnull, a.atthasdef, a.attacl)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = to_regnamespace('insp') AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND c.relname !~ '_p[0-9]{6}'
        """

    private static func look(_ query: String, _ connection: PostgresConnection) async throws -> [String: String] {
        let rows = try await connection.query(query)
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.string(0), try $0.string(1)) })
    }

    /// How many functions, views and triggers a file makes by its text, bodies left out.
    private static func statements(_ sql: String) -> Int {
        sql.replacing(/\$(\w*)\$(?s:.*?)\$\1\$/, with: "").matches(
            of: /(?m)^CREATE (OR REPLACE )?(CONSTRAINT )?(FUNCTION|PROCEDURE|AGGREGATE|VIEW|TRIGGER)\s/
        ).count
    }

    @Test(.timeLimit(.minutes(5)))
    func
        `Every function, view and trigger stands in one file of functions, and once; everything else in numbered scripts`()
        async throws
    {
        let connection = try await ScratchDatabase.empty().connect()
        let order = try await Migrator(directory: ScratchDatabase.migrations).pending(on: connection)
        #expect(order.contains { $0.hasPrefix("functions/") })
        let files = try MigrationFiles([:])
        var home: [String: String] = [:]
        var objects: [String: String] = [:]
        var rest: [String: String] = [:]
        for name in order {
            let text = try String(contentsOfFile: "\(ScratchDatabase.migrations)/\(name).sql", encoding: .utf8)
            try files.write(name, text)
            // Without a grant of its own, a role is all that a file could make that no schema holds.
            #expect(!text.contains(/(?i)\b(CREATE|ALTER|DROP) (ROLE|USER|GROUP)\b/), "\(name)")
            let outcome = try await files.migrator.run(on: connection)
            #expect(outcome.applied == [name] && outcome.unknown == [], "\(name): \(outcome.unknown)")
            let (then, those) = (objects, rest)
            objects = try await Self.look(Self.objects, connection)
            rest = try await Self.look(Self.rest, connection)
            #expect(objects.count >= then.count, "\(name) drops what another file made")
            for (object, version) in objects where then[object] == nil {
                #expect(name.hasPrefix("functions/"), "\(name) makes \(object)")
                home[object] = name
                #expect(!version.isEmpty)
            }
            for (object, version) in then where objects[object] != version {
                Issue.record("\(object) stands in \(home[object] ?? "?") and is touched by \(name)")
            }
            if name.hasPrefix("functions/") {
                #expect(objects.count - then.count == Self.statements(text), "\(name) says something twice")
                let changed = Set(rest.keys).union(those.keys).filter { rest[$0] != those[$0] }
                #expect(changed.isEmpty, "\(name) makes or changes what belongs to a numbered script")
            }
        }
        #expect(home.count > 150)
        // The same as all at once.
        let whole = try await ScratchDatabase.migrated().connect()
        #expect(try await Set(Self.look(Self.objects, whole).keys) == Set(home.keys))
        #expect(try await Set(Self.look(Self.rest, whole).keys) == Set(rest.keys))
    }

    @Test func `No default, check or index calls a function of the schema`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        // All that depends on a function but what may: views, triggers, other functions.
        let users = try await connection.query(
            """
            SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ' calls ' || p.oid::regprocedure
            FROM pg_depend d JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
            WHERE p.pronamespace = 'insp'::regnamespace
                AND d.classid NOT IN ('pg_rewrite'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass)
            """
        ).map { try $0.string(0) }
        #expect(users == [])
    }

    /// What plpgsql_check says of a function and may stand, each with its reason.
    private static let exceptions: [(function: String, message: String)] = [
        // It locks rows, if only for a moment, and is asked again in the same statement's transaction.
        ("insp.locked_jobs", "routine is marked as VOLATILE, should be STABLE"),
        // Its statement must see what the last holder of the endpoints' locks committed.
        ("insp.callback_permits", "routine is marked as VOLATILE, should be STABLE"),
        // ALTER TABLE with names that format(%I) and regclass quoted.
        ("insp.sample_nothing", "routine is marked as VOLATILE, should be STABLE"),
        ("insp.sample_nothing", "text type variable is not sanitized"),
        // insp.approval_call makes it of names in the catalogue, and quotes the values.
        ("insp.approve", "text type variable is not sanitized"),
        // An UPDATE with the names of columns, which format(%I) quoted.
        ("insp.follow_partner", "the expression is not SQL injection safe"),
        // Its rows come by RETURN QUERY EXECUTE.
        ("insp.recently_finished", "is maybe unmodified"),
        // insp.refuse returns to nobody.
        ("insp.request_time", "control reached end of function without RETURN"),
        // Callers write window => '1 minute'.
        ("insp.set_face_limits", "name of parameter \"window\" is reserved keyword"),
    ]

    @Test(.timeLimit(.minutes(5)))
    func `Bodies of functions are without a finding`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        try await connection.execute("CREATE EXTENSION plpgsql_check")
        let functions =
            "p.pronamespace = 'insp'::regnamespace AND p.prolang = (SELECT l.oid FROM pg_language l WHERE l.lanname ="
        // A trigger's function is read with each of its tables; one without a trigger would be left out, and serves nobody.
        let idle = try await connection.query(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'insp'::regnamespace
                AND p.prorettype = 'trigger'::regtype AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgfoid = p.oid)
            """
        ).map { try $0.string(0) }
        #expect(idle == [])
        // All kinds of warning, but for the widths of numbers in assignments, which cost nothing that can be measured.
        let findings = try await connection.query(
            """
            WITH subject AS (
                SELECT p.oid, 0::oid AS relation, NULL::name AS old, NULL::name AS new FROM pg_proc p
                WHERE \(functions) 'plpgsql') AND p.prorettype <> 'trigger'::regtype
                UNION ALL
                SELECT DISTINCT p.oid, t.tgrelid, t.tgoldtable, t.tgnewtable FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                WHERE \(functions) 'plpgsql') AND NOT t.tgisinternal AND t.tgparentid = 0
            )
            SELECT s.oid::regproc::text, concat_ws(' ', c.level || ':', c.message, c.detail), c.lineno
            FROM subject s, LATERAL plpgsql_check_function_tb(s.oid, s.relation, fatal_errors => false, oldtable => s.old,
                newtable => s.new, other_warnings => true, extra_warnings => true, performance_warnings => true,
                security_warnings => true, compatibility_warnings => true) c
            WHERE NOT (c.level = 'performance' AND c.message = 'target type is different type than source type')
            ORDER BY 1, 3
            """, timeout: .seconds(120)
        ).map { (function: try $0.string(0), message: try $0.string(1), line: try $0.optionalInt(2) ?? 0) }
        for finding in findings
        where !Self.exceptions.contains(where: {
            $0.function == finding.function && finding.message.contains($0.message)
        }) {
            Issue.record("\(finding.function), line \(finding.line): \(finding.message)")
        }
        for exception in Self.exceptions {
            #expect(
                findings.contains { $0.function == exception.function && $0.message.contains(exception.message) },
                "\(exception.function) needs its exception no more")
        }
        // What a migration leaves unread, because a body may name what a later file makes.
        let read = try await connection.query(
            """
            SELECT count(fmgr_sql_validator(p.oid)) FROM pg_proc p WHERE \(functions) 'sql')
            """)
        #expect(try read[0].int(0) > 30)
        let languages = try await connection.query(
            """
            SELECT DISTINCT l.lanname::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
            WHERE p.pronamespace = 'insp'::regnamespace ORDER BY 1
            """
        ).map { try $0.string(0) }
        #expect(languages == ["plpgsql", "sql"])
    }
}
