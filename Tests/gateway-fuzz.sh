#!/usr/bin/env bash
# Checks the gateway against its own OpenAPI description with schemathesis: requests that fit it and requests that do not,
# with and without a credential. No answer may be a 5xx or one that the description does not know.
#
# Usage: Tests/gateway-fuzz.sh [--examples N] [--seconds S] [--seed S] [--bin DIR]
#   --examples N   requests for each operation and kind of check (default 200)
#   --seconds S    it fails if it is not finished by then (default 1800)
#   --seed S       what is tried; printed at the start
#   --bin DIR      a folder with inspectd; else a release build is made
#
# A real gateway and a real worker on a private PostgreSQL. schemathesis comes from PyPI into a folder of its own; where PyPI
# cannot be reached the check ends with status 3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

examples=200
seconds=1800
seed=$RANDOM
bin=
while [ $# -gt 0 ]; do
    case $1 in
    --examples) examples=${2:?}; shift 2 ;;
    --seconds) seconds=${2:?}; shift 2 ;;
    --seed) seed=${2:?}; shift 2 ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin gateway-fuzz
if [ -z "$bin" ]; then
    swift build -c release --product inspectd >&2
    bin=.build/release
fi

venv=$(from_pypi schemathesis 'schemathesis==4.32.5') || {
    tail -n 5 "$scratch/pip.log" >&2
    echo "gateway-fuzz: schemathesis could not be installed; nothing was tried" >&2
    exit 3
}

say "seed $seed"
start_postgres
"$bin/inspectd" migrate --roles >/dev/null
"$bin/inspectd" migrate >/dev/null
psql -Xq "$INSPECTD_DATABASE_URL" -c "SELECT insp.create_partner('bank')" >/dev/null
bearer=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c \
    "SELECT bearer FROM insp.create_credential('bank', (SELECT array_agg(scope) FROM insp.scope), rate_per_second => 100000)")
: >"$scratch/gateway.log"
"$bin/inspectd" gateway --listen 0 --address-rate 100000 --longest-wait 1 --usability-slots 4 2>"$scratch/gateway.log" &
remember $!
"$bin/inspectd" worker --slots 1 2>"$scratch/worker.log" &
remember $!
port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*"message":"gateway open".*"port":\([0-9]*\).*/\1/p' "$scratch/gateway.log")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ]

# What fits no description may be refused with any 4xx, also 413.
cat >"$scratch/schemathesis.toml" <<'TEXT'
[checks]
negative_data_rejection.expected-statuses = ["4xx"]
TEXT
status=0
# Rules between members are not in the description, so not all that fits it is accepted (positive_data_acceptance).
tried() {
    timeout --kill-after=10 "$seconds" "$venv/bin/schemathesis" --config-file "$scratch/schemathesis.toml" run \
        "http://127.0.0.1:$port/openapi.json" --header "Authorization: Bearer $bearer" \
        --exclude-checks positive_data_acceptance --max-examples "$examples" --seed "$seed" \
        --request-timeout 60 --no-color "${@:2}" >"$scratch/$1.log" 2>&1
}
# Three processes, because many calls wait for a result or an event; schemathesis' own threads disturb each other.
runs=()
tried reading --phases examples,coverage,fuzzing --include-method GET &
runs+=("reading $!")
tried writing --phases examples,coverage,fuzzing --exclude-method GET &
runs+=("writing $!")
tried sequences --phases stateful &
runs+=("sequences $!")
for run in "${runs[@]}"; do remember "${run#* }"; done
for run in "${runs[@]}"; do
    one=0
    wait "${run#* }" || one=$?
    forget "${run#* }"
    if [ "$one" -eq 0 ]; then continue; fi
    status=$one
    if [ "$one" -eq 124 ]; then echo "gateway-fuzz: ${run% *}: not finished after $seconds s" >&2; fi
    sed -nE '/= (ERRORS|FAILURES) =/,$p' "$scratch/${run% *}.log" | cut -c1-800 | head -n 150 >&2
    tail -n 4 "$scratch/${run% *}.log" >&2
done
requests=$(grep -c '"message":"request answered"' "$scratch/gateway.log" || true)
failures=$(grep -cE '"status":5[0-9][0-9]' "$scratch/gateway.log" || true)
jobs=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c "SELECT count(*) FROM insp.job")
echo "{\"requests\":$requests,\"jobs\":$jobs,\"answers5xx\":$failures,\"seed\":$seed,\"status\":$status}"
[ "$status" -eq 0 ] && [ "$failures" -eq 0 ] && [ "$jobs" -gt 0 ]
