-- The key store: a separate database with separate backups. Every key in it is wrapped by the one above it, and the wrapping
-- key at the top is nowhere in a database. To destroy a key is to delete its row.

CREATE SCHEMA insp;
COMMENT ON SCHEMA insp IS 'inspectd: wrapped keys of the data in the main database';
REVOKE ALL ON SCHEMA insp FROM PUBLIC;
GRANT USAGE ON SCHEMA insp TO keys_custodian, keys_eraser, keys_sweeper, keys_locksmith;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE TABLE insp.custody (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    key_store uuid NOT NULL DEFAULT gen_random_uuid(),
    wrapping_key text NOT NULL CHECK (wrapping_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
    proof bytea NOT NULL,
    former_key text,
    main_database uuid NOT NULL,
    main_history text,
    main_job bigint,
    changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE insp.custody IS 'The key store''s id, and the wrapping key that wraps the keys of partners';
COMMENT ON COLUMN insp.custody.single IS 'There is one row';
COMMENT ON COLUMN insp.custody.key_store IS 'Drawn once; the main database records it and accepts no other key store';
COMMENT ON COLUMN insp.custody.wrapping_key IS 'Name of the wrapping key that wraps new keys';
COMMENT ON COLUMN insp.custody.proof IS 'An unused key, wrapped by it: unwrapping it proves that a program has this wrapping key, and not another with the same name';
COMMENT ON COLUMN insp.custody.former_key IS 'Name of the wrapping key from which a rotation moves the keys; null: none is under way';
COMMENT ON COLUMN insp.custody.main_database IS
    'The main database''s own id: databases number their partners alike, so a second one would share and destroy the keys of the first';
COMMENT ON COLUMN insp.custody.main_history IS
    'The history of the main database that the last sweep saw (insp.custody_mark there): a restored, promoted or copied database has a different one; null: none yet';
COMMENT ON COLUMN insp.custody.main_job IS 'The highest job number that it had issued by then: an older state of the same history has a lower one';
COMMENT ON COLUMN insp.custody.changed_at IS 'When a rotation began or ended';

CREATE TABLE insp.key (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('partner', 'person', 'job', 'template')),
    partner_id integer NOT NULL,
    parent uuid,
    subject bytea,
    wrapping_key text,
    wrapped bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((parent IS NULL) = (kind = 'partner')),
    CHECK ((wrapping_key IS NULL) = (kind <> 'partner')),
    CHECK ((subject IS NULL) = (kind <> 'person'))
    -- VACUUM lets new rows overwrite the bytes of destroyed keys; only inspectd keys sweep --rewrite removes all of them from the file.
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
-- ANALYZE keeps samples of a column's values, which would outlive the keys.
ALTER TABLE insp.key ALTER COLUMN wrapped SET STATISTICS 0, ALTER COLUMN subject SET STATISTICS 0;
-- The parent is no foreign key: a partner or a person is destroyed at once, by one row, however many keys are below.
CREATE UNIQUE INDEX key_partner ON insp.key (partner_id) WHERE kind = 'partner';
CREATE UNIQUE INDEX key_person ON insp.key (partner_id, subject) WHERE kind = 'person';
-- The main database names an erased person by the SHA-256 of the pseudonym, which is the subject as Base64 for URLs.
CREATE INDEX key_person_index ON insp.key (partner_id,
    sha256(decode(rtrim(translate(encode(subject, 'base64'), '+/', '-_'), '='), 'escape'))) WHERE kind = 'person';
CREATE INDEX key_parent ON insp.key (parent) WHERE parent IS NOT NULL;
COMMENT ON TABLE insp.key IS 'Keys, each wrapped by the one above it';
COMMENT ON COLUMN insp.key.id IS 'Its name, in the header of the bytes that it sealed';
COMMENT ON COLUMN insp.key.kind IS 'partner; person (or a face without a person); job (and its reruns); template';
COMMENT ON COLUMN insp.key.partner_id IS 'Whose: insp.partner.id of the main database';
COMMENT ON COLUMN insp.key.parent IS 'The key that wraps it; null: a wrapping key';
COMMENT ON COLUMN insp.key.subject IS 'A person''s reference, or a face''s id, as blind index; null: not a person''s key';
COMMENT ON COLUMN insp.key.wrapping_key IS 'Name of the wrapping key that wraps a partner''s key; null: another kind';
COMMENT ON COLUMN insp.key.wrapped IS 'The wrapped key; id, kind, partner and parent are authenticated with it';
COMMENT ON COLUMN insp.key.created_at IS 'When it was created';

CREATE TABLE insp.fallen (
    parent uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('partner', 'person')),
    fallen_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE insp.fallen IS 'Destroyed keys; insp.sweep_keys must still delete the rows of the keys below them, which nobody can unwrap any longer';
COMMENT ON COLUMN insp.fallen.parent IS 'The destroyed key';
COMMENT ON COLUMN insp.fallen.kind IS 'partner: the key was a partner''s, or below one; person';
COMMENT ON COLUMN insp.fallen.fallen_at IS 'When it was destroyed';

-- A request may be sealed before the erasure of its person and accepted after it.
CREATE TABLE insp.destroyed (
    id uuid PRIMARY KEY,
    destroyed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX destroyed_at ON insp.destroyed (destroyed_at);
COMMENT ON TABLE insp.destroyed IS
    'Keys of jobs and templates that were destroyed with their person in the last 30 days: data that they sealed can never be opened, whereas other unknown keys may come back with a newer backup of the key store';
COMMENT ON COLUMN insp.destroyed.id IS 'The destroyed key';
COMMENT ON COLUMN insp.destroyed.destroyed_at IS 'When its row was deleted';
