-- Batches of the actions on whole selections, as consoles work them off. An attempt is counted before it is made: one that fails,
-- or whose console or server dies, halves the batch, and what fails alone is refused. So every task goes on, and ends.
-- After: console_tasks, selections, endpoints

CREATE OR REPLACE FUNCTION insp.console_one(p_action text, p_target bigint, p_reason text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    id uuid;
BEGIN
    IF p_action IN ('rerun', 'resolve', 'cancel') THEN
        -- The calls below wait for seconds for a job that somebody holds: with seven such jobs, a batch would outlast its
        -- statement.
        SELECT j.public_id INTO id FROM insp.job j WHERE j.id = ANY (ARRAY[p_target]) FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            PERFORM insp.refuse('ROW_LOCKED');
        END IF;
    END IF;
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
    END CASE;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_one(text, bigint, text) IS 'A task''s action on one object; false: it was done already';

CREATE OR REPLACE FUNCTION insp.console_singly(
    p_action text, p_targets bigint[], p_reason text, OUT done integer, OUT refusals jsonb, OUT rest bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    code text;
    -- Well below a console's statement time-out, whatever one object takes.
    deadline constant timestamptz := clock_timestamp() + interval '5 seconds';
BEGIN
    done := 0;
    refusals := '{}';
    rest := '{}'::bigint[];
    FOR n IN 1..cardinality(p_targets) LOOP
        IF n > 1 AND clock_timestamp() > deadline THEN
            rest := p_targets[n:];
            RETURN;
        END IF;
        BEGIN
            IF insp.console_one(p_action, p_targets[n], p_reason) THEN
                done := done + 1;
            ELSE
                refusals := insp.tally(refusals, 'already');
            END IF;
        EXCEPTION WHEN OTHERS THEN
            IF NOT insp.may_be_of_row(SQLSTATE) AND SQLSTATE <> '55P03' THEN
                RAISE;
            END IF;
            GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
            refusals := insp.tally(refusals, CASE WHEN SQLSTATE = '55P03' THEN 'ROW_LOCKED'
                ELSE coalesce(nullif(code, ''), SQLSTATE) END);
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_singly(text, bigint[], text) IS
    'A task''s action on some objects, one by one: a failure on one does not affect the others. rest: those for which no time was left';

CREATE OR REPLACE FUNCTION insp.console_tally(p_task bigint, p_done integer, p_refusals jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '20s' AS $$
DECLARE
    t insp.console_task;
BEGIN
    -- Last in a transaction, since other consoles wait for this row, and none of them in vain: it is free once a batch is
    -- committed.
    PERFORM FROM insp.console_task x WHERE x.id = p_task FOR UPDATE;
    UPDATE insp.console_task x SET done = x.done + p_done,
        refused = x.refused + coalesce((SELECT sum(e.value::integer) FROM jsonb_each_text(p_refusals) e), 0),
        refusals = coalesce((SELECT jsonb_object_agg(v.key, v.n) FROM (
            SELECT w.key, sum(w.value::integer) AS n
            FROM (SELECT * FROM jsonb_each_text(x.refusals) UNION ALL SELECT * FROM jsonb_each_text(p_refusals)) w
            GROUP BY w.key) v), '{}'),
        ended_at = coalesce(x.ended_at, CASE WHEN NOT EXISTS (
            SELECT FROM insp.console_batch y WHERE y.task_id = x.id) THEN clock_timestamp() END)
    WHERE x.id = p_task RETURNING x.* INTO t;
    IF t.ended_at IS NOT NULL AND t.ended_by IS NULL AND t.failure IS NULL THEN
        PERFORM insp.record('console_task_end', 'task ' || t.id, jsonb_build_object('done', t.done, 'refused', t.refusals));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_tally(bigint, integer, jsonb) IS 'Adds to a task''s counts, and ends it with its last batch, on record';

CREATE OR REPLACE FUNCTION insp.console_batch_take(OUT task bigint, OUT batch integer, OUT attempt bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    b insp.console_batch;
    half integer;
    -- One object fails alone: not once, since a console may have been killed meanwhile.
    patience constant integer := 3;
BEGIN
    LOOP
        -- Another console has the others. A short task does not wait for the end of a long one.
        SELECT x.* INTO b FROM insp.console_batch x JOIN insp.console_task y ON y.id = x.task_id
        WHERE y.ended_at IS NULL AND coalesce(x.until <= clock_timestamp(), true)
        ORDER BY x.number, x.task_id LIMIT 1 FOR UPDATE OF x SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        half := cardinality(b.targets) / 2;
        EXIT WHEN b.attempts = 0 OR half = 0 AND b.attempts < patience;
        IF half > 0 THEN
            PERFORM FROM insp.console_task x WHERE x.id = b.task_id FOR UPDATE;
            INSERT INTO insp.console_batch (task_id, number, targets, queue, first, last)
            SELECT b.task_id, max(x.number) + 1, b.targets[half + 1:], b.queue, b.first, b.last
            FROM insp.console_batch x WHERE x.task_id = b.task_id;
            b.attempts := 0::smallint;
            UPDATE insp.console_batch x SET targets = b.targets[:half] WHERE (x.task_id, x.number) = (b.task_id, b.number);
            EXIT;
        END IF;
        DELETE FROM insp.console_batch x WHERE (x.task_id, x.number) = (b.task_id, b.number);
        PERFORM insp.console_begin((SELECT x.actor FROM insp.console_task x WHERE x.id = b.task_id));
        PERFORM insp.console_tally(b.task_id, 0, jsonb_build_object(coalesce(b.failure, 'INTERNAL_ERROR'), 1));
        PERFORM insp.console_end();
    END LOOP;
    task := b.task_id;
    batch := b.number;
    -- Until the attempt begins, and holds the row.
    UPDATE insp.console_batch x
    SET attempts = b.attempts + 1, attempt = DEFAULT, until = clock_timestamp() + interval '15 seconds', failure = NULL
    WHERE (x.task_id, x.number) = (task, batch) RETURNING x.attempt INTO attempt;
EXCEPTION WHEN lock_not_available THEN
    -- The task''s row: another console ends a batch of it.
    task := NULL;
    batch := NULL;
    attempt := NULL;
END
$$;
COMMENT ON FUNCTION insp.console_batch_take() IS
    'Takes a batch of an open task, counts the attempt and numbers it anew, to be committed before insp.console_step makes it; null: there is none that another console does not have. One whose last attempt failed is halved; an object that failed three times alone is refused with the failure''s SQLSTATE';
GRANT EXECUTE ON FUNCTION insp.console_batch_take() TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_step(p_task bigint, p_batch integer, p_attempt bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    b insp.console_batch;
    t insp.console_task;
    r record;
    part record;
    code text;
    rest bigint[] := '{}'::bigint[];
    action text;
BEGIN
    SELECT * INTO b FROM insp.console_batch x WHERE x.task_id = p_task AND x.number = p_batch AND x.attempt = p_attempt
    FOR UPDATE SKIP LOCKED;
    SELECT * INTO t FROM insp.console_task x WHERE x.id = b.task_id AND x.ended_at IS NULL;
    IF NOT FOUND THEN
        -- Who stopped it, or erased the partner, did not wait for this row.
        DELETE FROM insp.console_batch x WHERE (x.task_id, x.number) = (b.task_id, b.number);
        RETURN false;
    END IF;
    PERFORM insp.console_begin(t.actor);
    action := t.action;
    BEGIN
        IF t.kind = 'endpoints' AND b.freed IS NULL THEN
            -- Locked until it is done: a batch has one.
            PERFORM FROM insp.endpoint e WHERE e.id = b.targets[1] FOR NO KEY UPDATE;
            -- By a separate statement, which sees what the lock has waited for.
            PERFORM FROM insp.endpoint e WHERE e.id = b.targets[1] AND insp.was_seen(e.xmin, t.seen_before, t.seen_also);
            action := CASE WHEN FOUND THEN t.action ELSE 'leave' END;
        END IF;
        CASE action
        WHEN 'leave' THEN SELECT 0 AS done, jsonb_build_object('changed', 1) AS refusals INTO r;
        WHEN 'rerun' THEN SELECT * INTO r FROM insp.rerun_each(b.targets);
        WHEN 'resolve' THEN SELECT * INTO r FROM insp.resolve_each(b.targets, t.reason);
        WHEN 'cancel' THEN SELECT * INTO r FROM insp.cancel_each(b.targets, b.queue, b.first, b.last);
        WHEN 'replay' THEN SELECT * INTO r FROM insp.replay_each(b.targets);
        WHEN 'enable' THEN
            IF b.freed IS NULL AND EXISTS (SELECT FROM insp.endpoint e WHERE e.id = b.targets[1] AND e.enabled) THEN
                SELECT 0 AS done, jsonb_build_object('already', 1) AS refusals INTO r;
            ELSE
                SELECT * INTO part FROM insp.callback_enable_part(b.targets[1], b.freed, b.reached, 10000);
                rest := CASE WHEN part.more THEN b.targets ELSE rest END;
                SELECT CASE WHEN part.more THEN 0 ELSE 1 END AS done, jsonb '{}' AS refusals INTO r;
                b.freed := part.freed;
                b.reached := part.reached;
            END IF;
        ELSE
            SELECT * INTO r FROM insp.console_singly(t.action, b.targets, t.reason);
            rest := r.rest;
        END CASE;
    EXCEPTION WHEN OTHERS THEN
        IF NOT insp.may_be_of_row(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        ELSIF t.kind <> 'endpoints' THEN
            SELECT * INTO r FROM insp.console_singly(t.action, b.targets, t.reason);
            rest := r.rest;
        ELSIF b.freed IS NOT NULL THEN
            -- It is enabled; claims free the rest.
            SELECT 1 AS done, jsonb '{}' AS refusals INTO r;
        ELSE
            GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
            SELECT 0 AS done, jsonb_build_object(CASE WHEN SQLSTATE = '55P03' THEN 'ROW_LOCKED'
                ELSE coalesce(nullif(code, ''), SQLSTATE) END, 1) AS refusals INTO r;
        END IF;
    END;
    IF rest <> '{}' THEN
        UPDATE insp.console_batch x SET targets = rest, attempts = 0, attempt = DEFAULT, until = NULL, freed = b.freed, reached = b.reached
        WHERE (x.task_id, x.number) = (b.task_id, b.number);
    ELSE
        DELETE FROM insp.console_batch x WHERE (x.task_id, x.number) = (b.task_id, b.number);
    END IF;
    PERFORM insp.console_tally(t.id, r.done, r.refusals);
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_step(bigint, integer, bigint) IS
    'Makes an attempt at a batch, for the person who began the task: what is committed is done once. False: the task was stopped, or another console has the batch. Objects for which no time is left stay in it';
GRANT EXECUTE ON FUNCTION insp.console_step(bigint, integer, bigint) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_batch_fail(p_task bigint, p_batch integer, p_attempt bigint, p_state text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    -- A row''s own fault never comes here: insp.console_step refuses that row. What is left would recur with every batch: a missing
    -- right or function (42), and whatever else does not pass.
    is_permanent constant boolean := NOT insp.is_passing(p_state) OR left(p_state, 2) = '42';
    -- A batch may also take too long or too much memory, or deadlock with others.
    is_own constant boolean := p_state IN ('57014', '55P03', '40001', '40P01', '53200', 'XX000');
    t insp.console_task;
BEGIN
    UPDATE insp.console_batch x SET failure = p_state, attempts = x.attempts - CASE WHEN is_own THEN 0 ELSE 1 END, attempt = DEFAULT,
        until = CASE WHEN NOT is_own THEN clock_timestamp() + interval '5 seconds' END
    WHERE x.ctid = ANY (ARRAY(SELECT y.ctid FROM insp.console_batch y
        WHERE y.task_id = p_task AND y.number = p_batch AND y.attempt = p_attempt FOR UPDATE SKIP LOCKED));
    IF NOT FOUND OR NOT is_permanent THEN
        RETURN;
    END IF;
    UPDATE insp.console_task x SET ended_at = clock_timestamp(), failure = p_state
    WHERE x.id = p_task AND x.ended_at IS NULL RETURNING x.* INTO t;
    IF FOUND THEN
        PERFORM insp.console_drop_batches(p_task);
        PERFORM insp.console_begin(t.actor);
        PERFORM insp.record('console_task_end', 'task ' || p_task,
            jsonb_build_object('done', t.done, 'refused', t.refusals, 'failure', p_state));
        PERFORM insp.console_end();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_batch_fail(bigint, integer, bigint, text) IS
    'Puts a batch back whose attempt failed with an SQLSTATE. A fault of the server does not count against the batch, which is tried again in 5 seconds; one that would recur with every batch ends the task, on record. Without effect if the attempt is not the batch''s last one';
GRANT EXECUTE ON FUNCTION insp.console_batch_fail(bigint, integer, bigint, text) TO insp_console;
