#!/usr/bin/env bash
# Measures accuracy and speed of the product's own path over labelled inputs: `inspectd inspect --batch` over a document
# manifest, `inspectd compare --batch` over face pairs.
#
# Usage: Tests/score.sh [all|documents] [--data DIR] [--mistakes] [--json FILE]
#   all          documents, chips and faces; the default
#   documents    documents, chips and the vectors of text: a table, then one line of JSON with every rate
#   --data DIR   folder with documents/manifest.json and faces/pairs.csv [../shared/testdata]
#   --mistakes   lists every input that was judged wrongly
#   --json FILE  also writes the figures as JSON
set -euo pipefail
cd "$(dirname "$0")/.."
swift build -c release --product inspectd >&2
exec python3 Tests/score.py --inspectd .build/release/inspectd "$@"
