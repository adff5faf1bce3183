-- Actions on many dead letters, jobs and callbacks in one statement: each does, checks and records what the call for a single one
-- does, in about a tenth of its time. What another transaction holds, or has dealt with, is skipped and counted.
-- After: record

CREATE OR REPLACE FUNCTION insp.record_each(p_action text, p_subjects text[], p_details jsonb[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    INSERT INTO insp.record (chain, actor, action, subject, detail, words, words_salt, words_sha256)
    SELECT 'operator', (SELECT insp.actor()), p_action, u.subject, u.detail - insp.record_words(), s.words, s.salt,
        CASE WHEN s.words IS NOT NULL THEN insp.words_digest(s.salt, s.words) END
    FROM (SELECT x.subject, jsonb_strip_nulls(coalesce(x.detail, '{}')) AS detail, x.n
            FROM unnest(p_subjects, p_details) WITH ORDINALITY AS x (subject, detail, n) OFFSET 0) u
        LEFT JOIN LATERAL (
            SELECT jsonb_object_agg(e.key, e.value) AS words, gen_random_uuid() AS salt
            FROM jsonb_each(u.detail) e WHERE e.key = ANY (insp.record_words())) s ON u.detail ?| insp.record_words()
    ORDER BY u.n
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
    PERFORM insp.check_consent(coalesce(g.personal, '{}'), partner)
    FROM unnest(p_jobs) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id]),
        -- A damaged one is read as insp.rerun reads it, when it is alone.
        LATERAL (SELECT CASE WHEN cardinality(p_jobs) = 1 THEN insp.readable_personal(j.personal) ELSE insp.personal(j.personal) END
            AS personal OFFSET 0) g
    WHERE (partner.consent_required OR j.personal IS NOT NULL) AND (partner.consent_required OR g.personal ? 'consent');
    PERFORM insp.check_callback_host(g.personal ->> 'callbackUrl', partner)
    FROM unnest(p_jobs) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id]),
        LATERAL (SELECT insp.readable_personal(j.personal) AS personal OFFSET 0) g
    WHERE j.own_callback AND g.personal ? 'callbackUrl';
END
$$;
COMMENT ON FUNCTION insp.rerun_checks(bigint[], insp.partner) IS
    'Refuses jobs of which a partner''s policies of today on consent and callback hosts refuse one';

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
    stamp jsonb;
    code text;
    good bigint[];
    seen integer := 0;
    -- Jobs that can run again, by partner.
    olds bigint[] := ARRAY[]::bigint[];
    owners integer[] := ARRAY[]::integer[];
    places smallint[] := ARRAY[]::smallint[];
    stamps jsonb[] := ARRAY[]::jsonb[];
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
        SELECT x.partner_id, x.region, x.code, array_agg(x.id ORDER BY x.id) AS jobs, count(*)::integer AS size FROM (
            -- As in insp.rerun: locked against erasure and retention until the copy is committed.
            SELECT j.id, j.partner_id, j.region, CASE WHEN j.status < 128 THEN 'JOB_NOT_FINISHED'
                WHEN NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[j.id])) THEN 'PARTS_PURGED'
                WHEN j.forgotten_at IS NOT NULL THEN 'REQUEST_PURGED' END AS code
            FROM unnest(free) f (id) JOIN insp.job j ON j.id = ANY (ARRAY[f.id]) FOR SHARE OF j SKIP LOCKED) x
        GROUP BY x.partner_id, x.region, x.code ORDER BY x.partner_id, x.region, x.code
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
        olds := olds || good;
        owners := owners || array_fill(kin.partner_id, ARRAY[cardinality(good)]);
        places := places || array_fill(place, ARRAY[cardinality(good)]);
        stamp := insp.decision_stamp(partner);
        stamps := stamps || array_fill(stamp, ARRAY[cardinality(good)]);
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
            owners := owners[:quota.first - 1 + numbers[1]] || owners[quota.first + quota.jobs:];
            places := places[:quota.first - 1 + numbers[1]] || places[quota.first + quota.jobs:];
            stamps := stamps[:quota.first - 1 + numbers[1]] || stamps[quota.first + quota.jobs:];
        END IF;
    END LOOP;
    done := cardinality(olds);
    IF done = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(nextval('insp.job_id')), array_agg(insp.random_id(prefix)) INTO numbers, fresh FROM generate_series(1, done);
    INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, person_id, lane, region, expires_at, workflow,
        document_format, review, enrollment_mode, rerun_of, own_callback, traceparent, personal, sealed, key_id, request)
    SELECT n.number, n.fresh, o.partner_id, o.endpoint_id, o.person_id, o.lane, n.place, now() + p.job_lifetime, o.workflow,
        o.document_format, o.review, o.enrollment_mode, o.public_id, o.own_callback, o.traceparent, o.personal, o.sealed, o.key_id,
        CASE WHEN p.passive_signals_suffice THEN o.request ELSE o.request - 'passiveSignalsSuffice' END
            - 'decisionPolicy' - 'session' || n.stamp
    FROM unnest(olds, numbers, fresh, places, stamps) AS n (old, number, fresh, place, stamp)
        JOIN insp.job o ON o.id = ANY (ARRAY[n.old]) JOIN insp.partner p ON p.id = o.partner_id;
    INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
    SELECT r.partner_id, r.kind, r.index, n.number
    FROM unnest(olds, numbers) AS n (old, number) JOIN insp.job_reference r ON r.job_id = ANY (ARRAY[n.old]);
    INSERT INTO insp.purge_later (due_at, what, job_id)
    SELECT now() + interval '1 minute', 'links', n.number
    FROM unnest(olds, numbers) AS n (old, number) JOIN insp.job o ON o.id = ANY (ARRAY[n.old])
        JOIN insp.job_reference r ON r.job_id = ANY (ARRAY[n.number])
    WHERE r.kind = 'user' AND o.person_id IS NULL;
    INSERT INTO insp.rerun (job_id, first_id)
    SELECT n.number, coalesce((SELECT r.first_id FROM insp.rerun r WHERE r.job_id = n.old), n.old)
    FROM unnest(olds, numbers) AS n (old, number);
    INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, seal, location, content_id)
    SELECT n.number, p.kind, p.ordinal, p.size, p.sha256, p.seal, p.location, p.content_id
    FROM unnest(olds, numbers) AS n (old, number) JOIN insp.part p ON p.job_id = ANY (ARRAY[n.old]);
    INSERT INTO insp.ready (queue, job_id)
    SELECT q.queue, n.number
    FROM unnest(olds, numbers, places) WITH ORDINALITY AS n (old, number, place, n) JOIN insp.job o ON o.id = ANY (ARRAY[n.old])
        JOIN (SELECT w.lane, w.partner_id, w.place, insp.queue_of(w.place, w.lane, w.partner_id) AS queue FROM (
            SELECT DISTINCT x.lane, x.partner_id, u.place FROM unnest(olds, places) AS u (old, place)
                JOIN insp.job x ON x.id = ANY (ARRAY[u.old])) w) q
            ON q.lane = o.lane AND q.partner_id = o.partner_id AND q.place = n.place
    ORDER BY n.n;
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = (SELECT insp.actor())
    WHERE d.ctid = ANY (CASE WHEN done < cardinality(free) THEN ARRAY(
        SELECT u.row FROM unnest(rows, free) AS u (row, job_id) WHERE u.job_id = ANY (olds)) ELSE rows END);
    PERFORM insp.record_each('rerun', array_agg(o.public_id::text ORDER BY n.n),
        array_agg(jsonb_build_object('as', n.fresh) ORDER BY n.n))
    FROM unnest(olds, fresh) WITH ORDINALITY AS n (old, fresh, n) JOIN insp.job o ON o.id = ANY (ARRAY[n.old]);
    IF numbers[done] / 1000000 > (numbers[1] - 1) / 1000000 THEN
        PERFORM insp.ensure_partitions_late();
    END IF;
    PERFORM insp.wake(w.lane) FROM (
        SELECT DISTINCT o.lane FROM unnest(olds) n (old) JOIN insp.job o ON o.id = ANY (ARRAY[n.old])) w;
END
$$;
COMMENT ON FUNCTION insp.rerun_each(bigint[]) IS
    'insp.rerun of unresolved dead letters by their internal numbers, each once, also where others run them again at the same time; refusals: how many were refused, by error code';

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
    ended bigint[];
BEGIN
    PERFORM insp.need_read_committed();
    held := ARRAY(SELECT j.id FROM unnest(p_jobs) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id])
        ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED);
    refusals := insp.tally('{}', 'ROW_LOCKED', cardinality(p_jobs) - cardinality(held));
    ended := ARRAY(SELECT j.id FROM unnest(held) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id])
        -- A case that waits for a reviewer meanwhile is in no selection of jobs.
        WHERE j.status < 64 AND insp.may_act(j.partner_id));
    refusals := insp.tally(refusals, 'already', cardinality(held) - cardinality(ended));
    done := CASE WHEN ended <> '{}' THEN insp.end_unclaimed(ended, 'CANCELLED', NULL) ELSE 0 END;
    -- Otherwise workers would have to claim them to find that they have ended.
    DELETE FROM insp.ready r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.ready x
        WHERE x.queue = p_queue AND x.seq BETWEEN p_first AND p_last AND x.job_id = ANY (ended) FOR UPDATE SKIP LOCKED));
    PERFORM insp.record_each('cancel', array_agg(j.public_id::text ORDER BY j.id), array_agg('{}'::jsonb))
    FROM unnest(ended) u (id) JOIN insp.job j ON j.id = ANY (ARRAY[u.id]) HAVING count(*) > 0;
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
