"""Searches everything that a service with sealed jobs leaves behind for personal data, and proves an erasure against an old
backup. Called by Tests/custody.sh."""

import argparse
import base64
import http.client
import json
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.parse

import psycopg2

from Custody import vendor
from Custody.cluster import Cluster, Restored
from Custody.inputs import KINDS, content, enrol, erase, executed, judged, late, own, prepare
from Custody.marks import Family
from Custody.places import hits, rewrite
from trial import Trial, children, judge


# Numbers of jobs beside those that are sealed.
REFUSED, PLAIN, PLAIN_FACE, SOUGHT = 99_998, 99_999, 99_997, 99_996
# Sealed jobs so that each workflow is submitted by the gateway and by the command line: the searches need a face of each.
LEAST = 2 * len(KINDS)


def dumpable():
    """Core files of any size, where the process itself does not forbid them."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class CustodyTrial(Trial):
    def __init__(self, options):
        super().__init__(options)
        # The present process of each kind, by name.
        self.serving = {}
        self.main = Cluster(os.path.join(self.folder, "main"))
        self.keys = Cluster(os.path.join(self.folder, "keys"))
        self.wrapping = os.path.join(self.folder, "wrapping-keys")
        self.logs = os.path.join(self.folder, "logs")
        self.cores, self.temporary = (os.path.join(self.folder, name) for name in ("cores", "temporary"))
        for folder in (self.logs, self.cores, self.temporary):
            os.makedirs(folder)
        self.spawn = {"cwd": self.cores, "preexec_fn": dumpable}
        self.environment.update(
            TMPDIR=self.temporary, INSPECTD_DATABASE_URL=self.main.url(), INSPECTD_KEYS_URL=self.keys.url(),
            INSPECTD_WRAPPING_KEYS="file:" + self.wrapping)

    def command(self, *words, environment=None, check=True):
        answer = super().command(*words, environment=environment, check=False)
        with open(os.path.join(self.logs, words[0] + ".commands"), "ab") as file:
            file.write(answer.stderr)
        if check and answer.returncode != 0:
            raise RuntimeError(f"{words[0]}: {answer.stderr.decode()[-500:]}")
        return answer

    def start(self, name, *words, **options):
        process = super().start(name, *words, **options)
        self.serving[words[0]] = (name, process)
        return process

    # MARK: Set-up

    def set_up(self):
        self.options.inputs = prepare(self.options.inputs, self.folder)
        self.command("keys", "make", "--key-file", self.wrapping)
        self.command("migrate", "--roles")
        self.command("migrate")
        self.command("keys", "init")
        self.main.query("CREATE EXTENSION pg_stat_statements")
        self.secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.api_key = os.urandom(24).hex()
        # Its log is none of the programs' whose logs are searched.
        self.processes.append(subprocess.Popen(
            ["/usr/bin/python3", "deploy/callback-receiver.py", "--port-file", self.path("port"), "--log", self.path("received"),
             "--secret", self.secret], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.receiver = "http://127.0.0.1:" + self.await_file("port")
        self.command("endpoint", "create", "--new-partner", "--partner", "bank", "--url", self.receiver + "/ok", "--allow-http",
                     "--allow-private")
        self.command("endpoint", "rotate", "1", "--overlap", "0", "--secret", self.write("signing-secret", self.secret))
        self.command("endpoint", "set", "1", "--settings", self.write("settings", '{"inlineResult": true, "apiKeyHeader": "X-Key"}'),
                     "--api-key", self.write("api-key", self.api_key))
        # A limit that allows as many attempts on one face as this takes.
        self.main.query("SELECT insp.set_face_limits('bank', attempts => 100000)")
        self.bearer = self.main.query("SELECT bearer FROM insp.create_credential('bank', '{create,read,faces,persons}', rate_per_second => 100000)")[0][0]
        vendor.serve(self)
        self.serve()

    def serve(self, suffix=""):
        """A gateway and a worker that tell all they do."""
        self.start("gateway" + suffix, "gateway", "--listen", "0", "--health", "0", "--log-level", "debug", "--credential-rate", "100000")
        self.start("worker" + suffix, "worker", "--health", "0", "--log-level", "debug")
        self.gateway = self.port("gateway" + suffix, "gateway open")

    # MARK: Jobs

    def marks_of(self, number):
        """What job `number` says of a person."""
        return {key: Family.value(number, key) for key in (
            "userReference", "customerInternalReference", "reportingCriteria", "faceId", "consent", "callbackUrl", "idempotencyKey", "note", "session")}

    def request(self, number, workflow):
        marks = self.marks_of(number)
        request = {key: marks[key] for key in ("userReference", "customerInternalReference", "reportingCriteria")}
        request["callbackUrl"] = f"{self.receiver}/ok?token={marks['callbackUrl']}"
        request["consent"] = {"obtained": "yes", "obtainedAt": "2026-01-01T00:00:00Z", "policyVersion": "v7", "userIp": marks["consent"]}
        request["idempotencyKey"] = marks["idempotencyKey"]
        request["workflow"] = workflow
        if workflow in ("enrollment", "authentication"):
            request["faceId"] = marks["faceId"]
        return request

    def by_gateway(self, request, parts):
        body = dict(request)
        names = {"session": "SESSION_BLOB"}
        body["parts"] = {names.get(kind, kind.upper()): content(self.input(name)) for kind, name in parts.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=60)
        connection.request("POST", "/inspectionjob/create", json.dumps(body), {
            "Authorization": "Bearer " + self.bearer, "Content-Type": "application/json"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status != 201:
            raise RuntimeError(f"the gateway answers {answer.status}: {document}")
        return document["id"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=60)
        connection.request(method, path, body, {"Authorization": "Bearer " + self.bearer, "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def read(self, job):
        return self.ask("GET", "/inspectionjob/" + job)

    def by_command(self, request, parts):
        words = ["enqueue", "--partner", "bank", "--workflow", request["workflow"], "--user-reference", request["userReference"],
                 "--customer-reference", request["customerInternalReference"], "--reporting-criteria", request["reportingCriteria"],
                 "--callback-url", request["callbackUrl"], "--idempotency-key", request["idempotencyKey"]]
        if "faceId" in request:
            words += ["--face-id", request["faceId"]]
        for kind, name in parts.items():
            words += ["--" + kind, self.input(name)]
        return self.command(*words).stdout.decode().strip()

    def plant(self):
        """Submits the jobs. They wait until all are there, so that a crash finds some at work."""
        self.jobs = []
        enrol(self)
        self.main.query("SELECT insp.pause(partner => 'bank')")
        for number in range(self.options.jobs):
            workflow, parts = KINDS[number % len(KINDS)]
            request = self.request(number, workflow)
            if number % 20 == 5:
                request["review"] = "always"
            way = self.by_gateway if number % 2 else self.by_command
            self.jobs.append((way(request, own(self, number, parts)), request))
        # One that the database refuses, with the same kind of values: at log_statement = all, a refused statement is logged, too.
        refused = self.request(REFUSED, "id")
        refused["documentFormat"] = "TD9"
        try:
            self.by_gateway(refused, KINDS[0][1])
            self.expect(False, "a document format that does not exist was accepted")
        except RuntimeError as error:
            self.expect("DOCUMENT_FORMAT_UNKNOWN" in str(error), f"a refusal says {error}")
        # The control: plain SQL, whose values are where DEPLOYING.md says.
        for number, workflow, names in ((PLAIN, "id", ("specimens/licence_front.jpg", "specimens/licence_back.jpg")),
                                        (PLAIN_FACE, "enrollment", (None, None, "faces/biden.jpg"))):
            parts = [name and psycopg2.Binary(open(self.input(name), "rb").read()) for name in (*names, None)[:3]]
            self.main.query("SELECT insp.enqueue(%s, front => %s, back => %s, face => %s)",
                            json.dumps(dict(self.request(number, workflow), partner="bank")), *parts)

    # MARK: Crashes

    def crash(self):
        """Ends an analyzer at work, the worker and the gateway as faults do, in a folder that takes core files."""
        # Popen returns once the program runs.
        control = subprocess.Popen(["sleep", "600"], cwd=self.cores, preexec_fn=dumpable)
        control.send_signal(signal.SIGSEGV)
        control.wait()
        self.takes_cores = bool(os.listdir(self.cores))
        for name in os.listdir(self.cores):
            os.remove(os.path.join(self.cores, name))
        worker = self.serving["worker"][1]
        self.main.query("SELECT insp.resume(partner => 'bank')")
        # A worker that is still starting would end by itself if its analyzer ends.
        self.wait("SELECT (count(*) = 0)::integer FROM insp.lease", "no job is claimed", 60)
        end = time.time() + 60
        while True:
            # The workers' child is the parent of the analyzers.
            attempts = [pid for parent in children(worker.pid) for pid in children(parent)]
            if attempts:
                os.kill(attempts[0], signal.SIGSEGV)
                break
            if time.time() > end:
                self.expect(False, "no analyzer is at work")
                break
            time.sleep(0.01)
        # Whatever it leaves, it has left once it is gone.
        while attempts and os.path.exists(f"/proc/{attempts[0]}"):
            if time.time() > end:
                self.expect(False, "a crashed analyzer does not end")
                break
            time.sleep(0.01)
        for process, number in ((worker, signal.SIGABRT), (self.serving["gateway"][1], signal.SIGSEGV)):
            process.send_signal(number)
            self.expect(process.wait(60) == -number, "a process does not end by a signal")
        for name in os.listdir(self.logs):
            with open(os.path.join(self.logs, name), "rb") as log:
                self.expect(b"Registers:" not in log.read(), f"a crash shows memory in {name}")
        left = os.listdir(self.cores)
        self.expect(not left, f"core files are left: {left}")
        self.serve("-again")

    def review(self):
        """Decides what waits for a person, with a note about that person."""
        reviewed = [(number, job) for number, (job, request) in enumerate(self.jobs) if "review" in request]
        for number, job in reviewed:
            self.wait("SELECT 1 - count(*) FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id WHERE j.public_id = %s",
                      "a job does not wait for a review", 900, job)
            shown = json.loads(self.command("review", job).stdout)
            self.expect("capabilities" in json.dumps(shown), "a reviewer does not see what was read")
            note = self.write("note", f"looks like {self.marks_of(number)['note']}")
            self.command("review", job, "--decision", "PASSED", "--note", note)
            os.remove(note)
        return len(reviewed)

    def wait(self, sql, what, seconds=1_800, *values):
        end = time.time() + seconds
        while self.main.query(sql, *values)[0][0] != 0:
            if time.time() > end:
                raise RuntimeError(what)
            time.sleep(0.25)

    # MARK: Searches

    def look_for(self, number, job=None):
        """Looks for a person and a face in every way. Returns how many jobs and templates the ways find."""
        marks = self.marks_of(number)
        who = ["--partner", "bank", "--reference", marks["userReference"]]
        query = urllib.parse.urlencode({key: marks[key] for key in ("customerInternalReference", "userReference", "reportingCriteria")})
        found = {
            "command export": len(self.command("person", "export", *who, "--purpose", "export").stdout.splitlines()),
            "command list": len(json.loads(self.command(
                "face", "list", "--partner", "bank", "--face-id", marks["faceId"], "--purpose", "support").stdout)),
            "gateway export": len(self.ask("GET", f"/persons/{marks['userReference']}/export")[1]["jobs"]),
            "gateway face": len(self.ask("GET", "/faces/" + marks["faceId"])[1].get("templates", ())),
            "gateway search": len(self.ask("GET", "/inspectionjob?" + query)[1]["jobs"]),
        }
        if job:
            consent = self.write("consent", json.dumps(self.request(number, "id")["consent"]))
            answer = self.command("person", "consent", "--partner", "bank", "--job", job, "--consent", consent, check=False)
            found["consent"] = json.loads(answer.stdout)["holds"]
            os.remove(consent)
        return found

    def search_all(self):
        """Persons that are there, sealed and plain, and one that never was: a question alone must leave nothing, either."""
        by_gateway = next(place for place in range(1, len(self.jobs), 2) if "faceId" in self.jobs[place][1])
        for number, job, faces in ((by_gateway, self.jobs[by_gateway][0], 1), (PLAIN, None, 0), (PLAIN_FACE, None, 1), (SOUGHT, self.jobs[1][0], 0)):
            found = self.look_for(number, job)
            expected = {"command list": faces, "gateway face": faces, "consent": number != SOUGHT}
            wrong = {way: count for way, count in found.items() if count != expected.get(way, number != SOUGHT)}
            self.expect(not wrong, f"searches for {number} find {wrong}")
        marks = self.marks_of(SOUGHT)
        erased = json.loads(self.command("person", "erase", "--partner", "bank", "--reference", marks["userReference"]).stdout)
        deleted = json.loads(self.command("face", "delete", "--partner", "bank", "--face-id", marks["faceId"]).stdout)
        answers = (erased["jobs"], deleted["templates"], self.ask("DELETE", "/persons/" + marks["userReference"])[1]["jobs"],
                   self.ask("DELETE", "/faces/" + marks["faceId"])[1]["templates"])
        self.expect(answers == (0, 0, 0, 0), f"what never was is deleted: {answers}")

    # MARK: Checks

    def opened(self):
        """The partner gets everything back."""
        for place, (job, request) in enumerate(self.jobs):
            if place % 2:
                status, document = self.read(job)
                self.expect(status == 200, f"the gateway answers {status}")
            else:
                document = json.loads(self.command("status", job, "--purpose", "delivery").stdout)
            for key in ("userReference", "customerInternalReference", "reportingCriteria"):
                self.expect(document.get(key) == request[key], f"{key} of a result is not what was sent")
            self.expect("capabilities" in document and document["status"] == 128, f"a result lacks its body: {document}")
            executed(self, place, document)
        with open(os.path.join(self.folder, "received"), encoding="utf-8") as file:
            received = [json.loads(line) for line in file]
        sent = {json.loads(r["body"]).get("userReference"): r for r in received if r["verified"]}
        self.expect(all(r["headers"].get("x-key") == self.api_key for r in sent.values()), "a callback lacks the API key")
        for _, request in self.jobs:
            callback = sent.get(request["userReference"])
            self.expect(callback is not None, "a callback did not arrive with its reference")
            if callback:
                self.expect(urllib.parse.urlsplit(request["callbackUrl"]).query in callback["path"], "a callback went to another URL")
                self.expect("capabilities" in json.loads(callback["body"])["data"].get("result", {}), "a callback lacks the result")
        return len(sent)

    def erase(self):
        """Erases every second job, and a face of the others, and waits until their keys are destroyed."""
        gone = [job for place, (job, _) in enumerate(self.jobs) if place % 2 == 0]
        before = {row[0]: bytes(row[1]) for row in self.keys.query("SELECT id, wrapped FROM insp.key")}
        start = time.time()
        for place, job in enumerate(gone):
            erase(self, place % 3, job, self.jobs[2 * place][1]["userReference"])
        kept = [request["faceId"] for place, (_, request) in enumerate(self.jobs) if place % 2 and "faceId" in request]
        if kept:
            deleted = json.loads(self.command("face", "delete", "--partner", "bank", "--face-id", kept[0]).stdout)
            self.expect(deleted["templates"] == 1, f"a face is not deleted: {deleted}")
        self.wait("SELECT (SELECT count(*) FROM insp.key_gone) + (SELECT count(*) FROM insp.person_gone)", "keys of erased jobs are not destroyed", 60)
        seconds = round(time.time() - start, 1)
        rewrite(self, before)
        return gone, seconds

    def restore(self, gone, until):
        """The backup and the archive from before, with today's key store, whose wrapping key was rotated meanwhile."""
        self.main.archive()
        self.command("keys", "make", "--key-file", self.wrapping, "--name", "second")
        self.command("keys", "rotate", "--to", "second")
        restored = Restored(self.main, self.backup, os.path.join(self.folder, "restored"), until)
        environment = dict(self.environment, INSPECTD_DATABASE_URL=restored.url())
        refused = self.command("keys", "verify", environment=environment, check=False)
        self.expect(b"KEY_MISMATCH" in refused.stderr, "a main database from before the rotation is not refused")
        self.command("keys", "rewrap", "--to", "second", environment=environment)
        opened = closed = wrong = 0
        for job, request in self.jobs:
            answer = self.command("status", job, "--purpose", "support", environment=environment, check=False)
            is_open = answer.returncode == 0 and json.loads(answer.stdout).get("userReference") == request["userReference"]
            is_closed = answer.returncode == 1 and any(code in answer.stderr for code in (b"KEY_UNKNOWN", b"KEY_DESTROYED"))
            opened += is_open and job not in gone
            closed += is_closed and job in gone
            wrong += not (is_open and job not in gone or is_closed and job in gone)
        # Templates: each has a key of its own, and those that are still enrolled today have theirs.
        keys = {row[0] for row in self.keys.query("SELECT id FROM insp.key")}
        enrolled = {row[0] for row in self.main.query("SELECT key_id FROM insp.face_template WHERE key_id IS NOT NULL")}
        old = {row[0] for row in restored.query("SELECT key_id FROM insp.face_template WHERE key_id IS NOT NULL")}
        restored.stop("immediate")
        self.expect(enrolled < old or not old, "no template of the restored backup was erased")
        self.expect(old & keys == enrolled, f"{len((old & keys) ^ enrolled)} templates of the restored backup open and should not, or the reverse")
        self.expect(wrong == 0, f"{wrong} jobs of the restored backup open and should not, or the reverse")
        return opened, closed

    def run(self):
        start = time.time()
        self.set_up()
        self.plant()
        self.crash()
        reviewed = self.review()
        self.wait("SELECT count(*) FROM insp.job WHERE status < 128", "jobs do not end")
        self.wait("SELECT count(*) FROM insp.callback_waiting", "callbacks are not delivered", 120)
        self.wait("SELECT count(*) FROM insp.callback_lease", "callbacks are not settled", 120)
        callbacks = self.opened()
        judged(self)
        self.search_all()
        places = hits(self, (REFUSED, SOUGHT), (PLAIN, PLAIN_FACE))
        print(json.dumps(places), *self.faults, sep="\n", file=sys.stderr)
        until = late(self)
        gone, seconds = self.erase()
        opened, closed = self.restore(gone, until)
        print(json.dumps({
            "jobs": len(self.jobs), "callbacks": callbacks, "reviewed": reviewed, "takesCores": self.takes_cores, "hits": places, "erased": len(gone), "keysDestroyedSeconds": seconds,
            "restoredOpen": opened, "restoredClosed": closed, "faults": self.faults[:20], "seconds": round(time.time() - start)}))
        return 0 if not self.faults else 1

    def end(self):
        super().end()
        self.main.stop("immediate")
        self.keys.stop("immediate")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    if options.jobs < LEAST:
        parser.error(f"--jobs {options.jobs}: at least {LEAST} are needed, so that every workflow goes both ways")
    judge(CustodyTrial(options))


main()
