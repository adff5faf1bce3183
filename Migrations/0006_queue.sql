-- What workers do: claim, store, settle, and look after one another. The planner settings of these functions pin the only
-- good plans (index scans from the given keys): the tables swing between empty and millions of rows faster than statistics
-- follow, and a plan made for the one is ruinous for the other.

CREATE SEQUENCE insp.wake_urgent AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE insp.wake_normal AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE insp.wake_bulk AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.wake_urgent IS 'The 50 ms tick in which the urgent lane was last announced';
COMMENT ON SEQUENCE insp.wake_normal IS 'The 50 ms tick in which the normal lane was last announced';
COMMENT ON SEQUENCE insp.wake_bulk IS 'The 50 ms tick in which the bulk lane was last announced';

CREATE FUNCTION insp.wake(p_lane smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- A notification in every commit would serialise all commits (they share one lock), so a lane is announced at most
    -- once in 50 ms. Sequences, not a row: they are not subject to MVCC, so nobody waits and nothing bloats.
    tick constant bigint := floor(extract(epoch FROM clock_timestamp()) * 20);
    last bigint;
BEGIN
    IF p_lane = 0 THEN
        SELECT last_value INTO last FROM insp.wake_urgent;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_urgent', tick);
    ELSIF p_lane = 1 THEN
        SELECT last_value INTO last FROM insp.wake_normal;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_normal', tick);
    ELSE
        SELECT last_value INTO last FROM insp.wake_bulk;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_bulk', tick);
    END IF;
    PERFORM pg_notify('insp_ready', p_lane::text);
END
$$;
COMMENT ON FUNCTION insp.wake(smallint) IS
    'Announces waiting jobs of a lane on channel insp_ready, at most once in 50 ms; a hint only, workers poll as well';

-- Workers ---------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.worker_start(
    p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer,
    OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    region_id := 0;
    IF p_region IS NOT NULL THEN
        SELECT r.id INTO region_id FROM insp.region r WHERE r.name = p_region;
        IF NOT FOUND THEN
            PERFORM insp.refuse('REGION_INVALID', 'no region of that name exists');
        END IF;
    END IF;
    -- A new worker starts where the slowest of the fleet is, for it would otherwise wade through every row that the
    -- fleet has claimed since the oldest snapshot.
    SELECT array_agg(f.queue), array_agg(f.seq) INTO floor_queues, floor_seqs FROM (
        SELECT u.queue, min(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq)
        WHERE w.heartbeat_at > now() - interval '15 s'
        GROUP BY u.queue) f;
    INSERT INTO insp.worker AS w (incarnation, host, process, version, region, lanes, slots)
    VALUES (p_incarnation, p_host, p_process, p_version, region_id, p_lanes, p_slots)
    RETURNING w.id INTO worker_id;
END
$$;
COMMENT ON FUNCTION insp.worker_start(uuid, text, integer, text, text, smallint[], integer) IS
    'Registers a run of a worker; returns its number, its region and the floors to start from';

CREATE FUNCTION insp.heartbeat(
    p_worker bigint, p_incarnation uuid, p_busy integer, p_floor_queues integer[], p_floor_seqs bigint[],
    OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.worker w
    SET heartbeat_at = clock_timestamp(), suspect_at = NULL, busy = p_busy,
        floor_queues = p_floor_queues, floor_seqs = p_floor_seqs
    WHERE w.id = p_worker AND w.incarnation = p_incarnation
    RETURNING true, w.draining INTO alive, draining;
    IF alive THEN
        SELECT coalesce(array_agg(l.job_id), '{}'), coalesce(array_agg(l.fence), '{}') INTO lease_jobs, lease_fences
        FROM insp.lease l WHERE l.worker_id = p_worker;
    ELSE
        alive := false;
        draining := false;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.heartbeat(bigint, uuid, integer, integer[], bigint[]) IS
    'A worker''s sign of life. alive = false: it was declared dead and must drop all work. Also returns the leases it has';

CREATE FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- With leases left the row stays, and rescue does the rest.
    DELETE FROM insp.worker w WHERE w.id = p_worker AND w.incarnation = p_incarnation
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = p_worker)
$$;
COMMENT ON FUNCTION insp.worker_stop(bigint, uuid) IS 'Takes a worker that has handed everything back off the list';

-- Claim -----------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.claim(
    p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer,
    p_regions smallint[], p_lanes smallint[], p_slots smallint[], p_floors bigint[], p_caps integer[]
) RETURNS TABLE (
    job_id bigint, fence bigint, attempt smallint, crashes smallint, region smallint, lane smallint, slot smallint,
    seq bigint, public_id uuid, status smallint, expired boolean, payload jsonb, traceparent text, steps jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    paused smallint[];
BEGIN
    IF NOT EXISTS (SELECT FROM insp.worker w
        WHERE w.id = p_worker AND w.incarnation = p_incarnation AND NOT w.draining) THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(c.lane), '{}') INTO paused FROM insp.control c WHERE c.paused;
    -- The first row is no job: the place up to which an empty queue has been seen, and the lanes that were left out. A
    -- caller that took a paused lane for an empty one would raise its floor over everything that waits there.
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::smallint, NULL::smallint, NULL::smallint, NULL::smallint,
        NULL::smallint, s.last_value, NULL::uuid, NULL::smallint, NULL::boolean, to_jsonb(paused), NULL::text, NULL::jsonb
    FROM insp.ready_seq s;
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.row FROM unnest(p_regions, p_lanes, p_slots, p_floors, p_caps) AS q (region, lane, slot, floor, cap),
            LATERAL (
                SELECT x.ctid AS row FROM insp.ready x
                WHERE x.region = q.region AND x.lane = q.lane AND x.slot = q.slot AND x.seq >= q.floor
                ORDER BY x.seq LIMIT q.cap FOR UPDATE SKIP LOCKED) r
        WHERE q.lane <> ALL (paused)
        LIMIT p_limit
    ), taken AS (
        -- By row address: a join on the key would be estimated from a LIMIT that is a parameter, and end as a hash join.
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT p.row FROM picked p)) RETURNING x.*
    ), leased AS (
        INSERT INTO insp.lease AS l (job_id, fence, worker_id, region, lane, slot, attempt, crashes, deadline)
        SELECT t.job_id, nextval('insp.fence'), p_worker, t.region, t.lane, t.slot, t.attempt + 1, t.crashes, now() + p_deadline
        FROM taken t
        RETURNING l.*
    ), started AS (
        UPDATE insp.job j SET status = greatest(j.status, 2::smallint), started_at = coalesce(j.started_at, now())
        FROM taken t WHERE j.id = t.job_id AND j.status < 128
        RETURNING j.id, j.public_id, j.status, j.expires_at <= now() AS expired, j.payload, j.traceparent
    )
    -- A job that was cancelled or expired while it waited has no row in started: the caller drops its lease.
    SELECT l.job_id, l.fence, l.attempt, l.crashes, l.region, l.lane, l.slot, t.seq,
        s.public_id, s.status, s.expired, s.payload, s.traceparent,
        CASE WHEN s.status > 2 THEN
            (SELECT jsonb_object_agg(p.status, p.output) FROM insp.step p WHERE p.job_id = l.job_id) END
    FROM leased l JOIN taken t ON t.job_id = l.job_id LEFT JOIN started s ON s.id = l.job_id;
END
$$;
COMMENT ON FUNCTION insp.claim(bigint, uuid, interval, integer, smallint[], smallint[], smallint[], bigint[], integer[]) IS
    'Leases up to p_limit waiting jobs to a live worker. The arrays name queues in the order to look at them, from which seq on, and how many jobs to take from each. The first row holds no job but, in seq, how far the queue reaches and, in payload, the paused lanes';

CREATE FUNCTION insp.parts(p_job bigint, p_fence bigint)
RETURNS TABLE (kind text, ordinal smallint, sha256 bytea, url text, bytes bytea, allow_http boolean, allow_private boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence = p_fence) THEN
        RAISE EXCEPTION 'the lease was lost' USING ERRCODE = 'IN100';
    END IF;
    RETURN QUERY
    SELECT p.kind, p.ordinal, p.sha256, p.url, p.bytes, coalesce(e.allow_http, false), coalesce(e.allow_private, false)
    FROM insp.part p JOIN insp.job j ON j.id = p.job_id LEFT JOIN insp.endpoint e ON e.id = j.endpoint_id
    WHERE p.job_id = p_job ORDER BY p.kind, p.ordinal;
END
$$;
COMMENT ON FUNCTION insp.parts(bigint, bigint) IS
    'The inputs of a leased job; fails with SQLSTATE IN100 if the lease does not hold';

-- Store and settle ------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_outputs text[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH input AS MATERIALIZED (
        SELECT u.job_id, u.fence, u.status, u.output::jsonb AS output
        FROM unnest(p_jobs, p_fences, p_statuses, p_outputs) AS u (job_id, fence, status, output)
    ), held AS MATERIALIZED (
        -- Locked, so that no rescue can end the lease between this look and the commit.
        SELECT l.job_id, l.fence FROM insp.lease l
        WHERE l.job_id = ANY (p_jobs) AND EXISTS (SELECT FROM input i WHERE i.job_id = l.job_id AND i.fence = l.fence)
        FOR KEY SHARE
    ), risen AS (
        UPDATE insp.job j SET status = i.status
        FROM (SELECT i.job_id, max(i.status) AS status FROM input i JOIN held h USING (job_id, fence) GROUP BY i.job_id) i
        WHERE j.id = i.job_id AND j.status < 128
            AND j.status < i.status
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT i.job_id, i.status, i.fence, i.output FROM input i JOIN held h USING (job_id, fence)
            JOIN insp.job j ON j.id = i.job_id AND j.status < 128
        ON CONFLICT DO NOTHING
    )
    SELECT h.job_id FROM held h JOIN insp.job j ON j.id = h.job_id AND j.status < 128;
END
$$;
COMMENT ON FUNCTION insp.store_steps(bigint[], bigint[], smallint[], text[]) IS
    'Stores results of stages and raises the jobs'' status. Returns the jobs whose lease still holds; nothing is written for the others';

CREATE FUNCTION insp.settle(
    p_jobs bigint[], p_fences bigint[], p_outputs text[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_outputs text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
    fences bigint[];
    outputs jsonb[];
BEGIN
    WITH settled AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, u.output::jsonb AS output
    )
    SELECT array_agg(s.job_id), array_agg(s.fence), array_agg(s.output) INTO jobs, fences, outputs FROM settled s;
    IF jobs IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_step_jobs) > 0 THEN
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT u.job_id, u.status, u.fence, u.output::jsonb
        FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_outputs) AS u (job_id, fence, status, output)
        WHERE u.job_id = ANY (jobs)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT f.id FROM insp.finish(jobs, fences, outputs) AS f (id);
END
$$;
COMMENT ON FUNCTION insp.settle(bigint[], bigint[], text[], bigint[], bigint[], smallint[], text[]) IS
    'Finishes leased jobs with their results, and stores stages'' results of the same jobs before that. Returns the jobs it finished; the others'' leases were lost';

CREATE FUNCTION insp.give_up(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    lost record;
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_codes, p_details, p_crashed)
            AS u (job_id, fence, code, detail, crashed)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, u.code, u.detail, l.attempt, (l.crashes + u.crashed::int)::smallint AS crashes
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
COMMENT ON FUNCTION insp.give_up(bigint[], bigint[], text[], text[], boolean[]) IS
    'Finishes leased jobs as NOT_EXECUTED with an error code. Returns the jobs it finished';

CREATE FUNCTION insp.retry_later(
    p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_seconds, p_codes, p_crashed)
            AS u (job_id, fence, seconds, code, crashed)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.*, u.seconds, u.code, u.crashed
    ), waiting AS (
        INSERT INTO insp.delayed (run_at, job_id, region, lane, slot, attempt, crashes, last_error)
        SELECT now() + make_interval(secs => e.seconds), e.job_id, e.region, e.lane, e.slot, e.attempt,
            e.crashes + e.crashed::int, e.code
        FROM ended e
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT e.job_id, 'retry', e.fence, e.worker_id,
            jsonb_build_object('code', e.code, 'attempt', e.attempt, 'afterSeconds', round(e.seconds::numeric, 1))
        FROM ended e
    )
    SELECT e.job_id FROM ended e
$$;
COMMENT ON FUNCTION insp.retry_later(bigint[], bigint[], double precision[], text[], boolean[]) IS
    'Puts leased jobs that failed aside for so many seconds. Returns the jobs whose lease held';

CREATE FUNCTION insp.hand_back(p_jobs bigint[], p_fences bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    touched smallint;
BEGIN
    RETURN QUERY
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences) AS u (job_id, fence)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.*
    ), waiting AS (
        -- The attempt is refunded: it was not the job that failed. A finished job has only a stale lease to drop.
        INSERT INTO insp.ready (region, lane, slot, job_id, attempt, crashes)
        SELECT e.region, e.lane, e.slot, e.job_id, e.attempt - 1, e.crashes
        FROM ended e JOIN insp.job j ON j.id = e.job_id AND j.status < 128
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id)
        SELECT e.job_id, 'handed_back', e.fence, e.worker_id
        FROM ended e JOIN insp.job j ON j.id = e.job_id AND j.status < 128
    )
    SELECT e.job_id FROM ended e;
    FOR touched IN SELECT DISTINCT j.lane FROM insp.job j WHERE j.id = ANY (p_jobs) LOOP
        PERFORM insp.wake(touched);
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.hand_back(bigint[], bigint[]) IS
    'Returns leased jobs to the queue with their attempt refunded. Returns the jobs whose lease held';
