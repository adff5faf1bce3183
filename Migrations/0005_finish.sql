-- The one way to 128. Workers' results, given-up, cancelled and expired jobs all end in insp.finish.

CREATE FUNCTION insp.definition_key(p_workflow text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_workflow WHEN 'id' THEN '2' WHEN 'id_identity' THEN '3' WHEN 'similarity' THEN '5'
        WHEN 'liveness' THEN '6' WHEN 'authentication' THEN '9' WHEN 'enrollment' THEN 'enrollment' END
$$;
COMMENT ON FUNCTION insp.definition_key(text) IS 'A workflow''s definition key in Jumio''s API; null: no such workflow';

CREATE FUNCTION insp.iso_time(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
COMMENT ON FUNCTION insp.iso_time(timestamptz) IS 'A time as ISO 8601 in UTC with milliseconds';

CREATE FUNCTION insp.failure_output(p_code text, p_detail text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_build_object(
        'decision', jsonb_build_object('type', 'NOT_EXECUTED',
            'details', jsonb_build_object('label', 'TECHNICAL_ERROR'), 'risk', jsonb_build_object('score', -1)),
        'capabilities', jsonb_build_object(),
        'rejectReasons', jsonb_build_array(),
        'error', jsonb_build_object('code', e.code,
            'message', e.message || coalesce(' (' || nullif(p_detail, '') || ')', ''), 'retryable', e.retryable))
    FROM insp.error_code e WHERE e.code = p_code
$$;
COMMENT ON FUNCTION insp.failure_output(text, text) IS 'The result of a job that ends with an error';

CREATE FUNCTION insp.finish(p_jobs bigint[], p_fences bigint[], p_outputs jsonb[]) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH done AS (
        UPDATE insp.job j SET status = 128, completed_at = now(), started_at = coalesce(j.started_at, now())
        FROM unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE j.id = u.job_id AND j.status < 128
        RETURNING j.id, j.public_id, j.endpoint_id, j.callback_url, j.payload, u.fence, u.output
    ), result AS (
        INSERT INTO insp.step (job_id, status, fence, output) SELECT d.id, 128, d.fence, d.output FROM done d
    ), terminal AS (
        INSERT INTO insp.event (job_id, kind, fence, detail)
        SELECT d.id, 'finished', 0, jsonb_build_object(
            'decision', d.output #> '{decision,type}', 'error', d.output #> '{error,code}', 'fence', d.fence)
        FROM done d
    ), outbox AS (
        INSERT INTO insp.callback (job_id, endpoint_id, state, url, body)
        SELECT d.id, e.id, CASE WHEN e.enabled THEN 'pending' ELSE 'held' END, coalesce(d.callback_url, e.url),
            -- Written out, not built as jsonb: these bytes are signed, and jsonb would order the keys its own way.
            convert_to(format(
                '{"type":"job.finished","timestamp":"%1$s","callbackSentAt":"%1$s",%2$s"workflowExecution":{"id":"%3$s",'
                '"definitionKey":"%4$s","status":"%5$s"},"data":{"id":"%3$s","status":128,"decision":%6$s}}',
                insp.iso_time(now()),
                coalesce('"userReference":' || (d.payload -> 'userReference')::text || ',', ''),
                d.public_id,
                insp.definition_key(d.payload ->> 'workflow'),
                CASE WHEN d.output #>> '{error,code}' = 'EXPIRED' THEN 'SESSION_EXPIRED' ELSE 'PROCESSED' END,
                coalesce((d.output #> '{decision,type}')::text, 'null')), 'UTF8')
        FROM done d JOIN insp.endpoint e ON e.id = d.endpoint_id
        WHERE coalesce(d.callback_url, e.url) IS NOT NULL
    )
    SELECT d.id FROM done d;
END
$$;
COMMENT ON FUNCTION insp.finish(bigint[], bigint[], jsonb[]) IS
    'Brings jobs to 128: result, terminal event and callback in one transaction. Returns those it finished; a job that was finished before is left as it is';

CREATE FUNCTION insp.finish_failed(
    p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    finished bigint[];
BEGIN
    SELECT coalesce(array_agg(f.id), '{}') INTO finished FROM insp.finish(p_jobs, p_fences, ARRAY(
        SELECT insp.failure_output(u.code, u.detail)
        FROM unnest(p_codes, p_details) WITH ORDINALITY AS u (code, detail, n) ORDER BY u.n)) AS f (id);
    -- Cancelled and expired jobs are no one's fault, and nobody has to look at them.
    INSERT INTO insp.dead (job_id, code, detail, attempts, crashes)
    SELECT u.job_id, u.code, u.detail, u.attempts, u.crashes
    FROM unnest(p_jobs, p_codes, p_details, p_attempts, p_crashes) AS u (job_id, code, detail, attempts, crashes)
    WHERE u.job_id = ANY (finished) AND u.code NOT IN ('CANCELLED', 'EXPIRED')
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(finished);
END
$$;
COMMENT ON FUNCTION insp.finish_failed(bigint[], bigint[], text[], text[], smallint[], smallint[]) IS
    'Brings jobs to 128 as NOT_EXECUTED with an error, and lists the given-up ones in insp.dead';
