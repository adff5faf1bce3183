-- OAuth 2.0: endpoints that want an access token, and the tokens that stateless dispatchers share.

CREATE TABLE insp.endpoint_authorization (
    endpoint_id bigint PRIMARY KEY REFERENCES insp.endpoint,
    provider text NOT NULL DEFAULT 'client_credentials' CHECK (provider ~ '^[a-z][a-z0-9_-]{0,63}$'),
    token_url text,
    client_id text,
    client_secret text,
    scope text,
    method text NOT NULL DEFAULT 'basic' CHECK (method IN ('basic', 'post', 'tls'))
);
COMMENT ON TABLE insp.endpoint_authorization IS 'Endpoints whose requests carry an access token (OAuth 2.0)';
COMMENT ON COLUMN insp.endpoint_authorization.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_authorization.provider IS
    'Who gets the tokens: client_credentials (RFC 6749 section 4.4), or a provider that the worker was built with';
COMMENT ON COLUMN insp.endpoint_authorization.token_url IS 'Token endpoint of the authorization server';
COMMENT ON COLUMN insp.endpoint_authorization.client_id IS 'Our identifier there';
COMMENT ON COLUMN insp.endpoint_authorization.client_secret IS 'Our secret there; readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint_authorization.scope IS 'Scopes to ask for, separated by spaces';
COMMENT ON COLUMN insp.endpoint_authorization.method IS
    'How we prove who we are: basic (HTTP Basic, RFC 6749 section 2.3.1), post (in the body), tls (the endpoint''s client certificate, RFC 8705)';
GRANT SELECT ON insp.endpoint_authorization TO insp_worker;
GRANT SELECT (endpoint_id, provider, token_url, client_id, scope, method) ON insp.endpoint_authorization
    TO insp_operator, insp_auditor;

CREATE TABLE insp.access_token (
    endpoint_id bigint PRIMARY KEY REFERENCES insp.endpoint,
    token text,
    generation bigint NOT NULL DEFAULT 0,
    refresh_at timestamptz,
    expires_at timestamptz,
    lease bigint,
    lease_until timestamptz,
    failed_until timestamptz,
    last_code text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE SEQUENCE insp.access_token_lease AS bigint;
COMMENT ON SEQUENCE insp.access_token_lease IS 'Numbers of the rights to refresh a token: each is given out once';
COMMENT ON TABLE insp.access_token IS 'The access token of each endpoint, shared by all dispatchers; readable by insp_worker alone';
COMMENT ON COLUMN insp.access_token.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.access_token.token IS 'The token; null: none, or refused';
COMMENT ON COLUMN insp.access_token.generation IS 'Rises with each token, so that a refusal of an old one ends no newer one';
COMMENT ON COLUMN insp.access_token.refresh_at IS 'From when on a dispatcher gets the next one, while the others go on with this';
COMMENT ON COLUMN insp.access_token.expires_at IS 'When it ends';
COMMENT ON COLUMN insp.access_token.lease IS 'Number of the right to refresh it that is out';
COMMENT ON COLUMN insp.access_token.lease_until IS 'When that right lapses: its holder may have died';
COMMENT ON COLUMN insp.access_token.failed_until IS 'After a failure, nobody asks before';
COMMENT ON COLUMN insp.access_token.last_code IS 'Code of the last failure (insp.error_code)';
GRANT SELECT ON insp.access_token TO insp_worker;
GRANT SELECT (endpoint_id, generation, refresh_at, expires_at, lease_until, failed_until, last_code) ON insp.access_token
    TO insp_operator, insp_auditor;

-- Dispatchers -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.token_take(
    p_endpoint bigint, p_refused bigint DEFAULT NULL,
    OUT token text, OUT generation bigint, OUT refresh_in double precision, OUT expires_in double precision,
    OUT lease bigint, OUT code text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    t insp.access_token;
BEGIN
    INSERT INTO insp.access_token (endpoint_id) VALUES (p_endpoint) ON CONFLICT DO NOTHING;
    SELECT * INTO t FROM insp.access_token x WHERE x.endpoint_id = p_endpoint FOR UPDATE;
    IF t.generation = p_refused AND t.token IS NOT NULL THEN
        -- The partner refused just this one; a newer one is not touched.
        t.token := NULL;
        UPDATE insp.access_token x SET token = NULL WHERE x.endpoint_id = p_endpoint;
    END IF;
    generation := t.generation;
    IF t.token IS NOT NULL AND t.expires_at > moment THEN
        token := t.token;
        refresh_in := extract(epoch FROM t.refresh_at - moment);
        expires_in := extract(epoch FROM t.expires_at - moment);
    END IF;
    IF token IS NULL AND t.failed_until > moment THEN
        code := coalesce(t.last_code, 'AUTHORIZATION_FAILED');
    ELSIF (token IS NULL OR t.refresh_at <= moment) AND coalesce(t.failed_until <= moment, true)
        AND coalesce(t.lease_until <= moment, true)
    THEN
        lease := nextval('insp.access_token_lease');
        -- Twice the time-out of a token request, so that only a dead holder's right lapses.
        UPDATE insp.access_token x SET lease = token_take.lease, lease_until = moment + interval '30 seconds'
        WHERE x.endpoint_id = p_endpoint;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.token_take(bigint, bigint) IS
    'An endpoint''s access token, with seconds until its refresh and its end. With a lease number the caller, and nobody else, must get the next one and call token_store or token_fail; without token, lease and code somebody else is doing so. p_refused: the generation that the partner refused';

CREATE FUNCTION insp.token_store(
    p_endpoint bigint, p_lease bigint, p_token text, p_lifetime double precision, p_early double precision
) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.access_token x SET token = p_token, generation = x.generation + 1, lease = NULL, lease_until = NULL,
        refresh_at = clock_timestamp() + (p_lifetime - p_early) * interval '1 second',
        expires_at = clock_timestamp() + p_lifetime * interval '1 second', failed_until = NULL, last_code = NULL
    WHERE x.endpoint_id = p_endpoint AND x.lease = p_lease
    RETURNING x.generation
$$;
COMMENT ON FUNCTION insp.token_store(bigint, bigint, text, double precision, double precision) IS
    'Stores a token that lives p_lifetime seconds and is to be refreshed p_early seconds before; returns its generation, or null if the right had lapsed';

CREATE FUNCTION insp.token_fail(p_endpoint bigint, p_lease bigint, p_code text, p_wait double precision) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.access_token x SET lease = NULL, lease_until = NULL, last_code = p_code,
        failed_until = clock_timestamp() + p_wait * interval '1 second'
    WHERE x.endpoint_id = p_endpoint AND x.lease = p_lease
$$;
COMMENT ON FUNCTION insp.token_fail(bigint, bigint, text, double precision) IS
    'Gives the right to refresh back after a failure; nobody asks again for p_wait seconds';

-- Now with authorization.
CREATE OR REPLACE FUNCTION insp.endpoint_options(e insp.endpoint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
        'http2', nullif(e.http2, false), 'pins', to_jsonb(e.pins), 'networks', to_jsonb(e.allowed_networks::text[]),
        'certificate', e.client_certificate, 'key', e.client_key, 'apiKeyHeader', e.api_key_header, 'apiKey', e.api_key,
        'authorization', (
            SELECT jsonb_build_object('provider', a.provider, 'tokenURL', a.token_url, 'clientID', a.client_id,
                'clientSecret', a.client_secret, 'scope', a.scope, 'method', a.method)
            FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id))),
        '{}')::text
$$;

CREATE OR REPLACE FUNCTION insp.needs_current(e insp.endpoint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT e.inline_result OR e.http2 OR e.pins IS NOT NULL OR e.allowed_networks IS NOT NULL OR e.signing_key IS NOT NULL
        OR e.client_certificate IS NOT NULL OR e.api_key IS NOT NULL
        OR EXISTS (SELECT FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id)
$$;

-- Operators ---------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.callback_authorize(
    p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL, p_scope text DEFAULT NULL,
    p_method text DEFAULT 'basic', p_provider text DEFAULT 'client_credentials'
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint;
    problem text;
BEGIN
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = p_endpoint;
    IF NOT FOUND THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN');
    END IF;
    IF p_provider = 'client_credentials' THEN
        IF p_token_url IS NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_MISSING', 'the token URL');
        END IF;
        -- Visible characters, as RFC 6749 appendix A.1 has them.
        IF coalesce(p_client_id, '') !~ '^[\x20-\x7e]{1,255}$' THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID');
        END IF;
        IF p_method IN ('basic', 'post') AND coalesce(p_client_secret, '') !~ '^[\x20-\x7e]+$' THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'method ' || p_method || ' needs a client secret');
        ELSIF p_method = 'tls' AND e.client_certificate IS NULL THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'method tls needs the endpoint''s client certificate');
        END IF;
    END IF;
    IF p_token_url IS NOT NULL THEN
        problem := insp.url_problem(p_token_url, 255, e.allow_http, e.allow_private);
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', 'token URL: ' || problem);
        END IF;
    END IF;
    INSERT INTO insp.endpoint_authorization AS a (endpoint_id, provider, token_url, client_id, client_secret, scope, method)
    VALUES (p_endpoint, p_provider, p_token_url, p_client_id, p_client_secret, p_scope, p_method)
    ON CONFLICT (endpoint_id) DO UPDATE SET provider = excluded.provider, token_url = excluded.token_url,
        client_id = excluded.client_id, client_secret = excluded.client_secret, scope = excluded.scope,
        method = excluded.method;
    -- The next request gets a token of the new client. A refresh under way is not stored any more.
    UPDATE insp.access_token t SET token = NULL, generation = t.generation + 1, lease = NULL, lease_until = NULL,
        failed_until = NULL
    WHERE t.endpoint_id = p_endpoint;
    PERFORM insp.record('callback_authorize', 'endpoint ' || p_endpoint,
        jsonb_build_object('provider', p_provider, 'tokenURL', p_token_url, 'clientID', p_client_id, 'method', p_method));
END
$$;
COMMENT ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text) IS
    'Lets an endpoint''s callbacks carry an access token of OAuth 2.0, by default by client credentials; replaces what was set before';

CREATE FUNCTION insp.callback_unauthorize(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_gone boolean;
BEGIN
    DELETE FROM insp.endpoint_authorization a WHERE a.endpoint_id = p_endpoint;
    is_gone := FOUND;
    DELETE FROM insp.access_token t WHERE t.endpoint_id = p_endpoint;
    PERFORM insp.record('callback_unauthorize', 'endpoint ' || p_endpoint);
    RETURN is_gone;
END
$$;
COMMENT ON FUNCTION insp.callback_unauthorize(bigint) IS 'Ends the authorization of an endpoint''s callbacks; false: it had none';

GRANT EXECUTE ON FUNCTION insp.token_take(bigint, bigint),
    insp.token_store(bigint, bigint, text, double precision, double precision),
    insp.token_fail(bigint, bigint, text, double precision) TO insp_worker;
GRANT EXECUTE ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text),
    insp.callback_unauthorize(bigint) TO insp_operator;
