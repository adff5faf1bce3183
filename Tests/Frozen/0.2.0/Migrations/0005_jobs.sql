-- Jobs and their data. Everything that grows with history is partitioned by job id, so that history is dropped partition by
-- partition and never deleted row by row. There are no foreign keys between these tables: they would lock a row for each
-- insert, and only functions write rows. insp.ensure_partitions creates the partitions.

CREATE SEQUENCE insp.job_id AS bigint;
COMMENT ON SEQUENCE insp.job_id IS 'Internal job numbers';

CREATE TYPE insp.request AS (
    partner_id integer,
    endpoint_id bigint,
    workflow text,
    document_format text,
    review text,
    enrollment_mode text,
    request jsonb,
    personal jsonb,
    lane smallint,
    region smallint,
    run_at timestamptz,
    expires_at timestamptz,
    expires_named boolean,
    idempotency_key text,
    traceparent text,
    digests jsonb,
    part_urls jsonb
);
COMMENT ON TYPE insp.request IS 'A validated payload, by field';

CREATE TABLE insp.job (
    id bigint NOT NULL DEFAULT nextval('insp.job_id'),
    public_id uuid NOT NULL DEFAULT gen_random_uuid(),
    partner_id integer NOT NULL,
    endpoint_id bigint,
    person_id bigint,
    lane smallint NOT NULL,
    region smallint NOT NULL DEFAULT 0,
    status smallint NOT NULL DEFAULT 1 CHECK (status IN (1, 2, 4, 8, 16, 32, 64, 128)),
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    completed_at timestamptz,
    expires_at timestamptz NOT NULL,
    workflow text NOT NULL,
    document_format text,
    review text,
    enrollment_mode text,
    rerun_of uuid,
    own_callback boolean NOT NULL DEFAULT false,
    traceparent text,
    request jsonb,
    personal bytea,
    sealed bytea,
    key_id uuid,
    consent_proof jsonb,
    forgotten_at timestamptz,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
-- No index on a column that changes, so that every status update is HOT. The public id is random; a unique index, which must
-- include the partition key, would guarantee no more than this one.
CREATE INDEX job_public_id ON insp.job (public_id);
-- Neither does the key change. A job that is not sealed costs nothing here.
CREATE INDEX job_key_id ON insp.job (key_id) WHERE key_id IS NOT NULL;
COMMENT ON TABLE insp.job IS 'Inspections, one row each, from enqueue to 128';
COMMENT ON COLUMN insp.job.id IS 'Internal number; never leaves the system';
COMMENT ON COLUMN insp.job.public_id IS 'The id that callers know';
COMMENT ON COLUMN insp.job.partner_id IS 'Whose job it is';
COMMENT ON COLUMN insp.job.endpoint_id IS 'The callback endpoint at the time of enqueue; null: no callback';
COMMENT ON COLUMN insp.job.person_id IS 'The person identified by its userReference; null: none, erased, or not yet linked by maintenance (insp.persons); insp.job_reference has it in any case';
COMMENT ON COLUMN insp.job.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN insp.job.region IS 'Region whose workers may process the job; 0: any';
COMMENT ON COLUMN insp.job.status IS
    'Furthest stored stage: 1 QUEUED, 2 STARTED, 4 ACQUIRED, 8 DOCUMENT, 16 FACE, 32 LIVENESS, 64 DECIDED, 128 FINISHED; only rises. While a job has a lease, 1 means STARTED: the claim does not write here';
COMMENT ON COLUMN insp.job.created_at IS 'When the job was accepted';
COMMENT ON COLUMN insp.job.started_at IS 'When the job was first claimed; written with its first result. Null after its end: it was never claimed';
COMMENT ON COLUMN insp.job.completed_at IS 'When the job reached 128';
COMMENT ON COLUMN insp.job.expires_at IS 'A job that is not finished by then ends as EXPIRED';
COMMENT ON COLUMN insp.job.workflow IS 'What is checked';
COMMENT ON COLUMN insp.job.document_format IS 'TD1, TD2 or TD3; null: any';
COMMENT ON COLUMN insp.job.review IS 'Which decisions wait for a review: rejected, warning or always; null: never';
COMMENT ON COLUMN insp.job.enrollment_mode IS 'add or replace; null: add, or no enrolment';
COMMENT ON COLUMN insp.job.rerun_of IS 'The job that it runs again';
COMMENT ON COLUMN insp.job.own_callback IS 'Whether the request has its own callback URL';
COMMENT ON COLUMN insp.job.traceparent IS 'W3C trace context of the caller';
COMMENT ON COLUMN insp.job.request IS 'Instructions for the worker; contains no name and no part';
COMMENT ON COLUMN insp.job.personal IS
    'What may identify a person, as JSON: references, face id, consent, callback URL; only insp.personal reads it. In a sealed job, pseudonyms by which the database compares and finds them. Null: nothing';
COMMENT ON COLUMN insp.job.sealed IS 'The sealed values for which personal has pseudonyms (deploy/SEALING.md, purpose personal); null: the job is not sealed, or they were removed';
COMMENT ON COLUMN insp.job.key_id IS 'Name of the key that sealed it, with its parts and results; null: it is not sealed';
COMMENT ON COLUMN insp.job.consent_proof IS 'What remains of the consent after erasure (insp.consent_proof)';
COMMENT ON COLUMN insp.job.forgotten_at IS 'When retention or erasure removed personal and request';
-- What may identify a person is read by functions that record who reads it.
GRANT SELECT (id, public_id, partner_id, endpoint_id, person_id, lane, region, status, created_at, started_at, completed_at,
        expires_at, workflow, document_format, review, enrollment_mode, rerun_of, own_callback, request, key_id,
        forgotten_at)
    ON insp.job TO insp_operator;

CREATE TABLE insp.part (
    job_id bigint NOT NULL,
    kind text NOT NULL,
    ordinal smallint NOT NULL DEFAULT 0,
    size integer,
    sha256 bytea NOT NULL,
    seal smallint NOT NULL DEFAULT 0,
    location text,
    content_id bigint,
    PRIMARY KEY (job_id, kind, ordinal)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.part IS 'Inputs of jobs, and where their bytes are';
COMMENT ON COLUMN insp.part.job_id IS 'The job';
COMMENT ON COLUMN insp.part.kind IS 'What it is (insp.part_kind)';
COMMENT ON COLUMN insp.part.ordinal IS 'Place among the frames, or among the blobs of a session; 0 for other kinds';
COMMENT ON COLUMN insp.part.size IS 'Bytes as stored; null for a part by URL';
COMMENT ON COLUMN insp.part.sha256 IS 'SHA-256 of the bytes as stored; a part by URL is refused if the fetched bytes have a different one';
COMMENT ON COLUMN insp.part.seal IS 'How the bytes are sealed (deploy/SEALING.md); 0: not at all';
COMMENT ON COLUMN insp.part.location IS 'The URL to fetch the bytes from, or s3:BUCKET/KEY of sealed ones in the object store, with #OFFSET if they do not begin it; null: they are in insp.content';
COMMENT ON COLUMN insp.part.content_id IS 'Refers to the bytes in insp.content; null for a part by URL or in the object store. A rerun refers to the bytes of the first job of its chain';

-- Separate from their parts, so that a rerun copies none. They are deleted with the last part that refers to them. Only jobs of
-- one chain of reruns can refer to them, so insp.remove_parts checks these jobs and needs no index of all parts.
CREATE TABLE insp.content (
    id bigint NOT NULL,
    kind text NOT NULL,
    ordinal smallint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (id, kind, ordinal)
) PARTITION BY RANGE (id);
COMMENT ON TABLE insp.content IS 'Bytes of parts, stored once, however many reruns refer to them';
COMMENT ON COLUMN insp.content.id IS 'The job with which they were received';
COMMENT ON COLUMN insp.content.kind IS 'As of the part';
COMMENT ON COLUMN insp.content.ordinal IS 'As of the part';
COMMENT ON COLUMN insp.content.bytes IS 'The bytes as received';

CREATE TABLE insp.step (
    job_id bigint NOT NULL,
    status smallint NOT NULL,
    fence bigint NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    summary jsonb,
    seal smallint NOT NULL DEFAULT 0,
    body bytea,
    PRIMARY KEY (job_id, status)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.step IS 'Results of stages, each written once, except the result of a vendor''s session, which each further blob replaces; 128 is the job''s result';
COMMENT ON COLUMN insp.step.job_id IS 'The job';
COMMENT ON COLUMN insp.step.status IS 'The status that the job reached with the result';
COMMENT ON COLUMN insp.step.fence IS 'Fence of the lease under which it was written; 0: finished without a worker';
COMMENT ON COLUMN insp.step.stored_at IS 'When it was stored';
COMMENT ON COLUMN insp.step.summary IS
    'The part of a result that the database uses for decisions and reports: decision, rejectReasons, error, faceSdk, review; labels: the capabilities that warned or rejected. purgedAt or erasedAt: when everything else was removed';
COMMENT ON COLUMN insp.step.seal IS 'How body is sealed; 0: not at all, it is JSON';
COMMENT ON COLUMN insp.step.body IS 'Everything else, including a vendor''s answer; only insp.step_document opens it; null: nothing';
-- insp.job_result and insp.stage_result read bodies, and record who reads them.
GRANT SELECT (job_id, status, fence, stored_at, summary, seal)
    ON insp.step TO insp_operator;

CREATE TABLE insp.event (
    job_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('finished', 'retry', 'rescued', 'released', 'review_needed')),
    fence bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    worker_id bigint,
    detail jsonb,
    PRIMARY KEY (job_id, kind, fence)
) PARTITION BY RANGE (job_id);
COMMENT ON TABLE insp.event IS 'What happened to jobs; append-only';
COMMENT ON COLUMN insp.event.job_id IS 'The job';
COMMENT ON COLUMN insp.event.kind IS
    'finished (the terminal event, once for each finished job), review_needed, retry, rescued or released';
COMMENT ON COLUMN insp.event.fence IS 'Fence of the lease under which it happened; 0 for finished, which makes it unique';
COMMENT ON COLUMN insp.event.at IS 'When it happened';
COMMENT ON COLUMN insp.event.worker_id IS 'The worker that held the job';
COMMENT ON COLUMN insp.event.detail IS 'Error code, attempt etc.; no personal data';
GRANT SELECT ON insp.event TO insp_operator, insp_auditor;

-- Numbering events after their commit would write every event twice, and a number drawn by the writer becomes visible late if
-- its transaction stays open. So a statement's events are one row here, which gets its position after the commit.
CREATE TABLE insp.event_batch (
    id bigint GENERATED ALWAYS AS IDENTITY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT now(),
    kind text NOT NULL,
    jobs bigint[] NOT NULL,
    fences bigint[] NOT NULL,
    epoch bigint,
    position bigint
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 20000);
-- Each index has one kind of row only, so that the planner cannot use it for the other.
CREATE INDEX event_batch_waiting ON insp.event_batch (xid, id) WHERE position IS NULL;
CREATE UNIQUE INDEX event_batch_place ON insp.event_batch (epoch, position) WHERE position IS NOT NULL;
COMMENT ON TABLE insp.event_batch IS 'The order of events: one row for those of one kind that one statement wrote (insp.events_after)';
COMMENT ON COLUMN insp.event_batch.id IS 'Order of writing: a job''s later event has the higher one';
COMMENT ON COLUMN insp.event_batch.xid IS 'The transaction that wrote it';
COMMENT ON COLUMN insp.event_batch.at IS 'When it was written';
COMMENT ON COLUMN insp.event_batch.kind IS 'The events'' kind';
COMMENT ON COLUMN insp.event_batch.jobs IS 'Their jobs, in order';
COMMENT ON COLUMN insp.event_batch.fences IS 'Their fences, in the same order';
COMMENT ON COLUMN insp.event_batch.epoch IS 'The epoch (insp.epoch) in which they were numbered; null: not yet';
COMMENT ON COLUMN insp.event_batch.position IS 'The position of the last one in that epoch; the others have the preceding positions';
GRANT SELECT ON insp.event_batch TO insp_operator, insp_auditor;

CREATE TABLE insp.event_cursor (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL DEFAULT 0,
    position bigint NOT NULL DEFAULT 0,
    next_xid xid8 NOT NULL DEFAULT '0',
    open_xids xid8[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE insp.event_cursor IS 'How far events are numbered (insp.number_events)';
COMMENT ON COLUMN insp.event_cursor.single IS 'There is one row';
COMMENT ON COLUMN insp.event_cursor.epoch IS 'The epoch in which they are numbered';
COMMENT ON COLUMN insp.event_cursor.position IS 'The last position issued in it';
COMMENT ON COLUMN insp.event_cursor.next_xid IS 'Transactions from this one on have not been read';
COMMENT ON COLUMN insp.event_cursor.open_xids IS 'Nor has any of these, which were still open';
GRANT SELECT ON insp.event_cursor TO insp_operator, insp_auditor;
INSERT INTO insp.event_cursor DEFAULT VALUES;

CREATE TABLE insp.job_key (
    partner_id integer NOT NULL,
    key text NOT NULL,
    job_id bigint NOT NULL,
    public_id uuid NOT NULL,
    request_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partner_id, key)
);
-- The keys never change. By job, which is nearly the order of time, so it also finds keys to expire.
CREATE INDEX job_key_job ON insp.job_key (job_id);
COMMENT ON TABLE insp.job_key IS 'Idempotency keys: requests repeated under the same key are one job';
COMMENT ON COLUMN insp.job_key.partner_id IS 'Whose key it is';
COMMENT ON COLUMN insp.job_key.key IS 'The key';
COMMENT ON COLUMN insp.job_key.job_id IS 'The job it stands for';
COMMENT ON COLUMN insp.job_key.public_id IS 'The id that the first call returned';
COMMENT ON COLUMN insp.job_key.request_sha256 IS 'Digest of the request; another request under the key is refused';
COMMENT ON COLUMN insp.job_key.created_at IS 'When the key was first used';

CREATE TABLE insp.person (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partner_id integer NOT NULL,
    reference_index bytea,
    erased_at timestamptz,
    UNIQUE (partner_id, reference_index)
);
CREATE INDEX person_erased ON insp.person (erased_at) WHERE erased_at IS NOT NULL;
COMMENT ON TABLE insp.person IS 'Persons, as partners refer to them by userReference';
COMMENT ON COLUMN insp.person.id IS 'Number of the person';
COMMENT ON COLUMN insp.person.partner_id IS 'Whose reference it is';
COMMENT ON COLUMN insp.person.reference_index IS 'The reference as hashed by insp.reference_index; null: the person was erased';
COMMENT ON COLUMN insp.person.erased_at IS 'When retention or erasure removed the last data of the person';

CREATE TABLE insp.job_reference (
    partner_id integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('customer', 'user', 'criteria')),
    index bytea NOT NULL,
    job_id bigint NOT NULL,
    -- The hash first: it differs in almost every row, so one comparison decides; partner and kind are the same in most.
    PRIMARY KEY (index, kind, partner_id, job_id)
);
CREATE INDEX job_reference_job ON insp.job_reference (job_id);
COMMENT ON TABLE insp.job_reference IS 'Jobs by their partners'' references; only references that were given have a row';
COMMENT ON COLUMN insp.job_reference.partner_id IS 'Whose job';
COMMENT ON COLUMN insp.job_reference.kind IS 'customer: customerInternalReference; user: userReference; criteria: reportingCriteria';
COMMENT ON COLUMN insp.job_reference.index IS 'The reference as hashed by insp.reference_index';
COMMENT ON COLUMN insp.job_reference.job_id IS 'The job';

CREATE TABLE insp.rerun (
    job_id bigint PRIMARY KEY,
    first_id bigint NOT NULL
);
CREATE INDEX rerun_first ON insp.rerun (first_id);
COMMENT ON TABLE insp.rerun IS 'Reruns: each has the personal data of the job before it, so they are erased together';
COMMENT ON COLUMN insp.rerun.job_id IS 'The rerun';
COMMENT ON COLUMN insp.rerun.first_id IS 'The job that the chain of reruns began with';
GRANT SELECT ON insp.rerun TO insp_operator, insp_auditor;

CREATE TABLE insp.dead (
    job_id bigint PRIMARY KEY,
    partner_id integer NOT NULL,
    code text NOT NULL,
    detail text,
    attempts smallint NOT NULL,
    crashes smallint NOT NULL,
    died_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    resolved_by text
);
CREATE INDEX dead_died ON insp.dead (died_at);
-- What waits for an operator, however many are resolved.
CREATE INDEX dead_open ON insp.dead (died_at, job_id) WHERE resolved_at IS NULL;
CREATE INDEX dead_open_code ON insp.dead (code, died_at, job_id) WHERE resolved_at IS NULL;
CREATE INDEX dead_open_partner ON insp.dead (partner_id, died_at, job_id) WHERE resolved_at IS NULL;
COMMENT ON TABLE insp.dead IS 'Dead-lettered jobs, until an operator resolves them; each is finished as NOT_EXECUTED';
COMMENT ON COLUMN insp.dead.job_id IS 'The job';
COMMENT ON COLUMN insp.dead.partner_id IS 'The job''s partner: those of a small partner are found quickly among any number of others';
COMMENT ON COLUMN insp.dead.code IS 'Error code it ended with';
COMMENT ON COLUMN insp.dead.detail IS 'What was wrong, without personal data';
COMMENT ON COLUMN insp.dead.attempts IS 'Attempts made';
COMMENT ON COLUMN insp.dead.crashes IS 'Attempts that ended in the death of a process or worker';
COMMENT ON COLUMN insp.dead.died_at IS 'When it was dead-lettered';
COMMENT ON COLUMN insp.dead.resolved_at IS 'When an operator resolved it';
COMMENT ON COLUMN insp.dead.resolved_by IS 'Who resolved it';
GRANT SELECT ON insp.dead TO insp_operator, insp_auditor;

CREATE TABLE insp.review_wait (
    job_id bigint PRIMARY KEY,
    partner_id integer NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    decided_by text,
    decision text CHECK (decision IN ('PASSED', 'WARNING', 'REJECTED')),
    label text,
    decided_at timestamptz,
    CHECK (num_nulls(decided_by, decision, label, decided_at) IN (0, 4))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX review_wait_since ON insp.review_wait (since, job_id);
CREATE INDEX review_wait_partner ON insp.review_wait (partner_id, since, job_id);
COMMENT ON TABLE insp.review_wait IS 'Jobs at status 64: decided, and waiting for a review';
COMMENT ON COLUMN insp.review_wait.job_id IS 'The job';
COMMENT ON COLUMN insp.review_wait.partner_id IS 'Its partner, by which a reviewer''s cases are found';
COMMENT ON COLUMN insp.review_wait.since IS 'When it began to wait';
COMMENT ON COLUMN insp.review_wait.decided_by IS 'Who decided it first, if a second person must confirm (insp.partner.second_review); null: nobody yet';
COMMENT ON COLUMN insp.review_wait.decision IS 'That decision, which only another person can confirm';
COMMENT ON COLUMN insp.review_wait.label IS 'Its label';
COMMENT ON COLUMN insp.review_wait.decided_at IS 'When';
GRANT SELECT ON insp.review_wait TO insp_operator, insp_auditor;
