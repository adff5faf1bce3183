"""A partner's callbacks: received, replayed, signed under a new secret, and pulled. Imported by partner.py."""

import base64
import hashlib
import hmac
import json
import time


class Events:
    def received(self):
        with open(self.path("received"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def await_received(self, count, what):
        for _ in range(1200):
            if len(self.received()) >= count:
                return self.received()
            time.sleep(0.05)
        raise RuntimeError(f"{what}: {len(self.received())} of {count} callbacks arrived")

    def repairs_callbacks(self, job):
        [endpoint] = self.api("list_endpoints").sync(client=self.client).endpoints
        for _ in range(600):
            if all(c.state == "delivered" for c in self.api("list_callbacks").sync(client=self.client, job=job).callbacks):
                break
            time.sleep(0.1)
        [callback] = self.api("list_callbacks").sync(client=self.client, job=job).callbacks
        before = len(self.received())
        # The partner lost it: it asks for it again, and gets the same bytes.
        self.api("replay_callback").sync(callback.webhook_id, client=self.client)
        self.await_received(before + 1, "a replay")
        bodies = [c["body"] for c in self.received() if c["webhookId"] == callback.webhook_id]
        self.expect(len(bodies) == 2 and len(set(bodies)) == 1, "a replayed callback has other bytes")
        self.api("test_endpoint").sync(endpoint.id, client=self.client)
        self.await_received(before + 2, "a test event")
        secret = self.api("rotate_secret").sync(endpoint.id, client=self.client, body=self.models.RotateRequest(overlap_seconds=60)).secret
        self.api("test_endpoint").sync(endpoint.id, client=self.client)
        last = self.await_received(before + 3, "an event under two secrets")[-1]
        self.expect(secret != self.secret and last["signatures"] == 2 and last["verified"], "the old secret does not sign during the overlap")
        for callback in self.received():
            self.counts["callbacks"] += 1
            body = json.loads(callback["body"])
            self.expect(callback["verified"], "a callback is not verified")
            self.faults += self.schemas.faults(body, "EndpointEvent" if body["type"].startswith("endpoint.") else "JobEvent")

    def sees_callback(self):
        """The body for the job that the description shows, without the result: that is agreed with the operator."""
        for _ in range(600):
            for callback in self.received():
                body = json.loads(callback["body"])
                if body["data"].get("id") == self.seen["passed"]["id"]:
                    body["data"].pop("result", None)
                    self.seen["finished"] = body
                    return
            time.sleep(0.1)

    def pulls_events(self):
        # The operator's part.
        number, secret = self.psql("SELECT endpoint_id || ' ' || secret FROM insp.create_endpoint('bank', 'pull:')").split()
        first = self.api("pull_events").sync(client=self.client, wait=0)
        self.expect(first.events == [], "events of an endpoint that had none")
        name = self.api("test_endpoint").sync(int(number), client=self.client).webhook_id
        page = self.api("pull_events").sync(client=self.client, after=first.next_, wait=30)
        [event] = page.events
        headers = event.headers.to_dict()
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{event.body}".encode()
        code = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        self.expect(headers["webhook-id"] == name, "another event than the test's is pulled")
        self.expect(headers["webhook-signature"] == "v1," + base64.b64encode(code).decode(), "a pulled event is not verified")
        raw = self.seen["pulled"] = self.call("GET", "/events")
        self.faults += self.schemas.faults(raw, "EventPage")
        self.faults += self.schemas.faults(json.loads(raw["events"][0]["body"]), "EndpointEvent")
        self.expect(self.call("GET", "/events?after=" + page.next_)["events"] == [], "an event comes twice")
