-- Maintenance over insp.queue: what waits, what was left behind, what is over.

CREATE OR REPLACE FUNCTION insp.promote(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    -- As a value: the function itself, being volatile, would be compared with every row of the index.
    moment constant timestamptz := clock_timestamp();
    lanes smallint[];
    moved integer;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT d.ctid AS row FROM insp.delayed d WHERE d.run_at <= moment
        ORDER BY d.run_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING d.*
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT t.job_id, t.queue, t.attempt, t.crashes FROM taken t ORDER BY t.run_at
        RETURNING queue
    )
    SELECT array_agg(DISTINCT q.lane), count(*) INTO lanes, moved FROM waiting w JOIN insp.queue q ON q.id = w.queue;
    PERFORM insp.wake(u.lane) FROM unnest(lanes) AS u (lane);
    RETURN moved;
END
$$;

DROP FUNCTION insp.rescue(interval, integer, integer, integer);
CREATE FUNCTION insp.rescue(
    p_dead_after interval DEFAULT '15 s', p_max_attempts integer DEFAULT 8, p_max_crashes integer DEFAULT 3,
    p_limit integer DEFAULT 1000, p_thorough boolean DEFAULT true,
    OUT requeued integer, OUT given_up integer, OUT workers integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    dead bigint[];
    lost record;
BEGIN
    requeued := 0;
    given_up := 0;
    workers := 0;
    dead := '{}';
    -- After a restart of the database every worker looks silent; they get the time to come back first.
    IF pg_postmaster_start_time() < clock_timestamp() - p_dead_after - interval '5 s' THEN
        -- Silence must be seen twice, 2 s apart: a database that was frozen would otherwise, on waking, find all its
        -- workers silent before their waiting heartbeats get through.
        UPDATE insp.worker w SET suspect_at = clock_timestamp()
        WHERE w.heartbeat_at < clock_timestamp() - (p_dead_after - interval '2.5 s') AND w.suspect_at IS NULL;
        SELECT coalesce(array_agg(w.id), '{}') INTO dead FROM (
            SELECT w.id FROM insp.worker w
            WHERE w.heartbeat_at < clock_timestamp() - p_dead_after AND w.suspect_at < clock_timestamp() - interval '2 s'
            FOR UPDATE SKIP LOCKED) w;
    END IF;
    WITH stale AS MATERIALIZED (
        -- Leases of dead workers, and those past their deadline. From each worker's lowest fence on: below it there may be
        -- millions of ended leases that VACUUM cannot remove.
        SELECT x.row FROM insp.worker w, LATERAL (
            SELECT l.ctid AS row FROM insp.lease l
            WHERE l.worker_id = w.id AND l.fence >= w.fence_floor
                AND (w.id = ANY (dead) OR l.deadline < clock_timestamp())
            FOR UPDATE SKIP LOCKED) x
        LIMIT p_limit
    ), orphans AS MATERIALIZED (
        -- Of workers that are gone (claimed while being rescued), and whatever the floors hide. Reads the whole table.
        SELECT l.ctid AS row FROM insp.lease l
        WHERE p_thorough AND (l.deadline < clock_timestamp()
            OR NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = l.worker_id))
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), ended AS (
        DELETE FROM insp.lease l
        WHERE l.ctid = ANY (ARRAY(SELECT s.row FROM stale s UNION SELECT o.row FROM orphans o)) RETURNING l.*
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.worker_id) AS worker_ids,
        array_agg(e.attempt) AS attempts, array_agg((e.crashes + 1)::smallint) AS crashes,
        array_agg(e.queue) AS queues, array_agg(e.claimed_at) AS claims
    INTO lost FROM ended e;
    IF lost.jobs IS NOT NULL THEN
        WITH u AS MATERIALIZED (
            SELECT u.* FROM unnest(lost.jobs, lost.fences, lost.worker_ids, lost.attempts, lost.crashes, lost.queues,
                lost.claims) AS u (job_id, fence, worker_id, attempt, crashes, queue, claimed_at)
            JOIN insp.job j ON j.id = ANY (ARRAY[u.job_id]) AND j.status < 128
        ), noted AS (
            INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
            SELECT u.job_id, 'rescued', u.fence, u.worker_id,
                jsonb_build_object('attempt', u.attempt, 'crashes', u.crashes) FROM u
        ), begun AS (
            UPDATE insp.job j SET status = 2, started_at = u.claimed_at FROM u
            WHERE j.id = ANY (ARRAY[u.job_id]) AND j.status = 1
        ), waiting AS (
            INSERT INTO insp.ready (job_id, queue, attempt, crashes)
            SELECT u.job_id, u.queue, u.attempt, u.crashes FROM u
            WHERE u.crashes < p_max_crashes AND u.attempt < p_max_attempts
            RETURNING 1
        )
        SELECT count(*) INTO requeued FROM waiting;
        WITH u AS MATERIALIZED (
            SELECT u.* FROM unnest(lost.jobs, lost.fences, lost.attempts, lost.crashes)
                AS u (job_id, fence, attempt, crashes)
            WHERE u.crashes >= p_max_crashes OR u.attempt >= p_max_attempts
        ), g AS (
            SELECT array_agg(u.job_id) AS jobs, array_agg(u.fence) AS fences,
                array_agg(CASE WHEN u.crashes >= p_max_crashes THEN 'WORKER_LOST' ELSE 'ATTEMPTS_EXHAUSTED' END) AS codes,
                array_agg(CASE WHEN u.crashes >= p_max_crashes THEN u.crashes || ' times' ELSE 'last: WORKER_LOST' END)
                    AS details,
                array_agg(u.attempt) AS attempts, array_agg(u.crashes) AS crashes
            FROM u
        )
        SELECT count(*) INTO given_up
        FROM g, LATERAL insp.finish_failed(g.jobs, g.fences, g.codes, g.details, g.attempts, g.crashes) f
        WHERE g.jobs IS NOT NULL;
        PERFORM insp.wake(l.lane) FROM (SELECT DISTINCT q.lane FROM insp.queue q WHERE q.id = ANY (lost.queues)) l;
    END IF;
    DELETE FROM insp.worker w WHERE w.id = ANY (dead)
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = w.id AND l.fence >= w.fence_floor);
    GET DIAGNOSTICS workers = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean) IS
    'Takes jobs back from dead workers and from leases past their deadline; each counts as a crash. p_thorough also finds leases of workers that are gone, reading every lease. Returns how many jobs it put back and gave up, and how many workers it struck off';
GRANT EXECUTE ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.sweep(p_limit integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moved integer;
BEGIN
    WITH floors AS (
        -- The highest floor of the fleet: what lies before it some worker no longer sees.
        SELECT u.queue, max(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
    ), stragglers AS MATERIALIZED (
        SELECT r.row FROM floors f, LATERAL (
            SELECT x.ctid AS row FROM insp.ready x WHERE x.queue = f.queue AND x.seq < f.seq
            ORDER BY x.seq FOR UPDATE SKIP LOCKED) r
        LIMIT p_limit
    ), taken AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT s.row FROM stragglers s)) RETURNING x.*
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT t.job_id, t.queue, t.attempt, t.crashes FROM taken t ORDER BY t.seq
        RETURNING 1
    )
    SELECT count(*) INTO moved FROM waiting;
    RETURN moved;
END
$$;

CREATE OR REPLACE FUNCTION insp.expire(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    -- As a value, so that the index is read up to it and no further.
    moment constant timestamptz := clock_timestamp();
    jobs bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        SELECT x.ctid AS row FROM insp.expiry x WHERE x.expires_at <= moment
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), named AS (
        DELETE FROM insp.expiry x WHERE x.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING x.job_id
    ), queues AS MATERIALIZED (
        SELECT q.id AS queue, coalesce(f.seq, 0) AS floor
        FROM insp.queue q LEFT JOIN (
            SELECT u.queue, min(u.seq) AS seq
            FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
        ) f ON f.queue = q.id
    ), heads AS MATERIALIZED (
        -- A queue is in the order of arrival, so jobs of the default lifetime expire at its head first. Claiming weeds
        -- them out as well; this is for queues that nobody claims from.
        SELECT r.row, r.job_id FROM queues q, LATERAL (
            SELECT x.ctid AS row, x.job_id FROM insp.ready x
            WHERE x.queue = q.queue AND x.seq >= q.floor
            ORDER BY x.seq LIMIT 32 FOR UPDATE SKIP LOCKED) r
    ), over AS MATERIALIZED (
        -- One look for each: with OFFSET it cannot become a join that reads all jobs.
        SELECT h.row, h.job_id FROM heads h, LATERAL (
            SELECT FROM insp.job j WHERE j.id = h.job_id AND (j.expires_at <= moment OR j.status = 128) OFFSET 0) j
    ), removed AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT o.row FROM over o))
    )
    SELECT coalesce(array_agg(c.job_id), '{}') INTO jobs
    FROM (SELECT n.job_id FROM named n UNION SELECT o.job_id FROM over o) c;
    RETURN CASE WHEN jobs = '{}' THEN 0 ELSE insp.end_unclaimed(jobs, 'EXPIRED', NULL) END;
END
$$;

CREATE OR REPLACE FUNCTION insp.is_empty(p_worker bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM insp.worker w JOIN insp.queue q ON q.region IN (0, w.region) AND q.lane = ANY (w.lanes)
        WHERE w.id = p_worker AND (EXISTS (SELECT FROM insp.ready x WHERE x.queue = q.id)
            OR EXISTS (SELECT FROM insp.delayed x WHERE x.queue = q.id)
            OR EXISTS (SELECT FROM insp.lease x WHERE x.queue = q.id)))
$$;

CREATE OR REPLACE FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- With leases left the row stays, and rescue does the rest.
    DELETE FROM insp.worker w WHERE w.id = p_worker AND w.incarnation = p_incarnation
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = p_worker AND l.fence >= w.fence_floor)
$$;
