"""A worker of version 0.1.0, as far as the database can tell: the same calls with the same parameters, in the same order
(claim by region, lane and slot; store; settle, retry or hand back), all in the statements that 0.1.0 sent."""

import json
import time
import uuid

import psycopg2

SLOTS = 64


def work(connection, random, seconds):
    """Works for so many seconds, then stops in an orderly way or dies; whatever breaks, it dies."""
    try:
        with connection.cursor() as cursor:
            run(cursor, random, seconds)
    except psycopg2.Error:
        pass
    finally:
        connection.close()


def run(cursor, random, seconds):
    incarnation = str(uuid.UUID(int=random.getrandbits(128)))
    cursor.execute(
        "SELECT * FROM insp.worker_start(%s, %s, %s, %s, %s, %s, %s)",
        (incarnation, "previous", 1, "0.1.0", None, [0, 1, 2], 4))
    worker = cursor.fetchone()[0]
    end = time.monotonic() + seconds
    held = []
    while time.monotonic() < end:
        cursor.execute("SELECT * FROM insp.heartbeat(%s, %s, %s, %s, %s)", (worker, incarnation, len(held), [], []))
        if not cursor.fetchone()[0]:
            return
        held += claim(cursor, worker, incarnation, 4 - len(held))
        time.sleep(random.uniform(0.02, 0.2))
        for job, fence in list(held):
            held.remove((job, fence))
            output = json.dumps({"images": {}, "cpuMs": 0})
            if random.random() < 0.3:
                cursor.execute("SELECT * FROM insp.store_steps(%s, %s, %s, %s)", ([job], [fence], [4], [output]))
            choice = random.random()
            if choice < 0.8:
                result = json.dumps({"decision": {"type": "PASSED", "details": {"label": "OK"}, "risk": {"score": 0}}})
                cursor.execute(
                    "SELECT * FROM insp.settle(%s, %s, %s, %s, %s, %s, %s)",
                    ([job], [fence], [result], [job, job], [fence, fence], [4, 16], [output, output]))
            elif choice < 0.9:
                cursor.execute(
                    "SELECT * FROM insp.retry_later(%s, %s, %s, %s, %s)",
                    ([job], [fence], [1.0], ["PART_UNREACHABLE"], "{f}"))
            else:
                cursor.execute("SELECT * FROM insp.hand_back(%s, %s)", ([job], [fence]))
    held = claim(cursor, worker, incarnation, 2)
    if held and random.random() < 0.5:
        return  # dies with what it has claimed
    if held:
        cursor.execute("SELECT * FROM insp.hand_back(%s, %s)", ([job for job, _ in held], [fence for _, fence in held]))
    cursor.execute("SELECT insp.worker_stop(%s, %s)", (worker, incarnation))


def claim(cursor, worker, incarnation, limit):
    if limit <= 0:
        return []
    looks = [(0, lane, slot) for lane in (0, 1, 2) for slot in range(SLOTS)]
    cursor.execute(
        "SELECT * FROM insp.claim(%s, %s, make_interval(secs => %s), %s, %s, %s, %s, %s, %s)",
        (worker, incarnation, 330.0, limit, [look[0] for look in looks], [look[1] for look in looks],
         [look[2] for look in looks], [0] * len(looks), [limit] * len(looks)))
    return [(row[0], row[1]) for row in cursor.fetchall() if row[0] is not None]
