#!/usr/bin/env bash
# Fetches the face photographs and renders the specimens that the demo and the tests use; prints the folder:
# DIR/faces/{obama,obama2,biden}.jpg and DIR/specimens/*.jpg with manifest.json.
# What is there and was made by the same sources is kept, so a second call takes no time. Safe to run several at once.
#
# Usage: deploy/inputs.sh [DIR]     DIR: .build/inputs by default
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/../.build/inputs}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

exec 9>"$dir/.lock"
flock 9

key=$(cat "$here/fetch-faces.sh" "$here/inputs.sh" "$here/specimens.py" "$here"/specimen/*.py | sha256sum)
if [ "$(cat "$dir/.key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$dir/.key" "$dir/specimens"
    "$here/fetch-faces.sh" "$dir/faces" >&2
    # The box is the head in that image, crown to chin. Debian's Python has the modules, whatever is on the PATH.
    /usr/bin/python3 "$here/specimens.py" --out "$dir/specimens" \
        --face "$dir/faces/obama.jpg" --face-box 0.375,0.03,0.34,0.36
    echo "$key" >"$dir/.key"
fi
echo "$dir"
