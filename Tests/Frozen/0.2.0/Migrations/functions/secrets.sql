-- Creates, stores and reads secrets. No role may call any of these.

CREATE OR REPLACE FUNCTION insp.random_key() RETURNS bytea
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    -- Three random UUIDs contain 366 bits of the server's strong random source; SHA-256 reduces them to 256 uniform bits.
    SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
$$;
COMMENT ON FUNCTION insp.random_key() IS '32 random bytes';

CREATE OR REPLACE FUNCTION insp.random_token() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT translate(rtrim(encode(insp.random_key(), 'base64'), '='), '+/', '-_')
$$;
COMMENT ON FUNCTION insp.random_token() IS '32 random bytes as 43 characters for a URL or header (base64url)';

CREATE OR REPLACE FUNCTION insp.new_secret() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT 'whsec_' || encode(insp.random_key(), 'base64')
$$;
COMMENT ON FUNCTION insp.new_secret() IS 'A new signing secret of Standard Webhooks: whsec_ and 32 random bytes in base64';

CREATE OR REPLACE FUNCTION insp.signing_purpose(p_key text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_key ~ '^wh(sec|sk)_([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        -- Nothing else is decoded: it would be an error.
        THEN (SELECT CASE WHEN p_key LIKE 'whsec\_%' AND k.bytes BETWEEN 16 AND 64 THEN 'signing_secret'
                WHEN p_key LIKE 'whsk\_%' AND k.bytes IN (32, 64) THEN 'signing_key' END
            FROM (SELECT octet_length(decode(split_part(p_key, '_', 2), 'base64')) AS bytes) k) END
$$;
COMMENT ON FUNCTION insp.signing_purpose(text) IS
    'The purpose of a key of Standard Webhooks: signing_secret (whsec_ and base64 of 16 to 64 bytes) or signing_key (whsk_ and base64 of 32 bytes, or of 64 with the public key); null: it is no such key';

CREATE OR REPLACE FUNCTION insp.secret_seal(p_value text) RETURNS smallint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bytes bytea;
BEGIN
    IF NOT starts_with(p_value, 'sealed:') THEN
        RETURN 0;
    END IF;
    IF length(p_value) <= 90000 AND p_value ~ '^sealed:([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' THEN
        -- Nothing else is decoded: it would be an error.
        bytes := decode(substr(p_value, 8), 'base64');
    END IF;
    -- Version, key, nonce and tag have 45 bytes.
    IF p_value IS NOT NULL AND (insp.seal_of(bytes) = 1 AND length(bytes) > 45) IS NOT TRUE THEN
        PERFORM insp.refuse('SEAL_BROKEN', 'the secret', 'A sealed secret is sealed: and the Base64 of sealed bytes.');
    END IF;
    RETURN CASE WHEN p_value IS NOT NULL THEN 1 END;
END
$$;
COMMENT ON FUNCTION insp.secret_seal(text) IS
    'How a secret is sealed: 0, not at all, or 1 (deploy/SEALING.md); refuses text that only begins like a sealed secret';

-- Without its own settings, so that it is inlined into the caller's statement: a claim calls it for every endpoint.
CREATE OR REPLACE FUNCTION insp.secrets(p_owner text, p_purposes text[])
RETURNS TABLE (id bigint, purpose text, value bytea, valid_until timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT s.id, s.purpose, s.value, s.valid_until FROM insp.secret s
    WHERE s.owner = p_owner AND s.purpose = ANY (p_purposes)
        AND (s.valid_until IS NULL OR s.valid_until > statement_timestamp())
$$;
COMMENT ON FUNCTION insp.secrets(text, text[]) IS
    'The secrets of an owner for some purposes that have not expired; the only reader of insp.secret';

CREATE OR REPLACE FUNCTION insp.set_secret(
    p_owner text, p_purpose text, p_value text, p_overlap interval DEFAULT '0'
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
BEGIN
    UPDATE insp.secret s SET valid_until = moment + p_overlap
    WHERE s.owner = p_owner AND s.purpose = p_purpose AND s.valid_until IS NULL AND p_overlap > '0';
    -- Without an overlap, also those of earlier overlaps: the leaked one may be among them.
    DELETE FROM insp.secret s
    WHERE s.owner = p_owner AND s.purpose = p_purpose AND (p_overlap <= '0' OR s.valid_until <= moment);
    INSERT INTO insp.secret (owner, purpose, value, seal)
    SELECT p_owner, p_purpose, convert_to(p_value, 'UTF8'), insp.secret_seal(p_value) WHERE p_value IS NOT NULL;
END
$$;
COMMENT ON FUNCTION insp.set_secret(text, text, text, interval) IS
    'Replaces an owner''s current secret for a purpose (null: by nothing); the old one stays valid for p_overlap, and without an overlap all older ones end. The caller must have locked the owner''s row';

CREATE OR REPLACE FUNCTION insp.need_consent_key() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.secrets('inspectd', ARRAY['consent_key'])) THEN
        INSERT INTO insp.secret (owner, purpose, value) VALUES ('inspectd', 'consent_key', insp.random_key());
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_consent_key() IS 'Creates the key for the digests of consents, if there is none yet';

CREATE OR REPLACE FUNCTION insp.secret_owner_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    DELETE FROM insp.secret s WHERE s.owner = TG_TABLE_NAME || ' ' || OLD.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.secret_owner_gone() IS 'Removes the secrets of a deleted endpoint or credential';
CREATE OR REPLACE TRIGGER secret_owner_gone AFTER DELETE ON insp.endpoint
    FOR EACH ROW EXECUTE FUNCTION insp.secret_owner_gone();
CREATE OR REPLACE TRIGGER secret_owner_gone AFTER DELETE ON insp.credential
    FOR EACH ROW EXECUTE FUNCTION insp.secret_owner_gone();
