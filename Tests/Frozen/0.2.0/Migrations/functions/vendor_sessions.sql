-- Sessions of a liveness vendor: one job each, of one blob or several, each of which can be used once.

CREATE OR REPLACE FUNCTION insp.session_lease(p_fence bigint, p_blob integer DEFAULT 0) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('fence', p_fence::text, 'blob', nullif(p_blob, 0)))
$$;
COMMENT ON FUNCTION insp.session_lease(bigint, integer) IS
    'The entry in the record for the lease under which a session''s blob is sent; the first blob has the number 0';

CREATE OR REPLACE FUNCTION insp.session_vendor(
    p_job bigint, p_fence bigint,
    OUT url text, OUT pins text[], OUT key_name text, OUT allow_private boolean, OUT networks text[], OUT reference text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    SELECT p.vendor ->> 'url', ARRAY(SELECT jsonb_array_elements_text(p.vendor -> 'pins')), p.vendor ->> 'keyName',
        coalesce((p.vendor ->> 'allowPrivate')::boolean, false),
        CASE WHEN p.vendor ? 'allowedNetworks' THEN ARRAY(SELECT jsonb_array_elements_text(p.vendor -> 'allowedNetworks')) END,
        -- Of a sealed job, the pseudonym alone is here.
        CASE WHEN j.key_id IS NULL THEN insp.personal(j.personal) ->> 'userReference' END
    INTO session_vendor.url, session_vendor.pins, session_vendor.key_name, session_vendor.allow_private, session_vendor.networks,
        session_vendor.reference
    FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE j.id = p_job;
END
$$;
COMMENT ON FUNCTION insp.session_vendor(bigint, bigint) IS
    'The vendor''s server to which a leased job''s session goes (url null: the worker''s own), and the userReference of a job that is not sealed; LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.session_vendor(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_begin(p_job bigint, p_fence bigint, p_blob integer DEFAULT 0) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    holder bigint;
    name text;
    lease constant jsonb := insp.session_lease(p_fence, p_blob);
BEGIN
    -- Locked against another call for the same lease, and so that no rescue ends it meanwhile.
    SELECT l.worker_id INTO holder FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    SELECT j.public_id::text INTO name FROM insp.job j WHERE j.id = p_job;
    -- A blob can be used once. If an earlier attempt may have used it, nothing is sent again.
    IF EXISTS (
        SELECT FROM insp.record b
        WHERE b.subject = name AND b.chain <> 'access' AND b.action = 'session_begin' AND b.detail <> lease
            AND b.detail -> 'blob' IS NOT DISTINCT FROM lease -> 'blob'
            AND NOT EXISTS (SELECT FROM insp.record e WHERE e.subject = name AND e.chain <> 'access' AND e.action = 'session_end'
                AND e.detail @> b.detail AND e.detail -> 'blob' IS NOT DISTINCT FROM b.detail -> 'blob'
                AND e.detail ->> 'outcome' = 'not_sent')) THEN
        RETURN false;
    END IF;
    -- The same lease may ask twice if the first answer was lost: it sends nothing before it has one.
    INSERT INTO insp.record (chain, actor, action, subject, detail)
    SELECT 'session', 'worker ' || holder, 'session_begin', name, lease
    WHERE NOT EXISTS (SELECT FROM insp.record b
        WHERE b.subject = name AND b.chain <> 'access' AND b.action = 'session_begin' AND b.detail = lease);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.session_begin(bigint, bigint, integer) IS
    'Records that a blob of a leased job''s session is about to be sent; false: an earlier attempt may already have sent it. LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.session_begin(bigint, bigint, integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_end(
    p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_body bytea, p_blob integer DEFAULT 0
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms' AS $$
    SELECT insp.require(p_outcome IN ('answered', 'refused', 'not_sent', 'invalid', 'lost'), 'outcome',
        'An outcome is answered, refused, not_sent, invalid or lost.');
    WITH ended AS (
        INSERT INTO insp.record (chain, actor, action, subject, detail)
        SELECT 'session', b.actor, 'session_end', b.subject,
            b.detail || jsonb_strip_nulls(jsonb_build_object('outcome', p_outcome, 'httpStatus', p_status))
        FROM insp.record b
        WHERE b.subject = (SELECT j.public_id::text FROM insp.job j WHERE j.id = p_job) AND b.chain <> 'access'
            AND b.action = 'session_begin' AND b.detail = insp.session_lease(p_fence, p_blob)
        -- Of two calls that end a blob at the same moment, one waits for the other and writes nothing.
        ON CONFLICT (subject, (detail ->> 'fence'), coalesce(detail ->> 'blob', '0')) WHERE action = 'session_end' DO NOTHING
        RETURNING p_job AS job_id
    ), held AS MATERIALIZED (
        SELECT l.job_id, l.claimed_at FROM insp.lease l JOIN ended e ON e.job_id = l.job_id
        WHERE l.fence IS NOT DISTINCT FROM p_fence AND p_body IS NOT NULL FOR KEY SHARE OF l
    ), open AS MATERIALIZED (
        -- Nothing may be written for a job that was cancelled, and perhaps erased, meanwhile.
        SELECT h.job_id, h.claimed_at FROM held h, LATERAL (
            SELECT FROM insp.job j WHERE j.id = h.job_id AND j.status < 128 FOR NO KEY UPDATE) j
    ), stored AS (
        -- With the answer itself: a worker that dies after this loses nothing, and the blob cannot be used again. The answer to a
        -- further blob includes what was known before.
        INSERT INTO insp.step AS s (job_id, status, fence, seal, body)
        SELECT o.job_id, 32, p_fence, insp.seal_of(p_body), p_body FROM open o
        ON CONFLICT (job_id, status) DO UPDATE SET fence = excluded.fence, stored_at = excluded.stored_at, seal = excluded.seal,
            body = excluded.body
    )
    -- Claims return results of jobs by their status, which shows that there are some.
    UPDATE insp.job j SET status = 32, started_at = coalesce(j.started_at, o.claimed_at)
    FROM open o WHERE j.id = o.job_id AND j.status < 32
$$;
COMMENT ON FUNCTION insp.session_end(bigint, bigint, text, integer, bytea, integer) IS
    'Records the outcome of a blob that was sent (answered; refused by the server; not_sent, which may be tried again; invalid: not as documented; lost: unknown), and stores the answer as the result of the job''s liveness stage';
GRANT EXECUTE ON FUNCTION insp.session_end(bigint, bigint, text, integer, bytea, integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.session_pause(p_job bigint, p_fence bigint, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms'
SET jit = off SET enable_seqscan = off AS $$
DECLARE
    due timestamptz;
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    SELECT least(s.stored_at + make_interval(secs => p_seconds), j.expires_at) INTO due
    FROM insp.step s JOIN insp.job j ON j.id = s.job_id WHERE s.job_id = p_job AND s.status = 32;
    -- The time counts from the answer, even if another worker has claimed the job since.
    IF due IS NULL OR due <= clock_timestamp() THEN
        RETURN false;
    END IF;
    WITH ended AS (
        DELETE FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence RETURNING l.*
    )
    -- The attempt is refunded, since nothing failed. A finished job has only a stale lease to drop.
    INSERT INTO insp.delayed (run_at, job_id, queue, attempt, crashes)
    SELECT due, e.job_id, e.queue, e.attempt - 1, e.crashes FROM ended e JOIN insp.job j ON j.id = e.job_id AND j.status < 128;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.session_pause(bigint, bigint, double precision) IS
    'Ends the lease of a job whose session continues, until the next blob comes or so many seconds have passed since the last answer; false: they have passed. LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.session_pause(bigint, bigint, double precision) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.waiting_sessions(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
    -- A scheduled job has no result yet, and one that failed has an error.
    SELECT ARRAY(SELECT j.id FROM unnest(p_jobs) AS u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id])
        WHERE j.status = 32 AND j.request ? 'session'
            AND EXISTS (SELECT FROM insp.delayed d WHERE d.job_id = ANY (ARRAY[j.id]) AND d.last_error IS NULL))
$$;
COMMENT ON FUNCTION insp.waiting_sessions(bigint[]) IS 'Those of these jobs that wait for the next blob of their session';

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
    PERFORM insp.record_reading(j.public_id, j.status, session_result.purpose);
    SELECT insp.step_document(s) INTO result FROM insp.step s WHERE s.job_id = j.id AND s.status = 128;
    answer := result #> '{capabilities,liveness,0,data,vendor}';
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'sessionResponseBlob', answer -> 'sessionResponseBlob',
        'success', coalesce(answer -> 'success', 'false'),
        'livenessPassed', coalesce(answer -> 'livenessPassed', 'false'),
        'reason', coalesce(answer -> 'reason', result #> '{error,code}', result #> '{capabilities,liveness,0,decision,details,label}',
            result #> '{decision,details,label}')));
END
$$;
COMMENT ON FUNCTION insp.session_result(uuid, text) IS
    'The answer of POST /facetec/session for a job with a SESSION_BLOB: sessionResponseBlob, success, livenessPassed, reason; null until the job is finished. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.session_result(uuid, text) TO insp_producer, insp_operator;
