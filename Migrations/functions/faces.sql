-- Faces that partners enrol: templates under the partner's own face ids, compared 1:1 by the workflow authentication.
--
-- The feature never lies in a payload, a step or a result. A worker hands it over under its lease, and what finishes the job
-- decides in the same transaction whether it becomes a template; whatever way a job of these workflows reaches 128, its
-- picture, its stages and a feature that was not kept go then.

CREATE OR REPLACE FUNCTION insp.check_face_request(p jsonb, p_flow insp.workflow) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_flow.capabilities && ARRAY['authentication', 'enrollment'] THEN
        -- Printable, so that it can be told from another one in a list.
        IF jsonb_typeof(p -> 'faceId') IS DISTINCT FROM 'string' OR p ->> 'faceId' !~ '^[[:print:]]{1,100}$' THEN
            PERFORM insp.refuse('FACE_ID_INVALID');
        END IF;
    ELSIF p ? 'faceId' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_flow.name || ' takes no faceId',
            insp.workflow_hint(ARRAY['authentication', 'enrollment'], 'a faceId'));
    END IF;
    IF p ? 'threshold' THEN
        IF NOT p_flow.capabilities && ARRAY['authentication', 'similarity'] THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', p_flow.name || ' takes no threshold',
                insp.workflow_hint(ARRAY['authentication', 'similarity'], 'a threshold'));
        ELSIF jsonb_typeof(p -> 'threshold') <> 'number' OR (p -> 'threshold')::numeric NOT BETWEEN 0.5 AND 0.999 THEN
            -- Below a half the calibration has seen strangers match.
            PERFORM insp.refuse('PAYLOAD_INVALID', 'threshold', 'threshold is a number from 0.5 to 0.999.');
        END IF;
    END IF;
    IF p ? 'enrollmentMode' AND ('enrollment' <> ALL (p_flow.capabilities)
        OR p -> 'enrollmentMode' NOT IN ('"add"', '"replace"')) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'enrollmentMode is not known, or belongs to another workflow',
            'enrollmentMode is add or replace, with the workflow enrollment.');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_face_request(jsonb, insp.workflow) IS
    'Refuses the keys faceId, threshold and enrollmentMode of a payload if anything in them is wrong for the workflow';

CREATE OR REPLACE FUNCTION insp.face_submitted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    limits record;
    used integer;
    id constant text := insp.personal(NEW.personal, NEW.seal) ->> 'faceId';
BEGIN
    -- A rerun of a job whose face id was deleted.
    IF id IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO insp.face_job (job_id, partner_id, face_id) VALUES (NEW.id, NEW.partner_id, id);
    SELECT p.face_attempts, p.face_window INTO STRICT limits FROM insp.partner p WHERE p.id = NEW.partner_id;
    -- A few that have run out, so that the table holds no more than the windows that run.
    DELETE FROM insp.face_rate r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.face_rate x WHERE x.since < now() - interval '1 day' ORDER BY x.since LIMIT 10
        FOR UPDATE SKIP LOCKED));
    INSERT INTO insp.face_rate AS r (partner_id, face_id, since, attempts) VALUES (NEW.partner_id, id, now(), 1)
    ON CONFLICT (partner_id, face_id) DO UPDATE
        SET since = CASE WHEN r.since <= now() - limits.face_window THEN now() ELSE r.since END,
            attempts = CASE WHEN r.since <= now() - limits.face_window THEN 1 ELSE r.attempts + 1 END
    RETURNING r.attempts INTO used;
    IF used > limits.face_attempts THEN
        -- The refusal takes the count back with it: who is refused does not make it worse.
        PERFORM insp.refuse('FACE_RATE_LIMITED', format('%s within %s', limits.face_attempts, limits.face_window));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_submitted() IS 'Notes a new job that names a face id, and refuses it where the face id had too many recently';
CREATE OR REPLACE TRIGGER face_submitted AFTER INSERT ON insp.job
    FOR EACH ROW WHEN (NEW.workflow IN ('authentication', 'enrollment')) EXECUTE FUNCTION insp.face_submitted();

CREATE OR REPLACE FUNCTION insp.face_of(p_job bigint, p_fence bigint)
RETURNS TABLE (generation bigint, mode text, engine text, model_sha256 text, feature text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence = p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    RETURN QUERY
    SELECT coalesce(f.generation, 0), coalesce(x.enrollment_mode, 'add'), t.engine, t.model_sha256, t.feature
    FROM insp.face_job j JOIN insp.job x ON x.id = j.job_id
        LEFT JOIN insp.face f ON f.partner_id = j.partner_id AND f.face_id = j.face_id
        LEFT JOIN insp.face_template t ON t.partner_id = f.partner_id AND t.face_id = f.face_id
    WHERE j.job_id = p_job ORDER BY t.id;
END
$$;
COMMENT ON FUNCTION insp.face_of(bigint, bigint) IS
    'The face id that a leased job names: its generation (0: not enrolled), the enrolment''s mode, and its templates, a row each, all of one moment; LEASE_LOST if the lease does not hold';
GRANT EXECUTE ON FUNCTION insp.face_of(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.check_feature(p_engine text, p_model_sha256 text, p_feature text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_engine IS NULL OR p_engine !~ '^[[:print:]]{1,100}$' OR p_model_sha256 IS NULL
        OR p_model_sha256 !~ '^[0-9a-f]{64}$' OR p_feature IS NULL
        OR length(p_feature) <> 1024 OR p_feature !~ '^[0-9a-f]+$' THEN
        PERFORM insp.refuse('FACE_FEATURE_INVALID');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_feature(text, text, text) IS 'Refuses what cannot be a feature with its engine and model';

CREATE OR REPLACE FUNCTION insp.face_stage(
    p_job bigint, p_fence bigint, p_generation bigint, p_engine text, p_model_sha256 text, p_feature text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    face insp.face_job;
BEGIN
    -- Locked, so that the lease cannot end between this look and the commit: nothing is left behind for a job that is over.
    PERFORM FROM insp.lease l WHERE l.job_id = p_job AND l.fence = p_fence FOR KEY SHARE;
    IF FOUND THEN
        -- A cancellation leaves a lease that is locked, and goes by the job.
        PERFORM FROM insp.job j WHERE j.id = p_job AND j.status < 128 FOR SHARE;
    END IF;
    IF FOUND THEN
        SELECT * INTO face FROM insp.face_job j WHERE j.job_id = p_job;
    END IF;
    IF face.job_id IS NULL THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    PERFORM insp.check_feature(p_engine, p_model_sha256, p_feature);
    INSERT INTO insp.face_pending AS f (job_id, partner_id, face_id, engine, model_sha256, feature)
    VALUES (p_job, face.partner_id, face.face_id, p_engine, p_model_sha256, p_feature)
    ON CONFLICT (partner_id, face_id) DO UPDATE SET engine = p_engine, model_sha256 = p_model_sha256, feature = p_feature
        WHERE f.job_id = p_job;
    -- After the insert: it waits for one that is being finished, and this sees what that left.
    IF NOT FOUND OR p_generation <> coalesce((SELECT f.generation FROM insp.face f
        WHERE f.partner_id = face.partner_id AND f.face_id = face.face_id), 0) THEN
        PERFORM insp.refuse('FACE_BUSY');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.face_stage(bigint, bigint, bigint, text, text, text) IS
    'Hands over the feature of a leased enrolment that was decided by a generation of the face id, to be kept if the job ends as PASSED or WARNING; FACE_BUSY if the face id has changed or is being enrolled by another job, LEASE_LOST if the lease does not hold';
GRANT EXECUTE ON FUNCTION insp.face_stage(bigint, bigint, bigint, text, text, text) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.face_finished() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    pending insp.face_pending;
    decision text;
    person bigint := NEW.person_id;
    reference constant bytea := insp.reference_index(insp.personal(NEW.personal, NEW.seal) ->> 'userReference');
    id constant text := insp.personal(NEW.personal, NEW.seal) ->> 'faceId';
BEGIN
    IF id IS NULL THEN
        RETURN NULL;
    END IF;
    DELETE FROM insp.face_job j WHERE j.job_id = NEW.id;
    INSERT INTO insp.face_named (job_id, partner_id, face_id) VALUES (NEW.id, NEW.partner_id, id);
    DELETE FROM insp.face_pending f WHERE f.job_id = NEW.id RETURNING * INTO pending;
    IF pending.job_id IS NOT NULL THEN
        SELECT s.summary #>> '{decision,type}' INTO decision FROM insp.step s WHERE s.job_id = NEW.id AND s.status = 128;
        IF decision IN ('PASSED', 'WARNING') THEN
            IF person IS NULL AND reference IS NOT NULL THEN
                -- Held by somebody when the job was accepted. A template is found by its person alone, so it waits for one here.
                INSERT INTO insp.person (partner_id, reference_index) VALUES (NEW.partner_id, reference) ON CONFLICT DO NOTHING;
                SELECT p.id INTO person FROM insp.person p
                WHERE p.partner_id = NEW.partner_id AND p.reference_index = reference FOR KEY SHARE;
            END IF;
            PERFORM insp.face_keep(NEW.partner_id, id, NEW.enrollment_mode = 'replace',
                pending.engine, pending.model_sha256, pending.feature, NEW.public_id, person);
        END IF;
    END IF;
    PERFORM insp.remove_parts(ARRAY[NEW.id]);
    DELETE FROM insp.step s WHERE s.job_id = NEW.id AND s.status < 128;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_finished() IS
    'Ends a job that names a face id, whatever way it reached 128: keeps the feature that it handed over or drops it, and removes its picture and stages';
CREATE OR REPLACE TRIGGER face_finished AFTER UPDATE OF status ON insp.job
    FOR EACH ROW WHEN (NEW.status = 128 AND OLD.status < 128 AND NEW.workflow IN ('authentication', 'enrollment'))
    EXECUTE FUNCTION insp.face_finished();

CREATE OR REPLACE FUNCTION insp.face_keep(
    p_partner integer, p_face text, p_replace boolean, p_engine text, p_model_sha256 text, p_feature text, p_job uuid,
    p_person bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    template bigint;
    former bigint;
BEGIN
    -- The face's row first, as everything that changes its templates has it.
    SELECT f.person_id INTO former FROM insp.face f WHERE f.partner_id = p_partner AND f.face_id = p_face FOR UPDATE;
    INSERT INTO insp.face AS f (partner_id, face_id, person_id) VALUES (p_partner, p_face, p_person)
    ON CONFLICT (partner_id, face_id) DO UPDATE SET generation = f.generation + 1, changed_at = now(),
        person_id = coalesce(p_person, f.person_id);
    IF former <> p_person THEN
        PERFORM insp.forget_persons(ARRAY[former]);
    END IF;
    IF p_replace THEN
        DELETE FROM insp.face_template t WHERE t.partner_id = p_partner AND t.face_id = p_face;
    END IF;
    INSERT INTO insp.face_template (partner_id, face_id, engine, model_sha256, feature, job)
    VALUES (p_partner, p_face, p_engine, p_model_sha256, p_feature, p_job) RETURNING id INTO template;
    DELETE FROM insp.face_template t WHERE t.id IN (
        SELECT x.id FROM insp.face_template x WHERE x.partner_id = p_partner AND x.face_id = p_face
        ORDER BY x.id DESC OFFSET (SELECT p.face_templates FROM insp.partner p WHERE p.id = p_partner));
    RETURN template;
END
$$;
COMMENT ON FUNCTION insp.face_keep(integer, text, boolean, text, text, text, uuid, bigint) IS
    'Adds a template to a face, in place of the others if asked so, and drops the oldest beyond the partner''s limit';

CREATE OR REPLACE FUNCTION insp.face_forget(p_templates bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    face record;
    removed integer := 0;
    n integer;
    persons bigint[] := '{}'::bigint[];
BEGIN
    FOR face IN
        SELECT f.partner_id, f.face_id, f.person_id FROM insp.face f WHERE EXISTS (SELECT FROM insp.face_template t
            WHERE t.partner_id = f.partner_id AND t.face_id = f.face_id AND t.id = ANY (p_templates))
        ORDER BY f.partner_id, f.face_id FOR UPDATE
    LOOP
        DELETE FROM insp.face_template t
        WHERE t.partner_id = face.partner_id AND t.face_id = face.face_id AND t.id = ANY (p_templates);
        GET DIAGNOSTICS n = ROW_COUNT;
        removed := removed + n;
        IF EXISTS (SELECT FROM insp.face_template t WHERE t.partner_id = face.partner_id AND t.face_id = face.face_id) THEN
            UPDATE insp.face f SET generation = f.generation + 1, changed_at = now()
            WHERE f.partner_id = face.partner_id AND f.face_id = face.face_id;
        ELSE
            DELETE FROM insp.face f WHERE f.partner_id = face.partner_id AND f.face_id = face.face_id;
            persons := persons || face.person_id;
        END IF;
    END LOOP;
    PERFORM insp.forget_persons(persons);
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.face_forget(bigint[]) IS 'Removes templates, and faces that have none left; returns how many templates';

CREATE OR REPLACE FUNCTION insp.face_import(
    partner text, face_id text, feature text, engine text, model_sha256 text, "replace" boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF face_import.face_id IS NULL OR face_import.face_id !~ '^[[:print:]]{1,100}$' THEN
        PERFORM insp.refuse('FACE_ID_INVALID');
    END IF;
    PERFORM insp.check_feature(face_import.engine, face_import.model_sha256, face_import.feature);
    RETURN insp.face_keep(insp.partner_number(face_import.partner), face_import.face_id, face_import."replace",
        face_import.engine, face_import.model_sha256, face_import.feature, NULL);
END
$$;
COMMENT ON FUNCTION insp.face_import(text, text, text, text, text, boolean) IS
    'Enrols a feature that an engine of the same name and model made elsewhere; returns the template''s number';
GRANT EXECUTE ON FUNCTION insp.face_import(text, text, text, text, text, boolean) TO insp_producer;

CREATE OR REPLACE FUNCTION insp.face_features(partner text, face_id text)
RETURNS TABLE (template bigint, engine text, model_sha256 text, feature text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT t.id, t.engine, t.model_sha256, t.feature FROM insp.face_template t
    WHERE t.partner_id = insp.partner_number(face_features.partner) AND t.face_id = face_features.face_id ORDER BY t.id
$$;
COMMENT ON FUNCTION insp.face_features(text, text) IS
    'The features enrolled under a face id, for the partner''s side alone: biometric data';
GRANT EXECUTE ON FUNCTION insp.face_features(text, text) TO insp_producer;

CREATE OR REPLACE FUNCTION insp.face_templates(partner text, face_id text)
RETURNS TABLE (template bigint, engine text, model_sha256 text, job uuid, created_at timestamptz, generation bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT t.id, t.engine, t.model_sha256, t.job, t.created_at, f.generation
    FROM insp.face f JOIN insp.face_template t ON t.partner_id = f.partner_id AND t.face_id = f.face_id
    WHERE f.partner_id = insp.partner_number(face_templates.partner) AND f.face_id = face_templates.face_id ORDER BY t.id
$$;
COMMENT ON FUNCTION insp.face_templates(text, text) IS 'What is enrolled under a face id, without the features';
GRANT EXECUTE ON FUNCTION insp.face_templates(text, text) TO insp_producer, insp_operator;

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
    'The face SDK''s event of a finished enrolment, authentication or liveness job, whatever way it ended: type, status, code, result, error (insp.face_outcome); null: not finished, or another workflow';
GRANT EXECUTE ON FUNCTION insp.face_event(uuid) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.face_delete(partner text, face_id text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    owner constant integer := insp.partner_number(face_delete.partner);
    open bigint[];
    ended integer := 0;
    removed integer;
    persons bigint[];
BEGIN
    -- The jobs first, as everything that finishes jobs has it. One that is being finished at this moment is waited for, and
    -- what it keeps is found below.
    SELECT array_agg(j.job_id ORDER BY j.job_id) INTO open FROM insp.face_job j
    WHERE j.partner_id = owner AND j.face_id = face_delete.face_id;
    IF open IS NOT NULL THEN
        ended := insp.end_unclaimed(open, 'FACE_DELETED', NULL);
    END IF;
    -- No request names it any more.
    open := ARRAY(SELECT n.job_id FROM insp.face_named n WHERE n.partner_id = owner AND n.face_id = face_delete.face_id);
    PERFORM FROM insp.job j WHERE j.id = ANY (open) ORDER BY j.id FOR NO KEY UPDATE;
    UPDATE insp.job j SET personal = insp.personal_bytes(insp.personal(j.personal, j.seal) - 'faceId') WHERE j.id = ANY (open);
    DELETE FROM insp.face_named n WHERE n.job_id = ANY (open);
    persons := ARRAY(SELECT f.person_id FROM insp.face f
        WHERE f.partner_id = owner AND f.face_id = face_delete.face_id FOR UPDATE);
    DELETE FROM insp.face_template t WHERE t.partner_id = owner AND t.face_id = face_delete.face_id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM insp.face f WHERE f.partner_id = owner AND f.face_id = face_delete.face_id;
    PERFORM insp.forget_persons(persons);
    DELETE FROM insp.face_rate r WHERE r.partner_id = owner AND r.face_id = face_delete.face_id;
    -- The face id is a person's: the record says that it was done, not to whom.
    PERFORM insp.record('face_delete', 'partner ' || face_delete.partner,
        jsonb_build_object('templates', removed, 'jobs', ended));
    RETURN jsonb_build_object('templates', removed, 'jobs', ended, 'deletedAt', insp.iso_time(clock_timestamp()));
END
$$;
COMMENT ON FUNCTION insp.face_delete(text, text) IS
    'Deletes a partner''s face id with all its templates, and ends its waiting and running jobs as FACE_DELETED. Returns how many templates and jobs; 0 and 0: there was nothing';
GRANT EXECUTE ON FUNCTION insp.face_delete(text, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.face_purge(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    due bigint[];
    free bigint[];
BEGIN
    -- The windows that are over, so that the ids do not wait for the next job that names one.
    DELETE FROM insp.face_rate r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.face_rate x
        WHERE x.since <= now() - (SELECT p.face_window FROM insp.partner p WHERE p.id = x.partner_id)
        ORDER BY x.since LIMIT p_limit FOR UPDATE SKIP LOCKED));
    due := ARRAY(
        SELECT t.id FROM insp.partner p, LATERAL (
            SELECT x.id FROM insp.face_template x
            WHERE x.partner_id = p.id AND x.created_at <= now() - p.keep_faces
            ORDER BY x.created_at LIMIT p_limit) t
        WHERE p.keep_faces IS NOT NULL LIMIT p_limit);
    IF due = '{}' THEN
        RETURN 0;
    END IF;
    -- A face that somebody holds is left for the next time.
    WITH faces AS MATERIALIZED (
        SELECT f.partner_id, f.face_id FROM insp.face f
        WHERE (f.partner_id, f.face_id) IN (SELECT t.partner_id, t.face_id FROM insp.face_template t WHERE t.id = ANY (due))
        FOR UPDATE SKIP LOCKED
    )
    SELECT array_agg(t.id) INTO free FROM insp.face_template t JOIN faces f USING (partner_id, face_id) WHERE t.id = ANY (due);
    RETURN insp.face_forget(free);
END
$$;
COMMENT ON FUNCTION insp.face_purge(integer) IS
    'Retention, run by maintenance: removes templates that are older than their partner keeps them; returns how many';
GRANT EXECUTE ON FUNCTION insp.face_purge(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.set_face_limits(
    partner text, templates integer DEFAULT NULL, attempts integer DEFAULT NULL, "window" interval DEFAULT NULL,
    keep interval DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_face_limits.partner);
    kept record;
BEGIN
    UPDATE insp.partner p SET face_templates = coalesce(set_face_limits.templates, p.face_templates),
        face_attempts = coalesce(set_face_limits.attempts, p.face_attempts),
        face_window = coalesce(set_face_limits."window", p.face_window),
        keep_faces = coalesce(set_face_limits.keep, p.keep_faces)
    WHERE p.id = was.id
    RETURNING p.face_templates AS templates, p.face_attempts AS attempts, p.face_window AS span,
        p.keep_faces AS keep INTO kept;
    PERFORM insp.record_partner('set_face_limits', was);
    RETURN format('partner %s: %s templates a face id, %s attempts in %s, kept %s', set_face_limits.partner, kept.templates,
        kept.attempts, kept.span, coalesce('for ' || kept.keep, 'until deleted'));
END
$$;
COMMENT ON FUNCTION insp.set_face_limits(text, integer, integer, interval, interval) IS
    'Sets how many templates a partner''s face id may have, how many enrolments and authentications of it are accepted within a time, and how long templates are kept';
GRANT EXECUTE ON FUNCTION insp.set_face_limits(text, integer, integer, interval, interval) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_faces AS
SELECT p.name AS partner, count(DISTINCT t.face_id) AS faces, count(*) AS templates, t.engine, t.model_sha256,
    min(t.created_at) AS oldest, max(t.created_at) AS newest
FROM insp.face_template t JOIN insp.partner p ON p.id = t.partner_id
GROUP BY p.name, t.engine, t.model_sha256;
COMMENT ON VIEW insp.v_faces IS 'How many faces partners have enrolled, by engine: those of an engine that is gone must be enrolled anew';
COMMENT ON COLUMN insp.v_faces.partner IS 'Whose';
COMMENT ON COLUMN insp.v_faces.faces IS 'Face ids with a template of the engine';
COMMENT ON COLUMN insp.v_faces.templates IS 'Templates';
COMMENT ON COLUMN insp.v_faces.engine IS 'The engine';
COMMENT ON COLUMN insp.v_faces.model_sha256 IS 'Its model';
COMMENT ON COLUMN insp.v_faces.oldest IS 'First enrolment';
COMMENT ON COLUMN insp.v_faces.newest IS 'Last enrolment';
GRANT SELECT ON insp.v_faces TO insp_operator, insp_auditor;
