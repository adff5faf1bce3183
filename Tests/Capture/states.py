"""The screens of a link's page that other trials pass too quickly, or not at all: each is held, and judged. Imported by
Tests/capture.py."""

import re

# Every screen, as it is judged once.
STATES = {
    "consent", "document", "document-review", "document-advice", "selfie", "selfie-review", "selfie-de", "selfie-de-advice", "selfie-de-review",
    "selfie-advice", "challenge-colours", "challenge-motion", "end", "crop", "no-camera", "judging", "stage-motion", "stage-colours", "unsent",
    "sending", "taken", "ended", "unknown", "refused", "case", "file-unseen",
}


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
            page.wait_for_selector(f"#stage[data-{asked}]:not([data-{asked}=''])", timeout=20000)
            capture.picture(page, "stage-" + name)
            context.close()

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
