#!/usr/bin/env bash
# Runs published sets of test cases against the product. The data belongs to others, is not part of
# this repository and must not be committed to it.
#
# Usage: Tests/referees.sh SUITE [--data DIR] [--bin DIR]
#   http11         raw HTTP/1.1 requests and their acceptable outcomes, against a gateway, in the clear and over TLS; what
#                  posts both without a credential and with one
#   wycheproof     signatures, encrypted keys and contents, codes: good ones, and those that were made to be taken for good
#   jose           the encrypted examples of RFC 7520
#   webhooks       callbacks' signatures and secrets
#   pkits          certification paths and revocation lists, as of document signers and their authorities
#   chips          files of chips: data groups, security objects, master lists
#   tr03105        security objects with a fault each, issued as the set describes them
#   --data DIR     the folder with all sets [INSPECTD_REFEREES, else ../shared/referees]
#   --bin DIR      a folder with inspectd, for all but the first with referee; else a release build is made
#
# A case of http11 with another outcome is judged again by itself, at most twice, except for one with more answers than
# requests. Justified deviations are in Tests/Referees/SUITE.exceptions, one line each; what the product has no
# code for is not assessed, and counted apart. The last line is {"suite", "cases", "passed", "failed", "exceptions"}, for all
# but the first with "not_assessed"; exit status 0 only if nothing failed, 3 where the data is not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

suite=${1:-}
data=${INSPECTD_REFEREES:-../shared/referees}
bin=
usage() { sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
case $suite in
http11) cases=cases.jsonl program=inspectd ;;
wycheproof) cases=index.json program=referee ;;
jose) cases='' program=referee ;;
webhooks) cases=cases.json program=referee ;;
pkits) cases=tests.json program=referee ;;
chips) cases=index.json program=referee ;;
tr03105) cases=lds.json program=referee ;;
*) usage ;;
esac
shift
while [ $# -gt 0 ]; do
    case $1 in
    --data) data=${2:?}; shift 2 ;;
    --bin) bin=${2:?}; shift 2 ;;
    *) usage ;;
    esac
done
if [ ! -e "$data/$suite/$cases" ]; then
    echo "referees: no $suite in $data; nothing was tried" >&2
    exit 3
fi

begin referees
if [ -z "$bin" ]; then
    say "release build"
    quietly "the build" swift build -c release --product "$program"
    bin=.build/release
fi
if [ "$program" = referee ]; then
    /usr/bin/python3 -B "Tests/Referees/$suite.py" "$data/$suite" "$bin/referee"
    exit
fi
start_postgres
quietly "the roles" "$bin/inspectd" migrate --roles
quietly "the migration" "$bin/inspectd" migrate
psql -Xq "$INSPECTD_DATABASE_URL" -c "SELECT insp.create_partner('bank')" >/dev/null
bearer=$(psql -XqAt "$INSPECTD_DATABASE_URL" -c \
    "SELECT bearer FROM insp.create_credential('bank', ARRAY['create', 'read'], rate_per_second => 100000)")
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$scratch/key.pem" -out "$scratch/chain.pem" 2>/dev/null

# Starts a gateway and prints its port.
gateway() {
    local name=$1 port=
    shift
    : >"$scratch/$name.log"
    "$bin/inspectd" gateway --listen 0 --address-rate 100000 "$@" 2>"$scratch/$name.log" &
    remember $!
    for _ in $(seq 600); do
        port=$(sed -n 's/.*"message":"gateway open".*"port":\([0-9]*\).*/\1/p' "$scratch/$name.log")
        [ -z "$port" ] || break
        sleep 0.1
    done
    [ -n "$port" ]
    declare -g "port_$name=$port"
}
gateway plain
gateway tls --certificate "$scratch/chain.pem" --key "$scratch/key.pem"
# shellcheck disable=SC2154 # `declare -g` in `gateway` sets both ports.
BEARER=$bearer /usr/bin/python3 Tests/Referees/http11.py "$data/http11/cases.jsonl" "$port_plain" "$port_tls"
