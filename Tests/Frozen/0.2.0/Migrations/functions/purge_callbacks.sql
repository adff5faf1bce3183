-- Retention of callbacks, each with its attempts.

CREATE OR REPLACE FUNCTION insp.purge_callbacks(p_limit integer, OUT removed integer, OUT walked integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    safe constant bigint := (SELECT h.safe_id FROM insp.retention_horizon h WHERE h.what = 'callback');
    horizon constant timestamptz := now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'callbacks');
    start bigint;
    old bigint[];
BEGIN
    INSERT INTO insp.retention_cursor (what) VALUES ('callbacks') ON CONFLICT DO NOTHING;
    SELECT c.next_id INTO start FROM insp.retention_cursor c WHERE c.what = 'callbacks' AND c.keep = '0';
    WITH page AS MATERIALIZED (
        SELECT c.id, c.created_at FROM insp.callback c WHERE c.id >= start AND c.id <= safe ORDER BY c.id LIMIT p_limit
    )
    SELECT array_agg(g.id) INTO old FROM page g
    WHERE g.id < coalesce((SELECT min(y.id) FROM page y WHERE y.created_at > horizon), 9223372036854775807);
    -- Each is passed once; those still to be delivered or dead-lettered are recorded with the time to return.
    walked := coalesce(cardinality(old), 0);
    removed := 0;
    IF walked > 0 THEN
        removed := cardinality(insp.purge_jobs('callbacks', old));
        UPDATE insp.retention_cursor c SET next_id = (SELECT max(o.id) + 1 FROM unnest(old) AS o (id))
        WHERE c.what = 'callbacks' AND c.keep = '0';
    END IF;
END
$$;
COMMENT ON FUNCTION insp.purge_callbacks(integer) IS
    'Removes the due callbacks among the next p_limit, with their attempts; returns how many, and how many it passed';

CREATE OR REPLACE FUNCTION insp.retire_callbacks(p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    sent constant interval := (SELECT r.keep FROM insp.retention r WHERE r.what = 'callbacks');
    dead_keep constant interval := (SELECT r.keep FROM insp.retention r WHERE r.what = 'dead_callbacks');
    locked constant bigint[] := ARRAY(SELECT c.id FROM insp.callback c WHERE c.id = ANY (p_ids) FOR UPDATE SKIP LOCKED);
    over bigint[];
    bare bigint[];
    removed bigint[];
BEGIN
    -- A new statement sees a replay from before the lock; a later one waits, and finds nothing.
    WITH judged AS MATERIALIZED (
        SELECT c.id, c.job_id, c.created_at, insp.callback_delivered_at(c) AS delivered_at,
            EXISTS (SELECT FROM insp.callback_waiting w WHERE w.callback_id = c.id AND w.state = 'dead') AS is_dead
        FROM insp.callback c WHERE c.id = ANY (locked)
    ), over AS MATERIALIZED (
        SELECT g.id FROM judged g
        WHERE g.delivered_at <= now() - sent OR g.is_dead AND g.created_at <= now() - dead_keep
    ), later AS (
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT CASE WHEN g.delivered_at IS NOT NULL THEN g.delivered_at + sent WHEN g.is_dead THEN g.created_at + dead_keep
            ELSE now() + interval '1 day' END, 'callbacks', g.id
        FROM judged g WHERE g.id NOT IN (SELECT o.id FROM over o)
        UNION SELECT now() + interval '1 minute', 'callbacks', c.id FROM insp.callback c
        WHERE c.id = ANY (p_ids) AND c.id <> ALL (locked)
        ON CONFLICT DO NOTHING
    )
    SELECT (SELECT array_agg(o.id) FROM over o), array_agg(g.id) INTO over, bare
    FROM judged g WHERE g.delivered_at IS NULL AND NOT EXISTS (SELECT FROM over o WHERE o.id = g.id)
        -- The job's own retention has run, or the job no longer exists.
        AND NOT EXISTS (SELECT FROM insp.job j WHERE j.id = g.job_id AND j.forgotten_at IS NULL);
    BEGIN
        DELETE FROM insp.callback_waiting w WHERE w.callback_id = ANY (over);
        DELETE FROM insp.callback_attempt a WHERE a.callback_id = ANY (over);
        PERFORM insp.remove_pulls(over);
        WITH gone AS (DELETE FROM insp.callback c WHERE c.id = ANY (over) RETURNING c.id)
        SELECT coalesce(array_agg(g.id), '{}') INTO removed FROM gone g;
        PERFORM insp.forget_callbacks(bare, false);
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        removed := '{}';
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT now() + interval '1 minute', 'callbacks', x.id FROM unnest(over || bare) AS x (id) ON CONFLICT DO NOTHING;
    END;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.retire_callbacks(bigint[]) IS
    'Removes the given callbacks that were delivered or dead-lettered longer ago than their period, with their attempts, and records the others for later; returns those that it removed';
