"""Scores documents shown as selfies: genuine photographs, and attacks made of documents' images (the whole document, held before
another scene, its portrait cut out). Called with `score(program, data)` by the scoring of faces, or by itself:
Tests/score_selfies.py INSPECTD DATA [SEED] [--mistakes]. Needs Debian's python3-pil and python3-numpy.
"""

import argparse
import glob
import json
import math
import os
import random
import tempfile

from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps, ImageSequence
import numpy

from scoring import batch, upper_bound

LABEL = "ID_USED_AS_SELFIE"
FONTS = sorted(glob.glob("/usr/share/fonts/truetype/dejavu/DejaVuSans*.ttf"))
# What clothes and walls say.
WORDS = ("SUMMER FESTIVAL", "RUN THE CITY", "NEVER STOP", "Coffee & Bagels", "MARATHON TEAM", "UNIVERSITY", "OPEN DAILY",
         "WELCOME HOME", "LIVE MUSIC", "BASKETBALL", "VISITOR", "STAFF", "CONFERENCE PASS")
# What they say in a document's words and numbers: dates, telephones, addresses of networks, badges, shops, posters.
LIKENESSES = ("12.08.2024", "03/11/2025", "2026-05-17", "14 AUG 2026", "01.42.68.53.00", "089/12/3456", "0800-22-33-44",
              "192.168.10.20", "CLASS OF 2024", "HAIR STUDIO", "REST AREA", "PORT AUTHORITY", "SIGNATURE COFFEE",
              "TYPE O NEGATIVE", "VETERAN", "ISSUED BY", "FIRST NAME", "LAST NAME", "VALID UNTIL", "NATIONALITY", "PASSPORT")


def coefficients(source, target):
    """Of the perspective transformation that PIL takes, from the corners of `source` to those of `target`."""
    rows, values = [], []
    for (u, v), (x, y) in zip(source, target):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return tuple(numpy.linalg.solve(numpy.array(rows, float), numpy.array(values, float)))


def camera(image, dice):
    """Blur, exposure and noise of a second camera."""
    pixels = numpy.asarray(image.filter(ImageFilter.GaussianBlur(dice.uniform(0.3, 0.9)))).astype(float)
    noise = numpy.random.RandomState(dice.randrange(1 << 30)).normal(0, dice.uniform(1, 4), pixels.shape)
    return Image.fromarray((pixels * dice.uniform(0.8, 1.1) + noise).clip(0, 255).astype("uint8"))


def held(image, corners, share, scene, dice):
    """The document before a scene, `share` of its width wide."""
    size = dice.choice([(1200, 1600), (1080, 1440), (1600, 1200)])
    picture = ImageOps.fit(scene, size)
    width = share * size[0]
    ratio = math.dist(corners[0], corners[1]) / max(1, math.dist(corners[1], corners[2]))
    width = min(width, 0.95 * size[1] * ratio)
    height = width / ratio
    centre = (size[0] / 2 + dice.uniform(-0.4, 0.4) * (size[0] - width), size[1] / 2 + dice.uniform(-0.3, 0.3) * (size[1] - height))
    angle = math.radians(dice.uniform(-6, 6))
    target = []
    for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
        x, y = x * width, y * height
        target.append((centre[0] + x * math.cos(angle) - y * math.sin(angle) + dice.uniform(-0.03, 0.03) * width,
                       centre[1] + x * math.sin(angle) + y * math.cos(angle) + dice.uniform(-0.03, 0.03) * width))
    factor = max(1, int(math.dist(corners[0], corners[1]) / width))
    small = image.reduce(factor)
    warped = small.transform(size, Image.Transform.PERSPECTIVE,
                             coefficients([(x / factor, y / factor) for x, y in corners], target), Image.Resampling.BICUBIC)
    mask = Image.new("L", size, 0)
    ImageDraw.Draw(mask).polygon(target, fill=255)
    picture.paste(warped, (0, 0), mask)
    return camera(picture, dice)


def cut_out(image, box, margin, dice):
    """The portrait with `margin` times its face's width around it."""
    width = box["width"] * margin
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    crop = image.crop([int(max(0, x - width / 2)), int(max(0, y - 0.6 * width)), int(min(image.width, x + width / 2)),
                       int(min(image.height, y + 0.65 * width))])
    scale = max(1, 640 / crop.height)
    return camera(crop.resize((int(crop.width * scale), int(crop.height * scale)), Image.Resampling.BICUBIC), dice)


def lettered(image, face, likenesses, dice):
    """A person with lettering on the clothes and on the wall, some of whose lines are like a document's."""
    image = image.copy()
    draw, box = ImageDraw.Draw(image), face["box"]
    eyes = face["quality"]["interEyeDistance"]
    texts = dice.sample(LIKENESSES, likenesses) + dice.sample(WORDS, 7 - likenesses)
    dice.shuffle(texts)
    for index, text in enumerate(texts):
        font = ImageFont.truetype(dice.choice(FONTS), max(8, int(eyes * dice.uniform(0.3, 0.8))))
        x = dice.uniform(0, 0.7 * image.width)
        # One below another, so that each can be read.
        y = box["y"] + box["height"] * 1.3 + index * eyes * 0.9 if index < 4 else (index - 4) * eyes
        dark = dice.random() < 0.7
        if dark:
            left, top, right, bottom = draw.textbbox((x, y), text, font=font)
            draw.rectangle([left - 4, top - 4, right + 4, bottom + 4], fill=(235, 232, 225))
        draw.text((x, y), text, font=font, fill=(30, 30, 40) if dark else (245, 245, 245))
    return image


def upright(path):
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def attacks(program, folder, scenes, scratch, dice):
    """Requests by species: [(species, request)]."""
    names = [e["file"] for e in json.load(open(os.path.join(folder, "manifest.json"))) if e["kind"] != "mrz_line_crop"]
    files = [os.path.join(folder, name) for name in names if name.lower().endswith((".jpg", ".jpeg", ".png"))]
    fronts, _, _ = batch(program, "inspect", [{"id": f, "front": f, "workflow": "id", "gate": False} for f in files], analyzers=2)
    made = []
    for answer in fronts:
        faces = [f for f in answer.get("faces") or [] if f["part"] == "FRONT"]
        if not faces or faces[0]["quality"]["interEyeDistance"] < 22 or abs(faces[0]["quality"]["roll"]) > 20:
            continue
        image = upright(answer["id"])
        outline = (answer["capabilities"]["usability"][0].get("data") or {}).get("outline")
        corners = [(0, 0), (image.width, 0), (image.width, image.height), (0, image.height)]
        if outline:
            quad = [outline["quad"][corner] for corner in ("topLeft", "topRight", "bottomRight", "bottomLeft")]
            corners = [(corner["x"], corner["y"]) for corner in quad]
        pictures = [("whole document", image)]
        pictures += [(f"document held, {share} of the width", held(image, corners, share, dice.choice(scenes), dice))
                     for share in (0.9, 0.65, 0.45)]
        pictures += [(f"portrait cut out, {margin} faces wide", cut_out(image, faces[0]["box"], margin, dice))
                     for margin in (4, 3, 2.2, 1.7)]
        for species, picture in pictures:
            name = os.path.join(scratch, f"attack-{len(made)}.jpg")
            picture.save(name, quality=88)
            made.append((species, {"id": name, "face": name, "workflow": "liveness", "gate": False}))
            made.append((f"{species}, beside the document",
                         {"id": name, "face": name, "front": answer["id"], "workflow": "id_identity", "gate": False}))
    return made


def genuine(program, folder, scratch, dice):
    """Requests by species, each of one person: no attack, and no group, which another rule rejects first."""
    entries = json.load(open(os.path.join(folder, "manifest.json")))["entries"]
    files = [os.path.join(folder, e["file"]) for e in entries if e["kind"] in ("identity", "quality")]
    files = [f for f in files if os.path.exists(f)]
    made = [("genuine photographs", {"id": f, "face": f, "workflow": "liveness", "gate": False}) for f in files]
    for path in sorted(glob.glob(os.path.join(folder, "video", "*.gif"))):
        for index, frame in enumerate(ImageSequence.Iterator(Image.open(path))):
            if index % 6 == 0:
                name = os.path.join(scratch, f"frame-{len(made)}.png")
                frame.convert("RGB").save(name)
                made.append(("frames of clips", {"id": name, "face": name, "workflow": "liveness", "gate": False}))
    seen, _, _ = batch(program, "inspect", [request for _, request in made[:len(files)]], analyzers=2)
    for answer in seen:
        faces = [f for f in answer.get("faces") or [] if f["part"] == "FACE"]
        if not faces or not FONTS:
            continue
        for likenesses in range(4):
            name = os.path.join(scratch, f"lettered-{len(made)}.jpg")
            lettered(upright(answer["id"]), faces[0], likenesses, dice).save(name, quality=88)
            made.append((f"genuine, lettering drawn, {likenesses} of 7 lines like a document's",
                         {"id": name, "face": name, "workflow": "liveness", "gate": False}))
    return made


def score(program, data, seed=20):
    """Counts by species, and mistakes: (species, name, scores)."""
    dice = random.Random(seed)
    faces, documents = (os.path.abspath(os.path.join(data, name)) for name in ("faces", "documents"))
    rows, mistakes = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        scenes = [upright(os.path.join(faces, "detect", name)) for name in ("no_face.png", "dogs.jpg")]
        made = genuine(program, faces, scratch, dice)
        count = len(made)
        made += attacks(program, documents, scenes, scratch, dice)
        answers, _, _ = batch(program, "inspect", [request for _, request in made], analyzers=2)
        for index, ((species, request), answer) in enumerate(zip(made, answers)):
            record = ((answer.get("capabilities") or {}).get("liveness") or [{}])[0]
            decision = record.get("decision") or {}
            label, kind = (decision.get("details") or {}).get("label"), decision.get("type")
            row = rows.setdefault(species, {"flagged": 0, "rejected": 0, "warned": 0, "no_face": 0, "total": 0})
            row["total"] += 1
            row["no_face"] += label == "NO_FACE_PRESENT"
            row["flagged"] += label == LABEL
            row["rejected"] += label == LABEL and kind == "REJECTED"
            row["warned"] += label == LABEL and kind == "WARNING"
            if (label == LABEL) == (index < count):
                mistakes.append((species, request["id"], json.dumps((record.get("data") or {}).get("scores"))))
        for species, row in rows.items():
            is_attack = species.startswith(("whole", "document", "portrait"))
            errors = row["total"] - row["flagged"] - row["no_face"] if is_attack else row["flagged"]
            row["error"] = errors
            row["upper_95"] = upper_bound(errors, row["total"])
    return rows, mistakes


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("inspectd")
    parser.add_argument("data")
    parser.add_argument("seed", nargs="?", type=int, default=20)
    parser.add_argument("--mistakes", action="store_true")
    options = parser.parse_args()
    table, wrong = score(options.inspectd, options.data, options.seed)
    for species, row in table.items():
        print(f"{species:60} rejected {row['rejected']:3}, warned {row['warned']:3}, no face {row['no_face']:3} of {row['total']:3};"
              f" errors {row['error']}, 95 % bound {100 * row['upper_95']:.1f} %")
    if options.mistakes:
        for kind, name, why in wrong:
            print(f"- {kind}: {name}: {why}")
    print(json.dumps(table))
