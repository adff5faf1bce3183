-- Ends leases without a result: what is tried later, ends as a dead letter or is released. A row that is held delays only its own
-- job, as in settle.sql.

CREATE OR REPLACE FUNCTION insp.retry_later(
    p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_seconds, p_codes, p_crashed)
            AS u (job_id, fence, seconds, code, crashed)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.*, u.seconds, u.code, u.crashed
    ), waiting AS (
        -- A finished job has only a stale lease to drop.
        INSERT INTO insp.delayed (run_at, job_id, queue, attempt, crashes, last_error)
        SELECT now() + make_interval(secs => e.seconds), e.job_id, e.queue,
            -- Refunded if a service of ours or a key was unavailable, perhaps to this worker alone: only the deadline ends such a job.
            e.attempt - (e.code IN ('OBJECT_STORE_UNAVAILABLE', 'KEYS_UNAVAILABLE', 'KEY_UNKNOWN', 'KEY_MISSING', 'KEY_MISMATCH'))::int,
            least(e.crashes, 32766) + e.crashed::int, e.code
        FROM ended e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id]) AND j.status < 128
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e
        WHERE j.id = ANY (ARRAY[e.job_id]) AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT e.job_id, 'retry', e.fence, e.worker_id,
            jsonb_build_object('code', e.code, 'attempt', e.attempt, 'afterSeconds', round(e.seconds::numeric, 1))
        FROM ended e
        ON CONFLICT DO NOTHING
    )
    SELECT e.job_id FROM ended e
$$;
COMMENT ON FUNCTION insp.retry_later(bigint[], bigint[], double precision[], text[], boolean[]) IS
    'Delays leased jobs that failed by this many seconds; the attempt is refunded if a key or the object store was unavailable. Returns the jobs whose lease was valid';
GRANT EXECUTE ON FUNCTION insp.retry_later(bigint[], bigint[], double precision[], text[], boolean[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.dead_letter(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET lock_timeout = '50ms' AS $$
DECLARE
    lost record;
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_codes, p_details, p_crashed)
            AS u (job_id, fence, code, detail, crashed)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.job_id, l.fence, u.code, u.detail, l.attempt, (least(l.crashes, 32766) + u.crashed::int)::smallint AS crashes,
            l.claimed_at
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e
        WHERE j.id = ANY (ARRAY[e.job_id]) AND j.status = 1
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.code) AS codes,
        array_agg(e.detail) AS details, array_agg(e.attempt) AS attempts, array_agg(e.crashes) AS crashes
    INTO lost FROM ended e;
    IF lost.jobs IS NOT NULL THEN
        RETURN QUERY SELECT f.id FROM insp.finish_failed(
            lost.jobs, lost.fences, lost.codes, lost.details, lost.attempts, lost.crashes) AS f (id);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.dead_letter(bigint[], bigint[], text[], text[], boolean[]) IS
    'Finishes leased jobs as NOT_EXECUTED with an error code. Returns the jobs it finished';
GRANT EXECUTE ON FUNCTION insp.dead_letter(bigint[], bigint[], text[], text[], boolean[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.release(p_jobs bigint[], p_fences bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET lock_timeout = '50ms' AS $$
DECLARE
    touched smallint;
BEGIN
    RETURN QUERY
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences) AS u (job_id, fence)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.*
    ), waiting AS (
        -- The attempt is refunded, since the job did not fail. A finished job has only a stale lease to drop.
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT e.job_id, e.queue, e.attempt - 1, e.crashes
        FROM ended e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id]) AND j.status < 128
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e
        WHERE j.id = ANY (ARRAY[e.job_id]) AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id)
        SELECT e.job_id, 'released', e.fence, e.worker_id
        FROM ended e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id]) AND j.status < 128
        ON CONFLICT DO NOTHING
    )
    SELECT e.job_id FROM ended e;
    FOR touched IN SELECT DISTINCT j.lane FROM insp.job j WHERE j.id = ANY (p_jobs) LOOP
        PERFORM insp.wake(touched);
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.release(bigint[], bigint[]) IS
    'Releases leased jobs to the queue with their attempt refunded. Returns the jobs whose lease was valid';
GRANT EXECUTE ON FUNCTION insp.release(bigint[], bigint[]) TO insp_worker;
