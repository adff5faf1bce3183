-- Chooses the due callbacks of a claim. Like the parts in callback_claim.sql, insp.callback_choose is called once by
-- insp.callback_claim, with its settings.

CREATE OR REPLACE FUNCTION insp.callback_heads(
    p_endpoint bigint, p_start timestamptz, p_moment timestamptz, p_fresh integer, p_late integer, p_region smallint
) RETURNS TABLE (tuple tid, callback_id bigint, due_at timestamptz, is_late boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted integer[] := ARRAY[p_fresh, p_late];
    found bigint[] := '{}'::bigint[];
    -- How many are read in the order in which they are due. Usually nearly all of them are heads.
    breadth integer;
    scanned integer;
    is_short boolean := false;
    oldest timestamptz;
    point timestamptz;
    first_key text;
    key text;
    has_wrapped boolean := false;
    late integer;
    r record;
BEGIN
    FOR lates IN 0..1 LOOP
        CONTINUE WHEN wanted[1 + lates] <= 0;
        breadth := 16 + 4 * wanted[1 + lates];
        scanned := 0;
        FOR r IN
            SELECT x.tuple, x.callback_id, x.due_at, x.ordering_key IS NOT NULL AND (
                EXISTS (SELECT FROM insp.callback_waiting w WHERE w.endpoint_id = p_endpoint AND w.ordering_key = x.ordering_key
                    AND w.callback_id < x.callback_id AND w.state IN ('pending', 'held'))
                OR EXISTS (SELECT FROM insp.callback_lease l WHERE l.endpoint_id = p_endpoint AND l.ordering_key = x.ordering_key
                    AND l.callback_id < x.callback_id)) AS follows
            FROM (SELECT w.ctid AS tuple, w.callback_id, w.due_at, w.ordering_key FROM insp.callback_waiting w
                WHERE w.endpoint_id = p_endpoint AND least(w.attempts, 1) = lates AND w.state = 'pending' AND w.due_at >= p_start
                    AND w.due_at <= p_moment AND (w.region = 0 OR w.region = p_region)
                ORDER BY w.due_at, w.callback_id LIMIT breadth) AS x
        LOOP
            scanned := scanned + 1;
            oldest := least(oldest, r.due_at);
            IF NOT r.follows THEN
                RETURN QUERY SELECT r.tuple, r.callback_id, r.due_at, lates = 1;
                found := found || r.callback_id;
                wanted[1 + lates] := wanted[1 + lates] - 1;
                EXIT WHEN wanted[1 + lates] = 0;
            END IF;
        END LOOP;
        is_short := is_short OR wanted[1 + lates] > 0 AND scanned = breadth;
    END LOOP;
    IF NOT is_short THEN
        RETURN;
    END IF;

    -- If many wait behind few, go from key to key, each time to its first. Start at random, so that each of many keys has its
    -- turn; include callbacks without a key.
    point := oldest + random() * (p_moment - oldest);
    FOR r IN
        SELECT w.ctid AS tuple, w.callback_id, w.due_at, w.ordering_key FROM insp.callback_waiting w
        WHERE w.endpoint_id = p_endpoint AND least(w.attempts, 1) = 0 AND w.state = 'pending'
            AND w.due_at >= point AND w.due_at <= p_moment AND (w.region = 0 OR w.region = p_region)
        ORDER BY w.due_at, w.callback_id LIMIT 64
    LOOP
        first_key := coalesce(first_key, r.ordering_key);
        IF r.ordering_key IS NULL AND wanted[1] > 0 AND r.callback_id <> ALL (found) THEN
            RETURN QUERY SELECT r.tuple, r.callback_id, r.due_at, false;
            found := found || r.callback_id;
            wanted[1] := wanted[1] - 1;
        END IF;
    END LOOP;
    first_key := coalesce(first_key, '');
    FOR turn IN 1..128 LOOP
        EXIT WHEN wanted[1] <= 0 AND wanted[2] <= 0;
        IF key IS NULL THEN
            SELECT w.ctid AS tuple, w.callback_id, w.due_at, w.ordering_key, w.attempts, w.state, w.region INTO r FROM insp.callback_waiting w
            WHERE w.endpoint_id = p_endpoint AND w.ordering_key >= first_key AND w.state IN ('pending', 'held')
            ORDER BY w.ordering_key, w.callback_id LIMIT 1;
        ELSE
            SELECT w.ctid AS tuple, w.callback_id, w.due_at, w.ordering_key, w.attempts, w.state, w.region INTO r FROM insp.callback_waiting w
            WHERE w.endpoint_id = p_endpoint AND w.ordering_key > key AND w.state IN ('pending', 'held')
            ORDER BY w.ordering_key, w.callback_id LIMIT 1;
        END IF;
        IF r.ordering_key IS NULL THEN
            EXIT WHEN has_wrapped OR first_key = '';
            has_wrapped := true;
            key := '';
            CONTINUE;
        END IF;
        EXIT WHEN has_wrapped AND r.ordering_key >= first_key;
        key := r.ordering_key;
        late := least(r.attempts, 1);
        IF r.state = 'pending' AND r.region IN (0, p_region) AND r.due_at <= p_moment AND wanted[1 + late] > 0 AND r.callback_id <> ALL (found)
            AND NOT EXISTS (SELECT FROM insp.callback_lease l WHERE l.endpoint_id = p_endpoint AND l.ordering_key = key
                AND l.callback_id < r.callback_id)
        THEN
            RETURN QUERY SELECT r.tuple, r.callback_id, r.due_at, late = 1;
            wanted[1 + late] := wanted[1 + late] - 1;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.callback_heads(bigint, timestamptz, timestamptz, integer, integer, smallint) IS
    'Due callbacks of an endpoint with ordering keys and of a dispatcher''s region that are the first of their key: up to the given numbers of first attempts and retries. Reads a few in the order in which they are due, then the first of each of up to 128 keys, however many wait behind them';

CREATE OR REPLACE FUNCTION insp.callback_choose(
    p_limit integer, p_retries integer, p_moment timestamptz, p_endpoints bigint[], p_starts timestamptz[],
    p_permits integer[], p_lates integer[], p_ordered bigint[], p_has_retries boolean, p_region smallint
) RETURNS tid[]
LANGUAGE plpgsql AS $$
DECLARE
    chosen tid[];
BEGIN
    IF NOT p_has_retries AND p_ordered IS NULL THEN
        -- First attempts alone, the usual case, need one sort instead of three, which saves a fifteenth of the claim: every
        -- endpoint's first, then every endpoint's second …
        SELECT array_agg(k.tuple) INTO chosen FROM (
            SELECT w.tuple FROM unnest(p_endpoints, p_starts, p_permits) AS r (id, start, permits) CROSS JOIN LATERAL (
                SELECT x.ctid AS tuple, x.due_at, row_number() OVER (ORDER BY x.due_at, x.callback_id) AS number
                FROM insp.callback_waiting x
                WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 0 AND x.state = 'pending' AND x.due_at >= r.start
                    AND x.due_at <= p_moment AND x.ordering_key IS NULL AND (x.region = 0 OR x.region = p_region)
                ORDER BY x.due_at, x.callback_id LIMIT least(greatest(r.permits, 0), p_limit)) AS w
            ORDER BY w.number, w.due_at LIMIT p_limit) k;
    ELSE
        WITH seen AS MATERIALIZED (
            SELECT r.id AS endpoint, w.tuple, w.callback_id, w.due_at, w.is_late, r.permits,
                row_number() OVER (PARTITION BY r.id, w.is_late ORDER BY w.due_at, w.callback_id) AS turn
            FROM unnest(p_endpoints, p_starts, p_permits, p_lates) AS r (id, start, permits, late) CROSS JOIN LATERAL (
                (SELECT x.ctid AS tuple, x.callback_id, x.due_at, false AS is_late FROM insp.callback_waiting x
                WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 0 AND x.state = 'pending' AND x.due_at >= r.start
                    AND x.due_at <= p_moment AND x.ordering_key IS NULL AND r.id <> ALL (coalesce(p_ordered, '{}'))
                    AND (x.region = 0 OR x.region = p_region)
                ORDER BY x.due_at, x.callback_id LIMIT least(greatest(r.permits, 0), p_limit))
                UNION ALL
                (SELECT x.ctid, x.callback_id, x.due_at, true FROM insp.callback_waiting x
                WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 1 AND x.state = 'pending' AND x.due_at >= r.start
                    AND x.due_at <= p_moment AND x.ordering_key IS NULL AND r.id <> ALL (coalesce(p_ordered, '{}'))
                    AND (x.region = 0 OR x.region = p_region)
                ORDER BY x.due_at, x.callback_id LIMIT least(greatest(least(r.permits, r.late), 0), p_limit, p_retries))
                UNION ALL
                SELECT o.tuple, o.callback_id, o.due_at, o.is_late
                FROM insp.callback_heads(r.id, r.start, p_moment, least(greatest(r.permits, 0), p_limit),
                    least(greatest(least(r.permits, r.late), 0), p_limit, p_retries), p_region) o
                WHERE r.id = ANY (p_ordered)) AS w
        ), fair AS MATERIALIZED (
            -- Within an endpoint, first attempts and retries in turn, up to its permits …
            SELECT s.*, row_number() OVER (PARTITION BY s.endpoint ORDER BY s.turn, s.is_late) AS number FROM seen s
        )
        -- … and over all endpoints as above.
        SELECT array_agg(o.tuple) INTO chosen FROM (
            SELECT k.tuple FROM (
                SELECT f.*,
                    count(*) FILTER (WHERE f.is_late) OVER (ORDER BY f.number, f.due_at, f.callback_id) AS late_so_far
                FROM fair f WHERE f.number <= f.permits) k
            WHERE NOT k.is_late OR k.late_so_far <= p_retries
            ORDER BY k.number, k.due_at LIMIT p_limit) o;
    END IF;
    RETURN chosen;
END
$$;
COMMENT ON FUNCTION insp.callback_choose(integer, integer, timestamptz, bigint[], timestamptz[], integer[], integer[], bigint[],
    boolean, smallint) IS
    'The rows of insp.callback_waiting to be claimed: at most p_limit, of which p_retries retries, fairly over the endpoints and within the permits of each';
