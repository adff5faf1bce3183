-- Results of jobs, for callers.

CREATE OR REPLACE FUNCTION insp.iso_time(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
COMMENT ON FUNCTION insp.iso_time(timestamptz) IS 'A time as ISO 8601 in UTC with milliseconds';

CREATE OR REPLACE FUNCTION insp.definition_key(p_workflow text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_workflow WHEN 'id' THEN '2' WHEN 'id_identity' THEN '3' WHEN 'similarity' THEN '5'
        WHEN 'liveness' THEN '6' WHEN 'authentication' THEN '9' WHEN 'enrollment' THEN 'enrollment' END
$$;
COMMENT ON FUNCTION insp.definition_key(text) IS 'A workflow''s definition key in Jumio''s API (insp.workflow), written out for the functions that compose a callback for each job; null: no such workflow';

CREATE OR REPLACE FUNCTION insp.step_document(s insp.step) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(CASE s.seal WHEN 0 THEN convert_from(s.body, 'UTF8')::jsonb END, '{}')
        || coalesce(s.summary - 'labels', '{}')
$$;
COMMENT ON FUNCTION insp.step_document(insp.step) IS
    'The result of a stage or a job as one document; sealed data is left out';

CREATE OR REPLACE FUNCTION insp.visible_job(p_id uuid) RETURNS insp.job
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND OR NOT insp.may_act(j.partner_id) THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN j;
END
$$;
COMMENT ON FUNCTION insp.visible_job(uuid) IS 'A job of a partner for which the login may act; refuses others';

CREATE OR REPLACE FUNCTION insp.record_reading(p_job uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- By membership, which a role with NOINHERIT also has.
    INSERT INTO insp.record (chain, action, subject)
    SELECT 'access', 'read', p_job::text WHERE pg_has_role(session_user, 'insp_operator', 'MEMBER')
$$;
COMMENT ON FUNCTION insp.record_reading(uuid) IS
    'Records that an operator reads personal data of a job. A producer''s calls are its partner''s own; the gateway''s are recorded with the credential';

CREATE OR REPLACE FUNCTION insp.result_document(j insp.job) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    said constant jsonb := insp.readable_personal(j.personal, j.seal);
    claimed timestamptz;
BEGIN
    IF j.status = 1 THEN
        SELECT l.claimed_at INTO claimed FROM insp.lease l WHERE l.job_id = j.id;
    END IF;
    RETURN coalesce((SELECT insp.step_document(s) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || jsonb_build_object('id', j.public_id,
            'status', CASE WHEN j.status = 1 AND claimed IS NOT NULL THEN 2 ELSE j.status END,
            'workflow', jsonb_build_object('key', j.workflow, 'definitionKey', insp.definition_key(j.workflow)),
            'createdAt', insp.iso_time(j.created_at))
        || jsonb_strip_nulls(jsonb_build_object('startedAt', insp.iso_time(coalesce(j.started_at, claimed)),
            'completedAt', insp.iso_time(j.completed_at),
            'customerInternalReference', said -> 'customerInternalReference',
            'userReference', said -> 'userReference',
            'reportingCriteria', said -> 'reportingCriteria',
            'rerunOf', j.rerun_of));
END
$$;
COMMENT ON FUNCTION insp.result_document(insp.job) IS 'The result document of a job, for functions that check the reader';

CREATE OR REPLACE FUNCTION insp.job_result(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
BEGIN
    PERFORM insp.record_reading(j.public_id);
    RETURN insp.result_document(j);
END
$$;
COMMENT ON FUNCTION insp.job_result(uuid) IS
    'The result document of a job. Its results are valid only once status is 128; before that it shows the job''s progress. Results that retention removed are replaced by purgedAt, erased ones by erasedAt. Reads by operators are recorded (insp.v_access)';
GRANT EXECUTE ON FUNCTION insp.job_result(uuid) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.stage_result(p_id uuid, p_status integer DEFAULT 64) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
BEGIN
    PERFORM insp.record_reading(j.public_id);
    RETURN (SELECT insp.step_document(s) FROM insp.step s WHERE s.job_id = j.id AND s.status = p_status);
END
$$;
COMMENT ON FUNCTION insp.stage_result(uuid, integer) IS
    'The result of the stage with which a job reached a status (64: the decision under review); null: nothing is stored. Reads by operators are recorded (insp.v_access)';
GRANT EXECUTE ON FUNCTION insp.stage_result(uuid, integer) TO insp_operator;
