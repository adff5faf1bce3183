-- The first question of every operator.

CREATE VIEW insp.v_waiting AS
SELECT coalesce(g.name, 'any') AS region, insp.lane_name(q.lane) AS lane, p.name AS partner, w.waiting,
    now() - (SELECT j.created_at FROM insp.job j WHERE j.id = w.first_job) AS oldest,
    CASE
        WHEN c.paused THEN 'the lane is paused' || coalesce(': ' || c.reason, '')
        WHEN p.paused THEN 'the partner is paused' || coalesce(': ' || p.pause_reason, '')
        WHEN fleet.workers = 0 THEN 'no live worker serves the lane and region'
        WHEN r.running >= p.max_running THEN format('the partner''s limit: %s running', r.running)
        WHEN p.rate_per_second IS NOT NULL AND EXISTS (
            SELECT FROM insp.partner_tokens t WHERE t.partner_id = p.id
                AND t.tokens + p.rate_per_second * extract(epoch FROM now() - t.at) < 1)
            THEN format('the partner''s limit: %s a second', p.rate_per_second)
        WHEN fleet.running >= fleet.slots THEN format('all %s slots of %s workers are busy', fleet.slots, fleet.workers)
        ELSE 'about to be claimed'
    END AS why
FROM insp.queue q JOIN insp.partner p ON p.id = q.partner_id JOIN insp.control c ON c.lane = q.lane
    LEFT JOIN insp.region g ON g.id = q.region LEFT JOIN insp.v_floor f ON f.queue = q.id
    CROSS JOIN LATERAL (
        SELECT count(*) AS waiting, min(y.job_id) AS first_job FROM (
            SELECT z.job_id FROM insp.ready z WHERE z.queue = q.id AND z.seq >= coalesce(f.seq, 0)
            ORDER BY z.seq LIMIT 10001) y) w
    CROSS JOIN LATERAL (
        SELECT count(*) AS workers, coalesce(sum(x.slots), 0) AS slots, coalesce(sum(
            (SELECT count(*) FROM insp.lease l WHERE l.worker_id = x.id AND l.fence >= x.fence_floor)), 0) AS running
        FROM insp.worker x
        WHERE x.heartbeat_at > now() - interval '15 s' AND NOT x.draining AND q.lane = ANY (x.lanes)
            AND (q.region = 0 OR x.region = q.region)) fleet
    CROSS JOIN LATERAL (
        SELECT CASE WHEN p.max_running IS NOT NULL THEN (
            SELECT count(*) FROM insp.lease l JOIN insp.queue k ON k.id = l.queue WHERE k.partner_id = p.id)
            END AS running) r
WHERE w.waiting > 0;
COMMENT ON VIEW insp.v_waiting IS 'Queues in which jobs wait, and why nobody works on them at this moment';
COMMENT ON COLUMN insp.v_waiting.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_waiting.lane IS 'Lane';
COMMENT ON COLUMN insp.v_waiting.partner IS 'Whose jobs';
COMMENT ON COLUMN insp.v_waiting.waiting IS 'Jobs ready to be claimed; counting stops at 10,001';
COMMENT ON COLUMN insp.v_waiting.oldest IS 'Age of the oldest among those counted';
COMMENT ON COLUMN insp.v_waiting.why IS 'The first thing that keeps them waiting';

GRANT SELECT ON insp.v_waiting TO insp_operator, insp_auditor, insp_worker;
