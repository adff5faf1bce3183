-- Withdrawal of consents: what is under way stops, and what is stored goes. The proof that a consent was given stays.
-- After: erasure

CREATE OR REPLACE FUNCTION insp.stop_chains(p_jobs bigint[], OUT jobs bigint[], OUT stopped integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    open bigint[];
BEGIN
    -- All of them before any ends, as an erasure locks them: a finished job may have a lower number than one that is open.
    jobs := insp.lock_chains(p_jobs);
    open := ARRAY(SELECT j.id FROM insp.job j WHERE j.id = ANY (jobs) AND j.status < 128 ORDER BY j.id);
    stopped := insp.end_unclaimed(open, 'CANCELLED', NULL);
END
$$;
COMMENT ON FUNCTION insp.stop_chains(bigint[]) IS
    'Cancels the unfinished jobs, waiting or running, in the chains of reruns of the given jobs; returns all jobs of the chains, and how many it cancelled';

CREATE OR REPLACE FUNCTION insp.note_withdrawal(p_jobs bigint[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    UPDATE insp.job j SET consent_proof = j.consent_proof || jsonb_build_object('withdrawnAt', insp.iso_time(clock_timestamp()))
    WHERE j.id = ANY (p_jobs) AND j.consent_proof IS NOT NULL AND NOT j.consent_proof ? 'withdrawnAt'
$$;
COMMENT ON FUNCTION insp.note_withdrawal(bigint[]) IS 'Adds to the proofs of consents that they were withdrawn, and when';

CREATE OR REPLACE FUNCTION insp.withdraw_consent(id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    job bigint;
    chain record;
    erased boolean;
BEGIN
    PERFORM insp.need_read_committed();
    SELECT j.id INTO job FROM insp.job j WHERE j.public_id = withdraw_consent.id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    SELECT * INTO chain FROM insp.stop_chains(ARRAY[job]);
    erased := insp.erase_job(withdraw_consent.id, 'withdrawal');
    PERFORM insp.note_withdrawal(chain.jobs);
    IF erased OR chain.stopped > 0 THEN
        PERFORM insp.record('withdraw_consent', withdraw_consent.id::text, jsonb_build_object('cancelled', chain.stopped));
    END IF;
    RETURN erased OR chain.stopped > 0;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.withdraw_consent(uuid) IS
    'Withdraws the consent of a job: cancels the unfinished jobs in its chain of reruns, then calls insp.erase. The proof of the consent stays, with the time of the withdrawal. false: there was nothing to stop and nothing to remove';
GRANT EXECUTE ON FUNCTION insp.withdraw_consent(uuid) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.withdraw_by_index(partner text, user_index bytea, OUT cancelled integer, OUT erased integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '5s' SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    owner constant integer := insp.partner_number(withdraw_by_index.partner);
    found_by constant bytea := withdraw_by_index.user_index;
    chains record;
    jobs bigint[] := '{}'::bigint[];
BEGIN
    PERFORM insp.need_read_committed();
    PERFORM insp.check_indexes(ARRAY[found_by]);
    cancelled := 0;
    -- Jobs that are accepted meanwhile are stopped in the next round; those after the last one make the erasure refuse.
    FOR round IN 1 .. 8 LOOP
        SELECT * INTO chains FROM insp.stop_chains(insp.jobs_of_person(owner, found_by,
            (SELECT p.id FROM insp.person p WHERE p.partner_id = owner AND p.reference_index = found_by)));
        jobs := chains.jobs;
        cancelled := cancelled + chains.stopped;
        EXIT WHEN chains.stopped = 0;
    END LOOP;
    erased := insp.erase_by_index(withdraw_by_index.partner, found_by);
    PERFORM insp.note_withdrawal(jobs);
    IF jobs <> '{}' THEN
        -- The reference is personal data: the record has the withdrawal, not the reference.
        PERFORM insp.record('withdraw_person', 'partner ' || withdraw_by_index.partner,
            jsonb_build_object('cancelled', cancelled, 'jobs', erased));
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.withdraw_by_index(text, bytea) IS
    'insp.withdraw_person for a reference as insp.reference_index hashes it, so that programs keep it out of the server''s log';
GRANT EXECUTE ON FUNCTION insp.withdraw_by_index(text, bytea) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.withdraw_person(partner text, reference text, OUT cancelled integer, OUT erased integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.require(withdraw_person.reference IS NOT NULL, 'reference is null');
    IF EXISTS (SELECT FROM insp.custody) THEN
        RAISE WARNING 'sealed jobs are found by inspectd person withdraw alone';
    END IF;
    SELECT w.cancelled, w.erased INTO cancelled, erased
    FROM insp.withdraw_by_index(withdraw_person.partner, insp.reference_index(withdraw_person.reference)) w;
END
$$;
COMMENT ON FUNCTION insp.withdraw_person(text, text) IS
    'insp.withdraw_consent for all jobs of the person identified by a partner''s userReference, with the person''s faces, like insp.erase_person; returns how many jobs were cancelled and erased';
GRANT EXECUTE ON FUNCTION insp.withdraw_person(text, text) TO insp_operator;
