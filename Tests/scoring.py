"""What the scripts that score have in common. Imported by score.py, score_faces.py and score_liveness.py."""

import json
import math
import resource
import subprocess
import time


def batch(program, command, requests, *options, analyzers=1):
    """Runs one batch; returns the answers, the CPU seconds of the program and its analyzers, and the seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(
        [program, command, "--batch", "-", "--analyzers", str(analyzers), *options], stdout=subprocess.PIPE, check=True,
        input="".join(json.dumps(request) + "\n" for request in requests).encode())
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise SystemExit(f"{command}: {len(requests)} requests, {len(answers)} answers")
    return answers, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def upper_bound(errors, trials, beyond=0.05):
    """95 % upper bound of a rate (Clopper-Pearson, one-sided), by bisection on the binomial tail; `beyond` is the share beyond it."""
    if trials == 0:
        return None
    low, high = errors / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        tail = sum(math.comb(trials, k) * middle**k * (1 - middle) ** (trials - k) for k in range(errors + 1))
        low, high = (middle, high) if tail > beyond else (low, middle)
    return high
