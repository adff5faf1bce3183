-- Sessions of a liveness vendor (FaceTec 10.x): who was asked about which job, and what came of it.

CREATE TABLE insp.session_access (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id bigint NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    outcome text CHECK (outcome IN ('answered', 'refused', 'not_sent', 'invalid', 'lost')),
    http_status smallint,
    UNIQUE (job_id, fence)
);
COMMENT ON TABLE insp.session_access IS 'Every time that a job''s session was sent to the vendor''s server; written before it is sent';
COMMENT ON COLUMN insp.session_access.id IS 'Number of the access';
COMMENT ON COLUMN insp.session_access.job_id IS 'The job';
COMMENT ON COLUMN insp.session_access.fence IS 'The lease under which it was sent';
COMMENT ON COLUMN insp.session_access.worker_id IS 'The worker that sent it';
COMMENT ON COLUMN insp.session_access.began_at IS 'Just before it was sent';
COMMENT ON COLUMN insp.session_access.ended_at IS 'When the answer was there, or was given up';
COMMENT ON COLUMN insp.session_access.outcome IS
    'answered; refused by the server; not_sent, which may be tried again; invalid: not as documented; lost: nobody knows. Null: under way, or its worker died';
COMMENT ON COLUMN insp.session_access.http_status IS 'The server''s status, if it answered';
GRANT SELECT ON insp.session_access TO insp_operator, insp_auditor;
