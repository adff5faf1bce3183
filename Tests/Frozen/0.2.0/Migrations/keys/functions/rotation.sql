-- After: keys
-- The wrapping key, its rotation, and what goes over all keys.

CREATE OR REPLACE FUNCTION insp.custody()
RETURNS TABLE (key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT c.key_store, c.wrapping_key, c.proof, c.former_key, c.main_database FROM insp.custody c
$$;
COMMENT ON FUNCTION insp.custody() IS 'The row of insp.custody; none: the key store has no wrapping key yet';
GRANT EXECUTE ON FUNCTION insp.custody() TO keys_custodian, keys_eraser, keys_sweeper, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.wrapped_partners() RETURNS TABLE (wrapping_key text, partners bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT k.wrapping_key, count(*) FROM insp.key k WHERE k.kind = 'partner' GROUP BY k.wrapping_key ORDER BY k.wrapping_key
$$;
COMMENT ON FUNCTION insp.wrapped_partners() IS 'How many partners'' keys each wrapping key wraps, which shows the progress of a rotation';
GRANT EXECUTE ON FUNCTION insp.wrapped_partners() TO keys_custodian, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.begin_custody(p_wrapping_key text, p_proof bytea, p_database uuid, p_was uuid)
RETURNS TABLE (key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO insp.custody (wrapping_key, proof, main_database) VALUES (p_wrapping_key, p_proof, p_database)
    ON CONFLICT (single) DO UPDATE SET main_database = p_database, main_history = NULL, main_job = NULL
        WHERE custody.main_database = p_was;
    RETURN QUERY SELECT * FROM insp.custody();
END
$$;
COMMENT ON FUNCTION insp.begin_custody(text, bytea, uuid, uuid) IS
    'Sets the first wrapping key and the main database, unless they are set, and returns the current ones. p_was: the main database that p_database replaces; null: none';
GRANT EXECUTE ON FUNCTION insp.begin_custody(text, bytea, uuid, uuid) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.main_mark(OUT history text, OUT job bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT c.main_history, c.main_job FROM insp.custody c
$$;
COMMENT ON FUNCTION insp.main_mark() IS 'How far the main database had come at the last note; null: it was never noted';
GRANT EXECUTE ON FUNCTION insp.main_mark() TO keys_eraser, keys_sweeper, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.note_main(p_history text, p_job bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    UPDATE insp.custody c SET main_history = p_history, main_job = p_job
    WHERE (c.main_history, c.main_job) IS DISTINCT FROM (p_history, p_job)
$$;
COMMENT ON FUNCTION insp.note_main(text, bigint) IS 'Notes how far the main database has come, even if more was noted before';
GRANT EXECUTE ON FUNCTION insp.note_main(text, bigint) TO keys_sweeper, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.follow_main(p_history text, p_job bigint, p_noted bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    -- A snapshot of the disk that was put back has the same history, and catches up with the numbers that it lost. So it is noted at once.
    UPDATE insp.custody c SET main_history = CASE WHEN p_job < p_noted THEN 'set back' ELSE c.main_history END,
        main_job = greatest(c.main_job, p_job)
    WHERE c.main_history = p_history AND (c.main_job < p_job OR p_job < p_noted)
$$;
COMMENT ON FUNCTION insp.follow_main(text, bigint, bigint) IS
    'As insp.note_main, forward and within one history. p_noted: what insp.main_mark had returned before p_job was read: if that is higher, the main database was set back, and a sweep refuses it';
GRANT EXECUTE ON FUNCTION insp.follow_main(text, bigint, bigint) TO keys_eraser;

CREATE OR REPLACE FUNCTION insp.begin_rotation(p_wrapping_key text, p_proof bytea, p_restores boolean DEFAULT false)
RETURNS TABLE (key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    -- A lost wrapping key never ends a rotation, so one that is under way does not stop a restore. insp.end_rotation leaves the
    -- former key until no key needs another wrapping key.
    UPDATE insp.custody c
    SET wrapping_key = p_wrapping_key, proof = p_proof, former_key = c.wrapping_key, changed_at = clock_timestamp()
    WHERE (c.former_key IS NULL OR p_restores) AND c.wrapping_key <> p_wrapping_key;
    RETURN QUERY SELECT * FROM insp.custody();
END
$$;
COMMENT ON FUNCTION insp.begin_rotation(text, bytea, boolean) IS
    'Makes another wrapping key wrap new keys from now on, unless a rotation is under way, and returns the current state. p_restores: even then, since keys that a lost wrapping key has wrapped are restored from an escrow';
GRANT EXECUTE ON FUNCTION insp.begin_rotation(text, bytea, boolean) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.end_rotation()
RETURNS TABLE (key_store uuid, wrapping_key text, proof bytea, former_key text, main_database uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    UPDATE insp.custody c SET former_key = NULL, changed_at = clock_timestamp()
    WHERE c.former_key IS NOT NULL AND NOT EXISTS (
        SELECT FROM insp.key k WHERE k.kind = 'partner' AND k.wrapping_key <> c.wrapping_key);
    RETURN QUERY SELECT * FROM insp.custody();
END
$$;
COMMENT ON FUNCTION insp.end_rotation() IS 'Forgets the former wrapping key unless it is still needed, and returns the current state';
GRANT EXECUTE ON FUNCTION insp.end_rotation() TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.rewrap_keys(p_wrapping_key text, p_ids uuid[], p_olds bytea[], p_wrapped bytea[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    changed integer;
BEGIN
    -- Only what is still as it was read: another rotator may have been faster.
    UPDATE insp.key k SET wrapped = n.wrapped, wrapping_key = p_wrapping_key
    FROM unnest(p_ids, p_olds, p_wrapped) AS n (id, old, wrapped), insp.custody c
    WHERE k.id = n.id AND k.kind = 'partner' AND k.wrapped = n.old AND c.wrapping_key = p_wrapping_key;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION insp.rewrap_keys(text, uuid[], bytea[], bytea[]) IS
    'Stores partners'' keys as rewrapped by the wrapping key for new keys, unless they have changed since they were read; returns how many';
GRANT EXECUTE ON FUNCTION insp.rewrap_keys(text, uuid[], bytea[], bytea[]) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.all_partner_keys(p_after uuid, p_limit integer)
RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT k.id, k.kind, k.partner_id, k.parent, k.wrapping_key, k.wrapped FROM insp.key k
    WHERE k.kind = 'partner' AND (p_after IS NULL OR k.id > p_after) ORDER BY k.id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.all_partner_keys(uuid, integer) IS 'Partners'' keys by id, from the one after this on; null: from the first on';
GRANT EXECUTE ON FUNCTION insp.all_partner_keys(uuid, integer) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.key_below(p_parent uuid)
RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT k.id, k.kind, k.partner_id, k.parent, k.wrapping_key, k.wrapped FROM insp.key k WHERE k.parent = p_parent LIMIT 1
$$;
COMMENT ON FUNCTION insp.key_below(uuid) IS 'One of the keys below this one, with which a key from an escrow is tried; no row: there is none';
GRANT EXECUTE ON FUNCTION insp.key_below(uuid) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.all_keys(p_after uuid, p_limit integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT k.id FROM insp.key k WHERE p_after IS NULL OR k.id > p_after ORDER BY k.id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.all_keys(uuid, integer) IS 'Ids of keys, from the one after this on; null: from the first on';
GRANT EXECUTE ON FUNCTION insp.all_keys(uuid, integer) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.count_keys() RETURNS TABLE (kind text, wrapping_key text, keys bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT k.kind, k.wrapping_key, count(*), min(k.created_at) FROM insp.key k
    GROUP BY k.kind, k.wrapping_key ORDER BY k.kind, k.wrapping_key
$$;
COMMENT ON FUNCTION insp.count_keys() IS 'How many keys there are of each kind, and under each wrapping key; reads all of them';
GRANT EXECUTE ON FUNCTION insp.count_keys() TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.partner_key_uses(p_after integer, p_limit integer) RETURNS TABLE (partner_id integer, is_idle boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT k.partner_id, NOT EXISTS (SELECT FROM insp.key c WHERE c.parent = k.id) FROM insp.key k
    WHERE k.kind = 'partner' AND (p_after IS NULL OR k.partner_id > p_after) ORDER BY k.partner_id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.partner_key_uses(integer, integer) IS
    'Numbers of partners that have a key, after the given one, null: from the first on; and whether no key is below it: a stolen login may have added it';
GRANT EXECUTE ON FUNCTION insp.partner_key_uses(integer, integer) TO keys_locksmith;

CREATE OR REPLACE FUNCTION insp.key_file(OUT key_table text, OUT file_node bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT 'insp.key', pg_relation_filenode('insp.key')::bigint
$$;
COMMENT ON FUNCTION insp.key_file() IS 'The table of the keys and the number of its file, which VACUUM FULL replaces';
GRANT EXECUTE ON FUNCTION insp.key_file() TO keys_sweeper;
