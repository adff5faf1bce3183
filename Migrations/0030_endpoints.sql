-- What an endpoint may ask for beside its URL: how requests are signed, authorized and connected, which events it gets, and
-- what is known of its health.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('EGRESS_REFUSED', 'IN070', 'the server''s address is one that the egress policy refuses', true),
    ('NAME_NOT_RESOLVED', 'IN071', 'the server''s name could not be resolved', true),
    ('CONNECTION_FAILED', 'IN072', 'no connection to the server could be made', true),
    ('TLS_FAILED', 'IN073', 'no TLS connection of version 1.2 or newer could be made', true),
    ('CERTIFICATE_INVALID', 'IN074', 'the server''s certificate is not valid for its name', true),
    ('PIN_MISMATCH', 'IN075', 'the server''s public key is none of those that are pinned', true),
    ('TIMED_OUT', 'IN076', 'the server did not answer in time', true),
    ('RESPONSE_TOO_LARGE', 'IN077', 'the server''s answer exceeds its limit', true),
    ('RESPONSE_BROKEN', 'IN078', 'the server''s answer is not HTTP, or was torn', true),
    ('REDIRECT_REFUSED', 'IN079', 'the server answered with a redirect, and none is followed', true),
    ('STATUS_NOT_SUCCESS', 'IN080', 'the server answered with a status that is not 2xx', true),
    ('ENDPOINT_GONE', 'IN081', 'the endpoint answered 410 Gone', false),
    ('REQUEST_INVALID', 'IN082', 'the URL, a header or a key of the endpoint is not acceptable; nothing was sent', false),
    ('LOCAL_FAULT', 'IN083', 'a fault on our side; the attempt is not counted', true),
    ('AUTHORIZATION_FAILED', 'IN084', 'the authorization provider gave no access token', true),
    ('CLIENT_ID_INVALID', 'IN085', 'the authorization provider does not accept the client id or its credentials', false),
    ('ATTEMPT_INTERRUPTED', 'IN086', 'the attempt was broken off and will be made again', true),
    ('ENDPOINT_UNKNOWN', 'IN087', 'no endpoint of that number exists', false),
    ('ENDPOINT_INVALID', 'IN088', 'a setting of the endpoint is not acceptable', false);

ALTER TABLE insp.endpoint
    ADD COLUMN paused boolean NOT NULL DEFAULT false,
    ADD COLUMN disabled_reason text,
    ADD COLUMN events text[] NOT NULL DEFAULT '{job.finished}'
        CHECK (events <@ ARRAY['job.status', 'job.review_needed', 'job.finished']),
    ADD COLUMN inline_result boolean NOT NULL DEFAULT false,
    ADD COLUMN ordering text CHECK (ordering IN ('job', 'user')),
    ADD COLUMN alert_endpoint_id bigint REFERENCES insp.endpoint CHECK (alert_endpoint_id <> id),
    ADD COLUMN http2 boolean NOT NULL DEFAULT false,
    ADD COLUMN pins text[] CHECK (array_to_string(pins, ' ', '-')
        ~ '^sha256//[A-Za-z0-9+/]{43}=( sha256//[A-Za-z0-9+/]{43}=)?$'),
    ADD COLUMN allowed_networks cidr[] CHECK (cardinality(allowed_networks) BETWEEN 1 AND 32),
    ADD COLUMN signing_key text CHECK (signing_key LIKE 'whsk\_%'),
    ADD COLUMN client_certificate text,
    ADD COLUMN client_key text,
    ADD COLUMN api_key_header text CHECK (api_key_header ~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]{1,64}$'
        AND lower(api_key_header) !~ '^(webhook-.*|host|connection|content-.*|transfer-encoding|te|upgrade|expect|traceparent|keep-alive|proxy-.*|trailer|authorization|user-agent|cookie)$'),
    ADD COLUMN api_key text CHECK (api_key ~ '^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$' AND length(api_key) <= 4096),
    ADD CONSTRAINT endpoint_client_pair CHECK ((client_certificate IS NULL) = (client_key IS NULL)),
    ADD CONSTRAINT endpoint_api_key_pair CHECK ((api_key_header IS NULL) = (api_key IS NULL));
COMMENT ON COLUMN insp.endpoint.paused IS 'Whether its callbacks wait, with their times, until insp.callback_resume';
COMMENT ON COLUMN insp.endpoint.disabled_reason IS 'Why it is not enabled';
COMMENT ON COLUMN insp.endpoint.events IS
    'What it is told: job.status (stages done, 4 to 32), job.review_needed (64), job.finished (128)';
COMMENT ON COLUMN insp.endpoint.inline_result IS
    'Whether job.finished carries the whole result, personal data included; it is put in when sent, and never stored in the outbox';
COMMENT ON COLUMN insp.endpoint.ordering IS
    'Which of its callbacks are sent one after the other: those of one job, or of one userReference; null: in any order';
COMMENT ON COLUMN insp.endpoint.alert_endpoint_id IS 'The endpoint that is told when this one fails, is disabled or has recovered';
COMMENT ON COLUMN insp.endpoint.http2 IS 'Whether HTTP/2 is offered; else HTTP/1.1 is spoken';
COMMENT ON COLUMN insp.endpoint.pins IS
    'One or two public keys, one of which the server''s certificate must have: sha256// and the base64 of the digest of the SubjectPublicKeyInfo. The second is for the next key';
COMMENT ON COLUMN insp.endpoint.allowed_networks IS
    'Networks inside private ranges that may be connected to. Null: none, or with allow_private all of them';
COMMENT ON COLUMN insp.endpoint.signing_key IS
    'Ed25519 key (whsk_ and the base64 of the seed) that signs as v1a beside the secret; readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint.client_certificate IS 'Certificate chain in PEM for mutual TLS';
COMMENT ON COLUMN insp.endpoint.client_key IS 'Its private key in PEM; readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint.api_key_header IS 'Deprecated: the header of a static API key; OAuth 2.0 takes its place';
COMMENT ON COLUMN insp.endpoint.api_key IS 'Deprecated: a static API key; readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint.allow_private IS
    'Whether address literals and ports are allowed in URLs, and private and loopback addresses: all, or those of allowed_networks';
GRANT SELECT (paused, disabled_reason, events, inline_result, ordering, alert_endpoint_id, http2, pins, allowed_networks,
    client_certificate, api_key_header) ON insp.endpoint TO insp_operator, insp_auditor;

CREATE TABLE insp.endpoint_secret (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id bigint NOT NULL REFERENCES insp.endpoint,
    secret text NOT NULL CHECK (secret LIKE 'whsec\_%' OR secret LIKE 'whsk\_%'),
    valid_until timestamptz NOT NULL
);
CREATE INDEX endpoint_secret_of ON insp.endpoint_secret (endpoint_id, valid_until);
COMMENT ON TABLE insp.endpoint_secret IS 'Keys that were rotated away and sign until their overlap ends; readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint_secret.id IS 'Internal number';
COMMENT ON COLUMN insp.endpoint_secret.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_secret.secret IS 'whsec_ (v1) or whsk_ (v1a)';
COMMENT ON COLUMN insp.endpoint_secret.valid_until IS 'End of the overlap';
GRANT SELECT ON insp.endpoint_secret TO insp_worker;
-- Endpoints that are in a rotation begun before this script.
INSERT INTO insp.endpoint_secret (endpoint_id, secret, valid_until)
SELECT e.id, e.previous_secret, e.previous_secret_until FROM insp.endpoint e WHERE e.previous_secret_until > now();

CREATE TABLE insp.endpoint_health (
    endpoint_id bigint PRIMARY KEY REFERENCES insp.endpoint,
    window_start timestamptz NOT NULL DEFAULT clock_timestamp(),
    succeeded integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    open_until timestamptz,
    trips integer NOT NULL DEFAULT 0,
    last_code text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.endpoint_health IS
    'The circuit breaker of each endpoint that has failed: open while open_until lies ahead, half open (one attempt at a time) once it has passed, closed if null';
COMMENT ON COLUMN insp.endpoint_health.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_health.window_start IS 'Since when attempts are counted; five minutes at most';
COMMENT ON COLUMN insp.endpoint_health.succeeded IS 'Attempts since then that were answered with 2xx';
COMMENT ON COLUMN insp.endpoint_health.failed IS 'Attempts since then that failed';
COMMENT ON COLUMN insp.endpoint_health.failing_since IS 'When the first of the failures happened after which none succeeded';
COMMENT ON COLUMN insp.endpoint_health.open_until IS 'Nothing is sent before; then one attempt decides';
COMMENT ON COLUMN insp.endpoint_health.trips IS 'How often in a row the breaker opened';
COMMENT ON COLUMN insp.endpoint_health.last_code IS 'Code of the last failure';
GRANT SELECT ON insp.endpoint_health TO insp_worker, insp_operator, insp_auditor;

CREATE TABLE insp.endpoint_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    endpoint_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('failing', 'recovered', 'disabled', 'enabled')),
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX endpoint_event_of ON insp.endpoint_event (endpoint_id, at);
COMMENT ON TABLE insp.endpoint_event IS 'What became of endpoints within the last 90 days: failing (the breaker opened), recovered, disabled, enabled';
COMMENT ON COLUMN insp.endpoint_event.id IS 'Internal number';
COMMENT ON COLUMN insp.endpoint_event.at IS 'When';
COMMENT ON COLUMN insp.endpoint_event.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_event.kind IS 'What happened';
COMMENT ON COLUMN insp.endpoint_event.detail IS 'Since when, the last failure''s code, the reason';
GRANT SELECT ON insp.endpoint_event TO insp_worker, insp_operator, insp_auditor;

-- The outbox --------------------------------------------------------------------------------------------------------------

ALTER TABLE insp.callback DROP CONSTRAINT callback_event_check;
ALTER TABLE insp.callback ADD CONSTRAINT callback_event_check
    CHECK (event ~ '^(job\.(finished|review_needed|status\.[0-9]+)|endpoint\.[a-z]+)$');
ALTER TABLE insp.callback ADD COLUMN ordering_key text;
COMMENT ON COLUMN insp.callback.event IS
    'What happened: job.finished, job.review_needed, job.status.N (the stage done), or endpoint.failing, .recovered, .disabled of another endpoint (job_id is then minus the number of the insp.endpoint_event)';
COMMENT ON COLUMN insp.callback.ordering_key IS 'Of an endpoint''s callbacks with the same key, one is sent after the other';
COMMENT ON COLUMN insp.callback.job_id IS 'The job it tells of; below 0: minus the number of an insp.endpoint_event';
CREATE INDEX callback_order ON insp.callback (endpoint_id, ordering_key, id)
    WHERE ordering_key IS NOT NULL AND state IN ('pending', 'held');

-- First attempts and retries apart, so that neither has to be searched for among the other. An expression that the
-- planner leaves alone: it would turn (attempts > 0) = false into a comparison that is not indexed.
CREATE INDEX callback_due ON insp.callback (endpoint_id, least(attempts, 1), due_at, id) WHERE state = 'pending';
DROP INDEX insp.callback_pending;

ALTER TABLE insp.callback_attempt ADD COLUMN code text;
COMMENT ON COLUMN insp.callback_attempt.code IS 'Error code (insp.error_code); null: delivered';

CREATE FUNCTION insp.endpoint_event_note(p_endpoint bigint, p_kind text, p_detail jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    INSERT INTO insp.endpoint_event (endpoint_id, kind, detail) VALUES (p_endpoint, p_kind, jsonb_strip_nulls(p_detail))
    RETURNING id INTO number;
    -- A flapping endpoint makes a few thousand a day.
    DELETE FROM insp.endpoint_event v WHERE v.endpoint_id = p_endpoint AND v.at < now() - interval '90 days';
    INSERT INTO insp.callback (job_id, endpoint_id, event, state, url, body)
    SELECT -number, a.id, 'endpoint.' || p_kind, CASE WHEN a.enabled THEN 'pending' ELSE 'held' END, a.url,
        convert_to(jsonb_build_object('type', 'endpoint.' || p_kind, 'timestamp', insp.iso_time(clock_timestamp()), 'data',
            jsonb_strip_nulls(p_detail) || jsonb_build_object('endpoint', p_endpoint))::text, 'UTF8')
    FROM insp.endpoint e JOIN insp.endpoint a ON a.id = e.alert_endpoint_id
    WHERE e.id = p_endpoint AND a.url IS NOT NULL;
END
$$;
COMMENT ON FUNCTION insp.endpoint_event_note(bigint, text, jsonb) IS
    'Notes what became of an endpoint, and tells the endpoint that is named for such alerts';

CREATE FUNCTION insp.endpoint_hold(p_endpoint bigint, p_reason text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    held bigint;
BEGIN
    UPDATE insp.endpoint e SET enabled = false, disabled_reason = p_reason WHERE e.id = p_endpoint;
    UPDATE insp.callback c SET state = 'held', claim_id = NULL, lease_until = NULL
    WHERE c.endpoint_id = p_endpoint AND c.state = 'pending' AND (c.lease_until IS NULL OR c.lease_until <= clock_timestamp());
    GET DIAGNOSTICS held = ROW_COUNT;
    RETURN held;
END
$$;
COMMENT ON FUNCTION insp.endpoint_hold(bigint, text) IS 'Disables an endpoint and holds its callbacks; returns how many';

CREATE FUNCTION insp.endpoint_judge(
    p_endpoint bigint, p_succeeded integer, p_failed integer, p_gone boolean, p_code text
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    h insp.endpoint_health;
    kind text;
    detail jsonb;
BEGIN
    INSERT INTO insp.endpoint_health (endpoint_id) VALUES (p_endpoint) ON CONFLICT DO NOTHING;
    SELECT * INTO h FROM insp.endpoint_health x WHERE x.endpoint_id = p_endpoint FOR UPDATE;
    IF h.window_start < moment - interval '5 minutes' THEN
        h.window_start := moment;
        h.succeeded := 0;
        h.failed := 0;
    END IF;
    h.succeeded := h.succeeded + p_succeeded;
    h.failed := h.failed + p_failed;
    h.last_code := CASE WHEN p_failed > 0 THEN p_code ELSE h.last_code END;
    h.failing_since := CASE WHEN p_succeeded > 0 THEN NULL WHEN p_failed > 0 THEN coalesce(h.failing_since, moment)
        ELSE h.failing_since END;
    IF p_gone THEN
        kind := 'disabled';
        detail := jsonb_build_object('reason', 'the endpoint answered 410 Gone');
        UPDATE insp.endpoint e SET gone_at = moment WHERE e.id = p_endpoint;
    ELSIF h.open_until IS NOT NULL AND p_succeeded > 0 THEN
        kind := 'recovered';
        detail := jsonb_build_object('trips', h.trips);
        h.open_until := NULL;
        h.trips := 0;
        h.succeeded := 0;
        h.failed := 0;
    ELSIF h.failing_since < moment - interval '5 days' AND p_failed > 0 THEN
        -- Beyond every schedule of attempts: nobody looks after it any more.
        kind := 'disabled';
        detail := jsonb_build_object('reason', 'nothing was delivered for five days', 'lastCode', p_code);
    ELSIF h.open_until IS NULL AND h.failed >= 10 AND h.failed >= 0.7 * (h.failed + h.succeeded) THEN
        kind := 'failing';
        h.trips := 1;
    ELSIF h.open_until <= moment AND p_failed > 0 THEN
        h.trips := h.trips + 1;
    END IF;
    -- What was under way when the breaker opened, and fails while it is open, says nothing new.
    IF kind = 'failing' OR h.trips > 1 AND h.open_until <= moment THEN
        -- 30 s, doubled each time, ten minutes at most; spread, so that endpoints of one host do not come back together.
        h.open_until := moment + least(600, 30 * power(2, least(h.trips, 10) - 1)) * (0.8 + 0.4 * random()) * interval '1 second';
        detail := jsonb_build_object('since', insp.iso_time(h.failing_since), 'lastCode', p_code,
            'until', insp.iso_time(h.open_until));
    END IF;
    UPDATE insp.endpoint_health x SET window_start = h.window_start, succeeded = h.succeeded, failed = h.failed,
        failing_since = h.failing_since, open_until = h.open_until, trips = h.trips, last_code = h.last_code
    WHERE x.endpoint_id = p_endpoint;
    IF kind = 'disabled' THEN
        IF NOT (SELECT e.enabled FROM insp.endpoint e WHERE e.id = p_endpoint) THEN
            RETURN NULL;
        END IF;
        detail := detail || jsonb_build_object('held', insp.endpoint_hold(p_endpoint, detail ->> 'reason'));
    END IF;
    IF kind IS NOT NULL THEN
        PERFORM insp.endpoint_event_note(p_endpoint, kind, detail);
    END IF;
    RETURN kind;
END
$$;
COMMENT ON FUNCTION insp.endpoint_judge(bigint, integer, integer, boolean, text) IS
    'Counts attempts for an endpoint''s breaker: it opens when at least 10 attempts, and 70 % of those within five minutes, failed (30 s, doubled up to 10 min), is half open then, and closes with the first success. 410 and five days without success disable. Returns what happened, if anything';

CREATE FUNCTION insp.endpoint_options(e insp.endpoint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
        'http2', nullif(e.http2, false), 'pins', to_jsonb(e.pins), 'networks', to_jsonb(e.allowed_networks::text[]),
        'certificate', e.client_certificate, 'key', e.client_key, 'apiKeyHeader', e.api_key_header, 'apiKey', e.api_key)),
        '{}')::text
$$;
COMMENT ON FUNCTION insp.endpoint_options(insp.endpoint) IS
    'What a dispatcher must know of an endpoint beside its URL and keys, as JSON; null for a plain one. Holds secrets';

-- Dispatchers -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.callback_take(
    p_limit integer, p_lease interval, p_retries integer, p_floor bigint DEFAULT NULL, p_endpoints bigint[] DEFAULT '{}',
    p_floors bigint[] DEFAULT '{}', p_plain boolean DEFAULT false
)
RETURNS TABLE (
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    secrets text[], allow_http boolean, allow_private boolean, options text, waited_ms double precision, floor bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    -- Not now(): a row committed after this transaction began is due too.
    moment constant timestamptz := clock_timestamp();
    endpoints bigint[];
    starts timestamptz[];
    waiting bigint[];
    heads bigint[];
    claim bigint;
BEGIN
    -- Endpoints with something due. Settled rows leave dead entries in the index in front of the
    -- live ones, and while any old transaction runs nothing can remove them; the floors skip them. Two seconds of slack
    -- cover rows that were committed late; a call without floors finds whatever else is older (lapsed claims above all).
    WITH place AS MATERIALIZED (
        SELECT e.id, coalesce(to_timestamp(coalesce(p_floors[array_position(p_endpoints, e.id)], p_floor) / 1e6)
            - interval '2 seconds', '-infinity') AS start,
            -- Those that may not be sent to now still have a floor: what waits there must be found afterwards.
            NOT e.paused AND (h.open_until IS NULL OR h.open_until <= moment)
                AND NOT (p_plain AND insp.needs_current(e)) AS is_open
        FROM insp.endpoint e LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id WHERE e.enabled
    ), due AS MATERIALIZED (
        SELECT p.id, p.start, p.is_open, head.due_at
        FROM place p CROSS JOIN LATERAL (
            -- An aggregate, so that neither look is made twice.
            SELECT min(x.due_at) AS due_at FROM ((
                SELECT c.due_at FROM insp.callback c
                WHERE c.endpoint_id = p.id AND least(c.attempts, 1) = 0 AND c.state = 'pending' AND c.due_at >= p.start
                    AND c.due_at <= moment AND (c.lease_until IS NULL OR c.lease_until <= moment)
                ORDER BY c.due_at, c.id LIMIT 1
            ) UNION ALL (
                SELECT c.due_at FROM insp.callback c
                WHERE c.endpoint_id = p.id AND least(c.attempts, 1) = 1 AND c.state = 'pending' AND c.due_at >= p.start
                    AND c.due_at <= moment AND (c.lease_until IS NULL OR c.lease_until <= moment)
                ORDER BY c.due_at, c.id LIMIT 1)) AS x) AS head
        WHERE head.due_at IS NOT NULL
        -- By lot: those whose places are all taken must not stand before the others for ever.
        ORDER BY random()
    ), taken AS MATERIALIZED (
        -- Two dispatchers must not both take an endpoint's last free place. Whoever holds this lock counts alone; the other
        -- turns to the next endpoint.
        SELECT d.id, d.start FROM due d
        WHERE CASE WHEN d.is_open
            THEN pg_try_advisory_xact_lock(hashtext('insp.callback_claim'), (d.id & 2147483647)::integer) END
        LIMIT greatest(p_limit, 256)
    )
    SELECT (SELECT array_agg(t.id) FROM taken t), (SELECT array_agg(t.start) FROM taken t),
        array_agg(d.id), array_agg((extract(epoch FROM d.due_at) * 1000000)::bigint)
    INTO endpoints, starts, waiting, heads FROM due d;

    IF endpoints IS NOT NULL THEN
        claim := nextval('insp.callback_claim');
        -- A new statement, so that its snapshot shows what the last holder of the lock committed.
        RETURN QUERY
        WITH room AS MATERIALIZED (
            SELECT e.id, t.start,
                -- Looked at here as well, because most endpoints have none and the call costs more than this whole line.
                CASE WHEN e.http2 OR e.pins IS NOT NULL OR e.allowed_networks IS NOT NULL OR e.client_certificate IS NOT NULL
                    OR e.api_key IS NOT NULL
                    OR EXISTS (SELECT FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id)
                    THEN insp.endpoint_options(e) END AS options,
                array_remove(ARRAY[e.secret, e.signing_key], NULL) || ARRAY(
                    SELECT s.secret FROM insp.endpoint_secret s WHERE s.endpoint_id = e.id AND s.valid_until > moment
                    ORDER BY s.valid_until DESC LIMIT 10) AS secrets,
                -- Half open: one attempt at a time.
                CASE WHEN h.open_until IS NOT NULL THEN 1 ELSE e.max_inflight END - live.running AS places,
                -- A quarter is kept for first attempts, so that late retries that hang hold up nothing new.
                CASE WHEN h.open_until IS NOT NULL THEN 1 ELSE greatest(1, e.max_inflight * 3 / 4) END - live.retries AS late
            FROM unnest(endpoints, starts) AS t (endpoint, start) JOIN insp.endpoint e ON e.id = t.endpoint
                LEFT JOIN insp.endpoint_health h ON h.endpoint_id = e.id CROSS JOIN LATERAL (
                    SELECT count(*)::integer AS running, (count(*) FILTER (WHERE l.attempts > 0))::integer AS retries
                    FROM insp.callback l
                    WHERE l.endpoint_id = e.id AND l.claim_id IS NOT NULL AND l.lease_until > moment) AS live
            WHERE e.enabled AND NOT e.paused AND (h.open_until IS NULL OR h.open_until <= moment)
        ), seen AS MATERIALIZED (
            SELECT r.id AS endpoint, c.id, c.due_at, c.is_late, r.places,
                row_number() OVER (PARTITION BY r.id, c.is_late ORDER BY c.due_at, c.id) AS turn
            FROM room r CROSS JOIN LATERAL (
                (SELECT x.id, x.due_at, false AS is_late FROM insp.callback x
                WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 0 AND x.state = 'pending' AND x.due_at >= r.start
                    AND x.due_at <= moment AND (x.lease_until IS NULL OR x.lease_until <= moment)
                    AND (x.ordering_key IS NULL OR NOT EXISTS (
                        SELECT FROM insp.callback y WHERE y.endpoint_id = x.endpoint_id AND y.ordering_key = x.ordering_key
                            AND y.id < x.id AND y.state IN ('pending', 'held')))
                ORDER BY x.due_at, x.id LIMIT least(greatest(r.places, 0), p_limit))
                UNION ALL
                (SELECT x.id, x.due_at, true FROM insp.callback x
                WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 1 AND x.state = 'pending' AND x.due_at >= r.start
                    AND x.due_at <= moment AND (x.lease_until IS NULL OR x.lease_until <= moment)
                    AND (x.ordering_key IS NULL OR NOT EXISTS (
                        SELECT FROM insp.callback y WHERE y.endpoint_id = x.endpoint_id AND y.ordering_key = x.ordering_key
                            AND y.id < x.id AND y.state IN ('pending', 'held')))
                ORDER BY x.due_at, x.id LIMIT least(greatest(least(r.places, r.late), 0), p_limit, p_retries))) AS c
        ), fair AS MATERIALIZED (
            -- Within an endpoint first attempts and retries in turn, as far as it has places …
            SELECT s.*, row_number() OVER (PARTITION BY s.endpoint ORDER BY s.turn, s.is_late) AS place FROM seen s
        ), candidate AS MATERIALIZED (
            -- … and over all: every endpoint's first, then every endpoint's second …
            SELECT k.id FROM (
                SELECT f.*, count(*) FILTER (WHERE f.is_late) OVER (ORDER BY f.place, f.due_at, f.id) AS late_so_far
                FROM fair f WHERE f.place <= f.places) k
            WHERE NOT k.is_late OR k.late_so_far <= p_retries
            ORDER BY k.place, k.due_at LIMIT p_limit
        ), free AS MATERIALIZED (
            -- An operator's open transaction must not stop the dispatch.
            SELECT c.id FROM insp.callback c JOIN candidate k ON k.id = c.id
            WHERE c.state = 'pending' AND (c.lease_until IS NULL OR c.lease_until <= moment)
            FOR UPDATE OF c SKIP LOCKED
        )
        UPDATE insp.callback c SET claim_id = claim, lease_until = moment + p_lease
        FROM free f JOIN insp.callback o ON o.id = f.id JOIN room r ON r.id = o.endpoint_id
            JOIN insp.endpoint e ON e.id = o.endpoint_id
        WHERE c.id = f.id
        RETURNING c.id, c.claim_id, c.webhook_id, c.endpoint_id, c.url,
            CASE WHEN e.inline_result AND c.event = 'job.finished' THEN insp.callback_body(c.job_id, c.body) ELSE c.body END,
            c.attempts, c.released, r.secrets, e.allow_http, e.allow_private, r.options,
            (extract(epoch FROM moment - c.due_at) * 1000)::double precision, NULL::bigint;
    END IF;

    -- The floors for the next call: where something was due, its age; everywhere else, this moment.
    RETURN QUERY
    SELECT NULL::bigint, NULL::bigint, NULL, w.endpoint, NULL, NULL::bytea, NULL::integer, NULL::integer, NULL::text[],
        NULL::boolean, NULL::boolean, NULL, NULL::double precision, w.floor
    FROM unnest(waiting || NULL::bigint, heads || (extract(epoch FROM moment) * 1000000)::bigint) AS w (endpoint, floor);
END
$$;
COMMENT ON FUNCTION insp.callback_take(integer, interval, integer, bigint, bigint[], bigint[], boolean) IS
    'Takes due callbacks to be sent, at most p_limit of which p_retries were tried before: fairly over the endpoints, within each one''s max_inflight, none of endpoints that are paused or whose breaker is open, one after the other where an ordering key says so. Send after the commit, then call callback_record with the claim_id; a claim that is not settled lapses and its callbacks are sent again. Rows without id carry floors (microseconds since 1970) for the next call: one for each endpoint with something due, and without endpoint_id the one for all others; without floors everything is searched. p_plain leaves out endpoints that ask for more than version 0.1.0 could do';

CREATE FUNCTION insp.needs_current(e insp.endpoint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT e.inline_result OR e.http2 OR e.pins IS NOT NULL OR e.allowed_networks IS NOT NULL OR e.signing_key IS NOT NULL
        OR e.client_certificate IS NOT NULL OR e.api_key IS NOT NULL
$$;
COMMENT ON FUNCTION insp.needs_current(insp.endpoint) IS 'Whether a worker of version 0.1.0 could not serve the endpoint as it asks';

CREATE FUNCTION insp.callback_body(p_job bigint, p_body bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- The thin body ends with the two braces of "data" and of the whole.
    SELECT coalesce(substr(p_body, 1, length(p_body) - 2)
        || convert_to(',"result":' || insp.job_result(j.public_id)::text || '}}', 'UTF8'), p_body)
    FROM insp.job j WHERE j.id = p_job
    UNION ALL SELECT p_body
    LIMIT 1
$$;
COMMENT ON FUNCTION insp.callback_body(bigint, bytea) IS
    'The body of a job.finished callback with the whole result, which is the same each time until retention or erasure removes it';

CREATE FUNCTION insp.callback_record(
    p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays double precision[], p_started double precision[],
    p_durations integer[], p_statuses integer[], p_codes text[], p_errors text[], p_worker text
) RETURNS TABLE (id bigint, endpoint_id bigint, event text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    ids bigint[];
    places bigint[];
    successes boolean[];
    gones boolean[];
    codes text[];
    note record;
    change text;
BEGIN
    WITH given AS MATERIALIZED (
        SELECT u.id, u.claim, u.outcome, u.delay, to_timestamp(u.started) AS started, u.duration,
            nullif(u.status, 0) AS status, nullif(u.code, '') AS code, nullif(u.error, '') AS error
        FROM unnest(p_ids, p_claims, p_outcomes, p_delays, p_started, p_durations, p_statuses, p_codes, p_errors)
            AS u (id, claim, outcome, delay, started, duration, status, code, error)
    ), settled AS (
        UPDATE insp.callback c SET
            state = CASE g.outcome WHEN 'delivered' THEN 'delivered' WHEN 'dead' THEN 'dead'
                ELSE CASE WHEN e.enabled THEN 'pending' ELSE 'held' END END,
            attempts = c.attempts + CASE WHEN g.outcome = 'release' THEN 0 ELSE 1 END,
            released = c.released + CASE WHEN g.outcome = 'release' THEN 1 ELSE 0 END,
            due_at = CASE WHEN g.outcome IN ('retry', 'release') THEN clock_timestamp() + g.delay * interval '1 second'
                ELSE c.due_at END,
            delivered_at = CASE WHEN g.outcome = 'delivered' THEN clock_timestamp() ELSE c.delivered_at END,
            last_http_status = g.status, last_error = g.error, claim_id = NULL, lease_until = NULL
        FROM given g, insp.endpoint e
        -- The compare-and-set: a claim that lapsed and was taken over matches nothing.
        WHERE c.id = g.id AND c.claim_id = g.claim AND c.state = 'pending' AND e.id = c.endpoint_id
        RETURNING c.id, c.endpoint_id, g.outcome, g.started, g.duration, g.status, g.code, g.error,
            -- Only the endpoint's own URL speaks for the endpoint; a job may have brought another one.
            coalesce(g.status = 410 AND c.url = e.url, false) AS gone
    ), attempt AS (
        INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, code, error, worker)
        SELECT s.id, 1 + coalesce((SELECT max(a.attempt) FROM insp.callback_attempt a WHERE a.callback_id = s.id), 0),
            s.started, s.duration, s.status, s.code, s.error, p_worker
        FROM settled s
    )
    SELECT array_agg(s.id), array_agg(s.endpoint_id),
        -- What was never sent, or failed by our own fault, says nothing about the endpoint.
        array_agg(CASE WHEN s.outcome = 'delivered' THEN true WHEN s.outcome IN ('retry', 'dead')
            AND s.code IS DISTINCT FROM 'REQUEST_INVALID' THEN false END),
        array_agg(s.gone), array_agg(s.code)
    INTO ids, places, successes, gones, codes FROM settled s;
    RETURN QUERY SELECT i, NULL::bigint, NULL FROM unnest(ids) AS i;

    -- Nothing is written for endpoints that are well and were so before; the others in one order, so that no two
    -- dispatchers wait for each other.
    FOR note IN
        SELECT u.place, (count(*) FILTER (WHERE u.success))::integer AS succeeded,
            (count(*) FILTER (WHERE NOT u.success))::integer AS failed, bool_or(u.gone) AS gone, max(u.code) AS code
        FROM unnest(places, successes, gones, codes) AS u (place, success, gone, code) WHERE u.success IS NOT NULL
        GROUP BY u.place
        HAVING bool_or(NOT u.success) OR EXISTS (SELECT FROM insp.endpoint_health h
            WHERE h.endpoint_id = u.place AND (h.failed > 0 OR h.failing_since IS NOT NULL OR h.open_until IS NOT NULL))
        ORDER BY u.place
    LOOP
        change := insp.endpoint_judge(note.place, note.succeeded, note.failed, note.gone, note.code);
        IF change IS NOT NULL THEN
            RETURN QUERY SELECT NULL::bigint, note.place, change;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.callback_record(bigint[], bigint[], text[], double precision[], double precision[], integer[],
    integer[], text[], text[], text) IS
    'Records attempts: outcome delivered, retry (after delay seconds), dead, or release (retry without counting the attempt); status 0, code and error empty mean none; started is seconds since 1970. Returns the callbacks whose claim still held (of the others nothing is changed), and without id what became of endpoints';

-- Version 0.1.0's calls, by way of the new ones -----------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION insp.callback_claim(
    p_limit integer, p_lease interval, p_floor bigint DEFAULT NULL, p_endpoints bigint[] DEFAULT '{}',
    p_floors bigint[] DEFAULT '{}'
)
RETURNS TABLE (
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    secret text, previous_secret text, allow_http boolean, allow_private boolean, waited_ms double precision, floor bigint
)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT t.id, t.claim_id, t.webhook_id, t.endpoint_id, t.url, t.body, t.attempts, t.released, t.secrets[1], t.secrets[2],
        t.allow_http, t.allow_private, t.waited_ms, t.floor
    FROM insp.callback_take(p_limit, p_lease, p_limit, p_floor, p_endpoints, p_floors, true) t
$$;

CREATE OR REPLACE FUNCTION insp.callback_settle(
    p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays double precision[], p_started double precision[],
    p_durations integer[], p_statuses integer[], p_errors text[], p_worker text
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT r.id FROM insp.callback_record(p_ids, p_claims, p_outcomes, p_delays, p_started, p_durations, p_statuses,
        array_fill(''::text, ARRAY[cardinality(p_ids)]), p_errors, p_worker) r WHERE r.id IS NOT NULL
$$;

GRANT EXECUTE ON FUNCTION insp.callback_take(integer, interval, integer, bigint, bigint[], bigint[], boolean),
    insp.callback_record(bigint[], bigint[], text[], double precision[], double precision[], integer[], integer[], text[],
        text[], text) TO insp_worker;
