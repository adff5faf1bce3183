-- Jobs with a face id, from their request to their end.
--
-- No payload, step or result ever contains the embedding. A worker hands it over under its lease, and the transaction that finishes
-- the job decides whether it becomes a template. However a job of these workflows reaches 128, its image, its stages and any
-- embedding that was not kept are then deleted.
-- After: results

CREATE OR REPLACE FUNCTION insp.check_face_request(p jsonb, p_flow insp.workflow) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_flow.capabilities && ARRAY['authentication', 'enrollment'] THEN
        -- Printable, so that ids can be distinguished in a list.
        IF jsonb_typeof(p -> 'faceId') IS DISTINCT FROM 'string' OR p ->> 'faceId' !~ '^[[:print:]]{1,100}$' THEN
            PERFORM insp.refuse('FACE_ID_INVALID', p_field => 'faceId');
        END IF;
    ELSIF p ? 'faceId' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_flow.name || ' takes no faceId',
            insp.workflow_hint(ARRAY['authentication', 'enrollment'], 'a faceId'), 'faceId');
    END IF;
    IF p ? 'threshold' THEN
        IF NOT p_flow.capabilities && ARRAY['authentication', 'similarity'] THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', p_flow.name || ' takes no threshold',
                insp.workflow_hint(ARRAY['authentication', 'similarity'], 'a threshold'), 'threshold');
        ELSIF jsonb_typeof(p -> 'threshold') <> 'number' OR (p -> 'threshold')::numeric NOT BETWEEN 0.5 AND 0.999 THEN
            -- Below a half, strangers matched in the calibration.
            PERFORM insp.refuse('PAYLOAD_INVALID', 'threshold is ' || left(p ->> 'threshold', 40), 'threshold is a number from 0.5 to 0.999.',
                'threshold');
        END IF;
    END IF;
    IF p ? 'enrollmentMode' AND ('enrollment' <> ALL (p_flow.capabilities)
        OR p -> 'enrollmentMode' NOT IN ('"add"', '"replace"')) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'enrollmentMode is not known, or belongs to another workflow',
            'enrollmentMode is add or replace, with the workflow enrollment.', 'enrollmentMode');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_face_request(jsonb, insp.workflow) IS
    'Refuses the keys faceId, threshold and enrollmentMode of a payload if they are invalid for the workflow';

CREATE OR REPLACE FUNCTION insp.check_enrollment(p_job insp.job, p_face text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_job.enrollment_mode IS DISTINCT FROM 'replace' AND EXISTS (SELECT FROM insp.workflow w
        WHERE w.name = p_job.workflow AND 'enrollment' = ANY (w.capabilities)) THEN
        PERFORM insp.check_face_owner(p_job.partner_id, p_face,
            insp.reference_index(insp.personal(p_job.personal) ->> 'userReference'));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_enrollment(insp.job, text) IS
    'Refuses a job that would add a person''s template to another person''s face';

CREATE OR REPLACE FUNCTION insp.face_submitted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    limits record;
    used integer;
    id constant text := insp.personal(NEW.personal) ->> 'faceId';
BEGIN
    -- A rerun of a job whose face id was deleted.
    IF id IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM insp.check_enrollment(NEW, id);
    INSERT INTO insp.face_job (job_id, partner_id, face_id) VALUES (NEW.id, NEW.partner_id, id);
    SELECT p.face_attempts, p.face_window INTO STRICT limits FROM insp.partner p WHERE p.id = NEW.partner_id;
    -- Deletes a few expired ones, so that the table contains little more than current windows.
    DELETE FROM insp.face_rate r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.face_rate x WHERE x.since < now() - interval '1 day' ORDER BY x.since LIMIT 10
        FOR UPDATE SKIP LOCKED));
    INSERT INTO insp.face_rate AS r (partner_id, face_id, since, attempts) VALUES (NEW.partner_id, id, now(), 1)
    ON CONFLICT (partner_id, face_id) DO UPDATE
        SET since = CASE WHEN r.since <= now() - limits.face_window THEN now() ELSE r.since END,
            attempts = CASE WHEN r.since <= now() - limits.face_window THEN 1 ELSE r.attempts + 1 END
    RETURNING r.attempts INTO used;
    IF used > limits.face_attempts THEN
        -- The refusal rolls the count back: refused attempts do not count.
        PERFORM insp.refuse('FACE_RATE_LIMITED', format('%s within %s', limits.face_attempts, limits.face_window));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_submitted() IS
    'Records a new job with a face id; refuses it if the face id had too many recently or is another person''s';
CREATE OR REPLACE TRIGGER face_submitted AFTER INSERT ON insp.job
    FOR EACH ROW WHEN (insp.names_face(NEW.workflow)) EXECUTE FUNCTION insp.face_submitted();

CREATE OR REPLACE FUNCTION insp.face_of(p_job bigint, p_fence bigint)
RETURNS TABLE (generation bigint, mode text, engine text, model_sha256 text, embedding text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    RETURN QUERY
    SELECT coalesce(f.generation, 0), coalesce(x.enrollment_mode, 'add'), t.engine, t.model_sha256, t.embedding
    FROM insp.face_job j JOIN insp.job x ON x.id = j.job_id
        LEFT JOIN insp.face f ON f.partner_id = j.partner_id AND f.face_id = j.face_id
        LEFT JOIN insp.face_template t ON t.partner_id = f.partner_id AND t.face_id = f.face_id
    WHERE j.job_id = p_job ORDER BY t.id;
END
$$;
COMMENT ON FUNCTION insp.face_of(bigint, bigint) IS
    'The face id of a leased job: its generation (0: not enrolled), the enrolment''s mode, and its templates, a row each, from one snapshot; LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.face_of(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.face_stage(
    p_job bigint, p_fence bigint, p_generation bigint, p_engine text, p_model_sha256 text, p_embedding text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    job insp.job;
    face insp.face_job;
BEGIN
    -- Locked, so that the lease cannot end between this read and the commit, leaving data behind for a finished job.
    PERFORM FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence FOR KEY SHARE;
    IF FOUND THEN
        -- A cancellation skips a locked lease, and checks the job.
        SELECT * INTO job FROM insp.job j WHERE j.id = p_job AND j.status < 128 FOR SHARE;
    END IF;
    IF FOUND THEN
        SELECT * INTO face FROM insp.face_job j WHERE j.job_id = p_job;
    END IF;
    IF face.job_id IS NULL THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    PERFORM insp.check_embedding(p_engine, p_model_sha256, p_embedding);
    INSERT INTO insp.face_pending AS f (job_id, partner_id, face_id, engine, model_sha256, embedding, key_id)
    VALUES (p_job, face.partner_id, face.face_id, p_engine, p_model_sha256, p_embedding, insp.embedding_key(p_embedding))
    ON CONFLICT (partner_id, face_id) DO UPDATE SET engine = p_engine, model_sha256 = p_model_sha256, embedding = p_embedding,
            key_id = insp.embedding_key(p_embedding)
        WHERE f.job_id = p_job;
    -- After the insert, which waits for an enrolment that is being finished, so that this sees its outcome.
    IF NOT FOUND OR p_generation <> coalesce((SELECT f.generation FROM insp.face f
        WHERE f.partner_id = face.partner_id AND f.face_id = face.face_id), 0) THEN
        PERFORM insp.refuse('FACE_BUSY');
    END IF;
    -- Checked as on acceptance: the face may have got a person since. From here until the job ends it gets no other.
    PERFORM insp.check_enrollment(job, face.face_id);
END
$$;
COMMENT ON FUNCTION insp.face_stage(bigint, bigint, bigint, text, text, text) IS
    'Hands over the embedding of a leased enrolment, decided on a generation of the face id, to be kept if the job ends as PASSED or WARNING; FACE_BUSY if the face id has changed or another job is enrolling it, FACE_TAKEN if it is another person''s, LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.face_stage(bigint, bigint, bigint, text, text, text) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.face_finished() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    pending insp.face_pending;
    decision text;
    id text;
BEGIN
    DELETE FROM insp.face_job j WHERE j.job_id = NEW.id RETURNING j.face_id INTO id;
    -- A rerun of a job whose face id was deleted.
    IF id IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO insp.face_named (job_id, partner_id, face_id) VALUES (NEW.id, NEW.partner_id, id) ON CONFLICT DO NOTHING;
    SELECT * INTO pending FROM insp.face_pending f WHERE f.job_id = NEW.id;
    IF FOUND THEN
        SELECT s.summary #>> '{decision,type}' INTO decision FROM insp.step s WHERE s.job_id = NEW.id AND s.status = 128;
        IF decision IN ('PASSED', 'WARNING') THEN
            -- A template is found only by its person: if the job is not linked yet, this waits for the person.
            PERFORM insp.face_keep(NEW.partner_id, id, NEW.enrollment_mode = 'replace',
                pending.engine, pending.model_sha256, pending.embedding, NEW.public_id, coalesce(NEW.person_id, insp.person_of(
                    NEW.partner_id, insp.reference_index(insp.personal(NEW.personal) ->> 'userReference'))));
        END IF;
        -- After the template has its key, which goes otherwise.
        DELETE FROM insp.face_pending f WHERE f.job_id = NEW.id;
    END IF;
    PERFORM insp.remove_parts(ARRAY[NEW.id]);
    DELETE FROM insp.step s WHERE s.job_id = NEW.id AND s.status < 128;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_finished() IS
    'Called when a job with a face id reaches 128 in any way: keeps or drops its embedding, and removes its image and stages';
CREATE OR REPLACE TRIGGER face_finished AFTER UPDATE OF status ON insp.job
    FOR EACH ROW WHEN (NEW.status = 128 AND OLD.status < 128 AND insp.names_face(NEW.workflow))
    EXECUTE FUNCTION insp.face_finished();

CREATE OR REPLACE FUNCTION insp.failed_face_event(p_workflow text, p_code text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
    SELECT coalesce((SELECT jsonb_build_object('faceSdk', jsonb_strip_nulls(jsonb_build_object(
            'type', w.face_event, 'outcome', o.outcome, 'status', o.status, 'code', o.code, 'error', o.error)))
        FROM insp.workflow w LEFT JOIN insp.error_contract c ON c.code = p_code
            JOIN insp.face_outcome o ON o.outcome = coalesce(c.face_outcome, 'unknown')
        WHERE w.name = p_workflow AND w.face_event IS NOT NULL), '{}')
$$;
COMMENT ON FUNCTION insp.failed_face_event(text, text) IS
    'The face SDK''s event of a job that ends with an error, as a member of its result; {}: a workflow without events';

CREATE OR REPLACE FUNCTION insp.face_words(p_event jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Written out, as bytes that are signed have a fixed order.
    SELECT format('{"type":%s,"outcome":%s', to_json(p_event ->> 'type'), to_json(p_event ->> 'outcome'))
        || CASE jsonb_typeof(p_event -> 'code') WHEN 'number' THEN ',"code":' || (p_event ->> 'code') ELSE '' END
        || coalesce(',"result":' || to_json(p_event ->> 'result')::text, '') || '}'
    WHERE p_event ->> 'type' IS NOT NULL AND p_event ->> 'outcome' IS NOT NULL
$$;
COMMENT ON FUNCTION insp.face_words(jsonb) IS
    'What a callback says about a face SDK''s event: whether it is an enrolment, a verification or a liveness check, and its outcome; null: no event';

CREATE OR REPLACE FUNCTION insp.callback_decision(c insp.callback) RETURNS text
LANGUAGE sql STABLE AS $$ SELECT to_json(c.decision)::text || coalesce(',"faceSdk":' || c.face, '') $$;
COMMENT ON FUNCTION insp.callback_decision(insp.callback) IS
    'The member decision of a callback''s body and, for the face SDK''s workflows, faceSdk after it; null: there is none';

CREATE OR REPLACE FUNCTION insp.face_event(p_id uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT coalesce(s.summary -> 'faceSdk', jsonb_strip_nulls(jsonb_build_object(
        'type', w.face_event, 'outcome', o.outcome, 'status', o.status, 'code', o.code, 'error', o.error)))
    FROM insp.job j JOIN insp.workflow w ON w.name = j.workflow AND w.face_event IS NOT NULL
        JOIN insp.step s ON s.job_id = j.id AND s.status = 128
        LEFT JOIN insp.error_contract c ON c.code = s.summary #>> '{error,code}'
        JOIN insp.face_outcome o ON o.outcome = coalesce(c.face_outcome, 'unknown')
    WHERE j.public_id = p_id AND insp.may_act(j.partner_id)
$$;
COMMENT ON FUNCTION insp.face_event(uuid) IS
    'The face SDK''s event of a finished enrolment, authentication or liveness job, however it ended: type, status, code, result, error (insp.face_outcome); null: not finished, or another workflow';
GRANT EXECUTE ON FUNCTION insp.face_event(uuid) TO insp_producer, insp_operator;
