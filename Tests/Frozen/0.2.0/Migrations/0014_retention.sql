-- How long data is kept, and the progress of retention.

CREATE TABLE insp.retention (
    what text PRIMARY KEY CHECK (what IN
        ('events', 'callbacks', 'dead_callbacks', 'idempotency_keys', 'operator_events', 'access_events', 'endpoint_events',
            'samples')),
    keep interval NOT NULL CHECK (keep BETWEEN '1 hour' AND '36525 days'),
    CHECK (keep >= '366 days' OR what NOT IN ('operator_events', 'access_events'))
);
COMMENT ON TABLE insp.retention IS 'Retention periods that are the same for all partners';
COMMENT ON COLUMN insp.retention.what IS
    'events: bare jobs with their events; callbacks: delivered ones, events that are pulled, and the references of those that still wait; dead_callbacks: dead-lettered ones; idempotency_keys; of the record (insp.record) operator_events, with vendor sessions and ended tasks of the console, and access_events (both at least 366 days), and endpoint_events; samples: of the queue';
COMMENT ON COLUMN insp.retention.keep IS 'For how long';
GRANT SELECT ON insp.retention TO insp_operator, insp_auditor;
INSERT INTO insp.retention (what, keep) VALUES
    ('events', '90 days'), ('callbacks', '30 days'), ('dead_callbacks', '30 days'), ('idempotency_keys', '30 days'),
    ('operator_events', '2 years'), ('access_events', '2 years'), ('endpoint_events', '90 days'),
    ('samples', '90 days');

CREATE TABLE insp.retention_cursor (
    what text NOT NULL CHECK (what IN
        ('parts', 'results', 'references', 'callbacks', 'partitions', 'late', 'rows')),
    keep interval NOT NULL DEFAULT '0',
    next_id bigint NOT NULL DEFAULT 0,
    ran_at timestamptz,
    warned_at timestamptz,
    PRIMARY KEY (what, keep)
) WITH (fillfactor = 50);
COMMENT ON TABLE insp.retention_cursor IS 'The progress of insp.purge';
COMMENT ON COLUMN insp.retention_cursor.what IS
    'What is removed; late: rows of purge_later; rows: keys, the record, batches of events and challenges';
COMMENT ON COLUMN insp.retention_cursor.keep IS 'For partners with this retention period; 0 where it is not the partner''s choice';
COMMENT ON COLUMN insp.retention_cursor.next_id IS 'Every lower number has been visited';
COMMENT ON COLUMN insp.retention_cursor.ran_at IS 'When insp.purge last worked on it; the one that has waited longest comes first';
COMMENT ON COLUMN insp.retention_cursor.warned_at IS
    'Of partitions: when the log last said that something depends on the partition to be dropped; it says so once a day';
GRANT SELECT ON insp.retention_cursor TO insp_operator, insp_auditor;
INSERT INTO insp.retention_cursor (what) VALUES ('callbacks'), ('partitions'), ('late'), ('rows');

-- A number may be drawn by a transaction that stays open for longer than the retention period. Drawing one holds the sequence's
-- lock until the transaction ends, so the transactions that drew one before a given moment are known. Once they have ended, every
-- number drawn before that moment is visible or never will be.
CREATE TABLE insp.retention_horizon (
    what text PRIMARY KEY CHECK (what IN ('job', 'callback')),
    safe_id bigint NOT NULL DEFAULT 0,
    next_id bigint NOT NULL DEFAULT 0,
    waits_for text[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);
COMMENT ON TABLE insp.retention_horizon IS
    'The number up to which cursors may advance: no open transaction can still commit a job or callback below it. The running insp.purge locks its rows';
COMMENT ON COLUMN insp.retention_horizon.what IS 'job or callback';
COMMENT ON COLUMN insp.retention_horizon.safe_id IS 'Cursors may advance up to here';
COMMENT ON COLUMN insp.retention_horizon.next_id IS 'Becomes safe_id once the transactions of waits_for have ended';
COMMENT ON COLUMN insp.retention_horizon.waits_for IS 'Transactions that had drawn a number when next_id was read';
GRANT SELECT ON insp.retention_horizon TO insp_operator, insp_auditor;
INSERT INTO insp.retention_horizon (what) VALUES ('job'), ('callback');

CREATE TABLE insp.purge_later (
    due_at timestamptz NOT NULL,
    what text NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (what, job_id, due_at)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
-- There may be many links and few of the others, or the reverse.
CREATE INDEX purge_later_due ON insp.purge_later (due_at) WHERE what <> 'links';
CREATE INDEX purge_later_links ON insp.purge_later (due_at) WHERE what = 'links';
COMMENT ON TABLE insp.purge_later IS 'Rows that insp.purge visits again: jobs and callbacks that were not due or were locked when the cursor passed them, persons whose rows were held, and jobs not yet linked to their person';
COMMENT ON COLUMN insp.purge_later.due_at IS 'When insp.purge visits it again';
COMMENT ON COLUMN insp.purge_later.what IS 'parts, results, references or callbacks; persons: whether any data of a person is left; links: a job to be linked to its person';
COMMENT ON COLUMN insp.purge_later.job_id IS 'The job; for callbacks and persons, the callback or the person';

-- What remains of jobs when they are gone: counts, without anything of a person.
CREATE TABLE insp.usage_count (
    partner_id integer NOT NULL,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    workflow text NOT NULL,
    decision text NOT NULL,
    error text NOT NULL DEFAULT '',
    jobs bigint NOT NULL,
    PRIMARY KEY (partner_id, month, workflow, decision, error)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.usage_count IS 'Finished jobs by partner, month and outcome (insp.usage); kept for good';
COMMENT ON COLUMN insp.usage_count.partner_id IS 'The partner';
COMMENT ON COLUMN insp.usage_count.month IS 'First day of the month, in UTC, in which they were finished';
COMMENT ON COLUMN insp.usage_count.workflow IS 'Their workflow';
COMMENT ON COLUMN insp.usage_count.decision IS 'Their decision; ERASED: they were erased before they were counted';
COMMENT ON COLUMN insp.usage_count.error IS 'Error code of those that have one; empty: none';
COMMENT ON COLUMN insp.usage_count.jobs IS 'How many';
GRANT SELECT ON insp.usage_count TO insp_operator, insp_auditor;

CREATE TABLE insp.usage_cursor (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL DEFAULT 0,
    position bigint NOT NULL DEFAULT 0,
    counted_to timestamptz
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE insp.usage_cursor IS 'The position (insp.event_batch) up to which finished jobs are counted';
COMMENT ON COLUMN insp.usage_cursor.single IS 'There is one row';
COMMENT ON COLUMN insp.usage_cursor.epoch IS 'Epoch of the last counted event';
COMMENT ON COLUMN insp.usage_cursor.position IS 'Its position';
COMMENT ON COLUMN insp.usage_cursor.counted_to IS 'Jobs finished before this are counted, except in transactions that were still open; null: none yet';
GRANT SELECT ON insp.usage_cursor TO insp_operator, insp_auditor;
INSERT INTO insp.usage_cursor DEFAULT VALUES;
