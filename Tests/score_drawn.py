"""Scores MRZs of documents that are drawn and photographed here: passports (TD3), cards (TD1, TD2) and visas (MRV-A, MRV-B).

Usage: Tests/score.sh drawn [--count N] [--seed N] [--keep DIR] [--mistakes] [--json FILE]

The data, the page, the print and the shot of every document are drawn at random; the same arguments give the same images, and the
truth is what was drawn. A third is held out, and nothing may be tuned on it: SHA-256 of `drawn N` as a number, modulo 3, is 0. The
reader was trained on OCRB.otf and OCRBS.otf of Debian's fonts-ocr-b, so the held-out images are set in OCRBL.otf, the only other
cut with full strokes, whose slant of 1 in 5 is taken away but for at most 1 in 25. All free cuts of OCR-B have one designer.

Readable is decided by what was drawn, before anything is read:
  - the smallest capital and the narrowest advance of the MRZ are 10 px or more (100 dpi on the document),
  - lens and hand together blur with a sigma of 0.12 capitals at most (the strokes are 0.15 wide),
  - the sensor's noise has a deviation of 10 levels at most, and the last JPEG a quality of 50 or more,
  - the darkest part has 0.3 of full light or more, and lines below the MRZ take 0.3 of the paper's light at most.

Needs Debian's python3-pil, python3-numpy, fonts-ocr-b and fonts-dejavu-core.
"""

import argparse
import concurrent.futures
import hashlib
import io
import json
import math
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from scoring import batch, upper_bound

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "deploy"))
from specimen import camera  # noqa: E402
from specimen.holder import check_digit, transliterate  # noqa: E402

#: Pixels of a millimetre of the page.
SCALE = 12
OCR_B = "/usr/share/fonts/opentype/ocr-b/"
PRINT = [f"/usr/share/fonts/truetype/dejavu/DejaVu{name}.ttf" for name in ("Sans", "SansMono", "Serif", "Sans-Bold")]
#: Width and height in millimetres, lines of the MRZ, their length, and how many of each (Doc 9303-4 to -7).
FORMATS = {
    "TD3": (125, 88, 2, 44, 8), "TD1": (85.6, 54, 3, 30, 6), "TD2": (105, 74, 2, 36, 3), "MRVA": (120, 80, 2, 44, 2),
    "MRVB": (105, 74, 2, 36, 1),
}
TITLES = {"TD3": "PASSPORT", "TD1": "IDENTITY CARD", "TD2": "RESIDENCE PERMIT"}
STATES = ("AUT BEL BGR BRA CAN CHE CHN CIV CYP CZE D DNK DZA ESP EST FIN FRA GBR GEO GHA GRC HRV HUN IND IRL ISL ITA JPN KAZ KEN KOR "
          "LTU LUX LVA MAR MEX MLT NGA NLD NOR NZL PAK PER POL PRT ROU SRB SVK SVN SWE THA TUN TUR UKR USA UTO UZB VNM XXA ZAF").split()
SURNAMES = ("Ó;Li;Ng;Vũ;Łoś;Sæther;Østergård;Müller;Groß;Çelik;Şahin;Núñez;García López;D’Angelo;O’Connor;van der Meer;de la Cruz;"
            "Nowak-Lewandowska;Wójcik;Dvořáková;Žižka;Ðorđević;Þórsdóttir;Kovács;Őszi;Ionescu;Țurcanu;Bērziņš;Kazlauskienė;Jõgi;"
            "Hämäläinen;Lefèvre;Chevrolier;Öztürk;Shcherbakova;Tsvetaeva;Papadopoulou;Al Hashimi;Benyoucef;Okonkwo;Nguyễn;Zhang;"
            "Watanabe;Venkatanarasimharajuvaripeta;Papandropoulous-Konstantinidou;Quispe Mamani;Smith;Jäger;Ibañez Sáenz de Urturi").split(";")
GIVEN = ("Jo;Bo;Ana;Zoë;Zofia;Jörg Peter;Anna Maria;Ángel;François;Łucja;Øyvind;Åse;İbrahim;Gülşen;José Luis;Saoirse;Nicolò;Šárka;"
         "Đurđa;Guðrún;Ágnes;Ștefan;Jānis;Ona;Kristjan;Yrjö;Hélène;Oleksandr;Yevgeniya;Alexandros;Mohammed;Chidinma;Thị Hương;Xiu Ying;"
         "Haruka;Sai Kumar Reddy;Maria do Carmo Conceição;Wolfgang Amadeus Theophilus;John;Elizabeth Alexandra Mary").split(";")


@dataclass(frozen=True)
class Print:
    """What was drawn, as far as it decides on readability; lengths are pixels of the final image."""

    capital: float
    advance: float
    blur: float
    noise: float
    quality: int
    light: float
    background: float

    @property
    def is_readable(self) -> bool:
        return (min(self.capital, self.advance) >= 10 and self.blur <= 0.12 * self.capital and self.noise <= 10
                and self.quality >= 50 and self.light >= 0.3 and self.background <= 0.3)


def mrz(kind, dice):
    """Random lines that follow Doc 9303, and the names as printed."""
    def letters(alphabet, count):
        return "".join(alphabet[i] for i in dice.integers(len(alphabet), size=count))

    def optional(width, share):
        if dice.random() >= share:
            return "<" * width
        return letters("0123456789", int(dice.integers(4, width + 1))).ljust(width, "<")

    def checked(field):
        return field + check_digit(field)
    _, _, _, width, _ = FORMATS[kind]
    state = str(dice.choice(STATES)).ljust(3, "<")
    nationality = state if dice.random() < 0.9 else str(dice.choice(STATES)).ljust(3, "<")
    shape = dice.choice(["0" * 9, "A" + "0" * 8, "AA" + "0" * 7, "X" * 9, "X" * 8, "0" * 7, "AA00X00X0"])
    sets = {"0": "0123456789", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    number = "".join(letters(sets[c], 1) for c in shape).ljust(9, "<")
    birth = checked(f"{date(1930, 1, 1) + timedelta(int(dice.integers(31_000))):%y%m%d}")
    expiry = checked(f"{date(2026, 12, 1) + timedelta(int(dice.integers(3_600))):%y%m%d}")
    sex = str(dice.choice(["M", "F", "<"], p=[0.48, 0.48, 0.04]))
    surname, given = str(dice.choice(SURNAMES)), str(dice.choice(GIVEN)) if dice.random() < 0.96 else ""
    room = width - (0 if kind == "TD1" else 5)
    # A truncated name keeps room for the beginning of the given ones (Doc 9303-4 section 4.2.3).
    name = (transliterate(surname)[:room - 8] + "<<" + transliterate(given))[:room].ljust(room, "<")
    if kind == "TD1":
        first, second = optional(15, 0.4), optional(11, 0.3)
        code = str(dice.choice(["I<", "ID", "AR", "C<"]))
        body = checked(number) + first
        whole = check_digit(body + birth + expiry + second)
        return [code + state + body, birth + sex + expiry + nationality + second + whole, name], surname, given
    code = {"TD3": ["P<", "P<", "PD", "PO"], "TD2": ["I<", "ID", "P<"]}.get(kind, ["V<", "VC"])
    head, dates = checked(number), birth + sex + expiry
    if kind == "TD3":
        personal = optional(14, 0.5)
        tail = personal + ("<" if not personal.strip("<") else check_digit(personal))
    else:
        tail = optional({"TD2": 7, "MRVA": 16, "MRVB": 8}[kind], 0.4)
    whole = check_digit(head + birth + expiry + tail) if kind in ("TD3", "TD2") else ""
    return [str(dice.choice(code)) + state + name, head + nationality + dates + tail + whole], surname, given


def guilloche(size, dice):
    """Fine curved lines of security print, 0 to 1, over the whole page."""
    x, y = np.meshgrid(np.arange(size[0], dtype=np.float32) / SCALE, np.arange(size[1], dtype=np.float32) / SCALE)
    total = np.zeros((size[1], size[0]), np.float32)
    for _ in range(int(dice.integers(1, 4))):
        angle, period = dice.uniform(0, math.pi), dice.uniform(0.6, 3)
        along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
        bent = along + dice.uniform(0, 3) * np.sin(across / dice.uniform(2, 14)) + dice.uniform(0, 1) * np.sin(across / dice.uniform(0.6, 3))
        total = np.maximum(total, (np.cos(bent * (2 * math.pi / period)) * 3 - 2).clip(0, 1))
    # A rosette: rings that wave around a centre.
    dx, dy = x - dice.uniform(0, 1) * x.max(), y - dice.uniform(0, 1) * y.max()
    radius = np.hypot(dx, dy) * (1 + 0.12 * np.sin(int(dice.integers(6, 30)) * np.arctan2(dy, dx)))
    return np.maximum(total, (np.cos(radius * (2 * math.pi / dice.uniform(0.8, 3))) * 3 - 2).clip(0, 1) * (radius < dice.uniform(8, 30)))


def glyph(font, character, slant, size):
    """A letter's ink, its baseline at four fifths of the height, its advance in the middle."""
    image = Image.new("L", (size, size))
    ImageDraw.Draw(image).text((size / 2, size * 0.8), character, font=font, fill=255, anchor="ms")
    return image if not slant else image.transform(image.size, Image.AFFINE, (1, -slant, slant * size * 0.65, 0, 1, 0), Image.BICUBIC)


def page(kind, lines, names, held_out, dice):
    """The document flat, the baselines' ends of its MRZ in pixels, and how much light the lines below the MRZ take."""
    width, height, rows, columns, _ = FORMATS[kind]
    size = (round(width * SCALE), round(height * SCALE))
    paper = np.array(dice.uniform(0.84, 1, 3), np.float32) * 255
    tint = np.array(dice.uniform(0.2, 0.9, 3), np.float32) * 255
    slope = np.linspace(0, 1, size[0], dtype=np.float32)[None, :, None]
    base = np.broadcast_to(paper * (1 - 0.15 * slope * dice.random()), (size[1], size[0], 3)).copy()
    strength = dice.uniform(0.05, 0.5) * np.ones((size[1], 1), np.float32)
    strip = size[1] - round(23.2 * SCALE)
    # Most documents keep their MRZ's background lighter than the rest.
    strength[strip:] *= dice.choice([0, 0.3, 0.6, 1])
    mask = guilloche(size, dice) * strength
    base += (tint - base) * mask[:, :, None]
    light = np.array([0.299, 0.587, 0.114])
    background = float(strength[-1, 0] * max(0, (paper - tint) @ light) / (paper @ light))
    image = Image.fromarray(base.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    if kind != "TD1":
        _portrait(draw, 5, 16, 0.26 * width, strip / SCALE - 20, dice)
    left = (5 if kind == "TD1" else 10 + 0.26 * width) * SCALE
    bold, plain = (ImageFont.truetype(str(dice.choice(PRINT)), round(height * s * SCALE)) for s in (0.055, 0.04))
    draw.text((5 * SCALE, 4 * SCALE), TITLES.get(kind, "VISA"), font=bold, fill=(40, 50, 90))
    text = [names[0].upper(), names[1].upper(), lines[-1 if columns > 30 else 0][:9].rstrip("<"), "12.03.2024"]
    bottom = strip - 3 * SCALE
    for index, value in enumerate(text):
        y = 14 * SCALE + index * (bottom - 12 * SCALE) / len(text)
        if y < bottom:
            draw.text((left, y), value, font=plain, fill=(30, 30, 40))
    ink = np.array(dice.uniform(0, 45, 3)) + np.array([0, 0, dice.uniform(0, 25)])
    file = "OCRBL.otf" if held_out else str(dice.choice(["OCRB.otf", "OCRBS.otf"]))
    slant = 0.2 + dice.uniform(-0.04, 0.04) if held_out else 0
    font = ImageFont.truetype(OCR_B + file, round(2.54 / 0.723 * SCALE))
    cell = 5 * SCALE
    glyphs = {c: glyph(font, c, slant, cell) for c in set("".join(lines))}
    layer = Image.new("L", size)
    pitch, start = 2.54, (width - (columns - 1) * 2.54) / 2 + dice.uniform(-0.6, 0.6)
    wobble = dice.uniform(0, 0.05)
    # The last baseline lies 7 to 9 mm above the edge of two lines, 4 to 5 mm above that of three.
    last = height - (dice.uniform(3.8, 4.6) if rows == 3 else dice.uniform(7, 9))
    ends = []
    for row, line in enumerate(lines):
        baseline = last - (rows - 1 - row) * 6.35
        ends.append((start * SCALE, baseline * SCALE, (start + (columns - 1) * pitch) * SCALE))
        for column, character in enumerate(line):
            x, y = (start + column * pitch + dice.normal(0, wobble)) * SCALE, (baseline + dice.normal(0, wobble)) * SCALE
            place = (round(x - cell / 2), round(y - cell * 0.8))
            box = (*place, place[0] + cell, place[1] + cell)
            layer.paste(ImageChops.lighter(layer.crop(box), glyphs[character]), place)
    # Printers spread ink or spare it, and leave it uneven.
    pen = dice.random()
    if pen < 0.25:
        layer = layer.filter(ImageFilter.MaxFilter(3))
    elif pen < 0.4:
        layer = layer.filter(ImageFilter.MinFilter(3))
    layer = layer.filter(ImageFilter.GaussianBlur(dice.uniform(0.3, 1.2)))
    cover = np.asarray(layer, np.float32)[:, :, None] / 255 * dice.uniform(0.8, 1)
    pixels = np.asarray(image, np.float32)
    return Image.fromarray((pixels + (ink - pixels) * cover).clip(0, 255).astype(np.uint8)), ends, background


def _portrait(draw, left, top, width, height, dice):
    """Head and shoulders."""
    box = [v * SCALE for v in (left, top, left + width, top + height)]
    draw.rectangle(box, fill=tuple(int(v) for v in dice.integers(150, 235, 3)))
    skin = int(dice.integers(70, 220))
    x, y = (box[0] + box[2]) / 2, box[1] + 0.42 * (box[3] - box[1])
    half = 0.24 * (box[2] - box[0])
    draw.pieslice((x - 1.8 * half, y + 1.1 * half, x + 1.8 * half, 2 * box[3] - y - 1.1 * half), 180, 360, fill=(50, 60, 90))
    draw.ellipse((x - half, y - 1.3 * half, x + half, y + 1.3 * half), fill=(skin, skin * 4 // 5, skin * 2 // 3))


def shot(dice):
    """A photo as people take them: a quarter of them turned by any angle."""
    width = int(dice.choice([1080, 1280, 1600]))
    turned = dice.random() < 0.25
    fill = dice.uniform(0.45, 0.62) if turned else dice.uniform(0.55, 0.88)
    lens = dice.random() ** 2
    return camera.Shot(
        tilt=dice.uniform(-24, 24), turn=dice.uniform(-24, 24), roll=dice.uniform(0, 360) if turned else dice.uniform(-12, 12),
        fill=fill, centre=(dice.uniform(0.47, 0.53), dice.uniform(0.47, 0.53)), blur=3 * lens * width / 1600,
        motion=dice.choice([0, 1]) * dice.uniform(0, 4) * width / 1600, noise=dice.uniform(0.5, 11), exposure=dice.uniform(0.5, 1),
        falloff=dice.uniform(0, 0.4), warmth=dice.uniform(-0.05, 0.09), quality=int(dice.integers(42, 96)),
        desk=str(dice.choice(["wood", "cloth", "stone", "tiles", "papers"])), size=(width, width * 3 // 4))


def seen(ends, size, corners):
    """The smallest capital and the narrowest advance of the MRZ in a photo with the page's corners there."""
    whole = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float64)
    a, b, c, d, e, f, g, h = camera._homography(np.array(corners), whole)

    def point(x, y):
        w = g * x + h * y + 1
        return np.array([(a * x + b * y + c) / w, (d * x + e * y + f) / w])
    # Capitals are 0.701 em of 2.54 / 0.723 mm high.
    capital, advance = 0.701 / 0.723 * 2.54 * SCALE, 2.54 * SCALE
    places = [(x, y) for left, y, right in ends for x in (left, right)]
    return (min(np.linalg.norm(point(x, y) - point(x, y - capital)) for x, y in places),
            min(np.linalg.norm(point(x + advance / 2, y) - point(x - advance / 2, y)) for x, y in places))


def make(task):
    """Draws one image; its number alone determines it."""
    number, seed, folder = task
    held_out = int(hashlib.sha256(f"drawn {number}".encode()).hexdigest(), 16) % 3 == 0
    dice = np.random.default_rng([seed, number])
    weights = np.array([row[-1] for row in FORMATS.values()], float)
    kind = str(dice.choice(list(FORMATS), p=weights / weights.sum()))
    lines, *names = mrz(kind, dice)
    flat, ends, background = page(kind, lines, names, held_out, dice)
    taken = shot(dice)
    while True:
        data, corners = camera.photograph(flat, taken, int(dice.integers(1 << 30)))
        if all(2 < x < taken.size[0] - 2 and 2 < y < taken.size[1] - 2 for x, y in corners):
            break
        taken = replace(taken, fill=taken.fill * 0.93)
    capital, advance = seen(ends, flat.size, corners)
    blur = math.hypot(taken.blur, taken.motion / math.sqrt(12))
    quality = taken.quality
    # Messengers make photos smaller and save them again.
    if dice.random() < 0.3:
        factor, quality = dice.uniform(0.55, 0.95), int(dice.integers(42, 92))
        image = Image.open(io.BytesIO(data))
        buffer = io.BytesIO()
        image.resize([round(v * factor) for v in image.size], Image.LANCZOS).save(buffer, "JPEG", quality=quality)
        data, capital, advance, blur = buffer.getvalue(), capital * factor, advance * factor, blur * factor
    path = os.path.join(folder, f"{number:04}-{kind}.jpg")
    Path(path).write_bytes(data)
    facts = Print(float(capital), float(advance), float(blur), taken.noise, quality, taken.exposure * (1 - taken.falloff), background)
    return {"number": number, "path": path, "kind": kind, "heldOut": held_out, "lines": lines, "readable": facts.is_readable,
            "facts": asdict(facts)}


VERDICTS = ("exact", "none", "digit", "unsure", "passed")


def judge(lines, reading):
    """How a reading compares with what was drawn. Of wrong ones, a check digit tells (digit), or only fields that are called
    uncertain (unsure), or nothing does (passed)."""
    found = reading.get("lines")
    if not found:
        return "none"
    if found == lines:
        return "exact"
    if False in reading["checks"].values():
        return "digit"
    return "unsure" if reading.get("uncertain") else "passed"


def interval(right, total):
    """95 % interval of a rate (Clopper-Pearson, two-sided)."""
    return 1 - upper_bound(total - right, total, 0.025), upper_bound(right, total, 0.025)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("Usage: "))
    parser.add_argument("--inspectd", required=True)
    parser.add_argument("--count", type=int, default=360)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--mistakes", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ProcessPoolExecutor() as pool:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        images = list(pool.map(make, [(n, options.seed, folder) for n in range(options.count)], chunksize=4))
        requests = [{"front": image["path"]} for image in images]
        answers, _, _ = batch(options.inspectd, "inspect", requests, "--workflow", "id", "--no-gate", analyzers=os.cpu_count())
        if options.keep:
            Path(folder, "truth.json").write_text(json.dumps(images, indent=1))
    rows = {}
    for image, answer in zip(images, answers):
        data = ((answer.get("capabilities") or {}).get("extraction") or [{}])[0].get("data") or {}
        reading = data.get("mrz") or {}
        image["verdict"] = judge(image["lines"], reading)
        group = ("held out" if image["heldOut"] else "development") + (", readable" if image["readable"] else ", not readable")
        for name in (group, f"{group}, {image['kind']}") if image["readable"] else (group,):
            rows.setdefault(name, dict.fromkeys(VERDICTS, 0))[image["verdict"]] += 1
        if options.mistakes and image["verdict"] != "exact":
            facts = ", ".join(f"{k} {v:.2f}" for k, v in image["facts"].items())
            print(f"- {group}, {image['verdict']}: {os.path.basename(image['path'])} ({facts}): {reading.get('lines')} for {image['lines']}, "
                  f"uncertain {reading.get('uncertain')}")
    print("{:34}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}   exact, 95 % interval".format("MRZ of drawn documents", "images", *VERDICTS))
    for name, row in sorted(rows.items()):
        total = sum(row.values())
        low, high = interval(row["exact"], total)
        print("{:34}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}   {:.1%} [{:.1%}–{:.1%}]".format(
            name, total, *row.values(), row["exact"] / total, low, high))
    print(json.dumps({"drawn": rows}))
    if options.json:
        Path(options.json).write_text(json.dumps({"drawn": rows}, indent=1))


if __name__ == "__main__":
    main()
