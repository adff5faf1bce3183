-- Detects a database that was set back (a standby promoted, a backup restored, a crash that lost asynchronous commits) and a
-- clock that was set, and ensures that no number is given out twice.

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
    'The epoch, a new one if the server has changed; for functions that draw numbers that must not be issued twice';
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
    'The epoch, a new one if the server has changed or a floor is above all places issued';

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
    -- Many detect it at once. Each waits for the first, and then finds the work done.
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
    -- No history can be so far ahead: following such numbers would use them up.
    IF p_fence > fence + 140737488355328 OR p_seq > seq + 1099511627776 THEN
        RAISE EXCEPTION 'the fence or place that the worker saw cannot have been given out' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    -- Sequences move at once and permanently, whatever the outcome of this transaction. If it fails the epoch is unchanged, and
    -- the next scan moves them again; nothing is claimed in between.
    --
    -- No fence of any history of this database may be given out again: of the lost one, whose end is unknown, or of another one
    -- that began at the same backup. So fences continue at a random place among 2^46, after a gap that no lost history filled;
    -- there is room for some 260,000 epochs.
    fence := greatest(fence, p_fence, (SELECT max(l.fence) FROM insp.lease l)) + 4294967296
        + floor(random() * 70368744177664)::bigint;
    PERFORM setval('insp.fence', fence);
    PERFORM setval('insp.callback_claim', (SELECT greatest(s.last_value, (SELECT max(l.claim_id) FROM insp.callback_lease l))
        + 4294967296 + floor(random() * 70368744177664)::bigint FROM insp.callback_claim s));
    PERFORM setval('insp.access_token_permit', (SELECT s.last_value + 4294967296
        + floor(random() * 70368744177664)::bigint FROM insp.access_token_permit s));
    PERFORM setval('insp.ready_seq', greatest(seq, p_seq, (
        SELECT max(r.seq) FROM insp.queue q, LATERAL (
            SELECT x.seq FROM insp.ready x WHERE x.queue = q.id ORDER BY x.seq DESC LIMIT 1) r)) + 4294967296);
    -- Job ids are in partitions that are created ahead, and may repeat those of a lost history: every write has the fence as
    -- well. They are moved ahead if something was lost, as far as there is room.
    SELECT greatest(job, max(j.id)) INTO job FROM insp.job j;
    SELECT (max(substring(c.relname FROM 'job_p([0-9]+)$')::bigint) + 1) * width INTO room
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    IF cause NOT LIKE 'the server%' AND job + 1000000 + width <= room THEN job := job + 1000000; END IF;
    PERFORM setval('insp.job_id', job) FROM insp.job_id s WHERE s.last_value < job;
    -- All floors are now invalid, and the fleet gets time to return. A row that is held is left: its worker's next heartbeat
    -- rewrites it.
    UPDATE insp.worker w SET floor_queues = '{}', floor_seqs = '{}', fence_floor = 0, epoch = fence,
        beat_microseconds = (SELECT s.last_value FROM insp.steady s) + 5000000
    WHERE w.ctid = ANY (ARRAY(SELECT x.ctid FROM insp.worker x FOR UPDATE SKIP LOCKED));
    UPDATE insp.epoch SET id = fence, system = identifier, timeline = now_at,
        started_at = pg_postmaster_start_time(), recovered_at = pg_stat_get_bgwriter_stat_reset_time(), began_at = clock_timestamp(), reason = cause,
        set_back = CASE WHEN cause LIKE 'the server%' THEN e.set_back ELSE fence END;
    RAISE LOG 'inspectd: a new epoch begins (%)', cause;
    RETURN fence;
END
$$;
COMMENT ON FUNCTION insp.begin_epoch(bigint, bigint) IS
    'Begins a new epoch if the server is not that of the epoch, was restarted, or issues lower numbers than the caller has seen (p_fence, p_seq): moves fences, places, claims and job ids ahead and resets all floors. Returns the current epoch';

CREATE OR REPLACE FUNCTION insp.watch(p_dead_after interval, p_elapsed interval) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    now_microseconds constant bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    measured_microseconds constant bigint := extract(epoch FROM p_elapsed) * 1000000;
    passed_microseconds bigint;
    step interval;
BEGIN
    -- One at a time; the second leaves it to the first.
    PERFORM FROM insp.observer FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT now_microseconds - s.last_value INTO passed_microseconds FROM insp.scanned s;
    PERFORM setval('insp.scanned', now_microseconds);
    -- The least of the time by the database's clock, the time by the caller's own, and twice the usual time between two scans:
    -- many scans without a heartbeat mean death, one long gap does not.
    PERFORM setval('insp.steady', s.last_value
        + greatest(0, least(passed_microseconds, measured_microseconds, (extract(epoch FROM p_dead_after) * 1000000 * 2 / 15)::bigint)))
    FROM insp.steady s;
    -- The clock was set: back, or further ahead than the caller's own clock advanced since its last scan, which was not after
    -- the last one recorded. Deadlines of what began before move with it; a little too late does no harm.
    step := make_interval(secs => CASE WHEN passed_microseconds < -2000000 THEN passed_microseconds
        WHEN passed_microseconds - measured_microseconds > 2000000 THEN passed_microseconds - measured_microseconds END / 1e6);
    IF step IS NULL THEN RETURN; END IF;
    RAISE LOG 'inspectd: the clock was set by %', step;
    -- The time of the claim as well: it shows the next step what began before.
    UPDATE insp.lease l SET deadline = l.deadline + step, claimed_at = l.claimed_at + step
    WHERE l.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.lease x
        WHERE CASE WHEN step > '0 s' THEN x.claimed_at < clock_timestamp() - step ELSE x.claimed_at > clock_timestamp() END
        FOR UPDATE SKIP LOCKED));
    IF step < '0 s' THEN
        -- Failed jobs should wait for seconds, not until the clock has caught up.
        UPDATE insp.delayed d SET run_at = d.run_at + step
        WHERE d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM insp.delayed x WHERE x.last_error IS NOT NULL AND x.run_at > clock_timestamp() - step
            FOR UPDATE SKIP LOCKED));
        -- So should callbacks between attempts, breakers and the rights of dispatchers.
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
    'Counts the time during which maintenance watched the fleet, and moves deadlines with a clock that was set. p_elapsed is the time since the caller''s last scan by its own clock; null: it never scanned';
