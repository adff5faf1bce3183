"""Runs the README's and the guides' commands as printed, against a real database, gateway and worker, and looks at what they print;
and whether links lead anywhere.

Blocks of sh and sql run, each page's in one session from top to bottom. Blocks without a language do not: they take root, a
cluster or minutes. deploy/OPERATING.md is Tests/operating.py's, deploy/DEPLOYING.md and
.github/CONTRIBUTING.md are Tests/guides.py's.

Usage: Tests/readme.py BIN     the folder with the built inspectd; the inputs are made if they are missing
"""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def script(page):
    """A page's blocks as one script; a line before each of them tells under which heading its output belongs."""
    lines, heading, language, inside_sql = [], "", None, False
    for line in page.read_text().splitlines():
        if language is None and line.startswith("```"):
            language = line[3:]
            # Blocks of SQL share a session until one of sh comes between.
            if language == "sql" and not inside_sql:
                lines.append("psql -Xq -v ON_ERROR_STOP=1 \"$INSPECTD_DATABASE_URL\" <<'END_OF_SQL'")
                inside_sql = True
            elif language == "sh" and inside_sql:
                lines.append("END_OF_SQL")
                inside_sql = False
            if language in ("sh", "sql"):
                lines.append(("\\echo" if inside_sql else "echo") + f" '@@{heading}'")
        elif language is None:
            heading = line.lstrip("# ") if line.startswith("#") else heading
        elif line == "```":
            language = None
        elif language in ("sh", "sql"):
            lines.append(line)
    return "\n".join(lines + ["END_OF_SQL"] * inside_sql)


def run(text, environment, folder=ROOT):
    """What a script prints, by heading; the first command that fails ends it."""
    # Job control as in a terminal, where the page says %1; a session of its own, so that whatever is left can be ended.
    # Files, not pipes: what is left running after a failure would keep those open.
    streams = [tempfile.TemporaryFile("w+") for _ in range(2)]
    process = subprocess.Popen(["bash", "-m", "-e", "-c", text], cwd=folder, env=environment, text=True, start_new_session=True,
                               stdout=streams[0], stderr=streams[1])
    try:
        process.wait(timeout=600)
    finally:
        for pid in subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], text=True, stdout=subprocess.PIPE).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", ROOT / ".build/postgres"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for stream in streams:
        stream.seek(0)
    output, errors = (stream.read() for stream in streams)
    assert process.returncode == 0, (output[-2000:], errors[-2000:])
    said = {}
    for piece in output.split("@@")[1:]:
        heading, _, rest = piece.partition("\n")
        said[heading] = said.get(heading, "") + rest
    return said


def documents(output, beginning="{"):
    """The JSON objects of an output that begin like this; other words may stand between them."""
    decoder = json.JSONDecoder()
    at = 0
    while (start := output.find(beginning, at)) >= 0:
        document, at = decoder.raw_decode(output, start)
        yield document


def check_finished(document):
    assert document["status"] == 128, document
    assert document["capabilities"]["extraction"][0]["data"]["mrz"]["lines"], document


def check_readme(said):
    assert '"type": "PASSED"' in said["The smallest SQL example"], said
    (document,) = documents(said["The smallest HTTP example"])
    check_finished(document)


def check_commands(said):
    passport, pair, batch = documents(said["Inspect files"])
    check_finished(passport)
    check_finished(batch)
    assert 0 <= pair["similarity"] <= 1, pair
    (usability,) = documents(said["Judge usability at once"])
    assert [reason["code"] for reason in usability["rejectReasons"]] == [2001], usability
    (shadowed,) = documents(said["Try other limits and models"])
    check_finished(shadowed)
    page = ROOT / ".build/report.html"
    assert page.stat().st_mode & 0o777 == 0o600 and "<html" in page.read_text()
    page.unlink()
    assert re.findall(r'"type": "(\w+)"', said["Work with a queue"]) == ["PASSED", "PASSED"], said


def check_producers(said):
    assert re.search(r'128 +\| .*"type": "WARNING"', said["A job"]), said["A job"]
    enrolment, comparison, deletion = documents(said["Enrolled faces"])
    assert enrolment["outcome"] == comparison["outcome"] == "success" and comparison["result"] == "Verify", said
    assert "dlib" in said["Enrolled faces"] and deletion["templates"] == 1, said["Enrolled faces"]
    challenge, decision = documents(said["Liveness"])
    assert challenge["method"] == "colour_flash" and decision["details"]["label"] == "CHALLENGE_FAILED", said


def check_partners(said):
    assert '"openapi": "3.1.0"' in said["Try it"], said["Try it"]
    (first,) = documents(said["The first job"])
    check_finished(first)
    assert first["decision"]["type"] == "PASSED", first
    tested, judged, events = documents(said["Try without real data"])
    assert tested["status"] == 128 and [d["decision"]["type"] for d in (tested, judged)] == ["REJECTED"] * 2, tested
    assert tested["test"] and judged["test"] and events["test"] and tested["id"] in events["events"][0]["body"], events
    form, created = documents(said["Create a job"], '{"id"')
    assert form["status"] == 1 and form["id"] != created["id"]
    polled, waited = documents(said["Get the result"], '{"id"')
    assert created["status"] == 1 and polled["id"] == waited["id"] == created["id"], said
    check_finished(waited)
    (legacy,) = documents(said["Create and wait"], '{"id"')
    check_finished(legacy)
    assert legacy["id"] != created["id"]
    (listed,) = documents(said["Find jobs"])
    assert [job["id"] for job in listed["jobs"]] == [form["id"]], listed
    cancelled, rerun = documents(said["Cancel and rerun"], '{"')
    # It was finished by then.
    assert not cancelled["cancelled"] and rerun["status"] == 1 and rerun["id"] != created["id"], said
    assert not said["Get a part back"].strip()
    (challenge,) = documents(said["Challenges"])
    assert challenge["method"] == "motion" and len(challenge["steps"]) == 2, challenge
    faces, deleted = documents(said["Faces"], '{"')
    assert len(faces["templates"]) == 1 and deleted["templates"] == 1, said["Faces"]
    export, withdrawn, erased = documents(said["Persons"], '{"')
    # The one that was sent as a form, and the enrolment. The withdrawal leaves nothing to erase.
    assert len(export["jobs"]) == 2 and export["faces"] == [], said["Persons"]
    assert withdrawn == {"cancelled": 0, "jobs": 2} and erased == {"jobs": 0}, said["Persons"]
    problem = next(documents(said["Errors"]))
    assert problem["code"] == "DOCUMENT_FORMAT_UNKNOWN" and problem["contractCodes"]["mobile"] == "N00000", problem


def check_metrics(said):
    output = said["Try it"]
    assert "inspectd_slots" in output and '"message":"worker registered"' in output, output


def check_sealing(said):
    assert '"wrappingKey":"first"' in said["Wrapping keys"], said["Wrapping keys"]
    for heading, name in (("Rotation", "second"), ("Escrow", "third")):
        assert f'"wrappingKey":"{name}"' in said[heading] and "formerKey" not in said[heading], said[heading]
        assert said[heading].count('"unreadable":0') == 2, said[heading]


PAGES = {"README.md": check_readme, "deploy/COMMANDS.md": check_commands, "deploy/PRODUCERS.md": check_producers,
         "deploy/PARTNERS.md": check_partners, "deploy/METRICS.md": check_metrics,
         "deploy/SEALING.md": check_sealing}


def check_callbacks(environment):
    """deploy/CALLBACKS.md verifies a callback: here one that is genuine."""
    key, body, moment = b"a key of sixteen bytes or more..", b'{"type":"job.finished"}', str(int(time.time()))
    signature = hmac.new(key, f"msg_1.{moment}.".encode() + body, hashlib.sha256).digest()
    variables = {"WEBHOOK_ID": "msg_1", "WEBHOOK_TIMESTAMP": moment, "WEBHOOK_SIGNATURE": "v1," + base64.b64encode(signature).decode()}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "secret").write_text("whsec_" + base64.b64encode(key).decode())
        (Path(folder) / "body").write_bytes(body)
        run(script(ROOT / "deploy/CALLBACKS.md"), {**environment, **variables}, folder)


RUNBOOK_SITE = r"""
psql -Xq "$KEYS_SERVER" -c 'CREATE DATABASE inspectd_keys'
inspectd keys make --key-file wrapping-keys --name first
inspectd migrate --roles && inspectd migrate
inspectd keys init --roles && inspectd keys init
psql -Xq -v ON_ERROR_STOP=1 "$INSPECTD_DATABASE_URL" -c "SELECT insp.create_partner('bank', 'http://127.0.0.1:1/x', true, true)" \
    -c "SELECT insp.create_credential('bank')" -c "CREATE ROLE worker LOGIN IN ROLE insp_worker" \
    -c "CREATE ROLE gateway LOGIN IN ROLE insp_gateway"
psql -Xq -v ON_ERROR_STOP=1 "$INSPECTD_KEYS_URL" <<'SQL'
SELECT format('CREATE ROLE %I LOGIN', r) FROM unnest(ARRAY['worker', 'gateway']) r WHERE NOT EXISTS (
    SELECT FROM pg_roles WHERE rolname = r) \gexec
GRANT keys_custodian, keys_eraser TO worker;
GRANT keys_custodian TO gateway;
SQL
inspectd audit key --new --audit-key audit.pem > audit-public.pem
for number in 1 2; do inspectd enqueue --partner bank --user-reference "user-$number" --front "$SPECIMENS/passport.jpg"; done
psql -Xq -v ON_ERROR_STOP=1 -f jobs.sql "$INSPECTD_DATABASE_URL"
"""


LOGINS = r"""
echo '@@Logins'
for url in "$INSPECTD_DATABASE_URL" "$INSPECTD_KEYS_URL"; do
    psql -XqAt "$url" -c "SELECT 'open: ' || rolname FROM pg_roles WHERE rolcanlogin AND rolname ~ '^(worker|gateway)' ORDER BY 1"
done
psql -XqAt "$INSPECTD_KEYS_URL" -c "SELECT 'keys: ' || m.member::regrole || ' ' || m.roleid::regrole FROM pg_auth_members m
    WHERE m.roleid::regrole::text ~ '^keys_' AND m.member::regrole::text ~ '^(worker|gateway)' ORDER BY 1"
echo '@@Secrets'
psql -XqAt "$INSPECTD_DATABASE_URL" -c "SELECT 'plain: ' || count(*) FROM insp.secret
    WHERE seal = 0 AND purpose IN ('signing_secret', 'signing_key')"
"""


def check_runbooks(environment, is_apart):
    """deploy/RUNBOOKS.md: a database and a key store, each in a cluster of its own or both in one, with sealed and plain jobs, one of
    them erased."""
    def start(place):
        return subprocess.run([ROOT / "deploy/scratch-postgres.sh", "start", ROOT / ".build" / place], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    server = start("postgres")
    try:
        run_runbooks(environment, server, start("keystore") if is_apart else server)
    finally:
        subprocess.run([ROOT / "deploy/scratch-postgres.sh", "stop", ROOT / ".build/keystore"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_runbooks(environment, server, keys_server):
    with tempfile.TemporaryDirectory() as folder:
        keys = keys_server.replace("/postgres?", "/inspectd_keys?")
        environment = {**environment, "INSPECTD_DATABASE_URL": server, "INSPECTD_KEYS_URL": keys, "KEYS_SERVER": keys_server,
                       "INSPECTD_WRAPPING_KEYS": f"file:{folder}/wrapping-keys", "INSPECTD_MIGRATIONS": str(ROOT / "Migrations"),
                       "SPECIMENS": str(ROOT / ".build/inputs/specimens")}
        plain = """SELECT insp.enqueue('{"partner": "bank", "workflow": "id"}', front => 'no image')"""
        Path(folder, "jobs.sql").write_text(f"{plain};\nSELECT insp.cancel(public_id) FROM insp.job ORDER BY id LIMIT 1;\n"
                                            "SELECT insp.erase(public_id) FROM insp.job ORDER BY id LIMIT 1;\n")
        # One job more than the key store's backup has.
        page = script(ROOT / "deploy/RUNBOOKS.md").replace(
            "echo '@@Keys that must", "inspectd enqueue --partner bank --front \"$SPECIMENS/passport.jpg\"\necho '@@Keys that must", 1)
        said = run(RUNBOOK_SITE + page + LOGINS, environment, folder)
    breach = said["A breach within 72 hours"]
    assert re.search(r"bank +\| +2 +\| +1 +\| +1 +\| +1 ", breach) and '"outcome":"whole"' in breach, breach
    assert re.search(r"FRONT +\| +0 +\| +1 ", breach) and re.search(r"FRONT +\| +1 +\| +1 ", breach), breach
    theft = said["A stolen wrapping key"]
    assert '"rewrapped":1,"unreadable":0,"wrappingKey":"after-theft"' in theft and "formerKey" not in theft, theft
    stolen = said["A stolen dump, backup or WAL archive"]
    assert stolen.count("whsec_") == 2 and stolen.count('"isSealed":true') == 2, stolen
    # The new secrets are nowhere in plain text.
    assert said["Secrets"] == "plain: 0\n", said["Secrets"]
    assert "ik_" in said["A stolen worker or gateway host"]
    destroyed = said["Keys that must be destroyed"]
    assert '{"destroyed":0,"partners":0,"persons":0}' in destroyed, destroyed
    assert len(re.findall(r"^[\da-f-]{36} 1$", destroyed, re.M)) == 1, destroyed
    older = said["A key store restored older than the data"]
    assert '"opened":5' in older and re.search(r"to_destroy \n-+\n +1\n", older) and re.search(r"bank +\| +[\da-f-]{36} \| +1 ", older), older
    lost = said["A lost wrapping key"]
    assert '"isAbandoned":false' in lost and '"isAbandoned":true' in lost and '"opened":0,"unreadable":0' in lost, lost
    assert '"opened":0,"unreadable":0' in said["A lost key store"], said["A lost key store"]
    # Nothing of the stolen host's logins is left, in either cluster.
    logins = set(said["Logins"].split("\n")) - {""}
    assert logins == {"open: worker_2", "keys: worker_2 keys_custodian", "keys: worker_2 keys_eraser"}, logins


def check_links():
    """Each link of a page leads to a file of the repository, and to a heading of it where it names one."""
    def anchors(page):
        headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
        return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}

    for page in [*ROOT.glob("*.md"), *ROOT.glob("deploy/*.md"), *ROOT.glob("deploy/clients/*.md"), *ROOT.glob(".github/*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for place, _, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#?)([^)]*)\)", text):
            target = page.parent / place if place else page
            assert target.exists(), f"{page.name}: nothing at {place}"
            assert not anchor or anchor in anchors(target), f"{page.name}: no heading {anchor} in {target.name}"


def main():
    check_links()
    environment = {**os.environ, "PATH": f"{Path(sys.argv[1]).resolve()}:{os.environ['PATH']}"}
    environment.pop("INSPECTD_DATABASE_URL", None)
    specimens = ROOT / ".build/inputs"
    if not (specimens / "specimens/passport.jpg").exists():
        subprocess.run([ROOT / "deploy/inputs.sh", specimens], check=True, stdout=subprocess.DEVNULL)
    for page, check in PAGES.items():
        try:
            check(run(script(ROOT / page), environment))
        except (AssertionError, ValueError, KeyError) as error:
            raise AssertionError(page) from error
    check_callbacks(environment)
    for is_apart in (False, True):
        check_runbooks(environment, is_apart)
    print(f"{len(PAGES) + 2} pages: as they say")


if __name__ == "__main__":
    main()
