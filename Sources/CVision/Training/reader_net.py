"""The line reader: convolutions only, one prediction for every fourth column of a strip of 32 rows."""

import torch
from torch import nn

from mrz_text import ALPHABET

CLASSES = len(ALPHABET) + 1  # and the blank between and beside characters
GEOMETRY = 3  # offset of the line's centre / 8, log of height over nominal, log of pitch over nominal


class Layer(nn.Module):
    """Convolution, batch normalisation (folded into the convolution when exported), ReLU."""

    def __init__(self, a, b, kernel, stride=(1, 1), padding=(1, 1), residual=False):
        super().__init__()
        self.conv = nn.Conv2d(a, b, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(b)
        self.residual = residual

    def forward(self, x):
        y = self.norm(self.conv(x))
        return torch.relu(x + y if self.residual else y)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            Layer(1, 16, (3, 3)),
            Layer(16, 32, (3, 3), (2, 2)),
            Layer(32, 32, (3, 3), residual=True),
            Layer(32, 64, (3, 3), (2, 2)),
            Layer(64, 64, (3, 3), residual=True),
            Layer(64, 96, (3, 3), (2, 1)),
            Layer(96, 128, (4, 3), (1, 1), (0, 1)),
            Layer(128, 128, (1, 5), (1, 1), (0, 2), residual=True),
            Layer(128, 128, (1, 5), (1, 1), (0, 2), residual=True),
        ])
        self.head = nn.Conv2d(128, CLASSES + GEOMETRY, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)[:, :, 0]
