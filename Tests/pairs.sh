#!/usr/bin/env bash
# Compares the speed of this source with that of an earlier revision, alternately on one private PostgreSQL: draining and
# enqueueing the queue, pickup by an idle worker, callbacks, and an id_identity job. "CPU" is processor time, of the program and
# of PostgreSQL. Leaves nothing running.
#
# Usage: Tests/pairs.sh [--pairs N] [--kinds LIST] [--old-dir DIR] [--new-dir DIR] [REVISION]
#   REVISION       the earlier one [the newest tag, or else the first commit]; it is built in a folder of its own
#   --pairs N      turns of each [8]
#   --kinds LIST   of queue,pickup,callbacks,job [all]
#   --old-dir DIR  a checkout with a release build of the earlier revision, in place of building one
#   --new-dir DIR  the same for this source
# Each measurement has a database of its own. Prints a line for each pair to stderr, and one JSON line for each figure: the
# ratio new to old (above 1 is faster) as median, its interval and the range over the pairs, and the verdict: pass if the median
# is 0.97 or more, inconclusive if it is less but its interval reaches 0.97, else fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

pairs=8 kinds=queue,pickup,callbacks,job old='' new='' revision=
while [ "$#" -gt 0 ]; do
    case "$1" in
    --pairs) pairs=${2:?--pairs needs a number}; shift 2 ;;
    --kinds) kinds=${2:?--kinds needs a list}; shift 2 ;;
    --old-dir) old=${2:?--old-dir needs a folder}; shift 2 ;;
    --new-dir) new=${2:?--new-dir needs a folder}; shift 2 ;;
    -*) sed -n '2,16p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
    *) revision=$1; shift ;;
    esac
done

begin pairs
deploy/install-deps.sh
inputs=$(deploy/inputs.sh)
if [ -z "$old" ]; then
    revision=${revision:-$(git describe --tags --abbrev=0 2>/dev/null || git rev-list --max-parents=0 HEAD | tail -n 1)}
    old=$scratch/old
    git clone --quiet . "$old"
    git -C "$old" checkout --quiet "$revision"
    say "release build of $revision"
    (cd "$old" && quietly "the build of $revision" swift build -c release --product inspectd)
fi
if [ -z "$new" ]; then
    new=$PWD
    say "release build of this source"
    quietly "the build" swift build -c release --product inspectd
fi
start_postgres
/usr/bin/python3 Tests/pairs.py --pairs "$pairs" --kinds "$kinds" --inputs "$inputs" "$old" "$new" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
