"""The clients of deploy/clients/, as printed, and the relay between them and the gateway. Tests/clients.sh starts it."""

import argparse
import base64
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import receivers
import trial
from clients_relay import PUT_OFF, Between

# The name of the file, its block's language, and how it is run.
PAGES = {
    "python": ("client.py", "python", ["/usr/bin/python3", "client.py"]),
    "javascript": ("client.mjs", "javascript", ["node", "client.mjs"]),
    "php": ("client.php", "php", ["php", "client.php"]),
    "swift": ("client.swift", "swift", ["./client"]),
    "curl": ("client.sh", "bash", ["bash", "client.sh"]),
}
# What receives callbacks by itself; the others are run for each.
RECEIVERS = {
    "python": lambda port: ["/usr/bin/python3", "client.py", "receive", port],
    "javascript": lambda port: ["node", "client.mjs", "receive", port],
    "php": lambda port: ["php", "-S", f"127.0.0.1:{port}", "client.php"],
}
WEBHOOK = ("webhook-id", "webhook-timestamp", "webhook-signature")


def blocks(page):
    """The blocks of a page, by language."""
    with open(f"deploy/clients/{page}.md", encoding="utf-8") as file:
        return {language: text for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.M | re.S)}


class Clients(Between, trial.Trial):
    def __init__(self, options):
        super().__init__(options)
        self.lock = threading.Lock()
        # Requests that came by each client: method, path, time, status.
        self.requests = {name: [] for name in PAGES}
        self.callbacks = {name: [] for name in PAGES}
        # Clients whose tokens shall be about to expire, and how many tokens of a client shall have expired when they come.
        self.hasty = set(PAGES)
        self.expiring = dict.fromkeys(PAGES, 0)
        self.receivers = {}
        self.counts = {"pages": 0, "refused": 0, "events": 0}

    def psql(self, sql):
        return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", os.environ["INSPECTD_DATABASE_URL"], "-c", sql], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=60).stdout.strip()

    # MARK: What receives callbacks

    def callback_receiver(self):
        """Has each callback judged by a page's code, and answers as that says."""
        site = self

        class Receiver(receivers.Handler):
            def do_POST(self):
                body = self.body()
                name = self.path.strip("/")
                headers = {key: self.headers.get(key, "") for key in WEBHOOK}
                is_authentic = site.judged(name, headers, body)
                site.callbacks[name].append((headers, body, is_authentic))
                self.answer(204 if is_authentic else 401)

        return receivers.served(Receiver).server_address[1]

    def judged(self, name, headers, body):
        """Whether a page's code takes a callback for authentic."""
        if name in RECEIVERS:
            request = urllib.request.Request(f"http://127.0.0.1:{self.receivers[name]}/", body,
                                             headers | {"Content-Type": "application/json"}, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status == 204
            except urllib.error.HTTPError as error:
                if error.code not in (401, 413, 500):
                    raise
                return False
            except (urllib.error.URLError, ConnectionError) as error:
                # What is too long may be cut off before it is answered.
                if len(body) < receivers.OVERSIZED:
                    raise RuntimeError(f"{name} does not answer a callback") from error
                return False
        variables = {"HTTP_" + key.upper().replace("-", "_"): value for key, value in headers.items()}
        return self.client(name, "verify", text=body, extra=variables, inbox="received", check=False).returncode == 0

    # MARK: A page's program

    def folder_of(self, name):
        return self.path(name)

    def settings(self, name, inbox, keys=None):
        return dict(os.environ, GATEWAY=f"http://127.0.0.1:{self.relay_port}/{name}", CLIENT_ID=self.key, CLIENT_SECRET=self.password,
                    WEBHOOK_KEYS=keys or self.secret, INBOX=inbox)

    def client(self, name, *words, text=b"", extra=None, inbox="pulled", keys=None, check=True):
        done = subprocess.run([*PAGES[name][2], *words], cwd=self.folder_of(name), env=self.settings(name, inbox, keys) | (extra or {}),
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(f"{name} {words[0]}: {done.stderr.decode()[-600:]}")
        return done

    def inbox(self, name, inbox):
        """The events that a page's code stored, by their names."""
        folder = os.path.join(self.folder_of(name), inbox)
        found = {}
        for entry in os.listdir(folder) if os.path.isdir(folder) else []:
            if entry.endswith(".json"):
                with open(os.path.join(folder, entry), "rb") as file:
                    found[entry.removesuffix(".json")] = file.read()
        return found

    def unpack(self):
        pages = {name.removesuffix(".md") for name in os.listdir("deploy/clients")}
        if pages != set(PAGES):
            raise RuntimeError(f"not every page is run: {pages}")
        for name, (file, language, _) in PAGES.items():
            os.mkdir(self.folder_of(name))
            found = blocks(name)
            self.write(f"{name}/{file}", found[language])
            if name == "swift":
                self.write(f"{name}/module.modulemap", found[""])
        # As the page says; it takes longer than everything else.
        self.compiler = subprocess.Popen(
            ["swiftc", "-parse-as-library", "-swift-version", "6", "-I", ".", "client.swift", "-o", "client"],
            cwd=self.folder_of("swift"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.processes.append(self.compiler)

    def set_up(self):
        self.command("migrate", "--roles")
        self.command("migrate")
        # Events are pulled, but for jobs with a URL of their own.
        self.endpoint, self.secret = self.psql("SELECT endpoint_id || ' ' || secret FROM insp.create_partner('bank', 'pull:', true, true)").split()
        pair = json.loads(self.command("verify", "--new-key").stdout)
        self.public_key = pair["public"]
        # A job's own URL may lead to this machine.
        settings = json.dumps({"signingKey": pair["private"], "allowedNetworks": ["127.0.0.0/8"]})
        self.psql(f"SELECT insp.set_endpoint({self.endpoint}, '{settings}')")
        # During a rotation both secrets sign; the clients have the old one.
        self.newer_secret = self.psql(f"SELECT insp.callback_rotate_secret({self.endpoint})")
        self.key, self.password = self.psql(
            "SELECT key_id || ' ' || secret FROM insp.create_credential('bank', '{create,read,events,callbacks}')").split()
        self.start("gateway", "gateway", "--listen", "0")
        self.start("worker", "worker")
        self.gateway_port = self.port("gateway", "gateway open")
        self.relay_port = self.relay()
        self.receiver_port = self.callback_receiver()
        for name, words in RECEIVERS.items():
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.receivers[name] = free.getsockname()[1]
            with open(self.path(f"{name}.log"), "wb") as log:
                self.processes.append(subprocess.Popen(words(str(self.receivers[name])), cwd=self.folder_of(name), stdout=log, stderr=log,
                                                       stdin=subprocess.DEVNULL, env=self.settings(name, "received")))
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", self.receivers[name])) == 0:
                        break
                time.sleep(0.05)

    # MARK: What a page shows

    def page(self, name):
        if name == "swift":
            said = self.compiler.communicate(timeout=180)[0].decode()
            if self.compiler.returncode != 0:
                raise RuntimeError(f"swift does not compile: {said[-1500:]}")
            self.expect("warning" not in said, f"swift: {said[-600:]}")
        self.survives(name)
        self.renews(name, self.sends(name))
        self.verifies(name)
        self.is_refused(name)
        with self.lock:
            self.counts["pages"] += 1

    def survives(self, name):
        """Whatever else comes before the first good callback, nothing of it is stored, and the receiver goes on."""
        idle = []
        if name in RECEIVERS:
            port = self.receivers[name]
            receivers.aborts(port)
            idle.append(receivers.begun(port, 1000))
            # PHP's own server reads all of a body before the page runs.
            if name != "php":
                self.expect(not receivers.takes_everything(port), f"{name}: a body without an end is read for ever")
                self.expect(receivers.is_refused(port, "-1"), f"{name}: a negative length is not refused")
        body, another = b" " * receivers.OVERSIZED, "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.expect(not self.judged(name, receivers.signed(self.secret, "msg_long", body), body), f"{name}: any length is taken")
        for what, secret, text in (("forged", another, b"{}"), ("cut", self.secret, b"")):
            self.expect(not self.judged(name, receivers.signed(secret, f"msg_{what}", b"{}"), text), f"{name}: a {what} callback is taken")
        blocked = self.write(f"{name}/received", "")  # a file where the inbox should be
        self.expect(not self.judged(name, receivers.signed(self.secret, "msg_lost", b"{}"), b"{}"), f"{name}: what is not stored is acknowledged")
        os.unlink(blocked)
        self.expect(self.inbox(name, "received") == {}, f"{name}: something of that is stored")
        for connection in idle:
            connection.close()

    def sends(self, name):
        image = self.input("specimens/passport.jpg")
        members = [f"userReference={name} 1", "documentFormat=TD3"]
        url = f"callbackUrl=http://127.0.0.1:{self.receiver_port}/{name}"
        job = self.client(name, "create", f"{name}-1", image, *members, url).stdout.decode().strip()
        tries = [entry for entry in self.requests[name] if entry[1].startswith("inspectionjob/create")]
        seen = [entry[3] for entry in tries]
        self.expect(seen == [*(status for status, _, _ in PUT_OFF), 201, 200], f"{name}: the tries of a job: {seen}")
        self.expect({entry[4] for entry in tries} == {f"{name}-1"}, f"{name}: a try without its Idempotency-Key")
        pauses = [later[2] - earlier[2] for earlier, later in zip(tries, tries[1:])]
        self.expect(all(pause > wanted - 0.1 for pause, (_, _, wanted) in zip(pauses, PUT_OFF)), f"{name}: Retry-After is ignored: {pauses}")
        # Each token was about to expire: none serves twice.
        self.expect(len({entry[5] for entry in tries}) == len(tries), f"{name}: a token that is about to expire serves twice")
        with self.lock:
            self.hasty.discard(name)
        begun = len(self.requests[name])
        again = self.client(name, "create", f"{name}-1", image, *members, url).stdout.decode().strip()
        self.expect(again == job, f"{name}: the same key makes another job")
        result = json.loads(self.client(name, "wait", job).stdout)
        self.expect(result["later"] == {}, f"{name}: an empty object becomes {result['later']}")
        self.expect(result["id"] == job and result["status"] == 128 and result["decision"]["type"] == "PASSED"
                    and len(result["capabilities"]["extraction"][0]["data"]["mrz"]["lines"]) == 2, f"{name}: {result.get('decision')}")
        tokens = sum(1 for entry in self.requests[name][begun:] if entry[1] == "oauth2/token")
        self.expect(tokens == 2, f"{name}: {tokens} tokens for two runs")
        self.client(name, "create", f"{name}-2", image, f"userReference={name} 1", "documentFormat=TD3")
        return job

    def renews(self, name, job):
        """A token that expires while it is under way is replaced, once for a request."""
        path = f"inspectionjob/{job}"
        for count in (1, 9):
            with self.lock:
                self.expiring[name], begun = count, len(self.requests[name])
            done = self.client(name, "wait", job, check=False)
            # Who tries many wrong tokens has to wait.
            seen = [(entry[1].split("?")[0], entry[3]) for entry in self.requests[name][begun:] if entry[3] != 429]
            last = 200 if count == 1 else 401
            self.expect(seen == [("oauth2/token", 200), (path, 401), ("oauth2/token", 200), (path, last)], f"{name}: an expired token: {seen}")
            if count == 1:
                self.expect(done.returncode == 0 and json.loads(done.stdout)["status"] == 128, f"{name}: no result with a new token")
            else:
                self.expect(done.returncode != 0 and b"UNAUTHENTICATED" in done.stderr, f"{name}: a refused token: {done.stderr[-300:]}")

    def verifies(self, name):
        for _ in range(600):
            if self.callbacks[name]:
                break
            time.sleep(0.1)
        headers, body, is_authentic = self.callbacks[name][0]
        self.expect(is_authentic, f"{name}: a callback is not taken for authentic")
        kinds = sorted(entry.split(",")[0] for entry in headers["webhook-signature"].split(" "))
        self.expect(kinds == ["v1", "v1", "v1a"], f"signatures during a rotation: {kinds}")
        self.expect(self.inbox(name, "received") == {headers["webhook-id"]: body}, f"{name}: another event is stored than was sent")
        self.expect(self.judged(name, headers, body), f"{name}: a repeated callback is refused")

        def forged(what, text=body, secret=self.secret, age=0, before="", **other):
            made = receivers.signed(secret, f"msg_{what}", body, int(time.time()) - age)
            return self.judged(name, made | {"webhook-signature": before + made["webhook-signature"]} | other, text)

        another = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.expect(forged("good") and forged("second", before="v1,AAAA v2,x v1a,AAAA "), f"{name}: a signature that fits is refused")
        self.expect(forged("late", age=280), f"{name}: five minutes are not tolerated")
        for what, accepted in {
                "body": forged("body", text=body.replace(b"PASSED", b"REJECT")), "old": forged("old", age=400),
                "future": forged("future", age=-400), "secret": forged("secret", secret=another),
                "unsigned": forged("unsigned", **{"webhook-signature": ""}), "broken": forged("broken", **{"webhook-signature": "v1,%%% v1 ,"}),
                "renamed": forged("renamed", **{"webhook-id": "msg_other"}), "time": forged("time", **{"webhook-timestamp": "1e9"}),
                "prefix": forged("prefix", **{"webhook-signature": "v1,"})}.items():
            self.expect(not accepted, f"{name}: a forged callback is taken for authentic: {what}")
            with self.lock:
                self.counts["refused"] += 1
        stored = set(self.inbox(name, "received")) - {headers["webhook-id"]}
        self.expect(stored == {"msg_good", "msg_second", "msg_late"}, f"{name}: a forged event is stored: {stored}")

    def is_refused(self, name):
        done = self.client(name, "create", f"{name}-3", self.input("specimens/passport.jpg"), "documentFormat=td3", check=False)
        said = done.stderr.decode()
        self.expect(done.returncode == 1 and "DOCUMENT_FORMAT_UNKNOWN [documentFormat]" in said and "TD1, TD2 or TD3" in said,
                    f"{name}: a wrong request: {done.returncode} {said[-300:]}")

    # MARK: Events

    def pulls(self, name, truth):
        first = self.client(name, "pull", "0").stdout.decode().split()
        self.expect(first == list(truth) and self.inbox(name, "pulled") == truth, f"{name}: pulled {first} instead of {list(truth)}")
        # Killed before the cursor was stored: the same events come again.
        os.unlink(os.path.join(self.folder_of(name), "pulled", "cursor"))
        again = self.client(name, "pull", "0").stdout.decode().split()
        self.expect(again == [], f"{name}: events were processed twice: {again}")
        begun = len(self.requests[name])
        self.client(name, "pull", "0")
        pages = [entry[1] for entry in self.requests[name][begun:] if entry[1].startswith("events")]
        self.expect(len(pages) == 1 and "after=" in pages[0], f"{name}: the stored cursor is not sent: {pages}")
        for inbox, keys in (("newer", self.newer_secret), ("public", self.public_key), ("both", f"{self.newer_secret} {self.secret}")):
            self.client(name, "pull", "0", inbox=inbox, keys=keys)
            self.expect(self.inbox(name, inbox) == truth, f"{name}: events are not verified by the key {inbox}")
        another = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        wrong = self.client(name, "pull", "0", inbox="wrong", keys=another, check=False)
        self.expect(wrong.returncode != 0 and self.inbox(name, "wrong") == {}, f"{name}: events are not verified at all")

    def events(self):
        """What GET /events gives, in its order."""
        for _ in range(600):
            request = urllib.request.Request(f"http://127.0.0.1:{self.gateway_port}/events?limit=1000",
                                             headers={"Authorization": f"Bearer {self.key}.{self.password}"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = {event["headers"]["webhook-id"]: event["body"].encode() for event in json.load(answer)["events"]}
            if len(found) == len(PAGES):
                break
            time.sleep(0.1)
        self.expect(len(found) == len(PAGES), f"{len(found)} events of {len(PAGES)} jobs")
        return found

    def compare(self, truth):
        """A pulled event is the callback that its job would have had: only ids and times differ."""
        def form(text):
            return json.dumps(re.sub(rb'"(id|timestamp|callbackSentAt)": ?"[^"]*"', rb'"\1": ""', text).decode())

        pulled = sorted(form(body) for body in truth.values())
        sent = sorted(form(self.callbacks[name][0][1]) for name in PAGES)
        self.expect(pulled == sent, f"pulled events are not as callbacks: {pulled[:1]} {sent[:1]}")

    def run(self):
        self.unpack()
        self.set_up()
        receivers.judge_demonstration(self)
        with concurrent.futures.ThreadPoolExecutor(len(PAGES)) as pool:
            for done in [pool.submit(self.page, name) for name in PAGES]:
                done.result()
            truth = self.events()
            self.counts["events"] = len(truth)
            self.compare(truth)
            for done in [pool.submit(self.pulls, name, truth) for name in PAGES]:
                done.result()
        jobs = self.psql("SELECT count(*) FROM insp.job")
        self.expect(jobs == str(2 * len(PAGES)), f"{jobs} jobs")
        print(json.dumps(self.counts | {"faults": len(self.faults)}))
        for fault in self.faults:
            print(fault)
        return 1 if self.faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("bin", "inputs", "folder"):
        parser.add_argument("--" + option, required=True)
    trial.judge(Clients(parser.parse_args()))
