-- Retention: removes bytes, results and references job by job, the rest with whole partitions.
--
-- Finished jobs that are due are not searched for: job has no index on any column that changes, and needs none. For each distinct
-- retention period, a cursor walks the jobs in the order of their ids, which is nearly that of their age, and passes each job
-- once. The few that were not finished, or finished late, when the cursor passed are recorded in purge_later with the time to
-- return.

CREATE OR REPLACE FUNCTION insp.purge(
    p_limit integer DEFAULT 1000,
    OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- Rows that are held are left for later, so this waits at most for single statements of others.
SET lock_timeout = '200ms' SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    -- Well below the worker's statement time-out.
    deadline constant timestamptz := clock_timestamp() + interval '3 seconds';
    class record;
    done record;
    others integer := 0;
    parts_of bigint[] := '{}'::bigint[];
    results_of bigint[] := '{}'::bigint[];
    requests_of bigint[] := '{}'::bigint[];
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM insp.require(p_limit BETWEEN 1 AND 1000000, 'p_limit', 'p_limit is 1 to 1000000.');
    keys := 0;
    callbacks := 0;
    partitions := 0;
    more := false;
    -- One call at a time, and no change of the periods between its statements. An open change blocks all of this, which must be
    -- visible.
    PERFORM FROM insp.retention_horizon h ORDER BY h.what FOR UPDATE SKIP LOCKED;
    GET DIAGNOSTICS others = ROW_COUNT;
    IF others < 2 THEN
        RAISE EXCEPTION 'another call of insp.purge, or a change of how long things are kept, is not committed yet'
            USING ERRCODE = 'lock_not_available';
    END IF;
    others := 0;
    PERFORM insp.purge_horizon('job'), insp.purge_horizon('callback');
    FOR class IN
        SELECT k.what, k.keep FROM (
            SELECT c.what, c.keep FROM insp.retention_classes() c
            UNION ALL VALUES ('late', interval '0'), ('callbacks', interval '0'), ('rows', interval '0')) k
            LEFT JOIN insp.retention_cursor c ON c.what = k.what AND c.keep = k.keep
        -- In a backlog, cursors not served the last time come first.
        ORDER BY c.ran_at NULLS FIRST, k.what, k.keep
    LOOP
        IF clock_timestamp() > deadline THEN
            more := true;
            EXIT;
        END IF;
        IF class.what = 'late' THEN
            SELECT * INTO done FROM insp.purge_late(p_limit);
            parts_of := parts_of || done.parts;
            results_of := results_of || done.results;
            requests_of := requests_of || done.requests;
            callbacks := callbacks + done.callbacks;
            more := more OR done.walked >= p_limit;
        ELSIF class.what = 'callbacks' THEN
            SELECT * INTO done FROM insp.purge_callbacks(p_limit);
            callbacks := callbacks + done.removed;
            more := more OR done.walked >= p_limit;
        ELSIF class.what = 'rows' THEN
            SELECT * INTO done FROM insp.purge_rows(p_limit);
            keys := done.keys;
            others := done.others;
            more := more OR done.more;
        ELSE
            SELECT * INTO done FROM insp.purge_class(class.what, class.keep, p_limit);
            CASE class.what WHEN 'parts' THEN parts_of := parts_of || done.removed;
                WHEN 'results' THEN results_of := results_of || done.removed;
                ELSE requests_of := requests_of || done.removed; END CASE;
            more := more OR done.more;
        END IF;
        INSERT INTO insp.retention_cursor AS c (what, keep, ran_at) VALUES (class.what, class.keep, clock_timestamp())
        ON CONFLICT (what, keep) DO UPDATE SET ran_at = excluded.ran_at;
    END LOOP;
    parts := cardinality(parts_of);
    results := cardinality(results_of);
    IF parts + results + cardinality(requests_of) + keys + callbacks + others > 0 THEN
        PERFORM insp.record('purge', 'retention', jsonb_build_object('parts', parts, 'results', results,
            'references', cardinality(requests_of), 'keys', keys, 'callbacks', callbacks, 'accesses', nullif(others, 0),
            'partners', insp.partner_counts(parts_of, results_of, requests_of)));
    END IF;
    -- Last: from here to the commit nobody else can use the tables.
    partitions := insp.drop_history();
END
$$;
COMMENT ON FUNCTION insp.purge(integer) IS
    'Retention, run by maintenance: removes due data of at most p_limit jobs for each retention period, for a few seconds. Rows that are held are left for later. Returns how many jobs'' parts and results, keys, callbacks and partitions it removed, and whether more may be due. Fails with SQLSTATE 55P03 while another call runs or a call of insp.set_retention is not committed';
GRANT EXECUTE ON FUNCTION insp.purge(integer) TO insp_worker, insp_operator;

CREATE OR REPLACE FUNCTION insp.partner_counts(p_parts bigint[], p_results bigint[], p_requests bigint[]) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT jsonb_object_agg(p.name, c.counts)
    FROM (SELECT w.partner_id, jsonb_object_agg(w.what, w.jobs) AS counts
        FROM (SELECT j.partner_id, g.what, count(*) AS jobs
            FROM (SELECT 'parts' AS what, unnest(p_parts) AS id UNION ALL SELECT 'results', unnest(p_results)
                UNION ALL SELECT 'references', unnest(p_requests)) g JOIN insp.job j ON j.id = ANY (ARRAY[g.id])
            GROUP BY j.partner_id, g.what) w
        GROUP BY w.partner_id) c JOIN insp.partner p ON p.id = c.partner_id
$$;
COMMENT ON FUNCTION insp.partner_counts(bigint[], bigint[], bigint[]) IS
    'For the record: from how many jobs of each partner parts, results and references were removed; null: from none';

CREATE OR REPLACE FUNCTION insp.purge_horizon(p_what text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    h insp.retention_horizon;
    drawn bigint;
    open text[];
    sequence regclass;
BEGIN
    SELECT * INTO h FROM insp.retention_horizon x WHERE x.what = p_what FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN (SELECT x.safe_id FROM insp.retention_horizon x WHERE x.what = p_what);
    END IF;
    -- The number first: transactions that draw a later one need not be waited for.
    IF p_what = 'job' THEN
        SELECT s.last_value INTO drawn FROM insp.job_id s;
        sequence := 'insp.job_id';
    ELSE
        SELECT s.last_value INTO drawn FROM insp.callback_id_seq s;
        sequence := 'insp.callback_id_seq';
    END IF;
    open := ARRAY(
        SELECT DISTINCT l.virtualtransaction FROM pg_locks l
        WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.relation = sequence
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND l.pid IS DISTINCT FROM pg_backend_pid());
    IF open = '{}' THEN
        h.safe_id := drawn;
        h.waits_for := '{}';
    ELSIF NOT h.waits_for && open THEN
        -- All that it waited for have ended, or this is the first call.
        h.safe_id := greatest(h.safe_id, h.next_id);
        h.next_id := drawn;
        h.waits_for := open;
    END IF;
    UPDATE insp.retention_horizon x SET safe_id = h.safe_id, next_id = h.next_id, waits_for = h.waits_for
    WHERE x.what = p_what;
    RETURN h.safe_id;
END
$$;
COMMENT ON FUNCTION insp.purge_horizon(text) IS
    'The job (or callback) up to which retention may advance; moves ahead as far as open transactions allow';

CREATE OR REPLACE FUNCTION insp.purge_class(p_what text, p_keep interval, p_limit integer, OUT removed bigint[], OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    safe constant bigint := (SELECT h.safe_id FROM insp.retention_horizon h WHERE h.what = 'job');
    -- Parts that are not kept are removed when their job finishes; this looks for what was left then, and must not turn to each open
    -- job in every round.
    least_age constant interval := greatest(p_keep, interval '1 hour');
    -- Few partners have their own period: the cursor passes the others' jobs without reading their parts.
    members constant integer[] := ARRAY(SELECT p.id FROM insp.partner p WHERE insp.keep_of(p, p_what) = p_keep);
    start bigint;
    reached bigint;
    due bigint[];
BEGIN
    INSERT INTO insp.retention_cursor (what, keep) VALUES (p_what, p_keep) ON CONFLICT DO NOTHING;
    SELECT c.next_id INTO start FROM insp.retention_cursor c WHERE c.what = p_what AND c.keep = p_keep;
    WITH page AS MATERIALIZED (
        SELECT j.id, j.partner_id, j.status, j.created_at, j.completed_at
        FROM insp.job j WHERE j.id >= start AND j.id <= safe ORDER BY j.id LIMIT 10 * p_limit
    ), old AS MATERIALIZED (
        -- Up to the first one that would be too young even if it had ended at once.
        SELECT g.*, g.status = 128 AND g.completed_at <= now() - p_keep AS is_due
        FROM page g
        WHERE g.partner_id = ANY (members)
            AND g.id < coalesce((SELECT min(y.id) FROM page y WHERE y.created_at > now() - least_age), 9223372036854775807)
    ), sized AS MATERIALIZED (
        -- At most 64 MB of bytes at once, plus the first job's: they are removed in pieces of 2 KB.
        SELECT w.id, sum(w.size) OVER (ORDER BY w.id) - w.size AS before, row_number() OVER (ORDER BY w.id) AS n
        FROM (
            SELECT o.id, CASE p_what WHEN 'parts' THEN (
                SELECT coalesce(sum(p.size), 0) FROM insp.part p WHERE p.job_id = o.id AND p.content_id IS NOT NULL)
                ELSE 0 END AS size
            FROM old o WHERE o.is_due ORDER BY o.id LIMIT p_limit + 1) w
    ), stop AS MATERIALIZED (
        SELECT coalesce(
            (SELECT min(z.id) FROM sized z WHERE z.n > p_limit OR z.before >= 67108864),
            (SELECT min(y.id) FROM page y WHERE y.created_at > now() - least_age),
            (SELECT max(y.id) + 1 FROM page y)) AS id
    ), later AS (
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT coalesce(o.completed_at + p_keep, now() + least(least_age, interval '1 day')), p_what, o.id
        FROM old o WHERE NOT o.is_due AND o.id < (SELECT s.id FROM stop s)
        ON CONFLICT DO NOTHING
    )
    SELECT (SELECT s.id FROM stop s), (SELECT array_agg(z.id) FROM sized z WHERE z.id < (SELECT s.id FROM stop s))
    INTO reached, due;
    more := EXISTS (SELECT FROM (
        SELECT j.created_at FROM insp.job j WHERE j.id >= reached AND j.id <= safe ORDER BY j.id LIMIT 1) n
        WHERE n.created_at <= now() - least_age);
    removed := '{}';
    IF due IS NOT NULL THEN
        removed := insp.purge_jobs(p_what, due);
    END IF;
    UPDATE insp.retention_cursor c SET next_id = reached
    WHERE c.what = p_what AND c.keep = p_keep AND reached > c.next_id;
END
$$;
COMMENT ON FUNCTION insp.purge_class(text, interval, integer) IS
    'Advances the cursor of a retention period of parts, results or references: over up to ten times p_limit jobs, of which p_limit are due. Returns the jobs of which it removed some, and whether more are due';

CREATE OR REPLACE FUNCTION insp.purge_batch(p_what text, p_jobs bigint[]) RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE p_what WHEN 'parts' THEN insp.remove_parts(p_jobs) WHEN 'results' THEN insp.remove_results(p_jobs, 'purgedAt')
        WHEN 'references' THEN (SELECT r.jobs FROM insp.remove_references(p_jobs, false) r)
        WHEN 'callbacks' THEN insp.retire_callbacks(p_jobs)
        WHEN 'persons' THEN (SELECT '{}'::bigint[] FROM insp.forget_persons(p_jobs))
        WHEN 'links' THEN (SELECT '{}'::bigint[] FROM insp.link_persons(p_jobs)) END
$$;
COMMENT ON FUNCTION insp.purge_batch(text, bigint[]) IS
    'Removes data of the given kind (as insp.purge_later has it); returns the jobs or callbacks that had some';

CREATE OR REPLACE FUNCTION insp.purge_jobs(p_what text, p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- Erasing, copying or finishing a job locks its row. Callbacks, persons and links are locked where they are changed.
    free constant bigint[] := CASE WHEN p_what IN ('parts', 'results', 'references') THEN ARRAY(
        SELECT j.id FROM insp.job j WHERE j.id = ANY (p_jobs) FOR NO KEY UPDATE SKIP LOCKED) ELSE p_jobs END;
    held bigint[] := ARRAY(SELECT unnest(p_jobs) EXCEPT SELECT unnest(free));
    broken bigint[] := '{}'::bigint[];
    removed bigint[] := '{}'::bigint[];
    job bigint;
BEGIN
    BEGIN
        removed := insp.purge_batch(p_what, free);
    EXCEPTION WHEN OTHERS THEN
        IF SQLSTATE NOT IN ('55P03', '40P01') AND NOT insp.may_be_of_row(SQLSTATE) THEN
            RAISE;
        END IF;
        -- Another row of one of them is held, or a row cannot be processed: one by one, while there is time.
        FOREACH job IN ARRAY free LOOP
            BEGIN
                IF clock_timestamp() < statement_timestamp() + interval '5 seconds' THEN
                    removed := removed || insp.purge_batch(p_what, ARRAY[job]);
                    CONTINUE;
                END IF;
            EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
                NULL;
            WHEN OTHERS THEN
                IF NOT insp.may_be_of_row(SQLSTATE) THEN
                    RAISE;
                END IF;
                RAISE LOG 'inspectd: retention cannot process % of %: SQLSTATE %', p_what, job, SQLSTATE;
                broken := broken || job;
                CONTINUE;
            END;
            held := held || job;
        END LOOP;
    END;
    INSERT INTO insp.purge_later (due_at, what, job_id)
    SELECT now() + interval '1 minute', p_what, h.id FROM unnest(held) AS h (id)
    UNION ALL SELECT now() + interval '1 day', p_what, b.id FROM unnest(broken) AS b (id)
    ON CONFLICT DO NOTHING;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.purge_jobs(text, bigint[]) IS
    'Removes what is due of jobs, callbacks or persons (insp.purge_batch); those whose rows are held or cannot be processed are recorded for later. Returns those that had some';

CREATE OR REPLACE FUNCTION insp.purge_late(
    p_limit integer, OUT parts bigint[], OUT results bigint[], OUT requests bigint[], OUT callbacks integer, OUT walked integer
)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET enable_sort = off
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    part_jobs bigint[];
    result_jobs bigint[];
    request_jobs bigint[];
    late bigint[];
    persons bigint[];
    links bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        -- Links separately: those of unfinished jobs return each hour, and must not delay others.
        SELECT o.row FROM (SELECT l.ctid AS row FROM insp.purge_later l WHERE l.what <> 'links' AND l.due_at <= now()
            ORDER BY l.due_at LIMIT p_limit FOR UPDATE SKIP LOCKED) o
        UNION ALL
        SELECT k.row FROM (SELECT l.ctid AS row FROM insp.purge_later l WHERE l.what = 'links' AND l.due_at <= now()
            ORDER BY l.due_at LIMIT p_limit FOR UPDATE SKIP LOCKED) k
    ), taken AS (
        DELETE FROM insp.purge_later l WHERE l.ctid = ANY (ARRAY(SELECT d.row FROM due d)) RETURNING l.what, l.job_id
    ), judged AS MATERIALIZED (
        -- The entry of a job that was dropped with its partition is removed.
        SELECT DISTINCT t.what, t.job_id, j.completed_at, k.keep, j.status = 128 AND j.completed_at <= now() - k.keep AS is_due
        FROM taken t JOIN insp.job j ON j.id = t.job_id JOIN insp.partner p ON p.id = j.partner_id,
            LATERAL (SELECT insp.keep_of(p, t.what) AS keep) k
        WHERE t.what IN ('parts', 'results', 'references')
    ), again AS (
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT coalesce(g.completed_at + g.keep, now() + least(greatest(g.keep, interval '1 hour'), interval '1 day')), g.what, g.job_id
        FROM judged g WHERE NOT g.is_due
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(g.job_id) FILTER (WHERE g.what = 'parts'), array_agg(g.job_id) FILTER (WHERE g.what = 'results'),
        array_agg(g.job_id) FILTER (WHERE g.what = 'references'), greatest((SELECT count(*) FROM taken t WHERE t.what <> 'links'), (SELECT count(*) FROM taken t WHERE t.what = 'links')),
        (SELECT array_agg(DISTINCT t.job_id) FROM taken t WHERE t.what = 'callbacks'),
        (SELECT array_agg(DISTINCT t.job_id) FROM taken t WHERE t.what = 'persons'),
        (SELECT array_agg(DISTINCT t.job_id) FROM taken t WHERE t.what = 'links')
    INTO part_jobs, result_jobs, request_jobs, walked, late, persons, links FROM judged g WHERE g.is_due;
    parts := CASE WHEN part_jobs IS NULL THEN '{}' ELSE insp.purge_jobs('parts', part_jobs) END;
    results := CASE WHEN result_jobs IS NULL THEN '{}' ELSE insp.purge_jobs('results', result_jobs) END;
    requests := CASE WHEN request_jobs IS NULL THEN '{}' ELSE insp.purge_jobs('references', request_jobs) END;
    callbacks := CASE WHEN late IS NULL THEN 0 ELSE cardinality(insp.purge_jobs('callbacks', late)) END;
    IF persons IS NOT NULL THEN
        PERFORM insp.purge_jobs('persons', persons);
    END IF;
    IF links IS NOT NULL THEN
        PERFORM insp.purge_jobs('links', links);
    END IF;
END
$$;
COMMENT ON FUNCTION insp.purge_late(integer) IS
    'Revisits data that was not due or was locked when retention passed it, and links jobs to their persons';

CREATE OR REPLACE FUNCTION insp.purge_rows(p_limit integer, OUT keys integer, OUT others integer, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    done_until constant timestamptz := now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'operator_events');
    seen_until constant timestamptz := now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'access_events');
    told_until constant timestamptz := now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'endpoint_events');
    due record;
    n integer;
BEGIN
    -- Each from its oldest rows on; rows that are held are left for the next round.
    DELETE FROM insp.job_key k WHERE k.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.job_key x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM (SELECT z.ctid, z.created_at FROM insp.job_key z ORDER BY z.job_id LIMIT p_limit) y
            WHERE y.created_at <= now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'idempotency_keys')))
        FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS keys = ROW_COUNT;
    more := keys >= p_limit;
    others := 0;
    FOR due IN SELECT * FROM (VALUES ('access', seen_until), ('session', done_until), ('operator', done_until),
        ('endpoint', told_until)) AS x (chain, until) LOOP
        n := insp.retire_record(due.chain, due.until, p_limit);
        more := more OR n >= p_limit;
        others := others + CASE WHEN due.chain IN ('access', 'session') THEN n ELSE 0 END;
    END LOOP;
    DELETE FROM insp.proposal p WHERE p.expires_at <= done_until;
    more := insp.purge_tasks(done_until, p_limit) OR more;
    n := insp.thin_checkpoints(p_limit);
    more := more OR n >= p_limit;
    DELETE FROM insp.event_batch b WHERE b.ctid = ANY (ARRAY(
        SELECT y.row FROM (SELECT z.ctid AS row, z.at, z.epoch, z.position FROM insp.event_batch z WHERE z.position IS NOT NULL
            ORDER BY z.epoch, z.position LIMIT 10 * p_limit) y
        WHERE y.at <= now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'events')
            -- Until they are counted, they stay.
            AND (y.epoch, y.position) <= (SELECT c.epoch, c.position FROM insp.usage_cursor c)));
    GET DIAGNOSTICS n = ROW_COUNT;
    more := more OR n >= 10 * p_limit;
    DELETE FROM insp.challenge c WHERE c.id = ANY (ARRAY(
        SELECT x.id FROM insp.challenge x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    DELETE FROM insp.capture_session c WHERE c.id = ANY (ARRAY(
        SELECT x.id FROM insp.capture_session x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    DELETE FROM insp.credential_token t WHERE t.key_id = ANY (ARRAY(
        SELECT x.key_id FROM insp.credential_token x WHERE x.expires_at < now() - interval '1 hour'
        ORDER BY x.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    DELETE FROM insp.secret s WHERE s.id = ANY (ARRAY(
        SELECT x.id FROM insp.secret x WHERE x.valid_until < now() - interval '1 hour'
        ORDER BY x.valid_until LIMIT p_limit FOR UPDATE SKIP LOCKED));
    -- Erased persons: the records of their erasure are due as well.
    DELETE FROM insp.person p WHERE p.id = ANY (ARRAY(
        SELECT x.id FROM insp.person x WHERE x.erased_at <= done_until
        ORDER BY x.erased_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    PERFORM insp.sample_nothing();
END
$$;
COMMENT ON FUNCTION insp.purge_rows(integer) IS
    'Removes due idempotency keys, rows of the record, batches of events, challenges, capture links, tokens, secrets and tasks of the console, about p_limit of each; returns how many keys, how many accesses and sessions, and whether more may be due';
