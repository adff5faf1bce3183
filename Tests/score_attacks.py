"""Scores how often attacks on documents are detected, and how often genuine pictures are taken for attacks. Called by Tests/score.sh.

The attacks are made here from the development specimens of Truth/attacks.json (attack_species.py), in a scratch folder that is removed. Each
is an `id` job of `inspectd inspect --batch`, without the gate. Terms of ISO/IEC 30107-3:

APCER  share of the attack pictures of a species and strength that are not detected
BPCER  share of the genuine pictures that are detected
bound  95 % upper bound of the rate (Clopper-Pearson, one-sided)

Detected: the decision is REJECTED, whatever for, or a WARNING where a capability or a reason has one of the labels below. `image` counts
the detected pictures that no such label names: they were rejected as blurred or incomplete, for example, and pass once they are taken
better. `findings` counts the pictures of which the image
checks noted something for a reviewer; that alone is no detection.

    BLACK_WHITE PHOTOCOPY DIGITAL_COPY MANIPULATED_DOCUMENT PUNCHED GHOST_IMAGE_DIFFERENT FAKE WATERMARK MISMATCH_FRONT_BACK
    NFC_CERTIFICATE MRZ_CHECKSUM MISMATCH_HRZ_MRZ_DATA MISMATCHING_DATAPOINTS DAMAGED_DOCUMENT

Genuine: the specimens' files as they are, saved again as JPEG once and twice, and photographed, also scaled down; pairs of sides that belong together;
drawn documents with the ghost image of their own portrait.
Specimens and expired documents give warnings with other labels, which do not count. Nor does a label in a WARNING about an attack that
the genuine file has as well: one specimen is misprinted.

Species:
  portrait      another face: `pasted`, `toned` (in the old one's colours), `blended` (also soft edges), `blended, photographed`
  date          another date of birth or issue in the VIZ: `patched`, `written` over the old paper, `copied` from its own digits
  date and MRZ  both alike, so that they agree: `written`
  font          another date of birth or issue in the old ink: in a `serif` or `bold` font, `larger`, `below the line`
  ghost         another portrait on a drawn document, its ghost image left as it was: `clear`, `faint`, or `photographed`
  punched       photographed with holes of `6 mm`, `5 mm` or `3 mm`
  MRZ           another date of birth with right check digits: `patched`, `OCR-B`, `matched` in ink and blur, `matched, photographed`
  print         photographed print: `laser printer`, `fine laser printer`, `photo printer`
  screen        photographed display: `full`, `half` and `faint` raster
                both also scaled down to images of 1,400, 1,000 and 700 px, as applications send them
  torn          photographed with a piece of 20, 12 or 6 mm torn out of an edge
  generated     a drawn document of nobody: the `file`, or `photographed`
  sides         photographed front and back of two drawn cards: `other holder`, `same name` with another number and birth

Needs what Tests/derive-documents.py needs.
"""

import argparse
import io
import json
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
from PIL import Image

from scoring import batch, upper_bound

sys.dont_write_bytecode = True

import attack_species as species  # noqa: E402

FORGERY = {
    "BLACK_WHITE", "PHOTOCOPY", "DIGITAL_COPY", "MANIPULATED_DOCUMENT", "PUNCHED", "GHOST_IMAGE_DIFFERENT", "FAKE", "WATERMARK",
    "MISMATCH_FRONT_BACK", "NFC_CERTIFICATE", "MRZ_CHECKSUM", "MISMATCH_HRZ_MRZ_DATA", "MISMATCHING_DATAPOINTS", "DAMAGED_DOCUMENT",
}


class Maker:
    """Pictures with what they are: species (None: genuine), strength, specimen and whether it is held out."""

    def __init__(self, data, folder, seed, rounds):
        self.data, self.folder, self.seed, self.rounds = data, Path(folder), seed, rounds
        self.specimens = species.specimens(data)
        faces = Path(data, "faces", "identity", "face_recognition")
        self.faces = [faces / name for name in ("obama/obama.jpg", "biden/biden.jpg", "obama/obama1.jpg")]
        self.made = []

    def add(self, kind, strength, specimen, front, back=None):
        paths = {}
        if isinstance(specimen, species.Specimen) and "portrait" not in specimen.places:
            # Backs: sent as fronts, they would be rejected for the front that is missing.
            front, back = None, front
        for side, data in (("front", front), ("back", back)):
            if data is not None:
                paths[side] = str(self.folder / f"{len(self.made):04d}_{side}")
                Path(paths[side]).write_bytes(data)
        self.made.append({
            "kind": kind, "strength": strength, "specimen": getattr(specimen, "name", specimen),
            "heldOut": getattr(specimen, "held_out", None), "paths": paths})

    def everything(self):
        for turn in range(self.rounds):
            for number, specimen in enumerate(self.specimens):
                self.of_specimen(specimen, turn, number)
        self.drawn()
        self.ghosts()
        for specimen in self.specimens:
            for first, second in ((50, 92), (60, 85), (75, 90), (80, 95)):
                once = Image.open(io.BytesIO(species.saved(specimen.image, first)))
                self.add(None, "saved twice", specimen, species.saved(once, second))
        return self.made

    def of_specimen(self, specimen, turn, number):
        rng = np.random.default_rng([self.seed, turn, number])
        shot = self.seed * 7919 + turn * 1000 + number * 20
        image = specimen.image
        face = self.faces[(turn + number) % len(self.faces)]
        if turn == 0:
            self.add(None, "file", specimen, specimen.data)
        self.add(None, "saved again", specimen, species.saved(image, int(rng.integers(75, 96))))
        self.add(None, "photographed", specimen, species.photographed(image, rng, shot))
        if "portrait" in specimen.places:
            for strength in ("pasted", "toned", "blended"):
                self.add("portrait", strength, specimen, species.saved(species.swapped(specimen, face, strength, rng)))
            self.add("portrait", "blended, photographed", specimen,
                     species.photographed(species.swapped(specimen, face, "blended", rng), rng, shot + 1))
            both = species.rewritten(specimen, "matched", rng, species.edited(specimen, "written", rng))
            self.add("date and MRZ", "written", specimen, species.saved(both))
        for strength in ("patched", "written", "copied"):
            self.add("date", strength, specimen, species.saved(species.edited(specimen, strength, rng)))
        for strength in ("serif", "bold", "larger", "below the line"):
            self.add("font", strength, specimen, species.saved(species.retyped(specimen, strength, rng)))
        for at, millimetres in enumerate((6, 5, 3)):
            self.add("punched", f"{millimetres} mm", specimen, species.punched(specimen, millimetres, rng, shot + 9 + at))
        for strength in ("patched", "OCR-B", "matched"):
            self.add("MRZ", strength, specimen, species.saved(species.rewritten(specimen, strength, rng)))
        self.add("MRZ", "matched, photographed", specimen,
                 species.photographed(species.rewritten(specimen, "matched", rng), rng, shot + 2))
        for at, strength in enumerate(("laser printer", "fine laser printer", "photo printer")):
            self.add("print", strength, specimen, species.printed(image, strength, rng, shot + 3 + at))
        for at, strength in enumerate(("full", "half", "faint")):
            self.add("screen", strength, specimen, species.screened(image, strength, rng, shot + 6 + at))
        self.torn_or_smaller(specimen, np.random.default_rng([self.seed, turn, number, 1]), shot + 12)

    def torn_or_smaller(self, specimen, rng, shot):
        for at, millimetres in enumerate((20, 12, 6)):
            self.add("torn", f"{millimetres} mm", specimen, species.torn(specimen, millimetres, rng, shot + at))
        for kind, strength, data in (
                ("print", "laser printer", species.printed(specimen.image, "laser printer", rng, shot + 3)),
                ("screen", "full", species.screened(specimen.image, "full", rng, shot + 4)),
                (None, "photographed", species.photographed(specimen.image, rng, shot + 5))):
            for width in (1400, 1000, 700):
                self.add(kind, f"{strength}, {width} px", specimen, species.smaller(data, width))

    def ghosts(self):
        persons, holders = species.persons(self.data), species.holders(self.seed, 13)
        for turn in range(self.rounds):
            for number, person in enumerate(persons):
                kind, seed = (number + turn) % len(species.GHOSTS), self.seed * 15485863 + (turn * 100 + number) * 4
                rng = np.random.default_rng([self.seed, turn, 998, number])
                other = persons[(number + 1 + turn + number % 3) % len(persons)]
                for species_name, ghost in ((None, person), ("ghost", other)):
                    for strength, opacity in (("clear", 0.9), ("faint", 0.6)):
                        image = species.ghosted(kind, holders[number % 13], person, ghost, opacity, seed)
                        name = strength if species_name else f"{strength} ghost image"
                        self.add(species_name, name, f"ghost {number}", species.saved(image.resize(
                            (1200, round(1200 * image.height / image.width)), Image.LANCZOS)))
                        if strength == "clear":
                            self.add(species_name, name + ", photographed" if species_name else "photographed ghost image",
                                     f"ghost {number}", species.photographed(image, rng, seed + 1))

    def drawn(self):
        holders = species.holders(self.seed, 6 * self.rounds + 1)
        for number, holder in enumerate(holders[:-1]):
            rng = np.random.default_rng([self.seed, 999, number])
            face, other, shot = self.faces[number % len(self.faces)], holders[number + 1], self.seed * 104729 + number * 20
            for strength in ("file", "photographed"):
                self.add("generated", strength, f"drawn {number}", species.generated(holder, face, strength, number, rng, shot))
            renewed = replace(holder, number=other.number, birth=holder.birth + timedelta(days=400))
            for kind, strength, back in (
                    (None, "both sides", holder), ("sides", "other holder", other), ("sides", "same name", renewed)):
                self.add(kind, strength, f"drawn {number}", *species.sides(holder, back, face, number, rng, shot + 5))


def labels(answer):
    found = {reason.get("label") for reason in answer.get("reasons") or []}
    for records in (answer.get("capabilities") or {}).values():
        found |= {r["decision"].get("details", {}).get("label") for r in records
                  if r["decision"].get("type") in ("REJECTED", "WARNING")}
    return found


def findings(answer):
    records = (answer.get("capabilities") or {}).get("imageChecks") or []
    return sorted({name for r in records for name in (r.get("data") or {}).get("findings") or []})


def judged(entry, answer, own=frozenset()):
    """Whether it is detected, and by which labels of a forgery; `own` are the genuine specimen's, which prove no attack."""
    decision, found = (answer.get("decision") or {}).get("type"), (labels(answer) & FORGERY) - own
    return entry | {
        "decision": decision, "labels": sorted(found), "findings": findings(answer),
        "detected": decision == "REJECTED" or decision == "WARNING" and bool(found), "image": not found}


def table(rows, genuine):
    """Counts and rates of every strength, by the order in which they were made."""
    groups = {}
    for row in rows:
        groups.setdefault((row["kind"] or "genuine", row["strength"]), []).append(row)
    found = []
    for (kind, strength), group in groups.items():
        detected = sum(row["detected"] for row in group)
        errors = detected if genuine else len(group) - detected
        named = {}
        for row in group:
            for label in row["labels"]:
                named[label] = named.get(label, 0) + 1
        found.append({
            "species": kind, "strength": strength, "pictures": len(group), "detected": detected,
            "image": sum(row["detected"] and row["image"] for row in group), "rate": round(errors / len(group), 3),
            "bound": round(upper_bound(errors, len(group)), 3), "labels": dict(sorted(named.items())),
            "findings": sum(bool(row["findings"]) for row in group)})
    return found


def show(rows, name):
    line = "{:38} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}  {}".format
    print("\n" + line(name, "pictures", "detected", "image", "findings", "APCER" if name == "attacks" else "BPCER", "bound", "labels"))
    for row in rows:
        print(line(
            f"{row['species']}, {row['strength']}", row["pictures"], row["detected"], row["image"], row["findings"],
            f"{100 * row['rate']:.1f} %", f"{100 * row['bound']:.1f} %",
            ", ".join(f"{label} {count}" for label, count in row["labels"].items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspectd", required=True, nargs="+", help="programs; of several each gets the same pictures")
    parser.add_argument("--data", default="../shared/testdata")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="pictures of each specimen and strength")
    parser.add_argument("--mistakes", action="store_true", help="lists attacks not detected and genuine pictures detected")
    parser.add_argument("--json", help="also writes the figures and every judgement")
    parser.add_argument("--keep", help="keeps the pictures there, and takes those that are there already")
    options = parser.parse_args()
    if not Path(options.data, "documents", "manifest.json").exists():
        raise SystemExit(f"no labelled data in {options.data}: give --data DIR")
    with tempfile.TemporaryDirectory() as scratch:
        made = pictures(options, scratch)
        requests = [{"id": f"{n}", **e["paths"], "workflow": "id", "gate": False} for n, e in enumerate(made)]
        figures = {}
        for program in options.inspectd:
            answers = batch(program, "inspect", requests, analyzers=1)[0]
            own = {entry["specimen"]: labels(answer) for entry, answer in zip(made, answers, strict=True)
                   if (entry["kind"], entry["strength"]) == (None, "file")}
            rows = [judged(entry, answer, own.get(entry["specimen"], set()) if entry["kind"] else set())
                    for entry, answer in zip(made, answers, strict=True)]
            attacks, genuine = [row for row in rows if row["kind"]], [row for row in rows if not row["kind"]]
            figures[program] = report(program, attacks, genuine, options)
            figures[program]["rows"] = [{k: v for k, v in row.items() if k != "paths"} for row in rows]
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1))


def pictures(options, scratch):
    """New ones, or those that an earlier run with the same seed kept."""
    folder = Path(options.keep or scratch)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "made.json"
    if kept.exists():
        found = json.loads(kept.read_text())
        if (found["seed"], found["rounds"]) == (options.seed, options.rounds):
            return found["pictures"]
    made = Maker(options.data, folder, options.seed, options.rounds).everything()
    if options.keep:
        kept.write_text(json.dumps({"seed": options.seed, "rounds": options.rounds, "pictures": made}, indent=1))
    return made


def report(program, attacks, genuine, options):
    print(f"\n{program}, seed {options.seed}, {options.rounds} rounds")
    figures = {"attacks": table(attacks, False), "genuine": table(genuine, True)}
    show(figures["attacks"], "attacks")
    show(figures["genuine"], "genuine")
    for name, part in (("all", genuine), ("held out", [g for g in genuine if g["heldOut"]])):
        wrong = sum(row["detected"] for row in part)
        if part:
            print(f"BPCER, {name}: {wrong} of {len(part)}, {100 * wrong / len(part):.1f} %, "
                  f"at most {100 * upper_bound(wrong, len(part)):.1f} %")
    if options.mistakes:
        for row in attacks + genuine:
            if row["detected"] == (row["kind"] is None):
                print(f"- {row['kind'] or 'genuine'}, {row['strength']}: {row['specimen']}: {row['decision']} {row['labels']}")
    return figures


if __name__ == "__main__":
    main()
