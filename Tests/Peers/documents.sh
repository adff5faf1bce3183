#!/usr/bin/env bash
# Reads the MRZs of the same images with inspectd, PassportEye and FastMRZ, one after the other, and compares lines and
# processor time. Installs the peers from PyPI into a virtual environment; leaves nothing behind. Rewrites the section
# of documents in RESULTS.md; the last line is JSON.
#
# Usage: Tests/Peers/documents.sh [--data DIR] [--inspectd FILE] [--venv DIR]
#   --data DIR       folder with documents/manifest.json [../shared/testdata]
#   --inspectd FILE  that program rather than one built from this source
#   --venv DIR       keeps the peers there for the next time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

data=../shared/testdata program='' venv=''
while [ "$#" -gt 0 ]; do
    case "$1" in
    --data) data=${2:?--data needs a folder} ;;
    --inspectd) program=${2:?--inspectd needs a file} ;;
    --venv) venv=${2:?--venv needs a folder} ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
if [ -z "$program" ]; then
    swift build -c release --product inspectd >&2
    program=.build/release/inspectd
fi
if [ -z "$venv" ]; then
    venv=$(mktemp -d)
    trap 'rm -rf "$venv"' EXIT
fi
# Both peers start Debian's program.
if ! command -v tesseract >/dev/null; then
    root=()
    if [ "$(id -u)" -ne 0 ]; then root=(sudo -n); fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
        install tesseract-ocr >&2
fi
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
fi
if [ ! -e "$venv/complete" ]; then
    # Versions of setuptools that still have what PassportEye's dependencies are built with.
    "$venv/bin/pip" install --quiet 'setuptools<81' wheel
    "$venv/bin/pip" install --quiet --no-build-isolation PassportEye==2.2.2
    "$venv/bin/pip" install --quiet fastmrz==2.1.2
    touch "$venv/complete"
fi
OMP_THREAD_LIMIT=1 OPENBLAS_NUM_THREADS=1 "$venv/bin/python" Tests/Peers/documents.py --data "$data" --inspectd "$program"
