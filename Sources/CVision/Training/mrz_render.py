"""Renders MRZs the way cameras and scanners see them; the generator passed in determines everything."""

import glob

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mrz_text import ALPHABET

CAP = 32  # height of a capital letter in the glyph atlas, pixels

OCR_B = ["OCRB.otf", "OCRBS.otf"]
#: Specimens and older cards that are not set in OCR-B: typewriter and sans-serif faces of Debian packages.
OTHERS = [
    "LiberationMono-Regular", "LiberationMono-Bold", "FreeMono", "FreeMonoBold", "NimbusMonoPS-Regular",
    "NimbusMonoPS-Bold", "CourierPrime-Regular", "Courier Prime", "DejaVuSansMono", "DejaVuSansMono-Bold", "Inconsolata",
    "Hack-Regular", "NotoMono-Regular", "OCRA", "LiberationSans-Regular", "LiberationSans-Bold", "DejaVuSans",
    "LiberationSansNarrow-Bold",
]


def font_files():
    files = {f.rsplit("/", 1)[1]: f for f in sorted(glob.glob("/usr/share/fonts/**/*.[ot]tf", recursive=True))}
    ocr = [files[name] for name in OCR_B]
    stems = {name.rsplit(".", 1)[0]: path for name, path in files.items()}
    return ocr, [stems[name] for name in OTHERS if name in stems]


class Atlas:
    """The 37 glyphs of one font, capitals CAP high, each centred in a square of 2 CAP."""

    def __init__(self, path):
        size = CAP
        for _ in range(3):
            box = ImageFont.truetype(path, size).getbbox("H")
            size = max(8, round(size * CAP / (box[3] - box[1])))
        font = ImageFont.truetype(path, size)
        box = font.getbbox("H")
        top = (box[1] + box[3]) / 2
        self.glyphs = []
        for c in ALPHABET:
            image = Image.new("L", (2 * CAP, 2 * CAP), 0)
            b = font.getbbox(c)
            # Fixed-pitch fonts keep their own side bearings; proportional ones are centred on the ink.
            width = font.getlength(c)
            x = CAP - width / 2 if abs(font.getlength("I") - font.getlength("W")) < 1 else CAP - (b[0] + b[2]) / 2
            ImageDraw.Draw(image).text((round(x), round(CAP - top)), c, font=font, fill=255)
            self.glyphs.append(np.asarray(image))
        self.glyphs = np.stack(self.glyphs)


class Fonts:
    def __init__(self):
        ocr, others = font_files()
        self.ocr = [Atlas(f) for f in ocr]
        self.others = [Atlas(f) for f in others]
        self.texts = {s: [ImageFont.truetype(f, s) for f in others + ocr[:1]] for s in (10, 12, 14, 17, 22)}

    def pick(self, rng):
        return self.ocr[rng.integers(len(self.ocr))] if rng.random() < 0.72 else self.others[
            rng.integers(len(self.others))]


def pen(rng):
    """A change of stroke: None, or ('dilate'|'erode', kernel), the same for a whole MRZ."""
    if rng.random() < 0.45:
        return None
    kind = "dilate" if rng.random() < 0.6 else "erode"
    w, h = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    if kind == "erode":
        w, h = min(w, 2), min(h, 2)
    return kind, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (w, h))


def stamp(ink, atlas, text, x, y, pitch, rng, squeeze=1.0, stroke=None, wobble=0.015):
    """Draws `text` with character centres at x + i*pitch on height y; returns the centres."""
    glyphs, half = atlas.glyphs, CAP
    centres = []
    h, w = ink.shape
    for i, c in enumerate(text):
        glyph = glyphs[ALPHABET.index(c)]
        if squeeze != 1.0:
            glyph = cv2.resize(glyph, (max(2, round(2 * CAP * squeeze)), 2 * CAP), interpolation=cv2.INTER_AREA)
        if stroke is not None:
            thin = (cv2.dilate if stroke[0] == "dilate" else cv2.erode)(glyph, stroke[1])
            glyph = thin if thin.sum() > 0.55 * glyph.sum() else glyph  # hairlines would vanish
        cx = x + i * pitch
        centres.append(cx)
        gx = round(cx + rng.normal() * wobble * pitch - glyph.shape[1] / 2)
        gy = round(y + rng.normal() * wobble * CAP - half)
        x0, x1, y0, y1 = max(0, gx), min(w, gx + glyph.shape[1]), max(0, gy), min(h, gy + 2 * CAP)
        if x0 < x1 and y0 < y1:
            part = ink[y0:y1, x0:x1]
            np.maximum(part, glyph[y0 - gy:y1 - gy, x0 - gx:x1 - gx], out=part)
    return np.array(centres, np.float32)


def noise_field(rng, h, w, cell):
    """Smooth noise in -1…1 with features of about `cell` pixels."""
    small = rng.uniform(-1, 1, (max(2, int(h / cell) + 2), max(2, int(w / cell) + 2))).astype(np.float32)
    return cv2.resize(small, (w, h), interpolation=cv2.INTER_CUBIC)


def guilloche(rng, h, w, unit):
    """Fine curved security print, 0…1; `unit` is the character pitch."""
    out = np.zeros((h, w), np.float32)
    ys, xs = np.mgrid[0:h, 0:w].astype(np.float32)
    for _ in range(int(rng.integers(1, 4))):
        period = unit * rng.uniform(0.15, 1.5)
        angle = rng.uniform(0, np.pi)
        amplitude, wave = unit * rng.uniform(0, 2), unit * rng.uniform(1.5, 8)
        u = xs * np.cos(angle) + ys * np.sin(angle)
        v = -xs * np.sin(angle) + ys * np.cos(angle)
        phase = (u + amplitude * np.sin(v * (2 * np.pi / wave) + rng.uniform(0, 6))) * (2 * np.pi / period)
        curve = np.sin(phase + rng.uniform(0, 6))
        sharp = rng.uniform(0.0, 0.9)
        out = np.maximum(out, np.clip((curve - sharp) / (1.05 - sharp), 0, 1))
    return out


def paper(rng, h, w, unit):
    """A background in 0…1 around 0.8, from blank to busy."""
    base = np.full((h, w), rng.uniform(0.7, 1.0), np.float32)
    if rng.random() < 0.6:
        base -= rng.uniform(0.02, 0.35) * guilloche(rng, h, w, unit)
    if rng.random() < 0.6:
        base += rng.uniform(0.01, 0.15) * noise_field(rng, h, w, unit * rng.uniform(0.5, 12))
    if rng.random() < 0.3:
        base += rng.uniform(0.01, 0.08) * noise_field(rng, h, w, 2)
    if rng.random() < 0.2:  # a printed word, a signature or a stamp running through
        points = np.cumsum(rng.normal(0, unit, (12, 2)), 0) + rng.uniform(0, 1, 2) * (w, h)
        mark = np.zeros((h, w), np.uint8)
        cv2.polylines(mark, [points.astype(np.int32)], False, 255, int(rng.integers(1, max(2, int(unit / 5)) + 1)))
        base -= rng.uniform(0.05, 0.4) * cv2.GaussianBlur(mark, (3, 3), 0).astype(np.float32) / 255
    return base


def light(rng, image):
    """Shading, glare and exposure on an image in 0…1; returns 0…255."""
    h, w = image.shape
    if rng.random() < 0.5:
        image = image * (1 + rng.uniform(0, 0.5) * noise_field(rng, h, w, max(h, w) * rng.uniform(0.3, 1)))
    if rng.random() < 0.15:
        cx, cy, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.05, 0.35) * w
        ys, xs = np.mgrid[0:h, 0:w].astype(np.float32)
        image = image + rng.uniform(0.1, 0.7) * np.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * r * r))
    gain = rng.uniform(0.6, 1.1) if rng.random() < 0.85 else rng.uniform(0.12, 0.5)
    return np.clip(image * gain, 0, 1) * 255


def sensor(rng, image, unit):
    """Blur, motion, noise, JPEG and the like on a 0…255 image whose characters are `unit` pixels apart."""
    bad = rng.random() ** 0.8  # one dice for all, so that few samples suffer everything at once
    if rng.random() < 0.6:
        image = cv2.GaussianBlur(image, (0, 0), unit * rng.uniform(0.02, 0.02 + 0.14 * bad) + 0.15)
    if rng.random() < 0.12:
        length = max(2, int(unit * rng.uniform(0.1, 0.1 + 0.3 * bad)))
        kernel = np.zeros((length, length), np.float32)
        angle = rng.uniform(0, np.pi)
        dx, dy = np.cos(angle) * length / 2, np.sin(angle) * length / 2
        c = (length - 1) / 2
        cv2.line(kernel, (round(c - dx), round(c - dy)), (round(c + dx), round(c + dy)), 1.0, 1)
        image = cv2.filter2D(image, -1, kernel / max(kernel.sum(), 1))
    if rng.random() < 0.5:
        image = image + rng.normal(0, rng.uniform(0.5, 1 + 9 * bad), image.shape).astype(np.float32)
    if rng.random() < 0.15:  # the over-sharpening of scanners and phones
        image = image + rng.uniform(0.3, 1.5) * (image - cv2.GaussianBlur(image, (0, 0), max(0.6, unit * 0.08)))
    image = np.clip(image, 0, 255)
    if rng.random() < 0.06:
        level = cv2.GaussianBlur(image, (0, 0), unit * 3) - rng.uniform(4, 20)
        image = np.where(image > level, 255.0, 0.0).astype(np.float32)
    if rng.random() < 0.08:
        levels = int(rng.choice([4, 6, 8, 16]))
        image = np.round(image / 255 * (levels - 1)) * (255 / (levels - 1))
    image = image.astype(np.uint8)
    if rng.random() < 0.6:
        quality = int(rng.integers(int(75 - 63 * bad), 96))
        image = cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_GRAYSCALE)
    return image
