// Convolutions as correlations over one long row: in an image whose rows include their padding, the inputs of each pixel are at
// fixed distances, so that nothing is gathered first and a block of pixels stays in registers over all inputs.
// Kernels of three rows go through Winograd's minimal filtering, F(4, 3) down the columns (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015, §4.3): six correlations of one row each give four rows of the result, in place of twelve.
#include <algorithm>
#include <cmath>
#include <memory>

#include "cpu.hpp"
#include "mrz_network.hpp"

namespace cvision::mrz {
namespace {

/// Sums of products for one block of pixels and eight outputs; `at` is the block's first pixel in the first input.
struct Correlation {
    const float *at;
    size_t plane;  // distance between inputs
    int inputs;
    const std::vector<int> *taps;
    const float *weights;  // for each input and tap, those of eight outputs
    float *sums;           // of the first of eight outputs; the next output's begin a block later
    int pixels;            // of the block that are used
};

constexpr int block = 48;  // pixels: three of the widest registers

/// `Outputs` of the eight by `Vectors` times `Lanes` pixels.
template <int Outputs, int Vectors, int Lanes>
[[gnu::always_inline]] inline void correlate(const Correlation &c, int output, int pixel) {
    using Vector [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    Vector sums[Outputs][Vectors] = {};
    const float *weights = c.weights + output, *plane = c.at + pixel;
    for (int input = 0; input < c.inputs; ++input, plane += c.plane) {
        for (const int tap : *c.taps) {
            Vector pixels[Vectors];
            for (int v = 0; v < Vectors; ++v) {
                pixels[v] = *reinterpret_cast<const Vector *>(plane + tap + v * Lanes);
            }
            for (int o = 0; o < Outputs; ++o) {
                for (int v = 0; v < Vectors; ++v) {
                    sums[o][v] += weights[o] * pixels[v];
                }
            }
            weights += output_group;
        }
    }
    for (int o = 0; o < Outputs; ++o) {
        for (int v = 0; v < Vectors; ++v) {
            *reinterpret_cast<Vector *>(c.sums + (output + o) * block + pixel + v * Lanes) = sums[o][v];
        }
    }
}

/// A block in tiles whose sums, pixels and weight all stay in registers. With AVX2's sixteen, twelve sums would leave exactly one
/// for the weight; the compiler would then keep one sum in memory, where each product waits for the one before.
template <int Outputs, int Vectors, int Lanes>
[[gnu::always_inline]] inline void correlate_block(const Correlation &c) {
    for (int output = 0; output < output_group; output += Outputs) {
        for (int pixel = 0; pixel < c.pixels; pixel += Vectors * Lanes) {
            correlate<Outputs, Vectors, Lanes>(c, output, pixel);
        }
    }
}

/// Six rows of `count` numbers, `distance` apart, in six combinations, `part` apart.
template <int Lanes>
[[gnu::always_inline]] inline void spread(const float *rows, int distance, int count, float *parts, size_t part) {
    using Vector [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    for (int x = 0; x < count; x += Lanes) {
        // The last register ends with the row: beyond it lies another.
        const float *from = rows + std::min(x, count - Lanes);
        float *to = parts + std::min(x, count - Lanes);
        Vector d[6];
        for (int i = 0; i < 6; ++i) {
            d[i] = *reinterpret_cast<const Vector *>(from + i * distance);
        }
        const Vector even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1], near = d[4] - d[2], far = 2 * (d[3] - d[1]);
        const Vector made[6] = {4 * (d[0] - d[2]) + near,       even + odd, even - odd, near + far, near - far,
                                4 * (d[1] - d[3]) + d[5] - d[3]};
        for (int i = 0; i < 6; ++i) {
            *reinterpret_cast<Vector *>(to + i * part) = made[i];
        }
    }
}

/// Four rows, a block apart, from six rows of sums, `product` apart.
template <int Lanes>
[[gnu::always_inline]] inline void combine(const float *sums, size_t product, int count, float *rows) {
    using Vector [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    for (int x = 0; x < count; x += Lanes) {
        Vector m[6];
        for (int i = 0; i < 6; ++i) {
            m[i] = *reinterpret_cast<const Vector *>(sums + i * product + x);
        }
        const Vector a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
        const Vector made[4] = {m[0] + a + c, b + 2 * d, a + 4 * c, b + 8 * d + m[5]};
        for (int i = 0; i < 4; ++i) {
            *reinterpret_cast<Vector *>(rows + i * block + x) = made[i];
        }
    }
}

/// `made` plus `bias` plus any `rest`, but no less than `least`.
template <int Lanes>
[[gnu::always_inline]] inline void finish(const float *made, float bias, const float *rest, float least, int count,
                                          float *to) {
    using Vector [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    int x = 0;
    for (; x + Lanes <= count; x += Lanes) {
        Vector value = *reinterpret_cast<const Vector *>(made + x) + bias;
        if (rest != nullptr) {
            value += *reinterpret_cast<const Vector *>(rest + x);
        }
        *reinterpret_cast<Vector *>(to + x) = value > least ? value : Vector{} + least;
    }
    for (; x < count; ++x) {
        to[x] = std::max(made[x] + bias + (rest != nullptr ? rest[x] : 0.0f), least);
    }
}

/// The variants for one width of registers.
struct Arithmetic {
    void (*correlate)(const Correlation &);
    void (*spread)(const float *rows, int distance, int count, float *parts, size_t part);
    void (*combine)(const float *sums, size_t product, int count, float *rows);
    void (*finish)(const float *made, float bias, const float *rest, float least, int count, float *to);
};

constexpr Arithmetic by_4 = {correlate_block<4, 3, 4>, spread<4>, combine<4>, finish<4>};

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void correlate_by_8(const Correlation &c) {
    count_wide_run();
    correlate_block<4, 2, 8>(c);
}
[[gnu::target("avx512f")]] void correlate_by_16(const Correlation &c) {
    count_wide_run();
    correlate_block<8, 3, 16>(c);
}
[[gnu::target("avx2,fma")]] void spread_by_8(const float *rows, int distance, int count, float *parts, size_t part) {
    spread<8>(rows, distance, count, parts, part);
}
[[gnu::target("avx2,fma")]] void combine_by_8(const float *sums, size_t product, int count, float *rows) {
    combine<8>(sums, product, count, rows);
}
[[gnu::target("avx2,fma")]] void finish_by_8(const float *made, float bias, const float *rest, float least, int count,
                                             float *to) {
    finish<8>(made, bias, rest, least, count, to);
}
constexpr Arithmetic by_8 = {correlate_by_8, spread_by_8, combine_by_8, finish_by_8};
constexpr Arithmetic by_16 = {correlate_by_16, spread_by_8, combine_by_8, finish_by_8};
#endif

const Arithmetic &arithmetic() {
#ifdef __x86_64__
    switch (registers()) {
    case Registers::by_16: return by_16;
    case Registers::by_8: return by_8;
    case Registers::by_4: break;
    }
#endif
    return by_4;
}

/// Rows of the result that are computed together, and the correlations that they take.
struct Form {
    int rows, products;
};

Form form_of(const Convolution &c) {
    // One input is not worth the transform.
    const bool minimal = c.kernel_rows == 3 && c.stride_y == 1 && c.stride_x == 1 && c.inputs >= output_group;
    return minimal ? Form{4, 6} : Form{1, 1};
}

/// The correlations' input.
struct Laid {
    std::unique_ptr<float[]> values;
    int columns;         // of a row, padding included
    size_t part, plane;  // pixels of one part, of all parts of one input
};

/// Row `y` of `input`, padding rows included; `columns` numbers from `first` on, each `stride` after the one before.
void copy_row(const Tensor &input, const Convolution &c, int channel, int y, int first, int columns, float *to) {
    const int from = y - c.pad_y;
    if (from < 0 || from >= input.rows) {
        std::fill_n(to, columns, 0.0f);
        return;
    }
    const float *source = input.plane(channel) + size_t(from) * input.columns + first - c.pad_x;
    int x = 0;
    for (; x < columns && x * c.stride_x + first < c.pad_x; ++x) {
        to[x] = 0;
    }
    const int end = std::max(x, std::min(columns, (input.columns + c.pad_x - first + c.stride_x - 1) / c.stride_x));
    if (c.stride_x == 1) {
        std::copy(source + x, source + end, to + x);
        x = end;
    }
    for (; x < end; ++x) {
        to[x] = source[x * c.stride_x];
    }
    std::fill(to + end, to + columns, 0.0f);
}

/// Puts values that are `stride` apart side by side, so that neighbours of the result read neighbours. One part for each
/// remainder of the padded row and column.
Laid lay_plainly(const Tensor &input, const Convolution &c) {
    const int rows = (input.rows + 2 * c.pad_y + c.stride_y - 1) / c.stride_y;
    Laid laid;
    laid.columns = (input.columns + 2 * c.pad_x + c.stride_x - 1) / c.stride_x;
    laid.part = size_t(rows) * laid.columns;
    laid.plane = laid.part * c.stride_y * c.stride_x;
    laid.values.reset(new float[laid.plane * input.channels + block]);
    for (int channel = 0; channel < input.channels; ++channel) {
        for (int y = 0; y < rows * c.stride_y; ++y) {
            for (int phase = 0; phase < c.stride_x; ++phase) {
                copy_row(input, c, channel, y, phase, laid.columns,
                         laid.values.get() + laid.plane * channel + laid.part * (y % c.stride_y * c.stride_x + phase) +
                             size_t(y / c.stride_y) * laid.columns);
            }
        }
    }
    return laid;
}

/// Six combinations of six rows for every four rows of the result, one part for each combination.
Laid lay_minimally(const Tensor &input, const Convolution &c, int rows) {
    const int strips = (rows + 3) / 4, padded = strips * 4 + 2;
    Laid laid;
    laid.columns = std::max(input.columns + 2 * c.pad_x, 8);  // a whole register
    laid.part = size_t(strips) * laid.columns;
    laid.plane = laid.part * 6;
    laid.values.reset(new float[laid.plane * input.channels + block]);
    const int n = laid.columns;
    std::vector<float> padded_channel(size_t(padded) * n);
    for (int channel = 0; channel < input.channels; ++channel) {
        for (int y = 0; y < padded; ++y) {
            copy_row(input, c, channel, y, 0, n, padded_channel.data() + size_t(y) * n);
        }
        for (int strip = 0; strip < strips; ++strip) {
            arithmetic().spread(padded_channel.data() + size_t(strip) * 4 * n, n, n,
                                laid.values.get() + laid.plane * channel + size_t(strip) * n, laid.part);
        }
    }
    return laid;
}

/// The weights of one column of a kernel, for each correlation.
void combined_weights(const float w[3], float to[6]) {
    const float outer = w[0] + w[2], spread = w[0] + 4 * w[2];
    to[0] = w[0] / 4;
    to[1] = -(outer + w[1]) / 6;
    to[2] = -(outer - w[1]) / 6;
    to[3] = (spread + 2 * w[1]) / 24;
    to[4] = (spread - 2 * w[1]) / 24;
    to[5] = w[2];
}

}  // namespace

std::vector<float> grouped_weights(const Convolution &c) {
    const int products = form_of(c).products, kernel = c.kernel_rows * c.kernel_columns;
    const int taps = products > 1 ? c.kernel_columns : kernel;
    const size_t groups = (c.outputs + output_group - 1) / output_group, each = size_t(c.inputs) * taps * output_group;
    std::vector<float> grouped(products * groups * each, 0);
    for (int output = 0; output < c.outputs; ++output) {
        for (int input = 0; input < c.inputs; ++input) {
            const float *weights = c.weights.data() + (size_t(output) * c.inputs + input) * kernel;
            for (int tap = 0; tap < taps; ++tap) {
                float *to = grouped.data() + output / output_group * each +
                            (size_t(input) * taps + tap) * output_group + output % output_group;
                if (products == 1) {
                    *to = weights[tap];
                    continue;
                }
                const float column[] = {weights[tap], weights[tap + taps], weights[tap + 2 * taps]};
                float combined[6];
                combined_weights(column, combined);
                for (int product = 0; product < products; ++product) {
                    to[product * groups * each] = combined[product];
                }
            }
        }
    }
    return grouped;
}

Tensor convolve(const Tensor &input, const Convolution &c, Activation activation, const Tensor *residual) {
    const Form form = form_of(c);
    Tensor out(c.outputs, (input.rows + 2 * c.pad_y - c.kernel_rows) / c.stride_y + 1,
               (input.columns + 2 * c.pad_x - c.kernel_columns) / c.stride_x + 1);
    const Laid laid = form.products > 1 ? lay_minimally(input, c, out.rows) : lay_plainly(input, c);
    std::vector<int> taps;
    for (int y = 0; y < (form.products > 1 ? 1 : c.kernel_rows); ++y) {
        for (int x = 0; x < c.kernel_columns; ++x) {
            taps.push_back(int(laid.part) * (y % c.stride_y * c.stride_x + x % c.stride_x) +
                           y / c.stride_y * laid.columns + x / c.stride_x);
        }
    }
    const int strips = (out.rows + form.rows - 1) / form.rows, pixels = (strips - 1) * laid.columns + out.columns;
    const int groups = (c.outputs + output_group - 1) / output_group;
    const size_t each = taps.size() * c.inputs * output_group, product = size_t(groups) * output_group * block;
    std::vector<float> sums(product * form.products + block);
    float rows[4 * block];
    const float least = activation == Activation::relu ? 0.0f : -INFINITY;
    for (int first = 0; first < pixels; first += block) {
        const int count = std::min(block, pixels - first);
        for (int i = 0; i < form.products * groups; ++i) {
            arithmetic().correlate({laid.values.get() + i / groups * laid.part + first, laid.plane, c.inputs, &taps,
                                    c.grouped.data() + i * each, sums.data() + size_t(i) * output_group * block,
                                    count});
        }
        // The block's pixels that are adjacent in the result; between such runs is padding.
        for (int begin = first; begin < first + count;) {
            const int x = begin % laid.columns, y = begin / laid.columns * form.rows;
            const int width = std::min(out.columns - x, first + count - begin);
            for (int channel = 0; width > 0 && channel < c.outputs; ++channel) {
                const float *made = sums.data() + size_t(channel) * block + begin - first;
                if (form.products > 1) {
                    arithmetic().combine(made, product, width, rows);
                    made = rows;
                }
                for (int row = y; row < std::min(y + form.rows, out.rows); ++row, made += block) {
                    const size_t at = size_t(row) * out.columns + x;
                    arithmetic().finish(made, c.bias[channel],
                                        residual != nullptr ? residual->plane(channel) + at : nullptr, least, width,
                                        out.plane(channel) + at);
                }
            }
            begin += laid.columns - x;
        }
    }
    return out;
}

}  // namespace cvision::mrz
