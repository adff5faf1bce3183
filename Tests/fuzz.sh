#!/usr/bin/env bash
# Fuzzes what reads untrusted bytes, with libFuzzer and AddressSanitizer, guided by the coverage of this project's code.
#
# Usage: Tests/fuzz.sh [--plain] [--seconds N | --build] [TARGET…]     N for each target [600]; all targets by default
#   --build  only builds the programs, where sources have changed
#   --plain  without the optimiser: builds in a third of the time, and tries fewer inputs a second
#   mrz      MRZs: as text, as lattices, and everything that follows up to the report
#   aamva    texts of barcodes, and everything that follows
#   chip     files of chips: EF.SOD, DG1, DG2
#   frames   messages between worker and analyzer
#   facts    messages to a worker from an analyzer that an image has taken over
#   metadata image files' metadata on how they were made
#   jpeg, png, webp, jpeg2000, heic, bmp, pdf   images of each format
# Inputs are kept under .build/fuzz/corpus and used again; those that crash are kept under .build/fuzz/findings, and are
# tried first at the next run. Exit status 0 only if every target ran its time without a finding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=600 only_build='' plain=''
targets=()
formats=(jpeg png webp jpeg2000 heic bmp pdf)
while [ $# -gt 0 ]; do
    case "$1" in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --build) only_build=1; shift ;;
    --plain) plain=1; shift ;;
    mrz | aamva | chip | frames | facts | metadata | jpeg | png | webp | jpeg2000 | heic | bmp | pdf) targets+=("$1"); shift ;;
    *) sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done
[ "${#targets[@]}" -gt 0 ] || targets=(mrz aamva chip frames facts metadata "${formats[@]}")

out=$PWD/.build/fuzz
text=$out/text
modes=(-O -wmo)
if [ -n "$plain" ]; then
    text=$out/text-plain
    modes=(-Onone)
fi
mkdir -p "$out/corpus" "$out/findings"
# One build at a time; targets may run beside each other.
exec {lock}>"$out/lock"
flock "$lock"
toolchain=$(dirname "$(readlink -f "$(command -v swiftc)")")
clang=$toolchain/clang

# Whether $1 is older than one of the files after it.
stale() {
    local product=$1
    shift
    [ ! -e "$product" ] || [ -n "$(find "$@" -newer "$product" -print -quit)" ]
}

# One module of all that is tried: SwiftPM would build OpenCV's and dlib's users with it, which takes minutes.
build_text() {
    stale "$text" Tests/Fuzz Sources/InspectCore Sources/Chip/LDS Sources/Analyzer Sources/CSystem || return 0
    mkdir -p "$out/include"
    printf 'module CSystem { umbrella header "%s" export * }\n' "$PWD/Sources/CSystem/include/CSystem.h" \
        >"$out/include/module.modulemap"
    local file objects=()
    for file in Sources/CSystem/*.c; do
        objects+=("$out/$(basename "$file" .c).o")
        "$clang" -c -gline-tables-only -O1 -fsanitize=address,fuzzer-no-link -I Sources/CSystem/include "$file" -o "${objects[-1]}"
    done
    local sources
    mapfile -t sources < <(find "$PWD/Sources/InspectCore" "$PWD/Sources/Chip/LDS" "$PWD/Sources/Analyzer/Protocol" \
        "$PWD/Sources/Analyzer/AnalyzerEngine.swift" "$PWD/Tests/Fuzz" -name '*.swift' | sort)
    # In a folder of its own: the compiler leaves the module's files where it runs.
    (cd "$out" && swiftc -swift-version 6 -module-name InspectCore -package-name inspectd -parse-as-library "${modes[@]}" -gline-tables-only -suppress-warnings \
        -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature ExistentialAny \
        -sanitize=address,fuzzer -I "$out/include" "${sources[@]}" "${objects[@]}" -lseccomp -o "$text") >"$out/build.log" 2>&1 || {
        grep -v 'Cannot export local symbol' "$out/build.log" >&2
        return 1
    }
}

build_decode() {
    local sources=(Sources/CVision/{image_*,heif_*,hevc_*,pdf_*,cpu,guard,late_library,sequential}.cpp)
    stale "$out/decode" Tests/Fuzz/decode.cpp "${sources[@]}" Sources/CVision/*.hpp Sources/CVision/include || return 0
    "$clang++" -std=c++17 -gline-tables-only -O1 -fsanitize=address,fuzzer -isystem /usr/include/opencv4 -I Sources/CVision/include \
        -I Sources/CVision Tests/Fuzz/decode.cpp "${sources[@]}" -lopencv_core -lopencv_imgproc -ljpeg -lpng -lwebp \
        -lopenjp2 -lde265 -lz -ldl -o "$out/decode"
}

is_format() { [[ " ${formats[*]} " = *" $1 "* ]]; }

# Both at once: each compiler has one thread most of the time.
builds=()
for target in "${targets[@]}"; do
    if is_format "$target"; then builds+=(build_decode); else builds+=(build_text); fi
done
mapfile -t builds < <(printf '%s\n' "${builds[@]}" | sort -u)
running=()
for build in "${builds[@]}"; do
    "$build" &
    running+=("$!")
done
built=0
for pid in "${running[@]}"; do wait "$pid" || built=$?; done
if [ -n "$only_build" ] || [ "$built" -ne 0 ]; then exit "$built"; fi
exec {lock}>&-

# Swift's own crash reporter waits for a terminal.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
failed=0
for target in "${targets[@]}"; do
    corpus=$out/corpus/$target
    findings=$out/findings/$target
    mkdir -p "$corpus" "$findings"
    export INSPECTD_FUZZ_TARGET=$target
    if is_format "$target"; then
        program=$out/decode
        /usr/bin/python3 Tests/Fuzz/images.py "$out/corpus"
        options=(-max_len=8192)
    else
        program=$text
        INSPECTD_FUZZ_SEEDS=$out/corpus "$program"
        options=(-max_len=16384)
    fi
    # What was found before must not come back.
    for file in "$findings"/*; do
        [ -e "$file" ] || continue
        if ! "$program" -timeout=20 "$file" >"$out/$target.log" 2>&1; then
            echo "$target: still fails on $file"
            grep -m 3 -E 'ERROR|SUMMARY|Fatal' "$out/$target.log" || true
            failed=1
            continue 2
        fi
    done
    status=0
    "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 -print_final_stats=1 \
        -artifact_prefix="$findings/" "${options[@]}" "$corpus" >"$out/$target.log" 2>&1 || status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
    cover=$(grep -aoE 'cov: [0-9]+' "$out/$target.log" | tail -n 1 || true)
    echo "$target: ${runs:-no} inputs in $seconds s, ${cover:-no coverage}, status $status"
    if [ "$status" -ne 0 ] || [ -z "$runs" ]; then
        tail -n 40 "$out/$target.log"
        failed=1
    fi
done
exit "$failed"
