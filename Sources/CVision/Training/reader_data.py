"""Training samples of the line reader: a strip of 32 rows with a label for every fourth column."""

import cv2
import numpy as np

from mrz_render import CAP, Fonts, light, paper, pen, sensor, stamp
from mrz_text import ALPHABET, line, pick

HEIGHT, PITCH, LETTER, STRIDE = 32, 16, 18, 4  # the strip the reader expects: rows, pitch, capital height, stride
BLANK, IGNORE = len(ALPHABET), -1


def normalise(strip):
    """Subtracts the mean and divides by the deviation of a window of 65 columns (all rows); the C++ code does the same."""
    f = strip.astype(np.float32)
    mean = cv2.blur(f.mean(0)[None], (65, 1), borderType=cv2.BORDER_REPLICATE)
    square = cv2.blur((f * f).mean(0)[None], (65, 1), borderType=cv2.BORDER_REPLICATE)
    return (f - mean) / (np.sqrt(np.maximum(square - mean * mean, 0)) + 3.0)


class ReaderData:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.fonts = Fonts()

    def sample(self, cells, easy=False):
        """(strip uint8 HEIGHT x W, labels W/4, centre offset, log height, log pitch per column)."""
        rng = self.rng
        text = line(rng)
        # The window into the line: it may hang over either end, so that the reader learns where lines stop.
        start = int(rng.integers(-3, len(text) - cells + 4)) if len(text) > cells - 3 else -2
        shown = text[max(0, start):start + cells]
        first = max(0, -start)
        ratio = rng.uniform(0.85, 1.35)
        pitch = CAP * ratio
        atlas = self.fonts.pick(rng)
        squeeze = 1.0 if rng.random() < 0.5 else float(np.clip(rng.uniform(0.8, 1.1) * ratio, 0.75, 1.3))
        stroke = pen(rng)
        margin = 2
        w, h = int((cells + 2 * margin) * pitch), int(CAP * 5.4)
        ink = np.zeros((h, w), np.uint8)
        x, y = (margin + first + 0.5) * pitch, h / 2
        centres = stamp(ink, atlas, shown, x, y, pitch, rng, squeeze, stroke)
        gap = pitch * max(rng.uniform(1.35, 2.8), 1.3 / ratio)
        for side in (-1, 1):
            if rng.random() < 0.6:
                if rng.random() < 0.7:
                    other = line(rng)[:len(shown)]
                    stamp(ink, atlas, other, x + rng.normal() * 0.3 * pitch, y + side * gap, pitch, rng, squeeze, stroke)
                else:
                    stamp(ink, self.fonts.pick(rng), pick(rng, ALPHABET[:36], cells + 4), rng.uniform(0, pitch),
                          y + side * rng.uniform(1.45, 3) * CAP, CAP * rng.uniform(0.6, 1), rng, rng.uniform(0.6, 1))
        ys = CAP * rng.uniform(0.8, 1.6)
        body = paper(rng, h, w, pitch)
        contrast = rng.uniform(0.35, 1.0) if rng.random() < 0.8 else rng.uniform(0.12, 0.4)
        alpha = ink.astype(np.float32) / 255
        if rng.random() < 0.2:  # worn or uneven print
            wear = paper(rng, h, w, pitch * 0.7)
            alpha = alpha * np.clip(wear / wear.max() + rng.uniform(-0.4, 0.3), 0.1, 1)
        page = body * (1 - contrast * alpha)
        if rng.random() < 0.35:  # the edge of the card, a frame line, a table behind it
            edge = h / 2 + rng.choice([-1, 1]) * (CAP * 0.5 + ys * rng.uniform(0.35, 1.2))
            other = rng.uniform(0, 1)
            if rng.random() < 0.5:
                page[: int(edge)] = other if edge < h / 2 else page[: int(edge)]
                page[int(edge):] = other if edge > h / 2 else page[int(edge):]
            else:
                page[int(edge):int(edge) + int(rng.integers(1, 6))] = other
        if rng.random() < 0.4 and len(shown):  # what stands left and right of the line
            other = rng.uniform(0, 1)
            left, right = centres[0] - pitch * rng.uniform(0.8, 3), centres[-1] + pitch * rng.uniform(0.8, 3)
            if rng.random() < 0.5 and left > 0:
                page[:, :int(left)] = other
            if rng.random() < 0.5:
                page[:, int(right):] = other
        page = light(rng, np.clip(page, 0, 1.2))

        # To the sensor: characters `unit` pixels apart, turned by a few degrees; then back, with the errors of a rectification.
        unit = 16 if easy else float(np.exp(rng.uniform(np.log(5.0), np.log(22))))
        scale = unit / pitch
        aspect = rng.uniform(0.9, 1.1)
        if scale < 0.7:
            page = cv2.GaussianBlur(page, (0, 0), 0.45 / scale * 0.9)
        angle = rng.normal() * (2 if easy else 6)
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        # canvas -> sensor
        m = np.array([[scale * c, -scale * aspect * s], [scale * s, scale * aspect * c]])
        corners = np.array([[0, 0], [w, 0], [0, h], [w, h]]) @ m.T
        shift = -corners.min(0)
        size = np.ceil(corners.max(0) - corners.min(0)).astype(int) + 1
        forward = np.hstack([m, shift[:, None]]).astype(np.float32)
        seen = cv2.warpAffine(page, forward, (int(size[0]), int(size[1])), flags=cv2.INTER_LINEAR,
                              borderMode=cv2.BORDER_REPLICATE)
        seen = sensor(rng, seen, unit)

        # strip -> canvas -> sensor
        wild = 0.3 if easy else 1.0
        sx = PITCH / pitch * np.exp(wild * np.clip(rng.normal() * 0.13, -0.3, 0.3))
        sy = LETTER / CAP * np.exp(wild * np.clip(rng.normal() * 0.15, -0.32, 0.32))
        tilt = wild * np.clip(rng.normal() * 0.012, -0.035, 0.035)
        shear = wild * rng.normal() * 0.06
        bend = wild * rng.normal() * 1.2
        dy = wild * np.clip(rng.normal() * 1.7, -4.5, 4.5)
        out_w = PITCH * cells
        out_x0 = (margin * pitch) * sx + rng.uniform(-0.5, 0.5) * PITCH - rng.uniform(0, 1) * max(
            0, (margin + cells) * pitch * sx - out_w - margin * pitch * sx)
        gx, gy = np.meshgrid(np.arange(out_w, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))
        u = (gx - out_w / 2) / (out_w / 2)
        line_y = HEIGHT / 2 + dy + tilt * (gx - out_w / 2) + bend * (u * u - 0.4)
        rise = gy - line_y
        cx = (gx + out_x0 + shear * rise) / sx
        cy = y + rise / sy
        mx = forward[0, 0] * cx + forward[0, 1] * cy + forward[0, 2]
        my = forward[1, 0] * cx + forward[1, 1] * cy + forward[1, 2]
        strip = cv2.remap(seen, mx.astype(np.float32), my.astype(np.float32), cv2.INTER_LINEAR,
                          borderMode=cv2.BORDER_REPLICATE)

        columns = out_w // STRIDE
        at = (np.arange(columns) + 0.5) * STRIDE - 0.5
        labels = np.full(columns, BLANK, np.int64)
        centre = HEIGHT / 2 + dy + tilt * (at - out_w / 2) + bend * (((at - out_w / 2) / (out_w / 2)) ** 2 - 0.4)
        pos = centres * sx - out_x0
        step = pitch * sx
        for p, ch in zip(pos, shown):
            d = np.abs(at - p) / step
            labels[(d < 0.36) & (labels == BLANK)] = IGNORE
            labels[d < 0.26] = ALPHABET.index(ch)
        inside = np.zeros(columns, np.float32)
        if len(pos):
            inside[(at > pos[0] - step / 2) & (at < pos[-1] + step / 2)] = 1
        geometry = np.stack([
            (centre - HEIGHT / 2) / 8, np.full(columns, np.log(CAP * sy / LETTER)), np.full(columns, np.log(step / PITCH)),
            inside]).astype(np.float32)
        return strip, labels, geometry
