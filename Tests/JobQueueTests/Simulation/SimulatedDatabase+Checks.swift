import Foundation

/// What must hold after every action.
extension SimulatedDatabase {
    static let checks = """
        CREATE TABLE fake.seen (job_id bigint PRIMARY KEY, status smallint, lease_fence bigint, fence bigint,
            claimed bigint, run_at timestamptz, crashes smallint, after_fence bigint);
        -- Limits, and the last fence before each was set.
        CREATE TABLE fake.seen_limit (partner_id integer PRIMARY KEY, max_running integer, fence bigint);
        CREATE TABLE fake.seen_step (job_id bigint, status smallint, fence bigint, output jsonb, PRIMARY KEY (job_id, status));
        CREATE TABLE fake.seen_event (job_id bigint, kind text, fence bigint, PRIMARY KEY (job_id, kind, fence));
        CREATE TABLE fake.read_event (epoch bigint, position bigint, PRIMARY KEY (epoch, position));

        CREATE FUNCTION fake.reset() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica AS $$
        DECLARE
            name text;
        BEGIN
            FOREACH name IN ARRAY ARRAY['insp.job', 'insp.part', 'insp.content', 'insp.step', 'insp.event', 'insp.ready', 'insp.lease',
                'insp.delayed', 'insp.expiry', 'insp.worker', 'insp.dead', 'insp.job_key', 'insp.person', 'insp.job_reference', 'insp.callback', 'insp.callback_waiting',
                'insp.callback_lease', 'insp.review_wait', 'insp.event_batch', 'fake.seen', 'fake.seen_limit',
                'fake.seen_step', 'fake.seen_event', 'fake.read_event', 'fake.last_beat', 'fake.copied']
            LOOP
                EXECUTE 'DELETE FROM ' || name;
            END LOOP;
            UPDATE insp.control SET paused = false WHERE paused;
            UPDATE insp.partner SET paused = false, max_running = NULL, rate_per_second = NULL, rate_burst = NULL
            WHERE paused OR max_running IS NOT NULL OR rate_per_second IS NOT NULL;
            DELETE FROM insp.partner_tokens;
            DELETE FROM insp.queue;
            UPDATE insp.event_cursor SET epoch = 0, position = 0, next_xid = '0', open_xids = '{}';
            PERFORM fake.restart_server();
            PERFORM setval('fake.clock', 1800000000000000), setval('fake.started', 1700000000000000),
                setval('insp.queue_id_seq', 1, false), setval('insp.job_id', 1000), setval('insp.ready_seq', 1000), setval('insp.fence', 1000);
        END $$;

        CREATE FUNCTION fake.violations() RETURNS SETOF text LANGUAGE plpgsql AS $$
        BEGIN
            -- A reader of events, whatever the others keep open. Another server is for the actors to notice.
            IF EXISTS (SELECT FROM insp.epoch e WHERE e.started_at = fake.pg_postmaster_start_time()
                AND e.recovered_at = fake.pg_stat_get_bgwriter_stat_reset_time()
                AND e.timeline = substr(fake.pg_walfile_name('0/0'), 1, 8))
            THEN
                PERFORM insp.number_events();
                INSERT INTO fake.read_event SELECT a.epoch, a.position
                FROM (SELECT coalesce(max(r.epoch), 0) AS epoch FROM fake.read_event r) l,
                    LATERAL (SELECT coalesce(max(r.position), 0) AS position FROM fake.read_event r WHERE r.epoch = l.epoch) p,
                    LATERAL insp.events_after(l.epoch, p.position) a;
                RETURN QUERY SELECT format('of %s events %s were read', e.count, r.count)
                FROM (SELECT count(*) FROM insp.event) e, (SELECT count(*) FROM fake.read_event) r WHERE e.count <> r.count;
            END IF;
            INSERT INTO fake.seen_limit AS s SELECT p.id, p.max_running, f.last_value FROM insp.partner p, insp.fence f
            ON CONFLICT (partner_id) DO UPDATE SET max_running = excluded.max_running, fence = excluded.fence
            WHERE s.max_running IS DISTINCT FROM excluded.max_running;
            RETURN QUERY
            WITH place AS MATERIALIZED (
                SELECT x.job_id, count(*) AS places, bool_or(x.waits) AS waits, max(x.attempt) AS attempt,
                    max(x.crashes) AS crashes, max(x.fence) AS fence, bool_or(x.waits AND x.attempt >= 8) AS spent
                FROM (
                    SELECT r.job_id, true AS waits, r.attempt, r.crashes, NULL::bigint AS fence FROM insp.ready r
                    UNION ALL SELECT l.job_id, false, l.attempt, l.crashes, l.fence FROM insp.lease l
                    UNION ALL SELECT d.job_id, NULL, d.attempt, d.crashes, NULL FROM insp.delayed d
                    UNION ALL SELECT v.job_id, NULL, 0::smallint, NULL, NULL FROM insp.review_wait v) x
                GROUP BY x.job_id
            ), ends AS MATERIALIZED (
                SELECT j.id, j.status,
                    (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') AS events,
                    (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128) AS results,
                    (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) AS callbacks
                FROM insp.job j
            ), taken AS MATERIALIZED (
                SELECT j.partner_id, l.fence, CASE WHEN s.lease_fence = l.fence THEN s.after_fence END AS after_fence
                FROM insp.worker w JOIN insp.lease l ON l.worker_id = w.id AND l.fence >= w.fence_floor
                    JOIN insp.job j ON j.id = l.job_id LEFT JOIN fake.seen s ON s.job_id = l.job_id
            ), erased AS MATERIALIZED (
                SELECT s.job_id FROM insp.step s WHERE s.status = 128 AND s.summary ? 'erasedAt'
            )
            SELECT format('job %s: its status fell from %s to %s', j.id, s.status, j.status)
            FROM insp.job j JOIN fake.seen s ON s.job_id = j.id WHERE j.status < s.status
            UNION ALL
            SELECT format('job %s at %s has %s terminal events, %s results, %s callbacks', e.id, e.status, e.events,
                e.results, e.callbacks)
            FROM ends e WHERE (e.events, e.results) <> (e.status / 128, e.status / 128)
                OR e.callbacks <> e.status / 128 AND e.id NOT IN (SELECT x.job_id FROM erased x)
            UNION ALL
            SELECT format('job %s is erased and has stage %s or what its request named', j.id, s.status)
            FROM erased x JOIN insp.job j ON j.id = x.job_id LEFT JOIN insp.step s ON s.job_id = j.id AND s.status < 128
            WHERE s.job_id IS NOT NULL OR insp.personal(j.personal) ? 'customerInternalReference'
            UNION ALL
            SELECT format('job %s has a result of job %s', j.public_id, insp.step_document(s) ->> 'of')
            FROM insp.step s JOIN insp.job j ON j.id = s.job_id
            WHERE insp.step_document(s) ->> 'of' <> j.public_id::text
            UNION ALL
            SELECT format('job %s at %s is in %s places', j.id, j.status, coalesce(p.places, 0))
            FROM insp.job j LEFT JOIN place p ON p.job_id = j.id
            WHERE coalesce(p.places, 0) > 1 OR j.status < 128 AND coalesce(p.places, 0) = 0
            UNION ALL
            SELECT format('job %s at %s %s for a review', j.id, j.status,
                CASE WHEN w.job_id IS NULL THEN 'does not wait' ELSE 'waits' END)
            FROM insp.job j LEFT JOIN insp.review_wait w ON w.job_id = j.id
            WHERE (j.status = 64) <> (w.job_id IS NOT NULL)
            UNION ALL
            SELECT format('job %s waits or runs and does not exist', p.job_id) FROM place p
            WHERE NOT EXISTS (SELECT FROM insp.job j WHERE j.id = p.job_id)
            UNION ALL
            SELECT format('job %s: its lease got fence %s after %s', p.job_id, p.fence, s.fence)
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id
            WHERE p.fence < s.fence OR p.fence = s.fence AND s.lease_fence IS NULL
            UNION ALL
            SELECT format('job %s has attempt %s and %s crashes', p.job_id, p.attempt, p.crashes) FROM place p
            WHERE p.attempt > 8 OR p.attempt < 0 OR p.crashes > 2 OR p.spent
            UNION ALL
            SELECT format('job %s: its crashes fell from %s to %s', p.job_id, s.crashes, p.crashes)
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id WHERE p.crashes < s.crashes
            UNION ALL
            SELECT format('job %s: was to wait until %s and was let go at %s', p.job_id, s.run_at, fake.clock_timestamp())
            FROM place p JOIN fake.seen s ON s.job_id = p.job_id
            WHERE s.run_at > fake.clock_timestamp() AND (p.waits OR p.fence IS NOT NULL)
            UNION ALL
            SELECT format('job %s: stage %s changed after it was written', s.job_id, s.status)
            FROM fake.seen_step k LEFT JOIN insp.step s ON s.job_id = k.job_id AND s.status = k.status
            WHERE (s.fence, insp.step_document(s)) IS DISTINCT FROM (k.fence, k.output)
                AND k.job_id NOT IN (SELECT x.job_id FROM erased x)
            UNION ALL
            SELECT format('job %s: stage %s was written under fence %s (said to be %s) while the lease had %s', n.job_id,
                n.status, n.fence, insp.step_document(n) ->> 'by', s.lease_fence)
            FROM insp.step n LEFT JOIN fake.seen s ON s.job_id = n.job_id
            WHERE NOT EXISTS (SELECT FROM fake.seen_step k WHERE k.job_id = n.job_id AND k.status = n.status)
                AND (n.fence <> 0 AND n.fence IS DISTINCT FROM s.lease_fence OR n.fence = 0 AND n.status < 128
                    OR n.fence <> 0 AND insp.step_document(n) ->> 'by' <> n.fence::text)
            UNION ALL
            -- A limit binds claims that are made once it is set. Those count each other, and what was committed before them.
            SELECT DISTINCT format('partner %s runs more than %s jobs', m.partner_id, m.max_running)
            FROM fake.seen_limit m JOIN taken n ON n.partner_id = m.partner_id
            WHERE n.after_fence IS NULL AND n.fence > m.fence AND m.max_running < (
                SELECT count(*) FROM taken t
                WHERE t.partner_id = m.partner_id AND (t.fence > m.fence OR t.after_fence < n.fence))
            UNION ALL
            SELECT format('job %s was taken from worker %s, which lives', e.job_id, e.worker_id)
            FROM insp.event e JOIN fake.last_beat w ON w.worker_id = e.worker_id LEFT JOIN fake.seen s ON s.job_id = e.job_id
            -- In the time that really passes, whatever the database's clock says: after ten seconds of silence it has
            -- dropped its work, and its lease runs for 330.
            WHERE e.kind = 'rescued' AND w.at > e.fake_real - 10000000 AND s.claimed + 330000000 > e.fake_real
                AND s.lease_fence >= w.fence_floor
                AND NOT EXISTS (SELECT FROM fake.seen_event k WHERE (k.job_id, k.kind, k.fence) = (e.job_id, e.kind, e.fence));

            INSERT INTO fake.seen AS s (job_id, status, lease_fence, fence, claimed, run_at, crashes, after_fence)
            SELECT j.id, j.status, l.fence, coalesce(l.fence, 0), l.fake_real, d.run_at,
                coalesce(l.crashes, d.crashes, (SELECT max(r.crashes) FROM insp.ready r WHERE r.job_id = j.id), 0),
                CASE WHEN o.lease_fence = l.fence THEN o.after_fence WHEN l.fence > 0 THEN f.last_value END
            FROM insp.job j LEFT JOIN insp.lease l ON l.job_id = j.id LEFT JOIN insp.delayed d ON d.job_id = j.id
                LEFT JOIN fake.seen o ON o.job_id = j.id CROSS JOIN insp.fence f
            ON CONFLICT (job_id) DO UPDATE SET status = excluded.status, lease_fence = excluded.lease_fence,
                fence = greatest(s.fence, excluded.fence), claimed = excluded.claimed, run_at = excluded.run_at,
                crashes = excluded.crashes, after_fence = excluded.after_fence
            WHERE s IS DISTINCT FROM excluded;
            INSERT INTO fake.seen_step SELECT s.job_id, s.status, s.fence, insp.step_document(s) FROM insp.step s ON CONFLICT DO NOTHING;
            INSERT INTO fake.seen_event SELECT e.job_id, e.kind, e.fence FROM insp.event e ON CONFLICT DO NOTHING;
        END $$;
        """
}
