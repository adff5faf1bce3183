-- What operators and auditors see at the console. No function here returns anything of a person.
-- After: record

CREATE OR REPLACE FUNCTION insp.console_explain(p_token_sha256 bytea, p_id uuid) RETURNS TABLE (aspect text, explanation text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.console_job(p_token_sha256, ARRAY['operator', 'auditor'], p_id);
    RETURN QUERY SELECT e.aspect, e.explanation FROM insp.explain_job(p_id::text) e;
END
$$;
COMMENT ON FUNCTION insp.console_explain(bytea, uuid) IS 'insp.explain_job for a job of an operator''s or auditor''s partners';
GRANT EXECUTE ON FUNCTION insp.console_explain(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_timeline(
    p_token_sha256 bytea, p_id uuid
) RETURNS TABLE (at double precision, kind text, who text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['operator', 'auditor'], p_id) AS job,
        insp.console_actor(p_token_sha256) AS actor INTO c;
    RETURN QUERY SELECT * FROM (
        SELECT extract(epoch FROM (c.job).created_at)::double precision AS at, 'accepted'::text, NULL::text, NULL::text
        UNION ALL
        SELECT extract(epoch FROM s.stored_at)::double precision, 'stage ' || insp.stage_name(s.status), NULL::text, NULL::text
        FROM insp.step s WHERE s.job_id = (c.job).id
        UNION ALL
        SELECT extract(epoch FROM e.at)::double precision, e.kind, 'worker ' || e.worker_id, e.detail::text
        FROM insp.event e WHERE e.job_id = (c.job).id
        UNION ALL
        -- Without words: they may be about the person.
        SELECT extract(epoch FROM r.at)::double precision, r.action, r.actor, nullif(r.detail, '{}')::text
        FROM insp.record r WHERE r.chain <> 'access' AND r.subject = p_id::text
        UNION ALL
        SELECT extract(epoch FROM r.at)::double precision, r.action, r.actor, 'for ' || r.purpose
        FROM insp.record r WHERE r.chain = 'access' AND r.subject::uuid = p_id) x
    ORDER BY 1 LIMIT 1000;
END
$$;
COMMENT ON FUNCTION insp.console_timeline(bytea, uuid) IS 'What happened to a job of an operator''s or auditor''s partners and who looked at it, oldest first, without words of reviewers';
GRANT EXECUTE ON FUNCTION insp.console_timeline(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_lanes(p_token_sha256 bytea) RETURNS TABLE (
    region text, lane text, paused boolean, waiting bigint, is_estimate boolean, oldest double precision, delayed bigint,
    running bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Sums over partners are for who may see every partner.
    IF (SELECT w.is_all FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']) w) THEN
        RETURN QUERY SELECT q.region, q.lane, q.paused, q.waiting, q.is_estimate, extract(epoch FROM q.oldest)::double precision,
            q.delayed, q.running FROM insp.v_queue q
        ORDER BY q.region <> 'any', q.region, array_position(ARRAY['urgent', 'normal', 'bulk'], q.lane);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_lanes(bytea) IS 'insp.v_queue, for operators and auditors of every partner; nothing for others';
GRANT EXECUTE ON FUNCTION insp.console_lanes(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_queues(p_token_sha256 bytea) RETURNS TABLE (
    region text, lane text, partner text, waiting bigint, oldest double precision, why text, remedy text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT v.region, v.lane, v.partner, v.waiting::bigint, extract(epoch FROM v.oldest)::double precision, v.why,
        v.remedy
    FROM insp.v_waiting v JOIN insp.partner p ON p.name = v.partner
    WHERE w.is_all OR p.id = ANY (w.partners)
    ORDER BY v.waiting DESC, v.partner, v.region, v.lane LIMIT 200;
END
$$;
COMMENT ON FUNCTION insp.console_queues(bytea) IS 'Up to 200 queues with waiting jobs of an operator''s or auditor''s partners, longest first, and why they wait';
GRANT EXECUTE ON FUNCTION insp.console_queues(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_workers(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, host text, process integer, version text, region text, slots integer, busy integer, leases bigint, state text,
    silent double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Workers serve every partner.
    IF (SELECT w.is_all FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']) w) THEN
        RETURN QUERY SELECT v.id, v.host, v.process::integer, v.version, v.region, v.slots::integer, v.busy::integer, v.leases,
            v.state, extract(epoch FROM v.silent_for)::double precision FROM insp.v_workers v ORDER BY v.host, v.id LIMIT 500;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.console_workers(bytea) IS 'insp.v_workers, for operators and auditors of every partner; nothing for others';
GRANT EXECUTE ON FUNCTION insp.console_workers(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_endpoints(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, partner text, origin text, pending bigint, in_flight bigint, held bigint, dead bigint, delivered bigint,
    oldest double precision, breaker text, last_code text, warnings text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    RETURN QUERY SELECT e.id, v.partner, insp.url_origin(e.url), v.pending::bigint, v.in_flight::bigint, v.held::bigint,
        v.dead::bigint, v.delivered::bigint, extract(epoch FROM v.oldest_pending)::double precision, v.breaker, v.last_code,
        v.warnings
    FROM insp.v_callbacks v JOIN insp.endpoint e ON e.id = v.endpoint_id
    WHERE w.is_all OR e.partner_id = ANY (w.partners)
    ORDER BY v.dead DESC, v.pending DESC, v.partner LIMIT 200;
END
$$;
COMMENT ON FUNCTION insp.console_endpoints(bytea) IS 'Up to 200 endpoints of an operator''s or auditor''s partners, those with dead-lettered callbacks first';
GRANT EXECUTE ON FUNCTION insp.console_endpoints(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_dead(
    p_token_sha256 bytea, p_partner text DEFAULT NULL, p_code text DEFAULT NULL, p_edge bigint DEFAULT NULL,
    p_limit integer DEFAULT 50
) RETURNS TABLE (id uuid, partner text, workflow text, code text, detail text, attempts integer, died bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    PERFORM insp.require(p_limit BETWEEN 1 AND 200, 'limit', 'limit is 1 to 200.');
    PERFORM insp.require(coalesce(p_edge, 0) BETWEEN 0 AND 253402300799000000, 'before', 'Begin again without before.');
    RETURN QUERY SELECT j.public_id, p.name, j.workflow, d.code, d.detail, d.attempts::integer,
        (extract(epoch FROM d.died_at) * 1000000)::bigint
    FROM (SELECT * FROM insp.dead x WHERE x.resolved_at IS NULL
            AND x.died_at < coalesce('epoch'::timestamptz + p_edge * interval '1 microsecond', 'infinity')
            AND (p_code IS NULL OR x.code = p_code)
            ORDER BY x.died_at DESC LIMIT 20000) d
        JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id]) JOIN insp.partner p ON p.id = j.partner_id
    WHERE (w.is_all OR j.partner_id = ANY (w.partners)) AND (p_partner IS NULL OR p.name = p_partner)
    ORDER BY d.died_at DESC LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION insp.console_dead(bytea, text, text, bigint, integer) IS
    'Unresolved dead letters of an operator''s or auditor''s partners, newest first, from before a time (microseconds since 1970) on: of a partner, with an error code. Looks at 20,000 at most';
GRANT EXECUTE ON FUNCTION insp.console_dead(bytea, text, text, bigint, integer) TO insp_console;
