-- Manual review: a decision that must be confirmed waits at status 64 until insp.review, a cancellation or its deadline.

-- A part of insp.hold_for_review, called with its settings.
CREATE OR REPLACE FUNCTION insp.hold_ended(
    p_jobs bigint[], p_fences bigint[], p_workers bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamptz[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    held bigint[];
    fences bigint[];
BEGIN
    WITH risen AS (
        -- A job that was cancelled in the meantime stays cancelled.
        UPDATE insp.job j SET status = 64, started_at = coalesce(j.started_at, u.started)
        FROM unnest(p_jobs, p_fences, p_workers, p_summaries, p_bodies, p_started)
            AS u (job_id, fence, worker_id, summary, body, started)
        WHERE j.id = ANY (ARRAY[u.job_id]) AND j.status < 64
        RETURNING j.id, j.expires_at, u.fence, u.worker_id, u.summary, u.body,
            CASE WHEN jsonb_typeof(u.summary) IS DISTINCT FROM 'object' THEN
                insp.refuse('PARAMETER_INVALID', 'a summary that is not a JSON object') END
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, summary, seal, body)
        SELECT r.id, 64, r.fence, r.summary, insp.seal_of(r.body), r.body FROM risen r
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT r.id, 'review_needed', r.fence, r.worker_id, jsonb_build_object('decision', r.summary #> '{decision,type}')
        FROM risen r
    ), deadlines AS (
        INSERT INTO insp.expiry (expires_at, job_id) SELECT r.expires_at, r.id FROM risen r ON CONFLICT DO NOTHING
    ), waiting AS (
        INSERT INTO insp.review_wait (job_id) SELECT r.id FROM risen r
    )
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(r.fence) INTO held, fences FROM risen r;
    INSERT INTO insp.step (job_id, status, fence, seal, body)
    SELECT u.job_id, u.status, u.fence, insp.seal_of(u.body), u.body
    FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies) AS u (job_id, fence, status, body)
    -- A fence is given out once and so identifies the claim; a stage of an earlier claim is not stored.
    WHERE u.fence = ANY (fences)
    ON CONFLICT DO NOTHING;
    RETURN held;
END
$$;
COMMENT ON FUNCTION insp.hold_ended(bigint[], bigint[], bigint[], jsonb[], bytea[], timestamptz[], bigint[], bigint[], smallint[], bytea[]) IS
    'Makes jobs whose leases insp.hold_for_review has ended wait for a review, and stores results of their stages; returns those that wait';

CREATE OR REPLACE FUNCTION insp.hold_for_review(
    p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]
) RETURNS TABLE (job bigint, is_damaged boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET lock_timeout = '50ms' AS $$
DECLARE
    e record;
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_summaries, p_bodies)
            AS u (job_id, fence, summary, body)
        WHERE l.job_id = ANY (ARRAY[u.job_id]) AND l.fence IS NOT DISTINCT FROM u.fence
        RETURNING l.job_id, l.fence, l.worker_id, l.claimed_at, l.attempt, l.crashes, u.summary, u.body
    )
    SELECT array_agg(x.job_id) AS jobs, array_agg(x.fence) AS fences, array_agg(x.worker_id) AS workers,
        array_agg(x.summary) AS summaries, array_agg(x.body) AS bodies, array_agg(x.claimed_at) AS started,
        array_agg(x.attempt) AS attempts, array_agg(x.crashes) AS crashes
    INTO e FROM ended x;
    IF e.jobs IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        RETURN QUERY SELECT unnest(insp.hold_ended(e.jobs, e.fences, e.workers, e.summaries::jsonb[], e.bodies, e.started,
            p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies)), false;
    EXCEPTION WHEN OTHERS THEN
        IF insp.is_passing(SQLSTATE) THEN
            RAISE;
        END IF;
        -- One by one, as in insp.settle.
        FOR place IN 1..cardinality(e.jobs) LOOP
            BEGIN
                RETURN QUERY SELECT unnest(insp.hold_ended(e.jobs[place:place], e.fences[place:place], e.workers[place:place],
                    e.summaries[place:place]::jsonb[], e.bodies[place:place], e.started[place:place],
                    p_step_jobs, p_step_fences, p_step_statuses, p_step_bodies)), false;
            EXCEPTION WHEN OTHERS THEN
                IF insp.is_passing(SQLSTATE) THEN
                    RAISE;
                END IF;
                RETURN QUERY SELECT f.id, true FROM insp.finish_damaged(e.jobs[place], e.fences[place], SQLSTATE,
                    e.attempts[place], e.crashes[place], e.started[place]) AS f (id);
            END;
        END LOOP;
    END;
END
$$;
COMMENT ON FUNCTION insp.hold_for_review(bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]) IS
    'Stores leased jobs'' decided results, after results of stages, and makes the jobs wait at status 64 for insp.review. Returns the jobs that now wait; the others'' leases were lost. is_damaged: the job''s row or summary cannot be processed, or the summary is not a JSON object, and the job does not wait but is dead-lettered as INTERNAL_ERROR';
GRANT EXECUTE ON FUNCTION insp.hold_for_review(bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[]) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.review_reasons(p_summary jsonb, p_decision text, p_label text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN p_decision = 'PASSED' THEN '{"reasons": [], "rejectReasons": []}'::jsonb ELSE jsonb_build_object('reasons',
        coalesce((SELECT jsonb_agg(e) FROM jsonb_array_elements(
            CASE jsonb_typeof(p_summary -> 'reasons') WHEN 'array' THEN p_summary -> 'reasons' END) e WHERE e ->> 'label' = p_label),
            (SELECT jsonb_build_array(jsonb_build_object('code', r.code, 'label', p_label, 'advice', a.advice))
            FROM insp.reason r JOIN insp.reason_advice a ON a.code = r.code AND a.language = 'en'
            WHERE p_label = ANY (r.labels) ORDER BY r.contract_code, r.code LIMIT 1),
            jsonb_build_array(jsonb_build_object('code', p_label, 'label', p_label)))
        || coalesce((SELECT jsonb_agg(e) FROM jsonb_array_elements(
            CASE jsonb_typeof(p_summary -> 'reasons') WHEN 'array' THEN p_summary -> 'reasons' END) e WHERE e ->> 'label' <> p_label), '[]'))
    END
$$;
COMMENT ON FUNCTION insp.review_reasons(jsonb, text, text) IS
    'The reasons of a reviewed job: none if it passed, otherwise the reviewer''s label first';

CREATE OR REPLACE FUNCTION insp.review(id uuid, decision text, label text DEFAULT NULL, note text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- Ending an enrolment writes its person's row, which an uncommitted request may hold.
SET lock_timeout = '5s' SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    held insp.job;
    decided insp.step;
    entry jsonb;
    word constant text := coalesce(review.label, CASE review.decision WHEN 'PASSED' THEN 'OK' ELSE review.decision END);
BEGIN
    IF review.decision IS NULL OR review.decision NOT IN ('PASSED', 'WARNING', 'REJECTED') THEN
        PERFORM insp.refuse('REVIEW_INVALID', 'the decision ' || left(quote_nullable(review.decision), 40));
    ELSIF word !~ '^[A-Z][A-Z0-9_]{0,63}$' THEN
        -- Free text belongs in the note, which stays here; the label goes to the partner.
        PERFORM insp.refuse('REVIEW_INVALID', 'the label');
    END IF;
    -- The job first, in the order of every call that finishes jobs: the second one finds it at 128.
    SELECT * INTO held FROM insp.job j WHERE j.public_id = review.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    ELSIF held.status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || held.status);
    END IF;
    SELECT * INTO decided FROM insp.step s WHERE s.job_id = held.id AND s.status = 64;
    BEGIN
        IF jsonb_typeof(decided.summary) IS DISTINCT FROM 'object' THEN
            RAISE data_corrupted;
        END IF;
        -- Who decided, and what the program had decided, is for the record and not for the partner.
        entry := jsonb_build_object('at', insp.iso_time(clock_timestamp()), 'decision', review.decision, 'label', word);
        PERFORM insp.finish(ARRAY[held.id], ARRAY[0::bigint], ARRAY[decided.summary || insp.review_reasons(decided.summary, review.decision, word)
            || jsonb_build_object('review', entry,
            'decision', jsonb_build_object('type', review.decision, 'details', jsonb_build_object('label', word),
                'risk', jsonb_build_object('score',
                    CASE review.decision WHEN 'PASSED' THEN 0 WHEN 'WARNING' THEN 31 ELSE 71 END)))],
            ARRAY[decided.body]);
    EXCEPTION WHEN OTHERS THEN
        IF insp.is_passing(SQLSTATE) THEN
            RAISE;
        END IF;
        -- The server's own words may quote the row.
        PERFORM insp.refuse('INTERNAL_ERROR', format('the job''s row or result cannot be processed: SQLSTATE %s', SQLSTATE),
            format('SELECT insp.cancel(%L) ends the job.', review.id));
    END;
    DELETE FROM insp.review_wait w WHERE w.job_id = held.id;
    PERFORM insp.record('review', review.id::text, entry - 'at' || jsonb_build_object('note', review.note,
        'previous', jsonb_build_object('decision', decided.summary #> '{decision,type}',
            'label', decided.summary #> '{decision,details,label}')));
    RETURN entry;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.review(uuid, text, text, text) IS
    'Finishes a job that waits for a review (v_review) with the reviewer''s decision: PASSED, WARNING or REJECTED. Who decided, the decision before and the note stay in v_operator_events. ROW_LOCKED if another transaction holds a row of the job for five seconds, INTERNAL_ERROR if the job''s stored data is damaged';
GRANT EXECUTE ON FUNCTION insp.review(uuid, text, text, text) TO insp_operator, insp_reviewer;

CREATE OR REPLACE VIEW insp.v_review AS
SELECT j.public_id AS id, p.name AS partner, j.workflow,
    s.summary #>> '{decision,type}' AS decision, now() - w.since AS since, j.expires_at - now() AS expires,
    CASE WHEN jsonb_typeof(s.summary) = 'object' THEN
        (SELECT string_agg(DISTINCT (l ->> 'capability') || ' ' || (l ->> 'label'), ', ')
         FROM jsonb_array_elements(CASE jsonb_typeof(s.summary -> 'labels') WHEN 'array' THEN s.summary -> 'labels' END) l)
        ELSE 'damaged: its decision is missing, and only insp.cancel ends it' END AS because, w.job_id
FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id AND j.status = 64
    JOIN insp.partner p ON p.id = j.partner_id
    -- A job without its decision must be seen, as insp.review refuses it.
    LEFT JOIN insp.step s ON s.job_id = w.job_id AND s.status = 64
ORDER BY w.since;
COMMENT ON VIEW insp.v_review IS 'Jobs that wait for insp.review, oldest first';
COMMENT ON COLUMN insp.v_review.id IS 'The job''s public id, the argument of insp.review';
COMMENT ON COLUMN insp.v_review.partner IS 'The partner';
COMMENT ON COLUMN insp.v_review.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_review.decision IS 'The decision; null: the job is damaged';
COMMENT ON COLUMN insp.v_review.since IS 'How long it has waited';
COMMENT ON COLUMN insp.v_review.expires IS 'Time left until it ends as EXPIRED';
COMMENT ON COLUMN insp.v_review.because IS 'Capabilities that warned or rejected, with their labels; or that the job is damaged';
COMMENT ON COLUMN insp.v_review.job_id IS 'The job''s internal number; insp.stage_result(id, 64) has the whole result';
GRANT SELECT ON insp.v_review TO insp_operator, insp_reviewer, insp_auditor;
