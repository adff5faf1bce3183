#!/usr/bin/python3
"""Renders the specimen documents of the demo and the tests, photographed, into a folder with a manifest.

The data are those of ICAO Doc 9303's specimen (UTOPIA, ERIKSSON); nothing here is a real person's document. Needs
Debian's python3-pil, python3-numpy, zint, libheif-examples, fonts-ocr-b and fonts-dejavu-extra. The same arguments give the same files.
"""

import argparse
import io
import json
import struct
import sys
import zlib
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
from PIL import Image

from specimen import camera, card, heic
from specimen.holder import Holder

# Decision labels and reject codes are those of Jumio's API, as the result document of inspectd carries them.
_FAULTS: dict[str, tuple[str, int, dict]] = {
    "blurred": ("BLURRED", 2001, {"blur": 7.0}),
    "motion": ("BLURRED", 2001, {"motion": 24.0}),
    "glare": ("GLARE", 2006, {"glare": (0.42, 0.84, 0.30, 0.10)}),
    "dark": ("BAD_QUALITY_IMAGE", 200, {"exposure": 0.018, "noise": 7.0}),
    "small": ("BAD_QUALITY_IMAGE", 200, {"size": (320, 240), "quality": 70, "blur": 0.4}),
    "black_white": ("BLACK_WHITE", 102, {"grey": True}),
    "photocopy": ("PHOTOCOPY", 102, {"warmth": 0.0}),
    "cut_off": ("PART_OF_DOCUMENT_MISSING", 2003, {"centre": (0.82, 0.52)}),
    "cut_corner": ("DAMAGED_DOCUMENT", 2005, {"cut": (1, 0.12)}),
    "hidden": ("PART_OF_DOCUMENT_HIDDEN", 2004, {"thumb": (0.30, 0.80)}),
}


@dataclass
class Specimen:
    """One file and the truth about it."""

    name: str
    make: Callable[[], tuple[bytes, dict]]


class Catalogue:
    """Every specimen by name, made only when asked for."""

    def __init__(self, holder: Holder, face: card.Face, level: str, seed: int):
        self.holder, self.face, self.level, self.seed = holder, face, level, seed
        self._flat: dict[str, Image.Image] = {}

    def _print(self, kind: str, holder: Holder) -> Image.Image:
        """The flat card, printed once for all of its images."""
        key = f"{kind} {holder}"
        if key not in self._flat:
            draw = {
                "td3": lambda: card.passport(holder, self.face, self.seed),
                "td2": lambda: card.travel_document(holder, self.face, self.seed),
                "td1_front": lambda: card.identity_card_front(holder, self.face, self.seed),
                "td1_back": lambda: card.identity_card_back(holder, self.seed),
                "dl_front": lambda: card.licence_front(holder, self.face, self.seed),
                "dl_back": lambda: card.licence_back(holder, self.seed),
            }[kind]
            self._flat[key] = draw()
        return self._flat[key]

    def _photo(self, kind: str, holder: Holder, shot: camera.Shot, salt: int, **options) -> tuple[bytes, dict]:
        data, quad = camera.photograph(self._print(kind, holder), shot, self.seed * 1009 + salt, **options)
        truth = {"kind": kind, "mrz_format": None, "mrz_lines": None, "barcode_text": None, "quality_labels": ["OK"]}
        if kind in ("td3", "td2", "td1_back"):
            lines = {"td3": holder.td3, "td2": holder.td2, "td1_back": holder.td1}[kind]()
            truth |= {
                "kind": f"mrz_{kind[:3]}", "mrz_format": kind[:3].upper(), "mrz_lines": lines, "mrz_valid": True,
                "expected_fields": holder.fields(),
            }
        if kind == "dl_back":
            truth |= {"kind": "pdf417_photo", "barcode_text": holder.aamva()}
        truth |= {"width": shot.size[0], "height": shot.size[1], "document_quad": quad}
        return data, truth

    def _genuine(self, kind: str, salt: int, desk: str = "wood", **changes) -> tuple[bytes, dict]:
        return self._photo(kind, replace(self.holder, **changes), self._pose(salt, desk), salt)

    def _pose(self, salt: int, desk: str) -> camera.Shot:
        """The level's way of taking an image, held a little differently each time."""
        shot = camera.LEVELS[self.level]
        sway = np.random.default_rng([self.seed, salt]).uniform(-1, 1, 4)
        return replace(
            shot, desk=desk, tilt=shot.tilt * (1 + 0.3 * sway[0]), turn=shot.turn * sway[1],
            roll=shot.roll * 1.5 * sway[2], fill=shot.fill * (1 - 0.04 * abs(sway[3])))

    def _faulty(self, name: str, salt: int) -> tuple[bytes, dict]:
        label, code, changes = _FAULTS[name]
        shot = replace(camera.LEVELS["mild"], **changes)
        data, truth = self._photo("td3", self.holder, shot, salt, photocopy=name == "photocopy")
        return data, truth | {"kind": "derived_quality", "quality_labels": [label], "reject_code": code}

    def _altered(self, salt: int, **printed) -> tuple[bytes, dict]:
        """A passport whose print was changed after its MRZ was made."""
        page = card.passport(replace(self.holder, **printed), self.face, self.seed, mrz=self.holder)
        shot = self._pose(salt, "cloth")
        data, quad = camera.photograph(page, shot, self.seed * 1009 + salt)
        return data, {"kind": "altered", "mrz_lines": self.holder.td3(), "width": shot.size[0], "height": shot.size[1],
                      "document_quad": quad, "altered_fields": sorted(printed)}

    def _nothing(self, data: bytes) -> tuple[bytes, dict]:
        return data, {"kind": "negative", "quality_labels": ["NOT_A_DOCUMENT"], "reject_code": 201}

    def _recoded(self, kind: str, encode: Callable[[Image.Image], bytes]) -> tuple[bytes, dict]:
        data, truth = self._genuine("td3", 1)
        return encode(Image.open(io.BytesIO(data))), truth | {"encoding": kind}

    def _broken(self, data: bytes, error: str) -> tuple[bytes, dict]:
        return data, {"kind": "broken", "error": error}

    def specimens(self) -> Iterator[Specimen]:
        """Genuine documents, the same in other encodings, bad images of them, no documents, broken files."""
        yield Specimen("passport.jpg", lambda: self._genuine("td3", 1))
        # Exactly the lines of ICAO Doc 9303-4 appendix B: the document expired in 2012.
        yield Specimen("passport_icao.jpg", lambda: self._photo("td3", Holder(), self._pose(2, "stone"), 2))
        yield Specimen("id_front.jpg", lambda: self._genuine("td1_front", 3, "cloth", number="D23145890"))
        yield Specimen("id_back.jpg", lambda: self._genuine("td1_back", 4, "cloth", number="D23145890"))
        yield Specimen("td2.jpg", lambda: self._genuine("td2", 5, "stone", number="D23145890"))
        yield Specimen("licence_front.jpg", lambda: self._genuine("dl_front", 6, number="T64235789"))
        yield Specimen("licence_back.jpg", lambda: self._genuine("dl_back", 7, number="T64235789"))

        yield Specimen("passport.png", lambda: self._recoded("PNG", lambda i: _save(i, "PNG", compress_level=1)))
        yield Specimen("passport.webp", lambda: self._recoded("WEBP", lambda i: _save(i, "WEBP", quality=88)))
        yield Specimen("passport.jp2", lambda: self._recoded(
            "JPEG2000", lambda i: _save(i, "JPEG2000", quality_mode="dB", quality_layers=[42])))
        yield Specimen("passport.heic", lambda: self._recoded(
            "HEIC, turned grid", lambda i: heic.of_image(i, turn=3).file()))
        yield Specimen("passport_10bit.heic", lambda: self._recoded(
            "HEIC, 10 bits", lambda i: heic.of_image(i, bits=10, turn=1).file()))
        yield Specimen("passport.bmp", lambda: self._recoded("BMP", lambda i: _save(i, "BMP")))
        yield Specimen("passport.pdf", lambda: self._recoded("PDF", lambda i: _save(i, "PDF", resolution=300)))
        # Not the light of infrared, but its file: one channel, as document readers send it.
        yield Specimen("passport_infrared.bmp", lambda: self._recoded(
            "BMP, grey", lambda i: _save(i.convert("L"), "BMP")))
        yield Specimen("passport_sideways.jpg", lambda: self._recoded("EXIF orientation 6", _sideways))
        yield Specimen("passport_upside_down.jpg", lambda: self._recoded(
            "rotated 180", lambda i: _save(i.transpose(Image.ROTATE_180), "JPEG", quality=92)))

        for salt, name in enumerate(_FAULTS, start=20):
            yield Specimen(f"{name}.jpg", lambda name=name, salt=salt: self._faulty(name, salt))
        yield Specimen("altered_number.jpg", lambda: self._altered(40, number="L898702C3"))
        yield Specimen("altered_name.jpg", lambda: self._altered(41, surname="Petrovic"))
        yield Specimen("altered_birth.jpg", lambda: self._altered(42, birth=date(1984, 8, 13)))
        yield Specimen("landscape.jpg", lambda: self._nothing(camera.landscape(self.seed)))
        yield Specimen("bare_desk.jpg", lambda: self._nothing(camera.bare_desk(self.seed)))

        yield Specimen("torn.jpg", lambda: self._broken(_torn(self._genuine("td3", 1)[0]), "CORRUPT_IMAGE"))
        yield Specimen("empty.jpg", lambda: self._broken(b"", "PART_EMPTY"))
        yield Specimen("text.jpg", lambda: self._broken(b"This is not a picture.\n" * 40, "UNSUPPORTED_FORMAT"))
        yield Specimen("picture.gif", lambda: self._broken(
            _save(Image.new("P", (640, 480), 3), "GIF"), "UNSUPPORTED_FORMAT"))
        yield Specimen("bomb.png", lambda: self._broken(_png_bomb(30_000, 30_000), "TOO_MANY_PIXELS"))
        yield Specimen("bomb.heic", lambda: self._broken(_heic_bomb(10_000, 10_000), "TOO_MANY_PIXELS"))
        yield Specimen("pages.pdf", lambda: self._broken(_pages(), "UNSUPPORTED_FORMAT"))
        yield Specimen("bomb.jpg", lambda: self._broken(_jpeg_bomb(65_500, 65_500), "TOO_MANY_PIXELS"))


def _save(image: Image.Image, encoding: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, encoding, **options)
    return buffer.getvalue()


def _sideways(image: Image.Image) -> bytes:
    """Stored a quarter turn off, with the EXIF orientation that puts it upright."""
    exif = Image.Exif()
    exif[0x0112] = 6  # EXIF 2.3, Orientation: row 0 is the visual right-hand side
    return _save(image.transpose(Image.ROTATE_90), "JPEG", quality=92, exif=exif)


def _torn(data: bytes) -> bytes:
    """A transfer that ended a third of the way into the image."""
    return data[: len(data) // 3]


def _png_bomb(width: int, height: int) -> bytes:
    """A well-formed PNG of a few bytes that claims to be huge (PNG specification section 11.2)."""
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(64))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _heic_bomb(width: int, height: int) -> bytes:
    """One real tile, listed as often as an image of this size would need."""
    tile, = heic.encoded([np.full((512, 512, 3), 200, np.uint8)], 8, 50)
    columns, rows = -(-width // 512), -(-height // 512)
    bomb = heic.Heic([tile], columns, rows, (512, 512), (width, height), inputs=[1] * (columns * rows))
    return bomb.file()


def _pages() -> bytes:
    """A PDF of two images: which one is meant cannot be known."""
    buffer = io.BytesIO()
    first, second = Image.new("RGB", (320, 200), 3), Image.new("RGB", (320, 200), 9)
    first.save(buffer, "PDF", save_all=True, append_images=[second])
    return buffer.getvalue()


def _jpeg_bomb(width: int, height: int) -> bytes:
    """A small JPEG whose frame header (ITU-T T.81 section B.2.2) claims other dimensions."""
    data = bytearray(_save(Image.new("RGB", (64, 64), (90, 120, 150)), "JPEG"))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write; made where absent")
    parser.add_argument("--face", type=Path, required=True, metavar="FACE.jpg", help="the holder's photograph")
    parser.add_argument(
        "--face-box", metavar="X,Y,W,H", help="the head in it (crown to chin), as shares of its width and height")
    parser.add_argument("--holder", default="{}", metavar="JSON", help="data of the document, e.g. "
                        '\'{"surname": "Müller", "birth": "1980-02-29", "number": "X1"}\'')
    parser.add_argument("--photo-level", choices=list(camera.LEVELS), default="mild", help="how hard the images are")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", metavar="NAME,NAME", help="render only these files")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    # Valid in the years in which this program is likely to run; ICAO's own dates are those of passport_icao.jpg.
    dates = {"issued": "2024-04-16", "expiry": "2034-04-15"}
    try:
        values = json.loads(arguments.holder)
        if not isinstance(values, dict):
            raise ValueError("--holder needs a JSON object")
        holder = Holder.of(dates | values)
        box = tuple(float(v) for v in arguments.face_box.split(",")) if arguments.face_box else None
        if box is not None and len(box) != 4:
            raise ValueError("--face-box needs four numbers")
        wanted = set(arguments.only.split(",")) if arguments.only else None
        catalogue = Catalogue(holder, card.Face(arguments.face, box), arguments.photo_level, arguments.seed)
        names = {specimen.name for specimen in catalogue.specimens()}
        if wanted and not wanted <= names:
            raise ValueError(f"no specimen named {', '.join(sorted(wanted - names))}")
        Image.open(arguments.face).verify()
    except (ValueError, TypeError, OSError) as error:
        print(f"specimens: {error}", file=sys.stderr)
        return 2

    arguments.out.mkdir(parents=True, exist_ok=True)
    manifest = []
    for specimen in catalogue.specimens():
        if wanted is None or specimen.name in wanted:
            data, truth = specimen.make()
            (arguments.out / specimen.name).write_bytes(data)
            manifest.append({"file": specimen.name, **truth})
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (arguments.out / "manifest.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
