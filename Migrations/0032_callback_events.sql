-- Which events become callbacks beside job.finished, and in which order they are sent.

-- Looked at by every statement that stores results: empty for as long as nobody asks for more than job.finished.
CREATE INDEX endpoint_progress ON insp.endpoint (id) WHERE events && ARRAY['job.status', 'job.review_needed'];
CREATE INDEX endpoint_special ON insp.endpoint (id) WHERE ordering IS NOT NULL OR NOT events @> ARRAY['job.finished'];

CREATE FUNCTION insp.callback_progress() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
DECLARE
    moment constant text := insp.iso_time(now());
BEGIN
    IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.events && ARRAY['job.status', 'job.review_needed']) THEN
        RETURN NULL;
    END IF;
    INSERT INTO insp.callback (webhook_id, job_id, endpoint_id, event, state, url, body)
    SELECT 'msg_' || replace(j.public_id::text, '-', '') || '_' || i.status, j.id, e.id, w.event,
        CASE WHEN e.enabled THEN 'pending' ELSE 'held' END, coalesce(j.callback_url, e.url),
        convert_to(format(
            '{"type":"%1$s","timestamp":"%2$s","callbackSentAt":"%2$s",%3$s"workflowExecution":{"id":"%4$s",'
            '"definitionKey":"%5$s","status":"ACQUIRED"},"data":{"id":"%4$s","status":%6$s}}',
            w.kind, moment, coalesce('"userReference":' || (j.payload -> 'userReference')::text || ',', ''), j.public_id,
            insp.definition_key(j.payload ->> 'workflow'), i.status), 'UTF8')
    FROM inserted i
        -- Only what the job's row says, too: stages that are stored together with the end were never its status.
        JOIN insp.job j ON j.id = i.job_id AND j.status = i.status
        JOIN insp.endpoint e ON e.id = j.endpoint_id
        CROSS JOIN LATERAL (SELECT CASE i.status WHEN 64 THEN 'job.review_needed' ELSE 'job.status' END AS kind,
            CASE i.status WHEN 64 THEN 'job.review_needed' ELSE 'job.status.' || i.status END AS event) w
    WHERE i.status < 128 AND w.kind = ANY (e.events) AND coalesce(j.callback_url, e.url) IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_progress() IS
    'Writes job.status and job.review_needed callbacks for the endpoints that want them, in the transaction that raises the status';
CREATE TRIGGER callback_progress AFTER INSERT ON insp.step REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_progress();

CREATE FUNCTION insp.callback_prepare() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM insp.endpoint e WHERE e.ordering IS NOT NULL OR NOT e.events @> ARRAY['job.finished']) THEN
        RETURN NULL;
    END IF;
    DELETE FROM insp.callback c USING inserted i, insp.endpoint e
    WHERE c.id = i.id AND e.id = i.endpoint_id AND i.event = 'job.finished' AND NOT e.events @> ARRAY['job.finished'];
    -- Of a user's reference only a digest: the key needs to be equal, not to be read.
    UPDATE insp.callback c SET ordering_key = CASE e.ordering WHEN 'user' THEN coalesce(
            'user ' || encode(sha256(convert_to(j.payload ->> 'userReference', 'UTF8')), 'hex'), 'job ' || j.id)
        ELSE 'job ' || j.id END
    FROM inserted i, insp.endpoint e, insp.job j
    WHERE c.id = i.id AND e.id = i.endpoint_id AND e.ordering IS NOT NULL AND j.id = i.job_id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION insp.callback_prepare() IS
    'Before new callbacks can be seen: drops those of events that the endpoint does not want, and sets ordering keys';
CREATE TRIGGER callback_prepare AFTER INSERT ON insp.callback REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION insp.callback_prepare();
