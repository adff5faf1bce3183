-- Maintenance: delayed jobs, lost jobs, expired jobs. Any worker performs it. The duties are rows, which only roles with rights on
-- them can hold, and rows that are held are skipped.

CREATE OR REPLACE FUNCTION insp.duty_take(p_name text, p_spacing interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_mine boolean;
BEGIN
    -- A time in the future means that the clock was set back: the duty runs, and its time is written again.
    PERFORM FROM insp.duty d WHERE d.name = p_name
        AND NOT coalesce(d.finished_at > clock_timestamp() - p_spacing AND d.finished_at <= clock_timestamp(), false)
    FOR UPDATE SKIP LOCKED;
    is_mine := FOUND;
    -- For the statements that follow in this transaction.
    PERFORM set_config('insp.duty', CASE WHEN is_mine THEN p_name ELSE '' END, true);
    RETURN is_mine;
END
$$;
COMMENT ON FUNCTION insp.duty_take(text, interval) IS
    'Takes a duty for the duration of the transaction and stores its name in the setting insp.duty; false: another worker has it, or ran it less than p_spacing ago';
GRANT EXECUTE ON FUNCTION insp.duty_take(text, interval) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.duty_done(p_name text, p_by text, p_outcome jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Not every half second: while an old transaction runs, each update leaves a dead row that cannot be removed.
    UPDATE insp.duty d SET finished_at = clock_timestamp(), took = clock_timestamp() - now(), run_by = p_by,
        outcome = p_outcome, error = NULL, failures = 0
    WHERE d.name = p_name AND p_outcome IS DISTINCT FROM '-1' AND (d.error IS NOT NULL OR d.finished_at IS NULL
        OR d.finished_at NOT BETWEEN clock_timestamp() - interval '4 s' AND clock_timestamp())
$$;
COMMENT ON FUNCTION insp.duty_done(text, text, jsonb) IS 'Records that a round of a duty succeeded; -1: it could not scan, and nothing is recorded';
GRANT EXECUTE ON FUNCTION insp.duty_done(text, text, jsonb) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.duty_failed(p_name text, p_by text, p_error text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.duty d SET failed_at = clock_timestamp(), run_by = p_by, error = left(p_error, 500), failures = d.failures + 1
    WHERE d.name IN (SELECT x.name FROM insp.duty x WHERE x.name = p_name FOR UPDATE SKIP LOCKED)
$$;
COMMENT ON FUNCTION insp.duty_failed(text, text, text) IS 'Records that a round of a duty failed';
GRANT EXECUTE ON FUNCTION insp.duty_failed(text, text, text) TO insp_worker;

CREATE OR REPLACE VIEW insp.v_maintenance AS
SELECT d.name AS duty, d.every, d.finished_at, greatest(interval '0', clock_timestamp() - coalesce(d.finished_at, d.since)) AS age,
    d.took, d.run_by, d.outcome, d.failed_at, d.failures, d.error,
    CASE WHEN d.error IS NOT NULL THEN 'fails'
        WHEN clock_timestamp() - coalesce(d.finished_at, d.since) > greatest(interval '1 minute', 10 * d.every) THEN 'late'
        ELSE 'well' END AS state
FROM insp.duty d;
COMMENT ON VIEW insp.v_maintenance IS 'Maintenance duties: when each last ran, on which worker, and its outcome';
COMMENT ON COLUMN insp.v_maintenance.duty IS 'The duty';
COMMENT ON COLUMN insp.v_maintenance.every IS 'How often it should run';
COMMENT ON COLUMN insp.v_maintenance.finished_at IS 'When a round last succeeded; null: never';
COMMENT ON COLUMN insp.v_maintenance.age IS 'Time since then or, if never, since the duty was introduced';
COMMENT ON COLUMN insp.v_maintenance.took IS 'How long that round took';
COMMENT ON COLUMN insp.v_maintenance.run_by IS 'Host and process that ran it';
COMMENT ON COLUMN insp.v_maintenance.outcome IS 'What its function returned';
COMMENT ON COLUMN insp.v_maintenance.failed_at IS 'When a round last failed';
COMMENT ON COLUMN insp.v_maintenance.failures IS 'Failed rounds since the last success';
COMMENT ON COLUMN insp.v_maintenance.error IS 'Why the last round failed; null: it did not';
COMMENT ON COLUMN insp.v_maintenance.state IS 'well; late: no success for ten times its interval and at least a minute; fails: the last round failed';
GRANT SELECT ON insp.v_maintenance TO insp_worker, insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.promote(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    -- As a value: the volatile function itself would be evaluated for every row of the index.
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
COMMENT ON FUNCTION insp.promote(integer) IS 'Makes delayed jobs ready when their time has come; returns how many';
GRANT EXECUTE ON FUNCTION insp.promote(integer) TO insp_worker;

-- A part of insp.rescue, called with its settings.
CREATE OR REPLACE FUNCTION insp.finish_spent(
    p_jobs bigint[], p_fences bigint[], p_queues integer[], p_codes text[], p_details text[], p_attempts smallint[],
    p_crashes smallint[]
) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    ended integer := 0;
BEGIN
    RETURN (SELECT count(*) FROM insp.finish_failed(p_jobs, p_fences, p_codes, p_details, p_attempts, p_crashes));
EXCEPTION WHEN OTHERS THEN
    IF NOT insp.may_be_of_row(SQLSTATE) THEN
        RAISE;
    END IF;
    FOR place IN 1..cardinality(p_jobs) LOOP
        BEGIN
            ended := ended + (SELECT count(*) FROM insp.finish_failed(p_jobs[place:place], p_fences[place:place],
                p_codes[place:place], p_details[place:place], p_attempts[place:place], p_crashes[place:place]));
        EXCEPTION WHEN OTHERS THEN
            IF NOT insp.may_be_of_row(SQLSTATE) THEN
                RAISE;
            END IF;
            INSERT INTO insp.delayed (run_at, job_id, queue, attempt, crashes, last_error)
            VALUES (now() + interval '1 hour', p_jobs[place], p_queues[place], p_attempts[place], p_crashes[place],
                'INTERNAL_ERROR');
        END;
    END LOOP;
    RETURN ended;
END
$$;
COMMENT ON FUNCTION insp.finish_spent(bigint[], bigint[], integer[], text[], text[], smallint[], smallint[]) IS
    'Dead-letters jobs that have no attempt left; a job that cannot end is retried in an hour, and does not keep other leases from being rescued. Returns how many ended';

CREATE OR REPLACE FUNCTION insp.rescue(
    p_dead_after interval DEFAULT '15 s', p_max_attempts integer DEFAULT 8, p_max_crashes integer DEFAULT 3,
    p_limit integer DEFAULT 1000, p_thorough boolean DEFAULT true,
    p_elapsed interval DEFAULT NULL,
    OUT requeued integer, OUT dead_lettered integer, OUT workers integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- In microseconds, as beats are.
    patience_microseconds constant bigint := extract(epoch FROM p_dead_after) * 1000000;
    watched_microseconds bigint;
    dead bigint[];
    lost record;
    spent record;
BEGIN
    requeued := 0;
    dead_lettered := 0;
    workers := 0;
    dead := '{}';
    PERFORM insp.check_epoch();
    PERFORM insp.watch(p_dead_after, p_elapsed);
    SELECT s.last_value INTO watched_microseconds FROM insp.steady s;
    -- A worker is dead if it was watched for this long without a heartbeat. Time without scans counts for little, so that
    -- neither a changed clock nor a database that was frozen or unavailable makes workers look dead. A worker that was not
    -- watched, and is silent by the clock as well, is dead once it must have dropped its work itself.
    SELECT coalesce(array_agg(w.id), '{}') INTO dead FROM (
        SELECT w.id FROM insp.worker w
        WHERE w.beat_microseconds <= watched_microseconds - patience_microseconds
            OR w.beat_microseconds <= watched_microseconds - patience_microseconds * 2 / 3 AND w.heartbeat_at < clock_timestamp() - p_dead_after
        FOR UPDATE SKIP LOCKED) w;
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
        -- Leases of removed workers (claimed during their rescue), and those below floors: no heartbeat returns leases below the
        -- worker's floor, so nobody works on them. Reads the whole table.
        SELECT l.ctid AS row FROM insp.lease l
        WHERE p_thorough AND (l.deadline < clock_timestamp()
            OR NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = l.worker_id AND l.fence >= w.fence_floor))
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), lapsed AS MATERIALIZED (
        SELECT l.ctid AS row, l.job_id FROM insp.lease l
        WHERE l.ctid = ANY (ARRAY(SELECT s.row FROM stale s UNION SELECT o.row FROM orphans o))
    ), open AS MATERIALIZED (
        -- A job whose row is held is left for the next scan: waiting would delay all others.
        SELECT j.id FROM insp.job j WHERE j.id = ANY (ARRAY(SELECT x.job_id FROM lapsed x)) FOR NO KEY UPDATE SKIP LOCKED
    ), ended AS (
        DELETE FROM insp.lease l
        WHERE l.ctid = ANY (ARRAY(SELECT x.row FROM lapsed x WHERE x.job_id = ANY (ARRAY(SELECT o.id FROM open o))
            OR NOT EXISTS (SELECT FROM insp.job j WHERE j.id = x.job_id))) RETURNING l.*
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.worker_id) AS worker_ids,
        array_agg(e.attempt) AS attempts, array_agg((least(e.crashes, 32766) + 1)::smallint) AS crashes,
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
            ON CONFLICT DO NOTHING
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
        SELECT array_agg(u.job_id) AS jobs, array_agg(u.fence) AS fences, array_agg(u.queue) AS queues,
            array_agg(CASE WHEN u.crashes >= p_max_crashes THEN 'WORKER_LOST' ELSE 'ATTEMPTS_EXHAUSTED' END) AS codes,
            array_agg(CASE WHEN u.crashes >= p_max_crashes THEN u.crashes || ' times' ELSE 'last: WORKER_LOST' END) AS details,
            array_agg(u.attempt) AS attempts, array_agg(u.crashes) AS crashes
        INTO spent
        FROM unnest(lost.jobs, lost.fences, lost.queues, lost.attempts, lost.crashes) AS u (job_id, fence, queue, attempt, crashes)
        WHERE u.crashes >= p_max_crashes OR u.attempt >= p_max_attempts;
        IF spent.jobs IS NOT NULL THEN
            dead_lettered := insp.finish_spent(spent.jobs, spent.fences, spent.queues, spent.codes, spent.details, spent.attempts,
                spent.crashes);
        END IF;
        PERFORM insp.wake(l.lane) FROM (SELECT DISTINCT q.lane FROM insp.queue q WHERE q.id = ANY (lost.queues)) l;
    END IF;
    DELETE FROM insp.worker w WHERE w.id = ANY (dead)
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = w.id AND l.fence >= w.fence_floor);
    GET DIAGNOSTICS workers = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean, interval) IS
    'Rescues jobs from dead workers and from leases past their deadline; each counts as a crash. p_thorough also finds leases of removed workers, reading every lease. p_elapsed is the time since the caller''s last scan by its own clock; null: it never scanned. Returns how many jobs it requeued and dead-lettered, and how many workers it removed';
GRANT EXECUTE ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean, interval) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.sweep(p_limit integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moved integer;
BEGIN
    PERFORM insp.check_floors();
    WITH floors AS (
        -- The highest floor of the fleet: some worker no longer sees jobs below it.
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
COMMENT ON FUNCTION insp.sweep(integer) IS
    'Gives waiting jobs below a worker''s floor (their producer committed very late) a new place; returns how many';
GRANT EXECUTE ON FUNCTION insp.sweep(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.expire(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    -- As a value, so that the index is read up to it and no further.
    moment constant timestamptz := clock_timestamp();
    jobs bigint[];
    job bigint;
    ended integer := 0;
    kept bigint[] := '{}'::bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        -- The job is locked before its row here is changed; a job that is held is left for the next round, without delaying those
        -- after it.
        SELECT d.row, d.job_id, coalesce(l.is_open, false) AS is_open
        FROM (SELECT x.ctid AS row, x.job_id FROM insp.expiry x WHERE x.expires_at <= moment
                ORDER BY x.expires_at FOR UPDATE SKIP LOCKED) d
            LEFT JOIN LATERAL (
                SELECT j.status < 128 AS is_open FROM insp.job j WHERE j.id = ANY (ARRAY[d.job_id])
                FOR NO KEY UPDATE SKIP LOCKED) l ON true
        WHERE l.is_open IS NOT NULL OR NOT EXISTS (SELECT FROM insp.job j WHERE j.id = ANY (ARRAY[d.job_id]))
        LIMIT p_limit
    ), named AS (
        DELETE FROM insp.expiry x WHERE x.ctid = ANY (ARRAY(SELECT due.row FROM due))
    ), queues AS MATERIALIZED (
        SELECT q.id AS queue, coalesce(f.seq, 0) AS floor
        FROM insp.queue q LEFT JOIN (
            SELECT u.queue, min(u.seq) AS seq
            FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
        ) f ON f.queue = q.id
    ), heads AS MATERIALIZED (
        -- A queue is in the order of arrival, so jobs of the default lifetime expire first at its head. Claims drop them as well;
        -- this is for queues without claims. Reads without a lock, since claims skip locked rows.
        SELECT q.queue, q.floor, r.row, r.job_id, j.is_over FROM queues q, LATERAL (
            SELECT x.ctid AS row, x.job_id FROM insp.ready x
            WHERE x.queue = q.queue AND x.seq >= q.floor
            ORDER BY x.seq LIMIT 32) r, LATERAL (
            -- One index scan for each: with OFFSET it cannot become a join that reads all jobs.
            SELECT j.expires_at <= moment OR j.status = 128 AS is_over FROM insp.job j WHERE j.id = r.job_id OFFSET 0) j
    ), over AS MATERIALIZED (
        SELECT h.row, h.job_id FROM heads h WHERE h.is_over
        UNION
        -- If the whole head has expired, there are more after it.
        SELECT r.row, r.job_id
        FROM (SELECT h.queue, h.floor FROM heads h GROUP BY h.queue, h.floor HAVING bool_and(h.is_over) AND count(*) = 32) q,
            LATERAL (
                SELECT x.ctid AS row, x.job_id FROM insp.ready x
                WHERE x.queue = q.queue AND x.seq >= q.floor
                ORDER BY x.seq LIMIT p_limit) r, LATERAL (
                SELECT FROM insp.job j WHERE j.id = r.job_id AND (j.expires_at <= moment OR j.status = 128) OFFSET 0) j
    ), picked AS MATERIALIZED (
        SELECT o.row, o.job_id, l.is_open FROM over o, LATERAL (
            SELECT j.status < 128 AS is_open FROM insp.job j
            WHERE j.id = ANY (ARRAY[o.job_id]) AND (j.expires_at <= moment OR j.status = 128)
            FOR NO KEY UPDATE SKIP LOCKED) l, LATERAL (
            SELECT FROM insp.ready x WHERE x.ctid = o.row FOR UPDATE SKIP LOCKED) x
        LIMIT p_limit
    ), removed AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT p.row FROM picked p))
    )
    SELECT coalesce(array_agg(c.job_id), '{}') INTO jobs
    FROM (SELECT d.job_id FROM due d WHERE d.is_open UNION SELECT p.job_id FROM picked p WHERE p.is_open) c;
    IF jobs = '{}' THEN
        RETURN 0;
    END IF;
    BEGIN
        RETURN insp.end_unclaimed(jobs, 'EXPIRED', NULL);
    EXCEPTION WHEN OTHERS THEN
        IF SQLSTATE <> '55P03' AND NOT insp.may_be_of_row(SQLSTATE) THEN
            RAISE;
        END IF;
        -- Something other than the job is held, such as the face that it enrols, or a job cannot end: then one by one. If many
        -- wait, the cause is shared, and the rest waits for the next round.
        FOREACH job IN ARRAY jobs LOOP
            IF cardinality(kept) < 3 THEN
                BEGIN
                    ended := ended + insp.end_unclaimed(ARRAY[job], 'EXPIRED', NULL);
                    CONTINUE;
                EXCEPTION WHEN OTHERS THEN
                    IF SQLSTATE <> '55P03' THEN
                        IF NOT insp.may_be_of_row(SQLSTATE) THEN
                            RAISE;
                        END IF;
                        -- It cannot end now, and must not precede all others in each round.
                        INSERT INTO insp.expiry (expires_at, job_id) VALUES (moment + interval '1 hour', job) ON CONFLICT DO NOTHING;
                        CONTINUE;
                    END IF;
                END;
            END IF;
            kept := kept || job;
        END LOOP;
        INSERT INTO insp.expiry (expires_at, job_id)
        SELECT j.expires_at, j.id FROM insp.job j WHERE j.id = ANY (kept) ON CONFLICT DO NOTHING;
        RETURN ended;
    END;
END
$$;
COMMENT ON FUNCTION insp.expire(integer) IS
    'Finishes jobs past their deadline as EXPIRED, up to p_limit with their own deadline and as many of those that wait; returns how many. A job whose row is held is left for the next round';
GRANT EXECUTE ON FUNCTION insp.expire(integer) TO insp_worker;

CREATE OR REPLACE VIEW insp.v_xmin_holders AS
SELECT 'session'::text AS kind, a.pid::text AS name, a.usename::text AS role, a.application_name AS application,
    greatest(age(a.backend_xmin), age(a.backend_xid)) AS xids_held, now() - a.xact_start AS since, a.state,
    format('SELECT pg_terminate_backend(%s)', a.pid) AS remedy
FROM pg_stat_activity a WHERE a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL
UNION ALL
SELECT 'prepared transaction', p.gid, p.owner::text, NULL, age(p.transaction), now() - p.prepared, NULL,
    format('ROLLBACK PREPARED %L', p.gid)
FROM pg_prepared_xacts p
UNION ALL
SELECT 'replication slot', s.slot_name::text, NULL, s.plugin::text, greatest(age(s.xmin), age(s.catalog_xmin)), NULL,
    CASE WHEN s.active THEN 'active' ELSE 'inactive' END, format('SELECT pg_drop_replication_slot(%L)', s.slot_name)
FROM pg_replication_slots s WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL;
COMMENT ON VIEW insp.v_xmin_holders IS 'What holds the xmin horizon, which keeps VACUUM from removing dead rows and slows down the queue';
COMMENT ON COLUMN insp.v_xmin_holders.kind IS 'session, prepared transaction or replication slot';
COMMENT ON COLUMN insp.v_xmin_holders.name IS 'Process id or name';
COMMENT ON COLUMN insp.v_xmin_holders.role IS 'Role';
COMMENT ON COLUMN insp.v_xmin_holders.application IS 'Application name, or the slot''s plugin';
COMMENT ON COLUMN insp.v_xmin_holders.xids_held IS 'Transactions since then; the highest number is the worst';
COMMENT ON COLUMN insp.v_xmin_holders.since IS 'For how long';
COMMENT ON COLUMN insp.v_xmin_holders.state IS 'State of the session or slot';
COMMENT ON COLUMN insp.v_xmin_holders.remedy IS 'The statement that ends it, once you are sure';
GRANT SELECT ON insp.v_xmin_holders TO insp_operator, insp_auditor;
