"""Scores how the sides of documents are judged: swapped, twice the same, of two documents, a back alone. Imported by score.py.

Two-sided specimens are those whose two sides are in the test data, and cards that deploy/specimen draws and photographs: an
identity card and a licence of each holder at each level. Fronts and backs whose other side is not in the data are sent
alone, twice, and with the other side of somebody else's document. Each case has the answers that are right; a genuine image
or pair is rejected if it gets any of them. Every job leaves `documentFormat` out.

Held out, and not tuned on, is a third by lot: SHA-256 of the document's name as a number, modulo 3, is 0 (for specimens as in
Tests/Truth/viz.json; for drawn cards the name is kind and number). A case is held out if one of its images is.

Needs Debian's python3-pil, python3-numpy, zint, fonts-ocr-b and fonts-dejavu-extra to draw; without them only the images of
the test data count, and the table says so.
"""

import hashlib
import os
import sys
import tempfile
from datetime import date
from pathlib import Path

from scoring import batch
from score_fields import load

MISSING_BACK, MISSING_FRONT, MISMATCH = "MISSING_BACK", "MISSING_FRONT", "MISMATCH_FRONT_BACK"
SIDES = {MISSING_BACK, MISSING_FRONT, MISMATCH}

#: Case, which answers are right; none: nothing may be objected to.
CASES = {
    "front and back as they belong": set(), "data page or one-sided card alone": set(), "sides swapped": SIDES,
    "front twice": {MISSING_BACK}, "back twice": {MISSING_FRONT},
    "front twice, in two photos": {MISSING_BACK}, "back twice, in two photos": {MISSING_FRONT}, "front and back of two documents": {MISMATCH},
    "back alone, as the front": {MISSING_FRONT},
}


def objections(answer):
    """What a result says against the sides that it was given."""
    records = (answer.get("capabilities") or {}).get("imageChecks") or []
    labels = {r["decision"].get("details", {}).get("label") for r in records if r["decision"].get("type") == "REJECTED"}
    codes = {reason.get("code") for reason in answer.get("reasons") or []}
    numbers = {206: MISSING_BACK, 214: MISSING_FRONT}
    return SIDES & (labels | codes | {numbers.get(r.get("code")) for r in answer.get("rejectReasons") or []})


def drawn(data, folder):
    """Pairs of images of cards, by name: front and back."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "deploy"))
    from specimen import camera, card
    from specimen.holder import Holder
    portraits = Path(data, "faces", "identity", "face_recognition")
    holders = [
        (Holder(number="D23145890", issued=date(2024, 4, 16), expiry=date(2034, 4, 15)), "obama/obama.jpg"),
        (Holder(surname="Nowak-Lewandowska", given_names="Zofia", issuer="POL", nationality="POL", number="ZS1234567",
                birth=date(1991, 2, 3), issued=date(2023, 1, 9), expiry=date(2033, 1, 9)), "biden/biden.jpg"),
        (Holder(surname="Müller", given_names="Jörg Peter", issuer="D", nationality="D", number="C01X00T47", sex="M",
                birth=date(1966, 11, 30), issued=date(2021, 8, 2), expiry=date(2031, 8, 1)), "obama/obama1.jpg"),
    ]
    pairs = {}
    for number, (holder, portrait) in enumerate(holders):
        face = card.Face(portraits / portrait)
        flat = {
            "identity card": (card.identity_card_front(holder, face, number), card.identity_card_back(holder, number)),
            "licence": (card.licence_front(holder, face, number), card.licence_back(holder, number)),
        }
        for level in ("mild", "strong"):
            for kind, sides in flat.items():
                paths = []
                for side, image in zip(("front", "back"), sides):
                    path = os.path.join(folder, f"{kind} {number} {level} {side}.jpg")
                    Path(path).write_bytes(camera.photograph(image, camera.LEVELS[level], number * 97 + len(side))[0])
                    paths.append(path)
                pairs[f"drawn {kind} {number}, {level}"] = tuple(paths)
    return pairs


def cut(entry, documents, folder):
    """The sides of a specimen whose image shows both."""
    from PIL import Image
    paths = []
    with Image.open(os.path.join(documents, entry["file"])) as image:
        for side in ("front", "back"):
            left, top, right, bottom = entry["sides"][side]
            box = (left * image.width, top * image.height, right * image.width, bottom * image.height)
            path = os.path.join(folder, f"{side} {os.path.basename(entry['file'])}.png")
            image.convert("RGB").crop(tuple(round(v) for v in box)).save(path)
            paths.append(path)
    return tuple(paths)


def held_out(name, facts):
    """Whether the document that a pair, an image or a drawn card's photo is of is held out."""
    if name in facts:
        return facts[name]["heldOut"]
    return int(hashlib.sha256(name.split(",")[0].encode()).hexdigest(), 16) % 3 == 0


def jobs(facts, documents, pairs):
    """Case, names of the documents, front and back of every job; `facts` are those of images without a fault."""
    found = []
    names = list(pairs)
    for index, (name, (front, back)) in enumerate(pairs.items()):
        # Another holder's card of the same kind, or any other card.
        kind = name.split(",")[0].rsplit(" ", 1)[0]
        others = [n for n in names[index + 1:] + names[:index] if n.split(",")[0] != name.split(",")[0]]
        other = next((n for n in others if n.startswith(kind)), others[0] if others else None)
        found += [
            ("front and back as they belong", [name], front, back), ("sides swapped", [name], back, front),
            ("front twice", [name], front, front), ("back twice", [name], back, back),
        ]
        if other:
            found.append(("front and back of two documents", [name, other], front, pairs[other][1]))
        again = next((n for n in names[index + 1:] if n.split(",")[0] == name.split(",")[0]), None)
        if again:
            found += [
                ("front twice, in two photos", [name], front, pairs[again][0]),
                ("back twice, in two photos", [name], back, pairs[again][1]),
            ]
    alone = {
        side: [e["file"] for e in facts.values() if e["side"] == side and not e.get("sides")
               and not (side == "front" and e["mrz"])] for side in ("front", "back")}
    path = {name: os.path.join(documents, name) for names in alone.values() for name in names}
    for index, front in enumerate(alone["front"]):
        found.append(("front twice", [front], path[front], path[front]))
        if alone["back"]:
            back = alone["back"][index % len(alone["back"])]
            found.append(("front and back of two documents", [front, back], path[front], path[back]))
    found += [("back twice", [back], path[back], path[back]) for back in alone["back"]]
    return found


def score(program, data, manifest, answers, figures, mistakes):
    """Runs the pairs; `answers` are those to the manifest's images, each sent alone as the front."""
    documents = os.path.join(data, "documents")
    facts = load(manifest)
    table = {case: {"right": 0, "total": 0, "held_right": 0, "held_total": 0} for case in CASES}

    def count(case, names, answer):
        said = objections(answer)
        good = bool(said & CASES[case]) if CASES[case] else not said
        held = any(held_out(name, facts) for name in names)
        for prefix in ("", "held_") if held else ("",):
            table[case][f"{prefix}total"] += 1
            table[case][f"{prefix}right"] += good
        if not good:
            mistakes.append((f"sides, {case}{', held out' if held else ''}", " and ".join(names), f"{sorted(said)}"))

    for entry, answer in zip(manifest, answers):
        name = f"images/{entry['base']}" if entry.get("base") else entry["file"]
        own = facts.get(name)
        if own is None or own.get("sides") or entry["kind"] == "derived_quality" and entry.get("quality_labels") != ["OK"]:
            continue
        if own["side"] == "back":
            count("back alone, as the front", [name], answer)
        elif own["side"] == "dataPage" or own["mrz"]:
            count("data page or one-sided card alone", [name], answer)
    with tempfile.TemporaryDirectory() as folder:
        note, pairs = None, {}
        try:
            pairs = {e["file"]: cut(e, documents, folder) for e in facts.values() if e.get("sides")}
            pairs |= drawn(data, folder)
        except (ImportError, OSError) as error:
            note = f"cards were not drawn: {error}"
        faulty = {e["file"] for e in manifest if e.get("quality_labels") not in (None, ["OK"])}
        asked = jobs({n: e for n, e in facts.items() if n not in faulty}, documents, pairs)
        requests = [
            {"id": f"{number}", "front": front, "back": back, "workflow": "id", "gate": False}
            for number, (_, _, front, back) in enumerate(asked)]
        replies = batch(program, "inspect", requests, analyzers=1)[0] if requests else []
        for (case, names, _, _), answer in zip(asked, replies):
            count(case, names, answer)
    genuine = [table[case] for case, wanted in CASES.items() if not wanted]
    figures["sides"] = {
        "cases": table, "two_sided": len(pairs), "note": note,
        "genuine": sum(row["total"] for row in genuine),
        "genuine_rejected": sum(row["total"] - row["right"] for row in genuine),
    }


def show(figures):
    sides = figures["sides"]

    def row(name, right, total, held_right, held_total):
        held = f"   held out {held_right:3} / {held_total:<3}" if held_total else ""
        print(f"{name:52} {right:4} / {total:<4} {100 * right / total:5.1f} %{held}")

    print(f"\nSides, {sides['two_sided']} two-sided specimens and the fronts and backs of the test data")
    columns = ("right", "total", "held_right", "held_total")
    for case, cells in sides["cases"].items():
        if cells["total"]:
            row(case, *(cells[key] for key in columns))
    sums = [sum(cells[key] for cells in sides["cases"].values()) for key in columns]
    if sums[1]:
        row("all", *sums)
        print(f"{'genuine, rejected for their sides':52} {sides['genuine_rejected']:4} / {sides['genuine']}")
    if sides["note"]:
        print(sides["note"])
