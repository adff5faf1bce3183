"""PostgreSQL servers that log everything and archive their WAL."""

import glob
import os
import pwd
import shutil
import subprocess
import time

import psycopg2

SETTINGS = """
listen_addresses = ''
max_connections = 200
wal_level = replica
archive_mode = on
wal_compression = off
full_page_writes = on
log_statement = all
log_min_duration_statement = 0
log_parameter_max_length = -1
log_parameter_max_length_on_error = -1
log_min_messages = info
default_toast_compression = 'pglz'
shared_preload_libraries = 'pg_stat_statements'
work_mem = '64kB'
log_temp_files = 0
"""


class Cluster:
    """A PostgreSQL server of its own, with archived WAL."""

    def __init__(self, folder):
        initdb = shutil.which("initdb") or sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]
        self.tools = os.path.dirname(os.path.realpath(initdb))
        self.folder = folder
        os.makedirs(os.path.join(folder, "archive"))
        os.makedirs(os.path.join(folder, "run"))
        self.data = os.path.join(folder, "data")
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            for path in (folder, os.path.join(folder, "archive"), os.path.join(folder, "run")):
                os.chown(path, account.pw_uid, account.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "inspectd", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        self.write("postgresql.conf", SETTINGS + f"""
unix_socket_directories = '{folder}/run'
archive_command = 'test ! -f {folder}/archive/%f && cp %p {folder}/archive/%f'
""")
        self.start()

    def run(self, tool, *arguments, check=True):
        words = [os.path.join(self.tools, tool), *arguments]
        if os.getuid() == 0:
            group = str(pwd.getpwnam("postgres").pw_gid)
            words = ["setpriv", "--reuid=postgres", "--regid=" + group, "--clear-groups", "env", "HOME=/nonexistent", *words]
        subprocess.run(words, cwd="/", check=check, stdout=subprocess.DEVNULL)

    def write(self, name, text):
        with open(os.path.join(self.data, name), "a", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.folder, "log"), "-w", "-s", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-s", "stop", check=False)

    def url(self, database="postgres"):
        return f"postgresql:///{database}?host={self.folder}/run&user=inspectd"

    def query(self, sql, *values, database="postgres"):
        connection = psycopg2.connect(self.url(database))
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(sql, values or None)
        rows = cursor.fetchall() if cursor.description else []
        connection.close()
        return rows

    def archive(self):
        """Waits until the archive has all WAL up to here."""
        name = self.query("SELECT pg_walfile_name(pg_switch_wal())")[0][0]
        end = time.time() + 60
        while not os.path.exists(os.path.join(self.folder, "archive", name)):
            if time.time() > end:
                raise RuntimeError("WAL is not archived")
            time.sleep(0.1)

    def backup(self, target):
        self.run("pg_basebackup", "-h", os.path.join(self.folder, "run"), "-U", "inspectd", "-D", target, "-c", "fast")


class Restored(Cluster):
    """A server on a base backup of another one, with the changes up to a time that its archive of WAL has."""

    def __init__(self, source, backup, folder, until):
        os.makedirs(os.path.join(folder, "run"))
        self.tools, self.folder, self.data = source.tools, folder, backup
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            for path in (folder, os.path.join(folder, "run")):
                os.chown(path, account.pw_uid, account.pw_gid)
        self.write("postgresql.conf", f"\nunix_socket_directories = '{folder}/run'\narchive_mode = off\n"
                   f"restore_command = 'cp {source.folder}/archive/%f %p'\nrecovery_target_time = '{until}'\n"
                   "recovery_target_action = promote\n")
        self.write("recovery.signal", "")
        if os.getuid() == 0:
            os.chown(os.path.join(backup, "recovery.signal"), account.pw_uid, account.pw_gid)
        self.start()
        end = time.time() + 60
        while self.query("SELECT pg_is_in_recovery()")[0][0]:
            if time.time() > end:
                raise RuntimeError("a recovery does not end")
            time.sleep(0.1)
