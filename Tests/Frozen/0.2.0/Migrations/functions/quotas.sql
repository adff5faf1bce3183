-- Quotas of waiting jobs and stored bytes. Changes are written to rows without waiting, and added up by maintenance.

CREATE OR REPLACE FUNCTION insp.take_quota(p_partner integer, p_waiting bigint, p_bytes bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    -- A row that is not held, or a new one: no transaction waits for another. A snapshot older than a row's last change could
    -- not update it.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        UPDATE insp.quota_use u SET waiting = u.waiting + p_waiting, bytes = u.bytes + p_bytes
        WHERE u.ctid = (SELECT x.ctid FROM insp.quota_use x WHERE x.partner_id = p_partner LIMIT 1 FOR UPDATE SKIP LOCKED);
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO insp.quota_use (partner_id, waiting, bytes) VALUES (p_partner, p_waiting, p_bytes);
END
$$;
COMMENT ON FUNCTION insp.take_quota(integer, bigint, bigint) IS 'Adds to a partner''s usage since the last measurement';

CREATE OR REPLACE FUNCTION insp.take_waiting(p_partner integer, p_max bigint, p_jobs bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    IF p_jobs + coalesce((SELECT q.waiting FROM insp.quota q WHERE q.partner_id = p_partner), 0)
        + coalesce((SELECT sum(u.waiting) FROM insp.quota_use u WHERE u.partner_id = p_partner), 0) > p_max THEN
        PERFORM insp.refuse('WAITING_QUOTA_REACHED', format('at most %s', p_max));
    END IF;
    PERFORM insp.take_quota(p_partner, p_jobs, 0);
END
$$;
COMMENT ON FUNCTION insp.take_waiting(integer, bigint, bigint) IS
    'Refuses jobs beyond a partner''s quota. Concurrent transactions do not see each other''s jobs, so together they may exceed it';

CREATE OR REPLACE FUNCTION insp.take_bytes(p_partner integer, p_max bigint, p_bytes bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    IF p_bytes + coalesce((SELECT q.bytes FROM insp.quota q WHERE q.partner_id = p_partner), 0)
        + coalesce((SELECT sum(u.bytes) FROM insp.quota_use u WHERE u.partner_id = p_partner), 0) > p_max THEN
        PERFORM insp.refuse('STORAGE_QUOTA_REACHED', format('at most %s bytes', p_max));
    END IF;
    PERFORM insp.take_quota(p_partner, 0, p_bytes);
END
$$;
COMMENT ON FUNCTION insp.take_bytes(integer, bigint, bigint) IS 'Refuses parts beyond a partner''s quota, like insp.take_waiting for jobs';

CREATE OR REPLACE FUNCTION insp.content_freed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.quota) THEN
        RETURN NULL;
    END IF;
    PERFORM insp.take_quota(f.partner_id, 0, -f.bytes)
    FROM (SELECT j.partner_id, sum(octet_length(b.bytes)) AS bytes
        FROM before b JOIN insp.job j ON j.id = b.id JOIN insp.partner p ON p.id = j.partner_id
        WHERE p.max_bytes IS NOT NULL GROUP BY j.partner_id) f;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.content_freed() IS 'Returns removed bytes to their partners'' quotas';
CREATE OR REPLACE TRIGGER content_freed AFTER DELETE ON insp.content
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION insp.content_freed();

CREATE OR REPLACE FUNCTION insp.measure_quotas() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    partners integer[];
BEGIN
    -- Partners being measured elsewhere at this moment are skipped.
    partners := ARRAY(SELECT q.partner_id FROM insp.quota q FOR UPDATE SKIP LOCKED);
    IF partners = '{}' THEN
        RETURN 0;
    END IF;
    -- First the usage rows are removed, then jobs are counted: the later statement sees every job of the removed rows. A row that
    -- an open transaction holds remains, and is counted twice at most until that ends.
    WITH gone AS (
        DELETE FROM insp.quota_use u WHERE u.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.quota_use x WHERE x.partner_id = ANY (partners) FOR UPDATE SKIP LOCKED))
        RETURNING u.partner_id, u.bytes
    ), freed AS (
        SELECT g.partner_id, sum(g.bytes) AS bytes FROM gone g GROUP BY g.partner_id
    )
    UPDATE insp.quota q SET bytes = greatest(0, q.bytes + f.bytes) FROM freed f WHERE q.partner_id = f.partner_id;
    WITH delayed AS MATERIALIZED (
        SELECT k.partner_id, count(*) AS jobs FROM insp.delayed d JOIN insp.queue k ON k.id = d.queue
        WHERE k.partner_id = ANY (partners) GROUP BY k.partner_id
    ), floors AS MATERIALIZED (
        -- Below them are dead entries of claimed jobs, which remain while any old transaction runs.
        SELECT k.partner_id, k.id AS queue, coalesce(f.seq, 0) AS seq
        FROM insp.queue k LEFT JOIN insp.v_floor f ON f.queue = k.id WHERE k.partner_id = ANY (partners)
    )
    UPDATE insp.quota q SET measured_at = clock_timestamp(),
        waiting = coalesce((SELECT d.jobs FROM delayed d WHERE d.partner_id = q.partner_id), 0)
            + (SELECT count(*) FROM (SELECT FROM floors f, LATERAL (SELECT FROM insp.ready r
                WHERE r.queue = f.queue AND r.seq >= f.seq OFFSET 0) r
                WHERE f.partner_id = q.partner_id LIMIT least(p.max_waiting, 9223372036854775806) + 1) w)
    FROM insp.partner p WHERE p.id = q.partner_id AND q.partner_id = ANY (partners) AND p.max_waiting IS NOT NULL;
    RETURN cardinality(partners);
END
$$;
COMMENT ON FUNCTION insp.measure_quotas() IS
    'Counts the waiting jobs of partners with a quota, and adds up the bytes of their parts; maintenance calls it. Returns how many partners';
GRANT EXECUTE ON FUNCTION insp.measure_quotas() TO insp_worker;

CREATE OR REPLACE FUNCTION insp.set_quota(partner text, max_waiting bigint DEFAULT NULL, max_bytes bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    was constant insp.partner := insp.partner_lock(set_quota.partner);
    number constant integer := was.id;
BEGIN
    IF set_quota.max_waiting < 1 OR set_quota.max_bytes < 1 THEN
        PERFORM insp.refuse('PARAMETER_INVALID', format('%s is %s',
            CASE WHEN set_quota.max_waiting < 1 THEN 'max_waiting' ELSE 'max_bytes' END,
            CASE WHEN set_quota.max_waiting < 1 THEN set_quota.max_waiting ELSE set_quota.max_bytes END),
            'max_waiting and max_bytes are at least 1; insp.pause(partner => …) stops a partner.');
    END IF;
    UPDATE insp.partner p SET max_waiting = set_quota.max_waiting, max_bytes = set_quota.max_bytes WHERE p.id = number;
    DELETE FROM insp.quota q WHERE q.partner_id = number;
    DELETE FROM insp.quota_use u WHERE u.partner_id = number;
    IF coalesce(set_quota.max_waiting, set_quota.max_bytes) IS NOT NULL THEN
        INSERT INTO insp.quota (partner_id, bytes) VALUES (number, CASE WHEN set_quota.max_bytes IS NULL THEN 0 ELSE (
            SELECT coalesce(sum(octet_length(c.bytes)), 0) FROM insp.job j JOIN insp.content c ON c.id = j.id
            WHERE j.partner_id = number) END);
        PERFORM insp.measure_quotas();
    END IF;
    PERFORM insp.record_partner('set_quota', was);
    RETURN format('partner %s: %s, %s', set_quota.partner,
        coalesce('at most ' || set_quota.max_waiting || ' waiting', 'any number waiting'),
        coalesce('at most ' || set_quota.max_bytes || ' bytes of parts', 'any bytes of parts'));
END
$$;
COMMENT ON FUNCTION insp.set_quota(text, bigint, bigint) IS
    'Limits how many of a partner''s jobs may wait and how many bytes its parts may occupy; without numbers it has no quota. With max_bytes, reads all jobs of the partner and counts again';
GRANT EXECUTE ON FUNCTION insp.set_quota(text, bigint, bigint) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_quota AS
SELECT p.name AS partner, p.max_waiting, CASE WHEN p.max_waiting IS NOT NULL THEN q.waiting + coalesce(u.waiting, 0) END AS waiting,
    p.max_bytes, CASE WHEN p.max_bytes IS NOT NULL THEN q.bytes + coalesce(u.bytes, 0) END AS bytes, q.measured_at
FROM insp.quota q JOIN insp.partner p ON p.id = q.partner_id
    LEFT JOIN (SELECT x.partner_id, sum(x.waiting)::bigint AS waiting, sum(x.bytes)::bigint AS bytes
        FROM insp.quota_use x GROUP BY x.partner_id) u ON u.partner_id = q.partner_id;
COMMENT ON VIEW insp.v_quota IS 'Partners with a quota, and their usage (set_quota)';
COMMENT ON COLUMN insp.v_quota.partner IS 'The partner';
COMMENT ON COLUMN insp.v_quota.max_waiting IS 'Jobs that may wait';
COMMENT ON COLUMN insp.v_quota.waiting IS 'Jobs that count as waiting: those of the last measurement and those accepted since then';
COMMENT ON COLUMN insp.v_quota.max_bytes IS 'Bytes that parts may occupy';
COMMENT ON COLUMN insp.v_quota.bytes IS 'Bytes that they occupy';
COMMENT ON COLUMN insp.v_quota.measured_at IS 'When the waiting jobs were counted last; workers do it every two seconds';
GRANT SELECT ON insp.v_quota TO insp_operator, insp_auditor;
