// dlib's filters over histograms (dlib/image_transforms/spatial_filtering.h) for 32 columns at a time, so that a weight is
// loaded once for four registers: every sum in dlib's order, so equal to the bit. Included where dlib's name is another and
// AVX2 may be used.
#pragma once

namespace cvision {
namespace {

/// The sum over `count` numbers, `step` apart, of each column times its weight, in three chains as dlib has them; `Registers` of
/// eight columns.
template <int Registers>
inline void weigh(const float *from, long step, const float *weights, long count, bool adds, float *to) {
    __m256 chains[3][Registers];
    for (auto &chain : chains)
        for (__m256 &sum : chain) sum = _mm256_setzero_ps();
    const auto take = [&](int chain, long n) {
        const __m256 weight = _mm256_broadcast_ss(weights + n);
        for (int i = 0; i < Registers; ++i)
            chains[chain][i] =
                _mm256_add_ps(chains[chain][i], _mm256_mul_ps(_mm256_loadu_ps(from + n * step + 8 * i), weight));
    };
    long n = 0;
    for (; n < count - 2; n += 3) {
        take(0, n);
        take(1, n + 1);
        take(2, n + 2);
    }
    for (; n < count; ++n) take(0, n);
    for (int i = 0; i < Registers; ++i) {
        __m256 sum = _mm256_add_ps(chains[0][i], _mm256_add_ps(chains[1][i], chains[2][i]));
        if (adds) sum = _mm256_add_ps(sum, _mm256_loadu_ps(to + 8 * i));
        _mm256_storeu_ps(to + 8 * i, sum);
    }
}

/// A line of sums, from column `first` to before `last`.
inline void weigh_line(const float *from, long step, const float *weights, long count, bool adds, float *to, long first,
                       long last) {
    long c = first;
    for (; c < last - 31; c += 32) weigh<4>(from + c, step, weights, count, adds, to + c);
    for (; c < last - 7; c += 8) weigh<1>(from + c, step, weights, count, adds, to + c);
    for (; c < last; ++c) {
        float sum = 0;
        for (long n = 0; n < count; ++n) sum += from[c + n * step] * weights[n];
        to[c] = adds ? to[c] + sum : sum;
    }
}

/// One filter that is a row times a column.
inline dlib::rectangle filter(const dlib::array2d<float> &plane, const dlib::matrix<float, 0, 1> &across,
                              const dlib::matrix<float, 0, 1> &down, bool adds, dlib::array2d<float> &scratch,
                              dlib::array2d<float> &sums) {
    sums.set_size(plane.nr(), plane.nc());
    scratch.set_size(plane.nr(), plane.nc());
    const long first_row = down.size() / 2, first_column = across.size() / 2;
    const long last_row = plane.nr() - (down.size() - 1) / 2, last_column = plane.nc() - (across.size() - 1) / 2;
    const dlib::rectangle inside(first_column, first_row, last_column - 1, last_row - 1);
    if (!adds) dlib::zero_border_pixels(sums, inside);
    for (long r = 0; r < plane.nr(); ++r)
        weigh_line(&plane[r][0] - first_column, 1, &across(0), across.size(), false, &scratch[r][0], first_column,
                   last_column);
    for (long r = first_row; r < last_row; ++r)
        weigh_line(&scratch[r - first_row][0], plane.nc(), &down(0), down.size(), adds, &sums[r][0], first_column,
                   last_column);
    return inside;
}

}  // namespace
}  // namespace cvision

namespace dlib {

/// Preferred to impl::apply_filters_to_fhog, which it does the work of.
inline rectangle apply_filters_to_fhog(
    const scan_fhog_pyramid<pyramid_down<6>, cvision::OwnHistograms>::fhog_filterbank &filters,
    const array<array2d<float>> &planes, array2d<float> &sums) {
    rectangle area;
    array2d<float> scratch;
    sums.clear();
    if (planes[0].size() == 0) return area;
    for (unsigned long i = 0; i < filters.row_filters.size(); ++i)
        for (unsigned long k = 0; k < filters.row_filters[i].size(); ++k)
            area = cvision::filter(planes[i], filters.row_filters[i][k], filters.col_filters[i][k], sums.size() != 0,
                                   scratch, sums);
    return area;
}

}  // namespace dlib
