#!/usr/bin/env bash
# Trains the text reader and writes ../text_second.bin. See README.md.
#
# Usage: train-viz.sh [WORK [MINUTES]]     WORK: folder for the Python environment and checkpoints, ./.training by default
#   MINUTES     of training [8.9 where torch finds a GPU, otherwise 240]
#   PYTHON      an interpreter that has torch, numpy, pillow and opencv already: none is installed
#   VIZ_FONTS   folder of the fonts [/usr/share/fonts]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=${1:-.training}
mkdir -p "$work"
python=${PYTHON:-$work/venv/bin/python}
if [ -z "${PYTHON-}" ] && [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    # The CPU build where the index has it: the default wheel brings CUDA along.
    "$work/venv/bin/pip" install --quiet torch==2.13.0+cpu || "$work/venv/bin/pip" install --quiet torch==2.13.0
    "$work/venv/bin/pip" install --quiet 'numpy>=2,<3' 'pillow>=12' 'opencv-python-headless>=4.10,<5'
fi
export OMP_NUM_THREADS=1
minutes=${2:-$("$python" -c 'import torch; print(8.9 if torch.cuda.is_available() else 240)')}
"$python" train_viz.py "$work/text.pt" "$minutes"
"$python" export.py text "$work/text.net.pt" ../text_second.bin
