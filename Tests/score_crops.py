"""Scores MRZs in crops of documents, as phones send them: the lower half, the MRZ with what is beside it, the MRZ alone.
Imported by score.py.

Where the MRZ lies stands in Tests/Truth/attacks.json. A crop counts if its lines are read exactly. Beside that stands how many are
called incomplete: visas (Doc 9303-7) come in sizes that their lines do not tell, so theirs are not.

Needs Debian's python3-pil; without it nothing counts, and the table says so.
"""

import json
import os
import tempfile
from pathlib import Path

from scoring import batch

MISSING = "PART_OF_DOCUMENT_MISSING"


def boxes(width, height, mrz):
    """What is left of an image, by crop: left, top, right, bottom in pixels."""
    left, top, right, bottom = mrz

    def around(x, y):
        return (max(0, int((left - x) * width)), max(0, int((top - y) * height)),
                min(width, int((right + x) * width)), min(height, int((bottom + y) * height)))
    return {
        "lower half": (0, height // 2, width, height),
        "MRZ and below, full width": (0, int((top - 0.12) * height), width, height),
        "MRZ with a margin": around(0.02, 0.03),
        "MRZ to its edges": around(0.005, 0.008),
    }


def score(program, data, figures, mistakes):
    try:
        from PIL import Image
    except ImportError:
        figures["crops"] = {"reason": "not assessed: python3-pil is not installed"}
        return
    documents = os.path.join(data, "documents")
    with open(os.path.join(documents, "manifest.json")) as file:
        lines = {entry["file"]: entry.get("mrz_lines") for entry in json.load(file)}
    with open(Path(__file__).resolve().parent / "Truth" / "attacks.json") as file:
        specimens = [s for s in json.load(file)["specimens"] if lines.get(s["file"])]
    cases, requests, rows = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for specimen in specimens:
            image = Image.open(os.path.join(documents, specimen["file"])).convert("RGB")
            for crop, box in boxes(*image.size, specimen["mrz"]).items():
                path = os.path.join(folder, f"{len(requests)}.jpg")
                image.crop(box).save(path, quality=92)
                cases.append((specimen["file"], crop))
                requests.append({"front": path})
        answers, _, _ = batch(program, "inspect", requests, "--workflow", "id", "--no-gate", analyzers=1)
    for (name, crop), answer in zip(cases, answers):
        capabilities = answer.get("capabilities") or {}
        read = ((capabilities.get("extraction") or [{}])[0].get("data") or {}).get("mrz") or {}
        labels = [record["decision"].get("details", {}).get("label") for record in capabilities.get("usability", [])]
        row = rows.setdefault(crop, {"images": 0, "exact": 0, MISSING: 0})
        row["images"] += 1
        row["exact"] += read.get("lines") == lines[name]
        row[MISSING] += MISSING in labels
        if read.get("lines") != lines[name]:
            mistakes.append((f"crop: {crop}", name, str(read.get("lines"))))
    figures["crops"] = rows


def show(figures):
    rows = figures["crops"]
    if "reason" in rows:
        print(f"MRZs in crops: {rows['reason']}")
        return
    for crop, row in rows.items():
        print(f"MRZ exact, crop: {crop:35} {row['exact']:4} / {row['images']:<4} called incomplete: {row[MISSING]}")
