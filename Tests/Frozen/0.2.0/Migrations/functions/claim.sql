-- Claims of jobs by workers. The planner settings of this and the other files about jobs pin the only good plans (index scans
-- from the given keys): the tables change between empty and millions of rows faster than statistics follow, and a plan made
-- for the one is ruinous for the other.

CREATE OR REPLACE FUNCTION insp.within_limits(p_queues integer[], p_floors bigint[], p_limits integer[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    limits integer[] := p_limits;
    limited record;
    allowed integer;
    share integer;
    place integer;
    is_ahead boolean;
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
            -- One claim at a time for a partner with limits, so that two cannot both use up what a limit leaves. The second does not
            -- wait: it takes other partners' jobs.
            SELECT CASE WHEN limited.rate_per_second IS NULL THEN 1000000 ELSE floor(least(limited.burst, t.tokens
                + limited.rate_per_second * greatest(0, extract(epoch FROM clock_timestamp() - t.at)))) END,
                t.at > clock_timestamp()
            INTO allowed, is_ahead FROM insp.partner_tokens t WHERE t.partner_id = limited.id FOR UPDATE SKIP LOCKED;
            allowed := coalesce(allowed, 0);
            IF is_ahead THEN
                -- The clock was set back: count from here, or nothing would be added until it has caught up.
                UPDATE insp.partner_tokens t SET at = clock_timestamp() WHERE t.partner_id = limited.id;
            END IF;
            IF allowed > 0 AND limited.max_running IS NOT NULL THEN
                -- A separate statement: it sees what the last holder of the lock committed.
                SELECT least(allowed, limited.max_running - count(*)) INTO allowed
                FROM insp.worker w, LATERAL (
                    SELECT FROM insp.lease l JOIN insp.queue q ON q.id = l.queue
                    WHERE l.worker_id = w.id AND l.fence >= w.fence_floor AND q.partner_id = limited.id) running;
            END IF;
        END IF;
        FOREACH place IN ARRAY limited.places LOOP
            share := least(limits[place], greatest(allowed, 0));
            IF share > 0 AND cardinality(limited.places) > 1 THEN
                -- Not more than waits there: otherwise an empty queue would withhold it from the partner's others for ever.
                SELECT count(*) INTO share FROM (
                    SELECT FROM insp.ready x WHERE x.queue = p_queues[place] AND x.seq >= p_floors[place]
                    ORDER BY x.seq LIMIT share) waiting;
            END IF;
            limits[place] := share;
            allowed := allowed - share;
        END LOOP;
    END LOOP;
    RETURN limits;
END
$$;
COMMENT ON FUNCTION insp.within_limits(integer[], bigint[], integer[]) IS
    'How many jobs may be claimed from each queue: the given limits, or less for partners that are paused or have limits, whose tokens are locked for the claim''s transaction';

CREATE OR REPLACE FUNCTION insp.spend(p_queues integer[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    UPDATE insp.partner_tokens t SET at = clock_timestamp(),
        tokens = least(coalesce(p.rate_burst, ceil(p.rate_per_second)),
            t.tokens + p.rate_per_second * greatest(0, extract(epoch FROM clock_timestamp() - t.at))) - taken.count
    FROM (SELECT q.partner_id, count(*) AS count FROM unnest(p_queues) AS u (queue) JOIN insp.queue q ON q.id = u.queue
        GROUP BY q.partner_id) taken JOIN insp.partner p ON p.id = taken.partner_id
    WHERE t.partner_id = taken.partner_id AND p.rate_per_second IS NOT NULL
$$;
COMMENT ON FUNCTION insp.spend(integer[]) IS 'Deducts the tokens of jobs that were claimed from these queues';

CREATE OR REPLACE FUNCTION insp.claim(
    p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer,
    p_queues integer[], p_floors bigint[], p_limits integer[], p_known integer,
    p_fence bigint, p_seq bigint, p_horizon boolean
) RETURNS TABLE (
    epoch bigint, last_seq bigint, snapshot_xmin xid8, snapshot_xmax xid8, limits integer[], queues insp.queue[],
    job_id bigint, fence bigint, attempt smallint, crashes smallint, queue integer, seq bigint,
    public_id uuid, status smallint, expired boolean, payload jsonb, traceparent text, steps bytea[], key_id uuid, partner_id integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    paused smallint[];
    allowed integer[] := p_limits;
    restricted boolean;
    mine smallint;
    abroad boolean;
    taken_from integer[];
    is_same boolean;
    running pg_snapshot;
BEGIN
    -- Together with the worker, before any number is drawn: is this still the server whose numbers have only risen since the
    -- caller last saw them? No server changes its timeline without a start. All in one statement: a second one would cost as
    -- much as this whole check.
    SELECT e.id, s.last_value, e.started_at = pg_postmaster_start_time()
        AND e.recovered_at IS NOT DISTINCT FROM pg_stat_get_bgwriter_stat_reset_time() AND s.last_value >= p_seq,
        (SELECT array_agg(c.lane) FROM insp.control c WHERE c.paused),
        EXISTS (SELECT FROM insp.partner p
            WHERE p.paused OR p.max_running IS NOT NULL OR p.rate_per_second IS NOT NULL),
        (SELECT array_agg(q) FROM insp.queue q WHERE q.id > p_known),
        -- Two descents of the index by region, whatever the number of queues; in a database without regions both find nothing.
        w.region, EXISTS (SELECT FROM insp.queue q WHERE q.region > w.region)
            OR EXISTS (SELECT FROM insp.queue q WHERE q.region > 0 AND q.region < w.region)
    INTO epoch, last_seq, is_same, paused, restricted, queues, mine, abroad
    FROM insp.worker w, insp.epoch e, insp.ready_seq s
    WHERE w.id = p_worker AND w.incarnation = p_incarnation AND NOT w.draining AND e.single;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT is_same THEN
        epoch := insp.begin_epoch(p_fence, p_seq);
        SELECT s.last_value INTO last_seq FROM insp.ready_seq s;
    END IF;
    -- A claim alone need not wait for the disk or a standby: a server that loses it begins a new epoch, which invalidates the
    -- fence, and the job still waits. The worker's later writes for the job are flushed after the claim. A claim in one
    -- transaction with results waits as usual.
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    IF paused IS NOT NULL THEN
        SELECT array_agg(CASE WHEN q.lane = ANY (paused) THEN 0 ELSE u.most END ORDER BY u.place) INTO allowed
        FROM unnest(p_queues, p_limits) WITH ORDINALITY AS u (queue, most, place) LEFT JOIN insp.queue q ON q.id = u.queue;
    END IF;
    IF restricted THEN
        allowed := insp.within_limits(p_queues, p_floors, allowed);
    END IF;
    IF abroad THEN
        -- A worker asks only for queues of its own region; it gets no others.
        SELECT array_agg(CASE WHEN q.region = 0 OR q.region = mine THEN u.most ELSE 0 END ORDER BY u.place) INTO allowed
        FROM unnest(p_queues, allowed) WITH ORDINALITY AS u (queue, most, place) LEFT JOIN insp.queue q ON q.id = u.queue;
    END IF;
    -- What the caller must know even if no job waits. The limits are applied here: a caller that took a paused queue for an empty one
    -- would raise its floor over all jobs waiting there.
    IF paused IS NOT NULL OR restricted THEN
        limits := allowed;
    END IF;
    -- last_seq was read before this snapshot: a transaction that drew a place up to there has an id below its xmax, or that very
    -- one if it got it at the same moment, and has ended once a later snapshot's xmin exceeds it. The worker waits for xmin to
    -- reach xmax; insp.sweep finds what the rare transaction with that very id leaves behind.
    IF p_horizon THEN
        running := pg_current_snapshot();
        snapshot_xmin := pg_snapshot_xmin(running);
        snapshot_xmax := pg_snapshot_xmax(running);
    END IF;
    RETURN NEXT;
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.row FROM unnest(p_queues, p_floors, allowed) AS q (queue, floor, most),
            LATERAL (
                SELECT x.ctid AS row FROM insp.ready x
                WHERE x.queue = q.queue AND x.seq >= q.floor
                ORDER BY x.seq LIMIT q.most FOR UPDATE SKIP LOCKED) r
        WHERE q.most > 0
        LIMIT p_limit
    ), taken AS (
        -- By row address: a join on the key would be estimated from a LIMIT that is a parameter, and become a hash join.
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT p.row FROM picked p)) RETURNING x.*
    ), numbered AS MATERIALIZED (
        -- Materialized once and read twice: joined to the rows of the insert, every row would be compared with every other.
        SELECT t.*, nextval('insp.fence') AS fence FROM taken t
    ), leased AS (
        INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes, epoch)
        -- Without ON CONFLICT, which costs a row a tenth of its claim: insp.drop_strays deals with a second row of a leased job.
        SELECT n.job_id, n.fence, p_worker, now() + p_deadline, n.queue, least(n.attempt, 32766) + 1, n.crashes, epoch FROM numbered n
    )
    -- A job that was cancelled or expired while it waited has no open row: the caller drops its lease.
    -- = ANY (ARRAY[x]) is = x, but uses the index whatever the statistics say. With =, a plan made while a table is empty reads
    -- all of it for each row, and sessions keep their plans. So this form is used wherever a statement runs for each job.
    -- A lease is found by its job, and its fence is compared by IS NOT DISTINCT FROM, which uses no index: with =, the planner
    -- could look the fence up in lease_worker, and read every worker's leases.
    SELECT NULL::bigint, NULL::bigint, NULL::xid8, NULL::xid8, NULL::integer[], NULL::insp.queue[],
        n.job_id, n.fence, (least(n.attempt, 32766) + 1)::smallint, n.crashes, n.queue, n.seq,
        j.public_id, CASE WHEN j.status < 2 THEN 2::smallint ELSE j.status END, j.expires_at <= now(), j.request,
        j.traceparent,
        CASE WHEN j.status > 2 THEN (
            SELECT array_agg(p.body ORDER BY k.status) FROM (VALUES (4), (8), (16), (32)) AS k (status)
                LEFT JOIN insp.step p ON p.job_id = n.job_id AND p.status = k.status) END, j.key_id, j.partner_id
    FROM numbered n LEFT JOIN insp.job j ON j.id = ANY (ARRAY[n.job_id]) AND j.status < 128;
    IF restricted THEN
        SELECT array_agg(l.queue) INTO taken_from FROM insp.lease l
        WHERE l.worker_id = p_worker AND l.claimed_at = now() AND l.fence >= (
            SELECT w.fence_floor FROM insp.worker w WHERE w.id = p_worker);
        IF taken_from IS NOT NULL THEN PERFORM insp.spend(taken_from); END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.claim(bigint, uuid, interval, integer, integer[], bigint[], integer[], integer, bigint, bigint, boolean) IS
    'Leases up to p_limit waiting jobs to a live worker; the last statement of its transaction. The arrays name queues in the order in which to scan them, from which seq on, and how many jobs to take from each; p_fence and p_seq are the highest fence and place that the worker has seen. The first row is the claim itself: the epoch (a new one invalidates all floors), the last place that was given out, with p_horizon the running transactions (from snapshot_xmin to below snapshot_xmax), the limits applied if any was lowered, and the queues numbered above p_known. Each other row is a job, without a status if it was finished while it waited; steps has the bodies of its stages 4, 8, 16 and 32, null if it has none; key_id the key that sealed it, null if it is not sealed; a key of another partner than partner_id opens nothing of it. Queues of another region than the worker''s give nothing. No row at all: the worker is unknown or must drain';
GRANT EXECUTE ON FUNCTION insp.claim(bigint, uuid, interval, integer, integer[], bigint[], integer[], integer, bigint, bigint, boolean)
    TO insp_worker;

CREATE OR REPLACE FUNCTION insp.drop_strays(p_queues integer[], p_floors bigint[], p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET lock_timeout = '5s' AS $$
DECLARE
    strays tid[];
BEGIN
    WITH seen AS MATERIALIZED (
        SELECT r.* FROM unnest(p_queues, p_floors) AS q (queue, floor),
            LATERAL (
                SELECT x.ctid AS row, x.job_id, x.seq FROM insp.ready x
                WHERE x.queue = q.queue AND x.seq >= q.floor
                ORDER BY x.seq LIMIT p_limit FOR UPDATE SKIP LOCKED) r
    )
    SELECT array_agg(s.row) INTO strays FROM seen s
    WHERE EXISTS (SELECT FROM insp.lease l WHERE l.job_id = ANY (ARRAY[s.job_id]))
        OR EXISTS (SELECT FROM seen o WHERE o.job_id = s.job_id AND o.seq < s.seq);
    DELETE FROM insp.ready x WHERE x.ctid = ANY (strays);
    RETURN coalesce(cardinality(strays), 0);
END
$$;
COMMENT ON FUNCTION insp.drop_strays(integer[], bigint[], integer) IS
    'Deletes rows of jobs that are leased already, or that wait a second time, among the first p_limit rows of each queue from its floor on: for a claim that failed because of one. Returns how many';
GRANT EXECUTE ON FUNCTION insp.drop_strays(integer[], bigint[], integer) TO insp_worker;
