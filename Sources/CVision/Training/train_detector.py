"""Trains the detector on drawn documents. usage: train_detector.py OUT.pt STEPS [RESUME.pt]"""

import sys
import time

import cv2
import numpy as np
import torch
from torch import multiprocessing as mp
from torch.nn import functional as F

from detector_data import DetectorData, normalise
from detector_net import Detector

BATCH = 8
POOL = 1500


def produce(seed, out):
    cv2.setNumThreads(1)
    data = DetectorData(seed)
    while True:
        samples = [data.sample() for _ in range(BATCH)]
        out.put((np.stack([normalise(s[0]) for s in samples])[:, None].astype(np.float16),
                 np.stack([s[1] for s in samples]).astype(np.float16)))


def loss_of(net, x, y):
    with torch.autocast("cpu", torch.bfloat16):
        out = net(x)
    out = out.float()
    core = F.binary_cross_entropy_with_logits(out[:, :1], y[:, :1], pos_weight=torch.tensor(2.0))
    inside = (y[:, :1] > 0.3).float()
    weight = inside.sum() + 1
    direction = (((out[:, 1:3] - y[:, 1:3]) ** 2) * inside).sum() / weight
    pitch = (F.smooth_l1_loss(out[:, 3:], y[:, 3:], reduction="none") * inside).sum() / weight
    return 4 * core + 0.5 * direction + pitch, out


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = Detector().to(memory_format=torch.channels_last)
    resume = len(sys.argv) > 3
    if resume:
        net.load_state_dict(torch.load(sys.argv[3]))
    q = mp.Queue(6)
    process = mp.Process(target=produce, args=(2000 if resume else 5, q), daemon=True)
    process.start()
    held = DetectorData(999_979)
    test = [held.sample() for _ in range(64)]
    tx = torch.from_numpy(np.stack([normalise(s[0]) for s in test])[:, None])
    ty = torch.from_numpy(np.stack([s[1] for s in test]))
    peak = 2e-3 if resume else 3e-3
    optimiser = torch.optim.AdamW(net.parameters(), lr=peak, weight_decay=1e-3)
    start, step, shown, average = time.time(), 0, time.time(), None
    pool, dice = [], np.random.default_rng(2)
    while (done := step / steps) < 1:
        # Drawing is slower than learning: every sample is used about three times, in different company.
        if len(pool) < 16 * BATCH or step % 3 == 0:
            pool.extend(zip(*q.get()))
            del pool[:-POOL]
        chosen = [pool[i] for i in dice.integers(0, len(pool), BATCH)]
        x, y = (torch.from_numpy(np.stack(part).astype(np.float32)) for part in zip(*chosen))
        for group in optimiser.param_groups:
            group["lr"] = peak * min(1, (step + 1) / 100) * (0.5 + 0.5 * np.cos(np.pi * done))
        net.train()
        optimiser.zero_grad()
        loss, _ = loss_of(net, x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        step += 1
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if time.time() - shown > 60:
            shown = time.time()
            net.eval()
            with torch.no_grad():
                held_loss, out = loss_of(net, tx, ty)
            hit, truth = out[:, 0] > 0, ty[:, 0] > 0.5
            overlap = (hit & truth).sum().item() / max(1, (hit | truth).sum().item())
            turned = ((out[:, 1:3] * ty[:, 1:3]).sum(1) > 0)[truth].float().mean().item()
            torch.save(net.state_dict(), path)
            print(f"{time.time() - start:.0f}s step {step} loss {average:.4f} held-out {held_loss.item():.4f} "
                  f"overlap {overlap:.3f} direction right {turned:.3f}", flush=True)
    torch.save(net.state_dict(), path)
    process.terminate()


if __name__ == "__main__":
    main()
