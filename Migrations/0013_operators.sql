-- The record of what operators did.

CREATE TABLE insp.operator_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who text NOT NULL DEFAULT session_user,
    action text NOT NULL CHECK (action ~ '^[a-z_]+$'),
    subject text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX operator_event_subject ON insp.operator_event (subject);
COMMENT ON TABLE insp.operator_event IS 'What operators did: append-only';
COMMENT ON COLUMN insp.operator_event.id IS 'Internal number';
COMMENT ON COLUMN insp.operator_event.at IS 'When';
COMMENT ON COLUMN insp.operator_event.who IS 'The role that was logged in';
COMMENT ON COLUMN insp.operator_event.action IS 'The function that was called';
COMMENT ON COLUMN insp.operator_event.subject IS 'What it was done to: a job''s public id, or a partner, lane or worker';
COMMENT ON COLUMN insp.operator_event.detail IS 'Reasons, old and new values, counts';
GRANT SELECT ON insp.operator_event TO insp_operator, insp_auditor;
