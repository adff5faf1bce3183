-- The console: who is signed in, who reviews which case, and actions on many dead letters.

CREATE TABLE insp.console_session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_sha256 bytea NOT NULL UNIQUE CHECK (length(token_sha256) = 32),
    actor text NOT NULL CHECK (actor ~ '^console:[[:graph:]]{1,100}$'),
    method text NOT NULL CHECK (method IN ('link', 'oidc')),
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_session_expires ON insp.console_session (expires_at);
COMMENT ON TABLE insp.console_session IS
    'Persons who are signed in at the console. The cookie is 256 random bits, of which this table has the SHA-256; each sign-in makes a new one';
COMMENT ON COLUMN insp.console_session.id IS 'Internal number';
COMMENT ON COLUMN insp.console_session.token_sha256 IS 'SHA-256 of the cookie''s value';
COMMENT ON COLUMN insp.console_session.actor IS 'Who it is, as the record names the person: console: and the provider''s name for them';
COMMENT ON COLUMN insp.console_session.method IS 'How the person signed in: link (inspectd console --local) or oidc (OpenID Connect)';
COMMENT ON COLUMN insp.console_session.created_at IS 'When the person signed in';
COMMENT ON COLUMN insp.console_session.seen_at IS 'Last call, to the minute; half an hour later the session ends';
COMMENT ON COLUMN insp.console_session.expires_at IS 'Refused from then on, whatever happens';
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
COMMENT ON TABLE insp.console_act IS 'For whom the console''s login acts in a transaction; empty between transactions';
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
COMMENT ON COLUMN insp.case_lease.actor IS 'Who has it; nobody else can decide it there until then';
COMMENT ON COLUMN insp.case_lease.taken_at IS 'Since when';
COMMENT ON COLUMN insp.case_lease.until IS 'When it is free again; each look at it prolongs it';
GRANT SELECT ON insp.case_lease TO insp_operator, insp_auditor;

CREATE TABLE insp.console_task (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor text NOT NULL,
    action text NOT NULL CHECK (action IN ('rerun', 'resolve')),
    partners integer[],
    code text,
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 200),
    began_at timestamptz NOT NULL DEFAULT now(),
    before timestamptz NOT NULL DEFAULT now(),
    last bigint NOT NULL DEFAULT 0,
    total integer NOT NULL,
    done integer NOT NULL DEFAULT 0,
    refused integer NOT NULL DEFAULT 0,
    ended_at timestamptz,
    ended_by text
);
CREATE INDEX console_task_open ON insp.console_task (id) WHERE ended_at IS NULL;
COMMENT ON TABLE insp.console_task IS 'Actions on many dead letters, which consoles work off in batches';
COMMENT ON COLUMN insp.console_task.id IS 'Its number';
COMMENT ON COLUMN insp.console_task.actor IS 'Who began it';
COMMENT ON COLUMN insp.console_task.action IS 'rerun (insp.rerun) or resolve (insp.resolve_dead)';
COMMENT ON COLUMN insp.console_task.partners IS 'Whose dead letters; null: every partner''s';
COMMENT ON COLUMN insp.console_task.code IS 'With which error code; null: any';
COMMENT ON COLUMN insp.console_task.reason IS 'Why, in the words of who began it';
COMMENT ON COLUMN insp.console_task.began_at IS 'When it began';
COMMENT ON COLUMN insp.console_task.before IS 'Dead letters that died later are left alone';
COMMENT ON COLUMN insp.console_task.last IS 'The last job that a batch looked at';
COMMENT ON COLUMN insp.console_task.total IS 'How many dead letters there were when it began';
COMMENT ON COLUMN insp.console_task.done IS 'How many it was done to';
COMMENT ON COLUMN insp.console_task.refused IS 'How many the database refused';
COMMENT ON COLUMN insp.console_task.ended_at IS 'When it ended';
COMMENT ON COLUMN insp.console_task.ended_by IS 'Who stopped it; null: nobody';
GRANT SELECT ON insp.console_task TO insp_operator, insp_auditor;
