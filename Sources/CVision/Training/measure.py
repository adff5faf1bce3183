"""Reads fresh lines of the training's kind, never seen in training. usage: measure.py READER.pt [LINES]"""

import sys

import numpy as np
import torch

from mrz_text import ALPHABET
from reader_data import BLANK, ReaderData, normalise
from reader_net import CLASSES, Reader


def main():
    net = Reader()
    net.load_state_dict(torch.load(sys.argv[1]))
    net.eval()
    torch.set_num_threads(1)
    for level, easy in (("clean geometry, 16 px per character", True), ("everything", False)):
        data, right, total, exact, lines = ReaderData(424_242), 0, 0, 0, int(sys.argv[2]) if len(sys.argv) > 2 else 300
        for _ in range(lines):
            strip, labels, _ = data.sample(24, easy=easy)
            with torch.no_grad():
                answer = net(torch.from_numpy(normalise(strip)[None, None]))[0, :CLASSES].argmax(0).numpy()
            # A character counts as read when most of the columns of its cell say so.
            runs = np.flatnonzero(np.diff(np.concatenate([[BLANK], labels, [BLANK]])) != 0)
            wrong = 0
            for a, b in zip(runs[:-1], runs[1:]):
                if 0 <= labels[a] < len(ALPHABET):
                    total += 1
                    hit = (answer[a:b] == labels[a]).mean() > 0.5
                    right += hit
                    wrong += not hit
            exact += wrong == 0
        print(f"{level}: {right / total:.4f} of characters, {exact / lines:.3f} of lines of 24")


if __name__ == "__main__":
    main()
