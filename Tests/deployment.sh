#!/usr/bin/env bash
# Checks operators' files in deploy/ with the tools that use them: promtool, systemd-analyze, the schemas of Kubernetes and
# of compose files, PgBouncer, and the program itself inside the container's folder under each unit's restrictions.
#
# Usage: Tests/deployment.sh --bin DIR     the folder with inspectd
# The last line, a JSON object, lists what cannot be checked on this machine; exit status 0 only if nothing failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
[ "${1-}" = --bin ] && [ -n "${2-}" ] || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
bin=$(cd "$2" && pwd)
skipped=()

begin deployment

say "dependencies"
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$scratch/dependencies"
    quietly "Tests/Deployment/dependencies.sh" unshare -m --propagation private Tests/Deployment/dependencies.sh "$scratch/dependencies"
else
    skipped+=("what install-deps.sh refuses: needs root and mount namespaces")
fi

say "alert rules"
promtool check rules deploy/prometheus/inspectd.rules.yaml >&2
promtool test rules deploy/prometheus/inspectd.test.yaml >&2

say "metrics of the rules and of the dashboard are those of METRICS.md"
/usr/bin/python3 - <<'PYTHON'
import json, re
from pathlib import Path
known = set(re.findall(r"`((?:inspectd|process)_\w+)`", Path("deploy/METRICS.md").read_text()))
known |= {f"{name}_bucket" for name in known}
dashboard = json.loads(Path("deploy/grafana/inspectd.json").read_text())
texts = {"rules": Path("deploy/prometheus/inspectd.rules.yaml").read_text(),
         "dashboard": "\n".join(t["expr"] for p in dashboard["panels"] for t in p["targets"])}
for place, text in texts.items():
    used = set(re.findall(r"\binspectd_\w+", text))
    assert used, place
    assert used <= known, f"{place}: not in METRICS.md: {sorted(used - known)}"
PYTHON

say "units"
root=$scratch/root
mkdir -p "$root"/{usr/local/bin,etc/systemd/system,etc/inspectd,usr/lib/systemd/system}
cp /usr/lib/systemd/system/*.target "$root/usr/lib/systemd/system/"
cp deploy/systemd/*.service "$root/etc/systemd/system/"
for unit in worker gateway console migrate; do
    install -D -m 644 deploy/systemd/inspectd-keys.conf "$root/etc/systemd/system/inspectd-$unit.service.d/keys.conf"
done
cp "$bin/inspectd" "$root/usr/local/bin/inspectd"
touch "$root"/etc/inspectd/{worker,gateway,console,migrate}.env
systemd-analyze verify --root="$root" --man=no "$root"/etc/systemd/system/inspectd-*.service >"$scratch/verify.log" 2>&1 ||
    { cat "$scratch/verify.log" >&2; exit 1; }
[ ! -s "$scratch/verify.log" ] || { cat "$scratch/verify.log" >&2; exit 1; }
worst=0
for unit in deploy/systemd/*.service; do
    score=$(systemd-analyze security --offline=true --root="$root" --no-pager "${unit##*/}" 2>/dev/null |
        sed -nE 's/.*exposure level for .*: ([0-9.]+) .*/\1/p')
    say "${unit##*/}: $score"
    # 0 is nothing exposed, 10 everything; below 2.0 systemd calls it OK.
    awk -v score="$score" 'BEGIN { exit !(score != "" && score <= 1.5) }'
    worst=$(printf '%s\n%s\n' "$worst" "$score" | sort -g | tail -n 1)
done
rm -rf "$root"

say "manifests"
# What they start is the image of this version, as DEPLOYING.md builds it.
tags=$(grep -rhoE '\binspectd:[a-z0-9][a-z0-9.-]*' deploy/compose.yaml deploy/kubernetes deploy/container/Containerfile deploy/DEPLOYING.md |
    sort -u)
[ "$tags" = "inspectd:$("$bin/inspectd" --version | sed 's/^inspectd //')" ] || { echo "image tags: $tags" >&2; exit 1; }
if venv=$(from_pypi kubernetes 'kubernetes-validate==1.37.0'); then
    # KEDA's own kinds have no schema there; what they ask of the database is tried below.
    # The key store is a copy of the database's manifest, as DEPLOYING.md makes it.
    eval "$(grep '^sed .* deploy/kubernetes/postgresql.yaml >keys.yaml$' deploy/DEPLOYING.md | sed "s|>keys.yaml|>$scratch/keys.yaml|")"
    for file in deploy/kubernetes/*.yaml "$scratch/keys.yaml"; do "$venv/bin/kubernetes-validate" --strict --no-warn --quiet "$file" >&2; done
    mkdir "$scratch/kubernetes"
    "$venv/bin/python" Tests/Deployment/kubernetes.py "$scratch/keys.yaml" "$scratch/kubernetes" >&2
else
    skipped+=("Kubernetes' schemas: $(tail -n 1 "$scratch/pip.log" | tr -d '"\\' | cut -c1-120)")
fi

say "compose.yaml"
if venv=$(from_pypi compose 'check-jsonschema==0.39.0'); then
    "$venv/bin/check-jsonschema" --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml >&2
    if [ "$(id -u)" -eq 0 ]; then
        mkdir "$scratch/compose"
        "$venv/bin/python" Tests/Deployment/compose.py "$bin" "$scratch/compose" >&2
    else
        skipped+=("the services of compose.yaml: their secrets belong to the containers' accounts, which takes root")
    fi
else
    skipped+=("compose.yaml: $(tail -n 1 "$scratch/pip.log" | tr -d '"\\' | cut -c1-120)")
fi

say "a database, and PgBouncer before it"
start_postgres
"$bin/inspectd" migrate --roles >/dev/null
"$bin/inspectd" migrate >/dev/null
sql -c "SELECT insp.create_partner('bank')" >/dev/null
query=$(sed -n 's/^ *query: "\(.*\)"$/\1/p' deploy/kubernetes/scaling.yaml)
[ "$(sql -c "SET ROLE insp_auditor; $query")" = 0 ]
socket=$(sed 's/.*host=\([^&]*\).*/\1/' <<<"$INSPECTD_DATABASE_URL")
mkdir "$scratch/pooler"
sed -e "s|^inspectd = .*|inspectd = host=$socket dbname=postgres user=inspectd|" -e 's/^auth_type = .*/auth_type = any/' \
    -e '/^auth_file/d' -e 's/^listen_addr = .*/listen_addr =/' \
    -e "s|^pool_mode|unix_socket_dir = $scratch/pooler\npool_mode|" deploy/pgbouncer/pgbouncer.ini >"$scratch/pooler/pgbouncer.ini"
if [ "$(id -u)" -eq 0 ]; then
    chown -R postgres "$scratch/pooler"
    (cd / && exec setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups \
        pgbouncer "$scratch/pooler/pgbouncer.ini") >"$scratch/pgbouncer.log" 2>&1 &
else
    pgbouncer "$scratch/pooler/pgbouncer.ini" >"$scratch/pgbouncer.log" 2>&1 &
fi
remember $!
pooled="postgresql:///inspectd?host=$scratch/pooler&port=6432&user=inspectd"
for _ in $(seq 600); do
    [ ! -S "$scratch/pooler/.s.PGSQL.6432" ] || break
    sleep 0.1
done
[ "$(psql -XqAt "$pooled" -c "SELECT count(*) FROM insp.partner")" = 1 ]
# A setting that PgBouncer does not know is only a warning to it.
if grep -iE 'unrecognized|unknown|syntax' "$scratch/pgbouncer.log" >&2; then exit 1; fi

say "inside the container's folder, under the units' restrictions"
if [ "$(id -u)" -eq 0 ] && /usr/bin/python3 -c 'import seccomp' 2>/dev/null && unshare -m true 2>/dev/null; then
    image=$scratch/image
    deploy/container/closure.sh "$bin/inspectd" "$image"
    inputs=$(deploy/inputs.sh)
    mkdir "$image/data"
    cp "$inputs/specimens/passport.jpg" "$inputs/faces/obama2.jpg" "$image/data/"
    confine() {
        local unit=$1
        shift
        command=(env -u INSPECTD_MODELS -u INSPECTD_MIGRATIONS /usr/bin/python3 Tests/Deployment/confined.py
            "deploy/systemd/inspectd-$unit.service" "$image" --bind "$socket" --bind "$key_socket" -- /usr/local/bin/inspectd "$@")
    }
    confined() {
        confine "$@"
        "${command[@]}"
    }
    # The cluster's folder is its account's alone; the confined account may pass to the socket.
    chmod o+x "$socket"
    # A key store of its own cluster, and the key as a volume of secrets has it.
    start_keys
    export INSPECTD_WRAPPING_KEYS=file:/data/wrapping-keys
    key_socket=$(sed 's/.*host=\([^&]*\).*/\1/' <<<"$INSPECTD_KEYS_URL")
    chmod o+x "$key_socket"
    "$bin/inspectd" keys make --key-file "$image/data/wrapping-keys" >/dev/null
    chown root:65532 "$image/data/wrapping-keys"
    chmod 440 "$image/data/wrapping-keys"
    "$bin/inspectd" keys init --roles --migrations Migrations >/dev/null
    confined migrate migrate --migrations /usr/local/share/inspectd/Migrations >/dev/null
    confined worker doctor >"$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; exit 1; }
    for check in keyMemory wrappingKeys keyStore keyStoreCluster keyStoreLog; do
        grep -q "\"check\":\"$check\",.*\"outcome\":\"pass\"" "$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; exit 1; }
    done
    id=$(confined worker enqueue --partner bank --front /data/passport.jpg --face /data/obama2.jpg)
    confined worker worker --slots 2 --drain 2>"$scratch/confined.log" || { tail -n 20 "$scratch/confined.log" >&2; exit 1; }
    [ "$(sql -c "SELECT (insp.job_result(public_id) ->> 'isSealed') || status FROM insp.job")" = true128 ]
    confined worker status "$id" --purpose support >"$scratch/result.json"
    grep -q '"format": *"TD3"' "$scratch/result.json" || { cat "$scratch/result.json" >&2; exit 1; }
    psql -Xq "$INSPECTD_KEYS_URL" -c "CREATE ROLE gateway LOGIN IN ROLE keys_custodian"
    # With TLS, and with the rights of its own role alone.
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=gateway \
        -addext subjectAltName=IP:127.0.0.1 -out "$image/data/gateway.pem" -keyout "$image/data/gateway.key" 2>/dev/null
    chmod o+r "$image/data/gateway.key"
    sql -c "CREATE ROLE gateway LOGIN IN ROLE insp_gateway" >/dev/null
    user=$(sql -F : -c "SELECT key_id, secret FROM insp.create_credential('bank')")
    # Not by way of a function, whose shell would stand between the signals and the program.
    confine gateway gateway --listen 0 --certificate /data/gateway.pem --key /data/gateway.key
    : >"$scratch/gateway.log"
    INSPECTD_DATABASE_URL=${INSPECTD_DATABASE_URL/user=inspectd/user=gateway} \
        INSPECTD_KEYS_URL=${INSPECTD_KEYS_URL/user=inspectd/user=gateway} "${command[@]}" 2>"$scratch/gateway.log" &
    remember $!
    port=
    for _ in $(seq 600); do
        port=$(sed -n 's/.*"message":"gateway open".*"port":\([0-9]*\).*/\1/p' "$scratch/gateway.log")
        [ -z "$port" ] || break
        sleep 0.1
    done
    call() { curl -s --cacert "$image/data/gateway.pem" -u "$user" "$@"; }
    call "https://127.0.0.1:$port/openapi.json" | grep '"openapi"' >/dev/null
    printf '{"encodedFrontImage": "%s"}' "$(base64 -w 0 "$image/data/passport.jpg")" >"$scratch/job.json"
    id=$(call -H 'Content-Type: application/json' --data-binary "@$scratch/job.json" \
        "https://127.0.0.1:$port/inspectionjob/create" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    [ -n "$id" ] || { cat "$scratch/gateway.log" >&2; exit 1; }
    confined worker worker --slots 2 --drain 2>"$scratch/confined.log" || { tail -n 20 "$scratch/confined.log" >&2; exit 1; }
    call "https://127.0.0.1:$port/inspectionjob/$id?wait=60" | grep -q '"status": 128'
    # Its analyzers are confined within the unit's restrictions.
    call -F FRONT=@"$image/data/passport.jpg" "https://127.0.0.1:$port/usability" | grep '"image"' >/dev/null \
        || { tail -n 20 "$scratch/gateway.log" >&2; exit 1; }
    # An old version of TLS is refused, and so is no TLS at all.
    if call --tls-max 1.1 "https://127.0.0.1:$port/openapi.json" || curl -sf "http://127.0.0.1:$port/openapi.json"; then exit 1; fi
else
    skipped+=("the units' restrictions: needs root, python3-seccomp and mount namespaces")
fi
skipped+=("the image as built, and the units under a systemd that has booted: Tests/image.sh takes half an hour")

printf '{"alerts":%d,"worstExposure":%s,"skipped":[' "$(grep -c 'alert: ' deploy/prometheus/inspectd.rules.yaml)" "$worst"
separator=
for reason in "${skipped[@]}"; do
    printf '%s"%s"' "$separator" "$reason"
    separator=,
done
printf ']}\n'
