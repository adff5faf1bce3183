-- Faces that partners enrol: templates under the partner's own face ids, for 1:1 comparison by the workflow authentication.

CREATE OR REPLACE FUNCTION insp.face_ids(p_partner integer, p_index bytea) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT ARRAY(
        SELECT f.face_id FROM insp.face f
        WHERE f.partner_id = p_partner AND sha256(replace(f.face_id, '\', '\\')::bytea) = p_index
        UNION SELECT j.face_id FROM insp.face_job j
        WHERE j.partner_id = p_partner AND sha256(replace(j.face_id, '\', '\\')::bytea) = p_index
        UNION SELECT n.face_id FROM insp.face_named n
        WHERE n.partner_id = p_partner AND sha256(replace(n.face_id, '\', '\\')::bytea) = p_index)
$$;
COMMENT ON FUNCTION insp.face_ids(integer, bytea) IS
    'The face id with this SHA-256 that a face or a job of the partner has: programs keep the id itself out of the server''s log';

CREATE OR REPLACE FUNCTION insp.check_embedding(p_engine text, p_model_sha256 text, p_embedding text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_engine IS NULL OR p_engine !~ '^[[:print:]]{1,100}$' OR p_model_sha256 IS NULL
        OR p_model_sha256 !~ '^[0-9a-f]{64}$' OR p_embedding IS NULL
        OR p_embedding !~ '^([0-9a-f]{128}){8}$' AND p_embedding !~ '^01([0-9a-f]{139}){8}$' THEN
        PERFORM insp.refuse('FACE_FEATURE_INVALID');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_embedding(text, text, text) IS 'Refuses an invalid embedding, engine or model';

CREATE OR REPLACE FUNCTION insp.embedding_key(p_embedding text) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN length(p_embedding) = 1114 THEN substr(p_embedding, 3, 32)::uuid END $$;
COMMENT ON FUNCTION insp.embedding_key(text) IS 'The key that sealed an embedding; null: it is not sealed';

CREATE OR REPLACE FUNCTION insp.templates_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    keys uuid[];
    partners integer[];
BEGIN
    SELECT array_agg(g.key_id), array_agg(g.partner_id) INTO keys, partners FROM gone g WHERE g.key_id IS NOT NULL;
    IF keys IS NOT NULL THEN
        PERFORM insp.list_keys(keys, partners);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.templates_gone() IS 'Lists the keys of removed or replaced embeddings in insp.key_gone, by any statement that removes them';
CREATE OR REPLACE TRIGGER templates_gone AFTER DELETE ON insp.face_template
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();
CREATE OR REPLACE TRIGGER pending_gone AFTER DELETE ON insp.face_pending
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();
-- Another attempt of the same job has another embedding.
CREATE OR REPLACE TRIGGER pending_replaced AFTER UPDATE ON insp.face_pending
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();

CREATE OR REPLACE FUNCTION insp.face_keep(
    p_partner integer, p_face text, p_replace boolean, p_engine text, p_model_sha256 text, p_embedding text, p_job uuid,
    p_person bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    template bigint;
    former bigint;
BEGIN
    -- The face's row first: all changes of templates lock in this order.
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
    INSERT INTO insp.face_template (partner_id, face_id, engine, model_sha256, embedding, key_id, job)
    VALUES (p_partner, p_face, p_engine, p_model_sha256, p_embedding, insp.embedding_key(p_embedding), p_job) RETURNING id INTO template;
    DELETE FROM insp.face_template t WHERE t.id IN (
        SELECT x.id FROM insp.face_template x WHERE x.partner_id = p_partner AND x.face_id = p_face
        ORDER BY x.id DESC OFFSET (SELECT p.face_templates FROM insp.partner p WHERE p.id = p_partner));
    RETURN template;
END
$$;
COMMENT ON FUNCTION insp.face_keep(integer, text, boolean, text, text, text, uuid, bigint) IS
    'Adds a template to a face or, if requested, replaces the others, and drops the oldest beyond the partner''s limit';

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

CREATE OR REPLACE FUNCTION insp.check_face_owner(p_partner integer, p_face text, p_reference bytea) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM insp.face f JOIN insp.person p ON p.id = f.person_id
        WHERE f.partner_id = p_partner AND f.face_id = p_face AND p.reference_index <> p_reference) THEN
        PERFORM insp.refuse('FACE_TAKEN', p_field => 'faceId');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_face_owner(integer, text, bytea) IS
    'Refuses a face that is enrolled for a different person from the reference''s; a null reference, or a face without a person, is accepted';

CREATE OR REPLACE FUNCTION insp.face_import(
    partner text, face_id text, feature text, engine text, model_sha256 text, "replace" boolean DEFAULT false,
    user_reference text DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- A request of the same person, or a job that enrols the face, may be in a transaction that stays open.
SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    owner constant integer := insp.partner_number(face_import.partner);
    reference constant bytea := insp.reference_index(face_import.user_reference);
    template bigint;
BEGIN
    IF face_import.face_id IS NULL OR face_import.face_id !~ '^[[:print:]]{1,100}$' THEN
        PERFORM insp.refuse('FACE_ID_INVALID');
    ELSIF length(face_import.user_reference) > 100 THEN
        PERFORM insp.refuse('IDENTIFIER_TOO_LONG', 'user_reference');
    ELSIF face_import.user_reference = '' THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'user_reference is empty', 'Leave it out where there is none.');
    END IF;
    PERFORM insp.check_embedding(face_import.engine, face_import.model_sha256, face_import.feature);
    -- Takes the place of an enrolment: one under way was decided on the templates and the person that it has read.
    INSERT INTO insp.face_pending (partner_id, face_id, engine, model_sha256, embedding, key_id)
    VALUES (owner, face_import.face_id, face_import.engine, face_import.model_sha256, face_import.feature,
        insp.embedding_key(face_import.feature))
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM insp.refuse('FACE_BUSY');
    ELSIF NOT face_import."replace" THEN
        PERFORM insp.check_face_owner(owner, face_import.face_id, reference);
    END IF;
    template := insp.face_keep(owner, face_import.face_id, face_import."replace", face_import.engine,
        face_import.model_sha256, face_import.feature, NULL, insp.person_of(owner, reference));
    DELETE FROM insp.face_pending f WHERE f.partner_id = owner AND f.face_id = face_import.face_id;
    RETURN template;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_import(text, text, text, text, text, boolean, text) IS
    'Enrols an embedding computed elsewhere by an engine of the same name and model, for the person of a userReference; without one insp.erase_person does not find it. Returns the template''s number; FACE_TAKEN if the face is another person''s and is not replaced, FACE_BUSY while a job is enrolling it, ROW_LOCKED if another transaction holds the face or the person for five seconds';
GRANT EXECUTE ON FUNCTION insp.face_import(text, text, text, text, text, boolean, text) TO insp_producer;

CREATE OR REPLACE FUNCTION insp.face_features(partner text, face_id text, purpose text DEFAULT NULL)
RETURNS TABLE (template bigint, engine text, model_sha256 text, feature text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Templates leave for good: the partner itself is asked as well.
    SELECT insp.record_search('face_features', face_features.partner, face_features.purpose, true);
    SELECT t.id, t.engine, t.model_sha256, t.embedding FROM insp.face_template t
    WHERE t.partner_id = insp.partner_number(face_features.partner) AND t.face_id = face_features.face_id ORDER BY t.id
$$;
COMMENT ON FUNCTION insp.face_features(text, text, text) IS
    'The embeddings enrolled under a face id, for the partner only: biometric data. Sealed ones have 1,114 digits, which begin with 01. Needs a purpose (export or delivery, review or support), which is recorded';
GRANT EXECUTE ON FUNCTION insp.face_features(text, text, text) TO insp_producer;

CREATE OR REPLACE FUNCTION insp.face_templates(partner text, face_id text, purpose text DEFAULT NULL)
RETURNS TABLE (template bigint, engine text, model_sha256 text, job uuid, created_at timestamptz, generation bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT insp.record_search('face_templates', face_templates.partner, face_templates.purpose, insp.needs_purpose());
    SELECT t.id, t.engine, t.model_sha256, t.job, t.created_at, f.generation
    FROM insp.face f JOIN insp.face_template t ON t.partner_id = f.partner_id AND t.face_id = f.face_id
    WHERE f.partner_id = insp.partner_number(face_templates.partner) AND f.face_id = face_templates.face_id ORDER BY t.id
$$;
COMMENT ON FUNCTION insp.face_templates(text, text, text) IS
    'The templates of a face id, without the embeddings. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.face_templates(text, text, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.lock_face_jobs(p_partner integer, p_faces text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '5s' SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM FROM insp.job j WHERE j.id = ANY (ARRAY(
        SELECT n.job_id FROM insp.face_named n WHERE n.partner_id = p_partner AND n.face_id = ANY (p_faces)
        UNION SELECT f.job_id FROM insp.face_job f WHERE f.partner_id = p_partner AND f.face_id = ANY (p_faces)))
    ORDER BY j.id FOR NO KEY UPDATE;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.lock_face_jobs(integer, text[]) IS
    'Locks the jobs that specify a face, finished or not, in the order of their numbers; erasures lock in the same order';

CREATE OR REPLACE FUNCTION insp.face_remove(partner text, face_id text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    owner constant integer := insp.partner_number(face_remove.partner);
    open bigint[];
    ended integer := 0;
    removed integer;
    persons bigint[];
BEGIN
    -- The jobs first: everything that finishes jobs locks in this order. This waits for a job being finished, and finds its
    -- template below.
    PERFORM insp.lock_face_jobs(owner, ARRAY[face_remove.face_id]);
    SELECT array_agg(j.job_id ORDER BY j.job_id) INTO open FROM insp.face_job j
    WHERE j.partner_id = owner AND j.face_id = face_remove.face_id;
    IF open IS NOT NULL THEN
        ended := insp.end_unclaimed(open, 'FACE_DELETED', NULL);
    END IF;
    -- Removes it from all requests.
    open := ARRAY(SELECT n.job_id FROM insp.face_named n WHERE n.partner_id = owner AND n.face_id = face_remove.face_id);
    PERFORM FROM insp.job j WHERE j.id = ANY (open) ORDER BY j.id FOR NO KEY UPDATE;
    UPDATE insp.job j SET personal = insp.personal_bytes(insp.readable_personal(j.personal) - 'faceId') WHERE j.id = ANY (open);
    DELETE FROM insp.face_named n WHERE n.job_id = ANY (open);
    persons := ARRAY(SELECT f.person_id FROM insp.face f
        WHERE f.partner_id = owner AND f.face_id = face_remove.face_id FOR UPDATE);
    DELETE FROM insp.face_template t WHERE t.partner_id = owner AND t.face_id = face_remove.face_id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM insp.face f WHERE f.partner_id = owner AND f.face_id = face_remove.face_id;
    PERFORM insp.list_persons(owner, ARRAY[insp.reference_index(face_remove.face_id)], true);
    PERFORM insp.forget_persons(persons);
    DELETE FROM insp.face_rate r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.face_rate x WHERE x.partner_id = owner AND x.face_id = face_remove.face_id
        FOR UPDATE SKIP LOCKED));
    -- The face id is personal data: the record has the deletion, not the id.
    PERFORM insp.record('face_delete', 'partner ' || face_remove.partner,
        jsonb_build_object('templates', removed, 'jobs', ended));
    RETURN jsonb_build_object('templates', removed, 'jobs', ended, 'deletedAt', insp.iso_time(clock_timestamp()));
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.face_remove(text, text) IS 'insp.face_delete for one spelling of a face id';

CREATE OR REPLACE FUNCTION insp.faces_remove(p_partner text, p_faces text[]) RETURNS jsonb
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT insp.lock_face_jobs(insp.partner_number(p_partner), p_faces);
    SELECT jsonb_build_object('templates', sum((d ->> 'templates')::integer), 'jobs', sum((d ->> 'jobs')::integer),
        'deletedAt', max(d ->> 'deletedAt'))
    FROM unnest(p_faces) AS n, LATERAL insp.face_remove(p_partner, n) AS d
$$;
COMMENT ON FUNCTION insp.faces_remove(text, text[]) IS 'insp.face_delete for all spellings of a face id';

CREATE OR REPLACE FUNCTION insp.face_delete(partner text, face_id text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
    IF EXISTS (SELECT FROM insp.custody) THEN
        RAISE WARNING 'faces of sealed jobs are found by inspectd face delete alone';
    END IF;
    RETURN insp.face_remove(face_delete.partner, face_delete.face_id);
END
$$;
COMMENT ON FUNCTION insp.face_delete(text, text) IS
    'Deletes a partner''s face id with all its templates and their keys, and ends its waiting and running jobs as FACE_DELETED. Results of its finished jobs stay until their retention, without the face id. Returns how many templates and jobs; 0 and 0: there was nothing. ROW_LOCKED if another transaction holds one of its rows for five seconds';
GRANT EXECUTE ON FUNCTION insp.face_delete(text, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.sealed_face_delete(partner text, pseudonym text, face_index bytea) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
    SELECT insp.faces_remove(sealed_face_delete.partner, sealed_face_delete.pseudonym
        || insp.face_ids(insp.partner_number(sealed_face_delete.partner), sealed_face_delete.face_index))
$$;
COMMENT ON FUNCTION insp.sealed_face_delete(text, text, bytea) IS
    'insp.face_delete for a face id that has this pseudonym in sealed jobs and this SHA-256 in plain ones';
GRANT EXECUTE ON FUNCTION insp.sealed_face_delete(text, text, bytea) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.sealed_face_templates(partner text, pseudonym text, face_index bytea, purpose text DEFAULT NULL)
RETURNS TABLE (template bigint, engine text, model_sha256 text, job uuid, created_at timestamptz, generation bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT t.* FROM unnest(sealed_face_templates.pseudonym
            || insp.face_ids(insp.partner_number(sealed_face_templates.partner), sealed_face_templates.face_index)) AS n,
        LATERAL insp.face_templates(sealed_face_templates.partner, n, sealed_face_templates.purpose) AS t
$$;
COMMENT ON FUNCTION insp.sealed_face_templates(text, text, bytea, text) IS
    'insp.face_templates for a face id that has this pseudonym in sealed jobs and this SHA-256 in plain ones';
GRANT EXECUTE ON FUNCTION insp.sealed_face_templates(text, text, bytea, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.face_purge(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    due bigint[];
    free bigint[];
    counts jsonb;
    removed integer;
BEGIN
    PERFORM insp.need_read_committed();
    -- Expired windows, so that their ids are not kept until the next job with a face id.
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
    -- A face whose row is held is left for the next round.
    WITH faces AS MATERIALIZED (
        SELECT f.partner_id, f.face_id FROM insp.face f
        WHERE (f.partner_id, f.face_id) IN (SELECT t.partner_id, t.face_id FROM insp.face_template t WHERE t.id = ANY (due))
        FOR UPDATE SKIP LOCKED
    )
    SELECT array_agg(t.id) INTO free FROM insp.face_template t JOIN faces f USING (partner_id, face_id) WHERE t.id = ANY (due);
    SELECT jsonb_object_agg(p.name, jsonb_build_object('templates', n.templates)) INTO counts
    FROM (SELECT t.partner_id, count(*) AS templates FROM insp.face_template t WHERE t.id = ANY (free) GROUP BY t.partner_id) n
        JOIN insp.partner p ON p.id = n.partner_id;
    removed := insp.face_forget(free);
    IF removed > 0 THEN
        PERFORM insp.record('face_purge', 'retention', jsonb_build_object('templates', removed, 'partners', counts));
    END IF;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.face_purge(integer) IS
    'Retention, run by maintenance: removes templates older than their partner''s period; returns how many';
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
    PERFORM insp.need_approval('set_face_limits');
    PERFORM insp.check_keep('PARTNER_INVALID', 'keep', set_face_limits.keep);
    PERFORM insp.require((set_face_limits.templates BETWEEN 1 AND 20) IS NOT FALSE AND (set_face_limits.attempts > 0) IS NOT FALSE
            AND (set_face_limits."window" > '0' AND set_face_limits."window" <= '1 day'
                AND insp.is_length(set_face_limits."window")) IS NOT FALSE, 'templates, attempts or window',
        'templates is 1 to 20, attempts is at least 1, window is above 0 and at most a day, without a negative part.', 'PARTNER_INVALID');
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
COMMENT ON VIEW insp.v_faces IS 'How many faces partners have enrolled, by engine: those of an engine no longer in use must be enrolled again';
COMMENT ON COLUMN insp.v_faces.partner IS 'The partner';
COMMENT ON COLUMN insp.v_faces.faces IS 'Face ids with a template of the engine';
COMMENT ON COLUMN insp.v_faces.templates IS 'Templates';
COMMENT ON COLUMN insp.v_faces.engine IS 'The engine';
COMMENT ON COLUMN insp.v_faces.model_sha256 IS 'Its model';
COMMENT ON COLUMN insp.v_faces.oldest IS 'First enrolment';
COMMENT ON COLUMN insp.v_faces.newest IS 'Last enrolment';
GRANT SELECT ON insp.v_faces TO insp_operator, insp_auditor;
