#!/usr/bin/env bash
# Compares inspectd with other queues on PostgreSQL, each driven through its own interface, and with bare SQL: bulk
# enqueue, drain, pickup by an idle worker. Installs the peers into a virtual environment, starts a private PostgreSQL,
# leaves nothing running. Rewrites RESULTS.md and results.png next to it; the last line is JSON.
#
# Usage: Tests/Peers/run.sh [--rounds N] [--jobs N] [--quick] [--crash] [--inspectd FILE]
#   --rounds N       turns of each system [3]
#   --jobs N         jobs for each measurement of throughput [30000]
#   --quick          2 rounds of 6,000 jobs, about 3 minutes rather than 12
#   --crash          also kills a worker of each system and waits for its jobs; 6 minutes more
#   --inspectd FILE  that program rather than one built from this source
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

usage() {
    sed -n '2,11s/^# \{0,1\}//p' Tests/Peers/run.sh >&2
    exit 2
}

rounds=3 jobs=30000 pickups=60 program=
options=()
while [ "$#" -gt 0 ]; do
    case "$1" in
    --rounds) rounds=${2:?--rounds needs a number}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --quick) rounds=2 jobs=6000 pickups=30 ;;
    --crash) options+=(--crash) ;;
    --inspectd) program=$(realpath "${2:?--inspectd needs a file}"); shift ;;
    *) usage ;;
    esac
    shift
done

begin peers

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Installs a Debian package if it is not there; for what only this comparison needs.
debian() {
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; then return 0; fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update
    as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 install "$1"
}

# The first line of a log that says so, without addresses.
reason() {
    grep -m 1 "^$1" "$2" | sed -E 's#[a-z]+://[^ ]*#…#g' | cut -c1-160 || echo "no reason given"
}

if [ -z "$program" ]; then
    deploy/install-deps.sh
    say "build"
    quietly "the build" swift build -c release --product inspectd
    program=$(swift build -c release --show-bin-path)/inspectd
fi

# The peers' packages stay out of the repository, and are kept for the next time.
say "peers"
requirements=Tests/Peers/requirements.txt
key=$(/usr/bin/python3 --version | cat - "$requirements" | sha256sum | cut -c1-16)
environment=${XDG_CACHE_HOME:-$HOME/.cache}/inspectd/peers-$key
if [ ! -e "$environment/complete" ]; then
    quietly "python3-venv" debian python3-venv
    rm -rf "$environment"
    mkdir -p "${environment%/*}"
    /usr/bin/python3 -m venv "$environment"
    # Without the measuring tools nothing can be done; a peer that cannot be installed is left out and named.
    grep -E '^(matplotlib|psycopg|uvloop)' "$requirements" >"$scratch/tools.txt"
    quietly "the Python tools" "$environment/bin/pip" install -q --disable-pip-version-check -r "$scratch/tools.txt"
    while read -r line; do
        [[ $line =~ ^[a-z] ]] || continue
        "$environment/bin/pip" install -q --disable-pip-version-check "$line" >"$scratch/pip.log" 2>&1 ||
            echo "${line%%=*}=$(reason ERROR "$scratch/pip.log")" >>"$environment/missing"
    done <"$requirements"
    # Otherwise all is tried again the next time.
    if [ ! -e "$environment/missing" ]; then touch "$environment/complete"; fi
fi
without() {
    options+=("--without=$1=$2")
    say "without $1: $2"
}
for pair in awa:awa-pg pgqueuer:pgqueuer pgqueuer:asyncpg procrastinate:procrastinate absurd:absurd-sdk \
    absurd:absurdctl; do
    why=$(grep -m 1 "^${pair#*:}=" "$environment/missing" 2>/dev/null | cut -d= -f2- || true)
    if [ -n "$why" ]; then without "${pair%%:*}" "$why"; fi
done
had_pgqd=$(command -v pgqd || true)
if debian postgresql-15-pgq3 >"$scratch/apt.log" 2>&1; then
    # The ticker's service comes along; here events are ticked by hand.
    if [ -z "$had_pgqd" ]; then as_root service pgqd stop >/dev/null 2>&1 || true; fi
else
    without pgq "$(reason E: "$scratch/apt.log")"
fi

say "PostgreSQL"
start_postgres
# More memory than the tests have, so that no system is measured by its checkpoints; all durability on, as by default.
sql -c "ALTER SYSTEM SET shared_buffers = '1GB'" -c "ALTER SYSTEM SET max_wal_size = '8GB'" \
    -c "ALTER SYSTEM SET synchronous_commit = on" -c "ALTER SYSTEM SET fsync = on" \
    -c "ALTER SYSTEM SET full_page_writes = on"
data=$(sql -c "SHOW data_directory")
bin=$(sql -c "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
owner=$(stat -c %U "$data")
restart=("$bin/pg_ctl" -D "$data" -l "$data/../log" -m fast -w -t 60 -s restart)
if [ "$owner" = "$(id -un)" ]; then
    "${restart[@]}" >/dev/null 2>&1
else
    (cd / && setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups -- "${restart[@]}" >/dev/null 2>&1)
fi

# In the background, so that a signal to this script is dealt with at once.
export PYTHONDONTWRITEBYTECODE=1
"$environment/bin/python" Tests/Peers/compare.py --server "$INSPECTD_DATABASE_URL" --inspectd "$program" \
    --rounds "$rounds" --jobs "$jobs" --pickups "$pickups" ${options[@]+"${options[@]}"} &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
