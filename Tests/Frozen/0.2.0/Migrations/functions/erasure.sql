-- Erasure of persons: of whole chains of reruns, and of everything that a caller, a document, a reviewer or an operator can
-- fill, job by job and never by partition.

CREATE OR REPLACE FUNCTION insp.lock_chains(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    firsts constant bigint[] := ARRAY(
        SELECT DISTINCT coalesce((SELECT r.first_id FROM insp.rerun r WHERE r.job_id = u.id), u.id) FROM unnest(p_jobs) AS u (id));
    chains bigint[];
    locked bigint[] := '{}'::bigint[];
BEGIN
    LOOP
        -- A rerun locks the job that it copies: either it is in the list, or it finds the job erased.
        chains := ARRAY(SELECT unnest(firsts) UNION SELECT r.job_id FROM insp.rerun r WHERE r.first_id = ANY (firsts) ORDER BY 1);
        EXIT WHEN chains = locked;
        PERFORM FROM insp.job j WHERE j.id = ANY (chains) ORDER BY j.id FOR NO KEY UPDATE;
        locked := chains;
    END LOOP;
    RETURN chains;
END
$$;
COMMENT ON FUNCTION insp.lock_chains(bigint[]) IS
    'Locks the whole chains of reruns of the given jobs and returns their jobs. Locks in the order of their numbers: two calls that erase the same jobs cannot deadlock';

CREATE OR REPLACE FUNCTION insp.erase_jobs(p_jobs bigint[], OUT removed integer, OUT templates integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    n integer;
BEGIN
    removed := cardinality(insp.remove_parts(p_jobs));
    DELETE FROM insp.step s WHERE s.job_id = ANY (p_jobs) AND s.status < 128;
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    UPDATE insp.step s SET summary = jsonb_build_object('erasedAt', insp.iso_time(clock_timestamp())), seal = 0, body = NULL
    WHERE s.job_id = ANY (p_jobs) AND s.status = 128 AND (s.body IS NOT NULL OR (s.summary ? 'erasedAt') IS NOT TRUE);
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    UPDATE insp.event e SET detail = e.detail - 'decision' WHERE e.job_id = ANY (p_jobs) AND e.detail ? 'decision';
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    DELETE FROM insp.job_key k WHERE k.job_id = ANY (p_jobs);
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    -- What another job's open request needs is deleted with the window.
    DELETE FROM insp.face_rate r WHERE r.ctid = ANY (ARRAY(
        SELECT x.ctid FROM insp.job j JOIN insp.face_rate x ON x.partner_id = j.partner_id
            AND x.face_id = insp.readable_personal(j.personal) ->> 'faceId'
        WHERE j.id = ANY (p_jobs) FOR UPDATE OF x SKIP LOCKED));
    DELETE FROM insp.face_job f WHERE f.job_id = ANY (p_jobs);
    DELETE FROM insp.capture_session c WHERE c.job_id = ANY (ARRAY(SELECT j.public_id FROM insp.job j WHERE j.id = ANY (p_jobs)));
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    DELETE FROM insp.face_pending f WHERE f.job_id = ANY (p_jobs);
    GET DIAGNOSTICS n = ROW_COUNT;
    templates := insp.face_forget(ARRAY(
        SELECT t.id FROM insp.face_template t WHERE t.job = ANY (ARRAY(SELECT j.public_id FROM insp.job j WHERE j.id = ANY (p_jobs)))));
    removed := removed + n + templates + (SELECT cardinality(r.jobs) + r.words FROM insp.remove_references(p_jobs, true) r);
END
$$;
COMMENT ON FUNCTION insp.erase_jobs(bigint[]) IS
    'Removes all personal data of finished jobs whose rows are locked; returns how many rows, 0: nothing was left; and how many templates';

CREATE OR REPLACE FUNCTION insp.erase_job(p_id uuid, p_for text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    job bigint;
    owner text;
    chain bigint[];
    open uuid;
    gone record;
BEGIN
    SELECT j.id, p.name INTO job, owner FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE j.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    chain := insp.lock_chains(ARRAY[job]);
    SELECT j.public_id INTO open FROM insp.job j WHERE j.id = ANY (chain) AND j.status < 128 ORDER BY j.id LIMIT 1;
    IF open = p_id THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED', NULL, 'Cancel it first.');
    ELSIF open IS NOT NULL THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED', open || ' of the same chain of reruns', 'Cancel it first.');
    END IF;
    SELECT * INTO gone FROM insp.erase_jobs(chain);
    IF gone.removed = 0 THEN
        RETURN false;
    END IF;
    PERFORM insp.record('erase', p_id::text, jsonb_build_object('partner', owner, 'jobs', cardinality(chain),
        'templates', nullif(gone.templates, 0), 'for', p_for));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.erase_job(uuid, text) IS
    'insp.erase, with the reason to record: person; null: only the job';

CREATE OR REPLACE FUNCTION insp.erase(id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
-- A person's right does not wait for a forgotten transaction.
SET lock_timeout = '5s' AS $$
BEGIN
    PERFORM insp.need_read_committed();
    RETURN insp.erase_job(erase.id, NULL);
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.erase(uuid) IS
    'Removes at once all personal data of a finished job and of all jobs of its chain of reruns: parts, results, references, keys, notes, templates, and the references and decisions of callbacks that still wait. What remains: that the jobs existed, when they ended, and a proof of the consent. false: there was nothing to remove. ROW_LOCKED if another transaction holds a row of the job for five seconds';
GRANT EXECUTE ON FUNCTION insp.erase(uuid) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.erase_keyless(p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT j.public_id FROM insp.job j WHERE j.id = ANY (p_jobs) ORDER BY j.id LOOP
        BEGIN
            PERFORM insp.erase_job(one.public_id, 'person');
        EXCEPTION WHEN lock_not_available OR SQLSTATE 'IN030' THEN
            -- Another job of the chain has not ended, and erases all when it does; or a row is held, and retention erases it.
            NULL;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION insp.erase_keyless(bigint[]) IS
    'Erases finished jobs that were accepted while their person was erased: nobody can open what was sealed, and their references must go as well';

CREATE OR REPLACE FUNCTION insp.remove_parts(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    removed bigint[];
    contents bigint[];
    objects text[];
BEGIN
    -- Everything: a URL often opens the object to anyone who has it, and a digest shows whether an image was this one.
    WITH gone AS (
        DELETE FROM insp.part p WHERE p.job_id = ANY (p_jobs) RETURNING p.job_id, p.content_id, p.location
    )
    SELECT coalesce(array_agg(DISTINCT g.job_id), '{}'), array_agg(DISTINCT g.content_id), array_agg(g.location) FILTER (WHERE g.location LIKE 's3:%')
    INTO removed, contents, objects FROM gone g;
    IF objects IS NOT NULL THEN
        PERFORM insp.forget_objects(objects);
    END IF;
    -- A new statement sees them deleted. Bytes that another job of the chain refers to remain until that job's parts are removed; a
    -- rerun being created locks the job whose parts it takes over, so these remain too.
    DELETE FROM insp.content c WHERE c.id = ANY (contents)
        AND NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[c.id]))
        AND NOT EXISTS (SELECT FROM insp.rerun r, LATERAL (
            SELECT FROM insp.part p WHERE p.job_id = ANY (ARRAY[r.job_id]) LIMIT 1) p WHERE r.first_id = c.id);
    PERFORM insp.forget_keys(p_jobs);
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.remove_parts(bigint[]) IS
    'Removes jobs'' parts, and their bytes unless a rerun still needs them; returns the jobs that had some';

CREATE OR REPLACE FUNCTION insp.remove_results(p_jobs bigint[], p_word text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    removed bigint[];
BEGIN
    DELETE FROM insp.step s WHERE s.job_id = ANY (p_jobs) AND s.status < 128;
    WITH gone AS (
        UPDATE insp.step s SET summary = jsonb_build_object(p_word, insp.iso_time(clock_timestamp())), seal = 0, body = NULL
        WHERE s.job_id = ANY (p_jobs) AND s.status = 128
            AND (s.body IS NOT NULL OR (s.summary ?| ARRAY['purgedAt', 'erasedAt']) IS NOT TRUE)
        RETURNING s.job_id
    )
    SELECT coalesce(array_agg(g.job_id), '{}') INTO removed FROM gone g;
    PERFORM insp.forget_words(p_jobs);
    PERFORM insp.forget_keys(p_jobs);
    RETURN removed;
END
$$;
COMMENT ON FUNCTION insp.remove_results(bigint[], text) IS
    'Removes jobs'' results and texts about them, and stores the time under the given key; returns the jobs that had some';

CREATE OR REPLACE FUNCTION insp.remove_references(p_jobs bigint[], p_remove boolean, OUT jobs bigint[], OUT words integer)
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- By the references as well: a job whose person was locked when it was accepted is not linked to the person.
    persons constant bigint[] := ARRAY(
        SELECT j.person_id FROM insp.job j WHERE j.id = ANY (p_jobs) AND j.person_id IS NOT NULL
        UNION SELECT p.id FROM insp.job_reference r JOIN insp.person p ON p.partner_id = r.partner_id
            AND p.reference_index = r.index
        WHERE r.job_id = ANY (p_jobs) AND r.kind = 'user');
BEGIN
    PERFORM insp.need_consent_key();
    WITH gone AS (
        UPDATE insp.job j SET person_id = NULL, rerun_of = NULL, own_callback = false, traceparent = NULL, request = NULL,
            personal = NULL, sealed = NULL,
            consent_proof = coalesce(j.consent_proof, insp.consent_proof(insp.readable_personal(j.personal) -> 'consent')),
            forgotten_at = clock_timestamp()
        WHERE j.id = ANY (p_jobs) AND (j.rerun_of IS NOT NULL OR j.traceparent IS NOT NULL OR j.personal IS NOT NULL
            OR j.sealed IS NOT NULL
            OR j.request - ARRAY['partner', 'workflow'] <> '{}')
        RETURNING j.id
    )
    SELECT coalesce(array_agg(g.id), '{}') INTO jobs FROM gone g;
    IF p_remove THEN
        -- Texts about a job without a person must go as well.
        UPDATE insp.job j SET forgotten_at = clock_timestamp() WHERE j.id = ANY (p_jobs) AND j.forgotten_at IS NULL;
    END IF;
    DELETE FROM insp.face_named f WHERE f.job_id = ANY (p_jobs);
    DELETE FROM insp.job_reference r WHERE r.job_id = ANY (p_jobs);
    PERFORM insp.forget_keys(p_jobs);
    PERFORM insp.forget_persons(persons);
    -- Texts last: a transaction that holds a callback may still write some.
    words := insp.forget_callbacks(ARRAY(SELECT c.id FROM insp.callback c WHERE c.job_id = ANY (p_jobs)), p_remove);
    words := words + insp.forget_words(p_jobs);
END
$$;
COMMENT ON FUNCTION insp.remove_references(bigint[], boolean) IS
    'Removes personal data from jobs'' requests and their callbacks; p_remove as for insp.forget_callbacks. Returns the jobs whose requests had some, and from how many rows it removed texts';

CREATE OR REPLACE FUNCTION insp.forget_words(p_jobs bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    removed integer;
    digests text[];
BEGIN
    UPDATE insp.dead d SET detail = NULL WHERE d.job_id = ANY (p_jobs) AND d.detail IS NOT NULL;
    GET DIAGNOSTICS removed = ROW_COUNT;
    -- Under the job's id, and under those of its callbacks.
    -- <> matches the index by subject, and no other.
    WITH gone AS (
        UPDATE insp.record r SET words = NULL, words_salt = NULL
        WHERE r.chain <> 'access' AND r.subject = ANY (ARRAY(
                SELECT s.subject FROM insp.job j, LATERAL (SELECT 'msg_' || replace(j.public_id::text, '-', '') AS name) n,
                    LATERAL (VALUES (j.public_id::text), (n.name), (n.name || '_4'), (n.name || '_8'), (n.name || '_16'),
                        (n.name || '_32'), (n.name || '_64')) AS s (subject)
                WHERE j.id = ANY (p_jobs)))
            AND r.words IS NOT NULL
        RETURNING r.words_sha256
    )
    SELECT array_agg(encode(g.words_sha256, 'hex')) INTO digests FROM gone g;
    -- Why operators acted on many jobs may be about one of them.
    digests := digests || insp.forget_reasons(insp.tasks_about(p_jobs));
    IF digests IS NOT NULL THEN
        -- Words that are missing without this were removed by somebody else.
        PERFORM insp.record('forget_words', 'record', jsonb_build_object('words', digests));
    END IF;
    RETURN removed + coalesce(cardinality(digests), 0);
END
$$;
COMMENT ON FUNCTION insp.forget_words(bigint[]) IS
    'Removes texts of errors, reviewers and operators about jobs, also reasons of tasks that did something to them; returns from how many rows';

CREATE OR REPLACE FUNCTION insp.forget_callbacks(p_ids bigint[], p_remove boolean) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    locked constant bigint[] := ARRAY(SELECT c.id FROM insp.callback c WHERE c.id = ANY (p_ids) ORDER BY c.id FOR UPDATE);
    gone bigint[];
    told integer;
    changed integer;
BEGIN
    -- A settlement under way has locked the claim and written its rows: this waits for it before reading anything.
    PERFORM FROM insp.callback c JOIN insp.callback_lease l ON l.endpoint_id = c.endpoint_id AND l.callback_id = c.id
    WHERE c.id = ANY (locked) FOR UPDATE OF l;
    -- A new statement sees what the holder of the locks wrote. Waiting callbacks remain, as the partner must learn that the job
    -- has ended, but go to the endpoint's own URL: the job's may contain a reference or a token. Without one nothing can be sent.
    SELECT array_agg(c.id), count(*) FILTER (
            WHERE c.url IS DISTINCT FROM e.url OR c.traceparent IS NOT NULL)
    INTO gone, told
    FROM insp.callback c JOIN insp.endpoint e ON e.id = c.endpoint_id
    -- Nobody knows whether an event was pulled, so it remains.
    WHERE c.id = ANY (locked) AND (e.url IS NULL OR p_remove AND c.url <> 'pull:' AND (insp.callback_delivered_at(c) IS NOT NULL
        OR EXISTS (SELECT FROM insp.callback_waiting w WHERE w.callback_id = c.id AND w.state = 'dead')));
    IF gone IS NOT NULL THEN
        DELETE FROM insp.callback_waiting w WHERE w.callback_id = ANY (gone);
        DELETE FROM insp.callback_lease l USING insp.callback c
        WHERE c.id = ANY (gone) AND l.endpoint_id = c.endpoint_id AND l.callback_id = c.id;
        DELETE FROM insp.callback_attempt a WHERE a.callback_id = ANY (gone);
        PERFORM insp.remove_pulls(gone);
        DELETE FROM insp.callback c WHERE c.id = ANY (gone);
    END IF;
    UPDATE insp.callback c SET url = e.url, traceparent = NULL,
        decision = CASE WHEN NOT p_remove THEN c.decision END, face = CASE WHEN NOT p_remove THEN c.face END, is_erased = c.is_erased OR p_remove AND c.decision IS NOT NULL
    FROM insp.endpoint e
    WHERE c.id = ANY (locked) AND e.id = c.endpoint_id AND (c.url IS DISTINCT FROM e.url OR c.traceparent IS NOT NULL
        OR p_remove AND c.decision IS NOT NULL);
    GET DIAGNOSTICS changed = ROW_COUNT;
    told := told + changed;
    PERFORM insp.pull_waiting(locked);
    -- The error marks an attempt as failed; its code is enough.
    UPDATE insp.callback_attempt a SET error = coalesce(a.code, 'FAILED')
    WHERE a.callback_id = ANY (locked) AND a.error <> coalesce(a.code, 'FAILED');
    GET DIAGNOSTICS changed = ROW_COUNT;
    told := told + changed;
    -- The ordering key of a user is a digest of the reference.
    UPDATE insp.callback_waiting w SET reason = NULL,
        ordering_key = CASE WHEN w.ordering_key LIKE 'user %' THEN 'job ' || c.job_id ELSE w.ordering_key END
    FROM insp.callback c
    WHERE c.id = ANY (locked) AND w.callback_id = c.id AND (w.reason IS NOT NULL OR w.ordering_key LIKE 'user %');
    GET DIAGNOSTICS changed = ROW_COUNT;
    told := told + changed;
    UPDATE insp.callback_lease l SET ordering_key = 'job ' || c.job_id
    FROM insp.callback c
    WHERE c.id = ANY (locked) AND l.endpoint_id = c.endpoint_id AND l.callback_id = c.id AND l.ordering_key LIKE 'user %';
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN told + changed;
END
$$;
COMMENT ON FUNCTION insp.forget_callbacks(bigint[], boolean) IS
    'Removes URLs and traces from callbacks whose jobs'' references are removed: those that wait are sent without them, to the endpoint''s own URL, or not at all if it has none. Erasure (p_remove) also removes those that are delivered or dead-lettered, and the decisions of the others, which include all that are pulled. Returns how many rows changed';

CREATE OR REPLACE FUNCTION insp.consent_proof(p_consent jsonb, p_key bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('key', k.id,
        'hmacSha256', encode(insp.hmac_sha256(k.key, convert_to(p_consent::text, 'UTF8')), 'hex'),
        'obtainedAt', p_consent -> 'obtainedAt',
        -- A short word or number identifies a version, not a person.
        'policyVersion', CASE WHEN p_consent ->> 'policyVersion' ~ '^[A-Za-z0-9._-]{1,32}$' THEN p_consent -> 'policyVersion' END,
        'purposes', CASE WHEN jsonb_typeof(p_consent -> 'purposes') = 'array' THEN (SELECT jsonb_agg(u.word) FROM (
            SELECT e.word FROM jsonb_array_elements(p_consent -> 'purposes') AS e (word)
            WHERE jsonb_typeof(e.word) = 'string' AND e.word #>> '{}' ~ '^[A-Za-z0-9._-]{1,32}$' LIMIT 16) u) END))
    FROM (SELECT s.id, s.value AS key FROM insp.secrets('inspectd', ARRAY['consent_key']) s
        WHERE p_key IS NULL OR s.id = p_key ORDER BY s.id DESC LIMIT 1) k
    WHERE p_consent IS NOT NULL
$$;
COMMENT ON FUNCTION insp.consent_proof(jsonb, bigint) IS
    'The proof that remains of a consent: a keyed digest, the policy''s version, the purposes and the time; a holder of the consent can prove that it is the one';

CREATE OR REPLACE FUNCTION insp.consent_holds(id uuid, consent jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    given jsonb;
    kept jsonb;
BEGIN
    SELECT insp.readable_personal(j.personal) -> 'consent', j.consent_proof INTO given, kept
    FROM insp.job j WHERE j.public_id = consent_holds.id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    INSERT INTO insp.record (chain, action, subject) VALUES ('access', 'consent', consent_holds.id::text);
    RETURN coalesce(CASE WHEN kept IS NULL THEN given = consent_holds.consent ELSE
        kept -> 'hmacSha256' = insp.consent_proof(consent_holds.consent, (kept -> 'key')::bigint) -> 'hmacSha256' END, false);
END
$$;
COMMENT ON FUNCTION insp.consent_holds(uuid, jsonb) IS
    'Whether this is the consent with which a job was accepted, even after the job was erased. The question is recorded (insp.v_access)';
GRANT EXECUTE ON FUNCTION insp.consent_holds(uuid, jsonb) TO insp_operator, insp_auditor;
