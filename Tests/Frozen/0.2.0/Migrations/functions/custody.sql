-- After: errors, failover, record
-- Which key store and which wrapping key the programs must have, and what becomes of the keys of jobs.

CREATE OR REPLACE FUNCTION insp.database_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$ SELECT e.database FROM insp.epoch e $$;
COMMENT ON FUNCTION insp.database_id() IS 'The database''s own id, which its key store records';
GRANT EXECUTE ON FUNCTION insp.database_id() TO insp_producer, insp_worker, insp_operator, insp_reviewer, insp_auditor, insp_gateway, insp_console;

CREATE OR REPLACE VIEW insp.v_custody AS
SELECT c.key_store, c.wrapping_key, c.former_key, c.changed_at, insp.database_id() AS database FROM insp.custody c;
COMMENT ON VIEW insp.v_custody IS 'The key store and the wrapping key (inspectd keys)';
COMMENT ON COLUMN insp.v_custody.key_store IS 'The key store, as it names itself';
COMMENT ON COLUMN insp.v_custody.wrapping_key IS 'Name of the wrapping key for new keys';
COMMENT ON COLUMN insp.v_custody.former_key IS 'Name of the one from which a rotation moves the keys; null: none is under way';
COMMENT ON COLUMN insp.v_custody.changed_at IS 'When a rotation began or ended';
COMMENT ON COLUMN insp.v_custody.database IS 'This database''s own id';
GRANT SELECT ON insp.v_custody TO insp_producer, insp_worker, insp_operator, insp_reviewer, insp_auditor, insp_gateway, insp_console;

CREATE OR REPLACE FUNCTION insp.custody_mark(OUT history text, OUT job bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    -- An epoch that is due would change the history after it was noted.
    SELECT insp.check_epoch();
    -- A server that was restored or promoted has another timeline, and a database out of a dump or a template other numbers in the
    -- catalogue. A snapshot of the disk that was put back has the same, but begins an epoch as soon as a worker returns that has seen
    -- higher numbers. That epoch moves the job numbers ahead before it is committed: the lock waits for it.
    SELECT format('%s-%s-%s-%s-%s', c.system_identifier, substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
        (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()), 'insp.epoch'::regclass::oid, e.set_back),
        (SELECT s.last_value FROM insp.job_id s)
    FROM pg_control_system() c, insp.epoch e FOR SHARE OF e
$$;
COMMENT ON FUNCTION insp.custody_mark() IS
    'The history of the database and the highest job number that it has issued: by these the key store recognises an older or copied database, whose sweep would destroy the keys of jobs that it lacks';
GRANT EXECUTE ON FUNCTION insp.custody_mark() TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.set_custody(
    key_store uuid, database uuid, wrapping_key text, former_key text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    was insp.custody;
    name constant text := '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
BEGIN
    PERFORM insp.require(set_custody.key_store IS NOT NULL, 'no key store');
    PERFORM insp.require(coalesce(set_custody.wrapping_key ~ name AND coalesce(set_custody.former_key ~ name, true), false),
        'the name of a wrapping key', 'It has 1 to 64 letters, digits, dots, dashes and underscores.');
    IF insp.database_id() IS DISTINCT FROM set_custody.database THEN
        PERFORM insp.refuse('KEY_MISMATCH', 'the key store belongs to another database',
            'A key store serves one main database: ' || set_custody.database || '.');
    END IF;
    -- A duty of those databases alone that have a key store.
    INSERT INTO insp.duty (name, every) VALUES ('keys', '1 s') ON CONFLICT DO NOTHING;
    INSERT INTO insp.custody (key_store, wrapping_key, former_key)
    VALUES (set_custody.key_store, set_custody.wrapping_key, set_custody.former_key) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT c.* INTO was FROM insp.custody c FOR UPDATE;
        IF was.key_store <> set_custody.key_store THEN
            PERFORM insp.refuse('KEY_MISMATCH', 'the database belongs to another key store',
                'What is sealed opens with the keys of key store ' || was.key_store || ' alone.');
        END IF;
        IF was.wrapping_key = set_custody.wrapping_key AND was.former_key IS NOT DISTINCT FROM set_custody.former_key THEN
            RETURN false;
        END IF;
        -- Only the key store knows whether there is such a rotation, and programs refuse to start if it has none. Its end needs no
        -- second login: that names no other key.
        PERFORM insp.need_approval('set_custody', (was.wrapping_key = set_custody.wrapping_key
            AND (set_custody.former_key IS NULL OR set_custody.former_key = was.former_key)) IS NOT TRUE);
        UPDATE insp.custody c SET wrapping_key = set_custody.wrapping_key, former_key = set_custody.former_key,
            changed_at = clock_timestamp();
    END IF;
    PERFORM insp.record('set_custody', 'keys', jsonb_build_object('key_store', set_custody.key_store,
        'wrapping_key', set_custody.wrapping_key, 'former_key', set_custody.former_key, 'was', was.wrapping_key));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.set_custody(uuid, uuid, text, text) IS
    'Records the key store and the wrapping key, which inspectd keys does after a change in the key store; returns whether they are new. Refuses a different key store, and a key store that has recorded a different database';
GRANT EXECUTE ON FUNCTION insp.set_custody(uuid, uuid, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.seal_of(p_bytes bytea) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN substr(p_bytes, 1, 1) = '\x01'::bytea THEN 1::smallint ELSE 0::smallint END $$;
COMMENT ON FUNCTION insp.seal_of(bytea) IS
    'Version of the seal (deploy/SEALING.md): 1, or 0 for plain data. JSON never starts with byte 1';

CREATE OR REPLACE FUNCTION insp.check_sealed(p_sealed bytea, p_contents bytea[]) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- Version, key, nonce and tag have 45 bytes.
    IF insp.seal_of(p_sealed) = 0 OR length(p_sealed) < 45 OR length(p_sealed) > 65536 OR EXISTS (SELECT FROM unnest(p_contents) c
        WHERE c IS NOT NULL
            AND (substr(c, 1, 17) = substr(p_sealed, 1, 17) AND length(c) >= 45) IS NOT TRUE) THEN
        PERFORM insp.refuse('SEAL_BROKEN', 'sealed values and parts begin with 01 and the id of one key, and have 45 bytes or more');
    END IF;
    RETURN encode(substr(p_sealed, 2, 16), 'hex')::uuid;
END
$$;
COMMENT ON FUNCTION insp.check_sealed(bytea, bytea[]) IS
    'Refuses sealed bytes that do not have the published format or do not share one key; returns the key''s id';

CREATE OR REPLACE FUNCTION insp.list_keys(p_keys uuid[], p_partners integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    -- Listed before anything is looked for: of two transactions that remove the last two uses of a key, each would find the other's.
    -- So the second one waits here for the end of the first.
    INSERT INTO insp.key_gone (key_id, partner_id)
    SELECT DISTINCT u.key_id, u.partner_id FROM unnest(p_keys, p_partners) AS u (key_id, partner_id) ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
    -- A new statement sees what that one has removed. Other jobs may have the key, too: reruns; and other templates: copies. Keys
    -- that only another partner's rows name do not count.
    DELETE FROM insp.key_gone g USING unnest(p_keys, p_partners) AS u (key_id, partner_id)
    WHERE g.key_id = u.key_id AND g.partner_id = u.partner_id AND (
        EXISTS (SELECT FROM insp.job j WHERE j.key_id = u.key_id AND j.partner_id = u.partner_id AND (j.sealed IS NOT NULL
            OR EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id]))
            OR EXISTS (SELECT FROM insp.step s WHERE s.job_id = ANY (ARRAY[j.id]) AND s.seal > 0)))
        OR EXISTS (SELECT FROM insp.face_template t WHERE t.key_id = u.key_id AND t.partner_id = u.partner_id)
        OR EXISTS (SELECT FROM insp.face_pending f WHERE f.key_id = u.key_id AND f.partner_id = u.partner_id));
END
$$;
COMMENT ON FUNCTION insp.list_keys(uuid[], integer[]) IS
    'Adds to insp.key_gone those of these keys that have nothing left to open';

CREATE OR REPLACE FUNCTION insp.forget_keys(p_jobs bigint[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT insp.list_keys(array_agg(k.key_id), array_agg(k.partner_id))
    FROM (SELECT j.key_id, j.partner_id FROM insp.job j
        WHERE j.id = ANY (p_jobs) AND j.key_id IS NOT NULL AND j.sealed IS NULL
            AND NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id]))
            AND NOT EXISTS (SELECT FROM insp.step s WHERE s.job_id = ANY (ARRAY[j.id]) AND s.seal > 0)) k
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION insp.forget_keys(bigint[]) IS
    'Adds the keys of these jobs to insp.key_gone, if nothing that they sealed is left';

CREATE OR REPLACE FUNCTION insp.keys_gone(p_limit integer) RETURNS TABLE (key_id uuid, partner_id integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT g.key_id, g.partner_id FROM insp.key_gone g ORDER BY g.key_id, g.partner_id LIMIT greatest(p_limit, 0)
$$;
COMMENT ON FUNCTION insp.keys_gone(integer) IS 'Keys of jobs and templates that the key store must destroy, each if it is the partner''s';
GRANT EXECUTE ON FUNCTION insp.keys_gone(integer) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.keys_destroyed(p_keys uuid[], p_partners integer[], p_existed boolean[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    WITH gone AS (
        DELETE FROM insp.key_gone g WHERE g.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.key_gone x JOIN unnest(p_keys, p_partners) AS u (key_id, partner_id) USING (key_id, partner_id)
            FOR UPDATE OF x SKIP LOCKED))
        RETURNING g.key_id, g.partner_id
    )
    SELECT insp.record('destroy_keys', 'partner ' || p.name, jsonb_build_object('keys', n.keys))
    FROM (SELECT g.partner_id, count(DISTINCT g.key_id) AS keys
        -- A key that was not there was never the partner's, or is counted already.
        FROM gone g JOIN unnest(p_keys, p_partners, p_existed) AS u (key_id, partner_id, existed) USING (key_id, partner_id)
        WHERE u.existed GROUP BY g.partner_id) n JOIN insp.partner p ON p.id = n.partner_id
$$;
COMMENT ON FUNCTION insp.keys_destroyed(uuid[], integer[], boolean[]) IS
    'Removes these keys of these partners from insp.key_gone, and records how many the key store destroyed: those that existed, according to its insp.destroy_job_keys';
GRANT EXECUTE ON FUNCTION insp.keys_destroyed(uuid[], integer[], boolean[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.list_persons(p_partner integer, p_indexes bytea[], p_keeps_jobs boolean DEFAULT false) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Not due at once: inspectd person destroys the key itself, and says whether there was one.
    INSERT INTO insp.person_gone (partner_id, index, keeps_jobs, due_at)
    SELECT DISTINCT p_partner, i, p_keeps_jobs, clock_timestamp() + interval '2 s'
    FROM unnest(p_indexes) i WHERE EXISTS (SELECT FROM insp.custody) ORDER BY i
    ON CONFLICT (partner_id, index, keeps_jobs) DO UPDATE SET since = clock_timestamp(), due_at = excluded.due_at
$$;
COMMENT ON FUNCTION insp.list_persons(integer, bytea[], boolean) IS
    'Adds erased persons and faces, or deleted faces (p_keeps_jobs), to insp.person_gone, even without keys: retention may have removed the data but not yet the key';

CREATE OR REPLACE FUNCTION insp.persons_gone(p_limit integer)
RETURNS TABLE (partner_id integer, index bytea, since timestamptz, microseconds bigint, keeps_jobs boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT g.partner_id, g.index, g.since, (extract(epoch FROM clock_timestamp() - g.since) * 1000000)::bigint, g.keeps_jobs
    FROM insp.person_gone g WHERE g.due_at <= clock_timestamp() ORDER BY g.due_at LIMIT greatest(p_limit, 0)
$$;
COMMENT ON FUNCTION insp.persons_gone(integer) IS
    'Persons and faces whose keys the key store must destroy now, when they were erased, how long ago that is, and whether the keys below must stay';
GRANT EXECUTE ON FUNCTION insp.persons_gone(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.person_destroyed(
    p_partner integer, p_index bytea, p_since timestamptz, p_existed boolean, p_keeps_jobs boolean DEFAULT false
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    WITH gone AS (
        -- One that was erased again meanwhile stays listed.
        DELETE FROM insp.person_gone g
        WHERE g.partner_id = p_partner AND g.index = p_index AND g.keeps_jobs = p_keeps_jobs AND g.since = p_since
        RETURNING g.partner_id
    )
    SELECT insp.record('destroy_keys', 'partner ' || p.name, jsonb_build_object('keys', 1))
    FROM gone g JOIN insp.partner p ON p.id = g.partner_id WHERE p_existed
$$;
COMMENT ON FUNCTION insp.person_destroyed(integer, bytea, timestamptz, boolean, boolean) IS
    'Removes a person or a face from insp.person_gone, and records that the key store has destroyed the key if it existed, according to its insp.destroy_erased_person or insp.destroy_deleted_face';
GRANT EXECUTE ON FUNCTION insp.person_destroyed(integer, bytea, timestamptz, boolean, boolean) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.face_in_use(p_partner integer, p_index bytea, p_since timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    -- Seconds after a deletion whose jobs are removed at once, an hour if they stay for months.
    UPDATE insp.person_gone g
    SET due_at = clock_timestamp() + least(interval '1 h', greatest(interval '2 s', clock_timestamp() - g.since))
    WHERE g.partner_id = p_partner AND g.index = p_index AND g.keeps_jobs AND g.since = p_since
$$;
COMMENT ON FUNCTION insp.face_in_use(integer, bytea, timestamptz) IS
    'Keeps a deleted face whose key has others below it on insp.person_gone, and sets the time of the next check: at most an hour later';
GRANT EXECUTE ON FUNCTION insp.face_in_use(integer, bytea, timestamptz) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.record_keys(
    action text, partner text DEFAULT NULL, keys integer DEFAULT NULL, wrapping_key text DEFAULT NULL, reason text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(coalesce(record_keys.action IN ('list', 'verify', 'escrow', 'abandon', 'restore', 'rewrap', 'sweep', 'sweep_older',
        'destroy_person', 'destroy_partner', 'restore_begin', 'rewrap_begin', 'sweep_begin', 'destroy_person_begin',
        'destroy_partner_begin'), false), 'action',
        'An action is list, verify, escrow, abandon, sweep_older, or restore, rewrap, sweep, destroy_person or destroy_partner, these five also with _begin.');
    PERFORM insp.require(record_keys.action <> 'abandon' OR coalesce(record_keys.reason ~ '[^[:space:]]', false)
        AND length(record_keys.reason) <= 200, 'reason', 'Keys are abandoned for a reason of at most 200 characters.');
    -- They go into signed reports of deletions: a partner has one key, a person one and those of faces.
    PERFORM insp.require(record_keys.keys IS NULL OR record_keys.keys BETWEEN 0 AND CASE record_keys.action
        WHEN 'destroy_partner' THEN 1 WHEN 'destroy_person' THEN 1000 ELSE 2147483647 END, 'keys',
        'A partner has one key, and a person at most 1,000 with those of faces.');
    IF record_keys.partner IS NOT NULL AND NOT EXISTS (SELECT FROM insp.partner p WHERE p.name = record_keys.partner) THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(record_keys.partner), 40));
    END IF;
    PERFORM insp.record('keys_' || record_keys.action, coalesce('partner ' || record_keys.partner, 'keys'),
        jsonb_build_object('keys', record_keys.keys, 'wrapping_key', record_keys.wrapping_key, 'reason', record_keys.reason));
END
$$;
COMMENT ON FUNCTION insp.record_keys(text, text, integer, text, text) IS
    'Records what inspectd keys, person and partner do in the key store, which keeps no record. Commands that destroy or rewrap keys are recorded with _begin before they do so: a killed command is on record as well. sweep_older: a sweep that had to accept an older main database';
GRANT EXECUTE ON FUNCTION insp.record_keys(text, text, integer, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.keys_of_no_job(p_keys uuid[]) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    -- Of the jobs only those that still have something sealed: a key that was taken off insp.key_gone without being destroyed would
    -- stay for as long as its job's row otherwise.
    SELECT k FROM unnest(p_keys) AS k
    WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.key_id = k AND (j.sealed IS NOT NULL
            OR EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id]))
            OR EXISTS (SELECT FROM insp.step s WHERE s.job_id = ANY (ARRAY[j.id]) AND s.seal > 0)))
        AND NOT EXISTS (SELECT FROM insp.face_template t WHERE t.key_id = k)
        AND NOT EXISTS (SELECT FROM insp.face_pending f WHERE f.key_id = k)
$$;
COMMENT ON FUNCTION insp.keys_of_no_job(uuid[]) IS
    'Which of these keys have nothing to open in any job or template: their requests were refused, repeated or never arrived, or their jobs are erased or history';
GRANT EXECUTE ON FUNCTION insp.keys_of_no_job(uuid[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.key_writers() RETURNS SETOF text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Every login sees all of pg_locks, prepared transactions included. A transaction that has inserted a row holds this lock to its end.
    SELECT DISTINCT l.virtualtransaction FROM pg_locks l
    WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.relation = ANY (ARRAY['insp.job', 'insp.face_template', 'insp.face_pending']::regclass[]::oid[])
$$;
COMMENT ON FUNCTION insp.key_writers() IS
    'The open transactions, also prepared ones, that may have stored a job or a template which insp.keys_of_no_job does not see yet';
GRANT EXECUTE ON FUNCTION insp.key_writers() TO insp_operator;

CREATE OR REPLACE FUNCTION insp.numbers_of_no_partner(p_numbers integer[]) RETURNS SETOF integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT n FROM unnest(p_numbers) AS n WHERE NOT EXISTS (SELECT FROM insp.partner p WHERE p.id = n)
$$;
COMMENT ON FUNCTION insp.numbers_of_no_partner(integer[]) IS
    'Which of these numbers belong to no partner, not even to an erased one: only a stolen login can have added keys for them';
GRANT EXECUTE ON FUNCTION insp.numbers_of_no_partner(integer[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.is_sealed(id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT j.key_id IS NOT NULL FROM insp.job j WHERE j.public_id = is_sealed.id
$$;
COMMENT ON FUNCTION insp.is_sealed(uuid) IS 'Whether a job was sealed, even after its erasure; null: there is no such job';
GRANT EXECUTE ON FUNCTION insp.is_sealed(uuid) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.custody_partner(partner text) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT insp.partner_number(custody_partner.partner)
$$;
COMMENT ON FUNCTION insp.custody_partner(text) IS
    'The number of a partner, which programs need for its keys and to seal data; refuses partners for which the login may not act';
GRANT EXECUTE ON FUNCTION insp.custody_partner(text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.object_key(p_location text) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_location ~ ('^s3:[A-Za-z0-9][A-Za-z0-9._-]{1,99}/([A-Za-z0-9._-]{1,100}/){0,8}[0-9]{4}-[0-9]{2}-[0-9]{2}(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}){2}(#[0-9]{1,9})?$') AND p_location !~ '/[.]{1,2}/'
        THEN split_part(p_location, '/', -2)::uuid END
$$;
COMMENT ON FUNCTION insp.object_key(text) IS
    'The key that sealed an object, as its location (s3:BUCKET/PREFIX/DAY/KEY/ID) says; null: it is not such a location';

CREATE OR REPLACE FUNCTION insp.objects_of_no_part(p_locations text[]) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    -- Without an index of locations: the key leads to its jobs.
    SELECT l FROM unnest(p_locations) AS l
    WHERE insp.object_key(l) IS NOT NULL AND NOT EXISTS (
        SELECT FROM insp.job j, LATERAL (
            SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id]) AND split_part(p.location, '#', 1) = l LIMIT 1) p
        WHERE j.key_id = insp.object_key(l))
$$;
COMMENT ON FUNCTION insp.objects_of_no_part(text[]) IS
    'Which of these objects belong to no part: their requests were refused, repeated or never arrived, or their parts were removed';
GRANT EXECUTE ON FUNCTION insp.objects_of_no_part(text[]) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.forget_objects(p_locations text[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Also those that are listed: a worker that finds that another part has the object takes them off the list, and waits for this.
    INSERT INTO insp.object_gone AS g (location)
    SELECT DISTINCT split_part(l, '#', 1) FROM unnest(p_locations) AS l WHERE l LIKE 's3:%' ORDER BY 1
    ON CONFLICT (location) DO UPDATE SET since = now()
$$;
COMMENT ON FUNCTION insp.forget_objects(text[]) IS
    'Adds the objects of removed parts to insp.object_gone, even if another part uses them; ignores URLs';

CREATE OR REPLACE FUNCTION insp.objects_gone(p_root text, p_limit integer) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    -- Naming objects of another store must not keep this store's objects from being found.
    page constant text[] := ARRAY(
        SELECT g.location FROM insp.object_gone g WHERE g.location >= p_root AND g.location < p_root || '~' COLLATE "C"
        ORDER BY g.location LIMIT greatest(p_limit, 0) FOR UPDATE SKIP LOCKED);
    -- A new statement, which sees what the locks waited for.
    free constant text[] := ARRAY(SELECT insp.objects_of_no_part(page));
BEGIN
    DELETE FROM insp.object_gone g WHERE g.location = ANY (page) AND g.location <> ALL (free);
    RETURN QUERY SELECT unnest(free);
END
$$;
COMMENT ON FUNCTION insp.objects_gone(text, integer) IS
    'Objects that must be deleted from the object store whose locations begin with p_root (s3:BUCKET/PREFIX/). Those that another part has, such as a rerun''s, are listed again when it loses them';
GRANT EXECUTE ON FUNCTION insp.objects_gone(text, integer) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.objects_deleted(p_locations text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    DELETE FROM insp.object_gone g WHERE g.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.object_gone x WHERE x.location = ANY (p_locations) FOR UPDATE SKIP LOCKED))
$$;
COMMENT ON FUNCTION insp.objects_deleted(text[]) IS 'Records that the object store has deleted these objects';
GRANT EXECUTE ON FUNCTION insp.objects_deleted(text[]) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.begin_objects() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A duty of those databases alone that have an object store.
    INSERT INTO insp.duty (name, every) VALUES ('objects', '1 s') ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION insp.begin_objects() IS 'Makes the deletion of objects a duty; a worker with an object store calls it when it starts';
GRANT EXECUTE ON FUNCTION insp.begin_objects() TO insp_worker;

CREATE OR REPLACE FUNCTION insp.object_horizon() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Behind every key of a day, which go on with a slash. Two days: no request takes so long.
    SELECT to_char((now() AT TIME ZONE 'UTC')::date - 2, 'YYYY-MM-DD') || '~'
$$;
COMMENT ON FUNCTION insp.object_horizon() IS 'The end of the range of the object store''s keys that may be swept';

CREATE OR REPLACE FUNCTION insp.object_sweep(OUT after text, OUT until text) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    over constant text := insp.object_horizon();
    e insp.epoch;
BEGIN
    PERFORM insp.check_epoch();
    SELECT * INTO e FROM insp.epoch;
    -- A database that was set back lacks jobs whose objects must stay: somebody may yet restore a newer backup.
    UPDATE insp.custody c SET objects_epoch = e.id, objects_swept_to = CASE
        WHEN e.reason LIKE 'the server%' OR e.reason = 'migrated' THEN c.objects_swept_to
        ELSE greatest(c.objects_swept_to, to_char(e.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') || '~' COLLATE "C") END
    WHERE c.objects_epoch IS DISTINCT FROM e.id;
    RETURN QUERY SELECT c.objects_swept_to, over FROM insp.custody c
    WHERE coalesce(c.objects_swept_to < over COLLATE "C", true);
END
$$;
COMMENT ON FUNCTION insp.object_sweep() IS
    'The range of the object store''s keys in which the sweep next searches for objects that no part has (insp.objects_of_no_part); no row: it has covered all days but the last two. It skips the days before the database was set back';
GRANT EXECUTE ON FUNCTION insp.object_sweep() TO insp_worker;

CREATE OR REPLACE FUNCTION insp.objects_swept(p_to text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
    -- A stolen login must not say that the years to come are swept already.
    PERFORM insp.require(p_to ~ '^[A-Za-z0-9._/~-]+$' AND length(p_to) <= 400 AND p_to <= insp.object_horizon() COLLATE "C", 'position',
        'The position is a key of the object store, of at most 400 characters, and at most that of two days ago.');
    UPDATE insp.custody c SET objects_swept_to = p_to WHERE coalesce(c.objects_swept_to < p_to COLLATE "C", true);
END
$$;
COMMENT ON FUNCTION insp.objects_swept(text) IS 'Records the key of the object store that the sweep has reached; refuses one that it cannot have reached yet';
GRANT EXECUTE ON FUNCTION insp.objects_swept(text) TO insp_worker;
