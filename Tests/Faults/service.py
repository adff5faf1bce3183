"""The programs that the fault suite runs: PostgreSQL, PgBouncer, a callback receiver and real workers. Everything is started here, in
a folder of its own, and ended here."""

import glob
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time

import psycopg2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRATCH_POSTGRES = os.path.join(ROOT, "deploy", "scratch-postgres.sh")


def say(text):
    print(text, file=sys.stderr, flush=True)


def mark(image, number):
    """An image like no other: no decoder reads what follows its end."""
    return image + number.to_bytes(8, "big")


def digest(image):
    """What faulty-analyzer puts in the place of {sum}."""
    value = 2166136261
    for byte in image:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value >> 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def unprivileged():
    """The account that servers run under which refuse to run as root; nothing if this is not root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise SystemExit("no unprivileged account to run servers under")


def descendants(pid):
    """Every living process below one, nearest first."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="latin-1") as file:
                text = file.read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Postgres:
    """A private cluster by deploy/scratch-postgres.sh, which also listens on a loopback port, for the proxy."""

    def __init__(self, folder, disk):
        self.folder = os.path.join(folder, "postgres")
        # Where a small disk is given, the whole cluster lies on it.
        self.environment = dict(os.environ, **({"TMPDIR": disk} if disk else {}))
        self.port = free_port()
        self.script("start")
        with open(os.path.join(self.folder, "home"), encoding="ascii") as file:
            self.home = file.read().strip()
        with open(os.path.join(self.home, "data", "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nmax_connections = 70\nshared_buffers = 128MB\n"
                "max_wal_size = 192MB\nmin_wal_size = 64MB\ndeadlock_timeout = 500ms\n")
        self.kill(signal.SIGINT)
        self.start()

    def script(self, action):
        # Into a file: a pipe would stay open for as long as the server lives.
        with open(os.path.join(os.path.dirname(self.folder), "postgres.out"), "wb") as output:
            return subprocess.run(
                [SCRATCH_POSTGRES, action, self.folder], env=self.environment, stdout=output, check=False).returncode

    @property
    def pid(self):
        try:
            with open(os.path.join(self.home, "data", "postmaster.pid"), encoding="ascii") as file:
                return int(file.readline())
        except (OSError, ValueError):
            return None

    def kill(self, number):
        """Ends the server: SIGINT is a fast shutdown, SIGQUIT an immediate one."""
        pid = self.pid
        if pid is None:
            return
        send(pid, number)
        for _ in range(1200):
            if not os.path.exists(f"/proc/{pid}"):
                return
            time.sleep(0.05)
        raise RuntimeError("the server did not end")

    def start(self):
        for _ in range(30):
            if self.script("start") == 0:
                return
            time.sleep(1)
        raise RuntimeError("the server did not start")

    def stop(self):
        self.script("stop")

    @property
    def url(self):
        return f"postgresql:///postgres?host={self.home}&port={self.port}&user=inspectd"

    def url_through(self, port):
        return f"postgresql://inspectd@127.0.0.1:{port}/postgres"

    def connect(self, name="faults"):
        """A connection that the faults meant for workers do not concern."""
        connection = psycopg2.connect(
            self.url, application_name=name, connect_timeout=10, options="-c statement_timeout=0 -c lock_timeout=0")
        connection.autocommit = True
        return connection

    def patiently(self, work, patience=90):
        """Does work on a connection of its own, again until the database lets it."""
        deadline = time.monotonic() + patience
        while True:
            try:
                connection = self.connect()
                try:
                    with connection.cursor() as cursor:
                        return work(cursor)
                finally:
                    connection.close()
            except psycopg2.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.3)

    def rows(self, sql, parameters=(), patience=90):
        def work(cursor):
            cursor.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []
        return self.patiently(work, patience)


class Pooler:
    """PgBouncer in transaction mode on a unix socket."""

    def __init__(self, folder, postgres):
        self.folder = os.path.join(folder, "pooler")
        self.port = free_port()
        account = unprivileged()
        os.mkdir(self.folder)
        self.account = account
        configuration = os.path.join(self.folder, "pgbouncer.ini")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(
                f"[databases]\npostgres = host={postgres.home} port={postgres.port} dbname=postgres user=inspectd\n"
                f"[pgbouncer]\nlisten_addr =\nlisten_port = {self.port}\nunix_socket_dir = {self.folder}\n"
                "auth_type = any\npool_mode = transaction\nmax_client_conn = 100\ndefault_pool_size = 8\n"
                f"logfile = {self.folder}/log\npidfile = {self.folder}/pid\n")
        if account:
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.command = ["pgbouncer", "-q", configuration]
        if not any(os.access(os.path.join(path, "pgbouncer"), os.X_OK) for path in os.get_exec_path()):
            self.command[0] = "/usr/sbin/pgbouncer"
        self.process = None
        self.start()

    def start(self):
        for _ in range(20):
            self.process = subprocess.Popen(
                self.command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                **({"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []} if self.account else {}))
            for _ in range(50):
                if os.path.exists(os.path.join(self.folder, f".s.PGSQL.{self.port}")) and self.process.poll() is None:
                    return
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
            self.kill(signal.SIGKILL)
            time.sleep(0.5)
        raise RuntimeError("PgBouncer did not start")

    def kill(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
        if self.process:
            self.process.wait()
        for name in ("pid", f".s.PGSQL.{self.port}", f".s.PGSQL.{self.port}.lock"):
            try:
                os.unlink(os.path.join(self.folder, name))
            except FileNotFoundError:
                pass

    @property
    def url(self):
        return f"postgresql:///postgres?host={self.folder}&port={self.port}&user=inspectd"


class Receiver:
    """The partner's side, always on the same port."""

    def __init__(self, folder, secret):
        self.port = free_port()
        self.log = os.path.join(folder, "callbacks.jsonl")
        self.secret = secret
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "deploy", "callback-receiver.py"), "--port", str(self.port), "--secret",
             self.secret, "--log", self.log], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the callback receiver did not start")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Worker:
    """One `inspectd worker`, started again whenever a fault has ended it."""

    def __init__(self, name, command, folder, environment):
        self.name = name
        self.command = command
        self.environment = environment
        self.log = os.path.join(folder, f"{name}.log")
        self.process = None

    def start(self):
        variables = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "INSPECTD_SCRATCH": os.environ.get("INSPECTD_SCRATCH", "")}
        variables.update({key: os.environ[key] for key in ("LD_LIBRARY_PATH", "INSPECTD_MODELS") if key in os.environ})
        variables.update(self.environment)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        if self.alive:
            self.process.send_signal(number)

    def wait(self, seconds):
        """The exit status, or nothing if it still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def finished(self):
        with open(self.log, "rb") as log:
            return sum(1 for line in log if b'"message":"job finished"' in line)

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return " ".join(log.read().splitlines()[-2:])

    def end(self):
        if self.process is None:
            return
        below = descendants(self.process.pid)
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        if self.wait(25) is None:
            self.send(signal.SIGKILL)
            self.wait(10)
        for pid in below:
            # Analyzers end with their worker; one that does not is ended here.
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if re.search(rb"analyzer", file.read()):
                        send(pid, signal.SIGKILL)
            except OSError:
                pass
