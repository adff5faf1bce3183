#!/usr/bin/env bash
# What deploy/install-deps.sh asks apt for, and what it refuses before: on another distribution, without a toolchain, with an old one. Apt
# and dpkg are stand-ins that note how they are called, on a machine with nothing installed.
#
# Usage: Tests/Deployment/dependencies.sh FOLDER     as root, in mounts of its own: unshare -m
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$1
stand=$folder/stand
mkdir -p "$stand"
say() { echo "dependencies: $*" >&2; }

for tool in apt-get service update-rc.d update-alternatives sudo; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' "$tool" "$folder" >"$stand/$tool"
done
printf '#!/bin/sh\nexit 1\n' >"$stand/dpkg-query"
swift_is() { printf '#!/bin/sh\necho "Swift version %s (swift-%s-RELEASE)"\n' "$1" "$1" >"$stand/swift" && chmod +x "$stand/swift"; }
swift_is 6.1
chmod +x "$stand"/*
# It writes there for a moment.
[ ! -d /etc/postgresql-common ] || mount -t tmpfs tmpfs /etc/postgresql-common
release() {
    printf 'ID=%s\nVERSION_ID="%s"\nPRETTY_NAME="%s"\n' "$@" >"$folder/os-release"
    umount /etc/os-release 2>/dev/null || true
    mount --bind "$folder/os-release" /etc/os-release
}

# Runs it; what it said is in FOLDER/said, how apt and others were called in FOLDER/calls.
install_deps() {
    : >"$folder/calls"
    PATH=$stand:/usr/sbin:/usr/bin:/sbin:/bin deploy/install-deps.sh "$@" >"$folder/said" 2>&1
}
refuses() {
    local sentence=$1
    shift
    if install_deps "$@"; then say "did not refuse: $sentence"; return 1; fi
    grep -qF "$sentence" "$folder/said" || { say "said instead of '$sentence': $(cat "$folder/said")"; return 1; }
    [ ! -s "$folder/calls" ] || { say "installed before '$sentence'"; return 1; }
}
asked() { sed -n 's/^apt-get .* install //p' "$folder/calls" | tr ' ' '\n' | sort; }

release debian 12 "Debian GNU/Linux 12 (bookworm)"
for group in run build test; do
    install_deps --no-models "--$group" || { cat "$folder/said" >&2; exit 1; }
    asked >"$folder/$group"
    [ "$(wc -l <"$folder/$group")" -ge 10 ]
done
install_deps --no-models
asked | cmp - <(sort -u "$folder"/{run,build,test}) || { say "the groups are not the whole"; exit 1; }
# A host that runs it needs no compiler and no server; what builds it no browser.
if grep -E -- '-dev$|^g\+\+$|^postgresql' "$folder/run"; then say "not for hosts"; exit 1; fi
if grep -E '^(postgresql.*|chromium|pgbouncer)$' "$folder/build"; then say "not for a build"; exit 1; fi
# The guide names the same for hosts, where the script is not at hand.
sed -n '/^apt-get install --no-install-recommends/,/^```/p' deploy/DEPLOYING.md | tr -d '\\' | tr ' ' '\n' | grep '^lib' | sort |
    cmp - <(grep '^lib' "$folder/run") || { say "DEPLOYING.md names other libraries"; exit 1; }

refuses "Usage:" --runn
swift_is 6.0.3
refuses "needs Swift 6.1 or newer, and $stand/swift is 6.0" --build
refuses "needs Swift 6.1 or newer, and $stand/swift is 6.0"
install_deps --run --no-models
swift_is 10.0
install_deps --build --no-models
rm "$stand/swift"
[ -e /usr/bin/swift ] || refuses "no swift on the PATH" --test
install_deps --run --no-models
swift_is 6.1
release debian 13 "Debian GNU/Linux 13 (trixie)"
refuses "needs Debian 12, and this is Debian GNU/Linux 13 (trixie)" --run
release ubuntu 24.04 "Ubuntu 24.04.3 LTS"
refuses "needs Debian 12, and this is Ubuntu 24.04.3 LTS"
