#!/usr/bin/env bash
# What a partner can do that has HTTP alone, by a client that is generated from /openapi.json: tokens, jobs of every workflow, a
# liveness challenge that is passed, callbacks that were lost and are sent again, results that only the partner can read, a person
# exported and erased. Every result and every callback must fit its schema, with no member that the schema lacks, and every objection
# must have a reason. The description's examples must fit as well, and have the members that this run's bodies have.
#
# Usage: Tests/partner.sh [--bin DIR] [--results FILE] [--renew]
#   --bin DIR        the folder with inspectd; else a release build is made
#   --results FILE   further results, one a line, that must fit as well
#   --renew          writes this run's bodies into Sources/Gateway/OpenAPI/Examples
#
# The client and the validators come from PyPI; where that cannot be reached, the check ends with status 3.
# Prints one JSON line; exit status 0 only if all is as described.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin='' results='' renew=''
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=${2:?}; shift 2 ;;
    --results) results=${2:?}; shift 2 ;;
    --renew) renew=--renew; shift ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin partner
inputs=$(deploy/inputs.sh)
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
venv=$(from_pypi partner 'openapi-python-client==0.26.2' 'openapi-spec-validator==0.9.0' 'jsonschema[format]==4.26.0' 'joserfc==1.8.0') || {
    tail -n 5 "$scratch/pip.log" >&2
    echo "partner: the client generator could not be installed; nothing was tried" >&2
    exit 3
}
start_postgres
"$venv/bin/python" Tests/partner.py --bin "$bin" --inputs "$inputs" --folder "$scratch" ${results:+--results "$results"} $renew &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
