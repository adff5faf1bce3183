-- The outbox of callbacks.

CREATE SEQUENCE insp.callback_claim AS bigint;
CREATE SEQUENCE insp.wake_callback AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.callback_claim IS 'Numbers of claims on callbacks: each claim gets a higher one';
COMMENT ON SEQUENCE insp.wake_callback IS 'The 50 ms tick in which callbacks were last announced';
CREATE SEQUENCE insp.wake_pull AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.wake_pull IS 'The 50 ms tick in which events to be pulled were last announced';

CREATE TABLE insp.callback (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The webhook-id has the job's public id, which is random and leads back to the callback: an index of webhook-ids would cost
    -- as much with each finished job as its result.
    webhook_id text NOT NULL DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
    job_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    event text NOT NULL DEFAULT 'job.finished'
        -- A regular expression costs as much as all other checks of the row, and nearly every event is this one.
        CHECK (event = 'job.finished' OR event ~ '^(job\.(review_needed|status\.[0-9]+)|endpoint\.[a-z]+)$'),
    url text NOT NULL,
    body bytea,
    -- A body has it as a date.
    created_at timestamptz NOT NULL DEFAULT now() CHECK (created_at > '-infinity' AND created_at < 'infinity'),
    public_id uuid,
    traceparent text,
    definition_key text,
    decision text,
    is_expired boolean NOT NULL DEFAULT false,
    has_reference boolean NOT NULL DEFAULT false,
    has_result boolean NOT NULL DEFAULT false,
    is_sealed boolean NOT NULL DEFAULT false,
    is_erased boolean NOT NULL DEFAULT false,
    form smallint NOT NULL DEFAULT 1,
    region smallint NOT NULL DEFAULT 0,
    face text,
    UNIQUE (job_id, event, endpoint_id),
    CHECK (body IS NOT NULL OR public_id IS NOT NULL)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000);
CREATE INDEX callback_named ON insp.callback (webhook_id) WHERE job_id < 0;
COMMENT ON TABLE insp.callback IS 'Outbox: one event for one endpoint, with the values of its body';
COMMENT ON COLUMN insp.callback.id IS 'Internal number';
COMMENT ON COLUMN insp.callback.webhook_id IS
    'The webhook-id header: the same in every attempt, so that receivers can drop duplicates. Once values of the body were removed or may no longer be sent, the rest is sent under this id with a suffix';
COMMENT ON COLUMN insp.callback.job_id IS 'The job; below 0: minus the id of an endpoint''s row in insp.record';
COMMENT ON COLUMN insp.callback.endpoint_id IS 'Whose limits and secret apply';
COMMENT ON COLUMN insp.callback.event IS
    'What happened: job.finished, job.review_needed, job.status.N (the stage completed), or endpoint.failing, .recovered, .disabled of another endpoint (job_id is then minus the id of its row in insp.record)';
COMMENT ON COLUMN insp.callback.url IS 'Destination; pull: the partner pulls it (insp.callback_pull)';
COMMENT ON COLUMN insp.callback.body IS 'The bytes that are signed and sent: JSON without personal data; null: a job''s event, for which the dispatcher composes them';
COMMENT ON COLUMN insp.callback.created_at IS 'When the event happened';
COMMENT ON COLUMN insp.callback.public_id IS 'The job''s public id; null: not about a job';
COMMENT ON COLUMN insp.callback.traceparent IS 'W3C trace context of the job''s caller';
COMMENT ON COLUMN insp.callback.definition_key IS 'Of the job''s workflow';
COMMENT ON COLUMN insp.callback.decision IS 'Of a finished job, until it is erased';
COMMENT ON COLUMN insp.callback.is_expired IS 'Whether the job was not finished in time';
COMMENT ON COLUMN insp.callback.has_reference IS 'Whether the job''s request had a userReference, which is read from there';
COMMENT ON COLUMN insp.callback.has_result IS
    'Whether the body contains the whole result, by the endpoint''s setting when the job was finished. If it may no longer be sent, the rest is sent';
COMMENT ON COLUMN insp.callback.is_sealed IS 'Whether its job is sealed: the dispatcher opens the reference, the result, and the job''s own URL, of which the column url has only the origin';
COMMENT ON COLUMN insp.callback.is_erased IS 'Whether erasure removed its decision';
COMMENT ON COLUMN insp.callback.form IS
    'How the body is composed. A version that changes this, or insp.job_result, gives new rows another number and composes old ones as before';
COMMENT ON COLUMN insp.callback.region IS 'The job''s region: only its dispatchers may send it; 0: any';
COMMENT ON COLUMN insp.callback.face IS 'What its body says about the face SDK''s event (insp.face_words), until the job is erased; null: nothing';
-- Not the URL and the trace, which a job's caller chose: either may identify a person. insp.v_callback has the origin.
GRANT SELECT (id, webhook_id, job_id, endpoint_id, event, body, created_at, public_id, definition_key, decision, is_expired,
    has_reference, has_result, is_sealed, is_erased, form, region, face) ON insp.callback TO insp_operator, insp_auditor;

-- What changes with each attempt is in two narrow tables, like insp.ready and insp.lease for jobs; the wide row of insp.callback
-- is written once. A callback in neither of the two is delivered, and its attempts say when. Updating the wide row with each
-- attempt would cost as much as all other writes, and leave a dead copy for VACUUM.
CREATE TABLE insp.callback_waiting (
    callback_id bigint PRIMARY KEY,
    endpoint_id bigint NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    region smallint NOT NULL DEFAULT 0,
    state text NOT NULL CHECK (state IN ('pending', 'held', 'dead')),
    ordering_key text,
    recorded integer DEFAULT 0,
    reason text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000);
-- Separates first attempts from retries, so that neither is searched for among the other. The planner does not rewrite this
-- expression; it would turn (attempts > 0) = false into a comparison that is not indexed.
CREATE INDEX callback_waiting_due ON insp.callback_waiting (endpoint_id, least(attempts, 1), due_at, callback_id)
    WHERE state = 'pending';
CREATE INDEX callback_waiting_order ON insp.callback_waiting (endpoint_id, ordering_key, callback_id)
    WHERE ordering_key IS NOT NULL AND state IN ('pending', 'held');
CREATE INDEX callback_waiting_retry ON insp.callback_waiting (due_at) WHERE attempts > 0 AND state = 'pending';
-- By time of the last change, so that the newest dead ones are found first.
CREATE INDEX callback_waiting_idle ON insp.callback_waiting (state, endpoint_id, due_at) WHERE state <> 'pending';
COMMENT ON TABLE insp.callback_waiting IS 'Callbacks that are neither delivered nor being sent, one row each; a claim moves it to insp.callback_lease';
COMMENT ON COLUMN insp.callback_waiting.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_waiting.endpoint_id IS 'Whose limits apply';
COMMENT ON COLUMN insp.callback_waiting.due_at IS 'Earliest time of the next attempt; if dead, when it was dead-lettered';
COMMENT ON COLUMN insp.callback_waiting.attempts IS 'Counted attempts';
COMMENT ON COLUMN insp.callback_waiting.released IS 'Attempts that failed through our fault';
COMMENT ON COLUMN insp.callback_waiting.region IS 'As in callback';
COMMENT ON COLUMN insp.callback_waiting.state IS 'pending, held (the endpoint is disabled) or dead (dead-lettered)';
COMMENT ON COLUMN insp.callback_waiting.ordering_key IS 'An endpoint''s callbacks with the same key are sent one after the other';
COMMENT ON COLUMN insp.callback_waiting.recorded IS 'Attempts in insp.callback_attempt; null after a replay, when they are counted again';
COMMENT ON COLUMN insp.callback_waiting.reason IS 'Why an operator dead-lettered it';
-- Not the ordering key: it can be a digest of a person's reference.
GRANT SELECT (callback_id, endpoint_id, due_at, attempts, released, region, state, recorded, reason) ON insp.callback_waiting
    TO insp_operator, insp_auditor;

CREATE TABLE insp.callback_lease (
    endpoint_id bigint NOT NULL,
    claim_id bigint NOT NULL,
    callback_id bigint NOT NULL,
    lease_until timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    ordering_key text,
    recorded integer DEFAULT 0,
    holder bigint,
    region smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (endpoint_id, claim_id, callback_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000);
CREATE INDEX callback_lease_order ON insp.callback_lease (endpoint_id, ordering_key, callback_id)
    WHERE ordering_key IS NOT NULL;
COMMENT ON TABLE insp.callback_lease IS 'Callbacks that are being sent or claimed ahead, one row each, which settlement deletes';
COMMENT ON COLUMN insp.callback_lease.endpoint_id IS 'Whose limits apply';
COMMENT ON COLUMN insp.callback_lease.claim_id IS 'Number of the claim under which it is being sent; settling must match it';
COMMENT ON COLUMN insp.callback_lease.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_lease.lease_until IS 'When the claim lapses: then the callback waits again';
COMMENT ON COLUMN insp.callback_lease.due_at IS 'When it was due';
COMMENT ON COLUMN insp.callback_lease.attempts IS 'Counted attempts before this one';
COMMENT ON COLUMN insp.callback_lease.released IS 'Uncounted attempts before this one';
COMMENT ON COLUMN insp.callback_lease.ordering_key IS 'As in callback_waiting';
COMMENT ON COLUMN insp.callback_lease.recorded IS 'As in callback_waiting';
COMMENT ON COLUMN insp.callback_lease.holder IS 'The dispatcher that has it; null: a dispatcher that does not claim ahead';
COMMENT ON COLUMN insp.callback_lease.region IS 'As in callback';
GRANT SELECT (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released, recorded, holder, region)
    ON insp.callback_lease TO insp_operator, insp_auditor;

-- Events of endpoints that are pulled are numbered after their commit, like insp.event_batch and for the same reason: a number that
-- the writer draws becomes visible late if its transaction stays open, and a puller that has passed it would miss it.
CREATE TABLE insp.callback_pull (
    id bigint GENERATED ALWAYS AS IDENTITY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    callback_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    epoch bigint,
    position bigint,
    numbered_at timestamptz,
    PRIMARY KEY (callback_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 20000);
-- Each index has one kind of row only, so that the planner cannot use it for the other.
CREATE INDEX callback_pull_waiting ON insp.callback_pull (xid, id) WHERE position IS NULL;
CREATE UNIQUE INDEX callback_pull_place ON insp.callback_pull (endpoint_id, epoch, position) WHERE position IS NOT NULL;
COMMENT ON TABLE insp.callback_pull IS
    'The order in which events are pulled: a row for each callback of an endpoint whose URL is pull:, and another for its last replay';
COMMENT ON COLUMN insp.callback_pull.id IS 'Order of writing: a job''s later event has the higher one';
COMMENT ON COLUMN insp.callback_pull.xid IS 'The transaction that wrote it';
COMMENT ON COLUMN insp.callback_pull.at IS 'When it was written';
COMMENT ON COLUMN insp.callback_pull.callback_id IS 'The callback, which has the event''s values';
COMMENT ON COLUMN insp.callback_pull.endpoint_id IS 'Its endpoint; each has its own order';
COMMENT ON COLUMN insp.callback_pull.epoch IS 'The epoch (insp.epoch) in which it was numbered; null: not yet';
COMMENT ON COLUMN insp.callback_pull.position IS 'Its position in that epoch';
COMMENT ON COLUMN insp.callback_pull.numbered_at IS 'When it was numbered, and could be pulled from then on';
GRANT SELECT ON insp.callback_pull TO insp_operator, insp_auditor;

CREATE TABLE insp.pull_cursor (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL DEFAULT 0,
    position bigint NOT NULL DEFAULT 0,
    next_xid xid8 NOT NULL DEFAULT '0',
    open_xids xid8[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE insp.pull_cursor IS 'How far events to be pulled are numbered (insp.number_pulls)';
COMMENT ON COLUMN insp.pull_cursor.single IS 'There is one row';
COMMENT ON COLUMN insp.pull_cursor.epoch IS 'The epoch in which they are numbered';
COMMENT ON COLUMN insp.pull_cursor.position IS 'The last position issued in it';
COMMENT ON COLUMN insp.pull_cursor.next_xid IS 'Transactions from this one on have not been read';
COMMENT ON COLUMN insp.pull_cursor.open_xids IS 'Nor has any of these, which were still open';
GRANT SELECT ON insp.pull_cursor TO insp_operator, insp_auditor;
INSERT INTO insp.pull_cursor DEFAULT VALUES;

-- Never removed: a row for each start of the server after which events were numbered.
CREATE TABLE insp.pull_epoch (
    epoch bigint PRIMARY KEY,
    former_epoch bigint,
    former_position bigint
);
COMMENT ON TABLE insp.pull_epoch IS
    'The epochs in which events were numbered in this history of the database. A cursor of another epoch belongs to a history that was lost';
COMMENT ON COLUMN insp.pull_epoch.epoch IS 'The epoch';
COMMENT ON COLUMN insp.pull_epoch.former_epoch IS 'The epoch before it; null: it is the first';
COMMENT ON COLUMN insp.pull_epoch.former_position IS 'The last position of that one';
GRANT SELECT ON insp.pull_epoch TO insp_operator, insp_auditor;
INSERT INTO insp.pull_epoch (epoch) VALUES (0);

CREATE TABLE insp.pull_gone (
    endpoint_id bigint PRIMARY KEY,
    epoch bigint NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.pull_gone IS
    'How far retention removed events of each endpoint: a cursor before that position is refused, since events after it may be gone';
COMMENT ON COLUMN insp.pull_gone.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.pull_gone.epoch IS 'Epoch of the latest removed event';
COMMENT ON COLUMN insp.pull_gone.position IS 'Its position';
GRANT SELECT ON insp.pull_gone TO insp_operator, insp_auditor;

CREATE TABLE insp.callback_attempt (
    callback_id bigint NOT NULL,
    attempt integer NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    http_status integer,
    error text,
    worker text,
    code text,
    PRIMARY KEY (callback_id, attempt)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
-- Attempts are written in the order of time, so a few bytes for each 32 pages suffice to find new ones.
CREATE INDEX callback_attempt_time ON insp.callback_attempt USING brin (started_at) WITH (pages_per_range = 32, autosummarize = on);
COMMENT ON TABLE insp.callback_attempt IS 'Every attempt to deliver a callback';
COMMENT ON COLUMN insp.callback_attempt.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_attempt.attempt IS 'Number of the attempt, from 1';
COMMENT ON COLUMN insp.callback_attempt.started_at IS 'When it began';
COMMENT ON COLUMN insp.callback_attempt.duration_ms IS 'How long it took, in milliseconds';
COMMENT ON COLUMN insp.callback_attempt.http_status IS 'Status of the answer; null: none came';
COMMENT ON COLUMN insp.callback_attempt.error IS 'What was wrong; null: delivered';
COMMENT ON COLUMN insp.callback_attempt.worker IS 'Who made the attempt';
COMMENT ON COLUMN insp.callback_attempt.code IS 'Error code (insp.error_code); null: delivered';
GRANT SELECT ON insp.callback_attempt TO insp_operator, insp_auditor;

CREATE TYPE insp.callback_endpoint AS (
    endpoint_id bigint,
    floor_microseconds bigint,
    claim_floor bigint,
    at_once integer,
    secrets text[],
    allow_http boolean,
    allow_private boolean,
    options text
);
COMMENT ON TYPE insp.callback_endpoint IS
    'An endpoint with something due, from insp.callback_claim: its floors for the next claim and, if it may send, how many may be sent at once, its keys and options. Contains secrets';
