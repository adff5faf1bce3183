CREATE SCHEMA insp;

CREATE TYPE insp.callback_endpoint AS (
	endpoint_id bigint,
	floor_microseconds bigint,
	claim_floor bigint,
	at_once integer,
	secrets text[],
	allow_http boolean,
	allow_private boolean,
	options text
);

CREATE TYPE insp.request AS (
	partner_id integer,
	endpoint_id bigint,
	workflow text,
	document_format text,
	review text,
	enrollment_mode text,
	request jsonb,
	personal jsonb,
	lane smallint,
	region smallint,
	run_at timestamp with time zone,
	expires_at timestamp with time zone,
	expires_named boolean,
	idempotency_key text,
	traceparent text,
	digests jsonb,
	part_urls jsonb
);

CREATE FUNCTION insp.accept(p_payloads jsonb[], p_inline text[], p_content bytea, p_sealed bytea DEFAULT NULL::bytea, p_key uuid DEFAULT NULL::uuid, OUT public_ids uuid[], OUT job_ids bigint[], OUT digests jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.accept_plain(p_payloads jsonb[], OUT public_ids uuid[], OUT job_ids bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.actor() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.add_checkpoint(p_number bigint, p_at_microseconds bigint, p_key_id text, p_heads text, p_signature bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.add_persons(p_partners integer[], p_indexes bytea[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.allow_authorization_secret(p_partner text, p_name text, p_sha256 text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.allow_endpoint_secret(p_endpoint bigint, p_sha256 text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.announce_pulls() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.approval_call(p_action text, p_arguments jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.approval_hint() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.approve(proposal bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.are_plain_sources(p_lines text, p_digests text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE TABLE insp.client_authorization (
    id bigint NOT NULL,
    partner_id integer NOT NULL,
    name text,
    provider text DEFAULT 'client_credentials'::text NOT NULL,
    grant_type text,
    token_url text,
    revocation_url text,
    client_id text,
    scope text,
    method text DEFAULT 'basic'::text NOT NULL,
    parameters jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT client_authorization_method_check CHECK ((method = ANY (ARRAY['basic'::text, 'post'::text, 'tls'::text, 'none'::text]))),
    CONSTRAINT client_authorization_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'::text)),
    CONSTRAINT client_authorization_parameters_check CHECK ((jsonb_typeof(parameters) = 'object'::text)),
    CONSTRAINT client_authorization_provider_check CHECK ((provider ~ '^[a-z][a-z0-9_-]{0,63}$'::text))
);

CREATE FUNCTION insp.authorization_detail(a insp.client_authorization) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.authorization_options(a insp.client_authorization, p_endpoint bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.authorization_settings(a insp.client_authorization) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.base64url(p_text text) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.batch_events() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.begin_epoch(p_fence bigint DEFAULT 0, p_seq bigint DEFAULT 0) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '2s'
    AS ...

CREATE FUNCTION insp.begin_objects() RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.bind_producer(login text, partner text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.bound_to(p_login text, p_otherwise text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_announce() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_authorize(p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL::text, p_scope text DEFAULT NULL::text, p_method text DEFAULT 'basic'::text, p_provider text DEFAULT 'client_credentials'::text, p_revocation_url text DEFAULT NULL::text, p_grant_type text DEFAULT NULL::text, p_assertion text DEFAULT NULL::text, p_parameters jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_breaker_reset(p_endpoint bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_by_webhook_id(p_webhook_id text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_choose(p_limit integer, p_retries integer, p_moment timestamp with time zone, p_endpoints bigint[], p_starts timestamp with time zone[], p_permits integer[], p_lates integer[], p_ordered bigint[], p_has_retries boolean, p_region smallint) RETURNS tid[]
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.callback_claim(p_limit integer, p_lease interval, p_retries integer, p_floor_microseconds bigint DEFAULT NULL::bigint, p_endpoints bigint[] DEFAULT '{}'::bigint[], p_floors_microseconds bigint[] DEFAULT '{}'::bigint[], p_claims bigint[] DEFAULT '{}'::bigint[], p_holder bigint DEFAULT NULL::bigint, p_region text DEFAULT NULL::text) RETURNS TABLE(floor_microseconds bigint, endpoints insp.callback_endpoint[], id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer, waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamp with time zone, definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint, sealed bytea, sealed_body bytea, partner_id integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.callback_counts() RETURNS TABLE(endpoint_id bigint, pending bigint, retrying bigint, held bigint, dead bigint, in_flight bigint, oldest bigint, delivered bigint, last_delivered_at timestamp with time zone, median_seconds double precision, recently_dead bigint, dead_code text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_dead_letter(p_webhook_id text, p_reason text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE TABLE insp.callback (
    id bigint NOT NULL,
    webhook_id text DEFAULT ('msg_'::text || replace((gen_random_uuid())::text, '-'::text, ''::text)) NOT NULL,
    job_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    event text DEFAULT 'job.finished'::text NOT NULL,
    url text NOT NULL,
    body bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    public_id uuid,
    traceparent text,
    definition_key text,
    decision text,
    is_expired boolean DEFAULT false NOT NULL,
    has_reference boolean DEFAULT false NOT NULL,
    has_result boolean DEFAULT false NOT NULL,
    is_sealed boolean DEFAULT false NOT NULL,
    is_erased boolean DEFAULT false NOT NULL,
    form smallint DEFAULT 1 NOT NULL,
    region smallint DEFAULT 0 NOT NULL,
    face text,
    CONSTRAINT callback_check CHECK (((body IS NOT NULL) OR (public_id IS NOT NULL))),
    CONSTRAINT callback_created_at_check CHECK (((created_at > '-infinity'::timestamp with time zone) AND (created_at < 'infinity'::timestamp with time zone))),
    CONSTRAINT callback_event_check CHECK (((event = 'job.finished'::text) OR (event ~ '^(job\.(review_needed|status\.[0-9]+)|endpoint\.[a-z]+)$'::text)))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY insp.callback ALTER COLUMN url SET STATISTICS 0;
ALTER TABLE ONLY insp.callback ALTER COLUMN traceparent SET STATISTICS 0;

CREATE FUNCTION insp.callback_decision(c insp.callback) RETURNS text
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.callback_delivered_at(c insp.callback) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_disable(p_endpoint bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_due(p_limit integer, p_moment timestamp with time zone, p_floor_microseconds bigint, p_endpoints bigint[], p_floors_microseconds bigint[], p_region smallint, OUT endpoints bigint[], OUT starts timestamp with time zone[], OUT retried boolean[], OUT waiting bigint[], OUT heads_microseconds bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.callback_enable(p_endpoint bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_enable_part(p_endpoint bigint, p_freed bigint, p_reached timestamp with time zone, p_limit integer, OUT freed bigint, OUT reached timestamp with time zone, OUT more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_free(p_moment timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.callback_heads(p_endpoint bigint, p_start timestamp with time zone, p_moment timestamp with time zone, p_fresh integer, p_late integer, p_region smallint) RETURNS TABLE(tuple tid, callback_id bigint, due_at timestamp with time zone, is_late boolean)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_is_reduced(p_job bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_ordering_key(p_ordering text, p_job bigint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_pause(p_endpoint bigint, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_permits(p_taken bigint[], p_starts timestamp with time zone[], p_retried boolean[], p_moment timestamp with time zone, p_claim bigint, p_holder bigint, p_endpoints bigint[], p_claims bigint[], OUT endpoints bigint[], OUT starts timestamp with time zone[], OUT limits integer[], OUT permits integer[], OUT lates integer[], OUT lowest bigint[], OUT urls text[], OUT inlined bigint[], OUT guarded bigint[], OUT ordered bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.callback_prepare() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.callback_progress() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.callback_renew(p_callback bigint, p_state text, p_reason text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_replay(p_webhook_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_replay(p_endpoint bigint, p_since timestamp with time zone, p_until timestamp with time zone DEFAULT now(), p_delivered boolean DEFAULT false, p_per_second double precision DEFAULT 50) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.callback_result(p_job bigint) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_resume(p_endpoint bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_rotate_secret(p_endpoint bigint, p_overlap interval DEFAULT '24:00:00'::interval, p_secret text DEFAULT NULL::text, p_purpose text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_sealed_body(p_job bigint) RETURNS bytea
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_settle(p_endpoints bigint[], p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays_ms bigint[], p_started_microseconds bigint[], p_durations_ms bigint[], p_statuses bigint[], p_codes text[], p_errors text[], p_worker text, OUT lost bigint[], OUT endpoints bigint[], OUT changes text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.callback_since(p_time timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.callback_unauthorize(p_endpoint bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.callback_use_authorization(p_endpoint bigint, p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.cancel(p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.cancel_each(p_jobs bigint[], p_queue integer, p_first bigint, p_last bigint, OUT done integer, OUT refusals jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.cancel_erased(p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.cancel_partner(partner text, reason text DEFAULT NULL::text, batch integer DEFAULT 1000, OUT cancelled integer, OUT kept integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.capture_challenge(p_token_sha256 bytea, p_browser_sha256 bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.capture_session (
    id uuid NOT NULL,
    partner_id integer NOT NULL,
    credential_id bigint NOT NULL,
    token_sha256 bytea NOT NULL,
    browser_sha256 bytea,
    request jsonb,
    return_url text,
    sealed bytea,
    user_index bytea,
    idempotency_key bytea,
    request_digest bytea,
    parts text[] NOT NULL,
    challenge text NOT NULL,
    fallback text NOT NULL,
    shows_result boolean NOT NULL,
    locale text,
    embed_origin text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    session_seconds integer NOT NULL,
    opened_at timestamp with time zone,
    submitted_at timestamp with time zone,
    consent jsonb,
    tries jsonb DEFAULT '{}'::jsonb NOT NULL,
    judged bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    repeats smallint DEFAULT 0 NOT NULL,
    challenges smallint DEFAULT 0 NOT NULL,
    challenge_id uuid,
    job_id uuid,
    CONSTRAINT capture_session_browser_sha256_check CHECK ((length(browser_sha256) = 32)),
    CONSTRAINT capture_session_challenge_check CHECK ((challenge = ANY (ARRAY['none'::text, 'colour_flash'::text, 'motion'::text]))),
    CONSTRAINT capture_session_fallback_check CHECK ((fallback = ANY (ARRAY['none'::text, 'review'::text]))),
    CONSTRAINT capture_session_idempotency_key_check CHECK ((length(idempotency_key) = 32)),
    CONSTRAINT capture_session_request_digest_check CHECK ((length(request_digest) = 32)),
    CONSTRAINT capture_session_token_sha256_check CHECK ((length(token_sha256) = 32))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');

CREATE FUNCTION insp.capture_check_open(s insp.capture_session, p_grace interval DEFAULT '00:00:00'::interval) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.partner (
    id integer NOT NULL,
    name text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    lane smallint DEFAULT 1 NOT NULL,
    region smallint,
    consent_required boolean DEFAULT false NOT NULL,
    callback_required boolean DEFAULT false NOT NULL,
    job_lifetime interval DEFAULT '7 days'::interval NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    pause_reason text,
    max_running integer,
    rate_per_second double precision,
    rate_burst integer,
    review text DEFAULT 'never'::text NOT NULL,
    keep_parts interval DEFAULT '30 days'::interval NOT NULL,
    keep_results interval DEFAULT '30 days'::interval NOT NULL,
    face_templates smallint DEFAULT 5 NOT NULL,
    face_attempts integer DEFAULT 10 NOT NULL,
    face_window interval DEFAULT '00:10:00'::interval NOT NULL,
    keep_faces interval,
    passive_signals_suffice boolean DEFAULT false NOT NULL,
    max_waiting bigint,
    max_bytes bigint,
    keep_references interval,
    erased_at timestamp with time zone,
    test_of integer,
    consent_policy_url text,
    consent_policy_version text,
    consent_purposes text[] DEFAULT '{}'::text[] NOT NULL,
    region_choice boolean DEFAULT false NOT NULL,
    callback_hosts text[],
    decision_policy jsonb DEFAULT '{}'::jsonb NOT NULL,
    decision_version integer DEFAULT 0 NOT NULL,
    vendor jsonb,
    capture_hosts text[],
    second_review boolean DEFAULT false NOT NULL,
    CONSTRAINT partner_callback_hosts_check CHECK (((cardinality(callback_hosts) >= 1) AND (cardinality(callback_hosts) <= 64))),
    CONSTRAINT partner_capture_hosts_check CHECK (((cardinality(capture_hosts) >= 1) AND (cardinality(capture_hosts) <= 64))),
    CONSTRAINT partner_consent_policy_url_check CHECK ((length(consent_policy_url) <= 255)),
    CONSTRAINT partner_consent_policy_version_check CHECK ((consent_policy_version ~ '^[A-Za-z0-9._-]{1,32}$'::text)),
    CONSTRAINT partner_consent_purposes_check CHECK ((cardinality(consent_purposes) <= 16)),
    CONSTRAINT partner_decision_policy_check CHECK ((jsonb_typeof(decision_policy) = 'object'::text)),
    CONSTRAINT partner_face_attempts_check CHECK ((face_attempts > 0)),
    CONSTRAINT partner_face_templates_check CHECK (((face_templates >= 1) AND (face_templates <= 20))),
    CONSTRAINT partner_face_window_check CHECK (((face_window > '00:00:00'::interval) AND (face_window <= '1 day'::interval))),
    CONSTRAINT partner_job_lifetime_check CHECK ((job_lifetime > '00:00:00'::interval)),
    CONSTRAINT partner_keep_faces_check CHECK (((keep_faces >= '01:00:00'::interval) AND (keep_faces <= '36525 days'::interval))),
    CONSTRAINT partner_keep_parts_check CHECK (((keep_parts = '00:00:00'::interval) OR ((keep_parts >= '01:00:00'::interval) AND (keep_parts <= '36525 days'::interval)))),
    CONSTRAINT partner_keep_references_check CHECK (((keep_references >= '01:00:00'::interval) AND (keep_references <= '36525 days'::interval))),
    CONSTRAINT partner_keep_results_check CHECK (((keep_results >= '01:00:00'::interval) AND (keep_results <= '36525 days'::interval))),
    CONSTRAINT partner_lane_check CHECK (((lane >= 0) AND (lane <= 2))),
    CONSTRAINT partner_max_bytes_check CHECK ((max_bytes > 0)),
    CONSTRAINT partner_max_running_check CHECK ((max_running > 0)),
    CONSTRAINT partner_max_waiting_check CHECK ((max_waiting > 0)),
    CONSTRAINT partner_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'::text)),
    CONSTRAINT partner_rate_burst_check CHECK ((rate_burst > 0)),
    CONSTRAINT partner_rate_per_second_check CHECK ((rate_per_second > (0)::double precision)),
    CONSTRAINT partner_review_check CHECK ((review = ANY (ARRAY['never'::text, 'rejected'::text, 'warning'::text, 'always'::text]))),
    CONSTRAINT partner_vendor_check CHECK ((jsonb_typeof(vendor) = 'object'::text))
);

CREATE FUNCTION insp.capture_consent(p insp.partner, p_at timestamp with time zone) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_create(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_options jsonb DEFAULT '{}'::jsonb, p_sealed bytea DEFAULT NULL::bytea, p_idempotency bytea DEFAULT NULL::bytea, p_digest bytea DEFAULT NULL::bytea, OUT token text, OUT expires_at text, OUT id uuid, OUT repeated boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.capture_find(p_token_sha256 bytea, p_browser_sha256 bytea DEFAULT NULL::bytea, OUT id uuid, OUT partner text, OUT partner_id integer, OUT state text, OUT is_mine boolean, OUT request jsonb, OUT return_url text, OUT sealed bytea, OUT parts text[], OUT challenge text, OUT fallback text, OUT shows_result boolean, OUT locale text, OUT embed_origin text, OUT expires_in_seconds integer, OUT consent jsonb, OUT policy_url text, OUT policy_version text, OUT purposes text[], OUT tries jsonb, OUT job uuid, OUT job_status smallint, OUT session_seconds integer) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.capture_grace() RETURNS interval
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_judge(p_token_sha256 bytea, p_browser_sha256 bytea, p_kind text, p_language text DEFAULT 'en'::text, p_image_sha256 bytea DEFAULT NULL::bytea, OUT attempt integer, OUT advice jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_lock(p_token_sha256 bytea, p_browser_sha256 bytea, p_grace interval DEFAULT '00:00:00'::interval) RETURNS insp.capture_session
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.capture_open(p_token_sha256 bytea, p_browser_sha256 bytea, p_policy_version text DEFAULT NULL::text, p_text text DEFAULT NULL::text, p_purposes text[] DEFAULT NULL::text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE TABLE insp.workflow (
    name text NOT NULL,
    place smallint NOT NULL,
    definition_key text NOT NULL,
    capabilities text[] NOT NULL,
    stages smallint[] NOT NULL,
    takes text[] NOT NULL,
    needs_all text[] DEFAULT '{}'::text[] NOT NULL,
    needs_one text[] DEFAULT '{}'::text[] NOT NULL,
    captures text[] DEFAULT '{}'::text[] NOT NULL,
    face_event text,
    meaning text NOT NULL,
    CONSTRAINT workflow_check CHECK ((needs_all <@ takes)),
    CONSTRAINT workflow_check1 CHECK ((needs_one <@ takes)),
    CONSTRAINT workflow_check2 CHECK ((captures <@ takes)),
    CONSTRAINT workflow_face_event_check CHECK ((face_event = ANY (ARRAY['enrollment'::text, 'verification'::text, 'liveness'::text]))),
    CONSTRAINT workflow_name_check CHECK ((name ~ '^[a-z_]+$'::text)),
    CONSTRAINT workflow_stages_check CHECK ((stages <@ ARRAY[(4)::smallint, (8)::smallint, (16)::smallint, (32)::smallint]))
);

CREATE FUNCTION insp.capture_parts(p_flow insp.workflow, p_format text, p_challenge text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_payload(s insp.capture_session, p_payload jsonb, p_kinds text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_repeat(p_credential bigint, p_idempotency bytea, p_digest bytea, p_token_sha256 bytea) RETURNS insp.capture_session
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.capture_result(p_token_sha256 bytea, p_browser_sha256 bytea) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.capture_submit(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[] DEFAULT '{}'::text[], p_contents bytea[] DEFAULT '{}'::bytea[], p_sealed bytea DEFAULT NULL::bytea, p_request_hmac bytea DEFAULT NULL::bytea, p_locations text[] DEFAULT NULL::text[], p_digests bytea[] DEFAULT NULL::bytea[], p_sizes integer[] DEFAULT NULL::integer[], OUT id uuid, OUT repeated boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.capture_try(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.case_reasons(p_summary jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.challenge_issue(partner text, method text DEFAULT 'colour_flash'::text, colours integer DEFAULT 7, colour_ms integer DEFAULT 400, steps integer DEFAULT 3, motions text[] DEFAULT ARRAY['MOUTH_OPEN'::text, 'SMILE'::text, 'BLINK'::text, 'SHAKE'::text, 'NOD'::text], step_timeout_ms integer DEFAULT 7000, lifetime interval DEFAULT NULL::interval) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.check_authorization(a insp.client_authorization, p_client_secret text, p_assertion text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.endpoint (
    id bigint NOT NULL,
    partner_id integer NOT NULL,
    url text,
    allow_http boolean DEFAULT false NOT NULL,
    allow_private boolean DEFAULT false NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    max_inflight integer DEFAULT 8 NOT NULL,
    is_default boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone,
    paused boolean DEFAULT false NOT NULL,
    paused_by_partner boolean DEFAULT false NOT NULL,
    disabled_reason text,
    events text[] DEFAULT '{job.finished}'::text[] NOT NULL,
    inline_result boolean DEFAULT false NOT NULL,
    ordering text,
    alert_endpoint_id bigint,
    http2 boolean DEFAULT false NOT NULL,
    pins text[],
    allowed_networks cidr[],
    client_certificate text,
    api_key_header text,
    origins text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT endpoint_allowed_networks_check CHECK (((cardinality(allowed_networks) >= 1) AND (cardinality(allowed_networks) <= 32))),
    CONSTRAINT endpoint_api_key_header_check CHECK (((api_key_header ~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]{1,64}$'::text) AND (lower(api_key_header) !~ '^(webhook-.*|host|connection|content-.*|transfer-encoding|te|upgrade|expect|traceparent|keep-alive|proxy-.*|trailer|authorization|user-agent|cookie)$'::text))),
    CONSTRAINT endpoint_check CHECK ((alert_endpoint_id <> id)),
    CONSTRAINT endpoint_events_check CHECK ((events <@ ARRAY['job.status'::text, 'job.review_needed'::text, 'job.finished'::text])),
    CONSTRAINT endpoint_max_inflight_check CHECK (((max_inflight >= 1) AND (max_inflight <= 1000))),
    CONSTRAINT endpoint_ordering_check CHECK ((ordering = ANY (ARRAY['job'::text, 'user'::text]))),
    CONSTRAINT endpoint_origins_check CHECK ((cardinality(origins) <= 32)),
    CONSTRAINT endpoint_pins_check CHECK ((array_to_string(pins, ' '::text, '-'::text) ~ '^sha256//[A-Za-z0-9+/]{43}=( sha256//[A-Za-z0-9+/]{43}=)?$'::text))
);

CREATE FUNCTION insp.check_callback(p jsonb, partner insp.partner, endpoint insp.endpoint) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_callback_host(p_url text, partner insp.partner) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_capture_options(p jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_challenge(p jsonb, p_flow insp.workflow, p_kinds text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_consent(p jsonb, partner insp.partner) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_digests(p_digests jsonb, p_inline text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_document(p jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_embedding(p_engine text, p_model_sha256 text, p_embedding text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_endpoint_authorization(e insp.endpoint, a insp.client_authorization) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE SEQUENCE insp.job_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.job (
    id bigint DEFAULT nextval('insp.job_id'::regclass) NOT NULL,
    public_id uuid DEFAULT gen_random_uuid() NOT NULL,
    partner_id integer NOT NULL,
    endpoint_id bigint,
    person_id bigint,
    lane smallint NOT NULL,
    region smallint DEFAULT 0 NOT NULL,
    status smallint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    workflow text NOT NULL,
    document_format text,
    review text,
    enrollment_mode text,
    rerun_of uuid,
    own_callback boolean DEFAULT false NOT NULL,
    traceparent text,
    request jsonb,
    personal bytea,
    sealed bytea,
    key_id uuid,
    consent_proof jsonb,
    forgotten_at timestamp with time zone,
    CONSTRAINT job_status_check CHECK ((status = ANY (ARRAY[1, 2, 4, 8, 16, 32, 64, 128])))
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY insp.job ALTER COLUMN traceparent SET STATISTICS 0;
ALTER TABLE ONLY insp.job ALTER COLUMN request SET STATISTICS 0;
ALTER TABLE ONLY insp.job ALTER COLUMN personal SET STATISTICS 0;
ALTER TABLE ONLY insp.job ALTER COLUMN sealed SET STATISTICS 0;
ALTER TABLE ONLY insp.job ALTER COLUMN consent_proof SET STATISTICS 0;

CREATE FUNCTION insp.check_enrollment(p_job insp.job, p_face text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.check_epoch() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_face_owner(p_partner integer, p_face text, p_reference bytea) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.check_face_request(p jsonb, p_flow insp.workflow) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_floors() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_indexes(p_indexes bytea[], p_most integer DEFAULT 2) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_jwk(p_jwk jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_keep(p_code text, p_what text, p_keep interval, p_least interval DEFAULT '01:00:00'::interval) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_kinds(p_format text, p_flow insp.workflow, p_kinds text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_origins(p_origins text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_part(p_kind text, p_bytes bytea, p_overhead integer, p_digest text) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_part_url(p_kind text, p_part jsonb, p_allow_http boolean, p_allow_private boolean) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_part_urls(p_parts jsonb, e insp.endpoint) RETURNS void
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_placed(p jsonb, p_inline text[], p_place bigint, p_count integer) RETURNS insp.request
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_purpose(p_purpose text, p_is_needed boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.check_request(p jsonb, p_inline text[]) RETURNS insp.request
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.check_sealed(p_sealed bytea, p_contents bytea[]) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE
    AS ...

CREATE FUNCTION insp.check_session(j insp.job) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.checkpoint_guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.queue (
    id integer NOT NULL,
    region smallint NOT NULL,
    lane smallint NOT NULL,
    partner_id integer NOT NULL,
    CONSTRAINT queue_lane_check CHECK (((lane >= 0) AND (lane <= 2)))
);

CREATE FUNCTION insp.claim(p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer, p_queues integer[], p_floors bigint[], p_limits integer[], p_known integer, p_fence bigint, p_seq bigint, p_horizon boolean) RETURNS TABLE(epoch bigint, last_seq bigint, snapshot_xmin xid8, snapshot_xmax xid8, limits integer[], queues insp.queue[], job_id bigint, fence bigint, attempt smallint, crashes smallint, queue integer, seq bigint, public_id uuid, status smallint, expired boolean, payload jsonb, traceparent text, steps bytea[], key_id uuid, partner_id integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.consent_hint(partner insp.partner) RETURNS text
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.consent_holds(id uuid, consent jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.consent_proof(p_consent jsonb, p_key bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_actor(p_token_sha256 bytea) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_approve(p_token_sha256 bytea, p_proposal bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_batch_fail(p_task bigint, p_batch integer, p_attempt bigint, p_state text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.console_batch_take(OUT task bigint, OUT batch integer, OUT attempt bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS ...

CREATE FUNCTION insp.console_begin(p_actor text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_begin_task(p_token_sha256 bytea, p_kind text, p_action text, p_filter jsonb, p_edge_microseconds bigint, p_reason text, p_seen text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_case(p_token_sha256 bytea, p_id uuid, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb, OUT runs jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_cases(p_token_sha256 bytea, p_partner text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_minutes integer DEFAULT 0, p_after_since_microseconds bigint DEFAULT NULL::bigint, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, partner text, workflow text, decision text, waits_seconds double precision, remains_seconds double precision, because text[], holder text, is_mine boolean, since_microseconds bigint, first_by text, may_take boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_count_once(p_actor text, p_waits boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '2s'
    AS ...

CREATE FUNCTION insp.console_dead(p_token_sha256 bytea, p_partner text DEFAULT NULL::text, p_code text DEFAULT NULL::text, p_edge_microseconds bigint DEFAULT NULL::bigint, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, partner text, workflow text, code text, detail text, attempts integer, died_microseconds bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_decide(p_token_sha256 bytea, p_id uuid, p_decision text, p_label text, p_note text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_decryption_keys(p_token_sha256 bytea) RETURNS TABLE(kid text, workers bigint, is_listed boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_drop_batches(p_task bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_end() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_end_person(p_token_sha256 bytea, p_person bigint, p_reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_end_sessions(person text, reason text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.console_endpoints(p_token_sha256 bytea) RETURNS TABLE(id bigint, partner text, origin text, pending bigint, in_flight bigint, held bigint, dead bigint, delivered bigint, oldest_seconds double precision, breaker text, last_code text, warnings text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_explain(p_token_sha256 bytea, p_id uuid) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_filter(p_kind text, p_filter jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_history(p_token_sha256 bytea, p_id uuid, p_limit integer DEFAULT 4) RETURNS TABLE(id uuid, at timestamp with time zone, kind text, status integer, document jsonb, sealed bytea, body bytea, partner_id integer, was_removed boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_job(p_token_sha256 bytea, p_roles text[], p_id uuid) RETURNS insp.job
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_keep(p_token_sha256 bytea, p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_key(p_token_sha256 bytea, p_id uuid, OUT key_id uuid, OUT partner_id integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_keys(p_token_sha256 bytea, OUT key_store text, OUT wrapping_key text, OUT former_key text, OUT changed timestamp with time zone, OUT keys bigint, OUT keys_oldest_seconds double precision, OUT persons bigint, OUT persons_oldest_seconds double precision, OUT faces bigint, OUT objects bigint, OUT objects_oldest_seconds double precision, OUT checkpoint bigint, OUT signer text, OUT signed timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_limits(p_token_sha256 bytea, p_after text DEFAULT NULL::text, p_partner text DEFAULT NULL::text) RETURNS TABLE(partner text, enabled boolean, paused boolean, pause_reason text, max_running integer, running bigint, rate_per_second double precision, rate_burst integer, max_waiting bigint, waiting bigint, max_bytes bigint, bytes bigint, may_change boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.console_next(p_token_sha256 bytea, p_partner text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_minutes integer DEFAULT 0) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_one(p_action text, p_target bigint, p_reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_overseer(p_token_sha256 bytea, p_roles text[]) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_part(p_token_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer, OUT partner_id integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_partner(p_token_sha256 bytea, p_partner text) RETURNS TABLE(kind text, name text, value text, used timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.console_partner_names(p_token_sha256 bytea) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.console_partners(p_token_sha256 bytea, p_roles text[], p_partner text, OUT actor text, OUT partners integer[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_pause(p_token_sha256 bytea, p_partner text, p_lane text, p_pauses boolean, p_reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.console_people(p_token_sha256 bytea) RETURNS TABLE(id bigint, name text, issuer text, subject text, roles text, since timestamp with time zone, seen timestamp with time zone, sessions bigint, cases bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_person_named(p_issuer text, p_subject text, p_name text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_plots(p_token_sha256 bytea, p_partner text, p_hours integer) RETURNS TABLE(at timestamp with time zone, lane text, waiting double precision, oldest_seconds double precision, running double precision, finished double precision, failed double precision, delivered double precision, undelivered double precision)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.console_preview(p_token_sha256 bytea, p_kind text, p_filter jsonb, OUT total integer, OUT before_microseconds bigint, OUT ids text[], OUT partners text[], OUT what text[], OUT seen text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_proposals(p_token_sha256 bytea) RETURNS TABLE(id bigint, action text, arguments text, proposed_by text, proposed timestamp with time zone, expires timestamp with time zone, state text, decided_by text, decided timestamp with time zone, is_own boolean, returns_secret boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_pulse(p_tokens bytea[], p_subjects text[]) RETURNS TABLE(page integer, stamp text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_queue(p_token_sha256 bytea) RETURNS TABLE(region text, lane text, partner text, paused boolean, waiting bigint, is_estimate boolean, oldest_seconds double precision, delayed bigint, running bigint, why text, remedy text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.console_record(p_token_sha256 bytea, p_chain text, p_from_seconds bigint DEFAULT NULL::bigint, p_end_seconds bigint DEFAULT NULL::bigint, p_actor text DEFAULT NULL::text, p_action text DEFAULT NULL::text, p_object text DEFAULT NULL::text, p_edge bigint DEFAULT NULL::bigint) RETURNS TABLE(id bigint, at timestamp with time zone, who text, action text, object text, purpose text, detail text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_reject(p_token_sha256 bytea, p_proposal bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_release(p_token_sha256 bytea, p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_selection(p_kind text, p_partners integer[], p_filter jsonb, p_before timestamp with time zone, p_limit integer) RETURNS TABLE(target bigint, queue integer, place bigint, version xid)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_session_of(p_token_sha256 bytea, p_is_use boolean DEFAULT true, OUT name text, OUT roles text[], OUT partners text[], OUT all_roles text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_set_limits(p_token_sha256 bytea, p_partner text, p_max_running integer, p_rate_per_second double precision, p_rate_burst integer, p_max_waiting bigint, p_max_bytes bigint, p_reason text, p_was jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.console_share(p_scanned integer, p_partners integer[]) RETURNS integer
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_sign_in(p_token_sha256 bytea, p_name text, p_method text, p_grants text[], p_issuer text DEFAULT NULL::text, p_subject text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_sign_out(p_token_sha256 bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_singly(p_action text, p_targets bigint[], p_reason text, OUT done integer, OUT refusals jsonb, OUT rest bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS ...

CREATE FUNCTION insp.console_sought(p_partners integer[], p_is_all boolean, p_partner text) RETURNS integer[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_state(p_token_sha256 bytea, p_id uuid, OUT status integer, OUT partner text, OUT workflow text, OUT waits_seconds double precision, OUT remains_seconds double precision, OUT decision text, OUT label text, OUT because text[], OUT holder text, OUT is_mine boolean, OUT until timestamp with time zone, OUT second boolean, OUT first_by text, OUT first_decision text, OUT first_label text, OUT first_is_mine boolean, OUT decided_by text, OUT confirmed text, OUT decided_at timestamp with time zone, OUT final_decision text, OUT final_label text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_step(p_task bigint, p_batch integer, p_attempt bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS ...

CREATE FUNCTION insp.console_stop_task(p_token_sha256 bytea, p_task bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_take(p_token_sha256 bytea, p_id uuid) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_tally(p_task bigint, p_done integer, p_refusals jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '20s'
    AS ...

CREATE FUNCTION insp.console_tasks(p_token_sha256 bytea) RETURNS TABLE(id bigint, who text, kind text, action text, partner text, filter text, reason text, began timestamp with time zone, total integer, done integer, refused integer, refusals text, ended timestamp with time zone, ended_by text, failure text, may_stop boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_timeline(p_token_sha256 bytea, p_id uuid) RETURNS TABLE(at timestamp with time zone, kind text, who text, detail text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_who(p_token_sha256 bytea, p_roles text[], OUT actor text, OUT partners integer[], OUT is_all boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.console_work(p_token_sha256 bytea, p_worker bigint DEFAULT NULL::bigint) RETURNS TABLE(worker bigint, id uuid, partner text, workflow text, stage text, attempt integer, since_seconds double precision, remains_seconds double precision)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.console_workers(p_token_sha256 bytea) RETURNS TABLE(id bigint, host text, process integer, version text, region text, slots integer, busy integer, leases bigint, state text, silent_seconds double precision)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.consume_challenge() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.content_freed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.count_usage(p_limit integer DEFAULT 2000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.create_credential(partner text, scopes text[] DEFAULT ARRAY['create'::text, 'read'::text], note text DEFAULT NULL::text, expires interval DEFAULT NULL::interval, rate_per_second double precision DEFAULT NULL::double precision, rate_burst integer DEFAULT NULL::integer, origins text[] DEFAULT '{}'::text[], OUT key_id text, OUT secret text, OUT bearer text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.create_endpoint(p_partner text, p_url text, p_allow_http boolean DEFAULT false, p_allow_private boolean DEFAULT false, p_make_secret boolean DEFAULT true, OUT endpoint_id bigint, OUT secret text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.create_partner(p_name text, p_callback_url text DEFAULT NULL::text, p_allow_http boolean DEFAULT false, p_allow_private boolean DEFAULT false, p_make_secret boolean DEFAULT true, OUT partner_id integer, OUT endpoint_id bigint, OUT secret text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.create_test_credential(partner text, scopes text[] DEFAULT ARRAY['create'::text, 'read'::text], note text DEFAULT NULL::text, expires interval DEFAULT NULL::interval, origins text[] DEFAULT '{}'::text[], OUT key_id text, OUT secret text, OUT bearer text, OUT test_partner text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.custody_mark(OUT history text, OUT job bigint) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.custody_partner(partner text) RETURNS integer
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.database_id() RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.dead_letter(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.decision_problem(p_policy jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.decision_stamp(partner insp.partner) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.decryption_keys() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.definition_key(p_workflow text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.delayed_by_queue() RETURNS TABLE(queue integer, last_error text, delayed bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.depth() RETURNS TABLE(measure text, lane text, value double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.drain_worker(p_worker bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.draw(p_key bytea, p_purpose text, p_kinds integer, p_count integer) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.drop_history(p_limit integer DEFAULT 100000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '50ms'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.drop_strays(p_queues integer[], p_floors bigint[], p_limit integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.drop_unkept_parts(p_jobs bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.duty_done(p_name text, p_by text, p_outcome jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.duty_failed(p_name text, p_by text, p_error text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.duty_take(p_name text, p_spacing interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.embedding_key(p_embedding text) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.end_partner(p insp.partner) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.token_revocation (
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    authorization_name text,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    permit bigint,
    last_code text,
    token_permit bigint
);

CREATE FUNCTION insp.end_revocation(r insp.token_revocation, p_code text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.end_token(p_endpoint bigint, p_may_be_sealed boolean DEFAULT true) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.end_unclaimed(p_jobs bigint[], p_code text, p_detail text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.endpoint_admit(p_endpoint bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_event_note(p_endpoint bigint, p_kind text, p_detail jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_hold(p_endpoint bigint, p_reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_judge(p_endpoint bigint, p_succeeded integer, p_failed integer, p_gone boolean, p_code text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_lock(p_endpoint bigint) RETURNS insp.endpoint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_options(e insp.endpoint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_owns(e insp.endpoint, p_url text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_partner(p_endpoint bigint) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.endpoint_problem(p_url text, p_allow_http boolean, p_allow_private boolean) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.enqueue(payload jsonb, front bytea DEFAULT NULL::bytea, back bytea DEFAULT NULL::bytea, face bytea DEFAULT NULL::bytea, frames bytea[] DEFAULT NULL::bytea[], dg1 bytea DEFAULT NULL::bytea, dg2 bytea DEFAULT NULL::bytea, sod bytea DEFAULT NULL::bytea, session_blob bytea DEFAULT NULL::bytea) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.enqueue_many(payloads jsonb[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.enqueue_parts(payload jsonb, kinds text[], contents bytea[], sealed bytea DEFAULT NULL::bytea, request_hmac bytea DEFAULT NULL::bytea, locations text[] DEFAULT NULL::text[], digests bytea[] DEFAULT NULL::bytea[], sizes integer[] DEFAULT NULL::integer[]) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.ensure_partitions(p_ahead bigint DEFAULT 15000000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '2s'
    AS ...

CREATE FUNCTION insp.ensure_partitions_late() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.erase(id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.erase_by_index(partner text, user_index bytea) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.erase_job(p_id uuid, p_for text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.erase_jobs(p_jobs bigint[], OUT removed integer, OUT templates integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.erase_keyless(p_jobs bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.erase_partner(partner text) RETURNS SETOF integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.erase_partner_data(partner text, after bigint DEFAULT 0, batch integer DEFAULT 200, OUT jobs integer, OUT templates integer, OUT persons integer, OUT kept integer, OUT last bigint, OUT more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.erase_person(partner text, reference text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.error_words(p_code text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.events_after(p_epoch bigint DEFAULT 0, p_position bigint DEFAULT 0, p_limit integer DEFAULT 1000) RETURNS TABLE(epoch bigint, "position" bigint, at timestamp with time zone, kind text, job uuid, partner text, detail jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.expire(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.explain_callbacks(p_job bigint) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.explain_delayed(p_job bigint) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.explain_ended(p_job bigint) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.explain_job(id text) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.explain_running(p_job bigint) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.explain_waiting(p_job bigint) RETURNS TABLE(aspect text, explanation text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.face_delete(partner text, face_id text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.face_event(p_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.face_features(partner text, face_id text, purpose text DEFAULT NULL::text) RETURNS TABLE(template bigint, engine text, model_sha256 text, feature text)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.face_finished() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.face_forget(p_templates bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.face_ids(p_partner integer, p_index bytea) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.face_import(partner text, face_id text, feature text, engine text, model_sha256 text, replace boolean DEFAULT false, user_reference text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.face_in_use(p_partner integer, p_index bytea, p_since timestamp with time zone) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.face_keep(p_partner integer, p_face text, p_replace boolean, p_engine text, p_model_sha256 text, p_embedding text, p_job uuid, p_person bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.face_of(p_job bigint, p_fence bigint) RETURNS TABLE(generation bigint, mode text, engine text, model_sha256 text, embedding text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.face_purge(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.face_remove(partner text, face_id text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.face_stage(p_job bigint, p_fence bigint, p_generation bigint, p_engine text, p_model_sha256 text, p_embedding text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.face_submitted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.face_templates(partner text, face_id text, purpose text DEFAULT NULL::text) RETURNS TABLE(template bigint, engine text, model_sha256 text, job uuid, created_at timestamp with time zone, generation bigint)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.face_words(p_event jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.faces_by_index(partner text, user_index bytea, purpose text DEFAULT NULL::text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.faces_of_person(partner text, reference text, purpose text DEFAULT NULL::text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.faces_remove(p_partner text, p_faces text[]) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.failed_face_event(p_workflow text, p_code text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.failure_summary(p_code text, p_detail text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.find_job(id text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.find_producers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.finish(p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[] DEFAULT NULL::bytea[], p_started timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_readable boolean DEFAULT true) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.finish_damaged(p_job bigint, p_fence bigint, p_state text, p_attempts smallint, p_crashes smallint, p_started timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.finish_failed(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.finish_spent(p_jobs bigint[], p_fences bigint[], p_queues integer[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]) RETURNS integer
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.finished_by_partner(p_within interval DEFAULT '00:01:00'::interval, p_pages integer DEFAULT 64) RETURNS TABLE(partner_id integer, region smallint, lane smallint, finished bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.finished_by_queue(p_within interval DEFAULT '00:01:00'::interval, p_pages integer DEFAULT 64) RETURNS TABLE(region smallint, lane smallint, finished bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.follow_partner() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.forget_callbacks(p_ids bigint[], p_remove boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.forget_keys(p_jobs bigint[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.forget_objects(p_locations text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.forget_persons(p_persons bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.forget_reasons(p_tasks bigint[]) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.forget_tasks(p_partner integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.forget_words(p_jobs bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.free_producer(login text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_answered(p_jobs bigint[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_unnumbered(p_callback bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.url_origin(p_url text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.callback_attempt (
    callback_id bigint NOT NULL,
    attempt integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    http_status integer,
    error text,
    worker text,
    code text
)
WITH (autovacuum_vacuum_insert_scale_factor='0.2');
ALTER TABLE ONLY insp.callback_attempt ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE insp.callback_lease (
    endpoint_id bigint NOT NULL,
    claim_id bigint NOT NULL,
    callback_id bigint NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    ordering_key text,
    recorded integer DEFAULT 0,
    holder bigint,
    region smallint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='100000');
ALTER TABLE ONLY insp.callback_lease ALTER COLUMN ordering_key SET STATISTICS 0;

CREATE TABLE insp.callback_waiting (
    callback_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    released integer NOT NULL,
    region smallint DEFAULT 0 NOT NULL,
    state text NOT NULL,
    ordering_key text,
    recorded integer DEFAULT 0,
    reason text,
    CONSTRAINT callback_waiting_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'held'::text, 'dead'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='50000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='100000');
ALTER TABLE ONLY insp.callback_waiting ALTER COLUMN ordering_key SET STATISTICS 0;
ALTER TABLE ONLY insp.callback_waiting ALTER COLUMN reason SET STATISTICS 0;

CREATE VIEW insp.v_callback AS
 SELECT c.id,
    c.webhook_id,
    c.job_id,
    c.endpoint_id,
    c.event,
    insp.url_origin(c.url) AS origin,
    c.created_at,
    COALESCE(w.state,
        CASE
            WHEN ((l.callback_id IS NOT NULL) OR ((c.url = 'pull:'::text) AND insp.is_unnumbered(c.id))) THEN 'pending'::text
            ELSE 'delivered'::text
        END) AS state,
    COALESCE((l.lease_until > now()), false) AS is_claimed,
    COALESCE(w.due_at, l.due_at) AS due_at,
    COALESCE(w.attempts, l.attempts, (( SELECT count(*) AS count
           FROM insp.callback_attempt a
          WHERE (a.callback_id = c.id)))::integer) AS attempts,
    COALESCE(w.released, l.released, 0) AS released,
    insp.callback_delivered_at(c.*) AS delivered_at,
    ( SELECT a.http_status
           FROM insp.callback_attempt a
          WHERE (a.callback_id = c.id)
          ORDER BY a.attempt DESC
         LIMIT 1) AS last_http_status,
    COALESCE(w.reason, ( SELECT a.error
           FROM insp.callback_attempt a
          WHERE (a.callback_id = c.id)
          ORDER BY a.attempt DESC
         LIMIT 1)) AS last_error,
    ( SELECT a.started_at
           FROM insp.callback_attempt a
          WHERE (a.callback_id = c.id)
          ORDER BY a.attempt DESC
         LIMIT 1) AS last_attempt_at
   FROM ((insp.callback c
     LEFT JOIN insp.callback_waiting w ON ((w.callback_id = c.id)))
     LEFT JOIN insp.callback_lease l ON (((l.endpoint_id = c.endpoint_id) AND (l.callback_id = c.id))));

CREATE FUNCTION insp.gateway_callback(c insp.v_callback, p_public_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_callbacks(p_credential bigint, p_secret_sha256 bytea, p_job uuid DEFAULT NULL::uuid, p_state text DEFAULT NULL::text, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_last text DEFAULT NULL::text, p_limit integer DEFAULT 50, OUT callback jsonb, OUT moment timestamp with time zone, OUT webhook_id text) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_cancel(p_credential bigint, p_secret_sha256 bytea, p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_challenge(p_credential bigint, p_secret_sha256 bytea, p_options jsonb DEFAULT '{}'::jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_create(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_traceparent text, p_kinds text[] DEFAULT '{}'::text[], p_contents bytea[] DEFAULT '{}'::bytea[], p_sealed bytea DEFAULT NULL::bytea, p_request_hmac bytea DEFAULT NULL::bytea, p_locations text[] DEFAULT NULL::text[], p_digests bytea[] DEFAULT NULL::bytea[], p_sizes integer[] DEFAULT NULL::integer[], p_document_scan boolean DEFAULT false, OUT id uuid, OUT job bigint, OUT status smallint, OUT repeated boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_credential(p_key_id text, p_secret_sha256 bytea, OUT id bigint, OUT partner text, OUT partner_id integer, OUT scopes text[], OUT rate_per_second double precision, OUT rate_burst integer, OUT origins text[], OUT is_test boolean) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_encryption(p_credential bigint, p_secret_sha256 bytea, p_scope text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_endpoint(p_partner integer, p_endpoint bigint) RETURNS insp.endpoint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_endpoint_act(p_credential bigint, p_secret_sha256 bytea, p_endpoint bigint, p_action text, p_options jsonb DEFAULT '{}'::jsonb, p_secret text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_endpoints(p_credential bigint, p_secret_sha256 bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_erase(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_events(p_credential bigint, p_secret_sha256 bytea, p_place text DEFAULT NULL::text, p_limit integer DEFAULT 100, p_endpoint bigint DEFAULT NULL::bigint) RETURNS TABLE(next text, start_epoch bigint, start_position bigint, endpoints insp.callback_endpoint[], id bigint, claim_id bigint, webhook_id text, endpoint_id bigint, url text, body bytea, attempts integer, released integer, waited_ms double precision, job uuid, traceparent text, elsewhere boolean, event text, created_at timestamp with time zone, definition_key text, user_reference text, decision text, is_expired boolean, result text, is_reduced boolean, form smallint, sealed bytea, sealed_body bytea, partner_id integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS ...

CREATE FUNCTION insp.gateway_export(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 20) RETURNS TABLE(id uuid, document jsonb, sealed bytea, body bytea, partner_id integer, personal jsonb, parts jsonb, notes jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_face(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea DEFAULT NULL::bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_face_delete(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea DEFAULT NULL::bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_face_ids(p_partner integer, p_face text, p_index bytea) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_finished(p_jobs bigint[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_job(p_partner integer, p_id uuid) RETURNS insp.job
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_jobs(p_credential bigint, p_secret_sha256 bytea, p_kinds text[], p_plain bytea[], p_hidden bytea[] DEFAULT '{}'::bytea[], p_status smallint DEFAULT NULL::smallint, p_after uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, status smallint, workflow text, created_at text, completed_at text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_key(p_credential bigint, p_secret_sha256 bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_number_pulls() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_origins() RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_part(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer DEFAULT 0, p_purpose text DEFAULT NULL::text, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_partner(p_credential bigint, p_secret_sha256 bytea, p_scope text) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_payload(p_partner integer, p_scope text, p_payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_person_faces(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_pulls(p_endpoints bigint[], p_epochs bigint[], p_positions bigint[]) RETURNS SETOF integer
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_replay(p_credential bigint, p_secret_sha256 bytea, p_webhook_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_report(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_purpose text DEFAULT 'review'::text, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT partner text, OUT encryption jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_rerun(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_key text DEFAULT NULL::text, OUT id uuid, OUT repeated boolean, OUT status smallint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_result(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_id uuid, OUT job bigint, OUT finished boolean, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT encryption jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_session_add(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_ordinal integer, p_content bytea, p_key text DEFAULT NULL::text, p_request_sha256 bytea DEFAULT NULL::bytea, OUT id uuid, OUT job bigint, OUT repeated boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_session_answer(p_credential bigint, p_secret_sha256 bytea, p_id uuid, OUT body bytea, OUT key_id uuid, OUT partner_id integer) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_session_find(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_content bytea DEFAULT NULL::bytea, OUT id uuid, OUT blobs integer, OUT key_id uuid, OUT repeated bigint, OUT idempotency_key text, OUT request_sha256 bytea) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_set_key(p_credential bigint, p_secret_sha256 bytea, p_jwk jsonb DEFAULT NULL::jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_token(p_credential bigint, p_secret_sha256 bytea, p_scopes text[] DEFAULT NULL::text[], OUT token text, OUT seconds integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.gateway_try(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_kinds text[]) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_usability(p_credential bigint, p_secret_sha256 bytea, p_language text DEFAULT 'en'::text, OUT code text, OUT advice text) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_usage(p_credential bigint, p_secret_sha256 bytea, p_month text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_withdraw(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], OUT cancelled integer, OUT erased integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.gateway_withdraw_job(p_credential bigint, p_secret_sha256 bytea, p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.heartbeat(p_worker bigint, p_incarnation uuid, p_busy integer, p_fence_floor bigint, p_floor_queues integer[], p_floor_seqs bigint[], p_epoch bigint, p_fence bigint, p_seq bigint, OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[], OUT fence bigint, OUT weights smallint[], OUT epoch bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.hmac_sha256(p_key bytea, p_message bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.hold_ended(p_jobs bigint[], p_fences bigint[], p_workers bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamp with time zone[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.hold_for_review(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) RETURNS TABLE(job bigint, is_damaged boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.id_prefix() RETURNS text
    LANGUAGE sql
    AS ...

CREATE FUNCTION insp.in_words(p_time interval) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.is_content_needed(p_from bigint, p_before bigint) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.is_empty(p_worker bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_length(p_interval interval) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_listed_host(p_url text, p_hosts text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_passing(p_state text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_plain_part(p_part jsonb, p_url text, p_sha256 text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE TABLE insp.proposal (
    id bigint NOT NULL,
    action text NOT NULL,
    arguments jsonb NOT NULL,
    proposed_by text NOT NULL,
    role oid NOT NULL,
    proposed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    approving xid8,
    outcome text,
    decided_by text,
    decided_at timestamp with time zone,
    CONSTRAINT proposal_check CHECK ((((outcome IS NULL) = (decided_by IS NULL)) AND ((outcome IS NULL) = (decided_at IS NULL)))),
    CONSTRAINT proposal_outcome_check CHECK ((outcome = ANY (ARRAY['approved'::text, 'rejected'::text])))
);

CREATE FUNCTION insp.is_proposer(p insp.proposal) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_retention_done(p_from bigint, p_before bigint) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.is_revoked_in(p_endpoint bigint, p_region smallint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_same_person(p_one text, p_other text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_sealed(id uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_staff() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.is_uuid(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.is_within_year(p_interval interval) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.iso_time(p_time timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.job_result(p_id uuid, p_purpose text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.jobs_by_index(partner text, user_index bytea, purpose text DEFAULT NULL::text) RETURNS SETOF uuid
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.jobs_by_reference(partner text, customer_reference text DEFAULT NULL::text, user_reference text DEFAULT NULL::text, status smallint DEFAULT NULL::smallint, purpose text DEFAULT NULL::text) RETURNS TABLE(id uuid, status smallint, created_at timestamp with time zone)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.jobs_of_person(p_partner integer, p_index bytea, p_person bigint) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.keep_of(p insp.partner, p_what text) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.keep_policy() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.key_writers() RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.keys_destroyed(p_keys uuid[], p_partners integer[], p_existed boolean[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.keys_gone(p_limit integer) RETURNS TABLE(key_id uuid, partner_id integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.keys_of_no_job(p_keys uuid[]) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.lane_name(p_lane smallint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.lane_number(p_lane text) RETURNS smallint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.last_checkpoint() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.limit_partner(partner text, max_running integer DEFAULT NULL::integer, rate_per_second double precision DEFAULT NULL::double precision, rate_burst integer DEFAULT NULL::integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.link_persons(p_jobs bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.link_record(p_limit integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.list_keys(p_keys uuid[], p_partners integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.list_persons(p_partner integer, p_indexes bytea[], p_keeps_jobs boolean DEFAULT false) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.listed_hosts(p_hosts text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.lock_chains(p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.lock_face_jobs(p_partner integer, p_faces text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.lock_person(p_partner integer, p_indexes bytea[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.locked_jobs(p_jobs bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.log_reading(p_what text, p_purpose text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.look_again(p_what text, p_partner integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.make_queue() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.mask_place(p_key bytea, p_tag bytea, p_bytes bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE
    AS ...

CREATE FUNCTION insp.may_act(p_partner integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.may_be_of_row(p_state text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.may_lead(e insp.endpoint, p_url text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.measure_quotas() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.named_authorization(p_partner integer, p_name text) RETURNS insp.client_authorization
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.names_face(p_workflow text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.need_allowed_authorization_secret(p_partner integer, p_name text, p_secret text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.need_allowed_secret(p_endpoint bigint, p_secret text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.need_approval(p_action text, p_applies boolean DEFAULT true) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.need_consent_key() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.need_cursor_key() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.need_read_committed() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.needs_purpose() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.new_persons(p_payloads jsonb[]) RETURNS TABLE(partner_id integer, index bytea)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.new_secret() RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.note_references(p_jobs bigint[], p_payloads jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.note_withdrawal(p_jobs bigint[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.notify(p_channel text, p_payload text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.number_events(p_limit integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.number_pulls(p_limit integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.numbers_of_no_partner(p_numbers integer[]) RETURNS SETOF integer
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.object_horizon() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.object_key(p_location text) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.object_sweep(OUT after text, OUT until text) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.objects_deleted(p_locations text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.objects_gone(p_root text, p_limit integer) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.objects_of_no_part(p_locations text[]) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.objects_swept(p_to text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.oldest_unnumbered_seconds() RETURNS double precision
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.open_proposal(p_number bigint) RETURNS insp.proposal
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_counts(p_parts bigint[], p_results bigint[], p_requests bigint[]) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.partner_keeps() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_lock(p_partner text) RETURNS insp.partner
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_number(p_partner text) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_region(p_region text) RETURNS smallint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_settings(p insp.partner) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.partner_units() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.parts(p_job bigint, p_fence bigint, p_limit bigint) RETURNS TABLE(kind text, ordinal smallint, sha256 bytea, is_sealed boolean, url text, bytes bytea, allow_http boolean, allow_private boolean, networks text[], size integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.pause(lane text DEFAULT NULL::text, partner text DEFAULT NULL::text, reason text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.payload_place(p_place bigint, p_count integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.pending_callbacks(OUT pending bigint, OUT retrying bigint, OUT oldest_seconds double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.person_destroyed(p_partner integer, p_index bytea, p_since timestamp with time zone, p_existed boolean, p_keeps_jobs boolean DEFAULT false) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.person_of(p_partner integer, p_index bytea) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.personal(p_personal bytea) RETURNS jsonb
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.personal_bytes(p_personal jsonb) RETURNS bytea
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.persons(p_payloads jsonb[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.persons_gone(p_limit integer) RETURNS TABLE(partner_id integer, index bytea, since timestamp with time zone, microseconds bigint, keeps_jobs boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.place_tag(p_key bytea, p_endpoint bigint, p_bytes bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE
    AS ...

CREATE FUNCTION insp.plain_requests(p_payloads jsonb[]) RETURNS TABLE(n bigint, payload jsonb, is_plain boolean, has_others boolean, urls text, digests text)
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.plain_result(j insp.job) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.policy_columns(p insp.partner) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET "IntervalStyle" TO 'iso_8601'
    AS ...

CREATE FUNCTION insp.policy_of(job uuid) RETURNS TABLE(version integer, valid_from timestamp with time zone, policy jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.promote(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.propose(action text, arguments jsonb, expires interval DEFAULT '1 day'::interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.pull_again(p_callbacks bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.pull_place(p_endpoint bigint, p_epoch bigint, p_position bigint) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.pull_waiting(p_callbacks bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.pulled_endpoint(p_partner integer, p_endpoint bigint) RETURNS insp.endpoint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.purge(p_limit integer DEFAULT 1000, OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '200ms'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.purge_batch(p_what text, p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.purge_callbacks(p_limit integer, OUT removed integer, OUT walked integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.purge_class(p_what text, p_keep interval, p_limit integer, OUT removed bigint[], OUT more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.purge_horizon(p_what text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.purge_jobs(p_what text, p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.purge_late(p_limit integer, OUT parts bigint[], OUT results bigint[], OUT requests bigint[], OUT callbacks integer, OUT walked integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.purge_rows(p_limit integer, OUT keys integer, OUT others integer, OUT more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.purge_tasks(p_until timestamp with time zone, p_limit integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.queue_of(p_region smallint, p_lane smallint, p_partner integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.random_id(p_prefix text) RETURNS uuid
    LANGUAGE sql
    AS ...

CREATE FUNCTION insp.random_key() RETURNS bytea
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS ...

CREATE FUNCTION insp.random_token() RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.read_place(p_endpoint bigint, p_place text, OUT epoch bigint, OUT "position" bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.readable_personal(p_personal bytea) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.reasons(language text DEFAULT 'en'::text) RETURNS TABLE(code text, labels text[], parts text[], contract_code integer, advice text, mobile_code text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.recent_attempts(p_within interval DEFAULT '00:05:00'::interval, p_limit integer DEFAULT 4000) RETURNS TABLE(at timestamp with time zone, duration_ms integer, delivered boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.recently_finished(p_within interval DEFAULT '00:05:00'::interval, p_pages integer DEFAULT 32) RETURNS TABLE(job_id bigint, at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.record(p_action text, p_subject text, p_detail jsonb DEFAULT '{}'::jsonb, p_purpose text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_access(p_credential bigint, p_action text, p_scope text, p_job uuid, p_detail jsonb DEFAULT '{}'::jsonb, p_purpose text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.record_chain_guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_checkpoints(p_after bigint DEFAULT 0, p_limit integer DEFAULT 5000) RETURNS TABLE(number bigint, line text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_each(p_action text, p_subjects text[], p_details jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.record (
    chain text NOT NULL,
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text DEFAULT SESSION_USER NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    purpose text,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    words jsonb,
    words_salt uuid,
    words_sha256 bytea,
    seq bigint,
    prev bytea,
    hash bytea
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='20000');
ALTER TABLE ONLY insp.record ALTER COLUMN words SET STATISTICS 0;

CREATE FUNCTION insp.record_hash(r insp.record, p_seq bigint, p_prev bytea) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_heads() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_keys(action text, partner text DEFAULT NULL::text, keys integer DEFAULT NULL::integer, wrapping_key text DEFAULT NULL::text, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_partner(p_action text, p_was insp.partner, p_detail jsonb DEFAULT '{}'::jsonb) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_reading(p_job uuid, p_status smallint, p_purpose text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_requests(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.record_rows(p_chain text, p_after bigint, p_limit integer DEFAULT 5000, p_words boolean DEFAULT false) RETURNS TABLE(seq bigint, line text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_search(p_action text, p_partner text, p_purpose text, p_is_needed boolean, p_detail jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.record_since(p_chain text, p_time timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_strays() RETURNS TABLE(chain text, seq bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_waits(p_chain text, p_before timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.record_words() RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.reference_index(p_reference text) RETURNS bytea
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.refuse(p_code text, p_detail text DEFAULT NULL::text, p_hint text DEFAULT NULL::text, p_field text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.region_hint() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.reject_proposal(proposal bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.release(p_jobs bigint[], p_fences bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.remove_authorization(p_partner text, p_name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.remove_parts(p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.remove_pulls(p_callbacks bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.remove_references(p_jobs bigint[], p_remove boolean, OUT jobs bigint[], OUT words integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.remove_results(p_jobs bigint[], p_word text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.replay_each(p_callbacks bigint[], OUT done integer, OUT refusals jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.request_lane(p jsonb) RETURNS smallint
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_partner(p jsonb) RETURNS insp.partner
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_personal(p jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.request_region(p jsonb, partner insp.partner) RETURNS smallint
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_review(p jsonb, partner insp.partner) RETURNS text
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_run_at(p jsonb) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_text(p_payload jsonb, p_key text) RETURNS text
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_time(p_payload jsonb, p_key text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_traceparent(p jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.request_workflow(p jsonb) RETURNS insp.workflow
    LANGUAGE plpgsql STABLE
    AS ...

CREATE FUNCTION insp.require(p_holds boolean, p_detail text, p_hint text DEFAULT NULL::text, p_code text DEFAULT 'PARAMETER_INVALID'::text, p_field text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.rerun(id uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.rerun_checks(p_jobs bigint[], partner insp.partner) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.rerun_each(p_jobs bigint[], OUT done integer, OUT refusals jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.rescue(p_dead_after interval DEFAULT '00:00:15'::interval, p_max_attempts integer DEFAULT 8, p_max_crashes integer DEFAULT 3, p_limit integer DEFAULT 1000, p_thorough boolean DEFAULT true, p_elapsed interval DEFAULT NULL::interval, OUT requeued integer, OUT dead_lettered integer, OUT workers integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.resolve_dead(id uuid, note text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.resolve_each(p_jobs bigint[], p_note text, OUT done integer, OUT refusals jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.result_document(j insp.job) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.result_frame(j insp.job) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.resume(lane text DEFAULT NULL::text, partner text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.retention_classes() RETURNS TABLE(what text, keep interval)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.retention_keeps() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.retire_callbacks(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.retire_record(p_chain text, p_before timestamp with time zone, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.retry_later(p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]) RETURNS SETOF bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.returns_secret(p_action text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.review(id uuid, decision text, label text DEFAULT NULL::text, note text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.review_reasons(p_summary jsonb, p_decision text, p_label text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.revocation_claim(p_region text DEFAULT NULL::text, OUT id bigint, OUT permit bigint, OUT endpoint bigint, OUT document text, OUT due_in_seconds double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '1s'
    AS ...

CREATE FUNCTION insp.revocation_settle(p_id bigint, p_permit bigint, p_code text DEFAULT NULL::text, p_is_final boolean DEFAULT true) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '1s'
    AS ...

CREATE FUNCTION insp.revoke_credential(key_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.rotate_secret(p_endpoint bigint, p_overlap interval, p_secret text DEFAULT NULL::text, p_purpose text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.sample_nothing() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.sample_partners(p_most integer DEFAULT 200, p_minute timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.sample_queue() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.seal_of(p_bytes bytea) RETURNS smallint
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.seal_place(p_endpoint bigint, p_words bigint[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.sealed_document(j insp.job, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.sealed_face_delete(partner text, pseudonym text, face_index bytea) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.sealed_face_templates(partner text, pseudonym text, face_index bytea, purpose text DEFAULT NULL::text) RETURNS TABLE(template bigint, engine text, model_sha256 text, job uuid, created_at timestamp with time zone, generation bigint)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.sealed_result(p_id uuid, p_purpose text DEFAULT NULL::text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.sealed_review(p_id uuid, p_purpose text DEFAULT NULL::text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.sealed_values(p_job bigint, p_fence bigint) RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.secret_owner_gone() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.secret_seal(p_value text) RETURNS smallint
    LANGUAGE plpgsql IMMUTABLE
    AS ...

CREATE FUNCTION insp.secrets(p_owner text, p_purposes text[]) RETURNS TABLE(id bigint, purpose text, value bytea, valid_until timestamp with time zone)
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.session_begin(p_job bigint, p_fence bigint, p_blob integer DEFAULT 0) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_body bytea, p_blob integer DEFAULT 0) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '50ms'
    AS ...

CREATE FUNCTION insp.session_job(p_partner integer, p_id uuid) RETURNS insp.job
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.session_lease(p_fence bigint, p_blob integer DEFAULT 0) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.session_pause(p_job bigint, p_fence bigint, p_seconds double precision) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '50ms'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.session_result(id uuid, purpose text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.session_vendor(p_job bigint, p_fence bigint, OUT url text, OUT pins text[], OUT key_name text, OUT allow_private boolean, OUT networks text[], OUT reference text) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.set_approval(action text, needed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.set_authorization(p_partner text, p_name text, p_token_url text, p_client_id text, p_client_secret text DEFAULT NULL::text, p_scope text DEFAULT NULL::text, p_method text DEFAULT 'basic'::text, p_provider text DEFAULT 'client_credentials'::text, p_revocation_url text DEFAULT NULL::text, p_grant_type text DEFAULT NULL::text, p_assertion text DEFAULT NULL::text, p_parameters jsonb DEFAULT '{}'::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_callback_policy(partner text, hosts text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_capture_policy(partner text, hosts text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_consent_policy(partner text, required boolean, policy_url text DEFAULT NULL::text, policy_version text DEFAULT NULL::text, purposes text[] DEFAULT '{}'::text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_custody(key_store uuid, database uuid, wrapping_key text, former_key text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.set_decision_policy(partner text, policy jsonb) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_endpoint(p_endpoint bigint, p_settings jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_endpoint_secrets(e insp.endpoint, p_settings jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_face_limits(partner text, templates integer DEFAULT NULL::integer, attempts integer DEFAULT NULL::integer, "window" interval DEFAULT NULL::interval, keep interval DEFAULT NULL::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_lane_weight(lane text, weight integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_liveness_policy(partner text, passive_signals_suffice boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_origins(key_id text, origins text[]) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_partner(partner text, enabled boolean DEFAULT NULL::boolean, region text DEFAULT NULL::text, lane text DEFAULT NULL::text, review text DEFAULT NULL::text, consent_required boolean DEFAULT NULL::boolean, callback_required boolean DEFAULT NULL::boolean, job_lifetime interval DEFAULT NULL::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_partner_key(partner text, jwk jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_quota(partner text, max_waiting bigint DEFAULT NULL::bigint, max_bytes bigint DEFAULT NULL::bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.set_region_policy(partner text, region text, may_choose boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_regions(regions text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_retention(partner text DEFAULT NULL::text, keep_parts interval DEFAULT NULL::interval, keep_results interval DEFAULT NULL::interval, what text DEFAULT NULL::text, keep interval DEFAULT NULL::interval, keep_references interval DEFAULT NULL::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_second_review(partner text, needed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_secret(p_owner text, p_purpose text, p_value text, p_overlap interval DEFAULT '00:00:00'::interval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.set_vendor(partner text, vendor jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.settle(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) RETURNS TABLE(job bigint, is_damaged boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.settle_ended(p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamp with time zone[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS ...

CREATE FUNCTION insp.signing_purpose(p_key text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS ...

CREATE FUNCTION insp.snapshot(p_rate interval DEFAULT '00:00:10'::interval) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.spend(p_queues integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.stage_name(p_status smallint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS ...

CREATE FUNCTION insp.stage_result(p_id uuid, p_status integer DEFAULT 64, p_purpose text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE TABLE insp.step (
    job_id bigint NOT NULL,
    status smallint NOT NULL,
    fence bigint NOT NULL,
    stored_at timestamp with time zone DEFAULT now() NOT NULL,
    summary jsonb,
    seal smallint DEFAULT 0 NOT NULL,
    body bytea
)
PARTITION BY RANGE (job_id);
ALTER TABLE ONLY insp.step ALTER COLUMN summary SET STATISTICS 0;
ALTER TABLE ONLY insp.step ALTER COLUMN body SET STATISTICS 0;

CREATE FUNCTION insp.step_document(s insp.step) RETURNS jsonb
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.stop_chains(p_jobs bigint[], OUT jobs bigint[], OUT stopped integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.store_authorization(a insp.client_authorization) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.store_partner_key(p_partner integer, p_jwk jsonb, p_by text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_bodies bytea[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '50ms'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.sweep(p_limit integer DEFAULT 10000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.take_bytes(p_partner integer, p_max bigint, p_bytes bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.take_quota(p_partner integer, p_waiting bigint, p_bytes bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.take_waiting(p_partner integer, p_max bigint, p_jobs bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.take_waiting_of_many(p_partner integer, p_max bigint, p_jobs integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.tally(p_tally jsonb, p_code text, p_count integer DEFAULT 1) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.tasks_about(p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.tell(p_worker bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.templates_gone() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.test_mark(p_partner integer) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.test_partner(p_partner text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.thin_checkpoints(p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.token_fail(p_endpoint bigint, p_permit bigint, p_code text, p_wait_seconds double precision) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '1s'
    AS ...

CREATE FUNCTION insp.token_store(p_endpoint bigint, p_permit bigint, p_token text, p_lifetime_seconds double precision, p_early_seconds double precision) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '1s'
    AS ...

CREATE FUNCTION insp.token_take(p_endpoint bigint, p_refused bigint DEFAULT NULL::bigint, OUT token text, OUT generation bigint, OUT refresh_in_seconds double precision, OUT expires_in_seconds double precision, OUT permit bigint, OUT code text, OUT partner integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '1s'
    AS ...

CREATE FUNCTION insp.try_request(payload jsonb, kinds text[]) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.unbind_producer(login text, partner text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.unlink_authorization(p_endpoint bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.url_problem(p_url text, p_max integer, p_allow_http boolean, p_allow_private boolean) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS ...

CREATE FUNCTION insp.usage(p_partner text, p_since date, p_until date) RETURNS TABLE(month date, workflow text, decision text, error text, jobs bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.vendor_problem(p_vendor jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.verify_record(p_chain text, p_seq bigint DEFAULT NULL::bigint, p_hash text DEFAULT NULL::text, OUT outcome text, OUT broken_at bigint, OUT reason text, OUT first bigint, OUT last bigint, OUT hash text, OUT erased bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.visible_job(p_id uuid) RETURNS insp.job
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.waiting_by_queue(p_exact integer DEFAULT 20000) RETURNS TABLE(queue integer, waiting bigint, is_estimate boolean, head_seq bigint, head_job bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.waiting_sessions(p_jobs bigint[]) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS ...

CREATE FUNCTION insp.wake(p_lane smallint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.wake_all() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.was_seen(p_version xid, p_before bigint, p_also bigint[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS ...

CREATE FUNCTION insp.watch(p_dead_after interval, p_elapsed interval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS ...

CREATE FUNCTION insp.why_waiting(p_queues integer[]) RETURNS TABLE(queue integer, why text, remedy text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    AS ...

CREATE FUNCTION insp.withdraw_by_index(partner text, user_index bytea, OUT cancelled integer, OUT erased integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.withdraw_consent(id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET lock_timeout TO '5s'
    AS ...

CREATE FUNCTION insp.withdraw_person(partner text, reference text, OUT cancelled integer, OUT erased integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.within_limits(p_queues integer[], p_floors bigint[], p_limits integer[]) RETURNS integer[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS ...

CREATE FUNCTION insp.words_digest(p_salt uuid, p_words jsonb) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.worker_drained() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.worker_keys(p_worker bigint, p_keys jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.worker_region(p_region text) RETURNS smallint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.worker_register(p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer, OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE FUNCTION insp.workflow_hint(p_capabilities text[], p_what text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'insp', 'pg_temp'
    AS ...

CREATE TABLE insp.access_token (
    endpoint_id bigint NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    refresh_at timestamp with time zone,
    expires_at timestamp with time zone,
    permit bigint,
    permit_until timestamp with time zone,
    failed_until timestamp with time zone,
    last_code text
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE SEQUENCE insp.access_token_permit
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.approval (
    action text NOT NULL,
    is_needed boolean DEFAULT false NOT NULL,
    CONSTRAINT approval_action_check CHECK ((action ~ '^[a-z_]+$'::text))
);

CREATE SEQUENCE insp.callback_claim
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE insp.callback ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.callback_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.callback_pull (
    id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    callback_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    epoch bigint,
    "position" bigint,
    numbered_at timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='20000');
ALTER TABLE insp.callback_pull ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.callback_pull_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.case_lease (
    job_id bigint NOT NULL,
    actor text NOT NULL,
    taken_at timestamp with time zone DEFAULT now() NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE insp.challenge (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    partner_id integer NOT NULL,
    token_sha256 bytea NOT NULL,
    spec jsonb NOT NULL,
    issued_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    job_id bigint,
    capture_id uuid,
    CONSTRAINT challenge_token_sha256_check CHECK ((length(token_sha256) = 32))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');
ALTER TABLE insp.client_authorization ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.client_authorization_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.console_act (
    transaction xid8 NOT NULL,
    actor text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE insp.console_batch (
    task_id bigint NOT NULL,
    number integer NOT NULL,
    targets bigint[] NOT NULL,
    queue integer,
    first bigint,
    last bigint,
    attempts smallint DEFAULT 0 NOT NULL,
    attempt bigint NOT NULL,
    until timestamp with time zone,
    failure text,
    freed bigint,
    reached timestamp with time zone,
    CONSTRAINT console_batch_failure_check CHECK ((failure ~ '^[0-9A-Z]{5}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE insp.console_batch ALTER COLUMN attempt ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.console_batch_attempt_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.console_grant (
    session_id bigint NOT NULL,
    role text NOT NULL,
    partner_id integer,
    CONSTRAINT console_grant_role_check CHECK ((role = ANY (ARRAY['reviewer'::text, 'operator'::text, 'auditor'::text])))
);

CREATE TABLE insp.console_person (
    id integer NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    actor text NOT NULL,
    first_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT console_person_actor_check CHECK ((actor ~ '^console:[[:graph:]]{1,120}$'::text)),
    CONSTRAINT console_person_issuer_check CHECK (((octet_length(issuer) >= 1) AND (octet_length(issuer) <= 1000))),
    CONSTRAINT console_person_subject_check CHECK (((octet_length(subject) >= 1) AND (octet_length(subject) <= 255)))
);

CREATE TABLE insp.console_session (
    id bigint NOT NULL,
    token_sha256 bytea NOT NULL,
    actor text NOT NULL,
    method text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT console_session_method_check CHECK ((method = ANY (ARRAY['link'::text, 'oidc'::text]))),
    CONSTRAINT console_session_token_sha256_check CHECK ((length(token_sha256) = 32))
);
ALTER TABLE insp.console_session ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.console_session_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.console_task (
    id bigint NOT NULL,
    actor text NOT NULL,
    kind text NOT NULL,
    action text NOT NULL,
    partners integer[],
    filter jsonb DEFAULT '{}'::jsonb NOT NULL,
    reason text,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    before timestamp with time zone DEFAULT now() NOT NULL,
    total integer NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    refused integer DEFAULT 0 NOT NULL,
    refusals jsonb DEFAULT '{}'::jsonb NOT NULL,
    ended_at timestamp with time zone,
    ended_by text,
    failure text,
    seen_before bigint NOT NULL,
    seen_also bigint[] NOT NULL,
    CONSTRAINT console_task_action_check CHECK ((action = ANY (ARRAY['rerun'::text, 'resolve'::text, 'cancel'::text, 'replay'::text, 'pause'::text, 'resume'::text, 'enable'::text]))),
    CONSTRAINT console_task_failure_check CHECK ((failure ~ '^[0-9A-Z]{5}$'::text)),
    CONSTRAINT console_task_kind_check CHECK ((kind = ANY (ARRAY['dead'::text, 'jobs'::text, 'callbacks'::text, 'endpoints'::text]))),
    CONSTRAINT console_task_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 200)))
);
ALTER TABLE insp.console_task ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.console_task_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.content (
    id bigint NOT NULL,
    kind text NOT NULL,
    ordinal smallint NOT NULL,
    bytes bytea NOT NULL
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY insp.content ALTER COLUMN bytes SET STATISTICS 0;

CREATE TABLE insp.control (
    lane smallint NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    reason text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_by text DEFAULT SESSION_USER NOT NULL,
    weight smallint DEFAULT 1 NOT NULL,
    CONSTRAINT control_lane_check CHECK (((lane >= 0) AND (lane <= 2))),
    CONSTRAINT control_weight_check CHECK (((weight >= 1) AND (weight <= 1000)))
);

CREATE TABLE insp.country (
    code text NOT NULL,
    CONSTRAINT country_code_check CHECK ((code ~ '^[A-Z]{3}$'::text))
);

CREATE TABLE insp.credential (
    id bigint NOT NULL,
    partner_id integer NOT NULL,
    key_id text NOT NULL,
    note text,
    scopes text[] NOT NULL,
    rate_per_second double precision,
    rate_burst integer,
    origins text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text DEFAULT SESSION_USER NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    CONSTRAINT credential_key_id_check CHECK ((key_id ~ '^ik_[0-9a-f]{16}$'::text)),
    CONSTRAINT credential_note_check CHECK ((length(note) <= 200)),
    CONSTRAINT credential_rate_burst_check CHECK ((rate_burst > 0)),
    CONSTRAINT credential_rate_per_second_check CHECK ((rate_per_second > (0)::double precision)),
    CONSTRAINT credential_scopes_check CHECK ((cardinality(scopes) > 0))
);
ALTER TABLE insp.credential ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.credential_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.credential_token (
    key_id text NOT NULL,
    credential_id bigint NOT NULL,
    secret_sha256 bytea NOT NULL,
    scopes text[] NOT NULL,
    issued_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT credential_token_key_id_check CHECK ((key_id ~ '^it_[0-9a-f]{16}$'::text)),
    CONSTRAINT credential_token_scopes_check CHECK ((cardinality(scopes) > 0)),
    CONSTRAINT credential_token_secret_sha256_check CHECK ((length(secret_sha256) = 32))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');

CREATE TABLE insp.custody (
    single boolean DEFAULT true NOT NULL,
    key_store uuid NOT NULL,
    wrapping_key text NOT NULL,
    former_key text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    objects_swept_to text,
    objects_epoch bigint,
    CONSTRAINT custody_former_key_check CHECK ((former_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'::text)),
    CONSTRAINT custody_single_check CHECK (single),
    CONSTRAINT custody_wrapping_key_check CHECK ((wrapping_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'::text))
);

CREATE TABLE insp.dead (
    job_id bigint NOT NULL,
    partner_id integer NOT NULL,
    code text NOT NULL,
    detail text,
    attempts smallint NOT NULL,
    crashes smallint NOT NULL,
    died_at timestamp with time zone DEFAULT now() NOT NULL,
    resolved_at timestamp with time zone,
    resolved_by text
);
ALTER TABLE ONLY insp.dead ALTER COLUMN detail SET STATISTICS 0;

CREATE TABLE insp.delayed (
    run_at timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    crashes smallint DEFAULT 0 NOT NULL,
    last_error text,
    queue integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='100000');

CREATE TABLE insp.duty (
    name text NOT NULL,
    every interval NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    took interval,
    run_by text,
    outcome jsonb,
    failed_at timestamp with time zone,
    error text,
    failures integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='20', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

CREATE TABLE insp.endpoint_authorization (
    endpoint_id bigint NOT NULL,
    authorization_id bigint NOT NULL
);

CREATE TABLE insp.endpoint_health (
    endpoint_id bigint NOT NULL,
    window_start timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    succeeded integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    open_until timestamp with time zone,
    trips integer DEFAULT 0 NOT NULL,
    last_code text
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE insp.endpoint ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.endpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.endpoint_tally (
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    gone boolean NOT NULL,
    code text
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE insp.endpoint_tally ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.endpoint_tally_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.epoch (
    single boolean DEFAULT true NOT NULL,
    id bigint NOT NULL,
    system bigint NOT NULL,
    timeline text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    recovered_at timestamp with time zone,
    began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    reason text NOT NULL,
    set_back bigint DEFAULT 0 NOT NULL,
    database uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT epoch_single_check CHECK (single)
);

CREATE TABLE insp.error_code (
    code text NOT NULL,
    sqlstate text NOT NULL,
    message text NOT NULL,
    retryable boolean NOT NULL,
    http_status smallint,
    hint text,
    CONSTRAINT error_code_code_check CHECK ((code ~ '^[A-Z][A-Z_]+$'::text)),
    CONSTRAINT error_code_http_status_check CHECK (((http_status >= 400) AND (http_status <= 599))),
    CONSTRAINT error_code_sqlstate_check CHECK ((sqlstate ~ '^IN[0-9]{3}$'::text))
);

CREATE TABLE insp.error_contract (
    code text NOT NULL,
    mobile_code text NOT NULL,
    face_outcome text NOT NULL,
    payment_code integer,
    CONSTRAINT error_contract_mobile_code_check CHECK ((mobile_code ~ '^[A-Z][0-9]{5}$'::text))
);

CREATE TABLE insp.event (
    job_id bigint NOT NULL,
    kind text NOT NULL,
    fence bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    worker_id bigint,
    detail jsonb,
    CONSTRAINT event_kind_check CHECK ((kind = ANY (ARRAY['finished'::text, 'retry'::text, 'rescued'::text, 'released'::text, 'review_needed'::text])))
)
PARTITION BY RANGE (job_id);

CREATE TABLE insp.event_batch (
    id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    kind text NOT NULL,
    jobs bigint[] NOT NULL,
    fences bigint[] NOT NULL,
    epoch bigint,
    "position" bigint
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='20000');
ALTER TABLE insp.event_batch ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.event_batch_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.event_cursor (
    single boolean DEFAULT true NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    next_xid xid8 DEFAULT '0'::xid8 NOT NULL,
    open_xids xid8[] DEFAULT '{}'::xid8[] NOT NULL,
    CONSTRAINT event_cursor_single_check CHECK (single)
)
WITH (fillfactor='20', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

CREATE TABLE insp.expiry (
    expires_at timestamp with time zone NOT NULL,
    job_id bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000');

CREATE TABLE insp.face (
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    person_id bigint,
    generation bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT face_face_id_check CHECK (((length(face_id) >= 1) AND (length(face_id) <= 100)))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='100');
ALTER TABLE ONLY insp.face ALTER COLUMN face_id SET STATISTICS 0;

CREATE TABLE insp.face_job (
    job_id bigint NOT NULL,
    partner_id integer NOT NULL,
    face_id text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY insp.face_job ALTER COLUMN face_id SET STATISTICS 0;

CREATE TABLE insp.face_named (
    job_id bigint NOT NULL,
    partner_id integer NOT NULL,
    face_id text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY insp.face_named ALTER COLUMN face_id SET STATISTICS 0;

CREATE TABLE insp.face_outcome (
    outcome text NOT NULL,
    status text NOT NULL,
    code integer,
    error text,
    CONSTRAINT face_outcome_outcome_check CHECK ((outcome ~ '^[a-z_]+$'::text)),
    CONSTRAINT face_outcome_status_check CHECK ((status = ANY (ARRAY['success'::text, 'error'::text, 'cancelled'::text])))
);

CREATE TABLE insp.face_pending (
    job_id bigint,
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    engine text NOT NULL,
    model_sha256 text NOT NULL,
    embedding text NOT NULL,
    key_id uuid
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='100');
ALTER TABLE ONLY insp.face_pending ALTER COLUMN face_id SET STATISTICS 0;
ALTER TABLE ONLY insp.face_pending ALTER COLUMN embedding SET STATISTICS 0;

CREATE TABLE insp.face_rate (
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    since timestamp with time zone NOT NULL,
    attempts integer NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY insp.face_rate ALTER COLUMN face_id SET STATISTICS 0;

CREATE TABLE insp.face_template (
    id bigint NOT NULL,
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    engine text NOT NULL,
    model_sha256 text NOT NULL,
    embedding text NOT NULL,
    key_id uuid,
    job uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT face_template_embedding_check CHECK (((length(embedding) = ANY (ARRAY[1024, 1114])) AND (embedding ~ '^[0-9a-f]+$'::text))),
    CONSTRAINT face_template_engine_check CHECK ((engine ~ '^[[:print:]]{1,100}$'::text)),
    CONSTRAINT face_template_model_sha256_check CHECK ((model_sha256 ~ '^[0-9a-f]{64}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='100');
ALTER TABLE ONLY insp.face_template ALTER COLUMN face_id SET STATISTICS 0;
ALTER TABLE ONLY insp.face_template ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE insp.face_template ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.face_template_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE insp.fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.job_key (
    partner_id integer NOT NULL,
    key text NOT NULL,
    job_id bigint NOT NULL,
    public_id uuid NOT NULL,
    request_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY insp.job_key ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY insp.job_key ALTER COLUMN request_sha256 SET STATISTICS 0;

CREATE TABLE insp.job_reference (
    partner_id integer NOT NULL,
    kind text NOT NULL,
    index bytea NOT NULL,
    job_id bigint NOT NULL,
    CONSTRAINT job_reference_kind_check CHECK ((kind = ANY (ARRAY['customer'::text, 'user'::text, 'criteria'::text])))
);
ALTER TABLE ONLY insp.job_reference ALTER COLUMN index SET STATISTICS 0;

CREATE TABLE insp.key_gone (
    key_id uuid NOT NULL,
    partner_id integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE insp.label (
    label text NOT NULL,
    capabilities text[] NOT NULL,
    is_objection boolean NOT NULL,
    is_given boolean DEFAULT true NOT NULL,
    risk smallint DEFAULT 0 NOT NULL,
    CONSTRAINT label_label_check CHECK ((label ~ '^[A-Z][A-Z0-9_]{0,63}$'::text)),
    CONSTRAINT label_risk_check CHECK (((risk >= 0) AND (risk <= 99)))
);

CREATE TABLE insp.lease (
    job_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    deadline timestamp with time zone NOT NULL,
    queue integer NOT NULL,
    attempt smallint NOT NULL,
    crashes smallint NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='100000');

CREATE TABLE insp.object_gone (
    location text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE insp.observer (
    single boolean DEFAULT true NOT NULL,
    CONSTRAINT observer_single_check CHECK (single)
);

CREATE TABLE insp.part (
    job_id bigint NOT NULL,
    kind text NOT NULL,
    ordinal smallint DEFAULT 0 NOT NULL,
    size integer,
    sha256 bytea NOT NULL,
    seal smallint DEFAULT 0 NOT NULL,
    location text,
    content_id bigint
)
PARTITION BY RANGE (job_id);
ALTER TABLE ONLY insp.part ALTER COLUMN sha256 SET STATISTICS 0;
ALTER TABLE ONLY insp.part ALTER COLUMN location SET STATISTICS 0;

CREATE TABLE insp.part_kind (
    kind text NOT NULL,
    place smallint NOT NULL,
    source text NOT NULL,
    is_image boolean NOT NULL,
    is_many boolean DEFAULT false NOT NULL,
    meaning text NOT NULL,
    CONSTRAINT part_kind_kind_check CHECK ((kind ~ '^[A-Z][A-Z0-9_]+$'::text)),
    CONSTRAINT part_kind_source_check CHECK ((source = ANY (ARRAY['document'::text, 'chip'::text, 'person'::text, 'vendor'::text])))
);
ALTER TABLE insp.partner ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.partner_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.partner_key (
    partner_id integer NOT NULL,
    jwk jsonb NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    set_by text DEFAULT SESSION_USER NOT NULL
);

CREATE TABLE insp.partner_policy (
    partner_id integer NOT NULL,
    version integer NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    changed_by text DEFAULT SESSION_USER NOT NULL,
    policy jsonb NOT NULL
);

CREATE TABLE insp.partner_sample (
    partner_id integer NOT NULL,
    at timestamp with time zone NOT NULL,
    waiting integer NOT NULL,
    oldest_seconds integer NOT NULL,
    running integer NOT NULL,
    finished integer NOT NULL,
    failed integer NOT NULL,
    delivered integer NOT NULL,
    undelivered integer NOT NULL
);

CREATE TABLE insp.partner_tokens (
    partner_id integer NOT NULL,
    tokens double precision NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

CREATE TABLE insp.person (
    id bigint NOT NULL,
    partner_id integer NOT NULL,
    reference_index bytea,
    erased_at timestamp with time zone
);
ALTER TABLE ONLY insp.person ALTER COLUMN reference_index SET STATISTICS 0;

CREATE TABLE insp.person_gone (
    partner_id integer NOT NULL,
    index bytea NOT NULL,
    keeps_jobs boolean DEFAULT false NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT person_gone_index_check CHECK ((length(index) = 32))
);
ALTER TABLE insp.person ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.person_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.producer_partner (
    login name NOT NULL,
    partner_id integer NOT NULL,
    role oid NOT NULL,
    is_active boolean DEFAULT true NOT NULL
);
ALTER TABLE insp.proposal ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.proposal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.pull_cursor (
    single boolean DEFAULT true NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    next_xid xid8 DEFAULT '0'::xid8 NOT NULL,
    open_xids xid8[] DEFAULT '{}'::xid8[] NOT NULL,
    CONSTRAINT pull_cursor_single_check CHECK (single)
)
WITH (fillfactor='20', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

CREATE TABLE insp.pull_epoch (
    epoch bigint NOT NULL,
    former_epoch bigint,
    former_position bigint
);

CREATE TABLE insp.pull_gone (
    endpoint_id bigint NOT NULL,
    epoch bigint NOT NULL,
    "position" bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE insp.purge_later (
    due_at timestamp with time zone NOT NULL,
    what text NOT NULL,
    job_id bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000');
ALTER TABLE insp.queue ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.queue_sample (
    at timestamp with time zone NOT NULL,
    regions smallint[] NOT NULL,
    lanes smallint[] NOT NULL,
    waiting integer[] NOT NULL,
    oldest_seconds integer[] NOT NULL,
    running integer[] NOT NULL,
    delayed integer[] NOT NULL,
    finished integer[] NOT NULL,
    failed integer[] NOT NULL,
    callbacks integer NOT NULL,
    callbacks_oldest_seconds integer NOT NULL,
    workers integer NOT NULL,
    partners_cut boolean DEFAULT false NOT NULL
);

CREATE TABLE insp.quota (
    partner_id integer NOT NULL,
    waiting bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    measured_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE insp.quota_use (
    partner_id integer NOT NULL,
    waiting bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

CREATE SEQUENCE insp.ready_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.ready (
    job_id bigint NOT NULL,
    seq bigint DEFAULT nextval('insp.ready_seq'::regclass) NOT NULL,
    queue integer NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    crashes smallint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='50000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='100000');

CREATE TABLE insp.reason (
    code text NOT NULL,
    labels text[] NOT NULL,
    parts text[] NOT NULL,
    contract_code integer,
    mobile_code text,
    CONSTRAINT reason_code_check CHECK ((code ~ '^[A-Z][A-Z_]+$'::text)),
    CONSTRAINT reason_labels_check CHECK ((labels <> '{}'::text[])),
    CONSTRAINT reason_mobile_code_check CHECK ((mobile_code ~ '^[A-Z][0-9]{5}$'::text))
);

CREATE TABLE insp.reason_advice (
    code text NOT NULL,
    language text NOT NULL,
    advice text NOT NULL,
    CONSTRAINT reason_advice_language_check CHECK ((language ~ '^[a-z]{2}$'::text))
);

CREATE TABLE insp.record_chain (
    chain text NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    hash bytea DEFAULT decode(repeat('00'::text, 32), 'hex'::text) NOT NULL,
    anchor_seq bigint DEFAULT 0 NOT NULL,
    anchor_hash bytea DEFAULT decode(repeat('00'::text, 32), 'hex'::text) NOT NULL
)
WITH (fillfactor='20', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

CREATE TABLE insp.record_checkpoint (
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    key_id text NOT NULL,
    heads jsonb NOT NULL,
    signature bytea NOT NULL,
    CONSTRAINT record_checkpoint_heads_check CHECK ((jsonb_typeof(heads) = 'object'::text)),
    CONSTRAINT record_checkpoint_key_id_check CHECK ((key_id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT record_checkpoint_number_check CHECK ((number > 0)),
    CONSTRAINT record_checkpoint_signature_check CHECK ((length(signature) = 64))
);
ALTER TABLE insp.record ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.record_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.region (
    id smallint NOT NULL,
    name text NOT NULL,
    is_served boolean DEFAULT false NOT NULL,
    CONSTRAINT region_name_check CHECK ((name ~ '^[A-Z][A-Z0-9-]{1,15}$'::text)),
    CONSTRAINT region_not_any CHECK ((id > 0))
);

CREATE TABLE insp.rerun (
    job_id bigint NOT NULL,
    first_id bigint NOT NULL
);

CREATE TABLE insp.retention (
    what text NOT NULL,
    keep interval NOT NULL,
    CONSTRAINT retention_check CHECK (((keep >= '366 days'::interval) OR (what <> ALL (ARRAY['operator_events'::text, 'access_events'::text])))),
    CONSTRAINT retention_keep_check CHECK (((keep >= '01:00:00'::interval) AND (keep <= '36525 days'::interval))),
    CONSTRAINT retention_what_check CHECK ((what = ANY (ARRAY['events'::text, 'callbacks'::text, 'dead_callbacks'::text, 'idempotency_keys'::text, 'operator_events'::text, 'access_events'::text, 'endpoint_events'::text, 'samples'::text])))
);

CREATE TABLE insp.retention_cursor (
    what text NOT NULL,
    keep interval DEFAULT '00:00:00'::interval NOT NULL,
    next_id bigint DEFAULT 0 NOT NULL,
    ran_at timestamp with time zone,
    warned_at timestamp with time zone,
    CONSTRAINT retention_cursor_what_check CHECK ((what = ANY (ARRAY['parts'::text, 'results'::text, 'references'::text, 'callbacks'::text, 'partitions'::text, 'late'::text, 'rows'::text])))
)
WITH (fillfactor='50');

CREATE TABLE insp.retention_horizon (
    what text NOT NULL,
    safe_id bigint DEFAULT 0 NOT NULL,
    next_id bigint DEFAULT 0 NOT NULL,
    waits_for text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT retention_horizon_what_check CHECK ((what = ANY (ARRAY['job'::text, 'callback'::text])))
)
WITH (fillfactor='50');

CREATE TABLE insp.review_wait (
    job_id bigint NOT NULL,
    partner_id integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    decided_by text,
    decision text,
    label text,
    decided_at timestamp with time zone,
    CONSTRAINT review_wait_check CHECK ((num_nulls(decided_by, decision, label, decided_at) = ANY (ARRAY[0, 4]))),
    CONSTRAINT review_wait_decision_check CHECK ((decision = ANY (ARRAY['PASSED'::text, 'WARNING'::text, 'REJECTED'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000');

CREATE SEQUENCE insp.scanned
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.scope (
    scope text NOT NULL,
    meaning text NOT NULL,
    CONSTRAINT scope_scope_check CHECK ((scope ~ '^[a-z]+$'::text))
);

CREATE TABLE insp.secret (
    id bigint NOT NULL,
    owner text NOT NULL,
    purpose text NOT NULL,
    value bytea NOT NULL,
    seal smallint DEFAULT 0 NOT NULL,
    valid_from timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    valid_until timestamp with time zone,
    CONSTRAINT secret_owner_check CHECK (((owner ~ '^(endpoint|credential|authorization|revocation) [0-9]+$'::text) OR (owner = 'inspectd'::text))),
    CONSTRAINT secret_purpose_check CHECK ((purpose = ANY (ARRAY['signing_secret'::text, 'signing_key'::text, 'client_key'::text, 'api_key'::text, 'client_secret'::text, 'access_token'::text, 'credential'::text, 'consent_key'::text, 'cursor_key'::text, 'assertion'::text, 'revocation'::text]))),
    CONSTRAINT secret_seal_check CHECK ((seal = ANY (ARRAY[0, 1])))
);
ALTER TABLE ONLY insp.secret ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE insp.secret ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.secret_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE insp.steady
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;
ALTER TABLE insp.token_revocation ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.token_revocation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE insp.usage_count (
    partner_id integer NOT NULL,
    month date NOT NULL,
    workflow text NOT NULL,
    decision text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    jobs bigint NOT NULL,
    CONSTRAINT usage_count_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.2', autovacuum_vacuum_threshold='1000');

CREATE TABLE insp.usage_cursor (
    single boolean DEFAULT true NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    counted_to timestamp with time zone,
    CONSTRAINT usage_cursor_single_check CHECK (single)
)
WITH (fillfactor='20', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

CREATE VIEW insp.v_access AS
 SELECT r.at,
        CASE
            WHEN (c.id IS NOT NULL) THEN p.name
            ELSE ( SELECT x.name
               FROM (insp.job j
                 JOIN insp.partner x ON ((x.id = j.partner_id)))
              WHERE (j.public_id = r.job))
        END AS partner,
    c.key_id,
        CASE
            WHEN (c.id IS NULL) THEN r.actor
            ELSE NULL::text
        END AS operator,
    r.action,
    r.job,
    r.purpose,
    c.created_by
   FROM ((( SELECT w.at,
            w.actor,
            w.action,
            w.purpose,
            w.detail,
            NULLIF((w.subject)::uuid, '00000000-0000-0000-0000-000000000000'::uuid) AS job
           FROM insp.record w
          WHERE ((w.chain = 'access'::text) AND (w.seq IS NOT NULL))
        UNION ALL
         SELECT w.at,
            w.actor,
            w.action,
            w.purpose,
            w.detail,
            NULLIF((w.subject)::uuid, '00000000-0000-0000-0000-000000000000'::uuid) AS "nullif"
           FROM insp.record w
          WHERE (((w.chain || ''::text) = 'access'::text) AND (w.seq IS NULL))) r
     LEFT JOIN insp.credential c ON (((c.key_id = r.actor) AND (r.detail ? 'scope'::text))))
     LEFT JOIN insp.partner p ON ((p.id = c.partner_id)))
  WHERE ((NOT (r.detail ? 'scope'::text)) OR (c.id IS NOT NULL));

CREATE VIEW insp.v_authorization AS
 SELECT p.name AS partner,
    a.name AS authorization_name,
    u.endpoints,
    a.provider,
    a.grant_type,
    a.token_url,
    a.revocation_url,
    a.client_id,
    a.scope,
    a.method,
    a.parameters,
    u.tokens,
    u.last_code
   FROM ((insp.client_authorization a
     JOIN insp.partner p ON ((p.id = a.partner_id)))
     CROSS JOIN LATERAL ( SELECT COALESCE(array_agg(x.endpoint_id ORDER BY x.endpoint_id), '{}'::bigint[]) AS endpoints,
            count(*) FILTER (WHERE (t.expires_at > now())) AS tokens,
            min(t.last_code) AS last_code
           FROM (insp.endpoint_authorization x
             LEFT JOIN insp.access_token t ON ((t.endpoint_id = x.endpoint_id)))
          WHERE (x.authorization_id = a.id)) u)
  ORDER BY p.name, a.name NULLS FIRST, a.id;

CREATE VIEW insp.v_callback_dead AS
 SELECT p.name AS partner,
    c.webhook_id,
    c.endpoint_id,
    c.job_id,
    c.event,
    c.created_at,
    c.attempts,
    c.last_http_status,
    c.last_error,
    c.last_attempt_at
   FROM ((insp.v_callback c
     JOIN insp.endpoint e ON ((e.id = c.endpoint_id)))
     JOIN insp.partner p ON ((p.id = e.partner_id)))
  WHERE (c.id IN ( SELECT w.callback_id
           FROM insp.callback_waiting w
          WHERE (w.state = 'dead'::text)));

CREATE VIEW insp.v_callbacks AS
 SELECT e.id AS endpoint_id,
    p.name AS partner,
    e.enabled,
    k.pending,
    k.in_flight,
    k.retrying,
    k.held,
    k.dead,
    k.delivered,
    (now() - ( SELECT c.created_at
           FROM insp.callback c
          WHERE (c.id = k.oldest))) AS oldest_pending,
    k.last_delivered_at,
    k.median_seconds,
        CASE
            WHEN (NOT e.enabled) THEN 'disabled'::text
            WHEN e.paused THEN 'paused'::text
            WHEN (h.open_until > now()) THEN 'open'::text
            WHEN (h.open_until IS NOT NULL) THEN 'half open'::text
            ELSE 'closed'::text
        END AS breaker,
    h.failing_since,
    h.last_code,
    NULLIF(concat_ws('; '::text, e.disabled_reason,
        CASE
            WHEN (k.recently_dead > 0) THEN concat('dead-lettered within the last day: ', k.recently_dead, (', the last with '::text || k.dead_code))
            ELSE NULL::text
        END,
        CASE
            WHEN (e.api_key_header IS NOT NULL) THEN 'a static API key is deprecated: use insp.callback_authorize'::text
            ELSE NULL::text
        END,
        CASE
            WHEN (e.allow_private AND (e.allowed_networks IS NULL)) THEN 'every private address is allowed: set allowedNetworks'::text
            ELSE NULL::text
        END,
        CASE
            WHEN e.allow_http THEN 'plain http is allowed'::text
            ELSE NULL::text
        END,
        CASE
            WHEN (cardinality(e.pins) = 1) THEN 'one pin only: its key cannot be replaced without an outage'::text
            ELSE NULL::text
        END,
        CASE
            WHEN e.inline_result THEN 'results with personal data are sent'::text
            ELSE NULL::text
        END), ''::text) AS warnings
   FROM (((insp.endpoint e
     JOIN insp.partner p ON ((p.id = e.partner_id)))
     LEFT JOIN insp.endpoint_health h ON ((h.endpoint_id = e.id)))
     JOIN insp.callback_counts() k(endpoint_id, pending, retrying, held, dead, in_flight, oldest, delivered, last_delivered_at, median_seconds, recently_dead, dead_code) ON ((k.endpoint_id = e.id)));

CREATE VIEW insp.v_credential AS
 SELECT p.name AS partner,
    c.key_id,
    c.note,
    c.scopes,
        CASE
            WHEN (c.revoked_at IS NOT NULL) THEN 'revoked'::text
            WHEN (c.expires_at <= now()) THEN 'expired'::text
            WHEN (NOT p.enabled) THEN 'partner disabled'::text
            ELSE 'valid'::text
        END AS state,
    c.used_at,
    c.created_at,
    c.created_by,
    c.expires_at,
    c.revoked_at,
    c.rate_per_second,
    c.rate_burst,
    c.origins,
    (p.test_of IS NOT NULL) AS is_test
   FROM (insp.credential c
     JOIN insp.partner p ON ((p.id = c.partner_id)));

CREATE VIEW insp.v_custody AS
 SELECT c.key_store,
    c.wrapping_key,
    c.former_key,
    c.changed_at,
    insp.database_id() AS database
   FROM insp.custody c;

CREATE VIEW insp.v_dead AS
 SELECT j.public_id AS id,
    p.name AS partner,
    j.workflow,
    d.code,
    d.detail,
    d.attempts,
    d.crashes,
    d.died_at,
    d.resolved_at,
    d.job_id,
    d.resolved_by
   FROM ((insp.dead d
     JOIN insp.job j ON ((j.id = d.job_id)))
     JOIN insp.partner p ON ((p.id = j.partner_id)));

CREATE VIEW insp.v_partner_policy AS
 SELECT n.name AS partner,
    p.version,
    p.valid_from,
    lead(p.valid_from) OVER (PARTITION BY p.partner_id ORDER BY p.version) AS valid_until,
    p.changed_by,
    p.policy
   FROM (insp.partner_policy p
     JOIN insp.partner n ON ((n.id = p.partner_id)));

CREATE VIEW insp.v_decision_policy AS
 SELECT p.partner,
    ((p.policy ->> 'decision_version'::text))::integer AS version,
    min(p.valid_from) AS valid_from,
    NULLIF(max(COALESCE(p.valid_until, 'infinity'::timestamp with time zone)), 'infinity'::timestamp with time zone) AS valid_until,
    (array_agg(p.changed_by ORDER BY p.version))[1] AS changed_by,
    (p.policy -> 'decision_policy'::text) AS policy
   FROM insp.v_partner_policy p
  WHERE (((p.policy ->> 'decision_version'::text))::integer > 0)
  GROUP BY p.partner, (p.policy ->> 'decision_version'::text), (p.policy -> 'decision_policy'::text);

CREATE TABLE insp.worker (
    id bigint NOT NULL,
    incarnation uuid NOT NULL,
    host text NOT NULL,
    process integer NOT NULL,
    version text NOT NULL,
    region smallint DEFAULT 0 NOT NULL,
    lanes smallint[] NOT NULL,
    slots integer NOT NULL,
    busy integer DEFAULT 0 NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    floor_queues integer[] DEFAULT '{}'::integer[] NOT NULL,
    floor_seqs bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    fence_floor bigint DEFAULT 0 NOT NULL,
    beat_microseconds bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

CREATE TABLE insp.worker_key (
    worker_id bigint NOT NULL,
    kid text NOT NULL,
    jwk jsonb NOT NULL
);

CREATE VIEW insp.v_decryption_key AS
 WITH live AS (
         SELECT w.id
           FROM insp.worker w
          WHERE ((NOT w.draining) AND ((now() - w.heartbeat_at) <= '00:00:15'::interval))
        ), fleet AS (
         SELECT l.id
           FROM live l
        UNION
         SELECT k_1.worker_id
           FROM insp.worker_key k_1
          WHERE (NOT (EXISTS ( SELECT
                   FROM live)))
        )
 SELECT k.kid,
    (jsonb_agg(k.jwk ORDER BY k.worker_id DESC) -> 0) AS jwk,
    count(*) AS workers,
    ((count(*) = ( SELECT count(*) AS count
           FROM fleet)) AND (count(DISTINCT k.jwk) = 1)) AS is_listed
   FROM (insp.worker_key k
     JOIN fleet f ON ((f.id = k.worker_id)))
  GROUP BY k.kid;

CREATE VIEW insp.v_endpoint_events AS
 SELECT r.at,
    p.name AS partner,
    n.endpoint_id,
    r.action AS kind,
    r.detail
   FROM (((insp.record r
     CROSS JOIN LATERAL ( SELECT ("substring"(r.subject, '[0-9]+$'::text))::bigint AS endpoint_id) n)
     LEFT JOIN insp.endpoint e ON ((e.id = n.endpoint_id)))
     LEFT JOIN insp.partner p ON ((p.id = e.partner_id)))
  WHERE (r.chain = 'endpoint'::text)
  ORDER BY r.id DESC;

CREATE VIEW insp.v_error AS
 SELECT e.code,
    e.sqlstate,
    e.message,
    e.retryable,
    e.http_status,
    e.hint,
    c.mobile_code,
    o.error AS face_code,
    c.payment_code
   FROM ((insp.error_code e
     JOIN insp.error_contract c ON ((c.code = e.code)))
     JOIN insp.face_outcome o ON ((o.outcome = c.face_outcome)));

CREATE VIEW insp.v_faces AS
 SELECT p.name AS partner,
    count(DISTINCT t.face_id) AS faces,
    count(*) AS templates,
    t.engine,
    t.model_sha256,
    min(t.created_at) AS oldest,
    max(t.created_at) AS newest
   FROM (insp.face_template t
     JOIN insp.partner p ON ((p.id = t.partner_id)))
  GROUP BY p.name, t.engine, t.model_sha256;

CREATE VIEW insp.v_floor AS
 SELECT u.queue,
    min(u.seq) AS seq
   FROM insp.worker w,
    LATERAL UNNEST(w.floor_queues, w.floor_seqs) u(queue, seq)
  GROUP BY u.queue;

CREATE VIEW insp.v_maintenance AS
 SELECT d.name AS duty,
    d.every,
    d.finished_at,
    GREATEST('00:00:00'::interval, (clock_timestamp() - COALESCE(d.finished_at, d.since))) AS age,
    d.took,
    d.run_by,
    d.outcome,
    d.failed_at,
    d.failures,
    d.error,
        CASE
            WHEN (d.error IS NOT NULL) THEN 'fails'::text
            WHEN ((clock_timestamp() - COALESCE(d.finished_at, d.since)) > GREATEST('00:01:00'::interval, ((10)::double precision * d.every))) THEN 'late'::text
            ELSE 'well'::text
        END AS state
   FROM insp.duty d;

CREATE VIEW insp.v_operator_events AS
 SELECT r.at,
    r.actor AS who,
    r.action,
    r.subject,
    (r.detail || COALESCE(r.words, '{}'::jsonb)) AS detail,
    r.purpose
   FROM insp.record r
  WHERE (r.chain = 'operator'::text)
  ORDER BY r.id DESC;

CREATE VIEW insp.v_partner AS
 SELECT p.id,
    p.name,
    p.enabled,
    p.paused,
    insp.lane_name(p.lane) AS lane,
    COALESCE(g.name, 'any'::text) AS region,
    COALESCE(w.jobs, (0)::bigint) AS waiting,
    COALESCE(l.jobs, (0)::bigint) AS running,
    p.max_running,
    p.rate_per_second,
    COALESCE(d.jobs, (0)::bigint) AS dead_lettered,
    COALESCE(e.endpoints, (0)::bigint) AS endpoints,
    p.pause_reason,
    p.rate_burst,
    p.review,
    COALESCE(r.jobs, (0)::bigint) AS in_review,
    p.keep_parts,
    p.keep_results,
    p.passive_signals_suffice,
    p.consent_required,
    p.callback_required,
    p.job_lifetime,
    p.erased_at,
    (p.test_of IS NOT NULL) AS is_test,
    p.consent_policy_url,
    p.consent_policy_version,
    p.consent_purposes,
    p.region_choice,
    p.callback_hosts,
    p.decision_version,
    p.decision_policy,
    p.vendor,
    p.capture_hosts
   FROM ((((((insp.partner p
     LEFT JOIN insp.region g ON ((g.id = p.region)))
     LEFT JOIN ( SELECT q.partner_id,
            (sum(x.waiting))::bigint AS jobs
           FROM (insp.waiting_by_queue() x(queue, waiting, is_estimate, head_seq, head_job)
             JOIN insp.queue q ON ((q.id = x.queue)))
          GROUP BY q.partner_id) w ON ((w.partner_id = p.id)))
     LEFT JOIN ( SELECT q.partner_id,
            count(*) AS jobs
           FROM (insp.lease x
             JOIN insp.queue q ON ((q.id = x.queue)))
          GROUP BY q.partner_id) l ON ((l.partner_id = p.id)))
     LEFT JOIN ( SELECT x.partner_id,
            count(*) AS jobs
           FROM insp.dead x
          WHERE (x.resolved_at IS NULL)
          GROUP BY x.partner_id) d ON ((d.partner_id = p.id)))
     LEFT JOIN ( SELECT j.partner_id,
            count(*) AS jobs
           FROM (insp.review_wait x
             JOIN insp.job j ON ((j.id = ANY (ARRAY[x.job_id]))))
          WHERE (j.status = 64)
          GROUP BY j.partner_id) r ON ((r.partner_id = p.id)))
     LEFT JOIN ( SELECT x.partner_id,
            count(*) AS endpoints
           FROM insp.endpoint x
          WHERE x.enabled
          GROUP BY x.partner_id) e ON ((e.partner_id = p.id)));

CREATE VIEW insp.v_producer AS
 SELECT (b.login)::text AS login,
    p.name AS partner,
        CASE
            WHEN (NOT b.is_active) THEN 'was unbound, and acts for nobody: bind or free it'::text
            WHEN (r.rolname = b.login) THEN 'acts for the partner'::text
            WHEN (r.oid IS NOT NULL) THEN format('is called %s now, and no longer acts for any partner: bind it again'::text, r.rolname)
            WHEN (n.oid IS NOT NULL) THEN 'another login has the name, and acts for nobody by this: bind or unbind it'::text
            ELSE 'there is no such login'::text
        END AS state
   FROM (((insp.producer_partner b
     JOIN insp.partner p ON ((p.id = b.partner_id)))
     LEFT JOIN pg_roles r ON ((r.oid = b.role)))
     LEFT JOIN pg_roles n ON ((n.rolname = b.login)));

CREATE VIEW insp.v_proposal AS
 SELECT p.id AS proposal,
    p.action,
    p.arguments,
    p.proposed_by,
    p.proposed_at,
    p.expires_at,
    COALESCE(p.outcome,
        CASE
            WHEN (p.expires_at <= now()) THEN 'expired'::text
            ELSE 'open'::text
        END) AS state,
    p.decided_by,
    p.decided_at
   FROM insp.proposal p
  ORDER BY p.id DESC;

CREATE VIEW insp.v_queue AS
 SELECT COALESCE(g.name, 'any'::text) AS region,
    insp.lane_name(c.lane) AS lane,
    c.paused,
    COALESCE(w.jobs, (0)::bigint) AS waiting,
    COALESCE(w.is_estimate, false) AS is_estimate,
    (now() - ( SELECT j.created_at
           FROM insp.job j
          WHERE (j.id = w.first_job))) AS oldest,
    COALESCE(d.jobs, (0)::bigint) AS delayed,
    COALESCE(l.jobs, (0)::bigint) AS running,
    c.weight
   FROM (((((( SELECT (0)::smallint AS id
        UNION ALL
         SELECT region.id
           FROM insp.region) r
     CROSS JOIN insp.control c)
     LEFT JOIN insp.region g ON ((g.id = r.id)))
     LEFT JOIN ( SELECT q.region,
            q.lane,
            (sum(x.waiting))::bigint AS jobs,
            bool_or(x.is_estimate) AS is_estimate,
            min(x.head_job) AS first_job
           FROM (insp.waiting_by_queue() x(queue, waiting, is_estimate, head_seq, head_job)
             JOIN insp.queue q ON ((q.id = x.queue)))
          GROUP BY q.region, q.lane) w ON (((w.region = r.id) AND (w.lane = c.lane))))
     LEFT JOIN ( SELECT q.region,
            q.lane,
            (sum(x.delayed))::bigint AS jobs
           FROM (insp.delayed_by_queue() x(queue, last_error, delayed)
             JOIN insp.queue q ON ((q.id = x.queue)))
          GROUP BY q.region, q.lane) d ON (((d.region = r.id) AND (d.lane = c.lane))))
     LEFT JOIN ( SELECT q.region,
            q.lane,
            count(*) AS jobs
           FROM (insp.lease x
             JOIN insp.queue q ON ((q.id = x.queue)))
          GROUP BY q.region, q.lane) l ON (((l.region = r.id) AND (l.lane = c.lane))))
  WHERE ((r.id = 0) OR (EXISTS ( SELECT
           FROM insp.queue q
          WHERE ((q.region = r.id) AND (q.lane = c.lane)))));

CREATE VIEW insp.v_queue_sample AS
 SELECT s.at,
        CASE
            WHEN (u.region IS NOT NULL) THEN COALESCE(g.name, 'any'::text)
            ELSE NULL::text
        END AS region,
    insp.lane_name(u.lane) AS lane,
    u.waiting,
    make_interval(secs => (u.oldest_seconds)::double precision) AS oldest,
    u.running,
    u.delayed,
    u.finished,
    u.failed,
    s.callbacks,
    make_interval(secs => (s.callbacks_oldest_seconds)::double precision) AS callbacks_oldest,
    s.workers
   FROM ((insp.queue_sample s
     LEFT JOIN LATERAL UNNEST(s.regions, s.lanes, s.waiting, s.oldest_seconds, s.running, s.delayed, s.finished, s.failed) u(region, lane, waiting, oldest_seconds, running, delayed, finished, failed) ON (true))
     LEFT JOIN insp.region g ON ((g.id = u.region)));

CREATE VIEW insp.v_quota AS
 SELECT p.name AS partner,
    p.max_waiting,
        CASE
            WHEN (p.max_waiting IS NOT NULL) THEN (q.waiting + COALESCE(u.waiting, (0)::bigint))
            ELSE NULL::bigint
        END AS waiting,
    p.max_bytes,
        CASE
            WHEN (p.max_bytes IS NOT NULL) THEN (q.bytes + COALESCE(u.bytes, (0)::bigint))
            ELSE NULL::bigint
        END AS bytes,
    q.measured_at
   FROM ((insp.quota q
     JOIN insp.partner p ON ((p.id = q.partner_id)))
     LEFT JOIN ( SELECT x.partner_id,
            (sum(x.waiting))::bigint AS waiting,
            (sum(x.bytes))::bigint AS bytes
           FROM insp.quota_use x
          GROUP BY x.partner_id) u ON ((u.partner_id = q.partner_id)));

CREATE VIEW insp.v_retention AS
 SELECT p.name AS partner,
    w.what,
    insp.keep_of(p.*, w.what) AS keep,
    c.ran_at
   FROM ((insp.partner p
     CROSS JOIN unnest(ARRAY['parts'::text, 'results'::text, 'references'::text]) w(what))
     LEFT JOIN insp.retention_cursor c ON (((c.what = w.what) AND (c.keep = insp.keep_of(p.*, w.what)))))
UNION ALL
 SELECT p.name AS partner,
    'faces'::text AS what,
    p.keep_faces AS keep,
    NULL::timestamp with time zone AS ran_at
   FROM insp.partner p
UNION ALL
 SELECT NULL::text AS partner,
    r.what,
    r.keep,
    c.ran_at
   FROM (insp.retention r
     LEFT JOIN insp.retention_cursor c ON (((c.keep = '00:00:00'::interval) AND (c.what =
        CASE
            WHEN (r.what = ANY (ARRAY['callbacks'::text, 'dead_callbacks'::text])) THEN 'callbacks'::text
            WHEN (r.what = 'events'::text) THEN 'partitions'::text
            WHEN (r.what <> 'samples'::text) THEN 'rows'::text
            ELSE NULL::text
        END))));

CREATE VIEW insp.v_review AS
 SELECT j.public_id AS id,
    p.name AS partner,
    j.workflow,
    (s.summary #>> '{decision,type}'::text[]) AS decision,
    (now() - w.since) AS since,
    (j.expires_at - now()) AS expires,
        CASE
            WHEN (jsonb_typeof(s.summary) = 'object'::text) THEN ( SELECT string_agg(DISTINCT (((l.value ->> 'capability'::text) || ' '::text) || (l.value ->> 'label'::text)), ', '::text) AS string_agg
               FROM jsonb_array_elements(
                    CASE jsonb_typeof((s.summary -> 'labels'::text))
                        WHEN 'array'::text THEN (s.summary -> 'labels'::text)
                        ELSE NULL::jsonb
                    END) l(value))
            ELSE 'damaged: its decision is missing, and only insp.cancel ends it'::text
        END AS because,
    w.job_id,
    w.decided_by AS first_by,
    w.decision AS first_decision,
    w.label AS first_label
   FROM (((insp.review_wait w
     JOIN insp.job j ON (((j.id = w.job_id) AND (j.status = 64))))
     JOIN insp.partner p ON ((p.id = j.partner_id)))
     LEFT JOIN insp.step s ON (((s.job_id = w.job_id) AND (s.status = 64))))
  ORDER BY w.since;

CREATE VIEW insp.v_running AS
 SELECT j.public_id AS id,
    p.name AS partner,
    j.workflow,
    GREATEST(j.status, (2)::smallint) AS status,
    l.attempt,
    l.crashes,
    (now() - l.claimed_at) AS running_for,
    l.deadline,
    l.worker_id,
    w.host,
    w.process,
    l.fence,
    l.job_id
   FROM (((insp.lease l
     JOIN insp.job j ON ((j.id = l.job_id)))
     JOIN insp.partner p ON ((p.id = j.partner_id)))
     LEFT JOIN insp.worker w ON ((w.id = l.worker_id)));

CREATE VIEW insp.v_stuck AS
 SELECT r.id,
    r.job_id,
    'running'::text AS state,
    r.running_for AS since,
    format('attempt %s at status %s on worker %s; taken back at the deadline'::text, r.attempt, r.status, r.worker_id) AS what
   FROM insp.v_running r
  WHERE (r.running_for > '00:02:00'::interval)
UNION ALL
 SELECT j.public_id AS id,
    d.job_id,
    'delayed'::text AS state,
    (now() - d.run_at) AS since,
    'due, but no worker with the maintain role promotes it'::text AS what
   FROM (insp.delayed d
     JOIN insp.job j ON ((j.id = d.job_id)))
  WHERE (d.run_at < (now() - '00:01:00'::interval))
UNION ALL
 SELECT j.public_id AS id,
    x.job_id,
    'waiting'::text AS state,
    (now() - j.created_at) AS since,
    format('first of region %s, lane %s, partner %s: insp.v_waiting and insp.explain_job say why'::text, COALESCE(g.name, 'any'::text), insp.lane_name(q.lane), p.name) AS what
   FROM (((((insp.queue q
     JOIN insp.partner p ON ((p.id = q.partner_id)))
     LEFT JOIN insp.region g ON ((g.id = q.region)))
     LEFT JOIN insp.v_floor f ON ((f.queue = q.id)))
     CROSS JOIN LATERAL ( SELECT y.job_id,
            y.seq,
            y.queue,
            y.attempt,
            y.crashes
           FROM insp.ready y
          WHERE ((y.queue = q.id) AND (y.seq >= COALESCE(f.seq, (0)::bigint)))
          ORDER BY y.queue, y.seq
         LIMIT 1) x)
     JOIN insp.job j ON (((j.id = x.job_id) AND (j.status < 128))))
  WHERE (j.created_at < (now() - '00:05:00'::interval));

CREATE VIEW insp.v_waiting AS
 SELECT COALESCE(g.name, 'any'::text) AS region,
    insp.lane_name(q.lane) AS lane,
    p.name AS partner,
    w.waiting,
    (now() - ( SELECT j.created_at
           FROM insp.job j
          WHERE (j.id = w.head_job))) AS oldest,
    y.why,
    y.remedy
   FROM ((((insp.waiting_by_queue() w(queue, waiting, is_estimate, head_seq, head_job)
     JOIN insp.queue q ON ((q.id = w.queue)))
     JOIN insp.partner p ON ((p.id = q.partner_id)))
     LEFT JOIN insp.region g ON ((g.id = q.region)))
     JOIN insp.why_waiting(ARRAY( SELECT x.id
           FROM insp.queue x)) y(queue, why, remedy) ON ((y.queue = q.id)));

CREATE VIEW insp.v_workers AS
 SELECT w.id,
    w.host,
    w.process,
    w.version,
    COALESCE(g.name, ''::text) AS region,
    ARRAY( SELECT insp.lane_name(u.u) AS lane_name
           FROM unnest(w.lanes) u(u)) AS lanes,
    w.slots,
    w.busy,
    w.draining,
    (now() - w.started_at) AS up,
    (now() - w.heartbeat_at) AS silent_for,
        CASE
            WHEN ((now() - w.heartbeat_at) > '00:00:15'::interval) THEN 'dead'::text
            WHEN ((now() - w.heartbeat_at) > '00:00:10'::interval) THEN 'silent'::text
            WHEN w.draining THEN 'draining'::text
            ELSE 'live'::text
        END AS state,
    ( SELECT count(*) AS count
           FROM insp.lease l
          WHERE (l.worker_id = w.id)) AS leases
   FROM (insp.worker w
     LEFT JOIN insp.region g ON ((g.id = w.region)));

CREATE VIEW insp.v_xmin_holders AS
 SELECT 'session'::text AS kind,
    (a.pid)::text AS name,
    (a.usename)::text AS role,
    a.application_name AS application,
    GREATEST(age(a.backend_xmin), age(a.backend_xid)) AS xids_held,
    (now() - a.xact_start) AS since,
    a.state,
    format('SELECT pg_terminate_backend(%s)'::text, a.pid) AS remedy
   FROM pg_stat_activity a
  WHERE ((a.backend_xmin IS NOT NULL) OR (a.backend_xid IS NOT NULL))
UNION ALL
 SELECT 'prepared transaction'::text AS kind,
    p.gid AS name,
    (p.owner)::text AS role,
    NULL::text AS application,
    age(p.transaction) AS xids_held,
    (now() - p.prepared) AS since,
    NULL::text AS state,
    format('ROLLBACK PREPARED %L'::text, p.gid) AS remedy
   FROM pg_prepared_xacts p
UNION ALL
 SELECT 'replication slot'::text AS kind,
    (s.slot_name)::text AS name,
    NULL::text AS role,
    (s.plugin)::text AS application,
    GREATEST(age(s.xmin), age(s.catalog_xmin)) AS xids_held,
    NULL::interval AS since,
        CASE
            WHEN s.active THEN 'active'::text
            ELSE 'inactive'::text
        END AS state,
    format('SELECT pg_drop_replication_slot(%L)'::text, s.slot_name) AS remedy
   FROM pg_replication_slots s
  WHERE ((s.xmin IS NOT NULL) OR (s.catalog_xmin IS NOT NULL));

CREATE SEQUENCE insp.wake_bulk
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE insp.wake_callback
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE insp.wake_normal
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE insp.wake_pull
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE insp.wake_urgent
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE TABLE insp.worker_drain (
    worker_id bigint NOT NULL
);
ALTER TABLE insp.worker ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME insp.worker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY insp.access_token
    ADD CONSTRAINT access_token_pkey PRIMARY KEY (endpoint_id);
ALTER TABLE ONLY insp.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (action);
ALTER TABLE ONLY insp.callback_attempt
    ADD CONSTRAINT callback_attempt_pkey PRIMARY KEY (callback_id, attempt);
ALTER TABLE ONLY insp.callback
    ADD CONSTRAINT callback_job_id_event_endpoint_id_key UNIQUE (job_id, event, endpoint_id);
ALTER TABLE ONLY insp.callback_lease
    ADD CONSTRAINT callback_lease_pkey PRIMARY KEY (endpoint_id, claim_id, callback_id);
ALTER TABLE ONLY insp.callback
    ADD CONSTRAINT callback_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.callback_pull
    ADD CONSTRAINT callback_pull_pkey PRIMARY KEY (callback_id, id);
ALTER TABLE ONLY insp.callback_waiting
    ADD CONSTRAINT callback_waiting_pkey PRIMARY KEY (callback_id);
ALTER TABLE ONLY insp.capture_session
    ADD CONSTRAINT capture_session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.capture_session
    ADD CONSTRAINT capture_session_token_sha256_key UNIQUE (token_sha256);
ALTER TABLE ONLY insp.case_lease
    ADD CONSTRAINT case_lease_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.challenge
    ADD CONSTRAINT challenge_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.challenge
    ADD CONSTRAINT challenge_token_sha256_key UNIQUE (token_sha256);
ALTER TABLE ONLY insp.client_authorization
    ADD CONSTRAINT client_authorization_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.console_act
    ADD CONSTRAINT console_act_pkey PRIMARY KEY (transaction);
ALTER TABLE ONLY insp.console_batch
    ADD CONSTRAINT console_batch_pkey PRIMARY KEY (task_id, number);
ALTER TABLE ONLY insp.console_person
    ADD CONSTRAINT console_person_issuer_subject_key UNIQUE (issuer, subject);
ALTER TABLE ONLY insp.console_person
    ADD CONSTRAINT console_person_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.console_session
    ADD CONSTRAINT console_session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.console_session
    ADD CONSTRAINT console_session_token_sha256_key UNIQUE (token_sha256);
ALTER TABLE ONLY insp.console_task
    ADD CONSTRAINT console_task_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.content
    ADD CONSTRAINT content_pkey PRIMARY KEY (id, kind, ordinal);
ALTER TABLE ONLY insp.control
    ADD CONSTRAINT control_pkey PRIMARY KEY (lane);
ALTER TABLE ONLY insp.country
    ADD CONSTRAINT country_pkey PRIMARY KEY (code);
ALTER TABLE ONLY insp.credential
    ADD CONSTRAINT credential_key_id_key UNIQUE (key_id);
ALTER TABLE ONLY insp.credential
    ADD CONSTRAINT credential_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.credential_token
    ADD CONSTRAINT credential_token_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY insp.credential_token
    ADD CONSTRAINT credential_token_secret_sha256_key UNIQUE (secret_sha256);
ALTER TABLE ONLY insp.custody
    ADD CONSTRAINT custody_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.delayed
    ADD CONSTRAINT delayed_pkey PRIMARY KEY (run_at, job_id);
ALTER TABLE ONLY insp.duty
    ADD CONSTRAINT duty_pkey PRIMARY KEY (name);
ALTER TABLE ONLY insp.endpoint_authorization
    ADD CONSTRAINT endpoint_authorization_pkey PRIMARY KEY (endpoint_id);
ALTER TABLE ONLY insp.endpoint_health
    ADD CONSTRAINT endpoint_health_pkey PRIMARY KEY (endpoint_id);
ALTER TABLE ONLY insp.endpoint
    ADD CONSTRAINT endpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.endpoint_tally
    ADD CONSTRAINT endpoint_tally_pkey PRIMARY KEY (endpoint_id, id);
ALTER TABLE ONLY insp.epoch
    ADD CONSTRAINT epoch_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.error_code
    ADD CONSTRAINT error_code_pkey PRIMARY KEY (code);
ALTER TABLE ONLY insp.error_code
    ADD CONSTRAINT error_code_sqlstate_key UNIQUE (sqlstate);
ALTER TABLE ONLY insp.error_contract
    ADD CONSTRAINT error_contract_pkey PRIMARY KEY (code);
ALTER TABLE ONLY insp.event_cursor
    ADD CONSTRAINT event_cursor_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (job_id, kind, fence);
ALTER TABLE ONLY insp.expiry
    ADD CONSTRAINT expiry_pkey PRIMARY KEY (expires_at, job_id);
ALTER TABLE ONLY insp.face_job
    ADD CONSTRAINT face_job_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.face_named
    ADD CONSTRAINT face_named_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.face_outcome
    ADD CONSTRAINT face_outcome_pkey PRIMARY KEY (outcome);
ALTER TABLE ONLY insp.face_pending
    ADD CONSTRAINT face_pending_job_id_key UNIQUE (job_id);
ALTER TABLE ONLY insp.face_pending
    ADD CONSTRAINT face_pending_pkey PRIMARY KEY (partner_id, face_id);
ALTER TABLE ONLY insp.face
    ADD CONSTRAINT face_pkey PRIMARY KEY (partner_id, face_id);
ALTER TABLE ONLY insp.face_rate
    ADD CONSTRAINT face_rate_pkey PRIMARY KEY (partner_id, face_id);
ALTER TABLE ONLY insp.face_template
    ADD CONSTRAINT face_template_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.job_key
    ADD CONSTRAINT job_key_pkey PRIMARY KEY (partner_id, key);
ALTER TABLE ONLY insp.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.job_reference
    ADD CONSTRAINT job_reference_pkey PRIMARY KEY (index, kind, partner_id, job_id);
ALTER TABLE ONLY insp.key_gone
    ADD CONSTRAINT key_gone_pkey PRIMARY KEY (key_id, partner_id);
ALTER TABLE ONLY insp.label
    ADD CONSTRAINT label_pkey PRIMARY KEY (label);
ALTER TABLE ONLY insp.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.object_gone
    ADD CONSTRAINT object_gone_pkey PRIMARY KEY (location);
ALTER TABLE ONLY insp.observer
    ADD CONSTRAINT observer_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.part_kind
    ADD CONSTRAINT part_kind_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY insp.part_kind
    ADD CONSTRAINT part_kind_place_key UNIQUE (place);
ALTER TABLE ONLY insp.part
    ADD CONSTRAINT part_pkey PRIMARY KEY (job_id, kind, ordinal);
ALTER TABLE ONLY insp.partner_key
    ADD CONSTRAINT partner_key_pkey PRIMARY KEY (partner_id);
ALTER TABLE ONLY insp.partner
    ADD CONSTRAINT partner_name_key UNIQUE (name);
ALTER TABLE ONLY insp.partner
    ADD CONSTRAINT partner_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.partner_policy
    ADD CONSTRAINT partner_policy_pkey PRIMARY KEY (partner_id, version);
ALTER TABLE ONLY insp.partner_sample
    ADD CONSTRAINT partner_sample_pkey PRIMARY KEY (partner_id, at);
ALTER TABLE ONLY insp.partner_tokens
    ADD CONSTRAINT partner_tokens_pkey PRIMARY KEY (partner_id);
ALTER TABLE ONLY insp.person_gone
    ADD CONSTRAINT person_gone_pkey PRIMARY KEY (partner_id, index, keeps_jobs);
ALTER TABLE ONLY insp.person
    ADD CONSTRAINT person_partner_id_reference_index_key UNIQUE (partner_id, reference_index);
ALTER TABLE ONLY insp.person
    ADD CONSTRAINT person_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.producer_partner
    ADD CONSTRAINT producer_partner_pkey PRIMARY KEY (login, partner_id);
ALTER TABLE ONLY insp.proposal
    ADD CONSTRAINT proposal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.pull_cursor
    ADD CONSTRAINT pull_cursor_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.pull_epoch
    ADD CONSTRAINT pull_epoch_pkey PRIMARY KEY (epoch);
ALTER TABLE ONLY insp.pull_gone
    ADD CONSTRAINT pull_gone_pkey PRIMARY KEY (endpoint_id);
ALTER TABLE ONLY insp.purge_later
    ADD CONSTRAINT purge_later_pkey PRIMARY KEY (what, job_id, due_at);
ALTER TABLE ONLY insp.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.queue
    ADD CONSTRAINT queue_region_lane_partner_id_key UNIQUE (region, lane, partner_id);
ALTER TABLE ONLY insp.queue_sample
    ADD CONSTRAINT queue_sample_pkey PRIMARY KEY (at);
ALTER TABLE ONLY insp.quota
    ADD CONSTRAINT quota_pkey PRIMARY KEY (partner_id);
ALTER TABLE ONLY insp.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (queue, seq);
ALTER TABLE ONLY insp.reason_advice
    ADD CONSTRAINT reason_advice_pkey PRIMARY KEY (code, language);
ALTER TABLE ONLY insp.reason
    ADD CONSTRAINT reason_contract_code_key UNIQUE (contract_code);
ALTER TABLE ONLY insp.reason
    ADD CONSTRAINT reason_pkey PRIMARY KEY (code);
ALTER TABLE ONLY insp.record_chain
    ADD CONSTRAINT record_chain_pkey PRIMARY KEY (chain);
ALTER TABLE ONLY insp.record_checkpoint
    ADD CONSTRAINT record_checkpoint_pkey PRIMARY KEY (number);
ALTER TABLE ONLY insp.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (chain, id);
ALTER TABLE ONLY insp.region
    ADD CONSTRAINT region_name_key UNIQUE (name);
ALTER TABLE ONLY insp.region
    ADD CONSTRAINT region_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.rerun
    ADD CONSTRAINT rerun_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.retention_cursor
    ADD CONSTRAINT retention_cursor_pkey PRIMARY KEY (what, keep);
ALTER TABLE ONLY insp.retention_horizon
    ADD CONSTRAINT retention_horizon_pkey PRIMARY KEY (what);
ALTER TABLE ONLY insp.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (what);
ALTER TABLE ONLY insp.review_wait
    ADD CONSTRAINT review_wait_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY insp.scope
    ADD CONSTRAINT scope_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY insp.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (job_id, status);
ALTER TABLE ONLY insp.token_revocation
    ADD CONSTRAINT token_revocation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.usage_count
    ADD CONSTRAINT usage_count_pkey PRIMARY KEY (partner_id, month, workflow, decision, error);
ALTER TABLE ONLY insp.usage_cursor
    ADD CONSTRAINT usage_cursor_pkey PRIMARY KEY (single);
ALTER TABLE ONLY insp.worker_drain
    ADD CONSTRAINT worker_drain_pkey PRIMARY KEY (worker_id);
ALTER TABLE ONLY insp.worker
    ADD CONSTRAINT worker_incarnation_key UNIQUE (incarnation);
ALTER TABLE ONLY insp.worker_key
    ADD CONSTRAINT worker_key_pkey PRIMARY KEY (worker_id, kid);
ALTER TABLE ONLY insp.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);
ALTER TABLE ONLY insp.workflow
    ADD CONSTRAINT workflow_definition_key_key UNIQUE (definition_key);
ALTER TABLE ONLY insp.workflow
    ADD CONSTRAINT workflow_pkey PRIMARY KEY (name);
ALTER TABLE ONLY insp.workflow
    ADD CONSTRAINT workflow_place_key UNIQUE (place);
CREATE INDEX callback_attempt_time ON insp.callback_attempt USING brin (started_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX callback_lease_order ON insp.callback_lease USING btree (endpoint_id, ordering_key, callback_id) WHERE (ordering_key IS NOT NULL);
CREATE INDEX callback_named ON insp.callback USING btree (webhook_id) WHERE (job_id < 0);
CREATE UNIQUE INDEX callback_pull_place ON insp.callback_pull USING btree (endpoint_id, epoch, "position") WHERE ("position" IS NOT NULL);
CREATE INDEX callback_pull_waiting ON insp.callback_pull USING btree (xid, id) WHERE ("position" IS NULL);
CREATE INDEX callback_waiting_due ON insp.callback_waiting USING btree (endpoint_id, LEAST(attempts, 1), due_at, callback_id) WHERE (state = 'pending'::text);
CREATE INDEX callback_waiting_idle ON insp.callback_waiting USING btree (state, endpoint_id, due_at) WHERE (state <> 'pending'::text);
CREATE INDEX callback_waiting_order ON insp.callback_waiting USING btree (endpoint_id, ordering_key, callback_id) WHERE ((ordering_key IS NOT NULL) AND (state = ANY (ARRAY['pending'::text, 'held'::text])));
CREATE INDEX callback_waiting_retry ON insp.callback_waiting USING btree (due_at) WHERE ((attempts > 0) AND (state = 'pending'::text));
CREATE INDEX capture_session_expires ON insp.capture_session USING btree (expires_at);
CREATE INDEX capture_session_job ON insp.capture_session USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE UNIQUE INDEX capture_session_key ON insp.capture_session USING btree (credential_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX capture_session_user ON insp.capture_session USING btree (partner_id, user_index) WHERE (user_index IS NOT NULL);
CREATE INDEX challenge_expires ON insp.challenge USING btree (expires_at);
CREATE UNIQUE INDEX client_authorization_name ON insp.client_authorization USING btree (partner_id, name);
CREATE INDEX console_batch_order ON insp.console_batch USING btree (number, task_id);
CREATE UNIQUE INDEX console_grant_once ON insp.console_grant USING btree (session_id, role, COALESCE(partner_id, 0));
CREATE UNIQUE INDEX console_person_actor ON insp.console_person USING btree (lower(actor));
CREATE INDEX console_session_expires ON insp.console_session USING btree (expires_at);
CREATE INDEX console_task_actor ON insp.console_task USING btree (actor, began_at);
CREATE INDEX console_task_ended ON insp.console_task USING btree (ended_at);
CREATE UNIQUE INDEX console_task_once ON insp.console_task USING btree (actor, before, kind, action, filter);
CREATE INDEX credential_partner ON insp.credential USING btree (partner_id);
CREATE INDEX credential_token_credential ON insp.credential_token USING btree (credential_id);
CREATE INDEX credential_token_expires ON insp.credential_token USING btree (expires_at);
CREATE INDEX dead_died ON insp.dead USING btree (died_at);
CREATE INDEX dead_open ON insp.dead USING btree (died_at, job_id) WHERE (resolved_at IS NULL);
CREATE INDEX dead_open_code ON insp.dead USING btree (code, died_at, job_id) WHERE (resolved_at IS NULL);
CREATE INDEX dead_open_partner ON insp.dead USING btree (partner_id, died_at, job_id) WHERE (resolved_at IS NULL);
CREATE INDEX delayed_job ON insp.delayed USING btree (job_id);
CREATE INDEX delayed_queue ON insp.delayed USING btree (queue, run_at, job_id);
CREATE INDEX endpoint_authorization_used ON insp.endpoint_authorization USING btree (authorization_id);
CREATE UNIQUE INDEX endpoint_default ON insp.endpoint USING btree (partner_id) WHERE is_default;
CREATE INDEX endpoint_disabled ON insp.endpoint USING btree (id) WHERE (NOT enabled);
CREATE INDEX endpoint_inlined ON insp.endpoint USING btree (id) WHERE inline_result;
CREATE INDEX endpoint_progress ON insp.endpoint USING btree (id) WHERE (events && ARRAY['job.status'::text, 'job.review_needed'::text]);
CREATE INDEX endpoint_pulled ON insp.endpoint USING btree (partner_id) WHERE (url = 'pull:'::text);
CREATE INDEX endpoint_special ON insp.endpoint USING btree (id) WHERE ((ordering IS NOT NULL) OR (url = 'pull:'::text) OR (NOT (events @> ARRAY['job.finished'::text])));
CREATE UNIQUE INDEX event_batch_place ON insp.event_batch USING btree (epoch, "position") WHERE ("position" IS NOT NULL);
CREATE INDEX event_batch_waiting ON insp.event_batch USING btree (xid, id) WHERE ("position" IS NULL);
CREATE INDEX face_index ON insp.face USING btree (partner_id, sha256((replace(face_id, '\'::text, '\\'::text))::bytea));
ALTER INDEX insp.face_index ALTER COLUMN 2 SET STATISTICS 0;
CREATE INDEX face_job_face ON insp.face_job USING btree (partner_id, face_id);
CREATE INDEX face_job_index ON insp.face_job USING btree (partner_id, sha256((replace(face_id, '\'::text, '\\'::text))::bytea));
ALTER INDEX insp.face_job_index ALTER COLUMN 2 SET STATISTICS 0;
CREATE INDEX face_named_face ON insp.face_named USING btree (partner_id, face_id);
CREATE INDEX face_named_index ON insp.face_named USING btree (partner_id, sha256((replace(face_id, '\'::text, '\\'::text))::bytea));
ALTER INDEX insp.face_named_index ALTER COLUMN 2 SET STATISTICS 0;
CREATE INDEX face_pending_key ON insp.face_pending USING btree (key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX face_person ON insp.face USING btree (person_id) WHERE (person_id IS NOT NULL);
CREATE INDEX face_rate_since ON insp.face_rate USING btree (since);
CREATE INDEX face_template_age ON insp.face_template USING btree (partner_id, created_at);
CREATE INDEX face_template_face ON insp.face_template USING btree (partner_id, face_id);
CREATE INDEX face_template_job ON insp.face_template USING btree (job) WHERE (job IS NOT NULL);
CREATE INDEX face_template_key ON insp.face_template USING btree (key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX job_key_id ON ONLY insp.job USING btree (key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX job_key_job ON insp.job_key USING btree (job_id);
CREATE INDEX job_public_id ON ONLY insp.job USING btree (public_id);
CREATE INDEX job_reference_job ON insp.job_reference USING btree (job_id);
CREATE INDEX key_gone_since ON insp.key_gone USING btree (since);
CREATE INDEX lease_worker ON insp.lease USING btree (worker_id, fence);
CREATE INDEX object_gone_since ON insp.object_gone USING btree (since);
CREATE INDEX partner_keeps_no_parts ON insp.partner USING btree (id) WHERE (keep_parts = '00:00:00'::interval);
CREATE INDEX partner_restricted ON insp.partner USING btree (id) WHERE (paused OR (max_running IS NOT NULL) OR (rate_per_second IS NOT NULL));
CREATE INDEX partner_sample_at ON insp.partner_sample USING brin (at) WITH (pages_per_range='16', autosummarize='on');
CREATE UNIQUE INDEX partner_test_of ON insp.partner USING btree (test_of) WHERE (test_of IS NOT NULL);
CREATE INDEX person_erased ON insp.person USING btree (erased_at) WHERE (erased_at IS NOT NULL);
CREATE INDEX person_gone_due ON insp.person_gone USING btree (due_at);
CREATE INDEX person_gone_since ON insp.person_gone USING btree (since) WHERE (NOT keeps_jobs);
CREATE INDEX producer_partner_role ON insp.producer_partner USING btree (role);
CREATE INDEX purge_later_due ON insp.purge_later USING btree (due_at) WHERE (what <> 'links'::text);
CREATE INDEX purge_later_links ON insp.purge_later USING btree (due_at) WHERE (what = 'links'::text);
CREATE INDEX quota_use_partner ON insp.quota_use USING btree (partner_id);
CREATE INDEX record_job ON insp.record USING btree (NULLIF((subject)::uuid, '00000000-0000-0000-0000-000000000000'::uuid)) WHERE ((chain = 'access'::text) AND (seq IS NOT NULL));
CREATE UNIQUE INDEX record_place ON insp.record USING btree (chain, seq) WHERE (seq IS NOT NULL);
CREATE UNIQUE INDEX record_session_end ON insp.record USING btree (subject, ((detail ->> 'fence'::text)), COALESCE((detail ->> 'blob'::text), '0'::text)) WHERE (action = 'session_end'::text);
CREATE INDEX record_subject ON insp.record USING btree (subject) WHERE (chain <> 'access'::text);
CREATE INDEX record_time ON insp.record USING brin (at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX record_waiting ON insp.record USING btree (((chain || ''::text)), id) WHERE (seq IS NULL);
CREATE INDEX region_served ON insp.region USING btree (id) WHERE is_served;
CREATE INDEX rerun_first ON insp.rerun USING btree (first_id);
CREATE INDEX review_wait_partner ON insp.review_wait USING btree (partner_id, since, job_id);
CREATE INDEX review_wait_since ON insp.review_wait USING btree (since, job_id);
CREATE UNIQUE INDEX secret_current ON insp.secret USING btree (owner, purpose) WHERE ((valid_until IS NULL) AND (owner <> 'inspectd'::text));
CREATE INDEX secret_expired ON insp.secret USING btree (valid_until) WHERE (valid_until IS NOT NULL);
CREATE INDEX secret_owner ON insp.secret USING btree (owner, purpose, valid_until);
CREATE INDEX token_revocation_due ON insp.token_revocation USING btree (due_at);
CREATE INDEX token_revocation_endpoint ON insp.token_revocation USING btree (endpoint_id);

CREATE TRIGGER batch_events AFTER INSERT ON insp.event REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION insp.batch_events();

CREATE TRIGGER callback_announce AFTER INSERT ON insp.callback FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_announce();

CREATE TRIGGER callback_prepare AFTER INSERT ON insp.callback REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_prepare();

CREATE TRIGGER callback_progress AFTER INSERT ON insp.step REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_progress();

CREATE TRIGGER checkpoint_guard BEFORE DELETE OR UPDATE ON insp.record_checkpoint FOR EACH ROW EXECUTE FUNCTION insp.checkpoint_guard();

CREATE TRIGGER checkpoint_truncate BEFORE TRUNCATE ON insp.record_checkpoint FOR EACH STATEMENT EXECUTE FUNCTION insp.checkpoint_guard();

CREATE TRIGGER consume_challenge BEFORE INSERT ON insp.job FOR EACH ROW WHEN (((new.request ? 'challenge'::text) AND (new.rerun_of IS NULL))) EXECUTE FUNCTION insp.consume_challenge();

CREATE TRIGGER content_freed AFTER DELETE ON insp.content REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION insp.content_freed();

CREATE TRIGGER face_finished AFTER UPDATE OF status ON insp.job FOR EACH ROW WHEN (((new.status = 128) AND (old.status < 128) AND insp.names_face(new.workflow))) EXECUTE FUNCTION insp.face_finished();

CREATE TRIGGER face_submitted AFTER INSERT ON insp.job FOR EACH ROW WHEN (insp.names_face(new.workflow)) EXECUTE FUNCTION insp.face_submitted();

CREATE TRIGGER find_producers AFTER UPDATE OF system ON insp.epoch FOR EACH ROW WHEN ((old.system <> new.system)) EXECUTE FUNCTION insp.find_producers();

CREATE TRIGGER follow_partner AFTER UPDATE ON insp.partner FOR EACH ROW WHEN (((new.test_of IS NULL) AND (new.erased_at IS NULL))) EXECUTE FUNCTION insp.follow_partner();

CREATE TRIGGER follow_partner_checked BEFORE INSERT OR UPDATE ON insp.partner FOR EACH ROW WHEN ((new.test_of IS NOT NULL)) EXECUTE FUNCTION insp.follow_partner();

CREATE TRIGGER keep_policy AFTER INSERT OR UPDATE ON insp.partner FOR EACH ROW EXECUTE FUNCTION insp.keep_policy();

CREATE TRIGGER make_queue AFTER INSERT OR UPDATE OF lane, region ON insp.partner FOR EACH ROW EXECUTE FUNCTION insp.make_queue();

CREATE TRIGGER partner_keeps AFTER UPDATE OF keep_parts, keep_results, keep_references ON insp.partner FOR EACH ROW EXECUTE FUNCTION insp.partner_keeps();

CREATE TRIGGER partner_units BEFORE INSERT OR UPDATE OF keep_parts, keep_results, keep_references ON insp.partner FOR EACH ROW EXECUTE FUNCTION insp.partner_units();

CREATE TRIGGER pending_gone AFTER DELETE ON insp.face_pending REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();

CREATE TRIGGER pending_replaced AFTER UPDATE ON insp.face_pending REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();

CREATE TRIGGER record_chain_guard BEFORE DELETE OR UPDATE ON insp.record_chain FOR EACH ROW EXECUTE FUNCTION insp.record_chain_guard();

CREATE TRIGGER record_chain_truncate BEFORE TRUNCATE ON insp.record_chain FOR EACH STATEMENT EXECUTE FUNCTION insp.record_chain_guard();

CREATE TRIGGER record_guard BEFORE DELETE ON insp.record FOR EACH ROW EXECUTE FUNCTION insp.record_guard();

CREATE TRIGGER record_guard_update BEFORE UPDATE ON insp.record FOR EACH ROW WHEN ((NOT ((old.seq IS NULL) AND (new.seq > 0) AND (num_nulls(new.prev, new.hash) = 0) AND (NOT (((((((((((new.chain IS DISTINCT FROM old.chain) OR (new.id IS DISTINCT FROM old.id)) OR (new.at IS DISTINCT FROM old.at)) OR (new.actor IS DISTINCT FROM old.actor)) OR (new.action IS DISTINCT FROM old.action)) OR (new.subject IS DISTINCT FROM old.subject)) OR (new.purpose IS DISTINCT FROM old.purpose)) OR (new.detail IS DISTINCT FROM old.detail)) OR (new.words IS DISTINCT FROM old.words)) OR (new.words_salt IS DISTINCT FROM old.words_salt)) OR (new.words_sha256 IS DISTINCT FROM old.words_sha256)))))) EXECUTE FUNCTION insp.record_guard();

CREATE TRIGGER record_truncate BEFORE TRUNCATE ON insp.record FOR EACH STATEMENT EXECUTE FUNCTION insp.record_guard();

CREATE TRIGGER retention_keeps AFTER UPDATE OF keep ON insp.retention FOR EACH ROW EXECUTE FUNCTION insp.retention_keeps();

CREATE TRIGGER secret_owner_gone AFTER DELETE ON insp.credential FOR EACH ROW EXECUTE FUNCTION insp.secret_owner_gone();

CREATE TRIGGER secret_owner_gone AFTER DELETE ON insp.endpoint FOR EACH ROW EXECUTE FUNCTION insp.secret_owner_gone();

CREATE TRIGGER templates_gone AFTER DELETE ON insp.face_template REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION insp.templates_gone();

CREATE CONSTRAINT TRIGGER worker_drained AFTER INSERT ON insp.worker_drain DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION insp.worker_drained();
ALTER TABLE ONLY insp.access_token
    ADD CONSTRAINT access_token_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES insp.endpoint(id);
ALTER TABLE ONLY insp.capture_session
    ADD CONSTRAINT capture_session_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES insp.credential(id);
ALTER TABLE ONLY insp.client_authorization
    ADD CONSTRAINT client_authorization_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.console_grant
    ADD CONSTRAINT console_grant_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.console_grant
    ADD CONSTRAINT console_grant_session_id_fkey FOREIGN KEY (session_id) REFERENCES insp.console_session(id) ON DELETE CASCADE;
ALTER TABLE ONLY insp.credential
    ADD CONSTRAINT credential_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.credential_token
    ADD CONSTRAINT credential_token_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES insp.credential(id) ON DELETE CASCADE;
ALTER TABLE ONLY insp.endpoint
    ADD CONSTRAINT endpoint_alert_endpoint_id_fkey FOREIGN KEY (alert_endpoint_id) REFERENCES insp.endpoint(id);
ALTER TABLE ONLY insp.endpoint_authorization
    ADD CONSTRAINT endpoint_authorization_authorization_id_fkey FOREIGN KEY (authorization_id) REFERENCES insp.client_authorization(id);
ALTER TABLE ONLY insp.endpoint_authorization
    ADD CONSTRAINT endpoint_authorization_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES insp.endpoint(id);
ALTER TABLE ONLY insp.endpoint_health
    ADD CONSTRAINT endpoint_health_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES insp.endpoint(id);
ALTER TABLE ONLY insp.endpoint
    ADD CONSTRAINT endpoint_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.error_contract
    ADD CONSTRAINT error_contract_code_fkey FOREIGN KEY (code) REFERENCES insp.error_code(code);
ALTER TABLE ONLY insp.error_contract
    ADD CONSTRAINT error_contract_face_outcome_fkey FOREIGN KEY (face_outcome) REFERENCES insp.face_outcome(outcome);
ALTER TABLE ONLY insp.face_template
    ADD CONSTRAINT face_template_partner_id_face_id_fkey FOREIGN KEY (partner_id, face_id) REFERENCES insp.face(partner_id, face_id);
ALTER TABLE ONLY insp.partner_key
    ADD CONSTRAINT partner_key_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.partner_policy
    ADD CONSTRAINT partner_policy_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.partner
    ADD CONSTRAINT partner_region_fkey FOREIGN KEY (region) REFERENCES insp.region(id);
ALTER TABLE ONLY insp.partner
    ADD CONSTRAINT partner_test_of_fkey FOREIGN KEY (test_of) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.producer_partner
    ADD CONSTRAINT producer_partner_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.quota
    ADD CONSTRAINT quota_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES insp.partner(id);
ALTER TABLE ONLY insp.reason_advice
    ADD CONSTRAINT reason_advice_code_fkey FOREIGN KEY (code) REFERENCES insp.reason(code);
ALTER TABLE ONLY insp.token_revocation
    ADD CONSTRAINT token_revocation_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES insp.endpoint(id);
GRANT USAGE ON SCHEMA insp TO insp_producer;
GRANT USAGE ON SCHEMA insp TO insp_worker;
GRANT USAGE ON SCHEMA insp TO insp_gateway;
GRANT USAGE ON SCHEMA insp TO insp_operator;
GRANT USAGE ON SCHEMA insp TO insp_reviewer;
GRANT USAGE ON SCHEMA insp TO insp_auditor;
GRANT USAGE ON SCHEMA insp TO insp_signer;
GRANT USAGE ON SCHEMA insp TO insp_console;
REVOKE ALL ON FUNCTION insp.accept(p_payloads jsonb[], p_inline text[], p_content bytea, p_sealed bytea, p_key uuid, OUT public_ids uuid[], OUT job_ids bigint[], OUT digests jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.accept_plain(p_payloads jsonb[], OUT public_ids uuid[], OUT job_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.actor() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.add_checkpoint(p_number bigint, p_at_microseconds bigint, p_key_id text, p_heads text, p_signature bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.add_checkpoint(p_number bigint, p_at_microseconds bigint, p_key_id text, p_heads text, p_signature bytea) TO insp_signer;
REVOKE ALL ON FUNCTION insp.add_persons(p_partners integer[], p_indexes bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.allow_authorization_secret(p_partner text, p_name text, p_sha256 text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.allow_endpoint_secret(p_endpoint bigint, p_sha256 text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.announce_pulls() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.approval_call(p_action text, p_arguments jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.approval_hint() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.approve(proposal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.approve(proposal bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.are_plain_sources(p_lines text, p_digests text) FROM PUBLIC;
GRANT SELECT ON TABLE insp.client_authorization TO insp_operator;
GRANT SELECT ON TABLE insp.client_authorization TO insp_auditor;
REVOKE ALL ON FUNCTION insp.authorization_detail(a insp.client_authorization) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.authorization_options(a insp.client_authorization, p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.authorization_settings(a insp.client_authorization) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.base64url(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.batch_events() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.begin_epoch(p_fence bigint, p_seq bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.begin_objects() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.begin_objects() TO insp_worker;
REVOKE ALL ON FUNCTION insp.bind_producer(login text, partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.bind_producer(login text, partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.bound_to(p_login text, p_otherwise text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_announce() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_authorize(p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text, p_scope text, p_method text, p_provider text, p_revocation_url text, p_grant_type text, p_assertion text, p_parameters jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_authorize(p_endpoint bigint, p_token_url text, p_client_id text, p_client_secret text, p_scope text, p_method text, p_provider text, p_revocation_url text, p_grant_type text, p_assertion text, p_parameters jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_breaker_reset(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_breaker_reset(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_by_webhook_id(p_webhook_id text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_choose(p_limit integer, p_retries integer, p_moment timestamp with time zone, p_endpoints bigint[], p_starts timestamp with time zone[], p_permits integer[], p_lates integer[], p_ordered bigint[], p_has_retries boolean, p_region smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_claim(p_limit integer, p_lease interval, p_retries integer, p_floor_microseconds bigint, p_endpoints bigint[], p_floors_microseconds bigint[], p_claims bigint[], p_holder bigint, p_region text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_claim(p_limit integer, p_lease interval, p_retries integer, p_floor_microseconds bigint, p_endpoints bigint[], p_floors_microseconds bigint[], p_claims bigint[], p_holder bigint, p_region text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.callback_counts() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_counts() TO insp_operator;
GRANT ALL ON FUNCTION insp.callback_counts() TO insp_auditor;
REVOKE ALL ON FUNCTION insp.callback_dead_letter(p_webhook_id text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_dead_letter(p_webhook_id text, p_reason text) TO insp_operator;
GRANT SELECT(id) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(id) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(webhook_id) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(webhook_id) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(job_id) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(job_id) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(endpoint_id) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(endpoint_id) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(event) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(event) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(body) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(body) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(created_at) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(created_at) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(public_id) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(public_id) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(definition_key) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(definition_key) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(decision) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(decision) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(is_expired) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(is_expired) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(has_reference) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(has_reference) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(has_result) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(has_result) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(is_sealed) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(is_sealed) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(is_erased) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(is_erased) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(form) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(form) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(region) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(region) ON TABLE insp.callback TO insp_auditor;
GRANT SELECT(face) ON TABLE insp.callback TO insp_operator;
GRANT SELECT(face) ON TABLE insp.callback TO insp_auditor;
REVOKE ALL ON FUNCTION insp.callback_decision(c insp.callback) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_delivered_at(c insp.callback) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_delivered_at(c insp.callback) TO insp_operator;
GRANT ALL ON FUNCTION insp.callback_delivered_at(c insp.callback) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.callback_disable(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_disable(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_due(p_limit integer, p_moment timestamp with time zone, p_floor_microseconds bigint, p_endpoints bigint[], p_floors_microseconds bigint[], p_region smallint, OUT endpoints bigint[], OUT starts timestamp with time zone[], OUT retried boolean[], OUT waiting bigint[], OUT heads_microseconds bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_enable(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_enable(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_enable_part(p_endpoint bigint, p_freed bigint, p_reached timestamp with time zone, p_limit integer, OUT freed bigint, OUT reached timestamp with time zone, OUT more boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_free(p_moment timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_heads(p_endpoint bigint, p_start timestamp with time zone, p_moment timestamp with time zone, p_fresh integer, p_late integer, p_region smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_is_reduced(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_ordering_key(p_ordering text, p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_pause(p_endpoint bigint, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_pause(p_endpoint bigint, p_reason text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_permits(p_taken bigint[], p_starts timestamp with time zone[], p_retried boolean[], p_moment timestamp with time zone, p_claim bigint, p_holder bigint, p_endpoints bigint[], p_claims bigint[], OUT endpoints bigint[], OUT starts timestamp with time zone[], OUT limits integer[], OUT permits integer[], OUT lates integer[], OUT lowest bigint[], OUT urls text[], OUT inlined bigint[], OUT guarded bigint[], OUT ordered bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_prepare() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_progress() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_renew(p_callback bigint, p_state text, p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_replay(p_webhook_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_replay(p_webhook_id text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_replay(p_endpoint bigint, p_since timestamp with time zone, p_until timestamp with time zone, p_delivered boolean, p_per_second double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_replay(p_endpoint bigint, p_since timestamp with time zone, p_until timestamp with time zone, p_delivered boolean, p_per_second double precision) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_result(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_resume(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_resume(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_rotate_secret(p_endpoint bigint, p_overlap interval, p_secret text, p_purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_rotate_secret(p_endpoint bigint, p_overlap interval, p_secret text, p_purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_sealed_body(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_settle(p_endpoints bigint[], p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays_ms bigint[], p_started_microseconds bigint[], p_durations_ms bigint[], p_statuses bigint[], p_codes text[], p_errors text[], p_worker text, OUT lost bigint[], OUT endpoints bigint[], OUT changes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_settle(p_endpoints bigint[], p_ids bigint[], p_claims bigint[], p_outcomes text[], p_delays_ms bigint[], p_started_microseconds bigint[], p_durations_ms bigint[], p_statuses bigint[], p_codes text[], p_errors text[], p_worker text, OUT lost bigint[], OUT endpoints bigint[], OUT changes text[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.callback_since(p_time timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.callback_unauthorize(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_unauthorize(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.callback_use_authorization(p_endpoint bigint, p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.callback_use_authorization(p_endpoint bigint, p_name text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.cancel(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.cancel(p_id uuid) TO insp_producer;
GRANT ALL ON FUNCTION insp.cancel(p_id uuid) TO insp_operator;
REVOKE ALL ON FUNCTION insp.cancel_each(p_jobs bigint[], p_queue integer, p_first bigint, p_last bigint, OUT done integer, OUT refusals jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.cancel_erased(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.cancel_partner(partner text, reason text, batch integer, OUT cancelled integer, OUT kept integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.cancel_partner(partner text, reason text, batch integer, OUT cancelled integer, OUT kept integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.capture_challenge(p_token_sha256 bytea, p_browser_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_challenge(p_token_sha256 bytea, p_browser_sha256 bytea) TO insp_gateway;
GRANT SELECT(id) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(id) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(partner_id) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(partner_id) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(credential_id) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(credential_id) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(parts) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(parts) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(challenge) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(challenge) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(fallback) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(fallback) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(shows_result) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(shows_result) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(locale) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(locale) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(embed_origin) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(embed_origin) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(created_at) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(created_at) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(expires_at) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(opened_at) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(opened_at) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(submitted_at) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(submitted_at) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(tries) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(tries) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(challenges) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(challenges) ON TABLE insp.capture_session TO insp_auditor;
GRANT SELECT(job_id) ON TABLE insp.capture_session TO insp_operator;
GRANT SELECT(job_id) ON TABLE insp.capture_session TO insp_auditor;
REVOKE ALL ON FUNCTION insp.capture_check_open(s insp.capture_session, p_grace interval) FROM PUBLIC;
GRANT SELECT ON TABLE insp.partner TO insp_operator;
GRANT SELECT ON TABLE insp.partner TO insp_auditor;
REVOKE ALL ON FUNCTION insp.capture_consent(p insp.partner, p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_create(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_options jsonb, p_sealed bytea, p_idempotency bytea, p_digest bytea, OUT token text, OUT expires_at text, OUT id uuid, OUT repeated boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_create(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_options jsonb, p_sealed bytea, p_idempotency bytea, p_digest bytea, OUT token text, OUT expires_at text, OUT id uuid, OUT repeated boolean) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.capture_find(p_token_sha256 bytea, p_browser_sha256 bytea, OUT id uuid, OUT partner text, OUT partner_id integer, OUT state text, OUT is_mine boolean, OUT request jsonb, OUT return_url text, OUT sealed bytea, OUT parts text[], OUT challenge text, OUT fallback text, OUT shows_result boolean, OUT locale text, OUT embed_origin text, OUT expires_in_seconds integer, OUT consent jsonb, OUT policy_url text, OUT policy_version text, OUT purposes text[], OUT tries jsonb, OUT job uuid, OUT job_status smallint, OUT session_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_find(p_token_sha256 bytea, p_browser_sha256 bytea, OUT id uuid, OUT partner text, OUT partner_id integer, OUT state text, OUT is_mine boolean, OUT request jsonb, OUT return_url text, OUT sealed bytea, OUT parts text[], OUT challenge text, OUT fallback text, OUT shows_result boolean, OUT locale text, OUT embed_origin text, OUT expires_in_seconds integer, OUT consent jsonb, OUT policy_url text, OUT policy_version text, OUT purposes text[], OUT tries jsonb, OUT job uuid, OUT job_status smallint, OUT session_seconds integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.capture_grace() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_judge(p_token_sha256 bytea, p_browser_sha256 bytea, p_kind text, p_language text, p_image_sha256 bytea, OUT attempt integer, OUT advice jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_judge(p_token_sha256 bytea, p_browser_sha256 bytea, p_kind text, p_language text, p_image_sha256 bytea, OUT attempt integer, OUT advice jsonb) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.capture_lock(p_token_sha256 bytea, p_browser_sha256 bytea, p_grace interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_open(p_token_sha256 bytea, p_browser_sha256 bytea, p_policy_version text, p_text text, p_purposes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_open(p_token_sha256 bytea, p_browser_sha256 bytea, p_policy_version text, p_text text, p_purposes text[]) TO insp_gateway;
GRANT SELECT ON TABLE insp.workflow TO insp_producer;
GRANT SELECT ON TABLE insp.workflow TO insp_gateway;
GRANT SELECT ON TABLE insp.workflow TO insp_operator;
GRANT SELECT ON TABLE insp.workflow TO insp_auditor;
REVOKE ALL ON FUNCTION insp.capture_parts(p_flow insp.workflow, p_format text, p_challenge text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_payload(s insp.capture_session, p_payload jsonb, p_kinds text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_repeat(p_credential bigint, p_idempotency bytea, p_digest bytea, p_token_sha256 bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.capture_result(p_token_sha256 bytea, p_browser_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_result(p_token_sha256 bytea, p_browser_sha256 bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.capture_submit(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[], p_contents bytea[], p_sealed bytea, p_request_hmac bytea, p_locations text[], p_digests bytea[], p_sizes integer[], OUT id uuid, OUT repeated boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_submit(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[], p_contents bytea[], p_sealed bytea, p_request_hmac bytea, p_locations text[], p_digests bytea[], p_sizes integer[], OUT id uuid, OUT repeated boolean) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.capture_try(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.capture_try(p_token_sha256 bytea, p_browser_sha256 bytea, p_payload jsonb, p_kinds text[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.case_reasons(p_summary jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.challenge_issue(partner text, method text, colours integer, colour_ms integer, steps integer, motions text[], step_timeout_ms integer, lifetime interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.challenge_issue(partner text, method text, colours integer, colour_ms integer, steps integer, motions text[], step_timeout_ms integer, lifetime interval) TO insp_producer;
GRANT ALL ON FUNCTION insp.challenge_issue(partner text, method text, colours integer, colour_ms integer, steps integer, motions text[], step_timeout_ms integer, lifetime interval) TO insp_operator;
REVOKE ALL ON FUNCTION insp.check_authorization(a insp.client_authorization, p_client_secret text, p_assertion text) FROM PUBLIC;
GRANT SELECT ON TABLE insp.endpoint TO insp_operator;
GRANT SELECT ON TABLE insp.endpoint TO insp_auditor;
REVOKE ALL ON FUNCTION insp.check_callback(p jsonb, partner insp.partner, endpoint insp.endpoint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_callback_host(p_url text, partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_capture_options(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_challenge(p jsonb, p_flow insp.workflow, p_kinds text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_consent(p jsonb, partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_digests(p_digests jsonb, p_inline text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_document(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_embedding(p_engine text, p_model_sha256 text, p_embedding text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_endpoint_authorization(e insp.endpoint, a insp.client_authorization) FROM PUBLIC;
GRANT SELECT(id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(public_id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(partner_id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(endpoint_id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(person_id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(lane) ON TABLE insp.job TO insp_operator;
GRANT SELECT(region) ON TABLE insp.job TO insp_operator;
GRANT SELECT(status) ON TABLE insp.job TO insp_operator;
GRANT SELECT(created_at) ON TABLE insp.job TO insp_operator;
GRANT SELECT(started_at) ON TABLE insp.job TO insp_operator;
GRANT SELECT(completed_at) ON TABLE insp.job TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.job TO insp_operator;
GRANT SELECT(workflow) ON TABLE insp.job TO insp_operator;
GRANT SELECT(document_format) ON TABLE insp.job TO insp_operator;
GRANT SELECT(review) ON TABLE insp.job TO insp_operator;
GRANT SELECT(enrollment_mode) ON TABLE insp.job TO insp_operator;
GRANT SELECT(rerun_of) ON TABLE insp.job TO insp_operator;
GRANT SELECT(own_callback) ON TABLE insp.job TO insp_operator;
GRANT SELECT(request) ON TABLE insp.job TO insp_operator;
GRANT SELECT(key_id) ON TABLE insp.job TO insp_operator;
GRANT SELECT(forgotten_at) ON TABLE insp.job TO insp_operator;
REVOKE ALL ON FUNCTION insp.check_enrollment(p_job insp.job, p_face text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_epoch() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.check_epoch() TO insp_worker;
GRANT ALL ON FUNCTION insp.check_epoch() TO insp_operator;
REVOKE ALL ON FUNCTION insp.check_face_owner(p_partner integer, p_face text, p_reference bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_face_request(p jsonb, p_flow insp.workflow) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_floors() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_indexes(p_indexes bytea[], p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_jwk(p_jwk jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_keep(p_code text, p_what text, p_keep interval, p_least interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_kinds(p_format text, p_flow insp.workflow, p_kinds text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_origins(p_origins text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_part(p_kind text, p_bytes bytea, p_overhead integer, p_digest text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_part_url(p_kind text, p_part jsonb, p_allow_http boolean, p_allow_private boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_part_urls(p_parts jsonb, e insp.endpoint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_placed(p jsonb, p_inline text[], p_place bigint, p_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_purpose(p_purpose text, p_is_needed boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_request(p jsonb, p_inline text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_sealed(p_sealed bytea, p_contents bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.check_session(j insp.job) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.checkpoint_guard() FROM PUBLIC;
GRANT SELECT ON TABLE insp.queue TO insp_operator;
GRANT SELECT ON TABLE insp.queue TO insp_auditor;
REVOKE ALL ON FUNCTION insp.claim(p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer, p_queues integer[], p_floors bigint[], p_limits integer[], p_known integer, p_fence bigint, p_seq bigint, p_horizon boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.claim(p_worker bigint, p_incarnation uuid, p_deadline interval, p_limit integer, p_queues integer[], p_floors bigint[], p_limits integer[], p_known integer, p_fence bigint, p_seq bigint, p_horizon boolean) TO insp_worker;
REVOKE ALL ON FUNCTION insp.consent_hint(partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.consent_holds(id uuid, consent jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.consent_holds(id uuid, consent jsonb) TO insp_operator;
GRANT ALL ON FUNCTION insp.consent_holds(id uuid, consent jsonb) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.consent_proof(p_consent jsonb, p_key bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_actor(p_token_sha256 bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_approve(p_token_sha256 bytea, p_proposal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_approve(p_token_sha256 bytea, p_proposal bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_batch_fail(p_task bigint, p_batch integer, p_attempt bigint, p_state text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_batch_fail(p_task bigint, p_batch integer, p_attempt bigint, p_state text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_batch_take(OUT task bigint, OUT batch integer, OUT attempt bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_batch_take(OUT task bigint, OUT batch integer, OUT attempt bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_begin(p_actor text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_begin_task(p_token_sha256 bytea, p_kind text, p_action text, p_filter jsonb, p_edge_microseconds bigint, p_reason text, p_seen text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_begin_task(p_token_sha256 bytea, p_kind text, p_action text, p_filter jsonb, p_edge_microseconds bigint, p_reason text, p_seen text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_case(p_token_sha256 bytea, p_id uuid, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb, OUT runs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_case(p_token_sha256 bytea, p_id uuid, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb, OUT runs jsonb) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_cases(p_token_sha256 bytea, p_partner text, p_reason text, p_minutes integer, p_after_since_microseconds bigint, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_cases(p_token_sha256 bytea, p_partner text, p_reason text, p_minutes integer, p_after_since_microseconds bigint, p_after uuid, p_limit integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_count_once(p_actor text, p_waits boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_dead(p_token_sha256 bytea, p_partner text, p_code text, p_edge_microseconds bigint, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_dead(p_token_sha256 bytea, p_partner text, p_code text, p_edge_microseconds bigint, p_after uuid, p_limit integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_decide(p_token_sha256 bytea, p_id uuid, p_decision text, p_label text, p_note text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_decide(p_token_sha256 bytea, p_id uuid, p_decision text, p_label text, p_note text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_decryption_keys(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_decryption_keys(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_drop_batches(p_task bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_end() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_end_person(p_token_sha256 bytea, p_person bigint, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_end_person(p_token_sha256 bytea, p_person bigint, p_reason text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_end_sessions(person text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_end_sessions(person text, reason text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.console_endpoints(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_endpoints(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_explain(p_token_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_explain(p_token_sha256 bytea, p_id uuid) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_filter(p_kind text, p_filter jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_history(p_token_sha256 bytea, p_id uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_history(p_token_sha256 bytea, p_id uuid, p_limit integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_job(p_token_sha256 bytea, p_roles text[], p_id uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_keep(p_token_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_keep(p_token_sha256 bytea, p_id uuid) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_key(p_token_sha256 bytea, p_id uuid, OUT key_id uuid, OUT partner_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_key(p_token_sha256 bytea, p_id uuid, OUT key_id uuid, OUT partner_id integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_keys(p_token_sha256 bytea, OUT key_store text, OUT wrapping_key text, OUT former_key text, OUT changed timestamp with time zone, OUT keys bigint, OUT keys_oldest_seconds double precision, OUT persons bigint, OUT persons_oldest_seconds double precision, OUT faces bigint, OUT objects bigint, OUT objects_oldest_seconds double precision, OUT checkpoint bigint, OUT signer text, OUT signed timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_keys(p_token_sha256 bytea, OUT key_store text, OUT wrapping_key text, OUT former_key text, OUT changed timestamp with time zone, OUT keys bigint, OUT keys_oldest_seconds double precision, OUT persons bigint, OUT persons_oldest_seconds double precision, OUT faces bigint, OUT objects bigint, OUT objects_oldest_seconds double precision, OUT checkpoint bigint, OUT signer text, OUT signed timestamp with time zone) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_limits(p_token_sha256 bytea, p_after text, p_partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_limits(p_token_sha256 bytea, p_after text, p_partner text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_next(p_token_sha256 bytea, p_partner text, p_reason text, p_minutes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_next(p_token_sha256 bytea, p_partner text, p_reason text, p_minutes integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_one(p_action text, p_target bigint, p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_overseer(p_token_sha256 bytea, p_roles text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_part(p_token_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer, OUT partner_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_part(p_token_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer, OUT partner_id integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_partner(p_token_sha256 bytea, p_partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_partner(p_token_sha256 bytea, p_partner text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_partner_names(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_partner_names(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_partners(p_token_sha256 bytea, p_roles text[], p_partner text, OUT actor text, OUT partners integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_pause(p_token_sha256 bytea, p_partner text, p_lane text, p_pauses boolean, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_pause(p_token_sha256 bytea, p_partner text, p_lane text, p_pauses boolean, p_reason text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_people(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_people(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_person_named(p_issuer text, p_subject text, p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_plots(p_token_sha256 bytea, p_partner text, p_hours integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_plots(p_token_sha256 bytea, p_partner text, p_hours integer) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_preview(p_token_sha256 bytea, p_kind text, p_filter jsonb, OUT total integer, OUT before_microseconds bigint, OUT ids text[], OUT partners text[], OUT what text[], OUT seen text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_preview(p_token_sha256 bytea, p_kind text, p_filter jsonb, OUT total integer, OUT before_microseconds bigint, OUT ids text[], OUT partners text[], OUT what text[], OUT seen text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_proposals(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_proposals(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_pulse(p_tokens bytea[], p_subjects text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_pulse(p_tokens bytea[], p_subjects text[]) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_queue(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_queue(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_record(p_token_sha256 bytea, p_chain text, p_from_seconds bigint, p_end_seconds bigint, p_actor text, p_action text, p_object text, p_edge bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_record(p_token_sha256 bytea, p_chain text, p_from_seconds bigint, p_end_seconds bigint, p_actor text, p_action text, p_object text, p_edge bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_reject(p_token_sha256 bytea, p_proposal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_reject(p_token_sha256 bytea, p_proposal bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_release(p_token_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_release(p_token_sha256 bytea, p_id uuid) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_selection(p_kind text, p_partners integer[], p_filter jsonb, p_before timestamp with time zone, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_session_of(p_token_sha256 bytea, p_is_use boolean, OUT name text, OUT roles text[], OUT partners text[], OUT all_roles text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_session_of(p_token_sha256 bytea, p_is_use boolean, OUT name text, OUT roles text[], OUT partners text[], OUT all_roles text[]) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_set_limits(p_token_sha256 bytea, p_partner text, p_max_running integer, p_rate_per_second double precision, p_rate_burst integer, p_max_waiting bigint, p_max_bytes bigint, p_reason text, p_was jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_set_limits(p_token_sha256 bytea, p_partner text, p_max_running integer, p_rate_per_second double precision, p_rate_burst integer, p_max_waiting bigint, p_max_bytes bigint, p_reason text, p_was jsonb) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_share(p_scanned integer, p_partners integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_sign_in(p_token_sha256 bytea, p_name text, p_method text, p_grants text[], p_issuer text, p_subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_sign_in(p_token_sha256 bytea, p_name text, p_method text, p_grants text[], p_issuer text, p_subject text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_sign_out(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_sign_out(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_singly(p_action text, p_targets bigint[], p_reason text, OUT done integer, OUT refusals jsonb, OUT rest bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_sought(p_partners integer[], p_is_all boolean, p_partner text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_state(p_token_sha256 bytea, p_id uuid, OUT status integer, OUT partner text, OUT workflow text, OUT waits_seconds double precision, OUT remains_seconds double precision, OUT decision text, OUT label text, OUT because text[], OUT holder text, OUT is_mine boolean, OUT until timestamp with time zone, OUT second boolean, OUT first_by text, OUT first_decision text, OUT first_label text, OUT first_is_mine boolean, OUT decided_by text, OUT confirmed text, OUT decided_at timestamp with time zone, OUT final_decision text, OUT final_label text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_state(p_token_sha256 bytea, p_id uuid, OUT status integer, OUT partner text, OUT workflow text, OUT waits_seconds double precision, OUT remains_seconds double precision, OUT decision text, OUT label text, OUT because text[], OUT holder text, OUT is_mine boolean, OUT until timestamp with time zone, OUT second boolean, OUT first_by text, OUT first_decision text, OUT first_label text, OUT first_is_mine boolean, OUT decided_by text, OUT confirmed text, OUT decided_at timestamp with time zone, OUT final_decision text, OUT final_label text) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_step(p_task bigint, p_batch integer, p_attempt bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_step(p_task bigint, p_batch integer, p_attempt bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_stop_task(p_token_sha256 bytea, p_task bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_stop_task(p_token_sha256 bytea, p_task bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_take(p_token_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_take(p_token_sha256 bytea, p_id uuid) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_tally(p_task bigint, p_done integer, p_refusals jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_tasks(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_tasks(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_timeline(p_token_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_timeline(p_token_sha256 bytea, p_id uuid) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_who(p_token_sha256 bytea, p_roles text[], OUT actor text, OUT partners integer[], OUT is_all boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.console_work(p_token_sha256 bytea, p_worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_work(p_token_sha256 bytea, p_worker bigint) TO insp_console;
REVOKE ALL ON FUNCTION insp.console_workers(p_token_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.console_workers(p_token_sha256 bytea) TO insp_console;
REVOKE ALL ON FUNCTION insp.consume_challenge() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.content_freed() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.count_usage(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.count_usage(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.create_credential(partner text, scopes text[], note text, expires interval, rate_per_second double precision, rate_burst integer, origins text[], OUT key_id text, OUT secret text, OUT bearer text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.create_credential(partner text, scopes text[], note text, expires interval, rate_per_second double precision, rate_burst integer, origins text[], OUT key_id text, OUT secret text, OUT bearer text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.create_endpoint(p_partner text, p_url text, p_allow_http boolean, p_allow_private boolean, p_make_secret boolean, OUT endpoint_id bigint, OUT secret text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.create_endpoint(p_partner text, p_url text, p_allow_http boolean, p_allow_private boolean, p_make_secret boolean, OUT endpoint_id bigint, OUT secret text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.create_partner(p_name text, p_callback_url text, p_allow_http boolean, p_allow_private boolean, p_make_secret boolean, OUT partner_id integer, OUT endpoint_id bigint, OUT secret text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.create_partner(p_name text, p_callback_url text, p_allow_http boolean, p_allow_private boolean, p_make_secret boolean, OUT partner_id integer, OUT endpoint_id bigint, OUT secret text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.create_test_credential(partner text, scopes text[], note text, expires interval, origins text[], OUT key_id text, OUT secret text, OUT bearer text, OUT test_partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.create_test_credential(partner text, scopes text[], note text, expires interval, origins text[], OUT key_id text, OUT secret text, OUT bearer text, OUT test_partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.custody_mark(OUT history text, OUT job bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.custody_mark(OUT history text, OUT job bigint) TO insp_worker;
GRANT ALL ON FUNCTION insp.custody_mark(OUT history text, OUT job bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.custody_partner(partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.custody_partner(partner text) TO insp_producer;
GRANT ALL ON FUNCTION insp.custody_partner(partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.database_id() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.database_id() TO insp_producer;
GRANT ALL ON FUNCTION insp.database_id() TO insp_worker;
GRANT ALL ON FUNCTION insp.database_id() TO insp_operator;
GRANT ALL ON FUNCTION insp.database_id() TO insp_reviewer;
GRANT ALL ON FUNCTION insp.database_id() TO insp_auditor;
GRANT ALL ON FUNCTION insp.database_id() TO insp_gateway;
GRANT ALL ON FUNCTION insp.database_id() TO insp_console;
REVOKE ALL ON FUNCTION insp.dead_letter(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.dead_letter(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.decision_problem(p_policy jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.decision_stamp(partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.decryption_keys() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.decryption_keys() TO insp_producer;
GRANT ALL ON FUNCTION insp.decryption_keys() TO insp_gateway;
GRANT ALL ON FUNCTION insp.decryption_keys() TO insp_operator;
REVOKE ALL ON FUNCTION insp.definition_key(p_workflow text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.delayed_by_queue() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.delayed_by_queue() TO insp_operator;
GRANT ALL ON FUNCTION insp.delayed_by_queue() TO insp_auditor;
REVOKE ALL ON FUNCTION insp.depth() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.depth() TO insp_worker;
GRANT ALL ON FUNCTION insp.depth() TO insp_operator;
GRANT ALL ON FUNCTION insp.depth() TO insp_auditor;
REVOKE ALL ON FUNCTION insp.drain_worker(p_worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.drain_worker(p_worker bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.draw(p_key bytea, p_purpose text, p_kinds integer, p_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.drop_history(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.drop_history(p_limit integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.drop_strays(p_queues integer[], p_floors bigint[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.drop_strays(p_queues integer[], p_floors bigint[], p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.drop_unkept_parts(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.duty_done(p_name text, p_by text, p_outcome jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.duty_done(p_name text, p_by text, p_outcome jsonb) TO insp_worker;
REVOKE ALL ON FUNCTION insp.duty_failed(p_name text, p_by text, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.duty_failed(p_name text, p_by text, p_error text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.duty_take(p_name text, p_spacing interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.duty_take(p_name text, p_spacing interval) TO insp_worker;
REVOKE ALL ON FUNCTION insp.embedding_key(p_embedding text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.end_partner(p insp.partner) FROM PUBLIC;
GRANT SELECT ON TABLE insp.token_revocation TO insp_operator;
GRANT SELECT ON TABLE insp.token_revocation TO insp_auditor;
REVOKE ALL ON FUNCTION insp.end_revocation(r insp.token_revocation, p_code text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.end_token(p_endpoint bigint, p_may_be_sealed boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.end_unclaimed(p_jobs bigint[], p_code text, p_detail text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_admit(p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_event_note(p_endpoint bigint, p_kind text, p_detail jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_hold(p_endpoint bigint, p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_judge(p_endpoint bigint, p_succeeded integer, p_failed integer, p_gone boolean, p_code text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_lock(p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_options(e insp.endpoint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_owns(e insp.endpoint, p_url text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.endpoint_partner(p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.endpoint_partner(p_endpoint bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.endpoint_problem(p_url text, p_allow_http boolean, p_allow_private boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.enqueue(payload jsonb, front bytea, back bytea, face bytea, frames bytea[], dg1 bytea, dg2 bytea, sod bytea, session_blob bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.enqueue(payload jsonb, front bytea, back bytea, face bytea, frames bytea[], dg1 bytea, dg2 bytea, sod bytea, session_blob bytea) TO insp_producer;
GRANT ALL ON FUNCTION insp.enqueue(payload jsonb, front bytea, back bytea, face bytea, frames bytea[], dg1 bytea, dg2 bytea, sod bytea, session_blob bytea) TO insp_operator;
REVOKE ALL ON FUNCTION insp.enqueue_many(payloads jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.enqueue_many(payloads jsonb[]) TO insp_producer;
GRANT ALL ON FUNCTION insp.enqueue_many(payloads jsonb[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.enqueue_parts(payload jsonb, kinds text[], contents bytea[], sealed bytea, request_hmac bytea, locations text[], digests bytea[], sizes integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.enqueue_parts(payload jsonb, kinds text[], contents bytea[], sealed bytea, request_hmac bytea, locations text[], digests bytea[], sizes integer[]) TO insp_producer;
GRANT ALL ON FUNCTION insp.enqueue_parts(payload jsonb, kinds text[], contents bytea[], sealed bytea, request_hmac bytea, locations text[], digests bytea[], sizes integer[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.ensure_partitions(p_ahead bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.ensure_partitions(p_ahead bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.ensure_partitions_late() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.erase(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.erase(id uuid) TO insp_operator;
REVOKE ALL ON FUNCTION insp.erase_by_index(partner text, user_index bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.erase_by_index(partner text, user_index bytea) TO insp_operator;
REVOKE ALL ON FUNCTION insp.erase_job(p_id uuid, p_for text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.erase_jobs(p_jobs bigint[], OUT removed integer, OUT templates integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.erase_keyless(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.erase_partner(partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.erase_partner(partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.erase_partner_data(partner text, after bigint, batch integer, OUT jobs integer, OUT templates integer, OUT persons integer, OUT kept integer, OUT last bigint, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.erase_partner_data(partner text, after bigint, batch integer, OUT jobs integer, OUT templates integer, OUT persons integer, OUT kept integer, OUT last bigint, OUT more boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.erase_person(partner text, reference text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.erase_person(partner text, reference text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.error_words(p_code text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.events_after(p_epoch bigint, p_position bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.events_after(p_epoch bigint, p_position bigint, p_limit integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.events_after(p_epoch bigint, p_position bigint, p_limit integer) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.expire(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.expire(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.explain_callbacks(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.explain_delayed(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.explain_ended(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.explain_job(id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.explain_job(id text) TO insp_operator;
GRANT ALL ON FUNCTION insp.explain_job(id text) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.explain_running(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.explain_waiting(p_job bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_delete(partner text, face_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_delete(partner text, face_id text) TO insp_producer;
GRANT ALL ON FUNCTION insp.face_delete(partner text, face_id text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.face_event(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_event(p_id uuid) TO insp_producer;
GRANT ALL ON FUNCTION insp.face_event(p_id uuid) TO insp_operator;
REVOKE ALL ON FUNCTION insp.face_features(partner text, face_id text, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_features(partner text, face_id text, purpose text) TO insp_producer;
REVOKE ALL ON FUNCTION insp.face_finished() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_forget(p_templates bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_ids(p_partner integer, p_index bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_import(partner text, face_id text, feature text, engine text, model_sha256 text, replace boolean, user_reference text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_import(partner text, face_id text, feature text, engine text, model_sha256 text, replace boolean, user_reference text) TO insp_producer;
REVOKE ALL ON FUNCTION insp.face_in_use(p_partner integer, p_index bytea, p_since timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_in_use(p_partner integer, p_index bytea, p_since timestamp with time zone) TO insp_worker;
REVOKE ALL ON FUNCTION insp.face_keep(p_partner integer, p_face text, p_replace boolean, p_engine text, p_model_sha256 text, p_embedding text, p_job uuid, p_person bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_of(p_job bigint, p_fence bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_of(p_job bigint, p_fence bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.face_purge(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_purge(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.face_remove(partner text, face_id text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_stage(p_job bigint, p_fence bigint, p_generation bigint, p_engine text, p_model_sha256 text, p_embedding text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_stage(p_job bigint, p_fence bigint, p_generation bigint, p_engine text, p_model_sha256 text, p_embedding text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.face_submitted() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.face_templates(partner text, face_id text, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.face_templates(partner text, face_id text, purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.face_templates(partner text, face_id text, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.face_words(p_event jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.faces_by_index(partner text, user_index bytea, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.faces_by_index(partner text, user_index bytea, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.faces_of_person(partner text, reference text, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.faces_of_person(partner text, reference text, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.faces_remove(p_partner text, p_faces text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.failed_face_event(p_workflow text, p_code text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.failure_summary(p_code text, p_detail text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.find_job(id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.find_job(id text) TO insp_operator;
GRANT ALL ON FUNCTION insp.find_job(id text) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.find_producers() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finish(p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamp with time zone[], p_readable boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finish_damaged(p_job bigint, p_fence bigint, p_state text, p_attempts smallint, p_crashes smallint, p_started timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finish_failed(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finish_spent(p_jobs bigint[], p_fences bigint[], p_queues integer[], p_codes text[], p_details text[], p_attempts smallint[], p_crashes smallint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finished_by_partner(p_within interval, p_pages integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.finished_by_queue(p_within interval, p_pages integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.follow_partner() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_callbacks(p_ids bigint[], p_remove boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_keys(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_objects(p_locations text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_persons(p_persons bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_reasons(p_tasks bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_tasks(p_partner integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.forget_words(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.free_producer(login text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.free_producer(login text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.gateway_answered(p_jobs bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_answered(p_jobs bigint[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.is_unnumbered(p_callback bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.is_unnumbered(p_callback bigint) TO insp_operator;
GRANT ALL ON FUNCTION insp.is_unnumbered(p_callback bigint) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.url_origin(p_url text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.url_origin(p_url text) TO insp_operator;
GRANT ALL ON FUNCTION insp.url_origin(p_url text) TO insp_auditor;
GRANT SELECT ON TABLE insp.callback_attempt TO insp_operator;
GRANT SELECT ON TABLE insp.callback_attempt TO insp_auditor;
GRANT SELECT(endpoint_id) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(endpoint_id) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(claim_id) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(claim_id) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(callback_id) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(callback_id) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(lease_until) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(lease_until) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(due_at) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(due_at) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(attempts) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(attempts) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(released) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(released) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(recorded) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(recorded) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(holder) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(holder) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(region) ON TABLE insp.callback_lease TO insp_operator;
GRANT SELECT(region) ON TABLE insp.callback_lease TO insp_auditor;
GRANT SELECT(callback_id) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(callback_id) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(endpoint_id) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(endpoint_id) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(due_at) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(due_at) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(attempts) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(attempts) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(released) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(released) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(region) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(region) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(state) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(state) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(recorded) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(recorded) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT(reason) ON TABLE insp.callback_waiting TO insp_operator;
GRANT SELECT(reason) ON TABLE insp.callback_waiting TO insp_auditor;
GRANT SELECT ON TABLE insp.v_callback TO insp_operator;
GRANT SELECT ON TABLE insp.v_callback TO insp_auditor;
REVOKE ALL ON FUNCTION insp.gateway_callback(c insp.v_callback, p_public_id uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_callbacks(p_credential bigint, p_secret_sha256 bytea, p_job uuid, p_state text, p_before timestamp with time zone, p_last text, p_limit integer, OUT callback jsonb, OUT moment timestamp with time zone, OUT webhook_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_callbacks(p_credential bigint, p_secret_sha256 bytea, p_job uuid, p_state text, p_before timestamp with time zone, p_last text, p_limit integer, OUT callback jsonb, OUT moment timestamp with time zone, OUT webhook_id text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_cancel(p_credential bigint, p_secret_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_cancel(p_credential bigint, p_secret_sha256 bytea, p_id uuid) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_challenge(p_credential bigint, p_secret_sha256 bytea, p_options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_challenge(p_credential bigint, p_secret_sha256 bytea, p_options jsonb) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_create(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_traceparent text, p_kinds text[], p_contents bytea[], p_sealed bytea, p_request_hmac bytea, p_locations text[], p_digests bytea[], p_sizes integer[], p_document_scan boolean, OUT id uuid, OUT job bigint, OUT status smallint, OUT repeated boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_create(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_traceparent text, p_kinds text[], p_contents bytea[], p_sealed bytea, p_request_hmac bytea, p_locations text[], p_digests bytea[], p_sizes integer[], p_document_scan boolean, OUT id uuid, OUT job bigint, OUT status smallint, OUT repeated boolean) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_credential(p_key_id text, p_secret_sha256 bytea, OUT id bigint, OUT partner text, OUT partner_id integer, OUT scopes text[], OUT rate_per_second double precision, OUT rate_burst integer, OUT origins text[], OUT is_test boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_credential(p_key_id text, p_secret_sha256 bytea, OUT id bigint, OUT partner text, OUT partner_id integer, OUT scopes text[], OUT rate_per_second double precision, OUT rate_burst integer, OUT origins text[], OUT is_test boolean) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_encryption(p_credential bigint, p_secret_sha256 bytea, p_scope text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_encryption(p_credential bigint, p_secret_sha256 bytea, p_scope text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_endpoint(p_partner integer, p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_endpoint_act(p_credential bigint, p_secret_sha256 bytea, p_endpoint bigint, p_action text, p_options jsonb, p_secret text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_endpoint_act(p_credential bigint, p_secret_sha256 bytea, p_endpoint bigint, p_action text, p_options jsonb, p_secret text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_endpoints(p_credential bigint, p_secret_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_endpoints(p_credential bigint, p_secret_sha256 bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_erase(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_erase(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_events(p_credential bigint, p_secret_sha256 bytea, p_place text, p_limit integer, p_endpoint bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_events(p_credential bigint, p_secret_sha256 bytea, p_place text, p_limit integer, p_endpoint bigint) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_export(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_export(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], p_after uuid, p_limit integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_face(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_face(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_face_delete(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_face_delete(p_credential bigint, p_secret_sha256 bytea, p_face text, p_index bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_face_ids(p_partner integer, p_face text, p_index bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_finished(p_jobs bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_finished(p_jobs bigint[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_job(p_partner integer, p_id uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_jobs(p_credential bigint, p_secret_sha256 bytea, p_kinds text[], p_plain bytea[], p_hidden bytea[], p_status smallint, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_jobs(p_credential bigint, p_secret_sha256 bytea, p_kinds text[], p_plain bytea[], p_hidden bytea[], p_status smallint, p_after uuid, p_limit integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_key(p_credential bigint, p_secret_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_key(p_credential bigint, p_secret_sha256 bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_number_pulls() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_number_pulls() TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_origins() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_origins() TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_part(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer, p_purpose text, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_part(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_kind text, p_ordinal integer, p_purpose text, OUT bytes bytea, OUT is_sealed boolean, OUT location text, OUT size integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_partner(p_credential bigint, p_secret_sha256 bytea, p_scope text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_payload(p_partner integer, p_scope text, p_payload jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.gateway_person_faces(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_person_faces(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_pulls(p_endpoints bigint[], p_epochs bigint[], p_positions bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_pulls(p_endpoints bigint[], p_epochs bigint[], p_positions bigint[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_replay(p_credential bigint, p_secret_sha256 bytea, p_webhook_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_replay(p_credential bigint, p_secret_sha256 bytea, p_webhook_id text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_report(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_purpose text, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT partner text, OUT encryption jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_report(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_purpose text, OUT request jsonb, OUT decided_at timestamp with time zone, OUT statuses integer[], OUT bodies bytea[], OUT kinds text[], OUT ordinals integer[], OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT partner text, OUT encryption jsonb) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_rerun(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_key text, OUT id uuid, OUT repeated boolean, OUT status smallint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_rerun(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_key text, OUT id uuid, OUT repeated boolean, OUT status smallint) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_result(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_id uuid, OUT job bigint, OUT finished boolean, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT encryption jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_result(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_id uuid, OUT job bigint, OUT finished boolean, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT encryption jsonb) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_session_add(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_ordinal integer, p_content bytea, p_key text, p_request_sha256 bytea, OUT id uuid, OUT job bigint, OUT repeated boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_session_add(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_ordinal integer, p_content bytea, p_key text, p_request_sha256 bytea, OUT id uuid, OUT job bigint, OUT repeated boolean) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_session_answer(p_credential bigint, p_secret_sha256 bytea, p_id uuid, OUT body bytea, OUT key_id uuid, OUT partner_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_session_answer(p_credential bigint, p_secret_sha256 bytea, p_id uuid, OUT body bytea, OUT key_id uuid, OUT partner_id integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_session_find(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_content bytea, OUT id uuid, OUT blobs integer, OUT key_id uuid, OUT repeated bigint, OUT idempotency_key text, OUT request_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_session_find(p_credential bigint, p_secret_sha256 bytea, p_id uuid, p_payload jsonb, p_content bytea, OUT id uuid, OUT blobs integer, OUT key_id uuid, OUT repeated bigint, OUT idempotency_key text, OUT request_sha256 bytea) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_set_key(p_credential bigint, p_secret_sha256 bytea, p_jwk jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_set_key(p_credential bigint, p_secret_sha256 bytea, p_jwk jsonb) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_token(p_credential bigint, p_secret_sha256 bytea, p_scopes text[], OUT token text, OUT seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_token(p_credential bigint, p_secret_sha256 bytea, p_scopes text[], OUT token text, OUT seconds integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_try(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_try(p_credential bigint, p_secret_sha256 bytea, p_scope text, p_payload jsonb, p_kinds text[]) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_usability(p_credential bigint, p_secret_sha256 bytea, p_language text, OUT code text, OUT advice text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_usability(p_credential bigint, p_secret_sha256 bytea, p_language text, OUT code text, OUT advice text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_usage(p_credential bigint, p_secret_sha256 bytea, p_month text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_usage(p_credential bigint, p_secret_sha256 bytea, p_month text) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_withdraw(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], OUT cancelled integer, OUT erased integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_withdraw(p_credential bigint, p_secret_sha256 bytea, p_indexes bytea[], OUT cancelled integer, OUT erased integer) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.gateway_withdraw_job(p_credential bigint, p_secret_sha256 bytea, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.gateway_withdraw_job(p_credential bigint, p_secret_sha256 bytea, p_id uuid) TO insp_gateway;
REVOKE ALL ON FUNCTION insp.heartbeat(p_worker bigint, p_incarnation uuid, p_busy integer, p_fence_floor bigint, p_floor_queues integer[], p_floor_seqs bigint[], p_epoch bigint, p_fence bigint, p_seq bigint, OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[], OUT fence bigint, OUT weights smallint[], OUT epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.heartbeat(p_worker bigint, p_incarnation uuid, p_busy integer, p_fence_floor bigint, p_floor_queues integer[], p_floor_seqs bigint[], p_epoch bigint, p_fence bigint, p_seq bigint, OUT alive boolean, OUT draining boolean, OUT lease_jobs bigint[], OUT lease_fences bigint[], OUT fence bigint, OUT weights smallint[], OUT epoch bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.hmac_sha256(p_key bytea, p_message bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.hold_ended(p_jobs bigint[], p_fences bigint[], p_workers bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamp with time zone[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.hold_for_review(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.hold_for_review(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.id_prefix() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.in_words(p_time interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_content_needed(p_from bigint, p_before bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_empty(p_worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.is_empty(p_worker bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.is_length(p_interval interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_listed_host(p_url text, p_hosts text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_passing(p_state text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_plain_part(p_part jsonb, p_url text, p_sha256 text) FROM PUBLIC;
GRANT SELECT ON TABLE insp.proposal TO insp_operator;
GRANT SELECT ON TABLE insp.proposal TO insp_auditor;
REVOKE ALL ON FUNCTION insp.is_proposer(p insp.proposal) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_retention_done(p_from bigint, p_before bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_revoked_in(p_endpoint bigint, p_region smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_same_person(p_one text, p_other text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_sealed(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.is_sealed(id uuid) TO insp_operator;
GRANT ALL ON FUNCTION insp.is_sealed(id uuid) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.is_staff() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_uuid(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.is_within_year(p_interval interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.iso_time(p_time timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.job_result(p_id uuid, p_purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.job_result(p_id uuid, p_purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.job_result(p_id uuid, p_purpose text) TO insp_operator;
GRANT ALL ON FUNCTION insp.job_result(p_id uuid, p_purpose text) TO insp_reviewer;
REVOKE ALL ON FUNCTION insp.jobs_by_index(partner text, user_index bytea, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.jobs_by_index(partner text, user_index bytea, purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.jobs_by_index(partner text, user_index bytea, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.jobs_by_reference(partner text, customer_reference text, user_reference text, status smallint, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.jobs_by_reference(partner text, customer_reference text, user_reference text, status smallint, purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.jobs_by_reference(partner text, customer_reference text, user_reference text, status smallint, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.jobs_of_person(p_partner integer, p_index bytea, p_person bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.keep_of(p insp.partner, p_what text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.keep_of(p insp.partner, p_what text) TO insp_operator;
GRANT ALL ON FUNCTION insp.keep_of(p insp.partner, p_what text) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.keep_policy() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.key_writers() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.key_writers() TO insp_operator;
REVOKE ALL ON FUNCTION insp.keys_destroyed(p_keys uuid[], p_partners integer[], p_existed boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.keys_destroyed(p_keys uuid[], p_partners integer[], p_existed boolean[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.keys_gone(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.keys_gone(p_limit integer) TO insp_worker;
GRANT ALL ON FUNCTION insp.keys_gone(p_limit integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.keys_of_no_job(p_keys uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.keys_of_no_job(p_keys uuid[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.lane_name(p_lane smallint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.lane_name(p_lane smallint) TO insp_operator;
GRANT ALL ON FUNCTION insp.lane_name(p_lane smallint) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.lane_number(p_lane text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.last_checkpoint() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.last_checkpoint() TO insp_operator;
GRANT ALL ON FUNCTION insp.last_checkpoint() TO insp_auditor;
GRANT ALL ON FUNCTION insp.last_checkpoint() TO insp_signer;
REVOKE ALL ON FUNCTION insp.limit_partner(partner text, max_running integer, rate_per_second double precision, rate_burst integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.limit_partner(partner text, max_running integer, rate_per_second double precision, rate_burst integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.link_persons(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.link_record(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.link_record(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.list_keys(p_keys uuid[], p_partners integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.list_persons(p_partner integer, p_indexes bytea[], p_keeps_jobs boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.listed_hosts(p_hosts text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.lock_chains(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.lock_face_jobs(p_partner integer, p_faces text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.lock_person(p_partner integer, p_indexes bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.locked_jobs(p_jobs bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.locked_jobs(p_jobs bigint[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.log_reading(p_what text, p_purpose text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.look_again(p_what text, p_partner integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.make_queue() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.mask_place(p_key bytea, p_tag bytea, p_bytes bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.may_act(p_partner integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.may_be_of_row(p_state text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.may_lead(e insp.endpoint, p_url text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.measure_quotas() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.measure_quotas() TO insp_worker;
REVOKE ALL ON FUNCTION insp.named_authorization(p_partner integer, p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.names_face(p_workflow text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_allowed_authorization_secret(p_partner integer, p_name text, p_secret text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_allowed_secret(p_endpoint bigint, p_secret text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_approval(p_action text, p_applies boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_consent_key() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_cursor_key() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.need_read_committed() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.needs_purpose() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.new_persons(p_payloads jsonb[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.new_secret() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.note_references(p_jobs bigint[], p_payloads jsonb[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.note_withdrawal(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.notify(p_channel text, p_payload text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.number_events(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.number_events(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.number_pulls(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.number_pulls(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.numbers_of_no_partner(p_numbers integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.numbers_of_no_partner(p_numbers integer[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.object_horizon() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.object_key(p_location text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.object_sweep(OUT after text, OUT until text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.object_sweep(OUT after text, OUT until text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.objects_deleted(p_locations text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.objects_deleted(p_locations text[]) TO insp_worker;
GRANT ALL ON FUNCTION insp.objects_deleted(p_locations text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.objects_gone(p_root text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.objects_gone(p_root text, p_limit integer) TO insp_worker;
GRANT ALL ON FUNCTION insp.objects_gone(p_root text, p_limit integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.objects_of_no_part(p_locations text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.objects_of_no_part(p_locations text[]) TO insp_worker;
GRANT ALL ON FUNCTION insp.objects_of_no_part(p_locations text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.objects_swept(p_to text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.objects_swept(p_to text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.oldest_unnumbered_seconds() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.open_proposal(p_number bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_counts(p_parts bigint[], p_results bigint[], p_requests bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_keeps() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_lock(p_partner text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_number(p_partner text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_region(p_region text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_settings(p insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.partner_units() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.parts(p_job bigint, p_fence bigint, p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.parts(p_job bigint, p_fence bigint, p_limit bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.pause(lane text, partner text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.pause(lane text, partner text, reason text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.payload_place(p_place bigint, p_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.pending_callbacks(OUT pending bigint, OUT retrying bigint, OUT oldest_seconds double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.pending_callbacks(OUT pending bigint, OUT retrying bigint, OUT oldest_seconds double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint) TO insp_operator;
GRANT ALL ON FUNCTION insp.pending_callbacks(OUT pending bigint, OUT retrying bigint, OUT oldest_seconds double precision, OUT is_more boolean, OUT dead bigint, OUT held bigint) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.person_destroyed(p_partner integer, p_index bytea, p_since timestamp with time zone, p_existed boolean, p_keeps_jobs boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.person_destroyed(p_partner integer, p_index bytea, p_since timestamp with time zone, p_existed boolean, p_keeps_jobs boolean) TO insp_worker;
REVOKE ALL ON FUNCTION insp.person_of(p_partner integer, p_index bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.personal(p_personal bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.personal_bytes(p_personal jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.persons(p_payloads jsonb[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.persons_gone(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.persons_gone(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.place_tag(p_key bytea, p_endpoint bigint, p_bytes bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.plain_requests(p_payloads jsonb[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.plain_result(j insp.job) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.policy_columns(p insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.policy_of(job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.policy_of(job uuid) TO insp_operator;
GRANT ALL ON FUNCTION insp.policy_of(job uuid) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.promote(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.promote(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.propose(action text, arguments jsonb, expires interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.propose(action text, arguments jsonb, expires interval) TO insp_operator;
REVOKE ALL ON FUNCTION insp.pull_again(p_callbacks bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.pull_place(p_endpoint bigint, p_epoch bigint, p_position bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.pull_waiting(p_callbacks bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.pulled_endpoint(p_partner integer, p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge(p_limit integer, OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.purge(p_limit integer, OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean) TO insp_worker;
GRANT ALL ON FUNCTION insp.purge(p_limit integer, OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.purge_batch(p_what text, p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_callbacks(p_limit integer, OUT removed integer, OUT walked integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_class(p_what text, p_keep interval, p_limit integer, OUT removed bigint[], OUT more boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_horizon(p_what text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_jobs(p_what text, p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_late(p_limit integer, OUT parts bigint[], OUT results bigint[], OUT requests bigint[], OUT callbacks integer, OUT walked integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_rows(p_limit integer, OUT keys integer, OUT others integer, OUT more boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.purge_tasks(p_until timestamp with time zone, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.queue_of(p_region smallint, p_lane smallint, p_partner integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.random_id(p_prefix text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.random_key() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.random_token() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.read_place(p_endpoint bigint, p_place text, OUT epoch bigint, OUT "position" bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.readable_personal(p_personal bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.reasons(language text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.reasons(language text) TO insp_producer;
GRANT ALL ON FUNCTION insp.reasons(language text) TO insp_gateway;
GRANT ALL ON FUNCTION insp.reasons(language text) TO insp_operator;
GRANT ALL ON FUNCTION insp.reasons(language text) TO insp_reviewer;
GRANT ALL ON FUNCTION insp.reasons(language text) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.recent_attempts(p_within interval, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.recent_attempts(p_within interval, p_limit integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.recent_attempts(p_within interval, p_limit integer) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.recently_finished(p_within interval, p_pages integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.recently_finished(p_within interval, p_pages integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.recently_finished(p_within interval, p_pages integer) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.record(p_action text, p_subject text, p_detail jsonb, p_purpose text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_access(p_credential bigint, p_action text, p_scope text, p_job uuid, p_detail jsonb, p_purpose text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_chain_guard() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_checkpoints(p_after bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_checkpoints(p_after bigint, p_limit integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.record_checkpoints(p_after bigint, p_limit integer) TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_checkpoints(p_after bigint, p_limit integer) TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_each(p_action text, p_subjects text[], p_details jsonb[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_guard() FROM PUBLIC;
GRANT SELECT ON TABLE insp.record TO insp_operator;
GRANT SELECT ON TABLE insp.record TO insp_auditor;
REVOKE ALL ON FUNCTION insp.record_hash(r insp.record, p_seq bigint, p_prev bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) TO insp_operator;
GRANT ALL ON FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_hash_at(p_chain text, p_seq bigint) TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_heads() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_heads() TO insp_operator;
GRANT ALL ON FUNCTION insp.record_heads() TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_heads() TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_keys(action text, partner text, keys integer, wrapping_key text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_keys(action text, partner text, keys integer, wrapping_key text, reason text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.record_partner(p_action text, p_was insp.partner, p_detail jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_reading(p_job uuid, p_status smallint, p_purpose text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_requests(p_ids uuid[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_rows(p_chain text, p_after bigint, p_limit integer, p_words boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_rows(p_chain text, p_after bigint, p_limit integer, p_words boolean) TO insp_operator;
GRANT ALL ON FUNCTION insp.record_rows(p_chain text, p_after bigint, p_limit integer, p_words boolean) TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_rows(p_chain text, p_after bigint, p_limit integer, p_words boolean) TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_search(p_action text, p_partner text, p_purpose text, p_is_needed boolean, p_detail jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_since(p_chain text, p_time timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.record_strays() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_strays() TO insp_operator;
GRANT ALL ON FUNCTION insp.record_strays() TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_strays() TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_waits(p_chain text, p_before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.record_waits(p_chain text, p_before timestamp with time zone) TO insp_operator;
GRANT ALL ON FUNCTION insp.record_waits(p_chain text, p_before timestamp with time zone) TO insp_auditor;
GRANT ALL ON FUNCTION insp.record_waits(p_chain text, p_before timestamp with time zone) TO insp_signer;
REVOKE ALL ON FUNCTION insp.record_words() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.reference_index(p_reference text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.refuse(p_code text, p_detail text, p_hint text, p_field text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.region_hint() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.reject_proposal(proposal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.reject_proposal(proposal bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.release(p_jobs bigint[], p_fences bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.release(p_jobs bigint[], p_fences bigint[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.remove_authorization(p_partner text, p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.remove_authorization(p_partner text, p_name text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.remove_parts(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.remove_pulls(p_callbacks bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.remove_references(p_jobs bigint[], p_remove boolean, OUT jobs bigint[], OUT words integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.remove_results(p_jobs bigint[], p_word text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.replay_each(p_callbacks bigint[], OUT done integer, OUT refusals jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_lane(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_partner(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_personal(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_region(p jsonb, partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_review(p jsonb, partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_run_at(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_text(p_payload jsonb, p_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_time(p_payload jsonb, p_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_traceparent(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.request_workflow(p jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.require(p_holds boolean, p_detail text, p_hint text, p_code text, p_field text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.rerun(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.rerun(id uuid) TO insp_producer;
GRANT ALL ON FUNCTION insp.rerun(id uuid) TO insp_operator;
REVOKE ALL ON FUNCTION insp.rerun_checks(p_jobs bigint[], partner insp.partner) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.rerun_each(p_jobs bigint[], OUT done integer, OUT refusals jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.rescue(p_dead_after interval, p_max_attempts integer, p_max_crashes integer, p_limit integer, p_thorough boolean, p_elapsed interval, OUT requeued integer, OUT dead_lettered integer, OUT workers integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.rescue(p_dead_after interval, p_max_attempts integer, p_max_crashes integer, p_limit integer, p_thorough boolean, p_elapsed interval, OUT requeued integer, OUT dead_lettered integer, OUT workers integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.resolve_dead(id uuid, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.resolve_dead(id uuid, note text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.resolve_each(p_jobs bigint[], p_note text, OUT done integer, OUT refusals jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.result_document(j insp.job) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.result_frame(j insp.job) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.resume(lane text, partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.resume(lane text, partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.retention_classes() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.retention_keeps() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.retire_callbacks(p_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.retire_record(p_chain text, p_before timestamp with time zone, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.retry_later(p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.retry_later(p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.returns_secret(p_action text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.review(id uuid, decision text, label text, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.review(id uuid, decision text, label text, note text) TO insp_operator;
GRANT ALL ON FUNCTION insp.review(id uuid, decision text, label text, note text) TO insp_reviewer;
REVOKE ALL ON FUNCTION insp.review_reasons(p_summary jsonb, p_decision text, p_label text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.revocation_claim(p_region text, OUT id bigint, OUT permit bigint, OUT endpoint bigint, OUT document text, OUT due_in_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.revocation_claim(p_region text, OUT id bigint, OUT permit bigint, OUT endpoint bigint, OUT document text, OUT due_in_seconds double precision) TO insp_worker;
REVOKE ALL ON FUNCTION insp.revocation_settle(p_id bigint, p_permit bigint, p_code text, p_is_final boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.revocation_settle(p_id bigint, p_permit bigint, p_code text, p_is_final boolean) TO insp_worker;
REVOKE ALL ON FUNCTION insp.revoke_credential(key_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.revoke_credential(key_id text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.rotate_secret(p_endpoint bigint, p_overlap interval, p_secret text, p_purpose text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.sample_nothing() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.sample_partners(p_most integer, p_minute timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.sample_queue() FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sample_queue() TO insp_worker;
REVOKE ALL ON FUNCTION insp.seal_of(p_bytes bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.seal_place(p_endpoint bigint, p_words bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.sealed_document(j insp.job, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.sealed_face_delete(partner text, pseudonym text, face_index bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sealed_face_delete(partner text, pseudonym text, face_index bytea) TO insp_producer;
GRANT ALL ON FUNCTION insp.sealed_face_delete(partner text, pseudonym text, face_index bytea) TO insp_operator;
REVOKE ALL ON FUNCTION insp.sealed_face_templates(partner text, pseudonym text, face_index bytea, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sealed_face_templates(partner text, pseudonym text, face_index bytea, purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.sealed_face_templates(partner text, pseudonym text, face_index bytea, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.sealed_result(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sealed_result(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) TO insp_producer;
GRANT ALL ON FUNCTION insp.sealed_result(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.sealed_result(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer) TO insp_reviewer;
REVOKE ALL ON FUNCTION insp.sealed_review(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sealed_review(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb) TO insp_operator;
GRANT ALL ON FUNCTION insp.sealed_review(p_id uuid, p_purpose text, OUT document jsonb, OUT sealed bytea, OUT body bytea, OUT partner_id integer, OUT notes jsonb) TO insp_reviewer;
REVOKE ALL ON FUNCTION insp.sealed_values(p_job bigint, p_fence bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sealed_values(p_job bigint, p_fence bigint) TO insp_worker;
REVOKE ALL ON FUNCTION insp.secret_owner_gone() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.secret_seal(p_value text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.secrets(p_owner text, p_purposes text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.session_begin(p_job bigint, p_fence bigint, p_blob integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.session_begin(p_job bigint, p_fence bigint, p_blob integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_body bytea, p_blob integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.session_end(p_job bigint, p_fence bigint, p_outcome text, p_status integer, p_body bytea, p_blob integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.session_job(p_partner integer, p_id uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.session_lease(p_fence bigint, p_blob integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.session_pause(p_job bigint, p_fence bigint, p_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.session_pause(p_job bigint, p_fence bigint, p_seconds double precision) TO insp_worker;
REVOKE ALL ON FUNCTION insp.session_result(id uuid, purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.session_result(id uuid, purpose text) TO insp_producer;
GRANT ALL ON FUNCTION insp.session_result(id uuid, purpose text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.session_vendor(p_job bigint, p_fence bigint, OUT url text, OUT pins text[], OUT key_name text, OUT allow_private boolean, OUT networks text[], OUT reference text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.session_vendor(p_job bigint, p_fence bigint, OUT url text, OUT pins text[], OUT key_name text, OUT allow_private boolean, OUT networks text[], OUT reference text) TO insp_worker;
REVOKE ALL ON FUNCTION insp.set_approval(action text, needed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_approval(action text, needed boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_authorization(p_partner text, p_name text, p_token_url text, p_client_id text, p_client_secret text, p_scope text, p_method text, p_provider text, p_revocation_url text, p_grant_type text, p_assertion text, p_parameters jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_authorization(p_partner text, p_name text, p_token_url text, p_client_id text, p_client_secret text, p_scope text, p_method text, p_provider text, p_revocation_url text, p_grant_type text, p_assertion text, p_parameters jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_callback_policy(partner text, hosts text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_callback_policy(partner text, hosts text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_capture_policy(partner text, hosts text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_capture_policy(partner text, hosts text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_consent_policy(partner text, required boolean, policy_url text, policy_version text, purposes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_consent_policy(partner text, required boolean, policy_url text, policy_version text, purposes text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_custody(key_store uuid, database uuid, wrapping_key text, former_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_custody(key_store uuid, database uuid, wrapping_key text, former_key text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_decision_policy(partner text, policy jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_decision_policy(partner text, policy jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_endpoint(p_endpoint bigint, p_settings jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_endpoint(p_endpoint bigint, p_settings jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_endpoint_secrets(e insp.endpoint, p_settings jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.set_face_limits(partner text, templates integer, attempts integer, "window" interval, keep interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_face_limits(partner text, templates integer, attempts integer, "window" interval, keep interval) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_lane_weight(lane text, weight integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_lane_weight(lane text, weight integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_liveness_policy(partner text, passive_signals_suffice boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_liveness_policy(partner text, passive_signals_suffice boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_origins(key_id text, origins text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_origins(key_id text, origins text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_partner(partner text, enabled boolean, region text, lane text, review text, consent_required boolean, callback_required boolean, job_lifetime interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_partner(partner text, enabled boolean, region text, lane text, review text, consent_required boolean, callback_required boolean, job_lifetime interval) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_partner_key(partner text, jwk jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_partner_key(partner text, jwk jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_quota(partner text, max_waiting bigint, max_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_quota(partner text, max_waiting bigint, max_bytes bigint) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_region_policy(partner text, region text, may_choose boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_region_policy(partner text, region text, may_choose boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_regions(regions text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_regions(regions text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_retention(partner text, keep_parts interval, keep_results interval, what text, keep interval, keep_references interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_retention(partner text, keep_parts interval, keep_results interval, what text, keep interval, keep_references interval) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_second_review(partner text, needed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_second_review(partner text, needed boolean) TO insp_operator;
REVOKE ALL ON FUNCTION insp.set_secret(p_owner text, p_purpose text, p_value text, p_overlap interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.set_vendor(partner text, vendor jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.set_vendor(partner text, vendor jsonb) TO insp_operator;
REVOKE ALL ON FUNCTION insp.settle(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.settle(p_jobs bigint[], p_fences bigint[], p_summaries text[], p_bodies bytea[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.settle_ended(p_jobs bigint[], p_fences bigint[], p_summaries jsonb[], p_bodies bytea[], p_started timestamp with time zone[], p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_bodies bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.signing_purpose(p_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.snapshot(p_rate interval) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.snapshot(p_rate interval) TO insp_worker;
GRANT ALL ON FUNCTION insp.snapshot(p_rate interval) TO insp_operator;
GRANT ALL ON FUNCTION insp.snapshot(p_rate interval) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.spend(p_queues integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.stage_name(p_status smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.stage_result(p_id uuid, p_status integer, p_purpose text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.stage_result(p_id uuid, p_status integer, p_purpose text) TO insp_operator;
GRANT ALL ON FUNCTION insp.stage_result(p_id uuid, p_status integer, p_purpose text) TO insp_reviewer;
GRANT SELECT(job_id) ON TABLE insp.step TO insp_operator;
GRANT SELECT(status) ON TABLE insp.step TO insp_operator;
GRANT SELECT(fence) ON TABLE insp.step TO insp_operator;
GRANT SELECT(stored_at) ON TABLE insp.step TO insp_operator;
GRANT SELECT(summary) ON TABLE insp.step TO insp_operator;
GRANT SELECT(seal) ON TABLE insp.step TO insp_operator;
REVOKE ALL ON FUNCTION insp.step_document(s insp.step) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.stop_chains(p_jobs bigint[], OUT jobs bigint[], OUT stopped integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.store_authorization(a insp.client_authorization) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.store_partner_key(p_partner integer, p_jwk jsonb, p_by text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_bodies bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_bodies bytea[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.sweep(p_limit integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.take_bytes(p_partner integer, p_max bigint, p_bytes bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.take_quota(p_partner integer, p_waiting bigint, p_bytes bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.take_waiting(p_partner integer, p_max bigint, p_jobs bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.take_waiting_of_many(p_partner integer, p_max bigint, p_jobs integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.tally(p_tally jsonb, p_code text, p_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.tasks_about(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.tell(p_worker bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.templates_gone() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.test_mark(p_partner integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.test_partner(p_partner text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.thin_checkpoints(p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.token_fail(p_endpoint bigint, p_permit bigint, p_code text, p_wait_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.token_fail(p_endpoint bigint, p_permit bigint, p_code text, p_wait_seconds double precision) TO insp_worker;
REVOKE ALL ON FUNCTION insp.token_store(p_endpoint bigint, p_permit bigint, p_token text, p_lifetime_seconds double precision, p_early_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.token_store(p_endpoint bigint, p_permit bigint, p_token text, p_lifetime_seconds double precision, p_early_seconds double precision) TO insp_worker;
REVOKE ALL ON FUNCTION insp.token_take(p_endpoint bigint, p_refused bigint, OUT token text, OUT generation bigint, OUT refresh_in_seconds double precision, OUT expires_in_seconds double precision, OUT permit bigint, OUT code text, OUT partner integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.token_take(p_endpoint bigint, p_refused bigint, OUT token text, OUT generation bigint, OUT refresh_in_seconds double precision, OUT expires_in_seconds double precision, OUT permit bigint, OUT code text, OUT partner integer) TO insp_worker;
REVOKE ALL ON FUNCTION insp.try_request(payload jsonb, kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.try_request(payload jsonb, kinds text[]) TO insp_producer;
GRANT ALL ON FUNCTION insp.try_request(payload jsonb, kinds text[]) TO insp_operator;
REVOKE ALL ON FUNCTION insp.unbind_producer(login text, partner text) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.unbind_producer(login text, partner text) TO insp_operator;
REVOKE ALL ON FUNCTION insp.unlink_authorization(p_endpoint bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.url_problem(p_url text, p_max integer, p_allow_http boolean, p_allow_private boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.usage(p_partner text, p_since date, p_until date) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.usage(p_partner text, p_since date, p_until date) TO insp_operator;
GRANT ALL ON FUNCTION insp.usage(p_partner text, p_since date, p_until date) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.vendor_problem(p_vendor jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.verify_record(p_chain text, p_seq bigint, p_hash text, OUT outcome text, OUT broken_at bigint, OUT reason text, OUT first bigint, OUT last bigint, OUT hash text, OUT erased bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.verify_record(p_chain text, p_seq bigint, p_hash text, OUT outcome text, OUT broken_at bigint, OUT reason text, OUT first bigint, OUT last bigint, OUT hash text, OUT erased bigint) TO insp_operator;
GRANT ALL ON FUNCTION insp.verify_record(p_chain text, p_seq bigint, p_hash text, OUT outcome text, OUT broken_at bigint, OUT reason text, OUT first bigint, OUT last bigint, OUT hash text, OUT erased bigint) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.visible_job(p_id uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.waiting_by_queue(p_exact integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.waiting_by_queue(p_exact integer) TO insp_operator;
GRANT ALL ON FUNCTION insp.waiting_by_queue(p_exact integer) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.waiting_sessions(p_jobs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.wake(p_lane smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.wake_all() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.was_seen(p_version xid, p_before bigint, p_also bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.watch(p_dead_after interval, p_elapsed interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.why_waiting(p_queues integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.why_waiting(p_queues integer[]) TO insp_operator;
GRANT ALL ON FUNCTION insp.why_waiting(p_queues integer[]) TO insp_auditor;
REVOKE ALL ON FUNCTION insp.withdraw_by_index(partner text, user_index bytea, OUT cancelled integer, OUT erased integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.withdraw_by_index(partner text, user_index bytea, OUT cancelled integer, OUT erased integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.withdraw_consent(id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.withdraw_consent(id uuid) TO insp_operator;
REVOKE ALL ON FUNCTION insp.withdraw_person(partner text, reference text, OUT cancelled integer, OUT erased integer) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.withdraw_person(partner text, reference text, OUT cancelled integer, OUT erased integer) TO insp_operator;
REVOKE ALL ON FUNCTION insp.within_limits(p_queues integer[], p_floors bigint[], p_limits integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.words_digest(p_salt uuid, p_words jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.worker_drained() FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.worker_keys(p_worker bigint, p_keys jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.worker_keys(p_worker bigint, p_keys jsonb) TO insp_worker;
REVOKE ALL ON FUNCTION insp.worker_region(p_region text) FROM PUBLIC;
REVOKE ALL ON FUNCTION insp.worker_register(p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer, OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.worker_register(p_incarnation uuid, p_host text, p_process integer, p_version text, p_region text, p_lanes smallint[], p_slots integer, OUT worker_id bigint, OUT region_id smallint, OUT floor_queues integer[], OUT floor_seqs bigint[]) TO insp_worker;
REVOKE ALL ON FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) TO insp_worker;
REVOKE ALL ON FUNCTION insp.workflow_hint(p_capabilities text[], p_what text) FROM PUBLIC;
GRANT SELECT(endpoint_id) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(endpoint_id) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(generation) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(generation) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(refresh_at) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(refresh_at) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(expires_at) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(permit_until) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(permit_until) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(failed_until) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(failed_until) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT(last_code) ON TABLE insp.access_token TO insp_operator;
GRANT SELECT(last_code) ON TABLE insp.access_token TO insp_auditor;
GRANT SELECT ON TABLE insp.approval TO insp_operator;
GRANT SELECT ON TABLE insp.approval TO insp_auditor;
GRANT SELECT ON TABLE insp.callback_pull TO insp_operator;
GRANT SELECT ON TABLE insp.callback_pull TO insp_auditor;
GRANT SELECT ON TABLE insp.case_lease TO insp_operator;
GRANT SELECT ON TABLE insp.case_lease TO insp_auditor;
GRANT SELECT(id) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(id) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT(partner_id) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(partner_id) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT(issued_at) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(issued_at) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT(expires_at) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT(consumed_at) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(consumed_at) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT(job_id) ON TABLE insp.challenge TO insp_operator;
GRANT SELECT(job_id) ON TABLE insp.challenge TO insp_auditor;
GRANT SELECT ON TABLE insp.console_batch TO insp_operator;
GRANT SELECT ON TABLE insp.console_batch TO insp_auditor;
GRANT SELECT ON TABLE insp.console_grant TO insp_operator;
GRANT SELECT ON TABLE insp.console_grant TO insp_auditor;
GRANT SELECT ON TABLE insp.console_person TO insp_operator;
GRANT SELECT ON TABLE insp.console_person TO insp_auditor;
GRANT SELECT(id) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(id) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT(actor) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(actor) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT(method) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(method) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT(created_at) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(created_at) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT(seen_at) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(seen_at) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT(expires_at) ON TABLE insp.console_session TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.console_session TO insp_auditor;
GRANT SELECT ON TABLE insp.console_task TO insp_operator;
GRANT SELECT ON TABLE insp.console_task TO insp_auditor;
GRANT SELECT ON TABLE insp.control TO insp_operator;
GRANT SELECT ON TABLE insp.control TO insp_auditor;
GRANT SELECT ON TABLE insp.country TO insp_operator;
GRANT SELECT ON TABLE insp.country TO insp_auditor;
GRANT SELECT(key_id) ON TABLE insp.credential_token TO insp_operator;
GRANT SELECT(key_id) ON TABLE insp.credential_token TO insp_auditor;
GRANT SELECT(credential_id) ON TABLE insp.credential_token TO insp_operator;
GRANT SELECT(credential_id) ON TABLE insp.credential_token TO insp_auditor;
GRANT SELECT(scopes) ON TABLE insp.credential_token TO insp_operator;
GRANT SELECT(scopes) ON TABLE insp.credential_token TO insp_auditor;
GRANT SELECT(issued_at) ON TABLE insp.credential_token TO insp_operator;
GRANT SELECT(issued_at) ON TABLE insp.credential_token TO insp_auditor;
GRANT SELECT(expires_at) ON TABLE insp.credential_token TO insp_operator;
GRANT SELECT(expires_at) ON TABLE insp.credential_token TO insp_auditor;
GRANT SELECT ON TABLE insp.dead TO insp_operator;
GRANT SELECT ON TABLE insp.dead TO insp_auditor;
GRANT SELECT ON TABLE insp.delayed TO insp_operator;
GRANT SELECT ON TABLE insp.endpoint_authorization TO insp_operator;
GRANT SELECT ON TABLE insp.endpoint_authorization TO insp_auditor;
GRANT SELECT ON TABLE insp.endpoint_health TO insp_operator;
GRANT SELECT ON TABLE insp.endpoint_health TO insp_auditor;
GRANT SELECT ON TABLE insp.endpoint_tally TO insp_operator;
GRANT SELECT ON TABLE insp.endpoint_tally TO insp_auditor;
GRANT SELECT ON TABLE insp.epoch TO insp_operator;
GRANT SELECT ON TABLE insp.epoch TO insp_auditor;
GRANT SELECT ON TABLE insp.error_code TO insp_producer;
GRANT SELECT ON TABLE insp.error_code TO insp_worker;
GRANT SELECT ON TABLE insp.error_code TO insp_gateway;
GRANT SELECT ON TABLE insp.error_code TO insp_operator;
GRANT SELECT ON TABLE insp.error_code TO insp_reviewer;
GRANT SELECT ON TABLE insp.error_code TO insp_auditor;
GRANT SELECT ON TABLE insp.error_code TO insp_console;
GRANT SELECT ON TABLE insp.error_contract TO insp_producer;
GRANT SELECT ON TABLE insp.error_contract TO insp_gateway;
GRANT SELECT ON TABLE insp.error_contract TO insp_operator;
GRANT SELECT ON TABLE insp.error_contract TO insp_auditor;
GRANT SELECT ON TABLE insp.event TO insp_operator;
GRANT SELECT ON TABLE insp.event TO insp_auditor;
GRANT SELECT ON TABLE insp.event_batch TO insp_operator;
GRANT SELECT ON TABLE insp.event_batch TO insp_auditor;
GRANT SELECT ON TABLE insp.event_cursor TO insp_operator;
GRANT SELECT ON TABLE insp.event_cursor TO insp_auditor;
GRANT SELECT ON TABLE insp.expiry TO insp_operator;
GRANT SELECT ON TABLE insp.face_outcome TO insp_producer;
GRANT SELECT ON TABLE insp.face_outcome TO insp_operator;
GRANT SELECT ON TABLE insp.face_outcome TO insp_auditor;
GRANT SELECT ON TABLE insp.key_gone TO insp_operator;
GRANT SELECT ON TABLE insp.key_gone TO insp_auditor;
GRANT SELECT ON TABLE insp.label TO insp_producer;
GRANT SELECT ON TABLE insp.label TO insp_gateway;
GRANT SELECT ON TABLE insp.label TO insp_operator;
GRANT SELECT ON TABLE insp.label TO insp_reviewer;
GRANT SELECT ON TABLE insp.label TO insp_auditor;
GRANT SELECT ON TABLE insp.lease TO insp_operator;
GRANT SELECT ON TABLE insp.object_gone TO insp_operator;
GRANT SELECT ON TABLE insp.object_gone TO insp_auditor;
GRANT SELECT ON TABLE insp.part_kind TO insp_producer;
GRANT SELECT ON TABLE insp.part_kind TO insp_gateway;
GRANT SELECT ON TABLE insp.part_kind TO insp_operator;
GRANT SELECT ON TABLE insp.part_kind TO insp_auditor;
GRANT SELECT ON TABLE insp.partner_key TO insp_operator;
GRANT SELECT ON TABLE insp.partner_key TO insp_auditor;
GRANT SELECT ON TABLE insp.partner_policy TO insp_operator;
GRANT SELECT ON TABLE insp.partner_policy TO insp_auditor;
GRANT SELECT ON TABLE insp.partner_sample TO insp_operator;
GRANT SELECT ON TABLE insp.partner_sample TO insp_auditor;
GRANT SELECT ON TABLE insp.producer_partner TO insp_operator;
GRANT SELECT ON TABLE insp.producer_partner TO insp_auditor;
GRANT SELECT ON TABLE insp.pull_cursor TO insp_operator;
GRANT SELECT ON TABLE insp.pull_cursor TO insp_auditor;
GRANT SELECT ON TABLE insp.pull_epoch TO insp_operator;
GRANT SELECT ON TABLE insp.pull_epoch TO insp_auditor;
GRANT SELECT ON TABLE insp.pull_gone TO insp_operator;
GRANT SELECT ON TABLE insp.pull_gone TO insp_auditor;
GRANT SELECT ON TABLE insp.queue_sample TO insp_operator;
GRANT SELECT ON TABLE insp.queue_sample TO insp_auditor;
GRANT SELECT ON TABLE insp.quota TO insp_operator;
GRANT SELECT ON TABLE insp.quota TO insp_auditor;
GRANT SELECT ON TABLE insp.ready TO insp_operator;
GRANT SELECT ON TABLE insp.reason TO insp_operator;
GRANT SELECT ON TABLE insp.reason TO insp_reviewer;
GRANT SELECT ON TABLE insp.reason TO insp_auditor;
GRANT SELECT ON TABLE insp.reason_advice TO insp_operator;
GRANT SELECT ON TABLE insp.reason_advice TO insp_reviewer;
GRANT SELECT ON TABLE insp.reason_advice TO insp_auditor;
GRANT SELECT ON TABLE insp.record_chain TO insp_operator;
GRANT SELECT ON TABLE insp.record_chain TO insp_auditor;
GRANT SELECT ON TABLE insp.record_checkpoint TO insp_operator;
GRANT SELECT ON TABLE insp.record_checkpoint TO insp_auditor;
GRANT SELECT ON TABLE insp.region TO insp_operator;
GRANT SELECT ON TABLE insp.region TO insp_auditor;
GRANT SELECT ON TABLE insp.rerun TO insp_operator;
GRANT SELECT ON TABLE insp.rerun TO insp_auditor;
GRANT SELECT ON TABLE insp.retention TO insp_operator;
GRANT SELECT ON TABLE insp.retention TO insp_auditor;
GRANT SELECT ON TABLE insp.retention_cursor TO insp_operator;
GRANT SELECT ON TABLE insp.retention_cursor TO insp_auditor;
GRANT SELECT ON TABLE insp.retention_horizon TO insp_operator;
GRANT SELECT ON TABLE insp.retention_horizon TO insp_auditor;
GRANT SELECT ON TABLE insp.review_wait TO insp_operator;
GRANT SELECT ON TABLE insp.review_wait TO insp_auditor;
GRANT SELECT ON TABLE insp.scope TO insp_operator;
GRANT SELECT ON TABLE insp.scope TO insp_auditor;
GRANT SELECT(id) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(id) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT(owner) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(owner) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT(purpose) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(purpose) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT(seal) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(seal) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT(valid_from) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(valid_from) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT(valid_until) ON TABLE insp.secret TO insp_operator;
GRANT SELECT(valid_until) ON TABLE insp.secret TO insp_auditor;
GRANT SELECT ON TABLE insp.usage_count TO insp_operator;
GRANT SELECT ON TABLE insp.usage_count TO insp_auditor;
GRANT SELECT ON TABLE insp.usage_cursor TO insp_operator;
GRANT SELECT ON TABLE insp.usage_cursor TO insp_auditor;
GRANT SELECT ON TABLE insp.v_access TO insp_operator;
GRANT SELECT ON TABLE insp.v_access TO insp_auditor;
GRANT SELECT ON TABLE insp.v_authorization TO insp_operator;
GRANT SELECT ON TABLE insp.v_authorization TO insp_auditor;
GRANT SELECT ON TABLE insp.v_callback_dead TO insp_operator;
GRANT SELECT ON TABLE insp.v_callback_dead TO insp_auditor;
GRANT SELECT ON TABLE insp.v_callbacks TO insp_operator;
GRANT SELECT ON TABLE insp.v_callbacks TO insp_auditor;
GRANT SELECT ON TABLE insp.v_credential TO insp_operator;
GRANT SELECT ON TABLE insp.v_credential TO insp_auditor;
GRANT SELECT ON TABLE insp.v_custody TO insp_producer;
GRANT SELECT ON TABLE insp.v_custody TO insp_worker;
GRANT SELECT ON TABLE insp.v_custody TO insp_operator;
GRANT SELECT ON TABLE insp.v_custody TO insp_reviewer;
GRANT SELECT ON TABLE insp.v_custody TO insp_auditor;
GRANT SELECT ON TABLE insp.v_custody TO insp_gateway;
GRANT SELECT ON TABLE insp.v_custody TO insp_console;
GRANT SELECT ON TABLE insp.v_dead TO insp_operator;
GRANT SELECT ON TABLE insp.v_dead TO insp_auditor;
GRANT SELECT ON TABLE insp.v_partner_policy TO insp_operator;
GRANT SELECT ON TABLE insp.v_partner_policy TO insp_auditor;
GRANT SELECT ON TABLE insp.v_decision_policy TO insp_operator;
GRANT SELECT ON TABLE insp.v_decision_policy TO insp_auditor;
GRANT SELECT ON TABLE insp.worker TO insp_operator;
GRANT SELECT ON TABLE insp.worker TO insp_auditor;
GRANT SELECT ON TABLE insp.worker_key TO insp_operator;
GRANT SELECT ON TABLE insp.worker_key TO insp_auditor;
GRANT SELECT ON TABLE insp.v_decryption_key TO insp_operator;
GRANT SELECT ON TABLE insp.v_decryption_key TO insp_auditor;
GRANT SELECT ON TABLE insp.v_endpoint_events TO insp_operator;
GRANT SELECT ON TABLE insp.v_endpoint_events TO insp_auditor;
GRANT SELECT ON TABLE insp.v_error TO insp_operator;
GRANT SELECT ON TABLE insp.v_error TO insp_auditor;
GRANT SELECT ON TABLE insp.v_faces TO insp_operator;
GRANT SELECT ON TABLE insp.v_faces TO insp_auditor;
GRANT SELECT ON TABLE insp.v_floor TO insp_operator;
GRANT SELECT ON TABLE insp.v_floor TO insp_auditor;
GRANT SELECT ON TABLE insp.v_maintenance TO insp_worker;
GRANT SELECT ON TABLE insp.v_maintenance TO insp_operator;
GRANT SELECT ON TABLE insp.v_maintenance TO insp_auditor;
GRANT SELECT ON TABLE insp.v_operator_events TO insp_operator;
GRANT SELECT ON TABLE insp.v_operator_events TO insp_auditor;
GRANT SELECT ON TABLE insp.v_partner TO insp_operator;
GRANT SELECT ON TABLE insp.v_partner TO insp_auditor;
GRANT SELECT ON TABLE insp.v_producer TO insp_operator;
GRANT SELECT ON TABLE insp.v_producer TO insp_auditor;
GRANT SELECT ON TABLE insp.v_proposal TO insp_operator;
GRANT SELECT ON TABLE insp.v_proposal TO insp_auditor;
GRANT SELECT ON TABLE insp.v_queue TO insp_operator;
GRANT SELECT ON TABLE insp.v_queue TO insp_auditor;
GRANT SELECT ON TABLE insp.v_queue_sample TO insp_operator;
GRANT SELECT ON TABLE insp.v_queue_sample TO insp_auditor;
GRANT SELECT ON TABLE insp.v_quota TO insp_operator;
GRANT SELECT ON TABLE insp.v_quota TO insp_auditor;
GRANT SELECT ON TABLE insp.v_retention TO insp_operator;
GRANT SELECT ON TABLE insp.v_retention TO insp_auditor;
GRANT SELECT ON TABLE insp.v_review TO insp_operator;
GRANT SELECT ON TABLE insp.v_review TO insp_reviewer;
GRANT SELECT ON TABLE insp.v_review TO insp_auditor;
GRANT SELECT ON TABLE insp.v_running TO insp_operator;
GRANT SELECT ON TABLE insp.v_running TO insp_auditor;
GRANT SELECT ON TABLE insp.v_stuck TO insp_operator;
GRANT SELECT ON TABLE insp.v_stuck TO insp_auditor;
GRANT SELECT ON TABLE insp.v_waiting TO insp_operator;
GRANT SELECT ON TABLE insp.v_waiting TO insp_auditor;
GRANT SELECT ON TABLE insp.v_workers TO insp_operator;
GRANT SELECT ON TABLE insp.v_workers TO insp_auditor;
GRANT SELECT ON TABLE insp.v_xmin_holders TO insp_operator;
GRANT SELECT ON TABLE insp.v_xmin_holders TO insp_auditor;
