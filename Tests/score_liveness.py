"""Scores liveness over recorded traces and clips: blinks in series of eye openings, clips judged as labelled.

Called with `score(program, data)` by the scoring of faces, or by itself. Clips need Debian's python3-pil, rendered
frames python3-numpy, too; the others nothing.
"""

import json
import os
import subprocess
import sys
import tempfile

from scoring import batch

HERE = os.path.dirname(os.path.abspath(__file__))
# What motion frames are rendered from.
PORTRAIT = "identity/face_recognition/obama/obama.jpg"


def blinks(program, folder, entries):
    """Found, missed and invented blinks of every trace, and F1 over all."""
    files = [os.path.join(folder, e["file"]) for e in entries if e["kind"] == "signal"]
    if not files:
        return [], {}
    arguments = [program, "bench", "liveness"] + [a for f in files for a in ("--trace", f)]
    lines = subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    found = missed = invented = 0
    for line in map(json.loads, lines):
        found, missed, invented = found + line["found"], missed + line["missed"], invented + line["invented"]
    f1 = 2 * found / (2 * found + missed + invented) if found else 0.0
    return [("blinks found", found, found + missed)], {
        "blink_f1": round(f1, 4), "blinks_found": found, "blinks_missed": missed, "blinks_invented": invented}


def frames(path, folder, first=0, last=None):
    """Writes a clip's frames as PNG; returns their times in milliseconds, or None where the clip cannot be opened."""
    try:
        from PIL import Image, ImageSequence
        clip = Image.open(path)
    except Exception:
        return None
    times, time, count = [], 0.0, 0
    for index, frame in enumerate(ImageSequence.Iterator(clip)):
        duration = frame.info.get("duration", 40) or 40
        if index >= first and (last is None or index <= last) and count < 256:
            frame.convert("RGB").save(os.path.join(folder, f"{count:03}.png"))
            times.append(time)
            time += duration
            count += 1
    return times


def judged(program, scratch, path, steps, first=0, last=None):
    """The liveness record of a clip that answers no challenge (steps empty) or one that asks for these steps."""
    folder = tempfile.mkdtemp(dir=scratch)
    times = frames(path, folder, first, last)
    if not times:
        return None
    request = {"id": path, "frames": folder, "workflow": "liveness", "gate": False}
    if steps:
        request["challenge"] = os.path.join(scratch, os.path.basename(folder) + ".json")
        with open(request["challenge"], "w") as file:
            json.dump({"steps": steps, "stepTimeoutMs": 30000, "frameTimes": [t - 600 for t in times]}, file)
    done = subprocess.run([program, "inspect", "--batch", "-", "--analyzers", "1"], input=json.dumps(request).encode(),
                          stdout=subprocess.PIPE, check=True)
    return ((json.loads(done.stdout).get("capabilities") or {}).get("liveness") or [{}])[0]


def clips(program, folder, entries, scratch):
    """Rows, mistakes, and what was inconclusive: clips and segments whose face is too small for anything to be said of it."""
    rows, mistakes, small = [], [], []

    def expect(name, what, good, record):
        rows.append((what, bool(good), 1))
        if not good:
            mistakes.append((what, name, json.dumps(record)[:200]))

    def judge(name, what, good, record):
        # Labels are about the person; frames that are never judged are neither right nor wrong about that.
        reason = (record.get("data") or {}).get("reason") or ""
        if "TOO_SMALL" in reason and (record.get("decision") or {}).get("type") == "WARNING":
            small.append(f"{name}: {what}")
        else:
            expect(name.split(",")[0], what, good, record)

    for entry in (e for e in entries if e["kind"] == "video"):
        truth, path = entry["truth"], os.path.join(folder, entry["file"])
        if not os.path.exists(path):
            continue
        kind = lambda record: (record.get("decision") or {}).get("type")
        seen = lambda record, step: ((record.get("data") or {}).get("scores") or {}).get(f"seen {step}", 0)
        if "head_turn" in truth:
            record = judged(program, scratch, path, ["SHAKE"])
            if record is not None:
                expect(entry["file"], "clips, head turns as labelled", (seen(record, "SHAKE") > 0) == truth["head_turn"], record)
        if "blinks" in truth:
            record = judged(program, scratch, path, ["BLINK"])
            if record is not None:
                expect(entry["file"], "clips, number of blinks", seen(record, "BLINK") == truth["blinks"], record)
        if truth.get("identity_changes") or truth.get("scene_cuts"):
            record = judged(program, scratch, path, ["NOD"])
            if record is not None:
                judge(entry["file"], "clips, cuts and changes of person are rejected", kind(record) == "REJECTED", record)
        for segment in truth.get("segments", []):
            record = judged(program, scratch, path, [], *segment["frames"])
            if record is not None:
                name = f"{entry['file']}, frames {segment['frames'][0]} to {segment['frames'][1]}"
                judge(name, "clips, nothing passes without a challenge", kind(record) != "PASSED", record)
    table = {}
    for what, good, one in rows:
        right, total = table.get(what, (0, 0))
        table[what] = (right + good, total + one)
    return [(what, *counts) for what, counts in table.items()], mistakes, small


def motion_cpu(program, folder, scratch):
    """CPU seconds for 75 rendered frames: five seconds at 15 a second. None without the portrait."""
    portrait = os.path.join(folder, PORTRAIT)
    if not os.path.exists(portrait):
        return None
    answers, _, _ = batch(program, "inspect", [{"id": "portrait", "face": portrait, "workflow": "liveness", "gate": False}])
    points = ",".join(f"{p['x']},{p['y']}" for p in answers[0]["faces"][0]["landmarks"])
    name = os.path.join(scratch, "motion")
    with open(name + "-asked.json", "w") as file:
        json.dump({"steps": ["SHAKE", "NOD", "BLINK", "SHAKE"], "stepTimeoutMs": 7000}, file)
    subprocess.run(["/usr/bin/python3", os.path.join(HERE, "captures.py"), "--face", portrait, "--points", points,
                    "--challenge", name + "-asked.json", "--out", name], check=True)
    with open(name + ".json") as file:
        challenge = json.load(file)
    challenge["frameTimes"] = challenge["frameTimes"][:75]
    with open(name + ".json", "w") as file:
        json.dump(challenge, file)
    for frame in sorted(os.listdir(name))[75:]:
        os.remove(os.path.join(name, frame))
    # What loading the models costs is in both runs and cancels.
    request = {"id": name, "frames": name, "challenge": name + ".json", "workflow": "liveness", "gate": False}
    one, many = (batch(program, "inspect", [request] * n)[1] for n in (1, 4))
    return (many - one) / 3


def score(program, data):
    """Rows (what, right, total), figures by name, mistakes (kind, name, why)."""
    folder = os.path.abspath(os.path.join(data, "faces"))
    entries = json.load(open(os.path.join(folder, "manifest.json")))["entries"]
    rows, figures = blinks(program, folder, entries)
    with tempfile.TemporaryDirectory() as scratch:
        more, mistakes, small = clips(program, folder, entries, scratch)
        seconds = motion_cpu(program, folder, scratch)
        figures["motion_frames_5s_cpu_ms"] = None if seconds is None else round(1000 * seconds)
    figures["clips, inconclusive: too small"] = small
    for what, right, total in more:
        figures[what] = {"right": right, "total": total}
    return rows + more, figures, mistakes


if __name__ == "__main__":
    table, numbers, wrong = score(sys.argv[1], sys.argv[2])
    for what, right, total in table:
        print(f"{what:60} {right:4} / {total}")
    for segment in numbers["clips, inconclusive: too small"]:
        print(f"inconclusive: too small: {segment}")
    for kind, name, why in wrong:
        print(f"- {kind}: {name}: {why}")
    print(f"75 motion frames (5 s at 15 a second), CPU: {numbers['motion_frames_5s_cpu_ms']} ms (asked: 1500)")
    print(json.dumps(numbers))
