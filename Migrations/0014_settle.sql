-- Enqueue, store, settle and maintenance over insp.queue.

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

-- Store and settle ------------------------------------------------------------------------------------------------------

DROP FUNCTION insp.finish(bigint[], bigint[], jsonb[]);
CREATE FUNCTION insp.finish(
    p_jobs bigint[], p_fences bigint[], p_outputs jsonb[], p_started timestamptz[] DEFAULT NULL
) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moment constant text := insp.iso_time(now());
BEGIN
    RETURN QUERY
    WITH done AS (
        UPDATE insp.job j SET status = 128, completed_at = now(), started_at = coalesce(j.started_at, u.started, now())
        FROM unnest(p_jobs, p_fences, p_outputs, p_started) AS u (job_id, fence, output, started)
        WHERE j.id = u.job_id AND j.status < 128
        RETURNING j.id, j.public_id, j.endpoint_id, j.callback_url, j.payload, u.fence, u.output,
            u.output #> '{decision,type}' AS decision, u.output #> '{error,code}' AS error
    ), result AS (
        INSERT INTO insp.step (job_id, status, fence, output) SELECT d.id, 128, d.fence, d.output FROM done d
    ), terminal AS (
        INSERT INTO insp.event (job_id, kind, fence, detail)
        SELECT d.id, 'finished', 0, jsonb_build_object('decision', d.decision, 'error', d.error, 'fence', d.fence)
        FROM done d
    ), outbox AS (
        INSERT INTO insp.callback (webhook_id, job_id, endpoint_id, state, url, body)
        SELECT 'msg_' || replace(d.public_id::text, '-', ''), d.id, e.id, CASE WHEN e.enabled THEN 'pending' ELSE 'held' END, coalesce(d.callback_url, e.url),
            -- Written out, not built as jsonb: these bytes are signed, and jsonb would order the keys its own way.
            convert_to(format(
                '{"type":"job.finished","timestamp":"%1$s","callbackSentAt":"%1$s",%2$s"workflowExecution":{"id":"%3$s",'
                '"definitionKey":"%4$s","status":"%5$s"},"data":{"id":"%3$s","status":128,"decision":%6$s}}',
                moment,
                coalesce('"userReference":' || (d.payload -> 'userReference')::text || ',', ''),
                d.public_id,
                insp.definition_key(d.payload ->> 'workflow'),
                CASE WHEN d.error = '"EXPIRED"' THEN 'SESSION_EXPIRED' ELSE 'PROCESSED' END,
                coalesce(d.decision::text, 'null')), 'UTF8')
        FROM done d JOIN insp.endpoint e ON e.id = d.endpoint_id
        WHERE coalesce(d.callback_url, e.url) IS NOT NULL
    )
    SELECT d.id FROM done d;
END
$$;
COMMENT ON FUNCTION insp.finish(bigint[], bigint[], jsonb[], timestamptz[]) IS
    'Brings jobs to 128: result, terminal event and callback in one transaction; p_started are the times of the claims. Returns those it finished; a job that was finished before is left as it is';

CREATE OR REPLACE FUNCTION insp.store_steps(p_jobs bigint[], p_fences bigint[], p_statuses smallint[], p_outputs text[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH input AS MATERIALIZED (
        SELECT u.job_id, u.fence, u.status, u.output::jsonb AS output
        FROM unnest(p_jobs, p_fences, p_statuses, p_outputs) AS u (job_id, fence, status, output)
    ), held AS MATERIALIZED (
        -- Locked, so that no rescue can end the lease between this look and the commit.
        SELECT l.job_id, l.fence, l.claimed_at FROM insp.lease l
        WHERE l.job_id = ANY (p_jobs) AND EXISTS (SELECT FROM input i WHERE i.job_id = l.job_id AND i.fence = l.fence)
        FOR KEY SHARE
    ), risen AS (
        UPDATE insp.job j SET status = i.status, started_at = coalesce(j.started_at, i.claimed_at)
        FROM (SELECT i.job_id, max(i.status) AS status, max(h.claimed_at) AS claimed_at
            FROM input i JOIN held h USING (job_id, fence) GROUP BY i.job_id) i
        WHERE j.id = i.job_id AND j.status < 128
            AND j.status < i.status
    ), stored AS (
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT i.job_id, i.status, i.fence, i.output FROM input i JOIN held h USING (job_id, fence)
            JOIN insp.job j ON j.id = i.job_id AND j.status < 128
        ON CONFLICT DO NOTHING
    )
    SELECT h.job_id FROM held h JOIN insp.job j ON j.id = h.job_id AND j.status < 128;
END
$$;

CREATE OR REPLACE FUNCTION insp.settle(
    p_jobs bigint[], p_fences bigint[], p_outputs text[],
    p_step_jobs bigint[], p_step_fences bigint[], p_step_statuses smallint[], p_step_outputs text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    jobs bigint[];
    fences bigint[];
    outputs jsonb[];
    started timestamptz[];
BEGIN
    WITH settled AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_outputs) AS u (job_id, fence, output)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, u.output::jsonb AS output, l.claimed_at
    )
    SELECT array_agg(s.job_id), array_agg(s.fence), array_agg(s.output), array_agg(s.claimed_at)
    INTO jobs, fences, outputs, started FROM settled s;
    IF jobs IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_step_jobs) > 0 THEN
        INSERT INTO insp.step (job_id, status, fence, output)
        SELECT u.job_id, u.status, u.fence, u.output::jsonb
        FROM unnest(p_step_jobs, p_step_fences, p_step_statuses, p_step_outputs) AS u (job_id, fence, status, output)
        -- A worker that lost a job and claimed it again may still have a stage of the lost claim. A fence is given out once,
        -- so it names the claim by itself.
        WHERE u.fence = ANY (fences)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT f.id FROM insp.finish(jobs, fences, outputs, started) AS f (id);
END
$$;

CREATE OR REPLACE FUNCTION insp.give_up(p_jobs bigint[], p_fences bigint[], p_codes text[], p_details text[], p_crashed boolean[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    lost record;
BEGIN
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_codes, p_details, p_crashed)
            AS u (job_id, fence, code, detail, crashed)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.job_id, l.fence, u.code, u.detail, l.attempt, (l.crashes + u.crashed::int)::smallint AS crashes,
            l.claimed_at
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e WHERE j.id = e.job_id AND j.status = 1
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.code) AS codes,
        array_agg(e.detail) AS details, array_agg(e.attempt) AS attempts, array_agg(e.crashes) AS crashes
    INTO lost FROM ended e;
    IF lost.jobs IS NOT NULL THEN
        RETURN QUERY SELECT f.id FROM insp.finish_failed(
            lost.jobs, lost.fences, lost.codes, lost.details, lost.attempts, lost.crashes) AS f (id);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION insp.retry_later(
    p_jobs bigint[], p_fences bigint[], p_seconds double precision[], p_codes text[], p_crashed boolean[]
) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences, p_seconds, p_codes, p_crashed)
            AS u (job_id, fence, seconds, code, crashed)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.*, u.seconds, u.code, u.crashed
    ), waiting AS (
        INSERT INTO insp.delayed (run_at, job_id, queue, attempt, crashes, last_error)
        SELECT now() + make_interval(secs => e.seconds), e.job_id, e.queue, e.attempt, e.crashes + e.crashed::int, e.code
        FROM ended e
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e WHERE j.id = e.job_id AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
        SELECT e.job_id, 'retry', e.fence, e.worker_id,
            jsonb_build_object('code', e.code, 'attempt', e.attempt, 'afterSeconds', round(e.seconds::numeric, 1))
        FROM ended e
    )
    SELECT e.job_id FROM ended e
$$;

CREATE OR REPLACE FUNCTION insp.hand_back(p_jobs bigint[], p_fences bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    touched smallint;
BEGIN
    RETURN QUERY
    WITH ended AS (
        DELETE FROM insp.lease l USING unnest(p_jobs, p_fences) AS u (job_id, fence)
        WHERE l.job_id = u.job_id AND l.fence = u.fence
        RETURNING l.*
    ), waiting AS (
        -- The attempt is refunded: it was not the job that failed. A finished job has only a stale lease to drop.
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT e.job_id, e.queue, e.attempt - 1, e.crashes
        FROM ended e JOIN insp.job j ON j.id = e.job_id AND j.status < 128
    ), begun AS (
        UPDATE insp.job j SET status = 2, started_at = e.claimed_at FROM ended e WHERE j.id = e.job_id AND j.status = 1
    ), noted AS (
        INSERT INTO insp.event (job_id, kind, fence, worker_id)
        SELECT e.job_id, 'handed_back', e.fence, e.worker_id
        FROM ended e JOIN insp.job j ON j.id = e.job_id AND j.status < 128
    )
    SELECT e.job_id FROM ended e;
    FOR touched IN SELECT DISTINCT j.lane FROM insp.job j WHERE j.id = ANY (p_jobs) LOOP
        PERFORM insp.wake(touched);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION insp.promote(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    -- As a value: the function itself, being volatile, would be compared with every row of the index.
    moment constant timestamptz := clock_timestamp();
    lanes smallint[];
    moved integer;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT d.ctid AS row FROM insp.delayed d WHERE d.run_at <= moment
        ORDER BY d.run_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING d.*
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT t.job_id, t.queue, t.attempt, t.crashes FROM taken t ORDER BY t.run_at
        RETURNING queue
    )
    SELECT array_agg(DISTINCT q.lane), count(*) INTO lanes, moved FROM waiting w JOIN insp.queue q ON q.id = w.queue;
    PERFORM insp.wake(u.lane) FROM unnest(lanes) AS u (lane);
    RETURN moved;
END
$$;

DROP FUNCTION insp.rescue(interval, integer, integer, integer);
CREATE FUNCTION insp.rescue(
    p_dead_after interval DEFAULT '15 s', p_max_attempts integer DEFAULT 8, p_max_crashes integer DEFAULT 3,
    p_limit integer DEFAULT 1000, p_thorough boolean DEFAULT true,
    OUT requeued integer, OUT given_up integer, OUT workers integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    dead bigint[];
    lost record;
BEGIN
    requeued := 0;
    given_up := 0;
    workers := 0;
    dead := '{}';
    -- After a restart of the database every worker looks silent; they get the time to come back first.
    IF pg_postmaster_start_time() < clock_timestamp() - p_dead_after - interval '5 s' THEN
        -- Silence must be seen twice, 2 s apart: a database that was frozen would otherwise, on waking, find all its
        -- workers silent before their waiting heartbeats get through.
        UPDATE insp.worker w SET suspect_at = clock_timestamp()
        WHERE w.heartbeat_at < clock_timestamp() - (p_dead_after - interval '2.5 s') AND w.suspect_at IS NULL;
        SELECT coalesce(array_agg(w.id), '{}') INTO dead FROM (
            SELECT w.id FROM insp.worker w
            WHERE w.heartbeat_at < clock_timestamp() - p_dead_after AND w.suspect_at < clock_timestamp() - interval '2 s'
            FOR UPDATE SKIP LOCKED) w;
    END IF;
    WITH stale AS MATERIALIZED (
        -- Leases of dead workers, and those past their deadline. From each worker's lowest fence on: below it there may be
        -- millions of ended leases that VACUUM cannot remove.
        SELECT x.row FROM insp.worker w, LATERAL (
            SELECT l.ctid AS row FROM insp.lease l
            WHERE l.worker_id = w.id AND l.fence >= w.fence_floor
                AND (w.id = ANY (dead) OR l.deadline < clock_timestamp())
            FOR UPDATE SKIP LOCKED) x
        LIMIT p_limit
    ), orphans AS MATERIALIZED (
        -- Of workers that are gone (claimed while being rescued), and whatever the floors hide. Reads the whole table.
        SELECT l.ctid AS row FROM insp.lease l
        WHERE p_thorough AND (l.deadline < clock_timestamp()
            OR NOT EXISTS (SELECT FROM insp.worker w WHERE w.id = l.worker_id))
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), ended AS (
        DELETE FROM insp.lease l
        WHERE l.ctid = ANY (ARRAY(SELECT s.row FROM stale s UNION SELECT o.row FROM orphans o)) RETURNING l.*
    )
    SELECT array_agg(e.job_id) AS jobs, array_agg(e.fence) AS fences, array_agg(e.worker_id) AS worker_ids,
        array_agg(e.attempt) AS attempts, array_agg((e.crashes + 1)::smallint) AS crashes,
        array_agg(e.queue) AS queues, array_agg(e.claimed_at) AS claims
    INTO lost FROM ended e;
    IF lost.jobs IS NOT NULL THEN
        WITH u AS MATERIALIZED (
            SELECT u.* FROM unnest(lost.jobs, lost.fences, lost.worker_ids, lost.attempts, lost.crashes, lost.queues,
                lost.claims) AS u (job_id, fence, worker_id, attempt, crashes, queue, claimed_at)
            JOIN insp.job j ON j.id = u.job_id AND j.status < 128
        ), noted AS (
            INSERT INTO insp.event (job_id, kind, fence, worker_id, detail)
            SELECT u.job_id, 'rescued', u.fence, u.worker_id,
                jsonb_build_object('attempt', u.attempt, 'crashes', u.crashes) FROM u
        ), begun AS (
            UPDATE insp.job j SET status = 2, started_at = u.claimed_at FROM u WHERE j.id = u.job_id AND j.status = 1
        ), waiting AS (
            INSERT INTO insp.ready (job_id, queue, attempt, crashes)
            SELECT u.job_id, u.queue, u.attempt, u.crashes FROM u
            WHERE u.crashes < p_max_crashes AND u.attempt < p_max_attempts
            RETURNING 1
        )
        SELECT count(*) INTO requeued FROM waiting;
        WITH u AS MATERIALIZED (
            SELECT u.* FROM unnest(lost.jobs, lost.fences, lost.attempts, lost.crashes)
                AS u (job_id, fence, attempt, crashes)
            WHERE u.crashes >= p_max_crashes OR u.attempt >= p_max_attempts
        ), g AS (
            SELECT array_agg(u.job_id) AS jobs, array_agg(u.fence) AS fences,
                array_agg(CASE WHEN u.crashes >= p_max_crashes THEN 'WORKER_LOST' ELSE 'ATTEMPTS_EXHAUSTED' END) AS codes,
                array_agg(CASE WHEN u.crashes >= p_max_crashes THEN u.crashes || ' times' ELSE 'last: WORKER_LOST' END)
                    AS details,
                array_agg(u.attempt) AS attempts, array_agg(u.crashes) AS crashes
            FROM u
        )
        SELECT count(*) INTO given_up
        FROM g, LATERAL insp.finish_failed(g.jobs, g.fences, g.codes, g.details, g.attempts, g.crashes) f
        WHERE g.jobs IS NOT NULL;
        PERFORM insp.wake(l.lane) FROM (SELECT DISTINCT q.lane FROM insp.queue q WHERE q.id = ANY (lost.queues)) l;
    END IF;
    DELETE FROM insp.worker w WHERE w.id = ANY (dead)
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = w.id AND l.fence >= w.fence_floor);
    GET DIAGNOSTICS workers = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean) IS
    'Takes jobs back from dead workers and from leases past their deadline; each counts as a crash. p_thorough also finds leases of workers that are gone, reading every lease. Returns how many jobs it put back and gave up, and how many workers it struck off';
GRANT EXECUTE ON FUNCTION insp.rescue(interval, integer, integer, integer, boolean) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.sweep(p_limit integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moved integer;
BEGIN
    WITH floors AS (
        -- The highest floor of the fleet: what lies before it some worker no longer sees.
        SELECT u.queue, max(u.seq) AS seq
        FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
    ), stragglers AS MATERIALIZED (
        SELECT r.row FROM floors f, LATERAL (
            SELECT x.ctid AS row FROM insp.ready x WHERE x.queue = f.queue AND x.seq < f.seq
            ORDER BY x.seq FOR UPDATE SKIP LOCKED) r
        LIMIT p_limit
    ), taken AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT s.row FROM stragglers s)) RETURNING x.*
    ), waiting AS (
        INSERT INTO insp.ready (job_id, queue, attempt, crashes)
        SELECT t.job_id, t.queue, t.attempt, t.crashes FROM taken t ORDER BY t.seq
        RETURNING 1
    )
    SELECT count(*) INTO moved FROM waiting;
    RETURN moved;
END
$$;

CREATE OR REPLACE FUNCTION insp.expire(p_limit integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    -- As a value, so that the index is read up to it and no further.
    moment constant timestamptz := clock_timestamp();
    jobs bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        SELECT x.ctid AS row FROM insp.expiry x WHERE x.expires_at <= moment
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), named AS (
        DELETE FROM insp.expiry x WHERE x.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING x.job_id
    ), queues AS MATERIALIZED (
        SELECT q.id AS queue, coalesce(f.seq, 0) AS floor
        FROM insp.queue q LEFT JOIN (
            SELECT u.queue, min(u.seq) AS seq
            FROM insp.worker w, unnest(w.floor_queues, w.floor_seqs) AS u (queue, seq) GROUP BY u.queue
        ) f ON f.queue = q.id
    ), heads AS MATERIALIZED (
        -- A queue is in the order of arrival, so jobs of the default lifetime expire at its head first. Claiming weeds
        -- them out as well; this is for queues that nobody claims from.
        SELECT r.row, r.job_id FROM queues q, LATERAL (
            SELECT x.ctid AS row, x.job_id FROM insp.ready x
            WHERE x.queue = q.queue AND x.seq >= q.floor
            ORDER BY x.seq LIMIT 32 FOR UPDATE SKIP LOCKED) r
    ), over AS MATERIALIZED (
        -- One look for each: with OFFSET it cannot become a join that reads all jobs.
        SELECT h.row, h.job_id FROM heads h, LATERAL (
            SELECT FROM insp.job j WHERE j.id = h.job_id AND (j.expires_at <= moment OR j.status = 128) OFFSET 0) j
    ), removed AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT o.row FROM over o))
    )
    SELECT coalesce(array_agg(c.job_id), '{}') INTO jobs
    FROM (SELECT n.job_id FROM named n UNION SELECT o.job_id FROM over o) c;
    RETURN CASE WHEN jobs = '{}' THEN 0 ELSE insp.end_unclaimed(jobs, 'EXPIRED', NULL) END;
END
$$;

CREATE OR REPLACE FUNCTION insp.is_empty(p_worker bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM insp.worker w JOIN insp.queue q ON q.region IN (0, w.region) AND q.lane = ANY (w.lanes)
        WHERE w.id = p_worker AND (EXISTS (SELECT FROM insp.ready x WHERE x.queue = q.id)
            OR EXISTS (SELECT FROM insp.delayed x WHERE x.queue = q.id)
            OR EXISTS (SELECT FROM insp.lease x WHERE x.queue = q.id)))
$$;
CREATE OR REPLACE FUNCTION insp.job_result(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET jit = off AS $$
DECLARE
    j insp.job;
    claimed timestamptz;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    IF j.status = 1 THEN
        SELECT l.claimed_at INTO claimed FROM insp.lease l WHERE l.job_id = j.id;
    END IF;
    RETURN coalesce((SELECT s.output FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || jsonb_build_object('id', j.public_id,
            'status', CASE WHEN j.status = 1 AND claimed IS NOT NULL THEN 2 ELSE j.status END,
            'workflow', jsonb_build_object('key', j.payload ->> 'workflow',
                'definitionKey', insp.definition_key(j.payload ->> 'workflow')),
            'createdAt', insp.iso_time(j.created_at))
        || jsonb_strip_nulls(jsonb_build_object('startedAt', insp.iso_time(coalesce(j.started_at, claimed)),
            'completedAt', insp.iso_time(j.completed_at),
            'customerInternalReference', j.payload -> 'customerInternalReference',
            'userReference', j.payload -> 'userReference',
            'reportingCriteria', j.payload -> 'reportingCriteria'));
END
$$;

CREATE OR REPLACE FUNCTION insp.worker_stop(p_worker bigint, p_incarnation uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
    -- With leases left the row stays, and rescue does the rest.
    DELETE FROM insp.worker w WHERE w.id = p_worker AND w.incarnation = p_incarnation
        AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.worker_id = p_worker AND l.fence >= w.fence_floor)
$$;
