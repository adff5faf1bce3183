-- After: gateway_jobs, callback_operators
-- The gateway's calls about callbacks and their endpoints. Each checks the credential and records itself. What an operator stopped
-- stays stopped.

CREATE OR REPLACE FUNCTION insp.gateway_endpoint(p_partner integer, p_endpoint bigint) RETURNS insp.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e insp.endpoint;
BEGIN
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = p_endpoint AND x.partner_id = p_partner FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN');
    END IF;
    RETURN e;
END
$$;
COMMENT ON FUNCTION insp.gateway_endpoint(integer, bigint) IS 'An endpoint of a partner, locked; refuses others';

CREATE OR REPLACE FUNCTION insp.gateway_endpoints(p_credential bigint, p_secret_sha256 bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'callbacks');
BEGIN
    PERFORM insp.record_access(p_credential, 'endpoints', 'callbacks', NULL);
    RETURN coalesce((
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('id', e.id, 'url', e.url, 'isDefault', e.is_default,
            'events', e.events, 'createdAt', insp.iso_time(e.created_at),
            'state', CASE WHEN NOT e.enabled THEN 'disabled' WHEN e.paused THEN 'paused' ELSE 'active' END,
            -- An operator's name is nobody else's business.
            'reason', CASE WHEN NOT e.enabled THEN regexp_replace(e.disabled_reason, '^by .*', 'by the operator')
                WHEN e.paused AND NOT e.paused_by_partner THEN 'by the operator' END,
            'failingSince', insp.iso_time(h.failing_since), 'pausedUntil', insp.iso_time(h.open_until),
            'counts', (SELECT jsonb_build_object('pending', count(*) FILTER (WHERE w.state = 'pending'),
                'held', count(*) FILTER (WHERE w.state = 'held'), 'dead', count(*) FILTER (WHERE w.state = 'dead'))
                FROM (
                    (SELECT 'pending' AS state FROM insp.callback_waiting x WHERE x.endpoint_id = e.id AND x.state = 'pending' LIMIT 10000)
                    UNION ALL
                    (SELECT x.state FROM insp.callback_waiting x
                        WHERE x.endpoint_id = e.id AND x.state IN ('held', 'dead') AND x.state <> 'pending' LIMIT 10000)) w)))
            ORDER BY e.id)
        FROM insp.endpoint e LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id WHERE e.partner_id = number), '[]');
END
$$;
COMMENT ON FUNCTION insp.gateway_endpoints(bigint, bytea) IS
    'The endpoints of a credential''s partner: URL, state, and how many callbacks wait, are held or are dead letters, of 10,000 at most';
GRANT EXECUTE ON FUNCTION insp.gateway_endpoints(bigint, bytea) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_callback(c insp.v_callback, p_public_id uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('webhookId', c.webhook_id, 'event', c.event, 'job', p_public_id,
        'endpoint', c.endpoint_id, 'state', c.state, 'createdAt', insp.iso_time(c.created_at),
        'deliveredAt', insp.iso_time(c.delivered_at), 'nextAttemptAt', CASE c.state WHEN 'pending' THEN insp.iso_time(c.due_at) END,
        'attempts', coalesce((
            SELECT jsonb_agg(jsonb_build_object('at', insp.iso_time(a.started_at), 'durationMs', a.duration_ms,
                'status', a.http_status, 'code', a.code) ORDER BY a.attempt)
            FROM (SELECT * FROM insp.callback_attempt x WHERE x.callback_id = c.id ORDER BY x.attempt DESC LIMIT 50) a), '[]')))
$$;
COMMENT ON FUNCTION insp.gateway_callback(insp.v_callback, uuid) IS 'A callback as its partner sees it, with its last 50 attempts';

CREATE OR REPLACE FUNCTION insp.gateway_callbacks(
    p_credential bigint, p_secret_sha256 bytea, p_job uuid DEFAULT NULL, p_state text DEFAULT NULL, p_before timestamptz DEFAULT NULL,
    p_last text DEFAULT NULL, p_limit integer DEFAULT 50, OUT callback jsonb, OUT moment timestamptz, OUT webhook_id text
) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'callbacks');
    j insp.job;
    last bigint := 9223372036854775807;
BEGIN
    PERFORM insp.require(num_nonnulls(p_job, p_state) = 1, 'job or state', 'Give one of them.', p_field => 'state');
    PERFORM insp.require(p_limit BETWEEN 1 AND 100, 'limit', 'limit is 1 to 100.', p_field => 'limit');
    PERFORM insp.record_access(p_credential, 'callbacks', 'callbacks', p_job);
    IF p_job IS NOT NULL THEN
        j := insp.gateway_job(number, p_job);
        RETURN QUERY SELECT insp.gateway_callback(v, j.public_id), NULL::timestamptz, v.webhook_id
        FROM insp.callback c JOIN insp.v_callback v ON v.id = c.id WHERE c.job_id = j.id ORDER BY c.id;
        RETURN;
    END IF;
    PERFORM insp.require(p_state IN ('pending', 'held', 'dead'), 'state', 'A state is pending, held or dead.', p_field => 'state');
    PERFORM insp.require(num_nulls(p_before, p_last) IN (0, 2), 'after', 'Send next of the last page.', p_field => 'after');
    IF p_last IS NOT NULL THEN
        last := insp.callback_by_webhook_id(p_last);
        PERFORM insp.require(last IS NOT NULL, 'after names no callback', 'Begin again without after.', p_field => 'after');
    END IF;
    RETURN QUERY SELECT insp.gateway_callback(v, c.public_id), x.due_at, c.webhook_id
    FROM insp.endpoint e CROSS JOIN LATERAL (
            -- One branch for each index.
            (SELECT w.callback_id, w.due_at FROM insp.callback_waiting w
            WHERE p_state <> 'pending' AND w.state = p_state AND w.state <> 'pending' AND w.endpoint_id = e.id
                AND (p_before IS NULL OR (w.due_at, w.callback_id) < (p_before, last))
            ORDER BY w.due_at DESC, w.callback_id DESC LIMIT p_limit)
            UNION ALL
            (SELECT w.callback_id, w.due_at FROM (VALUES (0), (1)) AS t (retried), LATERAL (
                SELECT y.callback_id, y.due_at FROM insp.callback_waiting y
                WHERE p_state = 'pending' AND y.state = 'pending' AND y.endpoint_id = e.id AND least(y.attempts, 1) = t.retried
                    AND (p_before IS NULL OR (y.due_at, y.callback_id) < (p_before, last))
                ORDER BY y.due_at DESC, y.callback_id DESC LIMIT p_limit) w)) x
        JOIN insp.callback c ON c.id = ANY (ARRAY[x.callback_id]) JOIN insp.v_callback v ON v.id = ANY (ARRAY[c.id])
    WHERE e.partner_id = number
    ORDER BY x.due_at DESC, x.callback_id DESC LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION insp.gateway_callbacks(bigint, bytea, uuid, text, timestamptz, text, integer) IS
    'Callbacks of a credential''s partner with their attempts: those of a job, or those that are pending, held or dead, latest first, from after the moment and the webhook-id of the page before';
GRANT EXECUTE ON FUNCTION insp.gateway_callbacks(bigint, bytea, uuid, text, timestamptz, text, integer) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_replay(p_credential bigint, p_secret_sha256 bytea, p_webhook_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'callbacks');
    chosen constant bigint := insp.callback_by_webhook_id(p_webhook_id);
    e insp.endpoint;
    c insp.callback;
BEGIN
    SELECT * INTO c FROM insp.callback x WHERE x.id = chosen;
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = c.endpoint_id AND x.partner_id = number FOR NO KEY UPDATE;
    -- Of a disabled endpoint it waits with the others until an operator enables it.
    IF NOT FOUND OR NOT insp.callback_renew(c.id, CASE WHEN e.enabled THEN 'pending' ELSE 'held' END) THEN
        PERFORM insp.refuse('CALLBACK_UNKNOWN');
    END IF;
    PERFORM insp.record_access(p_credential, 'callback_replay', 'callbacks', c.public_id,
        jsonb_build_object('webhookId', c.webhook_id));
    PERFORM pg_notify('insp_callback', '');
END
$$;
COMMENT ON FUNCTION insp.gateway_replay(bigint, bytea, text) IS 'insp.callback_replay for a callback of a credential''s partner';
GRANT EXECUTE ON FUNCTION insp.gateway_replay(bigint, bytea, text) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_endpoint_act(
    p_credential bigint, p_secret_sha256 bytea, p_endpoint bigint, p_action text, p_options jsonb DEFAULT '{}', p_secret text DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    e constant insp.endpoint := insp.gateway_endpoint(insp.gateway_partner(p_credential, p_secret_sha256, 'callbacks'), p_endpoint);
    since timestamptz;
    until timestamptz;
    delivered boolean;
    overlap integer;
    number bigint;
    answer jsonb := '{}'::jsonb;
BEGIN
    PERFORM insp.require(jsonb_typeof(p_options) = 'object', 'options');
    BEGIN
        since := (p_options ->> 'since')::timestamptz;
        until := coalesce((p_options ->> 'until')::timestamptz, now());
        delivered := coalesce((p_options ->> 'delivered')::boolean, false);
        overlap := coalesce((p_options ->> 'overlapSeconds')::integer, 86400);
    EXCEPTION WHEN data_exception THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'options');
    END;
    -- Also nothing is sent there to try it.
    IF NOT e.enabled AND p_action <> 'rotate' THEN
        PERFORM insp.refuse('ENDPOINT_DISABLED', 'it is disabled', 'Ask the operator to enable it.');
    ELSIF p_action = 'pause' THEN
        UPDATE insp.endpoint x SET paused = true, paused_by_partner = true WHERE x.id = e.id AND NOT x.paused;
    ELSIF p_action = 'resume' THEN
        IF e.paused AND NOT e.paused_by_partner THEN
            PERFORM insp.refuse('ENDPOINT_DISABLED', 'the operator paused it', 'Ask the operator to resume it.');
        END IF;
        UPDATE insp.endpoint x SET paused = false, paused_by_partner = false WHERE x.id = e.id;
        PERFORM pg_notify('insp_callback', '');
    ELSIF p_action = 'test' THEN
        PERFORM insp.require(e.url IS NOT NULL, 'the endpoint has no URL');
        INSERT INTO insp.record (chain, action, subject, detail)
        VALUES ('endpoint', 'test', 'endpoint ' || e.id, '{}') RETURNING id INTO number;
        INSERT INTO insp.callback AS c (job_id, endpoint_id, event, url, body)
        VALUES (-number, e.id, 'endpoint.test', e.url, convert_to((jsonb_build_object('type', 'endpoint.test',
            'timestamp', insp.iso_time(clock_timestamp()), 'data', jsonb_build_object('endpoint', e.id))
            || insp.test_mark(e.partner_id))::text, 'UTF8'))
        RETURNING jsonb_build_object('webhookId', c.webhook_id) INTO answer;
    ELSIF p_action = 'replay' THEN
        answer := jsonb_build_object('replayed', insp.callback_replay(e.id, since, until, delivered));
    ELSIF p_action = 'rotate' THEN
        -- A plain secret must not enter a database in which all others are sealed.
        IF p_secret IS NULL AND EXISTS (SELECT FROM insp.custody) THEN
            PERFORM insp.refuse('KEY_MISSING', 'the gateway passes no sealed secret');
        END IF;
        answer := jsonb_build_object('secret',
            insp.rotate_secret(e.id, overlap * interval '1 second', p_secret));
    ELSE
        PERFORM insp.refuse('PARAMETER_INVALID', 'action');
    END IF;
    PERFORM insp.record_access(p_credential, 'endpoint_' || p_action, 'callbacks', NULL, jsonb_build_object('endpoint', e.id)
        || (answer - 'secret') || p_options);
    RETURN answer;
END
$$;
COMMENT ON FUNCTION insp.gateway_endpoint_act(bigint, bytea, bigint, text, jsonb, text) IS
    'What a partner may do with its endpoint: pause, resume, test (sends endpoint.test), replay (since, until, delivered) and rotate (overlapSeconds; p_secret: the new secret, sealed)';
GRANT EXECUTE ON FUNCTION insp.gateway_endpoint_act(bigint, bytea, bigint, text, jsonb, text) TO insp_gateway;
