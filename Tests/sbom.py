"""Judges an SBOM: by the schema, and by what the system says of the program. Tests/sbom.sh runs it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parent.parent


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check_schema(text):
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    problem = validator.validate_str(text)
    assert problem is None, problem
    # The judge notices what is wrong.
    for broken in (text.replace('"SHA-256"', '"SHA-0"', 1), text.replace('"type": "library"', '"type": "books"', 1),
                   text.replace('"components"', '"parts"')):
        assert broken != text and validator.validate_str(broken) is not None, "the validator accepts anything"


def check_files(bom, program):
    files = {file["name"]: file["hashes"][0]["content"] for component in bom["components"] for file in component.get("components", ())}
    sums = dict(line.split("  ", 1)[::-1] for line in output("sha256sum", *files).splitlines())
    assert files == sums, "digests differ"
    loaded = {os.path.realpath(path) for path in re.findall(r" (/\S+) \(0x", output("ldd", program))}
    assert len(loaded) > 20 and loaded <= set(files), loaded - set(files)
    folder = Path("/usr/lib") / output("gcc", "-print-multiarch").strip()
    late = {name for source in (ROOT / "Sources/CVision").glob("*.cpp") for name in re.findall(r'"(lib\w+\.so\.\d+)"', source.read_text())}
    assert late == {"libopencv_dnn.so.406", "libqpdf.so.29"}, late
    for name in (*late, "libdlib.a"):
        assert os.path.realpath(folder / name) in files, name
    return len(files)


def check_packages(bom):
    packages = [c for c in bom["components"] if c.get("purl", "").startswith("pkg:deb/") and c["type"] == "library"]
    assert len(packages) > 40 and len({c["purl"] for c in packages}) == len(packages), len(packages)
    installed = dict(line.split("\t") for line in output("dpkg-query", "-W", "-f=${Package}\t${Version}\n").splitlines())
    for package in packages:
        assert installed[package["name"]] == package["version"], package
        assert re.fullmatch(r"pkg:deb/debian/[^@]+@[^@?+]+\?arch=\w+&distro=debian-\d+", package["purl"]), package["purl"]
    return len(packages)


def check_models(bom):
    models = {c["name"]: c for c in bom["components"] if c["type"] == "machine-learning-model"}
    wanted = dict(re.findall(r'"(\w{64}) (\S+\.dat)"', (ROOT / "deploy/install-models.sh").read_text()))
    wanted = {name: sum for sum, name in wanted.items()}
    assert len(wanted) == 2, wanted
    for name, sum in wanted.items():
        assert models[name]["hashes"][0]["content"] == sum, name
    embedded = {path.name for path in (ROOT / "Sources/CVision").glob("*.bin")}
    assert set(models) == set(wanted) | embedded, set(models)
    assert all(model["properties"][0]["value"] for model in models.values())
    return len(models)


def main():
    text, program = Path(sys.argv[1]).read_text(), sys.argv[2]
    bom = json.loads(text)
    check_schema(text)
    print(json.dumps({"result": "pass", "files": check_files(bom, program), "packages": check_packages(bom), "models": check_models(bom)}))


if __name__ == "__main__":
    main()
