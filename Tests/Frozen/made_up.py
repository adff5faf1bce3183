"""Made-up later scripts: with them, Tests/freeze.sh shows that it detects what it must, and objects to nothing else."""

import glob
import os
import shutil
import textwrap


def scripts(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "[0-9]*.sql"))):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = file.read()
    return found


def replaced(folder, name, *changes):
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        if old not in text:
            raise SystemExit(f"Tests/Frozen/made_up.py changes {old!r} in {name}, which has none: choose another")
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def written(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text))


def copied(folder, into):
    shutil.copytree(folder, into)
    return into


def good(folder):
    """The rights that it grants, which its manual would list."""
    written(folder, "9001_later.sql", """
        ALTER TABLE insp.job ADD COLUMN later text;
        UPDATE insp.job SET later = 'first' WHERE id = (SELECT min(id) FROM insp.job);
        CREATE TABLE insp.later (n int);
        INSERT INTO insp.scope (scope, meaning) VALUES ('later', 'of a later release');""")
    written(folder, "functions/later.sql", """
        CREATE OR REPLACE FUNCTION insp.later(n int) RETURNS int LANGUAGE sql AS 'SELECT n';
        COMMENT ON FUNCTION insp.later(int) IS 'Of a later release';
        GRANT EXECUTE ON FUNCTION insp.later(int) TO insp_worker;""")
    replaced(folder, "functions/workers.sql", (
        "insp.is_empty(p_worker bigint)", "insp.is_empty(p_worker bigint, p_later integer DEFAULT 0)"), (
        "insp.is_empty(bigint)", "insp.is_empty(bigint, integer)"))
    made_anew(folder)
    written(folder, "keys/9001_later.sql", "ALTER TABLE insp.key ADD COLUMN later text;")
    return {"insp_worker call later"}


def made_anew(folder):
    replaced(folder, "functions/workers.sql", (
        "CREATE OR REPLACE FUNCTION insp.is_empty",
        "DROP FUNCTION IF EXISTS insp.is_empty(bigint);\nCREATE OR REPLACE FUNCTION insp.is_empty"))


def bad(folder):
    """What each change must be told as."""
    written(folder, "0000_before.sql", "SELECT 1;")
    written(folder, "9001_later.sql", """
        DELETE FROM insp.dead;
        ALTER TABLE insp.ready ADD COLUMN later uuid NOT NULL DEFAULT gen_random_uuid();
        ALTER TABLE insp.callback_attempt DROP COLUMN error CASCADE;
        CREATE INDEX later ON insp.job_reference (job_id, kind, index);
        DELETE FROM insp.scope WHERE scope = 'capture';""")
    replaced(folder, "functions/workers.sql", (
        "insp.is_empty(p_worker bigint)", "insp.is_empty(p_worker bigint, p_later integer)"), (
        "insp.is_empty(bigint)", "insp.is_empty(bigint, integer)"))
    made_anew(folder)
    return [
        r"0000_before\.sql comes before", r"insp\.dead has lost or changed \d+ rows", r"insp\.ready is written anew",
        r"insp\.job_reference\w* is indexed", r"a statement of JobQueue fails: .*is_empty", r"function is_empty needs more than it took",
        r"values scope .*no longer", r"callback_attempt\.error is gone", r"view v_callback is gone"]


def edit(folder):
    name = max(scripts(folder))
    replaced(folder, name, ("CREATE TABLE", "-- Later.\nCREATE TABLE"))
    return [rf"{name} was released and is edited", r"inspectd migrate refuses: .*was changed after it was applied"]


def quiet(folder):
    """What nobody notices who looks at rows and signatures alone."""
    written(folder, "9001_later.sql", """
        UPDATE insp.step SET body = convert_to((convert_from(body, 'UTF8')::jsonb #- '{images,FACE,faces}')::text, 'UTF8')
        WHERE status = 16 AND seal = 0;
        REVOKE SELECT ON insp.error_code FROM insp_worker;
        GRANT SELECT ON insp.part TO insp_gateway;
        GRANT SELECT (personal) ON insp.job TO insp_auditor;
        ALTER TABLE insp.step ALTER COLUMN seal SET DEFAULT 1;
        ALTER TABLE insp.job ADD COLUMN later text;
        UPDATE insp.job SET later = workflow;""")
    replaced(folder, "functions/vendor_sessions.sql", (
        "session_begin(p_job bigint, p_fence bigint, p_blob integer DEFAULT 0)",
        "session_begin(p_job bigint, p_fence bigint, p_blob integer DEFAULT 1)"), (
        "IF due IS NULL OR", "IF insp.nowhere(due) OR due IS NULL OR"))
    replaced(folder, "functions/results.sql", ("coalesce(s.summary - 'labels', '{}')", "coalesce(s.summary - 'labels' - 'decision', '{}')"))
    return [
        r"insp\.step has lost or changed \d+ rows", r"the result of job .* is another",
        r"insp_worker read error_code is revoked", r"insp_gateway read part is granted", r"insp_auditor read job\(personal\) is granted",
        r"the default of column step\.seal is", r"the default of argument session_begin\.p_blob is",
        r"\d+ rows of insp\.job, which had \d+, are updated",
        r"a statement of \w+ fails when it runs: 42883 .*session_pause", r"a statement of \w+ no longer gives .*gateway_result"]


def bad_keys(folder):
    written(folder, "keys/9001_later.sql", """
        DELETE FROM insp.key WHERE kind = 'template';
        UPDATE insp.custody SET former_key = NULL;
        UPDATE insp.key SET created_at = created_at;
        GRANT SELECT ON insp.key TO keys_custodian;
        REVOKE USAGE ON SCHEMA insp FROM keys_eraser;""")
    replaced(folder, "keys/functions/keys.sql", ("IF p_kind IS NULL OR p_kind NOT IN", "IF insp.nowhere(p_kind) OR p_kind NOT IN"))
    return [
        r"insp\.key has lost or changed \d+ rows", r"insp\.custody has lost or changed 1 rows",
        r"\d+ rows of insp\.key, which had \d+, are updated", r"keys_custodian read key is granted",
        r"keys_eraser usage schema insp is revoked", r"a statement of Custody fails when it runs: 42883 .*add_job_keys"]
