"""A worker of a frozen release, as far as the database can tell: it registers, beats, claims, stores, settles, retries, gives up
and releases by the statements that the release's program sent, letter by letter."""

import json
import os
import re
import uuid

import psycopg2

import release

SUMMARY = {"decision": {"type": "PASSED", "details": {"label": "OK"}}, "labels": [], "rejectReasons": []}
DOCUMENT = {"capabilities": {}, "reasons": [], "rejectReasons": [], "faces": [],
            "engine": {"versions": {}, "models": {}, "timingsMs": {}}}
ACQUIRED, FACE = 4, 16
# Bytes of all parts of a job.
LARGEST = 64 << 20


class Statements:
    """The statements of a release on one connection, prepared as the program prepares them."""

    def __init__(self, connection, folder):
        self.cursor = connection.cursor()
        self.texts = {}
        self.prepared = set()
        for statement in release.read_statements(folder):
            for function in set(re.findall(r"insp\.(\w+)\(", statement["text"])):
                self.texts.setdefault(function, []).append((statement["text"], len(statement["takes"])))

    def ask(self, function, *values):
        """Rows of the statement that calls the function, as dictionaries."""
        # Of several with as many parameters, the one that calls it first.
        fitting = [text for text, count in self.texts[function] if count == len(values)]
        text = min(fitting, key=lambda text: text.index(f"insp.{function}("))
        if function not in self.prepared:
            self.cursor.execute(f"PREPARE frozen_{function} AS {text}")
            self.prepared.add(function)
        holes = ", ".join(["%s"] * len(values))
        self.cursor.execute(f"EXECUTE frozen_{function}" + (f" ({holes})" if values else ""), values)
        names = [column.name for column in self.cursor.description]
        return [dict(zip(names, row)) for row in self.cursor.fetchall()]


class Worker:
    """One worker. What it claims is in `held`: the fence of each job."""

    def __init__(self, connection, folder, incarnation=None, host="previous"):
        self.connection = connection
        self.statements = Statements(connection, folder)
        self.version = os.path.basename(folder)
        self.incarnation = incarnation or str(uuid.uuid4())
        self.held, self.queues, self.fence, self.seq = {}, {}, 0, 0
        row = self.statements.ask("worker_register", self.incarnation, host, os.getpid(), self.version, None, [0, 1, 2], 4, "[]")[0]
        self.id, self.epoch = row["worker_id"], row["epoch"]

    @classmethod
    def of(cls, connection, folder, number, incarnation):
        """One that has registered already, with a connection of its own."""
        worker = cls.__new__(cls)
        worker.connection, worker.statements = connection, Statements(connection, folder)
        worker.id, worker.incarnation, worker.version = number, incarnation, os.path.basename(folder)
        worker.held, worker.queues, worker.fence, worker.seq, worker.epoch = {}, {}, 0, 0, 0
        return worker

    def beat(self):
        """The leases that the database knows; nothing if the worker was declared dead."""
        row = self.statements.ask(
            "heartbeat", self.id, self.incarnation, len(self.held), 0, [], [], self.epoch, self.fence, self.seq)[0]
        self.epoch = row["epoch"]
        return dict(zip(row["lease_jobs"], row["lease_fences"])) if row["alive"] else None

    def claim(self, limit):
        """Claims as a program does that knows no floors: the first call tells it of the queues."""
        fresh = []
        if limit <= 0:
            return fresh
        for _ in range(2):
            known = sorted(self.queues)
            # As the program does: a short transaction of its own.
            rows = self.statements.ask(
                "claim", self.id, self.incarnation, 330.0, limit, known, [0] * len(known), [limit] * len(known),
                max(known, default=0), self.fence, self.seq, False)
            if not rows:
                return fresh
            self.epoch, self.seq = rows[0]["epoch"], max(self.seq, rows[0]["last_seq"])
            for row in rows[1:]:
                self.held[row["job_id"]] = row["fence"]
                self.fence = max(self.fence, row["fence"])
                fresh.append(row)
            found = re.findall(r'\((\d+),', rows[0]["queues"] or "")
            self.queues.update({int(number): True for number in found})
            if not found or fresh:
                return fresh
        return fresh

    def _write(self, function, job, *values):
        """Whether the lease was still this worker's."""
        rows = self.statements.ask(function, [job], [self.held.pop(job)], *values)
        return bool(rows)

    def store(self, job, status, document):
        rows = self.statements.ask("store_steps", [job], [self.held[job]], [status], [json.dumps(document).encode()])
        return bool(rows)

    def _result(self, function, job, stages, document):
        fence = self.held[job]
        return self._write(
            function, job, [json.dumps(SUMMARY)], [json.dumps(DOCUMENT).encode()], [job] * len(stages), [fence] * len(stages), stages,
            [json.dumps(document).encode()] * len(stages))

    def settle(self, job, stages=(), document=None):
        return self._result("settle", job, list(stages), document or {})

    def hold(self, job):
        return self._result("hold_for_review", job, [ACQUIRED], {"images": {}, "cpuMs": 0})

    def give_up(self, job, code="CORRUPT_IMAGE"):
        return self._write("dead_letter", job, [code], ["FRONT"], "{f}")

    def retry(self, job, seconds=1.0, code="PART_UNREACHABLE"):
        return self._write("retry_later", job, [seconds], [code], "{f}")

    def release(self, job):
        return self._write("release", job)

    def parts(self, job):
        return self.statements.ask("parts", job, self.held[job], LARGEST)

    def maintain(self):
        """One round of what a worker does beside its jobs."""
        with self.connection.cursor() as cursor:
            for duty, values in (("promote", ()), ("rescue", (15.0, 8, 3, 0.0)), ("expire", ()), ("sweep", ())):
                cursor.execute("BEGIN")
                self.statements.ask("duty_take", duty, 0.0)
                self.statements.ask(duty, duty, str(self.id), *values)
                cursor.execute("COMMIT")

    def stop(self):
        self.statements.ask("worker_stop", self.id, self.incarnation)


def drain(worker, seconds, clock):
    """Works until nothing waits or is delayed, or for so long. The number of jobs that it ended or, if they are sealed, gave up."""
    ended, until = 0, clock() + seconds
    while clock() < until:
        if worker.beat() is None:
            raise RuntimeError("the worker was declared dead")
        for row in worker.claim(4):
            if row["key_id"]:
                ended += worker.give_up(row["job_id"], "KEY_MISSING")
        for job in list(worker.held):
            ended += worker.settle(job, [ACQUIRED, FACE], {"images": {}, "cpuMs": 0})
        worker.maintain()
        with worker.connection.cursor() as cursor:
            cursor.execute("UPDATE insp.delayed SET run_at = now() WHERE run_at > now()")
            cursor.execute("SELECT (SELECT count(*) FROM insp.ready) + (SELECT count(*) FROM insp.delayed)")
            if cursor.fetchone()[0] == 0:
                return ended
    return ended


def work(connection, folder, random, seconds, clock, sleep, read):
    """A worker among others for so many seconds, which then stops in order or dies with what it holds; without its database, it dies.

    `read` makes of a job's bytes what the analyzer would say of them. The number of jobs that it ended.
    """
    ended = 0
    try:
        worker = Worker(connection, folder)
        until = clock() + seconds
        while clock() < until:
            leases = worker.beat()
            if leases is None:
                return ended
            # What the database no longer knows was given to somebody else.
            worker.held = {job: fence for job, fence in worker.held.items() if leases.get(job) == fence}
            for row in worker.claim(4 - len(worker.held)):
                if row["status"] is None or row["expired"]:
                    worker.release(row["job_id"])
            sleep(random.uniform(0.02, 0.2))
            for job in list(worker.held):
                part = worker.parts(job)
                if not part or part[0]["bytes"] is None:
                    worker.retry(job)
                    continue
                document = {"images": {}, "cpuMs": read(bytes(part[0]["bytes"]))}
                if random.random() < 0.3 and not worker.store(job, ACQUIRED, document):
                    del worker.held[job]
                    continue
                choice = random.random()
                if choice < 0.8:
                    ended += worker.settle(job, [ACQUIRED, FACE], document)
                elif choice < 0.9:
                    worker.retry(job)
                else:
                    worker.release(job)
        worker.claim(2)
        if random.random() < 0.5:
            return ended  # dies with what it has claimed
        for job in list(worker.held):
            worker.release(job)
        worker.stop()
    except (psycopg2.OperationalError, psycopg2.InterfaceError):
        pass
    finally:
        connection.close()
    return ended
