-- The schema, its roles and the table of error codes.

-- Roles belong to the whole cluster, and another database's migration may create them at this very moment.
DO $$
DECLARE
    role record;
BEGIN
    FOR role IN
        SELECT * FROM (VALUES
            ('insp_producer', 'inspectd: may enqueue, cancel and read the results of jobs'),
            ('insp_worker', 'inspectd: the worker processes; may claim jobs, read parts and deliver callbacks'),
            ('insp_operator', 'inspectd: may read every view and steer the queue'),
            ('insp_auditor', 'inspectd: may read views and events, and change nothing')) AS r (name, description)
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role.name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role.name);
                EXECUTE format('COMMENT ON ROLE %I IS %L', role.name, role.description);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;

CREATE SCHEMA IF NOT EXISTS insp;
COMMENT ON SCHEMA insp IS 'inspectd: inspection jobs, their parts and results, and the callbacks about them';
REVOKE ALL ON SCHEMA insp FROM PUBLIC;
GRANT USAGE ON SCHEMA insp TO insp_producer, insp_worker, insp_operator, insp_auditor;
-- Functions are executable by everyone unless said otherwise; here each is granted by name.
ALTER DEFAULT PRIVILEGES IN SCHEMA insp REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE TABLE insp.error_code (
    code text PRIMARY KEY CHECK (code ~ '^[A-Z][A-Z_]+$'),
    sqlstate text NOT NULL UNIQUE CHECK (sqlstate ~ '^IN[0-9]{3}$'),
    message text NOT NULL,
    retryable boolean NOT NULL
);
COMMENT ON TABLE insp.error_code IS 'Every error that a call is refused with or a job ends with';
COMMENT ON COLUMN insp.error_code.code IS 'Stable name; the message of a refused call starts with it';
COMMENT ON COLUMN insp.error_code.sqlstate IS 'SQLSTATE of a refused call';
COMMENT ON COLUMN insp.error_code.message IS 'One sentence without personal data';
COMMENT ON COLUMN insp.error_code.retryable IS 'Whether the same work may succeed later without any change by the caller';
GRANT SELECT ON insp.error_code TO insp_producer, insp_worker, insp_operator, insp_auditor;

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('PAYLOAD_INVALID', 'IN001', 'the payload is not a JSON object of known keys and types', false),
    ('PAYLOAD_TOO_LARGE', 'IN002', 'the payload is larger than 16 KiB', false),
    ('PARTNER_UNKNOWN', 'IN003', 'no partner of that name exists', false),
    ('PARTNER_DISABLED', 'IN004', 'the partner is disabled', false),
    ('WORKFLOW_UNKNOWN', 'IN005', 'no workflow of that name exists', false),
    ('PART_MISSING', 'IN006', 'a part that the workflow needs is missing', false),
    ('PART_UNEXPECTED', 'IN007', 'a part was given that this document or workflow does not have', false),
    ('PART_UNKNOWN', 'IN008', 'no part of that name exists', false),
    ('PART_EMPTY', 'IN009', 'a part has no bytes', false),
    ('PART_TOO_LARGE', 'IN010', 'a part is larger than the limit', false),
    ('PART_URL_INVALID', 'IN011', 'a part''s URL is not a plain https URL', false),
    ('DIGEST_INVALID', 'IN012', 'a digest is not 64 hexadecimal digits (SHA-256)', false),
    ('DIGEST_MISMATCH', 'IN013', 'a part''s bytes do not match its SHA-256 digest', false),
    ('IDENTIFIER_TOO_LONG', 'IN014', 'an identifier is longer than 100 characters', false),
    ('CALLBACK_URL_INVALID', 'IN015', 'the callback URL is not acceptable for this partner', false),
    ('CALLBACK_URL_MISSING', 'IN016', 'no callback URL was given and the partner has no default', false),
    ('COUNTRY_INVALID', 'IN017', 'a country is not an ISO 3166-1 alpha-3 code', false),
    ('DOCUMENT_TYPE_UNKNOWN', 'IN018', 'no document type of that name exists', false),
    ('DOCUMENT_FORMAT_UNKNOWN', 'IN019', 'no document format of that name exists', false),
    ('LANE_UNKNOWN', 'IN020', 'no lane of that name exists', false),
    ('REGION_INVALID', 'IN021', 'a region is not a short upper-case name', false),
    ('CONSENT_MISSING', 'IN022', 'the partner''s policy demands a recorded consent', false),
    ('IDEMPOTENCY_CONFLICT', 'IN023', 'the idempotency key was used before with another request', false),
    ('JOB_UNKNOWN', 'IN024', 'no job of that id exists', false),
    ('PART_UNREACHABLE', 'IN040', 'a part''s URL could not be fetched', true),
    ('PART_NOT_FOUND', 'IN041', 'a part''s URL answers that nothing is there', false),
    ('UNSUPPORTED_FORMAT', 'IN042', 'a part is none of JPEG, PNG, WebP, JPEG 2000', false),
    ('CORRUPT_IMAGE', 'IN043', 'a part''s image data is damaged', false),
    ('TOO_MANY_PIXELS', 'IN044', 'a part''s image is larger than the pixel limits', false),
    ('WORKFLOW_NOT_IMPLEMENTED', 'IN045', 'this version cannot run the workflow', false),
    ('ANALYZER_CRASHED', 'IN050', 'the analyzer process ended while it worked on the job', true),
    ('ANALYZER_TIMEOUT', 'IN051', 'the analyzer did not answer within the stage''s deadline', true),
    ('ANALYZER_OUT_OF_MEMORY', 'IN052', 'the analyzer ran out of its memory limit', true),
    ('ANALYZER_UNAVAILABLE', 'IN053', 'no analyzer process could be started', true),
    ('MODEL_UNAVAILABLE', 'IN054', 'a model file is missing or damaged; run inspectd doctor', true),
    ('WORKER_LOST', 'IN055', 'the worker that held the job died', true),
    ('ATTEMPTS_EXHAUSTED', 'IN056', 'the job failed at every attempt', false),
    ('CANCELLED', 'IN057', 'the job was cancelled', false),
    ('EXPIRED', 'IN058', 'the job was not finished before its deadline', false),
    ('DATABASE_UNAVAILABLE', 'IN059', 'the database could not be reached', true),
    ('INTERNAL_ERROR', 'IN099', 'an unexpected error', true);

CREATE FUNCTION insp.refuse(p_code text, p_detail text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    row insp.error_code;
BEGIN
    SELECT * INTO STRICT row FROM insp.error_code e WHERE e.code = p_code;
    RAISE EXCEPTION USING
        ERRCODE = row.sqlstate,
        MESSAGE = row.code || ': ' || row.message || coalesce(' (' || p_detail || ')', '');
END
$$;
COMMENT ON FUNCTION insp.refuse(text, text) IS
    'Raises the error of a code: its SQLSTATE, and a message that starts with the code. The detail must hold no personal data';
