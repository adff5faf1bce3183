-- What operators look at. Every view costs little, also with ten million jobs waiting.

CREATE FUNCTION insp.lane_name(p_lane smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_lane WHEN 0 THEN 'urgent' WHEN 1 THEN 'normal' WHEN 2 THEN 'bulk' END
$$;
COMMENT ON FUNCTION insp.lane_name(smallint) IS 'Name of a lane';
GRANT EXECUTE ON FUNCTION insp.lane_name(smallint) TO insp_worker, insp_operator, insp_auditor;

CREATE VIEW insp.v_queue AS
SELECT coalesce(g.name, 'any') AS region, insp.lane_name(c.lane) AS lane, c.paused,
    w.waiting, w.waiting > 100000 AS waiting_is_more,
    now() - (SELECT j.created_at FROM insp.job j WHERE j.id = w.first_job) AS oldest,
    (SELECT count(*) FROM insp.delayed d WHERE d.region = r.id AND d.lane = c.lane) AS delayed,
    (SELECT count(*) FROM insp.lease l WHERE l.region = r.id AND l.lane = c.lane) AS running
FROM (SELECT 0::smallint AS id UNION ALL SELECT id FROM insp.region) r
    CROSS JOIN insp.control c
    LEFT JOIN insp.region g ON g.id = r.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS waiting, min(x.job_id) AS first_job FROM (
            SELECT y.job_id FROM insp.ready y WHERE y.region = r.id AND y.lane = c.lane LIMIT 100001) x) w
WHERE w.waiting > 0 OR r.id = 0 OR EXISTS (SELECT FROM insp.lease l WHERE l.region = r.id AND l.lane = c.lane)
    OR EXISTS (SELECT FROM insp.delayed d WHERE d.region = r.id AND d.lane = c.lane);
COMMENT ON VIEW insp.v_queue IS 'How much waits and runs in each region and lane; counting stops at 100,000 waiting jobs';
COMMENT ON COLUMN insp.v_queue.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_queue.lane IS 'Lane';
COMMENT ON COLUMN insp.v_queue.paused IS 'Whether claims are stopped (pause_lane, resume_lane)';
COMMENT ON COLUMN insp.v_queue.waiting IS 'Jobs ready to be claimed';
COMMENT ON COLUMN insp.v_queue.waiting_is_more IS 'Whether waiting was not counted to the end';
COMMENT ON COLUMN insp.v_queue.oldest IS 'Age of the oldest job among those counted';
COMMENT ON COLUMN insp.v_queue.delayed IS 'Jobs that wait for a time';
COMMENT ON COLUMN insp.v_queue.running IS 'Jobs being worked on';

CREATE VIEW insp.v_running AS
SELECT j.public_id AS id, p.name AS partner, j.payload ->> 'workflow' AS workflow, j.status, l.attempt, l.crashes,
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
    'first of region %s, lane %s, slot %s: paused, or no worker for it is free', x.region, insp.lane_name(x.lane), x.slot)
FROM (SELECT 0::smallint AS id UNION ALL SELECT id FROM insp.region) g CROSS JOIN generate_series(0, 2) AS lane
    CROSS JOIN generate_series(0, 63) AS slot
    CROSS JOIN LATERAL (
        SELECT y.* FROM insp.ready y WHERE y.region = g.id AND y.lane = lane.lane::smallint AND y.slot = slot.slot::smallint
        ORDER BY y.region, y.lane, y.slot, y.seq LIMIT 1) x
    JOIN insp.job j ON j.id = x.job_id AND j.status < 128
WHERE j.created_at < now() - interval '5 minutes';
COMMENT ON VIEW insp.v_stuck IS 'Jobs that do not move as they should: running over 2 minutes, due over 1 minute, first in a queue for over 5';
COMMENT ON COLUMN insp.v_stuck.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_stuck.job_id IS 'Its internal number';
COMMENT ON COLUMN insp.v_stuck.state IS 'running, delayed or waiting';
COMMENT ON COLUMN insp.v_stuck.since IS 'For how long';
COMMENT ON COLUMN insp.v_stuck.what IS 'What to look at';

CREATE VIEW insp.v_dead AS
SELECT j.public_id AS id, p.name AS partner, j.payload ->> 'workflow' AS workflow, d.code, d.detail, d.attempts, d.crashes,
    d.died_at, d.resolved_at, d.job_id
FROM insp.dead d JOIN insp.job j ON j.id = d.job_id JOIN insp.partner p ON p.id = j.partner_id;
COMMENT ON VIEW insp.v_dead IS 'Jobs that were given up (finished as NOT_EXECUTED), newest last';
COMMENT ON COLUMN insp.v_dead.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_dead.partner IS 'Whose job';
COMMENT ON COLUMN insp.v_dead.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_dead.code IS 'Error code it ended with (insp.error_code)';
COMMENT ON COLUMN insp.v_dead.detail IS 'What exactly was wrong';
COMMENT ON COLUMN insp.v_dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.v_dead.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.v_dead.died_at IS 'When it was given up';
COMMENT ON COLUMN insp.v_dead.resolved_at IS 'When an operator dealt with it';
COMMENT ON COLUMN insp.v_dead.job_id IS 'The job''s internal number';

CREATE VIEW insp.v_callbacks AS
SELECT e.id AS endpoint_id, p.name AS partner, e.enabled,
    count(*) FILTER (WHERE c.state = 'pending') AS pending,
    count(*) FILTER (WHERE c.state = 'pending' AND c.lease_until > now()) AS in_flight,
    count(*) FILTER (WHERE c.state = 'pending' AND c.attempts > 0) AS retrying,
    count(*) FILTER (WHERE c.state = 'held') AS held,
    count(*) FILTER (WHERE c.state = 'dead') AS dead,
    count(*) FILTER (WHERE c.state = 'delivered') AS delivered,
    now() - min(c.created_at) FILTER (WHERE c.state = 'pending') AS oldest_pending,
    max(c.delivered_at) AS last_delivered_at,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM c.delivered_at - c.created_at)) AS median_seconds
FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id
    LEFT JOIN insp.callback c ON c.endpoint_id = e.id
        AND (c.state <> 'delivered' OR c.delivered_at > now() - interval '1 hour')
GROUP BY e.id, p.name, e.enabled;
COMMENT ON VIEW insp.v_callbacks IS 'Callbacks by endpoint: all that are not delivered, and those delivered within the last hour';
COMMENT ON COLUMN insp.v_callbacks.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callbacks.partner IS 'Whose it is';
COMMENT ON COLUMN insp.v_callbacks.enabled IS 'Whether it is served; otherwise its callbacks are held';
COMMENT ON COLUMN insp.v_callbacks.pending IS 'To be delivered';
COMMENT ON COLUMN insp.v_callbacks.in_flight IS 'Being sent';
COMMENT ON COLUMN insp.v_callbacks.retrying IS 'Pending after a failed attempt';
COMMENT ON COLUMN insp.v_callbacks.held IS 'Waiting for the endpoint to be enabled';
COMMENT ON COLUMN insp.v_callbacks.dead IS 'Given up after the last attempt';
COMMENT ON COLUMN insp.v_callbacks.delivered IS 'Delivered within the last hour';
COMMENT ON COLUMN insp.v_callbacks.oldest_pending IS 'Age of the oldest pending one';
COMMENT ON COLUMN insp.v_callbacks.last_delivered_at IS 'Last success within the hour';
COMMENT ON COLUMN insp.v_callbacks.median_seconds IS 'Median seconds from the job''s end to delivery';

CREATE VIEW insp.v_partner AS
SELECT p.id, p.name, p.enabled, insp.lane_name(p.lane) AS lane, coalesce(g.name, 'any') AS region, p.id % 64 AS slot,
    (SELECT count(*) FROM insp.lease l JOIN insp.job j ON j.id = l.job_id WHERE j.partner_id = p.id) AS running,
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
COMMENT ON COLUMN insp.v_partner.slot IS 'Its share of every lane';
COMMENT ON COLUMN insp.v_partner.running IS 'Jobs being worked on';
COMMENT ON COLUMN insp.v_partner.given_up IS 'Given-up jobs that nobody has resolved';
COMMENT ON COLUMN insp.v_partner.endpoints IS 'Enabled callback endpoints';

CREATE VIEW insp.v_xmin_holders AS
SELECT 'session'::text AS kind, a.pid::text AS name, a.usename::text AS role, a.application_name AS application,
    greatest(age(a.backend_xmin), age(a.backend_xid)) AS xids_held, now() - a.xact_start AS since, a.state,
    format('SELECT pg_terminate_backend(%s)', a.pid) AS remedy
FROM pg_stat_activity a WHERE a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL
UNION ALL
SELECT 'prepared transaction', p.gid, p.owner::text, NULL, age(p.transaction), now() - p.prepared, NULL,
    format('ROLLBACK PREPARED %L', p.gid)
FROM pg_prepared_xacts p
UNION ALL
SELECT 'replication slot', s.slot_name::text, NULL, s.plugin::text, greatest(age(s.xmin), age(s.catalog_xmin)), NULL,
    CASE WHEN s.active THEN 'active' ELSE 'inactive' END, format('SELECT pg_drop_replication_slot(%L)', s.slot_name)
FROM pg_replication_slots s WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL;
COMMENT ON VIEW insp.v_xmin_holders IS 'What keeps VACUUM from removing dead rows; the queue slows down while it lasts';
COMMENT ON COLUMN insp.v_xmin_holders.kind IS 'session, prepared transaction or replication slot';
COMMENT ON COLUMN insp.v_xmin_holders.name IS 'Process id or name';
COMMENT ON COLUMN insp.v_xmin_holders.role IS 'Role';
COMMENT ON COLUMN insp.v_xmin_holders.application IS 'Application name, or the slot''s plugin';
COMMENT ON COLUMN insp.v_xmin_holders.xids_held IS 'Transactions since; the worst have the most';
COMMENT ON COLUMN insp.v_xmin_holders.since IS 'For how long';
COMMENT ON COLUMN insp.v_xmin_holders.state IS 'State of the session or slot';
COMMENT ON COLUMN insp.v_xmin_holders.remedy IS 'The statement that ends it, once you are sure';

GRANT SELECT ON insp.v_queue, insp.v_running, insp.v_workers, insp.v_stuck, insp.v_dead, insp.v_callbacks, insp.v_partner,
    insp.v_xmin_holders TO insp_operator, insp_auditor, insp_worker;
