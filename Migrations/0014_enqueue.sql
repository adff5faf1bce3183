-- Enqueue over insp.queue.

-- Requests of the usual shape are checked as one expression each, which takes a quarter of the time of insp.check_request;
-- whatever is not plain goes there, be it rare or wrong. These two hold no rule of their own: they may only know less.

CREATE FUNCTION insp.is_plain_part(p_part jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_part - ARRAY['url', 'sha256'] = '{}' AND jsonb_typeof(p_part -> 'url') = 'string'
        AND length(p_part ->> 'sha256') = 64 AND ltrim(p_part ->> 'sha256', '0123456789abcdefABCDEF') = ''
        AND length(p_part ->> 'url') <= 2048
        AND (p_part ->> 'url') ~ '^https://([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}(/[!"$-[\]-~]*)?$'
        AND split_part(split_part(p_part ->> 'url', '/', 3), '.', -1) NOT IN ('local', 'localhost', 'internal', 'intranet', 'lan',
            'home', 'arpa', 'invalid', 'onion')
$$;
COMMENT ON FUNCTION insp.is_plain_part(jsonb) IS 'Whether a part by URL is plainly right; otherwise insp.check_part_url decides';

CREATE FUNCTION insp.is_plain_request(p jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT jsonb_typeof(p) = 'object' AND pg_column_size(p) <= 8192
        AND p - ARRAY['partner', 'workflow', 'customerInternalReference', 'userReference', 'idempotencyKey', 'parts'] = '{}'
        AND jsonb_typeof(p -> 'partner') = 'string'
        AND (p -> 'workflow') IN ('"id"', '"id_identity"', '"similarity"')
        AND coalesce(jsonb_typeof(p -> 'customerInternalReference') = 'string', true)
        AND coalesce(length(p ->> 'customerInternalReference') <= 100, true)
        AND coalesce(jsonb_typeof(p -> 'userReference') = 'string', true)
        AND coalesce(length(p ->> 'userReference') <= 100, true)
        AND coalesce(jsonb_typeof(p -> 'idempotencyKey') = 'string', true)
        AND coalesce(length(p ->> 'idempotencyKey') BETWEEN 1 AND 100, true)
        AND jsonb_typeof(p -> 'parts') = 'object' AND (p -> 'parts') - ARRAY['FRONT', 'BACK', 'FACE'] = '{}'
        AND jsonb_typeof(p #> '{parts,FRONT}') = 'object' AND insp.is_plain_part(p #> '{parts,FRONT}')
        AND CASE WHEN (p -> 'parts') ? 'BACK'
            THEN jsonb_typeof(p #> '{parts,BACK}') = 'object' AND insp.is_plain_part(p #> '{parts,BACK}') ELSE true END
        AND CASE WHEN (p -> 'parts') ? 'FACE'
            THEN jsonb_typeof(p #> '{parts,FACE}') = 'object' AND insp.is_plain_part(p #> '{parts,FACE}')
            ELSE (p -> 'workflow') <> '"similarity"' END
$$;
COMMENT ON FUNCTION insp.is_plain_request(jsonb) IS
    'Whether a payload is plainly right, apart from what its partner demands; otherwise insp.check_request decides';

CREATE OR REPLACE FUNCTION insp.accept(
    p_payloads jsonb[], p_inline text[], p_content bytea,
    OUT public_ids uuid[], OUT job_ids bigint[], OUT digests jsonb
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    keys record;
    lanes smallint[];
    conflicts boolean;
BEGIN
    WITH checked AS MATERIALIZED (
        SELECT u.n, nextval('insp.job_id') AS id, gen_random_uuid() AS public_id,
            CASE WHEN c.idempotency_key IS NOT NULL THEN u.payload END AS original, c.*
        FROM unnest(p_payloads) WITH ORDINALITY AS u (payload, n)
            LEFT JOIN LATERAL (
                SELECT x.id, e.id AS endpoint_id, x.lane, coalesce(x.region, 0::smallint) AS region, x.job_lifetime
                FROM insp.partner x LEFT JOIN insp.endpoint e ON e.partner_id = x.id AND e.is_default
                WHERE p_inline = '{}' AND insp.is_plain_request(u.payload) AND x.name = u.payload ->> 'partner' AND x.enabled
                    AND NOT x.callback_required AND NOT x.consent_required AND x.review = 'never'
            ) plain ON true
            CROSS JOIN LATERAL (
                SELECT plain.id AS partner_id, plain.endpoint_id, u.payload - ARRAY['parts', 'idempotencyKey'] AS payload,
                    plain.lane, plain.region, NULL::timestamptz AS run_at, now() + plain.job_lifetime AS expires_at,
                    false AS expires_named, NULL::text AS callback_url, u.payload ->> 'idempotencyKey' AS idempotency_key,
                    NULL::text AS traceparent, NULL::jsonb AS digests, u.payload -> 'parts' AS part_urls
                WHERE plain.id IS NOT NULL
                UNION ALL
                SELECT r.* FROM insp.check_request(u.payload, p_inline) r WHERE plain.id IS NULL
            ) c
    ), keyed AS (
        -- Waits for a call with the same key that is under way; sorted, so that two calls cannot wait for each other.
        INSERT INTO insp.job_key AS k (partner_id, key, job_id, public_id, request_sha256)
        SELECT c.partner_id, c.idempotency_key, c.id, c.public_id,
            sha256(convert_to(c.original::text, 'UTF8') || coalesce(p_content, ''))
        FROM checked c WHERE c.idempotency_key IS NOT NULL ORDER BY c.partner_id, c.idempotency_key
        ON CONFLICT DO NOTHING
        RETURNING k.job_id
    ), fresh AS NOT MATERIALIZED (
        SELECT c.* FROM checked c
        WHERE c.idempotency_key IS NULL OR c.id = ANY (ARRAY(SELECT k.job_id FROM keyed k))
    ), queues AS MATERIALIZED (
        SELECT d.*, insp.queue_of(d.region, d.lane, d.partner_id) AS id
        FROM (SELECT DISTINCT f.region, f.lane, f.partner_id FROM fresh f ORDER BY 1, 2, 3) d
    ), placed AS MATERIALIZED (
        SELECT f.n, f.id, f.run_at, q.id AS queue FROM fresh f JOIN queues q USING (region, lane, partner_id)
    ), jobs AS (
        INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, lane, region, expires_at, callback_url, traceparent,
            payload)
        SELECT f.id, f.public_id, f.partner_id, f.endpoint_id, f.lane, f.region, f.expires_at, f.callback_url,
            f.traceparent, f.payload
        FROM fresh f
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue)
        SELECT p.id, p.queue FROM placed p WHERE p.run_at IS NULL OR p.run_at <= now() ORDER BY p.n
    ), scheduled AS (
        INSERT INTO insp.delayed (run_at, job_id, queue)
        SELECT p.run_at, p.id, p.queue FROM placed p WHERE p.run_at > now()
    ), deadlines AS (
        INSERT INTO insp.expiry (expires_at, job_id) SELECT f.expires_at, f.id FROM fresh f WHERE f.expires_named
    ), parts AS (
        -- The kinds are written out: taking an object apart costs three times as much as asking for eight keys.
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, url)
        SELECT f.id, k.kind, 0, decode(f.part_urls #>> ARRAY[k.kind, 'sha256'], 'hex'), f.part_urls #>> ARRAY[k.kind, 'url']
        FROM fresh f CROSS JOIN (VALUES ('FRONT'), ('BACK'), ('FACE'), ('FRAMES'), ('DG1'), ('DG2'), ('SOD'), ('SESSION_BLOB'))
            AS k (kind)
        WHERE f.part_urls ? k.kind AND jsonb_typeof(f.part_urls -> k.kind) = 'object'
    ), frames AS (
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, url)
        SELECT f.id, 'FRAMES', a.n - 1, decode(a.frame ->> 'sha256', 'hex'), a.frame ->> 'url'
        FROM fresh f, jsonb_array_elements(CASE WHEN jsonb_typeof(f.part_urls -> 'FRAMES') = 'array'
            THEN f.part_urls -> 'FRAMES' END) WITH ORDINALITY AS a (frame, n)
        WHERE f.part_urls ? 'FRAMES'
    )
    SELECT array_agg(c.public_id), array_agg(CASE WHEN c.is_fresh THEN c.id END), (array_agg(c.digests))[1],
        array_agg(DISTINCT c.lane) FILTER (WHERE c.is_fresh),
        NOT bool_and(c.is_fresh)
    INTO public_ids, job_ids, accept.digests, lanes, conflicts
    FROM (SELECT x.*, x.idempotency_key IS NULL OR x.id = ANY (ARRAY(SELECT k.job_id FROM keyed k)) AS is_fresh
        FROM checked x ORDER BY x.n) c;

    IF conflicts THEN
        -- A key that was there before: the same request gets the id that the first one got.
        FOR keys IN
            SELECT u.n, k.public_id,
                k.request_sha256 = sha256(convert_to(u.payload::text, 'UTF8') || coalesce(p_content, '')) AS same
            FROM unnest(p_payloads, job_ids) WITH ORDINALITY AS u (payload, job_id, n)
                JOIN insp.partner p ON p.name = u.payload ->> 'partner'
                JOIN insp.job_key k ON k.partner_id = p.id AND k.key = u.payload ->> 'idempotencyKey'
            WHERE u.job_id IS NULL
        LOOP
            IF NOT keys.same THEN
                PERFORM insp.refuse('IDEMPOTENCY_CONFLICT');
            END IF;
            public_ids[keys.n] := keys.public_id;
        END LOOP;
    END IF;
    PERFORM insp.wake(l) FROM unnest(lanes) AS l;
    -- Far ahead of need, so that producers never depend on a worker being there to make partitions.
    IF EXISTS (SELECT FROM unnest(job_ids) AS id WHERE id % 1000000 = 0) THEN
        PERFORM insp.ensure_partitions();
    END IF;
END
$$;
