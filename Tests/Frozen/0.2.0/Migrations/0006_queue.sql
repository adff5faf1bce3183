-- The queue. There is one for each region, lane and partner; how often claims scan each of them decides the shares of lanes and
-- partners.

CREATE SEQUENCE insp.ready_seq AS bigint;
CREATE SEQUENCE insp.fence AS bigint;
CREATE SEQUENCE insp.wake_urgent AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE insp.wake_normal AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE insp.wake_bulk AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.ready_seq IS 'Order of waiting jobs. CACHE 1: cached blocks would break the order that floors rely on';
COMMENT ON SEQUENCE insp.fence IS 'Fences of leases: each claim gets a higher one';
COMMENT ON SEQUENCE insp.wake_urgent IS 'The 50 ms tick in which the urgent lane was last announced';
COMMENT ON SEQUENCE insp.wake_normal IS 'The 50 ms tick in which the normal lane was last announced';
COMMENT ON SEQUENCE insp.wake_bulk IS 'The 50 ms tick in which the bulk lane was last announced';

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
GRANT SELECT ON insp.queue TO insp_operator, insp_auditor;

CREATE TABLE insp.ready (
    job_id bigint NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('insp.ready_seq'),
    queue integer NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000);
COMMENT ON TABLE insp.ready IS 'Waiting jobs, in the order of claiming within a queue';
COMMENT ON COLUMN insp.ready.job_id IS 'The job';
COMMENT ON COLUMN insp.ready.seq IS 'Place in the queue; a released or retried job gets a new one at the end';
COMMENT ON COLUMN insp.ready.queue IS 'The queue';
COMMENT ON COLUMN insp.ready.attempt IS 'Attempts so far';
COMMENT ON COLUMN insp.ready.crashes IS 'Attempts that ended in the death of a process or worker';
GRANT SELECT ON insp.ready TO insp_operator;

CREATE TABLE insp.lease (
    job_id bigint PRIMARY KEY,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    deadline timestamptz NOT NULL,
    queue integer NOT NULL,
    attempt smallint NOT NULL,
    crashes smallint NOT NULL,
    epoch bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000);
-- With the fence: a worker's leases are read from its lowest one on; otherwise the scan would read all dead rows of its leases.
CREATE INDEX lease_worker ON insp.lease (worker_id, fence);
COMMENT ON TABLE insp.lease IS 'Running jobs. Every write for a claimed job must match (job_id, fence)';
COMMENT ON COLUMN insp.lease.job_id IS 'The job';
COMMENT ON COLUMN insp.lease.fence IS 'Number of this claim; a worker that holds an older one can write nothing';
COMMENT ON COLUMN insp.lease.worker_id IS 'The worker';
COMMENT ON COLUMN insp.lease.claimed_at IS 'When it was claimed';
COMMENT ON COLUMN insp.lease.deadline IS 'If still leased at that time, the job is rescued even from a live worker';
COMMENT ON COLUMN insp.lease.queue IS 'The queue it came from';
COMMENT ON COLUMN insp.lease.attempt IS 'Number of this attempt, from 1';
COMMENT ON COLUMN insp.lease.crashes IS 'Earlier attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.lease.epoch IS 'The epoch (insp.epoch) in which it was claimed';
GRANT SELECT ON insp.lease TO insp_operator;

CREATE TABLE insp.delayed (
    run_at timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    last_error text,
    queue integer NOT NULL,
    PRIMARY KEY (run_at, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000);
-- By job: cancelling a job deletes its delayed row, and a worker that drains need not wait for it.
CREATE INDEX delayed_job ON insp.delayed (job_id);
-- By queue: the console counts a partner's delayed jobs without reading everybody's.
CREATE INDEX delayed_queue ON insp.delayed (queue, run_at, job_id);
COMMENT ON TABLE insp.delayed IS 'Jobs that wait for a time: scheduled ones and failed ones between attempts';
COMMENT ON COLUMN insp.delayed.run_at IS 'When the job becomes ready';
COMMENT ON COLUMN insp.delayed.job_id IS 'The job';
COMMENT ON COLUMN insp.delayed.attempt IS 'Attempts so far';
COMMENT ON COLUMN insp.delayed.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.delayed.last_error IS 'Code of the last failure';
COMMENT ON COLUMN insp.delayed.queue IS 'The queue it will wait in';
GRANT SELECT ON insp.delayed TO insp_operator;

CREATE TABLE insp.expiry (
    expires_at timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (expires_at, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
COMMENT ON TABLE insp.expiry IS 'Deadlines of jobs with an expiresAt; those of other jobs are checked at the head of the queue';
COMMENT ON COLUMN insp.expiry.expires_at IS 'The deadline';
COMMENT ON COLUMN insp.expiry.job_id IS 'The job';
GRANT SELECT ON insp.expiry TO insp_operator;

CREATE TABLE insp.control (
    lane smallint PRIMARY KEY CHECK (lane BETWEEN 0 AND 2),
    paused boolean NOT NULL DEFAULT false,
    reason text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL DEFAULT session_user,
    weight smallint NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000)
);
COMMENT ON TABLE insp.control IS 'The lanes'' switches';
COMMENT ON COLUMN insp.control.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.control.paused IS 'Nothing is claimed from a paused lane; running jobs finish';
COMMENT ON COLUMN insp.control.reason IS 'Why it is paused';
COMMENT ON COLUMN insp.control.changed_at IS 'Last change';
COMMENT ON COLUMN insp.control.changed_by IS 'Who made it';
COMMENT ON COLUMN insp.control.weight IS 'The lane''s share of claims while others wait too';
GRANT SELECT ON insp.control TO insp_operator, insp_auditor;
INSERT INTO insp.control (lane, weight) VALUES (0, 16), (1, 4), (2, 1);

CREATE TABLE insp.partner_tokens (
    partner_id integer PRIMARY KEY,
    tokens double precision NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE insp.partner_tokens IS 'Jobs that partners with limits may still start; the claim locks the row, which makes limits exact';
COMMENT ON COLUMN insp.partner_tokens.partner_id IS 'The partner';
COMMENT ON COLUMN insp.partner_tokens.tokens IS 'Jobs that it could start at that time (token bucket)';
COMMENT ON COLUMN insp.partner_tokens.at IS 'When the tokens were counted';

-- One row a minute with a list for each figure: ninety days take some 50 MB with six active lanes and 75 MB with twelve; a row
-- for each lane would take twice as much.
CREATE TABLE insp.queue_sample (
    at timestamptz PRIMARY KEY,
    regions smallint[] NOT NULL,
    lanes smallint[] NOT NULL,
    waiting integer[] NOT NULL,
    oldest_seconds integer[] NOT NULL,
    running integer[] NOT NULL,
    delayed integer[] NOT NULL,
    finished integer[] NOT NULL,
    failed integer[] NOT NULL,
    callbacks integer NOT NULL,
    callbacks_oldest_seconds integer NOT NULL,
    workers integer NOT NULL,
    partners_cut boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE insp.queue_sample IS
    'The state of the queue, minute by minute (insp.v_queue_sample). The lists have an element for each region and lane with jobs that waited, ran or ended';
COMMENT ON COLUMN insp.queue_sample.at IS 'The minute';
COMMENT ON COLUMN insp.queue_sample.regions IS 'Regions of the elements; 0: any';
COMMENT ON COLUMN insp.queue_sample.lanes IS 'Their lanes';
COMMENT ON COLUMN insp.queue_sample.waiting IS 'Jobs ready to be claimed; an estimate if there are many';
COMMENT ON COLUMN insp.queue_sample.oldest_seconds IS 'Seconds since the first of them was accepted';
COMMENT ON COLUMN insp.queue_sample.running IS 'Jobs in work';
COMMENT ON COLUMN insp.queue_sample.delayed IS 'Jobs that wait for a time; an estimate if there are many';
COMMENT ON COLUMN insp.queue_sample.finished IS 'Jobs that reached 128 in the minute before; an estimate if there are many';
COMMENT ON COLUMN insp.queue_sample.failed IS 'Those that were dead-lettered; at most 10,000';
COMMENT ON COLUMN insp.queue_sample.callbacks IS 'Callbacks to be delivered; at most 10,000';
COMMENT ON COLUMN insp.queue_sample.callbacks_oldest_seconds IS 'Seconds since the oldest of them was written';
COMMENT ON COLUMN insp.queue_sample.workers IS 'Live workers';
COMMENT ON COLUMN insp.queue_sample.partners_cut IS 'Whether more partners had work than insp.partner_sample has for this minute: then a partner without a row was not sampled';
GRANT SELECT ON insp.queue_sample TO insp_operator, insp_auditor;

-- Of at most 200 partners a minute, those with the most work, and kept for a week: some 2 million rows if all of them are always busy.
CREATE TABLE insp.partner_sample (
    partner_id integer NOT NULL,
    at timestamptz NOT NULL,
    waiting integer NOT NULL,
    oldest_seconds integer NOT NULL,
    running integer NOT NULL,
    finished integer NOT NULL,
    failed integer NOT NULL,
    delivered integer NOT NULL,
    undelivered integer NOT NULL,
    PRIMARY KEY (partner_id, at)
);
CREATE INDEX partner_sample_at ON insp.partner_sample USING brin (at) WITH (pages_per_range = 16, autosummarize = on);
COMMENT ON TABLE insp.partner_sample IS 'The work of partners, minute by minute; no row for a partner without any, nor, if queue_sample.partners_cut, for those with the least';
COMMENT ON COLUMN insp.partner_sample.partner_id IS 'The partner';
COMMENT ON COLUMN insp.partner_sample.at IS 'The minute';
COMMENT ON COLUMN insp.partner_sample.waiting IS 'Jobs ready to be claimed; an estimate if there are many';
COMMENT ON COLUMN insp.partner_sample.oldest_seconds IS 'Seconds since the first of them was accepted';
COMMENT ON COLUMN insp.partner_sample.running IS 'Jobs in work';
COMMENT ON COLUMN insp.partner_sample.finished IS 'Jobs that reached 128 in the minute before; an estimate if there are many';
COMMENT ON COLUMN insp.partner_sample.failed IS 'Those that were dead-lettered; at most 10,000 of all partners';
COMMENT ON COLUMN insp.partner_sample.delivered IS 'Attempts of callbacks in the minute before that were delivered, of the newest 4,000 of all partners';
COMMENT ON COLUMN insp.partner_sample.undelivered IS 'Those that failed';
GRANT SELECT ON insp.partner_sample TO insp_operator, insp_auditor;
