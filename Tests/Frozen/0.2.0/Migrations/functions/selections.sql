-- Actions on many dead letters, jobs and callbacks in one statement: each does, checks and records what the call for a single one
-- does, in about a tenth of its time. What another transaction holds, or has dealt with, is skipped and counted.
-- After: record

CREATE OR REPLACE FUNCTION insp.record_each(p_action text, p_subjects text[], p_details jsonb[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM unnest(p_details) u (detail) WHERE u.detail ?| insp.record_words()) THEN
        INSERT INTO insp.record (chain, actor, action, subject, detail)
        SELECT 'operator', (SELECT insp.actor()), p_action, u.subject, jsonb_strip_nulls(coalesce(u.detail, '{}'))
        FROM unnest(p_subjects, p_details) u (subject, detail);
        RETURN;
    END IF;
    INSERT INTO insp.record (chain, actor, action, subject, detail, words, words_salt, words_sha256)
    SELECT 'operator', (SELECT insp.actor()), p_action, u.subject, u.detail - insp.record_words(), s.words, s.salt,
        CASE WHEN s.words IS NOT NULL THEN insp.words_digest(s.salt, s.words) END
    FROM (SELECT x.subject, jsonb_strip_nulls(coalesce(x.detail, '{}')) AS detail, x.n
            FROM unnest(p_subjects, p_details) WITH ORDINALITY AS x (subject, detail, n) OFFSET 0) u
        LEFT JOIN LATERAL (
            SELECT jsonb_object_agg(e.key, e.value) AS words, gen_random_uuid() AS salt
            FROM jsonb_each(u.detail) e WHERE e.key = ANY (insp.record_words())) s ON u.detail ?| insp.record_words()
    ORDER BY u.n;
END
$$;
COMMENT ON FUNCTION insp.record_each(text, text[], jsonb[]) IS 'insp.record for many objects';

CREATE OR REPLACE FUNCTION insp.tally(p_tally jsonb, p_code text, p_count integer DEFAULT 1) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN p_count > 0 THEN jsonb_set(p_tally, ARRAY[p_code], to_jsonb(coalesce((p_tally ->> p_code)::integer, 0) + p_count))
        ELSE p_tally END
$$;
COMMENT ON FUNCTION insp.tally(jsonb, text, integer) IS 'Adds to the count of a code';

CREATE OR REPLACE FUNCTION insp.take_waiting_of_many(p_partner integer, p_max bigint, p_jobs integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    step integer := p_jobs;
    taken integer := 0;
BEGIN
    WHILE step > 0 AND taken < p_jobs LOOP
        step := least(step, p_jobs - taken);
        BEGIN
            PERFORM insp.take_waiting(p_partner, p_max, step);
            taken := taken + step;
        EXCEPTION WHEN OTHERS THEN
            IF SQLERRM NOT LIKE 'WAITING_QUOTA_REACHED:%' THEN
                RAISE;
            END IF;
            step := step / 2;
        END;
    END LOOP;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION insp.take_waiting_of_many(integer, bigint, integer) IS
    'insp.take_waiting of as many jobs as the partner''s quota has room for; returns how many';

CREATE OR REPLACE FUNCTION insp.rerun_checks(p_jobs bigint[], partner insp.partner) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    -- Without anything of a person there is neither a consent nor a callback URL. Of consents that differ in nothing but their time
    -- the latest is checked: the others are not of the future if it is not. A time that is none refuses them all, so that each is
    -- checked alone. Texts are compared, as the check does it: as jsonb, 1 and 1.0 would be the same.
    PERFORM FROM (
        WITH given AS MATERIALIZED (
            SELECT g.personal -> 'consent' AS consent, CASE WHEN j.own_callback THEN g.personal ->> 'callbackUrl' END AS url
            FROM unnest(p_jobs) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id]),
                -- A damaged one is read as insp.rerun reads it, when it is alone.
                LATERAL (SELECT CASE WHEN cardinality(p_jobs) = 1 THEN insp.readable_personal(j.personal)
                    ELSE insp.personal(j.personal) END AS personal OFFSET 0) g
            WHERE partner.consent_required OR j.personal IS NOT NULL
        )
        SELECT count(insp.check_consent(CASE WHEN k.consent IS NULL THEN '{}' ELSE jsonb_build_object('consent', k.consent) END,
            partner)) FROM (
            SELECT DISTINCT ON (s.rest, s.has_time) s.consent FROM (
                SELECT x.consent, x.consent ? 'obtainedAt' AS has_time, (CASE WHEN jsonb_typeof(x.consent) = 'object'
                    THEN x.consent - 'obtainedAt' ELSE x.consent END)::text COLLATE "C" AS rest,
                    CASE WHEN cardinality(p_jobs) > 1 AND x.consent ? 'obtainedAt' THEN insp.request_time(x.consent, 'obtainedAt')
                        END AS time
                FROM given x WHERE partner.consent_required OR x.consent IS NOT NULL) s
            ORDER BY s.rest, s.has_time, s.time DESC NULLS LAST) k
        UNION ALL SELECT count(insp.check_callback_host(x.url, partner)) FROM given x WHERE x.url IS NOT NULL OFFSET 0) c;
END
$$;
COMMENT ON FUNCTION insp.rerun_checks(bigint[], insp.partner) IS
    'Refuses jobs if their partner''s current policies on consent and callback hosts refuse one of them';

CREATE OR REPLACE FUNCTION insp.rerun_each(p_jobs bigint[], OUT done integer, OUT refusals jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    free bigint[];
    rows tid[];
    kin record;
    quota record;
    one bigint;
    partner insp.partner;
    place smallint;
    code text;
    good bigint[];
    seen integer := 0;
    -- What later statements need of the jobs that can run again, by partner. kins: each one's place in places, stamps, queues and
    -- lanes.
    olds bigint[] := ARRAY[]::bigint[];
    ids uuid[] := ARRAY[]::uuid[];
    unlinked boolean[] := ARRAY[]::boolean[];
    owners integer[] := ARRAY[]::integer[];
    kins integer[] := ARRAY[]::integer[];
    places smallint[] := ARRAY[]::smallint[];
    stamps jsonb[] := ARRAY[]::jsonb[];
    queues integer[] := ARRAY[]::integer[];
    lanes smallint[] := ARRAY[]::smallint[];
    numbers bigint[];
    fresh uuid[];
    prefix constant text := insp.id_prefix();
BEGIN
    PERFORM insp.need_read_committed();
    SELECT coalesce(array_agg(x.job_id), '{}'), array_agg(x.ctid) INTO free, rows FROM (
        SELECT d.job_id, d.ctid FROM insp.dead d WHERE d.job_id = ANY (p_jobs) AND d.resolved_at IS NULL
        ORDER BY d.job_id FOR UPDATE SKIP LOCKED) x;
    refusals := insp.tally('{}', 'already', cardinality(p_jobs) - cardinality(free));
    FOR kin IN
        SELECT x.partner_id, x.region, x.lane, x.code, array_agg(x.id ORDER BY x.id) AS jobs,
            array_agg(x.public_id ORDER BY x.id) AS ids, array_agg(x.person_id IS NULL ORDER BY x.id) AS unlinked,
            count(*)::integer AS size FROM (
            -- As in insp.rerun: locked against erasure and retention until the copy is committed.
            SELECT j.id, j.public_id, j.person_id, j.partner_id, j.region, j.lane, CASE WHEN j.status < 128 THEN 'JOB_NOT_FINISHED'
                WHEN NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id])) THEN 'PARTS_PURGED'
                WHEN j.forgotten_at IS NOT NULL THEN 'REQUEST_PURGED' END AS code
            FROM unnest(free) f (id) JOIN insp.job j ON j.id = ANY (ARRAY[f.id])
            ORDER BY j.partner_id, j.region, j.lane, code, j.id FOR SHARE OF j SKIP LOCKED) x
        GROUP BY x.partner_id, x.region, x.lane, x.code ORDER BY x.partner_id, x.region, x.lane, x.code
    LOOP
        seen := seen + kin.size;
        SELECT * INTO partner FROM insp.partner p WHERE p.id = kin.partner_id;
        code := CASE WHEN NOT insp.may_act(partner.id) THEN 'JOB_UNKNOWN' WHEN kin.code = 'JOB_NOT_FINISHED' THEN kin.code
            WHEN NOT partner.enabled THEN 'PARTNER_DISABLED' ELSE kin.code END;
        good := CASE WHEN code IS NULL THEN kin.jobs ELSE '{}' END;
        IF code IS NULL THEN
            BEGIN
                place := insp.request_region(coalesce((SELECT jsonb_build_object('region', g.name) FROM insp.region g
                    WHERE g.id = kin.region AND kin.region <> 0), '{}'), partner);
            EXCEPTION WHEN OTHERS THEN
                IF insp.is_passing(SQLSTATE) THEN
                    RAISE;
                END IF;
                GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
                code := coalesce(nullif(code, ''), SQLSTATE);
                good := '{}';
            END;
        END IF;
        IF good <> '{}' THEN
            BEGIN
                PERFORM insp.rerun_checks(good, partner);
            EXCEPTION WHEN OTHERS THEN
                IF insp.is_passing(SQLSTATE) THEN
                    RAISE;
                END IF;
                good := '{}';
                FOREACH one IN ARRAY kin.jobs LOOP
                    BEGIN
                        PERFORM insp.rerun_checks(ARRAY[one], partner);
                        good := good || one;
                    EXCEPTION WHEN OTHERS THEN
                        IF insp.is_passing(SQLSTATE) THEN
                            RAISE;
                        END IF;
                        GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
                        refusals := insp.tally(refusals, coalesce(nullif(code, ''), SQLSTATE));
                    END;
                END LOOP;
                code := NULL;
            END;
        END IF;
        IF code IS NOT NULL THEN
            refusals := insp.tally(refusals, code, kin.size);
        END IF;
        CONTINUE WHEN good = '{}';
        IF cardinality(good) < kin.size THEN
            SELECT array_agg(u.id ORDER BY u.n), array_agg(u.is_unlinked ORDER BY u.n) INTO kin.ids, kin.unlinked
            FROM unnest(kin.jobs, kin.ids, kin.unlinked) WITH ORDINALITY AS u (job, id, is_unlinked, n) WHERE u.job = ANY (good);
        END IF;
        olds := olds || good;
        ids := ids || kin.ids;
        unlinked := unlinked || kin.unlinked;
        owners := owners || array_fill(kin.partner_id, ARRAY[cardinality(good)]);
        kins := kins || array_fill(cardinality(places) + 1, ARRAY[cardinality(good)]);
        places := places || place;
        stamps := stamps || insp.decision_stamp(partner);
        queues := queues || insp.queue_of(place, kin.lane, kin.partner_id);
        lanes := lanes || kin.lane;
    END LOOP;
    refusals := insp.tally(refusals, 'ROW_LOCKED', cardinality(free) - seen);
    FOR quota IN
        SELECT p.id, p.max_waiting, c.jobs, c.first FROM (
            SELECT u.owner, count(*)::integer AS jobs, min(u.n)::integer AS first
            FROM unnest(owners) WITH ORDINALITY AS u (owner, n) GROUP BY u.owner) c
            JOIN insp.partner p ON p.id = c.owner WHERE p.max_waiting IS NOT NULL ORDER BY c.first DESC
    LOOP
        numbers := ARRAY[insp.take_waiting_of_many(quota.id, quota.max_waiting, quota.jobs)];
        IF numbers[1] < quota.jobs THEN
            refusals := insp.tally(refusals, 'WAITING_QUOTA_REACHED', quota.jobs - numbers[1]::integer);
            -- Those of a partner follow each other, and the partners behind this one are done.
            olds := olds[:quota.first - 1 + numbers[1]] || olds[quota.first + quota.jobs:];
            ids := ids[:quota.first - 1 + numbers[1]] || ids[quota.first + quota.jobs:];
            unlinked := unlinked[:quota.first - 1 + numbers[1]] || unlinked[quota.first + quota.jobs:];
            kins := kins[:quota.first - 1 + numbers[1]] || kins[quota.first + quota.jobs:];
        END IF;
    END LOOP;
    done := cardinality(olds);
    IF done = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(nextval('insp.job_id')), array_agg(insp.random_id(prefix)) INTO numbers, fresh FROM generate_series(1, done);
    INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, person_id, lane, region, expires_at, workflow,
        document_format, review, enrollment_mode, rerun_of, own_callback, traceparent, personal, sealed, key_id, request)
    SELECT n.number, n.fresh, o.partner_id, o.endpoint_id, o.person_id, o.lane, places[n.kin], now() + p.job_lifetime, o.workflow,
        o.document_format, o.review, o.enrollment_mode, o.public_id, o.own_callback, o.traceparent, o.personal, o.sealed, o.key_id,
        CASE WHEN p.passive_signals_suffice THEN o.request ELSE o.request - 'passiveSignalsSuffice' END
            - 'decisionPolicy' - 'session' || stamps[n.kin]
    FROM unnest(olds, numbers, fresh, kins) AS n (old, number, fresh, kin)
        JOIN insp.job o ON o.id = ANY (ARRAY[n.old]) JOIN insp.partner p ON p.id = o.partner_id;
    INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
    SELECT r.partner_id, r.kind, r.index, n.number
    FROM unnest(olds, numbers) AS n (old, number) JOIN insp.job_reference r ON r.job_id = ANY (ARRAY[n.old]);
    IF true = ANY (unlinked) THEN
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT now() + interval '1 minute', 'links', n.number
        FROM unnest(numbers, unlinked) AS n (number, is_unlinked) JOIN insp.job_reference r ON r.job_id = ANY (ARRAY[n.number])
        WHERE n.is_unlinked AND r.kind = 'user';
    END IF;
    INSERT INTO insp.rerun (job_id, first_id)
    SELECT n.number, coalesce((SELECT r.first_id FROM insp.rerun r WHERE r.job_id = n.old), n.old)
    FROM unnest(olds, numbers) AS n (old, number);
    INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, seal, location, content_id)
    SELECT n.number, p.kind, p.ordinal, p.size, p.sha256, p.seal, p.location, p.content_id
    FROM unnest(olds, numbers) AS n (old, number) JOIN insp.part p ON p.job_id = ANY (ARRAY[n.old]);
    INSERT INTO insp.ready (queue, job_id)
    SELECT queues[n.kin], n.number FROM unnest(kins, numbers) AS n (kin, number);
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = (SELECT insp.actor())
    WHERE d.ctid = ANY (CASE WHEN done < cardinality(free) THEN ARRAY(
        SELECT u.row FROM unnest(rows, free) AS u (row, job_id) WHERE u.job_id = ANY (olds)) ELSE rows END);
    PERFORM insp.record_each('rerun', ids::text[], ARRAY(SELECT jsonb_build_object('as', u.id) FROM unnest(fresh) u (id)));
    IF numbers[done] / 1000000 > (numbers[1] - 1) / 1000000 THEN
        PERFORM insp.ensure_partitions_late();
    END IF;
    PERFORM insp.wake(w.lane) FROM (
        SELECT DISTINCT lanes[u.kin] AS lane FROM (SELECT DISTINCT x.kin FROM unnest(kins) x (kin)) u) w;
END
$$;
COMMENT ON FUNCTION insp.rerun_each(bigint[]) IS
    'insp.rerun of unresolved dead letters by their internal numbers, each once, even if others run them again at the same time; a quota with room for some of them takes the first by region, lane and number; refusals: how many were refused, by error code';

CREATE OR REPLACE FUNCTION insp.resolve_each(p_jobs bigint[], p_note text, OUT done integer, OUT refusals jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    free bigint[];
    ids text[];
    bare boolean[];
    jobs bigint[];
BEGIN
    PERFORM insp.need_read_committed();
    free := ARRAY(SELECT d.job_id FROM insp.dead d WHERE d.job_id = ANY (p_jobs) AND d.resolved_at IS NULL
        ORDER BY d.job_id FOR UPDATE SKIP LOCKED);
    refusals := insp.tally('{}', 'already', cardinality(p_jobs) - cardinality(free));
    SELECT coalesce(array_agg(x.id), '{}'), array_agg(x.public_id::text), array_agg(x.is_bare) INTO jobs, ids, bare FROM (
        SELECT j.id, j.public_id, j.forgotten_at IS NOT NULL AS is_bare
        FROM unnest(free) f (id) JOIN insp.job j ON j.id = ANY (ARRAY[f.id]) FOR SHARE OF j SKIP LOCKED) x;
    done := cardinality(jobs);
    refusals := insp.tally(refusals, 'ROW_LOCKED', cardinality(free) - done);
    IF done > 0 THEN
        UPDATE insp.dead d SET resolved_at = now(), resolved_by = (SELECT insp.actor()) WHERE d.job_id = ANY (jobs);
        PERFORM insp.record_each('resolve_dead', ids, ARRAY(
            -- Texts about a person who was erased.
            SELECT jsonb_build_object('note', CASE WHEN NOT u.is_bare THEN p_note END)
            FROM unnest(bare) WITH ORDINALITY AS u (is_bare, n) ORDER BY u.n));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.resolve_each(bigint[], text) IS
    'insp.resolve_dead of dead letters by their internal numbers; refusals: how many were refused, by error code';

CREATE OR REPLACE FUNCTION insp.cancel_each(
    p_jobs bigint[], p_queue integer, p_first bigint, p_last bigint, OUT done integer, OUT refusals jsonb
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    held bigint[];
    ids text[];
    owners integer[];
    mine integer[];
    are_open boolean[];
    ended bigint[];
BEGIN
    PERFORM insp.need_read_committed();
    -- Read once, with what later statements need of them.
    SELECT coalesce(array_agg(x.id), '{}'), array_agg(x.public_id::text), array_agg(x.partner_id), array_agg(x.is_open)
    INTO held, ids, owners, are_open FROM (
        -- A case that waits for a reviewer meanwhile is in no selection of jobs.
        SELECT j.id, j.public_id, j.partner_id, j.status < 64 AS is_open
        FROM unnest(p_jobs) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id])
        ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED) x;
    refusals := insp.tally('{}', 'ROW_LOCKED', cardinality(p_jobs) - cardinality(held));
    mine := ARRAY(SELECT o.id FROM (SELECT DISTINCT u.id FROM unnest(owners) u (id) OFFSET 0) o WHERE insp.may_act(o.id));
    SELECT coalesce(array_agg(u.id ORDER BY u.n), '{}'), array_agg(u.public ORDER BY u.n) INTO ended, ids
    FROM unnest(held, ids, owners, are_open) WITH ORDINALITY AS u (id, public, owner, is_open, n)
    WHERE u.is_open AND u.owner = ANY (mine);
    refusals := insp.tally(refusals, 'already', cardinality(held) - cardinality(ended));
    done := CASE WHEN ended <> '{}' THEN insp.end_unclaimed(ended, 'CANCELLED', NULL) ELSE 0 END;
    -- Otherwise workers would have to claim them to find that they have ended.
    DELETE FROM insp.ready r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.ready x
        WHERE x.queue = p_queue AND x.seq BETWEEN p_first AND p_last AND x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED));
    IF ended <> '{}' THEN
        PERFORM insp.record_each('cancel', ids, array_fill('{}'::jsonb, ARRAY[cardinality(ids)]));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.cancel_each(bigint[], integer, bigint, bigint) IS
    'insp.cancel of jobs by their internal numbers, and removes them from this stretch of a queue; refusals: how many were refused, by error code';

CREATE OR REPLACE FUNCTION insp.replay_each(p_callbacks bigint[], OUT done integer, OUT refusals jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    dead bigint[];
    kept bigint[];
    ids text[];
BEGIN
    PERFORM insp.need_read_committed();
    -- As insp.callback_renew: retention must not remove them meanwhile.
    SELECT coalesce(array_agg(x.id), '{}'), array_agg(x.webhook_id) INTO kept, ids FROM (
        SELECT c.id, c.webhook_id FROM unnest(p_callbacks) u (id) JOIN insp.callback c ON c.id = u.id
        ORDER BY c.id FOR SHARE OF c SKIP LOCKED) x;
    refusals := insp.tally('{}', 'ROW_LOCKED', cardinality(p_callbacks) - cardinality(kept));
    dead := ARRAY(SELECT w.callback_id FROM insp.callback_waiting w WHERE w.callback_id = ANY (kept) AND w.state = 'dead'
        ORDER BY w.callback_id FOR UPDATE SKIP LOCKED);
    done := cardinality(dead);
    refusals := insp.tally(refusals, 'already', cardinality(kept) - done);
    IF done > 0 THEN
        UPDATE insp.callback_waiting w SET state = 'pending', due_at = clock_timestamp(), recorded = NULL, attempts = 0, released = 0,
            reason = NULL
        WHERE w.callback_id = ANY (dead);
        PERFORM insp.record_each('callback_replay', array_agg(u.webhook_id ORDER BY u.n), array_agg('{}'::jsonb))
        FROM unnest(kept, ids) WITH ORDINALITY AS u (id, webhook_id, n) WHERE u.id = ANY (dead);
        PERFORM pg_notify('insp_callback', '');
    END IF;
END
$$;
COMMENT ON FUNCTION insp.replay_each(bigint[]) IS
    'insp.callback_replay of dead-lettered callbacks by their internal numbers; refusals: how many were refused, by error code';
