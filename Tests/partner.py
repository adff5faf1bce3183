"""A partner that has HTTP alone, and the generated client that it uses. Tests/partner.sh starts it."""

import argparse
import base64
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import joserfc.jwe
import joserfc.jwk
import openapi_spec_validator

import examples
from partner_events import Events
from schemas import Schemas
from trial import Processes

WORKFLOWS = {
    "id": [("passport.jpg", None), ("id_front.jpg", "id_back.jpg"), ("licence_front.jpg", "licence_back.jpg"), ("altered_name.jpg", None),
           ("glare.jpg", None), ("landscape.jpg", None), ("torn.jpg", None), ("td2.jpg", None)],
    "id_identity": [("passport.jpg", None)],
    "similarity": [("passport.jpg", None)],
    "liveness": [(None, None)],
}


class Partner(Events, Processes):
    def __init__(self, options):
        self.options = options
        self.processes = []
        self.faults = []
        self.counts = {"results": 0, "callbacks": 0, "reasons": 0}
        # What stands in the description as examples, as this run gives it.
        self.seen = {}

    # MARK: The operator's part

    def set_up(self):
        program = os.path.join(self.options.bin, "inspectd")
        for words in (["migrate", "--roles"], ["migrate"]):
            subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
        self.secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.start("receiver", "/usr/bin/python3", "deploy/callback-receiver.py", "--port-file", self.path("port"), "--log",
                   self.path("received"), "--secret", self.secret)
        port = self.await_text("port", "").strip()
        self.psql(f"SELECT insp.create_partner('bank', 'http://127.0.0.1:{port}/ok', true, true)")
        self.psql(f"SELECT insp.callback_rotate_secret(id, '0', '{self.secret}') FROM insp.endpoint")
        self.psql("SELECT insp.set_endpoint(id, '{\"inlineResult\": true}') FROM insp.endpoint")
        self.key, self.password = self.psql(
            "SELECT key_id || ' ' || secret FROM insp.create_credential('bank', (SELECT array_agg(scope) FROM insp.scope))").split()
        self.start("gateway", program, "gateway", "--listen", "0")
        subprocess.run(["openssl", "genrsa", "-out", self.path("2026-11.pem"), "2048"], check=True, stderr=subprocess.DEVNULL)
        self.start("worker", program, "worker", "--decryption-key", self.path("2026-11.pem"))
        self.url = f"http://127.0.0.1:{json.loads(self.await_text('gateway.log', 'gateway open'))['port']}"

    # MARK: The partner's part

    def generate(self):
        with urllib.request.urlopen(self.url + "/openapi.json") as answer:
            document = json.load(answer)
        openapi_spec_validator.validate(document)
        self.schemas = Schemas(document)
        with open(self.path("openapi.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        made = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "openapi-python-client"), "generate", "--path", self.path("openapi.json"),
             "--output-path", self.path("bankclient"), "--meta", "none"], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.expect("Unable" not in made.stdout, "the client generator leaves something out: " + made.stdout[:500])
        sys.path.insert(0, self.options.folder)
        self.models = importlib.import_module("bankclient.models")
        client = importlib.import_module("bankclient.client")
        token = self.api("get_token").sync(client=client.Client(base_url=self.url), body=self.models.TokenRequest(
            grant_type="client_credentials", client_id=self.key, client_secret=self.password))
        self.token = token.access_token
        self.client = client.AuthenticatedClient(base_url=self.url, token=self.token, timeout=120)

    @staticmethod
    def api(name):
        return importlib.import_module(f"bankclient.api.default.{name}")

    def call(self, method, path, body=None):
        """Without the client, where the bytes themselves are looked at."""
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"} if body is not None
            else {"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def image(self, name):
        folder = "faces" if name.startswith(("obama", "biden")) else "specimens"
        with open(os.path.join(self.options.inputs, folder, name), "rb") as file:
            return base64.b64encode(file.read()).decode()

    def create(self, **members):
        job = self.api("create_inspection_job").sync(client=self.client, body=self.models.CreateRequest.from_dict(members))
        self.expect(isinstance(job, self.models.Job), f"a job is not accepted: {job}")
        self.seen.setdefault("created", job.to_dict())
        return str(job.id)

    def finished(self, job):
        """A job's result by the client, and as it came."""
        for _ in range(20):
            if self.api("get_inspection_job").sync(job, client=self.client, wait=60).status == 128:
                break
        raw = self.call("GET", "/inspectionjob/" + job)
        self.judge(raw)
        return self.api("get_inspection_job").sync(job, client=self.client), raw

    def judge(self, result, name="Job"):
        self.counts["results"] += 1
        self.faults += self.schemas.faults(result, name)
        kind = result.get("decision", {}).get("type")
        self.expect(result.get("status") != 128 or result.get("schemaVersion") == 1, "a result without schemaVersion")
        # What was erased or removed keeps its decision alone.
        if kind in ("REJECTED", "WARNING") and "purgedAt" not in result and "erasedAt" not in result and "isSealed" not in result:
            self.counts["reasons"] += len(result.get("reasons", []))
            self.expect(result.get("reasons"), f"a {kind} without a reason")
        if kind == "PASSED":
            self.expect(result.get("reasons", []) == [], "reasons of what passed")

    def judges_at_once(self):
        for name, wanted in (("id_front.jpg", "PASSED"), ("blurred.jpg", None), ("landscape.jpg", "REJECTED")):
            typed = self.api("judge_usability").sync(client=self.client, body=self.models.UsabilityRequest.from_dict(
                {"encodedFrontImage": self.image(name)}))
            self.expect(isinstance(typed, self.models.Usability) and typed.decision.type_ == (wanted or typed.decision.type_),
                        f"{name} at once: {typed}")
            raw = self.call("POST", "/usability?language=de", {"encodedFrontImage": self.image(name)})
            self.faults += self.schemas.faults(raw, "Usability")
            self.expect((raw["decision"]["type"] == "PASSED") == (raw["reasons"] == []), f"{name}: {raw['decision']} {raw['reasons']}")

    def jobs(self):
        for workflow, sides in WORKFLOWS.items():
            made = []
            for front, back in sides:
                members = {"workflow": workflow, "userReference": "user 7"}
                if front:
                    members["encodedFrontImage"] = self.image(front)
                if back:
                    members["encodedBackImage"] = self.image(back)
                if workflow != "id":
                    # Not the photograph that is the specimens' portrait.
                    members["encodedFaceImage"] = self.image("obama2.jpg")
                made.append((front, self.create(**members)))
            for front, job in made:
                result, raw = self.finished(job)
                if (workflow, front) == ("id", "passport.jpg"):
                    data = result.capabilities.extraction[0].data
                    self.expect(len(data.mrz.lines) == 2 and str(data.date_of_birth) > "1900" and data.type_ == "PASSPORT",
                                "a typed result lacks what was read")
                if front == "altered_name.jpg":
                    self.seen["rejected"] = raw
                    self.expect(result.decision.type_ == "REJECTED" and result.reasons[0].advice, f"an altered name: {raw['decision']}")

    def enrols(self):
        enrolled = self.api("enrol_face").sync("face 7", client=self.client, body=self.models.CreateRequest.from_dict(
            {"encodedFaceImage": self.image("obama.jpg"), "userReference": "user 7"}))
        self.finished(str(enrolled.id))
        face = self.api("get_face").sync("face 7", client=self.client)
        self.expect(len(face.templates) == 1, "an enrolled face has no template")
        checked = self.create(workflow="authentication", faceId="face 7", userReference="user 7",
                              encodedFaceImage=self.image("obama.jpg"))
        self.finished(checked)

    def passes_challenge(self, workflow, **members):
        program, folder = os.path.join(self.options.bin, "inspectd"), self.path("frames-" + workflow)
        portrait = os.path.join(self.options.inputs, "faces", "obama.jpg")
        seen = json.loads(subprocess.run([program, "inspect", "--face", portrait, "--workflow", "liveness"], check=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        self.judge(seen | {"id": "00000000-0000-0000-0000-000000000000"})
        points = ",".join(f"{p['x']},{p['y']}" for p in seen["faces"][0]["landmarks"])
        issued = self.call("POST", "/liveness/challenge", {"method": "colour_flash", "lifetimeSeconds": 300})
        self.faults += self.schemas.faults(issued, "Challenge")
        begun = time.monotonic()
        with open(self.path("challenge.json"), "w", encoding="utf-8") as file:
            json.dump(issued, file)
        subprocess.run(["/usr/bin/python3", "Tests/captures.py", "--face", portrait, "--points", points, "--challenge",
                        self.path("challenge.json"), "--out", folder], check=True, stdout=subprocess.DEVNULL)
        with open(folder + ".json", encoding="utf-8") as file:
            times = json.load(file)["frameTimes"]
        # A camera takes as long as its frames say; frames of the future are refused.
        time.sleep(max(0, times[-1] / 1000 - (time.monotonic() - begun)))
        frames = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                frames.append(base64.b64encode(file.read()).decode())
        job = self.call("POST", "/inspectionjob/create", {
            "workflow": workflow, "userReference": "user 7", "parts": {"FRAMES": [{"content": frame} for frame in frames]},
            "challenge": {"token": issued["token"], "frameTimes": times}} | members)["id"]
        result, raw = self.finished(job)
        self.expect(result.decision.type_ == "PASSED", f"a challenge that was met: {result.decision} {result.reasons}")
        self.seen["liveness" if workflow == "liveness" else "passed"] = raw
        return job

    def is_refused(self):
        try:
            self.call("POST", "/inspectionjob/create", {"documentFormat": "td3", "encodedFrontImage": self.image("passport.jpg")})
        except urllib.error.HTTPError as error:
            self.seen["refused"] = json.load(error)
        self.faults += self.schemas.faults(self.seen["refused"], "Problem")

    def sends_example(self):
        """The request that the description shows, with a test credential."""
        shown = self.seen["specimen"] = self.schemas.document["components"]["examples"]["specimen"]["value"]
        bearer = self.psql("SELECT bearer FROM insp.create_test_credential('bank')")
        request = urllib.request.Request(self.url + "/inspectionjob/create?wait=60", json.dumps(shown).encode(),
                                         {"Authorization": "Bearer " + bearer, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            result = json.load(answer)
        self.expect(result["status"] == 128 and result["decision"]["type"] == "PASSED", f"the request that is shown: {result}")

    def sees_usage(self):
        for _ in range(600):
            usage = self.call("GET", "/usage")
            if usage["total"] > 0:
                break
            time.sleep(0.1)
        self.faults += self.schemas.faults(usage, "Usage")
        self.expect(sum(c["jobs"] for c in usage["counts"]) == usage["total"] > 0, f"the counts of this month: {usage}")
        self.expect(self.api("get_usage").sync(client=self.client, month="2001-01").total == 0, "jobs of a month without any")

    def sealed(self, path, key):
        """An answer that only the owner of a key can read."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            self.expect(answer.headers["Content-Type"] == "application/jose", f"{path} is not encrypted")
            return self.opened(answer.read().decode(), key)

    @staticmethod
    def opened(text, key):
        token = joserfc.jwe.decrypt_compact(text, key, algorithms=["RSA-OAEP-256", "ECDH-ES", "A256GCM"])
        return json.loads(token.plaintext)

    def encrypts(self, job):
        """Both ways, by a client library that knows nothing of the product."""
        plain = self.call("GET", "/inspectionjob/" + job)
        for key in (joserfc.jwk.RSAKey.generate_key(3072), joserfc.jwk.ECKey.generate_key("P-256"), joserfc.jwk.ECKey.generate_key("P-521")):
            stored = self.api("set_encryption_key").sync(
                client=self.client, body=self.models.PublicKey.from_dict(key.as_dict(private=False)))
            self.expect(isinstance(stored, self.models.PublicKey) and stored.kid == key.thumbprint(), f"a key is not stored: {stored}")
            self.expect(self.sealed("/inspectionjob/" + job, key) == plain, "an encrypted result is another one")
            page = self.sealed("/persons/user%207/export?limit=1", key)
            self.faults += self.schemas.faults(page, "Export")
            self.faults += self.schemas.faults(self.sealed("/events?limit=1", key), "EventPage")
            before = len(self.received())
            [callback] = self.api("list_callbacks").sync(client=self.client, job=job).callbacks
            self.api("replay_callback").sync(callback.webhook_id, client=self.client)
            last = self.await_received(before + 1, "an encrypted callback")[-1]
            self.expect(last["verified"], "an encrypted callback is not verified")
            self.faults += self.schemas.faults(self.opened(last["body"], key), "JobEvent")
        self.api("delete_encryption_key").sync(client=self.client)
        self.expect(self.call("GET", "/inspectionjob/" + job) == plain, "without a key the result is another one")

        keys = self.call("GET", "/.well-known/jwks.json")
        self.faults += self.schemas.faults(keys, "KeySet")
        key = joserfc.jwk.RSAKey.import_key(keys["keys"][0])
        with open(os.path.join(self.options.inputs, "specimens", "passport.jpg"), "rb") as file:
            part = joserfc.jwe.encrypt_compact(
                {"alg": "RSA-OAEP-256", "enc": "A256GCM", "kid": keys["keys"][0]["kid"]}, file.read(), key,
                algorithms=["RSA-OAEP-256", "A256GCM"])
        # The part is the text of the JWE.
        result, raw = self.finished(self.create(workflow="id", encodedFrontImage=base64.b64encode(part.encode()).decode(), userReference="user 7"))
        self.expect("error" not in raw and len(result.capabilities.extraction[0].data.mrz.lines) == 2, f"an encrypted part: {raw.get('error')}")

    def reads_tables(self):
        for name, schema in (("errors", "ErrorTable"), ("documents", "DocumentTable")):
            self.faults += self.schemas.faults(self.call("GET", "/" + name), schema)

    def forgets(self):
        jobs, after = [], ""
        while True:
            page = self.call("GET", "/persons/user%207/export?limit=5" + after)
            self.faults += self.schemas.faults(page, "Export")
            jobs += [entry["result"]["id"] for entry in page["jobs"]]
            if "next" not in page:
                break
            after = "&after=" + page["next"]
        erased = self.call("DELETE", "/persons/user%207")["jobs"]
        self.expect(erased == len(jobs) > 5, f"{len(jobs)} jobs were exported, {erased} erased")
        for job in jobs:
            self.judge(self.call("GET", "/inspectionjob/" + job))
        self.expect(self.call("GET", "/persons/user%207/export")["jobs"] == [], "an erased person is exported")
        withdrawn = self.api("withdraw_consent").sync("user 7", client=self.client)
        self.expect((withdrawn.cancelled, withdrawn.jobs) == (0, 0), f"a withdrawal finds something of an erased person: {withdrawn}")

    def run(self):
        self.set_up()
        self.generate()
        self.reads_tables()
        self.judges_at_once()
        self.jobs()
        self.enrols()
        self.passes_challenge("id_identity", encodedFrontImage=self.image("passport.jpg"))
        job = self.passes_challenge("liveness")
        self.is_refused()
        self.sends_example()
        self.repairs_callbacks(job)
        self.sees_callback()
        self.pulls_events()
        self.sees_usage()
        self.faults += examples.judge(self.schemas, self.seen, self.options.renew)
        self.encrypts(job)
        self.forgets()
        if self.options.results:
            with open(self.options.results, encoding="utf-8") as file:
                for line in file:
                    self.judge(json.loads(line))

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(60)


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "inputs", "folder"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--results")
    parser.add_argument("--renew", action="store_true")
    partner = Partner(parser.parse_args())
    try:
        partner.run()
    finally:
        partner.stop()
    distinct = sorted(set(partner.faults))
    print(json.dumps(partner.counts | {"faults": len(partner.faults)}))
    for fault in distinct[:40]:
        print(fault, file=sys.stderr)
    sys.exit(1 if distinct else 0)


if __name__ == "__main__":
    main()
