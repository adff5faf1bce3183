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

CREATE OR REPLACE FUNCTION insp.names_face(p_workflow text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_workflow IN ('authentication', 'enrollment')
$$;
COMMENT ON FUNCTION insp.names_face(text) IS 'Whether jobs of a workflow specify a face id (capability authentication or enrollment of insp.workflow), written out for triggers that run for each job';

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

CREATE OR REPLACE FUNCTION insp.is_staff() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- By membership, which a role with NOINHERIT also has.
    SELECT pg_has_role(session_user, 'insp_operator', 'MEMBER') OR pg_has_role(session_user, 'insp_reviewer', 'MEMBER')
$$;
COMMENT ON FUNCTION insp.is_staff() IS
    'Whether the login is an operator''s or a reviewer''s, who must state a purpose. A producer reads its partner''s own data; the gateway''s are recorded with the credential';

CREATE OR REPLACE FUNCTION insp.needs_purpose() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A superuser can read the tables, so asking here would protect nothing.
    SELECT insp.is_staff() AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = session_user)
$$;
COMMENT ON FUNCTION insp.needs_purpose() IS 'Whether the login''s reads of personal data are refused without a purpose';

CREATE OR REPLACE FUNCTION insp.check_purpose(p_purpose text, p_is_needed boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_purpose IS NULL AND p_is_needed THEN
        PERFORM insp.refuse('PURPOSE_MISSING');
    ELSIF p_purpose NOT IN ('review', 'support', 'export', 'delivery') THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'purpose ' || left(quote_nullable(p_purpose), 40),
            'A purpose is review, support, export or delivery.');
    ELSIF p_purpose <> 'review' AND pg_has_role(session_user, 'insp_reviewer', 'MEMBER')
        AND NOT pg_has_role(session_user, 'insp_operator', 'MEMBER') THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'purpose ' || p_purpose, 'The purpose of a reviewer is review.');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_purpose(text, boolean) IS
    'Refuses an unknown purpose, a missing one if one is needed, and any but review to reviewers';

-- Also on a standby, where a transaction is read-only: staff cannot read there.
CREATE OR REPLACE FUNCTION insp.log_reading(p_what text, p_purpose text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_staff constant boolean := insp.is_staff();
    is_unrecorded constant boolean := current_setting('transaction_read_only')::boolean AND NOT is_staff;
BEGIN
    IF is_unrecorded OR is_staff THEN
        -- A reader may roll back what it read in, and the row with it. The server's log keeps this line.
        RAISE LOG 'inspectd: % % for %', session_user, p_what, coalesce(p_purpose, 'no purpose');
    END IF;
    RETURN is_unrecorded;
END
$$;
COMMENT ON FUNCTION insp.log_reading(text, text) IS
    'Writes a line to the server''s log if the record may not keep an access; returns whether it cannot: a producer''s in a read-only transaction';

CREATE OR REPLACE FUNCTION insp.record_reading(p_job uuid, p_status smallint, p_purpose text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_staff constant boolean := insp.is_staff();
BEGIN
    PERFORM insp.check_purpose(p_purpose, is_staff AND insp.needs_purpose());
    -- Until a job ends, a producer sees only what it gave, as often as it asks.
    IF (is_staff OR p_status = 128) AND NOT insp.log_reading('reads job ' || p_job, p_purpose) THEN
        INSERT INTO insp.record (chain, action, subject, purpose)
        VALUES ('access', 'read', p_job::text, CASE WHEN is_staff THEN p_purpose ELSE coalesce(p_purpose, 'delivery') END);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.record_reading(uuid, smallint, text) IS
    'Records that somebody reads personal data of a job with this status, and why; refuses operators and reviewers without a purpose';

CREATE OR REPLACE FUNCTION insp.record_search(
    p_action text, p_partner text, p_purpose text, p_is_needed boolean, p_detail jsonb DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.partner_number(p_partner);
    PERFORM insp.check_purpose(p_purpose, p_is_needed);
    IF NOT insp.log_reading(format('calls %s of partner %s', p_action, p_partner), p_purpose) THEN
        PERFORM insp.record(p_action, 'partner ' || p_partner, p_detail,
            CASE WHEN insp.is_staff() THEN p_purpose ELSE coalesce(p_purpose, 'delivery') END);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.record_search(text, text, text, boolean, jsonb) IS
    'Records that a partner''s persons or templates were looked up, and for which purpose; the name itself is personal data and is not recorded';

CREATE OR REPLACE FUNCTION insp.result_document(j insp.job) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    -- Nobody else can use pseudonyms.
    said constant jsonb := CASE WHEN j.key_id IS NULL THEN insp.readable_personal(j.personal) END;
BEGIN
    RETURN coalesce((SELECT insp.step_document(s) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || insp.result_frame(j)
        || jsonb_strip_nulls(jsonb_build_object(
            'customerInternalReference', said -> 'customerInternalReference',
            'userReference', said -> 'userReference',
            'reportingCriteria', said -> 'reportingCriteria'));
END
$$;
COMMENT ON FUNCTION insp.result_document(insp.job) IS 'The result document of a job, for functions that check the reader';

CREATE OR REPLACE FUNCTION insp.sealed_document(
    j insp.job, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    document := insp.result_document(j);
    partner_id := j.partner_id;
    IF j.key_id IS NOT NULL THEN
        sealed := j.sealed;
        SELECT s.body INTO body FROM insp.step s WHERE s.job_id = j.id AND s.status = 128 AND s.seal > 0;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.sealed_document(insp.job) IS 'What insp.sealed_result returns, for functions that check the reader';

CREATE OR REPLACE FUNCTION insp.result_frame(j insp.job) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    claimed timestamptz;
BEGIN
    IF j.status = 1 THEN
        SELECT l.claimed_at INTO claimed FROM insp.lease l WHERE l.job_id = j.id;
    END IF;
    RETURN jsonb_build_object('schemaVersion', 1, 'id', j.public_id,
            'status', CASE WHEN j.status = 1 AND claimed IS NOT NULL THEN 2 ELSE j.status END,
            'workflow', jsonb_build_object('key', j.workflow, 'definitionKey', insp.definition_key(j.workflow)),
            'createdAt', insp.iso_time(j.created_at))
        || jsonb_strip_nulls(jsonb_build_object('startedAt', insp.iso_time(coalesce(j.started_at, claimed)),
            'completedAt', insp.iso_time(j.completed_at),
            'rerunOf', j.rerun_of,
            'declined', j.request -> 'declined',
            'test', (SELECT true FROM insp.partner p WHERE p.id = j.partner_id AND p.test_of IS NOT NULL)));
END
$$;
COMMENT ON FUNCTION insp.result_frame(insp.job) IS 'The version of its form, id, status, workflow, times and declined parts of a job, as in its result document';

CREATE OR REPLACE FUNCTION insp.plain_result(j insp.job) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT coalesce((SELECT s.summary - 'labels' FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || insp.result_frame(j)
$$;
COMMENT ON FUNCTION insp.plain_result(insp.job) IS 'The part of a result document that identifies no person';

CREATE OR REPLACE FUNCTION insp.job_result(p_id uuid, p_purpose text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
    -- Why the rest is missing.
    mark constant jsonb := CASE WHEN j.key_id IS NULL THEN '{}'::jsonb ELSE '{"isSealed": true}' END;
BEGIN
    IF p_purpose IS NULL AND insp.needs_purpose() THEN
        RETURN insp.plain_result(j) || mark;
    END IF;
    PERFORM insp.record_reading(j.public_id, j.status, p_purpose);
    RETURN insp.result_document(j) || mark;
END
$$;
COMMENT ON FUNCTION insp.job_result(uuid, text) IS
    'The result document of a job. Its results are valid only once status is 128; before that it shows the job''s progress. Results that retention removed are replaced by purgedAt, erased ones by erasedAt. Reads are recorded (insp.v_access). Operators give a purpose (review, support, export or delivery), reviewers review; without one they get only what identifies no person: decision, labels, reasons, error, status and times. For a sealed job (isSealed) nobody gets more: inspectd status and the gateway open the rest (insp.sealed_result)';
GRANT EXECUTE ON FUNCTION insp.job_result(uuid, text) TO insp_producer, insp_operator, insp_reviewer;

CREATE OR REPLACE FUNCTION insp.sealed_result(
    p_id uuid, p_purpose text DEFAULT NULL, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
BEGIN
    IF p_purpose IS NULL AND insp.needs_purpose() THEN
        document := insp.plain_result(j);
        partner_id := j.partner_id;
        RETURN;
    END IF;
    PERFORM insp.record_reading(j.public_id, j.status, p_purpose);
    SELECT d.document, d.sealed, d.body, d.partner_id INTO document, sealed, body, partner_id FROM insp.sealed_document(j) d;
END
$$;
COMMENT ON FUNCTION insp.sealed_result(uuid, text) IS
    'Like insp.job_result, with the sealed references and body, which a program that has the key adds to the document of a sealed job';
GRANT EXECUTE ON FUNCTION insp.sealed_result(uuid, text) TO insp_producer, insp_operator, insp_reviewer;

CREATE OR REPLACE FUNCTION insp.sealed_review(
    p_id uuid, p_purpose text DEFAULT NULL, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer,
    OUT notes jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
    said constant jsonb := CASE WHEN j.key_id IS NULL THEN insp.readable_personal(j.personal) END;
BEGIN
    PERFORM insp.record_reading(j.public_id, j.status, p_purpose);
    SELECT insp.step_document(s), CASE WHEN s.seal > 0 THEN s.body END INTO document, body
    FROM insp.step s WHERE s.job_id = j.id AND s.status = 64;
    document := coalesce(document, '{}') || insp.result_frame(j) || jsonb_strip_nulls(jsonb_build_object(
        'customerInternalReference', said -> 'customerInternalReference', 'userReference', said -> 'userReference'));
    sealed := j.sealed;
    partner_id := j.partner_id;
    SELECT coalesce(jsonb_agg(jsonb_build_object('at', insp.iso_time(r.at), 'who', r.actor, 'action', r.action,
        'note', r.words -> 'note') ORDER BY r.id), '[]') INTO notes
    -- <> matches the index by subject, and no other.
    FROM insp.record r WHERE r.chain <> 'access' AND r.subject = j.public_id::text AND r.words ? 'note';
END
$$;
COMMENT ON FUNCTION insp.sealed_review(uuid, text) IS
    'What inspectd review shows of a job: the decision that waited for a review, its sealed data, and the notes of reviewers and operators. The access is recorded with its purpose';
GRANT EXECUTE ON FUNCTION insp.sealed_review(uuid, text) TO insp_operator, insp_reviewer;

CREATE OR REPLACE FUNCTION insp.stage_result(
    p_id uuid, p_status integer DEFAULT 64, p_purpose text DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j constant insp.job := insp.visible_job(p_id);
BEGIN
    PERFORM insp.record_reading(j.public_id, j.status, p_purpose);
    RETURN (SELECT insp.step_document(s) FROM insp.step s WHERE s.job_id = j.id AND s.status = p_status);
END
$$;
COMMENT ON FUNCTION insp.stage_result(uuid, integer, text) IS
    'The result of the stage with which a job reached a status (64: the decision under review); null: nothing is stored. Needs a purpose (review, support, export or delivery), which is recorded (insp.v_access)';
GRANT EXECUTE ON FUNCTION insp.stage_result(uuid, integer, text) TO insp_operator, insp_reviewer;
