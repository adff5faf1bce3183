#!/usr/bin/env bash
# Times of the console's pages with a large database: fills a scratch database (Tests/console-pages.sql), asks for each page some
# times, one after the other, and prints the server's own time for each route.
#
# Usage: Tests/console-pages.sh [--jobs N] [--rounds N] [--bin DIR] [--sql]
#   --jobs N     jobs in the database [1000000]; 10000000 take some 18 GB of disk and a quarter of an hour
#   --rounds N   requests of each page [100]
#   --bin DIR    the folder with inspectd; else a release build is made
#   --sql        only the statements behind the pages, timed in the database
# Prints one JSON line for each page. Exit status 0 only if each page's 95th percentile is at most 50 ms. A photo
# of 12 megapixels, which a case's page fetches, has a line and no limit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

jobs=1000000 rounds=100 bin='' only=''
while [ $# -gt 0 ]; do
    case $1 in
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --rounds) rounds=${2:?--rounds needs a number}; shift 2 ;;
    --bin) bin=${2:?--bin needs a folder}; shift 2 ;;
    --sql) only=--sql; shift ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin pages
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
export INSPECTD_MIGRATIONS=$PWD/Migrations
quietly "the roles" "$bin/inspectd" migrate --roles
quietly "the schema" "$bin/inspectd" migrate
say "filling the database with $jobs jobs"
quietly "the filling" psql -X -q -v jobs="$jobs" "$INSPECTD_DATABASE_URL" -f Tests/console-pages.sql
say "asking for pages"
/usr/bin/python3 Tests/console_pages.py --bin "$bin" --rounds "$rounds" --jobs "$jobs" --folder "$scratch" $only &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
