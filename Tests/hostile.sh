#!/usr/bin/env bash
# A hostile partner beside a good one: silent connections, dripping heads and bodies, waits, large Base64, wrong passwords. For
# each kind the good one's 95th percentile beside the hostile one is compared with its own alone, in the same run.
#
# Usage: Tests/hostile.sh [--seconds S] [--bin DIR]
#   --seconds S    for each kind, beside as long alone (default 10)
#   --bin DIR      a folder with inspectd; else a release build is made
#
# The last line is {"kinds": {KIND: {"alone", "beside", "limit", "refused", "rounds"}}, "floor", "failed"}, times in milliseconds;
# exit status 0 only if nothing of the good one was refused and no p95 is above its limit: twice that alone, or the floor of 100 ms
# where that is more. A p95 above it is measured again, at most twice: a stall of the machine shows in one round, a fault in each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

seconds=10
bin=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?}; shift 2 ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin hostile
if [ -z "$bin" ]; then
    say "release build"
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
quietly "the roles" "$bin/inspectd" migrate --roles
quietly "the migration" "$bin/inspectd" migrate
for partner in good hostile; do
    psql -Xq "$INSPECTD_DATABASE_URL" -c "SELECT insp.create_partner('$partner')" >/dev/null
    declare "$partner=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c \
        "SELECT bearer FROM insp.create_credential('$partner', ARRAY['create', 'read'], rate_per_second => 10000)")"
done
# Few places, so that those who take them all need no great number.
: >"$scratch/gateway.log"
"$bin/inspectd" gateway --listen 0 --connections 40 --held-limit 192 2>"$scratch/gateway.log" &
remember $!
port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*"message":"gateway open".*"port":\([0-9]*\).*/\1/p' "$scratch/gateway.log")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ]
# shellcheck disable=SC2154
GOOD=$good HOSTILE=$hostile PID=${started[-1]} /usr/bin/python3 Tests/Hostile/hostile.py "$port" "$seconds"
