"""A person's visit to a link in Chromium or Firefox, screen by screen. Imported by Tests/capture.py."""

import json
import os
import time

from axe_playwright_python.sync_playwright import Axe

from installation import TESTS, Installation

# What a screen reader announces, apart from the focused element.
SAID = """{
    window.said = [];
    new MutationObserver((changes) => {
        const heard = new Set();
        for (const change of changes) {
            const live = (change.target.closest ? change.target : change.target.parentElement)?.closest('#status, [role="alert"]');
            const entered = [...change.addedNodes].filter((node) => node.querySelector?.('[role="alert"]') || node.matches?.('[role="alert"]'));
            const words = live ? live.textContent : entered.map((node) => node.textContent).join(' ');
            if (words) heard.add(words);
        }
        window.said.push(...heard);
    }).observe(document, { childList: true, subtree: true, characterData: true });
}"""
# Firefox hardly compiles a script that WebDriver BiDi puts before the page's own: such a camera takes 65 to 200 ms for an image, of which
# one of the page's takes 5, and the light of the colours is seen too late. So there the camera comes as a script of the page.
AS_OF_THE_PAGE = """if (location.protocol.startsWith('http')) {
    const policy = window.trustedTypes?.createPolicy('camera-of-the-test', { createScriptURL: (url) => url });
    const script = document.createElement('script');
    const url = '/camera-of-the-test/camera.js';
    script.src = policy ? policy.createScriptURL(url) : url;
    const put = () => document.documentElement.append(script);
    if (document.documentElement) put();
    else document.addEventListener('readystatechange', put, { once: true });
}"""
SHOP = "https://www.shop.example/back?order=7"


class Visit(Installation):
    def __init__(self, options, embedder):
        super().__init__(options, embedder)
        self.judged, self.browsers = set(), {}
        self.engine = "chromium"
        # What is judged once the trials are over.
        self.later = []

    def browser(self, play, **scene):
        """A browser's context with a drawn camera; what goes wrong in it is a fault."""
        context = self.launched(play).new_context(
            viewport={"width": scene.pop("width", 390), "height": 780}, locale=scene.pop("locale", "en-GB"), permissions=["camera"])
        scene = {"subject": "live", "documents": [], "poses": [], "last": "id_front.jpg", "motions": False} | scene
        with open(os.path.join(TESTS, "Capture", "camera.js"), encoding="utf-8") as file:
            camera = file.read() if self.engine == "chromium" else AS_OF_THE_PAGE
        context.add_init_script(f"window.scene = {json.dumps(scene)};\n" + camera)
        context.add_init_script(SAID)

        def serve(route):
            name = route.request.url.rsplit("/", 1)[1]
            for folder in (self.path("camera"), os.path.join(TESTS, "Capture"), os.path.join(self.options.inputs, "specimens")):
                if os.path.exists(os.path.join(folder, name)):
                    return route.fulfill(path=os.path.join(folder, name))
            return route.abort()

        context.route("**/camera-of-the-test/*", serve)
        if self.options.page:
            context.route("**/capture/assets/v1/*", lambda route: route.fulfill(
                path=os.path.join(self.options.page, route.request.url.rsplit("/", 1)[1])))
        context.route(SHOP.split("?")[0] + "**", lambda route: route.fulfill(body="back", content_type="text/plain"))
        return context

    def launched(self, play):
        """The browser of this trial, which the trials share."""
        if self.engine not in self.browsers:
            # An unchanged Firefox is driven by WebDriver BiDi.
            self.browsers[self.engine] = (
                self.chromium(play) if self.engine == "chromium"
                else play.firefox.launch(channel="moz-firefox", executable_path="/usr/bin/firefox-esr"))
        return self.browsers[self.engine]

    @staticmethod
    def chromium(play, *more):
        return play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage", *more])

    def watch(self, page, origins):
        """Errors, and requests to elsewhere, are faults."""
        quiet = ("the server responded with a status", "net::ERR", "NetworkError")
        page.on("console", lambda message: message.type == "error" and not any(word in message.text for word in quiet)
                and self.faults.append(f"{self.engine}: console: {message.text}"))
        # Playwright hides the caret on a screenshot by an inline style, which the page's policy refuses.
        page.on("pageerror", lambda error: (self.options.pictures and "style-src-elem" in str(error))
                or self.faults.append(f"{self.engine}: page: {error}"))
        page.on("request", lambda request: self.expect(request.url.startswith(("blob:", "data:", *origins)), "a request to " + request.url))

    def open(self, context, link):
        page = context.new_page()
        self.watch(page, (self.url, SHOP.split("?")[0], self.embedder))
        page.goto(self.url + link["url"])
        return page

    def picture(self, page, name, is_moving=False):
        """A screen as it is: by WCAG 2.2's rules, as far as a program can judge, once, for no rule depends on the engine; and as a picture.
        Nothing is wider than the screen."""
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.expect(over <= 0, f"{self.engine}: {name} is {over} px wider than the screen")
        if not is_moving and self.engine == "chromium" and name not in self.judged:
            self.judged.add(name)
            found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
            self.faults += [f"{name}: {v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}" for v in found.response["violations"]]
        if self.options.pictures:
            os.makedirs(self.options.pictures, exist_ok=True)
            page.screenshot(path=os.path.join(self.options.pictures, f"{self.engine}-{name}.png"))

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

    def consents(self, page, *words):
        """What a person agrees to: purposes in the page's language, those that it does not know as they are, and when photos are sent."""
        page.wait_for_selector('[data-choice="agree"]')
        for said in words:
            self.expect(said in page.inner_text("#capture"), f"the consent does not say: {said}")

    def photograph(self, page, name):
        """A photo of what lies before the camera, until the page goes on."""
        page.wait_for_selector(".finder video")
        # In Firefox, the page's policy does not let Playwright wait for an expression.
        for _ in range(400):
            if page.evaluate("document.querySelector('video').videoWidth > 0"):
                break
            page.wait_for_timeout(50)
        self.heading(page)
        self.picture(page, name)
        page.evaluate("window.said.length = 0")
        page.locator(".choices button.first").click()
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        said = page.locator(".advice, .good").all_inner_texts()
        self.picture(page, f"{name}-{'advice' if page.locator('.advice').count() else 'review'}")
        # A screen reader says it as well, after the heading, and says it once.
        heard = page.evaluate("window.said")
        self.expect(heard == ["The photo is being checked.", *([" ".join(said)] if said else [])]
                    or page.evaluate("document.documentElement.lang") != "en", f"{self.engine}: {name}: a screen reader hears {heard}")
        return said

    def judged_later(self, judge):
        """The worker judges while the next trial is on."""
        self.later.append((self.lane.trial, judge))

    def share(self, page):
        """How much of the machine the drawn camera got, of 1."""
        return page.evaluate("window.cameraShare ?? 1")

    def worst(self, page):
        """The same in the camera's worst second."""
        return page.evaluate("window.cameraWorst ?? 1")

    def meet(self, page, name):
        page.wait_for_selector('[data-choice="begin"]')
        self.heading(page)
        self.picture(page, name)
        self.press(page, "begin")

    def flashed(self, context, link):
        """A selfie and the light of the colours, until the job is there; returns the camera's share, and that in its worst second."""
        page = self.open(context, link)
        self.agree(page)
        self.photograph(page, "selfie")
        self.press(page, "use")
        self.meet(page, "challenge-colours")
        self.outcome(page)
        return self.share(page), self.worst(page)

    def within(self, page, seconds, holds):
        for _ in range(20 * seconds):
            if holds():
                return True
            page.wait_for_timeout(50)
        return False

    def outcome(self, page):
        page.wait_for_selector("#outcome", timeout=180000)
        return page.inner_text("#outcome")

    def leaves_nothing(self, context, page):
        """Neither storage nor cache, and one cookie, which scripts cannot read and which lasts ten minutes."""
        kept = page.evaluate("""async () => ({
            local: localStorage.length, session: sessionStorage.length, caches: (await caches.keys()).length,
            databases: (await indexedDB.databases()).length, cookie: document.cookie,
            workers: (await navigator.serviceWorker.getRegistrations()).length })""")
        self.expect(kept == {"local": 0, "session": 0, "caches": 0, "databases": 0, "cookie": "", "workers": 0}, f"the browser keeps {kept}")
        cookies = context.cookies()
        self.expect([c["name"] for c in cookies] == ["capture"] and cookies[0]["httpOnly"] and cookies[0]["secure"]
                    and 0 < cookies[0]["expires"] - time.time() <= 601, f"cookies {cookies}")
        self.expect("cookie is deleted in ten minutes" in page.inner_text("main"), "the page is silent about its cookie")
