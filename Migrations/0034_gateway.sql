-- The HTTP gateway: who may call it, what a credential may do, and who looked at what.
--
-- The gateway's own role reaches jobs through these functions alone, each of which checks the credential again: a gateway
-- that keeps a credential in memory for a while can do nothing with it once it is revoked.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'insp_gateway') THEN
        BEGIN
            CREATE ROLE insp_gateway NOLOGIN;
            COMMENT ON ROLE insp_gateway IS 'inspectd: the HTTP gateway; may act for partners whose credentials it was shown';
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
END
$$;
GRANT USAGE ON SCHEMA insp TO insp_gateway;
GRANT SELECT ON insp.error_code TO insp_gateway;

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('UNAUTHENTICATED', 'IN110', 'no valid credential was given', false),
    ('SCOPE_MISSING', 'IN111', 'the credential does not allow this call', false),
    ('RATE_LIMITED', 'IN112', 'too many requests', true),
    ('PARAMETER_INVALID', 'IN113', 'the request has a parameter or header that is not valid', false),
    ('REQUEST_TOO_LARGE', 'IN114', 'the request''s body is larger than the limit', false),
    ('PATH_UNKNOWN', 'IN115', 'nothing is at this path', false),
    ('METHOD_NOT_ALLOWED', 'IN116', 'the path does not take this method', false),
    ('MEDIA_TYPE_UNSUPPORTED', 'IN117', 'the body is not application/json', false),
    ('GATEWAY_OVERLOADED', 'IN118', 'the gateway has no room for the request', true);

-- An offset such as +21:32 has the right form and is none: that is the request's fault, not the server's.
CREATE OR REPLACE FUNCTION insp.request_time(p_payload jsonb, p_key text) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    value constant text := insp.request_text(p_payload, p_key);
BEGIN
    -- RFC 3339 alone: PostgreSQL's own words for times (now, infinity, 04:05 yesterday) are no one's contract.
    IF value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a time as RFC 3339 has it');
    END IF;
    RETURN value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format OR invalid_time_zone_displacement_value THEN
    PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a time as RFC 3339 has it');
END
$$;

-- Credentials -------------------------------------------------------------------------------------------------------------

CREATE TABLE insp.credential (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL REFERENCES insp.partner,
    key_id text NOT NULL UNIQUE CHECK (key_id ~ '^ik_[0-9a-f]{16}$'),
    secret_sha256 bytea NOT NULL CHECK (length(secret_sha256) = 32),
    note text CHECK (length(note) <= 200),
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['create', 'read', 'session'] AND cardinality(scopes) > 0),
    rate_per_second double precision CHECK (rate_per_second > 0),
    rate_burst integer CHECK (rate_burst > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL DEFAULT session_user,
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at timestamptz
);
CREATE INDEX credential_partner ON insp.credential (partner_id);
COMMENT ON TABLE insp.credential IS
    'What partners call the gateway with, several for each partner. A secret is 256 random bits, so SHA-256 keeps it: nobody can guess it, and a slow hash would only let strangers spend the gateway''s time';
COMMENT ON COLUMN insp.credential.id IS 'Internal number';
COMMENT ON COLUMN insp.credential.partner_id IS 'Whom it speaks for';
COMMENT ON COLUMN insp.credential.key_id IS 'Its public name: the user name of HTTP Basic, the part before the point of a bearer token';
COMMENT ON COLUMN insp.credential.secret_sha256 IS 'SHA-256 of the secret';
COMMENT ON COLUMN insp.credential.note IS 'What it is for';
COMMENT ON COLUMN insp.credential.scopes IS 'create: accept jobs; read: see their status and results; session: run liveness sessions';
COMMENT ON COLUMN insp.credential.rate_per_second IS 'Requests a second at one gateway process; null: the gateway''s default';
COMMENT ON COLUMN insp.credential.rate_burst IS 'Requests at once after a quiet time; null: the gateway''s default';
COMMENT ON COLUMN insp.credential.created_at IS 'When it was made';
COMMENT ON COLUMN insp.credential.created_by IS 'Who made it';
COMMENT ON COLUMN insp.credential.expires_at IS 'Refused from then on; null: never';
COMMENT ON COLUMN insp.credential.revoked_at IS 'When it was revoked';
COMMENT ON COLUMN insp.credential.used_at IS 'Last use, to the hour';

CREATE TABLE insp.access_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    credential_id bigint NOT NULL,
    action text NOT NULL CHECK (action IN ('create', 'read', 'session')),
    job_id bigint NOT NULL
);
CREATE INDEX access_event_job ON insp.access_event (job_id);
COMMENT ON TABLE insp.access_event IS 'Every job that came in and every result that went out through the gateway; append-only';
COMMENT ON COLUMN insp.access_event.id IS 'Internal number';
COMMENT ON COLUMN insp.access_event.at IS 'When';
COMMENT ON COLUMN insp.access_event.credential_id IS 'By which credential';
COMMENT ON COLUMN insp.access_event.action IS 'create: the job was accepted; read: its result was given out; session: a liveness session''s answer was given out';
COMMENT ON COLUMN insp.access_event.job_id IS 'The job';

CREATE FUNCTION insp.access_event_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '1 year' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'insp.access_event is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.access_event_guard() IS
    'Refuses to change what is recorded of accesses, also to the owner; what is older than a year may be removed';
CREATE TRIGGER access_event_guard BEFORE UPDATE OR DELETE ON insp.access_event
    FOR EACH ROW EXECUTE FUNCTION insp.access_event_guard();
CREATE TRIGGER access_event_truncate BEFORE TRUNCATE ON insp.access_event
    FOR EACH STATEMENT EXECUTE FUNCTION insp.access_event_guard();

CREATE FUNCTION insp.create_credential(
    partner text,
    scopes text[] DEFAULT ARRAY['create', 'read'],
    note text DEFAULT NULL,
    expires interval DEFAULT NULL,
    rate_per_second double precision DEFAULT NULL,
    rate_burst integer DEFAULT NULL,
    OUT key_id text,
    OUT secret text,
    OUT bearer text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Three random UUIDs carry 366 bits of the server's strong random source; SHA-256 makes 256 of them, evenly spread.
    key_id := 'ik_' || left(gen_random_uuid()::text, 8) || left(gen_random_uuid()::text, 8);
    secret := translate(rtrim(encode(sha256(convert_to(
        gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'base64'), '='), '+/', '-_');
    bearer := key_id || '.' || secret;
    INSERT INTO insp.credential (partner_id, key_id, secret_sha256, note, scopes, rate_per_second, rate_burst, expires_at)
    VALUES (insp.partner_number(create_credential.partner), create_credential.key_id,
        sha256(convert_to(create_credential.secret, 'UTF8')), create_credential.note, create_credential.scopes,
        create_credential.rate_per_second, create_credential.rate_burst, now() + create_credential.expires);
    PERFORM insp.record('create_credential', 'credential ' || create_credential.key_id, jsonb_build_object(
        'partner', create_credential.partner, 'scopes', create_credential.scopes));
END
$$;
COMMENT ON FUNCTION insp.create_credential(text, text[], text, interval, double precision, integer) IS
    'Makes a credential for the gateway and returns it: user name and password for HTTP Basic, or both as one bearer token. The secret is shown only here';

CREATE FUNCTION insp.revoke_credential(key_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE insp.credential c SET revoked_at = now()
    WHERE c.key_id = revoke_credential.key_id AND c.revoked_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM insp.record('revoke_credential', 'credential ' || revoke_credential.key_id);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.revoke_credential(text) IS
    'Ends a credential at once; false: there is none of that name, or it was revoked before';

CREATE VIEW insp.v_credential AS
SELECT p.name AS partner, c.key_id, c.note, c.scopes,
    CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked' WHEN c.expires_at <= now() THEN 'expired'
        WHEN NOT p.enabled THEN 'partner disabled' ELSE 'valid' END AS state,
    c.used_at, c.created_at, c.created_by, c.expires_at, c.revoked_at, c.rate_per_second, c.rate_burst
FROM insp.credential c JOIN insp.partner p ON p.id = c.partner_id;
COMMENT ON VIEW insp.v_credential IS 'What partners may call the gateway with, without the secrets';
COMMENT ON COLUMN insp.v_credential.partner IS 'Whom it speaks for';
COMMENT ON COLUMN insp.v_credential.key_id IS 'Its public name (for revoke_credential)';
COMMENT ON COLUMN insp.v_credential.note IS 'What it is for';
COMMENT ON COLUMN insp.v_credential.scopes IS 'What it allows: create, read, session';
COMMENT ON COLUMN insp.v_credential.state IS 'valid, expired, revoked or partner disabled (which may still read)';
COMMENT ON COLUMN insp.v_credential.used_at IS 'Last use, to the hour';
COMMENT ON COLUMN insp.v_credential.created_at IS 'When it was made';
COMMENT ON COLUMN insp.v_credential.created_by IS 'Who made it';
COMMENT ON COLUMN insp.v_credential.expires_at IS 'Refused from then on';
COMMENT ON COLUMN insp.v_credential.revoked_at IS 'When it was revoked';
COMMENT ON COLUMN insp.v_credential.rate_per_second IS 'Requests a second at one gateway; null: its default';
COMMENT ON COLUMN insp.v_credential.rate_burst IS 'Requests at once; null: the gateway''s default';

CREATE VIEW insp.v_access AS
SELECT a.at, p.name AS partner, c.key_id, a.action, j.public_id AS job
FROM insp.access_event a JOIN insp.credential c ON c.id = a.credential_id JOIN insp.partner p ON p.id = c.partner_id
    LEFT JOIN insp.job j ON j.id = a.job_id;
COMMENT ON VIEW insp.v_access IS 'Who brought which job and who was given its result; add WHERE or LIMIT';
COMMENT ON COLUMN insp.v_access.at IS 'When';
COMMENT ON COLUMN insp.v_access.partner IS 'The credential''s partner';
COMMENT ON COLUMN insp.v_access.key_id IS 'The credential';
COMMENT ON COLUMN insp.v_access.action IS 'create, read or session';
COMMENT ON COLUMN insp.v_access.job IS 'The job; null: retention removed it';

-- What the gateway calls --------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.gateway_credential(
    p_key_id text, OUT id bigint, OUT partner text, OUT secret_sha256 bytea, OUT scopes text[],
    OUT rate_per_second double precision, OUT rate_burst integer
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- A row is written once an hour at most, and not waited for.
    UPDATE insp.credential c SET used_at = date_trunc('hour', now()) WHERE c.ctid = (
        SELECT x.ctid FROM insp.credential x
        WHERE x.key_id = p_key_id AND x.used_at IS DISTINCT FROM date_trunc('hour', now()) FOR UPDATE SKIP LOCKED);
    RETURN QUERY
    SELECT c.id, p.name, c.secret_sha256, c.scopes, c.rate_per_second, c.rate_burst
    FROM insp.credential c JOIN insp.partner p ON p.id = c.partner_id
    WHERE c.key_id = p_key_id AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now());
END
$$;
COMMENT ON FUNCTION insp.gateway_credential(text) IS
    'A credential that is valid now, with the digest that its secret must have; no row: there is none of that name';

CREATE FUNCTION insp.gateway_partner(p_credential bigint, p_scope text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c insp.credential;
BEGIN
    SELECT * INTO c FROM insp.credential x WHERE x.id = p_credential;
    IF NOT FOUND OR c.revoked_at IS NOT NULL OR c.expires_at <= now() THEN
        PERFORM insp.refuse('UNAUTHENTICATED');
    ELSIF NOT p_scope = ANY (c.scopes) THEN
        PERFORM insp.refuse('SCOPE_MISSING', p_scope);
    END IF;
    RETURN c.partner_id;
END
$$;
COMMENT ON FUNCTION insp.gateway_partner(bigint, text) IS 'The partner that a credential speaks for, if it allows the scope';

CREATE FUNCTION insp.gateway_create(
    p_credential bigint,
    p_scope text,
    p_payload jsonb,
    p_traceparent text,
    front bytea DEFAULT NULL,
    back bytea DEFAULT NULL,
    face bytea DEFAULT NULL,
    frames bytea[] DEFAULT NULL,
    dg1 bytea DEFAULT NULL,
    dg2 bytea DEFAULT NULL,
    sod bytea DEFAULT NULL,
    session_blob bytea DEFAULT NULL,
    OUT id uuid,
    OUT job bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_scope);
    given text;
BEGIN
    -- Whose job it is follows from the credential, and which lane from what kind of call it is.
    SELECT k INTO given FROM unnest(ARRAY['partner', 'lane']) k WHERE p_payload ? k LIMIT 1;
    IF given IS NOT NULL THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ''' || given || '''');
    END IF;
    SELECT insp.enqueue(p_payload || jsonb_build_object('partner', p.name)
            -- Somebody stands in front of a camera and waits.
            || CASE p_scope WHEN 'session' THEN '{"lane": "urgent"}' ELSE '{}' END::jsonb,
        front => front, back => back, face => face, frames => frames, dg1 => dg1, dg2 => dg2, sod => sod,
        session_blob => session_blob)
    INTO gateway_create.id FROM insp.partner p WHERE p.id = number;
    SELECT j.id INTO gateway_create.job FROM insp.job j WHERE j.public_id = gateway_create.id;
    -- Set afterwards: a request that is repeated under its idempotency key is the same request, also in another span.
    IF p_traceparent IS NOT NULL THEN
        UPDATE insp.job j SET traceparent = p_traceparent
        WHERE j.id = gateway_create.job AND j.created_at = now() AND j.traceparent IS NULL;
    END IF;
    INSERT INTO insp.access_event (credential_id, action, job_id) VALUES (p_credential, 'create', gateway_create.job);
END
$$;
COMMENT ON FUNCTION insp.gateway_create(bigint, text, jsonb, text, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea) IS
    'insp.enqueue for the partner of a credential; returns the public id and the internal number';

CREATE FUNCTION insp.gateway_result(
    p_credential bigint, p_scope text, p_id uuid, OUT job bigint, OUT finished boolean, OUT document jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_scope);
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    -- Another partner's job is one that does not exist; a session's scope opens sessions alone.
    IF NOT FOUND OR j.partner_id <> number OR p_scope = 'session' AND j.payload ->> 'workflow' <> 'liveness' THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    job := j.id;
    finished := j.status = 128;
    document := insp.job_result(p_id);
    IF finished THEN
        INSERT INTO insp.access_event (credential_id, action, job_id) VALUES (p_credential, p_scope, j.id);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.gateway_result(bigint, text, uuid) IS
    'insp.job_result for the partner of a credential, with the job''s internal number; records that a result was given out';

CREATE FUNCTION insp.gateway_finished(p_jobs bigint[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT u.id FROM unnest(p_jobs) AS u (id)
    WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.id = u.id AND j.status < 128)
$$;
COMMENT ON FUNCTION insp.gateway_finished(bigint[]) IS 'Which of these jobs are finished, or gone: one look for all that wait';

GRANT EXECUTE ON FUNCTION insp.create_credential(text, text[], text, interval, double precision, integer),
    insp.revoke_credential(text) TO insp_operator;
GRANT SELECT ON insp.v_credential, insp.v_access TO insp_operator, insp_auditor;
GRANT EXECUTE ON FUNCTION insp.gateway_credential(text),
    insp.gateway_create(bigint, text, jsonb, text, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea),
    insp.gateway_result(bigint, text, uuid), insp.gateway_finished(bigint[]) TO insp_gateway;
