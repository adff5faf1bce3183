"""The relay between the clients of deploy/clients/ and the gateway. Imported by clients.py."""

import http.client
import json
import socket
import time

import receivers

# How the first attempts at a job are deferred: status, Retry-After, seconds that a client must wait. Those of the first two are more than it
# would wait by itself; the third is a proxy's, whose date is no number.
PUT_OFF = ((503, "3", 3), (429, "4", 4), (502, "Fri, 31 Dec 1999 23:59:59 GMT", 1))


class Between:
    def relay(self):
        """Passes requests on. Of each client's first job, some tries are put off, and the answer to the next one is lost."""
        site = self

        class Relay(receivers.Handler):
            def pass_on(self):
                body = self.body()
                _, name, path = self.path.split("/", 2)
                begun = time.monotonic()
                is_create = path.startswith("inspectionjob/create")
                with site.lock:
                    tries = sum(1 for known in site.requests[name] if known[1].startswith("inspectionjob/create")) if is_create else 9
                    entry = [self.command, path, begun, 0, self.headers.get("Idempotency-Key"), self.headers.get("Authorization")]
                    site.requests[name].append(entry)
                    expires = path.startswith("inspectionjob/") and not is_create and site.expiring[name] > 0
                    site.expiring[name] -= expires
                if tries < len(PUT_OFF):
                    entry[3], pause, _ = PUT_OFF[tries]
                    return self.answer(entry[3], [("Retry-After", pause), ("Content-Type", "text/plain")], b"busy")
                if expires:
                    token = entry[5].removeprefix("Bearer ").partition(".")[0]
                    site.psql(f"UPDATE insp.credential_token SET expires_at = now() WHERE key_id = '{token}'")
                connection = http.client.HTTPConnection("127.0.0.1", site.gateway_port, timeout=120)
                kept = {key: value for key, value in self.headers.items()
                        if key.lower() not in ("connection", "content-length", "transfer-encoding", "expect", "host")}
                connection.request(self.command, "/" + path, body, kept)
                given = connection.getresponse()
                text = given.read()
                connection.close()
                entry[3] = given.status
                if tries == len(PUT_OFF):
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return None
                if path == "oauth2/token" and name in site.hasty and given.status == 200:
                    text = json.dumps(json.loads(text) | {"expires_in": 30}).encode()
                if path.startswith("inspectionjob/") and not is_create and given.status == 200:
                    # As a later version might: what a client does not know, it passes on as it is.
                    text = text.rstrip()[:-1] + b',"later":{}}'
                return self.answer(given.status, given.getheaders(), text)

            do_GET = do_POST = pass_on

        return receivers.served(Relay).server_address[1]
