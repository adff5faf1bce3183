-- All secrets, in one place. Only insp.secrets reads the values, and no role may call it.

CREATE TABLE insp.secret (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL CHECK (owner ~ '^(endpoint|credential|authorization|revocation) [0-9]+$' OR owner = 'inspectd'),
    purpose text NOT NULL CHECK (purpose IN ('signing_secret', 'signing_key', 'client_key', 'api_key', 'client_secret',
        'access_token', 'credential', 'consent_key', 'cursor_key', 'assertion', 'revocation')),
    value bytea NOT NULL,
    -- A new seal must be opened wherever the value is used.
    seal smallint NOT NULL DEFAULT 0 CHECK (seal IN (0, 1)),
    valid_from timestamptz NOT NULL DEFAULT clock_timestamp(),
    valid_until timestamptz
);
CREATE INDEX secret_owner ON insp.secret (owner, purpose, valid_until);
-- Two transactions may each create a key for consents or cursors: neither waits for the other, and a proof specifies its key.
CREATE UNIQUE INDEX secret_current ON insp.secret (owner, purpose) WHERE valid_until IS NULL AND owner <> 'inspectd';
CREATE INDEX secret_expired ON insp.secret (valid_until) WHERE valid_until IS NOT NULL;
COMMENT ON TABLE insp.secret IS 'Secrets, tokens, private keys and digests of gateway credentials; no role may read the values';
COMMENT ON COLUMN insp.secret.id IS 'Number of the secret';
COMMENT ON COLUMN insp.secret.owner IS 'Its owner, with which it is deleted: endpoint 12, credential 5, authorization 3, revocation 7, or inspectd itself';
COMMENT ON COLUMN insp.secret.purpose IS
    'signing_secret (whsec_, signs callbacks as v1), signing_key (whsk_, Ed25519, as v1a), client_key (PEM, mutual TLS), api_key (deprecated), client_secret (OAuth 2.0), access_token, credential (SHA-256 of a gateway credential''s secret), consent_key (keys the digests that remain of consents), cursor_key (seals the cursors of GET /events), assertion (of an OAuth 2.0 client), revocation (an access token to revoke, with what its endpoint had)';
COMMENT ON COLUMN insp.secret.value IS 'The secret; a text as UTF-8, plain or sealed';
COMMENT ON COLUMN insp.secret.seal IS 'How the value is sealed; 0: it is plain, 1: sealed: and the Base64 of sealed bytes, which the database cannot open (deploy/SEALING.md)';
COMMENT ON COLUMN insp.secret.valid_from IS 'When it was created; it is used from its commit on';
COMMENT ON COLUMN insp.secret.valid_until IS
    'End of its use: the end of the overlap after a rotation, or the expiry of a token or a credential; null: current until replaced';
GRANT SELECT (id, owner, purpose, seal, valid_from, valid_until) ON insp.secret TO insp_operator, insp_auditor;
