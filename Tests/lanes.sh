# Shell functions by which Tests/run.sh runs checks that are no Swift tests: alone, in lanes beside others, or in the time that all
# others leave. Sourced, not run; after deploy/lib.sh and its `begin`, which gives the folder for their outputs. They count in
# `passed`, `failed` and `failures`.
# shellcheck shell=bash disable=SC2154

# Runs and counts one check that is not a Swift test.
check() {
    local name=$1 begun=$SECONDS
    shift
    say "$name"
    if "$@" >"$scratch/check.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$name" "$(tail -n 12 "$scratch/check.log" | cut -c1-300)")
        tail -n 60 "$scratch/check.log"
        echo "failed: $name"
    fi
    took "$name" "$begun"
}

# Names a check that runs beside others, as soon as a lane is free: it has a server and folders of its own, and keeps no time. Those
# named by `later` take too much processor time for that, or have deadlines. The longest come first, so that none is left alone.
# All give way to those named by `timely`: browsers and cameras keep the time of people.
beside() { queue+=("nice $(printf '%q ' "$@")"); }
later() { rest+=("nice $(printf '%q ' "$@")"); }
timely() { rest+=("as-is $(printf '%q ' "$@")"); }
queue=()
rest=()
# How many may run at once, now. Most of them wait most of the time, for what they killed or stopped.
lanes=0

# Starts what takes nothing but processor time and judges none, in the time that all others leave.
spare() {
    idle[${#besides[@]}]=1
    started_beside idle "$@"
}
idle=()

# Gives spares that still run a share like the others', and a lane: where others use the machine, they are left no time.
hurry() {
    local number pid _
    for _ in 1 2; do
        for number in "${!idle[@]}"; do
            if [ -n "${pids[number]-}" ]; then
                for pid in $(family "${pids[number]}"); do chrt --other --pid 0 "$pid" 2>/dev/null || true; done
            fi
        done
    done
    idle=()
}

# What began beside others, by number: its name, and its process until it is judged.
besides=()
pids=()
started_beside() {
    local class=$1 name=$2 number=${#besides[@]} begun
    shift 2
    say "$name"
    begun=$SECONDS
    {
        case $class in
        idle) chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID" >/dev/null ;;
        nice) renice -n 5 -p "$BASHPID" >/dev/null ;;
        esac
        status=0
        "$@" >"$scratch/beside.$number" 2>&1 || status=$?
        took "$name" "$begun"
        echo "$status" >"$scratch/beside.$number.status"
    } &
    besides+=("$name")
    pids[number]=$!
    remember "$!"
}

# How many lanes are taken.
taken() {
    local number count=0
    for number in "${!pids[@]}"; do
        if [ -z "${idle[number]-}" ] && kill -0 "${pids[number]}" 2>/dev/null; then count=$((count + 1)); fi
    done
    echo "$count"
}

# Judges what ended beside others, and fills the lanes.
dispatch() {
    local number
    for number in "${!pids[@]}"; do
        if [ -s "$scratch/beside.$number.status" ] || ! kill -0 "${pids[number]}" 2>/dev/null; then judge "$number"; fi
    done
    while [ "${#queue[@]}" -gt 0 ] && [ "$(taken)" -lt "$lanes" ]; do
        eval "started_beside ${queue[0]}"
        queue=("${queue[@]:1}")
    done
}

judge() {
    local name=${besides[$1]}
    wait "${pids[$1]}" || true
    forget "${pids[$1]}"
    unset "pids[$1]"
    if [ "$(cat "$scratch/beside.$1.status" 2>/dev/null)" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$name" "$(tail -n 12 "$scratch/beside.$1" | cut -c1-300)")
        tail -n 60 "$scratch/beside.$1"
        echo "failed: $name"
    fi
}

# Waits for a process while others run beside it; its status.
awaited() {
    while kill -0 "$1" 2>/dev/null; do
        dispatch
        sleep 0.2
    done
    wait "$1"
}

# Waits until no lane is taken, and lets none be.
quiet() {
    lanes=0
    while [ "$(taken)" -gt 0 ]; do
        dispatch
        sleep 0.2
    done
}

# Waits for all that runs beside.
joined() {
    while [ "${#queue[@]}" -gt 0 ] || [ "${#pids[@]}" -gt 0 ]; do
        dispatch
        sleep 0.2
    done
}
