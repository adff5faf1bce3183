#!/usr/bin/env bash
# Installs what inspectd builds and runs with on Debian 12, then the face models. Before it installs anything, it looks at the
# distribution and, for the groups that build, at the Swift toolchain, which is not in Debian: install it from swift.org.
#
# Usage: deploy/install-deps.sh [--run] [--build] [--test] [--no-models]     without a group: all three
#   --run        the libraries that the program is linked with and loads, and the models
#   --build      what compiles it
#   --test       what the demo and the tests run beside it: PostgreSQL, browsers, checkers
#   --no-models  packages only
# Safe to run again: it asks dpkg first and does not run apt when nothing is missing. As root or as a user who may use sudo.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

groups=()
models=yes
for option in "$@"; do
    case $option in
    --run | --build | --test) groups+=("${option#--}") ;;
    --no-models) models= ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done
[ "${#groups[@]}" -gt 0 ] || groups=(run build test)
chosen() { [[ " ${groups[*]} " == *" $1 "* ]]; }

run=(
    # Callbacks, signatures, TLS, the analyzer's system-call filter, the queue.
    ca-certificates libcurl4 libpq5 libseccomp2 libssl3
    # Analysis. The serial OpenBLAS: every analyzer is one thread, and the reference BLAS is 15 times slower.
    libopenblas0-serial libopencv-dnn406 libopencv-imgproc406 libzxing2
    # Image formats.
    libde265-0 libjpeg62-turbo libopenjp2-7 libpng16-16 libqpdf29 libwebp7
    # Fetches the models.
    python3 python3-pip
)
build=(
    # What a Swift toolchain from swift.org needs to run and to link C++ targets.
    ca-certificates g++ git libedit2 libncurses6 libsqlite3-0 libxml2 pkg-config tzdata zlib1g-dev
    # The queue. Callbacks, signatures, TLS, the analyzer's system-call filter. Headers of PKCS#11.
    libcurl4-openssl-dev libp11-kit-dev libpq-dev libseccomp-dev libssl-dev
    # Analysis.
    libdlib-dev libopenblas-serial-dev libopencv-calib3d-dev libopencv-core-dev libopencv-dnn-dev libopencv-imgproc-dev libzxing-dev
    # Image formats.
    libde265-dev libjpeg-dev libopenjp2-7-dev libpng-dev libqpdf-dev libwebp-dev
    # Packages of Debian, and the SBOM.
    dpkg-dev python3
)
test=(
    # The server that the demo and the tests run privately.
    postgresql-15 postgresql-contrib
    # Checks the schema's functions in the tests.
    postgresql-15-plpgsql-check
    # Creates the tests' chip files.
    openssl
    # Reads lines of text beside the product in the tests.
    libtesseract-dev tesseract-ocr-eng
    # Rendering the specimens, receiving callbacks.
    fonts-dejavu-core fonts-dejavu-extra fonts-ocr-b libheif-examples python3 python3-numpy python3-pil python3-pip zint
    # The fault suite: a pooler, a clock that jumps, another client library.
    libfaketime pgbouncer python3-psycopg2
    # For the tests a PKCS#11 token in software; the other side of the published sealing format.
    opensc softhsm2
    python3-cryptography
    # Encrypts parts as clients do.
    python3-jwcrypto
    # The deployment's checks: promtool, a seccomp filter like a unit's, networks of their own, a minimal Debian for the package.
    iproute2 mmdebstrap prometheus python3-seccomp python3-venv systemd
    # Languages of the pages in deploy/clients/ and of the examples that verify a callback; the first also serves HTTP/2 to the tests.
    jq nodejs php-cli php-curl
    # The browsers in which the page of a capture link is tried.
    chromium firefox-esr
    # Checks C and C++ against .clang-format.
    clang-format
    # For the scripts: runuser and setsid, ps; and the linter that checks them.
    curl procps shellcheck util-linux
)
packages=()
if chosen run; then packages+=("${run[@]}"); fi
if chosen build; then packages+=("${build[@]}"); fi
if chosen test; then packages+=("${test[@]}"); fi
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

# Before anything is installed: packages of these names are in no other release.
distribution=$(. /etc/os-release && echo "${ID-} ${VERSION_ID-}, ${PRETTY_NAME-}")
case $distribution in
"debian 12,"*) ;;
*)
    echo "install-deps: needs Debian 12, and this is ${distribution#*, }; nothing was installed." >&2
    echo "install-deps: elsewhere, work in a container: deploy/container/Containerfile runs it, .devcontainer/ builds and tests it" >&2
    exit 1
    ;;
esac
# The toolchain's version is at least 6.1. It cannot print it while libraries of its own are missing, which are among the packages.
toolchain() {
    local found scrap
    if ! command -v swift >/dev/null; then
        echo "install-deps: no swift on the PATH; install Swift 6.1 or newer for Debian 12 from https://swift.org/install" >&2
        return 1
    fi
    # It leaves a temporary folder behind.
    scrap=$(mktemp -d)
    found=$(TMPDIR=$scrap swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p') || true
    rm -rf "$scrap"
    if [ -z "$found" ]; then
        [ "$1" = before ] || echo "install-deps: 'swift --version' fails; install Swift 6.1 or newer for Debian 12 from https://swift.org/install" >&2
        [ "$1" = before ]
    elif [ "$(printf '%s\n' 6.1 "$found" | sort -V | head -n 1)" != 6.1 ]; then
        echo "install-deps: needs Swift 6.1 or newer, and $(command -v swift) is $found: https://swift.org/install" >&2
        return 1
    fi
}
if chosen build || chosen test; then
    toolchain before || { echo "install-deps: nothing was installed" >&2; exit 1; }
fi

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@" || {
            echo "install-deps: sudo refused '$*'; run deploy/install-deps.sh as root once" >&2
            return 1
        }
    else
        echo "install-deps: needs root for '$*', and sudo is not installed" >&2
        return 1
    fi
}

missing=()
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
    grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done

if [ "${#missing[@]}" -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "install-deps: needs root for apt-get, and sudo is not installed; missing: ${missing[*]}" >&2
        exit 1
    fi
    echo "install-deps: installing ${missing[*]}" >&2
    # Debian's package would create and start a cluster that nothing here uses; the setting applies to this call only.
    quiet_cluster=/etc/postgresql-common/createcluster.d/inspectd-install.conf
    if [[ " ${missing[*]} " == *" postgresql-15 "* ]]; then
        trap 'as_root rm -f "$quiet_cluster"' EXIT
        as_root mkdir -p "${quiet_cluster%/*}"
        echo 'create_main_cluster = false' | as_root tee "$quiet_cluster" >/dev/null
    fi
    log=$(mktemp)
    if ! {
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
                -o DPkg::Lock::Timeout=300 install "${missing[@]}"
    } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "install-deps: apt-get failed (whole log: $log)" >&2
        exit 1
    fi
    rm -f "$log"
    # Debian's packages start a pooler and a Prometheus, which nothing here uses.
    for service in pgbouncer prometheus; do
        if [[ " ${missing[*]} " == *" $service "* ]]; then
            as_root service "$service" stop >/dev/null 2>&1 || true
            as_root update-rc.d "$service" disable >/dev/null 2>&1 || true
        fi
    done
fi

# A machine that already had another BLAS may have it selected by hand.
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
for library in libblas.so.3 liblapack.so.3; do
    if [[ "$(readlink -f "/usr/lib/$multiarch/$library")" != *openblas* ]]; then
        as_root update-alternatives --quiet --set "$library-$multiarch" \
            "/usr/lib/$multiarch/openblas-serial/$library"
    fi
done

if chosen build || chosen test; then toolchain after; fi

if [ -n "$models" ] && chosen run; then
    "$here/install-models.sh"
fi
