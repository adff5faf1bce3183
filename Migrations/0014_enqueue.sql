-- Enqueue over insp.queue.

-- Requests of the usual shape are checked as one expression each, which takes a fifth of the time of insp.check_request;
-- whatever is not plain goes there, be it rare or wrong. These hold no rule of their own: they may only know less.

CREATE FUNCTION insp.is_plain_part(p_part jsonb, p_url text, p_sha256 text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_url IS NOT NULL AND p_sha256 IS NOT NULL AND p_part - ARRAY['url', 'sha256'] = '{}'
        AND length(p_sha256) = 64 AND length(p_url) <= 2048 AND strpos(p_url, E'\n') = 0
$$;
COMMENT ON FUNCTION insp.is_plain_part(jsonb, text, text) IS
    'Whether a part by URL is plainly right, apart from the characters of URL and digest; otherwise insp.check_part_url decides';

-- In steps, each value looked up once: an operator of jsonb costs as much as comparing a page of text.
CREATE FUNCTION insp.plain_requests(p_payloads jsonb[])
RETURNS TABLE (n bigint, payload jsonb, is_plain boolean, has_others boolean, urls text, digests text)
LANGUAGE sql STABLE AS $$
    SELECT y.n, y.p,
        insp.is_plain_part(y.front, y.front_url, y.front_sha256)
            AND (y.back IS NULL OR insp.is_plain_part(y.back, y.back ->> 'url', y.back ->> 'sha256'))
            AND CASE WHEN y.face IS NULL THEN y.p ->> 'workflow' <> 'similarity'
                ELSE insp.is_plain_part(y.face, y.face ->> 'url', y.face ->> 'sha256') END
            AND y.parts - ARRAY['FRONT', 'BACK', 'FACE'] = '{}'
            AND pg_column_size(y.p) <= 8192
            AND jsonb_typeof(y.p -> 'partner') = 'string'
            AND y.p ->> 'workflow' IN ('id', 'id_identity', 'similarity')
            AND (y.rest = '{}' OR y.rest - ARRAY['customerInternalReference', 'userReference', 'idempotencyKey'] = '{}'
                AND coalesce(jsonb_typeof(y.rest -> 'customerInternalReference') = 'string'
                    AND length(y.rest ->> 'customerInternalReference') <= 100, true)
                AND coalesce(jsonb_typeof(y.rest -> 'userReference') = 'string'
                    AND length(y.rest ->> 'userReference') <= 100, true)
                AND coalesce(jsonb_typeof(y.rest -> 'idempotencyKey') = 'string'
                    AND length(y.rest ->> 'idempotencyKey') BETWEEN 1 AND 100, true)),
        y.back IS NOT NULL OR y.face IS NOT NULL,
        y.front_url || E'\n' || coalesce((y.back ->> 'url') || E'\n', '') || coalesce((y.face ->> 'url') || E'\n', ''),
        y.front_sha256 || coalesce(y.back ->> 'sha256', '') || coalesce(y.face ->> 'sha256', '')
    FROM (
        SELECT x.*, x.front ->> 'url' AS front_url, x.front ->> 'sha256' AS front_sha256
        FROM (
            SELECT w.*, w.parts -> 'FRONT' AS front, w.parts -> 'BACK' AS back, w.parts -> 'FACE' AS face
            FROM (SELECT u.n, u.p, u.p -> 'parts' AS parts, u.p - ARRAY['partner', 'workflow', 'parts'] AS rest
                FROM unnest(p_payloads) WITH ORDINALITY AS u (p, n) OFFSET 0) w
            OFFSET 0) x
        OFFSET 0) y
$$;
COMMENT ON FUNCTION insp.plain_requests(jsonb[]) IS
    'Payloads in their order, whether each is plainly right apart from its URLs, digests and what its partner demands (otherwise insp.check_request decides), whether it has parts beside FRONT, its URLs, a line each, and its digests';

-- A regular expression costs most where it begins, so that the URLs and digests of a whole batch are matched as one text.
CREATE FUNCTION insp.are_plain_sources(p_lines text, p_digests text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_lines ~ '^(?:https://(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:/[!"$-[\]-~]*)?\n)+$'
        AND p_lines !~ '\.(?:local|localhost|internal|intranet|lan|home|arpa|invalid|onion)[/\n]'
        AND p_digests !~ '[^0-9a-fA-F]'
$$;
COMMENT ON FUNCTION insp.are_plain_sources(text, text) IS
    'Whether all of these lines are plainly right URLs and the digests hexadecimal; otherwise insp.check_part_url decides';

-- Ids of jobs begin with the time, so that those of one batch lie beside each other in their index. 74 bits are random.

CREATE FUNCTION insp.id_prefix() RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT left(t, 8) || '-' || right(t, 4) || '-7'
    FROM lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS t
$$;
COMMENT ON FUNCTION insp.id_prefix() IS 'What ids made now begin with: milliseconds and version (RFC 9562, section 5.7)';

CREATE FUNCTION insp.random_id(p_prefix text) RETURNS uuid
LANGUAGE sql VOLATILE AS $$ SELECT overlay(gen_random_uuid()::text PLACING p_prefix FROM 1 FOR 15)::uuid $$;
COMMENT ON FUNCTION insp.random_id(text) IS 'A new id (UUID version 7) that begins with what insp.id_prefix() returned';

DROP INDEX insp.job_public_id;
CREATE INDEX job_public_id ON insp.job (public_id);

CREATE FUNCTION insp.accept_plain(p_payloads jsonb[], OUT public_ids uuid[], OUT job_ids bigint[])
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    whose record;
    place integer;
    prefix text;
    is_plain boolean;
    has_others boolean;
    partner constant text := p_payloads[1] ->> 'partner';
BEGIN
    -- OFFSET 0 makes it a look at the index for one partner, whatever the statistics say, as ANY does in insp.claim.
    SELECT x.id, e.id AS endpoint_id, x.lane, coalesce(x.region, 0::smallint) AS region, now() + x.job_lifetime AS expires_at
    INTO whose
    FROM insp.partner x LEFT JOIN LATERAL (SELECT e.id FROM insp.endpoint e
        WHERE e.partner_id = x.id AND e.is_default OFFSET 0) e ON true
    WHERE x.name = partner AND x.enabled
        AND NOT x.callback_required AND NOT x.consent_required AND x.review = 'never'
        AND NOT x.liveness_evidence_suffices;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT bool_and(u.is_plain AND u.payload ->> 'partner' = partner AND NOT u.payload ? 'idempotencyKey')
        AND insp.are_plain_sources(string_agg(u.urls, ''), string_agg(u.digests, '')), bool_or(u.has_others)
    INTO is_plain, has_others FROM insp.plain_requests(p_payloads) u;
    IF is_plain IS NOT TRUE THEN
        RETURN;
    END IF;

    place := insp.queue_of(whose.region, whose.lane, whose.id);
    prefix := insp.id_prefix();
    WITH asked AS MATERIALIZED (
        SELECT nextval('insp.job_id') AS id, insp.random_id(prefix) AS public_id, u.payload
        FROM unnest(p_payloads) AS u (payload)
    ), jobs AS (
        INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, lane, region, expires_at, payload)
        SELECT a.id, a.public_id, whose.id, whose.endpoint_id, whose.lane, whose.region, whose.expires_at,
            a.payload - ARRAY['parts']
        FROM asked a
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue) SELECT a.id, place FROM asked a ORDER BY a.id
    ), parts AS (
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, url)
        SELECT a.id, 'FRONT', 0, decode(a.payload #>> '{parts,FRONT,sha256}', 'hex'), a.payload #>> '{parts,FRONT,url}'
        FROM asked a
    )
    SELECT array_agg(a.public_id), array_agg(a.id) INTO public_ids, job_ids FROM asked a;
    IF has_others THEN
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, url)
        SELECT u.id, k.kind, 0, decode(u.payload #>> ARRAY['parts', k.kind, 'sha256'], 'hex'),
            u.payload #>> ARRAY['parts', k.kind, 'url']
        FROM unnest(job_ids, p_payloads) AS u (id, payload) CROSS JOIN (VALUES ('BACK'), ('FACE')) AS k (kind)
        WHERE u.payload -> 'parts' ? k.kind;
    END IF;
    PERFORM insp.wake(whose.lane);
    IF EXISTS (SELECT FROM unnest(job_ids) AS id WHERE id % 1000000 = 0) THEN
        PERFORM insp.ensure_partitions();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.accept_plain(jsonb[]) IS
    'What insp.accept does, where all requests are plain, of one partner and without a key; otherwise it does nothing and returns nulls';
REVOKE ALL ON FUNCTION insp.accept_plain(jsonb[]) FROM PUBLIC;

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
    prefix text;
BEGIN
    -- The texts of more would take memory by the hundred megabytes.
    IF p_inline = '{}' AND cardinality(p_payloads) <= 4096 THEN
        SELECT a.public_ids, a.job_ids INTO public_ids, job_ids FROM insp.accept_plain(p_payloads) a;
        IF public_ids IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    prefix := insp.id_prefix();
    WITH checked AS MATERIALIZED (
        SELECT u.n, nextval('insp.job_id') AS id, insp.random_id(prefix) AS public_id,
            CASE WHEN c.idempotency_key IS NOT NULL THEN u.payload END AS original, c.*
        FROM insp.plain_requests(p_payloads) u
            LEFT JOIN LATERAL (
                SELECT x.id, e.id AS endpoint_id, x.lane, coalesce(x.region, 0::smallint) AS region, x.job_lifetime
                FROM insp.partner x LEFT JOIN LATERAL (SELECT e.id FROM insp.endpoint e
                    WHERE e.partner_id = x.id AND e.is_default OFFSET 0) e ON true
                WHERE p_inline = '{}' AND u.is_plain AND insp.are_plain_sources(u.urls, u.digests)
                    AND x.name = u.payload ->> 'partner' AND x.enabled
                    AND NOT x.callback_required AND NOT x.consent_required AND x.review = 'never'
                    AND NOT x.liveness_evidence_suffices
                OFFSET 0
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
            FROM unnest(p_payloads, job_ids) WITH ORDINALITY AS u (payload, job_id, n),
                LATERAL (SELECT p.id FROM insp.partner p WHERE p.name = u.payload ->> 'partner' OFFSET 0) p,
                LATERAL (SELECT k.public_id, k.request_sha256 FROM insp.job_key k
                    WHERE k.partner_id = p.id AND k.key = u.payload ->> 'idempotencyKey' OFFSET 0) k
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
