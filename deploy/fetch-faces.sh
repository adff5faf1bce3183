#!/usr/bin/env bash
# fetch-faces.sh DIR: puts face photographs of two US presidents into DIR, for the demo and the tests.
# They are White House photographs (works of the US government, public domain) out of the source package of
# face_recognition on PyPI (MIT), fetched where they are used and never passed on:
#   obama.jpg, obama2.jpg  the same person twice          biden.jpg  another person
#   obama_partial_face.jpg  a face that is cut off by the edge of its image
# Safe to run again: what is there and intact is left alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/sdist.sh
. "$here/sdist.sh"

folder=${1:?usage: fetch-faces.sh DIR}
package=face_recognition
version=1.3.0
images=(
    "0930e3aa8cae5920329c0c8cbc6a2ab70f47b0e67b432875beaa95cbf7e741f6 obama.jpg"
    "a7efcc907375274796f39646510704aa86672d59f6d5469d69af3c85590976a6 obama2.jpg"
    "3c17508bb91554c637a2eabddfae790e5bb1caba93130814fc2ac50be9760c4c biden.jpg"
    "c2d1f09e7ef3042352b41e41286e6eb0522f64f88308be13886991b95db52117 obama_partial_face.jpg"
)

missing=()
for image in "${images[@]}"; do
    sha256_is "$folder/${image#* }" "${image% *}" || missing+=("$image")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "fetch-faces: downloading $package $version (3 MB)" >&2
archive=$(sdist_fetch "$package" "$version" "$work")
for image in "${missing[@]}"; do
    digest=${image% *} name=${image#* }
    tar -xzOf "$archive" "$package-$version/tests/test_images/$name" >"$work/$name"
    sha256_is "$work/$name" "$digest" || { echo "fetch-faces: $name is not the file that is expected" >&2; exit 1; }
    install -m 644 "$work/$name" "$folder/.$name.$$"
    mv -f "$folder/.$name.$$" "$folder/$name"
done
