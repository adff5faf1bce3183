"""Photographs a flat card with a telephone: desk, perspective, light, lens, sensor, JPEG."""

import io
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter


@dataclass(frozen=True)
class Shot:
    """How an image is taken. Lengths are pixels of the final image, angles degrees."""

    tilt: float = 0.0
    turn: float = 0.0
    roll: float = 0.0
    # Share of the image's width that the document covers, and where its centre lies.
    fill: float = 0.82
    centre: tuple[float, float] = (0.5, 0.5)
    blur: float = 0.0
    motion: float = 0.0
    # Standard deviation of the sensor's noise at mid-grey, in levels of 255.
    noise: float = 0.0
    exposure: float = 1.0
    # How much darker the far side is than the near one.
    falloff: float = 0.0
    # Colour balance, red and blue against green.
    warmth: float = 0.0
    quality: int = 92
    grey: bool = False
    # A lamp mirrored in the laminate: centre and radii as shares of the document, None for no lamp.
    glare: tuple[float, float, float, float] | None = None
    # A thumb over the document: centre as shares of the document.
    thumb: tuple[float, float] | None = None
    # A corner that was cut off: its number, clockwise from the top left, and how far along the sides, as a share of the width.
    cut: tuple[int, float] | None = None
    # Holes punched through the card: centre as shares of the document, and diameter as a share of its width.
    holes: tuple[tuple[float, float, float], ...] = ()
    # Tears with the piece lost: side, clockwise from the top; where on it, as a share of the side; depth and width at the side, as
    # shares of the card's width.
    tears: tuple[tuple[int, float, float, float], ...] = ()
    desk: str = "wood"
    size: tuple[int, int] = (1600, 1200)


LEVELS = {
    "clean": Shot(fill=0.86, noise=0.8, quality=95, falloff=0.04),
    "mild": Shot(tilt=9, turn=-7, roll=2.5, fill=0.8, blur=0.7, noise=2.5, quality=88, falloff=0.16, warmth=0.04),
    "strong": Shot(
        tilt=17, turn=13, roll=-7, fill=0.72, blur=1.15, motion=1.5, noise=5, quality=72, falloff=0.34, warmth=0.09,
        exposure=0.82),
}


def _octaves(rng: np.random.Generator, size: tuple[int, int], cells: list[tuple[int, int]]) -> np.ndarray:
    """Smooth noise of mean 0: random grids of the given sizes, enlarged and halved in weight one after another."""
    total = np.zeros((size[1], size[0]), np.float32)
    for k, (columns, rows) in enumerate(cells):
        grid = Image.fromarray(rng.standard_normal((rows, columns)).astype(np.float32))
        total += np.asarray(grid.resize(size, Image.BICUBIC)) / 2**k
    return total


def desk(kind: str, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A table top, float 0-255."""
    width, height = size
    if kind == "wood":
        grain = _octaves(rng, size, [(5, 40), (9, 160), (24, 400)])
        rings = np.sin(_octaves(rng, size, [(3, 9), (4, 20)]) * 5 + np.linspace(0, 30, height)[:, None])
        value = 0.5 * grain + 0.5 * rings
        return np.array([126, 86, 54], np.float32) + value[:, :, None] * np.array([19, 16, 13], np.float32)
    if kind == "cloth":
        fine = rng.standard_normal((height // 2, width // 2)).astype(np.float32)
        weave = np.asarray(Image.fromarray(fine).resize(size, Image.BILINEAR))
        folds = _octaves(rng, size, [(3, 3), (6, 5)])
        value = 7 * weave + 11 * folds
        return np.array([58, 70, 92], np.float32) + value[:, :, None]
    if kind == "stone":
        speckle = _octaves(rng, size, [(60, 45), (200, 150), (600, 450)])
        return np.array([150, 148, 142], np.float32) + speckle[:, :, None] * np.array([13, 13, 14], np.float32)
    if kind == "tiles":
        side = max(24, width // int(rng.integers(18, 40)))
        y, x = np.mgrid[0:height, 0:width] // side
        tone = np.array(rng.uniform(50, 120, 3), np.float32)
        return tone + ((x + y) % 2)[:, :, None] * np.float32(rng.uniform(10, 45)) + 3 * _octaves(
            rng, size, [(60, 45), (200, 150)])[:, :, None]
    if kind == "papers":
        # Sheets and cards that lie about, some of them printed.
        scene = Image.fromarray(desk("wood", size, rng).clip(0, 255).astype(np.uint8))
        for _ in range(7):
            sheet = _sheet(rng, round(width * rng.uniform(0.2, 0.5)))
            turned = sheet.rotate(rng.uniform(0, 360), Image.BICUBIC, expand=True)
            at = (round(rng.uniform(-0.2, 0.9) * width), round(rng.uniform(-0.2, 0.9) * height))
            scene.paste(turned.convert("RGB"), at, turned.getchannel("A"))
        return np.asarray(scene, np.float32).copy()
    raise ValueError(f"no desk of kind {kind}")


def _sheet(rng: np.random.Generator, width: int) -> Image.Image:
    """A piece of paper with dark bars where its words would be."""
    sheet = np.full((round(width * rng.uniform(0.5, 1.4)), width, 4), 255, np.uint8)
    sheet[:, :, :3] = rng.uniform(150, 250, 3)
    pitch = int(rng.integers(14, 34))
    for y in range(pitch, sheet.shape[0] - pitch, pitch):
        x = pitch
        while x < width - 3 * pitch:
            word = int(rng.uniform(0.8, 4) * pitch)
            sheet[y : y + pitch // 3, x : min(x + word, width - pitch), :3] = 60
            x += word + pitch // 2
    return Image.fromarray(sheet)


def _corners(card: tuple[int, int], shot: Shot) -> np.ndarray:
    """Where the card's corners land in the image: a pinhole camera at 1.6 image widths' distance."""
    width, height = shot.size
    aspect = card[1] / card[0]
    plane = np.array([[-0.5, -aspect / 2, 0], [0.5, -aspect / 2, 0], [0.5, aspect / 2, 0], [-0.5, aspect / 2, 0]])
    a, b, c = (math.radians(v) for v in (shot.tilt, shot.turn, shot.roll))
    rotate_x = np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])
    rotate_y = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
    rotate_z = np.array([[math.cos(c), -math.sin(c), 0], [math.sin(c), math.cos(c), 0], [0, 0, 1]])
    points = plane @ (rotate_z @ rotate_y @ rotate_x).T * shot.fill
    distance = 1.6
    flat = points[:, :2] * (distance / (distance + points[:, 2:]))
    return flat * width + np.array(shot.centre) * np.array([width, height])


def _homography(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The eight coefficients that take target pixels back to source pixels, as Image.transform wants them."""
    rows = []
    for (x, y), (u, v) in zip(target, source):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    return np.linalg.solve(np.array(rows), source.reshape(8))


def _project(homography: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """For every pixel of the image, the position on the card, in card pixels."""
    a, b, c, d, e, f, g, h = homography.astype(np.float32)
    x = np.arange(size[0], dtype=np.float32)[None, :]
    y = np.arange(size[1], dtype=np.float32)[:, None]
    w = g * x + h * y + 1
    return (a * x + b * y + c) / w, (d * x + e * y + f) / w


def _soft(array: np.ndarray, radius: float) -> np.ndarray:
    """A grey float 0-1 mask, blurred."""
    image = Image.fromarray((array * 255).clip(0, 255).astype(np.uint8))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(radius)), np.float32) / 255


def photograph(card: Image.Image, shot: Shot, seed: int, photocopy: bool = False) -> tuple[bytes, list[list[float]]]:
    """The JPEG file, and the card's corners in it, clockwise from its top left.

    - Parameter photocopy: the card is a grey copy with a copier's hard contrast, cut out of white paper.
    """
    rng = np.random.default_rng(seed)
    width, height = shot.size
    # Twice the final resolution at most, so that the perspective transform does not skip printed pixels.
    target_width = round(shot.fill * width * 1.3)
    if target_width < card.width:
        card = card.resize((target_width, round(card.height * target_width / card.width)), Image.LANCZOS)
    if photocopy:
        grey = np.asarray(card.convert("L"), np.float32)
        hard = ((grey - 128) * 1.5 + 150 + rng.normal(0, 7, grey.shape)).clip(18, 244)
        card = Image.fromarray(hard.astype(np.uint8)).convert("RGB")
    corners = _corners(card.size, shot)
    source = np.array([[0, 0], [card.width, 0], [card.width, card.height], [0, card.height]], np.float64)
    homography = _homography(source, corners)
    u, v = _project(homography, shot.size)
    # The border is repeated outwards, because the transform turns everything outside its source black.
    bleed = 8
    wider = Image.fromarray(np.pad(np.asarray(card), ((bleed, bleed), (bleed, bleed), (0, 0)), mode="edge"))
    flat = wider.transform(
        shot.size, Image.PERSPECTIVE, tuple(_homography(source + bleed, corners)), Image.BICUBIC)
    # Rounded corners, about the 3.18 mm of ISO/IEC 7810-1.
    radius = 0.03 * card.width
    du = np.maximum(np.abs(u - card.width / 2) - (card.width / 2 - radius), 0)
    dv = np.maximum(np.abs(v - card.height / 2) - (card.height / 2 - radius), 0)
    inside = (np.hypot(du, dv) - radius) * (shot.fill * width / card.width)
    alpha = (0.5 - inside).clip(0, 1)
    if shot.cut is not None:
        corner, share = shot.cut
        along = card.width - u if corner in (1, 2) else u
        down = card.height - v if corner in (2, 3) else v
        alpha *= ((along + down - share * card.width) / 1.4142 * (shot.fill * width / card.width) + 0.5).clip(0, 1)
    for x, y, diameter in shot.holes:
        beyond = np.hypot(u - x * card.width, v - y * card.height) - diameter * card.width / 2
        alpha *= (beyond * (shot.fill * width / card.width) + 0.5).clip(0, 1)
    for tear in shot.tears:
        alpha *= (_beyond_tear(tear, u, v, card) * (shot.fill * width / card.width) + 0.5).clip(0, 1)

    scene = desk(shot.desk, shot.size, rng)
    shadow = np.roll(_soft(alpha, 9), (7, 5), axis=(0, 1))
    scene *= (1 - 0.45 * shadow)[:, :, None]
    # The cut edge of the plastic catches the light.
    rim = 1 + 0.1 * np.exp(-((inside + 1.5) ** 2) / 3)
    scene += (np.asarray(flat, np.float32) * rim[:, :, None] - scene) * alpha[:, :, None]
    if shot.thumb is not None:
        _thumb(scene, u / card.width - shot.thumb[0], (v - shot.thumb[1] * card.height) / card.width)
    _light(scene, u / card.width, v / card.height, shot, rng)
    return _develop(scene, shot, rng), corners.tolist()


def _beyond_tear(tear: tuple[int, float, float, float], u: np.ndarray, v: np.ndarray, card: Image.Image) -> np.ndarray:
    """How far pixels lie outside a torn notch, in card pixels: a wedge with ragged sides."""
    side, place, depth, wide = tear
    along = (u if side in (0, 2) else v) - place * (card.height if side in (1, 3) else card.width)
    inward = (v, card.width - u, card.height - v, u)[side] / card.width
    ragged = 0.12 * depth * (np.sin(inward / depth * 9 + 7 * place) + 0.5 * np.sin(inward / depth * 23 + 31 * place))
    return np.abs(along - ragged * card.width) - wide / 2 * card.width * (1 - (inward / depth).clip(0, 1)) ** 0.8


def _thumb(scene: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Lays a thumb that comes in from below; x and y are card widths from its tip's middle."""
    reach = np.hypot(x / 0.085, np.minimum(y, 0) / 0.11)
    alpha = _soft((reach < 1).astype(np.float32), 2)
    shade = (1 - 0.42 * np.minimum(np.abs(x) / 0.085, 1) ** 2)[:, :, None]
    skin = np.array([214, 158, 130], np.float32) * shade
    nail = np.hypot(x / 0.05, (y + 0.035) / 0.055) < 1
    skin = np.where(nail[:, :, None], np.array([232, 186, 168], np.float32) * shade, skin)
    scene += (skin - scene) * alpha[:, :, None]


def _light(scene: np.ndarray, u: np.ndarray, v: np.ndarray, shot: Shot, rng: np.random.Generator) -> None:
    """Uneven light, colour of the lamp, and its mirror image; in place, in linear light."""
    np.clip(scene, 0, 255, out=scene)
    scene /= 255
    scene **= 2.2
    height, width = scene.shape[:2]
    angle = rng.uniform(0, 2 * math.pi)
    x = np.linspace(-0.5, 0.5, width, dtype=np.float32)[None, :]
    y = np.linspace(-0.5, 0.5, height, dtype=np.float32)[:, None]
    gradient = 1 - shot.falloff * (1.2 * (x * math.cos(angle) + y * math.sin(angle)) + 0.35 * (x * x + y * y) + 0.2)
    scene *= (gradient * shot.exposure)[:, :, None]
    scene *= np.array([1 + shot.warmth, 1, 1 - 1.4 * shot.warmth], np.float32)
    if shot.glare is not None:
        cx, cy, rx, ry = shot.glare
        reach = np.hypot((u - cx) / rx, (v - cy) / ry)
        scene += (2.6 * np.exp(-(reach**2) * 1.2))[:, :, None] * np.array([1, 0.99, 0.95], np.float32)


def _develop(scene: np.ndarray, shot: Shot, rng: np.random.Generator) -> bytes:
    """Lens blur, sensor noise, gamma and JPEG. `scene` is linear light."""
    np.clip(scene, 0, 1, out=scene)
    encoded = (scene ** (1 / 2.2) * 255).astype(np.float32)
    image = Image.fromarray(encoded.astype(np.uint8))
    if shot.blur:
        image = image.filter(ImageFilter.GaussianBlur(shot.blur))
    pixels = np.asarray(image, np.float32)
    if shot.motion:
        pixels = _smear(pixels, shot.motion)
    if shot.noise:
        # Photon noise: in gamma-encoded levels it is strongest in the shadows. Colour noise is coarser than luminance.
        strength = shot.noise * (1.35 - 0.7 * pixels.mean(axis=2, keepdims=True) / 255)
        luminance = rng.standard_normal(pixels.shape[:2], np.float32)[:, :, None]
        coarse = rng.standard_normal((pixels.shape[0] // 2, pixels.shape[1] // 2, 3), np.float32)
        colour = np.repeat(np.repeat(coarse, 2, axis=0), 2, axis=1)
        pixels = pixels + strength * (luminance + 0.5 * colour)
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    if shot.grey:
        image = image.convert("L").convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=shot.quality, subsampling="4:2:0")
    return buffer.getvalue()


def _smear(pixels: np.ndarray, length: float) -> np.ndarray:
    """Motion along a falling diagonal: the mean of shifted copies."""
    steps = max(2, round(length) + 1)
    total = np.zeros_like(pixels)
    for k in range(steps):
        offset = length * (k / (steps - 1) - 0.5)
        total += np.roll(pixels, (round(0.35 * offset), round(offset)), axis=(0, 1))
    return total / steps


def landscape(seed: int, size: tuple[int, int] = (1600, 1200)) -> bytes:
    """An image without any document: sky, hills, a meadow."""
    rng = np.random.default_rng(seed)
    width, height = size
    rows = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    sky = np.array([96, 148, 214], np.float32) * (1 - rows) + np.array([222, 230, 238], np.float32) * rows
    clouds = (_octaves(rng, size, [(6, 9), (14, 20), (40, 50), (90, 110)]) - 0.5).clip(0, 1)[:, :, None] * 0.8
    scene = sky * (1 - clouds) + 246 * clouds
    y = np.arange(height)[:, None]
    for depth, (level, colour) in enumerate([(0.46, (120, 146, 172)), (0.56, (84, 122, 108)), (0.66, (70, 112, 52))]):
        grid = Image.fromarray(rng.standard_normal((1, 7 + 4 * depth)).astype(np.float32))
        ridge = height * level + np.asarray(grid.resize((width, 1), Image.BICUBIC))[0] * height * 0.045
        below = _soft((y > ridge[None, :]).astype(np.float32), 1.2 + (2 - depth))
        grass = _octaves(rng, size, [(40, 30), (160, 120), (700, 500)]) * (3 + 7 * depth)
        scene += (np.array(colour, np.float32) + grass[:, :, None] - scene) * below[:, :, None]
    return _develop((scene.clip(0, 255) / 255) ** 2.2, Shot(noise=2, blur=0.6, quality=88, size=size), rng)


def bare_desk(seed: int, size: tuple[int, int] = (1600, 1200)) -> bytes:
    """An image of the table alone."""
    rng = np.random.default_rng(seed)
    shot = Shot(noise=2.5, blur=0.7, quality=88, falloff=0.2, size=size)
    scene = desk("cloth", size, rng)
    nowhere = np.full(scene.shape[:2], 9.0, np.float32)
    _light(scene, nowhere, nowhere, shot, rng)
    return _develop(scene, shot, rng)
