-- The calls of producers: enqueue, results, cancel; and the lanes and workers that operators steer.

CREATE FUNCTION insp.accept(
    p_payloads jsonb[], p_inline text[], p_content bytea,
    OUT public_ids uuid[], OUT job_ids bigint[], OUT digests jsonb
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    keys record;
    lanes smallint[];
    conflicts boolean;
BEGIN
    WITH checked AS MATERIALIZED (
        SELECT u.n, nextval('insp.job_id') AS id, gen_random_uuid() AS public_id, u.payload AS original, c.*
        FROM unnest(p_payloads) WITH ORDINALITY AS u (payload, n), LATERAL insp.check_request(u.payload, p_inline) c
    ), keyed AS (
        -- Waits for a call with the same key that is under way; sorted, so that two calls cannot wait for each other.
        INSERT INTO insp.job_key AS k (partner_id, key, job_id, public_id, request_sha256)
        SELECT c.partner_id, c.idempotency_key, c.id, c.public_id,
            sha256(convert_to(c.original::text, 'UTF8') || coalesce(p_content, ''))
        FROM checked c WHERE c.idempotency_key IS NOT NULL ORDER BY c.partner_id, c.idempotency_key
        ON CONFLICT DO NOTHING
        RETURNING k.job_id
    ), fresh AS MATERIALIZED (
        SELECT c.*, (c.partner_id % 64)::smallint AS slot FROM checked c
        WHERE c.idempotency_key IS NULL OR c.id IN (SELECT k.job_id FROM keyed k)
    ), jobs AS (
        INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, lane, slot, region, expires_at, callback_url,
            traceparent, payload)
        SELECT f.id, f.public_id, f.partner_id, f.endpoint_id, f.lane, f.slot, f.region, f.expires_at, f.callback_url,
            f.traceparent, f.payload
        FROM fresh f
    ), waiting AS (
        INSERT INTO insp.ready (region, lane, slot, job_id)
        SELECT f.region, f.lane, f.slot, f.id FROM fresh f WHERE f.run_at IS NULL OR f.run_at <= now() ORDER BY f.n
    ), scheduled AS (
        INSERT INTO insp.delayed (run_at, job_id, region, lane, slot)
        SELECT f.run_at, f.id, f.region, f.lane, f.slot FROM fresh f WHERE f.run_at > now()
    ), deadlines AS (
        INSERT INTO insp.expiry (expires_at, job_id) SELECT f.expires_at, f.id FROM fresh f WHERE f.expires_named
    ), parts AS (
        INSERT INTO insp.part (job_id, kind, ordinal, sha256, url)
        SELECT f.id, e.key, i.ordinal - 1, decode(i.part ->> 'sha256', 'hex'), i.part ->> 'url'
        FROM fresh f, jsonb_each(f.part_urls) e, LATERAL (
            SELECT e.value AS part, 1 AS ordinal WHERE jsonb_typeof(e.value) = 'object'
            UNION ALL
            SELECT a.value, a.n FROM jsonb_array_elements(
                CASE WHEN jsonb_typeof(e.value) = 'array' THEN e.value ELSE '[]' END) WITH ORDINALITY AS a (value, n)
        ) i
        WHERE f.part_urls IS NOT NULL
    )
    SELECT array_agg(c.public_id ORDER BY c.n), array_agg(CASE WHEN f.id IS NOT NULL THEN c.id END ORDER BY c.n),
        (array_agg(c.digests ORDER BY c.n))[1], array_agg(DISTINCT c.lane) FILTER (WHERE f.id IS NOT NULL),
        bool_or(f.id IS NULL)
    INTO public_ids, job_ids, accept.digests, lanes, conflicts
    FROM checked c LEFT JOIN fresh f ON f.n = c.n;

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
COMMENT ON FUNCTION insp.accept(jsonb[], text[], bytea) IS
    'Checks payloads and writes their jobs. job_ids is null for a request that repeats an earlier one under its idempotency key';

CREATE FUNCTION insp.check_part(p_kind text, p_bytes bytea, p_digest text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    digest bytea;
BEGIN
    IF p_bytes IS NULL OR length(p_bytes) = 0 THEN
        PERFORM insp.refuse('PART_EMPTY', p_kind);
    ELSIF length(p_bytes) > 20971520 THEN
        PERFORM insp.refuse('PART_TOO_LARGE', p_kind || ': more than 20 MiB');
    ELSIF p_digest IS NOT NULL AND p_digest !~ '^[0-9A-Fa-f]{64}$' THEN
        PERFORM insp.refuse('DIGEST_INVALID', p_kind);
    END IF;
    digest := sha256(p_bytes);
    IF p_digest IS NOT NULL AND digest <> decode(p_digest, 'hex') THEN
        PERFORM insp.refuse('DIGEST_MISMATCH', p_kind);
    END IF;
    RETURN digest;
END
$$;
COMMENT ON FUNCTION insp.check_part(text, bytea, text) IS 'Checks the bytes of a part and returns their SHA-256';

CREATE FUNCTION insp.enqueue(
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
    -- Before anything is looked at: digests belongs to a payload that may be of any shape.
    named constant jsonb := CASE WHEN jsonb_typeof(payload) = 'object' AND jsonb_typeof(payload -> 'digests') = 'object'
        THEN payload -> 'digests' ELSE '{}' END;
    kinds text[] := '{}';
    ordinals smallint[] := '{}';
    sums bytea[] := '{}';
    accepted record;
    i integer;
BEGIN
    IF frames IS NOT NULL THEN
        IF cardinality(frames) = 0 THEN
            PERFORM insp.refuse('PART_EMPTY', 'FRAMES');
        ELSIF cardinality(frames) > 256 THEN
            PERFORM insp.refuse('PART_TOO_LARGE', 'more than 256 frames');
        ELSIF named ? 'FRAMES' AND (jsonb_typeof(named -> 'FRAMES') <> 'array'
            OR jsonb_array_length(named -> 'FRAMES') <> cardinality(frames)) THEN
            PERFORM insp.refuse('DIGEST_INVALID', 'FRAMES: one digest for each frame');
        END IF;
    END IF;
    SELECT coalesce(array_agg(k.kind), '{}') INTO kinds FROM unnest(
        ARRAY['FRONT', 'BACK', 'FACE', 'FRAMES', 'DG1', 'DG2', 'SOD', 'SESSION_BLOB'],
        ARRAY[front IS NOT NULL, back IS NOT NULL, face IS NOT NULL, frames IS NOT NULL, dg1 IS NOT NULL, dg2 IS NOT NULL,
            sod IS NOT NULL, session_blob IS NOT NULL]) AS k (kind, given)
    WHERE k.given;
    -- The payload first: its errors say more than those of the bytes.
    IF cardinality(kinds) > 0 THEN
        PERFORM insp.check_request(payload, kinds);
    END IF;
    IF front IS NOT NULL THEN sums := sums || insp.check_part('FRONT', front, named ->> 'FRONT'); END IF;
    IF back IS NOT NULL THEN sums := sums || insp.check_part('BACK', back, named ->> 'BACK'); END IF;
    IF face IS NOT NULL THEN sums := sums || insp.check_part('FACE', face, named ->> 'FACE'); END IF;
    FOR i IN 1 .. coalesce(cardinality(frames), 0) LOOP
        sums := sums || insp.check_part('FRAMES', frames[i], named #>> ARRAY['FRAMES', (i - 1)::text]);
    END LOOP;
    IF dg1 IS NOT NULL THEN sums := sums || insp.check_part('DG1', dg1, named ->> 'DG1'); END IF;
    IF dg2 IS NOT NULL THEN sums := sums || insp.check_part('DG2', dg2, named ->> 'DG2'); END IF;
    IF sod IS NOT NULL THEN sums := sums || insp.check_part('SOD', sod, named ->> 'SOD'); END IF;
    IF session_blob IS NOT NULL THEN
        sums := sums || insp.check_part('SESSION_BLOB', session_blob, named ->> 'SESSION_BLOB');
    END IF;

    SELECT * INTO accepted FROM insp.accept(ARRAY[payload], kinds,
        convert_to(array_to_string(kinds, ',') || array_to_string(sums, ','), 'UTF8'));
    IF accepted.job_ids[1] IS NOT NULL AND cardinality(kinds) > 0 THEN
        -- One statement for all parts; sums are in the same order.
        INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, bytes)
        SELECT accepted.job_ids[1], b.kind, b.ordinal, length(b.bytes),
            sums[row_number() OVER (ORDER BY b.place, b.ordinal)], b.bytes
        FROM (
            SELECT 1 AS place, 'FRONT' AS kind, 0::smallint AS ordinal, front AS bytes
            UNION ALL SELECT 2, 'BACK', 0, back
            UNION ALL SELECT 3, 'FACE', 0, face
            UNION ALL SELECT 4, 'FRAMES', (u.n - 1)::smallint, u.bytes FROM unnest(frames) WITH ORDINALITY AS u (bytes, n)
            UNION ALL SELECT 5, 'DG1', 0, dg1
            UNION ALL SELECT 6, 'DG2', 0, dg2
            UNION ALL SELECT 7, 'SOD', 0, sod
            UNION ALL SELECT 8, 'SESSION_BLOB', 0, session_blob) b
        WHERE b.bytes IS NOT NULL;
    END IF;
    RETURN accepted.public_ids[1];
END
$$;
COMMENT ON FUNCTION insp.enqueue(jsonb, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea) IS
    'Accepts one job and returns its id. The payload''s keys: partner, workflow, documentFormat, documentTypes, countries, customerInternalReference, userReference, reportingCriteria, callbackUrl, idempotencyKey, digests, parts, lane, region, delaySeconds, runAt, expiresAt, traceparent, consent. Takes part in the caller''s transaction';

CREATE FUNCTION insp.enqueue_many(payloads jsonb[]) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT unnest(a.public_ids) FROM insp.accept(payloads, '{}', NULL) a;
END
$$;
COMMENT ON FUNCTION insp.enqueue_many(jsonb[]) IS
    'Accepts many jobs whose parts are given by URL and returns their ids in order; all of them or, after an error, none';

CREATE FUNCTION insp.job_result(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    j insp.job;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN coalesce((SELECT s.output FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || jsonb_build_object('id', j.public_id, 'status', j.status,
            'workflow', jsonb_build_object('key', j.payload ->> 'workflow',
                'definitionKey', insp.definition_key(j.payload ->> 'workflow')),
            'createdAt', insp.iso_time(j.created_at))
        || jsonb_strip_nulls(jsonb_build_object('startedAt', insp.iso_time(j.started_at),
            'completedAt', insp.iso_time(j.completed_at),
            'customerInternalReference', j.payload -> 'customerInternalReference',
            'userReference', j.payload -> 'userReference',
            'reportingCriteria', j.payload -> 'reportingCriteria'));
END
$$;
COMMENT ON FUNCTION insp.job_result(uuid) IS
    'The result document of a job. Its results are valid only once status is 128; before that it says how far the job is';

CREATE FUNCTION insp.cancel(p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    job bigint;
BEGIN
    SELECT x.id INTO job FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    RETURN insp.end_unclaimed(ARRAY[job], 'CANCELLED', NULL) = 1;
END
$$;
COMMENT ON FUNCTION insp.cancel(uuid) IS
    'Finishes a job that is not finished yet as CANCELLED, waiting or running; false: it was finished before';

CREATE FUNCTION insp.pause_lane(p_lane text, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.control SET paused = true, reason = p_reason, changed_at = now(), changed_by = session_user
    WHERE lane = CASE p_lane WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END;
    IF NOT FOUND THEN
        PERFORM insp.refuse('LANE_UNKNOWN', left(quote_literal(p_lane), 40));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.pause_lane(text, text) IS 'Stops claims from a lane (urgent, normal, bulk); running jobs finish';

CREATE FUNCTION insp.resume_lane(p_lane text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number smallint;
BEGIN
    UPDATE insp.control SET paused = false, reason = NULL, changed_at = now(), changed_by = session_user
    WHERE lane = CASE p_lane WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END
    RETURNING lane INTO number;
    IF NOT FOUND THEN
        PERFORM insp.refuse('LANE_UNKNOWN', left(quote_literal(p_lane), 40));
    END IF;
    PERFORM insp.wake(number);
END
$$;
COMMENT ON FUNCTION insp.resume_lane(text) IS 'Lets claims from a lane go on';

CREATE FUNCTION insp.drain_worker(p_worker bigint) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    WITH w AS (UPDATE insp.worker SET draining = true WHERE id = p_worker RETURNING 1) SELECT EXISTS (SELECT FROM w)
$$;
COMMENT ON FUNCTION insp.drain_worker(bigint) IS
    'Makes a worker claim no more, finish its jobs and stop; false: no such worker';

GRANT EXECUTE ON FUNCTION
    insp.enqueue(jsonb, bytea, bytea, bytea, bytea[], bytea, bytea, bytea, bytea),
    insp.enqueue_many(jsonb[]), insp.job_result(uuid), insp.cancel(uuid)
TO insp_producer, insp_operator;
GRANT EXECUTE ON FUNCTION insp.pause_lane(text, text), insp.resume_lane(text), insp.drain_worker(bigint) TO insp_operator;
