-- A callback continues the trace that its job's caller began.

CREATE FUNCTION insp.callback_jobs(p_callbacks bigint[]) RETURNS TABLE (id bigint, job uuid, traceparent text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT c.id, j.public_id, j.traceparent
    FROM insp.callback c JOIN insp.job j ON j.id = c.job_id WHERE c.id = ANY (p_callbacks)
$$;
COMMENT ON FUNCTION insp.callback_jobs(bigint[]) IS
    'The jobs that callbacks tell of, with the trace contexts of their callers; nothing for a job that retention removed';
GRANT EXECUTE ON FUNCTION insp.callback_jobs(bigint[]) TO insp_worker;
