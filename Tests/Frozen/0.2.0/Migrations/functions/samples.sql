-- Samples of the queue each minute, for plots. Counts are those of metrics.sql: they stop at a limit or are estimated.

CREATE OR REPLACE FUNCTION insp.finished_by_partner(p_within interval DEFAULT '1 minute', p_pages integer DEFAULT 64)
RETURNS TABLE (partner_id integer, region smallint, lane smallint, finished bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    since constant timestamptz := clock_timestamp() - p_within;
    part record;
    partners integer[];
    regions smallint[];
    lanes smallint[];
    counts bigint[];
    first bigint;
    older bigint;
    middle bigint;
    is_recent boolean;
BEGIN
    -- As in insp.recently_finished: events are only appended, in the order of time.
    FOR part IN
        SELECT i.inhrelid::regclass AS name, pg_relation_size(i.inhrelid) / current_setting('block_size')::integer AS pages
        FROM pg_inherits i WHERE i.inhparent = 'insp.event'::regclass AND pg_relation_size(i.inhrelid) > 0
        ORDER BY i.inhrelid DESC LIMIT 8
    LOOP
        -- The first page of that time; each step reads one page.
        older := -1;
        first := part.pages;
        WHILE first - older > 1 LOOP
            middle := (first + older) / 2;
            EXECUTE format('SELECT max(e.at) > $1 FROM %s e WHERE e.ctid >= %L::tid AND e.ctid < %L::tid', part.name,
                format('(%s,0)', middle), format('(%s,0)', middle + 1)) INTO is_recent USING since;
            IF is_recent THEN
                first := middle;
            ELSE
                older := middle;
            END IF;
        END LOOP;
        -- If there are more pages, the last ones represent all.
        EXECUTE format(
            'SELECT array_agg(g.partner_id), array_agg(g.region), array_agg(g.lane), array_agg(g.jobs) FROM (
                SELECT j.partner_id, j.region, j.lane, count(*) AS jobs FROM %s e JOIN insp.job j ON j.id = ANY (ARRAY[e.job_id])
                WHERE e.ctid >= %L::tid AND e.kind = %L AND e.at > $1 GROUP BY j.partner_id, j.region, j.lane) g', part.name,
            format('(%s,0)', greatest(first, part.pages - p_pages)), 'finished') INTO partners, regions, lanes, counts USING since;
        RETURN QUERY SELECT u.partner_id, u.region, u.lane, round(u.jobs * greatest(1, (part.pages - first)::numeric / p_pages))::bigint
        FROM unnest(partners, regions, lanes, counts) AS u (partner_id, region, lane, jobs);
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.finished_by_partner(interval, integer) IS
    'Jobs that reached 128 in the last p_within, by partition of insp.event, partner, region and lane; counted in p_pages pages of each partition (some 80 jobs a page), and extrapolated by the number of pages if there are more';

CREATE OR REPLACE FUNCTION insp.finished_by_queue(p_within interval DEFAULT '1 minute', p_pages integer DEFAULT 64)
RETURNS TABLE (region smallint, lane smallint, finished bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT f.region, f.lane, sum(f.finished)::bigint FROM insp.finished_by_partner(p_within, p_pages) f GROUP BY f.region, f.lane
$$;
COMMENT ON FUNCTION insp.finished_by_queue(interval, integer) IS 'insp.finished_by_partner by region and lane';

CREATE OR REPLACE FUNCTION insp.sample_partners(p_most integer DEFAULT 200, p_minute timestamptz DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    taken integer;
    active integer;
    -- That of the queue's sample, which says of which minutes there is one.
    minute constant timestamptz := coalesce(p_minute, date_trunc('minute', clock_timestamp()));
BEGIN
    DELETE FROM insp.partner_sample s WHERE s.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.partner_sample x WHERE x.at < clock_timestamp() - least(interval '7 days',
            (SELECT r.keep FROM insp.retention r WHERE r.what = 'samples')) LIMIT 10 * p_most));
    WITH counts AS (
        SELECT q.partner_id, w.waiting, w.head_seq, w.head_job, NULL::bigint AS running, NULL::bigint AS finished,
            NULL::bigint AS failed, NULL::bigint AS delivered, NULL::bigint AS undelivered
        FROM insp.waiting_by_queue() w JOIN insp.queue q ON q.id = w.queue
        UNION ALL
        SELECT q.partner_id, NULL, NULL, NULL, l.jobs, NULL, NULL, NULL, NULL
        FROM (SELECT x.queue, count(*) AS jobs FROM insp.lease x GROUP BY x.queue) l JOIN insp.queue q ON q.id = l.queue
        UNION ALL
        SELECT f.partner_id, NULL, NULL, NULL, NULL, f.finished, NULL, NULL, NULL FROM insp.finished_by_partner() f
        UNION ALL
        SELECT j.partner_id, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL
        FROM (SELECT x.job_id FROM insp.dead x WHERE x.died_at > clock_timestamp() - interval '1 minute'
            ORDER BY x.died_at DESC LIMIT 10000) d JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id])
        UNION ALL
        SELECT e.partner_id, NULL, NULL, NULL, NULL, NULL, NULL, a.delivered, a.undelivered
        FROM (SELECT c.endpoint_id, count(*) FILTER (WHERE t.error IS NULL) AS delivered,
                count(*) FILTER (WHERE t.error IS NOT NULL) AS undelivered
            FROM (SELECT * FROM insp.callback_attempt x ORDER BY x.callback_id DESC, x.attempt DESC LIMIT 4000) t
                JOIN insp.callback c ON c.id = ANY (ARRAY[t.callback_id])
            WHERE t.started_at > clock_timestamp() - interval '1 minute' GROUP BY c.endpoint_id) a
            JOIN insp.endpoint e ON e.id = a.endpoint_id
    ), sums AS MATERIALIZED (
        SELECT c.partner_id, coalesce(sum(c.waiting), 0) AS waiting,
            (array_agg(c.head_job ORDER BY c.head_seq) FILTER (WHERE c.head_job IS NOT NULL))[1] AS head_job,
            coalesce(sum(c.running), 0) AS running, coalesce(sum(c.finished), 0) AS finished, coalesce(sum(c.failed), 0) AS failed,
            coalesce(sum(c.delivered), 0) AS delivered, coalesce(sum(c.undelivered), 0) AS undelivered
        FROM counts c GROUP BY c.partner_id
    ), stored AS (
        INSERT INTO insp.partner_sample (partner_id, at, waiting, oldest_seconds, running, finished, failed, delivered, undelivered)
        SELECT s.partner_id, minute, s.waiting,
            coalesce(extract(epoch FROM clock_timestamp() - (SELECT j.created_at FROM insp.job j WHERE j.id = s.head_job)), 0)::integer,
            s.running, s.finished, s.failed, s.delivered, s.undelivered
        FROM sums s ORDER BY s.waiting + s.running + s.finished DESC, s.partner_id LIMIT p_most
        ON CONFLICT DO NOTHING RETURNING partner_id
    )
    SELECT (SELECT count(*) FROM stored), (SELECT count(*) FROM sums) INTO taken, active;
    IF active > p_most THEN
        UPDATE insp.queue_sample q SET partners_cut = true WHERE q.at = minute;
    END IF;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION insp.sample_partners(integer, timestamptz) IS
    'Stores a sample of each of the p_most partners with the most work (p_minute: of this minute), notes in the queue''s sample whether others had work too, and removes expired samples; a part of insp.sample_queue';

CREATE OR REPLACE FUNCTION insp.sample_queue() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    taken integer;
    minute constant timestamptz := date_trunc('minute', clock_timestamp());
BEGIN
    -- From the oldest on, and more than one for each new one, so that a shortened period takes effect as well.
    DELETE FROM insp.queue_sample s WHERE s.at = ANY (ARRAY(
        SELECT x.at FROM insp.queue_sample x
        WHERE x.at < clock_timestamp() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'samples') ORDER BY x.at LIMIT 1000));
    -- Called every few seconds, so that no minute is missed.
    IF EXISTS (SELECT FROM insp.queue_sample s WHERE s.at = minute) THEN
        RETURN 0;
    END IF;
    INSERT INTO insp.queue_sample (at, regions, lanes, waiting, oldest_seconds, running, delayed, finished, failed, callbacks,
        callbacks_oldest_seconds, workers)
    WITH counts AS (
        SELECT q.region, q.lane, w.waiting, w.head_seq, w.head_job, NULL::bigint AS running, NULL::bigint AS delayed,
            NULL::bigint AS finished, NULL::bigint AS failed
        FROM insp.waiting_by_queue() w JOIN insp.queue q ON q.id = w.queue
        UNION ALL
        SELECT q.region, q.lane, NULL, NULL, NULL, l.jobs, NULL, NULL, NULL
        FROM (SELECT x.queue, count(*) AS jobs FROM insp.lease x GROUP BY x.queue) l JOIN insp.queue q ON q.id = l.queue
        UNION ALL
        SELECT q.region, q.lane, NULL, NULL, NULL, NULL, d.delayed, NULL, NULL
        FROM insp.delayed_by_queue() d JOIN insp.queue q ON q.id = d.queue
        UNION ALL
        SELECT f.region, f.lane, NULL, NULL, NULL, NULL, NULL, f.finished, NULL FROM insp.finished_by_queue() f
        UNION ALL
        SELECT j.region, j.lane, NULL, NULL, NULL, NULL, NULL, NULL, 1
        FROM (SELECT x.job_id FROM insp.dead x WHERE x.died_at > clock_timestamp() - interval '1 minute'
            ORDER BY x.died_at DESC LIMIT 10000) d JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id])
    ), places AS (
        SELECT c.region, c.lane, sum(c.waiting) AS waiting, sum(c.running) AS running, sum(c.delayed) AS delayed,
            sum(c.finished) AS finished, sum(c.failed) AS failed,
            (array_agg(c.head_job ORDER BY c.head_seq) FILTER (WHERE c.head_job IS NOT NULL))[1] AS first_job
        FROM counts c GROUP BY c.region, c.lane
    ), lists AS (
        SELECT array_agg(p.region ORDER BY p.region, p.lane) AS regions, array_agg(p.lane ORDER BY p.region, p.lane) AS lanes,
            array_agg(coalesce(p.waiting, 0)::integer ORDER BY p.region, p.lane) AS waiting,
            array_agg(coalesce(extract(epoch FROM clock_timestamp()
                - (SELECT j.created_at FROM insp.job j WHERE j.id = p.first_job)), 0)::integer ORDER BY p.region, p.lane) AS oldest_seconds,
            array_agg(coalesce(p.running, 0)::integer ORDER BY p.region, p.lane) AS running,
            array_agg(coalesce(p.delayed, 0)::integer ORDER BY p.region, p.lane) AS delayed,
            array_agg(coalesce(p.finished, 0)::integer ORDER BY p.region, p.lane) AS finished,
            array_agg(coalesce(p.failed, 0)::integer ORDER BY p.region, p.lane) AS failed
        FROM places p
    )
    SELECT minute, coalesce(l.regions, '{}'), coalesce(l.lanes, '{}'), coalesce(l.waiting, '{}'),
        coalesce(l.oldest_seconds, '{}'), coalesce(l.running, '{}'), coalesce(l.delayed, '{}'), coalesce(l.finished, '{}'),
        coalesce(l.failed, '{}'), c.pending, coalesce(c.oldest_seconds, 0)::integer,
        (SELECT count(*) FROM insp.worker w WHERE w.heartbeat_at > clock_timestamp() - interval '15 s')
    FROM lists l, insp.pending_callbacks() c
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken > 0 THEN
        PERFORM insp.sample_partners(p_minute => minute);
    END IF;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION insp.sample_queue() IS
    'Stores a sample of the queue and of its partners once a minute, and removes expired ones; returns 1, or 0 if this minute already has one. Cheap, whatever the backlog';
GRANT EXECUTE ON FUNCTION insp.sample_queue() TO insp_worker;

CREATE OR REPLACE VIEW insp.v_queue_sample AS
SELECT s.at, CASE WHEN u.region IS NOT NULL THEN coalesce(g.name, 'any') END AS region, insp.lane_name(u.lane) AS lane, u.waiting, make_interval(secs => u.oldest_seconds) AS oldest,
    u.running, u.delayed, u.finished, u.failed, s.callbacks, make_interval(secs => s.callbacks_oldest_seconds) AS callbacks_oldest, s.workers
FROM insp.queue_sample s
    LEFT JOIN LATERAL unnest(s.regions, s.lanes, s.waiting, s.oldest_seconds, s.running, s.delayed, s.finished, s.failed)
        AS u (region, lane, waiting, oldest_seconds, running, delayed, finished, failed) ON true
    LEFT JOIN insp.region g ON g.id = u.region;
COMMENT ON VIEW insp.v_queue_sample IS
    'The queue minute by minute, a row for each region and lane with jobs that waited, ran or ended; one row without a lane if there were none';
COMMENT ON COLUMN insp.v_queue_sample.at IS 'The minute';
COMMENT ON COLUMN insp.v_queue_sample.region IS 'Region; any: jobs that every worker may process';
COMMENT ON COLUMN insp.v_queue_sample.lane IS 'Lane';
COMMENT ON COLUMN insp.v_queue_sample.waiting IS 'Jobs ready to be claimed; an estimate if there are many';
COMMENT ON COLUMN insp.v_queue_sample.oldest IS 'Age of the first of them';
COMMENT ON COLUMN insp.v_queue_sample.running IS 'Jobs running';
COMMENT ON COLUMN insp.v_queue_sample.delayed IS 'Jobs that wait for a time; an estimate if there are many';
COMMENT ON COLUMN insp.v_queue_sample.finished IS 'Jobs that ended in the minute before; an estimate if there are many';
COMMENT ON COLUMN insp.v_queue_sample.failed IS 'How many of these were dead-lettered';
COMMENT ON COLUMN insp.v_queue_sample.callbacks IS 'Callbacks to be delivered, of all lanes; at most 10,000';
COMMENT ON COLUMN insp.v_queue_sample.callbacks_oldest IS 'Age of the oldest of them';
COMMENT ON COLUMN insp.v_queue_sample.workers IS 'Live workers, of all lanes';
GRANT SELECT ON insp.v_queue_sample TO insp_operator, insp_auditor;
