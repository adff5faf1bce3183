-- The members of a request, each read and checked separately for requests.sql. These helpers set no search_path: see urls.sql.

CREATE OR REPLACE FUNCTION insp.request_text(p_payload jsonb, p_key text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF jsonb_typeof(p_payload -> p_key) <> 'string' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not a string', p_field => p_key);
    END IF;
    RETURN p_payload ->> p_key;
END
$$;
COMMENT ON FUNCTION insp.request_text(jsonb, text) IS 'A string of a payload; refuses other types';

-- An offset such as +21:32 has the right form but is invalid: that is the request's fault, not the server's.
CREATE OR REPLACE FUNCTION insp.request_time(p_payload jsonb, p_key text) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    value constant text := insp.request_text(p_payload, p_key);
BEGIN
    -- RFC 3339 only: PostgreSQL's own words for times (now, infinity, 04:05 yesterday) are not part of the contract.
    IF value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not an RFC 3339 time', 'A time is written as 2026-01-31T12:00:00Z.', p_key);
    END IF;
    RETURN value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format OR invalid_time_zone_displacement_value THEN
    PERFORM insp.refuse('PAYLOAD_INVALID', p_key || ' is not an RFC 3339 time', 'A time is written as 2026-01-31T12:00:00Z.', p_key);
END
$$;
COMMENT ON FUNCTION insp.request_time(jsonb, text) IS 'A time of a payload (RFC 3339 with its offset); refuses other types';

CREATE OR REPLACE FUNCTION insp.request_partner(p jsonb) RETURNS insp.partner
LANGUAGE plpgsql STABLE AS $$
DECLARE
    partner insp.partner;
    needle text;
BEGIN
    IF NOT p ? 'partner' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'partner is missing', p_field => 'partner');
    END IF;
    needle := insp.request_text(p, 'partner');
    SELECT * INTO partner FROM insp.partner x WHERE x.name = needle;
    IF NOT FOUND OR NOT insp.may_act(partner.id) THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_literal(needle), 40), p_field => 'partner');
    ELSIF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    RETURN partner;
END
$$;
COMMENT ON FUNCTION insp.request_partner(jsonb) IS
    'The partner of a payload; refuses those for which the login may not act, and disabled ones';

CREATE OR REPLACE FUNCTION insp.request_workflow(p jsonb) RETURNS insp.workflow
LANGUAGE plpgsql STABLE AS $$
DECLARE
    needle text;
    flow insp.workflow;
BEGIN
    IF NOT p ? 'workflow' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'workflow is missing', p_field => 'workflow');
    END IF;
    -- Jumio's keys come as numbers and as strings.
    needle := CASE WHEN jsonb_typeof(p -> 'workflow') = 'number' THEN p ->> 'workflow'
        ELSE insp.request_text(p, 'workflow') END;
    SELECT * INTO flow FROM insp.workflow w WHERE needle IN (w.name, w.definition_key);
    IF NOT FOUND THEN
        PERFORM insp.refuse('WORKFLOW_UNKNOWN', left(quote_literal(needle), 40), p_field => 'workflow');
    END IF;
    RETURN flow;
END
$$;
COMMENT ON FUNCTION insp.request_workflow(jsonb) IS
    'The workflow of a payload, by name or definition key';

CREATE OR REPLACE FUNCTION insp.request_lane(p jsonb) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    lane smallint;
BEGIN
    lane := CASE insp.request_text(p, 'lane') WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END;
    IF lane IS NULL THEN
        PERFORM insp.refuse('LANE_UNKNOWN', left(quote_literal(p ->> 'lane'), 40), p_field => 'lane');
    END IF;
    RETURN lane;
END
$$;
COMMENT ON FUNCTION insp.request_lane(jsonb) IS
    'The lane of a payload';

CREATE OR REPLACE FUNCTION insp.region_hint() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce(format('Regions are %s.', string_agg(g.name, ', ' ORDER BY g.name)), 'There are no regions.')
    FROM insp.region g WHERE g.is_served OR NOT EXISTS (SELECT FROM insp.region x WHERE x.is_served)
$$;
COMMENT ON FUNCTION insp.region_hint() IS 'The list of regions, for the hint of a refusal: those of the deployment, if any';

CREATE OR REPLACE FUNCTION insp.workflow_hint(p_capabilities text[], p_what text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT format('Workflows with %s are %s.', p_what, string_agg(w.name, ', ' ORDER BY w.name))
    FROM insp.workflow w WHERE w.capabilities && p_capabilities
$$;
COMMENT ON FUNCTION insp.workflow_hint(text[], text) IS 'The workflows that accept a part that another one does not';

CREATE OR REPLACE FUNCTION insp.request_region(p jsonb, partner insp.partner) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    needle text;
    place smallint;
BEGIN
    IF NOT p ? 'region' THEN
        IF partner.region IS NULL AND EXISTS (SELECT FROM insp.region g WHERE g.is_served) THEN
            PERFORM insp.refuse('REGION_MISSING', NULL, insp.region_hint(), p_field => 'region');
        END IF;
        RETURN coalesce(partner.region, 0);
    END IF;
    needle := insp.request_text(p, 'region');
    SELECT g.id INTO place FROM insp.region g
    WHERE g.name = needle AND (g.is_served OR NOT EXISTS (SELECT FROM insp.region x WHERE x.is_served));
    IF NOT FOUND THEN
        PERFORM insp.refuse('REGION_INVALID', left(quote_literal(needle), 40), insp.region_hint(), p_field => 'region');
    ELSIF place <> partner.region AND NOT partner.region_choice THEN
        PERFORM insp.refuse('REGION_REFUSED', needle,
            (SELECT format('Leave region out, or send %s.', g.name) FROM insp.region g WHERE g.id = partner.region), 'region');
    END IF;
    RETURN place;
END
$$;
COMMENT ON FUNCTION insp.request_region(jsonb, insp.partner) IS
    'The region of a payload, or that of its partner: 0 if neither has one, which is refused if the deployment has regions. A payload may specify a region other than its partner''s only if that is allowed';

CREATE OR REPLACE FUNCTION insp.check_document(p jsonb) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    value jsonb;
BEGIN
    IF p ? 'documentFormat' THEN
        IF insp.request_text(p, 'documentFormat') NOT IN ('TD1', 'TD2', 'TD3') THEN
            PERFORM insp.refuse('DOCUMENT_FORMAT_UNKNOWN', left(quote_literal(p ->> 'documentFormat'), 40), p_field => 'documentFormat');
        END IF;
    END IF;
    IF p ? 'documentTypes' THEN
        IF jsonb_typeof(p -> 'documentTypes') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'documentTypes is not an array',
                'It is an array of PASSPORT, VISA, DRIVING_LICENSE and ID_CARD.', 'documentTypes');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'documentTypes') e LOOP
            IF value NOT IN ('"PASSPORT"', '"VISA"', '"DRIVING_LICENSE"', '"ID_CARD"') THEN
                PERFORM insp.refuse('DOCUMENT_TYPE_UNKNOWN', left(quote_literal(value #>> '{}'), 40), p_field => 'documentTypes');
            END IF;
        END LOOP;
    END IF;
    IF p ? 'countries' THEN
        IF jsonb_typeof(p -> 'countries') <> 'array' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'countries is not an array', 'It is an array of codes, such as ["DEU"].', 'countries');
        END IF;
        FOR value IN SELECT e.value FROM jsonb_array_elements(p -> 'countries') e LOOP
            IF jsonb_typeof(value) <> 'string' OR NOT EXISTS (SELECT FROM insp.country c WHERE c.code = value #>> '{}') THEN
                PERFORM insp.refuse('COUNTRY_INVALID', left(quote_literal(value #>> '{}'), 40), p_field => 'countries');
            END IF;
        END LOOP;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_document(jsonb) IS
    'Refuses a payload whose documentFormat, documentTypes or countries are not valid';

CREATE OR REPLACE FUNCTION insp.check_callback_host(p_url text, partner insp.partner) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT insp.is_listed_host(p_url, partner.callback_hosts) THEN
        PERFORM insp.refuse('CALLBACK_URL_INVALID', 'its host is not one that the partner registered',
            format('Hosts are %s.', array_to_string(partner.callback_hosts, ', ')), 'callbackUrl');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_callback_host(text, insp.partner) IS
    'Refuses a callback URL whose host is not on the partner''s list';

CREATE OR REPLACE FUNCTION insp.check_callback(p jsonb, partner insp.partner, endpoint insp.endpoint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    problem text;
BEGIN
    IF p ? 'callbackUrl' THEN
        problem := insp.url_problem(insp.request_text(p, 'callbackUrl'), 255, coalesce(endpoint.allow_http, false),
            insp.may_lead(endpoint, p ->> 'callbackUrl'));
        IF problem IS NULL THEN
            PERFORM insp.check_callback_host(p ->> 'callbackUrl', partner);
        END IF;
        IF problem IS NULL AND endpoint.id IS NULL THEN
            problem := 'the partner has no endpoint whose secret could sign';
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM insp.refuse('CALLBACK_URL_INVALID', problem, p_field => 'callbackUrl');
        END IF;
    ELSIF partner.callback_required AND endpoint.url IS NULL THEN
        PERFORM insp.refuse('CALLBACK_URL_MISSING', p_field => 'callbackUrl');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_callback(jsonb, insp.partner, insp.endpoint) IS
    'Refuses the callback URL of a payload if the endpoint does not allow it';

CREATE OR REPLACE FUNCTION insp.consent_hint(partner insp.partner) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT 'consent needs ' || concat_ws(', ', 'obtained (yes), obtainedAt', 'policyVersion ' || partner.consent_policy_version,
        'purposes with ' || nullif(array_to_string(partner.consent_purposes, ', '), '')) || '.'
        || coalesce(' The policy is at ' || partner.consent_policy_url || '.', '')
$$;
COMMENT ON FUNCTION insp.consent_hint(insp.partner) IS 'What a partner''s policy requires of a consent, for the hint of a refusal';

CREATE OR REPLACE FUNCTION insp.check_consent(p jsonb, partner insp.partner) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    consent constant jsonb := coalesce(p -> 'consent', '{}');
    link constant text := nullif(current_setting('insp.capture', true), '');
    agreed jsonb;
    problem text;
BEGIN
    IF jsonb_typeof(consent) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'consent is not an object', p_field => 'consent');
    ELSIF consent ->> 'obtained' IN ('no', 'false') THEN
        -- Whatever the policy: a person who refused must not be inspected.
        PERFORM insp.refuse('CONSENT_MISSING', 'the person did not consent', insp.consent_hint(partner), p_field => 'consent.obtained');
    ELSIF consent ? 'obtained' AND coalesce(consent ->> 'obtained', '') NOT IN ('yes', 'true', 'na') THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'consent.obtained', 'obtained is yes, no or na (not applicable).', 'consent.obtained');
    END IF;
    -- A minute for clocks that differ.
    IF consent ? 'obtainedAt' AND insp.request_time(jsonb_build_object('consent.obtainedAt', consent -> 'obtainedAt'),
            'consent.obtainedAt') > clock_timestamp() + interval '1 minute' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'consent.obtainedAt is in the future', p_field => 'consent.obtainedAt');
    END IF;
    IF NOT partner.consent_required THEN
        RETURN;
    END IF;
    -- The person behind a capture link agreed to the policy of that moment. The link's calls alone set it, for their own job.
    IF link IS NOT NULL THEN
        SELECT s.consent INTO agreed FROM insp.capture_session s WHERE s.id = link::uuid AND s.partner_id = partner.id;
        IF agreed IS NOT NULL THEN
            partner.consent_policy_version := agreed ->> 'policyVersion';
            partner.consent_purposes := ARRAY(SELECT jsonb_array_elements_text(agreed -> 'purposes'));
        END IF;
    END IF;
    problem := CASE WHEN coalesce(consent ->> 'obtained', '') NOT IN ('yes', 'true') THEN 'obtained'
        WHEN NOT consent ? 'obtainedAt' THEN 'obtainedAt'
        WHEN consent ->> 'policyVersion' IS DISTINCT FROM coalesce(partner.consent_policy_version, consent ->> 'policyVersion')
            THEN 'policyVersion'
        WHEN partner.consent_purposes <> '{}' AND (jsonb_typeof(consent -> 'purposes') = 'array'
            AND consent -> 'purposes' @> to_jsonb(partner.consent_purposes)) IS NOT TRUE THEN 'purposes' END;
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('CONSENT_MISSING', problem, insp.consent_hint(partner), p_field => 'consent.' || problem);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_consent(jsonb, insp.partner) IS
    'Refuses a payload whose consent says no or is dated in the future, and one without the consent that the partner''s policy requires; within insp.capture_submit, the policy to which the link''s person agreed';

CREATE OR REPLACE FUNCTION insp.request_review(p jsonb, partner insp.partner) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- Each makes more decisions wait than the previous one.
    reviews constant text[] := ARRAY['never', 'rejected', 'warning', 'always'];
    needle constant text := insp.request_text(p, 'review');
BEGIN
    IF needle <> ALL (reviews) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'review is ' || left(quote_literal(needle), 40),
            'A review is never, rejected, warning or always.', 'review');
    END IF;
    -- A request may be stricter than its partner's policy, never less strict.
    RETURN reviews[greatest(array_position(reviews, needle), array_position(reviews, partner.review))];
END
$$;
COMMENT ON FUNCTION insp.request_review(jsonb, insp.partner) IS
    'Which decisions of the job wait for a review: by the payload, or by the partner''s policy if that is stricter';

CREATE OR REPLACE FUNCTION insp.request_traceparent(p jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    traceparent constant text := insp.request_text(p, 'traceparent');
BEGIN
    IF traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'traceparent is not a W3C trace context', p_field => 'traceparent');
    END IF;
    RETURN traceparent;
END
$$;
COMMENT ON FUNCTION insp.request_traceparent(jsonb) IS
    'The trace context of a payload';

CREATE OR REPLACE FUNCTION insp.request_run_at(p jsonb) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    run_at timestamptz;
BEGIN
    IF p ? 'delaySeconds' THEN
        IF p ? 'runAt' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'both delaySeconds and runAt', 'Give one of them.', p_field => 'runAt');
        ELSIF jsonb_typeof(p -> 'delaySeconds') <> 'number' OR (p -> 'delaySeconds')::numeric NOT BETWEEN 0 AND 2592000 THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'delaySeconds is ' || left(p ->> 'delaySeconds', 40),
                'delaySeconds is a number from 0 to 2592000.', 'delaySeconds');
        ELSIF round((p -> 'delaySeconds')::numeric, 6) > 0 THEN
            -- Rounded, because a double cannot hold every small number.
            run_at := now() + make_interval(secs => round((p -> 'delaySeconds')::numeric, 6)::double precision);
        END IF;
    ELSIF p ? 'runAt' THEN
        run_at := insp.request_time(p, 'runAt');
        IF run_at > now() + interval '30 days' THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', 'runAt is more than 30 days ahead', p_field => 'runAt');
        END IF;
    END IF;
    RETURN run_at;
END
$$;
COMMENT ON FUNCTION insp.request_run_at(jsonb) IS
    'When the job should run: runAt, or after delaySeconds; null: at once';
