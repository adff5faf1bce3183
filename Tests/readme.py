"""Runs the README's calls of the gateway as printed, against a real gateway, worker and database, and looks at their answers.

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


def main():
    found = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    (block,) = [text for text in found if "inspectd gateway" in text]
    environment = {**os.environ, "PATH": f"{Path(sys.argv[1]).resolve()}:{os.environ['PATH']}"}
    environment.pop("INSPECTD_DATABASE_URL", None)
    specimens = ROOT / ".build/inputs"
    if not (specimens / "specimens/passport.jpg").exists():
        subprocess.run([ROOT / "deploy/inputs.sh", specimens], check=True, stdout=subprocess.DEVNULL)
    # Job control as in a terminal, where the block says %1; a session of its own, so that whatever is left can be ended.
    process = subprocess.Popen(["bash", "-m", "-c", block], cwd=ROOT, env=environment, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        for pid in subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], text=True, stdout=subprocess.PIPE).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", ROOT / ".build/postgres"])
        raise
    assert process.returncode == 0, errors[-2000:]
    documents = []
    decoder = json.JSONDecoder()
    at = 0
    # One answer after the other, with psql's and migrate's words between them.
    while (start := output.find('{"id"', at)) >= 0:
        document, at = decoder.raw_decode(output, start)
        documents.append(document)
    assert '"openapi": "3.1.0"' in output, output[:500]
    created, first, finished, legacy = documents
    assert created["status"] == 1 and first["id"] == finished["id"] == created["id"] != legacy["id"]
    for document in (finished, legacy):
        assert document["status"] == 128, document
        assert document["capabilities"]["extraction"][0]["data"]["mrz"]["lines"], document
    print(f"{len(documents)} answers: as the README says")


if __name__ == "__main__":
    main()
