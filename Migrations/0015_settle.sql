-- Results: store, settle, and whatever else ends a lease, over insp.queue.

DROP FUNCTION insp.finish(bigint[], bigint[], jsonb[]);
CREATE FUNCTION insp.finish(
    p_jobs bigint[], p_fences bigint[], p_outputs jsonb[], p_started timestamptz[] DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moment constant text := insp.iso_time(now());
BEGIN
    RETURN QUERY
    WITH done AS (
        UPDATE insp.job j SET status = 128, completed_at = now(), started_at = coalesce(j.started_at, u.started, now())
        FROM unnest(p_jobs, p_fences, p_outputs, p_started) AS u (job_id, fence, output, started)
        WHERE j.id = ANY (ARRAY[u.job_id]) AND j.status < 128
        RETURNING j.id, j.public_id, j.endpoint_id, j.callback_url, j.traceparent, j.payload, u.fence, u.output,
            u.output #> '{decision,type}' AS decision, u.output #> '{error,code}' AS error
    ), result AS (
        INSERT INTO insp.step (job_id, status, fence, output) SELECT d.id, 128, d.fence, d.output FROM done d
    ), terminal AS (
        INSERT INTO insp.event (job_id, kind, fence, detail)
        SELECT d.id, 'finished', 0, jsonb_build_object('decision', d.decision, 'error', d.error, 'fence', d.fence)
        FROM done d
    ), outbox AS (
        INSERT INTO insp.callback (webhook_id, job_id, public_id, traceparent, endpoint_id, url, body)
        SELECT 'msg_' || replace(d.public_id::text, '-', ''), d.id, d.public_id, d.traceparent, e.id,
            coalesce(d.callback_url, e.url),
            -- Written out, not built as jsonb: these bytes are signed, and jsonb would order the keys its own way.
            convert_to(format(
                '{"type":"job.finished","timestamp":"%1$s","callbackSentAt":"%1$s",%2$s"workflowExecution":{"id":"%3$s",'
                '"definitionKey":"%4$s","status":"%5$s"},"data":{"id":"%3$s","status":128,"decision":%6$s}}',
                moment,
                coalesce('"userReference":' || (d.payload -> 'userReference')::text || ',', ''),
                d.public_id,
                insp.definition_key(d.payload ->> 'workflow'),
                CASE WHEN d.error = '"EXPIRED"' THEN 'SESSION_EXPIRED' ELSE 'PROCESSED' END,
                coalesce(d.decision::text, 'null')), 'UTF8')
        FROM done d JOIN insp.endpoint e ON e.id = ANY (ARRAY[d.endpoint_id])
        WHERE coalesce(d.callback_url, e.url) IS NOT NULL
    )
    SELECT d.id FROM done d;
END
$$;
COMMENT ON FUNCTION insp.finish(bigint[], bigint[], jsonb[], timestamptz[]) IS
    'Brings jobs to 128: result, terminal event and callback in one transaction; p_started are the times of the claims. Returns those it finished; a job that was finished before is left as it is';

CREATE OR REPLACE FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_outputs text[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH input AS MATERIALIZED (
        SELECT u.job_id, u.fence, u.status, u.output::jsonb AS output
        FROM unnest(p_jobs, p_fences, p_statuses, p_outputs) AS u (job_id, fence, status, output)
    ), held AS MATERIALIZED (
        -- Locked, so that no rescue can end the lease between this look and the commit.
        SELECT l.* FROM (SELECT DISTINCT i.job_id, i.fence FROM input i) i, LATERAL (
            SELECT l.job_id, l.fence, l.claimed_at FROM insp.lease l
            WHERE l.job_id = i.job_id AND l.fence IS NOT DISTINCT FROM i.fence FOR KEY SHARE) l
    ), risen AS (
        UPDATE insp.job j SET status = i.status, started_at = coalesce(j.started_at, i.claimed_at)
        FROM (SELECT i.job_id, max(i.status) AS status, max(h.claimed_at) AS claimed_at
            FROM input i JOIN held h USING (job_id, fence) GROUP BY i.job_id) i
        WHERE j.id = ANY (ARRAY[i.job_id]) AND j.status < 128
            AND j.status < i.status
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT i.job_id, i.status, i.fence, i.output FROM input i JOIN held h USING (job_id, fence)
            JOIN insp.job j ON j.id = ANY (ARRAY[i.job_id]) AND j.status < 128
        ON CONFLICT DO NOTHING
    )
    SELECT h.job_id FROM held h JOIN insp.job j ON j.id = ANY (ARRAY[h.job_id]) AND j.status < 128;
END
$$;

CREATE OR REPLACE FUNCTION insp.settle(
    p_jobs bigint[], p_fences bigint[], p_outputs text[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_outputs text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
    fences bigint[];
    outputs jsonb[];
    started timestamptz[];
BEGIN
    WITH settled AS (
        -- ANY as in insp.claim; and by = the fence could be looked up in lease_worker, which leads to every worker's leases.
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.job_id, l.fence, u.output::jsonb AS output, l.claimed_at
    )
    SELECT array_agg(s.job_id), array_agg(s.fence), array_agg(s.output), array_agg(s.claimed_at)
    INTO jobs, fences, outputs, started FROM settled s;
    IF jobs IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_step_jobs) > 0 THEN
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT u.job_id, u.status, u.fence, u.output::jsonb
        FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_outputs) AS u (job_id, fence, status, output)
        -- A worker that lost a job and claimed it again may still have a stage of the lost claim. A fence is given out once,
        -- so it names the claim by itself.
        WHERE u.fence = ANY (fences)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT f.id FROM insp.finish(jobs, fences, outputs, started) AS f (id);
END
$$;

CREATE OR REPLACE FUNCTION insp.give_up(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    lost record;
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_codes, p_details, p_crashed)
            AS u (job_id, fence, code, detail, crashed)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.job_id, l.fence, u.code, u.detail, l.attempt, (l.crashes + u.crashed::int)::smallint AS crashes,
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

CREATE OR REPLACE FUNCTION insp.retry_later(
    p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_seconds, p_codes, p_crashed)
            AS u (job_id, fence, seconds, code, crashed)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.*, u.seconds, u.code, u.crashed
    ), waiting AS (
        INSERT INTO insp.delayed (run_at, job_id, queue, attempt, crashes, last_error)
        SELECT now() + make_interval(secs => e.seconds), e.job_id, e.queue, e.attempt, e.crashes + e.crashed::int, e.code
        FROM ended e
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e
        WHERE j.id = ANY (ARRAY[e.job_id]) AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT e.job_id, 'retry', e.fence, e.worker_id,
            jsonb_build_object('code', e.code, 'attempt', e.attempt, 'afterSeconds', round(e.seconds::numeric, 1))
        FROM ended e
    )
    SELECT e.job_id FROM ended e
$$;

CREATE OR REPLACE FUNCTION insp.hand_back(p_jobs bigint[], p_fences bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    touched smallint;
BEGIN
    RETURN QUERY
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences) AS u (job_id, fence)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.*
    ), waiting AS (
        -- The attempt is refunded: it was not the job that failed. A finished job has only a stale lease to drop.
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT e.job_id, e.queue, e.attempt - 1, e.crashes
        FROM ended e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id]) AND j.status < 128
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e
        WHERE j.id = ANY (ARRAY[e.job_id]) AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id)
        SELECT e.job_id, 'handed_back', e.fence, e.worker_id
        FROM ended e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id]) AND j.status < 128
    )
    SELECT e.job_id FROM ended e;
    FOR touched IN SELECT DISTINCT j.lane FROM insp.job j WHERE j.id = ANY (p_jobs) LOOP
        PERFORM insp.wake(touched);
    END LOOP;
END
$$;

-- Called for every job, from sessions that first called it when there were hardly any.
ALTER FUNCTION insp.parts(bigint, bigint) SET enable_seqscan = off;
