#!/usr/bin/env bash
# Gathers what inspectd needs at run time in a folder that can be a container's or a chroot's root.
#
# Usage: closure.sh PROGRAM FOLDER     models come from ${INSPECTD_MODELS:-/usr/local/share/inspectd/models}
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
program=$1
root=$2
models=${INSPECTD_MODELS:-/usr/local/share/inspectd/models}

mkdir -p "$root"/{usr/local/bin,usr/local/share/inspectd,etc/ssl/certs,tmp,proc,dev}
chmod 1777 "$root/tmp"
install -m 755 "$program" "$root/usr/local/bin/inspectd"

# Libraries come from the system's folders alone, not from where the program was built.
if readelf -d "$program" | grep -qE 'R(UN)?PATH'; then
    echo "closure: the program names folders of its own to take libraries from; --static-swift-stdlib --disable-local-rpath leave them out" >&2
fi

# Each library under the name that the loader looks for. A program of another build may bring libraries beside itself.
missing=$(ldd "$program" | sed -n 's/^\s*\(\S*\) => not found.*/\1/p')
[ -z "$missing" ] || { echo "closure: not found: $missing" >&2; exit 1; }
# Debian keeps /lib and /lib64 as links into /usr.
for link in lib lib64; do
    if [ -L "/$link" ]; then mkdir -p "$root/usr/$link" && ln -sfn "usr/$link" "$root/$link"; fi
done
# Those that the program loads at their first use are not known to ldd.
late=()
for name in libopencv_dnn.so.406 libqpdf.so.29; do
    library=$(ldconfig -p | sed -nE "s/^\s*${name//./\\.} .* => (.*)/\1/p" | head -n 1)
    [ -n "$library" ] || { echo "closure: not found: $name" >&2; exit 1; }
    late+=("$library")
done
{
    printf '%s\n' "${late[@]}"
    ldd "$program" "${late[@]}" | sed -nE 's/^\s*(\S+ => )?(\/\S+) .*/\2/p'
} | sort -u | while read -r library; do
    case $library in
    # The toolchain's runtime, if it was not linked statically: where the program's own path leads.
    */usr/lib/swift/linux/*) install -D -m 755 "$library" "$root/usr/local/lib/${library##*/}" ;;
    *)
        # Under its own name, with the links that lead there: only its path shows which BLAS it is.
        real=$(readlink -f "$library")
        install -D -m 755 "$real" "$root$real"
        mkdir -p "$root$(dirname "$library")"
        [ "$root$library" -ef "$root$real" ] || ln -sfn "$real" "$root$library"
        ;;
    esac
done
# What scanners look for in an image without a package manager: each package's entry, and which Debian it is.
mkdir -p "$root/var/lib/dpkg/status.d"
"$here/../sbom.sh" "$program" >"$root/usr/local/share/inspectd/sbom.json"
sed -nE 's/^ +"purl": "pkg:deb\/debian\/([^@]+)@.*/\1/p' "$root/usr/local/share/inspectd/sbom.json" | sed "s/%2B/+/g" | sort -u | while read -r package; do
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
    install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
install -D -m 644 /etc/os-release "$root/etc/os-release"
# The loader's own order of folders.
printf '%s\n' /usr/local/lib "/usr/lib/$(gcc -print-multiarch)" "/lib/$(gcc -print-multiarch)" >"$root/etc/ld.so.conf"
ldconfig -r "$root"

install -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
printf 'inspectd:x:65532:65532::/nonexistent:/nonexistent\n' >"$root/etc/passwd"
printf 'inspectd:x:65532:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
cp -r "$models" "$root/usr/local/share/inspectd/models"
cp -r "$here/../../Migrations" "$root/usr/local/share/inspectd/Migrations"
