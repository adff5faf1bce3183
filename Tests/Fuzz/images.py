#!/usr/bin/env python3
"""Writes small images of every kind that is decoded, as a fuzzer's first inputs: a folder for each format. Usage: images.py DIR"""

import io
import os
import struct
import sys
import zlib

from PIL import Image, ImageCms, ImageDraw

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(here, "../Formats"), os.path.join(here, "../../deploy")]
import bmp  # noqa: E402
import pdf  # noqa: E402
from specimen import heic  # noqa: E402

folder = sys.argv[1]
FORMATS = {"jp2": "jpeg2000", "j2k": "jpeg2000"}


def write(name: str, data: bytes) -> None:
    """A file named by its format, and then by what is special about it."""
    kind = name.split("-")[0]
    path = os.path.join(folder, FORMATS.get(kind, kind))
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def drawing(mode: str, width: int, height: int) -> Image.Image:
    """Strokes on a gradient, so that every decoder has something to decode."""
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    draw = ImageDraw.Draw(image)
    for step in range(0, width, 7):
        draw.line((step, 0, width - step, height), fill=(step % 256, 90, 200))
    if mode in ("LA", "RGBA"):
        image.putalpha(image.convert("L"))
    return image.convert(mode)


def save(name: str, image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    write(name, buffer.getvalue())
    return buffer.getvalue()


def exif(orientation: int, order: str = "<") -> bytes:
    mark = b"II" if order == "<" else b"MM"
    return b"Exif\0\0" + mark + struct.pack(order + "HIHHHIHHI", 42, 8, 1, 0x112, 3, 1, orientation, 0, 0)


for mode in ("L", "RGB", "CMYK"):
    save(f"jpeg-{mode}", drawing(mode, 40, 24), "JPEG", quality=70)
    save(f"jpeg-{mode}-progressive", drawing(mode, 33, 31), "JPEG", progressive=True)
save("jpeg-sampled", drawing("RGB", 47, 17), "JPEG", subsampling=2, quality=30)
for orientation in (1, 3, 6, 8):
    save(f"jpeg-turned-{orientation}", drawing("RGB", 24, 16), "JPEG", exif=exif(orientation, "<>"[orientation & 1]))
save("jpeg-restarts", drawing("RGB", 64, 48), "JPEG", restart_marker_blocks=2)
for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
    image = Image.new("I;16", (9, 7), 40000) if mode == "I;16" else drawing(mode, 21, 13)
    save("png-" + mode.replace(";", ""), image, "PNG")
save("png-turned", drawing("RGB", 12, 8), "PNG", exif=exif(6)[6:])
for name, options in {"lossy": {"quality": 60}, "lossless": {"lossless": True}}.items():
    save(f"webp-{name}", drawing("RGB", 30, 20), "WEBP", **options)
    save(f"webp-{name}-alpha", drawing("RGBA", 30, 20), "WEBP", **options)
save("webp-turned", drawing("RGB", 30, 20), "WEBP", exif=exif(8)[6:])
save("webp-moving", drawing("RGB", 16, 16), "WEBP", save_all=True, append_images=[drawing("RGB", 16, 16).rotate(90)])
for mode in ("L", "RGB", "RGBA"):
    whole = save(f"jp2-{mode}", drawing(mode, 32, 24), "JPEG2000")
    start = whole.index(b"\xff\x4f\xff\x51")
    write(f"j2k-{mode}", whole[start:])
save("jp2-lossy", drawing("RGB", 48, 32), "JPEG2000", quality_mode="rates", quality_layers=[20], irreversible=True)
save("jp2-tiled", drawing("RGB", 48, 32), "JPEG2000", tile_size=(16, 16))

profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
save("jpeg-profile", drawing("RGB", 24, 16), "JPEG", icc_profile=profile)
save("png-profile", drawing("RGB", 24, 16), "PNG", icc_profile=profile)
save("webp-profile", drawing("RGB", 24, 16), "WEBP", icc_profile=profile)

for mode in ("1", "L", "P", "RGB", "RGBA"):
    save(f"bmp-{mode}", drawing(mode, 21, 13), "BMP")
for bits, masks in ((16, (0xF800, 0x07E0, 0x001F)), (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000))):
    pixels = bmp.rows(9, 7, bits, lambda x, y: (x * 977 + y * 131) % 2 ** 16)
    write(f"bmp-masks-{bits}", bmp.file(9, 7, bits, pixels, compression=3, masks=masks[:3]))
    write(f"bmp-v5-{bits}", bmp.file(9, -7, bits, pixels, header=124, compression=3, masks=masks, profile=profile))

samples = drawing("RGB", 20, 10).tobytes()
write("pdf-flate", pdf.flate(20, 10, samples))
turned = b"q 0 792 -612 0 612 0 cm /Im0 Do Q"
write("pdf-turned", pdf.page(pdf.image(20, 10, zlib.compress(samples)), content=turned, rotate=90))
write("pdf-predicted", pdf.predicted(20, 10, samples))
write("pdf-compressed", pdf.compressed(20, 10, samples))
palette = "[/Indexed /DeviceRGB 3 <FF000000FF000000FFFFFFFF>]"
write("pdf-palette", pdf.flate(8, 4, bytes(range(8)), space=palette, bits=2))
for mode, kind, name in (("RGB", "JPEG", "DCT"), ("L", "JPEG", "DCT"), ("RGB", "JPEG2000", "JPX")):
    buffer = io.BytesIO()
    drawing(mode, 24, 16).save(buffer, kind)
    space = "/DeviceGray" if mode == "L" else "/DeviceRGB"
    write(f"pdf-{name}-{mode}", pdf.page(pdf.image(24, 16, buffer.getvalue(), space=space, filters=f"/{name}Decode")))

for bits in (8, 10):
    image = heic.of_image(drawing("RGB", 100, 70), tile=64, bits=bits, turn=bits % 4, quality=20)
    write(f"heic-grid-{bits}", image.file())
image = heic.of_image(drawing("RGB", 64, 64), tile=64, quality=20, colours=b"prof" + profile)
image.properties += [(heic.box("imir", b"\1"), True)]
write("heic-mirrored", image.file())
