// What a window is judged by as it slides over a grey image: histograms of gradients, and filters over them.
#pragma once
#include <cstddef>
#include <opencv2/core.hpp>
#include <vector>

namespace cvision {

/// 31 features of each cell of 8 × 8 pixels, except the outermost: 18 signed orientations, nine unsigned ones, four of texture. Around
/// them are zeros, so that a window may reach beyond the image.
struct GradientFeatures {
    static constexpr int planes = 31;
    int rows = 0, columns = 0;
    size_t pitch = 0;
    std::vector<float> values;

    /// Empty if the image has fewer than three rows or columns of cells. A window has `padding_rows` × `padding_columns` cells.
    GradientFeatures(const cv::Mat &gray, int padding_rows, int padding_columns);
    float *at(int plane, int row) { return this->values.data() + (size_t(plane) * size_t(rows) + size_t(row)) * pitch; }
    const float *at(int plane, int row) const {
        return this->values.data() + (size_t(plane) * size_t(rows) + size_t(row)) * pitch;
    }
};

/// A window's filter as a sum of products of a row and a column, each over one plane.
struct GradientFilter {
    struct Part {
        int plane;
        std::vector<float> row, column;
    };
    int rows = 0, columns = 0;
    std::vector<Part> parts;
};

/// A filter's answer for each place of its window.
struct GradientScores {
    int rows = 0, columns = 0;
    size_t pitch = 0;
    std::vector<float> values;

    GradientScores(const GradientFeatures &features, const GradientFilter &wanted);
    float *at(int row) { return this->values.data() + size_t(row) * pitch; }
    const float *at(int row) const { return this->values.data() + size_t(row) * pitch; }
};

}  // namespace cvision
