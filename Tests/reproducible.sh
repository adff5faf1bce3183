#!/usr/bin/env bash
# Builds the release in two folders of different names and lengths, and compares what comes out byte by byte.
#
# Usage: Tests/reproducible.sh [--target NAME]...     two release builds, a quarter of an hour and more; needs 6 GB
#   --target NAME    compares the object files of this target of the package only, which takes a minute or two
# Prints one JSON line: {"result": "equal" | "different", "compared", "different": [files], "sha256"}. Exit status 0 if all are equal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --target) targets+=("${2:?--target needs a name}"); shift 2 ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done

begin reproducible
for folder in "$scratch/one" "$scratch/the-other/below"; do
    mkdir -p "$folder"
    git ls-files -z | tar --null -T - -c | tar -x -C "$folder"
    # Folders stand in debug information and in what #file and assert() say.
    map=$folder=/source
    flags=(-c release -Xswiftc -file-prefix-map -Xswiftc "$map" -Xcc "-ffile-prefix-map=$map" -Xcxx "-ffile-prefix-map=$map")
    say "build in $folder"
    if [ "${#targets[@]}" -gt 0 ]; then
        for target in "${targets[@]}"; do
            swift build --package-path "$folder" "${flags[@]}" --target "$target" >"$scratch/build.log" 2>&1 || { tail -n 30 "$scratch/build.log" >&2; exit 1; }
        done
    else
        swift build --package-path "$folder" "${flags[@]}" --product inspectd --static-swift-stdlib --disable-local-rpath \
            >"$scratch/build.log" 2>&1 || { tail -n 30 "$scratch/build.log" >&2; exit 1; }
    fi
done

say "compare"
built() {
    if [ "${#targets[@]}" -gt 0 ]; then
        find "$1/.build/release/" -path '*.build/*' -name '*.o' -printf '%P\n' | sort
    else
        echo inspectd
    fi
}
names=$(built "$scratch/one")
[ -n "$names" ] && [ "$names" = "$(built "$scratch/the-other/below")" ] || { echo "reproducible: other files were built" >&2; exit 1; }
different=()
while read -r name; do
    cmp -s "$scratch/one/.build/release/$name" "$scratch/the-other/below/.build/release/$name" || different+=("\"$name\"")
done <<<"$names"
sum=$(cd "$scratch/one/.build/release" && xargs -d '\n' cat <<<"$names" | sha256sum | cut -d' ' -f1)
printf '{"result":"%s","compared":%d,"different":[%s],"sha256":"%s"}\n' "$([ "${#different[@]}" -eq 0 ] && echo equal || echo different)" \
    "$(wc -l <<<"$names")" "$(IFS=,; echo "${different[*]-}")" "$sum"
[ "${#different[@]}" -eq 0 ]
