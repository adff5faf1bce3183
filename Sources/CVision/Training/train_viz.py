"""Trains the text reader on drawn lines. usage: train_viz.py WORK.pt STEPS

WORK.pt holds the state of training, and beside it WORK.net.pt the averaged network to export; a training that was interrupted
goes on from there. One process draws and learns.
"""

import os
import sys
import time

import cv2
import numpy as np
import torch
from torch.nn import functional as F

from viz_net import VIZReader
from viz_render import ENDS, HEIGHT, STRIDE, UNSEEN, VIZData, normalise
from viz_text import BASES, BLANK, CLASSES, written

BUCKETS = ((176, 32), (384, 16))  # columns of a strip with its ends, strips of a batch
POOL, FRESH = 2500, 12  # samples kept for each bucket; drawn anew for each step: each is used about twice
PEAK, WARM, ALONE = 2.5e-3, 200, 1200  # rate; steps until it; steps with known places only
IGNORE = -1


def places(width, classes, marks, at, widths):
    """The class and mark of every second column: what is shown there, nothing between, not judged at the edges of letters."""
    count = width // STRIDE
    x = np.arange(count) * STRIDE - ENDS
    letters = np.full(count, BLANK, np.int64)
    signs = np.full(count, IGNORE, np.int64)
    away = np.abs(x[None] - at[:, None]) / np.maximum(widths, 1)[:, None]
    letters[(away < 0.38).any(0)] = IGNORE
    for i in range(len(at)):
        near = away[i] < 0.2
        near[int(np.argmin(away[i]))] = True
        letters[near] = classes[i]
        signs[near] = marks[i] if classes[i] != BASES.index(" ") else IGNORE
    return letters, signs


def prepared(sample, width):
    strip, labels, at, widths, line = sample
    x = np.zeros((1, HEIGHT, width), np.float32)
    x[0, :, ENDS:ENDS + strip.shape[1]] = normalise(strip)
    return (x, *places(width, labels[:, 0], labels[:, 1], at, widths), labels[:, 0], line)


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
    from viz_text import labels
    return "".join(written(*label) for label in labels(line))


def measure(net, samples):
    exact = wrong = total = 0
    net.eval()
    with torch.no_grad():
        for sample in samples:
            width = -(-(sample[0].shape[1] + 2 * ENDS) // 4) * 4
            line, _ = decode(net(torch.from_numpy(prepared(sample, width)[0][None])))[0]
            truth = readable(sample[4])
            exact += line == truth
            wrong += distance(line, truth)
            total += len(truth)
    return exact / len(samples), wrong / total


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    net, mean = (VIZReader().to(memory_format=torch.channels_last) for _ in range(2))
    optimiser = torch.optim.AdamW(net.parameters(), lr=PEAK, weight_decay=1e-3)
    step = 0
    if os.path.exists(path):
        state = torch.load(path)
        step = state["step"]
        net.load_state_dict(state["net"])
        mean.load_state_dict(state["mean"])
        optimiser.load_state_dict(state["optimiser"])
    else:
        mean.load_state_dict(net.state_dict())
    data = VIZData(1 + step)
    seen, unseen = VIZData(999_983), VIZData(999_979, UNSEEN)
    held = [seen.sample() for _ in range(200)], [unseen.sample() for _ in range(200)]
    pools, drawn, dice = [[], []], [1, 1], np.random.default_rng(2 + step)
    start, shown, averages = time.time(), time.time(), np.zeros(3)
    while step < steps:
        for _ in range(FRESH if min(map(len, pools)) >= 200 else 600):
            sample = data.sample(easy=step < 200)
            need = sample[0].shape[1] + 2 * ENDS
            bucket = next((i for i, (width, _) in enumerate(BUCKETS) if need <= width), None)
            if bucket is not None:
                pools[bucket].append(prepared(sample, BUCKETS[bucket][0]))
                drawn[bucket] += 1
                del pools[bucket][:-POOL]
        shares = [count / size for count, (_, size) in zip(drawn, BUCKETS)]
        bucket = int(dice.random() > shares[0] / sum(shares))
        chosen = [pools[bucket][i] for i in dice.integers(0, len(pools[bucket]), BUCKETS[bucket][1])]
        x, letters, signs = (torch.from_numpy(np.stack([c[i] for c in chosen])) for i in range(3))
        rate = float(PEAK * min(1, (step + 1) / WARM) * (0.5 + 0.5 * np.cos(np.pi * step / steps)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        net.train()
        optimiser.zero_grad()
        out = net(x.to(memory_format=torch.channels_last))
        placed = F.cross_entropy(out[:, :CLASSES], letters, ignore_index=IGNORE)
        marked = F.cross_entropy(out[:, CLASSES:], signs, ignore_index=IGNORE)
        if step < ALONE:
            loss, ordered = placed + marked, torch.zeros(())
        else:
            lengths = torch.tensor([len(c[3]) for c in chosen])
            ordered = F.ctc_loss(out[:, :CLASSES].permute(2, 0, 1).log_softmax(2), torch.from_numpy(np.concatenate([c[3] for c in chosen])),
                                 torch.full((len(chosen),), out.shape[2]), lengths, BLANK, "none", zero_infinity=True)
            ordered = (ordered / lengths).mean()
            loss = ordered + 0.5 * placed + marked
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        step += 1
        keep = min(0.998, (1 + step) / (10 + step))
        with torch.no_grad():
            for a, b in zip(mean.state_dict().values(), net.state_dict().values()):
                a.mul_(keep).add_(b, alpha=1 - keep) if a.dtype.is_floating_point else a.copy_(b)
        parts = np.array([placed.item(), ordered.item(), marked.item()])
        averages = parts if averages.sum() == 0 else 0.98 * averages + 0.02 * parts
        if time.time() - shown > 150 or step == steps:
            shown = time.time()
            torch.save({"step": step, "net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict()}, path + ".new")
            os.replace(path + ".new", path)
            torch.save(mean.state_dict(), path.removesuffix(".pt") + ".net.pt")
            rates = [measure(mean, samples) for samples in held]
            print(f"{time.time() - start:.0f}s step {step} places {averages[0]:.3f} order {averages[1]:.3f} marks {averages[2]:.4f} "
                  + " ".join(f"{name}: lines {exact:.3f} characters wrong {wrong:.3f}" for name, (exact, wrong) in zip(("seen", "unseen"), rates)),
                  flush=True)


if __name__ == "__main__":
    main()
