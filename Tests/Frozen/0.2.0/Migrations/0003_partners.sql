-- Partners, their limits, and the lists against which requests are checked.

CREATE TABLE insp.region (
    id smallint PRIMARY KEY CONSTRAINT region_not_any CHECK (id > 0),
    name text NOT NULL UNIQUE CHECK (name ~ '^[A-Z][A-Z0-9-]{1,15}$'),
    is_served boolean NOT NULL DEFAULT false
);
-- Read if a request has no region: empty in a deployment that names none.
CREATE INDEX region_served ON insp.region (id) WHERE is_served;
COMMENT ON TABLE insp.region IS 'Data centres. A job with a region is processed only by workers of that region';
COMMENT ON COLUMN insp.region.id IS 'Its number in the queue''s keys; 0 is reserved for jobs that any worker may process';
COMMENT ON COLUMN insp.region.name IS 'The name in payloads and workers'' configurations';
COMMENT ON COLUMN insp.region.is_served IS
    'Whether the deployment uses it (insp.set_regions). Once it uses any, each job and each worker needs one of them';
GRANT SELECT ON insp.region TO insp_operator, insp_auditor;
INSERT INTO insp.region (id, name) VALUES (1, 'US'), (2, 'EU'), (3, 'SG');

CREATE TABLE insp.country (
    code text PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$')
);
COMMENT ON TABLE insp.country IS 'Countries that a request may accept (ISO 3166-1 alpha-3); add rows for other issuers';
COMMENT ON COLUMN insp.country.code IS 'Alpha-3 code';
GRANT SELECT ON insp.country TO insp_operator, insp_auditor;
INSERT INTO insp.country (code)
SELECT unnest(string_to_array(
    'ABW AFG AGO AIA ALA ALB AND ARE ARG ARM ASM ATA ATF ATG AUS AUT AZE BDI BEL BEN BES BFA BGD BGR BHR BHS BIH BLM '
    'BLR BLZ BMU BOL BRA BRB BRN BTN BVT BWA CAF CAN CCK CHE CHL CHN CIV CMR COD COG COK COL COM CPV CRI CUB CUW CXR '
    'CYM CYP CZE DEU DJI DMA DNK DOM DZA ECU EGY ERI ESH ESP EST ETH FIN FJI FLK FRA FRO FSM GAB GBR GEO GGY GHA GIB '
    'GIN GLP GMB GNB GNQ GRC GRD GRL GTM GUF GUM GUY HKG HMD HND HRV HTI HUN IDN IMN IND IOT IRL IRN IRQ ISL ISR ITA '
    'JAM JEY JOR JPN KAZ KEN KGZ KHM KIR KNA KOR KWT LAO LBN LBR LBY LCA LIE LKA LSO LTU LUX LVA MAC MAF MAR MCO MDA '
    'MDG MDV MEX MHL MKD MLI MLT MMR MNE MNG MNP MOZ MRT MSR MTQ MUS MWI MYS MYT NAM NCL NER NFK NGA NIC NIU NLD NOR '
    'NPL NRU NZL OMN PAK PAN PCN PER PHL PLW PNG POL PRI PRK PRT PRY PSE PYF QAT REU ROU RUS RWA SAU SDN SEN SGP SGS '
    'SHN SJM SLB SLE SLV SMR SOM SPM SRB SSD STP SUR SVK SVN SWE SWZ SXM SYC SYR TCA TCD TGO THA TJK TKL TKM TLS TON '
    'TTO TUN TUR TUV TWN TZA UGA UKR UMI URY USA UZB VAT VCT VEN VGB VIR VNM VUT WLF WSM YEM ZAF ZMB ZWE', ' '));

CREATE TABLE insp.partner (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    enabled boolean NOT NULL DEFAULT true,
    lane smallint NOT NULL DEFAULT 1 CHECK (lane BETWEEN 0 AND 2),
    region smallint REFERENCES insp.region,
    consent_required boolean NOT NULL DEFAULT false,
    callback_required boolean NOT NULL DEFAULT false,
    job_lifetime interval NOT NULL DEFAULT '7 days' CHECK (job_lifetime > '0'),
    created_at timestamptz NOT NULL DEFAULT now(),
    paused boolean NOT NULL DEFAULT false,
    pause_reason text,
    max_running integer CHECK (max_running > 0),
    rate_per_second double precision CHECK (rate_per_second > 0),
    rate_burst integer CHECK (rate_burst > 0),
    review text NOT NULL DEFAULT 'never' CHECK (review IN ('never', 'rejected', 'warning', 'always')),
    keep_parts interval NOT NULL DEFAULT '30 days' CHECK (keep_parts = '0' OR keep_parts BETWEEN '1 hour' AND '36525 days'),
    keep_results interval NOT NULL DEFAULT '30 days' CHECK (keep_results BETWEEN '1 hour' AND '36525 days'),
    face_templates smallint NOT NULL DEFAULT 5 CHECK (face_templates BETWEEN 1 AND 20),
    face_attempts integer NOT NULL DEFAULT 10 CHECK (face_attempts > 0),
    face_window interval NOT NULL DEFAULT '10 minutes' CHECK (face_window > '0' AND face_window <= '1 day'),
    keep_faces interval CHECK (keep_faces BETWEEN '1 hour' AND '36525 days'),
    passive_signals_suffice boolean NOT NULL DEFAULT false,
    max_waiting bigint CHECK (max_waiting > 0),
    max_bytes bigint CHECK (max_bytes > 0),
    keep_references interval CHECK (keep_references BETWEEN '1 hour' AND '36525 days'),
    erased_at timestamptz,
    test_of integer REFERENCES insp.partner,
    consent_policy_url text CHECK (length(consent_policy_url) <= 255),
    consent_policy_version text CHECK (consent_policy_version ~ '^[A-Za-z0-9._-]{1,32}$'),
    consent_purposes text[] NOT NULL DEFAULT '{}' CHECK (cardinality(consent_purposes) <= 16),
    region_choice boolean NOT NULL DEFAULT false,
    callback_hosts text[] CHECK (cardinality(callback_hosts) BETWEEN 1 AND 64),
    decision_policy jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(decision_policy) = 'object'),
    decision_version integer NOT NULL DEFAULT 0,
    vendor jsonb CHECK (jsonb_typeof(vendor) = 'object'),
    capture_hosts text[] CHECK (cardinality(capture_hosts) BETWEEN 1 AND 64),
    second_review boolean NOT NULL DEFAULT false
);
-- Partial: nearly all are null, and a search for those must not choose it.
CREATE UNIQUE INDEX partner_test_of ON insp.partner (test_of) WHERE test_of IS NOT NULL;
-- Every job that finishes asks whether there is such a partner.
CREATE INDEX partner_keeps_no_parts ON insp.partner (id) WHERE keep_parts = '0';
CREATE INDEX partner_restricted ON insp.partner (id)
    WHERE paused OR max_running IS NOT NULL OR rate_per_second IS NOT NULL;
COMMENT ON TABLE insp.partner IS 'Tenants, which own jobs, callback endpoints and limits';
COMMENT ON COLUMN insp.partner.id IS 'Internal number';
COMMENT ON COLUMN insp.partner.name IS 'The name in payloads';
COMMENT ON COLUMN insp.partner.enabled IS 'A disabled partner''s new jobs are refused; accepted ones still finish';
COMMENT ON COLUMN insp.partner.lane IS 'Lane of jobs that specify none: 0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.partner.region IS 'Region of its jobs; null: any worker may process jobs that specify none';
COMMENT ON COLUMN insp.partner.consent_required IS 'Whether each job must record the person''s consent';
COMMENT ON COLUMN insp.partner.callback_required IS 'Whether a job without any callback URL is refused';
COMMENT ON COLUMN insp.partner.job_lifetime IS 'A job without expiresAt that is not finished after this time ends as EXPIRED';
COMMENT ON COLUMN insp.partner.created_at IS 'When the partner was added';
COMMENT ON COLUMN insp.partner.paused IS 'Whether claiming the partner''s jobs is stopped; running jobs finish';
COMMENT ON COLUMN insp.partner.pause_reason IS 'Why it is paused';
COMMENT ON COLUMN insp.partner.max_running IS 'Maximum of jobs running at once, over all workers; null: no limit';
COMMENT ON COLUMN insp.partner.rate_per_second IS 'Maximum of jobs started per second, over all workers; null: no limit';
COMMENT ON COLUMN insp.partner.rate_burst IS 'Jobs that may start at once after a quiet period; null: one second''s worth of the rate';
COMMENT ON COLUMN insp.partner.review IS
    'Which decisions wait for a review: never; rejected: REJECTED; warning: WARNING and REJECTED; always: these and PASSED. A job may request a stricter one. NOT_EXECUTED never waits: nothing was decided';
COMMENT ON COLUMN insp.partner.keep_parts IS 'How long a job''s parts are kept after its end; at least an hour, or 0: they are removed when it finishes';
COMMENT ON COLUMN insp.partner.keep_results IS 'How long a job''s results are kept after its end; at least an hour';
COMMENT ON COLUMN insp.partner.face_templates IS 'Templates kept for one face id; a further one replaces the oldest';
COMMENT ON COLUMN insp.partner.face_attempts IS 'Enrolments and authentications of one face id that are accepted within face_window';
COMMENT ON COLUMN insp.partner.face_window IS 'See face_attempts; a day at most';
COMMENT ON COLUMN insp.partner.keep_faces IS 'How long a template is kept after its enrolment; null: until it is deleted';
COMMENT ON COLUMN insp.partner.passive_signals_suffice IS
    'Whether jobs accepted from now on pass liveness if passive PAD signals find nothing; otherwise they end with WARNING, and only a challenge or a vendor passes';
COMMENT ON COLUMN insp.partner.max_waiting IS 'Jobs that may wait (accepted or delayed, and not claimed); null: any number';
COMMENT ON COLUMN insp.partner.max_bytes IS 'Bytes that its parts may occupy in the database; null: any number';
COMMENT ON COLUMN insp.partner.keep_references IS
    'How long a job''s request is kept after its end: references, URLs, consent, options. Null: as long as its parts or its results, whichever are kept longer';
COMMENT ON COLUMN insp.partner.test_of IS
    'The partner whose tests it holds: its jobs have specimens with fixed outcomes, and it shares nothing with that partner: no persons, faces or counts. Null: its jobs are real';
COMMENT ON COLUMN insp.partner.erased_at IS 'When its erasure began (insp.erase_partner); null: it was not erased';
COMMENT ON COLUMN insp.partner.consent_policy_url IS 'Where people read what they consent to';
COMMENT ON COLUMN insp.partner.consent_policy_version IS 'The version that a required consent must state as policyVersion; null: any';
COMMENT ON COLUMN insp.partner.consent_purposes IS 'Purposes that a required consent must contain';
COMMENT ON COLUMN insp.partner.region_choice IS 'Whether a job may specify another region than its partner''s';
COMMENT ON COLUMN insp.partner.callback_hosts IS
    'Hosts that a job''s callbackUrl may have: host names, or *. and a domain for all names below it; null: any';
COMMENT ON COLUMN insp.partner.decision_policy IS 'What its jobs accept, as insp.set_decision_policy takes it';
COMMENT ON COLUMN insp.partner.decision_version IS 'Number of that policy, which results state as policyVersion; 0: it never had one';
COMMENT ON COLUMN insp.partner.vendor IS
    'The liveness vendor''s server for its sessions, as insp.set_vendor takes it, without a secret; null: the server configured for workers';
COMMENT ON COLUMN insp.partner.capture_hosts IS
    'Hosts to which a capture link may send the person back: host names, or *. and a domain for all names below it; null: none';
COMMENT ON COLUMN insp.partner.second_review IS
    'Whether a reviewer''s decision finishes a job only when a second person has confirmed it';
GRANT SELECT ON insp.partner TO insp_operator, insp_auditor;

CREATE TABLE insp.partner_policy (
    partner_id integer NOT NULL REFERENCES insp.partner,
    version integer NOT NULL,
    valid_from timestamptz NOT NULL,
    changed_by text NOT NULL DEFAULT session_user,
    policy jsonb NOT NULL,
    PRIMARY KEY (partner_id, version)
);
COMMENT ON TABLE insp.partner_policy IS 'Each version of a partner''s policy, stored by a trigger on every change';
COMMENT ON COLUMN insp.partner_policy.partner_id IS 'Whose policy';
COMMENT ON COLUMN insp.partner_policy.version IS 'Number of the version, from 1';
COMMENT ON COLUMN insp.partner_policy.valid_from IS 'When it was set; for the first one, when the partner was added';
COMMENT ON COLUMN insp.partner_policy.changed_by IS 'The role that was logged in';
COMMENT ON COLUMN insp.partner_policy.policy IS 'Its columns of insp.partner; intervals as ISO 8601';
GRANT SELECT ON insp.partner_policy TO insp_operator, insp_auditor;

CREATE TABLE insp.partner_key (
    partner_id integer PRIMARY KEY REFERENCES insp.partner,
    jwk jsonb NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    set_by text NOT NULL DEFAULT session_user
);
COMMENT ON TABLE insp.partner_key IS 'Public keys of partners whose results are encrypted; other partners get plain results, over TLS';
COMMENT ON COLUMN insp.partner_key.partner_id IS 'The partner';
COMMENT ON COLUMN insp.partner_key.jwk IS 'The key (RFC 7517): RSA-OAEP-256 or ECDH-ES';
COMMENT ON COLUMN insp.partner_key.set_at IS 'When it was registered';
COMMENT ON COLUMN insp.partner_key.set_by IS 'The login, or the credential, that registered it';
GRANT SELECT ON insp.partner_key TO insp_operator, insp_auditor;

CREATE TABLE insp.producer_partner (
    login name NOT NULL,
    partner_id integer NOT NULL REFERENCES insp.partner,
    role oid NOT NULL,
    is_active boolean NOT NULL DEFAULT true,
    PRIMARY KEY (login, partner_id)
);
CREATE INDEX producer_partner_role ON insp.producer_partner (role);
COMMENT ON TABLE insp.producer_partner IS
    'Logins that act for certain partners only; all other partners do not exist for them. A row applies to the login with its name and its number. If only one of the two matches (the login was renamed, or has the name of a deleted login), the row lets it act for no partner; a login without any row acts for every partner';
COMMENT ON COLUMN insp.producer_partner.login IS 'The login''s name (session_user) when the row was added';
COMMENT ON COLUMN insp.producer_partner.partner_id IS 'A partner that it acts for';
COMMENT ON COLUMN insp.producer_partner.is_active IS
    'Whether it acts for the partner; false: this was its last binding (insp.unbind_producer), and it acts for none until it is bound or freed';
COMMENT ON COLUMN insp.producer_partner.role IS
    'The login''s number in this cluster. In another cluster, which the next epoch detects, it becomes the number of the login with the same name. 0: there was none';
GRANT SELECT ON insp.producer_partner TO insp_operator, insp_auditor;

CREATE TABLE insp.quota (
    partner_id integer PRIMARY KEY REFERENCES insp.partner,
    waiting bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    measured_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE insp.quota IS 'Usage of partners with a quota at the last insp.measure_quotas';
COMMENT ON COLUMN insp.quota.partner_id IS 'The partner';
COMMENT ON COLUMN insp.quota.waiting IS 'Waiting jobs at that time, counted up to one more than the quota';
COMMENT ON COLUMN insp.quota.bytes IS 'Bytes of parts at that time';
COMMENT ON COLUMN insp.quota.measured_at IS 'When it was measured';
GRANT SELECT ON insp.quota TO insp_operator, insp_auditor;

CREATE TABLE insp.quota_use (
    partner_id integer NOT NULL,
    waiting bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX quota_use_partner ON insp.quota_use (partner_id);
COMMENT ON TABLE insp.quota_use IS
    'Changes since the last insp.measure_quotas in the usage of partners with a quota; concurrent transactions write separate rows';
COMMENT ON COLUMN insp.quota_use.partner_id IS 'The partner';
COMMENT ON COLUMN insp.quota_use.waiting IS 'Jobs that were accepted';
COMMENT ON COLUMN insp.quota_use.bytes IS 'Bytes of parts added, less those removed';
