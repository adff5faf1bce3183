"""Times of the console's pages; see Tests/console-pages.sh."""

import argparse
import http.client
import io
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import numpy
from PIL import Image

LIMIT_MS = 50
# What each page asks the database for, as the console does, for an operator and reviewer of every partner (A) and of one (B).
STATEMENTS = {
    "session": "SELECT * FROM insp.console_session_of({who}, true)",
    "cases": "SELECT * FROM insp.console_cases({who})",
    "cases of a partner": "SELECT * FROM insp.console_cases({who}, 'p02')",
    "cases with a rare reason": "SELECT * FROM insp.console_cases({who}, NULL, 'NONE')",
    # Each round takes the same one: it is the person's own by then.
    "next case": "SELECT insp.console_next({who})",
    "next case with a rare reason": "SELECT insp.console_next({who}, NULL, 'NONE')",
    "case": "SELECT * FROM insp.console_case({who}, {case})",
    "case: how far it is": "SELECT * FROM insp.console_state({who}, {case})",
    "history": "SELECT * FROM insp.console_history({who}, {case})",
    "pulse": "SELECT * FROM insp.console_pulse(ARRAY[{who}, {who}], ARRAY['cases', {case}::text])",
    "queue": "SELECT * FROM insp.console_queue({who})",
    "workers": "SELECT * FROM insp.console_workers({who})",
    "plots, 7 days": "SELECT * FROM insp.console_plots({who}, NULL, 168)",
    "plots of a partner, 7 days": "SELECT * FROM insp.console_plots({who}, 'p02', 168)",
    "workers: jobs": "SELECT * FROM insp.console_work({who})",
    "job: explanation": "SELECT * FROM insp.console_explain({who}, {job})",
    "job: timeline": "SELECT * FROM insp.console_timeline({who}, {job})",
    "dead letters": "SELECT * FROM insp.console_dead({who})",
    "dead letters of a partner": "SELECT * FROM insp.console_dead({who}, 'p03')",
    "dead letters of no partner's code": "SELECT * FROM insp.console_dead({who}, NULL, 'NONE')",
    "tasks": "SELECT * FROM insp.console_tasks({who})",
    "preview of dead letters": "SELECT * FROM insp.console_preview({who}, 'dead', '{{\"partner\": \"p02\"}}')",
    "preview of jobs": "SELECT * FROM insp.console_preview({who}, 'jobs', '{{\"partner\": \"p02\"}}')",
    "endpoints": "SELECT * FROM insp.console_endpoints({who})",
    "limits": "SELECT * FROM insp.console_limits({who})",
    "record": "SELECT * FROM insp.console_record({who}, 'access')",
    "people": "SELECT * FROM insp.console_people({who})",
}
# For those of every partner alone.
OVERSIGHT = {"record", "people"}
MEASURE = """
CREATE FUNCTION pg_temp.measure(p_sql text, p_times integer) RETURNS TABLE (median double precision, p95 double precision)
LANGUAGE plpgsql AS $f$
DECLARE
    began timestamptz;
    taken double precision[];
BEGIN
    EXECUTE p_sql;
    FOR i IN 1..p_times LOOP
        began := clock_timestamp();
        EXECUTE p_sql;
        taken := taken || extract(epoch FROM clock_timestamp() - began)::double precision * 1000;
    END LOOP;
    RETURN QUERY SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t), percentile_cont(0.95) WITHIN GROUP (ORDER BY t) FROM unnest(taken) t;
END
$f$;
"""


def sql(text):
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", os.environ["INSPECTD_DATABASE_URL"]]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout.strip()


def of_statements(rounds):
    """The statements, for a person who may see every partner and for one who may see one."""
    sql("""
        SELECT insp.console_sign_in(sha256('A'), 'pages-all', 'oidc', '{reviewer:*,operator:*}', 'https://id.example', '1'),
            insp.console_sign_in(sha256('B'), 'pages-one', 'oidc', '{reviewer:p02,operator:p02}', 'https://id.example', '2')
    """)
    case = sql("SELECT j.public_id FROM insp.review_wait w JOIN insp.job j ON j.id = w.job_id ORDER BY w.since LIMIT 1")
    job = sql("SELECT public_id FROM insp.job WHERE status = 128 ORDER BY id DESC LIMIT 1")
    sql(f"SELECT insp.console_take(sha256('A'), '{case}')")
    for who in ("A", "B"):
        for name, statement in STATEMENTS.items():
            # The other person's case and partners are refused.
            if who == "B" and (name in OVERSIGHT or any(word in statement for word in ("{case}", "{job}", "'p03'"))):
                continue
            text = statement.format(who=f"sha256('{who}')", case=f"'{case}'::uuid", job=f"'{job}'")
            answer = sql(MEASURE + f"SELECT row_to_json(m) FROM pg_temp.measure($q${text}$q$, {rounds}) m")
            yield {"statement": name, "partners": "all" if who == "A" else "one", **json.loads(answer)}
    sql(f"SELECT insp.console_release(sha256('A'), '{case}')")


class Browser:
    def __init__(self, port):
        self.port, self.cookie, self.form = port, "", ""

    def ask(self, method, path, fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Cookie": self.cookie} if self.cookie else {}
        body = None
        if method == "POST":
            body = urllib.parse.urlencode({**(fields or {}), "form": self.form})
            headers.update({
                "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin",
                "Origin": f"http://127.0.0.1:{self.port}",
            })
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        for line in answer.headers.get_all("Set-Cookie") or []:
            if line.startswith("inspectd-console="):
                self.cookie = line.split(";")[0]
        connection.close()
        return answer.status, text


def show(case):
    """Gives a case a photo of 12 megapixels, as phones take it, with what the first stage stores of it."""
    pixels = numpy.random.default_rng(7).integers(0, 256, (378, 504, 3), dtype=numpy.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((4032, 3024), Image.BICUBIC).save(file, "JPEG", quality=90)
    facts = {"images": {"FRONT": {
        "format": "JPEG", "width": 4032, "height": 3024, "orientation": 1, "storedWidth": 4032, "storedHeight": 3024}}, "cpuMs": 1}
    sql(f"""WITH job AS (SELECT id FROM insp.job WHERE public_id = '{case}'), step AS (
        INSERT INTO insp.step (job_id, status, fence, seal, body) SELECT id, 4, 1, 0, convert_to('{json.dumps(facts)}', 'UTF8') FROM job)
        INSERT INTO insp.content (id, kind, ordinal, bytes) SELECT id, 'FRONT', 0, '\\x{file.getvalue().hex()}' FROM job""")


def of_pages(given):
    log = Path(given.folder) / "console.log"
    with open(log, "w") as errors:
        console = subprocess.Popen(
            [f"{given.bin}/inspectd", "console", "--local", "--listen", "0", "--analyzers", "1"], stderr=errors,
            stdout=subprocess.PIPE, text=True)
    try:
        link = console.stdout.readline().strip()
        url = urllib.parse.urlsplit(link)
        browser = Browser(url.port)
        browser.ask("POST", "/sign-in/link", {"token": urllib.parse.parse_qs(url.query)["token"][0]})
        browser.form = re.search(r"name='form' value='([^']+)'", browser.ask("GET", "/cases")[1]).group(1)
        case = re.search(r"href='/cases/([0-9a-f-]{36})'", browser.ask("GET", "/cases")[1]).group(1)
        if browser.ask("POST", f"/cases/{case}/take")[0] != 303:
            raise SystemExit("the case could not be taken")
        show(case)
        job = sql("SELECT public_id FROM insp.job WHERE status = 128 ORDER BY id DESC LIMIT 1")
        pages = [
            "/cases", "/cases?partner=p02", f"/cases/{case}", f"/cases/{case}/history", "/queue", "/plots?hours=168",
            "/plots?hours=168&partner=p02", "/workers", "/jobs", f"/jobs/{job}", "/dead", "/dead?partner=p03",
            "/tasks", "/endpoints", "/tasks/new?kind=dead&partner=p03",
            "/tasks/new?kind=jobs&partner=p02", "/approvals", "/record?chain=access", "/keys", "/people",
            "/limits", "/limits/change?partner=p02", "/partners", "/partners/p02", f"/cases/{case}/images/FRONT",
        ]
        for path in pages:
            before = len(log.read_text().splitlines())
            for _ in range(given.rounds + 1):
                status, _ = browser.ask("GET", path)
                if status != 200:
                    raise SystemExit(f"{path} is answered with {status}")
            deadline = time.monotonic() + 10
            while True:
                lines = [json.loads(line) for line in log.read_text().splitlines()[before:] if '"request answered"' in line]
                if len(lines) > given.rounds or time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            # Without the first, which finds nothing in memory.
            times = sorted(line["seconds"] * 1000 for line in lines[1:])
            yield {
                "image" if "/images/" in path else "page": path.replace(case, "{id}").replace(job, "{id}"), "requests": len(times),
                "median": round(times[len(times) // 2], 2), "p95": round(times[len(times) * 95 // 100 - 1], 2),
            }
    finally:
        console.terminate()
        console.wait(30)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bin", required=True)
    options.add_argument("--folder", required=True)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--jobs", type=int, required=True)
    options.add_argument("--sql", action="store_true")
    given = options.parse_args()
    slow = 0
    for row in of_statements(given.rounds) if given.sql else of_pages(given):
        print(json.dumps({"jobs": given.jobs, **row}), flush=True)
        slow += row["p95"] > LIMIT_MS and "image" not in row
    sys.exit(1 if slow else 0)


main()
