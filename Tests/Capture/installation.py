"""An installation of inspectd whose links are opened: its processes, its partner and its answers. Imported by Tests/capture.py."""

import json
import os
import signal
import subprocess
import threading
import urllib.request

from trial import Processes

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Installation(Processes):
    def __init__(self, options, embedder):
        self.options = options
        self.embedder = embedder
        self.program = os.path.join(options.bin, "inspectd")
        self.processes = []
        self.faults = []
        self.counts = {"links": 0, "passed": 0, "attacks": 0}

    def set_up(self):
        drawing = threading.Thread(target=self.draw_camera)
        drawing.start()
        for words in (["migrate", "--roles"], ["migrate"]):
            subprocess.run([self.program, *words], check=True, stdout=subprocess.DEVNULL)
        self.psql("SELECT insp.create_partner('shop')")
        self.psql("SELECT insp.set_consent_policy('shop', true, 'https://www.shop.example/privacy', '2026-01', '{identity,biometrics,loyalty}')")
        self.psql("SELECT insp.set_capture_policy('shop', '{www.shop.example}')")
        self.bearer = self.psql(f"SELECT bearer FROM insp.create_credential('shop', '{{capture,read}}', origins => '{{{self.embedder}}}')")
        self.start("gateway", self.program, "gateway", "--listen", "0", "--address-rate", "10000")
        self.start("worker", self.program, "worker")
        self.url = f"http://127.0.0.1:{json.loads(self.await_text('gateway.log', 'gateway open'))['port']}"
        drawing.join()
        # A person who answers another challenge, for the camera of a browser that plays videos.
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump({"colours": ["BLUE", "YELLOW", "GREEN", "MAGENTA", "RED", "CYAN", "BLUE"], "colourMs": 500}, file)
        self.start("other", *self.captures, "--challenge", self.path("other.json"), "--out", self.path("other"))
        self.start("video", "/usr/bin/python3", os.path.join(TESTS, "Capture", "video.py"), self.path("other"), self.path("attack.y4m"),
                   str(self.processes[-1].pid))

    def draw_camera(self):
        """What the drawn camera shows of a person."""
        portrait = os.path.join(self.options.inputs, "faces", "obama.jpg")
        seen = json.loads(subprocess.run([self.program, "inspect", "--face", portrait, "--workflow", "liveness"], check=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        points = ",".join(f"{p['x']},{p['y']}" for p in seen["faces"][0]["landmarks"])
        self.captures = ["/usr/bin/python3", os.path.join(TESTS, "captures.py"), "--face", portrait, "--points", points]
        subprocess.run([*self.captures, "--camera", "--out", self.path("camera")], check=True, stdout=subprocess.DEVNULL)

    def call(self, method, path, body=None, bearer=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + (bearer or self.bearer), "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def link(self, bearer=None, **members):
        self.counts["links"] += 1
        return self.call("POST", "/capture/sessions", members, bearer)

    def job(self, link, bearer=None):
        """The result of a link's job."""
        [found] = self.psql(f"SELECT job_id FROM insp.capture_session WHERE id = '{link['id']}'").splitlines()
        for _ in range(4):
            result = self.call("GET", f"/inspectionjob/{found}?wait=60", bearer=bearer)
            if result["status"] == 128:
                break
        return result

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(60)
