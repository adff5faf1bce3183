#!/usr/bin/python3
"""Writes HEIC, BMP and PDF files as an attacker would: cut off, with absurd sizes, loops and shared bytes, swollen, and with bytes
changed at random. Whatever comes of one, it must be an image or an error, soon and within the memory of an analyzer.

Usage: hostile.py --out DIR [--count 300] [--seed 1]     prints a line for each file: its name and what is wrong with it
Needs libheif-examples, python3-numpy and python3-pil. The same arguments give the same files.
"""

import argparse
import io
import random
import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "deploy")]

import bmp  # noqa: E402
import pdf  # noqa: E402
from specimen import heic  # noqa: E402


def drawing(width: int, height: int) -> Image.Image:
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([x * 255 // width, y * 255 // height, (x * y) % 256], axis=2).astype(np.uint8))


def heics() -> dict[str, bytes]:
    base = heic.of_image(drawing(250, 190), tile=128, turn=3)
    whole = base.file()
    head = struct.unpack(">I", whole[:4])[0]
    deep = b""
    for _ in range(3000):
        deep = heic.box("meta", bytes(4), deep)
    tile = base.tiles[0]

    def patched(old: bytes, new: bytes, count: int = 1) -> bytes:
        assert old in whole, old
        return whole.replace(old, new, count)

    def with_sps(width: int, height: int) -> bytes:
        """A sequence parameter set (ITU-T H.265 §7.3.2.2.1) of another size than the container says."""
        def exponential(value: int) -> str:
            return f"{value + 1:b}".rjust(2 * (value + 1).bit_length() - 1, "0")

        bits = "0000" + "000" + "1" + "00000011" + "0110" + "0" * 76 + "00011110"
        bits += exponential(0) + exponential(1) + exponential(width) + exponential(height) + "0" + exponential(0) * 3
        bits += "1" + "0" * (-(len(bits) + 1) % 8)
        payload = int(bits, 2).to_bytes(len(bits) // 8, "big")
        escaped, zeros = b"", 0
        for byte in payload:
            if zeros >= 2 and byte <= 3:
                escaped, zeros = escaped + b"\3", 0
            escaped, zeros = escaped + bytes([byte]), zeros + 1 if byte == 0 else 0
        unit = b"\x42\x01" + escaped
        return tile.configuration[:22] + b"\1" + struct.pack(">BHH", 0x21, 1, len(unit)) + unit

    def units(*bodies: bytes) -> bytes:
        return b"".join(struct.pack(">I", len(body)) + body for body in bodies)

    first = tile.data[4:4 + struct.unpack(">I", tile.data[:4])[0]]
    count = len(base.tiles)
    ispe = heic.full_box("ispe", 0, 0, struct.pack(">II", 190, 250))
    files = {
        "size of 0": patched(ispe, heic.full_box("ispe", 0, 0, bytes(8))),
        "size of 4 billion": patched(ispe, heic.full_box("ispe", 0, 0, b"\xff" * 8)),
        "100 megapixels": replace(base, size=(10_000, 10_000), columns=79, rows=79,
                                  inputs=[1] * 6241).file(),
        "grid of 65,536 tiles": replace(base, columns=256, rows=256, inputs=[1] * 65_535).file(),
        "grid without tiles": replace(base, inputs=[]).file(),
        "grid of one tile many times": replace(base, size=(4000, 4000), columns=32, rows=32, inputs=[1] * 1024).file(),
        "grid that contains itself": replace(base, inputs=[count + 1] * count).file(),
        "grid of what does not exist": replace(base, inputs=[999] * count).file(),
        "tiles outside of the image": replace(base, size=(64, 64)).file(),
        "tiles smaller than the image": replace(base, size=(2000, 2000)).file(),
        "tiles that overlap in the file": replace(base, extents=[(0, sum(len(t.data) for t in base.tiles))] * count).file(),
        "tiles beyond the file": replace(base, extents=[(0, 2 ** 31 - 1)] * count).file(),
        "tiles at the end of the address space": replace(base, extents=[(2 ** 32 - 20_000, 4000)] * count).file(),
        "tiles of no bytes": replace(base, extents=[(0, 0)] * count).file(),
        "properties of nothing": patched(b"ipma", b"ipmb"),
        "an essential property that is unknown": replace(base, properties=[(heic.box("evil"), True)]).file(),
        "20 turns": replace(base, properties=[(heic.box("irot", bytes([n % 4])), True) for n in range(20)]).file(),
        "a crop outside": replace(base, properties=[
            (heic.box("clap", struct.pack(">8i", 10, 1, 10, 1, 2 ** 31 - 1, 1, -2 ** 31, 1)), True)]).file(),
        "a crop by zero": replace(base, properties=[(heic.box("clap", bytes(32)), True)]).file(),
        "boxes within boxes": whole[:head] + heic.box("meta", bytes(4), deep),
        "a box of 2 to the 63": whole[:head] + struct.pack(">I4sQ", 1, b"meta", 2 ** 63 + 8) + whole[head:],
        "a box shorter than its header": whole[:head] + struct.pack(">I4s", 4, b"meta"),
        "10,000 empty boxes": whole[:head] + heic.box("free") * 10_000 + whole[head:],
        "two metas": whole[:head] + heic.box("meta", bytes(4)) + whole[head:],
        "a picture of 60,000 px": replace(base, tiles=[replace(tile, configuration=with_sps(60_000, 60_000))] * count).file(),
        "a picture of 4 billion px": replace(
            base, tiles=[replace(tile, configuration=with_sps(2 ** 32 - 3, 2 ** 32 - 3))] * count).file(),
        "no parameter sets": replace(
            base, tiles=[replace(t, configuration=t.configuration[:22] + b"\0") for t in base.tiles]).file(),
        "a unit longer than its item": replace(
            base, tiles=[replace(t, data=b"\xff\xff\xff\xff" + t.data[4:]) for t in base.tiles]).file(),
        "5,000 slices": replace(base, tiles=[replace(t, data=units(first, *[first[:2] + b"\0\1\2"] * 5000))
                                             for t in base.tiles]).file(),
        "a second picture": replace(base, tiles=[replace(t, data=units(first, first)) for t in base.tiles]).file(),
        "half a picture": replace(base, tiles=[replace(t, data=units(first[:len(first) // 2])) for t in base.tiles]).file(),
        "a picture that refers to others": replace(
            base, tiles=[replace(t, data=units(b"\x02\x01" + first[2:])) for t in base.tiles]).file(),
        "a picture of a clean random access": replace(
            base, tiles=[replace(t, data=units(b"\x2a\x01" + first[2:])) for t in base.tiles]).file(),
    }
    for index in range(1, 12):
        files[f"cut after {index} twelfths"] = whole[:len(whole) * index // 12]
    return {"good": whole} | files


def bmps() -> dict[str, bytes]:
    pixels = bmp.rows(40, 30, 24, lambda x, y: x * 1000 + y)
    indexed = bmp.rows(40, 30, 8, lambda x, y: (x + y) % 256)
    palette = b"".join(bytes([n, n, n, 0]) for n in range(256))
    good = bmp.file(40, 30, 24, pixels)
    files = {
        "good": good,
        "no width": bmp.file(0, 30, 24, pixels),
        "a negative width": bmp.file(-40, 30, 24, pixels),
        "the least height": bmp.file(40, -2 ** 31, 24, pixels),
        "2 to the 31 squared": bmp.file(2 ** 31 - 1, 2 ** 31 - 1, 24, pixels),
        "100 megapixels": bmp.file(10_000, 10_000, 1, pixels, palette=bytes(8)),
        "12,000 rows of nothing": bmp.file(4000, 12_000, 32, b""),
        "two planes": bmp.file(40, 30, 24, pixels, planes=2),
        "7 bits": bmp.file(40, 30, 7, pixels),
        "run lengths": bmp.file(40, 30, 8, b"\xff\0" * 500, compression=1, palette=palette),
        "a JPEG within": bmp.file(40, 30, 24, pixels, compression=4),
        "pixels before the file": bmp.file(40, 30, 24, pixels, offset=0),
        "pixels behind the file": bmp.file(40, 30, 24, pixels, offset=2 ** 32 - 1),
        "a palette of 4 billion": bmp.file(40, 30, 8, indexed, palette=palette, colours=2 ** 32 - 1),
        "a palette that is too short": bmp.file(40, 30, 8, indexed, palette=palette[:40], colours=10),
        "masks that overlap": bmp.file(40, 30, 32, bytes(4800), compression=3, masks=(0xFF, 0xFF, 0xFF)),
        "masks with holes": bmp.file(40, 30, 32, bytes(4800), compression=3, masks=(0xF0F, 0xF0, 0xF000)),
        "no masks": bmp.file(40, 30, 16, bytes(2400), compression=3, masks=(0, 0, 0)),
        "a profile behind the file": bmp.file(40, 30, 24, pixels, header=124, profile=b"x" * 9)[:-5],
    }
    for index in range(1, 6):
        files[f"cut after {index} sixths"] = good[:len(good) * index // 6]
    return files


def pdfs() -> dict[str, bytes]:
    samples = np.asarray(drawing(40, 30)).tobytes()
    buffer = io.BytesIO()
    drawing(64, 48).save(buffer, "JPEG")
    jpeg = pdf.page(pdf.image(64, 48, buffer.getvalue(), filters="/DCTDecode"))
    good = pdf.flate(40, 30, samples)
    bomb = zlib.compress(bytes(30_000_000), 9)
    first = pdf.document([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"])
    deep = b"[" * 20_000 + b"]" * 20_000
    files = {
        "good": good, "good JPEG": jpeg, "good with predictors": pdf.predicted(40, 30, samples),
        "good and compressed": pdf.compressed(40, 30, samples),
        "an object stream of 200 MB": pdf.compressed(40, 30, samples, padding=200_000_000),
        "an image of 100 megapixels": pdf.page(pdf.image(10_000, 10_000, bomb)),
        "an image of 4 billion px": pdf.page(pdf.image(2 ** 32, 2 ** 32, bomb)),
        "an image that inflates to more": pdf.page(pdf.image(40, 30, bomb)),
        "an image that inflates to less": pdf.page(pdf.image(4000, 3000, zlib.compress(samples))),
        "a content of 30 MB": pdf.page(pdf.image(40, 30, zlib.compress(samples)), content=b"").replace(
            b"<<  /Length 0 >>\nstream\n\nendstream", pdf.stream("/Filter /FlateDecode", bomb)),
        "a million levels of state": pdf.page(pdf.image(40, 30, zlib.compress(samples)), content=b"q " * 100_000 + b"/Im0 Do"),
        "a string without an end": pdf.page(pdf.image(40, 30, zlib.compress(samples)), content=b"/Im0 Do (" + b"(" * 50_000),
        "a page tree that contains itself": first,
        "a table that follows itself": good.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev " + str(good.rindex(b"xref\n0 ")).encode()),
        "a filter within a filter": pdf.page(pdf.image(40, 30, zlib.compress(samples), filters="[" + "/FlateDecode " * 50 + "]")),
        "a length that is itself": good.replace(b"/Length 30 >>", b"/Length 4 0 R >>"),
        "20,000 arrays": pdf.page(pdf.image(40, 30, zlib.compress(samples)), more="/Deep " + deep.decode()),
        "a colour space within itself": pdf.page(pdf.image(40, 30, zlib.compress(samples), space="5 0 R")),
        "a palette of itself": pdf.page(pdf.image(40, 30, zlib.compress(samples), space="6 0 R"),
                                        others=[b"[/Indexed 6 0 R 255 (abc)]"]),
        "two pages": pdf.document([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>",
                                   b"<< /Type /Page /Parent 2 0 R >>"]),
        "no page": pdf.document([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]),
        "no catalogue": pdf.document([b"null"]),
        "text": pdf.page(pdf.image(40, 30, zlib.compress(samples)),
                         content=b"q 612 0 0 792 0 0 cm /Im0 Do Q BT /F1 12 Tf (Name) Tj ET"),
        "a JPEG with other bytes": pdf.page(pdf.image(40, 30, b"no JPEG at all", filters="/DCTDecode")),
    }
    for index in range(1, 8):
        files[f"cut after {index} eighths"] = jpeg[:len(jpeg) * index // 8]
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    written = []
    sources = {"heic": heics(), "bmp": bmps(), "pdf": pdfs()}
    for kind, files in sources.items():
        for index, (what, data) in enumerate(files.items()):
            written.append((f"{kind}-{index:02}.{kind}", what, data))
    seeds = [(kind, data) for kind, files in sources.items() for what, data in files.items() if what.startswith("good")]
    while len(written) < options.count:
        kind, data = chosen.choice(seeds)
        changed = bytearray(data)
        # Half of the changes hit what comes first: headers and tables.
        reach = len(changed) if chosen.random() < 0.5 else min(len(changed), 1500)
        for _ in range(chosen.choice((1, 2, 5, 20))):
            at = chosen.randrange(reach)
            changed[at] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)))
        written.append((f"{kind}-changed-{len(written):03}.{kind}", "bytes changed at random", bytes(changed)))
    options.out.mkdir(parents=True, exist_ok=True)
    for name, what, data in written:
        (options.out / name).write_bytes(data)
        print(f"{name}\t{what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
