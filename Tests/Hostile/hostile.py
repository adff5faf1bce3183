"""The two partners of Tests/hostile.sh.  Usage: hostile.py PORT SECONDS, bearer tokens in GOOD and HOSTILE."""

import base64
import contextlib
import json
import multiprocessing
import os
import socket
import sys
import threading
import time

PORT, SECONDS = int(sys.argv[1]), float(sys.argv[2])
GOOD, HOSTILE = os.environ["GOOD"], os.environ["HOSTILE"]
FLOOR = 100.0   # milliseconds: below, two cores and a scheduler are measured and no gateway
ROUNDS = 3      # a stall of the machine is in one of them, a fault of the gateway in each


def connect(source):
    return socket.create_connection(("127.0.0.1", PORT), timeout=30, source_address=(source, 0))


def head(line, token, more=""):
    return f"{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n".encode()


def ask(source, request):
    """One request on a connection of its own: status and milliseconds."""
    start = time.monotonic()
    try:
        with contextlib.closing(connect(source)) as client:
            client.sendall(request)
            answer = b""
            while b"\r\n\r\n" not in answer:
                piece = client.recv(65536)
                if not piece:
                    break
                answer += piece
        status = int(answer.split(b" ")[1]) if answer else 0
    except OSError:
        status = 0
    return status, (time.monotonic() - start) * 1000, answer if status else b""


def create(token, source, size=2000):
    body = json.dumps({"workflow": "liveness", "encodedFaceImage": base64.b64encode(b"x" * size).decode()}).encode()
    return ask(source, head("POST /inspectionjob/create", token,
                            f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n") + body)


class Hostile:
    """Threads of a process of their own, which go on until they are told to stop. Nice: elsewhere they have their own machine."""

    def __init__(self, count, action):
        self.count = count
        self.begun = multiprocessing.Semaphore(0)
        self.stopping = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, args=(count, action), daemon=True)

    def run(self, count, action):
        os.nice(10)
        threads = [threading.Thread(target=self.go_on, args=(action, number), daemon=True) for number in range(count)]
        for thread in threads:
            thread.start()
        self.stopping.wait()

    def go_on(self, action, number):
        said = []

        def begun():
            if not said:
                said.append(True)
                self.begun.release()

        while True:
            with contextlib.suppress(OSError):
                action(self.stopping, f"127.0.0.{2 + number % 2}", begun)
            # Or was turned away.
            begun()
            # Who is turned away comes back at once, but not as fast as this machine can: its own work would be measured.
            time.sleep(0.5)

    def __enter__(self):
        self.process.start()
        # Each has said what it has to say, which may be 50 MB.
        deadline = time.monotonic() + 30
        for _ in range(self.count):
            self.begun.acquire(timeout=max(0, deadline - time.monotonic()))
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.process.join(30)


def dripping(first, drop):
    def action(stopping, source, begun):
        with contextlib.closing(connect(source)) as client:
            client.sendall(first)
            begun()
            client.settimeout(0.2)
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError, socket.timeout):
                    if not client.recv(1024):
                        return
                if drop:
                    client.sendall(drop)
    return action


def flooding(request):
    def action(stopping, source, begun):
        with contextlib.closing(connect(source)) as client:
            client.sendall(request)
            begun()
            client.settimeout(30)
            while client.recv(65536):
                pass
    return action


def measure(source, size):
    times, refused = [], []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for number, (status, took, _) in enumerate((ask(source, READ), create(GOOD, source, size))):
            times.append(took)
            if status != (200, 201)[number]:
                refused.append(status)
        time.sleep(0.02)
    times.sort()
    return times[int(len(times) * 0.95)], refused


def memory():
    with open(f"/proc/{os.environ['PID']}/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmHWM"))


_, _, answer = create(HOSTILE, "127.0.0.2")
THEIRS = json.loads(answer.split(b"\r\n\r\n")[1])["id"] if b"\r\n\r\n{" in answer else ""
# Wrong passwords first: the good one has not been seen by this gateway before.
WRONG = head(f"GET /inspectionjob/{THEIRS}", "ik_0123456789abcdef." + "a" * 43, "Connection: close\r\n")
kinds = {}


def guess(stopping, source, begun):
    ask("127.0.0.1", WRONG.replace(b"0123456789", os.urandom(5).hex().encode()))


for _ in range(40):
    ask("127.0.0.1", WRONG)
first, _, answer = create(GOOD, "127.0.0.1")
kinds["first"] = {"alone": 0, "beside": 0, "refused": [] if first == 201 else [first]}
OURS = json.loads(answer.split(b"\r\n\r\n")[1])["id"] if first == 201 else THEIRS
READ = head(f"GET /inspectionjob/{OURS}", GOOD, "Connection: close\r\n")

large = base64.encodebytes(os.urandom(45_000_000)).decode().replace("\n", "\\r\\n")
body = ('{"workflow":"liveness","encodedFaceImage":"' + large + '"}').encode()[:62 << 20]
LARGE = head("POST /inspectionjob/create", HOSTILE,
             f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n") + body
POST = head("POST /inspectionjob/create", HOSTILE, "Content-Type: application/json\r\nContent-Length: 60000000\r\n")
# What the good one posts. Where memory is what is taken, something that needs some: small bodies always find room.
SMALL, IMAGE = 2000, 2_000_000
ATTACKS = {
    "silent": (60, dripping(b"", b""), "127.0.0.1", SMALL),
    "heads": (60, dripping(b"GET /inspectionjob/x HTTP/1.1\r\n", b"X: y\r\n"), "127.0.0.1", SMALL),
    "bodies": (60, dripping(POST + b"{", b" "), "127.0.0.1", SMALL),
    "held": (6, dripping(POST + b" " * 50_000_000, b" "), "127.0.0.1", IMAGE),
    "waits": (60, dripping(head(f"GET /inspectionjob/{THEIRS}?wait=60", HOSTILE), b""), "127.0.0.1", SMALL),
    "base64": (4, flooding(LARGE), "127.0.0.1", SMALL),
    "passwords": (8, guess, "127.0.0.1", SMALL),
}
failed = []
# The last measurement alone: of which bodies, how long, and what was refused. Before an attack, it is that after the one before.
alone = None
if kinds["first"]["refused"]:
    failed.append("first")
for kind, (count, action, source, size) in ATTACKS.items():
    for number in range(1, ROUNDS + 1):
        before, refusals = alone[1:] if alone and alone[0] == size else measure(source, size)
        with Hostile(count, action):
            beside, refused = measure(source, size)
        time.sleep(0.5)
        # Before and after, for others use the machine, too.
        alone = (size, *measure(source, size))
        slowest, refused = max(before, alone[1]), refusals + refused + alone[2]
        limit = max(2 * slowest, FLOOR)
        kinds[kind] = {"alone": round(slowest, 1), "beside": round(beside, 1), "limit": round(limit, 1),
                       "refused": sorted(refused), "rounds": number}
        print(kind, kinds[kind], file=sys.stderr)
        if refused or beside <= limit:
            break
    if refused or beside > limit:
        failed.append(kind)
print(json.dumps({"kinds": kinds, "floor": FLOOR, "peakMiB": memory(), "failed": failed}))
sys.exit(1 if failed else 0)
