-- What is kept for how long, and how far retention has come.

CREATE TABLE insp.retention (
    what text PRIMARY KEY CHECK (what IN
        ('events', 'callbacks', 'dead_callbacks', 'idempotency_keys', 'operator_events', 'access_events', 'endpoint_events',
            'samples')),
    keep interval NOT NULL CHECK (keep BETWEEN '1 hour' AND '36525 days'),
    CHECK (keep >= '366 days' OR what NOT IN ('operator_events', 'access_events'))
);
COMMENT ON TABLE insp.retention IS 'How long things are kept that are kept alike for all partners';
COMMENT ON COLUMN insp.retention.what IS
    'events: the bare jobs with what happened to them; callbacks: delivered ones, and the references of those that still wait; dead_callbacks: dead-lettered ones; idempotency_keys; of the record (insp.record) operator_events, with vendor sessions, and access_events (both at least 366 days), and endpoint_events; samples: of the queue';
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
    PRIMARY KEY (what, keep)
) WITH (fillfactor = 50);
COMMENT ON TABLE insp.retention_cursor IS 'How far insp.purge has come';
COMMENT ON COLUMN insp.retention_cursor.what IS
    'What is being removed; late: what purge_later has; rows: keys, the record, batches of events and challenges';
COMMENT ON COLUMN insp.retention_cursor.keep IS 'For partners that keep it so long; 0 where that is not the partner''s choice';
COMMENT ON COLUMN insp.retention_cursor.next_id IS 'Every lower number was visited';
COMMENT ON COLUMN insp.retention_cursor.ran_at IS 'When insp.purge last worked on it: what has waited longest comes first';
GRANT SELECT ON insp.retention_cursor TO insp_operator, insp_auditor;
INSERT INTO insp.retention_cursor (what) VALUES ('callbacks'), ('partitions'), ('late'), ('rows');

-- A number may be drawn by a transaction that stays open for longer than things are kept. Whoever draws one holds the
-- sequence's lock until the transaction ends, so those that drew one before a moment are known, and once they are over,
-- every number drawn before that moment can be seen, or never will be.
CREATE TABLE insp.retention_horizon (
    what text PRIMARY KEY CHECK (what IN ('job', 'callback')),
    safe_id bigint NOT NULL DEFAULT 0,
    next_id bigint NOT NULL DEFAULT 0,
    waits_for text[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);
COMMENT ON TABLE insp.retention_horizon IS
    'Up to which number cursors may walk: no open transaction can still bring a job or callback before it. The lock of its rows is held by the one insp.purge that works';
COMMENT ON COLUMN insp.retention_horizon.what IS 'job or callback';
COMMENT ON COLUMN insp.retention_horizon.safe_id IS 'Cursors may walk up to here';
COMMENT ON COLUMN insp.retention_horizon.next_id IS 'Becomes safe_id once waits_for is over';
COMMENT ON COLUMN insp.retention_horizon.waits_for IS 'Transactions that had drawn a number when next_id was read';
GRANT SELECT ON insp.retention_horizon TO insp_operator, insp_auditor;
INSERT INTO insp.retention_horizon (what) VALUES ('job'), ('callback');

CREATE TABLE insp.purge_later (
    due_at timestamptz NOT NULL,
    what text NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (what, job_id, due_at)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
-- Links can be many beside few of the others, and the other way round.
CREATE INDEX purge_later_due ON insp.purge_later (due_at) WHERE what <> 'links';
CREATE INDEX purge_later_links ON insp.purge_later (due_at) WHERE what = 'links';
COMMENT ON TABLE insp.purge_later IS 'What insp.purge comes back to: jobs and callbacks that were not of age, or were locked, when the cursor passed them, persons whom somebody held, and jobs that do not name their person yet';
COMMENT ON COLUMN insp.purge_later.due_at IS 'When insp.purge comes back to it';
COMMENT ON COLUMN insp.purge_later.what IS 'parts, results, references or callbacks; persons: whether anything is left of one; links: a job whose person is to be found';
COMMENT ON COLUMN insp.purge_later.job_id IS 'The job; of callbacks and persons: the callback, the person';
