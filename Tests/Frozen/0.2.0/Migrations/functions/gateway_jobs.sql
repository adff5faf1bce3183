-- After: gateway
-- The gateway's calls about jobs that exist, and about what precedes them. Each checks the credential and records itself.

CREATE OR REPLACE FUNCTION insp.gateway_job(p_partner integer, p_id uuid) RETURNS insp.job
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    -- Another partner's job does not exist for the caller.
    IF NOT FOUND OR j.partner_id IS DISTINCT FROM p_partner THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN j;
END
$$;
COMMENT ON FUNCTION insp.gateway_job(integer, uuid) IS 'A job of a partner; refuses others';

CREATE OR REPLACE FUNCTION insp.gateway_jobs(
    p_credential bigint, p_secret_sha256 bytea, p_kinds text[], p_plain bytea[], p_hidden bytea[] DEFAULT '{}',
    p_status smallint DEFAULT NULL, p_after uuid DEFAULT NULL, p_limit integer DEFAULT 50
) RETURNS TABLE (id uuid, status smallint, workflow text, created_at text, completed_at text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'read');
    -- Jobs with the first reference that one call reads at most, whatever the others and the status leave of them.
    scanned constant integer := 1000;
    before bigint := 9223372036854775807;
    one record;
    seen integer := 0;
    listed integer := 0;
BEGIN
    PERFORM insp.require(coalesce(cardinality(p_kinds) BETWEEN 1 AND 3 AND cardinality(p_kinds) = cardinality(p_plain)
            AND cardinality(p_hidden) IN (0, cardinality(p_kinds)) AND array_ndims(p_kinds) = 1
            AND p_kinds <@ ARRAY['customer', 'user', 'criteria'], false),
        'references', 'Give one to three references.');
    PERFORM insp.check_indexes(p_plain || p_hidden, 6);
    PERFORM insp.require(p_limit BETWEEN 1 AND 100, 'limit', 'limit is 1 to 100.', p_field => 'limit');
    IF p_after IS NOT NULL THEN
        SELECT j.id INTO before FROM insp.job j WHERE j.public_id = p_after AND j.partner_id = number;
        PERFORM insp.require(FOUND, 'after is not a job''s id', 'Send next of the last page, or begin again without after.', p_field => 'after');
    END IF;
    FOR one IN
        SELECT j.public_id, j.workflow, j.created_at, j.completed_at,
            CASE WHEN j.status = 1 AND EXISTS (SELECT FROM insp.lease l WHERE l.job_id = j.id) THEN 2::smallint ELSE j.status END
                AS status,
            NOT EXISTS (SELECT FROM generate_series(2, cardinality(p_kinds)) k WHERE NOT EXISTS (
                SELECT FROM insp.job_reference r WHERE r.partner_id = number AND r.kind = p_kinds[k]
                    AND r.index IN (p_plain[k], p_hidden[k]) AND r.job_id = c.job_id)) AS has_all
        FROM (
            SELECT x.job_id FROM (
                (SELECT r.job_id FROM insp.job_reference r
                    WHERE r.partner_id = number AND r.kind = p_kinds[1] AND r.index = p_plain[1] AND r.job_id < before
                    ORDER BY r.job_id DESC LIMIT scanned + 1)
                UNION
                (SELECT r.job_id FROM insp.job_reference r
                    WHERE r.partner_id = number AND r.kind = p_kinds[1] AND r.index = p_hidden[1] AND r.job_id < before
                    ORDER BY r.job_id DESC LIMIT scanned + 1)) x
            ORDER BY x.job_id DESC LIMIT scanned + 1) c
            JOIN insp.job j ON j.id = ANY (ARRAY[c.job_id])
        ORDER BY c.job_id DESC
    LOOP
        IF listed = p_limit OR seen = scanned THEN
            -- There may be more, after the last one that was read.
            status := NULL;
            workflow := NULL;
            created_at := NULL;
            completed_at := NULL;
            RETURN NEXT;
            EXIT;
        END IF;
        seen := seen + 1;
        id := one.public_id;
        CONTINUE WHEN NOT one.has_all OR one.status <> p_status;
        listed := listed + 1;
        status := one.status;
        workflow := one.workflow;
        created_at := insp.iso_time(one.created_at);
        completed_at := insp.iso_time(one.completed_at);
        RETURN NEXT;
    END LOOP;
    -- The references are personal: the record has their kinds alone.
    PERFORM insp.record_access(p_credential, 'search', 'read', NULL, jsonb_build_object('by', to_jsonb(p_kinds), 'found', listed));
END
$$;
COMMENT ON FUNCTION insp.gateway_jobs(bigint, bytea, text[], bytea[], bytea[], smallint, uuid, integer) IS
    'Jobs of a credential''s partner that have all of these references (customer: customerInternalReference, user: userReference, criteria: reportingCriteria; as insp.reference_index hashes them, p_hidden: the pseudonyms of sealed jobs), newest first, from after a job on. A last row without a status has the id after which to continue: each call looks at 1,000 jobs at most';
GRANT EXECUTE ON FUNCTION insp.gateway_jobs(bigint, bytea, text[], bytea[], bytea[], smallint, uuid, integer) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_cancel(p_credential bigint, p_secret_sha256 bytea, p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    j constant insp.job := insp.gateway_job(insp.gateway_partner(p_credential, p_secret_sha256, 'create'), p_id);
BEGIN
    IF NOT insp.cancel(j.public_id) THEN
        RETURN false;
    END IF;
    PERFORM insp.record_access(p_credential, 'cancel', 'create', j.public_id);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.gateway_cancel(bigint, bytea, uuid) IS 'insp.cancel for a job of a credential''s partner';
GRANT EXECUTE ON FUNCTION insp.gateway_cancel(bigint, bytea, uuid) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_rerun(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_key text DEFAULT NULL, OUT id uuid, OUT repeated boolean,
    OUT status smallint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'create');
    j insp.job;
    known insp.job_key;
    digest constant bytea := sha256(convert_to('rerun ' || p_id, 'UTF8'));
BEGIN
    repeated := false;
    IF p_key IS NOT NULL THEN
        PERFORM insp.require(length(p_key) BETWEEN 1 AND 100, 'the idempotency key');
        -- One after the other: the second one finds what the first one made.
        PERFORM pg_advisory_xact_lock(hashtextextended('insp rerun ' || number || ' ' || p_key, 0));
        SELECT * INTO known FROM insp.job_key k WHERE k.partner_id = number AND k.key = p_key;
        IF FOUND AND known.request_sha256 <> digest THEN
            PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'Idempotency-Key');
        ELSIF FOUND THEN
            id := known.public_id;
            repeated := true;
            -- As in insp.gateway_create: of a job that retention has removed, the key is still known.
            status := coalesce((
                SELECT CASE WHEN x.status = 1 AND EXISTS (SELECT FROM insp.lease l WHERE l.job_id = x.id) THEN 2 ELSE x.status END
                FROM insp.job x WHERE x.id = known.job_id), 128);
            PERFORM insp.record_access(p_credential, 'rerun', 'create', id, jsonb_build_object('of', p_id, 'repeated', true));
            RETURN;
        END IF;
    END IF;
    j := insp.gateway_job(number, p_id);
    id := insp.rerun(j.public_id);
    status := 1;
    IF p_key IS NOT NULL THEN
        INSERT INTO insp.job_key (partner_id, key, job_id, public_id, request_sha256)
        SELECT number, p_key, x.id, x.public_id, digest FROM insp.job x WHERE x.public_id = gateway_rerun.id
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            -- A job was created under the same key meanwhile.
            PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'Idempotency-Key');
        END IF;
    END IF;
    PERFORM insp.record_access(p_credential, 'rerun', 'create', id, jsonb_build_object('of', j.public_id));
END
$$;
COMMENT ON FUNCTION insp.gateway_rerun(bigint, bytea, uuid, text) IS
    'insp.rerun for a job of a credential''s partner; the same rerun under the same idempotency key is one job';
GRANT EXECUTE ON FUNCTION insp.gateway_rerun(bigint, bytea, uuid, text) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_part(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer DEFAULT 0, p_purpose text DEFAULT NULL,
    OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    j constant insp.job := insp.gateway_job(insp.gateway_partner(p_credential, p_secret_sha256,
        CASE WHEN p_purpose IS NULL THEN 'images' ELSE 'report' END), p_id);
    part insp.part;
BEGIN
    PERFORM insp.check_purpose(p_purpose, false);
    SELECT * INTO part FROM insp.part p WHERE p.job_id = j.id AND p.kind = p_kind AND p.ordinal = p_ordinal;
    IF NOT FOUND THEN
        PERFORM insp.refuse(CASE WHEN EXISTS (SELECT FROM insp.part p WHERE p.job_id = j.id) THEN 'PART_ABSENT' ELSE 'PARTS_PURGED' END);
    ELSIF part.size IS NULL THEN
        PERFORM insp.refuse('PART_ABSENT', 'it was given by URL', 'Fetch it from that URL; it is not stored here.');
    END IF;
    is_sealed := part.seal > 0;
    size := part.size;
    IF part.content_id IS NULL THEN
        location := part.location;
    ELSE
        SELECT c.bytes INTO bytes FROM insp.content c
        WHERE c.id = part.content_id AND c.kind = part.kind AND c.ordinal = part.ordinal;
        IF bytes IS NULL THEN
            PERFORM insp.refuse('PARTS_PURGED');
        END IF;
    END IF;
    PERFORM insp.record_access(p_credential, 'image', CASE WHEN p_purpose IS NULL THEN 'images' ELSE 'report' END, j.public_id,
        jsonb_build_object('part', part.kind, 'ordinal', nullif(part.ordinal, 0)), p_purpose);
END
$$;
COMMENT ON FUNCTION insp.gateway_part(bigint, bytea, uuid, text, integer, text) IS
    'The bytes of a part of a job of a credential''s partner, as they are stored, or where in the object store they are, with their size; parts by URL were never stored. For a report p_purpose is the report''s, and the credential needs its scope. Recorded';
GRANT EXECUTE ON FUNCTION insp.gateway_part(bigint, bytea, uuid, text, integer, text) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_report(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_purpose text DEFAULT 'review',
    OUT request jsonb, OUT decided_at timestamptz, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[],
    OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT partner text, OUT encryption jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    j constant insp.job := insp.gateway_job(insp.gateway_partner(p_credential, p_secret_sha256, 'report'), p_id);
BEGIN
    PERFORM insp.check_purpose(p_purpose, true);
    IF j.status < 128 THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED');
    END IF;
    SELECT r.document, r.sealed, r.body, r.partner_id INTO document, sealed, body, partner_id FROM insp.sealed_document(j) r;
    IF j.request IS NULL OR NOT document ? 'decision' OR document ?| ARRAY['purgedAt', 'erasedAt'] THEN
        PERFORM insp.refuse('RESULT_PURGED');
    END IF;
    request := j.request;
    decided_at := j.completed_at;
    encryption := (SELECT k.jwk FROM insp.partner_key k WHERE k.partner_id = j.partner_id);
    partner := (SELECT p.name FROM insp.partner p WHERE p.id = j.partner_id);
    SELECT coalesce(array_agg(s.status ORDER BY s.status), '{}'), coalesce(array_agg(s.body ORDER BY s.status), '{}')
    INTO statuses, bodies FROM insp.step s WHERE s.job_id = j.id AND s.status IN (4, 8, 16, 32) AND s.body IS NOT NULL;
    SELECT coalesce(array_agg(p.kind ORDER BY p.kind, p.ordinal), '{}'), coalesce(array_agg(p.ordinal ORDER BY p.kind, p.ordinal), '{}')
    INTO kinds, ordinals FROM insp.part p WHERE p.job_id = j.id;
    INSERT INTO insp.record (chain, actor, action, subject, purpose, detail)
    SELECT 'access', c.key_id, 'report', j.public_id::text, p_purpose, '{"scope": "report"}' FROM insp.credential c WHERE c.id = p_credential;
END
$$;
COMMENT ON FUNCTION insp.gateway_report(bigint, bytea, uuid, text) IS
    'The contents of the report on a finished job of a credential''s partner: the partner''s name, the request, the results of its stages, as they are stored, its parts, and what insp.gateway_result returns. Records the access with its purpose (review, support, export or delivery)';
GRANT EXECUTE ON FUNCTION insp.gateway_report(bigint, bytea, uuid, text) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_challenge(p_credential bigint, p_secret_sha256 bytea, p_options jsonb DEFAULT '{}') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'create');
    names constant text[] := ARRAY['method', 'colours', 'colourMs', 'steps', 'motions', 'stepTimeoutMs', 'lifetimeSeconds'];
    partner insp.partner;
    name text;
    value jsonb;
    made jsonb;
BEGIN
    PERFORM insp.require(jsonb_typeof(p_options) = 'object', 'not an object', NULL, 'PAYLOAD_INVALID');
    FOR name, value IN SELECT o.key, o.value FROM jsonb_each(p_options) o LOOP
        IF name <> ALL (names) THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ' || left(quote_literal(name), 40),
                format('Keys are %s.', array_to_string(names, ', ')), left(name, 40));
        ELSIF name = 'method' THEN
            PERFORM insp.require(jsonb_typeof(value) = 'string', 'method is not a string', NULL, 'PAYLOAD_INVALID', p_field => name);
        ELSIF name = 'motions' THEN
            PERFORM insp.require(jsonb_typeof(value) = 'array' AND jsonb_array_length(value) <= 10
                AND NOT EXISTS (SELECT FROM jsonb_array_elements(value) e WHERE jsonb_typeof(e) <> 'string'),
                'motions is not an array of strings', NULL, 'PAYLOAD_INVALID', name);
        -- As a text, because a cast of 1e400 fails.
        ELSIF jsonb_typeof(value) <> 'number' OR value::text !~ '^[0-9]{1,6}$' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', name || ' is not a whole number', p_field => name);
        END IF;
    END LOOP;
    SELECT * INTO partner FROM insp.partner p WHERE p.id = number;
    IF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    made := insp.challenge_issue(partner.name,
        method => coalesce(p_options ->> 'method', 'colour_flash'),
        colours => coalesce((p_options ->> 'colours')::integer, 7),
        colour_ms => coalesce((p_options ->> 'colourMs')::integer, 400),
        steps => coalesce((p_options ->> 'steps')::integer, 3),
        motions => CASE WHEN p_options ? 'motions' THEN ARRAY(SELECT jsonb_array_elements_text(p_options -> 'motions'))
            ELSE ARRAY['MOUTH_OPEN', 'SMILE', 'BLINK', 'SHAKE', 'NOD'] END,
        step_timeout_ms => coalesce((p_options ->> 'stepTimeoutMs')::integer, 7000),
        lifetime => (p_options ->> 'lifetimeSeconds')::integer * interval '1 second');
    PERFORM insp.record_access(p_credential, 'challenge', 'create', NULL, jsonb_build_object('challenge', made -> 'id'));
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.gateway_challenge(bigint, bytea, jsonb) IS
    'insp.challenge_issue for a credential''s partner. Options: method, colours, colourMs, steps, motions, stepTimeoutMs, lifetimeSeconds';
GRANT EXECUTE ON FUNCTION insp.gateway_challenge(bigint, bytea, jsonb) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_token(
    p_credential bigint, p_secret_sha256 bytea, p_scopes text[] DEFAULT NULL, OUT token text, OUT seconds integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    c insp.credential;
    name constant text := 'it_' || left(gen_random_uuid()::text, 8) || left(gen_random_uuid()::text, 8);
    secret constant text := insp.random_token();
    missing text;
BEGIN
    -- A token gets no further token: it would never end.
    SELECT * INTO c FROM insp.credential x WHERE x.id = p_credential AND x.revoked_at IS NULL
        AND (x.expires_at IS NULL OR x.expires_at > now())
        AND EXISTS (SELECT FROM insp.secrets('credential ' || x.id, ARRAY['credential']) s WHERE s.value = p_secret_sha256)
    FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('UNAUTHENTICATED');
    END IF;
    PERFORM insp.require(p_scopes IS NULL OR array_ndims(p_scopes) = 1, 'scopes', 'Give one scope or more.');
    SELECT left(coalesce(s, ''), 40) INTO missing FROM unnest(p_scopes) s WHERE (s = ANY (c.scopes)) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        PERFORM insp.refuse('SCOPE_MISSING', missing);
    END IF;
    -- Each call deletes a few expired ones, so that the table does not grow between two rounds of retention.
    DELETE FROM insp.credential_token t WHERE t.key_id = ANY (ARRAY(
        SELECT x.key_id FROM insp.credential_token x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED));
    token := name || '.' || secret;
    seconds := 900;
    INSERT INTO insp.credential_token (key_id, credential_id, secret_sha256, scopes, expires_at)
    VALUES (name, c.id, sha256(convert_to(secret, 'UTF8')), coalesce(p_scopes, c.scopes), now() + seconds * interval '1 second');
    PERFORM insp.record_access(p_credential, 'token', array_to_string(coalesce(p_scopes, c.scopes), ' '), NULL,
        jsonb_build_object('token', name));
END
$$;
COMMENT ON FUNCTION insp.gateway_token(bigint, bytea, text[]) IS
    'Issues an access token for a credential, with some of its scopes (null: all), and returns it and for how many seconds it is valid; not for a token';
GRANT EXECUTE ON FUNCTION insp.gateway_token(bigint, bytea, text[]) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_usability(
    p_credential bigint, p_secret_sha256 bytea, p_language text DEFAULT 'en', OUT code text, OUT advice text
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'create');
BEGIN
    IF NOT (SELECT p.enabled FROM insp.partner p WHERE p.id = number) THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    PERFORM insp.record_access(p_credential, 'usability', 'create', NULL);
    RETURN QUERY SELECT r.code, r.advice FROM insp.reasons(p_language) r;
END
$$;
COMMENT ON FUNCTION insp.gateway_usability(bigint, bytea, text) IS
    'The advice of insp.reasons for a partner whose images the gateway judges at once; records the call';
GRANT EXECUTE ON FUNCTION insp.gateway_usability(bigint, bytea, text) TO insp_gateway;
