// Separable filters over planes of numbers; the face detector applies hundreds to each image. With dlib's own filters, a document side
// takes 9 % more processor time (Tests/FIGURES.md).
#pragma once
#include <cstddef>
#include <vector>

namespace cvision {

/// Rows of numbers, each padded so that whole registers can be read.
struct FilterPlane {
    int rows = 0, columns = 0, stride = 0;
    std::vector<float> values;

    void resize(int new_rows, int new_columns);
    float *row(int y) {
        return this->values.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(this->stride);
    }
    const float *row(int y) const {
        return this->values.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(this->stride);
    }
};

/// Adds to `sums` the correlation of `plane` with the product of a column (`down`) and a row (`across`). A sum is stored where
/// its window begins; `sums` has the size of `plane`, and its values beyond the last window have no meaning.
void add_filtered(const FilterPlane &plane, const std::vector<float> &across, const std::vector<float> &down,
                  FilterPlane &scratch, FilterPlane &sums);

}  // namespace cvision
