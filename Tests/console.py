"""The console in Chromium; see Tests/console.sh."""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}
MARK = "<img src=x onerror=\"window.zqmark=1\"><script>window.zqmark=1</script>"
HOLD = """
    WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
        SELECT w.incarnation, r.worker_id FROM worker w,
            LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 64) r), claimed AS MATERIALIZED (
        SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 64,
            ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
            ARRAY(SELECT 64 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL)
    SELECT count(h) FROM (
        SELECT array_agg(c.job_id) AS jobs, array_agg(c.fence) AS fences, array_agg($s${"decision":{"type":"WARNING","details":
            {"label":"BLURRY"}},"labels":[{"capability":"usability","label":"BLURRY"}]}$s$::text) AS summaries,
            array_agg(convert_to($b$BODY$b$, 'UTF8')) AS bodies FROM claimed c) x,
        LATERAL insp.hold_for_review(x.jobs, x.fences, x.summaries, x.bodies, '{}', '{}', '{}', '{}') h
"""


def sql(text):
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", os.environ["INSPECTD_DATABASE_URL"], "-c", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def prepare():
    """Three cases, five dead letters, and a partner that is none of ann's business."""
    sql("SELECT insp.create_partner('bank'), insp.create_partner('shop'); SELECT insp.set_partner('bank', review => 'always')")
    sql("SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')) FROM generate_series(1, 3)")
    body = json.dumps({
        "capabilities": {}, "reasons": [], "rejectReasons": [{"code": 2001, "message": MARK, "part": "FRONT"}], "faces": [],
        "engine": {"versions": {MARK: "1"}, "models": {}, "timingsMs": {}},
    })
    sql(HOLD.replace("BODY", body))
    sql("SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')) FROM generate_series(1, 5)")
    sql("SELECT count(insp.cancel(public_id)) FROM insp.job WHERE status = 1")
    sql("INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes) SELECT id, partner_id, 'TIMED_OUT', 8, 0 FROM insp.job "
        "WHERE status = 128")
    # An image of each case, as the worker's first stage stores it, and a minute of plots.
    image = {"format": "JPEG", "width": 1500, "height": 1000, "orientation": 6, "storedWidth": 1000, "storedHeight": 1500}
    facts = json.dumps({"images": {"FRONT": image}, "cpuMs": 1})
    sql(f"INSERT INTO insp.step (job_id, status, fence, seal, body) SELECT job_id, 4, 1, 0, convert_to('{facts}', 'UTF8') FROM insp.review_wait")
    sql("SELECT insp.sample_queue()")
    return sql("SELECT string_agg(id::text, ' ' ORDER BY since DESC) FROM insp.v_review").split()


class Faults(list):
    def need(self, holds, what):
        if not holds:
            self.append(what)
            print(f"console: {what}", file=sys.stderr)


def judge(page, name, faults, shots):
    """One page by axe, in light and dark, 360 px wide, with nothing that its policy refuses."""
    for scheme in ("light", "dark"):
        for width in (1280, 360):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 800})
            results = Axe().run(page, options=RULES)
            for violation in results.response["violations"]:
                where = "; ".join(str(node["target"]) for node in violation["nodes"][:3])
                faults.need(False, f"{name}, {scheme}, {width} px: {violation['id']} ({violation['impact']}): {where}")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            faults.need(wide <= 0, f"{name} is {wide} px wider than a screen of {width} px")
            if shots:
                page.screenshot(path=shots / f"{name}-{scheme}-{width}.png", full_page=True)
    faults.need(page.evaluate("window.zqmark === undefined"), f"{name}: text ran")
    return name


def sign_in(browser, origin, name, faults, scripts=True):
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.on("dialog", lambda _: faults.need(False, "a dialog was opened"))
    page.on("console", lambda line: faults.need(line.type != "error" or "40" in line.text, f"{page.url}: {line.text}"))
    page.goto(origin + "/")
    page.click("text=Sign in with your organisation")
    page.click(f"text={name}")
    if not scripts:
        page.click("text=Continue")
    page.wait_for_url("**/cases" if name != "eve" else "**/queue")
    return page


def look(browser, origin, ids, faults, shots):
    seen = []
    page = browser.new_page()
    page.goto(origin + "/sign-in")
    seen.append(judge(page, "sign-in", faults, shots))
    ann, bob = (sign_in(browser, origin, name, faults) for name in ("ann", "bob"))
    seen.append(judge(ann, "cases", faults, shots))
    ann.goto(f"{origin}/cases/{ids[0]}")
    seen.append(judge(ann, "case-free", faults, shots))
    ann.click("text=Take it")
    seen.append(judge(ann, "case-mine", faults, shots))
    bob.goto(f"{origin}/cases/{ids[0]}")
    faults.need("ann has this case" in bob.content() and bob.query_selector("text=Take it") is None, "two have one case")
    seen.append(judge(bob, "case-taken", faults, shots))
    # Zoom is the script's, and the keyboard's once the image has the focus.
    ann.reload()
    width = "document.querySelector('.view svg').getBoundingClientRect().width"
    fit = ann.evaluate(width)
    ann.focus(".view")
    ann.keyboard.press("+")
    faults.need(ann.evaluate(width) > fit * 1.4, "the keyboard does not enlarge an image")
    ann.keyboard.press("0")
    faults.need(abs(ann.evaluate(width) - fit) < 1, "the keyboard does not fit an image")
    ann.goto(f"{origin}/cases/{ids[0]}/history")
    seen.append(judge(ann, "history", faults, shots))
    ann.goto(f"{origin}/cases/{ids[0]}")
    # The keyboard alone, from the skip link to the decision.
    ann.keyboard.press("Tab")
    faults.need(ann.evaluate("document.activeElement.className") == "skip", "the first stop is not the skip link")
    ann.focus("input[value=PASSED]")
    ann.keyboard.press("Space")
    ann.focus("textarea")
    ann.keyboard.type("by the keyboard")
    ann.keyboard.press("Tab")
    ann.keyboard.press("Enter")
    ann.wait_for_url("**/cases")
    # Bob's page of that case and ann's list learn of what happens without being loaded again.
    try:
        bob.wait_for_selector("#news:has-text('changed')", timeout=10000)
        ann.evaluate("window.zqstays = true")
        sql(f"SELECT insp.console_take((SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:bob' LIMIT 1), '{ids[1]}')")
        ann.wait_for_selector("#live:has-text('bob')", timeout=10000)
        faults.need(ann.evaluate("window.zqstays === true"), "the list was loaded anew, not renewed")
        sql(f"SELECT insp.console_release((SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:bob' LIMIT 1), '{ids[1]}')")
    except Exception as error:
        faults.need(False, f"an open page learned of no change: {str(error).splitlines()[0]}")
    faults.need(sql(f"SELECT insp.job_result('{ids[0]}') #>> '{{decision,type}}'") == "PASSED", "the decision is not stored")

    plain = sign_in(browser, origin, "bob", faults, scripts=False)
    plain.click("text=Take the next free case")
    turned = "getComputedStyle(document.querySelector('.images svg')).transform"
    plain.check("input.turn1")
    faults.need(plain.evaluate(turned) != "none", "without JavaScript an image does not turn")
    plain.uncheck("#overlays")
    faults.need(
        plain.evaluate("getComputedStyle(document.querySelector('.images svg g')).display") == "none",
        "without JavaScript overlays do not switch off")
    plain.check("input[value=REJECTED]")
    plain.fill("input[name=label]", "manipulated_document")
    plain.click("text=Record the decision")
    plain.wait_for_url("**/cases")
    faults.need(sql("SELECT count(*) FROM insp.review_wait") == "1", "without JavaScript nothing was decided")

    for path in ("queue", "plots", "workers", "jobs", f"jobs/{ids[0]}", "dead", "tasks/new?partner=bank", "tasks/new?kind=endpoints", "endpoints",
                 "limits", "limits/change?partner=bank"):
        ann.goto(f"{origin}/{path}")
        seen.append(judge(ann, path.split("?partner")[0].translate(str.maketrans("/?=", "---")), faults, shots))
    ann.goto(origin + "/dead?partner=bank")
    ann.click("text=Act on all of this selection")
    ann.check("input[value=resolve]")
    ann.fill("input[name=reason]", "they timed out while the server was away")
    ann.click("text=Begin")
    ann.wait_for_url("**/tasks")
    deadline = time.monotonic() + 20
    while "5 of 5" not in ann.content() and time.monotonic() < deadline:
        ann.reload()
    faults.need("5 of 5" in ann.content(), "the task did not end")
    seen.append(judge(ann, "tasks", faults, shots))

    # Two persons' change, without JavaScript: the login proposed it, bob approves it.
    sql("SELECT insp.set_approval('set_partner', true)")
    sql("""SELECT insp.propose('set_partner', '{"partner":"bank","review":"never"}')""")
    plain.goto(origin + "/approvals")
    plain.click("text=Approve proposal")
    plain.wait_for_url("**/approvals")
    faults.need("approved by console:bob" in plain.content(), "bob could not approve")
    faults.need(sql("SELECT review FROM insp.v_partner WHERE name = 'bank'") == "never", "what bob approved was not done")

    eve = sign_in(browser, origin, "eve", faults)
    for path in ("approvals", "record", "record?chain=operator", "keys"):
        eve.goto(f"{origin}/{path}")
        seen.append(judge(eve, path.translate(str.maketrans("/?=", "---")), faults, shots))
    # What only somebody sees who may see every partner.
    for path in ("queue", "plots", "plots?partner=bank", "workers"):
        eve.goto(f"{origin}/{path}")
        seen.append(judge(eve, "all-" + path.replace("?", "-").replace("=", "-"), faults, shots))
    eve.goto(origin + "/dead")
    faults.need(eve.query_selector("text=Act on all") is None, "an auditor may act")
    eve.goto(origin + "/cases")
    faults.need("SCOPE_MISSING" in eve.content(), "an auditor sees cases")
    seen.append(judge(eve, "refused", faults, shots))

    # Another page cannot frame the console.
    framing = browser.new_page()
    framing.set_content(f"<iframe src='{origin}/sign-in'></iframe>")
    framing.wait_for_timeout(1000)
    inner = [frame for frame in framing.frames if frame != framing.main_frame]
    faults.need(all("Sign in" not in (frame.content() if frame.url.startswith(origin) else "") for frame in inner), "it can be framed")

    ann.click("text=Sign out")
    ann.goto(origin + "/cases")
    faults.need("Sign in with your organisation" in ann.content(), "the session goes on after the sign-out")
    return seen


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bin", required=True)
    options.add_argument("--folder", required=True)
    options.add_argument("--shots", type=Path)
    given = options.parse_args()
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    ids, faults = prepare(), Faults()
    provider, port = free_port(), free_port()
    origin = f"http://127.0.0.1:{port}"
    people = ["ann=reviewer:bank,operator:bank", "bob=reviewer:*,operator:*", "eve=auditor:*"]
    started = []
    try:
        started.append(subprocess.Popen(
            [sys.executable, "Tests/oidc-server.py", str(provider), "desk", origin + "/sign-in/callback", *people],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        started[0].stdout.readline()
        log = open(f"{given.folder}/console.log", "w")
        started.append(subprocess.Popen(
            [f"{given.bin}/inspectd", "console", "--url", origin, "--listen", str(port), "--analyzer-slots", "0",
             "--oidc-issuer", f"http://127.0.0.1:{provider}", "--oidc-client", "desk"], stderr=log))
        deadline = time.monotonic() + 30
        while "console open" not in Path(log.name).read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            seen = look(browser, origin, ids, faults, given.shots)
            browser.close()
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(20)
    answered = [json.loads(line) for line in Path(log.name).read_text().splitlines() if '"request answered"' in line]
    # What waits for a change is not slow.
    times = sorted(line["seconds"] for line in answered if not line["route"].startswith("/live/"))
    print(json.dumps({"pages": seen, "faults": len(faults), "requests": len(times), "p95Seconds": times[len(times) * 95 // 100 - 1]}))
    sys.exit(1 if faults else 0)


main()
