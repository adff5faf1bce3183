#!/usr/bin/env bash
# The life of the Debian package in a clean root: deploy/package.sh packs a built program; apt installs an older package on a minimal Debian 12
# and finds its dependencies; the program inspects a passport with a real database; the package is upgraded, removed and purged. In the end
# nothing is left but what deploy/DEPLOYING.md ("Package") names.
#
# The older package is made of the tree's: it has an older version and says so, its program, a function of its schema and a guide have other
# names or are gone since, and its settings read otherwise. So the upgrade shows which files go and come, what becomes of settings that an
# administrator has changed or has not, and that the migration of the new package brings the schema up to date under waiting jobs. The program
# itself is the tree's, for it needs the tree's schema: how released programs go on is for Tests/freeze.sh to show.
#
# Usage: Tests/package.sh --bin DIR [--boot]     as root, with mmdebstrap and a network; about a minute, the first time two
#   --bin DIR    the folder with inspectd
#   --boot       the services under a systemd that boots, too; needs systemd-container
#
# The minimal Debian and what apt fetched are kept in .build/package-root for a week. Nothing is mounted but in namespaces that end with
# each command. Prints one JSON line; exit status 0 if all is as described, 3 where this machine does not allow it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh
bin='' boot=''
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=$(cd "${2:?--bin needs a folder}" && pwd); shift 2 ;;
    --boot) boot=yes; shift ;;
    *) bin=''; break ;;
    esac
done
[ -n "$bin" ] || { sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# A disk takes as long as everything else together, and all of it is thrown away.
if [ "$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 4000 ] && ! grep -E '^\S+ /dev/shm .*\b(noexec|nodev)\b' /proc/mounts >/dev/null; then
    export TMPDIR=/dev/shm
fi
begin package
export LC_ALL=C
if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null || ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "package: needs root, mmdebstrap and namespaces; nothing was tried" >&2
    exit 3
fi
if [ -n "$boot" ] && ! command -v systemd-nspawn >/dev/null; then
    echo "package: --boot needs systemd-container; nothing was tried" >&2
    exit 3
fi
wrong() {
    echo "package: $*" >&2
    exit 1
}

say "packages of an older version and of the tree"
# Not compressed: they live for a minute.
export DPKG_DEB_COMPRESSOR_TYPE=none
pack() { quietly "deploy/package.sh" deploy/package.sh --program "$bin/inspectd" --out "$scratch/packages" "$@"; }
release=$("$bin/inspectd" --version | sed 's/.* //; s/-dev$//')
pack --version "$release~0"
pack
mapfile -t packages < <(find "$scratch/packages" -name 'inspectd_*.deb' -printf '%P\n' | grep -vF "_$release~0_")
old=$(cd "$scratch/packages" && echo "inspectd_$release~0_"*.deb)
new=${packages[0]}
[ "${#packages[@]}" -eq 1 ] || wrong "one package of the tree was expected, not ${packages[*]-none}"
version() { dpkg-deb -f "$scratch/packages/$1" Version; }
dpkg --compare-versions "$(version "$old")" lt "$(version "$new")" || wrong "the tree's version $(version "$new") is not newer"
dpkg --compare-versions "$(version "$new")" le "$release" || wrong "the tree's version $(version "$new") is newer than its release"
cmp <(ar p "$scratch/packages/$old" data.tar) <(ar p "$scratch/packages/$new" data.tar) || wrong "the same files gave other bytes"

say "the older package made an older one"
older=$scratch/older
dpkg-deb -R "$scratch/packages/$old" "$older"
if [ -L "$older/usr/bin/inspectd" ]; then
    mv "$older/usr/lib/inspectd/inspectd" "$older/usr/lib/inspectd/former"
else
    mkdir -p "$older/usr/lib/inspectd"
    mv "$older/usr/bin/inspectd" "$older/usr/lib/inspectd/former"
fi
rm -f "$older/usr/bin/inspectd"
cat >"$older/usr/bin/inspectd" <<SCRIPT
#!/bin/sh
[ "\$1" != --version ] || { echo "inspectd $release~0"; exit; }
exec /usr/lib/inspectd/former "\$@"
SCRIPT
chmod 755 "$older/usr/bin/inspectd"
functions=$older/usr/share/inspectd/Migrations/functions
cat >"$functions/former.sql" <<'SQL'
CREATE OR REPLACE FUNCTION insp.former() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'older' $$;
COMMENT ON FUNCTION insp.former() IS 'Of an older version';
SQL
# A function that says something else than today's.
changed=functions/metrics
sed -i "/^COMMENT ON FUNCTION insp.depth() IS/,/;/s/'/'Older: /" "$older/usr/share/inspectd/Migrations/$changed.sql"
! cmp -s "Migrations/$changed.sql" "$older/usr/share/inspectd/Migrations/$changed.sql" || wrong "no function is other than the tree's"
echo "Of an older version." >"$older/usr/share/doc/inspectd/FORMER.md"
for unit in worker gateway; do sed -i '1s/^# Settings of/# Settings of an older/' "$older/etc/inspectd/$unit.env"; done
(cd "$older" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort | grep -v ^etc/ | xargs -d '\n' md5sum) >"$older/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$older" "$scratch/packages/$old" >/dev/null
rm -rf "$older"

say "a minimal Debian"
kept=.build/package-root
mkdir -p "$kept/archives/partial" "$kept/lists/partial"
exec 8>"$kept/.lock"
flock 8
find "$kept" -maxdepth 1 -name base.tar -mtime +7 -delete
find "$kept/archives" -name '*.deb' -ctime +7 -delete
if [ ! -s "$kept/base.tar" ]; then
    sources=/etc/apt/sources.list
    [ ! -s /etc/apt/sources.list.d/debian.sources ] || sources=/etc/apt/sources.list.d/debian.sources
    quietly mmdebstrap mmdebstrap --variant=minbase bookworm "$kept/base.new.tar" "$sources"
    mv "$kept/base.new.tar" "$kept/base.tar"
fi
root=$scratch/root
mkdir "$root"
tar -xf "$kept/base.tar" -C "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fast"
mkdir "$root/packages"
start_postgres
socket=$(sed 's/.*host=\([^&]*\).*/\1/' <<<"$INSPECTD_DATABASE_URL")
chmod o+x "$socket"
mkdir "$root/run/database"
url=${INSPECTD_DATABASE_URL/"$socket"//run/database}
inputs=$(deploy/inputs.sh)

# Runs a command in the root, with mounts and processes that end with it.
inside() {
    # shellcheck disable=SC2016  # the inner shell's
    unshare --mount --propagation private --pid --fork --kill-child /bin/sh -ec '
        root=$1 kept=$2 packages=$3 socket=$4
        shift 4
        mount -t proc proc "$root/proc"
        mount --bind "$kept/archives" "$root/var/cache/apt/archives"
        mount --bind "$kept/lists" "$root/var/lib/apt/lists"
        mount --bind "$packages" "$root/packages"
        mount --bind "$socket" "$root/run/database"
        exec chroot "$root" "$@"' sh "$root" "$PWD/$kept" "$scratch/packages" "$socket" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        INSPECTD_DATABASE_URL="$url" "$@"
}
account() { inside setpriv --reuid inspectd --regid inspectd --clear-groups "$@"; }
apt() { quietly "apt-get $*" inside apt-get -q -y --no-install-recommends "$@"; }
# Every path but what apt, dpkg and the loader note for themselves.
paths() {
    (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./tmp \) -prune \
        -o -printf '%P\n') | sort
}
installed() { inside dpkg-query -W -f '${db:Status-Abbrev}${Version}' inspectd 2>/dev/null || true; }

apt update
paths >"$scratch/before"
cp "$root/etc/passwd" "$root/etc/group" "$scratch/"

say "install"
apt install "/packages/$old" "/packages/$(cd "$scratch/packages" && echo inspectd-models_*.deb)"
[ "$(installed)" = "ii $(version "$old")" ] || wrong "after the installation: $(installed)"
grep -q '^inspectd:.*:/nonexistent:/usr/sbin/nologin$' "$root/etc/passwd" || wrong "there is no account that cannot log in"
[ "$(stat -c %a:%U:%G "$root"/etc/inspectd/*.env | sort -u)" = 600:root:root ] || wrong "settings are readable to others"
[ -z "$(find "$root/etc/systemd/system" -name 'inspectd*')" ] || wrong "a service was enabled"
[ "$(account inspectd --version)" = "inspectd $release~0" ] || wrong "the older inspectd --version says something else"
for file in man/man1/inspectd.1.gz bash-completion/completions/inspectd inspectd/sbom.json doc/inspectd/copyright doc/inspectd/DEPLOYING.md; do
    [ -s "$root/usr/share/$file" ] || wrong "/usr/share/$file is missing"
done
inside dpkg --verify inspectd inspectd-models >&2

say "the units of the package"
units=$scratch/units
dpkg-deb -x "$scratch/packages/$new" "$units"
mkdir -p "$units/bin"
cp /usr/lib/systemd/system/*.target "$units/usr/lib/systemd/system/"
ln -s usr/lib "$units/lib"
install -D /usr/bin/test "$units/usr/bin/test"
install /bin/sh "$units/bin/sh"
systemd-analyze verify --root="$units" --man=no "$units"/usr/lib/systemd/system/inspectd-*.service >"$scratch/verify.log" 2>&1 || true
[ ! -s "$scratch/verify.log" ] || { cat "$scratch/verify.log" >&2; wrong "systemd objects to the units"; }
# systemd writes the values of its variables on the command line, which every user may read.
# shellcheck disable=SC2016
if grep -rE '^Exec.*[^$]\$\{?(INSPECTD_|PG)' "$units/usr/lib/systemd/system" >&2; then wrong "a command line shows a database's URL"; fi
rm -rf "$units"

say "a database, doctor, and a job"
account inspectd migrate --roles >/dev/null
account inspectd migrate >/dev/null
account inspectd doctor >"$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; wrong "doctor finds a fault"; }
sql -c "SELECT insp.create_partner('bank')" >/dev/null
install -m 644 "$inputs/specimens/passport.jpg" "$root/tmp/passport.jpg"
id=$(account inspectd enqueue --partner bank --workflow id --front /tmp/passport.jpg)
account inspectd worker --slots 1 --drain 2>"$scratch/worker.log" || { tail -n 5 "$scratch/worker.log" >&2; wrong "the worker failed"; }
[ "$(sql -c "SELECT insp.job_result('$id') #>> '{capabilities,extraction,0,data,mrz,format}'")" = TD3 ] || wrong "the passport was not read"
[ "$(sql -c "SELECT insp.former()")" = older ] || wrong "the older package has not migrated the database"
about() { sql -c "SELECT obj_description('insp.depth()'::regprocedure)"; }
[[ $(about) == Older:* ]] || wrong "insp.depth() is not the older package's"
waiting=$(account inspectd enqueue --partner bank --workflow id --front /tmp/passport.jpg)

say "upgrade"
# What an administrator does: settings, keys, a service that starts with the machine.
echo "INSPECTD_DATABASE_URL=$url" >>"$root/etc/inspectd/worker.env"
install -m 600 /dev/stdin "$root/etc/inspectd/wrapping-keys" <<<"of no use"
link=$root/etc/systemd/system/multi-user.target.wants/inspectd-worker.service
mkdir -p "${link%/*}"
ln -s /usr/lib/systemd/system/inspectd-worker.service "$link"
# Both have changed worker.env: dpkg would ask whose it shall be, and is told to keep the administrator's.
apt -o Dpkg::Options::=--force-confold install "/packages/$new"
[ "$(installed)" = "ii $(version "$new")" ] || wrong "after the upgrade: $(installed)"
grep -q '^INSPECTD_DATABASE_URL=' "$root/etc/inspectd/worker.env" || wrong "the upgrade changed the settings"
[ -L "$link" ] || wrong "the upgrade disabled a service"
[ "$(account inspectd --version)" = "$("$bin/inspectd" --version)" ] || wrong "the upgraded inspectd --version says something else"
for file in lib/inspectd/former share/inspectd/Migrations/functions/former.sql share/doc/inspectd/FORMER.md; do
    [ ! -e "$root/usr/$file" ] || wrong "the upgrade left /usr/$file, which the new package does not have"
done
diff -r Migrations "$root/usr/share/inspectd/Migrations" >&2 || wrong "the migrations are not the tree's"
cmp deploy/debian/gateway.env "$root/etc/inspectd/gateway.env" || wrong "settings that nobody changed are still the older package's"
grep -q '^# Settings of an older' "$root/etc/inspectd/worker.env" || wrong "the settings are not the administrator's"
cmp deploy/debian/worker.env "$root/etc/inspectd/worker.env.dpkg-dist" || wrong "the new settings are not beside the administrator's"
[ "$(stat -c %a:%U:%G "$root"/etc/inspectd/*.env* | sort -u)" = 600:root:root ] || wrong "the upgrade made settings readable to others"
inside dpkg --verify inspectd | grep -v ' c /etc/inspectd/worker.env$' >&2 && wrong "the upgraded package's files are not those that it brought"

say "the new package's migration, and what waited"
if account inspectd doctor >"$scratch/doctor.log"; then wrong "doctor does not see that the migration is still to come"; fi
grep -q "\"check\":\"migrations\".*$changed" "$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; wrong "doctor does not name $changed"; }
account inspectd migrate >"$scratch/migrate.json"
list() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))[sys.argv[2]])' "$scratch/migrate.json" "$1"; }
# And the files after it, which may depend on what it drops.
[[ " $(list applied) " == *" $changed "* ]] || wrong "the migration applied $(list applied), and not $changed"
[ "$(list forgotten)" = functions/former ] || wrong "the migration has forgotten $(list forgotten)"
[ "$(list unknown)" = "function insp.former" ] || wrong "the migration does not know $(list unknown)"
[[ $(about) != Older:* ]] || wrong "insp.depth() is still the older package's"
account inspectd doctor >"$scratch/doctor.log" || { cat "$scratch/doctor.log" >&2; wrong "after the upgrade doctor finds a fault"; }
account inspectd worker --slots 1 --drain 2>"$scratch/worker.log" || { tail -n 5 "$scratch/worker.log" >&2; wrong "the upgraded worker failed"; }
for job in "$id" "$waiting"; do
    [ "$(account inspectd status "$job" --purpose support | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])')" = 128 ] ||
        wrong "the upgraded program has not finished job $job"
done

say "remove"
apt remove inspectd
[ "$(installed)" = "rc $(version "$new")" ] || wrong "after the removal: $(installed)"
[ ! -e "$root/usr/bin/inspectd" ] && [ ! -e "$root/usr/lib/systemd/system/inspectd-worker.service" ] || wrong "the program is still there"
grep -q '^INSPECTD_DATABASE_URL=' "$root/etc/inspectd/worker.env" || wrong "the removal took the settings"

say "purge"
apt purge inspectd inspectd-models
left=$(cd "$root" && find . -xdev -path ./packages -prune -o -path "./var/log" -prune -o -iname '*inspectd*' -print | sort)
[ "$left" = ./etc/inspectd ] || wrong "left behind: $left"
[ "$(ls "$root/etc/inspectd")" = wrapping-keys ] || wrong "left in /etc/inspectd: $(ls "$root/etc/inspectd")"
[ -z "$(sql -c "SELECT 1 WHERE NOT EXISTS (SELECT FROM insp.job)")" ] || wrong "the database lost its job"
cmp "$root/etc/passwd" "$scratch/passwd" && cmp "$root/etc/group" "$scratch/group" || wrong "the account is still there"
rm -r "$root/etc/inspectd" "$root/tmp/passport.jpg"
# Its dependencies may stay, and what they made: links to certificates and to the BLAS, copies of the lists of accounts.
paths >"$scratch/after"
sed -E 's|^/||; s|^lib|usr/lib|' "$root"/var/lib/dpkg/info/*.list | cat - "$scratch/before" | sort -u >"$scratch/known"
left=$(comm -13 "$scratch/known" "$scratch/after" | grep -vE '^(etc/(g?shadow-$|passwd-$|group-$|alternatives|ssl/certs|ca-certificates)|usr/local/share/ca-certificates$|run/adduser$|usr/lib/[^/]+/lib(blas|lapack|openblas)\.so)' || true)
[ -z "$left" ] || wrong "left by no package: $left"

booted=false
if [ -n "$boot" ]; then
    say "the services under systemd"
    apt install systemd dbus
    cp -r "$scratch/packages" Tests/Deployment/package-host.sh "$root/root/"
    rm "$root/root/packages/$old"
    cat >"$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
TimeoutStartSec=300
ExecStart=/root/package-host.sh /root/packages
StandardOutput=file:/root/result
StandardError=file:/root/log
[Install]
WantedBy=graphical.target
UNIT
    inside systemctl enable check >/dev/null 2>&1
    options=()
    if [ ! -d /run/systemd/system ]; then options=(--register=no --keep-unit); fi
    timeout --kill-after=10 400 unshare --mount --propagation private systemd-nspawn --quiet --directory="$root" --boot --private-network \
        --machine="inspectd-$$" ${options[@]+"${options[@]}"} >"$scratch/console.log" 2>&1 &
    remember $!
    wait $! || true
    forget $!
    # nspawn leaves the groups of what it ran, where no systemd looks after them.
    if [ ! -d /run/systemd/system ]; then
        while IFS=: read -r _ controllers path; do
            case $controllers in name=systemd) path=/sys/fs/cgroup/systemd$path ;; "") path=/sys/fs/cgroup/unified$path ;; *) continue ;; esac
            find "$path/payload" "$path/supervisor" -depth -type d -exec rmdir {} + 2>/dev/null || true
        done </proc/self/cgroup
        rmdir "/run/systemd/nspawn/propagate/inspectd-$$" 2>/dev/null || true
    fi
    [ -e "$root/root/log" ] || wrong "systemd does not boot here: $(tail -n 1 "$scratch/console.log")"
    [ "$(cat "$root/root/result")" = pass ] || { tail -n 40 "$root/root/log" >&2; wrong "the services under systemd"; }
    booted=true
fi

printf '{"result":"pass","version":"%s","dependencies":%d,"booted":%s,"seconds":%d}\n' "$(version "$new")" \
    "$(dpkg-deb -f "$scratch/packages/$new" Depends | tr ',' '\n' | wc -l)" "$booted" "$SECONDS"
