"""What Tests/selection.sh --click does in a browser: signs in once by the console's link, has a partner's selection counted, and begins an
action on it. Prints when the form was sent, in seconds since 1970."""
import html
import http.cookiejar
import re
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path


def main(link, kind, action, partner):
    deadline = time.monotonic() + 30
    while not (url := Path(link).read_text().strip()):
        if time.monotonic() > deadline:
            raise SystemExit("the console printed no link")
        time.sleep(0.1)
    origin = re.match(r"http://[^/]+", url)[0]
    jar = http.cookiejar.LWPCookieJar(f"{link}.cookies", policy=http.cookiejar.DefaultCookiePolicy(strict_ns_domain=0))
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def post(path, fields):
        return browser.open(urllib.request.Request(
            origin + path, urllib.parse.urlencode(fields).encode(), {"Origin": origin, "Sec-Fetch-Site": "same-origin"}), timeout=60)

    if Path(jar.filename).exists():
        jar.load(ignore_discard=True)
    else:
        page = browser.open(url, timeout=60).read().decode()
        post("/sign-in/link", {"token": re.search(r"name='token' value='([^']+)'", page)[1]})
        jar.save(ignore_discard=True)
    query = urllib.parse.urlencode({"kind": kind, "partner": partner})
    page = browser.open(f"{origin}/tasks/new?{query}", timeout=60).read().decode()
    form = re.search(r"(?s)<form method='post' action='/tasks'.*?</form>", page)[0]
    fields = {name: html.unescape(value) for name, value in re.findall(r"<input type='hidden' name='([^']+)' value='([^']*)'", form)}
    assert f"name='action' value='{action}'" in form, form
    click = time.time()
    answer = post("/tasks", {**fields, "action": action, "reason": "the server is back"})
    assert answer.status == 200 and answer.url == f"{origin}/tasks", answer.url
    print(f"{click:.3f}")


main(*sys.argv[1:])
