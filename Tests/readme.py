"""Runs the README's commands as printed, against a real database, gateway and worker, and looks at what they print.

Usage: Tests/readme.py BIN     the folder with the built inspectd; the inputs are made if they are missing
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(block, environment):
    """What a block of commands prints; the first command that fails ends it."""
    # Job control as in a terminal, where the block says %1; a session of its own, so that whatever is left can be ended.
    process = subprocess.Popen(["bash", "-m", "-e", "-c", block], cwd=ROOT, env=environment, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=600)
    finally:
        for pid in subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], text=True, stdout=subprocess.PIPE).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", ROOT / ".build/postgres"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.returncode == 0, (block, output[-2000:], errors[-2000:])
    return output


def documents(output, beginning):
    """The JSON objects of an output that begin like this; other words may stand between them."""
    decoder = json.JSONDecoder()
    at = 0
    while (start := output.find(beginning, at)) >= 0:
        document, at = decoder.raw_decode(output, start)
        yield document


def check_files(output):
    passport, pair, batch, usability, report = documents(output, "{")
    for document in (passport, batch, report):
        assert document["capabilities"]["extraction"][0]["data"]["mrz"]["lines"], document
    assert 0 <= pair["similarity"] <= 1, pair
    assert [reason["code"] for reason in usability["rejectReasons"]] == [2001], usability
    page = ROOT / ".build/report.html"
    assert page.stat().st_mode & 0o777 == 0o600 and "<html" in page.read_text()
    page.unlink()


def check_database(output):
    assert re.findall(r'"type": "(\w+)"', output) == ["PASSED", "PASSED"], output


def check_gateway(output):
    assert '"openapi": "3.1.0"' in output, output[:500]
    created, first, finished, legacy = documents(output, '{"id"')
    assert created["status"] == 1 and first["id"] == finished["id"] == created["id"] != legacy["id"]
    for document in (finished, legacy):
        assert document["status"] == 128, document
        assert document["capabilities"]["extraction"][0]["data"]["mrz"]["lines"], document


def check_operator(output):
    assert "inspectd_slots" in output and '"message":"worker registered"' in output, output


#: What tells a block, and what its output must show.
BLOCKS = {"inspectd inspect --batch": check_files, "inspectd doctor": check_database, "inspectd gateway": check_gateway,
          "inspectd top --once": check_operator}


def main():
    found = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    environment = {**os.environ, "PATH": f"{Path(sys.argv[1]).resolve()}:{os.environ['PATH']}"}
    environment.pop("INSPECTD_DATABASE_URL", None)
    specimens = ROOT / ".build/inputs"
    if not (specimens / "specimens/passport.jpg").exists():
        subprocess.run([ROOT / "deploy/inputs.sh", specimens], check=True, stdout=subprocess.DEVNULL)
    for mark, check in BLOCKS.items():
        (block,) = [text for text in found if mark in text]
        check(run(block, environment))
    print(f"{len(BLOCKS)} blocks: as the README says")


if __name__ == "__main__":
    main()
