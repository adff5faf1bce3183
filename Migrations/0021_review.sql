-- Manual review: a decision that a person must confirm waits at status 64 until insp.review, a cancellation or its deadline
-- ends it.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('REVIEW_NOT_DUE', 'IN032', 'the job does not wait for a review', false),
    ('REVIEW_INVALID', 'IN033', 'the review''s decision or label is none that a review can have', false);

ALTER TABLE insp.partner ADD COLUMN review text NOT NULL DEFAULT 'never'
    CHECK (review IN ('never', 'rejected', 'warning', 'always'));
COMMENT ON COLUMN insp.partner.review IS
    'Which decisions of jobs that name no review wait for one: never; rejected: REJECTED; warning: WARNING and REJECTED; always: these and PASSED. NOT_EXECUTED never waits: nothing was decided';

ALTER TABLE insp.event DROP CONSTRAINT event_kind_check;
ALTER TABLE insp.event ADD CONSTRAINT event_kind_check
    CHECK (kind IN ('finished', 'retry', 'rescued', 'handed_back', 'review_needed'));
COMMENT ON COLUMN insp.event.kind IS
    'finished (the terminal event, once for each finished job), review_needed, retry, rescued or handed_back';

CREATE TABLE insp.review_wait (
    job_id bigint PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
COMMENT ON TABLE insp.review_wait IS 'Jobs at status 64: decided, and waiting for a person';
COMMENT ON COLUMN insp.review_wait.job_id IS 'The job';
COMMENT ON COLUMN insp.review_wait.since IS 'Since when it waits';
GRANT SELECT ON insp.review_wait TO insp_operator, insp_auditor;

-- A payload's key "review" takes precedence over the partner's.
CREATE OR REPLACE FUNCTION insp.check_request(p jsonb, p_inline text[]) RETURNS insp.request
LANGUAGE plpgsql STABLE AS $$
DECLARE
    r insp.request;
    partner insp.partner;
    endpoint insp.endpoint;
    flow text;
    kinds text[] := p_inline;
    name text;
    needle text;
    value jsonb;
    problem text;
    review text;
BEGIN
    IF p IS NULL OR jsonb_typeof(p) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'not an object');
    ELSIF pg_column_size(p) > 16384 THEN
        PERFORM insp.refuse('PAYLOAD_TOO_LARGE');
    END IF;
    value := p - ARRAY['partner', 'workflow', 'documentFormat', 'documentTypes', 'countries', 'customerInternalReference',
        'userReference', 'reportingCriteria', 'callbackUrl', 'idempotencyKey', 'digests', 'parts', 'lane', 'region',
        'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'consent', 'review'];
    IF value <> '{}' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key '
            || (SELECT left(quote_literal(k), 40) FROM jsonb_object_keys(value) k ORDER BY k LIMIT 1));
    END IF;

    IF NOT p ? 'partner' THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', 'the payload names no partner');
    END IF;
    needle := insp.request_text(p, 'partner');
    SELECT * INTO partner FROM insp.partner x WHERE x.name = needle;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN');
    ELSIF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    SELECT * INTO endpoint FROM insp.endpoint x WHERE x.partner_id = partner.id AND x.is_default;
    r.partner_id := partner.id;
    r.endpoint_id := endpoint.id;

    IF NOT p ? 'workflow' THEN
        PERFORM insp.refuse('WORKFLOW_UNKNOWN', 'the payload names no workflow');
    END IF;
    -- Jumio's keys come as numbers and as strings.
    name := CASE WHEN jsonb_typeof(p -> 'workflow') = 'number' THEN p ->> 'workflow' ELSE insp.request_text(p, 'workflow') END;
    flow := CASE name WHEN '2' THEN 'id' WHEN '3' THEN 'id_identity' WHEN '5' THEN 'similarity' WHEN '6' THEN 'liveness'
        WHEN '9' THEN 'authentication' ELSE name END;
    IF insp.definition_key(flow) IS NULL THEN
        PERFORM insp.refuse('WORKFLOW_UNKNOWN', left(quote_literal(name), 40));
    END IF;

    r.lane := partner.lane;
    IF p ? 'lane' THEN
        r.lane := CASE insp.request_text(p, 'lane') WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END;
        IF r.lane IS NULL THEN
            PERFORM insp.refuse('LANE_UNKNOWN', left(quote_literal(p ->> 'lane'), 40));
        END IF;
    END IF;
    r.region := coalesce(partner.region, 0);
    IF p ? 'region' THEN
        needle := insp.request_text(p, 'region');
        SELECT g.id INTO r.region FROM insp.region g WHERE g.name = needle;
        IF NOT FOUND THEN
            PERFORM insp.refuse('REGION_INVALID', left(quote_literal(p ->> 'region'), 40));
        END IF;
    END IF;

    FOREACH name IN ARRAY ARRAY['customerInternalReference', 'userReference', 'reportingCriteria', 'idempotencyKey'] LOOP
        CONTINUE WHEN NOT p ? name;
        IF length(insp.request_text(p, name)) > 100 THEN
            PERFORM insp.refuse('IDENTIFIER_TOO_LONG', name);
        END IF;
    END LOOP;
    IF p ? 'idempotencyKey' THEN
        r.idempotency_key := p ->> 'idempotencyKey';
        IF r.idempotency_key = '' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'idempotencyKey is empty');
        END IF;
    END IF;

    IF p ? 'documentFormat' THEN
        IF insp.request_text(p, 'documentFormat') NOT IN ('TD1', 'TD2', 'TD3') THEN
            PERFORM insp.refuse('DOCUMENT_FORMAT_UNKNOWN', left(quote_literal(p ->> 'documentFormat'), 40));
        END IF;
    END IF;
    IF p ? 'documentTypes' THEN
        IF jsonb_typeof(p -> 'documentTypes') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'documentTypes is not an array');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'documentTypes') e LOOP
            IF value NOT IN ('"PASSPORT"', '"VISA"', '"DRIVING_LICENSE"', '"ID_CARD"') THEN
                PERFORM insp.refuse('DOCUMENT_TYPE_UNKNOWN', left(quote_literal(value #>> '{}'), 40));
            END IF;
        END LOOP;
    END IF;
    IF p ? 'countries' THEN
        IF jsonb_typeof(p -> 'countries') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'countries is not an array');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'countries') e LOOP
            IF jsonb_typeof(value) <> 'string' OR NOT EXISTS (SELECT FROM insp.country c WHERE c.code = value #>> '{}') THEN
                PERFORM insp.refuse('COUNTRY_INVALID', left(quote_literal(value #>> '{}'), 40));
            END IF;
        END LOOP;
    END IF;

    IF p ? 'callbackUrl' THEN
        problem := insp.url_problem(insp.request_text(p, 'callbackUrl'), 255, coalesce(endpoint.allow_http, false),
            coalesce(endpoint.allow_private, false));
        IF problem IS NULL AND endpoint.id IS NULL THEN
            problem := 'the partner has no endpoint whose secret could sign';
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
        END IF;
        r.callback_url := p ->> 'callbackUrl';
    ELSIF partner.callback_required AND endpoint.url IS NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_MISSING');
    END IF;

    IF p ? 'consent' AND jsonb_typeof(p -> 'consent') <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'consent is not an object');
    ELSIF partner.consent_required AND NOT (
        coalesce(p #>> '{consent,obtained}', '') IN ('yes', 'true') AND p #> '{consent}' ? 'obtainedAt') THEN
        PERFORM insp.refuse('CONSENT_MISSING', 'consent needs obtained and obtainedAt');
    END IF;
    IF p #> '{consent}' ? 'obtainedAt' THEN
        PERFORM insp.request_time(p -> 'consent', 'obtainedAt');
    END IF;

    review := partner.review;
    IF p ? 'review' THEN
        review := insp.request_text(p, 'review');
        IF review NOT IN ('never', 'rejected', 'warning', 'always') THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'review is none of never, rejected, warning, always');
        END IF;
    END IF;

    IF p ? 'traceparent' THEN
        r.traceparent := insp.request_text(p, 'traceparent');
        IF r.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'traceparent is not a W3C trace context');
        END IF;
    END IF;

    IF p ? 'delaySeconds' THEN
        IF p ? 'runAt' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'both delaySeconds and runAt');
        ELSIF jsonb_typeof(p -> 'delaySeconds') <> 'number' OR (p -> 'delaySeconds')::numeric NOT BETWEEN 0 AND 2592000 THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'delaySeconds is not a number from 0 to 2592000');
        ELSIF (p -> 'delaySeconds')::numeric > 0 THEN
            r.run_at := now() + make_interval(secs => (p -> 'delaySeconds')::double precision);
        END IF;
    ELSIF p ? 'runAt' THEN
        r.run_at := insp.request_time(p, 'runAt');
        IF r.run_at > now() + interval '30 days' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'runAt is more than 30 days ahead');
        END IF;
    END IF;
    r.expires_named := p ? 'expiresAt';
    r.expires_at := CASE WHEN r.expires_named THEN insp.request_time(p, 'expiresAt')
        ELSE greatest(now(), coalesce(r.run_at, now())) + partner.job_lifetime END;
    IF r.expires_at <= greatest(now(), coalesce(r.run_at, now())) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'expiresAt is not in the future, or not after runAt');
    END IF;

    IF p ? 'parts' THEN
        PERFORM insp.check_part_urls(p -> 'parts', coalesce(endpoint.allow_http, false),
            coalesce(endpoint.allow_private, false));
        r.part_urls := p -> 'parts';
        kinds := ARRAY(SELECT jsonb_object_keys(r.part_urls));
        IF kinds && p_inline THEN
            PERFORM insp.refuse('PART_UNEXPECTED',
                (SELECT k FROM unnest(kinds) k WHERE k = ANY (p_inline) LIMIT 1) || ' was given both as bytes and by URL');
        END IF;
        kinds := kinds || p_inline;
    END IF;
    IF p ? 'digests' THEN
        r.digests := p -> 'digests';
        IF jsonb_typeof(r.digests) <> 'object' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'digests is not an object');
        END IF;
        FOR name, value IN SELECT d.key, d.value FROM jsonb_each(r.digests) d LOOP
            IF name <> ALL (insp.part_kinds()) THEN
                PERFORM insp.refuse('PART_UNKNOWN', left(quote_literal(name), 40));
            ELSIF name <> ALL (p_inline) THEN
                PERFORM insp.refuse('PART_MISSING', name || ' has a digest but was not given');
            ELSIF name = 'FRAMES' AND jsonb_typeof(value) <> 'array' OR name <> 'FRAMES' AND jsonb_typeof(value) <> 'string' THEN
                PERFORM insp.refuse('DIGEST_INVALID', name);
            END IF;
        END LOOP;
    END IF;

    IF p ->> 'documentFormat' = 'TD3' AND 'BACK' = ANY (kinds) THEN
        PERFORM insp.refuse('PART_UNEXPECTED', 'BACK of a TD3 document');
    END IF;
    IF flow IN ('liveness', 'authentication', 'enrollment') AND kinds && ARRAY['FRONT', 'BACK', 'DG1', 'DG2', 'SOD'] THEN
        PERFORM insp.refuse('PART_UNEXPECTED', flow || ' takes no document');
    END IF;
    problem := CASE
        WHEN flow IN ('id', 'id_identity') AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        WHEN flow = 'similarity' AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        WHEN flow IN ('similarity', 'authentication', 'enrollment') AND 'FACE' <> ALL (kinds) THEN 'FACE'
        WHEN flow = 'liveness' AND NOT kinds && ARRAY['FACE', 'FRAMES'] THEN 'FACE or FRAMES'
        WHEN 'BACK' = ANY (kinds) AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        END;
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('PART_MISSING', problem);
    END IF;

    r.payload := (p - ARRAY['parts', 'digests', 'idempotencyKey', 'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'lane', 'review'])
        || jsonb_build_object('workflow', flow)
        -- Stored only where somebody must look: workers decide by it, and most jobs need no word about it.
        || CASE review WHEN 'never' THEN '{}' ELSE jsonb_build_object('review', review) END;
    RETURN r;
END
$$;
COMMENT ON FUNCTION insp.enqueue(jsonb, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea) IS
    'Accepts one job and returns its id. The payload''s keys: partner, workflow, documentFormat, documentTypes, countries, customerInternalReference, userReference, reportingCriteria, callbackUrl, idempotencyKey, digests, parts, lane, region, delaySeconds, runAt, expiresAt, traceparent, consent, review. Takes part in the caller''s transaction';

-- What workers do ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.hold_for_review(
    p_jobs bigint[], p_fences bigint[], p_outputs text[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_outputs text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    held bigint[];
    fences bigint[];
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, l.worker_id, l.claimed_at, u.output::jsonb AS output
    ), risen AS (
        -- A job that was cancelled in the meantime stays cancelled.
        UPDATE insp.job j SET status = 64, started_at = coalesce(j.started_at, e.claimed_at)
        FROM ended e WHERE j.id = e.job_id AND j.status < 64
        RETURNING j.id, j.expires_at, e.fence, e.worker_id, e.output
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, output) SELECT r.id, 64, r.fence, r.output FROM risen r
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT r.id, 'review_needed', r.fence, r.worker_id, jsonb_build_object('decision', r.output #> '{decision,type}')
        FROM risen r
    ), deadlines AS (
        INSERT INTO insp.expiry (expires_at, job_id) SELECT r.expires_at, r.id FROM risen r ON CONFLICT DO NOTHING
    ), waiting AS (
        INSERT INTO insp.review_wait (job_id) SELECT r.id FROM risen r
    )
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(r.fence) INTO held, fences FROM risen r;
    INSERT INTO insp.step (job_id, status, fence, output)
    SELECT u.job_id, u.status, u.fence, u.output::jsonb
    FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_outputs) AS u (job_id, fence, status, output)
    -- A fence is given out once, so it names the claim by itself; a stage of an earlier claim is not taken.
    WHERE u.fence = ANY (fences)
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(held);
END
$$;
COMMENT ON FUNCTION insp.hold_for_review(bigint[], bigint[], text[], bigint[], bigint[], smallint[], text[]) IS
    'Stores leased jobs'' decided results, and stages'' results before that, and lets the jobs wait at status 64 for insp.review. Returns the jobs that wait now; the others'' leases were lost';

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
    -- The job row is locked by now. A lease that a settlement holds is left to it: it will find the job finished. The
    -- row in ready or delayed stays as well; whoever claims it finds the same.
    WITH gone AS (
        DELETE FROM insp.lease l WHERE l.job_id IN (
            SELECT x.job_id FROM insp.lease x WHERE x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED)
        RETURNING l.worker_id
    )
    SELECT array_agg(DISTINCT g.worker_id) INTO workers FROM gone g;
    DELETE FROM insp.review_wait r WHERE r.job_id = ANY (ended);
    -- A worker drops the job as soon as it hears of it, and with it the analyzer that works on it.
    PERFORM insp.tell(w) FROM unnest(workers) w;
    RETURN cardinality(ended);
END
$$;

-- What reviewers do -------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.review(id uuid, decision text, label text DEFAULT NULL, note text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    held insp.job;
    decided jsonb;
    entry jsonb;
    word constant text := coalesce(review.label, CASE review.decision WHEN 'PASSED' THEN 'OK' ELSE review.decision END);
BEGIN
    IF review.decision IS NULL OR review.decision NOT IN ('PASSED', 'WARNING', 'REJECTED') THEN
        PERFORM insp.refuse('REVIEW_INVALID', 'a decision is PASSED, WARNING or REJECTED');
    ELSIF word !~ '^[A-Z][A-Z0-9_]{0,63}$' THEN
        -- Free text belongs into the note, which stays here; the label goes to the partner.
        PERFORM insp.refuse('REVIEW_INVALID', 'a label is upper-case letters, digits and underscores');
    END IF;
    -- The job first, as everything that finishes jobs has it: whoever comes second finds it at 128.
    SELECT * INTO held FROM insp.job j WHERE j.public_id = review.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    ELSIF held.status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || held.status);
    END IF;
    SELECT s.output INTO STRICT decided FROM insp.step s WHERE s.job_id = held.id AND s.status = 64;
    entry := jsonb_build_object('by', session_user, 'at', insp.iso_time(clock_timestamp()), 'decision', review.decision,
        'label', word, 'previous', jsonb_build_object('decision', decided #> '{decision,type}',
            'label', decided #> '{decision,details,label}'));
    PERFORM insp.finish(ARRAY[held.id], ARRAY[0::bigint], ARRAY[decided || jsonb_build_object('review', entry,
        'decision', jsonb_build_object('type', review.decision, 'details', jsonb_build_object('label', word),
            'risk', jsonb_build_object('score',
                CASE review.decision WHEN 'PASSED' THEN 0 WHEN 'WARNING' THEN 31 ELSE 71 END)))]);
    DELETE FROM insp.review_wait w WHERE w.job_id = held.id;
    PERFORM insp.record('review', review.id::text, entry - ARRAY['by', 'at'] || jsonb_build_object('note', review.note));
    RETURN entry;
END
$$;
COMMENT ON FUNCTION insp.review(uuid, text, text, text) IS
    'Finishes a job that waits for a review (v_review) with the reviewer''s decision: PASSED, WARNING or REJECTED. The result says who reviewed it and what was decided before; the note stays in v_operator_events';

CREATE VIEW insp.v_review AS
SELECT j.public_id AS id, p.name AS partner, j.payload ->> 'workflow' AS workflow,
    s.output #>> '{decision,type}' AS decision, now() - w.since AS since, j.expires_at - now() AS expires,
    (SELECT string_agg(DISTINCT k.key || ' ' || (c #>> '{decision,details,label}'), ', ')
     FROM jsonb_each(s.output -> 'capabilities') k,
        jsonb_array_elements(CASE WHEN jsonb_typeof(k.value) = 'array' THEN k.value ELSE '[]' END) c
     WHERE c #>> '{decision,type}' IN ('WARNING', 'REJECTED')) AS because, w.job_id
FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id AND j.status = 64
    JOIN insp.partner p ON p.id = j.partner_id JOIN insp.step s ON s.job_id = w.job_id AND s.status = 64
ORDER BY w.since;
COMMENT ON VIEW insp.v_review IS 'Jobs that wait for insp.review, oldest first';
COMMENT ON COLUMN insp.v_review.id IS 'The job''s public id, which insp.review takes';
COMMENT ON COLUMN insp.v_review.partner IS 'Whose job';
COMMENT ON COLUMN insp.v_review.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_review.decision IS 'What was decided';
COMMENT ON COLUMN insp.v_review.since IS 'For how long it waits';
COMMENT ON COLUMN insp.v_review.expires IS 'Time left until it ends as EXPIRED';
COMMENT ON COLUMN insp.v_review.because IS 'Capabilities that warned or rejected, with their labels';
COMMENT ON COLUMN insp.v_review.job_id IS 'The job''s internal number; insp.step holds the whole result under status 64';

GRANT SELECT ON insp.v_review TO insp_operator, insp_auditor;
GRANT EXECUTE ON FUNCTION
    insp.hold_for_review(bigint[], bigint[], text[], bigint[], bigint[], smallint[], text[])
TO insp_worker;
GRANT EXECUTE ON FUNCTION insp.review(uuid, text, text, text) TO insp_operator;
