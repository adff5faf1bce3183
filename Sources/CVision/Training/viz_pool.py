"""Drawn lines to learn from: processes draw them, and each use alters them, which costs less than drawing anew."""

import multiprocessing
import queue

import cv2
import numpy as np
import torch
from torch.nn import functional as F

from viz_render import ENDS, HEIGHT, STRIDE, WINDOW, VIZData
from viz_text import BASES, BLANK

WIDTHS = (176, 384)  # columns of a strip with its ends
MOST = 40  # characters of a strip
PARCEL = 32  # strips of one width that a process sends at once
IGNORE = -1
NOWHERE = -10_000.0
SPACE = BASES.index(" ")


def parcels(seed, made):
    """Draws without end. Strips reach beyond their ends as their first and last columns do."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    data = VIZData(seed)
    waiting = [[] for _ in WIDTHS]
    while True:
        strip, labels, at, widths, _ = data.sample()
        need = strip.shape[1] + 2 * ENDS
        bucket = next((i for i, width in enumerate(WIDTHS) if need <= width), None)
        if bucket is None or len(at) > MOST:
            continue
        room = MOST - len(at)
        waiting[bucket].append((
            np.pad(strip, ((0, 0), (ENDS, WIDTHS[bucket] - ENDS - strip.shape[1])), mode="edge"),
            np.pad(labels[:, 0], (0, room)).astype(np.int16), np.pad(labels[:, 1], (0, room)).astype(np.int16),
            np.pad(at, (0, room), constant_values=NOWHERE), np.pad(widths, (0, room), constant_values=1),
            np.array([len(at), strip.shape[1]], np.int16)))
        if len(waiting[bucket]) == PARCEL:
            made.put((bucket, [np.stack(part) for part in zip(*waiting[bucket])]))
            waiting[bucket] = []


class Pool:
    """Strips of one width, the oldest replaced when it is full."""

    def __init__(self, width, capacity, device):
        self.width, self.capacity, self.device = width, capacity, device
        self.drawn = 0
        shapes = ((HEIGHT, width), (MOST,), (MOST,), (MOST,), (MOST,), (2,))
        kinds = (torch.uint8, torch.int16, torch.int16, torch.float32, torch.float32, torch.int16)
        self.parts = [torch.empty((capacity, *shape), dtype=kind, device=device) for shape, kind in zip(shapes, kinds)]

    def __len__(self):
        return min(self.drawn, self.capacity)

    def add(self, arrays):
        start = self.drawn % self.capacity
        for part, array in zip(self.parts, arrays):
            part[start:start + PARCEL] = torch.from_numpy(array).to(self.device)
        self.drawn += PARCEL

    def batch(self, size):
        """(x, letters and signs of every second column, classes, their number), altered."""
        chosen = torch.randint(len(self), (size,), device=self.device)
        strips, classes, marks, at, widths, counts = (part[chosen] for part in self.parts)
        strips, at, widths, ends = altered(strips.float(), at, widths, counts[:, 1].float())
        letters, signs = places(self.width, classes.long(), marks.long(), at, widths)
        return normalised(strips, ends)[:, None], letters, signs, classes.long(), counts[:, 0].long()


class Drawers:
    def __init__(self, count, seed):
        context = multiprocessing.get_context("fork")
        self.made = context.Queue(8 * count)
        self.processes = [context.Process(target=parcels, args=(seed + i, self.made), daemon=True) for i in range(count)]
        for process in self.processes:
            process.start()

    def deliver(self, pools, most):
        """Moves what is ready, waiting for the first parcel where the pools are nearly empty."""
        for _ in range(most):
            try:
                bucket, arrays = self.made.get(timeout=60) if min(map(len, pools)) < 8 * PARCEL else self.made.get_nowait()
            except queue.Empty:
                return
            pools[bucket].add(arrays)


def between(low, high, like):
    return low + (high - low) * torch.rand(like.shape[0], device=like.device)


def altered(strips, at, widths, length):
    """Other framing, focus, tone, noise and a shadow of other print; also where characters and the strip's ends then are."""
    n, h, w = strips.shape
    device = strips.device
    same = torch.rand(n, device=device) < 0.25
    across = torch.where(same, 1.0, between(0.9, 1.1, strips))
    shift = torch.where(same, 0.0, between(-1.5, 1.5, strips))
    across = torch.minimum(across, (w - 2 * ENDS - 2) / length)
    down = torch.where(same, 1.0, between(0.88, 1.1, strips))
    drop = torch.where(same, 0.0, between(-1.5, 1.5, strips))
    lean = torch.where(same, 0.0, 0.06 * torch.randn(n, device=device))
    x = torch.arange(w, device=device)[None, None] - ENDS - shift[:, None, None]
    y = torch.arange(h, device=device)[None, :, None] - (h - 1) / 2 - drop[:, None, None]
    x = (x - lean[:, None, None] * y) / across[:, None, None] + ENDS
    y = (y / down[:, None, None] + (h - 1) / 2).expand(n, h, w)
    grid = torch.stack((x * (2 / (w - 1)) - 1, y * (2 / (h - 1)) - 1), 3)
    strips = F.grid_sample(strips[:, None], grid, mode="bilinear", padding_mode="border", align_corners=True)
    # Softer, or sharpened as scanners do.
    some = torch.rand(n, device=device)
    amount = torch.where(some < 0.35, between(0, 0.9, strips), torch.where(some < 0.45, between(-0.6, 0, strips), 0.0))[:, None, None, None]
    soft = F.avg_pool2d(F.pad(strips, (1, 1, 1, 1), mode="replicate"), 3, 1)
    strips = strips + amount * (soft - strips)
    # Other print behind, upside down.
    ghost = torch.where(torch.rand(n, device=device) < 0.12, between(0.05, 0.25, strips), 0.0)[:, None, None, None]
    other = strips.roll(1, 0).flip(2, 3)
    strips = strips + ghost * (other - other.amax((2, 3), keepdim=True))
    tone = torch.where(torch.rand(n, device=device) < 0.3, torch.exp(between(-0.4, 0.4, strips)), 1.0)[:, None, None, None]
    strips = 255 * (strips.clamp(0, 255) / 255) ** tone
    grain = torch.where(torch.rand(n, device=device) < 0.4, between(0, 7, strips), 0.0)[:, None, None, None]
    strips = (strips + grain * torch.randn_like(strips)).clamp(0, 255)[:, 0]
    at = torch.where(at == NOWHERE, at, across[:, None] * at + shift[:, None])
    return strips, at, widths * across[:, None], across * length + shift


def normalised(strips, length):
    """`viz_render.normalise` of strips that end at `length`; blank beyond."""
    n, h, w = strips.shape
    x = torch.arange(w, device=strips.device)[None]
    last = (ENDS + length.round().long() - 1).clamp(ENDS, w - 1)[:, None]
    inside = x.clamp(min=ENDS).expand(n, w).minimum(last)
    half = WINDOW // 2

    def window(values):
        values = values.gather(1, inside)[:, None]
        return F.avg_pool1d(F.pad(values, (half, half), mode="replicate"), WINDOW, 1)[:, 0]

    mean, square = window(strips.mean(1)), window((strips * strips).mean(1))
    deviation = (square - mean * mean).clamp(min=0).sqrt() + 4.0
    out = (strips - mean[:, None]) / deviation[:, None]
    return out * ((x >= ENDS) & (x <= last))[:, None]


def places(width, classes, marks, at, widths):
    """The class and mark of every second column: what is shown there, nothing between, not judged at the edges of letters."""
    n = len(at)
    x = torch.arange(width // STRIDE, device=at.device) * STRIDE - ENDS
    away = (x[None, :, None] - at[:, None]).abs() / widths.clamp(min=1)[:, None]
    nearest, which = away.min(2)
    shown = nearest < 0.2
    # The nearest column of each character shows it.
    closest = away.argmin(1)
    is_real = at > NOWHERE / 2
    row = torch.arange(n, device=at.device)[:, None].expand_as(closest)
    shown[row[is_real], closest[is_real]] = True
    which[row[is_real], closest[is_real]] = torch.arange(MOST, device=at.device).expand_as(closest)[is_real]
    letter, sign = classes.gather(1, which), marks.gather(1, which)
    letters = torch.where(shown, letter, torch.where(nearest < 0.38, IGNORE, BLANK))
    signs = torch.where(shown & (letter != SPACE), sign, IGNORE)
    return letters, signs
