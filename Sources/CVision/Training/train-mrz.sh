#!/usr/bin/env bash
# Trains both networks of the MRZ reader and writes ../mrz_reader.bin and ../mrz_detector.bin. See README.md.
#
# Usage: train-mrz.sh [WORK]     WORK: folder for the Python environment and checkpoints, ./.training by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=${1:-.training}
mkdir -p "$work"
if [ ! -x "$work/venv/bin/python" ]; then
    python3 -m venv "$work/venv"
    # The CPU build where the index has it: the default wheel brings CUDA along.
    "$work/venv/bin/pip" install --quiet torch==2.13.0+cpu || "$work/venv/bin/pip" install --quiet torch==2.13.0
    "$work/venv/bin/pip" install --quiet 'numpy>=2,<3' 'pillow>=12' 'opencv-python-headless>=4.10,<5'
fi
python=$work/venv/bin/python
export OMP_NUM_THREADS=1

"$python" train_reader.py "$work/reader.pt" 3515
"$python" train_detector.py "$work/detector-1.pt" 2800
"$python" train_detector.py "$work/detector.pt" 930 "$work/detector-1.pt"
"$python" export.py reader "$work/reader.pt" ../mrz_reader.bin
"$python" export.py detector "$work/detector.pt" ../mrz_detector.bin
"$python" measure.py "$work/reader.pt"
