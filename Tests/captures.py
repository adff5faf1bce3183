"""Renders the frames of a liveness capture from one portrait: a face in front of a screen that shows colours, or one that moves; or, for a
camera that is drawn in a browser, what such frames are made of.

Light is rendered in linear light (albedo times ambient and screen, which falls off from the nose over the cheeks to the background),
then exposure, white balance, noise, the sRGB curve and JPEG. Motions are warps of the portrait: the nose moves before the eyes as
a head's does, lids come down, the mouth widens or opens. Not modelled: hair that hides, glasses, compression of video, lenses.

Needs Debian's python3-numpy and python3-pil. The portrait's five points are those that `inspectd inspect --face` reports.
"""

import argparse
import json
import math
import os

import numpy as np
from PIL import Image

LIGHT = {"RED": (1, 0, 0), "GREEN": (0, 1, 0), "BLUE": (0, 0, 1), "CYAN": (0, 1, 1), "MAGENTA": (1, 0, 1), "YELLOW": (1, 1, 0)}
COLOURS, STEPS = list(LIGHT), ["MOUTH_OPEN", "SMILE", "BLINK", "SHAKE", "NOD"]
WIDTH, HEIGHT, IED = 640, 480, 84.0


def linear(v):
    v = v / np.float32(255)
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4).astype(np.float32)


# The curve as a table: 4,096 steps are finer than eight bits.
CURVE = np.linspace(0, 1, 4097)
CURVE = (255 * np.where(CURVE <= 0.0031308, CURVE * 12.92, 1.055 * CURVE ** (1 / 2.4) - 0.055)).astype(np.float32)


def encoded(v):
    return CURVE[(np.clip(v, 0, 1) * 4096).astype(np.int16)]


def sampled(image, x, y):
    """Bilinear, the border repeated."""
    h, w = image.shape[:2]
    x, y = np.clip(x, 0, w - 1.001), np.clip(y, 0, h - 1.001)
    i, j = x.astype(np.int32), y.astype(np.int32)
    a, b = (x - i).astype(np.float32)[..., None], (y - j).astype(np.float32)[..., None]
    # Rows of one index are taken several times faster than points of two.
    points, at = image.reshape(h * w, -1), j * w + i
    above, below = points.take(at, axis=0), points.take(at + w, axis=0)
    above += a * (points.take(at + 1, axis=0) - above)
    below += a * (points.take(at + w + 1, axis=0) - below)
    above += b * (below - above)
    return above


def sixth(v):
    """The sixth power, by multiplication: `**` takes logarithms."""
    v = v * v
    return v * v * v


class Scene:
    """The portrait with the eyes level, IED pixels apart and in the upper middle of the frame."""

    def __init__(self, portrait, points, random):
        eyes = (points[0] + points[1]) / 2, (points[2] + points[3]) / 2
        middle, along = (eyes[0] + eyes[1]) / 2, eyes[1] - eyes[0]
        across = along / IED
        down = np.array([-across[1], across[0]])
        self.y, self.x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
        u, v = self.x - WIDTH / 2, self.y - 0.45 * HEIGHT
        self.albedo = linear(sampled(portrait, middle[0] + u * across[0] + v * down[0], middle[1] + u * across[1] + v * down[1]))
        self.u, self.v = u / IED, v / IED
        nose = (points[4] - middle) @ down / (down @ down) / IED
        self.nose_y = nose
        self.nose, self.head = self.relief(self.u, self.v), self.oval(self.u, self.v)
        self.random = random

    def relief(self, u, v):
        """How far the nose stands out, 0 to 1."""
        return np.exp(-((u / 0.28) ** 2 + ((v - 0.85 * self.nose_y) / 0.4) ** 2))

    def jaws(self, u, v):
        """How far nose, mouth and chin stand before the eyes and cheeks, 0 to 1."""
        return np.exp(-((u / 0.55) ** 2 + ((v - 1.1 * self.nose_y) / 0.7) ** 2))

    def oval(self, u, v):
        """The head, which fades into what is behind it."""
        return 1 / (1 + np.exp(12 * (np.hypot(u / 1.25, (v - 0.35) / 1.8) - 1)))

    def waved(self, time, bend):
        """The albedo of a print that is turned, tilted and shifted as a whole, and bent about its upright axis by `bend`, 0 to 1."""
        turn, tilt = 0.4 * math.sin(time / 310), 0.3 * math.sin(time / 430)
        u, v = self.u - 0.1 * math.sin(time / 270), self.v - 0.3 * max(0, math.sin(time / 430))
        depth = 1 + 0.1 * (u * math.sin(turn) + v * math.sin(tilt))
        u, v = u / math.cos(turn) * depth, v / math.cos(tilt) * depth
        u = u + bend * 0.12 * math.sin(time / 350) * u * u
        return sampled(self.albedo, u * IED + WIDTH / 2, v * IED + 0.45 * HEIGHT)

    def moved(self, motion):
        """The albedo after motions: yaw and nod in radians, the others 0 to 1."""
        u, v = self.u.copy(), self.v.copy()
        image = self.albedo
        if motion["yaw"] or motion["nod"]:
            # What lies where after the turn: the relief belongs to the head, so it is looked up where the head was before. The base of the
            # nose lies a third of the eyes' distance before them; a nod turns about the neck, and what turns away is shortened.
            for _ in range(4):
                bump = 0.2 * self.relief(u, v) + 0.2 * self.jaws(u, v) + 0.15 * self.oval(u, v)
                u = (self.u - np.sin(motion["yaw"]) * bump) / np.cos(motion["yaw"])
                v = (self.v - np.sin(motion["nod"]) * (bump + 1.5 * self.oval(u, v))) / np.cos(motion["nod"])
        u, v = u - motion["sway"][0] * self.head, v - motion["sway"][1] * self.head
        if motion["smile"]:
            window = np.exp(-((self.v - self.nose_y - 0.35) / 0.25) ** 2 - ((self.u / 0.8) ** 2) ** 2)
            u = u / (1 + 0.35 * motion["smile"] * window)
        out = sampled(image, u * IED + WIDTH / 2, v * IED + 0.45 * HEIGHT)
        if motion["blink"]:
            skin = sampled(image, u * IED + WIDTH / 2, (v + 0.34) * IED + 0.45 * HEIGHT)
            for side in (-0.5, 0.5):
                lid = motion["blink"] * np.exp(-sixth((u - side) / 0.33) - sixth(v / 0.17))[..., None]
                out = (1 - lid) * out + lid * skin
                lashes = motion["blink"] * np.exp(-sixth((u - side) / 0.24) - ((v - 0.05) / 0.022) ** 2)[..., None]
                out = out * (1 - 0.7 * lashes)
        if motion["open"]:
            depth = 0.05 + 0.2 * motion["open"]
            hole = motion["open"] * np.exp(-sixth(u / 0.28) - sixth((v - self.nose_y - 0.4) / depth))[..., None]
            out = out * (1 - 0.97 * hole)
        return out


def shown(colours, ms, time):
    index = math.floor(time / ms)
    return np.array(LIGHT[colours[index]] if 0 <= index < len(colours) else (0.2, 0.2, 0.2), float)


def exposed(colours, ms, time):
    """The screen's mean light over an exposure of 30 ms."""
    return np.mean([shown(colours, ms, time + d) for d in (-30, -20, -10, 0)], axis=0)


def motions(steps, begin, random):
    """(name, start, duration, strength) of each motion, one after the other."""
    acts, time = [], begin
    for step in steps:
        time += random.uniform(450, 900)
        duration = DURATIONS[step]
        acts.append((step, time, duration, random.uniform(0.9, 1.1)))
        time += duration + random.uniform(300, 500)
    return acts, time


def state(acts, time, sway):
    motion = {"yaw": 0.0, "nod": 0.0, "smile": 0.0, "blink": 0.0, "open": 0.0, "sway": sway}
    for step, start, duration, strength in acts:
        phase = (time - start) / duration
        if not 0 < phase < 1:
            continue
        level = min(1, 1.7 * math.sin(math.pi * phase))
        if step == "SHAKE":
            motion["yaw"] = math.radians(36 * strength) * max(-1, min(1, 1.3 * math.sin(2 * math.pi * phase)))
        elif step == "NOD":
            motion["nod"] = math.radians(16 * strength) * level
        else:
            motion[{"SMILE": "smile", "BLINK": "blink", "MOUTH_OPEN": "open"}[step]] = level
    return motion


def likeness(asked, seen):
    """The correlation of successive differences that the product looks for, in opponent colours, at the lag where it is highest."""
    def opponents(colours):
        return np.array([(r - g, (r + g) / 2 - b, 0.2126 * r + 0.7152 * g + 0.0722 * b) for r, g, b in colours])

    wanted = np.diff(opponents([LIGHT[c] for c in asked]), axis=0).ravel()
    found = []
    for places in range(3):
        late = np.diff(opponents([LIGHT[c] for c in seen[places:]] + [(0.2, 0.2, 0.2)] * places), axis=0).ravel()
        found.append(wanted @ late / math.sqrt((wanted @ wanted) * (late @ late)))
    return max(found)


def another(kinds, sequence, random):
    """Another sequence than this one. Of colours one that is nothing like it: of two that are drawn by lot, every eighteenth pair is so
    alike, from 0.7 on, that the product leaves it undecided."""
    while True:
        drawn = []
        while len(drawn) < len(sequence):
            kind = kinds[random.integers(len(kinds))]
            if not drawn or kind != drawn[-1]:
                drawn.append(kind)
        if drawn != sequence and (kinds is not COLOURS or likeness(sequence, drawn) < 0.5):
            return drawn


DURATIONS = {"BLINK": 300, "SMILE": 1200, "MOUTH_OPEN": 1100, "SHAKE": 1500, "NOD": 1100}


def camera(scene, folder, phases=12):
    """What a browser draws a person of: the face at rest, how much of the screen's light each point gets, and phases of each motion."""
    def save(name, albedo):
        Image.fromarray(encoded(albedo).astype(np.uint8)).save(os.path.join(folder, name + ".jpg"), quality=96)

    os.makedirs(folder, exist_ok=True)
    save("base", scene.albedo)
    gain = scene.head * (0.85 + 0.5 * scene.nose) + 0.06
    Image.fromarray(np.clip(gain / 1.5 * 255, 0, 255).astype(np.uint8)).save(os.path.join(folder, "gain.png"))
    for step, duration in DURATIONS.items():
        for phase in range(phases):
            save(f"{step}-{phase}", scene.moved(state([(step, 0, 1, 1.0)], (phase + 0.5) / phases, (0, 0))))
    with open(os.path.join(folder, "camera.json"), "w") as file:
        json.dump({"phases": phases, "durations": DURATIONS}, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--face", required=True, help="a portrait")
    parser.add_argument("--points", required=True, help="its five points, x,y,x,y,…")
    parser.add_argument("--challenge", help="JSON of insp.challenge_issue")
    parser.add_argument("--out", required=True)
    parser.add_argument("--camera", action="store_true", help="write what a camera is drawn of, and no frames")
    parser.add_argument("--subject", default="live",
                        choices=["live", "wrongSequence", "late", "plane", "still", "waved", "bent"])
    parser.add_argument("--noise", type=float, default=1.5, help="of each pixel, standard deviation of 8-bit values")
    parser.add_argument("--quality", type=int, default=88, help="of the JPEG frames")
    parser.add_argument("--shake", type=float, default=0, help="of the camera, pixels")
    parser.add_argument("--fps", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    challenge = {} if options.camera else json.load(open(options.challenge))
    colours, ms, steps = challenge.get("colours", []), challenge.get("colourMs", 400), challenge.get("steps", [])
    points = np.array([float(v) for v in options.points.split(",")]).reshape(5, 2)
    portrait = np.asarray(Image.open(options.face).convert("RGB")).astype(np.float32)
    scene = Scene(portrait, points, random)
    if options.camera:
        camera(scene, options.out)
        return

    answered, made, lag = list(colours), list(steps), random.uniform(60, 220)
    if options.subject == "wrongSequence":
        answered, made = another(COLOURS, colours, random) if colours else [], another(STEPS, steps, random) if steps else []
    begin = len(colours) * ms
    if options.subject == "late":
        lag, begin = 800, begin + challenge.get("stepTimeoutMs", 7000)
    acts, end = motions(made, begin, random)
    end = max(end, len(colours) * ms + 450)
    if options.subject in ("plane", "still", "waved", "bent"):
        acts = []

    flat = options.subject in ("plane", "waved", "bent")
    gain = np.ones((HEIGHT, WIDTH), np.float32) if flat else scene.head * (0.85 + 0.5 * scene.nose) + 0.06
    ambient, strength = np.array([1.05, 1, 0.95], np.float32), random.uniform(0.25, 0.5)
    balance = None
    os.makedirs(options.out, exist_ok=True)
    times, time, index = [], -600.0, 0
    still, hand = None, np.zeros(2)
    while time < end:
        sway = (0.012 * math.sin(time / 900), 0.01 * math.sin(time / 700))
        if options.subject == "plane":
            sway = (0, 0)
        if options.subject != "still" or still is None:
            if options.subject in ("waved", "bent"):
                albedo = scene.waved(time, options.subject == "bent")
            else:
                albedo = scene.moved(state(acts, time, sway))
            if options.shake:
                hand = 0.8 * hand + random.normal(0, 0.6 * options.shake, 2)
                albedo = np.roll(albedo, tuple(int(v) for v in np.rint(hand)), (0, 1))
            light = ambient + (gain[..., None] * (strength * exposed(answered, ms, time - lag)).astype(np.float32) if colours else 0)
            radiance = albedo * light
            mean = radiance[::4, ::4].mean(axis=(0, 1))
            wanted = 0.22 / mean.mean() * (0.75 + 0.25 * mean.mean() / mean)
            balance = wanted if balance is None else balance + 0.06 * (wanted - balance)
            image = encoded(radiance * balance.astype(np.float32)) + options.noise * random.standard_normal(radiance.shape, np.float32)
            still = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))
        still.save(os.path.join(options.out, f"{index:03}.jpg"), quality=options.quality)
        times.append(round(time, 1))
        time += 1000 / options.fps + random.uniform(-3, 3)
        index += 1
    challenge["frameTimes"] = times
    with open(options.out.rstrip("/") + ".json", "w") as file:
        json.dump(challenge, file)


main()
