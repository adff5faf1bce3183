"""inspectd in the comparison: its own benchmark of no-op jobs, and a killed worker."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import psycopg

MIGRATIONS = pathlib.Path(__file__).resolve().parents[2] / "Migrations"
#: One worker process, as one is run on a host.
BENCH = ["--slots", "2048", "--workers", "1", "--producers", "2", "--batch", "1000"]
CRASH_JOBS = 10


class Inspectd:
    def __init__(self, program):
        self.program = program

    def run(self, url, *arguments):
        answer = subprocess.run(
            [self.program, *arguments, "--database-url", url, "--log-level", "error"], capture_output=True, text=True,
            timeout=900)
        if answer.returncode:
            raise RuntimeError(f"inspectd {' '.join(arguments)}: {(answer.stderr or answer.stdout)[-1000:]}")
        return answer.stdout

    def version(self):
        answer = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True)
        return answer.stdout.split("\n")[0].strip().removeprefix("inspectd").strip()

    def migrate(self, url):
        for command in (["migrate", "--roles"], ["migrate"]):
            self.run(url, *command, "--migrations", str(MIGRATIONS))

    def throughput(self, url, jobs):
        """The report of `bench queue`; it fails if a job is lost or finished twice."""
        return json.loads(self.run(url, "bench", "queue", "--noop", "--jobs", str(jobs), *BENCH).strip().split("\n")[-1])

    def pickup(self, url, jobs):
        report = json.loads(self.run(url, "bench", "queue", "--pickup", "--jobs", str(jobs)).strip().split("\n")[-1])
        report.update(callP50Ms=report.pop("callToStartP50Ms"), callP99Ms=report.pop("callToStartP99Ms"))
        return report

    def crash(self, url, limit=60):
        """Real workers; the jobs hang in fetching their part from a socket that never answers, until the kill -9."""
        with contextlib.ExitStack() as stack:
            sink = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            sink.listen(64)
            connection = stack.enter_context(psycopg.connect(url, autocommit=True))
            connection.execute("SELECT insp.create_partner('bench', NULL, true, true)")
            connection.execute("""SELECT insp.set_endpoint(id, '{"allowedNetworks": ["127.0.0.0/8"]}') FROM insp.endpoint""")
            first = stack.enter_context(self.worker(url))
            self.await_count(connection, "SELECT count(*) FROM insp.worker", 1, 60)
            request = json.dumps({"partner": "bench", "workflow": "id", "parts": {"FRONT": {
                "url": f"http://127.0.0.1:{sink.getsockname()[1]}/front.jpg", "sha256": "0" * 64}}})
            connection.execute(
                "SELECT count(*) FROM insp.enqueue_many(array_fill(%s::jsonb, ARRAY[%s]))", (request, CRASH_JOBS))
            self.await_count(connection, "SELECT count(*) FROM insp.lease", CRASH_JOBS, 30)
            highest = connection.execute("SELECT max(fence) FROM insp.lease").fetchone()[0]
            time.sleep(0.3)
            first.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            stack.enter_context(self.worker(url))
            again = f"SELECT count(*) FROM insp.lease WHERE fence > {highest}"
            recovered = self.await_count(connection, again, CRASH_JOBS, limit)
            seconds = time.monotonic() - killed
        return {"seconds": seconds if recovered == CRASH_JOBS else None, "again": recovered, "limit": limit}

    @contextlib.contextmanager
    def worker(self, url):
        process = subprocess.Popen(
            [self.program, "worker", "--slots", str(CRASH_JOBS), "--database-url", url, "--log-level", "error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @staticmethod
    def await_count(connection, query, wanted, seconds):
        deadline = time.monotonic() + seconds
        while True:
            count = connection.execute(query).fetchone()[0]
            if count >= wanted or time.monotonic() > deadline:
                return count
            time.sleep(0.05)
