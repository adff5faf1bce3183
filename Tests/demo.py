"""deploy/demo.sh --console as a newcomer runs it: it ends with two links; the console's signs one person in and shows the case of a real job,
the other opens the page that captures. Ctrl-C and Enter end it, with status 0, and leave nothing running.

Usage: Tests/demo.py BIN     the folder with the built inspectd
"""

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def visit(console, capture):
    jar = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(strict_ns_domain=0))
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = browser.open(console, timeout=30).read().decode()
    token = re.search(r"name='token' value='([^']+)'", page)[1]
    origin = re.match(r"http://[^/]+", console)[0]
    post = urllib.request.Request(f"{origin}/sign-in/link", urllib.parse.urlencode({"token": token}).encode(),
                                  {"Origin": origin, "Sec-Fetch-Site": "same-origin"})
    browser.open(post, timeout=30)
    cases = browser.open(origin + "/cases", timeout=30).read().decode()
    path = re.search(r"/cases/[0-9a-f-]{36}", cases)
    assert path, cases[:2000]
    assert "demo" in browser.open(origin + path[0], timeout=30).read().decode()
    # One sign-in.
    try:
        urllib.request.urlopen(post, timeout=30)
        raise AssertionError("the console's link signs in twice")
    except urllib.error.HTTPError as error:
        assert error.code == 403, error.code
    page = urllib.request.urlopen(capture, timeout=30).read().decode()
    assert "id=\"capture\"" in page, page[:2000]


def demo(program, scratch, end):
    environment = {**os.environ, "TMPDIR": str(scratch)}
    run = subprocess.Popen([ROOT / "deploy/demo.sh", "--console", "--program", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True)
    watch = threading.Timer(300, lambda: os.killpg(run.pid, signal.SIGTERM))
    watch.start()
    said, found = [], []
    try:
        for line in run.stdout:
            said.append(line)
            found += re.findall(r"http://127\.0\.0\.1:\d+/(?:sign-in/link|capture)\S+", line)
            if "open until Enter" in line:
                break
        assert len(found) == 2, "".join(said[-30:])
        visit(*found)
        end(run)
        said.append(run.stdout.read())
        assert run.wait(timeout=60) == 0, (run.returncode, "".join(said[-30:]))
    finally:
        watch.cancel()
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGTERM)
            run.wait()
    left = list(scratch.iterdir())
    assert not left, left
    for url in found:
        try:
            urllib.request.urlopen(url, timeout=5)
            raise AssertionError(f"{url} still answers")
        except urllib.error.URLError:
            pass


def enter(run):
    run.stdin.write("\n")
    run.stdin.flush()


def main():
    # A shell ignores it in what it runs in the background, and so would the demo.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program = Path(sys.argv[1]).resolve() / "inspectd"
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        for end in (lambda run: os.killpg(run.pid, signal.SIGINT), enter):
            demo(program, Path(scratch), end)
    print('{"result":"pass"}')


if __name__ == "__main__":
    main()
