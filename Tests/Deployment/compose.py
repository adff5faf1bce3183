"""deploy/compose.yaml beyond its schema: each service is restricted, each mount and secret exists, and what each service of ours would run
runs here, with its own login and secrets, against clusters that were set up as the images of PostgreSQL would and that ask for passwords.

Usage: compose.py BIN FOLDER     with ruamel.yaml; FOLDER is on a path that the account of PostgreSQL may enter
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OURS = ("migrate", "worker", "gateway", "console")


def check_restrictions(compose):
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"] and "cap_add" not in service, name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert int(service["user"].split(":")[0]) > 0 and not service.get("privileged"), name
        assert {"host"}.isdisjoint(str(service.get(key)) for key in ("network_mode", "pid", "ipc")), name
        for variable, value in service.get("environment", {}).items():
            assert "PASSWORD" not in variable or variable.endswith("_FILE"), (name, variable)
            assert not re.search(r"//[^/@]*:[^/@]*@", str(value)), (name, variable)
        for secret in service.get("secrets", []):
            assert secret in compose["secrets"], (name, secret)
        for path in re.findall(r"/run/secrets/([\w-]+)", json.dumps([service.get("command"), service.get("environment")])):
            assert path in service["secrets"], f"{name} names {path}, which it does not get"
        for other in service.get("depends_on", {}):
            assert other in compose["services"], (name, other)
    for name in ("database", "keys"):
        assert compose["services"][name]["networks"] == ["inside"] and "ports" not in compose["services"][name], name
    assert compose["networks"]["inside"]["internal"] is True
    used = {secret for service in compose["services"].values() for secret in service.get("secrets", [])}
    assert used == set(compose["secrets"]), used ^ set(compose["secrets"])


def psql(url, *arguments):
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (url, arguments, done.stderr[-500:])
    return done.stdout.strip()


def cluster(folder, service, secrets):
    """A cluster as the image sets it up: its superuser runs the mounted scripts in their order. The folder of its socket."""
    url = subprocess.run([DEPLOY / "scratch-postgres.sh", "start", folder], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    psql(url, "-c", "CREATE ROLE postgres SUPERUSER LOGIN")
    host = re.search(r"host=([^&]*)", url)[1]
    Path(host).chmod(0o711)
    base = service["environment"]["POSTGRES_DB"]
    admin = f"postgresql:///postgres?host={host}&user=postgres"
    psql(admin, "-c", "ALTER ROLE inspectd RENAME TO first")
    psql(admin, "-c", f"CREATE DATABASE {base}")
    scripts = sorted((target, source) for source, target in (mount.split(":")[:2] for mount in service["volumes"]) if "initdb.d" in target)
    assert len(scripts) == 2, scripts
    for _, source in scripts:
        path = secrets / source.rsplit("/", 1)[1] if source.startswith("./secrets/") else (DEPLOY / source).resolve()
        psql(admin.replace("/postgres?", f"/{base}?"), "-f", str(path))
    rules = Path(psql(admin, "-c", "SHOW hba_file"))
    rules.write_text("local all postgres,first trust\nlocal all all scram-sha-256\n")
    psql(admin, "-c", "SELECT pg_reload_conf()")
    return host


def refused(url):
    return subprocess.run(["psql", "-XqAtw", url, "-c", "SELECT 1"], capture_output=True).returncode != 0


class Services:
    def __init__(self, compose, program, folder, hosts):
        self.compose, self.program, self.folder, self.hosts = compose, program, folder, hosts
        self.running = []

    def here(self, text):
        """What a service is told, with this machine's sockets, files and ports."""
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(text))
        text = re.sub(r"postgresql://(\w+)@(\w+)/(\w+)\?", lambda m: f"postgresql:///{m[3]}?host={self.hosts[m[2]]}&user={m[1]}&", text)
        text = text.replace("/run/secrets", str(self.folder / "secrets"))
        return re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", text)

    def start(self, name, *more):
        service = self.compose["services"][name]
        environment = {key: self.here(value) for key, value in service["environment"].items()}
        words = [self.program, *(self.here(word) for word in service["command"]), *more]
        with open(self.folder / f"{name}.log", "w") as log:
            environment = {**{k: v for k, v in os.environ.items() if not k.startswith(("INSPECTD_DATABASE", "INSPECTD_KEYS", "INSPECTD_WRAP", "PG"))},
                           "INSPECTD_MIGRATIONS": str(self.folder / "Migrations"), **environment}
            # As the image's account: the file of wrapping keys must be the program's own.
            run = subprocess.Popen(words, env=environment, stdout=log, stderr=log, user=65532, group=65532, extra_groups=[])
        self.running.append(run)
        return run

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def finish(self, name, *more):
        status = self.start(name, *more).wait(timeout=120)
        assert status == 0, (name, status, self.log(name)[-1000:])

    def open(self, name):
        run = self.start(name)
        for _ in range(600):
            if f"{name} open" in self.log(name):
                break
            assert run.poll() is None, (name, self.log(name)[-1000:])
            time.sleep(0.1)
        else:
            raise AssertionError((name, self.log(name)[-1000:]))
        run.send_signal(signal.SIGTERM)
        assert run.wait(timeout=60) == 0, (name, self.log(name)[-1000:])

    def stop(self):
        for run in self.running:
            if run.poll() is None:
                run.kill()
                run.wait()


def main():
    program, folder = Path(sys.argv[1]).resolve() / "inspectd", Path(sys.argv[2])
    compose = YAML(typ="safe").load(DEPLOY / "compose.yaml")
    check_restrictions(compose)
    secrets = folder / "secrets"
    for name, secret in compose["secrets"].items():
        assert secret["file"] == f"secrets/{name}", name
    subprocess.run([DEPLOY / "compose-secrets.sh", secrets], check=True, stdout=subprocess.DEVNULL)
    again = subprocess.run([DEPLOY / "compose-secrets.sh", secrets], capture_output=True)
    assert again.returncode == 1, "secrets were made twice"
    for path in secrets.iterdir():
        assert path.stat().st_mode & 0o777 == 0o400 and path.stat().st_uid in (65532, 999), path
    for name in compose["secrets"]:
        assert (secrets / name).stat().st_size > 0, name
    hosts, services = {}, None
    # Where every account may run it.
    shutil.copy2(program, folder / "inspectd")
    shutil.copytree(ROOT / "Migrations", folder / "Migrations")
    try:
        for name in ("database", "keys"):
            hosts[name] = cluster(folder / name, compose["services"][name], secrets)
        services = Services(compose, folder / "inspectd", folder, hosts)
        assert refused(f"postgresql:///inspectd?host={hosts['database']}&user=worker"), "no password was asked for"
        services.finish("migrate")
        # KEDA's login, which only Kubernetes needs, asks what scaling.yaml does.
        query = YAML(typ="safe").load_all((DEPLOY / "kubernetes" / "scaling.yaml").read_text())
        query = next(trigger["metadata"]["query"] for part in query for trigger in part["spec"].get("triggers", []))
        scaler = f"postgresql:///inspectd?host={hosts['database']}&user=scaler&passfile={secrets / 'scaler'}"
        assert psql(scaler, "-c", query).strip() == "0", "the scaler's login cannot count jobs"
        services.finish("worker", "--drain")
        for name in ("gateway", "console"):
            services.open(name)
        assert set(OURS) | {"database", "keys"} == set(compose["services"])
    finally:
        if services:
            services.stop()
        for name in hosts:
            subprocess.run([DEPLOY / "scratch-postgres.sh", "stop", folder / name], stdout=subprocess.DEVNULL)
    print(json.dumps({"services": len(compose["services"]), "secrets": len(compose["secrets"])}))


if __name__ == "__main__":
    main()
