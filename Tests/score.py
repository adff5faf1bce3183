"""Scores `inspectd` over labelled documents, chips and faces. Called by Tests/score.sh; only drawn cards (score_sides.py) need
more than Python's standard library."""

import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys

import score_crops
import score_fields
import score_sides
from scoring import batch, upper_bound

# Confusions of the labels that mean the same to whoever has to take the image again.
ACCEPTABLE = {
    "OK": {"OK"},
    "BLURRED": {"BLURRED", "BAD_QUALITY_IMAGE"},
    "BAD_QUALITY_IMAGE": {"BAD_QUALITY_IMAGE", "BLURRED"},
}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else None


class Tally:
    """Right and wrong by kind, with the mistakes."""

    def __init__(self):
        self.right, self.total, self.mistakes = {}, {}, []

    def add(self, kind, good, name, why=""):
        self.total[kind] = self.total.get(kind, 0) + 1
        self.right[kind] = self.right.get(kind, 0) + bool(good)
        if not good:
            self.mistakes.append((kind, name, why))

    def rows(self):
        return [(kind, self.right[kind], self.total[kind]) for kind in sorted(self.total)]


def first(answer, capability):
    records = (answer.get("capabilities") or {}).get(capability) or [{}]
    return records[0]


#: Fields of the truth, and what the result calls them.
FIELDS = {
    "document_number": "documentNumber", "surname": "lastName", "given_names": "firstName", "birth_date": "dateOfBirth",
    "expiry_date": "expiryDate", "personal_number": "personalNumber", "nationality": "nationality", "sex": "gender",
    "issuing_state": "issuingCountry",
}
CHECKS = {
    "document_number": "documentNumber", "birth_date": "birthDate", "expiry_date": "expiryDate",
    "personal_number": "personalNumber", "composite": "composite",
}
LABELS = (
    "OK", "BLURRED", "GLARE", "BLACK_WHITE", "PHOTOCOPY", "BAD_QUALITY_IMAGE", "PART_OF_DOCUMENT_MISSING",
    "PART_OF_DOCUMENT_HIDDEN", "DIGITAL_COPY", "NOT_A_DOCUMENT",
)


def says(field, wanted, found):
    """Whether a result's value is the one that the MRZ has; dates are printed without their century."""
    if field in ("birth_date", "expiry_date"):
        return found.replace("-", "")[2:] == wanted
    if field in ("issuing_state", "nationality"):
        return found == {"D": "DEU"}.get(wanted, wanted)
    if field in ("surname", "given_names"):
        # Where the VIZ agrees, names are spelt as printed.
        return bool(score_fields.spellings(found) & score_fields.spellings(wanted))
    if field == "sex":
        return found == {"<": "X", "": "X"}.get(wanted, wanted)
    return found == wanted


def confident_mistakes(entry, extraction):
    """Fields that the result calls certain although the document says otherwise; how many were certain; how many there are."""
    mrz = extraction.get("mrz")
    if not mrz or not entry.get("expected_fields"):
        return [], 0, 0
    wrong, certain, total = [], 0, 0
    for field, wanted in entry["expected_fields"].items():
        name = FIELDS.get(field)
        found = extraction.get(name) if name else None
        if found is None:
            continue
        total += 1
        if name in mrz.get("uncertain", []):
            continue
        certain += 1
        if not says(field, wanted, found):
            wrong.append(f"{name}: {found}")
    return wrong, certain, total


def score_labels(judged):
    """Precision and recall for each label: an image counts for its own label, and against every other that it is given."""
    rows = {}
    for label in LABELS:
        own = [(wanted, found) for wanted, found in judged if label in wanted]
        given = [(wanted, found) for wanted, found in judged if label in found]
        same = ACCEPTABLE.get(label, {label})
        hit = sum(bool(found & same) for _, found in own)
        right = sum(bool(wanted & same) for wanted, _ in given)
        if own or given:
            rows[label] = {
                "images": len(own), "recall": round(hit / len(own), 3) if own else None,
                "given": len(given), "precision": round(right / len(given), 3) if given else None,
            }
    return rows


def score_documents(program, data, tally, figures, mistakes):
    folder = os.path.join(data, "documents")
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    entries = [e for e in manifest if not e["kind"].startswith(("emrtd", "mrz_line_crop"))]
    skipped = len(manifest) - len(entries) - sum(e["kind"] == "emrtd_set" for e in manifest)
    requests = [
        {"id": e["file"], "front": os.path.join(folder, e["file"]), "workflow": "id", "gate": False} for e in entries
    ]
    answers, _, wall = batch(program, "inspect", requests, analyzers=1)
    score_fields.score(entries, [first(a, "extraction").get("data") or {} for a in answers], figures, mistakes)
    score_sides.score(program, data, entries, answers, figures, mistakes)
    score_crops.score(program, data, figures, mistakes)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Truth", "attacks.json")) as file:
        portraits = {specimen["file"] for specimen in json.load(file)["specimens"] if "portrait" in specimen}
    backs = {name for name, fact in score_fields.load(entries).items() if fact["side"] == "back"}
    cpu, but_viz, steps, judged, certain, fields = [], [], {}, [], 0, 0
    for entry, answer in zip(entries, answers):
        name, kind = entry["file"], entry["kind"]
        timings = (answer.get("engine") or {}).get("timingsMs") or {}
        if "cpu" in timings:
            # Told apart too, since other MRZ readers read no VIZ.
            cpu.append(timings["cpu"])
            but_viz.append(timings["cpu"] - timings.get("cpu.viz", 0))
            for step, time_ms in timings.items():
                if step.startswith("cpu."):
                    steps.setdefault(step[4:], []).append(time_ms)
        extraction = first(answer, "extraction").get("data") or {}
        reading = extraction.get("mrz") or {}
        mrz = reading.get("lines")
        label = first(answer, "usability").get("decision", {}).get("details", {}).get("label")
        if name in portraits or f"images/{entry.get('base')}" in portraits:
            tally.add("a face found where a portrait is", answer.get("faces"), name)
        truth = entry.get("mrz_lines")
        readable = truth and entry.get("quality_labels") in (None, ["OK"])
        if truth and kind.startswith("mrz_"):
            tally.add(f"MRZ exact, {kind}", mrz == truth, name, f"{mrz}")
            if kind in ("mrz_td1", "mrz_td2", "mrz_td3"):
                tally.add("MRZ exact, TD1+TD2+TD3 specimens", mrz == truth, name)
            tally.add("MRZ exact, TD1+TD2+TD3+MRV specimens", mrz == truth, name)
        if readable and kind == "derived_quality":
            tally.add("MRZ exact, derived photographs labelled OK", mrz == truth, name, f"{mrz}")
        elif truth and kind == "derived_quality":
            tally.add("MRZ exact or not claimed, other derived photographs", mrz in (truth, None), name, f"{mrz}")
        if readable and kind in ("mrz_td1", "mrz_td2", "mrz_td3", "derived_quality"):
            tally.add("MRZ exact, all readable TD1+TD2+TD3", mrz == truth, name)
        if truth and mrz == truth and entry.get("mrz_check_digits"):
            wanted = {CHECKS[key]: holds for key, holds in entry["mrz_check_digits"].items() if key in CHECKS}
            given = {key: reading["checks"].get(key) for key in wanted}
            tally.add("check digits judged right where the lines are", given == wanted, name, f"{given} for {wanted}")
        if truth and mrz:
            wrong, sure, all_fields = confident_mistakes(entry, extraction)
            certain, fields = certain + sure, fields + all_fields
            tally.add("no field certain and false", not wrong, name, f"{wrong}")
        if truth is None and kind in ("negative", "dl_front", "front_quality"):
            tally.add("no MRZ claimed where none is", mrz is None, name, f"{mrz}")
        if kind == "negative":
            claimed = label != "NOT_A_DOCUMENT"
            tally.add("no document claimed where none is", not claimed, name, f"{label}")
        if kind.startswith("pdf417"):
            text = (extraction.get("barcode") or {}).get("text")
            wanted = entry["barcode_text"]
            # An image with several symbols counts when the one that is reported is read without a fault.
            wanted = [t.replace("\0", "\ufffd") for t in (wanted if isinstance(wanted, list) else [wanted])]
            # Some symbols were drawn from a text with a byte order mark, which the encoder turned into a question mark.
            wanted += ["?" + t[1:] for t in wanted if t.startswith("\ufeff")]
            tally.add(f"barcode exact, {kind}", text in wanted, name, f"{text}"[:60])
        wanted = entry.get("quality_labels")
        copy = first(answer, "imageChecks").get("decision", {})
        found = {label, copy.get("details", {}).get("label") if copy.get("type") == "REJECTED" else None}
        # Every image is sent as the front; that a back misses one is scored among the sides.
        if entry["file"] in backs or f"images/{entry.get('base')}" in backs:
            found -= {"MISSING_PAGE"}
        found = found - {"OK", None} or {"OK"}
        if wanted is None and entry.get("mrz_valid"):
            good = found == {"OK"}
            tally.add("clean specimens are not rejected", good, name, f"{label}, {copy}")
            judged.append(({"OK"}, found))
        elif wanted:
            accepted = set().union(*(ACCEPTABLE.get(w, {w}) for w in wanted))
            tally.add(f"usability and imageChecks, {wanted[0]}", bool(found & accepted), name, f"{sorted(map(str, found))}")
            judged.append((set(wanted), found))
    figures["documents"] = {
        "inputs": len(entries), "not_scored": skipped, "wall_s": round(wall, 1),
        "cpu_ms_median": round(statistics.median(cpu), 1) if cpu else None,
        "cpu_ms_p95": round(percentile(cpu, 0.95), 1) if cpu else None,
        "cpu_ms_but_viz": {
            "median": round(statistics.median(but_viz), 1), "p95": round(percentile(but_viz, 0.95), 1),
        } if cpu else None,
        "cpu_ms_by_step": {
            step: {"median": round(statistics.median(times), 1), "p95": round(percentile(times, 0.95), 1)}
            for step, times in sorted(steps.items())
        },
        "fields": fields, "fields_certain": certain, "labels": score_labels(judged),
    }


def score_vectors(program, data, tally):
    """MRZs and barcodes as text, without a camera."""
    folder = os.path.join(data, "documents")
    vectors = json.load(open(os.path.join(folder, "mrz_vectors.json")))
    cards = json.load(open(os.path.join(folder, "aamva_vectors.json")))
    requests = [{"mrz": v["lines"]} for v in vectors] + [{"barcode": c["raw"]} for c in cards]
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run([program, "parse", "--batch", "-"], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    names = {
        "document_code": "documentCode", "issuing_state": "issuingState", "document_number": "documentNumber",
        "surname": "surname", "given_names": "givenNames",
        "nationality": "nationality", "sex": "sex", "birth_date": "birthDate", "expiry_date": "expiryDate",
        "personal_number": "personalNumber",
    }
    for vector, answer in zip(vectors, answers):
        wrong = {}
        if (answer.get("format") or "UNKNOWN") != vector["format"]:
            wrong["format"] = answer.get("format")
        if any(not re.fullmatch("[A-Z0-9<]+", line) for line in vector["lines"]):
            # Characters that no MRZ has: refused, and rightly so.
            tally.add("MRZ vectors", answer.get("format") is None, vector["id"], "taken apart")
            continue
        for field, wanted in vector["expected"].items():
            found = answer["fields"].get(names[field]) if field in names else None
            if field in names and (found or "") != str(wanted).replace("<", "" if field == "sex" else "<"):
                wrong[field] = (found, wanted)
        for check, holds in vector["checks"].items():
            if answer["checks"].get(CHECKS[check]) != holds:
                wrong[check] = (answer["checks"].get(CHECKS[check]), holds)
        tally.add("MRZ vectors", not wrong, vector["id"], f"{wrong}")
    titles = {
        "First": "firstName", "Middle": "middleNames", "Last": "surname", "IdNumber": "documentNumber",
        "DateOfBirth": "birthDay", "IssueDate": "issueDay", "ExpirationDate": "expiryDay", "StreetLine1": "street",
        "City": "city", "JurisdictionCode": "jurisdiction",
    }
    for card, answer in zip(cards, answers[len(vectors):]):
        wrong = {}
        for element, wanted in card["elements"].items():
            # Control characters separate elements, and are part of none.
            if answer["elements"].get(element) != re.sub("[\\x00-\\x1f\\x7f-\\x9f].*", "", wanted).strip():
                wrong[element] = (answer["elements"].get(element), wanted)
        for title, name in titles.items():
            wanted = card["expected"].get(title)
            if isinstance(wanted, str) and (answer["fields"].get(name) or "").upper() != wanted.upper():
                wrong[title] = (answer["fields"].get(name), wanted)
        tally.add("AAMVA vectors", not wrong, card["id"], f"{wrong}")


CHIP_CHECKS = ("sod_parse", "dg_hashes_ok", "sod_signature_ok", "dsc_chain_ok", "dsc_valid_period", "country_match")


def score_chips(program, data, tally, figures):
    folder = os.path.join(data, "documents")
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    entries = [e for e in manifest if e["kind"] == "emrtd_set"]
    requests = []
    for entry in entries:
        request = {"id": entry["file"], "workflow": "id", "gate": False}
        for part, name in [("dg1", "EF_DG1.bin"), ("dg2", "EF_DG2.bin"), ("sod", "EF_SOD.bin")]:
            if name in entry["files"]:
                request[part] = os.path.join(folder, entry["file"], name)
        if "CSCA.cer" in entry["files"]:
            request["csca"] = [os.path.join(folder, entry["file"], "CSCA.cer")]
        requests.append(request)
    answers, _, wall = batch(program, "inspect", requests, analyzers=1)
    cpu = []
    for entry, answer in zip(entries, answers):
        name, expected = entry["file"], entry["expected"]
        timings = (answer.get("engine") or {}).get("timingsMs") or {}
        if "cpu" in timings:
            cpu.append(timings["cpu"])
        chip = (first(answer, "extraction").get("data") or {}).get("chip") or {}
        verdict = chip.get("passiveAuthentication") or {}
        checks = verdict.get("checks") or {}
        wrong = {c: checks.get(c) for c in CHIP_CHECKS if c in expected and checks.get(c) != expected[c]}
        if "country_sod" in name:
            verified = checks.get("sod_signature_ok") is True
            tally.add(f"security object verified, {name.rsplit('_', 1)[1]}", verified, name, f"{verdict.get('reasons')}")
        tally.add("chips, every labelled check right", not wrong and checks, name, f"{wrong} {verdict.get('reasons')}")
        if all(c in expected for c in CHIP_CHECKS):
            good = (verdict.get("status") == "valid") == all(expected[c] for c in CHIP_CHECKS)
            tally.add("chips, valid exactly when all is well", good, name, f"{verdict.get('status')}")
        if "dg1_mrz" in expected:
            tally.add("chips, DG1 exact", (chip.get("dg1") or {}).get("lines") == expected["dg1_mrz"], name, "")
        if "EF_DG2.bin" in entry["files"]:
            tally.add("chips, portrait decodes", bool((chip.get("dg2") or {}).get("image")), name, f"{chip.get('dg2')}")
    figures["chips"] = {
        "inputs": len(entries), "wall_s": round(wall, 1),
        "cpu_ms_median": round(statistics.median(cpu), 1) if cpu else None,
    }


def score_faces(program, data, figures, mistakes):
    folder = os.path.join(data, "faces")
    with open(os.path.join(folder, "pairs.csv")) as file:
        pairs = [p for p in csv.DictReader(file) if os.path.exists(os.path.join(folder, p["file_a"]))]
    requests = [{"a": os.path.join(folder, p["file_a"]), "b": os.path.join(folder, p["file_b"])} for p in pairs]
    answers, cpu, wall = batch(program, "compare", requests, analyzers=2)
    failed = [a["error"] for a in answers if a.get("error")]
    if failed:
        raise SystemExit(f"compare: {len(failed)} of {len(pairs)} pairs failed, the first with {failed[0]}")
    groups = {}
    for pair, answer in zip(pairs, answers):
        # A series of grimaces by one person: told apart, since no passport or selfie looks like that.
        hard = "human_emotions" in pair["file_a"] and "human_emotions" in pair["file_b"] and pair["same"] == "1"
        group = groups.setdefault("expression series" if hard else "plain", {
            "genuine": 0, "impostor": 0, "false_non_matches": 0, "false_matches": 0, "no_face": 0})
        same, match = pair["same"] == "1", answer["match"]
        group["genuine" if same else "impostor"] += 1
        if match is None:
            group["no_face"] += 1
        if same and match is not True:
            group["false_non_matches"] += 1
            mistakes.append(("false non-match", f"{pair['file_a']} {pair['file_b']}", f"{answer['similarity']}"))
        if not same and match is True:
            group["false_matches"] += 1
            mistakes.append(("false match", f"{pair['file_a']} {pair['file_b']}", f"{answer['similarity']}"))
    for group in groups.values():
        group["fmr_upper_95"] = upper_bound(group["false_matches"], group["impostor"])
        group["fnmr_upper_95"] = upper_bound(group["false_non_matches"], group["genuine"])
    figures["faces"] = {
        "pairs": len(pairs), "threshold": answers[0]["threshold"] if answers else None, "groups": groups,
        "cpu_ms_per_pair": round(1000 * cpu / max(1, len(pairs)), 1), "wall_s": round(wall, 1),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=("all", "documents"), default="all")
    parser.add_argument("--inspectd", required=True)
    parser.add_argument("--data", default="../shared/testdata")
    parser.add_argument("--mistakes", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.data, "documents", "manifest.json")):
        raise SystemExit(f"no labelled data in {options.data}: give --data DIR")
    tally, figures, mistakes, face_mistakes = Tally(), {}, [], []
    score_documents(options.inspectd, options.data, tally, figures, mistakes)
    score_chips(options.inspectd, options.data, tally, figures)
    score_vectors(options.inspectd, options.data, tally)
    if options.what == "all":
        score_faces(options.inspectd, options.data, figures, face_mistakes)
    figures["accuracy"] = {kind: {"right": right, "total": total} for kind, right, total in tally.rows()}
    for kind, right, total in tally.rows():
        print(f"{kind:52} {right:4} / {total:<4} {100 * right / total:5.1f} %")
    shown = "{:52} {:>8} {:>8} {:>8} {:>9}".format
    print(shown("label", "images", "recall", "given", "precision"))
    for label, row in figures["documents"]["labels"].items():
        print(shown(label, *("-" if v is None else v for v in row.values())))
    print(shown("processor time of a side, ms", "median", "95th", "", ""))
    for step, row in figures["documents"]["cpu_ms_by_step"].items():
        print(shown(step, row["median"], row["p95"], "", ""))
    for row, (median, high) in {
        "all but VIZ": (figures["documents"]["cpu_ms_but_viz"] or {"median": "-", "p95": "-"}).values(),
        "all": (figures["documents"]["cpu_ms_median"], figures["documents"]["cpu_ms_p95"]),
    }.items():
        print(shown(row, median, high, "", ""))
    score_fields.show(figures)
    score_sides.show(figures)
    score_crops.show(figures)
    if options.mistakes:
        for kind, name, why in tally.mistakes + mistakes + face_mistakes:
            print(f"- {kind}: {name}: {why}")
    if options.what == "documents":
        print(json.dumps(figures))
    else:
        print(json.dumps({key: figures[key] for key in ("documents", "idResult", "sides", "crops", "chips", "faces")}, indent=1))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


sys.exit(main())
