#!/usr/bin/env bash
# Compares today with the frozen releases, each a folder of Tests/Frozen with its Migrations, the statements that its program sends,
# what it promises (functions with their arguments and columns, views, channels, values, codes), and what fills a database and a key
# store with something in every state. If today's version is frozen, nothing of it may differ; if it is tagged, it is frozen for good.
# Databases of it, or of the release before, are filled and brought up to date: no row, right or default may be lost, no right added
# that DEPLOYING.md does not list, the release's workers and programs go on by their own statements, each of which is run, released
# scripts are unedited, and nobody waits long. Scripts that were made up show that this sees what breaks.
#
# Usage: Tests/freeze.sh [--renew] [--bin DIR]
#   --renew    writes Tests/Frozen/VERSION from today's Migrations and Sources first, for the version of Version.swift
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
    *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin freeze
start_postgres
/usr/bin/python3 Tests/Frozen/freeze.py --program "$bin/inspectd" --url "$INSPECTD_DATABASE_URL" --scratch "$scratch" ${renew:+--renew}
