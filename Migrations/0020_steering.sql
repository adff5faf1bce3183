-- How operators steer: pause and limit, cancel, run again, drain. Every such act is recorded.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('JOB_NOT_FINISHED', 'IN030', 'the job is not finished', false),
    ('PARTS_PURGED', 'IN031', 'the job''s parts were removed', false);

-- The record --------------------------------------------------------------------------------------------------------------

CREATE TABLE insp.operator_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who text NOT NULL DEFAULT session_user,
    action text NOT NULL CHECK (action ~ '^[a-z_]+$'),
    subject text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE insp.operator_event IS 'What operators did: append-only';
COMMENT ON COLUMN insp.operator_event.id IS 'Internal number';
COMMENT ON COLUMN insp.operator_event.at IS 'When';
COMMENT ON COLUMN insp.operator_event.who IS 'The role that was logged in';
COMMENT ON COLUMN insp.operator_event.action IS 'The function that was called';
COMMENT ON COLUMN insp.operator_event.subject IS 'What it was done to: a job''s public id, or a partner, lane or worker';
COMMENT ON COLUMN insp.operator_event.detail IS 'Reasons, old and new values, counts';

CREATE FUNCTION insp.operator_event_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '1 year' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'insp.operator_event is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.operator_event_guard() IS
    'Refuses to change what is recorded of operators, also to the owner; what is older than a year may be removed';
CREATE TRIGGER operator_event_guard BEFORE UPDATE OR DELETE ON insp.operator_event
    FOR EACH ROW EXECUTE FUNCTION insp.operator_event_guard();
CREATE TRIGGER operator_event_truncate BEFORE TRUNCATE ON insp.operator_event
    FOR EACH STATEMENT EXECUTE FUNCTION insp.operator_event_guard();

CREATE FUNCTION insp.record(p_action text, p_subject text, p_detail jsonb DEFAULT '{}') RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    INSERT INTO insp.operator_event (action, subject, detail)
    VALUES (p_action, p_subject, jsonb_strip_nulls(coalesce(p_detail, '{}')))
$$;
COMMENT ON FUNCTION insp.record(text, text, jsonb) IS 'Records what the session''s role does';

CREATE VIEW insp.v_operator_events AS
SELECT o.at, o.who, o.action, o.subject, o.detail FROM insp.operator_event o ORDER BY o.id DESC;
COMMENT ON VIEW insp.v_operator_events IS 'What operators did, newest first';
COMMENT ON COLUMN insp.v_operator_events.at IS 'When';
COMMENT ON COLUMN insp.v_operator_events.who IS 'The role that was logged in';
COMMENT ON COLUMN insp.v_operator_events.action IS 'The function that was called';
COMMENT ON COLUMN insp.v_operator_events.subject IS 'What it was done to: a job''s public id, or a partner, lane or worker';
COMMENT ON COLUMN insp.v_operator_events.detail IS 'Reasons, old and new values, counts';
GRANT SELECT ON insp.operator_event, insp.v_operator_events TO insp_operator, insp_auditor;

CREATE FUNCTION insp.tell(p_worker bigint DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    SELECT pg_notify('insp_control', coalesce(p_worker::text, '*'))
$$;
COMMENT ON FUNCTION insp.tell(bigint) IS
    'Asks a worker (or all) on channel insp_control to look at once; a hint only, heartbeats and claims see everything anyway';

-- Names of partners and lanes ------------------------------------------------------------------------------------------

CREATE FUNCTION insp.lane_number(p_lane text) RETURNS smallint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF p_lane IN ('urgent', 'normal', 'bulk') THEN
        RETURN CASE p_lane WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END;
    END IF;
    PERFORM insp.refuse('LANE_UNKNOWN', left(quote_nullable(p_lane), 40));
END
$$;
COMMENT ON FUNCTION insp.lane_number(text) IS 'Number of a lane (urgent, normal, bulk); refuses other names';

CREATE FUNCTION insp.partner_number(p_partner text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    number integer;
BEGIN
    SELECT p.id INTO number FROM insp.partner p WHERE p.name = p_partner;
    IF NOT FOUND THEN
        PERFORM insp.refuse('PARTNER_UNKNOWN', left(quote_nullable(p_partner), 40));
    END IF;
    RETURN number;
END
$$;
COMMENT ON FUNCTION insp.partner_number(text) IS 'Number of a partner; refuses other names';

-- Pause and limit ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.pause(lane text DEFAULT NULL, partner text DEFAULT NULL, reason text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    subject text;
BEGIN
    IF pause.lane IS NOT NULL AND pause.partner IS NOT NULL THEN
        RAISE EXCEPTION 'pause takes a lane or a partner, not both' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'A partner is paused in all its lanes, a lane for all its partners.';
    ELSIF pause.partner IS NOT NULL THEN
        UPDATE insp.partner p SET paused = true, pause_reason = pause.reason
        WHERE p.id = insp.partner_number(pause.partner);
        subject := 'partner ' || pause.partner;
    ELSE
        UPDATE insp.control c SET paused = true, reason = pause.reason, changed_at = now(), changed_by = session_user
        WHERE pause.lane IS NULL OR c.lane = insp.lane_number(pause.lane);
        subject := coalesce('lane ' || pause.lane, 'all lanes');
    END IF;
    PERFORM insp.record('pause', subject, jsonb_build_object('reason', pause.reason));
    PERFORM insp.tell();
    RETURN subject || ': paused';
END
$$;
COMMENT ON FUNCTION insp.pause(text, text, text) IS
    'Stops claims from a lane (urgent, normal, bulk) or of a partner or, with neither, from every lane. Running jobs finish, new ones are accepted and wait';

CREATE FUNCTION insp.resume(lane text DEFAULT NULL, partner text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    subject text;
BEGIN
    IF resume.lane IS NOT NULL AND resume.partner IS NOT NULL THEN
        RAISE EXCEPTION 'resume takes a lane or a partner, not both' USING ERRCODE = 'invalid_parameter_value';
    ELSIF resume.partner IS NOT NULL THEN
        UPDATE insp.partner p SET paused = false, pause_reason = NULL WHERE p.id = insp.partner_number(resume.partner);
        subject := 'partner ' || resume.partner;
    ELSE
        UPDATE insp.control c SET paused = false, reason = NULL, changed_at = now(), changed_by = session_user
        WHERE resume.lane IS NULL OR c.lane = insp.lane_number(resume.lane);
        subject := coalesce('lane ' || resume.lane, 'all lanes');
    END IF;
    PERFORM insp.record('resume', subject);
    PERFORM insp.wake_all();
    RETURN subject || ': resumed';
END
$$;
COMMENT ON FUNCTION insp.resume(text, text) IS
    'Lets claims go on: from a lane, of a partner or, with neither, from every lane (a partner that was paused stays so)';

CREATE FUNCTION insp.wake_all() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    -- Not insp.wake: its announcement may be spared if a producer made one in the same 50 ms, before this commit.
    SELECT pg_notify('insp_ready', l::text) FROM generate_series(0, 2) l;
    SELECT insp.tell()
$$;
COMMENT ON FUNCTION insp.wake_all() IS 'Has every worker look at every lane once this transaction is committed';

CREATE OR REPLACE FUNCTION insp.pause_lane(p_lane text, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.pause(lane => insp.lane_name(insp.lane_number(p_lane)), reason => p_reason);
END
$$;

CREATE OR REPLACE FUNCTION insp.resume_lane(p_lane text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    PERFORM insp.resume(lane => insp.lane_name(insp.lane_number(p_lane)));
END
$$;

CREATE FUNCTION insp.limit_partner(
    partner text, max_running integer DEFAULT NULL, rate_per_second double precision DEFAULT NULL,
    rate_burst integer DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    number constant integer := insp.partner_number(limit_partner.partner);
    burst integer;
BEGIN
    IF limit_partner.max_running < 1 THEN
        RAISE EXCEPTION 'max_running must be at least 1' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'insp.pause(partner => …) stops a partner.';
    ELSIF NOT (limit_partner.rate_per_second > 0 AND limit_partner.rate_per_second <= 1000000) THEN
        RAISE EXCEPTION 'rate_per_second must be above 0 and at most 1000000'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'insp.pause(partner => …) stops a partner.';
    ELSIF limit_partner.rate_burst < 1 OR limit_partner.rate_burst IS NOT NULL AND limit_partner.rate_per_second IS NULL THEN
        RAISE EXCEPTION 'rate_burst must be at least 1 and belongs to a rate_per_second'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF limit_partner.rate_per_second IS NOT NULL THEN
        -- A rate without a burst allows at once what it allows in a second, and at least one.
        burst := coalesce(limit_partner.rate_burst, greatest(1, ceil(limit_partner.rate_per_second))::integer);
    END IF;
    UPDATE insp.partner p
    SET max_running = limit_partner.max_running, rate_per_second = limit_partner.rate_per_second, rate_burst = burst
    WHERE p.id = number;
    PERFORM insp.record('limit_partner', 'partner ' || limit_partner.partner, jsonb_build_object(
        'maxRunning', limit_partner.max_running, 'ratePerSecond', limit_partner.rate_per_second, 'rateBurst', burst));
    PERFORM insp.wake_all();
    RETURN format('partner %s: %s running, %s', limit_partner.partner,
        coalesce('at most ' || limit_partner.max_running, 'any number'),
        coalesce(format('%s a second in bursts of %s', limit_partner.rate_per_second, burst), 'at any rate'));
END
$$;
COMMENT ON FUNCTION insp.limit_partner(text, integer, double precision, integer) IS
    'Limits how many of a partner''s jobs run at once and how many are started in a second, over all workers; null: no limit. All limits are set by each call';

CREATE FUNCTION insp.set_lane_weight(lane text, weight integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF set_lane_weight.weight IS NULL OR set_lane_weight.weight NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'weight must be from 1 to 1000' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE insp.control c SET weight = set_lane_weight.weight, changed_at = now(), changed_by = session_user
    WHERE c.lane = insp.lane_number(set_lane_weight.lane);
    PERFORM insp.record('set_lane_weight', 'lane ' || set_lane_weight.lane,
        jsonb_build_object('weight', set_lane_weight.weight));
    PERFORM insp.tell();
    RETURN format('lane %s: weight %s', set_lane_weight.lane, set_lane_weight.weight);
END
$$;
COMMENT ON FUNCTION insp.set_lane_weight(text, integer) IS
    'Sets a lane''s share of the claims while several lanes have jobs waiting, 1 to 1000';

CREATE OR REPLACE FUNCTION insp.drain_worker(p_worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    UPDATE insp.worker SET draining = true WHERE id = p_worker;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM insp.record('drain_worker', 'worker ' || p_worker);
    PERFORM insp.tell(p_worker);
    RETURN true;
END
$$;

-- Cancel ------------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION insp.cancel(p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    job bigint;
BEGIN
    SELECT x.id INTO job FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    IF insp.end_unclaimed(ARRAY[job], 'CANCELLED', NULL) = 0 THEN
        RETURN false;
    END IF;
    PERFORM insp.record('cancel', p_id::text);
    RETURN true;
END
$$;

CREATE FUNCTION insp.cancel_partner(partner text, reason text DEFAULT NULL, batch integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    queues constant integer[] := ARRAY(
        SELECT q.id FROM insp.queue q WHERE q.partner_id = insp.partner_number(cancel_partner.partner));
    jobs bigint[];
    ended integer := 0;
BEGIN
    -- Rows that a claim or maintenance holds for a moment are waited for: skipped, they could be taken for the last ones.
    -- Jobs that are claimed meanwhile run now, and are cancelled by their ids.
    WITH heads AS MATERIALIZED (
        SELECT x.ctid AS row FROM insp.ready x WHERE x.queue = ANY (queues)
        LIMIT cancel_partner.batch FOR UPDATE
    ), waiting AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT h.row FROM heads h)) RETURNING x.job_id
    )
    SELECT coalesce(array_agg(w.job_id), '{}') INTO jobs FROM waiting w;
    IF cardinality(jobs) < cancel_partner.batch THEN
        WITH due AS MATERIALIZED (
            SELECT d.ctid AS row FROM insp.delayed d WHERE d.queue = ANY (queues)
            LIMIT cancel_partner.batch - cardinality(jobs) FOR UPDATE
        ), waiting AS (
            DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING d.job_id
        )
        SELECT jobs || coalesce(array_agg(w.job_id), '{}') INTO jobs FROM waiting w;
    END IF;
    IF cardinality(jobs) > 0 THEN
        ended := insp.end_unclaimed(jobs, 'CANCELLED', NULL);
        PERFORM insp.record('cancel_partner', 'partner ' || cancel_partner.partner,
            jsonb_build_object('reason', cancel_partner.reason, 'jobs', ended));
    END IF;
    RETURN ended;
END
$$;
COMMENT ON FUNCTION insp.cancel_partner(text, text, integer) IS
    'Cancels up to a batch of a partner''s waiting and delayed jobs and returns how many; call it until it returns 0. Running jobs are left alone';

-- Again -------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION insp.rerun(id uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    old insp.job;
    partner insp.partner;
    number bigint;
    fresh constant uuid := gen_random_uuid();
BEGIN
    SELECT * INTO old FROM insp.job j WHERE j.public_id = rerun.id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    ELSIF old.status < 128 THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED', 'status ' || old.status);
    END IF;
    SELECT * INTO partner FROM insp.partner p WHERE p.id = old.partner_id;
    IF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    -- Locked, so that retention cannot remove the bytes between this look and the copying; where it was first, the row
    -- that is read here is the one without them.
    PERFORM FROM insp.part p WHERE p.job_id = old.id FOR SHARE;
    IF NOT FOUND OR EXISTS (
        SELECT FROM insp.part p WHERE p.job_id = old.id AND (p.purged_at IS NOT NULL OR p.bytes IS NULL AND p.url IS NULL)) THEN
        PERFORM insp.refuse('PARTS_PURGED');
    END IF;
    number := nextval('insp.job_id');
    INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, lane, region, expires_at, callback_url, traceparent, payload)
    VALUES (number, fresh, old.partner_id, old.endpoint_id, old.lane, old.region, now() + partner.job_lifetime,
        old.callback_url, old.traceparent,
        -- What the partner no longer lets suffice does not suffice again.
        CASE WHEN partner.liveness_evidence_suffices THEN old.payload ELSE old.payload - 'evidenceSuffices' END
            || jsonb_build_object('rerunOf', old.public_id));
    INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, url, bytes)
    SELECT number, p.kind, p.ordinal, p.size, p.sha256, p.url, p.bytes FROM insp.part p WHERE p.job_id = old.id;
    INSERT INTO insp.ready (queue, job_id) VALUES (insp.queue_of(old.region, old.lane, old.partner_id), number);
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = session_user
    WHERE d.job_id = old.id AND d.resolved_at IS NULL;
    PERFORM insp.record('rerun', old.public_id::text, jsonb_build_object('as', fresh));
    IF number % 1000000 = 0 THEN
        PERFORM insp.ensure_partitions();
    END IF;
    PERFORM insp.wake(old.lane);
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION insp.rerun(uuid) IS
    'Runs a finished job again as a new job with the same request and parts and a fresh lifetime, and returns its id. Its result names the old job (rerunOf), and a job that was given up counts as resolved';

CREATE OR REPLACE FUNCTION insp.job_result(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, insp, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
    j insp.job;
    claimed timestamptz;
BEGIN
    SELECT * INTO j FROM insp.job x WHERE x.public_id = p_id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    IF j.status = 1 THEN
        SELECT l.claimed_at INTO claimed FROM insp.lease l WHERE l.job_id = j.id;
    END IF;
    RETURN coalesce((SELECT s.output FROM insp.step s WHERE s.job_id = j.id AND s.status = 128), '{}')
        || jsonb_build_object('id', j.public_id,
            'status', CASE WHEN j.status = 1 AND claimed IS NOT NULL THEN 2 ELSE j.status END,
            'workflow', jsonb_build_object('key', j.payload ->> 'workflow',
                'definitionKey', insp.definition_key(j.payload ->> 'workflow')),
            'createdAt', insp.iso_time(j.created_at))
        || jsonb_strip_nulls(jsonb_build_object('startedAt', insp.iso_time(coalesce(j.started_at, claimed)),
            'completedAt', insp.iso_time(j.completed_at),
            'customerInternalReference', j.payload -> 'customerInternalReference',
            'userReference', j.payload -> 'userReference',
            'reportingCriteria', j.payload -> 'reportingCriteria',
            'rerunOf', j.payload -> 'rerunOf'));
END
$$;

CREATE FUNCTION insp.resolve_dead(id uuid, note text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    job bigint;
BEGIN
    SELECT j.id INTO job FROM insp.job j WHERE j.public_id = resolve_dead.id;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = session_user
    WHERE d.job_id = job AND d.resolved_at IS NULL;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM insp.record('resolve_dead', resolve_dead.id::text, jsonb_build_object('note', resolve_dead.note));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.resolve_dead(uuid, text) IS
    'Marks a job that was given up as dealt with, without running it again; false: it is not in v_dead, or is resolved';

CREATE OR REPLACE VIEW insp.v_dead AS
SELECT j.public_id AS id, p.name AS partner, j.payload ->> 'workflow' AS workflow, d.code, d.detail, d.attempts, d.crashes,
    d.died_at, d.resolved_at, d.job_id, d.resolved_by
FROM insp.dead d JOIN insp.job j ON j.id = d.job_id JOIN insp.partner p ON p.id = j.partner_id;
COMMENT ON COLUMN insp.v_dead.resolved_by IS 'Who dealt with it (rerun, resolve_dead)';

GRANT EXECUTE ON FUNCTION
    insp.pause(text, text, text), insp.resume(text, text), insp.set_lane_weight(text, integer),
    insp.limit_partner(text, integer, double precision, integer), insp.cancel_partner(text, text, integer),
    insp.resolve_dead(uuid, text)
TO insp_operator;
GRANT EXECUTE ON FUNCTION insp.rerun(uuid) TO insp_producer, insp_operator;
