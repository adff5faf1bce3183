-- Registration, heartbeats and removal of workers.
-- After: queue

-- A constraint trigger cannot be replaced.
DROP TRIGGER IF EXISTS worker_drained ON insp.worker_drain;

CREATE OR REPLACE FUNCTION insp.worker_region(p_region text) RETURNS smallint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    place smallint := 0;
BEGIN
    IF p_region IS NULL THEN
        IF EXISTS (SELECT FROM insp.region r WHERE r.is_served) THEN
            PERFORM insp.refuse('REGION_MISSING', 'the worker has none', insp.region_hint() || ' A worker gets its own by --region.');
        END IF;
        RETURN place;
    END IF;
    SELECT r.id INTO place FROM insp.region r WHERE r.name = p_region;
    IF NOT FOUND THEN
        PERFORM insp.refuse('REGION_INVALID', left(quote_literal(p_region), 40), insp.region_hint());
    END IF;
    RETURN place;
END
$$;
COMMENT ON FUNCTION insp.worker_region(text) IS
    'The number of a worker''s or dispatcher''s region, 0 without one. If the deployment has regions, each needs one';

CREATE OR REPLACE FUNCTION insp.worker_register(
    p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer,
    OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    watched_microseconds bigint;
    current_epoch bigint;
BEGIN
    region_id := insp.worker_region(p_region);
    current_epoch := insp.check_floors();
    SELECT s.last_value INTO watched_microseconds FROM insp.steady s;
    -- A new worker starts at the floors of the slowest of the fleet; otherwise it would read every row that the fleet has
    -- claimed since the oldest snapshot.
    SELECT coalesce(array_agg(f.queue), '{}'), coalesce(array_agg(f.seq), '{}') INTO floor_queues, floor_seqs FROM (
        SELECT u.queue, min(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq)
        WHERE w.beat_microseconds > watched_microseconds - 15000000
        GROUP BY u.queue) f;
    INSERT INTO insp.worker AS w (incarnation, host, process, version, region, lanes, slots, floor_queues, floor_seqs,
        fence_floor, beat_microseconds, epoch)
    SELECT p_incarnation, p_host, p_process, p_version, region_id, p_lanes, p_slots, worker_register.floor_queues,
        worker_register.floor_seqs, s.last_value, watched_microseconds, current_epoch FROM insp.fence s
    RETURNING w.id INTO worker_id;
END
$$;
COMMENT ON FUNCTION insp.worker_register(uuid, text, integer, text, text, smallint[], integer) IS
    'Registers a run of a worker; returns its number, its region and the floors to start from';
GRANT EXECUTE ON FUNCTION insp.worker_register(uuid, text, integer, text, text, smallint[], integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.worker_keys(p_worker bigint, p_keys jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(p_keys IS NULL OR CASE WHEN jsonb_typeof(p_keys) = 'array' THEN jsonb_array_length(p_keys) <= 100
        AND (SELECT coalesce(bool_and(coalesce(jsonb_typeof(e.value -> 'kid') = 'string' AND length(e.value ->> 'kid') BETWEEN 1 AND 200,
                false)), true) AND count(DISTINCT e.value ->> 'kid') = count(*) FROM jsonb_array_elements(p_keys) e) END,
        'keys', 'keys is an array of at most 100 JWKs, each with a different kid.');
    -- Those of workers that have stopped, now that there is another one.
    DELETE FROM insp.worker_key k WHERE NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = k.worker_id);
    INSERT INTO insp.worker_key (worker_id, kid, jwk)
    SELECT p_worker, e.value ->> 'kid', e.value FROM jsonb_array_elements(p_keys) e
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION insp.worker_keys(bigint, jsonb) IS
    'Records the public halves of the keys with which a worker that registers decrypts parts: an array of JWKs';
GRANT EXECUTE ON FUNCTION insp.worker_keys(bigint, jsonb) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.heartbeat(
    p_worker bigint, p_incarnation uuid, p_busy integer, p_fence_floor bigint, p_floor_queues integer[],
    p_floor_seqs bigint[], p_epoch bigint, p_fence bigint, p_seq bigint,
    OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[], OUT fence bigint,
    OUT weights smallint[], OUT epoch bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    holds boolean;
    watched_microseconds bigint;
BEGIN
    epoch := insp.check_epoch();
    -- Only numbers seen by a registered worker can show that the server was set back.
    IF NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = p_worker AND w.incarnation = p_incarnation) THEN
        alive := false;
        draining := false;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM insp.fence f, insp.ready_seq s
        WHERE f.last_value < greatest(p_fence, p_fence_floor) OR s.last_value < p_seq) THEN
        epoch := insp.begin_epoch(greatest(p_fence, p_fence_floor), p_seq);
    END IF;
    -- Floors and fences from another epoch say nothing about this one.
    holds := epoch = p_epoch;
    -- Before the leases are read: later claims have a higher fence.
    SELECT f.last_value, s.last_value INTO heartbeat.fence, watched_microseconds FROM insp.fence f, insp.steady s;
    UPDATE insp.worker w
    SET heartbeat_at = clock_timestamp(), beat_microseconds = watched_microseconds, busy = p_busy, epoch = heartbeat.epoch,
        fence_floor = CASE WHEN holds THEN p_fence_floor ELSE 0 END,
        floor_queues = CASE WHEN holds THEN p_floor_queues ELSE '{}' END,
        floor_seqs = CASE WHEN holds THEN p_floor_seqs ELSE '{}' END
    WHERE w.id = p_worker AND w.incarnation = p_incarnation
    RETURNING true, w.draining INTO alive, draining;
    IF alive THEN
        SELECT coalesce(array_agg(l.job_id), '{}'), coalesce(array_agg(l.fence), '{}') INTO lease_jobs, lease_fences
        FROM insp.lease l WHERE l.worker_id = p_worker AND l.fence >= CASE WHEN holds THEN p_fence_floor ELSE 0 END;
        SELECT array_agg(c.weight ORDER BY c.lane) INTO weights FROM insp.control c;
    ELSE
        alive := false;
        draining := false;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.heartbeat(bigint, uuid, integer, bigint, integer[], bigint[], bigint, bigint, bigint) IS
    'A worker''s heartbeat. alive = false: it was declared dead and must drop all work. p_epoch is the epoch of its floors, p_fence and p_seq the highest fence and place that it saw; a new epoch in the answer invalidates its floors. Also returns its leases from p_fence_floor on, the last fence issued before they were read, and the lanes'' weights';
GRANT EXECUTE ON FUNCTION insp.heartbeat(bigint, uuid, integer, bigint, integer[], bigint[], bigint, bigint, bigint)
    TO insp_worker;

CREATE OR REPLACE FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- If leases are left, the row remains, and rescue does the rest.
    DELETE FROM insp.worker w WHERE w.id = p_worker AND w.incarnation = p_incarnation
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = p_worker AND l.fence >= w.fence_floor);
    -- The last one's keys remain known.
    DELETE FROM insp.worker_key k WHERE k.worker_id = p_worker AND EXISTS (SELECT FROM insp.worker w WHERE w.id <> p_worker)
$$;
COMMENT ON FUNCTION insp.worker_stop(bigint, uuid) IS 'Removes a worker that has released all its jobs';
GRANT EXECUTE ON FUNCTION insp.worker_stop(bigint, uuid) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.is_empty(p_worker bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM insp.worker w JOIN insp.queue q ON q.region IN (0, w.region) AND q.lane = ANY (w.lanes)
        WHERE w.id = p_worker AND (EXISTS (SELECT FROM insp.ready x WHERE x.queue = q.id)
            -- Rows of finished jobs do not count.
            OR EXISTS (SELECT FROM insp.delayed x WHERE x.queue = q.id AND EXISTS (
                SELECT FROM insp.job j WHERE j.id = ANY (ARRAY[x.job_id]) AND j.status < 128 OFFSET 0))
            OR EXISTS (SELECT FROM insp.lease x WHERE x.queue = q.id)))
$$;
COMMENT ON FUNCTION insp.is_empty(bigint) IS 'Whether no job that the worker could process is waiting, delayed or running';
GRANT EXECUTE ON FUNCTION insp.is_empty(bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.drain_worker(p_worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = p_worker) THEN RETURN false; END IF;
    INSERT INTO insp.worker_drain (worker_id) VALUES (p_worker) ON CONFLICT DO NOTHING;
    PERFORM insp.record('drain_worker', 'worker ' || p_worker);
    PERFORM insp.tell(p_worker);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.drain_worker(bigint) IS
    'Makes a worker stop claiming, finish its jobs and exit; false: no such worker';
GRANT EXECUTE ON FUNCTION insp.drain_worker(bigint) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.worker_drained() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.worker w SET draining = true WHERE w.id = NEW.worker_id;
    DELETE FROM insp.worker_drain d WHERE d.worker_id = NEW.worker_id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.worker_drained() IS
    'Marks a worker as draining at the end of the transaction: heartbeats write the same row, and a worker whose heartbeats wait drops all its work';
CREATE CONSTRAINT TRIGGER worker_drained AFTER INSERT ON insp.worker_drain
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION insp.worker_drained();

CREATE OR REPLACE VIEW insp.v_workers AS
SELECT w.id, w.host, w.process, w.version, coalesce(g.name, '') AS region,
    ARRAY(SELECT insp.lane_name(u) FROM unnest(w.lanes) u) AS lanes, w.slots, w.busy, w.draining,
    now() - w.started_at AS up, now() - w.heartbeat_at AS silent_for,
    CASE WHEN now() - w.heartbeat_at > interval '15 s' THEN 'dead' WHEN now() - w.heartbeat_at > interval '10 s' THEN 'silent'
        WHEN w.draining THEN 'draining' ELSE 'live' END AS state,
    (SELECT count(*) FROM insp.lease l WHERE l.worker_id = w.id) AS leases
FROM insp.worker w LEFT JOIN insp.region g ON g.id = w.region;
COMMENT ON VIEW insp.v_workers IS 'Registered workers';
COMMENT ON COLUMN insp.v_workers.id IS 'Number of the worker (for drain_worker)';
COMMENT ON COLUMN insp.v_workers.host IS 'Its host';
COMMENT ON COLUMN insp.v_workers.process IS 'Its process id';
COMMENT ON COLUMN insp.v_workers.version IS 'Version of the program';
COMMENT ON COLUMN insp.v_workers.region IS 'Region it serves; empty: only jobs without a region';
COMMENT ON COLUMN insp.v_workers.lanes IS 'Lanes it serves';
COMMENT ON COLUMN insp.v_workers.slots IS 'Jobs it may run at once';
COMMENT ON COLUMN insp.v_workers.busy IS 'Jobs that had a slot at its last heartbeat; its other jobs wait for their parts or for a vendor''s answer';
COMMENT ON COLUMN insp.v_workers.draining IS 'Whether it has stopped claiming';
COMMENT ON COLUMN insp.v_workers.up IS 'Time since it registered';
COMMENT ON COLUMN insp.v_workers.silent_for IS 'Time since its last heartbeat (every 5 s)';
COMMENT ON COLUMN insp.v_workers.state IS 'live, draining, silent (over 10 s: it stops itself) or dead (over 15 s: its jobs are rescued)';
COMMENT ON COLUMN insp.v_workers.leases IS 'Jobs leased to it';
GRANT SELECT ON insp.v_workers TO insp_operator, insp_auditor;
