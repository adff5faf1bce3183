-- Liveness challenges: issued here, signed, consumed by the job that answers them.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('CHALLENGE_INVALID', 'IN025', 'the liveness challenge is none that was issued to this partner', false),
    ('CHALLENGE_EXPIRED', 'IN026', 'the liveness challenge has expired', false),
    ('CHALLENGE_USED', 'IN027', 'the liveness challenge was used before', false);

CREATE TABLE insp.challenge_key (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Two random UUIDs carry 244 bits of the server's strong random source.
    key bytea NOT NULL DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
        CHECK (length(key) = 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO insp.challenge_key DEFAULT VALUES;
COMMENT ON TABLE insp.challenge_key IS 'Keys that sign liveness challenges; the newest signs. No role may read it';
COMMENT ON COLUMN insp.challenge_key.id IS 'Number of the key; a token names it';
COMMENT ON COLUMN insp.challenge_key.key IS 'The key, 32 bytes';
COMMENT ON COLUMN insp.challenge_key.created_at IS 'When it was made';

CREATE TABLE insp.challenge (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    partner_id integer NOT NULL,
    spec jsonb NOT NULL,
    issued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    job_id bigint
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX challenge_expires ON insp.challenge (expires_at);
COMMENT ON TABLE insp.challenge IS
    'Liveness challenges that were issued and are not long expired; the job that consumed one carries what was asked in its payload';
COMMENT ON COLUMN insp.challenge.id IS 'Random name';
COMMENT ON COLUMN insp.challenge.partner_id IS 'Whose challenge; no other partner''s job can use it';
COMMENT ON COLUMN insp.challenge.spec IS 'What is asked: colours with their duration, motions with their time';
COMMENT ON COLUMN insp.challenge.issued_at IS 'When it was issued';
COMMENT ON COLUMN insp.challenge.expires_at IS 'A job that arrives later is refused';
COMMENT ON COLUMN insp.challenge.consumed_at IS 'When a job used it; a second one is refused';
COMMENT ON COLUMN insp.challenge.job_id IS 'The job that used it';
GRANT SELECT (id, partner_id, issued_at, expires_at, consumed_at, job_id) ON insp.challenge TO insp_operator, insp_auditor;

CREATE FUNCTION insp.hmac_sha256(p_key bytea, p_message bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, insp, pg_temp AS $$
    -- RFC 2104: the key, filled up to the 64 bytes of a block, over 0x36 for the inner digest and over 0x5c for the outer.
    SELECT sha256(k.outer_pad || sha256(k.inner_pad || p_message))
    FROM (
        SELECT string_agg(set_byte('\x00'::bytea, 0, b.byte # 54), ''::bytea ORDER BY b.n) AS inner_pad,
            string_agg(set_byte('\x00'::bytea, 0, b.byte # 92), ''::bytea ORDER BY b.n) AS outer_pad
        FROM (
            SELECT n, CASE WHEN n < length(s.key) THEN get_byte(s.key, n) ELSE 0 END AS byte
            FROM (SELECT CASE WHEN length(p_key) > 64 THEN sha256(p_key) ELSE p_key END AS key) s, generate_series(0, 63) n
        ) b
    ) k
$$;
COMMENT ON FUNCTION insp.hmac_sha256(bytea, bytea) IS 'HMAC with SHA-256 (RFC 2104)';

CREATE FUNCTION insp.draw(p_key bytea, p_purpose text, p_kinds integer, p_count integer) RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    drawn integer[] := '{}';
    pool bytea := '';
    used integer := 0;
    block integer := 0;
    byte integer;
    kinds integer;
BEGIN
    WHILE cardinality(drawn) < p_count LOOP
        IF used >= length(pool) THEN
            pool := insp.hmac_sha256(p_key, convert_to(p_purpose || block, 'UTF8'));
            block := block + 1;
            used := 0;
        END IF;
        byte := get_byte(pool, used);
        used := used + 1;
        -- All equally likely: the bytes at the end that do not come out even are passed over. No two in a row are alike.
        kinds := CASE WHEN drawn = '{}' THEN p_kinds ELSE p_kinds - 1 END;
        CONTINUE WHEN byte >= 256 - 256 % kinds;
        drawn := drawn || CASE WHEN drawn = '{}' THEN byte % kinds
            ELSE (drawn[cardinality(drawn)] + 1 + byte % kinds) % p_kinds END;
    END LOOP;
    RETURN drawn;
END
$$;
COMMENT ON FUNCTION insp.draw(bytea, text, integer, integer) IS
    'A sequence of numbers below p_kinds, no two in a row alike, drawn by a key: every such sequence is equally likely';

CREATE FUNCTION insp.challenge_issue(
    partner text,
    method text DEFAULT 'colour_flash',
    colours integer DEFAULT 7,
    colour_ms integer DEFAULT 400,
    steps integer DEFAULT 3,
    motions text[] DEFAULT ARRAY['MOUTH_OPEN', 'SMILE', 'BLINK', 'SHAKE', 'NOD'],
    step_timeout_ms integer DEFAULT 7000,
    lifetime interval DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    names constant text[] := ARRAY['RED', 'GREEN', 'BLUE', 'CYAN', 'MAGENTA', 'YELLOW'];
    owner integer;
    key insp.challenge_key;
    nonce bytea;
    made insp.challenge;
    asked jsonb := '{}';
    term interval;
    body text;
BEGIN
    SELECT p.id INTO owner FROM insp.partner p WHERE p.name = challenge_issue.partner AND p.enabled;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN');
    ELSIF challenge_issue.method NOT IN ('colour_flash', 'motion', 'colour_flash+motion') THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'method is none of colour_flash, motion, colour_flash+motion');
    ELSIF challenge_issue.colours NOT BETWEEN 6 AND 8 OR challenge_issue.steps NOT BETWEEN 1 AND 5 THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'colours is 6 to 8, steps 1 to 5');
    ELSIF challenge_issue.colour_ms NOT BETWEEN 334 AND 1000 THEN
        -- At most three changes a second, for the sake of photosensitive people (WCAG 2.2, 2.3.1).
        PERFORM insp.refuse('PAYLOAD_INVALID', 'colour_ms is 334 to 1000');
    ELSIF challenge_issue.step_timeout_ms NOT BETWEEN 1000 AND 30000 THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'step_timeout_ms is 1000 to 30000');
    ELSIF NOT challenge_issue.motions <@ ARRAY['MOUTH_OPEN', 'SMILE', 'BLINK', 'SHAKE', 'NOD']
        OR (SELECT count(DISTINCT m) FROM unnest(challenge_issue.motions) m) <> cardinality(challenge_issue.motions)
        OR cardinality(challenge_issue.motions) < 2 THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'motions are two or more of MOUTH_OPEN, SMILE, BLINK, SHAKE, NOD');
    END IF;
    term := coalesce(challenge_issue.lifetime, interval '30 seconds' + CASE WHEN challenge_issue.method LIKE '%motion'
        THEN make_interval(secs => challenge_issue.steps * challenge_issue.step_timeout_ms / 1000.0) ELSE interval '0' END);
    IF term NOT BETWEEN interval '5 seconds' AND interval '5 minutes' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'lifetime is 5 seconds to 5 minutes');
    END IF;
    SELECT * INTO STRICT key FROM insp.challenge_key k ORDER BY k.id DESC LIMIT 1;
    nonce := insp.hmac_sha256(key.key, convert_to(gen_random_uuid()::text, 'UTF8'));
    IF challenge_issue.method LIKE 'colour_flash%' THEN
        asked := jsonb_build_object('colourMs', challenge_issue.colour_ms, 'colours',
            (SELECT jsonb_agg(names[d.kind + 1] ORDER BY d.n)
             FROM unnest(insp.draw(nonce, 'colours', 6, challenge_issue.colours)) WITH ORDINALITY AS d (kind, n)));
    END IF;
    IF challenge_issue.method LIKE '%motion' THEN
        asked := asked || jsonb_build_object('stepTimeoutMs', challenge_issue.step_timeout_ms, 'steps',
            (SELECT jsonb_agg(challenge_issue.motions[d.kind + 1] ORDER BY d.n) FROM unnest(insp.draw(nonce, 'steps',
                cardinality(challenge_issue.motions), challenge_issue.steps)) WITH ORDINALITY AS d (kind, n)));
    END IF;
    -- Those that nobody can use any more go a few at a time, so that the table needs no other care.
    DELETE FROM insp.challenge c WHERE c.id IN (
        SELECT x.id FROM insp.challenge x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    INSERT INTO insp.challenge AS c (partner_id, spec, expires_at) VALUES (owner, asked, clock_timestamp() + term)
    RETURNING * INTO made;
    body := format('1.%s.%s.%s', key.id, ceil(extract(epoch FROM made.expires_at)), made.id);
    RETURN asked || jsonb_build_object('id', made.id, 'method', challenge_issue.method,
        'expiresAt', insp.iso_time(made.expires_at),
        'token', body || '.' || encode(insp.hmac_sha256(key.key, convert_to(body, 'UTF8')), 'hex'));
END
$$;
COMMENT ON FUNCTION insp.challenge_issue(text, text, integer, integer, integer, text[], integer, interval) IS
    'Issues a liveness challenge to a partner: colours to be shown, motions to be asked for, in an order drawn at random. Single use; a job takes it as payload key challenge: {"token", "frameTimes": [milliseconds since the first colour or instruction, one for each frame, negative before]}. method: colour_flash, motion or colour_flash+motion';

CREATE FUNCTION insp.check_challenge(p jsonb, p_flow text, p_kinds text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given constant jsonb := p -> 'challenge';
BEGIN
    IF given IS NULL THEN
        RETURN;
    ELSIF jsonb_typeof(given) <> 'object' OR given - ARRAY['token', 'frameTimes'] <> '{}'
        OR jsonb_typeof(given -> 'token') IS DISTINCT FROM 'string'
        OR jsonb_typeof(given -> 'frameTimes') IS DISTINCT FROM 'array' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'challenge is not an object of token and frameTimes');
    ELSIF jsonb_array_length(given -> 'frameTimes') NOT BETWEEN 1 AND 256 OR EXISTS (
        SELECT FROM jsonb_array_elements(given -> 'frameTimes') t
        WHERE jsonb_typeof(t) <> 'number' OR abs(t::numeric) > 600000) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'challenge.frameTimes are 1 to 256 milliseconds');
    ELSIF p_flow NOT IN ('liveness', 'id_identity', 'authentication', 'enrollment') THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_flow || ' takes no challenge');
    ELSIF 'FRAMES' <> ALL (p_kinds) THEN
        PERFORM insp.refuse('PART_MISSING', 'FRAMES, which a challenge asks for');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_challenge(jsonb, text, text[]) IS 'Refuses the challenge of a payload if its form is wrong';

CREATE FUNCTION insp.consume_challenge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    piece constant text[] := regexp_match(NEW.payload #>> '{challenge,token}',
        '^(1\.([0-9]{1,4})\.([0-9]{1,12})\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))\.([0-9a-f]{64})$');
    signature bytea;
    used insp.challenge;
BEGIN
    IF piece IS NOT NULL THEN
        SELECT insp.hmac_sha256(k.key, convert_to(piece[1], 'UTF8')) INTO signature
        FROM insp.challenge_key k WHERE k.id = piece[2]::integer;
    END IF;
    -- Digests are compared, so that how long it takes tells nothing of the signature.
    IF signature IS NULL OR sha256(signature) <> sha256(decode(piece[5], 'hex')) THEN
        PERFORM insp.refuse('CHALLENGE_INVALID');
    ELSIF piece[3]::bigint < extract(epoch FROM clock_timestamp()) THEN
        PERFORM insp.refuse('CHALLENGE_EXPIRED');
    END IF;
    -- Of two jobs at once the second waits for the first, and finds the challenge used, or free again if the first was
    -- rolled back.
    UPDATE insp.challenge c SET consumed_at = clock_timestamp(), job_id = NEW.id
    WHERE c.id = piece[4]::uuid AND c.partner_id = NEW.partner_id AND c.consumed_at IS NULL
    RETURNING * INTO used;
    IF NOT FOUND THEN
        PERFORM insp.refuse(CASE WHEN EXISTS (SELECT FROM insp.challenge c
            WHERE c.id = piece[4]::uuid AND c.partner_id = NEW.partner_id) THEN 'CHALLENGE_USED' ELSE 'CHALLENGE_INVALID' END);
    ELSIF used.expires_at < clock_timestamp() THEN
        PERFORM insp.refuse('CHALLENGE_EXPIRED');
    END IF;
    -- From here on the job carries what was asked: no attempt and no rerun looks at the challenge again.
    NEW.payload := NEW.payload || jsonb_build_object('challenge', used.spec || jsonb_build_object('id', used.id,
        'frameTimes', NEW.payload #> '{challenge,frameTimes}',
        'ageMs', round(1000 * extract(epoch FROM clock_timestamp() - used.issued_at))));
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION insp.consume_challenge() IS
    'Uses up the challenge of a new job, in the transaction that accepts the job, and puts what was asked into its payload';
-- A rerun has the challenge of the job that it repeats; no request can name rerunOf.
CREATE TRIGGER consume_challenge BEFORE INSERT ON insp.job FOR EACH ROW
    WHEN (NEW.payload ? 'challenge' AND NOT NEW.payload ? 'rerunOf') EXECUTE FUNCTION insp.consume_challenge();

-- All that a request may say since 0008: reviews (a payload's key takes precedence over the partner's), faces, challenges, and
-- chips without a picture.
CREATE OR REPLACE FUNCTION insp.check_request(p jsonb, p_inline text[]) RETURNS insp.request
LANGUAGE plpgsql STABLE AS $$
DECLARE
    r insp.request;
    partner insp.partner;
    endpoint insp.endpoint;
    flow text;
    kinds text[] := p_inline;
    name text;
    needle text;
    value jsonb;
    problem text;
    review text;
BEGIN
    IF p IS NULL OR jsonb_typeof(p) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'not an object');
    ELSIF pg_column_size(p) > 16384 THEN
        PERFORM insp.refuse('PAYLOAD_TOO_LARGE');
    END IF;
    value := p - ARRAY['partner', 'workflow', 'documentFormat', 'documentTypes', 'countries', 'customerInternalReference',
        'userReference', 'reportingCriteria', 'callbackUrl', 'idempotencyKey', 'digests', 'parts', 'lane', 'region',
        'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'challenge', 'consent', 'review', 'faceId', 'threshold', 'enrollmentMode'];
    IF value <> '{}' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key '
            || (SELECT left(quote_literal(k), 40) FROM jsonb_object_keys(value) k ORDER BY k LIMIT 1));
    END IF;

    IF NOT p ? 'partner' THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', 'the payload names no partner');
    END IF;
    needle := insp.request_text(p, 'partner');
    SELECT * INTO partner FROM insp.partner x WHERE x.name = needle;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN');
    ELSIF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    SELECT * INTO endpoint FROM insp.endpoint x WHERE x.partner_id = partner.id AND x.is_default;
    r.partner_id := partner.id;
    r.endpoint_id := endpoint.id;

    IF NOT p ? 'workflow' THEN
        PERFORM insp.refuse('WORKFLOW_UNKNOWN', 'the payload names no workflow');
    END IF;
    -- Jumio's keys come as numbers and as strings.
    name := CASE WHEN jsonb_typeof(p -> 'workflow') = 'number' THEN p ->> 'workflow' ELSE insp.request_text(p, 'workflow') END;
    flow := CASE name WHEN '2' THEN 'id' WHEN '3' THEN 'id_identity' WHEN '5' THEN 'similarity' WHEN '6' THEN 'liveness'
        WHEN '9' THEN 'authentication' ELSE name END;
    IF insp.definition_key(flow) IS NULL THEN
        PERFORM insp.refuse('WORKFLOW_UNKNOWN', left(quote_literal(name), 40));
    END IF;

    r.lane := partner.lane;
    IF p ? 'lane' THEN
        r.lane := CASE insp.request_text(p, 'lane') WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END;
        IF r.lane IS NULL THEN
            PERFORM insp.refuse('LANE_UNKNOWN', left(quote_literal(p ->> 'lane'), 40));
        END IF;
    END IF;
    r.region := coalesce(partner.region, 0);
    IF p ? 'region' THEN
        needle := insp.request_text(p, 'region');
        SELECT g.id INTO r.region FROM insp.region g WHERE g.name = needle;
        IF NOT FOUND THEN
            PERFORM insp.refuse('REGION_INVALID', left(quote_literal(p ->> 'region'), 40));
        END IF;
    END IF;

    FOREACH name IN ARRAY ARRAY['customerInternalReference', 'userReference', 'reportingCriteria', 'idempotencyKey'] LOOP
        CONTINUE WHEN NOT p ? name;
        IF length(insp.request_text(p, name)) > 100 THEN
            PERFORM insp.refuse('IDENTIFIER_TOO_LONG', name);
        END IF;
    END LOOP;
    IF p ? 'idempotencyKey' THEN
        r.idempotency_key := p ->> 'idempotencyKey';
        IF r.idempotency_key = '' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'idempotencyKey is empty');
        END IF;
    END IF;

    IF p ? 'documentFormat' THEN
        IF insp.request_text(p, 'documentFormat') NOT IN ('TD1', 'TD2', 'TD3') THEN
            PERFORM insp.refuse('DOCUMENT_FORMAT_UNKNOWN', left(quote_literal(p ->> 'documentFormat'), 40));
        END IF;
    END IF;
    IF p ? 'documentTypes' THEN
        IF jsonb_typeof(p -> 'documentTypes') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'documentTypes is not an array');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'documentTypes') e LOOP
            IF value NOT IN ('"PASSPORT"', '"VISA"', '"DRIVING_LICENSE"', '"ID_CARD"') THEN
                PERFORM insp.refuse('DOCUMENT_TYPE_UNKNOWN', left(quote_literal(value #>> '{}'), 40));
            END IF;
        END LOOP;
    END IF;
    IF p ? 'countries' THEN
        IF jsonb_typeof(p -> 'countries') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'countries is not an array');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'countries') e LOOP
            IF jsonb_typeof(value) <> 'string' OR NOT EXISTS (SELECT FROM insp.country c WHERE c.code = value #>> '{}') THEN
                PERFORM insp.refuse('COUNTRY_INVALID', left(quote_literal(value #>> '{}'), 40));
            END IF;
        END LOOP;
    END IF;

    IF p ? 'callbackUrl' THEN
        problem := insp.url_problem(insp.request_text(p, 'callbackUrl'), 255, coalesce(endpoint.allow_http, false),
            coalesce(endpoint.allow_private, false));
        IF problem IS NULL AND endpoint.id IS NULL THEN
            problem := 'the partner has no endpoint whose secret could sign';
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
        END IF;
        r.callback_url := p ->> 'callbackUrl';
    ELSIF partner.callback_required AND endpoint.url IS NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_MISSING');
    END IF;

    IF p ? 'consent' AND jsonb_typeof(p -> 'consent') <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'consent is not an object');
    ELSIF partner.consent_required AND NOT (
        coalesce(p #>> '{consent,obtained}', '') IN ('yes', 'true') AND p #> '{consent}' ? 'obtainedAt') THEN
        PERFORM insp.refuse('CONSENT_MISSING', 'consent needs obtained and obtainedAt');
    END IF;
    IF p #> '{consent}' ? 'obtainedAt' THEN
        PERFORM insp.request_time(p -> 'consent', 'obtainedAt');
    END IF;

    PERFORM insp.check_face_request(p, flow);

    review := partner.review;
    IF p ? 'review' THEN
        review := insp.request_text(p, 'review');
        IF review NOT IN ('never', 'rejected', 'warning', 'always') THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'review is none of never, rejected, warning, always');
        END IF;
    END IF;

    IF p ? 'traceparent' THEN
        r.traceparent := insp.request_text(p, 'traceparent');
        IF r.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'traceparent is not a W3C trace context');
        END IF;
    END IF;

    IF p ? 'delaySeconds' THEN
        IF p ? 'runAt' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'both delaySeconds and runAt');
        ELSIF jsonb_typeof(p -> 'delaySeconds') <> 'number' OR (p -> 'delaySeconds')::numeric NOT BETWEEN 0 AND 2592000 THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'delaySeconds is not a number from 0 to 2592000');
        ELSIF (p -> 'delaySeconds')::numeric > 0 THEN
            r.run_at := now() + make_interval(secs => (p -> 'delaySeconds')::double precision);
        END IF;
    ELSIF p ? 'runAt' THEN
        r.run_at := insp.request_time(p, 'runAt');
        IF r.run_at > now() + interval '30 days' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'runAt is more than 30 days ahead');
        END IF;
    END IF;
    r.expires_named := p ? 'expiresAt';
    r.expires_at := CASE WHEN r.expires_named THEN insp.request_time(p, 'expiresAt')
        ELSE greatest(now(), coalesce(r.run_at, now())) + partner.job_lifetime END;
    IF r.expires_at <= greatest(now(), coalesce(r.run_at, now())) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'expiresAt is not in the future, or not after runAt');
    END IF;

    IF p ? 'parts' THEN
        PERFORM insp.check_part_urls(p -> 'parts', coalesce(endpoint.allow_http, false),
            coalesce(endpoint.allow_private, false));
        r.part_urls := p -> 'parts';
        kinds := ARRAY(SELECT jsonb_object_keys(r.part_urls));
        IF kinds && p_inline THEN
            PERFORM insp.refuse('PART_UNEXPECTED',
                (SELECT k FROM unnest(kinds) k WHERE k = ANY (p_inline) LIMIT 1) || ' was given both as bytes and by URL');
        END IF;
        kinds := kinds || p_inline;
    END IF;
    IF p ? 'digests' THEN
        r.digests := p -> 'digests';
        IF jsonb_typeof(r.digests) <> 'object' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'digests is not an object');
        END IF;
        FOR name, value IN SELECT d.key, d.value FROM jsonb_each(r.digests) d LOOP
            IF name <> ALL (insp.part_kinds()) THEN
                PERFORM insp.refuse('PART_UNKNOWN', left(quote_literal(name), 40));
            ELSIF name <> ALL (p_inline) THEN
                PERFORM insp.refuse('PART_MISSING', name || ' has a digest but was not given');
            ELSIF name = 'FRAMES' AND jsonb_typeof(value) <> 'array' OR name <> 'FRAMES' AND jsonb_typeof(value) <> 'string' THEN
                PERFORM insp.refuse('DIGEST_INVALID', name);
            END IF;
        END LOOP;
    END IF;

    IF p ->> 'documentFormat' = 'TD3' AND 'BACK' = ANY (kinds) THEN
        PERFORM insp.refuse('PART_UNEXPECTED', 'BACK of a TD3 document');
    END IF;
    IF flow IN ('liveness', 'authentication', 'enrollment') AND kinds && ARRAY['FRONT', 'BACK', 'DG1', 'DG2', 'SOD'] THEN
        PERFORM insp.refuse('PART_UNEXPECTED', flow || ' takes no document');
    END IF;
    problem := CASE
        -- A chip alone says who the holder is; there is no picture to judge then.
        WHEN flow = 'id' AND NOT kinds && ARRAY['FRONT', 'SOD'] THEN 'FRONT or SOD'
        WHEN flow IN ('id_identity', 'similarity') AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        WHEN flow IN ('similarity', 'authentication', 'enrollment') AND 'FACE' <> ALL (kinds) THEN 'FACE'
        WHEN flow = 'liveness' AND NOT kinds && ARRAY['FACE', 'FRAMES', 'SESSION_BLOB'] THEN 'FACE, FRAMES or SESSION_BLOB'
        WHEN 'BACK' = ANY (kinds) AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        END;
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('PART_MISSING', problem);
    END IF;

    PERFORM insp.check_challenge(p, flow, kinds);

    r.payload := (p - ARRAY['parts', 'digests', 'idempotencyKey', 'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'lane', 'review'])
        || jsonb_build_object('workflow', flow)
        -- Stored only where somebody must look: workers decide by it, and most jobs need no word about it.
        || CASE review WHEN 'never' THEN '{}' ELSE jsonb_build_object('review', review) END
        || CASE WHEN partner.liveness_evidence_suffices
            AND flow IN ('id_identity', 'liveness', 'authentication', 'enrollment')
            THEN jsonb_build_object('evidenceSuffices', true) ELSE '{}' END;
    RETURN r;
END
$$;

GRANT EXECUTE ON FUNCTION insp.challenge_issue(text, text, integer, integer, integer, text[], integer, interval)
TO insp_producer, insp_operator;
