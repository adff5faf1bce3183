// dlib computes these sums by four floats at a time, and one by one at the ends of rows. Each result is the same sum in the same
// order here, so that it has the same bits.
#include "face_filter.hpp"

#include "cpu.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace cvision {

#ifdef __x86_64__
namespace {

/// `Lanes` results; `step` is the distance between the values of a result. Three sums, as dlib has them.
template <int Lanes>
[[gnu::always_inline]] inline void sum(const float *from, long step, const float *filter, long taps, float *to,
                                       bool adds) {
#pragma clang fp contract(off)
    using Floats [[gnu::vector_size(Lanes * sizeof(float)), gnu::aligned(sizeof(float)), gnu::may_alias]] = float;
    Floats first = {}, second = {}, third = {};
    long tap = 0;
    for (; tap < taps - 2; tap += 3, from += 3 * step) {
        first += *reinterpret_cast<const Floats *>(from) * filter[tap];
        second += *reinterpret_cast<const Floats *>(from + step) * filter[tap + 1];
        third += *reinterpret_cast<const Floats *>(from + 2 * step) * filter[tap + 2];
    }
    for (; tap < taps; ++tap, from += step) first += *reinterpret_cast<const Floats *>(from) * filter[tap];
    first += second + third;
    Floats &result = *reinterpret_cast<Floats *>(to);
    if (adds) first += result;
    result = first;
}

/// Fewer than eight results: one sum, as dlib has it there.
[[gnu::target("avx2"), gnu::always_inline]] inline void sum_rest(const float *from, long step, const float *filter,
                                                                 long taps, float *to, bool adds, long count) {
    const __m256i used =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256 total = _mm256_setzero_ps();
    for (long tap = 0; tap < taps; ++tap) {
        const __m256 values = _mm256_maskload_ps(from + tap * step, used);
        total = _mm256_add_ps(total, _mm256_mul_ps(values, _mm256_set1_ps(filter[tap])));
    }
    if (adds) total = _mm256_add_ps(_mm256_maskload_ps(to, used), total);
    _mm256_maskstore_ps(to, used, total);
}

/// A row of results.
template <int Lanes>
[[gnu::target("avx2"), gnu::always_inline]] inline void sum_row(const float *from, long step, const float *filter,
                                                                long taps, float *to, bool adds, long count) {
    long at = 0;
    for (; at + Lanes <= count; at += Lanes) sum<Lanes>(from + at, step, filter, taps, to + at, adds);
    for (; at + 8 <= count; at += 8) sum<8>(from + at, step, filter, taps, to + at, adds);
    if (at < count) sum_rest(from + at, step, filter, taps, to + at, adds, count - at);
}

template <int Lanes>
[[gnu::target("avx2"), gnu::always_inline]] inline void filter_all(const Grid &grid, const SeparableFilter &filter,
                                                                   float *scratch, float *to, bool adds) {
    const long first_row = filter.column_taps / 2, first_column = filter.row_taps / 2;
    const long last_row = grid.rows - (filter.column_taps - 1) / 2;
    const long count = grid.columns - (filter.row_taps - 1) / 2 - first_column;
    if (count <= 0) return;
    for (long y = 0; y < grid.rows; ++y) {
        sum_row<Lanes>(grid.values + y * grid.columns, 1, filter.row, filter.row_taps,
                       scratch + y * grid.columns + first_column, false, count);
    }
    for (long y = first_row; y < last_row; ++y) {
        sum_row<Lanes>(scratch + (y - first_row) * grid.columns + first_column, grid.columns, filter.column,
                       filter.column_taps, to + y * grid.columns + first_column, adds, count);
    }
}

[[gnu::target("avx2")]] void filter_by_8(const Grid &grid, const SeparableFilter &filter, float *scratch, float *to,
                                         bool adds) {
    count_wide_run();
    filter_all<8>(grid, filter, scratch, to, adds);
}
[[gnu::target("avx512f")]] void filter_by_16(const Grid &grid, const SeparableFilter &filter, float *scratch, float *to,
                                             bool adds) {
    count_wide_run();
    filter_all<16>(grid, filter, scratch, to, adds);
}

}  // namespace
#endif

bool filter_by_wide_registers(const Grid &grid, const SeparableFilter &filter, float *scratch, float *to, bool adds) {
#ifdef __x86_64__
    switch (registers()) {
    case Registers::by_16: filter_by_16(grid, filter, scratch, to, adds); return true;
    case Registers::by_8: filter_by_8(grid, filter, scratch, to, adds); return true;
    case Registers::by_4: break;
    }
#endif
    return false;
}

}  // namespace cvision
