"""Measures inspectd, PassportEye and FastMRZ over the same images of MRZs. Called by documents.sh."""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
#: Where the section begins in RESULTS.md, and the one after it; report.py keeps both.
TITLE, NEXT = "\n## Documents\n", "\n## Faces\n"
#: The steps of inspectd's document stage, in the order in which they run, and those that the MRZ alone needs.
STEPS = ("decode", "outline", "barcode", "mrz", "quality", "faces", "viz")
MRZ_STEPS = ("decode", "outline", "mrz")


def processor_time():
    """Of this process and of those that it waited for, in milliseconds: both peers start Tesseract for each image."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime)


def lines_of(text):
    """The last lines of a text that have an MRZ's alphabet and length."""
    lines = [re.sub(r"[^A-Z0-9<]", "", line) for line in (text or "").upper().split("\n")]
    return [line for line in lines if len(line) in (30, 36, 44)]


def passport_eye(paths):
    from passporteye import read_mrz

    for path in paths:
        start = processor_time()
        try:
            found = read_mrz(path)
            text = found.aux["raw_text"] if found is not None and "raw_text" in found.aux else None
        except Exception as failure:  # a peer's failure is its answer
            text = f"{type(failure).__name__}"
        yield lines_of(text), processor_time() - start


def fast_mrz(paths):
    from fastmrz import FastMRZ

    reader = FastMRZ()
    for path in paths:
        start = processor_time()
        try:
            answer = reader.get_details(path, include_checkdigit=True)
            text = answer.get("mrz_text") if isinstance(answer, dict) else None
        except Exception as failure:
            text = f"{type(failure).__name__}"
        yield lines_of(text), processor_time() - start


def ours(program, paths):
    requests = "".join(json.dumps({"id": p, "front": p, "workflow": "id", "gate": False}) + "\n" for p in paths)
    done = subprocess.run(
        [program, "inspect", "--batch", "-", "--analyzers", "1"], input=requests.encode(), stdout=subprocess.PIPE, check=True)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        extraction = ((answer["capabilities"].get("extraction") or [{}])[0]).get("data") or {}
        times = answer["engine"]["timingsMs"]
        steps = {step: times.get(f"cpu.{step}", 0) for step in STEPS}
        yield (extraction.get("mrz") or {}).get("lines") or [], times["cpu"], steps


def floor(paths):
    """The least that anybody pays: decoding, and one pass over the pixels."""
    import cv2

    cv2.setNumThreads(1)
    for path in paths:
        start = processor_time()
        image = cv2.imread(path)
        cv2.mean(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        yield processor_time() - start


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--inspectd", required=True)
    options = parser.parse_args()
    folder = os.path.join(options.data, "documents")
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    entries = [
        e for e in manifest
        if e.get("mrz_lines") and e["kind"] != "mrz_line_crop" and e.get("quality_labels") in (None, ["OK"])
    ]
    paths = [os.path.abspath(os.path.join(folder, e["file"])) for e in entries]
    truth = [e["mrz_lines"] for e in entries]
    answers = list(ours(options.inspectd, paths))
    version = subprocess.run([options.inspectd, "--version"], capture_output=True, text=True).stdout.split()[-1]
    systems = {
        f"inspectd {version}, the whole side": [(lines, whole) for lines, whole, _ in answers],
        f"inspectd {version}, decoding, outline and MRZ": [
            (lines, sum(steps[step] for step in MRZ_STEPS)) for lines, _, steps in answers
        ],
    }
    for name, read in (("PassportEye", passport_eye), ("fastmrz", fast_mrz)):
        systems[f"{name} {importlib.metadata.version(name)}"] = list(read(paths))
    rows, figures = [], {}
    base = statistics.median(time for _, time in systems[f"inspectd {version}, the whole side"])
    for name, results in systems.items():
        exact = sum(lines == wanted for (lines, _), wanted in zip(results, truth))
        times = [time for _, time in results]
        median = statistics.median(times)
        figures[name] = {
            "exact": exact, "images": len(truth), "cpu_ms_median": round(median, 1),
            "cpu_ms_p95": round(percentile(times, 0.95), 1), "ratio": round(median / base, 2),
        }
        rows.append(
            f"| {name} | {exact} of {len(truth)} | {median:.0f} | {percentile(times, 0.95):.0f} | {median / base:.2f} |")
    least = list(floor(paths))
    figures["floor"] = {
        "cpu_ms_median": round(statistics.median(least), 1), "cpu_ms_p95": round(percentile(least, 0.95), 1)}
    rows.append(
        f"| the floor: decoding and one pass over the pixels, by OpenCV | – | {statistics.median(least):.0f} "
        f"| {percentile(least, 0.95):.0f} | {statistics.median(least) / base:.2f} |")
    splits = []
    for step in STEPS:
        times = [steps[step] for _, _, steps in answers]
        figures.setdefault("steps", {})[step] = round(statistics.median(times), 1)
        splits.append(f"| {step} | {statistics.median(times):.0f} | {percentile(times, 0.95):.0f} |")
    tesseract = subprocess.run(["tesseract", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    section = "\n".join([
        "inspectd compared with PassportEye and FastMRZ.", "",
        "Written by `Tests/Peers/documents.sh`; do not edit.", "",
        f"{datetime.date.today()}, {len(truth)} images of documents whose MRZ people can read (specimens and derived "
        f"photographs), one after the other, one thread each; both peers call {tesseract}. An image counts where every "
        "character of every line is right.", "",
        "| system | all lines exact | processor time, ms, median | 95th percentile | of inspectd's median |",
        "|---|---|---|---|---|", *rows, "",
        "inspectd's time for a whole side is that from the first byte to the last fact, VIZ text included if the job reads it. "
        "The peers only look for the MRZ. Python's start and the loading of models are not counted. The machine's load at "
        f"the end was {os.getloadavg()[0]:.1f}.", "",
        "| step of inspectd | processor time, ms, median | 95th percentile |", "|---|---|---|", *splits, ""])
    results = FOLDER / "RESULTS.md"
    text = results.read_text() if results.exists() else ""
    before, _, after = text.partition(NEXT)
    before = before.partition(TITLE)[0].rstrip("\n")
    results.write_text(before + "\n" + TITLE + "\n" + section.rstrip("\n") + "\n" + (NEXT + after if after else ""))
    print(section)
    print(json.dumps(figures))


sys.exit(main())
