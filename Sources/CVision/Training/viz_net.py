"""The text reader: strips of 32 rows to classes for every second column; a letter and its diacritic are answered apart."""

from torch import nn

from reader_net import Layer
from viz_text import CLASSES, MARKS

OUTPUTS = CLASSES + len(MARKS)


class VIZReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            Layer(1, 24, (3, 3), (2, 2)),
            Layer(24, 32, (3, 3)),
            Layer(32, 48, (3, 3), (2, 1)),
            Layer(48, 48, (3, 3), residual=True),
            Layer(48, 64, (3, 3), (2, 1)),
            Layer(64, 128, (4, 3), (1, 1), (0, 1)),
            Layer(128, 128, (1, 5), (1, 1), (0, 2), residual=True),
            Layer(128, 128, (1, 5), (1, 1), (0, 2), residual=True),
        ])
        self.head = nn.Conv2d(128, OUTPUTS, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)[:, :, 0]
