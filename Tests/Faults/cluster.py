"""One PostgreSQL cluster that a fault may stop, copy or promote."""

import glob
import os
import shutil
import subprocess
import tempfile
import time

import psycopg2

from service import descendants

TOOLS = os.path.dirname(os.path.realpath(
    shutil.which("initdb") or sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]))


class Server:
    """One cluster under one address, a socket in a folder of its own."""

    def __init__(self, home, address, account):
        self.address = address
        self.account = account
        self.data = tempfile.mkdtemp(prefix="data.", dir=home)
        if account:
            os.chown(self.data, account.pw_uid, account.pw_gid)
        os.chmod(self.data, 0o700)

    def tool(self, name, *arguments, variables=None, check=True):
        way = {}
        if self.account:
            way = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return subprocess.run(
            [os.path.join(TOOLS, name), *arguments], cwd="/", check=check, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict({"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, **(variables or {})), **way).returncode

    def configure(self, text):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="ascii") as file:
            file.write(f"unix_socket_directories = '{self.address}'\n{text}")

    def start(self, variables=None):
        self.tool("pg_ctl", "-D", self.data, "-l", os.path.join(self.data, "log"), "-w", "-t", "60", "-s", "start",
                  variables=variables)

    def stop(self, mode="immediate"):
        self.tool("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "-s", "stop", check=False)

    @property
    def url(self):
        return f"postgresql:///postgres?host={self.address}&user=inspectd"

    def rows(self, sql, parameters=()):
        connection = psycopg2.connect(self.url, application_name="faults", connect_timeout=5)
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    # As the suite's own checks call it.
    def patient(self, sql):
        for _ in range(240):
            try:
                return self.rows(sql)
            except psycopg2.OperationalError:
                time.sleep(0.25)
        return self.rows(sql)

    def clients(self):
        """The processes of its clients, not those that write its log ahead."""
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            pid = int(file.readline())
        found = []
        for child in descendants(pid):
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"[local]" in file.read():
                    found.append(child)
        return found
