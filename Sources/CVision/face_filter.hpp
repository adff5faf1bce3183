// The filters of dlib's face detector.
#pragma once

namespace cvision {

/// One plane of numbers, row by row.
struct Grid {
    const float *values;
    long rows, columns;
};

/// A filter that is the product of a column and a row.
struct SeparableFilter {
    const float *column, *row;
    long column_taps, row_taps;
};

/// What dlib's float_spatially_filter_image_separable does, to the same bits: filters `grid` by rows into `scratch`, then by columns,
/// and writes the sums to `to` or adds them. Both have the grid's size. False, and nothing done, on processors without AVX2.
bool filter_by_wide_registers(const Grid &grid, const SeparableFilter &filter, float *scratch, float *to, bool adds);

}  // namespace cvision
