-- Authorizations at partners' providers (OAuth 2.0): those of one endpoint, and named ones that several endpoints of a partner use.

CREATE OR REPLACE FUNCTION insp.authorization_options(a insp.client_authorization, p_endpoint bigint) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('name', a.name, 'provider', a.provider, 'grantType', a.grant_type,
        'tokenURL', a.token_url, 'revocationURL', a.revocation_url, 'clientID', a.client_id,
        'clientSecret', k.held -> 'client_secret', 'assertion', k.held -> 'assertion', 'scope', a.scope, 'method', a.method,
        'parameters', nullif(a.parameters, '{}')))
    FROM (SELECT jsonb_object_agg(s.purpose, convert_from(s.value, 'UTF8')) AS held
        FROM insp.secrets(CASE WHEN a.name IS NULL THEN 'endpoint ' || p_endpoint ELSE 'authorization ' || a.id END,
            ARRAY['client_secret', 'assertion']) s) k
$$;
COMMENT ON FUNCTION insp.authorization_options(insp.client_authorization, bigint) IS
    'The settings that a dispatcher needs for an endpoint''s tokens. Contains secrets';

CREATE OR REPLACE FUNCTION insp.authorization_settings(a insp.client_authorization) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT to_jsonb(a) - ARRAY['id', 'partner_id', 'name']
$$;
COMMENT ON FUNCTION insp.authorization_settings(insp.client_authorization) IS 'An authorization''s settings, without its secrets';

CREATE OR REPLACE FUNCTION insp.check_authorization(a insp.client_authorization, p_client_secret text, p_assertion text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- A proposal has no secret: it is set afterwards.
    is_approved constant boolean := EXISTS (SELECT FROM insp.proposal p WHERE p.approving = pg_current_xact_id());
BEGIN
    PERFORM insp.require(a.method IN ('basic', 'post', 'tls', 'none'), 'method ' || left(quote_nullable(a.method), 40),
        'A method is basic, post, tls or none.');
    PERFORM insp.require(a.provider ~ '^[a-z][a-z0-9_-]{0,63}$', 'provider ' || left(quote_nullable(a.provider), 40),
        'A provider is client_credentials, assertion, or one that the workers were built with.');
    PERFORM insp.require((a.provider = 'assertion' AND a.grant_type ~ '^[a-z][a-z0-9+.-]*:[\x21-\x7e]{1,200}$'
            OR a.provider NOT IN ('client_credentials', 'assertion')) IS TRUE OR a.grant_type IS NULL,
        'grant type', 'A grant type is a URI, and for the provider assertion alone.');
    PERFORM insp.require((a.provider = 'client_credentials' AND p_assertion IS NOT NULL) IS NOT TRUE, 'an assertion',
        'An assertion is for the provider assertion.');
    PERFORM insp.require(coalesce(jsonb_typeof(a.parameters) = 'object', false) AND (SELECT count(*) <= 20 AND coalesce(bool_and(
            q.key ~ '^[A-Za-z0-9_.-]{1,64}$' AND jsonb_typeof(q.value) = 'string' AND length(q.value #>> '{}') <= 1000
            AND q.key <> ALL (ARRAY['grant_type', 'client_id', 'client_secret', 'assertion', 'scope'])), true)
        FROM jsonb_each(CASE jsonb_typeof(a.parameters) WHEN 'object' THEN a.parameters ELSE '{}' END) q), 'parameters',
        'parameters is a JSON object of at most 20 texts, such as {"audience": "callbacks"}; they must not repeat what has its own setting.');
    IF a.provider IN ('client_credentials', 'assertion') THEN
        IF a.token_url IS NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_MISSING', 'the token URL');
        END IF;
        -- Visible characters, as in RFC 6749 appendix A.1.
        IF coalesce(a.client_id, '') !~ '^[\x20-\x7e]{1,255}$' AND (a.method <> 'none' OR a.client_id IS NOT NULL) THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID');
        END IF;
        IF a.method IN ('basic', 'post') AND coalesce(p_client_secret, '') !~ '^[\x20-\x7e]+$'
            AND NOT (is_approved AND p_client_secret IS NULL) THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'no client secret', format('Method %s needs one.', a.method));
        ELSIF a.method = 'none' AND a.provider = 'client_credentials' THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'method none', 'Client credentials need basic, post or tls.');
        ELSIF a.provider = 'assertion' AND (coalesce(p_assertion, '') !~ '^[\x21-\x7e]+$' OR length(p_assertion) > 30000)
            AND NOT (is_approved AND p_assertion IS NULL) THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'no assertion', 'The provider assertion needs one, of visible characters.');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_authorization(insp.client_authorization, text, text) IS
    'Refuses an authorization that no endpoint could use';

CREATE OR REPLACE FUNCTION insp.check_endpoint_authorization(e insp.endpoint, a insp.client_authorization) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    place record;
    problem text;
BEGIN
    IF a.method = 'tls' AND e.client_certificate IS NULL THEN
        PERFORM insp.refuse('CLIENT_ID_INVALID', 'no client certificate', 'Method tls needs the endpoint''s.');
    END IF;
    FOR place IN SELECT * FROM (VALUES ('token URL', a.token_url), ('revocation URL', a.revocation_url)) v (name, url)
        WHERE v.url IS NOT NULL LOOP
        problem := insp.url_problem(place.url, 255, e.allow_http, e.allow_private);
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', place.name || ': ' || problem);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.check_endpoint_authorization(insp.endpoint, insp.client_authorization) IS
    'Refuses an authorization that this endpoint may not use';

CREATE OR REPLACE FUNCTION insp.store_authorization(a insp.client_authorization) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number bigint := a.id;
BEGIN
    IF number IS NULL THEN
        INSERT INTO insp.client_authorization AS x (partner_id, name, provider, grant_type, token_url, revocation_url, client_id, scope,
            method, parameters)
        VALUES (a.partner_id, a.name, a.provider, a.grant_type, a.token_url, a.revocation_url, a.client_id, a.scope, a.method,
            a.parameters)
        RETURNING x.id INTO number;
    ELSE
        UPDATE insp.client_authorization x SET provider = a.provider, grant_type = a.grant_type, token_url = a.token_url,
            revocation_url = a.revocation_url, client_id = a.client_id, scope = a.scope, method = a.method, parameters = a.parameters
        WHERE x.id = number;
    END IF;
    RETURN number;
END
$$;
COMMENT ON FUNCTION insp.store_authorization(insp.client_authorization) IS 'Adds an authorization, or changes the one of its number; returns the number';

CREATE OR REPLACE FUNCTION insp.authorization_detail(a insp.client_authorization) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_build_object('authorization', a.name, 'provider', a.provider, 'grantType', a.grant_type, 'tokenURL', a.token_url,
        'revocationURL', a.revocation_url, 'clientID', a.client_id, 'method', a.method)
$$;
COMMENT ON FUNCTION insp.authorization_detail(insp.client_authorization) IS 'What the record says about an authorization';

CREATE OR REPLACE FUNCTION insp.unlink_authorization(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    PERFORM insp.end_token(p_endpoint);
    DELETE FROM insp.endpoint_authorization x WHERE x.endpoint_id = p_endpoint RETURNING x.authorization_id INTO number;
    DELETE FROM insp.client_authorization a WHERE a.id = number AND a.name IS NULL;
    DELETE FROM insp.secret s WHERE s.owner = 'endpoint ' || p_endpoint AND s.purpose IN ('client_secret', 'assertion');
    RETURN number IS NOT NULL;
END
$$;
COMMENT ON FUNCTION insp.unlink_authorization(bigint) IS
    'Removes an endpoint''s authorization and its token; false: it had none. The caller must have locked the endpoint';

CREATE OR REPLACE FUNCTION insp.callback_authorize(
    p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL, p_scope text DEFAULT NULL,
    p_method text DEFAULT 'basic', p_provider text DEFAULT 'client_credentials', p_revocation_url text DEFAULT NULL,
    p_grant_type text DEFAULT NULL, p_assertion text DEFAULT NULL, p_parameters jsonb DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
    was insp.client_authorization;
    fresh insp.client_authorization;
BEGIN
    SELECT a.* INTO was FROM insp.endpoint_authorization x JOIN insp.client_authorization a ON a.id = x.authorization_id
    WHERE x.endpoint_id = p_endpoint AND a.name IS NULL;
    SELECT was.id, e.partner_id, NULL, p_provider, p_grant_type, p_token_url, p_revocation_url, p_client_id, p_scope, p_method,
        coalesce(p_parameters, '{}')
    INTO fresh;
    -- A new secret alone changes nothing about where it is sent.
    PERFORM insp.need_approval('callback_authorize',
        was.id IS NULL OR insp.authorization_settings(was) <> insp.authorization_settings(fresh));
    PERFORM insp.need_allowed_secret(p_endpoint, p_client_secret);
    PERFORM insp.need_allowed_secret(p_endpoint, p_assertion);
    PERFORM insp.check_authorization(fresh, p_client_secret, p_assertion);
    PERFORM insp.check_endpoint_authorization(e, fresh);
    -- The next request gets a token of the new client.
    PERFORM insp.end_token(p_endpoint);
    fresh.id := insp.store_authorization(fresh);
    INSERT INTO insp.endpoint_authorization AS x (endpoint_id, authorization_id) VALUES (p_endpoint, fresh.id)
    ON CONFLICT (endpoint_id) DO UPDATE SET authorization_id = excluded.authorization_id;
    PERFORM insp.set_secret('endpoint ' || p_endpoint, 'client_secret', p_client_secret);
    PERFORM insp.set_secret('endpoint ' || p_endpoint, 'assertion', p_assertion);
    PERFORM insp.record('callback_authorize', 'endpoint ' || p_endpoint, insp.authorization_detail(fresh));
END
$$;
COMMENT ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text, text, text, text, jsonb) IS
    'Sends an endpoint''s callbacks with an OAuth 2.0 access token, by default by client credentials; replaces earlier settings. The provider assertion sends p_assertion, which the partner issued, with p_grant_type. With p_revocation_url, tokens are revoked when the authorization is removed or replaced. p_parameters: further fields of the request. If it needs approval, the proposal has no p_client_secret and no p_assertion: repeat the approved settings with them, which needs no approval';
GRANT EXECUTE ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text, text, text, text, jsonb) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_unauthorize(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_gone boolean;
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    is_gone := insp.unlink_authorization(p_endpoint);
    DELETE FROM insp.access_token t WHERE t.endpoint_id = p_endpoint;
    PERFORM insp.record('callback_unauthorize', 'endpoint ' || p_endpoint);
    RETURN is_gone;
END
$$;
COMMENT ON FUNCTION insp.callback_unauthorize(bigint) IS
    'Ends the authorization of an endpoint''s callbacks; false: it had none. If the provider accepts revocations, dispatchers then revoke the token. A named authorization stays for other endpoints';
GRANT EXECUTE ON FUNCTION insp.callback_unauthorize(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.named_authorization(p_partner integer, p_name text) RETURNS insp.client_authorization
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    a insp.client_authorization;
BEGIN
    SELECT * INTO a FROM insp.client_authorization x WHERE x.partner_id = p_partner AND x.name = p_name;
    IF NOT FOUND THEN
        PERFORM insp.refuse('AUTHORIZATION_UNKNOWN', left(quote_nullable(p_name), 40));
    END IF;
    RETURN a;
END
$$;
COMMENT ON FUNCTION insp.named_authorization(integer, text) IS 'A partner''s authorization of this name; refuses others';

CREATE OR REPLACE FUNCTION insp.set_authorization(
    p_partner text, p_name text, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL, p_scope text DEFAULT NULL,
    p_method text DEFAULT 'basic', p_provider text DEFAULT 'client_credentials', p_revocation_url text DEFAULT NULL,
    p_grant_type text DEFAULT NULL, p_assertion text DEFAULT NULL, p_parameters jsonb DEFAULT '{}'
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.partner_number(p_partner);
    was insp.client_authorization;
    fresh insp.client_authorization;
    e insp.endpoint;
BEGIN
    PERFORM insp.require((p_name ~ '^[a-z0-9][a-z0-9._-]{0,63}$') IS TRUE, 'name ' || left(quote_nullable(p_name), 40),
        'A name has up to 64 lower-case letters, digits, points, underscores and hyphens.');
    -- Endpoints are locked first wherever one is changed.
    PERFORM FROM insp.endpoint x WHERE x.partner_id = number ORDER BY x.id FOR NO KEY UPDATE;
    SELECT * INTO was FROM insp.client_authorization x WHERE x.partner_id = number AND x.name = p_name;
    SELECT was.id, number, p_name, p_provider, p_grant_type, p_token_url, p_revocation_url, p_client_id, p_scope, p_method,
        coalesce(p_parameters, '{}')
    INTO fresh;
    PERFORM insp.need_approval('set_authorization',
        was.id IS NULL OR insp.authorization_settings(was) <> insp.authorization_settings(fresh));
    PERFORM insp.need_allowed_authorization_secret(number, p_name, p_client_secret);
    PERFORM insp.need_allowed_authorization_secret(number, p_name, p_assertion);
    PERFORM insp.check_authorization(fresh, p_client_secret, p_assertion);
    -- What an endpoint does not allow is refused once it is to use it.
    e.allow_http := true;
    e.allow_private := true;
    e.client_certificate := 'any';
    PERFORM insp.check_endpoint_authorization(e, fresh);
    FOR e IN SELECT x.* FROM insp.endpoint_authorization l JOIN insp.endpoint x ON x.id = l.endpoint_id
        WHERE l.authorization_id = was.id ORDER BY x.id LOOP
        PERFORM insp.check_endpoint_authorization(e, fresh);
        PERFORM insp.end_token(e.id);
    END LOOP;
    fresh.id := insp.store_authorization(fresh);
    PERFORM insp.set_secret('authorization ' || fresh.id, 'client_secret', p_client_secret);
    PERFORM insp.set_secret('authorization ' || fresh.id, 'assertion', p_assertion);
    PERFORM insp.record('set_authorization', 'partner ' || p_partner, insp.authorization_detail(fresh));
    RETURN fresh.id;
END
$$;
COMMENT ON FUNCTION insp.set_authorization(text, text, text, text, text, text, text, text, text, text, text, jsonb) IS
    'Adds a named authorization of a partner, or replaces its settings for all endpoints that use it (insp.callback_use_authorization); arguments as of insp.callback_authorize. Returns its number';
GRANT EXECUTE ON FUNCTION insp.set_authorization(text, text, text, text, text, text, text, text, text, text, text, jsonb) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_use_authorization(p_endpoint bigint, p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
    a constant insp.client_authorization := insp.named_authorization(e.partner_id, p_name);
BEGIN
    IF EXISTS (SELECT FROM insp.endpoint_authorization x WHERE x.endpoint_id = p_endpoint AND x.authorization_id = a.id) THEN
        RETURN;
    END IF;
    PERFORM insp.need_approval('callback_use_authorization');
    PERFORM insp.check_endpoint_authorization(e, a);
    PERFORM insp.unlink_authorization(p_endpoint);
    INSERT INTO insp.endpoint_authorization (endpoint_id, authorization_id) VALUES (p_endpoint, a.id);
    PERFORM insp.record('callback_use_authorization', 'endpoint ' || p_endpoint, jsonb_build_object('authorization', p_name));
END
$$;
COMMENT ON FUNCTION insp.callback_use_authorization(bigint, text) IS
    'Makes an endpoint''s callbacks use one of its partner''s named authorizations instead of the current one. Each endpoint gets its own tokens';
GRANT EXECUTE ON FUNCTION insp.callback_use_authorization(bigint, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.remove_authorization(p_partner text, p_name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.partner_number(p_partner);
    a insp.client_authorization;
    used integer;
BEGIN
    PERFORM FROM insp.endpoint x WHERE x.partner_id = number ORDER BY x.id FOR NO KEY UPDATE;
    a := insp.named_authorization(number, p_name);
    SELECT count(insp.unlink_authorization(u.endpoint_id)) INTO used
    FROM (SELECT x.endpoint_id FROM insp.endpoint_authorization x WHERE x.authorization_id = a.id ORDER BY x.endpoint_id) u;
    DELETE FROM insp.client_authorization x WHERE x.id = a.id;
    DELETE FROM insp.secret s WHERE s.owner = 'authorization ' || a.id;
    PERFORM insp.record('remove_authorization', 'partner ' || p_partner,
        jsonb_build_object('authorization', p_name, 'endpoints', used));
    RETURN used;
END
$$;
COMMENT ON FUNCTION insp.remove_authorization(text, text) IS
    'Removes a named authorization at once, also from the endpoints that use it, whose callbacks are sent without a token from then on; returns how many. If the provider accepts revocations, dispatchers then revoke the tokens';
GRANT EXECUTE ON FUNCTION insp.remove_authorization(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.allow_authorization_secret(p_partner text, p_name text, p_sha256 text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.partner_number(p_partner);
    PERFORM insp.require((p_name ~ '^[a-z0-9][a-z0-9._-]{0,63}$') IS TRUE, 'p_name', 'p_name is an authorization''s name.');
    PERFORM insp.require((p_sha256 ~ '^[0-9a-f]{64}$') IS TRUE, 'p_sha256', 'p_sha256 is 64 lowercase hexadecimal digits.');
END
$$;
COMMENT ON FUNCTION insp.allow_authorization_secret(text, text, text) IS
    'Only for insp.approve: until it expires, its proposal allows giving a named authorization the secret with this SHA-256';

CREATE OR REPLACE FUNCTION insp.need_allowed_authorization_secret(p_partner integer, p_name text, p_secret text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_secret IS NOT NULL AND EXISTS (SELECT FROM insp.approval a WHERE a.action = 'allow_authorization_secret' AND a.is_needed)
        AND NOT EXISTS (SELECT FROM insp.proposal p JOIN insp.partner x ON x.name = p.arguments ->> 'p_partner'
            WHERE p.action = 'allow_authorization_secret' AND p.outcome = 'approved' AND p.expires_at > clock_timestamp()
                AND x.id = p_partner AND p.arguments ->> 'p_name' = p_name
                AND p.arguments ->> 'p_sha256' = encode(sha256(convert_to(p_secret, 'UTF8')), 'hex')) THEN
        -- Without the digest, since hints are written to the server's log.
        PERFORM insp.refuse('APPROVAL_NEEDED', 'allow_authorization_secret',
            'SELECT insp.propose(''allow_authorization_secret'', ''{"p_partner": …, "p_name": …, "p_sha256": "HEX"}''), with the SHA-256 of the text given here; another login then calls insp.approve.');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_allowed_authorization_secret(integer, text, text) IS
    'Refuses to give a named authorization a secret that no second login has approved, if approval is required';

CREATE OR REPLACE VIEW insp.v_authorization AS
SELECT p.name AS partner, a.name AS authorization_name, u.endpoints, a.provider, a.grant_type, a.token_url, a.revocation_url, a.client_id,
    a.scope, a.method, a.parameters, u.tokens, u.last_code
FROM insp.client_authorization a JOIN insp.partner p ON p.id = a.partner_id CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.endpoint_id ORDER BY x.endpoint_id), '{}') AS endpoints,
        count(*) FILTER (WHERE t.expires_at > now()) AS tokens, min(t.last_code) AS last_code
    FROM insp.endpoint_authorization x LEFT JOIN insp.access_token t ON t.endpoint_id = x.endpoint_id
    WHERE x.authorization_id = a.id) u
ORDER BY p.name, a.name NULLS FIRST, a.id;
COMMENT ON VIEW insp.v_authorization IS 'Authorizations at partners'' providers (OAuth 2.0), without the secrets';
COMMENT ON COLUMN insp.v_authorization.partner IS 'Whose it is';
COMMENT ON COLUMN insp.v_authorization.authorization_name IS 'Its name (for callback_use_authorization); null: it belongs to one endpoint';
COMMENT ON COLUMN insp.v_authorization.endpoints IS 'Endpoints that use it';
COMMENT ON COLUMN insp.v_authorization.provider IS 'How tokens are obtained';
COMMENT ON COLUMN insp.v_authorization.grant_type IS 'Grant type of the provider assertion; null: jwt-bearer (RFC 7523)';
COMMENT ON COLUMN insp.v_authorization.token_url IS 'The token endpoint';
COMMENT ON COLUMN insp.v_authorization.revocation_url IS 'Where tokens are revoked; null: they expire';
COMMENT ON COLUMN insp.v_authorization.client_id IS 'Our identifier there';
COMMENT ON COLUMN insp.v_authorization.scope IS 'Scopes to request';
COMMENT ON COLUMN insp.v_authorization.method IS 'How we authenticate: basic, post, tls or none';
COMMENT ON COLUMN insp.v_authorization.parameters IS 'Further fields of the request';
COMMENT ON COLUMN insp.v_authorization.tokens IS 'How many endpoints have a token that is valid';
COMMENT ON COLUMN insp.v_authorization.last_code IS 'Why one of them got none';
GRANT SELECT ON insp.v_authorization TO insp_operator, insp_auditor;
