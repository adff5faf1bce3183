"""Scores `inspectd` over labelled documents, chips and faces. Called by Tests/score.sh; needs Python's standard library only."""

import argparse
import csv
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time

# Confusions of the labels that mean the same to whoever has to take the picture again.
ACCEPTABLE = {
    "OK": {"OK"},
    "BLURRED": {"BLURRED", "BAD_QUALITY_IMAGE"},
    "BAD_QUALITY_IMAGE": {"BAD_QUALITY_IMAGE", "BLURRED"},
}


def batch(program, command, requests, slots):
    """Runs one batch; returns the answers and the CPU seconds of the program and its analyzers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    arguments = [program, command, "--batch", "-", "--slots", str(slots)]
    done = subprocess.run(arguments, input=lines.encode(), stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise SystemExit(f"{command}: {len(requests)} requests, {len(answers)} answers")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return answers, cpu, time.monotonic() - begin


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else None


def upper_bound(errors, trials):
    """95 % upper bound of a rate (Clopper-Pearson, one-sided), by bisection on the binomial tail."""
    if trials == 0:
        return None
    low, high = errors / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        tail = sum(math.comb(trials, k) * middle**k * (1 - middle) ** (trials - k) for k in range(errors + 1))
        low, high = (middle, high) if tail > 0.05 else (low, middle)
    return high


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


def score_documents(program, data, tally, figures):
    folder = os.path.join(data, "documents")
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    entries = [e for e in manifest if not e["kind"].startswith(("emrtd", "mrz_line_crop"))]
    skipped = len(manifest) - len(entries) - sum(e["kind"] == "emrtd_set" for e in manifest)
    requests = [
        {"id": e["file"], "front": os.path.join(folder, e["file"]), "workflow": "id", "gate": False} for e in entries
    ]
    answers, _, wall = batch(program, "inspect", requests, slots=1)
    cpu = []
    for entry, answer in zip(entries, answers):
        name, kind = entry["file"], entry["kind"]
        timings = (answer.get("engine") or {}).get("timingsMs") or {}
        if "cpu" in timings:
            cpu.append(timings["cpu"])
        extraction = first(answer, "extraction").get("data") or {}
        mrz = (extraction.get("mrz") or {}).get("lines")
        label = first(answer, "usability").get("decision", {}).get("details", {}).get("label")
        truth = entry.get("mrz_lines")
        readable = truth and entry.get("quality_labels") in (None, ["OK"])
        if truth and kind.startswith("mrz_"):
            tally.add(f"MRZ exact, {kind}", mrz == truth, name, f"{mrz}")
            if kind in ("mrz_td1", "mrz_td2", "mrz_td3"):
                tally.add("MRZ exact, TD1+TD2+TD3 specimens", mrz == truth, name)
        if truth and kind == "derived_quality":
            tally.add("MRZ exact, derived photographs", mrz == truth, name, f"{mrz}")
        if readable and kind in ("mrz_td1", "mrz_td2", "mrz_td3", "derived_quality"):
            tally.add("MRZ exact, all readable TD1+TD2+TD3", mrz == truth, name)
        if truth is None and kind in ("negative", "dl_front", "front_quality"):
            tally.add("no MRZ claimed where none is", mrz is None, name, f"{mrz}")
        if kind.startswith("pdf417"):
            text = (extraction.get("barcode") or {}).get("text")
            wanted = entry["barcode_text"]
            # A picture with several symbols counts when the one that is reported is read without a fault.
            wanted = [t.replace("\0", "\ufffd") for t in (wanted if isinstance(wanted, list) else [wanted])]
            # Some symbols were drawn from a text with a byte order mark, which the encoder turned into a question mark.
            wanted += ["?" + t[1:] for t in wanted if t.startswith("\ufeff")]
            tally.add(f"barcode exact, {kind}", text in wanted, name, f"{text}"[:60])
        wanted = entry.get("quality_labels")
        if wanted is None and entry.get("mrz_valid"):
            wanted = ["OK"]
            copy = first(answer, "imageChecks").get("decision", {})
            good = label == "OK" and copy.get("type") != "REJECTED"
            tally.add("clean specimens are not rejected", good, name, f"{label}, {copy}")
        elif wanted:
            accepted = set().union(*(ACCEPTABLE.get(w, {w}) for w in wanted))
            copy = first(answer, "imageChecks").get("decision", {}).get("details", {}).get("label")
            found = {label, copy} - {"OK"} or {"OK"}
            tally.add(f"usability and imageChecks, {wanted[0]}", bool(found & accepted), name, f"{sorted(map(str, found))}")
    figures["documents"] = {
        "inputs": len(entries), "not_scored": skipped, "wall_s": round(wall, 1),
        "cpu_ms_median": round(statistics.median(cpu), 1) if cpu else None,
        "cpu_ms_p95": round(percentile(cpu, 0.95), 1) if cpu else None,
    }


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
    answers, _, wall = batch(program, "inspect", requests, slots=1)
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
    answers, cpu, wall = batch(program, "compare", requests, slots=2)
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
    parser.add_argument("--inspectd", required=True)
    parser.add_argument("--data", default="../shared/testdata")
    parser.add_argument("--mistakes", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.data, "documents", "manifest.json")):
        raise SystemExit(f"no labelled data in {options.data}: give --data DIR")
    tally, figures, face_mistakes = Tally(), {}, []
    score_documents(options.inspectd, options.data, tally, figures)
    score_chips(options.inspectd, options.data, tally, figures)
    score_faces(options.inspectd, options.data, figures, face_mistakes)
    figures["accuracy"] = {kind: {"right": right, "total": total} for kind, right, total in tally.rows()}
    for kind, right, total in tally.rows():
        print(f"{kind:45} {right:4} / {total:<4} {100 * right / total:5.1f} %")
    print(json.dumps({key: figures[key] for key in ("documents", "chips", "faces")}, indent=1))
    if options.mistakes:
        for kind, name, why in tally.mistakes + face_mistakes:
            print(f"- {kind}: {name}: {why}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


sys.exit(main())
