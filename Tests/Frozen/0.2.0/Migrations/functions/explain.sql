-- Explains one job to an operator in sentences: where it is, why it waits, and what can be done.

CREATE OR REPLACE FUNCTION insp.in_words(p_time interval) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN s.n < 120 THEN s.n || ' s' WHEN s.n < 7200 THEN round(s.n / 60) || ' min'
        WHEN s.n < 172800 THEN round(s.n / 3600) || ' h' ELSE round(s.n / 86400) || ' d' END
    FROM (SELECT greatest(0, round(extract(epoch FROM p_time))) AS n) s
$$;
COMMENT ON FUNCTION insp.in_words(interval) IS 'A duration in its largest suitable unit; 0 s if it is negative';

CREATE OR REPLACE FUNCTION insp.stage_name(p_status smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_status WHEN 1 THEN 'QUEUED' WHEN 2 THEN 'STARTED' WHEN 4 THEN 'ACQUIRED' WHEN 8 THEN 'DOCUMENT'
        WHEN 16 THEN 'FACE' WHEN 32 THEN 'LIVENESS' WHEN 64 THEN 'DECIDED' WHEN 128 THEN 'FINISHED' END
$$;
COMMENT ON FUNCTION insp.stage_name(smallint) IS 'Name of a status';

CREATE OR REPLACE FUNCTION insp.error_words(p_code text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce((SELECT format('%s (%s)', e.code, e.message) FROM insp.error_code e WHERE e.code = p_code), p_code)
$$;
COMMENT ON FUNCTION insp.error_words(text) IS 'An error code with its message';

CREATE OR REPLACE FUNCTION insp.find_job(id text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    digits constant text := lower(replace(btrim(find_job.id), '-', ''));
    -- How many jobs of each kind are searched for an id's end, for which there is no index.
    most constant integer := 100000;
    found uuid[];
BEGIN
    IF digits ~ '^[0-9a-f]{32}$' THEN
        SELECT array_agg(j.public_id) INTO found FROM insp.job j
        WHERE j.public_id = ANY (ARRAY[digits::uuid]) AND insp.may_act(j.partner_id);
    ELSIF digits ~ '^[0-9a-f]{12}$' THEN
        WITH known AS MATERIALIZED (
            (SELECT l.job_id FROM insp.lease l LIMIT most)
            UNION (SELECT w.job_id FROM insp.review_wait w LIMIT most)
            UNION (SELECT d.job_id FROM insp.delayed d ORDER BY d.run_at LIMIT most)
            UNION (SELECT d.job_id FROM insp.dead d ORDER BY d.died_at DESC LIMIT most)
            UNION (SELECT h.head_job FROM insp.waiting_by_queue() h LIMIT most)
            UNION (SELECT f.job_id FROM insp.recently_finished('1 day', 128) f LIMIT most)
        ), newest AS MATERIALIZED (
            -- Ids begin with their time.
            SELECT j.public_id FROM insp.job j ORDER BY j.public_id DESC LIMIT most
        ), meant AS (
            SELECT j.public_id FROM known k JOIN insp.job j ON j.id = ANY (ARRAY[k.job_id])
            WHERE right(j.public_id::text, 12) = digits
            UNION
            SELECT n.public_id FROM newest n WHERE right(n.public_id::text, 12) = digits
        )
        SELECT array_agg(m.public_id ORDER BY m.public_id) INTO found
        FROM meant m JOIN insp.job j ON j.public_id = ANY (ARRAY[m.public_id]) WHERE insp.may_act(j.partner_id);
    ELSE
        PERFORM insp.refuse('JOB_UNKNOWN', NULL, 'An id is a UUID, or its last twelve digits.');
    END IF;
    IF cardinality(found) > 1 THEN
        PERFORM insp.refuse('JOB_AMBIGUOUS', array_to_string(found[1:2], ', '), 'Give the whole id.');
    ELSIF found IS NULL THEN
        PERFORM insp.refuse('JOB_UNKNOWN', NULL, CASE WHEN length(digits) = 12 THEN
            'Give the whole id. Twelve digits find jobs that are running, delayed, waiting for a review, dead-lettered or recently finished, and the newest ones.' END);
    END IF;
    RETURN found[1];
END
$$;
COMMENT ON FUNCTION insp.find_job(text) IS
    'The id of a job; its last twelve digits are enough (insp.cancel(insp.find_job(''…''))) while it runs, is delayed, waits for a review, was dead-lettered, finished recently, is the first of its queue or one of the newest: 100,000 of each kind are searched. Refuses an id that matches no job, or several';
GRANT EXECUTE ON FUNCTION insp.find_job(text) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.explain_running(p_job bigint) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    r record;
    -- Why the lease will not last; null: it does.
    lost text;
    outside text;
BEGIN
    SELECT l.worker_id, l.fence, l.claimed_at, l.deadline, l.attempt, l.crashes, j.public_id, greatest(j.status, 2::smallint) AS status,
        v.host, v.process, v.version, v.state, v.silent_for, w.fence_floor
    INTO r FROM insp.lease l JOIN insp.job j ON j.id = ANY (ARRAY[l.job_id])
        -- With an equality the planner would use the order of lease_worker and read all leases.
        LEFT JOIN insp.worker w ON w.id = ANY (ARRAY[l.worker_id]) LEFT JOIN insp.v_workers v ON v.id = ANY (ARRAY[w.id])
    WHERE l.job_id = ANY (ARRAY[p_job]);
    lost := CASE WHEN r.host IS NULL THEN 'is gone'
        WHEN r.state = 'dead' THEN format('is dead: nothing was heard from it for %s', insp.in_words(r.silent_for))
        WHEN r.fence < r.fence_floor THEN 'does not know that it has the job'
        WHEN r.deadline < clock_timestamp() THEN format('has held the job for %s longer than allowed',
            insp.in_words(clock_timestamp() - r.deadline)) END;
    outside := CASE WHEN r.status < 4 AND EXISTS (SELECT FROM insp.part p WHERE p.job_id = p_job AND p.location LIKE 's3:%')
            THEN ' Its parts are being fetched from the object store, outside the slots, or are about to be.'
        WHEN r.status < 4 AND EXISTS (SELECT FROM insp.part p WHERE p.job_id = p_job AND p.location IS NOT NULL)
            THEN ' Its parts by URL are being fetched, outside the slots, or are about to be.'
        WHEN r.status < 32 AND EXISTS (SELECT FROM insp.part p WHERE p.job_id = p_job AND p.kind = 'SESSION_BLOB')
            THEN ' The liveness vendor''s server is being asked about its session, outside the slots, or is about to be.' END;
    RETURN QUERY VALUES
        ('state', format('Running for %s; the furthest stage stored is %s.%s', insp.in_words(clock_timestamp() - r.claimed_at),
            insp.stage_name(r.status), CASE WHEN lost IS NULL THEN outside END)),
        ('attempts', format('This is attempt %s%s.', r.attempt, CASE WHEN r.crashes > 0 THEN format(
            '; %s earlier ones ended in the death of a process or worker', r.crashes) END)),
        ('worker', CASE
            WHEN r.host IS NULL THEN format('Worker %s %s.', r.worker_id, lost)
            WHEN lost IS NOT NULL THEN format('Worker %s (%s, process %s) %s.', r.worker_id, r.host, r.process, lost)
            ELSE format('Worker %s (%s, process %s, version %s) is %s; last heard from %s ago. It may hold the job for another %s.',
                r.worker_id, r.host, r.process, r.version, r.state, insp.in_words(r.silent_for),
                insp.in_words(r.deadline - clock_timestamp())) END),
        ('next step', CASE
            WHEN lost IS NULL THEN format('Wait. SELECT insp.cancel(%L) ends it at once.', r.public_id)
            WHEN NOT EXISTS (SELECT FROM insp.v_workers v WHERE v.state <> 'dead')
                THEN 'Start a worker: no live one is left to rescue the job.'
            ELSE 'Wait: live workers rescue the job within seconds, and the attempt counts as a crash. If they do not, insp.v_maintenance says why.'
            END);
END
$$;
COMMENT ON FUNCTION insp.explain_running(bigint) IS 'The part of insp.explain_job for a job with a lease';

CREATE OR REPLACE FUNCTION insp.explain_delayed(p_job bigint) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT x.run_at, x.attempt, x.crashes, x.last_error, x.run_at > clock_timestamp() AS is_early,
        EXISTS (SELECT FROM unnest(insp.waiting_sessions(ARRAY[p_job])) s) AS is_session,
        (SELECT m.state FROM insp.v_maintenance m WHERE m.duty = 'promote') AS duty
    INTO d FROM insp.delayed x WHERE x.job_id = ANY (ARRAY[p_job]) ORDER BY x.run_at DESC LIMIT 1;
    RETURN QUERY VALUES ('state', CASE
        WHEN NOT d.is_early THEN format('It has been due for %s but is not in its queue yet.', insp.in_words(clock_timestamp() - d.run_at))
        WHEN d.is_session THEN 'Waits for the next blob of its session.'
        WHEN d.attempt = 0 AND d.last_error IS NULL THEN 'Scheduled for a later time.'
        ELSE 'Waits for its next attempt.' END);
    IF d.last_error LIKE 'KEY%' OR d.last_error = 'OBJECT_STORE_UNAVAILABLE' THEN
        RETURN QUERY VALUES ('attempts', format('Counted attempts: %s. The last one, which does not count, failed with %s.',
            d.attempt, insp.error_words(d.last_error)));
    ELSIF d.attempt > 0 AND d.last_error IS NOT NULL THEN
        RETURN QUERY VALUES ('attempts', format('Attempts made: %s%s. The last failed with %s.', d.attempt, CASE WHEN d.crashes > 0 THEN format(
            ', of which %s ended in the death of a process or worker', d.crashes) END, insp.error_words(d.last_error)));
    END IF;
    RETURN QUERY VALUES
        ('reason', CASE WHEN d.is_early AND d.is_session THEN format('Without one, it is decided by what the vendor''s server has answered in %s.',
                insp.in_words(d.run_at - clock_timestamp()))
            WHEN d.is_early THEN format('It becomes ready in %s, at %s.', insp.in_words(d.run_at - clock_timestamp()),
                to_char(d.run_at, 'YYYY-MM-DD HH24:MI:SS TZ'))
            ELSE format('Maintenance puts it into its queue (duty promote: %s).', d.duty) END),
        ('next step', CASE WHEN d.is_early OR d.duty = 'well' THEN 'Wait.'
            ELSE 'Start a worker, or see insp.v_maintenance: no worker performs the duty.' END);
END
$$;
COMMENT ON FUNCTION insp.explain_delayed(bigint) IS 'The part of insp.explain_job for a job that waits for a time';

CREATE OR REPLACE FUNCTION insp.explain_waiting(p_job bigint) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- The most jobs that are counted.
    most constant bigint := 10000;
    q record;
    place record;
    waits record;
BEGIN
    SELECT k.id, coalesce(f.seq, 0) AS floor, j.expires_at <= clock_timestamp() AS is_over
    INTO q FROM insp.job j JOIN insp.queue k ON k.region = j.region AND k.lane = j.lane AND k.partner_id = j.partner_id
        LEFT JOIN insp.v_floor f ON f.queue = k.id
    WHERE j.id = ANY (ARRAY[p_job]);
    SELECT count(*) AS jobs, min(h.n) FILTER (WHERE h.job_id = p_job) - 1 AS before,
        min(h.attempt) FILTER (WHERE h.job_id = p_job) AS attempt, min(h.crashes) FILTER (WHERE h.job_id = p_job) AS crashes
    INTO place FROM (
        SELECT x.job_id, x.attempt, x.crashes, row_number() OVER (ORDER BY x.seq) AS n FROM insp.ready x
        WHERE x.queue = q.id AND x.seq >= q.floor ORDER BY x.seq LIMIT most + 1) h;
    IF q.is_over THEN
        RETURN QUERY VALUES ('state', 'Its deadline has passed.'),
            ('next step', 'Wait: maintenance ends it as EXPIRED within seconds. If not, insp.v_maintenance says why.');
        RETURN;
    ELSIF place.before IS NULL AND place.jobs <= most THEN
        RETURN QUERY VALUES ('state', 'Neither running nor visible in its queue.'),
            ('reason', 'It is moving from one to the other, or an uncommitted transaction holds it.'),
            ('next step', 'Ask again in a few seconds. If nothing changes, SELECT * FROM insp.v_xmin_holders finds the transaction.');
        RETURN;
    END IF;
    RETURN QUERY VALUES ('state', 'Waits in its partner''s queue, ' || CASE
        WHEN place.before IS NULL THEN format('with more than %s jobs before it.', most)
        WHEN place.before = 0 THEN 'as the first.' ELSE format('with %s before it.', place.before) END);
    SELECT w.why, w.remedy INTO waits FROM insp.why_waiting(ARRAY[q.id]) w;
    -- It may end in an operator's text, and that in a full stop.
    RETURN QUERY VALUES ('reason', upper(left(waits.why, 1)) || substr(waits.why, 2)
            || CASE WHEN waits.why ~ '[.!?]$' THEN '' ELSE '.' END),
        ('next step', upper(left(waits.remedy, 1)) || substr(waits.remedy, 2)
            || CASE WHEN waits.remedy LIKE 'SELECT %' THEN ';' ELSE '.' END);
    IF place.attempt > 0 THEN
        RETURN QUERY VALUES ('attempts', format('Attempts made: %s%s.', place.attempt, CASE WHEN place.crashes > 0 THEN format(
            ', of which %s ended in the death of a process or worker', place.crashes) END));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.explain_waiting(bigint) IS 'The part of insp.explain_job for a job that waits to be claimed';

CREATE OR REPLACE FUNCTION insp.explain_ended(p_job bigint) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    r record;
BEGIN
    SELECT j.public_id, j.status, coalesce(j.completed_at, w.since, e.at) AS at,
        j.status = 64 AND NOT EXISTS (SELECT FROM insp.step s
            WHERE s.job_id = p_job AND s.status = 64 AND jsonb_typeof(s.summary) = 'object') AS is_damaged, e.detail ->> 'decision' AS decision,
        e.detail ->> 'error' AS error, d.job_id IS NOT NULL AS is_dead, d.attempts, d.crashes, d.resolved_at, d.resolved_by,
        -- As insp.rerun checks.
        j.forgotten_at IS NULL AND EXISTS (SELECT FROM insp.part p WHERE p.job_id = j.id) AS can_rerun, w.decided_by, w.decision AS first
    INTO r FROM insp.job j LEFT JOIN insp.review_wait w ON w.job_id = ANY (ARRAY[j.id])
        LEFT JOIN insp.dead d ON d.job_id = ANY (ARRAY[j.id])
        LEFT JOIN LATERAL (
            SELECT v.detail, v.at FROM insp.event v
            WHERE v.job_id = p_job AND v.kind = CASE WHEN j.status = 64 THEN 'review_needed' ELSE 'finished' END
            ORDER BY v.at DESC LIMIT 1) e ON true
    WHERE j.id = ANY (ARRAY[p_job]);
    IF r.is_damaged THEN
        RETURN QUERY VALUES ('state', format('Damaged: it has been waiting for a reviewer%s, but its decision is missing.',
                ' for ' || insp.in_words(clock_timestamp() - r.at))),
            ('next step', format('SELECT insp.cancel(%L) ends it; insp.review refuses it.', r.public_id));
        RETURN;
    ELSIF r.status = 64 THEN
        RETURN QUERY VALUES
            ('state', format('Decided as %s, and has been waiting for a reviewer for %s.%s', r.decision, insp.in_words(clock_timestamp() - r.at),
                ' ' || r.decided_by || ' decided ' || r.first || '; a second person must confirm that.')),
            ('reason', 'By the partner''s or the request''s review setting, a person must confirm this decision. Until then, no final callback is sent.'),
            ('next step', format(
                'SELECT insp.review(%L, ''PASSED''), or with WARNING or REJECTED. SELECT * FROM insp.v_review shows the findings.',
                r.public_id));
        RETURN;
    END IF;
    RETURN QUERY VALUES ('state', format('Finished %s ago%s%s.', insp.in_words(clock_timestamp() - r.at), ' as ' || r.decision,
        ' with ' || insp.error_words(r.error)));
    IF r.is_dead THEN
        RETURN QUERY VALUES ('attempts', format('Dead-lettered after %s%s.', CASE r.attempts WHEN 1 THEN '1 attempt'
            ELSE r.attempts || ' attempts' END, CASE WHEN r.crashes > 0 THEN format(
            ', of which %s ended in the death of a process or worker', r.crashes) END));
    END IF;
    RETURN QUERY VALUES ('next step', CASE
        WHEN r.is_dead AND r.resolved_at IS NULL AND NOT r.can_rerun THEN format(
            'It cannot run again: its parts or its request were removed. SELECT insp.resolve_dead(%L).', r.public_id)
        WHEN r.is_dead AND r.resolved_at IS NULL THEN format(
            'Once the cause is removed, SELECT insp.rerun(%1$L). If nothing can be done, SELECT insp.resolve_dead(%1$L).', r.public_id)
        WHEN r.is_dead THEN format('None: resolved by %s %s ago.', r.resolved_by, insp.in_words(clock_timestamp() - r.resolved_at))
        WHEN r.error IS NOT NULL AND NOT r.can_rerun THEN 'None. It cannot run again: its parts or its request were removed.'
        WHEN r.error IS NOT NULL THEN format('None. SELECT insp.rerun(%L) runs it again as a new job.', r.public_id)
        ELSE 'None.' END);
END
$$;
COMMENT ON FUNCTION insp.explain_ended(bigint) IS 'The part of insp.explain_job for a job that is decided or finished';

CREATE OR REPLACE FUNCTION insp.explain_callbacks(p_job bigint) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    one record;
BEGIN
    -- One by one, with all that indexes begin with: joined, or in the order of their numbers, a plan from when the outbox was
    -- empty reads all of it along an index.
    FOR one IN SELECT x.id, x.endpoint_id FROM insp.callback x WHERE x.job_id = ANY (ARRAY[p_job]) ORDER BY x.created_at, x.event LOOP
        RETURN QUERY
        SELECT 'callback', format('%s to endpoint %s: %s.%s', c.event, c.endpoint_id, CASE
                WHEN c.state = 'delivered' THEN format('delivered %s ago with attempt %s',
                    insp.in_words(clock_timestamp() - c.delivered_at), greatest(c.attempts, 1))
                WHEN c.state = 'held' THEN 'held until the endpoint is enabled'
                WHEN c.state = 'dead' THEN format('dead-lettered, attempts made: %s', c.attempts)
                WHEN c.is_claimed THEN format('being sent, or next in line at a dispatcher (attempt %s)', c.attempts + 1)
                WHEN c.due_at > clock_timestamp() THEN format('attempt %s is due in %s', c.attempts + 1,
                    insp.in_words(c.due_at - clock_timestamp()))
                ELSE format('attempt %s has been due for %s', c.attempts + 1, insp.in_words(clock_timestamp() - c.due_at)) END,
            CASE WHEN c.state <> 'delivered' THEN concat(
                ' The last attempt failed with ' || insp.error_words(a.code) || coalesce(', status ' || a.http_status, '') || '.',
                CASE WHEN c.state = 'dead' THEN format(' SELECT insp.callback_replay(%L) sends it again.', c.webhook_id) END,
                CASE WHEN NOT e.enabled THEN format(' The endpoint is disabled%s: SELECT insp.callback_enable(%s).',
                        ' (' || e.disabled_reason || ')', e.id)
                    WHEN e.paused THEN format(' The endpoint is paused: SELECT insp.callback_resume(%s).', e.id)
                    WHEN h.open_until > clock_timestamp() THEN format(
                        ' The endpoint''s breaker is open for %s more; SELECT insp.callback_breaker_reset(%s) closes it.',
                        insp.in_words(h.open_until - clock_timestamp()), e.id)
                    WHEN h.open_until IS NOT NULL THEN ' The endpoint''s breaker is half open: one attempt at a time is made.'
                    ELSE ' The endpoint''s breaker is closed.' END) END)
        FROM insp.v_callback c JOIN insp.endpoint e ON e.id = c.endpoint_id
            LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id
            LEFT JOIN LATERAL (SELECT x.code, x.http_status FROM insp.callback_attempt x WHERE x.callback_id = c.id
                ORDER BY x.attempt DESC LIMIT 1) a ON true
        WHERE c.id = one.id AND c.job_id = p_job AND c.endpoint_id = one.endpoint_id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.explain_callbacks(bigint) IS 'The part of insp.explain_job for a job''s callbacks';

CREATE OR REPLACE FUNCTION insp.explain_job(id text) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    -- Within the query, it would be evaluated during planning and again for each partition.
    whole constant uuid := insp.find_job(explain_job.id);
    j record;
    waits boolean := false;
BEGIN
    SELECT x.id, x.public_id, x.partner_id, x.status, x.created_at, x.expires_at, p.name AS partner, p.enabled,
        insp.lane_name(x.lane) AS lane, coalesce(g.name, 'any') AS region
    INTO j FROM insp.job x JOIN insp.partner p ON p.id = x.partner_id LEFT JOIN insp.region g ON g.id = x.region
    WHERE x.public_id = ANY (ARRAY[whole]);
    RETURN QUERY VALUES ('job', format('%s of partner %s: lane %s, region %s, accepted %s ago.', j.public_id, j.partner, j.lane,
        j.region, insp.in_words(clock_timestamp() - j.created_at)));
    IF j.status >= 64 THEN
        RETURN QUERY SELECT * FROM insp.explain_ended(j.id);
    ELSIF EXISTS (SELECT FROM insp.lease l WHERE l.job_id = j.id) THEN
        RETURN QUERY SELECT * FROM insp.explain_running(j.id);
    ELSIF EXISTS (SELECT FROM insp.delayed d WHERE d.job_id = j.id) THEN
        RETURN QUERY SELECT * FROM insp.explain_delayed(j.id);
    ELSE
        waits := true;
        RETURN QUERY SELECT * FROM insp.explain_waiting(j.id);
    END IF;
    IF j.status < 128 AND j.expires_at > clock_timestamp() THEN
        RETURN QUERY VALUES ('deadline', format('Ends as EXPIRED if it is not finished within %s.',
            insp.in_words(j.expires_at - clock_timestamp())));
    ELSIF j.status < 128 AND NOT waits THEN
        RETURN QUERY VALUES ('deadline', format('Passed %s ago. %s', insp.in_words(clock_timestamp() - j.expires_at), CASE
            WHEN EXISTS (SELECT FROM insp.expiry x WHERE x.expires_at = j.expires_at AND x.job_id = j.id)
                THEN 'Maintenance ends the job as EXPIRED within seconds. If not, insp.v_maintenance says why.'
            WHEN EXISTS (SELECT FROM insp.lease l WHERE l.job_id = j.id) THEN 'The attempt under way may still finish the job.'
            ELSE 'The job ends as EXPIRED when its next attempt would begin.' END));
    END IF;
    RETURN QUERY SELECT 'quota', format('The partner''s quota is full: %s of %s waiting jobs. New jobs are refused. insp.set_quota changes that.',
        q.waiting, q.max_waiting)
    FROM insp.v_quota q WHERE q.partner = j.partner AND q.waiting >= q.max_waiting AND j.status < 128;
    RETURN QUERY SELECT 'history', format('%s ago: %s', insp.in_words(clock_timestamp() - e.at), CASE e.kind
            WHEN 'retry' THEN format('attempt %s failed with %s; delayed for %s s.', e.detail ->> 'attempt',
                insp.error_words(e.detail ->> 'code'), e.detail ->> 'afterSeconds')
            WHEN 'rescued' THEN format('rescued in attempt %s: worker %s was lost, or held it too long.', e.detail ->> 'attempt',
                e.worker_id)
            ELSE format('released by worker %s; the attempt does not count.', e.worker_id) END)
    FROM (SELECT v.* FROM insp.event v WHERE v.job_id = j.id AND v.kind IN ('retry', 'rescued', 'released')
        ORDER BY v.at DESC LIMIT 5) e ORDER BY e.at DESC;
    RETURN QUERY SELECT * FROM insp.explain_callbacks(j.id);
END
$$;
COMMENT ON FUNCTION insp.explain_job(text) IS
    'Where a job is, why it waits, its attempts, worker, callbacks and the next step, in sentences without personal data. Takes an id or its last twelve digits, as insp.find_job does';
GRANT EXECUTE ON FUNCTION insp.explain_job(text) TO insp_operator, insp_auditor;
