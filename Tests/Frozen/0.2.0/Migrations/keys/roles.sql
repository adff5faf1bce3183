-- The group roles with rights on the key store; deploy/DEPLOYING.md ("Key store") lists them. They belong to the whole cluster, so
-- an administrator creates them once, with `inspectd keys init --roles` or psql. Safe to run again, and concurrently.
DO $$
DECLARE
    role record;
BEGIN
    FOR role IN
        SELECT * FROM (VALUES
            ('keys_custodian', 'inspectd: may create keys and fetch those whose ids it knows; workers and gateways'),
            ('keys_eraser', 'inspectd: may destroy keys of jobs, templates and persons whose ids it knows; workers'),
            ('keys_sweeper', 'inspectd: may destroy any key, look for unused ones and abandon lost ones; operators'),
            ('keys_locksmith', 'inspectd: may list and rotate keys')) AS r (name, description)
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role.name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role.name);
                EXECUTE format('COMMENT ON ROLE %I IS %L', role.name, role.description);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                -- Another administrator created it at the same moment.
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;
