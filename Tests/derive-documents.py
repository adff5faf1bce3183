#!/usr/bin/python3
"""Derives images of documents with known faults, and scores how `inspectd` labels them.

Every image is a flat document photographed on a table (deploy/specimen/camera.py) in a position, light and size drawn by
lot, then spoilt in one way with a strength drawn by lot: unmistakably, or (label OK) not enough to matter. Documents
are the specimens that deploy/specimens.py draws and, with --flat, scans of other make; `truth.json` beside these maps a scan's
name to the lines of its MRZ.

Needs Debian's python3-pil and python3-numpy. The same arguments give the same images.

Usage: derive-documents.py make --out DIR --face FACE.jpg [--flat DIR] [--count N] [--seed N]
                                [--labels A,B...] [--documents A,B...]
       derive-documents.py score --out DIR --inspectd PROGRAM [--mistakes]

The label TURNED is OK for images that lie anyhow, up to upside down, on a table that may be littered.
"""

import argparse
import io
import json
import math
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "deploy"))

from score_fields import spellings  # noqa: E402
from specimen import camera, card  # noqa: E402
from specimen.holder import Holder  # noqa: E402

HOLDERS = [
    Holder(expiry=date(2034, 4, 15), issued=date(2024, 4, 16)),
    Holder(surname="Nowak-Lewandowska", given_names="Zofia", issuer="POL", nationality="POL", number="ZS1234567",
           birth=date(1991, 2, 3), expiry=date(2033, 1, 9), issued=date(2023, 1, 9), personal_number="91020300001"),
    Holder(surname="Müller", given_names="Jörg Peter", issuer="D", nationality="D", number="C01X00T47", sex="M",
           birth=date(1966, 11, 30), expiry=date(2031, 8, 1), issued=date(2021, 8, 2), personal_number=""),
]
LABELS = [
    "OK", "BLURRED", "GLARE", "BLACK_WHITE", "PHOTOCOPY", "PART_OF_DOCUMENT_MISSING", "PART_OF_DOCUMENT_HIDDEN",
    "BAD_QUALITY_IMAGE", "DIGITAL_COPY", "DAMAGED_DOCUMENT", "COLOR_PHOTOCOPY",
]

#: Fields of an MRZ as `inspectd parse` names them, and what the result calls them.
FIELDS = {
    "documentNumber": "documentNumber", "surname": "lastName", "givenNames": "firstName", "birthDate": "dateOfBirth",
    "expiryDate": "expiryDate", "personalNumber": "personalNumber", "nationality": "nationality", "sex": "gender",
    "issuingState": "issuingCountry",
}


@dataclass
class Document:
    """A document as a scanner would see it: its name, the lines of its MRZ, and what else is printed."""

    name: str
    draw: Callable[[], Image.Image]
    lines: list[str] | None
    printed: dict[str, str]

    @cached_property
    def image(self) -> Image.Image:
        return self.draw()


def flat_documents(face: Path, folder: Path | None, seed: int) -> list[Document]:
    portrait = card.Face(face, (0.375, 0.03, 0.34, 0.36))
    documents = []
    for number, holder in enumerate(HOLDERS):
        printed = {"documentNumber": holder.number, "dateOfBirth": holder.birth.isoformat(),
                   "expiryDate": holder.expiry.isoformat(), "lastName": holder.surname.upper(),
                   "firstName": holder.given_names.upper(), "issuingDate": holder.issued.isoformat()}
        for name, draw, lines in [
            ("td3", card.passport, holder.td3()), ("td1", card.identity_card_front, None),
            ("td2", card.travel_document, holder.td2()), ("dl", card.licence_front, None),
        ]:
            front = partial(draw, holder, portrait, seed + number)
            documents.append(Document(f"{name}_{number}", front, lines, printed))
        back = partial(card.identity_card_back, holder, seed + number)
        documents.append(Document(f"td1back_{number}", back, holder.td1(), {}))
    truth = json.loads((folder / "truth.json").read_text()) if folder else {}
    for path in sorted(folder.glob("*.[jp]*g")) if folder else []:
        documents.append(Document(path.stem, partial(opened, path), truth.get(path.stem), {}))
    return documents


def opened(path: Path) -> Image.Image:
    return Image.open(path).convert("RGB")


def pose(rng: np.random.Generator) -> camera.Shot:
    """An image that is good enough, taken anyhow."""
    width = int(rng.choice([1200, 1600, 2000]))
    return camera.Shot(
        tilt=rng.uniform(-12, 12), turn=rng.uniform(-12, 12), roll=rng.uniform(-9, 9), fill=rng.uniform(0.66, 0.84),
        centre=(rng.uniform(0.48, 0.52), rng.uniform(0.48, 0.52)), blur=rng.uniform(0, 0.8),
        noise=rng.uniform(0.5, 3.5), exposure=rng.uniform(0.6, 1.0), falloff=rng.uniform(0, 0.25),
        warmth=rng.uniform(-0.04, 0.08), quality=int(rng.integers(78, 96)),
        desk=str(rng.choice(["wood", "cloth", "stone"])), size=(width, width * 3 // 4))


def disc(radius: float) -> np.ndarray:
    """The blur of a lens out of focus."""
    reach = math.ceil(radius)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = (np.hypot(x, y) <= radius).astype(np.float32)
    return kernel / kernel.sum()


def streak(length: float, angle: float) -> np.ndarray:
    """The blur of a hand that moves."""
    reach = math.ceil(length / 2)
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    for t in np.linspace(-length / 2, length / 2, 8 * reach + 1):
        kernel[round(reach + t * math.sin(angle)), round(reach + t * math.cos(angle))] += 1
    return kernel / kernel.sum()


def convolve(pixels: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    reach = kernel.shape[0] // 2
    wide = np.pad(pixels, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    total = np.zeros_like(pixels)
    for (y, x), weight in np.ndenumerate(kernel):
        if weight:
            total += weight * wide[y : y + pixels.shape[0], x : x + pixels.shape[1]]
    return total


def decode(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.float32)


def encode(pixels: np.ndarray, quality: int = 88) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def halftone(document: Image.Image, period: float) -> Image.Image:
    """Printed by a machine: four inks in round dots, at the angles that printers use for them."""
    pixels = np.asarray(document.convert("CMYK"), np.float32) / 255
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    inks = []
    for channel, degrees in enumerate((15, 75, 0, 45)):
        a = math.radians(degrees)
        u, v = x * math.cos(a) + y * math.sin(a), y * math.cos(a) - x * math.sin(a)
        screen = 0.5 + 0.25 * (np.cos(2 * math.pi * u / period) + np.cos(2 * math.pi * v / period))
        inks.append((pixels[:, :, channel] > screen).astype(np.float32) * 255)
    printed = Image.merge("CMYK", [Image.fromarray(ink.astype(np.uint8)) for ink in inks])
    return printed.convert("RGB").filter(ImageFilter.GaussianBlur(period / 8))


def spoil(label: str, document: Image.Image, rng: np.random.Generator, seed: int) -> bytes:
    """One image of `document` that deserves `label`."""
    shot = pose(rng)
    if label == "TURNED":
        width = shot.size[0]
        shot = replace(
            shot, roll=rng.uniform(0, 360), fill=rng.uniform(0.55, 0.68), tilt=rng.uniform(-18, 18),
            turn=rng.uniform(-18, 18), blur=rng.uniform(0, 1.1), size=(width, width), quality=int(rng.integers(50, 91)),
            desk=str(rng.choice(["wood", "cloth", "stone", "tiles", "papers"])))
    scale = shot.fill * shot.size[0] / 1000  # px for each thousandth of the document's width
    is_framed = label == "PART_OF_DOCUMENT_MISSING" and rng.integers(2)
    if label == "PART_OF_DOCUMENT_MISSING" and not is_framed:
        x, y = rng.choice([(0.8, 0.5), (0.2, 0.5), (0.5, 0.85), (0.5, 0.15), (0.78, 0.25)])
        shot = replace(shot, centre=(x + rng.uniform(-0.04, 0.04), y + rng.uniform(-0.04, 0.04)))
    if label == "PART_OF_DOCUMENT_HIDDEN":
        shot = replace(shot, thumb=(rng.uniform(0.15, 0.85), rng.uniform(0.55, 0.8)))
    if label == "DAMAGED_DOCUMENT":
        shot = replace(shot, cut=(int(rng.integers(4)), rng.uniform(0.1, 0.2)))
    if label == "GLARE":
        shot = replace(shot, exposure=rng.uniform(0.75, 1.0), glare=(
            rng.uniform(0.2, 0.8), rng.uniform(0.2, 0.8), rng.uniform(0.1, 0.3), rng.uniform(0.07, 0.2)))
    if label == "COLOR_PHOTOCOPY":
        # From a laser printer's 106 lines an inch to the 150 of an offset press, seen at 2 to 4 pixels a dot or more.
        document = document.resize((1800, round(1800 * document.height / document.width)), Image.LANCZOS)
        document = halftone(document, rng.uniform(4.2, 7.5))
        shot = replace(shot, size=(2000, 1500), blur=rng.uniform(0, 0.5))
    if label == "DIGITAL_COPY":
        document = document.resize((1400, round(1400 * document.height / document.width)), Image.LANCZOS)
    pixels = decode(camera.photograph(document, shot, seed, photocopy=label == "PHOTOCOPY")[0])
    if is_framed:
        pixels = frame(pixels, shot, document.height / document.width, rng)
    if label == "BLURRED":
        kind = rng.integers(3)
        if kind == 0:
            pixels = convolve(pixels, disc(rng.uniform(5, 9) * scale))
        elif kind == 1:
            pixels = convolve(pixels, streak(rng.uniform(15, 28) * scale, rng.uniform(0, math.pi)))
        else:
            image = Image.fromarray(pixels.astype(np.uint8))
            pixels = np.asarray(image.filter(ImageFilter.GaussianBlur(rng.uniform(4, 9) * scale)), np.float32)
        pixels += rng.normal(0, rng.uniform(0, 2.5), pixels.shape)
    if label == "BLACK_WHITE":
        weights = np.array(rng.choice([(0.299, 0.587, 0.114), (1 / 3, 1 / 3, 1 / 3), (0, 1, 0)]))
        pixels = np.repeat((pixels @ weights)[:, :, None], 3, axis=2)
    if label == "BAD_QUALITY_IMAGE":
        if rng.integers(2):
            pixels = 255 * (pixels / 255) ** 1.3 * rng.uniform(0.08, 0.16)
            pixels += rng.normal(0, 3, pixels.shape)
        else:
            width = int(rng.uniform(170, 270) / shot.fill)
            small = Image.fromarray(pixels.astype(np.uint8)).resize((width, width * 3 // 4), Image.LANCZOS)
            pixels = np.asarray(small, np.float32)
    if label == "DIGITAL_COPY":
        pixels = screen(pixels, rng)
    return encode(pixels, int(rng.integers(80, 94)))


def screen(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The image as a display shows it, photographed again: rows of sub-pixels at a small angle."""
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    a, period = rng.uniform(-0.08, 0.08), rng.uniform(2.6, 4.5)
    u, v = x * math.cos(a) + y * math.sin(a), y * math.cos(a) - x * math.sin(a)
    for channel in range(3):
        phase = 2 * math.pi * (u / period + channel / 3)
        gain = 0.78 + 0.28 * np.cos(phase) + 0.1 * np.cos(2 * math.pi * v / period)
        pixels[:, :, channel] *= gain
    return pixels


def frame(pixels: np.ndarray, shot: camera.Shot, aspect: float, rng: np.random.Generator) -> np.ndarray:
    """What is left where the frame ends inside the document, at one side or at two that meet."""
    height, width = pixels.shape[:2]
    along = shot.fill * width
    down = along * aspect
    left, top = shot.centre[0] * width - along / 2, shot.centre[1] * height - down / 2
    side = int(rng.integers(6))
    x0, y0, x1, y1 = 0, 0, width, height
    if side in (0, 4):
        x0 = int(left + along * rng.uniform(0.08, 0.35))
    if side in (1, 5):
        x1 = int(left + along * rng.uniform(0.65, 0.92))
    if side in (2, 4):
        y0 = int(top + down * rng.uniform(0.1, 0.35))
    if side in (3, 5):
        y1 = int(top + down * rng.uniform(0.65, 0.9))
    return pixels[y0:y1, x0:x1]


def make(options: argparse.Namespace) -> None:
    documents = [
        document for document in flat_documents(options.face, options.flat, options.seed)
        if not options.documents or document.name in options.documents]
    options.out.mkdir(parents=True, exist_ok=True)
    manifest = []
    for index in range(options.count):
        rng = np.random.default_rng([options.seed, index])
        label = options.labels[index % len(options.labels)]
        document = documents[rng.integers(len(documents))]
        data = spoil(label, document.image, rng, options.seed * 7919 + index)
        file = f"{index:04d}_{label}_{document.name}.jpg"
        (options.out / file).write_bytes(data)
        manifest.append({"file": file, "label": label, "document": document.name, "lines": document.lines,
                         "printed": document.printed})
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1))


def score(options: argparse.Namespace) -> None:
    manifest = json.loads((options.out / "manifest.json").read_text())
    requests = "".join(
        json.dumps({"id": e["file"], "front": str(options.out / e["file"]), "workflow": "id", "gate": False}) + "\n"
        for e in manifest)
    done = subprocess.run(
        [options.inspectd, "inspect", "--batch", "-", "--analyzers", "1"], input=requests.encode(),
        stdout=subprocess.PIPE, check=True)
    fields = mrz_fields(options.inspectd, manifest)
    counts = {label: [0, 0, 0] for label in LABELS}
    mistakes, readings, certain, wrong = [], [], 0, []
    for entry, line in zip(manifest, done.stdout.splitlines(), strict=True):
        capabilities = json.loads(line)["capabilities"]
        data = (capabilities["extraction"][0] if capabilities.get("extraction") else {}).get("data") or {}
        mrz = data.get("mrz")
        if entry["lines"] and entry["label"] in ("OK", "TURNED"):
            readings.append((entry["file"], entry["lines"], mrz and mrz["lines"]))
        sure, false = certain_fields(data, fields.get(entry["file"], {}), entry["printed"])
        certain += sure
        wrong += [f"{entry['file']}: {text}" for text in false]
        claims = (capabilities["dataChecks"][0] if capabilities.get("dataChecks") else {}).get("decision") or {}
        if claims.get("details", {}).get("label") == "MISMATCH_HRZ_MRZ_DATA":
            wrong.append(f"{entry['file']}: a contradiction of the print")
        found = set()
        for name in ("usability", "imageChecks"):
            for record in capabilities.get(name) or []:
                if record["decision"]["type"] == "REJECTED":
                    found.add(record["decision"]["details"]["label"])
        if any(reason["code"] == 103 for reason in json.loads(line)["rejectReasons"]):
            found = found - {"PHOTOCOPY"} | {"COLOR_PHOTOCOPY"}  # one label, two codes
        found = found & set(LABELS) or ({"OK"} if not found else found)
        quality = (capabilities["usability"][0].get("data") or {}).get("quality")
        wanted = entry["label"] if entry["label"] != "TURNED" else "OK"
        for label in counts:
            hit, seen = label == wanted, label in found
            counts[label][0] += hit and seen
            counts[label][1] += seen and not hit
            counts[label][2] += hit and not seen
        if wanted not in found:
            outline = (capabilities["usability"][0].get("data") or {}).get("outline")
            mistakes.append((entry["file"], sorted(found), {"quality": quality, "outline": outline, "mrz": mrz}))
    print(f"{'label':28} right  false  missed  precision  recall")
    for label, (right, false, missed) in counts.items():
        if right + false + missed:
            precision = right / (right + false) if right + false else float("nan")
            recall = right / (right + missed) if right + missed else float("nan")
            print(f"{label:28} {right:5} {false:6} {missed:7} {precision:10.2f} {recall:7.2f}")
    exact = sum(wanted == found for _, wanted, found in readings)
    print(f"MRZs exact in images without a fault: {exact} of {len(readings)}")
    print(f"fields reported as certain: {certain}, false: {len(wrong)}")
    if options.mistakes:
        for text in wrong:
            print(f"- false: {text}")
        for file, wanted, found in readings:
            if wanted != found:
                print(f"- MRZ: {file}: {found} for {wanted}")
        for file, found, facts in mistakes:
            print(f"- {file}: {found} {json.dumps(facts)}")


def mrz_fields(program: str, manifest: list[dict]) -> dict[str, dict[str, str]]:
    """What the MRZs say, by file."""
    entries = [entry for entry in manifest if entry["lines"]]
    requests = "".join(json.dumps({"mrz": entry["lines"]}) + "\n" for entry in entries)
    done = subprocess.run(
        [program, "parse", "--batch", "-"], input=requests.encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {entry["file"]: answer["fields"] for entry, answer in zip(entries, answers, strict=True)}


def certain_fields(data: dict, mrz: dict[str, str], printed: dict[str, str]) -> tuple[int, list[str]]:
    """How many fields of a result are certain, and which of these the document does not bear."""
    method = data.get("extractionMethod")
    certain, false = 0, []
    if method == "MRZ":
        for key, name in FIELDS.items():
            found = data.get(name)
            if found is None or name in data["mrz"]["uncertain"]:
                continue
            wanted = mrz.get(key) or ""
            if name in ("dateOfBirth", "expiryDate"):
                found = found.replace("-", "")[2:]
            wanted = {"issuingCountry": {"D": "DEU"}, "nationality": {"D": "DEU"}, "gender": {"<": "X", "": "X"}}.get(
                name, {}).get(wanted, wanted)
            certain += 1
            # Where the VIZ agrees, names are spelt as printed.
            is_spelling = name in ("lastName", "firstName") and bool(spellings(found) & spellings(wanted))
            if found != wanted and not is_spelling:
                false.append(f"{name} {found} for {wanted}")
    for name in printed if method == "OCR" else ["issuingDate"] if "issuingDate" in printed else []:
        found = data.get(name)
        if found is not None:
            certain += 1
            if unmarked(found) != unmarked(printed[name]):
                false.append(f"print: {name} {found} for {printed[name]}")
    return certain, false


def unmarked(text: str) -> str:
    """A name without the marks on its letters: the recogniser reads none."""
    return "".join(c for c in unicodedata.normalize("NFD", text.upper()) if not unicodedata.combining(c))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "score"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--face", type=Path)
    parser.add_argument("--flat", type=Path)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--documents", type=lambda text: text.split(","), help="names, all by default")
    parser.add_argument("--labels", type=lambda text: text.split(","), default=LABELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inspectd", default=".build/release/inspectd")
    parser.add_argument("--mistakes", action="store_true")
    options = parser.parse_args()
    (make if options.action == "make" else score)(options)


if __name__ == "__main__":
    main()
