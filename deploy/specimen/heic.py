"""Writes HEIC files as phones do: a grid of HEVC tiles, turned by `irot`, with EXIF data that repeat the turn.

The tiles are encoded by Debian's heif-enc (libheif-examples); the container (ISO/IEC 23008-12 over ISO/IEC 14496-12) is written
here, because heif-enc writes no grids.
"""

import struct
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image


def box(kind: str, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind.encode()) + body


def full_box(kind: str, version: int, flags: int, *parts: bytes) -> bytes:
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


@dataclass
class Tile:
    """One HEVC picture: its parameter sets, its colours as the encoder declares them, its bytes."""

    configuration: bytes
    colours: bytes | None
    data: bytes


@dataclass
class Heic:
    """A file's parts, each of which a test may change before `file` puts them together."""

    tiles: list[Tile]
    columns: int
    rows: int
    tile_size: tuple[int, int]
    size: tuple[int, int]
    bits: int = 8
    # Of the image, after its size: boxes such as irot, each with whether a reader must understand it.
    properties: list[tuple[bytes, bool]] = field(default_factory=list)
    exif: bytes | None = None
    # The tiles' ids as the grid lists them; those that there are by default.
    inputs: list[int] | None = None
    # Offsets and lengths of the tiles' bytes in the file's data; by default one after the other.
    extents: list[tuple[int, int]] | None = None

    def file(self) -> bytes:
        count = len(self.tiles)
        grid = count + 1
        ids = self.inputs if self.inputs is not None else list(range(1, count + 1))
        entries = [full_box("infe", 2, 1, struct.pack(">HH4s", item, 0, b"hvc1"), b"\0") for item in range(1, grid)]
        entries.append(full_box("infe", 2, 0, struct.pack(">HH4s", grid, 0, b"grid"), b"\0"))
        references = box("dimg", struct.pack(f">HH{len(ids)}H", grid, len(ids), *ids))
        if self.exif is not None:
            entries.append(full_box("infe", 2, 1, struct.pack(">HH4s", grid + 1, 0, b"Exif"), b"\0"))
            references += box("cdsc", struct.pack(">HHH", grid + 1, 1, grid))

        # Properties of the tiles are shared where they are the same.
        container: list[bytes] = []

        def place(property_box: bytes) -> int:
            if property_box not in container:
                container.append(property_box)
            return container.index(property_box) + 1

        associations = []
        of_tile = place(full_box("ispe", 0, 0, struct.pack(">II", *self.tile_size)))
        for item, tile in enumerate(self.tiles, start=1):
            listed = [of_tile, 0x80 | place(box("hvcC", tile.configuration))]
            if tile.colours is not None:
                listed.append(place(box("colr", tile.colours)))
            associations.append((item, listed))
        listed = [place(full_box("ispe", 0, 0, struct.pack(">II", *self.size)))]
        listed += [place(body) | (0x80 if essential else 0) for body, essential in self.properties]
        listed.append(place(full_box("pixi", 0, 0, bytes([3] + [self.bits] * 3))))
        associations.append((grid, listed))
        ipma = struct.pack(">I", len(associations)) + b"".join(
            struct.pack(">HB", item, len(listed)) + bytes(listed) for item, listed in associations)

        data = b"".join(tile.data for tile in self.tiles)
        extents = self.extents
        if extents is None:
            starts = [sum(len(tile.data) for tile in self.tiles[:index]) for index in range(count)]
            extents = [(start, len(tile.data)) for start, tile in zip(starts, self.tiles)]
        description = struct.pack(">BBBBHH", 0, 0, self.rows - 1, self.columns - 1, *self.size)
        tail = self.exif or b""

        def meta(start: int) -> bytes:
            lines = [struct.pack(">HHHHII", item, 0, 0, 1, start + offset, length)
                     for item, (offset, length) in enumerate(extents, start=1)]
            lines.append(struct.pack(">HHHHII", grid, 1, 0, 1, 0, len(description)))
            if tail:
                lines.append(struct.pack(">HHHHII", grid + 1, 0, 0, 1, start + len(data), len(tail)))
            return full_box(
                "meta", 0, 0,
                full_box("hdlr", 0, 0, struct.pack(">I4s12x", 0, b"pict"), b"\0"),
                full_box("pitm", 0, 0, struct.pack(">H", grid)),
                full_box("iinf", 0, 0, struct.pack(">H", len(entries)), *entries),
                full_box("iref", 0, 0, references),
                box("iprp", box("ipco", *container), full_box("ipma", 0, 0, ipma)),
                full_box("iloc", 1, 0, struct.pack(">HH", 0x4400, len(lines)), *lines),
                box("idat", description))

        head = box("ftyp", b"heic", bytes(4), b"mif1heic")
        start = len(head) + len(meta(0)) + 8
        return head + meta(start) + box("mdat", data, tail)


def of_image(image: Image.Image, *, tile: int = 512, bits: int = 8, quality: int = 60, turn: int = 0,
             colours: bytes | None = None) -> Heic:
    """`image` in tiles, stored so that `turn` quarter turns against the clock put it upright."""
    upside = {0: None, 1: Image.ROTATE_270, 2: Image.ROTATE_180, 3: Image.ROTATE_90}[turn]
    pixels = np.asarray((image if upside is None else image.transpose(upside)).convert("RGB"))
    height, width = pixels.shape[:2]
    columns, rows = -(-width // tile), -(-height // tile)
    # Phones repeat the border in what exceeds the image.
    pixels = np.pad(pixels, ((0, rows * tile - height), (0, columns * tile - width), (0, 0)), "edge")
    tiles = encoded([pixels[y * tile:(y + 1) * tile, x * tile:(x + 1) * tile] for y in range(rows) for x in range(columns)],
                    bits, quality)
    made = Heic(tiles, columns, rows, (tile, tile), (width, height), bits)
    if colours is not None:
        made.properties.append((box("colr", colours), False))
    if turn:
        made.properties.append((box("irot", bytes([turn])), True))
        # EXIF 2.3, Orientation: 8, 3 and 6 say the same as irot 1, 2 and 3. A reader that applies both turns twice.
        made.exif = bytes(4) + b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, {1: 8, 2: 3, 3: 6}[turn], 0, 0)
    return made


def encoded(tiles: list[np.ndarray], bits: int, quality: int) -> list[Tile]:
    """The tiles by heif-enc, which writes each as an image of one file."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for index, pixels in enumerate(tiles):
            names.append(f"{folder}/{index}.png")
            Path(names[-1]).write_bytes(_png(pixels, 16 if bits > 8 else 8))
        target = f"{folder}/tiles.heic"
        depth = ["-b", str(bits)] if bits > 8 else []
        # The encoder's own preset takes four times as long.
        subprocess.run(["heif-enc", "-q", str(quality), "-p", "preset=ultrafast", *depth, "-o", target, *names],
                       check=True, stdout=subprocess.DEVNULL)
        return _pictures(Path(target).read_bytes())


def _png(pixels: np.ndarray, bits: int) -> bytes:
    """Of 16 bits, which Pillow does not write in colour and heif-enc asks for."""
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = pixels.shape[:2]
    samples = (pixels.astype(">u2") * 257 if bits == 16 else pixels).tobytes()
    stride = width * 3 * bits // 8
    rows = b"".join(b"\0" + samples[y * stride:(y + 1) * stride] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def _boxes(data: bytes):
    at = 0
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        start = 8
        if length == 1:
            length, start = struct.unpack(">Q", data[at + 8:at + 16])[0], 16
        length = length or len(data) - at
        yield kind.decode("latin-1"), data[at + start:at + length]
        at += length


def _number(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(data[at:at + length], "big")


def _pictures(data: bytes) -> list[Tile]:
    """The HEVC images of a file of heif-enc, in the order of their ids."""
    meta = dict(_boxes(dict(_boxes(data))["meta"][4:]))
    items = []
    for kind, entry in _boxes(meta["iinf"][6:]):
        if kind == "infe" and entry[0] == 2 and entry[8:12] == b"hvc1":
            items.append(_number(entry, 4, 2))
    properties = list(_boxes(dict(_boxes(meta["iprp"]))["ipco"]))
    ipma = dict(_boxes(meta["iprp"]))["ipma"]
    associations, at = {}, 8
    for _ in range(_number(ipma, 4, 4)):
        item, count, wide = _number(ipma, at, 2), ipma[at + 2], ipma[3] & 1
        at += 3
        associations[item] = [properties[(_number(ipma, at + index * (1 + wide), 1 + wide) & (0x7FFF if wide else 0x7F)) - 1]
                              for index in range(count)]
        at += count * (1 + wide)
    iloc = meta["iloc"]
    of_offset, of_length, of_base = iloc[4] >> 4, iloc[4] & 15, iloc[5] >> 4
    located, at = {}, 8
    for _ in range(_number(iloc, 6, 2)):
        item = _number(iloc, at, 2)
        at += 2
        method = 0
        if iloc[0] > 0:
            method = _number(iloc, at, 2) & 15
            at += 2
        at += 2
        base = _number(iloc, at, of_base)
        at += of_base
        count = _number(iloc, at, 2)
        at += 2
        source, parts = meta["idat"] if method == 1 else data, []
        for _ in range(count):
            offset, length = _number(iloc, at, of_offset), _number(iloc, at + of_offset, of_length)
            parts.append(source[base + offset:base + offset + length])
            at += of_offset + of_length
        located[item] = b"".join(parts)
    pictures = []
    for item in sorted(items):
        said = dict(associations[item])
        pictures.append(Tile(said["hvcC"], said.get("colr"), located[item]))
    return pictures
