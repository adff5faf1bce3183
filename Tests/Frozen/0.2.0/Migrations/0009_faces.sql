-- Faces that partners enrolled for later recognition.

CREATE TABLE insp.face (
    partner_id integer NOT NULL,
    face_id text NOT NULL CHECK (length(face_id) BETWEEN 1 AND 100),
    person_id bigint,
    generation bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partner_id, face_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
CREATE INDEX face_person ON insp.face (person_id) WHERE person_id IS NOT NULL;
-- As insp.face_ids looks for it. Statistics would hold what an erasure has removed.
CREATE INDEX face_index ON insp.face (partner_id, (sha256(replace(face_id, '\', '\\')::bytea)));
ALTER INDEX insp.face_index ALTER COLUMN 2 SET STATISTICS 0;
COMMENT ON TABLE insp.face IS 'Enrolled faces';
COMMENT ON COLUMN insp.face.partner_id IS 'Whose face id it is';
COMMENT ON COLUMN insp.face.face_id IS 'The partner''s name for the face';
COMMENT ON COLUMN insp.face.person_id IS 'The person, if an enrolment or import had a userReference';
COMMENT ON COLUMN insp.face.generation IS 'Rises with every change of the templates; a result states the generation on which it is based';
COMMENT ON COLUMN insp.face.created_at IS 'First enrolment';
COMMENT ON COLUMN insp.face.changed_at IS 'Last change';

CREATE TABLE insp.face_template (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    engine text NOT NULL CHECK (engine ~ '^[[:print:]]{1,100}$'),
    model_sha256 text NOT NULL CHECK (model_sha256 ~ '^[0-9a-f]{64}$'),
    embedding text NOT NULL CHECK (length(embedding) IN (1024, 1114) AND embedding ~ '^[0-9a-f]+$'),
    key_id uuid,
    job uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (partner_id, face_id) REFERENCES insp.face
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
CREATE INDEX face_template_face ON insp.face_template (partner_id, face_id);
CREATE INDEX face_template_job ON insp.face_template (job) WHERE job IS NOT NULL;
CREATE INDEX face_template_key ON insp.face_template (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX face_template_age ON insp.face_template (partner_id, created_at);
COMMENT ON TABLE insp.face_template IS 'Embeddings of enrolled faces. No role can read them: functions pass them to workers and to the partner';
COMMENT ON COLUMN insp.face_template.id IS 'Number of the template';
COMMENT ON COLUMN insp.face_template.partner_id IS 'Whose';
COMMENT ON COLUMN insp.face_template.face_id IS 'The face';
COMMENT ON COLUMN insp.face_template.engine IS 'The engine that computed the embedding; embeddings of different engines are never compared';
COMMENT ON COLUMN insp.face_template.model_sha256 IS 'SHA-256 of the engine''s model, lower-case hex';
COMMENT ON COLUMN insp.face_template.embedding IS '128 float32, little-endian, lower-case hex: 1,024 characters, or 1,114 if it is sealed (deploy/SEALING.md)';
COMMENT ON COLUMN insp.face_template.key_id IS 'Name of the key that sealed it, which is destroyed with it; null: it is not sealed';
COMMENT ON COLUMN insp.face_template.job IS 'Public id of the job that enrolled it; null: it was imported';
COMMENT ON COLUMN insp.face_template.created_at IS 'When it was enrolled';

CREATE TABLE insp.face_pending (
    job_id bigint UNIQUE,
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    engine text NOT NULL,
    model_sha256 text NOT NULL,
    embedding text NOT NULL,
    key_id uuid,
    PRIMARY KEY (partner_id, face_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
CREATE INDEX face_pending_key ON insp.face_pending (key_id) WHERE key_id IS NOT NULL;
COMMENT ON TABLE insp.face_pending IS 'Embeddings of enrolments that are decided but not finished; deleted when the job ends, whatever the outcome. No role can read them';
COMMENT ON COLUMN insp.face_pending.job_id IS 'The job; null: an import, until its transaction''s end';
COMMENT ON COLUMN insp.face_pending.partner_id IS 'Whose';
COMMENT ON COLUMN insp.face_pending.face_id IS 'The face: one enrolment at a time, since the next is compared with the templates that this one leaves';
COMMENT ON COLUMN insp.face_pending.engine IS 'As in face_template';
COMMENT ON COLUMN insp.face_pending.model_sha256 IS 'As in face_template';
COMMENT ON COLUMN insp.face_pending.embedding IS 'As in face_template';
COMMENT ON COLUMN insp.face_pending.key_id IS 'As in face_template';

CREATE TABLE insp.face_job (
    job_id bigint PRIMARY KEY,
    partner_id integer NOT NULL,
    face_id text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX face_job_face ON insp.face_job (partner_id, face_id);
CREATE INDEX face_job_index ON insp.face_job (partner_id, (sha256(replace(face_id, '\', '\\')::bytea)));
ALTER INDEX insp.face_job_index ALTER COLUMN 2 SET STATISTICS 0;
COMMENT ON TABLE insp.face_job IS 'Unfinished jobs with a face id, which insp.face_delete must end';
COMMENT ON COLUMN insp.face_job.job_id IS 'The job';
COMMENT ON COLUMN insp.face_job.partner_id IS 'Whose';
COMMENT ON COLUMN insp.face_job.face_id IS 'The face';

CREATE TABLE insp.face_named (
    job_id bigint PRIMARY KEY,
    partner_id integer NOT NULL,
    face_id text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX face_named_face ON insp.face_named (partner_id, face_id);
CREATE INDEX face_named_index ON insp.face_named (partner_id, (sha256(replace(face_id, '\', '\\')::bytea)));
ALTER INDEX insp.face_named_index ALTER COLUMN 2 SET STATISTICS 0;
COMMENT ON TABLE insp.face_named IS
    'Finished jobs with a face id, until their references are removed: insp.face_delete removes it from their requests. No role can read them';
COMMENT ON COLUMN insp.face_named.job_id IS 'The job';
COMMENT ON COLUMN insp.face_named.partner_id IS 'Whose';
COMMENT ON COLUMN insp.face_named.face_id IS 'The face';

CREATE TABLE insp.face_rate (
    partner_id integer NOT NULL,
    face_id text NOT NULL,
    since timestamptz NOT NULL,
    attempts integer NOT NULL,
    PRIMARY KEY (partner_id, face_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX face_rate_since ON insp.face_rate (since);
COMMENT ON TABLE insp.face_rate IS 'Attempts on face ids, enrolled or not, in the current window';
COMMENT ON COLUMN insp.face_rate.partner_id IS 'Whose';
COMMENT ON COLUMN insp.face_rate.face_id IS 'The face';
COMMENT ON COLUMN insp.face_rate.since IS 'When the window began';
COMMENT ON COLUMN insp.face_rate.attempts IS 'Jobs accepted since then';

CREATE TABLE insp.face_outcome (
    outcome text PRIMARY KEY CHECK (outcome ~ '^[a-z_]+$'),
    status text NOT NULL CHECK (status IN ('success', 'error', 'cancelled')),
    code integer,
    error text
);
COMMENT ON TABLE insp.face_outcome IS 'How an enrolment, verification or liveness check ended, in the words of the face SDK''s contract';
COMMENT ON COLUMN insp.face_outcome.outcome IS 'The outcome; faceSdk.outcome of a result document';
COMMENT ON COLUMN insp.face_outcome.status IS 'Status of the SDK''s event';
COMMENT ON COLUMN insp.face_outcome.code IS 'The SDK''s result code; null: it has none for this';
COMMENT ON COLUMN insp.face_outcome.error IS 'The SDK''s error code; null: no error';
GRANT SELECT ON insp.face_outcome TO insp_producer, insp_operator, insp_auditor;
INSERT INTO insp.face_outcome (outcome, status, code, error) VALUES
    ('success', 'success', 1, NULL), ('no_match', 'success', 6, NULL),
    ('cancelled', 'cancelled', 0, 'ENROLL_CANCELLED'), ('too_bright', 'error', 53, 'LIVENESS_FAILED'),
    ('timeout', 'error', 60, 'LIVENESS_FAILED'), ('liveness_failed', 'error', NULL, 'LIVENESS_FAILED'),
    ('unusable', 'error', NULL, 'INVALID_ARGS'), ('unknown', 'error', NULL, 'UNKNOWN_ERROR');
