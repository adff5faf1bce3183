"""Makes attacks on documents from genuine specimens. Imported by score_attacks.py, which describes the species.

Everything is drawn from a seed. Pictures are files as an attacker would send them: edited pictures are saved as JPEG at quality 92, others are
photographed by deploy/specimen/camera.py.
"""

import importlib.util
import io
import json
import random
import sys
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "deploy"))

from specimen import camera, card  # noqa: E402
from specimen.holder import Holder, check_digit  # noqa: E402

_spec = importlib.util.spec_from_file_location("derive_documents", HERE / "derive-documents.py")
derive = importlib.util.module_from_spec(_spec)
sys.modules["derive_documents"] = derive
_spec.loader.exec_module(derive)

FONTS = {
    "serif": "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", "bold": "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf",
    "sans": "/usr/share/fonts/truetype/dejavu/DejaVuSansCondensed.ttf", "ocrb": "/usr/share/fonts/opentype/ocr-b/OCRB.otf",
    "mono": "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
}
QUALITY = 92
# Where drawn documents have room for a ghost image: its place and width in millimetres, and width over height.
GHOSTS = (
    (card.passport, (103.5, 19.5), 17.5, 35 / 45), (card.identity_card_front, (69.5, 8.5), 12.5, 24.5 / 31.5),
    (card.travel_document, (87.5, 8), 14, 27 / 35), (card.licence_front, (68.5, 8.5), 12.5, 25 / 32),
)


@dataclass
class Specimen:
    """A genuine picture that shows one side of a document flat, and where it bears what is forged."""

    name: str
    held_out: bool
    data: bytes
    lines: list[str]
    places: dict

    @property
    def image(self):
        return Image.open(io.BytesIO(self.data)).convert("RGB")

    def box(self, what):
        image = self.image
        left, top, right, bottom = self.places[what]
        return (round(left * image.width), round(top * image.height), round(right * image.width), round(bottom * image.height))


def specimens(data):
    """Development specimens with the places of Truth/attacks.json."""
    documents = Path(data, "documents")
    manifest = {e["file"]: e for e in json.loads((documents / "manifest.json").read_text())}
    held_out = {e["file"]: e["heldOut"] for e in json.loads((HERE / "Truth" / "viz.json").read_text())["specimens"]}
    places = json.loads((HERE / "Truth" / "attacks.json").read_text())["specimens"]
    return [
        Specimen(e["file"], held_out[e["file"]], (documents / e["file"]).read_bytes(), manifest[e["file"]]["mrz_lines"], e)
        for e in places]


def saved(image, quality=QUALITY):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def photographed(image, rng, seed):
    """As a phone takes it, from any position that is good enough."""
    return camera.photograph(image, derive.pose(rng), seed)[0]


def persons(data):
    """Photographs of different persons."""
    places = json.loads((HERE / "Truth" / "attacks.json").read_text())["persons"]
    return [card.Face(Path(data, "faces", e["file"]), tuple(e["head"])) for e in places]


# What forgers change.

def swapped(specimen, face, strength, rng):
    """Another face in the portrait's place: pasted; in the old one's colours; also blurred alike, with soft edges."""
    image, box = specimen.image, specimen.box("portrait")
    size = (box[2] - box[0], box[3] - box[1])
    new = card.Face(face).portrait(size[0] / card.SCALE, size[1] / card.SCALE).resize(size, Image.LANCZOS)
    if strength != "pasted":
        old, pixels = np.asarray(image.crop(box), np.float32), np.asarray(new, np.float32)
        if np.ptp(old, axis=2).mean() < 12:
            pixels = np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)
        scale = old.std(axis=(0, 1)) / np.maximum(pixels.std(axis=(0, 1)), 1)
        pixels = (pixels - pixels.mean(axis=(0, 1))) * scale + old.mean(axis=(0, 1))
        new = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    mask = Image.new("L", size, 255)
    if strength == "blended":
        new = new.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.8)))
        edge = max(2, size[0] // 25)
        mask = Image.new("L", size, 0)
        mask.paste(255, (edge, edge, size[0] - edge, size[1] - edge))
        mask = mask.filter(ImageFilter.GaussianBlur(edge / 2))
    image.paste(new, box[:2], mask)
    return image


def erased(image, box, lines=1):
    """The paper under the print of a box, and its ink: dark strokes are closed as morphology does, at a size where they are thin."""
    height = (box[3] - box[1]) / (2 * lines - 1)
    margin = max(2, round(height / 6))
    wide = (max(0, box[0] - margin), max(0, box[1] - margin), box[2] + margin, box[3] + margin)
    region = image.crop(wide)
    pixels = np.asarray(region, np.float32)
    grey = pixels.mean(axis=2)
    ink = pixels[grey <= np.percentile(grey, 4)].mean(axis=0)
    scale = min(1, 14 / height)
    small = region.resize((max(8, round(region.width * scale)), max(8, round(region.height * scale))), Image.BOX)
    small = small.filter(ImageFilter.MaxFilter(7)).filter(ImageFilter.MinFilter(7)).filter(ImageFilter.GaussianBlur(1.5))
    paper = small.resize(region.size, Image.BICUBIC)
    return paper, wide, tuple(int(v) for v in ink)


def written(size, lines, font, ink, paper, blur):
    """Lines of text that fill a box, over the paper."""
    scale = 4
    canvas = Image.new("L", (size[0] * scale, size[1] * scale), 0)
    draw = ImageDraw.Draw(canvas)
    pitch = canvas.width / max(len(line) for line in lines)
    height = canvas.height / (2 * len(lines) - 1) if len(lines) > 1 else canvas.height * 0.8
    letters = ImageFont.truetype(FONTS[font], round(height / 0.72))
    for number, line in enumerate(lines):
        middle = height / 2 + number * (canvas.height - height) / max(1, len(lines) - 1) if len(lines) > 1 else canvas.height / 2
        if len(lines) > 1:
            for at, letter in enumerate(line):
                draw.text(((at + 0.5) * pitch, middle + height / 2), letter, font=letters, fill=255, anchor="ms")
        else:
            strip = Image.new("L", (round(letters.getlength(line)) + 8, canvas.height), 0)
            ImageDraw.Draw(strip).text((4, middle + height / 2), line, font=letters, fill=255, anchor="ls")
            canvas.paste(strip.resize(canvas.size), (0, 0))
    mask = canvas.resize(size, Image.LANCZOS).filter(ImageFilter.GaussianBlur(blur))
    return Image.composite(Image.new("RGB", size, ink), paper, mask)


def other_digit(text):
    return text[:-1] + str((int(text[-1]) + 5) % 10)


def edited(specimen, strength, rng, image=None):
    """Another year (or day, where it comes last): written over a patch; over the old paper; from the digits that are there."""
    image, box = image or specimen.image, specimen.box("date")
    text = other_digit(specimen.places["print"])
    paper, wide, ink = erased(image, box)
    inner = (box[0] - wide[0], box[1] - wide[1], box[2] - wide[0], box[3] - wide[1])
    if strength == "copied" and copied(image, box, specimen.places["print"], paper.crop(inner)):
        return image
    if strength == "patched":
        flat = np.asarray(paper.crop(inner)).mean(axis=(0, 1)).astype(np.uint8)
        ground = Image.new("RGB", (box[2] - box[0], box[3] - box[1]), tuple(int(v) for v in flat))
        image.paste(written(ground.size, [text], "sans", (10, 10, 10), ground, 0.01), box[:2])
    else:
        image.paste(paper.crop(inner), box[:2])
        ground = image.crop(box)
        image.paste(written(ground.size, [text], "sans", ink, ground, rng.uniform(0.3, 0.6)), box[:2])
    return image


def retyped(specimen, strength, rng):
    """Another year in the old ink over the old paper: in a serif or a bold font, in letters a sixth larger, or below the line."""
    image, box = specimen.image, specimen.box("date")
    text = other_digit(specimen.places["print"])
    paper, wide, ink = erased(image, box)
    inner = (box[0] - wide[0], box[1] - wide[1], box[2] - wide[0], box[3] - wide[1])
    image.paste(paper.crop(inner), box[:2])
    height, middle = box[3] - box[1], (box[0] + box[2]) // 2
    if strength == "larger":
        reach = round((box[2] - box[0]) * 1.17 / 2)
        box = (middle - reach, box[1] - height // 12, middle + reach, box[3] + height // 12)
    if strength == "below the line":
        box = (box[0], box[1] + round(0.15 * height), box[2], box[3] + round(0.15 * height))
    ground = image.crop(box)
    font = strength if strength in FONTS else "sans"
    image.paste(written(ground.size, [text], font, ink, ground, rng.uniform(0.3, 0.6)), box[:2])
    return image


def copied(image, box, text, paper):
    """Puts a copy of another digit of the line over the last one, where the line's letters stand apart."""
    grey = np.asarray(image.crop(box).convert("L"), np.float32)
    below = np.asarray(paper.convert("L"), np.float32) - grey
    dark = (below > 0.35 * below.max()).any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dark.astype(np.int8), [0]])))
    glyphs = list(zip(edges[::2], edges[1::2]))
    letters = text.replace(" ", "")
    if len(glyphs) != len(letters):
        return False
    sources = [k for k, letter in enumerate(letters[:-1]) if letter.isdigit() and letter not in (letters[-1], "1")]
    if not sources:
        return False
    (a, b), (c, d) = glyphs[sources[-1]], glyphs[-1]
    pixels = np.asarray(image).copy()
    middle, half = box[0] + (c + d) // 2, (b - a) // 2 + 1
    source = box[0] + (a + b) // 2
    pixels[box[1]:box[3], middle - half:middle + half + 1] = pixels[box[1]:box[3], source - half:source + half + 1]
    image.paste(Image.fromarray(pixels))
    return True


def recomputed(lines, day_last=False):
    """Lines with another day of birth whose check digits hold (ICAO Doc 9303-4 to -7)."""
    lines = [list(line) for line in lines]
    line, at = (lines[1], 0) if len(lines) == 3 else (lines[1], 13)
    place = at + (5 if day_last else 1)
    line[place] = str((int(line[place]) + 5) % 10)
    line[at + 6] = check_digit("".join(line[at:at + 6]))
    text = ["".join(part) for part in lines]
    if len(lines) == 3:
        line[29] = check_digit(text[0][5:30] + text[1][:7] + text[1][8:15] + text[1][18:29])
    elif text[0][0] != "V":
        line[-1] = check_digit(text[1][:10] + text[1][13:20] + text[1][21:-1])
    return ["".join(part) for part in lines]


def rewritten(specimen, strength, rng, image=None):
    """The MRZ of another day of birth: in another font on a patch; in OCR-B; also in the old ink, blurred as the old one."""
    image, box = image or specimen.image, specimen.box("mrz")
    lines = recomputed(specimen.lines, specimen.places["print"][:4].isdigit())
    paper, wide, ink = erased(image, box, len(lines))
    inner = (box[0] - wide[0], box[1] - wide[1], box[2] - wide[0], box[3] - wide[1])
    if strength == "patched":
        ground = Image.new("RGB", (box[2] - box[0], box[3] - box[1]), (250, 250, 250))
        image.paste(Image.new("RGB", (wide[2] - wide[0], wide[3] - wide[1]), (250, 250, 250)), wide[:2])
        image.paste(written(ground.size, lines, "mono", (0, 0, 0), ground, 0.01), box[:2])
        return image
    image.paste(paper, wide[:2])
    matched = strength == "matched"
    image.paste(
        written((box[2] - box[0], box[3] - box[1]), lines, "ocrb", ink if matched else (0, 0, 0), paper.crop(inner),
                rng.uniform(0.4, 0.7) if matched else 0.2), box[:2])
    return image


def ghosted(kind, holder, face, ghost, opacity, seed):
    """A drawn document with a ghost image: the face of `ghost`, half as wide as the portrait, in grey-blue ink."""
    draw, (x, y), width, shape = GHOSTS[kind]
    image = draw(holder, face, seed)
    tone = np.asarray(ghost.portrait(width, width / shape).convert("L"), np.float32) / 255
    rows, columns = np.mgrid[0:tone.shape[0], 0:tone.shape[1]]
    rim = np.minimum.reduce([rows, columns, tone.shape[0] - 1 - rows, tone.shape[1] - 1 - columns]) / (0.12 * tone.shape[1])
    ink = (1 - tone ** 0.8) * opacity * rim.clip(0, 1)
    left, top = round(x * card.SCALE), round(y * card.SCALE)
    box = (left, top, left + tone.shape[1], top + tone.shape[0])
    paper = np.asarray(image.crop(box), np.float32)
    printed = paper * (1 - ink[:, :, None]) + np.array((70, 80, 120), np.float32) * ink[:, :, None]
    image.paste(Image.fromarray(printed.clip(0, 255).astype(np.uint8)), box[:2])
    return image


def punched(specimen, millimetres, rng, seed):
    """Photographed with one or two holes, through which the table is seen."""
    width = 85.6 if len(specimen.lines) == 3 else 125.0
    holes = tuple((rng.uniform(0.08, 0.92), rng.uniform(0.1, 0.9), millimetres / width) for _ in range(1 + seed % 2))
    return camera.photograph(specimen.image, replace(derive.pose(rng), holes=holes), seed)[0]


def torn(specimen, millimetres, rng, seed):
    """Photographed with a piece torn out of an edge, so deep and half to one and a half times as wide."""
    depth = millimetres / (85.6 if len(specimen.lines) == 3 else 125.0)
    tear = (int(rng.integers(4)), rng.uniform(0.2, 0.8), depth, depth * rng.uniform(0.5, 1.5))
    return camera.photograph(specimen.image, replace(derive.pose(rng), tears=(tear,)), seed)[0]


def smaller(data, width):
    """As applications send it: scaled down where it is wider, and saved again."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    width = min(width, image.width)
    return saved(image.resize((width, round(width * image.height / image.width)), Image.LANCZOS), 85)


# Copies.

def printed(image, strength, rng, seed):
    """A print of it, photographed: a laser printer's dots; finer ones; an ink-jet's or photo printer's, which no camera resolves."""
    image = image.resize((1800, round(1800 * image.height / image.width)), Image.LANCZOS)
    shot = replace(derive.pose(rng), size=(2000, 1500), blur=rng.uniform(0, 0.5))
    if strength == "photo printer":
        pixels = np.asarray(image, np.float32)
        pixels = 28 + pixels * (238 - 28) / 255  # paper is not white, ink is not black
        grain = np.random.default_rng(seed).normal(0, 6, pixels.shape)
        image = Image.fromarray((pixels + grain).clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.7))
    else:
        low, high = {"laser printer": (5.5, 7.5), "fine laser printer": (3.2, 4.2)}[strength]
        image = derive.halftone(image, rng.uniform(low, high))
    return camera.photograph(image, shot, seed)[0]


def screened(image, strength, rng, seed):
    """A display that shows it, photographed: `full`, as derive-documents.py does it; less of its raster as displays get finer."""
    image = image.resize((1400, round(1400 * image.height / image.width)), Image.LANCZOS)
    before = derive.decode(camera.photograph(image, derive.pose(rng), seed)[0])
    after = derive.screen(before.copy(), rng)
    share = {"full": 1.0, "half": 0.5, "faint": 0.2}[strength]
    return derive.encode(before + share * (after - before), int(rng.integers(80, 94)))


# Cards and sides that are made.

def holders(seed, count):
    """Invented persons whose documents are valid today."""
    rng = random.Random(seed)
    names = [("Eriksson", "Anna Maria"), ("Nowak", "Zofia"), ("Miller", "Peter"), ("Virtanen", "Olli"), ("Silva", "Joana")]
    found = []
    for _ in range(count):
        surname, given = rng.choice(names)
        issued = date.today() - timedelta(days=rng.randint(200, 1500))
        found.append(Holder(
            surname=surname, given_names=given, issuer="UTO", nationality="UTO", sex=rng.choice("FM"),
            number=rng.choice("CDLX") + "".join(rng.choice("0123456789") for _ in range(8)), personal_number="",
            birth=date(rng.randint(1955, 2000), rng.randint(1, 12), rng.randint(1, 28)), issued=issued,
            expiry=issued + timedelta(days=3650)))
    return found


def generated(holder, face, strength, number, rng, seed):
    """A document that deploy/specimen draws: the file itself; photographed."""
    draw = (card.passport, card.identity_card_front, card.licence_front, card.travel_document)[number % 4]
    image = draw(holder, card.Face(face), number)
    return saved(image.resize((1400, round(1400 * image.height / image.width)), Image.LANCZOS)) if strength == "file" else \
        photographed(image, rng, seed)


def sides(holder, other, face, number, rng, seed):
    """An identity card's front and the back of `other`, photographed."""
    front, back = card.identity_card_front(holder, card.Face(face), number), card.identity_card_back(other, number)
    return photographed(front, rng, seed), photographed(back, rng, seed + 1)
