"""Training samples of the text reader: a strip of 32 rows cut around one line, with the classes and places of its characters."""

import glob
import os

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mrz_render import light, paper, pen, sensor
from viz_text import labels, name, pick, text, upper

HEIGHT, STRIDE, WINDOW = 32, 2, 129  # rows of a strip; columns for each answer; columns of the normalisation's window
CAP = 30  # height of a capital letter on the canvas, pixels
ENDS = 8  # blank columns before and behind a strip

#: Families by their files' first letters, with how often each is drawn. Debian packages: see train-viz.sh.
FAMILIES = [
    ("LiberationSans-", 10), ("LiberationSansNarrow", 4), ("NimbusSans-", 7), ("NimbusSansNarrow", 3), ("FreeSans", 6), ("Roboto-", 7),
    ("RobotoCondensed", 4), ("NotoSans-", 6), ("NotoSansDisplay-", 2), ("DejaVuSans", 6), ("DejaVuSansCondensed", 3), ("Lato-", 5), ("Carlito", 5),
    ("OCRB", 8), ("LiberationMono", 3), ("DejaVuSansMono", 2), ("NotoSansMono-", 2), ("Courier Prime", 2), ("FreeMono", 2), ("Inconsolata", 2),
    ("LiberationSerif", 4), ("NimbusRoman", 3), ("FreeSerif", 3), ("NotoSerif-", 3), ("DejaVuSerif", 2), ("C059", 1), ("P052", 1), ("URWBookman", 1),
]
#: Never seen in training: the measure of how well other print is read.
UNSEEN = [("OpenSans-", 3), ("Cantarell", 2), ("Caladea", 1), ("LinLibertine_R", 1), ("LinBiolinum_R", 2), ("URWGothic", 1), ("Hack", 1), ("NimbusMonoPS", 1)]
LEFT_OUT = ("Thin", "Hairline", "ExtraLight", "Black", "Math", "OCRBF", "OCRBX")


class Font:
    """One file's glyphs, capitals CAP high, drawn when first asked for."""

    def __init__(self, path):
        size = CAP * 1.4
        for _ in range(2):
            box = ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC).getbbox("H")
            size *= CAP / max(1, box[3] - box[1])
        self.font = ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
        self.base = self.font.getbbox("H")[3]
        self.missing = self.draw("\uFFFF")[0]
        self.glyphs = {}

    def draw(self, character):
        box = self.font.getbbox(character)
        w, h = int(np.ceil(max(1, box[2] - box[0]))) + 1, int(np.ceil(max(1, box[3] - box[1]))) + 1
        image = Image.new("L", (w, h), 0)
        ImageDraw.Draw(image).text((-box[0], -box[1]), character, font=self.font, fill=255)
        return np.asarray(image), box[0], box[1], self.font.getlength(character)

    def glyph(self, character):
        """Ink, its left and its top from the origin, and the advance; None where the font lacks the character."""
        if character not in self.glyphs:
            glyph = self.draw(character)
            lacks = glyph[0].shape == self.missing.shape and (glyph[0] == self.missing).all() or character != " " and glyph[0].max() < 80
            self.glyphs[character] = None if lacks else glyph
        return self.glyphs[character]


class Fonts:
    def __init__(self, families):
        root = os.environ.get("VIZ_FONTS", "/usr/share/fonts")
        files = sorted(glob.glob(f"{root}/**/*.[ot]tf", recursive=True), key=lambda path: path.rsplit("/", 1)[1])
        self.families = []
        for start, weight in families:
            own = {p.rsplit("/", 1)[1]: p for p in files if p.rsplit("/", 1)[1].startswith(start) and not any(n in p for n in LEFT_OUT)}
            if start == "DejaVuSans":
                own = {name: p for name, p in own.items() if "Mono" not in name and "Condensed" not in name}
            if not own:
                raise SystemExit(f"no font of {start} under {root}")
            self.families.append([Font(path) for path in own.values()])
        self.weights = np.cumsum([weight for _, weight in families])

    def pick(self, rng, line):
        """A font that has all of the line's characters, or None."""
        for _ in range(12):
            family = self.families[int(np.searchsorted(self.weights, rng.random() * self.weights[-1], side="right"))]
            font = family[int(rng.integers(len(family)))]
            if all(font.glyph(c) is not None for c in line):
                return font
        return None


def write(ink, font, line, x, base, spread, small=(0, 1.0)):
    """Draws a line on `ink`, its first characters smaller; returns the centres of its characters, their widths, and where it ends."""
    centres, widths = [], []
    h, w = ink.shape
    for i, character in enumerate(line):
        glyph, left, top, advance = font.glyph(character)
        rise = top - font.base
        if i < small[0]:
            glyph = cv2.resize(glyph, None, fx=small[1], fy=small[1], interpolation=cv2.INTER_AREA)
            left, rise, advance = left * small[1], rise * small[1], advance * small[1]
        gx, gy = round(x + left), round(base + rise)
        x0, x1, y0, y1 = max(0, gx), min(w, gx + glyph.shape[1]), max(0, gy), min(h, gy + glyph.shape[0])
        if x0 < x1 and y0 < y1:
            part = ink[y0:y1, x0:x1]
            np.maximum(part, glyph[y0 - gy:y1 - gy, x0 - gx:x1 - gx], out=part)
        centres.append(x + advance / 2)
        widths.append(advance)
        x += advance + spread
    return np.array(centres), np.array(widths), x


def normalise(strip):
    """Subtracts the mean and divides by the deviation of a window of 129 columns (all rows); the C++ code does the same."""
    f = strip.astype(np.float32)
    mean = cv2.blur(f.mean(0)[None], (WINDOW, 1), borderType=cv2.BORDER_REPLICATE)
    square = cv2.blur((f * f).mean(0)[None], (WINDOW, 1), borderType=cv2.BORDER_REPLICATE)
    return (f - mean) / (np.sqrt(np.maximum(square - mean * mean, 0)) + 4.0)


def scaled(crop):
    """To 32 rows, as the product does: averaged down, or magnified by cubic interpolation."""
    width = max(8, round(crop.shape[1] * HEIGHT / crop.shape[0]))
    return cv2.resize(crop, (width, HEIGHT), interpolation=cv2.INTER_AREA if crop.shape[0] > HEIGHT else cv2.INTER_CUBIC)


def clean(rng, image, unit):
    """What remains of a good image: a little blur, noise and compression."""
    if rng.random() < 0.5:
        image = cv2.GaussianBlur(image, (0, 0), 0.2 + unit * rng.uniform(0, 0.04))
    image = np.clip(image + rng.normal(0, rng.uniform(0, 3), image.shape), 0, 255).astype(np.uint8)
    if rng.random() < 0.6:
        image = cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(55, 96))])[1], cv2.IMREAD_GRAYSCALE)
    return image


def overprint(rng, h, w):
    """A word across the page, as specimens bear it and stamps leave it, 0…1."""
    mark = np.zeros((h, w), np.uint8)
    face = int(pick(rng, [cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_COMPLEX]))
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.uniform(-100, w - 200)), int(rng.uniform(0.3, 1.2) * h)
        cv2.putText(mark, upper(name(rng, "")) * 2, place, face, rng.uniform(2, 6), 255, int(rng.integers(1, 14)), cv2.LINE_AA)
    if rng.random() < 0.5:  # outlines only
        mark = cv2.morphologyEx(mark, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    turn = cv2.getRotationMatrix2D((w / 2, h / 2), rng.uniform(-35, 35), 1)
    return cv2.warpAffine(mark, turn, (w, h)).astype(np.float32) / 255


class VIZData:
    def __init__(self, seed, families=FAMILIES):
        self.rng = np.random.default_rng(seed)
        self.fonts = Fonts(families)
        self.papers = []
        self.used = 0

    def background(self, h, w):
        """Part of one of some papers, which cost more than the text on them."""
        rng = self.rng
        if len(self.papers) < 60 or self.used % 40 == 0:
            sheet = paper(rng, 260, 1100, CAP * rng.uniform(0.4, 1.2)).astype(np.float32)
            if rng.random() < 0.3:
                sheet -= rng.uniform(0.05, 0.45) * overprint(rng, 260, 1100)
            self.papers.append(sheet)
            del self.papers[:-60]
        self.used += 1
        sheet = self.papers[int(rng.integers(len(self.papers)))]
        if rng.random() < 0.5:
            sheet = sheet[:, ::-1]
        y, x = int(rng.integers(0, 260 - h + 1)), int(rng.integers(0, max(1, 1100 - w + 1)))
        part = sheet[y:y + h, x:x + w]
        if part.shape[1] < w:
            part = np.pad(part, ((0, 0), (0, w - part.shape[1])), mode="reflect")
        return part * rng.uniform(0.9, 1.1)

    def sample(self, most=26, easy=False):
        """(strip uint8, classes, marks, centres and widths of the characters in columns of the strip, the line)."""
        while True:
            made = self.attempt(most, easy)
            if made is not None:
                return made

    def attempt(self, most, easy):
        rng = self.rng
        line = text(rng, most)
        classes = labels(line) if line else None
        font = self.fonts.pick(rng, line) if classes else None
        if font is None:
            return None
        spread = 0 if rng.random() < 0.75 else rng.uniform(-0.6, 3) if rng.random() < 0.9 else rng.uniform(3, 8)
        width = int(sum(font.glyph(c)[3] + spread for c in line)) + 4 * CAP
        h = 150
        if width > 1600:
            return None
        ink = np.zeros((h, width), np.uint8)
        base = 90
        # Captions stand before values in smaller print.
        first = line.find(" ", 2) if rng.random() < (0.5 if line[0].isdigit() and not line[:4].isdigit() else 0.1) else 0
        small = (max(0, first), rng.uniform(0.5, 0.9))
        centres, widths, end = write(ink, font, line, 2 * CAP, base, spread, small)
        rows = np.flatnonzero(ink.max(1) > 100)
        cols = np.flatnonzero(ink.max(0) > 100)
        if len(rows) == 0:
            return None
        box = [cols[0], rows[0], cols[-1] + 1, rows[-1] + 1]
        # Other lines above and below, as close as print sets them.
        for side in (-1, 1):
            if rng.random() < 0.4:
                other = text(rng, 30)
                again = font if rng.random() < 0.6 and all(font.glyph(c) is not None for c in other) else self.fonts.pick(rng, other)
                if other and again is not None:
                    gap = CAP * rng.uniform(1.45, 2.6)
                    write(ink, again, other, rng.uniform(0, 4 * CAP), base + side * gap, 0)
        alpha = ink
        stroke = pen(rng)
        if stroke is not None:
            changed = (cv2.dilate if stroke[0] == "dilate" else cv2.erode)(alpha, stroke[1])
            alpha = changed if changed.sum() > 0.6 * alpha.sum() else alpha
        alpha = alpha.astype(np.float32) / 255
        if rng.random() < 0.12:  # a rule or a frame near the line
            y = int(base + rng.uniform(0.25, 0.8) * CAP if rng.random() < 0.7 else base - rng.uniform(1.3, 1.8) * CAP)
            if 0 <= y < h - 4:
                alpha[y:y + int(rng.integers(1, 4))] = rng.uniform(0.3, 1)
        body = self.background(h, width)
        contrast = rng.uniform(0.45, 1.0) if rng.random() < 0.75 else rng.uniform(0.14, 0.5)
        if rng.random() < 0.12:
            wear = self.background(h, width)
            alpha = alpha * np.clip(wear / wear.max() + rng.uniform(-0.4, 0.3), 0.15, 1)
        page = body * (1 - contrast * alpha)
        # Most lines look as scans and careful photographs do.
        easy = easy or rng.random() < 0.6
        page = light(rng, np.clip(page, 0, 1.2)) if not easy else np.clip(page, 0, 1) * 255

        # To the sensor.
        # Height of capitals there: small images are magnified before they are read.
        is_small = rng.random() < 0.25
        unit = float(rng.uniform(5, 9) if is_small else np.exp(rng.uniform(np.log(9 if easy else 8), np.log(26))))
        scale = unit / CAP
        across = scale * (rng.uniform(0.78, 1.2) if rng.random() < 0.35 else rng.uniform(0.95, 1.05))
        if scale < 0.7:
            page = cv2.GaussianBlur(page, (0, 0), 0.4 / scale)
        slope = np.clip(rng.normal() * 0.008, -0.02, 0.02)
        lean = rng.normal() * 0.04
        middle = base - CAP / 2
        # canvas (x, y) -> sensor
        m = np.array([[across, lean * scale, 0], [slope * across, scale, 0]], np.float32)
        corners = np.array([[0, 0, 1], [width, 0, 1], [0, h, 1], [width, h, 1]]) @ m.T
        m[:, 2] = -corners.min(0)
        size = np.ceil(corners.max(0) - corners.min(0)).astype(int) + 1
        seen = cv2.warpAffine(page, m, (int(size[0]), int(size[1])), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        if unit > 8 and rng.random() < 0.04:  # a screen's letters, without shades
            seen = np.where(seen < seen.min() + 0.55 * (np.median(seen) - seen.min()), seen.min(), np.median(seen)).astype(np.float32)
        seen = sensor(rng, seen, unit) if not easy else clean(rng, seen, unit)

        # The page is magnified where the image is small; then the box of the line is cut out.
        if is_small or unit < 15 and rng.random() < 0.5:
            more = 2 if is_small and rng.random() < 0.7 else rng.uniform(1.2, 2)
            seen = cv2.resize(seen, None, fx=more, fy=more, interpolation=cv2.INTER_LINEAR)
            m = m * more
        points = np.array([[box[0], box[1], 1], [box[2], box[1], 1], [box[0], box[3], 1], [box[2], box[3], 1]], np.float32) @ m.T
        (x0, y0), (x1, y1) = points.min(0), points.max(0)
        tall = unit * (m[1, 1] / scale)
        if rng.random() < 0.5:  # dots and accents are too small to be found as part of the line
            y0 = max(y0, m[1, :2] @ (2 * CAP, base - CAP) + m[1, 2])
        if y1 - y0 < 0.75 * tall and (y1 - y0 < 0.5 * tall or rng.random() < 0.5):  # signs alone
            y0, y1 = y0 - 0.3 * tall, y1 + 0.3 * tall
        high = (tall if rng.random() < 0.7 else 0.75 * tall)
        dice = rng.random()
        margin = 0.3 if dice < 0.72 else 0.55 if dice < 0.85 else rng.uniform(0.1, 0.9)
        # `find_marks` finds strokes a pixel or two shorter or longer than they are.
        left, right, top, bottom = (margin * high + rng.normal(0, 0.05, 4) * tall).tolist()
        if rng.random() < 0.12:  # a box that was guessed: room above or below
            top, bottom = top + rng.uniform(0, 0.7) * tall * (rng.random() < 0.5), bottom + rng.uniform(0, 0.7) * tall * (rng.random() < 0.5)
        if rng.random() < 0.08:
            right += rng.uniform(0, 3) * tall
        cut = [max(0, int(np.floor(x0 - left))), max(0, int(np.floor(y0 - top))),
               min(seen.shape[1], int(np.ceil(x1 + right))), min(seen.shape[0], int(np.ceil(y1 + bottom)))]
        crop = seen[cut[1]:cut[3], cut[0]:cut[2]]
        if crop.shape[0] < 8 or crop.shape[1] < 4:
            return None
        strip = scaled(crop)
        k = strip.shape[1] / crop.shape[1]
        at = (m[0, 0] * centres + m[0, 1] * middle + m[0, 2] - cut[0]) * k
        return strip, np.array(classes, np.int64), at.astype(np.float32), (widths * m[0, 0] * k).astype(np.float32), line
