-- A database that went back (a standby promoted, a backup restored, a crash that lost what was committed asynchronously) and
-- a clock that was set are noticed, and nothing that was given out before is given out again.

CREATE OR REPLACE FUNCTION insp.check_epoch() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    epoch bigint;
BEGIN
    SELECT e.id INTO epoch FROM insp.epoch e
    WHERE e.started_at = pg_postmaster_start_time()
        AND e.recovered_at IS NOT DISTINCT FROM pg_stat_get_bgwriter_stat_reset_time()
        AND e.timeline = substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
    RETURN coalesce(epoch, insp.begin_epoch());
END
$$;
COMMENT ON FUNCTION insp.check_epoch() IS
    'The epoch, a new one if the server is not the one it was; for whatever draws numbers that must not be given out twice';
GRANT EXECUTE ON FUNCTION insp.check_epoch() TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.check_floors() RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    fence bigint;
    seq bigint;
BEGIN
    SELECT max(w.fence_floor), max((SELECT max(u) FROM unnest(w.floor_seqs) u)) INTO fence, seq FROM insp.worker w;
    IF EXISTS (SELECT FROM insp.fence f, insp.ready_seq s WHERE f.last_value < fence OR s.last_value < seq) THEN
        RETURN insp.begin_epoch(fence, seq);
    END IF;
    RETURN insp.check_epoch();
END
$$;
COMMENT ON FUNCTION insp.check_floors() IS
    'The epoch, a new one if the server is not the one it was or some floor lies above all that was given out';

CREATE OR REPLACE FUNCTION insp.begin_epoch(p_fence bigint DEFAULT 0, p_seq bigint DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    now_at constant text := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
    width constant bigint := 5000000;
    e insp.epoch;
    identifier bigint;
    cause text;
    fence bigint;
    seq bigint;
    job bigint;
    room bigint;
BEGIN
    -- Many notice at once. Each waits for the first, and then finds its work done.
    SELECT * INTO e FROM insp.epoch FOR UPDATE;
    SELECT c.system_identifier INTO identifier FROM pg_control_system() c;
    SELECT s.last_value INTO fence FROM insp.fence s;
    SELECT s.last_value INTO seq FROM insp.ready_seq s;
    SELECT s.last_value INTO job FROM insp.job_id s;
    cause := CASE
        WHEN e.system <> identifier THEN 'another cluster'
        WHEN e.timeline <> now_at THEN 'another timeline'
        WHEN fence < p_fence OR seq < p_seq THEN 'numbers went back'
        WHEN e.started_at <> pg_postmaster_start_time() THEN 'the server was started'
        WHEN e.recovered_at IS DISTINCT FROM pg_stat_get_bgwriter_stat_reset_time() THEN 'the server recovered from a crash'
    END;
    IF cause IS NULL THEN RETURN e.id; END IF;
    -- No history can be so far ahead: to follow such numbers would use them up.
    IF p_fence > fence + 140737488355328 OR p_seq > seq + 1099511627776 THEN
        RAISE EXCEPTION 'the fence or place that the worker saw cannot have been given out' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    -- Sequences move at once and for good, whatever becomes of this transaction. If it does not come to its end the epoch is
    -- as it was, and the next scan moves them on once more; nothing is claimed in between.
    --
    -- A fence must not be given out again that any history of this database gave out: the one that was lost, of which
    -- nobody knows how far it went, or another one that began at the same backup. So a random place among 2^46, behind a gap
    -- that no lost history filled; some 260,000 epochs have room.
    fence := greatest(fence, p_fence, (SELECT max(l.fence) FROM insp.lease l)) + 4294967296
        + floor(random() * 70368744177664)::bigint;
    PERFORM setval('insp.fence', fence);
    PERFORM setval('insp.callback_claim', (SELECT greatest(s.last_value, (SELECT max(l.claim_id) FROM insp.callback_lease l))
        + 4294967296 + floor(random() * 70368744177664)::bigint FROM insp.callback_claim s));
    PERFORM setval('insp.access_token_lease', (SELECT s.last_value + 4294967296
        + floor(random() * 70368744177664)::bigint FROM insp.access_token_lease s));
    PERFORM setval('insp.ready_seq', greatest(seq, p_seq, (
        SELECT max(r.seq) FROM insp.queue q, LATERAL (
            SELECT x.seq FROM insp.ready x WHERE x.queue = q.id ORDER BY x.seq DESC LIMIT 1) r)) + 4294967296);
    -- Job ids lie in partitions that are made ahead, and may repeat what only a lost history knew: every write names the
    -- fence as well. They are moved on where something was lost, as far as there is room.
    SELECT greatest(job, max(j.id)) INTO job FROM insp.job j;
    SELECT (max(substring(c.relname FROM 'job_p([0-9]+)$')::bigint) + 1) * width INTO room
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    IF cause NOT LIKE 'the server%' AND job + 1000000 + width <= room THEN job := job + 1000000; END IF;
    PERFORM setval('insp.job_id', job) FROM insp.job_id s WHERE s.last_value < job;
    -- Nobody's floor says anything now, and the fleet gets the time to come back. A row that somebody holds is left: its
    -- worker's next heartbeat writes it anew.
    UPDATE insp.worker w SET floor_queues = '{}', floor_seqs = '{}', fence_floor = 0, epoch = fence,
        beat = (SELECT s.last_value FROM insp.steady s) + 5000000
    WHERE w.ctid = ANY (ARRAY(SELECT x.ctid FROM insp.worker x FOR UPDATE SKIP LOCKED));
    UPDATE insp.epoch SET id = fence, system = identifier, timeline = now_at,
        started_at = pg_postmaster_start_time(), recovered_at = pg_stat_get_bgwriter_stat_reset_time(), began_at = clock_timestamp(), reason = cause;
    RAISE LOG 'inspectd: a new epoch begins (%)', cause;
    RETURN fence;
END
$$;
COMMENT ON FUNCTION insp.begin_epoch(bigint, bigint) IS
    'Begins a new epoch if the server is another one than the epoch''s, was restarted, or has given out less than the caller knows of (p_fence, p_seq): moves fences, places, claims and job ids ahead and resets all floors. Returns the epoch that holds';

CREATE OR REPLACE FUNCTION insp.watch(p_dead_after interval, p_elapsed interval) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    now constant bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    measured constant bigint := extract(epoch FROM p_elapsed) * 1000000;
    passed bigint;
    step interval;
BEGIN
    -- One at a time; who comes second leaves it to the first.
    PERFORM FROM insp.observer FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT now - s.last_value INTO passed FROM insp.scanned s;
    PERFORM setval('insp.scanned', now);
    -- The least of what the database's clock says, what the caller's own says, and twice the usual time between two scans:
    -- fifteen of them without a heartbeat are a death, one long one is not.
    PERFORM setval('insp.steady', s.last_value
        + greatest(0, least(passed, measured, (extract(epoch FROM p_dead_after) * 1000000 * 2 / 15)::bigint)))
    FROM insp.steady s;
    -- The clock was set: back, or further on than the caller's own clock went since its last scan, which was not after
    -- this one's. Deadlines go with it, of what began before; a little too late does no harm.
    step := make_interval(secs => CASE WHEN passed < -2000000 THEN passed
        WHEN passed - measured > 2000000 THEN passed - measured END / 1e6);
    IF step IS NULL THEN RETURN; END IF;
    RAISE LOG 'inspectd: the clock was set by %', step;
    -- The time of the claim as well: by it the next step tells what began before.
    UPDATE insp.lease l SET deadline = l.deadline + step, claimed_at = l.claimed_at + step
    WHERE l.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.lease x
        WHERE CASE WHEN step > '0 s' THEN x.claimed_at < clock_timestamp() - step ELSE x.claimed_at > clock_timestamp() END
        FOR UPDATE SKIP LOCKED));
    IF step < '0 s' THEN
        -- Failed jobs were to wait for seconds, not until the clock has caught up.
        UPDATE insp.delayed d SET run_at = d.run_at + step
        WHERE d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.delayed x WHERE x.last_error IS NOT NULL AND x.run_at > clock_timestamp() - step
            FOR UPDATE SKIP LOCKED));
        -- So were callbacks between attempts, breakers and the rights of dispatchers.
        UPDATE insp.callback_waiting w SET due_at = w.due_at + step
        WHERE w.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.callback_waiting x WHERE x.state = 'pending' AND x.due_at > clock_timestamp()
            FOR UPDATE SKIP LOCKED));
        UPDATE insp.callback_lease l SET lease_until = l.lease_until + step
        WHERE l.ctid = ANY (ARRAY(SELECT x.ctid FROM insp.callback_lease x FOR UPDATE SKIP LOCKED));
        UPDATE insp.endpoint_health h SET open_until = h.open_until + step
        WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.endpoint_health x WHERE x.open_until > clock_timestamp() FOR UPDATE SKIP LOCKED));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.watch(interval, interval) IS
    'Counts the time in which maintenance watched the fleet, and moves deadlines along with a clock that was set. p_elapsed is how long ago, by its own clock, the caller scanned last; null: it never did';
