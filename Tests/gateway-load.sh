#!/usr/bin/env bash
# The gateway under load, on loopback: jobs with 1 MB created over multipart forms beside COPY of the same bytes, alternately; finished
# results fetched; 2,000 clients that send slowly; images judged at once by /usability.
#
# Usage: Tests/gateway-load.sh [--rounds N] [--jobs N] [--bin DIR]
#   --rounds N   turns of COPY and of creates [6]
#   --jobs N     jobs of each turn [400]
#   --bin DIR    the folder with inspectd; else a release build is made
# Prints one JSON line for each figure. Exit status 0 only if creates reach 0.7 of COPY, slow clients that are too many get 503 and
# the gateway keeps to its memory for bodies, and /usability answers in 250 ms (95th percentile).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

rounds=6 jobs=400 bin=''
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=${2:?--rounds needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin load
deploy/install-deps.sh
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
ulimit -n 16384
/usr/bin/python3 Tests/gateway_load.py --rounds "$rounds" --jobs "$jobs" --bin "$bin" --inputs "$inputs" --folder "$scratch" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
