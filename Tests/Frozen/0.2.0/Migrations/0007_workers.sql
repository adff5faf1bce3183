-- Workers, the maintenance duties that they share, and the state of the server and its clock.

CREATE SEQUENCE insp.steady AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE insp.scanned AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.steady IS
    'Microseconds during which maintenance watched the fleet: advances with each scan and never jumps, even if the clock is set';
COMMENT ON SEQUENCE insp.scanned IS 'When maintenance last scanned the fleet, in microseconds since 1970 by the database''s clock';

CREATE TABLE insp.worker (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incarnation uuid NOT NULL UNIQUE,
    host text NOT NULL,
    process integer NOT NULL,
    version text NOT NULL,
    region smallint NOT NULL DEFAULT 0,
    lanes smallint[] NOT NULL,
    slots integer NOT NULL,
    busy integer NOT NULL DEFAULT 0,
    draining boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    floor_queues integer[] NOT NULL DEFAULT '{}',
    floor_seqs bigint[] NOT NULL DEFAULT '{}',
    fence_floor bigint NOT NULL DEFAULT 0,
    beat_microseconds bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE insp.worker IS 'Live workers; a row is deleted when its worker stops or is declared dead';
COMMENT ON COLUMN insp.worker.id IS 'Number of this run of a worker; never reused';
COMMENT ON COLUMN insp.worker.incarnation IS 'Random name of this run: a worker that was declared dead cannot resume under it';
COMMENT ON COLUMN insp.worker.host IS 'Host or pod name';
COMMENT ON COLUMN insp.worker.process IS 'Process id on that host';
COMMENT ON COLUMN insp.worker.version IS 'Version of the program';
COMMENT ON COLUMN insp.worker.region IS 'Region it serves, in addition to jobs that any worker may process; 0: none';
COMMENT ON COLUMN insp.worker.lanes IS 'Lanes it serves';
COMMENT ON COLUMN insp.worker.slots IS 'Jobs it may run at once';
COMMENT ON COLUMN insp.worker.busy IS 'Jobs that had a slot at its last heartbeat';
COMMENT ON COLUMN insp.worker.draining IS 'Whether it must stop claiming, finish its jobs and stop';
COMMENT ON COLUMN insp.worker.started_at IS 'When it registered';
COMMENT ON COLUMN insp.worker.heartbeat_at IS 'Last heartbeat, by the database''s clock';
COMMENT ON COLUMN insp.worker.floor_queues IS 'Queues for which it has a floor';
COMMENT ON COLUMN insp.worker.floor_seqs IS 'The floors: its scans begin there';
COMMENT ON COLUMN insp.worker.fence_floor IS 'None of its leases has a lower fence';
COMMENT ON COLUMN insp.worker.beat_microseconds IS 'Last heartbeat, in watched time (insp.steady)';
COMMENT ON COLUMN insp.worker.epoch IS 'The epoch (insp.epoch) of its floors';
GRANT SELECT ON insp.worker TO insp_operator, insp_auditor;

CREATE TABLE insp.worker_key (
    worker_id bigint NOT NULL,
    kid text NOT NULL,
    jwk jsonb NOT NULL,
    PRIMARY KEY (worker_id, kid)
);
COMMENT ON TABLE insp.worker_key IS
    'Public halves of the keys with which workers decrypt parts. The rows of workers that have stopped remain until the next one registers';
COMMENT ON COLUMN insp.worker_key.worker_id IS 'The worker';
COMMENT ON COLUMN insp.worker_key.kid IS 'The key''s name, as clients give it in a part''s header';
COMMENT ON COLUMN insp.worker_key.jwk IS 'The public key (RFC 7517)';
GRANT SELECT ON insp.worker_key TO insp_operator, insp_auditor;

CREATE TABLE insp.worker_drain (
    worker_id bigint PRIMARY KEY
);
COMMENT ON TABLE insp.worker_drain IS 'Workers to be drained by a transaction that is not committed yet';
COMMENT ON COLUMN insp.worker_drain.worker_id IS 'The worker';

CREATE TABLE insp.duty (
    name text PRIMARY KEY,
    every interval NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    took interval,
    run_by text,
    outcome jsonb,
    failed_at timestamptz,
    error text,
    failures integer NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE insp.duty IS
    'Maintenance duties. A worker locks the row during a round, so that only one of the fleet performs it';
COMMENT ON COLUMN insp.duty.name IS 'The duty';
COMMENT ON COLUMN insp.duty.every IS 'How often it should run';
COMMENT ON COLUMN insp.duty.since IS 'When it was introduced';
COMMENT ON COLUMN insp.duty.finished_at IS 'When a round last succeeded; written at most every four seconds';
COMMENT ON COLUMN insp.duty.took IS 'How long that round took';
COMMENT ON COLUMN insp.duty.run_by IS 'Host and process that ran it';
COMMENT ON COLUMN insp.duty.outcome IS 'What its function returned';
COMMENT ON COLUMN insp.duty.failed_at IS 'When a round last failed';
COMMENT ON COLUMN insp.duty.error IS 'Why; null once a round has succeeded again';
COMMENT ON COLUMN insp.duty.failures IS 'Consecutive failed rounds';
INSERT INTO insp.duty (name, every) VALUES
    ('promote', '0.5 s'), ('rescue', '0.5 s'), ('events', '0.5 s'), ('pulls', '0.5 s'), ('orphans', '10 s'), ('expire', '5 s'), ('sweep', '5 s'),
    ('quotas', '2 s'), ('record', '2 s'), ('partitions', '60 s'), ('faces', '60 s'), ('samples', '5 s'), ('usage', '20 s'),
    ('purge', '60 s');

CREATE TABLE insp.epoch (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id bigint NOT NULL,
    system bigint NOT NULL,
    timeline text NOT NULL,
    started_at timestamptz NOT NULL,
    recovered_at timestamptz,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text NOT NULL,
    set_back bigint NOT NULL DEFAULT 0,
    database uuid NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE insp.epoch IS
    'Identity of the server when numbers were last moved ahead. Claims, heartbeats and rescues compare it first';
COMMENT ON COLUMN insp.epoch.single IS 'There is one row';
COMMENT ON COLUMN insp.epoch.id IS
    'First fence; drawn at random, so two histories of one database never have the same';
COMMENT ON COLUMN insp.epoch.system IS 'The cluster''s system identifier';
COMMENT ON COLUMN insp.epoch.timeline IS 'The timeline: a new one after each promotion';
COMMENT ON COLUMN insp.epoch.started_at IS 'When the server was started: differs between servers and after each restart';
COMMENT ON COLUMN insp.epoch.recovered_at IS
    'When its statistics were last reset, as after a crash from which the server recovers without a restart';
COMMENT ON COLUMN insp.epoch.began_at IS 'When the epoch began';
COMMENT ON COLUMN insp.epoch.reason IS 'What was detected';
COMMENT ON COLUMN insp.epoch.set_back IS
    'Id of the last epoch that began for another reason than a restart or a crash of the server, so that jobs may be missing; 0: none';
COMMENT ON COLUMN insp.epoch.database IS
    'The database''s own id, drawn once: its key store serves no other. Copies and restored backups have the same';
GRANT SELECT ON insp.epoch TO insp_operator, insp_auditor;
INSERT INTO insp.epoch (id, system, timeline, started_at, recovered_at, reason)
SELECT 0, c.system_identifier, substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), pg_postmaster_start_time(),
    pg_stat_get_bgwriter_stat_reset_time(), 'migrated'
FROM pg_control_system() c;

CREATE TABLE insp.observer (
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
COMMENT ON TABLE insp.observer IS 'The transaction that holds its row counts watched time; others do not wait for it';
COMMENT ON COLUMN insp.observer.single IS 'There is one row';
INSERT INTO insp.observer DEFAULT VALUES;
