#!/usr/bin/env python3
"""Jobs on several hosts that lose their links or die; started by Tests/hosts.sh, which describes it."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Faults"))

import verdict  # noqa: E402
from network import Network  # noqa: E402

HOSTS = {"db": 1, "gate": 5, "w1": 11, "w2": 12, "w3": 13, "partner": 20}
WORKERS = ["w1", "w2", "w3"]
RATE = 4
# What each kind of failure lasts, in seconds: a worker is given up after 15, and comes back before and after that.
LENGTHS = {"cutWorker": (3, 40), "cutDatabase": (3, 25), "cutPartner": (3, 25), "cutGateway": (3, 25), "killWorker": (1, 30),
           "killGateway": (1, 10)}


def say(text):
    print(f"{time.monotonic() - BEGAN:7.1f} s  {text}", file=sys.stderr, flush=True)


class World:
    def __init__(self, arguments):
        self.folder, self.bin = arguments.folder, arguments.bin
        self.counts = dict.fromkeys(LENGTHS, 0)
        self.processes = {}
        self.network = Network(HOSTS)
        self.postgres_folder = os.path.join(self.folder, "postgres")
        self.start()

    def on(self, host, command, log, **options):
        """Starts a command on a host."""
        with open(os.path.join(self.folder, log), "ab") as output:
            return subprocess.Popen(self.network.on(host) + command, stdout=output, stderr=output, **options)

    def script(self, *words):
        with open(os.path.join(self.folder, "postgres.out"), "wb") as output:
            subprocess.run(self.network.on("db") + [os.path.join(ROOT, "deploy", "scratch-postgres.sh"), *words,
                                                    self.postgres_folder], check=True, stdout=output)

    def rows(self, sql):
        """Asks over the server's unix socket, which no link concerns."""
        answer = subprocess.run(["psql", "-XqAtF", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, self.local], check=True, text=True,
                                stdout=subprocess.PIPE)
        return [[int(v) if v.isdigit() else v for v in line.split("\t")] for line in answer.stdout.splitlines()]

    def start(self):
        self.script("start")
        with open(os.path.join(self.postgres_folder, "home"), encoding="ascii") as file:
            home = file.read().strip()
        address = self.network.address("db")
        with open(os.path.join(home, "data", "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(f"listen_addresses = '{address}'\n"
                       # A host that vanishes leaves sessions behind; their locks must not outlive it by hours.
                       "tcp_keepalives_idle = 5\ntcp_keepalives_interval = 2\ntcp_keepalives_count = 3\ntcp_user_timeout = 15s\n")
        with open(os.path.join(home, "data", "pg_hba.conf"), "a", encoding="ascii") as file:
            file.write("host all all 10.99.0.0/24 trust\n")
        self.local = f"postgresql:///postgres?host={home}&user=inspectd"
        with open(os.path.join(home, "data", "postmaster.pid"), encoding="ascii") as file:
            pid = int(file.readline())
        os.kill(pid, signal.SIGINT)
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.05)
        self.script("start")
        self.url = f"postgresql://inspectd@{address}/postgres?keepalives_idle=5&tcp_user_timeout=15000"
        inspectd = os.path.join(self.bin, "inspectd")
        for command in (["migrate", "--roles"], ["migrate"]):
            subprocess.run(
                [inspectd, *command, "--database-url", self.local, "--migrations", os.path.join(ROOT, "Migrations")],
                check=True, stdout=subprocess.DEVNULL)

        secret = self.rows("SELECT insp.new_secret()")[0][0]
        self.received = os.path.join(self.folder, "received")
        port_file = os.path.join(self.folder, "receiver.port")
        self.receiver = self.on("partner", [sys.executable, os.path.join(ROOT, "deploy", "callback-receiver.py"), "--host",
                                            self.network.address("partner"), "--port-file", port_file, "--log", self.received,
                                            "--secret", secret], "receiver.log")
        while not (os.path.exists(port_file) and os.path.getsize(port_file)):
            time.sleep(0.05)
        with open(port_file, encoding="ascii") as file:
            callback = f"http://{self.network.address('partner')}:{int(file.read())}/ok"
        self.rows(f"SELECT insp.create_partner('bank', '{callback}', true, true)")
        self.rows(f"SELECT insp.callback_rotate_secret(id, '0', '{secret}') FROM insp.endpoint")
        [[key, secret]] = self.rows("SELECT key_id, secret FROM insp.create_credential('bank')")

        self.analyzer = os.path.join(self.folder, "analyzer")
        with open(self.analyzer, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexec '{os.path.join(self.bin, 'faulty-analyzer')}' --delay 250 "
                       "--reply 'acquired={\"images\": {}, \"cpuMs\": 0}' --reply 'face={\"images\": {}, \"cpuMs\": 0}'\n")
        os.chmod(self.analyzer, 0o755)
        for host in WORKERS + ["gate"]:
            self.boot(host)
        self.asked = os.path.join(self.folder, "asked")
        self.producer = self.on("partner", [sys.executable, os.path.join(ROOT, "Tests", "Hosts", "producer.py"),
                                            f"http://{self.network.address('gate')}:8080", f"{key}:{secret}", self.asked,
                                            str(RATE)], "producer.log")

    def boot(self, host):
        """Starts what runs on a host."""
        inspectd = os.path.join(self.bin, "inspectd")
        command = ([inspectd, "gateway", "--listen", f"{self.network.address(host)}:8080"] if host == "gate" else
                   [inspectd, "worker", "--slots", "2", "--analyzer", self.analyzer])
        self.processes[host] = self.on(host, command, f"{host}.log", env={**os.environ, "INSPECTD_DATABASE_URL": self.url})

    # MARK: Failures

    def fail(self, kind, seconds):
        host = {"Worker": random.choice(WORKERS), "Database": "db", "Partner": "partner", "Gateway": "gate"}[
            kind.removeprefix("cut").removeprefix("kill")]
        say(f"{kind} {host} for {seconds:.0f} s")
        self.counts[kind] += 1
        if kind.startswith("cut"):
            self.network.cut(host)
            time.sleep(seconds)
        else:
            self.network.kill(host)
            self.processes[host].wait()
            time.sleep(seconds)
            self.boot(host)
        self.network.heal(host)

    # MARK: The end

    def end(self):
        """Stops producing, waits until all is done, and counts."""
        say("everything is whole again")
        self.producer.send_signal(signal.SIGTERM)
        self.producer.wait(120)
        keys = {}
        with open(self.asked, encoding="ascii") as file:
            for line in file:
                entry = json.loads(line)
                keys[entry["key"]] = entry["id"]
        unanswered = [key for key, identity in keys.items() if identity is None or identity.startswith("refused")]
        verdict.settle_down(self, 180, time.sleep)
        counts = verdict.examine(self, {k: v for k, v in keys.items() if k not in unanswered}, self.received)
        with open(self.received, encoding="utf-8") as file:
            callbacks = sum(1 for _ in file)
        stuck = self.rows("SELECT count(*) FROM insp.job WHERE status < 128")[0][0]
        stops = {}
        for host, process in self.processes.items():
            # The process is `ip netns exec`, which became the program itself.
            process.send_signal(signal.SIGTERM)
            stops[host] = process.wait(60)
        return {
            "jobs": counts["jobs"], "callbacks": callbacks, "duplicates": callbacks - counts["jobs"],
            "cuts": sum(n for kind, n in self.counts.items() if kind.startswith("cut")),
            "hostsKilled": sum(n for kind, n in self.counts.items() if kind.startswith("kill")),
            "lost": counts["lost"], "finishedTwice": counts["finishedTwice"], "keysTwice": counts["keysTwice"],
            "stagesTwice": counts["stagesTwice"], "stuck": stuck, "unanswered": len(unanswered), "unsigned": counts["unsigned"],
            "uncleanStops": sum(1 for status in stops.values() if status != 0), "failures": self.counts,
        }

    def remove(self):
        for host in HOSTS:
            if host != "db":
                self.network.kill(host)
        try:
            self.script("stop")
        finally:
            self.network.kill("db")
            self.network.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    say(f"seed {arguments.seed}")
    # Ended from outside, it still takes its namespaces down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    world = World(arguments)
    try:
        time.sleep(3)
        if arguments.short:
            plan = [("cutWorker", 20), ("cutDatabase", 8), ("cutPartner", 6), ("cutGateway", 4), ("killWorker", 3),
                    ("killGateway", 1)]
            for kind, seconds in plan:
                world.fail(kind, seconds)
                time.sleep(2)
        else:
            until = time.monotonic() + arguments.minutes * 60
            while time.monotonic() < until:
                kind = random.choice(list(LENGTHS))
                world.fail(kind, random.uniform(*LENGTHS[kind]))
                time.sleep(random.uniform(0, 8))
        result = world.end()
    finally:
        world.remove()
    result |= {"seed": arguments.seed, "seconds": round(time.monotonic() - BEGAN)}
    print(json.dumps(result))
    bad = ["lost", "finishedTwice", "keysTwice", "stagesTwice", "stuck", "unanswered", "unsigned", "uncleanStops"]
    sys.exit(1 if any(result[name] for name in bad) or result["jobs"] == 0 else 0)


if __name__ == "__main__":
    BEGAN = time.monotonic()
    main()
