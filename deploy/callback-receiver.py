#!/usr/bin/env python3
"""A partner's side of the callbacks, for the demonstration and for the tests.

Receives callbacks, verifies each by Standard Webhooks v1 with Python's own hmac (so independently of the sender), writes
one JSON line for each, and misbehaves on request:

    /ok                      200
    /status/NNN              answers NNN; ?retry-after=S adds that header
    /gone                    410
    /flaky?fail=N            500 for the first N requests with one webhook-id, then 200
    /redirect                307 to /ok
    /hang                    reads the request and never answers
    /drip                    200, then one byte of an endless body every 0.2 s
    /drip-headers            one byte of an endless header every 0.2 s
    /flood                   200, then an endless body as fast as it is read
    /flood-headers           200, then endless header lines
    /huge                    200 with a Content-Length of 2 GiB, then bytes as fast as they are read
    /truncated               200 with a Content-Length of 100, ten bytes, end of connection
    /slow?seconds=S          200 after S seconds
    /image?file=NAME         GET: a file of --files
    /token?lifetime=S        an OAuth 2.0 token endpoint for the client of --oauth-client (ID:SECRET, form-encoded, or the
                             ID alone with a client certificate); &fail=N: 500 for the first N requests; &slow=S: after S s;
                             &assertion=A: for this assertion alone (RFC 7521), of the grant type &grant=URI
    /revoke                  revokes a token of /token (RFC 7009); &fail=N: 503 for the first N requests; &assertion=1: without
                             looking at the client
    /bearer                  200 with a token of /token, else 401; &once=1: each token serves one request only

Only the standard library. Ends on SIGTERM, on SIGINT, and when the process that started it has ended.
"""

import argparse
import base64
import hashlib
import hmac
import http.server
import json
import os
import signal
import ssl
import sys
import threading
import time
import urllib.parse

TOLERANCE_SECONDS = 300  # Standard Webhooks, "Verifying webhook authenticity"
BODY_LIMIT = 1 << 20
MISBEHAVIOUR_SECONDS = 120  # an "endless" answer ends then, so that no thread outlives its test by much


def key_of(secret):
    return base64.b64decode(secret.removeprefix("whsec_"), validate=True)


def is_signed(keys, webhook_id, timestamp, body, header):
    """True if any v1 signature of the header fits any key; other versions are skipped."""
    message = webhook_id.encode() + b"." + timestamp.encode() + b"." + body
    expected = [hmac.new(key, message, hashlib.sha256).digest() for key in keys]
    for part in header.split(" "):
        version, _, value = part.partition(",")
        if version != "v1":
            continue
        try:
            given = base64.b64decode(value, validate=True)
        except ValueError:
            continue
        if any(hmac.compare_digest(given, wanted) for wanted in expected):
            return True
    return False


class Receiver(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address, keys, log, files):
        super().__init__(address, Handler)
        self.keys = keys
        self.log = log
        self.files = files
        self.lock = threading.Lock()
        self.seen = {}
        self.connections = 0
        self.client = None
        self.tokens = set()
        self.tokens_issued = 0
        self.token_requests = 0
        self.revocations = 0

    def record(self, line):
        with self.lock:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()

    def count(self, webhook_id):
        """How many requests carried this webhook-id, this one included."""
        with self.lock:
            self.seen[webhook_id] = self.seen.get(webhook_id, 0) + 1
            return self.seen[webhook_id]

    def next_connection(self):
        with self.lock:
            self.connections += 1
            return self.connections

    def handle_error(self, request, client_address):
        # A sender that gives up on an endless answer is no error here.
        if not isinstance(sys.exc_info()[1], (OSError, ssl.SSLError)):
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "callback-receiver"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 180

    def setup(self):
        super().setup()
        self.connection_number = self.server.next_connection()

    def log_message(self, format, *arguments):
        pass

    def do_POST(self):
        length = self.headers.get("content-length") or "0"
        if not (length.isascii() and length.isdigit()):
            self.close_connection = True
            return self.answer(400)
        if len(length) > 9 or int(length) > BODY_LIMIT:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            # The sender went away: nothing was received.
            self.close_connection = True
            return None
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/token":
            return self.issue(body.decode("ascii", "replace"), dict(urllib.parse.parse_qsl(url.query)))
        if url.path == "/revoke":
            return self.revoke(body.decode("ascii", "replace"), dict(urllib.parse.parse_qsl(url.query)))
        webhook_id = self.headers.get("webhook-id") or ""
        timestamp = self.headers.get("webhook-timestamp") or ""
        signature = self.headers.get("webhook-signature") or ""
        fresh = timestamp.isascii() and timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_SECONDS
        attempt = self.server.count(webhook_id)
        self.server.record({
            "receivedAtSeconds": time.time(),
            "webhookId": webhook_id,
            "timestamp": timestamp,
            "timestampOk": fresh,
            "signatures": len(signature.split()),
            "verified": is_signed(self.server.keys, webhook_id, timestamp, body, signature),
            "path": self.path,
            "body": body.decode("utf-8", "replace"),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "attempt": attempt,
            "connection": self.connection_number,
        })
        self.respond(url, attempt)

    def do_GET(self):
        self.respond(urllib.parse.urlsplit(self.path), 1)

    def client_of(self, form):
        """The client that asks for a token or revokes one: its id and secret, or its id alone."""
        given = self.headers.get("authorization") or ""
        certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        if given.startswith("Basic "):
            # Both halves are form-encoded before they are joined (RFC 6749 section 2.3.1).
            halves = base64.b64decode(given[6:]).decode().split(":", 1)
            return ":".join(urllib.parse.unquote_plus(half) for half in halves)
        if certificate and form.get("client_id"):
            return form["client_id"]
        return form.get("client_id", "") + ":" + form.get("client_secret", "")

    def record_form(self, body, number):
        self.server.record({
            "receivedAtSeconds": time.time(), "webhookId": "", "timestamp": "", "timestampOk": False, "signatures": 0,
            "verified": False, "path": self.path, "body": body, "attempt": number, "connection": self.connection_number,
            "headers": {name.lower(): value for name, value in self.headers.items() if name.lower() != "authorization"},
        })

    def revoke(self, body, query):
        """Revocation of an access token (RFC 7009)."""
        form = dict(urllib.parse.parse_qsl(body))
        with self.server.lock:
            self.server.revocations += 1
            number = self.server.revocations
        self.record_form(body, number)
        time.sleep(float(query.get("slow", "0")))
        if number <= int(query.get("fail", "0")):
            return self.answer(503)
        if not query.get("assertion") and self.client_of(form) != self.server.client:
            return self.answer(401, b'{"error":"invalid_client"}', {"Content-Type": "application/json"})
        if not form.get("token"):
            return self.answer(400, b'{"error":"invalid_request"}', {"Content-Type": "application/json"})
        with self.server.lock:
            self.server.tokens.discard(form["token"])
        self.answer(200)

    def issue(self, body, query):
        """An access token by client credentials (RFC 6749 section 4.4), or for the assertion that the query expects (RFC 7521)."""
        form = dict(urllib.parse.parse_qsl(body))
        with self.server.lock:
            self.server.token_requests += 1
            number = self.server.token_requests
        self.record_form(body, number)
        time.sleep(float(query.get("slow", "0")))
        if number <= int(query.get("fail", "0")):
            return self.answer(500)
        if "assertion" in query:
            grant = query.get("grant", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            is_known = form.get("grant_type") == grant and form.get("assertion") == query["assertion"]
        else:
            is_known = form.get("grant_type") == "client_credentials" and self.client_of(form) == self.server.client
        if not is_known:
            return self.answer(401, b'{"error":"invalid_client"}', {"Content-Type": "application/json"})
        with self.server.lock:
            self.server.tokens_issued += 1
            token = f"token-{self.server.tokens_issued}"
            self.server.tokens.add(token)
        answer = {"access_token": token, "token_type": "bearer", "expires_in": int(query.get("lifetime", "3600"))}
        self.answer(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def has_token(self, once):
        given = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        with self.server.lock:
            is_known = given in self.server.tokens
            if once:
                self.server.tokens.discard(given)
        return is_known

    def respond(self, url, attempt):
        query = dict(urllib.parse.parse_qsl(url.query))
        name = url.path.strip("/").split("/")[0]
        if name == "ok":
            self.answer(200, b"ok")
        elif name == "status":
            headers = {"Retry-After": query["retry-after"]} if "retry-after" in query else {}
            self.answer(int(url.path.split("/")[2]), b"as you wish", headers)
        elif name == "gone":
            self.answer(410)
        elif name == "flaky":
            self.answer(500 if attempt <= int(query.get("fail", "1")) else 200)
        elif name == "redirect":
            self.answer(307, headers={"Location": "/ok"})
        elif name == "bearer":
            self.answer(200 if self.has_token("once" in query) else 401)
        elif name == "slow":
            time.sleep(float(query.get("seconds", "1")))
            self.answer(200)
        elif name == "hang":
            self.endlessly(lambda: None, 0.2)
        elif name == "drip":
            self.begin(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            self.endlessly(lambda: self.wfile.write(b"."), 0.2)
        elif name == "drip-headers":
            self.begin(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            self.endlessly(lambda: self.wfile.write(b"."), 0.2)
        elif name == "flood":
            self.begin(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            self.endlessly(lambda: self.wfile.write(b"x" * 65536), 0)
        elif name == "flood-headers":
            self.begin(b"HTTP/1.1 200 OK\r\n")
            self.endlessly(lambda: self.wfile.write(b"X-Flood: " + b"x" * 1000 + b"\r\n"), 0)
        elif name == "huge":
            self.begin(b"HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")
            self.endlessly(lambda: self.wfile.write(b"x" * 65536), 0)
        elif name == "truncated":
            self.begin(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.")
        elif name == "image":
            self.answer_file(query.get("file", ""))
        else:
            self.answer(404)

    def answer(self, status, body=b"", headers={}):
        self.send_response(status)
        if status == 204 or status < 200:
            return self.end_headers()  # these have no body (RFC 9110 section 6.4.1)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def answer_file(self, name):
        if self.server.files is None or not name or os.path.basename(name) != name:
            return self.answer(404)
        try:
            with open(os.path.join(self.server.files, name), "rb") as file:
                content = file.read()
        except OSError:
            return self.answer(404)
        self.answer(200, content, {"Content-Type": "application/octet-stream"})

    def begin(self, head):
        self.close_connection = True
        self.wfile.write(head)
        self.wfile.flush()

    def endlessly(self, action, pause):
        self.close_connection = True
        end = time.monotonic() + MISBEHAVIOUR_SECONDS
        while time.monotonic() < end:
            action()
            self.wfile.flush()
            if pause:
                time.sleep(pause)


def end_with_parent(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description="Receives and verifies callbacks; see the head of this file.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--port-file", help="the port is written there once the receiver listens")
    parser.add_argument("--secret", action="append", default=[], help="whsec_…; may be given several times")
    parser.add_argument("--log", help="JSON lines go there, else to standard output")
    parser.add_argument("--files", help="the folder that /image serves")
    parser.add_argument("--tls-certificate", help="PEM; with it the receiver speaks HTTPS")
    parser.add_argument("--tls-key", help="PEM")
    parser.add_argument("--tls-client-authority", help="PEM; clients must show a certificate of this authority")
    parser.add_argument("--oauth-client", help="ID:SECRET, or ID alone, which /token accepts")
    parser.add_argument("--tls-maximum", choices=["1.1", "1.2", "1.3"], help="the newest TLS version offered")
    arguments = parser.parse_args()

    parent = os.getppid()
    log = open(arguments.log, "a", encoding="utf-8") if arguments.log else sys.stdout
    keys = [key_of(secret) for secret in arguments.secret]
    server = Receiver((arguments.host, arguments.port), keys, log, arguments.files)
    server.client = arguments.oauth_client
    if arguments.tls_certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.tls_certificate, arguments.tls_key)
        if arguments.tls_client_authority:
            context.load_verify_locations(arguments.tls_client_authority)
            context.verify_mode = ssl.CERT_REQUIRED
        if arguments.tls_maximum:
            context.maximum_version = ssl.TLSVersion["TLSv" + arguments.tls_maximum.replace(".", "_")]
            if arguments.tls_maximum == "1.1":
                context.minimum_version = ssl.TLSVersion.TLSv1_1
                context.set_ciphers("DEFAULT@SECLEVEL=0")
        # The handshake belongs to the connection's own thread: it must not hold up accept().
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    if arguments.port_file:
        # Renamed into place, so that a reader never sees an empty file.
        with open(arguments.port_file + ".new", "w", encoding="ascii") as file:
            file.write(f"{server.server_address[1]}\n")
        os.rename(arguments.port_file + ".new", arguments.port_file)

    def stop(number, frame):
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    threading.Thread(target=end_with_parent, args=(parent,), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
