-- Validation of requests. Everything is checked here, so that callers in every language get the same clear error. The helpers
-- set no search_path: see urls.sql.
-- After: request_members

CREATE OR REPLACE FUNCTION insp.check_request(p jsonb, p_inline text[]) RETURNS insp.request
LANGUAGE plpgsql STABLE AS $$
DECLARE
    keys constant text[] := ARRAY['partner', 'workflow', 'documentFormat', 'documentTypes', 'countries', 'customerInternalReference',
        'userReference', 'reportingCriteria', 'callbackUrl', 'idempotencyKey', 'digests', 'parts', 'lane', 'region',
        'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'challenge', 'consent', 'review', 'faceId', 'threshold', 'enrollmentMode'];
    r insp.request;
    partner insp.partner;
    endpoint insp.endpoint;
    flow insp.workflow;
    kinds text[] := p_inline;
    name text;
    unknown text;
    review text;
BEGIN
    -- Absent keys cost no call.
    IF p IS NULL OR jsonb_typeof(p) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'not an object');
    ELSIF pg_column_size(p) > 16384 THEN
        PERFORM insp.refuse('PAYLOAD_TOO_LARGE');
    END IF;
    IF p - keys <> '{}' THEN
        unknown := (SELECT k FROM jsonb_object_keys(p - keys) k ORDER BY k LIMIT 1);
        PERFORM insp.refuse('PAYLOAD_INVALID', 'unknown key ' || left(quote_literal(unknown), 40),
            format('Keys are %s.', array_to_string(keys, ', ')), left(unknown, 40));
    END IF;

    partner := insp.request_partner(p);
    SELECT * INTO endpoint FROM insp.endpoint x WHERE x.partner_id = partner.id AND x.is_default;
    r.partner_id := partner.id;
    r.endpoint_id := endpoint.id;
    flow := insp.request_workflow(p);
    r.lane := CASE WHEN p ? 'lane' THEN insp.request_lane(p) ELSE partner.lane END;
    r.region := insp.request_region(p, partner);

    FOREACH name IN ARRAY ARRAY['customerInternalReference', 'userReference', 'reportingCriteria', 'idempotencyKey'] LOOP
        CONTINUE WHEN NOT p ? name;
        IF length(insp.request_text(p, name)) > 100 THEN
            PERFORM insp.refuse('IDENTIFIER_TOO_LONG', name, p_field => name);
        ELSIF p ->> name = '' AND name <> 'reportingCriteria' THEN
            -- It would group all persons without a reference.
            PERFORM insp.refuse('PAYLOAD_INVALID', name || ' is empty', 'Leave it out where there is none.', p_field => name);
        ELSIF name <> 'idempotencyKey' AND p ->> name ~ '[\u0001-\u001F\u007F]' THEN
            -- No path of HTTP can name it, so that its person could not be found, exported or erased there.
            PERFORM insp.refuse('PAYLOAD_INVALID', name || ' has a control character', 'Leave out U+0000 to U+001F and U+007F.',
                name);
        END IF;
    END LOOP;
    r.idempotency_key := p ->> 'idempotencyKey';
    IF p ?| ARRAY['documentFormat', 'documentTypes', 'countries'] THEN
        PERFORM insp.check_document(p);
    END IF;
    IF p ? 'callbackUrl' OR partner.callback_required THEN
        PERFORM insp.check_callback(p, partner, endpoint);
    END IF;
    IF p ? 'consent' OR partner.consent_required THEN
        PERFORM insp.check_consent(p, partner);
    END IF;
    PERFORM insp.check_face_request(p, flow);
    review := CASE WHEN p ? 'review' THEN insp.request_review(p, partner) ELSE partner.review END;
    IF p ? 'traceparent' THEN
        r.traceparent := insp.request_traceparent(p);
    END IF;
    IF p ?| ARRAY['delaySeconds', 'runAt'] THEN
        r.run_at := insp.request_run_at(p);
    END IF;
    r.expires_named := p ? 'expiresAt';
    r.expires_at := CASE WHEN r.expires_named THEN insp.request_time(p, 'expiresAt')
        ELSE greatest(now(), coalesce(r.run_at, now())) + partner.job_lifetime END;
    IF r.expires_at <= greatest(now(), coalesce(r.run_at, now())) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'expiresAt is not in the future, or not after runAt', p_field => 'expiresAt');
    ELSIF r.expires_named AND r.expires_at > greatest(now(), coalesce(r.run_at, now())) + interval '366 days' THEN
        -- As a partner's job_lifetime. A job that never ends keeps its partition from being dropped.
        PERFORM insp.refuse('PAYLOAD_INVALID', 'expiresAt is too late', 'expiresAt is at most 366 days from now, or after runAt.',
            'expiresAt');
    END IF;

    IF p ? 'parts' THEN
        PERFORM insp.check_part_urls(p -> 'parts', endpoint);
        r.part_urls := p -> 'parts';
        kinds := ARRAY(SELECT jsonb_object_keys(r.part_urls));
        IF kinds && p_inline THEN
            name := (SELECT k FROM unnest(kinds) k WHERE k = ANY (p_inline) LIMIT 1);
            PERFORM insp.refuse('PART_UNEXPECTED', name || ' was given both as bytes and by URL', p_field => name);
        END IF;
        kinds := kinds || p_inline;
    END IF;
    IF p ? 'digests' THEN
        r.digests := p -> 'digests';
        PERFORM insp.check_digests(r.digests, p_inline);
    END IF;
    PERFORM insp.check_kinds(p ->> 'documentFormat', flow, kinds);
    PERFORM insp.check_challenge(p, flow, kinds);

    r.workflow := flow.name;
    r.document_format := p ->> 'documentFormat';
    r.review := nullif(review, 'never');
    r.enrollment_mode := p ->> 'enrollmentMode';
    r.personal := insp.request_personal(p);
    r.request := (p - ARRAY(SELECT jsonb_object_keys(r.personal))
            - ARRAY['parts', 'digests', 'idempotencyKey', 'delaySeconds', 'runAt', 'expiresAt', 'traceparent', 'lane', 'review'])
        || jsonb_build_object('workflow', flow.name)
        -- Stored only if a review is possible: workers decide by it, and most jobs need none.
        || CASE review WHEN 'never' THEN '{}' ELSE jsonb_build_object('review', review) END
        || CASE WHEN partner.passive_signals_suffice AND 'liveness' = ANY (flow.capabilities)
            THEN jsonb_build_object('passiveSignalsSuffice', true) ELSE '{}' END
        || CASE WHEN partner.test_of IS NULL THEN '{}' ELSE '{"test": true}' END::jsonb
        || insp.decision_stamp(partner);
    RETURN r;
END
$$;
COMMENT ON FUNCTION insp.check_request(jsonb, text[]) IS
    'Validates a payload, given the kinds of parts sent as bytes; raises one error, or returns the request by field';

CREATE OR REPLACE FUNCTION insp.payload_place(p_place bigint, p_count integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_count > 1 THEN format('payload %s of %s', p_place, p_count) END
$$;
COMMENT ON FUNCTION insp.payload_place(bigint, integer) IS 'Which payload of a batch is refused, for the DETAIL; null for one alone';

CREATE OR REPLACE FUNCTION insp.check_placed(p jsonb, p_inline text[], p_place bigint, p_count integer) RETURNS insp.request
LANGUAGE plpgsql STABLE AS $$
DECLARE
    code text;
    detail text;
    hint text;
    field text;
BEGIN
    RETURN insp.check_request(p, p_inline);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, field = COLUMN_NAME;
    IF p_count = 1 OR left(SQLSTATE, 2) <> 'IN' THEN
        RAISE;
    END IF;
    PERFORM insp.refuse(code, concat_ws(': ', insp.payload_place(p_place, p_count), nullif(detail, '')), nullif(hint, ''), field);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.check_placed(jsonb, text[], bigint, integer) IS
    'insp.check_request for a payload of a batch: a refusal says which one it is';
