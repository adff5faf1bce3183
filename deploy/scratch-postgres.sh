#!/usr/bin/env bash
# A private, throw-away PostgreSQL cluster on a unix socket, for the demo, the tests and the benchmarks.
# It runs under an unprivileged account when called as root, listens on no TCP port, and keeps the durable defaults.
set -eu

usage() {
    cat <<'TEXT'
Usage: scratch-postgres.sh start DIR   create (if need be) and start a cluster in DIR; prints its URL
       scratch-postgres.sh stop DIR    stop it and remove DIR
       scratch-postgres.sh url DIR     print its URL
SCRATCH_POSTGRES_SETTINGS: lines for postgresql.conf of a cluster that is created
TEXT
}

fail() {
    echo "scratch-postgres.sh: $1" >&2
    exit 1
}

case "${1:-}" in
start | stop | url) [ $# -eq 2 ] || { usage >&2; exit 2; } ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
action=$1
case "$2" in
/*) dir=$2 ;;
*) dir=$PWD/$2 ;;
esac

# PATH's own tools, or the newest of Debian's, which are not in PATH.
initdb=$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)
[ -x "$initdb" ] || fail "no PostgreSQL server found; install the package postgresql"
bin=$(dirname "$(readlink -f "$initdb")")

# PostgreSQL refuses to run as root.
account=
if [ "$(id -u)" -eq 0 ]; then
    account=postgres
    id "$account" >/dev/null 2>&1 || account=nobody
fi
run() {
    if [ -n "$account" ]; then
        # The caller's directory may be closed to the account.
        (cd / && exec setpriv --reuid="$account" --regid="$(id -g "$account")" --clear-groups -- env HOME=/nonexistent "$@")
    else
        "$@"
    fi
}

# A socket's path may have 107 bytes, and the unprivileged account may have no access to DIR: so the cluster and its
# socket have their own short directory, and DIR stores its name.
home=
[ ! -s "$dir/home" ] || home=$(cat "$dir/home")

url() {
    [ -n "$home" ] || fail "no cluster in $dir"
    echo "postgresql:///postgres?host=$home&user=inspectd"
}

running() {
    [ -n "$home" ] && run "$bin/pg_ctl" -D "$home/data" status >/dev/null 2>&1
}

case $action in
url)
    url
    ;;
start)
    if [ -z "$home" ] || [ ! -s "$home/data/PG_VERSION" ]; then
        mkdir -p "$dir"
        home=$(mktemp -d "${TMPDIR:-/tmp}/inspectd-pg.XXXXXX")
        echo "$home" >"$dir/home"
        [ -z "$account" ] || chown "$account" "$home"
        # Only the owner may enter the directory, hence trust. C.UTF-8: sorts the same everywhere.
        run "$bin/initdb" -D "$home/data" -U inspectd -A trust -E UTF8 --locale=C.UTF-8 -N >"$dir/initdb.log" 2>&1 ||
            { cat "$dir/initdb.log" >&2; fail "initdb failed"; }
        cat >>"$home/data/postgresql.conf" <<TEXT
listen_addresses = ''
unix_socket_directories = '$home'
max_connections = 1000
shared_buffers = 256MB
max_wal_size = 4GB
fsync = on
synchronous_commit = on
full_page_writes = on
log_min_messages = warning
TEXT
        printf '%s\n' "${SCRATCH_POSTGRES_SETTINGS:-}" >>"$home/data/postgresql.conf"
        # The extension's library comes with Debian's server; elsewhere it may be absent.
        [ ! -e "$bin/../lib/pg_stat_statements.so" ] ||
            echo "shared_preload_libraries = 'pg_stat_statements'" >>"$home/data/postgresql.conf"
    fi
    # The server outlives this script: it must not keep open a descriptor that a caller waits on.
    for descriptor in /proc/$$/fd/*; do
        descriptor=${descriptor##*/}
        [ "$descriptor" -le 2 ] || [ "$descriptor" -eq 255 ] || eval "exec $descriptor>&-"
    done
    running || run "$bin/pg_ctl" -D "$home/data" -l "$home/log" -w -t 60 -s start >/dev/null ||
        { tail -n 20 "$home/log" >&2; fail "the server did not start"; }
    url
    ;;
stop)
    if [ -n "$home" ]; then
        ! running || run "$bin/pg_ctl" -D "$home/data" -m immediate -w -t 60 -s stop
        rm -rf "$home" "${dir:?}/home" "${dir:?}/initdb.log"
        rmdir "$dir" 2>/dev/null || :
    fi
    ;;
esac
