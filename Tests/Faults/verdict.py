"""Checks at the end, of the database and of what the partner received."""

import json

CHECKS = {
    # One terminal event, one result and one callback for each finished job.
    "finishedTwice": """
        SELECT count(*) FROM insp.job j WHERE j.status = 128 AND (
            (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') <> 1
            OR (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128) <> 1
            OR (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) <> 1)""",
    # A stage that a stale worker wrote would have a lower fence than one before it.
    "stagesTwice": """
        SELECT count(*) FROM (SELECT s.fence < lag(s.fence) OVER (PARTITION BY s.job_id ORDER BY s.status) AS falls,
            count(*) OVER (PARTITION BY s.job_id, s.status) AS rows FROM insp.step s WHERE s.fence > 0) x
        WHERE x.falls OR x.rows > 1""",
    # What was read of an image (see faulty-analyzer) and whose image it was.
    "wrongPerson": """
        SELECT count(*) FROM insp.job j JOIN insp.step s ON s.job_id = j.id AND s.status = 4
        WHERE (insp.step_document(s) ->> 'cpuMs')::numeric <> (insp.personal(j.personal) ->> 'customerInternalReference')::numeric""",
    "stuck": """
        SELECT (SELECT count(*) FROM insp.job WHERE status < 128) + (SELECT count(*) FROM insp.lease)
            + (SELECT count(*) FROM insp.ready) + (SELECT count(*) FROM insp.delayed)
            + (SELECT count(*) FROM insp.v_callback WHERE state <> 'delivered')""",
}


def settle_down(postgres, seconds, sleep):
    """Waits until everything is finished and delivered, or for so long."""
    for _ in range(int(seconds * 2)):
        # Retries that are minutes away are asked for now: that they wait has been seen.
        postgres.rows("UPDATE insp.delayed SET run_at = now() WHERE run_at > now()")
        postgres.rows("UPDATE insp.callback_waiting SET due_at = now() WHERE state = 'pending' AND due_at > now() + interval '1 s'")
        if postgres.rows(CHECKS["stuck"])[0][0] == 0:
            return
        sleep(0.5)


def check(postgres):
    counts = {name: postgres.rows(sql)[0][0] for name, sql in CHECKS.items()}
    compared = postgres.rows(
        "SELECT count(*) FROM insp.job j JOIN insp.step s ON s.job_id = j.id AND s.status = 4"
        " WHERE (insp.step_document(s) ->> 'cpuMs')::numeric = (insp.personal(j.personal) ->> 'customerInternalReference')::numeric")[0][0]
    # A check that compared nothing has shown nothing.
    counts["unread"] = 0 if compared else 1
    return counts


def examine(postgres, keys, receiver_log):
    """Counts of everything that must be 0, beside the number of jobs."""
    counts = check(postgres)
    states = dict(postgres.rows("SELECT public_id::text, status FROM insp.job"))
    counts["jobs"] = len(states)
    # Every id that a producer was given is a finished job, and every key stands for one job.
    counts["lost"] = sum(1 for identity in keys.values() if states.get(identity) != 128)
    counts["keysTwice"] = len(states) - len(set(keys.values()))
    callbacks = {}
    counts["unsigned"] = 0
    with open(receiver_log, encoding="utf-8") as log:
        for line in log:
            try:
                entry = json.loads(line)
                job = json.loads(entry["body"])["data"]["id"]
            except ValueError:
                continue  # the receiver was killed while it wrote
            callbacks.setdefault(job, set()).add((entry["webhookId"], entry["body"]))
            # The signature alone: a worker whose clock has jumped says a time that the receiver would find old.
            counts["unsigned"] += 0 if entry["verified"] else 1
    counts["finishedTwice"] += sum(1 for different in callbacks.values() if len(different) > 1)
    counts["lost"] += sum(1 for job in states if job not in callbacks)
    return counts
