-- A worker that lost a job and claimed it again may still have a stage of the lost claim to write. settle took the stages
-- of every job that it finished, whatever fence they came under; now each stage must match the fence, as the result must.

CREATE OR REPLACE FUNCTION insp.settle(
    p_jobs bigint[], p_fences bigint[], p_outputs text[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_outputs text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
    fences bigint[];
    outputs jsonb[];
BEGIN
    WITH settled AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, u.output::jsonb AS output
    )
    SELECT array_agg(s.job_id), array_agg(s.fence), array_agg(s.output) INTO jobs, fences, outputs FROM settled s;
    IF jobs IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_step_jobs) > 0 THEN
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT u.job_id, u.status, u.fence, u.output::jsonb
        FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_outputs) AS u (job_id, fence, status, output)
        -- A fence is given out once, so it names the claim by itself.
        WHERE u.fence = ANY (fences)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT f.id FROM insp.finish(jobs, fences, outputs) AS f (id);
END
$$;
