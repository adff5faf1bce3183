-- The record of what operators did.

CREATE OR REPLACE FUNCTION insp.record(p_action text, p_subject text, p_detail jsonb DEFAULT '{}') RETURNS void
LANGUAGE sql SET search_path = pg_catalog, insp, pg_temp AS $$
    INSERT INTO insp.operator_event (action, subject, detail)
    VALUES (p_action, p_subject, jsonb_strip_nulls(coalesce(p_detail, '{}')))
$$;
COMMENT ON FUNCTION insp.record(text, text, jsonb) IS 'Records what the session''s role does';

CREATE OR REPLACE FUNCTION insp.operator_event_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, insp, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '1 year' THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND NEW.detail = insp.redacted(OLD.detail)
        AND (NEW.id, NEW.at, NEW.who, NEW.action, NEW.subject) = (OLD.id, OLD.at, OLD.who, OLD.action, OLD.subject) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'insp.operator_event is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION insp.operator_event_guard() IS
    'Refuses to change what is recorded of operators, also to the owner; what is older than a year may be removed, and what it says of a person redacted';
CREATE OR REPLACE TRIGGER operator_event_guard BEFORE UPDATE OR DELETE ON insp.operator_event
    FOR EACH ROW EXECUTE FUNCTION insp.operator_event_guard();
CREATE OR REPLACE TRIGGER operator_event_truncate BEFORE TRUNCATE ON insp.operator_event
    FOR EACH STATEMENT EXECUTE FUNCTION insp.operator_event_guard();

CREATE OR REPLACE VIEW insp.v_operator_events AS
SELECT o.at, o.who, o.action, o.subject, o.detail FROM insp.operator_event o ORDER BY o.id DESC;
COMMENT ON VIEW insp.v_operator_events IS 'What operators did, newest first';
COMMENT ON COLUMN insp.v_operator_events.at IS 'When';
COMMENT ON COLUMN insp.v_operator_events.who IS 'The role that was logged in';
COMMENT ON COLUMN insp.v_operator_events.action IS 'The function that was called';
COMMENT ON COLUMN insp.v_operator_events.subject IS 'What it was done to: a job''s public id, or a partner, lane or worker';
COMMENT ON COLUMN insp.v_operator_events.detail IS 'Reasons, old and new values, counts';
GRANT SELECT ON insp.v_operator_events TO insp_operator, insp_auditor;
