-- After: errors, record
-- Which key store and which wrapping key the programs must have, and what becomes of the keys of jobs.

CREATE OR REPLACE VIEW insp.v_custody AS
SELECT c.key_store, c.wrapping_key, c.former_key, c.changed_at FROM insp.custody c;
COMMENT ON VIEW insp.v_custody IS 'The key store and the wrapping key (inspectd keys)';
COMMENT ON COLUMN insp.v_custody.key_store IS 'The key store, as it names itself';
COMMENT ON COLUMN insp.v_custody.wrapping_key IS 'Name of the wrapping key for new keys';
COMMENT ON COLUMN insp.v_custody.former_key IS 'Name of the one from which a rotation moves the keys; null: none is under way';
COMMENT ON COLUMN insp.v_custody.changed_at IS 'When a rotation began or ended';
GRANT SELECT ON insp.v_custody TO insp_producer, insp_worker, insp_operator, insp_auditor, insp_gateway;

CREATE OR REPLACE FUNCTION insp.set_custody(key_store uuid, wrapping_key text, former_key text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    was insp.custody;
    name constant text := '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
BEGIN
    PERFORM insp.require(set_custody.key_store IS NOT NULL, 'no key store');
    PERFORM insp.require(coalesce(set_custody.wrapping_key ~ name AND coalesce(set_custody.former_key ~ name, true), false),
        'the name of a wrapping key', 'It has 1 to 64 letters, digits, dots, dashes and underscores.');
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
        UPDATE insp.custody c SET wrapping_key = set_custody.wrapping_key, former_key = set_custody.former_key,
            changed_at = clock_timestamp();
    END IF;
    PERFORM insp.record('set_custody', 'keys', jsonb_build_object('key_store', set_custody.key_store,
        'wrapping_key', set_custody.wrapping_key, 'former_key', set_custody.former_key, 'was', was.wrapping_key));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.set_custody(uuid, text, text) IS
    'Notes the key store and the wrapping key, as inspectd keys does after a change in the key store; returns whether that is new. Another key store is refused';
GRANT EXECUTE ON FUNCTION insp.set_custody(uuid, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.seal_of(p_bytes bytea) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN substr(p_bytes, 1, 1) = '\x01'::bytea THEN 1::smallint ELSE 0::smallint END $$;
COMMENT ON FUNCTION insp.seal_of(bytea) IS
    'How bytes are sealed: 1, the version with which sealed bytes begin (deploy/SEALING.md), or 0, not at all, as JSON never begins so';

CREATE OR REPLACE FUNCTION insp.check_sealed(p_sealed bytea, p_contents bytea[]) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- Version, key, nonce and tag have 45 bytes.
    IF insp.seal_of(p_sealed) = 0 OR length(p_sealed) < 45 OR length(p_sealed) > 65536 OR EXISTS (SELECT FROM unnest(p_contents) c
        WHERE (substr(c, 1, 17) = substr(p_sealed, 1, 17) AND length(c) >= 45) IS NOT TRUE) THEN
        PERFORM insp.refuse('SEAL_BROKEN', 'sealed values and parts begin with 01 and the id of one key, and have 45 bytes or more');
    END IF;
    RETURN encode(substr(p_sealed, 2, 16), 'hex')::uuid;
END
$$;
COMMENT ON FUNCTION insp.check_sealed(bytea, bytea[]) IS
    'Refuses sealed bytes that are not of the published format or not all of one key; returns the key''s id';

CREATE OR REPLACE FUNCTION insp.list_keys(p_keys uuid[], p_partners integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    -- Listed before anything is looked for: of two transactions that remove the last two uses of a key, each would find the other's.
    -- So the second one waits here for the end of the first.
    INSERT INTO insp.key_gone (key_id, partner_id)
    SELECT DISTINCT u.key_id, u.partner_id FROM unnest(p_keys, p_partners) AS u (key_id, partner_id) ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
    -- A new statement sees what that one has removed. Other jobs may have the key, too: reruns; and other templates: copies. Another
    -- partner's that name it are none of them.
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
    'Lists those of these keys in insp.key_gone with which nothing is left to open';

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
    'Lists the keys of these jobs in insp.key_gone, if nothing is left that they sealed';

CREATE OR REPLACE FUNCTION insp.keys_gone(p_limit integer) RETURNS TABLE (key_id uuid, partner_id integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT g.key_id, g.partner_id FROM insp.key_gone g ORDER BY g.key_id, g.partner_id LIMIT greatest(p_limit, 0)
$$;
COMMENT ON FUNCTION insp.keys_gone(integer) IS 'Keys of jobs and templates that the key store must destroy, each if it is the partner''s';
GRANT EXECUTE ON FUNCTION insp.keys_gone(integer) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.keys_destroyed(p_keys uuid[], p_partners integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    WITH gone AS (
        DELETE FROM insp.key_gone g WHERE g.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.key_gone x JOIN unnest(p_keys, p_partners) AS u (key_id, partner_id) USING (key_id, partner_id)
            FOR UPDATE OF x SKIP LOCKED))
        RETURNING g.partner_id
    )
    SELECT insp.record('destroy_keys', 'partner ' || p.name, jsonb_build_object('keys', n.keys))
    FROM (SELECT g.partner_id, count(*) AS keys FROM gone g GROUP BY g.partner_id) n JOIN insp.partner p ON p.id = n.partner_id
$$;
COMMENT ON FUNCTION insp.keys_destroyed(uuid[], integer[]) IS
    'Notes, and records, that the key store has destroyed these keys of these partners';
GRANT EXECUTE ON FUNCTION insp.keys_destroyed(uuid[], integer[]) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.keys_of_no_job(p_keys uuid[]) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT k FROM unnest(p_keys) AS k WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.key_id = k)
        AND NOT EXISTS (SELECT FROM insp.face_template t WHERE t.key_id = k)
        AND NOT EXISTS (SELECT FROM insp.face_pending f WHERE f.key_id = k)
$$;
COMMENT ON FUNCTION insp.keys_of_no_job(uuid[]) IS
    'Which of these keys no job and no template has: their requests were refused, repeated or never arrived, or their jobs are history';
GRANT EXECUTE ON FUNCTION insp.keys_of_no_job(uuid[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.custody_partner(partner text) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT insp.partner_number(custody_partner.partner)
$$;
COMMENT ON FUNCTION insp.custody_partner(text) IS
    'The number of a partner, which programs need for its keys and for what they seal; refuses partners for which the login may not act';
GRANT EXECUTE ON FUNCTION insp.custody_partner(text) TO insp_producer, insp_operator;
