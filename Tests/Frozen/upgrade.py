"""A database of a frozen release, with something in every state, is brought up to date: nothing may be lost, and the release's
programs must be able to go on."""

import glob
import json
import os
import re
import subprocess
import threading
import time

import calls
import made_up
import previous
import release
import state

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


def edited(frozen, folder):
    """Numbered scripts that are not as they were released, and new ones that would come before them."""
    old, new = made_up.scripts(frozen), made_up.scripts(folder)
    found = [f"{name} was released and is {'edited' if name in new else 'gone'}" for name in old if new.get(name) != old[name]]
    found += [f"{name} comes before {max(old)}, which was released" for name in new if name not in old and name < max(old)]
    return found


def results(url):
    """What a partner is told of each job."""
    connection = release.connect(url)
    # Reading is recorded, and that is undone.
    release.rows(connection, "BEGIN")
    found = dict(release.rows(connection, """
        SELECT j.public_id::text, insp.job_result(j.public_id, 'support')::text FROM insp.job j ORDER BY j.id"""))
    release.rows(connection, "ROLLBACK")
    connection.close()
    return found


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

    def __init__(self, filled, folder, name):
        self.filled, self.server, self.frozen, self.name = filled, filled.server, filled.frozen, name
        self.folder = os.path.join(folder, filled.folder)
        self.findings = edited(os.path.join(self.frozen, "Migrations", filled.folder), self.folder)
        self.allowed = set(filled.allowed)
        self.server.create(name, filled.name)

    def run(self):
        url = self.server.of(self.name)
        before_results = results(url) if self.filled.where == "queue" else {}
        before = state.State(url)
        if not self.apply():
            return self.findings
        after = state.State(url, before.columns)
        self.findings += before.lost(after, self.allowed)
        after_results = results(url) if self.filled.where == "queue" else {}
        for job, text in before_results.items():
            if after_results.get(job) != text:
                self.findings.append(f"the result of job {job} is another")
        self.keep(url)
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

    def keep(self, url):
        """Whether the frozen release's statements and promises hold in a database."""
        where, told = self.filled.where, set()
        statements = self.filled.calls.statements
        assert len(statements) > 10
        for old, new in zip(statements, release.described(url, [one["text"] for one in statements])):
            text = " ".join(old["text"].split())
            if isinstance(new, str):
                what = f"fails: {new}"
            elif new[0] != old["takes"]:
                what = f"takes ({', '.join(new[0])})"
            elif new[1][:len(old["gives"])] != old["gives"]:
                what = f"gives ({', '.join(new[1])})"
            else:
                continue
            told.add(old["text"])
            self.findings.append(f"a statement of {old['module']} {what}: {text}")
        self.findings += [f"a statement of {module} {what}: {' '.join(text.split())}"
                          for text, (module, what) in self.filled.changed(url).items() if text not in told]
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


class Filled:
    """A database of a release with something in every state, to be cloned, and what the release's statements do in it."""

    def __init__(self, server, frozen, where, name, folder, fill):
        self.server, self.frozen, self.where, self.name, self.folder = server, frozen, where, name, folder
        server.migrated(name, os.path.join(frozen, "Migrations", folder))
        subprocess.run(
            ["psql", "-XqAt", "-v", f"version={os.path.basename(frozen)}", "-f", fill, server.of(name)],
            cwd=frozen, check=True, stdout=subprocess.DEVNULL)
        self.control = f"{name}_control"
        server.create(self.control, name)
        self.calls = calls.Calls(frozen, where)
        self.first, self.again = self.calls.run(server.of(name)), self.calls.run(server.of(self.control))
        # In the key store, as the release has them.
        connection = release.connect(server.of(name))
        self.allowed = state.manual() if where == "queue" else state.rights(connection)
        connection.close()

    def changed(self, url):
        """Statements that do something else in another database, with their module and what that is."""
        def differing(outcomes):
            found = {one["text"]: (one["module"], calls.differs(self.first[one["text"]], self.again[one["text"]], outcomes[one["text"]]))
                     for one in self.calls.statements if one["text"] in outcomes}
            return {text: (module, what) for text, (module, what) in found.items() if what}

        found = differing(self.calls.run(url))
        # What time alone has changed has changed in a database that is not upgraded, too.
        aged = differing(self.calls.run(self.server.of(self.control), set(found)))
        return {text: what for text, what in found.items() if text not in aged}


def findings(server, frozen, folder, scratch, say):
    """Everything that is wrong with bringing a database of the release up to the folder's schema, and with this program itself."""
    queue = Filled(server, frozen, "queue", "filled", "", "fill.sql")
    keys = Filled(server, frozen, "key store", "kept", "keys", "fill-keys.sql")
    found = queue.calls.untried(queue.first) + keys.calls.untried(keys.first)
    say("upgraded")
    today = Upgrade(queue, folder, "upgraded")
    today.run()
    if not today.findings:
        today.go_on()
    found += today.findings + [f"the key store: {text}" for text in Upgrade(keys, folder, "keystore").run()]
    if found:
        return found
    say("upgraded further, by scripts that were made up")
    later = made_up.copied(folder, os.path.join(scratch, "good"))
    documented = made_up.good(later)
    for run in (Upgrade(queue, later, "good"), Upgrade(queue, later, "beside"), Upgrade(keys, later, "goodkeys")):
        run.allowed |= documented
        if run.name == "beside":
            run.beside()
        else:
            run.run()
        if run.name == "good":
            run.go_on()
        found += [f"a later script that breaks nothing: {text}" for text in run.findings]
    for name, change, filled in (("bad", made_up.bad, queue), ("edited", made_up.edit, queue), ("quiet", made_up.quiet, queue),
                                 ("badkeys", made_up.bad_keys, keys)):
        later = made_up.copied(folder, os.path.join(scratch, name))
        expected = change(later)
        told = Upgrade(filled, later, name).run()
        found += [f"not seen in scripts that break something: {pattern} (seen: {'; '.join(told)})"
                  for pattern in expected if not any(re.search(pattern, text) for text in told)]
    return found
