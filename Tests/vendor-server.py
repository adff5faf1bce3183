"""A liveness vendor's server for tests, as its documents describe FaceTec Server 10: TLS, and one call, POST /process-request.

A request has requestBlob, which only this server can read, and perhaps externalDatabaseRefID, which the caller sets. An answer has
responseBlob, success, didError, result, additionalSessionData, httpCallInfo and serverInfo; while a document is scanned,
idScanResultsSoFar as well. A session takes several requests, until the app has no further blob; all of them must name one person.

A blob here is KIND.SESSION[.NUMBER]; it works once. The kind says what is in it, or how the server behaves:

    start                               the session begins: no verdict
    live, match7, match0                a living person; with the level of a comparison with the enrolled face
    spoof                               no living person: the app tries again, in the same session
    front, scan7, scan0                 a document's side; the complete document, with the level of its comparison
    guide, guidespoof, guidenomatch     the answers of the vendor's migration guide to its own middleware, by other names
    error                               the server cannot process the blob
    text, number, list …                answers that no document describes: see LIES
    html, busy, broken, bad, moved, hang, torn, drop, flood

Each request is a line of the log: the blob, and the person in Base64 or "-". It ends by itself after --seconds.
"""

import argparse
import base64
import hashlib
import http.server
import json
import os
import ssl
import subprocess
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--certificate", required=True)
parser.add_argument("--key", required=True)
parser.add_argument("--device-key", required=True)
parser.add_argument("--port-file", required=True)
parser.add_argument("--log", required=True)
parser.add_argument("--seconds", type=int, default=600)
options = parser.parse_args()
used, persons, lock = set(), {}, threading.Lock()

IMAGE = base64.b64encode(b"audit-trail-image" * 400).decode()
GUIDE = {
    "guide": {"success": True, "livenessPassed": True, "reason": "OK"},
    "guidespoof": {"success": True, "wasLivenessPassed": False, "reason": "LIVENESS_FAILED"},
    "guidenomatch": {"success": True, "livenessPassed": True, "matched": False, "matchLevel": 2},
    "guidequiet": {"success": True},
}
LIES = {
    "text": {"result": {"livenessProven": "true"}},
    "number": {"result": {"livenessProven": 1}},
    "list": {"result": [{"livenessProven": True}]},
    "both": {"didError": True},
    "quarrel": {"result": {"livenessProven": True}, "livenessPassed": False},
    "level": {"result": {"livenessProven": True, "matchLevel": 99}},
    "half": {"result": {"livenessProven": True, "matchLevel": 6.5}},
    "mute": {"result": {"livenessProven": True}, "responseBlob": None},
    "step": {"result": {"livenessProven": True}, "idScanResultsSoFar": {"photoIDNextStepEnumInt": "4"}},
    "two": {"result": {"livenessProven": True}, "sessionResponseBlob": "another"},
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", length=None, headers=()):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def process(self, blob, more):
        """The answer that the documents describe, with what is particular to this blob."""
        return self.answer(
            200,
            {
                "responseBlob": "answer-to-" + blob,
                "success": True,
                "didError": False,
                "result": {},
                "additionalSessionData": {"isAdditionalDataPartiallyIncomplete": False, "platform": "android"},
                "httpCallInfo": {"tid": "7", "path": self.path, "epochSecond": int(time.time()), "requestMethod": "POST"},
                "serverInfo": {"coreServerSDKVersion": "10.0.0", "mode": "Production", "notice": ""},
                **more,
            },
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != "/process-request" or self.headers.get("Content-Type") != "application/json":
            return self.answer(404, {"error": True})
        if self.headers.get("X-Device-Key") != options.device_key:
            return self.answer(401, {"error": True})
        request = json.loads(body)
        blob, person = request.pop("requestBlob", None), request.pop("externalDatabaseRefID", None)
        if request or not isinstance(blob, str) or not blob or not isinstance(person, (str, type(None))):
            return self.answer(400, {"error": True})
        kind, session = blob.split(".")[0], ".".join(blob.split(".")[1:2])
        with lock:
            with open(options.log, "a") as log:
                log.write(blob + " " + (base64.b64encode(person.encode()).decode() if person else "-") + "\n")
            if blob in used or persons.setdefault(session, person) != person:
                return self.answer(409, {"error": True})
            if kind != "busy":
                used.add(blob)
        proven = {"livenessProven": True, "auditTrailImage": IMAGE, "ageV2GroupEnumInt": 3}
        if kind == "start":
            return self.process(blob, {})
        if kind == "live":
            return self.process(blob, {"result": proven})
        if kind.startswith("match"):
            return self.process(blob, {"result": {**proven, "matchLevel": int(kind[5:])}})
        if kind == "spoof":
            # As a server answers it: success is false as well.
            return self.process(blob, {"success": False, "result": {"livenessProven": False, "auditTrailImage": IMAGE}})
        if kind == "front":
            return self.process(blob, {"result": {}, "idScanResultsSoFar": {"photoIDNextStepEnumInt": 1}})
        if kind.startswith("scan"):
            done = {"photoIDNextStepEnumInt": 4, "matchLevel": int(kind[4:]), "mrzStatusEnumInt": 2, "documentData": '{"firstName": "ANNA"}'}
            return self.process(blob, {"idScanResultsSoFar": done})
        if kind in GUIDE:
            return self.answer(200, {"sessionResponseBlob": "answer-to-" + blob, **GUIDE[kind]})
        if kind in LIES:
            return self.process(blob, LIES[kind])
        if kind == "error":
            return self.process(blob, {"success": False, "didError": True, "result": None})
        if kind == "deep":
            return self.answer(200, '{"result":' * 100_000)
        if kind == "html":
            return self.answer(200, "<html>OK</html>", "text/html")
        if kind == "moved":
            return self.answer(307, "", headers=[("Location", "https://localhost:1/process-request")])
        if kind == "flood":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b'{"responseBlob":"' + b"A" * 1_000_000)
            except OSError:
                pass
        statuses = {"busy": 503, "broken": 500, "bad": 400}
        if kind in statuses:
            return self.answer(statuses[kind], {"error": True})
        if kind == "hang":
            time.sleep(60)
        if kind == "torn":
            self.answer(200, '{"success": tr', length=4096)
        self.close_connection = True


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(options.certificate, options.key)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True)
public = subprocess.run(["openssl", "x509", "-in", options.certificate, "-noout", "-pubkey"], check=True, stdout=subprocess.PIPE)
der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], check=True, input=public.stdout, stdout=subprocess.PIPE)
digest = subprocess.run(["openssl", "base64", "-A"], check=True, input=hashlib.sha256(der.stdout).digest(), stdout=subprocess.PIPE)
with open(options.port_file + ".new", "w") as file:
    file.write(f"{server.server_port} sha256//{digest.stdout.decode()}\n")
os.rename(options.port_file + ".new", options.port_file)
threading.Thread(target=lambda: (time.sleep(options.seconds), os._exit(0)), daemon=True).start()
server.serve_forever()
