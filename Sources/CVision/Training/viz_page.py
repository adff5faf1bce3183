"""Draws the page of the tests: lines in fonts that the text reader never saw. usage: viz_page.py PAGE.jpg TRUTH.json"""

import json
import sys

import cv2
import numpy as np

from mrz_render import noise_field, paper
from viz_render import CAP, UNSEEN, Fonts, write
from viz_text import FOREIGN, caption, date, foreign, labels, names, number, place

WIDTH, HEIGHT, ROWS, COLUMNS = 1280, 1040, 26, 2
QUALITY = 80


def line(rng, fonts, kinds):
    """A text that fits into a column, with its font and the height of its capitals."""
    while True:
        text = " ".join(kinds[int(rng.integers(len(kinds)))](rng).split())
        is_long = len(text) >= (6 if kinds == [foreign] else 4)
        font = fonts.pick(rng, text) if is_long and len(text) <= 26 and labels(text) else None
        height = rng.uniform(13, 21)
        if font is not None and sum(font.glyph(c)[3] for c in text) * height / CAP < WIDTH / COLUMNS - 110:
            return text, font, height


def main():
    rng = np.random.default_rng(20_261_127)
    fonts = Fonts(UNSEEN)
    page = paper(rng, HEIGHT, WIDTH, 14).astype(np.float32)
    page = 0.55 * page + 0.4 + 0.04 * noise_field(rng, HEIGHT, WIDTH, 400)
    truth = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            # The last row is Cyrillic or Greek.
            kinds = [foreign] if row == ROWS - 1 else [names, names, date, number, place, caption]
            text, font, height = line(rng, fonts, kinds)
            ink = np.zeros((150, 3 * WIDTH), np.uint8)
            *_, end = write(ink, font, text, CAP, 90, 0)
            ink = cv2.resize(ink[:, :int(end) + CAP], None, fx=height / CAP, fy=height / CAP, interpolation=cv2.INTER_AREA)
            ink = cv2.GaussianBlur(ink, (0, 0), rng.uniform(0.3, 0.9))
            x, base = 40 + column * WIDTH // COLUMNS, 30 + row * (HEIGHT - 40) // ROWS
            top = base - round(90 * height / CAP)
            # What of other lines overlaps is blank.
            first, last = max(0, -top), min(ink.shape[0], HEIGHT - top)
            part = page[top + first:top + last, x:x + ink.shape[1]]
            part *= 1 - rng.uniform(0.45, 0.9) * ink[first:last].astype(np.float32) / 255
            is_latin = labels(text)[0][0] != FOREIGN
            truth.append({"text": text, "x": x + round(height), "base": base, "isLatin": is_latin})
    page = page + rng.normal(0, 0.012, page.shape)
    cv2.imwrite(sys.argv[1], np.clip(page * 255, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    with open(sys.argv[2], "w") as file:
        json.dump(truth, file, ensure_ascii=False, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
