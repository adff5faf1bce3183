"""Load on a gateway, measured beside COPY of the same bytes. Tests/gateway-load.sh starts it."""

import argparse
import http.client
import io
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import threading
import time

from PIL import Image

from trial import Trial, judge

CONNECTIONS = 4
SIZE = 1_000_000
SLOW = 2_000
BOUNDARY = "b" * 24


def form(fields, files):
    """A multipart form (RFC 7578)."""
    body = b""
    for name, value in fields.items():
        body += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for name, content in files.items():
        body += (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}.jpg"\r\n'
                 "Content-Type: image/jpeg\r\n\r\n").encode() + content + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def ticks(path):
    """Processor time of a process and of its children that have ended, in seconds."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK"), int(fields[1])


class Load(Trial):
    def url(self, database):
        return os.environ["INSPECTD_DATABASE_URL"].replace("/postgres?", f"/{database}?")

    def sql(self, text, database="postgres"):
        return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.url(database), "-c", text], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    # MARK: Set-up

    def set_up(self):
        for database in ("sealed", "keys"):
            self.sql("CREATE DATABASE " + database)
        self.command("migrate", "--roles")
        self.command("migrate")
        self.sealed = dict(self.environment, INSPECTD_DATABASE_URL=self.url("sealed"), INSPECTD_KEYS_URL=self.url("keys"),
                           INSPECTD_WRAPPING_KEYS="file:" + self.path("wrapping-keys"))
        for words in (["keys", "make", "--key-file", self.path("wrapping-keys")], ["migrate", "--roles"], ["migrate"], ["keys", "init"]):
            self.command(*words, environment=self.sealed)
        self.credentials = {}
        for name, database in (("plain", "postgres"), ("sealed", "sealed")):
            self.sql("SELECT insp.create_partner('bank', 'https://hooks.example.com/x')", database)
            self.credentials[name] = self.sql(
                "SELECT key_id || ' ' || secret FROM insp.create_credential('bank', (SELECT array_agg(scope) FROM insp.scope))", database).split()
        limits = ["--credential-rate", "1000000", "--address-rate", "1000000", "--connections", str(SLOW + 100)]
        self.gateways = {}
        for name, environment in (("plain", self.environment), ("sealed", self.sealed)):
            process = self.start(name, "gateway", "--listen", "0", *limits, environment=environment)
            self.gateways[name] = (process.pid, self.port(name, "gateway open"))
        with open(self.input("specimens/passport.jpg"), "rb") as file:
            self.passport = file.read()
        # A real image's bytes, to the size asked for: the gateway does not open images.
        self.image = self.passport + os.urandom(SIZE - len(self.passport))
        self.authorization = {name: {"Authorization": "Bearer " + self.token(name)} for name in self.gateways}

    def token(self, name):
        client = http.client.HTTPConnection("127.0.0.1", self.gateways[name][1], timeout=30)
        key, secret = self.credentials[name]
        client.request("POST", "/oauth2/token", f"grant_type=client_credentials&client_id={key}&client_secret={secret}",
                       {"Content-Type": "application/x-www-form-urlencoded"})
        return json.load(client.getresponse())["access_token"]

    # MARK: Creates beside COPY

    def database_seconds(self):
        """Of the postmaster, of its children, and of those that have ended."""
        postmaster = int(self.sql("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"))
        total = 0.0
        for name in os.listdir("/proc"):
            if name.isdigit():
                seconds, parent = ticks(f"/proc/{name}/stat")
                if int(name) == postmaster or parent == postmaster:
                    total += seconds
        return total

    def measure(self, gateway, work):
        """Jobs a second, and microseconds of processor time of each component for a job."""
        pid = self.gateways[gateway][0] if gateway else None
        before = (self.database_seconds(), ticks(f"/proc/{pid}/stat")[0] if pid else 0, resource.getrusage(resource.RUSAGE_CHILDREN))
        started = time.monotonic()
        work()
        seconds = time.monotonic() - started
        after = (self.database_seconds(), ticks(f"/proc/{pid}/stat")[0] if pid else 0, resource.getrusage(resource.RUSAGE_CHILDREN))
        client = sum(getattr(after[2], name) - getattr(before[2], name) for name in ("ru_utime", "ru_stime"))
        count = self.options.jobs
        return {"perSecond": count / seconds, "database": (after[0] - before[0]) / count * 1e6,
                "gateway": (after[1] - before[1]) / count * 1e6, "client": client / count * 1e6}

    def copy(self):
        """One row with the same bytes for each COPY and each commit, over as many connections."""
        script = self.write("copy.sql", f"\\copy copied FROM '{self.path('row')}' (FORMAT binary)\n" * (self.options.jobs // CONNECTIONS))
        clients = [subprocess.Popen(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", os.environ["INSPECTD_DATABASE_URL"], "-f", script],
                                    stdout=subprocess.DEVNULL) for _ in range(CONNECTIONS)]
        for client in clients:
            self.expect(client.wait(300) == 0, "a COPY failed")

    def create(self, gateway):
        """curl sends one form after another over a kept connection, each with a key of its own."""
        url = f"http://127.0.0.1:{self.gateways[gateway][1]}/inspectionjob/create"
        clients = []
        for number in range(CONNECTIONS):
            lines = []
            for job in range(self.options.jobs // CONNECTIONS):
                lines.append("\n".join((
                    f'url = "{url}"', f'header = "Authorization: {self.authorization[gateway]["Authorization"]}"',
                    f'header = "Content-Type: multipart/form-data; boundary={BOUNDARY}"',
                    f'header = "Idempotency-Key: {gateway}-{self.turn}-{number}-{job}"',
                    'header = "Expect:"', f'data-binary = "@{self.path("form")}"', 'output = "/dev/null"', 'write-out = "%{http_code}\\n"')))
            config = self.write(f"curl-{number}", "silent\n" + "\nnext\nsilent\n".join(lines) + "\n")
            clients.append(subprocess.Popen(["curl", "--config", config], stdout=subprocess.PIPE, text=True))
        for client in clients:
            answers = client.communicate(timeout=300)[0].split()
            self.expect(answers == ["201"] * (self.options.jobs // CONNECTIONS), f"creates were answered {sorted(set(answers))}")

    def compare(self):
        self.sql("CREATE TABLE copied (id bigserial, content bytea)")
        self.sql("ALTER TABLE copied ALTER COLUMN content SET STORAGE EXTERNAL")
        # PostgreSQL's binary format of COPY: signature, flags, and a row of two columns.
        with open(self.path("row"), "wb") as file:
            file.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + (2).to_bytes(2, "big") + (8).to_bytes(4, "big") + (1).to_bytes(8, "big")
                       + SIZE.to_bytes(4, "big") + self.image + b"\xff\xff")
        with open(self.path("form"), "wb") as file:
            file.write(form({"documentFormat": "TD3"}, {"FRONT": self.image}))
        figures = {"copy": [], "plain": [], "sealed": []}
        for self.turn in range(self.options.rounds + 1):
            for name in figures:
                self.sql("TRUNCATE copied")
                self.sql("CHECKPOINT")
                figure = self.measure(None, self.copy) if name == "copy" else self.measure(name, lambda name=name: self.create(name))
                # The first turn fills caches.
                if self.turn:
                    figures[name].append(figure)
        for name, rounds in figures.items():
            ratios = [one["perSecond"] / copy["perSecond"] for one, copy in zip(rounds, figures["copy"])]
            self.say({"figure": "creates" if name != "copy" else "copy", "kind": name, "rounds": len(rounds), "bytes": SIZE,
                      "connections": CONNECTIONS, "perSecond": round(statistics.median(one["perSecond"] for one in rounds), 1),
                      "toCopy": round(statistics.median(ratios), 3), "range": [round(min(ratios), 3), round(max(ratios), 3)],
                      "microseconds": {part: round(statistics.median(one[part] for one in rounds)) for part in ("client", "gateway", "database")}})
            if name == "plain":
                self.expect(statistics.median(ratios) >= 0.7, "creates are slower than 0.7 of COPY")

    # MARK: Results

    def fetch(self):
        """Finished results, over connections that are kept."""
        port = self.gateways["sealed"][1]
        body = form({"documentFormat": "TD3"}, {"FRONT": self.passport})
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        jobs = []
        for number in range(20):
            client.request("POST", "/inspectionjob/create", body, {
                **self.authorization['sealed'], "Content-Type": "multipart/form-data; boundary=" + BOUNDARY, "Idempotency-Key": f"fetch-{number}"})
            jobs.append(json.load(client.getresponse())["id"])
        worker = self.start("worker", "worker", "--roles", "inspect,maintain", environment=self.sealed)
        for job in jobs:
            for _ in range(20):
                client.request("GET", f"/inspectionjob/{job}?wait=30", headers=self.authorization['sealed'])
                if json.load(client.getresponse())["status"] == 128:
                    break
        worker.terminate()
        worker.wait(60)
        times, wrong, lock = [], set(), threading.Lock()

        def reader():
            own = []
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            for number in range(1000):
                started = time.perf_counter()
                connection.request("GET", "/inspectionjob/" + jobs[number % len(jobs)], headers=self.authorization['sealed'])
                answer = connection.getresponse()
                content = answer.read()
                own.append(time.perf_counter() - started)
                if answer.status != 200 or json.loads(content).get("status") != 128:
                    wrong.add(answer.status)
            with lock:
                times.extend(own)

        threads = [threading.Thread(target=reader) for _ in range(2)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        self.expect(not wrong, f"results are not finished, or answered {sorted(wrong)}")
        self.say({"figure": "get", "requests": len(times), "connections": 2, "perSecond": round(len(times) / (time.monotonic() - started)),
                  "medianMs": round(statistics.median(times) * 1000, 2), "p99Ms": round(percentile(times, 0.99) * 1000, 2)})

    # MARK: Slow clients

    def memory(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

    def slow(self):
        """2,000 clients of eight partners and 250 addresses that send a body of 1 MB at 4 KB a second, while another client goes on
        creating jobs. No address and no partner may have more than is left for others."""
        pid, port = self.gateways["plain"]
        heads = []
        for number in range(8):
            self.sql(f"SELECT insp.create_partner('slow{number}', 'https://hooks.example.com/{number}')")
            self.credentials["plain"] = self.sql(
                f"SELECT key_id || ' ' || secret FROM insp.create_credential('slow{number}', (SELECT array_agg(scope) FROM insp.scope))").split()
            heads.append((f"POST /inspectionjob/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token('plain')}\r\n"
                          f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {SIZE + 1000}\r\n\r\n").encode())
        before = self.memory(pid)
        selector = selectors.DefaultSelector()
        clients = []
        for number in range(SLOW):
            client = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(f"127.0.1.{1 + number % 250}", 0))
            client.setblocking(False)
            client.send(heads[number % len(heads)])
            selector.register(client, selectors.EVENT_READ)
            clients.append(client)
        peak, refused, cut, quick = before, 0, 0, []
        piece = form({}, {"FRONT": self.image})[:4096]
        body = form({"documentFormat": "TD3"}, {"FRONT": self.passport})
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            second = time.monotonic() + 1
            for client in list(clients):
                try:
                    client.send(piece)
                except (BlockingIOError, ConnectionError):
                    pass
            for key, _ in selector.select(0):
                # Those whose bodies together exceed --held-limit are told to come back.
                try:
                    answer = key.fileobj.recv(4096)
                except ConnectionError:
                    answer = b""
                if answer.startswith(b"HTTP/1.1 503 ") and b"\r\nretry-after:" in answer.lower():
                    refused += 1
                else:
                    cut += 1
                selector.unregister(key.fileobj)
                clients.remove(key.fileobj)
                key.fileobj.close()
            started = time.perf_counter()
            other.request("POST", "/inspectionjob/create", body, {
                **self.authorization['plain'], "Content-Type": "multipart/form-data; boundary=" + BOUNDARY})
            answer = other.getresponse()
            answer.read()
            self.expect(answer.status == 201, f"beside slow clients a create is answered {answer.status}")
            quick.append(time.perf_counter() - started)
            peak = max(peak, self.memory(pid))
            time.sleep(max(0, second - time.monotonic()))
        for client in clients:
            client.close()
        self.say({"figure": "slowClients", "clients": SLOW, "toldToComeBack": refused, "cutOff": cut, "seconds": 20, "memoryMB": {"before": round(before), "peak": round(peak)},
                  "createBesideMs": {"median": round(statistics.median(quick) * 1000, 1), "longest": round(max(quick) * 1000, 1)}})
        self.expect(cut == 0, f"{cut} slow clients were cut off without a reason")
        self.expect(SLOW - refused >= 1000, f"only {SLOW - refused} slow clients are served")
        self.expect(peak - before < 1024, "slow clients take more than the gateway's memory for bodies")

    # MARK: Instant feedback

    def usability(self):
        """A JPEG of 2 megapixels, one client."""
        image = Image.open(io.BytesIO(self.passport)).convert("RGB")
        scale = (2_000_000 / (image.width * image.height)) ** 0.5
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.LANCZOS)
        content = io.BytesIO()
        image.save(content, "JPEG", quality=90)
        body = form({}, {"FRONT": content.getvalue()})
        client = http.client.HTTPConnection("127.0.0.1", self.gateways["plain"][1], timeout=30)
        times = []
        for number in range(110):
            started = time.perf_counter()
            client.request("POST", "/usability", body, {**self.authorization['plain'], "Content-Type": "multipart/form-data; boundary=" + BOUNDARY})
            answer = client.getresponse()
            answer.read()
            self.expect(answer.status == 200, f"/usability answers {answer.status}")
            if number >= 10:
                times.append(time.perf_counter() - started)
        self.say({"figure": "usability", "requests": len(times), "megapixels": round(image.width * image.height / 1e6, 2),
                  "medianMs": round(statistics.median(times) * 1000), "p95Ms": round(percentile(times, 0.95) * 1000)})
        self.expect(percentile(times, 0.95) <= 0.25, "/usability takes longer than 250 ms")

    # MARK: All

    def say(self, figure):
        print(json.dumps(figure), flush=True)

    def run(self):
        self.set_up()
        self.fetch()
        self.compare()
        self.slow()
        self.usability()
        self.say({"faults": self.faults})
        return 1 if self.faults else 0


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "inputs", "folder"):
        parser.add_argument("--" + name, required=True)
    for name in ("rounds", "jobs"):
        parser.add_argument("--" + name, type=int, required=True)
    judge(Load(parser.parse_args()))


main()
