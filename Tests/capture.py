"""Opens links that capture in Chromium and Firefox, as people and as attackers do. Tests/capture.sh starts it."""
import argparse
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Capture"))
from lanes import Lanes  # noqa: E402
from states import STATES, States  # noqa: E402
from visit import SAID, SHOP, Visit  # noqa: E402
from wanders import Wanders  # noqa: E402
from way import Desk  # noqa: E402

# A camera that gets less of the machine than this shows no person, and no attack either.
LEAST_SHARE = 0.6
# With less than this, a person may be lit or move too late to pass; on a quiet machine the camera gets 0.93 or more.
PASSING_SHARE = 0.8


class Shop(http.server.BaseHTTPRequestHandler):
    """The page of a partner that embeds a link."""

    def do_GET(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        html = f"""<!DOCTYPE html><title>Shop</title><div id="here"></div><script type="module">
            import {{ capture }} from '{asked.get("gateway")}/capture/assets/v1/capture.js';
            window.events = [];
            capture(document.getElementById('here'), '{asked.get("link")}', {{ onEvent: (event) => window.events.push(event) }});
        </script>"""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(html.encode())

    def log_message(self, *_):
        pass


class Capture(Visit):
    def __init__(self, options):
        self.begun = time.monotonic()
        self.shop = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
        threading.Thread(target=self.shop.serve_forever, daemon=True).start()
        self.lane = None
        super().__init__(options, f"http://localhost:{self.shop.server_port}")

    def passes_with_document(self, play):
        link = self.link(workflow="id_identity", documentFormat="TD3", userReference="u-1", returnUrl=SHOP, showResult=True)
        context = self.browser(play, documents=["passport.jpg"])
        page = self.open(context, link)
        page.wait_for_selector("h1")
        self.picture(page, "consent")
        self.consents(page, "Once you agree, you have 30 minutes", "confirming your identity, biometric checks of your face, loyalty.",
                      "sent to be checked as soon as you take it")
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
        self.meet(page, "challenge-colours")
        page.wait_for_selector("#stage[data-colour]:not([data-colour=''])", timeout=60000)
        self.picture(page, "colours", is_moving=True)
        said = self.outcome(page)
        self.picture(page, "end")
        result = self.job(link)
        if not self.judge_passed(result, "a person with a passport", self.worst(page)):
            return context.close()
        self.expect(said == "Your identity was confirmed.", "the page says: " + said)
        self.expect(result["userReference"] == "u-1", f"the job is of {result.get('userReference')}")
        self.leaves_nothing(context, page)
        page.click("#return")
        page.wait_for_url(SHOP)
        page.go_back()
        self.expect(self.outcome(page) == said, "on the way back from the partner the page does not show how it ended")
        context.close()

    def judge_passed(self, result, what, worst):
        """Whether the person passes. Where the machine did not draw the camera for a second, the trial is held again."""
        kinds = {name: [entry["decision"]["type"] for entry in records] for name, records in result.get("capabilities", {}).items()}
        if kinds.get("liveness") == ["PASSED"] and result["decision"]["type"] == "PASSED":
            self.counts["passed"] += 1
            return True
        if worst >= PASSING_SHARE or not self.lane.repeats():
            self.faults.append(f"{what} does not pass, with {worst:.2f} of the camera at worst: {result.get('decision')} {kinds} "
                               + json.dumps(result.get("capabilities", {}).get("liveness")))
        return False

    def passes_by_motion(self, play):
        """In German, on a narrow screen, with a link for a face alone, of which the first selfie shows none, and an upload that is lost twice."""
        link = self.link(workflow="liveness", challenge="motion", locale="de", review="rejected")
        context = self.browser(play, motions=True, poses=["empty"], width=360)
        page = self.open(context, link)
        self.consents(page, "die Bestätigung Ihrer Identität, biometrische Prüfungen Ihres Gesichts, loyalty.", "sobald Sie es aufnehmen")
        self.agree(page)
        self.expect(page.evaluate("document.documentElement.lang") == "de", "the page is not in German")
        said = self.photograph(page, "selfie-de")
        self.expect("Sehen Sie in die Kamera." in said, f"without a face the page says {said}")
        self.press(page, "again")
        self.expect(self.photograph(page, "selfie-de") == [], "the selfie is objected to")
        self.press(page, "use")
        lost = []

        def lose(route):
            if len(lost) < 2:
                lost.append(len(route.request.post_data_buffer or b""))
                return route.abort()
            return route.continue_()

        page.route("**/submit", lose)
        self.meet(page, "challenge-motion")
        page.wait_for_selector("#stage[data-step]:not([data-step=''])", timeout=60000)
        self.picture(page, "motion-order", is_moving=True)
        said = self.outcome(page)
        self.expect(len(lost) == 2 and lost[0] == lost[1], f"lost uploads {lost}")
        self.expect("shop teilt Ihnen das Ergebnis mit" in said, "the page says: " + said)
        # Other trials' jobs are beside it.
        self.expect(self.psql("SELECT count(*) FROM insp.job WHERE review = 'rejected' AND rerun_of IS NULL") == str(self.lane.round),
                    "an upload that was sent again is two jobs")
        worst = self.worst(page)
        context.close()
        self.judged_later(lambda: self.judge_passed(self.job(link), "a person who makes the motions", worst))

    def passes_by_colours(self, play):
        """The light of the colours alone, in the engine of the trial."""
        context = self.browser(play)
        link = self.link(workflow="liveness", challenge="colour_flash")
        _, worst = self.flashed(context, link)
        context.close()
        self.judged_later(lambda: self.judge_passed(self.job(link), f"in {self.engine} a person in the light of the colours", worst))

    def gets_advice_on_the_selfie(self, play):
        """No face, and a head that is aslant, before one that is good; and three poor ones, after which the person goes on."""
        tries = (("empty", "Look into the camera"), ("aslant", "Hold your head and the phone upright"), ("live", None),
                 ("two", "Nobody else may be in the image"), ("dark", "Use more light"), ("far", "Move closer to the camera"))
        for first in (0, 3):
            context = self.browser(play, subject="still", poses=[pose for pose, _ in tries[first:first + 3]])
            page = self.open(context, self.link(workflow="liveness", challenge="none"))
            self.agree(page)
            for index, (pose, advice) in enumerate(tries[first:first + 3]):
                said = self.photograph(page, "selfie")
                self.expect(said == [] if advice is None else len(said) > 1 and advice in said[0], f"{pose}: the page says {said}")
                self.expect(said == [] or ("go on with this photo" in said[-1]) == (index == 2), f"{pose}: {2 - index} tries left: {said}")
                # Who shows no face, or two, takes another photo while there are tries.
                self.expect(page.locator('[data-choice="use"]').count() == (0 if pose in ("empty", "two") else 1), f"{pose}: who may go on")
                if index < 2:
                    self.press(page, "again")
            self.press(page, "use")
            self.outcome(page)
            context.close()

    def gets_advice(self, play):
        """Three tries of a side, advice after each, then the person goes on; the other side comes from a file; the selfie is declined."""
        link = self.link(workflow="id_identity", documentFormat="TD1", fallback="review", challenge="colour_flash")
        context = self.browser(play, documents=["blurred.jpg"] * 3 + ["id_back.jpg"], last="blurred.jpg")
        page = self.open(context, link)
        self.agree(page)
        for left in (2, 1, 0):
            said = " ".join(self.photograph(page, "document"))
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
        self.expect(self.psql(f"SELECT j.review FROM insp.job j JOIN insp.capture_session s ON s.job_id = j.public_id WHERE s.id = '{link['id']}'")
                    == "always", "who cannot do it has no review")
        context.close()

    def changes_the_edges(self, play):
        """By the keyboard, a pointer that drags, and a tap; what is sent is the area."""
        link = self.link(workflow="id", documentFormat="TD3")
        context = self.browser(play, documents=["passport.jpg"])
        context.add_init_script("""{
            const made = URL.createObjectURL;
            window.bytes = {};
            URL.createObjectURL = (blob) => { const url = made.call(URL, blob); window.bytes[url] = blob.size; return url; };
        }""")
        page = self.open(context, link)
        self.agree(page)
        self.photograph(page, "document")
        sizes = [page.evaluate("[document.images[0].naturalWidth, document.images[0].naturalHeight]")]
        self.press(page, "crop")
        page.wait_for_selector(".corner")
        self.heading(page)
        self.picture(page, "crop")
        edges = lambda: [round(float(page.evaluate(f"document.querySelector('.area').style.{name}")[:-1]))  # noqa: E731
                         for name in ("left", "top", "width", "height")]
        first = edges()
        page.keyboard.press("Tab")
        for key in ("Shift+ArrowRight", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        second = edges()
        self.expect([second[0] - first[0], second[1] - first[1]] == [11, 1], f"the arrow keys move {first} to {second}")
        # A movement is said at its end, once.
        page.evaluate("window.said.length = 0")
        for _ in range(5):
            page.keyboard.down("ArrowDown")
        page.keyboard.up("ArrowDown")
        second = edges()
        heard = page.evaluate("window.said")
        self.expect(len(heard) == 1, f"a key that is held says {heard}")
        self.expect(f"{second[2]} % of the width" in page.inner_text("#status"), "the area is not said: " + page.inner_text("#status"))
        box = page.locator(".view").bounding_box()
        handle = page.locator(".corner").nth(3).bounding_box()
        page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
        page.mouse.up()
        third = edges()
        heard = page.evaluate("window.said")
        self.expect(len(heard) == 2 and f"{third[2]} % of the width" in heard[-1], f"after a drag it says {heard}")
        self.expect(abs(third[0] + third[2] - 80) <= 1 and abs(third[1] + third[3] - 80) <= 1, f"the drag leads to {third}")
        page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])
        last = edges()
        self.expect(abs(last[0] + last[2] - 90) <= 1 and abs(last[1] - 10) <= 1, f"the tap leads to {last}")
        self.press(page, "crop-use")
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        sizes.append(page.evaluate("[document.images[0].naturalWidth, document.images[0].naturalHeight]"))
        self.expect([round(100 * side / whole) for side, whole in zip(sizes[1], (1600, 1200))] == last[2:], f"the area has {sizes[1]} pixels")
        self.press(page, "crop")
        self.press(page, "crop-keep")
        page.wait_for_selector('[data-choice="again"]')
        self.expect(page.evaluate("document.images[0].naturalWidth") == sizes[1][0], "an area that was kept changes")
        size = page.evaluate("window.bytes[document.images[0].src]")
        self.press(page, "use")
        self.outcome(page)
        sent = self.psql("SELECT p.size FROM insp.part p JOIN insp.job j ON j.id = p.job_id JOIN insp.capture_session s"
                         f" ON s.job_id = j.public_id WHERE s.id = '{link['id']}' AND p.kind = 'FRONT'")
        self.expect(sent == str(size), f"the job's image has {sent} bytes, and the area {size}")
        context.close()

    def has_no_camera(self, play):
        link = self.link(workflow="id", documentFormat="TD3")
        context = self.browser(play, refused=True)
        page = self.open(context, link)
        self.agree(page)
        page.wait_for_selector(".fault")
        self.expect("may not use the camera" in page.inner_text(".fault"), "a refused camera: " + page.inner_text(".fault"))
        self.picture(page, "no-camera")
        # Once the person has allowed it, without another visit.
        page.evaluate("window.scene.refused = false")
        page.click("text=Try the camera again")
        page.wait_for_selector(".finder video")
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
        self.await_text("video.log", "written")
        browser = self.chromium(play, "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
                                f"--use-file-for-fake-video-capture={video}")
        context = browser.new_context(viewport={"width": 390, "height": 780}, permissions=["camera"])
        context.add_init_script(SAID)
        self.answers(context, self.link(workflow="liveness"), "a video in place of the camera")
        browser.close()

    def answers(self, context, link, what):
        share, _ = self.flashed(context, link)
        if share < LEAST_SHARE and self.lane.repeats():
            return
        self.expect(share >= LEAST_SHARE, f"{what}: the camera got {share:.2f} of what it takes")
        self.counts["attacks"] += 1

        def judge():
            result = self.job(link)
            live = [entry["decision"]["type"] for entry in result.get("capabilities", {}).get("liveness", [])]
            self.expect(result["decision"]["type"] != "PASSED" and live and "PASSED" not in live, f"{what} passes: {result['decision']} {live}")

        self.judged_later(judge)

    def is_embedded(self, play):
        """In a partner's page of another origin, which is told what happens and sees no image; others cannot embed it."""
        link = self.link(workflow="id", documentFormat="TD3", embedOrigin=self.embedder)
        context = self.browser(play, documents=["passport.jpg"])
        for origin, is_allowed in ((f"http://127.0.0.1:{self.shop.server_port}", False), (self.embedder, True)):
            page = context.new_page()
            page.goto(origin + "/?" + urllib.parse.urlencode({"gateway": self.url, "link": link["url"]}))
            page.wait_for_selector("iframe")
            frame = page.frame_locator("iframe")
            if not is_allowed:
                # The browser shows its own page in place of one that may not be there.
                self.expect(self.within(page, 10, lambda: page.frames[1].url.startswith("chrome-error:"))
                            and page.evaluate("window.events") == [], "another origin embeds the link")
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

    def shows_every_state(self, play):
        """Screens that the other trials pass too quickly, or not at all."""
        States(self).look(play)

    def wanders(self, play):
        """What nobody plans: reloads, tabs, a lost line, and files of other kinds."""
        Wanders(self).look(play)

    def goes_the_whole_way(self, play):
        """From a link to a callback that is verified, by way of a reviewer who signs in at the organisation's provider."""
        # By motion in Firefox, where passes_by_colours has the other one.
        challenge = "colour_flash" if self.engine == "chromium" else "motion"
        link = self.link(self.desk.bearer, workflow="id_identity", documentFormat="TD3", locale="en", challenge=challenge)
        context = self.browser(play, documents=["passport.jpg"], motions=challenge == "motion")
        page = self.open(context, link)
        self.agree(page)
        self.photograph(page, "document")
        self.press(page, "use")
        self.photograph(page, "selfie")
        self.press(page, "use")
        self.meet(page, "challenge-colours" if challenge == "colour_flash" else "challenge-motion")
        self.expect("desk will tell you" in self.outcome(page), "before the review the page says: " + page.inner_text("#outcome"))
        self.leaves_nothing(context, page)
        worst = self.worst(page)
        context.close()
        job = self.held(link)
        self.desk.decide(self.launched(play), job)
        if not self.judge_passed(self.job(link, self.desk.bearer), f"in {self.engine} a person whom a reviewer confirms", worst):
            return
        told = self.desk.callback(job)
        self.expect(told["id"] == job and told["decision"] == "PASSED", f"the callback says {told}")

    def held(self, link):
        """The id of a link's job, once it waits for a reviewer."""
        wanted = f"SELECT job_id FROM insp.capture_session s JOIN insp.job j ON j.public_id = s.job_id WHERE s.id = '{link['id']}'"
        for _ in range(600):
            found = self.psql(wanted + " AND j.status = 64")
            if found:
                return found
            time.sleep(0.1)
        raise RuntimeError("no case: " + self.psql(wanted.replace("job_id F", "j.status F", 1)))

    def run(self):
        self.set_up()
        self.desk = Desk(self)
        # Two at once, as long as each other: while one waits for the worker, the other draws.
        lanes = [
            [("chromium", self.goes_the_whole_way), ("chromium", self.passes_with_document), ("chromium", self.passes_by_motion),
             ("chromium", self.changes_the_edges), ("chromium", self.is_embedded), ("chromium", self.shows_every_state),
             ("chromium", States(self).bears_a_slow_line)],
            [("firefox", self.goes_the_whole_way), ("chromium", self.is_attacked), ("chromium", self.gets_advice),
             ("chromium", self.gets_advice_on_the_selfie), ("chromium", self.wanders), ("chromium", self.has_no_camera),
             ("firefox", self.changes_the_edges), ("firefox", self.passes_by_colours)],
        ]
        lanes = [[(engine, trial) for engine, trial in lane if self.options.only in (None, trial.__name__)] for lane in lanes]
        if any(trial == self.goes_the_whole_way for lane in lanes for _, trial in lane):
            self.desk.open()
        self.counts["set_up"] = round(time.monotonic() - self.begun, 1)
        judged = Lanes(self).run([lane for lane in lanes if lane])
        if self.options.only is None:
            self.expect(judged == STATES, f"screens that were not judged, or are not listed: {sorted(judged ^ STATES)}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "inputs", "folder"):
        parser.add_argument("--" + name, required=True)
    for name in ("page", "pictures", "only"):
        parser.add_argument("--" + name)
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
