#!/usr/bin/env bash
# The console in a real browser: sign-in at a provider that requires PKCE, a case of two reviewers, dead letters, every page by axe's
# rules (WCAG 2.2 AA), in light and dark, 360 px wide, and without JavaScript.
#
# Usage: Tests/console.sh [--bin DIR] [--shots DIR]
#   --bin DIR    the folder with inspectd; else a release build is made
#   --shots DIR  where screenshots go
#
# The browser is Debian's Chromium; its driver, axe and the provider come from PyPI. If one is missing, the check ends with status 3.
# Prints one JSON line; exit status 0 only if all is as described.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

bin='' shots=''
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=${2:?}; shift 2 ;;
    --shots) shots=${2:?}; shift 2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin console
if [ ! -x /usr/bin/chromium ]; then
    echo "console: there is no Chromium; nothing was tried" >&2
    exit 3
fi
venv=$(from_pypi console 'authlib==1.9.10' 'cryptography>=42' 'playwright==1.65.2' 'axe-playwright-python==0.1.8') || {
    tail -n 5 "$scratch/pip.log" >&2
    echo "console: the browser's driver could not be installed; nothing was tried" >&2
    exit 3
}
if [ -z "$bin" ]; then
    quietly "the build" swift build -c release --product inspectd
    bin=.build/release
fi
start_postgres
export INSPECTD_MIGRATIONS=$PWD/Migrations
quietly "the roles" "$bin/inspectd" migrate --roles
quietly "the schema" "$bin/inspectd" migrate
"$venv/bin/python" Tests/console.py --bin "$bin" --folder "$scratch" ${shots:+--shots "$shots"} &
run=$!
remember "$run"
status=0
wait "$run" || status=$?
forget "$run"
exit "$status"
