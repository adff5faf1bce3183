-- Each partner a queue of its own in each lane and region, in place of 64 shared slots: partners take turns exactly, and
-- one can be paused or limited without anybody wading through its jobs. The claim no longer touches insp.job, which halves
-- the versions of each job's row. Workers of 0.1.0 keep their calls: see the last section.

CREATE TABLE insp.queue (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    region smallint NOT NULL,
    lane smallint NOT NULL CHECK (lane BETWEEN 0 AND 2),
    partner_id integer NOT NULL,
    UNIQUE (region, lane, partner_id)
);
COMMENT ON TABLE insp.queue IS 'One queue for each region, lane and partner that ever had a job waiting';
COMMENT ON COLUMN insp.queue.id IS 'Number of the queue';
COMMENT ON COLUMN insp.queue.region IS 'Region whose workers serve it; 0: any';
COMMENT ON COLUMN insp.queue.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.queue.partner_id IS 'Whose jobs wait in it';

ALTER TABLE insp.partner
    ADD COLUMN paused boolean NOT NULL DEFAULT false,
    ADD COLUMN pause_reason text,
    ADD COLUMN max_running integer CHECK (max_running > 0),
    ADD COLUMN rate_per_second double precision CHECK (rate_per_second > 0),
    ADD COLUMN rate_burst integer CHECK (rate_burst > 0);
COMMENT ON COLUMN insp.partner.paused IS 'Whether nothing of the partner''s is claimed; running jobs finish';
COMMENT ON COLUMN insp.partner.pause_reason IS 'Why it is paused';
COMMENT ON COLUMN insp.partner.max_running IS 'Most jobs running at once, over all workers; null: no limit';
COMMENT ON COLUMN insp.partner.rate_per_second IS 'Most jobs started in a second, over all workers; null: no limit';
COMMENT ON COLUMN insp.partner.rate_burst IS 'Jobs that may start at once after a quiet time; null: the rate of one second';
CREATE INDEX partner_restricted ON insp.partner (id)
    WHERE paused OR max_running IS NOT NULL OR rate_per_second IS NOT NULL;

CREATE TABLE insp.partner_tokens (
    partner_id integer PRIMARY KEY,
    tokens double precision NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE insp.partner_tokens IS 'What limited partners may still start; the claim locks the row, which makes limits exact';
COMMENT ON COLUMN insp.partner_tokens.partner_id IS 'The partner';
COMMENT ON COLUMN insp.partner_tokens.tokens IS 'Jobs it might have started at that time (token bucket)';
COMMENT ON COLUMN insp.partner_tokens.at IS 'When the tokens were counted';

ALTER TABLE insp.control ADD COLUMN weight smallint NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000);
UPDATE insp.control SET weight = CASE lane WHEN 0 THEN 16 WHEN 1 THEN 4 ELSE 1 END;
COMMENT ON COLUMN insp.control.weight IS 'The lane''s share of claims while others wait as well';

CREATE FUNCTION insp.queue_of(p_region smallint, p_lane smallint, p_partner integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    found_id integer;
BEGIN
    SELECT q.id INTO found_id FROM insp.queue q
    WHERE q.region = p_region AND q.lane = p_lane AND q.partner_id = p_partner;
    WHILE found_id IS NULL LOOP
        INSERT INTO insp.queue AS q (region, lane, partner_id) VALUES (p_region, p_lane, p_partner)
        ON CONFLICT DO NOTHING RETURNING q.id INTO found_id;
        IF found_id IS NULL THEN
            -- Somebody else made it meanwhile.
            SELECT q.id INTO found_id FROM insp.queue q
            WHERE q.region = p_region AND q.lane = p_lane AND q.partner_id = p_partner;
        END IF;
    END LOOP;
    RETURN found_id;
END
$$;
COMMENT ON FUNCTION insp.queue_of(smallint, smallint, integer) IS 'The queue of a region, lane and partner; makes it if need be';

-- Made with the partner: made by its first enqueue, a queue would stay unseen, and other producers waiting, until that commits.
CREATE FUNCTION insp.make_queue() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.queue_of(coalesce(NEW.region, 0::smallint), NEW.lane, NEW.id);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.make_queue() IS 'Makes the queue that a partner''s jobs wait in by default';
CREATE TRIGGER make_queue AFTER INSERT OR UPDATE OF lane, region ON insp.partner
    FOR EACH ROW EXECUTE FUNCTION insp.make_queue();

-- The tables, moved over. Columns in the order that needs no padding -----------------------------------------------------

DROP VIEW insp.v_queue, insp.v_partner, insp.v_stuck, insp.v_running, insp.v_workers;

SELECT insp.queue_of(x.region, x.lane, x.partner_id) FROM (
    SELECT coalesce(p.region, 0::smallint) AS region, p.lane, p.id AS partner_id FROM insp.partner p
    UNION
    SELECT w.region, w.lane, j.partner_id
    FROM (SELECT job_id, region, lane FROM insp.ready UNION ALL SELECT job_id, region, lane FROM insp.delayed
        UNION ALL SELECT job_id, region, lane FROM insp.lease) w JOIN insp.job j ON j.id = w.job_id) x;

ALTER TABLE insp.ready RENAME TO ready_before;
ALTER INDEX insp.ready_pkey RENAME TO ready_before_pkey;
CREATE TABLE insp.ready (
    job_id bigint NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('insp.ready_seq'),
    queue integer NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
INSERT INTO insp.ready (job_id, seq, queue, attempt, crashes)
SELECT r.job_id, r.seq, q.id, r.attempt, r.crashes
FROM insp.ready_before r JOIN insp.job j ON j.id = r.job_id
    JOIN insp.queue q ON q.region = r.region AND q.lane = r.lane AND q.partner_id = j.partner_id
ORDER BY r.seq;
ALTER TABLE insp.ready ADD PRIMARY KEY (queue, seq);
DROP TABLE insp.ready_before;
COMMENT ON TABLE insp.ready IS 'Waiting jobs, in the order of claiming within a queue';
COMMENT ON COLUMN insp.ready.job_id IS 'The job';
COMMENT ON COLUMN insp.ready.seq IS 'Place in the queue; a job that returns gets a new one at the end';
COMMENT ON COLUMN insp.ready.queue IS 'The queue';
COMMENT ON COLUMN insp.ready.attempt IS 'Attempts so far';
COMMENT ON COLUMN insp.ready.crashes IS 'Attempts that ended in the death of a process or worker';

ALTER TABLE insp.lease RENAME TO lease_before;
ALTER INDEX insp.lease_pkey RENAME TO lease_before_pkey;
CREATE TABLE insp.lease (
    job_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    deadline timestamptz NOT NULL,
    queue integer NOT NULL,
    attempt smallint NOT NULL,
    crashes smallint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
INSERT INTO insp.lease (job_id, fence, worker_id, claimed_at, deadline, queue, attempt, crashes)
SELECT l.job_id, l.fence, l.worker_id, l.claimed_at, l.deadline, q.id, l.attempt, l.crashes
FROM insp.lease_before l JOIN insp.job j ON j.id = l.job_id
    JOIN insp.queue q ON q.region = l.region AND q.lane = l.lane AND q.partner_id = j.partner_id;
ALTER TABLE insp.lease ADD PRIMARY KEY (job_id);
DROP TABLE insp.lease_before;
-- With the fence: a worker's leases are looked up from its lowest one on, or the look would wade through all it ever had.
CREATE INDEX lease_worker ON insp.lease (worker_id, fence);
COMMENT ON TABLE insp.lease IS 'Jobs being worked on. Every write for a claimed job must match (job_id, fence)';
COMMENT ON COLUMN insp.lease.job_id IS 'The job';
COMMENT ON COLUMN insp.lease.fence IS 'Number of this claim; a worker that holds an older one can write nothing';
COMMENT ON COLUMN insp.lease.worker_id IS 'Who works on it';
COMMENT ON COLUMN insp.lease.claimed_at IS 'When it was claimed';
COMMENT ON COLUMN insp.lease.deadline IS 'A job still leased then is taken back even from a live worker';
COMMENT ON COLUMN insp.lease.queue IS 'The queue it came from';
COMMENT ON COLUMN insp.lease.attempt IS 'Number of this attempt, from 1';
COMMENT ON COLUMN insp.lease.crashes IS 'Earlier attempts that ended in the death of a process or worker';

ALTER TABLE insp.delayed ADD COLUMN queue integer;
UPDATE insp.delayed d SET queue = q.id
FROM insp.job j JOIN insp.queue q ON q.partner_id = j.partner_id
WHERE j.id = d.job_id AND q.region = d.region AND q.lane = d.lane;
ALTER TABLE insp.delayed ALTER COLUMN queue SET NOT NULL, DROP COLUMN region, DROP COLUMN lane, DROP COLUMN slot;
COMMENT ON COLUMN insp.delayed.queue IS 'The queue it will wait in';

ALTER TABLE insp.job DROP COLUMN slot;
-- Jobs next to each other are finished in one transaction, and within it no old version can make way for a new one. With
-- half of each page free the last update of every row still fits beside it and touches no index.
DO $$
DECLARE
    partition regclass;
BEGIN
    FOR partition IN SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = 'insp.job'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (fillfactor = 45)', partition);
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION insp.ensure_partitions(p_ahead bigint DEFAULT 15000000) RETURNS integer
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
                WHEN 'job' THEN ' WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000)'
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

COMMENT ON COLUMN insp.job.status IS
    'Furthest stored stage: 1 QUEUED, 2 STARTED, 4 ACQUIRED, 8 DOCUMENT, 16 FACE, 32 LIVENESS, 64 DECIDED, 128 FINISHED; only rises. While a job has a lease, 1 means STARTED: the claim does not write here';
COMMENT ON COLUMN insp.job.started_at IS 'When the job was first claimed; written with its first result';

ALTER TABLE insp.worker ADD COLUMN fence_floor bigint NOT NULL DEFAULT 0;
UPDATE insp.worker SET floor_queues = '{}', floor_seqs = '{}';
COMMENT ON COLUMN insp.worker.fence_floor IS 'None of its leases has a lower fence';
COMMENT ON COLUMN insp.worker.floor_queues IS 'Queues it has a floor for';

-- A job's callback is named by the job's public id, which is random already and leads back to the callback: an index of the
-- names would cost as much with each finished job as its result.
ALTER TABLE insp.callback DROP CONSTRAINT callback_webhook_id_key;
-- What a dispatcher has to know of the job, so that it need not be looked up for each callback among all its partitions.
ALTER TABLE insp.callback ADD COLUMN public_id uuid, ADD COLUMN traceparent text;
COMMENT ON COLUMN insp.callback.public_id IS 'The job''s id that callers know; null: written before this column was, or not about a job';
COMMENT ON COLUMN insp.callback.traceparent IS 'W3C trace context of the job''s caller';
CREATE FUNCTION insp.callback_by_webhook_id(p_webhook_id text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    callback_id bigint;
BEGIN
    IF p_webhook_id ~ '^msg_[0-9a-f]{32}' THEN
        SELECT c.id INTO callback_id FROM insp.job j JOIN insp.callback c ON c.job_id = j.id
        WHERE j.public_id = substr(p_webhook_id, 5, 32)::uuid AND c.webhook_id = p_webhook_id;
    END IF;
    IF callback_id IS NULL THEN
        -- Named before that was so: only a look at every callback can tell.
        SELECT c.id INTO callback_id FROM insp.callback c WHERE c.webhook_id = p_webhook_id LIMIT 1;
    END IF;
    RETURN callback_id;
END
$$;
COMMENT ON FUNCTION insp.callback_by_webhook_id(text) IS 'The callback with a webhook-id; null: none';

CREATE OR REPLACE FUNCTION insp.callback_replay(p_webhook_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.callback c
    SET state = 'pending', due_at = clock_timestamp(), attempts = 0, released = 0, claim_id = NULL, lease_until = NULL
    WHERE c.id = (SELECT insp.callback_by_webhook_id(p_webhook_id));
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION insp.callback_bury(p_webhook_id text, p_reason text DEFAULT 'buried by an operator') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.callback c SET state = 'dead', last_error = p_reason, claim_id = NULL, lease_until = NULL
    WHERE c.id = (SELECT insp.callback_by_webhook_id(p_webhook_id)) AND c.state IN ('pending', 'held');
    RETURN FOUND;
END
$$;

GRANT SELECT ON insp.queue, insp.ready, insp.lease, insp.delayed TO insp_worker, insp_operator;
GRANT SELECT ON insp.queue TO insp_auditor;
