"""The bare SQL's floor: pgbench with the durable writes of a claim and a settle, on the product's own tables.

No worker, no handler, no fairness between partners, no limits, no clock to watch: what the database alone can do. Each
client has a partner of its own, so that no two clients ever want the same row. See floor/*.sql for the statements.
"""

import os
import pathlib
import re
import subprocess

import psycopg

HERE = pathlib.Path(__file__).resolve().parent
REQUEST = (
    '{"partner":"%s","workflow":"id","parts":{"FRONT":'
    '{"url":"https://images.example.com/bench/front.jpg","sha256":"' + 64 * "0" + '"}}}')
#: The only good plans, as the product's functions pin them; a prepared plan is made once.
PLANS = " ".join(
    f"-c {setting}" for setting in (
        "jit=off", "plan_cache_mode=force_generic_plan", "enable_seqscan=off", "enable_bitmapscan=off",
        "enable_hashjoin=off", "enable_mergejoin=off"))


def fill(connection, jobs, clients, batch):
    """So many whole batches for each client, by the product's own enqueue_many; returns the jobs in all."""
    each = max(1, jobs // clients // batch) * batch
    for client in range(clients):
        name = f"floor-{client}"
        connection.execute("SELECT insp.create_partner(%s, 'https://hooks.example.com/bench')", (name,))
        for first in range(0, each, 500):
            connection.execute(
                "SELECT count(*) FROM insp.enqueue_many(array_fill(%s::jsonb, ARRAY[%s]))",
                (REQUEST % name, min(500, each - first)))
    return each * clients


def measure(url, script, jobs, clients, batch):
    """Drains a queue with pgbench in a database that has the schema and no jobs; returns jobs a second."""
    with psycopg.connect(url, autocommit=True) as connection:
        total = fill(connection, jobs, clients, batch)
        worker = connection.execute(
            "SELECT worker_id FROM insp.worker_register(gen_random_uuid(), 'floor', 1, 'floor', NULL, '{0,1,2}', %s)",
            (clients * batch,)).fetchone()[0]
        bindir = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()[0]
        connection.execute("CHECKPOINT")
        # One round more than there are batches: the last one ends what the one before claimed.
        rounds = total // clients // batch + 1
        variables = {"queue": 0, "floor": 0, "jobs": "{}", "fences": "{}", "batch": batch, "worker": worker}
        answer = subprocess.run(
            [os.path.join(bindir, "pgbench"), "--no-vacuum", "--protocol=prepared", f"--client={clients}",
             f"--jobs={min(clients, os.cpu_count() or 1)}", f"--transactions={rounds}", f"--file={HERE / 'floor' / script}",
             *[f"--define={name}={value}" for name, value in variables.items()], url],
            env={**os.environ, "PGOPTIONS": PLANS}, capture_output=True, text=True, timeout=600)
        if answer.returncode:
            raise RuntimeError(f"pgbench failed: {answer.stderr[-1000:]}")
        check(connection, total)
    rate = float(re.search(r"tps = ([0-9.]+) \(without initial connection time\)", answer.stdout)[1])
    # pgbench counts transactions; every job went through in one of the batches.
    return {"rate": total * rate / (rounds * clients), "jobs": total}


def check(connection, total):
    """Every job must be whole, or the floor would be one of a smaller job."""
    row = connection.execute(
        """
        SELECT (SELECT count(*) FROM insp.job WHERE status = 128 AND completed_at IS NOT NULL),
            (SELECT count(DISTINCT job_id) FROM insp.step WHERE status = 128),
            (SELECT count(DISTINCT job_id) FROM insp.event WHERE kind = 'finished'),
            (SELECT count(DISTINCT job_id) FROM insp.callback WHERE decision = 'PASSED'),
            (SELECT count(*) FROM insp.ready), (SELECT count(*) FROM insp.lease)
        """).fetchone()
    if row != (total, total, total, total, 0, 0):
        raise RuntimeError(f"the floor did not finish every one of {total} jobs: {row}")
