-- Who may enqueue, where their callbacks go, and the lists that requests are checked against.

CREATE TABLE insp.region (
    id smallint PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[A-Z][A-Z0-9-]{1,15}$')
);
COMMENT ON TABLE insp.region IS 'Data centres. A job with a region is processed only by workers of that region';
COMMENT ON COLUMN insp.region.id IS 'Number in the queue''s keys; 0 is kept for jobs that any worker may process';
COMMENT ON COLUMN insp.region.name IS 'The name that payloads and workers give';
ALTER TABLE insp.region ADD CONSTRAINT region_not_any CHECK (id > 0);
INSERT INTO insp.region (id, name) VALUES (1, 'US'), (2, 'EU'), (3, 'SG');

CREATE TABLE insp.country (
    code text PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$')
);
COMMENT ON TABLE insp.country IS 'Countries that a request may preselect (ISO 3166-1 alpha-3); add rows for other issuers';
COMMENT ON COLUMN insp.country.code IS 'Alpha-3 code';
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
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE insp.partner IS 'Tenants: who owns jobs, callback endpoints and limits';
COMMENT ON COLUMN insp.partner.id IS 'Internal number; id % 64 is the partner''s slot in every lane';
COMMENT ON COLUMN insp.partner.name IS 'The name that payloads give';
COMMENT ON COLUMN insp.partner.enabled IS 'A disabled partner''s new jobs are refused; accepted ones still finish';
COMMENT ON COLUMN insp.partner.lane IS 'Lane of jobs that name none: 0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.partner.region IS 'Region of jobs that name none; null: any worker may process them';
COMMENT ON COLUMN insp.partner.consent_required IS 'Whether each job must record the end user''s consent';
COMMENT ON COLUMN insp.partner.callback_required IS 'Whether a job without any callback URL is refused';
COMMENT ON COLUMN insp.partner.job_lifetime IS 'A job that names no expiresAt and is not finished after this time ends as EXPIRED';
COMMENT ON COLUMN insp.partner.created_at IS 'When the partner was added';

CREATE FUNCTION insp.new_secret() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    -- Two random UUIDs carry 244 bits of the server's strong random source; the format is that of Standard Webhooks.
    SELECT 'whsec_' || encode(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), 'base64')
$$;
COMMENT ON FUNCTION insp.new_secret() IS 'A new signing secret: whsec_ and 32 random bytes in base64';

CREATE TABLE insp.endpoint (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL REFERENCES insp.partner,
    url text,
    secret text NOT NULL DEFAULT insp.new_secret() CHECK (secret LIKE 'whsec\_%'),
    previous_secret text CHECK (previous_secret LIKE 'whsec\_%'),
    previous_secret_until timestamptz,
    allow_http boolean NOT NULL DEFAULT false,
    allow_private boolean NOT NULL DEFAULT false,
    enabled boolean NOT NULL DEFAULT true,
    max_inflight integer NOT NULL DEFAULT 8 CHECK (max_inflight BETWEEN 1 AND 1000),
    is_default boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX endpoint_default ON insp.endpoint (partner_id) WHERE is_default;
COMMENT ON TABLE insp.endpoint IS 'Where a partner''s callbacks go, and what is allowed there';
COMMENT ON COLUMN insp.endpoint.id IS 'Number of the endpoint';
COMMENT ON COLUMN insp.endpoint.partner_id IS 'Whose endpoint it is';
COMMENT ON COLUMN insp.endpoint.url IS 'Default URL; null: only jobs that bring a callbackUrl are called back';
COMMENT ON COLUMN insp.endpoint.secret IS 'Signing secret (Standard Webhooks); readable by insp_worker alone';
COMMENT ON COLUMN insp.endpoint.previous_secret IS 'Secret before the last rotation; also signs until previous_secret_until';
COMMENT ON COLUMN insp.endpoint.previous_secret_until IS 'End of the rotation''s overlap';
COMMENT ON COLUMN insp.endpoint.allow_http IS 'Whether plain http is allowed, for callbacks and for parts by URL';
COMMENT ON COLUMN insp.endpoint.allow_private IS 'Whether private and loopback addresses, address literals and ports are allowed';
COMMENT ON COLUMN insp.endpoint.enabled IS 'Callbacks of a disabled endpoint are held, not dropped';
COMMENT ON COLUMN insp.endpoint.max_inflight IS 'Callbacks under way at once, over all workers';
COMMENT ON COLUMN insp.endpoint.is_default IS 'The endpoint that the partner''s jobs use; one for each partner';
COMMENT ON COLUMN insp.endpoint.created_at IS 'When the endpoint was added';

GRANT SELECT ON insp.region, insp.country, insp.partner TO insp_worker, insp_operator, insp_auditor;
GRANT SELECT, UPDATE ON insp.endpoint TO insp_worker;
GRANT SELECT (id, partner_id, url, previous_secret_until, allow_http, allow_private, enabled, max_inflight, is_default,
    created_at) ON insp.endpoint TO insp_operator, insp_auditor;

CREATE FUNCTION insp.create_partner(
    p_name text,
    p_callback_url text DEFAULT NULL,
    p_allow_http boolean DEFAULT false,
    p_allow_private boolean DEFAULT false,
    OUT partner_id integer,
    OUT endpoint_id bigint,
    OUT secret text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    INSERT INTO insp.partner AS p (name) VALUES (p_name) RETURNING p.id INTO partner_id;
    INSERT INTO insp.endpoint AS e (partner_id, url, allow_http, allow_private)
    VALUES (create_partner.partner_id, p_callback_url, p_allow_http, p_allow_private)
    RETURNING e.id, e.secret INTO endpoint_id, secret;
END
$$;
COMMENT ON FUNCTION insp.create_partner(text, text, boolean, boolean) IS
    'Adds a partner with its default endpoint and returns the new signing secret, which is shown only here';
GRANT EXECUTE ON FUNCTION insp.create_partner(text, text, boolean, boolean) TO insp_operator;
