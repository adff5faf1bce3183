#!/usr/bin/python3
"""Derives pictures of documents with known faults, and scores how `inspectd` labels them.

Every picture is a flat document photographed on a table (deploy/specimen/camera.py) in a position, light and size drawn by
lot, then spoilt in one way with a strength drawn by lot: unmistakably, or (label OK) not enough to matter. Documents
are the specimens that deploy/specimens.py draws and, with --flat, scans of other make.

Needs Debian's python3-pil and python3-numpy. The same arguments give the same pictures.

Usage: derive-documents.py make --out DIR --face FACE.jpg [--flat DIR] [--count N] [--seed N]
       derive-documents.py score --out DIR --inspectd PROGRAM [--mistakes]
"""

import argparse
import io
import json
import math
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "deploy"))

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


def flat_documents(face: Path, folder: Path | None, seed: int) -> list[tuple[str, Image.Image]]:
    """Documents as a scanner would see them."""
    portrait = card.Face(face, (0.375, 0.03, 0.34, 0.36))
    documents = []
    for number, holder in enumerate(HOLDERS):
        for name, draw in [
            ("td3", card.passport), ("td1", card.identity_card_front), ("td2", card.travel_document),
            ("dl", card.licence_front),
        ]:
            documents.append((f"{name}_{number}", draw(holder, portrait, seed + number)))
        documents.append((f"td1back_{number}", card.identity_card_back(holder, seed + number)))
    for path in sorted(folder.iterdir()) if folder else []:
        documents.append((path.stem, Image.open(path).convert("RGB")))
    return documents


def pose(rng: np.random.Generator) -> camera.Shot:
    """A picture that is good enough, taken anyhow."""
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
    """One picture of `document` that deserves `label`."""
    shot = pose(rng)
    scale = shot.fill * shot.size[0] / 1000  # px for each thousandth of the document's width
    if label == "PART_OF_DOCUMENT_MISSING":
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
    """The picture as a display shows it, photographed again: rows of sub-pixels at a small angle."""
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    a, period = rng.uniform(-0.08, 0.08), rng.uniform(2.6, 4.5)
    u, v = x * math.cos(a) + y * math.sin(a), y * math.cos(a) - x * math.sin(a)
    for channel in range(3):
        phase = 2 * math.pi * (u / period + channel / 3)
        gain = 0.78 + 0.28 * np.cos(phase) + 0.1 * np.cos(2 * math.pi * v / period)
        pixels[:, :, channel] *= gain
    return pixels


def make(options: argparse.Namespace) -> None:
    documents = flat_documents(options.face, options.flat, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    manifest = []
    for index in range(options.count):
        rng = np.random.default_rng([options.seed, index])
        label = options.labels[index % len(options.labels)]
        name, document = documents[rng.integers(len(documents))]
        data = spoil(label, document, rng, options.seed * 7919 + index)
        file = f"{index:04d}_{label}_{name}.jpg"
        (options.out / file).write_bytes(data)
        manifest.append({"file": file, "label": label, "document": name})
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1))


def score(options: argparse.Namespace) -> None:
    manifest = json.loads((options.out / "manifest.json").read_text())
    requests = "".join(
        json.dumps({"id": e["file"], "front": str(options.out / e["file"]), "workflow": "id", "gate": False}) + "\n"
        for e in manifest)
    done = subprocess.run(
        [options.inspectd, "inspect", "--batch", "-", "--slots", "1"], input=requests.encode(),
        stdout=subprocess.PIPE, check=True)
    counts = {label: [0, 0, 0] for label in LABELS}
    mistakes = []
    for entry, line in zip(manifest, done.stdout.splitlines(), strict=True):
        capabilities = json.loads(line)["capabilities"]
        found = set()
        for name in ("usability", "imageChecks"):
            for record in capabilities.get(name) or []:
                if record["decision"]["type"] == "REJECTED":
                    found.add(record["decision"]["details"]["label"])
        found = found & set(LABELS) or ({"OK"} if not found else found)
        quality = (capabilities["usability"][0].get("data") or {}).get("quality")
        wanted = entry["label"]
        for label in counts:
            hit, seen = label == wanted, label in found
            counts[label][0] += hit and seen
            counts[label][1] += seen and not hit
            counts[label][2] += hit and not seen
        if wanted not in found:
            mistakes.append((entry["file"], sorted(found), quality))
    print(f"{'label':28} right  false  missed  precision  recall")
    for label, (right, false, missed) in counts.items():
        if right + false + missed:
            precision = right / (right + false) if right + false else float("nan")
            recall = right / (right + missed) if right + missed else float("nan")
            print(f"{label:28} {right:5} {false:6} {missed:7} {precision:10.2f} {recall:7.2f}")
    for file, found, quality in mistakes if options.mistakes else []:
        print(f"- {file}: {found} {json.dumps(quality)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "score"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--face", type=Path)
    parser.add_argument("--flat", type=Path)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--labels", type=lambda text: text.split(","), default=LABELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inspectd", default=".build/release/inspectd")
    parser.add_argument("--mistakes", action="store_true")
    options = parser.parse_args()
    (make if options.action == "make" else score)(options)


main()
