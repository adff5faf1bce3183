-- Versions of partners' policies, and the functions that set those on consent, regions, callbacks, vendors and decisions.

CREATE OR REPLACE FUNCTION insp.policy_columns(p insp.partner) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET intervalstyle = 'iso_8601' AS $$
    -- Identity, temporary switches and quotas decide nothing about a job.
    SELECT to_jsonb(p) - ARRAY['id', 'name', 'created_at', 'paused', 'pause_reason', 'max_running', 'rate_per_second', 'rate_burst',
        'max_waiting', 'max_bytes', 'erased_at']
$$;
COMMENT ON FUNCTION insp.policy_columns(insp.partner) IS 'The columns of a partner''s row that affect its jobs; intervals as ISO 8601';

CREATE OR REPLACE FUNCTION insp.keep_policy() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    decided constant jsonb := insp.policy_columns(NEW);
BEGIN
    IF TG_OP = 'UPDATE' AND decided = insp.policy_columns(OLD) THEN
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

CREATE OR REPLACE FUNCTION insp.follow_partner() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- Tests may go on before their partner's real jobs are accepted, and after.
    own constant text[] := ARRAY['enabled', 'test_of'];
    parent insp.partner;
BEGIN
    IF TG_WHEN = 'AFTER' THEN
        -- What has changed, by name: triggers on single columns, such as those of retention, fire as for the partner itself.
        IF insp.policy_columns(NEW) - own <> insp.policy_columns(OLD) - own THEN
            EXECUTE (SELECT 'UPDATE insp.partner t SET ' || string_agg(format('%1$I = p.%1$I', n.key), ', ')
                || ' FROM insp.partner p WHERE p.id = $1 AND t.test_of = $1 AND t.erased_at IS NULL'
                FROM jsonb_each(insp.policy_columns(NEW) - own) n JOIN jsonb_each(insp.policy_columns(OLD)) o USING (key)
                WHERE n.value <> o.value)
            USING NEW.id;
        END IF;
        RETURN NULL;
    END IF;
    SELECT * INTO parent FROM insp.partner p WHERE p.id = NEW.test_of;
    IF TG_OP = 'INSERT' THEN
        NEW := jsonb_populate_record(NEW, insp.policy_columns(parent) - own);
    ELSIF NEW.erased_at IS NULL AND insp.policy_columns(NEW) - own <> insp.policy_columns(OLD) - own
        AND insp.policy_columns(NEW) - own <> insp.policy_columns(parent) - own THEN
        PERFORM insp.refuse('PARTNER_INVALID', format('%s has the policies of %s', NEW.name, parent.name),
            format('Change those of %s: they apply to its tests as well.', parent.name));
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION insp.follow_partner() IS
    'Keeps the policies of a partner''s test partner equal to the partner''s own at every change, and refuses others: tests follow the same rules as production';
CREATE OR REPLACE TRIGGER follow_partner_checked BEFORE INSERT OR UPDATE ON insp.partner
    FOR EACH ROW WHEN (NEW.test_of IS NOT NULL) EXECUTE FUNCTION insp.follow_partner();
CREATE OR REPLACE TRIGGER follow_partner AFTER UPDATE ON insp.partner
    FOR EACH ROW WHEN (NEW.test_of IS NULL AND NEW.erased_at IS NULL)
    EXECUTE FUNCTION insp.follow_partner();

CREATE OR REPLACE FUNCTION insp.test_mark(p_partner integer) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM insp.partner p WHERE p.id = p_partner AND p.test_of IS NOT NULL)
        THEN '{"test": true}' ELSE '{}' END::jsonb
$$;
COMMENT ON FUNCTION insp.test_mark(integer) IS 'The addition to an event''s body if the partner is one for tests';

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

CREATE OR REPLACE FUNCTION insp.set_consent_policy(
    partner text, required boolean, policy_url text DEFAULT NULL, policy_version text DEFAULT NULL, purposes text[] DEFAULT '{}'
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_consent_policy.partner);
    problem constant text := insp.url_problem(set_consent_policy.policy_url, 255, false, false);
BEGIN
    PERFORM insp.need_approval('set_consent_policy');
    PERFORM insp.require(set_consent_policy.required IS NOT NULL, 'required is null', 'required is true or false.');
    PERFORM insp.require(set_consent_policy.policy_url IS NULL OR problem IS NULL, 'policy_url: ' || problem, NULL, 'PARTNER_INVALID');
    PERFORM insp.require(coalesce(set_consent_policy.policy_version ~ '^[A-Za-z0-9._-]{1,32}$', true), 'policy_version',
        'A version has 1 to 32 letters, digits, dots, hyphens and underscores.', 'PARTNER_INVALID');
    PERFORM insp.require(cardinality(set_consent_policy.purposes) <= 16 AND coalesce(array_ndims(set_consent_policy.purposes), 1) = 1
            AND NOT EXISTS (SELECT FROM unnest(set_consent_policy.purposes) u WHERE (u ~ '^[A-Za-z0-9._-]{1,32}$') IS NOT TRUE), 'purposes',
        'There are at most 16 purposes, each of 1 to 32 letters, digits, dots, hyphens and underscores.', 'PARTNER_INVALID');
    UPDATE insp.partner p SET consent_required = set_consent_policy.required, consent_policy_url = set_consent_policy.policy_url,
        consent_policy_version = set_consent_policy.policy_version, consent_purposes = set_consent_policy.purposes
    WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_consent_policy', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_consent_policy(text, boolean, text, text, text[]) IS
    'Sets the consent that a partner''s jobs need if they are accepted from now on; required: each job has one, to this version of the policy and for these purposes at least; policy_url is where persons read it, and is in the refusal. Each call sets everything. A consent that says no is refused in any case';
GRANT EXECUTE ON FUNCTION insp.set_consent_policy(text, boolean, text, text, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.partner_region(p_region text) RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    place smallint;
BEGIN
    -- No other call changes the deployment's regions before this one ends: no partner is left in a region that is not named.
    LOCK TABLE insp.region IN SHARE ROW EXCLUSIVE MODE;
    IF p_region = 'any' THEN
        PERFORM insp.require(NOT EXISTS (SELECT FROM insp.region g WHERE g.is_served), 'any', insp.region_hint(), 'REGION_INVALID');
        RETURN NULL;
    END IF;
    SELECT g.id INTO place FROM insp.region g
    WHERE g.name = p_region AND (g.is_served OR NOT EXISTS (SELECT FROM insp.region x WHERE x.is_served));
    IF NOT FOUND THEN
        PERFORM insp.refuse('REGION_INVALID', left(quote_nullable(p_region), 40), insp.region_hint()
            || CASE WHEN EXISTS (SELECT FROM insp.region g WHERE g.is_served) THEN '' ELSE ' ''any'' removes the partner''s region.' END);
    END IF;
    RETURN place;
END
$$;
COMMENT ON FUNCTION insp.partner_region(text) IS
    'The number of a region that a partner may get; null for any, which only a deployment without regions allows';

CREATE OR REPLACE FUNCTION insp.set_region_policy(partner text, region text, may_choose boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_region_policy.partner);
    place smallint;
BEGIN
    PERFORM insp.need_approval('set_region_policy');
    PERFORM insp.require(set_region_policy.may_choose IS NOT NULL, 'may_choose is null', 'may_choose is true or false.');
    place := insp.partner_region(set_region_policy.region);
    UPDATE insp.partner p SET region = place, region_choice = set_region_policy.may_choose WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_region_policy', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_region_policy(text, text, boolean) IS
    'Sets the region of a partner''s jobs that are accepted from now on, and whether a job may specify another one. any: jobs may specify one, and run anywhere if they do not; a deployment that names regions (insp.set_regions) does not allow it. Each call sets both';
GRANT EXECUTE ON FUNCTION insp.set_region_policy(text, text, boolean) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_regions(regions text[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    strange text;
    bare text;
BEGIN
    PERFORM insp.need_approval('set_regions');
    LOCK TABLE insp.region IN SHARE ROW EXCLUSIVE MODE;
    PERFORM insp.require(cardinality(set_regions.regions) <= 1000 AND coalesce(array_ndims(set_regions.regions), 1) = 1, 'regions',
        'regions is a list of names; an empty one names none.');
    SELECT u INTO strange FROM unnest(set_regions.regions) u WHERE (u ~ '^[A-Z][A-Z0-9-]{1,15}$' AND u <> 'ANY') IS NOT TRUE LIMIT 1;
    PERFORM insp.require(NOT FOUND, left(quote_nullable(strange), 40),
        'A region has 2 to 16 upper-case letters, digits and hyphens, and begins with a letter.', 'REGION_INVALID');
    INSERT INTO insp.region (id, name)
    SELECT (coalesce((SELECT max(g.id) FROM insp.region g), 0) + row_number() OVER (ORDER BY n.name))::smallint, n.name
    FROM (SELECT DISTINCT u AS name FROM unnest(set_regions.regions) u
        WHERE NOT EXISTS (SELECT FROM insp.region g WHERE g.name = u)) n;
    IF set_regions.regions <> '{}' THEN
        SELECT string_agg(p.name, ', ' ORDER BY p.name) INTO strange
        FROM insp.partner p JOIN insp.region g ON g.id = p.region WHERE g.name <> ALL (set_regions.regions) AND p.erased_at IS NULL;
        PERFORM insp.require(strange IS NULL, 'partners have other regions: ' || left(strange, 200),
            'insp.set_region_policy gives a partner another region.', 'REGION_INVALID');
    END IF;
    UPDATE insp.region g SET is_served = g.name = ANY (set_regions.regions) WHERE g.is_served <> (g.name = ANY (set_regions.regions));
    PERFORM insp.record('set_regions', 'regions', jsonb_build_object('regions', to_jsonb(set_regions.regions)));
    IF set_regions.regions = '{}' THEN
        RETURN 'no regions: jobs without one run anywhere';
    END IF;
    SELECT string_agg(p.name, ', ' ORDER BY p.name) INTO bare FROM insp.partner p WHERE p.region IS NULL AND p.erased_at IS NULL;
    RETURN format('regions %s: each job and each worker needs one', array_to_string(set_regions.regions, ', '))
        || coalesce('; partners without one: ' || bare, '');
END
$$;
COMMENT ON FUNCTION insp.set_regions(text[]) IS
    'Sets the regions of this deployment; new names are added. From then on a job without a region (its own or its partner''s) is refused, and so is a worker without one; partners without a region are in the answer. {}: no regions, and jobs without one run anywhere. Running workers keep their region until they restart';
GRANT EXECUTE ON FUNCTION insp.set_regions(text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.listed_hosts(p_hosts text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    given constant text[] := ARRAY(SELECT lower(u) FROM unnest(p_hosts) u);
BEGIN
    PERFORM insp.require(coalesce(cardinality(p_hosts) BETWEEN 1 AND 64, true) AND NOT EXISTS (
            SELECT FROM unnest(given) h WHERE (h ~ '^(\*\.)?([a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'
                AND length(h) <= 253 AND h ~ '^[^*]|\..*\.') IS NOT TRUE),
        'hosts', 'There are 1 to 64 hosts: names without scheme and port, or *. and a domain of two names at least; or null.', 'PARTNER_INVALID');
    RETURN nullif(given, '{}');
END
$$;
COMMENT ON FUNCTION insp.listed_hosts(text[]) IS 'Hosts as insp.is_listed_host compares them; refuses anything else';

CREATE OR REPLACE FUNCTION insp.set_callback_policy(partner text, hosts text[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_callback_policy.partner);
BEGIN
    PERFORM insp.need_approval('set_callback_policy');
    UPDATE insp.partner p SET callback_hosts = insp.listed_hosts(set_callback_policy.hosts) WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_callback_policy', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_callback_policy(text, text[]) IS
    'Sets the hosts that the callbackUrl of a partner''s jobs may have, if they are accepted from now on: names, or *. and a domain for every name below it; null: any host. The endpoint''s own URL is the operator''s, and needs no entry';
GRANT EXECUTE ON FUNCTION insp.set_callback_policy(text, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_capture_policy(partner text, hosts text[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_capture_policy.partner);
BEGIN
    PERFORM insp.need_approval('set_capture_policy');
    UPDATE insp.partner p SET capture_hosts = insp.listed_hosts(set_capture_policy.hosts) WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_capture_policy', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_capture_policy(text, text[]) IS
    'Sets the hosts to which a partner''s capture links may send the person back, if they are made from now on: names, or *. and a domain for every name below it; null: none';
GRANT EXECUTE ON FUNCTION insp.set_capture_policy(text, text[]) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.vendor_problem(p_vendor jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    keys constant text[] := ARRAY['url', 'pins', 'keyName', 'allowPrivate', 'allowedNetworks'];
    strange text;
BEGIN
    IF jsonb_typeof(p_vendor) IS DISTINCT FROM 'object' THEN
        RETURN 'the vendor is not an object';
    END IF;
    SELECT k INTO strange FROM jsonb_object_keys(p_vendor) k WHERE k <> ALL (keys) ORDER BY k LIMIT 1;
    IF FOUND THEN
        RETURN format('unknown key %s; keys are %s', left(quote_literal(strange), 40), array_to_string(keys, ', '));
    ELSIF jsonb_typeof(p_vendor -> 'url') IS DISTINCT FROM 'string' THEN
        RETURN 'url is not a string';
    ELSIF jsonb_typeof(p_vendor -> 'allowPrivate') <> 'boolean' THEN
        RETURN 'allowPrivate is not true or false';
    ELSIF jsonb_typeof(p_vendor -> 'keyName') <> 'string' OR p_vendor ->> 'keyName' !~ '^[A-Z][A-Z0-9_]{0,31}$' THEN
        RETURN 'keyName is not 1 to 32 upper-case letters, digits and underscores';
    ELSIF p_vendor ? 'pins' AND (CASE jsonb_typeof(p_vendor -> 'pins') WHEN 'array' THEN (
            SELECT count(*) BETWEEN 1 AND 2 AND bool_and(jsonb_typeof(e) = 'string' AND e #>> '{}' ~ '^sha256//[A-Za-z0-9+/]{43}=$')
            FROM jsonb_array_elements(p_vendor -> 'pins') e) END) IS NOT TRUE THEN
        RETURN 'pins are not one or two of sha256// and the Base64 of a SHA-256';
    ELSIF p_vendor ? 'allowedNetworks' AND (CASE jsonb_typeof(p_vendor -> 'allowedNetworks') WHEN 'array' THEN (
            SELECT count(*) BETWEEN 1 AND 32 AND bool_and(jsonb_typeof(e) = 'string')
            FROM jsonb_array_elements(p_vendor -> 'allowedNetworks') e) END) IS NOT TRUE THEN
        RETURN 'allowedNetworks are not 1 to 32 networks';
    END IF;
    BEGIN
        PERFORM e::cidr FROM jsonb_array_elements_text(p_vendor -> 'allowedNetworks') e;
    EXCEPTION WHEN data_exception THEN
        RETURN 'allowedNetworks has an entry that is not a network in CIDR notation';
    END;
    strange := insp.url_problem(p_vendor ->> 'url', 255, false, coalesce((p_vendor ->> 'allowPrivate')::boolean, false));
    RETURN 'url: ' || strange;
END
$$;
COMMENT ON FUNCTION insp.vendor_problem(jsonb) IS 'The error in the settings of a vendor''s server, or null';

CREATE OR REPLACE FUNCTION insp.set_vendor(partner text, vendor jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_vendor.partner);
    given constant jsonb := nullif(set_vendor.vendor, 'null');
    problem constant text := CASE WHEN given IS NOT NULL THEN insp.vendor_problem(given) END;
BEGIN
    PERFORM insp.need_approval('set_vendor');
    PERFORM insp.require(problem IS NULL, problem, 'deploy/OPERATING.md describes each key. Null is the server that workers are configured with.',
        'PARTNER_INVALID');
    UPDATE insp.partner p SET vendor = given WHERE p.id = was.id;
    RETURN format('partner %s: %s', was.name,
        coalesce(nullif(array_to_string(insp.record_partner('set_vendor', was), ', '), ''), 'nothing changed'));
END
$$;
COMMENT ON FUNCTION insp.set_vendor(text, jsonb) IS
    'Sets the liveness vendor''s server to which a partner''s sessions go from now on: url (https), pins (one or two public keys), keyName (the worker''s environment variable INSPECTD_VENDOR_KEY_NAME has the key), allowPrivate and allowedNetworks as of an endpoint. Each call sets everything; null: the server that workers are configured with';
GRANT EXECUTE ON FUNCTION insp.set_vendor(text, jsonb) TO insp_operator;

-- Called for each job, so it sets no search_path.
CREATE OR REPLACE FUNCTION insp.decision_stamp(partner insp.partner) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN partner.decision_version > 0 THEN jsonb_build_object('decisionPolicy',
        partner.decision_policy || jsonb_build_object('version', partner.decision_version)) ELSE '{}' END
$$;
COMMENT ON FUNCTION insp.decision_stamp(insp.partner) IS
    'The partner''s whole decision policy, with its version, as stored in a job''s request: later changes do not affect the job';

CREATE OR REPLACE FUNCTION insp.decision_problem(p_policy jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    keys constant text[] := ARRAY['expiryGraceDays', 'rejectExpired', 'minimumAge', 'livenessAssurance', 'enrollmentAssurance',
        'reviewLabels', 'reviewRisk'];
    assurances constant jsonb := '["evidence", "challenge", "certified-vendor"]'::jsonb;
    entry record;
    is_number boolean;
BEGIN
    IF jsonb_typeof(p_policy) IS DISTINCT FROM 'object' THEN
        RETURN 'the policy is not an object';
    END IF;
    FOR entry IN SELECT e.key, e.value FROM jsonb_each(p_policy) e ORDER BY e.key LOOP
        IF entry.key <> ALL (keys) THEN
            RETURN format('unknown key %s; keys are %s', left(quote_literal(entry.key), 40), array_to_string(keys, ', '));
        END IF;
        is_number := jsonb_typeof(entry.value) = 'number' AND entry.value::text ~ '^[0-9]{1,5}$';
        IF entry.key = 'expiryGraceDays' AND NOT (is_number AND (entry.value::text)::integer BETWEEN 0 AND 3650) THEN
            RETURN 'expiryGraceDays is not a whole number from 0 to 3650';
        ELSIF entry.key = 'rejectExpired' AND jsonb_typeof(entry.value) <> 'boolean' THEN
            RETURN 'rejectExpired is not true or false';
        ELSIF entry.key = 'minimumAge' AND NOT (is_number AND (entry.value::text)::integer BETWEEN 1 AND 120) THEN
            RETURN 'minimumAge is not a whole number from 1 to 120';
        ELSIF entry.key = 'reviewRisk' AND NOT (is_number AND (entry.value::text)::integer BETWEEN 0 AND 100) THEN
            RETURN 'reviewRisk is not a whole number from 0 to 100';
        ELSIF entry.key IN ('livenessAssurance', 'enrollmentAssurance')
            AND NOT (jsonb_typeof(entry.value) = 'string' AND assurances @> entry.value) THEN
            RETURN entry.key || ' is not evidence, challenge or certified-vendor';
        ELSIF entry.key = 'reviewLabels' AND (jsonb_typeof(entry.value) <> 'array' OR EXISTS (
            SELECT FROM jsonb_array_elements(CASE jsonb_typeof(entry.value) WHEN 'array' THEN entry.value ELSE '[]'::jsonb END) l
            WHERE NOT EXISTS (SELECT FROM insp.label x WHERE to_jsonb(x.label) = l))) THEN
            RETURN 'reviewLabels is not an array of labels (insp.label)';
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.decision_problem(jsonb) IS 'The error in a decision policy, or null';

CREATE OR REPLACE FUNCTION insp.set_decision_policy(partner text, policy jsonb) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    was constant insp.partner := insp.partner_lock(set_decision_policy.partner);
    problem constant text := insp.decision_problem(set_decision_policy.policy);
BEGIN
    PERFORM insp.need_approval('set_decision_policy');
    PERFORM insp.require(problem IS NULL, problem, 'deploy/OPERATING.md describes each key. {} restores the defaults.', 'PARTNER_INVALID');
    IF set_decision_policy.policy = was.decision_policy THEN
        RETURN was.decision_version;
    END IF;
    UPDATE insp.partner p SET decision_policy = set_decision_policy.policy, decision_version = p.decision_version + 1 WHERE p.id = was.id;
    PERFORM insp.record_partner('set_decision_policy', was);
    RETURN was.decision_version + 1;
END
$$;
COMMENT ON FUNCTION insp.set_decision_policy(text, jsonb) IS
    'Sets what decisions accept, for a partner''s jobs that are accepted from now on, and returns the version, which their results name as policyVersion: expiryGraceDays, rejectExpired, minimumAge, livenessAssurance and enrollmentAssurance (evidence, challenge, certified-vendor), reviewLabels, reviewRisk. The call sets everything; {} restores the defaults';
GRANT EXECUTE ON FUNCTION insp.set_decision_policy(text, jsonb) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_decision_policy AS
SELECT p.partner, (p.policy ->> 'decision_version')::integer AS version, min(p.valid_from) AS valid_from,
    nullif(max(coalesce(p.valid_until, 'infinity')), 'infinity') AS valid_until,
    (array_agg(p.changed_by ORDER BY p.version))[1] AS changed_by, p.policy -> 'decision_policy' AS policy
FROM insp.v_partner_policy p WHERE (p.policy ->> 'decision_version')::integer > 0
GROUP BY p.partner, p.policy ->> 'decision_version', p.policy -> 'decision_policy';
COMMENT ON VIEW insp.v_decision_policy IS 'Partners'' decision policies by the version that results name';
COMMENT ON COLUMN insp.v_decision_policy.partner IS 'The partner';
COMMENT ON COLUMN insp.v_decision_policy.version IS 'The policyVersion of results';
COMMENT ON COLUMN insp.v_decision_policy.valid_from IS 'When it was set; jobs accepted from then on are decided by it';
COMMENT ON COLUMN insp.v_decision_policy.valid_until IS 'When the next one was set; null: current';
COMMENT ON COLUMN insp.v_decision_policy.changed_by IS 'The role that set it';
COMMENT ON COLUMN insp.v_decision_policy.policy IS 'What it accepts, as insp.set_decision_policy took it';
GRANT SELECT ON insp.v_decision_policy TO insp_operator, insp_auditor;
