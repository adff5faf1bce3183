-- Capture links, as a partner's server makes them with its credential.
-- After: contract, gateway, partner_policies, requests, urls

CREATE OR REPLACE FUNCTION insp.capture_parts(p_flow insp.workflow, p_format text, p_challenge text) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A passport's data page says all.
    SELECT ARRAY(SELECT k.kind FROM unnest(p_flow.captures) WITH ORDINALITY AS k (kind, n)
        WHERE (k.kind <> 'BACK' OR p_format <> 'TD3') AND (k.kind <> 'FRAMES' OR p_challenge <> 'none') ORDER BY k.n)
$$;
COMMENT ON FUNCTION insp.capture_parts(insp.workflow, text, text) IS 'The parts that a page captures for a workflow, in order';

CREATE OR REPLACE FUNCTION insp.check_capture_options(p jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    names constant text[] := ARRAY['challenge', 'fallback', 'showResult', 'locale', 'embedOrigin', 'returnUrl', 'lifetimeSeconds',
        'sessionSeconds'];
    name text;
    value jsonb;
BEGIN
    PERFORM insp.require(jsonb_typeof(p) = 'object', 'not an object', NULL, 'PAYLOAD_INVALID');
    FOR name, value IN SELECT o.key, o.value FROM jsonb_each(p) o LOOP
        IF name <> ALL (names) THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ' || left(quote_literal(name), 40), NULL, left(name, 40));
        ELSIF name = 'showResult' THEN
            PERFORM insp.require(jsonb_typeof(value) = 'boolean', 'showResult', 'showResult is true or false.', 'PAYLOAD_INVALID', name);
        ELSIF name = 'lifetimeSeconds' THEN
            -- As a text, because a cast of 1e400 fails.
            PERFORM insp.require(jsonb_typeof(value) = 'number' AND value::text ~ '^[0-9]{1,6}$'
                AND (value::text)::integer BETWEEN 60 AND 86400, 'lifetimeSeconds', 'lifetimeSeconds is a whole number from 60 to 86400.',
                'PAYLOAD_INVALID', name);
        ELSIF name = 'sessionSeconds' THEN
            PERFORM insp.require(jsonb_typeof(value) = 'number' AND value::text ~ '^[0-9]{1,6}$'
                AND (value::text)::integer BETWEEN 300 AND 7200, 'sessionSeconds', 'sessionSeconds is a whole number from 300 to 7200.',
                'PAYLOAD_INVALID', name);
        ELSE
            PERFORM insp.require(jsonb_typeof(value) = 'string', name || ' is not a string', NULL, 'PAYLOAD_INVALID', name);
        END IF;
    END LOOP;
    PERFORM insp.require(coalesce(p ->> 'challenge' IN ('none', 'colour_flash', 'motion'), true), 'challenge',
        'challenge is none, colour_flash or motion.', 'PAYLOAD_INVALID', 'challenge');
    PERFORM insp.require(coalesce(p ->> 'fallback' IN ('none', 'review'), true), 'fallback', 'fallback is none or review.',
        'PAYLOAD_INVALID', 'fallback');
    PERFORM insp.require(coalesce(p ->> 'locale' ~ '^[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?$', true), 'locale', 'A locale is de, or de-AT.',
        'PAYLOAD_INVALID', 'locale');
END
$$;
COMMENT ON FUNCTION insp.check_capture_options(jsonb) IS 'Refuses options that a link''s page does not support';

CREATE OR REPLACE FUNCTION insp.capture_consent(p insp.partner, p_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('obtained', 'yes', 'obtainedAt', insp.iso_time(p_at), 'policyVersion', p.consent_policy_version,
        'purposes', CASE WHEN p.consent_purposes <> '{}' THEN to_jsonb(p.consent_purposes) END))
$$;
COMMENT ON FUNCTION insp.capture_consent(insp.partner, timestamptz) IS
    'The consent of a person who agrees to what a page shows: the partner''s policy as it is now';

CREATE OR REPLACE FUNCTION insp.capture_repeat(
    p_credential bigint, p_idempotency bytea, p_digest bytea, p_token_sha256 bytea
) RETURNS insp.capture_session
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    s insp.capture_session;
BEGIN
    UPDATE insp.capture_session x SET idempotency_key = NULL, request_digest = NULL
    WHERE x.credential_id = p_credential AND x.idempotency_key = p_idempotency AND x.expires_at <= clock_timestamp();
    SELECT * INTO s FROM insp.capture_session x
    WHERE x.credential_id = p_credential AND x.idempotency_key = p_idempotency FOR NO KEY UPDATE;
    IF s.id IS NULL THEN
        RETURN NULL;
    ELSIF s.request_digest IS DISTINCT FROM p_digest THEN
        PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', p_field => 'idempotencyKey');
    ELSIF s.browser_sha256 IS NOT NULL THEN
        -- Another token would take the link from the person who has begun.
        PERFORM insp.refuse('LINK_TAKEN');
    END IF;
    UPDATE insp.capture_session x SET token_sha256 = p_token_sha256 WHERE x.id = s.id RETURNING * INTO s;
    RETURN s;
END
$$;
COMMENT ON FUNCTION insp.capture_repeat(bigint, bytea, bytea, bytea) IS
    'The link that was made under an idempotency key and has not expired, with a new token, since the earlier one is not stored and its answer was lost; null: there is none. Refuses another request, and a link that a person has opened';

CREATE OR REPLACE FUNCTION insp.capture_create(
    p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_options jsonb DEFAULT '{}', p_sealed bytea DEFAULT NULL,
    p_idempotency bytea DEFAULT NULL, p_digest bytea DEFAULT NULL, OUT token text, OUT expires_at text, OUT id uuid, OUT repeated boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'capture');
    keys constant text[] := ARRAY['workflow', 'documentFormat', 'documentTypes', 'countries', 'customerInternalReference', 'userReference',
        'reportingCriteria', 'callbackUrl', 'review'];
    partner insp.partner;
    flow insp.workflow;
    method text;
    parts text[];
    url text;
    problem text;
    made insp.capture_session;
BEGIN
    PERFORM insp.require(p_id IS NOT NULL, 'id');
    PERFORM insp.require(coalesce(length(p_idempotency) = 32, true) AND coalesce(length(p_digest) = 32, true)
        AND (p_idempotency IS NULL) = (p_digest IS NULL), 'idempotency');
    PERFORM insp.require(jsonb_typeof(p_payload) = 'object', 'not an object', NULL, 'PAYLOAD_INVALID');
    IF p_payload - keys <> '{}' THEN
        problem := (SELECT k FROM jsonb_object_keys(p_payload - keys) k ORDER BY k LIMIT 1);
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ' || left(quote_literal(problem), 40),
            format('Keys are %s, challenge, fallback, showResult, locale, embedOrigin, returnUrl, lifetimeSeconds, sessionSeconds.',
                array_to_string(keys, ', ')), left(problem, 40));
    END IF;
    PERFORM insp.check_capture_options(p_options);
    SELECT * INTO partner FROM insp.partner p WHERE p.id = number;
    IF p_sealed IS NULL AND EXISTS (SELECT FROM insp.custody) THEN
        PERFORM insp.refuse('KEY_MISSING', 'the gateway passes a request that is not sealed');
    END IF;
    PERFORM insp.require(coalesce(octet_length(p_sealed) <= 65536, true), 'sealed', NULL, 'PAYLOAD_TOO_LARGE');
    SELECT * INTO flow FROM insp.workflow w
    WHERE to_jsonb(w.name) = p_payload -> 'workflow' AND w.captures <> '{}';
    IF flow.name IS NULL THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'workflow', (SELECT format('A link''s workflow is %s.',
            regexp_replace(string_agg(w.name, ', ' ORDER BY w.place), ', (\w+)$', ' or \1'))
            FROM insp.workflow w WHERE w.captures <> '{}'), 'workflow');
    END IF;
    PERFORM insp.require('FRONT' <> ALL (flow.captures) OR p_payload ? 'documentFormat', 'documentFormat is missing',
        'The page shows a frame of the format TD1, TD2 or TD3.', 'PAYLOAD_INVALID', 'documentFormat');
    method := coalesce(p_options ->> 'challenge',
        CASE WHEN 'FRAMES' = ANY (flow.captures) THEN 'colour_flash' ELSE 'none' END);
    PERFORM insp.require(method = 'none' OR 'FRAMES' = ANY (flow.captures), 'challenge',
        'The workflow takes no challenge.', 'PAYLOAD_INVALID', 'challenge');
    parts := insp.capture_parts(flow, p_payload ->> 'documentFormat', method);
    -- What the job would be refused for, the partner's server should know, and not the person with the phone. A consent is given
    -- on the page.
    PERFORM insp.try_request(insp.gateway_payload(number, 'capture', p_payload)
        || jsonb_build_object('consent', insp.capture_consent(partner, now())), parts);
    url := p_options ->> 'returnUrl';
    IF url IS NOT NULL THEN
        problem := insp.url_problem(url, 2048, false, false);
        IF problem IS NULL AND (partner.capture_hosts IS NULL OR NOT insp.is_listed_host(url, partner.capture_hosts)) THEN
            PERFORM insp.refuse('RETURN_URL_INVALID', 'its host is not one that the partner registered',
                'Hosts are ' || array_to_string(partner.capture_hosts, ', ') || '.', 'returnUrl');
        ELSIF problem IS NOT NULL THEN
            PERFORM insp.refuse('RETURN_URL_INVALID', problem, p_field => 'returnUrl');
        END IF;
    END IF;
    IF p_options ? 'embedOrigin' THEN
        PERFORM insp.require((SELECT p_options ->> 'embedOrigin' = ANY (c.origins) FROM insp.credential c WHERE c.id = p_credential),
            'embedOrigin', 'It is one of the credential''s origins.', 'PAYLOAD_INVALID', 'embedOrigin');
    END IF;
    -- Each call deletes a few expired ones, so that the table does not grow between two rounds of retention.
    DELETE FROM insp.capture_session s WHERE s.id = ANY (ARRAY(
        SELECT x.id FROM insp.capture_session x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED));
    token := insp.random_token();
    made := insp.capture_repeat(p_credential, p_idempotency, p_digest, sha256(convert_to(token, 'UTF8')));
    repeated := made.id IS NOT NULL;
    IF NOT repeated THEN
        INSERT INTO insp.capture_session AS s (id, partner_id, credential_id, token_sha256, request, return_url, sealed, user_index,
            idempotency_key, request_digest, parts, challenge, fallback, shows_result, locale, embed_origin, expires_at, session_seconds)
        VALUES (p_id, number, p_credential, sha256(convert_to(token, 'UTF8')), p_payload, CASE WHEN p_sealed IS NULL THEN url END, p_sealed,
            insp.reference_index(p_payload ->> 'userReference'), p_idempotency, p_digest, parts, method, coalesce(p_options ->> 'fallback', 'none'),
            coalesce((p_options ->> 'showResult')::boolean, false), p_options ->> 'locale', p_options ->> 'embedOrigin',
            now() + coalesce((p_options ->> 'lifetimeSeconds')::integer, 900) * interval '1 second',
            coalesce((p_options ->> 'sessionSeconds')::integer, 1800))
        ON CONFLICT DO NOTHING RETURNING * INTO made;
        IF made.id IS NULL THEN
            -- Another call under the same key was faster.
            made := insp.capture_repeat(p_credential, p_idempotency, p_digest, sha256(convert_to(token, 'UTF8')));
            repeated := true;
        END IF;
    END IF;
    PERFORM insp.require(made.id IS NOT NULL, 'id');
    id := made.id;
    expires_at := insp.iso_time(made.expires_at);
    PERFORM insp.record_access(p_credential, 'capture', 'capture', NULL, jsonb_build_object('capture', made.id));
END
$$;
COMMENT ON FUNCTION insp.capture_create(bigint, bytea, uuid, jsonb, jsonb, bytea, bytea, bytea) IS
    'Makes a link for one job of a credential''s partner, and returns its token, which is not stored, until when it can be begun, and its id: p_id, or that of the link that was made before under the same digest p_idempotency of an idempotency key, which has a new token then; p_digest is that of the request. p_payload: as of insp.enqueue_parts, without challenge and consent; of a sealed request with pseudonyms, and p_sealed has what they stand for, and the return URL, of which p_options then has the origin. p_options: challenge (none, colour_flash, motion), fallback (none, review), showResult, locale, embedOrigin (one of the credential''s origins), returnUrl (on one of the partner''s hosts), lifetimeSeconds (900) until it is begun, sessionSeconds (1800) from then on';
GRANT EXECUTE ON FUNCTION insp.capture_create(bigint, bytea, uuid, jsonb, jsonb, bytea, bytea, bytea) TO insp_gateway;
