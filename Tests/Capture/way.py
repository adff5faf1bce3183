"""The servers that a case passes after a link: the partner's receiver, the provider at which reviewers sign in, and the console. Imported by
Tests/capture.py."""

import base64
import json
import os
import socket
import sys
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Desk:
    """A partner whose jobs all wait for a reviewer, and the reviewer's page."""

    def __init__(self, capture):
        self.capture = capture

    def open(self):
        secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.capture.start("receiver", "/usr/bin/python3", "deploy/callback-receiver.py", "--port-file", self.capture.path("port"),
                           "--log", self.capture.path("received"), "--secret", secret)
        port = self.capture.await_text("port", "").strip()
        psql = self.capture.psql
        psql(f"SELECT insp.create_partner('desk', 'http://127.0.0.1:{port}/ok', true, true)")
        psql(f"SELECT insp.callback_rotate_secret(id, '0', '{secret}') FROM insp.endpoint")
        psql("SELECT insp.set_partner('desk', review => 'always')")
        self.bearer = psql("SELECT bearer FROM insp.create_credential('desk', '{capture,read}')")
        provider, port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.capture.start("provider", sys.executable, "Tests/oidc-server.py", str(provider), "desk", self.url + "/sign-in/callback",
                           "ann=reviewer:desk", "bob=reviewer:shop")
        self.capture.await_text("provider.log", "")
        self.capture.start("console", self.capture.program, "console", "--url", self.url, "--listen", str(port),
                           "--oidc-issuer", f"http://127.0.0.1:{provider}", "--oidc-client", "desk")
        self.capture.await_text("console.log", "console open")

    def signed_in(self, browser, name):
        """A reviewer's page, after the provider has sent them back."""
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        self.capture.watch(page, (self.url, "http://127.0.0.1:"))
        page.goto(self.url + "/")
        page.click("text=Sign in with your organisation")
        page.click(f"text={name}")
        page.wait_for_url("**/cases")
        return page

    def decide(self, browser, job):
        """Another partner's reviewer sees nothing; the partner's takes the case, looks at its images, and decides."""
        expect = self.capture.expect
        other = self.signed_in(browser, "bob")
        expect(job not in other.content(), "a reviewer of another partner sees the case")
        answer = other.goto(f"{self.url}/cases/{job}")
        expect(answer.status in (403, 404), f"a reviewer of another partner opens the case: {answer.status}")
        other.context.close()
        page = self.signed_in(browser, "ann")
        page.click(f'a[href="/cases/{job}"]')
        page.click("text=Take it")
        page.wait_for_selector("text=Record the decision")
        images = [figure.get_attribute("href") for figure in page.locator(".images figure svg image").all()]
        answers = [page.request.get(self.url + image) for image in images]
        kinds = [(answer.status, answer.headers.get("content-type"), len(answer.body()) > 10000) for answer in answers]
        expect(len(images) >= 2 and set(kinds) == {(200, "image/jpeg", True)}, f"the reviewer sees {kinds}")
        # Each is drawn: its promise is kept once its pixels are there.
        script = "Promise.all([...document.querySelectorAll('.images svg image')].map(image => image.decode())).then(() => true)"
        expect(page.evaluate(script), "an image of the case is not drawn")
        self.capture.picture(page, "case")
        page.check("input[value=PASSED]")
        page.fill("textarea", "the holder, and the passport is as it should be")
        page.click("button:has-text('Record the decision')")
        page.wait_for_selector("text=This case is decided")
        page.context.close()

    def callback(self, job):
        """What the partner is told at a job's end; the receiver has verified it by itself."""
        for _ in range(600):
            with open(self.capture.path("received"), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if job in line]
            for line in lines:
                told = json.loads(line["body"])
                if told["type"] == "job.finished":
                    self.capture.expect(line["verified"] and line["timestampOk"], "the callback is not verified")
                    return told["data"]
            time.sleep(0.05)
        raise RuntimeError(f"no callback: {lines}")
