import Foundation
import Postgres
import TestSupport
import Testing

/// Every role against every object of the schema, and both against the table of deploy/DEPLOYING.md.
@Suite struct RightsTests {
    /// A right: `insp_worker call claim`, `insp_operator read v_queue`, `insp_auditor read endpoint(url)`.
    private typealias Rights = Set<String>

    /// The manual's table under "Rights": a column for each role, rows of objects with `read`, `call` or a dash.
    private static func manual() throws -> (roles: Set<String>, rights: Rights) {
        let text = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/DEPLOYING.md", encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## Rights\n").dropFirst().first)
        let rows = try #require(section.components(separatedBy: "\n## ").first)
            .split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.dropFirst(2).dropLast(2).components(separatedBy: " | ") }
        let roles = try #require(rows.first).dropFirst().map { "insp_" + $0 }
        var rights: Rights = []
        for row in rows.dropFirst() {
            #expect(row.count == roles.count + 1, "a row of the table has \(row.count) cells: \(row[0])")
            let names = row[0].matches(of: /`([^`]+)`/).map { String($0.1) }
            #expect(!names.isEmpty, "a row names no object: \(row[0])")
            for (role, verb) in zip(roles, row.dropFirst()) where verb != "–" {
                #expect(["read", "call"].contains(verb), "\(row[0]): \(verb)")
                for name in names { rights.formUnion(Self.columns(name).map { "\(role) \(verb) \($0)" }) }
            }
        }
        return (Set(roles), rights)
    }

    /// `endpoint(id, url)` as `endpoint(id)` and `endpoint(url)`.
    private static func columns(_ name: String) -> [String] {
        guard let match = name.wholeMatch(of: /(\w+)\((.+)\)/) else { return [name] }
        return match.2.components(separatedBy: ", ").map { "\(match.1)(\($0))" }
    }

    /// What the catalogue says each of the roles may do, the role of nobody (`public`) included.
    private static func granted(_ connection: PostgresConnection) async throws -> Rights {
        let rows = try await connection.query(
            """
            WITH roles AS (
                SELECT rolname::text AS role FROM pg_roles WHERE rolname ~ '^insp_' UNION ALL SELECT 'public'
            ), relations AS (
                SELECT c.oid, c.relkind, CASE WHEN c.relnamespace = 'insp'::regnamespace THEN '' ELSE 'public.' END || c.relname AS name
                FROM pg_class c
                WHERE c.relnamespace IN ('insp'::regnamespace, 'public'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
                    AND c.relname !~ '^pg_stat_statements'
            )
            SELECT role || ' ' || CASE p WHEN 'SELECT' THEN 'read' ELSE lower(p) END || ' ' || name
            FROM roles, relations, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
            WHERE relkind <> 'S' AND has_table_privilege(role, oid, p)
            UNION ALL
            SELECT role || ' ' || lower(p) || ' ' || name
            FROM roles, relations, unnest(ARRAY['SELECT', 'USAGE', 'UPDATE']) p
            WHERE CASE WHEN relkind = 'S' THEN has_sequence_privilege(role, oid, p) ELSE false END
            UNION ALL
            SELECT role || ' ' || CASE p WHEN 'SELECT' THEN 'read' ELSE lower(p) END || ' ' || name || '(' || attname || ')'
            FROM roles, relations JOIN pg_attribute a ON a.attrelid = oid AND a.attnum > 0 AND NOT a.attisdropped,
                unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p
            WHERE CASE WHEN relkind <> 'S' THEN has_column_privilege(role, oid, a.attnum, p)
                AND NOT has_table_privilege(role, oid, p) ELSE false END
            UNION ALL
            -- Functions of one name that not all have the same rights are named with their types.
            SELECT DISTINCT role || ' call ' || CASE WHEN bool_and(may) OVER w THEN proname ELSE signature END
            FROM (SELECT role, p.proname::text, p.oid::regprocedure::text AS signature,
                    has_function_privilege(role, p.oid, 'EXECUTE') AS may
                FROM roles, pg_proc p WHERE p.pronamespace = 'insp'::regnamespace) f
            WHERE may OR false WINDOW w AS (PARTITION BY role, proname)
            UNION ALL
            SELECT role || ' create schema ' || s FROM roles, unnest(ARRAY['insp', 'public']) s
            WHERE has_schema_privilege(role, s, 'CREATE')
            UNION ALL
            SELECT 'public use schema insp' WHERE has_schema_privilege('public', 'insp', 'USAGE')
            """)
        return Set(try rows.map { try $0.string(0) })
    }

    @Test func `Each role has the rights of the manual's table, and no other`() async throws {
        let fixture = try await QueueFixture()
        let (roles, stated) = try Self.manual()
        let granted = try await Self.granted(fixture.admin)
        #expect(granted.count > 100 && stated.count > 100)
        for right in granted.subtracting(stated).sorted() {
            Issue.record("granted, and not in the table under Rights of deploy/DEPLOYING.md: \(right)")
        }
        for right in stated.subtracting(granted).sorted() {
            Issue.record("in the table under Rights of deploy/DEPLOYING.md, and not granted: \(right)")
        }
        let groups = try await fixture.admin.query(
            """
            SELECT rolname FROM pg_roles r WHERE rolname ~ '^insp_' AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolcanlogin
                OR rolreplication OR rolbypassrls OR EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid))
            """)
        #expect(
            try groups.map { try $0.string(0) } == [], "groups log in nowhere and may nothing but what is granted here")
        let all = try await fixture.admin.query("SELECT rolname FROM pg_roles WHERE rolname ~ '^insp_'")
        #expect(Set(try all.map { try $0.string(0) }) == roles, "the table has a column for each group")
    }

    @Test(arguments: [
        "callback(url)", "callback(traceparent)", "callback_waiting(ordering_key)", "callback_lease(ordering_key)",
    ])
    func `No group can read what may identify a person in a callback`(column: String) async throws {
        let fixture = try await QueueFixture()
        let table = column.prefix { $0 != "(" }
        let readers = try await Self.granted(fixture.admin).filter {
            $0.hasSuffix("read \(column)") || $0.hasSuffix("read \(table)")
        }
        #expect(readers == [])
        let id = try await fixture.client.enqueue(
            payload: Data(
                QueueFixture.byURL.replacing(
                    "}}}", with: #"}},"callbackUrl":"https://hooks.example.com/for/zqmark?x"}"#
                ).utf8))
        try await fixture.admin.execute("SELECT insp.cancel('\(id)'); SET ROLE insp_auditor")
        let row = try await fixture.admin.query("SELECT origin, v::text LIKE '%zqmark%' FROM insp.v_callback v")[0]
        #expect(try row.string(0) == "https://hooks.example.com")
        #expect(try !row.bool(1))
    }

    /// Tries to read each relation and to call each function as each role, and undoes what that did.
    private static let attempts = """
        CREATE FUNCTION pg_temp.attempts() RETURNS SETOF text LANGUAGE plpgsql SET jit = off AS $$
        DECLARE
            r text;
            o record;
            message text;
        BEGIN
            FOR r IN SELECT rolname FROM pg_roles WHERE rolname ~ '^insp_' LOOP
                FOR o IN
                    SELECT 'read ' || c.relname AS what, format(CASE c.relkind WHEN 'S' THEN 'SELECT last_value FROM insp.%I'
                            ELSE 'SELECT count(x::text) FROM insp.%I x' END, c.relname) AS statement
                    FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
                    UNION ALL
                    SELECT 'call ' || p.proname,
                        -- Not with constants: what is null by itself would not be called.
                        format('SELECT insp.%I(%s) FROM (SELECT %s OFFSET 0) v', p.proname,
                            (SELECT string_agg('v.a' || n, ', ' ORDER BY n)
                             FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)),
                            (SELECT string_agg(format('NULL::%s AS a%s', format_type(t, NULL), n), ', ' ORDER BY n)
                             FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)))
                    FROM pg_proc p WHERE p.pronamespace = 'insp'::regnamespace AND p.prokind = 'f'
                        AND p.prorettype <> 'trigger'::regtype
                LOOP
                    message := '';
                    BEGIN
                        PERFORM set_config('role', r, true);
                        EXECUTE o.statement;
                        RAISE EXCEPTION 'undone' USING ERRCODE = 'UNDON';
                    EXCEPTION WHEN insufficient_privilege THEN
                        GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
                    WHEN OTHERS THEN NULL;
                    END;
                    -- What a call is refused inside is another matter; what cannot be read to its end cannot be read.
                    IF message = '' OR o.what LIKE 'call %' AND message NOT LIKE 'permission denied for function ' || substr(o.what, 6) THEN
                        RETURN NEXT r || ' ' || o.what;
                    END IF;
                END LOOP;
            END LOOP;
        END
        $$
        """

    @Test func `Each role can do what it may, and is refused everything else`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(Self.attempts)
        let done = Set(
            try await fixture.admin.query("SELECT pg_temp.attempts()", timeout: .seconds(120)).map { try $0.string(0) })
        // Rights on columns alone are none on the whole.
        let granted = try await Self.granted(fixture.admin).filter { !$0.hasSuffix(")") && !$0.hasPrefix("public ") }
        for right in done.subtracting(granted).sorted() { Issue.record("done without a right: \(right)") }
        for right in granted.subtracting(done).sorted() where right.contains(" read ") || right.contains(" call ") {
            Issue.record("granted, and refused: \(right)")
        }
    }
}
