-- The list of cases at the console, and the next one of it. Each partner's cases are found by the index: nobody waits behind
-- another partner's cases, or learns of them.
-- After: approvals, console, console_cases

CREATE OR REPLACE FUNCTION insp.case_reasons(p_summary jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT ARRAY(SELECT DISTINCT e ->> 'label' FROM jsonb_array_elements(
        CASE jsonb_typeof(p_summary -> 'labels') WHEN 'array' THEN p_summary -> 'labels' ELSE '[]' END) e
        WHERE e ->> 'label' IS NOT NULL ORDER BY 1)
$$;
COMMENT ON FUNCTION insp.case_reasons(jsonb) IS 'The labels of a decision, which say why a case waits and identify no person';

CREATE OR REPLACE FUNCTION insp.console_sought(p_partners integer[], p_is_all boolean, p_partner text) RETURNS integer[]
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT CASE WHEN p_partner IS NOT NULL THEN
            ARRAY(SELECT p.id FROM insp.partner p WHERE p.name = p_partner AND (p_is_all OR p.id = ANY (p_partners)))
        WHEN NOT p_is_all THEN p_partners END
$$;
COMMENT ON FUNCTION insp.console_sought(integer[], boolean, text) IS
    'The person''s partners that pass a filter; null: every partner';

CREATE OR REPLACE FUNCTION insp.console_share(p_scanned integer, p_partners integer[]) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT greatest(100, p_scanned / greatest(1, coalesce(cardinality(p_partners), 1)))
$$;
COMMENT ON FUNCTION insp.console_share(integer, integer[]) IS
    'How many of the cases that one call reads may belong to one partner: an equal share, and at least 100';

CREATE OR REPLACE FUNCTION insp.console_cases(
    p_token_sha256 bytea, p_partner text DEFAULT NULL, p_reason text DEFAULT NULL, p_minutes integer DEFAULT 0,
    p_after_since_microseconds bigint DEFAULT NULL, p_after uuid DEFAULT NULL, p_limit integer DEFAULT 50
) RETURNS TABLE (id uuid, partner text, workflow text, decision text, waits_seconds double precision, remains_seconds double precision,
    because text[], holder text, is_mine boolean, since_microseconds bigint, first_by text, may_take boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    w record;
    one record;
    -- Partners whose cases are sought, each by the index; null: everybody's.
    sought integer[];
    -- Cases that one call reads, whatever the filters leave of them, and how many of them may be of one partner.
    scanned constant integer := 500;
    share integer := 500;
    seen integer := 0;
    listed integer := 0;
    from_since timestamptz := '-infinity'::timestamptz;
    from_job bigint := 0;
    last_id uuid;
    last_since_microseconds bigint;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['reviewer']);
    PERFORM insp.require(p_limit BETWEEN 1 AND 200 AND p_minutes BETWEEN 0 AND 1000000, 'limit or minutes',
        'limit is 1 to 200, minutes 0 to 1,000,000.');
    PERFORM insp.require(coalesce(p_after_since_microseconds, 0) BETWEEN 0 AND 253402300799000000, 'after', 'Begin again without after.');
    IF p_after IS NOT NULL THEN
        -- Another partner's job does not exist for the person.
        SELECT j.id INTO from_job FROM insp.job j WHERE j.public_id = p_after AND (w.is_all OR j.partner_id = ANY (w.partners));
        from_since := 'epoch'::timestamptz + p_after_since_microseconds * interval '1 microsecond';
        PERFORM insp.require(from_job IS NOT NULL AND from_since IS NOT NULL, 'after', 'Begin again without after.');
    END IF;
    sought := insp.console_sought(w.partners, w.is_all, p_partner);
    share := insp.console_share(scanned, sought);
    FOR one IN
        SELECT j.public_id, a.name, j.workflow, a.second_review, j.expires_at, x.since, s.summary, l.actor, l.until, x.decided_by, x.place
        FROM (
                (SELECT r.job_id, r.since, r.decided_by, 0::bigint AS place FROM insp.review_wait r WHERE sought IS NULL
                    AND (r.since, r.job_id) > (from_since, from_job) AND r.since <= now() - p_minutes * interval '1 minute'
                ORDER BY r.since, r.job_id LIMIT scanned + 1)
                UNION ALL
                (SELECT o.job_id, o.since, o.decided_by, row_number() OVER (PARTITION BY u.partner ORDER BY o.since, o.job_id)
                FROM unnest(sought) u (partner) CROSS JOIN LATERAL (
                    SELECT r.job_id, r.since, r.decided_by FROM insp.review_wait r WHERE r.partner_id = u.partner
                        AND (r.since, r.job_id) > (from_since, from_job) AND r.since <= now() - p_minutes * interval '1 minute'
                    ORDER BY r.since, r.job_id LIMIT share + 1) o)
                ORDER BY since, job_id LIMIT scanned + 1) x
            JOIN insp.job j ON j.id = ANY (ARRAY[x.job_id]) AND j.status = 64
            JOIN insp.partner a ON a.id = j.partner_id
            LEFT JOIN insp.step s ON s.job_id = j.id AND s.status = 64
            LEFT JOIN insp.case_lease l ON l.job_id = j.id AND l.until > now()
        ORDER BY x.since, x.job_id
    LOOP
        -- Behind a partner's last one that was read, older ones of that partner may be missing.
        IF listed = p_limit OR seen = scanned OR one.place > share THEN
            -- There may be more, after the last one that was read.
            id := last_id;
            since_microseconds := last_since_microseconds;
            partner := NULL;
            RETURN NEXT;
            EXIT;
        END IF;
        id := one.public_id;
        since_microseconds := (extract(epoch FROM one.since) * 1000000)::bigint;
        last_id := id;
        last_since_microseconds := since_microseconds;
        seen := seen + 1;
        because := insp.case_reasons(one.summary);
        -- A case may have no reason: NULL <> ALL ('{}') is true.
        CONTINUE WHEN p_reason IS NOT NULL AND p_reason <> ALL (because);
        listed := listed + 1;
        partner := one.name;
        workflow := one.workflow;
        decision := one.summary #>> '{decision,type}';
        waits_seconds := extract(epoch FROM now() - one.since);
        remains_seconds := extract(epoch FROM one.expires_at - now());
        holder := substr(one.actor, 9);
        is_mine := coalesce(one.actor = w.actor, false);
        first_by := substr(one.decided_by, 1 + CASE WHEN one.decided_by LIKE 'console:%' THEN 8 ELSE 0 END);
        may_take := (one.actor IS NULL OR is_mine)
            AND NOT (one.second_review AND coalesce(insp.is_same_person(one.decided_by, w.actor), false));
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.console_cases(bytea, text, text, integer, bigint, uuid, integer) IS
    'Cases of a reviewer''s partners, oldest first, from after one on: of a partner, with a reason, that wait for at least some minutes. first_by: who decided it first, where a second person must confirm. may_take: nobody else has it, and no second person must confirm what the caller decided. A last row without a partner is the one after which to continue: each call looks at 500 cases at most, of several partners together';
GRANT EXECUTE ON FUNCTION insp.console_cases(bytea, text, text, integer, bigint, uuid, integer) TO insp_console;

CREATE OR REPLACE FUNCTION insp.console_next(
    p_token_sha256 bytea, p_partner text DEFAULT NULL, p_reason text DEFAULT NULL, p_minutes integer DEFAULT 0
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    w record;
    one record;
    sought integer[];
    -- Names at the console that may be the same person's, of whatever issuer.
    mine text[];
    -- Partners whose cases two people decide.
    doubled integer[];
    -- Cases that one call reads, of those that the person may take. Without a reason, the first one is enough: others are for
    -- those that somebody takes at this moment.
    scanned constant integer := CASE WHEN p_reason IS NULL THEN 100 ELSE 5000 END;
    share integer;
    wanted constant jsonb := jsonb_build_object('labels', jsonb_build_array(jsonb_build_object('label', p_reason)));
    -- Rows that one call reads to find those, of one partner.
    depth integer;
    latest timestamptz;
BEGIN
    SELECT * INTO w FROM insp.console_who(p_token_sha256, ARRAY['reviewer']);
    PERFORM insp.require(p_minutes BETWEEN 0 AND 1000000, 'minutes', 'It is 0 to 1,000,000.');
    -- Without an age, also what another transaction has let wait since this one began.
    latest := CASE p_minutes WHEN 0 THEN 'infinity' ELSE now() - p_minutes * interval '1 minute' END;
    sought := insp.console_sought(w.partners, w.is_all, p_partner);
    doubled := ARRAY(SELECT p.id FROM insp.partner p WHERE p.second_review);
    share := insp.console_share(scanned, sought);
    depth := insp.console_share(20000, sought);
    -- insp.is_same_person is asked once for each name at the console, and for a row only of a login: those are no list. Both conditions
    -- stand here twice: a function would be called for each row.
    mine := w.actor || ARRAY(SELECT p.actor FROM insp.console_person p WHERE insp.is_same_person(p.actor, w.actor));
    FOR one IN
        -- First the reasons (as insp.case_reasons, which would be called for each row), and then only the jobs of what they leave.
        SELECT j.public_id, y.summary
        FROM (SELECT x.job_id, x.since, s.summary
            FROM (
                (SELECT r.job_id, r.since
                FROM (SELECT * FROM insp.review_wait y WHERE sought IS NULL AND y.since <= latest
                    ORDER BY y.since, y.job_id LIMIT depth) r
                WHERE NOT EXISTS (SELECT FROM insp.case_lease l WHERE l.job_id = r.job_id AND l.until > now() AND l.actor <> w.actor)
                    AND (r.decided_by IS NULL OR r.partner_id <> ALL (doubled) OR r.decided_by <> ALL (mine)
                        AND (r.decided_by LIKE 'console:%' OR NOT insp.is_same_person(r.decided_by, w.actor)))
                ORDER BY r.since, r.job_id LIMIT share)
                UNION ALL
                (SELECT o.* FROM unnest(sought) u (partner) CROSS JOIN LATERAL (
                    SELECT r.job_id, r.since
                    FROM (SELECT * FROM insp.review_wait y WHERE y.partner_id = u.partner AND y.since <= latest
                        ORDER BY y.since, y.job_id LIMIT depth) r
                    WHERE NOT EXISTS (SELECT FROM insp.case_lease l WHERE l.job_id = r.job_id AND l.until > now() AND l.actor <> w.actor)
                        AND (r.decided_by IS NULL OR r.partner_id <> ALL (doubled) OR r.decided_by <> ALL (mine)
                            AND (r.decided_by LIKE 'console:%' OR NOT insp.is_same_person(r.decided_by, w.actor)))
                    ORDER BY r.since, r.job_id LIMIT share) o)
                ORDER BY since, job_id LIMIT scanned) x
                JOIN insp.step s ON s.job_id = ANY (ARRAY[x.job_id]) AND s.status = 64
            WHERE p_reason IS NULL OR s.summary @> wanted OFFSET 0) y
            JOIN insp.job j ON j.id = ANY (ARRAY[y.job_id]) AND j.status = 64
        ORDER BY y.since, y.job_id
    LOOP
        -- Only a cancellation ends a job whose decision is missing.
        CONTINUE WHEN one.summary #>> '{decision,type}' IS NULL;
        BEGIN
            PERFORM insp.console_take(p_token_sha256, one.public_id);
            RETURN one.public_id;
        EXCEPTION WHEN SQLSTATE 'IN192' OR SQLSTATE 'IN032' THEN
            -- Somebody took or decided it at this moment.
        END;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.console_next(bytea, text, text, integer) IS
    'Takes the oldest case of a reviewer''s partners that the person may take, of a partner, with a reason, that waits for at least some minutes: its id; null: there is none among the oldest 100, with a reason 5000, that the person may take and that are among the oldest 20,000; of several partners, each has an equal share of these numbers, and at least 100. Recorded';
GRANT EXECUTE ON FUNCTION insp.console_next(bytea, text, text, integer) TO insp_console;
