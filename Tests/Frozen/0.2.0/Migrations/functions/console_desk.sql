-- What the console shows next to a case, and how its pages learn that something has changed.
-- After: record, results

CREATE OR REPLACE FUNCTION insp.console_history(p_token_sha256 bytea, p_id uuid, p_limit integer DEFAULT 4) RETURNS TABLE (
    id uuid, at timestamptz, kind text, status integer, document jsonb, sealed bytea, body bytea, partner_id integer, was_removed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
    first bigint;
    one record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['reviewer'], p_id) AS job, insp.console_actor(p_token_sha256) AS actor INTO c;
    PERFORM insp.require(p_limit BETWEEN 1 AND 20, 'limit', 'limit is 1 to 20.');
    -- The lease is the grant, as for images: these are other results of a person, and nobody needs them for a case that is decided.
    IF (c.job).status <> 64 THEN
        PERFORM insp.refuse('REVIEW_NOT_DUE', 'status ' || (c.job).status);
    ELSIF NOT EXISTS (SELECT FROM insp.case_lease l
            WHERE l.job_id = (c.job).id AND l.actor = c.actor AND l.until > now()) THEN
        PERFORM insp.refuse('CASE_TAKEN');
    END IF;
    first := coalesce((SELECT r.first_id FROM insp.rerun r WHERE r.job_id = (c.job).id), (c.job).id);
    FOR one IN
        WITH runs AS (
            SELECT r.job_id FROM insp.rerun r WHERE r.first_id = first UNION SELECT first
        ), others AS (
            SELECT o.job_id FROM insp.job_reference r CROSS JOIN LATERAL (
                SELECT x.job_id FROM insp.job_reference x
                WHERE x.partner_id = r.partner_id AND x.kind = 'user' AND x.index = r.index AND x.job_id <> (c.job).id
                ORDER BY x.job_id DESC LIMIT 100) o
            WHERE r.job_id = (c.job).id AND r.kind = 'user'
        ), all_of_them AS (
            SELECT r.job_id, 'run' AS kind FROM runs r WHERE r.job_id <> (c.job).id
            UNION ALL SELECT o.job_id, 'person' FROM others o WHERE o.job_id NOT IN (SELECT r.job_id FROM runs r)
        )
        SELECT x.*, a.kind FROM (SELECT y.job_id, y.kind FROM all_of_them y ORDER BY y.kind = 'run' DESC, y.job_id DESC LIMIT 100) a
            JOIN insp.job x ON x.id = ANY (ARRAY[a.job_id])
        WHERE x.partner_id = (c.job).partner_id AND x.status >= 64
        ORDER BY a.kind = 'run' DESC, x.id DESC LIMIT p_limit
    LOOP
        SELECT one.public_id, one.created_at, one.kind, one.status, j.sealed, j.partner_id,
            CASE WHEN s.summary ? 'decision' THEN insp.step_document(s) || insp.result_frame(j) END,
            CASE WHEN s.seal > 0 AND s.summary ? 'decision' THEN s.body END,
            coalesce(s.summary ?| ARRAY['purgedAt', 'erasedAt'], false)
        INTO id, at, kind, status, sealed, partner_id, document, body, was_removed
        FROM insp.job j LEFT JOIN insp.step s ON s.job_id = j.id AND s.status = j.status
        WHERE j.id = ANY (ARRAY[one.id]);
        INSERT INTO insp.record (chain, actor, action, subject, purpose)
        VALUES ('access', c.actor, 'case', one.public_id::text, 'review');
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_history(bytea, uuid, integer) IS
    'Results of other runs of a case (kind run) and of other jobs with its userReference (person), of the same partner, runs first and newest first, as they are stored; document null: it was removed (was_removed), or the job ended without a result. For the person who has taken the case, and while it waits; CASE_TAKEN or REVIEW_NOT_DUE otherwise. Each job is recorded with the purpose review';
GRANT EXECUTE ON FUNCTION insp.console_history(bytea, uuid, integer) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_pulse(p_tokens bytea[], p_subjects text[]) RETURNS TABLE (page integer, stamp text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM insp.require(coalesce(cardinality(p_subjects), 0) <= 1000, 'subjects', 'There are at most 1000 pages.');
    RETURN QUERY
    WITH pages AS MATERIALIZED (
        -- As in insp.console_who.
        SELECT u.n::integer AS n, u.subject, s.id AS session
        FROM unnest(p_tokens, p_subjects) WITH ORDINALITY AS u (token, subject, n) JOIN insp.console_session s ON s.token_sha256 = u.token
        WHERE s.expires_at > now() AND s.seen_at > now() - interval '30 minutes'
    ), rights AS MATERIALIZED (
        SELECT g.session_id, g.role, g.partner_id FROM (SELECT DISTINCT p.session FROM pages p) x
            JOIN insp.console_grant g ON g.session_id = x.session
    ), listed AS MATERIALIZED (
        -- Partners whose cases an open list shows; null: everybody's.
        SELECT DISTINCT r.partner_id FROM rights r JOIN pages p ON p.session = r.session_id
        WHERE r.role = 'reviewer' AND p.subject = 'cases'
    ), oldest AS MATERIALIZED (
        -- By partner, so that those of others reveal nothing and hide nothing; as many as a page of insp.console_cases may have.
        SELECT d.partner_id, md5(jsonb_agg(jsonb_build_array(x.job_id, x.decided_at, l.actor) ORDER BY x.job_id)::text) AS stamp
        FROM listed d CROSS JOIN LATERAL (
                (SELECT y.job_id, y.decided_at FROM insp.review_wait y WHERE d.partner_id IS NULL ORDER BY y.since, y.job_id LIMIT 1000)
                UNION ALL
                (SELECT y.job_id, y.decided_at FROM insp.review_wait y WHERE y.partner_id = d.partner_id
                ORDER BY y.since, y.job_id LIMIT 200)) x
            LEFT JOIN insp.case_lease l ON l.job_id = x.job_id AND l.until > now()
        GROUP BY d.partner_id
    ), lists AS MATERIALIZED (
        SELECT r.session_id, md5(coalesce(string_agg(DISTINCT coalesce(o.partner_id::text, '*') || ' ' || o.stamp, ','), '')) AS stamp
        FROM rights r LEFT JOIN oldest o ON o.partner_id IS NOT DISTINCT FROM r.partner_id
        WHERE r.role = 'reviewer' GROUP BY r.session_id
    ), cases AS MATERIALIZED (
        SELECT j.public_id::text AS subject, j.partner_id, md5(jsonb_build_array(j.status, w.decided_at,
            (SELECT l.actor FROM insp.case_lease l WHERE l.job_id = j.id AND l.until > now()))::text) AS stamp
        FROM (SELECT DISTINCT p.subject FROM pages p WHERE insp.is_uuid(p.subject)) x
            JOIN insp.job j ON j.public_id = ANY (ARRAY[x.subject::uuid])
            LEFT JOIN insp.review_wait w ON w.job_id = ANY (ARRAY[j.id])
    )
    SELECT p.n, l.stamp FROM pages p JOIN lists l ON l.session_id = p.session WHERE p.subject = 'cases'
    UNION ALL
    SELECT p.n, c.stamp FROM pages p JOIN cases c ON c.subject = p.subject WHERE EXISTS (SELECT FROM rights r
        WHERE r.session_id = p.session AND r.role = 'reviewer' AND (r.partner_id IS NULL OR r.partner_id = c.partner_id))
    UNION ALL
    SELECT p.n, CASE p.subject WHEN 'queue' THEN (extract(epoch FROM clock_timestamp())::bigint / 5)::text
        ELSE coalesce((SELECT max(s.at) FROM insp.queue_sample s)::text, '') END
    FROM pages p WHERE p.subject IN ('queue', 'plots')
        AND EXISTS (SELECT FROM rights r WHERE r.session_id = p.session AND r.role IN ('operator', 'auditor'))
    UNION ALL
    -- Those of insp.console_tasks; an open one counts on.
    SELECT x.n, (SELECT concat(md5(coalesce(jsonb_agg(jsonb_build_array(y.id, y.ended_at) ORDER BY y.id)::text, '')),
                CASE WHEN bool_or(y.ended_at IS NULL) THEN extract(epoch FROM clock_timestamp())::bigint / 5 END)
            FROM (SELECT t.id, t.ended_at FROM insp.console_task t WHERE x.is_all OR t.partners <@ x.partners ORDER BY t.id DESC LIMIT 20) y)
    FROM (SELECT p.n, bool_or(r.partner_id IS NULL) AS is_all, array_agg(r.partner_id) AS partners
        FROM pages p JOIN rights r ON r.session_id = p.session AND r.role IN ('operator', 'auditor')
        WHERE p.subject = 'tasks' GROUP BY p.n) x;
END
$$;
COMMENT ON FUNCTION insp.console_pulse(bytea[], text[]) IS
    'Stamps for the pages that a console has open, each of a session: they change when one of the oldest 200 cases of a partner of the person''s (cases; of all partners together, the oldest 1,000), the queue (every 5 s), its plots, a task (tasks; while one is open, every 5 s) or a case (its id) changes, and say nothing else. No row for a page: the session has ended, or the person may not see that. One call serves all pages';
GRANT EXECUTE ON FUNCTION insp.console_pulse(bytea[], text[]) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_work(p_token_sha256 bytea, p_worker bigint DEFAULT NULL) RETURNS TABLE (
    worker bigint, id uuid, partner text, workflow text, stage text, attempt integer, since_seconds double precision, remains_seconds double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    w record;
    -- Of the person's partners: leases of others must not fill the list. Null: every queue.
    queues integer[];
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    IF NOT w.is_all THEN
        queues := ARRAY(SELECT q.id FROM insp.queue q WHERE q.partner_id = ANY (w.partners));
    END IF;
    RETURN QUERY SELECT l.worker_id, j.public_id, p.name, j.workflow, insp.stage_name(greatest(j.status, 2::smallint)),
        l.attempt::integer, extract(epoch FROM clock_timestamp() - l.claimed_at)::double precision,
        extract(epoch FROM l.deadline - clock_timestamp())::double precision
    -- Limited before the jobs are read.
    FROM (SELECT * FROM insp.lease x WHERE (p_worker IS NULL OR x.worker_id = p_worker) AND (queues IS NULL OR x.queue = ANY (queues))
            ORDER BY x.claimed_at LIMIT 500) l
        JOIN insp.job j ON j.id = ANY (ARRAY[l.job_id]) JOIN insp.partner p ON p.id = j.partner_id
    WHERE w.is_all OR j.partner_id = ANY (w.partners)
    ORDER BY l.claimed_at;
END
$$;
COMMENT ON FUNCTION insp.console_work(bytea, bigint) IS
    'Up to 500 running jobs of an operator''s or auditor''s partners, first claimed first; of one worker, or of all';
GRANT EXECUTE ON FUNCTION insp.console_work(bytea, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_plots(p_token_sha256 bytea, p_partner text, p_hours integer) RETURNS TABLE (
    at timestamptz, lane text, waiting double precision, oldest_seconds double precision, running double precision,
    finished double precision, failed double precision, delivered double precision, undelivered double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    w record;
    s record;
    step interval;
    origin constant timestamptz := timestamptz 'epoch';
    -- Every minute of a day, and every seventh of a week.
    points timestamptz[];
    since timestamptz;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    PERFORM insp.require(p_hours BETWEEN 1 AND 168, 'hours', 'hours is 1 to 168.');
    -- 120 points.
    step := make_interval(secs => greatest(60, p_hours * 30));
    since := clock_timestamp() - p_hours * interval '1 hour';
    points := ARRAY(SELECT generate_series(date_trunc('hour', since), clock_timestamp(), make_interval(mins => greatest(1, p_hours / 24))));
    IF p_partner IS NULL AND w.is_all THEN
        RETURN QUERY
        WITH samples AS MATERIALIZED (
            SELECT date_bin(step, q.at, origin) AS moment, q.* FROM insp.queue_sample q WHERE q.at = ANY (points) AND q.at > since
        ), minutes AS MATERIALIZED (
            SELECT x.moment, count(*)::double precision AS n, avg(x.callbacks)::double precision AS callbacks, max(x.callbacks_oldest_seconds) AS oldest_seconds,
                avg(x.workers)::double precision AS workers
            FROM samples x GROUP BY x.moment
        ), sums AS (
            SELECT x.moment, u.lane, sum(u.waiting)::double precision AS waiting, max(u.oldest_seconds) AS oldest_seconds,
                sum(u.running)::double precision AS running, sum(u.finished)::double precision AS finished, sum(u.failed)::double precision AS failed
            FROM samples x CROSS JOIN LATERAL unnest(x.lanes, x.waiting, x.oldest_seconds, x.running, x.finished, x.failed)
                AS u (lane, waiting, oldest_seconds, running, finished, failed)
            GROUP BY x.moment, u.lane
        )
        SELECT m.moment, insp.lane_name(l.lane::smallint), coalesce(x.waiting, 0) / m.n,
            coalesce(x.oldest_seconds, 0)::double precision, coalesce(x.running, 0) / m.n, coalesce(x.finished, 0) / m.n, coalesce(x.failed, 0) / m.n,
            NULL::double precision, NULL::double precision
        FROM minutes m CROSS JOIN generate_series(0, 2) l (lane) LEFT JOIN sums x ON x.moment = m.moment AND x.lane = l.lane
        UNION ALL
        SELECT m.moment, 'callbacks', m.callbacks, m.oldest_seconds::double precision, m.workers,
            NULL, NULL, NULL, NULL
        FROM minutes m
        ORDER BY 1, 2;
        RETURN;
    END IF;
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator', 'auditor'], p_partner);
    -- Older rows of partners may be gone already.
    since := greatest(since, clock_timestamp() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'samples'));
    -- A minute without a row is one without work, unless only the busiest partners were sampled: then it is ignored.
    RETURN QUERY
    WITH sums AS MATERIALIZED (
        SELECT x.at, count(*) AS partners, sum(x.waiting) AS waiting, max(x.oldest_seconds) AS oldest_seconds, sum(x.running) AS running,
            sum(x.finished) AS finished, sum(x.failed) AS failed, sum(x.delivered) AS delivered, sum(x.undelivered) AS undelivered
        FROM insp.partner_sample x WHERE x.partner_id = ANY (s.partners) AND x.at = ANY (points) AND x.at > since GROUP BY x.at
    ), minutes AS MATERIALIZED (
        SELECT date_bin(step, q.at, origin) AS moment, NOT q.partners_cut OR coalesce(x.partners, 0) >= cardinality(s.partners) AS is_known,
            x.waiting, x.oldest_seconds, x.running, x.finished, x.failed, x.delivered, x.undelivered
        FROM insp.queue_sample q LEFT JOIN sums x ON x.at = q.at WHERE q.at = ANY (points) AND q.at > since
    ), moments AS (
        SELECT m.moment, nullif(count(*) FILTER (WHERE m.is_known), 0)::double precision AS n, sum(m.waiting) FILTER (WHERE m.is_known) AS waiting,
            max(m.oldest_seconds) FILTER (WHERE m.is_known) AS oldest_seconds, sum(m.running) FILTER (WHERE m.is_known) AS running,
            sum(m.finished) FILTER (WHERE m.is_known) AS finished, sum(m.failed) FILTER (WHERE m.is_known) AS failed,
            sum(m.delivered) FILTER (WHERE m.is_known) AS delivered, sum(m.undelivered) FILTER (WHERE m.is_known) AS undelivered
        FROM minutes m GROUP BY m.moment
    )
    SELECT m.moment, NULL::text, coalesce(m.waiting, 0)::double precision / m.n,
        CASE WHEN m.n > 0 THEN coalesce(m.oldest_seconds, 0)::double precision END, coalesce(m.running, 0)::double precision / m.n,
        coalesce(m.finished, 0)::double precision / m.n, coalesce(m.failed, 0)::double precision / m.n,
        coalesce(m.delivered, 0)::double precision / m.n, coalesce(m.undelivered, 0)::double precision / m.n
    FROM moments m ORDER BY m.moment;
END
$$;
COMMENT ON FUNCTION insp.console_plots(bytea, text, integer) IS
    'Samples of the last hours in at most 121 points: by lane (callbacks as a separate lane, whose running are the workers) for those who may see every partner and chose none, else the sum of a partner or of the person''s partners. Counts are per minute; of more than a day, every hours / 24th minute counts. Null: not sampled, since too many other partners had more work';
GRANT EXECUTE ON FUNCTION insp.console_plots(bytea, text, integer) TO insp_console;
