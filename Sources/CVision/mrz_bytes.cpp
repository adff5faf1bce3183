// Convolutions over whole numbers. Channels lie side by side, so that a kernel's row is one run of bytes and nothing is gathered
// first; a tile of pixels and outputs stays in registers over all inputs. Sums are exact, so that every variant answers the same.
// Detector and reader take three fifths of the time that they take in floats by map_convolution.cpp (Tests/FIGURES.md).
#include <algorithm>
#include <cmath>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "cpu.hpp"
#include "mrz_bytes.hpp"

// Rounding a product and a sum only once would make answers depend on the processor.
#pragma clang fp contract(off)

namespace cvision::mrz {
namespace {

using Floats [[gnu::vector_size(outputs_together * sizeof(float)), gnu::aligned(1), gnu::may_alias]] = float;
using Ints [[gnu::vector_size(outputs_together * sizeof(int32_t)), gnu::aligned(1), gnu::may_alias]] = int32_t;
using Octets [[gnu::vector_size(outputs_together), gnu::aligned(1), gnu::may_alias]] = uint8_t;

/// One row of answers.
struct Row {
    const uint8_t *from;  // the inputs of the first answer
    size_t step;          // bytes to the inputs of the next answer
    const int *offsets;   // bytes to the inputs of each product of four, in the weights' order
    int paired, products;
    const int8_t *weights;
    size_t each;  // weights of a group of outputs
    const float *units, *bias;
    const uint8_t *rest;  // null for none
    float rest_unit;
    size_t channels;
    uint8_t *to;
    float *plain;  // in place of `to`: answers as they are
};

/// Writes the answers `values`, which are in units of the result.
[[gnu::always_inline]] inline void write(const Floats &values, uint8_t *to) {
    const Floats positive = values > 0 ? values : Floats{};
    const Floats bounded = positive < Bytes::greatest ? positive : Floats{} + Bytes::greatest;
    *reinterpret_cast<Octets *>(to) = __builtin_convertvector(__builtin_convertvector(bounded + 0.5f, Ints), Octets);
}

[[gnu::always_inline]] inline void finish(const Row &row, const Ints &sums, int group, int x) {
    const size_t first = size_t(group) * outputs_together, at = size_t(x) * row.channels + first;
    Floats values = __builtin_convertvector(sums, Floats) * *reinterpret_cast<const Floats *>(row.units + first);
    values = values + *reinterpret_cast<const Floats *>(row.bias + first);
    if (row.plain != nullptr) {
        *reinterpret_cast<Floats *>(row.plain + at) = values;
        return;
    }
    if (row.rest != nullptr) {
        const Floats rest = __builtin_convertvector(*reinterpret_cast<const Octets *>(row.rest + at), Floats);
        values = values + rest * row.rest_unit;
    }
    write(values, row.to + at);
}

void run_plainly(const Row &row, int groups, int columns) {
    for (int group = 0; group < groups; ++group) {
        for (int x = 0; x < columns; ++x) {
            Ints sums = {};
            const int8_t *weights = row.weights + size_t(group) * row.each;
            for (int i = 0; i < row.products; ++i, weights += product_weights) {
                const uint8_t *from = row.from + size_t(x) * row.step + row.offsets[i];
                for (int output = 0; output < outputs_together; ++output) {
                    int32_t sum = 0;
                    for (int input = 0; input < together; ++input) {
                        sum += from[input] * weights[output * together + input];
                    }
                    sums[output] += sum;
                }
            }
            finish(row, sums, group, x);
        }
    }
}

#ifdef __x86_64__
#define UNROLLED _Pragma("clang loop unroll(full)")  // left to itself, the compiler keeps sums in memory
#define BY_64 [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#define BY_32 [[gnu::target("avx2,fma")]]

template <int Groups, int Pixels>
BY_64 void tile_by_64(const Row &row, int group, int x) {
    __m512i sums[Pixels][Groups] = {};
    const int8_t *weights = row.weights + size_t(group) * row.each;
    const uint8_t *line = row.from + size_t(x) * row.step;
    for (int i = 0; i < row.products; ++i, weights += product_weights) {
        __m512i own[Groups];
        UNROLLED for (int g = 0; g < Groups; ++g) own[g] = _mm512_loadu_si512(weights + size_t(g) * row.each);
        const uint8_t *from = line + row.offsets[i];
        UNROLLED for (int p = 0; p < Pixels; ++p) {
            const __m512i inputs = _mm512_broadcastd_epi32(_mm_loadu_si32(from + size_t(p) * row.step));
            UNROLLED for (int g = 0; g < Groups; ++g) sums[p][g] = _mm512_dpbusd_epi32(sums[p][g], inputs, own[g]);
        }
    }
    UNROLLED for (int p = 0; p < Pixels; ++p) {
        UNROLLED for (int g = 0; g < Groups; ++g) finish(row, Ints(sums[p][g]), group + g, x + p);
    }
}

template <int Groups, int Pixels>
BY_64 void tiles_by_64(const Row &row, int group, int columns) {
    if (columns < Pixels) {
        for (int x = 0; x < columns; ++x) tile_by_64<Groups, 1>(row, group, x);
        return;
    }
    for (int x = 0; x < columns; x += Pixels) tile_by_64<Groups, Pixels>(row, group, std::min(x, columns - Pixels));
}

BY_64 void run_by_64(const Row &row, int groups, int columns) {
    count_wide_run();
    for (int group = 0; group < groups;) {
        const int left = groups - group, taken = groups % 3 == 0 ? 3 : std::min(left, 4);
        switch (taken) {
        case 4: tiles_by_64<4, 6>(row, group, columns); break;
        case 3: tiles_by_64<3, 8>(row, group, columns); break;
        case 2: tiles_by_64<2, 12>(row, group, columns); break;
        default: tiles_by_64<1, 12>(row, group, columns);
        }
        group += taken;
    }
}

/// AVX2 adds two products in 16 bits, and four only by a second instruction that widens them; the products of a pair fit into 16
/// bits together, so that they are widened once.
template <int Pixels>
BY_32 void tile_by_32(const Row &row, int group, int x) {
    __m256i sums[Pixels][2] = {};
    const __m256i ones = _mm256_set1_epi16(1);
    const auto *weights = reinterpret_cast<const __m256i *>(row.weights + size_t(group) * row.each);
    const uint8_t *line = row.from + size_t(x) * row.step;
    int i = 0;
    for (; i < row.paired; i += 2, weights += 4) {
        __m256i own[4];
        UNROLLED for (int k = 0; k < 4; ++k) own[k] = _mm256_loadu_si256(weights + k);
        const uint8_t *one = line + row.offsets[i], *other = line + row.offsets[i + 1];
        UNROLLED for (int p = 0; p < Pixels; ++p, one += row.step, other += row.step) {
            const __m256i a = _mm256_broadcastd_epi32(_mm_loadu_si32(one));
            const __m256i b = _mm256_broadcastd_epi32(_mm_loadu_si32(other));
            UNROLLED for (int half = 0; half < 2; ++half) {
                const __m256i pair =
                    _mm256_add_epi16(_mm256_maddubs_epi16(a, own[half]), _mm256_maddubs_epi16(b, own[2 + half]));
                sums[p][half] = _mm256_add_epi32(sums[p][half], _mm256_madd_epi16(pair, ones));
            }
        }
    }
    for (; i < row.products; ++i, weights += 2) {
        const uint8_t *one = line + row.offsets[i];
        UNROLLED for (int p = 0; p < Pixels; ++p, one += row.step) {
            const __m256i a = _mm256_broadcastd_epi32(_mm_loadu_si32(one));
            UNROLLED for (int half = 0; half < 2; ++half) {
                const __m256i single = _mm256_maddubs_epi16(a, _mm256_loadu_si256(weights + half));
                sums[p][half] = _mm256_add_epi32(sums[p][half], _mm256_madd_epi16(single, ones));
            }
        }
    }
    UNROLLED for (int p = 0; p < Pixels; ++p) {
        const __m256i made[] = {sums[p][0], sums[p][1]};
        finish(row, reinterpret_cast<const Ints &>(made), group, x + p);
    }
}

BY_32 void run_by_32(const Row &row, int groups, int columns) {
    constexpr int pixels = 4;
    count_wide_run();
    for (int group = 0; group < groups; ++group) {
        if (columns < pixels) {
            for (int x = 0; x < columns; ++x) tile_by_32<1>(row, group, x);
            continue;
        }
        for (int x = 0; x < columns; x += pixels) tile_by_32<pixels>(row, group, std::min(x, columns - pixels));
    }
}
#endif

void run_widest(const Row &row, int groups, int columns) {
#ifdef __x86_64__
    switch (registers()) {
    case Registers::by_16:
        if (multiplies_bytes()) return run_by_64(row, groups, columns);
        [[fallthrough]];
    case Registers::by_8: return run_by_32(row, groups, columns);
    case Registers::by_4: break;
    }
#endif
    run_plainly(row, groups, columns);
}

/// One row of a first layer's answers.
struct FirstRow {
    const float *from;  // the padded image's pixels of the first answer
    size_t below;
    int kernel_rows, kernel_columns, stride;
    const float *weights, *bias;  // of a group of outputs
    uint8_t *to;
    size_t channels;
};

template <int Pixels>
[[gnu::always_inline]] inline void first_tile(const FirstRow &row, int x) {
    Floats sums[Pixels];
    for (Floats &sum : sums) sum = *reinterpret_cast<const Floats *>(row.bias);
    const float *weights = row.weights;
    for (int ky = 0; ky < row.kernel_rows; ++ky) {
        const float *from = row.from + size_t(ky) * row.below + size_t(x) * row.stride;
        for (int kx = 0; kx < row.kernel_columns; ++kx, weights += outputs_together) {
            for (int p = 0; p < Pixels; ++p) {
                sums[p] = sums[p] + *reinterpret_cast<const Floats *>(weights) * from[p * row.stride + kx];
            }
        }
    }
    for (int p = 0; p < Pixels; ++p) write(sums[p], row.to + size_t(x + p) * row.channels);
}

[[gnu::always_inline]] inline void run_first(const FirstRow &row, int columns) {
    constexpr int pixels = 4;
    if (columns < pixels) {
        for (int x = 0; x < columns; ++x) first_tile<1>(row, x);
        return;
    }
    for (int x = 0; x < columns; x += pixels) first_tile<pixels>(row, std::min(x, columns - pixels));
}

/// `from` at twice its size plus `other`, both in units of the result, over a row of `other`.
[[gnu::always_inline]] inline void add_row(const uint8_t *from, float from_unit, const uint8_t *other, float other_unit,
                                           int columns, int channels, uint8_t *to) {
    for (int x = 0; x < columns; ++x) {
        const uint8_t *half = from + size_t(x / 2) * channels;
        for (int c = 0; c < channels; c += outputs_together, other += outputs_together, to += outputs_together) {
            const Floats a = __builtin_convertvector(*reinterpret_cast<const Octets *>(half + c), Floats) * from_unit;
            const Floats b = __builtin_convertvector(*reinterpret_cast<const Octets *>(other), Floats) * other_unit;
            write(a + b, to);
        }
    }
}

#ifdef __x86_64__
BY_32 void run_first_by_32(const FirstRow &row, int columns) { run_first(row, columns); }
BY_32 void add_row_by_32(const uint8_t *from, float from_unit, const uint8_t *other, float other_unit, int columns,
                         int channels, uint8_t *to) {
    add_row(from, from_unit, other, other_unit, columns, channels, to);
}
#endif

void run_first_widest(const FirstRow &row, int columns) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) return run_first_by_32(row, columns);
#endif
    run_first(row, columns);
}

int rows_of(int n, const WholeConvolution &c) { return (n + 2 * c.pad_y - c.kernel_rows) / c.stride_y + 1; }

int columns_of(int n, const WholeConvolution &c) { return (n + 2 * c.pad_x - c.kernel_columns) / c.stride_x + 1; }

/// Runs `c` over `input` into `out`, or into `plain`, whose channels lie side by side without margin.
void run(const Bytes &input, const WholeConvolution &c, int rows, int columns, const Bytes *rest, Bytes *out,
         float *plain) {
    const int groups = groups_of(c.outputs);
    std::vector<float> units = c.units, bias = c.bias;
    const float unit = out != nullptr ? out->unit : 1;
    for (float &value : units) value *= input.unit / unit;
    for (float &value : bias) value /= unit;
    Row row{};
    row.channels = size_t(groups) * outputs_together;
    row.step = size_t(c.stride_x) * input.channels;
    std::vector<int> offsets;
    const int run = c.kernel_columns * input.channels;
    for (const int product : c.order) {
        const int at = product * together;
        offsets.push_back(at / run * int(input.pitch()) + at % run);
    }
    row.offsets = offsets.data();
    row.paired = c.paired;
    row.products = int(offsets.size());
    row.weights = c.weights.data();
    row.each = offsets.size() * product_weights;
    row.units = units.data();
    row.bias = bias.data();
    row.rest_unit = rest != nullptr ? rest->unit / unit : 0;
    for (int y = 0; y < rows; ++y) {
        row.from = input.at(y * c.stride_y - c.pad_y, -c.pad_x);
        row.rest = rest != nullptr ? rest->at(y, 0) : nullptr;
        row.to = out != nullptr ? out->at(y, 0) : nullptr;
        row.plain = plain != nullptr ? plain + row.channels * columns * y : nullptr;
        run_widest(row, groups, columns);
    }
}

}  // namespace

Bytes::Bytes(int wanted, int rows, int columns, float unit)
    : channels(groups_of(wanted) * outputs_together),
      rows(rows),
      columns(columns),
      unit(unit),
      values(size_t(rows + 2 * margin_rows) * pitch()) {
    std::fill_n(values.begin(), margin_rows * pitch(), uint8_t(0));
    std::fill_n(at(rows, -margin_columns), margin_rows * pitch(), uint8_t(0));
    for (int y = 0; y < rows; ++y) {
        std::fill_n(at(y, -margin_columns), margin_columns * channels, uint8_t(0));
        std::fill_n(at(y, columns), margin_columns * channels, uint8_t(0));
    }
}

Bytes convolve_first(const Tensor &input, const WholeConvolution &c) {
    Bytes out(c.outputs, rows_of(input.rows, c), columns_of(input.columns, c), c.top / Bytes::greatest);
    const size_t below = size_t(input.columns) + 2 * c.pad_x;
    std::vector<float> padded((size_t(input.rows) + 2 * c.pad_y) * below, 0);
    for (int y = 0; y < input.rows; ++y) {
        std::copy_n(input.plane(0) + size_t(y) * input.columns, input.columns,
                    padded.data() + (y + c.pad_y) * below + c.pad_x);
    }
    std::vector<float> weights = c.first, bias = c.bias;
    for (float &value : weights) value /= out.unit;
    for (float &value : bias) value /= out.unit;
    for (int y = 0; y < out.rows; ++y) {
        for (int first = 0; first < out.channels; first += outputs_together) {
            run_first_widest({padded.data() + size_t(y) * c.stride_y * below, below, c.kernel_rows, c.kernel_columns,
                              c.stride_x, weights.data() + size_t(first) * c.kernel_rows * c.kernel_columns,
                              bias.data() + first, out.at(y, 0) + first, size_t(out.channels)},
                             out.columns);
        }
    }
    return out;
}

Bytes convolve(const Bytes &input, const WholeConvolution &c, const Bytes *residual) {
    Bytes out(c.outputs, rows_of(input.rows, c), columns_of(input.columns, c), c.top / Bytes::greatest);
    run(input, c, out.rows, out.columns, residual, &out, nullptr);
    return out;
}

Tensor convolve_last(const Bytes &input, const WholeConvolution &c) {
    Tensor out(c.outputs, rows_of(input.rows, c), columns_of(input.columns, c));
    const size_t channels = size_t(groups_of(c.outputs)) * outputs_together, pixels = size_t(out.rows) * out.columns;
    std::vector<float, Unset<float>> plain(channels * pixels);
    run(input, c, out.rows, out.columns, nullptr, nullptr, plain.data());
    for (int channel = 0; channel < c.outputs; ++channel) {
        for (size_t i = 0; i < pixels; ++i) out.plane(channel)[i] = plain[i * channels + channel];
    }
    return out;
}

Bytes doubled_plus(const Bytes &input, const Bytes &other, float top) {
    Bytes out(other.channels, other.rows, other.columns, top / Bytes::greatest);
    for (int y = 0; y < out.rows; ++y) {
        const auto add = [&](auto &run) {
            run(input.at(y / 2, 0), input.unit / out.unit, other.at(y, 0), other.unit / out.unit, out.columns,
                out.channels, out.at(y, 0));
        };
#ifdef __x86_64__
        if (registers() != Registers::by_4) {
            add(add_row_by_32);
            continue;
        }
#endif
        add(add_row);
    }
    return out;
}

}  // namespace cvision::mrz
