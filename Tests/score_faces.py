"""Scores faces over labelled images: comparison, detection, appearance, quality, speed. Called by `Tests/score.sh faces`.

Prints a table, then one JSON line with every rate, and draws the DET curve. Needs Debian's python3-pil and
python3-numpy.
"""

import argparse
import csv
import itertools
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from PIL import Image, ImageOps

import score_liveness
import score_selfies
from scoring import batch, upper_bound

OFIQ_NAMES = {
    "BackgroundUniformity": "backgroundUniformity", "IlluminationUniformity": "illuminationUniformity",
    "LuminanceMean": "luminanceMean", "LuminanceVariance": "luminanceVariance",
    "UnderExposurePrevention": "underExposurePrevention", "OverExposurePrevention": "overExposurePrevention",
    "DynamicRange": "dynamicRange", "NaturalColour": "naturalColour", "SingleFacePresent": "singleFacePresent",
    "EyesOpen": "eyesOpen", "MouthClosed": "mouthClosed", "InterEyeDistance": "interEyeDistance", "HeadSize": "headSize",
    "LeftwardCropOfTheFaceImage": "leftwardCrop", "RightwardCropOfTheFaceImage": "rightwardCrop",
    "MarginAboveOfTheFaceImage": "marginAbove", "MarginBelowOfTheFaceImage": "marginBelow",
    "HeadPoseYaw": "headPoseYaw", "HeadPosePitch": "headPosePitch", "HeadPoseRoll": "headPoseRoll"}


class Card:
    """Lines of the table, the figures of the JSON line, and the mistakes."""

    def __init__(self):
        self.figures, self.mistakes, self.kinds = {}, [], {}

    def check(self, kind, good, name, why=""):
        right, total = self.kinds.get(kind, (0, 0))
        self.kinds[kind] = (right + bool(good), total + 1)
        if not good:
            self.mistakes.append((kind, name, why))

    def line(self, name, text):
        print(f"{name:58} {text}")

    def close(self):
        for kind, (right, total) in self.kinds.items():
            self.line(kind, f"{right:4} / {total:<4} {100 * right / total:5.1f} %")
            self.figures[kind] = {"right": right, "total": total}


def det_plot(path, genuine, impostor, threshold):
    """False non-matches over false matches on logarithmic axes, as SVG."""
    width, height, left, bottom = 560, 420, 70, 50
    floor = 1e-4

    def place(rate, length):
        return (math.log10(max(rate, floor)) - math.log10(floor)) / -math.log10(floor) * length

    def point(fmr, fnmr):
        return f"{left + place(fmr, width):.1f},{20 + height - place(fnmr, height):.1f}"

    limits = sorted(set(genuine + impostor))
    curve = []
    for limit in limits:
        fmr = sum(s >= limit for s in impostor) / len(impostor)
        fnmr = sum(s < limit for s in genuine) / len(genuine)
        curve.append(point(fmr, fnmr))
    at = point(sum(s >= threshold for s in impostor) / len(impostor), sum(s < threshold for s in genuine) / len(genuine))
    ticks = []
    for power in range(-4, 1):
        x, y = left + place(10**power, width), 20 + height - place(10**power, height)
        label = "≤ 0.0001" if power == -4 else f"{10**power:g}"
        ticks.append(f'<path d="M{x:.1f} 20v{height}M{left} {y:.1f}h{width}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{height + 38}" text-anchor="middle">{label}</text>'
                     f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 20}" height="{height + bottom + 30}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>{"".join(ticks)}'
        f'<polyline points="{" ".join(curve)}" fill="none" stroke="#1f5fa8" stroke-width="1.6"/>'
        f'<circle cx="{at.split(",")[0]}" cy="{at.split(",")[1]}" r="4" fill="#b3261e"/>'
        f'<text x="{left + width / 2}" y="{height + 58}" text-anchor="middle">false match rate, {len(impostor)} impostor pairs</text>'
        f'<text transform="translate(14 {20 + height / 2}) rotate(-90)" text-anchor="middle">false non-match rate, '
        f'{len(genuine)} genuine pairs</text><text x="{left + width - 8}" y="36" text-anchor="end">dot: similarity {threshold}</text></svg>\n')


def score_pairs(options, card, folder):
    with open(os.path.join(folder, "pairs.csv")) as file:
        pairs = [p for p in csv.DictReader(file) if p["same"] in ("0", "1")]
    pairs = [p for p in pairs if all(os.path.exists(os.path.join(folder, p[k])) for k in ("file_a", "file_b"))]
    requests = [{"a": os.path.join(folder, p["file_a"]), "b": os.path.join(folder, p["file_b"])} for p in pairs]
    answers, _, _ = batch(options.inspectd, "compare", requests, analyzers=2)
    failed = [a["error"] for a in answers if a.get("error")]
    if failed:
        # A pair that a busy machine did not finish has no similarity, which would count as a non-match.
        raise SystemExit(f"compare: {len(failed)} of {len(pairs)} pairs failed, the first with {failed[0]}")
    groups = {"plain": [], "expression series": []}
    for pair, answer in zip(pairs, answers):
        hard = pair["same"] == "1" and all("human_emotions" in pair[k] for k in ("file_a", "file_b"))
        groups["expression series" if hard else "plain"].append((pair, answer))
    threshold = answers[0]["threshold"]
    for name, group in groups.items():
        genuine = [a["similarity"] or 0 for p, a in group if p["same"] == "1"]
        impostor = [a["similarity"] or 0 for p, a in group if p["same"] == "0"]
        matched, missed = sum(s >= threshold for s in impostor), sum(s < threshold for s in genuine)
        figures = {"false_matches": matched, "impostor_pairs": len(impostor), "fmr_upper_95": upper_bound(matched, len(impostor)),
                   "false_non_matches": missed, "genuine_pairs": len(genuine),
                   "fnmr_upper_95": upper_bound(missed, len(genuine)),
                   "no_face": sum(a["similarity"] is None for _, a in group)}
        card.figures[f"pairs, {name}"] = figures
        if impostor:
            card.line(f"false matches at {threshold}, {name}",
                      f"{matched:4} / {len(impostor):<4} 95 % bound {100 * figures['fmr_upper_95']:.2f} %")
        card.line(f"false non-matches at {threshold}, {name}",
                  f"{missed:4} / {len(genuine):<4} {100 * missed / len(genuine):5.1f} %, bound {100 * figures['fnmr_upper_95']:.1f} %")
        for pair, answer in group:
            if (pair["same"] == "1") != (answer["match"] is True):
                card.mistakes.append((f"pair, {name}", f"{pair['file_a']} {pair['file_b']}", f"{answer['similarity']}"))
    return threshold, [a for a in answers if a["similarity"] is not None]


def similarity(distance):
    """FaceCalibration.dlib's scale."""
    return 1 / (1 + math.exp((distance - 0.60) / 0.0461))


def score_every_pair(options, card, folder, entries, threshold, compared):
    """Every two images of the labelled persons, each described once by the path of jobs."""
    wrong = [a for a in compared if abs(similarity(a["distance"]) - a["similarity"]) > 0.001]
    if wrong:
        raise SystemExit(f"the scale of similarities is another one: {wrong[0]}")
    images = [e for e in entries if e["kind"] == "identity"]
    requests = [{"id": e["file"], "face": os.path.join(folder, e["file"]), "workflow": "liveness", "gate": False} for e in images]
    answers, _, _ = batch(options.inspectd, "inspect", requests, "--features", analyzers=2)
    embeddings, nobody = [], []
    for entry, answer in zip(images, answers):
        faces = [face for face in faces_of(answer) if face.get("feature")]
        if faces:
            values = struct.unpack("<128f", bytes.fromhex(faces[0]["feature"]["hex"]))
            embeddings.append((entry, values))
        else:
            nobody.append(entry["file"])
    genuine, impostor = [], []
    for (one, a), (other, b) in itertools.combinations(embeddings, 2):
        same = one["identity"] == other["identity"]
        if same and "human_emotions" in one["file"]:
            continue
        score = similarity(math.dist(a, b))
        (genuine if same else impostor).append(score)
        if same != (score >= threshold):
            card.mistakes.append(("every pair", f"{one['file']} {other['file']}", f"{score:.3f}"))
    matched, missed = sum(s >= threshold for s in impostor), sum(s < threshold for s in genuine)
    persons = len({e["identity"] for e, _ in embeddings})
    bound = upper_bound(matched, len(impostor))
    card.line(f"false matches at {threshold}, every two images of two persons",
              f"{matched:4} / {len(impostor):<4} 95 % bound {100 * bound:.3f} %")
    card.line("  of", f"{len(embeddings)} images of {persons} persons: the pairs are not independent")
    card.line(f"false non-matches at {threshold}, every two of one person", f"{missed:4} / {len(genuine):<4} {100 * missed / len(genuine):5.1f} %")
    card.figures["every pair"] = {
        "false_matches": matched, "impostor_pairs": len(impostor), "fmr_upper_95": bound, "false_non_matches": missed,
        "genuine_pairs": len(genuine), "images": len(embeddings), "persons": persons, "without_a_face": nobody,
        "most_similar_impostors": max(impostor)}
    if options.det:
        det_plot(pathlib.Path(options.det), genuine, impostor, threshold)


def faces_of(answer):
    return [face for face in answer.get("faces") or [] if face["part"] == "FACE"]


def inspected(options, files):
    extra = ["--face-contour", options.contour] if options.contour else []
    requests = [{"id": file, "face": file, "workflow": "liveness", "gate": False} for file in files]
    return batch(options.inspectd, "inspect", requests, *extra, analyzers=2)[0]


def score_detection(options, card, folder, entries, scratch):
    exact, turned = [], []
    for entry in entries:
        truth, name = entry.get("truth") or {}, entry["file"]
        if "faces" in truth:
            exact.append((name, truth["faces"], truth.get("approximate", False)))
    answers = inspected(options, [os.path.join(folder, name) for name, _, _ in exact])
    for (name, wanted, approximate), answer in zip(exact, answers):
        found = len(faces_of(answer))
        if wanted == 0:
            card.check("no face where none is", found == 0, name, f"{found} found")
        elif wanted <= 3:
            good = found >= wanted if approximate else found == wanted
            card.check("faces counted, up to three", good, name, f"{found} of {wanted}")
        else:
            card.check("faces counted within one, more than three", abs(found - wanted) <= 1, name, f"{found} of {wanted}")
    identities = [e["file"] for e in entries if e["kind"] == "identity"]
    for name, answer in zip(identities, inspected(options, [os.path.join(folder, name) for name in identities])):
        card.check("a face found in photos of a person", faces_of(answer), name, "none found")
    singles = identities[::4] + [n for n, wanted, _ in exact if 1 <= wanted <= 3]
    for index, name in enumerate(singles):
        image = ImageOps.exif_transpose(Image.open(os.path.join(folder, name))).convert("RGB")
        image.thumbnail((1280, 1280))
        for degrees in (0, 90, 180, 270):
            file = os.path.join(scratch, f"turn-{index}-{degrees}.png")
            image.rotate(degrees, expand=True).save(file)
            turned.append((name, degrees, file))
        # The same by EXIF alone: stored sideways, shown upright.
        exif = Image.Exif()
        exif[0x0112] = 6
        file = os.path.join(scratch, f"turn-{index}-exif.jpg")
        image.rotate(90, expand=True).save(file, exif=exif, quality=95)
        turned.append((name, "EXIF", file))
    counts = {}
    for (name, degrees, _), answer in zip(turned, inspected(options, [file for _, _, file in turned])):
        counts.setdefault(name, {})[degrees] = len(faces_of(answer))
    for name, found in counts.items():
        for degrees in (90, 180, 270, "EXIF"):
            card.check(f"as many faces turned by {degrees} as upright", found[degrees] == found[0], name,
                       f"{found[degrees]}, upright {found[0]}")


def score_appearance(options, card, folder, entries):
    labelled = [e for e in entries if e["kind"] == "quality" or "eyes" in (e.get("truth") or {})]
    answers = inspected(options, [os.path.join(folder, e["file"]) for e in labelled])
    for entry, answer in zip(labelled, answers):
        truth, name, faces = entry.get("truth") or {}, entry["file"], faces_of(answer)
        if not faces:
            if truth.get("face_detectable") != "optional":
                card.check("a face is found in the labelled images", False, name)
            continue
        appearance = faces[0]["assessment"]["appearance"]
        detail = json.dumps({"appearance": appearance, "yawOffset": faces[0]["quality"]["yawOffset"],
                             "contour": faces[0]["quality"].get("contour")})
        pose = {"profile": ["profile"], "pitch_up": ["up"], "near_frontal": ["frontal", "turned"]}.get(truth.get("pose"))
        wanted = {"pose": pose, "eyes": {"open": ["open"], "closed_or_narrow": ["closed"]}.get(truth.get("eyes")),
                  "mouth": {"open": ["open"], "open_teeth": ["open"], "closed": ["closed"]}.get(truth.get("mouth")),
                  "smile": [truth["smile"]] if "smile" in truth else None}
        for label, values in wanted.items():
            if values is None:
                continue
            if appearance.get(label) is None:
                card.check(f"{label}: not assessed", True, name)
            else:
                series = ", grimaces" if "human_emotions" in name else ""
                card.check(f"pose, eyes, mouth, smile named{series}", appearance[label] in values, name, f"{label}: {detail}")
        if "complete_face" in truth:
            card.check("a face cut off by the image's edge is told", faces[0]["quality"]["visible"] < 0.9, name,
                       f"visible {faces[0]['quality']['visible']:.2f}")
    if not options.contour:
        card.line("eyes, mouth, smile, pose in degrees", "skipped: no 68-point model (--contour)")


def score_ofiq(options, card, folder):
    images = options.ofiq or os.path.join(folder, "ofiq")
    if not os.path.isdir(images):
        card.line("OFIQ's conformance values", f"skipped: its images are not installed ({images})")
        card.figures["ofiq"] = None
        return
    with open(os.path.join(folder, "reference", "ofiq_expected_results.csv")) as file:
        rows = [r for r in csv.DictReader(file, delimiter=";")]
    rows = [r for r in rows if os.path.exists(os.path.join(images, os.path.basename(r["Filename"])))]
    answers = inspected(options, [os.path.join(images, os.path.basename(r["Filename"])) for r in rows])
    for theirs, ours in OFIQ_NAMES.items():
        differences = []
        for row, answer in zip(rows, answers):
            for face in faces_of(answer)[:1]:
                for measure in face["assessment"]["measures"]:
                    if measure["name"] == ours and measure.get("score") is not None:
                        differences.append(abs(measure["score"] - float(row[f"{theirs}.scalar"])))
        if differences:
            differences.sort()
            card.line(f"OFIQ, {theirs}", f"median difference of the score {differences[len(differences) // 2]:.0f}")
            card.figures[f"ofiq {theirs}"] = differences[len(differences) // 2]


def score_speed(options, card, folder, entries, scratch):
    files = []
    for index, entry in enumerate([e for e in entries if e["kind"] == "identity"][:40]):
        image = ImageOps.exif_transpose(Image.open(os.path.join(folder, entry["file"]))).convert("RGB")
        image = ImageOps.contain(image, (640, 640))
        file = os.path.join(scratch, f"small-{index}.jpg")
        image.save(file, quality=92)
        files.append(file)
    requests = [{"a": a, "b": b} for a, b in zip(files[::2], files[1::2])] * 2
    _, single, _ = batch(options.inspectd, "compare", requests)
    _, double, _ = batch(options.inspectd, "compare", requests * 2)
    pair = 1000 * (double - single) / len(requests)
    card.line("one comparison of two images of 640 px, CPU", f"{pair:.0f} ms (asked: 100)")
    requests = [{"id": a, "front": a, "face": b, "workflow": "similarity", "gate": False} for a, b in zip(files[::2], files[1::2])]
    answers, _, _ = batch(options.inspectd, "inspect", requests)
    stages = [answer["engine"]["timingsMs"] for answer in answers]
    faces = sorted(stage["face"] for stage in stages if "face" in stage)
    card.line("the face stage of a job with a 640 px selfie, time", f"median {faces[len(faces) // 2]:.0f} ms")
    job = score_job(options, card, files)
    # Memory: an analyzer at work, beside the parent that it shares the models with.
    requests = os.path.join(scratch, "requests.jsonl")
    with open(requests, "w") as file:
        file.writelines(json.dumps({"a": a, "b": b}) + "\n" for a, b in zip(files[::2] * 20, files[1::2] * 20))
    child = subprocess.Popen([options.inspectd, "compare", "--batch", requests, "--analyzers", "1"], stdout=subprocess.PIPE)
    for _ in range(len(files)):
        child.stdout.readline()
    memory = {}
    tree = [child.pid]
    for pid in tree:
        tree += [int(p) for p in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()]
        rollup = dict(line.split(":") for line in open(f"/proc/{pid}/smaps_rollup").read().splitlines()[1:])
        kilobytes = {k: int(v.split()[0]) for k, v in rollup.items()}
        memory[pid] = (kilobytes["Rss"] / 1024, (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1024)
    child.terminate()
    child.wait()
    names = ["program", "parent with the models", "analyzer"]
    for name, pid in zip(names, tree):
        card.line(f"memory, {name}", f"resident {memory[pid][0]:.0f} MB, of its own {memory[pid][1]:.0f} MB")
    card.figures["speed"] = {"pair_640_cpu_ms": pair, "face_stage_ms": faces[len(faces) // 2], "job_cpu_ms": job,
                             "memory_mb": {name: memory[pid] for name, pid in zip(names, tree)}}


def score_job(options, card, selfies):
    """CPU of what a job does for faces: a selfie of 640 px, the portrait on a document's front, quality and passive cues."""
    images = pathlib.Path(options.data, "documents", "images").resolve()
    fronts = sorted(str(file) for file in images.glob("*.*")) if images.is_dir() else []
    requests = [{"id": front, "front": front, "face": selfie, "workflow": "id_identity", "gate": False}
                for front, selfie in zip(fronts, itertools.cycle(selfies))]
    taken = []
    for answer in batch(options.inspectd, "inspect", requests)[0] if requests else []:
        times = answer["engine"]["timingsMs"]
        if any(face["part"] == "FRONT" for face in answer.get("faces") or []):
            # What reading the document takes beside.
            taken.append(times["cpu"] - sum(times.get(f"cpu.{step}", 0) for step in ("outline", "mrz", "barcode", "viz")))
    if not taken:
        card.line("selfie, portrait, quality, passive cues of a job, CPU", "skipped: no documents with a portrait")
        return None
    taken.sort()
    card.line("selfie, portrait, quality, passive cues of a job, CPU",
              f"median {taken[len(taken) // 2]:.0f} ms, 95th percentile {taken[len(taken) * 95 // 100]:.0f} ms over {len(taken)} jobs "
              "(asked: 250)")
    return {"median": taken[len(taken) // 2], "p95": taken[len(taken) * 95 // 100], "jobs": len(taken)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inspectd", required=True)
    parser.add_argument("--data", default="../shared/testdata")
    parser.add_argument("--mistakes", action="store_true")
    parser.add_argument("--json", help="file that gets the figures as well")
    parser.add_argument("--det", help="where to draw the DET curve (SVG)")
    parser.add_argument("--contour", default=os.environ.get("INSPECTD_FACE_CONTOUR"), help="dlib's 68-point model")
    parser.add_argument("--ofiq", help="folder with OFIQ's conformance images")
    options = parser.parse_args()
    folder = os.path.abspath(os.path.join(options.data, "faces"))
    if not os.path.exists(os.path.join(folder, "manifest.json")):
        raise SystemExit(f"no labelled faces in {options.data}: give --data DIR")
    entries = [e for e in json.load(open(os.path.join(folder, "manifest.json")))["entries"]
               if os.path.exists(os.path.join(folder, e["file"]))]
    card = Card()
    with tempfile.TemporaryDirectory() as scratch:
        threshold, compared = score_pairs(options, card, folder)
        score_every_pair(options, card, folder, entries, threshold, compared)
        score_detection(options, card, folder, entries, scratch)
        score_appearance(options, card, folder, entries)
        score_ofiq(options, card, folder)
        score_speed(options, card, folder, entries, scratch)
    rows, figures, mistakes = score_liveness.score(options.inspectd, options.data)
    for what, right, total in rows:
        card.line(what, f"{right:4} / {total}")
    card.line("75 motion frames (5 s at 15 a second), CPU",
              "skipped: no portrait to render them from" if figures["motion_frames_5s_cpu_ms"] is None
              else f"{figures['motion_frames_5s_cpu_ms']} ms (asked: 1500)")
    card.line("clips, inconclusive: too small", f"{len(figures['clips, inconclusive: too small']):4}")
    card.figures["liveness"] = figures
    card.mistakes += mistakes
    rows, mistakes = score_selfies.score(options.inspectd, options.data)
    card.figures["documents as selfies"] = rows
    for what, row in rows.items():
        card.line(f"ID_USED_AS_SELFIE: {what}",
                  f"rejected {row['rejected']}, warned {row['warned']}, no face {row['no_face']} of {row['total']}")
    card.mistakes += mistakes
    card.close()
    if options.mistakes:
        for kind, name, why in card.mistakes:
            print(f"- {kind}: {name}: {why}")
    print(json.dumps(card.figures))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(card.figures, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
