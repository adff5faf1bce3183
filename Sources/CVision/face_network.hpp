// The arithmetic of the descriptor's network, on weights that dlib read.
#pragma once
#include <cstddef>
#include <vector>

namespace cvision {

/// Channels of square planes: [channel][sample][row][column], so that one matrix product serves all samples.
struct Planes {
    int channels = 0, side = 0;
    std::vector<float> values;
};

/// A convolution with its normalisation folded in.
struct Convolution {
    int inputs, outputs, kernel, stride, padding;
    std::vector<float> filters;  // [output][input][row][column]
    std::vector<float> biases;

    int side(int input) const { return (input + 2 * padding - kernel) / stride + 1; }
};

/// Two convolutions whose result is added to their input, which is halved before where the first has a stride.
struct ResidualBlock {
    Convolution first, second;
};

/// A residual network from images to `outputs` numbers each: a convolution, a maximum over 3×3 pixels, residual blocks, means
/// over planes, and one matrix.
///
/// With dlib's own pass a pair of faces takes a third more processor time (Tests/FIGURES.md): it copies pixel by pixel what
/// a product needs, for one sample after the other, and goes through memory once for each of normalisation, sum and
/// threshold.
class ResidualNetwork {
public:
    Convolution entry;
    std::vector<ResidualBlock> blocks;
    std::vector<float> matrix;  // [last block's channel][output]
    int outputs = 0;

    /// `outputs` numbers for each of `samples` images, one sample after the other.
    std::vector<float> apply(Planes pictures, int samples);

private:
    std::vector<float> columns;  // scratch of convolve

    Planes convolve(const Planes &input, const Convolution &layer, int samples);
    Planes block(const Planes &input, const ResidualBlock &block, int samples);
};

}  // namespace cvision
