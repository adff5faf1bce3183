#!/usr/bin/env bash
# The package's services under a systemd that has booted: nothing starts without settings, and enabled services run and end with the package.
# Run by Tests/package.sh --boot as a unit of a container, in a root without the package; it changes the machine that it runs on.
#
# Usage: package-host.sh FOLDER     with the packages; writes "pass" if all is as described
set -euo pipefail
[ "$(systemd-detect-virt --container)" = systemd-nspawn ] || { echo "package-host: only in the container of Tests/package.sh" >&2; exit 2; }
export DEBIAN_FRONTEND=noninteractive
folder=$1

of() { systemctl show --value -p "$2" "inspectd-$1"; }
wrong() {
    echo "package-host: $*" >&2
    journalctl -u 'inspectd-*' --no-pager -o cat >&2
    exit 1
}

apt-get -q -y --no-install-recommends install "$folder"/*.deb >&2
for unit in worker gateway console migrate; do
    [ "$(of "$unit" ActiveState)" = inactive ] && [ "$(of "$unit" UnitFileState)" != enabled ] || wrong "$unit was started or enabled"
    systemctl start "inspectd-$unit"
    [ "$(of "$unit" ConditionResult)" = no ] && [ "$(of "$unit" ActiveState)" = inactive ] || wrong "$unit runs or failed without its settings"
done
for unit in worker migrate; do echo 'INSPECTD_DATABASE_URL=postgresql://inspectd@/inspectd?host=/nowhere' >>"/etc/inspectd/$unit.env"; done
systemctl enable --now inspectd-worker
for _ in $(seq 300); do
    if journalctl -u inspectd-worker --no-pager -o cat | grep -q 'waiting for the database'; then break; fi
    sleep 0.1
done
[ "$(of worker ActiveState)" = active ] || wrong "the worker does not wait for its database"
if systemctl start inspectd-migrate; then wrong "the migration found a database"; fi
[ "$(of migrate User)" = inspectd ] || wrong "the migration ran as $(of migrate User)"
systemctl reset-failed inspectd-migrate
apt-get -q -y remove inspectd >&2
[ "$(systemctl is-active inspectd-worker)" = inactive ] || wrong "the worker outlived its package"
apt-get -q -y purge inspectd inspectd-models >&2
[ ! -L /etc/systemd/system/multi-user.target.wants/inspectd-worker.service ] && [ ! -e /etc/inspectd ] || wrong "settings are left"
echo pass
