#!/usr/bin/env bash
# A link that captures, in a browser: the page is opened as a person opens it, in Debian's Chromium without a window, with a drawn
# camera: it shows documents, and a face that is lit by the page's colours and does what the page says. The person passes, and
# attackers' cameras (a held photo, a print before the screen, a replayed recording, a video file in place of the camera) do not. The test
# checks what the browser stores, what it loads and what its policy refuses; a lost upload is sent again, and axe judges each screen once.
# Trials run in two lanes. A trial whose camera got too little processor time is repeated instead of judged, so trials may run in parallel.
# In Chromium, and in Firefox ESR by WebDriver BiDi, a case goes all the way from a link to a verified callback, through a
# reviewer who signs in to the console at an OpenID Connect provider and decides.
#
# Usage: Tests/capture.sh [--bin DIR] [--page DIR] [--pictures DIR] [--only TRIAL]
#   --bin DIR        the folder with inspectd; else a release build is made
#   --page DIR       the page's files, in place of those in the program: a change of them needs no build
#   --pictures DIR   where screenshots of each screen go
#   --only TRIAL     this trial alone, such as goes_the_whole_way
#
# Playwright and axe come from PyPI; where that cannot be reached, or a browser is missing, the check ends with status 3.
# Prints one JSON line; exit status 0 only if all is as described.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin=''
more=()
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=${2:?}; shift 2 ;;
    --page | --pictures | --only) more+=("$1" "${2:?}"); shift 2 ;;
    *) sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin capture
for browser in chromium firefox-esr; do
    command -v "$browser" >/dev/null || {
        echo "capture: there is no $browser; deploy/install-deps.sh installs it. Nothing was tried" >&2
        exit 3
    }
done
# Later versions of Playwright need a newer Firefox than Debian's.
venv=$(from_pypi capture 'playwright==1.64.1' 'axe-playwright-python==0.1.8' 'authlib==1.9.10' 'cryptography>=42') || {
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
"$venv/bin/python" Tests/capture.py --bin "$bin" --inputs "$inputs" --folder "$scratch" "${more[@]}" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
