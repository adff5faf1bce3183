-- Creates, fetches and destroys keys.

CREATE OR REPLACE FUNCTION insp.fetch_keys(p_ids uuid[])
RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
    WITH RECURSIVE chain AS (
        SELECT k.* FROM insp.key k WHERE k.id = ANY (p_ids)
        UNION
        SELECT p.* FROM chain c JOIN insp.key p ON p.id = c.parent
    )
    SELECT c.id, c.kind, c.partner_id, c.parent, c.wrapping_key, c.wrapped FROM chain c
$$;
COMMENT ON FUNCTION insp.fetch_keys(uuid[]) IS 'Keys with all keys above them; a destroyed one is missing, and so are those above it';
GRANT EXECUTE ON FUNCTION insp.fetch_keys(uuid[]) TO keys_custodian, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.destroyed_keys(p_ids uuid[]) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT u.id FROM unnest(p_ids) AS u (id) WHERE EXISTS (SELECT FROM insp.destroyed d WHERE d.id = u.id)
        OR EXISTS (SELECT FROM insp.fallen f WHERE f.parent = u.id AND f.kind = 'person')
$$;
COMMENT ON FUNCTION insp.destroyed_keys(uuid[]) IS 'Which of these keys are a person''s destroyed key, or were destroyed with one in the last 30 days';
GRANT EXECUTE ON FUNCTION insp.destroyed_keys(uuid[]) TO keys_custodian, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.partner_keys(p_partners integer[])
RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT k.id, k.kind, k.partner_id, k.parent, k.wrapping_key, k.wrapped FROM insp.key k
    WHERE k.partner_id = ANY (p_partners) AND k.kind = 'partner'
$$;
COMMENT ON FUNCTION insp.partner_keys(integer[]) IS 'Keys of partners';
GRANT EXECUTE ON FUNCTION insp.partner_keys(integer[]) TO keys_custodian, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.add_partner_key(p_partner integer, p_id uuid, p_wrapping_key text, p_wrapped bytea)
RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    -- A rotation that begins waits, so that it finds this key.
    PERFORM FROM insp.custody c WHERE c.wrapping_key = p_wrapping_key FOR SHARE;
    IF FOUND THEN
        INSERT INTO insp.key (id, kind, partner_id, wrapping_key, wrapped)
        VALUES (p_id, 'partner', p_partner, p_wrapping_key, p_wrapped)
        ON CONFLICT (partner_id) WHERE kind = 'partner' DO NOTHING;
    END IF;
    RETURN QUERY SELECT k.* FROM insp.partner_keys(ARRAY[p_partner]) k;
END
$$;
COMMENT ON FUNCTION insp.add_partner_key(integer, uuid, text, bytea) IS
    'Creates a partner''s key if there is none, and returns the partner''s key; no row: the wrapping key is no longer the one for new keys';
GRANT EXECUTE ON FUNCTION insp.add_partner_key(integer, uuid, text, bytea) TO keys_custodian;

CREATE OR REPLACE FUNCTION insp.add_person_keys(
    p_subjects bytea[], p_ids uuid[], p_parents uuid[], p_wrapped bytea[]
) RETURNS TABLE (id uuid, kind text, partner_id integer, parent uuid, wrapping_key text, wrapped bytea, subject bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    -- Sorted, so that two callers with the same persons do not deadlock.
    INSERT INTO insp.key (id, kind, partner_id, parent, subject, wrapped)
    SELECT n.id, 'person', p.partner_id, n.parent, n.subject, n.wrapped
    FROM unnest(p_subjects, p_ids, p_parents, p_wrapped) AS n (subject, id, parent, wrapped)
        JOIN insp.key p ON p.id = n.parent AND p.kind = 'partner'
    ORDER BY p.partner_id, n.subject
    ON CONFLICT DO NOTHING;
    RETURN QUERY
    SELECT k.id, k.kind, k.partner_id, k.parent, k.wrapping_key, k.wrapped, k.subject
    FROM (SELECT DISTINCT n.subject, n.parent FROM unnest(p_subjects, p_parents) AS n (subject, parent)) n
        JOIN insp.key p ON p.id = n.parent AND p.kind = 'partner'
        JOIN insp.key k ON k.partner_id = p.partner_id AND k.subject = n.subject AND k.kind = 'person';
END
$$;
COMMENT ON FUNCTION insp.add_person_keys(bytea[], uuid[], uuid[], bytea[]) IS
    'Creates missing keys of persons under their partners'' keys, and returns all of them; none for a partner whose key was destroyed';
GRANT EXECUTE ON FUNCTION insp.add_person_keys(bytea[], uuid[], uuid[], bytea[]) TO keys_custodian;

CREATE OR REPLACE FUNCTION insp.add_job_keys(
    p_ids uuid[], p_parents uuid[], p_wrapped bytea[], p_kind text DEFAULT 'job'
) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
    IF p_kind IS NULL OR p_kind NOT IN ('job', 'template') THEN
        RAISE EXCEPTION 'a kind is job or template' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Waits for those that check whether a person has keys below, before the statement that searches the parents. No lock of the
    -- table: for as long as autovacuum works on it, no person would be destroyed. No advisory locks: any login may take them, and
    -- those of a batch would fill the server's lock table.
    PERFORM FROM insp.key p WHERE p.id = ANY (p_parents) AND p.kind = 'person' ORDER BY p.id FOR KEY SHARE;
    -- No partner is locked: all its jobs would write its row. One that is destroyed meanwhile leaves keys that nobody can unwrap, and
    -- insp.sweep_keys looks for them for another hour.
    INSERT INTO insp.key (id, kind, partner_id, parent, wrapped)
    SELECT n.id, p_kind, p.partner_id, n.parent, n.wrapped
    FROM unnest(p_ids, p_parents, p_wrapped) AS n (id, parent, wrapped)
        JOIN insp.key p ON p.id = n.parent AND p.kind IN ('partner', 'person')
    ORDER BY n.id
    ON CONFLICT DO NOTHING;
    RETURN QUERY
    SELECT k.id FROM unnest(p_ids, p_wrapped) AS n (id, wrapped) JOIN insp.key k ON k.id = n.id AND k.wrapped = n.wrapped;
END
$$;
COMMENT ON FUNCTION insp.add_job_keys(uuid[], uuid[], bytea[], text) IS
    'Creates keys of jobs, or of templates (p_kind), and returns the ids of those that are there now, also from an earlier call whose answer was lost; not those whose parent was destroyed';
GRANT EXECUTE ON FUNCTION insp.add_job_keys(uuid[], uuid[], bytea[], text) TO keys_custodian;

CREATE OR REPLACE FUNCTION insp.destroy_keys(p_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    gone integer;
BEGIN
    WITH locked AS (
        SELECT k.id FROM insp.key k WHERE k.id = ANY (p_ids) ORDER BY k.id FOR UPDATE
    ), deleted AS (
        DELETE FROM insp.key k USING locked l WHERE k.id = l.id RETURNING k.id, k.kind
    ), noted AS (
        INSERT INTO insp.fallen (parent, kind) SELECT d.id, d.kind FROM deleted d WHERE d.kind IN ('partner', 'person') ON CONFLICT DO NOTHING
    )
    SELECT count(*) INTO gone FROM deleted;
    RETURN gone;
END
$$;
COMMENT ON FUNCTION insp.destroy_keys(uuid[]) IS
    'Destroys keys, and with them all keys below; returns how many there were. insp.sweep_keys deletes the rows below';
GRANT EXECUTE ON FUNCTION insp.destroy_keys(uuid[]) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.destroy_job_keys(p_ids uuid[], p_partners integer[]) RETURNS TABLE (id uuid, partner_id integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    WITH locked AS (
        SELECT k.id FROM insp.key k
        WHERE (k.id, k.partner_id) IN (SELECT u.id, u.partner_id FROM unnest(p_ids, p_partners) AS u (id, partner_id))
            AND k.kind IN ('job', 'template')
        ORDER BY k.id FOR UPDATE
    )
    DELETE FROM insp.key k USING locked l WHERE k.id = l.id RETURNING k.id, k.partner_id
$$;
COMMENT ON FUNCTION insp.destroy_job_keys(uuid[], integer[]) IS
    'Destroys keys of jobs and templates, each if it belongs to the given partner: any producer can specify any key, and must not be able to destroy those of other partners. Returns those that existed';
GRANT EXECUTE ON FUNCTION insp.destroy_job_keys(uuid[], integer[]) TO keys_eraser;

CREATE OR REPLACE FUNCTION insp.destroy_person_key(p_partner integer, p_subject bytea) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    SELECT insp.destroy_keys(ARRAY(SELECT k.id FROM insp.key k
        WHERE k.partner_id = p_partner AND k.subject = p_subject AND k.kind = 'person'))
$$;
COMMENT ON FUNCTION insp.destroy_person_key(integer, bytea) IS 'Destroys a person''s key; returns whether there was one, as 1 or 0';
GRANT EXECUTE ON FUNCTION insp.destroy_person_key(integer, bytea) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.destroy_erased_person(p_partner integer, p_index bytea, p_age interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' SET enable_seqscan = off AS $$
DECLARE
    person constant uuid := (SELECT k.id FROM insp.key k WHERE k.partner_id = p_partner AND k.kind = 'person'
        AND sha256(decode(rtrim(translate(encode(k.subject, 'base64'), '+/', '-_'), '='), 'escape')) = p_index);
BEGIN
    IF person IS NULL THEN
        RETURN false;
    END IF;
    -- insp.add_job_keys waits for it, so that no key is added between the check, a separate statement, and the end of this one.
    PERFORM FROM insp.key k WHERE k.id = person FOR UPDATE;
    IF EXISTS (SELECT FROM insp.key c WHERE c.parent = person AND c.created_at >= now() - p_age) THEN
        -- The person has come back. Only what was sealed before the erasure may not be opened.
        WITH deleted AS (
            DELETE FROM insp.key c WHERE c.parent = person AND c.created_at < now() - p_age RETURNING c.id
        )
        INSERT INTO insp.destroyed (id) SELECT d.id FROM deleted d ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    RETURN insp.destroy_keys(ARRAY[person]) > 0;
END
$$;
COMMENT ON FUNCTION insp.destroy_erased_person(integer, bytea, interval) IS
    'Destroys the key of a person, or a face, erased so long ago, whom the SHA-256 of the pseudonym identifies; if keys were added below it since, only the older ones below. Returns whether it destroyed the person''s';
GRANT EXECUTE ON FUNCTION insp.destroy_erased_person(integer, bytea, interval) TO keys_eraser;

CREATE OR REPLACE FUNCTION insp.destroy_deleted_face(p_partner integer, p_index bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' SET enable_seqscan = off AS $$
DECLARE
    face constant uuid := (SELECT k.id FROM insp.key k WHERE k.partner_id = p_partner AND k.kind = 'person'
        AND sha256(decode(rtrim(translate(encode(k.subject, 'base64'), '+/', '-_'), '='), 'escape')) = p_index);
BEGIN
    IF face IS NULL THEN
        RETURN false;
    -- Usual for as long as results are kept, and no reason to lock the row.
    ELSIF EXISTS (SELECT FROM insp.key c WHERE c.parent = face) OR insp.drop_idle_persons(ARRAY[face]) = 0 THEN
        RETURN NULL;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.destroy_deleted_face(integer, bytea) IS
    'Destroys the key of a face that was deleted, which the SHA-256 of the pseudonym identifies, if no key is below it. Returns whether there was one; null: there is one, and others below it';
GRANT EXECUTE ON FUNCTION insp.destroy_deleted_face(integer, bytea) TO keys_eraser;

CREATE OR REPLACE FUNCTION insp.destroy_partner_key(p_partner integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    SELECT insp.destroy_keys(ARRAY(SELECT k.id FROM insp.partner_keys(ARRAY[p_partner]) k))
$$;
COMMENT ON FUNCTION insp.destroy_partner_key(integer) IS 'Destroys a partner''s key; returns whether there was one, as 1 or 0';
GRANT EXECUTE ON FUNCTION insp.destroy_partner_key(integer) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.sweep_keys(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s'
SET enable_seqscan = off AS $$
DECLARE
    f insp.fallen;
    swept integer := 0;
    gone integer;
BEGIN
    FOR f IN SELECT * FROM insp.fallen x ORDER BY x.fallen_at, x.parent LIMIT 1000 FOR UPDATE SKIP LOCKED LOOP
        EXIT WHEN swept >= p_limit;
        WITH deleted AS (
            DELETE FROM insp.key k WHERE k.id IN (
                SELECT c.id FROM insp.key c WHERE c.parent = f.parent LIMIT p_limit - swept FOR UPDATE SKIP LOCKED)
            RETURNING k.id, k.kind
        ), noted AS (
            INSERT INTO insp.fallen (parent, kind) SELECT d.id, f.kind FROM deleted d WHERE d.kind = 'person' ON CONFLICT DO NOTHING
        ), remembered AS (
            -- Not of a whole partner, whose jobs are cancelled: there may be millions.
            INSERT INTO insp.destroyed (id) SELECT d.id FROM deleted d WHERE f.kind = 'person' ON CONFLICT DO NOTHING
        )
        SELECT count(*) INTO gone FROM deleted;
        swept := swept + gone;
        -- A call that found the parent before may add a key for as long as its time-out.
        IF gone = 0 AND f.fallen_at < now() - interval '1 h' THEN
            DELETE FROM insp.fallen x WHERE x.parent = f.parent;
        END IF;
    END LOOP;
    DELETE FROM insp.destroyed d WHERE d.id = ANY (ARRAY(
        SELECT x.id FROM insp.destroyed x WHERE x.destroyed_at < now() - interval '30 d' LIMIT p_limit FOR UPDATE SKIP LOCKED));
    RETURN swept;
END
$$;
COMMENT ON FUNCTION insp.sweep_keys(integer) IS 'Deletes at most the given number of rows below destroyed keys, and returns how many; 0: none is left';
GRANT EXECUTE ON FUNCTION insp.sweep_keys(integer) TO keys_eraser, keys_sweeper, keys_locksmith;

CREATE OR REPLACE FUNCTION insp.old_job_keys(p_after uuid, p_age interval, p_limit integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT k.id FROM insp.key k
    WHERE (p_after IS NULL OR k.id > p_after) AND k.kind IN ('job', 'template') AND k.created_at < now() - p_age
    ORDER BY k.id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.old_job_keys(uuid, interval, integer) IS
    'Ids of job and template keys of at least the given age, after the given one; null: from the first on';
GRANT EXECUTE ON FUNCTION insp.old_job_keys(uuid, interval, integer) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.idle_person_keys(p_after uuid, p_age interval, p_limit integer)
RETURNS TABLE (id uuid, is_idle boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT p.id, NOT EXISTS (SELECT FROM insp.key c WHERE c.parent = p.id)
    FROM (SELECT k.id FROM insp.key k
        WHERE (p_after IS NULL OR k.id > p_after) AND k.kind = 'person' AND k.created_at < now() - p_age
        ORDER BY k.id LIMIT p_limit) p
    ORDER BY p.id
$$;
COMMENT ON FUNCTION insp.idle_person_keys(uuid, interval, integer) IS
    'Keys of persons and faces of at least that age, from the one after this on, null: from the first on; and whether no key is below: all that it opened is gone';
GRANT EXECUTE ON FUNCTION insp.idle_person_keys(uuid, interval, integer) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.drop_idle_persons(p_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' SET enable_seqscan = off AS $$
DECLARE
    dropped integer;
BEGIN
    -- As in insp.destroy_erased_person.
    PERFORM FROM insp.key k WHERE k.id = ANY (p_ids) AND k.kind = 'person' ORDER BY k.id FOR UPDATE;
    DELETE FROM insp.key k WHERE k.id = ANY (p_ids) AND k.kind = 'person'
        AND NOT EXISTS (SELECT FROM insp.key c WHERE c.parent = k.id);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END
$$;
COMMENT ON FUNCTION insp.drop_idle_persons(uuid[]) IS
    'Deletes those of these keys of persons and faces that have no key below, and returns how many. No key is added meanwhile';
GRANT EXECUTE ON FUNCTION insp.drop_idle_persons(uuid[]) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.partners_with_keys(p_after integer, p_age interval, p_limit integer) RETURNS SETOF integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT k.partner_id FROM insp.key k
    WHERE k.kind = 'partner' AND (p_after IS NULL OR k.partner_id > p_after) AND k.created_at < now() - p_age
    ORDER BY k.partner_id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.partners_with_keys(integer, interval, integer) IS
    'Numbers of partners whose key is of at least the given age, after the given one; null: from the first on';
GRANT EXECUTE ON FUNCTION insp.partners_with_keys(integer, interval, integer) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.count_below(p_wrapping_key text, p_partner integer)
RETURNS TABLE (partner_id integer, persons bigint, jobs bigint, templates bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT p.partner_id, count(*) FILTER (WHERE k.kind = 'person'), count(*) FILTER (WHERE k.kind = 'job'),
        count(*) FILTER (WHERE k.kind = 'template')
    FROM insp.key p LEFT JOIN insp.key k ON k.partner_id = p.partner_id AND k.kind <> 'partner'
    WHERE p.kind = 'partner' AND (p.wrapping_key = p_wrapping_key OR p.partner_id = p_partner)
    GROUP BY p.partner_id ORDER BY p.partner_id
$$;
COMMENT ON FUNCTION insp.count_below(text, integer) IS
    'The partners whose keys this wrapping key has wrapped, or this partner, and how many keys are below: those that insp.abandon_keys abandons; reads all keys';
GRANT EXECUTE ON FUNCTION insp.count_below(text, integer) TO keys_sweeper;

CREATE OR REPLACE FUNCTION insp.abandon_keys(p_lost text, p_wrapping_key text, p_proof bytea) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    was insp.custody;
BEGIN
    -- No partner gets a key under the lost one from here on.
    SELECT c.* INTO was FROM insp.custody c FOR UPDATE;
    IF was.wrapping_key = p_lost THEN
        IF p_wrapping_key IS NULL OR p_wrapping_key = p_lost THEN
            RAISE EXCEPTION 'the lost wrapping key is the one for new keys: another one is needed' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        UPDATE insp.custody c SET wrapping_key = p_wrapping_key, proof = p_proof, changed_at = clock_timestamp(),
            former_key = nullif(was.former_key, p_wrapping_key);
    ELSIF was.former_key = p_lost THEN
        UPDATE insp.custody c SET former_key = NULL, changed_at = clock_timestamp();
    END IF;
    RETURN insp.destroy_keys(ARRAY(SELECT k.id FROM insp.key k WHERE k.kind = 'partner' AND k.wrapping_key = p_lost));
END
$$;
COMMENT ON FUNCTION insp.abandon_keys(text, text, bytea) IS
    'Destroys the partners'' keys that a lost wrapping key has wrapped, and with them all keys below, and makes another wrapping key wrap new keys if the lost one did; returns how many partners';
GRANT EXECUTE ON FUNCTION insp.abandon_keys(text, text, bytea) TO keys_sweeper;
