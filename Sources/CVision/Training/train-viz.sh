#!/usr/bin/env bash
# Trains the text reader and writes ../text_reader.bin. See README.md.
#
# Usage: train-viz.sh [WORK]     WORK: folder for the Python environment and checkpoints, ./.training by default
#   VIZ_FONTS   folder of the fonts [/usr/share/fonts]
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
export OMP_NUM_THREADS=1
"$work/venv/bin/python" train_viz.py "$work/text.pt" 12000
"$work/venv/bin/python" export.py text "$work/text.net.pt" ../text_reader.bin
