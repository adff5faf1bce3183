-- The outbox: what is to be told to partners, written in the transaction that finishes the job.

CREATE TABLE insp.callback (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id text NOT NULL UNIQUE DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
    job_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    event text NOT NULL DEFAULT 'job.finished' CHECK (event IN ('job.finished')),
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'held')),
    url text NOT NULL,
    body bytea NOT NULL,
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    claim_id bigint,
    lease_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    last_http_status integer,
    last_error text,
    UNIQUE (job_id, event, endpoint_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000);
CREATE INDEX callback_pending ON insp.callback (endpoint_id, due_at, id) WHERE state = 'pending';
CREATE SEQUENCE insp.callback_claim AS bigint;
COMMENT ON SEQUENCE insp.callback_claim IS 'Numbers of claims on callbacks: each claim gets a higher one';
COMMENT ON TABLE insp.callback IS 'Outbox: one event to be delivered to one endpoint';
COMMENT ON COLUMN insp.callback.id IS 'Internal number';
COMMENT ON COLUMN insp.callback.webhook_id IS 'The webhook-id header: the same in every attempt, so that receivers can drop repeats';
COMMENT ON COLUMN insp.callback.job_id IS 'The job it tells of';
COMMENT ON COLUMN insp.callback.endpoint_id IS 'Whose limits and secret apply';
COMMENT ON COLUMN insp.callback.event IS 'What happened';
COMMENT ON COLUMN insp.callback.state IS 'pending, delivered, dead (attempts exhausted) or held (endpoint disabled)';
COMMENT ON COLUMN insp.callback.url IS 'Where to';
COMMENT ON COLUMN insp.callback.body IS 'The exact bytes that are signed and sent: JSON without personal data';
COMMENT ON COLUMN insp.callback.due_at IS 'Not before';
COMMENT ON COLUMN insp.callback.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.callback.claim_id IS 'Number of the claim under which it is being sent; settling must match it';
COMMENT ON COLUMN insp.callback.lease_until IS 'When that claim lapses';
COMMENT ON COLUMN insp.callback.created_at IS 'When the job was finished';
COMMENT ON COLUMN insp.callback.delivered_at IS 'When a 2xx came';
COMMENT ON COLUMN insp.callback.last_http_status IS 'Status of the last attempt''s answer; null: none came';
COMMENT ON COLUMN insp.callback.last_error IS 'What was wrong with the last attempt';

CREATE TABLE insp.callback_attempt (
    callback_id bigint NOT NULL,
    attempt integer NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    http_status integer,
    error text,
    worker text,
    PRIMARY KEY (callback_id, attempt)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
COMMENT ON TABLE insp.callback_attempt IS 'Every attempt to deliver a callback';
COMMENT ON COLUMN insp.callback_attempt.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_attempt.attempt IS 'Number of the attempt, from 1';
COMMENT ON COLUMN insp.callback_attempt.started_at IS 'When it began';
COMMENT ON COLUMN insp.callback_attempt.duration_ms IS 'How long it took, in milliseconds';
COMMENT ON COLUMN insp.callback_attempt.http_status IS 'Status of the answer; null: none came';
COMMENT ON COLUMN insp.callback_attempt.error IS 'What was wrong; null: delivered';
COMMENT ON COLUMN insp.callback_attempt.worker IS 'Who made the attempt';

GRANT SELECT, UPDATE ON insp.callback TO insp_worker;
GRANT SELECT, INSERT ON insp.callback_attempt TO insp_worker;
GRANT USAGE ON SEQUENCE insp.callback_claim TO insp_worker;
GRANT SELECT ON insp.callback, insp.callback_attempt TO insp_operator, insp_auditor;
