#!/usr/bin/env bash
# A shadow run over images as live jobs: each is a job of the queue with its front alone, and a worker with --shadow counts by document
# type what other limits or models would have changed.
#
# Usage: Tests/shadow.sh --shadow FILE [--bin DIR] IMAGE|FOLDER...
#   --shadow FILE   limits, another program or models (deploy/OPERATING.md)
#   --bin DIR       the folder with inspectd; else a release build is made
# Prints the counters that are not 0. Exit status 0 only if every job was compared.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

shadow='' bin='' images=()
while [ $# -gt 0 ]; do
    case $1 in
    --shadow) shadow=${2:?--shadow needs a file}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    -*) usage ;;
    *)
        mapfile -t -O "${#images[@]}" images < <(find -L "$1" -type f ! -name '*.json' | sort)
        shift
        ;;
    esac
done
if [ -z "$shadow" ] || [ "${#images[@]}" -eq 0 ]; then usage; fi

begin shadow
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
export INSPECTD_MIGRATIONS=${INSPECTD_MIGRATIONS:-$PWD/Migrations}
start_postgres
quietly "the migration" "$bin/inspectd" migrate --roles
quietly "the migration" "$bin/inspectd" migrate
quietly "the partner" psql -XqAt "$INSPECTD_DATABASE_URL" -c "SELECT insp.create_partner('bank')"

"$bin/inspectd" worker --slots 1 --health 0 --log-level debug --shadow "$shadow" 2>"$scratch/worker.log" &
worker=$!
remember "$worker"
port=''
for _ in $(seq 600); do
    port=$(sed -n 's/.*"health port open".*"port":\([0-9]*\).*/\1/p' "$scratch/worker.log")
    if [ -n "$port" ]; then break; fi
    if [ ! -d "/proc/$worker" ]; then
        cat "$scratch/worker.log" >&2
        exit 1
    fi
    sleep 0.1
done

metrics() { curl -fsS "http://127.0.0.1:$port/metrics" | grep '^inspectd_shadow' || true; }

# How many jobs were compared or left out.
judged() { metrics | awk '/^inspectd_shadow_(inspections|omissions)_total/ { sum += $NF } END { print sum + 0 }'; }

# One after another: with other models, one job is compared at a time.
count=0
for image in "${images[@]}"; do
    before=$(judged)
    # A job that fails is not decided, and so not compared.
    decided=$("$bin/inspectd" enqueue --partner bank --workflow id --front "$image" --wait 2>"$scratch/job.log") || true
    if ! grep -q '"error":null\|"decision"' <<<"$decided"; then continue; fi
    count=$((count + 1))
    for _ in $(seq 600); do
        if [ "$(judged)" -gt "$before" ]; then break; fi
        sleep 0.1
    done
done
metrics | awk '$NF != 0'
compared=$(metrics | awk '/^inspectd_shadow_inspections_total/ { sum += $NF } END { print sum + 0 }')
say "${#images[@]} images, $count decided, $compared compared"
[ "$compared" -eq "$count" ]
