-- Sessions of a liveness vendor, each of which can be used once.

CREATE OR REPLACE FUNCTION insp.session_lease(p_fence bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$ SELECT jsonb_build_object('fence', p_fence::text) $$;
COMMENT ON FUNCTION insp.session_lease(bigint) IS 'The entry in the record for the lease under which a session is sent';

CREATE OR REPLACE FUNCTION insp.session_begin(p_job bigint, p_fence bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    holder bigint;
    name text;
BEGIN
    -- Locked against another call for the same lease, and so that no rescue ends it meanwhile.
    SELECT l.worker_id INTO holder FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    SELECT j.public_id::text INTO name FROM insp.job j WHERE j.id = p_job;
    -- A session can be used once. Where an earlier attempt may have used it, nothing is sent again.
    IF EXISTS (
        SELECT FROM insp.record b
        WHERE b.subject = name AND b.chain <> 'access' AND b.action = 'session_begin' AND b.detail <> insp.session_lease(p_fence)
            AND NOT EXISTS (SELECT FROM insp.record e WHERE e.subject = name AND e.chain <> 'access' AND e.action = 'session_end'
                AND e.detail @> b.detail AND e.detail ->> 'outcome' = 'not_sent')) THEN
        RETURN false;
    END IF;
    -- The same lease may ask twice if the first answer was lost: it sends nothing before it has one.
    INSERT INTO insp.record (chain, actor, action, subject, detail)
    SELECT 'session', 'worker ' || holder, 'session_begin', name, insp.session_lease(p_fence)
    WHERE NOT EXISTS (SELECT FROM insp.record b
        WHERE b.subject = name AND b.chain <> 'access' AND b.action = 'session_begin' AND b.detail = insp.session_lease(p_fence));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.session_begin(bigint, bigint) IS
    'Records that a leased job''s session is about to be sent; false: an earlier attempt may already have sent it. LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.session_begin(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_body bytea)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms' AS $$
    SELECT insp.require(p_outcome IN ('answered', 'refused', 'not_sent', 'invalid', 'lost'), 'outcome',
        'An outcome is answered, refused, not_sent, invalid or lost.');
    WITH ended AS (
        INSERT INTO insp.record (chain, actor, action, subject, detail)
        SELECT 'session', b.actor, 'session_end', b.subject,
            b.detail || jsonb_strip_nulls(jsonb_build_object('outcome', p_outcome, 'httpStatus', p_status))
        FROM insp.record b
        WHERE b.subject = (SELECT j.public_id::text FROM insp.job j WHERE j.id = p_job) AND b.chain <> 'access'
            AND b.action = 'session_begin' AND b.detail = insp.session_lease(p_fence)
        -- Of two calls that end a session at the same moment, one waits for the other and writes nothing.
        ON CONFLICT (subject, (detail ->> 'fence')) WHERE action = 'session_end' DO NOTHING
        RETURNING p_job AS job_id
    ), held AS MATERIALIZED (
        SELECT l.job_id, l.claimed_at FROM insp.lease l JOIN ended e ON e.job_id = l.job_id
        WHERE l.fence IS NOT DISTINCT FROM p_fence AND p_body IS NOT NULL FOR KEY SHARE OF l
    ), open AS MATERIALIZED (
        -- Nothing may be written for a job that was cancelled, and perhaps erased, meanwhile.
        SELECT h.job_id, h.claimed_at FROM held h, LATERAL (
            SELECT FROM insp.job j WHERE j.id = h.job_id AND j.status < 128 FOR NO KEY UPDATE) j
    ), stored AS (
        -- With the answer itself: a worker that dies after this loses nothing, and the session cannot be used again.
        INSERT INTO insp.step (job_id, status, fence, seal, body)
        SELECT o.job_id, 32, p_fence, insp.seal_of(p_body), p_body FROM open o
        ON CONFLICT DO NOTHING
    )
    -- Claims return results of jobs by their status, which shows that there are some.
    UPDATE insp.job j SET status = 32, started_at = coalesce(j.started_at, o.claimed_at)
    FROM open o WHERE j.id = o.job_id AND j.status < 32
$$;
COMMENT ON FUNCTION insp.session_end(bigint, bigint, text, integer, bytea) IS
    'Records the outcome of a session that was sent (answered; refused by the server; not_sent, which may be tried again; invalid: not as documented; lost: unknown), and stores the answer as the result of the job''s liveness stage';
GRANT EXECUTE ON FUNCTION insp.session_end(bigint, bigint, text, integer, bytea) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_result(id uuid, purpose text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(session_result.id);
    result jsonb;
    answer jsonb;
BEGIN
    IF j.status < 128 THEN
        RETURN NULL;
    END IF;
    PERFORM insp.record_reading(j.public_id, session_result.purpose);
    SELECT insp.step_document(s) INTO result FROM insp.step s WHERE s.job_id = j.id AND s.status = 128;
    answer := result #> '{capabilities,liveness,0,data,vendor}';
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'sessionResponseBlob', answer -> 'sessionResponseBlob',
        'success', coalesce(answer -> 'success', 'false'),
        'livenessPassed', coalesce(answer -> 'livenessPassed', 'false'),
        'reason', coalesce(answer -> 'reason', result #> '{error,code}', result #> '{decision,details,label}')));
END
$$;
COMMENT ON FUNCTION insp.session_result(uuid, text) IS
    'The answer of POST /facetec/session for a job with a SESSION_BLOB: sessionResponseBlob, success, livenessPassed, reason; null until the job is finished. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.session_result(uuid, text) TO insp_producer, insp_operator;
