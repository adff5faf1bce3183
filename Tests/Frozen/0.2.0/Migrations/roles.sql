-- The group roles with rights on the schema; deploy/DEPLOYING.md ("Rights") lists them. They belong to the whole cluster, so an
-- administrator creates them once, with `inspectd migrate --roles` or psql. Safe to run again, and concurrently.
DO $$
DECLARE
    role record;
BEGIN
    FOR role IN
        SELECT * FROM (VALUES
            ('insp_producer', 'inspectd: may enqueue, cancel and read the results of jobs'),
            ('insp_worker', 'inspectd: the worker processes; may claim jobs, read parts and deliver callbacks'),
            ('insp_operator', 'inspectd: may read every view and control the queue'),
            ('insp_reviewer', 'inspectd: may read results that wait for a review, and decide them'),
            ('insp_auditor', 'inspectd: may read views, events and the record'),
            ('insp_signer', 'inspectd: may read the record and add signed checkpoints of it'),
            ('insp_gateway', 'inspectd: the gateway; acts for the partner whose secret it was shown'),
            ('insp_console', 'inspectd: the console; acts for the person who is signed in')) AS r (name, description)
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
