-- Everything that grows with history is in partitions by job id: created ahead of need, dropped when all their jobs are over.

CREATE OR REPLACE FUNCTION insp.ensure_partitions(p_ahead bigint DEFAULT 15000000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    width constant bigint := 5000000;
    lower bigint;
    target bigint;
    made integer := 0;
    name text;
    options text;
BEGIN
    SELECT last_value + p_ahead INTO target FROM insp.job_id;
    SELECT coalesce(max(substring(c.relname FROM 'job_p([0-9]+)$')::bigint + 1), 0) * width INTO lower
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    WHILE lower <= target LOOP
        -- One at a time, even if many workers start at once; the others find the work done. A row, not an advisory lock, which any
        -- login could hold for ever.
        PERFORM FROM insp.duty d WHERE d.name = 'partitions' FOR UPDATE;
        FOREACH name IN ARRAY ARRAY['job', 'part', 'content', 'step', 'event'] LOOP
            IF to_regclass(format('insp.%s_p%s', name, lpad((lower / width)::text, 6, '0'))) IS NOT NULL THEN
                CONTINUE;
            END IF;
            options := CASE name
                WHEN 'job' THEN ' WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000)'
                ELSE ' WITH (autovacuum_vacuum_insert_scale_factor = 0.2)' END;
            -- Attached rather than created as a partition: that locks the parent against neither readers nor writers.
            EXECUTE format('CREATE TABLE insp.%1$s_p%2$s (LIKE insp.%1$s INCLUDING DEFAULTS INCLUDING CONSTRAINTS)%3$s',
                name, lpad((lower / width)::text, 6, '0'), options);
            IF name = 'content' THEN
                -- Images are already compressed.
                EXECUTE format('ALTER TABLE insp.content_p%s ALTER COLUMN bytes SET STORAGE EXTERNAL',
                    lpad((lower / width)::text, 6, '0'));
            END IF;
            EXECUTE format('ALTER TABLE insp.%1$s ATTACH PARTITION insp.%1$s_p%2$s FOR VALUES FROM (%3$s) TO (%4$s)',
                name, lpad((lower / width)::text, 6, '0'), lower, lower + width);
            EXECUTE format('COMMENT ON TABLE insp.%s_p%s IS %L', name, lpad((lower / width)::text, 6, '0'),
                format('Partition of insp.%s: job ids from %s to %s', name, lower, lower + width - 1));
            made := made + 1;
        END LOOP;
        lower := lower + width;
    END LOOP;
    RETURN made;
END
$$;
COMMENT ON FUNCTION insp.ensure_partitions(bigint) IS
    'Creates the partitions for this many job ids ahead and returns how many tables it created; maintenance calls it';
GRANT EXECUTE ON FUNCTION insp.ensure_partitions(bigint) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.ensure_partitions_late() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    -- Maintenance is ten million ids ahead of this. A producer that creates partitions holds their duty until it commits.
    PERFORM insp.ensure_partitions(5000000);
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    -- The next million ids try again, and until the fifth there is room.
    NULL;
END
$$;
COMMENT ON FUNCTION insp.ensure_partitions_late() IS
    'Creates partitions if less than one is left, so that producers do not depend on maintenance; does nothing if a table is locked';

CREATE OR REPLACE FUNCTION insp.sample_nothing() RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    place record;
    changed integer := 0;
BEGIN
    -- Statistics contain values. No plan needs those of these columns; a table that already has some keeps collecting them, since
    -- nothing else would replace them.
    FOR place IN
        SELECT c.oid::regclass AS name, string_agg(format('ALTER COLUMN %I SET STATISTICS 0', a.attname), ', ') AS changes
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            JOIN (VALUES ('job', 'request'), ('job', 'personal'),
                ('job', 'consent_proof'), ('person', 'reference_index'), ('job_reference', 'index'),
                ('job', 'traceparent'), ('part', 'location'),
                ('part', 'sha256'), ('content', 'bytes'), ('step', 'summary'), ('step', 'body'),
                ('callback', 'url'), ('callback', 'traceparent'), ('callback_attempt', 'error'), ('callback_waiting', 'reason'), ('dead', 'detail'),
                ('record', 'words'), ('job_key', 'key'), ('job_key', 'request_sha256'), ('face_rate', 'face_id'),
                ('face', 'face_id'), ('face_job', 'face_id'), ('face_named', 'face_id'), ('face_pending', 'face_id'),
                ('face_pending', 'embedding'), ('face_template', 'face_id'), ('face_template', 'embedding'),
                ('callback_waiting', 'ordering_key'), ('callback_lease', 'ordering_key'), ('job', 'sealed'), ('secret', 'value')) AS w (name, field)
            ON a.attname = w.field AND c.relname ~ ('^' || w.name || '(_p[0-9]+)?$')
        WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p') AND a.attstattarget <> 0
            AND NOT EXISTS (SELECT FROM pg_stats s
                WHERE s.schemaname = 'insp' AND s.tablename = c.relname AND s.attname = a.attname)
        GROUP BY c.oid
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE ONLY %s %s', place.name, place.changes);
            changed := changed + 1;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL;
        END;
    END LOOP;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION insp.sample_nothing() IS
    'Keeps personal data and secrets out of the planner''s statistics (ANALYZE), in partitions created since the last call as well; returns the number of tables whose setting it changed';

CREATE OR REPLACE FUNCTION insp.is_content_needed(p_from bigint, p_before bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT EXISTS (SELECT FROM insp.rerun r, LATERAL (
            SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[r.job_id]) AND p.content_id IS NOT NULL LIMIT 1) p
        WHERE r.first_id >= p_from AND r.first_id < p_before AND r.job_id >= p_before)
$$;
COMMENT ON FUNCTION insp.is_content_needed(bigint, bigint) IS
    'Whether later reruns refer to bytes of the jobs numbered from p_from to before p_before';

CREATE OR REPLACE FUNCTION insp.is_retention_done(p_from bigint, p_before bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT NOT EXISTS (SELECT FROM insp.retention_classes() k
            LEFT JOIN insp.retention_cursor c ON c.what = k.what AND c.keep = k.keep, LATERAL (
            SELECT FROM insp.job j WHERE j.id >= greatest(p_from, c.next_id) AND j.id < p_before LIMIT 1) j)
        AND NOT EXISTS (SELECT FROM insp.purge_later l
            WHERE l.what IN ('parts', 'results', 'references') AND l.job_id >= p_from AND l.job_id < p_before)
        AND NOT EXISTS (SELECT FROM insp.job_key k WHERE k.job_id >= p_from AND k.job_id < p_before)
$$;
COMMENT ON FUNCTION insp.is_retention_done(bigint, bigint) IS
    'Whether retention is done with all jobs from one number to before another: passed by the cursor of each period, none recorded for later, no key left';

CREATE OR REPLACE FUNCTION insp.drop_history(p_limit integer DEFAULT 100000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- Waiting for a table's lock makes all later requests wait too, so this hardly waits; it runs again.
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
    PERFORM insp.need_read_committed();
    SELECT min(substring(c.relname FROM 'job_p([0-9]+)$')::bigint) * width INTO lowest
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'insp.job'::regclass;
    -- Only a partition that can get no new job, including from a producer that drew its number and is still open.
    IF lowest IS NULL OR (SELECT s.last_value FROM insp.job_id s) < lowest + width
        OR insp.purge_horizon('job') < lowest + width - 1 THEN
        RETURN 0;
    END IF;
    SELECT now() - greatest(
        (SELECT max(r.keep) FROM insp.retention r WHERE r.what IN ('events', 'idempotency_keys')),
        (SELECT max(greatest(p.keep_parts, p.keep_results, p.keep_references)) FROM insp.partner p)) INTO horizon;
    INSERT INTO insp.retention_cursor (what) VALUES ('partitions') ON CONFLICT DO NOTHING;
    SELECT greatest(c.next_id, lowest) INTO start FROM insp.retention_cursor c WHERE c.what = 'partitions' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Each job is read once: one that is finished and old stays so, and one that is not stops the walk until it is.
    SELECT max(g.id) + 1, bool_or(NOT g.over), min(g.id) FILTER (WHERE NOT g.over) INTO reached, blocked, start
    FROM (
        SELECT j.id, j.status = 128 AND j.completed_at <= horizon AS over FROM insp.job j
        WHERE j.id >= start AND j.id < lowest + width ORDER BY j.id LIMIT p_limit) g;
    IF blocked OR reached IS NOT NULL THEN
        UPDATE insp.retention_cursor c SET next_id = coalesce(start, reached) WHERE c.what = 'partitions';
    END IF;
    -- No job was left to read: the whole partition is over, unless later reruns still need bytes of its jobs. Data of its jobs
    -- elsewhere (persons, texts) could not be found without them, so it is removed first, job by job.
    IF reached IS NOT NULL OR insp.is_content_needed(lowest, lowest + width)
        OR NOT insp.is_retention_done(lowest, lowest + width) THEN
        RETURN 0;
    END IF;
    suffix := lpad((lowest / width)::text, 6, '0');
    BEGIN
        -- All locks or none; otherwise the end of the inner block releases those it got.
        LOCK TABLE insp.job, insp.part, insp.content, insp.step, insp.event IN ACCESS EXCLUSIVE MODE;
        -- A rerun that was under way has ended by now.
        IF insp.is_content_needed(lowest, lowest + width) THEN
            RETURN 0;
        END IF;
        EXECUTE format('DROP TABLE insp.job_p%1$s, insp.part_p%1$s, insp.content_p%1$s, insp.step_p%1$s, insp.event_p%1$s',
            suffix);
        DELETE FROM insp.dead d WHERE d.job_id >= lowest AND d.job_id < lowest + width;
        DELETE FROM insp.rerun r WHERE r.job_id >= lowest AND r.job_id < lowest + width;
        PERFORM insp.record('drop_history', format('jobs %s to %s', lowest, lowest + width - 1));
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        RETURN 0;
    WHEN dependent_objects_still_exist THEN
        -- Somebody's own view or foreign key: the rest of retention goes on. A time in the future: the clock was set back.
        UPDATE insp.retention_cursor c SET warned_at = now()
        WHERE c.what = 'partitions' AND NOT coalesce(c.warned_at BETWEEN now() - interval '1 day' AND now(), false);
        IF FOUND THEN
            RAISE LOG 'inspectd: partition % of insp.job cannot be dropped: something depends on it', suffix;
        END IF;
        RETURN 0;
    END;
    RETURN 1;
END
$$;
COMMENT ON FUNCTION insp.drop_history(integer) IS
    'Drops the oldest partition of jobs, parts, their bytes, steps and events once every job in it is finished and older than every period, insp.purge has passed it, and no rerun needs its bytes. Reads up to p_limit jobs a call; returns 1 if it dropped one';
GRANT EXECUTE ON FUNCTION insp.drop_history(integer) TO insp_operator;

-- The first partitions, in a new database; later ones are a duty of maintenance.
DO 'BEGIN PERFORM insp.ensure_partitions(), insp.sample_nothing(); END';
