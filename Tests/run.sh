#!/usr/bin/env bash
# Runs every check and test: formatting, a build with warnings as errors, Swift tests against a private
# PostgreSQL, the tests of the specimens. Installs what is missing, leaves nothing running. Takes some 25 minutes
# on two cores of 2.5 GHz, and longer on slower ones.
#
# Usage: Tests/run.sh [--quick | --filter REGEX]
#   --quick         formatting, the rules, and the queue on one database: under three minutes after a build
#   --filter REGEX  only the Swift tests that match it
# A suite that fails alongside others is run once more alone, unless it guards what must not happen even once. If it then
# passes, the outcome of its tests is inconclusive: neither passed nor failed, and named at the end.
# It ends with the seconds that each check took and "N passed, N failed, N inconclusive"; exit status 0 only if nothing failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
# shellcheck source=Tests/lanes.sh
source Tests/lanes.sh

filter=
quick=
case "${1-}" in
"") ;;
--quick) quick=1 ;;
--filter) filter=${2:?--filter needs a regular expression} ;;
*) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac

begin tests
: >"$scratch/times"
passed=0
failed=0
# Repeats what failed at the end: often only the tail of a long log is seen.
failures=()
inconclusive=()
# Suites about loss, doubles, leaks, rights and wrong decisions: one failure is a failure.
once='Chaos|Simulation|Fault|Failover|JobWorker|Erasure|Erase|Person|Retention|Right|Secret|Record|Custody|Object|Confinement|Egress|Schema|Migrat|Score|Residue|Seal|Cipher|Key|Access|Capture'

# Notes what a check or the tests of a target took, in seconds.
took() { printf '%5d s  %s\n' "$((SECONDS - $2))" "$1" >>"$scratch/times"; }

summary() {
    local failure
    sort -rn "$scratch/times"
    for failure in ${inconclusive[@]+"${inconclusive[@]}"}; do echo "inconclusive: $failure"; done
    for failure in ${failures[@]+"${failures[@]}"}; do echo "failed: $failure"; done
    echo "$passed passed, $failed failed, ${#inconclusive[@]} inconclusive"
    [ "$failed" -eq 0 ]
}

deploy/install-deps.sh --no-models

# Almost every test has a database of its own, whose creation takes half the time in memory.
fast=${TMPDIR:-/tmp}
if [ -w /dev/shm ] && [ "$(df -m --output=avail /dev/shm | tail -n 1)" -ge 12000 ] &&
    [ "$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)" -ge 12000 ]; then
    fast=/dev/shm
fi

# Starts the Swift tests' server, a new one where the last one has more than 2 GB of databases. Nothing of it outlives the run, so it
# may lose everything in a crash of the machine; tests that end servers, and the scripts below, have their own with durable defaults.
# It compiles no query, for hardly one runs often, and vacuums nothing by itself: it would look into another of the hundreds of
# databases ten times a second. The cost: no test on it meets an autovacuum; soaks keep the default.
roomy_postgres() {
    if [ -n "$postgres_dir" ]; then
        if [ "$(du -sm "$(cat "$postgres_dir/home")" | cut -f 1)" -le 2000 ]; then return; fi
        deploy/scratch-postgres.sh stop "$postgres_dir"
    fi
    TMPDIR=$fast SCRATCH_POSTGRES_SETTINGS=$'fsync = off\nfull_page_writes = off\nmax_wal_size = 512MB\njit = off\nautovacuum = off' start_postgres
    export INSPECTD_TEST_DATABASE_URL=$INSPECTD_DATABASE_URL
    unset INSPECTD_DATABASE_URL
}

# Everything that is no Swift test, unless less was asked for.
whole() { [ -z "$filter$quick" ]; }

# All that needs sources alone goes on beside the build, whose compilers often wait for one of them.
prepare() { deploy/install-models.sh && deploy/inputs.sh; }
prepare >"$scratch/inputs" &
prepared=$!
remember "$prepared"
# What the checks need from PyPI, by their own lines. One that lacks its tools says so itself.
tools() {
    local line
    while read -r line; do eval "$line" </dev/null >/dev/null || true; done < <(grep -hoE "from_pypi [a-z]+ '[^)]*'" Tests/*.sh)
}
fetched=
if whole; then
    tools &
    fetched=$!
    remember "$fetched"
fi
shell_style() { find . -path ./.build -prune -o -name '*.sh' -print0 | xargs -0 shellcheck -x -S warning .ci/run; }
cxx_style() { find Sources \( -name '*.[ch]' -o -name '*.[ch]pp' \) -exec clang-format --dry-run --Werror {} +; }
sql_style() {
    local venv
    venv=$(from_pypi squawk 'squawk-cli==2.70.0') || { cat "$scratch/pip.log"; return 1; }
    "$venv/bin/squawk" Migrations/0*.sql Migrations/keys/0*.sql
}
if [ -z "$filter" ]; then
    started_beside as-is "formatting" swift format lint --strict -r Sources Tests Package.swift
    started_beside as-is "scripts" shell_style
    started_beside as-is "formatting of C and C++" cxx_style
    started_beside as-is "SQL scripts" sql_style
fi
if whole; then
    spare "specimens" /usr/bin/python3 Tests/specimens.py
    spare "build for fuzzing" Tests/fuzz.sh --plain --build
fi

# A folder of its own: other flags than those of a plain `swift build` would rebuild everything each time. No debug information, which
# takes an eighth of the compilers' time: a trap names its file and line without it.
flags=(--scratch-path .build/tests -Xswiftc -gnone -Xswiftc -warnings-as-errors -Xcc -Werror -Xcc -g0 -Xcxx -Werror -Xcxx -g0)
say "build, warnings are errors"
begun=$SECONDS
if ! swift build --build-tests "${flags[@]}" >"$scratch/build.log" 2>&1; then
    tail -n 80 "$scratch/build.log"
    echo "failed: the build"
    failed=$((failed + 1))
    dispatch
    summary
    exit 1
fi
took build "$begun"
passed=$((passed + 1))
wait "$prepared"
forget "$prepared"
inputs=$(cat "$scratch/inputs")
export INSPECTD_TEST_INPUTS=$inputs
if [ -n "$fetched" ]; then
    wait "$fetched" || true
    forget "$fetched"
fi
if whole; then
    # It compares times.
    quiet
    check "a hostile partner beside a good one" Tests/hostile.sh --seconds 2 --bin .build/tests/debug
    beside "parts in an object store" Tests/objects.sh --jobs 8 --bin .build/tests/debug
    beside "keys rotated under load, with kills" Tests/rotation.sh --seconds 20 --bin .build/tests/debug
    beside "personal data outside of seals, and an erasure against an old backup" Tests/custody.sh --jobs 60 --bin .build/tests/debug
    beside "events pulled while everything is killed" Tests/events.sh --short --bin .build/tests/debug
    if ip netns add "probe$$" 2>/dev/null; then
        ip netns delete "probe$$"
        beside "hosts whose links are cut" Tests/hosts.sh --short --bin .build/tests/debug
    else
        say "not run: Tests/hosts.sh, for network namespaces are not permitted here"
    fi
    beside "a database of a frozen release, brought up to date" Tests/freeze.sh --bin .build/tests/debug
    if [ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true 2>/dev/null; then
        beside "the package installed, upgraded, purged" Tests/package.sh --bin .build/tests/debug
    else
        say "not run: Tests/package.sh, for it takes root and namespaces"
    fi
    beside "dispatchers killed" Tests/callbacks.sh --seconds 6 --bin .build/tests/debug
    beside "the bill of materials" Tests/sbom.sh --bin .build/tests/debug
    beside "the schema's dump" Tests/schema.sh --bin .build/tests/debug
    beside "the guide to results" /usr/bin/python3 Tests/results.py .build/tests/debug/inspectd
    # Short, and last: they fill the lane while the longest target still runs.
    beside "operating manual" /usr/bin/python3 Tests/operating.py .build/tests/debug/inspectd
    # The data is others' and not in this repository.
    for suite in http11 wycheproof jose webhooks pkits chips tr03105; do
        if [ -d "${INSPECTD_REFEREES:-../shared/referees}/$suite" ] || [ "${CI-}" = true ]; then
            beside "outside cases: $suite" Tests/referees.sh "$suite" --bin .build/tests/debug
        else
            say "not run: Tests/referees.sh $suite, for its data is not here (INSPECTD_REFEREES)"
        fi
    done
    beside "backup and restore" Tests/restore.sh --bin .build/tests/debug
    beside "guides to contributing and deploying" /usr/bin/python3 Tests/guides.py .build/tests/debug

    timely "a link that captures, in a browser" Tests/capture.sh --bin .build/tests/debug
    later "every kind of fault once" Tests/faults.sh --short --bin .build/tests/debug
    timely "the console in a browser" Tests/console.sh --bin .build/tests/debug
    later "README and guides" /usr/bin/python3 Tests/readme.py .build/tests/debug
    later "clients in five languages, as printed" Tests/clients.sh --bin .build/tests/debug
    later "gateway against its description" Tests/gateway-fuzz.sh --examples 25 --seed 20261123 --bin .build/tests/debug
    # Long enough to see that every target runs and that what was found does not come back; Tests/fuzz.sh alone takes longer.
    later "fuzzing" Tests/fuzz.sh --plain --seconds 5
    later "deployment" Tests/deployment.sh --bin .build/tests/debug
    later "the demo, and the pages with which it ends" /usr/bin/python3 Tests/demo.py .build/tests/debug
    later "a record of 100,000 rows" Tests/audit.sh --bin .build/tests/debug --rows 100000
fi

# Counts the tests that ended so, by Swift Testing's lines. The log may hold any bytes; cases of a test do not count.
count() {
    LC_ALL=C grep -aE "^[^ ]+ Test .* $1 after " "$scratch/tests.log" | LC_ALL=C grep -avcE '^[^ ]+ Test (run|case) ' || true
}

# The names of a log's failed tests or suites.
failed_names() {
    LC_ALL=C grep -aE "^[^ ]+ $1 .* failed after " "$scratch/tests.log" | LC_ALL=C grep -avE '^[^ ]+ Test (run|case) ' \
        | LC_ALL=C sed -E "s/^[^ ]+ $1 (.*) failed after .*/\\1/"
}

# Runs the tests of a target that match a regular expression, as `swift test --skip-build` would, which reads the package again
# each time. Files that they leave go with this script's own.
swift_tests() {
    local status=0
    mkdir -p "$scratch/tmp"
    chmod 1777 "$scratch/tmp"
    TMPDIR=$scratch/tmp timeout --kill-after=10 "$1" .build/tests/debug/inspectdPackageTests.xctest --testing-library swift-testing \
        --filter "$2" ${skipped[@]+"${skipped[@]}"} || status=$?
    # No test matches: another target has it.
    [ "$status" -eq 69 ] || return "$status"
}

# Whether every suite of a target that failed passes alone. A stall of the machine does not come back, a fault of ours does.
passes_alone() {
    local suite suites pattern
    mapfile -t suites < <(failed_names Suite)
    [ "${#suites[@]}" -gt 0 ] && [ "${#suites[@]}" -le 2 ] || return 1
    for suite in "${suites[@]}"; do
        if [[ $suite =~ $once ]]; then return 1; fi
        quiet
        say "once more, alone: $suite"
        pattern="^($1)\\.$suite/"
        swift_tests 600 "$pattern" >"$scratch/alone.log" 2>&1 &
        run=$!
        remember "$run"
        wait "$run" || { forget "$run"; return 1; }
        forget "$run"
        LC_ALL=C grep -aqE '^[^ ]+ Test run with [1-9][0-9]* tests? .* passed after ' "$scratch/alone.log" || return 1
    done
}

# The results of the jobs that these tests left, one a line.
results_of_tests() {
    local database
    for database in $(psql -XqAt "$INSPECTD_TEST_DATABASE_URL" -c "SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%' EXCEPT SELECT unnest('{$1}'::text[])"); do
        psql -XqAt "${INSPECTD_TEST_DATABASE_URL/\/postgres\?//$database?}" -c \
            "SELECT insp.result_document(j) FROM insp.job j WHERE j.status = 128" 2>/dev/null || true
    done
}

# One target after another: tests that kill workers or wait for deadlines do not take the processor from those of another
# target, and a crash ends one target's tests only. Those of these targets run in one process, no more at once than those of one:
# each has a test or two that takes much longer than the others, and would run alone at the end, on one processor. Targets that
# change the process itself (its environment, its descriptors) are not among them.
total=0
others=
together=('BenchmarksTests|ChipTests|VisionTests' 'JobQueueTests|PostgresTests' 'CallbacksTests|CustodyTests|InspectionTests|ObjectStoreTests')
targets=("${together[@]}")
for target in Tests/*Tests; do
    target=${target#Tests/}
    if [[ "|$(IFS='|' && echo "${together[*]}")|" != *"|$target|"* ]]; then targets+=("$target"); fi
done
if [ -n "$quick" ]; then
    targets=("${together[1]}" InspectCoreTests HTTPServerTests GatewayTests)
    # Each takes minutes.
    skipped=(--skip '\.(SimulationTests|SchemaTests)/')
fi
for target in "${targets[@]}"; do
    # All tests of a target at once would make each other late; most of them wait most of the time. Those of the whole service
    # have deadlines to keep, and workers of their own.
    width=16
    # The queue's tests leave no processor time, the others some.
    lanes=1
    if [ "$target" = "${together[1]}" ]; then lanes=0; fi
    roomy_postgres
    if [ "$target" = EndToEndTests ]; then
        width=4
        # Results of other targets may be made up.
        others=$(psql -XqAt "$INSPECTD_TEST_DATABASE_URL" -c "SELECT string_agg(datname, ',') FROM pg_database WHERE datname LIKE 'test\\_%'")
    fi
    name=${target//|/, }
    say "tests of $name"
    begun=$SECONDS
    # In the background, so that a signal to this script is dealt with at once. A test that hangs fails the run.
    : >"$scratch/tests.log"
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$width \
        swift_tests 1200 "^($target)\\.${filter:+.*($filter)}" >"$scratch/tests.log" 2>&1 &
    run=$!
    remember "$run"
    tail -n +1 -f -s 0.2 --pid="$run" "$scratch/tests.log" \
        | LC_ALL=C sed -u -e '/ Test case passing .* started\.$/d' -e 's/^\(.\{500\}\).*/\1.../' &
    shown=$!
    status=0
    awaited "$run" || status=$?
    wait "$shown" || true
    forget "$run"
    took "tests of $name" "$begun"
    if whole && [ "$target" = EndToEndTests ]; then results_of_tests "$others" >"$scratch/results"; fi
    # The summary is the last word; a crash leaves none.
    ran=$(LC_ALL=C sed -nE 's/^[^ ]+ Test run with ([0-9]+) tests? .* (passed|failed) after .*/\1/p' "$scratch/tests.log")
    bad=$(count failed)
    if [ -n "$ran" ]; then good=$((ran - bad)); else good=$(count passed); fi
    if [ -z "$ran" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        echo "failed: the tests of $name ended with status $status"
        bad=$((bad + 1))
        failures+=("the tests of $name ended with status $status")
    fi
    if [ -n "$ran" ] && [ "$bad" -gt 0 ] && [ "$bad" -le 3 ] && passes_alone "$target"; then
        mapfile -t -O "${#inconclusive[@]}" inconclusive < <(failed_names Test | cut -c1-300 | sed "s/\$/: failed beside others, passed alone/")
        total=$((total + good + bad))
        passed=$((passed + good))
        continue
    fi
    mapfile -t -O "${#failures[@]}" failures < <(LC_ALL=C grep -aE '^[^ ]+ Test .* (recorded an issue|failed after) ' \
        "$scratch/tests.log" | LC_ALL=C grep -avE '^[^ ]+ Test (run|case) ' | cut -c1-500)
    total=$((total + good + bad))
    passed=$((passed + good))
    failed=$((failed + bad))
done
if [ "$total" -eq 0 ]; then
    echo "failed: no test ran"
    failed=$((failed + 1))
fi
if whole; then
    by_schema() { [ "$(wc -l <"$scratch/results")" -ge 100 ] && Tests/partner.sh --bin .build/tests/debug --results "$scratch/results"; }
    later "a partner by HTTP alone, and results by their schemas" by_schema
    queue=("${rest[0]}" "${rest[-1]}" "${rest[@]:1:${#rest[@]}-2}" ${queue[@]+"${queue[@]}"})
    hurry
    # They wait a third of their time.
    lanes=$(($(nproc) + 1))
fi
joined
summary
