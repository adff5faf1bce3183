-- Functions for operators of endpoints. Every action is recorded.

CREATE OR REPLACE FUNCTION insp.create_endpoint(
    p_partner text, p_url text, p_allow_http boolean DEFAULT false, p_allow_private boolean DEFAULT false,
    p_make_secret boolean DEFAULT true, OUT endpoint_id bigint, OUT secret text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    problem constant text := insp.endpoint_problem(p_url, p_allow_http, p_allow_private);
BEGIN
    PERFORM insp.need_approval('create_endpoint');
    PERFORM insp.require(num_nulls(p_allow_http, p_allow_private, p_make_secret) = 0,
        'p_allow_http, p_allow_private or p_make_secret is null',
        'Each is true or false.', 'ENDPOINT_INVALID');
    IF p_url IS NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_MISSING');
    ELSIF problem IS NOT NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
    END IF;
    INSERT INTO insp.endpoint AS e (partner_id, url, allow_http, allow_private, is_default)
    VALUES (insp.partner_number(p_partner), p_url, p_allow_http, p_allow_private, false)
    RETURNING e.id INTO endpoint_id;
    IF p_make_secret THEN
        secret := insp.new_secret();
        PERFORM insp.set_secret('endpoint ' || endpoint_id, 'signing_secret', secret);
    END IF;
    PERFORM insp.record('create_endpoint', 'endpoint ' || endpoint_id, jsonb_build_object('partner', p_partner, 'url', p_url));
END
$$;
COMMENT ON FUNCTION insp.create_endpoint(text, text, boolean, boolean, boolean) IS
    'Adds an endpoint to a partner, in addition to its default one, for example for alerts, and returns its new signing secret, which is shown only here. With the URL pull: nothing is sent, and the partner pulls the events (GET /events). Without p_make_secret it has none, and sends nothing, until callback_rotate_secret gives it one, for example a sealed one (inspectd endpoint)';
GRANT EXECUTE ON FUNCTION insp.create_endpoint(text, text, boolean, boolean, boolean) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.endpoint_partner(p_endpoint bigint) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number integer;
BEGIN
    SELECT e.partner_id INTO number FROM insp.endpoint e WHERE e.id = p_endpoint;
    IF NOT FOUND THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN', 'endpoint ' || coalesce(p_endpoint::text, 'null'));
    END IF;
    RETURN number;
END
$$;
COMMENT ON FUNCTION insp.endpoint_partner(bigint) IS
    'The number of an endpoint''s partner, under whose key its secrets are sealed';
GRANT EXECUTE ON FUNCTION insp.endpoint_partner(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_endpoint(p_endpoint bigint, p_settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint;
    settings constant text[] := ARRAY['url', 'maxInflight', 'events', 'inlineResult', 'ordering', 'alertEndpoint',
        'http2', 'pins', 'allowHTTP', 'allowPrivate', 'allowedNetworks', 'signingKey', 'clientCertificate', 'clientKey',
        'apiKeyHeader', 'apiKey', 'origins'];
    unknown constant jsonb := CASE jsonb_typeof(p_settings) WHEN 'object' THEN p_settings - settings END;
    problem text;
BEGIN
    -- Where data goes, and to whom: URLs, private networks, results in callbacks, pins of certificates.
    PERFORM insp.need_approval('set_endpoint', (p_settings ?| ARRAY['url', 'origins', 'inlineResult', 'allowHTTP', 'allowPrivate',
        'allowedNetworks', 'alertEndpoint', 'pins']) IS TRUE);
    e := insp.endpoint_lock(p_endpoint);
    PERFORM insp.require(unknown = '{}', coalesce('unknown setting '
            || (SELECT left(quote_literal(k), 40) FROM jsonb_object_keys(unknown) k LIMIT 1), 'the settings are not an object'),
        format('Settings are %s.', array_to_string(settings, ', ')), 'ENDPOINT_INVALID');
    BEGIN
        -- A key replaces a setting, null removes it; the table's own checks validate values.
        UPDATE insp.endpoint x SET
            url = CASE WHEN p_settings ? 'url' THEN p_settings ->> 'url' ELSE x.url END,
            max_inflight = CASE WHEN p_settings ? 'maxInflight' THEN (p_settings ->> 'maxInflight')::integer ELSE x.max_inflight END,
            events = CASE WHEN p_settings ? 'events'
                THEN ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'events')) ELSE x.events END,
            inline_result = CASE WHEN p_settings ? 'inlineResult' THEN (p_settings ->> 'inlineResult')::boolean ELSE x.inline_result END,
            ordering = CASE WHEN p_settings ? 'ordering' THEN p_settings ->> 'ordering' ELSE x.ordering END,
            alert_endpoint_id = CASE WHEN p_settings ? 'alertEndpoint' THEN (p_settings ->> 'alertEndpoint')::bigint
                ELSE x.alert_endpoint_id END,
            http2 = CASE WHEN p_settings ? 'http2' THEN (p_settings ->> 'http2')::boolean ELSE x.http2 END,
            pins = CASE WHEN NOT p_settings ? 'pins' THEN x.pins WHEN p_settings -> 'pins' = 'null' THEN NULL
                ELSE ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'pins')) END,
            allow_http = CASE WHEN p_settings ? 'allowHTTP' THEN (p_settings ->> 'allowHTTP')::boolean ELSE x.allow_http END,
            allow_private = CASE WHEN p_settings ? 'allowPrivate' THEN (p_settings ->> 'allowPrivate')::boolean
                ELSE x.allow_private END,
            allowed_networks = CASE WHEN NOT p_settings ? 'allowedNetworks' THEN x.allowed_networks
                WHEN p_settings -> 'allowedNetworks' = 'null' THEN NULL
                ELSE ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'allowedNetworks'))::cidr[] END,
            client_certificate = CASE WHEN p_settings ? 'clientCertificate' THEN p_settings ->> 'clientCertificate'
                ELSE x.client_certificate END,
            api_key_header = CASE WHEN p_settings ? 'apiKeyHeader' THEN p_settings ->> 'apiKeyHeader' ELSE x.api_key_header END,
            origins = CASE WHEN NOT p_settings ? 'origins' THEN x.origins WHEN p_settings -> 'origins' = 'null' THEN '{}'
                -- A value that is no origin is kept unchanged, and refused below.
                ELSE ARRAY(SELECT coalesce(insp.url_origin(o), o) FROM jsonb_array_elements_text(p_settings -> 'origins') o) END
        WHERE x.id = p_endpoint RETURNING * INTO e;
    EXCEPTION WHEN check_violation OR not_null_violation OR foreign_key_violation OR data_exception THEN
        -- The server's own message would quote the row.
        GET STACKED DIAGNOSTICS problem = CONSTRAINT_NAME;
        PERFORM insp.refuse('ENDPOINT_INVALID', nullif(problem, ''), '\d+ insp.endpoint describes the values of each setting.');
    END;
    IF e.url IS NOT NULL THEN
        problem := insp.endpoint_problem(e.url, e.allow_http, e.allow_private);
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
        END IF;
    END IF;
    IF EXISTS (SELECT FROM unnest(e.origins) o WHERE insp.url_origin(o) IS DISTINCT FROM o
        OR insp.url_problem(o, 255, e.allow_http, e.allow_private) IS NOT NULL) THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'origins', 'An origin is only scheme, host and port, such as https://hooks.example.com.');
    END IF;
    PERFORM insp.set_endpoint_secrets(e, p_settings);
    PERFORM insp.record('set_endpoint', 'endpoint ' || p_endpoint,
        p_settings - ARRAY['signingKey', 'clientKey', 'apiKey', 'clientCertificate'] || jsonb_build_object('keys',
            (SELECT jsonb_agg(k) FROM jsonb_object_keys(p_settings) k WHERE k IN ('signingKey', 'clientKey', 'apiKey'))));
END
$$;
COMMENT ON FUNCTION insp.set_endpoint(bigint, jsonb) IS
    'Changes an endpoint''s settings: url, maxInflight, events, inlineResult, ordering, alertEndpoint, http2, pins, allowHTTP, allowPrivate, allowedNetworks, signingKey, clientCertificate, clientKey, apiKeyHeader, apiKey, origins. Only the given keys are changed; null removes a setting, except events, maxInflight, inlineResult, http2, allowHTTP and allowPrivate. The url pull: means that the partner pulls the events. \d+ insp.endpoint describes each';
GRANT EXECUTE ON FUNCTION insp.set_endpoint(bigint, jsonb) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_endpoint_secrets(e insp.endpoint, p_settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    name constant text := 'endpoint ' || e.id;
    held text[];
BEGIN
    PERFORM insp.need_allowed_secret(e.id, p_settings ->> k)
    FROM unnest(ARRAY['signingKey', 'clientKey', 'apiKey']) k;
    -- A sealed one is not seen: the program that seals validates it.
    IF insp.secret_seal(p_settings ->> 'signingKey') = 0
        AND insp.signing_purpose(p_settings ->> 'signingKey') IS DISTINCT FROM 'signing_key' THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'signingKey',
            'A signing key is whsk_ and base64 of 32 bytes (64 with the public key).');
    ELSIF insp.secret_seal(p_settings ->> 'apiKey') = 0
        AND (p_settings ->> 'apiKey' !~ '^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$' OR length(p_settings ->> 'apiKey') > 4096) THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'apiKey', 'An API key has 1 to 4096 characters that are allowed in a header.');
    END IF;
    PERFORM insp.set_secret(name, k.purpose, p_settings ->> k.setting)
    FROM (VALUES ('signingKey', 'signing_key'), ('clientKey', 'client_key'), ('apiKey', 'api_key')) AS k (setting, purpose)
    WHERE p_settings ? k.setting;
    SELECT coalesce(array_agg(s.purpose), '{}') INTO held FROM insp.secrets(name, ARRAY['client_key', 'api_key']) s;
    IF (e.client_certificate IS NULL) = ('client_key' = ANY (held)) THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'clientCertificate or clientKey alone', 'Set both, or neither.');
    ELSIF (e.api_key_header IS NULL) = ('api_key' = ANY (held)) THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'apiKeyHeader or apiKey alone', 'Set both, or neither.');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.set_endpoint_secrets(insp.endpoint, jsonb) IS
    'The secret settings of insp.set_endpoint: signingKey, clientKey, apiKey';

CREATE OR REPLACE FUNCTION insp.allow_endpoint_secret(p_endpoint bigint, p_sha256 text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    PERFORM insp.require((p_sha256 ~ '^[0-9a-f]{64}$') IS TRUE, 'p_sha256', 'p_sha256 is 64 lowercase hexadecimal digits.');
END
$$;
COMMENT ON FUNCTION insp.allow_endpoint_secret(bigint, text) IS
    'Only for insp.approve: until it expires, its proposal allows giving an endpoint the secret with this SHA-256. So no proposal contains the secret';

CREATE OR REPLACE FUNCTION insp.need_allowed_secret(p_endpoint bigint, p_secret text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_secret IS NOT NULL AND EXISTS (SELECT FROM insp.approval a WHERE a.action = 'allow_endpoint_secret' AND a.is_needed)
        AND NOT EXISTS (SELECT FROM insp.proposal p
            WHERE p.action = 'allow_endpoint_secret' AND p.outcome = 'approved' AND p.expires_at > clock_timestamp()
                AND p.arguments ->> 'p_endpoint' = p_endpoint::text
                AND p.arguments ->> 'p_sha256' = encode(sha256(convert_to(p_secret, 'UTF8')), 'hex')) THEN
        -- Without the digest, since hints are written to the server's log.
        PERFORM insp.refuse('APPROVAL_NEEDED', 'allow_endpoint_secret', format('SELECT insp.propose(''allow_endpoint_secret'', '
            '''{"p_endpoint": %s, "p_sha256": "HEX"}''), with the SHA-256 of the text given here; another login then calls insp.approve.',
            p_endpoint));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_allowed_secret(bigint, text) IS
    'Refuses to give an endpoint a secret chosen by the caller that no second login has approved, if approval is required';

CREATE OR REPLACE FUNCTION insp.endpoint_options(e insp.endpoint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
        'http2', nullif(e.http2, false), 'pins', to_jsonb(e.pins), 'networks', to_jsonb(e.allowed_networks::text[]),
        'certificate', e.client_certificate, 'key', k.held -> 'client_key', 'apiKeyHeader', e.api_key_header,
        'apiKey', k.held -> 'api_key',
        'test', (SELECT true FROM insp.partner x WHERE x.id = e.partner_id AND x.test_of IS NOT NULL),
        'encryption', (SELECT x.jwk::text FROM insp.partner_key x WHERE x.partner_id = e.partner_id),
        'origins', CASE WHEN e.pins IS NOT NULL THEN to_jsonb(array_remove(e.origins || insp.url_origin(e.url), NULL)) END,
        'authorization', (
            SELECT insp.authorization_options(a, e.id) FROM insp.endpoint_authorization x
                JOIN insp.client_authorization a ON a.id = x.authorization_id
            WHERE x.endpoint_id = e.id))),
        '{}')::text
    FROM (SELECT jsonb_object_agg(s.purpose, convert_from(s.value, 'UTF8')) AS held
        FROM insp.secrets('endpoint ' || e.id, ARRAY['client_key', 'api_key']) s) k
$$;
COMMENT ON FUNCTION insp.endpoint_options(insp.endpoint) IS
    'An endpoint''s settings other than its URL and keys, for dispatchers, as JSON; null for a plain one. Contains secrets';

CREATE OR REPLACE FUNCTION insp.endpoint_owns(e insp.endpoint, p_url text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce(insp.url_origin(p_url) = ANY (e.origins || insp.url_origin(e.url)), false)
$$;
COMMENT ON FUNCTION insp.endpoint_owns(insp.endpoint, text) IS
    'Whether a URL is at an origin of the endpoint: that of its own URL, or one that an operator listed';

CREATE OR REPLACE FUNCTION insp.endpoint_lock(p_endpoint bigint) RETURNS insp.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint;
BEGIN
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = p_endpoint FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN', 'endpoint ' || coalesce(p_endpoint::text, 'null'));
    END IF;
    RETURN e;
END
$$;
COMMENT ON FUNCTION insp.endpoint_lock(bigint) IS 'An endpoint''s row, locked; refuses unknown numbers';

CREATE OR REPLACE FUNCTION insp.callback_pause(p_endpoint bigint, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    UPDATE insp.endpoint e SET paused = true, paused_by_partner = false WHERE e.id = p_endpoint;
    PERFORM insp.record('callback_pause', 'endpoint ' || p_endpoint, jsonb_build_object('reason', p_reason));
END
$$;
COMMENT ON FUNCTION insp.callback_pause(bigint, text) IS
    'Stops sending an endpoint''s callbacks; requests under way continue. Their schedule continues, so callbacks that become due meanwhile are sent at once after callback_resume';
GRANT EXECUTE ON FUNCTION insp.callback_pause(bigint, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_resume(p_endpoint bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    UPDATE insp.endpoint e SET paused = false, paused_by_partner = false WHERE e.id = p_endpoint;
    PERFORM insp.record('callback_resume', 'endpoint ' || p_endpoint);
    PERFORM pg_notify('insp_callback', '');
END
$$;
COMMENT ON FUNCTION insp.callback_resume(bigint) IS 'Ends callback_pause';
GRANT EXECUTE ON FUNCTION insp.callback_resume(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_disable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    held bigint;
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    held := insp.endpoint_hold(p_endpoint, 'by ' || session_user);
    PERFORM insp.record('callback_disable', 'endpoint ' || p_endpoint, jsonb_build_object('held', held));
    RETURN held;
END
$$;
COMMENT ON FUNCTION insp.callback_disable(bigint) IS
    'Stops sending to an endpoint; its callbacks, including later ones, are held until callback_enable, never dropped. Returns how many are held now; requests under way continue';
GRANT EXECUTE ON FUNCTION insp.callback_disable(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.endpoint_admit(p_endpoint bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.endpoint x SET enabled = true, gone_at = NULL, disabled_reason = NULL WHERE x.id = p_endpoint;
    UPDATE insp.endpoint_health h SET window_start = clock_timestamp(), succeeded = 0, failed = 0, failing_since = NULL,
        open_until = NULL, trips = 0
    WHERE h.endpoint_id = p_endpoint;
    DELETE FROM insp.endpoint_tally t WHERE t.endpoint_id = p_endpoint;
$$;
COMMENT ON FUNCTION insp.endpoint_admit(bigint) IS 'Enables an endpoint, as if it had never failed; frees no callbacks';

CREATE OR REPLACE FUNCTION insp.callback_enable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    freed bigint;
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
BEGIN
    PERFORM insp.endpoint_admit(p_endpoint);
    -- Due now, in the order of their creation: callbacks below the dispatchers' floors would be found late.
    UPDATE insp.callback_waiting w SET state = 'pending', due_at = clock_timestamp()
    WHERE w.endpoint_id = p_endpoint AND w.state = 'held';
    GET DIAGNOSTICS freed = ROW_COUNT;
    IF NOT e.enabled THEN
        PERFORM insp.endpoint_event_note(p_endpoint, 'enabled', jsonb_build_object('freed', freed));
    END IF;
    PERFORM insp.record('callback_enable', 'endpoint ' || p_endpoint, jsonb_build_object('freed', freed));
    PERFORM pg_notify('insp_callback', '');
    RETURN freed;
END
$$;
COMMENT ON FUNCTION insp.callback_enable(bigint) IS
    'Resumes sending to an endpoint, held callbacks first, limited by its max_inflight. Returns how many were held';
GRANT EXECUTE ON FUNCTION insp.callback_enable(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_enable_part(
    p_endpoint bigint, p_freed bigint, p_reached timestamptz, p_limit integer, OUT freed bigint, OUT reached timestamptz, OUT more boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    portion bigint;
    moment constant timestamptz := clock_timestamp();
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
BEGIN
    freed := coalesce(p_freed, 0);
    reached := p_reached;
    more := false;
    -- If it was disabled again since the first portion, the rest stays held.
    IF p_freed IS NOT NULL AND NOT e.enabled THEN
        RETURN;
    END IF;
    IF p_freed IS NULL THEN
        PERFORM insp.endpoint_admit(p_endpoint);
    END IF;
    -- Claims free what another transaction holds here.
    WITH held AS MATERIALIZED (
        SELECT x.ctid AS row, x.due_at FROM insp.callback_waiting x
        WHERE x.state = 'held' AND x.state <> 'pending' AND x.endpoint_id = p_endpoint AND x.due_at >= coalesce(p_reached, '-infinity')
        ORDER BY x.due_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), done AS (
        UPDATE insp.callback_waiting w SET state = 'pending', due_at = moment
        WHERE w.ctid = ANY (ARRAY(SELECT h.row FROM held h)) RETURNING w.callback_id
    )
    SELECT count(*), coalesce((SELECT max(h.due_at) FROM held h), p_reached) INTO portion, reached FROM done d;
    freed := freed + portion;
    more := portion >= p_limit;
    IF p_freed IS NULL AND NOT e.enabled THEN
        PERFORM insp.endpoint_event_note(p_endpoint, 'enabled', jsonb_build_object('freed', CASE WHEN NOT more THEN freed END));
    END IF;
    IF p_freed IS NULL OR NOT more THEN
        PERFORM insp.record('callback_enable', 'endpoint ' || p_endpoint, jsonb_build_object('freed', freed, 'more', nullif(more, false)));
    END IF;
    PERFORM pg_notify('insp_callback', '');
END
$$;
COMMENT ON FUNCTION insp.callback_enable_part(bigint, bigint, timestamptz, integer) IS
    'insp.callback_enable in portions: the first call (p_freed null) enables the endpoint, each call frees at most p_limit held callbacks, the earliest due first, and takes what the previous call returned, until there are no more. Claims free the rest';

CREATE OR REPLACE FUNCTION insp.rotate_secret(
    p_endpoint bigint, p_overlap interval, p_secret text DEFAULT NULL, p_purpose text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    name constant text := 'endpoint ' || p_endpoint;
    fresh constant text := coalesce(p_secret, insp.new_secret());
    purpose constant text := CASE insp.secret_seal(fresh) WHEN 0 THEN insp.signing_purpose(fresh)
        -- Nobody can see it here.
        ELSE coalesce(p_purpose, 'signing_secret') END;
    -- Each adds a signature to the header of every callback.
    most constant integer := 12;
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    IF purpose IS NULL THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'the key',
            'A key is whsec_ and base64 of 16 to 64 bytes, or whsk_ and base64 of 32 bytes (64 with the public key).');
    ELSIF coalesce(p_purpose, purpose) <> purpose OR purpose NOT IN ('signing_secret', 'signing_key') THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'the purpose', 'A purpose is signing_secret (whsec_) or signing_key (whsk_).');
    ELSIF NOT coalesce(p_overlap >= '0' AND insp.is_within_year(p_overlap), false) THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', format('overlap %s', p_overlap), 'An overlap is 0 to 366 days, without a negative part.');
    ELSIF p_overlap > '0' AND (SELECT count(*) FROM insp.secrets(name, ARRAY[purpose])) >= most THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', format('%s keys of this kind are valid', most),
            'No more are allowed. Wait until an overlap has passed; the overlap ''0'' ends all older keys at once.');
    END IF;
    PERFORM insp.set_secret(name, purpose, fresh, p_overlap);
    PERFORM insp.record('callback_rotate_secret', name, jsonb_build_object('overlap', p_overlap,
        'version', CASE purpose WHEN 'signing_key' THEN 'v1a' ELSE 'v1' END));
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION insp.rotate_secret(bigint, interval, text, text) IS
    'insp.callback_rotate_secret without an approval, also for partners, since the secret is theirs';

CREATE OR REPLACE FUNCTION insp.callback_rotate_secret(
    p_endpoint bigint, p_overlap interval DEFAULT interval '24 hours', p_secret text DEFAULT NULL, p_purpose text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.need_allowed_secret(p_endpoint, p_secret);
    RETURN insp.rotate_secret(p_endpoint, p_overlap, p_secret, p_purpose);
END
$$;
COMMENT ON FUNCTION insp.callback_rotate_secret(bigint, interval, text, text) IS
    'Gives an endpoint a new signing secret (or p_secret; one of whsk_ replaces the Ed25519 key, as does a sealed one with the p_purpose signing_key) and returns it; until p_overlap has passed, callbacks also have a signature by the old one. Rotations may overlap, up to 12 valid keys of a kind; an overlap of 0 ends all older keys of the kind at once';
GRANT EXECUTE ON FUNCTION insp.callback_rotate_secret(bigint, interval, text, text) TO insp_operator;
