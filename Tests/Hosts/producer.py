"""The partner's upstream side: creates jobs over HTTP, each under an idempotency key of its own, and asks again with the same key until it
is answered 201, or 200 for a repeat. Writes a line for each key: when it begins to ask, and once it has an id.

Usage: producer.py URL USER:SECRET LOG RATE      ends on SIGTERM, when no request is open
"""

import base64
import http.client
import json
import signal
import sys
import threading
import time
import urllib.parse
import uuid


def main():
    url, credential, log, rate = sys.argv[1:]
    host = urllib.parse.urlsplit(url).netloc
    headers = {"Content-Type": "application/json",
               "Authorization": "Basic " + base64.b64encode(credential.encode()).decode()}
    body = json.dumps({"workflow": "liveness", "encodedFaceImage": base64.b64encode(b"a face").decode()})
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    lock = threading.Lock()

    def write(key, identity):
        with lock, open(log, "a", encoding="ascii") as file:
            file.write(json.dumps({"key": key, "id": identity}) + "\n")

    def create():
        key = str(uuid.uuid4())
        write(key, None)
        while True:
            try:
                connection = http.client.HTTPConnection(host, timeout=10)
                connection.request("POST", "/inspectionjob/create", body, {**headers, "Idempotency-Key": key})
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                # 201 is a new job; 200 is a repeat of a request whose answer was lost.
                if answer.status in (200, 201):
                    return write(key, json.loads(text)["id"])
                # 429 and 503 say to come back; anything else would be a mistake of this test.
                if answer.status not in (429, 503):
                    return write(key, f"refused: {answer.status} {text[:200]}")
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(1)

    threads = []
    while not stopping.is_set():
        threads.append(threading.Thread(target=create))
        threads[-1].start()
        threads = [t for t in threads if t.is_alive()]
        stopping.wait(1 / float(rate))
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
