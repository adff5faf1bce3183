-- What is kept for how long, and how it goes: bytes and results job by job, the rest with whole partitions.
--
-- Finished jobs that have come of age are not searched for: job has no index on any column that changes, and needs none. For each
-- distinct time that partners keep things, a cursor walks the jobs in the order of their ids, which is nearly that of
-- their age, and passes each job once. The few that were not finished, or finished late, when the cursor came by are noted in
-- purge_later with the time to look again.

ALTER TABLE insp.partner
    ADD COLUMN keep_parts interval NOT NULL DEFAULT '30 days' CHECK (keep_parts >= '1 hour'),
    ADD COLUMN keep_results interval NOT NULL DEFAULT '30 days' CHECK (keep_results >= '1 hour');
COMMENT ON COLUMN insp.partner.keep_parts IS 'How long after its end a job''s parts are kept; an hour at least';
COMMENT ON COLUMN insp.partner.keep_results IS 'How long after its end a job''s results are kept; an hour at least';

CREATE TABLE insp.retention (
    what text PRIMARY KEY CHECK (what IN ('events', 'callbacks', 'idempotency_keys', 'operator_events')),
    keep interval NOT NULL CHECK (keep >= '1 hour')
);
COMMENT ON TABLE insp.retention IS 'How long things are kept that are kept alike for all partners';
COMMENT ON COLUMN insp.retention.what IS
    'events: the bare jobs with what happened to them; callbacks: delivered ones; idempotency_keys; operator_events (never below a year)';
COMMENT ON COLUMN insp.retention.keep IS 'For how long';
INSERT INTO insp.retention (what, keep) VALUES
    ('events', '90 days'), ('callbacks', '30 days'), ('idempotency_keys', '30 days'), ('operator_events', '2 years');

CREATE TABLE insp.retention_cursor (
    what text NOT NULL CHECK (what IN ('parts', 'results', 'callbacks', 'partitions')),
    keep interval NOT NULL DEFAULT '0',
    next_id bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (what, keep)
) WITH (fillfactor = 50);
COMMENT ON TABLE insp.retention_cursor IS 'How far insp.purge has come';
COMMENT ON COLUMN insp.retention_cursor.what IS 'What is being removed';
COMMENT ON COLUMN insp.retention_cursor.keep IS 'For partners that keep it so long; 0 where that is not the partner''s choice';
COMMENT ON COLUMN insp.retention_cursor.next_id IS 'Everything before was looked at';

CREATE TABLE insp.purge_later (
    look_at timestamptz NOT NULL,
    what text NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (look_at, what, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
COMMENT ON TABLE insp.purge_later IS 'Jobs that were not of age when the cursor passed them';
COMMENT ON COLUMN insp.purge_later.look_at IS 'When to look again';
COMMENT ON COLUMN insp.purge_later.what IS 'parts or results';
COMMENT ON COLUMN insp.purge_later.job_id IS 'The job';

-- The keys never change, so this index costs one entry for each request that brings a key, and nothing later.
CREATE INDEX job_key_created ON insp.job_key (created_at);

GRANT SELECT ON insp.retention, insp.retention_cursor TO insp_operator, insp_auditor;

CREATE FUNCTION insp.retention_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- Who changes class must be met by its new class's cursor, which may be past its jobs; looking twice does no harm.
    -- Locked in the order in which insp.purge locks them.
    PERFORM FROM insp.retention_cursor c ORDER BY c.what, c.keep FOR UPDATE;
    DELETE FROM insp.retention_cursor c WHERE c.what <> 'callbacks';
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.retention_changed() IS 'Has insp.purge begin from the oldest jobs again';
CREATE TRIGGER retention_changed AFTER UPDATE OF keep_parts, keep_results ON insp.partner
    FOR EACH STATEMENT EXECUTE FUNCTION insp.retention_changed();
CREATE TRIGGER retention_changed AFTER UPDATE OR DELETE ON insp.retention
    FOR EACH STATEMENT EXECUTE FUNCTION insp.retention_changed();

CREATE FUNCTION insp.set_retention(
    partner text DEFAULT NULL, keep_parts interval DEFAULT NULL, keep_results interval DEFAULT NULL,
    what text DEFAULT NULL, keep interval DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    subject text;
    kept record;
BEGIN
    IF set_retention.partner IS NOT NULL AND set_retention.what IS NULL THEN
        UPDATE insp.partner p SET keep_parts = coalesce(set_retention.keep_parts, p.keep_parts),
            keep_results = coalesce(set_retention.keep_results, p.keep_results)
        WHERE p.id = insp.partner_number(set_retention.partner)
        RETURNING p.keep_parts AS parts, p.keep_results AS results INTO kept;
        subject := 'partner ' || set_retention.partner;
        PERFORM insp.record('set_retention', subject,
            jsonb_build_object('keepParts', kept.parts, 'keepResults', kept.results));
        RETURN format('%s: parts %s, results %s', subject, kept.parts, kept.results);
    ELSIF set_retention.what IS NOT NULL AND set_retention.keep IS NOT NULL AND set_retention.partner IS NULL THEN
        UPDATE insp.retention r SET keep = set_retention.keep WHERE r.what = set_retention.what;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing called % is kept', quote_literal(set_retention.what)
                USING ERRCODE = 'invalid_parameter_value', HINT = 'SELECT * FROM insp.retention';
        END IF;
        PERFORM insp.record('set_retention', set_retention.what, jsonb_build_object('keep', set_retention.keep));
        RETURN format('%s: %s', set_retention.what, set_retention.keep);
    END IF;
    RAISE EXCEPTION 'set_retention takes a partner with keep_parts and keep_results, or what and keep'
        USING ERRCODE = 'invalid_parameter_value';
END
$$;
COMMENT ON FUNCTION insp.set_retention(text, interval, interval, text, interval) IS
    'Sets how long a partner''s parts and results are kept, or how long something is kept for all (insp.retention)';

-- Removal -----------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.remove_parts(p_jobs bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    removed integer;
BEGIN
    -- The address goes as well: it often opens the object to whoever has it. Digest and size stay.
    WITH gone AS (
        UPDATE insp.part p SET bytes = NULL, url = NULL, purged_at = now()
        WHERE p.job_id = ANY (p_jobs) AND p.purged_at IS NULL
        RETURNING p.job_id
    )
    SELECT count(DISTINCT g.job_id) INTO removed FROM gone g;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.remove_parts(bigint[]) IS 'Removes the bytes of jobs'' parts; returns of how many jobs';

CREATE FUNCTION insp.remove_results(p_jobs bigint[], p_word text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    removed integer;
BEGIN
    DELETE FROM insp.step s WHERE s.job_id = ANY (p_jobs) AND s.status < 128;
    UPDATE insp.step s SET output = jsonb_build_object(p_word, insp.iso_time(clock_timestamp()))
    WHERE s.job_id = ANY (p_jobs) AND s.status = 128 AND NOT s.output ?| ARRAY['purgedAt', 'erasedAt'];
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.remove_results(bigint[], text) IS
    'Removes jobs'' results, leaving under the given word when; returns of how many jobs';

CREATE FUNCTION insp.purge_class(p_what text, p_keep interval, p_limit integer, OUT removed integer, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    start bigint;
    reached bigint;
    due bigint[];
BEGIN
    INSERT INTO insp.retention_cursor (what, keep) VALUES (p_what, p_keep) ON CONFLICT DO NOTHING;
    SELECT c.next_id INTO start FROM insp.retention_cursor c WHERE c.what = p_what AND c.keep = p_keep FOR UPDATE;
    WITH page AS MATERIALIZED (
        -- No more than 64 MB of bytes in one go, beyond the first job's: they are removed in pieces of 2 KB.
        SELECT w.* FROM (
            SELECT l.*, sum(l.size) OVER (ORDER BY l.id) - l.size AS before FROM (
                SELECT j.id, j.partner_id, j.status, j.created_at, j.completed_at, CASE p_what WHEN 'parts' THEN (
                    SELECT coalesce(sum(p.size), 0) FROM insp.part p WHERE p.job_id = j.id AND p.bytes IS NOT NULL)
                    ELSE 0 END AS size
                FROM insp.job j WHERE j.id >= start ORDER BY j.id LIMIT p_limit) l) w
        WHERE w.before < 67108864
    ), old AS MATERIALIZED (
        -- Up to the first one that is too young even if it had ended at once.
        SELECT g.*, g.status = 128 AND g.completed_at <= now() - p_keep AS is_due
        FROM page g JOIN insp.partner p ON p.id = g.partner_id
            AND CASE p_what WHEN 'parts' THEN p.keep_parts ELSE p.keep_results END = p_keep
        WHERE g.id < coalesce((SELECT min(y.id) FROM page y WHERE y.created_at > now() - p_keep), 9223372036854775807)
    ), later AS (
        INSERT INTO insp.purge_later (look_at, what, job_id)
        SELECT coalesce(o.completed_at + p_keep, now() + least(p_keep, interval '1 day')), p_what, o.id
        FROM old o WHERE NOT o.is_due
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(o.id) FILTER (WHERE o.is_due),
        (SELECT coalesce(min(y.id) FILTER (WHERE y.created_at > now() - p_keep), max(y.id) + 1) FROM page y)
    INTO due, reached FROM old o;
    more := EXISTS (SELECT FROM (SELECT j.created_at FROM insp.job j WHERE j.id >= reached ORDER BY j.id LIMIT 1) n
        WHERE n.created_at <= now() - p_keep);
    removed := 0;
    IF due IS NOT NULL THEN
        removed := CASE p_what WHEN 'parts' THEN insp.remove_parts(due) ELSE insp.remove_results(due, 'purgedAt') END;
    END IF;
    UPDATE insp.retention_cursor c SET next_id = reached
    WHERE c.what = p_what AND c.keep = p_keep AND reached > c.next_id;
END
$$;
COMMENT ON FUNCTION insp.purge_class(text, interval, integer) IS
    'Walks on over up to p_limit jobs for the partners that keep parts (or results) so long; returns of how many jobs it removed them, and whether more wait';

CREATE FUNCTION insp.purge_late(p_limit integer, OUT parts integer, OUT results integer, OUT walked integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    part_jobs bigint[];
    result_jobs bigint[];
BEGIN
    WITH due AS MATERIALIZED (
        SELECT l.ctid AS row FROM insp.purge_later l WHERE l.look_at <= now()
        ORDER BY l.look_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM insp.purge_later l WHERE l.ctid = ANY (ARRAY(SELECT d.row FROM due d)) RETURNING l.what, l.job_id
    ), judged AS MATERIALIZED (
        -- A job that went with its partition is found no more, and forgotten.
        SELECT t.what, t.job_id, j.completed_at, k.keep, j.status = 128 AND j.completed_at <= now() - k.keep AS is_due
        FROM taken t JOIN insp.job j ON j.id = t.job_id JOIN insp.partner p ON p.id = j.partner_id,
            LATERAL (SELECT CASE t.what WHEN 'parts' THEN p.keep_parts ELSE p.keep_results END AS keep) k
    ), again AS (
        INSERT INTO insp.purge_later (look_at, what, job_id)
        SELECT coalesce(g.completed_at + g.keep, now() + least(g.keep, interval '1 day')), g.what, g.job_id
        FROM judged g WHERE NOT g.is_due
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(g.job_id) FILTER (WHERE g.is_due AND g.what = 'parts'),
        array_agg(g.job_id) FILTER (WHERE g.is_due AND g.what = 'results'), (SELECT count(*) FROM taken)
    INTO part_jobs, result_jobs, walked FROM judged g;
    parts := CASE WHEN part_jobs IS NULL THEN 0 ELSE insp.remove_parts(part_jobs) END;
    results := CASE WHEN result_jobs IS NULL THEN 0 ELSE insp.remove_results(result_jobs, 'purgedAt') END;
END
$$;
COMMENT ON FUNCTION insp.purge_late(integer) IS 'Looks again at jobs that were not of age when a cursor passed them';

CREATE FUNCTION insp.callback_delivered_at(c insp.callback) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- Of endpoint_id and claim_id the leases' index needs the first: an endpoint has few.
    IF EXISTS (SELECT FROM insp.callback_waiting w WHERE w.callback_id = c.id)
        OR EXISTS (SELECT FROM insp.callback_lease l WHERE l.endpoint_id = c.endpoint_id AND l.callback_id = c.id) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT max(a.started_at + a.duration_ms * interval '1 millisecond') FROM insp.callback_attempt a
        WHERE a.callback_id = c.id AND a.error IS NULL), c.created_at);
END
$$;
COMMENT ON FUNCTION insp.callback_delivered_at(insp.callback) IS 'When a callback was delivered; null: it is still to be, or was given up';

CREATE FUNCTION insp.remove_callbacks(p_ids bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked constant bigint[] := ARRAY(SELECT c.id FROM insp.callback c WHERE c.id = ANY (p_ids) FOR UPDATE SKIP LOCKED);
    removed integer;
BEGIN
    -- A new statement sees a replay that came before the lock; one that comes after it waits, and finds nothing.
    DELETE FROM insp.callback c WHERE c.id = ANY (locked) AND insp.callback_delivered_at(c) IS NOT NULL;
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM insp.callback_attempt a WHERE a.callback_id = ANY (locked)
        AND NOT EXISTS (SELECT FROM insp.callback c WHERE c.id = a.callback_id);
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.remove_callbacks(bigint[]) IS 'Removes those of the given callbacks that are delivered, with their attempts; returns how many';

CREATE FUNCTION insp.purge_callbacks(p_limit integer, OUT removed integer, OUT walked integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    horizon constant timestamptz := now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'callbacks');
    start bigint;
    reached bigint;
    due bigint[];
BEGIN
    INSERT INTO insp.retention_cursor (what) VALUES ('callbacks') ON CONFLICT DO NOTHING;
    SELECT c.next_id INTO start FROM insp.retention_cursor c WHERE c.what = 'callbacks' FOR UPDATE;
    SELECT array_agg(g.id) FILTER (WHERE g.is_due), count(*) FILTER (WHERE g.created_at <= horizon),
        -- Round and round: what was not delivered the last time may be now. What is left after a round is little.
        CASE WHEN count(*) = p_limit AND max(g.created_at) <= horizon THEN max(g.id) + 1 ELSE 0 END
    INTO due, walked, reached
    FROM (
        SELECT c.id, c.created_at, CASE WHEN c.created_at <= horizon THEN insp.callback_delivered_at(c) <= horizon END AS is_due
        FROM insp.callback c WHERE c.id >= start ORDER BY c.id LIMIT p_limit) g;
    removed := insp.remove_callbacks(due);
    UPDATE insp.retention_cursor c SET next_id = reached WHERE c.what = 'callbacks' AND c.next_id <> reached;
    IF reached = 0 THEN
        walked := 0;
    END IF;
END
$$;
COMMENT ON FUNCTION insp.purge_callbacks(integer) IS
    'Removes delivered callbacks that have come of age, with their attempts, among the next p_limit; returns how many, and how many it passed';

-- Partitions --------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.drop_history(p_limit integer DEFAULT 100000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- Whoever waits for a table's lock makes everybody after it wait as well, so this waits next to nothing; it comes again.
SET lock_timeout = '50ms' SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    width constant bigint := 5000000;
    lowest bigint;
    start bigint;
    reached bigint;
    blocked boolean;
    horizon timestamptz;
    suffix text;
BEGIN
    SELECT min(substring(c.relname FROM 'job_p([0-9]+)$')::bigint) * width INTO lowest
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    -- Only what can get no new job. A producer that took its number and is still not done is younger than any limit.
    IF lowest IS NULL OR (SELECT s.last_value FROM insp.job_id s) < lowest + width THEN
        RETURN 0;
    END IF;
    SELECT now() - greatest(
        (SELECT max(r.keep) FROM insp.retention r WHERE r.what IN ('events', 'idempotency_keys')),
        (SELECT max(greatest(p.keep_parts, p.keep_results)) FROM insp.partner p)) INTO horizon;
    INSERT INTO insp.retention_cursor (what) VALUES ('partitions') ON CONFLICT DO NOTHING;
    SELECT greatest(c.next_id, lowest) INTO start FROM insp.retention_cursor c WHERE c.what = 'partitions' FOR UPDATE;
    -- Each job is looked at once: one that was finished and old stays so. A job that is not stops the walk until it is.
    SELECT max(g.id) + 1, bool_or(NOT g.over), min(g.id) FILTER (WHERE NOT g.over) INTO reached, blocked, start
    FROM (
        SELECT j.id, j.status = 128 AND j.completed_at <= horizon AS over FROM insp.job j
        WHERE j.id >= start AND j.id < lowest + width ORDER BY j.id LIMIT p_limit) g;
    IF blocked OR reached IS NOT NULL THEN
        UPDATE insp.retention_cursor c SET next_id = coalesce(start, reached) WHERE c.what = 'partitions';
    END IF;
    -- Nothing was left to look at: the whole partition is over.
    IF reached IS NOT NULL THEN
        RETURN 0;
    END IF;
    suffix := lpad((lowest / width)::text, 6, '0');
    BEGIN
        -- All locks or none; if not all, the inner block's end gives back what it got.
        LOCK TABLE insp.job, insp.part, insp.step, insp.event IN ACCESS EXCLUSIVE MODE;
        EXECUTE format('DROP TABLE insp.job_p%1$s, insp.part_p%1$s, insp.step_p%1$s, insp.event_p%1$s', suffix);
        DELETE FROM insp.dead d WHERE d.job_id >= lowest AND d.job_id < lowest + width;
        PERFORM insp.record('drop_history', format('jobs %s to %s', lowest, lowest + width - 1));
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        RETURN 0;
    END;
    RETURN 1;
END
$$;
COMMENT ON FUNCTION insp.drop_history(integer) IS
    'Drops the oldest partition of jobs, parts, steps and events once every job in it is finished and older than every limit. Looks at up to p_limit jobs a call; returns 1 if it dropped one';

CREATE FUNCTION insp.purge(
    p_limit integer DEFAULT 1000,
    OUT parts integer, OUT results integer, OUT keys integer, OUT callbacks integer, OUT partitions integer, OUT more boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    class record;
    done record;
BEGIN
    -- One call at a time, and no change of the times between its statements.
    PERFORM FROM insp.retention_cursor c ORDER BY c.what, c.keep FOR UPDATE;
    SELECT * INTO done FROM insp.purge_late(p_limit);
    parts := done.parts;
    results := done.results;
    more := done.walked >= p_limit;
    FOR class IN
        SELECT 'parts' AS what, p.keep_parts AS keep FROM insp.partner p
        UNION SELECT 'results', p.keep_results FROM insp.partner p
    LOOP
        SELECT * INTO done FROM insp.purge_class(class.what, class.keep, p_limit);
        IF class.what = 'parts' THEN parts := parts + done.removed; ELSE results := results + done.removed; END IF;
        more := more OR done.more;
    END LOOP;
    SELECT * INTO done FROM insp.purge_callbacks(p_limit);
    callbacks := done.removed;
    more := more OR done.walked >= p_limit;
    DELETE FROM insp.job_key k WHERE k.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.job_key x
        WHERE x.created_at <= now() - (SELECT r.keep FROM insp.retention r WHERE r.what = 'idempotency_keys')
        ORDER BY x.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS keys = ROW_COUNT;
    more := more OR keys >= p_limit;
    DELETE FROM insp.operator_event o WHERE o.id = ANY (ARRAY(
        SELECT x.id FROM (SELECT y.id, y.at FROM insp.operator_event y ORDER BY y.id LIMIT p_limit) x
        WHERE x.at <= now() - greatest(interval '366 days',
            (SELECT r.keep FROM insp.retention r WHERE r.what = 'operator_events'))));
    IF parts + results + keys + callbacks > 0 THEN
        PERFORM insp.record('purge', 'retention',
            jsonb_build_object('parts', parts, 'results', results, 'keys', keys, 'callbacks', callbacks));
    END IF;
    -- Last: from here to the commit nobody else can use the tables.
    partitions := insp.drop_history();
END
$$;
COMMENT ON FUNCTION insp.purge(integer) IS
    'Retention, run by maintenance: removes what has come of age, looking at no more than p_limit jobs for each time that something is kept. Returns how many jobs'' parts and results, keys, callbacks and partitions it removed, and whether more may wait';

CREATE FUNCTION insp.erase(id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    job insp.job;
BEGIN
    SELECT * INTO job FROM insp.job j WHERE j.public_id = erase.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    ELSIF job.status < 128 THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED', 'insp.cancel it first');
    END IF;
    IF EXISTS (SELECT FROM insp.step s WHERE s.job_id = job.id AND s.output ? 'erasedAt') THEN
        RETURN false;
    END IF;
    DELETE FROM insp.part p WHERE p.job_id = job.id;
    DELETE FROM insp.step s WHERE s.job_id = job.id AND s.status < 128;
    UPDATE insp.step s SET output = jsonb_build_object('erasedAt', insp.iso_time(clock_timestamp()))
    WHERE s.job_id = job.id AND s.status = 128;
    -- References may name a person too.
    UPDATE insp.job j SET callback_url = NULL, traceparent = NULL,
        payload = jsonb_build_object('partner', j.payload -> 'partner', 'workflow', j.payload -> 'workflow')
    WHERE j.id = job.id;
    -- A callback that is still to be delivered stays until it is: its partner must learn that the job has ended.
    PERFORM insp.remove_callbacks(ARRAY(SELECT c.id FROM insp.callback c WHERE c.job_id = job.id));
    UPDATE insp.callback c SET traceparent = NULL WHERE c.job_id = job.id AND c.traceparent IS NOT NULL;
    PERFORM insp.record('erase', erase.id::text);
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.erase(uuid) IS
    'Removes a finished job''s parts, results and references at once; that it existed and when it ended stays. A rerun is a job of its own and is erased by its own id. false: it was erased before';

-- What is shown -----------------------------------------------------------------------------------------------------------

COMMENT ON FUNCTION insp.job_result(uuid) IS
    'The result document of a job. Its results are valid only once status is 128; before that it says how far the job is. Results that retention removed are replaced by purgedAt, those of a person''s right by erasedAt';

CREATE OR REPLACE VIEW insp.v_partner AS
SELECT p.id, p.name, p.enabled, p.paused, insp.lane_name(p.lane) AS lane, coalesce(g.name, 'any') AS region,
    (SELECT count(*) FROM (
        SELECT FROM insp.queue q LEFT JOIN insp.v_floor f ON f.queue = q.id CROSS JOIN LATERAL (
            SELECT FROM insp.ready r WHERE r.queue = q.id AND r.seq >= coalesce(f.seq, 0) LIMIT 100001) y
        WHERE q.partner_id = p.id LIMIT 100001) w) AS waiting,
    (SELECT count(*) FROM insp.lease l JOIN insp.queue q ON q.id = l.queue WHERE q.partner_id = p.id) AS running,
    p.max_running, p.rate_per_second,
    (SELECT count(*) FROM insp.dead d JOIN insp.job j ON j.id = d.job_id
        WHERE j.partner_id = p.id AND d.resolved_at IS NULL) AS given_up,
    (SELECT count(*) FROM insp.endpoint e WHERE e.partner_id = p.id AND e.enabled) AS endpoints,
    p.pause_reason, p.rate_burst, p.review,
    (SELECT count(*) FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id
        WHERE j.partner_id = p.id AND j.status = 64) AS in_review,
    p.keep_parts, p.keep_results
FROM insp.partner p LEFT JOIN insp.region g ON g.id = p.region;
COMMENT ON COLUMN insp.v_partner.pause_reason IS 'Why nothing of it is claimed (insp.pause)';
COMMENT ON COLUMN insp.v_partner.rate_burst IS 'Jobs that may start at once after a quiet time (insp.limit_partner)';
COMMENT ON COLUMN insp.v_partner.review IS 'Which decisions wait for a review: never, rejected, warning, always';
COMMENT ON COLUMN insp.v_partner.in_review IS 'Jobs that wait for insp.review';
COMMENT ON COLUMN insp.v_partner.keep_parts IS 'How long parts are kept (insp.set_retention)';
COMMENT ON COLUMN insp.v_partner.keep_results IS 'How long results are kept';

GRANT EXECUTE ON FUNCTION insp.purge(integer), insp.drop_history(integer) TO insp_worker, insp_operator;
GRANT EXECUTE ON FUNCTION insp.erase(uuid), insp.set_retention(text, interval, interval, text, interval) TO insp_operator;
