-- Claims of callbacks by dispatchers. Counting callbacks under way must not read the backlog, nor dead rows kept by an old
-- transaction.

-- The parts of a claim, each called once by it with its settings. They are volatile, so that each statement sees what was
-- committed before it.

CREATE OR REPLACE FUNCTION insp.callback_free(p_moment timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- Lapsed claims, whose holder is dead or frozen. Their callbacks wait again, with their times.
    WITH lapsed AS MATERIALIZED (
        SELECT l.ctid AS row FROM insp.callback_lease l WHERE l.lease_until <= p_moment FOR UPDATE SKIP LOCKED
    ), freed AS (
        DELETE FROM insp.callback_lease l WHERE l.ctid = ANY (ARRAY(SELECT k.row FROM lapsed k)) RETURNING l.*
    )
    INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, region, state, ordering_key, recorded)
    SELECT f.callback_id, f.endpoint_id, f.due_at, f.attempts, f.released, f.region, 'pending', f.ordering_key, f.recorded FROM freed f
    -- A replay may have put it there already.
    ON CONFLICT DO NOTHING;
    -- A job that was finished while the endpoint was being enabled still saw it disabled, and callback_enable did not see its
    -- callback. It becomes due now, as in that function.
    UPDATE insp.callback_waiting w SET state = 'pending', due_at = p_moment
    WHERE w.ctid = ANY (ARRAY(
        SELECT h.row FROM insp.endpoint e CROSS JOIN LATERAL (
            SELECT x.ctid AS row FROM insp.callback_waiting x
            WHERE x.state = 'held' AND x.state <> 'pending' AND x.endpoint_id = e.id LIMIT 1000 FOR UPDATE SKIP LOCKED) AS h
        WHERE e.enabled));
END
$$;
COMMENT ON FUNCTION insp.callback_free(timestamptz) IS
    'Makes callbacks pending whose claim lapsed, and those that are held although their endpoint is enabled';

CREATE OR REPLACE FUNCTION insp.callback_due(
    p_limit integer, p_moment timestamptz, p_floor_microseconds bigint, p_endpoints bigint[], p_floors_microseconds bigint[], p_region smallint,
    OUT endpoints bigint[], OUT starts timestamptz[], OUT retried boolean[], OUT waiting bigint[], OUT heads_microseconds bigint[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    has_retries boolean;
BEGIN
    -- Usually there are none, and no endpoint need be checked.
    has_retries := EXISTS (SELECT FROM insp.callback_waiting w
        WHERE w.attempts > 0 AND w.state = 'pending' AND w.due_at <= p_moment);
    -- Endpoints with something due. Claimed rows leave dead entries in the index in front of the live ones, and while any old
    -- transaction runs nothing can remove them; the floors skip them. Two seconds of slack cover rows that were committed
    -- late; a call without floors finds whatever else is older (lapsed claims above all).
    WITH known AS MATERIALIZED (
        SELECT e.id, NOT e.paused AND (h.open_until IS NULL OR h.open_until <= p_moment) AS is_open,
            coalesce(to_timestamp(coalesce(p_floors_microseconds[array_position(p_endpoints, e.id)], p_floor_microseconds) / 1e6::double precision)
            - interval '2 seconds', '-infinity') AS start
        FROM insp.endpoint e LEFT JOIN insp.endpoint_health h ON h.endpoint_id = ANY (ARRAY[e.id]) WHERE e.enabled
    ), due AS MATERIALIZED (
        SELECT k.id, k.start, k.is_open, least(fresh.due_at, retry.due_at) AS due_at, retry.due_at IS NOT NULL AS is_retried
        FROM known k LEFT JOIN LATERAL (
            SELECT w.due_at FROM insp.callback_waiting w
            WHERE w.endpoint_id = k.id AND least(w.attempts, 1) = 0 AND w.state = 'pending' AND w.due_at >= k.start
                AND w.due_at <= p_moment AND (w.region = 0 OR w.region = p_region)
            ORDER BY w.due_at, w.callback_id LIMIT 1) AS fresh ON true
            LEFT JOIN LATERAL (
            SELECT w.due_at FROM insp.callback_waiting w
            WHERE w.endpoint_id = k.id AND least(w.attempts, 1) = 1 AND w.state = 'pending' AND w.due_at >= k.start
                AND w.due_at <= p_moment AND has_retries AND (w.region = 0 OR w.region = p_region)
            ORDER BY w.due_at, w.callback_id LIMIT 1) AS retry ON true
        WHERE fresh.due_at IS NOT NULL OR retry.due_at IS NOT NULL
        -- At random, so that endpoints whose permits are all taken do not precede the others for ever.
        ORDER BY random()
    ), taken AS MATERIALIZED (
        -- Two dispatchers must not both take an endpoint's last free permit. The one that locks its row counts; the other takes
        -- the next endpoint. Otherwise only functions that change the endpoint take this lock.
        SELECT d.id, d.start, d.is_retried FROM due d JOIN insp.endpoint e ON e.id = ANY (ARRAY[d.id])
        WHERE d.is_open
        LIMIT greatest(p_limit, 256) FOR NO KEY UPDATE OF e SKIP LOCKED
    )
    SELECT (SELECT array_agg(t.id) FROM taken t), (SELECT array_agg(t.start) FROM taken t),
        (SELECT array_agg(t.is_retried) FROM taken t), array_agg(d.id),
        array_agg((date_part('epoch', d.due_at) * 1000000)::bigint)
    INTO endpoints, starts, retried, waiting, heads_microseconds FROM due d;
END
$$;
COMMENT ON FUNCTION insp.callback_due(integer, timestamptz, bigint, bigint[], bigint[], smallint) IS
    'Endpoints with something due for a dispatcher of a region (waiting) and since when it is due (heads_microseconds, since 1970); of these, locked, at most p_limit that may get callbacks and that no other transaction holds, with the start of their scans and whether retries are due';

CREATE OR REPLACE FUNCTION insp.callback_permits(
    p_taken bigint[], p_starts timestamptz[], p_retried boolean[], p_moment timestamptz, p_claim bigint, p_holder bigint,
    p_endpoints bigint[], p_claims bigint[],
    OUT endpoints bigint[], OUT starts timestamptz[], OUT limits integer[], OUT permits integer[], OUT lates integer[],
    OUT lowest bigint[], OUT urls text[], OUT inlined bigint[], OUT guarded bigint[], OUT ordered bigint[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- A new statement, so that its snapshot shows what the last holder of the lock committed.
    SELECT array_agg(r.id), array_agg(r.start), array_agg(r.at_once), array_agg(r.ahead * r.at_once - r.own),
        array_agg(r.late), array_agg(r.lowest), array_agg(r.url), coalesce(array_agg(r.id) FILTER (WHERE r.inline_result), '{}'),
        array_agg(r.id) FILTER (WHERE r.is_guarded), array_agg(r.id) FILTER (WHERE r.is_ordered)
    INTO endpoints, starts, limits, permits, lates, lowest, urls, inlined, guarded, ordered
    FROM (
        SELECT e.id, e.url, e.inline_result, t.start, live.own,
            -- What other servers must not get, including access to our own networks.
            e.inline_result OR e.allow_private OR e.http2 OR e.pins IS NOT NULL OR e.client_certificate IS NOT NULL
                OR e.api_key_header IS NOT NULL OR EXISTS (SELECT FROM insp.endpoint_authorization)
                    AND EXISTS (SELECT FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id) AS is_guarded,
            -- Keys remain when the setting is removed.
            e.ordering IS NOT NULL OR EXISTS (SELECT FROM insp.callback_waiting w WHERE w.endpoint_id = e.id
                AND w.ordering_key IS NOT NULL AND w.state IN ('pending', 'held')) AS is_ordered,
            -- Other dispatchers may send what they hold at any time; they get more only by a claim, which counts what is held
            -- here. Half open: one attempt at a time.
            CASE WHEN h.open_until IS NOT NULL THEN 1 ELSE e.max_inflight END - live.others AS at_once,
            -- Twice as many are claimed ahead, so that no permit waits for a round trip and claims can be large: the cost of a
            -- claim depends mostly on the number of endpoints.
            CASE WHEN h.open_until IS NOT NULL OR p_holder IS NULL THEN 1 ELSE 3 END AS ahead,
            -- A quarter is reserved for first attempts, so that hanging retries do not delay new callbacks.
            CASE WHEN NOT t.is_retried THEN 0 WHEN h.open_until IS NOT NULL THEN 1
                ELSE greatest(1, e.max_inflight * 3 / 4) END - live.retries AS late,
            coalesce(live.lowest, p_claim) AS lowest
        FROM unnest(p_taken, p_starts, p_retried) AS t (endpoint, start, is_retried)
            JOIN insp.endpoint e ON e.id = ANY (ARRAY[t.endpoint])
            LEFT JOIN insp.endpoint_health h ON h.endpoint_id = ANY (ARRAY[e.id]) CROSS JOIN LATERAL (
                SELECT (count(*) FILTER (WHERE l.lease_until > p_moment AND l.holder IS NOT DISTINCT FROM p_holder))::integer AS own,
                    (count(*) FILTER (WHERE l.lease_until > p_moment AND l.holder IS DISTINCT FROM p_holder))::integer AS others,
                    (count(*) FILTER (WHERE l.lease_until > p_moment AND l.attempts > 0))::integer AS retries,
                    min(l.claim_id) AS lowest
                FROM insp.callback_lease l
                WHERE l.endpoint_id = e.id AND l.claim_id >= coalesce(p_claims[array_position(p_endpoints, e.id)], 0)
            ) AS live
        WHERE e.enabled AND NOT e.paused AND (h.open_until IS NULL OR h.open_until <= p_moment)) r;
END
$$;
COMMENT ON FUNCTION insp.callback_permits(bigint[], timestamptz[], boolean[], timestamptz, bigint, bigint, bigint[], bigint[]) IS
    'For locked endpoints: how many callbacks a dispatcher may send at once (limits) and claim now (permits), how many of them retries (lates), the lowest claim that is still valid, their URLs, and which of them get inline results, have data that other servers must not get (guarded), or send in order';

CREATE OR REPLACE FUNCTION insp.callback_claim(
    p_limit integer, p_lease interval, p_retries integer, p_floor_microseconds bigint DEFAULT NULL, p_endpoints bigint[] DEFAULT '{}',
    p_floors_microseconds bigint[] DEFAULT '{}', p_claims bigint[] DEFAULT '{}', p_holder bigint DEFAULT NULL, p_region text DEFAULT NULL
)
RETURNS TABLE (
    floor_microseconds bigint, endpoints insp.callback_endpoint[],
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamptz,
    definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint,
    sealed bytea, sealed_body bytea, partner_id integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
-- Planning these for each call would take longer than running them.
SET plan_cache_mode = force_generic_plan SET lock_timeout = '50ms' AS $$
#variable_conflict use_column
DECLARE
    -- Not now(): a row committed after this transaction began is due too.
    moment constant timestamptz := clock_timestamp();
    taken bigint[];
    starts timestamptz[];
    retried boolean[];
    limits integer[];
    permits integer[];
    lates integer[];
    waiting bigint[];
    heads_microseconds bigint[];
    lowest bigint[];
    inlined bigint[];
    guarded bigint[];
    ordered bigint[];
    urls text[];
    chosen tid[];
    claim bigint;
    place smallint := 0;
BEGIN
    -- A server that was set back would give out claim numbers twice.
    PERFORM insp.check_epoch();
    IF p_region IS NOT NULL THEN
        place := insp.worker_region(p_region);
    END IF;
    IF p_floor_microseconds IS NULL THEN
        IF p_region IS NULL THEN
            PERFORM insp.worker_region(NULL);
        END IF;
        PERFORM insp.callback_free(moment);
    END IF;
    SELECT d.endpoints, d.starts, d.retried, d.waiting, d.heads_microseconds INTO taken, starts, retried, waiting, heads_microseconds
    FROM insp.callback_due(p_limit, moment, p_floor_microseconds, p_endpoints, p_floors_microseconds, place) d;
    IF taken IS NOT NULL THEN
        -- Drawn under the locks: an endpoint's claims are numbered in the order in which they were made, so no claim below its
        -- lowest valid one can become valid again, and the search may begin there.
        claim := nextval('insp.callback_claim');
        SELECT p.endpoints, p.starts, p.limits, p.permits, p.lates, p.lowest, p.urls, p.inlined, p.guarded, p.ordered
        INTO taken, starts, limits, permits, lates, lowest, urls, inlined, guarded, ordered
        FROM insp.callback_permits(taken, starts, retried, moment, claim, p_holder, p_endpoints, p_claims) p;
        chosen := insp.callback_choose(p_limit, p_retries, moment, taken, starts, permits, lates, ordered,
            true = ANY (retried), place);
    END IF;

    -- The floors for the next call: where something is due, its time; everywhere else, now. With them, for endpoints that may
    -- send, their options.
    floor_microseconds := (extract(epoch FROM moment) * 1000000)::bigint;
    IF waiting IS NOT NULL THEN
        SELECT array_agg((w.endpoint, w.floor_microseconds, lowest[array_position(taken, w.endpoint)], limits[array_position(taken, w.endpoint)],
            ARRAY(SELECT convert_from(s.value, 'UTF8')
                FROM insp.secrets('endpoint ' || e.id, ARRAY['signing_secret', 'signing_key']) s
                -- The newest first, as in the index. callback_rotate_secret limits their number.
                ORDER BY s.purpose DESC, s.valid_until DESC),
            e.allow_http, e.allow_private,
            -- Checked here first, because most endpoints have none and the call costs more than this whole line.
            CASE WHEN e.http2 OR e.pins IS NOT NULL OR e.allowed_networks IS NOT NULL OR e.client_certificate IS NOT NULL
                OR e.api_key_header IS NOT NULL
                -- Whether there is any is asked once for all endpoints.
                OR EXISTS (SELECT FROM insp.endpoint_authorization)
                    AND EXISTS (SELECT FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id)
                OR EXISTS (SELECT FROM insp.partner_key)
                    AND EXISTS (SELECT FROM insp.partner_key k WHERE k.partner_id = e.partner_id)
                OR EXISTS (SELECT FROM insp.partner p WHERE p.test_of IS NOT NULL)
                    AND EXISTS (SELECT FROM insp.partner p WHERE p.id = e.partner_id AND p.test_of IS NOT NULL)
                THEN insp.endpoint_options(e) END)::insp.callback_endpoint)
        INTO endpoints
        FROM unnest(waiting, heads_microseconds) AS w (endpoint, floor_microseconds)
            LEFT JOIN insp.endpoint e ON e.id = ANY (ARRAY[w.endpoint]) AND w.endpoint = ANY (taken);
    END IF;
    RETURN NEXT;
    IF chosen IS NULL THEN
        RETURN;
    END IF;

    RETURN QUERY
    WITH free AS MATERIALIZED (
        -- An operator's open transaction must not stop the dispatch.
        SELECT w.ctid AS row FROM insp.callback_waiting w
        -- A ctid remains valid during the call: no row that its snapshot shows is removed.
        WHERE w.ctid = ANY (chosen) FOR UPDATE SKIP LOCKED
    ), moved AS (
        DELETE FROM insp.callback_waiting w WHERE w.ctid = ANY (ARRAY(SELECT f.row FROM free f)) RETURNING w.*
    ), leased AS (
        INSERT INTO insp.callback_lease (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released,
            ordering_key, recorded, holder, region)
        SELECT m.endpoint_id, claim, m.callback_id, moment + p_lease, m.due_at, m.attempts, m.released, m.ordering_key,
            m.recorded, p_holder, m.region
        FROM moved m
    )
    SELECT NULL::bigint, NULL::insp.callback_endpoint[], r.id, claim, r.webhook_id, r.endpoint_id, r.url, r.body, r.attempts,
        r.released, r.waited, r.public_id, r.traceparent, r.elsewhere, r.event, r.created_at, r.definition_key,
        CASE WHEN NOT r.is_sealed THEN (r.personal -> 'userReference')::text END, r.decision, r.is_expired, r.result,
        -- Less than may have been sent before.
        r.is_erased OR r.has_reference AND (r.personal ? 'userReference') IS NOT TRUE
            OR CASE WHEN r.result IS NOT NULL THEN insp.callback_is_reduced(r.job_id) ELSE r.has_result END,
        r.form, r.sealed, CASE WHEN r.is_sealed AND r.result IS NOT NULL THEN insp.callback_sealed_body(r.job_id) END,
        CASE WHEN r.is_sealed THEN (SELECT j.partner_id FROM insp.job j WHERE j.id = r.job_id) END
    FROM (SELECT q.*,
            -- Never more than the first body had, so that the body stays the same under its webhook-id.
            CASE WHEN q.has_result AND q.endpoint_id = ANY (inlined) AND NOT q.elsewhere
                THEN insp.callback_result(q.job_id) END AS result
        -- Levels, not lateral joins: those cost a plain callback a tenth of its claim.
        FROM (SELECT c.id, c.webhook_id, m.endpoint_id, c.url, c.body, m.attempts, m.released,
                date_part('epoch', moment - m.due_at) * 1000 AS waited, c.public_id, c.traceparent, c.event, c.created_at,
                c.definition_key, insp.callback_decision(c) AS decision, c.is_expired, c.is_erased, c.form, c.job_id,
                c.has_reference, c.has_result, c.is_sealed,
                -- Opens no partition of jobs when nothing is read from it.
                CASE WHEN c.has_reference THEN (SELECT insp.readable_personal(j.personal) FROM insp.job j
                    WHERE j.id = c.job_id) END AS personal,
                CASE WHEN c.is_sealed THEN (SELECT j.sealed FROM insp.job j WHERE j.id = c.job_id) END AS sealed,
                -- A job may have its own URL. Usually it equals the endpoint's.
                ((m.endpoint_id, c.url) IN (SELECT u.endpoint, u.url FROM unnest(taken, urls) AS u (endpoint, url)
                    WHERE u.url IS NOT NULL)) IS NOT TRUE
                    AND coalesce(m.endpoint_id = ANY (guarded), false)
                    AND NOT coalesce((SELECT insp.endpoint_owns(e, c.url) FROM insp.endpoint e WHERE e.id = m.endpoint_id), false)
                    AS elsewhere
            FROM moved m JOIN insp.callback c ON c.id = ANY (ARRAY[m.callback_id]) OFFSET 0) AS q OFFSET 0) AS r;
END
$$;
COMMENT ON FUNCTION insp.callback_claim(integer, interval, integer, bigint, bigint[], bigint[], bigint[], bigint, text) IS
    'Claims due callbacks, at most p_limit, of which p_retries may be retries: fairly over the endpoints, within each endpoint''s max_inflight, none of endpoints that are paused or whose breaker is open, one after the other where they have an ordering key. Send them after the commit, then call callback_settle with the claim_id; a claim that is not settled lapses and its callbacks are sent again. The first row is the claim itself: endpoints has each endpoint with something due, with its floors for the next call (microseconds since 1970, and its lowest claim that is still valid) and, if it may send, its keys and options; floor_microseconds is the floor of all others. Each other row is a callback. Without floors everything is searched. p_holder identifies a dispatcher that sends at most at_once of an endpoint''s callbacks at once; it may claim three times as many, so that the next ones are ready when a permit becomes free. An endpoint''s latest claim sets its at_once. p_region is the dispatcher''s region: callbacks of jobs of other regions are not claimed. elsewhere: the URL is the job''s own and not at an origin of its endpoint, so it gets none of the endpoint''s credentials and no inline result. A null body is composed from the following columns, with user_reference, decision and result as JSON, and what is missing there from sealed and sealed_body, once they are opened; is_reduced: values of the body were removed or may no longer be sent, so it must have another webhook-id';
GRANT EXECUTE ON FUNCTION insp.callback_claim(integer, interval, integer, bigint, bigint[], bigint[], bigint[], bigint, text)
    TO insp_worker;
