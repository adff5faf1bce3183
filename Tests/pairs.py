"""Runs the benchmarks of two builds alternately and states the ratio of each figure. Called by Tests/pairs.sh."""

import argparse
import json
import os
import statistics
import subprocess
import sys

import psycopg2

LIMIT = 0.97

# Figure: (what is run, field of its JSON line, whether more is better).
FIGURES = {
    "queue": [("drain", "drainRate", True), ("enqueue", "enqueueRate", True), ("queueCPU", "cpuSeconds", False)],
    "pickup": [("pickup", "p50Ms", False)],
    "callbacks": [("callbacks", "perSecond", True), ("callbacksCPU", "cpuSeconds", False)],
    "job": [("job", "jobsPerMinute", True), ("jobCPU", "cpuMsPerJob", False)],
}


class Build:
    """A checkout with its release build."""

    def __init__(self, name, folder):
        self.name = name
        self.program = os.path.join(folder, ".build", "release", "inspectd")
        self.migrations = os.path.join(folder, "Migrations")

    def run(self, url, *arguments):
        environment = dict(os.environ, INSPECTD_DATABASE_URL=url, INSPECTD_MIGRATIONS=self.migrations)
        answer = subprocess.run(
            [self.program, *arguments, "--log-level", "error"], env=environment, stdout=subprocess.PIPE, check=True,
            timeout=600)
        return json.loads(answer.stdout.splitlines()[-1])


def commands(kind, inputs):
    if kind == "queue":
        return ["bench", "queue", "--jobs", "100000"]
    if kind == "pickup":
        return ["bench", "queue", "--pickup", "--jobs", "120"]
    if kind == "callbacks":
        return ["bench", "callbacks", "--count", "20000"]
    return [
        "bench", "analysis", "--partner", "pairs", "--jobs", "20",
        "--front", os.path.join(inputs, "specimens", "passport.jpg"), "--face", os.path.join(inputs, "faces", "obama2.jpg")]


def measure(build, kind, inputs, server):
    """One measurement on a database of its own, which is gone afterwards."""
    name = "pairs"
    connection = psycopg2.connect(server)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    url = server.replace("/postgres?", f"/{name}?")
    # Up to 0.1.0 and a little beyond, the migration makes its roles itself.
    if os.path.exists(os.path.join(build.migrations, "roles.sql")):
        build.run(url, "migrate", "--roles")
    build.run(url, "migrate")
    if kind == "job":
        connection = psycopg2.connect(url)
        connection.autocommit = True
        connection.cursor().execute("SELECT insp.create_partner('pairs')")
        connection.close()
    processes = Processes(server)
    before = processes.seconds()
    report = build.run(url, *commands(kind, inputs))
    # Of the program and of PostgreSQL: it depends less than the rates on who else uses the machine and the disk.
    report["cpuSeconds"] = processes.seconds() - before
    return report


class Processes:
    """The server's processes, and those that this one started and that have ended."""

    def __init__(self, server):
        connection = psycopg2.connect(server)
        cursor = connection.cursor()
        cursor.execute("SHOW data_directory")
        with open(os.path.join(cursor.fetchone()[0], "postmaster.pid"), encoding="utf-8") as file:
            self.postmaster = int(file.readline())
        connection.close()

    def seconds(self):
        """Processor time used so far. The time of a child that has ended is its parent's."""
        own = os.times()
        children = f"/proc/{self.postmaster}/task/{self.postmaster}/children"
        with open(children, encoding="utf-8") as file:
            living = file.read().split()
        ticks = sum(self.ticks(self.postmaster, 4)) + sum(sum(self.ticks(pid, 2)) for pid in living)
        return own.children_user + own.children_system + ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def ticks(pid, count):
        """utime, stime, cutime, cstime (proc(5)); nothing of a process that is gone."""
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return [int(field) for field in file.read().rsplit(")", 1)[1].split()[11:11 + count]]
        except (FileNotFoundError, ProcessLookupError):
            return []


def interval(ratios):
    """The median's interval by order statistics: 93 % for eight pairs, the range for fewer than six."""
    ordered = sorted(ratios)
    cut = 1 if len(ordered) >= 6 else 0
    if len(ordered) >= 12:
        cut = len(ordered) // 4
    return ordered[cut], ordered[-1 - cut]


def verdict(median, high):
    if median >= LIMIT:
        return "pass"
    return "inconclusive" if high >= LIMIT else "fail"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--kinds", default=",".join(FIGURES))
    parser.add_argument("--inputs", required=True)
    parser.add_argument("old")
    parser.add_argument("new")
    arguments = parser.parse_args()
    server = os.environ["INSPECTD_DATABASE_URL"]
    builds = [Build("old", arguments.old), Build("new", arguments.new)]
    failed = False
    for kind in arguments.kinds.split(","):
        seen = {figure: {"old": [], "new": []} for figure, _, _ in FIGURES[kind]}
        for pair in range(arguments.pairs):
            # Who goes first changes, so that a machine that slows down slows down both.
            for build in builds if pair % 2 == 0 else builds[::-1]:
                report = measure(build, kind, arguments.inputs, server)
                for figure, field, _ in FIGURES[kind]:
                    seen[figure][build.name].append(report[field])
            print(kind, pair + 1, {figure: [round(values["old"][-1], 2), round(values["new"][-1], 2)]
                                   for figure, values in seen.items()}, file=sys.stderr, flush=True)
        for figure, _, more in FIGURES[kind]:
            values = seen[figure]
            ratios = [new / old if more else old / new for old, new in zip(values["old"], values["new"])]
            median, (low, high) = statistics.median(ratios), interval(ratios)
            word = verdict(median, high)
            failed |= word == "fail"
            print(json.dumps({
                "figure": figure, "pairs": len(ratios), "median": round(median, 3),
                "interval": [round(low, 3), round(high, 3)], "range": [round(min(ratios), 3), round(max(ratios), 3)],
                "old": round(statistics.median(values["old"]), 2), "new": round(statistics.median(values["new"]), 2),
                "verdict": word}), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
