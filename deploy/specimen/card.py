"""Draws specimen documents flat, as a printer would: 16 pixels a millimetre, sizes of ISO/IEC 7810."""

import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

from .holder import Holder

SCALE = 16
ID1, ID2, ID3 = (85.6, 54.0), (105.0, 74.0), (125.0, 88.0)
_FONTS = {
    "label": "/usr/share/fonts/truetype/dejavu/DejaVuSansCondensed-Oblique.ttf",
    "value": "/usr/share/fonts/truetype/dejavu/DejaVuSansCondensed.ttf",
    "bold": "/usr/share/fonts/truetype/dejavu/DejaVuSansCondensed-Bold.ttf",
    "title": "/usr/share/fonts/truetype/dejavu/DejaVuSerif-Bold.ttf",
    "signature": "/usr/share/fonts/truetype/dejavu/DejaVuSerifCondensed-BoldItalic.ttf",
    "ocrb": "/usr/share/fonts/opentype/ocr-b/OCRB.otf",
}
_INK = (24, 22, 34)
_LABEL_INK = (58, 70, 110)


@dataclass(frozen=True)
class Face:
    """A photograph and the square that holds the head, as shares of the image: left, top, width, height."""

    path: Path
    box: tuple[float, float, float, float] | None = None

    def portrait(self, width: float, height: float) -> Image.Image:
        """The image cut as a passport portrait of that size in millimetres: the head fills three quarters."""
        image = ImageOps.exif_transpose(Image.open(self.path)).convert("RGB")
        # Without a box: the usual place of the head in an upright portrait.
        left, top, w, h = self.box or (0.3, 0.08, 0.4, 0.4 * image.width / image.height)
        head = h * image.height
        centre_x, crown = (left + w / 2) * image.width, top * image.height
        crop_height = head / 0.74
        crop_width = crop_height * width / height
        y = crown - 0.06 * crop_height
        box = [centre_x - crop_width / 2, y, centre_x + crop_width / 2, y + crop_height]
        # A head at the image's border: the missing strip repeats the border instead of turning black.
        pad = max(0, math.ceil(max(-box[0], -box[1], box[2] - image.width, box[3] - image.height)))
        if pad:
            image = Image.fromarray(np.pad(np.asarray(image), ((pad, pad), (pad, pad), (0, 0)), mode="edge"))
        size = (round(width * SCALE), round(height * SCALE))
        return image.resize(size, Image.LANCZOS, box=tuple(v + pad for v in box))


class Card:
    """One side of a document; positions and sizes in millimetres from the top left corner."""

    def __init__(self, size: tuple[float, float], tint: tuple[int, int, int], seed: int):
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.image = Image.new("RGB", (round(size[0] * SCALE), round(size[1] * SCALE)), (247, 246, 240))
        self._security_print(np.array(tint))
        self.draw = ImageDraw.Draw(self.image)

    def _security_print(self, tint: np.ndarray) -> None:
        """A two-colour gradient under guilloche waves and a rosette."""
        width, height = self.image.size
        across = np.linspace(0, 1, width, dtype=np.float32)[None, :, None]
        down = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
        paper = np.array((248, 246, 238), np.float32)
        other = 255 - (255 - tint[::-1].astype(np.float32)) * 0.8
        blend = 0.55 * np.abs(np.sin(math.pi * (across * 0.9 + down * 0.3)))
        base = paper * (1 - blend) + (tint * (1 - across) + other * across) * blend
        # The lines are drawn at half size and enlarged: printed guilloche has soft edges too.
        lines = Image.new("L", (width // 2, height // 2), 0)
        pen = ImageDraw.Draw(lines)
        xs = np.linspace(0, width / 2, 160)
        for k in range(46):
            phase, offset = 0.21 * k, (k / 45) * height / 2
            ys = offset + 9 * np.sin(xs / 37 + phase) + 5 * np.sin(xs / 13 - 1.7 * phase)
            pen.line(list(zip(xs, ys)), fill=70, width=1)
        t = np.linspace(0, 2 * math.pi, 900)
        for radius in (0.22, 0.17, 0.12):
            r = height / 2 * radius * (1.5 + 0.5 * np.cos(24 * t))
            pen.line(list(zip(width * 0.36 + r * np.cos(t), height * 0.26 + r * np.sin(t))), fill=60, width=1)
        mask = np.asarray(lines.resize((width, height), Image.BILINEAR), np.float32)[:, :, None] / 255
        self.image = Image.fromarray((base * (1 - mask) + tint * 0.75 * mask).clip(0, 255).astype(np.uint8))

    def text(self, x: float, y: float, text: str, size: float, font: str = "value", ink=_INK) -> None:
        """A line of text; `size` is the height of a capital in millimetres, `y` its top."""
        face = ImageFont.truetype(_FONTS[font], round(size / 0.729 * SCALE))
        self.draw.text((x * SCALE, (y + size) * SCALE), text, font=face, fill=ink, anchor="ls")

    def field(self, x: float, y: float, label: str, value: str, size: float = 2.3) -> None:
        """A small label above a value."""
        self.text(x, y, label, 1.15, "label", _LABEL_INK)
        self.text(x, y + 2.3, value, size, "value")

    def portrait(self, face: Face, x: float, y: float, width: float, height: float) -> None:
        """The holder's photograph, slightly flat as print is, with the security lines running into its edge."""
        image = ImageEnhance.Contrast(ImageEnhance.Color(face.portrait(width, height)).enhance(0.85)).enhance(0.93)
        mask = Image.new("L", image.size, 0)
        edge = round(0.4 * SCALE)
        mask.paste(255, (edge, edge, image.width - edge, image.height - edge))
        self.image.paste(image, (round(x * SCALE), round(y * SCALE)), mask.filter(ImageFilter.GaussianBlur(edge / 2)))

    def hologram(self, x: float, y: float, radius: float) -> None:
        """A faint iridescent disc."""
        r = round(radius * SCALE)
        yy, xx = np.mgrid[-r:r, -r:r].astype(np.float32) / r
        distance, angle = np.hypot(xx, yy), np.arctan2(yy, xx)
        colour = np.stack([127 + 100 * np.sin(6 * angle + 7 * distance + shift) for shift in (0, 2.1, 4.2)], axis=2)
        alpha = ((distance < 1) * (28 + 22 * np.sin(40 * distance))).clip(0, 255)
        disc = Image.fromarray(colour.astype(np.uint8))
        self.image.paste(disc, (round(x * SCALE) - r, round(y * SCALE) - r), Image.fromarray(alpha.astype(np.uint8)))

    def mrz(self, lines: list[str]) -> None:
        """The MRZ: OCR-B size 1, 2.54 mm from character to character, 6.35 mm from line to line.

        ICAO Doc 9303-3 section 4.2, 9303-4, -5 and -6: the MRZ is the lower 23.2 mm, and TD3 begins 6 mm from the
        edge, the cards 4 mm. It is printed on the paper's own light colour.
        """
        pitch, spacing = 2.54, 6.35
        left = 6.0 if len(lines[0]) == 44 else 4.0
        last_centre = self.size[1] - (9.4 if len(lines) == 2 else 5.2)
        strip = Image.new("RGB", (self.image.width, round(23.2 * SCALE)), (250, 249, 244))
        self.image.paste(strip, (0, self.image.height - strip.height), Image.new("L", strip.size, 205))
        # OCRB.otf is 0.723 em wide and as high in its capitals, so the pitch sets the size.
        font = ImageFont.truetype(_FONTS["ocrb"], round(pitch / 0.723 * SCALE))
        for i, line in enumerate(reversed(lines)):
            baseline = (last_centre - i * spacing + 2.54 / 2) * SCALE
            for k, character in enumerate(line):
                self.draw.text(((left + k * pitch) * SCALE, baseline), character, font=font, fill=_INK, anchor="ls")

    def pdf417(self, text: str, x: float, y: float, width: float) -> None:
        """The text as PDF417, level 5 error correction, in rows three modules high."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "text"), Path(folder, "code.png")
            source.write_bytes(text.encode("latin-1"))
            shape = ["--barcode=PDF417", "--binary", "--cols=13", "--secure=5", "--scale=1"]
            subprocess.run(["zint", *shape, "-i", source, "-o", target], check=True, capture_output=True)
            code = Image.open(target).convert("L")
        size = (round(width * SCALE), round(width * SCALE * code.height / code.width))
        margin = round(1.5 * SCALE)
        position = (round(x * SCALE), round(y * SCALE))
        self.image.paste((250, 250, 248), (
            position[0] - margin, position[1] - margin, position[0] + size[0] + margin, position[1] + size[1] + margin))
        self.image.paste(code.resize(size, Image.NEAREST), position)

    def signature(self, x: float, y: float, name: str) -> None:
        """The holder's name in slanted serifs over a thin line."""
        self.text(x, y, name, 2.4, "signature", (30, 40, 110))


def _day(value) -> str:
    return f"{value:%d %b %Y}".upper()


def passport(holder: Holder, face: Face, seed: int, mrz: Holder | None = None) -> Image.Image:
    """The data page of a passport, TD3; `mrz` is whom its MRZ speaks of, where that is another one."""
    card = Card(ID3, (150, 178, 214), seed)
    card.text(6, 5, "PASSPORT", 2.6, "bold", _LABEL_INK)
    card.text(6, 9.2, "PASSEPORT", 1.7, "label", _LABEL_INK)
    card.text(45, 4.6, "UTOPIA" if holder.issuer == "UTO" else holder.issuer, 4.6, "title", (40, 56, 104))
    card.portrait(face, 6, 14.5, 35, 45)
    card.field(45, 12.4, "Type / Type", "P")
    card.field(62, 12.4, "Code / Code", holder.issuer)
    card.field(86, 12.4, "Passport No. / N° de passeport", holder.number, 2.7)
    card.field(45, 19.2, "Surname / Nom", holder.surname.upper())
    card.field(45, 26.0, "Given names / Prénoms", holder.given_names.upper())
    card.field(45, 32.8, "Nationality / Nationalité", "UTOPIAN" if holder.nationality == "UTO" else holder.nationality)
    card.field(45, 39.6, "Date of birth / Date de naissance", _day(holder.birth))
    card.field(86, 39.6, "Personal No. / N° personnel", holder.personal_number)
    card.field(45, 46.4, "Sex / Sexe", holder.sex)
    card.field(62, 46.4, "Place of birth / Lieu de naissance", holder.birthplace.upper())
    card.field(45, 53.2, "Date of issue / Date de délivrance", _day(holder.issued))
    card.field(86, 53.2, "Authority / Autorité", holder.authority.upper(), 2.0)
    card.field(45, 59.2, "Date of expiry / Date d'expiration", _day(holder.expiry))
    card.signature(86, 61, f"{holder.given_names} {holder.surname}"[:22])
    card.hologram(38, 54, 8)
    card.mrz((mrz or holder).td3())
    return card.image


def identity_card_front(holder: Holder, face: Face, seed: int) -> Image.Image:
    """The front of an identity card, TD1."""
    card = Card(ID1, (206, 168, 150), seed)
    card.text(4, 3.6, "UTOPIA", 3.4, "title", (104, 40, 40))
    card.text(30, 4.2, "IDENTITY CARD / CARTE D'IDENTITÉ", 1.8, "bold", _LABEL_INK)
    card.portrait(face, 4, 11, 24.5, 31.5)
    card.field(32, 10.5, "Surname / Nom", holder.surname.upper())
    card.field(32, 17.3, "Given names / Prénoms", holder.given_names.upper())
    card.field(32, 24.1, "Nationality / Nationalité", holder.nationality)
    card.field(56, 24.1, "Sex / Sexe", holder.sex)
    card.field(32, 30.9, "Date of birth / Date de naissance", _day(holder.birth))
    card.field(32, 37.7, "Expiry / Expiration", _day(holder.expiry))
    card.field(56, 37.7, "Document No. / N°", holder.number)
    card.signature(32, 47, f"{holder.given_names} {holder.surname}"[:24])
    card.hologram(74, 33, 6)
    return card.image


def identity_card_back(holder: Holder, seed: int) -> Image.Image:
    """The back of an identity card, TD1, with the MRZ."""
    card = Card(ID1, (206, 168, 150), seed + 1)
    card.field(5, 4, "Place of birth / Lieu de naissance", holder.birthplace.upper())
    card.field(5, 11.4, "Address / Adresse", "100 ZENITH AVENUE, NADIR")
    card.field(5, 18.8, "Date of issue / Date de délivrance", _day(holder.issued))
    card.field(48, 18.8, "Authority / Autorité", holder.authority.upper(), 1.9)
    card.hologram(72, 11, 6)
    card.mrz(holder.td1())
    return card.image


def travel_document(holder: Holder, face: Face, seed: int) -> Image.Image:
    """A travel document of size TD2."""
    card = Card(ID2, (166, 200, 160), seed)
    card.text(5, 4, "UTOPIA", 3.8, "title", (36, 92, 50))
    card.text(36, 4.6, "OFFICIAL TRAVEL DOCUMENT", 2.0, "bold", _LABEL_INK)
    card.portrait(face, 5, 11.5, 27, 35)
    card.field(36, 11, "Surname / Nom", holder.surname.upper())
    card.field(36, 18, "Given names / Prénoms", holder.given_names.upper())
    card.field(36, 25, "Nationality / Nationalité", holder.nationality)
    card.field(66, 25, "Document No. / N°", holder.number)
    card.field(36, 32, "Date of birth / Date de naissance", _day(holder.birth))
    card.field(76, 32, "Sex / Sexe", holder.sex)
    card.field(36, 39, "Date of expiry / Date d'expiration", _day(holder.expiry))
    card.signature(66, 46, f"{holder.given_names} {holder.surname}"[:22])
    card.mrz(holder.td2())
    return card.image


def licence_front(holder: Holder, face: Face, seed: int) -> Image.Image:
    """The front of a driving licence of size ID-1."""
    card = Card(ID1, (150, 190, 214), seed)
    card.text(4, 3.6, "VIRGINIA", 3.6, "title", (30, 60, 120))
    card.text(42, 4.2, "DRIVER'S LICENSE", 2.2, "bold", _LABEL_INK)
    card.portrait(face, 4, 12, 25, 32)
    card.field(33, 11, "4d DL NO.", holder.number)
    card.field(62, 11, "9 CLASS", "D")
    card.field(33, 18, "1 FAMILY NAME", holder.surname.upper())
    card.field(33, 25, "2 GIVEN NAMES", holder.given_names.upper())
    card.field(33, 32, "3 DOB", f"{holder.birth:%m/%d/%Y}")
    card.field(62, 32, "15 SEX", holder.sex)
    card.field(33, 39, "4a ISS", f"{holder.issued:%m/%d/%Y}")
    card.field(58, 39, "4b EXP", f"{holder.expiry:%m/%d/%Y}")
    card.signature(33, 47, f"{holder.given_names} {holder.surname}"[:24])
    card.hologram(76, 28, 5)
    return card.image


def licence_back(holder: Holder, seed: int) -> Image.Image:
    """The back of a driving licence with its PDF417."""
    card = Card(ID1, (150, 190, 214), seed + 1)
    card.draw.rectangle((0, 3 * SCALE, card.image.width, 10 * SCALE), fill=(40, 38, 40))
    card.pdf417(holder.aamva(), 6, 14, 73.6)
    card.text(6, 47, "CLASS D: ANY SINGLE VEHICLE UNDER 26,001 LB. RESTRICTIONS: NONE.", 1.2)
    return card.image
