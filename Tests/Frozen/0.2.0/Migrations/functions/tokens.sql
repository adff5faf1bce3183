-- OAuth 2.0: the tokens that stateless dispatchers share, and those that they revoke.

CREATE OR REPLACE FUNCTION insp.token_take(
    p_endpoint bigint, p_refused bigint DEFAULT NULL,
    OUT token text, OUT generation bigint, OUT refresh_in_seconds double precision, OUT expires_in_seconds double precision,
    OUT permit bigint, OUT code text, OUT partner integer
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
        INTO token, generation, refresh_in_seconds, expires_in_seconds
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
        refresh_in_seconds := extract(epoch FROM t.refresh_at - moment);
        expires_in_seconds := extract(epoch FROM t.expires_at - moment);
    END IF;
    IF token IS NULL AND t.failed_until > moment THEN
        code := coalesce(t.last_code, 'AUTHORIZATION_FAILED');
    ELSIF (token IS NULL OR t.refresh_at <= moment) AND coalesce(t.failed_until <= moment, true)
        AND coalesce(t.permit_until <= moment, true)
    THEN
        permit := nextval('insp.access_token_permit');
        -- Twice the time-out of a token request, so that only a dead holder's permit lapses.
        UPDATE insp.access_token x SET permit = token_take.permit, permit_until = moment + interval '30 seconds'
        WHERE x.endpoint_id = p_endpoint;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.token_take(bigint, bigint) IS
    'An endpoint''s access token, with the seconds until its refresh and its expiry. With a permit, the caller alone must get the next one and call token_store or token_fail; if token, permit and code are all null, another dispatcher is doing so. p_refused: the generation that the partner refused. partner: the number of the partner under whose key it is sealed, if any';
GRANT EXECUTE ON FUNCTION insp.token_take(bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.token_store(
    p_endpoint bigint, p_permit bigint, p_token text, p_lifetime_seconds double precision, p_early_seconds double precision
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '1s' AS $$
DECLARE
    name constant text := 'endpoint ' || p_endpoint;
    t insp.access_token;
    number bigint;
    -- A custom provider's lifetime may exceed the range of dates.
    lifetime_seconds constant double precision := least(greatest(p_lifetime_seconds, 0), 30 * 86400);
BEGIN
    UPDATE insp.access_token x SET generation = x.generation + 1, permit = NULL, permit_until = NULL,
        refresh_at = clock_timestamp() + (lifetime_seconds - least(p_early_seconds, lifetime_seconds)) * interval '1 second',
        expires_at = clock_timestamp() + lifetime_seconds * interval '1 second', failed_until = NULL, last_code = NULL
    WHERE x.endpoint_id = p_endpoint AND x.permit = p_permit
    RETURNING * INTO t;
    IF FOUND THEN
        DELETE FROM insp.secret s WHERE s.owner = name AND s.purpose = 'access_token';
        INSERT INTO insp.secret (owner, purpose, value, seal, valid_until)
        VALUES (name, 'access_token', convert_to(p_token, 'UTF8'), insp.secret_seal(p_token), t.expires_at);
        RETURN t.generation;
    END IF;
    -- Its authorization was removed or replaced meanwhile: nobody may use it.
    UPDATE insp.token_revocation r SET token_permit = NULL, due_at = clock_timestamp(),
        ends_at = clock_timestamp() + least(lifetime_seconds, 86400) * interval '1 second'
    WHERE r.endpoint_id = p_endpoint AND r.token_permit = p_permit
    RETURNING r.id INTO number;
    IF number IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE insp.secret s SET value = convert_to((convert_from(k.value, 'UTF8')::jsonb || jsonb_build_object('token', p_token))::text,
        'UTF8')
    FROM insp.secrets('revocation ' || number, ARRAY['revocation']) k WHERE s.id = k.id;
    PERFORM pg_notify('insp_revoke', '');
    RETURN 0;
END
$$;
COMMENT ON FUNCTION insp.token_store(bigint, bigint, text, double precision, double precision) IS
    'Stores a token, plain or sealed, with a lifetime of p_lifetime_seconds (at most 30 days), to be refreshed p_early_seconds before its end; returns its generation; 0: its authorization was removed meanwhile, and dispatchers revoke it; null: the permit had lapsed';
GRANT EXECUTE ON FUNCTION insp.token_store(bigint, bigint, text, double precision, double precision) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.token_fail(p_endpoint bigint, p_permit bigint, p_code text, p_wait_seconds double precision) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '1s' AS $$
    UPDATE insp.access_token x SET permit = NULL, permit_until = NULL, last_code = p_code,
        failed_until = clock_timestamp() + p_wait_seconds * interval '1 second'
    WHERE x.endpoint_id = p_endpoint AND x.permit = p_permit
$$;
COMMENT ON FUNCTION insp.token_fail(bigint, bigint, text, double precision) IS
    'Releases the permit to refresh after a failure; no dispatcher tries again for p_wait_seconds';
GRANT EXECUTE ON FUNCTION insp.token_fail(bigint, bigint, text, double precision) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.end_token(p_endpoint bigint, p_may_be_sealed boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    name constant text := 'endpoint ' || p_endpoint;
    held record;
    flight bigint;
    ended record;
    number bigint;
BEGIN
    SELECT t.permit INTO flight FROM insp.access_token t WHERE t.endpoint_id = p_endpoint FOR UPDATE;
    -- A refresh under way is no longer stored: token_store has its token revoked.
    UPDATE insp.access_token t SET generation = t.generation + 1, permit = NULL, permit_until = NULL, failed_until = NULL
    WHERE t.endpoint_id = p_endpoint;
    SELECT convert_from(s.value, 'UTF8') AS token, s.valid_until, insp.endpoint_options(e) AS options, a.name AS authorization_name,
        e.allow_http, e.allow_private
    INTO held
    FROM insp.endpoint e JOIN insp.endpoint_authorization x ON x.endpoint_id = e.id
        JOIN insp.client_authorization a ON a.id = x.authorization_id
        LEFT JOIN insp.secrets('endpoint ' || p_endpoint, ARRAY['access_token']) s ON true
    WHERE e.id = p_endpoint AND a.revocation_url IS NOT NULL;
    DELETE FROM insp.secret s WHERE s.owner = name AND s.purpose = 'access_token';
    IF held.options IS NULL OR NOT p_may_be_sealed AND position('sealed:' IN held.options) > 0 THEN
        RETURN;
    END IF;
    FOR ended IN
        SELECT held.token AS token, NULL::bigint AS token_permit, least(held.valid_until, clock_timestamp() + interval '1 day') AS ends_at
        WHERE held.token IS NOT NULL AND held.valid_until > clock_timestamp() AND (p_may_be_sealed OR insp.secret_seal(held.token) = 0)
        -- Longer than any request for a token takes.
        UNION ALL SELECT NULL, flight, clock_timestamp() + interval '5 minutes' WHERE flight IS NOT NULL
    LOOP
        INSERT INTO insp.token_revocation (endpoint_id, authorization_name, due_at, ends_at, token_permit)
        VALUES (p_endpoint, held.authorization_name, CASE WHEN ended.token_permit IS NULL THEN clock_timestamp() ELSE ended.ends_at END,
            ended.ends_at, ended.token_permit)
        RETURNING id INTO number;
        INSERT INTO insp.secret (owner, purpose, value)
        VALUES ('revocation ' || number, 'revocation', convert_to(jsonb_build_object('token', ended.token,
            'options', held.options::jsonb - ARRAY['encryption', 'test', 'apiKey', 'apiKeyHeader'], 'allowsHTTP', held.allow_http,
            'allowsPrivate', held.allow_private)::text, 'UTF8'));
        PERFORM pg_notify('insp_revoke', '');
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.end_token(bigint, boolean) IS
    'Ends an endpoint''s access token before its authorization changes or is removed: no further request carries it, and if the provider accepts revocations, dispatchers revoke it, as well as a token that a dispatcher is getting, once it arrives. p_may_be_sealed: whether sealed secrets will still open. The caller must have locked the endpoint';

CREATE OR REPLACE FUNCTION insp.end_revocation(r insp.token_revocation, p_code text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- A token that never arrived leaves nothing to record.
    IF r.token_permit IS NULL THEN
        INSERT INTO insp.record (chain, action, subject, detail)
        VALUES ('endpoint', CASE WHEN p_code IS NULL THEN 'token_revoked' ELSE 'token_not_revoked' END, 'endpoint ' || r.endpoint_id,
            jsonb_strip_nulls(jsonb_build_object('authorization', r.authorization_name, 'attempts', r.attempts, 'code', p_code)));
    END IF;
    DELETE FROM insp.secret s WHERE s.owner = 'revocation ' || r.id;
    DELETE FROM insp.token_revocation x WHERE x.id = r.id;
END
$$;
COMMENT ON FUNCTION insp.end_revocation(insp.token_revocation, text) IS
    'Records how a revocation ended, and forgets the token. p_code: why it failed; null: it succeeded';

CREATE OR REPLACE FUNCTION insp.is_revoked_in(p_endpoint bigint, p_region smallint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id
        WHERE e.id = p_endpoint AND p.region <> p_region)
$$;
COMMENT ON FUNCTION insp.is_revoked_in(bigint, smallint) IS
    'Whether dispatchers of a region (0: without one) may revoke an endpoint''s tokens: its partner has that region, or none';

CREATE OR REPLACE FUNCTION insp.revocation_claim(
    p_region text DEFAULT NULL,
    OUT id bigint, OUT permit bigint, OUT endpoint bigint, OUT document text, OUT due_in_seconds double precision
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' AS $$
#variable_conflict use_column
DECLARE
    moment constant timestamptz := clock_timestamp();
    here constant smallint := insp.worker_region(p_region);
    r insp.token_revocation;
BEGIN
    -- Whatever the region: nothing is sent.
    FOR r IN SELECT * FROM insp.token_revocation x WHERE x.ends_at <= moment ORDER BY x.id LIMIT 100 FOR UPDATE SKIP LOCKED LOOP
        PERFORM insp.end_revocation(r, coalesce(r.last_code, 'AUTHORIZATION_FAILED'));
    END LOOP;
    SELECT x.* INTO r FROM insp.token_revocation x
    WHERE x.due_at <= moment AND x.token_permit IS NULL AND insp.is_revoked_in(x.endpoint_id, here)
    ORDER BY x.due_at, x.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        due_in_seconds := extract(epoch FROM (SELECT min(x.due_at) FROM insp.token_revocation x
            WHERE x.token_permit IS NULL AND insp.is_revoked_in(x.endpoint_id, here)) - moment);
        RETURN;
    END IF;
    id := r.id;
    endpoint := r.endpoint_id;
    permit := nextval('insp.access_token_permit');
    -- Twice the time-out of a request: then its holder is dead.
    UPDATE insp.token_revocation x SET permit = revocation_claim.permit, attempts = x.attempts + 1, due_at = moment + interval '30 seconds'
    WHERE x.id = r.id;
    SELECT convert_from(s.value, 'UTF8') INTO document FROM insp.secrets('revocation ' || r.id, ARRAY['revocation']) s;
END
$$;
COMMENT ON FUNCTION insp.revocation_claim(text) IS
    'A token to be revoked now by a dispatcher of this region, with its endpoint''s settings at that time, as JSON that contains secrets; null: there is none, but perhaps in due_in_seconds. Call insp.revocation_settle afterwards. Ends those whose time has passed';
GRANT EXECUTE ON FUNCTION insp.revocation_claim(text) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.revocation_settle(
    p_id bigint, p_permit bigint, p_code text DEFAULT NULL, p_is_final boolean DEFAULT true
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    r insp.token_revocation;
    later timestamptz;
BEGIN
    SELECT * INTO r FROM insp.token_revocation x WHERE x.id = p_id AND x.permit = p_permit FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    later := clock_timestamp() + least(600, 5 * 2 ^ least(r.attempts - 1, 10)) * (0.8 + 0.4 * random()) * interval '1 second';
    IF p_code IS NULL OR p_is_final OR later >= r.ends_at THEN
        PERFORM insp.end_revocation(r, p_code);
        RETURN true;
    END IF;
    UPDATE insp.token_revocation x SET permit = NULL, due_at = later, last_code = p_code WHERE x.id = p_id;
    RETURN false;
END
$$;
COMMENT ON FUNCTION insp.revocation_settle(bigint, bigint, text, boolean) IS
    'Stores the outcome of an attempt to revoke a token: p_code is why it failed, null that it succeeded. A failure that is not final is retried after 5 s, then after twice as long, up to ten minutes, until the token has expired. Returns whether that was the last attempt; null: the permit had lapsed';
GRANT EXECUTE ON FUNCTION insp.revocation_settle(bigint, bigint, text, boolean) TO insp_worker;
