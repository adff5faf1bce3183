// Kernels of three by three by Winograd's minimal filtering: two by two answers come from the products of four by four places, 16
// in place of 36 for each input. Weights and inputs are added up before they are multiplied, and products after that. With AVX2
// alone, which multiplies no faster in bytes than in the 16 bits that such sums need, that saves two fifths of the time; where
// AVX-512's instructions multiply bytes it would save nothing. Four times the weights' sums are whole, so that answers stay exact.
#include <algorithm>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "cpu.hpp"
#include "mrz_rows.hpp"

namespace cvision::mrz {
namespace {

constexpr int side = 4, places = side * side;

#ifdef __x86_64__
#define UNROLLED _Pragma("clang loop unroll(full)")  // left to itself, the compiler keeps sums in memory
#define BY_32 [[gnu::target("avx2,fma")]]

constexpr int inputs_together = 16;  // that are added up at once
constexpr int at_once = 6;           // tiles whose sums of products stay in registers
constexpr int chunk = 4 * at_once;   // tiles whose inputs and sums stay in the cache

/// Puts four numbers' differences and sums in their place.
[[gnu::always_inline]] BY_32 inline void mix(__m256i &a, __m256i &b, __m256i &c, __m256i &d) {
    const __m256i sum = _mm256_add_epi16(b, c), difference = _mm256_sub_epi16(c, b);
    a = _mm256_sub_epi16(a, c);
    d = _mm256_sub_epi16(b, d);
    b = sum;
    c = difference;
}

/// A tile's inputs, added up, to each place; places are `apart`.
BY_32 void enter(const uint8_t *const lines[side], int channels, int16_t *to, size_t apart) {
    for (int channel = 0; channel < channels; channel += inputs_together) {
        __m256i inputs[side][side];
        UNROLLED for (int x = 0; x < side; ++x) {
            UNROLLED for (int y = 0; y < side; ++y) {
                const auto *from = reinterpret_cast<const __m128i *>(lines[y] + x * channels + channel);
                inputs[y][x] = _mm256_cvtepu8_epi16(_mm_loadu_si128(from));
            }
            mix(inputs[0][x], inputs[1][x], inputs[2][x], inputs[3][x]);
        }
        UNROLLED for (int y = 0; y < side; ++y) {
            mix(inputs[y][0], inputs[y][1], inputs[y][2], inputs[y][3]);
            UNROLLED for (int x = 0; x < side; ++x) {
                auto *place = reinterpret_cast<__m256i *>(to + size_t(y * side + x) * apart + channel);
                _mm256_storeu_si256(place, inputs[y][x]);
            }
        }
    }
}

/// The sums of products of one place and a group of outputs, for tiles whose inputs follow each other.
BY_32 void multiply(const int16_t *from, int channels, const int16_t *weights, int32_t *to) {
    __m256i sums[at_once][2] = {};
    for (int channel = 0; channel < channels; channel += 2, weights += 2 * outputs_together) {
        const auto *own = reinterpret_cast<const __m256i *>(weights);
        const __m256i low = _mm256_loadu_si256(own), high = _mm256_loadu_si256(own + 1);
        UNROLLED for (int tile = 0; tile < at_once; ++tile) {
            const __m256i inputs = _mm256_broadcastd_epi32(_mm_loadu_si32(from + tile * channels + channel));
            sums[tile][0] = _mm256_add_epi32(sums[tile][0], _mm256_madd_epi16(inputs, low));
            sums[tile][1] = _mm256_add_epi32(sums[tile][1], _mm256_madd_epi16(inputs, high));
        }
    }
    UNROLLED for (int tile = 0; tile < at_once; ++tile) {
        for (int half = 0; half < 2; ++half)
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(to) + tile * 2 + half, sums[tile][half]);
    }
}

/// A tile's four answers from the sums of its places, which are `apart`.
BY_32 void leave(const int32_t *sums, size_t apart, const Row *const rows[2], int group, int x, int columns) {
    Ints half[2][side];
    UNROLLED for (int column = 0; column < side; ++column) {
        const auto place = [&](int y) -> const Ints & {
            return *reinterpret_cast<const Ints *>(sums + size_t(y * side + column) * apart);
        };
        half[0][column] = place(0) + place(1) + place(2);
        half[1][column] = place(1) - place(2) - place(3);
    }
    for (int y = 0; y < 2; ++y) {
        if (rows[y] == nullptr) continue;
        const Ints *const four = half[y];
        finish(*rows[y], (four[0] + four[1] + four[2]) >> 2, group, x);
        if (x + 1 < columns) finish(*rows[y], (four[1] - four[2] - four[3]) >> 2, group, x + 1);
    }
}
#endif

}  // namespace

void WholeConvolution::place(const std::vector<int8_t> &plain) {
    const bool suits = this->kernel_rows == 3 && this->kernel_columns == 3 && this->stride_x == 1 &&
                       this->stride_y == 1 && this->pad_x == 1 && this->pad_y == 1;
    if (!suits || widest_registers() == Registers::by_4 || multiplies_bytes()) return;
    const int channels = groups_of(this->inputs) * outputs_together, groups = groups_of(this->outputs);
    this->in_places.resize(size_t(groups) * places * channels * outputs_together);
    const auto mix = [](const int from[3], int to[side]) {
        to[0] = 2 * from[0];
        to[1] = from[0] + from[1] + from[2];
        to[2] = from[0] - from[1] + from[2];
        to[3] = 2 * from[2];
    };
    for (int output = 0; output < groups * outputs_together; ++output) {
        const int group = output / outputs_together, within = output % outputs_together;
        for (int input = 0; input < channels; ++input) {
            int rows[3][side];
            for (int y = 0; y < 3; ++y) {
                int weights[3];
                for (int x = 0; x < 3; ++x) {
                    const size_t at = size_t(y * 3 + x) * channels + input;
                    weights[x] = plain[(group * 9 * channels + at / together * together) * outputs_together +
                                       within * together + at % together];
                }
                mix(weights, rows[y]);
            }
            for (int x = 0; x < side; ++x) {
                const int column[3] = {rows[0][x], rows[1][x], rows[2][x]};
                int mixed[side];
                mix(column, mixed);
                for (int y = 0; y < side; ++y) {
                    const size_t place = size_t(group) * places + y * side + x;
                    this->in_places[(place * channels + input / 2 * 2) * outputs_together + within * 2 + input % 2] =
                        int16_t(mixed[y]);
                }
            }
        }
    }
}

#ifdef __x86_64__
BY_32 void run_in_places(const Bytes &input, const WholeConvolution &c, const std::vector<Row> &rows, int columns) {
    count_wide_run();
    const int channels = input.channels, groups = groups_of(c.outputs);
    const int across = (columns + 1) / 2, all = across * ((int(rows.size()) + 1) / 2);
    const size_t inputs_apart = size_t(chunk) * channels, sums_apart = size_t(chunk) * outputs_together;
    std::vector<int16_t, Lined<int16_t>> inputs(places * inputs_apart, 0);
    std::vector<int32_t, Lined<int32_t>> sums(places * sums_apart);
    for (int first = 0; first < all; first += chunk) {
        const int count = std::min(chunk, all - first);
        for (int tile = 0; tile < count; ++tile) {
            const int y = (first + tile) / across * 2, x = (first + tile) % across * 2;
            const uint8_t *lines[side];
            // Below an odd last row, whose tile has a row too many, lies only one row of margin.
            for (int i = 0; i < side; ++i) lines[i] = input.at(std::min(y + i - 1, input.rows), x - 1);
            enter(lines, channels, inputs.data() + size_t(tile) * channels, inputs_apart);
        }
        for (int group = 0; group < groups; ++group) {
            for (int place = 0; place < places; ++place) {
                const auto *weights =
                    c.in_places.data() + (size_t(group) * places + place) * channels * outputs_together;
                for (int tile = 0; tile < count; tile += at_once) {
                    multiply(inputs.data() + place * inputs_apart + size_t(tile) * channels, channels, weights,
                             sums.data() + place * sums_apart + size_t(tile) * outputs_together);
                }
            }
            for (int tile = 0; tile < count; ++tile) {
                const int y = (first + tile) / across * 2, x = (first + tile) % across * 2;
                const Row *const two[] = {&rows[size_t(y)], y + 1 < int(rows.size()) ? &rows[size_t(y) + 1] : nullptr};
                leave(sums.data() + size_t(tile) * outputs_together, sums_apart, two, group, x, columns);
            }
        }
    }
}
#else
void run_in_places(const Bytes &, const WholeConvolution &, const std::vector<Row> &, int) {}
#endif

}  // namespace cvision::mrz
