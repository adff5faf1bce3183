-- Functions for operators: pause, limit, cancel, rerun. Every action is recorded.

CREATE OR REPLACE FUNCTION insp.pause(lane text DEFAULT NULL, partner text DEFAULT NULL, reason text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    subject text;
    was insp.partner;
    detail constant jsonb := jsonb_build_object('reason', pause.reason);
BEGIN
    IF pause.lane IS NOT NULL AND pause.partner IS NOT NULL THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'both a lane and a partner',
            'A partner is paused in all lanes, a lane for all partners.');
    ELSIF pause.partner IS NOT NULL THEN
        was := insp.partner_lock(pause.partner);
        UPDATE insp.partner p SET paused = true, pause_reason = pause.reason WHERE p.id = was.id;
        PERFORM insp.record_partner('pause', was, detail);
        subject := 'partner ' || pause.partner;
    ELSE
        UPDATE insp.control c SET paused = true, reason = pause.reason, changed_at = now(), changed_by = insp.actor()
        WHERE pause.lane IS NULL OR c.lane = insp.lane_number(pause.lane);
        subject := coalesce('lane ' || pause.lane, 'all lanes');
        PERFORM insp.record('pause', subject, detail);
    END IF;
    PERFORM insp.tell();
    RETURN subject || ': paused';
END
$$;
COMMENT ON FUNCTION insp.pause(text, text, text) IS
    'Stops claims from a lane (urgent, normal, bulk) or of a partner or, with neither, from every lane. Running jobs finish, new ones are accepted and wait';
GRANT EXECUTE ON FUNCTION insp.pause(text, text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.resume(lane text DEFAULT NULL, partner text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    subject text;
    was insp.partner;
BEGIN
    IF resume.lane IS NOT NULL AND resume.partner IS NOT NULL THEN
        PERFORM insp.refuse('PARAMETER_INVALID', 'both a lane and a partner', 'resume takes a lane or a partner.');
    ELSIF resume.partner IS NOT NULL THEN
        was := insp.partner_lock(resume.partner);
        UPDATE insp.partner p SET paused = false, pause_reason = NULL WHERE p.id = was.id;
        PERFORM insp.record_partner('resume', was);
        subject := 'partner ' || resume.partner;
    ELSE
        UPDATE insp.control c SET paused = false, reason = NULL, changed_at = now(), changed_by = insp.actor()
        WHERE resume.lane IS NULL OR c.lane = insp.lane_number(resume.lane);
        subject := coalesce('lane ' || resume.lane, 'all lanes');
        PERFORM insp.record('resume', subject);
    END IF;
    PERFORM insp.wake_all();
    RETURN subject || ': resumed';
END
$$;
COMMENT ON FUNCTION insp.resume(text, text) IS
    'Resumes claims: from a lane, of a partner or, with neither, from every lane (a paused partner stays paused)';
GRANT EXECUTE ON FUNCTION insp.resume(text, text) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.limit_partner(
    partner text, max_running integer DEFAULT NULL, rate_per_second double precision DEFAULT NULL,
    rate_burst integer DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    was constant insp.partner := insp.partner_lock(limit_partner.partner);
    burst integer;
BEGIN
    IF limit_partner.max_running < 1 THEN
        PERFORM insp.refuse('PARAMETER_INVALID', format('max_running is %s', limit_partner.max_running),
            'max_running is at least 1; insp.pause(partner => …) stops a partner.');
    ELSIF NOT (limit_partner.rate_per_second > 0 AND limit_partner.rate_per_second <= 1000000) THEN
        PERFORM insp.refuse('PARAMETER_INVALID', format('rate_per_second is %s', limit_partner.rate_per_second),
            'rate_per_second is above 0 and at most 1000000; insp.pause(partner => …) stops a partner.');
    ELSIF limit_partner.rate_burst < 1 OR limit_partner.rate_burst IS NOT NULL AND limit_partner.rate_per_second IS NULL THEN
        PERFORM insp.refuse('PARAMETER_INVALID', format('rate_burst is %s', limit_partner.rate_burst),
            'rate_burst is at least 1, and needs a rate_per_second.');
    END IF;
    IF limit_partner.rate_per_second IS NOT NULL THEN
        -- A rate without a burst allows the jobs of one second at once, and at least one.
        burst := coalesce(limit_partner.rate_burst, greatest(1, ceil(limit_partner.rate_per_second))::integer);
    END IF;
    UPDATE insp.partner p
    SET max_running = limit_partner.max_running, rate_per_second = limit_partner.rate_per_second, rate_burst = burst
    WHERE p.id = was.id;
    PERFORM insp.record_partner('limit_partner', was);
    PERFORM insp.wake_all();
    RETURN format('partner %s: %s running, %s', limit_partner.partner,
        coalesce('at most ' || limit_partner.max_running, 'any number'),
        coalesce(limit_partner.rate_per_second || ' a second in bursts of ' || burst, 'at any rate'));
END
$$;
COMMENT ON FUNCTION insp.limit_partner(text, integer, double precision, integer) IS
    'Limits how many of a partner''s jobs run at once and how many are started in a second, over all workers; null: no limit. Each call sets all limits';
GRANT EXECUTE ON FUNCTION insp.limit_partner(text, integer, double precision, integer) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.set_lane_weight(lane text, weight integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF set_lane_weight.weight IS NULL OR set_lane_weight.weight NOT BETWEEN 1 AND 1000 THEN
        PERFORM insp.refuse('PARAMETER_INVALID', format('weight is %s', coalesce(set_lane_weight.weight::text, 'null')), 'weight is 1 to 1000.');
    END IF;
    UPDATE insp.control c SET weight = set_lane_weight.weight, changed_at = now(), changed_by = insp.actor()
    WHERE c.lane = insp.lane_number(set_lane_weight.lane);
    PERFORM insp.record('set_lane_weight', 'lane ' || set_lane_weight.lane,
        jsonb_build_object('weight', set_lane_weight.weight));
    PERFORM insp.tell();
    RETURN format('lane %s: weight %s', set_lane_weight.lane, set_lane_weight.weight);
END
$$;
COMMENT ON FUNCTION insp.set_lane_weight(text, integer) IS
    'Sets a lane''s share of the claims while several lanes have waiting jobs, 1 to 1000';
GRANT EXECUTE ON FUNCTION insp.set_lane_weight(text, integer) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.cancel(p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    job bigint;
BEGIN
    SELECT x.id INTO job FROM insp.job x WHERE x.public_id = p_id AND insp.may_act(x.partner_id);
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    IF insp.end_unclaimed(ARRAY[job], 'CANCELLED', NULL) = 0 THEN
        RETURN false;
    END IF;
    PERFORM insp.record('cancel', p_id::text);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
    RETURN false;
END
$$;
COMMENT ON FUNCTION insp.cancel(uuid) IS
    'Finishes a job as cancelled, waiting or running; false: it was finished already. ROW_LOCKED if another transaction holds a row of the job for five seconds. Call it in a transaction that ends at once: until then it holds the job''s row, and nothing can be written for the job. SET LOCAL insp.notify = off as for insp.enqueue: then the worker drops a running job at its next heartbeat';
GRANT EXECUTE ON FUNCTION insp.cancel(uuid) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.cancel_partner(
    partner text, reason text DEFAULT NULL, batch integer DEFAULT 1000, OUT cancelled integer, OUT kept integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET lock_timeout = '5s' SET jit = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    queues constant integer[] := ARRAY(
        SELECT q.id FROM insp.queue q WHERE q.partner_id = insp.partner_number(cancel_partner.partner));
    later constant timestamptz := now() + interval '1 hour';
    -- As they wait if they cannot end.
    taken insp.delayed[];
    one insp.delayed;
BEGIN
    cancelled := 0;
    kept := 0;
    PERFORM insp.require(cancel_partner.batch BETWEEN 1 AND 1000000, 'batch', 'batch is 1 to 1000000.');
    -- Waits for rows that a claim or maintenance holds for a moment: if it skipped them, it might return 0 too early.
    -- Jobs that are claimed meanwhile run now, and are cancelled by their ids. A job's own row is skipped if it is held: that may
    -- last, and must not keep the others from their end.
    WITH heads AS MATERIALIZED (
        SELECT x.ctid AS row FROM insp.ready x, LATERAL (
            SELECT FROM insp.job j WHERE j.id = ANY (ARRAY[x.job_id]) FOR NO KEY UPDATE SKIP LOCKED) j
        WHERE x.queue = ANY (queues) LIMIT cancel_partner.batch FOR UPDATE OF x
    ), waiting AS (
        DELETE FROM insp.ready x WHERE x.ctid = ANY (ARRAY(SELECT h.row FROM heads h)) RETURNING x.*
    )
    SELECT coalesce(array_agg((later, w.job_id, w.attempt, w.crashes, 'INTERNAL_ERROR', w.queue)::insp.delayed), '{}') INTO taken
    FROM waiting w;
    IF cardinality(taken) < cancel_partner.batch THEN
        WITH due AS MATERIALIZED (
            SELECT d.ctid AS row FROM insp.delayed d, LATERAL (
                SELECT FROM insp.job j WHERE j.id = ANY (ARRAY[d.job_id]) FOR NO KEY UPDATE SKIP LOCKED) j
            WHERE d.queue = ANY (queues) LIMIT cancel_partner.batch - cardinality(taken) FOR UPDATE OF d
        ), waiting AS (
            DELETE FROM insp.delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due)) RETURNING d.*
        )
        SELECT taken || coalesce(array_agg((greatest(w.run_at, later), w.job_id, w.attempt, w.crashes, 'INTERNAL_ERROR',
            w.queue)::insp.delayed), '{}') INTO taken
        FROM waiting w;
    END IF;
    IF cardinality(taken) < cancel_partner.batch THEN
        kept := (SELECT count(*) FROM insp.locked_jobs(ARRAY(
            SELECT x.job_id FROM insp.ready x WHERE x.queue = ANY (queues)
            UNION ALL SELECT d.job_id FROM insp.delayed d WHERE d.queue = ANY (queues) LIMIT cancel_partner.batch)));
    END IF;
    IF taken = '{}' THEN
        RETURN;
    END IF;
    BEGIN
        cancelled := insp.end_unclaimed(ARRAY(SELECT t.job_id FROM unnest(taken) t), 'CANCELLED', NULL);
    EXCEPTION WHEN OTHERS THEN
        IF NOT insp.may_be_of_row(SQLSTATE) THEN
            RAISE;
        END IF;
        -- One of them cannot end at all, and keeps no other from its end.
        FOREACH one IN ARRAY taken LOOP
            BEGIN
                cancelled := cancelled + insp.end_unclaimed(ARRAY[one.job_id], 'CANCELLED', NULL);
            EXCEPTION WHEN OTHERS THEN
                IF NOT insp.may_be_of_row(SQLSTATE) THEN
                    RAISE;
                END IF;
                INSERT INTO insp.delayed SELECT one.* ON CONFLICT DO NOTHING;
                kept := kept + 1;
            END;
        END LOOP;
    END;
    PERFORM insp.record('cancel_partner', 'partner ' || cancel_partner.partner, jsonb_build_object(
        'reason', cancel_partner.reason, 'jobs', cancelled) || CASE WHEN kept > 0 THEN jsonb_build_object('kept', kept) ELSE '{}' END);
EXCEPTION WHEN lock_not_available THEN
    PERFORM insp.refuse('ROW_LOCKED');
END
$$;
COMMENT ON FUNCTION insp.cancel_partner(text, text, integer) IS
    'Cancels up to a batch of a partner''s waiting and delayed jobs; call it until cancelled is 0, each time in a transaction that ends at once: until then it holds these jobs. kept: how many could not be ended: those with damaged data, which are put off for an hour, and, counted once no others wait, those that another transaction holds. Running jobs are left alone. ROW_LOCKED if another transaction holds something else that the call needs for five seconds';
GRANT EXECUTE ON FUNCTION insp.cancel_partner(text, text, integer) TO insp_operator;

CREATE OR REPLACE FUNCTION insp.rerun(id uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp
SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    old insp.job;
    partner insp.partner;
    number bigint;
    place smallint;
    personal jsonb;
    fresh constant uuid := insp.random_id(insp.id_prefix());
BEGIN
    PERFORM insp.need_read_committed();
    -- Locked, so that neither erasure nor retention can remove data between this read and the copy; if they were first, the row
    -- shows it.
    SELECT * INTO old FROM insp.job j WHERE j.public_id = rerun.id AND insp.may_act(j.partner_id) FOR SHARE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    ELSIF old.status < 128 THEN
        PERFORM insp.refuse('JOB_NOT_FINISHED', 'status ' || old.status);
    END IF;
    SELECT * INTO partner FROM insp.partner p WHERE p.id = old.partner_id;
    IF NOT partner.enabled THEN
        PERFORM insp.refuse('PARTNER_DISABLED');
    END IF;
    IF NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = old.id) THEN
        PERFORM insp.refuse('PARTS_PURGED');
    ELSIF old.forgotten_at IS NOT NULL THEN
        -- Without its options it would be another job.
        PERFORM insp.refuse('REQUEST_PURGED');
    END IF;
    -- The policies of today judge it as a new request. Of a sealed job's consent, personal has what they check.
    personal := insp.readable_personal(old.personal);
    IF personal ? 'consent' OR partner.consent_required THEN
        PERFORM insp.check_consent(coalesce(personal, '{}'), partner);
    END IF;
    -- Of a sealed job's callback URL, personal has the origin.
    IF old.own_callback AND personal ? 'callbackUrl' THEN
        PERFORM insp.check_callback_host(personal ->> 'callbackUrl', partner);
    END IF;
    -- A job of any region was accepted before the deployment named regions.
    place := insp.request_region(coalesce((SELECT jsonb_build_object('region', g.name) FROM insp.region g
        WHERE g.id = old.region AND old.region <> 0), '{}'), partner);
    IF partner.max_waiting IS NOT NULL THEN
        PERFORM insp.take_waiting(partner.id, partner.max_waiting, 1);
    END IF;
    number := nextval('insp.job_id');
    INSERT INTO insp.job (id, public_id, partner_id, endpoint_id, person_id, lane, region, expires_at, workflow,
        document_format, review, enrollment_mode, rerun_of, own_callback, traceparent, personal, sealed, key_id, request)
    VALUES (number, fresh, old.partner_id, old.endpoint_id, old.person_id, old.lane, place, now() + partner.job_lifetime,
        old.workflow, old.document_format, old.review, old.enrollment_mode, old.public_id, old.own_callback, old.traceparent,
        old.personal, old.sealed, old.key_id,
        -- Passive signals that no longer suffice for the partner do not suffice for the rerun, and the policy of today decides it. No
        -- client continues a session by its rerun.
        CASE WHEN partner.passive_signals_suffice THEN old.request ELSE old.request - 'passiveSignalsSuffice' END
            - 'decisionPolicy' - 'session' || insp.decision_stamp(partner));
    INSERT INTO insp.job_reference (partner_id, kind, index, job_id)
    SELECT r.partner_id, r.kind, r.index, number FROM insp.job_reference r WHERE r.job_id = old.id;
    INSERT INTO insp.purge_later (due_at, what, job_id)
    SELECT now() + interval '1 minute', 'links', number FROM insp.job_reference r
    WHERE r.job_id = number AND r.kind = 'user' AND old.person_id IS NULL;
    INSERT INTO insp.rerun (job_id, first_id)
    VALUES (number, coalesce((SELECT r.first_id FROM insp.rerun r WHERE r.job_id = old.id), old.id));
    -- Its bytes are those of the job before it, and count once against the partner's quota.
    INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, seal, location, content_id)
    SELECT number, p.kind, p.ordinal, p.size, p.sha256, p.seal, p.location, p.content_id FROM insp.part p WHERE p.job_id = old.id;
    INSERT INTO insp.ready (queue, job_id) VALUES (insp.queue_of(place, old.lane, old.partner_id), number);
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = insp.actor()
    WHERE d.job_id = old.id AND d.resolved_at IS NULL;
    PERFORM insp.record('rerun', old.public_id::text, jsonb_build_object('as', fresh));
    IF number % 1000000 = 0 THEN
        PERFORM insp.ensure_partitions_late();
    END IF;
    PERFORM insp.wake(old.lane);
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION insp.rerun(uuid) IS
    'Runs a finished job again as a new job with the same request and parts and a fresh lifetime, and returns its id. The partner''s current policies on consent, regions and callback hosts apply, as to a new request. Its result has the old job''s id (rerunOf), and a dead-lettered job counts as resolved. It counts as a waiting job; its parts take no extra space. insp.erase of either erases both';
GRANT EXECUTE ON FUNCTION insp.rerun(uuid) TO insp_producer, insp_operator;

CREATE OR REPLACE FUNCTION insp.resolve_dead(id uuid, note text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
#variable_conflict use_column
DECLARE
    job bigint;
    is_bare boolean;
BEGIN
    -- Locked against erasure, retention and a rerun of it: texts about the job are written before they read it, or after they
    -- are done.
    SELECT j.id, j.forgotten_at IS NOT NULL INTO job, is_bare
    FROM insp.job j WHERE j.public_id = resolve_dead.id FOR SHARE;
    IF NOT FOUND THEN
        PERFORM insp.refuse('JOB_UNKNOWN');
    END IF;
    UPDATE insp.dead d SET resolved_at = now(), resolved_by = insp.actor()
    WHERE d.job_id = job AND d.resolved_at IS NULL;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM insp.record('resolve_dead', resolve_dead.id::text, jsonb_build_object('note',
        -- Texts about a person who was erased.
        CASE WHEN NOT is_bare THEN resolve_dead.note END));
    RETURN true;
END
$$;
COMMENT ON FUNCTION insp.resolve_dead(uuid, text) IS
    'Marks a dead-lettered job as resolved without running it again; false: it is not in v_dead, or is resolved. The note is not kept for a job whose references are removed';
GRANT EXECUTE ON FUNCTION insp.resolve_dead(uuid, text) TO insp_operator;

CREATE OR REPLACE VIEW insp.v_dead AS
SELECT j.public_id AS id, p.name AS partner, j.workflow, d.code, d.detail, d.attempts, d.crashes,
    d.died_at, d.resolved_at, d.job_id, d.resolved_by
FROM insp.dead d JOIN insp.job j ON j.id = d.job_id JOIN insp.partner p ON p.id = j.partner_id;
COMMENT ON VIEW insp.v_dead IS 'Dead-lettered jobs (finished as NOT_EXECUTED), newest last';
COMMENT ON COLUMN insp.v_dead.id IS 'The job''s public id';
COMMENT ON COLUMN insp.v_dead.partner IS 'The partner';
COMMENT ON COLUMN insp.v_dead.workflow IS 'Its workflow';
COMMENT ON COLUMN insp.v_dead.code IS 'Error code it ended with (insp.error_code)';
COMMENT ON COLUMN insp.v_dead.detail IS 'What was wrong';
COMMENT ON COLUMN insp.v_dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.v_dead.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.v_dead.died_at IS 'When it was dead-lettered';
COMMENT ON COLUMN insp.v_dead.resolved_at IS 'When an operator resolved it';
COMMENT ON COLUMN insp.v_dead.job_id IS 'The job''s internal number';
COMMENT ON COLUMN insp.v_dead.resolved_by IS 'Who resolved it (rerun, resolve_dead)';
GRANT SELECT ON insp.v_dead TO insp_operator, insp_auditor;
