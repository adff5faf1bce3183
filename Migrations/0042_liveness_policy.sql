-- Whether passive evidence may pass liveness: the partner's choice, which a new job carries in its payload.

ALTER TABLE insp.partner ADD COLUMN liveness_evidence_suffices boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN insp.partner.liveness_evidence_suffices IS
    'Whether jobs that are accepted from now on pass liveness by passive evidence without any finding; otherwise such evidence ends as WARNING, and only a challenge or a vendor passes';

CREATE FUNCTION insp.set_liveness_policy(partner text, evidence_suffices boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF set_liveness_policy.evidence_suffices IS NULL THEN
        RAISE EXCEPTION 'evidence_suffices is true or false' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE insp.partner p SET liveness_evidence_suffices = set_liveness_policy.evidence_suffices
    WHERE p.id = insp.partner_number(set_liveness_policy.partner);
    PERFORM insp.record('set_liveness_policy', 'partner ' || set_liveness_policy.partner,
        jsonb_build_object('evidenceSuffices', set_liveness_policy.evidence_suffices));
    RETURN format('partner %s: passive evidence %s', set_liveness_policy.partner,
        CASE WHEN set_liveness_policy.evidence_suffices THEN 'suffices' ELSE 'does not suffice' END);
END
$$;
COMMENT ON FUNCTION insp.set_liveness_policy(text, boolean) IS
    'Sets whether passive evidence without any finding passes liveness for a partner''s jobs that are accepted from now on. It proves nobody alive: a good print or screen shows no finding, either';

CREATE OR REPLACE VIEW insp.v_partner AS
SELECT p.id, p.name, p.enabled, p.paused, insp.lane_name(p.lane) AS lane, coalesce(g.name, 'any') AS region,
    (SELECT count(*) FROM (
        SELECT FROM insp.queue q LEFT JOIN insp.v_floor f ON f.queue = q.id CROSS JOIN LATERAL (
            SELECT FROM insp.ready r WHERE r.queue = q.id AND r.seq >= coalesce(f.seq, 0) LIMIT 100001) y
        WHERE q.partner_id = p.id LIMIT 100001) w) AS waiting,
    (SELECT count(*) FROM insp.lease l JOIN insp.queue q ON q.id = l.queue WHERE q.partner_id = p.id) AS running,
    p.max_running, p.rate_per_second,
    (SELECT count(*) FROM insp.dead d JOIN insp.job j ON j.id = d.job_id
        WHERE j.partner_id = p.id AND d.resolved_at IS NULL) AS given_up,
    (SELECT count(*) FROM insp.endpoint e WHERE e.partner_id = p.id AND e.enabled) AS endpoints,
    p.pause_reason, p.rate_burst, p.review,
    (SELECT count(*) FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id
        WHERE j.partner_id = p.id AND j.status = 64) AS in_review,
    p.keep_parts, p.keep_results, p.liveness_evidence_suffices
FROM insp.partner p LEFT JOIN insp.region g ON g.id = p.region;
COMMENT ON COLUMN insp.v_partner.liveness_evidence_suffices IS
    'Whether passive evidence passes liveness (insp.set_liveness_policy)';

GRANT EXECUTE ON FUNCTION insp.set_liveness_policy(text, boolean) TO insp_operator;
