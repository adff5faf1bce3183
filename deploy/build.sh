#!/usr/bin/env bash
# Builds the release for installation: with Swift's runtime in it, and equal bytes from equal sources in any folder.
#
# Usage: deploy/build.sh FILE      writes the program to FILE
set -euo pipefail
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "$(dirname "$1")"
output=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Folders would stand in what #file and assert() say, and in debug information. A folder of its own: other flags than those of a plain
# `swift build` would rebuild everything each time.
map=$PWD=/source
flags=(-c release --scratch-path .build/install --product inspectd --static-swift-stdlib --disable-local-rpath
    -Xswiftc -gnone -Xswiftc -file-prefix-map -Xswiftc "$map" -Xcc "-ffile-prefix-map=$map" -Xcxx "-ffile-prefix-map=$map"
    -Xlinker --build-id=none)
swift build "${flags[@]}" >&2
# The compiler's own hashes of its arguments, folders among them: only it reads them, to skip what has not changed.
objcopy --remove-section=.swift_modhash "$(swift build "${flags[@]}" --show-bin-path)/inspectd" "$output"
