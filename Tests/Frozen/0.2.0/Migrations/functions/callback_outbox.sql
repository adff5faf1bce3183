-- Callbacks are written in the transaction of their event.

CREATE OR REPLACE FUNCTION insp.callback_announce() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    -- At most once in 50 ms, like insp.wake and for the same reason. A woken dispatcher polls again 60 ms later, for callbacks
    -- committed after the notification.
    tick constant bigint := floor(extract(epoch FROM clock_timestamp()) * 20);
BEGIN
    IF current_setting('insp.notify', true) = 'off' THEN
        RETURN NULL;
    END IF;
    IF (SELECT last_value FROM insp.wake_callback) <> tick THEN
        PERFORM setval('insp.wake_callback', tick);
        PERFORM pg_notify('insp_callback', '');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_announce() IS
    'Notifies dispatchers of new callbacks on channel insp_callback, at most once in 50 ms, unless insp.notify is off; only a hint, since dispatchers also poll';
CREATE OR REPLACE TRIGGER callback_announce AFTER INSERT ON insp.callback
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_announce();

CREATE OR REPLACE FUNCTION insp.callback_prepare() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- Not now(): callbacks due long before their commit would be below the dispatchers' floors.
    moment constant timestamptz := clock_timestamp();
    disabled constant bigint[] := ARRAY(SELECT e.id FROM insp.endpoint e WHERE NOT e.enabled);
BEGIN
    -- A statement that began before its endpoint's URL was changed still wrote the former one.
    IF NOT EXISTS (SELECT FROM insp.endpoint e
            WHERE e.ordering IS NOT NULL OR e.url = 'pull:' OR NOT e.events @> ARRAY['job.finished'])
        AND NOT EXISTS (SELECT FROM inserted i WHERE i.url = 'pull:') THEN
        INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, region, state)
        SELECT i.id, i.endpoint_id, moment, 0, 0, i.region, CASE WHEN i.endpoint_id = ANY (disabled) THEN 'held' ELSE 'pending' END
        FROM inserted i;
        RETURN NULL;
    END IF;
    DELETE FROM insp.callback c USING inserted i, insp.endpoint e
    WHERE c.id = ANY (ARRAY[i.id]) AND e.id = ANY (ARRAY[i.endpoint_id]) AND i.event = 'job.finished' AND NOT e.events @> ARRAY['job.finished'];
    INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, region, state, ordering_key)
    SELECT i.id, i.endpoint_id, moment, 0, 0, i.region, CASE WHEN e.enabled THEN 'pending' ELSE 'held' END,
        CASE WHEN e.ordering IS NOT NULL THEN insp.callback_ordering_key(e.ordering, i.job_id) END
    FROM inserted i JOIN insp.endpoint e ON e.id = ANY (ARRAY[i.endpoint_id])
    WHERE i.url <> 'pull:' AND (i.event <> 'job.finished' OR e.events @> ARRAY['job.finished']);
    INSERT INTO insp.callback_pull (callback_id, endpoint_id)
    SELECT i.id, i.endpoint_id FROM inserted i JOIN insp.endpoint e ON e.id = ANY (ARRAY[i.endpoint_id])
    WHERE i.url = 'pull:' AND (i.event <> 'job.finished' OR e.events @> ARRAY['job.finished']) ORDER BY i.id;
    IF FOUND THEN
        PERFORM insp.announce_pulls();
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_prepare() IS
    'Before new callbacks are visible: drops those of events that the endpoint does not receive, and makes the others pending or held, or ready to be numbered if they are pulled';
CREATE OR REPLACE TRIGGER callback_prepare AFTER INSERT ON insp.callback REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_prepare();

CREATE OR REPLACE FUNCTION insp.callback_progress() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.events && ARRAY['job.status', 'job.review_needed']) THEN
        RETURN NULL;
    END IF;
    INSERT INTO insp.callback (webhook_id, job_id, public_id, traceparent, endpoint_id, event, url, definition_key, has_reference,
        is_sealed, region)
    SELECT 'msg_' || replace(j.public_id::text, '-', '') || '_' || i.status, j.id, j.public_id, j.traceparent, e.id, w.event,
        coalesce(CASE WHEN j.own_callback THEN said.personal ->> 'callbackUrl' END, e.url),
        insp.definition_key(j.workflow), j.person_id IS NOT NULL OR coalesce(said.personal ? 'userReference', false),
        j.key_id IS NOT NULL, j.region
    FROM inserted i
        -- Only statuses that the job's row had: stages stored together with the end were never its status.
        JOIN insp.job j ON j.id = ANY (ARRAY[i.job_id]) AND j.status = i.status
        JOIN insp.endpoint e ON e.id = ANY (ARRAY[j.endpoint_id])
        CROSS JOIN LATERAL (SELECT CASE i.status WHEN 64 THEN 'job.review_needed' ELSE 'job.status' END AS kind,
            CASE i.status WHEN 64 THEN 'job.review_needed' ELSE 'job.status.' || i.status END AS event) w
        CROSS JOIN LATERAL (SELECT CASE WHEN w.kind = ANY (e.events) THEN insp.readable_personal(j.personal) END AS personal
            OFFSET 0) said
    WHERE i.status < 128 AND w.kind = ANY (e.events)
        AND (e.url IS NOT NULL OR j.own_callback AND said.personal ? 'callbackUrl')
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_progress() IS
    'Writes job.status and job.review_needed callbacks for the endpoints that receive them, in the transaction that raises the status';
CREATE OR REPLACE TRIGGER callback_progress AFTER INSERT ON insp.step REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_progress();

-- The ordering key of an endpoint's own events, and of jobs that retention removed, is only their number.
CREATE OR REPLACE FUNCTION insp.callback_ordering_key(p_ordering text, p_job bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
    -- A user's reference appears only as a digest: keys need to be compared, not read.
    SELECT CASE p_ordering
        WHEN 'user' THEN coalesce((SELECT 'user '
            || encode(sha256(convert_to(insp.readable_personal(j.personal) ->> 'userReference', 'UTF8')), 'hex')
            FROM insp.job j WHERE j.id = p_job), 'job ' || p_job)
        WHEN 'job' THEN 'job ' || p_job END
$$;
COMMENT ON FUNCTION insp.callback_ordering_key(text, bigint) IS
    'The ordering key of a job''s callbacks for an endpoint''s setting; null: in any order';

CREATE OR REPLACE FUNCTION insp.callback_result(p_job bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    RETURN (SELECT insp.result_document(j)::text FROM insp.job j WHERE j.id = p_job);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_result(bigint) IS
    'The whole result for the body of a job.finished callback, without the sealed values of a sealed job; null: the job no longer exists or cannot be read';

CREATE OR REPLACE FUNCTION insp.callback_sealed_body(p_job bigint) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT s.body FROM insp.step s WHERE s.job_id = p_job AND s.status = 128 AND s.seal > 0
$$;
COMMENT ON FUNCTION insp.callback_sealed_body(bigint) IS
    'The sealed body of a finished job''s result, for the body of its callback; null: there is none';

CREATE OR REPLACE FUNCTION insp.callback_is_reduced(p_job bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET enable_seqscan = off AS $$
    SELECT NOT EXISTS (SELECT FROM insp.job j JOIN insp.step s ON s.job_id = j.id AND s.status = 128
        WHERE j.id = p_job AND j.forgotten_at IS NULL AND NOT s.summary ?| ARRAY['purgedAt', 'erasedAt'])
$$;
COMMENT ON FUNCTION insp.callback_is_reduced(bigint) IS
    'Whether retention or erasure removed part of a finished job''s result';
