#!/usr/bin/env bash
# Runs whole jobs with their parts in an S3-compatible store: moto, which checks every signature with botocore and every action by
# the bucket's policy. Jobs by gateway and command line reach 128; nothing plain reaches the store, and no part the database; what
# is refused, repeated or erased is deleted; a store that hangs delays jobs and ends none; lost and changed parts end with a code.
#
# Usage: Tests/objects.sh [--jobs N] [--figures] [--bin DIR]
#   --jobs N     jobs by both ways together [20]
#   --figures    also measures WAL of a job with two images of 1 MB, and accepted jobs/s, with parts in the database and in the store
#   --bin DIR    the folder with inspectd; else a release build is made
# moto comes from PyPI into a folder of its own; where PyPI cannot be reached the check ends with status 3. Prints one JSON line; exit
# status 0 only if every count is as it must be.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

jobs=20 figures=() bin=
while [ $# -gt 0 ]; do
    case $1 in
    --jobs) jobs=${2:?}; shift 2 ;;
    --figures) figures=(--figures); shift ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin objects
deploy/install-deps.sh
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
venv=$(from_pypi moto 'moto[server]==5.2.5') || {
    tail -n 5 "$scratch/pip.log" >&2
    echo "objects: moto could not be installed; nothing was tried" >&2
    exit 3
}
SCRATCH_POSTGRES_SETTINGS="wal_compression = off" start_postgres
"$venv/bin/python" Tests/objects.py --jobs "$jobs" --bin "$bin" --inputs "$inputs" --folder "$scratch" "${figures[@]}" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
