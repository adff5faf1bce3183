#!/usr/bin/env bash
# Compares what a new database has with Tests/schema.sql: tables, indexes, constraints, views, triggers, functions' signatures
# and settings, rights. Bodies of functions stand in Migrations/functions alone, comments beside what they are about.
#
# Usage: Tests/schema.sh [--renew] [--bin DIR]
#   --renew    rewrites Tests/schema.sql: after each change of the schema
#   --bin DIR  the folder with inspectd (default .build/tests/debug, where Tests/run.sh builds it)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin=.build/tests/debug
renew=
while [ "$#" -gt 0 ]; do
    case "$1" in
    --renew) renew=1; shift ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin schema
start_postgres
export INSPECTD_MIGRATIONS=$PWD/Migrations
"$bin/inspectd" migrate --roles >/dev/null
"$bin/inspectd" migrate >/dev/null

# Partitions look like what they are part of; the rest depends on pg_dump's version.
pg_dump --schema-only --no-owner --no-comments --schema=insp --exclude-table='insp.*_p[0-9]*' "$INSPECTD_DATABASE_URL" |
    perl -0pe 's/ AS (\$\w*\$).*?\1;/ AS .../sg; s/^(--|SET |\\|SELECT pg_catalog\.set_config).*\n//mg; s/\n+/\n/g; s/\A\n//; s/^(?=CREATE (?!SCHEMA|INDEX|UNIQUE))/\n/mg' \
        >"$scratch/schema.sql"
[ "$(wc -l <"$scratch/schema.sql")" -gt 100 ]

if [ -n "$renew" ]; then
    cp "$scratch/schema.sql" Tests/schema.sql
elif ! diff -u --label Tests/schema.sql --label "a new database" Tests/schema.sql "$scratch/schema.sql"; then
    echo "schema: a new database differs from Tests/schema.sql; if it should, run Tests/schema.sh --renew" >&2
    exit 1
fi
