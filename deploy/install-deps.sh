#!/usr/bin/env bash
# Installs what inspectd builds and runs with on Debian 12, then the face models.
# Safe to run again: it asks dpkg first and does not run apt when nothing is missing.
# Run as root or as a user who may use sudo. The Swift toolchain is not in Debian: install it from swift.org.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

packages=(
    # What a Swift toolchain from swift.org needs to run and to link C++ targets.
    ca-certificates g++ git libedit2 libncurses6 libsqlite3-0 libxml2 pkg-config tzdata zlib1g-dev
    # The queue, and the server that the demo and the tests run privately.
    postgresql-15 postgresql-contrib libpq-dev
    # Callbacks, signatures, TLS, the analyzer's system-call filter.
    libcurl4-openssl-dev libssl-dev libseccomp-dev
    # Checks the schema's functions in the tests.
    postgresql-15-plpgsql-check
    # Creates the tests' chip files.
    openssl
    # Analysis. The serial OpenBLAS: every analyzer is one thread, and the reference BLAS is 15 times slower.
    libdlib-dev libopencv-calib3d-dev libopencv-core-dev libopencv-dnn-dev libopencv-imgproc-dev
    libzxing-dev
    libopenblas-serial-dev libopenblas0-serial
    # Reads lines of text beside the product in the tests.
    libtesseract-dev tesseract-ocr-eng
    # Image formats.
    libde265-dev libjpeg-dev libopenjp2-7-dev libpng-dev libqpdf-dev libwebp-dev
    # Rendering the specimens, receiving callbacks, fetching the models.
    fonts-dejavu-core fonts-dejavu-extra fonts-ocr-b libheif-examples python3 python3-numpy python3-pil python3-pip zint
    # The fault suite: a pooler, a clock that jumps, another client library.
    libfaketime pgbouncer python3-psycopg2
    # Headers of PKCS#11, and for the tests a token in software; the other side of the published sealing format.
    libp11-kit-dev opensc softhsm2
    python3-cryptography
    # Encrypts parts as clients do.
    python3-jwcrypto
    # The deployment's checks: promtool, a seccomp filter like a unit's, networks of their own.
    iproute2 prometheus python3-seccomp python3-venv systemd
    # Languages of the pages in deploy/clients/ and of the examples that verify a callback; the first also serves HTTP/2 to the tests.
    jq nodejs php-cli php-curl
    # The browsers in which the page of a link that captures is tried.
    chromium firefox-esr
    # Checks C and C++ against .clang-format.
    clang-format
    # For the scripts: runuser and setsid, ps; and the linter that checks them.
    curl procps shellcheck util-linux
)

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

if ! command -v swift >/dev/null; then
    echo "install-deps: no swift on the PATH; install a Swift 6 toolchain from https://swift.org/install" >&2
    exit 1
fi

if [ "${1-}" != --no-models ]; then
    "$here/install-models.sh"
fi
