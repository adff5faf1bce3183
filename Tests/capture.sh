#!/usr/bin/env bash
# A link that captures, in a browser: the page is opened as a person opens it, in Debian's Chromium without a window, with a camera that
# is drawn: it shows documents, and a face that has the light of the page's colours and does what the page says. The person passes, and
# attackers' cameras (a held photo, a print before the screen, a replayed recording, a video file in place of the camera) do not. What the
# browser stores, what it loads and what its policy refuses is looked at, a lost upload is sent again, and axe judges each screen.
#
# Usage: Tests/capture.sh [--bin DIR] [--pictures DIR]
#   --bin DIR        the folder with inspectd; else a release build is made
#   --pictures DIR   where screenshots of each screen go
#
# Playwright and axe come from PyPI; where that cannot be reached, or there is no Chromium, the check ends with status 3.
# Prints one JSON line; exit status 0 only if all is as described.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin='' pictures=''
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=${2:?}; shift 2 ;;
    --pictures) pictures=${2:?}; shift 2 ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin capture
command -v chromium >/dev/null || {
    echo "capture: there is no chromium; deploy/install-deps.sh installs it. Nothing was tried" >&2
    exit 3
}
venv=$(from_pypi capture 'playwright==1.65.2' 'axe-playwright-python==0.1.8') || {
    tail -n 5 "$scratch/pip.log" >&2
    echo "capture: playwright could not be installed; nothing was tried" >&2
    exit 3
}
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
"$venv/bin/python" Tests/capture.py --bin "$bin" --inputs "$inputs" --folder "$scratch" ${pictures:+--pictures "$pictures"} &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
