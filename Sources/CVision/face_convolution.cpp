// The convolutions of the descriptor's network. Those over 3×3 neighbours by Winograd's minimal filtering (Lavin and Gray,
// arXiv:1509.09308, F(4×4, 3×3)): sixteen results of a channel take 36 products with each input instead of 144.
#include <algorithm>

#include "cpu.hpp"
#include "face_network.hpp"

namespace cvision {
namespace {

constexpr int group = 16;                // outputs whose weights lie side by side
constexpr int tile = 4;                  // results along a side of a tile
constexpr int window = tile + 2;         // pixels along a side that they depend on
constexpr int points = window * window;  // products of a tile for each input and output
/// With more channels, so few pixels are left that loading the weights takes longest, and a tile takes four times as many.
constexpr int most_channels = 128;
/// Tiles times channels that are computed at a time: what they become stays in a core's own cache.
constexpr int most_tiled = 2304;

/// A register of `Lanes` numbers, and as many numbers of an array, which may begin anywhere.
template <int Lanes>
struct Register {
    using Type [[gnu::vector_size(Lanes * sizeof(float))]] = float;
    using Stored [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
};
template <int Lanes>
using Vector = typename Register<Lanes>::Type;

/// The numbers from `at` on. A reference, since how a function returns a vector depends on the registers.
template <int Lanes>
[[gnu::always_inline]] inline auto &vector(const float *at) {
    return *reinterpret_cast<const typename Register<Lanes>::Stored *>(at);
}
template <int Lanes>
[[gnu::always_inline]] inline auto &vector(float *at) {
    return *reinterpret_cast<typename Register<Lanes>::Stored *>(at);
}

/// Pixels whose sums are computed together.
template <int Lanes>
constexpr int pixels_of = 8 / std::min(2, group / Lanes);

/// Where the inputs of a pixel begin, and its results.
struct Place {
    size_t from, to;
};

/// Sums of products of pixels' inputs with the weights of each output.
struct Product {
    const float *inputs;
    float *results;
    const std::vector<Place> *places;
    int count;         // of places that are used
    int rows, length;  // a pixel's inputs: `rows` times `length` adjacent numbers
    int pitch;         // from one such row to the next
    int outputs;
    const float *biases;  // null: the sums alone are the results; otherwise their positive part, biases included,
    bool adds;            // and former results as well
};

/// Some pixels from `first` on by some of a group's outputs. Eight sums stay in registers: as many multiplications and additions as
/// processors have under way.
template <int Lanes>
[[gnu::always_inline]] inline void multiply(const Product &p, const float *weights, int first, int output) {
    constexpr int vectors = std::min(2, group / Lanes), pixels = pixels_of<Lanes>;
    const Place *const places = p.places->data() + first;
    const int used = std::min(pixels, p.count - first);
    const float *at[pixels];
    for (int i = 0; i < pixels; ++i) at[i] = p.inputs + places[std::min(i, used - 1)].from;
    Vector<Lanes> sums[pixels][vectors] = {};
    for (int row = 0; row < p.rows; ++row) {
        for (int k = 0; k < p.length; ++k, weights += group) {
            Vector<Lanes> w[vectors];
            for (int v = 0; v < vectors; ++v) w[v] = vector<Lanes>(weights + v * Lanes);
            for (int i = 0; i < pixels; ++i) {
                for (int v = 0; v < vectors; ++v) sums[i][v] += at[i][k] * w[v];
            }
        }
        for (int i = 0; i < pixels; ++i) at[i] += p.pitch;
    }
    for (int i = 0; i < pixels; ++i) {
        for (int v = 0; v < vectors && i < used; ++v) {
            float *const to = p.results + places[i].to + output + v * Lanes;
            Vector<Lanes> sum = sums[i][v];
            if (p.biases != nullptr) {
                sum += vector<Lanes>(p.biases + output + v * Lanes);
                if (p.adds) sum += vector<Lanes>(to);
                sum = sum > 0 ? sum : Vector<Lanes>{};
            }
            vector<Lanes>(to) = sum;
        }
    }
}

/// All pixels by all outputs; the weights of a few outputs are used for all pixels before the next ones'.
template <int Lanes>
[[gnu::always_inline]] inline void multiply(const Product &p, const float *weights) {
    for (int output = 0; output < p.outputs; output += std::min(2 * Lanes, group)) {
        const float *own = weights + static_cast<size_t>(output / group * p.rows * p.length) * group + output % group;
        for (int first = 0; first < p.count; first += pixels_of<Lanes>) multiply<Lanes>(p, own, first, output);
    }
}

/// `input` with a pixel of zeros at each side.
Maps padded(const Maps &input) {
    Maps output(input.samples, input.side + 2, input.channels);
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < input.side; ++y)
            std::copy_n(input.at(sample, y, 0), input.side * input.channels, output.at(sample, y + 1, 1));
    }
    return output;
}

template <int Lanes>
[[gnu::always_inline]] inline void convolve_plainly(const Maps &input, const Convolution &layer, bool adds,
                                                    Maps &output) {
    std::vector<Place> places;
    const int side = (input.side - layer.kernel) / layer.stride + 1;
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < side; ++y) {
            for (int x = 0; x < side; ++x)
                places.push_back({input.place(sample, y * layer.stride, x * layer.stride), output.place(sample, y, x)});
        }
    }
    const Product product{
        input.values.data(),         output.values.data(),      &places,       int(places.size()),  layer.kernel,
        layer.kernel * layer.inputs, input.side * layer.inputs, layer.outputs, layer.biases.data(), adds};
    multiply<Lanes>(product, layer.weights.data());
}

/// Six numbers of a window's row or column as the factors of a tile's products along it.
template <int Lanes>
[[gnu::always_inline]] inline void to_factors(const Vector<Lanes> *d, Vector<Lanes> *to) {
    const Vector<Lanes> even = d[4] - 4.0f * d[2], odd = d[3] - 4.0f * d[1];
    const Vector<Lanes> outer = d[4] - d[2], inner = 2.0f * (d[3] - d[1]);
    to[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = outer + inner;
    to[4] = outer - inner;
    to[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
}

/// Six products along a row or column as its four results.
template <int Lanes>
[[gnu::always_inline]] inline void to_results(const Vector<Lanes> *m, Vector<Lanes> *to) {
    const Vector<Lanes> sum = m[1] + m[2], difference = m[1] - m[2];
    const Vector<Lanes> further_sum = m[3] + m[4], further_difference = m[3] - m[4];
    to[0] = m[0] + sum + further_sum;
    to[1] = difference + 2.0f * further_difference;
    to[2] = sum + 4.0f * further_sum;
    to[3] = difference + 8.0f * further_difference + m[5];
}

/// Where a tile begins.
struct Tile {
    int sample, y, x;
};

/// A tile's window as factors, those of each point `plane` after those of the one before. Pixels outside the image are `blank`.
template <int Lanes>
[[gnu::always_inline]] inline void spread(const Maps &input, Tile at, const float *blank, float *factors,
                                          size_t plane) {
    const float *inputs[points];
    for (int i = 0; i < points; ++i) {
        const int y = at.y + i / window - 1, x = at.x + i % window - 1;
        const bool is_inside = y >= 0 && x >= 0 && y < input.side && x < input.side;
        inputs[i] = is_inside ? input.at(at.sample, y, x) : blank;
    }
    for (int channel = 0; channel < input.channels; channel += Lanes) {
        Vector<Lanes> columns[window][window], line[window], row[window];
        for (int x = 0; x < window; ++x) {
            for (int y = 0; y < window; ++y) line[y] = vector<Lanes>(inputs[y * window + x] + channel);
            to_factors<Lanes>(line, columns[x]);
        }
        float *to = factors + channel;
        for (int y = 0; y < window; ++y) {
            for (int x = 0; x < window; ++x) line[x] = columns[x][y];
            to_factors<Lanes>(line, row);
            for (int x = 0; x < window; ++x, to += plane) vector<Lanes>(to) = row[x];
        }
    }
}

/// The results of a tile from its products.
template <int Lanes>
[[gnu::always_inline]] inline void gather(const float *products, size_t plane, const Convolution &layer, int side,
                                          bool adds, Tile at, Maps &output) {
    for (int channel = 0; channel < layer.outputs; channel += Lanes) {
        Vector<Lanes> columns[window][tile], line[window], row[tile];
        const float *from = products + channel;
        for (int x = 0; x < window; ++x) {
            for (int y = 0; y < window; ++y) line[y] = vector<Lanes>(from + (y * window + x) * plane);
            to_results<Lanes>(line, columns[x]);
        }
        const Vector<Lanes> bias = vector<Lanes>(layer.biases.data() + channel);
        for (int y = 0; y < tile; ++y) {
            if (at.y + y >= side) break;
            for (int x = 0; x < window; ++x) line[x] = columns[x][y];
            to_results<Lanes>(line, row);
            float *to = output.at(at.sample, at.y + y, at.x) + channel;
            for (int x = 0; x < tile; ++x, to += output.channels) {
                if (at.x + x >= side) break;
                Vector<Lanes> sum = row[x] + bias;
                if (adds) sum += vector<Lanes>(to);
                vector<Lanes>(to) = sum > 0 ? sum : Vector<Lanes>{};
            }
        }
    }
}

template <int Lanes>
[[gnu::always_inline]] inline void convolve_minimally(const Maps &input, const Convolution &layer, bool adds,
                                                      Maps &output, std::vector<float> &scratch) {
    const int most = most_tiled / std::max(layer.inputs, layer.outputs);
    // Planes at distances of a power of two would displace each other from the cache: so there are 32 numbers more.
    const size_t factor_plane = static_cast<size_t>(most * layer.inputs + 32),
                 product_plane = static_cast<size_t>(most * layer.outputs + 32);
    scratch.resize(std::max(scratch.size(), points * (factor_plane + product_plane)));
    float *const factors = scratch.data(), *const products = factors + points * factor_plane;
    const std::vector<float> blank(static_cast<size_t>(layer.inputs));
    std::vector<Tile> tiles;
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < input.side; y += tile) {
            for (int x = 0; x < input.side; x += tile) tiles.push_back({sample, y, x});
        }
    }
    std::vector<Place> places;
    for (int i = 0; i < most; ++i)
        places.push_back({static_cast<size_t>(i * layer.inputs), static_cast<size_t>(i * layer.outputs)});
    for (size_t first = 0; first < tiles.size(); first += static_cast<size_t>(most)) {
        const int count = std::min(most, static_cast<int>(tiles.size() - first));
        const Tile *const at = tiles.data() + first;
        for (int i = 0; i < count; ++i)
            spread<Lanes>(input, at[i], blank.data(), factors + places[size_t(i)].from, factor_plane);
        for (int point = 0; point < points; ++point) {
            multiply<Lanes>({factors + point * factor_plane, products + point * product_plane, &places, count, 1,
                             layer.inputs, 0, layer.outputs, nullptr, false},
                            layer.weights.data() + static_cast<size_t>(point * layer.inputs * layer.outputs));
        }
        for (int i = 0; i < count; ++i)
            gather<Lanes>(products + places[size_t(i)].to, product_plane, layer, input.side, adds, at[i], output);
    }
}

bool is_minimal(const Convolution &layer) {
    return layer.stride == 1 && layer.inputs <= most_channels && layer.outputs <= most_channels;
}

template <int Lanes>
[[gnu::always_inline]] inline void convolve(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                            std::vector<float> &scratch) {
    if (is_minimal(layer)) return convolve_minimally<Lanes>(input, layer, adds, output, scratch);
    if (layer.stride == 1) return convolve_plainly<Lanes>(padded(input), layer, adds, output);
    convolve_plainly<Lanes>(input, layer, adds, output);
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

/// Three weights along a filter's row or column as the factors of a tile's products along it.
void to_factors(const float *g, int step, float *to) {
    const float sum = g[0] + g[2 * step], further = g[0] + 4 * g[2 * step];
    to[0] = g[0] / 4;
    to[1] = -(sum + g[step]) / 6;
    to[2] = -(sum - g[step]) / 6;
    to[3] = (further + 2 * g[step]) / 24;
    to[4] = (further - 2 * g[step]) / 24;
    to[5] = g[2 * step];
}

/// [point][group][input][output of the group]
std::vector<float> arranged_minimally(const Convolution &layer, const std::vector<float> &filters) {
    const int inputs = layer.inputs, plane = inputs * layer.outputs;
    std::vector<float> weights(static_cast<size_t>(points * plane));
    for (int i = 0; i < plane; ++i) {
        const int output = i / group / inputs * group + i % group, input = i / group % inputs;
        const float *filter = filters.data() + static_cast<size_t>((output * inputs + input) * 9);
        float columns[3][window], row[window];
        for (int x = 0; x < 3; ++x) to_factors(filter + x, 3, columns[x]);
        for (int y = 0; y < window; ++y) {
            to_factors(columns[0] + y, window, row);
            for (int x = 0; x < window; ++x) weights[static_cast<size_t>((y * window + x) * plane + i)] = row[x];
        }
    }
    return weights;
}

}  // namespace

bool is_possible(const Convolution &layer) {
    const bool is_whole = layer.outputs > 0 && layer.outputs % group == 0 && layer.inputs > 0 && layer.kernel > 0;
    return is_whole && (layer.stride > 1 || (layer.stride == 1 && layer.kernel == 3 && layer.inputs % group == 0));
}

std::vector<float> arranged(const Convolution &layer, const std::vector<float> &filters) {
    const int taps = layer.kernel * layer.kernel, inputs = layer.inputs, outputs = layer.outputs;
    if (is_minimal(layer)) return arranged_minimally(layer, filters);
    // [group][row][column][input][output of the group]
    std::vector<float> weights(static_cast<size_t>(inputs * outputs * taps));
    float *to = weights.data();
    for (int begin = 0; begin < outputs; begin += group) {
        for (int i = 0; i < taps * inputs; ++i) {
            const float *from = filters.data() + static_cast<size_t>((begin * inputs + i % inputs) * taps + i / inputs);
            for (int output = 0; output < group; ++output, from += inputs * taps) *to++ = *from;
        }
    }
    return weights;
}

Maps convolved(const Maps &input, const Convolution &layer, std::vector<float> &scratch) {
    Maps output(input.samples, layer.side(input.side), layer.outputs);
    convolve_widest(input, layer, false, output, scratch);
    return output;
}

void add_convolved(const Maps &input, const Convolution &layer, Maps &sum, std::vector<float> &scratch) {
    convolve_widest(input, layer, true, sum, scratch);
}

}  // namespace cvision
