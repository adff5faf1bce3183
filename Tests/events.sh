#!/usr/bin/env bash
# Pulls events while puller, gateway and database are killed with SIGKILL at random and transactions commit late: none may be
# missed, and they must arrive in the order of their numbers. Each signature is verified as the Standard Webhooks
# specification says, by code that shares nothing with inspectd.
#
# Usage: Tests/events.sh [--events N] [--short] [--seed N] [--bin DIR]
#   --events N   how many [10000]
#   --short      1,000 events, for Tests/run.sh: under a minute
#   --seed N     draws the same faults again; the times differ
#   --bin DIR    the folder with inspectd; else a release build is made
# Prints one JSON line; exit status 0 only if every event arrived in order and each of the three was killed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

events=10000 seed=$RANDOM bin='' short=()
while [ $# -gt 0 ]; do
    case $1 in
    --events) events=${2:?--events needs a number}; shift 2 ;;
    --short) events=1000 short=(--short); shift ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin events
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
say "$events events, seed $seed"
/usr/bin/python3 Tests/events.py --events "$events" --seed "$seed" --bin "$bin" --folder "$scratch" --postgres "$postgres_dir" \
    ${short[@]+"${short[@]}"} &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
