extension PostgresConnection {
    /// What may log parameters of statements regardless of this session's `log_parameter_max_length`: auto_explain and
    /// pgaudit, which have settings of their own, if a session, or a role in this database, has them loaded and so
    /// configured; and what a role or the database sets of the server's own settings, which other sessions have.
    ///
    /// - Returns: Settings such as `pgaudit.log_parameter = on of role app`; empty: none that the login can see.
    package func parameterLoggers() throws -> [String] {
        // pg_settings shows what a module that is loaded defines, and preloaded libraries to those who may see them. A
        // placeholder in the server's file or of a role counts once a session could have the module.
        try self.query(
            """
            WITH setting AS (
                SELECT s.name, s.setting AS value, '' AS whose FROM pg_settings s
                UNION ALL
                SELECT n, current_setting(n, true), ''
                FROM unnest(ARRAY['auto_explain.log_min_duration', 'pgaudit.log_parameter']) n
                WHERE n NOT IN (SELECT s.name FROM pg_settings s) AND current_setting(n, true) <> ''
                UNION ALL
                SELECT split_part(c, '=', 1), substr(c, strpos(c, '=') + 1),
                    coalesce(' of role ' || r.rolname, ' of the database')
                FROM pg_db_role_setting d LEFT JOIN pg_roles r ON r.oid = d.setrole, unnest(d.setconfig) c
                WHERE d.setdatabase IN (0, (SELECT x.oid FROM pg_database x WHERE x.datname = current_database()))
            ), loaded AS (
                SELECT m.module FROM (VALUES ('auto_explain'), ('pgaudit')) AS m (module)
                WHERE EXISTS (SELECT FROM setting s
                        WHERE s.name LIKE '%preload_libraries' AND strpos(s.value, m.module) > 0)
                    OR EXISTS (SELECT FROM pg_settings p WHERE p.name LIKE m.module || '.%')
            )
            SELECT s.name || ' = ' || s.value || s.whose FROM setting s
            WHERE s.name = 'pgaudit.log_parameter' AND lower(s.value) IN ('on', 'true', 'yes', '1', 't', 'y')
                    AND 'pgaudit' IN (SELECT l.module FROM loaded l)
                -- Its plans have values of parameters even if it lists none (log_parameter_max_length).
                OR s.name = 'auto_explain.log_min_duration' AND s.value NOT LIKE '-%'
                    AND 'auto_explain' IN (SELECT l.module FROM loaded l)
                OR s.whose <> '' AND (
                    s.name LIKE 'log_parameter_max_length%' AND s.value !~ '^0[ A-Za-z]*$'
                    -- Parameters are listed at full length unless a setting says otherwise.
                    OR (s.name = 'log_statement' AND lower(s.value) IN ('mod', 'all')
                        OR s.name IN ('log_min_duration_statement', 'log_min_duration_sample') AND s.value NOT LIKE '-%'
                        OR s.name = 'log_transaction_sample_rate' AND s.value !~ '^[0.]*$')
                    AND current_setting('log_parameter_max_length') <> '0')
            ORDER BY 1
            """
        ).map { try $0.string(0) }
    }
}
