#!/usr/bin/env bash
# Runs an action on 100,000 dead letters, waiting jobs or callbacks as consoles do, batch by batch, while a worker claims, and prints
# how long that took. Before that, a console is killed on the way: nothing is done twice or left out, but what it had lapses only after
# 15 s, so that round is no figure. With --click a real console works it off, and the time is from the click in its page on.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: Tests/selection.sh [--bin DIR] [--action NAME] [--letters N] [--consoles N] [--rounds N] [--idle] [--click]
  --bin DIR      folder of inspectd (.build/release)
  --action NAME  rerun or resolve (dead letters), cancel (waiting jobs), replay (dead-lettered callbacks), or all (rerun)
  --letters N    how many of them (100000)
  --consoles N   consoles at once, each with three connections (1)
  --rounds N     rounds, each with letters of its own (3)
  --idle         without a worker
  --click        `inspectd console --local` serves the form and does the work, instead of three loops in psql for each console
TEXT
}

bin=.build/release action=rerun letters=100000 consoles=1 rounds=3 idle='' click=''
while [ $# -gt 0 ]; do
    case "$1" in
    --bin) bin=$2; shift ;;
    --action) action=$2; shift ;;
    --letters) letters=$2; shift ;;
    --consoles) consoles=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    --idle) idle=1 ;;
    --click) click=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
case "$action" in
all) actions="rerun resolve cancel replay" ;;
rerun | resolve | cancel | replay) actions=$action ;;
*) usage >&2; exit 2 ;;
esac
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

# Milliseconds of processor time that the database server and the processes which it has started have taken.
server() {
    local pid pids total=0 fields
    read -r pid <"$server_data/postmaster.pid"
    pids=$(pgrep -P "$pid")
    for pid in "$pid" $pids; do
        read -r -a fields 2>/dev/null <"/proc/$pid/stat" || continue
        # Of processes that have ended: their parent's.
        total=$((total + fields[13] + fields[14] + fields[15] + fields[16]))
    done
    echo $((total * 1000 / $(getconf CLK_TCK)))
}
server_data=$(sql -c 'SHOW data_directory')

sql <<'SQL' >>"$scratch/log"
SELECT insp.console_sign_in(sha256('ann'), 'ann', 'oidc', '{operator:*}', 'https://id.example', '1');
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

# A partner with an endpoint, and its request with references, a consent and three parts as often as asked: waiting, dead-lettered, or
# finished with a dead-lettered callback.
fill() {
    sql -v letters="$letters" -v partner="$1" -v action="$2" <<'SQL' >>"$scratch/log"
-- The worker posts the callbacks of one round at a time.
DELETE FROM insp.callback_waiting;
SELECT insp.create_partner(:'partner');
SELECT insp.create_endpoint(:'partner', 'https://hooks.example.com/x');
SELECT max(e.id) AS endpoint FROM insp.endpoint e \gset
SELECT insp.enqueue(jsonb_build_object('partner', :'partner', 'workflow', 'id', 'userReference', 'u', 'customerInternalReference', 'c',
    -- Out of the worker's reach until it is cancelled.
    'delaySeconds', 3600, 'consent', '{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}'::jsonb), front => 'x', back => 'x', face => 'x') AS first \gset
SELECT j.id AS base, d.queue FROM insp.job j JOIN insp.delayed d ON d.job_id = j.id WHERE j.public_id = :'first' \gset
SELECT insp.cancel(:'first');
-- Nothing else is accepted meanwhile: these numbers follow each other.
SELECT count(nextval('insp.job_id')) FROM generate_series(1, :letters);
SELECT insp.ensure_partitions();
INSERT INTO insp.job SELECT r.* FROM insp.job j, generate_series(1, :letters) g, LATERAL jsonb_populate_record(j,
    jsonb_build_object('id', :base + g, 'public_id', insp.random_id(insp.id_prefix()))
        || CASE WHEN :'action' = 'cancel' THEN '{"status": 1, "completed_at": null}' ELSE '{}'::jsonb END) r WHERE j.id = :base;
INSERT INTO insp.part SELECT :base + g, p.kind, p.ordinal, p.size, p.sha256, p.seal, p.location, p.content_id
FROM insp.part p, generate_series(1, :letters) g WHERE p.job_id = :base;
INSERT INTO insp.job_reference (partner_id, kind, index, job_id) SELECT r.partner_id, r.kind, sha256(g::text::bytea), :base + g
FROM insp.job_reference r, generate_series(1, :letters) g WHERE r.job_id = :base;
INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
SELECT j.id, j.partner_id, 'TIMED_OUT', 3, 0 FROM insp.job j
WHERE j.id > :base AND j.id <= :base + :letters AND :'action' IN ('rerun', 'resolve');
INSERT INTO insp.ready (queue, job_id) SELECT :queue, :base + g FROM generate_series(1, :letters) g WHERE :'action' = 'cancel';
-- In one transaction: the worker sends none before it is dead.
BEGIN;
INSERT INTO insp.callback (job_id, public_id, endpoint_id, url, definition_key, decision)
SELECT j.id, j.public_id, :endpoint, 'https://hooks.example.com/x', 'id', 'PASSED' FROM insp.job j
WHERE j.id > :base AND j.id <= :base + :letters AND :'action' = 'replay';
UPDATE insp.callback_waiting w SET state = 'dead', attempts = 9, due_at = clock_timestamp()
FROM insp.callback c WHERE c.id = w.callback_id AND c.job_id > :base AND c.job_id <= :base + :letters AND :'action' = 'replay';
COMMIT;
VACUUM ANALYZE;
CHECKPOINT;
SQL
}

kind() {
    case "$1" in
    cancel) echo jobs ;;
    replay) echo callbacks ;;
    *) echo dead ;;
    esac
}

ended() {
    [ "$(sql -c "SELECT count(*) FROM insp.console_task WHERE id = $1 AND ended_at IS NOT NULL")" = 1 ]
}

if [ -z "$idle" ]; then
    "$bin/inspectd" worker --slots 2 >"$scratch/worker" 2>&1 &
    remember $!
fi
link=
if [ -n "$click" ]; then
    for number in $(seq "$consoles"); do
        "$bin/inspectd" console --local --listen 0 --analyzers 0 >"$scratch/link.$number" 2>>"$scratch/console" &
        remember $!
    done
    link=$scratch/link.1
fi
killed=$click
for one in $actions; do
    for round in $([ -n "$killed" ] || echo killed) $(seq "$rounds"); do
        partner=$one-$round
        fill "$partner" "$one"
        before=$(server)
        if [ -n "$click" ]; then
            # The time of the click, in seconds since 1970.
            began=$(python3 "$repository/Tests/selection.py" "$link" "$(kind "$one")" "$one" "$partner")
            began="to_timestamp($began)"
            task=$(sql -c 'SELECT max(id) FROM insp.console_task')
            until ended "$task"; do sleep 0.2; done
        else
            began=began_at
            task=$(sql -v partner="$partner" -v kind="$(kind "$one")" -v action="$one" <<'SQL'
SELECT before_microseconds, seen FROM insp.console_preview(sha256('ann'), :'kind', jsonb_build_object('partner', :'partner')) \gset
SELECT insp.console_begin_task(sha256('ann'), :'kind', :'action', jsonb_build_object('partner', :'partner'), :before_microseconds,
    'the server is back', :'seen');
SQL
            )
            if [ "$round" = killed ]; then
                # While it does a batch: what it had not committed, the next one does.
                killed=1
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
            until ended "$task"; do
                sql -c 'CALL public.console()'
                sleep 0.1
            done
        fi
        after=$(server)
        sql -F ' ' -v action="$one" -v round="$round" -v cpu=$((after - before)) <<SQL
SELECT :'action' || CASE WHEN :'round' = 'killed' THEN ', with a console killed:' ELSE ':' END, done, 'of', total, 'in', round(extract(epoch FROM ended_at - $began), 2), 's; the server''s CPU',
    round(:cpu / 1000.0, 1), 's; not done: ' || refusals::text FROM insp.console_task WHERE id = $task
SQL
    done
done
# What a worker is quicker with is not cancelled.
wrong=$(sql -c "SELECT count(*) FROM insp.console_task t WHERE t.failure IS NOT NULL OR t.done + t.refused <> t.total
    OR t.action <> 'cancel' AND t.done <> $letters OR t.total > $letters OR t.done = 0")
done=$(sql -c 'SELECT sum(done) FROM insp.console_task')
recorded="insp.record r WHERE r.action IN ('rerun', 'resolve_dead', 'cancel', 'callback_replay') AND r.actor LIKE 'console:%'"
twice=$(sql -c "SELECT (SELECT count(*) FROM (SELECT FROM insp.rerun r GROUP BY r.first_id HAVING count(*) > 1) x)
    + (SELECT count(*) FROM (SELECT FROM $recorded GROUP BY r.action, r.subject HAVING count(*) > 1) x)")
record=$(sql -c "SELECT count(*) FROM $recorded")
echo "done: $done; on record: $record; done twice: $twice; tasks that left something out: $wrong"
[ "$twice" -eq 0 ] && [ "$record" -eq "$done" ] && [ "$wrong" -eq 0 ]
