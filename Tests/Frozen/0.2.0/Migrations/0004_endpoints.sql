-- Callback endpoints: their settings, events, signatures, authorization and health.

CREATE TABLE insp.endpoint (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL REFERENCES insp.partner,
    url text,
    allow_http boolean NOT NULL DEFAULT false,
    allow_private boolean NOT NULL DEFAULT false,
    enabled boolean NOT NULL DEFAULT true,
    max_inflight integer NOT NULL DEFAULT 8 CHECK (max_inflight BETWEEN 1 AND 1000),
    is_default boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    gone_at timestamptz,
    paused boolean NOT NULL DEFAULT false,
    paused_by_partner boolean NOT NULL DEFAULT false,
    disabled_reason text,
    events text[] NOT NULL DEFAULT '{job.finished}'
        CHECK (events <@ ARRAY['job.status', 'job.review_needed', 'job.finished']),
    inline_result boolean NOT NULL DEFAULT false,
    ordering text CHECK (ordering IN ('job', 'user')),
    alert_endpoint_id bigint REFERENCES insp.endpoint CHECK (alert_endpoint_id <> id),
    http2 boolean NOT NULL DEFAULT false,
    pins text[] CHECK (array_to_string(pins, ' ', '-')
        ~ '^sha256//[A-Za-z0-9+/]{43}=( sha256//[A-Za-z0-9+/]{43}=)?$'),
    allowed_networks cidr[] CHECK (cardinality(allowed_networks) BETWEEN 1 AND 32),
    client_certificate text,
    api_key_header text CHECK (api_key_header ~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]{1,64}$'
        AND lower(api_key_header) !~ '^(webhook-.*|host|connection|content-.*|transfer-encoding|te|upgrade|expect|traceparent|keep-alive|proxy-.*|trailer|authorization|user-agent|cookie)$'),
    origins text[] NOT NULL DEFAULT '{}' CHECK (cardinality(origins) <= 32)
);
CREATE UNIQUE INDEX endpoint_default ON insp.endpoint (partner_id) WHERE is_default;
-- Read by every statement that stores results; empty while no endpoint has events other than job.finished.
CREATE INDEX endpoint_progress ON insp.endpoint (id) WHERE events && ARRAY['job.status', 'job.review_needed'];
CREATE INDEX endpoint_special ON insp.endpoint (id)
    WHERE ordering IS NOT NULL OR url = 'pull:' OR NOT events @> ARRAY['job.finished'];
CREATE INDEX endpoint_pulled ON insp.endpoint (partner_id) WHERE url = 'pull:';
CREATE INDEX endpoint_disabled ON insp.endpoint (id) WHERE NOT enabled;
CREATE INDEX endpoint_inlined ON insp.endpoint (id) WHERE inline_result;
COMMENT ON TABLE insp.endpoint IS 'Where a partner''s callbacks go, and what is allowed there';
COMMENT ON COLUMN insp.endpoint.id IS 'Number of the endpoint';
COMMENT ON COLUMN insp.endpoint.partner_id IS 'Whose endpoint it is';
COMMENT ON COLUMN insp.endpoint.url IS
    'Default URL; null: only jobs with a callbackUrl have callbacks; pull: nothing is sent, and the partner pulls the events from the gateway (GET /events)';
COMMENT ON COLUMN insp.endpoint.allow_http IS 'Whether plain http is allowed, for callbacks and for parts by URL';
COMMENT ON COLUMN insp.endpoint.allow_private IS
    'Whether URLs may have address literals and ports, and private and loopback addresses are allowed: all, or those of allowed_networks. At other origins than the endpoint''s, for callbacks and parts alike, only those of allowed_networks';
COMMENT ON COLUMN insp.endpoint.enabled IS 'Callbacks of a disabled endpoint are held, not dropped';
COMMENT ON COLUMN insp.endpoint.max_inflight IS 'Callbacks under way at once, over all workers';
COMMENT ON COLUMN insp.endpoint.is_default IS 'The endpoint that the partner''s jobs use; one for each partner';
COMMENT ON COLUMN insp.endpoint.created_at IS 'When the endpoint was added';
COMMENT ON COLUMN insp.endpoint.gone_at IS 'When the endpoint last answered 410 Gone: its partner accepts no further callbacks there';
COMMENT ON COLUMN insp.endpoint.paused IS 'Whether its callbacks wait, with their times, until insp.callback_resume';
COMMENT ON COLUMN insp.endpoint.paused_by_partner IS 'Whether its partner paused it; only then may the partner resume it';
COMMENT ON COLUMN insp.endpoint.disabled_reason IS 'Why it is not enabled';
COMMENT ON COLUMN insp.endpoint.events IS
    'Events it receives: job.status (stages done, 4 to 32), job.review_needed (64), job.finished (128)';
COMMENT ON COLUMN insp.endpoint.inline_result IS
    'Whether job.finished contains the whole result, including personal data. It is added on sending and never stored in the outbox. Switching it on affects jobs finished from then on; switching it off affects everything sent from then on';
COMMENT ON COLUMN insp.endpoint.ordering IS
    'Whose callbacks are sent one after the other: those of one job, or of one userReference; null: in any order';
COMMENT ON COLUMN insp.endpoint.alert_endpoint_id IS 'The endpoint that is notified when this one fails, is disabled or recovers';
COMMENT ON COLUMN insp.endpoint.http2 IS 'Whether HTTP/2 is offered; otherwise HTTP/1.1 is used';
COMMENT ON COLUMN insp.endpoint.pins IS
    'One or two public keys; the certificate of a server at the endpoint''s own origins must have one of them. Format: sha256// and the base64 of the digest of the SubjectPublicKeyInfo. The second is for the next key';
COMMENT ON COLUMN insp.endpoint.allowed_networks IS
    'Networks inside private ranges that may be connected to, no matter who specifies the URL. Null: none, or with allow_private all of them at the endpoint''s own origins';
COMMENT ON COLUMN insp.endpoint.client_certificate IS 'Certificate chain in PEM for mutual TLS; its key is the secret client_key';
COMMENT ON COLUMN insp.endpoint.api_key_header IS
    'Deprecated: the header of a static API key, the secret api_key; use OAuth 2.0 instead';
COMMENT ON COLUMN insp.endpoint.origins IS
    'Further origins (scheme, host, port) that get its credentials and inline results, like the origin of its URL; any other URL that a job specifies gets only the signed body without them';
GRANT SELECT ON insp.endpoint TO insp_operator, insp_auditor;

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
    'The circuit breaker of each endpoint that has failed: open until open_until, then half open (one attempt at a time); closed if null';
COMMENT ON COLUMN insp.endpoint_health.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_health.window_start IS 'When counting began; at most five minutes ago';
COMMENT ON COLUMN insp.endpoint_health.succeeded IS 'Attempts since then that were answered with 2xx';
COMMENT ON COLUMN insp.endpoint_health.failed IS 'Attempts since then that failed';
COMMENT ON COLUMN insp.endpoint_health.failing_since IS 'When the current series of failures began';
COMMENT ON COLUMN insp.endpoint_health.open_until IS 'Nothing is sent before this; then one attempt decides';
COMMENT ON COLUMN insp.endpoint_health.trips IS 'How often in a row the breaker opened';
COMMENT ON COLUMN insp.endpoint_health.last_code IS 'Code of the last failure';
GRANT SELECT ON insp.endpoint_health TO insp_operator, insp_auditor;

CREATE TABLE insp.endpoint_tally (
    id bigint GENERATED ALWAYS AS IDENTITY,
    endpoint_id bigint NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    gone boolean NOT NULL,
    code text,
    PRIMARY KEY (endpoint_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.endpoint_tally IS
    'Outcomes that could not be counted in insp.endpoint_health because another transaction held the row; the next dispatcher that locks it counts them';
COMMENT ON COLUMN insp.endpoint_tally.id IS 'Internal number';
COMMENT ON COLUMN insp.endpoint_tally.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_tally.succeeded IS 'Attempts that were answered with 2xx';
COMMENT ON COLUMN insp.endpoint_tally.failed IS 'Attempts that failed';
COMMENT ON COLUMN insp.endpoint_tally.gone IS 'Whether one of them was answered with 410 at the endpoint''s own URL';
COMMENT ON COLUMN insp.endpoint_tally.code IS 'Code of the last failure';
GRANT SELECT ON insp.endpoint_tally TO insp_operator, insp_auditor;

CREATE TABLE insp.client_authorization (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL REFERENCES insp.partner,
    name text CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    provider text NOT NULL DEFAULT 'client_credentials' CHECK (provider ~ '^[a-z][a-z0-9_-]{0,63}$'),
    grant_type text,
    token_url text,
    revocation_url text,
    client_id text,
    scope text,
    method text NOT NULL DEFAULT 'basic' CHECK (method IN ('basic', 'post', 'tls', 'none')),
    parameters jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(parameters) = 'object')
);
CREATE UNIQUE INDEX client_authorization_name ON insp.client_authorization (partner_id, name);
COMMENT ON TABLE insp.client_authorization IS
    'Authorizations at partners'' providers (OAuth 2.0): named ones, which several endpoints of a partner may use, and those of one endpoint';
COMMENT ON COLUMN insp.client_authorization.id IS 'Number of the authorization';
COMMENT ON COLUMN insp.client_authorization.partner_id IS 'Whose it is';
COMMENT ON COLUMN insp.client_authorization.name IS
    'Its name among the partner''s; null: it belongs to one endpoint, and so do its secrets';
COMMENT ON COLUMN insp.client_authorization.provider IS
    'How tokens are obtained: client_credentials (RFC 6749 section 4.4), assertion (RFC 7521 section 4.1), or a provider built into the worker';
COMMENT ON COLUMN insp.client_authorization.grant_type IS
    'The grant type of the provider assertion; null: urn:ietf:params:oauth:grant-type:jwt-bearer (RFC 7523)';
COMMENT ON COLUMN insp.client_authorization.token_url IS 'Token endpoint of the authorization server';
COMMENT ON COLUMN insp.client_authorization.revocation_url IS
    'Where tokens are revoked when the authorization is removed or replaced (RFC 7009); null: they expire';
COMMENT ON COLUMN insp.client_authorization.client_id IS 'Our identifier there; its secret is client_secret';
COMMENT ON COLUMN insp.client_authorization.scope IS 'Scopes to request, separated by spaces';
COMMENT ON COLUMN insp.client_authorization.method IS
    'How we authenticate: basic (HTTP Basic, RFC 6749 section 2.3.1), post (in the body), tls (the endpoint''s client certificate, RFC 8705), none (the assertion suffices)';
COMMENT ON COLUMN insp.client_authorization.parameters IS 'Further fields of the request for a token, such as audience';
GRANT SELECT ON insp.client_authorization TO insp_operator, insp_auditor;

CREATE TABLE insp.endpoint_authorization (
    endpoint_id bigint PRIMARY KEY REFERENCES insp.endpoint,
    authorization_id bigint NOT NULL REFERENCES insp.client_authorization
);
CREATE INDEX endpoint_authorization_used ON insp.endpoint_authorization (authorization_id);
COMMENT ON TABLE insp.endpoint_authorization IS 'Endpoints whose requests have an access token (OAuth 2.0)';
COMMENT ON COLUMN insp.endpoint_authorization.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.endpoint_authorization.authorization_id IS 'The authorization with which it gets its tokens';
GRANT SELECT ON insp.endpoint_authorization TO insp_operator, insp_auditor;

CREATE TABLE insp.access_token (
    endpoint_id bigint PRIMARY KEY REFERENCES insp.endpoint,
    generation bigint NOT NULL DEFAULT 0,
    refresh_at timestamptz,
    expires_at timestamptz,
    permit bigint,
    permit_until timestamptz,
    failed_until timestamptz,
    last_code text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.access_token IS 'State of each endpoint''s access token, which all dispatchers share; the token is the secret access_token';
COMMENT ON COLUMN insp.access_token.endpoint_id IS 'The endpoint';
COMMENT ON COLUMN insp.access_token.generation IS 'Rises with each token: the refusal of an old one must not invalidate a newer one';
COMMENT ON COLUMN insp.access_token.refresh_at IS 'When one dispatcher gets the next token while the others continue with this one';
COMMENT ON COLUMN insp.access_token.expires_at IS 'When it expires';
COMMENT ON COLUMN insp.access_token.permit IS 'Number of the current permit to refresh it';
COMMENT ON COLUMN insp.access_token.permit_until IS 'When that permit lapses, in case its holder has died';
COMMENT ON COLUMN insp.access_token.failed_until IS 'After a failure, no dispatcher asks again before this';
COMMENT ON COLUMN insp.access_token.last_code IS 'Code of the last failure (insp.error_code)';
GRANT SELECT (endpoint_id, generation, refresh_at, expires_at, permit_until, failed_until, last_code)
    ON insp.access_token TO insp_operator, insp_auditor;
CREATE SEQUENCE insp.access_token_permit AS bigint;
COMMENT ON SEQUENCE insp.access_token_permit IS 'Numbers of permits to refresh or to revoke a token; each is used once';

CREATE TABLE insp.token_revocation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id bigint NOT NULL REFERENCES insp.endpoint,
    authorization_name text,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ends_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    permit bigint,
    last_code text,
    token_permit bigint
);
CREATE INDEX token_revocation_due ON insp.token_revocation (due_at);
CREATE INDEX token_revocation_endpoint ON insp.token_revocation (endpoint_id);
COMMENT ON TABLE insp.token_revocation IS
    'Access tokens that dispatchers have to revoke (RFC 7009), since their authorization was removed or replaced. Each token is the secret revocation, together with its endpoint''s settings at that time';
COMMENT ON COLUMN insp.token_revocation.id IS 'Number of the revocation';
COMMENT ON COLUMN insp.token_revocation.endpoint_id IS 'Whose token it was';
COMMENT ON COLUMN insp.token_revocation.authorization_name IS 'Name of the authorization; null: the endpoint''s own';
COMMENT ON COLUMN insp.token_revocation.requested_at IS 'When the authorization was removed';
COMMENT ON COLUMN insp.token_revocation.due_at IS 'When a dispatcher tries next; while one is trying, when another one may';
COMMENT ON COLUMN insp.token_revocation.ends_at IS 'When dispatchers stop trying: the token has expired, or a day has passed';
COMMENT ON COLUMN insp.token_revocation.attempts IS 'How often it was tried';
COMMENT ON COLUMN insp.token_revocation.permit IS 'Number of the permit to try it';
COMMENT ON COLUMN insp.token_revocation.last_code IS 'Code of the last failure (insp.error_code)';
COMMENT ON COLUMN insp.token_revocation.token_permit IS
    'Number of the permit to get the token, if a dispatcher was getting it when the authorization was removed; null: the token has arrived';
GRANT SELECT ON insp.token_revocation TO insp_operator, insp_auditor;
