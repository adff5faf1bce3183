-- Persons, and the references by which partners know them and their jobs. A reference is found by its index, never by itself.

CREATE OR REPLACE FUNCTION insp.reference_index(p_reference text) RETURNS bytea
LANGUAGE sql STABLE AS $$ SELECT sha256(convert_to(p_reference, 'UTF8')) $$;
COMMENT ON FUNCTION insp.reference_index(text) IS 'What a reference is looked up by: equal for equal references';

CREATE OR REPLACE FUNCTION insp.new_persons(p_payloads jsonb[]) RETURNS TABLE (partner_id integer, index bytea)
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT DISTINCT p.id, p.index
    FROM unnest(p_payloads) AS u (payload), LATERAL (
        SELECT x.id, insp.reference_index(u.payload ->> 'userReference') AS index
        FROM insp.partner x WHERE x.name = u.payload ->> 'partner' OFFSET 0) p
    WHERE p.index IS NOT NULL AND NOT EXISTS (
        SELECT FROM insp.person k WHERE k.partner_id = p.id AND k.reference_index = p.index)
    ORDER BY 1, 2
$$;
COMMENT ON FUNCTION insp.new_persons(jsonb[]) IS 'Whom payloads name by userReference and nobody named before, sorted';

CREATE OR REPLACE FUNCTION insp.add_persons(p_payloads jsonb[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms' AS $$
    INSERT INTO insp.person (partner_id, reference_index)
    SELECT n.partner_id, n.index FROM insp.new_persons(p_payloads) n
    ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION insp.add_persons(jsonb[]) IS
    'Adds the persons whom payloads name for the first time; fails where another transaction is adding one of them and stays open';

CREATE OR REPLACE FUNCTION insp.persons(p_payloads jsonb[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF EXISTS (SELECT FROM insp.new_persons(p_payloads)) THEN
        BEGIN
            PERFORM insp.add_persons(p_payloads);
        EXCEPTION WHEN lock_not_available THEN
            -- Somebody's open transaction holds up no other: these jobs are found by their references alone.
            NULL;
        END;
    END IF;
    -- Held, so that nobody finds a person of whom nothing is left before the new jobs can be seen.
    RETURN ARRAY(
        SELECT k.id FROM unnest(p_payloads) WITH ORDINALITY AS u (payload, n)
            LEFT JOIN LATERAL (SELECT p.id FROM insp.partner p WHERE p.name = u.payload ->> 'partner' OFFSET 0) p ON true
            LEFT JOIN LATERAL (SELECT k.id FROM insp.person k WHERE k.partner_id = p.id
                AND k.reference_index = insp.reference_index(u.payload ->> 'userReference')
                FOR KEY SHARE SKIP LOCKED) k ON true
        ORDER BY u.n);
END
$$;
COMMENT ON FUNCTION insp.persons(jsonb[]) IS
    'The persons whom payloads name by userReference, in the payloads'' order; null: none, or one whom another open transaction adds or forgets';

CREATE OR REPLACE FUNCTION insp.note_references(p_jobs bigint[], p_payloads jsonb[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
    SELECT j.partner_id, k.kind, insp.reference_index(u.payload ->> k.key), j.id
    FROM unnest(p_jobs, p_payloads) AS u (job_id, payload) JOIN insp.job j ON j.id = ANY (ARRAY[u.job_id])
        CROSS JOIN (VALUES ('customer', 'customerInternalReference'), ('user', 'userReference')) AS k (kind, key)
    WHERE u.payload ? k.key
$$;
COMMENT ON FUNCTION insp.note_references(bigint[], jsonb[]) IS 'Notes by which references new jobs are found';

CREATE OR REPLACE FUNCTION insp.jobs_by_reference(
    partner text, customer_reference text DEFAULT NULL, user_reference text DEFAULT NULL, status smallint DEFAULT NULL
) RETURNS TABLE (id uuid, status smallint, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT j.public_id, j.status, j.created_at
    FROM (SELECT insp.partner_number(jobs_by_reference.partner) AS id) p, LATERAL (
            SELECT r.job_id FROM insp.job_reference r
            WHERE r.partner_id = p.id AND r.kind = 'customer' AND r.index = insp.reference_index(customer_reference)
            UNION SELECT r.job_id FROM insp.job_reference r
            WHERE r.partner_id = p.id AND r.kind = 'user' AND r.index = insp.reference_index(user_reference)) r
        JOIN insp.job j ON j.id = ANY (ARRAY[r.job_id])
    -- Filtered here: an index on a column that changes would cost every update of a job.
    WHERE jobs_by_reference.status IS NULL OR j.status = jobs_by_reference.status
    ORDER BY j.id DESC
$$;
COMMENT ON FUNCTION insp.jobs_by_reference(text, text, text, smallint) IS
    'A partner''s jobs with a customerInternalReference or a userReference, newest first; those of one status if asked so';
GRANT EXECUTE ON FUNCTION insp.jobs_by_reference(text, text, text, smallint) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.forget_persons(p_persons bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    held constant bigint[] := ARRAY(SELECT p.id FROM insp.person p
        WHERE p.id = ANY (p_persons) AND p.reference_index IS NOT NULL ORDER BY p.id FOR UPDATE);
BEGIN
    -- A new statement sees the jobs of those who held them.
    UPDATE insp.person p SET reference_index = NULL, erased_at = clock_timestamp()
    WHERE p.id = ANY (held) AND NOT EXISTS (SELECT FROM insp.face f WHERE f.person_id = p.id)
        AND NOT EXISTS (SELECT FROM insp.job_reference r
            WHERE r.partner_id = p.partner_id AND r.kind = 'user' AND r.index = p.reference_index);
END
$$;
COMMENT ON FUNCTION insp.forget_persons(bigint[]) IS
    'Removes the references of those of the given persons who have no job and no face any more';

CREATE OR REPLACE FUNCTION insp.erase_person(partner text, reference text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    owner constant integer := insp.partner_number(erase_person.partner);
    found_by constant bytea := insp.reference_index(erase_person.reference);
    person constant bigint := (SELECT p.id FROM insp.person p WHERE p.partner_id = owner AND p.reference_index = found_by);
    jobs uuid[];
    job uuid;
    rest boolean;
    erased integer := 0;
BEGIN
    -- All jobs before the person, as everything else that erases locks them.
    SELECT array_agg(l.public_id) INTO jobs FROM (
        SELECT j.public_id FROM insp.job_reference r JOIN insp.job j ON j.id = ANY (ARRAY[r.job_id])
        WHERE r.partner_id = owner AND r.kind = 'user' AND r.index = found_by ORDER BY j.id FOR NO KEY UPDATE OF j) l;
    FOREACH job IN ARRAY coalesce(jobs, '{}') LOOP
        -- One of the same chain of reruns may have erased it already.
        rest := insp.erase(job);
        IF rest THEN
            erased := erased + 1;
        END IF;
        -- What came in beside it: afterwards nobody finds the job by its person any more.
        WHILE rest LOOP
            rest := insp.erase(job);
        END LOOP;
    END LOOP;
    PERFORM insp.face_forget(ARRAY(SELECT t.id FROM insp.face f JOIN insp.face_template t
        ON t.partner_id = f.partner_id AND t.face_id = f.face_id WHERE f.person_id = person));
    PERFORM insp.forget_persons(ARRAY[person]);
    IF person IS NOT NULL OR erased > 0 THEN
        -- The reference is the person's: the record says that it was done, not to whom.
        PERFORM insp.record('erase_person', 'partner ' || erase_person.partner, jsonb_build_object('person', person, 'jobs', erased));
    END IF;
    RETURN erased;
END
$$;
COMMENT ON FUNCTION insp.erase_person(text, text) IS
    'insp.erase for all jobs of the person whom a partner''s userReference names, and the person''s faces; returns how many jobs, each with its chain of reruns. All or, if one is not finished, none';
GRANT EXECUTE ON FUNCTION insp.erase_person(text, text) TO insp_operator;
