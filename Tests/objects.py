"""Whole jobs with their parts in moto's S3, by the programs as users run them. Called by Tests/objects.sh."""

import argparse
import base64
import http.client
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

import boto3

from trial import Trial, judge

BUCKET, PREFIX = "parts", "inspectd"
# What DEPLOYING.md says that programs need.
POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], "Resource": f"arn:aws:s3:::{BUCKET}/{PREFIX}/*"},
        {"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetBucketVersioning"], "Resource": f"arn:aws:s3:::{BUCKET}"},
    ],
}


def padded(data, size):
    """A JPEG with comments, up to a size: as large as one of a good camera, and read in the same way."""
    out = bytearray(data[:2])
    missing = size - len(data)
    while missing > 4:
        count = min(missing - 4, 65_533)
        out += b"\xff\xfe" + (count + 2).to_bytes(2, "big") + os.urandom(count)
        missing -= count + 4
    return bytes(out) + data[2:]


class ObjectsTrial(Trial):
    def __init__(self, options):
        super().__init__(options)
        self.main = os.environ["INSPECTD_DATABASE_URL"]
        self.environment.update(INSPECTD_KEYS_URL=self.main + "&dbname=objects_keys", INSPECTD_WRAPPING_KEYS="file:" + self.path("wrapping"))

    # MARK: Helpers

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        self.processes.remove(process)

    def sql(self, text, database=None):
        answer = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", database or self.main, "-c", text], stdout=subprocess.PIPE, check=True)
        return answer.stdout.decode().strip()

    def wait(self, text, expected, what, seconds=180):
        end = time.time() + seconds
        while self.sql(text) != expected:
            if time.time() > end:
                raise RuntimeError(f"{what}: {self.sql(text)}")
            time.sleep(0.2)

    # MARK: Set-up

    def set_up(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # The first four actions make the user; from then on each is checked.
        self.moto = self.start("moto", "-H", "127.0.0.1", "-p", str(port), program=os.path.join(os.path.dirname(sys.executable), "moto_server"),
                               environment=dict(os.environ, INITIAL_NO_AUTH_ACTION_COUNT="4"))
        self.url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        options = {"endpoint_url": self.url, "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
        iam = boto3.client("iam", **options)
        iam.create_user(UserName="inspectd")
        iam.put_user_policy(UserName="inspectd", PolicyName="parts", PolicyDocument=json.dumps(POLICY))
        key = iam.create_access_key(UserName="inspectd")["AccessKey"]
        boto3.client("s3", **options).create_bucket(Bucket=BUCKET)
        options.update(aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
        self.s3 = boto3.client("s3", **options)
        with open(os.path.join(self.folder, "credentials"), "w", encoding="utf-8") as file:
            file.write(f"{key['AccessKeyId']}\n{key['SecretAccessKey']}\n")
        self.environment["INSPECTD_OBJECT_STORE"] = f"{self.url}/{BUCKET}/{PREFIX}?credentials-file={self.folder}/credentials"
        self.command("keys", "make", "--key-file", os.path.join(self.folder, "wrapping"))
        self.sql("CREATE DATABASE objects_keys")
        self.command("migrate", "--roles")
        self.command("migrate")
        self.command("keys", "init", "--roles")
        self.command("keys", "init")
        self.sql("SELECT insp.create_partner('bank')")
        self.bearer = self.sql("SELECT bearer FROM insp.create_credential('bank', '{create,read}', rate_per_second => 100000)")
        self.start("gateway", "gateway", "--listen", "0")
        self.gateway = self.port("gateway", "gateway open")
        doctor = [json.loads(line) for line in self.command("doctor", "--no-database").stdout.splitlines()]
        self.expect([f["outcome"] for f in doctor if f["check"] == "object store"] == ["pass"], f"the doctor: {doctor[-1]}")

    def worker(self, *words):
        return self.start("worker", "worker", "--slots", "2", *words)

    # MARK: Jobs

    PARTS = {
        "id": {"front": "specimens/passport.jpg"},
        "id_identity": {"front": "specimens/id_front.jpg", "back": "specimens/id_back.jpg", "face": "faces/obama2.jpg"},
        "similarity": {"front": "specimens/passport.jpg", "face": "faces/obama2.jpg"},
        "liveness": {"face": "faces/obama2.jpg"},
    }

    def by_gateway(self, workflow, **more):
        body = {"workflow": workflow, "parts": {}, **more}
        for kind, name in self.PARTS[workflow].items():
            with open(self.input(name), "rb") as file:
                body["parts"][kind.upper()] = {"content": base64.b64encode(file.read()).decode()}
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway, timeout=90)
        connection.request("POST", "/inspectionjob/create", json.dumps(body), {
            "Authorization": "Bearer " + self.bearer, "Content-Type": "application/json"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
        return answer.status, document.get("id"), document.get("code")

    def by_command(self, workflow, *more, environment=None):
        words = ["enqueue", "--partner", "bank", "--workflow", workflow, *more]
        for kind, name in self.PARTS[workflow].items():
            words += ["--" + kind, self.input(name)]
        return self.command(*words, environment=environment).stdout.decode().strip()

    def objects(self):
        found = []
        for page in self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=PREFIX + "/"):
            found += [entry["Key"] for entry in page.get("Contents", [])]
        return found

    def object_of(self, job):
        return self.sql(f"SELECT DISTINCT split_part(p.location, '#', 1) FROM insp.part p JOIN insp.job j ON j.id = p.job_id WHERE j.public_id = '{job}'"
                        ).removeprefix(f"s3:{BUCKET}/")

    def ends(self, job, seconds=180):
        self.wait(f"SELECT status FROM insp.job WHERE public_id = '{job}'", "128", "a job does not end", seconds)
        return json.loads(self.command("status", job, "--purpose", "support").stdout)

    # MARK: Checks

    def whole_jobs(self):
        """Jobs of all workflows by both ways; returns them."""
        worker = self.worker()
        jobs = []
        workflows = list(self.PARTS)
        for number in range(self.options.jobs):
            workflow = workflows[number % len(workflows)]
            if number % 2:
                status, job, code = self.by_gateway(workflow, userReference=f"u-{number}")
                self.expect(status == 201, f"the gateway answers {status} {code}")
            else:
                job = self.by_command(workflow, "--user-reference", f"u-{number}")
            jobs.append(job)
        for job in jobs:
            document = self.ends(job)
            self.expect("error" not in document and "capabilities" in document, f"a job ends so: {document.get('error')}")
        self.expect(self.sql("SELECT count(*) FROM insp.content") == "0", "parts are in the database")
        self.expect(len(self.objects()) == len(jobs), f"{len(self.objects())} objects of {len(jobs)} jobs")
        images = []
        for name in {name for parts in self.PARTS.values() for name in parts.values()}:
            with open(self.input(name), "rb") as file:
                data = file.read()
            images.append(data[600:624])
        for key in self.objects():
            data = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            self.expect(data[:1] == b"\x01" and not any(image in data for image in images), "an object is not sealed")
        # A request that is refused, and one that is repeated.
        status, _, code = self.by_gateway("id", documentFormat="TD9")
        self.expect((status, code) == (400, "DOCUMENT_FORMAT_UNKNOWN"), f"a refused request: {status} {code}")
        self.expect(len(self.objects()) == len(jobs), "the object of a refused request is left")
        first = self.by_command("id", "--idempotency-key", "again")
        self.expect(self.by_command("id", "--idempotency-key", "again") == first, "a repeated request is another job")
        self.ends(first)
        end = time.time() + 60
        while len(self.objects()) > len(jobs) + 1 and time.time() < end:
            time.sleep(0.2)
        self.expect(len(self.objects()) == len(jobs) + 1, "the object of a repeated request is left")
        self.stop(worker)
        return jobs + [first]

    def faulty(self):
        """Parts that the store lost or changed, and a store that hangs."""
        self.sql("SELECT insp.pause(lane => 'normal')")
        lost, changed, cut, late = (self.by_command("id") for _ in range(4))
        self.s3.delete_object(Bucket=BUCKET, Key=self.object_of(lost))
        for job, change in ((changed, lambda b: b[:-1] + bytes([b[-1] ^ 1])), (cut, lambda b: b[:-1])):
            key = self.object_of(job)
            self.s3.put_object(Bucket=BUCKET, Key=key, Body=change(self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()))
        # Two workers' worth of patience: the fetch ends by its own deadline.
        self.moto.send_signal(signal.SIGSTOP)
        self.sql("SELECT insp.resume(lane => 'normal')")
        worker = self.worker("--fetch-deadline", "5")
        try:
            self.wait("SELECT count(*) FROM insp.delayed WHERE last_error = 'OBJECT_STORE_UNAVAILABLE' AND attempt = 0", "4",
                      "jobs are not delayed while the store hangs")
            status, _, code = self.by_gateway("id")
            self.expect((status, code) == (503, "OBJECT_STORE_UNAVAILABLE"), f"the gateway, while the store hangs: {status} {code}")
        finally:
            self.moto.send_signal(signal.SIGCONT)
        for job, code in ((lost, "OBJECT_MISSING"), (changed, "DIGEST_MISMATCH"), (cut, "DIGEST_MISMATCH"), (late, None)):
            error = self.ends(job).get("error", {}).get("code")
            self.expect(error == code, f"a job that should end with {code} ends with {error}")
        # Keys that are wrong for a while.
        path = os.path.join(self.folder, "credentials")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        self.sql("SELECT insp.pause(lane => 'normal')")
        job = self.by_command("id")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good.split()[0] + " wrong")
        self.sql("SELECT insp.resume(lane => 'normal')")
        self.wait("SELECT count(*) FROM insp.delayed WHERE last_error = 'OBJECT_STORE_UNAVAILABLE'", "1", "a job with wrong keys is not delayed")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
        self.expect("error" not in self.ends(job), "a job does not outlive wrong keys")
        self.stop(worker)

    def erase(self, jobs):
        """Every second job."""
        worker = self.worker()
        gone = [self.object_of(job) for job in jobs[::2]]
        kept = [self.object_of(job) for job in jobs[1::2]]
        start = time.time()
        for job in jobs[::2]:
            self.sql(f"SELECT insp.erase('{job}')")
        self.wait("SELECT count(*) FROM insp.object_gone", "0", "objects of erased jobs are not deleted", 60)
        seconds = time.time() - start
        left = set(self.objects())
        self.expect(not left & set(gone), "an erased job's object is left")
        self.expect(set(kept) <= left, "another job's object is gone")
        self.stop(worker)
        return round(seconds, 1)

    # MARK: Figures

    def wal(self, environment, count=20):
        """WAL of an id_identity job with two images of 1 MB, from its request to 128, the workers' own included."""
        files = []
        for kind, name in (("front", "specimens/id_front.jpg"), ("face", "faces/obama2.jpg")):
            path = os.path.join(self.folder, kind + ".jpg")
            with open(self.input(name), "rb") as source, open(path, "wb") as target:
                target.write(padded(source.read(), 1_000_000))
            files += ["--" + kind, path]
        words = ["enqueue", "--partner", "bank", "--workflow", "id_identity", *files]
        worker = self.start("measured", "worker", "--slots", "2", environment=environment)

        def run(number):
            for job in [self.command(*words, environment=environment).stdout.decode().strip() for _ in range(number)]:
                self.wait(f"SELECT status FROM insp.job WHERE public_id = '{job}'", "128", "a job does not end")

        # The first ones after a checkpoint write full pages.
        self.sql("CHECKPOINT")
        run(5)
        before = self.sql("SELECT pg_current_wal_insert_lsn()")
        run(count)
        found = int(self.sql(f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{before}')"))
        self.stop(worker)
        return round(found / count)

    def accepted(self, script, seconds=10):
        path = os.path.join(self.folder, "script.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        pgbench = sorted(p for p in (f"/usr/lib/postgresql/{v}/bin/pgbench" for v in range(15, 30)) if os.path.exists(p))[-1]
        before = self.sql("SELECT pg_current_wal_insert_lsn()")
        answer = subprocess.run([pgbench, "-n", "-c", "4", "-j", "2", "-T", str(seconds), "-f", path, self.main], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=True).stdout.decode()
        done = int(re.search(r"actually processed: (\d+)", answer)[1])
        wal = int(self.sql(f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{before}')"))
        return float(re.search(r"tps = ([\d.]+)", answer)[1]), wal / done

    def figures(self):
        inline = dict(self.environment)
        del inline["INSPECTD_OBJECT_STORE"]
        wal = {"database": self.wal(inline), "store": self.wal(self.environment)}
        # What the server itself does for a request: the bytes are in a table already.
        self.sql("CREATE UNLOGGED TABLE public.image (bytes bytea)")
        self.sql("INSERT INTO public.image SELECT string_agg(sha256(n::text::bytea), '') FROM generate_series(1, 31250) n")
        header = "'\\x01'::bytea || uuid_send(k.id)"
        payload = """'{"partner":"bank","workflow":"id_identity"}'"""
        sealed = f"{header} || decode(repeat('00', 60), 'hex'), sha256(k.id::text::bytea)"
        scripts = {
            "database": f"""SELECT insp.enqueue_parts({payload}, '{{FRONT,FACE}}', ARRAY[{header} || i.bytes, {header} || i.bytes], {sealed})
                FROM (SELECT gen_random_uuid() AS id) k, public.image i""",
            "store": f"""SELECT insp.enqueue_parts({payload}, '{{FRONT,FACE}}', '{{NULL,NULL}}', {sealed},
                ARRAY[o.place, o.place || '#1000017'], ARRAY[sha256('a'), sha256('b')], '{{1000017,1000017}}')
                FROM (SELECT gen_random_uuid() AS id) k,
                    LATERAL (SELECT 's3:parts/inspectd/2026-01-01/' || k.id || '/' || gen_random_uuid() AS place) o""",
        }
        rounds = {name: [] for name in scripts}
        for _ in range(3):
            for name, script in scripts.items():
                self.sql("SELECT pg_switch_wal(); CHECKPOINT")
                rounds[name].append(self.accepted(script.replace("\n", " ") + ";"))
        return {
            "walOfJob": wal,
            "acceptedPerSecond": {name: [round(rate) for rate, _ in found] for name, found in rounds.items()},
            "walOfRequest": {name: round(statistics.median(w for _, w in found)) for name, found in rounds.items()},
        }

    def run(self):
        start = time.time()
        self.set_up()
        jobs = self.whole_jobs()
        self.faulty()
        seconds = self.erase(jobs)
        answer = {"jobs": len(jobs), "objectsDeletedSeconds": seconds}
        if self.options.figures:
            answer |= self.figures()
        with open(os.path.join(self.folder, "moto.log"), encoding="utf-8", errors="replace") as file:
            text = re.sub(r"\x1b\[[0-9;]*m", "", file.read())
        answer["signedRequests"] = len(re.findall(r'"(?:PUT|GET|DELETE) /' + BUCKET + r'/\S* HTTP/1.1" 20\d', text))
        self.expect(answer["signedRequests"] > 3 * len(jobs), "the store checked few requests")
        print(json.dumps({**answer, "faults": self.faults[:20], "seconds": round(time.time() - start)}))
        return 0 if not self.faults else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--figures", action="store_true")
    judge(ObjectsTrial(parser.parse_args()))


main()
