#!/usr/bin/env bash
# Kills dispatchers with SIGKILL at random moments while callbacks become due. At the end, every callback must have been
# delivered, and every repeat must have the same webhook-id and body.
#
# Usage: Tests/callbacks.sh [--seconds S] [--seed N] [--bin DIR]
#   --seconds S   how long dispatchers are killed (default 120)
#   --seed N      the moments and the victims; printed at the start
#   --bin DIR     a folder with inspectd; by default, a release build is made
#
# Prints one JSON line: {"callbacks", "kills", "requests", "duplicates", "lost", "otherBodies", "unsigned", "undelivered",
# "seconds", "seed"}. Exit status 0 only if nothing was lost and no repeat differed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

seconds=120
seed=$((RANDOM * 32768 + RANDOM))
bin=
while [ "$#" -gt 0 ]; do
    case "$1" in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    *) sed -n '2,11p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
    esac
done

begin callbacks
if [ -z "$bin" ]; then
    deploy/install-deps.sh --no-models
    say "release build"
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
bin=$(cd "$bin" && pwd)
say "seed $seed"
url=$(deploy/scratch-postgres.sh start "$scratch/postgres")
postgres_dir=$scratch/postgres
quietly "the roles" "$bin/inspectd" migrate --roles --database-url "$url"
quietly "the migration" "$bin/inspectd" migrate --database-url "$url"
/usr/bin/python3 Tests/Faults/callbacks.py --seconds "$seconds" --seed "$seed" --folder "$scratch" --bin "$bin" \
    --database "$url" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
