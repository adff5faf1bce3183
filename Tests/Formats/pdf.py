"""Writes PDFs of one image (ISO 32000-1), object by object, so that a test can also write invalid ones."""

import struct
import zlib


def stream(dictionary: str, data: bytes) -> bytes:
    return f"<< {dictionary} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def document(objects: list[bytes], trailer: str = "") -> bytes:
    """`objects` numbered from 1, of which the first is the catalogue."""
    data, places = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return data


def page(image: bytes, *, content: bytes = b"q 612 0 0 792 0 0 cm /Im0 Do Q", rotate: int | None = None, more: str = "",
         others: list[bytes] | None = None) -> bytes:
    """A document whose only page draws object 5, the image."""
    turn = "" if rotate is None else f"/Rotate {rotate}"
    return document([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
        f"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /Im0 5 0 R >> >> {turn} {more} >>".encode(),
        stream("", content), image, *(others or [])])


def image(width: int, height: int, data: bytes, *, space: str = "/DeviceRGB", bits: int = 8, filters: str = "/FlateDecode",
          more: str = "") -> bytes:
    chosen = f"/Filter {filters}" if filters else ""
    return stream(f"/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace {space} "
                  f"/BitsPerComponent {bits} {chosen} {more}", data)


def flate(width: int, height: int, samples: bytes, **options) -> bytes:
    return page(image(width, height, zlib.compress(samples), **options))


def predicted(width: int, height: int, samples: bytes) -> bytes:
    """The same with PNG's predictors, one of each kind in turn."""
    stride = 3 * width
    rows = [samples[y * stride:(y + 1) * stride] for y in range(height)]
    filtered = b""
    for y, row in enumerate(rows):
        above, kind = rows[y - 1] if y else bytes(stride), y % 5
        filtered += bytes([kind])
        for x, value in enumerate(row):
            left, corner = (row[x - 3], above[x - 3]) if x >= 3 else (0, 0)
            up = above[x]
            guess = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            filtered += bytes([(value - (0, left, up, (left + up) // 2, guess)[kind]) % 256])
    return page(image(width, height, zlib.compress(filtered),
                      more=f"/DecodeParms << /Predictor 15 /Colors 3 /Columns {width} >>"))


def compressed(width: int, height: int, samples: bytes, padding: int = 0) -> bytes:
    """With an object stream and a cross-reference stream (§7.5.7, §7.5.8); `padding` zeros swell the object stream."""
    packed = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
              b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
              b"/Resources << /XObject << /Im0 5 0 R >> >> >>"]
    offsets, body = [], b""
    for item in packed:
        offsets.append(len(body))
        body += item + b" "
    index = " ".join(f"{number} {offset}" for number, offset in enumerate(offsets, start=1)).encode() + b" "
    data, places = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", {}
    streams = {4: stream("", b"q 612 0 0 792 0 0 cm /Im0 Do Q"), 5: image(width, height, zlib.compress(samples)),
               6: stream(f"/Type /ObjStm /N {len(packed)} /First {len(index)} /Filter /FlateDecode",
                         zlib.compress(index + body + bytes(padding), 9))}
    for number, content in streams.items():
        places[number] = len(data)
        data += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    entries = struct.pack(">BIH", 0, 0, 65535) + b"".join(struct.pack(">BIH", 2, 6, at) for at in range(3))
    entries += b"".join(struct.pack(">BIH", 1, places[number], 0) for number in (4, 5, 6))
    start = len(data)
    entries += struct.pack(">BIH", 1, start, 0)
    table = stream("/Type /XRef /Size 8 /W [1 4 2] /Root 1 0 R /Filter /FlateDecode", zlib.compress(entries))
    return data + b"7 0 obj\n" + table + b"\nendobj\n" + f"startxref\n{start}\n%%EOF\n".encode()
