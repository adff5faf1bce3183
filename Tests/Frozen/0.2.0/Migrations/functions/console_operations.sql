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
) RETURNS TABLE (at timestamptz, kind text, who text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT insp.console_job(p_token_sha256, ARRAY['operator', 'auditor'], p_id) AS job,
        insp.console_actor(p_token_sha256) AS actor INTO c;
    RETURN QUERY SELECT y.* FROM (SELECT x.* FROM (
        SELECT (c.job).created_at AS at, 'accepted'::text, NULL::text, NULL::text
        UNION ALL
        SELECT s.stored_at, 'stage ' || insp.stage_name(s.status), NULL::text, NULL::text
        FROM insp.step s WHERE s.job_id = (c.job).id
        UNION ALL
        SELECT e.at, e.kind, 'worker ' || e.worker_id, e.detail::text
        FROM insp.event e WHERE e.job_id = (c.job).id
        UNION ALL
        -- Without words: they may be about the person.
        SELECT r.at, r.action, r.actor, nullif(r.detail, '{}')::text
        FROM insp.record r WHERE r.chain <> 'access' AND r.subject = p_id::text
        UNION ALL
        SELECT r.at, r.action, r.actor, 'for ' || r.purpose
        -- As the index has it (record_job), and what has no place yet.
        FROM insp.record r WHERE r.chain = 'access' AND r.seq IS NOT NULL
            AND nullif(r.subject::uuid, '00000000-0000-0000-0000-000000000000') = p_id
        UNION ALL
        SELECT r.at, r.action, r.actor, 'for ' || r.purpose
        FROM insp.record r WHERE r.chain || '' = 'access' AND r.seq IS NULL AND r.subject = p_id::text) x
        ORDER BY x.at DESC LIMIT 1001) y
    ORDER BY y.at;
END
$$;
COMMENT ON FUNCTION insp.console_timeline(bytea, uuid) IS 'The history of a job of an operator''s or auditor''s partners and who looked at it, oldest first, without words of reviewers: the newest 1,000, and one more if there are older ones';
GRANT EXECUTE ON FUNCTION insp.console_timeline(bytea, uuid) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_queue(p_token_sha256 bytea) RETURNS TABLE (
    region text, lane text, partner text, paused boolean, waiting bigint, is_estimate boolean, oldest_seconds double precision,
    delayed bigint, running bigint, why text, remedy text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    w record;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    -- Read once for both: the sample of a long queue is what costs most. Up to 2,000 jobs are counted exactly.
    RETURN QUERY
    WITH counts AS MATERIALIZED (
        SELECT q.id, q.region, q.lane, q.partner_id, c.waiting, c.is_estimate, c.head_job,
            extract(epoch FROM now() - (SELECT j.created_at FROM insp.job j WHERE j.id = c.head_job))::double precision AS age_seconds
        FROM insp.waiting_by_queue(2000) c JOIN insp.queue q ON q.id = c.queue
    ), lanes AS (
        -- Sums over partners are for those who may see every partner.
        SELECT coalesce(g.name, 'any') AS region, c.lane, NULL::text AS partner, c.paused, coalesce(x.waiting, 0)::bigint AS waiting,
            coalesce(x.is_estimate, false) AS is_estimate, x.age_seconds, coalesce(d.jobs, 0)::bigint AS delayed, coalesce(l.jobs, 0)::bigint AS running
        FROM (SELECT 0::smallint AS id UNION ALL SELECT y.id FROM insp.region y) r CROSS JOIN insp.control c
            LEFT JOIN insp.region g ON g.id = r.id
            LEFT JOIN (SELECT n.region, n.lane, sum(n.waiting) AS waiting, bool_or(n.is_estimate) AS is_estimate, max(n.age_seconds) AS age_seconds
                FROM counts n GROUP BY n.region, n.lane) x ON x.region = r.id AND x.lane = c.lane
            LEFT JOIN (SELECT q.region, q.lane, sum(y.delayed) AS jobs
                FROM insp.delayed_by_queue() y JOIN insp.queue q ON q.id = y.queue GROUP BY q.region, q.lane) d
                ON d.region = r.id AND d.lane = c.lane
            LEFT JOIN (SELECT q.region, q.lane, sum(y.jobs) AS jobs
                FROM (SELECT z.queue, count(*) AS jobs FROM insp.lease z GROUP BY z.queue) y JOIN insp.queue q ON q.id = y.queue
                GROUP BY q.region, q.lane) l ON l.region = r.id AND l.lane = c.lane
        WHERE w.is_all AND (r.id = 0 OR EXISTS (SELECT FROM insp.queue q WHERE q.region = r.id AND q.lane = c.lane))
    ), queues AS (
        SELECT coalesce(g.name, 'any') AS region, c.lane, p.name AS partner, c.waiting, c.is_estimate, c.age_seconds, c.id
        FROM counts c JOIN insp.partner p ON p.id = c.partner_id LEFT JOIN insp.region g ON g.id = c.region
        WHERE w.is_all OR p.id = ANY (w.partners) ORDER BY c.waiting DESC, p.name, c.region, c.lane LIMIT 200
    )
    SELECT x.region, insp.lane_name(x.lane), x.partner, x.paused, x.waiting, x.is_estimate, x.age_seconds, x.delayed, x.running, x.why, x.remedy
    FROM (SELECT l.*, NULL::text AS why, NULL::text AS remedy FROM lanes l
        UNION ALL
        SELECT q.region, q.lane, q.partner, NULL, q.waiting, q.is_estimate, q.age_seconds, NULL, NULL, y.why, y.remedy
        FROM queues q LEFT JOIN insp.why_waiting(ARRAY(SELECT n.id FROM queues n)) y ON y.queue = q.id) x
    ORDER BY x.partner IS NOT NULL, CASE WHEN x.partner IS NULL THEN x.region <> 'any' END, CASE WHEN x.partner IS NULL THEN x.region END,
        CASE WHEN x.partner IS NULL THEN x.lane END, x.waiting DESC, x.partner, x.region, x.lane;
END
$$;
COMMENT ON FUNCTION insp.console_queue(bytea) IS
    'The queue as insp.v_queue shows it, for operators and auditors of every partner (rows without a partner), and up to 200 queues with waiting jobs of an operator''s or auditor''s partners, longest first, and why they wait';
GRANT EXECUTE ON FUNCTION insp.console_queue(bytea) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_workers(p_token_sha256 bytea) RETURNS TABLE (
    id bigint, host text, process integer, version text, region text, slots integer, busy integer, leases bigint, state text,
    silent_seconds double precision)
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
    oldest_seconds double precision, breaker text, last_code text, warnings text)
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
    p_token_sha256 bytea, p_partner text DEFAULT NULL, p_code text DEFAULT NULL, p_edge_microseconds bigint DEFAULT NULL,
    p_after uuid DEFAULT NULL, p_limit integer DEFAULT 50
) RETURNS TABLE (id uuid, partner text, workflow text, code text, detail text, attempts integer, died_microseconds bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    w record;
    one record;
    -- Partners whose dead letters are sought, each by the index; null: everybody's.
    sought integer[];
    -- Dead letters that one call examines.
    scanned constant integer := 1000;
    seen integer := 0;
    listed integer := 0;
    from_died timestamptz := timestamptz 'infinity';
    from_job bigint := 9223372036854775807;
    last_id uuid;
    last_died_microseconds bigint;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['operator', 'auditor']);
    PERFORM insp.require(p_limit BETWEEN 1 AND 200, 'limit', 'limit is 1 to 200.');
    PERFORM insp.require(coalesce(p_edge_microseconds, 0) BETWEEN 0 AND 253402300799000000, 'before', 'Begin again without before.');
    IF p_after IS NOT NULL THEN
        -- Another partner's job does not exist for the person.
        SELECT j.id INTO from_job FROM insp.job j WHERE j.public_id = p_after AND (w.is_all OR j.partner_id = ANY (w.partners));
        from_died := 'epoch'::timestamptz + p_edge_microseconds * interval '1 microsecond';
        PERFORM insp.require(from_job IS NOT NULL AND from_died IS NOT NULL, 'after', 'Begin again without after.');
    END IF;
    IF p_partner IS NOT NULL THEN
        sought := ARRAY(SELECT p.id FROM insp.partner p WHERE p.name = p_partner AND (w.is_all OR p.id = ANY (w.partners)));
    ELSIF NOT w.is_all THEN
        sought := w.partners;
    END IF;
    FOR one IN
        SELECT d.code, d.detail, d.attempts, d.died_at, j.public_id, j.workflow, p.name
        FROM (
                (SELECT x.* FROM insp.dead x WHERE sought IS NULL AND x.resolved_at IS NULL
                    AND (x.died_at, x.job_id) < (from_died, from_job) AND (p_code IS NULL OR x.code = p_code)
                ORDER BY x.died_at DESC, x.job_id DESC LIMIT scanned + 1)
                UNION ALL
                (SELECT o.* FROM unnest(sought) s (partner) CROSS JOIN LATERAL (
                    SELECT x.* FROM insp.dead x WHERE x.partner_id = s.partner AND x.resolved_at IS NULL
                        AND (x.died_at, x.job_id) < (from_died, from_job) AND (p_code IS NULL OR x.code = p_code)
                    ORDER BY x.died_at DESC, x.job_id DESC LIMIT scanned + 1) o)
                ORDER BY died_at DESC, job_id DESC LIMIT scanned + 1) d
            JOIN insp.job j ON j.id = ANY (ARRAY[d.job_id]) JOIN insp.partner p ON p.id = j.partner_id
        ORDER BY d.died_at DESC, d.job_id DESC
    LOOP
        IF listed = p_limit OR seen = scanned THEN
            -- There may be more, after the last one that was read.
            id := last_id;
            partner := NULL;
            died_microseconds := last_died_microseconds;
            RETURN NEXT;
            EXIT;
        END IF;
        seen := seen + 1;
        last_id := one.public_id;
        last_died_microseconds := (extract(epoch FROM one.died_at) * 1000000)::bigint;
        listed := listed + 1;
        id := one.public_id;
        partner := one.name;
        workflow := one.workflow;
        code := one.code;
        detail := one.detail;
        attempts := one.attempts;
        died_microseconds := last_died_microseconds;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_dead(bytea, text, text, bigint, uuid, integer) IS
    'Unresolved dead letters of an operator''s or auditor''s partners, newest first, from after one (when it was dead-lettered, since 1970, and its id) on: of a partner, with an error code. A last row without a partner is the one after which to continue: each call looks at 1,000 at most';
GRANT EXECUTE ON FUNCTION insp.console_dead(bytea, text, text, bigint, uuid, integer) TO insp_console;
