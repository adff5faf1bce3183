#include "face_filter.hpp"

#include <algorithm>

#include "cpu.hpp"

namespace cvision {
namespace {

constexpr int together = 16;  // numbers of a row: two of AVX2's registers
constexpr int reach = 32;     // the longest filter

/// Sums of products with `count` taps, each `step` numbers after the one before. Three partial sums for each number, added at
/// the end as in dlib, so that no addition waits for the one before.
template <int Lanes>
[[gnu::always_inline]] inline void correlate(const float *from, int step, const float *taps, int count, float *to,
                                             bool adds) {
    using Vector [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    for (int lane = 0; lane < together; lane += 2 * Lanes) {
        Vector sums[3][2] = {};
        const float *at = from + lane;
        int tap = 0;
        for (; tap < count - 2; tap += 3) {
            for (int i = 0; i < 3; ++i, at += step)
                for (int half = 0; half < 2; ++half)
                    sums[i][half] += *reinterpret_cast<const Vector *>(at + half * Lanes) * taps[tap + i];
        }
        for (; tap < count; ++tap, at += step)
            for (int half = 0; half < 2; ++half)
                sums[0][half] += *reinterpret_cast<const Vector *>(at + half * Lanes) * taps[tap];
        for (int half = 0; half < 2; ++half) {
            Vector *const out = reinterpret_cast<Vector *>(to + lane + half * Lanes);
            const Vector sum = sums[0][half] + (sums[1][half] + sums[2][half]);
            *out = adds ? sum + *out : sum;
        }
    }
}

template <int Lanes>
[[gnu::always_inline]] inline void filter(const FilterPlane &plane, const std::vector<float> &across,
                                          const std::vector<float> &down, FilterPlane &scratch, FilterPlane &sums) {
    const int wide = static_cast<int>(across.size()), high = static_cast<int>(down.size());
    const int columns = plane.columns - wide + 1, rows = plane.rows - high + 1;
    for (int y = 0; y < plane.rows; ++y)
        for (int x = 0; x < columns; x += together)
            correlate<Lanes>(plane.row(y) + x, 1, across.data(), wide, scratch.row(y) + x, false);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; x += together)
            correlate<Lanes>(scratch.row(y) + x, scratch.stride, down.data(), high, sums.row(y) + x, true);
}

#ifdef __x86_64__
// Without fused multiplications, so that both variants give the same sums to the bit.
[[gnu::target("avx2")]] void filter_by_8(const FilterPlane &plane, const std::vector<float> &across,
                                         const std::vector<float> &down, FilterPlane &scratch, FilterPlane &sums) {
    count_wide_run();
    filter<8>(plane, across, down, scratch, sums);
}
#endif

}  // namespace

void FilterPlane::resize(int new_rows, int new_columns) {
    this->rows = new_rows;
    this->columns = new_columns;
    this->stride = (new_columns + together - 1) / together * together + reach;
    this->values.assign(static_cast<size_t>(new_rows) * static_cast<size_t>(this->stride), 0);
}

void add_filtered(const FilterPlane &plane, const std::vector<float> &across, const std::vector<float> &down,
                  FilterPlane &scratch, FilterPlane &sums) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) return filter_by_8(plane, across, down, scratch, sums);
#endif
    filter<4>(plane, across, down, scratch, sums);
}

}  // namespace cvision
