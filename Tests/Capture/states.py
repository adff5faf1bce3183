"""The screens of a link's page that other trials pass too quickly, or not at all: each is held, and judged. Imported by
Tests/capture.py."""

import re


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
        while not calls:
            page.wait_for_timeout(50)
        calls[0].abort()
        page.unroute(path)

    def look(self, play):
        capture = self.capture
        # A challenge's stage while it is judged: nothing is asked of the person's answer, which comes late.
        link = capture.link(workflow="id_identity", documentFormat="TD3", challenge="motion", fallback="review")
        context = capture.browser(play, documents=["passport.jpg"], subject="still")
        page = capture.open(context, link)
        capture.agree(page)
        page.wait_for_selector(".finder video")
        self.held(page, re.compile("/check"), lambda: page.locator(".choices button.first").click(), "judging", "text=is being checked")
        page.wait_for_selector('[data-choice="again"]', timeout=60000)
        capture.press(page, "use")
        capture.photograph(page, "state-selfie")
        capture.press(page, "use")
        capture.meet(page, "state-motion")
        page.wait_for_selector("#stage[data-step]:not([data-step=''])", timeout=20000)
        capture.picture(page, "stage-motion")
        page.route("**/submit", lambda route: route.abort())
        page.wait_for_selector('[data-choice="again"]', timeout=90000)
        capture.picture(page, "unsent")
        page.unroute("**/submit")
        self.held(page, "**/submit", lambda: capture.press(page, "again"), "sending", "progress")
        capture.outcome(page)
        context.close()

        link = capture.link(workflow="liveness")
        context = capture.browser(play, subject="still")
        page = capture.open(context, link)
        capture.agree(page)
        capture.photograph(page, "state-face")
        capture.press(page, "use")
        capture.meet(page, "state-colours")
        page.wait_for_selector("#stage[data-colour]:not([data-colour=''])", timeout=20000)
        capture.picture(page, "stage-colours")
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
        context.close()
