#include "face_network.hpp"

#include <cblas.h>

#include <algorithm>

namespace cvision {

namespace {

/// Numbers of a product's right side that are gathered at a time: a megabyte, which stays in a core's own cache.
constexpr int block_size = 1 << 18;

/// One line of the values that a filter's point reads: `count` values, `stride` apart, from pixel `offset` of the row; 0 outside.
void lay_out(const float *row, int side, int offset, int stride, float *line, int count) {
    if (row == nullptr) {
        std::fill_n(line, count, 0.0f);
        return;
    }
    if (stride == 1) {
        // At most a pixel at each end is outside: short loops, since lines are too short for calls.
        const int first = std::min(count, std::max(0, -offset)), last = std::clamp(side - offset, first, count);
        int i = 0;
        for (; i < first; ++i) line[i] = 0;
        for (; i < last; ++i) line[i] = row[offset + i];
        for (; i < count; ++i) line[i] = 0;
        return;
    }
    const int first = std::min(count, offset < 0 ? (-offset + stride - 1) / stride : 0);
    const int last = std::clamp((side - offset + stride - 1) / stride, first, count);
    std::fill_n(line, first, 0.0f);
    for (int i = first; i < last; ++i) line[i] = row[offset + i * stride];
    std::fill_n(line + last, count - last, 0.0f);
}

/// Adds its bias to each channel and sets negative values to 0.
void rectify(Planes &planes, const std::vector<float> &biases) {
    const size_t size = planes.values.size() / static_cast<size_t>(planes.channels);
    for (int channel = 0; channel < planes.channels; ++channel) {
        float *values = planes.values.data() + size * static_cast<size_t>(channel);
        const float bias = biases[static_cast<size_t>(channel)];
        for (size_t i = 0; i < size; ++i) values[i] = std::max(0.0f, values[i] + bias);
    }
}

/// The maximum over 3×3 pixels, or the mean over 2×2, at every second pixel.
template <int Window, typename Fold>
Planes pooled(const Planes &input, int samples, Fold fold) {
    Planes output{input.channels, (input.side - Window) / 2 + 1, {}};
    output.values.reserve(static_cast<size_t>(output.channels * samples * output.side * output.side));
    for (int plane = 0; plane < input.channels * samples; ++plane) {
        const float *from = input.values.data() + static_cast<size_t>(plane * input.side * input.side);
        for (int y = 0; y < output.side; ++y) {
            for (int x = 0; x < output.side; ++x) {
                const float *corner = from + 2 * y * input.side + 2 * x;
                float value = corner[0];
                for (int i = 1; i < Window * Window; ++i)
                    value = fold(value, corner[i / Window * input.side + i % Window]);
                output.values.push_back(value);
            }
        }
    }
    return output;
}

}  // namespace

Planes ResidualNetwork::convolve(const Planes &input, const Convolution &layer, int samples) {
    const int side = layer.side(input.side), depth = layer.inputs * layer.kernel * layer.kernel;
    const int lines = samples * side, width = lines * side;
    Planes output{layer.outputs, side, std::vector<float>(static_cast<size_t>(layer.outputs * width))};
    const int step = std::clamp(block_size / (depth * side), 1, lines);
    this->columns.resize(static_cast<size_t>(depth * step * side));
    for (int start = 0; start < lines; start += step) {
        const int count = std::min(step, lines - start), across = count * side;
        float *line = this->columns.data();
        for (int row = 0; row < depth; ++row) {
            const int channel = row / (layer.kernel * layer.kernel), in_y = row / layer.kernel % layer.kernel;
            const int offset = row % layer.kernel - layer.padding;
            // Counted, not divided: most lines are shorter than two divisions take.
            int sample = start / side, out_y = start % side;
            for (int i = 0; i < count; ++i, line += side) {
                const int y = out_y * layer.stride + in_y - layer.padding;
                const int plane = channel * samples + sample;
                const float *from =
                    y < 0 || y >= input.side ? nullptr : input.values.data() + (plane * input.side + y) * input.side;
                lay_out(from, input.side, offset, layer.stride, line, side);
                if (++out_y == side) out_y = 0, ++sample;
            }
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, layer.outputs, across, depth, 1, layer.filters.data(),
                    depth, this->columns.data(), across, 0, output.values.data() + start * side, width);
    }
    return output;
}

Planes ResidualNetwork::block(const Planes &input, const ResidualBlock &block, int samples) {
    Planes inner = this->convolve(input, block.first, samples);
    rectify(inner, block.first.biases);
    inner = this->convolve(inner, block.second, samples);
    const bool halves = block.first.stride != 1;
    Planes halved;
    if (halves) halved = pooled<2>(input, samples, [](float sum, float value) { return sum + value; });
    const Planes &shortcut = halves ? halved : input;
    const float share = halves ? 0.25f : 1.0f;
    // Channels and pixels that only one of the two has count as 0 in the other (dlib, add_prev).
    Planes sum{inner.channels, std::max(inner.side, shortcut.side), {}};
    sum.values.assign(static_cast<size_t>(sum.channels * samples * sum.side * sum.side), 0.0f);
    for (int plane = 0; plane < sum.channels * samples; ++plane) {
        const float bias = block.second.biases[static_cast<size_t>(plane / samples)];
        for (int y = 0; y < sum.side; ++y) {
            float *to = sum.values.data() + (plane * sum.side + y) * sum.side;
            if (y < inner.side) {
                const float *from = inner.values.data() + (plane * inner.side + y) * inner.side;
                for (int x = 0; x < inner.side; ++x) to[x] = from[x] + bias;
            }
            if (plane < shortcut.channels * samples && y < shortcut.side) {
                const float *from = shortcut.values.data() + (plane * shortcut.side + y) * shortcut.side;
                for (int x = 0; x < shortcut.side; ++x) to[x] += share * from[x];
            }
            for (int x = 0; x < sum.side; ++x) to[x] = std::max(0.0f, to[x]);
        }
    }
    return sum;
}

std::vector<float> ResidualNetwork::apply(Planes planes, int samples) {
    planes = this->convolve(planes, this->entry, samples);
    rectify(planes, this->entry.biases);
    planes = pooled<3>(planes, samples, [](float most, float value) { return std::max(most, value); });
    for (const ResidualBlock &block : this->blocks) planes = this->block(planes, block, samples);
    // Memory kept in the warm parent would be copied by each fork that writes to it.
    std::vector<float>().swap(this->columns);
    std::vector<float> result(static_cast<size_t>(samples * this->outputs), 0.0f);
    const int area = planes.side * planes.side;
    for (int channel = 0; channel < planes.channels; ++channel) {
        for (int sample = 0; sample < samples; ++sample) {
            const float *values = planes.values.data() + (channel * samples + sample) * area;
            float mean = 0;
            for (int i = 0; i < area; ++i) mean += values[i] / static_cast<float>(area);
            for (int k = 0; k < this->outputs; ++k) {
                result[static_cast<size_t>(sample * this->outputs + k)] +=
                    mean * this->matrix[static_cast<size_t>(channel * this->outputs + k)];
            }
        }
    }
    return result;
}

}  // namespace cvision
