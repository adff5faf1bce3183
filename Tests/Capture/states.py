"""The screens of a link's page that other trials pass too quickly, or not at all: each is held, and judged. Imported by
Tests/capture.py."""

import json
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
        for said, act, answer in (
                ("no longer valid, for example because another tab began one", lambda: tab.evaluate(begin), None),
                ("Sending took too long", lambda: capture.psql(expire), None),
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
