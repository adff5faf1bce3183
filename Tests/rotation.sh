#!/usr/bin/env bash
# Rotates keys while sealed jobs run, and kills the rotator and the workers with SIGKILL at moments that nobody chose: the wrapping key
# goes from a file to a PKCS#11 token (SoftHSM) to a KMS (Tests/vault-server.py), the KMS gets new versions of its key, and endpoints
# get new signing secrets. At the end no job may be lost, ended by a fault or unreadable, and no callback unsigned.
#
# Usage: Tests/rotation.sh [--seconds N] [--seed S] [--bin DIR]
#   --seconds N  how long keys are rotated under load [120]
#   --seed S     the order and the moments; printed at the end
#   --bin DIR    programs that are built already (inspectd, faulty-analyzer); else a release build is made
# Prints one JSON line; exit status 0 only if nothing was lost or unreadable.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

seconds=120 seed=$RANDOM bin=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?}; shift 2 ;;
    --seed) seed=${2:?}; shift 2 ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin rotation
deploy/install-deps.sh
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    quietly "the build" swift build -c release --product faulty-analyzer
    bin=.build/release
fi
start_postgres
start_keys
/usr/bin/python3 Tests/rotation.py --seconds "$seconds" --seed "$seed" --bin "$bin" --folder "$scratch" &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
