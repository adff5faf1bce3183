"""Databases that go back to an earlier state, and a database whose clock is set: a service of its own, with a primary, its
standby, two workers and a producer, beside the one that the other faults are done to."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import psycopg2

import verdict
from cluster import Server
from service import ROOT, Receiver, Worker, digest, mark, send, unprivileged

# How long jobs that come after a failover may take: at once found, at once claimed.
PICKUP_SECONDS = 8


class Late(RuntimeError):
    """Took longer than it should, which a machine that stood still shows as well: the fault is tried again, twice at most."""


class Site:
    def __init__(self, folder, programs, image, note):
        self.note = note
        self.image = image
        self.folder = os.path.join(folder, "site")
        os.mkdir(self.folder)
        # A socket's path must be short.
        self.home = tempfile.mkdtemp(prefix="inspectd-site.")
        self.account = unprivileged()
        self.addresses = [os.path.join(self.home, name) for name in ("a", "b")]
        for path in [self.home] + self.addresses:
            os.makedirs(path, exist_ok=True)
            if self.account:
                os.chown(path, self.account.pw_uid, self.account.pw_gid)
        self.servers = []
        self.workers = []
        self.receiver = None
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        # By request: the job's id and when it was acknowledged; and those that a history took with it.
        self.acknowledged = {}
        self.lost = set()
        self.produced = None
        try:
            self.open(programs)
        except BaseException:
            self.close()
            raise

    def server(self, address):
        self.servers.append(Server(self.home, address, self.account))
        return self.servers[-1]

    def open(self, programs):
        inspectd = os.path.join(programs, "inspectd")
        self.primary = self.server(self.addresses[0])
        self.primary.tool("initdb", "-D", self.primary.data, "-U", "inspectd", "-A", "trust", "-E", "UTF8",
                          "--locale=C.UTF-8", "-N")
        # Nothing here loses power: what is killed is a process.
        self.primary.configure("listen_addresses = ''\nshared_buffers = 32MB\nfsync = off\nmax_connections = 60\n")
        self.primary.start()
        for command in (["migrate", "--roles"], ["migrate"]):
            subprocess.run(
                [inspectd, *command, "--database-url", self.primary.url], check=True, stdout=subprocess.DEVNULL,
                env=dict(os.environ, INSPECTD_MIGRATIONS=os.path.join(ROOT, "Migrations")))
        secret = self.primary.rows("SELECT insp.new_secret()")[0][0]
        self.receiver = Receiver(self.folder, secret)
        for partner in ("bank", "shop"):
            self.primary.rows("SELECT insp.create_partner(%s, %s, true, true)",
                              (partner, f"http://127.0.0.1:{self.receiver.port}/ok"))
        self.primary.rows("SELECT insp.callback_rotate_secret(id, '0', %s) FROM insp.endpoint", (secret,))
        # What it says of an image is that image's alone.
        analyzer = os.path.join(self.folder, "analyzer")
        with open(analyzer, "w", encoding="ascii") as file:
            file.write(
                f"#!/bin/sh\nexec '{os.path.join(programs, 'faulty-analyzer')}' --delay 60 "
                "--reply 'acquired={\"images\": {}, \"cpuMs\": {sum}}' "
                "--reply 'face={\"images\": {}, \"cpuMs\": 0}'\n")
        os.chmod(analyzer, 0o755)
        hosts = ",".join(self.addresses)
        self.url = f"postgresql:///postgres?host={hosts}&user=inspectd&target_session_attrs=read-write&connect_timeout=3"
        for name in ("first", "second"):
            worker = Worker(
                name, [inspectd, "worker", "--slots", "2", "--log-level", "info", "--analyzer", analyzer], self.folder,
                {"INSPECTD_DATABASE_URL": self.url})
            worker.start()
            self.workers.append(worker)
        self.produced = threading.Thread(target=self.produce, daemon=True)
        self.produced.start()

    def close(self):
        self.stopping.set()
        if self.produced:
            self.produced.join(120)
        for worker in self.workers:
            worker.end()
        if self.receiver:
            self.receiver.kill()
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    # MARK: Load

    def produce(self):
        chance = random.Random(1)
        connection = None
        number = 0
        while not self.stopping.is_set():
            number += 1
            image = mark(self.image, number)
            request = json.dumps({
                "partner": chance.choice(["bank", "shop"]), "workflow": "liveness", "idempotencyKey": f"key {number}",
                "customerInternalReference": str(digest(image))})
            while not self.stopping.is_set():
                try:
                    if connection is None:
                        connection = psycopg2.connect(self.url, application_name="producer")
                        connection.autocommit = True
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT insp.enqueue(%s, face => %s)::text", (request, image))
                        identity = cursor.fetchone()[0]
                    with self.lock:
                        self.acknowledged[number] = identity
                    break
                except psycopg2.Error:
                    if connection is not None:
                        connection.close()
                    connection = None
                    time.sleep(0.1)
            time.sleep(chance.expovariate(12))
        if connection is not None:
            connection.close()

    def load(self, seconds):
        """Lets it work, and at least until some jobs more are acknowledged."""
        count = len(self.acknowledged)
        deadline = time.monotonic() + seconds + 60
        time.sleep(seconds)
        while len(self.acknowledged) < count + 5 and time.monotonic() < deadline:
            time.sleep(0.05)

    def go_far(self, seconds):
        """Jobs as many as a busy day's: the lost history's places lie far above all that the other one will give out."""
        self.primary.rows("SELECT setval('insp.ready_seq', last_value + 50000) FROM insp.ready_seq")
        self.load(seconds)

    def went_back(self):
        """Notes which jobs only the lost history knew."""
        with self.lock:
            known = {row[0] for row in self.primary.patient("SELECT public_id::text FROM insp.job")}
            lost = {number for number, identity in self.acknowledged.items() if identity not in known} - self.lost
            self.lost |= lost
            return len(lost)

    def goes_on(self, what):
        """Jobs that come now are found and finished by the workers that are there."""
        with self.lock:
            begin = max(self.acknowledged, default=0)
        deadline = time.monotonic() + PICKUP_SECONDS
        left = None
        while time.monotonic() < deadline:
            with self.lock:
                mine = [identity for number, identity in self.acknowledged.items() if begin < number <= begin + 3]
            if len(mine) == 3:
                left = self.primary.rows(
                    "SELECT count(*) FROM insp.job WHERE public_id = ANY (%s::uuid[]) AND status < 128", (mine,))[0][0]
                if left == 0:
                    return
            time.sleep(0.05)
        raise Late(f"{what}: of three jobs that came afterwards {left} are not finished after {PICKUP_SECONDS} s")

    # MARK: Faults

    def spare(self):
        return next(address for address in self.addresses if address != self.primary.address)

    def retire(self, server):
        server.stop()
        self.servers.remove(server)
        shutil.rmtree(server.data, ignore_errors=True)
        shutil.rmtree(server.address + ".isolated", ignore_errors=True)

    def copy(self, address, standby):
        copy = self.server(address)
        self.primary.tool(
            "pg_basebackup", "-h", self.primary.address, "-U", "inspectd", "-D", copy.data, "-c", "fast", "-X", "stream",
            *(["-R"] if standby else []))
        copy.configure("")
        return copy

    def promote(self, chance, seconds, synchronous, kill):
        """The standby takes over under load, with everything that was acknowledged or without the last of it."""
        old, standby = self.primary, self.copy(self.spare(), True)
        standby.start()
        if synchronous:
            for _ in range(1200):
                if old.rows("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")[0][0]:
                    break
                time.sleep(0.05)
            old.rows("ALTER SYSTEM SET synchronous_standby_names = '*'")
            old.rows("SELECT pg_reload_conf()")
            self.load(seconds)
        else:
            self.load(seconds / 3)
            # From here on the standby hears nothing.
            standby.rows("ALTER SYSTEM SET primary_conninfo = ''")
            standby.rows("SELECT pg_reload_conf()")
            self.go_far(seconds / 3)
            # One worker stands still with what it has, wakes behind the promotion and goes on where it was.
            chance.choice(self.workers).send(signal.SIGSTOP)
            self.load(seconds / 3)
        if kill:
            old.stop()
        else:
            # It lives on, and nobody reaches it.
            os.rename(old.address, old.address + ".isolated")
            os.mkdir(old.address)
            if self.account:
                os.chown(old.address, self.account.pw_uid, self.account.pw_gid)
            for pid in old.clients():
                send(pid, signal.SIGTERM)
        standby.rows("ALTER SYSTEM RESET synchronous_standby_names")
        standby.rows("SELECT pg_promote()")
        self.primary = standby
        for worker in self.workers:
            worker.send(signal.SIGCONT)
        lost = self.went_back()
        self.note(f"  {lost} acknowledged jobs went with the old primary")
        if synchronous and lost:
            raise RuntimeError(f"{lost} acknowledged jobs are gone although the standby was synchronous")
        try:
            self.goes_on("promoted")
        finally:
            self.retire(old)

    def restore(self, seconds):
        """A backup takes the place of the database, workers and all running."""
        backup = self.copy(self.primary.address, False)
        self.go_far(seconds)
        old, self.primary = self.primary, backup
        old.stop()
        backup.start()
        self.note(f"  {self.went_back()} acknowledged jobs are younger than the backup")
        try:
            self.goes_on("restored")
        finally:
            self.retire(old)

    def set_clock(self, chance, seconds, library):
        """The clock of the database's host is set, on and back; it takes nothing from anybody."""
        clock = os.path.join(self.home, "clock")

        def set_to(offset):
            with open(clock + ".new", "w", encoding="ascii") as file:
                file.write(f"{offset:+d}\n")
            os.chmod(clock + ".new", 0o644)
            os.rename(clock + ".new", clock)
        set_to(0)
        self.primary.stop("fast")
        self.primary.start({
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"})
        try:
            taken = self.jump(chance, seconds, set_to)
        finally:
            self.primary.stop("fast")
            self.primary.start()
        self.goes_on("with its own clock")
        if taken:
            raise RuntimeError(f"{taken} jobs were taken from workers that live")

    def jump(self, chance, seconds, set_to):
        """How many jobs are taken from workers that live while the clock is set."""
        self.goes_on("restarted")
        # Those that beat now: what an earlier fault's dead worker had may still be taken meanwhile.
        alive = self.primary.rows(
            "SELECT coalesce(array_agg(id), '{}') FROM insp.worker WHERE heartbeat_at > clock_timestamp() - interval '6 s'")[0][0]
        rescued = f"SELECT count(*) FROM insp.event WHERE kind = 'rescued' AND worker_id = ANY (ARRAY{alive}::bigint[])"
        before, offset = self.primary.rows(rescued)[0][0], 0
        at = self.primary.rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0]
        for step in chance.sample([20, 400, -3600, 90000], 3):
            offset += step
            set_to(offset)
            now = self.primary.rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0]
            if abs(now - time.time() - offset) > 10:
                raise RuntimeError(f"the server's clock did not follow: {now - at:.0f} s, not {step}")
            time.sleep(max(1.2, seconds / 3))
        self.goes_on("with another clock")
        return self.primary.rows(rescued)[0][0] - before

    # MARK: The end

    def examine(self):
        """Counts of everything that must be 0, beside the number of jobs."""
        self.stopping.set()
        self.produced.join(120)
        for worker in self.workers:
            if not worker.alive:
                raise RuntimeError(f"{worker.name} had ended by itself: {worker.last_words()}")
        verdict.settle_down(self.primary, 300, time.sleep)
        counts = verdict.check(self.primary)
        states = dict(self.primary.rows("SELECT public_id::text, status FROM insp.job"))
        counts["lost"] = sum(
            1 for number, identity in self.acknowledged.items()
            if number not in self.lost and states.get(identity) != 128)
        counts["jobs"] = len(states)
        counts["gone"] = len(self.lost)
        return counts


def standby_promoted(world, chance, seconds):
    world.site.promote(chance, seconds, False, chance.random() < 0.5)


def synchronous_standby_promoted(world, chance, seconds):
    world.site.promote(chance, seconds, True, True)


def database_restored(world, chance, seconds):
    world.site.restore(seconds)


def clock_set(world, chance, seconds):
    world.site.set_clock(chance, seconds, world.faketime)


KINDS = {
    "standbyPromoted": standby_promoted,
    "synchronousStandbyPromoted": synchronous_standby_promoted,
    "databaseRestored": database_restored,
    "databaseClockSet": clock_set,
}
