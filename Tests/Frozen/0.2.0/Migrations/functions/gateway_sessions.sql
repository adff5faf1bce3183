-- Sessions of several blobs at the gateway: each further blob is one more part of the session's job.
-- After: gateway, vendor_sessions

CREATE OR REPLACE FUNCTION insp.check_session(j insp.job) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF j.status >= 64 THEN
        PERFORM insp.refuse('SESSION_ENDED');
    ELSIF insp.waiting_sessions(ARRAY[j.id]) = '{}' THEN
        PERFORM insp.refuse('SESSION_BUSY');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_session(insp.job) IS 'Refuses a blob for a session that does not wait for one';

CREATE OR REPLACE FUNCTION insp.session_job(p_partner integer, p_id uuid) RETURNS insp.job
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND OR j.partner_id <> p_partner OR (j.request ? 'session') IS NOT TRUE THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN j;
END
$$;
COMMENT ON FUNCTION insp.session_job(integer, uuid) IS 'The job of a partner''s session; refuses others';

CREATE OR REPLACE FUNCTION insp.gateway_session_find(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_content bytea DEFAULT NULL,
    OUT id uuid, OUT blobs integer, OUT key_id uuid, OUT repeated bigint, OUT idempotency_key text, OUT request_sha256 bytea
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'session');
    given constant text := p_payload ->> 'idempotencyKey';
    digest constant bytea := sha256(convert_to(concat_ws(' ', 'session', p_id, p_payload::text), 'UTF8') || coalesce(p_content, ''));
    known insp.job_key;
    j insp.job;
BEGIN
    IF given IS NOT NULL THEN
        PERFORM insp.require(length(given) BETWEEN 1 AND 100, 'the idempotency key');
        SELECT * INTO known FROM insp.job_key k WHERE k.partner_id = number AND k.key = given;
        IF known.request_sha256 = digest THEN
            id := known.public_id;
            repeated := known.job_id;
            PERFORM insp.record_access(p_credential, 'create', 'session', id, '{"repeated": true}');
            RETURN NEXT;
            RETURN;
        ELSIF known.job_id IS NOT NULL AND p_id IS NULL THEN
            -- Perhaps that of a session's first blob: insp.gateway_create knows.
            RETURN;
        ELSIF known.job_id IS NOT NULL THEN
            PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'idempotencyKey');
        END IF;
        idempotency_key := given;
        request_sha256 := digest;
    END IF;
    IF p_id IS NOT NULL THEN
        j := insp.session_job(number, p_id);
        PERFORM insp.check_session(j);
        IF p_payload ? 'userReference'
            AND insp.personal(j.personal) ->> 'userReference' IS DISTINCT FROM p_payload ->> 'userReference' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'userId is not that of the session', 'Send the userId of the first blob, or none.',
                'userId');
        END IF;
    ELSE
        -- A client that names no session goes on with the one of its user that waits. A person has one at a time.
        SELECT x.* INTO j FROM (
                SELECT r.job_id FROM insp.job_reference r
                WHERE r.partner_id = number AND r.kind = 'user' AND r.index = insp.reference_index(p_payload ->> 'userReference')
                ORDER BY r.job_id DESC LIMIT 20) r JOIN insp.job x ON x.id = ANY (ARRAY[r.job_id])
        WHERE insp.waiting_sessions(ARRAY[x.id]) <> '{}'
            AND insp.personal(x.personal) ->> 'reportingCriteria' IS NOT DISTINCT FROM p_payload ->> 'reportingCriteria'
        ORDER BY x.id DESC LIMIT 1;
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    -- A later blob needs none, but one that says no is not sent on.
    IF p_payload ? 'consent' THEN
        PERFORM insp.check_consent(p_payload, (SELECT p FROM insp.partner p WHERE p.id = number));
    END IF;
    id := j.public_id;
    key_id := j.key_id;
    blobs := (SELECT count(*) FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id]) AND p.kind = 'SESSION_BLOB');
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION insp.gateway_session_find(bigint, bytea, uuid, jsonb, bytea) IS
    'The session that a further blob belongs to, with the number of its blobs and the key that seals them: the one with this id, which must wait for a blob and be of the payload''s userReference, if that has one; without an id, the one that waits and has the payload''s userReference and reportingCriteria (no row: there is none). A consent in the payload is checked like that of a first blob. For a payload with an idempotencyKey, of which p_content covers the blob: repeated is the job''s internal number if the blob was added before; else idempotency_key and request_sha256 are for insp.gateway_session_add';
GRANT EXECUTE ON FUNCTION insp.gateway_session_find(bigint, bytea, uuid, jsonb, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_session_add(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_ordinal integer, p_content bytea, p_key text DEFAULT NULL,
    p_request_sha256 bytea DEFAULT NULL, OUT id uuid, OUT job bigint, OUT repeated boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    -- A session of the vendor's SDK has a few.
    most constant integer := 16;
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'session');
    j insp.job := insp.session_job(number, p_id);
    waited insp.delayed;
    known insp.job_key;
    digest bytea;
    had record;
BEGIN
    -- In the order of every call that ends jobs.
    SELECT * INTO j FROM insp.job x WHERE x.id = j.id FOR NO KEY UPDATE;
    id := j.public_id;
    job := j.id;
    repeated := false;
    IF p_key IS NOT NULL THEN
        PERFORM insp.require(length(p_key) BETWEEN 1 AND 100 AND coalesce(length(p_request_sha256) = 32, false), 'the idempotency key');
        -- Waits for a concurrent call with the same key.
        INSERT INTO insp.job_key (partner_id, key, job_id, public_id, request_sha256)
        VALUES (number, p_key, j.id, j.public_id, p_request_sha256) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            SELECT * INTO known FROM insp.job_key k WHERE k.partner_id = number AND k.key = p_key;
            IF known.request_sha256 IS DISTINCT FROM p_request_sha256 THEN
                PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'idempotencyKey');
            END IF;
            id := known.public_id;
            job := known.job_id;
            repeated := true;
            PERFORM insp.record_access(p_credential, 'create', 'session', id, '{"repeated": true}');
            RETURN;
        END IF;
    END IF;
    PERFORM insp.check_session(j);
    DELETE FROM insp.delayed d WHERE d.job_id = j.id AND d.last_error IS NULL RETURNING * INTO waited;
    SELECT count(*) AS blobs, sum(p.size) AS bytes INTO had FROM insp.part p
    WHERE p.job_id = ANY (ARRAY[j.id]) AND p.kind = 'SESSION_BLOB';
    -- Another blob came first, or its time passed.
    IF waited.job_id IS NULL OR had.blobs IS DISTINCT FROM p_ordinal THEN
        PERFORM insp.refuse('SESSION_BUSY');
    ELSIF had.blobs >= most THEN
        PERFORM insp.refuse('SESSION_ENDED', format('it has %s blobs', most));
    ELSIF j.key_id IS NULL AND EXISTS (SELECT FROM insp.custody) THEN
        PERFORM insp.refuse('KEY_MISSING', 'the session is not sealed');
    ELSIF j.key_id IS NOT NULL AND (insp.seal_of(p_content) = 1 AND substr(p_content, 2, 16) = uuid_send(j.key_id)) IS NOT TRUE THEN
        PERFORM insp.refuse('SEAL_BROKEN', 'the blob is not sealed by the session''s key');
    END IF;
    digest := insp.check_part('SESSION_BLOB', p_content, CASE WHEN j.key_id IS NULL THEN 0 ELSE 45 END, NULL);
    -- What insp.parts hands to a worker.
    IF had.bytes + octet_length(p_content) > 67108864 THEN
        PERFORM insp.refuse('PARTS_TOO_LARGE', 'the session''s blobs');
    END IF;
    PERFORM insp.take_bytes(p.id, p.max_bytes, octet_length(p_content))
    FROM insp.partner p WHERE p.id = number AND p.max_bytes IS NOT NULL;
    INSERT INTO insp.content (id, kind, ordinal, bytes) VALUES (j.id, 'SESSION_BLOB', p_ordinal, p_content);
    INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, seal, content_id)
    VALUES (j.id, 'SESSION_BLOB', p_ordinal, octet_length(p_content), digest, CASE WHEN j.key_id IS NULL THEN 0 ELSE 1 END, j.id);
    INSERT INTO insp.ready (job_id, queue, attempt, crashes) VALUES (j.id, waited.queue, waited.attempt, waited.crashes);
    PERFORM insp.wake(j.lane);
    PERFORM insp.record_access(p_credential, 'create', 'session', p_id, jsonb_build_object('blob', p_ordinal));
END
$$;
COMMENT ON FUNCTION insp.gateway_session_add(bigint, bytea, uuid, integer, bytea, text, bytea) IS
    'Adds a further blob, sealed where the session is, with its number from 1, to a session that waits for it, unless it was added before under its idempotency key; returns the job''s public id and internal number, and whether it was';
GRANT EXECUTE ON FUNCTION insp.gateway_session_add(bigint, bytea, uuid, integer, bytea, text, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_session_answer(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, OUT body bytea, OUT key_id uuid, OUT partner_id integer
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'session');
    j constant insp.job := insp.session_job(number, p_id);
BEGIN
    IF insp.waiting_sessions(ARRAY[j.id]) <> '{}' THEN
        SELECT s.body INTO body FROM insp.step s WHERE s.job_id = ANY (ARRAY[j.id]) AND s.status = 32;
        key_id := j.key_id;
        partner_id := j.partner_id;
        PERFORM insp.record_access(p_credential, 'session', 'session', p_id);
        RETURN NEXT;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.gateway_session_answer(bigint, bytea, uuid) IS
    'The result of the liveness stage of a session that waits for its next blob, as it is stored; no row: it does not wait. Records that it was read';
GRANT EXECUTE ON FUNCTION insp.gateway_session_answer(bigint, bytea, uuid) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_answered(p_jobs bigint[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT unnest(insp.waiting_sessions(p_jobs))
$$;
COMMENT ON FUNCTION insp.gateway_answered(bigint[]) IS
    'Which of these jobs wait for the next blob of their session: one query for all waiting clients';
GRANT EXECUTE ON FUNCTION insp.gateway_answered(bigint[]) TO insp_gateway;
