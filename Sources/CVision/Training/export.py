"""Writes trained networks in the format that the C++ code reads. usage: export.py reader|detector|text IN.pt OUT.bin

Format, little-endian: "MRZW", u32 version 1, u32 number of convolutions; per convolution eight u32 (outputs, inputs,
kernel rows and columns, strides y and x, paddings y and x), the weights as float16 and the biases as float32. Batch
normalisation is folded in. The order is that of the modules in the network's class.
"""

import struct
import sys

import numpy as np
import torch

from detector_net import Detector
from reader_net import Layer, Reader
from viz_net import VIZReader


def folded(module):
    if isinstance(module, Layer):
        gain = module.norm.weight / torch.sqrt(module.norm.running_var + module.norm.eps)
        return module.conv, module.conv.weight * gain[:, None, None, None], module.norm.bias - module.norm.running_mean * gain
    return module, module.weight, module.bias


def main():
    kind, source, target = sys.argv[1:]
    net = {"reader": Reader, "detector": Detector, "text": VIZReader}[kind]()
    net.load_state_dict(torch.load(source))
    convolutions = [m for m in net.modules() if isinstance(m, Layer)] + [net.head]
    with open(target, "wb") as out, torch.no_grad():
        out.write(b"MRZW" + struct.pack("<2I", 1, len(convolutions)))
        for module in convolutions:
            conv, weight, bias = folded(module)
            out.write(struct.pack("<8I", *weight.shape, *conv.stride, *conv.padding))
            out.write(weight.numpy().astype("<f2").tobytes())
            out.write(bias.numpy().astype("<f4").tobytes())


if __name__ == "__main__":
    main()
