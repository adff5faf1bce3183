"""Dispatchers under kill -9: see Tests/callbacks.sh."""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time

import psycopg2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Receiver, Worker, say  # noqa: E402

DISPATCHERS = 3
ENDPOINTS = 10
# The time-out of an attempt; a claim of a killed dispatcher lapses after four of these.
TIMEOUT_SECONDS = 2
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Producer(threading.Thread):
    """Writes callbacks in small transactions, as workers do that finish jobs, and remembers those that were committed."""

    def __init__(self, database, endpoints, port):
        super().__init__(daemon=True)
        self.database, self.endpoints, self.port = database, endpoints, port
        self.ending = threading.Event()
        self.committed = {}
        self.failure = None

    def run(self):
        try:
            connection = psycopg2.connect(self.database)
            number = 0
            while not self.ending.is_set():
                with connection, connection.cursor() as cursor:
                    for endpoint in self.endpoints:
                        number += 1
                        # Some fail at first, so that retries are under way as well.
                        path = "/flaky?fail=1" if number % 20 == 0 else "/ok"
                        cursor.execute(
                            "INSERT INTO insp.callback (job_id, public_id, endpoint_id, url, definition_key, decision)"
                            " VALUES (%s, gen_random_uuid(), %s, %s, '2', 'PASSED')"
                            " RETURNING webhook_id, public_id::text, insp.iso_time(created_at)",
                            (number, endpoint, f"http://127.0.0.1:{self.port}{path}"))
                        name, job, at = cursor.fetchone()
                        self.committed[name] = json.dumps({
                            "type": "job.finished", "timestamp": at, "callbackSentAt": at,
                            "workflowExecution": {"id": job, "definitionKey": "2", "status": "PROCESSED"},
                            "data": {"id": job, "status": 128, "decision": "PASSED"}}, separators=(",", ":"))
                time.sleep(0.05)
            connection.close()
        except Exception as error:  # noqa: BLE001: told by the main thread
            self.failure = error


def received(log):
    requests = {}
    total = unsigned = 0
    with open(log, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            total += 1
            unsigned += not (entry["verified"] and entry["timestampOk"])
            requests.setdefault(entry["webhookId"], []).append(entry["body"])
    return requests, total, unsigned


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--database", required=True)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)

    connection = psycopg2.connect(arguments.database)
    connection.autocommit = True
    cursor = connection.cursor()
    receiver = Receiver(arguments.folder, SECRET)
    endpoints = []
    for number in range(ENDPOINTS):
        cursor.execute(
            "SELECT endpoint_id FROM insp.create_partner(%s, %s, true, true)",
            (f"partner-{number}", f"http://127.0.0.1:{receiver.port}/ok"))
        endpoints.append(cursor.fetchone()[0])
    cursor.execute("SELECT insp.callback_rotate_secret(id, '0', %s) FROM insp.endpoint", (SECRET,))

    command = [
        os.path.join(arguments.bin, "inspectd"), "worker", "--roles", "callback", "--database-url", arguments.database,
        "--callback-timeout", str(TIMEOUT_SECONDS), "--log-level", "warning"]
    workers = [Worker(f"dispatcher-{number}", command, arguments.folder, {}) for number in range(DISPATCHERS)]
    for worker in workers:
        worker.start()
    producer = Producer(arguments.database, endpoints, receiver.port)
    producer.start()
    kills = 0
    end = time.monotonic() + arguments.seconds
    try:
        while time.monotonic() < end and producer.failure is None:
            time.sleep(chance.uniform(0.05, 0.8))
            victim = chance.choice(workers)
            victim.send(signal.SIGKILL)
            victim.wait(60)
            kills += 1
            victim.start()
        producer.ending.set()
        producer.join(120)
        if producer.failure is not None:
            raise producer.failure
        say(f"{kills} killed, {len(producer.committed)} callbacks; waiting for the rest")
        patience = time.monotonic() + 300
        while time.monotonic() < patience:
            # What waits for its next attempt need not wait here.
            cursor.execute(
                "UPDATE insp.callback_waiting SET due_at = now() WHERE state = 'pending' AND due_at > now() + interval '1 s'")
            cursor.execute("SELECT count(*) FROM insp.v_callback WHERE state <> 'delivered'")
            if cursor.fetchone()[0] == 0:
                break
            time.sleep(0.5)
    finally:
        for worker in workers:
            worker.end()
    cursor.execute("SELECT count(*) FROM insp.v_callback WHERE state <> 'delivered'")
    undelivered = cursor.fetchone()[0]
    receiver.kill()
    requests, total, unsigned = received(receiver.log)
    lost = [name for name in producer.committed if name not in requests]
    others = [name for name, bodies in requests.items() if set(bodies) != {producer.committed.get(name)}]
    verdict = {
        "callbacks": len(producer.committed), "kills": kills, "requests": total, "duplicates": total - len(requests),
        "lost": len(lost), "otherBodies": len(others), "unsigned": unsigned, "undelivered": undelivered,
        "seconds": arguments.seconds, "seed": arguments.seed,
    }
    print(json.dumps(verdict))
    bad = lost or others or unsigned or undelivered or not producer.committed or kills == 0
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
