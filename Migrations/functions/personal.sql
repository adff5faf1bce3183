-- The parts of a request that may identify a person. They are stored separately, as bytes that can be sealed: no other function,
-- view or trigger reads them.

CREATE OR REPLACE FUNCTION insp.personal(p_personal bytea, p_seal smallint) RETURNS jsonb
LANGUAGE sql STABLE AS $$ SELECT CASE p_seal WHEN 0 THEN convert_from(p_personal, 'UTF8')::jsonb END $$;
COMMENT ON FUNCTION insp.personal(bytea, smallint) IS 'The content of job.personal; null: nothing, or it is sealed';

CREATE OR REPLACE FUNCTION insp.readable_personal(p_personal bytea, p_seal smallint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN insp.personal(p_personal, p_seal);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.readable_personal(bytea, smallint) IS
    'Like insp.personal, but null if the bytes are damaged: for calls about many jobs, which one job must not stop. It costs a subtransaction, so statements that run for every job do not use it';

CREATE OR REPLACE FUNCTION insp.personal_bytes(p_personal jsonb) RETURNS bytea
LANGUAGE sql STABLE AS $$ SELECT convert_to(nullif(p_personal, '{}')::text, 'UTF8') $$;
COMMENT ON FUNCTION insp.personal_bytes(jsonb) IS 'The bytes for job.personal';

CREATE OR REPLACE FUNCTION insp.request_personal(p jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    -- Every key that may identify a person.
    SELECT p - ARRAY['partner', 'workflow', 'documentFormat', 'documentTypes', 'countries', 'idempotencyKey', 'digests', 'parts',
        'lane', 'region', 'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'challenge', 'review', 'threshold',
        'enrollmentMode']
$$;
COMMENT ON FUNCTION insp.request_personal(jsonb) IS 'The keys of a payload that may identify a person';
