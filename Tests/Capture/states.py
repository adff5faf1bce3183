"""The screens of a link's page that other trials pass too quickly or never reach: each is held and judged. Imported by
Tests/capture.py."""

import json
import os
import re
import struct
import zlib

# Every screen, as it is judged once.
STATES = {
    "consent", "document", "document-review", "document-advice", "selfie", "selfie-review", "selfie-de", "selfie-de-advice", "selfie-de-review",
    "selfie-advice", "challenge-colours", "challenge-motion", "end", "crop", "no-camera", "judging", "stage-motion", "stage-colours", "unsent",
    "sending", "taken", "ended", "unknown", "refused", "case", "file-unseen",
    "remaining",
}


def noise(width, height):
    """A PNG that no compression makes smaller."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))  # noqa: E731
    rows = b"".join(b"\0" + os.urandom(3 * width) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


class States:
    def __init__(self, capture):
        self.capture = capture

    def held(self, page, path, act, name, selector):
        """What the page shows while a call has no answer; then the line is lost."""
        calls = []
        page.route(path, lambda route: calls.append(route))
        act()
        page.wait_for_selector(selector)
        self.capture.picture(page, name)
        self.capture.within(page, 30, lambda: calls)
        calls[0].abort()
        page.unroute(path)

    def caught(self, page, path):
        """A call that comes, before it goes on."""
        calls = []
        page.route(path, lambda route: calls.append(route))
        self.capture.expect(self.capture.within(page, 60, lambda: calls), f"no call of {path}")
        return calls[0]

    def refused_recordings(self, play):
        """A recording that the gateway does not take: the page says truly why, the photos stay, and another one is sent."""
        capture = self.capture
        link = capture.link(workflow="liveness", challenge="motion")
        context = capture.browser(play, subject="still")
        page = capture.open(context, link)
        capture.agree(page)
        capture.photograph(page, "selfie")
        capture.press(page, "use")

        tab = capture.open(context, link)
        tab.wait_for_selector("h1")
        begin = "async () => (await fetch(`${location.pathname}/challenge`, { method: 'POST' })).status"
        expire = ("UPDATE insp.challenge c SET expires_at = now() FROM insp.capture_session s"
                  f" WHERE s.challenge_id = c.id AND s.id = '{link['id']}'")
        # A link's job uses its challenge up and ends the link: a gateway of another version alone refuses it so.
        used = {"status": 400, "content_type": "application/problem+json", "body": json.dumps({"code": "CHALLENGE_USED", "status": 400})}
        # Five challenges are all that a link gets.
        more = f"UPDATE insp.capture_session s SET challenges = 1 WHERE s.id = '{link['id']}'"
        late = "() => { const now = Date.now; Date.now = () => now() + 210000; }"
        for said, act, answer in (
                ("no longer valid, for example because another tab began one", lambda: tab.evaluate(begin), None),
                ("Sending took too long", lambda: capture.psql(expire), None),
                ("Your connection is too slow", lambda: (capture.psql(expire), capture.psql(more), page.evaluate(late)), None),
                ("was sent before, and counts only once", lambda: None, used)):
            capture.press(page, "begin")
            call = self.caught(page, "**/submit")
            act()
            if answer:
                call.fulfill(**answer)
            else:
                call.continue_()
            page.unroute("**/submit")
            page.wait_for_selector(".fault")
            capture.expect(said in page.inner_text(".fault"), f"of a recording that is not taken the page says {page.inner_text('.fault')}")
        capture.press(page, "begin")
        capture.outcome(page)
        context.close()

    def bears_a_slow_line(self, play):
        """A large file is sent smaller, the page says how much time remains, an upload that stands still is begun again, and so is one that a
        proxy answers."""
        capture = self.capture
        context = capture.browser(play, documents=["passport.jpg"])
        context.clock.install()
        page = capture.open(context, capture.link(workflow="id", documentFormat="TD3"))
        capture.agree(page)
        page.wait_for_selector("#file", state="attached")
        capture.expect(page.inner_text("#remaining") == "", "from the beginning the page says " + page.inner_text("#remaining"))
        page.clock.fast_forward(1500 * 1000)
        page.wait_for_selector("#remaining[aria-live=polite] >> text=5 minutes left.")
        capture.picture(page, "remaining")
        page.set_input_files("#file", {"name": "large.png", "mimeType": "image/png", "buffer": noise(4400, 500)})
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        capture.within(page, 30, lambda: page.evaluate("document.images[0].complete"))
        width = page.evaluate("document.images[0].naturalWidth")
        capture.expect(width == 4000, f"a file of 6.6 MB and 4400 pixels is {width} wide when it is sent")
        capture.press(page, "again")
        page.wait_for_selector("#file", state="attached")
        page.set_input_files("#file", os.path.join(capture.options.inputs, "specimens", "passport.jpg"))
        calls = []

        def answer(route):
            calls.append(route)
            if len(calls) == 2:
                route.fulfill(status=200, content_type="text/html", body="<title>Welcome to the hotel</title>")
            elif len(calls) > 2:
                route.continue_()

        page.route("**/submit", answer)
        capture.press(page, "use")
        capture.expect(capture.within(page, 30, lambda: calls), "nothing is sent")
        # Nothing leaves, and the page does not wait for ever.
        page.clock.fast_forward(31000)
        capture.expect(capture.within(page, 30, lambda: len(calls) > 1), "an upload that stands still is not begun again")
        # The page has given the first up; Playwright still holds it.
        calls[0].abort()
        capture.outcome(page)
        capture.expect(len(calls) == 3, f"the page sends {len(calls)} times")
        capture.expect(page.locator("#remaining").count() == 0, "after the end the page says how much time remains")
        context.close()

    def look(self, play):
        capture = self.capture
        context = capture.browser(play, documents=["passport.jpg"], subject="still")
        page = capture.open(context, capture.link(workflow="id", documentFormat="TD3"))
        capture.agree(page)
        page.wait_for_selector(".finder video")
        self.held(page, re.compile("/check"), lambda: page.locator(".choices button.first").click(), "judging", "text=is being checked")
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        # The line is lost when everything is to be sent, and comes back later.
        context.set_offline(True)
        capture.press(page, "use")
        page.wait_for_selector("text=It was not sent", timeout=90000)
        capture.heading(page)
        capture.picture(page, "unsent")
        context.set_offline(False)
        self.held(page, "**/submit", lambda: capture.press(page, "again"), "sending", "progress")
        capture.outcome(page)
        context.close()

        # A challenge's stage while it is judged: nothing is asked of the person's answer, which comes too late.
        for challenge, asked in (("motion", "step"), ("colour_flash", "colour")):
            link = capture.link(workflow="liveness", challenge=challenge)
            context = capture.browser(play, subject="still")
            page = capture.open(context, link)
            capture.agree(page)
            capture.photograph(page, "selfie")
            capture.press(page, "use")
            name = "motion" if asked == "step" else "colours"
            capture.meet(page, "challenge-" + name)
            page.wait_for_selector(f"#stage[data-{asked}]:not([data-{asked}=''])", timeout=60000)
            capture.picture(page, "stage-" + name)
            context.close()

        self.refused_recordings(play)
        stranger = capture.browser(play)
        other = capture.open(stranger, link)
        other.wait_for_selector("text=another browser")
        capture.picture(other, "taken")
        capture.psql(f"UPDATE insp.capture_session SET expires_at = now() - interval '1 second' WHERE id = '{link['id']}'")
        other.reload()
        capture.picture(other, "ended")
        other.goto(f"{capture.url}/capture/{'x' * 43}")
        capture.picture(other, "unknown")
        # A person who does not consent.
        page = capture.open(stranger, capture.link(workflow="liveness"))
        capture.press(page, "refuse")
        page.wait_for_selector('[data-choice="refuse"]', state="detached")
        capture.picture(page, "refused")
        stranger.close()
