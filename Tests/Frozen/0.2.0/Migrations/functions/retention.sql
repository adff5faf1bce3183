-- Retention periods.

CREATE OR REPLACE FUNCTION insp.keep_of(p insp.partner, p_what text) RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_what WHEN 'parts' THEN p.keep_parts WHEN 'results' THEN p.keep_results
        ELSE coalesce(p.keep_references, greatest(p.keep_parts, p.keep_results)) END
$$;
COMMENT ON FUNCTION insp.keep_of(insp.partner, text) IS
    'How long a partner keeps parts, results or references after a job''s end';
GRANT EXECUTE ON FUNCTION insp.keep_of(insp.partner, text) TO insp_operator, insp_auditor;

CREATE OR REPLACE FUNCTION insp.retention_classes() RETURNS TABLE (what text, keep interval)
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT DISTINCT w.what, insp.keep_of(p, w.what)
    FROM insp.partner p, unnest(ARRAY['parts', 'results', 'references']) AS w (what)
$$;
COMMENT ON FUNCTION insp.retention_classes() IS
    'Kinds of data removed job by job, with each retention period of a partner; each pair has its own cursor';

CREATE OR REPLACE FUNCTION insp.is_length(p_interval interval) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Years and months have the same sign, and so have hours, minutes and seconds.
    SELECT least(extract(year FROM p_interval), extract(month FROM p_interval), extract(day FROM p_interval),
        extract(hour FROM p_interval), extract(minute FROM p_interval), extract(second FROM p_interval)) >= 0
$$;
COMMENT ON FUNCTION insp.is_length(interval) IS
    'Whether no part of an interval is negative. Only then can it be compared safely: 10000 years less 3564000 days compare as 99 years, but exceed the calendar';

CREATE OR REPLACE FUNCTION insp.is_within_year(p_interval interval) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Compared alone, a year is 360 days.
    SELECT CASE WHEN p_interval <= '366 days' AND insp.is_length(p_interval)
        THEN now() + p_interval <= now() + interval '366 days' ELSE p_interval IS NULL END
$$;
COMMENT ON FUNCTION insp.is_within_year(interval) IS
    'Whether an interval has no negative part and leads at most 366 days from now, as any year does. Null is allowed';

CREATE OR REPLACE FUNCTION insp.check_keep(p_code text, p_what text, p_keep interval, p_least interval DEFAULT '1 hour') RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF NOT (CASE WHEN p_keep BETWEEN p_least AND '36525 days' AND insp.is_length(p_keep)
        -- Compared alone, a year is 360 days and a month 30. What is counted in months must last long enough whenever it
        -- ends: at the first of March of a common year it is shortest.
        THEN now() - p_keep >= now() - interval '36525 days'
            AND timestamp '2023-03-01' - p_keep <= timestamp '2023-03-01' - p_least
        ELSE p_keep IS NULL END) THEN
        PERFORM insp.refuse(p_code, format('%s is %s', p_what, p_keep), format('%s is %s to 100 years, without a negative part.',
            p_what, CASE WHEN p_what = 'keep_parts' THEN '0, or an hour' WHEN p_least = '1 hour' THEN 'an hour' ELSE p_least::text END));
    END IF;
END
$$;
COMMENT ON FUNCTION insp.check_keep(text, text, interval, interval) IS
    'Refuses a retention period that is too short or too long: one that exceeds the calendar would make every round of retention fail. Null is allowed';

CREATE OR REPLACE FUNCTION insp.partner_units() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- Without a zone: there every day has 24 hours.
    moment constant timestamp := now() AT TIME ZONE 'UTC';
BEGIN
    -- A year and 360 days are equal to PostgreSQL, and partners with equal periods share a cursor, so parts of the one would be
    -- removed with those of the other. In days and hours, equal periods are the same period.
    NEW.keep_parts := moment - (moment - NEW.keep_parts);
    NEW.keep_results := moment - (moment - NEW.keep_results);
    NEW.keep_references := moment - (moment - NEW.keep_references);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION insp.partner_units() IS 'Stores a partner''s retention periods in days and hours, as they apply from now on';
CREATE OR REPLACE TRIGGER partner_units BEFORE INSERT OR UPDATE OF keep_parts, keep_results, keep_references ON insp.partner
    FOR EACH ROW EXECUTE FUNCTION insp.partner_units();

CREATE OR REPLACE FUNCTION insp.look_again(p_what text, p_partner integer DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    WITH noted AS (
        DELETE FROM insp.purge_later l WHERE l.what = p_what
            AND (p_partner IS NULL OR l.job_id IN (SELECT j.id FROM insp.job j WHERE j.partner_id = p_partner
                AND j.id IN (SELECT x.job_id FROM insp.purge_later x WHERE x.what = p_what)))
        RETURNING l.job_id
    )
    -- One row for each, and no two rows of a job may get the same key.
    INSERT INTO insp.purge_later (due_at, what, job_id) SELECT DISTINCT now(), p_what, n.job_id FROM noted n
    ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION insp.look_again(text, integer) IS
    'Makes retention revisit at once what it recorded for later (for one partner), since it may now be due';

CREATE OR REPLACE FUNCTION insp.partner_keeps() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    class record;
    passed bigint;
BEGIN
    -- Not while retention runs.
    PERFORM FROM insp.retention_horizon h ORDER BY h.what FOR UPDATE;
    FOR class IN
        SELECT w.what, insp.keep_of(OLD, w.what) AS before, insp.keep_of(NEW, w.what) AS after
        FROM unnest(ARRAY['parts', 'references', 'results']) AS w (what)
        WHERE insp.keep_of(OLD, w.what) <> insp.keep_of(NEW, w.what)
    LOOP
        -- What the old class's cursor has passed of this partner is removed or recorded. The new class's cursor need not begin
        -- before that; if it is already behind, it need not move.
        SELECT c.next_id INTO passed FROM insp.retention_cursor c WHERE c.what = class.what AND c.keep = class.before;
        INSERT INTO insp.retention_cursor AS c (what, keep, next_id) VALUES (class.what, class.after, coalesce(passed, 0))
        ON CONFLICT (what, keep) DO UPDATE SET next_id = least(c.next_id, excluded.next_id);
        PERFORM insp.look_again(class.what, NEW.id);
        IF class.after > class.before THEN
            -- A job of a partition that was due may no longer be.
            UPDATE insp.retention_cursor c SET next_id = 0 WHERE c.what = 'partitions';
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.partner_keeps() IS
    'Moves the cursor of a partner''s new period back to that of its former period, and no other';
CREATE OR REPLACE TRIGGER partner_keeps AFTER UPDATE OF keep_parts, keep_results, keep_references ON insp.partner
    FOR EACH ROW EXECUTE FUNCTION insp.partner_keeps();

CREATE OR REPLACE FUNCTION insp.retention_keeps() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM FROM insp.retention_horizon h ORDER BY h.what FOR UPDATE;
    IF NEW.what IN ('callbacks', 'dead_callbacks') AND NEW.keep < OLD.keep THEN
        PERFORM insp.look_again('callbacks');
    ELSIF NEW.what IN ('events', 'idempotency_keys') AND NEW.keep > OLD.keep THEN
        UPDATE insp.retention_cursor c SET next_id = 0 WHERE c.what = 'partitions';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.retention_keeps() IS 'Makes retention revisit the data that a changed period affects, and nothing else';
CREATE OR REPLACE TRIGGER retention_keeps AFTER UPDATE OF keep ON insp.retention
    FOR EACH ROW EXECUTE FUNCTION insp.retention_keeps();

CREATE OR REPLACE FUNCTION insp.set_retention(
    partner text DEFAULT NULL, keep_parts interval DEFAULT NULL, keep_results interval DEFAULT NULL,
    what text DEFAULT NULL, keep interval DEFAULT NULL, keep_references interval DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    was insp.partner;
    kept record;
BEGIN
    PERFORM insp.need_approval('set_retention');
    IF set_retention.partner IS NOT NULL AND num_nonnulls(set_retention.what, set_retention.keep) = 0 THEN
        was := insp.partner_lock(set_retention.partner);
        -- A month less 30 days is equal to 0, too.
        PERFORM insp.check_keep('PARTNER_INVALID', 'keep_parts', set_retention.keep_parts)
        WHERE NOT coalesce(set_retention.keep_parts = '0' AND insp.is_length(set_retention.keep_parts), false);
        PERFORM insp.check_keep('PARTNER_INVALID', 'keep_results', set_retention.keep_results);
        PERFORM insp.check_keep('PARTNER_INVALID', 'keep_references', set_retention.keep_references);
        UPDATE insp.partner p SET keep_parts = coalesce(set_retention.keep_parts, p.keep_parts),
            keep_results = coalesce(set_retention.keep_results, p.keep_results),
            keep_references = coalesce(set_retention.keep_references, p.keep_references)
        WHERE p.id = was.id
        RETURNING p.keep_parts AS parts, p.keep_results AS results, insp.keep_of(p, 'references') AS requests INTO kept;
        PERFORM insp.record_partner('set_retention', was);
        RETURN format('partner %s: parts %s, results %s, references %s', was.name, kept.parts, kept.results, kept.requests);
    ELSIF num_nulls(set_retention.what, set_retention.keep) = 0 AND num_nonnulls(set_retention.partner, set_retention.keep_parts,
        set_retention.keep_results, set_retention.keep_references) = 0 THEN
        PERFORM insp.check_keep('PARAMETER_INVALID', 'keep', set_retention.keep,
            -- insp.record_guard refuses to remove rows of these that are younger than a year.
            CASE WHEN set_retention.what IN ('access_events', 'operator_events') THEN interval '366 days' ELSE '1 hour' END);
        UPDATE insp.retention r SET keep = set_retention.keep WHERE r.what = set_retention.what;
        IF NOT FOUND THEN
            PERFORM insp.refuse('PARAMETER_INVALID', 'what is ' || left(quote_literal(set_retention.what), 40),
                (SELECT format('What is kept: %s.', string_agg(r.what, ', ' ORDER BY r.what)) FROM insp.retention r));
        END IF;
        PERFORM insp.record('set_retention', set_retention.what, jsonb_build_object('keep', set_retention.keep));
        RETURN format('%s: %s', set_retention.what, set_retention.keep);
    END IF;
    PERFORM insp.refuse('PARAMETER_INVALID', 'neither only a partner, nor what and keep',
        'set_retention takes a partner with keep_parts, keep_results and keep_references, or what and keep.');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.set_retention(text, interval, interval, text, interval, interval) IS
    'Sets how long a partner''s parts, results and references are kept, or a period for all partners (insp.retention): an hour to 100 years, access_events and operator_events at least 366 days. With keep_parts 0, a job''s parts are removed in the transaction that finishes it. A partner''s periods are stored in days and hours';
GRANT EXECUTE ON FUNCTION insp.set_retention(text, interval, interval, text, interval, interval) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_retention AS
SELECT p.name AS partner, w.what, insp.keep_of(p, w.what) AS keep, c.ran_at
FROM insp.partner p CROSS JOIN unnest(ARRAY['parts', 'results', 'references']) AS w (what)
    LEFT JOIN insp.retention_cursor c ON c.what = w.what AND c.keep = insp.keep_of(p, w.what)
UNION ALL
SELECT p.name, 'faces', p.keep_faces, NULL FROM insp.partner p
UNION ALL
SELECT NULL, r.what, r.keep, c.ran_at
FROM insp.retention r LEFT JOIN insp.retention_cursor c ON c.keep = '0' AND c.what = CASE
    WHEN r.what IN ('callbacks', 'dead_callbacks') THEN 'callbacks' WHEN r.what = 'events' THEN 'partitions'
        WHEN r.what <> 'samples' THEN 'rows' END;
COMMENT ON VIEW insp.v_retention IS 'Retention periods of each partner and of all, and when retention last worked on them';
COMMENT ON COLUMN insp.v_retention.partner IS 'The partner; null: all partners';
COMMENT ON COLUMN insp.v_retention.what IS 'parts, results, references, faces, or a kind in insp.retention';
COMMENT ON COLUMN insp.v_retention.keep IS 'The period; null: until deleted';
COMMENT ON COLUMN insp.v_retention.ran_at IS 'When retention last worked on it; null: not yet, or faces, samples and partitions, which have no such time';
GRANT SELECT ON insp.v_retention TO insp_operator, insp_auditor;
