-- Workers and their claims over insp.queue.

CREATE FUNCTION insp.worker_register(
    p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer,
    OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    region_id := 0;
    IF p_region IS NOT NULL THEN
        SELECT r.id INTO region_id FROM insp.region r WHERE r.name = p_region;
        IF NOT FOUND THEN
            PERFORM insp.refuse('REGION_INVALID', 'no region of that name exists');
        END IF;
    END IF;
    -- A new worker starts where the slowest of the fleet is, for it would otherwise wade through every row that the
    -- fleet has claimed since the oldest snapshot.
    SELECT coalesce(array_agg(f.queue), '{}'), coalesce(array_agg(f.seq), '{}') INTO floor_queues, floor_seqs FROM (
        SELECT u.queue, min(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq)
        WHERE w.heartbeat_at > now() - interval '15 s'
        GROUP BY u.queue) f;
    INSERT INTO insp.worker AS w (incarnation, host, process, version, region, lanes, slots, floor_queues, floor_seqs,
        fence_floor)
    SELECT p_incarnation, p_host, p_process, p_version, region_id, p_lanes, p_slots, worker_register.floor_queues,
        worker_register.floor_seqs, s.last_value FROM insp.fence s
    RETURNING w.id INTO worker_id;
END
$$;
COMMENT ON FUNCTION insp.worker_register(uuid, text, integer, text, text, smallint[], integer) IS
    'Registers a run of a worker; returns its number, its region and the floors to start from';

CREATE FUNCTION insp.heartbeat(
    p_worker bigint, p_incarnation uuid, p_busy integer, p_fence_floor bigint, p_floor_queues integer[],
    p_floor_seqs bigint[],
    OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[], OUT fence bigint,
    OUT weights smallint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    -- Before the leases are read: what is claimed after that has a higher fence.
    SELECT s.last_value INTO heartbeat.fence FROM insp.fence s;
    UPDATE insp.worker w
    SET heartbeat_at = clock_timestamp(), suspect_at = NULL, busy = p_busy, fence_floor = p_fence_floor,
        floor_queues = p_floor_queues, floor_seqs = p_floor_seqs
    WHERE w.id = p_worker AND w.incarnation = p_incarnation
    RETURNING true, w.draining INTO alive, draining;
    IF alive THEN
        SELECT coalesce(array_agg(l.job_id), '{}'), coalesce(array_agg(l.fence), '{}') INTO lease_jobs, lease_fences
        FROM insp.lease l WHERE l.worker_id = p_worker AND l.fence >= p_fence_floor;
        SELECT array_agg(c.weight ORDER BY c.lane) INTO weights FROM insp.control c;
    ELSE
        alive := false;
        draining := false;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.heartbeat(bigint, uuid, integer, bigint, integer[], bigint[]) IS
    'A worker''s sign of life. alive = false: it was declared dead and must drop all work. Also returns its leases from p_fence_floor on, the last fence given out before they were read, and the lanes'' weights';

CREATE FUNCTION insp.allowance(p_queues integer[], p_floors bigint[], p_caps integer[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    caps integer[] := p_caps;
    limited record;
    allowed integer;
    share integer;
    place integer;
BEGIN
    FOR limited IN
        SELECT p.id, p.paused, p.max_running, p.rate_per_second, coalesce(p.rate_burst, ceil(p.rate_per_second)) AS burst,
            array_agg(u.place::integer ORDER BY u.place) AS places
        FROM insp.partner p JOIN insp.queue q ON q.partner_id = p.id
            JOIN unnest(p_queues) WITH ORDINALITY AS u (queue, place) ON u.queue = q.id
        WHERE p.paused OR p.max_running IS NOT NULL OR p.rate_per_second IS NOT NULL
        GROUP BY p.id
    LOOP
        allowed := 0;
        IF NOT limited.paused THEN
            INSERT INTO insp.partner_tokens (partner_id, tokens, at)
            SELECT limited.id, coalesce(limited.burst, 0), clock_timestamp()
            WHERE NOT EXISTS (SELECT FROM insp.partner_tokens t WHERE t.partner_id = limited.id)
            ON CONFLICT DO NOTHING;
            -- One claim at a time for a limited partner, so that two cannot both use the same allowance. Whoever comes
            -- second does not wait: it takes other partners' jobs.
            SELECT CASE WHEN limited.rate_per_second IS NULL THEN 1000000 ELSE floor(least(limited.burst,
                t.tokens + limited.rate_per_second * extract(epoch FROM clock_timestamp() - t.at))) END
            INTO allowed FROM insp.partner_tokens t WHERE t.partner_id = limited.id FOR UPDATE SKIP LOCKED;
            allowed := coalesce(allowed, 0);
            IF allowed > 0 AND limited.max_running IS NOT NULL THEN
                -- A statement of its own: it sees what the last holder of the lock committed.
                SELECT least(allowed, limited.max_running - count(*)) INTO allowed
                FROM insp.worker w, LATERAL (
                    SELECT FROM insp.lease l JOIN insp.queue q ON q.id = l.queue
                    WHERE l.worker_id = w.id AND l.fence >= w.fence_floor AND q.partner_id = limited.id) running;
            END IF;
        END IF;
        FOREACH place IN ARRAY limited.places LOOP
            share := least(caps[place], greatest(allowed, 0));
            IF share > 0 AND cardinality(limited.places) > 1 THEN
                -- No more than waits there: an empty queue would keep the allowance from the partner's others for ever.
                SELECT count(*) INTO share FROM (
                    SELECT FROM insp.ready x WHERE x.queue = p_queues[place] AND x.seq >= p_floors[place]
                    ORDER BY x.seq LIMIT share) waiting;
            END IF;
            caps[place] := share;
            allowed := allowed - share;
        END LOOP;
    END LOOP;
    RETURN caps;
END
$$;
COMMENT ON FUNCTION insp.allowance(integer[], bigint[], integer[]) IS
    'How many jobs may be taken from each queue: the caps, less for paused and limited partners, whose allowance is locked for the claim''s transaction';

CREATE FUNCTION insp.spend(p_queues integer[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.partner_tokens t SET at = clock_timestamp(),
        tokens = least(coalesce(p.rate_burst, ceil(p.rate_per_second)),
            t.tokens + p.rate_per_second * extract(epoch FROM clock_timestamp() - t.at)) - taken.count
    FROM (SELECT q.partner_id, count(*) AS count FROM unnest(p_queues) AS u (queue) JOIN insp.queue q ON q.id = u.queue
        GROUP BY q.partner_id) taken JOIN insp.partner p ON p.id = taken.partner_id
    WHERE t.partner_id = taken.partner_id AND p.rate_per_second IS NOT NULL
$$;
COMMENT ON FUNCTION insp.spend(integer[]) IS 'Takes the tokens of jobs that were claimed from these queues';

CREATE FUNCTION insp.claim(
    p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer,
    p_queues integer[], p_floors bigint[], p_caps integer[], p_known integer
) RETURNS TABLE (
    job_id bigint, fence bigint, attempt smallint, crashes smallint, queue integer, seq bigint,
    public_id uuid, status smallint, expired boolean, payload text, traceparent text, steps text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    paused smallint[];
    caps integer[] := p_caps;
    restricted boolean;
    taken_from integer[];
BEGIN
    IF NOT EXISTS (SELECT FROM insp.worker w
        WHERE w.id = p_worker AND w.incarnation = p_incarnation AND NOT w.draining) THEN
        RETURN;
    END IF;
    SELECT array_agg(c.lane) INTO paused FROM insp.control c WHERE c.paused;
    restricted := EXISTS (SELECT FROM insp.partner p
        WHERE p.paused OR p.max_running IS NOT NULL OR p.rate_per_second IS NOT NULL);
    IF paused IS NOT NULL THEN
        SELECT array_agg(CASE WHEN q.lane = ANY (paused) THEN 0 ELSE u.cap END ORDER BY u.place) INTO caps
        FROM unnest(p_queues, p_caps) WITH ORDINALITY AS u (queue, cap, place) LEFT JOIN insp.queue q ON q.id = u.queue;
    END IF;
    IF restricted THEN
        caps := insp.allowance(p_queues, p_floors, caps);
    END IF;
    -- The first row is no job: how far the queues reach, the caps that held (a caller that took a paused queue for an empty
    -- one would raise its floor over everything that waits there), and the queues that the caller does not know.
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::smallint, NULL::smallint, NULL::integer, s.last_value,
        NULL::uuid, NULL::smallint, NULL::boolean,
        CASE WHEN paused IS NOT NULL OR restricted THEN array_to_string(caps, ',') END,
        (SELECT string_agg(format('%s,%s,%s,%s', q.id, q.region, q.lane, q.partner_id), ';') FROM insp.queue q
            WHERE q.id > p_known),
        NULL::text
    FROM insp.ready_seq s;
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.row FROM unnest(p_queues, p_floors, caps) AS q (queue, floor, cap),
            LATERAL (
                SELECT x.ctid AS row FROM insp.ready x
                WHERE x.queue = q.queue AND x.seq >= q.floor
                ORDER BY x.seq LIMIT q.cap FOR UPDATE SKIP LOCKED) r
        WHERE q.cap > 0
        LIMIT p_limit
    ), taken AS (
        -- By row address: a join on the key would be estimated from a LIMIT that is a parameter, and end as a hash join.
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT p.row FROM picked p)) RETURNING x.*
    ), numbered AS MATERIALIZED (
        -- Kept once and read twice: joined to what the insert returns, every row would be compared with every other.
        SELECT t.*, nextval('insp.fence') AS fence FROM taken t
    ), leased AS (
        INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
        SELECT n.job_id, n.fence, p_worker, now() + p_deadline, n.queue, n.attempt + 1, n.crashes FROM numbered n
    )
    -- A job that was cancelled or expired while it waited has no open row: the caller drops its lease.
    -- = ANY (ARRAY[x]) is = x, looked up in the index whatever the statistics say. With = a plan that is made while a table is
    -- empty reads all of it for each row, and sessions keep their plans. So everywhere that runs for each job.
    SELECT n.job_id, n.fence, (n.attempt + 1)::smallint, n.crashes, n.queue, n.seq,
        j.public_id, CASE WHEN j.status < 2 THEN 2::smallint ELSE j.status END, j.expires_at <= now(), j.payload::text,
        j.traceparent,
        CASE WHEN j.status > 2 THEN
            (SELECT jsonb_object_agg(p.status, p.output)::text FROM insp.step p WHERE p.job_id = n.job_id) END
    FROM numbered n LEFT JOIN insp.job j ON j.id = ANY (ARRAY[n.job_id]) AND j.status < 128;
    IF restricted THEN
        SELECT array_agg(l.queue) INTO taken_from FROM insp.lease l
        WHERE l.worker_id = p_worker AND l.claimed_at = now() AND l.fence >= (
            SELECT w.fence_floor FROM insp.worker w WHERE w.id = p_worker);
        IF taken_from IS NOT NULL THEN PERFORM insp.spend(taken_from); END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.claim(bigint, uuid, interval, integer, integer[], bigint[], integer[], integer) IS
    'Leases up to p_limit waiting jobs to a live worker. The arrays name queues in the order to look at them, from which seq on, and how many jobs to take from each. The first row holds no job but, in seq, how far the queues reach; in payload, the caps that held if any was lowered; in traceparent, the queues numbered above p_known as id,region,lane,partner';

-- For workers of 0.1.0, which know 64 slots in each lane: a slot stands for the queues of all partners in it -------------

CREATE OR REPLACE FUNCTION insp.worker_start(
    p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer,
    OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]
)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT r.worker_id, r.region_id, NULL::integer[], NULL::bigint[]
    FROM insp.worker_register(p_incarnation, p_host, p_process, p_version, p_region, p_lanes, p_slots) r
$$;

CREATE OR REPLACE FUNCTION insp.heartbeat(
    p_worker bigint, p_incarnation uuid, p_busy integer, p_floor_queues integer[], p_floor_seqs bigint[],
    OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[]
)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT h.alive, h.draining, h.lease_jobs, h.lease_fences
    FROM (
        SELECT coalesce(array_agg(q.id), '{}') AS queues, coalesce(array_agg(u.seq), '{}') AS seqs
        FROM unnest(p_floor_queues, p_floor_seqs) AS u (number, seq) JOIN insp.queue q
            ON q.region = u.number / 192 AND q.lane = u.number / 64 % 3 AND q.partner_id % 64 = u.number % 64) f,
        LATERAL insp.heartbeat(p_worker, p_incarnation, p_busy,
            (SELECT w.fence_floor FROM insp.worker w WHERE w.id = p_worker), f.queues, f.seqs) h
$$;

CREATE OR REPLACE FUNCTION insp.claim(
    p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer,
    p_regions smallint[], p_lanes smallint[], p_slots smallint[], p_floors bigint[], p_caps integer[]
) RETURNS TABLE (
    job_id bigint, fence bigint, attempt smallint, crashes smallint, region smallint, lane smallint, slot smallint,
    seq bigint, public_id uuid, status smallint, expired boolean, payload jsonb, traceparent text, steps jsonb
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    queues integer[];
    floors bigint[];
    caps integer[];
    restricted smallint[];
BEGIN
    SELECT coalesce(array_agg(q.id ORDER BY u.place), '{}'), coalesce(array_agg(u.floor ORDER BY u.place), '{}'),
        coalesce(array_agg(u.cap ORDER BY u.place), '{}')
    INTO queues, floors, caps
    FROM unnest(p_regions, p_lanes, p_slots, p_floors, p_caps) WITH ORDINALITY AS u (region, lane, slot, floor, cap, place)
        JOIN insp.queue q ON q.region = u.region AND q.lane = u.lane AND q.partner_id % 64 = u.slot;
    -- Such a worker knows of paused lanes only: a lane with a restricted partner is reported as paused, so that the worker
    -- does not raise its floors there.
    SELECT coalesce(array_agg(c.lane), '{}') INTO restricted FROM insp.control c
    WHERE c.paused OR EXISTS (SELECT FROM insp.partner p JOIN insp.queue q ON q.partner_id = p.id AND q.lane = c.lane
        WHERE p.paused OR p.max_running IS NOT NULL OR p.rate_per_second IS NOT NULL);
    RETURN QUERY
    SELECT c.job_id, c.fence, c.attempt, c.crashes, q.region, q.lane, (q.partner_id % 64)::smallint, c.seq, c.public_id,
        c.status, c.expired, CASE WHEN c.job_id IS NULL THEN to_jsonb(restricted) ELSE c.payload::jsonb END,
        CASE WHEN c.job_id IS NOT NULL THEN c.traceparent END, c.steps::jsonb
    FROM insp.claim(p_worker, p_incarnation, p_deadline, p_limit, queues, floors, caps, 2147483647) c
        LEFT JOIN insp.queue q ON q.id = c.queue
    ORDER BY c.job_id IS NOT NULL;
END
$$;

GRANT EXECUTE ON FUNCTION
    insp.worker_register(uuid, text, integer, text, text, smallint[], integer),
    insp.heartbeat(bigint, uuid, integer, bigint, integer[], bigint[]),
    insp.claim(bigint, uuid, interval, integer, integer[], bigint[], integer[], integer)
TO insp_worker;
