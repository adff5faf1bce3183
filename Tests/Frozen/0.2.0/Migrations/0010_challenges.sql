-- Liveness challenges: what a person is asked to do in front of the camera, once.

CREATE TABLE insp.challenge (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    partner_id integer NOT NULL,
    token_sha256 bytea NOT NULL UNIQUE CHECK (length(token_sha256) = 32),
    spec jsonb NOT NULL,
    issued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    job_id bigint,
    capture_id uuid
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX challenge_expires ON insp.challenge (expires_at);
COMMENT ON TABLE insp.challenge IS
    'Issued liveness challenges, until some time after they expire; the job that used up a challenge has its specification in its payload';
COMMENT ON COLUMN insp.challenge.id IS 'Random name';
COMMENT ON COLUMN insp.challenge.partner_id IS 'Whose challenge; no other partner''s job can use it';
COMMENT ON COLUMN insp.challenge.token_sha256 IS 'SHA-256 of the token, 256 random bits that are not stored';
COMMENT ON COLUMN insp.challenge.spec IS 'What is requested: colours with their duration, motions with their time';
COMMENT ON COLUMN insp.challenge.issued_at IS 'When it was issued';
COMMENT ON COLUMN insp.challenge.expires_at IS 'A job that arrives later is refused';
COMMENT ON COLUMN insp.challenge.consumed_at IS 'When a job used it; a second one is refused';
COMMENT ON COLUMN insp.challenge.job_id IS 'The job that used it';
COMMENT ON COLUMN insp.challenge.capture_id IS 'The capture link for which it was issued: only its job can use the challenge; null: any job of the partner';
GRANT SELECT (id, partner_id, issued_at, expires_at, consumed_at,
    job_id) ON insp.challenge TO insp_operator, insp_auditor;
