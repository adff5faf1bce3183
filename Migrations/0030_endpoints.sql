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
    -- A regular expression costs as much as all else that is checked of the row, and nearly every event is this one.
    CHECK (event = 'job.finished' OR event ~ '^(job\.(review_needed|status\.[0-9]+)|endpoint\.[a-z]+)$');
COMMENT ON COLUMN insp.callback.event IS
    'What happened: job.finished, job.review_needed, job.status.N (the stage done), or endpoint.failing, .recovered, .disabled of another endpoint (job_id is then minus the number of the insp.endpoint_event)';
COMMENT ON COLUMN insp.callback.job_id IS 'The job it tells of; below 0: minus the number of an insp.endpoint_event';

-- What changes with each attempt stands in two narrow tables, as insp.ready and insp.lease do for jobs: the wide row of
-- insp.callback is written once. A callback that is in neither of the two is delivered, and its attempts say when; written
-- again with each attempt, the row cost as much as all else that is recorded of it, and left a dead copy to be cleared away.
CREATE TABLE insp.callback_waiting (
    callback_id bigint PRIMARY KEY,
    endpoint_id bigint NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'held', 'dead')),
    ordering_key text,
    recorded integer DEFAULT 0,
    reason text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
COMMENT ON TABLE insp.callback_waiting IS 'Each callback that is neither delivered nor being sent: one row, which a claim moves to insp.callback_lease';
COMMENT ON COLUMN insp.callback_waiting.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_waiting.endpoint_id IS 'Whose limits apply';
COMMENT ON COLUMN insp.callback_waiting.due_at IS 'Not before';
COMMENT ON COLUMN insp.callback_waiting.attempts IS 'Attempts made that count';
COMMENT ON COLUMN insp.callback_waiting.released IS 'Attempts that failed through a fault on our side';
COMMENT ON COLUMN insp.callback_waiting.state IS 'pending, held (the endpoint is disabled) or dead (given up)';
COMMENT ON COLUMN insp.callback_waiting.reason IS 'Why an operator gave it up';
COMMENT ON COLUMN insp.callback_waiting.ordering_key IS 'Of an endpoint''s callbacks with the same key, one is sent after the other';
COMMENT ON COLUMN insp.callback_waiting.recorded IS 'Attempts that are in insp.callback_attempt; null: to be looked up, after a replay and for callbacks older than this script';
-- First attempts and retries apart, so that neither has to be searched for among the other. An expression that the
-- planner leaves alone: it would turn (attempts > 0) = false into a comparison that is not indexed.
CREATE INDEX callback_waiting_due ON insp.callback_waiting (endpoint_id, least(attempts, 1), due_at, callback_id)
    WHERE state = 'pending';
CREATE INDEX callback_waiting_order ON insp.callback_waiting (endpoint_id, ordering_key, callback_id)
    WHERE ordering_key IS NOT NULL AND state IN ('pending', 'held');
CREATE INDEX callback_waiting_retry ON insp.callback_waiting (due_at) WHERE attempts > 0 AND state = 'pending';
CREATE INDEX callback_waiting_idle ON insp.callback_waiting (state, endpoint_id) WHERE state <> 'pending';

CREATE TABLE insp.callback_lease (
    endpoint_id bigint NOT NULL,
    claim_id bigint NOT NULL,
    callback_id bigint NOT NULL,
    lease_until timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    ordering_key text,
    recorded integer DEFAULT 0,
    holder bigint,
    PRIMARY KEY (endpoint_id, claim_id, callback_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
COMMENT ON TABLE insp.callback_lease IS 'Each callback that is being sent or is the dispatcher''s next: one row, which its settlement takes away';
COMMENT ON COLUMN insp.callback_lease.endpoint_id IS 'Whose limits apply';
COMMENT ON COLUMN insp.callback_lease.claim_id IS 'Number of the claim under which it is being sent; settling must match it';
COMMENT ON COLUMN insp.callback_lease.callback_id IS 'The callback';
COMMENT ON COLUMN insp.callback_lease.lease_until IS 'When the claim lapses: then the callback waits again';
COMMENT ON COLUMN insp.callback_lease.due_at IS 'When it was due';
COMMENT ON COLUMN insp.callback_lease.attempts IS 'Counted attempts before this one';
COMMENT ON COLUMN insp.callback_lease.released IS 'Uncounted attempts before this one';
COMMENT ON COLUMN insp.callback_lease.ordering_key IS 'As it waited';
COMMENT ON COLUMN insp.callback_lease.recorded IS 'As it waited';
COMMENT ON COLUMN insp.callback_lease.holder IS 'The dispatcher that has it; null: one of version 0.1.0';
CREATE INDEX callback_lease_order ON insp.callback_lease (endpoint_id, ordering_key, callback_id)
    WHERE ordering_key IS NOT NULL;
GRANT SELECT ON insp.callback_waiting, insp.callback_lease TO insp_worker, insp_operator, insp_auditor;

INSERT INTO insp.callback_lease (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released, recorded)
SELECT c.endpoint_id, c.claim_id, c.id, c.lease_until, c.due_at, c.attempts, c.released, NULL
FROM insp.callback c WHERE c.state = 'pending' AND c.claim_id IS NOT NULL;
INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state, recorded, reason)
SELECT c.id, c.endpoint_id, c.due_at, c.attempts, c.released, c.state, NULL, CASE WHEN c.state = 'dead' THEN c.last_error END
FROM insp.callback c WHERE c.state <> 'delivered' AND (c.state <> 'pending' OR c.claim_id IS NULL);
ALTER TABLE insp.callback RESET (fillfactor);

CREATE OR REPLACE FUNCTION insp.pending_callbacks(
    OUT pending bigint, OUT retrying bigint, OUT oldest double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT least(count(*), 10000), count(*) FILTER (WHERE k.attempts > 0),
        extract(epoch FROM clock_timestamp() - (SELECT c.created_at FROM insp.callback c WHERE c.id = min(k.callback_id)))::double precision,
        count(*) > 10000,
        (SELECT count(*) FROM (SELECT FROM insp.callback_waiting x WHERE x.state = 'dead' LIMIT 10000) x),
        (SELECT count(*) FROM (SELECT FROM insp.callback_waiting x WHERE x.state = 'held' LIMIT 10000) x)
    FROM (
        (SELECT x.callback_id, x.attempts FROM insp.callback_waiting x WHERE x.state = 'pending' LIMIT 10001)
        UNION ALL
        SELECT l.callback_id, l.attempts FROM insp.callback_lease l
        LIMIT 10001) k
$$;

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
    INSERT INTO insp.callback (job_id, endpoint_id, event, url, body)
    SELECT -number, a.id, 'endpoint.' || p_kind, a.url,
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
    UPDATE insp.callback_waiting w SET state = 'held' WHERE w.endpoint_id = p_endpoint AND w.state = 'pending';
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
    p_floors bigint[] DEFAULT '{}', p_claims bigint[] DEFAULT '{}', p_plain boolean DEFAULT false, p_holder bigint DEFAULT NULL
)
RETURNS TABLE (
    id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer,
    waited_ms double precision, job uuid, traceparent text, secrets text[], allow_http boolean, allow_private boolean,
    options text, floor bigint, claim_floor bigint, at_once integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
-- Planning these for each call would take longer than they do.
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    -- Not now(): a row committed after this transaction began is due too.
    moment constant timestamptz := clock_timestamp();
    endpoints bigint[];
    starts timestamptz[];
    retried boolean[];
    limits integer[];
    places integer[];
    lates integer[];
    waiting bigint[];
    heads bigint[];
    lowest bigint[];
    inlined bigint[];
    chosen tid[];
    has_retries boolean;
    claim bigint;
BEGIN
    IF p_floor IS NULL THEN
        -- Claims that lapsed: whoever held them is dead or frozen. Their callbacks wait again, with their times.
        WITH lapsed AS MATERIALIZED (
            SELECT l.ctid AS place FROM insp.callback_lease l WHERE l.lease_until <= moment FOR UPDATE SKIP LOCKED
        ), freed AS (
            DELETE FROM insp.callback_lease l WHERE l.ctid = ANY (ARRAY(SELECT k.place FROM lapsed k)) RETURNING l.*
        )
        INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state, ordering_key, recorded)
        SELECT f.callback_id, f.endpoint_id, f.due_at, f.attempts, f.released, 'pending', f.ordering_key, f.recorded FROM freed f
        -- A replay may have put it there already.
        ON CONFLICT DO NOTHING;
    END IF;

    -- Mostly there are none, and no endpoint has to be asked.
    has_retries := EXISTS (SELECT FROM insp.callback_waiting w
        WHERE w.attempts > 0 AND w.state = 'pending' AND w.due_at <= moment);
    -- Endpoints with something due. Claimed rows leave dead entries in the index in front of the live ones, and while any old
    -- transaction runs nothing can remove them; the floors skip them. Two seconds of slack cover rows that were committed
    -- late; a call without floors finds whatever else is older (lapsed claims above all).
    WITH place AS MATERIALIZED (
        SELECT e.id, NOT e.paused AND (h.open_until IS NULL OR h.open_until <= moment)
                AND NOT (p_plain AND insp.needs_current(e)) AS is_open,
            coalesce(to_timestamp(coalesce(p_floors[array_position(p_endpoints, e.id)], p_floor) / 1e6)
            - interval '2 seconds', '-infinity') AS start
        FROM insp.endpoint e LEFT JOIN insp.endpoint_health h ON h.endpoint_id = ANY (ARRAY[e.id]) WHERE e.enabled
    ), due AS MATERIALIZED (
        SELECT p.id, p.start, p.is_open, least(fresh.due_at, retry.due_at) AS due_at, retry.due_at IS NOT NULL AS is_retried
        FROM place p LEFT JOIN LATERAL (
            SELECT w.due_at FROM insp.callback_waiting w
            WHERE w.endpoint_id = p.id AND least(w.attempts, 1) = 0 AND w.state = 'pending' AND w.due_at >= p.start
                AND w.due_at <= moment
            ORDER BY w.due_at, w.callback_id LIMIT 1) AS fresh ON true
            LEFT JOIN LATERAL (
            SELECT w.due_at FROM insp.callback_waiting w
            WHERE w.endpoint_id = p.id AND least(w.attempts, 1) = 1 AND w.state = 'pending' AND w.due_at >= p.start
                AND w.due_at <= moment AND has_retries
            ORDER BY w.due_at, w.callback_id LIMIT 1) AS retry ON true
        WHERE fresh.due_at IS NOT NULL OR retry.due_at IS NOT NULL
        -- By lot: those whose places are all taken must not stand before the others for ever.
        ORDER BY random()
    ), taken AS MATERIALIZED (
        -- Two dispatchers must not both take an endpoint's last free place. Whoever holds this lock counts alone; the other
        -- turns to the next endpoint.
        SELECT d.id, d.start, d.is_retried FROM due d
        WHERE CASE WHEN d.is_open
            THEN pg_try_advisory_xact_lock(hashtext('insp.callback_claim'), (d.id & 2147483647)::integer) END
        LIMIT greatest(p_limit, 256)
    )
    SELECT (SELECT array_agg(t.id) FROM taken t), (SELECT array_agg(t.start) FROM taken t),
        (SELECT array_agg(t.is_retried) FROM taken t), array_agg(d.id),
        array_agg((extract(epoch FROM d.due_at) * 1000000)::bigint)
    INTO endpoints, starts, retried, waiting, heads FROM due d;

    IF endpoints IS NOT NULL THEN
        -- Drawn under the locks: an endpoint's claims are numbered in the order in which they were made, so nothing below its
        -- lowest live one can ever come back, and the search may begin there.
        claim := nextval('insp.callback_claim');
        -- A new statement, so that its snapshot shows what the last holder of the lock committed.
        SELECT array_agg(r.id), array_agg(r.start), array_agg(r.at_once), array_agg(r.ahead * r.at_once - r.own),
            array_agg(r.late), array_agg(r.lowest), array_agg(r.id) FILTER (WHERE r.inline_result)
        INTO endpoints, starts, limits, places, lates, lowest, inlined
        FROM (
            SELECT e.id, e.inline_result, t.start, live.own,
                -- What others hold they may send at any time; it becomes more only by a claim of theirs, which counts what is
                -- held here. Half open: one attempt at a time.
                CASE WHEN h.open_until IS NOT NULL THEN 1 ELSE e.max_inflight END - live.others AS at_once,
                -- Twice as many are the next, so that no place waits for a round trip and claims can be large: most of what
                -- one costs, it costs by endpoints.
                CASE WHEN h.open_until IS NOT NULL OR p_holder IS NULL THEN 1 ELSE 3 END AS ahead,
                -- A quarter is kept for first attempts, so that late retries that hang hold up nothing new.
                CASE WHEN NOT t.is_retried THEN 0 WHEN h.open_until IS NOT NULL THEN 1
                    ELSE greatest(1, e.max_inflight * 3 / 4) END - live.retries AS late,
                coalesce(live.lowest, claim) AS lowest
            FROM unnest(endpoints, starts, retried) AS t (endpoint, start, is_retried)
                JOIN insp.endpoint e ON e.id = ANY (ARRAY[t.endpoint])
                LEFT JOIN insp.endpoint_health h ON h.endpoint_id = ANY (ARRAY[e.id]) CROSS JOIN LATERAL (
                    SELECT (count(*) FILTER (WHERE l.lease_until > moment AND l.holder IS NOT DISTINCT FROM p_holder))::integer AS own,
                        (count(*) FILTER (WHERE l.lease_until > moment AND l.holder IS DISTINCT FROM p_holder))::integer AS others,
                        (count(*) FILTER (WHERE l.lease_until > moment AND l.attempts > 0))::integer AS retries,
                        min(l.claim_id) AS lowest
                    FROM insp.callback_lease l
                    WHERE l.endpoint_id = e.id AND l.claim_id >= coalesce(p_claims[array_position(p_endpoints, e.id)], 0)
                ) AS live
            WHERE e.enabled AND NOT e.paused AND (h.open_until IS NULL OR h.open_until <= moment)) r;

        IF NOT true = ANY (retried) THEN
            -- First attempts alone, as mostly, take one sort in place of three, which spares a fifteenth of the claim: every
            -- endpoint's first, then every endpoint's second …
            SELECT array_agg(k.place) INTO chosen FROM (
                SELECT w.place FROM unnest(endpoints, starts, places) AS r (id, start, places) CROSS JOIN LATERAL (
                    SELECT x.ctid AS place, x.due_at, row_number() OVER (ORDER BY x.due_at, x.callback_id) AS number
                    FROM insp.callback_waiting x
                    WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 0 AND x.state = 'pending' AND x.due_at >= r.start
                        AND x.due_at <= moment
                        AND (x.ordering_key IS NULL OR NOT insp.callback_follows(x.endpoint_id, x.ordering_key, x.callback_id))
                    ORDER BY x.due_at, x.callback_id LIMIT least(greatest(r.places, 0), p_limit)) AS w
                ORDER BY w.number, w.due_at LIMIT p_limit) k;
        ELSE
            WITH seen AS MATERIALIZED (
                SELECT r.id AS endpoint, w.place, w.callback_id, w.due_at, w.is_late, r.places,
                    row_number() OVER (PARTITION BY r.id, w.is_late ORDER BY w.due_at, w.callback_id) AS turn
                FROM unnest(endpoints, starts, places, lates) AS r (id, start, places, late) CROSS JOIN LATERAL (
                    (SELECT x.ctid AS place, x.callback_id, x.due_at, false AS is_late FROM insp.callback_waiting x
                    WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 0 AND x.state = 'pending' AND x.due_at >= r.start
                        AND x.due_at <= moment
                        AND (x.ordering_key IS NULL OR NOT insp.callback_follows(x.endpoint_id, x.ordering_key, x.callback_id))
                    ORDER BY x.due_at, x.callback_id LIMIT least(greatest(r.places, 0), p_limit))
                    UNION ALL
                    (SELECT x.ctid, x.callback_id, x.due_at, true FROM insp.callback_waiting x
                    WHERE x.endpoint_id = r.id AND least(x.attempts, 1) = 1 AND x.state = 'pending' AND x.due_at >= r.start
                        AND x.due_at <= moment
                        AND (x.ordering_key IS NULL OR NOT insp.callback_follows(x.endpoint_id, x.ordering_key, x.callback_id))
                    ORDER BY x.due_at, x.callback_id LIMIT least(greatest(least(r.places, r.late), 0), p_limit, p_retries))) AS w
            ), fair AS MATERIALIZED (
                -- Within an endpoint first attempts and retries in turn, as far as it has places …
                SELECT s.*, row_number() OVER (PARTITION BY s.endpoint ORDER BY s.turn, s.is_late) AS number FROM seen s
            )
            -- … and over all as above.
            SELECT array_agg(o.place) INTO chosen FROM (
                SELECT k.place FROM (
                    SELECT f.*,
                        count(*) FILTER (WHERE f.is_late) OVER (ORDER BY f.number, f.due_at, f.callback_id) AS late_so_far
                    FROM fair f WHERE f.number <= f.places) k
                WHERE NOT k.is_late OR k.late_so_far <= p_retries
                ORDER BY k.number, k.due_at LIMIT p_limit) o;
        END IF;

        RETURN QUERY
        WITH free AS MATERIALIZED (
            -- An operator's open transaction must not stop the dispatch.
            SELECT w.ctid AS place FROM insp.callback_waiting w
            -- A place stays that of its row for as long as the call lasts: no row that its snapshot shows is cleared away.
            WHERE w.ctid = ANY (chosen) FOR UPDATE SKIP LOCKED
        ), moved AS (
            DELETE FROM insp.callback_waiting w WHERE w.ctid = ANY (ARRAY(SELECT f.place FROM free f)) RETURNING w.*
        ), leased AS (
            INSERT INTO insp.callback_lease (endpoint_id, claim_id, callback_id, lease_until, due_at, attempts, released,
                ordering_key, recorded, holder)
            SELECT m.endpoint_id, claim, m.callback_id, moment + p_lease, m.due_at, m.attempts, m.released, m.ordering_key,
                m.recorded, p_holder
            FROM moved m
        )
        SELECT c.id, claim, c.webhook_id, m.endpoint_id, c.url,
            CASE WHEN m.endpoint_id = ANY (inlined) AND c.event = 'job.finished' THEN insp.callback_body(c.job_id, c.body) ELSE c.body END,
            m.attempts, m.released, (extract(epoch FROM moment - m.due_at) * 1000)::double precision,
            -- Written by version 0.1.0, the job itself has to be asked.
            CASE WHEN c.public_id IS NULL AND c.job_id > 0 THEN (SELECT j.public_id FROM insp.job j WHERE j.id = c.job_id)
                ELSE c.public_id END,
            CASE WHEN c.public_id IS NULL AND c.job_id > 0 THEN (SELECT j.traceparent FROM insp.job j WHERE j.id = c.job_id)
                ELSE c.traceparent END,
            NULL::text[], NULL::boolean, NULL::boolean, NULL, NULL::bigint, NULL::bigint, NULL::integer
        FROM moved m JOIN insp.callback c ON c.id = ANY (ARRAY[m.callback_id]);
    END IF;

    -- The floors for the next call: where something was due, its age; everywhere else, this moment. With them, of those that
    -- something was taken from, what the endpoint asks for.
    RETURN QUERY
    SELECT NULL::bigint, NULL::bigint, NULL, w.endpoint, NULL, NULL::bytea, NULL::integer, NULL::integer,
        NULL::double precision, NULL::uuid, NULL,
        -- Hardly any endpoint is between two keys: all that are, are looked up once.
        array_remove(ARRAY[e.secret, e.signing_key], NULL) || CASE
            WHEN e.id IN (SELECT s.endpoint_id FROM insp.endpoint_secret s WHERE s.valid_until > moment) THEN ARRAY(
                SELECT s.secret FROM insp.endpoint_secret s WHERE s.endpoint_id = e.id AND s.valid_until > moment
                ORDER BY s.valid_until DESC LIMIT 10) END,
        e.allow_http, e.allow_private,
        -- Looked at here as well, because most endpoints have none and the call costs more than this whole line.
        CASE WHEN e.http2 OR e.pins IS NOT NULL OR e.allowed_networks IS NOT NULL OR e.client_certificate IS NOT NULL
            OR e.api_key IS NOT NULL OR EXISTS (SELECT FROM insp.endpoint_authorization a WHERE a.endpoint_id = e.id)
            THEN insp.endpoint_options(e) END,
        w.floor, lowest[array_position(endpoints, w.endpoint)], limits[array_position(endpoints, w.endpoint)]
    FROM unnest(waiting || NULL::bigint, heads || (extract(epoch FROM moment) * 1000000)::bigint) AS w (endpoint, floor)
        LEFT JOIN insp.endpoint e ON e.id = ANY (ARRAY[w.endpoint]) AND w.endpoint = ANY (endpoints);
END
$$;
COMMENT ON FUNCTION insp.callback_take(integer, interval, integer, bigint, bigint[], bigint[], bigint[], boolean, bigint) IS
    'Takes due callbacks to be sent, at most p_limit of which p_retries were tried before: fairly over the endpoints, within each one''s max_inflight, none of endpoints that are paused or whose breaker is open, one after the other where an ordering key says so. Send after the commit, then call callback_record with the claim_id; a claim that is not settled lapses and its callbacks are sent again. Rows without id follow, one for each endpoint with something due: its keys and options, and the floors for the next call (microseconds since 1970, and its lowest claim that still holds); without endpoint_id the floor for all others. Without floors everything is searched. p_plain leaves out endpoints that ask for more than version 0.1.0 could do. p_holder names a dispatcher that sends at most at_once of an endpoint''s callbacks at once; it may claim three times as many, so that the next are there when a place becomes free. at_once holds from its latest claim on';

CREATE FUNCTION insp.callback_follows(p_endpoint bigint, p_key text, p_callback bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT EXISTS (
            SELECT FROM insp.callback_waiting w WHERE w.endpoint_id = p_endpoint AND w.ordering_key = p_key
                AND w.callback_id < p_callback AND w.state IN ('pending', 'held'))
        OR EXISTS (
            SELECT FROM insp.callback_lease l WHERE l.endpoint_id = p_endpoint AND l.ordering_key = p_key
                AND l.callback_id < p_callback)
$$;
COMMENT ON FUNCTION insp.callback_follows(bigint, text, bigint) IS
    'Whether an earlier callback of the same ordering key has not reached its end yet';

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
    p_endpoints bigint[], p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays bigint[], p_started bigint[],
    p_durations bigint[], p_statuses bigint[], p_codes text[], p_errors text[], p_worker text
) RETURNS TABLE (id bigint, endpoint_id bigint, event text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    moment constant timestamptz := clock_timestamp();
    ids bigint[];
    places bigint[];
    successes boolean[];
    gones boolean[];
    codes text[];
    note record;
    change text;
BEGIN
    WITH freed AS (
        -- The compare-and-set: a claim that lapsed and was taken over matches nothing. ANY as in insp.claim.
        DELETE FROM insp.callback_lease l
        USING unnest(p_endpoints, p_ids, p_claims, p_outcomes, p_delays, p_started, p_durations, p_statuses, p_codes, p_errors)
            AS u (endpoint, id, claim, outcome, delay, started, duration, status, code, error)
        WHERE l.endpoint_id = ANY (ARRAY[u.endpoint]) AND l.claim_id = u.claim AND l.callback_id = u.id
        RETURNING l.callback_id, l.endpoint_id, l.ordering_key,
            CASE u.outcome WHEN 'return' THEN l.recorded ELSE l.recorded + 1 END AS recorded,
            coalesce(u.outcome, 'delivered') AS outcome, u.duration, to_timestamp(u.started / 1e6) AS started,
            CASE WHEN u.outcome IN ('release', 'return') THEN l.attempts ELSE l.attempts + 1 END AS attempts,
            CASE u.outcome WHEN 'release' THEN l.released + 1 ELSE l.released END AS released,
            CASE WHEN u.outcome IN ('retry', 'release', 'return') THEN moment + u.delay * interval '1 millisecond' ELSE l.due_at END AS due_at,
            nullif(u.status, 0)::integer AS status, nullif(u.code, '') AS code, nullif(u.error, '') AS error,
            CASE WHEN coalesce(u.outcome, 'delivered') IN ('delivered', 'dead') THEN coalesce(u.outcome, 'delivered')
                WHEN (SELECT e.enabled FROM insp.endpoint e WHERE e.id = l.endpoint_id) THEN 'pending' ELSE 'held' END AS state,
            -- Only the endpoint's own URL speaks for the endpoint; a job may have brought another one.
            CASE WHEN u.status = 410 THEN (SELECT c.url = e.url FROM insp.callback c, insp.endpoint e
                WHERE c.id = l.callback_id AND e.id = l.endpoint_id) END AS gone
    ), waiting AS (
        INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state, ordering_key, recorded)
        SELECT j.callback_id, j.endpoint_id, j.due_at, j.attempts, j.released, j.state, j.ordering_key, j.recorded
        FROM freed j WHERE j.state <> 'delivered'
        -- A replay may have put it there already.
        ON CONFLICT DO NOTHING
    ), attempt AS (
        INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, code, error, worker)
        SELECT j.callback_id, coalesce(j.recorded,
                1 + coalesce((SELECT max(a.attempt) FROM insp.callback_attempt a WHERE a.callback_id = j.callback_id), 0)),
            j.started, j.duration, j.status, j.code, j.error, p_worker
        FROM freed j WHERE j.outcome <> 'return'
    )
    SELECT array_agg(j.callback_id), array_agg(j.endpoint_id),
        -- What was never sent, or failed by our own fault, says nothing about the endpoint.
        array_agg(CASE WHEN j.outcome = 'delivered' THEN true WHEN j.outcome IN ('retry', 'dead')
            AND j.code IS DISTINCT FROM 'REQUEST_INVALID' THEN false END),
        array_agg(j.gone), array_agg(j.code)
    INTO ids, places, successes, gones, codes FROM freed j;
    IF cardinality(p_ids) > coalesce(cardinality(ids), 0) THEN
        RETURN QUERY SELECT i, NULL::bigint, NULL FROM (SELECT unnest(p_ids) EXCEPT ALL SELECT unnest(ids)) AS lost (i);
    END IF;

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
COMMENT ON FUNCTION insp.callback_record(bigint[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], text[],
    text[], text) IS
    'Records attempts: outcome delivered, retry (after a delay in milliseconds), dead, release (retry without counting the attempt), or return (none was made: it waits again); status 0, code and error empty mean none; of outcomes, delays, codes and errors an empty array means delivered and none for all; started is microseconds since 1970. Returns the callbacks whose claim does not hold any more, of which nothing is changed, and without id what became of endpoints';

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
    WITH taken AS MATERIALIZED (
        SELECT t.* FROM insp.callback_take(p_limit, p_lease, p_limit, p_floor, p_endpoints, p_floors, p_plain => true) t
    )
    SELECT t.id, t.claim_id, t.webhook_id, t.endpoint_id, t.url, t.body, t.attempts, t.released, e.secrets[1], e.secrets[2],
        e.allow_http, e.allow_private, t.waited_ms, t.floor
    FROM taken t LEFT JOIN taken e ON t.id IS NOT NULL AND e.id IS NULL AND e.endpoint_id = t.endpoint_id
$$;

CREATE OR REPLACE FUNCTION insp.callback_settle(
    p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays double precision[], p_started double precision[],
    p_durations integer[], p_statuses integer[], p_errors text[], p_worker text
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT unnest(p_ids) EXCEPT ALL SELECT r.id FROM insp.callback_record(
        ARRAY(SELECT (SELECT c.endpoint_id FROM insp.callback c WHERE c.id = u.id)
            FROM unnest(p_ids) WITH ORDINALITY AS u (id, place) ORDER BY u.place),
        p_ids, p_claims, p_outcomes,
        ARRAY(SELECT (u.delay * 1e3)::bigint FROM unnest(p_delays) WITH ORDINALITY AS u (delay, place) ORDER BY u.place),
        ARRAY(SELECT (u.started * 1e6)::bigint FROM unnest(p_started) WITH ORDINALITY AS u (started, place) ORDER BY u.place),
        p_durations::bigint[], p_statuses::bigint[], array_fill(''::text, ARRAY[cardinality(p_ids)]), p_errors, p_worker) r
    WHERE r.id IS NOT NULL
$$;

GRANT EXECUTE ON FUNCTION insp.callback_take(integer, interval, integer, bigint, bigint[], bigint[], bigint[], boolean, bigint),
    insp.callback_record(bigint[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], text[], text[], text)
    TO insp_worker;
