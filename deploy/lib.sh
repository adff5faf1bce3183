# Shell functions that deploy/demo.sh and Tests/run.sh share. Sourced, not run; bash, under `set -euo pipefail`.
# shellcheck shell=bash

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=
postgres_dir=
started=()

# Prints a progress line with the seconds since the script began.
say() {
    printf '%4ds  %s\n' "$SECONDS" "$*" >&2
}

# Runs a command and shows its output only if it fails. The first argument is its name.
quietly() {
    local name=$1 log="$scratch/quiet.log"
    shift
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        say "$name failed"
        return 1
    fi
}

# Creates a scratch folder and makes sure that nothing outlives the script, however it ends.
begin() {
    exec </dev/null
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/inspectd-${1}.XXXXXX")
    # The private PostgreSQL runs under another account, which must be able to enter.
    chmod 755 "$scratch"
    # Marks every process of this script, for `leftovers`.
    export INSPECTD_SCRATCH=$scratch
    trap end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# Remembers a background process for `end`.
remember() {
    started+=("$1")
}

# Forgets a process that has been waited for: its number may soon belong to another.
forget() {
    local pid rest=()
    for pid in "${started[@]}"; do
        if [ "$pid" != "$1" ]; then rest+=("$pid"); fi
    done
    started=(${rest[@]+"${rest[@]}"})
}

# Every living process among the given ones and their descendants.
family() {
    local pid all=("$@") queue=("$@") child
    while [ "${#queue[@]}" -gt 0 ]; do
        pid=${queue[0]}
        queue=("${queue[@]:1}")
        for child in $(ps -o pid= --ppid "$pid" 2>/dev/null); do
            all+=("$child")
            queue+=("$child")
        done
    done
    for pid in "${all[@]}"; do
        if [ -d "/proc/$pid" ] && ! grep -qs '^State:.*Z' "/proc/$pid/status"; then echo "$pid"; fi
    done
}

# Asks the processes to stop, waits up to 25 s, then kills what is left and fails.
stop_all() {
    [ "$#" -gt 0 ] || return 0
    local pids pid waited=0
    mapfile -t pids < <(family "$@")
    kill -TERM "$@" 2>/dev/null || true
    while [ "$waited" -lt 250 ]; do
        local alive=0
        for pid in "${pids[@]}"; do
            if [ -d "/proc/$pid" ] && ! grep -qs '^State:.*Z' "/proc/$pid/status"; then alive=1; fi
        done
        if [ "$alive" -eq 0 ]; then return 0; fi
        sleep 0.1
        waited=$((waited + 1))
    done
    for pid in "${pids[@]}"; do
        if [ -d "/proc/$pid" ]; then
            say "process $pid ($(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-60)) did not stop; killed"
            kill -KILL "$pid" 2>/dev/null || true
        fi
    done
    return 1
}

# Processes with this script's mark, whatever became of their parents.
leftovers() {
    local file files pid
    mapfile -t files < <(grep -lszFx "INSPECTD_SCRATCH=$scratch" /proc/[0-9]*/environ 2>/dev/null)
    for file in ${files[@]+"${files[@]}"}; do
        pid=${file#/proc/}
        pid=${pid%/environ}
        # The search itself has ended by now.
        if [ -d "/proc/$pid" ]; then echo "$pid"; fi
    done
}

# Ends everything; the script's own exit status, or 1 if something was left running or had to be killed.
end() {
    local status=$?
    trap - EXIT INT TERM HUP
    set +e
    if ! stop_all ${started[@]+"${started[@]}"}; then
        [ "$status" -ne 0 ] || status=1
    fi
    wait
    if [ -n "$postgres_dir" ]; then "$repository/deploy/scratch-postgres.sh" stop "$postgres_dir"; fi
    local pid stray
    stray=$(leftovers)
    for pid in $stray; do
        say "left running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-80)"
        kill -KILL "$pid" 2>/dev/null
        [ "$status" -ne 0 ] || status=1
    done
    rm -rf "$scratch"
    exit "$status"
}

# Starts a key store of its own cluster beside the private PostgreSQL. It ends after the processes that use it.
start_keys() {
    trap end_keys EXIT
    INSPECTD_KEYS_URL=$("$repository/deploy/scratch-postgres.sh" start "$scratch/keys")
    export INSPECTD_KEYS_URL
}

end_keys() {
    local status=$?
    trap - EXIT
    # Without it, a status other than 0 would end the shell below, before `end`.
    set +e
    stop_all ${started[@]+"${started[@]}"} || [ "$status" -ne 0 ] || status=1
    started=()
    "$repository/deploy/scratch-postgres.sh" stop "$scratch/keys"
    (exit "$status")
    end
}

# Starts a private PostgreSQL and points every command at it.
start_postgres() {
    postgres_dir=$scratch/postgres
    INSPECTD_DATABASE_URL=$("$repository/deploy/scratch-postgres.sh" start "$postgres_dir")
    export INSPECTD_DATABASE_URL
}

# psql on the private database: unaligned rows, no start-up file, stops at the first error.
sql() {
    psql -X -q -A -t -v ON_ERROR_STOP=1 "$@" "$INSPECTD_DATABASE_URL"
}

# Installs Python packages of pinned versions in .build/venv-NAME, unless they are there, and prints that folder. Where PyPI
# cannot be reached it fails and $scratch/pip.log says why. Another version checks other things, and a check that changes by
# itself is none.
from_pypi() {
    local venv=.build/venv-$1
    shift
    mkdir -p .build
    # Another script may be installing the same.
    (
        flock 9
        if [ "$(cat "$venv/installed" 2>/dev/null)" != "$*" ]; then
            rm -rf "$venv"
            /usr/bin/python3 -m venv --without-pip "$venv" || exit
            # Modules are compiled when they are first imported, which most never are.
            /usr/bin/python3 -m pip -q --python "$venv/bin/python" install --no-compile "$@" >"$scratch/pip.log" 2>&1 || exit
            echo "$*" >"$venv/installed"
        fi
    ) 9>"$venv.lock" || return
    echo "$venv"
}

# Waits until a file has content, for as many seconds as given, while the process lives.
await_file() {
    local file=$1 pid=$2 tenths=$(($3 * 10))
    while [ ! -s "$file" ]; do
        if [ "$tenths" -le 0 ] || [ ! -d "/proc/$pid" ]; then return 1; fi
        sleep 0.1
        tenths=$((tenths - 1))
    done
}
