-- Views and functions for operators of callbacks. Every action is recorded.
-- After: urls, pulls

CREATE OR REPLACE FUNCTION insp.callback_by_webhook_id(p_webhook_id text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    callback_id bigint;
    -- As the receiver has it, with the suffix of a reduced body.
    name constant text := regexp_replace(p_webhook_id, '_r[0-9a-f]{8}$', '');
BEGIN
    -- A job's callbacks are found by the job, and an endpoint's events are few; other ids would need a scan of all callbacks.
    IF name ~ '^msg_[0-9a-f]{32}' THEN
        SELECT c.id INTO callback_id FROM insp.job j JOIN insp.callback c ON c.job_id = j.id
        WHERE j.public_id = substr(name, 5, 32)::uuid AND c.webhook_id = name;
        IF callback_id IS NULL THEN
            SELECT c.id INTO callback_id FROM insp.callback c WHERE c.webhook_id = name AND c.job_id < 0;
        END IF;
    END IF;
    RETURN callback_id;
END
$$;
COMMENT ON FUNCTION insp.callback_by_webhook_id(text) IS
    'The callback with a webhook-id, unless retention removed its job; null: none';

CREATE OR REPLACE FUNCTION insp.callback_renew(p_callback bigint, p_state text, p_reason text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c insp.callback;
BEGIN
    -- Retention must not remove it meanwhile.
    SELECT * INTO c FROM insp.callback x WHERE x.id = p_callback FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- Ends the claim under which it is being sent; twice, for a claim made meanwhile that this waited for.
    DELETE FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
    IF c.url = 'pull:' THEN
        -- Nothing is sent that could be given up. It gets another place.
        IF p_reason IS NOT NULL THEN RETURN false; END IF;
        DELETE FROM insp.callback_waiting w WHERE w.callback_id = c.id;
        PERFORM insp.pull_again(ARRAY[c.id]);
        RETURN true;
    END IF;
    INSERT INTO insp.callback_waiting AS w (callback_id, endpoint_id, due_at, attempts, released, region, state, ordering_key, recorded, reason)
    SELECT c.id, e.id, clock_timestamp(), 0, 0, c.region, p_state,
        CASE WHEN e.ordering IS NOT NULL THEN insp.callback_ordering_key(e.ordering, c.job_id) END, NULL, p_reason
    FROM insp.endpoint e WHERE e.id = c.endpoint_id
    -- A dead letter keeps its count of attempts.
    ON CONFLICT (callback_id) DO UPDATE SET state = excluded.state, due_at = excluded.due_at, recorded = NULL,
        attempts = CASE WHEN p_reason IS NULL THEN 0 ELSE w.attempts END, released = 0, reason = excluded.reason;
    DELETE FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_renew(bigint, text, text) IS
    'Releases a callback from its dispatcher and sets its state. Attempts restart at 0, unless it is dead-lettered with a reason. A callback that is pulled gets a new position. False: no such callback, or it cannot be dead-lettered';

CREATE OR REPLACE FUNCTION insp.callback_replay(p_webhook_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant bigint := insp.callback_by_webhook_id(p_webhook_id);
BEGIN
    IF number IS NULL OR NOT insp.callback_renew(number, 'pending') THEN RETURN false; END IF;
    PERFORM insp.record('callback_replay', (SELECT c.webhook_id FROM insp.callback c WHERE c.id = number));
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_replay(text) IS
    'Sends one callback again at once, in any state, with the same webhook-id and body, and resets the attempt count. If values of the body were removed or may no longer be sent, the rest has another webhook-id. false: no such callback';
GRANT EXECUTE ON FUNCTION insp.callback_replay(text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_replay(
    p_endpoint bigint, p_since timestamptz, p_until timestamptz DEFAULT now(), p_delivered boolean DEFAULT false,
    p_per_second double precision DEFAULT 50
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    replayed bigint;
    pulled bigint[];
    -- Numbers rise with time, except for long transactions.
    lowest constant bigint := insp.callback_since(p_since - interval '1 hour');
    highest constant bigint := insp.callback_since(p_until + interval '1 hour');
BEGIN
    PERFORM insp.require(p_per_second BETWEEN 0.001 AND 1000000, 'p_per_second', 'p_per_second is 0.001 to 1000000.');
    PERFORM insp.require(num_nulls(p_since, p_until, p_delivered) = 0, 'p_since, p_until or p_delivered is null');
    PERFORM insp.endpoint_lock(p_endpoint);
    WITH chosen AS MATERIALIZED (
        SELECT w.callback_id AS id FROM insp.callback_waiting w
        WHERE w.endpoint_id = p_endpoint AND w.state = 'dead' AND w.state <> 'pending'
        UNION ALL
        SELECT c.id FROM insp.callback c
        WHERE p_delivered AND c.id >= lowest AND c.id < highest AND c.endpoint_id = p_endpoint
            AND insp.callback_delivered_at(c) IS NOT NULL
    ), locked AS MATERIALIZED (
        -- Retention must not remove them meanwhile.
        SELECT c.id, c.job_id, c.created_at, c.region, c.url FROM chosen k JOIN insp.callback c ON c.id = ANY (ARRAY[k.id])
        WHERE c.created_at >= p_since AND c.created_at <= p_until FOR SHARE OF c
    ), sent AS (
        INSERT INTO insp.callback_waiting AS w (callback_id, endpoint_id, due_at, attempts, released, region, state, ordering_key, recorded)
        SELECT k.id, e.id, clock_timestamp() + (k.n - 1) / p_per_second * interval '1 second', 0, 0, k.region, 'pending',
            CASE WHEN e.ordering IS NOT NULL THEN insp.callback_ordering_key(e.ordering, k.job_id) END, NULL
        FROM (SELECT o.id, o.job_id, o.region, row_number() OVER (ORDER BY o.created_at, o.id) AS n FROM locked o WHERE o.url <> 'pull:') k
            JOIN insp.endpoint e ON e.id = p_endpoint
        ON CONFLICT (callback_id) DO UPDATE SET state = excluded.state, due_at = excluded.due_at, attempts = 0, released = 0,
            recorded = NULL, reason = NULL
        RETURNING 1
    ), dropped AS (
        DELETE FROM insp.callback_waiting w USING locked o WHERE o.url = 'pull:' AND w.callback_id = o.id
    )
    SELECT (SELECT count(*) FROM sent), ARRAY(SELECT o.id FROM locked o WHERE o.url = 'pull:' ORDER BY o.created_at, o.id)
    INTO replayed, pulled;
    IF pulled <> '{}' THEN PERFORM insp.pull_again(pulled); END IF;
    replayed := replayed + cardinality(pulled);
    PERFORM insp.record('callback_replay', 'endpoint ' || p_endpoint, jsonb_build_object('since', p_since, 'until', p_until,
        'delivered', p_delivered, 'perSecond', p_per_second, 'replayed', replayed));
    IF replayed > 0 THEN PERFORM pg_notify('insp_callback', ''); END IF;
    RETURN replayed;
END
$$;
COMMENT ON FUNCTION insp.callback_replay(bigint, timestamptz, timestamptz, boolean, double precision) IS
    'Sends an endpoint''s dead-lettered callbacks of a period again (with p_delivered also the delivered ones), at most p_per_second a second, each like callback_replay of one; returns how many. Those that are pulled get new positions at once, all of them with p_delivered';
GRANT EXECUTE ON FUNCTION insp.callback_replay(bigint, timestamptz, timestamptz, boolean, double precision) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_since(p_time timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    low bigint := (SELECT min(c.id) FROM insp.callback c);
    high bigint := (SELECT max(c.id) + 1 FROM insp.callback c);
    middle bigint;
    r record;
BEGIN
    WHILE low < high LOOP
        middle := low + (high - low) / 2;
        SELECT c.id, c.created_at INTO r FROM insp.callback c WHERE c.id >= middle ORDER BY c.id LIMIT 1;
        IF r.created_at < p_time THEN low := r.id + 1; ELSE high := middle; END IF;
    END LOOP;
    RETURN low;
END
$$;
COMMENT ON FUNCTION insp.callback_since(timestamptz) IS
    'The number below which callbacks are older than a time; accurate to the length of a transaction, since numbers are drawn before the commit';

CREATE OR REPLACE FUNCTION insp.callback_dead_letter(p_webhook_id text, p_reason text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    number constant bigint := insp.callback_by_webhook_id(p_webhook_id);
    job constant bigint := (SELECT c.job_id FROM insp.callback c WHERE c.id = number);
    words text := p_reason;
BEGIN
    -- Locked against erasure and retention, as in insp.resolve_dead: words about a job are written before these read, or not at
    -- all. An endpoint's own events are about no job.
    PERFORM FROM insp.job j WHERE j.id = job AND j.forgotten_at IS NULL FOR SHARE;
    IF NOT FOUND AND job > 0 THEN
        words := NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM insp.v_callback c WHERE c.id = number AND c.state IN ('pending', 'held'))
        OR NOT insp.callback_renew(number, 'dead', coalesce(words, 'dead-lettered by an operator')) THEN
        RETURN false;
    END IF;
    PERFORM insp.record('callback_dead_letter', (SELECT c.webhook_id FROM insp.callback c WHERE c.id = number),
        jsonb_build_object('reason', words));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_dead_letter(text, text) IS
    'Dead-letters a callback that is pending or held; an attempt under way may still arrive. The reason is not kept for a job whose references are removed. false: the callback does not exist or is in another state';
GRANT EXECUTE ON FUNCTION insp.callback_dead_letter(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.callback_counts() RETURNS TABLE (
    endpoint_id bigint, pending bigint, retrying bigint, held bigint, dead bigint, in_flight bigint, oldest bigint,
    delivered bigint, last_delivered_at timestamptz, median_seconds double precision, recently_dead bigint, dead_code text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    SELECT e.id, fresh.n + late.n + l.claimed, late.n + l.retrying, held.n, dead.n, l.in_flight,
        least(fresh.oldest, late.oldest, l.oldest), coalesce(d.delivered, 0), d.last_delivered_at, d.median_seconds, newest.n,
        newest.code
    FROM insp.endpoint e
        CROSS JOIN LATERAL (SELECT count(*) AS n, min(x.callback_id) AS oldest FROM (
            SELECT w.callback_id FROM insp.callback_waiting w
            WHERE w.endpoint_id = e.id AND least(w.attempts, 1) = 0 AND w.state = 'pending'
            ORDER BY w.due_at, w.callback_id LIMIT 10000) x) fresh
        CROSS JOIN LATERAL (SELECT count(*) AS n, min(x.callback_id) AS oldest FROM (
            SELECT w.callback_id FROM insp.callback_waiting w
            WHERE w.endpoint_id = e.id AND least(w.attempts, 1) = 1 AND w.state = 'pending'
            ORDER BY w.due_at, w.callback_id LIMIT 10000) x) late
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
            SELECT FROM insp.callback_waiting w WHERE w.state = 'held' AND w.state <> 'pending' AND w.endpoint_id = e.id
            LIMIT 10000) x) held
        CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
            SELECT FROM insp.callback_waiting w WHERE w.state = 'dead' AND w.state <> 'pending' AND w.endpoint_id = e.id
            LIMIT 10000) x) dead
        CROSS JOIN LATERAL (SELECT count(*) AS n,
            (SELECT a.code FROM insp.callback_attempt a WHERE a.callback_id = (array_agg(x.callback_id ORDER BY x.due_at DESC))[1]
            ORDER BY a.attempt DESC LIMIT 1) AS code
            FROM (
                SELECT w.callback_id, w.due_at FROM insp.callback_waiting w
                WHERE w.state = 'dead' AND w.state <> 'pending' AND w.endpoint_id = e.id AND w.due_at > now() - interval '1 day'
                    AND w.reason IS NULL
                ORDER BY w.due_at DESC LIMIT 1000) x) newest
        CROSS JOIN LATERAL (
            SELECT count(*) AS claimed, count(*) FILTER (WHERE x.lease_until > now()) AS in_flight,
                count(*) FILTER (WHERE x.attempts > 0) AS retrying, min(x.callback_id) AS oldest
            FROM insp.callback_lease x WHERE x.endpoint_id = e.id) l
        LEFT JOIN (
            SELECT c.endpoint_id, count(*) AS delivered, max(a.ended_at) AS last_delivered_at,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM a.ended_at - c.created_at)) AS median_seconds
            FROM (SELECT x.callback_id, x.started_at + x.duration_ms * interval '1 millisecond' AS ended_at
                FROM insp.callback_attempt x WHERE x.error IS NULL AND x.started_at > now() - interval '1 hour') a
                JOIN insp.callback c ON c.id = a.callback_id GROUP BY c.endpoint_id) d ON d.endpoint_id = e.id
$$;
COMMENT ON FUNCTION insp.callback_counts() IS
    'The counts of insp.v_callbacks for each endpoint. Reads the attempts of the last hour and at most 10,000 waiting rows of each kind';
GRANT EXECUTE ON FUNCTION insp.callback_counts() TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.callback_delivered_at(c insp.callback) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- The leases' index begins with endpoint_id, which suffices: an endpoint has few leases.
    IF EXISTS (SELECT FROM insp.callback_waiting w WHERE w.callback_id = c.id)
        OR EXISTS (SELECT FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id)
        OR c.url = 'pull:' AND insp.is_unnumbered(c.id) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce(greatest((SELECT max(a.started_at + a.duration_ms * interval '1 millisecond') FROM insp.callback_attempt a
        WHERE a.callback_id = c.id AND a.error IS NULL), CASE WHEN c.url = 'pull:' THEN (
            SELECT max(p.numbered_at) FROM insp.callback_pull p WHERE p.callback_id = c.id) END), c.created_at);
END
$$;
COMMENT ON FUNCTION insp.callback_delivered_at(insp.callback) IS
    'When a callback was delivered, or could be pulled; null: not yet, or it was dead-lettered';
GRANT EXECUTE ON FUNCTION insp.callback_delivered_at(insp.callback) TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_callback AS
SELECT c.id, c.webhook_id, c.job_id, c.endpoint_id, c.event, insp.url_origin(c.url) AS origin, c.created_at,
    coalesce(w.state, CASE WHEN l.callback_id IS NOT NULL OR c.url = 'pull:' AND insp.is_unnumbered(c.id) THEN 'pending'
        ELSE 'delivered' END) AS state,
    coalesce(l.lease_until > now(), false) AS is_claimed,
    coalesce(w.due_at, l.due_at) AS due_at,
    coalesce(w.attempts, l.attempts, (SELECT count(*) FROM insp.callback_attempt a WHERE a.callback_id = c.id)::integer) AS attempts,
    coalesce(w.released, l.released, 0) AS released,
    insp.callback_delivered_at(c) AS delivered_at,
    (SELECT a.http_status FROM insp.callback_attempt a WHERE a.callback_id = c.id ORDER BY a.attempt DESC LIMIT 1) AS last_http_status,
    coalesce(w.reason, (SELECT a.error FROM insp.callback_attempt a WHERE a.callback_id = c.id ORDER BY a.attempt DESC LIMIT 1))
        AS last_error,
    (SELECT a.started_at FROM insp.callback_attempt a WHERE a.callback_id = c.id ORDER BY a.attempt DESC LIMIT 1) AS last_attempt_at
FROM insp.callback c LEFT JOIN insp.callback_waiting w ON w.callback_id = c.id
    LEFT JOIN insp.callback_lease l ON l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
COMMENT ON VIEW insp.v_callback IS 'Callbacks and their states';
COMMENT ON COLUMN insp.v_callback.id IS 'Internal number';
COMMENT ON COLUMN insp.v_callback.webhook_id IS 'The argument of callback_replay and callback_dead_letter';
COMMENT ON COLUMN insp.v_callback.job_id IS 'The job''s internal number';
COMMENT ON COLUMN insp.v_callback.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callback.event IS 'What happened (insp.callback)';
COMMENT ON COLUMN insp.v_callback.origin IS 'Destination: scheme, host and port. The rest of a URL that a job specified may identify a person';
COMMENT ON COLUMN insp.v_callback.created_at IS 'When it was written';
COMMENT ON COLUMN insp.v_callback.state IS
    'pending, delivered, dead (dead-lettered) or held (the endpoint is disabled). One that is pulled is pending until it is numbered, then delivered';
COMMENT ON COLUMN insp.v_callback.is_claimed IS 'Whether it is being sent or was claimed ahead';
COMMENT ON COLUMN insp.v_callback.due_at IS 'Not sent before this time; null: delivered';
COMMENT ON COLUMN insp.v_callback.attempts IS 'Attempts that count towards its schedule; if delivered, all attempts';
COMMENT ON COLUMN insp.v_callback.released IS 'Attempts that failed because of our own fault, until it is delivered';
COMMENT ON COLUMN insp.v_callback.delivered_at IS 'When a 2xx status was received, or it could be pulled';
COMMENT ON COLUMN insp.v_callback.last_http_status IS 'Status of the last attempt''s answer; null: none came';
COMMENT ON COLUMN insp.v_callback.last_error IS 'What was wrong with the last attempt, or why an operator dead-lettered it';
COMMENT ON COLUMN insp.v_callback.last_attempt_at IS 'When the last attempt began';
GRANT SELECT ON insp.v_callback TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_callback_dead AS
SELECT p.name AS partner, c.webhook_id, c.endpoint_id, c.job_id, c.event, c.created_at, c.attempts, c.last_http_status,
    c.last_error, c.last_attempt_at
FROM insp.v_callback c JOIN insp.endpoint e ON e.id = c.endpoint_id JOIN insp.partner p ON p.id = e.partner_id
-- Starts from the few that wait: computing the state of all callbacks would take long.
WHERE c.id IN (SELECT w.callback_id FROM insp.callback_waiting w WHERE w.state = 'dead');
COMMENT ON VIEW insp.v_callback_dead IS 'Dead-lettered callbacks; insp.callback_replay sends them again';
COMMENT ON COLUMN insp.v_callback_dead.partner IS 'The partner';
COMMENT ON COLUMN insp.v_callback_dead.webhook_id IS 'The argument of callback_replay';
COMMENT ON COLUMN insp.v_callback_dead.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callback_dead.job_id IS 'The job''s internal number';
COMMENT ON COLUMN insp.v_callback_dead.event IS 'What happened (insp.callback)';
COMMENT ON COLUMN insp.v_callback_dead.created_at IS 'When the job was finished';
COMMENT ON COLUMN insp.v_callback_dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.v_callback_dead.last_http_status IS 'Status of the last answer; null: none came';
COMMENT ON COLUMN insp.v_callback_dead.last_error IS 'What was wrong with the last attempt, or why an operator dead-lettered it';
COMMENT ON COLUMN insp.v_callback_dead.last_attempt_at IS 'When the last attempt began';
GRANT SELECT ON insp.v_callback_dead TO insp_operator, insp_auditor;

CREATE OR REPLACE VIEW insp.v_callbacks AS
SELECT e.id AS endpoint_id, p.name AS partner, e.enabled, k.pending, k.in_flight, k.retrying, k.held, k.dead, k.delivered,
    -- Numbers rise with time.
    now() - (SELECT c.created_at FROM insp.callback c WHERE c.id = k.oldest) AS oldest_pending,
    k.last_delivered_at, k.median_seconds,
    CASE WHEN NOT e.enabled THEN 'disabled' WHEN e.paused THEN 'paused' WHEN h.open_until > now() THEN 'open'
        WHEN h.open_until IS NOT NULL THEN 'half open' ELSE 'closed' END AS breaker,
    h.failing_since, h.last_code,
    nullif(concat_ws('; ', e.disabled_reason,
        CASE WHEN k.recently_dead > 0 THEN concat('dead-lettered within the last day: ', k.recently_dead, ', the last with ' || k.dead_code) END,
        CASE WHEN e.api_key_header IS NOT NULL THEN 'a static API key is deprecated: use insp.callback_authorize' END,
        CASE WHEN e.allow_private AND e.allowed_networks IS NULL THEN 'every private address is allowed: set allowedNetworks' END,
        CASE WHEN e.allow_http THEN 'plain http is allowed' END,
        CASE WHEN cardinality(e.pins) = 1 THEN 'one pin only: its key cannot be replaced without an outage' END,
        CASE WHEN e.inline_result THEN 'results with personal data are sent' END), '') AS warnings
FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id
    LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id
    JOIN insp.callback_counts() k ON k.endpoint_id = e.id;
COMMENT ON VIEW insp.v_callbacks IS 'Callbacks by endpoint: all that are not delivered, and those delivered within the last hour';
COMMENT ON COLUMN insp.v_callbacks.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callbacks.partner IS 'The partner';
COMMENT ON COLUMN insp.v_callbacks.enabled IS 'Whether callbacks are sent to it; otherwise they are held';
COMMENT ON COLUMN insp.v_callbacks.pending IS 'Those that wait (at most 10,000 first attempts and as many retries are counted) or are being sent';
COMMENT ON COLUMN insp.v_callbacks.in_flight IS 'Being sent, or claimed ahead';
COMMENT ON COLUMN insp.v_callbacks.retrying IS 'Pending after a failed attempt';
COMMENT ON COLUMN insp.v_callbacks.held IS 'Those that wait until the endpoint is enabled; counted up to 10,000';
COMMENT ON COLUMN insp.v_callbacks.dead IS 'Dead-lettered ones; counted up to 10,000';
COMMENT ON COLUMN insp.v_callbacks.delivered IS 'Delivered within the last hour';
COMMENT ON COLUMN insp.v_callbacks.oldest_pending IS 'Age of the oldest pending one';
COMMENT ON COLUMN insp.v_callbacks.last_delivered_at IS 'Last success within the hour';
COMMENT ON COLUMN insp.v_callbacks.median_seconds IS 'Median seconds from the job''s end to delivery';
COMMENT ON COLUMN insp.v_callbacks.breaker IS 'disabled, paused, open (nothing is sent), half open (one attempt at a time) or closed';
COMMENT ON COLUMN insp.v_callbacks.failing_since IS 'When the current series of failures began';
COMMENT ON COLUMN insp.v_callbacks.last_code IS 'Code of the last failure (insp.error_code)';
COMMENT ON COLUMN insp.v_callbacks.warnings IS 'What needs attention, especially callbacks dead-lettered within the last day (counted up to 1,000)';
GRANT SELECT ON insp.v_callbacks TO insp_operator, insp_auditor;
