// Winograd's minimal filtering (Lavin and Gray, arXiv:1509.09308): four results in a row take six products with each input instead
// of the twelve of a kernel three pixels wide, two results six instead of the ten of one five pixels wide. In tiles of four by four
// results, F(4×4, 3×3), rows and columns together take 36 instead of 144.
#pragma once
#include <algorithm>
#include <cmath>

#include "map_products.hpp"

namespace cvision {

constexpr int window = 6;                // pixels in a row that some results depend on
constexpr int points = window * window;  // products of a tile for each input and output
/// Results in a row of a kernel `width` pixels wide.
constexpr int results_of(int width) { return window + 1 - width; }
constexpr int tile = results_of(3);
/// Tiles times channels that are computed at a time: what they become stays in a core's own cache.
constexpr int most_tiled = 2304;

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

/// Six products along a row or column as its four or two results.
template <int Lanes, int Results>
[[gnu::always_inline]] inline void to_results(const Vector<Lanes> *m, Vector<Lanes> *to) {
    const Vector<Lanes> sum = m[1] + m[2], difference = m[1] - m[2];
    const Vector<Lanes> further_sum = m[3] + m[4], further_difference = m[3] - m[4];
    to[0] = m[0] + sum + further_sum;
    to[1] = difference + 2.0f * further_difference;
    if constexpr (Results == 4) {
        to[2] = sum + 4.0f * further_sum;
        to[3] = difference + 8.0f * further_difference;
    }
    to[Results - 1] += m[5];
}

inline float least_of(const Convolution &layer) { return layer.is_rectified ? 0 : -INFINITY; }

/// Stores a result, or adds it to the former one. By reference: how a vector is passed depends on the registers.
template <int Lanes>
[[gnu::always_inline]] inline void finish(const Vector<Lanes> &result, const Vector<Lanes> &bias, bool adds,
                                          float least, float *to) {
    Vector<Lanes> sum = result + bias;
    if (adds) sum += vector<Lanes>(to);
    vector<Lanes>(to) = sum > least ? sum : least + Vector<Lanes>{};
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
        const bool is_inside = y >= 0 && x >= 0 && y < input.rows && x < input.columns;
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

/// The results of a tile from its products, as far as they lie within `size`.
template <int Lanes>
[[gnu::always_inline]] inline void gather(const float *products, size_t plane, const Convolution &layer, Pixels size,
                                          bool adds, Tile at, Maps &output) {
    const float least = least_of(layer);
    for (int channel = 0; channel < layer.outputs; channel += Lanes) {
        Vector<Lanes> columns[window][tile], line[window], row[tile];
        const float *from = products + channel;
        for (int x = 0; x < window; ++x) {
            for (int y = 0; y < window; ++y) line[y] = vector<Lanes>(from + (y * window + x) * plane);
            to_results<Lanes, tile>(line, columns[x]);
        }
        const Vector<Lanes> bias = vector<Lanes>(layer.biases.data() + channel);
        for (int y = 0; y < tile && at.y + y < size.y; ++y) {
            for (int x = 0; x < window; ++x) line[x] = columns[x][y];
            to_results<Lanes, tile>(line, row);
            float *to = output.at(at.sample, at.y + y, at.x) + channel;
            for (int x = 0; x < tile && at.x + x < size.x; ++x, to += output.channels)
                finish<Lanes>(row[x], bias, adds, least, to);
        }
    }
}

/// A layer of 3×3 pixels in tiles.
template <int Lanes>
[[gnu::always_inline]] inline void convolve_tiles(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                                  std::vector<float> &scratch) {
    const int most = most_tiled / std::max(layer.inputs, layer.outputs);
    // Planes at distances of a power of two would displace each other from the cache: so there are 32 numbers more.
    const size_t factor_plane = static_cast<size_t>(most * layer.inputs + 32),
                 product_plane = static_cast<size_t>(most * layer.outputs + 32);
    scratch.resize(std::max(scratch.size(), points * (factor_plane + product_plane)));
    float *const factors = scratch.data(), *const products = factors + points * factor_plane;
    const std::vector<float> blank(static_cast<size_t>(layer.inputs));
    std::vector<Tile> tiles;
    for (int sample = 0; sample < input.samples; ++sample) {
        for (int y = 0; y < input.rows; y += tile) {
            for (int x = 0; x < input.columns; x += tile) tiles.push_back({sample, y, x});
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
                             layer.inputs, 0, layer.outputs},
                            layer.weights.data() + static_cast<size_t>(point * layer.inputs * layer.outputs));
        }
        for (int i = 0; i < count; ++i) {
            gather<Lanes>(products + places[size_t(i)].to, product_plane, layer, {input.rows, input.columns}, adds,
                          at[i], output);
        }
    }
}

/// A part of an image's columns: `count` windows from that of the results from `first` on, of one sample.
struct Stretch {
    int sample, first, count;
};

/// A stretch's windows as factors: [point][row of the padded image][window][input].
template <int Lanes, int Results>
[[gnu::always_inline]] inline void spread_rows(const Maps &input, const Convolution &layer, Stretch stretch, int rows,
                                               const float *blank, float *factors, size_t plane) {
    for (int row = 0; row < rows; ++row) {
        const int y = row - layer.pad.y;
        const bool is_row = y >= 0 && y < input.rows;
        for (int i = 0; i < stretch.count; ++i) {
            const float *inputs[window];
            for (int k = 0; k < window; ++k) {
                const int x = stretch.first + i * Results - layer.pad.x + k;
                inputs[k] = is_row && x >= 0 && x < input.columns ? input.at(stretch.sample, y, x) : blank;
            }
            float *to = factors + static_cast<size_t>((row * stretch.count + i) * input.channels);
            for (int channel = 0; channel < input.channels; channel += Lanes) {
                Vector<Lanes> line[window], made[window];
                for (int k = 0; k < window; ++k) line[k] = vector<Lanes>(inputs[k] + channel);
                to_factors<Lanes>(line, made);
                for (int k = 0; k < window; ++k) vector<Lanes>(to + k * plane + channel) = made[k];
            }
        }
    }
}

/// The results of a stretch from its products: [point][row][window][output].
template <int Lanes, int Results>
[[gnu::always_inline]] inline void gather_rows(const float *products, size_t plane, const Convolution &layer,
                                               Pixels size, bool adds, Stretch stretch, Maps &output) {
    const float least = least_of(layer);
    for (int y = 0; y < size.y; ++y) {
        for (int i = 0; i < stretch.count; ++i, products += layer.outputs) {
            const int x = stretch.first + i * Results, used = std::min(Results, size.x - x);
            for (int channel = 0; channel < layer.outputs; channel += Lanes) {
                Vector<Lanes> line[window], made[Results];
                for (int k = 0; k < window; ++k) line[k] = vector<Lanes>(products + k * plane + channel);
                to_results<Lanes, Results>(line, made);
                const Vector<Lanes> bias = vector<Lanes>(layer.biases.data() + channel);
                float *to = output.at(stretch.sample, y, x) + channel;
                for (int k = 0; k < used; ++k, to += output.channels) finish<Lanes>(made[k], bias, adds, least, to);
            }
        }
    }
}

/// A layer three or five pixels wide, row by row.
template <int Lanes, int Results>
[[gnu::always_inline]] inline void convolve_rows(const Maps &input, const Convolution &layer, bool adds, Maps &output,
                                                 std::vector<float> &scratch) {
    const Pixels size = {layer.rows(input.rows), layer.columns(input.columns)};
    const int rows = (size.y - 1) * layer.stride.y + layer.kernel.y;
    const int all = (size.x + Results - 1) / Results;
    const int widest = std::max(rows * layer.inputs, size.y * layer.outputs);
    const int most = std::clamp(window * most_tiled / widest, 1, all);
    const size_t factor_plane = static_cast<size_t>(rows * most * layer.inputs + 32),
                 product_plane = static_cast<size_t>(size.y * most * layer.outputs + 32);
    scratch.resize(std::max(scratch.size(), window * (factor_plane + product_plane)));
    float *const factors = scratch.data(), *const products = factors + window * factor_plane;
    const std::vector<float> blank(static_cast<size_t>(layer.inputs));
    std::vector<Place> places;
    for (int i = 0; i < input.samples * all;) {
        const Stretch stretch{i / all, i % all * Results, std::min(most, all - i % all)};
        spread_rows<Lanes, Results>(input, layer, stretch, rows, blank.data(), factors, factor_plane);
        places.clear();
        for (int k = 0; k < size.y * stretch.count; ++k) {
            const int row = k / stretch.count * layer.stride.y, at = k % stretch.count;
            places.push_back({static_cast<size_t>((row * stretch.count + at) * layer.inputs),
                              static_cast<size_t>(k * layer.outputs)});
        }
        const int length = layer.kernel.y * layer.inputs * layer.outputs;
        for (int point = 0; point < window; ++point) {
            multiply<Lanes>({factors + point * factor_plane, products + point * product_plane, &places,
                             static_cast<int>(places.size()), layer.kernel.y, layer.inputs,
                             stretch.count * layer.inputs, layer.outputs},
                            layer.weights.data() + static_cast<size_t>(point * length));
        }
        gather_rows<Lanes, Results>(products, product_plane, layer, size, adds, stretch, output);
        i += stretch.count;
    }
}

/// The weights of a kernel's row or column as the factors of the products along it.
inline void to_weights(const float *g, int count, int step, float *to) {
    // Its polynomial at 0, 1, -1, 2, -2 and infinity.
    constexpr float at[] = {0, 1, -1, 2, -2}, scale[] = {1 / 4.f, -1 / 6.f, -1 / 6.f, 1 / 24.f, 1 / 24.f};
    for (int k = 0; k < window - 1; ++k) {
        float value = 0;
        for (int i = count - 1; i >= 0; --i) value = value * at[k] + g[i * step];
        to[k] = value * scale[k];
    }
    to[window - 1] = g[(count - 1) * step];
}

}  // namespace cvision
