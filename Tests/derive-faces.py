#!/usr/bin/python3
"""Makes the images that the face tests need out of the fetched photographs.

Usage: derive-faces.py FACES OUT     needs Debian's python3-pil and python3-numpy
"""
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

faces, out = Path(sys.argv[1]), Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
one = Image.open(faces / "obama.jpg").convert("RGB")
other = Image.open(faces / "biden.jpg").convert("RGB")
# Where the detector's box lies in obama.jpg.
FACE = (345, 139, 613, 407)


def save(name, image):
    image.save(out / name)


save("left.png", one.transpose(Image.Transpose.ROTATE_90))
save("right.png", one.transpose(Image.Transpose.ROTATE_270))
save("down.png", one.transpose(Image.Transpose.ROTATE_180))
save("tight.png", one.crop((FACE[0] + 20, FACE[1] + 10, FACE[2] - 20, FACE[3] + 10)))
# The same with few pixels, whichever way up.
small = one.crop((FACE[0] - 10, FACE[1] - 30, FACE[2] + 10, FACE[3] + 30)).resize((150, 172), Image.Resampling.LANCZOS)
for quarters in range(4):
    save(f"small-tight-{quarters}.png", small.rotate(90 * quarters, expand=True))
save("blurred.png", one.filter(ImageFilter.GaussianBlur(14)))
save("grey.png", one.convert("L").convert("RGB"))
save("dark.png", one.point(lambda value: value * 0.06))

# A document's portrait: eyes 21 px apart on a page of 640 px.
page = Image.new("RGB", (640, 420), (226, 232, 238))
page.paste(one.resize((182, 227), Image.Resampling.LANCZOS), (30, 90))
save("portrait.png", page)

# A passport's page seen at a low angle: 1.7 times as flat as it is. Its MRZ would lie from (70, 410) to (1190, 470).
flat = Image.new("RGB", (1280, 840), (226, 232, 238))
flat.paste(one.resize((364, 454), Image.Resampling.LANCZOS), (60, 120))
save("oblique.png", flat.resize((1280, 494), Image.Resampling.LANCZOS))

# A card with a portrait and, faint and grey, its ghost image: of the same person, of another, with few pixels, and none.
for name, ghost, width in (("ghost", one, 260), ("ghost-of-another", other.crop((300, 60, 960, 885)), 220),
                           ("ghost-small", one, 180), ("ghost-none", None, 0)):
    card = Image.new("RGB", (1600, 1008), (226, 232, 238))
    card.paste(one.resize((512, 640), Image.Resampling.LANCZOS), (64, 200))
    if ghost is not None:
        faint = ghost.convert("L").resize((width, width * 5 // 4), Image.Resampling.LANCZOS).convert("RGB")
        place = (1200, 300, 1200 + faint.width, 300 + faint.height)
        card.paste(Image.blend(card.crop(place), faint, 0.7), place[:2])
    save(f"{name}.png", card)
    save(f"{name}-turned.png", card.transpose(Image.Transpose.ROTATE_90))

# Two people, the second as large as the first, and the second far behind.
height = one.height
together = Image.new("RGB", (one.width * 2, height), (90, 90, 90))
together.paste(one, (0, 0))
beside = other.crop((300, 60, 960, 885)).resize((one.width, height), Image.Resampling.LANCZOS)
together.paste(beside, (one.width, 0))
save("together.png", together)
behind = one.copy()
behind.paste(beside.resize((beside.width // 5, height // 5), Image.Resampling.LANCZOS), (20, 120))
save("behind.png", behind)

# Nobody: structure of all sizes, but no face.
noise = np.random.default_rng(1).normal(size=(480, 640, 3))
smooth = sum(
    np.asarray(Image.fromarray(np.uint8(np.clip(128 + 60 * noise, 0, 255))).filter(ImageFilter.GaussianBlur(radius)))
    .astype(float) for radius in (1, 4, 16)) / 3
save("nobody.png", Image.fromarray(np.uint8(smooth)))

# A screen's raster, photographed: two gratings at an angle to the pixels.
pixels = np.asarray(one).astype(float)
y, x = np.mgrid[0:one.height, 0:one.width]
grating = np.sin(2 * np.pi * (0.21 * x + 0.08 * y)) + np.sin(2 * np.pi * (0.08 * x - 0.21 * y))
save("raster.png", Image.fromarray(np.uint8(np.clip(pixels + 9 * grating[..., None], 0, 255))))

# A tablet that shows the image: black bezel before a bright, plain wall.
shown = one.crop((250, 40, 710, 560))
wall = Image.new("RGB", (800, 900), (205, 205, 200))
wall.paste((12, 12, 12), (110, 120, 110 + shown.width + 100, 120 + shown.height + 100))
wall.paste(shown, (160, 170))
save("bezel.png", wall.rotate(6, Image.Resampling.BICUBIC, fillcolor=(205, 205, 200)))
