"""Opens links that capture in Chromium, as people and as attackers do. Tests/capture.sh starts it."""
import argparse
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import TimeoutError as LateError
from playwright.sync_api import sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
SHOP = "https://www.shop.example/back?order=7"


class Shop(http.server.BaseHTTPRequestHandler):
    """The page of a partner that embeds a link."""
    html = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.html.encode())

    def log_message(self, *_):
        pass


class Capture:
    def __init__(self, options):
        self.options = options
        self.processes = []
        self.faults = []
        self.judged, self.shared = set(), None
        self.counts = {"links": 0, "passed": 0, "attacks": 0}
        self.shop = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
        threading.Thread(target=self.shop.serve_forever, daemon=True).start()
        self.embedder = f"http://localhost:{self.shop.server_port}"

    def path(self, name):
        return os.path.join(self.options.folder, name)

    def expect(self, holds, what):
        if not holds:
            self.faults.append(what)

    def psql(self, sql):
        return subprocess.run(["psql", "-XqAt", os.environ["INSPECTD_DATABASE_URL"], "-c", sql], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def start(self, name, *words):
        with open(self.path(name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(list(words), stdout=log, stderr=log))

    def await_text(self, name, what):
        for _ in range(1200):
            if os.path.exists(self.path(name)):
                with open(self.path(name), encoding="utf-8") as file:
                    for line in file:
                        if what in line:
                            return line
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not say {what}")

    def set_up(self):
        program = os.path.join(self.options.bin, "inspectd")
        for words in (["migrate", "--roles"], ["migrate"]):
            subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
        self.psql("SELECT insp.create_partner('shop')")
        self.psql("SELECT insp.set_consent_policy('shop', true, 'https://www.shop.example/privacy', '2026-01', '{identity,biometrics}')")
        self.psql("SELECT insp.set_capture_policy('shop', '{www.shop.example}')")
        self.bearer = self.psql(f"SELECT bearer FROM insp.create_credential('shop', '{{capture,read}}', origins => '{{{self.embedder}}}')")
        self.start("gateway", program, "gateway", "--listen", "0", "--address-rate", "10000")
        self.start("worker", program, "worker")
        self.url = f"http://127.0.0.1:{json.loads(self.await_text('gateway.log', 'gateway open'))['port']}"
        portrait = os.path.join(self.options.inputs, "faces", "obama.jpg")
        seen = json.loads(subprocess.run([program, "inspect", "--face", portrait, "--workflow", "liveness"], check=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        points = ",".join(f"{p['x']},{p['y']}" for p in seen["faces"][0]["landmarks"])
        self.captures = ["/usr/bin/python3", os.path.join(HERE, "captures.py"), "--face", portrait, "--points", points]
        subprocess.run([*self.captures, "--camera", "--out", self.path("camera")], check=True, stdout=subprocess.DEVNULL)

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.bearer, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def link(self, **members):
        self.counts["links"] += 1
        return self.call("POST", "/capture/sessions", members)

    def job(self, link):
        """The result of a link's job."""
        [found] = self.psql(f"SELECT job_id FROM insp.capture_session WHERE id = '{link['id']}'").splitlines()
        for _ in range(4):
            result = self.call("GET", f"/inspectionjob/{found}?wait=60")
            if result["status"] == 128:
                break
        return result

    def browser(self, play, **scene):
        """A browser's context with a drawn camera; what goes wrong in it is a fault."""
        context = self.chromium(play).new_context(
            viewport={"width": 390, "height": 780}, locale=scene.pop("locale", "en-GB"), permissions=["camera"])
        scene = {"subject": "live", "documents": [], "last": "id_front.jpg", "motions": False} | scene
        with open(os.path.join(HERE, "Capture", "camera.js"), encoding="utf-8") as file:
            context.add_init_script(f"window.scene = {json.dumps(scene)};\n" + file.read())

        def serve(route):
            name = route.request.url.rsplit("/", 1)[1]
            for folder in (self.path("camera"), os.path.join(self.options.inputs, "specimens")):
                if os.path.exists(os.path.join(folder, name)):
                    return route.fulfill(path=os.path.join(folder, name))
            return route.abort()

        context.route("**/camera-of-the-test/*", serve)
        context.route(SHOP.split("?")[0] + "**", lambda route: route.fulfill(body="back", content_type="text/plain"))
        return context

    def chromium(self, play, *more):
        if not more and self.shared:
            return self.shared
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage", *more])
        self.shared = self.shared or (None if more else browser)
        return browser

    def open(self, context, link):
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and "the server responded with a status" not in message.text
                and "net::ERR" not in message.text and self.faults.append("console: " + message.text))
        page.on("pageerror", lambda error: self.faults.append(f"page: {error}"))
        page.on("request", lambda request: self.expect(
            request.url.startswith((self.url, "blob:", "data:", SHOP.split("?")[0], self.embedder)), "a request to " + request.url))
        page.goto(self.url + link["url"])
        return page

    def picture(self, page, name, is_moving=False):
        """A screen as it is: by WCAG 2.2's rules, as far as a program can judge, and as a picture."""
        if not is_moving and name not in self.judged:
            self.judged.add(name)
            found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
            self.faults += [f"{name}: {v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}" for v in found.response["violations"]]
        if self.options.pictures:
            os.makedirs(self.options.pictures, exist_ok=True)
            page.screenshot(path=os.path.join(self.options.pictures, name + ".png"))

    def press(self, page, choice, seconds=60):
        page.locator(f'[data-choice="{choice}"]').click(timeout=1000 * seconds)

    def heading(self, page):
        """A screen reader begins at the heading of each screen."""
        self.expect(page.evaluate("document.activeElement.tagName") == "H1", f"the focus is not on the heading of {page.inner_text('h1')}")
        return page.inner_text("h1")

    def agree(self, page):
        page.wait_for_selector('[data-choice="agree"]')
        self.heading(page)
        self.press(page, "agree")

    def photograph(self, page, name):
        """A photo of what lies before the camera, until the page goes on."""
        page.wait_for_selector(".finder video")
        page.wait_for_function("document.querySelector('video').videoWidth > 0")
        self.heading(page)
        self.picture(page, name)
        page.locator(".choices button.first").click()
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        self.picture(page, name + "-review")
        return page.locator(".advice, .good").all_inner_texts()

    def meet(self, page, name):
        page.wait_for_selector('[data-choice="begin"]')
        self.heading(page)
        self.picture(page, name)
        self.press(page, "begin")

    def outcome(self, page):
        page.wait_for_selector("#outcome", timeout=180000)
        return page.inner_text("#outcome")

    def leaves_nothing(self, context, page):
        """Neither storage nor cache, and one cookie that scripts cannot read."""
        kept = page.evaluate("""async () => ({
            local: localStorage.length, session: sessionStorage.length, caches: (await caches.keys()).length,
            databases: (await indexedDB.databases()).length, cookie: document.cookie,
            workers: (await navigator.serviceWorker.getRegistrations()).length })""")
        self.expect(kept == {"local": 0, "session": 0, "caches": 0, "databases": 0, "cookie": "", "workers": 0}, f"the browser keeps {kept}")
        cookies = context.cookies()
        self.expect([c["name"] for c in cookies] == ["capture"] and cookies[0]["httpOnly"] and cookies[0]["secure"],
                    f"cookies {cookies}")

    def passes_with_document(self, play):
        link = self.link(workflow="id_identity", documentFormat="TD3", userReference="u-1", returnUrl=SHOP, showResult=True)
        context = self.browser(play, documents=["passport.jpg"])
        page = self.open(context, link)
        page.wait_for_selector("h1")
        self.picture(page, "consent")
        stranger = self.browser(play)
        self.agree(page)
        self.expect(self.photograph(page, "document") == [], "the passport's photo is objected to")
        # Another browser finds the link taken, and uses nothing up.
        other = self.open(stranger, link)
        other.wait_for_selector("h1")
        self.expect("another browser" in other.inner_text("h1"), "another browser opens the link: " + other.inner_text("h1"))
        stranger.close()
        self.press(page, "use")
        self.photograph(page, "selfie")
        self.press(page, "use")
        self.meet(page, "challenge")
        page.wait_for_selector("#stage[data-colour]:not([data-colour=''])", timeout=20000)
        self.picture(page, "colours", is_moving=True)
        said = self.outcome(page)
        self.picture(page, "end")
        result = self.job(link)
        self.judge_passed(result, "a person with a passport")
        self.expect(said == "Your identity was confirmed.", "the page says: " + said)
        self.expect(result["userReference"] == "u-1", f"the job is of {result.get('userReference')}")
        self.leaves_nothing(context, page)
        page.click("#return")
        page.wait_for_url(SHOP)
        page.go_back()
        context.close()

    def judge_passed(self, result, what):
        kinds = {name: [entry["decision"]["type"] for entry in records] for name, records in result.get("capabilities", {}).items()}
        if kinds.get("liveness") == ["PASSED"] and result["decision"]["type"] == "PASSED":
            self.counts["passed"] += 1
        else:
            self.faults.append(f"{what} does not pass: {result.get('decision')} {kinds} {json.dumps(result.get('capabilities', {}).get('liveness'))}")

    def passes_by_motion(self, play):
        """In German, with a link for a face alone, and an upload that is lost twice."""
        link = self.link(workflow="liveness", challenge="motion", locale="de")
        context = self.browser(play, motions=True)
        page = self.open(context, link)
        self.agree(page)
        self.expect(page.evaluate("document.documentElement.lang") == "de", "the page is not in German")
        self.photograph(page, "selfie-de")
        self.press(page, "use")
        lost = []

        def lose(route):
            if len(lost) < 2:
                lost.append(len(route.request.post_data_buffer or b""))
                return route.abort()
            return route.continue_()

        page.route("**/submit", lose)
        self.meet(page, "motion")
        page.wait_for_selector("#stage[data-step]:not([data-step=''])", timeout=20000)
        self.picture(page, "motion-order", is_moving=True)
        said = self.outcome(page)
        self.expect(len(lost) == 2 and lost[0] == lost[1], f"lost uploads {lost}")
        self.expect("shop teilt Ihnen das Ergebnis mit" in said, "the page says: " + said)
        self.expect(self.psql("SELECT count(*) FROM insp.job WHERE workflow = 'liveness' AND rerun_of IS NULL") == "1",
                    "an upload that was sent again is two jobs")
        self.judge_passed(self.job(link), "a person who makes the motions")
        context.close()

    def gets_advice(self, play):
        """Three tries of a side, advice after each, then the person goes on; the other side comes from a file; the selfie is declined."""
        link = self.link(workflow="id_identity", documentFormat="TD1", fallback="review", challenge="colour_flash")
        context = self.browser(play, documents=["blurred.jpg"] * 3 + ["id_back.jpg"], last="blurred.jpg")
        page = self.open(context, link)
        self.agree(page)
        for left in (2, 1, 0):
            said = " ".join(self.photograph(page, f"advice-{left}"))
            self.expect("Hold the camera still" in said, f"advice with {left} tries left: {said}")
            self.expect((page.locator('[data-choice="use"]').count() == 1) or left > 0, "after three tries nobody can go on")
            if left > 0:
                self.press(page, "again")
        self.press(page, "use")
        page.wait_for_selector("#file", state="attached")
        page.set_input_files("#file", os.path.join(self.options.inputs, "specimens", "id_back.jpg"))
        self.press(page, "use")
        page.wait_for_selector("text=I cannot do this")
        page.click("text=I cannot do this")
        self.expect("will tell you" in self.outcome(page), "who cannot do it is not told how it goes on")
        self.expect(self.psql("SELECT review FROM insp.job ORDER BY id DESC LIMIT 1") == "always", "who cannot do it has no review")
        context.close()

    def has_no_camera(self, play):
        link = self.link(workflow="id", documentFormat="TD3")
        context = self.browser(play, refused=True)
        page = self.open(context, link)
        self.agree(page)
        page.wait_for_selector(".fault")
        self.expect("may not use the camera" in page.inner_text(".fault"), "a refused camera: " + page.inner_text(".fault"))
        self.picture(page, "no-camera")
        page.set_input_files("#file", os.path.join(self.options.inputs, "specimens", "passport.jpg"))
        self.press(page, "use")
        self.expect("will tell you" in self.outcome(page), "a file in place of a photo is not sent")
        context.close()

    def is_attacked(self, play):
        for subject in ("still", "print", "replay"):
            link = self.link(workflow="liveness")
            context = self.browser(play, subject=subject)
            self.answers(context, link, subject)
            context.close()
        # Chromium's own camera, which plays a video: a person who answers another challenge.
        video = self.path("attack.y4m")
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump({"colours": ["BLUE", "YELLOW", "GREEN", "MAGENTA", "RED", "CYAN", "BLUE"], "colourMs": 500}, file)
        subprocess.run([*self.captures, "--challenge", self.path("other.json"), "--out", self.path("other")], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "Capture", "video.py"), self.path("other"), video], check=True)
        browser = self.chromium(play, "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
                                f"--use-file-for-fake-video-capture={video}")
        context = browser.new_context(viewport={"width": 390, "height": 780}, permissions=["camera"])
        self.answers(context, self.link(workflow="liveness"), "a video in place of the camera")
        browser.close()

    def answers(self, context, link, what):
        self.counts["attacks"] += 1
        page = self.open(context, link)
        self.agree(page)
        self.photograph(page, "attack")
        self.press(page, "use")
        self.meet(page, "attack-challenge")
        self.outcome(page)
        result = self.job(link)
        live = [entry["decision"]["type"] for entry in result.get("capabilities", {}).get("liveness", [])]
        self.expect(result["decision"]["type"] != "PASSED" and "PASSED" not in live, f"{what} passes: {result['decision']} {live}")

    def is_embedded(self, play):
        """In a partner's page of another origin, which is told what happens and sees no image; others cannot embed it."""
        link = self.link(workflow="id", documentFormat="TD3", embedOrigin=self.embedder)
        context = self.browser(play, documents=["passport.jpg"])
        Shop.html = f"""<!DOCTYPE html><title>Shop</title><div id="here"></div><script type="module">
            import {{ capture }} from '{self.url}/capture/assets/v1/capture.js';
            window.events = [];
            capture(document.getElementById('here'), '{link["url"]}', {{ onEvent: (event) => window.events.push(event) }});
        </script>"""
        for origin, is_allowed in ((f"http://127.0.0.1:{self.shop.server_port}", False), (self.embedder, True)):
            page = context.new_page()
            page.goto(origin + "/")
            page.wait_for_selector("iframe")
            frame = page.frame_locator("iframe")
            if not is_allowed:
                page.wait_for_timeout(2000)
                self.expect(page.evaluate("window.events") == [], "another origin embeds the link")
                page.close()
                continue
            frame.locator('[data-choice="agree"]').click()
            frame.locator(".finder video").wait_for()
            frame.locator(".choices button.first").click()
            frame.locator('[data-choice="use"]').click(timeout=60000)
            frame.locator("#outcome").wait_for(timeout=60000)
            events = page.evaluate("window.events.map((event) => event.event)")
            self.expect(events == ["ready", "submitted"], f"the embedding page is told {events}")
            page.close()
        context.close()

    def run(self):
        self.set_up()
        with sync_playwright() as play:
            for trial in (self.passes_with_document, self.passes_by_motion, self.gets_advice, self.has_no_camera, self.is_embedded,
                          self.is_attacked):
                begun = time.monotonic()
                try:
                    trial(play)
                except (LateError, urllib.error.URLError) as error:
                    self.faults.append(f"{trial.__name__}: {error}")
                self.counts[trial.__name__] = round(time.monotonic() - begun, 1)

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(60)


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "inputs", "folder"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--pictures")
    capture = Capture(parser.parse_args())
    try:
        capture.run()
    finally:
        capture.stop()
    print(json.dumps(capture.counts | {"faults": len(capture.faults)}))
    for fault in capture.faults[:40]:
        print(fault[:1500], file=sys.stderr)
    sys.exit(1 if capture.faults else 0)


if __name__ == "__main__":
    main()
