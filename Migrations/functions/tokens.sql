-- OAuth 2.0: endpoints that require an access token, and the tokens that stateless dispatchers share.

CREATE OR REPLACE FUNCTION insp.callback_authorize(
    p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL, p_scope text DEFAULT NULL,
    p_method text DEFAULT 'basic', p_provider text DEFAULT 'client_credentials'
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
    problem text;
    is_approved constant boolean := EXISTS (SELECT FROM insp.proposal p WHERE p.approving = pg_current_xact_id());
BEGIN
    -- A new secret alone changes nothing about where it is sent.
    PERFORM insp.need_approval('callback_authorize', NOT EXISTS (SELECT FROM insp.endpoint_authorization a
        WHERE a.endpoint_id = p_endpoint AND (a.provider, a.token_url, a.client_id, a.scope, a.method)
            IS NOT DISTINCT FROM (p_provider, p_token_url, p_client_id, p_scope, p_method)));
    PERFORM insp.need_allowed_secret(p_endpoint, p_client_secret);
    PERFORM insp.require(p_method IN ('basic', 'post', 'tls'), 'method ' || left(quote_nullable(p_method), 40),
        'A method is basic, post or tls.');
    PERFORM insp.require(p_provider ~ '^[a-z][a-z0-9_-]{0,63}$', 'provider ' || left(quote_nullable(p_provider), 40),
        'A provider is client_credentials, or one that the workers were built with.');
    IF p_provider = 'client_credentials' THEN
        IF p_token_url IS NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_MISSING', 'the token URL');
        END IF;
        -- Visible characters, as in RFC 6749 appendix A.1.
        IF coalesce(p_client_id, '') !~ '^[\x20-\x7e]{1,255}$' THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID');
        END IF;
        -- A proposal has no secret: it is set afterwards.
        IF p_method IN ('basic', 'post') AND coalesce(p_client_secret, '') !~ '^[\x20-\x7e]+$'
            AND NOT (is_approved AND p_client_secret IS NULL) THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'no client secret', format('Method %s needs one.', p_method));
        ELSIF p_method = 'tls' AND e.client_certificate IS NULL THEN
            PERFORM insp.refuse('CLIENT_ID_INVALID', 'no client certificate', 'Method tls needs the endpoint''s.');
        END IF;
    END IF;
    IF p_token_url IS NOT NULL THEN
        problem := insp.url_problem(p_token_url, 255, e.allow_http, e.allow_private);
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', 'token URL: ' || problem);
        END IF;
    END IF;
    INSERT INTO insp.endpoint_authorization AS a (endpoint_id, provider, token_url, client_id, scope, method)
    VALUES (p_endpoint, p_provider, p_token_url, p_client_id, p_scope, p_method)
    ON CONFLICT (endpoint_id) DO UPDATE SET provider = excluded.provider, token_url = excluded.token_url,
        client_id = excluded.client_id, scope = excluded.scope, method = excluded.method;
    PERFORM insp.set_secret('endpoint ' || p_endpoint, 'client_secret', p_client_secret);
    -- The next request gets a token of the new client. A refresh under way is no longer stored.
    UPDATE insp.access_token t SET generation = t.generation + 1, lease = NULL, lease_until = NULL, failed_until = NULL
    WHERE t.endpoint_id = p_endpoint;
    DELETE FROM insp.secret s WHERE s.owner = 'endpoint ' || p_endpoint AND s.purpose = 'access_token';
    PERFORM insp.record('callback_authorize', 'endpoint ' || p_endpoint,
        jsonb_build_object('provider', p_provider, 'tokenURL', p_token_url, 'clientID', p_client_id, 'method', p_method));
END
$$;
COMMENT ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text) IS
    'Sends an endpoint''s callbacks with an OAuth 2.0 access token, by default by client credentials; replaces earlier settings. Where it needs approval, the proposal has no p_client_secret: the approved settings are repeated with it, which needs none';
GRANT EXECUTE ON FUNCTION insp.callback_authorize(bigint, text, text, text, text, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_unauthorize(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    is_gone boolean;
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    DELETE FROM insp.endpoint_authorization a WHERE a.endpoint_id = p_endpoint;
    is_gone := FOUND;
    DELETE FROM insp.access_token t WHERE t.endpoint_id = p_endpoint;
    DELETE FROM insp.secret s WHERE s.owner = 'endpoint ' || p_endpoint AND s.purpose IN ('client_secret', 'access_token');
    PERFORM insp.record('callback_unauthorize', 'endpoint ' || p_endpoint);
    RETURN is_gone;
END
$$;
COMMENT ON FUNCTION insp.callback_unauthorize(bigint) IS 'Ends the authorization of an endpoint''s callbacks; false: it had none';
GRANT EXECUTE ON FUNCTION insp.callback_unauthorize(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.token_take(
    p_endpoint bigint, p_refused bigint DEFAULT NULL,
    OUT token text, OUT generation bigint, OUT refresh_in double precision, OUT expires_in double precision,
    OUT lease bigint, OUT code text, OUT partner integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    name constant text := 'endpoint ' || p_endpoint;
    t insp.access_token;
    held text;
BEGIN
    SELECT e.partner_id INTO partner FROM insp.endpoint e WHERE e.id = ANY (ARRAY[p_endpoint]);
    -- An existing row must not be inserted: that would wait for the session that changes it.
    IF NOT EXISTS (SELECT FROM insp.access_token x WHERE x.endpoint_id = p_endpoint) THEN
        INSERT INTO insp.access_token (endpoint_id) VALUES (p_endpoint) ON CONFLICT DO NOTHING;
    END IF;
    SELECT * INTO t FROM insp.access_token x WHERE x.endpoint_id = p_endpoint FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        -- Another transaction is changing it: the other endpoints' tokens must not wait. The current token serves unless refused.
        SELECT convert_from(s.value, 'UTF8'), x.generation, greatest(1, extract(epoch FROM x.refresh_at - moment)),
            extract(epoch FROM x.expires_at - moment)
        INTO token, generation, refresh_in, expires_in
        FROM insp.access_token x LEFT JOIN insp.secrets(name, ARRAY['access_token']) s ON true
        WHERE x.endpoint_id = p_endpoint AND x.expires_at > moment AND x.generation IS DISTINCT FROM p_refused;
        RETURN;
    END IF;
    IF t.generation = p_refused THEN
        -- The partner refused this very token; a newer one is kept.
        DELETE FROM insp.secret s WHERE s.owner = name AND s.purpose = 'access_token';
    ELSE
        SELECT convert_from(s.value, 'UTF8') INTO held FROM insp.secrets(name, ARRAY['access_token']) s;
    END IF;
    generation := t.generation;
    IF held IS NOT NULL AND t.expires_at > moment THEN
        token := held;
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
    'An endpoint''s access token, with seconds until its refresh and its expiry. With a lease number, only the caller must get the next one and call token_store or token_fail; without token, lease and code another dispatcher is doing so. p_refused: the generation that the partner refused. partner: the number of the partner under whose key it is sealed, if it is';
GRANT EXECUTE ON FUNCTION insp.token_take(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.token_store(
    p_endpoint bigint, p_lease bigint, p_token text, p_lifetime double precision, p_early double precision
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '1s' AS $$
DECLARE
    name constant text := 'endpoint ' || p_endpoint;
    t insp.access_token;
    -- A custom provider's lifetime may exceed the range of dates.
    lifetime constant double precision := least(greatest(p_lifetime, 0), 30 * 86400);
BEGIN
    UPDATE insp.access_token x SET generation = x.generation + 1, lease = NULL, lease_until = NULL,
        refresh_at = clock_timestamp() + (lifetime - least(p_early, lifetime)) * interval '1 second',
        expires_at = clock_timestamp() + lifetime * interval '1 second', failed_until = NULL, last_code = NULL
    WHERE x.endpoint_id = p_endpoint AND x.lease = p_lease
    RETURNING * INTO t;
    IF FOUND THEN
        DELETE FROM insp.secret s WHERE s.owner = name AND s.purpose = 'access_token';
        INSERT INTO insp.secret (owner, purpose, value, seal, valid_until)
        VALUES (name, 'access_token', convert_to(p_token, 'UTF8'), insp.secret_seal(p_token), t.expires_at);
    END IF;
    RETURN t.generation;
END
$$;
COMMENT ON FUNCTION insp.token_store(bigint, bigint, text, double precision, double precision) IS
    'Stores a token, plain or sealed, with a lifetime of p_lifetime seconds (at most 30 days), to be refreshed p_early seconds before its end; returns its generation, or null if the right had lapsed';
GRANT EXECUTE ON FUNCTION insp.token_store(bigint, bigint, text, double precision, double precision) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.token_fail(p_endpoint bigint, p_lease bigint, p_code text, p_wait double precision) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '1s' AS $$
    UPDATE insp.access_token x SET lease = NULL, lease_until = NULL, last_code = p_code,
        failed_until = clock_timestamp() + p_wait * interval '1 second'
    WHERE x.endpoint_id = p_endpoint AND x.lease = p_lease
$$;
COMMENT ON FUNCTION insp.token_fail(bigint, bigint, text, double precision) IS
    'Returns the right to refresh after a failure; no dispatcher tries again for p_wait seconds';
GRANT EXECUTE ON FUNCTION insp.token_fail(bigint, bigint, text, double precision) TO insp_worker;
