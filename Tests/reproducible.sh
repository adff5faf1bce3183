#!/usr/bin/env bash
# Builds the release in two folders of different names and lengths, and compares what comes out byte by byte.
#
# Usage: Tests/reproducible.sh     two release builds, a quarter of an hour; needs 4 GB
# Prints one JSON line: {"result": "equal" | "different", "sha256": [one, the other]}. Exit status 0 if they are equal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
[ $# = 0 ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

begin reproducible
sums=()
for folder in "$scratch/one" "$scratch/the-other/below"; do
    mkdir -p "$folder"
    git ls-files -z | tar --null -T - -c | tar -x -C "$folder"
    say "build in $folder"
    "$folder/deploy/build.sh" "$scratch/inspectd" 2>"$scratch/build.log" || { tail -n 30 "$scratch/build.log" >&2; exit 1; }
    # It runs, too.
    "$scratch/inspectd" --version >/dev/null
    sums+=("$(sha256sum "$scratch/inspectd" | cut -d' ' -f1)")
    rm -rf "$folder"
done
result=different
if [ "${sums[0]}" = "${sums[1]}" ]; then result=equal; fi
printf '{"result":"%s","sha256":["%s","%s"]}\n' "$result" "${sums[@]}"
[ "$result" = equal ]
