-- After: gateway_jobs, pulls, callback_claim
-- The gateway's calls about events that are pulled.

CREATE OR REPLACE FUNCTION insp.pulled_endpoint(p_partner integer, p_endpoint bigint) RETURNS insp.endpoint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    e insp.endpoint;
    own bigint[];
BEGIN
    IF p_endpoint IS NULL THEN
        own := ARRAY(SELECT x.id FROM insp.endpoint x WHERE x.partner_id = p_partner AND x.url = 'pull:' ORDER BY x.id);
        PERFORM insp.require(cardinality(own) < 2, 'endpoint is missing',
            'Events of these endpoints are pulled: ' || array_to_string(own, ', ') || '.', p_field => 'endpoint');
    END IF;
    SELECT * INTO e FROM insp.endpoint x WHERE x.id = coalesce(p_endpoint, own[1]) AND x.partner_id = p_partner;
    IF NOT FOUND AND p_endpoint IS NOT NULL THEN
        PERFORM insp.refuse('ENDPOINT_UNKNOWN', p_field => 'endpoint');
    -- After a change of the URL, what was to be pulled still is.
    ELSIF e.id IS NULL OR e.url IS DISTINCT FROM 'pull:'
        AND NOT EXISTS (SELECT FROM insp.callback_pull p WHERE p.endpoint_id = e.id AND p.position IS NOT NULL) THEN
        PERFORM insp.refuse('EVENTS_OFF');
    ELSIF NOT e.enabled OR e.paused THEN
        PERFORM insp.refuse('ENDPOINT_DISABLED',
            CASE WHEN NOT e.enabled THEN 'it is disabled' WHEN e.paused_by_partner THEN 'you paused it' ELSE 'the operator paused it' END,
            CASE WHEN e.enabled AND e.paused_by_partner THEN 'Resume it.' ELSE 'Ask the operator.' END);
    END IF;
    RETURN e;
END
$$;
COMMENT ON FUNCTION insp.pulled_endpoint(integer, bigint) IS
    'A partner''s endpoint whose events are pulled: the given one, or else the only one; refuses others, and one that is paused or disabled';

CREATE OR REPLACE FUNCTION insp.gateway_events(
    p_credential bigint, p_secret_sha256 bytea, p_place text DEFAULT NULL, p_limit integer DEFAULT 100, p_endpoint bigint DEFAULT NULL
)
RETURNS TABLE (
    next text, start_epoch bigint, start_position bigint, endpoints insp.callback_endpoint[],
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamptz,
    definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint,
    sealed bytea, sealed_body bytea, partner_id integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'events');
    e constant insp.endpoint := insp.pulled_endpoint(number, p_endpoint);
    c insp.pull_cursor;
    gone insp.pull_gone;
    -- Results are large.
    most constant integer := CASE WHEN e.inline_result THEN 100 ELSE 1000 END;
    ids bigint[];
    epochs bigint[];
    positions bigint[];
BEGIN
    PERFORM insp.require(p_limit BETWEEN 1 AND 1000, 'limit', 'limit is 1 to 1000.', p_field => 'limit');
    PERFORM insp.need_cursor_key();
    -- Before the events are read: then each up to this position is among them.
    SELECT * INTO STRICT c FROM insp.pull_cursor x;
    IF p_place IS NULL THEN
        -- From the oldest on that is kept.
        start_epoch := -1;
        start_position := 0;
        next := insp.pull_place(e.id, c.epoch, c.position);
    ELSE
        SELECT r.epoch, r.position INTO start_epoch, start_position FROM insp.read_place(e.id, p_place) r;
        SELECT * INTO gone FROM insp.pull_gone g WHERE g.endpoint_id = e.id;
        IF start_epoch IS NULL THEN
            PERFORM insp.refuse('EVENTS_GONE', 'the cursor is of another endpoint, or of a history that this database does not know',
                p_field => 'after');
        ELSIF (start_epoch, start_position) < (gone.epoch, gone.position) THEN
            PERFORM insp.refuse('EVENTS_GONE', 'events after the cursor are older than what is kept', p_field => 'after');
        END IF;
        next := insp.pull_place(e.id, start_epoch, start_position);
    END IF;
    SELECT array_agg(p.callback_id ORDER BY p.epoch, p.position), array_agg(p.epoch ORDER BY p.epoch, p.position),
        array_agg(p.position ORDER BY p.epoch, p.position)
    INTO ids, epochs, positions
    FROM (
        SELECT x.callback_id, x.epoch, x.position FROM insp.callback_pull x
        WHERE x.endpoint_id = e.id AND x.position IS NOT NULL AND (x.epoch, x.position) > (start_epoch, start_position)
        ORDER BY x.epoch, x.position LIMIT least(p_limit, most)) p;
    IF ids IS NOT NULL THEN
        next := insp.pull_place(e.id, epochs[cardinality(epochs)], positions[cardinality(positions)]);
    END IF;
    endpoints := ARRAY[(e.id, 0, NULL, NULL,
        ARRAY(SELECT convert_from(s.value, 'UTF8')
            FROM insp.secrets('endpoint ' || e.id, ARRAY['signing_secret', 'signing_key']) s
            -- As in insp.callback_claim.
            ORDER BY s.purpose DESC, s.valid_until DESC),
        false, false,
        -- Gateways need no other option.
        (SELECT '{"test": true}' FROM insp.partner p WHERE p.id = number AND p.test_of IS NOT NULL))::insp.callback_endpoint];
    RETURN NEXT;
    IF ids IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, NULL::bigint, NULL::insp.callback_endpoint[], k.id, 0::bigint, k.webhook_id, k.endpoint_id,
        k.url, k.body, 0, 0, 0::double precision, k.public_id, k.traceparent, false, k.event, k.created_at, k.definition_key,
        CASE WHEN NOT k.is_sealed THEN (said.personal -> 'userReference')::text END, insp.callback_decision(k), k.is_expired,
        whole.result,
        -- As in insp.callback_claim.
        k.is_erased OR k.has_reference AND (said.personal ? 'userReference') IS NOT TRUE
            OR CASE WHEN whole.result IS NOT NULL THEN insp.callback_is_reduced(k.job_id) ELSE k.has_result END,
        k.form, CASE WHEN k.is_sealed THEN (SELECT j.sealed FROM insp.job j WHERE j.id = k.job_id) END,
        CASE WHEN k.is_sealed AND whole.result IS NOT NULL THEN insp.callback_sealed_body(k.job_id) END,
        CASE WHEN k.is_sealed THEN number END
    FROM unnest(ids) WITH ORDINALITY AS u (id, n) JOIN insp.callback k ON k.id = ANY (ARRAY[u.id])
        CROSS JOIN LATERAL (SELECT CASE WHEN k.has_reference THEN (SELECT insp.readable_personal(j.personal) FROM insp.job j
            WHERE j.id = k.job_id) END AS personal OFFSET 0) AS said
        CROSS JOIN LATERAL (SELECT CASE WHEN k.has_result AND e.inline_result THEN insp.callback_result(k.job_id) END AS result
            OFFSET 0) AS whole
    ORDER BY u.n;
    PERFORM insp.record_access(p_credential, 'events', 'events', NULL,
        jsonb_build_object('endpoint', e.id, 'events', cardinality(ids)));
    IF e.inline_result THEN
        PERFORM insp.record_access(p_credential, 'events', 'events', k.public_id, jsonb_build_object('endpoint', e.id))
        FROM insp.callback k WHERE k.id = ANY (ids) AND k.has_result AND k.public_id IS NOT NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.gateway_events(bigint, bytea, text, integer, bigint) IS
    'Events of an endpoint that are pulled, in the order in which they were numbered: those after a cursor, or from the oldest on. The first row is the page itself: next is the cursor for the next one, start_epoch and start_position are the position after which it begins, endpoints has the endpoint with its keys; each other row is an event as insp.callback_claim returns it. EVENTS_GONE: events after the cursor were removed, or its history is not this one''s';
GRANT EXECUTE ON FUNCTION insp.gateway_events(bigint, bytea, text, integer, bigint) TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_number_pulls() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$ SELECT insp.number_pulls() $$;
COMMENT ON FUNCTION insp.gateway_number_pulls() IS 'insp.number_pulls before a page is read, so that no event waits for the duty';
GRANT EXECUTE ON FUNCTION insp.gateway_number_pulls() TO insp_gateway;

CREATE OR REPLACE FUNCTION insp.gateway_pulls(p_endpoints bigint[], p_epochs bigint[], p_positions bigint[]) RETURNS SETOF integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT (u.n - 1)::integer FROM unnest(p_endpoints, p_epochs, p_positions) WITH ORDINALITY AS u (endpoint, epoch, "position", n)
    -- Not EXISTS, which could become a join that reads the events of all.
    WHERE (SELECT true FROM insp.callback_pull x WHERE x.endpoint_id = u.endpoint AND x.position IS NOT NULL
        AND (x.epoch, x.position) > (u.epoch, u.position) LIMIT 1)
$$;
COMMENT ON FUNCTION insp.gateway_pulls(bigint[], bigint[], bigint[]) IS
    'Which of these clients, numbered from 0, have something to pull: one query for all that wait';
GRANT EXECUTE ON FUNCTION insp.gateway_pulls(bigint[], bigint[], bigint[]) TO insp_gateway;
