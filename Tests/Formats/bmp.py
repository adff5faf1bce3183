"""Writes BMP files field by field, so that a test can also write invalid ones."""

import struct


def rows(width: int, height: int, bits: int, pixel) -> bytes:
    """Rows of whole words; `pixel(x, y)` gives a number of `bits` bits."""
    data = b""
    for y in range(height):
        if bits >= 8:
            line = b"".join(pixel(x, y).to_bytes(bits // 8, "little") for x in range(width))
        else:
            packed = 0
            count = -(-width * bits // 8) * 8 // bits
            for x in range(count):
                packed = packed << bits | (pixel(x, y) if x < width else 0)
            line = packed.to_bytes(count * bits // 8, "big")
        data += line + bytes(-len(line) % 4)
    return data


def file(width: int, height: int, bits: int, data: bytes, *, header: int = 40, compression: int = 0, palette: bytes = b"",
         colours: int = 0, masks: tuple[int, ...] = (), profile: bytes = b"", planes: int = 1, offset: int | None = None) -> bytes:
    information = struct.pack("<IiiHHIIiiII", header, width, height, planes, bits, compression, len(data), 2835, 2835, colours, 0)
    behind = b""
    if header >= 52:
        information += struct.pack("<4I", *(masks + (0,) * (4 - len(masks))))
        if header == 52:
            information = information[:52]
        if header >= 108:
            information += struct.pack("<I36x3I", 0x4D424544 if profile else 0x73524742, 0, 0, 0)
        if header == 124:
            information += struct.pack("<4I", 4, header + len(palette) + len(data) if profile else 0, len(profile), 0)
    else:
        behind = struct.pack(f"<{len(masks)}I", *masks)
    start = 14 + header + len(behind) + len(palette) if offset is None else offset
    body = information + behind + palette + data + profile
    return b"BM" + struct.pack("<IHHI", 14 + len(body), 0, 0, start) + body
