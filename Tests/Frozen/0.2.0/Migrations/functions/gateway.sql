-- Functions of the HTTP gateway. Its role reaches jobs only through these, each of which checks the credential again: a gateway
-- that caches a credential can do nothing with it once it is revoked. A credential's number is no secret, so the caller passes the
-- digest of the secret, which only the credential's owner can have provided.

CREATE OR REPLACE FUNCTION insp.gateway_credential(
    p_key_id text, p_secret_sha256 bytea, OUT id bigint, OUT partner text, OUT partner_id integer, OUT scopes text[],
    OUT rate_per_second double precision, OUT rate_burst integer, OUT origins text[], OUT is_test boolean
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number bigint;
    allowed text[];
BEGIN
    IF p_key_id LIKE 'it\_%' THEN
        SELECT x.id, t.scopes INTO number, allowed FROM insp.credential_token t JOIN insp.credential x ON x.id = t.credential_id
        WHERE t.key_id = p_key_id AND t.secret_sha256 = p_secret_sha256 AND t.expires_at > now()
            AND x.revoked_at IS NULL AND (x.expires_at IS NULL OR x.expires_at > now());
    ELSE
        SELECT x.id, x.scopes INTO number, allowed FROM insp.credential x
        WHERE x.key_id = p_key_id AND x.revoked_at IS NULL AND (x.expires_at IS NULL OR x.expires_at > now())
            AND EXISTS (SELECT FROM insp.secrets('credential ' || x.id, ARRAY['credential']) s WHERE s.value = p_secret_sha256);
    END IF;
    -- A row is written at most once an hour, without waiting for its lock.
    UPDATE insp.credential c SET used_at = date_trunc('hour', now()) WHERE c.ctid = (
        SELECT x.ctid FROM insp.credential x
        WHERE x.id = number AND x.used_at IS DISTINCT FROM date_trunc('hour', now()) FOR UPDATE SKIP LOCKED);
    RETURN QUERY
    SELECT c.id, p.name, p.id, allowed, c.rate_per_second, c.rate_burst, c.origins, p.test_of IS NOT NULL
    FROM insp.credential c JOIN insp.partner p ON p.id = c.partner_id WHERE c.id = number;
END
$$;
COMMENT ON FUNCTION insp.gateway_credential(text, bytea) IS
    'A currently valid credential with its scopes, given its name and the SHA-256 of its secret, or those of a token; no row: there is none with that name and secret. Records its use';
GRANT EXECUTE ON FUNCTION insp.gateway_credential(text, bytea) TO insp_gateway;

-- A browser asks before it sends a credential.
CREATE OR REPLACE FUNCTION insp.gateway_origins() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT o.origin), '{}') FROM insp.credential c CROSS JOIN unnest(c.origins) AS o (origin)
    WHERE c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
$$;
COMMENT ON FUNCTION insp.gateway_origins() IS 'The origins that any valid credential allows';
GRANT EXECUTE ON FUNCTION insp.gateway_origins() TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_partner(p_credential bigint, p_secret_sha256 bytea, p_scope text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c insp.credential;
    allowed text[];
BEGIN
    SELECT * INTO c FROM insp.credential x WHERE x.id = p_credential;
    IF EXISTS (SELECT FROM insp.secrets('credential ' || c.id, ARRAY['credential']) s WHERE s.value = p_secret_sha256) THEN
        allowed := c.scopes;
    ELSE
        SELECT t.scopes INTO allowed FROM insp.credential_token t
        WHERE t.secret_sha256 = p_secret_sha256 AND t.credential_id = c.id AND t.expires_at > now();
    END IF;
    IF allowed IS NULL OR c.revoked_at IS NOT NULL OR c.expires_at <= now() THEN
        PERFORM insp.refuse('UNAUTHENTICATED');
    ELSIF (p_scope = ANY (allowed)) IS NOT TRUE THEN
        PERFORM insp.refuse('SCOPE_MISSING', p_scope);
    END IF;
    RETURN c.partner_id;
END
$$;
COMMENT ON FUNCTION insp.gateway_partner(bigint, bytea, text) IS
    'The partner of a credential, if the SHA-256 is that of its secret or of one of its tokens, and the scope is allowed';

CREATE OR REPLACE FUNCTION insp.gateway_payload(p_partner integer, p_scope text, p_payload jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    given text;
BEGIN
    -- The credential determines the partner, and the kind of call the lane.
    SELECT k INTO given FROM unnest(ARRAY['partner', 'lane']) k WHERE p_payload ? k LIMIT 1;
    IF given IS NOT NULL THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ''' || given || '''',
            'The credential and the path say whose job it is and in which lane it waits.', given);
    END IF;
    RETURN (SELECT p_payload || jsonb_build_object('partner', p.name)
            -- A person waits in front of a camera.
            || CASE p_scope WHEN 'session' THEN '{"lane": "urgent"}' ELSE '{}' END::jsonb
        FROM insp.partner p WHERE p.id = p_partner);
END
$$;
COMMENT ON FUNCTION insp.gateway_payload(integer, text, jsonb) IS 'The payload of a call of the gateway, with its partner and lane';

CREATE OR REPLACE FUNCTION insp.gateway_try(
    p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_kinds text[]
) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.try_request(insp.gateway_payload(
        insp.gateway_partner(p_credential, p_secret_sha256, p_scope), p_scope, p_payload), p_kinds);
END
$$;
COMMENT ON FUNCTION insp.gateway_try(bigint, bytea, text, jsonb, text[]) IS
    'Refuses a payload that insp.gateway_create would refuse, before the gateway creates a key for it';
GRANT EXECUTE ON FUNCTION insp.gateway_try(bigint, bytea, text, jsonb, text[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_create(
    p_credential bigint,
    p_secret_sha256 bytea,
    p_scope text,
    p_payload jsonb,
    p_traceparent text,
    p_kinds text[] DEFAULT '{}',
    p_contents bytea[] DEFAULT '{}',
    p_sealed bytea DEFAULT NULL,
    p_request_hmac bytea DEFAULT NULL,
    p_locations text[] DEFAULT NULL,
    p_digests bytea[] DEFAULT NULL,
    p_sizes integer[] DEFAULT NULL,
    p_document_scan boolean DEFAULT false,
    OUT id uuid,
    OUT job bigint,
    OUT status smallint,
    OUT repeated boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, p_scope);
    said jsonb;
BEGIN
    -- A gateway that has lost its settings must not store in plain text what the others seal.
    IF p_sealed IS NULL AND EXISTS (SELECT FROM insp.custody) THEN
        PERFORM insp.refuse('KEY_MISSING', 'the gateway passes a request that is not sealed');
    END IF;
    id := insp.enqueue_parts(insp.gateway_payload(number, p_scope, p_payload), p_kinds, p_contents, p_sealed, p_request_hmac,
        p_locations, p_digests, p_sizes);
    SELECT j.id, CASE WHEN j.status = 1 AND EXISTS (SELECT FROM insp.lease l WHERE l.job_id = j.id) THEN 2 ELSE j.status END,
        -- A new job has the number that this call drew; a repeat drew another one, whenever either transaction began.
        j.id <> currval('insp.job_id'), j.request
    INTO gateway_create.job, gateway_create.status, gateway_create.repeated, said
    FROM insp.job j WHERE j.public_id = gateway_create.id;
    IF NOT FOUND THEN
        -- Retention has removed it; its key is still known.
        status := 128;
        repeated := true;
    ELSIF repeated AND p_scope = 'session' AND (said ? 'documentScan') <> coalesce(p_document_scan, false) THEN
        PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'idempotencyKey');
    END IF;
    -- Set afterwards: a request repeated under its idempotency key is the same request, even in another span. A session's job is
    -- known by its request.
    IF NOT repeated AND (p_traceparent IS NOT NULL OR p_scope = 'session') THEN
        UPDATE insp.job j SET traceparent = coalesce(j.traceparent, p_traceparent),
            request = CASE WHEN p_scope <> 'session' THEN j.request
                WHEN p_document_scan THEN j.request || '{"session": true, "documentScan": true}' ELSE j.request || '{"session": true}' END
        WHERE j.id = gateway_create.job;
    END IF;
    PERFORM insp.record_access(p_credential, 'create', p_scope, gateway_create.id);
END
$$;
COMMENT ON FUNCTION insp.gateway_create(bigint, bytea, text, jsonb, text, text[], bytea[], bytea, bytea, text[], bytea[], integer[], boolean) IS
    'insp.enqueue_parts for the partner of a credential; returns the public id, the internal number (null: retention has removed the job), the status, and whether the request had been accepted before under its idempotency key. p_document_scan: once liveness is proven, a session continues until a document is scanned';
GRANT EXECUTE ON FUNCTION insp.gateway_create(bigint, bytea, text, jsonb, text, text[], bytea[], bytea, bytea, text[], bytea[], integer[], boolean) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_result(
    p_credential bigint, p_secret_sha256 bytea, p_scope text, p_id uuid, OUT job bigint, OUT finished boolean, OUT document jsonb,
    OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT encryption jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, p_scope);
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    -- Another partner's job does not exist for the caller; a session's scope permits only sessions.
    IF NOT FOUND OR j.partner_id <> number OR p_scope = 'session' AND (j.request ? 'session') IS NOT TRUE THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    job := j.id;
    finished := j.status = 128;
    SELECT r.document, r.sealed, r.body, r.partner_id INTO document, sealed, body, partner_id FROM insp.sealed_document(j) r;
    encryption := (SELECT k.jwk FROM insp.partner_key k WHERE k.partner_id = number);
    IF finished THEN
        PERFORM insp.record_access(p_credential, p_scope, p_scope, p_id);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.gateway_result(bigint, bytea, text, uuid) IS
    'insp.sealed_result for the partner of a credential, with the job''s internal number, and the key for which the answer must be encrypted (null: none); records that a result was read';
GRANT EXECUTE ON FUNCTION insp.gateway_result(bigint, bytea, text, uuid) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_finished(p_jobs bigint[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT u.id FROM unnest(p_jobs) AS u (id)
    WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.id = u.id AND j.status < 128)
$$;
COMMENT ON FUNCTION insp.gateway_finished(bigint[]) IS 'Which of these jobs are finished or no longer exist: one query for all waiting clients';
GRANT EXECUTE ON FUNCTION insp.gateway_finished(bigint[]) TO insp_gateway;

-- In plpgsql, which keeps the statement's plan: as SQL it is planned for each access, at twice the cost. Its callers have set the
-- search path.
CREATE OR REPLACE FUNCTION insp.record_access(
    p_credential bigint, p_action text, p_scope text, p_job uuid, p_detail jsonb DEFAULT '{}', p_purpose text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO insp.record (chain, actor, action, subject, purpose, detail)
    VALUES ('access', (SELECT c.key_id FROM insp.credential c WHERE c.id = p_credential), p_action,
        coalesce(p_job, '00000000-0000-0000-0000-000000000000')::text,
        CASE WHEN p_purpose IS NOT NULL THEN p_purpose WHEN p_action IN ('read', 'session', 'search', 'image', 'face', 'events') THEN 'delivery' WHEN p_action = 'export' THEN 'export' END,
        jsonb_build_object('scope', p_scope) || p_detail);
END
$$;
COMMENT ON FUNCTION insp.record_access(bigint, text, text, uuid, jsonb, text) IS
    'Records a call of the gateway about a job, or about none (null); p_purpose: if it is not the usual one';

CREATE OR REPLACE VIEW insp.v_access AS
SELECT r.at, CASE WHEN c.id IS NOT NULL THEN p.name
        ELSE (SELECT x.name FROM insp.job j JOIN insp.partner x ON x.id = j.partner_id WHERE j.public_id = r.job) END AS partner,
    c.key_id, CASE WHEN c.id IS NULL THEN r.actor END AS operator, r.action, r.job, r.purpose, c.created_by
FROM (
    SELECT w.at, w.actor, w.action, w.purpose, w.detail,
        nullif(w.subject::uuid, '00000000-0000-0000-0000-000000000000') AS job
    FROM insp.record w WHERE w.chain = 'access' AND w.seq IS NOT NULL
    UNION ALL
    -- Those of the last seconds, which no index finds by their job.
    SELECT w.at, w.actor, w.action, w.purpose, w.detail,
        nullif(w.subject::uuid, '00000000-0000-0000-0000-000000000000')
    FROM insp.record w WHERE w.chain || '' = 'access' AND w.seq IS NULL) r
    -- Only the gateway's rows have a scope: a login may have a credential's name.
    LEFT JOIN insp.credential c ON c.key_id = r.actor AND r.detail ? 'scope'
    LEFT JOIN insp.partner p ON p.id = c.partner_id
WHERE NOT r.detail ? 'scope' OR c.id IS NOT NULL;
COMMENT ON VIEW insp.v_access IS 'Calls of the gateway that create, change or read something, and who else read or was sent a job''s result or parts, one row for each request that carried it, with any answer; an answer without a result and a page without an event leave no row. Add WHERE or LIMIT';
COMMENT ON COLUMN insp.v_access.at IS 'When it happened';
COMMENT ON COLUMN insp.v_access.partner IS 'The credential''s partner, or the job''s; null: the job was removed';
COMMENT ON COLUMN insp.v_access.key_id IS 'The credential that the gateway was given; null: a login or a worker';
COMMENT ON COLUMN insp.v_access.operator IS 'The login of the operator, reviewer, producer, or worker that sent a callback (insp.record.detail has the worker''s name), or console: and the name of the person signed in there; null: a credential';
COMMENT ON COLUMN insp.v_access.action IS 'create, cancel, rerun, read, image (a part), report, case (at the console), export, session, callback (sent by a worker), callbacks (listed), callback_replay, events (pulled), consent or withdraw; of no job: token, capture (a link), capture_open, challenge, search, usability, export (a person''s faces), face, face_delete, erase, withdraw, callbacks, callback_replay, events, endpoints, usage, key, key_set, key_remove, or endpoint_ and what was done with an endpoint';
COMMENT ON COLUMN insp.v_access.job IS 'The job; null: the call was about none';
COMMENT ON COLUMN insp.v_access.created_by IS 'The login that created the credential: who has its secret can read as its partner; null: a login or a worker';
COMMENT ON COLUMN insp.v_access.purpose IS 'Why it was read: review, support, export or delivery; null: nothing was read, or a superuser read it';
GRANT SELECT ON insp.v_access TO insp_operator, insp_auditor;
