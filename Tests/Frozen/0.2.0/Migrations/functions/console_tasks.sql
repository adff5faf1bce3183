-- Actions of operators at the console on a whole selection: previewed, begun with a reason, listed and stopped. Batches
-- are worked off by console_batches.sql.
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
    -- No free words: a filter is kept with its task, and on record.
    PERFORM insp.require(coalesce(f ->> 'code', 'X') ~ '^[A-Z][A-Z0-9_]*$', 'code', 'An error code has capitals, digits and underscores.');
    PERFORM insp.require(coalesce(f ->> 'lane', 'bulk') IN ('urgent', 'normal', 'bulk'), 'lane', 'A lane is urgent, normal or bulk.');
    PERFORM insp.require(coalesce(f ->> 'state', 'none') = ANY (CASE p_kind WHEN 'jobs' THEN ARRAY['none', 'waiting', 'delayed', 'running']
        ELSE ARRAY['none', 'open', 'paused', 'disabled'] END), 'state',
        'Jobs are waiting, delayed or running; endpoints open, paused or disabled.');
    PERFORM insp.require(coalesce(f ->> 'endpoint', '1') ~ '^[0-9]{1,18}$', 'endpoint', 'It is an endpoint''s number.');
    RETURN f;
END
$$;
COMMENT ON FUNCTION insp.console_filter(text, jsonb) IS 'What narrows a selection of a kind, checked and without nulls';

CREATE OR REPLACE FUNCTION insp.was_seen(p_version xid, p_before bigint, p_also bigint[]) RETURNS boolean
-- Its callers set the search path: so it is no call for each row.
LANGUAGE sql STABLE AS $$
    -- A version lacks its epoch: it is taken for one of the last 2^32 transactions, up to a million of which may have begun since.
    -- No snapshot is asked: it lists no subtransactions, by which exception blocks write.
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1048576
        - ((pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1048576 - p_version::text::bigint) & 4294967295) < p_before
        OR p_version::text::bigint = ANY (p_also)
$$;
COMMENT ON FUNCTION insp.was_seen(xid, bigint, bigint[]) IS
    'Whether a preview counted a row''s version (its xmin): not if the row was added or changed since. p_before, p_also: insp.console_task.seen_before and seen_also';

CREATE OR REPLACE FUNCTION insp.console_selection(
    p_kind text, p_partners integer[], p_filter jsonb, p_before timestamptz, p_limit integer
) RETURNS TABLE (target bigint, queue integer, place bigint, version xid)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    queues integer[];
    wanted constant text := p_filter ->> 'code';
BEGIN
    -- A statement for each case: no plan of one walks others' dead letters for a partner's.
    IF p_kind = 'dead' AND p_partners IS NOT NULL THEN
        RETURN QUERY SELECT d.job_id, NULL::integer, d.job_id, d.version FROM unnest(p_partners) u (id) CROSS JOIN LATERAL (
            SELECT x.job_id, x.xmin AS version FROM insp.dead x
            WHERE x.partner_id = u.id AND x.resolved_at IS NULL AND x.died_at <= p_before AND (wanted IS NULL OR x.code = wanted)
            ORDER BY x.died_at, x.job_id LIMIT p_limit) d
        ORDER BY d.job_id LIMIT p_limit;
    ELSIF p_kind = 'dead' AND wanted IS NOT NULL THEN
        RETURN QUERY SELECT d.job_id, NULL::integer, d.job_id, d.xmin FROM insp.dead d
        WHERE d.resolved_at IS NULL AND d.died_at <= p_before AND d.code = wanted ORDER BY d.job_id LIMIT p_limit;
    ELSIF p_kind = 'dead' THEN
        RETURN QUERY SELECT d.job_id, NULL::integer, d.job_id, d.xmin FROM insp.dead d
        WHERE d.resolved_at IS NULL AND d.died_at <= p_before ORDER BY d.job_id LIMIT p_limit;
    ELSIF p_kind = 'jobs' THEN
        queues := ARRAY(SELECT q.id FROM insp.queue q WHERE (p_partners IS NULL OR q.partner_id = ANY (p_partners))
            AND (p_filter ->> 'lane' IS NULL OR q.lane = insp.lane_number(p_filter ->> 'lane')) ORDER BY q.id);
        -- Without a state: those that have not begun.
        -- Read in that order until p_limit are found: neither a long queue nor many queues are read, or sorted, beyond it.
        RETURN QUERY SELECT y.job_id, y.queue, y.seq, y.version FROM (
            SELECT x.job_id, x.queue, x.seq, x.version FROM (
                SELECT r.job_id, r.queue, r.seq, r.version FROM unnest(queues) u (id) CROSS JOIN LATERAL (
                    SELECT z.job_id, z.queue, z.seq, z.xmin AS version FROM insp.ready z
                    WHERE z.queue = u.id AND coalesce(p_filter ->> 'state', 'waiting') = 'waiting' ORDER BY z.seq LIMIT p_limit) r
                UNION ALL
                SELECT d.job_id, NULL, d.job_id, d.version FROM unnest(queues) u (id) CROSS JOIN LATERAL (
                    SELECT z.job_id, z.xmin AS version FROM insp.delayed z
                    WHERE z.queue = u.id AND coalesce(p_filter ->> 'state', 'delayed') = 'delayed'
                    ORDER BY z.run_at, z.job_id LIMIT p_limit) d
                UNION ALL
                SELECT l.job_id, NULL, l.job_id, l.xmin FROM insp.lease l
                WHERE l.queue = ANY (queues) AND p_filter ->> 'state' = 'running') x
                JOIN insp.job j ON j.id = ANY (ARRAY[x.job_id]) AND j.created_at <= p_before AND j.status < 128
            LIMIT p_limit) y
        ORDER BY y.queue, y.seq;
    ELSIF p_kind = 'callbacks' THEN
        RETURN QUERY SELECT w.callback_id, NULL::integer, w.callback_id, w.xmin
        FROM insp.endpoint e JOIN insp.callback_waiting w ON w.endpoint_id = e.id AND w.state = 'dead' AND w.state <> 'pending'
        WHERE (p_partners IS NULL OR e.partner_id = ANY (p_partners))
            AND (p_filter ->> 'endpoint' IS NULL OR e.id = (p_filter ->> 'endpoint')::bigint) AND w.due_at <= p_before
        ORDER BY w.callback_id LIMIT p_limit;
    ELSE
        RETURN QUERY SELECT e.id, NULL::integer, e.id, e.xmin FROM insp.endpoint e
        WHERE (p_partners IS NULL OR e.partner_id = ANY (p_partners)) AND (p_filter ->> 'state' IS NULL OR p_filter ->> 'state'
            = CASE WHEN NOT e.enabled THEN 'disabled' WHEN e.paused THEN 'paused' ELSE 'open' END)
        ORDER BY e.id LIMIT p_limit;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_selection(text, integer[], jsonb, timestamptz, integer) IS
    'The objects of a selection, in the order in which they are handled: internal numbers, the places of waiting jobs in their queues, and the version of the row that puts each there (for insp.was_seen)';

CREATE OR REPLACE FUNCTION insp.console_count_once(p_actor text, p_waits boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    key constant bigint := hashtextextended('insp console count ' || p_actor, 0);
BEGIN
    IF p_waits THEN
        PERFORM pg_advisory_xact_lock(key);
    ELSIF NOT pg_try_advisory_xact_lock(key) THEN
        RAISE lock_not_available;
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('SELECTION_BUSY', p_hint => 'Wait until it ends, at the latest in half a minute.');
END
$$;
COMMENT ON FUNCTION insp.console_count_once(text, boolean) IS
    'Until the transaction ends, refuses the person''s other counts at any console as SELECTION_BUSY; p_waits: after two seconds';

CREATE OR REPLACE FUNCTION insp.console_preview(
    p_token_sha256 bytea, p_kind text, p_filter jsonb, OUT total integer, OUT before_microseconds bigint, OUT ids text[], OUT partners text[],
    OUT what text[], OUT seen text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    f constant jsonb := insp.console_filter(p_kind, p_filter);
    s record;
    edge constant timestamptz := clock_timestamp();
    sample bigint[];
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], f ->> 'partner');
    PERFORM insp.console_count_once(s.actor, false);
    -- More than 1,000 transactions since the oldest one that runs are hardly ever counted; the rest is then left alone.
    SELECT count(*), (array_agg(x.target))[:20], concat(pg_snapshot_xmin(pg_current_snapshot()), ':', array_to_string((array_agg(
            DISTINCT x.version::text) FILTER (WHERE age(x.version) BETWEEN 0 AND age(pg_snapshot_xmin(pg_current_snapshot())::xid)))[:1000], ','))
    INTO total, sample, seen
    FROM insp.console_selection(p_kind, s.partners, f, edge, CASE p_kind WHEN 'jobs' THEN 5001 ELSE 1000000 END) x;
    before_microseconds := (extract(epoch FROM edge) * 1000000)::bigint;
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
    'The size of an operator''s selection (counted up to a million; of jobs up to 5,001: more than 5,000), the time of counting (since 1970) and what it saw, both for insp.console_begin_task, and the first 20. One at a time for each person (SELECTION_BUSY)';
GRANT EXECUTE ON FUNCTION insp.console_preview(bytea, text, jsonb) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_begin_task(
    p_token_sha256 bytea, p_kind text, p_action text, p_filter jsonb, p_edge_microseconds bigint, p_reason text, p_seen text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    f constant jsonb := insp.console_filter(p_kind, p_filter);
    actions constant text[] := CASE p_kind WHEN 'dead' THEN ARRAY['rerun', 'resolve'] WHEN 'jobs' THEN ARRAY['cancel']
        WHEN 'callbacks' THEN ARRAY['replay'] ELSE ARRAY['pause', 'resume', 'enable'] END;
    -- To enable an endpoint frees all callbacks that it holds, in portions.
    size constant integer := CASE p_kind WHEN 'endpoints' THEN 1 ELSE 1000 END;
    edge timestamptz;
    -- As the preview gives it.
    seen constant text := CASE WHEN length(p_seen) <= 12000 AND p_seen ~ '^[0-9]{1,18}:([0-9]{1,10}(,[0-9]{1,10})*)?$' THEN p_seen END;
    s record;
    t insp.console_task;
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], f ->> 'partner');
    PERFORM insp.require(p_action = ANY (actions), 'action', format('An action on %s is %s.', p_kind, array_to_string(actions, ' or ')));
    PERFORM insp.require(length(btrim(p_reason)) BETWEEN 1 AND 200, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.require(p_edge_microseconds BETWEEN 1 AND 253402300799000000, 'before', 'before is the time of the preview.');
    edge := 'epoch'::timestamptz + p_edge_microseconds * interval '1 microsecond';
    PERFORM insp.require(coalesce(edge <= clock_timestamp()
        AND split_part(seen, ':', 1)::bigint <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint, false),
        'before', 'Begin with a new preview: what it saw cannot be later than now.');
    -- The form was sent twice, as a double click does: the second call waits for the first, and finds its task.
    PERFORM insp.console_count_once(s.actor, true);
    SELECT * INTO t FROM insp.console_task x
    WHERE (x.actor, x.before, x.kind, x.action, x.filter) = (s.actor, edge, p_kind, p_action, f);
    IF FOUND THEN
        RETURN t.id;
    END IF;
    INSERT INTO insp.console_task (actor, kind, action, partners, filter, reason, before, total, seen_before, seen_also)
    VALUES (s.actor, p_kind, p_action, s.partners, f, btrim(p_reason), edge, 0, split_part(seen, ':', 1)::bigint,
        string_to_array(split_part(seen, ':', 2), ',')::bigint[]) RETURNING * INTO t;
    -- A batch is of one queue, so that its jobs are found there again.
    WITH chosen AS MATERIALIZED (
        SELECT x.target, x.queue, x.place, row_number() OVER (PARTITION BY x.queue ORDER BY x.place) AS n
        FROM insp.console_selection(p_kind, s.partners, f, t.before, 1000000) x
        WHERE insp.was_seen(x.version, t.seen_before, t.seen_also)
    ), batches AS (
        INSERT INTO insp.console_batch (task_id, number, targets, queue, first, last)
        SELECT t.id, row_number() OVER (ORDER BY c.queue, (c.n - 1) / size), array_agg(c.target ORDER BY c.n), c.queue, min(c.place),
            max(c.place)
        FROM chosen c GROUP BY c.queue, (c.n - 1) / size
    )
    UPDATE insp.console_task x SET total = c.total, ended_at = CASE WHEN c.total = 0 THEN clock_timestamp() END
    FROM (SELECT count(*)::integer AS total FROM chosen) c WHERE x.id = t.id RETURNING x.* INTO t;
    -- insp.console_end_sessions deletes sessions before it stops tasks: it waits for this one, or this one is refused.
    PERFORM FROM insp.console_session x WHERE x.token_sha256 = p_token_sha256 FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('UNAUTHENTICATED');
    END IF;
    PERFORM insp.console_begin(s.actor);
    PERFORM insp.record('console_task', 'task ' || t.id, jsonb_build_object('kind', p_kind, 'task', p_action, 'filter', f,
        'total', t.total, 'reason', t.reason));
    PERFORM insp.console_end();
    RETURN t.id;
END
$$;
COMMENT ON FUNCTION insp.console_begin_task(bytea, text, text, jsonb, bigint, text, text) IS
    'Begins an action on everything in a selection that an operator saw counted (insp.console_preview; at most a million at once), but on nothing that has joined it or changed since; consoles carry it out (insp.console_batch_take, insp.console_step). If the same person repeats the action on the same count, the first task is returned. Recorded with its reason';
GRANT EXECUTE ON FUNCTION insp.console_begin_task(bytea, text, text, jsonb, bigint, text, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_tasks(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, who text, kind text, action text, partner text, filter text, reason text, began timestamptz, total integer,
    done integer, refused integer, refusals text, ended timestamptz, ended_by text, failure text, may_stop boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
    -- Whose tasks the person may stop, as in insp.console_stop_task; null among them: everybody's.
    operated integer[];
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    SELECT coalesce(array_agg(g.partner_id), '{}') INTO operated
    FROM insp.console_session s JOIN insp.console_grant g ON g.session_id = s.id AND g.role = 'operator'
    WHERE s.token_sha256 = p_token_sha256;
    RETURN QUERY SELECT t.id, t.actor, t.kind, t.action,
        (SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM insp.partner p WHERE p.id = ANY (t.partners)),
        (SELECT string_agg(e.key || ' ' || e.value, ', ' ORDER BY e.key) FROM jsonb_each_text(t.filter - 'partner') e), t.reason,
        t.began_at, t.total, t.done, t.refused,
        (SELECT string_agg(e.key || ' ' || e.value, ', ' ORDER BY e.key) FROM jsonb_each_text(t.refusals) e),
        t.ended_at, t.ended_by, coalesce(t.failure,
            (SELECT max(b.failure) FROM insp.console_batch b WHERE b.task_id = t.id AND t.ended_at IS NULL)),
        t.ended_at IS NULL AND coalesce(array_position(operated, NULL) IS NOT NULL OR t.partners <@ operated, false)
    FROM insp.console_task t WHERE w.is_all OR t.partners <@ w.partners ORDER BY t.id DESC LIMIT 20;
END
$$;
COMMENT ON FUNCTION insp.console_tasks(bytea) IS 'The last 20 tasks that concern only an operator''s or auditor''s partners, with their progress; failure: the SQLSTATE that ended one, or with which a batch of an open one failed and waits; may_stop: insp.console_stop_task would stop it for the person';
GRANT EXECUTE ON FUNCTION insp.console_tasks(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_drop_batches(p_task bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A console that has one removes that itself.
    DELETE FROM insp.console_batch b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.console_batch x WHERE x.task_id = p_task FOR UPDATE SKIP LOCKED))
$$;
COMMENT ON FUNCTION insp.console_drop_batches(bigint) IS 'Removes the remaining batches of a task that has ended';

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
    PERFORM insp.console_drop_batches(p_task);
    PERFORM insp.console_begin(w.actor);
    PERFORM insp.record('console_stop_task', 'task ' || p_task, jsonb_build_object('done', t.done, 'refused', t.refusals));
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_stop_task(bytea, bigint) IS 'Stops a task after its current batch; false: it has ended. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_stop_task(bytea, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.purge_tasks(p_until timestamptz, p_limit integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    removed integer;
    n integer;
BEGIN
    -- The record of each is due as well.
    DELETE FROM insp.console_task t WHERE t.id = ANY (ARRAY(
        SELECT x.id FROM insp.console_task x WHERE x.ended_at <= p_until ORDER BY x.ended_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS removed = ROW_COUNT;
    -- What a console had when its task was stopped, and did not remove before it died.
    DELETE FROM insp.console_batch b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.console_batch x
        WHERE NOT EXISTS (SELECT FROM insp.console_task t WHERE t.id = x.task_id AND t.ended_at IS NULL)
        LIMIT p_limit FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN greatest(removed, n) >= p_limit;
END
$$;
COMMENT ON FUNCTION insp.purge_tasks(timestamptz, integer) IS
    'Removes tasks that ended until then, and batches of tasks that have ended, about p_limit of each; returns whether more may be due';

CREATE OR REPLACE FUNCTION insp.forget_reasons(p_tasks bigint[]) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    digests text[];
BEGIN
    UPDATE insp.console_task t SET reason = NULL WHERE t.id = ANY (p_tasks) AND t.reason IS NOT NULL;
    WITH gone AS (
        UPDATE insp.record r SET words = NULL, words_salt = NULL
        WHERE r.chain <> 'access' AND r.subject = ANY (ARRAY(SELECT 'task ' || u FROM unnest(p_tasks) u)) AND r.words IS NOT NULL
        RETURNING r.words_sha256
    )
    SELECT array_agg(encode(g.words_sha256, 'hex')) INTO digests FROM gone g;
    RETURN digests;
END
$$;
COMMENT ON FUNCTION insp.forget_reasons(bigint[]) IS
    'Removes the reasons of tasks, also from the record; returns the digests of what the record had, null: nothing';

CREATE OR REPLACE FUNCTION insp.tasks_about(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    -- If nobody works at the console, erasure and retention read nothing more.
    IF NOT EXISTS (SELECT FROM insp.console_task t WHERE t.reason IS NOT NULL) THEN
        RETURN '{}'::bigint[];
    END IF;
    -- No task lists its jobs for years: the record of each job says who did what to it, and when.
    RETURN ARRAY(
        SELECT DISTINCT t.id FROM insp.job j, LATERAL (SELECT 'msg_' || replace(j.public_id::text, '-', '') AS name) n,
            LATERAL (VALUES (j.public_id::text), (n.name), (n.name || '_4'), (n.name || '_8'), (n.name || '_16'), (n.name || '_32'),
                (n.name || '_64')) AS s (subject)
            JOIN insp.record r ON r.chain <> 'access' AND r.subject = s.subject
            JOIN insp.console_task t ON t.actor = r.actor AND t.began_at <= r.at + interval '1 minute'
        WHERE j.id = ANY (p_jobs) AND t.reason IS NOT NULL AND coalesce(t.ended_at >= r.at - interval '1 minute', true)
            AND coalesce(j.partner_id = ANY (t.partners), true)
            AND r.action = CASE t.action WHEN 'resolve' THEN 'resolve_dead' WHEN 'replay' THEN 'callback_replay' ELSE t.action END);
END
$$;
COMMENT ON FUNCTION insp.tasks_about(bigint[]) IS 'Tasks that did something to one of these jobs or its callbacks, and have their reasons';

CREATE OR REPLACE FUNCTION insp.forget_tasks(p_partner integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    digests constant text[] := insp.forget_reasons(ARRAY(SELECT t.id FROM insp.console_task t WHERE p_partner = ANY (t.partners)));
BEGIN
    IF digests IS NOT NULL THEN
        PERFORM insp.record('forget_words', 'record', jsonb_build_object('words', digests));
    END IF;
    -- A console that has a batch removes that itself.
    DELETE FROM insp.console_batch b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.console_batch x JOIN insp.console_task t ON t.id = x.task_id
        WHERE t.partners = ARRAY[p_partner] FOR UPDATE OF x SKIP LOCKED));
    DELETE FROM insp.console_task t WHERE t.partners = ARRAY[p_partner];
    UPDATE insp.console_task t SET partners = array_remove(t.partners, p_partner) WHERE p_partner = ANY (t.partners);
END
$$;
COMMENT ON FUNCTION insp.forget_tasks(integer) IS
    'Removes the tasks about a partner alone, whether they have ended or not, and the reasons of those about others as well';
