#!/usr/bin/env bash
# Installs inspectd on a host with the commands in deploy/DEPLOYING.md under "Hosts" and "Roles", and checks the units'
# promises under a real systemd. Run by Tests/image.sh as a unit of a container that has just booted; it changes the
# system that it runs on, so nowhere else.
#
# Usage: host.sh FOLDER     with release/ (what an operator carries to a host), DEPLOYING.md, passport.jpg and face.jpg
# Prints one JSON line.
set -euo pipefail
cd "$1"
folder=$PWD
[ "$(systemd-detect-virt --container)" = systemd-nspawn ] || { echo "host.sh: only inside Tests/image.sh's container" >&2; exit 2; }

# The n-th block of a language in a section of DEPLOYING.md, as printed.
block() {
    awk -v title="## $1" -v fence="\`\`\`$2" -v number="$3" '
        /^## / { inside = $0 == title }
        /^```/ { shown = inside && $0 == fence && ++count == number; next }
        shown' "$folder/DEPLOYING.md" | grep . || fail "DEPLOYING.md has no block $3 of $2 under $1"
}
fail() {
    echo "host: $*" >&2
    systemctl --no-pager --lines=20 status 'inspectd-*' >&2 || true
    exit 1
}
# Until a command succeeds, for as many seconds as given.
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
admin() { (cd / && runuser -u postgres -- psql -XqAt -v ON_ERROR_STOP=1 "$@"); }
owner() { psql -XqAt -v ON_ERROR_STOP=1 "$(sed -n 's/^INSPECTD_DATABASE_URL=//p' /etc/inspectd/migrate.env)" "$@"; }

# The database: TLS with a certificate of its own authority, passwords by SCRAM, and an owner who is no superuser.
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
        -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -out "$2.pem" -keyout "$2.key" 2>/dev/null
}
data=$(admin -c 'SHOW data_directory')
certificate database "$data/server"
chown postgres "$data"/server.*
admin -c "ALTER SYSTEM SET ssl_cert_file = 'server.pem'" -c "ALTER SYSTEM SET ssl_key_file = 'server.key'" -c 'ALTER SYSTEM SET ssl = on' \
    -c 'SELECT pg_reload_conf()' >/dev/null
# The key store: a cluster of its own, on this host for want of another one.
pg_createcluster --start "$(ls /usr/lib/postgresql)" keys >/dev/null
keys() { (cd / && PGPORT=$key_port runuser -u postgres -- psql -XqAt -v ON_ERROR_STOP=1 "$@"); }
key_port=$(pg_lsclusters -h | awk '$2 == "keys" { print $3 }')
key_data=$(keys -c 'SHOW data_directory')
install -o postgres -m 600 -t "$key_data" "$data"/server.pem "$data"/server.key
keys -c "ALTER SYSTEM SET ssl_cert_file = 'server.pem'" -c "ALTER SYSTEM SET ssl_key_file = 'server.key'" -c 'ALTER SYSTEM SET ssl = on' \
    -c 'SELECT pg_reload_conf()' >/dev/null
declare -A password
for role in inspectd worker gateway; do password[$role]=$(openssl rand -hex 16); done
block Roles sql 1 | admin
cp -r release/local/. /usr/local/
block Roles sh 1 | (cd / && bash -euo pipefail) >&2 || fail "the roles"
admin -c "ALTER ROLE inspectd PASSWORD '${password[inspectd]}'"
block Keys sql 1 | keys
block Keys sh 1 | (cd / && PGPORT=$key_port bash -euo pipefail) >&2 || fail "the key store's roles"
keys -c "ALTER ROLE inspectd PASSWORD '${password[inspectd]}'"
block Keys sql 2 | keys
keys -c "ALTER ROLE worker PASSWORD '${password[worker]}'" -c "ALTER ROLE gateway PASSWORD '${password[gateway]}'"
cd release
inspectd keys make --key-file wrapping-keys >/dev/null
for unit in migrate=inspectd worker=worker gateway=gateway; do
    role=${unit#*=}
    tls="sslmode=verify-full&sslrootcert=/etc/inspectd/database.pem"
    echo "INSPECTD_DATABASE_URL=postgresql://$role:${password[$role]}@localhost/inspectd?$tls" >"${unit%=*}.env"
    echo "INSPECTD_KEYS_URL=postgresql://$role:${password[$role]}@localhost:$key_port/inspectd_keys?$tls" >>"${unit%=*}.env"
done
cp "$data/server.pem" database.pem
certificate gateway gateway
cd ..

# The first block installs packages: Tests/image.sh has run it before the system booted, since there is no network here.
block Hosts sh 2 >install.sh
(cd release && bash -euo pipefail ../install.sh) >&2 || fail "the commands of DEPLOYING.md"
block Roles sql 2 | admin
admin -c "ALTER ROLE worker PASSWORD '${password[worker]}'" -c "ALTER ROLE gateway PASSWORD '${password[gateway]}'"

block Hosts sh 4 | bash -euo pipefail >&2 || fail "completion and the manual page"
for file in bash-completion/completions/inspectd man/man1/inspectd.1; do [ -s "/usr/local/share/$file" ] || fail "$file"; done

started=$(milliseconds)
block Hosts sh 3 | bash -euo pipefail >&2 || fail "the units do not start"
ready() { curl -sf "http://127.0.0.1:9464/readyz" && curl -sf "http://127.0.0.1:9465/readyz"; }
within 120 ready || fail "not ready"
start_ms=$(($(milliseconds) - started))

owner -c "SELECT insp.create_partner('bank')" >/dev/null
user=$(owner -F : -c "SELECT key_id, secret FROM insp.create_credential('bank')")
call() { curl -s --cacert release/gateway.pem -u "$user" "$@"; }
printf '{"encodedFrontImage": "%s", "encodedFaceImage": "%s"}' "$(base64 -w 0 passport.jpg)" "$(base64 -w 0 face.jpg)" >job.json
create() {
    call -H 'Content-Type: application/json' --data-binary @job.json https://127.0.0.1:8443/inspectionjob/create |
        sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
}
finished() { call "https://127.0.0.1:8443/inspectionjob/$1?wait=5" | grep -q '"status": 128'; }
begun() { [ "$(owner -c "SELECT status > 1 FROM insp.job WHERE public_id = '$1'")" = t ]; }
main() { systemctl show -P MainPID "inspectd-$1"; }
answers() { [ "$(main "$1")" != "$2" ] && ready; }

job=$(create)
within 60 finished "$job" || fail "the job: $(owner -c "SELECT insp.job_result('$job')" | cut -c1-600)"
[ "$(owner -c "SELECT insp.job_result('$job') ->> 'isSealed'")" = true ] || fail "the job is not sealed"
what=$(call "https://127.0.0.1:8443/inspectionjob/$job")
grep -q '"format": *"TD3"' <<<"$what" && grep -q '"similarity"' <<<"$what" || fail "the job found $what"

# The rights that the unit takes away are really gone, not only in its file.
status() { sed -n "s/^$1:\t*//p" "/proc/$(main worker)/status"; }
[ "$(status Seccomp) $(status NoNewPrivs) $(status CapBnd)" = "2 1 0000000000000000" ] || fail "the worker's sandbox"
[ "$(stat -c %u "/proc/$(main worker)")" -ge 61184 ] || fail "the worker's account is not a dynamic one"
grep -qE '^([^ ]+ ){4}/ ro[, ]' "/proc/$(main worker)/mountinfo" || fail "the worker's root is not read-only"

# kill -9 with a job in hand: nothing of the old worker stays, systemd starts another, and the job reaches its end.
job=$(create)
within 30 begun "$job" || fail "no worker took the job"
old=$(main worker)
killed=$(milliseconds)
systemctl kill --kill-whom=main --signal=KILL inspectd-worker
within 60 answers worker "$old" || fail "no new worker after kill -9"
restart_ms=$(($(milliseconds) - killed))
within 90 finished "$job" || fail "the job of a killed worker"
old=$(main gateway)
systemctl kill --kill-whom=main --signal=KILL inspectd-gateway
within 60 answers gateway "$old" || fail "no new gateway after kill -9"

# Stops by itself, with a job in hand: within TimeoutStopSec and without a signal that nobody asked for.
waiting=()
for _ in 1 2 3 4 5 6; do waiting+=("$(create)"); done
within 30 begun "${waiting[0]}" || fail "no worker took the job"
asked=$(milliseconds)
systemctl stop inspectd-worker inspectd-gateway
stop_ms=$(($(milliseconds) - asked))
for unit in worker gateway migrate; do
    [ "$(systemctl show -P Result "inspectd-$unit")" = success ] || fail "inspectd-$unit did not end well"
done
systemctl start inspectd-worker inspectd-gateway
within 60 ready || fail "not ready again"
for job in "${waiting[@]}"; do within 60 finished "$job" || fail "the job of a stopped worker"; done

# Neither what was read nor a secret is in the journal; nothing in the units went unheeded.
journalctl -b --no-pager -o cat -u 'inspectd-*' >journal.txt
journalctl -b --no-pager -o cat -t inspectd >program.txt
[ "$(grep -c '"message"' program.txt)" -gt 5 ] || fail "the journal says too little"
if grep -v '^{.*}$' program.txt >&2; then fail "a line that is not JSON"; fi
for job in "${waiting[@]}"; do
    grep -q "\"attempt\":1,\"job\":\"$job\".*job finished" program.txt || fail "a job of the stopped worker paid with an attempt"
done
if grep -iE "eriksson|anna|l898902c|7408122|${password[worker]}|${password[gateway]}|${password[inspectd]}|${user#*:}" journal.txt >&2; then
    fail "personal data or a secret in the journal"
fi
if journalctl -b --no-pager -o cat _PID=1 | grep -E '/inspectd-[a-z]+\.service:.*(ignoring|Unknown|Failed to parse)' >&2; then fail "a setting that systemd does not take"; fi
worst=0
for unit in worker gateway migrate; do
    score=$(systemd-analyze security --no-pager "inspectd-$unit.service" | sed -nE 's/.*exposure level for .*: ([0-9.]+) .*/\1/p')
    worst=$(printf '%s\n%s\n' "$worst" "$score" | sort -g | tail -n 1)
done
awk -v score="$worst" 'BEGIN { exit !(score > 0 && score <= 1.5) }' || fail "exposure $worst"
memory=$(systemctl show -P MemoryCurrent inspectd-worker)
case $memory in *[!0-9]* | "") memory=null ;; *) memory=$((memory / 1048576)) ;; esac
printf '{"startMs":%d,"restartMs":%d,"stopMs":%d,"exposure":%s,"workerMiB":%s}\n' "$start_ms" "$restart_ms" "$stop_ms" "$worst" "$memory"
