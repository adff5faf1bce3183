#!/usr/bin/env python3
"""An object store for tests: the requests of S3 that inspectd sends, with every signature checked, in memory. It can also answer as
no store should, and be a machine's metadata service.

    s3-server.py --port-file FILE --mode-file FILE --log FILE     --access A --secret S [--token T] [--certificate FILE --key FILE]
    s3-server.py --check        computes AWS's published signatures

The first word of the mode file says how it answers:

    ok                    as S3
    down                  503 to everything
    forbidden             403 to everything
    no-bucket             404 NoSuchBucket
    proxy                 404 of a proxy, without a code
    hang, hang-get        no answer; none to a fetch
    lost                  404 NoSuchKey to every fetch
    changed, cut          objects with another byte; the first half of objects
    torn N                every Nth answer with bytes breaks off half-way (1: each)
    short, long           an answer with fewer, or with more bytes than it announces a range for
    other-range           the bytes of another range
    whole                 200 in place of 206
    endless, drip         bytes without an end; a byte a second
    redirect              307 to the metadata service
    headers               a header without an end
    bomb, loop, disorder  listings: entities that expand for ever, the same page again and again, keys out of order
    versions              as S3, with versioning
    deaf                  as S3, but nothing is deleted: 403
    no-metadata           no metadata; short-lived: its keys end in a minute

The log has a line for each request: method, key or query, status.
"""

import argparse
import datetime
import hashlib
import hmac
import http.server
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

PAGE = 1000


def digest(data):
    return hashlib.sha256(data).hexdigest()


def canonical_query(query):
    """AWS, "Create a canonical request": names and values encoded again, sorted."""
    pairs = []
    for piece in query.split("&") if query else []:
        name, _, value = piece.partition("=")
        pairs.append(tuple(urllib.parse.quote(urllib.parse.unquote(text), safe="-._~") for text in (name, value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def signature(method, path, query, headers, signed, secret, scope):
    """The signature of a request (AWS Signature Version 4), written from its description.

    headers: lower-case names; signed: the names that are signed; scope: date, region, service."""
    path = urllib.parse.quote(urllib.parse.unquote(path), safe="/-._~")
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed)
    request = "\n".join([method, path, canonical_query(query), lines, ";".join(signed), headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join([*scope, "aws4_request"]), digest(request.encode())])
    key = ("AWS4" + secret).encode()
    for word in [*scope, "aws4_request"]:
        key = hmac.digest(key, word.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def check():
    """The examples of "Authenticating Requests: Using the Authorization Header" in AWS's reference of S3."""
    empty = digest(b"")
    host = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}
    examples = [
        ("GET", "/test.txt", "", {"range": "bytes=0-9", "x-amz-content-sha256": empty},
         "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("PUT", "/test%24file.text", "",
         {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY",
          "x-amz-content-sha256": digest(b"Welcome to Amazon S3.")},
         "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        ("GET", "/", "lifecycle", {"x-amz-content-sha256": empty},
         "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("GET", "/", "max-keys=2&prefix=J", {"x-amz-content-sha256": empty},
         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]
    for method, path, query, headers, expected in examples:
        headers = {**host, **headers}
        found = signature(method, path, query, headers, sorted(headers), "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                          ["20130524", "us-east-1", "s3"])
        if found != expected:
            sys.exit(f"{method} {path}?{query}: {found}, and not {expected}")
    print(f"{len(examples)} signatures are as published")


class Store:
    def __init__(self, options):
        self.options = options
        self.objects = {}
        self.lock = threading.Lock()
        self.answers = 0
        self.started = datetime.datetime.now(datetime.timezone.utc)

    def mode(self):
        with open(self.options.mode_file, encoding="utf-8") as file:
            return (file.read().split() or ["ok"])

    def log(self, line):
        with self.lock, open(self.options.log, "a", encoding="utf-8") as file:
            file.write(line + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    store = None

    def log_message(self, *_):
        pass

    # MARK: Answers

    def answer(self, status, body=b"", headers=()):
        self.store.log(f"{self.command} {self.path} {status}")
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status, code):
        # Clients that keep the connection must find the next request.
        self.answer(status, f"<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>".encode())

    def tear(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    # MARK: Signatures

    def refusal(self, body):
        """Why the request is not one of this store's owner; None: it is."""
        text = self.headers.get("Authorization", "")
        match = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, *SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})",
            text)
        if not match:
            return "AccessDenied"
        access, day, region, service, names, given = match.groups()
        options = self.store.options
        if access != options.access or self.headers.get("X-Amz-Security-Token") != options.token:
            return "InvalidAccessKeyId"
        headers = {name.lower(): value for name, value in self.headers.items()}
        signed = names.split(";")
        # What decides about the request must be signed.
        needed = ["host", "x-amz-date", "x-amz-content-sha256"] + [n for n in ("range", "x-amz-security-token") if n in headers]
        if sorted(signed) != signed or not set(needed) <= set(signed) or not set(signed) <= set(headers):
            return "AccessDenied"
        if not headers["x-amz-date"].startswith(day) or region != options.region or service != "s3":
            return "AuthorizationHeaderMalformed"
        then = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()) > 900:
            return "RequestTimeTooSkewed"
        if headers["x-amz-content-sha256"] != digest(body):
            return "XAmzContentSHA256Mismatch"
        path, _, query = self.path.partition("?")
        expected = signature(self.command, path, query, headers, signed, options.secret, [day, region, service])
        return None if hmac.compare_digest(expected, given) else "SignatureDoesNotMatch"

    # MARK: Requests

    def do_PUT(self):
        self.handle_request()

    def do_GET(self):
        self.handle_request()

    def do_DELETE(self):
        self.handle_request()

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        mode, *rest = self.store.mode()
        if mode == "hang":
            time.sleep(90)
            return self.tear()
        if self.path.startswith("/latest/"):
            return self.metadata(mode)
        if mode == "down":
            return self.fail(503, "SlowDown")
        if mode == "forbidden":
            return self.fail(403, "AccessDenied")
        if mode == "no-bucket":
            return self.fail(404, "NoSuchBucket")
        if mode == "proxy":
            return self.answer(404, b"<html>not here</html>")
        if mode == "redirect":
            return self.answer(307, headers=[("Location", "http://169.254.169.254/latest/meta-data/")])
        if mode == "headers":
            return self.flood(b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"a" * 4096 + b"\r\n")
        refused = self.refusal(body)
        if refused:
            return self.fail(403, refused)
        path, _, query = self.path.partition("?")
        bucket, _, key = path[1:].partition("/")
        if bucket != self.store.options.bucket:
            return self.fail(404, "NoSuchBucket")
        if not key:
            return self.bucket(mode, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
        if self.command == "PUT":
            with self.store.lock:
                self.store.objects[key] = body
            return self.answer(200)
        if self.command == "DELETE":
            if mode == "deaf":
                return self.fail(403, "AccessDenied")
            with self.store.lock:
                self.store.objects.pop(key, None)
            return self.answer(204)
        return self.get(mode, rest, key)

    def get(self, mode, rest, key):
        with self.store.lock:
            data = self.store.objects.get(key)
        if mode == "hang-get":
            time.sleep(90)
            return self.tear()
        if data is None or mode == "lost":
            return self.fail(404, "NoSuchKey")
        if mode == "changed":
            data = data[:-1] + bytes([data[-1] ^ 1])
        if mode == "cut":
            data = data[:len(data) // 2]
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(match[1]), min(int(match[2]), len(data) - 1)) if match else (0, len(data) - 1)
        if first >= len(data):
            return self.fail(416, "InvalidRange")
        part = data[first:last + 1]
        if mode == "endless":
            return self.flood(f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{len(data)}\r\n\r\n".encode(), b"a" * 65536)
        if mode == "drip":
            return self.flood(self.head(first, last, len(data), len(part)), b"a", pause=1)
        if mode == "other-range":
            return self.partial(part, first + 1, last + 1, len(data) + 1)
        if mode == "short":
            return self.partial(part[:-1], first, last, len(data))
        if mode == "long":
            return self.partial(part + b"a", first, last, len(data))
        if mode == "whole":
            return self.answer(200, data)
        if mode == "torn":
            with self.store.lock:
                self.store.answers += 1
                tears = self.store.answers % int(rest[0]) == 0
            if tears:
                self.store.log(f"{self.command} {self.path} torn")
                self.wfile.write(self.head(first, last, len(data), len(part)) + part[:len(part) // 2])
                self.wfile.flush()
                return self.tear()
        return self.partial(part, first, last, len(data))

    @staticmethod
    def head(first, last, total, count):
        return f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{total}\r\nContent-Length: {count}\r\n\r\n".encode()

    def partial(self, part, first, last, total):
        self.answer(206, part, [("Content-Range", f"bytes {first}-{last}/{total}")])

    def flood(self, start, piece, pause=0.0):
        self.store.log(f"{self.command} {self.path} flood")
        self.close_connection = True
        try:
            self.wfile.write(start)
            while True:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass

    def bucket(self, mode, query):
        if "versioning" in query:
            status = "<Status>Enabled</Status>" if mode == "versions" else ""
            return self.answer(200, f"<VersioningConfiguration>{status}</VersioningConfiguration>".encode())
        if mode == "bomb":
            entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "lol"}">' for n in range(12))
            return self.answer(200, f"<?xml version=\"1.0\"?><!DOCTYPE b [{entities}]><ListBucketResult><Contents><Key>&a11;</Key></Contents>"
                                    "<IsTruncated>true</IsTruncated></ListBucketResult>".encode())
        prefix = query.get("prefix", "")
        if mode == "loop":
            # Its own answer to the first page, again and again.
            query.pop("start-after", None)
        with self.store.lock:
            keys = sorted(k for k in self.store.objects if k.startswith(prefix) and k > query.get("start-after", ""))
        page = keys[:2 if mode == "loop" else PAGE]
        if mode == "disorder":
            page.reverse()
        more = str(mode == "loop" or len(keys) > len(page)).lower()
        entries = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in page)
        self.answer(200, f"<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>{more}</IsTruncated>{entries}</ListBucketResult>".encode())

    def metadata(self, mode):
        options = self.store.options
        if mode == "no-metadata":
            return self.answer(503)
        if self.command == "PUT" and self.path == "/latest/api/token":
            life = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
            return self.answer(200, b"a-token==") if life.isdigit() else self.answer(400)
        if self.command != "GET" or self.headers.get("X-aws-ec2-metadata-token") != "a-token==":
            return self.answer(401)
        role = "/latest/meta-data/iam/security-credentials/"
        if self.path == role:
            return self.answer(200, b"inspectd-role\n")
        if self.path != role + "inspectd-role":
            return self.answer(404)
        seconds = 60 if mode == "short-lived" else 3600
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
        self.answer(200, json.dumps({
            "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": options.access, "SecretAccessKey": options.secret,
            "Token": options.token or "", "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that left

    request_queue_size = 128


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    parser = argparse.ArgumentParser()
    for name in ("port-file", "mode-file", "log", "access", "secret"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--token")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--bucket", default="parts")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    Handler.store = Store(options)
    server = Server(("127.0.0.1", 0), Handler)
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(options.port_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(options.port_file + ".new", options.port_file)
    server.serve_forever()


main()
