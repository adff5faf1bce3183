-- The inputs of jobs: their checks, and how a worker reads them. Checks set no search_path: see urls.sql.

CREATE OR REPLACE FUNCTION insp.check_part(p_kind text, p_bytes bytea, p_overhead integer, p_digest text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    digest bytea;
BEGIN
    IF p_bytes IS NULL OR length(p_bytes) = p_overhead THEN
        PERFORM insp.refuse('PART_EMPTY', p_kind, p_field => p_kind);
    ELSIF length(p_bytes) > 20971520 + p_overhead THEN
        PERFORM insp.refuse('PART_TOO_LARGE', p_kind, p_field => p_kind);
    ELSIF p_digest IS NOT NULL AND p_digest !~ '^[0-9A-Fa-f]{64}$' THEN
        PERFORM insp.refuse('DIGEST_INVALID', p_kind, p_field => 'digests.' || p_kind);
    END IF;
    digest := sha256(p_bytes);
    IF p_digest IS NOT NULL AND digest <> decode(p_digest, 'hex') THEN
        PERFORM insp.refuse('DIGEST_MISMATCH', p_kind, p_field => 'digests.' || p_kind);
    END IF;
    RETURN digest;
END
$$;
COMMENT ON FUNCTION insp.check_part(text, bytea, integer, text) IS 'Checks the bytes of a part, of which sealing added p_overhead, and returns their SHA-256';

CREATE OR REPLACE FUNCTION insp.check_part_url(p_kind text, p_part jsonb, p_allow_http boolean, p_allow_private boolean) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    problem text;
BEGIN
    IF jsonb_typeof(p_part) <> 'object' OR p_part - ARRAY['url', 'sha256'] <> '{}' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', format('parts.%s is not an object of url and sha256', p_kind), p_field => 'parts.' || p_kind);
    ELSIF jsonb_typeof(p_part -> 'url') IS DISTINCT FROM 'string' THEN
        PERFORM insp.refuse('PART_URL_INVALID', p_kind || ': no url', p_field => format('parts.%s.url', p_kind));
    ELSIF coalesce(p_part ->> 'sha256', '') !~ '^[0-9A-Fa-f]{64}$' THEN
        PERFORM insp.refuse('DIGEST_INVALID', p_kind || ': no sha256', 'A part by URL needs its sha256.', p_field => format('parts.%s.sha256', p_kind));
    END IF;
    problem := insp.url_problem(p_part ->> 'url', 2048, p_allow_http, p_allow_private);
    IF problem IS NOT NULL THEN
        PERFORM insp.refuse('PART_URL_INVALID', p_kind || ': ' || problem, p_field => format('parts.%s.url', p_kind));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_part_url(text, jsonb, boolean, boolean) IS 'Refuses an invalid part by URL';

CREATE OR REPLACE FUNCTION insp.check_part_urls(p_parts jsonb, e insp.endpoint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text;
    part jsonb;
    has_many boolean;
BEGIN
    IF jsonb_typeof(p_parts) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'parts is not an object', p_field => 'parts');
    END IF;
    FOR name IN SELECT k FROM jsonb_object_keys(p_parts) k LOOP
        part := p_parts -> name;
        SELECT k.is_many INTO has_many FROM insp.part_kind k WHERE k.kind = name;
        IF NOT FOUND THEN
            PERFORM insp.refuse('PART_UNKNOWN', left(quote_literal(name), 40), p_field => 'parts.' || left(name, 40));
        ELSIF jsonb_typeof(part) <> 'array' THEN
            PERFORM insp.check_part_url(name, part, coalesce(e.allow_http, false), insp.may_lead(e, part ->> 'url'));
        ELSIF NOT has_many THEN
            PERFORM insp.refuse('PAYLOAD_INVALID', format('parts.%s is an array', name),
                (SELECT string_agg(k.kind, ' and ' ORDER BY k.place) FROM insp.part_kind k WHERE k.is_many) || ' alone may be an array.', 'parts.' || name);
        ELSIF jsonb_array_length(part) = 0 THEN
            PERFORM insp.refuse('PART_EMPTY', name, p_field => 'parts.' || name);
        ELSIF jsonb_array_length(part) > 256 THEN
            PERFORM insp.refuse('PART_TOO_LARGE', name, p_field => 'parts.' || name);
        ELSE
            PERFORM insp.check_part_url(name, f, coalesce(e.allow_http, false), insp.may_lead(e, f ->> 'url'))
            FROM jsonb_array_elements(part) f;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.check_part_urls(jsonb, insp.endpoint) IS
    'Refuses the parts object of a payload if it is invalid, or if the job''s endpoint does not allow a URL';

CREATE OR REPLACE FUNCTION insp.check_digests(p_digests jsonb, p_inline text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text;
    value jsonb;
    has_many boolean;
BEGIN
    IF jsonb_typeof(p_digests) <> 'object' THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'digests is not an object', p_field => 'digests');
    END IF;
    FOR name, value IN SELECT d.key, d.value FROM jsonb_each(p_digests) d LOOP
        SELECT k.is_many INTO has_many FROM insp.part_kind k WHERE k.kind = name;
        IF NOT FOUND THEN
            PERFORM insp.refuse('PART_UNKNOWN', left(quote_literal(name), 40), p_field => 'digests.' || left(name, 40));
        ELSIF name <> ALL (p_inline) THEN
            PERFORM insp.refuse('PART_MISSING', name || ' has a digest but was not given', p_field => name);
        ELSIF jsonb_typeof(value) <> (CASE WHEN has_many THEN 'array' ELSE 'string' END) THEN
            PERFORM insp.refuse('DIGEST_INVALID', name, p_field => 'digests.' || name);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.check_digests(jsonb, text[]) IS
    'Refuses digests of anything other than the parts sent as bytes';

CREATE OR REPLACE FUNCTION insp.check_kinds(p_format text, p_flow insp.workflow, p_kinds text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    kind text;
BEGIN
    IF p_format = 'TD3' AND 'BACK' = ANY (p_kinds) THEN
        PERFORM insp.refuse('PART_UNEXPECTED', 'BACK of a TD3 document', p_field => 'BACK');
    END IF;
    FOREACH kind IN ARRAY p_kinds LOOP
        IF kind <> ALL (p_flow.takes) THEN
            PERFORM insp.refuse('PART_UNEXPECTED', format('%s takes no %s', p_flow.name, kind),
                format('%s takes %s.', p_flow.name, array_to_string(p_flow.takes, ', ')), kind);
        END IF;
    END LOOP;
    FOREACH kind IN ARRAY p_flow.needs_all LOOP
        IF kind <> ALL (p_kinds) THEN
            PERFORM insp.refuse('PART_MISSING', kind, p_field => kind);
        END IF;
    END LOOP;
    IF p_flow.needs_one <> '{}' AND NOT p_flow.needs_one && p_kinds THEN
        PERFORM insp.refuse('PART_MISSING', array_to_string(p_flow.needs_one, ' or '), p_field => p_flow.needs_one[1]);
    ELSIF 'BACK' = ANY (p_kinds) AND 'FRONT' <> ALL (p_kinds) THEN
        PERFORM insp.refuse('PART_MISSING', 'FRONT', p_field => 'FRONT');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_kinds(text, insp.workflow, text[]) IS
    'Refuses parts that a workflow or document does not have, and requests without a required part';

-- The sum of the parts is known before a byte is read; the job's endpoint decides where parts by URL may lead.
CREATE OR REPLACE FUNCTION insp.parts(p_job bigint, p_fence bigint, p_limit bigint)
RETURNS TABLE (
    kind text, ordinal smallint, sha256 bytea, is_sealed boolean, url text, bytes bytea, allow_http boolean, allow_private boolean, networks text[],
    size integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    total bigint;
    content bigint;
BEGIN
    -- The fence as in insp.claim.
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    -- All bytes here came with one job.
    SELECT sum(p.size), max(p.content_id) INTO total, content FROM insp.part p WHERE p.job_id = p_job AND p.size IS NOT NULL;
    IF total > p_limit THEN
        PERFORM insp.refuse('PARTS_TOO_LARGE', format('%s bytes, limit %s', total, p_limit));
    END IF;
    RETURN QUERY
    SELECT p.kind, p.ordinal, p.sha256, p.seal > 0, p.location,
        -- Known before execution, so that the plan opens one partition.
        (SELECT c.bytes FROM insp.content c
            WHERE c.id = content AND c.id = p.content_id AND c.kind = p.kind AND c.ordinal = p.ordinal),
        coalesce(e.allow_http, false), insp.may_lead(e, p.location),
        e.allowed_networks::text[], p.size
    FROM insp.part p JOIN insp.job j ON j.id = p.job_id LEFT JOIN insp.endpoint e ON e.id = j.endpoint_id
    WHERE p.job_id = p_job ORDER BY p.kind, p.ordinal;
END
$$;
COMMENT ON FUNCTION insp.parts(bigint, bigint, bigint) IS
    'The inputs of a leased job, with its endpoint''s permissions for those by URL; LEASE_LOST if the lease is lost, and PARTS_TOO_LARGE, before any bytes are read, if the stored parts have more than p_limit bytes';
GRANT EXECUTE ON FUNCTION insp.parts(bigint, bigint, bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.sealed_values(p_job bigint, p_fence bigint) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = p_job AND l.fence IS NOT DISTINCT FROM p_fence) THEN
        PERFORM insp.refuse('LEASE_LOST');
    END IF;
    RETURN (SELECT j.sealed FROM insp.job j WHERE j.id = p_job);
END
$$;
COMMENT ON FUNCTION insp.sealed_values(bigint, bigint) IS
    'The sealed values of a leased job, which contain the URLs of its parts; LEASE_LOST if the lease is lost';
GRANT EXECUTE ON FUNCTION insp.sealed_values(bigint, bigint) TO insp_worker;
