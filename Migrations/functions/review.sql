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
        RETURNING j.id, j.partner_id, j.expires_at, u.fence, u.worker_id, u.summary, u.body,
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
        INSERT INTO insp.review_wait (job_id, partner_id) SELECT r.id, r.partner_id FROM risen r
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
            WHERE p_label = ANY (r.labels) ORDER BY cardinality(r.parts) > 0, r.contract_code, r.code LIMIT 1),
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
    who constant text := insp.actor();
    needs_second boolean;
    earlier insp.review_wait;
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
    SELECT p.second_review INTO needs_second FROM insp.partner p WHERE p.id = held.partner_id;
    SELECT * INTO earlier FROM insp.review_wait w WHERE w.job_id = held.id;
    IF needs_second AND jsonb_typeof(decided.summary) = 'object' THEN
        IF insp.is_same_person(earlier.decided_by, who) THEN
            PERFORM insp.refuse('CASE_TAKEN', 'you have decided it', 'Somebody else must confirm that, or decide otherwise.');
        ELSIF (earlier.decision, earlier.label) IS DISTINCT FROM (review.decision, word) THEN
            -- The first decision, or one that contradicts it and so is a first one itself.
            entry := jsonb_build_object('at', insp.iso_time(clock_timestamp()), 'decision', review.decision, 'label', word);
            UPDATE insp.review_wait w SET decided_by = who, decision = review.decision, label = word, decided_at = clock_timestamp()
            WHERE w.job_id = held.id;
            PERFORM insp.record('review_first', review.id::text, entry - 'at' || jsonb_build_object('note', review.note,
                'contradicts', earlier.decided_by));
            RETURN entry || '{"isConfirmed": false}';
        END IF;
    END IF;
    BEGIN
        IF jsonb_typeof(decided.summary) IS DISTINCT FROM 'object' THEN
            RAISE data_corrupted;
        END IF;
        -- Who decided, and what the program had decided, belongs in the record and not to the partner.
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
        'confirms', CASE WHEN needs_second THEN earlier.decided_by END, 'previous', jsonb_build_object('decision', decided.summary #> '{decision,type}',
            'label', decided.summary #> '{decision,details,label}')));
    RETURN entry;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.review(uuid, text, text, text) IS
    'Finishes a job that waits for a review (v_review) with the reviewer''s decision: PASSED, WARNING or REJECTED. Who decided, the decision before and the note stay in v_operator_events. If the partner requires a second person (insp.set_second_review), a first call is only stored (isConfirmed false), and another person''s call with the same decision and label finishes the job; CASE_TAKEN: it is the same person. ROW_LOCKED if another transaction holds a row of the job for five seconds, INTERNAL_ERROR if the job''s stored data is damaged';
GRANT EXECUTE ON FUNCTION insp.review(uuid, text, text, text) TO insp_operator, insp_reviewer;

CREATE OR REPLACE VIEW insp.v_review AS
SELECT j.public_id AS id, p.name AS partner, j.workflow,
    s.summary #>> '{decision,type}' AS decision, now() - w.since AS since, j.expires_at - now() AS expires,
    CASE WHEN jsonb_typeof(s.summary) = 'object' THEN
        (SELECT string_agg(DISTINCT (l ->> 'capability') || ' ' || (l ->> 'label'), ', ')
         FROM jsonb_array_elements(CASE jsonb_typeof(s.summary -> 'labels') WHEN 'array' THEN s.summary -> 'labels' END) l)
        ELSE 'damaged: its decision is missing, and only insp.cancel ends it' END AS because, w.job_id,
    w.decided_by AS first_by, w.decision AS first_decision, w.label AS first_label
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
COMMENT ON COLUMN insp.v_review.first_by IS 'Who decided it first, if a second person must confirm; null: nobody yet';
COMMENT ON COLUMN insp.v_review.first_decision IS 'That person''s decision';
COMMENT ON COLUMN insp.v_review.first_label IS 'Its label';
GRANT SELECT ON insp.v_review TO insp_operator, insp_reviewer, insp_auditor;

CREATE OR REPLACE FUNCTION insp.set_second_review(partner text, needed boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_second_review.partner);
BEGIN
    PERFORM insp.require(set_second_review.needed IS NOT NULL, 'needed is null', 'needed is true or false.');
    -- One login may ask for a second pair of eyes; to end that takes two, where a deployment asks for it.
    PERFORM insp.need_approval('set_second_review', NOT set_second_review.needed);
    UPDATE insp.partner p SET second_review = set_second_review.needed WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_second_review', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_second_review(text, boolean) IS
    'Sets whether a reviewer''s decision on a partner''s jobs needs a second person''s confirmation. Jobs that already wait follow the new setting; anybody then confirms a first decision';
GRANT EXECUTE ON FUNCTION insp.set_second_review(text, boolean) TO insp_operator;
