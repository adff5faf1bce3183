"""Sends the requests of referees/http11 to a gateway, in the clear and over TLS, and judges what comes back.

Usage: http11.py CASES PORT TLS_PORT      the bearer token in BEARER

`/` in a case stands for a path that answers; the gateway has none there, so a case whose lengths do not depend on it gets
`/openapi.json`, and one that posts a body `/inspectionjob/create`. Elsewhere "2xx" is what a faultless request to the same
target is answered with, which is measured first.

What posts is sent twice, without a credential and with one. Without, the gateway refuses by the head and drops the body; with
one it reads the body to its end and takes it apart. "hello" is no job, so "2xx" is then the refusal that only the parser of
bodies gives.
"""

import base64
import concurrent.futures
import json
import os
import re
import socket
import ssl
import sys
import time
from pathlib import Path

QUIET = 1.0   # seconds without an octet that count as "no answer"
# The same where a case came out otherwise than it should: again by itself, for a machine that stood still for a second shows it as silence.
PATIENT, ROUNDS = 4.0, 3
TOO_MANY = "more answers than requests"
SUITE = "http11"
# What is wrong with a body that was read whole; what is wrong with a request's framing has another code.
READ = b'"code":"PAYLOAD_INVALID"'


def connect(port, tls):
    raw = socket.create_connection(("127.0.0.1", port), timeout=60)
    if not tls:
        return raw
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(raw)


def responses(octets, methods):
    """The answers in a stream: (status, fields, body), interim ones left out."""
    found = []
    rest = octets
    while rest.startswith(b"HTTP/1."):
        head, separator, rest = rest.partition(b"\r\n\r\n")
        if not separator:
            break
        lines = head.split(b"\r\n")
        status = int(lines[0].split(b" ")[1])
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
        if status < 200:
            continue
        size = int(fields.get("content-length", 0))
        if methods and methods[min(len(found), len(methods) - 1)] == "HEAD":
            size = 0
        if status == 400 and READ in rest[:size]:
            status = 200
        found.append((status, fields, rest[:size]))
        rest = rest[size:]
    return found, rest


class Exchange:
    """One connection on which the steps are sent, each after the answer to the one before."""

    def __init__(self, port, tls, steps, quiet=QUIET):
        self.steps = []          # per step: (answers, leftover)
        self.closed_after = None  # index of the step after which the server closed
        self.seconds = 0.0
        started = time.monotonic()
        client = connect(port, tls)
        try:
            for number, request in enumerate(steps):
                octets = b""
                method = request.split(b" ")[0].decode("latin-1", "replace")
                try:
                    client.sendall(request)
                except OSError:
                    # A server that has said enough need not read the rest.
                    pass
                client.settimeout(quiet)
                try:
                    while True:
                        piece = client.recv(65536)
                        if not piece:
                            self.closed_after = number
                            break
                        octets += piece
                except (TimeoutError, socket.timeout):
                    pass
                except OSError:
                    self.closed_after = number
                self.steps.append(responses(octets, [method]))
                if self.closed_after is not None:
                    break
        finally:
            client.close()
            self.seconds = time.monotonic() - started

    def statuses(self, step=0):
        return [answer[0] for answer in self.steps[step][0]] if step < len(self.steps) else []


def posts(case):
    return any(base64.b64decode(step["base64"]).lstrip(b"\r\n").startswith(b"POST ") for step in case["steps"])


def authorized(step, bearer):
    """A request that posts, so that its body is wanted. Nothing behind the head is changed, nor what follows its Host."""
    if not step.lstrip(b"\r\n").startswith(b"POST "):
        return step
    head, end, rest = step.partition(b"\r\n\r\n")
    head = re.sub(rb"^((?:\r\n)*POST) /(?:echo)? (HTTP/1)", rb"\1 /inspectionjob/create \2", head)
    for name, value in ((b"Authorization", b"Bearer " + bearer), (b"Content-Type", b"application/json")):
        if b"\r\n" + name.lower() + b":" not in head.lower():
            head = head.replace(b"\r\nHost:", b"\r\n" + name + b": " + value + b"\r\nHost:", 1)
    return head + end + rest


def rewritten(case, bearer=None):
    """The case's requests, with targets that exist here where that changes no length."""
    steps = [base64.b64decode(step["base64"]) for step in case["steps"]]
    if bearer:
        steps = [authorized(step, bearer) for step in steps]
    if case["hostLengthMatters"]:
        return steps
    out = []
    for step in steps:
        step = re.sub(rb"^((?:\r\n)*POST) / (HTTP/1)", rb"\1 /inspectionjob/create \2", step)
        step = re.sub(rb"^((?:\r\n)*[A-Za-z]+) / ((?:HTTP|http)/)", rb"\1 /openapi.json \2", step)
        step = re.sub(rb"^((?:\r\n)*[A-Za-z]+ http://[^/ ]+)/ ", rb"\1/openapi.json ", step)
        step = re.sub(rb"^((?:\r\n)*GET[ \t]+)/([ \t]+HTTP)", rb"\1/openapi.json\2", step)
        out.append(step)
    return out


def target(request):
    words = request.lstrip(b"\r\n").split(b" ")
    return (words[0], words[1]) if len(words) > 2 else (b"GET", b"/")


class Judge:
    def __init__(self, ports):
        self.ports = ports
        self.known = {}

    def baseline(self, tls, request, bearer=None):
        """What a faultless request to the same method and target is answered with."""
        method, path = target(request)
        method = method if method in (b"GET", b"HEAD", b"POST", b"OPTIONS") else b"GET"
        path = re.sub(rb"^https?://[^/]*", b"", path) or b"/"
        if not re.fullmatch(rb"/[A-Za-z0-9/._-]*", path):
            path = b"/nothing"
        key = (tls, method, path, bearer)
        if key not in self.known:
            length = b"Content-Length: 5\r\n\r\nhello" if method == b"POST" else b"\r\n"
            request = method + b" " + path + b" HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n" + length
            if bearer:
                request = authorized(request, bearer)
            self.known[key] = Exchange(self.ports[tls], tls, [request], 60).statuses()[0]
        return self.known[key]

    def matches(self, word, exchange, step, good):
        """Whether a step came out as one word of an outcome says."""
        answers, _ = exchange.steps[step] if step < len(exchange.steps) else ([], b"")
        is_closed = exchange.closed_after is not None and exchange.closed_after <= step
        status = answers[0][0] if answers else None
        if isinstance(word, dict):
            return self.matches(word["status"], exchange, step, good) and self.holds(word["if"], answers[0], good)
        word = word.strip()
        if word == "close":
            return is_closed and status is None
        if word == "timeout":
            return not is_closed and status is None
        if status is None:
            return False
        if word == "close, with or without a response":
            return is_closed
        both = re.fullmatch(r"(.*?) (then close|and stays open)", word)
        if both:
            return self.matches(both[1], exchange, step, good) and is_closed == (both[2] == "then close")
        if word.startswith("any status but "):
            return status != int(word.rsplit(" ", 1)[1])
        # "2xx" is what a faultless request is answered with, once and with a framing that goes on.
        if word == "2xx":
            return status == good or 200 <= status < 300
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if span:
            low, high = int(span[1]), int(span[2] or span[1])
            return low <= status <= high or (low <= 200 <= high and status == good)
        span = re.fullmatch(r"(\d)xx", word)
        return bool(span) and status // 100 == int(span[1])

    def holds(self, condition, answer, good):
        _, fields, body = answer
        if condition.startswith("the body that the server received was"):
            return True  # the gateway does not echo
        if condition == "the response has no body":
            return body == b""
        if condition == "the response has an Allow field":
            return "allow" in fields
        if condition == "the response has a Date field":
            return "date" in fields
        if condition == "Date is an IMF-fixdate":
            return bool(re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", fields.get("date", "")))
        if condition == "the response has no Content-Length field":
            return "content-length" not in fields
        if condition == "the response has a Content-Type field":
            return "content-type" in fields
        if condition == "the body does not hold secret-token-123":
            return b"secret-token-123" not in body
        if condition.startswith(("the malformed field did not", "the field did not", "no NUL reached", "no octet 1")):
            return True  # names of framing fields are compared by the head's tests; nothing of a field is answered here
        return False

    def steps(self, word, exchange, good):
        """Outcomes over several steps."""
        if word == "step 2 is answered at all":
            return bool(exchange.statuses(1))
        if word in ("400 and one response only", "close, with at most one response"):
            answers, rest = exchange.steps[0]
            if len(answers) > 1 or rest:
                return False
            return exchange.statuses() == [400] if word.startswith("400") else exchange.closed_after is not None
        if word == "two or more responses":
            return len(exchange.steps[0][0]) > 1
        if word == "any other single status on an open connection":
            return exchange.statuses() != [400] and exchange.closed_after is None
        absent = re.fullmatch(r"step 1 has no (.*)", word)
        if absent:
            return bool(exchange.steps[0][0]) and absent[1].lower() not in exchange.steps[0][0][0][1]
        if word == "step 1: 2xx, then step 2 is answered":
            return self.matches("2xx", exchange, 0, good) and len(exchange.statuses(1)) == 1
        if word.startswith("step 2: "):
            if exchange.closed_after == 0:
                return "closed" in word
            return any(self.matches(option, exchange, 1, good) for option in re.findall(r"2xx|304(?! with)", word))
        if word == "anything else after a 2xx":
            return self.matches("2xx", exchange, 0, good)
        first = re.fullmatch(r"step 1: (.*?)(?:, then step 2: (.*)|, then closed|, and the connection is closed before step 2 is answered)?", word)
        if word.startswith("step 1: 2xx and step 2: 2xx"):
            return all(self.matches("2xx", exchange, step, good) for step in (0, 1))
        if not first or not self.matches(first[1], exchange, 0, good):
            return False
        if word.endswith(", then closed") or word.endswith("before step 2 is answered"):
            return not exchange.statuses(1)
        if first[2] is None:
            return True
        # An answer to the second step, or the connection was closed before.
        if exchange.closed_after == 0 or not exchange.statuses(1):
            return "closed" in first[2]
        return len(exchange.statuses(1)) == 1 and any(
            self.matches(option, exchange, 1, good) for option in re.findall(r"2xx|400", first[2]))

    def verdict(self, case, tls, bearer, quiet=QUIET):
        """Whether a case came out as it should, and what was seen."""
        steps = rewritten(case, bearer)
        exchange = Exchange(self.ports[tls], tls, steps, quiet)
        good = self.baseline(tls, steps[0], bearer)
        outcome = case["outcome"]

        def any_of(name):
            for word in outcome.get(name, []):
                whole = isinstance(word, str) and (
                    word.startswith(("step ", "anything")) or "response" in word and not word.startswith("close, with or") or "single status" in word)
                if self.steps(word, exchange, good) if whole else self.matches(word, exchange, 0, good):
                    return True
            return False

        seen = [exchange.statuses(step) for step in range(len(exchange.steps))]
        end = "closed" if exchange.closed_after is not None else "open"
        # Somebody's bytes were taken for a request.
        if sum(map(len, seen)) > len(steps):
            return False, f"{seen} {end}: {TOO_MANY}"
        if any_of("fail"):
            return False, f"{seen} {end}"
        if any(len(statuses) > 1 or rest for (answers, rest), statuses in zip(exchange.steps, seen)):
            return False, f"{seen} {end}: more than an answer to a step"
        return any_of("pass") or any_of("warn"), f"{seen} {end}"


def main():
    cases = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    ports = {False: int(sys.argv[2]), True: int(sys.argv[3])}
    bearer = os.environ["BEARER"].encode()
    reasons = {}
    for line in (Path(__file__).parent / f"{SUITE}.exceptions").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            reasons[name] = reason.strip()
    judge = Judge(ports)
    scored = [case for case in cases if case["category"] != "capabilities"]
    # Before the crowd: a measured answer is not another case's fault.
    for tls in ports:
        for case in scored:
            judge.baseline(tls, rewritten(case)[0])
        if judge.baseline(tls, b"POST /inspectionjob/create HTTP/1.1", bearer) != 200:
            sys.exit("http11: the credential is not accepted, so no body would be read")
    jobs = [(case, tls, token) for tls in ports for case in cases for token in (None, bearer) if not token or posts(case)]
    # Nearly all of the time is spent waiting for silence.
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        verdicts = list(pool.map(lambda job: judge.verdict(*job), jobs))
    for number, job in enumerate(jobs):
        for _ in range(ROUNDS - 1):
            is_good, seen = verdicts[number]
            if is_good or job[0]["id"] in reasons or seen.endswith(TOO_MANY):
                break
            print(f"{job[0]['id']}: {seen}; judged again", file=sys.stderr)
            verdicts[number] = judge.verdict(*job, PATIENT)
    failed = 0
    excepted = set()
    passed = 0
    for (case, tls, token), (is_good, seen) in zip(jobs, verdicts):
        name = case["id"]
        if is_good:
            passed += 1
        elif name in reasons:
            excepted.add(name)
        else:
            failed += 1
            print(f"{name}{' over TLS' if tls else ''}{' with a credential' if token else ''}: {seen}, not {json.dumps(case['outcome'])[:300]}", file=sys.stderr)
    for name in sorted(set(reasons) - excepted):
        failed += 1
        print(f"{name}: passes, so it is no exception", file=sys.stderr)
    exceptions = sum(1 for (case, _, _), (is_good, _) in zip(jobs, verdicts) if not is_good and case["id"] in reasons)
    print(json.dumps({"suite": SUITE, "cases": len(jobs), "passed": passed, "failed": failed, "exceptions": exceptions}))
    sys.exit(1 if failed else 0)


main()
