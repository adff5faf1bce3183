"""Trains the line reader on drawn lines. usage: train_reader.py OUT.pt STEPS [RESUME.pt]"""

import queue
import sys
import time

import cv2
import numpy as np
import torch
from torch import multiprocessing as mp
from torch.nn import functional as F

from reader_data import IGNORE, ReaderData, normalise
from reader_net import CLASSES, Reader

BATCH = 32
CELLS = 20
POOL = 4096


def produce(seed, out, easy_batches):
    cv2.setNumThreads(1)
    data = ReaderData(seed)
    count = 0
    while True:
        samples = [data.sample(CELLS, easy=count < easy_batches) for _ in range(BATCH)]
        count += 1
        out.put((
            np.stack([normalise(s[0]) for s in samples])[:, None],
            np.stack([s[1] for s in samples]),
            np.stack([s[2] for s in samples]),
        ))


def loss_of(net, x, y, g):
    with torch.autocast("cpu", torch.bfloat16):
        out = net(x)
    out = out.float()
    weights = torch.ones(CLASSES)
    weights[-1] = 0.5
    char = F.cross_entropy(out[:, :CLASSES], y, weights, ignore_index=IGNORE)
    shape = (F.smooth_l1_loss(out[:, CLASSES:], g[:, :3], reduction="none") * g[:, 3:]).mean()
    return char + 0.5 * shape, out


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = Reader().to(memory_format=torch.channels_last)
    resume = len(sys.argv) > 3
    if resume:
        net.load_state_dict(torch.load(sys.argv[3]))
    # One process draws, so that the order of the samples is always the same.
    q = mp.Queue(6)
    process = mp.Process(target=produce, args=(1000 if resume else 1, q, 0 if resume else 60), daemon=True)
    process.start()
    held = ReaderData(999_983)
    test = [held.sample(CELLS) for _ in range(256)]
    tx = torch.from_numpy(np.stack([normalise(s[0]) for s in test])[:, None])
    ty = torch.from_numpy(np.stack([s[1] for s in test]))
    tg = torch.from_numpy(np.stack([s[2] for s in test]))

    peak = 2e-3 if resume else 3e-3
    optimiser = torch.optim.AdamW(net.parameters(), lr=peak, weight_decay=1e-3)
    start, step, shown = time.time(), 0, time.time()
    average, waited = None, 0.0
    pool, dice = [], np.random.default_rng(2)
    while (done := step / steps) < 1:
        # Drawing is slower than learning: every sample is used about three times, in different company.
        if len(pool) < 16 * BATCH or step % 3 == 0:
            t = time.time()
            pool.extend(zip(*q.get()))
            waited += time.time() - t
            del pool[:-POOL]
        chosen = [pool[i] for i in dice.integers(0, len(pool), BATCH)]
        x, y, g = (np.stack(part) for part in zip(*chosen))
        rate = peak * min(1, (step + 1) / 100) * (0.5 + 0.5 * np.cos(np.pi * done))
        for group in optimiser.param_groups:
            group["lr"] = rate
        net.train()
        optimiser.zero_grad()
        loss, _ = loss_of(net, *map(torch.from_numpy, (x, y, g)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        step += 1
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if time.time() - shown > 60:
            shown = time.time()
            net.eval()
            with torch.no_grad():
                held_loss, out = loss_of(net, tx, ty, tg)
            mask = (ty >= 0) & (ty < CLASSES - 1)
            right = (out[:, :CLASSES].argmax(1) == ty)[mask].float().mean().item()
            torch.save(net.state_dict(), path)
            print(f"{time.time() - start:.0f}s step {step} loss {average:.4f} held-out {held_loss.item():.4f} "
                  f"columns right {right:.4f} waited {waited:.0f}s", flush=True)
    torch.save(net.state_dict(), path)
    process.terminate()


if __name__ == "__main__":
    main()
