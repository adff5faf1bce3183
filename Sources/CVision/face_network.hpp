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

/// Two convolutions whose result is added to their input. If the first has a stride, the input is halved for the sum.
struct ResidualBlock {
    Convolution first, second;
};

/// A residual network that maps an image to `outputs` numbers: a convolution, a maximum over 3×3 pixels, residual blocks, means
/// over planes, and a matrix.
///
/// Saves 19 % of a pair's processor time [16–24, 10 turns of 24 pairs, AMD EPYC] over dlib's own pass with its normalisations
/// folded in, too, and 9.2 % [7.6–13.3] over OpenCV's network module (Tests/FIGURES.md): dlib copies a product's operands pixel
/// by pixel and sample by sample, and passes over memory once each for sum and threshold. Without this pass we would use dlib's,
/// which reads the model's file: OpenCV would need it in another format.
class ResidualNetwork {
public:
    Convolution entry;
    std::vector<ResidualBlock> blocks;
    std::vector<float> matrix;  // [last block's channel][output]
    int outputs = 0;

    /// `outputs` numbers for each of `samples` images, one sample after the other.
    std::vector<float> apply(Planes images, int samples);

private:
    std::vector<float> columns;  // scratch of convolve

    Planes convolve(const Planes &input, const Convolution &layer, int samples);
    Planes block(const Planes &input, const ResidualBlock &block, int samples);
};

}  // namespace cvision
