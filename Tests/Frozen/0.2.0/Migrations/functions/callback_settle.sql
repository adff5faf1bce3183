-- Dispatchers settle the callbacks that they sent.

-- 55P03: another transaction holds one of the rows. The caller should then settle other endpoints' callbacks without it.
CREATE OR REPLACE FUNCTION insp.callback_settle(
    p_endpoints bigint[], p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays_ms bigint[], p_started_microseconds bigint[],
    p_durations_ms bigint[], p_statuses bigint[], p_codes text[], p_errors text[], p_worker text,
    OUT lost bigint[], OUT endpoints bigint[], OUT changes text[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms' AS $$
#variable_conflict use_column
DECLARE
    moment constant timestamptz := clock_timestamp();
    ids bigint[];
    senders bigint[];
    successes boolean[];
    gones boolean[];
    codes text[];
    inlined bigint[];
    told bigint[];
    told_endpoints bigint[];
    told_statuses integer[];
    -- Before a request is sent.
    unsent constant text[] := ARRAY['REQUEST_INVALID', 'EGRESS_REFUSED', 'NAME_NOT_RESOLVED', 'CONNECTION_FAILED', 'TLS_FAILED',
        'CERTIFICATE_INVALID', 'PIN_MISMATCH', 'AUTHORIZATION_FAILED', 'CLIENT_ID_INVALID'];
    note record;
    change text;
BEGIN
    IF EXISTS (SELECT FROM unnest(p_outcomes) o WHERE o NOT IN ('delivered', 'retry', 'uncounted', 'dead', 'release')) THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'outcomes', 'An outcome is delivered, retry, uncounted, dead or release.');
    END IF;
    -- Of endpoints that get no results, as most, no callback is looked up below.
    IF EXISTS (SELECT FROM insp.endpoint e WHERE e.inline_result) THEN
        inlined := ARRAY(SELECT e.id FROM insp.endpoint e WHERE e.id = ANY (p_endpoints) AND e.inline_result);
    END IF;
    WITH freed AS (
        -- The compare-and-set: a claim that lapsed and was taken over matches nothing. ANY as in insp.claim.
        DELETE FROM insp.callback_lease l
        USING unnest(p_endpoints, p_ids, p_claims, p_outcomes, p_delays_ms, p_started_microseconds, p_durations_ms, p_statuses, p_codes, p_errors)
            AS u (endpoint, id, claim, outcome, delay_ms, started_microseconds, duration_ms, status, code, error)
        WHERE l.endpoint_id = ANY (ARRAY[u.endpoint]) AND l.claim_id = u.claim AND l.callback_id = u.id
        RETURNING l.callback_id, l.endpoint_id, l.ordering_key, l.region,
            CASE u.outcome WHEN 'release' THEN l.recorded ELSE l.recorded + 1 END AS recorded,
            coalesce(u.outcome, 'delivered') AS outcome, u.duration_ms, to_timestamp(u.started_microseconds / 1e6::double precision) AS started,
            CASE WHEN u.outcome IN ('uncounted', 'release') THEN l.attempts ELSE l.attempts + 1 END AS attempts,
            CASE u.outcome WHEN 'uncounted' THEN l.released + 1 ELSE l.released END AS released,
            CASE WHEN u.outcome IN ('retry', 'uncounted', 'release') THEN moment + u.delay_ms * interval '1 millisecond'
                WHEN u.outcome = 'dead' THEN moment ELSE l.due_at END AS due_at,
            nullif(u.status, 0)::integer AS status, nullif(u.code, '') AS code, nullif(u.error, '') AS error,
            CASE WHEN coalesce(u.outcome, 'delivered') IN ('delivered', 'dead') THEN coalesce(u.outcome, 'delivered')
                WHEN (SELECT e.enabled FROM insp.endpoint e WHERE e.id = l.endpoint_id) THEN 'pending' ELSE 'held' END AS state,
            -- Only the endpoint's own URL counts for the endpoint; a job may have specified another one.
            CASE WHEN u.status = 410 THEN (SELECT c.url = e.url FROM insp.callback c, insp.endpoint e
                WHERE c.id = l.callback_id AND e.id = l.endpoint_id) END AS gone
    ), waiting AS (
        INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, region, state, ordering_key, recorded)
        SELECT j.callback_id, j.endpoint_id, j.due_at, j.attempts, j.released, j.region, j.state, j.ordering_key, j.recorded
        FROM freed j WHERE j.state <> 'delivered'
        -- A replay may have put it there already.
        ON CONFLICT DO NOTHING
    ), attempt AS (
        INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, code, error, worker)
        SELECT j.callback_id, coalesce(j.recorded,
                1 + coalesce((SELECT max(a.attempt) FROM insp.callback_attempt a WHERE a.callback_id = j.callback_id), 0)),
            j.started, j.duration_ms, j.status, j.code, j.error, p_worker
        FROM freed j WHERE j.outcome <> 'release'
    )
    SELECT array_agg(j.callback_id), array_agg(j.endpoint_id),
        -- Callbacks never sent, or failed through our fault, say nothing about the endpoint.
        array_agg(CASE WHEN j.outcome = 'delivered' THEN true WHEN j.outcome IN ('retry', 'dead')
            AND j.code IS DISTINCT FROM 'REQUEST_INVALID' THEN false END),
        array_agg(j.gone), array_agg(j.code), array_agg(j.callback_id) FILTER (WHERE j.is_told),
        array_agg(j.endpoint_id) FILTER (WHERE j.is_told), array_agg(j.status) FILTER (WHERE j.is_told)
    INTO ids, senders, successes, gones, codes, told, told_endpoints, told_statuses
    -- A host was sent a result, whatever it answered: without an answer it may have it as well. Not if the code says that the
    -- attempt ended before the request.
    FROM (SELECT f.*, f.endpoint_id = ANY (inlined) AND f.outcome <> 'release'
            AND (f.status IS NOT NULL OR f.code IS NULL OR f.code <> ALL (unsent)) AS is_told FROM freed f) j;
    IF told IS NOT NULL THEN
        INSERT INTO insp.record (chain, action, subject, purpose, detail)
        SELECT 'access', 'callback', c.public_id::text, 'delivery', jsonb_strip_nulls(jsonb_build_object(
            'endpoint', u.endpoint, 'httpStatus', u.status,
            -- What the program says of itself; the actor is the login.
            'worker', regexp_replace(left(p_worker, 100), '[[:cntrl:]]', '?', 'g')))
        FROM unnest(told, told_endpoints, told_statuses) AS u (id, endpoint, status)
            JOIN insp.callback c ON c.id = ANY (ARRAY[u.id])
        WHERE c.has_result AND c.public_id IS NOT NULL;
    END IF;
    IF cardinality(p_ids) > coalesce(cardinality(ids), 0) THEN
        lost := ARRAY(SELECT unnest(p_ids) EXCEPT ALL SELECT unnest(ids));
    END IF;

    -- Nothing is written for endpoints that are and were healthy; the others in one order, so that no two dispatchers
    -- deadlock.
    IF false = ANY (successes) OR EXISTS (SELECT FROM (SELECT DISTINCT s.endpoint FROM unnest(senders) AS s (endpoint)) AS d
            JOIN insp.endpoint_health h ON h.endpoint_id = ANY (ARRAY[d.endpoint])
        WHERE h.failed > 0 OR h.failing_since IS NOT NULL OR h.open_until IS NOT NULL)
    THEN
        FOR note IN
            SELECT u.endpoint, (count(*) FILTER (WHERE u.success))::integer AS succeeded,
                (count(*) FILTER (WHERE NOT u.success))::integer AS failed, bool_or(u.gone) AS gone, max(u.code) AS code
            FROM unnest(senders, successes, gones, codes) AS u (endpoint, success, gone, code) WHERE u.success IS NOT NULL
            GROUP BY u.endpoint
            HAVING bool_or(NOT u.success) OR EXISTS (SELECT FROM insp.endpoint_health h
                WHERE h.endpoint_id = u.endpoint AND (h.failed > 0 OR h.failing_since IS NOT NULL OR h.open_until IS NOT NULL))
            ORDER BY u.endpoint
        LOOP
            change := insp.endpoint_judge(note.endpoint, note.succeeded, note.failed, note.gone, note.code);
            IF change IS NOT NULL THEN
                endpoints := endpoints || note.endpoint;
                changes := changes || change;
            END IF;
        END LOOP;
    END IF;
    -- Outcomes of any endpoint that could not be counted before.
    IF EXISTS (SELECT FROM insp.endpoint_tally) THEN
        FOR note IN SELECT DISTINCT t.endpoint_id AS endpoint FROM insp.endpoint_tally t ORDER BY 1 LOOP
            change := insp.endpoint_judge(note.endpoint, 0, 0, false, NULL);
            IF change IS NOT NULL THEN
                endpoints := endpoints || note.endpoint;
                changes := changes || change;
            END IF;
        END LOOP;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.callback_settle(bigint[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], text[],
    text[], text) IS
    'Settles attempts: outcome delivered, retry (after its delay), uncounted (the same, but the attempt does not count), dead, or release (no attempt was made); status 0, code and error empty mean none; empty arrays of outcomes, delays, codes and errors mean delivered and none for all; starts are since 1970. Returns the callbacks whose claim had lapsed (lost), which are left unchanged, and changes of endpoints (failing, recovered, disabled)';
GRANT EXECUTE ON FUNCTION insp.callback_settle(bigint[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], text[], text[], text)
    TO insp_worker;
