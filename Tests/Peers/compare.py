"""Measures inspectd, the other queues and the floor of bare SQL alternately, and writes RESULTS.md and results.png.

Started by run.sh, which brings the server, the program and the Python packages. The last line on stdout is JSON.
"""

import argparse
import importlib.metadata
import json
import pathlib
import signal
import subprocess
import sys
import time

import floor
import report
from machine import Server, describe, fdatasync_microseconds, idle_share
from ours import Inspectd

HERE = pathlib.Path(__file__).resolve().parent
#: Driver, the package that tells the version, and how it is set.
PEERS = {
    "awa": ("awa-pg", "queue storage, `enqueue_many_copy`, 2 processes of 200 workers and 20 connections"),
    "pgqueuer": ("pgqueuer", "durable tables, its autovacuum settings, 2 processes, batches of 250, one connection each"),
    "procrastinate": ("procrastinate", "`batch_defer`, 2 processes of 50 concurrent jobs and 50 connections"),
    "absurd": ("absurd-sdk", "2 asynchronous workers of 50 concurrent tasks; chunks spawned by its SQL function"),
    "pgq": (None, "1 consumer of whole batches, a tick for every 1,000 events; no claim, state or lease of a single job"),
}
#: Not a rival: it has no jobs, only batches of events.
NO_JOBS = {"pgq"}
FLOORS = [
    (f"{script.replace('-', ' ')}, {batch} jobs, {clients} clients", f"{script}.sql", batch, clients)
    for script in ("claim-and-settle", "claim-then-settle") for batch in (64, 256) for clients in (2, 4)]


class Comparison:
    def __init__(self, arguments):
        self.server = Server(arguments.server)
        self.ours = Inspectd(arguments.inspectd)
        self.arguments = arguments
        self.peers = [name for name in PEERS if name not in arguments.without]
        #: System, then measure, then one report for each round.
        self.figures = {}
        self.failures = {}
        self.idle = []

    def note(self, system, measure, answer):
        self.figures.setdefault(system, {}).setdefault(measure, []).append(answer)
        shown = {key: value for key, value in answer.items() if key in ("rate", "p50Ms", "p99Ms", "seconds", "skipped")}
        self.say(f"  {system} {measure} " + " ".join(
            f"{key} {value:,.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items()))

    def say(self, text):
        print(f"{time.monotonic() - self.began:4.0f}s  {text}", file=sys.stderr, flush=True)

    def attempt(self, system, measure):
        """Runs one measurement; what goes wrong is kept, and the comparison goes on."""
        try:
            self.idle.append(idle_share(0.5))
            measure()
        except Exception as error:
            text = str(error).strip().split("\n")[-1][-300:]
            self.failures.setdefault(system, []).append(text)
            self.say(f"  {system} failed: {text}")
        finally:
            self.server.drop("bench")

    def driver(self, name, command, url, jobs):
        answer = subprocess.run(
            [sys.executable, "-m", f"peers.{name}", command, "--database", url, "--jobs", str(jobs)], cwd=HERE,
            capture_output=True, text=True, timeout=1200)
        if answer.returncode:
            raise RuntimeError(f"{command}: {answer.stderr[-2000:]}")
        return json.loads(answer.stdout.strip().split("\n")[-1])

    # Turns ------------------------------------------------------------------------------------------------------------

    def turn_of_ours(self):
        url = self.server.fresh("bench")
        self.ours.migrate(url)
        self.server.settle()
        answer = self.ours.throughput(url, self.arguments.jobs)
        self.note("inspectd", "enqueue", {"rate": answer["enqueueRate"]})
        self.note("inspectd", "drain", {"rate": answer["drainRate"], "batch": answer["jobsPerRoundTrip"]})
        url = self.server.fresh("bench")
        self.ours.migrate(url)
        self.note("inspectd", "pickup", self.ours.pickup(url, self.arguments.pickups))

    def turn_of_peer(self, name):
        url = self.server.fresh("bench")
        self.driver(name, "install", url, 0)
        self.server.settle()
        self.note(name, "enqueue", self.driver(name, "enqueue", url, self.arguments.jobs))
        self.note(name, "drain", self.driver(name, "drain", url, self.arguments.jobs))
        url = self.server.fresh("bench")
        self.driver(name, "install", url, 0)
        self.note(name, "pickup", self.driver(name, "pickup", url, self.arguments.pickups))

    def turn_of_floor(self, title, script, batch, clients):
        url = self.server.fresh("bench")
        self.ours.migrate(url)
        self.note("floor", title, floor.measure(url, script, self.arguments.jobs, clients, batch))

    def turns(self):
        """One round: the floor's turns spread among those of the systems."""
        systems = [("inspectd", self.turn_of_ours)]
        systems += [(name, lambda name=name: self.turn_of_peer(name)) for name in self.peers]
        floors = [("floor", lambda floor=floor: self.turn_of_floor(*floor)) for floor in FLOORS]
        turns = []
        for place, system in enumerate(systems):
            turns.append(system)
            turns += floors[place * len(floors) // len(systems):(place + 1) * len(floors) // len(systems)]
        return turns

    def crash(self):
        def ours():
            url = self.server.fresh("bench")
            self.ours.migrate(url)
            self.note("inspectd", "crash", self.ours.crash(url))

        def peer(name):
            url = self.server.fresh("bench")
            self.driver(name, "install", url, 0)
            self.note(name, "crash", self.driver(name, "crash", url, 0))

        self.attempt("inspectd", ours)
        for name in self.peers:
            self.attempt(name, lambda name=name: peer(name))

    # All --------------------------------------------------------------------------------------------------------------

    def run(self):
        self.began = time.monotonic()
        for number in range(self.arguments.rounds):
            turns = self.turns()
            # Each round begins with another one, so that none always follows the same.
            shift = number * max(1, len(turns) // max(1, self.arguments.rounds)) % len(turns)
            for place, (system, turn) in enumerate(turns[shift:] + turns[:shift]):
                self.say(f"round {number + 1} of {self.arguments.rounds}, turn {place + 1} of {len(turns)}: {system}")
                self.attempt(system, turn)
        if self.arguments.crash:
            self.say("crash")
            self.crash()
        self.seconds = time.monotonic() - self.began

    def versions(self):
        versions = {"inspectd": self.ours.version()}
        for name in self.peers:
            package = PEERS[name][0]
            if package:
                versions[name] = f"{package} {importlib.metadata.version(package)}"
        if "absurd" in self.peers:
            versions["absurd"] += f", SQL {importlib.metadata.version('absurdctl')}"
        if "pgq" in self.peers:
            query = ["dpkg-query", "-W", "-f=${Package} ${Version}", "postgresql-15-pgq3"]
            answer = subprocess.run(query, capture_output=True, text=True)
            versions["pgq"] = answer.stdout or "not from a Debian package"
        return versions


def main():
    # An exception, so that whatever runs is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the private server")
    parser.add_argument("--inspectd", required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=30_000, help="jobs for each measurement of throughput")
    parser.add_argument("--pickups", type=int, default=60, help="jobs for each measurement of pickup")
    parser.add_argument("--crash", action="store_true", help="also kill workers, once each")
    parser.add_argument("--without", action="append", default=[], metavar="PEER=REASON", help="a peer that is not there")
    arguments = parser.parse_args()
    missing = dict(entry.partition("=")[::2] for entry in arguments.without)
    arguments.without = set(missing)
    comparison = Comparison(arguments)
    comparison.run()
    version, settings = comparison.server.facts()
    facts = {
        "postgres": version, "settings": settings, "machine": describe(), "fdatasync": fdatasync_microseconds(),
        "idle": comparison.idle, "versions": comparison.versions(), "missing": missing,
        "failures": comparison.failures, "seconds": comparison.seconds, "date": time.strftime("%-d %B %Y", time.gmtime()),
    }
    summary = report.write(HERE, comparison.figures, facts, arguments, PEERS, NO_JOBS)
    print(json.dumps(summary))
    if "ratio" not in summary or "ofFloor" not in summary:
        raise SystemExit("nothing to compare: inspectd, the floor or every peer is missing")


if __name__ == "__main__":
    main()
