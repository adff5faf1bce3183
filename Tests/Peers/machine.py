"""The private server's databases, and what is known of the machine: all that is measured depends on both."""

import os
import pathlib
import platform
import statistics
import tempfile
import time

import psycopg

SETTINGS = [
    "shared_buffers", "max_wal_size", "synchronous_commit", "fsync", "full_page_writes", "wal_level", "autovacuum"]


class Server:
    def __init__(self, url):
        self.url = url

    def database(self, name):
        start, _, rest = self.url.partition(":///postgres?")
        return f"{start}:///{name}?{rest}"

    def run(self, *statements):
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def fresh(self, name):
        """An empty database of that name; returns its URL."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
        return self.database(name)

    def drop(self, name):
        """What one system wrote is on disk before the next one's turn."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "CHECKPOINT")

    def settle(self):
        self.run("CHECKPOINT")

    def facts(self):
        with psycopg.connect(self.url, autocommit=True) as connection:
            show = lambda name: connection.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]
            return show("server_version").split()[0], {name: show(name) for name in SETTINGS}


def idle_share(seconds):
    """Share of the processors' time that nobody used for so long."""
    first = _processor_time()
    time.sleep(seconds)
    second = _processor_time()
    return (second[0] - first[0]) / max(1, second[1] - first[1])


def _processor_time():
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def describe():
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB of memory, {system}"


def fdatasync_microseconds():
    """Median time to make an overwritten block of 8 kB durable where the server's files are: what a commit waits for."""
    times = []
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8192 * 16))
        file.flush()
        os.fsync(file.fileno())
        for turn in range(300):
            os.pwrite(file.fileno(), bytes([turn % 256]) * 8192, 8192 * (turn % 16))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6
