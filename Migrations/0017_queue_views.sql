-- The views that name queues, over insp.queue.

CREATE VIEW insp.v_floor AS
SELECT u.queue, min(u.seq) AS seq
FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq)
GROUP BY u.queue;
COMMENT ON VIEW insp.v_floor IS 'Where the slowest worker looks for waiting jobs in each queue; below it lie only rows that were claimed';
COMMENT ON COLUMN insp.v_floor.queue IS 'The queue';
COMMENT ON COLUMN insp.v_floor.seq IS 'The floor';

CREATE VIEW insp.v_queue AS
SELECT coalesce(g.name, 'any') AS region, insp.lane_name(c.lane) AS lane, c.paused,
    w.waiting, w.waiting > 100000 AS waiting_is_more,
    now() - (SELECT j.created_at FROM insp.job j WHERE j.id = w.first_job) AS oldest,
    (SELECT count(*) FROM insp.delayed d JOIN insp.queue q ON q.id = d.queue WHERE q.region = r.id AND q.lane = c.lane)
        AS delayed,
    (SELECT count(*) FROM insp.lease l JOIN insp.queue q ON q.id = l.queue WHERE q.region = r.id AND q.lane = c.lane)
        AS running,
    c.weight
FROM (SELECT 0::smallint AS id UNION ALL SELECT id FROM insp.region) r
    CROSS JOIN insp.control c
    LEFT JOIN insp.region g ON g.id = r.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS waiting, min(x.job_id) AS first_job FROM (
            SELECT y.job_id FROM insp.queue q LEFT JOIN insp.v_floor f ON f.queue = q.id
                CROSS JOIN LATERAL (
                    SELECT z.job_id FROM insp.ready z WHERE z.queue = q.id AND z.seq >= coalesce(f.seq, 0)
                    ORDER BY z.seq LIMIT 100001) y
            WHERE q.region = r.id AND q.lane = c.lane LIMIT 100001) x) w
WHERE r.id = 0 OR EXISTS (SELECT FROM insp.queue q WHERE q.region = r.id AND q.lane = c.lane);
COMMENT ON VIEW insp.v_queue IS 'How much waits and runs in each region and lane; counting stops at 100,000 waiting jobs';
COMMENT ON COLUMN insp.v_queue.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_queue.lane IS 'Lane';
COMMENT ON COLUMN insp.v_queue.paused IS 'Whether claims are stopped (pause_lane, resume_lane)';
COMMENT ON COLUMN insp.v_queue.waiting IS 'Jobs ready to be claimed';
COMMENT ON COLUMN insp.v_queue.waiting_is_more IS 'Whether waiting was not counted to the end';
COMMENT ON COLUMN insp.v_queue.oldest IS 'Age of the oldest job among those counted';
COMMENT ON COLUMN insp.v_queue.delayed IS 'Jobs that wait for a time';
COMMENT ON COLUMN insp.v_queue.running IS 'Jobs being worked on';
COMMENT ON COLUMN insp.v_queue.weight IS 'The lane''s share of claims while others wait as well (control.weight)';

CREATE VIEW insp.v_running AS
SELECT j.public_id AS id, p.name AS partner, j.payload ->> 'workflow' AS workflow, greatest(j.status, 2::smallint) AS status, l.attempt, l.crashes,
    now() - l.claimed_at AS running_for, l.deadline, l.worker_id, w.host, w.process, l.fence, l.job_id
FROM insp.lease l JOIN insp.job j ON j.id = l.job_id JOIN insp.partner p ON p.id = j.partner_id
    LEFT JOIN insp.worker w ON w.id = l.worker_id;
COMMENT ON VIEW insp.v_running IS 'Jobs being worked on';
COMMENT ON COLUMN insp.v_running.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_running.partner IS 'Whose job';
COMMENT ON COLUMN insp.v_running.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_running.status IS 'Furthest stored stage';
COMMENT ON COLUMN insp.v_running.attempt IS 'Number of the attempt';
COMMENT ON COLUMN insp.v_running.crashes IS 'Earlier attempts that crashed';
COMMENT ON COLUMN insp.v_running.running_for IS 'Time since it was claimed';
COMMENT ON COLUMN insp.v_running.deadline IS 'When it will be taken back';
COMMENT ON COLUMN insp.v_running.worker_id IS 'The worker (v_workers)';
COMMENT ON COLUMN insp.v_running.host IS 'The worker''s host';
COMMENT ON COLUMN insp.v_running.process IS 'The worker''s process id';
COMMENT ON COLUMN insp.v_running.fence IS 'Fence of the lease';
COMMENT ON COLUMN insp.v_running.job_id IS 'The job''s internal number';


CREATE VIEW insp.v_workers AS
SELECT w.id, w.host, w.process, w.version, coalesce(g.name, '') AS region,
    ARRAY(SELECT insp.lane_name(u) FROM unnest(w.lanes) u) AS lanes, w.slots, w.busy, w.draining,
    now() - w.started_at AS up, now() - w.heartbeat_at AS silent_for,
    CASE WHEN now() - w.heartbeat_at > interval '15 s' THEN 'dead' WHEN now() - w.heartbeat_at > interval '10 s' THEN 'silent'
        WHEN w.draining THEN 'draining' ELSE 'live' END AS state,
    (SELECT count(*) FROM insp.lease l WHERE l.worker_id = w.id) AS leases
FROM insp.worker w LEFT JOIN insp.region g ON g.id = w.region;
COMMENT ON VIEW insp.v_workers IS 'Workers that are registered';
COMMENT ON COLUMN insp.v_workers.id IS 'Number of the worker (for drain_worker)';
COMMENT ON COLUMN insp.v_workers.host IS 'Its host';
COMMENT ON COLUMN insp.v_workers.process IS 'Its process id';
COMMENT ON COLUMN insp.v_workers.version IS 'Version of the program';
COMMENT ON COLUMN insp.v_workers.region IS 'Region it serves; empty: only jobs without a region';
COMMENT ON COLUMN insp.v_workers.lanes IS 'Lanes it serves';
COMMENT ON COLUMN insp.v_workers.slots IS 'Jobs it works on at once';
COMMENT ON COLUMN insp.v_workers.busy IS 'Jobs it reported at its last heartbeat';
COMMENT ON COLUMN insp.v_workers.draining IS 'Whether it claims no more';
COMMENT ON COLUMN insp.v_workers.up IS 'Time since it registered';
COMMENT ON COLUMN insp.v_workers.silent_for IS 'Time since its last heartbeat (every 5 s)';
COMMENT ON COLUMN insp.v_workers.state IS 'live, draining, silent (over 10 s: it stops itself) or dead (over 15 s: its jobs are rescued)';
COMMENT ON COLUMN insp.v_workers.leases IS 'Jobs leased to it';


CREATE VIEW insp.v_stuck AS
SELECT r.id, r.job_id, 'running'::text AS state, r.running_for AS since, format(
    'attempt %s at status %s on worker %s; taken back at the deadline', r.attempt, r.status, r.worker_id) AS what
FROM insp.v_running r WHERE r.running_for > interval '2 minutes'
UNION ALL
SELECT j.public_id, d.job_id, 'delayed', now() - d.run_at, 'due, but no worker with the maintain role promotes it'
FROM insp.delayed d JOIN insp.job j ON j.id = d.job_id WHERE d.run_at < now() - interval '1 minute'
UNION ALL
SELECT j.public_id, x.job_id, 'waiting', now() - j.created_at, format(
    'first of region %s, lane %s, partner %s: paused, limited, or no worker for it is free', q.region, insp.lane_name(q.lane),
    p.name)
FROM insp.queue q JOIN insp.partner p ON p.id = q.partner_id LEFT JOIN insp.v_floor f ON f.queue = q.id
    CROSS JOIN LATERAL (
        SELECT y.* FROM insp.ready y WHERE y.queue = q.id AND y.seq >= coalesce(f.seq, 0)
        ORDER BY y.queue, y.seq LIMIT 1) x
    JOIN insp.job j ON j.id = x.job_id AND j.status < 128
WHERE j.created_at < now() - interval '5 minutes';
COMMENT ON VIEW insp.v_stuck IS 'Jobs that do not move as they should: running over 2 minutes, due over 1 minute, first in a queue for over 5';
COMMENT ON COLUMN insp.v_stuck.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_stuck.job_id IS 'Its internal number';
COMMENT ON COLUMN insp.v_stuck.state IS 'running, delayed or waiting';
COMMENT ON COLUMN insp.v_stuck.since IS 'For how long';
COMMENT ON COLUMN insp.v_stuck.what IS 'What to look at';


CREATE VIEW insp.v_partner AS
SELECT p.id, p.name, p.enabled, p.paused, insp.lane_name(p.lane) AS lane, coalesce(g.name, 'any') AS region,
    (SELECT count(*) FROM (
        SELECT FROM insp.queue q LEFT JOIN insp.v_floor f ON f.queue = q.id CROSS JOIN LATERAL (
            SELECT FROM insp.ready r WHERE r.queue = q.id AND r.seq >= coalesce(f.seq, 0) LIMIT 100001) y
        WHERE q.partner_id = p.id LIMIT 100001) w) AS waiting,
    (SELECT count(*) FROM insp.lease l JOIN insp.queue q ON q.id = l.queue WHERE q.partner_id = p.id) AS running,
    p.max_running, p.rate_per_second,
    (SELECT count(*) FROM insp.dead d JOIN insp.job j ON j.id = d.job_id
        WHERE j.partner_id = p.id AND d.resolved_at IS NULL) AS given_up,
    (SELECT count(*) FROM insp.endpoint e WHERE e.partner_id = p.id AND e.enabled) AS endpoints
FROM insp.partner p LEFT JOIN insp.region g ON g.id = p.region;
COMMENT ON VIEW insp.v_partner IS 'Partners and what goes on for them';
COMMENT ON COLUMN insp.v_partner.id IS 'Number of the partner';
COMMENT ON COLUMN insp.v_partner.name IS 'Its name in payloads';
COMMENT ON COLUMN insp.v_partner.enabled IS 'Whether its jobs are accepted';
COMMENT ON COLUMN insp.v_partner.lane IS 'Lane of jobs that name none';
COMMENT ON COLUMN insp.v_partner.region IS 'Region of jobs that name none';
COMMENT ON COLUMN insp.v_partner.running IS 'Jobs being worked on';
COMMENT ON COLUMN insp.v_partner.given_up IS 'Given-up jobs that nobody has resolved';
COMMENT ON COLUMN insp.v_partner.endpoints IS 'Enabled callback endpoints';
COMMENT ON COLUMN insp.v_partner.paused IS 'Whether nothing of it is claimed';
COMMENT ON COLUMN insp.v_partner.waiting IS 'Jobs ready to be claimed; counting stops at 100,001';
COMMENT ON COLUMN insp.v_partner.max_running IS 'Most jobs running at once; null: no limit';
COMMENT ON COLUMN insp.v_partner.rate_per_second IS 'Most jobs started in a second; null: no limit';

GRANT SELECT ON insp.v_floor, insp.v_queue, insp.v_running, insp.v_workers, insp.v_stuck, insp.v_partner
    TO insp_operator, insp_auditor, insp_worker;
