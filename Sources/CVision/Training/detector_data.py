"""Training samples of the detector: a square of an image and, for every fourth pixel, whether it is on a line of an MRZ."""

import cv2
import numpy as np
from PIL import Image, ImageDraw

from mrz_render import CAP, Fonts, light, noise_field, paper, pen, sensor, stamp
from mrz_text import DIGITS, LETTERS, mrz_lines, pick, word

SIDE, STRIDE, UNIT = 320, 4, 16  # square in pixels; stride of the answer; pitch on the canvas documents are drawn on


def normalise(image):
    """Zero mean and unit deviation over windows of 129 pixels; the C++ code does the same."""
    f = image.astype(np.float32)
    mean = cv2.blur(f, (129, 129), borderType=cv2.BORDER_REFLECT_101)
    square = cv2.blur(f * f, (129, 129), borderType=cv2.BORDER_REFLECT_101)
    return (f - mean) / (np.sqrt(np.maximum(square - mean * mean, 0)) + 8.0)


class DetectorData:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.fonts = Fonts()

    def words(self, draw, x0, y0, x1, y1, dense):
        """Ordinary text: labels, names, numbers, paragraphs."""
        rng = self.rng
        y = y0
        sizes = sorted(self.fonts.texts)
        while y < y1:
            size = sizes[rng.integers(len(sizes))]
            font = self.fonts.texts[size][rng.integers(len(self.fonts.texts[size]))]
            x = x0 + rng.uniform(0, 30)
            while x < x1:
                kind = rng.random()
                text = word(rng) if kind < 0.4 else word(rng).lower() if kind < 0.75 else pick(
                    rng, DIGITS + "./-", int(rng.integers(2, 12)))
                if rng.random() < 0.04:
                    text = "".join("<>#/=+-_"[i] for i in rng.integers(0, 8, 6))
                draw.text((x, y), text, font=font, fill=int(rng.uniform(100, 255)))
                x += size * len(text) * 0.62 + size * rng.uniform(0.4, 1)
                if not dense and rng.random() < 0.5:
                    x += rng.uniform(30, 300)
            y += size * rng.uniform(1.1, 1.4 if dense else 2.6)

    def document(self, with_mrz):
        """(page 0…1, character centres of every line on it)."""
        rng = self.rng
        rows = mrz_lines(rng)
        columns = len(rows[0])
        w = int(UNIT * (columns * rng.uniform(1.04, 1.25)))
        h = int(w * rng.uniform(0.5, 0.8))
        page = paper(rng, h, w, UNIT)
        image = Image.new("L", (w, h), 0)
        draw = ImageDraw.Draw(image)
        pitch = UNIT
        cap = UNIT * rng.uniform(0.75, 1.2)
        gap = max(UNIT * rng.uniform(1.4, 3.0), 1.35 * cap)
        bottom = h - rng.uniform(0.6, 4) * UNIT if rng.random() < 0.85 else rng.uniform(gap * 3 + 2 * cap, h)
        top = bottom - gap * (len(rows) - 1) - cap if with_mrz else h
        if rng.random() < 0.9:
            self.words(draw, rng.uniform(5, w * 0.5), 6, w, top - rng.uniform(0.5, 3) * UNIT, rng.random() < 0.25)
        ink = np.asarray(image).astype(np.float32) / 255
        if rng.random() < 0.7:  # the portrait
            pw, ph = int(w * rng.uniform(0.15, 0.3)), int(h * rng.uniform(0.3, 0.6))
            px, py = int(rng.uniform(0, w - pw)), int(rng.uniform(0, max(1, top - ph)))
            patch = 0.5 + 0.5 * noise_field(rng, ph, pw, pw * rng.uniform(0.1, 0.5))
            part = page[py:py + ph, px:px + pw]
            part[:] = patch[:part.shape[0], :part.shape[1]]
        if rng.random() < 0.2:  # bars
            bw, bh = int(w * rng.uniform(0.3, 0.8)), int(UNIT * rng.uniform(1, 6))
            bx, by = int(rng.uniform(0, w - bw)), int(rng.uniform(0, max(1, top - bh)))
            cell = int(rng.integers(2, 6))
            tall = bh if rng.random() < 0.5 else cell * 3
            bars = (rng.random((bh // tall + 1, bw // cell + 1)) < 0.5).astype(np.float32)
            bars = cv2.resize(bars, (bw, bh), interpolation=cv2.INTER_NEAREST)
            part = ink[by:by + bh, bx:bx + bw]
            part[:] = bars[:part.shape[0], :part.shape[1]]
        page = page * (1 - rng.uniform(0.3, 0.95) * ink)
        lines = []
        if with_mrz:
            atlas, stroke = self.fonts.pick(rng), pen(rng)
            k = cap / CAP
            big = int((columns + 2) * pitch / k)
            squeeze = 1.0 if rng.random() < 0.5 else float(np.clip(pitch / cap * rng.uniform(0.8, 1.1), 0.75, 1.3))
            x0 = rng.uniform(0.5, max(0.6, w / pitch - columns - 0.5)) * pitch
            contrast = rng.uniform(0.3, 1) if rng.random() < 0.85 else rng.uniform(0.12, 0.4)
            if rng.random() < 0.4:  # a plain strip under the MRZ
                page[int(max(0, top - UNIT)):] = rng.uniform(0.6, 1)
            for i, text in enumerate(rows):
                strip = np.zeros((2 * CAP, big), np.uint8)
                stamp(strip, atlas, text, pitch / k, CAP, pitch / k, rng, squeeze, stroke)
                small = cv2.resize(strip, None, fx=k, fy=k, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
                y = top + cap / 2 + i * gap
                sy, sx = int(round(y - small.shape[0] / 2)), int(round(x0 - pitch / 2))
                x1, y1 = min(w, sx + small.shape[1]), min(h, sy + small.shape[0])
                if sx < 0 or sy < 0 or x1 <= sx or y1 <= sy:
                    continue
                page[sy:y1, sx:x1] *= 1 - contrast * small[:y1 - sy, :x1 - sx]
                centres = x0 + pitch / 2 + pitch * np.arange(columns)
                lines.append((np.stack([centres, np.full(columns, y)], 1), cap))
        return page, lines

    def sample(self):
        rng = self.rng
        page, lines = self.document(rng.random() < 0.82)
        h, w = page.shape
        p = float(np.exp(rng.uniform(np.log(3.3), np.log(19))))
        scale = p / UNIT
        angle = np.radians(rng.integers(4) * 90 + (rng.normal() * 9 if rng.random() < 0.8 else rng.uniform(-45, 45)))
        c, s = np.cos(angle) * scale, np.sin(angle) * scale
        if lines and rng.random() < 0.85:
            at = lines[rng.integers(len(lines))][0]
            focus = at[rng.integers(len(at))]
        else:
            focus = np.array([rng.uniform(0, w), rng.uniform(0, h)])
        to = np.array([SIDE / 2, SIDE / 2]) + rng.uniform(-0.45, 0.45, 2) * SIDE
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        move = np.eye(3)
        move[:2, 2] = to - (turn @ [*focus, 1])[:2]
        lean = np.eye(3)
        lean[2, :2] = rng.normal(0, 0.00035, 2)
        centre = np.eye(3)
        centre[:2, 2] = SIDE / 2
        back = np.eye(3)
        back[:2, 2] = -SIDE / 2
        m = centre @ lean @ back @ move @ turn
        if scale < 0.75:
            page = cv2.GaussianBlur(page, (0, 0), 0.4 / scale)
        table = paper(rng, SIDE, SIDE, p * rng.uniform(0.5, 4)) * rng.uniform(0.1, 1.2)
        seen = cv2.warpPerspective(page, m, (SIDE, SIDE), dst=table.astype(np.float32), borderMode=cv2.BORDER_TRANSPARENT)
        seen = sensor(rng, light(rng, np.clip(seen, 0, 1.2)), p)

        fine = np.zeros((SIDE, SIDE), np.uint8)
        maps = np.zeros((3, SIDE // STRIDE, SIDE // STRIDE), np.float32)
        for centres, cap in lines:
            step = centres[1] - centres[0]
            ends = np.stack([centres[0] - 0.4 * step, *centres, centres[-1] + 0.4 * step])
            q = cv2.perspectiveTransform(ends[None].astype(np.float64), m)[0]
            local = np.linalg.norm(q[2:-1] - q[1:-2], axis=1)
            up = cv2.perspectiveTransform((ends + [0, 1])[None].astype(np.float64), m)[0]
            rise = np.linalg.norm(up - q, axis=1)
            for i in range(len(q) - 1):
                thick = max(3.0, 0.7 * cap * rise[i])
                d = (q[i + 1] - q[i]) / (np.linalg.norm(q[i + 1] - q[i]) + 1e-9)
                n = np.array([-d[1], d[0]]) * thick / 2
                quad = np.array([q[i] + n, q[i + 1] + n, q[i + 1] - n, q[i] - n])
                cv2.fillConvexPoly(fine, np.round(quad * 16).astype(np.int32), 255, cv2.LINE_AA, 4)
                pitch = local[min(max(i - 1, 0), len(local) - 1)]
                for t in (0, 0.5):
                    x, y = (q[i] * (1 - t) + q[i + 1] * t) / STRIDE
                    r = int(np.ceil(thick / 2 / STRIDE))
                    xi, yi = int(x), int(y)
                    maps[:, max(0, yi - r):max(0, yi + r + 1), max(0, xi - r):max(0, xi + r + 1)] = np.array(
                        [d[0], d[1], np.log(max(pitch, 1) / 8)])[:, None, None]
        core = cv2.resize(fine, (SIDE // STRIDE, SIDE // STRIDE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        return seen, np.concatenate([core[None], maps])
