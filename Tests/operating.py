"""Runs every block of deploy/OPERATING.md as printed, in one psql session with deploy/psqlrc, against a real database and a
real worker that have one of everything the manual speaks of; then looks at what came of it.

Usage: Tests/operating.py INSPECTD     the built program; INSPECTD_TEST_DATABASE_URL names a server, else one is started
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from random import Random
from struct import pack

ROOT = Path(__file__).resolve().parent.parent
PSQLRC = ROOT / "deploy/psqlrc"
# What each block must show for it to have done anything; keyed by its heading.
SHOWN = {
    "The state of the queue": ["normal", "live", "bank"],
    "Why do jobs wait?": ["the partner's limit: 1 running", "insp.limit_partner", "Waits in its partner's queue, with ",
                          "The partner's limit: 1 running.", "next step", '"status": 1'],
    "Add and change a partner": ["partner shop: job_lifetime 2 days, lane bulk, region EU", "partner shop: consent_required true",
                                 "partner shop: enabled false", '"was"', "create_partner"],
    "Pause and resume": ["partner bank: paused", "the partner is paused: they asked us to wait", "lane bulk: resumed",
                         "all lanes: paused", "all lanes: resumed"],
    "Policies of a partner": ["consent_policy_version 2026-01", "minimumAge", "{identity,biometrics}", "hooks.shop.example"],
    "Limit a partner, weigh the lanes": ["at most 20 running, 5 a second in bursts of 10", "lane urgent: weight 16",
                                         "at most 10000 waiting, at most 50000000000 bytes of parts"],
    "A poison job": ["UNSUPPORTED_FORMAT"],
    "Review": ["REJECTED", "NO_FACE_PRESENT", '"decision": "PASSED"', "bank: review warning", "bank: review never"],
    "What holds the xmin horizon": ["pg_terminate_backend", "idle in transaction"],
    "Retention and erasure": ["partner bank: parts 7 days, results 30 days", "erasedAt"],
    "Passive liveness": ["bank: passive signals suffice", "bank: passive signals do not suffice"],
    "Drain a worker": ["draining"],
    "Callbacks": ["live", "client_credentials", "https://login.partner.example/token"],
    "Changes that need a second login": ["set_retention: needs two logins", "30 days", "open"],
    "Who did what": ["pause", "resume", "limit_partner", "set_lane_weight", "cancel", "cancel_partner", "rerun",
                     "resolve_dead", "review", "set_retention", "erase",
                     "set_liveness_policy", "set_partner", "drain_worker"],
}


def noise():
    """A PNG of noise: it decodes, and nobody is in it."""
    random, side = Random(7), 96
    rows = b"".join(b"\0" + random.randbytes(side * 3) for _ in range(side))

    def chunk(kind, data):
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def blocks(path):
    """The manual's blocks in order: heading, language, text."""
    heading, found, lines, language = "", [], [], None
    for line in path.read_text().splitlines():
        if language is None and line.startswith("## "):
            heading = line[3:]
        elif language is None and line.startswith("```"):
            language, lines = line[3:], []
        elif line.startswith("```"):
            found.append((heading, language, "\n".join(lines)))
            language = None
        elif language is not None:
            lines.append(line)
    return found


class Site:
    """A database, a worker, and one of everything."""

    def __init__(self, program, server, folder):
        self.program, self.folder, self.processes = program, folder, []
        name = f"operating_{os.getpid()}"
        subprocess.run(["psql", "-Xqc", f"CREATE DATABASE {name}", server], check=True)
        self.url = re.sub(r"^(postgres(?:ql)?://[^/]*/)[^?]*", rf"\g<1>{name}", server)
        self.env = {**os.environ, "INSPECTD_DATABASE_URL": self.url}
        for command in (["migrate", "--roles"], ["migrate"]):
            subprocess.run([program, *command], env=self.env, check=True, stdout=subprocess.DEVNULL)
        # The manual's reader, who has the rights that it speaks of, and somebody who has none.
        self.roles = [f"{name}_operator", f"{name}_stranger"]
        self.sql(f"CREATE ROLE {self.roles[0]} LOGIN IN ROLE insp_operator, insp_auditor, insp_signer, pg_signal_backend, pg_read_all_stats;"
                 f"CREATE ROLE {self.roles[1]} LOGIN")

    def url_of(self, role):
        url = re.sub(r"[?&]user=[^&]*", "", self.url)
        return f"{url}{'&' if '?' in url else '?'}user={role}"

    def sql(self, text):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", text, self.url]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def start(self, command, **options):
        process = subprocess.Popen(command, env=self.env, **options)
        self.processes.append(process)
        return process

    def wait(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while self.sql(f"SELECT {condition}") != "t":
            assert time.monotonic() < deadline, f"never came true: {condition}"
            time.sleep(0.1)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(60)


def silent_server():
    """Takes connections and never answers: a part from there keeps its job running."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def serve():
        while True:
            taken.append(listener.accept())

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def furnish(site):
    port, face = silent_server(), noise().hex()
    site.sql("SELECT insp.create_partner('bank', 'http://127.0.0.1:1/gone', true, true)")
    site.sql("""SELECT insp.set_endpoint(id, '{"allowedNetworks": ["127.0.0.0/8"]}') FROM insp.endpoint""")
    site.worker = site.start([site.program, "worker", "--slots", "1", "--log-level", "error"],
                             stderr=open(site.folder / "worker.log", "w"))
    liveness = '{"partner": "bank", "workflow": "liveness", "review": "%s"}'
    site.sql(f"SELECT insp.enqueue('{liveness % 'never'}', face => '\\x{face}')")
    site.sql(f"SELECT insp.enqueue('{liveness % 'rejected'}', face => '\\x{face}')")
    for _ in range(2):
        site.sql(f"SELECT insp.enqueue('{liveness % 'always'}', face => 'poison')")
    site.wait("count(*) = 3 AND (SELECT count(*) FROM insp.v_review) = 1 FROM insp.job WHERE status = 128")
    slow = ('{"partner": "bank", "workflow": "liveness", "parts": {"FACE": {"url": "http://127.0.0.1:%d/x", "sha256": "%s"}}}'
            % (port, "0" * 64))
    site.sql("SELECT insp.limit_partner('bank', 1)")
    site.sql(f"SELECT insp.enqueue('{slow}')")
    site.wait("EXISTS (SELECT FROM insp.v_running)")
    site.sql(f"SELECT count(insp.enqueue('{slow}')) FROM generate_series(1, 3)")
    site.sql("INSERT INTO insp.callback_waiting (callback_id, endpoint_id, due_at, attempts, released, state)"
             " SELECT id, endpoint_id, now(), 12, 0, 'dead' FROM insp.callback ORDER BY id LIMIT 1"
             " ON CONFLICT (callback_id) DO UPDATE SET state = 'dead', attempts = 12")
    # A console that somebody forgot.
    site.forgotten = site.start(["psql", "-Xq", site.url_of(site.roles[1])], stdin=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    site.forgotten.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current();\n")
    site.forgotten.stdin.flush()
    site.wait("EXISTS (SELECT FROM insp.v_xmin_holders WHERE state = 'idle in transaction')")


def names():
    """The short names of deploy/psqlrc."""
    return re.findall(r"^\\set ([a-z]+) '(?:SELECT|\\\\)", PSQLRC.read_text(), re.M)


def main():
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        server, own = os.environ.get("INSPECTD_TEST_DATABASE_URL"), None
        if not server:
            own = folder / "postgres"
            server = subprocess.run([ROOT / "deploy/scratch-postgres.sh", "start", own], check=True,
                                    stdout=subprocess.PIPE, text=True).stdout.strip()
        site = Site(program, server, folder)
        try:
            furnish(site)
            run(site)
        finally:
            site.end()
            for what in (f"DATABASE IF EXISTS {site.url.split('/')[3].split('?')[0]} WITH (FORCE)", *(f"ROLE {r}" for r in site.roles)):
                subprocess.run(["psql", "-Xqc", f"DROP {what}", server], check=True)
            if own:
                subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", own], check=True)


def run(site):
    found = blocks(ROOT / "deploy/OPERATING.md")
    environment = {**site.env, "PAGER": "cat", "INSPECTD_DATABASE_URL": site.url_of(site.roles[0]),
                   "PATH": f"{Path(site.program).parent}:{os.environ['PATH']}"}
    for _, _, text in (b for b in found if b[1] == "sh"):
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=ROOT, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    assert {language for _, language, _ in found} == {"sh", "sql", "json"}

    # One session from top to bottom; a line before each block tells which one the output belongs to.
    script = "\\set ON_ERROR_STOP on\n"
    for number, (heading, language, text) in enumerate(found):
        if language == "sql":
            script += f"\\echo @@{number}\n{text}\n"
    script += "\\echo @@names\n" + "".join(f":{name}\n" for name in names())
    output = subprocess.run(["psql", environment["INSPECTD_DATABASE_URL"]], input=script, text=True, env={**environment, "PSQLRC": str(PSQLRC)},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    assert output.returncode == 0, output.stdout[-3000:]
    assert "ERROR:" not in output.stdout, output.stdout[-3000:]
    said = {}
    for piece in output.stdout.split("@@")[1:]:
        number, _, rest = piece.partition("\n")
        if number != "names":
            said[found[int(number)][0]] = said.get(found[int(number)][0], "") + rest
    for heading, words in SHOWN.items():
        for word in words:
            assert word in said[heading], f"{heading}: no {word!r} in\n{said[heading]}"
    assert len(names()) >= 12

    # A refusal is its message, DETAIL and HINT, without the statements of the function.
    refusal = subprocess.run(["psql", environment["INSPECTD_DATABASE_URL"], "-c", "SELECT insp.pause('slow')"], text=True,
                             env={**environment, "PSQLRC": str(PSQLRC)}, capture_output=True, timeout=60).stderr
    assert "LANE_UNKNOWN" in refusal and "HINT" in refusal and "CONTEXT" not in refusal, refusal

    # What an operator's login is told by the program.
    job = site.sql("SELECT public_id FROM insp.job WHERE status = 128 ORDER BY id DESC LIMIT 1")
    for command in (["status", job, "--purpose", "support"], ["status", job[-12:], "--explain"], ["top", "--once"]):
        subprocess.run([site.program, *command], env=environment, check=True, stdout=subprocess.DEVNULL)

    # What came of it.
    assert site.sql("SELECT count(*) FROM insp.endpoint WHERE url LIKE 'https://alerts.%'") == "1"
    assert site.worker.wait(120) == 0, "the drained worker"
    checks = {
        "running and waiting jobs were cancelled": "(SELECT count(*) FROM insp.step WHERE summary #>> '{error,code}' = 'CANCELLED') = 4",
        "nothing is left waiting": "NOT EXISTS (SELECT FROM insp.v_running) AND NOT EXISTS (SELECT FROM insp.v_review)",
        "the poison job was run again": "EXISTS (SELECT FROM insp.job WHERE rerun_of IS NOT NULL)",
        "both dead-lettered jobs were resolved": "(SELECT count(*) FROM insp.v_dead WHERE resolved_by IS NOT NULL) >= 2",
        "the review counts": "EXISTS (SELECT FROM insp.v_operator_events WHERE action = 'review' AND detail #>> '{previous,decision}' = 'REJECTED')",
        "one job was erased": "(SELECT count(*) FROM insp.step WHERE summary ? 'erasedAt') = 1",
        "nothing is paused": "NOT EXISTS (SELECT FROM insp.control WHERE paused) AND NOT EXISTS (SELECT FROM insp.partner WHERE paused)",
        "no partner's settings were changed by hand": "(SELECT count(*) FROM insp.v_operator_events WHERE action = 'set_partner') = 5",
        "nobody holds the xmin horizon": "NOT EXISTS (SELECT FROM insp.v_xmin_holders WHERE state = 'idle in transaction')",
        "what the operator read is recorded": f"EXISTS (SELECT FROM insp.v_access WHERE operator = '{site.roles[0]}' AND job = '{job}')",
        "the dead callback was sent again": "NOT EXISTS (SELECT FROM insp.v_callback_dead)",
    }
    for name, condition in checks.items():
        assert site.sql(f"SELECT {condition}") == "t", name
    print(f"{sum(1 for b in found if b[1] == 'sql')} blocks, {len(names())} short names, {len(checks)} outcomes: as the manual says")


if __name__ == "__main__":
    main()
