#!/usr/bin/env bash
# Shows inspectd at work: real images through a real PostgreSQL queue, real analysis, signed callbacks.
#
# Installs what is missing, builds, starts a private PostgreSQL, a callback receiver and a worker, enqueues jobs by
# SQL and by command, shows their status rising to 128 and the callbacks arriving, and ends with a table. Leaves nothing
# running. Exit status 0 only if every job ended as it should and every callback arrived with a valid signature.
#
# Usage: deploy/demo.sh [--front FILE [--back FILE] [--face FILE] [--workflow W]] [--console] [--program FILE]
#   your own images become one more job; its decision is shown but not checked
#   --console       at the end, the console and a capture link are open until Enter or Ctrl-C, or the end of standard input
#   --program FILE  a program that is built already
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

own=()
console=
inspectd=
while [ "$#" -gt 0 ]; do
    case "$1" in
    --front | --back | --face)
        [ -r "${2-}" ] || { echo "demo: $1 needs a file that can be read" >&2; exit 2; }
        own+=("$1" "$2")
        shift 2
        ;;
    --workflow)
        [ -n "${2-}" ] || { echo "demo: --workflow needs a name" >&2; exit 2; }
        own+=("$1" "$2")
        shift 2
        ;;
    --console) console=yes; shift ;;
    --program)
        [ -x "${2-}" ] || { echo "demo: --program needs a program" >&2; exit 2; }
        inspectd=$(realpath "$2")
        shift 2
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done

# `begin` closes standard input.
exec 3<&0
begin demo
say "installing what is missing"
deploy/install-deps.sh
say "preparing images"
inputs=$(deploy/inputs.sh)
specimens=$inputs/specimens
faces=$inputs/faces
if [ -z "$inspectd" ]; then
    say "building (minutes the first time)"
    quietly "the build" swift build -c release --product inspectd
    inspectd=$(swift build -c release --show-bin-path)/inspectd
fi

say "starting a private PostgreSQL, with a second database for the keys that seal what is stored"
start_postgres
sql -c "CREATE DATABASE inspectd_keys"
export INSPECTD_KEYS_URL=${INSPECTD_DATABASE_URL/\/postgres\?/\/inspectd_keys\?} INSPECTD_WRAPPING_KEYS=file:$scratch/wrapping-keys
quietly "the roles" "$inspectd" migrate --roles
quietly "the migration" "$inspectd" migrate

receiver_log=$scratch/callbacks.jsonl
: >"$receiver_log"
secret=whsec_$(head -c 32 /dev/urandom | base64 -w0)
/usr/bin/python3 deploy/callback-receiver.py --port-file "$scratch/port" --secret "$secret" --log "$receiver_log" \
    --files "$specimens" &
remember $!
await_file "$scratch/port" $! 10 || { say "the callback receiver did not start"; exit 1; }
receiver=http://127.0.0.1:$(cat "$scratch/port")
say "the callback receiver listens on $receiver"

# A partner whose endpoint allows plain HTTP to this machine, which only a demonstration should.
sql -v url="$receiver/ok" -v secret="$secret" <<'SQL'
SELECT FROM insp.create_partner('demo', :'url', p_allow_http => true, p_allow_private => true);
SELECT FROM insp.endpoint e, insp.callback_rotate_secret(e.id, '0', :'secret');
-- What this script expects of each job: a pattern for the outcome, empty where nothing is judged.
CREATE TABLE public.demo_job (n int GENERATED ALWAYS AS IDENTITY, name text, id uuid, expected text,
    shown smallint DEFAULT 0, called boolean DEFAULT false);
SQL

note_job() {
    sql -v name="$1" -v expected="$2" -v id="$3" \
        <<<"INSERT INTO public.demo_job (name, expected, id) VALUES (:'name', :'expected', :'id')"
}

# By command: name, expected outcome, then the options of `inspectd enqueue`.
enqueue() {
    local name=$1 expected=$2 id
    shift 2
    id=$("$inspectd" enqueue --partner demo "$@")
    note_job "$name" "$expected" "$id"
}

# By SQL, as any client would in its own transaction: name, expected outcome, payload, front, and back or nothing.
enqueue_sql() {
    local id
    id=$(
        FRONT=$4 BACK=${5-} sql -v payload="$3" <<'SQL'
\set front `base64 -w0 "$FRONT"`
\set back `[ -z "$BACK" ] || base64 -w0 "$BACK"`
SELECT insp.enqueue(
    :'payload', front => decode(:'front', 'base64'), back => nullif(decode(:'back', 'base64'), ''::bytea));
SQL
    )
    note_job "$1" "$2" "$id"
}

say "enqueuing"
enqueue "passport and its holder" "^(PASSED|WARNING liveness [A-Z_]+)\$" \
    --workflow id_identity --front "$specimens/passport.jpg" --face "$faces/obama2.jpg"
enqueue "passport and another person" "^REJECTED similarity" \
    --workflow id_identity --front "$specimens/passport.jpg" --face "$faces/biden.jpg"
# The back stays where it is: the job carries its address and its digest.
digest=$(sha256sum "$specimens/id_back.jpg" | cut -d' ' -f1)
enqueue_sql "identity card, back by URL" "^PASSED" "$(
    printf '{"partner": "demo", "workflow": "id", "documentFormat": "TD1",
        "parts": {"BACK": {"url": "%s", "sha256": "%s"}}}' \
        "$receiver/image?file=id_back.jpg" "$digest"
)" "$specimens/id_front.jpg"
enqueue_sql "licence with PDF417" "^PASSED" '{"partner": "demo", "workflow": "id"}' \
    "$specimens/licence_front.jpg" "$specimens/licence_back.jpg"
id='{"partner": "demo", "workflow": "id"}'
enqueue_sql "blurred passport" "^REJECTED.* 2001" "$id" "$specimens/blurred.jpg"
enqueue_sql "glare on the passport" "^REJECTED.* 2006" "$id" "$specimens/glare.jpg"
enqueue_sql "copy in black and white" "^REJECTED.* 102" "$id" "$specimens/black_white.jpg"
enqueue_sql "a landscape" "^REJECTED.* 201" "$id" "$specimens/landscape.jpg"
enqueue_sql "torn JPEG" "^NOT_EXECUTED.* CORRUPT_IMAGE" "$id" "$specimens/torn.jpg"
enqueue_sql "PNG of 30,000 x 30,000" "^NOT_EXECUTED.* TOO_MANY_PIXELS" "$id" "$specimens/bomb.png"
if [ "${#own[@]}" -gt 0 ]; then enqueue "your images" "" "${own[@]}"; fi
jobs=$(sql -c 'SELECT count(*) FROM public.demo_job')

say "$jobs jobs are in the queue"

"$inspectd" worker >"$scratch/worker.log" 2>&1 &
worker=$!
remember "$worker"
say "the worker is started, pid $worker; status as it rises:"
deadline=$((SECONDS + 180))
while true; do
    news=$(
        sql <<'SQL'
WITH risen AS (
    UPDATE public.demo_job d SET shown = j.status FROM insp.job j
    WHERE j.public_id = d.id AND j.status > d.shown
    RETURNING d.n, d.name, d.shown
), called AS (
    UPDATE public.demo_job d SET called = true FROM insp.job j JOIN insp.v_callback c ON c.job_id = j.id
    WHERE j.public_id = d.id AND c.state = 'delivered' AND NOT d.called
    RETURNING d.n, d.name, c.last_http_status
)
(SELECT format('      %-28s %3s %s', name, shown, (ARRAY['QUEUED', 'STARTED', 'ACQUIRED', 'DOCUMENT', 'FACE',
    'LIVENESS', 'DECIDED', 'FINISHED'])[1 + log(2, shown)::int]) FROM risen ORDER BY n)
UNION ALL (SELECT format('      %-28s     callback delivered, HTTP %s', name, last_http_status) FROM called ORDER BY n);
SELECT count(*) FROM public.demo_job WHERE NOT called;
SQL
    )
    waiting=${news##*$'\n'}
    [ "$news" = "$waiting" ] || printf '%s\n' "${news%$'\n'*}" >&2
    [ "$waiting" -gt 0 ] || break
    if [ "$SECONDS" -ge "$deadline" ] || [ ! -d "/proc/$worker" ]; then
        say "$waiting jobs are not finished or their callbacks not delivered; the worker's last words:"
        tail -n 20 "$scratch/worker.log" >&2
        break
    fi
    sleep 0.2
done

# The receiver's log beside the database's view.
sql -c 'CREATE TABLE public.received (line jsonb)'
# One JSON document a line: neither a quote nor a delimiter occurs in it.
sql -c "\\copy public.received FROM '$receiver_log' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')"
# What is sealed in the database, opened with the key.
for id in $(sql -c "SELECT id FROM public.demo_job ORDER BY n"); do "$inspectd" status "$id"; done >"$scratch/results.jsonl"
sql -c 'CREATE TABLE public.demo_result (doc jsonb)'
sql -c "\\copy public.demo_result FROM '$scratch/results.jsonl' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')"
psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$INSPECTD_DATABASE_URL" <<'SQL'
CREATE VIEW public.demo_outcome AS
SELECT d.n, d.name, r.doc #>> '{workflow,key}' AS workflow, d.expected, j.status,
    concat_ws(' ', 1, CASE WHEN j.started_at IS NOT NULL THEN 2 END,
        (SELECT string_agg(s.status::text, ' ' ORDER BY s.status) FROM insp.step s WHERE s.job_id = j.id)) AS trail,
    -- The decision, which capabilities it comes from, the codes of its reasons.
    concat_ws(' ', r.doc #>> '{decision,type}', r.doc #>> '{error,code}',
        (SELECT string_agg(concat_ws(' ', k.key, x #>> '{decision,details,label}'), ', ')
         FROM jsonb_each(r.doc -> 'capabilities') k, jsonb_array_elements(k.value) x
         WHERE x #>> '{decision,type}' = r.doc #>> '{decision,type}'
            AND x #>> '{decision,type}' IN ('REJECTED', 'WARNING')),
        (SELECT string_agg(x ->> 'code', ', ')
         FROM jsonb_array_elements(r.doc -> 'rejectReasons') x)) AS outcome,
    round(1000 * extract(epoch FROM j.completed_at - j.started_at)) AS ms,
    coalesce(c.state, 'none') AS callback,
    (SELECT count(*) FROM public.received x WHERE (x.line ->> 'body')::jsonb #>> '{data,id}' = d.id::text
        AND (x.line ->> 'verified')::boolean AND (x.line ->> 'timestampOk')::boolean) AS verified,
    (SELECT count(*) FROM public.received x WHERE (x.line ->> 'body')::jsonb #>> '{data,id}' = d.id::text) AS calls
FROM public.demo_job d JOIN insp.job j ON j.public_id = d.id
    LEFT JOIN insp.v_callback c ON c.job_id = j.id JOIN public.demo_result r ON r.doc ->> 'id' = d.id::text;
\echo
SELECT name AS job, workflow, trail AS "status trail", outcome AS decision, ms AS milliseconds,
    callback || CASE WHEN calls > 0 AND verified = calls THEN ', verified' ELSE ', NOT VERIFIED' END AS callback,
    CASE WHEN expected = '' THEN '' WHEN outcome ~ expected THEN 'as expected' ELSE 'expected ' || expected END
        AS judgement
FROM public.demo_outcome ORDER BY n;
\echo What was read and compared:
SELECT d.name AS job, x ->> 'documentNumber' AS number, concat_ws(' ', x ->> 'firstName', x ->> 'lastName') AS name,
    coalesce(nullif(array_to_string(ARRAY(SELECT jsonb_array_elements_text(x #> '{mrz,lines}')), e'\n'), ''),
        x #>> '{barcode,format}') AS "machine-readable",
    round((s ->> 'similarity')::numeric, 4) AS similarity, s ->> 'threshold' AS threshold
FROM public.demo_job d JOIN public.demo_result r ON r.doc ->> 'id' = d.id::text,
    LATERAL (SELECT doc #> '{capabilities,extraction,0,data}' AS x, doc #> '{capabilities,similarity,0,data}' AS s) y
WHERE x ? 'documentNumber' OR s ? 'similarity' ORDER BY d.n;
SQL
wrong=$(sql -c "SELECT $jobs - count(*) FROM public.demo_outcome
    WHERE status = 128 AND outcome ~ expected AND callback = 'delivered' AND calls > 0 AND verified = calls")
if [ "$wrong" -ne 0 ]; then
    say "$wrong of $jobs jobs did not end as they should"
    exit 1
fi
say "$jobs jobs at 128, every callback delivered and verified"

[ -n "$console" ] || exit 0

# What a pattern captures in the first line of a file that has it, for up to a minute while the process lives.
await_text() {
    local found='' _
    for _ in $(seq 600); do
        found=$(sed -n "s/.*$2.*/\\1/p" "$1" | head -n 1)
        if [ -n "$found" ]; then
            echo "$found"
            return 0
        fi
        [ -d "/proc/$3" ] || break
        sleep 0.1
    done
    tail -n 5 "$1" >&2
    return 1
}

say "one more job, which waits for a reviewer; the gateway; the console"
FRONT=$specimens/passport.jpg FACE=$faces/obama2.jpg sql <<'SQL'
\set front `base64 -w0 "$FRONT"`
\set face `base64 -w0 "$FACE"`
SELECT FROM insp.enqueue('{"partner": "demo", "workflow": "id_identity", "review": "always"}',
    front => decode(:'front', 'base64'), face => decode(:'face', 'base64'));
SQL
"$inspectd" gateway --listen 0 2>"$scratch/gateway.log" 3<&- &
gateway=$!
remember "$gateway"
"$inspectd" console --local --listen 0 >"$scratch/console.link" 2>"$scratch/console.log" 3<&- &
pages=$!
remember "$pages"
for _ in $(seq 600); do
    if [ "$(sql -c "SELECT count(*) FROM insp.v_review")" -gt 0 ]; then break; fi
    sleep 0.1
done
[ "$(sql -c "SELECT count(*) FROM insp.v_review")" -gt 0 ] || { say "no job waits for a reviewer"; exit 1; }
sql -c "SELECT FROM insp.set_consent_policy('demo', false, 'https://www.example.com/privacy', '1', '{identity,biometrics}')"
bearer=$(sql -c "SELECT bearer FROM insp.create_credential('demo', '{capture,read}')")
gateway_url=http://127.0.0.1:$(await_text "$scratch/gateway.log" '"message":"gateway open".*"port":\([0-9]*\)' "$gateway")
console_url=$(await_text "$scratch/console.link" '\(http:.*\)' "$pages")
capture_url=$gateway_url$(
    curl -sS -H "Authorization: Bearer $bearer" -H 'Content-Type: application/json' "$gateway_url/capture/sessions" \
        -d '{"workflow": "id_identity", "documentFormat": "TD1", "challenge": "none", "showResult": true,
            "lifetimeSeconds": 86400, "sessionSeconds": 7200}' |
        jq -er .url
)
# Neither is used up by looking at it.
for url in "$console_url" "$capture_url"; do
    curl -sSf -o "$scratch/page.html" "$url" || { say "$url does not open"; exit 1; }
done
printf '\n  The console, for one sign-in in a browser of this machine:\n    %s\n  A capture link, for a browser here with a camera or with files:\n    %s\n\n' \
    "$console_url" "$capture_url"
say "both are open until Enter or Ctrl-C"
trap 'exit 0' INT
read -r -u 3 || true
say "ending"
