-- Queues, lanes, notifications of workers, and the operators' main views. Every view is cheap, even with ten million waiting
-- jobs.
-- After: metrics

CREATE OR REPLACE FUNCTION insp.lane_name(p_lane smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_lane WHEN 0 THEN 'urgent' WHEN 1 THEN 'normal' WHEN 2 THEN 'bulk' END
$$;
COMMENT ON FUNCTION insp.lane_name(smallint) IS 'Name of a lane';
GRANT EXECUTE ON FUNCTION insp.lane_name(smallint) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.lane_number(p_lane text) RETURNS smallint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_lane IS NULL OR p_lane NOT IN ('urgent', 'normal', 'bulk') THEN
        PERFORM insp.refuse('LANE_UNKNOWN', left(quote_nullable(p_lane), 40));
    END IF;
    RETURN CASE p_lane WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END;
END
$$;
COMMENT ON FUNCTION insp.lane_number(text) IS 'Number of a lane (urgent, normal, bulk); refuses other names';

CREATE OR REPLACE FUNCTION insp.queue_of(p_region smallint, p_lane smallint, p_partner integer) RETURNS integer
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
            -- Another transaction created it meanwhile.
            SELECT q.id INTO found_id FROM insp.queue q
            WHERE q.region = p_region AND q.lane = p_lane AND q.partner_id = p_partner;
        END IF;
    END LOOP;
    RETURN found_id;
END
$$;
COMMENT ON FUNCTION insp.queue_of(smallint, smallint, integer) IS 'The queue of a region, lane and partner; created if necessary';

-- Created with the partner: if the first enqueue created it, it would be invisible, and other producers would wait, until the commit.
CREATE OR REPLACE FUNCTION insp.make_queue() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.queue_of(coalesce(NEW.region, 0::smallint), NEW.lane, NEW.id);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.make_queue() IS 'Creates the default queue of a partner';
CREATE OR REPLACE TRIGGER make_queue AFTER INSERT OR UPDATE OF lane, region ON insp.partner
    FOR EACH ROW EXECUTE FUNCTION insp.make_queue();

CREATE OR REPLACE FUNCTION insp.wake(p_lane smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- A notification in every commit would serialise all commits (they share one lock), so a lane is notified at most once in
    -- 50 ms. Sequences, not a row: they are not subject to MVCC, so nobody waits and nothing bloats.
    tick constant bigint := floor(extract(epoch FROM clock_timestamp()) * 20);
    last bigint;
BEGIN
    -- PostgreSQL prepares no transaction that has notified anybody. A setting of its own session can cost a producer a poll.
    IF current_setting('insp.notify', true) = 'off' THEN
        RETURN;
    END IF;
    IF p_lane = 0 THEN
        SELECT last_value INTO last FROM insp.wake_urgent;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_urgent', tick);
    ELSIF p_lane = 1 THEN
        SELECT last_value INTO last FROM insp.wake_normal;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_normal', tick);
    ELSE
        SELECT last_value INTO last FROM insp.wake_bulk;
        IF last = tick THEN RETURN; END IF;
        PERFORM setval('insp.wake_bulk', tick);
    END IF;
    PERFORM pg_notify('insp_ready', p_lane::text);
END
$$;
COMMENT ON FUNCTION insp.wake(smallint) IS
    'Notifies workers of waiting jobs of a lane on channel insp_ready, at most once in 50 ms, unless insp.notify is off; only a hint, since workers also poll';

CREATE OR REPLACE FUNCTION insp.wake_all() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Not insp.wake: it may omit its notification if a producer sent one in the same 50 ms, before this commit.
    SELECT insp.notify('insp_ready', l::text) FROM generate_series(0, 2) l;
    SELECT insp.tell()
$$;
COMMENT ON FUNCTION insp.wake_all() IS 'Makes every worker poll every lane once this transaction has committed';

CREATE OR REPLACE FUNCTION insp.tell(p_worker bigint DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT insp.notify('insp_control', coalesce(p_worker::text, '*'))
$$;
COMMENT ON FUNCTION insp.tell(bigint) IS
    'Asks one worker or all, on channel insp_control, to poll at once, unless insp.notify is off; only a hint, since heartbeats and claims notice everything anyway';

CREATE OR REPLACE FUNCTION insp.notify(p_channel text, p_payload text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- PostgreSQL prepares no transaction that has notified anybody.
    IF current_setting('insp.notify', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify(p_channel, p_payload);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.notify(text, text) IS 'Notifies, unless insp.notify is off';

CREATE OR REPLACE VIEW insp.v_floor AS
SELECT u.queue, min(u.seq) AS seq
FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq)
GROUP BY u.queue;
COMMENT ON VIEW insp.v_floor IS 'Where the slowest worker''s scan of each queue begins; all rows below it were claimed';
COMMENT ON COLUMN insp.v_floor.queue IS 'The queue';
COMMENT ON COLUMN insp.v_floor.seq IS 'The floor';
GRANT SELECT ON insp.v_floor TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_queue AS
SELECT coalesce(g.name, 'any') AS region, insp.lane_name(c.lane) AS lane, c.paused,
    coalesce(w.jobs, 0) AS waiting, coalesce(w.is_estimate, false) AS is_estimate,
    now() - (SELECT j.created_at FROM insp.job j WHERE j.id = w.first_job) AS oldest,
    coalesce(d.jobs, 0) AS delayed, coalesce(l.jobs, 0) AS running, c.weight
FROM (SELECT 0::smallint AS id UNION ALL SELECT id FROM insp.region) r
    CROSS JOIN insp.control c
    LEFT JOIN insp.region g ON g.id = r.id
    LEFT JOIN (SELECT q.region, q.lane, sum(x.waiting)::bigint AS jobs, bool_or(x.is_estimate) AS is_estimate,
            min(x.head_job) AS first_job
        FROM insp.waiting_by_queue() x JOIN insp.queue q ON q.id = x.queue GROUP BY q.region, q.lane) w
        ON w.region = r.id AND w.lane = c.lane
    LEFT JOIN (SELECT q.region, q.lane, sum(x.delayed)::bigint AS jobs
        FROM insp.delayed_by_queue() x JOIN insp.queue q ON q.id = x.queue GROUP BY q.region, q.lane) d
        ON d.region = r.id AND d.lane = c.lane
    LEFT JOIN (SELECT q.region, q.lane, count(*) AS jobs
        FROM insp.lease x JOIN insp.queue q ON q.id = x.queue GROUP BY q.region, q.lane) l
        ON l.region = r.id AND l.lane = c.lane
WHERE r.id = 0 OR EXISTS (SELECT FROM insp.queue q WHERE q.region = r.id AND q.lane = c.lane);
COMMENT ON VIEW insp.v_queue IS 'Waiting and running jobs in each region and lane';
COMMENT ON COLUMN insp.v_queue.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_queue.lane IS 'Lane';
COMMENT ON COLUMN insp.v_queue.paused IS 'Whether claims are stopped (pause, resume)';
COMMENT ON COLUMN insp.v_queue.waiting IS 'Jobs ready to be claimed';
COMMENT ON COLUMN insp.v_queue.is_estimate IS 'Whether waiting is an estimate, as with more than 20,000 waiting jobs in total';
COMMENT ON COLUMN insp.v_queue.oldest IS 'Age of the oldest among the first of each queue';
COMMENT ON COLUMN insp.v_queue.delayed IS 'Jobs that wait for a time; an estimate if there are many';
COMMENT ON COLUMN insp.v_queue.running IS 'Jobs in work';
COMMENT ON COLUMN insp.v_queue.weight IS 'The lane''s share of claims while others wait too (control.weight)';
GRANT SELECT ON insp.v_queue TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_running AS
SELECT j.public_id AS id, p.name AS partner, j.workflow, greatest(j.status, 2::smallint) AS status, l.attempt, l.crashes,
    now() - l.claimed_at AS running_for, l.deadline, l.worker_id, w.host, w.process, l.fence, l.job_id
FROM insp.lease l JOIN insp.job j ON j.id = l.job_id JOIN insp.partner p ON p.id = j.partner_id
    LEFT JOIN insp.worker w ON w.id = l.worker_id;
COMMENT ON VIEW insp.v_running IS 'Jobs in work';
COMMENT ON COLUMN insp.v_running.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_running.partner IS 'The partner';
COMMENT ON COLUMN insp.v_running.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_running.status IS 'Furthest stored stage';
COMMENT ON COLUMN insp.v_running.attempt IS 'Number of the attempt';
COMMENT ON COLUMN insp.v_running.crashes IS 'Earlier attempts that crashed';
COMMENT ON COLUMN insp.v_running.running_for IS 'Time since it was claimed';
COMMENT ON COLUMN insp.v_running.deadline IS 'When it will be rescued';
COMMENT ON COLUMN insp.v_running.worker_id IS 'The worker (v_workers)';
COMMENT ON COLUMN insp.v_running.host IS 'The worker''s host';
COMMENT ON COLUMN insp.v_running.process IS 'The worker''s process id';
COMMENT ON COLUMN insp.v_running.fence IS 'Fence of the lease';
COMMENT ON COLUMN insp.v_running.job_id IS 'The job''s internal number';
GRANT SELECT ON insp.v_running TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_stuck AS
SELECT r.id, r.job_id, 'running'::text AS state, r.running_for AS since, format(
    'attempt %s at status %s on worker %s; taken back at the deadline', r.attempt, r.status, r.worker_id) AS what
FROM insp.v_running r WHERE r.running_for > interval '2 minutes'
UNION ALL
SELECT j.public_id, d.job_id, 'delayed', now() - d.run_at, 'due, but no worker with the maintain role promotes it'
FROM insp.delayed d JOIN insp.job j ON j.id = d.job_id WHERE d.run_at < now() - interval '1 minute'
UNION ALL
SELECT j.public_id, x.job_id, 'waiting', now() - j.created_at, format(
    'first of region %s, lane %s, partner %s: insp.v_waiting and insp.explain_job say why', coalesce(g.name, 'any'),
    insp.lane_name(q.lane), p.name)
FROM insp.queue q JOIN insp.partner p ON p.id = q.partner_id LEFT JOIN insp.region g ON g.id = q.region
    LEFT JOIN insp.v_floor f ON f.queue = q.id
    CROSS JOIN LATERAL (
        SELECT y.* FROM insp.ready y WHERE y.queue = q.id AND y.seq >= coalesce(f.seq, 0)
        ORDER BY y.queue, y.seq LIMIT 1) x
    JOIN insp.job j ON j.id = x.job_id AND j.status < 128
WHERE j.created_at < now() - interval '5 minutes';
COMMENT ON VIEW insp.v_stuck IS 'Jobs that make no progress: running for over 2 minutes, due for over 1, first in a queue for over 5';
COMMENT ON COLUMN insp.v_stuck.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_stuck.job_id IS 'Its internal number';
COMMENT ON COLUMN insp.v_stuck.state IS 'running, delayed or waiting';
COMMENT ON COLUMN insp.v_stuck.since IS 'For how long';
COMMENT ON COLUMN insp.v_stuck.what IS 'What to check';
GRANT SELECT ON insp.v_stuck TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.why_waiting(p_queues integer[])
RETURNS TABLE (queue integer, why text, remedy text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
    WITH worker AS MATERIALIZED (
        -- A job that fetches its parts or waits for a vendor has a lease but no slot; workers report how many have one. The report
        -- may be outdated.
        SELECT x.lanes, x.region, x.slots, l.running, least(x.busy, l.running) AS busy
        FROM insp.worker x CROSS JOIN LATERAL (
            SELECT count(*) AS running FROM insp.lease l WHERE l.worker_id = x.id AND l.fence >= x.fence_floor) l
        WHERE x.heartbeat_at > now() - interval '15 s' AND NOT x.draining
    ), fleet AS MATERIALIZED (
        SELECT k.region, k.lane, count(w.slots) AS workers, coalesce(sum(w.slots), 0) AS slots,
            coalesce(sum(w.running), 0) AS running, coalesce(sum(w.busy), 0) AS busy
        FROM (SELECT DISTINCT q.region, q.lane FROM insp.queue q WHERE q.id = ANY (p_queues)) k
            LEFT JOIN worker w ON k.lane = ANY (w.lanes) AND (k.region = 0 OR w.region = k.region)
        GROUP BY k.region, k.lane
    ), running AS MATERIALIZED (
        -- Read only if a partner has a limit.
        SELECT k.partner_id, count(*) AS jobs FROM insp.lease l JOIN insp.queue k ON k.id = l.queue GROUP BY k.partner_id
    )
    SELECT q.id, y.why, y.remedy
    FROM insp.queue q JOIN insp.partner p ON p.id = q.partner_id JOIN insp.control c ON c.lane = q.lane
        JOIN fleet ON fleet.region = q.region AND fleet.lane = q.lane
        LEFT JOIN insp.region g ON g.id = q.region
        CROSS JOIN LATERAL (
            SELECT CASE WHEN p.max_running IS NOT NULL
                THEN coalesce((SELECT x.jobs FROM running x WHERE x.partner_id = p.id), 0) END AS running) r
        CROSS JOIN LATERAL (
            SELECT v.why, v.remedy FROM (VALUES
                (1, c.paused, 'the lane is paused' || coalesce(': ' || c.reason, ''),
                    format('SELECT insp.resume(lane => %L)', insp.lane_name(q.lane))),
                (2, p.paused, 'the partner is paused' || coalesce(': ' || p.pause_reason, ''),
                    format('SELECT insp.resume(partner => %L)', p.name)),
                (3, fleet.workers = 0, 'no live worker serves the lane and region',
                    format('start a worker that serves region %s and lane %s', coalesce(g.name, 'any'), insp.lane_name(q.lane))),
                (4, r.running >= p.max_running, format('the partner''s limit: %s running', r.running),
                    'wait, or change the partner''s limits: insp.limit_partner'),
                (5, p.rate_per_second IS NOT NULL AND EXISTS (
                    SELECT FROM insp.partner_tokens t WHERE t.partner_id = p.id
                        AND t.tokens + p.rate_per_second * extract(epoch FROM now() - t.at) < 1),
                    format('the partner''s limit: %s a second', p.rate_per_second),
                    'wait, or change the partner''s limits: insp.limit_partner'),
                (6, fleet.busy >= fleet.slots, format('all slots are busy: %s of %s',
                    CASE fleet.slots WHEN 1 THEN '1 slot' ELSE fleet.slots || ' slots' END,
                    CASE fleet.workers WHEN 1 THEN '1 worker' ELSE fleet.workers || ' workers' END),
                    'wait, or start more workers'),
                (7, fleet.running >= fleet.slots, format(
                    'about to be claimed, unless the partner has its share of the jobs that wait for other servers (%s); busy slots: %s of %s',
                    fleet.running - fleet.busy, fleet.busy, fleet.slots), 'wait'),
                (8, true, 'about to be claimed', 'wait')) AS v (place, holds, why, remedy)
            WHERE v.holds ORDER BY v.place LIMIT 1) y
    WHERE q.id = ANY (p_queues)
$$;
COMMENT ON FUNCTION insp.why_waiting(integer[]) IS
    'The first reason why the jobs of each given queue wait, and the remedy; does not count waiting jobs';
GRANT EXECUTE ON FUNCTION insp.why_waiting(integer[]) TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_waiting AS
SELECT coalesce(g.name, 'any') AS region, insp.lane_name(q.lane) AS lane, p.name AS partner, w.waiting,
    now() - (SELECT j.created_at FROM insp.job j WHERE j.id = w.head_job) AS oldest, y.why, y.remedy
FROM insp.waiting_by_queue() w JOIN insp.queue q ON q.id = w.queue JOIN insp.partner p ON p.id = q.partner_id
    LEFT JOIN insp.region g ON g.id = q.region
    JOIN insp.why_waiting(ARRAY(SELECT x.id FROM insp.queue x)) y ON y.queue = q.id;
COMMENT ON VIEW insp.v_waiting IS 'Queues with waiting jobs, and why no worker takes them at present';
COMMENT ON COLUMN insp.v_waiting.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_waiting.lane IS 'Lane';
COMMENT ON COLUMN insp.v_waiting.partner IS 'The partner';
COMMENT ON COLUMN insp.v_waiting.waiting IS 'Jobs ready to be claimed; an estimate if there are many';
COMMENT ON COLUMN insp.v_waiting.oldest IS 'Age of the first of them';
COMMENT ON COLUMN insp.v_waiting.why IS 'The first reason why they wait';
COMMENT ON COLUMN insp.v_waiting.remedy IS 'What can be done about it';
GRANT SELECT ON insp.v_waiting TO insp_operator, insp_auditor;
