#!/usr/bin/env bash
# Measures accuracy and speed of the product's own path over labelled inputs: `inspectd inspect --batch` over a document
# manifest, `inspectd compare --batch` over face pairs.
#
# Usage: Tests/score.sh [all|documents] [--data DIR] [--mistakes] [--json FILE]
#        Tests/score.sh faces [--data DIR] [--mistakes] [--json FILE] [--det FILE.svg] [--contour FILE] [--ofiq DIR]
#        Tests/score.sh drawn [--count N] [--seed N] [--keep DIR] [--mistakes] [--json FILE]
#        Tests/score.sh attacks [--data DIR] [--seed N] [--rounds N] [--mistakes] [--json FILE] [--keep DIR]
#   all          documents, chips and faces; the default
#   documents    documents with every field of IDResult (Tests/Truth/viz.json) and the sides, chips, vectors of text: tables, then
#                one line of JSON with every rate
#   --data DIR   folder with documents/manifest.json and faces/pairs.csv [../shared/testdata]
#   --mistakes   lists every input that was judged wrongly
#   --json FILE  also writes the figures as JSON
#   faces        faces alone and in more detail: pairs, detection, appearance, quality, speed, documents shown as selfies; the last line is JSON
#   --det FILE   draws the curve of false non-matches over false matches
#   --contour FILE   dlib's 68-point model, for eyes, mouth, smile and pose [INSPECTD_FACE_CONTOUR]
#   --ofiq DIR   OFIQ's conformance images, which ISO publishes; skipped without them
#   drawn        MRZs of documents that are drawn and photographed for it, a third of them held out; score_drawn.py says what is readable
#   attacks      attacks on documents, made from the development specimens: APCER of each species and strength, BPCER of genuine
#                images; score_attacks.py --help says what counts as detected
set -euo pipefail
cd "$(dirname "$0")/.."
swift build -c release --product inspectd >&2
if [ "${1-}" = faces ]; then
    shift
    exec /usr/bin/python3 Tests/score_faces.py --inspectd .build/release/inspectd "$@"
fi
if [ "${1-}" = drawn ]; then
    shift
    exec /usr/bin/python3 Tests/score_drawn.py --inspectd .build/release/inspectd "$@"
fi
if [ "${1-}" = attacks ]; then
    shift
    exec /usr/bin/python3 Tests/score_attacks.py --inspectd .build/release/inspectd "$@"
fi
exec /usr/bin/python3 Tests/score.py --inspectd .build/release/inspectd "$@"
