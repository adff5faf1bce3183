-- Ends leases, and is the only way to 128: settled, dead-lettered, cancelled and expired jobs all end in insp.finish. A row that
-- is held delays only its own job: a write waits 50 ms, which is enough for a lock held for a moment, and a worker that meets a
-- held row sets its job apart (insp.locked_jobs).

CREATE OR REPLACE FUNCTION insp.finish(
    p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[] DEFAULT NULL,
    p_started timestamptz[] DEFAULT NULL, p_readable boolean DEFAULT true
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH done AS (
        UPDATE insp.job j SET status = 128, completed_at = now(), started_at = coalesce(j.started_at, u.started)
        FROM unnest(p_jobs, p_fences, p_summaries, p_bodies, p_started) AS u (job_id, fence, summary, body, started)
        WHERE j.id = ANY (ARRAY[u.job_id]) AND j.status < 128
        RETURNING j.id, j.public_id, j.endpoint_id, j.person_id, j.workflow, j.own_callback, j.traceparent, j.personal,
            j.key_id, j.region, u.fence, u.body,
            u.summary #> '{decision,type}' AS decision, u.summary #> '{error,code}' AS error,
            -- The face SDK reads its event from the result of a failed job as well. A job that fails before or outside a worker, such as by
            -- a cancellation, has none yet.
            CASE WHEN u.summary #>> '{error,code}' IS NULL OR u.summary ? 'faceSdk'
                    -- Read once, if a job has failed: a function would be called for each.
                    OR j.workflow <> ALL (ARRAY(SELECT w.name FROM insp.workflow w WHERE w.face_event IS NOT NULL)) THEN u.summary
                ELSE u.summary || insp.failed_face_event(j.workflow, u.summary #>> '{error,code}') END AS summary,
            CASE WHEN jsonb_typeof(u.summary) IS DISTINCT FROM 'object' THEN
                insp.refuse('PARAMETER_INVALID', 'a summary that is not a JSON object') END
    ), result AS (
        INSERT INTO insp.step (job_id, status, fence, summary, seal, body)
        SELECT d.id, 128, d.fence, d.summary, insp.seal_of(d.body), d.body FROM done d
    ), terminal AS (
        INSERT INTO insp.event (job_id, kind, fence, detail)
        SELECT d.id, 'finished', 0, jsonb_build_object('decision', d.decision, 'error', d.error, 'fence', d.fence)
        FROM done d
    ), outbox AS (
        INSERT INTO insp.callback (webhook_id, job_id, public_id, traceparent, endpoint_id, url, definition_key, decision, is_expired,
            has_reference, has_result, is_sealed, region, face)
        SELECT 'msg_' || replace(d.public_id::text, '-', ''), d.id, d.public_id, d.traceparent, e.id,
            coalesce(CASE WHEN d.own_callback AND p_readable THEN insp.personal(d.personal) ->> 'callbackUrl' END, e.url),
            insp.definition_key(d.workflow), d.decision #>> '{}', coalesce(d.error = '"EXPIRED"', false),
            d.person_id IS NOT NULL OR p_readable AND coalesce(insp.personal(d.personal) ? 'userReference', false),
            -- The job's own URL is read only if a result must be withheld from it.
            CASE WHEN NOT p_readable THEN false WHEN e.inline_result AND d.own_callback THEN (
                SELECT insp.endpoint_owns(x, insp.personal(d.personal) ->> 'callbackUrl') FROM insp.endpoint x WHERE x.id = e.id)
                ELSE e.inline_result END, d.key_id IS NOT NULL, d.region,
            CASE WHEN d.summary ? 'faceSdk' THEN insp.face_words(d.summary -> 'faceSdk') END
        FROM done d JOIN insp.endpoint e ON e.id = ANY (ARRAY[d.endpoint_id])
        WHERE d.own_callback AND p_readable OR e.url IS NOT NULL
    )
    SELECT d.id FROM done d;
    IF EXISTS (SELECT FROM insp.partner p WHERE p.keep_parts = '0') THEN
        PERFORM insp.drop_unkept_parts(p_jobs);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.finish(bigint[], bigint[], jsonb[], bytea[], timestamptz[], boolean) IS
    'Brings jobs to 128: result, terminal event and callback in one transaction; p_started are the times of the claims, null for a job that was never claimed. Returns those it finished; a job that was finished before is left as it is. p_readable false: personal data is not read, and the callback goes to the endpoint''s own URL';

CREATE OR REPLACE FUNCTION insp.drop_unkept_parts(p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    due constant bigint[] := ARRAY(SELECT j.id FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id
        WHERE j.id = ANY (p_jobs) AND j.status = 128 AND p.keep_parts = '0');
BEGIN
    IF due = '{}' THEN
        RETURN;
    END IF;
    BEGIN
        -- As in insp.purge: a statement must see what other transactions have removed.
        IF current_setting('transaction_isolation') = 'read committed' THEN
            PERFORM insp.remove_parts(due);
            RETURN;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        -- No job may fail to finish because of this.
        IF SQLSTATE NOT IN ('55P03', '40P01') AND NOT insp.may_be_of_row(SQLSTATE) THEN
            RAISE;
        END IF;
    END;
    INSERT INTO insp.purge_later (due_at, what, job_id) SELECT now(), 'parts', d.id FROM unnest(due) AS d (id)
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION insp.drop_unkept_parts(bigint[]) IS
    'Removes the parts of the finished ones among these jobs if their partner keeps none; insp.purge removes later what cannot be removed now';

CREATE OR REPLACE FUNCTION insp.finish_failed(
    p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    finished bigint[];
    one record;
    n constant integer := cardinality(p_jobs);
BEGIN
    BEGIN
        finished := ARRAY(SELECT f.id FROM insp.finish(p_jobs, p_fences,
            -- One summary for all that end alike, such as those of a cancelled selection.
            CASE WHEN n > 1 AND (p_codes, p_details) IS NOT DISTINCT FROM (
                    array_fill(p_codes[1], ARRAY[n]), array_fill(p_details[1], ARRAY[n]))
                THEN array_fill(insp.failure_summary(p_codes[1], p_details[1]), ARRAY[n])
                ELSE ARRAY(SELECT insp.failure_summary(x.code, x.detail)
                    FROM unnest(p_codes, p_details) WITH ORDINALITY AS x (code, detail, n) ORDER BY x.n) END) AS f (id));
    EXCEPTION WHEN OTHERS THEN
        IF NOT insp.may_be_of_row(SQLSTATE) THEN
            RAISE;
        ELSIF cardinality(p_jobs) = 1 THEN
            -- This also raises if it is not the row's fault: it writes the same tables by the same function.
            RETURN QUERY SELECT f.id FROM insp.finish_damaged(p_jobs[1], p_fences[1], SQLSTATE, p_attempts[1], p_crashes[1]) AS f (id);
            RETURN;
        END IF;
        -- One row that cannot be processed must not prevent the others from finishing.
        FOR one IN SELECT * FROM unnest(p_jobs, p_fences, p_codes, p_details, p_attempts, p_crashes)
            AS x (job_id, fence, code, detail, attempts, crashes) LOOP
            RETURN QUERY SELECT f.id FROM insp.finish_failed(ARRAY[one.job_id], ARRAY[one.fence], ARRAY[one.code], ARRAY[one.detail],
                ARRAY[one.attempts], ARRAY[one.crashes]) AS f (id);
        END LOOP;
        RETURN;
    END;
    IF 'KEY_DESTROYED' = ANY (p_codes) THEN
        PERFORM insp.erase_keyless(ARRAY(SELECT u.job_id FROM unnest(p_jobs, p_codes) AS u (job_id, code)
            WHERE u.code = 'KEY_DESTROYED' AND u.job_id = ANY (finished)));
    END IF;
    -- The others need no operator.
    INSERT INTO insp.dead (job_id, partner_id, code, detail, attempts, crashes)
    SELECT u.job_id, j.partner_id, u.code, u.detail, u.attempts, u.crashes
    FROM unnest(p_jobs, p_codes, p_details, p_attempts, p_crashes) AS u (job_id, code, detail, attempts, crashes)
        JOIN insp.job j ON j.id = ANY (ARRAY[u.job_id])
    WHERE u.job_id = ANY (finished) AND u.code NOT IN ('CANCELLED', 'EXPIRED', 'KEY_DESTROYED')
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(finished);
END
$$;
COMMENT ON FUNCTION insp.finish_failed(bigint[], bigint[], text[], text[], smallint[], smallint[]) IS
    'Brings jobs to 128 as NOT_EXECUTED with an error, lists the dead-lettered ones in insp.dead, and erases those whose key was destroyed. One whose row cannot be processed ends by insp.finish_damaged';

CREATE OR REPLACE FUNCTION insp.finish_damaged(
    p_job bigint, p_fence bigint, p_state text, p_attempts smallint, p_crashes smallint, p_started timestamptz DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- The server's own message may quote the row.
    detail constant text := format('the job''s row or result cannot be processed: SQLSTATE %s', p_state);
    strays bigint[];
BEGIN
    PERFORM FROM insp.job j WHERE j.id = p_job AND j.status < 128 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- A stray final row would block the job's own: remove it.
    DELETE FROM insp.step s WHERE s.job_id = p_job AND s.status = 128;
    DELETE FROM insp.event e WHERE e.job_id = p_job AND e.kind = 'finished';
    WITH gone AS (
        DELETE FROM insp.callback c WHERE c.job_id = p_job AND c.event = 'job.finished' RETURNING c.id, c.endpoint_id
    ), freed AS (
        DELETE FROM insp.callback_lease l USING gone g WHERE l.endpoint_id = ANY (ARRAY[g.endpoint_id]) AND l.callback_id = g.id
    )
    SELECT array_agg(g.id) INTO strays FROM gone g;
    DELETE FROM insp.callback_waiting w WHERE w.callback_id = ANY (strays);
    DELETE FROM insp.callback_attempt a WHERE a.callback_id = ANY (strays);
    -- Its place is left empty: the event that replaces it gets another.
    DELETE FROM insp.callback_pull p WHERE p.callback_id = ANY (strays);
    DELETE FROM insp.review_wait w WHERE w.job_id = p_job;
    -- It fails again each time, so another job of the same request may be no better.
    PERFORM insp.finish(ARRAY[p_job], ARRAY[p_fence],
        ARRAY[jsonb_set(insp.failure_summary('INTERNAL_ERROR', detail), '{error,retryable}', 'false')], NULL,
        ARRAY[p_started], false);
    INSERT INTO insp.dead (job_id, partner_id, code, detail, attempts, crashes)
    SELECT j.id, j.partner_id, 'INTERNAL_ERROR', detail, p_attempts, p_crashes FROM insp.job j WHERE j.id = p_job
    ON CONFLICT DO NOTHING;
    RETURN NEXT p_job;
EXCEPTION WHEN OTHERS THEN
    IF insp.is_passing(SQLSTATE) THEN
        RAISE;
    END IF;
    -- It cannot end at all, and every job may have the same fault. The caller fails, so the job keeps its lease or its row in a queue.
    PERFORM insp.refuse('INTERNAL_ERROR', format('the job cannot be finished: SQLSTATE %s', SQLSTATE));
END
$$;
COMMENT ON FUNCTION insp.finish_damaged(bigint, bigint, text, smallint, smallint, timestamptz) IS
    'Dead-letters a job whose row or result cannot be processed as INTERNAL_ERROR that is not retryable, without reading personal data; replaces a result, terminal event or final callback that it already has. Returns it if it was not finished before. INTERNAL_ERROR if it cannot end at all';

CREATE OR REPLACE FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_bodies bytea[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH input AS MATERIALIZED (
        SELECT u.* FROM unnest(p_jobs, p_fences, p_statuses, p_bodies) AS u (job_id, fence, status, body)
    ), held AS MATERIALIZED (
        -- Locked, so that no rescue can end the lease between this read and the commit.
        SELECT l.* FROM (SELECT i.job_id, i.fence, max(i.status) AS status FROM input i GROUP BY i.job_id, i.fence) i, LATERAL (
            SELECT l.job_id, l.fence, l.claimed_at, i.status FROM insp.lease l
            WHERE l.job_id = i.job_id AND l.fence IS NOT DISTINCT FROM i.fence FOR KEY SHARE) l
    ), risen AS (
        UPDATE insp.job j SET status = i.status, started_at = coalesce(j.started_at, i.claimed_at)
        FROM held i
        WHERE j.id = ANY (ARRAY[i.job_id]) AND j.status < 128
            AND j.status < i.status
        RETURNING i.job_id, i.fence
    ), level AS MATERIALIZED (
        -- A stage that the job has already passed, or one sent again.
        SELECT i.job_id, i.fence FROM held i, LATERAL (
            SELECT FROM insp.job j
            WHERE j.id = ANY (ARRAY[i.job_id]) AND j.status < 128 AND j.status >= i.status FOR SHARE) j
    ), open AS MATERIALIZED (
        -- Only jobs that are locked and not finished: nothing may be written for a job that was cancelled, and perhaps erased, since.
        SELECT * FROM risen UNION ALL SELECT * FROM level
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, seal, body)
        SELECT i.job_id, i.status, i.fence, insp.seal_of(i.body), i.body FROM input i JOIN open o USING (job_id, fence)
        ON CONFLICT DO NOTHING
    )
    SELECT o.job_id FROM open o;
END
$$;
COMMENT ON FUNCTION insp.store_steps(bigint[], bigint[], smallint[], bytea[]) IS
    'Stores results of stages and raises the jobs'' status. Returns the jobs whose lease is still valid; nothing is written for the others';
GRANT EXECUTE ON FUNCTION insp.store_steps(bigint[], bigint[], smallint[], bytea[]) TO insp_worker;

-- A part of insp.settle, called with its settings.
CREATE OR REPLACE FUNCTION insp.settle_ended(
    p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamptz[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    finished bigint[];
BEGIN
    IF NOT cardinality(p_step_jobs) > 0 THEN
        RETURN ARRAY(SELECT f.id FROM insp.finish(p_jobs, p_fences, p_summaries, p_bodies, p_started) AS f (id));
    END IF;
    -- Before the end of the job, which may remove them again: insp.face_finished.
    INSERT INTO insp.step (job_id, status, fence, seal, body)
    SELECT u.job_id, u.status, u.fence, insp.seal_of(u.body), u.body
    FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies) AS u (job_id, fence, status, body)
    -- A worker that lost a job and claimed it again may still have a stage of the lost claim. A fence is given out once and so
    -- identifies the claim.
    WHERE u.fence = ANY (p_fences)
    ON CONFLICT DO NOTHING;
    finished := ARRAY(SELECT f.id FROM insp.finish(p_jobs, p_fences, p_summaries, p_bodies, p_started) AS f (id));
    IF cardinality(finished) < cardinality(p_jobs) THEN
        -- A job that was cancelled meanwhile may have been erased too: nothing of it may remain. Removing its stages is cheaper
        -- than locking every job before they are written.
        DELETE FROM insp.step s USING unnest(p_jobs, p_fences) AS u (job_id, fence)
        WHERE s.job_id = ANY (ARRAY[u.job_id]) AND s.status < 128 AND s.fence = u.fence AND u.job_id <> ALL (finished);
    END IF;
    RETURN finished;
END
$$;
COMMENT ON FUNCTION insp.settle_ended(bigint[], bigint[], jsonb[], bytea[], timestamptz[], bigint[], bigint[], smallint[], bytea[]) IS
    'Finishes jobs whose leases insp.settle has ended, with the stages of the same claims; returns those it finished';

CREATE OR REPLACE FUNCTION insp.settle(
    p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]
) RETURNS TABLE (job bigint, is_damaged boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
    fences bigint[];
    summaries text[];
    bodies bytea[];
    started timestamptz[];
    attempts smallint[];
    crashes smallint[];
BEGIN
    WITH settled AS (
        -- Job and fence as in insp.claim, also below.
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_summaries, p_bodies)
            AS u (job_id, fence, summary, body)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.job_id, l.fence, u.summary, u.body, l.claimed_at, l.attempt, l.crashes
    )
    SELECT array_agg(s.job_id), array_agg(s.fence), array_agg(s.summary), array_agg(s.body), array_agg(s.claimed_at),
        array_agg(s.attempt), array_agg(s.crashes)
    INTO jobs, fences, summaries, bodies, started, attempts, crashes FROM settled s;
    IF jobs IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        -- Read here: a summary that is not JSON costs its own job alone.
        RETURN QUERY SELECT unnest(insp.settle_ended(jobs, fences, summaries::jsonb[], bodies, started,
            p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies)), false;
    EXCEPTION WHEN OTHERS THEN
        IF insp.is_passing(SQLSTATE) THEN
            RAISE;
        END IF;
        -- One by one: a row that cannot be processed affects only its own job. Not for XX000, which may be the schema's fault: a
        -- dead letter would cost jobs their results. The worker then writes each job separately.
        FOR place IN 1..cardinality(jobs) LOOP
            BEGIN
                RETURN QUERY SELECT unnest(insp.settle_ended(jobs[place:place], fences[place:place], summaries[place:place]::jsonb[],
                    bodies[place:place], started[place:place], p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies)), false;
            EXCEPTION WHEN OTHERS THEN
                IF insp.is_passing(SQLSTATE) THEN
                    RAISE;
                END IF;
                RETURN QUERY SELECT f.id, true FROM insp.finish_damaged(jobs[place], fences[place], SQLSTATE, attempts[place],
                    crashes[place], started[place]) AS f (id);
            END;
        END LOOP;
    END;
END
$$;
COMMENT ON FUNCTION insp.settle(bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]) IS
    'Finishes leased jobs with their results, after storing results of their stages. Returns the jobs it finished; the others'' leases were lost. is_damaged: the job''s row or summary cannot be processed, or the summary is not a JSON object, and the job is dead-lettered as INTERNAL_ERROR';
GRANT EXECUTE ON FUNCTION insp.settle(bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.locked_jobs(p_jobs bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    SELECT u.job_id FROM (SELECT DISTINCT x.job_id FROM unnest(p_jobs) AS x (job_id)) u
        LEFT JOIN LATERAL (
            SELECT true AS is_free FROM insp.job j WHERE j.id = ANY (ARRAY[u.job_id]) FOR NO KEY UPDATE SKIP LOCKED) j ON true
        LEFT JOIN LATERAL (
            SELECT true AS is_free FROM insp.lease l WHERE l.job_id = ANY (ARRAY[u.job_id]) FOR UPDATE SKIP LOCKED) l ON true
    WHERE j.is_free IS NULL AND EXISTS (SELECT FROM insp.job x WHERE x.id = ANY (ARRAY[u.job_id]))
        OR l.is_free IS NULL AND EXISTS (SELECT FROM insp.lease x WHERE x.job_id = ANY (ARRAY[u.job_id]));
END
$$;
COMMENT ON FUNCTION insp.locked_jobs(bigint[]) IS
    'The given jobs whose row or lease another transaction holds at this moment; waits for none of them';
GRANT EXECUTE ON FUNCTION insp.locked_jobs(bigint[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.end_unclaimed(p_jobs bigint[], p_code text, p_detail text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    n constant integer := cardinality(p_jobs);
    ended bigint[];
    workers bigint[];
BEGIN
    SELECT coalesce(array_agg(f.id), '{}') INTO ended FROM insp.finish_failed(
        p_jobs, array_fill(0::bigint, ARRAY[n]), array_fill(p_code, ARRAY[n]), array_fill(p_detail, ARRAY[n]),
        array_fill(0::smallint, ARRAY[n]), array_fill(0::smallint, ARRAY[n])) AS f (id);
    -- A claim leaves the job's row alone: if a job's first attempt had not ended, only the lease says when it started.
    UPDATE insp.job j SET started_at = l.claimed_at FROM insp.lease l
    WHERE l.job_id = ANY (ended) AND j.id = ANY (ARRAY[l.job_id]) AND j.started_at IS NULL;
    -- The job row is locked by now. A lease that a settlement holds is left to it: it will find the job finished. The row in
    -- ready remains too; the worker that claims it finds the same.
    WITH gone AS (
        DELETE FROM insp.lease l WHERE l.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.lease x WHERE x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED))
        RETURNING l.worker_id
    )
    SELECT array_agg(DISTINCT g.worker_id) INTO workers FROM gone g;
    DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.delayed x WHERE x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED));
    DELETE FROM insp.review_wait r WHERE r.job_id = ANY (ended);
    -- A worker drops the job and its analyzer as soon as it is notified.
    PERFORM insp.tell(w) FROM unnest(workers) w;
    RETURN cardinality(ended);
END
$$;
COMMENT ON FUNCTION insp.end_unclaimed(bigint[], text, text) IS
    'Finishes jobs without a lease of the caller, waiting or running; a running job''s worker can then write nothing more';
