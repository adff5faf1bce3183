"""Pulls events while everything is killed. Called by Tests/events.sh, and by itself as the puller (--pull)."""

import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

TOLERANCE = 300


def is_genuine(secret, event):
    """Standard Webhooks, "Verifying webhook authenticity"."""
    headers = event["headers"]
    name, moment = headers["webhook-id"], headers["webhook-timestamp"]
    if not moment.isdigit() or abs(time.time() - int(moment)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    code = hmac.new(key, f"{name}.{moment}.{event['body']}".encode(), hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(code).decode()
    return any(hmac.compare_digest(wanted, given) for given in headers["webhook-signature"].split(" "))


class Client:
    def __init__(self, url, bearer):
        self.url = url
        self.bearer = bearer

    def page(self, after, wait, limit):
        query = f"limit={limit}&wait={wait}" + (f"&after={after}" if after else "")
        request = urllib.request.Request(f"{self.url}/events?{query}", headers={"Authorization": "Bearer " + self.bearer})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


class Puller:
    """A partner's program: processes a page, which here is to write it down, and only then stores the cursor."""

    def __init__(self, options):
        self.secret = options.secret
        self.client = Client(options.url, options.bearer)
        self.random = random.Random(options.seed)
        self.log = os.path.join(options.folder, "pulled")
        self.cursor = os.path.join(options.folder, "cursor")

    def run(self):
        after = ""
        if os.path.exists(self.cursor):
            with open(self.cursor, encoding="utf-8") as file:
                after = file.read()
        while True:
            try:
                page = self.client.page(after, 5, self.random.choice((1, 7, 50, 200)))
            except urllib.error.HTTPError as error:
                body = error.read().decode(errors="replace")
                # Not now; everything else is a fault of this check or of the gateway.
                if error.code not in (429, 503):
                    self.write({"refused": error.code, "body": body[:300], "after": after})
                time.sleep(0.1)
                continue
            except (OSError, ValueError):
                # No connection, or an answer that was cut off.
                time.sleep(0.1)
                continue
            events = [
                {"id": e["headers"]["webhook-id"], "job": json.loads(e["body"])["data"].get("id"), "genuine": is_genuine(self.secret, e),
                 "digest": hashlib.sha256(e["body"].encode()).hexdigest()}
                for e in page["events"]]
            if events:
                self.write({"events": events})
                # Time for what a partner does with them, in which it is killed more often than not.
                time.sleep(self.random.uniform(0, 0.1))
            after = page["next"]
            with open(self.cursor + ".new", "w", encoding="utf-8") as file:
                file.write(after)
            os.rename(self.cursor + ".new", self.cursor)

    def write(self, entry):
        # A line that was cut off by a kill stays cut off: the next one begins on a line of its own.
        with open(self.log, "a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(entry) + "\n")


class Trial:
    KINDS = ("puller", "gateway", "database")

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.inspectd = os.path.abspath(os.path.join(options.bin, "inspectd"))
        self.database = os.environ["INSPECTD_DATABASE_URL"]
        self.environment = dict(os.environ, INSPECTD_MIGRATIONS=os.path.abspath("Migrations"))
        self.processes = {}
        self.killed = dict.fromkeys(self.KINDS, 0)
        self.begun = time.monotonic()
        self.longest = 30 if options.short else 900
        self.least = 2 if options.short else 10

    # MARK: Helpers

    def psql(self, sql):
        return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.database, "-c", sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120, check=False)

    def ask(self, sql):
        """While the database is killed, this asks again."""
        end = time.monotonic() + 180
        while True:
            answer = self.psql(sql)
            if answer.returncode == 0:
                return answer.stdout.strip()
            if time.monotonic() > end:
                raise RuntimeError(answer.stderr[-500:])
            time.sleep(0.1)
            # A server that was killed while it recovered seemed to run, and ends for good.
            self.restart_database()

    def start(self, name, *words):
        with open(os.path.join(self.options.folder, name + ".log"), "ab") as log:
            self.processes[name] = subprocess.Popen(list(words), env=self.environment, stdout=log, stderr=log)

    def start_gateway(self):
        # It judges no images here, so it has no children that would outlive it.
        self.start("gateway", self.inspectd, "gateway", "--listen", str(self.port), "--analyzers", "0", "--credential-rate", "100000",
                   "--address-rate", "100000", "--log-level", "warning")

    def start_puller(self):
        self.start("puller", sys.executable, os.path.abspath(__file__), "--pull", "--url", f"http://127.0.0.1:{self.port}",
                   "--bearer", self.bearer, "--secret", self.secret, "--folder", self.options.folder,
                   "--seed", str(self.options.seed + self.killed["puller"]))

    @staticmethod
    def patiently(call):
        """The gateway may have been started just now."""
        end = time.monotonic() + 180
        while True:
            try:
                return call()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    # MARK: The course

    def set_up(self):
        for words in (["migrate", "--roles"], ["migrate"]):
            subprocess.run([self.inspectd, *words], check=True, stdout=subprocess.DEVNULL, env=self.environment)
        self.secret = self.ask("SELECT secret FROM insp.create_partner('bank', 'pull:')")
        self.bearer = self.ask("SELECT bearer FROM insp.create_credential('bank', '{events}', rate_per_second => 100000)")
        request = json.dumps({"partner": "bank", "workflow": "id", "parts": {
            "FRONT": {"url": "https://img.example.com/a", "sha256": "0" * 64}}})
        for first in range(0, self.options.events, 1000):
            count = min(1000, self.options.events - first)
            self.ask(f"SELECT count(*) FROM insp.enqueue_many(array_fill('{request}'::jsonb, ARRAY[{count}]))")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Numbers events beside the gateway.
        self.start("worker", self.inspectd, "worker", "--roles", "inspect,maintain", "--log-level", "error")
        self.start_gateway()
        self.start_puller()

    def write_events(self, ranges, pause, seed):
        """Finishes jobs, in transactions of any size, of which some stay open for a while."""
        dice = random.Random(seed)
        for lowest, highest in ranges:
            late = dice.choice((0, 0, 0, 0, 0.3, 2))
            sql = (f"BEGIN; SELECT count(insp.cancel(j.public_id)) FROM insp.job j WHERE j.id BETWEEN {lowest} AND {highest} AND j.status < 128;"
                   f" SELECT pg_sleep({late}); COMMIT")
            # Without an answer, nobody knows whether it was committed. What was is not done again.
            while self.psql(sql).returncode != 0:
                # Nothing is killed any more by then; on a busy disk, a start after a kill takes long.
                if time.monotonic() - self.begun > self.longest + 240:
                    return
                time.sleep(0.1)
            time.sleep(dice.uniform(0, 2 * pause))

    def begin_writing(self, seconds):
        lowest, highest = (int(n) for n in self.ask("SELECT min(id) || ' ' || max(id) FROM insp.job").split())
        ranges = []
        while lowest <= highest:
            size = self.random.choice((1, 3, 20, 60))
            ranges.append((lowest, min(highest, lowest + size - 1)))
            lowest += size
        self.random.shuffle(ranges)
        writers = 4
        pause = seconds * writers / len(ranges)
        threads = [threading.Thread(target=self.write_events, args=(ranges[n::writers], pause, self.random.random()), daemon=True)
                   for n in range(writers)]
        for thread in threads:
            thread.start()
        return threads

    def kill(self, kind):
        if kind == "database":
            try:
                with open(os.path.join(self.options.postgres, "home"), encoding="utf-8") as file:
                    home = file.read().strip()
                with open(os.path.join(home, "data", "postmaster.pid"), encoding="utf-8") as file:
                    victim = int(file.readline())
                if self.random.random() < 0.5:
                    # One of its processes: the others end, and it recovers by itself, unless that one was recovering it.
                    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(victim)], stdout=subprocess.PIPE, text=True, check=False)
                    victim = self.random.choice([int(pid) for pid in children.stdout.split()])
                os.kill(victim, signal.SIGKILL)
            except (FileNotFoundError, IndexError, ProcessLookupError):
                # It has not recovered from the kill before.
                return
            finally:
                self.restart_database()
        else:
            self.processes[kind].kill()
            self.processes[kind].wait(30)
            (self.start_puller if kind == "puller" else self.start_gateway)()
        self.killed[kind] += 1

    def restart_database(self):
        """Unless it runs."""
        end = time.monotonic() + 180
        while True:
            # Its processes notice its end one by one, and hold the shared memory until then.
            done = subprocess.run(["deploy/scratch-postgres.sh", "start", self.options.postgres], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise RuntimeError("the database does not start")
            time.sleep(0.1)

    def run(self):
        writing = 8 if self.options.short else self.options.events / 100
        threads = self.begin_writing(writing)
        kinds = []
        while any(thread.is_alive() for thread in threads) or min(self.killed.values()) < self.least:
            if not kinds:
                kinds = list(self.KINDS)
                self.random.shuffle(kinds)
            time.sleep(self.random.uniform(0.2, 2))
            self.restart_database()
            self.kill(kinds.pop())
            if time.monotonic() - self.begun > self.longest:
                break
        # A server that was killed while it recovered seems to run, and then ends for good: the writers would wait for it in vain.
        while any(thread.is_alive() for thread in threads):
            self.restart_database()
            time.sleep(0.2)
        end = time.monotonic() + 180
        while True:
            # By gateway or worker, as always.
            self.unnumbered = int(self.ask("SELECT count(*) FROM insp.callback_pull WHERE position IS NULL"))
            if self.unnumbered == 0 or time.monotonic() > end:
                break
            time.sleep(0.2)
        self.expected = self.ask(
            "SELECT string_agg(c.webhook_id, ' ' ORDER BY p.epoch, p.position) FROM insp.callback_pull p"
            " JOIN insp.callback c ON c.id = p.callback_id WHERE p.position IS NOT NULL").split()
        end = time.monotonic() + 180
        while time.monotonic() < end:
            entries = self.pulled()
            seen = {e["id"] for entry in entries for e in entry.get("events", [])}
            if seen >= set(self.expected):
                break
            time.sleep(0.2)

    def pulled(self):
        entries = []
        path = os.path.join(self.options.folder, "pulled")
        if not os.path.exists(path):
            return entries
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    entries.append(json.loads(line))
                except ValueError:
                    # Blank, or cut off: the puller was killed before it stored the cursor, and asked again.
                    continue
        return entries

    def verdict(self):
        entries = self.pulled()
        place = {name: number for number, name in enumerate(self.expected)}
        pages = [[e["id"] for e in entry["events"]] for entry in entries if "events" in entry]
        events = [e for entry in entries for e in entry.get("events", [])]
        first, bodies = {}, {}
        for event in events:
            first.setdefault(event["id"], len(first))
            bodies.setdefault(event["id"], set()).add(event["digest"])
        # Within a page, one follows the other without a gap; and over all, each comes for the first time in its order.
        broken = sum(1 for page in pages if [place.get(name, -1) for name in page] != list(
            range(place.get(page[0], -1), place.get(page[0], -1) + len(page))))
        order = [place.get(name, -1) for name in sorted(first, key=first.get)]
        # All that was pulled anew, without any fault.
        client, after, again, begun = Client(f"http://127.0.0.1:{self.port}", self.bearer), "", [], time.monotonic()
        while True:
            page = self.patiently(lambda cursor=after: client.page(cursor, 0, 1000))
            if not page["events"]:
                break
            again += [e["headers"]["webhook-id"] for e in page["events"]]
            after = page["next"]
        seconds = time.monotonic() - begun
        answer = {
            "seed": self.options.seed, "events": len(self.expected), "killed": self.killed, "pages": len(pages),
            "repeated": len(events) - len(first), "missed": len(set(self.expected) - set(first)),
            "unknown": len(set(first) - set(self.expected)), "outOfOrder": broken + sum(1 for a, b in zip(order, order[1:]) if a >= b),
            "forged": sum(1 for e in events if not e["genuine"]), "changed": sum(1 for d in bodies.values() if len(d) > 1),
            "refused": sum(1 for entry in entries if "refused" in entry), "unnumbered": self.unnumbered,
            "differentAnew": int(again != self.expected), "pulledAnewPerSecond": round(len(again) / max(seconds, 0.001)),
            "seconds": round(time.monotonic() - self.begun, 1),
        }
        print(json.dumps(answer))
        for entry in [entry for entry in entries if "refused" in entry][:5]:
            print(json.dumps(entry), file=sys.stderr)
        faults = ("missed", "unknown", "outOfOrder", "forged", "changed", "refused", "unnumbered", "differentAnew")
        return (all(answer[name] == 0 for name in faults) and answer["events"] == self.options.events
                and min(self.killed.values()) >= 1)

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for name, process in self.processes.items():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                print(f"{name} does not stop", file=sys.stderr)
                process.kill()
                process.wait(30)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pull", action="store_true")
    for name in ("url", "bearer", "secret", "bin", "folder", "postgres"):
        parser.add_argument("--" + name)
    parser.add_argument("--events", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.pull:
        Puller(options).run()
        return
    trial = Trial(options)
    # A request to stop ends what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    holds = False
    try:
        trial.set_up()
        trial.run()
        holds = trial.verdict()
    finally:
        trial.stop()
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
