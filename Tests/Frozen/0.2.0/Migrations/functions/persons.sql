-- Persons, and the references by which partners identify them and their jobs. A reference is found by its index, never by its text.

CREATE OR REPLACE FUNCTION insp.reference_index(p_reference text) RETURNS bytea
LANGUAGE sql STABLE AS $$ SELECT sha256(convert_to(p_reference, 'UTF8')) $$;
COMMENT ON FUNCTION insp.reference_index(text) IS 'The key by which a reference is found: equal for equal references';

CREATE OR REPLACE FUNCTION insp.check_indexes(p_indexes bytea[], p_most integer DEFAULT 2) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(coalesce(cardinality(p_indexes) BETWEEN 1 AND p_most AND array_ndims(p_indexes) = 1
        AND (SELECT bool_and(length(i) = 32) FROM unnest(p_indexes) i), false), 'the index of a reference',
        'It is the SHA-256 of the reference.');
END
$$;
COMMENT ON FUNCTION insp.check_indexes(bytea[], integer) IS 'Refuses anything but one to p_most indexes of references';

CREATE OR REPLACE FUNCTION insp.new_persons(p_payloads jsonb[]) RETURNS TABLE (partner_id integer, index bytea)
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT DISTINCT p.id, p.index
    FROM unnest(p_payloads) AS u (payload), LATERAL (
        SELECT x.id, insp.reference_index(u.payload ->> 'userReference') AS index
        FROM insp.partner x WHERE x.name = u.payload ->> 'partner' OFFSET 0) p
    WHERE p.index IS NOT NULL AND NOT EXISTS (
            SELECT FROM insp.person k WHERE k.partner_id = p.id AND k.reference_index = p.index OFFSET 0)
        -- A repeated request adds no person: its person may have been erased.
        AND NOT EXISTS (
            SELECT FROM insp.job_key k WHERE k.partner_id = p.id AND k.key = u.payload ->> 'idempotencyKey' OFFSET 0)
    ORDER BY 1, 2
$$;
COMMENT ON FUNCTION insp.new_persons(jsonb[]) IS 'Persons whom payloads identify by a new userReference, sorted';

CREATE OR REPLACE FUNCTION insp.add_persons(p_partners integer[], p_indexes bytea[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '50ms' AS $$
BEGIN
    INSERT INTO insp.person (partner_id, reference_index)
    SELECT u.partner_id, u.index FROM unnest(p_partners, p_indexes) AS u (partner_id, index)
    ON CONFLICT DO NOTHING;
EXCEPTION WHEN lock_not_available THEN
    -- Another open transaction adds or removes one of them. Nobody waits for it: the jobs are found by their references, and
    -- linked later.
    NULL;
END
$$;
COMMENT ON FUNCTION insp.add_persons(integer[], bytea[]) IS
    'Adds persons; adds none if an open transaction is adding or removing one of them';

CREATE OR REPLACE FUNCTION insp.persons(p_payloads jsonb[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    partners integer[];
    indexes bytea[];
BEGIN
    -- A person added or removed since such a transaction's snapshot would make it fail with 40001, for a conflict unknown to its
    -- producer that concerns no job. Its jobs are linked after its commit.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(n.partner_id), array_agg(n.index) INTO partners, indexes FROM insp.new_persons(p_payloads) n;
    IF partners IS NOT NULL THEN
        PERFORM insp.add_persons(partners, indexes);
    END IF;
    -- Locked, so that no transaction removes a person as empty before the new jobs are visible.
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
    'The persons identified by payloads'' userReferences, in the payloads'' order; null: none, or one that insp.link_persons links later, because another open transaction adds or removes the person, or this one is REPEATABLE READ or stricter';

CREATE OR REPLACE FUNCTION insp.person_of(p_partner integer, p_index bytea) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
DECLARE
    person bigint;
BEGIN
    -- Again if another transaction was faster, or removed the person between the two.
    WHILE person IS NULL AND p_index IS NOT NULL LOOP
        SELECT p.id INTO person FROM insp.person p
        WHERE p.partner_id = p_partner AND p.reference_index = p_index FOR KEY SHARE;
        IF NOT FOUND THEN
            INSERT INTO insp.person AS p (partner_id, reference_index) VALUES (p_partner, p_index)
            ON CONFLICT DO NOTHING RETURNING p.id INTO person;
        END IF;
    END LOOP;
    RETURN person;
END
$$;
COMMENT ON FUNCTION insp.person_of(integer, bytea) IS
    'The person of a reference, added if necessary; waits for a transaction that adds or removes the same one';

-- In plpgsql, which keeps the statement's plan: as SQL it is planned for each request, at most of its cost.
CREATE OR REPLACE FUNCTION insp.note_references(p_jobs bigint[], p_payloads jsonb[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp SET plan_cache_mode = force_generic_plan
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    WITH named AS MATERIALIZED (
        SELECT j.partner_id, k.kind, insp.reference_index(u.payload ->> k.key) AS index, j.id, j.person_id
        FROM unnest(p_jobs, p_payloads) AS u (job_id, payload) JOIN insp.job j ON j.id = ANY (ARRAY[u.job_id])
            CROSS JOIN (VALUES ('customer', 'customerInternalReference'), ('user', 'userReference'),
                ('criteria', 'reportingCriteria')) AS k (kind, key)
        WHERE u.payload ->> k.key <> ''
    ), unlinked AS (
        INSERT INTO insp.purge_later (due_at, what, job_id)
        SELECT now() + interval '1 minute', 'links', n.id FROM named n WHERE n.kind = 'user' AND n.person_id IS NULL
    )
    INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
    SELECT n.partner_id, n.kind, n.index, n.id FROM named n;
END
$$;
COMMENT ON FUNCTION insp.note_references(bigint[], jsonb[]) IS
    'Records new jobs'' references, and which jobs must be linked to their person';

CREATE OR REPLACE FUNCTION insp.link_persons(p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- Finished jobs, for which no worker waits. Locked before their references are read: removing these locks the jobs.
    free constant bigint[] := ARRAY(SELECT j.id FROM insp.job j
        WHERE j.id = ANY (p_jobs) AND j.status = 128 AND j.person_id IS NULL FOR NO KEY UPDATE SKIP LOCKED);
    partners integer[];
    indexes bytea[];
BEGIN
    SELECT array_agg(r.partner_id), array_agg(r.index) INTO partners, indexes FROM (
        SELECT DISTINCT r.partner_id, r.index FROM unnest(free) AS u (id), LATERAL (
            SELECT x.partner_id, x.kind, x.index FROM insp.job_reference x WHERE x.job_id = u.id OFFSET 0) r
        WHERE r.kind = 'user' ORDER BY 1, 2) r;
    PERFORM insp.add_persons(partners, indexes);
    WITH found AS MATERIALIZED (
        SELECT u.id AS job_id, p.id FROM unnest(free) AS u (id), LATERAL (
                SELECT x.partner_id, x.kind, x.index FROM insp.job_reference x WHERE x.job_id = u.id OFFSET 0) r, LATERAL (
                SELECT k.id FROM insp.person k WHERE k.partner_id = r.partner_id AND k.reference_index = r.index
                FOR KEY SHARE SKIP LOCKED) p
        WHERE r.kind = 'user'
    )
    UPDATE insp.job j SET person_id = f.id FROM found f WHERE j.id = ANY (ARRAY[f.job_id]);
    INSERT INTO insp.purge_later (due_at, what, job_id)
    SELECT now() + least(interval '1 hour', greatest(interval '1 minute', now() - j.created_at)), 'links', j.id
    FROM insp.job j WHERE j.id = ANY (p_jobs) AND j.person_id IS NULL AND j.forgotten_at IS NULL
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION insp.link_persons(bigint[]) IS
    'Links finished jobs to their persons; jobs that are not finished, or whose person is locked, are recorded for later';

CREATE OR REPLACE FUNCTION insp.jobs_by_reference(
    partner text, customer_reference text DEFAULT NULL, user_reference text DEFAULT NULL, status smallint DEFAULT NULL,
    purpose text DEFAULT NULL
) RETURNS TABLE (id uuid, status smallint, created_at timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT insp.record_search('jobs_by_reference', jobs_by_reference.partner, jobs_by_reference.purpose, insp.needs_purpose());
    SELECT j.public_id, j.status, j.created_at
    FROM (SELECT insp.partner_number(jobs_by_reference.partner) AS id) p, LATERAL (
            SELECT r.job_id FROM insp.job_reference r
            WHERE r.partner_id = p.id AND r.kind = 'customer' AND r.index = insp.reference_index(customer_reference)
            UNION SELECT r.job_id FROM insp.job_reference r
            WHERE r.partner_id = p.id AND r.kind = 'user' AND r.index = insp.reference_index(user_reference)) r
        JOIN insp.job j ON j.id = ANY (ARRAY[r.job_id])
    -- Filtered here: an index on a column that changes would make every update of a job dearer.
    WHERE jobs_by_reference.status IS NULL OR j.status = jobs_by_reference.status
    ORDER BY j.id DESC
$$;
COMMENT ON FUNCTION insp.jobs_by_reference(text, text, text, smallint, text) IS
    'A partner''s jobs with a customerInternalReference or a userReference, newest first; only those of a status, if given. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.jobs_by_reference(text, text, text, smallint, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.jobs_by_index(partner text, user_index bytea, purpose text DEFAULT NULL) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT insp.record_search('jobs_by_reference', jobs_by_index.partner, jobs_by_index.purpose, insp.needs_purpose());
    SELECT j.public_id
    FROM (SELECT insp.partner_number(jobs_by_index.partner) AS id) p, LATERAL (
            SELECT r.job_id FROM insp.job_reference r
            WHERE r.partner_id = p.id AND r.kind = 'user' AND r.index = jobs_by_index.user_index) r
        JOIN insp.job j ON j.id = ANY (ARRAY[r.job_id])
    ORDER BY j.id DESC
$$;
COMMENT ON FUNCTION insp.jobs_by_index(text, bytea, text) IS
    'A partner''s jobs with a userReference, newest first; the reference as insp.reference_index hashes it, so that programs keep it out of the server''s log. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.jobs_by_index(text, bytea, text) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.forget_persons(p_persons bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- A transaction that holds one may be adding a job, or removing another of its last jobs.
    free constant bigint[] := ARRAY(SELECT p.id FROM unnest(p_persons) AS u (id), LATERAL (
        SELECT x.id FROM insp.person x WHERE x.id = u.id AND x.erased_at IS NULL FOR UPDATE SKIP LOCKED) p);
BEGIN
    -- A new statement sees the jobs of the transactions that held them.
    WITH bare AS MATERIALIZED (
        SELECT u.id FROM unnest(free) AS u (id), LATERAL (
            SELECT x.partner_id, x.reference_index FROM insp.person x WHERE x.id = u.id OFFSET 0) p
        WHERE NOT EXISTS (SELECT FROM insp.face f WHERE f.person_id = u.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM insp.job_reference r
                WHERE r.partner_id = p.partner_id AND r.kind = 'user' AND r.index = p.reference_index OFFSET 0)
    )
    UPDATE insp.person p SET reference_index = NULL, erased_at = clock_timestamp()
    FROM bare b WHERE p.id = ANY (ARRAY[b.id]);
    INSERT INTO insp.purge_later (due_at, what, job_id)
    SELECT now() + interval '1 minute', 'persons', u.id FROM unnest(p_persons) AS u (id), LATERAL (
        SELECT x.erased_at FROM insp.person x WHERE x.id = u.id OFFSET 0) p
    WHERE p.erased_at IS NULL
        -- An older snapshot does not see removals by others.
        AND (u.id <> ALL (free) OR current_setting('transaction_isolation') IN ('repeatable read', 'serializable'))
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION insp.forget_persons(bigint[]) IS
    'Removes the references of the given persons who no longer have a job or a face; does not wait: retention revisits locked ones';

CREATE OR REPLACE FUNCTION insp.jobs_of_person(p_partner integer, p_index bytea, p_person bigint) RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT ARRAY(
        SELECT r.job_id FROM insp.job_reference r WHERE r.partner_id = p_partner AND r.kind = 'user' AND r.index = p_index
        UNION
        -- Jobs from before the person's reference was known, or jobs without a reference. A job that names another person belongs
        -- to that person.
        SELECT n.job_id FROM insp.face f, LATERAL (
                SELECT x.job_id FROM insp.face_named x WHERE x.partner_id = f.partner_id AND x.face_id = f.face_id
                UNION ALL SELECT y.job_id FROM insp.face_job y WHERE y.partner_id = f.partner_id AND y.face_id = f.face_id) n
        WHERE f.person_id = p_person
            AND NOT EXISTS (SELECT FROM insp.job_reference r WHERE r.job_id = n.job_id AND r.kind = 'user' OFFSET 0))
$$;
COMMENT ON FUNCTION insp.jobs_of_person(integer, bytea, bigint) IS
    'Jobs with a person''s userReference, and those without one that specify a face of the person';

CREATE OR REPLACE FUNCTION insp.lock_person(p_partner integer, p_indexes bytea[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '5s' SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM insp.lock_chains(ARRAY(
        SELECT u.job FROM unnest(p_indexes) i CROSS JOIN LATERAL unnest(insp.jobs_of_person(p_partner, i, (
            SELECT p.id FROM insp.person p WHERE p.partner_id = p_partner AND p.reference_index = i))) AS u (job)));
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.lock_person(integer, bytea[]) IS
    'Locks the jobs of all spellings of a person''s reference, with their chains of reruns, in the order of their numbers: if it locked one spelling after another, a call could wait for a lower number than it holds';

CREATE OR REPLACE FUNCTION insp.faces_by_index(partner text, user_index bytea, purpose text DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT insp.record_search('faces_of_person', faces_by_index.partner, faces_by_index.purpose, insp.needs_purpose());
    SELECT f.face_id FROM insp.person p JOIN insp.face f ON f.person_id = p.id
    WHERE p.partner_id = insp.partner_number(faces_by_index.partner) AND p.reference_index = faces_by_index.user_index
    ORDER BY f.face_id
$$;
COMMENT ON FUNCTION insp.faces_by_index(text, bytea, text) IS
    'insp.faces_of_person for a reference as insp.reference_index hashes it; inspectd person erase destroys the faces'' keys';
GRANT EXECUTE ON FUNCTION insp.faces_by_index(text, bytea, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.faces_of_person(partner text, reference text, purpose text DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT * FROM insp.faces_by_index(faces_of_person.partner, insp.reference_index(faces_of_person.reference), faces_of_person.purpose)
$$;
COMMENT ON FUNCTION insp.faces_of_person(text, text, text) IS
    'The face ids of a person, as stored. Operators give a purpose (review, support, export or delivery), which is recorded';
GRANT EXECUTE ON FUNCTION insp.faces_of_person(text, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.erase_by_index(partner text, user_index bytea) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '5s' SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    owner constant integer := insp.partner_number(erase_by_index.partner);
    found_by constant bytea := erase_by_index.user_index;
    person constant bigint := (SELECT p.id FROM insp.person p WHERE p.partner_id = owner AND p.reference_index = found_by);
    numbers bigint[];
    jobs uuid[];
    job uuid;
    rest boolean;
    erased integer := 0;
    templates integer;
    gone bytea[];
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM insp.check_indexes(ARRAY[found_by]);
    -- The jobs before the person, in the order of every other erasure. Their chains may contain jobs no longer linked to the person.
    PERFORM insp.lock_chains(insp.jobs_of_person(owner, found_by, person));
    -- A new statement, so that this does not repeat what another erasure did meanwhile.
    numbers := insp.jobs_of_person(owner, found_by, person);
    SELECT array_agg(j.public_id ORDER BY j.id) INTO jobs FROM insp.job j WHERE j.id = ANY (numbers);
    -- Before a job's erasure takes its face along.
    gone := ARRAY(SELECT found_by UNION ALL SELECT insp.reference_index(f.face_id) FROM insp.face f WHERE f.person_id = person);
    FOREACH job IN ARRAY coalesce(jobs, '{}') LOOP
        -- One of the same chain of reruns may have erased it already.
        rest := insp.erase_job(job, 'person');
        IF rest THEN
            erased := erased + 1;
        END IF;
        -- Jobs accepted concurrently: later they could no longer be found by the person.
        WHILE rest LOOP
            rest := insp.erase_job(job, 'person');
        END LOOP;
    END LOOP;
    -- Links that the person has not used yet, or used just now.
    DELETE FROM insp.capture_session c WHERE c.partner_id = owner AND c.user_index = found_by;
    PERFORM insp.list_persons(owner, gone);
    templates := insp.face_forget(ARRAY(SELECT t.id FROM insp.face f JOIN insp.face_template t
        ON t.partner_id = f.partner_id AND t.face_id = f.face_id WHERE f.person_id = person));
    PERFORM insp.forget_persons(ARRAY[person]);
    IF person IS NOT NULL OR erased > 0 THEN
        -- The reference is personal data: the record has the erasure, not the reference.
        PERFORM insp.record('erase_person', 'partner ' || erase_by_index.partner, jsonb_build_object('person', person, 'jobs', erased,
            'templates', nullif(templates, 0)));
    END IF;
    RETURN erased;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.erase_by_index(text, bytea) IS
    'insp.erase_person for a reference as insp.reference_index hashes it, so that programs keep it out of the server''s log';
GRANT EXECUTE ON FUNCTION insp.erase_by_index(text, bytea) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.erase_person(partner text, reference text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(erase_person.reference IS NOT NULL, 'reference is null');
    IF EXISTS (SELECT FROM insp.custody) THEN
        RAISE WARNING 'sealed jobs are found by inspectd person erase alone';
    END IF;
    RETURN insp.erase_by_index(erase_person.partner, insp.reference_index(erase_person.reference));
END
$$;
COMMENT ON FUNCTION insp.erase_person(text, text) IS
    'insp.erase for all jobs and faces of the person identified by a partner''s userReference, with jobs that specify such a face and no userReference; returns how many jobs, each with its chain of reruns. All or, if one is not finished, none';
GRANT EXECUTE ON FUNCTION insp.erase_person(text, text) TO insp_operator;
