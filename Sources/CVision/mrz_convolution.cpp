// Convolutions as correlations over one long row: in an image whose rows include their padding, the inputs of each pixel are at
// fixed distances, so that nothing is gathered first and a block of pixels stays in registers over all inputs.
// Saves 23 % of a side's processor time [19–28, 10 turns of 16 images, AMD EPYC] over OpenCV's network module in the MRZ's
// networks, which used it then, and 19 % [18–20, 4 turns of 32 images, Intel Xeon] in VIZ text's (Tests/FIGURES.md).
// VIZ text is read so: over whole numbers, as in mrz_bytes.cpp, its lines would take a third less time, but two fields fewer of
// 172 were right.
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

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void correlate_by_8(const Correlation &c) {
    count_wide_run();
    correlate_block<4, 2, 8>(c);
}
[[gnu::target("avx512f")]] void correlate_by_16(const Correlation &c) {
    count_wide_run();
    correlate_block<8, 3, 16>(c);
}
#endif

void correlate_widest(const Correlation &c) {
#ifdef __x86_64__
    switch (registers()) {
    case Registers::by_16: return correlate_by_16(c);
    case Registers::by_8: return correlate_by_8(c);
    case Registers::by_4: break;
    }
#endif
    correlate_block<4, 3, 4>(c);
}

/// `made` plus `bias` plus any `rest`, but no less than `least`.
[[gnu::always_inline]] inline void finish_plainly(const float *made, float bias, const float *rest, float least,
                                                  int count, float *to) {
    if (rest == nullptr) {
        for (int x = 0; x < count; ++x) {
            to[x] = std::max(made[x] + bias, least);
        }
        return;
    }
    for (int x = 0; x < count; ++x) {
        to[x] = std::max(made[x] + bias + rest[x], least);
    }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void finish_by_8(const float *made, float bias, const float *rest, float least, int count,
                                         float *to) {
    finish_plainly(made, bias, rest, least, count, to);
}
#endif

void finish(const float *made, float bias, const float *rest, float least, int count, float *to) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) {
        return finish_by_8(made, bias, rest, least, count, to);
    }
#endif
    finish_plainly(made, bias, rest, least, count, to);
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
Laid laid_out(const Tensor &input, const Convolution &c) {
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

}  // namespace

std::vector<float> grouped_weights(const Convolution &c) {
    const int taps = c.kernel_rows * c.kernel_columns;
    const size_t groups = (c.outputs + output_group - 1) / output_group, each = size_t(c.inputs) * taps * output_group;
    std::vector<float> grouped(groups * each, 0);
    for (int output = 0; output < c.outputs; ++output) {
        const float *weights = c.weights.data() + size_t(output) * c.inputs * taps;
        float *to = grouped.data() + output / output_group * each + output % output_group;
        for (int i = 0; i < c.inputs * taps; ++i) {
            to[size_t(i) * output_group] = weights[i];
        }
    }
    return grouped;
}

Tensor convolve(const Tensor &input, const Convolution &c, Activation activation, const Tensor *residual) {
    Tensor out(c.outputs, (input.rows + 2 * c.pad_y - c.kernel_rows) / c.stride_y + 1,
               (input.columns + 2 * c.pad_x - c.kernel_columns) / c.stride_x + 1);
    const Laid laid = laid_out(input, c);
    std::vector<int> taps;
    for (int y = 0; y < c.kernel_rows; ++y) {
        for (int x = 0; x < c.kernel_columns; ++x) {
            taps.push_back(int(laid.part) * (y % c.stride_y * c.stride_x + x % c.stride_x) +
                           y / c.stride_y * laid.columns + x / c.stride_x);
        }
    }
    const int pixels = (out.rows - 1) * laid.columns + out.columns;
    const int groups = (c.outputs + output_group - 1) / output_group;
    const size_t each = taps.size() * c.inputs * output_group;
    std::vector<float> sums(size_t(groups) * output_group * block);
    const float least = activation == Activation::relu ? 0.0f : -INFINITY;
    for (int first = 0; first < pixels; first += block) {
        const int count = std::min(block, pixels - first);
        for (int group = 0; group < groups; ++group) {
            correlate_widest({laid.values.get() + first, laid.plane, c.inputs, &taps, c.grouped.data() + group * each,
                              sums.data() + size_t(group) * output_group * block, count});
        }
        // The block's pixels that are adjacent in the result; between such runs is padding.
        for (int begin = first; begin < first + count;) {
            const int x = begin % laid.columns, y = begin / laid.columns;
            const int width = std::min(out.columns - x, first + count - begin);
            const size_t at = size_t(y) * out.columns + x;
            for (int channel = 0; width > 0 && channel < c.outputs; ++channel) {
                finish(sums.data() + size_t(channel) * block + begin - first, c.bias[channel],
                       residual != nullptr ? residual->plane(channel) + at : nullptr, least, width,
                       out.plane(channel) + at);
            }
            begin += laid.columns - x;
        }
    }
    return out;
}

}  // namespace cvision::mrz
