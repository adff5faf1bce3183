#!/usr/bin/env bash
# Writes the SBOM of a built inspectd (deploy/sbom.sh), lets the CycloneDX project's own library judge it by the schema of version
# 1.5, and looks whether it names every library, every package and every model, with the digests that the files have.
#
# Usage: Tests/sbom.sh --bin DIR     the folder with the built inspectd; needs PyPI once; seconds afterwards
# Prints one JSON line; exit status 0 if all of it holds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
[ "${1-}" = --bin ] && [ $# -eq 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
bin=$2

begin sbom
venv=$(from_pypi sbom 'cyclonedx-python-lib[json-validation]==11.12.0') || {
    tail -n 5 "$scratch/pip.log" >&2
    exit 1
}
deploy/sbom.sh "$bin/inspectd" >"$scratch/bom.json"
# The image's folder has the same SBOM, byte for byte, and the entries of its packages.
deploy/container/closure.sh "$bin/inspectd" "$scratch/image" 2>/dev/null
for file in "$scratch"/image/var/lib/dpkg/status.d/*; do
    package=${file##*/}
    grep -qx "Package: $package" "$file" && grep -q "pkg:deb/debian/${package//+/%2B}@" "$scratch/bom.json"
    test -s "$scratch/image/usr/share/doc/$package/copyright"
done
cmp "$scratch/image/usr/local/share/inspectd/sbom.json" "$scratch/bom.json"
grep -q '^ID=debian$' "$scratch/image/etc/os-release"
"$venv/bin/python" Tests/sbom.py "$scratch/bom.json" "$bin/inspectd"
