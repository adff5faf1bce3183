-- What operators and auditors see at the console, and what operators do there. No function here returns anything of a person.
-- After: record

CREATE OR REPLACE FUNCTION insp.console_explain(p_token_sha256 bytea, p_id uuid) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.console_job(p_token_sha256, ARRAY['operator', 'auditor'], p_id);
    RETURN QUERY SELECT e.aspect, e.explanation FROM insp.explain_job(p_id::text) e;
END
$$;
COMMENT ON FUNCTION insp.console_explain(bytea, uuid) IS 'insp.explain_job for a job of an operator''s or auditor''s partners';
GRANT EXECUTE ON FUNCTION insp.console_explain(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_timeline(
    p_token_sha256 bytea, p_id uuid
) RETURNS TABLE (at double precision, kind text, who text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['operator', 'auditor'], p_id) AS job,
        insp.console_actor(p_token_sha256) AS actor INTO c;
    RETURN QUERY SELECT * FROM (
        SELECT extract(epoch FROM (c.job).created_at)::double precision AS at, 'accepted'::text, NULL::text, NULL::text
        UNION ALL
        SELECT extract(epoch FROM s.stored_at)::double precision, 'stage ' || insp.stage_name(s.status), NULL::text, NULL::text
        FROM insp.step s WHERE s.job_id = (c.job).id
        UNION ALL
        SELECT extract(epoch FROM e.at)::double precision, e.kind, 'worker ' || e.worker_id, e.detail::text
        FROM insp.event e WHERE e.job_id = (c.job).id
        UNION ALL
        -- Without words: they may be about the person.
        SELECT extract(epoch FROM r.at)::double precision, r.action, r.actor, nullif(r.detail, '{}')::text
        FROM insp.record r WHERE r.chain <> 'access' AND r.subject = p_id::text
        UNION ALL
        SELECT extract(epoch FROM r.at)::double precision, r.action, r.actor, 'for ' || r.purpose
        -- As the index has it (record_job), and what has no place yet.
        FROM insp.record r WHERE r.chain = 'access' AND r.seq IS NOT NULL
            AND nullif(r.subject::uuid, '00000000-0000-0000-0000-000000000000') = p_id
        UNION ALL
        SELECT extract(epoch FROM r.at)::double precision, r.action, r.actor, 'for ' || r.purpose
        FROM insp.record r WHERE r.chain = 'access' AND r.seq IS NULL AND r.subject = p_id::text) x
    ORDER BY 1 LIMIT 1000;
END
$$;
COMMENT ON FUNCTION insp.console_timeline(bytea, uuid) IS 'What happened to a job of an operator''s or auditor''s partners and who looked at it, oldest first, without words of reviewers';
GRANT EXECUTE ON FUNCTION insp.console_timeline(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_queue(p_token_sha256 bytea) RETURNS TABLE (
    region text, lane text, partner text, paused boolean, waiting bigint, is_estimate boolean, oldest double precision,
    delayed bigint, running bigint, why text, remedy text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    -- Read once for both: the sample of a long queue is what costs most. Up to 2,000 jobs are counted exactly.
    RETURN QUERY
    WITH counts AS MATERIALIZED (
        SELECT q.id, q.region, q.lane, q.partner_id, c.waiting, c.is_estimate, c.head_job,
            extract(epoch FROM now() - (SELECT j.created_at FROM insp.job j WHERE j.id = c.head_job))::double precision AS age
        FROM insp.waiting_by_queue(2000) c JOIN insp.queue q ON q.id = c.queue
    ), lanes AS (
        -- Sums over partners are for who may see every partner.
        SELECT coalesce(g.name, 'any') AS region, c.lane, NULL::text AS partner, c.paused, coalesce(x.waiting, 0)::bigint AS waiting,
            coalesce(x.is_estimate, false) AS is_estimate, x.age, coalesce(d.jobs, 0)::bigint AS delayed, coalesce(l.jobs, 0)::bigint AS running
        FROM (SELECT 0::smallint AS id UNION ALL SELECT y.id FROM insp.region y) r CROSS JOIN insp.control c
            LEFT JOIN insp.region g ON g.id = r.id
            LEFT JOIN (SELECT n.region, n.lane, sum(n.waiting) AS waiting, bool_or(n.is_estimate) AS is_estimate, max(n.age) AS age
                FROM counts n GROUP BY n.region, n.lane) x ON x.region = r.id AND x.lane = c.lane
            LEFT JOIN (SELECT q.region, q.lane, sum(y.delayed) AS jobs
                FROM insp.delayed_by_queue() y JOIN insp.queue q ON q.id = y.queue GROUP BY q.region, q.lane) d
                ON d.region = r.id AND d.lane = c.lane
            LEFT JOIN (SELECT q.region, q.lane, sum(y.jobs) AS jobs
                FROM (SELECT z.queue, count(*) AS jobs FROM insp.lease z GROUP BY z.queue) y JOIN insp.queue q ON q.id = y.queue
                GROUP BY q.region, q.lane) l ON l.region = r.id AND l.lane = c.lane
        WHERE w.is_all AND (r.id = 0 OR EXISTS (SELECT FROM insp.queue q WHERE q.region = r.id AND q.lane = c.lane))
    ), queues AS (
        SELECT coalesce(g.name, 'any') AS region, c.lane, p.name AS partner, c.waiting, c.is_estimate, c.age, c.id
        FROM counts c JOIN insp.partner p ON p.id = c.partner_id LEFT JOIN insp.region g ON g.id = c.region
        WHERE w.is_all OR p.id = ANY (w.partners) ORDER BY c.waiting DESC, p.name, c.region, c.lane LIMIT 200
    )
    SELECT x.region, insp.lane_name(x.lane), x.partner, x.paused, x.waiting, x.is_estimate, x.age, x.delayed, x.running, x.why, x.remedy
    FROM (SELECT l.*, NULL::text AS why, NULL::text AS remedy FROM lanes l
        UNION ALL
        SELECT q.region, q.lane, q.partner, NULL, q.waiting, q.is_estimate, q.age, NULL, NULL, y.why, y.remedy
        FROM queues q LEFT JOIN insp.why_waiting(ARRAY(SELECT n.id FROM queues n)) y ON y.queue = q.id) x
    ORDER BY x.partner IS NOT NULL, CASE WHEN x.partner IS NULL THEN x.region <> 'any' END, CASE WHEN x.partner IS NULL THEN x.region END,
        CASE WHEN x.partner IS NULL THEN x.lane END, x.waiting DESC, x.partner, x.region, x.lane;
END
$$;
COMMENT ON FUNCTION insp.console_queue(bytea) IS
    'The queue as insp.v_queue shows it, for operators and auditors of every partner (rows without a partner), and up to 200 queues with waiting jobs of an operator''s or auditor''s partners, longest first, and why they wait';
GRANT EXECUTE ON FUNCTION insp.console_queue(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_workers(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, host text, process integer, version text, region text, slots integer, busy integer, leases bigint, state text,
    silent double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Workers serve every partner.
    IF (SELECT w.is_all FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']) w) THEN
        RETURN QUERY SELECT v.id, v.host, v.process::integer, v.version, v.region, v.slots::integer, v.busy::integer, v.leases,
            v.state, extract(epoch FROM v.silent_for)::double precision FROM insp.v_workers v ORDER BY v.host, v.id LIMIT 500;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_workers(bytea) IS 'insp.v_workers, for operators and auditors of every partner; nothing for others';
GRANT EXECUTE ON FUNCTION insp.console_workers(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_endpoints(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, partner text, origin text, pending bigint, in_flight bigint, held bigint, dead bigint, delivered bigint,
    oldest double precision, breaker text, last_code text, warnings text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT e.id, v.partner, insp.url_origin(e.url), v.pending::bigint, v.in_flight::bigint, v.held::bigint,
        v.dead::bigint, v.delivered::bigint, extract(epoch FROM v.oldest_pending)::double precision, v.breaker, v.last_code,
        v.warnings
    FROM insp.v_callbacks v JOIN insp.endpoint e ON e.id = v.endpoint_id
    WHERE w.is_all OR e.partner_id = ANY (w.partners)
    ORDER BY v.dead DESC, v.pending DESC, v.partner LIMIT 200;
END
$$;
COMMENT ON FUNCTION insp.console_endpoints(bytea) IS 'Up to 200 endpoints of an operator''s or auditor''s partners, those with dead-lettered callbacks first';
GRANT EXECUTE ON FUNCTION insp.console_endpoints(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_dead(
    p_token_sha256 bytea, p_partner text DEFAULT NULL, p_code text DEFAULT NULL, p_edge bigint DEFAULT NULL,
    p_after uuid DEFAULT NULL, p_limit integer DEFAULT 50
) RETURNS TABLE (id uuid, partner text, workflow text, code text, detail text, attempts integer, died bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    w record;
    one record;
    -- Letters that one call looks at, whatever the filters leave of them.
    scanned constant integer := 1000;
    seen integer := 0;
    listed integer := 0;
    from_died timestamptz := 'infinity';
    from_job bigint := 9223372036854775807;
    last_id uuid;
    last_died bigint;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    PERFORM insp.require(p_limit BETWEEN 1 AND 200, 'limit', 'limit is 1 to 200.');
    PERFORM insp.require(coalesce(p_edge, 0) BETWEEN 0 AND 253402300799000000, 'before', 'Begin again without before.');
    IF p_after IS NOT NULL THEN
        SELECT j.id INTO from_job FROM insp.job j WHERE j.public_id = p_after;
        from_died := 'epoch'::timestamptz + p_edge * interval '1 microsecond';
        PERFORM insp.require(from_job IS NOT NULL AND from_died IS NOT NULL, 'after', 'Begin again without after.');
    END IF;
    FOR one IN
        SELECT d.code, d.detail, d.attempts, d.died_at, j.public_id, j.workflow, j.partner_id, p.name
        FROM (SELECT * FROM insp.dead x WHERE x.resolved_at IS NULL
                AND (x.died_at, x.job_id) < (from_died, from_job) AND (p_code IS NULL OR x.code = p_code)
                ORDER BY x.died_at DESC, x.job_id DESC LIMIT scanned + 1) d
            JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id]) JOIN insp.partner p ON p.id = j.partner_id
        ORDER BY d.died_at DESC, d.job_id DESC
    LOOP
        IF listed = p_limit OR seen = scanned THEN
            -- There may be more, after the last one that was looked at.
            id := last_id;
            partner := NULL;
            died := last_died;
            RETURN NEXT;
            EXIT;
        END IF;
        seen := seen + 1;
        last_id := one.public_id;
        last_died := (extract(epoch FROM one.died_at) * 1000000)::bigint;
        CONTINUE WHEN NOT (w.is_all OR one.partner_id = ANY (w.partners)) OR one.name <> p_partner;
        listed := listed + 1;
        id := one.public_id;
        partner := one.name;
        workflow := one.workflow;
        code := one.code;
        detail := one.detail;
        attempts := one.attempts;
        died := last_died;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_dead(bytea, text, text, bigint, uuid, integer) IS
    'Unresolved dead letters of an operator''s or auditor''s partners, newest first, from after one (when it died, in microseconds since 1970, and its id) on: of a partner, with an error code. A last row without a partner is the one after which to continue: each call looks at 1,000 at most';
GRANT EXECUTE ON FUNCTION insp.console_dead(bytea, text, text, bigint, uuid, integer) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_selection(
    p_partners integer[], p_code text, p_before timestamptz, p_last bigint, p_limit integer
) RETURNS TABLE (job_id bigint, id uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT d.job_id, j.public_id FROM insp.dead d JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id])
    WHERE d.job_id > p_last AND d.resolved_at IS NULL AND d.died_at <= p_before AND (p_code IS NULL OR d.code = p_code)
        AND (p_partners IS NULL OR j.partner_id = ANY (p_partners))
    ORDER BY d.job_id LIMIT p_limit
$$;
COMMENT ON FUNCTION insp.console_selection(integer[], text, timestamptz, bigint, integer) IS 'Dead letters that a task has not looked at yet';

CREATE OR REPLACE FUNCTION insp.console_partners(
    p_token_sha256 bytea, p_roles text[], p_partner text, OUT actor text, OUT partners integer[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
    number integer;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, p_roles);
    actor := w.actor;
    partners := CASE WHEN NOT w.is_all THEN w.partners END;
    IF p_partner IS NOT NULL THEN
        SELECT p.id INTO number FROM insp.partner p WHERE p.name = p_partner AND (w.is_all OR p.id = ANY (w.partners));
        IF NOT FOUND THEN
            PERFORM insp.refuse('PARTNER_UNKNOWN');
        END IF;
        partners := ARRAY[number];
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_partners(bytea, text[], text) IS
    'The partners of a person''s selection (null: every one); PARTNER_UNKNOWN for one that is not the person''s';

CREATE OR REPLACE FUNCTION insp.console_count(
    p_token_sha256 bytea, p_partner text, p_code text, OUT letters bigint, OUT before bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    s record;
    edge constant timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], p_partner);
    letters := (SELECT count(*) FROM insp.console_selection(s.partners, p_code, edge, 0, NULL));
    before := (extract(epoch FROM edge) * 1000000)::bigint;
END
$$;
COMMENT ON FUNCTION insp.console_count(bytea, text, text) IS
    'How many unresolved dead letters a selection has, as a preview for insp.console_act, and the time up to which it counted (microseconds since 1970)';
GRANT EXECUTE ON FUNCTION insp.console_count(bytea, text, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_begin_task(
    p_token_sha256 bytea, p_action text, p_partner text, p_code text, p_edge bigint, p_reason text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    s record;
    t insp.console_task;
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], p_partner);
    PERFORM insp.require(p_action IN ('rerun', 'resolve'), 'action', 'An action is rerun or resolve.');
    PERFORM insp.require(length(btrim(p_reason)) BETWEEN 1 AND 200, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.require(p_edge BETWEEN 1 AND 253402300799000000, 'before', 'before is the time of the preview.');
    INSERT INTO insp.console_task AS x (actor, action, partners, code, reason, before, total)
    SELECT s.actor, p_action, s.partners, p_code, btrim(p_reason), b.edge,
        (SELECT count(*) FROM insp.console_selection(s.partners, p_code, b.edge, 0, NULL))
    FROM (SELECT 'epoch'::timestamptz + p_edge * interval '1 microsecond' AS edge) b
    RETURNING * INTO t;
    PERFORM insp.console_begin(s.actor);
    PERFORM insp.record('console_task', 'task ' || t.id, jsonb_build_object('task', p_action, 'partner', p_partner, 'code', p_code,
        'letters', t.total, 'reason', t.reason));
    PERFORM insp.console_end();
    RETURN t.id;
END
$$;
COMMENT ON FUNCTION insp.console_begin_task(bytea, text, text, text, bigint, text) IS
    'Begins an action (rerun or resolve) on all dead letters of a selection that an operator saw counted; consoles work it off (insp.console_step). Recorded with its reason';
GRANT EXECUTE ON FUNCTION insp.console_begin_task(bytea, text, text, text, bigint, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_step(p_limit integer DEFAULT 100) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    t insp.console_task;
    one record;
    looked integer := 0;
BEGIN
    PERFORM insp.require(p_limit BETWEEN 1 AND 10000, 'limit', 'limit is 1 to 10,000.');
    -- Another console has it, or none is open.
    SELECT * INTO t FROM insp.console_task x WHERE x.ended_at IS NULL ORDER BY x.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM insp.console_begin(t.actor);
    FOR one IN SELECT * FROM insp.console_selection(t.partners, t.code, t.before, t.last, p_limit) LOOP
        looked := looked + 1;
        t.last := one.job_id;
        BEGIN
            IF t.action = 'rerun' THEN
                PERFORM insp.rerun(one.id);
            ELSE
                PERFORM insp.resolve_dead(one.id, t.reason);
            END IF;
            t.done := t.done + 1;
        EXCEPTION WHEN OTHERS THEN
            -- Nothing that passes by itself counts against a letter.
            IF insp.is_passing(SQLSTATE) AND SQLSTATE <> '55P03' THEN
                RAISE;
            END IF;
            t.refused := t.refused + 1;
        END;
    END LOOP;
    PERFORM insp.console_end();
    UPDATE insp.console_task x SET last = t.last, done = t.done, refused = t.refused,
        ended_at = CASE WHEN looked < p_limit THEN clock_timestamp() END
    WHERE x.id = t.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_step(integer) IS
    'Works off a batch of the oldest open task, for who began it; false: there is none, or another console has it. What is committed is done once';
GRANT EXECUTE ON FUNCTION insp.console_step(integer) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_tasks(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, who text, action text, partner text, code text, reason text, began double precision, total integer, done integer,
    refused integer, ended double precision, ended_by text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT t.id, t.actor, t.action,
        (SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM insp.partner p WHERE p.id = ANY (t.partners)), t.code, t.reason,
        extract(epoch FROM t.began_at)::double precision, t.total, t.done, t.refused,
        extract(epoch FROM t.ended_at)::double precision, t.ended_by
    FROM insp.console_task t WHERE w.is_all OR t.partners <@ w.partners ORDER BY t.id DESC LIMIT 20;
END
$$;
COMMENT ON FUNCTION insp.console_tasks(bytea) IS 'The last 20 tasks about no other than an operator''s or auditor''s partners, with how far they are';
GRANT EXECUTE ON FUNCTION insp.console_tasks(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_stop_task(p_token_sha256 bytea, p_task bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator']);
    UPDATE insp.console_task t SET ended_at = clock_timestamp(), ended_by = w.actor
    WHERE t.id = p_task AND t.ended_at IS NULL AND (w.is_all OR t.partners <@ w.partners);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM insp.console_begin(w.actor);
    PERFORM insp.record('console_stop_task', 'task ' || p_task);
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_stop_task(bytea, bigint) IS 'Stops a task after its current batch; false: it has ended. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_stop_task(bytea, bigint) TO insp_console;
