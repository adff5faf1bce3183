-- Versions of partners' policies.

CREATE OR REPLACE FUNCTION insp.keep_policy() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET intervalstyle = 'iso_8601' AS $$
DECLARE
    -- Columns for the partner's identity, temporary switches and quotas decide nothing about a job.
    other constant text[] := ARRAY['id', 'name', 'created_at', 'paused', 'pause_reason', 'max_running', 'rate_per_second',
        'rate_burst', 'max_waiting', 'max_bytes', 'erased_at'];
    decided constant jsonb := to_jsonb(NEW) - other;
BEGIN
    IF TG_OP = 'UPDATE' AND decided = to_jsonb(OLD) - other THEN
        RETURN NULL;
    END IF;
    -- A change of the partner locks its row, so no two versions have the same number.
    INSERT INTO insp.partner_policy (partner_id, version, valid_from, policy)
    SELECT NEW.id, coalesce(max(p.version), 0) + 1,
        CASE TG_OP WHEN 'INSERT' THEN NEW.created_at ELSE clock_timestamp() END, decided
    FROM insp.partner_policy p WHERE p.partner_id = NEW.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.keep_policy() IS 'Keeps each version of a partner''s settings';
CREATE OR REPLACE TRIGGER keep_policy AFTER INSERT OR UPDATE ON insp.partner
    FOR EACH ROW EXECUTE FUNCTION insp.keep_policy();

CREATE OR REPLACE VIEW insp.v_partner_policy AS
SELECT n.name AS partner, p.version, p.valid_from,
    lead(p.valid_from) OVER (PARTITION BY p.partner_id ORDER BY p.version) AS valid_until, p.changed_by, p.policy
FROM insp.partner_policy p JOIN insp.partner n ON n.id = p.partner_id;
COMMENT ON VIEW insp.v_partner_policy IS 'Partners'' policies and their periods of validity';
COMMENT ON COLUMN insp.v_partner_policy.partner IS 'The partner';
COMMENT ON COLUMN insp.v_partner_policy.version IS 'Number of the version, from 1';
COMMENT ON COLUMN insp.v_partner_policy.valid_from IS 'When it was set';
COMMENT ON COLUMN insp.v_partner_policy.valid_until IS 'When the next one was set; null: current';
COMMENT ON COLUMN insp.v_partner_policy.changed_by IS 'The role that set it';
COMMENT ON COLUMN insp.v_partner_policy.policy IS 'Its columns of insp.partner; intervals as ISO 8601';
GRANT SELECT ON insp.v_partner_policy TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.policy_of(job uuid) RETURNS TABLE (version integer, valid_from timestamptz, policy jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    owner integer;
    accepted timestamptz;
BEGIN
    SELECT j.partner_id, j.created_at INTO owner, accepted FROM insp.job j WHERE j.public_id = policy_of.job;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN QUERY SELECT p.version, p.valid_from, p.policy FROM insp.partner_policy p
    WHERE p.partner_id = owner AND p.valid_from <= accepted ORDER BY p.version DESC LIMIT 1;
END
$$;
COMMENT ON FUNCTION insp.policy_of(uuid) IS
    'The partner''s policy when a job was accepted, by time: a change that was under way at that moment may or may not apply to the job';
GRANT EXECUTE ON FUNCTION insp.policy_of(uuid) TO insp_operator, insp_auditor;
