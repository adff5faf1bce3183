-- What a request must be. Everything is checked here, so that each caller in each language gets the same one clear error.
--
-- The helpers that callers cannot execute set no search_path: they run under that of the entry function, and a setting
-- costs more than most of them do.

CREATE TYPE insp.request AS (
    partner_id integer,
    endpoint_id bigint,
    payload jsonb,
    lane smallint,
    region smallint,
    run_at timestamptz,
    expires_at timestamptz,
    expires_named boolean,
    callback_url text,
    idempotency_key text,
    traceparent text,
    digests jsonb,
    part_urls jsonb
);
COMMENT ON TYPE insp.request IS 'A payload that was checked, taken apart';

CREATE FUNCTION insp.url_problem(p_url text, p_max integer, p_allow_http boolean, p_allow_private boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    piece text[];
    host text;
BEGIN
    -- The common case in one look; everything else is taken apart to say what is wrong.
    IF length(p_url) <= p_max AND p_url ~ '^https://([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}(/[!"$-[\]-~]*)?$'
        AND p_url !~ '^https://[^/]*\.(local|localhost|internal|intranet|lan|home|arpa|invalid|onion)(/|$)' THEN
        RETURN NULL;
    END IF;
    IF length(p_url) > p_max THEN
        RETURN format('longer than %s characters', p_max);
    ELSIF p_url ~ '[^\x21-\x7e]' THEN
        RETURN 'holds a character other than printable ASCII';
    END IF;
    piece := regexp_match(p_url, '^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)([^#\\]*)(#?)');
    IF piece IS NULL THEN
        RETURN 'not an absolute URL';
    ELSIF lower(piece[1]) <> 'https' AND NOT (lower(piece[1]) = 'http' AND p_allow_http) THEN
        RETURN 'not https';
    ELSIF p_url ~ '#' THEN
        RETURN 'has a fragment';
    ELSIF p_url ~ '\\' THEN
        RETURN 'has a backslash';
    ELSIF piece[2] ~ '@' THEN
        RETURN 'has user information';
    END IF;
    host := lower(piece[2]);
    IF p_allow_private THEN
        IF host !~ '^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$' THEN
            RETURN 'has no valid host';
        END IF;
        RETURN NULL;
    END IF;
    -- A last label of digits alone is an IPv4 address to resolvers, in whatever notation (127.1, 2130706433, 0x7f.1).
    IF host ~ '^\[' OR host ~ '(^|\.)([0-9]+|0x[0-9a-f]*)\.?$' THEN
        RETURN 'has an IP address in place of a host name';
    ELSIF host ~ ':' THEN
        RETURN 'has a port';
    ELSIF host !~ '^([a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$' THEN
        RETURN 'has no fully qualified host name';
    ELSIF host ~ '\.(local|localhost|internal|intranet|lan|home|arpa|invalid|onion)$' THEN
        RETURN 'has a host name that is not public';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.url_problem(text, integer, boolean, boolean) IS
    'What is wrong with a URL to call, or null. Addresses are checked again when the name is resolved';

CREATE FUNCTION insp.request_text(p_payload jsonb, p_key text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF jsonb_typeof(p_payload -> p_key) <> 'string' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a string');
    END IF;
    RETURN p_payload ->> p_key;
END
$$;
COMMENT ON FUNCTION insp.request_text(jsonb, text) IS 'A string of a payload; refuses other types';

CREATE FUNCTION insp.request_time(p_payload jsonb, p_key text) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    value constant text := insp.request_text(p_payload, p_key);
BEGIN
    -- RFC 3339 alone: PostgreSQL's own words for times (now, infinity, 04:05 yesterday) are no one's contract.
    IF value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a time as RFC 3339 has it');
    END IF;
    RETURN value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
    PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a time as RFC 3339 has it');
END
$$;
COMMENT ON FUNCTION insp.request_time(jsonb, text) IS 'A time of a payload (RFC 3339 with its offset); refuses other types';

CREATE FUNCTION insp.check_part_url(p_kind text, p_part jsonb, p_allow_http boolean, p_allow_private boolean) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    problem text;
BEGIN
    IF jsonb_typeof(p_part) <> 'object' OR p_part - ARRAY['url', 'sha256'] <> '{}' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', format('parts.%s is not an object of url and sha256', p_kind));
    ELSIF jsonb_typeof(p_part -> 'url') IS DISTINCT FROM 'string' THEN
        PERFORM insp.refuse('PART_URL_INVALID', p_kind || ': no url');
    ELSIF coalesce(p_part ->> 'sha256', '') !~ '^[0-9A-Fa-f]{64}$' THEN
        PERFORM insp.refuse('DIGEST_INVALID', p_kind || ': a part by URL needs its sha256');
    END IF;
    problem := insp.url_problem(p_part ->> 'url', 2048, p_allow_http, p_allow_private);
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('PART_URL_INVALID', p_kind || ': ' || problem);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_part_url(text, jsonb, boolean, boolean) IS 'Refuses a part by URL if anything in it is wrong';

CREATE FUNCTION insp.check_part_urls(p_parts jsonb, p_allow_http boolean, p_allow_private boolean) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    kind text;
    part jsonb;
BEGIN
    IF jsonb_typeof(p_parts) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'parts is not an object');
    END IF;
    FOR kind IN SELECT k FROM jsonb_object_keys(p_parts) k LOOP
        part := p_parts -> kind;
        IF kind <> ALL (ARRAY['FRONT', 'BACK', 'FACE', 'FRAMES', 'DG1', 'DG2', 'SOD', 'SESSION_BLOB']) THEN
            PERFORM insp.refuse('PART_UNKNOWN', left(quote_literal(kind), 40));
        ELSIF jsonb_typeof(part) <> 'array' THEN
            PERFORM insp.check_part_url(kind, part, p_allow_http, p_allow_private);
        ELSIF kind <> 'FRAMES' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', format('parts.%s is an array', kind));
        ELSIF jsonb_array_length(part) = 0 THEN
            PERFORM insp.refuse('PART_EMPTY', kind);
        ELSIF jsonb_array_length(part) > 256 THEN
            PERFORM insp.refuse('PART_TOO_LARGE', 'more than 256 frames');
        ELSE
            PERFORM insp.check_part_url(kind, f, p_allow_http, p_allow_private) FROM jsonb_array_elements(part) f;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.check_part_urls(jsonb, boolean, boolean) IS 'Refuses the parts object of a payload if anything in it is wrong';

CREATE FUNCTION insp.part_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY['FRONT', 'BACK', 'FACE', 'FRAMES', 'DG1', 'DG2', 'SOD', 'SESSION_BLOB']
$$;
COMMENT ON FUNCTION insp.part_kinds() IS 'The names of parts';

CREATE FUNCTION insp.check_request(p jsonb, p_inline text[]) RETURNS insp.request
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
BEGIN
    IF p IS NULL OR jsonb_typeof(p) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'not an object');
    ELSIF pg_column_size(p) > 16384 THEN
        PERFORM insp.refuse('PAYLOAD_TOO_LARGE');
    END IF;
    value := p - ARRAY['partner', 'workflow', 'documentFormat', 'documentTypes', 'countries', 'customerInternalReference',
        'userReference', 'reportingCriteria', 'callbackUrl', 'idempotencyKey', 'digests', 'parts', 'lane', 'region',
        'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'consent'];
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
        WHEN flow IN ('id', 'id_identity') AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        WHEN flow = 'similarity' AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        WHEN flow IN ('similarity', 'authentication', 'enrollment') AND 'FACE' <> ALL (kinds) THEN 'FACE'
        WHEN flow = 'liveness' AND NOT kinds && ARRAY['FACE', 'FRAMES'] THEN 'FACE or FRAMES'
        WHEN 'BACK' = ANY (kinds) AND 'FRONT' <> ALL (kinds) THEN 'FRONT'
        END;
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('PART_MISSING', problem);
    END IF;

    r.payload := (p - ARRAY['parts', 'digests', 'idempotencyKey', 'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'lane'])
        || jsonb_build_object('workflow', flow);
    RETURN r;
END
$$;
COMMENT ON FUNCTION insp.check_request(jsonb, text[]) IS
    'Checks a payload, given the kinds of parts that come as bytes; raises one error, or returns the request taken apart';
