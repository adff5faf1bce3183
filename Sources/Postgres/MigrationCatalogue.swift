/// Digests of the catalogue's entries for each object of the schema `insp`: definitions, settings, rights and comments.
///
/// The digests of the objects as the files created them are kept in `public.insp_object`. Comparing with a second copy of the
/// schema would need no table, but would lock the schema's name for seconds: only if the table is missing is that done
/// (``built(by:on:)``). Partitions come and go and are left out, except for rights of their own, which none has; so are owners,
/// which a restored backup may change.
enum MigrationCatalogue {
    /// One object: `function insp.wake(p_lane smallint)`, `index insp.job_pkey`, `column insp.job.id`.
    typealias Digests = [String: String]

    /// Who has which right on an object, other than its owner. Without an entry an object has the server's defaults.
    private static func rights(_ acl: String, _ type: String, owner: String) -> String {
        """
        (SELECT string_agg(format('%s %s %s', CASE x.grantee WHEN 0 THEN 'public' ELSE x.grantee::regrole::text END,
                x.privilege_type, x.is_grantable), ', ' ORDER BY x.grantee::regrole::text, x.privilege_type, x.is_grantable)
            FROM aclexplode(coalesce(\(acl), acldefault('\(type)', \(owner)))) x WHERE x.grantee <> \(owner))
        """
    }

    private static let query = """
        WITH relation AS (
            SELECT c.* FROM pg_class c
            WHERE c.relnamespace = to_regnamespace('insp') AND NOT c.relispartition AND c.relname !~ '_p[0-9]{6}'
        ), object AS (
            SELECT 'schema insp' AS name, ARRAY[\(rights("n.nspacl", "n", owner: "n.nspowner")), obj_description(n.oid, 'pg_namespace')] AS facts
            FROM pg_namespace n WHERE n.nspname = 'insp'
            UNION ALL
            SELECT 'default rights of ' || d.defaclobjtype::text, ARRAY[\(rights("d.defaclacl", "f", owner: "d.defaclrole"))]
            FROM pg_default_acl d WHERE d.defaclnamespace = to_regnamespace('insp')
            UNION ALL
            SELECT 'function ' || p.oid::regprocedure, ARRAY[pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'),
                \(rights("p.proacl", "f", owner: "p.proowner"))]
            FROM pg_proc p WHERE p.pronamespace = to_regnamespace('insp') AND p.prokind IN ('f', 'p')
            UNION ALL
            SELECT CASE c.relkind WHEN 'v' THEN 'view ' WHEN 'S' THEN 'sequence ' WHEN 'c' THEN 'type ' ELSE 'table ' END
                || c.oid::regclass, ARRAY[c.relkind::text, c.relpersistence::text, c.reloptions::text, c.relrowsecurity::text,
                c.relforcerowsecurity::text, obj_description(c.oid, 'pg_class'), pg_get_partkeydef(c.oid),
                -- A view's columns come and go with it.
                CASE c.relkind WHEN 'v' THEN concat(pg_get_viewdef(c.oid), (
                    SELECT jsonb_agg(jsonb_build_array(a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum),
                        a.attacl::text) ORDER BY a.attnum)
                    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)) END,
                (SELECT concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle)
                    FROM pg_sequence s WHERE s.seqrelid = c.oid),
                \(rights("c.relacl", "r", owner: "c.relowner"))]
            FROM relation c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'c', 'S')
            UNION ALL
            SELECT format('column %s.%I', c.oid::regclass, a.attname), ARRAY[format_type(a.atttypid, a.atttypmod),
                a.attnotnull::text, pg_get_expr(d.adbin, d.adrelid), a.attidentity::text, a.attgenerated::text, a.attstorage::text,
                a.attoptions::text, col_description(c.oid, a.attnum),
                \(rights("a.attacl", "c", owner: "c.relowner"))]
            FROM relation c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
            WHERE c.relkind IN ('r', 'p', 'm', 'c')
            UNION ALL
            SELECT format('constraint %I on %s', k.conname, c.oid::regclass), ARRAY[pg_get_constraintdef(k.oid), k.convalidated::text,
                obj_description(k.oid, 'pg_constraint')]
            FROM pg_constraint k JOIN relation c ON c.oid = k.conrelid WHERE k.contype <> 't'
            UNION ALL
            SELECT 'index ' || c.oid::regclass, ARRAY[pg_get_indexdef(c.oid), i.indisvalid::text, obj_description(c.oid, 'pg_class')]
            FROM relation c JOIN pg_index i ON i.indexrelid = c.oid
            UNION ALL
            SELECT format('trigger %s on %s', t.tgname, c.oid::regclass), ARRAY[pg_get_triggerdef(t.oid), t.tgenabled::text,
                obj_description(t.oid, 'pg_trigger')]
            FROM pg_trigger t JOIN relation c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
            UNION ALL
            SELECT format('rule %s on %s', r.rulename, c.oid::regclass), ARRAY[pg_get_ruledef(r.oid), r.ev_enabled::text]
            FROM pg_rewrite r JOIN relation c ON c.oid = r.ev_class WHERE r.rulename <> '_RETURN'
            UNION ALL
            SELECT format('policy %s on %s', p.polname, c.oid::regclass), ARRAY[p.polcmd::text, p.polpermissive::text,
                (SELECT string_agg(CASE r WHEN 0 THEN 'public' ELSE r::regrole::text END, ',' ORDER BY r::regrole::text)
                    FROM unnest(p.polroles) AS r), pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)]
            FROM pg_policy p JOIN relation c ON c.oid = p.polrelid
            UNION ALL
            SELECT 'rights on ' || c.oid::regclass, ARRAY[r.rights, a.rights]
            FROM pg_class c CROSS JOIN LATERAL (SELECT \(rights("c.relacl", "r", owner: "c.relowner")) AS rights) r
                CROSS JOIN LATERAL (SELECT string_agg(concat(x.attname, x.attacl::text), ', ' ORDER BY x.attnum) AS rights
                    FROM pg_attribute x WHERE x.attrelid = c.oid AND x.attacl IS NOT NULL) a
            WHERE c.relnamespace = to_regnamespace('insp') AND c.relispartition AND c.relkind = 'r'
                AND num_nonnulls(r.rights, a.rights) > 0
        )
        SELECT name, encode(sha256(convert_to(facts::text, 'UTF8')), 'hex') FROM object
        """

    /// The current digests.
    static func found(on connection: isolated PostgresConnection) throws -> Digests {
        // Names are written in full, whatever the session's search path.
        let path = try connection.query("SELECT current_setting('search_path')")[0].string(0)
        let set = "SELECT set_config('search_path', $1, true)"
        _ = try connection.query(set, [.text("pg_catalog")])
        let digests = try self.digests(connection.query(self.query))
        _ = try connection.query(set, [.text(path)])
        return digests
    }

    /// The digests after the files were last applied; empty if no migrator has stored them.
    static func made(on connection: isolated PostgresConnection) throws -> Digests {
        guard try connection.query("SELECT to_regclass('public.insp_object') IS NOT NULL")[0].bool(0) else {
            return [:]
        }
        // A later major version of PostgreSQL prints the same definitions differently.
        return try self.digests(
            connection.query(
                """
                SELECT name, sha256 FROM public.insp_object
                WHERE server = current_setting('server_version_num')::integer / 10000
                """))
    }

    /// The digests of what the files create: all are applied to a second schema next to the existing one, and rolled back.
    static func built(by folder: MigrationFolder, on connection: isolated PostgresConnection) throws -> Digests {
        // Other sessions would see the name and the new schema only after a commit, which never comes.
        do {
            try connection.execute(
                "SAVEPOINT built; ALTER SCHEMA insp RENAME TO insp_kept_\(UInt32.random(in: .min ... .max))")
        } catch let error as PostgresError where error.sqlState == "42501" {
            throw PostgresError(
                error.code, sqlState: error.sqlState, error.message,
                hint: "without public.insp_object the schema is built again: GRANT CREATE ON DATABASE"
                    + " to the migrating role")
        }
        for script in folder.scripts { try script.apply(on: connection) }
        let digests = try self.found(on: connection)
        try connection.execute("ROLLBACK TO SAVEPOINT built; RELEASE SAVEPOINT built")
        return digests
    }

    private static func digests(_ rows: [PostgresRow]) throws -> Digests {
        try Digests(uniqueKeysWithValues: rows.map { (try $0.string(0), try $0.string(1)) })
    }

    /// The table, as ``Migrator`` names it.
    static let table = "table public.insp_object"

    /// Stores the digests of the objects as created. An object that differed before and was not recreated still differs: its
    /// digest stays.
    static func note(
        made: Digests, before: Digests, after: Digests, isNoted: Bool, on connection: isolated PostgresConnection
    ) throws {
        var noted = after
        for (name, digest) in made where before[name] != digest && before[name] == after[name] { noted[name] = digest }
        if !made.isEmpty {
            for name in after.keys where made[name] == nil && before[name] == after[name] { noted[name] = nil }
        }
        guard noted != made || !isNoted else { return }
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS public.insp_object (name text PRIMARY KEY, sha256 text NOT NULL, server integer NOT NULL);
            COMMENT ON TABLE public.insp_object IS 'inspectd: digests of what the files of Migrations/ made, by the major version of PostgreSQL that wrote the definitions';
            TRUNCATE public.insp_object
            """)
        _ = try connection.query(
            """
            INSERT INTO public.insp_object SELECT *, current_setting('server_version_num')::integer / 10000
            FROM unnest($1::text[], $2::text[])
            """, [.textArray(Array(noted.keys)), .textArray(Array(noted.values))])
    }

    /// The objects that differ from what the files created, sorted.
    static func different(made: Digests, found: Digests) -> [String] {
        guard !made.isEmpty else { return [] }
        return Set(made.keys).union(found.keys).filter { made[$0] != found[$0] }.sorted()
    }

    /// An object's name as in ``MigrationFolder``: a function without its arguments.
    static func name(_ object: String) -> String {
        object.hasPrefix("function ") ? String(object.prefix { $0 != "(" }) : object
    }

    /// Revokes added rights on functions and views, before their files grant the intended ones.
    static func revoke(_ objects: [String], on connection: isolated PostgresConnection) throws {
        for object in objects where object.hasPrefix("function ") || object.hasPrefix("view ") {
            let isFunction = object.hasPrefix("function ")
            let name = object.drop { $0 != " " }
            // An object without entries has the server's defaults, which let everybody execute a function.
            let (catalogue, type, acl, owner) =
                isFunction
                ? ("pg_proc", "regprocedure", "coalesce(o.proacl, acldefault('f', o.proowner))", "proowner")
                : ("pg_class", "regclass", "o.relacl", "relowner")
            // Rights on columns alone are listed with the columns; revoking a right on the whole revokes these, too.
            let columns =
                isFunction
                ? ""
                : "UNION ALL SELECT r.* FROM pg_attribute a, aclexplode(a.attacl) r WHERE a.attrelid = o.oid"
            let grantees = try connection.query(
                """
                SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END
                FROM \(catalogue) o, LATERAL (SELECT * FROM aclexplode(\(acl)) \(columns)) x
                WHERE o.oid = to_\(type)($1) AND x.grantee <> o.\(owner)
                """, [.text(name.trimmingPrefix(" ").description)]
            ).map { try $0.string(0) }
            for grantee in grantees {
                try connection.execute(
                    "REVOKE ALL ON \(isFunction ? "FUNCTION" : "TABLE")\(name) FROM \(grantee) CASCADE")
            }
        }
    }
}
