#!/usr/bin/env bash
# Checks the gateway against its own OpenAPI description with schemathesis: requests that fit it and requests that do not,
# with and without a credential. No answer may be one that the description does not know, or a 5xx; but a described 503 with
# Retry-After whose code says that a queue was full passes, is counted and is printed.
#
# Usage: Tests/gateway-fuzz.sh [--examples N] [--seconds S] [--seed S] [--bin DIR]
#   --examples N   requests for each operation and kind of check (default 200)
#   --seconds S    it fails if it is not finished by then (default 1800)
#   --seed S       what is tried; printed at the start
#   --bin DIR      a folder with inspectd; else a release build is made
#
# A real gateway and a real worker on a private PostgreSQL, with an endpoint whose events are pulled and a liveness vendor's
# server (vendor-server.py). schemathesis comes from PyPI into a folder of its own; where PyPI cannot be reached the check ends with
# status 3.
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
    *) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
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
endpoint=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c "SELECT endpoint_id FROM insp.create_partner('bank', 'pull:')")
bearer=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c \
    "SELECT bearer FROM insp.create_credential('bank', (SELECT array_agg(scope) FROM insp.scope), rate_per_second => 100000)")
# An event that is there from the start, however late the jobs of the run are finished.
psql -XqAt "$INSPECTD_DATABASE_URL" -o /dev/null -c "SELECT insp.cancel(insp.enqueue_parts('{\"partner\":\"bank\",\"workflow\":\"id\"}',
    ARRAY['FRONT'], ARRAY['\x00']::bytea[]))"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$scratch/vendor.key" -out "$scratch/vendor.pem" 2>/dev/null
: >"$scratch/vendor.log"
/usr/bin/python3 Tests/vendor-server.py --certificate "$scratch/vendor.pem" --key "$scratch/vendor.key" --device-key fuzz \
    --port-file "$scratch/vendor.port" --log "$scratch/vendor.log" --seconds $((seconds + 300)) 2>"$scratch/vendor.err" &
vendor=$!
remember "$vendor"
await_file "$scratch/vendor.port" "$vendor" 60
read -r vendor_port pin <"$scratch/vendor.port"
: >"$scratch/gateway.log"
# Analyzers as by default: at most three requests come at once, which fill no queue. A 503 of another kind is a fault, whatever the load.
"$bin/inspectd" gateway --listen 0 --address-rate 100000 --longest-wait 1 2>"$scratch/gateway.log" &
remember $!
# A session that waits for a blob is decided soon.
INSPECTD_VENDOR_URL=https://localhost:$vendor_port INSPECTD_VENDOR_KEY=fuzz INSPECTD_VENDOR_PINS=$pin \
    INSPECTD_VENDOR_CA=$scratch/vendor.pem INSPECTD_VENDOR_PRIVATE=yes INSPECTD_VENDOR_TIMEOUT=5 INSPECTD_VENDOR_PATIENCE=1 \
    "$bin/inspectd" worker --slots 2 2>"$scratch/worker.log" &
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
export SCHEMATHESIS_HOOKS=$PWD/Tests/gateway_fuzz_hooks.py FUZZ_ENDPOINT=$endpoint FUZZ_FAULTS=$scratch/faults
: >"$FUZZ_FAULTS"
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
# What the clients saw, and what the gateway says: its server refuses some by itself, and a client may have gone.
full='^503 GATEWAY_OVERLOADED '
overloads=$(grep -c "$full" "$FUZZ_FAULTS" || true)
failures=$(grep -vc "$full" "$FUZZ_FAULTS" || true)
{ grep -E '"status":5[0-9][0-9]' "$scratch/gateway.log" || true; } | { grep -v '"code":"GATEWAY_OVERLOADED"' || true; } >"$scratch/failures"
logged=$(wc -l <"$scratch/failures")
[ "$logged" -le "$failures" ] || failures=$logged
# Which they were: times, status, code, method and path.
sort "$FUZZ_FAULTS" | uniq -c >&2
cut -c1-400 "$scratch/failures" | head -n 20 >&2
read -r jobs events < <(psql -XqAt -F ' ' "$INSPECTD_DATABASE_URL" -c "SELECT (SELECT count(*) FROM insp.job),
    (SELECT coalesce(sum((detail ->> 'events')::integer), 0) FROM insp.record WHERE chain = 'access' AND action = 'events')")
blobs=$(wc -l <"$scratch/vendor.log")
echo "{\"requests\":$requests,\"jobs\":$jobs,\"events\":$events,\"blobs\":$blobs,\"overloads\":$overloads,\"answers5xx\":$failures,\"seed\":$seed,\"status\":$status}"
[ "$status" -eq 0 ] && [ "$failures" -eq 0 ] && [ "$jobs" -gt 0 ] && [ "$events" -gt 0 ] && [ "$blobs" -gt 0 ]
