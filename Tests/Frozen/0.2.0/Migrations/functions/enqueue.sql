-- Accepts jobs. Ids begin with the time, so that those of one batch are adjacent in their index; 74 bits are random.

CREATE OR REPLACE FUNCTION insp.id_prefix() RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT left(t, 8) || '-' || right(t, 4) || '-7'
    FROM lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS t
$$;
COMMENT ON FUNCTION insp.id_prefix() IS 'The prefix of ids created now: milliseconds and version (RFC 9562, section 5.7)';

CREATE OR REPLACE FUNCTION insp.random_id(p_prefix text) RETURNS uuid
LANGUAGE sql VOLATILE AS $$ SELECT overlay(gen_random_uuid()::text PLACING p_prefix FROM 1 FOR 15)::uuid $$;
COMMENT ON FUNCTION insp.random_id(text) IS 'A new id (UUID version 7) that begins with what insp.id_prefix() returned';

CREATE OR REPLACE FUNCTION insp.accept(
    p_payloads jsonb[], p_inline text[], p_content bytea, p_sealed bytea DEFAULT NULL, p_key uuid DEFAULT NULL,
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
    taken record;
    limited boolean;
    persons bigint[];
    kinds text[];
    many_kinds text[];
    me constant oid := to_regrole(quote_ident(session_user));
BEGIN
    -- The texts of more would take hundreds of megabytes.
    IF p_inline = '{}' AND p_key IS NULL AND cardinality(p_payloads) <= 4096 THEN
        SELECT a.public_ids, a.job_ids INTO public_ids, job_ids FROM insp.accept_plain(p_payloads) a;
        IF public_ids IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    prefix := insp.id_prefix();
    SELECT array_agg(k.kind), array_agg(k.kind) FILTER (WHERE k.is_many) INTO kinds, many_kinds FROM insp.part_kind k;
    IF EXISTS (SELECT FROM unnest(p_payloads) AS p WHERE p ? 'userReference') THEN
        persons := insp.persons(p_payloads);
    END IF;
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
                    AND NOT x.passive_signals_suffice AND x.test_of IS NULL
                    AND x.decision_version = 0
                    AND (x.region IS NOT NULL OR NOT EXISTS (SELECT FROM insp.region g WHERE g.is_served))
                    AND coalesce((SELECT bool_or(b.partner_id = x.id AND b.login = session_user AND b.role = me AND b.is_active)
                        FROM insp.producer_partner b WHERE b.login = session_user OR b.role = me), true)
                OFFSET 0
            ) plain ON true
            CROSS JOIN LATERAL (
                SELECT plain.id AS partner_id, plain.endpoint_id, u.payload ->> 'workflow' AS workflow,
                    NULL::text AS document_format, NULL::text AS review, NULL::text AS enrollment_mode,
                    u.payload - ARRAY['parts', 'idempotencyKey', 'customerInternalReference', 'userReference'] AS request,
                    insp.request_personal(u.payload) AS personal,
                    plain.lane, plain.region, NULL::timestamptz AS run_at, now() + plain.job_lifetime AS expires_at,
                    false AS expires_named, u.payload ->> 'idempotencyKey' AS idempotency_key,
                    NULL::text AS traceparent, NULL::jsonb AS digests, u.payload -> 'parts' AS part_urls
                WHERE plain.id IS NOT NULL
                UNION ALL
                SELECT r.* FROM insp.check_placed(u.payload, p_inline, u.n, cardinality(p_payloads)) r WHERE plain.id IS NULL
            ) c
    ), keyed AS (
        -- Waits for a concurrent call with the same key; sorted, so that two calls cannot deadlock.
        INSERT INTO insp.job_key AS k (partner_id, key, job_id, public_id, request_sha256)
        SELECT c.partner_id, c.idempotency_key, c.id, c.public_id,
            -- What seals a request covers all of it by its HMAC, in a form that does not depend on who wrote it.
            sha256(CASE WHEN p_key IS NULL THEN convert_to((c.original - 'traceparent')::text, 'UTF8') ELSE '' END
                || coalesce(p_content, ''))
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
        INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, person_id, lane, region, expires_at, workflow,
            document_format, review, enrollment_mode, own_callback, traceparent, request, personal, sealed, key_id)
        SELECT f.id, f.public_id, f.partner_id, f.endpoint_id, persons[f.n], f.lane, f.region, f.expires_at, f.workflow,
            f.document_format, f.review, f.enrollment_mode, f.personal ? 'callbackUrl', f.traceparent, f.request,
            insp.personal_bytes(f.personal), p_sealed, p_key
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
        -- Expanding an object costs three times as much as reading each kind.
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, location)
        SELECT f.id, k.kind, 0, decode(f.part_urls #>> ARRAY[k.kind, 'sha256'], 'hex'), f.part_urls #>> ARRAY[k.kind, 'url']
        FROM fresh f CROSS JOIN unnest(kinds) AS k (kind)
        WHERE f.part_urls ? k.kind AND jsonb_typeof(f.part_urls -> k.kind) = 'object'
    ), frames AS (
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, location)
        SELECT f.id, k.kind, a.n - 1, decode(a.frame ->> 'sha256', 'hex'), a.frame ->> 'url'
        FROM fresh f CROSS JOIN unnest(many_kinds) AS k (kind),
            jsonb_array_elements(CASE WHEN jsonb_typeof(f.part_urls -> k.kind) = 'array'
                THEN f.part_urls -> k.kind END) WITH ORDINALITY AS a (frame, n)
        WHERE f.part_urls ? k.kind
    )
    SELECT array_agg(c.public_id), array_agg(CASE WHEN c.is_fresh THEN c.id END), (array_agg(c.digests))[1],
        array_agg(DISTINCT c.lane) FILTER (WHERE c.is_fresh),
        NOT bool_and(c.is_fresh), EXISTS (SELECT FROM insp.quota)
    INTO public_ids, job_ids, accept.digests, lanes, conflicts, limited
    FROM (SELECT x.*, x.idempotency_key IS NULL OR x.id = ANY (ARRAY(SELECT k.job_id FROM keyed k)) AS is_fresh
        FROM checked x ORDER BY x.n) c;

    -- A key of two requests would outlive the erasure of the first. Reruns share theirs, a repeated request has no job here, and what
    -- another partner's job names keeps no key.
    IF p_key IS NOT NULL AND EXISTS (SELECT FROM insp.job j WHERE j.key_id = p_key AND j.id <> job_ids[1]
        AND j.partner_id = (SELECT p.id FROM insp.partner p WHERE p.name = p_payloads[1] ->> 'partner')) THEN
        PERFORM insp.refuse('PAYLOAD_INVALID', 'sealed: another job has its key', 'Seal each request under a new key.', 'sealed');
    END IF;
    IF EXISTS (SELECT FROM unnest(p_payloads) AS p WHERE p ?| ARRAY['customerInternalReference', 'userReference', 'reportingCriteria']) THEN
        PERFORM insp.note_references(job_ids, p_payloads);
    END IF;
    IF conflicts THEN
        -- A known key: the same request gets the id of the first one.
        FOR keys IN
            SELECT u.n, k.public_id,
                k.request_sha256 = sha256(CASE WHEN p_key IS NULL THEN convert_to((u.payload - 'traceparent')::text, 'UTF8')
                    ELSE '' END || coalesce(p_content, '')) AS same
            FROM unnest(p_payloads, job_ids) WITH ORDINALITY AS u (payload, job_id, n),
                LATERAL (SELECT p.id FROM insp.partner p WHERE p.name = u.payload ->> 'partner' OFFSET 0) p
                LEFT JOIN LATERAL (SELECT k.public_id, k.request_sha256 FROM insp.job_key k
                    WHERE k.partner_id = p.id AND k.key = u.payload ->> 'idempotencyKey' OFFSET 0) k ON true
            WHERE u.job_id IS NULL
        LOOP
            IF keys.public_id IS NULL THEN
                RAISE EXCEPTION 'the idempotency key was removed while its request was repeated; send the request again'
                    USING ERRCODE = 'serialization_failure';
            ELSIF NOT keys.same THEN
                PERFORM insp.refuse('IDEMPOTENCY_CONFLICT', insp.payload_place(keys.n, cardinality(p_payloads)), p_field => 'idempotencyKey');
            END IF;
            public_ids[keys.n] := keys.public_id;
        END LOOP;
    END IF;
    -- Here, because a repeated request takes no place.
    IF limited THEN
        FOR taken IN
            SELECT p.id, p.max_waiting, count(*) AS jobs
            FROM unnest(p_payloads, job_ids) AS u (payload, job_id) JOIN insp.partner p ON p.name = u.payload ->> 'partner'
            WHERE u.job_id IS NOT NULL AND p.max_waiting IS NOT NULL GROUP BY p.id, p.max_waiting ORDER BY p.id
        LOOP
            PERFORM insp.take_waiting(taken.id, taken.max_waiting, taken.jobs);
        END LOOP;
    END IF;
    PERFORM insp.wake(l) FROM unnest(lanes) AS l;
    -- Ahead of need, so that producers never depend on a worker to create partitions.
    IF EXISTS (SELECT FROM unnest(job_ids) AS id WHERE id % 1000000 = 0) THEN
        PERFORM insp.ensure_partitions_late();
    END IF;
END
$$;
COMMENT ON FUNCTION insp.accept(jsonb[], text[], bytea, bytea, uuid) IS
    'Checks payloads and writes their jobs. job_ids is null for a request that repeats an earlier one under its idempotency key';

-- Without its own settings, which would cost each request time: its callers have them.
CREATE OR REPLACE FUNCTION insp.record_requests(p_ids uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(session_user, 'insp_operator', 'MEMBER')
        AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = session_user) AND cardinality(p_ids) > 0 THEN
        PERFORM insp.record('enqueue', p_ids[1]::text, jsonb_build_object('jobs', cardinality(p_ids)));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.record_requests(uuid[]) IS
    'Records jobs that an operator enqueued in place of a partner, by the first of them; producers'' jobs are their partners'' own';

CREATE OR REPLACE FUNCTION insp.enqueue_parts(
    payload jsonb, kinds text[], contents bytea[], sealed bytea DEFAULT NULL, request_hmac bytea DEFAULT NULL,
    locations text[] DEFAULT NULL, digests bytea[] DEFAULT NULL, sizes integer[] DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- Before anything else: the payload with digests may have any shape.
    named constant jsonb := CASE WHEN jsonb_typeof(payload) = 'object' AND jsonb_typeof(payload -> 'digests') = 'object'
        THEN payload -> 'digests' ELSE '{}' END;
    part record;
    given text[] := '{}'::text[];
    -- Of each part, in the order of insp.part_kind: its place in the arguments, its place among those of its kind, and its digest.
    places integer[] := '{}'::integer[];
    ordinals smallint[] := '{}'::smallint[];
    sums bytea[] := '{}'::bytea[];
    size bigint := 0;
    accepted record;
    key uuid;
BEGIN
    PERFORM insp.require(coalesce(array_length(kinds, 1), 0) = coalesce(array_length(contents, 1), 0)
            AND coalesce(array_ndims(kinds), 1) = 1 AND coalesce(array_ndims(contents), 1) = 1
            AND coalesce(array_lower(kinds, 1), 1) = 1 AND coalesce(array_lower(contents, 1), 1) = 1,
        'kinds and contents', 'Give one kind for each content, in two arrays of one dimension that begin at 1.');
    IF sealed IS NOT NULL THEN
        key := insp.check_sealed(sealed, contents);
        PERFORM insp.require(length(request_hmac) = 32, 'request_hmac', 'A program that seals a request gives the HMAC-SHA-256 of what it was.');
    END IF;
    IF locations IS NOT NULL THEN
        PERFORM insp.require(coalesce(key IS NOT NULL AND cardinality(kinds) = cardinality(locations)
                AND cardinality(kinds) = cardinality(digests) AND cardinality(kinds) = cardinality(sizes)
                AND NOT EXISTS (SELECT FROM unnest(contents, locations, digests, sizes) AS u (bytes, location, digest, size)
                    WHERE (u.bytes IS NULL AND insp.object_key(u.location) = key AND length(u.digest) = 32
                        AND u.size BETWEEN 46 AND 20971520 + 45) IS NOT TRUE), false),
            'locations', 'Each part is sealed and has a location (s3:BUCKET/PREFIX/YYYY-MM-DD/KEY/ID[#OFFSET]), the SHA-256 of its sealed bytes and their number, and no content.');
    END IF;
    IF cardinality(kinds) > 0 THEN
        FOR part IN
            SELECT u.kind, k.is_many, count(*) AS count, array_agg(u.n::integer ORDER BY u.n) AS places
            FROM unnest(kinds) WITH ORDINALITY AS u (kind, n) LEFT JOIN insp.part_kind k ON k.kind = u.kind
            GROUP BY u.kind, k.is_many, k.place ORDER BY k.place
        LOOP
            IF part.is_many IS NULL THEN
                PERFORM insp.refuse('PART_UNKNOWN', left(quote_nullable(part.kind), 40), p_field => left(part.kind, 40));
            ELSIF part.count > (CASE WHEN part.is_many THEN 256 ELSE 1 END) THEN
                PERFORM insp.refuse(CASE WHEN part.is_many THEN 'PART_TOO_LARGE' ELSE 'PART_UNEXPECTED' END,
                    part.kind || ': ' || part.count || ' of them', p_field => part.kind);
            ELSIF part.is_many AND named ? part.kind AND (jsonb_typeof(named -> part.kind) <> 'array'
                OR jsonb_array_length(named -> part.kind) <> part.count) THEN
                PERFORM insp.refuse('DIGEST_INVALID', part.kind || ': not as many digests as frames',
                    'Give one digest for each frame.', 'digests.' || part.kind);
            END IF;
            given := given || part.kind;
            FOR i IN 1 .. part.count LOOP
                ordinals := ordinals || (i - 1)::smallint;
            END LOOP;
            places := places || part.places;
        END LOOP;
        -- The payload first: its errors say more than those of the bytes.
        PERFORM insp.check_request(payload, given);
        FOR i IN 1 .. cardinality(places) LOOP
            IF locations IS NOT NULL THEN
                sums := sums || digests[places[i]];
                size := size + sizes[places[i]];
                CONTINUE;
            END IF;
            sums := sums || insp.check_part(kinds[places[i]], contents[places[i]], CASE WHEN key IS NULL THEN 0 ELSE 45 END,
                CASE jsonb_typeof(named -> kinds[places[i]]) WHEN 'array' THEN named -> kinds[places[i]] ->> ordinals[i]::integer
                    ELSE named ->> kinds[places[i]] END);
            size := size + octet_length(contents[places[i]]);
        END LOOP;
    END IF;

    SELECT * INTO accepted FROM insp.accept(ARRAY[payload], given,
        -- Encoded as hexadecimal digits: a cast of bytea to text depends on the caller's settings.
        -- What is sealed differs each time.
        CASE WHEN key IS NOT NULL THEN request_hmac ELSE convert_to(array_to_string(given, ',')
            || coalesce((SELECT string_agg(E'\\x' || encode(s.sum, 'hex'), ',' ORDER BY s.n)
                FROM unnest(sums) WITH ORDINALITY AS s (sum, n)), ''), 'UTF8') END, sealed, key);
    IF accepted.job_ids[1] IS NOT NULL AND given <> '{}' THEN
        PERFORM insp.take_bytes(p.id, p.max_bytes, size)
        FROM insp.partner p WHERE p.name = payload ->> 'partner' AND p.max_bytes IS NOT NULL AND locations IS NULL;
        WITH stored AS (
            INSERT INTO insp.content (id, kind, ordinal, bytes)
            SELECT accepted.job_ids[1], kinds[u.place], u.ordinal, contents[u.place]
            FROM unnest(places, ordinals) AS u (place, ordinal) WHERE locations IS NULL
        )
        INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, seal, location, content_id)
        SELECT accepted.job_ids[1], kinds[u.place], u.ordinal, coalesce(octet_length(contents[u.place]), sizes[u.place]), u.sum,
            CASE WHEN key IS NULL THEN 0 ELSE 1 END, locations[u.place],
            CASE WHEN locations IS NULL THEN accepted.job_ids[1] END
        FROM unnest(places, ordinals, sums) AS u (place, ordinal, sum);
    ELSIF locations IS NOT NULL THEN
        -- A repeated request needs no second object; if it repeats the first one's, that is not deleted.
        PERFORM insp.forget_objects(locations);
    END IF;
    PERFORM insp.record_requests(accepted.public_ids);
    RETURN accepted.public_ids[1];
END
$$;
COMMENT ON FUNCTION insp.enqueue_parts(jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]) IS
    'Accepts one job and returns its id. kinds (insp.part_kind) has the kind of each of contents; parts of one kind are in order. The payload''s keys: partner, workflow, documentFormat, documentTypes, countries, customerInternalReference, userReference, reportingCriteria, callbackUrl, idempotencyKey, digests, parts, lane, region, delaySeconds, runAt, expiresAt, traceparent, challenge, consent, review (never less strict than the partner''s), faceId, threshold, enrollmentMode. sealed, with request_hmac: the contents are sealed, and so are the values for which the payload has pseudonyms (deploy/SEALING.md). locations, with digests and sizes of the sealed bytes: the parts are in the object store (deploy/SEALING.md), and contents has nulls. Takes part in the caller''s transaction; SET LOCAL insp.notify = off omits the hint to workers, for PREPARE TRANSACTION, which refuses a transaction with a notification: workers find the job when they poll, within a second or two';
GRANT EXECUTE ON FUNCTION insp.enqueue_parts(jsonb, text[], bytea[], bytea, bytea, text[], bytea[], integer[]) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.try_request(payload jsonb, kinds text[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    strange text;
BEGIN
    SELECT k INTO strange FROM unnest(kinds) k WHERE NOT EXISTS (SELECT FROM insp.part_kind x WHERE x.kind = k) LIMIT 1;
    IF FOUND THEN
        PERFORM insp.refuse('PART_UNKNOWN', left(quote_nullable(strange), 40), p_field => left(strange, 40));
    END IF;
    PERFORM insp.check_request(payload, ARRAY(SELECT DISTINCT k FROM unnest(kinds) k));
END
$$;
COMMENT ON FUNCTION insp.try_request(jsonb, text[]) IS
    'Refuses a payload that insp.enqueue_parts would refuse, given the kinds of its parts: programs that seal call it before they create a key';
GRANT EXECUTE ON FUNCTION insp.try_request(jsonb, text[]) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.enqueue(
    payload jsonb,
    front bytea DEFAULT NULL,
    back bytea DEFAULT NULL,
    face bytea DEFAULT NULL,
    frames bytea[] DEFAULT NULL,
    dg1 bytea DEFAULT NULL,
    dg2 bytea DEFAULT NULL,
    sod bytea DEFAULT NULL,
    session_blob bytea DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    kinds text[] := '{}'::text[];
    contents bytea[] := '{}'::bytea[];
BEGIN
    IF frames = '{}' THEN
        PERFORM insp.refuse('PART_EMPTY', 'FRAMES', p_field => 'FRAMES');
    END IF;
    -- Most jobs have their parts by URL.
    IF num_nonnulls(front, back, face, frames, dg1, dg2, sod, session_blob) > 0 THEN
        kinds := array_remove(ARRAY[CASE WHEN front IS NOT NULL THEN 'FRONT' END, CASE WHEN back IS NOT NULL THEN 'BACK' END,
                CASE WHEN face IS NOT NULL THEN 'FACE' END, CASE WHEN dg1 IS NOT NULL THEN 'DG1' END,
                CASE WHEN dg2 IS NOT NULL THEN 'DG2' END, CASE WHEN sod IS NOT NULL THEN 'SOD' END,
                CASE WHEN session_blob IS NOT NULL THEN 'SESSION_BLOB' END], NULL)
            || array_fill('FRAMES'::text, ARRAY[coalesce(cardinality(frames), 0)]);
        contents := array_remove(ARRAY[front, back, face, dg1, dg2, sod, session_blob], NULL) || ARRAY(SELECT unnest(frames));
    END IF;
    RETURN insp.enqueue_parts(payload, kinds, contents);
END
$$;
COMMENT ON FUNCTION insp.enqueue(jsonb, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea) IS
    'insp.enqueue_parts with a parameter for each common kind of part, for calls by name: front => …';
GRANT EXECUTE ON FUNCTION insp.enqueue(jsonb, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea)
    TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.enqueue_many(payloads jsonb[]) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    ids constant uuid[] := (SELECT a.public_ids FROM insp.accept(payloads, '{}', NULL) a);
BEGIN
    PERFORM insp.record_requests(ids);
    RETURN QUERY SELECT unnest(ids);
END
$$;
COMMENT ON FUNCTION insp.enqueue_many(jsonb[]) IS
    'Accepts many jobs with parts by URL and returns their ids in order; all of them or, after an error, none. SET LOCAL insp.notify = off as for insp.enqueue';
GRANT EXECUTE ON FUNCTION insp.enqueue_many(jsonb[]) TO insp_producer, insp_operator;
