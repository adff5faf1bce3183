-- Which key store has the keys of sealed data. The key store itself refers to nothing here.

CREATE TABLE insp.custody (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key_store uuid NOT NULL,
    wrapping_key text NOT NULL CHECK (wrapping_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
    former_key text CHECK (former_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
    changed_at timestamptz NOT NULL DEFAULT now(),
    objects_swept_to text,
    objects_epoch bigint
);
COMMENT ON TABLE insp.custody IS
    'The key store and the wrapping key; programs with different ones refuse to start. No row: nothing is sealed yet';
COMMENT ON COLUMN insp.custody.single IS 'There is one row';
COMMENT ON COLUMN insp.custody.key_store IS 'The key store''s own id';
COMMENT ON COLUMN insp.custody.wrapping_key IS 'Name of the wrapping key for new keys';
COMMENT ON COLUMN insp.custody.former_key IS 'Name of the wrapping key from which a rotation moves the keys; null: none is under way';
COMMENT ON COLUMN insp.custody.changed_at IS 'When a rotation began or ended';
COMMENT ON COLUMN insp.custody.objects_swept_to IS 'The key of the object store that the sweep has reached; null: it has not begun';
COMMENT ON COLUMN insp.custody.objects_epoch IS 'The epoch (insp.epoch) in which it reached it';

-- Erasure and retention take effect in this database at once. A process that has the key store destroys these keys within seconds,
-- and none is lost if it dies.
CREATE TABLE insp.key_gone (
    key_id uuid NOT NULL,
    partner_id integer NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, partner_id)
);
COMMENT ON TABLE insp.key_gone IS 'Keys of jobs and templates that have nothing left to open, until the key store has destroyed them';
COMMENT ON COLUMN insp.key_gone.key_id IS 'The key, as the job or the template named it';
COMMENT ON COLUMN insp.key_gone.partner_id IS 'Its partner: the key store destroys no key of another partner';
COMMENT ON COLUMN insp.key_gone.since IS 'When nothing was left to open';
-- For the age of the backlog.
CREATE INDEX key_gone_since ON insp.key_gone (since);
GRANT SELECT ON insp.key_gone TO insp_operator, insp_auditor;

-- Likewise. The program that erases a person has the key store only if it is inspectd person.
CREATE TABLE insp.person_gone (
    partner_id integer NOT NULL,
    index bytea NOT NULL CHECK (length(index) = 32),
    keeps_jobs boolean NOT NULL DEFAULT false,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL,
    PRIMARY KEY (partner_id, index, keeps_jobs)
);
COMMENT ON TABLE insp.person_gone IS 'Erased persons and their faces, and deleted faces, until the key store has destroyed their keys';
COMMENT ON COLUMN insp.person_gone.partner_id IS 'The partner';
COMMENT ON COLUMN insp.person_gone.index IS 'insp.reference_index of the pseudonym of the reference or the face id';
COMMENT ON COLUMN insp.person_gone.keeps_jobs IS
    'A face was deleted alone: the results of its finished jobs still open with keys below its own, which is destroyed once none is left';
COMMENT ON COLUMN insp.person_gone.since IS 'When the person was erased: what is sealed later is a new person''s';
COMMENT ON COLUMN insp.person_gone.due_at IS 'When a worker tries next';
CREATE INDEX person_gone_due ON insp.person_gone (due_at);
-- For the age of the backlog.
CREATE INDEX person_gone_since ON insp.person_gone (since) WHERE NOT keeps_jobs;

-- Likewise; and what another job of the chain still has is listed again when that loses its parts.
CREATE TABLE insp.object_gone (
    location text COLLATE "C" PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE insp.object_gone IS 'Objects of removed parts, until a worker has deleted them from the object store';
COMMENT ON COLUMN insp.object_gone.location IS 'As of the part, without an offset';
COMMENT ON COLUMN insp.object_gone.since IS 'When a part last stopped using it';
-- For the age of the backlog.
CREATE INDEX object_gone_since ON insp.object_gone (since);
GRANT SELECT ON insp.object_gone TO insp_operator, insp_auditor;
