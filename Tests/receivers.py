"""Servers on the loopback interface, and what anyone can send to one that receives callbacks. Imported by clients.py."""

import base64
import hmac
import http.server
import json
import socket
import struct
import threading
import time
import urllib.request

HEAD = "POST /ok HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
# More than a callback has, and more than a receiver may take.
OVERSIZED = 2 << 20


def served(handler):
    """A server on a free port, until the process ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *words):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, headers=(), body=b""):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        # A library may send again by itself what was sent on a connection that was used before.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.write(body)


def signed(secret, webhook_id, body, moment=None):
    """The headers of a callback."""
    moment = str(int(time.time()) if moment is None else moment)
    code = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), f"{webhook_id}.{moment}.".encode() + body, "sha256")
    return {"webhook-id": webhook_id, "webhook-timestamp": moment, "webhook-signature": "v1," + base64.b64encode(code).decode()}


def begun(port, length, body=b""):
    """A connection with a request that is not whole."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(HEAD.format(length).encode() + body)
    return connection


def aborts(port):
    """The sender goes away within the body: with an end of the connection, and with a reset."""
    for is_reset in (False, True):
        with begun(port, 1000, b'{"type":') as connection:
            if is_reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def takes_everything(port):
    """Whether a body without an end is read for ever; else the connection is closed, or nothing more is read."""
    with begun(port, 1 << 40) as connection:
        try:
            for _ in range(1024):
                connection.sendall(b" " * 65536)
        except OSError:
            return False
    return True


def is_refused(port, length):
    """Whether a length that is none is refused, and the connection closed."""
    with begun(port, length, b"{}") as connection:
        try:
            answer = connection.makefile("rb").read()
        except OSError:
            return False
    return answer.startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))


def judge_demonstration(site):
    """The receiver of the demonstration and the tests survives the same, and records none of it."""
    site.start("demonstration", "deploy/callback-receiver.py", "--port-file", site.path("port"), "--log", site.path("log"),
               "--secret", site.secret, program="/usr/bin/python3")
    port = int(site.await_file("port"))
    aborts(port)
    site.expect(not takes_everything(port), "the demonstration's receiver reads a body without an end")
    site.expect(is_refused(port, "-1"), "the demonstration's receiver takes a negative length")
    for what, extra in (("odd", {"webhook-timestamp": "\u00b2", "webhook-signature": "v1,\u00e4"}), ("good", {})):
        headers = signed(site.secret, f"msg_{what}", b"{}") | extra
        request = urllib.request.Request(f"http://127.0.0.1:{port}/ok", b"{}", headers, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            site.expect(answer.status == 200, f"the demonstration's receiver answers {answer.status}")
    with open(site.path("log"), encoding="utf-8") as file:
        seen = [(line["webhookId"], line["verified"]) for line in map(json.loads, file)]
    site.expect(seen == [("msg_odd", False), ("msg_good", True)], f"the demonstration's receiver records {seen}")
