-- Credentials for the gateway.

CREATE OR REPLACE FUNCTION insp.check_origins(p_origins text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    other text;
BEGIN
    PERFORM insp.require(coalesce(cardinality(p_origins) BETWEEN 0 AND 20 AND coalesce(array_ndims(p_origins), 1) = 1, false), 'origins',
        'A credential has at most 20 origins.');
    SELECT o INTO other FROM unnest(p_origins) o
    -- As browsers write it: in lower case, without a path. A page that came over plain http could be anyone's.
    WHERE (o ~ '^(https://([a-z0-9_-]+([.][a-z0-9_-]+)*|\[[0-9a-f:.]+\])|http://(localhost|127[.]0[.]0[.]1))(:[0-9]{1,5})?$'
        AND o !~ ':(443|80)$' AND length(o) <= 255) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'origin ' || left(quote_nullable(other), 80),
            'An origin is https, a host in lower case and perhaps a port, such as https://app.example.com; http to localhost alone.');
    END IF;
    RETURN ARRAY(SELECT DISTINCT o FROM unnest(p_origins) o ORDER BY o);
END
$$;
COMMENT ON FUNCTION insp.check_origins(text[]) IS 'Origins of pages (RFC 6454, section 6.2), each once; refuses anything else';

CREATE OR REPLACE FUNCTION insp.create_credential(
    partner text,
    scopes text[] DEFAULT ARRAY['create', 'read'],
    note text DEFAULT NULL,
    expires interval DEFAULT NULL,
    rate_per_second double precision DEFAULT NULL,
    rate_burst integer DEFAULT NULL,
    origins text[] DEFAULT '{}',
    OUT key_id text,
    OUT secret text,
    OUT bearer text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number bigint;
    until timestamptz;
    unknown text;
BEGIN
    PERFORM insp.need_approval('create_credential');
    PERFORM insp.require(cardinality(create_credential.scopes) > 0, 'no scope', 'A credential has at least one scope.');
    PERFORM insp.require((length(create_credential.note) <= 200) IS NOT FALSE, 'note', 'A note has at most 200 characters.');
    PERFORM insp.require((create_credential.expires > '0' AND create_credential.expires <= '100 years') IS NOT FALSE, 'expires',
        'expires is above 0 and at most 100 years.');
    PERFORM insp.require((create_credential.rate_per_second > 0 AND create_credential.rate_per_second <= 1000000) IS NOT FALSE
            AND (create_credential.rate_burst > 0) IS NOT FALSE, 'rate_per_second or rate_burst',
        'rate_per_second is above 0 and at most 1000000, rate_burst is at least 1.');
    SELECT quote_nullable(s) INTO unknown FROM unnest(create_credential.scopes) s
    WHERE NOT EXISTS (SELECT FROM insp.scope x WHERE x.scope = s);
    IF FOUND THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'scope ' || left(unknown, 40),
            (SELECT format('Scopes are %s.', string_agg(x.scope, ', ' ORDER BY x.scope)) FROM insp.scope x));
    END IF;
    key_id := 'ik_' || left(gen_random_uuid()::text, 8) || left(gen_random_uuid()::text, 8);
    secret := insp.random_token();
    bearer := key_id || '.' || secret;
    INSERT INTO insp.credential AS c (partner_id, key_id, note, scopes, rate_per_second, rate_burst, origins, expires_at)
    VALUES (insp.partner_number(create_credential.partner), create_credential.key_id, create_credential.note,
        create_credential.scopes, create_credential.rate_per_second, create_credential.rate_burst,
        insp.check_origins(create_credential.origins), now() + create_credential.expires)
    RETURNING c.id, c.expires_at INTO number, until;
    INSERT INTO insp.secret (owner, purpose, value, valid_until)
    VALUES ('credential ' || number, 'credential', sha256(convert_to(create_credential.secret, 'UTF8')), until);
    PERFORM insp.record('create_credential', 'credential ' || create_credential.key_id, jsonb_build_object(
        'partner', create_credential.partner, 'scopes', create_credential.scopes,
        'origins', nullif(to_jsonb(create_credential.origins), '[]')));
END
$$;
COMMENT ON FUNCTION insp.create_credential(text, text[], text, interval, double precision, integer, text[]) IS
    'Creates a credential for the gateway and returns it: user name and password for HTTP Basic, or both as one bearer token. The secret is shown only here';
GRANT EXECUTE ON FUNCTION insp.create_credential(text, text[], text, interval, double precision, integer, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.test_partner(p_partner text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    p constant insp.partner := insp.partner_lock(p_partner);
    name text;
    number integer;
    endpoint bigint;
BEGIN
    IF p.test_of IS NOT NULL THEN
        RETURN p.name;
    END IF;
    SELECT x.name INTO name FROM insp.partner x WHERE x.test_of = p.id;
    IF FOUND THEN
        RETURN name;
    END IF;
    name := left(p.name, 59) || '.test';
    -- insp.follow_partner gives it the partner's policies, now and later.
    INSERT INTO insp.partner AS x (name, test_of) VALUES (name, p.id) ON CONFLICT DO NOTHING RETURNING x.id INTO number;
    IF number IS NULL THEN
        PERFORM insp.refuse('PARTNER_EXISTS', quote_literal(name));
    END IF;
    -- Pulled, until an operator gives it a URL: nobody needs their own server to see the events of a test.
    INSERT INTO insp.endpoint AS e (partner_id, url) VALUES (number, 'pull:') RETURNING e.id INTO endpoint;
    -- Where secrets are sealed, inspectd endpoint rotate makes it.
    IF NOT EXISTS (SELECT FROM insp.custody) THEN
        PERFORM insp.set_secret('endpoint ' || endpoint, 'signing_secret', insp.new_secret());
    END IF;
    PERFORM insp.record('create_partner', 'partner ' || name, jsonb_build_object('endpoint', endpoint, 'url', 'pull:', 'testOf', p.name));
    RETURN name;
END
$$;
COMMENT ON FUNCTION insp.test_partner(text) IS
    'The partner of a partner''s tests, NAME.test, which the first call creates. It has that partner''s policies (insp.follow_partner)';

CREATE OR REPLACE FUNCTION insp.create_test_credential(
    partner text, scopes text[] DEFAULT ARRAY['create', 'read'], note text DEFAULT NULL, expires interval DEFAULT NULL,
    origins text[] DEFAULT '{}',
    OUT key_id text, OUT secret text, OUT bearer text, OUT test_partner text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.need_approval('create_test_credential');
    test_partner := insp.test_partner(create_test_credential.partner);
    SELECT c.key_id, c.secret, c.bearer INTO key_id, secret, bearer
    FROM insp.create_credential(create_test_credential.test_partner, create_test_credential.scopes, create_test_credential.note,
        create_test_credential.expires, origins => create_test_credential.origins) c;
END
$$;
COMMENT ON FUNCTION insp.create_test_credential(text, text[], text, interval, text[]) IS
    'Creates a credential whose jobs are tests: their parts are specimens with fixed outcomes. They belong to a separate partner (test_partner) and are never found, compared or counted with real ones; their events are pulled (GET /events), until insp.set_endpoint gives its endpoint a URL. Otherwise as insp.create_credential';
GRANT EXECUTE ON FUNCTION insp.create_test_credential(text, text[], text, interval, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_origins(key_id text, origins text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    allowed constant text[] := insp.check_origins(set_origins.origins);
BEGIN
    PERFORM insp.need_approval('set_origins', allowed <> '{}');
    UPDATE insp.credential c SET origins = allowed WHERE c.key_id = set_origins.key_id AND c.revoked_at IS NULL;
    PERFORM insp.require(FOUND, 'key_id', 'insp.v_credential lists the credentials.');
    PERFORM insp.record('set_origins', 'credential ' || set_origins.key_id, jsonb_build_object('origins', allowed));
    RETURN allowed;
END
$$;
COMMENT ON FUNCTION insp.set_origins(text, text[]) IS
    'Sets the origins whose pages may read answers to a credential''s calls in a browser (CORS); none by default. Gateways notice within half a minute';
GRANT EXECUTE ON FUNCTION insp.set_origins(text, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.revoke_credential(key_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number bigint;
BEGIN
    UPDATE insp.credential c SET revoked_at = now()
    WHERE c.key_id = revoke_credential.key_id AND c.revoked_at IS NULL
    RETURNING c.id INTO number;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM insp.secret s WHERE s.owner = 'credential ' || number;
    DELETE FROM insp.credential_token t WHERE t.credential_id = number;
    PERFORM insp.record('revoke_credential', 'credential ' || revoke_credential.key_id);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.revoke_credential(text) IS
    'Revokes a credential with its tokens at once; false: none has that name, or it was revoked before';
GRANT EXECUTE ON FUNCTION insp.revoke_credential(text) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_credential AS
SELECT p.name AS partner, c.key_id, c.note, c.scopes,
    CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked' WHEN c.expires_at <= now() THEN 'expired'
        WHEN NOT p.enabled THEN 'partner disabled' ELSE 'valid' END AS state,
    c.used_at, c.created_at, c.created_by, c.expires_at, c.revoked_at, c.rate_per_second, c.rate_burst, c.origins,
    p.test_of IS NOT NULL AS is_test
FROM insp.credential c JOIN insp.partner p ON p.id = c.partner_id;
COMMENT ON VIEW insp.v_credential IS 'Credentials for the gateway, without the secrets';
COMMENT ON COLUMN insp.v_credential.partner IS 'The partner for which it acts';
COMMENT ON COLUMN insp.v_credential.key_id IS 'Its public name (for revoke_credential)';
COMMENT ON COLUMN insp.v_credential.note IS 'What it is for';
COMMENT ON COLUMN insp.v_credential.scopes IS 'What it allows (insp.scope)';
COMMENT ON COLUMN insp.v_credential.state IS 'valid, expired, revoked or partner disabled (which may still read)';
COMMENT ON COLUMN insp.v_credential.used_at IS 'Last use, to the hour';
COMMENT ON COLUMN insp.v_credential.created_at IS 'When it was created';
COMMENT ON COLUMN insp.v_credential.created_by IS 'Who created it';
COMMENT ON COLUMN insp.v_credential.expires_at IS 'Refused from then on';
COMMENT ON COLUMN insp.v_credential.revoked_at IS 'When it was revoked';
COMMENT ON COLUMN insp.v_credential.rate_per_second IS 'Requests a second at one gateway; null: its default';
COMMENT ON COLUMN insp.v_credential.rate_burst IS 'Requests at once; null: the gateway''s default';
COMMENT ON COLUMN insp.v_credential.origins IS 'Origins whose pages may read answers in a browser (for set_origins)';
COMMENT ON COLUMN insp.v_credential.is_test IS 'Whether its jobs are tests';
GRANT SELECT ON insp.v_credential TO insp_operator, insp_auditor;
