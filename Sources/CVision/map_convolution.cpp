// Convolutions: plainly, or by minimal filtering where it takes fewer products.
#include <algorithm>

#include "cpu.hpp"
#include "map_minimal.hpp"
#include "map_products.hpp"
#include "maps.hpp"

namespace cvision {
namespace {

/// With more channels, the faces' network has so few pixels left that loading the weights takes longest, and tiles take four times as
/// many.
constexpr int most_channels = 128;

enum class Way { plainly, in_rows, in_tiles };

Way way_of(const Convolution &layer) {
    const auto is_centred = [](int kernel, int pad) { return (kernel == 3 || kernel == 5) && pad == kernel / 2; };
    if (layer.stride.x != 1 || layer.inputs % group != 0 || std::max(layer.inputs, layer.outputs) > most_channels ||
        !is_centred(layer.kernel.x, layer.pad.x)) {
        return Way::plainly;
    }
    const bool is_tile = layer.kernel.x == 3 && layer.kernel.y == 3 && layer.pad.y == 1 && layer.stride.y == 1;
    return is_tile ? Way::in_tiles : Way::in_rows;
}

/// `input` with zeros around it.
Maps padded(const Maps &input, Pixels pad) {
    Maps output(input.samples, input.rows + 2 * pad.y, input.columns + 2 * pad.x, input.channels);
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < input.rows; ++y)
            std::copy_n(input.at(sample, y, 0), input.columns * input.channels, output.at(sample, y + pad.y, pad.x));
    }
    return output;
}

/// A layer over an image whose padding is part of it.
template <int Lanes>
[[gnu::always_inline]] inline void convolve_plainly(const Maps &input, const Convolution &layer, bool adds,
                                                    Maps &output) {
    std::vector<Place> places;
    const int rows = (input.rows - layer.kernel.y) / layer.stride.y + 1,
              columns = (input.columns - layer.kernel.x) / layer.stride.x + 1;
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < rows; ++y) {
            for (int x = 0; x < columns; ++x) {
                places.push_back(
                    {input.place(sample, y * layer.stride.y, x * layer.stride.x), output.place(sample, y, x)});
            }
        }
    }
    multiply<Lanes>({input.values.data(), output.values.data(), &places, static_cast<int>(places.size()),
                     layer.kernel.y, layer.kernel.x * layer.inputs, input.columns * layer.inputs, layer.outputs,
                     layer.biases.data(), adds, least_of(layer)},
                    layer.weights.data());
}

template <int Lanes>
[[gnu::always_inline]] inline void convolve(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                            std::vector<float> &scratch) {
    switch (way_of(layer)) {
    case Way::in_tiles: return convolve_tiles<Lanes>(input, layer, adds, output, scratch);
    case Way::in_rows:
        if (layer.kernel.x == 3) return convolve_rows<Lanes, results_of(3)>(input, layer, adds, output, scratch);
        return convolve_rows<Lanes, results_of(5)>(input, layer, adds, output, scratch);
    case Way::plainly: break;
    }
    if (layer.pad.y == 0 && layer.pad.x == 0) return convolve_plainly<Lanes>(input, layer, adds, output);
    convolve_plainly<Lanes>(padded(input, layer.pad), layer, adds, output);
}

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void convolve_by_8(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                               std::vector<float> &scratch) {
    count_wide_run();
    convolve<8>(input, layer, adds, output, scratch);
}
[[gnu::target("avx512f")]] void convolve_by_16(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                               std::vector<float> &scratch) {
    count_wide_run();
    convolve<16>(input, layer, adds, output, scratch);
}
#endif

void convolve_widest(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                     std::vector<float> &scratch) {
#ifdef __x86_64__
    switch (registers()) {
    case Registers::by_16: return convolve_by_16(input, layer, adds, output, scratch);
    case Registers::by_8: return convolve_by_8(input, layer, adds, output, scratch);
    case Registers::by_4: break;
    }
#endif
    convolve<4>(input, layer, adds, output, scratch);
}

/// [group][row][column][input][output of the group]
std::vector<float> arranged_plainly(const Convolution &layer, const std::vector<float> &filters) {
    const int taps = layer.kernel.y * layer.kernel.x, inputs = layer.inputs;
    std::vector<float> weights(static_cast<size_t>(inputs * layer.outputs * taps));
    float *to = weights.data();
    for (int begin = 0; begin < layer.outputs; begin += group) {
        for (int i = 0; i < taps * inputs; ++i) {
            const float *from = filters.data() + static_cast<size_t>((begin * inputs + i % inputs) * taps + i / inputs);
            for (int output = 0; output < group; ++output, from += inputs * taps) *to++ = *from;
        }
    }
    return weights;
}

/// [point][group][row][input][output of the group]
std::vector<float> arranged_in_rows(const Convolution &layer, const std::vector<float> &filters) {
    const int inputs = layer.inputs, rows = layer.kernel.y, columns = layer.kernel.x;
    const int plane = inputs * layer.outputs * rows;
    std::vector<float> weights(static_cast<size_t>(window * plane));
    for (int i = 0; i < plane; ++i) {
        const int input = i / group % inputs, row = i / group / inputs % rows;
        const int output = i / group / inputs / rows * group + i % group;
        float made[window];
        to_weights(filters.data() + static_cast<size_t>(((output * inputs + input) * rows + row) * columns), columns, 1,
                   made);
        for (int k = 0; k < window; ++k) weights[static_cast<size_t>(k * plane + i)] = made[k];
    }
    return weights;
}

/// [point][group][input][output of the group]
std::vector<float> arranged_in_tiles(const Convolution &layer, const std::vector<float> &filters) {
    const int inputs = layer.inputs, plane = inputs * layer.outputs;
    std::vector<float> weights(static_cast<size_t>(points * plane));
    for (int i = 0; i < plane; ++i) {
        const int output = i / group / inputs * group + i % group, input = i / group % inputs;
        const float *filter = filters.data() + static_cast<size_t>((output * inputs + input) * 9);
        float columns[3][window], row[window];
        for (int x = 0; x < 3; ++x) to_weights(filter + x, 3, 3, columns[x]);
        for (int y = 0; y < window; ++y) {
            to_weights(columns[0] + y, 3, window, row);
            for (int x = 0; x < window; ++x) weights[static_cast<size_t>((y * window + x) * plane + i)] = row[x];
        }
    }
    return weights;
}

}  // namespace

std::vector<float> arranged(const Convolution &layer, const std::vector<float> &filters) {
    switch (way_of(layer)) {
    case Way::in_tiles: return arranged_in_tiles(layer, filters);
    case Way::in_rows: return arranged_in_rows(layer, filters);
    case Way::plainly: break;
    }
    return arranged_plainly(layer, filters);
}

Maps convolved(const Maps &input, const Convolution &layer, std::vector<float> &scratch) {
    Maps output(input.samples, layer.rows(input.rows), layer.columns(input.columns), layer.outputs);
    convolve_widest(input, layer, false, output, scratch);
    return output;
}

void add_convolved(const Maps &input, const Convolution &layer, Maps &sum, std::vector<float> &scratch) {
    convolve_widest(input, layer, true, sum, scratch);
}

}  // namespace cvision
