// The arithmetic of the descriptor's network, on weights that dlib read.
#pragma once
#include <cstddef>
#include <vector>

namespace cvision {

/// Square images whose pixels have many channels: [sample][row][column][channel], so that neighbours in memory are treated alike.
struct Maps {
    int samples, side, channels;
    std::vector<float> values;

    /// All values are 0.
    Maps(int samples, int side, int channels)
        : samples(samples),
          side(side),
          channels(channels),
          values(static_cast<size_t>(samples) * static_cast<size_t>(side * side * channels)) {}
    /// Where the channels of a pixel begin in `values`.
    size_t place(int sample, int y, int x) const {
        return static_cast<size_t>((sample * this->side + y) * this->side + x) * static_cast<size_t>(this->channels);
    }
    float *at(int sample, int y, int x) { return this->values.data() + this->place(sample, y, x); }
    const float *at(int sample, int y, int x) const { return this->values.data() + this->place(sample, y, x); }
};

/// A convolution with its normalisation folded in: over 3×3 pixels around each pixel, those outside the image being 0, or over a
/// square that moves within the image by `stride` pixels, two or more.
struct Convolution {
    int inputs, outputs, kernel, stride;
    std::vector<float> weights;  // `arranged`
    std::vector<float> biases;

    int side(int input) const { return this->stride == 1 ? input : (input - this->kernel) / this->stride + 1; }
};

/// Whether a layer of these numbers can be computed.
bool is_possible(const Convolution &layer);

/// The weights of `layer` in the order in which they are multiplied; `filters`: [output][input][row][column].
std::vector<float> arranged(const Convolution &layer, const std::vector<float> &filters);

/// The positive part of the convolution of `input`, biases included. `scratch` grows as needed.
Maps convolved(const Maps &input, const Convolution &layer, std::vector<float> &scratch);

/// `sum` becomes the positive part of itself and the convolution of `input`. Rows and columns that it has beyond that stay.
void add_convolved(const Maps &input, const Convolution &layer, Maps &sum, std::vector<float> &scratch);

/// Two convolutions whose result is added to their input. If the first has a stride, the input is halved for the sum.
struct ResidualBlock {
    Convolution first, second;
};

/// A residual network that maps an image to `outputs` numbers: a convolution, a maximum over 3×3 pixels, residual blocks, means
/// over images, and a matrix.
struct ResidualNetwork {
    Convolution entry;
    std::vector<ResidualBlock> blocks;
    std::vector<float> matrix;  // [last block's channel][output]
    int outputs = 0;

    /// `outputs` numbers for each of the images, one after the other.
    std::vector<float> apply(const Maps &images) const;
};

}  // namespace cvision
