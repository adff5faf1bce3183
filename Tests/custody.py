"""Searches everything that a service with sealed jobs leaves behind for personal data, and proves an erasure against an old
backup. Called by Tests/custody.sh."""

import argparse
import base64
import glob
import http.client
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

import psycopg2

SETTINGS = """
listen_addresses = ''
max_connections = 200
wal_level = replica
archive_mode = on
wal_compression = off
full_page_writes = on
log_statement = all
log_min_duration_statement = 0
log_parameter_max_length = -1
log_parameter_max_length_on_error = -1
log_min_messages = info
default_toast_compression = 'pglz'
shared_preload_libraries = 'pg_stat_statements'
"""


class Cluster:
    """A PostgreSQL server of its own, with archived WAL."""

    def __init__(self, folder):
        initdb = shutil.which("initdb") or sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]
        self.tools = os.path.dirname(os.path.realpath(initdb))
        self.folder = folder
        os.makedirs(os.path.join(folder, "archive"))
        os.makedirs(os.path.join(folder, "run"))
        self.data = os.path.join(folder, "data")
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            for path in (folder, os.path.join(folder, "archive"), os.path.join(folder, "run")):
                os.chown(path, account.pw_uid, account.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "inspectd", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        self.write("postgresql.conf", SETTINGS + f"""
unix_socket_directories = '{folder}/run'
archive_command = 'test ! -f {folder}/archive/%f && cp %p {folder}/archive/%f'
""")
        self.start()

    def run(self, tool, *arguments, check=True):
        words = [os.path.join(self.tools, tool), *arguments]
        if os.getuid() == 0:
            group = str(pwd.getpwnam("postgres").pw_gid)
            words = ["setpriv", "--reuid=postgres", "--regid=" + group, "--clear-groups", "env", "HOME=/nonexistent", *words]
        subprocess.run(words, cwd="/", check=check, stdout=subprocess.DEVNULL)

    def write(self, name, text):
        with open(os.path.join(self.data, name), "a", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.folder, "log"), "-w", "-s", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-s", "stop", check=False)

    def url(self, database="postgres"):
        return f"postgresql:///{database}?host={self.folder}/run&user=inspectd"

    def query(self, sql, *values, database="postgres"):
        connection = psycopg2.connect(self.url(database))
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(sql, values or None)
        rows = cursor.fetchall() if cursor.description else []
        connection.close()
        return rows

    def backup(self, target):
        self.run("pg_basebackup", "-h", os.path.join(self.folder, "run"), "-U", "inspectd", "-D", target, "-c", "fast")


class Restored(Cluster):
    """A server on a base backup of another one."""

    def __init__(self, source, backup, folder):
        os.makedirs(os.path.join(folder, "run"))
        self.tools, self.folder, self.data = source.tools, folder, backup
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            for path in (folder, os.path.join(folder, "run")):
                os.chown(path, account.pw_uid, account.pw_gid)
        self.write("postgresql.conf", f"\nunix_socket_directories = '{folder}/run'\narchive_mode = off\n")
        self.start()


class Mark:
    """Bytes that must not be found, in each of their spellings."""

    def __init__(self, name, value):
        self.name = name
        spellings = {value, value.hex().encode(), value.hex().upper().encode()}
        # Base64 of a longer text has one of three spellings of its middle.
        for shift in range(3):
            text = base64.b64encode(b"\0" * shift + value)[(4 if shift else 0):]
            spellings.add(text.rstrip(b"=")[:-2])
        self.spellings = [s for s in spellings if len(s) >= 8]

    def is_in(self, data):
        return any(spelling in data for spelling in self.spellings)


def files(*folders):
    for folder in folders:
        if os.path.isfile(folder):
            yield folder
        for path, _, names in os.walk(folder):
            for name in names:
                yield os.path.join(path, name)


def search(marks, *folders):
    """The marks that were found, with the first file of each."""
    found = {}
    for path in files(*folders):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, OSError):
            continue
        for mark in marks:
            if mark.name not in found and mark.is_in(data):
                found[mark.name] = path
    return found


class Trial:
    def __init__(self, options):
        self.options = options
        self.folder = options.folder
        self.inspectd = os.path.abspath(os.path.join(options.bin, "inspectd"))
        self.processes = []
        self.faults = []
        self.main = Cluster(os.path.join(self.folder, "main"))
        self.keys = Cluster(os.path.join(self.folder, "keys"))
        self.wrapping = os.path.join(self.folder, "wrapping-keys")
        self.logs = os.path.join(self.folder, "logs")
        os.makedirs(self.logs)
        self.environment = dict(
            os.environ, INSPECTD_DATABASE_URL=self.main.url(), INSPECTD_KEYS_URL=self.keys.url(),
            INSPECTD_WRAPPING_KEYS="file:" + self.wrapping, INSPECTD_MIGRATIONS=os.path.abspath("Migrations"))

    def inputs(self, name):
        return os.path.join(self.options.inputs, name)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def command(self, *words, environment=None, check=True):
        answer = subprocess.run(
            [self.inspectd, *words], env=environment or self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=300, check=False)
        with open(os.path.join(self.logs, words[0] + ".commands"), "ab") as file:
            file.write(answer.stderr)
        if check and answer.returncode != 0:
            raise RuntimeError(f"{words[0]}: {answer.stderr.decode()[-500:]}")
        return answer

    def start(self, name, *words):
        log = open(os.path.join(self.logs, name + ".log"), "wb")
        process = subprocess.Popen([self.inspectd, *words], env=self.environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def expect(self, holds, what):
        if not holds:
            self.faults.append(what)

    def port(self, name, message):
        for _ in range(600):
            with open(os.path.join(self.logs, name + ".log"), encoding="utf-8") as file:
                for line in file:
                    if f'"message":"{message}"' in line:
                        return json.loads(line)["port"]
            time.sleep(0.1)
        raise RuntimeError(f"{name} names no port")

    # MARK: Set-up

    def set_up(self):
        self.command("keys", "make", "--key-file", self.wrapping)
        self.command("migrate", "--roles")
        self.command("migrate")
        self.command("keys", "init")
        self.main.query("CREATE EXTENSION pg_stat_statements")
        self.secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.api_key = os.urandom(24).hex()
        receiver = subprocess.Popen(
            ["/usr/bin/python3", "deploy/callback-receiver.py", "--port-file", os.path.join(self.folder, "port"), "--log",
             os.path.join(self.folder, "received"), "--secret", self.secret],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(receiver)
        while not os.path.exists(os.path.join(self.folder, "port")) or not open(os.path.join(self.folder, "port")).read():
            time.sleep(0.05)
        self.receiver = "http://127.0.0.1:" + open(os.path.join(self.folder, "port")).read().strip()
        self.command("endpoint", "create", "--new-partner", "--partner", "bank", "--url", self.receiver + "/ok", "--allow-http",
                     "--allow-private")
        self.command("endpoint", "rotate", "1", "--overlap", "0", "--secret", self.file("signing-secret", self.secret))
        self.command("endpoint", "set", "1", "--settings", self.file("settings", '{"inlineResult": true, "apiKeyHeader": "X-Key"}'),
                     "--api-key", self.file("api-key", self.api_key))
        # An allowance for as many attempts on one face as this takes.
        self.main.query("SELECT insp.set_face_limits('bank', attempts => 100000)")
        self.bearer = self.main.query("SELECT bearer FROM insp.create_credential('bank', '{create,read}', rate_per_second => 100000)")[0][0]
        self.start("gateway", "gateway", "--listen", "0", "--health", "0")
        self.gateway = self.port("gateway", "gateway open")
        self.start("worker", "worker", "--health", "0")

    # MARK: Jobs

    def marks_of(self, number):
        """What job `number` says of a person."""
        return {key: f"zqmark{number:04d}{key[:4].lower()}{(number * 7919) % 10**9:09d}" for key in (
            "userReference", "customerInternalReference", "reportingCriteria", "faceId", "ip", "token", "idempotencyKey")}

    def request(self, number, workflow):
        marks = self.marks_of(number)
        request = {key: marks[key] for key in ("userReference", "customerInternalReference", "reportingCriteria")}
        request["callbackUrl"] = f"{self.receiver}/ok?token={marks['token']}"
        request["consent"] = {"obtained": "yes", "obtainedAt": "2026-01-01T00:00:00Z", "policyVersion": "v7", "userIp": marks["ip"]}
        request["idempotencyKey"] = marks["idempotencyKey"]
        request["workflow"] = workflow
        if workflow in ("enrollment", "authentication"):
            request["faceId"] = marks["faceId"]
        return request

    PARTS = {
        "id": {"front": "specimens/passport.jpg"},
        "id_identity": {"front": "specimens/id_front.jpg", "back": "specimens/id_back.jpg", "face": "faces/obama2.jpg"},
        "similarity": {"front": "specimens/passport.jpg", "face": "faces/obama2.jpg"},
        "liveness": {"face": "faces/obama2.jpg"},
        "enrollment": {"face": "faces/obama.jpg"},
    }

    def by_gateway(self, request, parts):
        body = dict(request)
        body["parts"] = {
            kind.upper(): {"content": base64.b64encode(open(self.inputs(name), "rb").read()).decode()} for kind, name in parts.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=60)
        connection.request("POST", "/inspectionjob/create", json.dumps(body), {
            "Authorization": "Bearer " + self.bearer, "Content-Type": "application/json"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status != 201:
            raise RuntimeError(f"the gateway answers {answer.status}: {document}")
        return document["id"]

    def read(self, job):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=60)
        connection.request("GET", "/inspectionjob/" + job, headers={"Authorization": "Bearer " + self.bearer})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def by_command(self, request, parts):
        words = ["enqueue", "--partner", "bank", "--workflow", request["workflow"], "--user-reference", request["userReference"],
                 "--customer-reference", request["customerInternalReference"], "--reporting-criteria", request["reportingCriteria"],
                 "--callback-url", request["callbackUrl"], "--idempotency-key", request["idempotencyKey"]]
        if "faceId" in request:
            words += ["--face-id", request["faceId"]]
        for kind, name in parts.items():
            words += ["--" + kind, self.inputs(name)]
        return self.command(*words).stdout.decode().strip()

    def plant(self):
        self.jobs = []
        workflows = list(self.PARTS)
        for number in range(self.options.jobs):
            workflow = workflows[number % len(workflows)]
            request = self.request(number, workflow)
            way = self.by_gateway if number % 2 else self.by_command
            self.jobs.append((way(request, self.PARTS[workflow]), request))
        # One that the database refuses, with the same kind of values: at log_statement = all, a refused statement is logged, too.
        refused = self.request(9_998, "id")
        refused["documentFormat"] = "TD9"
        try:
            self.by_gateway(refused, self.PARTS["id"])
            self.expect(False, "a document format that does not exist was accepted")
        except RuntimeError as error:
            self.expect("DOCUMENT_FORMAT_UNKNOWN" in str(error), f"a refusal says {error}")
        # The control: plain SQL, whose values are where DEPLOYING.md says.
        self.plain = self.marks_of(9_999)
        request = dict(self.request(9_999, "id"), partner="bank")
        with open(self.inputs("specimens/td2.jpg"), "rb") as file:
            self.main.query("SELECT insp.enqueue(%s, front => %s)", json.dumps(request), psycopg2.Binary(file.read()))

    def wait(self, sql, what, seconds=600):
        end = time.time() + seconds
        while self.main.query(sql)[0][0] != 0:
            if time.time() > end:
                raise RuntimeError(what)
            time.sleep(0.25)

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

    def hits(self):
        """How many marks are where, of sealed jobs and of the plain one."""
        marks = []
        for number, _ in enumerate(self.jobs):
            marks += [Mark(f"{number}.{key}", value.encode()) for key, value in self.marks_of(number).items()]
        marks += [Mark(f"refused.{key}", value.encode()) for key, value in self.marks_of(9_998).items()]
        for name in sorted({name for parts in self.PARTS.values() for name in parts.values()}):
            with open(self.inputs(name), "rb") as file:
                data = file.read()
            marks += [Mark(f"{name}[{place}]", data[place:place + 24]) for place in (600, len(data) // 2)]
        marks += [Mark("signing secret", self.secret.encode()), Mark("API key", self.api_key.encode())]
        # What is read in the pictures: the specimens' surname and number.
        marks += [Mark("surname", b"ERIKSSON"), Mark("number", b"L898902C3")]
        plain = [Mark("plain." + key, value.encode()) for key, value in self.plain.items()]
        dump = os.path.join(self.folder, "dump.sql")
        with open(dump, "wb") as file:
            subprocess.run([os.path.join(self.main.tools, "pg_dumpall"), "-h", self.main.folder + "/run", "-U", "inspectd"],
                           stdout=file, check=True)
        with open(os.path.join(self.folder, "statements"), "w", encoding="utf-8") as file:
            for row in self.main.query("SELECT query FROM pg_stat_statements"):
                file.write(row[0] + "\n")
        for name in ("gateway", "worker"):
            port = self.port(name, "health port open")
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/metrics")
            with open(os.path.join(self.logs, name + ".metrics"), "wb") as file:
                file.write(connection.getresponse().read())
        self.main.query("SELECT pg_switch_wal()")
        self.backup = os.path.join(self.folder, "main", "backup")
        self.main.backup(self.backup)
        self.main.query("SELECT pg_switch_wal()")
        time.sleep(1)
        places = {
            "dump": [dump], "wal": [os.path.join(self.main.folder, "archive")], "baseBackup": [self.backup],
            "serverLog": [os.path.join(self.main.folder, "log")], "statements": [os.path.join(self.folder, "statements")],
            "keyStore": [self.keys.folder], "programs": [self.logs]}
        answer = {}
        for place, folders in places.items():
            # The plain job's picture shows the specimens' surname as well, but its result is JSON that lies compressed.
            found = search(marks if place in ("keyStore", "programs", "statements") else
                           [m for m in marks if m.name not in ("surname", "number")], *folders)
            control = search(plain, *folders)
            answer[place] = {"sealed": len(found), "plain": len(control)}
            for name, path in list(found.items())[:5]:
                self.faults.append(f"{name} is in {os.path.relpath(path, self.folder)}")
        # The control: what plain SQL leaves, and where.
        for place in ("dump", "wal", "baseBackup", "serverLog"):
            self.expect(answer[place]["plain"] > 0, f"the search finds nothing of the plain job in the {place}")
        for place in ("statements", "keyStore", "programs"):
            self.expect(answer[place]["plain"] == 0, f"the plain job is in the {place}")
        # Bodies may lie compressed, so they are looked at by themselves.
        for table, column in (("step", "body"), ("content", "bytes"), ("job", "sealed")):
            rows = self.main.query(f"""SELECT count(*) FROM insp.{table} t JOIN insp.job j ON j.id = t.{'id' if table != 'step' else 'job_id'}
                WHERE j.key_id IS NOT NULL AND t.{column} IS NOT NULL AND substr(t.{column}, 1, 1) <> '\\x01'""")
            self.expect(rows[0][0] == 0, f"{rows[0][0]} rows of {table} are not sealed")
        self.expect(self.main.query("SELECT count(*) FROM insp.face_template WHERE length(feature) <> 1114")[0][0] == 0,
                    "a template is not sealed")
        return answer

    def erase(self):
        """Erases every second job, and a face of the others, and waits until their keys are destroyed."""
        gone = [job for place, (job, _) in enumerate(self.jobs) if place % 2 == 0]
        start = time.time()
        for job in gone:
            self.main.query("SELECT insp.erase(%s)", job)
        kept = [request["faceId"] for place, (_, request) in enumerate(self.jobs) if place % 2 and "faceId" in request]
        if kept:
            deleted = json.loads(self.command("face", "delete", "--partner", "bank", "--face-id", kept[0]).stdout)
            self.expect(deleted["templates"] == 1, f"a face is not deleted: {deleted}")
        self.wait("SELECT count(*) FROM insp.key_gone", "keys of erased jobs are not destroyed", 60)
        return gone, round(time.time() - start, 1)

    def restore(self, gone):
        """The backup from before, with today's key store."""
        restored = Restored(self.main, self.backup, os.path.join(self.folder, "restored"))
        environment = dict(self.environment, INSPECTD_DATABASE_URL=restored.url())
        opened = closed = wrong = 0
        for job, request in self.jobs:
            answer = self.command("status", job, "--purpose", "support", environment=environment, check=False)
            is_open = answer.returncode == 0 and json.loads(answer.stdout).get("userReference") == request["userReference"]
            is_closed = answer.returncode == 1 and b"KEY_UNKNOWN" in answer.stderr
            opened += is_open and job not in gone
            closed += is_closed and job in gone
            wrong += not (is_open and job not in gone or is_closed and job in gone)
        # Templates: each has a key of its own, and those that are still enrolled today have theirs.
        keys = {row[0] for row in self.keys.query("SELECT id FROM insp.key")}
        enrolled = {row[0] for row in self.main.query("SELECT key_id FROM insp.face_template")}
        old = {row[0] for row in restored.query("SELECT key_id FROM insp.face_template")}
        restored.stop("immediate")
        self.expect(enrolled < old or not old, "no template of the restored backup was erased")
        self.expect(old & keys == enrolled, f"{len((old & keys) ^ enrolled)} templates of the restored backup open and should not, or the reverse")
        self.expect(wrong == 0, f"{wrong} jobs of the restored backup open and should not, or the reverse")
        return opened, closed

    def run(self):
        start = time.time()
        self.set_up()
        self.plant()
        self.wait("SELECT count(*) FROM insp.job WHERE status < 128", "jobs do not end")
        self.wait("SELECT count(*) FROM insp.callback_waiting", "callbacks are not delivered", 120)
        self.wait("SELECT count(*) FROM insp.callback_lease", "callbacks are not settled", 120)
        callbacks = self.opened()
        places = self.hits()
        print(json.dumps(places), *self.faults, sep="\n", file=sys.stderr)
        gone, seconds = self.erase()
        opened, closed = self.restore(gone)
        print(json.dumps({
            "jobs": len(self.jobs), "callbacks": callbacks, "hits": places, "erased": len(gone), "keysDestroyedSeconds": seconds,
            "restoredOpen": opened, "restoredClosed": closed, "faults": self.faults[:20], "seconds": round(time.time() - start)}))
        return 0 if not self.faults else 1

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        self.main.stop("immediate")
        self.keys.stop("immediate")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--folder", required=True)
    trial = Trial(parser.parse_args())
    try:
        status = trial.run()
    finally:
        trial.end()
    sys.exit(status)


main()
