#!/usr/bin/env bash
# Makes what compose.yaml mounts: passwords, logins, a wrapping key, and a certificate for localhost that browsers and clients do not trust.
# Replace certificate and certificate-key by your own, and console-client by the client's secret at your provider.
#
# Usage: deploy/compose-secrets.sh [DIR]     DIR: deploy/secrets by default, which must not exist; as root, for the containers' accounts
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/secrets}
case $folder in -*) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;; esac
[ ! -e "$folder" ] || { echo "compose-secrets: $folder exists; a new wrapping key would open nothing of what is stored" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "compose-secrets: takes root, for the files belong to the containers' accounts" >&2; exit 1; }
umask 077
mkdir -p "$folder"
cd "$folder"

random() { openssl rand -hex 24; }
random >database-password
random >keys-password
random >console-client
{
    echo "ALTER DATABASE inspectd SET jit = off;"
    echo "CREATE ROLE inspectd LOGIN;"
    echo "ALTER DATABASE inspectd OWNER TO inspectd;"
} >database-logins.sql
{
    # Keys stay out of the server's log.
    echo "ALTER DATABASE inspectd_keys SET log_parameter_max_length = 0;"
    echo "ALTER DATABASE inspectd_keys SET log_parameter_max_length_on_error = 0;"
    echo "CREATE ROLE inspectd LOGIN;"
    echo "ALTER DATABASE inspectd_keys OWNER TO inspectd;"
} >keys-logins.sql
# FILE ROLE GROUPS-OF-THE-DATABASE GROUPS-OF-THE-KEY-STORE
login() {
    local password
    password=$(random)
    echo "*:*:*:$2:$password" >"$1"
    if [ -n "$3" ]; then
        echo "CREATE ROLE $2 LOGIN IN ROLE $3;" >>database-logins.sql
        echo "CREATE ROLE $2 LOGIN IN ROLE $4;" >>keys-logins.sql
    fi
    echo "ALTER ROLE $2 PASSWORD '$password';" | tee -a database-logins.sql >>keys-logins.sql
}
login owner inspectd "" ""
login worker worker insp_worker "keys_custodian, keys_eraser"
login gateway gateway insp_gateway keys_custodian
login console console insp_console keys_custodian
# KEDA's, on Kubernetes (scaling.yaml): it counts jobs, and is nobody at the key store.
scaler=$(random)
echo "*:*:*:scaler:$scaler" >scaler
echo "CREATE ROLE scaler LOGIN IN ROLE insp_auditor PASSWORD '$scaler';" >>database-logins.sql
# What `inspectd keys make` writes: a name and 32 bytes.
echo "$(date +%Y-%m-%d)-$(openssl rand -hex 2) $(openssl rand -hex 32)" >wrapping-keys
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -out certificate -keyout certificate-key 2>/dev/null

# The accounts of the images: inspectd's, and PostgreSQL's. libpq refuses a password's file that others may read.
chmod 400 ./*
chown 65532:65532 ./*
chown 999:999 database-password keys-password database-logins.sql keys-logins.sql
chmod 711 .
echo "$folder"
