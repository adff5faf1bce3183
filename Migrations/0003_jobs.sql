-- Jobs and what belongs to them. Everything that grows with history is partitioned by job id, so that history is dropped
-- a partition at a time and never deleted row by row. There are no foreign keys between these tables: they would cost a
-- locked row for each insert, and every row is written by the functions below.

CREATE SEQUENCE insp.job_id AS bigint;
CREATE SEQUENCE insp.ready_seq AS bigint;
CREATE SEQUENCE insp.fence AS bigint;
COMMENT ON SEQUENCE insp.job_id IS 'Internal job numbers';
COMMENT ON SEQUENCE insp.ready_seq IS 'Order of waiting jobs. CACHE 1: cached blocks would break the order that floors rely on';
COMMENT ON SEQUENCE insp.fence IS 'Fences of leases: each claim gets a higher one';

CREATE TABLE insp.job (
    id bigint NOT NULL DEFAULT nextval('insp.job_id'),
    public_id uuid NOT NULL DEFAULT gen_random_uuid(),
    partner_id integer NOT NULL,
    endpoint_id bigint,
    lane smallint NOT NULL,
    slot smallint NOT NULL,
    region smallint NOT NULL DEFAULT 0,
    status smallint NOT NULL DEFAULT 1 CHECK (status IN (1, 2, 4, 8, 16, 32, 64, 128)),
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    completed_at timestamptz,
    expires_at timestamptz NOT NULL,
    callback_url text,
    traceparent text,
    payload jsonb NOT NULL,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
-- No index on a column that changes, so that every status update is HOT. The public id is random; an index that must hold
-- the partition key to be unique would say no more than this one.
CREATE INDEX job_public_id ON insp.job USING hash (public_id);
COMMENT ON TABLE insp.job IS 'One inspection each, from enqueue to 128';
COMMENT ON COLUMN insp.job.id IS 'Internal number; never leaves the system';
COMMENT ON COLUMN insp.job.public_id IS 'The id that callers know';
COMMENT ON COLUMN insp.job.partner_id IS 'Whose job it is';
COMMENT ON COLUMN insp.job.endpoint_id IS 'The callback endpoint at the time of enqueue; null: no callback';
COMMENT ON COLUMN insp.job.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.job.slot IS 'partner_id % 64: lanes are shared out by slot';
COMMENT ON COLUMN insp.job.region IS 'Region whose workers may process the job; 0: any';
COMMENT ON COLUMN insp.job.status IS
    'Furthest stored stage: 1 QUEUED, 2 STARTED, 4 ACQUIRED, 8 DOCUMENT, 16 FACE, 32 LIVENESS, 64 DECIDED, 128 FINISHED; only rises';
COMMENT ON COLUMN insp.job.created_at IS 'When the job was accepted';
COMMENT ON COLUMN insp.job.started_at IS 'When the job was first claimed';
COMMENT ON COLUMN insp.job.completed_at IS 'When the job reached 128';
COMMENT ON COLUMN insp.job.expires_at IS 'A job that is not finished by then ends as EXPIRED';
COMMENT ON COLUMN insp.job.callback_url IS 'The job''s own callback URL, in place of the endpoint''s';
COMMENT ON COLUMN insp.job.traceparent IS 'W3C trace context of the caller';
COMMENT ON COLUMN insp.job.payload IS 'The request, normalised; without parts';

CREATE TABLE insp.part (
    job_id bigint NOT NULL,
    kind text NOT NULL,
    ordinal smallint NOT NULL DEFAULT 0,
    size integer,
    sha256 bytea NOT NULL,
    url text,
    bytes bytea,
    purged_at timestamptz,
    PRIMARY KEY (job_id, kind, ordinal)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.part IS 'Inputs of jobs: bytes as received, or the URL to fetch them from';
COMMENT ON COLUMN insp.part.job_id IS 'The job';
COMMENT ON COLUMN insp.part.kind IS 'FRONT, BACK, FACE, FRAMES, DG1, DG2, SOD or SESSION_BLOB';
COMMENT ON COLUMN insp.part.ordinal IS 'Place among the frames; 0 for other kinds';
COMMENT ON COLUMN insp.part.size IS 'Bytes; null for a part by URL';
COMMENT ON COLUMN insp.part.sha256 IS 'SHA-256 of the bytes; a part by URL is refused if what is fetched has another';
COMMENT ON COLUMN insp.part.url IS 'Where the bytes are, if they are not here';
COMMENT ON COLUMN insp.part.bytes IS 'The bytes as received; null once purged';
COMMENT ON COLUMN insp.part.purged_at IS 'When retention removed the bytes';

CREATE TABLE insp.step (
    job_id bigint NOT NULL,
    status smallint NOT NULL,
    fence bigint NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    output jsonb NOT NULL,
    PRIMARY KEY (job_id, status)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.step IS 'Results of stages, written once each; 128 is the job''s result';
COMMENT ON COLUMN insp.step.job_id IS 'The job';
COMMENT ON COLUMN insp.step.status IS 'The status that the result brought the job to';
COMMENT ON COLUMN insp.step.fence IS 'Fence of the lease it was written under; 0: finished without a worker';
COMMENT ON COLUMN insp.step.stored_at IS 'When it was stored';
COMMENT ON COLUMN insp.step.output IS 'The result';

CREATE TABLE insp.event (
    job_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('finished', 'retry', 'rescued', 'handed_back')),
    fence bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    worker_id bigint,
    detail jsonb,
    PRIMARY KEY (job_id, kind, fence)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.event IS 'What happened to jobs; append-only';
COMMENT ON COLUMN insp.event.job_id IS 'The job';
COMMENT ON COLUMN insp.event.kind IS
    'finished (the terminal event, once for each finished job), retry, rescued or handed_back';
COMMENT ON COLUMN insp.event.fence IS 'Fence of the lease it happened under; 0 for finished, which makes it unique';
COMMENT ON COLUMN insp.event.at IS 'When it happened';
COMMENT ON COLUMN insp.event.worker_id IS 'The worker that held the job';
COMMENT ON COLUMN insp.event.detail IS 'Error code, attempt and the like; no personal data';

CREATE TABLE insp.ready (
    region smallint NOT NULL,
    lane smallint NOT NULL,
    slot smallint NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('insp.ready_seq'),
    job_id bigint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (region, lane, slot, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
COMMENT ON TABLE insp.ready IS 'Waiting jobs, in the order of claiming within (region, lane, slot)';
COMMENT ON COLUMN insp.ready.region IS 'As in job';
COMMENT ON COLUMN insp.ready.lane IS 'As in job';
COMMENT ON COLUMN insp.ready.slot IS 'As in job';
COMMENT ON COLUMN insp.ready.seq IS 'Place in the queue; a job that returns gets a new one at the end';
COMMENT ON COLUMN insp.ready.job_id IS 'The job';
COMMENT ON COLUMN insp.ready.attempt IS 'Attempts so far';
COMMENT ON COLUMN insp.ready.crashes IS 'Attempts that ended in the death of a process or worker';

CREATE TABLE insp.lease (
    job_id bigint PRIMARY KEY,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    region smallint NOT NULL,
    lane smallint NOT NULL,
    slot smallint NOT NULL,
    attempt smallint NOT NULL,
    crashes smallint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    deadline timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
CREATE INDEX lease_worker ON insp.lease (worker_id);
COMMENT ON TABLE insp.lease IS 'Jobs being worked on. Every write for a claimed job must match (job_id, fence)';
COMMENT ON COLUMN insp.lease.job_id IS 'The job';
COMMENT ON COLUMN insp.lease.fence IS 'Number of this claim; a worker that holds an older one can write nothing';
COMMENT ON COLUMN insp.lease.worker_id IS 'Who works on it';
COMMENT ON COLUMN insp.lease.region IS 'As in job';
COMMENT ON COLUMN insp.lease.lane IS 'As in job';
COMMENT ON COLUMN insp.lease.slot IS 'As in job';
COMMENT ON COLUMN insp.lease.attempt IS 'Number of this attempt, from 1';
COMMENT ON COLUMN insp.lease.crashes IS 'Earlier attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.lease.claimed_at IS 'When it was claimed';
COMMENT ON COLUMN insp.lease.deadline IS 'A job still leased then is taken back even from a live worker';

CREATE TABLE insp.delayed (
    run_at timestamptz NOT NULL,
    job_id bigint NOT NULL,
    region smallint NOT NULL,
    lane smallint NOT NULL,
    slot smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    last_error text,
    PRIMARY KEY (run_at, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
COMMENT ON TABLE insp.delayed IS 'Jobs that wait for a time: scheduled ones and failed ones between attempts';
COMMENT ON COLUMN insp.delayed.run_at IS 'When the job becomes ready';
COMMENT ON COLUMN insp.delayed.job_id IS 'The job';
COMMENT ON COLUMN insp.delayed.region IS 'As in job';
COMMENT ON COLUMN insp.delayed.lane IS 'As in job';
COMMENT ON COLUMN insp.delayed.slot IS 'As in job';
COMMENT ON COLUMN insp.delayed.attempt IS 'Attempts so far';
COMMENT ON COLUMN insp.delayed.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.delayed.last_error IS 'Code of the last failure';

CREATE TABLE insp.expiry (
    expires_at timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (expires_at, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
COMMENT ON TABLE insp.expiry IS 'Deadlines of jobs that named an expiresAt; the others'' are checked at the head of the queue';
COMMENT ON COLUMN insp.expiry.expires_at IS 'The deadline';
COMMENT ON COLUMN insp.expiry.job_id IS 'The job';

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
    suspect_at timestamptz,
    floor_queues integer[] NOT NULL DEFAULT '{}',
    floor_seqs bigint[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE insp.worker IS 'Live workers; a row goes when its worker stops or is found dead';
COMMENT ON COLUMN insp.worker.id IS 'Number of this run of a worker; never used again';
COMMENT ON COLUMN insp.worker.incarnation IS 'Random name of this run: a worker that was declared dead cannot come back under it';
COMMENT ON COLUMN insp.worker.host IS 'Host or pod name';
COMMENT ON COLUMN insp.worker.process IS 'Process id on that host';
COMMENT ON COLUMN insp.worker.version IS 'Version of the program';
COMMENT ON COLUMN insp.worker.region IS 'Region it serves, besides jobs that any worker may process; 0: none';
COMMENT ON COLUMN insp.worker.lanes IS 'Lanes it serves';
COMMENT ON COLUMN insp.worker.slots IS 'Jobs it works on at once';
COMMENT ON COLUMN insp.worker.busy IS 'Jobs it worked on at the last heartbeat';
COMMENT ON COLUMN insp.worker.draining IS 'Set to make it claim no more, finish and stop';
COMMENT ON COLUMN insp.worker.started_at IS 'When it registered';
COMMENT ON COLUMN insp.worker.heartbeat_at IS 'Last sign of life, by the database''s clock';
COMMENT ON COLUMN insp.worker.suspect_at IS 'When silence was first noticed; a heartbeat clears it';
COMMENT ON COLUMN insp.worker.floor_queues IS 'Queues it has a floor for: (region * 3 + lane) * 64 + slot';
COMMENT ON COLUMN insp.worker.floor_seqs IS 'The floors: it does not look at waiting jobs before them';

CREATE TABLE insp.dead (
    job_id bigint PRIMARY KEY,
    code text NOT NULL,
    detail text,
    attempts smallint NOT NULL,
    crashes smallint NOT NULL,
    died_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    resolved_by text
);
COMMENT ON TABLE insp.dead IS 'Jobs that were given up, until an operator resolves them; each is finished as NOT_EXECUTED';
COMMENT ON COLUMN insp.dead.job_id IS 'The job';
COMMENT ON COLUMN insp.dead.code IS 'Error code it ended with';
COMMENT ON COLUMN insp.dead.detail IS 'What exactly was wrong, without personal data';
COMMENT ON COLUMN insp.dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.dead.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.dead.died_at IS 'When it was given up';
COMMENT ON COLUMN insp.dead.resolved_at IS 'When an operator dealt with it';
COMMENT ON COLUMN insp.dead.resolved_by IS 'Who';

CREATE TABLE insp.control (
    lane smallint PRIMARY KEY CHECK (lane BETWEEN 0 AND 2),
    paused boolean NOT NULL DEFAULT false,
    reason text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL DEFAULT session_user
);
INSERT INTO insp.control (lane) VALUES (0), (1), (2);
COMMENT ON TABLE insp.control IS 'Switches of the lanes';
COMMENT ON COLUMN insp.control.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.control.paused IS 'Nothing is claimed from a paused lane; running jobs finish';
COMMENT ON COLUMN insp.control.reason IS 'Why';
COMMENT ON COLUMN insp.control.changed_at IS 'When';
COMMENT ON COLUMN insp.control.changed_by IS 'Who';

CREATE TABLE insp.job_key (
    partner_id integer NOT NULL,
    key text NOT NULL,
    job_id bigint NOT NULL,
    public_id uuid NOT NULL,
    request_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partner_id, key)
);
COMMENT ON TABLE insp.job_key IS 'Idempotency keys: the same request under the same key is one job';
COMMENT ON COLUMN insp.job_key.partner_id IS 'Whose key it is';
COMMENT ON COLUMN insp.job_key.key IS 'The key';
COMMENT ON COLUMN insp.job_key.job_id IS 'The job it stands for';
COMMENT ON COLUMN insp.job_key.public_id IS 'The id that the first call returned';
COMMENT ON COLUMN insp.job_key.request_sha256 IS 'Digest of the request; another request under the key is refused';
COMMENT ON COLUMN insp.job_key.created_at IS 'When the key was first used';

CREATE FUNCTION insp.ensure_partitions(p_ahead bigint DEFAULT 15000000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    width constant bigint := 5000000;
    lower bigint;
    target bigint;
    made integer := 0;
    name text;
    options text;
BEGIN
    SELECT last_value + p_ahead INTO target FROM insp.job_id;
    SELECT coalesce(max(substring(c.relname FROM 'job_p([0-9]+)$')::bigint + 1), 0) * width INTO lower
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    WHILE lower <= target LOOP
        -- One at a time, also when many workers notice at once; the others find the work done.
        PERFORM pg_advisory_xact_lock(hashtext('insp.ensure_partitions'));
        FOREACH name IN ARRAY ARRAY['job', 'part', 'step', 'event'] LOOP
            IF to_regclass(format('insp.%s_p%s', name, lpad((lower / width)::text, 6, '0'))) IS NOT NULL THEN
                CONTINUE;
            END IF;
            options := CASE name
                WHEN 'job' THEN ' WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000)'
                ELSE ' WITH (autovacuum_vacuum_insert_scale_factor = 0.2)' END;
            -- Attached rather than created as a partition: that locks the parent against neither readers nor writers.
            EXECUTE format('CREATE TABLE insp.%1$s_p%2$s (LIKE insp.%1$s INCLUDING DEFAULTS INCLUDING CONSTRAINTS)%3$s',
                name, lpad((lower / width)::text, 6, '0'), options);
            IF name = 'part' THEN
                -- Images are compressed already; out of line so that a row is read without them.
                EXECUTE format('ALTER TABLE insp.part_p%s ALTER COLUMN bytes SET STORAGE EXTERNAL',
                    lpad((lower / width)::text, 6, '0'));
            END IF;
            EXECUTE format('ALTER TABLE insp.%1$s ATTACH PARTITION insp.%1$s_p%2$s FOR VALUES FROM (%3$s) TO (%4$s)',
                name, lpad((lower / width)::text, 6, '0'), lower, lower + width);
            EXECUTE format('COMMENT ON TABLE insp.%s_p%s IS %L', name, lpad((lower / width)::text, 6, '0'),
                format('Partition of insp.%s: job ids from %s to %s', name, lower, lower + width - 1));
            made := made + 1;
        END LOOP;
        lower := lower + width;
    END LOOP;
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.ensure_partitions(bigint) IS
    'Creates the partitions for so many job ids ahead and returns how many tables it made; maintenance calls it';
DO 'BEGIN PERFORM insp.ensure_partitions(); END';

GRANT SELECT ON insp.job, insp.part, insp.step, insp.event, insp.ready, insp.lease, insp.delayed, insp.expiry,
    insp.worker, insp.dead, insp.control TO insp_worker;
GRANT SELECT ON insp.job, insp.step, insp.event, insp.ready, insp.lease, insp.delayed, insp.expiry, insp.worker,
    insp.dead, insp.control TO insp_operator;
GRANT SELECT ON insp.event, insp.worker, insp.dead, insp.control TO insp_auditor;
GRANT USAGE, SELECT ON SEQUENCE insp.ready_seq TO insp_worker;
