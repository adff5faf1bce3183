"""A KMS for tests, written after the published API of Vault's transit engine: TLS, encrypt, decrypt, rewrap and keys/NAME/rotate.

A file says how it behaves: ok, sealed (503), busy (429), forbidden (403), missing (404), html, torn, hang, drop, bad (200 without
data). Each request is a line of the log: the action alone.
"""

import argparse
import base64
import http.server
import json
import os
import ssl
import threading
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

parser = argparse.ArgumentParser()
parser.add_argument("--certificate", required=True)
parser.add_argument("--key", required=True)
parser.add_argument("--token", required=True)
parser.add_argument("--mode-file", required=True)
parser.add_argument("--port-file", required=True)
parser.add_argument("--log", required=True)
options = parser.parse_args()
# Versions of each key, from 1.
keys = {"inspectd": [os.urandom(32)], "other": [os.urandom(32)]}
lock = threading.Lock()


class Refused(Exception):
    pass


def encrypt(name, text):
    nonce = os.urandom(12)
    sealed = base64.b64encode(nonce + AESGCM(keys[name][-1]).encrypt(nonce, text, None)).decode()
    return f"vault:v{len(keys[name])}:{sealed}"


def decrypt(name, ciphertext):
    try:
        prefix, version, text = ciphertext.split(":")
        bytes_ = base64.b64decode(text, validate=True)
        number = int(version.removeprefix("v"))
    except ValueError:
        raise Refused("invalid ciphertext: no prefix") from None
    if number > len(keys[name]):
        raise Refused("invalid ciphertext: version is too new")
    key = keys[name][number - 1]
    try:
        return AESGCM(key).decrypt(bytes_[:12], bytes_[12:], None)
    except InvalidTag:
        raise Refused("cipher: message authentication failed") from None


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
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        pieces = self.path.split("/")
        with lock, open(options.log, "a", encoding="utf-8") as log:
            log.write(pieces[3] + "\n")
        with open(options.mode_file, encoding="utf-8") as file:
            mode = file.read().strip()
        if mode == "hang":
            time.sleep(30)
        if mode in ("hang", "drop"):
            self.close_connection = True
            return
        if mode == "html":
            return self.answer(200, "<html>", kind="text/html")
        if mode == "bad":
            return self.answer(200, {"data": {"key_version": 1}})
        if mode == "torn":
            self.close_connection = True
            return self.answer(200, {"data": {}}, length=5_000)
        errors = {"sealed": (503, "Vault is sealed"), "busy": (429, "rate limit"), "forbidden": (403, "permission denied"),
                  "missing": (404, "no handler for route")}
        if mode in errors:
            return self.answer(errors[mode][0], {"errors": [errors[mode][1]]})
        if self.headers["X-Vault-Token"] != options.token:
            return self.answer(403, {"errors": ["permission denied"]})
        with lock:
            if pieces[1:4] == ["v1", "transit", "keys"] and pieces[5] == "rotate":
                keys[pieces[4]].append(os.urandom(32))
                return self.answer(204, "")
            action, name = pieces[3], pieces[4]
            if name not in keys:
                return self.answer(400, {"errors": ["encryption key not found"]})
            try:
                if action == "encrypt":
                    data = {"ciphertext": encrypt(name, base64.b64decode(body["plaintext"])), "key_version": len(keys[name])}
                elif action == "decrypt":
                    data = {"plaintext": base64.b64encode(decrypt(name, body["ciphertext"])).decode()}
                else:
                    data = {"ciphertext": encrypt(name, decrypt(name, body["ciphertext"])), "key_version": len(keys[name])}
            except Refused as refused:
                return self.answer(400, {"errors": [str(refused)]})
        self.answer(200, {"request_id": "1", "lease_id": "", "renewable": False, "data": data, "warnings": None})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(options.certificate, options.key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(options.port_file + ".new", "w", encoding="utf-8") as port:
    port.write(str(server.server_port))
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
