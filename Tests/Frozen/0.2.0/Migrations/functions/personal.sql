-- The parts of a request that may identify a person, stored apart from the rest: no other function, view or trigger reads them. Of
-- a sealed job they are pseudonyms: blind indexes, which compare and find as the values would, and say nothing without the key.

CREATE OR REPLACE FUNCTION insp.personal(p_personal bytea) RETURNS jsonb
LANGUAGE sql STABLE AS $$ SELECT convert_from(p_personal, 'UTF8')::jsonb $$;
COMMENT ON FUNCTION insp.personal(bytea) IS 'The content of job.personal; null: nothing';

CREATE OR REPLACE FUNCTION insp.readable_personal(p_personal bytea) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN insp.personal(p_personal);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.readable_personal(bytea) IS
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
