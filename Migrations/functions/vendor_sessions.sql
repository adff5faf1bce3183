-- Sessions of a liveness vendor, each of which can be used once.

CREATE OR REPLACE FUNCTION insp.session_begin(p_job bigint, p_fence bigint) RETURNS boolean
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
GRANT EXECUTE ON FUNCTION insp.session_begin(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_output jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms' AS $$
    WITH ended AS (
        UPDATE insp.session_access a SET ended_at = clock_timestamp(), outcome = p_outcome, http_status = p_status
        WHERE a.job_id = p_job AND a.fence = p_fence AND a.ended_at IS NULL
        RETURNING a.job_id
    ), held AS MATERIALIZED (
        SELECT l.job_id, l.claimed_at FROM insp.lease l JOIN ended e ON e.job_id = l.job_id
        WHERE l.fence = p_fence AND p_output IS NOT NULL FOR KEY SHARE OF l
    ), open AS MATERIALIZED (
        -- Nothing may be written for a job that was cancelled, and perhaps erased, meanwhile.
        SELECT h.job_id, h.claimed_at FROM held h, LATERAL (
            SELECT FROM insp.job j WHERE j.id = h.job_id AND j.status < 128 FOR NO KEY UPDATE) j
    ), stored AS (
        -- With the answer itself: a worker that dies after this has lost nothing, and the session cannot be used again.
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT o.job_id, 32, p_fence, p_output FROM open o
        ON CONFLICT DO NOTHING
    )
    -- Claims hand out the results of jobs that have any: that is what the status says.
    UPDATE insp.job j SET status = 32, started_at = coalesce(j.started_at, o.claimed_at)
    FROM open o WHERE j.id = o.job_id AND j.status < 32
$$;
COMMENT ON FUNCTION insp.session_end(bigint, bigint, text, integer, jsonb) IS
    'Notes what came of a session that was sent, and stores the answer as the result of the job''s liveness stage';
GRANT EXECUTE ON FUNCTION insp.session_end(bigint, bigint, text, integer, jsonb) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_result(id uuid) RETURNS jsonb
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

-- An auditor asks for them as long as for what operators did.
CREATE OR REPLACE FUNCTION insp.session_purge() RETURNS trigger
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
CREATE OR REPLACE TRIGGER session_purge AFTER INSERT ON insp.session_access FOR EACH STATEMENT EXECUTE FUNCTION insp.session_purge();
