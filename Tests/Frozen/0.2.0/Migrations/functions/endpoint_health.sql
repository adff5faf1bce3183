-- The circuit breaker of each endpoint.

CREATE OR REPLACE FUNCTION insp.endpoint_hold(p_endpoint bigint, p_reason text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    held bigint;
BEGIN
    UPDATE insp.endpoint e SET enabled = false, disabled_reason = p_reason WHERE e.id = p_endpoint;
    -- A callback whose row another transaction holds stays pending, which does no harm: only callbacks of enabled endpoints are claimed.
    UPDATE insp.callback_waiting w SET state = 'held' WHERE w.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.callback_waiting x WHERE x.endpoint_id = p_endpoint AND x.state = 'pending'
        FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS held = ROW_COUNT;
    RETURN held;
END
$$;
COMMENT ON FUNCTION insp.endpoint_hold(bigint, text) IS 'Disables an endpoint and holds its callbacks; returns how many';

CREATE OR REPLACE FUNCTION insp.endpoint_judge(
    p_endpoint bigint, p_succeeded integer, p_failed integer, p_gone boolean, p_code text
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    h insp.endpoint_health;
    kind text;
    detail jsonb;
BEGIN
    -- Nothing here waits for a row that is held, so the order of locks cannot cause a deadlock. An existing row must not be
    -- inserted either: that would wait for the session that changes it.
    IF NOT EXISTS (SELECT FROM insp.endpoint_health x WHERE x.endpoint_id = p_endpoint) THEN
        INSERT INTO insp.endpoint_health (endpoint_id) VALUES (p_endpoint) ON CONFLICT DO NOTHING;
    END IF;
    SELECT * INTO h FROM insp.endpoint_health x WHERE x.endpoint_id = p_endpoint FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO insp.endpoint_tally (endpoint_id, succeeded, failed, gone, code)
        SELECT p_endpoint, p_succeeded, p_failed, coalesce(p_gone, false), p_code WHERE p_succeeded + p_failed > 0;
        RETURN NULL;
    END IF;
    WITH late AS (
        DELETE FROM insp.endpoint_tally t WHERE t.endpoint_id = p_endpoint RETURNING t.*
    )
    SELECT p_succeeded + coalesce(sum(t.succeeded), 0), p_failed + coalesce(sum(t.failed), 0),
        coalesce(p_gone, false) OR coalesce(bool_or(t.gone), false), coalesce(p_code, max(t.code))
    INTO p_succeeded, p_failed, p_gone, p_code FROM late t;
    IF p_succeeded + p_failed = 0 THEN
        RETURN NULL;
    END IF;
    IF h.window_start < moment - interval '5 minutes' THEN
        h.window_start := moment;
        h.succeeded := 0;
        h.failed := 0;
    END IF;
    h.succeeded := h.succeeded + p_succeeded;
    h.failed := h.failed + p_failed;
    h.last_code := CASE WHEN p_failed > 0 THEN p_code ELSE h.last_code END;
    h.failing_since := CASE WHEN p_succeeded > 0 THEN NULL WHEN p_failed > 0 THEN coalesce(h.failing_since, moment)
        ELSE h.failing_since END;
    IF p_gone THEN
        kind := 'disabled';
        detail := jsonb_build_object('reason', 'the endpoint answered 410 Gone');
    ELSIF h.open_until IS NOT NULL AND p_succeeded > 0 THEN
        kind := 'recovered';
        detail := jsonb_build_object('trips', h.trips);
        h.open_until := NULL;
        h.trips := 0;
        h.succeeded := 0;
        h.failed := 0;
    ELSIF h.failing_since < moment - interval '5 days' AND p_failed > 0 THEN
        -- Longer than any schedule of attempts: the endpoint is abandoned.
        kind := 'disabled';
        detail := jsonb_build_object('reason', 'nothing was delivered for five days', 'lastCode', p_code);
    ELSIF h.open_until IS NULL AND h.failed >= 10 AND h.failed >= 0.7 * (h.failed + h.succeeded) THEN
        kind := 'failing';
        h.trips := 1;
    ELSIF h.open_until <= moment AND p_failed > 0 THEN
        h.trips := h.trips + 1;
    END IF;
    -- Attempts that were under way when the breaker opened, and fail while it is open, add no information.
    IF kind = 'failing' OR h.trips > 1 AND h.open_until <= moment THEN
        -- 30 s, doubled each time, at most ten minutes; spread, so that endpoints of one host do not resume together.
        h.open_until := moment + least(600, 30 * power(2, least(h.trips, 10) - 1)) * (0.8 + 0.4 * random()) * interval '1 second';
        detail := jsonb_build_object('since', insp.iso_time(h.failing_since), 'lastCode', p_code,
            'until', insp.iso_time(h.open_until));
    END IF;
    IF kind = 'disabled' THEN
        PERFORM FROM insp.endpoint e WHERE e.id = p_endpoint FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- If another transaction is changing the endpoint, the next recorded attempt disables it.
            INSERT INTO insp.endpoint_tally (endpoint_id, succeeded, failed, gone, code)
            VALUES (p_endpoint, p_succeeded, p_failed, p_gone, p_code);
            RETURN NULL;
        ELSIF p_gone THEN
            UPDATE insp.endpoint e SET gone_at = moment WHERE e.id = p_endpoint;
        END IF;
    END IF;
    UPDATE insp.endpoint_health x SET window_start = h.window_start, succeeded = h.succeeded, failed = h.failed,
        failing_since = h.failing_since, open_until = h.open_until, trips = h.trips, last_code = h.last_code
    WHERE x.endpoint_id = p_endpoint;
    IF kind = 'disabled' THEN
        IF NOT (SELECT e.enabled FROM insp.endpoint e WHERE e.id = p_endpoint) THEN
            RETURN NULL;
        END IF;
        detail := detail || jsonb_build_object('held', insp.endpoint_hold(p_endpoint, detail ->> 'reason'));
    END IF;
    IF kind IS NOT NULL THEN
        PERFORM insp.endpoint_event_note(p_endpoint, kind, detail);
    END IF;
    RETURN kind;
END
$$;
COMMENT ON FUNCTION insp.endpoint_judge(bigint, integer, integer, boolean, text) IS
    'Counts attempts for an endpoint''s breaker: it opens when at least 10 attempts, and 70 % of those within five minutes, failed (30 s, doubled up to 10 min), is then half open, and closes with the first success. 410 or five days without success disable the endpoint. Returns the change, if any';

CREATE OR REPLACE FUNCTION insp.endpoint_event_note(p_endpoint bigint, p_kind text, p_detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    INSERT INTO insp.record (chain, action, subject, detail)
    VALUES ('endpoint', p_kind, 'endpoint ' || p_endpoint, jsonb_strip_nulls(p_detail))
    RETURNING id INTO number;
    INSERT INTO insp.callback (job_id, endpoint_id, event, url, body)
    SELECT -number, a.id, 'endpoint.' || p_kind, a.url,
        convert_to((jsonb_build_object('type', 'endpoint.' || p_kind, 'timestamp', insp.iso_time(clock_timestamp()), 'data',
            jsonb_strip_nulls(p_detail) || jsonb_build_object('endpoint', p_endpoint)) || insp.test_mark(e.partner_id))::text, 'UTF8')
    FROM insp.endpoint e JOIN insp.endpoint a ON a.id = e.alert_endpoint_id
    WHERE e.id = p_endpoint AND a.url IS NOT NULL;
END
$$;
COMMENT ON FUNCTION insp.endpoint_event_note(bigint, text, jsonb) IS
    'Records a change in an endpoint''s health, and notifies its alert endpoint';

CREATE OR REPLACE FUNCTION insp.callback_breaker_reset(p_endpoint bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.endpoint_health h SET window_start = clock_timestamp(), succeeded = 0, failed = 0, failing_since = NULL,
        open_until = NULL, trips = 0
    WHERE h.endpoint_id = p_endpoint;
    IF NOT FOUND THEN RETURN false; END IF;
    DELETE FROM insp.endpoint_tally t WHERE t.endpoint_id = p_endpoint;
    PERFORM insp.record('callback_breaker_reset', 'endpoint ' || p_endpoint);
    PERFORM pg_notify('insp_callback', '');
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.callback_breaker_reset(bigint) IS
    'Closes an endpoint''s breaker without waiting for its next try; false: it never failed';
GRANT EXECUTE ON FUNCTION insp.callback_breaker_reset(bigint) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_endpoint_events AS
SELECT r.at, p.name AS partner, n.endpoint_id, r.action AS kind, r.detail
FROM insp.record r CROSS JOIN LATERAL (SELECT substring(r.subject FROM '[0-9]+$')::bigint AS endpoint_id) n
    LEFT JOIN insp.endpoint e ON e.id = n.endpoint_id LEFT JOIN insp.partner p ON p.id = e.partner_id
WHERE r.chain = 'endpoint' ORDER BY r.id DESC;
COMMENT ON VIEW insp.v_endpoint_events IS 'Changes of endpoints, newest first';
COMMENT ON COLUMN insp.v_endpoint_events.at IS 'When it happened';
COMMENT ON COLUMN insp.v_endpoint_events.partner IS 'The endpoint''s partner';
COMMENT ON COLUMN insp.v_endpoint_events.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.v_endpoint_events.kind IS 'failing, recovered, disabled, enabled, token_revoked or token_not_revoked';
COMMENT ON COLUMN insp.v_endpoint_events.detail IS 'Since when, the last failure''s code, the reason';
GRANT SELECT ON insp.v_endpoint_events TO insp_operator, insp_auditor;
