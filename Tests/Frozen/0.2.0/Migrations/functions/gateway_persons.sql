-- After: gateway_jobs
-- The gateway's calls about faces and persons. With a key store, a face id is passed as its pseudonym and its SHA-256, which finds it
-- in plain jobs; a reference as the indexes (insp.reference_index) of both spellings. So the server's log has neither.

CREATE OR REPLACE FUNCTION insp.gateway_face_ids(p_partner integer, p_face text, p_index bytea) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(coalesce(length(p_face) BETWEEN 1 AND 100, false), 'the name', 'A name has 1 to 100 characters.');
    IF p_index IS NULL THEN
        RETURN ARRAY[p_face];
    END IF;
    PERFORM insp.check_indexes(ARRAY[p_index]);
    RETURN p_face || insp.face_ids(p_partner, p_index);
END
$$;
COMMENT ON FUNCTION insp.gateway_face_ids(integer, text, bytea) IS
    'A face id as sealed jobs store it, and, found by its index, as plain jobs do; null: nothing is sealed';

CREATE OR REPLACE FUNCTION insp.gateway_face(
    p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'faces');
    faces constant text[] := insp.gateway_face_ids(number, p_face, p_index);
    templates jsonb;
BEGIN
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('engine', t.engine, 'modelSHA256', t.model_sha256, 'job', t.job,
        'createdAt', insp.iso_time(t.created_at))) ORDER BY t.id)
    INTO templates FROM insp.face_template t WHERE t.partner_id = number AND t.face_id = ANY (faces);
    IF templates IS NULL THEN
        PERFORM insp.refuse('FACE_NOT_ENROLLED');
    END IF;
    -- A face id is personal data: the record has the reading, not the id.
    PERFORM insp.record_access(p_credential, 'face', 'faces', NULL, jsonb_build_object('templates', jsonb_array_length(templates)));
    RETURN templates;
END
$$;
COMMENT ON FUNCTION insp.gateway_face(bigint, bytea, text, bytea) IS 'The templates of a face id of a credential''s partner, without the embeddings';
GRANT EXECUTE ON FUNCTION insp.gateway_face(bigint, bytea, text, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_face_delete(
    p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'faces');
    gone jsonb;
BEGIN
    SELECT insp.faces_remove(p.name, insp.gateway_face_ids(number, p_face, p_index)) INTO gone FROM insp.partner p WHERE p.id = number;
    PERFORM insp.record_access(p_credential, 'face_delete', 'faces', NULL, gone - 'deletedAt');
    RETURN gone;
END
$$;
COMMENT ON FUNCTION insp.gateway_face_delete(bigint, bytea, text, bytea) IS 'insp.face_delete for a face id of a credential''s partner';
GRANT EXECUTE ON FUNCTION insp.gateway_face_delete(bigint, bytea, text, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_erase(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'persons');
    erased integer;
BEGIN
    PERFORM insp.check_indexes(p_indexes);
    PERFORM insp.lock_person(number, p_indexes);
    SELECT sum(insp.erase_by_index(p.name, i)) INTO erased FROM insp.partner p CROSS JOIN unnest(p_indexes) i WHERE p.id = number;
    PERFORM insp.record_access(p_credential, 'erase', 'persons', NULL, jsonb_build_object('jobs', erased));
    RETURN erased;
END
$$;
COMMENT ON FUNCTION insp.gateway_erase(bigint, bytea, bytea[]) IS
    'insp.erase_person for a person of a credential''s partner; returns how many jobs, each with its chain of reruns';
GRANT EXECUTE ON FUNCTION insp.gateway_erase(bigint, bytea, bytea[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_withdraw(
    p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], OUT cancelled integer, OUT erased integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'persons');
BEGIN
    PERFORM insp.check_indexes(p_indexes);
    PERFORM insp.lock_person(number, p_indexes);
    SELECT coalesce(sum(w.cancelled), 0), coalesce(sum(w.erased), 0) INTO cancelled, erased
    FROM insp.partner p CROSS JOIN unnest(p_indexes) i CROSS JOIN LATERAL insp.withdraw_by_index(p.name, i) w WHERE p.id = number;
    PERFORM insp.record_access(p_credential, 'withdraw', 'persons', NULL, jsonb_build_object('cancelled', cancelled, 'jobs', erased));
END
$$;
COMMENT ON FUNCTION insp.gateway_withdraw(bigint, bytea, bytea[]) IS
    'insp.withdraw_person for a person of a credential''s partner; returns how many jobs were cancelled and erased';
GRANT EXECUTE ON FUNCTION insp.gateway_withdraw(bigint, bytea, bytea[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_withdraw_job(p_credential bigint, p_secret_sha256 bytea, p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    j constant insp.job := insp.gateway_job(insp.gateway_partner(p_credential, p_secret_sha256, 'persons'), p_id);
    is_withdrawn constant boolean := insp.withdraw_consent(j.public_id);
BEGIN
    PERFORM insp.record_access(p_credential, 'withdraw', 'persons', j.public_id);
    RETURN is_withdrawn;
END
$$;
COMMENT ON FUNCTION insp.gateway_withdraw_job(bigint, bytea, uuid) IS
    'insp.withdraw_consent for a job of a credential''s partner; false: there was nothing to stop and nothing to remove';
GRANT EXECUTE ON FUNCTION insp.gateway_withdraw_job(bigint, bytea, uuid) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_export(
    p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], p_after uuid DEFAULT NULL, p_limit integer DEFAULT 20
) RETURNS TABLE (id uuid, document jsonb, sealed bytea, body bytea, partner_id integer, personal jsonb, parts jsonb, notes jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'persons');
    before bigint := 9223372036854775807;
    numbers bigint[];
    j insp.job;
BEGIN
    PERFORM insp.check_indexes(p_indexes);
    PERFORM insp.require(p_limit BETWEEN 1 AND 100, 'limit', 'limit is 1 to 100.', p_field => 'limit');
    IF p_after IS NOT NULL THEN
        SELECT x.id INTO before FROM insp.job x WHERE x.public_id = p_after AND x.partner_id = number;
        PERFORM insp.require(FOUND, 'after is not a job''s id', 'Send next of the last page, or begin again without after.', p_field => 'after');
    END IF;
    SELECT array_agg(DISTINCT u.job) INTO numbers
    FROM unnest(p_indexes) i, LATERAL unnest(insp.jobs_of_person(number, i, (
        SELECT k.id FROM insp.person k WHERE k.partner_id = number AND k.reference_index = i))) AS u (job);
    FOR j IN SELECT x.* FROM insp.job x WHERE x.id = ANY (numbers) AND x.id < before ORDER BY x.id DESC LIMIT p_limit LOOP
        id := j.public_id;
        SELECT r.document, r.sealed, r.body, r.partner_id INTO document, sealed, body, partner_id FROM insp.sealed_document(j) r;
        -- What is sealed comes out of the sealed values.
        personal := CASE WHEN j.key_id IS NULL THEN insp.readable_personal(j.personal) END;
        parts := (SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', p.kind, 'ordinal', p.ordinal, 'size', p.size))
            ORDER BY p.kind, p.ordinal) FROM insp.part p WHERE p.job_id = j.id);
        -- Not who wrote them: that is the operators' own.
        notes := (SELECT jsonb_agg(jsonb_build_object('at', insp.iso_time(r.at), 'text', r.words -> 'note') ORDER BY r.id)
            FROM insp.record r WHERE r.chain <> 'access' AND r.subject = j.public_id::text AND r.words ? 'note');
        PERFORM insp.record_access(p_credential, 'export', 'persons', j.public_id);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.gateway_export(bigint, bytea, bytea[], uuid, integer) IS
    'All jobs of a person of a credential''s partner, newest first, from after a job on: results as insp.sealed_result returns them, the person''s data in the request, the parts, and notes. Each is recorded';
GRANT EXECUTE ON FUNCTION insp.gateway_export(bigint, bytea, bytea[], uuid, integer) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_person_faces(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'persons');
    faces jsonb;
BEGIN
    PERFORM insp.check_indexes(p_indexes);
    faces := (SELECT coalesce(jsonb_agg(f.face ORDER BY f.face_id), '[]') FROM (
        SELECT f.face_id, jsonb_strip_nulls(jsonb_build_object(
            -- Of a sealed face the database has a pseudonym.
            'faceId', CASE WHEN bool_and(t.key_id IS NULL) THEN f.face_id END,
            'templates', jsonb_agg(jsonb_build_object('engine', t.engine, 'modelSHA256', t.model_sha256,
                'createdAt', insp.iso_time(t.created_at)) ORDER BY t.id))) AS face
        FROM unnest(p_indexes) i JOIN insp.person p ON p.partner_id = number AND p.reference_index = i
            JOIN insp.face f ON f.person_id = p.id
            JOIN insp.face_template t ON t.partner_id = f.partner_id AND t.face_id = f.face_id
        GROUP BY f.face_id) f);
    -- Also for a person without jobs, or an unknown one: the record has that a partner asked.
    PERFORM insp.record_access(p_credential, 'export', 'persons', NULL, jsonb_build_object('faces', jsonb_array_length(faces)));
    RETURN faces;
END
$$;
COMMENT ON FUNCTION insp.gateway_person_faces(bigint, bytea, bytea[]) IS 'The faces of a person of a credential''s partner, without the embeddings. The call is recorded';
GRANT EXECUTE ON FUNCTION insp.gateway_person_faces(bigint, bytea, bytea[]) TO insp_gateway;
