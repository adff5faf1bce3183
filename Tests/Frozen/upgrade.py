"""A database of a frozen release, with something in every state, is brought up to date: nothing may be lost, and the release's
programs must be able to go on."""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import textwrap
import threading
import time

import previous
import release

# Columns whose content a later script has moved, with where to.
MOVED = {}
# Few rows, whatever the number of jobs: they may be rewritten and indexed while others wait.
FEW = set(release.LISTS) | {"partner", "partner_policy", "partner_key", "endpoint", "region", "control", "credential", "worker", "epoch"}
# A worker that could not beat for ten seconds stops itself.
LONGEST_WAIT = 8


class Server:
    """A private server, and the program that migrates its databases."""

    def __init__(self, url, program, prefix=""):
        self.url, self.program, self.prefix = url, program, prefix

    def of(self, name):
        return self.url.replace("/postgres?", f"/{self.prefix}{name}?", 1)

    def sql(self, name, text, values=None):
        connection = release.connect(self.of(name))
        try:
            return release.rows(connection, text, values)
        finally:
            connection.close()

    def create(self, name, template=None):
        connection = release.connect(self.url)
        template = self.prefix + template if template else "template0"
        release.rows(connection, f"CREATE DATABASE {self.prefix}{name} TEMPLATE {template}")
        connection.close()

    def migrate(self, name, folder, *options):
        environment = dict(os.environ, INSPECTD_DATABASE_URL=self.of(name), INSPECTD_MIGRATIONS=folder)
        return subprocess.run(
            [self.program, "migrate", *options], env=environment, text=True, capture_output=True, timeout=300)

    def migrated(self, name, folder):
        self.create(name)
        for options in (["--roles"], []):
            answer = self.migrate(name, folder, *options)
            if answer.returncode:
                raise SystemExit(f"{folder} cannot be applied to a new database: {answer.stderr}")


def scripts(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "[0-9]*.sql"))):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = file.read()
    return found


def edited(frozen, folder):
    """Numbered scripts that are not as they were released, and new ones that would come before them."""
    old, new = scripts(frozen), scripts(folder)
    found = [f"{name} was released and is {'edited' if name in new else 'gone'}" for name in old if new.get(name) != old[name]]
    found += [f"{name} comes before {max(old)}, which was released" for name in new if name not in old and name < max(old)]
    return found


def content(server, name, columns=None):
    """Each table's columns, and its rows by these columns."""
    connection = release.connect(server.of(name))
    if columns is None:
        columns = dict(release.rows(connection, """
            SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
                AND NOT a.attisdropped GROUP BY 1"""))
    found, gone = {}, []
    for table, names in columns.items():
        present = {row[0] for row in release.rows(connection, """
            SELECT a.attname FROM pg_attribute a WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped""",
            ("insp." + table,))}
        gone += [f"{table}.{column}" for column in names if column not in present]
        if present.issuperset(names):
            listed = ", ".join(f'"{column}"' for column in names)
            found[table] = collections.Counter(
                row[0] for row in release.rows(connection, f"SELECT ROW({listed})::text FROM insp.{table}"))
    connection.close()
    return columns, found, gone


def files(server, name):
    """The file of each table that grows with jobs, and its indexes."""
    return {row[0]: (row[1], set(row[2])) for row in server.sql(name, """
        SELECT c.relname, c.relfilenode, ARRAY(SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = c.oid)
        FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL (%s)""", (sorted(FEW),))}


def results(server, name):
    """What a partner is told of each job."""
    return dict(server.sql(name, "SELECT j.public_id::text, insp.job_result(j.public_id)::text FROM insp.job j ORDER BY j.id"))


class Bystander(threading.Thread):
    """A worker of the frozen release that goes on beating and claiming, and its longest wait."""

    def __init__(self, server, name, folder):
        super().__init__(daemon=True)
        self.worker = previous.Worker(release.connect(server.of(name)), folder, host="bystander")
        self.over = threading.Event()
        self.longest, self.calls, self.error = 0, 0, None

    def run(self):
        try:
            while not self.over.wait(0.05):
                for call in (self.worker.beat, lambda: self.worker.claim(1)):
                    began = time.monotonic()
                    call()
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.calls += 1
        except Exception as error:
            self.error = error


class Upgrade:
    """One upgrade of a filled database. What is wrong with it is in `findings`."""

    def __init__(self, server, frozen, folder, name, template):
        self.server, self.frozen, self.folder, self.name = server, frozen, folder, name
        self.findings = edited(os.path.join(frozen, "Migrations"), folder)
        server.create(name, template)

    def run(self):
        before_results = results(self.server, self.name)
        columns, before, _ = content(self.server, self.name)
        placed = files(self.server, self.name)
        if not self.apply():
            return self.findings
        _, after, gone = content(self.server, self.name, columns)
        self.findings += [
            f"{name} is gone; if its content has a new place, Tests/Frozen/upgrade.py lists it" for name in gone if name not in MOVED]
        self.findings += [f"{name} is listed as moved, and is there" for name in MOVED if name not in gone]
        for table, had in before.items():
            lost = had - after.get(table, had)
            if lost:
                self.findings.append(f"insp.{table} has lost or changed {sum(lost.values())} rows, such as {next(iter(lost))[:200]}")
        after_results = results(self.server, self.name)
        for job, text in before_results.items():
            if after_results.get(job) != text:
                self.findings.append(f"the result of job {job} is another")
        for table, (file, indexes) in files(self.server, self.name).items():
            if table in placed and file != placed[table][0]:
                self.findings.append(f"insp.{table} is written anew, while all who need it wait")
            elif table in placed and indexes - placed[table][1]:
                self.findings.append(
                    f"insp.{table} is indexed while those who write into it wait; build it ON ONLY the partitioned table")
        self.keep("queue", self.server.of(self.name))
        return self.findings

    def apply(self):
        answer = self.server.migrate(self.name, self.folder)
        if answer.returncode:
            self.findings.append(f"inspectd migrate refuses: {answer.stderr.strip()}")
            return False
        answer = self.server.migrate(self.name, self.folder)
        if answer.returncode:
            self.findings.append(f"inspectd migrate, once more, refuses: {answer.stderr.strip()}")
            return True
        again = json.loads(answer.stdout)
        for what in ("applied", "different", "forgotten", "unknown"):
            if again[what]:
                self.findings.append(f"migrated once more, {what}: {', '.join(again[what])}")
        return True

    def keep(self, where, url):
        """Whether the frozen release's statements and promises hold in a database."""
        statements = [one for one in release.read_statements(self.frozen) if one["where"] == f"the {where}"]
        assert len(statements) > 10
        for old, new in zip(statements, release.described(url, [one["text"] for one in statements])):
            text = " ".join(old["text"].split())
            if isinstance(new, str):
                self.findings.append(f"a statement of {old['module']} fails: {new}: {text}")
            elif new[0] != old["takes"]:
                self.findings.append(f"a statement of {old['module']} takes ({', '.join(new[0])}): {text}")
            elif new[1][:len(old["gives"])] != old["gives"]:
                self.findings.append(f"a statement of {old['module']} gives ({', '.join(new[1])}): {text}")
        connection = release.connect(url)
        today = release.promises(connection, lists=where == "queue")
        connection.close()
        self.findings += release.broken(release.read_promises(os.path.join(self.frozen, release.PROMISES[where])), today)

    def go_on(self):
        """The frozen release's worker, which held leases meanwhile, ends all jobs by its own statements."""
        connection = release.connect(self.server.of(self.name))
        number, incarnation = release.rows(connection, "SELECT DISTINCT worker_id, incarnation::text FROM public.held")[0]
        held = dict(release.rows(connection, "SELECT job_id, fence FROM public.held"))
        worker = previous.Worker.of(connection, self.frozen, number, incarnation)
        leases = worker.beat()
        if leases != held:
            self.findings.append(f"a worker holds {len(held)} jobs, and the database knows of {leases}")
            return self.findings
        worker.held = held
        # A producer of the release.
        release.rows(connection, """SELECT insp.enqueue('{"partner": "bank", "workflow": "liveness"}', face => 'face')""")
        waiting = release.rows(connection, "SELECT count(*) FROM insp.ready")[0][0]
        ended = previous.drain(worker, 120, time.monotonic)
        if not waiting or ended < len(held) + waiting:
            self.findings.append(f"a worker that held {len(held)} jobs, and found {waiting} waiting, ended {ended}")
        worker.stop()
        for what, count in release.rows(connection, """
                SELECT 'jobs that are not finished, and wait for nobody', count(*) FROM insp.job j WHERE j.status < 128
                    AND NOT EXISTS (SELECT FROM insp.review_wait w WHERE w.job_id = j.id)
                UNION ALL SELECT 'leases', count(*) FROM insp.lease
                UNION ALL SELECT 'jobs without one result and one end', count(*) FROM insp.job j WHERE j.status = 128 AND (
                    (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128) > 1
                    OR (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') <> 1)
                UNION ALL SELECT 'jobs with two callbacks at one endpoint', count(*) FROM (SELECT FROM insp.callback c
                    WHERE c.job_id > 0 GROUP BY c.job_id, c.endpoint_id HAVING count(*) > 1) x"""):
            if count:
                self.findings.append(f"after the release's worker has worked off all: {count} {what}")
        connection.close()
        return self.findings

    def beside(self):
        """It is migrated beside a worker of the release and a reader who holds the table of jobs."""
        reader = release.connect(self.server.of(self.name))
        bystander = Bystander(self.server, self.name, self.frozen)
        bystander.start()
        release.rows(reader, "BEGIN; SELECT count(*) FROM insp.job")
        timer = threading.Timer(5, reader.close)
        timer.start()
        self.apply()
        timer.join()
        bystander.over.set()
        bystander.join(30)
        if bystander.error:
            self.findings.append(f"a worker beside it: {bystander.error}")
        elif bystander.longest > LONGEST_WAIT or not bystander.calls:
            self.findings.append(f"a worker beside it waited {bystander.longest:.1f} s for one of {bystander.calls} calls")
        return self.findings


# Made-up later scripts, by which this shows that it sees what it must ------------------------------------------------

def replaced(folder, name, *changes):
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        if old not in text:
            raise SystemExit(f"Tests/Frozen/upgrade.py changes {old!r} in {name}, which has none: choose another")
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
    written(folder, "9001_later.sql", """
        ALTER TABLE insp.job ADD COLUMN later text;
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


def prepare(server, frozen):
    """A filled database of the release, to be cloned."""
    server.migrated("filled", os.path.join(frozen, "Migrations"))
    subprocess.run(
        ["psql", "-XqAt", "-v", f"version={os.path.basename(frozen)}", "-f", os.path.join(frozen, "fill.sql"), server.of("filled")],
        check=True, stdout=subprocess.DEVNULL)


def findings(server, frozen, folder, scratch, say):
    """Everything that is wrong with bringing a database of the release up to the folder's schema, and with this program itself."""
    prepare(server, frozen)
    say("upgraded")
    today = Upgrade(server, frozen, folder, "upgraded", "filled")
    today.run()
    if not today.findings:
        today.go_on()
    server.migrated("kept", os.path.join(frozen, "Migrations", "keys"))
    keys = Upgrade(server, os.path.join(frozen), folder, "keystore", "kept")
    keys.findings = edited(os.path.join(frozen, "Migrations", "keys"), os.path.join(folder, "keys"))
    keys.folder = os.path.join(folder, "keys")
    if keys.apply():
        keys.keep("key store", server.of("keystore"))
    found = today.findings + [f"the key store: {text}" for text in keys.findings]
    if found:
        return found
    say("upgraded further, by scripts that were made up")
    later = copied(folder, os.path.join(scratch, "good"))
    good(later)
    for run in (Upgrade(server, frozen, later, "good", "filled"), Upgrade(server, frozen, later, "beside", "filled")):
        if run.name == "good":
            run.run()
            run.go_on()
        else:
            run.beside()
        found += [f"a later script that breaks nothing: {text}" for text in run.findings]
    for name, change in (("bad", bad), ("edited", edit)):
        later = copied(folder, os.path.join(scratch, name))
        expected = change(later)
        told = Upgrade(server, frozen, later, name, "filled").run()
        found += [f"not seen in scripts that break something: {pattern} (seen: {'; '.join(told)})"
                  for pattern in expected if not any(re.search(pattern, text) for text in told)]
    return found
