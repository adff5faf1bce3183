-- Measurements: depth and age for the metrics, and one snapshot for `inspectd top`. Every worker and every open `top` calls them
-- every few seconds, so the cost must depend neither on the backlog nor on history: counts stop at a limit or are estimated from a
-- sample of pages, and recent events are read from the ends of append-only tables.

CREATE OR REPLACE FUNCTION insp.waiting_by_queue(p_exact integer DEFAULT 20000)
RETURNS TABLE (queue integer, waiting bigint, is_estimate boolean, head_seq bigint, head_job bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    -- The most pages that are read. A table of up to that size is counted in full; of a larger one, this many are drawn at random.
    most constant double precision := 512;
    share constant double precision := least(1, most / greatest(1,
        pg_relation_size('insp.ready') / current_setting('block_size')::integer));
BEGIN
    PERFORM insp.require(p_exact BETWEEN 0 AND 1000000, 'p_exact', 'p_exact is 0 to 1000000.');
    RETURN QUERY
    WITH floors AS MATERIALIZED (
        -- Rows below the floors were claimed; their dead entries remain while any old transaction runs.
        SELECT f.queue, f.seq FROM insp.v_floor f
    ), head AS MATERIALIZED (
        SELECT q.id AS queue, h.seq, h.job_id FROM insp.queue q LEFT JOIN floors f ON f.queue = q.id CROSS JOIN LATERAL (
            SELECT x.seq, x.job_id FROM insp.ready x WHERE x.queue = q.id AND x.seq >= coalesce(f.seq, 0)
            ORDER BY x.seq LIMIT 1) h
    ), counted AS MATERIALIZED (
        -- A large table may be nearly empty, and a sample would find nothing: few rows are counted exactly.
        SELECT c.queue FROM head h CROSS JOIN LATERAL (
            SELECT x.queue FROM insp.ready x WHERE x.queue = h.queue AND x.seq >= h.seq
            ORDER BY x.seq LIMIT p_exact + 1) c
        WHERE share < 1 LIMIT p_exact + 1
    ), total AS MATERIALIZED (
        SELECT count(*) AS rows FROM counted
    ), sampled AS MATERIALIZED (
        SELECT x.queue, count(*) AS rows FROM insp.ready x TABLESAMPLE SYSTEM (share * 100)
        WHERE share = 1 OR (SELECT t.rows FROM total t) > p_exact GROUP BY x.queue
    ), exact AS MATERIALIZED (
        SELECT c.queue, count(*) AS rows FROM counted c
        WHERE (SELECT t.rows FROM total t) <= p_exact GROUP BY c.queue
    )
    -- The sample may miss a small queue, but its head was read.
    SELECT h.queue, coalesce(e.rows, greatest(1, round(s.rows / share))::bigint, 1), e.rows IS NULL AND share < 1,
        h.seq, h.job_id
    FROM head h LEFT JOIN exact e ON e.queue = h.queue LEFT JOIN sampled s ON s.queue = h.queue;
END
$$;
COMMENT ON FUNCTION insp.waiting_by_queue(integer) IS
    'Waiting jobs of each nonempty queue, with the first of them. Exact while the table is small or few jobs wait; beyond p_exact in total estimated from a sample of 512 pages, with is_estimate set';
GRANT EXECUTE ON FUNCTION insp.waiting_by_queue(integer) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.delayed_by_queue()
RETURNS TABLE (queue integer, last_error text, delayed bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    most constant double precision := 512;
    share constant double precision := least(1, most / greatest(1,
        pg_relation_size('insp.delayed') / current_setting('block_size')::integer));
BEGIN
    RETURN QUERY
    SELECT d.queue, d.last_error, round(count(*) / share)::bigint
    FROM insp.delayed d TABLESAMPLE SYSTEM (share * 100) GROUP BY d.queue, d.last_error;
END
$$;
COMMENT ON FUNCTION insp.delayed_by_queue() IS
    'Jobs that wait for a time, by queue and code of the last failure (null: scheduled); estimated from 512 pages if the table is large';
GRANT EXECUTE ON FUNCTION insp.delayed_by_queue() TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.pending_callbacks(
    OUT pending bigint, OUT retrying bigint, OUT oldest_seconds double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    -- A test endpoint that is down is its partner's business.
    WITH tests AS MATERIALIZED (
        SELECT ARRAY(SELECT e.id FROM insp.partner p JOIN insp.endpoint e ON e.partner_id = p.id WHERE p.test_of IS NOT NULL) AS ids
    )
    SELECT least(count(*), 10000), count(*) FILTER (WHERE k.attempts > 0),
        extract(epoch FROM clock_timestamp() - (SELECT c.created_at FROM insp.callback c WHERE c.id = min(k.callback_id)))::double precision,
        count(*) > 10000,
        (SELECT count(*) FROM (SELECT FROM insp.callback_waiting x
            WHERE x.state = 'dead' AND x.endpoint_id <> ALL ((SELECT t.ids FROM tests t)::bigint[]) LIMIT 10000) x),
        (SELECT count(*) FROM (SELECT FROM insp.callback_waiting x
            WHERE x.state = 'held' AND x.endpoint_id <> ALL ((SELECT t.ids FROM tests t)::bigint[]) LIMIT 10000) x)
    FROM (
        (SELECT x.callback_id, x.attempts FROM insp.callback_waiting x
            WHERE x.state = 'pending' AND x.endpoint_id <> ALL ((SELECT t.ids FROM tests t)::bigint[]) LIMIT 10001)
        UNION ALL
        SELECT l.callback_id, l.attempts FROM insp.callback_lease l
        WHERE l.endpoint_id <> ALL ((SELECT t.ids FROM tests t)::bigint[])
        LIMIT 10001) k
$$;
COMMENT ON FUNCTION insp.pending_callbacks() IS
    'Callbacks to be delivered, those of tests apart, how many of them after a failed attempt, the age of the oldest, and how many are dead-lettered and held; counting stops at 10,000';
GRANT EXECUTE ON FUNCTION insp.pending_callbacks() TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.depth() RETURNS TABLE (measure text, lane text, value double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT q.lane, sum(w.waiting) AS jobs, (array_agg(w.head_job ORDER BY w.head_seq))[1] AS first_job
        FROM insp.waiting_by_queue() w JOIN insp.queue q ON q.id = w.queue GROUP BY q.lane
    ), delayed AS MATERIALIZED (
        SELECT q.lane, sum(d.delayed) AS jobs
        FROM insp.delayed_by_queue() d JOIN insp.queue q ON q.id = d.queue GROUP BY q.lane
    ), running AS MATERIALIZED (
        SELECT q.lane, count(*) AS jobs FROM insp.lease l JOIN insp.queue q ON q.id = l.queue GROUP BY q.lane
    )
    SELECT m.measure, insp.lane_name(c.lane), m.value
    FROM insp.control c LEFT JOIN waiting w ON w.lane = c.lane LEFT JOIN delayed d ON d.lane = c.lane
        LEFT JOIN running r ON r.lane = c.lane
        CROSS JOIN LATERAL (VALUES
            ('waiting', coalesce(w.jobs, 0)::double precision),
            ('oldest_seconds', coalesce(extract(epoch FROM clock_timestamp()
                - (SELECT j.created_at FROM insp.job j WHERE j.id = w.first_job)), 0)::double precision),
            ('running', coalesce(r.jobs, 0)::double precision),
            ('delayed', coalesce(d.jobs, 0)::double precision),
            ('paused', c.paused::integer::double precision)) AS m (measure, value);
    RETURN QUERY
    SELECT 'workers', NULL, count(*)::double precision FROM insp.worker w
    WHERE w.heartbeat_at > clock_timestamp() - interval '15 s';
    RETURN QUERY
    SELECT m.measure, NULL, m.value FROM insp.pending_callbacks() c CROSS JOIN LATERAL (VALUES
        ('callbacks_pending', c.pending::double precision), ('callbacks_oldest_seconds', coalesce(c.oldest_seconds, 0))) AS m (measure, value);
    RETURN QUERY
    SELECT 'keys_gone', NULL, count(*)::double precision FROM (
        SELECT FROM ((SELECT g.since FROM insp.key_gone g LIMIT 10000) UNION ALL (SELECT p.since FROM insp.person_gone p WHERE NOT p.keeps_jobs LIMIT 10000)) x
        LIMIT 10000) g
    UNION ALL
    SELECT 'keys_gone_oldest_seconds', NULL, coalesce(greatest(0, extract(epoch FROM clock_timestamp()
        - least((SELECT g.since FROM insp.key_gone g ORDER BY g.since LIMIT 1),
            (SELECT p.since FROM insp.person_gone p WHERE NOT p.keeps_jobs ORDER BY p.since LIMIT 1)))), 0)::double precision
    UNION ALL
    SELECT 'events_unnumbered_oldest_seconds', NULL, insp.oldest_unnumbered_seconds()
    UNION ALL
    SELECT 'objects_gone', NULL, count(*)::double precision FROM (SELECT FROM insp.object_gone g LIMIT 10000) g
    UNION ALL
    SELECT 'objects_gone_oldest_seconds', NULL, coalesce(greatest(0, extract(epoch FROM clock_timestamp()
        - (SELECT g.since FROM insp.object_gone g ORDER BY g.since LIMIT 1))), 0)::double precision;
END
$$;
COMMENT ON FUNCTION insp.depth() IS
    'How many jobs wait, for how long, and how many run: measures waiting, oldest_seconds (since the first waiting job was accepted), running, delayed and paused for each lane; workers, callbacks_pending (at most 10,000), callbacks_oldest_seconds, events_unnumbered_oldest_seconds (since the first event that cannot be pulled yet was written), keys_gone (at most 10,000: keys still to be destroyed), keys_gone_oldest_seconds, objects_gone (likewise of the object store) and objects_gone_oldest_seconds for all. Cheap whatever the backlog';
GRANT EXECUTE ON FUNCTION insp.depth() TO insp_worker, insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.recently_finished(p_within interval DEFAULT '5 minutes', p_pages integer DEFAULT 32)
RETURNS TABLE (job_id bigint, at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    part record;
BEGIN
    -- Events are only appended, so the newest are at the end of a partition. Jobs of one time have similar ids; a backlog and late
    -- retries spread them over a few partitions.
    FOR part IN
        SELECT i.inhrelid::regclass AS name, pg_relation_size(i.inhrelid) / current_setting('block_size')::integer AS pages
        FROM pg_inherits i WHERE i.inhparent = 'insp.event'::regclass AND pg_relation_size(i.inhrelid) > 0
        ORDER BY i.inhrelid DESC LIMIT 8
    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT e.job_id, e.at FROM %s e WHERE e.ctid >= %L::tid AND e.kind = %L AND clock_timestamp() - e.at < $1',
            part.name, format('(%s,0)', greatest(0, part.pages - p_pages)), 'finished') USING p_within;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.recently_finished(interval, integer) IS
    'Jobs that reached 128 recently, read from the last p_pages pages of each partition of insp.event: some 80 jobs a page';
GRANT EXECUTE ON FUNCTION insp.recently_finished(interval, integer) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.recent_attempts(p_within interval DEFAULT '5 minutes', p_limit integer DEFAULT 4000)
RETURNS TABLE (at timestamptz, duration_ms integer, delivered boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    -- By callback and not by page: rows that retention removes leave free space in the middle of the table.
    SELECT a.started_at, a.duration_ms, a.error IS NULL FROM (
        SELECT * FROM insp.callback_attempt x ORDER BY x.callback_id DESC, x.attempt DESC LIMIT greatest(p_limit, 0)) a
    WHERE clock_timestamp() - a.started_at < p_within
$$;
COMMENT ON FUNCTION insp.recent_attempts(interval, integer) IS
    'Recent attempts to deliver callbacks, read from the last p_limit attempts of the newest callbacks';
GRANT EXECUTE ON FUNCTION insp.recent_attempts(interval, integer) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.snapshot(p_rate interval DEFAULT '10 s') RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    document jsonb;
    depths jsonb;
    moment constant timestamptz := clock_timestamp();
BEGIN
    WITH waiting AS MATERIALIZED (
        SELECT * FROM insp.waiting_by_queue()
    ), delayed AS MATERIALIZED (
        SELECT d.queue, sum(d.delayed) AS jobs FROM insp.delayed_by_queue() d GROUP BY d.queue
    ), running AS MATERIALIZED (
        SELECT l.queue, count(*) AS jobs FROM insp.lease l GROUP BY l.queue
    ), each AS MATERIALIZED (
        SELECT q.region, q.lane, q.partner_id, coalesce(w.waiting, 0) AS waiting, coalesce(w.is_estimate, false) AS is_estimate,
            w.head_seq, w.head_job, coalesce(d.jobs, 0) AS delayed, coalesce(r.jobs, 0) AS running
        FROM insp.queue q LEFT JOIN waiting w ON w.queue = q.id LEFT JOIN delayed d ON d.queue = q.id
            LEFT JOIN running r ON r.queue = q.id
        WHERE w.queue IS NOT NULL OR d.queue IS NOT NULL OR r.queue IS NOT NULL
    ), lanes AS (
        SELECT r.id AS region, c.lane, c.paused, coalesce(sum(e.waiting), 0) AS waiting,
            coalesce(bool_or(e.is_estimate), false) AS is_estimate,
            (array_agg(e.head_job ORDER BY e.head_seq) FILTER (WHERE e.head_job IS NOT NULL))[1] AS first_job,
            coalesce(sum(e.delayed), 0) AS delayed, coalesce(sum(e.running), 0) AS running
        FROM (SELECT 0::smallint AS id UNION ALL SELECT g.id FROM insp.region g) r CROSS JOIN insp.control c
            LEFT JOIN each e ON e.region = r.id AND e.lane = c.lane
        GROUP BY r.id, c.lane, c.paused
        HAVING r.id = 0 OR count(e.partner_id) > 0
    ), partners AS (
        SELECT e.partner_id, sum(e.waiting) AS waiting, bool_or(e.is_estimate) AS is_estimate,
            (array_agg(e.head_job ORDER BY e.head_seq) FILTER (WHERE e.head_job IS NOT NULL))[1] AS first_job,
            sum(e.delayed) AS delayed, sum(e.running) AS running
        FROM each e GROUP BY e.partner_id
    ), shown AS (
        -- Those with the most work, and those that were paused.
        SELECT p.name, p.paused, coalesce(s.waiting, 0) AS waiting, coalesce(s.is_estimate, false) AS is_estimate, s.first_job,
            coalesce(s.delayed, 0) AS delayed, coalesce(s.running, 0) AS running
        FROM insp.partner p LEFT JOIN partners s ON s.partner_id = p.id WHERE s.partner_id IS NOT NULL OR p.paused
        ORDER BY coalesce(s.waiting, 0) + coalesce(s.running, 0) DESC, p.name LIMIT 200
    )
    SELECT jsonb_build_object(
        'lanes', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'region', coalesce(g.name, 'any'), 'lane', insp.lane_name(l.lane), 'paused', l.paused, 'waiting', l.waiting,
                'isEstimate', l.is_estimate, 'oldestSeconds', extract(epoch FROM moment - j.created_at), 'delayed', l.delayed,
                'running', l.running) ORDER BY l.region, l.lane), '[]')
            FROM lanes l LEFT JOIN insp.region g ON g.id = l.region LEFT JOIN insp.job j ON j.id = l.first_job),
        'partners', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'name', s.name, 'paused', s.paused, 'waiting', s.waiting, 'isEstimate', s.is_estimate,
                'oldestSeconds', extract(epoch FROM moment - j.created_at), 'delayed', s.delayed, 'running', s.running)
                ORDER BY s.waiting + s.running DESC, s.name), '[]')
            FROM shown s LEFT JOIN insp.job j ON j.id = s.first_job))
    INTO depths;

    SELECT jsonb_build_object(
        'atSeconds', extract(epoch FROM moment), 'database', current_database(),
        'accepted', (SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM insp.job_id s),
        'workers', (SELECT coalesce(jsonb_agg(to_jsonb(w)), '[]') FROM (
            SELECT w.id, w.host, w.process, w.version, coalesce(g.name, '') AS region, w.slots, w.busy,
                extract(epoch FROM moment - w.started_at) AS "upSeconds", extract(epoch FROM moment - w.heartbeat_at) AS "silentSeconds",
                CASE WHEN moment - w.heartbeat_at > interval '15 s' THEN 'dead'
                    WHEN moment - w.heartbeat_at > interval '10 s' THEN 'silent'
                    WHEN w.draining THEN 'draining' ELSE 'live' END AS state
            FROM insp.worker w LEFT JOIN insp.region g ON g.id = w.region ORDER BY w.id LIMIT 500) w),
        'running', (SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM (
            SELECT j.public_id AS job, p.name AS partner, j.workflow,
                greatest(j.status, 2::smallint) AS status, l.attempt, extract(epoch FROM moment - l.claimed_at) AS seconds,
                l.worker_id AS worker
            FROM (SELECT * FROM insp.lease x ORDER BY x.claimed_at LIMIT 500) l
                JOIN insp.job j ON j.id = l.job_id JOIN insp.partner p ON p.id = j.partner_id
            ORDER BY l.claimed_at) r),
        'errors', (SELECT coalesce(jsonb_agg(to_jsonb(e) ORDER BY e."deadLettered" DESC, e.retrying DESC, e.code, e.partner), '[]') FROM (
            SELECT u.code, p.name AS partner, sum(u.dead_lettered) AS "deadLettered", sum(u.retrying) AS retrying FROM (
                SELECT d.code, j.partner_id, 1 AS dead_lettered, 0 AS retrying FROM (
                    SELECT x.job_id, x.code FROM insp.dead x WHERE x.died_at > moment - interval '1 hour'
                    ORDER BY x.died_at DESC LIMIT 10000) d JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id])
                UNION ALL
                SELECT d.last_error, q.partner_id, 0, d.delayed
                FROM insp.delayed_by_queue() d JOIN insp.queue q ON q.id = d.queue WHERE d.last_error IS NOT NULL) u
                JOIN insp.partner p ON p.id = u.partner_id
            GROUP BY u.code, p.name ORDER BY 3 DESC, 4 DESC LIMIT 200) e),
        'finished', (SELECT jsonb_build_object(
                -- A job that ended without a claim neither waited for one nor ran.
                'count', count(j.started_at), 'perSecond', count(*) FILTER (WHERE moment - f.at < p_rate) / greatest(0.001,
                    -- A tail that does not reach back that far covers less time.
                    least(extract(epoch FROM p_rate), CASE WHEN count(*) > 1000 THEN extract(epoch FROM moment - min(f.at))
                        ELSE extract(epoch FROM p_rate) END)),
                'waitMedianSeconds', percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.started_at - j.created_at)),
                'wait95Seconds', percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.started_at - j.created_at)),
                'runMedianSeconds', percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at)),
                'run95Seconds', percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at)))
            FROM insp.recently_finished() f JOIN insp.job j ON j.id = f.job_id),
        'callbacks', (SELECT jsonb_build_object(
                'pending', c.pending, 'isMore', c.is_more, 'retrying', c.retrying, 'oldestSeconds', c.oldest_seconds,
                'dead', c.dead, 'held', c.held,
                'deliveredPerSecond', a.delivered / a.span_seconds, 'failedPerSecond', a.failed / a.span_seconds,
                'medianSeconds', a.median_seconds, 'p95Seconds', a.p95_seconds)
            FROM insp.pending_callbacks() c CROSS JOIN (
                SELECT count(*) FILTER (WHERE r.delivered AND moment - r.at < p_rate) AS delivered,
                    count(*) FILTER (WHERE NOT r.delivered AND moment - r.at < p_rate) AS failed,
                    greatest(0.001, least(extract(epoch FROM p_rate), CASE WHEN count(*) > 1000
                        THEN extract(epoch FROM moment - min(r.at)) ELSE extract(epoch FROM p_rate) END)) AS span_seconds,
                    percentile_cont(0.5) WITHIN GROUP (ORDER BY r.duration_ms / 1000.0) AS median_seconds,
                    percentile_cont(0.95) WITHIN GROUP (ORDER BY r.duration_ms / 1000.0) AS p95_seconds
                FROM insp.recent_attempts() r) a))
    INTO document;
    RETURN document || depths;
END
$$;
COMMENT ON FUNCTION insp.snapshot(interval) IS
    'The data of inspectd top, as one document: lanes, the busiest partners, workers and their jobs, recently finished jobs, errors of the last hour, callbacks. Rates are over p_rate; the cost does not depend on the backlog';
GRANT EXECUTE ON FUNCTION insp.snapshot(interval) TO insp_worker, insp_operator, insp_auditor;
