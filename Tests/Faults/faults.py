#!/usr/bin/env python3
"""The fault suite; started by Tests/faults.sh, which builds the programs and cleans up. See there for what it does."""

import argparse
import glob
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
import zlib

import psycopg2

# The frozen releases, and a worker of theirs.
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Frozen"))

import failover
import kinds
import release
import verdict
from proxy import Proxy
from service import ROOT, Pooler, Postgres, Receiver, Worker, digest, mark, say

# Faults under which nobody can be rescued in time: how long that takes is not counted then.
DISTURBING = {
    "databaseRestarted", "databaseFrozen", "connectionsTerminated", "connectionsExhausted", "diskFull", "rowsLocked",
    "operatorsLinger", "tablesLocked", "statementTimeout"}


def noise(side=96):
    """A PNG of noise."""
    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    rows = b"".join(b"\0" + random.Random(row).randbytes(side * 3) for row in range(side))
    head = side.to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class World:
    def __init__(self, arguments):
        self.short = arguments.short
        self.seed = arguments.seed
        self.peace = random.Random(self.seed + 3)
        self.disk = arguments.disk
        self.folder = arguments.folder
        self.rate = arguments.rate
        self.began = time.monotonic()
        self.counts = {}
        self.schedule = []
        self.violations = []
        self.stopping = threading.Event()
        self.producing = threading.Event()
        self.disturbances = 0
        self.disturbed = False
        # Faults between workers and the database that are under way, and how many there have been.
        self.between = set()
        self.betweens = 0
        self.quiet_until = 0
        self.killed = []
        # What frozen releases' workers have ended.
        self.frozen = release.beside()
        self.ended_before = 0
        self.rescue_seconds = []
        self.stop_seconds = 0
        self.keys = {}
        self.lock = threading.Lock()
        self.programs = arguments.bin
        self.site = None
        self.site_counts = {}
        self.start(arguments.bin)

    def note(self, text):
        line = f"{time.monotonic() - self.began:7.1f} s  {text}"
        self.schedule.append(line)
        say(line)

    def violation(self, text):
        self.violations.append(text)
        self.note(f"VIOLATION: {text}")

    # MARK: Setting up

    def start(self, programs):
        inspectd = os.path.join(programs, "inspectd")
        self.postgres = Postgres(self.folder, self.disk)
        for command in (["migrate", "--roles"], ["migrate"]):
            subprocess.run(
                [inspectd, *command, "--database-url", self.postgres.url], check=True, stdout=subprocess.DEVNULL,
                env=dict(os.environ, INSPECTD_MIGRATIONS=os.path.join(ROOT, "Migrations")))
        secret = self.postgres.rows("SELECT insp.new_secret()")[0][0]
        self.receiver = Receiver(self.folder, secret)
        for partner in ("bank", "shop", "club"):
            self.postgres.rows(
                "SELECT insp.create_partner(%s, %s, true, true)", (partner, f"http://127.0.0.1:{self.receiver.port}/ok"))
        self.postgres.rows("SELECT insp.callback_rotate_secret(id, '0', %s) FROM insp.endpoint", (secret,))
        self.pooler = Pooler(self.folder, self.postgres)
        self.proxy = Proxy(self.postgres.port)
        analyzer = os.path.join(self.folder, "analyzer")
        with open(analyzer, "w", encoding="ascii") as file:
            file.write(
                f"#!/bin/sh\nexec '{os.path.join(programs, 'faulty-analyzer')}' --delay 250 "
                "--reply 'acquired={\"images\": {}, \"cpuMs\": {sum}}' --reply 'face={\"images\": {}, \"cpuMs\": 0}'\n")
        os.chmod(analyzer, 0o755)
        self.clock = os.path.join(self.folder, "clock")
        self.set_clock(0)
        direct = self.postgres.url
        ways = {
            "direct": (direct, {}),
            "second": (direct, {}),
            "proxied": (self.postgres.url_through(self.proxy.port), {}),
            "pooled": (self.pooler.url, {}),
        }
        library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
        if library:
            ways["jumping"] = (direct, {
                "LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": self.clock, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"})
        self.workers = []
        for name, (url, variables) in ways.items():
            command = [inspectd, "worker", "--slots", "2", "--log-level", "info", "--analyzer", analyzer]
            if name == "pooled":
                command += ["--listen-url", direct]
            if name == "jumping":
                # libfaketime moves the environment when it adds to it, and Swift finds a program's arguments by way of
                # the environment; in a process that comes from one that has it already, nothing is added.
                command.insert(0, "/usr/bin/env")
            worker = Worker(name, command, self.folder, dict(variables, INSPECTD_DATABASE_URL=url))
            worker.start()
            self.workers.append(worker)
        self.faketime = library[0] if library else None
        self.skipped = {}
        if not self.disk:
            self.skipped["diskFull"] = "no small disk could be mounted"
        if not library:
            self.skipped["clockJump"] = self.skipped["databaseClockSet"] = "libfaketime is not installed"

    def set_clock(self, seconds):
        with open(self.clock + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(self.clock + ".new", self.clock)

    def end(self):
        self.stopping.set()
        if self.site:
            self.site.close()
        for worker in self.workers:
            worker.send(signal.SIGCONT)
            worker.send(signal.SIGTERM)
        for worker in self.workers:
            worker.end()
        self.pooler.kill(signal.SIGKILL)
        self.receiver.kill()
        self.postgres.stop()

    # MARK: Load

    def produce(self):
        """Enqueues a steady stream; what got no answer is asked again under the same key."""
        chance = random.Random(self.seed ^ 0x5EED)
        blank = noise()
        connection = None
        number = 0
        while not self.producing.is_set():
            number += 1
            request = {
                "partner": chance.choice(["bank", "bank", "shop", "club"]), "workflow": "liveness",
                "idempotencyKey": f"key {number}", "lane": chance.choice(["urgent", "normal", "normal", "bulk"])}
            if chance.random() < 0.05:
                request["delaySeconds"] = chance.randint(1, 5)
            image = mark(blank, number)
            request["customerInternalReference"] = str(digest(image))
            text = json.dumps(request)
            while True:
                try:
                    if connection is None:
                        connection = psycopg2.connect(
                            self.postgres.url, application_name="producer", connect_timeout=5)
                        connection.autocommit = True
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT insp.enqueue(%s, face => %s)::text", (text, image))
                        self.keys[request["idempotencyKey"]] = cursor.fetchone()[0]
                    break
                except psycopg2.Error:
                    if connection is not None:
                        connection.close()
                    connection = None
                    time.sleep(0.2)
            time.sleep(chance.expovariate(self.rate))
        if connection is not None:
            connection.close()

    # MARK: Rescue

    def kill(self, worker):
        """Kills a worker and remembers what it held."""
        # Now and then the database is left in peace until the jobs are rescued, so that the time can be taken.
        if not self.disturbed and (not self.rescue_seconds or self.peace.random() < 0.4):
            self.quiet_until = time.monotonic() + 25
        leases = []
        try:
            # In the middle of work, if there is any.
            for _ in range(40):
                leases = self.postgres.rows(
                    "SELECT l.job_id, l.fence FROM insp.lease l JOIN insp.worker w ON w.id = l.worker_id"
                    " WHERE w.process = %s", (worker.process.pid,), patience=3)
                if leases:
                    break
                time.sleep(0.05)
        except psycopg2.Error:
            pass
        worker.send(signal.SIGKILL)
        worker.wait(10)
        if leases:
            with self.lock:
                self.killed.append([time.monotonic(), self.disturbances, self.disturbed, leases])

    def watch(self):
        while not self.stopping.wait(0.25):
            with self.lock:
                killed = list(self.killed)
            for entry in killed:
                since, disturbances, disturbed, leases = entry
                try:
                    left = self.postgres.rows(
                        "SELECT count(*) FROM insp.lease l JOIN unnest(%s::bigint[], %s::bigint[]) AS u (job_id, fence)"
                        " USING (job_id, fence)",
                        ([job for job, _ in leases], [fence for _, fence in leases]), patience=3)[0][0]
                except psycopg2.Error:
                    continue
                if left == 0:
                    if not disturbed and self.disturbances == disturbances:
                        self.rescue_seconds.append(time.monotonic() - since)
                    with self.lock:
                        self.killed.remove(entry)

    # MARK: Faults

    def lane(self, faults, chance, deadline):
        names = [name for name in faults if name not in self.skipped]
        while time.monotonic() < deadline or self.short:
            order = chance.sample(names, len(names))
            if self.short:
                # What leaves the rescue in peace comes first.
                order.sort(key=lambda name: (name != "workerKilled", name in DISTURBING))
            for name in order:
                if time.monotonic() > deadline and not self.short:
                    return
                seconds = chance.uniform(2, 3) if self.short else chance.uniform(3, 12)
                while name in DISTURBING and time.monotonic() < self.quiet_until:
                    time.sleep(0.2)
                self.note(f"{name} for {seconds:.1f} s")
                if name in kinds.DATABASE:
                    self.between.add(name)
                    self.betweens += 1
                if name in DISTURBING:
                    self.disturbed = True
                    self.disturbances += 1
                try:
                    for rounds_left in (2, 1, 0):
                        try:
                            faults[name](self, chance, seconds)
                            break
                        except failover.Late as error:
                            if not rounds_left:
                                raise
                            self.note(f"  {error}; tried again")
                    self.counts[name] = self.counts.get(name, 0) + 1
                except Exception as error:  # the fault itself failed: the run has shown nothing
                    self.violation(f"{name} could not be done: {type(error).__name__}: {error}")
                self.between.discard(name)
                if name in DISTURBING:
                    self.disturbances += 1
                    self.disturbed = False
                time.sleep(chance.uniform(0.2, 0.6) if self.short else chance.uniform(1, 6))
            if self.short:
                return

    def site_lane(self, chance, deadline):
        """What is done to a whole database, on one of its own."""
        try:
            self.site = failover.Site(self.folder, self.programs, noise(), self.note)
            self.lane(failover.KINDS, chance, deadline)
            self.site_counts = self.site.examine()
        except Exception as error:
            self.violation(f"the second service: {type(error).__name__}: {error}")

    def run(self, minutes):
        deadline = self.began + minutes * 60
        producer = threading.Thread(target=self.produce)
        threading.Thread(target=self.watch, daemon=True).start()
        producer.start()
        time.sleep(2)
        lanes = [
            threading.Thread(target=self.lane, args=(faults, random.Random(self.seed + number), deadline))
            for number, faults in enumerate((kinds.PROCESSES, kinds.DATABASE))]
        lanes.append(threading.Thread(target=self.site_lane, args=(random.Random(self.seed + 2), deadline)))
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        self.producing.set()
        producer.join()
        self.note("the faults are over; everything must come to its end")
        for worker in self.workers:
            if not worker.alive:
                self.violation(
                    f"{worker.name} had ended by itself with status {worker.process.returncode}: {worker.last_words()}")
                worker.start()
        verdict.settle_down(self.postgres, 300, time.sleep)
        counts = verdict.examine(self.postgres, self.keys, self.receiver.log)
        for name, count in self.site_counts.items():
            counts[name] = counts.get(name, 0) + count
        self.rescue_seconds.sort()
        report = {
            "faults": dict(sorted(self.counts.items())), "jobs": counts["jobs"], "lost": counts["lost"],
            "finishedTwice": counts["finishedTwice"], "stagesTwice": counts["stagesTwice"], "stuck": counts["stuck"],
            "wrongPerson": counts["wrongPerson"], "gone": counts.get("gone"),
            "keysTwice": counts["keysTwice"], "unsigned": counts["unsigned"],
            "rescueSecondsMax": round(self.rescue_seconds[-1], 1) if self.rescue_seconds else None,
            "rescues": self.postgres.rows("SELECT count(*) FROM insp.event WHERE kind = 'rescued'")[0][0],
            "deadLettered": self.postgres.rows("SELECT count(*) FROM insp.dead")[0][0],
            "finishedBy": {**{worker.name: worker.finished() for worker in self.workers}, "ofBefore": self.ended_before},
            "stopSecondsMax": round(self.stop_seconds, 2), "skipped": self.skipped,
            "minutes": round((time.monotonic() - self.began) / 60, 1), "seed": self.seed}
        for name in ("lost", "finishedTwice", "stagesTwice", "stuck", "wrongPerson", "unread", "keysTwice", "unsigned"):
            if counts[name]:
                self.violations.append(f"{name}: {counts[name]}")
        if self.short:
            for name in set(kinds.PROCESSES) | set(kinds.DATABASE) | set(failover.KINDS):
                if name not in self.counts and name not in self.skipped:
                    self.violations.append(f"{name} was not tried")
        for worker in self.workers:
            if worker.finished() == 0:
                self.violations.append(f"{worker.name} finished nothing")
        if "twoVersions" in self.counts and not self.ended_before:
            self.violations.append("workers of a release before finished nothing")
        if not self.short and self.rescue_seconds and self.rescue_seconds[-1] > 30:
            self.violations.append(f"a rescue took {self.rescue_seconds[-1]:.1f} s")
        return report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rate", type=float, default=12, help="jobs a second")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--disk", default="")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = uuid.uuid4().int % 1_000_000
    say(f"seed {arguments.seed}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    world = World(arguments)
    try:
        report = world.run(arguments.minutes)
    finally:
        world.end()
    print(json.dumps(report), flush=True)
    if world.violations:
        say(f"failed with --seed {arguments.seed}: {'; '.join(world.violations)}")
        say("what was done:\n" + "\n".join(world.schedule))
        # Other threads may hang in what they were doing.
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
