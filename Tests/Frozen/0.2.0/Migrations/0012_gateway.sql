-- The HTTP gateway: credentials of partners, and the access tokens that it issues for them.

CREATE TABLE insp.scope (
    scope text PRIMARY KEY CHECK (scope ~ '^[a-z]+$'),
    meaning text NOT NULL
);
COMMENT ON TABLE insp.scope IS 'What a credential can allow';
COMMENT ON COLUMN insp.scope.scope IS 'The scope';
COMMENT ON COLUMN insp.scope.meaning IS 'What it allows';
GRANT SELECT ON insp.scope TO insp_operator, insp_auditor;
INSERT INTO insp.scope (scope, meaning) VALUES
    ('create', 'Sends, cancels and reruns jobs, gets challenges'), ('read', 'Lists jobs, sees their status and results'),
    ('images', 'Gets the parts of jobs back'), ('session', 'Runs liveness sessions'),
    ('faces', 'Enrols, lists and deletes faces'), ('persons', 'Exports and erases all that is kept of a person'),
    ('callbacks', 'Lists callbacks and endpoints; replays, tests, pauses, rotates secrets'),
    ('events', 'Pulls events'),
    ('keys', 'Registers the public key that results are encrypted for'),
    ('report', 'Gets the reviewer''s page of a job: images and measurements'),
    ('capture', 'Makes links with which a person captures a job''s parts');

CREATE TABLE insp.credential (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL REFERENCES insp.partner,
    key_id text NOT NULL UNIQUE CHECK (key_id ~ '^ik_[0-9a-f]{16}$'),
    note text CHECK (length(note) <= 200),
    scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
    rate_per_second double precision CHECK (rate_per_second > 0),
    rate_burst integer CHECK (rate_burst > 0),
    origins text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL DEFAULT session_user,
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at timestamptz
);
CREATE INDEX credential_partner ON insp.credential (partner_id);
COMMENT ON TABLE insp.credential IS
    'Partners'' credentials for the gateway; a partner may have several. A secret is 256 random bits, which nobody can guess, so insp.secret stores its SHA-256: a slow hash would only let strangers waste the gateway''s time';
COMMENT ON COLUMN insp.credential.id IS 'Internal number';
COMMENT ON COLUMN insp.credential.partner_id IS 'The partner for which it acts';
COMMENT ON COLUMN insp.credential.key_id IS 'Its public name: the user name of HTTP Basic, or the part of a bearer token before the dot';
COMMENT ON COLUMN insp.credential.note IS 'What it is for';
COMMENT ON COLUMN insp.credential.scopes IS 'What it allows (insp.scope)';
COMMENT ON COLUMN insp.credential.rate_per_second IS 'Requests a second at one gateway process; null: the gateway''s default';
COMMENT ON COLUMN insp.credential.rate_burst IS 'Requests allowed at once after a quiet period; null: the gateway''s default';
COMMENT ON COLUMN insp.credential.origins IS 'Origins whose pages may read answers to its calls in a browser (CORS)';
COMMENT ON COLUMN insp.credential.created_at IS 'When it was created';
COMMENT ON COLUMN insp.credential.created_by IS 'Who created it';
COMMENT ON COLUMN insp.credential.expires_at IS 'When it expires; null: never';
COMMENT ON COLUMN insp.credential.revoked_at IS 'When it was revoked';
COMMENT ON COLUMN insp.credential.used_at IS 'Last use, to the hour';

CREATE TABLE insp.credential_token (
    key_id text PRIMARY KEY CHECK (key_id ~ '^it_[0-9a-f]{16}$'),
    credential_id bigint NOT NULL REFERENCES insp.credential ON DELETE CASCADE,
    secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
    scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
    issued_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX credential_token_credential ON insp.credential_token (credential_id);
CREATE INDEX credential_token_expires ON insp.credential_token (expires_at);
COMMENT ON TABLE insp.credential_token IS
    'Access tokens (OAuth 2.0) that the gateway issued for credentials; each expires soon. A token is 256 random bits, of which this table has the SHA-256';
COMMENT ON COLUMN insp.credential_token.key_id IS 'Its public name: the part of the token before the point';
COMMENT ON COLUMN insp.credential_token.credential_id IS 'The credential for which it was issued, and with which it ends';
COMMENT ON COLUMN insp.credential_token.secret_sha256 IS 'SHA-256 of the rest of the token';
COMMENT ON COLUMN insp.credential_token.scopes IS 'What it allows: some or all of the credential''s scopes';
COMMENT ON COLUMN insp.credential_token.issued_at IS 'When it was issued';
COMMENT ON COLUMN insp.credential_token.expires_at IS 'Refused from then on';
GRANT SELECT (key_id, credential_id, scopes, issued_at, expires_at) ON insp.credential_token TO insp_operator, insp_auditor;
