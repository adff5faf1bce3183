-- Maintenance, run by any worker under an advisory lock: what waits, what was left behind, what is over.

CREATE FUNCTION insp.promote(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    lanes smallint[];
    moved integer;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT d.ctid AS row FROM insp.delayed d WHERE d.run_at <= clock_timestamp()
        ORDER BY d.run_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING d.*
    ), waiting AS (
        INSERT INTO insp.ready (region, lane, slot, job_id, attempt, crashes)
        SELECT t.region, t.lane, t.slot, t.job_id, t.attempt, t.crashes FROM taken t ORDER BY t.run_at
        RETURNING lane
    )
    SELECT array_agg(DISTINCT w.lane), count(*) INTO lanes, moved FROM waiting w;
    PERFORM insp.wake(u.lane) FROM unnest(lanes) AS u (lane);
    RETURN moved;
END
$$;
COMMENT ON FUNCTION insp.promote(integer) IS 'Makes delayed jobs whose time has come ready; returns how many';

CREATE FUNCTION insp.rescue(
    p_dead_after interval DEFAULT '15 s', p_max_attempts integer DEFAULT 8, p_max_crashes integer DEFAULT 3,
    p_limit integer DEFAULT 1000,
    OUT requeued integer, OUT given_up integer, OUT workers integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
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
        -- Leases of dead workers, of workers that are gone (claimed while being rescued), and past their deadline.
        SELECT l.ctid AS row FROM insp.lease l
        WHERE l.worker_id = ANY (dead) OR l.deadline < clock_timestamp()
            OR NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = l.worker_id)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), ended AS (
        DELETE FROM insp.lease l WHERE l.ctid = ANY (ARRAY(SELECT s.row FROM stale s)) RETURNING l.*
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.worker_id) AS worker_ids,
        array_agg(e.attempt) AS attempts, array_agg((e.crashes + 1)::smallint) AS crashes,
        array_agg(e.region) AS regions, array_agg(e.lane) AS lanes, array_agg(e.slot) AS slots
    INTO lost FROM ended e;
    IF lost.jobs IS NOT NULL THEN
        WITH u AS MATERIALIZED (
            SELECT u.* FROM unnest(lost.jobs, lost.fences, lost.worker_ids, lost.attempts, lost.crashes, lost.regions,
                lost.lanes, lost.slots) AS u (job_id, fence, worker_id, attempt, crashes, region, lane, slot)
            JOIN insp.job j ON j.id = u.job_id AND j.status < 128
        ), noted AS (
            INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
            SELECT u.job_id, 'rescued', u.fence, u.worker_id,
                jsonb_build_object('attempt', u.attempt, 'crashes', u.crashes) FROM u
        ), waiting AS (
            INSERT INTO insp.ready (region, lane, slot, job_id, attempt, crashes)
            SELECT u.region, u.lane, u.slot, u.job_id, u.attempt, u.crashes FROM u
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
        PERFORM insp.wake(l.lane) FROM (SELECT DISTINCT unnest(lost.lanes) AS lane) l;
    END IF;
    DELETE FROM insp.worker w WHERE w.id = ANY (dead)
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = w.id);
    GET DIAGNOSTICS workers = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION insp.rescue(interval, integer, integer, integer) IS
    'Takes jobs back from dead workers and from leases past their deadline; each counts as a crash. Returns how many jobs it put back and gave up, and how many workers it struck off';

CREATE FUNCTION insp.sweep(p_limit integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moved integer;
BEGIN
    WITH floors AS (
        -- The highest floor of the fleet: what lies before it some worker no longer sees.
        SELECT u.queue, max(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
    ), stragglers AS MATERIALIZED (
        SELECT r.row FROM floors f, LATERAL (
            SELECT x.ctid AS row FROM insp.ready x
            WHERE x.region = (f.queue / 192)::smallint AND x.lane = (f.queue / 64 % 3)::smallint
                AND x.slot = (f.queue % 64)::smallint AND x.seq < f.seq
            ORDER BY x.seq FOR UPDATE SKIP LOCKED) r
        LIMIT p_limit
    ), taken AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT s.row FROM stragglers s)) RETURNING x.*
    ), waiting AS (
        INSERT INTO insp.ready (region, lane, slot, job_id, attempt, crashes)
        SELECT t.region, t.lane, t.slot, t.job_id, t.attempt, t.crashes FROM taken t ORDER BY t.seq
        RETURNING lane
    )
    SELECT count(*) INTO moved FROM waiting;
    RETURN moved;
END
$$;
COMMENT ON FUNCTION insp.sweep(integer) IS
    'Gives waiting jobs that lie before a worker''s floor (their producer committed very late) a new place; returns how many';

CREATE FUNCTION insp.expire(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        SELECT x.ctid AS row FROM insp.expiry x WHERE x.expires_at <= clock_timestamp()
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), named AS (
        DELETE FROM insp.expiry x WHERE x.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING x.job_id
    ), queues AS MATERIALIZED (
        SELECT g.id::smallint AS region, lane::smallint, slot::smallint, coalesce(f.seq, 0) AS floor
        FROM (SELECT 0 AS id UNION ALL SELECT r.id FROM insp.region r) g
            CROSS JOIN generate_series(0, 2) AS lane CROSS JOIN generate_series(0, 63) AS slot
            LEFT JOIN (
                SELECT u.queue, min(u.seq) AS seq
                FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
            ) f ON f.queue = (g.id * 3 + lane) * 64 + slot
    ), heads AS MATERIALIZED (
        -- A queue is in the order of arrival, so jobs of the default lifetime expire at its head first. Claiming weeds
        -- them out as well; this is for queues that nobody claims from.
        SELECT r.row, r.job_id FROM queues q, LATERAL (
            SELECT x.ctid AS row, x.job_id FROM insp.ready x
            WHERE x.region = q.region AND x.lane = q.lane AND x.slot = q.slot AND x.seq >= q.floor
            ORDER BY x.seq LIMIT 32 FOR UPDATE SKIP LOCKED) r
    ), over AS MATERIALIZED (
        SELECT h.row, h.job_id FROM heads h JOIN insp.job j ON j.id = h.job_id
        WHERE j.expires_at <= clock_timestamp() OR j.status = 128
    ), removed AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT o.row FROM over o))
    )
    SELECT coalesce(array_agg(c.job_id), '{}') INTO jobs
    FROM (SELECT n.job_id FROM named n UNION SELECT o.job_id FROM over o) c;
    RETURN CASE WHEN jobs = '{}' THEN 0 ELSE insp.end_unclaimed(jobs, 'EXPIRED', NULL) END;
END
$$;
COMMENT ON FUNCTION insp.expire(integer) IS 'Finishes jobs that are past their deadline as EXPIRED; returns how many';

CREATE FUNCTION insp.end_unclaimed(p_jobs bigint[], p_code text, p_detail text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    n constant integer := cardinality(p_jobs);
    ended bigint[];
BEGIN
    SELECT coalesce(array_agg(f.id), '{}') INTO ended FROM insp.finish_failed(
        p_jobs, array_fill(0::bigint, ARRAY[n]), array_fill(p_code, ARRAY[n]), array_fill(p_detail, ARRAY[n]),
        array_fill(0::smallint, ARRAY[n]), array_fill(0::smallint, ARRAY[n])) AS f (id);
    -- The job row is locked by now. A lease that a settlement holds is left to it: it will find the job finished. The
    -- row in ready or delayed stays as well; whoever claims it finds the same.
    DELETE FROM insp.lease l WHERE l.job_id IN (
        SELECT x.job_id FROM insp.lease x WHERE x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED);
    RETURN cardinality(ended);
END
$$;
COMMENT ON FUNCTION insp.end_unclaimed(bigint[], text, text) IS
    'Finishes jobs from outside any lease, waiting or running; a running one''s worker can write no more';

CREATE FUNCTION insp.is_empty(p_worker bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM insp.worker w, insp.lease x
            WHERE w.id = p_worker AND x.region IN (0, w.region) AND x.lane = ANY (w.lanes))
        AND NOT EXISTS (SELECT FROM insp.worker w, insp.delayed x
            WHERE w.id = p_worker AND x.region IN (0, w.region) AND x.lane = ANY (w.lanes))
        AND NOT EXISTS (SELECT FROM insp.worker w, insp.ready x
            WHERE w.id = p_worker AND x.region IN (0, w.region) AND x.lane = ANY (w.lanes))
$$;
COMMENT ON FUNCTION insp.is_empty(bigint) IS 'Whether nothing waits, is delayed or runs that the worker could ever work on';

GRANT EXECUTE ON FUNCTION
    insp.is_empty(bigint),
    insp.worker_start(uuid, text, integer, text, text, smallint[], integer),
    insp.heartbeat(bigint, uuid, integer, integer[], bigint[]),
    insp.worker_stop(bigint, uuid),
    insp.claim(bigint, uuid, interval, integer, smallint[], smallint[], smallint[], bigint[], integer[]),
    insp.parts(bigint, bigint),
    insp.store_steps(bigint[], bigint[], smallint[], text[]),
    insp.settle(bigint[], bigint[], text[], bigint[], bigint[], smallint[], text[]),
    insp.give_up(bigint[], bigint[], text[], text[], boolean[]),
    insp.retry_later(bigint[], bigint[], double precision[], text[], boolean[]),
    insp.hand_back(bigint[], bigint[]),
    insp.promote(integer),
    insp.rescue(interval, integer, integer, integer),
    insp.sweep(integer),
    insp.expire(integer),
    insp.ensure_partitions(bigint)
TO insp_worker;
