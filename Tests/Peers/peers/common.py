"""Shared by the drivers: the command line, the processes, the clock.

A driver is a subclass of `Driver`; `main(Driver)` gives it these commands, each of which prints one JSON line:

    install   creates the library's tables in an empty database
    enqueue   puts --jobs no-op jobs into the queue, in chunks of 1,000, with as many producers as suit the library
    drain     runs workers until the library's own tables say that every job is finished
    pickup    how soon an idle worker starts a job, from the commit of its enqueue
    crash     kills a worker with ten jobs in hand and waits until another one has started all of them again

What a library's own tables say is read with plain SQL and only once the handlers have been counted: a look at them
while they are in use would slow some libraries down.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import random
import signal
import time

import psycopg

CHUNK = 1000
CRASH_JOBS = 10
# Fork: the counters below are shared memory, and no library is loaded before the fork.
processes = multiprocessing.get_context("fork")


class Driver:
    """One library. Every method runs in a process of its own, so each opens its own connections."""

    name = ""
    #: Worker processes that drain fastest on two cores, and producers that enqueue fastest.
    workers = 1
    producers = 1
    #: Why the library has no pickup time or no crash test; empty if it has.
    no_pickup = ""
    no_crash = ""
    #: Seconds after which a crash trial is given up.
    crash_limit = 200

    def __init__(self, url):
        self.url = url

    def install(self):
        """Creates the tables."""
        raise NotImplementedError

    def producer(self):
        """Opens what enqueueing needs and returns a function of the jobs' numbers that returns once they are committed."""
        raise NotImplementedError

    def work(self, mode, hooks):
        """Works until `hooks.stopping`; `mode` is drain, pickup or crash."""
        raise NotImplementedError

    def finished(self, connection):
        """From the library's own tables: (finished jobs, seconds from the first start to the last finish)."""
        raise NotImplementedError


class Hooks:
    """What handlers tell the measuring process, through shared memory: a plain count and, if asked for, the times."""

    def __init__(self, jobs, workers, timed):
        self.counts = [processes.RawValue(ctypes.c_longlong, 0) for _ in range(workers)]
        self.times = processes.RawArray(ctypes.c_double, jobs if timed else 0)
        self.starts = processes.RawArray(ctypes.c_int, jobs if timed else 0)
        self.timed = timed
        self.hold = 0.0
        self.stop = processes.RawValue(ctypes.c_int, 0)
        self.mine = self.counts[0]

    def started(self, number):
        """A handler began with that job. The number may be text."""
        self.mine.value += 1
        if self.timed:
            number = int(number)
            self.times[number] = time.monotonic()
            self.starts[number] += 1

    @property
    def stopping(self):
        return self.stop.value != 0

    @property
    def total(self):
        return sum(count.value for count in self.counts)


def die_with_parent():
    """No worker outlives the measurement, even if that is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start_worker(driver, mode, hooks, index=0):
    def run():
        # Its own group: a library that forks further is killed as a whole.
        os.setpgid(0, 0)
        die_with_parent()
        hooks.mine = hooks.counts[index]
        driver.work(mode, hooks)

    worker = processes.Process(target=run)
    worker.start()
    return worker


def stop_workers(workers, hooks):
    hooks.stop.value = 1
    deadline = time.monotonic() + 15
    for worker in workers:
        worker.join(max(0.1, deadline - time.monotonic()))
        if worker.is_alive():
            kill(worker)


def kill(worker):
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        worker.kill()
    worker.join()


def wait_until(condition, workers, seconds, what):
    """Waits, but not for workers that have died."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"gave up waiting for {what} after {seconds} s")
        dead = [worker.exitcode for worker in workers if not worker.is_alive()]
        if dead:
            raise SystemExit(f"a worker ended with status {dead[0]} while waiting for {what}")
        time.sleep(0.002)


def enqueue(driver, jobs):
    """Producers connect, wait for one another, and share the jobs out in chunks."""
    chunks = [range(first, min(first + CHUNK, jobs)) for first in range(0, jobs, CHUNK)]
    ready = processes.Barrier(driver.producers + 1)
    done = processes.Barrier(driver.producers + 1)
    following = processes.Value(ctypes.c_int, 0)

    def produce():
        die_with_parent()
        put = driver.producer()
        ready.wait(60)
        while True:
            with following.get_lock():
                index = following.value
                following.value += 1
            if index >= len(chunks):
                break
            put(chunks[index])
        done.wait(600)

    producers = [processes.Process(target=produce) for _ in range(driver.producers)]
    for producer in producers:
        producer.start()
    ready.wait(60)
    start = time.monotonic()
    done.wait(600)
    seconds = time.monotonic() - start
    for producer in producers:
        producer.join(15)
        if producer.is_alive():
            producer.kill()
    return {"rate": jobs / seconds, "seconds": seconds, "producers": driver.producers}


def drain(driver, jobs):
    hooks = Hooks(jobs, driver.workers, timed=False)
    began = time.monotonic()
    workers = [start_worker(driver, "drain", hooks, index) for index in range(driver.workers)]
    try:
        wait_until(lambda: hooks.total >= jobs, workers, 900, f"{jobs} jobs")
        with psycopg.connect(driver.url, autocommit=True) as connection:
            # The last completions may still be in a buffer.
            deadline = time.monotonic() + 30
            count, seconds = driver.finished(connection)
            while count < jobs and time.monotonic() < deadline:
                time.sleep(0.1)
                count, seconds = driver.finished(connection)
        wall = time.monotonic() - began
    finally:
        stop_workers(workers, hooks)
    if count != jobs or hooks.total != jobs:
        raise SystemExit(f"{driver.name}: {jobs} jobs, {hooks.total} runs, {count} finished")
    return {"rate": jobs / seconds, "seconds": seconds, "wall": wall, "workers": driver.workers}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def pickup(driver, jobs):
    """One job at a time for an idle worker in another process; both read the machine's one monotonic clock."""
    warm = 5
    hooks = Hooks(jobs + warm, 1, timed=True)
    workers = [start_worker(driver, "pickup", hooks)]
    after_commit, after_call = [], []
    try:
        put = driver.producer()
        pauses = random.Random(1)
        for number in range(jobs + warm):
            # No fixed beat: it could fall in step with a poll.
            time.sleep(pauses.uniform(0.05, 0.25))
            called = time.monotonic()
            put([number])
            committed = time.monotonic()
            # Looked for only after a while, so that the looking is not in the worker's way.
            time.sleep(0.02)
            wait_until(lambda: hooks.starts[number] > 0, workers, 60, f"job {number}")
            if number >= warm:
                # Below 0 where the worker was faster than the answer to the enqueueing call.
                after_commit.append((hooks.times[number] - committed) * 1000)
                after_call.append((hooks.times[number] - called) * 1000)
    finally:
        stop_workers(workers, hooks)
    return {
        "jobs": jobs,
        "p50Ms": percentile(after_commit, 0.5), "p99Ms": percentile(after_commit, 0.99),
        "callP50Ms": percentile(after_call, 0.5), "callP99Ms": percentile(after_call, 0.99),
    }


def crash(driver):
    hooks = Hooks(CRASH_JOBS, 1, timed=True)
    hooks.hold = 1.0
    first = start_worker(driver, "crash", hooks)
    time.sleep(2)
    # In a process of its own: a library loaded here would be forked into the second worker.
    producer = processes.Process(target=lambda: driver.producer()(range(CRASH_JOBS)))
    producer.start()
    producer.join(30)
    wait_until(lambda: all(hooks.starts), [first], 60, "the first start")
    time.sleep(0.3)
    kill(first)
    killed = time.monotonic()
    second = start_worker(driver, "crash", hooks)
    again = lambda: sum(count > 1 for count in hooks.starts)
    try:
        while again() < CRASH_JOBS and time.monotonic() - killed < driver.crash_limit:
            time.sleep(0.05)
        seconds = time.monotonic() - killed
    finally:
        stop_workers([second], hooks)
    recovered = again()
    return {"seconds": seconds if recovered == CRASH_JOBS else None, "again": recovered, "limit": driver.crash_limit}


async def stopped(hooks):
    """Waits for the end of the measurement without keeping the event loop busy."""
    import asyncio

    while not hooks.stopping:
        await asyncio.sleep(0.05)


def main(kind):
    parser = argparse.ArgumentParser(description=kind.__doc__)
    parser.add_argument("command", choices=["install", "enqueue", "drain", "pickup", "crash"])
    parser.add_argument("--database", required=True, help="URL of a database that is the driver's alone")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=kind.workers, help="worker processes of drain")
    parser.add_argument("--producers", type=int, default=kind.producers, help="processes of enqueue")
    arguments = parser.parse_args()
    driver = kind(arguments.database)
    driver.workers, driver.producers = arguments.workers, arguments.producers
    if arguments.command == "install":
        worker = processes.Process(target=driver.install)
        worker.start()
        worker.join()
        if worker.exitcode:
            raise SystemExit(worker.exitcode)
        answer = {}
    elif arguments.command == "enqueue":
        answer = enqueue(driver, arguments.jobs)
    elif arguments.command == "drain":
        answer = drain(driver, arguments.jobs)
    elif arguments.command == "pickup":
        answer = {"skipped": kind.no_pickup} if kind.no_pickup else pickup(driver, arguments.jobs)
    else:
        answer = {"skipped": kind.no_crash} if kind.no_crash else crash(driver)
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in answer.items()}))
