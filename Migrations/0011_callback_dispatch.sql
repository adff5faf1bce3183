-- How callbacks leave the outbox: claim, settle, and what operators can do about them.

ALTER TABLE insp.callback ADD COLUMN released integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN insp.callback.released IS
    'Attempts that failed through a fault on our side (no resolver, no route) and were not counted in attempts';
ALTER TABLE insp.endpoint ADD COLUMN gone_at timestamptz;
COMMENT ON COLUMN insp.endpoint.gone_at IS 'When the endpoint last answered 410 Gone: its partner wants no more callbacks there';
GRANT SELECT (gone_at) ON insp.endpoint TO insp_operator, insp_auditor;

-- Counting what is under way must read neither the backlog nor, while an old transaction keeps the dead rows, the past.
CREATE INDEX callback_claimed ON insp.callback (endpoint_id, lease_until) WHERE claim_id IS NOT NULL;

-- The hint ---------------------------------------------------------------------------------------------------------------

CREATE SEQUENCE insp.wake_callback AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE insp.wake_callback IS 'The 50 ms tick in which callbacks were last announced';

CREATE FUNCTION insp.callback_announce() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- At most once in 50 ms, as insp.wake does and for the same reason. Who is woken looks again 60 ms later, for what was
    -- committed behind an announcement.
    tick constant bigint := floor(extract(epoch FROM clock_timestamp()) * 20);
BEGIN
    IF (SELECT last_value FROM insp.wake_callback) <> tick THEN
        PERFORM setval('insp.wake_callback', tick);
        PERFORM pg_notify('insp_callback', '');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_announce() IS
    'Announces new callbacks on channel insp_callback, at most once in 50 ms; a hint only, dispatchers poll as well';
CREATE TRIGGER callback_announce AFTER INSERT ON insp.callback
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_announce();

-- Dispatchers ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.callback_claim(
    p_limit integer, p_lease interval, p_floor bigint DEFAULT NULL, p_endpoints bigint[] DEFAULT '{}',
    p_floors bigint[] DEFAULT '{}'
)
RETURNS TABLE (
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    secret text, previous_secret text, allow_http boolean, allow_private boolean, waited_ms double precision, floor bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    -- Not now(): a row committed after this transaction began is due too.
    moment constant timestamptz := clock_timestamp();
    endpoints bigint[];
    starts timestamptz[];
    waiting bigint[];
    heads bigint[];
    claim bigint;
BEGIN
    -- Endpoints with something due. Settled rows leave dead entries in the index in front of the
    -- live ones, and while any old transaction runs nothing can remove them; the floors skip them. Two seconds of slack
    -- cover rows that were committed late; a call without floors finds whatever else is older (lapsed claims above all).
    WITH place AS MATERIALIZED (
        SELECT e.id, coalesce(to_timestamp(coalesce(p_floors[array_position(p_endpoints, e.id)], p_floor) / 1e6)
            - interval '2 seconds', '-infinity') AS start
        FROM insp.endpoint e WHERE e.enabled
    ), due AS MATERIALIZED (
        SELECT p.id, p.start, head.due_at
        FROM place p CROSS JOIN LATERAL (
            SELECT c.due_at FROM insp.callback c
            WHERE c.endpoint_id = p.id AND c.state = 'pending' AND c.due_at >= p.start AND c.due_at <= moment
                AND (c.lease_until IS NULL OR c.lease_until <= moment)
            ORDER BY c.due_at, c.id LIMIT 1) AS head
        -- By lot: those whose places are all taken must not stand before the others for ever.
        ORDER BY random()
    ), taken AS MATERIALIZED (
        -- Two dispatchers must not both take an endpoint's last free place. Whoever holds this lock counts alone; the other
        -- turns to the next endpoint.
        SELECT d.id, d.start FROM due d
        WHERE pg_try_advisory_xact_lock(hashtext('insp.callback_claim'), (d.id & 2147483647)::integer)
        LIMIT greatest(p_limit, 256)
    )
    SELECT (SELECT array_agg(t.id) FROM taken t), (SELECT array_agg(t.start) FROM taken t),
        array_agg(d.id), array_agg((extract(epoch FROM d.due_at) * 1000000)::bigint)
    INTO endpoints, starts, waiting, heads FROM due d;

    IF endpoints IS NOT NULL THEN
        claim := nextval('insp.callback_claim');
        -- A new statement, so that its snapshot shows what the last holder of the lock committed.
        RETURN QUERY
        WITH room AS MATERIALIZED (
            SELECT e.id, t.start, e.max_inflight - (
                SELECT count(*) FROM insp.callback l
                WHERE l.endpoint_id = e.id AND l.claim_id IS NOT NULL AND l.lease_until > moment)::integer AS places
            FROM unnest(endpoints, starts) AS t (endpoint, start) JOIN insp.endpoint e ON e.id = t.endpoint
            WHERE e.enabled
        ), candidate AS MATERIALIZED (
            -- In turn: every endpoint's first, then every endpoint's second …
            SELECT c.id FROM room r CROSS JOIN LATERAL (
                SELECT x.id, x.due_at, row_number() OVER (ORDER BY x.due_at, x.id) AS turn FROM insp.callback x
                WHERE x.endpoint_id = r.id AND x.state = 'pending' AND x.due_at >= r.start AND x.due_at <= moment
                    AND (x.lease_until IS NULL OR x.lease_until <= moment)
                ORDER BY x.due_at, x.id LIMIT least(greatest(r.places, 0), p_limit)) AS c
            ORDER BY c.turn, c.due_at LIMIT p_limit
        ), free AS MATERIALIZED (
            -- An operator's open transaction must not stop the dispatch.
            SELECT c.id FROM insp.callback c JOIN candidate k ON k.id = c.id
            WHERE c.state = 'pending' AND (c.lease_until IS NULL OR c.lease_until <= moment)
            FOR UPDATE OF c SKIP LOCKED
        )
        UPDATE insp.callback c SET claim_id = claim, lease_until = moment + p_lease
        FROM free f JOIN insp.callback o ON o.id = f.id JOIN insp.endpoint e ON e.id = o.endpoint_id
        WHERE c.id = f.id
        RETURNING c.id, c.claim_id, c.webhook_id, c.endpoint_id, c.url, c.body, c.attempts, c.released, e.secret,
            CASE WHEN e.previous_secret_until > moment THEN e.previous_secret END, e.allow_http, e.allow_private,
            (extract(epoch FROM moment - c.due_at) * 1000)::double precision, NULL::bigint;
    END IF;

    -- The floors for the next call: where something was due, its age; everywhere else, this moment.
    RETURN QUERY
    SELECT NULL::bigint, NULL::bigint, NULL, w.endpoint, NULL, NULL::bytea, NULL::integer, NULL::integer, NULL, NULL,
        NULL::boolean, NULL::boolean, NULL::double precision, w.floor
    FROM unnest(waiting || NULL::bigint, heads || (extract(epoch FROM moment) * 1000000)::bigint) AS w (endpoint, floor);
END
$$;
COMMENT ON FUNCTION insp.callback_claim(integer, interval, bigint, bigint[], bigint[]) IS
    'Takes due callbacks to be sent, fairly over the endpoints and within each one''s max_inflight. Send after the commit, then call callback_settle with the claim_id; a claim that is not settled lapses and its callbacks are sent again. Rows without id carry floors (microseconds since 1970) for the next call: one for each endpoint with something due, and without endpoint_id the one for all others; without floors everything is searched';

CREATE FUNCTION insp.callback_settle(
    p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays double precision[], p_started double precision[],
    p_durations integer[], p_statuses integer[], p_errors text[], p_worker text
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT u.id, u.claim, u.outcome, u.delay, to_timestamp(u.started) AS started, u.duration,
            nullif(u.status, 0) AS status, nullif(u.error, '') AS error
        FROM unnest(p_ids, p_claims, p_outcomes, p_delays, p_started, p_durations, p_statuses, p_errors)
            AS u (id, claim, outcome, delay, started, duration, status, error)
    ), settled AS (
        UPDATE insp.callback c SET
            state = CASE g.outcome WHEN 'delivered' THEN 'delivered' WHEN 'dead' THEN 'dead'
                ELSE CASE WHEN e.enabled THEN 'pending' ELSE 'held' END END,
            attempts = c.attempts + CASE WHEN g.outcome = 'release' THEN 0 ELSE 1 END,
            released = c.released + CASE WHEN g.outcome = 'release' THEN 1 ELSE 0 END,
            due_at = CASE WHEN g.outcome IN ('retry', 'release') THEN clock_timestamp() + g.delay * interval '1 second'
                ELSE c.due_at END,
            delivered_at = CASE WHEN g.outcome = 'delivered' THEN clock_timestamp() ELSE c.delivered_at END,
            last_http_status = g.status, last_error = g.error, claim_id = NULL, lease_until = NULL
        FROM given g, insp.endpoint e
        -- The compare-and-set: a claim that lapsed and was taken over matches nothing.
        WHERE c.id = g.id AND c.claim_id = g.claim AND c.state = 'pending' AND e.id = c.endpoint_id
        RETURNING c.id, c.endpoint_id, c.url, g.started, g.duration, g.status, g.error
    ), attempt AS (
        INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, error, worker)
        SELECT s.id, 1 + coalesce((SELECT max(a.attempt) FROM insp.callback_attempt a WHERE a.callback_id = s.id), 0),
            s.started, s.duration, s.status, s.error, p_worker
        FROM settled s
    ), gone AS (
        -- Only the endpoint's own URL speaks for the endpoint; a job may have brought another one.
        UPDATE insp.endpoint e SET gone_at = clock_timestamp()
        WHERE e.id IN (SELECT s.endpoint_id FROM settled s WHERE s.status = 410 AND s.url = e.url)
    )
    SELECT s.id FROM settled s;
END
$$;
COMMENT ON FUNCTION insp.callback_settle(bigint[], bigint[], text[], double precision[], double precision[], integer[],
    integer[], text[], text) IS
    'Records attempts: outcome delivered, retry (after delay seconds), dead, or release (retry without counting the attempt); status 0 and error empty mean none; started is seconds since 1970. Returns the callbacks whose claim still held; of the others nothing is changed';

-- Operators --------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.callback_replay(p_webhook_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.callback c
    SET state = 'pending', due_at = clock_timestamp(), attempts = 0, released = 0, claim_id = NULL, lease_until = NULL
    WHERE c.webhook_id = p_webhook_id;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_replay(text) IS
    'Sends one callback again at once, whatever its state, with the same webhook-id and body and all attempts anew; false: no such callback';

CREATE FUNCTION insp.callback_replay(
    p_endpoint bigint, p_since timestamptz, p_until timestamptz DEFAULT now(), p_delivered boolean DEFAULT false,
    p_per_second double precision DEFAULT 50
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    replayed bigint;
BEGIN
    IF p_per_second IS NULL OR p_per_second <= 0 THEN
        RAISE EXCEPTION 'p_per_second must be above 0' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH chosen AS (
        SELECT c.id, row_number() OVER (ORDER BY c.created_at, c.id) AS n FROM insp.callback c
        WHERE c.endpoint_id = p_endpoint AND c.created_at >= p_since AND c.created_at <= p_until
            AND (c.state = 'dead' OR p_delivered AND c.state = 'delivered')
    )
    UPDATE insp.callback c
    SET state = 'pending', due_at = clock_timestamp() + (n - 1) / p_per_second * interval '1 second', attempts = 0,
        released = 0, claim_id = NULL, lease_until = NULL
    FROM chosen k WHERE c.id = k.id;
    GET DIAGNOSTICS replayed = ROW_COUNT;
    IF replayed > 0 THEN PERFORM pg_notify('insp_callback', ''); END IF;
    RETURN replayed;
END
$$;
COMMENT ON FUNCTION insp.callback_replay(bigint, timestamptz, timestamptz, boolean, double precision) IS
    'Sends an endpoint''s dead callbacks of a period again (with p_delivered also the delivered ones), spread by p_per_second, each with the same webhook-id and body; returns how many';

CREATE FUNCTION insp.callback_bury(p_webhook_id text, p_reason text DEFAULT 'buried by an operator') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.callback c SET state = 'dead', last_error = p_reason, claim_id = NULL, lease_until = NULL
    WHERE c.webhook_id = p_webhook_id AND c.state IN ('pending', 'held');
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION insp.callback_bury(text, text) IS
    'Gives up a callback that is pending or held; an attempt under way may still arrive. false: nothing to bury';

CREATE FUNCTION insp.callback_disable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    held bigint;
BEGIN
    UPDATE insp.endpoint e SET enabled = false WHERE e.id = p_endpoint;
    UPDATE insp.callback c SET state = 'held', claim_id = NULL, lease_until = NULL
    WHERE c.endpoint_id = p_endpoint AND c.state = 'pending' AND (c.lease_until IS NULL OR c.lease_until <= clock_timestamp());
    GET DIAGNOSTICS held = ROW_COUNT;
    RETURN held;
END
$$;
COMMENT ON FUNCTION insp.callback_disable(bigint) IS
    'Stops sending to an endpoint; its callbacks, also later ones, are held until callback_enable, never dropped. Returns how many are held now; those under way end by themselves';

CREATE FUNCTION insp.callback_enable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    freed bigint;
BEGIN
    UPDATE insp.endpoint e SET enabled = true, gone_at = NULL WHERE e.id = p_endpoint;
    UPDATE insp.callback c SET state = 'pending', due_at = clock_timestamp()
    WHERE c.endpoint_id = p_endpoint AND c.state = 'held';
    GET DIAGNOSTICS freed = ROW_COUNT;
    PERFORM pg_notify('insp_callback', '');
    RETURN freed;
END
$$;
COMMENT ON FUNCTION insp.callback_enable(bigint) IS
    'Sends to an endpoint again, first what was held, at the pace of its max_inflight. Returns how many were held';

CREATE FUNCTION insp.callback_rotate_secret(
    p_endpoint bigint, p_overlap interval DEFAULT interval '24 hours', p_secret text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    fresh constant text := coalesce(p_secret, insp.new_secret());
BEGIN
    UPDATE insp.endpoint e
    SET previous_secret = e.secret, previous_secret_until = clock_timestamp() + p_overlap, secret = fresh
    WHERE e.id = p_endpoint;
    IF NOT FOUND THEN RAISE EXCEPTION 'no endpoint %', p_endpoint USING ERRCODE = 'no_data_found'; END IF;
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION insp.callback_rotate_secret(bigint, interval, text) IS
    'Gives an endpoint a new signing secret and returns it; until p_overlap has passed, callbacks carry a signature by each of the two';

CREATE VIEW insp.v_callback_dead AS
SELECT p.name AS partner, c.webhook_id, c.endpoint_id, c.job_id, c.event, c.created_at, c.attempts, c.last_http_status,
    c.last_error, last.started_at AS last_attempt_at
FROM insp.callback c JOIN insp.endpoint e ON e.id = c.endpoint_id JOIN insp.partner p ON p.id = e.partner_id
    LEFT JOIN LATERAL (
        SELECT a.started_at FROM insp.callback_attempt a WHERE a.callback_id = c.id ORDER BY a.attempt DESC LIMIT 1) AS last ON true
WHERE c.state = 'dead';
COMMENT ON VIEW insp.v_callback_dead IS 'Callbacks given up; insp.callback_replay sends them again';
COMMENT ON COLUMN insp.v_callback_dead.partner IS 'Whose it is';
COMMENT ON COLUMN insp.v_callback_dead.webhook_id IS 'What callback_replay takes';
COMMENT ON COLUMN insp.v_callback_dead.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callback_dead.job_id IS 'The job''s internal number';
COMMENT ON COLUMN insp.v_callback_dead.event IS 'What it tells';
COMMENT ON COLUMN insp.v_callback_dead.created_at IS 'When the job was finished';
COMMENT ON COLUMN insp.v_callback_dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.v_callback_dead.last_http_status IS 'Status of the last answer; null: none came';
COMMENT ON COLUMN insp.v_callback_dead.last_error IS 'What was wrong with the last attempt';
COMMENT ON COLUMN insp.v_callback_dead.last_attempt_at IS 'When the last attempt began';

GRANT SELECT ON insp.v_callback_dead TO insp_operator, insp_auditor;
GRANT EXECUTE ON FUNCTION insp.callback_claim(integer, interval, bigint, bigint[], bigint[]) TO insp_worker;
GRANT EXECUTE ON FUNCTION insp.callback_settle(bigint[], bigint[], text[], double precision[], double precision[], integer[],
    integer[], text[], text) TO insp_worker;
GRANT EXECUTE ON FUNCTION insp.callback_replay(text) TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.callback_replay(bigint, timestamptz, timestamptz, boolean, double precision) TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.callback_bury(text, text) TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.callback_disable(bigint) TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.callback_enable(bigint) TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.callback_rotate_secret(bigint, interval, text) TO insp_operator;
