-- Actions of operators at the console on a whole selection: previewed, begun with a reason, and worked off in batches.
-- After: record

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

CREATE OR REPLACE FUNCTION insp.console_filter(p_kind text, p_filter jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    known constant text[] := CASE p_kind WHEN 'dead' THEN ARRAY['partner', 'code'] WHEN 'jobs' THEN ARRAY['partner', 'lane', 'state']
        WHEN 'callbacks' THEN ARRAY['partner', 'endpoint'] WHEN 'endpoints' THEN ARRAY['partner', 'state'] END;
    f jsonb := jsonb '{}';
BEGIN
    PERFORM insp.require(coalesce(jsonb_typeof(p_filter), 'object') = 'object', 'filter', 'It is a JSON object.');
    f := jsonb_strip_nulls(coalesce(p_filter, '{}'));
    PERFORM insp.require(known IS NOT NULL, 'kind', 'A selection is of dead, jobs, callbacks or endpoints.');
    PERFORM insp.require((SELECT count(*) FROM jsonb_each(f) e WHERE e.key <> ALL (known) OR jsonb_typeof(e.value) <> 'string'
        OR length(e.value #>> '{}') > 100) = 0, 'filter', format('A selection of %s is narrowed by %s.', p_kind, array_to_string(known, ', ')));
    PERFORM insp.require(coalesce(f ->> 'lane', 'bulk') IN ('urgent', 'normal', 'bulk'), 'lane', 'A lane is urgent, normal or bulk.');
    PERFORM insp.require(coalesce(f ->> 'state', 'none') = ANY (CASE p_kind WHEN 'jobs' THEN ARRAY['none', 'waiting', 'delayed', 'running']
        ELSE ARRAY['none', 'open', 'paused', 'disabled'] END), 'state',
        'Jobs are waiting, delayed or running; endpoints open, paused or disabled.');
    PERFORM insp.require(coalesce(f ->> 'endpoint', '1') ~ '^[0-9]{1,18}$', 'endpoint', 'It is an endpoint''s number.');
    RETURN f;
END
$$;
COMMENT ON FUNCTION insp.console_filter(text, jsonb) IS 'What narrows a selection of a kind, checked and without nulls';

CREATE OR REPLACE FUNCTION insp.console_selection(
    p_kind text, p_partners integer[], p_filter jsonb, p_before timestamptz, p_limit integer
) RETURNS TABLE (target bigint, queue integer, place bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    queues integer[];
BEGIN
    IF p_kind = 'dead' THEN
        RETURN QUERY SELECT d.job_id, NULL::integer, d.job_id FROM insp.dead d
        WHERE d.resolved_at IS NULL AND d.died_at <= p_before AND (p_filter ->> 'code' IS NULL OR d.code = p_filter ->> 'code')
            AND (p_partners IS NULL OR EXISTS (
                SELECT FROM insp.job j WHERE j.id = ANY (ARRAY[d.job_id]) AND j.partner_id = ANY (p_partners)))
        ORDER BY d.job_id LIMIT p_limit;
    ELSIF p_kind = 'jobs' THEN
        queues := ARRAY(SELECT q.id FROM insp.queue q WHERE (p_partners IS NULL OR q.partner_id = ANY (p_partners))
            AND (p_filter ->> 'lane' IS NULL OR q.lane = insp.lane_number(p_filter ->> 'lane')));
        -- Without a state: those that have not begun.
        RETURN QUERY SELECT x.job_id, x.queue, x.seq FROM (
            SELECT r.job_id, r.queue, r.seq FROM insp.ready r
            WHERE r.queue = ANY (queues) AND coalesce(p_filter ->> 'state', 'waiting') = 'waiting'
            UNION ALL
            SELECT d.job_id, NULL, d.job_id FROM insp.delayed d
            WHERE d.queue = ANY (queues) AND coalesce(p_filter ->> 'state', 'delayed') = 'delayed'
            UNION ALL
            SELECT l.job_id, NULL, l.job_id FROM insp.lease l WHERE l.queue = ANY (queues) AND p_filter ->> 'state' = 'running') x
            JOIN insp.job j ON j.id = ANY (ARRAY[x.job_id]) AND j.created_at <= p_before AND j.status < 128
        ORDER BY x.queue, x.seq LIMIT p_limit;
    ELSIF p_kind = 'callbacks' THEN
        RETURN QUERY SELECT w.callback_id, NULL::integer, w.callback_id
        FROM insp.endpoint e JOIN insp.callback_waiting w ON w.endpoint_id = e.id AND w.state = 'dead' AND w.state <> 'pending'
        WHERE (p_partners IS NULL OR e.partner_id = ANY (p_partners))
            AND (p_filter ->> 'endpoint' IS NULL OR e.id = (p_filter ->> 'endpoint')::bigint) AND w.due_at <= p_before
        ORDER BY w.callback_id LIMIT p_limit;
    ELSE
        RETURN QUERY SELECT e.id, NULL::integer, e.id FROM insp.endpoint e
        WHERE (p_partners IS NULL OR e.partner_id = ANY (p_partners)) AND (p_filter ->> 'state' IS NULL OR p_filter ->> 'state'
            = CASE WHEN NOT e.enabled THEN 'disabled' WHEN e.paused THEN 'paused' ELSE 'open' END)
        ORDER BY e.id LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_selection(text, integer[], jsonb, timestamptz, integer) IS
    'What a selection has, in the order in which it is worked off: internal numbers, and the places of waiting jobs in their queues';

CREATE OR REPLACE FUNCTION insp.console_preview(
    p_token_sha256 bytea, p_kind text, p_filter jsonb, OUT total integer, OUT before bigint, OUT ids text[], OUT partners text[],
    OUT what text[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    f constant jsonb := insp.console_filter(p_kind, p_filter);
    s record;
    edge constant timestamptz := clock_timestamp();
    sample bigint[];
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], f ->> 'partner');
    SELECT count(*), (array_agg(x.target))[:20] INTO total, sample
    FROM insp.console_selection(p_kind, s.partners, f, edge, 1000000) x;
    before := (extract(epoch FROM edge) * 1000000)::bigint;
    SELECT array_agg(y.id ORDER BY y.n), array_agg(y.partner ORDER BY y.n), array_agg(y.what ORDER BY y.n)
    INTO ids, partners, what FROM (
        SELECT u.n, coalesce(j.public_id::text, c.webhook_id, e.id::text) AS id, p.name AS partner,
            CASE p_kind WHEN 'dead' THEN (SELECT d.code FROM insp.dead d WHERE d.job_id = u.target)
                WHEN 'jobs' THEN insp.lane_name(j.lane) || ', ' || j.workflow
                WHEN 'callbacks' THEN c.event ELSE coalesce(insp.url_origin(e.url), 'no URL') END AS what
        FROM unnest(sample) WITH ORDINALITY AS u (target, n)
            LEFT JOIN insp.job j ON p_kind IN ('dead', 'jobs') AND j.id = ANY (ARRAY[u.target])
            LEFT JOIN insp.callback c ON p_kind = 'callbacks' AND c.id = u.target
            LEFT JOIN insp.endpoint e ON e.id = CASE p_kind WHEN 'endpoints' THEN u.target ELSE c.endpoint_id END
            LEFT JOIN insp.partner p ON p.id = coalesce(j.partner_id, e.partner_id)) y;
END
$$;
COMMENT ON FUNCTION insp.console_preview(bytea, text, jsonb) IS
    'How many a selection of an operator has (counted up to a million), the time of counting (microseconds since 1970) for insp.console_begin_task, and the first 20';
GRANT EXECUTE ON FUNCTION insp.console_preview(bytea, text, jsonb) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_begin_task(
    p_token_sha256 bytea, p_kind text, p_action text, p_filter jsonb, p_edge bigint, p_reason text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    f constant jsonb := insp.console_filter(p_kind, p_filter);
    actions constant text[] := CASE p_kind WHEN 'dead' THEN ARRAY['rerun', 'resolve'] WHEN 'jobs' THEN ARRAY['cancel']
        WHEN 'callbacks' THEN ARRAY['replay'] ELSE ARRAY['pause', 'resume', 'enable'] END;
    -- To enable an endpoint frees all callbacks that it holds.
    size constant integer := CASE p_kind WHEN 'endpoints' THEN 20 ELSE 1000 END;
    s record;
    t insp.console_task;
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], f ->> 'partner');
    PERFORM insp.require(p_action = ANY (actions), 'action', format('An action on %s is %s.', p_kind, array_to_string(actions, ' or ')));
    PERFORM insp.require(length(btrim(p_reason)) BETWEEN 1 AND 200, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.require(p_edge BETWEEN 1 AND 253402300799000000, 'before', 'before is the time of the preview.');
    INSERT INTO insp.console_task (actor, kind, action, partners, filter, reason, before, total)
    VALUES (s.actor, p_kind, p_action, s.partners, f, btrim(p_reason), 'epoch'::timestamptz + p_edge * interval '1 microsecond', 0)
    RETURNING * INTO t;
    -- A batch is of one queue, so that its jobs are found there again.
    WITH chosen AS MATERIALIZED (
        SELECT x.target, x.queue, x.place, row_number() OVER (PARTITION BY x.queue ORDER BY x.place) AS n
        FROM insp.console_selection(p_kind, s.partners, f, t.before, 1000000) x
    ), batches AS (
        INSERT INTO insp.console_batch (task_id, number, targets, queue, first, last)
        SELECT t.id, row_number() OVER (ORDER BY c.queue, (c.n - 1) / size), array_agg(c.target ORDER BY c.n), c.queue, min(c.place),
            max(c.place)
        FROM chosen c GROUP BY c.queue, (c.n - 1) / size
    )
    UPDATE insp.console_task x SET total = c.total, ended_at = CASE WHEN c.total = 0 THEN clock_timestamp() END
    FROM (SELECT count(*)::integer AS total FROM chosen) c WHERE x.id = t.id RETURNING x.* INTO t;
    PERFORM insp.console_begin(s.actor);
    PERFORM insp.record('console_task', 'task ' || t.id, jsonb_build_object('kind', p_kind, 'task', p_action, 'filter', f,
        'total', t.total, 'reason', t.reason));
    PERFORM insp.console_end();
    RETURN t.id;
END
$$;
COMMENT ON FUNCTION insp.console_begin_task(bytea, text, text, jsonb, bigint, text) IS
    'Begins an action on everything in a selection that an operator saw counted (at most a million at once); consoles work it off (insp.console_step). Recorded with its reason';
GRANT EXECUTE ON FUNCTION insp.console_begin_task(bytea, text, text, jsonb, bigint, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_one(p_action text, p_target bigint, p_reason text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    id constant uuid := CASE WHEN p_action IN ('rerun', 'resolve', 'cancel') THEN (
        SELECT j.public_id FROM insp.job j WHERE j.id = ANY (ARRAY[p_target])) END;
BEGIN
    CASE p_action
    WHEN 'rerun' THEN
        PERFORM FROM insp.dead d WHERE d.job_id = p_target AND d.resolved_at IS NULL FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        PERFORM insp.rerun(id);
    WHEN 'resolve' THEN RETURN insp.resolve_dead(id, p_reason);
    WHEN 'cancel' THEN RETURN insp.cancel(id);
    WHEN 'replay' THEN
        PERFORM FROM insp.callback_waiting w WHERE w.callback_id = p_target AND w.state = 'dead' FOR UPDATE SKIP LOCKED;
        RETURN FOUND AND insp.callback_replay((SELECT c.webhook_id FROM insp.callback c WHERE c.id = p_target));
    WHEN 'pause' THEN
        IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.id = p_target AND NOT e.paused) THEN
            RETURN false;
        END IF;
        PERFORM insp.callback_pause(p_target, p_reason);
    WHEN 'resume' THEN
        IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.id = p_target AND e.paused) THEN
            RETURN false;
        END IF;
        PERFORM insp.callback_resume(p_target);
    WHEN 'enable' THEN
        IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.id = p_target AND NOT e.enabled) THEN
            RETURN false;
        END IF;
        PERFORM insp.callback_enable(p_target);
    END CASE;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_one(text, bigint, text) IS 'A task''s action on one object; false: it was done already';

CREATE OR REPLACE FUNCTION insp.console_singly(
    p_action text, p_targets bigint[], p_reason text, OUT done integer, OUT refusals jsonb
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    one bigint;
    code text;
BEGIN
    done := 0;
    refusals := '{}';
    FOREACH one IN ARRAY p_targets LOOP
        BEGIN
            IF insp.console_one(p_action, one, p_reason) THEN
                done := done + 1;
            ELSE
                refusals := insp.tally(refusals, 'already');
            END IF;
        EXCEPTION WHEN OTHERS THEN
            IF NOT insp.may_be_of_row(SQLSTATE) AND SQLSTATE <> '55P03' THEN
                RAISE;
            END IF;
            GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
            refusals := insp.tally(refusals, CASE WHEN SQLSTATE = '55P03' THEN 'ROW_LOCKED' ELSE coalesce(nullif(code, ''), SQLSTATE) END);
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_singly(text, bigint[], text) IS
    'A task''s action on some objects, one by one: what cannot be done to one keeps no other from it';

CREATE OR REPLACE FUNCTION insp.console_step() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    b insp.console_batch;
    t insp.console_task;
    r record;
BEGIN
    -- Another console has the others. A short task does not wait for the end of a long one.
    SELECT x.* INTO b FROM insp.console_batch x JOIN insp.console_task y ON y.id = x.task_id
    WHERE y.ended_at IS NULL ORDER BY x.number, x.task_id LIMIT 1 FOR UPDATE OF x SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO t FROM insp.console_task x WHERE x.id = b.task_id;
    PERFORM insp.console_begin(t.actor);
    BEGIN
        CASE t.action
        WHEN 'rerun' THEN SELECT * INTO r FROM insp.rerun_each(b.targets);
        WHEN 'resolve' THEN SELECT * INTO r FROM insp.resolve_each(b.targets, t.reason);
        WHEN 'cancel' THEN SELECT * INTO r FROM insp.cancel_each(b.targets, b.queue, b.first, b.last);
        WHEN 'replay' THEN SELECT * INTO r FROM insp.replay_each(b.targets);
        ELSE SELECT * INTO r FROM insp.console_singly(t.action, b.targets, t.reason);
        END CASE;
    EXCEPTION WHEN OTHERS THEN
        IF NOT insp.may_be_of_row(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        END IF;
        SELECT * INTO r FROM insp.console_singly(t.action, b.targets, t.reason);
    END;
    DELETE FROM insp.console_batch x WHERE x.task_id = b.task_id AND x.number = b.number;
    -- Last, since other consoles wait for this row, and none of them in vain: it is free once a batch is committed.
    PERFORM set_config('lock_timeout', '20s', true);
    PERFORM FROM insp.console_task x WHERE x.id = b.task_id FOR UPDATE;
    UPDATE insp.console_task x SET done = x.done + r.done,
        refused = x.refused + coalesce((SELECT sum(e.value::integer) FROM jsonb_each_text(r.refusals) e), 0),
        refusals = coalesce((SELECT jsonb_object_agg(v.key, v.n) FROM (
            SELECT w.key, sum(w.value::integer) AS n
            FROM (SELECT * FROM jsonb_each_text(x.refusals) UNION ALL SELECT * FROM jsonb_each_text(r.refusals)) w
            GROUP BY w.key) v), '{}'),
        ended_at = coalesce(x.ended_at, CASE WHEN NOT EXISTS (
            SELECT FROM insp.console_batch y WHERE y.task_id = x.id) THEN clock_timestamp() END)
    WHERE x.id = b.task_id RETURNING x.* INTO t;
    IF t.ended_at IS NOT NULL AND t.ended_by IS NULL THEN
        PERFORM insp.record('console_task_end', 'task ' || t.id, jsonb_build_object('done', t.done, 'refused', t.refusals));
    END IF;
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_step() IS
    'Works off a batch of an open task, for who began it; false: there is none that another console does not have. What is committed is done once';
GRANT EXECUTE ON FUNCTION insp.console_step() TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_tasks(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, who text, kind text, action text, partner text, filter text, reason text, began double precision, total integer,
    done integer, refused integer, refusals text, ended double precision, ended_by text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT t.id, t.actor, t.kind, t.action,
        (SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM insp.partner p WHERE p.id = ANY (t.partners)),
        (SELECT string_agg(e.key || ' ' || e.value, ', ' ORDER BY e.key) FROM jsonb_each_text(t.filter - 'partner') e), t.reason,
        extract(epoch FROM t.began_at)::double precision, t.total, t.done, t.refused,
        (SELECT string_agg(e.key || ' ' || e.value, ', ' ORDER BY e.key) FROM jsonb_each_text(t.refusals) e),
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
    t insp.console_task;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator']);
    UPDATE insp.console_task x SET ended_at = clock_timestamp(), ended_by = w.actor
    WHERE x.id = p_task AND x.ended_at IS NULL AND (w.is_all OR x.partners <@ w.partners) RETURNING x.* INTO t;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- A console that has one removes that itself.
    DELETE FROM insp.console_batch b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.console_batch x WHERE x.task_id = p_task FOR UPDATE SKIP LOCKED));
    PERFORM insp.console_begin(w.actor);
    PERFORM insp.record('console_stop_task', 'task ' || p_task, jsonb_build_object('done', t.done, 'refused', t.refusals));
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_stop_task(bytea, bigint) IS 'Stops a task after its current batch; false: it has ended. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_stop_task(bytea, bigint) TO insp_console;
