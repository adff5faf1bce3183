-- Partners' limits and pauses at the console.
-- After: quotas, console

CREATE OR REPLACE FUNCTION insp.console_limits(p_token_sha256 bytea, p_after text DEFAULT NULL, p_partner text DEFAULT NULL) RETURNS TABLE (
    partner text, enabled boolean, paused boolean, pause_reason text, max_running integer, running bigint,
    rate_per_second double precision, rate_burst integer, max_waiting bigint, waiting bigint, max_bytes bigint, bytes bigint,
    may_change boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT p.name, p.enabled, p.paused, p.pause_reason, p.max_running, coalesce(l.jobs, 0), p.rate_per_second, p.rate_burst,
        p.max_waiting, q.waiting::bigint, p.max_bytes, q.bytes::bigint,
        EXISTS (SELECT FROM insp.console_grant g JOIN insp.console_session s ON s.id = g.session_id
            WHERE s.token_sha256 = p_token_sha256 AND g.role = 'operator' AND (g.partner_id IS NULL OR g.partner_id = p.id))
    FROM insp.partner p LEFT JOIN insp.v_quota q ON q.partner = p.name
        LEFT JOIN (SELECT k.partner_id, count(*) AS jobs FROM insp.lease x JOIN insp.queue k ON k.id = x.queue GROUP BY k.partner_id) l
            ON l.partner_id = p.id
    WHERE p.erased_at IS NULL AND (w.is_all OR p.id = ANY (w.partners)) AND p.name > coalesce(p_after, '')
        AND (p_partner IS NULL OR p.name = p_partner)
    ORDER BY p.name LIMIT 100;
END
$$;
COMMENT ON FUNCTION insp.console_limits(bytea, text, text) IS
    'The limits of up to 100 partners of an operator or auditor, by name from after one on, or of one, and their use; may_change: for an operator';
GRANT EXECUTE ON FUNCTION insp.console_limits(bytea, text, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_set_limits(
    p_token_sha256 bytea, p_partner text, p_max_running integer, p_rate_per_second double precision, p_rate_burst integer,
    p_max_waiting bigint, p_max_bytes bigint, p_reason text, p_was jsonb
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    s record;
    p insp.partner;
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], coalesce(p_partner, ''));
    PERFORM insp.require(length(btrim(p_reason)) BETWEEN 1 AND 200, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.console_begin(s.actor);
    p := insp.partner_lock(p_partner);
    -- A colleague's change, made since the person looked, stays.
    IF jsonb_strip_nulls(p_was) IS DISTINCT FROM jsonb_strip_nulls(jsonb_build_object('running', p.max_running,
            'rate', p.rate_per_second, 'burst', p.rate_burst, 'waiting', p.max_waiting, 'bytes', p.max_bytes)) THEN
        PERFORM insp.console_end();
        RETURN false;
    END IF;
    IF (p.max_running, p.rate_per_second) IS DISTINCT FROM (p_max_running, p_rate_per_second)
        OR p.rate_burst IS DISTINCT FROM p_rate_burst AND (p_rate_burst IS NOT NULL OR p_rate_per_second IS NULL) THEN
        PERFORM insp.limit_partner(p_partner, p_max_running, p_rate_per_second, p_rate_burst);
    END IF;
    -- Setting a quota counts anew, which takes long.
    IF (p.max_waiting, p.max_bytes) IS DISTINCT FROM (p_max_waiting, p_max_bytes) THEN
        PERFORM insp.set_quota(p_partner, p_max_waiting, p_max_bytes);
    END IF;
    PERFORM insp.record('console_set_limits', 'partner ' || p_partner, jsonb_build_object('reason', btrim(p_reason)));
    PERFORM insp.console_end();
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.console_set_limits(bytea, text, integer, double precision, integer, bigint, bigint, text, jsonb) IS
    'Sets all limits of an operator''s partner (insp.limit_partner, insp.set_quota) that change; null: no limit. p_was has the limits that the person saw (running, rate, burst, waiting, bytes; without a member: no limit); false: they have changed since, and nothing was set. Recorded with its reason';
GRANT EXECUTE ON FUNCTION insp.console_set_limits(bytea, text, integer, double precision, integer, bigint, bigint, text, jsonb) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_pause(
    p_token_sha256 bytea, p_partner text, p_lane text, p_pauses boolean, p_reason text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    s record;
BEGIN
    PERFORM insp.require(num_nonnulls(p_partner, p_lane) = 1, 'partner or lane', 'A partner is paused in all lanes, a lane for all partners.');
    PERFORM insp.require(p_pauses IS NOT NULL, 'pauses is null');
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator'], p_partner);
    IF p_lane IS NOT NULL AND s.partners IS NOT NULL THEN
        PERFORM insp.refuse('SCOPE_MISSING', 'operator of every partner');
    END IF;
    PERFORM insp.require(NOT p_pauses OR length(btrim(p_reason)) BETWEEN 1 AND 200, 'reason', 'Give a reason of at most 200 characters.');
    PERFORM insp.console_begin(s.actor);
    IF p_pauses THEN
        PERFORM insp.pause(p_lane, p_partner, btrim(p_reason));
    ELSE
        PERFORM insp.resume(p_lane, p_partner);
    END IF;
    PERFORM insp.console_end();
END
$$;
COMMENT ON FUNCTION insp.console_pause(bytea, text, text, boolean, text) IS
    'insp.pause, with a reason, or insp.resume: of an operator''s partner, or of a lane for operators of every partner';
GRANT EXECUTE ON FUNCTION insp.console_pause(bytea, text, text, boolean, text) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_partner_names(p_token_sha256 bytea) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT p.name FROM insp.partner p WHERE p.erased_at IS NULL AND (w.is_all OR p.id = ANY (w.partners))
        ORDER BY p.name LIMIT 1001;
END
$$;
COMMENT ON FUNCTION insp.console_partner_names(bytea) IS
    'Up to 1001 partners (a page shows 1000) whose settings the person may see (insp.console_partner)';
GRANT EXECUTE ON FUNCTION insp.console_partner_names(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_partner(p_token_sha256 bytea, p_partner text) RETURNS TABLE (
    kind text, name text, value text, used timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    s record;
BEGIN
    SELECT * INTO s FROM insp.console_partners(p_token_sha256, ARRAY['operator', 'auditor'], coalesce(p_partner, ''));
    RETURN QUERY
    SELECT 'state', x.name, x.value, NULL::timestamptz
    FROM insp.partner p CROSS JOIN LATERAL (VALUES (1, 'paused', p.paused::text), (2, 'pause_reason', p.pause_reason)) x (n, name, value)
    WHERE p.id = s.partners[1] AND x.value IS NOT NULL
    UNION ALL
    (SELECT 'policy', e.key, CASE e.key WHEN 'lane' THEN insp.lane_name((e.value #>> '{}')::smallint)
            WHEN 'region' THEN (SELECT r.name FROM insp.region r WHERE r.id = (e.value #>> '{}')::smallint)
            WHEN 'test_of' THEN (SELECT t.name FROM insp.partner t WHERE t.id = (e.value #>> '{}')::integer)
            ELSE e.value #>> '{}' END, NULL::timestamptz
    FROM (SELECT y.policy FROM insp.partner_policy y WHERE y.partner_id = s.partners[1] ORDER BY y.version DESC LIMIT 1) y
        CROSS JOIN LATERAL jsonb_each(y.policy) e ORDER BY e.key)
    UNION ALL
    (SELECT 'credential', c.key_id, v.state || ': ' || array_to_string(c.scopes, ', '), c.used_at
    FROM insp.credential c JOIN insp.v_credential v ON v.key_id = c.key_id
    WHERE c.partner_id = s.partners[1] ORDER BY c.id DESC LIMIT 100);
END
$$;
COMMENT ON FUNCTION insp.console_partner(bytea, text) IS
    'The settings of one partner of an operator''s or auditor''s: whether it is paused (kind state), its policy as it is now (policy), and its last 100 credentials (credential) with their scopes and last use, without secrets';
GRANT EXECUTE ON FUNCTION insp.console_partner(bytea, text) TO insp_console;
