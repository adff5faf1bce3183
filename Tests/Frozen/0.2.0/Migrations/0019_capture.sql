-- Capture links: a partner's server asks for one, a person opens it on a phone, and what the camera took becomes one job.

CREATE TABLE insp.capture_session (
    id uuid PRIMARY KEY,
    partner_id integer NOT NULL,
    credential_id bigint NOT NULL REFERENCES insp.credential,
    token_sha256 bytea NOT NULL UNIQUE CHECK (length(token_sha256) = 32),
    browser_sha256 bytea CHECK (length(browser_sha256) = 32),
    request jsonb,
    return_url text,
    sealed bytea,
    user_index bytea,
    idempotency_key bytea CHECK (length(idempotency_key) = 32),
    request_digest bytea CHECK (length(request_digest) = 32),
    parts text[] NOT NULL,
    challenge text NOT NULL CHECK (challenge IN ('none', 'colour_flash', 'motion')),
    fallback text NOT NULL CHECK (fallback IN ('none', 'review')),
    shows_result boolean NOT NULL,
    locale text,
    embed_origin text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    session_seconds integer NOT NULL,
    opened_at timestamptz,
    submitted_at timestamptz,
    consent jsonb,
    tries jsonb NOT NULL DEFAULT '{}',
    judged bytea[] NOT NULL DEFAULT '{}',
    repeats smallint NOT NULL DEFAULT 0,
    challenges smallint NOT NULL DEFAULT 0,
    challenge_id uuid,
    job_id uuid
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX capture_session_key ON insp.capture_session (credential_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX capture_session_expires ON insp.capture_session (expires_at);
-- Partial: a search for a person or job must not read those that have none.
CREATE INDEX capture_session_user ON insp.capture_session (partner_id, user_index) WHERE user_index IS NOT NULL;
CREATE INDEX capture_session_job ON insp.capture_session (job_id) WHERE job_id IS NOT NULL;
COMMENT ON TABLE insp.capture_session IS
    'Capture links, from a partner''s request until an hour after they expire. A link makes one job, in one browser';
COMMENT ON COLUMN insp.capture_session.id IS 'The id that the partner''s server knows';
COMMENT ON COLUMN insp.capture_session.partner_id IS 'Whose job it becomes';
COMMENT ON COLUMN insp.capture_session.credential_id IS 'The credential that requested it, and with which it ends';
COMMENT ON COLUMN insp.capture_session.token_sha256 IS 'SHA-256 of the link''s token, 256 random bits that are not stored';
COMMENT ON COLUMN insp.capture_session.browser_sha256 IS 'SHA-256 of the cookie of the browser that began; null: none has';
COMMENT ON COLUMN insp.capture_session.request IS
    'The payload of the job, without challenge and consent; of a sealed one with pseudonyms. Null: the job has it';
COMMENT ON COLUMN insp.capture_session.return_url IS 'Where the person goes afterwards; null: nowhere, or it is sealed';
COMMENT ON COLUMN insp.capture_session.sealed IS 'The values for which the request has pseudonyms, and the return URL, sealed under the partner''s key; null: it is plain';
COMMENT ON COLUMN insp.capture_session.user_index IS 'insp.reference_index of the userReference; null: none';
COMMENT ON COLUMN insp.capture_session.idempotency_key IS 'Digest of the idempotency key, keyed if requests are sealed; null: none, or the link has expired';
COMMENT ON COLUMN insp.capture_session.request_digest IS 'Digest of the request under the idempotency key; null: there is none';
COMMENT ON COLUMN insp.capture_session.parts IS 'The parts that the page asks for, in order';
COMMENT ON COLUMN insp.capture_session.challenge IS 'none, colour_flash or motion';
COMMENT ON COLUMN insp.capture_session.fallback IS 'review: a person who cannot be photographed or complete the challenge continues without it, and a reviewer decides; none: may not';
COMMENT ON COLUMN insp.capture_session.shows_result IS 'Whether the page says how the job ended';
COMMENT ON COLUMN insp.capture_session.locale IS 'The page''s language; null: the browser''s';
COMMENT ON COLUMN insp.capture_session.embed_origin IS 'The origin whose pages may embed it; null: none';
COMMENT ON COLUMN insp.capture_session.created_at IS 'When it was requested';
COMMENT ON COLUMN insp.capture_session.expires_at IS 'When the link ends. Until somebody begins: the latest time to begin';
COMMENT ON COLUMN insp.capture_session.session_seconds IS 'How long it works once the person begins';
COMMENT ON COLUMN insp.capture_session.opened_at IS 'When the person consented and began';
COMMENT ON COLUMN insp.capture_session.submitted_at IS 'When the job was accepted';
COMMENT ON COLUMN insp.capture_session.consent IS 'The consent: the policy''s version and purposes, the version and language of the text, the time at which it arrived';
COMMENT ON COLUMN insp.capture_session.tries IS 'How many images of each part were judged';
COMMENT ON COLUMN insp.capture_session.judged IS
    'Of each image that was judged, the SHA-256 of the link''s id, its part and its SHA-256: an image that comes again is the same try';
COMMENT ON COLUMN insp.capture_session.repeats IS 'How many images came again';
COMMENT ON COLUMN insp.capture_session.challenges IS 'How many challenges were issued';
COMMENT ON COLUMN insp.capture_session.challenge_id IS 'The last challenge, the only one that its job can use; null: none was issued';
COMMENT ON COLUMN insp.capture_session.job_id IS 'The job; null: none yet';
GRANT SELECT (id, partner_id, credential_id, parts, challenge, fallback, shows_result, locale, embed_origin, created_at, expires_at,
    opened_at, submitted_at, tries, challenges, job_id) ON insp.capture_session TO insp_operator, insp_auditor;
