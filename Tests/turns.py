"""Compares the processor time of builds over the development images, in turns: for each image every build answers once, one after
the other, and who begins changes with the round.

Usage: Tests/turns.py --data DIR [--rounds N] [--kinds LIST] OLD NEW [MORE...]
  OLD, NEW       programs (…/inspectd); the ratios are to the first
  --data DIR     the labelled images, as for Tests/score.sh
  --rounds N     rounds [3]; of cold, 5 at least
  --kinds LIST   of sides,identity,cold [all]

Sides and identity: each program stays up with one analyzer (`inspect --batch -`), so that its start is in no figure; the time is
what the analyzer says of each job (`timingsMs`, `cpu`; for sides also without VIZ text, and for those whose VIZ text every
program reads). A figure is the median, or the 95th percentile, over the images, each with the median of its rounds. `all` is user
and system time of the program, its analyzers included, over all jobs of a round, the first job's left out. Jobs of identity are
the drawn cards of score_sides.py, whose selfie and five frames are of the portrait's person. Cold: a new program for each
inspection, wall and processor time, once with its files in the page cache and once with those of the program and its models
thrown out of it.

Prints a JSON line for each figure: what each program took, and its ratio to the first as the median over the rounds, with the
range.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import score_sides

TICK = os.sysconf("SC_CLK_TCK")
MODELS = os.environ.get("INSPECTD_MODELS", "/usr/local/share/inspectd/models")


def viz(timings):
    """Time for VIZ text, which 0.1.0 calls print."""
    return timings.get("cpu.viz", timings.get("cpu.print", 0))


def analyzers_option(path):
    """The option with the number of analyzers, which 0.1.0 calls --slots."""
    shown = subprocess.run([path, "inspect", "--help"], capture_output=True, text=True, check=False)
    return "--analyzers" if "--analyzers" in shown.stdout + shown.stderr else "--slots"


class Program:
    """A build that answers one request after the other."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path, "inspect", "--batch", "-", analyzers_option(path), "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer.get("error"):
            raise SystemExit(f"{request['id']}: {answer['error']}")
        return answer["engine"]["timingsMs"]

    def seconds(self):
        """User and system time of the program and of its descendants, those that have ended included."""
        pids, ticks = [self.process.pid], 0
        while pids:
            pid = pids.pop()
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    ticks += sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:15])
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as file:
                        pids += [int(child) for child in file.read().split()]
            except (FileNotFoundError, ProcessLookupError):
                continue
        return ticks / TICK

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def sides(data):
    folder = os.path.join(data, "documents")
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        entries = json.load(file)
    return [
        {"id": e["file"], "front": os.path.join(folder, e["file"]), "workflow": "id", "gate": False}
        for e in entries if not e["kind"].startswith(("emrtd", "mrz_line_crop"))]


def identities(data, folder):
    """Front and back of each drawn card, a selfie, and five frames as a hand that is not quite still films them."""
    from PIL import Image
    people = os.path.join(data, "faces", "identity", "face_recognition")
    frames = os.path.join(folder, "frames")
    os.mkdir(frames)
    with Image.open(os.path.join(people, "obama", "obama.jpg")) as image:
        image = image.convert("RGB")
        for i in range(5):
            box = (4 * i, 3 * i, image.width - 16 + 4 * i, image.height - 12 + 3 * i)
            image.crop(box).save(os.path.join(frames, f"{i}.jpg"), quality=90)
    return [
        {"id": name, "front": front, "back": back, "face": os.path.join(people, "obama", "obama2.jpg"), "frames": frames,
         "workflow": "id_identity", "gate": False}
        for name, (front, back) in score_sides.drawn(data, folder).items()]


def report(figure, rounds, unit):
    """`rounds`: for each round the value of every program."""
    values = [statistics.median(column) for column in zip(*rounds)]
    ratios = [[value / row[0] for value in row] for row in rounds]
    print(json.dumps({
        "figure": figure, unit: [round(v, 3) for v in values], "rounds": len(rounds),
        "ratio": [round(statistics.median(column), 3) for column in zip(*ratios)],
        "range": [[round(min(column), 3), round(max(column), 3)] for column in zip(*ratios)]}), flush=True)


def in_turns(paths, kind, requests, rounds):
    programs = [Program(path) for path in paths]
    for program in programs:
        program.ask(requests[0])
    seen = {"cpu": [], "cpu without VIZ text": [], "cpu of sides whose VIZ text is read": []}
    everything = []
    try:
        for number in range(rounds):
            before = [program.seconds() for program in programs]
            timings = [[] for _ in programs]
            for index, request in enumerate(requests):
                order = list(range(len(programs)))
                for which in order if (number + index) % 2 == 0 else order[::-1]:
                    timings[which].append(programs[which].ask(request))
            after = [program.seconds() for program in programs]
            everything.append([1000 * (a - b) / len(requests) for a, b in zip(after, before)])
            seen["cpu"].append([[t["cpu"] for t in row] for row in timings])
            seen["cpu without VIZ text"].append([[t["cpu"] - viz(t) for t in row] for row in timings])
            read = [i for i in range(len(requests)) if all(viz(row[i]) >= 5 for row in timings)]
            seen["cpu of sides whose VIZ text is read"].append([[row[i]["cpu"] for i in read] for row in timings])
            print(f"{kind}, round {number + 1}", [round(v, 1) for v in everything[-1]], file=sys.stderr, flush=True)
    finally:
        for program in programs:
            program.end()
    for name, all_rounds in seen.items():
        if kind != "sides" and name != "cpu":
            continue
        report(f"{kind}, {name}, median", [[statistics.median(row) for row in one] for one in all_rounds], "ms")
        report(f"{kind}, {name}, p95", [[percentile(row, 0.95) for row in one] for one in all_rounds], "ms")
    report(f"{kind}, all, mean", everything, "ms")


def evict(path):
    """Throws a file out of the page cache, as far as nobody maps it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def cold(paths, data, rounds):
    image = os.path.join(data, "documents", "images", "dl__finetune_mrz_img.jpg")
    for what in ("files in the page cache", "files not in the page cache"):
        wall, cpu = [], []
        for number in range(rounds):
            row = [None] * len(paths)
            order = list(range(len(paths)))
            for which in order if number % 2 == 0 else order[::-1]:
                if what.startswith("files not"):
                    for file in [paths[which]] + [os.path.join(MODELS, name) for name in os.listdir(MODELS)]:
                        evict(file)
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                begin = time.monotonic()
                subprocess.run([paths[which], "inspect", "--front", image], stdout=subprocess.DEVNULL, check=True)
                took = time.monotonic() - begin
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                row[which] = (took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            wall.append([w for w, _ in row])
            cpu.append([c for _, c in row])
        report(f"cold, {what}, wall", wall, "s")
        report(f"cold, {what}, cpu", cpu, "s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default="sides,identity,cold")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    if unknown := set(kinds) - {"sides", "identity", "cold"}:
        parser.error("unknown kinds: " + ", ".join(sorted(unknown)))
    print(json.dumps({"programs": arguments.programs}), flush=True)
    for kind in kinds:
        if kind == "cold":
            cold(arguments.programs, arguments.data, max(5, arguments.rounds))
        elif kind == "sides":
            in_turns(arguments.programs, kind, sides(arguments.data), arguments.rounds)
        elif kind == "identity":
            with tempfile.TemporaryDirectory() as folder:
                in_turns(arguments.programs, kind, identities(arguments.data, folder), arguments.rounds)


if __name__ == "__main__":
    main()
