-- After: gateway_jobs
-- Monthly counts of finished jobs, added up from the order of events: settlement pays nothing for them, and each job is counted once.

CREATE OR REPLACE FUNCTION insp.count_usage(p_limit integer DEFAULT 2000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    started constant timestamptz := clock_timestamp();
    c insp.usage_cursor;
    read integer;
    reached bigint[];
    until timestamptz;
BEGIN
    PERFORM insp.require(p_limit BETWEEN 1 AND 1000000, 'p_limit', 'p_limit is 1 to 1000000.');
    -- One at a time.
    SELECT * INTO c FROM insp.usage_cursor x FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH batch AS MATERIALIZED (
        SELECT b.epoch, b.position, b.at, b.kind, b.jobs FROM insp.event_batch b
        WHERE b.position IS NOT NULL AND (b.epoch, b.position) > (c.epoch, c.position)
        ORDER BY b.epoch, b.position LIMIT p_limit
    ), counted AS (
        INSERT INTO insp.usage_count AS u (partner_id, month, workflow, decision, error, jobs)
        SELECT j.partner_id, date_trunc('month', j.completed_at AT TIME ZONE 'UTC')::date, j.workflow,
            coalesce(e.detail ->> 'decision', 'ERASED'), coalesce(e.detail ->> 'error', ''), count(*)
        -- One by one: a plan from when the tables were empty reads all of them.
        FROM batch b CROSS JOIN LATERAL unnest(b.jobs) AS t (job)
            CROSS JOIN LATERAL (SELECT x.partner_id, x.workflow, x.completed_at FROM insp.job x
                WHERE x.id = ANY (ARRAY[t.job]) OFFSET 0) j
            CROSS JOIN LATERAL (SELECT x.detail FROM insp.event x
                WHERE x.job_id = ANY (ARRAY[t.job]) AND x.kind = 'finished' AND x.fence = 0 OFFSET 0) e
        WHERE b.kind = 'finished' AND j.completed_at IS NOT NULL
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (partner_id, month, workflow, decision, error) DO UPDATE SET jobs = u.jobs + excluded.jobs
    )
    SELECT count(*), (array_agg(ARRAY[b.epoch, b.position] ORDER BY b.epoch DESC, b.position DESC))[1:1], max(b.at)
    INTO read, reached, until FROM batch b;
    -- Written even if there was nothing: it says that nothing is missing.
    UPDATE insp.usage_cursor x SET epoch = coalesce(reached[1][1], x.epoch), position = coalesce(reached[1][2], x.position),
        counted_to = CASE WHEN read < p_limit THEN started ELSE until END
    WHERE read > 0 OR x.counted_to IS NULL OR x.counted_to < started - interval '10 seconds';
    RETURN read;
END
$$;
COMMENT ON FUNCTION insp.count_usage(integer) IS
    'Adds jobs finished since the last call to insp.usage_count; maintenance calls it. Returns how many statements'' events it read';
GRANT EXECUTE ON FUNCTION insp.count_usage(integer) TO insp_worker;

CREATE OR REPLACE FUNCTION insp.usage(p_partner text, p_since date, p_until date)
RETURNS TABLE (month date, workflow text, decision text, error text, jobs bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM insp.require(p_since >= '2000-01-01' AND p_since <= p_until AND p_until <= '9999-12-31', 'p_since or p_until',
        'Both are dates from 2000-01-01 to 9999-12-31, p_since not after p_until.');
    RETURN QUERY
    SELECT u.month, u.workflow, u.decision, nullif(u.error, ''), u.jobs FROM insp.usage_count u
    WHERE u.partner_id = insp.partner_number(p_partner) AND u.month BETWEEN date_trunc('month', p_since::timestamp)::date AND p_until
    ORDER BY u.month, u.workflow, u.decision, u.error;
END
$$;
COMMENT ON FUNCTION insp.usage(text, date, date) IS
    'How many of a partner''s jobs were finished in each month (UTC) from that of p_since to that of p_until, by workflow, decision (ERASED: erased before it was counted) and error code. Up to half a minute old (insp.usage_cursor)';
GRANT EXECUTE ON FUNCTION insp.usage(text, date, date) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.gateway_usage(p_credential bigint, p_secret_sha256 bytea, p_month text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number constant integer := insp.gateway_partner(p_credential, p_secret_sha256, 'read');
    asked constant text := coalesce(p_month, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'));
    first_day date;
BEGIN
    PERFORM insp.require(asked ~ '^[12][0-9]{3}-(0[1-9]|1[0-2])$', 'month', 'A month is a year and a month, such as 2026-01.', p_field => 'month');
    first_day := (asked || '-01')::date;
    PERFORM insp.record_access(p_credential, 'usage', 'read', NULL, jsonb_build_object('month', asked));
    RETURN (
        SELECT jsonb_strip_nulls(jsonb_build_object('month', asked,
            'countedTo', (SELECT insp.iso_time(c.counted_to) FROM insp.usage_cursor c),
            'total', coalesce(sum(u.jobs), 0),
            'counts', coalesce(jsonb_agg(jsonb_build_object('workflow', u.workflow, 'decision', u.decision,
                'error', nullif(u.error, ''), 'jobs', u.jobs) ORDER BY u.workflow, u.decision, u.error), '[]')))
        FROM insp.usage_count u WHERE u.partner_id = number AND u.month = first_day);
END
$$;
COMMENT ON FUNCTION insp.gateway_usage(bigint, bytea, text) IS 'insp.usage of a month for a credential''s partner; null: of this month';
GRANT EXECUTE ON FUNCTION insp.gateway_usage(bigint, bytea, text) TO insp_gateway;
