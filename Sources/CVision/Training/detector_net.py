"""The detector: a small encoder-decoder; for every fourth pixel: line of an MRZ or not, reading direction, log pitch."""

import torch
from torch import nn

from reader_net import Layer

OUTPUTS = 4  # logit of the line's core, cosine and sine of the reading direction, log of pitch over 8 pixels


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.second = Layer(1, 16, (3, 3), (2, 2))
        self.quarter = nn.ModuleList([Layer(16, 32, (3, 3), (2, 2)), Layer(32, 32, (3, 3), residual=True)])
        self.eighth = nn.ModuleList([Layer(32, 48, (3, 3), (2, 2)), Layer(48, 48, (3, 3), residual=True)])
        self.sixteenth = nn.ModuleList([
            Layer(48, 64, (3, 3), (2, 2)), Layer(64, 64, (3, 3), residual=True), Layer(64, 64, (3, 3), residual=True)])
        self.from16 = Layer(64, 48, (1, 1), (1, 1), (0, 0))
        self.mix8 = Layer(48, 48, (3, 3), residual=True)
        self.from8 = Layer(48, 32, (1, 1), (1, 1), (0, 0))
        self.mix4 = Layer(32, 32, (3, 3), residual=True)
        self.head = nn.Conv2d(32, OUTPUTS, 1)

    def forward(self, x):
        x = self.second(x)
        for layer in self.quarter:
            x = layer(x)
        four = x
        for layer in self.eighth:
            x = layer(x)
        eight = x
        for layer in self.sixteenth:
            x = layer(x)
        x = nn.functional.interpolate(self.from16(x), scale_factor=2, mode="nearest") + eight
        x = self.mix8(x)
        x = nn.functional.interpolate(self.from8(x), scale_factor=2, mode="nearest") + four
        return self.head(self.mix4(x))
