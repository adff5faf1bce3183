#!/usr/bin/env bash
# Follows deploy/DEPLOYING.md on containers and hosts to the end: builds the image from deploy/container/Containerfile and runs
# its migration, doctor, worker and gateway without privileges and with a read-only root; then boots a separate host
# under systemd, installs the units there (Tests/Deployment/host.sh) and stops, kills and restarts them.
#
# Usage: Tests/image.sh [--bin DIR]     as root, on Debian 12 with a network; 8 to 30 minutes on two cores, most of it the build
#   --bin DIR    only the host, with a program that is built already; three minutes
#
# Where the build's base image cannot be pulled, a Debian with this machine's Swift toolchain stands in for it. Needs podman, crun,
# debootstrap and systemd-container. Everything is in one folder, which is removed at the end; nothing is left running or mounted.
# Prints one JSON line: {"result": "pass" | "fail" | "inconclusive", "reason", "base", "image": {…}, "host": {…}}.
# Exit status 0, 1, or 3 where this machine does not allow it.
set -euo pipefail
# Mounts of its own: whatever a tool forgets is gone with the last process.
if [ -z "${INSPECTD_OWN_MOUNTS-}" ] && [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    INSPECTD_OWN_MOUNTS=1 exec unshare -m --propagation private "$0" "$@"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin=
case "${1-}" in
"") ;;
--bin) bin=$(cd "${2:?--bin needs a folder}" && pwd) ;;
*) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac

begin image
# A folder of this machine, which is none within the roots that follow.
unset TMPDIR
stage=start
hybrid=
base_kind=null
image=null
host=null

report() {
    printf '{"result":"%s","reason":%s,"base":%s,"image":%s,"host":%s}\n' "$1" "$2" "$base_kind" "$image" "$host"
}
inconclusive() {
    report inconclusive "\"$(tr -d '"\\\n\r\t' <<<"$1" | cut -c1-200)\""
    stage=
    exit 3
}
# Containers and mounts, before `end` looks for processes and removes the folder.
tidy() {
    local status=$? path
    set +e
    [ "$status" -eq 0 ] || [ -z "$stage" ] || report fail "\"$stage\""
    if [ -d "$scratch/storage" ]; then
        "${podman[@]}" rm --all --force --time 5 >/dev/null 2>&1
        "${podman[@]}" umount --all --force >/dev/null 2>&1
        umount -l "$scratch/storage/overlay" 2>/dev/null
    fi
    # nspawn leaves the groups of what it ran, where no systemd looks after them.
    if [ ! -d /run/systemd/system ]; then
        while IFS=: read -r _ controllers path; do
            case $controllers in name=systemd) path=/sys/fs/cgroup/systemd$path ;; "") path=/sys/fs/cgroup/unified$path ;; *) continue ;; esac
            find "$path/payload" "$path/supervisor" -depth -type d -exec rmdir {} + 2>/dev/null
        done </proc/self/cgroup
    fi
    return "$status"
}
trap 'tidy; end' EXIT

# Not the machine's own images and containers.
podman=(podman --root "$scratch/storage" --runroot "$scratch/run" --cgroup-manager cgroupfs --events-backend file)
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# Until a command succeeds, for as many seconds as given.
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}
# The first block of commands of a section of DEPLOYING.md.
first_block() {
    awk -v title="## $1" '/^## / { inside = $0 == title } /^```/ { shown = inside && $0 == "```sh" && ++count == 1; next } shown' deploy/DEPLOYING.md
}

[ "$(id -u)" -eq 0 ] && [ -n "${INSPECTD_OWN_MOUNTS-}" ] || inconclusive "needs root and mount namespaces"
for tool in podman:podman crun:crun debootstrap:debootstrap systemd-nspawn:systemd-container; do
    command -v "${tool%:*}" >/dev/null || inconclusive "not installed: ${tool#*:}"
done

stage="the inputs"
inputs=$(deploy/inputs.sh)
mkdir "$scratch/data"
cp "$inputs/specimens/passport.jpg" "$scratch/data/"
cp "$inputs/faces/obama2.jpg" "$scratch/data/face.jpg"

say "a bare Debian"
stage="a bare Debian"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Component: main' 'Created-By: Packages' 2>/dev/null | sed -n 1p)
timeout 1800 debootstrap --variant=minbase --include=ca-certificates bookworm "$scratch/base" ${mirror:+"$mirror"} >"$scratch/debootstrap.log" 2>&1 ||
    inconclusive "debootstrap: $(tail -n 1 "$scratch/debootstrap.log")"
# This machine's way to the network: its authorities, and pip's index if it has one of its own.
cp /usr/local/share/ca-certificates/*.crt "$scratch/base/usr/local/share/ca-certificates/" 2>/dev/null || true
chroot "$scratch/base" update-ca-certificates >/dev/null 2>&1
cp /etc/resolv.conf "$scratch/base/etc/resolv.conf"
printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n%s\n' "${PIP_INDEX_URL:+index-url = $PIP_INDEX_URL}" >"$scratch/base/etc/pip.conf"
# As in every image of Debian: what a power cut would tear is thrown away with the layer.
echo force-unsafe-io >"$scratch/base/etc/dpkg/dpkg.cfg.d/unsafe-io"

build_image() {
    local name volumes=() toolchain
    name=$(sed -n 's/^FROM \(\S*\) AS build$/\1/p' deploy/container/Containerfile)
    stage="the base image"
    if timeout 900 "${podman[@]}" pull -q "$name" >"$scratch/pull.log" 2>&1; then
        base_kind='"pulled"'
    else
        toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swift || echo /usr/bin/swift)")")")
        [ -x "$toolchain/bin/swift" ] && [ "$toolchain" != /usr ] || inconclusive "$name cannot be pulled, and the toolchain has no folder of its own"
        say "$name cannot be pulled; a Debian with $("$toolchain/bin/swift" --version 2>/dev/null | head -n 1) stands in"
        base_kind='"stand-in"'
        tar -C "$scratch/base" -c . | "${podman[@]}" import -q -c ENV=PATH=/opt/swift/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            - "$name" >/dev/null
        volumes=(--volume "$toolchain:/opt/swift:ro")
    fi
    say "the image (minutes)"
    stage="podman build"
    local start
    start=$(milliseconds)
    TMPDIR=$scratch timeout 3600 "${podman[@]}" build \
        --pull=never --isolation chroot --network host ${volumes[@]+"${volumes[@]}"} -f deploy/container/Containerfile -t inspectd . \
        >"$scratch/build.log" 2>&1 || { tail -n 40 "$scratch/build.log" >&2; return 1; }
    build_s=$((($(milliseconds) - start) / 1000))
}

run_image() {
    stage="a container's start"
    start_postgres
    socket=$(sed 's/.*host=\([^&]*\).*/\1/' <<<"$INSPECTD_DATABASE_URL")
    chmod o+x "$socket"
    # As a pod of deploy/kubernetes runs: no rights, the default filter of system calls, nothing to write to.
    command=("${podman[@]}" run --rm --cgroups=disabled --read-only --read-only-tmpfs=false --cap-drop=all --log-driver=none
        --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --security-opt=no-new-privileges --volume "$socket:$socket" --volume "$scratch/data:/data:ro" --env INSPECTD_DATABASE_URL)
    # crun refuses a machine that has both generations of control groups; nspawn wants them as they are.
    if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified && hybrid=yes; fi
    "${command[@]}" --network none inspectd --version >"$scratch/version" 2>"$scratch/run.log" || inconclusive "podman run: $(tail -n 1 "$scratch/run.log")"
    say "$(cat "$scratch/version") in the image"
    stage="the image's migration, with its default folder"
    "${command[@]}" --network none inspectd migrate --roles >/dev/null
    "${command[@]}" --network none inspectd migrate >/dev/null
    stage="the image's doctor"
    "${command[@]}" --network none inspectd doctor >"$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; return 1; }
    sql -c "SELECT insp.create_partner('bank')" >/dev/null
    stage="a shell in the image"
    if "${command[@]}" --network none --entrypoint /bin/sh inspectd -c true 2>/dev/null; then return 1; fi

    stage="the image's worker"
    local began
    began=$(milliseconds)
    "${command[@]}" --name worker --network none inspectd 2>"$scratch/worker.log" &
    worker=$!
    remember "$worker"
    within 120 grep -q '"worker registered"' "$scratch/worker.log" || { cat "$scratch/worker.log" >&2; return 1; }
    ready_ms=$(($(milliseconds) - began))
    "${command[@]}" --network none inspectd enqueue --partner bank --front /data/passport.jpg --face /data/face.jpg >/dev/null
    finished() { [ "$(sql -c "SELECT bool_and(status = 128) FROM insp.job")" = t ]; }
    within 90 finished || { tail -n 20 "$scratch/worker.log" >&2; return 1; }
    [ "$(sql -c "SELECT (insp.job_result(public_id) #>> '{capabilities,extraction,0,data,mrz,format}') || ' ' ||
        (insp.job_result(public_id) #>> '{capabilities,similarity,0,decision,type}') FROM insp.job")" = "TD3 PASSED" ]

    stage="the image's gateway"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=gateway \
        -addext subjectAltName=IP:127.0.0.1 -out "$scratch/data/gateway.pem" -keyout "$scratch/data/gateway.key" 2>/dev/null
    chmod o+r "$scratch/data/gateway.key"
    "${command[@]}" --name gateway --network host inspectd gateway --listen 0 --certificate /data/gateway.pem --key /data/gateway.key \
        2>"$scratch/gateway.log" &
    gateway=$!
    remember "$gateway"
    within 60 grep -q '"gateway open"' "$scratch/gateway.log" || { cat "$scratch/gateway.log" >&2; return 1; }
    port=$(sed -n 's/.*"message":"gateway open".*"port":\([0-9]*\).*/\1/p' "$scratch/gateway.log")
    user=$(sql -F : -c "SELECT key_id, secret FROM insp.create_credential('bank')")
    printf '{"encodedFrontImage": "%s"}' "$(base64 -w 0 "$scratch/data/passport.jpg")" >"$scratch/job.json"
    curl -s --cacert "$scratch/data/gateway.pem" -u "$user" -H 'Content-Type: application/json' --data-binary "@$scratch/job.json" \
        "https://127.0.0.1:$port/inspectionjob/create?wait=60" | grep -q '"status": 128'

    stage="SIGTERM, with work in hand"
    for _ in 1 2 3 4; do
        "${command[@]}" --network none inspectd enqueue --partner bank --front /data/passport.jpg --face /data/face.jpg >/dev/null
    done
    began=$(milliseconds)
    "${podman[@]}" kill --signal TERM worker gateway >/dev/null
    wait "$worker"
    wait "$gateway"
    stop_ms=$(($(milliseconds) - began))
    forget "$worker"
    forget "$gateway"
    [ "$stop_ms" -le 60000 ]

    [ -z "$hybrid" ] || mount -t cgroup2 none /sys/fs/cgroup/unified

    stage="what the image holds"
    local root
    root=$("${podman[@]}" image mount inspectd)
    mapfile -t found < <(find "$root" \( -type f -perm /6000 -o ! -type l -perm -o+w ! -path "$root/tmp" \) -printf '%P ')
    [ "${#found[@]}" -eq 0 ] || { say "writable, or with another's rights: ${found[*]}"; return 1; }
    # What scanners read: an entry for each package of the SBOM.
    grep -q '^Package: libssl3$' "$root/var/lib/dpkg/status.d/libssl3"
    grep -q '"specVersion": "1.5"' "$root/usr/local/share/inspectd/sbom.json"
    mkdir -p "$scratch/closure"
    cp -r "$root/usr" "$scratch/closure/"
    "${podman[@]}" image unmount inspectd >/dev/null
    image=$(printf '{"buildSeconds":%d,"mebibytes":%d,"readyMs":%d,"stopMs":%d}' "$build_s" \
        $(($("${podman[@]}" image inspect -f '{{.Size}}' inspectd) >> 20)) "$ready_ms" "$stop_ms")
}

run_host() {
    local root=$scratch/base check options=()
    check=$root/root/check
    stage="the host's packages"
    first_block Hosts >"$scratch/packages.sh"
    grep -q apt-get "$scratch/packages.sh"
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90yes"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    timeout 1800 chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -ec "apt-get update
        apt-get install --no-install-recommends systemd dbus postgresql curl openssl
        $(cat "$scratch/packages.sh")" >"$scratch/packages.log" 2>&1 || { tail -n 20 "$scratch/packages.log" >&2; return 1; }
    rm "$root/usr/sbin/policy-rc.d"

    mkdir -p "$check/release/local"
    cp -r "$scratch"/closure/usr/local/{bin,share} "$check/release/local/"
    # A program of another build than the image's has the toolchain's libraries beside it.
    if [ -d "$scratch/closure/usr/local/lib" ]; then cp -r "$scratch/closure/usr/local/lib" "$root/usr/local/" && ldconfig -r "$root"; fi
    cp deploy/systemd/*.service "$check/release/"
    cp deploy/DEPLOYING.md Tests/Deployment/host.sh "$scratch"/data/{passport,face}.jpg "$check/"
    cat >"$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=multi-user.target postgresql.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
TimeoutStartSec=900
Environment=HOME=/root
ExecStart=/root/check/host.sh /root/check
StandardOutput=file:/root/check/result
StandardError=file:/root/check/log
[Install]
WantedBy=graphical.target
UNIT
    chroot "$root" systemctl enable check >/dev/null 2>&1
    say "a host that boots"
    stage="the units on a host"
    if [ ! -d /run/systemd/system ]; then options=(--register=no --keep-unit); fi
    timeout --kill-after=10 1000 systemd-nspawn --quiet --directory="$root" --boot --private-network --machine="inspectd-$$" \
        ${options[@]+"${options[@]}"} >"$scratch/console.log" 2>&1 &
    remember $!
    wait $! || true
    forget $!
    # Opened as soon as the unit starts: without it, nothing of this product was tried.
    [ -e "$check/log" ] || inconclusive "systemd does not boot here: $(tail -n 1 "$scratch/console.log")"
    host=$(cat "$check/result")
    [ -n "$host" ] || { host=null; cat "$check/log" >&2; return 1; }
}

if [ -z "$bin" ]; then
    build_image
    run_image
else
    stage="the program's libraries"
    deploy/container/closure.sh "$bin/inspectd" "$scratch/closure"
fi
run_host
stage=
report pass null
