-- The order of events. A number drawn when an event is written becomes visible when its transaction commits, perhaps after higher
-- ones: a reader that has passed it would miss it, and one that waits for all lower ones would wait for the oldest open
-- transaction. So events are numbered after their commit, by one transaction at a time.

CREATE OR REPLACE FUNCTION insp.batch_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    INSERT INTO insp.event_batch (kind, jobs, fences)
    SELECT w.kind, array_agg(w.job_id), array_agg(w.fence) FROM written w GROUP BY w.kind;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.batch_events() IS
    'Records events to be numbered, one row for all events of a statement; every event is written through it';
CREATE OR REPLACE TRIGGER batch_events AFTER INSERT ON insp.event REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION insp.batch_events();

-- A duty of maintenance numbers them, twice a second. In the settlement it would cost every worker a second commit, or, inside the
-- transaction, a lock that all settlements share until they are on disk; in the reader, a lock that lasts as long as the reader
-- keeps its transaction open. Partners' callbacks do not wait for it: their outbox is claimed as it is.
CREATE OR REPLACE FUNCTION insp.number_events(p_limit integer DEFAULT 5000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    current_epoch constant bigint := insp.check_epoch();
    c insp.event_cursor;
    seen pg_snapshot;
    rows tid[];
    places bigint[];
    own xid8[];
BEGIN
    -- One at a time.
    SELECT * INTO STRICT c FROM insp.event_cursor x FOR UPDATE;
    IF c.epoch <> current_epoch THEN
        -- The server has changed. Positions restart above all that were given out before; and whatever its transaction ids are now, all
        -- waiting events are read.
        c.epoch := current_epoch;
        c.position := 0;
        c.next_xid := '0';
        c.open_xids := '{}';
    END IF;
    -- Rows visible now that were not at the last scan: found by transaction, so that neither an open transaction nor the dead
    -- index entries that it keeps cost anything.
    WITH fresh AS MATERIALIZED (
        -- A row without events takes a position as well, which no other row has.
        SELECT b.ctid AS row, b.id, greatest(1, cardinality(b.jobs)) AS events FROM insp.event_batch b
        WHERE b.position IS NULL AND b.xid >= c.next_xid
        UNION ALL
        SELECT b.ctid, b.id, greatest(1, cardinality(b.jobs)) FROM insp.event_batch b
        WHERE b.position IS NULL AND b.xid = ANY (c.open_xids) AND b.xid < c.next_xid
    ), ordered AS MATERIALIZED (
        SELECT f.row, f.id, sum(f.events) OVER (ORDER BY f.id) AS upto FROM fresh f ORDER BY f.id LIMIT p_limit
    )
    SELECT array_agg(o.row ORDER BY o.id), array_agg(c.position + o.upto ORDER BY o.id), pg_current_snapshot()
    INTO rows, places, seen FROM ordered o;
    IF rows IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE insp.event_batch b SET epoch = c.epoch, position = u.place
    FROM unnest(rows, places) AS u (row, place) WHERE b.ctid = u.row;
    IF cardinality(rows) < p_limit THEN
        own := ARRAY[pg_current_xact_id()];
        c.next_xid := pg_snapshot_xmax(seen);
        c.open_xids := ARRAY(SELECT x FROM pg_snapshot_xip(seen) x) || own;
    END IF;
    UPDATE insp.event_cursor x SET epoch = c.epoch, position = places[cardinality(places)], next_xid = c.next_xid,
        open_xids = c.open_xids;
    RETURN cardinality(rows);
END
$$;
COMMENT ON FUNCTION insp.number_events(integer) IS
    'Gives committed events without a position their position (epoch, position); returns for how many statements'' events. A job''s later event has the later position';
GRANT EXECUTE ON FUNCTION insp.number_events(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.events_after(p_epoch bigint DEFAULT 0, p_position bigint DEFAULT 0, p_limit integer DEFAULT 1000)
RETURNS TABLE (epoch bigint, "position" bigint, at timestamptz, kind text, job uuid, partner text, detail jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.require(p_epoch >= 0 AND p_position >= 0 AND p_limit > 0, 'p_epoch, p_position or p_limit',
        'p_epoch and p_position are at least 0, p_limit is at least 1.');
    IF p_epoch > (SELECT e.id FROM insp.epoch e) THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'the place is of an epoch that this database does not know: it went back',
            'Read again from the last place before that epoch.');
    END IF;
    RETURN QUERY
    SELECT p.epoch, p.place, p.at, p.kind, j.public_id, a.name, e.detail
    FROM (
        SELECT b.epoch, b.position - cardinality(b.jobs) + u.n AS place, b.at, b.kind, u.job, u.fence
        FROM (
            SELECT * FROM insp.event_batch x WHERE x.position IS NOT NULL AND (x.epoch, x.position) > (p_epoch, p_position)
            ORDER BY x.epoch, x.position LIMIT p_limit) b,
            LATERAL unnest(b.jobs, b.fences) WITH ORDINALITY AS u (job, fence, n)
        WHERE (b.epoch, b.position - cardinality(b.jobs) + u.n) > (p_epoch, p_position)
        ORDER BY b.epoch, b.position, u.n LIMIT p_limit) p
        -- After retention removed an event, its position and kind remain for a while.
        LEFT JOIN insp.event e ON e.job_id = ANY (ARRAY[p.job]) AND e.kind = p.kind AND e.fence = p.fence
        LEFT JOIN insp.job j ON j.id = ANY (ARRAY[p.job]) LEFT JOIN insp.partner a ON a.id = j.partner_id
    ORDER BY p.epoch, p.place;
END
$$;
COMMENT ON FUNCTION insp.events_after(bigint, bigint, integer) IS
    'Events after a position, in order; begin with (0, 0) and continue with the last row''s epoch and position. None is missed or returned twice. After a promotion that lost the newest events, positions continue in a higher epoch; an event that lost its number but not its row appears there again';
GRANT EXECUTE ON FUNCTION insp.events_after(bigint, bigint, integer) TO insp_operator, insp_auditor;
