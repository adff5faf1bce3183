#!/usr/bin/env bash
# Writes a CycloneDX 1.5 SBOM of a built inspectd as JSON: the Debian package and the SHA-256 of every library that it is linked with or
# loads later, what is linked statically, and every model with its source. The same program on the same machine gives the same bytes.
#
# Usage: deploy/sbom.sh PROGRAM > FILE     models come from ${INSPECTD_MODELS:-/usr/local/share/inspectd/models}
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 1 ] && [ -x "$1" ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
exec /usr/bin/python3 "$here/sbom.py" "$1" "${INSPECTD_MODELS:-/usr/local/share/inspectd/models}"
