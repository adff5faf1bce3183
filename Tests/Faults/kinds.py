"""The faults. Each takes the world, its lane's random numbers and its duration, and restores everything afterwards."""

import contextlib
import os
import signal
import threading
import time

import psycopg2

import previous
from service import descendants, digest, send

# Whether the role of all workers may be given limits: orchestration's own sessions set theirs.
ROLE = "inspectd"


def worker_killed(world, random, seconds):
    worker = random.choice(world.workers)
    world.kill(worker)
    time.sleep(min(1, seconds))
    worker.start()


def analyzer_killed(world, random, seconds):
    for _ in range(2):
        worker = random.choice(world.workers)
        below = descendants(worker.process.pid) if worker.alive else []
        if below:
            send(random.choice(below), signal.SIGKILL)
        time.sleep(min(1, seconds / 2))


def worker_frozen(world, random, seconds):
    """Long enough to be taken for dead; then it wakes and goes on where it was."""
    worker = random.choice(world.workers)
    worker.send(signal.SIGSTOP)
    time.sleep(max(seconds, 6) if world.short else 21)
    worker.send(signal.SIGCONT)


def worker_stopped(world, random, seconds):
    worker = random.choice([worker for worker in world.workers if worker.alive])
    began = time.monotonic()
    alone, betweens = not world.between, world.betweens
    worker.send(signal.SIGTERM)
    status = worker.wait(60)
    took = time.monotonic() - began
    if status is None:
        world.violation(f"{worker.name} did not stop within 60 s")
        worker.send(signal.SIGKILL)
        worker.wait(10)
    elif alone and world.betweens == betweens:
        # Without the database, or the way to it, a worker may take longer: it tries to write what it has.
        world.stop_seconds = max(world.stop_seconds, took)
        if took > (30 if world.short else 10):
            world.violation(f"{worker.name} took {took:.1f} s to stop")
        if status != 0:
            world.violation(f"{worker.name} ended with status {status}")
    worker.start()


def receiver_refuses(world, random, seconds):
    world.receiver.kill()
    time.sleep(seconds)
    world.receiver.start()


def receiver_hangs(world, random, seconds):
    world.receiver.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    world.receiver.process.send_signal(signal.SIGCONT)


def clock_jumps(world, random, seconds):
    """One worker's wall clock jumps by an hour or a day, there and back; the machine's stays."""
    world.set_clock(random.choice([-86400, -3600, 3600, 86400]))
    time.sleep(seconds)
    world.set_clock(0)


def two_versions(world, random, seconds):
    """Workers of a frozen release, by its own statements, beside today's, as during an upgrade; of each some die with what they hold."""
    def work():
        try:
            connection = world.postgres.connect("inspectd of before")
        except psycopg2.OperationalError:
            return
        try:
            ended = previous.work(connection, random.choice(world.frozen), random, seconds, time.monotonic, time.sleep, digest)
        except Exception as error:
            world.violation(f"a worker of a release before: {type(error).__name__}: {error}")
            return
        with world.lock:
            world.ended_before += ended
    # More than today's workers can take, so that something is left.
    rate, world.rate = world.rate, world.rate * 4
    try:
        # Once the database, which the other lane may be at, lets them in.
        for _ in range(5):
            world.postgres.rows("SELECT 1")
            old = [threading.Thread(target=work, daemon=True) for _ in range(2)]
            for thread in old:
                thread.start()
            time.sleep(seconds / 2)
            worker = random.choice(world.workers)
            world.kill(worker)
            worker.start()
            for thread in old:
                thread.join()
            if world.ended_before:
                break
    finally:
        world.rate = rate


# Of the database ---------------------------------------------------------------------------------------------------------


def database_restarted(world, random, seconds):
    world.postgres.kill(signal.SIGQUIT)
    time.sleep(min(2, seconds))
    world.postgres.start()


def database_frozen(world, random, seconds):
    """Every process of the server stands still, as on a host that is migrated or out of breath."""
    pids = [world.postgres.pid] + descendants(world.postgres.pid)
    for pid in pids:
        send(pid, signal.SIGSTOP)
    time.sleep(seconds if world.short else 18)
    for pid in reversed(pids):
        send(pid, signal.SIGCONT)


def connections_terminated(world, random, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        world.postgres.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND pid <> pg_backend_pid() AND application_name NOT LIKE 'faults%%'"
            " ORDER BY md5(pid::text || %s) LIMIT 3", (str(random.random()),))
        time.sleep(random.uniform(0.05, 0.3))


def network_swallows(world, random, seconds):
    """Half-open: the peer is gone, and nothing says so."""
    world.proxy.swallows = True
    time.sleep(seconds if world.short else 25)
    world.proxy.heal()


def connections_exhausted(world, random, seconds):
    held = []
    try:
        world.postgres.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'inspectd%'")
        for _ in range(120):
            try:
                held.append(world.postgres.connect("faults hog"))
            except psycopg2.OperationalError:
                break
        time.sleep(seconds)
    finally:
        for connection in held:
            connection.close()


def disk_full(world, random, seconds):
    ballast = os.path.join(world.disk, "ballast")
    try:
        # Unbuffered: what a buffer still held when the disk was full would be written, and fail, once more at the end.
        with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * (1 << 20))
        time.sleep(seconds)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(ballast)
    # A server that could not write its log has stopped by itself.
    world.postgres.start()


def rows_locked(world, random, seconds):
    """An operator's forgotten transaction holds leases, jobs and waiting rows."""
    connection = world.postgres.connect("faults blocker")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'; BEGIN")
            for table, key in (("lease", "job_id"), ("ready", "job_id"), ("job", "id")):
                cursor.execute(
                    f"SELECT FROM insp.{table} WHERE {key} IN (SELECT {key} FROM insp.{table} ORDER BY {key} DESC LIMIT 20)"
                    " FOR UPDATE")
            time.sleep(seconds)
            cursor.execute("ROLLBACK")
    finally:
        connection.close()


def operators_linger(world, random, seconds):
    """Operators and producers leave transactions open: what they hold costs its own jobs, and no connection."""
    order = f"md5(job_id::text || '{random.random()}')"
    acts = [
        f"SELECT insp.cancel(public_id) FROM insp.job WHERE id IN (SELECT job_id FROM insp.lease ORDER BY {order} LIMIT 2)",
        f"SELECT insp.cancel(public_id) FROM insp.job WHERE id IN (SELECT job_id FROM insp.ready ORDER BY {order} LIMIT 2)",
        "SELECT insp.cancel(public_id) FROM insp.job WHERE status < 128 ORDER BY id DESC LIMIT 1",
        "SELECT insp.cancel_partner('club', batch => 5)",
        "SELECT insp.limit_partner('shop')",
        "SELECT insp.pause(partner => 'club', reason => 'left open')",
        "SELECT insp.pause('bulk', reason => 'left open')",
        "SELECT insp.set_lane_weight('bulk', 2)",
        "SELECT insp.expire()",
        "SELECT insp.callback_breaker_reset(id) FROM insp.endpoint ORDER BY id LIMIT 1",
        "SELECT insp.callback_enable(id) FROM insp.endpoint ORDER BY id DESC LIMIT 1",
    ]
    def finished():
        return world.postgres.rows("SELECT count(*) FROM insp.job WHERE status = 128")[0][0]
    open_ones = []
    try:
        for act in acts:
            connection = world.postgres.connect("faults operator")
            open_ones.append(connection)
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'; BEGIN")
                try:
                    cursor.execute(act)
                except psycopg2.Error as error:
                    # The server's own limit, or ROW_LOCKED of a call that has one: what another open transaction holds.
                    if error.pgcode not in ("55P03", "IN137"):
                        raise
                    cursor.execute("ROLLBACK")
        before, began = finished(), time.monotonic()
        time.sleep(max(seconds, 4))
        # Both are so until the transactions end; on a machine that stands still for a moment it may take longer to be seen.
        blocked, done = 1, 0
        while (blocked or not done) and time.monotonic() - began < 30:
            blocked = world.postgres.rows(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'inspectd%' AND wait_event_type = 'Lock'"
                " AND query_start < clock_timestamp() - interval '2 s'")[0][0]
            done = finished() - before
            time.sleep(0.1)
        if blocked:
            world.violation(f"{blocked} back-ends wait for an operator's transaction")
        if not done:
            world.violation(f"no job was finished while operators' transactions were open ({time.monotonic() - began:.1f} s)")
        for connection in open_ones:
            with connection.cursor() as cursor:
                cursor.execute(random.choice(["COMMIT", "ROLLBACK"]))
    finally:
        for connection in open_ones:
            connection.close()
        world.postgres.rows("SELECT insp.resume(), insp.resume(partner => 'club'), insp.set_lane_weight('bulk', 1)")


def tables_locked(world, random, seconds):
    """LOCK TABLE in the order that deadlocks with a settlement, again and again."""
    connection = world.postgres.connect("faults locker")
    end = time.monotonic() + seconds
    try:
        with connection.cursor() as cursor:
            while time.monotonic() < end:
                tables = random.sample(["job", "lease", "ready", "delayed", "step"], 3)
                try:
                    cursor.execute("SET lock_timeout = '3s'; BEGIN")
                    for table in tables:
                        cursor.execute(f"LOCK TABLE insp.{table} IN SHARE ROW EXCLUSIVE MODE")
                        time.sleep(0.1)
                    time.sleep(0.2)
                except (psycopg2.errors.DeadlockDetected, psycopg2.errors.LockNotAvailable):
                    pass
                cursor.execute("ROLLBACK")
                time.sleep(0.2)
    finally:
        connection.close()


def statements_timed_out(world, random, seconds):
    limit = random.choice(["3ms", "10ms", "40ms"])
    world.postgres.rows(f"ALTER ROLE {ROLE} SET statement_timeout = '{limit}'")
    try:
        world.postgres.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'inspectd%'")
        time.sleep(seconds)
    finally:
        world.postgres.rows(f"ALTER ROLE {ROLE} RESET statement_timeout")
        world.postgres.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'inspectd%'")


def transaction_held(world, random, seconds):
    """A report's old snapshot keeps VACUUM from removing anything."""
    def hold():
        try:
            connection = world.postgres.connect("faults report")
            with connection.cursor() as cursor:
                cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.job")
                world.stopping.wait(seconds if world.short else 60)
            connection.close()
        except psycopg2.Error:
            pass
    threading.Thread(target=hold, daemon=True).start()
    time.sleep(min(seconds, 3))


def pooler_restarted(world, random, seconds):
    world.pooler.kill(random.choice([signal.SIGKILL, signal.SIGTERM]))
    time.sleep(min(2, seconds))
    world.pooler.start()


PROCESSES = {
    "workerKilled": worker_killed,
    "analyzerKilled": analyzer_killed,
    "workerFrozen": worker_frozen,
    "workerStopped": worker_stopped,
    "receiverRefuses": receiver_refuses,
    "receiverHangs": receiver_hangs,
    "clockJump": clock_jumps,
    "twoVersions": two_versions,
}
DATABASE = {
    "databaseRestarted": database_restarted,
    "databaseFrozen": database_frozen,
    "connectionsTerminated": connections_terminated,
    "networkSwallows": network_swallows,
    "connectionsExhausted": connections_exhausted,
    "diskFull": disk_full,
    "rowsLocked": rows_locked,
    "operatorsLinger": operators_linger,
    "tablesLocked": tables_locked,
    "statementTimeout": statements_timed_out,
    "oldTransaction": transaction_held,
    "poolerRestarted": pooler_restarted,
}
