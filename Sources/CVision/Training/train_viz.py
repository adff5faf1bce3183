"""Trains the text reader on drawn lines. usage: train_viz.py WORK.pt MINUTES

WORK.pt holds the state of training, and beside it WORK.net.pt the averaged network to export; a training that was interrupted
goes on from there. All processors but one draw; a GPU learns where torch finds one.
"""

import os
import sys
import time

import cv2
import numpy as np
import torch
from torch.nn import functional as F

from viz_net import VIZReader
from viz_pool import IGNORE, Drawers, Pool, WIDTHS
from viz_render import ENDS, HEIGHT, UNSEEN, VIZData, normalise
from viz_text import BLANK, CLASSES, labels, written

WARM, ALONE = 300, 1000  # steps until the full rate; steps with known places only
LINES = 300  # drawn ones of each set that measure progress


class Device:
    """How much is learnt at once, and how many drawn lines are kept: what the memory holds."""

    def __init__(self):
        is_gpu = torch.cuda.is_available()
        self.name = "cuda" if is_gpu else "cpu"
        self.batch = (640, 384) if is_gpu else (32, 16)
        self.kept = (600_000, 1_000_000) if is_gpu else (20_000, 20_000)
        self.least = 4_000 if is_gpu else 256
        self.peak = 4e-3 if is_gpu else 2.5e-3
        self.half = torch.autocast("cuda", torch.bfloat16, enabled=is_gpu)


def decode(out):
    """Lines and the least confidence of each, by the best class of every column."""
    letters = out[:, :CLASSES].softmax(1)
    signs = out[:, CLASSES:].softmax(1)
    found = []
    for probability, sign in zip(letters.numpy(), signs.numpy()):
        best = probability.argmax(0)
        line, last, sure = [], BLANK, 1.0
        for i, b in enumerate(best):
            if b != BLANK and b != last:
                end = i
                while end + 1 < len(best) and best[end + 1] == b:
                    end += 1
                at = i + int(probability[b, i:end + 1].argmax())
                mark = int(sign[:, at].argmax())
                letter = written(int(b), mark)
                sure = min(sure, probability[b, at] * (sign[mark, at] if letter else 0.5))
                line.append(letter or written(int(b), 0))
            last = b
        found.append(("".join(line).strip(), float(sure)))
    return found


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def readable(line):
    """The line as the reader should give it."""
    return "".join(written(*label) for label in labels(line))


def measure(net, samples, device):
    """Shares of lines that are exact and of characters that are wrong."""
    exact = wrong = total = 0
    net.eval()
    with torch.no_grad():
        for strip, *_, line in samples:
            x = np.zeros((1, 1, HEIGHT, -(-(strip.shape[1] + 2 * ENDS) // 4) * 4), np.float32)
            x[0, 0, :, ENDS:ENDS + strip.shape[1]] = normalise(strip)
            found, _ = decode(net(torch.from_numpy(x).to(device)).float().cpu())[0]
            truth = readable(line)
            exact += found == truth
            wrong += distance(found, truth)
            total += len(truth)
    return exact / len(samples), wrong / total


def losses(out, batch, step):
    """Of the known places, of the order of characters, of diacritics."""
    _, letters, signs, classes, counts = batch
    out = out.float()
    placed = F.cross_entropy(out[:, :CLASSES], letters, ignore_index=IGNORE)
    marked = F.cross_entropy(out[:, CLASSES:], signs, ignore_index=IGNORE)
    if step < ALONE:
        return placed, torch.zeros_like(placed), marked
    columns = torch.full_like(counts, out.shape[2])
    shares = out[:, :CLASSES].permute(2, 0, 1).log_softmax(2)
    ordered = F.ctc_loss(shares, classes, columns, counts, BLANK, "none", zero_infinity=True)
    return placed, (ordered / counts).mean(), marked


def save(path, net, mean, optimiser, step, done):
    state = {"step": step, "seconds": done, "net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)
    torch.save({name: value.cpu() for name, value in mean.state_dict().items()}, path.removesuffix(".pt") + ".net.pt")


def main():
    path, whole = sys.argv[1], 60 * float(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    state = torch.load(path, map_location="cpu") if os.path.exists(path) else None
    step, before = (state["step"], state["seconds"]) if state else (0, 0.0)
    drawers = Drawers(max(1, os.cpu_count() - 1), 1 + 1000 * step)
    device = Device()
    net, mean = (VIZReader().to(device.name, memory_format=torch.channels_last) for _ in range(2))
    optimiser = torch.optim.AdamW(net.parameters(), lr=device.peak, weight_decay=1e-3)
    if state:
        net.load_state_dict(state["net"])
        mean.load_state_dict(state["mean"])
        optimiser.load_state_dict(state["optimiser"])
    else:
        mean.load_state_dict(net.state_dict())
    own, averaged = ([v for v in n.state_dict().values() if v.dtype.is_floating_point] for n in (net, mean))
    seen, unseen = VIZData(999_983), VIZData(999_979, UNSEEN)
    held = [seen.sample() for _ in range(LINES)], [unseen.sample() for _ in range(LINES)]
    pools = [Pool(width, kept, device.name) for width, kept in zip(WIDTHS, device.kept)]
    while min(map(len, pools)) < device.least:
        drawers.deliver(pools, 1)
    dice, start, shown, averages = np.random.default_rng(2 + step), time.time(), time.time(), torch.zeros(3, device=device.name)
    while (done := before + time.time() - start) < whole:
        drawers.deliver(pools, 8)
        shares = [pool.drawn / size for pool, size in zip(pools, device.batch)]
        bucket = int(dice.random() > shares[0] / sum(shares))
        batch = pools[bucket].batch(device.batch[bucket])
        for group in optimiser.param_groups:
            group["lr"] = float(device.peak * min(1, (step + 1) / WARM) * (0.5 + 0.5 * np.cos(np.pi * done / whole)))
        net.train()
        optimiser.zero_grad()
        with device.half:
            out = net(batch[0].to(memory_format=torch.channels_last))
        parts = losses(out, batch, step)
        (0.5 * parts[0] + parts[1] + parts[2] if step >= ALONE else parts[0] + parts[2]).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            torch._foreach_lerp_(averaged, own, 1 - min(0.999, (1 + step) / (10 + step)))
            averages = 0.98 * averages + 0.02 * torch.stack(parts) if step > 1 else torch.stack(parts)
        if time.time() - shown > 75:
            shown = report(path, net, mean, optimiser, step, before + time.time() - start, averages, held, pools, device)
    report(path, net, mean, optimiser, step, before + time.time() - start, averages, held, pools, device)


def report(path, net, mean, optimiser, step, done, averages, held, pools, device):
    save(path, net, mean, optimiser, step, done)
    rates = [measure(mean, samples, device.name) for samples in held]
    print(f"{done:.0f}s step {step} drawn {sum(pool.drawn for pool in pools)} "
          + "places {:.3f} order {:.3f} marks {:.4f} ".format(*averages.tolist())
          + " ".join(f"{name}: lines {exact:.3f} characters wrong {wrong:.3f}"
                     for name, (exact, wrong) in zip(("seen", "unseen"), rates)),
          flush=True)
    return time.time()


if __name__ == "__main__":
    main()
