"""Rotates keys under load, while rotators and workers are killed. Called by Tests/rotation.sh."""

import argparse
import base64
import http.client
import json
import os
import random
import struct
import subprocess
import threading
import time
import zlib

import psycopg2

from trial import Trial, judge

MODULE = "/usr/lib/softhsm/libsofthsm2.so"
PARTNERS = 60
WORKERS = 3


def image(number):
    """A small PNG like no other."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = random.Random(number).randbytes(64 * 65)
    rows = b"".join(b"\0" + pixels[y * 64:y * 64 + 64] for y in range(64))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


class RotationTrial(Trial):
    def __init__(self, options):
        super().__init__(options)
        self.spawn = {"cwd": self.folder}
        self.random = random.Random(options.seed)
        self.main_url, self.keys_url = os.environ["INSPECTD_DATABASE_URL"], os.environ["INSPECTD_KEYS_URL"]
        self.jobs = []
        self.counts = {"rotations": 0, "rotatorKills": 0, "workerKills": 0, "keyVersions": 0, "secrets": 0}
        self.isOver = threading.Event()

    def tool(self, *words):
        done = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, **self.spawn)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: {done.stderr.decode()[-300:]}")

    # MARK: Set-up

    def rows(self, sql, *values):
        connection = psycopg2.connect(self.main_url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows = cursor.fetchall() if cursor.description else []
        connection.close()
        return rows

    def set_up(self):
        os.makedirs(self.path("tokens"))
        self.environment["SOFTHSM2_CONF"] = self.write(
            "softhsm2.conf", f"directories.tokendir = {self.path('tokens')}\nlog.level = ERROR\n")
        pin = self.write("pin", "1234\n")
        self.tool("softhsm2-util", "--init-token", "--free", "--label", "hsm", "--so-pin", "5678", "--pin", "1234")
        self.tool("pkcs11-tool", "--module", MODULE, "--token-label", "hsm", "--login", "--pin", "1234", "--keygen", "--key-type", "AES:32",
                 "--label", "token-1", "--sensitive")
        self.tool("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                 "/CN=kms", "-addext", "subjectAltName=IP:127.0.0.1", "-out", self.path("kms.pem"), "-keyout", self.path("kms.key"))
        token, mode = self.write("kms-token", "root"), self.write("kms-mode", "ok")
        self.start("kms", os.path.abspath("Tests/vault-server.py"), "--certificate", self.path("kms.pem"), "--key", self.path("kms.key"),
                   "--token", "root", "--mode-file", mode, "--port-file", self.path("kms-port"), "--log", self.path("kms-requests"),
                   program="/usr/bin/python3")
        self.kms = f"https://127.0.0.1:{self.await_file('kms-port')}/v1/transit/keys/inspectd"
        for name in ("file-1", "file-2"):
            self.command("keys", "make", "--key-file", self.path("wrapping-keys"), "--name", name)
        self.environment["INSPECTD_WRAPPING_KEYS"] = " ".join((
            "file:" + self.path("wrapping-keys"), f"pkcs11:token=hsm;object=token-1?module-path={MODULE}&pin-source={pin}",
            f"vault:{self.kms}?token-file={token}&ca-file={self.path('kms.pem')}"))
        self.command("migrate", "--roles")
        self.command("migrate")
        self.command("keys", "init", "--to", "file-1")
        secret = "whsec_" + base64.b64encode(self.random.randbytes(32)).decode()
        self.start("receiver", os.path.abspath("deploy/callback-receiver.py"), "--port-file", self.path("port"), "--log",
                   self.path("received"), "--secret", secret, program="/usr/bin/python3")
        url = f"http://127.0.0.1:{self.await_file('port')}/ok"
        self.bearers = []
        for number in range(1, PARTNERS + 1):
            # The receiver knows this secret alone; it stays valid beside those that follow.
            self.rows("SELECT insp.callback_rotate_secret(endpoint_id, '0', %s) FROM insp.create_partner(%s, %s, true, true)", secret,
                      f"bank-{number}", url)
            self.bearers.append(self.rows("SELECT bearer FROM insp.create_credential(%s, '{create,read}', rate_per_second => 100000)",
                                          f"bank-{number}")[0][0])
        analyzer = self.write("analyzer", f"""#!/bin/sh
exec '{os.path.abspath(os.path.join(self.options.bin, 'faulty-analyzer'))}' --delay 30 \\
    --reply 'acquired={{"images": {{}}, "cpuMs": 0}}' --reply 'face={{"images": {{}}, "cpuMs": 0}}'
""", 0o755)
        self.work = ("worker", "--slots", "2", "--analyzer", analyzer)
        self.start("gateway", "gateway", "--listen", "0", "--address-rate", "100000")
        self.port = self.gateway_port()
        self.workers = [self.start(f"worker-{number}", *self.work) for number in range(WORKERS)]

    def gateway_port(self):
        end = time.time() + 60
        while time.time() < end:
            for line in open(self.path("gateway.log"), encoding="utf-8"):
                if '"gateway open"' in line:
                    return json.loads(line)["port"]
            time.sleep(0.05)
        raise RuntimeError("the gateway does not open")

    # MARK: Load and faults

    def call(self, method, path, bearer, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body and json.dumps(body),
                           {"Authorization": "Bearer " + bearer, "Content-Type": "application/json"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
        connection.close()
        return answer.status, document

    def produce(self, place):
        """Accepts jobs one after the other, each under its own idempotency key, so that a repeated request makes no second one."""
        number = 0
        while not self.isOver.is_set():
            number += 1
            reference = f"person-{place}-{number}"
            bearer = self.bearers[(number * 7 + place * 31) % PARTNERS]
            body = {"workflow": "liveness", "userReference": reference, "idempotencyKey": reference,
                    "parts": {"FACE": {"content": base64.b64encode(image(place * 1_000_000 + number)).decode()}}}
            for attempt in range(60):
                status, document = self.call("POST", "/inspectionjob/create", bearer, body)
                # 201 is a new job; 200 is a repeat of a request whose answer was lost.
                if status in (200, 201):
                    self.jobs.append((document["id"], bearer, reference))
                    break
                if status != 503:
                    self.faults.append(f"the gateway answers {status}: {document}")
                    return
                time.sleep(0.5)
            else:
                self.faults.append(f"the gateway answers 503 for half a minute: {document}")
                return
            time.sleep(0.05)

    def kill_workers(self):
        moments = random.Random(self.options.seed + 1)
        while not self.isOver.wait(moments.uniform(1, 4)):
            number = moments.randrange(WORKERS)
            self.workers[number].kill()
            self.workers[number].wait()
            self.counts["workerKills"] += 1
            self.workers[number] = self.start(f"worker-{number}", *self.work)

    def rotate_secrets(self):
        moments = random.Random(self.options.seed + 2)
        turns = {}
        while not self.isOver.wait(moments.uniform(0.5, 2)):
            # No endpoint has more than twelve valid secrets.
            endpoint = moments.randrange(PARTNERS) + 1
            turns[endpoint] = turns.get(endpoint, 0) + 1
            if turns[endpoint] <= 8:
                self.command("endpoint", "rotate", str(endpoint), "--overlap", "1 day")
                self.counts["secrets"] += 1

    def killed(self, *words):
        """Runs a command, and kills it now and then; whether it came to its end."""
        process = subprocess.Popen([self.inspectd, *words], env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, errors = process.communicate(timeout=self.random.uniform(0.02, 1.5) if self.random.random() < 0.7 else 120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.counts["rotatorKills"] += 1
            return False
        if process.returncode != 0:
            self.faults.append(f"{' '.join(words)}: {errors.decode()[-300:]}")
        return process.returncode == 0

    def rotate(self):
        names = ["file-1", "token-1", "inspectd", "file-2"]
        present = 0
        end = time.time() + self.options.seconds
        # On a slow machine the first rotations alone may take longer: everything is to happen at least once.
        while time.time() < end or (min(self.counts.values()) == 0 and time.time() < end + 120):
            present = (present + 1) % len(names)
            isDone = self.killed("keys", "rotate", "--to", names[present])
            while not isDone:
                # Killed before it began or in the middle: one or the other command goes on.
                state = json.loads(self.command("keys", "list").stdout)
                isBegun = state["wrappingKey"] == names[present]
                isDone = self.killed(*(("keys", "rewrap") if isBegun else ("keys", "rotate", "--to", names[present])))
                if self.faults:
                    return
            self.counts["rotations"] += 1
            if names[present] == "inspectd":
                self.tool("curl", "-sf", "--cacert", self.path("kms.pem"), "-X", "POST", "-d", "{}", "-H", "X-Vault-Token: root", self.kms + "/rotate")
                self.counts["keyVersions"] += 1
                while not self.killed("keys", "rewrap", "--all") and not self.faults:
                    pass

    # MARK: Checks

    def expect(self, holds, text):
        if not holds:
            self.faults.append(text)

    def check(self):
        end = time.time() + 180
        unfinished = -1
        while time.time() < end:
            unfinished = self.rows("SELECT count(*) FROM insp.job WHERE status < 128")[0][0]
            waiting = self.rows("SELECT (SELECT count(*) FROM insp.callback_waiting) + (SELECT count(*) FROM insp.callback_lease)")[0][0]
            if unfinished == 0 and waiting == 0:
                break
            time.sleep(0.5)
        known = {row[0] for row in self.rows("SELECT public_id::text FROM insp.job j JOIN insp.event e ON e.job_id = j.id "
                                             "WHERE j.status = 128 AND e.kind = 'finished'")}
        lost = [job for job, _, _ in self.jobs if job not in known]
        unreadable = 0
        for job, bearer, reference in self.jobs:
            status, document = self.call("GET", "/inspectionjob/" + job, bearer)
            unreadable += not (status == 200 and document.get("userReference") == reference and "capabilities" in document)
        dead = self.rows("SELECT count(*) FROM insp.dead")[0][0]
        doubled = self.rows("SELECT count(*) FROM insp.job")[0][0] - len(self.jobs)
        verified = json.loads(self.command("keys", "verify").stdout)
        state = json.loads(self.command("keys", "list").stdout)
        with open(self.path("received"), encoding="utf-8") as file:
            received = [json.loads(line) for line in file]
        unsigned = sum(not callback["verified"] for callback in received)
        told = {json.loads(callback["body"]).get("userReference") for callback in received}
        self.expect(unfinished == 0, f"{unfinished} jobs do not end")
        self.expect(not lost, f"{len(lost)} jobs are lost")
        self.expect(unreadable == 0, f"{unreadable} results cannot be read")
        self.expect(dead == 0, f"{dead} jobs were ended by faults")
        self.expect(doubled == 0, f"{doubled} jobs more than were accepted")
        self.expect(verified["unreadable"] == 0, f"keys verify: {verified}")
        self.expect("formerKey" not in state, "a rotation has not ended")
        self.expect(unsigned == 0, f"{unsigned} callbacks are not signed by a valid secret")
        self.expect(all(reference in told for _, _, reference in self.jobs), "a callback is missing")
        self.expect(min(self.counts.values()) > 0, f"something did not happen: {self.counts}")
        return {"jobs": len(self.jobs), "lost": len(lost), "unreadable": unreadable, "deadLettered": dead, "keys": verified["opened"],
                "callbacks": len(received), "unsigned": unsigned, **self.counts}

    def run(self):
        start = time.time()
        self.set_up()
        threads = [threading.Thread(target=work, args=arguments, daemon=True) for work, arguments in (
            (self.produce, (1,)), (self.produce, (2,)), (self.kill_workers, ()), (self.rotate_secrets, ()))]
        for thread in threads:
            thread.start()
        try:
            self.rotate()
        finally:
            self.isOver.set()
            for thread in threads:
                thread.join(90)
        answer = self.check()
        print(json.dumps({**answer, "seed": self.options.seed, "faults": self.faults[:10], "seconds": round(time.time() - start)}))
        return 0 if not self.faults else 1

    def end(self):
        self.isOver.set()
        super().end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder", required=True)
    judge(RotationTrial(parser.parse_args()))


main()
