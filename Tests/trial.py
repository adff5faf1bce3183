"""What the trials of whole services have in common: programs that they start, their logs, and what turned out wrong. Imported by
Capture/installation.py, custody.py, objects.py, partner.py and rotation.py."""

import glob
import json
import os
import signal
import subprocess
import sys
import time


class Processes:
    """Programs with their logs in the folder `options.folder`; `processes` and `faults` are the heir's lists."""

    def path(self, name):
        return os.path.join(self.options.folder, name)

    def expect(self, holds, what):
        if not holds:
            self.faults.append(what)

    def psql(self, sql):
        return subprocess.run(["psql", "-XqAt", os.environ["INSPECTD_DATABASE_URL"], "-c", sql], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def start(self, name, *words):
        with open(self.path(name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(list(words), stdout=log, stderr=log))

    def await_text(self, name, what):
        for _ in range(1200):
            if os.path.exists(self.path(name)):
                with open(self.path(name), encoding="utf-8") as file:
                    for line in file:
                        if what in line:
                            return line
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not say {what}")


class Trial:
    def __init__(self, options):
        self.options = options
        self.folder = self.logs = options.folder
        self.inspectd = os.path.abspath(os.path.join(options.bin, "inspectd"))
        self.environment = dict(os.environ, INSPECTD_MIGRATIONS=os.path.abspath("Migrations"))
        # Further arguments of each process.
        self.spawn = {}
        self.processes = []
        self.faults = []

    def expect(self, holds, what):
        if not holds:
            self.faults.append(what)

    # MARK: Files

    def path(self, name):
        return os.path.join(self.folder, name)

    def input(self, name):
        return os.path.join(self.options.inputs, name)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def await_file(self, name, seconds=60):
        """The text of a file that another process writes."""
        end = time.time() + seconds
        while not os.path.exists(self.path(name)) or not os.path.getsize(self.path(name)):
            if time.time() > end:
                raise RuntimeError(f"no {name}")
            time.sleep(0.05)
        with open(self.path(name), encoding="utf-8") as file:
            return file.read().strip()

    # MARK: Programs

    def command(self, *words, check=True, environment=None):
        answer = subprocess.run(
            [self.inspectd, *words], env=environment or self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=300, check=False, **self.spawn)
        if check and answer.returncode != 0:
            raise RuntimeError(f"inspectd {words[0]}: {answer.stderr.decode()[-800:]}")
        return answer

    def start(self, name, *words, program=None, environment=None):
        """A process whose log has that name."""
        with open(os.path.join(self.logs, name + ".log"), "ab") as log:
            process = subprocess.Popen([program or self.inspectd, *words], env=environment or self.environment,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.spawn)
        self.processes.append(process)
        return process

    def port(self, name, message, seconds=60):
        """The port in a line of a process's log."""
        end = time.time() + seconds
        while time.time() < end:
            with open(os.path.join(self.logs, name + ".log"), encoding="utf-8") as file:
                for line in file:
                    if f'"message":"{message}"' in line and line.endswith("\n"):
                        return json.loads(line)["port"]
            time.sleep(0.1)
        raise RuntimeError(f"{name} names no port")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(60)


def children(pid):
    """The child processes of all its threads."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def judge(trial):
    """Runs a trial and ends the script with its status."""
    try:
        status = trial.run()
    finally:
        trial.end()
    sys.exit(status)
