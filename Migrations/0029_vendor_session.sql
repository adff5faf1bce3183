-- Sessions of a liveness vendor (FaceTec 10.x): who was asked about which job, and what came of it.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('SESSION_SHAPE_REFUSED', 'IN028',
     'a session blob is the opaque string of FaceTec 10.x, not a raw scan or audit image of 9.x', false),
    ('VENDOR_NOT_CONFIGURED', 'IN060', 'this worker knows no liveness vendor''s server', false),
    ('VENDOR_UNREACHABLE', 'IN061', 'the liveness vendor''s server could not be reached', true),
    ('VENDOR_REFUSED', 'IN062', 'the liveness vendor''s server refused the request', false),
    ('VENDOR_RESPONSE_INVALID', 'IN063', 'the liveness vendor''s server answered something else than documented', false),
    ('VENDOR_OUTCOME_UNKNOWN', 'IN064', 'the liveness vendor''s server may have used the session, but its answer was lost', false);

CREATE TABLE insp.session_access (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    outcome text CHECK (outcome IN ('answered', 'refused', 'not_sent', 'invalid', 'lost')),
    http_status smallint,
    UNIQUE (job_id, fence)
);
COMMENT ON TABLE insp.session_access IS 'Every time that a job''s session was sent to the vendor''s server; written before it is sent';
COMMENT ON COLUMN insp.session_access.id IS 'Number of the access';
COMMENT ON COLUMN insp.session_access.job_id IS 'The job';
COMMENT ON COLUMN insp.session_access.fence IS 'The lease under which it was sent';
COMMENT ON COLUMN insp.session_access.worker_id IS 'The worker that sent it';
COMMENT ON COLUMN insp.session_access.began_at IS 'Just before it was sent';
COMMENT ON COLUMN insp.session_access.ended_at IS 'When the answer was there, or was given up';
COMMENT ON COLUMN insp.session_access.outcome IS
    'answered; refused by the server; not_sent, which may be tried again; invalid: not as documented; lost: nobody knows. Null: under way, or its worker died';
COMMENT ON COLUMN insp.session_access.http_status IS 'The server''s status, if it answered';
GRANT SELECT ON insp.session_access TO insp_operator, insp_auditor;

CREATE FUNCTION insp.session_begin(p_job bigint, p_fence bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    holder bigint;
BEGIN
    SELECT l.worker_id INTO holder FROM insp.lease l WHERE l.job_id = p_job AND l.fence = p_fence FOR SHARE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- A session can be used once. Where an earlier attempt may have used it, nothing is sent again.
    IF EXISTS (SELECT FROM insp.session_access a WHERE a.job_id = p_job AND a.fence <> p_fence AND a.outcome IS DISTINCT FROM 'not_sent') THEN
        RETURN false;
    END IF;
    -- The same lease may ask twice, when the first answer was lost: it sends nothing before it has one.
    INSERT INTO insp.session_access (job_id, fence, worker_id) VALUES (p_job, p_fence, holder) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.session_begin(bigint, bigint) IS
    'Notes that a leased job''s session is about to be sent; false: an earlier attempt may have sent it; null: the lease was lost';

CREATE FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_output jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    WITH ended AS (
        UPDATE insp.session_access a SET ended_at = clock_timestamp(), outcome = p_outcome, http_status = p_status
        WHERE a.job_id = p_job AND a.fence = p_fence AND a.ended_at IS NULL
        RETURNING a.job_id
    ), held AS (
        SELECT l.job_id, l.claimed_at FROM insp.lease l JOIN ended e ON e.job_id = l.job_id
        WHERE l.fence = p_fence AND p_output IS NOT NULL
    ), stored AS (
        -- With the answer itself: a worker that dies after this has lost nothing, and the session cannot be used again.
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT h.job_id, 32, p_fence, p_output FROM held h
        ON CONFLICT DO NOTHING
    )
    -- Claims hand out the results of jobs that have any: that is what the status says.
    UPDATE insp.job j SET status = 32, started_at = coalesce(j.started_at, h.claimed_at)
    FROM held h WHERE j.id = h.job_id AND j.status < 32
$$;
COMMENT ON FUNCTION insp.session_end(bigint, bigint, text, integer, jsonb) IS
    'Notes what came of a session that was sent, and stores the answer as the result of the job''s liveness stage';

-- An auditor asks for them as long as for what operators did.
CREATE FUNCTION insp.session_purge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    DELETE FROM insp.session_access a WHERE a.id IN (
        SELECT x.id FROM insp.session_access x
        WHERE x.began_at < now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'operator_events')
        ORDER BY x.id LIMIT 10);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.session_purge() IS 'Removes accesses that are older than operator_events are kept, a few with each new one';
CREATE TRIGGER session_purge AFTER INSERT ON insp.session_access FOR EACH STATEMENT EXECUTE FUNCTION insp.session_purge();

GRANT EXECUTE ON FUNCTION insp.session_begin(bigint, bigint), insp.session_end(bigint, bigint, text, integer, jsonb) TO insp_worker;

CREATE FUNCTION insp.session_result(id uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN r.result -> 'status' = '128' THEN jsonb_strip_nulls(jsonb_build_object(
        'sessionResponseBlob', r.vendor -> 'sessionResponseBlob',
        'success', coalesce(r.vendor -> 'success', 'false'),
        'livenessPassed', coalesce(r.vendor -> 'livenessPassed', 'false'),
        'reason', coalesce(r.vendor -> 'reason', r.result #> '{error,code}',
            r.result #> '{decision,details,label}'))) END
    FROM (SELECT j.result, j.result #> '{capabilities,liveness,0,data,vendor}' AS vendor
          FROM (SELECT insp.job_result(session_result.id) AS result) j) r
$$;
COMMENT ON FUNCTION insp.session_result(uuid) IS
    'What POST /facetec/session answers for a job with a SESSION_BLOB: sessionResponseBlob, success, livenessPassed, reason; null until the job is finished';
GRANT EXECUTE ON FUNCTION insp.session_result(uuid) TO insp_producer, insp_operator;
