"""The console in Chromium; see Tests/console.sh."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from console_data import free_port, prepare, sql
from playwright.sync_api import sync_playwright

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}


# How much wider than the screen a page is, whose partners and people have names as long as they may be.
LONG = """() => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
    while (walk.nextNode()) texts.push([walk.currentNode, walk.currentNode.data]);
    const long = { bank: 'W'.repeat(64), ann: 'W'.repeat(100), bob: 'W'.repeat(100), eve: 'W'.repeat(100) };
    const replaced = texts.filter(([node, text]) => (node.data = text.replace(/\\b(bank|ann|bob|eve)\\b/g, (name) => long[name])) !== text);
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    for (const [node, text] of replaced) node.data = text;
    return wide;
}"""


class Faults(list):
    def need(self, holds, what):
        if not holds:
            self.append(what)
            print(f"console: {what}", file=sys.stderr)


def judge(page, name, faults, shots, widths=(1280, 360)):
    """One page by axe, in light and dark, 360 px wide, with nothing that its policy refuses."""
    for scheme in ("light", "dark"):
        for width in widths:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 800})
            results = Axe().run(page, options=RULES)
            for violation in results.response["violations"]:
                where = "; ".join(str(node["target"]) for node in violation["nodes"][:3])
                faults.need(False, f"{name}, {scheme}, {width} px: {violation['id']} ({violation['impact']}): {where}")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            faults.need(wide <= 0, f"{name} is {wide} px wider than a screen of {width} px")
            if (scheme, width) == ("light", 360):
                long = page.evaluate(LONG)
                faults.need(long <= 0, f"{name} is {long} px wider than a screen of {width} px, with long names")
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


def hide(page, is_hidden):
    """As the browser tells a page that another tab covers it, or no longer does."""
    page.evaluate("""(hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event('visibilitychange'));
    }""", is_hidden)


def stay(context, origin, job, faults):
    """What open pages of one person do by themselves."""
    seen = "SELECT count(*) FROM insp.console_session WHERE actor = 'console:ann' AND seen_at > now() - interval '19 minutes'"
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request))
    page.goto(origin + "/endpoints")
    sql("UPDATE insp.console_session SET seen_at = now() - interval '20 minutes' WHERE actor = 'console:ann'")
    page.evaluate("window.zqstays = document.querySelector('#live table').zqold = true")
    deadline = time.monotonic() + 60
    while page.evaluate("document.querySelector('#live table').zqold === true") and time.monotonic() < deadline:
        page.wait_for_timeout(200)
    faults.need(page.evaluate("document.querySelector('#live table').zqold !== true"), "the endpoints are not renewed")
    faults.need(page.evaluate("window.zqstays === true"), "the endpoints were loaded anew, not renewed")
    faults.need(sql(seen) == "0", "a page that renews itself keeps its session alive")
    # A hidden page holds no stream, and learns afterwards what it missed.
    page.goto(origin + "/cases")
    page.wait_for_timeout(2000)
    with page.expect_event("requestfailed", lambda request: "/live/" in request.url, timeout=60000):
        hide(page, True)
    asked.clear()
    bob = "(SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:bob' LIMIT 1)"
    sql(f"SELECT insp.console_take({bob}, '{job}')")
    page.wait_for_timeout(3000)
    faults.need(not asked, f"a hidden page asks for {[request.url for request in asked]}")
    hide(page, False)
    page.wait_for_selector("#live:has-text('bob')", timeout=60000)
    faults.need(any("/live/cases?since=" in request.url for request in asked), "the page begins anew when it is seen again")
    faults.need("The list changed at" in page.inner_text("#news"), "nobody hears that the list has changed")
    faults.need(page.query_selector("[role=status] table") is None, "the whole table is read out")
    sql(f"SELECT insp.console_release({bob}, '{job}')")
    # Four streams each: a fifth page ends the oldest one, which stays closed until somebody returns to it.
    pages = [page]
    for _ in range(4):
        pages.append(context.new_page())
        pages[-1].goto(origin + "/cases")
        pages[-1].wait_for_timeout(1500)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (ended := [one for one in pages if "Only four" in one.inner_text("#news")]):
        pages[0].wait_for_timeout(200)
    faults.need(len(ended) == 1, f"of five pages {len(ended)} gave way")
    if ended:
        asked = []
        ended[0].on("request", lambda request: asked.append(request))
        ended[0].wait_for_timeout(4000)
        faults.need(not asked, "a page that gave way asks again by itself")
        ended[0].evaluate("window.dispatchEvent(new Event('focus'))")
        # It opens its stream, and fetches itself once what it missed is known.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any("/live/cases" in request.url for request in asked):
            ended[0].wait_for_timeout(100)
        faults.need(any("/live/cases" in request.url for request in asked) and "Only four" not in ended[0].inner_text("#news"),
                    "a page that somebody returns to stays closed")
    for one in pages:
        one.close()
    # After the five: a stream whose page has just been closed counts until the console has noticed that.
    keep_typing(context, origin, seen, faults)


def keep_typing(context, origin, seen, faults):
    """Typing keeps the session alive; of a page on which nobody types, the end is told before."""
    page = context.new_page()
    page.clock.install()
    page.goto(origin + "/cases")
    sql("UPDATE insp.console_session SET seen_at = now() - interval '20 minutes' WHERE actor = 'console:ann'")
    page.clock.fast_forward(61_000)
    with page.expect_response("**/session/keep") as kept:
        page.type("input[name=reason]", "x")
    faults.need(kept.value.status == 204 and sql(seen) != "0", "typing does not keep the session alive")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.type("input[name=reason]", "yz")
    faults.need(not any("/session/keep" in url for url in asked), "the session is kept more often than once a minute")
    page.clock.fast_forward(27 * 60_000)
    page.wait_for_selector("[aria-live]:has-text('Your session ends in 2 minutes')", timeout=60000)
    page.click("text=Stay signed in")
    page.wait_for_selector("text=Stay signed in", state="hidden", timeout=60000)
    page.clock.fast_forward(31 * 60_000)
    page.wait_for_selector("[aria-live]:has-text('Your session has ended')", timeout=60000)
    page.close()


def retry(context, url, faults):
    """An image that a busy console did not show is asked for again."""
    page = context.new_page()
    asked = []

    def answer(route):
        asked.append(route.request.url)
        if "?try=" in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "5"})

    page.route("**/cases/*/images/*", answer)
    page.goto(url)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any("?try=1" in url for url in asked):
        page.wait_for_timeout(200)
    faults.need(any("?try=1" in url for url in asked), "an image that was not shown is not asked for again")
    page.unroute("**/cases/*/images/*")
    page.route("**/cases/*/images/*", lambda route: route.fulfill(status=404))
    page.goto(url)
    page.wait_for_selector("figure:has-text('try the link below it') a:has-text('open in a new tab')", timeout=60000)
    page.close()


def look(browser, origin, ids, faults, shots):
    seen = []
    page = browser.new_page()
    page.goto(origin + "/sign-in")
    seen.append(judge(page, "sign-in", faults, shots))
    # A one-time link's pages: this console has printed none.
    page.goto(origin + "/sign-in/link?token=x")
    seen.append(judge(page, "link", faults, shots, [360]))
    page.click("button:has-text('Sign in')")
    page.wait_for_selector("text=This link has been used")
    seen.append(judge(page, "link-used", faults, shots, [360]))
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
    retry(ann.context, ann.url, faults)
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
    ann.wait_for_selector("text=This case is decided")
    faults.need("by the keyboard" not in ann.content(), "a decided case shows its notes")
    seen.append(judge(ann, "case-decided", faults, shots))
    ann.goto(origin + "/cases")
    # Bob's page of that case and ann's list learn of what happens without being loaded again.
    try:
        bob.wait_for_selector("#news:has-text('changed')", timeout=60000)
        ann.evaluate("window.zqstays = true")
        sql(f"SELECT insp.console_take((SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:bob' LIMIT 1), '{ids[1]}')")
        ann.wait_for_selector("#live:has-text('bob')", timeout=60000)
        faults.need(ann.evaluate("window.zqstays === true"), "the list was loaded anew, not renewed")
        sql(f"SELECT insp.console_release((SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:bob' LIMIT 1), '{ids[1]}')")
    except Exception as error:
        faults.need(False, f"an open page learned of no change: {str(error).splitlines()[0]}")
    faults.need(sql(f"SELECT insp.job_result('{ids[0]}') #>> '{{decision,type}}'") == "PASSED", "the decision is not stored")
    try:
        # Her list would be a further page with a stream.
        ann.goto("about:blank")
        stay(ann.context, origin, ids[1], faults)
    except Exception as error:
        faults.need(False, f"open pages: {str(error).splitlines()[0]}")

    plain = sign_in(browser, origin, "bob", faults, scripts=False)
    plain.click("text=Take the next free case")
    turned = "getComputedStyle(document.querySelector('.images svg')).transform"
    plain.check("input.turn1")
    faults.need(plain.evaluate(turned) != "none", "without JavaScript an image does not turn")
    plain.uncheck("#overlays")
    faults.need(
        plain.evaluate("getComputedStyle(document.querySelector('.images svg g')).display") == "none",
        "without JavaScript overlays do not switch off")
    # The lease ends while bob types, and ann has the case for a moment: what he typed stays.
    job = plain.url.rsplit("/", 1)[1]
    bob.goto(f"{origin}/cases/{job}")
    bob.check("input[value=WARNING]")
    bob.fill("input[name=label]", "doubtful")
    bob.fill("textarea", "two lines,\nand a half")
    ann_token = "(SELECT token_sha256 FROM insp.console_session WHERE actor = 'console:ann' LIMIT 1)"
    sql("UPDATE insp.case_lease SET until = now() - interval '1 s'")
    sql(f"SELECT insp.console_take({ann_token}, '{job}')")
    bob.click("button:has-text('Record the decision')")
    bob.wait_for_selector("text=Your decision is not recorded.")
    faults.need("ann has the case now." in bob.content(), "nobody says why the decision is not recorded")
    faults.need(bob.input_value("textarea") == "two lines,\nand a half", "a note is lost with the lease")
    seen.append(judge(bob, "case-lost", faults, shots))
    sql(f"SELECT insp.console_release({ann_token}, '{job}')")
    bob.click("text=Take it with what you typed")
    bob.wait_for_selector("button:has-text('Record the decision')")
    faults.need(bob.is_checked("input[value=WARNING]") and bob.input_value("input[name=label]") == "doubtful"
                and bob.input_value("textarea") == "two lines,\nand a half", "the form does not begin with what was typed")
    seen.append(judge(bob, "case-again", faults, shots))
    # His session ends before he sends it.
    sql("UPDATE insp.console_session SET seen_at = seen_at - interval '1 hour' WHERE actor = 'console:bob'")
    bob.click("button:has-text('Record the decision')")
    bob.wait_for_selector("textarea[readonly]")
    faults.need(bob.input_value("textarea") == "two lines,\nand a half", "a note is lost with the session")
    seen.append(judge(bob, "session-lost", faults, shots))
    sql("UPDATE insp.console_session SET seen_at = now() WHERE actor = 'console:bob'")
    # Without JavaScript one person decides; another confirms with one button.
    sql("SELECT insp.set_second_review('bank', true)")
    plain.goto(f"{origin}/cases/{job}")
    plain.check("input[value=REJECTED]")
    plain.fill("input[name=label]", "manipulated_document")
    plain.fill("textarea", "two lines,\nand a half")
    plain.click("button:has-text('Record the decision')")
    plain.wait_for_selector("text=Another person must confirm that.")
    ann.goto(f"{origin}/cases/{job}")
    ann.click("text=Take it")
    ann.wait_for_selector("text=Confirm: REJECTED, MANIPULATED_DOCUMENT")
    faults.need("and a half" in ann.content(), "the second person does not see the first one's note")
    seen.append(judge(ann, "case-confirm", faults, shots))
    ann.click("text=Confirm: REJECTED, MANIPULATED_DOCUMENT")
    ann.wait_for_selector("text=This confirmed the decision of bob.")
    sql("SELECT insp.set_second_review('bank', false)")
    faults.need(sql("SELECT count(*) FROM insp.review_wait") == "1", "without JavaScript nothing was decided")

    # Without JavaScript nothing loads by itself.
    loads = []
    plain.goto(origin + "/endpoints")
    plain.on("request", lambda request: loads.append(request.url))
    plain.wait_for_timeout(7000)
    faults.need(not loads, f"without JavaScript a page loads {loads}")
    plain.click("text=Refresh")
    plain.wait_for_load_state()
    faults.need(plain.url == origin + "/endpoints" and bool(loads), "Refresh does not load the page")

    for path in ("queue", "plots", "workers", "jobs", f"jobs/{ids[0]}", "dead", "tasks/new?partner=bank", "tasks/new?kind=endpoints", "endpoints",
                 "partners", "partners/bank", "limits", "limits/change?partner=bank"):
        ann.goto(f"{origin}/{path}")
        seen.append(judge(ann, path.split("?partner")[0].translate(str.maketrans("/?=", "---")), faults, shots))
    # A colleague's change of limits is shown, not overwritten.
    sql("SELECT insp.limit_partner('bank', 7)")
    ann.fill("input[name=waiting]", "100")
    ann.fill("form.decide input[name=reason]", "they asked")
    ann.click("text=Set all limits")
    faults.need("Somebody else changed these limits" in ann.content(), "a colleague's change of limits is not shown")
    faults.need(ann.input_value("input[name=running]") == "7" and ann.input_value("input[name=waiting]") == "100", "the form forgot a change")
    seen.append(judge(ann, "limits-collision", faults, shots))
    ann.click("text=Set all limits")
    ann.wait_for_url("**/limits")
    faults.need(sql("SELECT max_running || ' ' || max_waiting FROM insp.partner WHERE name = 'bank'") == "7 100", "the limits are not set")
    ann.goto(origin + "/dead?partner=bank")
    ann.click("text=Act on all of this selection")
    ann.check("input[value=resolve]")
    ann.fill("input[name=reason]", "they timed out while the server was away")
    ann.click("button:has-text('Begin')")
    ann.wait_for_url("**/tasks")
    try:
        ann.wait_for_selector("#live:has-text('5 of 5')", timeout=60000)
    except Exception:
        faults.need(False, "the page of tasks does not learn of its end")
    seen.append(judge(ann, "tasks", faults, shots))
    # The same task once more, of which no batch is left: it stays open until she stops it.
    sql("UPDATE insp.console_task SET ended_at = NULL, done = 3")
    ann.goto(origin + "/tasks")
    faults.need(ann.inner_text("nav [aria-current=page]") == "Tasks", "the navigation does not say which page this is")
    seen.append(judge(ann, "tasks-open", faults, shots))
    ann.click("text=Stop task")
    ann.wait_for_selector("text=by console:ann")
    for path, name, status in (("nowhere", "unknown", 404), ("cases?reason=%FF", "malformed", 400)):
        answer = ann.goto(f"{origin}/{path}")
        faults.need(answer.status == status and ann.query_selector("main h1") is not None, f"/{path}: {answer.status} {ann.content()[:300]}")
        seen.append(judge(ann, name, faults, shots, [360]))

    # Two persons' change, without JavaScript: the login proposed it, bob approves it.
    sql("SELECT insp.set_approval('set_partner', true)")
    sql("""SELECT insp.propose('set_partner', '{"partner":"bank","review":"never"}')""")
    # Those who may act see buttons and forms.
    for path in ("approvals", "people"):
        bob.goto(f"{origin}/{path}")
        faults.need(bob.query_selector("main form button") is not None, f"/{path} has no form for who may act")
        seen.append(judge(bob, path + "-acting", faults, shots))
    plain.goto(origin + "/approvals")
    plain.click("text=Approve proposal")
    plain.wait_for_url("**/approvals")
    faults.need("approved by console:bob" in plain.content(), "bob could not approve")
    faults.need(sql("SELECT review FROM insp.v_partner WHERE name = 'bank'") == "never", "what bob approved was not done")

    eve = sign_in(browser, origin, "eve", faults)
    for path in ("approvals", "record", "record?chain=operator", "keys", "people"):
        eve.goto(f"{origin}/{path}")
        seen.append(judge(eve, path.translate(str.maketrans("/?=", "---")), faults, shots))
    # What only those see who may see every partner.
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

    ann.goto(origin + "/tasks")
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
            [f"{given.bin}/inspectd", "console", "--url", origin, "--listen", str(port), "--analyzers", "1",
             "--oidc-issuer", f"http://127.0.0.1:{provider}", "--oidc-client", "desk"], stderr=log))
        deadline = time.monotonic() + 60
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
