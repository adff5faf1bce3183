-- Events that partners pull: callbacks of endpoints whose URL is pull:. They are numbered after their commit, by one transaction at a
-- time, as events.sql explains. What was numbered is never renumbered: a cursor that a partner holds stays true.

CREATE OR REPLACE FUNCTION insp.announce_pulls() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- As in insp.callback_announce.
    tick constant bigint := floor(extract(epoch FROM clock_timestamp()) * 20);
BEGIN
    IF current_setting('insp.notify', true) IS DISTINCT FROM 'off' AND (SELECT last_value FROM insp.wake_pull) <> tick THEN
        PERFORM setval('insp.wake_pull', tick), pg_notify('insp_pull', '');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.announce_pulls() IS
    'Notifies gateways of events to be numbered on channel insp_pull, at most once in 50 ms, unless insp.notify is off; only a hint';

CREATE OR REPLACE FUNCTION insp.number_pulls(p_limit integer DEFAULT 5000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    current_epoch constant bigint := insp.check_epoch();
    c insp.pull_cursor;
    seen pg_snapshot;
    numbers bigint[];
    callbacks bigint[];
BEGIN
    PERFORM insp.require(p_limit BETWEEN 1 AND 1000000, 'p_limit', 'p_limit is 1 to 1000000.');
    -- Gateways ask before each answer. Nothing is written or locked if there is nothing new.
    SELECT * INTO STRICT c FROM insp.pull_cursor x;
    IF NOT EXISTS (SELECT FROM insp.callback_pull p WHERE p.position IS NULL
            AND p.xid >= CASE WHEN c.epoch = current_epoch THEN c.next_xid ELSE '0' END)
        AND NOT EXISTS (SELECT FROM insp.callback_pull p WHERE p.position IS NULL AND p.xid = ANY (c.open_xids)) THEN
        RETURN 0;
    END IF;
    -- One at a time. The caller that holds it notifies when it is done.
    SELECT * INTO c FROM insp.pull_cursor x FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    IF c.epoch <> current_epoch THEN
        -- The server has changed. Some of the last positions may have been given out and lost, so they are not given out again; and
        -- whatever its transaction ids are now, all events without a position are read.
        INSERT INTO insp.pull_epoch (epoch, former_epoch, former_position) VALUES (current_epoch, c.epoch, c.position);
        c.epoch := current_epoch;
        c.position := 0;
        c.next_xid := '0';
        c.open_xids := '{}';
    END IF;
    WITH fresh AS MATERIALIZED (
        SELECT p.callback_id, p.id FROM insp.callback_pull p WHERE p.position IS NULL AND p.xid >= c.next_xid
        UNION ALL
        SELECT p.callback_id, p.id FROM insp.callback_pull p
        WHERE p.position IS NULL AND p.xid = ANY (c.open_xids) AND p.xid < c.next_xid
    ), ordered AS MATERIALIZED (
        SELECT f.callback_id, f.id FROM fresh f ORDER BY f.id LIMIT p_limit
    )
    SELECT array_agg(o.callback_id ORDER BY o.id), array_agg(o.id ORDER BY o.id), pg_current_snapshot()
    INTO callbacks, numbers, seen FROM ordered o;
    -- By another one meanwhile, or removed.
    IF numbers IS NULL THEN
        UPDATE insp.pull_cursor x SET epoch = c.epoch, position = c.position, next_xid = c.next_xid, open_xids = c.open_xids
        WHERE x.epoch <> c.epoch;
        RETURN 0;
    END IF;
    UPDATE insp.callback_pull p SET epoch = c.epoch, position = c.position + u.n, numbered_at = clock_timestamp()
    FROM unnest(callbacks, numbers) WITH ORDINALITY AS u (callback, id, n)
    WHERE p.callback_id = ANY (ARRAY[u.callback]) AND p.id = u.id;
    IF cardinality(numbers) < p_limit THEN
        c.next_xid := pg_snapshot_xmax(seen);
        -- This transaction may have written events before.
        c.open_xids := ARRAY(SELECT x FROM pg_snapshot_xip(seen) x) || pg_current_xact_id();
    END IF;
    UPDATE insp.pull_cursor x SET epoch = c.epoch, position = c.position + cardinality(numbers), next_xid = c.next_xid,
        open_xids = c.open_xids;
    PERFORM pg_notify('insp_pull', '');
    RETURN cardinality(numbers);
END
$$;
COMMENT ON FUNCTION insp.number_pulls(integer) IS
    'Gives committed events that are pulled their position (epoch, position), and notifies gateways; returns how many got one. A job''s later event has the later position. Commit before the positions are used';
GRANT EXECUTE ON FUNCTION insp.number_pulls(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.is_unnumbered(p_callback bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN EXISTS (SELECT FROM insp.callback_pull p WHERE p.callback_id = p_callback AND p.position IS NULL);
END
$$;
COMMENT ON FUNCTION insp.is_unnumbered(bigint) IS 'Whether an event that is pulled waits for its position';
-- For insp.v_callback.
GRANT EXECUTE ON FUNCTION insp.is_unnumbered(bigint) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.oldest_unnumbered_seconds() RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    written_at timestamptz;
BEGIN
    SELECT p.at INTO written_at FROM insp.callback_pull p, insp.pull_cursor c
    WHERE p.position IS NULL AND p.xid >= least(c.next_xid, (SELECT min(o) FROM unnest(c.open_xids) o))
    ORDER BY p.xid, p.id LIMIT 1;
    RETURN coalesce(greatest(0, extract(epoch FROM clock_timestamp() - written_at)), 0);
END
$$;
COMMENT ON FUNCTION insp.oldest_unnumbered_seconds() IS
    'Seconds since the first committed event without a position was written; 0: there is none';

CREATE OR REPLACE FUNCTION insp.remove_pulls(p_callbacks bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    WITH gone AS (
        DELETE FROM insp.callback_pull p WHERE p.callback_id = ANY (p_callbacks) RETURNING p.endpoint_id, p.epoch, p.position
    ), last AS (
        SELECT DISTINCT ON (g.endpoint_id) g.endpoint_id, g.epoch, g.position FROM gone g WHERE g.position IS NOT NULL
        ORDER BY g.endpoint_id, g.epoch DESC, g.position DESC
    )
    INSERT INTO insp.pull_gone AS x (endpoint_id, epoch, position) SELECT l.endpoint_id, l.epoch, l.position FROM last l
    ON CONFLICT (endpoint_id) DO UPDATE SET epoch = excluded.epoch, position = excluded.position
    WHERE (x.epoch, x.position) < (excluded.epoch, excluded.position);
END
$$;
COMMENT ON FUNCTION insp.remove_pulls(bigint[]) IS
    'Removes the positions of callbacks that are being removed. Cursors before these positions are refused from then on';

CREATE OR REPLACE FUNCTION insp.pull_again(p_callbacks bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    -- One replay of an endpoint at a time: two would see the same positions, and each would add one.
    PERFORM FROM insp.endpoint e WHERE e.id = ANY (ARRAY(SELECT c.endpoint_id FROM insp.callback c WHERE c.id = ANY (p_callbacks)))
    ORDER BY e.id FOR NO KEY UPDATE;
    -- An event has at most two positions, however often it is replayed: the first stays, since the job's events are in order around it,
    -- and the last replay replaces the other, so that a client that has not reached it reaches the new one. Only rows with a position
    -- are removed: number_pulls, and with it all partners, would wait for this transaction if it locked rows without one. In one
    -- statement, so that a row which gets its number meanwhile is either removed and replaced, or neither.
    WITH former AS (
        DELETE FROM insp.callback_pull p USING unnest(p_callbacks) AS u (callback)
        WHERE p.callback_id = ANY (ARRAY[u.callback]) AND p.position IS NOT NULL
            AND (SELECT true FROM insp.callback_pull f WHERE f.callback_id = ANY (ARRAY[u.callback]) AND f.id < p.id LIMIT 1)
    )
    -- One that waits for its position is pulled after this anyway.
    INSERT INTO insp.callback_pull (callback_id, endpoint_id)
    SELECT c.id, c.endpoint_id
    FROM unnest(p_callbacks) WITH ORDINALITY AS u (callback, n) JOIN insp.callback c ON c.id = ANY (ARRAY[u.callback])
    WHERE NOT insp.is_unnumbered(c.id) ORDER BY u.n;
    IF FOUND THEN
        PERFORM insp.announce_pulls();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.pull_again(bigint[]) IS
    'Gives callbacks that are pulled a new position, in this order, in addition to their first one and in place of that of an earlier replay; one that has no position yet keeps waiting for it';

CREATE OR REPLACE FUNCTION insp.pull_waiting(p_callbacks bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    pulled constant bigint[] := ARRAY(
        SELECT c.id FROM insp.callback c WHERE c.id = ANY (p_callbacks) AND c.url = 'pull:');
BEGIN
    IF pulled = '{}' THEN
        RETURN;
    END IF;
    WITH waited AS (
        DELETE FROM insp.callback_waiting w WHERE w.callback_id = ANY (pulled) AND w.state <> 'dead'
        RETURNING w.callback_id, w.endpoint_id
    ), sent AS (
        DELETE FROM insp.callback_lease l USING insp.callback c
        WHERE c.id = ANY (pulled) AND l.endpoint_id = c.endpoint_id AND l.callback_id = c.id
        RETURNING l.callback_id, l.endpoint_id
    )
    INSERT INTO insp.callback_pull (callback_id, endpoint_id)
    SELECT m.callback_id, m.endpoint_id FROM (SELECT * FROM waited UNION SELECT * FROM sent) m ORDER BY m.callback_id;
    IF FOUND THEN
        PERFORM insp.announce_pulls();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.pull_waiting(bigint[]) IS
    'Callbacks that waited to be sent to a URL of their jobs, and now have that of an endpoint whose events are pulled, are pulled instead';

-- Without their own settings, and in single expressions: a client that pulls calls them for each page.
CREATE OR REPLACE FUNCTION insp.mask_place(p_key bytea, p_tag bytea, p_bytes bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bits constant bit(512) := ('x' || encode(p_bytes, 'hex'))::bit(512)
        # ('x' || encode(sha256(p_key || '\x01' || p_tag) || sha256(p_key || '\x02' || p_tag), 'hex'))::bit(512);
BEGIN
    RETURN int8send(substring(bits FROM 1 FOR 64)::bigint) || int8send(substring(bits FROM 65 FOR 64)::bigint)
        || int8send(substring(bits FROM 129 FOR 64)::bigint) || int8send(substring(bits FROM 193 FOR 64)::bigint)
        || int8send(substring(bits FROM 257 FOR 64)::bigint) || int8send(substring(bits FROM 321 FOR 64)::bigint)
        || int8send(substring(bits FROM 385 FOR 64)::bigint) || int8send(substring(bits FROM 449 FOR 64)::bigint);
END
$$;
COMMENT ON FUNCTION insp.mask_place(bytea, bytea, bytea) IS
    'Encrypts or decrypts the 64 bytes of a cursor: they are combined with a stream derived from the key and the tag';

CREATE OR REPLACE FUNCTION insp.place_tag(p_key bytea, p_endpoint bigint, p_bytes bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- Always of the same length, and cut: nobody can extend it.
    RETURN substr(sha256(p_key || '\x00' || int8send(p_endpoint) || p_bytes), 1, 16);
END
$$;
COMMENT ON FUNCTION insp.place_tag(bytea, bigint, bytea) IS
    'The tag that proves that a cursor was made here and for this endpoint; equal positions have equal tags';

CREATE OR REPLACE FUNCTION insp.need_cursor_key() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- Two gateways may each make one at the same moment: neither waits for the other, and each cursor is tried with all.
    IF NOT EXISTS (SELECT FROM insp.secrets('inspectd', ARRAY['cursor_key'])) THEN
        INSERT INTO insp.secret (owner, purpose, value) VALUES ('inspectd', 'cursor_key', insp.random_key());
    END IF;
END
$$;
COMMENT ON FUNCTION insp.need_cursor_key() IS 'Creates the key that seals cursors, if there is none yet';

CREATE OR REPLACE FUNCTION insp.seal_place(p_endpoint bigint, p_words bigint[]) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- Always eight: a length would reveal how often the server changed.
    w constant bigint[] := p_words || array_fill(-1::bigint, ARRAY[8 - cardinality(p_words)]);
    bytes constant bytea := int8send(w[1]) || int8send(w[2]) || int8send(w[3]) || int8send(w[4]) || int8send(w[5])
        || int8send(w[6]) || int8send(w[7]) || int8send(w[8]);
    key bytea;
    tag bytea;
BEGIN
    SELECT s.value INTO STRICT key FROM insp.secrets('inspectd', ARRAY['cursor_key']) s ORDER BY s.id LIMIT 1;
    tag := insp.place_tag(key, p_endpoint, bytes);
    RETURN translate(encode(tag || insp.mask_place(key, tag, bytes), 'base64'), E'+/=\n', '-_');
END
$$;
COMMENT ON FUNCTION insp.seal_place(bigint, bigint[]) IS
    'A position as partners hold it. Positions count the events of all partners, so nobody else can read it; nor does it serve another endpoint';

CREATE OR REPLACE FUNCTION insp.pull_place(p_endpoint bigint, p_epoch bigint, p_position bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    words bigint[] := ARRAY[p_epoch, p_position];
    last insp.pull_epoch;
BEGIN
    SELECT * INTO last FROM insp.pull_epoch e WHERE e.epoch = p_epoch;
    -- Where the epoch is of a history that was lost, one of these is common to both.
    FOR generation IN 1..3 LOOP
        EXIT WHEN last.former_epoch IS NULL;
        words := words || last.former_epoch || last.former_position;
        SELECT * INTO last FROM insp.pull_epoch e WHERE e.epoch = last.former_epoch;
    END LOOP;
    RETURN insp.seal_place(p_endpoint, words);
END
$$;
COMMENT ON FUNCTION insp.pull_place(bigint, bigint, bigint) IS
    'A position in an endpoint''s events as partners hold it: epoch and position, and where the three epochs before it ended, sealed';

CREATE OR REPLACE FUNCTION insp.read_place(p_endpoint bigint, p_place text, OUT epoch bigint, OUT "position" bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    sealed bytea;
    key bytea;
    bytes bytea;
    given bigint;
BEGIN
    PERFORM insp.require((p_place ~ '^[A-Za-z0-9_-]{107}$') IS TRUE, 'after', 'Send next of the last page.',
        p_field => 'after');
    sealed := decode(translate(p_place, '-_', '+/') || '=', 'base64');
    FOR key IN SELECT s.value FROM insp.secrets('inspectd', ARRAY['cursor_key']) s ORDER BY s.id LOOP
        bytes := insp.mask_place(key, substr(sealed, 1, 16), substr(sealed, 17));
        EXIT WHEN insp.place_tag(key, p_endpoint, bytes) = substr(sealed, 1, 16);
        bytes := NULL;
    END LOOP;
    FOR n IN 0..3 LOOP
        given := ('x' || encode(substr(bytes, 16 * n + 1, 8), 'hex'))::bit(64)::bigint;
        IF EXISTS (SELECT FROM insp.pull_epoch e WHERE e.epoch = given) THEN
            epoch := given;
            position := ('x' || encode(substr(bytes, 16 * n + 9, 8), 'hex'))::bit(64)::bigint;
            RETURN;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.read_place(bigint, text) IS
    'The last position of an endpoint''s cursor that belongs to this history of the database; null: there is none, or the cursor belongs to another endpoint';
