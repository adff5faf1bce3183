-- Validation of URLs of callbacks and parts. The helpers that callers cannot execute set no search_path: they run under that of
-- the entry function, and the setting costs more than most of them.

CREATE OR REPLACE FUNCTION insp.url_problem(p_url text, p_max integer, p_allow_http boolean, p_allow_private boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    piece text[];
    host text;
BEGIN
    -- The common case in one comparison; everything else is parsed to find the error.
    IF length(p_url) <= p_max AND p_url ~ '^https://([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}(/[!"$-[\]-~]*)?$'
        AND p_url !~ '^https://[^/]*\.(local|localhost|internal|intranet|lan|home|arpa|invalid|onion)(/|$)' THEN
        RETURN NULL;
    END IF;
    IF length(p_url) > p_max THEN
        RETURN format('longer than %s characters', p_max);
    ELSIF p_url ~ '[^\x21-\x7e]' THEN
        RETURN 'holds a character other than printable ASCII';
    END IF;
    piece := regexp_match(p_url, '^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)([^#\\]*)(#?)');
    IF piece IS NULL THEN
        RETURN 'not an absolute URL';
    ELSIF lower(piece[1]) <> 'https' AND NOT (lower(piece[1]) = 'http' AND p_allow_http) THEN
        RETURN 'not https';
    ELSIF p_url ~ '#' THEN
        RETURN 'has a fragment';
    ELSIF p_url ~ '\\' THEN
        RETURN 'has a backslash';
    ELSIF piece[2] ~ '@' THEN
        RETURN 'has user information';
    END IF;
    host := lower(piece[2]);
    IF p_allow_private THEN
        IF host !~ '^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$' THEN
            RETURN 'has no valid host';
        END IF;
        RETURN NULL;
    END IF;
    -- Resolvers take a last label of digits for an IPv4 address, in any notation (127.1, 2130706433, 0x7f.1).
    IF host ~ '^\[' OR host ~ '(^|\.)([0-9]+|0x[0-9a-f]*)\.?$' THEN
        RETURN 'has an IP address in place of a host name';
    ELSIF host ~ ':' THEN
        RETURN 'has a port';
    ELSIF host !~ '^([a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$' THEN
        RETURN 'has no fully qualified host name';
    ELSIF host ~ '\.(local|localhost|internal|intranet|lan|home|arpa|invalid|onion)$' THEN
        RETURN 'has a host name that is not public';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.url_problem(text, integer, boolean, boolean) IS
    'The error in a URL for callbacks or parts, or null. Addresses are checked again when the name is resolved';

CREATE OR REPLACE FUNCTION insp.endpoint_problem(p_url text, p_allow_http boolean, p_allow_private boolean) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- What is pulled is sent nowhere. A job cannot choose that.
    SELECT CASE WHEN p_url IS DISTINCT FROM 'pull:' THEN insp.url_problem(p_url, 255, p_allow_http, p_allow_private) END
$$;
COMMENT ON FUNCTION insp.endpoint_problem(text, boolean, boolean) IS
    'The error in an endpoint''s URL, or null: like insp.url_problem, but accepts pull:, whose events the partner pulls';

CREATE OR REPLACE FUNCTION insp.url_origin(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A URL in any other form has no origin: a URL that two parsers may read differently gets no credentials.
    SELECT lower(m[1]) || '://' || lower(m[2]) || CASE
        WHEN m[3] IS NULL OR m[3]::integer = CASE lower(m[1]) WHEN 'https' THEN 443 ELSE 80 END THEN '' ELSE ':' || m[3]::integer END
    FROM regexp_match(p_url, '^([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?]|$)') m
$$;
COMMENT ON FUNCTION insp.url_origin(text) IS
    'The origin of a URL (RFC 6454: scheme, host and port) in lower case and without a default port; null: not a plain http or https URL';
GRANT EXECUTE ON FUNCTION insp.url_origin(text) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.is_listed_host(p_url text, p_hosts text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A URL without an origin has no host that two parsers agree on.
    SELECT p_hosts IS NULL OR coalesce((
        SELECT bool_or(u.host = h OR left(h, 2) = '*.' AND right(u.host, length(h) - 1) = substr(h, 2))
        FROM unnest(p_hosts) h, (SELECT regexp_replace(insp.url_origin(p_url), '^https?://(.*?)(:[0-9]+)?$', '\1') AS host) u), false)
$$;
COMMENT ON FUNCTION insp.is_listed_host(text, text[]) IS
    'Whether a URL''s host is one of the given names, or below a domain that is given as *.domain; null: every host is';

CREATE OR REPLACE FUNCTION insp.may_lead(e insp.endpoint, p_url text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT coalesce(e.allow_private AND (e.allowed_networks IS NOT NULL OR insp.endpoint_owns(e, p_url)), false)
$$;
COMMENT ON FUNCTION insp.may_lead(insp.endpoint, text) IS
    'Whether a URL that a job specifies may use private addresses: at the endpoint''s own origins, and otherwise in the networks that an operator listed';
