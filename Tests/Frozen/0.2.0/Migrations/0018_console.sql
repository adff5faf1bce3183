-- The console: who is signed in, who reviews which case, and actions on many dead letters.

CREATE TABLE insp.console_person (
    id integer PRIMARY KEY,
    issuer text NOT NULL CHECK (octet_length(issuer) BETWEEN 1 AND 1000),
    subject text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    actor text NOT NULL CHECK (actor ~ '^console:[[:graph:]]{1,120}$'),
    first_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (issuer, subject)
);
CREATE UNIQUE INDEX console_person_actor ON insp.console_person (lower(actor));
COMMENT ON TABLE insp.console_person IS
    'Persons who have signed in at the console. A provider may let them change their names: here each person keeps the first one, and nobody else gets it';
COMMENT ON COLUMN insp.console_person.id IS 'Internal number';
COMMENT ON COLUMN insp.console_person.issuer IS 'The provider, as its ID tokens name it (iss); link: signed in by a link (inspectd console --local)';
COMMENT ON COLUMN insp.console_person.subject IS 'The person, as the provider''s ID tokens name them (sub)';
COMMENT ON COLUMN insp.console_person.actor IS
    'The person in the record: console: and the provider''s name for them at the first sign-in, with ~ and the number here if somebody else had that name';
COMMENT ON COLUMN insp.console_person.first_at IS 'First sign-in';
GRANT SELECT ON insp.console_person TO insp_operator, insp_auditor;

CREATE TABLE insp.console_session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_sha256 bytea NOT NULL UNIQUE CHECK (length(token_sha256) = 32),
    actor text NOT NULL,
    method text NOT NULL CHECK (method IN ('link', 'oidc')),
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_session_expires ON insp.console_session (expires_at);
COMMENT ON TABLE insp.console_session IS
    'Persons who are signed in at the console. The cookie is 256 random bits, of which this table stores the SHA-256; each sign-in makes a new one';
COMMENT ON COLUMN insp.console_session.id IS 'Internal number';
COMMENT ON COLUMN insp.console_session.token_sha256 IS 'SHA-256 of the cookie''s value';
COMMENT ON COLUMN insp.console_session.actor IS 'The person (insp.console_person)';
COMMENT ON COLUMN insp.console_session.method IS 'How the person signed in: link (inspectd console --local) or oidc (OpenID Connect)';
COMMENT ON COLUMN insp.console_session.created_at IS 'When the person signed in';
COMMENT ON COLUMN insp.console_session.seen_at IS 'Last call, to the minute; half an hour later the session ends';
COMMENT ON COLUMN insp.console_session.expires_at IS 'Refused from then on in any case';
GRANT SELECT (id, actor, method, created_at, seen_at, expires_at) ON insp.console_session TO insp_operator, insp_auditor;

CREATE TABLE insp.console_grant (
    session_id bigint NOT NULL REFERENCES insp.console_session ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('reviewer', 'operator', 'auditor')),
    partner_id integer REFERENCES insp.partner
);
CREATE UNIQUE INDEX console_grant_once ON insp.console_grant (session_id, role, coalesce(partner_id, 0));
COMMENT ON TABLE insp.console_grant IS 'What a signed-in person may do, for each partner';
COMMENT ON COLUMN insp.console_grant.session_id IS 'The session';
COMMENT ON COLUMN insp.console_grant.role IS
    'reviewer: takes and decides cases; operator: sees queue, jobs and dead letters, and acts on these; auditor: sees what an operator sees';
COMMENT ON COLUMN insp.console_grant.partner_id IS 'The partner; null: every partner';
GRANT SELECT ON insp.console_grant TO insp_operator, insp_auditor;

-- Not a setting, which any login could set: only functions of the console write here, and a row counts in its own transaction alone.
CREATE TABLE insp.console_act (
    transaction xid8 PRIMARY KEY,
    actor text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.console_act IS 'The person for whom the console''s login acts in a transaction; empty between transactions';
COMMENT ON COLUMN insp.console_act.transaction IS 'The transaction';
COMMENT ON COLUMN insp.console_act.actor IS 'The person (insp.actor)';

CREATE TABLE insp.case_lease (
    job_id bigint PRIMARY KEY,
    actor text NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now(),
    until timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE insp.case_lease IS 'Cases (jobs that wait for a review) that somebody has taken at the console';
COMMENT ON COLUMN insp.case_lease.job_id IS 'The job';
COMMENT ON COLUMN insp.case_lease.actor IS 'Who has it; nobody else can decide it at the console while the lease lasts';
COMMENT ON COLUMN insp.case_lease.taken_at IS 'Since when';
COMMENT ON COLUMN insp.case_lease.until IS 'When it is free again; each view of it extends it';
GRANT SELECT ON insp.case_lease TO insp_operator, insp_auditor;

CREATE TABLE insp.console_task (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('dead', 'jobs', 'callbacks', 'endpoints')),
    action text NOT NULL CHECK (action IN ('rerun', 'resolve', 'cancel', 'replay', 'pause', 'resume', 'enable')),
    partners integer[],
    filter jsonb NOT NULL DEFAULT '{}',
    reason text CHECK (length(reason) BETWEEN 1 AND 200),
    began_at timestamptz NOT NULL DEFAULT now(),
    before timestamptz NOT NULL DEFAULT now(),
    total integer NOT NULL,
    done integer NOT NULL DEFAULT 0,
    refused integer NOT NULL DEFAULT 0,
    refusals jsonb NOT NULL DEFAULT '{}',
    ended_at timestamptz,
    ended_by text,
    failure text CHECK (failure ~ '^[0-9A-Z]{5}$'),
    seen_before bigint NOT NULL,
    seen_also bigint[] NOT NULL
);
CREATE INDEX console_task_actor ON insp.console_task (actor, began_at);
CREATE UNIQUE INDEX console_task_once ON insp.console_task (actor, before, kind, action, filter);
CREATE INDEX console_task_ended ON insp.console_task (ended_at);
COMMENT ON TABLE insp.console_task IS 'Actions on a whole selection of dead letters, jobs, callbacks or endpoints, which consoles carry out in batches';
COMMENT ON COLUMN insp.console_task.id IS 'Its number';
COMMENT ON COLUMN insp.console_task.actor IS 'Who began it';
COMMENT ON COLUMN insp.console_task.kind IS 'What is selected: dead (dead letters), jobs, callbacks or endpoints';
COMMENT ON COLUMN insp.console_task.action IS
    'dead: rerun (insp.rerun) or resolve (insp.resolve_dead); jobs: cancel (insp.cancel); callbacks: replay (insp.callback_replay); endpoints: pause, resume or enable (insp.callback_pause, insp.callback_resume, insp.callback_enable)';
COMMENT ON COLUMN insp.console_task.partners IS 'Whose; null: every partner''s';
COMMENT ON COLUMN insp.console_task.filter IS 'What narrows the selection: a partner''s name, an error code, a word or a number; no free text';
COMMENT ON COLUMN insp.console_task.reason IS
    'Why, in the words of the person who began it; null: removed with a person whose job it handled, or with a partner';
COMMENT ON COLUMN insp.console_task.began_at IS 'When it began';
COMMENT ON COLUMN insp.console_task.before IS 'When the selection that its actor saw was counted';
COMMENT ON COLUMN insp.console_task.total IS 'How many objects the selection had when it began';
COMMENT ON COLUMN insp.console_task.done IS 'How many objects were handled';
COMMENT ON COLUMN insp.console_task.refused IS 'How many objects were refused';
COMMENT ON COLUMN insp.console_task.refusals IS 'How many of these for each error code or SQLSTATE; already: somebody was faster; changed: an endpoint that was changed after the preview';
COMMENT ON COLUMN insp.console_task.ended_at IS 'When it ended';
COMMENT ON COLUMN insp.console_task.ended_by IS 'Who stopped it; null: nobody';
COMMENT ON COLUMN insp.console_task.failure IS 'SQLSTATE of a failure that would recur with every batch, which ended it; null: none';
COMMENT ON COLUMN insp.console_task.seen_before IS
    'The oldest transaction that ran during the preview, which saw all changes by older ones. What others put into the selection, or changed in it, is left alone';
COMMENT ON COLUMN insp.console_task.seen_also IS 'Later transactions, without their epoch, whose rows the preview counted';
GRANT SELECT ON insp.console_task TO insp_operator, insp_auditor;

-- A batch is one row, which goes in the transaction that does it: whatever dies between two batches, nothing is done twice or left out.
-- An attempt is counted before it is made, in a separate transaction, so that what kills a console or the server counts too.
CREATE TABLE insp.console_batch (
    task_id bigint NOT NULL,
    number integer NOT NULL,
    targets bigint[] NOT NULL,
    queue integer,
    first bigint,
    last bigint,
    attempts smallint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    until timestamptz,
    failure text CHECK (failure ~ '^[0-9A-Z]{5}$'),
    freed bigint,
    reached timestamptz,
    PRIMARY KEY (task_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX console_batch_order ON insp.console_batch (number, task_id);
COMMENT ON TABLE insp.console_batch IS 'Remaining work of the tasks of insp.console_task';
COMMENT ON COLUMN insp.console_batch.task_id IS 'The task';
COMMENT ON COLUMN insp.console_batch.number IS 'Place in the task';
COMMENT ON COLUMN insp.console_batch.targets IS 'Internal numbers of jobs, callbacks or endpoints';
COMMENT ON COLUMN insp.console_batch.queue IS 'The queue in which the jobs waited; null: none';
COMMENT ON COLUMN insp.console_batch.first IS 'Their first place in it';
COMMENT ON COLUMN insp.console_batch.last IS 'Their last place in it';
COMMENT ON COLUMN insp.console_batch.attempts IS 'Attempts that were begun: one that failed, or whose console died, halves the batch';
COMMENT ON COLUMN insp.console_batch.attempt IS
    'Number of the last attempt, which only rises and is never used twice: what a console reports about an earlier one has no effect';
COMMENT ON SEQUENCE insp.console_batch_attempt_seq IS 'Numbers of attempts at batches; each is used once';
COMMENT ON COLUMN insp.console_batch.until IS 'Until then, only the console that has taken it works on it';
COMMENT ON COLUMN insp.console_batch.failure IS 'SQLSTATE of the last attempt''s failure; null: none, or unknown';
COMMENT ON COLUMN insp.console_batch.freed IS 'Of an endpoint being enabled: callbacks freed so far; null: it is not enabled yet';
COMMENT ON COLUMN insp.console_batch.reached IS 'Of an endpoint being enabled: held callbacks due earlier are freed';
GRANT SELECT ON insp.console_batch TO insp_operator, insp_auditor;
