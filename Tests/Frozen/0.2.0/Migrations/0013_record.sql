-- The record of who did what: operators, partners at the gateway, workers at a vendor's server, and changes of endpoints.

CREATE TABLE insp.record (
    chain text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL DEFAULT session_user,
    action text NOT NULL,
    subject text NOT NULL,
    purpose text,
    detail jsonb NOT NULL DEFAULT '{}',
    words jsonb,
    words_salt uuid,
    words_sha256 bytea,
    seq bigint,
    prev bytea,
    hash bytea,
    -- No check of what a function of the schema or insp.record_guard sees to, such as the chain's name: each would cost every access four
    -- microseconds.
    PRIMARY KEY (chain, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX record_place ON insp.record (chain, seq) WHERE seq IS NOT NULL;
CREATE INDEX record_subject ON insp.record (subject) WHERE chain <> 'access';
-- The job of insp.v_access. An access is found by it once it has its position: a caller that waits for the
-- access does not wait for the index.
CREATE INDEX record_job ON insp.record ((nullif(subject::uuid, '00000000-0000-0000-0000-000000000000')))
    WHERE chain = 'access' AND seq IS NOT NULL;
-- A blob of a session ends once, even if two transactions end it at the same moment.
CREATE UNIQUE INDEX record_session_end ON insp.record (subject, (detail ->> 'fence'), coalesce(detail ->> 'blob', '0'))
    WHERE action = 'session_end';
-- No other index has this expression: without statistics, the planner would choose the one of the whole chain.
CREATE INDEX record_waiting ON insp.record ((chain || ''), id) WHERE seq IS NULL;
-- Rows are written in the order of time and never move, so a few bytes for each 32 pages suffice to find a time.
CREATE INDEX record_time ON insp.record USING brin (at) WITH (pages_per_range = 32, autosummarize = on);
COMMENT ON TABLE insp.record IS
    'Who did what; append-only. Rows get their position in the chain after their commit (insp.link_record), so that no writer waits for another; insp.verify_record verifies a chain';
COMMENT ON COLUMN insp.record.chain IS
    'operator: what operators did, and searches for persons; access: jobs that came in and what went out through the gateway, and who else read or was sent a result; session: liveness sessions sent to a vendor''s server; endpoint: changes of endpoints';
COMMENT ON COLUMN insp.record.id IS 'Order of writing';
COMMENT ON COLUMN insp.record.at IS 'When it happened';
COMMENT ON COLUMN insp.record.actor IS 'Who: the role that was logged in, the credential, or console: and the name of the person signed in there; of a vendor''s session: the worker';
COMMENT ON COLUMN insp.record.action IS
    'What was done: the function that was called; a call of the gateway, create, read, callback or consent (insp.v_access); session_begin or session_end; failing, recovered, disabled or enabled, token_revoked or token_not_revoked';
COMMENT ON COLUMN insp.record.subject IS 'The object: a job''s public id (zeros: a call of the gateway about no job), or a partner, lane, worker, endpoint';
COMMENT ON COLUMN insp.record.purpose IS 'Why personal data was read: review, support, export or delivery (to a partner); null: nothing was read, or a superuser read it, who needs no purpose';
COMMENT ON COLUMN insp.record.detail IS 'Old and new values, codes, counts; nothing of a person';
COMMENT ON COLUMN insp.record.words IS 'Texts of operators and reviewers, and details of a job; removed when the job''s person is erased';
COMMENT ON COLUMN insp.record.words_salt IS 'Random, and removed with the words: afterwards nobody can guess the words from their digest';
COMMENT ON COLUMN insp.record.words_sha256 IS 'SHA-256 of salt and words, which remains; null: there were none';
COMMENT ON COLUMN insp.record.seq IS 'Position in the chain, from 1; null: none yet';
COMMENT ON COLUMN insp.record.prev IS 'Hash of the row before it; of the first: 32 zero bytes';
COMMENT ON COLUMN insp.record.hash IS 'SHA-256 of prev and the row''s values (insp.record_hash), with the digest of words in place of them';
GRANT SELECT ON insp.record TO insp_operator, insp_auditor;

CREATE TABLE insp.record_chain (
    chain text PRIMARY KEY,
    seq bigint NOT NULL DEFAULT 0,
    hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    anchor_seq bigint NOT NULL DEFAULT 0,
    anchor_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex')
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE insp.record_chain IS 'Both ends of each chain of insp.record. Writers do not lock it';
COMMENT ON COLUMN insp.record_chain.chain IS 'The chain';
COMMENT ON COLUMN insp.record_chain.seq IS 'Position of its last row';
COMMENT ON COLUMN insp.record_chain.hash IS 'That row''s hash; a copy kept elsewhere later shows whether anything up to it was changed';
COMMENT ON COLUMN insp.record_chain.anchor_seq IS 'Position of the last row that retention removed; 0: none';
COMMENT ON COLUMN insp.record_chain.anchor_hash IS 'That row''s hash, which is prev of the first remaining row';
GRANT SELECT ON insp.record_chain TO insp_operator, insp_auditor;
INSERT INTO insp.record_chain (chain) VALUES ('operator'), ('access'), ('session'), ('endpoint');

CREATE TABLE insp.record_checkpoint (
    number bigint PRIMARY KEY CHECK (number > 0),
    at timestamptz NOT NULL,
    key_id text NOT NULL CHECK (key_id ~ '^[0-9a-f]{16}$'),
    heads jsonb NOT NULL CHECK (jsonb_typeof(heads) = 'object'),
    signature bytea NOT NULL CHECK (length(signature) = 64)
);
COMMENT ON TABLE insp.record_checkpoint IS
    'Both ends of every chain of insp.record as they stood at a time, signed outside the database (inspectd audit sign): rows that a checkpoint covers cannot be changed unnoticed, even by the schema''s owner';
COMMENT ON COLUMN insp.record_checkpoint.number IS 'Consecutive; a day later the first of each hour remains';
COMMENT ON COLUMN insp.record_checkpoint.at IS 'When it was signed, by the signer''s clock';
COMMENT ON COLUMN insp.record_checkpoint.key_id IS 'The key: first 16 hexadecimal digits of the SHA-256 of the 32 bytes of the public key';
COMMENT ON COLUMN insp.record_checkpoint.heads IS 'Each chain''s [anchor_seq, anchor_hash, seq, hash], as insp.record_heads returned it';
COMMENT ON COLUMN insp.record_checkpoint.signature IS
    'Ed25519 of the line ''inspectd checkpoint'', a line feed and the text [number, at in microseconds since 1970, "key_id", heads]';
GRANT SELECT ON insp.record_checkpoint TO insp_operator, insp_auditor;

CREATE TABLE insp.approval (
    action text PRIMARY KEY CHECK (action ~ '^[a-z_]+$'),
    is_needed boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE insp.approval IS 'Changes for which a deployment may require the approval of a second login';
COMMENT ON COLUMN insp.approval.action IS 'The function';
COMMENT ON COLUMN insp.approval.is_needed IS 'Whether it needs a second login (insp.set_approval)';
GRANT SELECT ON insp.approval TO insp_operator, insp_auditor;
INSERT INTO insp.approval (action) VALUES
    ('allow_authorization_secret'), ('allow_endpoint_secret'), ('bind_producer'), ('callback_authorize'), ('callback_use_authorization'),
    ('create_credential'), ('create_endpoint'), ('create_partner'), ('create_test_credential'), ('erase_partner'), ('free_producer'),
    ('set_approval'), ('set_authorization'), ('set_callback_policy'), ('set_capture_policy'), ('set_consent_policy'), ('set_custody'),
    ('set_decision_policy'), ('set_endpoint'), ('set_face_limits'), ('set_liveness_policy'), ('set_origins'), ('set_partner'),
    ('set_partner_key'), ('set_region_policy'), ('set_regions'), ('set_retention'), ('set_second_review'), ('set_vendor'),
    ('unbind_producer');

CREATE TABLE insp.proposal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action text NOT NULL,
    arguments jsonb NOT NULL,
    proposed_by text NOT NULL,
    role oid NOT NULL,
    proposed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    approving xid8,
    outcome text CHECK (outcome IN ('approved', 'rejected')),
    decided_by text,
    decided_at timestamptz,
    CHECK ((outcome IS NULL) = (decided_by IS NULL) AND (outcome IS NULL) = (decided_at IS NULL))
);
COMMENT ON TABLE insp.proposal IS 'Changes that one login proposed and another one may approve';
COMMENT ON COLUMN insp.proposal.id IS 'Its number';
COMMENT ON COLUMN insp.proposal.action IS 'The function to call';
COMMENT ON COLUMN insp.proposal.arguments IS 'Its arguments by their names; no secret';
COMMENT ON COLUMN insp.proposal.proposed_by IS 'The login that proposed it';
COMMENT ON COLUMN insp.proposal.role IS 'That login''s role: a renamed login is still the same';
COMMENT ON COLUMN insp.proposal.proposed_at IS 'When';
COMMENT ON COLUMN insp.proposal.expires_at IS 'Refused from then on';
COMMENT ON COLUMN insp.proposal.approving IS 'The transaction that makes the call; never seen by another';
COMMENT ON COLUMN insp.proposal.outcome IS 'approved or rejected; null: not decided yet';
COMMENT ON COLUMN insp.proposal.decided_by IS 'The login that decided, or console: and the name of the person signed in there';
COMMENT ON COLUMN insp.proposal.decided_at IS 'When';
GRANT SELECT ON insp.proposal TO insp_operator, insp_auditor;
