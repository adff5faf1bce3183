#!/usr/bin/env bash
# Several hosts as network namespaces of this machine: PostgreSQL on one, workers on three, a gateway on one, a partner on one
# that creates jobs over HTTP and receives callbacks. Links are cut and restored, hosts are killed with all their processes; at
# the end every acknowledged job must be finished once, and its callback delivered.
#
# Usage: Tests/hosts.sh [--minutes M] [--seed S] [--short] [--bin DIR]      as root
#   --minutes M    how long hosts and links fail (default 10)
#   --short        each kind of failure once, about a minute and a half
#   --bin DIR      programs that are built already (inspectd, faulty-analyzer); else a release build is made
#
# Prints one JSON line: {"jobs", "callbacks", "duplicates", "cuts", "hostsKilled", "lost", "finishedTwice", "keysTwice", "stuck", …}.
# Exit status 0 only if nothing was lost, repeated or stuck; 3 where namespaces are not permitted and nothing was tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

arguments=()
bin=
while [ $# -gt 0 ]; do
    case $1 in
    --minutes | --seed) arguments+=("$1" "${2:?}"); shift 2 ;;
    --short) arguments+=("$1"); shift ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin hosts
# A namespace and a pair of interfaces: the very things that the test is made of.
if ! { ip netns add "probe$$" && ip -n "probe$$" link add name probe0 type veth peer name probe1; } 2>"$scratch/probe.log"; then
    ip netns delete "probe$$" 2>/dev/null || true
    echo "hosts: network namespaces are not permitted here ($(tail -n 1 "$scratch/probe.log")); nothing was tried" >&2
    exit 3
fi
ip netns delete "probe$$"

if [ -z "$bin" ]; then
    say "release build"
    quietly "the build" swift build -c release --product inspectd
    quietly "the build" swift build -c release --product faulty-analyzer
    bin=.build/release
fi
/usr/bin/python3 Tests/Hosts/hosts.py --bin "$(cd "$bin" && pwd)" --folder "$scratch" ${arguments[@]+"${arguments[@]}"}
