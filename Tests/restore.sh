#!/usr/bin/env bash
# Proves the backup that deploy/DEPLOYING.md describes: a base backup and archived WAL, an accident, and a restore to the moment
# before it. What was accepted by then is there with its results and parts, byte for byte, and work continues.
#
# Usage: Tests/restore.sh --bin DIR     the folder with inspectd
# Prints one JSON line: {"jobsBeforeBackup", "jobsAfterBackup", "restored", "identical", "lost", "goesOn", "restoreSeconds"}.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
[ "${1-}" = --bin ] && [ -n "${2-}" ] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
bin=$(cd "$2" && pwd)

begin restore
initdb=$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
server=$(dirname "$(readlink -f "$initdb")")
home=$scratch/cluster
mkdir -p "$home"/{archive,run}
account=()
if [ "$(id -u)" -eq 0 ]; then
    chown -R postgres "$home"
    account=(setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups env HOME=/nonexistent)
fi
as_postgres() { (cd / && "${account[@]}" "$@"); }
# A server that is left behind by a failure.
stop_server() { as_postgres "$server/pg_ctl" -D "$1" -m immediate -w -s stop >/dev/null 2>&1 || true; }
trap 'status=$?; set +e; stop_server "$home/data"; stop_server "$home/restored"; (exit "$status"); end' EXIT

as_postgres "$server/initdb" -D "$home/data" -U inspectd -A trust -E UTF8 --locale=C.UTF-8 -N >/dev/null
cat >>"$home/data/postgresql.conf" <<TEXT
listen_addresses = ''
unix_socket_directories = '$home/run'
wal_level = replica
archive_mode = on
archive_command = 'test ! -f $home/archive/%f && cp %p $home/archive/%f'
TEXT
as_postgres "$server/pg_ctl" -D "$home/data" -l "$home/log" -w -s start >/dev/null
export INSPECTD_DATABASE_URL="postgresql:///postgres?host=$home/run&user=inspectd"
"$bin/inspectd" migrate --roles >/dev/null
"$bin/inspectd" migrate >/dev/null
sql -c "SELECT insp.create_partner('bank')" >/dev/null

# Jobs with parts of their own that no analyzer can read: they end at 128 with a result, and take no time.
jobs() {
    sql -c "SELECT count(insp.enqueue('{\"partner\": \"bank\", \"workflow\": \"liveness\"}', face => sha256(random()::text::bytea)))
        FROM generate_series(1, $1)" >/dev/null
    "$bin/inspectd" worker --slots 1 --drain --log-level error >/dev/null 2>&1
}
digest() {
    sql -c "SELECT md5(string_agg(j.public_id::text || j.status || insp.job_result(j.public_id)::text || encode(c.bytes, 'hex')
        || (sha256(c.bytes) = p.sha256), ',' ORDER BY j.id)) FROM insp.job j JOIN insp.part p ON p.job_id = j.id JOIN insp.content c ON c.id = p.content_id"
}
jobs 20
as_postgres "$server/pg_basebackup" -h "$home/run" -U inspectd -D "$home/restored" -c fast
jobs 30
before=$(digest)
sql -c "SELECT pg_create_restore_point('before')" >/dev/null
# The accident.
sql -c "DELETE FROM insp.content" -c "DROP TABLE insp.job CASCADE" >/dev/null 2>&1
sql -c "SELECT pg_switch_wal()" >/dev/null
as_postgres "$server/pg_ctl" -D "$home/data" -m fast -w -s stop >/dev/null

start=$(date +%s%N)
cat >>"$home/restored/postgresql.conf" <<TEXT
restore_command = 'cp $home/archive/%f %p'
recovery_target_name = 'before'
recovery_target_action = 'promote'
TEXT
as_postgres touch "$home/restored/recovery.signal"
as_postgres "$server/pg_ctl" -D "$home/restored" -l "$home/log.restored" -w -s start >/dev/null
for _ in $(seq 1800); do
    [ "$(sql -c "SELECT pg_is_in_recovery()")" = t ] || break
    sleep 0.1
done
seconds=$((($(date +%s%N) - start) / 1000000))
after=$(digest)
restored=$(sql -c "SELECT count(*) FROM insp.job WHERE status = 128")
# Work goes on, under new numbers.
jobs 1
goes_on=$(sql -c "SELECT count(*) = 51 AND count(DISTINCT id) = 51 AND bool_and(status = 128) FROM insp.job")
stop_server "$home/restored"
identical=false
[ "$before" = "$after" ] && identical=true
echo "{\"jobsBeforeBackup\":20,\"jobsAfterBackup\":30,\"restored\":$restored,\"identical\":$identical,\"lost\":$((50 - restored)),\"goesOn\":$([ "$goes_on" = t ] && echo true || echo false),\"restoreSeconds\":$((seconds / 1000)).$(printf '%03d' $((seconds % 1000)))}"
[ "$restored" -eq 50 ] && [ "$identical" = true ] && [ "$goes_on" = t ]
