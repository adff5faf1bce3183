// Convolutions as correlations over one long row: a picture whose rows carry their padding with them can be read at fixed
// distances from each pixel, so that nothing is gathered first and a block of pixels stays in registers over all inputs.
#include <algorithm>
#include <memory>

#include "mrz_network.hpp"

namespace cvision::mrz {
namespace {

/// Sums of products for one block of pixels and eight outputs; `at` is the block's first pixel in the first input.
struct Correlation {
    const float *at;
    size_t plane;  // distance of the inputs
    int inputs;
    const std::vector<int> *taps;
    const float *weights;  // for each input and tap those of eight outputs
    float *sums;
    size_t sumPlane;  // distance of the outputs
};

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
            weights += outputGroup;
        }
    }
    for (int o = 0; o < Outputs; ++o) {
        for (int v = 0; v < Vectors; ++v) {
            *reinterpret_cast<Vector *>(c.sums + (output + o) * c.sumPlane + pixel + v * Lanes) = sums[o][v];
        }
    }
}

constexpr int block = 48;  // pixels: three of the widest registers

/// A block in tiles whose sums, pixels and weight all stay in registers. With AVX2's sixteen, twelve sums would leave exactly one
/// for the weight; the compiler then keeps one sum in memory, where each product waits for the one before.
template <int Outputs, int Vectors, int Lanes>
[[gnu::always_inline]] inline void correlateBlock(const Correlation &c) {
    for (int output = 0; output < outputGroup; output += Outputs) {
        for (int pixel = 0; pixel < block; pixel += Vectors * Lanes) {
            correlate<Outputs, Vectors, Lanes>(c, output, pixel);
        }
    }
}

using Kernel = void (*)(const Correlation &);

void correlatePlainly(const Correlation &c) { correlateBlock<4, 3, 4>(c); }

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void correlateBy8(const Correlation &c) { correlateBlock<4, 2, 8>(c); }
[[gnu::target("avx512f")]] void correlateBy16(const Correlation &c) { correlateBlock<8, 3, 16>(c); }
#endif

Kernel widestKernel() {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        return correlateBy16;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return correlateBy8;
    }
#endif
    return correlatePlainly;
}

}  // namespace

std::vector<float> groupedWeights(const Convolution &c) {
    const size_t each = size_t(c.inputs) * c.kernelRows * c.kernelColumns;
    const size_t groups = (c.outputs + outputGroup - 1) / outputGroup;
    std::vector<float> grouped(groups * each * outputGroup, 0);
    for (int output = 0; output < c.outputs; ++output) {
        for (size_t i = 0; i < each; ++i) {
            grouped[(output / outputGroup * each + i) * outputGroup + output % outputGroup] = c.weights[output * each + i];
        }
    }
    return grouped;
}

Tensor convolve(const Tensor &input, const Convolution &c, Activation activation, const Tensor *residual) {
    static const Kernel kernel = widestKernel();
    const int rows = (input.rows + 2 * c.padY - c.kernelRows) / c.strideY + 1;
    const int columns = (input.columns + 2 * c.padX - c.kernelColumns) / c.strideX + 1;
    // What lies `stride` apart is laid side by side, so that neighbours of the result read neighbours. One part for each
    // remainder of the padded row and column.
    const int partRows = (input.rows + 2 * c.padY + c.strideY - 1) / c.strideY;
    const int partColumns = (input.columns + 2 * c.padX + c.strideX - 1) / c.strideX;
    const size_t part = size_t(partRows) * partColumns, plane = part * c.strideY * c.strideX;
    const size_t slack = 2 * block;  // the last block reads and writes beyond the last pixel
    const std::unique_ptr<float[]> padded(new float[plane * input.channels + slack]);
    std::fill_n(padded.get() + plane * input.channels, slack, 0.0f);
    for (int channel = 0; channel < input.channels; ++channel) {
        for (int y = 0; y < partRows * c.strideY; ++y) {
            const int from = y - c.padY;
            const float *row =
                from >= 0 && from < input.rows ? input.plane(channel) + size_t(from) * input.columns : nullptr;
            for (int phase = 0; phase < c.strideX; ++phase) {
                float *to = padded.get() + plane * channel + part * (y % c.strideY * c.strideX + phase) +
                            size_t(y / c.strideY) * partColumns;
                if (row == nullptr) {
                    std::fill_n(to, partColumns, 0.0f);
                    continue;
                }
                int x = 0;
                for (; x < partColumns && x * c.strideX + phase < c.padX; ++x) {
                    to[x] = 0;
                }
                const int end = std::min(partColumns, (input.columns + c.padX - phase + c.strideX - 1) / c.strideX);
                const float *source = row + phase - c.padX;
                if (c.strideX == 1) {
                    std::copy(source + x, source + end, to + x);
                    x = end;
                }
                for (; x < end; ++x) {
                    to[x] = source[x * c.strideX];
                }
                std::fill(to + end, to + partColumns, 0.0f);
            }
        }
    }
    std::vector<int> taps;
    for (int y = 0; y < c.kernelRows; ++y) {
        for (int x = 0; x < c.kernelColumns; ++x) {
            taps.push_back(int(part) * (y % c.strideY * c.strideX + x % c.strideX) + y / c.strideY * partColumns +
                           x / c.strideX);
        }
    }
    const size_t pixels = size_t(rows - 1) * partColumns + columns, sumPlane = pixels + slack;
    const int groups = (c.outputs + outputGroup - 1) / outputGroup;
    const std::unique_ptr<float[]> sums(new float[sumPlane * groups * outputGroup]);
    const size_t each = taps.size() * c.inputs * outputGroup;
    for (size_t pixel = 0; pixel < pixels; pixel += block) {
        for (int group = 0; group < groups; ++group) {
            kernel({padded.get() + pixel, plane, c.inputs, &taps, c.grouped.data() + group * each,
                    sums.get() + group * outputGroup * sumPlane + pixel, sumPlane});
        }
    }
    Tensor out(c.outputs, rows, columns);
    for (int channel = 0; channel < c.outputs; ++channel) {
        for (int y = 0; y < rows; ++y) {
            const float *sum = sums.get() + channel * sumPlane + size_t(y) * partColumns;
            const float *rest = residual != nullptr ? residual->plane(channel) + size_t(y) * columns : nullptr;
            float *to = out.plane(channel) + size_t(y) * columns;
            const float bias = c.bias[channel];
            for (int x = 0; x < columns; ++x) {
                const float value = sum[x] + bias + (rest != nullptr ? rest[x] : 0.0f);
                to[x] = activation == Activation::relu ? std::max(value, 0.0f) : value;
            }
        }
    }
    return out;
}

}  // namespace cvision::mrz
