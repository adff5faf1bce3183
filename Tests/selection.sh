#!/usr/bin/env bash
# Runs an action on 100,000 dead letters as consoles do, batch by batch, while a worker claims what comes of it, and prints how long
# that took. Also: nothing is done twice, although the first console is killed on the way.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: Tests/selection.sh [--bin DIR] [--letters N] [--consoles N] [--rounds N] [--idle]
  --bin DIR      folder of inspectd (.build/release)
  --letters N    dead letters (100000)
  --consoles N   consoles at once, each with three connections (1)
  --rounds N     rounds, each with letters of its own (3)
  --idle         without a worker
TEXT
}

bin=.build/release letters=100000 consoles=1 rounds=3 idle=
while [ $# -gt 0 ]; do
    case "$1" in
    --bin) bin=$2; shift ;;
    --letters) letters=$2; shift ;;
    --consoles) consoles=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    --idle) idle=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
# shellcheck source=deploy/lib.sh
. "$(dirname "$0")/../deploy/lib.sh"
begin selection
start_postgres
export INSPECTD_MIGRATIONS=$repository/Migrations
"$bin/inspectd" migrate --roles >"$scratch/log"
"$bin/inspectd" migrate >>"$scratch/log"

sql() {
    psql "$INSPECTD_DATABASE_URL" -XqAt -v ON_ERROR_STOP=1 "$@"
}

# A request with references, a consent and three parts, as often as asked; each copy died.
sql -v letters="$letters" -v rounds="$rounds" <<'SQL' >>"$scratch/log"
SELECT insp.create_partner('bank');
SELECT insp.enqueue('{"partner":"bank","workflow":"id","userReference":"u","customerInternalReference":"c",
    "consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}', front => 'x', back => 'x', face => 'x');
SELECT insp.cancel(j.public_id) FROM insp.job j;
SELECT j.id AS base FROM insp.job j \gset
SELECT count(nextval('insp.job_id')) FROM generate_series(1, :letters * :rounds);
SELECT insp.ensure_partitions();
INSERT INTO insp.job SELECT r.* FROM insp.job j, generate_series(1, :letters * :rounds) g, LATERAL jsonb_populate_record(j,
    jsonb_build_object('id', :base + g, 'public_id', insp.random_id(insp.id_prefix()))) r WHERE j.id = :base;
INSERT INTO insp.part SELECT :base + g, p.kind, p.ordinal, p.size, p.sha256, p.seal, p.location, p.content_id
FROM insp.part p, generate_series(1, :letters * :rounds) g WHERE p.job_id = :base;
INSERT INTO insp.job_reference (partner_id, kind, index, job_id) SELECT r.partner_id, r.kind, sha256(g::text::bytea), :base + g
FROM insp.job_reference r, generate_series(1, :letters * :rounds) g WHERE r.job_id = :base;
INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
SELECT :base + g, j.partner_id, 'ROUND_' || (g - 1) / :letters, 3, 0
FROM insp.job j, generate_series(1, :letters * :rounds) g WHERE j.id = :base;
DELETE FROM insp.ready;
SELECT insp.console_sign_in(sha256('ann'), 'ann', 'oidc', '{operator:*}', 'https://id.example', '1');
VACUUM ANALYZE;
CREATE PROCEDURE public.console() LANGUAGE plpgsql AS $$
DECLARE
    taken record;
BEGIN
    LOOP
        SELECT * INTO taken FROM insp.console_batch_take();
        COMMIT;
        EXIT WHEN taken.task IS NULL;
        PERFORM insp.console_step(taken.task, taken.batch, taken.attempt);
        COMMIT;
    END LOOP;
END
$$;
SQL

if [ -z "$idle" ]; then
    "$bin/inspectd" worker --slots 2 >"$scratch/worker" 2>&1 &
    remember $!
fi
for round in $(seq 0 $((rounds - 1))); do
    sql -c CHECKPOINT
    task=$(sql -v code="ROUND_$round" <<'SQL'
SELECT insp.console_begin_task(sha256('ann'), 'dead', 'rerun', jsonb_build_object('code', :'code'),
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'the server is back');
SQL
    )
    if [ "$round" -eq 0 ]; then
        # Killed while it does a batch: what it had not committed, the next one does.
        sql -c 'CALL public.console()' &
        sleep 0.5
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
    fi
    running=()
    # Each does three batches at once.
    for _ in $(seq $((3 * consoles))); do
        sql -c 'CALL public.console()' &
        running+=($!)
    done
    wait "${running[@]}"
    # A killed client's server process ends by itself.
    until [ "$(sql -c "SELECT ended_at IS NOT NULL FROM insp.console_task WHERE id = $task")" = t ]; do
        sql -c 'CALL public.console()'
        sleep 0.1
    done
    sql -F ' ' -c "SELECT done, 'of', total, 'in', round(extract(epoch FROM ended_at - began_at), 2), 's' FROM insp.console_task WHERE id = $task"
done
twice=$(sql -c 'SELECT count(*) FROM (SELECT FROM insp.rerun r GROUP BY r.first_id HAVING count(*) > 1) x')
done=$(sql -c "SELECT count(*) FROM insp.record r WHERE r.action = 'rerun' AND r.actor = 'console:ann'")
claimed=$(sql -c "SELECT $letters * $rounds - count(*) FROM insp.ready")
echo "done twice: $twice; on record: $done; claimed meanwhile: $claimed"
[ "$twice" -eq 0 ] && [ "$done" -eq $((letters * rounds)) ]
