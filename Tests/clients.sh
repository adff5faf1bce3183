#!/usr/bin/env bash
# Runs the clients of deploy/clients/ as printed, against a real gateway, worker and database: tokens that expire, a job that is
# sent although the gateway is busy and an answer is lost, its result, its callback, forged, aborted and endless callbacks, pulled
# events, a wrong request.
#
# Usage: Tests/clients.sh [--bin DIR]
#   --bin DIR   the folder with inspectd; else a release build is made
# Prints one JSON line; exit status 0 only if everything works as the pages say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin=''
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin clients
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
/usr/bin/python3 Tests/clients.py --bin "$bin" --inputs "$inputs" --folder "$scratch" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
