#!/usr/bin/env bash
# Searches for personal data where it must not be. Jobs of all workflows (Tests/Custody/inputs.py), some with frames,
# chip files or a vendor's session, go through the gateway and `inspectd enqueue`, sealed, with marked names, references, images and URLs, their callbacks
# with sealed secrets; then a dump, the WAL archive, a base backup, the servers' logs at log_statement = all, the programs' logs and
# metrics are searched for each mark. One job by plain SQL shows that the search finds what is there. Then half of the jobs are
# erased, by job and by person, the wrapping key is rotated, and the backup is restored to the moment before the erasure, with the
# archive, beside today's key store: nothing of that half opens. Of the key store, the data files are searched for destroyed keys,
# not its WAL, which has them.
#
# Usage: Tests/custody.sh [--jobs N] [--bin DIR]
#   --jobs N     sealed jobs, 18 or more [60]
#   --bin DIR    the folder with inspectd; else a release build is made
# Prints one JSON line; exit status 0 only if every count is as it must be.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

jobs=60 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --jobs) jobs=${2:?}; shift 2 ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

if ! [[ $jobs =~ ^[0-9]{1,6}$ ]] || [ "$((10#$jobs))" -lt 18 ]; then
    echo "custody.sh: --jobs $jobs: 18 or more are needed, so that every workflow goes by the gateway and the command line" >&2
    exit 2
fi

begin custody
deploy/install-deps.sh
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
/usr/bin/python3 Tests/custody.py --jobs "$jobs" --bin "$bin" --inputs "$inputs" --folder "$scratch" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
