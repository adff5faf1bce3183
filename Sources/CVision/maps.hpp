// Convolutions of the networks that describe faces and read VIZ text.
#pragma once
#include <cstddef>
#include <vector>

namespace cvision {

/// Images whose pixels have many channels: [sample][row][column][channel], so that neighbours in memory are treated alike.
struct Maps {
    int samples, rows, columns, channels;
    std::vector<float> values;

    /// All values are 0.
    Maps(int samples, int rows, int columns, int channels)
        : samples(samples),
          rows(rows),
          columns(columns),
          channels(channels),
          values(static_cast<size_t>(samples * rows) * static_cast<size_t>(columns * channels)) {}
    /// Where the channels of a pixel begin in `values`.
    size_t place(int sample, int y, int x) const {
        return static_cast<size_t>((sample * this->rows + y) * this->columns + x) * static_cast<size_t>(this->channels);
    }
    float *at(int sample, int y, int x) { return this->values.data() + this->place(sample, y, x); }
    const float *at(int sample, int y, int x) const { return this->values.data() + this->place(sample, y, x); }
};

/// Pixels along each axis.
struct Pixels {
    int y, x;
};

/// A convolution with its normalisation folded in. Pixels outside the image are 0.
struct Convolution {
    int inputs, outputs;
    Pixels kernel, stride, pad;
    bool is_rectified = true;         ///< whether only the positive part of a sum remains
    std::vector<float> weights = {};  ///< `arranged`
    std::vector<float> biases = {};

    int rows(int input) const { return (input + 2 * this->pad.y - this->kernel.y) / this->stride.y + 1; }
    int columns(int input) const { return (input + 2 * this->pad.x - this->kernel.x) / this->stride.x + 1; }
};

constexpr int outputs_multiple = 16;  ///< of which the outputs of each layer are a multiple

/// The weights of `layer` in the order in which they are multiplied; `filters`: [output][input][row][column].
std::vector<float> arranged(const Convolution &layer, const std::vector<float> &filters);

/// The convolution of `input`, biases included. `scratch` grows as needed.
Maps convolved(const Maps &input, const Convolution &layer, std::vector<float> &scratch);

/// Adds the convolution of `input` to `sum`, which is rectified then, as the layer says. `sum` is not `input`, and at least as large as
/// the convolution; rows and columns that it has beyond that stay.
void add_convolved(const Maps &input, const Convolution &layer, Maps &sum, std::vector<float> &scratch);

}  // namespace cvision
