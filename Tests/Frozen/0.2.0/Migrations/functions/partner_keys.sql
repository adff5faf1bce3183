-- Public keys of partners, for which results are encrypted, and those of the workers, for which parts are.
-- After: gateway, approvals, workers

CREATE OR REPLACE FUNCTION insp.base64url(p_text text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN p_text ~ '^[A-Za-z0-9_-]+$' AND length(p_text) % 4 <> 1
        THEN decode(rpad(translate(p_text, '-_', '+/'), (length(p_text) + 3) / 4 * 4, '='), 'base64') END
$$;
COMMENT ON FUNCTION insp.base64url(text) IS 'The bytes of a text in Base64url without padding (RFC 7515); null for any other text';

CREATE OR REPLACE FUNCTION insp.check_jwk(p_jwk jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    name text;
    key text;
    length integer;
    made jsonb;
BEGIN
    IF (jsonb_typeof(p_jwk) = 'object' AND length(p_jwk::text) <= 8192) IS NOT TRUE THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', 'it is not a JSON object');
    END IF;
    SELECT k INTO name FROM unnest(ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']) k WHERE p_jwk ? k LIMIT 1;
    IF FOUND THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', format('it has the private member %s: it must not be used any more', name), p_field => name);
    END IF;
    SELECT k INTO name FROM unnest(ARRAY['kty', 'alg', 'use', 'kid', 'crv', 'n', 'e', 'x', 'y']) k
    WHERE jsonb_typeof(p_jwk -> k) <> 'string' LIMIT 1;
    IF FOUND THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', format('%s is not a string', name), p_field => name);
    END IF;
    IF p_jwk ->> 'kty' = 'RSA' THEN
        length := octet_length(insp.base64url(p_jwk ->> 'n'));
        IF (length BETWEEN 256 AND 512 AND get_byte(insp.base64url(p_jwk ->> 'n'), 0) > 0) IS NOT TRUE
            OR (octet_length(insp.base64url(p_jwk ->> 'e')) <= 8) IS NOT TRUE THEN
            PERFORM insp.refuse('PARTNER_KEY_INVALID', 'it is not of 2048 to 4096 bits', p_field => 'n');
        END IF;
        key := format('{"e":"%s","kty":"RSA","n":"%s"}', p_jwk ->> 'e', p_jwk ->> 'n');
        made := '{"alg": "RSA-OAEP-256"}';
    ELSIF p_jwk ->> 'kty' = 'EC' THEN
        length := CASE p_jwk ->> 'crv' WHEN 'P-256' THEN 32 WHEN 'P-384' THEN 48 WHEN 'P-521' THEN 66 END;
        IF (octet_length(insp.base64url(p_jwk ->> 'x')) = length AND octet_length(insp.base64url(p_jwk ->> 'y')) = length) IS NOT TRUE THEN
            PERFORM insp.refuse('PARTNER_KEY_INVALID', 'its curve or a coordinate', p_field => CASE WHEN length IS NULL THEN 'crv' ELSE 'x' END);
        END IF;
        key := format('{"crv":"%s","kty":"EC","x":"%s","y":"%s"}', p_jwk ->> 'crv', p_jwk ->> 'x', p_jwk ->> 'y');
        made := '{"alg": "ECDH-ES"}';
    ELSE
        PERFORM insp.refuse('PARTNER_KEY_INVALID', 'kty is neither RSA nor EC', p_field => 'kty');
    END IF;
    IF p_jwk ->> 'alg' <> made ->> 'alg' THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', format('alg is not %s', made ->> 'alg'), p_field => 'alg');
    ELSIF p_jwk ->> 'use' <> 'enc' THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', 'use is not enc', p_field => 'use');
    END IF;
    -- The thumbprint of RFC 7638.
    name := coalesce(p_jwk ->> 'kid',
        rtrim(translate(encode(sha256(convert_to(key, 'UTF8')), 'base64'), '+/', '-_'), '='));
    IF name !~ '^[!-~]{1,100}$' THEN
        PERFORM insp.refuse('PARTNER_KEY_INVALID', 'kid is not 1 to 100 visible ASCII characters', p_field => 'kid');
    END IF;
    RETURN key::jsonb || made || jsonb_build_object('kid', name, 'use', 'enc');
END
$$;
COMMENT ON FUNCTION insp.check_jwk(jsonb) IS
    'A partner''s public key as it is stored; refuses others. Programs check as well that an RSA modulus and a point are sound';

CREATE OR REPLACE FUNCTION insp.store_partner_key(p_partner integer, p_jwk jsonb, p_by text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    made jsonb;
BEGIN
    IF p_jwk IS NULL THEN
        DELETE FROM insp.partner_key k WHERE k.partner_id = p_partner;
        RETURN NULL;
    END IF;
    made := insp.check_jwk(p_jwk);
    INSERT INTO insp.partner_key AS k (partner_id, jwk, set_by) VALUES (p_partner, made, p_by)
    ON CONFLICT (partner_id) DO UPDATE SET jwk = excluded.jwk, set_at = now(), set_by = excluded.set_by;
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.store_partner_key(integer, jsonb, text) IS 'Stores or, if it is null, removes a partner''s key; returns it as it is stored';

CREATE OR REPLACE FUNCTION insp.set_partner_key(partner text, jwk jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made jsonb;
BEGIN
    PERFORM insp.need_approval('set_partner_key');
    made := insp.store_partner_key(insp.partner_number(set_partner_key.partner), set_partner_key.jwk, session_user);
    PERFORM insp.record('set_partner_key', 'partner ' || set_partner_key.partner,
        jsonb_build_object('kid', coalesce(made ->> 'kid', 'none'), 'alg', made -> 'alg'));
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.set_partner_key(text, jsonb) IS
    'Registers the public key (JWK) for which a partner''s results and callbacks are encrypted from now on, in place of the former one; null: they are sent plain. Returns the key as it is stored';
GRANT EXECUTE ON FUNCTION insp.set_partner_key(text, jsonb) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.gateway_encryption(p_credential bigint, p_secret_sha256 bytea, p_scope text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, p_scope);
BEGIN
    RETURN (SELECT k.jwk FROM insp.partner_key k WHERE k.partner_id = number);
END
$$;
COMMENT ON FUNCTION insp.gateway_encryption(bigint, bytea, text) IS
    'The key for which an answer to a call with this scope is encrypted; null: the partner has registered none';
GRANT EXECUTE ON FUNCTION insp.gateway_encryption(bigint, bytea, text) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_key(p_credential bigint, p_secret_sha256 bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    found jsonb := insp.gateway_encryption(p_credential, p_secret_sha256, 'keys');
BEGIN
    IF found IS NULL THEN
        PERFORM insp.refuse('PARTNER_KEY_MISSING');
    END IF;
    PERFORM insp.record_access(p_credential, 'key', 'keys', NULL, jsonb_build_object('kid', found -> 'kid'));
    RETURN found;
END
$$;
COMMENT ON FUNCTION insp.gateway_key(bigint, bytea) IS 'The key that a credential''s partner has registered';
GRANT EXECUTE ON FUNCTION insp.gateway_key(bigint, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_set_key(p_credential bigint, p_secret_sha256 bytea, p_jwk jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'keys');
    made jsonb;
BEGIN
    made := insp.store_partner_key(number, p_jwk, (SELECT c.key_id FROM insp.credential c WHERE c.id = p_credential));
    PERFORM insp.record_access(p_credential, CASE WHEN made IS NULL THEN 'key_remove' ELSE 'key_set' END, 'keys', NULL,
        jsonb_strip_nulls(jsonb_build_object('kid', made -> 'kid', 'alg', made -> 'alg')));
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.gateway_set_key(bigint, bytea, jsonb) IS 'insp.set_partner_key for the partner of a credential';
GRANT EXECUTE ON FUNCTION insp.gateway_set_key(bigint, bytea, jsonb) TO insp_gateway;

-- A part that is encrypted for a key can reach any worker, so a key is listed once all of them have it.
CREATE OR REPLACE VIEW insp.v_decryption_key AS
WITH live AS (
    SELECT w.id FROM insp.worker w WHERE NOT w.draining AND now() - w.heartbeat_at <= interval '15 s'
), fleet AS (
    SELECT l.id FROM live l
    UNION
    SELECT k.worker_id FROM insp.worker_key k WHERE NOT EXISTS (SELECT FROM live)
)
SELECT k.kid, (jsonb_agg(k.jwk ORDER BY k.worker_id DESC)) -> 0 AS jwk, count(*) AS workers,
    count(*) = (SELECT count(*) FROM fleet) AND count(DISTINCT k.jwk) = 1 AS is_listed
FROM insp.worker_key k JOIN fleet f ON f.id = k.worker_id
GROUP BY k.kid;
COMMENT ON VIEW insp.v_decryption_key IS 'Keys with which live workers decrypt parts; while none is live, those of the last ones';
COMMENT ON COLUMN insp.v_decryption_key.kid IS 'The key''s name: its file''s at the workers';
COMMENT ON COLUMN insp.v_decryption_key.jwk IS 'The public key, as the newest of them has it';
COMMENT ON COLUMN insp.v_decryption_key.workers IS 'How many workers have a key of this name';
COMMENT ON COLUMN insp.v_decryption_key.is_listed IS
    'Whether clients see it (insp.decryption_keys): all workers have the same key under this name';
GRANT SELECT ON insp.v_decryption_key TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.decryption_keys() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce(jsonb_agg(k.jwk ORDER BY k.kid), '[]') FROM insp.v_decryption_key k WHERE k.is_listed
$$;
COMMENT ON FUNCTION insp.decryption_keys() IS 'The public keys for which parts may be encrypted: an array of JWKs';
GRANT EXECUTE ON FUNCTION insp.decryption_keys() TO insp_producer, insp_gateway, insp_operator;
