#!/usr/bin/env bash
# Runs real workers on a private PostgreSQL under real faults, in seeded random order. At the end, no job may be lost,
# finished twice or stuck, nor have a stage written twice.
#
# Usage: Tests/faults.sh [--minutes M] [--seed S] [--short] [--simulate N] [--bin DIR]
#   --minutes M    how long faults go on (default 20)
#   --seed S       the order and length of the faults; printed at the start, and again after a failure
#   --short        every kind of fault once, about a minute and a half
#   --simulate N   plays N seeds of the simulation first (SimulationTests), from a random seed on
#   --bin DIR      programs that are built already (inspectd, faulty-analyzer); else a release build is made
#
# Prints one JSON line: {"faults": {kind: count}, "jobs", "lost", "finishedTwice", "stagesTwice", "stuck", "wrongPerson",
# "rescueSecondsMax", "seed", …}. Exit status 0 only if nothing was lost, repeated, mixed up or stuck. A second, small
# service has its standby promoted (asynchronous and synchronous), a backup restored under it and its database's clock set;
# "gone" counts jobs that only a lost timeline had acknowledged. Only one process's clock is changed (libfaketime), never the
# machine's. Filling a disk needs the right to mount a small one; without it, that kind
# is listed under "skipped". A failover after which jobs are late is repeated, at most twice: a stall of the
# machine occurs in one round, a fault in each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

minutes=20
seed=
short=
simulate=0
bin=
while [ "$#" -gt 0 ]; do
    case "$1" in
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --simulate) simulate=${2:?--simulate needs a number}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    --short) short=1; shift ;;
    *) sed -n '2,19p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
    esac
done

begin faults
disk=

# The cluster lies on the disk, so it must go before the disk does, and the disk before the folder.
# shellcheck disable=SC2317
finish() {
    local status=$?
    trap - EXIT
    set +e
    stop_all ${started[@]+"${started[@]}"} || status=1
    started=()
    if [ -d "$scratch/postgres" ]; then TMPDIR=${disk:-${TMPDIR:-/tmp}} deploy/scratch-postgres.sh stop "$scratch/postgres"; fi
    if [ -n "$disk" ]; then
        rm -f "$disk/ballast"
        as_root umount "$disk" || status=1
    fi
    (exit "$status")
    end
}
trap finish EXIT

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

deploy/install-deps.sh
if [ -z "$bin" ]; then
    say "release build"
    quietly "the build" swift build -c release --product inspectd
    quietly "the build" swift build -c release --product faulty-analyzer
    bin=.build/release
fi
bin=$(cd "$bin" && pwd)

if [ "$simulate" -gt 0 ]; then
    say "simulation: $simulate seeds"
    SIMULATION_SEEDS=$simulate SIMULATION_FIRST=$((RANDOM * 32768 + RANDOM)) \
        swift test --filter 'SimulationTests/.*Whatever' >"$scratch/simulation.log" 2>&1 ||
        { tail -n 60 "$scratch/simulation.log"; exit 1; }
    # A filter that matches nothing succeeds.
    LC_ALL=C grep -aqE '^[^ ]+ Test run with 1 test .* passed after ' "$scratch/simulation.log" ||
        { tail -n 60 "$scratch/simulation.log"; exit 1; }
fi

mkdir "$scratch/disk"
if as_root mount -t tmpfs -o size=900m,mode=1777 tmpfs "$scratch/disk" 2>/dev/null; then disk=$scratch/disk; fi
say "faults"
/usr/bin/python3 Tests/Faults/faults.py --minutes "$minutes" --folder "$scratch" --bin "$bin" ${disk:+--disk "$disk"} \
    ${seed:+--seed "$seed"} ${short:+--short} &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
