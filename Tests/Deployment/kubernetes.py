"""deploy/kubernetes beyond its schemas: each pod is restricted, is probed, and mounts what it declares; secrets are only named, and
DEPLOYING.md creates each of them; and the server of postgresql.yaml starts, with its settings and a certificate, and answers its probes.

Usage: kubernetes.py KEYS FOLDER     with PyYAML; KEYS is the manifest of the key store; FOLDER is on a path that PostgreSQL's account may enter
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SECTION = (DEPLOY / "DEPLOYING.md").read_text().split("\n## Kubernetes\n")[1].split("\n## ")[0]


def documents(path):
    return [one for one in yaml.safe_load_all(Path(path).read_text()) if one]


def check_pod(name, kind, pod):
    whole = pod["securityContext"]
    assert whole["runAsNonRoot"] is True and whole["runAsUser"] > 0 and whole["runAsGroup"] > 0, name
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}, name
    assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False, name
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    assert not any("hostPath" in volume for volume in volumes.values()), name
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own["allowPrivilegeEscalation"] is False and own["readOnlyRootFilesystem"] is True, name
        assert own["capabilities"] == {"drop": ["ALL"]}, name
        assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"], name
        assert kind == "Job" or {"readinessProbe", "livenessProbe"} <= set(container), name
        for variable in container.get("env", []):
            assert "PASSWORD" not in variable["name"] or variable["name"].endswith("_FILE"), (name, variable)
            assert not re.search(r"//[^/@]*:[^/@]*@", variable.get("value", "")), (name, variable)
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        # The claim of a StatefulSet is no volume of its pod.
        assert set(volumes) <= mounts and mounts - set(volumes) <= {"data"}, (name, mounts ^ set(volumes))


def named(pod):
    """The secrets and maps that a pod needs."""
    text = json.dumps(pod)
    found = re.findall(r'"secretName": "([^"]+)"', text) + re.findall(r'"(?:secretKeyRef|configMapKeyRef|configMap)": \{"name": "([^"]+)"', text)
    assert found, text
    return set(found)


def check(paths):
    kinds = {}
    for path in paths:
        for one in documents(path):
            kind, name = one["kind"], f"{Path(path).name}: {one['metadata']['name']}"
            kinds.setdefault(kind, []).append(one)
            assert kind != "Secret", f"{name}: a secret in a manifest is none"
            if kind not in ("Deployment", "StatefulSet", "Job"):
                continue
            pod = one["spec"]["template"]["spec"]
            check_pod(name, kind, pod)
            for secret in named(pod):
                # "also -gateway": of several that are made alike, one is written out.
                assert re.search(rf"\b{secret}\b", SECTION) or f"-{secret.split('-', 1)[1]}" in SECTION, \
                    f"{name}: DEPLOYING.md does not make {secret}"
    assert len(kinds["StatefulSet"]) == 2 and len(kinds["Deployment"]) == 3 and len(kinds["Job"]) == 1, {k: len(v) for k, v in kinds.items()}
    return kinds


def check_database(path, namespace, base):
    """The parts of a manifest of PostgreSQL fit together, and clients of network.yaml may call it."""
    found = {one["kind"]: one for one in documents(path)}
    assert found["Namespace"]["metadata"]["name"] == namespace
    assert found["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert all(one["metadata"]["namespace"] == namespace for kind, one in found.items() if kind != "Namespace"), path
    stateful, service, policy = found["StatefulSet"]["spec"], found["Service"], found["NetworkPolicy"]["spec"]
    labels = stateful["template"]["metadata"]["labels"]
    assert stateful["selector"]["matchLabels"] == labels == service["spec"]["selector"]
    assert stateful["serviceName"] == service["metadata"]["name"] and stateful["replicas"] == 1
    claim = stateful["volumeClaimTemplates"][0]
    assert claim["metadata"]["name"] == "data" and claim["spec"]["resources"]["requests"]["storage"]
    assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"] and not policy.get("egress")
    environment = {one["name"]: one["value"] for one in stateful["template"]["spec"]["containers"][0]["env"]}
    assert environment["POSTGRES_DB"] == base, environment
    allowed = json.dumps([one for one in documents(DEPLOY / "kubernetes" / "network.yaml") if one["metadata"]["name"] == "inspectd-database"])
    assert f'"kubernetes.io/metadata.name": "{namespace}"' in allowed
    return stateful["template"]["spec"]["containers"][0]


def run(container, folder):
    """The server with the manifest's settings, and what its probes say of it."""
    settings = dict(argument.split("=", 1) for argument in container["args"] if argument != "-c")
    files = {setting: folder / Path(value).name for setting, value in settings.items() if setting.startswith("ssl_")}
    assert set(files) == {"ssl_cert_file", "ssl_key_file"} and settings["ssl"] == "on", settings
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=database.postgresql", "-out", files["ssl_cert_file"], "-keyout", files["ssl_key_file"]], check=True, capture_output=True)
    account = subprocess.run(["id", "-g", "postgres"], capture_output=True, text=True).stdout.strip()
    if os.getuid() == 0 and account:
        # As a volume of secrets has it: root's, and its group may read.
        for path in files.values():
            os.chown(path, 0, int(account))
            path.chmod(0o440)
    folder.chmod(0o711)
    lines = "\n".join(f"{name} = '{files.get(name, value)}'" for name, value in settings.items())
    cluster = folder / "cluster"
    url = subprocess.run([DEPLOY / "scratch-postgres.sh", "start", cluster], check=True, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "SCRATCH_POSTGRES_SETTINGS": lines}).stdout.strip()
    host = re.search(r"host=([^&]*)", url)[1]
    probes = [[part.replace("127.0.0.1", host) for part in container[probe]["exec"]["command"]]
              for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    try:
        for name, value in settings.items():
            shown = subprocess.run(["psql", "-XqAt", url, "-c", f"SHOW {name}"], check=True, capture_output=True, text=True).stdout.strip()
            assert shown == str(files.get(name, value)), f"{name} is {shown}"
        assert [subprocess.run(probe, env=environment).returncode for probe in probes] == [0, 0, 0], probes
    finally:
        subprocess.run([DEPLOY / "scratch-postgres.sh", "stop", cluster], check=True, capture_output=True)
    assert all(subprocess.run(probe, env=environment).returncode for probe in probes), "a probe is content with a server that has stopped"


def main():
    keys, folder = Path(sys.argv[1]), Path(sys.argv[2])
    manifests = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    check([*manifests, keys])
    container = check_database(DEPLOY / "kubernetes" / "postgresql.yaml", "postgresql", "inspectd")
    check_database(keys, "inspectd-keys", "inspectd_keys")
    run(container, folder)


main()
