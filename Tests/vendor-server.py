"""A liveness vendor's server for tests: TLS, `POST /process-request` with the documented fields, and the failures of real ones.

The session's blob says how the server behaves: live, spoof, nomatch, quiet, text, html, busy, broken, bad, hang, torn, drop. A blob
works once; each request is a line of the log: the blob alone.
"""

import argparse
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
options = parser.parse_args()
used, lock = set(), threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", length=None):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != "/process-request" or self.headers.get("Content-Type") != "application/json":
            return self.answer(404, {"error": True})
        if self.headers.get("X-Device-Key") != options.device_key:
            return self.answer(401, {"error": True})
        request = json.loads(body)
        if set(request) != {"sessionRequestBlob"}:
            return self.answer(400, {"error": True})
        blob = request["sessionRequestBlob"]
        with lock:
            with open(options.log, "a") as log:
                log.write(blob + "\n")
            if blob in used:
                return self.answer(409, {"error": True})
            if not blob.startswith("busy"):
                used.add(blob)
        kind = blob.split("-")[0]
        done = {"sessionResponseBlob": "answer-to-" + blob, "success": True}
        if kind == "live":
            return self.answer(200, {**done, "livenessPassed": True, "reason": "OK"})
        if kind == "spoof":
            return self.answer(200, {**done, "livenessPassed": False, "reason": "LIVENESS_FAILED"})
        if kind == "nomatch":
            return self.answer(200, {**done, "livenessPassed": True, "matched": False, "matchLevel": 2})
        if kind == "quiet":
            return self.answer(200, done)
        if kind == "text":
            return self.answer(200, {**done, "livenessPassed": "true"})
        if kind == "html":
            return self.answer(200, "<html>OK</html>", "text/html")
        if kind == "busy":
            return self.answer(503, {"error": True})
        if kind == "broken":
            return self.answer(500, {"error": True})
        if kind == "bad":
            return self.answer(400, {"error": True})
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
threading.Thread(target=lambda: (time.sleep(600), os._exit(0)), daemon=True).start()
server.serve_forever()
