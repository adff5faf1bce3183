-- What operators do about endpoints and callbacks. Every such act is recorded.

CREATE FUNCTION insp.endpoint_lock(p_endpoint bigint) RETURNS insp.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint;
BEGIN
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = p_endpoint FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN', 'endpoint ' || coalesce(p_endpoint::text, 'null'));
    END IF;
    RETURN e;
END
$$;
COMMENT ON FUNCTION insp.endpoint_lock(bigint) IS 'An endpoint''s row, locked; refuses numbers of none';

CREATE FUNCTION insp.create_endpoint(
    p_partner text, p_url text, p_allow_http boolean DEFAULT false, p_allow_private boolean DEFAULT false,
    OUT endpoint_id bigint, OUT secret text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    problem constant text := insp.url_problem(p_url, 255, p_allow_http, p_allow_private);
BEGIN
    IF p_url IS NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_MISSING');
    ELSIF problem IS NOT NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
    END IF;
    INSERT INTO insp.endpoint AS e (partner_id, url, allow_http, allow_private, is_default)
    VALUES (insp.partner_number(p_partner), p_url, p_allow_http, p_allow_private, false)
    RETURNING e.id, e.secret INTO endpoint_id, secret;
    PERFORM insp.record('create_endpoint', 'endpoint ' || endpoint_id, jsonb_build_object('partner', p_partner, 'url', p_url));
END
$$;
COMMENT ON FUNCTION insp.create_endpoint(text, text, boolean, boolean) IS
    'Adds an endpoint beside a partner''s default one, for example one for alerts, and returns its new signing secret, which is shown only here';

CREATE FUNCTION insp.set_endpoint(p_endpoint bigint, p_settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint := insp.endpoint_lock(p_endpoint);
    unknown constant jsonb := p_settings - ARRAY['url', 'maxInflight', 'events', 'inlineResult', 'ordering', 'alertEndpoint',
        'http2', 'pins', 'allowHTTP', 'allowPrivate', 'allowedNetworks', 'signingKey', 'clientCertificate', 'clientKey',
        'apiKeyHeader', 'apiKey'];
    problem text;
BEGIN
    IF jsonb_typeof(p_settings) IS DISTINCT FROM 'object' OR unknown <> '{}' THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'unknown setting '
            || coalesce((SELECT left(quote_literal(k), 40) FROM jsonb_object_keys(unknown) k LIMIT 1), ''));
    END IF;
    BEGIN
        -- Keys that are given replace, null resets; the table's own checks say what is acceptable.
        UPDATE insp.endpoint x SET
            url = CASE WHEN p_settings ? 'url' THEN p_settings ->> 'url' ELSE x.url END,
            max_inflight = CASE WHEN p_settings ? 'maxInflight' THEN (p_settings ->> 'maxInflight')::integer ELSE x.max_inflight END,
            events = CASE WHEN p_settings ? 'events'
                THEN ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'events')) ELSE x.events END,
            inline_result = CASE WHEN p_settings ? 'inlineResult' THEN (p_settings ->> 'inlineResult')::boolean ELSE x.inline_result END,
            ordering = CASE WHEN p_settings ? 'ordering' THEN p_settings ->> 'ordering' ELSE x.ordering END,
            alert_endpoint_id = CASE WHEN p_settings ? 'alertEndpoint' THEN (p_settings ->> 'alertEndpoint')::bigint
                ELSE x.alert_endpoint_id END,
            http2 = CASE WHEN p_settings ? 'http2' THEN (p_settings ->> 'http2')::boolean ELSE x.http2 END,
            pins = CASE WHEN NOT p_settings ? 'pins' THEN x.pins WHEN p_settings -> 'pins' = 'null' THEN NULL
                ELSE ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'pins')) END,
            allow_http = CASE WHEN p_settings ? 'allowHTTP' THEN (p_settings ->> 'allowHTTP')::boolean ELSE x.allow_http END,
            allow_private = CASE WHEN p_settings ? 'allowPrivate' THEN (p_settings ->> 'allowPrivate')::boolean
                ELSE x.allow_private END,
            allowed_networks = CASE WHEN NOT p_settings ? 'allowedNetworks' THEN x.allowed_networks
                WHEN p_settings -> 'allowedNetworks' = 'null' THEN NULL
                ELSE ARRAY(SELECT jsonb_array_elements_text(p_settings -> 'allowedNetworks'))::cidr[] END,
            signing_key = CASE WHEN p_settings ? 'signingKey' THEN p_settings ->> 'signingKey' ELSE x.signing_key END,
            client_certificate = CASE WHEN p_settings ? 'clientCertificate' THEN p_settings ->> 'clientCertificate'
                ELSE x.client_certificate END,
            client_key = CASE WHEN p_settings ? 'clientKey' THEN p_settings ->> 'clientKey' ELSE x.client_key END,
            api_key_header = CASE WHEN p_settings ? 'apiKeyHeader' THEN p_settings ->> 'apiKeyHeader' ELSE x.api_key_header END,
            api_key = CASE WHEN p_settings ? 'apiKey' THEN p_settings ->> 'apiKey' ELSE x.api_key END
        WHERE x.id = p_endpoint RETURNING * INTO e;
    EXCEPTION WHEN check_violation OR not_null_violation OR foreign_key_violation OR data_exception THEN
        -- The server's own words would repeat the row, keys included.
        GET STACKED DIAGNOSTICS problem = CONSTRAINT_NAME;
        PERFORM insp.refuse('ENDPOINT_INVALID', nullif(problem, ''));
    END;
    IF e.url IS NOT NULL THEN
        problem := insp.url_problem(e.url, 255, e.allow_http, e.allow_private);
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', problem);
        END IF;
    END IF;
    PERFORM insp.record('set_endpoint', 'endpoint ' || p_endpoint,
        p_settings - ARRAY['signingKey', 'clientKey', 'apiKey', 'clientCertificate'] || jsonb_build_object('keys',
            (SELECT jsonb_agg(k) FROM jsonb_object_keys(p_settings) k WHERE k IN ('signingKey', 'clientKey', 'apiKey'))));
END
$$;
COMMENT ON FUNCTION insp.set_endpoint(bigint, jsonb) IS
    'Changes an endpoint''s settings: url, maxInflight, events, inlineResult, ordering, alertEndpoint, http2, pins, allowHTTP, allowPrivate, allowedNetworks, signingKey, clientCertificate, clientKey, apiKeyHeader, apiKey. Only the keys given; null resets. \d+ insp.endpoint tells what each means';

CREATE FUNCTION insp.callback_pause(p_endpoint bigint, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    UPDATE insp.endpoint e SET paused = true WHERE e.id = p_endpoint;
    PERFORM insp.record('callback_pause', 'endpoint ' || p_endpoint, jsonb_build_object('reason', p_reason));
END
$$;
COMMENT ON FUNCTION insp.callback_pause(bigint, text) IS
    'Lets an endpoint''s callbacks wait; those under way end by themselves. Their schedule runs on, so what has become due meanwhile is sent at once after callback_resume';

CREATE FUNCTION insp.callback_resume(p_endpoint bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    UPDATE insp.endpoint e SET paused = false WHERE e.id = p_endpoint;
    PERFORM insp.record('callback_resume', 'endpoint ' || p_endpoint);
    PERFORM pg_notify('insp_callback', '');
END
$$;
COMMENT ON FUNCTION insp.callback_resume(bigint) IS 'Ends callback_pause';

CREATE FUNCTION insp.callback_breaker_reset(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.endpoint_health h SET window_start = clock_timestamp(), succeeded = 0, failed = 0, failing_since = NULL,
        open_until = NULL, trips = 0
    WHERE h.endpoint_id = p_endpoint;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM insp.record('callback_breaker_reset', 'endpoint ' || p_endpoint);
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_breaker_reset(bigint) IS
    'Closes an endpoint''s breaker without waiting for its next try; false: it never failed';

CREATE OR REPLACE FUNCTION insp.callback_disable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    held bigint;
BEGIN
    PERFORM insp.endpoint_lock(p_endpoint);
    held := insp.endpoint_hold(p_endpoint, 'by ' || session_user);
    PERFORM insp.record('callback_disable', 'endpoint ' || p_endpoint, jsonb_build_object('held', held));
    RETURN held;
END
$$;

CREATE OR REPLACE FUNCTION insp.callback_enable(p_endpoint bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    freed bigint;
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
BEGIN
    UPDATE insp.endpoint x SET enabled = true, gone_at = NULL, disabled_reason = NULL WHERE x.id = p_endpoint;
    UPDATE insp.endpoint_health h SET window_start = clock_timestamp(), succeeded = 0, failed = 0, failing_since = NULL,
        open_until = NULL, trips = 0
    WHERE h.endpoint_id = p_endpoint;
    -- Due in the order in which they were made, and now: what lies before the dispatchers' floors would be found late.
    UPDATE insp.callback_waiting w SET state = 'pending', due_at = clock_timestamp()
    WHERE w.endpoint_id = p_endpoint AND w.state = 'held';
    GET DIAGNOSTICS freed = ROW_COUNT;
    IF NOT e.enabled THEN
        PERFORM insp.endpoint_event_note(p_endpoint, 'enabled', jsonb_build_object('freed', freed));
    END IF;
    PERFORM insp.record('callback_enable', 'endpoint ' || p_endpoint, jsonb_build_object('freed', freed));
    PERFORM pg_notify('insp_callback', '');
    RETURN freed;
END
$$;

CREATE OR REPLACE FUNCTION insp.callback_rotate_secret(
    p_endpoint bigint, p_overlap interval DEFAULT interval '24 hours', p_secret text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e constant insp.endpoint := insp.endpoint_lock(p_endpoint);
    fresh constant text := coalesce(p_secret, insp.new_secret());
    old constant text := CASE WHEN fresh LIKE 'whsk\_%' THEN e.signing_key ELSE e.secret END;
BEGIN
    IF p_overlap IS NULL OR p_overlap < '0' OR fresh !~ '^whs[ek]c?_[A-Za-z0-9+/]{22,88}={0,2}$' THEN
        PERFORM insp.refuse('ENDPOINT_INVALID', 'a key is whsec_ or whsk_ and base64, an overlap is not below 0');
    END IF;
    DELETE FROM insp.endpoint_secret s WHERE s.endpoint_id = p_endpoint AND s.valid_until <= clock_timestamp();
    IF old IS NOT NULL AND p_overlap > '0' THEN
        INSERT INTO insp.endpoint_secret (endpoint_id, secret, valid_until)
        VALUES (p_endpoint, old, clock_timestamp() + p_overlap);
    END IF;
    IF fresh LIKE 'whsk\_%' THEN
        UPDATE insp.endpoint x SET signing_key = fresh WHERE x.id = p_endpoint;
    ELSE
        UPDATE insp.endpoint x
        SET previous_secret = e.secret, previous_secret_until = clock_timestamp() + p_overlap, secret = fresh
        WHERE x.id = p_endpoint;
    END IF;
    PERFORM insp.record('callback_rotate_secret', 'endpoint ' || p_endpoint, jsonb_build_object('overlap', p_overlap,
        'version', CASE WHEN fresh LIKE 'whsk\_%' THEN 'v1a' ELSE 'v1' END));
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION insp.callback_rotate_secret(bigint, interval, text) IS
    'Gives an endpoint a new signing secret (or p_secret; one of whsk_ replaces the Ed25519 key) and returns it; until p_overlap has passed, callbacks carry a signature by the old one as well, however many rotations overlap';

CREATE FUNCTION insp.callback_renew(p_callback bigint, p_state text, p_reason text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    c insp.callback;
BEGIN
    -- Retention must not remove it meanwhile.
    SELECT * INTO c FROM insp.callback x WHERE x.id = p_callback FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- The claim under which it is being sent ends; again afterwards, for one that was made meanwhile and was waited for.
    DELETE FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
    INSERT INTO insp.callback_waiting AS w (callback_id, endpoint_id, due_at, attempts, released, state, ordering_key, recorded, reason)
    SELECT c.id, e.id, clock_timestamp(), 0, 0, p_state,
        CASE WHEN e.ordering IS NOT NULL THEN insp.callback_ordering_key(e.ordering, c.job_id) END, NULL, p_reason
    FROM insp.endpoint e WHERE e.id = c.endpoint_id
    -- Given up, its attempts are still of interest.
    ON CONFLICT (callback_id) DO UPDATE SET state = excluded.state, due_at = excluded.due_at, recorded = NULL,
        attempts = CASE WHEN p_reason IS NULL THEN 0 ELSE w.attempts END, released = 0, reason = excluded.reason;
    DELETE FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_renew(bigint, text, text) IS
    'Takes a callback from whoever is sending it, and lets it wait in the given state, with no attempts counted unless a reason says why it is given up; false: there is none';

CREATE OR REPLACE FUNCTION insp.callback_replay(p_webhook_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant bigint := insp.callback_by_webhook_id(p_webhook_id);
BEGIN
    IF number IS NULL OR NOT insp.callback_renew(number, 'pending') THEN RETURN false; END IF;
    PERFORM insp.record('callback_replay', p_webhook_id);
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION insp.callback_replay(
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
    PERFORM insp.endpoint_lock(p_endpoint);
    WITH locked AS MATERIALIZED (
        -- Retention must not remove them meanwhile.
        SELECT c.id, c.job_id, c.created_at FROM insp.callback c
        WHERE c.endpoint_id = p_endpoint AND c.created_at >= p_since AND c.created_at <= p_until
            AND (p_delivered AND insp.callback_delivered_at(c) IS NOT NULL
                OR EXISTS (SELECT FROM insp.callback_waiting w WHERE w.callback_id = c.id AND w.state = 'dead'))
        FOR SHARE
    )
    INSERT INTO insp.callback_waiting AS w (callback_id, endpoint_id, due_at, attempts, released, state, ordering_key, recorded)
    SELECT k.id, e.id, clock_timestamp() + (k.n - 1) / p_per_second * interval '1 second', 0, 0, 'pending',
        CASE WHEN e.ordering IS NOT NULL THEN insp.callback_ordering_key(e.ordering, k.job_id) END, NULL
    FROM (SELECT o.id, o.job_id, row_number() OVER (ORDER BY o.created_at, o.id) AS n FROM locked o) k
        JOIN insp.endpoint e ON e.id = p_endpoint
    ON CONFLICT (callback_id) DO UPDATE SET state = excluded.state, due_at = excluded.due_at, attempts = 0, released = 0,
        recorded = NULL, reason = NULL;
    GET DIAGNOSTICS replayed = ROW_COUNT;
    PERFORM insp.record('callback_replay', 'endpoint ' || p_endpoint, jsonb_build_object('since', p_since, 'until', p_until,
        'delivered', p_delivered, 'perSecond', p_per_second, 'replayed', replayed));
    IF replayed > 0 THEN PERFORM pg_notify('insp_callback', ''); END IF;
    RETURN replayed;
END
$$;

CREATE OR REPLACE FUNCTION insp.callback_bury(p_webhook_id text, p_reason text DEFAULT 'buried by an operator') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant bigint := insp.callback_by_webhook_id(p_webhook_id);
BEGIN
    IF NOT EXISTS (SELECT FROM insp.v_callback c WHERE c.id = number AND c.state IN ('pending', 'held'))
        OR NOT insp.callback_renew(number, 'dead', p_reason) THEN
        RETURN false;
    END IF;
    PERFORM insp.record('callback_bury', p_webhook_id, jsonb_build_object('reason', p_reason));
    RETURN true;
END
$$;

-- What operators see ------------------------------------------------------------------------------------------------------

CREATE VIEW insp.v_callback AS
SELECT c.id, c.webhook_id, c.job_id, c.endpoint_id, c.event, c.url, c.created_at,
    coalesce(w.state, CASE WHEN l.callback_id IS NULL THEN 'delivered' ELSE 'pending' END) AS state,
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
COMMENT ON VIEW insp.v_callback IS 'Each callback and how far it is';
COMMENT ON COLUMN insp.v_callback.id IS 'Internal number';
COMMENT ON COLUMN insp.v_callback.webhook_id IS 'What callback_replay and callback_bury take';
COMMENT ON COLUMN insp.v_callback.job_id IS 'The job''s internal number';
COMMENT ON COLUMN insp.v_callback.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_callback.event IS 'What it tells';
COMMENT ON COLUMN insp.v_callback.url IS 'Where to';
COMMENT ON COLUMN insp.v_callback.created_at IS 'When it was made';
COMMENT ON COLUMN insp.v_callback.state IS 'pending, delivered, dead (given up) or held (the endpoint is disabled)';
COMMENT ON COLUMN insp.v_callback.is_claimed IS 'Whether it is being sent, or is the next of a dispatcher';
COMMENT ON COLUMN insp.v_callback.due_at IS 'Not sent before; null: delivered';
COMMENT ON COLUMN insp.v_callback.attempts IS 'Attempts that count towards its schedule; of one that is delivered, all that were made';
COMMENT ON COLUMN insp.v_callback.released IS 'Attempts that failed through a fault on our side, until it is delivered';
COMMENT ON COLUMN insp.v_callback.delivered_at IS 'When a 2xx came';
COMMENT ON COLUMN insp.v_callback.last_http_status IS 'Status of the last attempt''s answer; null: none came';
COMMENT ON COLUMN insp.v_callback.last_error IS 'What was wrong with the last attempt, or why an operator gave it up';
COMMENT ON COLUMN insp.v_callback.last_attempt_at IS 'When the last attempt began';

CREATE OR REPLACE VIEW insp.v_callbacks AS
SELECT e.id AS endpoint_id, p.name AS partner, e.enabled,
    coalesce(w.pending, 0) + coalesce(l.claimed, 0) AS pending,
    coalesce(l.in_flight, 0) AS in_flight,
    coalesce(w.retrying, 0) + coalesce(l.retrying, 0) AS retrying,
    coalesce(w.held, 0) AS held,
    coalesce(w.dead, 0) AS dead,
    coalesce(d.delivered, 0) AS delivered,
    -- Numbers rise with time.
    now() - (SELECT c.created_at FROM insp.callback c WHERE c.id = least(w.oldest, l.oldest)) AS oldest_pending,
    d.last_delivered_at, d.median_seconds,
    CASE WHEN NOT e.enabled THEN 'disabled' WHEN e.paused THEN 'paused' WHEN h.open_until > now() THEN 'open'
        WHEN h.open_until IS NOT NULL THEN 'half open' ELSE 'closed' END AS breaker,
    h.failing_since, h.last_code,
    nullif(concat_ws('; ', e.disabled_reason,
        CASE WHEN e.api_key_header IS NOT NULL THEN 'a static API key is deprecated: use insp.callback_authorize' END,
        CASE WHEN e.allow_private AND e.allowed_networks IS NULL THEN 'every private address is allowed: set allowedNetworks' END,
        CASE WHEN e.allow_http THEN 'plain http is allowed' END,
        CASE WHEN cardinality(e.pins) = 1 THEN 'one pin only: its key cannot be replaced without an outage' END,
        CASE WHEN e.inline_result THEN 'results with personal data are sent' END), '') AS warnings
FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id
    LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id
    LEFT JOIN (
        SELECT x.endpoint_id, count(*) FILTER (WHERE x.state = 'pending') AS pending,
            count(*) FILTER (WHERE x.state = 'pending' AND x.attempts > 0) AS retrying,
            count(*) FILTER (WHERE x.state = 'held') AS held, count(*) FILTER (WHERE x.state = 'dead') AS dead,
            min(x.callback_id) FILTER (WHERE x.state = 'pending') AS oldest
        FROM insp.callback_waiting x GROUP BY x.endpoint_id) w ON w.endpoint_id = e.id
    LEFT JOIN (
        SELECT x.endpoint_id, count(*) AS claimed, count(*) FILTER (WHERE x.lease_until > now()) AS in_flight,
            count(*) FILTER (WHERE x.attempts > 0) AS retrying, min(x.callback_id) AS oldest
        FROM insp.callback_lease x GROUP BY x.endpoint_id) l ON l.endpoint_id = e.id
    LEFT JOIN (
        SELECT c.endpoint_id, count(*) AS delivered, max(a.ended_at) AS last_delivered_at,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM a.ended_at - c.created_at)) AS median_seconds
        FROM (SELECT x.callback_id, x.started_at + x.duration_ms * interval '1 millisecond' AS ended_at FROM insp.callback_attempt x
            WHERE x.error IS NULL AND x.started_at > now() - interval '1 hour') a
            JOIN insp.callback c ON c.id = a.callback_id GROUP BY c.endpoint_id) d ON d.endpoint_id = e.id;
CREATE OR REPLACE VIEW insp.v_callback_dead AS
SELECT p.name AS partner, c.webhook_id, c.endpoint_id, c.job_id, c.event, c.created_at, c.attempts, c.last_http_status,
    c.last_error, c.last_attempt_at
FROM insp.v_callback c JOIN insp.endpoint e ON e.id = c.endpoint_id JOIN insp.partner p ON p.id = e.partner_id
-- First the few that wait: asked of all callbacks, the state would take long.
WHERE c.id IN (SELECT w.callback_id FROM insp.callback_waiting w WHERE w.state = 'dead');
COMMENT ON COLUMN insp.v_callback_dead.last_error IS 'What was wrong with the last attempt, or why an operator gave it up';
-- What the narrow tables and the attempts say now.
ALTER TABLE insp.callback DROP COLUMN state, DROP COLUMN due_at, DROP COLUMN attempts, DROP COLUMN released,
    DROP COLUMN claim_id, DROP COLUMN lease_until, DROP COLUMN delivered_at, DROP COLUMN last_http_status, DROP COLUMN last_error;

COMMENT ON COLUMN insp.v_callbacks.in_flight IS 'Being sent, or the next of a dispatcher';
COMMENT ON COLUMN insp.v_callbacks.breaker IS 'disabled, paused, open (nothing is sent), half open (one attempt at a time) or closed';
COMMENT ON COLUMN insp.v_callbacks.failing_since IS 'First failure after which nothing was delivered';
COMMENT ON COLUMN insp.v_callbacks.last_code IS 'Code of the last failure (insp.error_code)';
COMMENT ON COLUMN insp.v_callbacks.warnings IS 'What should not stay as it is';

CREATE VIEW insp.v_endpoint_events AS
SELECT v.at, p.name AS partner, v.endpoint_id, v.kind, v.detail
FROM insp.endpoint_event v LEFT JOIN insp.endpoint e ON e.id = v.endpoint_id LEFT JOIN insp.partner p ON p.id = e.partner_id
ORDER BY v.id DESC;
COMMENT ON VIEW insp.v_endpoint_events IS 'What became of endpoints, newest first';
COMMENT ON COLUMN insp.v_endpoint_events.at IS 'When';
COMMENT ON COLUMN insp.v_endpoint_events.partner IS 'Whose endpoint';
COMMENT ON COLUMN insp.v_endpoint_events.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_endpoint_events.kind IS 'failing, recovered, disabled or enabled';
COMMENT ON COLUMN insp.v_endpoint_events.detail IS 'Since when, the last failure''s code, the reason';

GRANT SELECT ON insp.v_endpoint_events TO insp_operator, insp_auditor;
GRANT SELECT ON insp.v_callback TO insp_worker, insp_operator, insp_auditor;
-- A view's functions are called with the rights of whoever reads it.
GRANT EXECUTE ON FUNCTION insp.callback_delivered_at(insp.callback) TO insp_worker, insp_operator, insp_auditor;
GRANT EXECUTE ON FUNCTION insp.create_endpoint(text, text, boolean, boolean), insp.set_endpoint(bigint, jsonb),
    insp.callback_pause(bigint, text), insp.callback_resume(bigint), insp.callback_breaker_reset(bigint) TO insp_operator;
